// bmfed: the RTIBM benchmark federate.
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <sstream>
#include <string>

#include "federate.hpp"

namespace {

// The signal that asked for the end.
volatile std::sig_atomic_t stopAsked = 0;

extern "C" void askStop(int signal) { stopAsked = signal; }

// SENDER:RECEIVER or SENDER:RECEIVER:CLASS,CLASS...
bmfed::Pair parsePair(std::string const& text) {
    std::istringstream in(text);
    bmfed::Pair pair;
    std::getline(in, pair.sender, ':');
    std::getline(in, pair.receiver, ':');
    for (std::string number; std::getline(in, number, ',');) {
        char* end = nullptr;
        long const value = std::strtol(number.c_str(), &end, 10);
        bool const good = end != number.c_str() && *end == 0;
        if (!good || value < 1 || value > bmfed::kClasses) {
            throw bmfed::UsageError("--pair " + text + ": '" + number + "' is no class, 1 to " +
                                    std::to_string(bmfed::kClasses));
        }
        pair.classes.push_back(static_cast<int>(value));
    }
    if (pair.sender.empty() || pair.receiver.empty()) {
        throw bmfed::UsageError("--pair " + text + " is not SENDER:RECEIVER[:CLASS,...]");
    }
    return pair;
}

struct CommandLine {
    CLI::App app{
        "RTIBM benchmark federate. Exit codes: 0 done, 1 failed, 2 usage, 3 RTI "
        "unreachable."};
    bmfed::Options options;
    std::vector<std::string> pairs, tests;

    CommandLine() {
        auto& o = options;
        auto const seconds = CLI::Range(0.0, 1e8);
        app.add_option("--name", o.name, "of this federate")->required();
        app.add_option("--fom", o.fom, "file of the FOM")->required();
        app.add_option("--federation", o.federation, "federation execution")->capture_default_str();
        app.add_option("--local-settings", o.localSettings, "localSettingsDesignator of connect");
        app.add_option(
               "--adapter", o.adapter,
               "what carries the data: a library libbench-NAME.so beside this program or in "
               "BENCH_ADAPTERS")
            ->capture_default_str();
        app.add_flag("--immediate", o.immediate,
                     "callbacks by a thread of the RTI (HLA_IMMEDIATE), for loop 4 and no other");
        app.add_option("--out", o.outputDirectory, "where round trips and results.csv go");
        app.add_option("--join-timeout", o.joinTimeoutS, "s, for all federates to join")
            ->capture_default_str()
            ->check(seconds);
        app.add_option("--data-timeout", o.dataTimeoutS,
                       "s, for critical data: synchronization, reliable data")
            ->capture_default_str()
            ->check(seconds);
        app.add_option("--loss-timeout", o.lossTimeoutS,
                       "s, after which missing best-effort data is lost")
            ->capture_default_str()
            ->check(seconds);
        app.add_option("--manager", o.manager,
                       "control pipe of who conducts, unix:PATH or HOST:PORT");
        app.add_flag("--master", o.master, "conduct the tests");
        app.add_flag("--paced", o.paced,
                     "master: after each sample wait until the manager says 'on', which does "
                     "between samples what must not disturb any");
        app.add_option(
            "--listen", o.listen,
            "master without a manager: serve a control pipe here; subordinates get it as "
            "--manager and say there when they have left");
        // One value each, so that the next option's value is not taken for another.
        app.add_option("--pair", pairs, "master: SENDER:RECEIVER[:CLASS,...]; one or more")
            ->allow_extra_args(false);
        app.add_option("--test", tests, "master: a test as JSON; one or more, in this order")
            ->allow_extra_args(false);
    }
    // Throws UsageError or CLI::ParseError.
    bmfed::Options parse(int argc, char** argv) {
        using bmfed::UsageError;
        app.parse(argc, argv);
        for (auto const& pair : pairs) {
            options.pairs.push_back(parsePair(pair));
        }
        for (auto const& text : tests) {
            options.tests.push_back(bmfed::TestDescription::parse(text));
            options.tests.back().take(options.pairs);
            options.tests.back().check();
            options.tests.back().checkWaits(options.dataTimeoutS);
            options.tests.back().checkMemory(options.name);
        }
        if (options.master && tests.empty()) throw UsageError("a master needs at least one --test");
        return options;
    }
};

int run(int argc, char** argv) {
    CommandLine line;
    try {
        bmfed::Federate(line.parse(argc, argv), stopAsked).run();
        return 0;
    } catch (CLI::Success const& e) {  // --help
        return line.app.exit(e);
    } catch (CLI::ParseError const& e) {
        std::cerr << "bmfed: " << e.what() << "; see bmfed --help" << std::endl;
        return 2;
    } catch (bmfed::UsageError const& e) {
        std::cerr << "bmfed: " << e.what() << std::endl;
        return 2;
    } catch (bench::EndpointUnreachable const& e) {
        std::cerr << "bmfed: the RTI can't be reached: " << e.what() << std::endl;
        return 3;
    } catch (std::exception const& e) {
        std::cerr << "bmfed: " << e.what() << std::endl;
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGTERM, askStop);
    std::signal(SIGINT, askStop);
    int const code = run(argc, argv);
    if (code != 0 && stopAsked != 0) {
        // Who was asked to end has not failed: it ends by that signal, so that nobody else is
        // blamed.
        std::signal(stopAsked, SIG_DFL);
        std::raise(stopAsked);
    }
    return code;
}
