// fomcost: the federate of the study of what an attribute costs, and its codecs by themselves.
#include <CLI/CLI.hpp>
#include <csignal>
#include <fstream>
#include <iostream>

#include "federate.hpp"

namespace {

// The signal that asked for the end.
volatile int stopAsked = 0;
extern "C" void askStop(int signal) { stopAsked = signal; }

using fomcost::Json;
using fomcost::Options;

Json jsonOf(fomcost::Triple const& t) { return {t.x, t.y, t.z}; }
fomcost::Triple tripleOf(Json const& value) {
    return {value.at(0).get<float>(), value.at(1).get<float>(), value.at(2).get<float>()};
}

// A line of JSON in, one out: {"layout", "content", "spatial"} to {"values"}, {"layout", "content",
// "values"} to {"spatial"}, or {"refused": why}.
int codecs() {
    for (std::string line; std::getline(std::cin, line);) {
        Json out;
        try {
            Json const in = Json::parse(line);
            auto const codec = fomcost::codecOf(in.at("layout"));
            if (!codec) throw fomcost::UsageError("no layout " + in.at("layout").dump());
            fomcost::Content const content = in.at("content");
            fomcost::Spatial s;
            std::vector<fomcost::Octets> values;
            if (in.count("spatial") != 0) {
                Json const& from = in["spatial"];
                s.location = {from.at("location").at(0), from.at("location").at(1),
                              from.at("location").at(2)};
                s.orientation = tripleOf(from.at("orientation"));
                s.velocity = tripleOf(from.at("velocity"));
                s.angularVelocity = tripleOf(from.at("angular_velocity"));
                s.acceleration = tripleOf(from.at("acceleration"));
                s.mode = from.at("mode");
                s.frozen = from.at("frozen");
                fomcost::checkMode(s.mode);
                codec->encode(s, content, values);
                out["values"] = Json::array();
                for (auto const& value : values) out["values"].push_back(fomcost::hexOf(value));
            } else {
                s.mode = in.value("mode", s.mode);  // known from before
                for (auto const& hex : in.at("values")) values.push_back(fomcost::octetsOf(hex));
                codec->decode(values, content, s);
                out["spatial"] = {{"location", {s.location.x, s.location.y, s.location.z}},
                                  {"orientation", jsonOf(s.orientation)},
                                  {"velocity", jsonOf(s.velocity)},
                                  {"angular_velocity", jsonOf(s.angularVelocity)},
                                  {"acceleration", jsonOf(s.acceleration)},
                                  {"mode", s.mode},
                                  {"frozen", s.frozen}};
            }
        } catch (std::exception const& e) {
            out = {{"refused", e.what()}};
        }
        std::cout << out.dump() << '\n';
    }
    return 0;
}

struct CommandLine {
    CLI::App app{
        "Federate of the FOM cost study. Exit codes: 0 done, 1 failed, 2 usage, 3 RTI "
        "unreachable."};
    Options options;
    std::string adapter = "hla1516e", pair;
    std::vector<std::string> tests;
    bool codec = false;

    CommandLine() {
        auto& o = options;
        auto const seconds = CLI::Range(0.0, 1e8);
        app.add_flag("--codec", codec, "encode and decode lines of JSON from standard input");
        app.add_option("--name", o.name, "of this federate");
        app.add_option("--fom", o.fom, "file of the FOM");
        app.add_option("--federation", o.federation, "federation execution")->capture_default_str();
        app.add_option("--local-settings", o.localSettings, "localSettingsDesignator of connect");
        app.add_option("--adapter", adapter, "an RTI with the C++ API of 2010, and no other")
            ->check(CLI::IsMember({"hla1516e"}));
        app.add_option("--out", o.out, "where times go; the same directory for both federates")
            ->capture_default_str();
        app.add_option("--values", o.values, "file of the values of tests without a layout");
        app.add_option("--seed", o.seed, "of the tests' order within a sample");
        app.add_option("--join-timeout", o.joinTimeoutS, "s, for both federates to join")
            ->check(seconds);
        app.add_option("--data-timeout", o.dataTimeoutS, "s, for an answer")->check(seconds);
        app.add_option("--loss-timeout", o.lossTimeoutS, "s, after which an update is lost")
            ->check(seconds);
        app.add_option("--manager", o.manager, "control pipe of who conducts");
        app.add_flag("--master", o.master, "send, and conduct the tests");
        app.add_flag("--paced", o.paced, "after each sample wait until the manager says 'on'");
        app.add_option("--pair", pair, "master: SENDER:RECEIVER");
        app.add_option("--test", tests, "master: a test as JSON; one or more")
            ->allow_extra_args(false);
    }
    // Throws UsageError or CLI::ParseError.
    void parse(int argc, char** argv) {
        using fomcost::UsageError;
        app.parse(argc, argv);
        if (codec) return;
        if (options.name.empty() || options.fom.empty()) {
            throw UsageError("--name and --fom are needed");
        }
        if (!options.master) return;
        if (pair.compare(0, options.name.size() + 1, options.name + ":") != 0) {
            throw UsageError("--pair " + pair +
                             " does not begin with the master: it is the sender");
        }
        options.receiver = pair.substr(options.name.size() + 1);
        Json file = Json::object();
        if (!options.values.empty()) {
            std::ifstream in(options.values);
            Json const all = Json::parse(in, nullptr, false);
            if (!all.is_object() || all.count("tests") == 0) {
                throw UsageError(options.values + " holds no values");
            }
            file = all["tests"];
        }
        for (auto const& text : tests) {
            options.tests.push_back(fomcost::Test::parse(text, file));
            options.pools.push_back(fomcost::poolOf(options.tests.back(), file));
        }
        if (tests.empty()) throw UsageError("a master needs at least one --test");
    }
};

int run(int argc, char** argv) {
    CommandLine line;
    try {
        line.parse(argc, argv);
        if (line.codec) return codecs();
        auto const make = line.options.master ? fomcost::makeSender : fomcost::makeReceiver;
        make(line.options, stopAsked)->run();
        return 0;
    } catch (CLI::Success const& e) {  // --help
        return line.app.exit(e);
    } catch (CLI::ParseError const& e) {
        std::cerr << "fomcost: " << e.what() << "; see fomcost --help" << std::endl;
        return 2;
    } catch (fomcost::UsageError const& e) {
        std::cerr << "fomcost: " << e.what() << std::endl;
        return 2;
    } catch (fomcost::Unreachable const& e) {
        std::cerr << "fomcost: " << e.what() << std::endl;
        return 3;
    } catch (std::exception const& e) {
        std::cerr << "fomcost: " << e.what() << std::endl;
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
