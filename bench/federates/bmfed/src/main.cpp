// bmfed: the RTIBM benchmark federate.
#include <csignal>
#include <exception>
#include <iostream>
#include <string>

#include "federate.hpp"

namespace {

volatile std::sig_atomic_t stopAsked = 0;

extern "C" void askStop(int) { stopAsked = 1; }

char const kUsage[] =
    "bmfed --name NAME --fom FILE [options]\n"
    "  --federation NAME        federation execution (default: rtibm)\n"
    "  --local-settings TEXT    localSettingsDesignator of connect\n"
    "  --out DIRECTORY          where round trips and results.csv go\n"
    "  --join-timeout SECONDS   for all federates to join (30)\n"
    "  --data-timeout SECONDS   for critical data: synchronization, reliable data (10)\n"
    "  --loss-timeout SECONDS   after which missing best-effort data is lost (1)\n"
    "master only:\n"
    "  --master                 conduct the tests\n"
    "  --pair SENDER:RECEIVER   one or more\n"
    "  --test KEY=VALUE,...     one or more, run in this order\n"
    "  --manager ADDRESS        message pipe to bmmanager: unix:PATH or HOST:PORT\n"
    "exit codes: 0 done, 1 failed, 2 usage, 3 RTI unreachable\n";

bmfed::Options parse(int argc, char** argv) {
    using bmfed::UsageError;
    bmfed::Options o;
    for (int i = 1; i < argc; ++i) {
        std::string const key = argv[i];
        if (key == "--master") {
            o.master = true;
            continue;
        }
        if (i + 1 == argc) throw UsageError("option " + key + " is unknown or lacks its value");
        std::string const value = argv[++i];
        if (key == "--name") o.name = value;
        else if (key == "--fom") o.fom = value;
        else if (key == "--federation") o.federation = value;
        else if (key == "--local-settings") o.localSettings = value;
        else if (key == "--out") o.outputDirectory = value;
        else if (key == "--manager") o.manager = value;
        else if (key == "--join-timeout") o.joinTimeoutS = bmfed::parseSeconds(key, value);
        else if (key == "--data-timeout") o.dataTimeoutS = bmfed::parseSeconds(key, value);
        else if (key == "--loss-timeout") o.lossTimeoutS = bmfed::parseSeconds(key, value);
        else if (key == "--test") o.tests.push_back(bmfed::TestDescription::parse(value));
        else if (key == "--pair") {
            auto const names = bmfed::split(value, ':');
            if (names.size() != 2) throw UsageError("--pair " + value + " is not SENDER:RECEIVER");
            o.pairs.push_back(bmfed::Pair{names[0], names[1]});
        } else throw UsageError("unknown option " + key);
    }
    if (o.name.empty() || o.fom.empty()) throw UsageError("--name and --fom are needed");
    if (o.master && o.tests.empty()) throw UsageError("a master needs at least one --test");
    for (auto& test : o.tests) {
        test.pairs = o.pairs;
        test.check();
    }
    return o;
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGTERM, askStop);
    std::signal(SIGINT, askStop);
    if (argc == 2 && std::string(argv[1]) == "--help") {
        std::cout << kUsage;
        return 0;
    }
    try {
        bmfed::Federate(parse(argc, argv), stopAsked).run();
        return 0;
    } catch (bmfed::UsageError const& e) {
        std::cerr << "bmfed: " << e.what() << "\n" << kUsage;
        return 2;
    } catch (bmfed::RtiUnreachable const& e) {
        std::cerr << "bmfed: the RTI can't be reached: " << e.what() << std::endl;
        return 3;
    } catch (std::exception const& e) {
        std::cerr << "bmfed: " << e.what() << std::endl;
        return 1;
    }
}
