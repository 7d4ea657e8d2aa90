// ec1fed: publisher and subscriber of the Performance Benchmark Object Model.
#include <CLI/CLI.hpp>
#include <csignal>
#include <exception>
#include <iostream>
#include <string>

#include "federate.hpp"

namespace {

volatile std::sig_atomic_t stopAsked = 0;
extern "C" void askStop(int signal) { stopAsked = signal; }

ec1::Pair parsePair(std::string const& text) {
    auto const colon = text.find(':');
    if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
        throw bench::UsageError("--pair " + text + " is not PUBLISHER:SUBSCRIBER");
    }
    return {text.substr(0, colon), text.substr(colon + 1)};
}

int run(int argc, char** argv) {
    CLI::App app{"EC1's federate. Exit codes: 0 done, 1 failed, 2 usage, 3 unreachable."};
    ec1::Options o;
    std::vector<std::string> pairs, tests;
    auto const seconds = CLI::Range(0.0, 1e8);
    app.add_option("--name", o.name, "of this federate")->required();
    app.add_option("--fom", o.fom, "file of the FOM")->required();
    app.add_option("--federation", o.federation, "federation execution, or session");
    app.add_option("--local-settings", o.settings, "what the adapter is to connect to");
    app.add_option("--adapter", o.adapter, "what carries the data: libbench-NAME.so");
    app.add_option("--out", o.directory, "where what came is logged");
    app.add_option("--join-timeout", o.joinTimeoutS, "s, for all to join")->check(seconds);
    app.add_option("--data-timeout", o.dataTimeoutS, "s, for what is reliable")->check(seconds);
    app.add_option("--loss-timeout", o.lossTimeoutS,
                   "s of silence after which what is missing is lost")
        ->check(seconds);
    app.add_option("--manager", o.manager, "control pipe, unix:PATH or HOST:PORT");
    app.add_flag("--master", o.master, "lead the others");
    app.add_flag("--paced", o.paced, "master: wait for the manager after each sample");
    app.add_option("--bridge", o.bridge,
                   "master: a gateway to ADAPTER,SETTINGS, whose meeting place it starts");
    app.add_option("--instead", o.instead, "ADAPTER,SETTINGS: be on a gateway's other side");
    app.add_flag("--echo", o.echo, "send back what others' echoes send, by which clocks compare");
    app.add_option("--discipline", o.discipline,
                   "command that says what disciplines this host's clock, and how well: times are "
                   "of CLOCK_REALTIME then");
    app.add_flag("--real-time", o.realTime, "SCHED_FIFO and locked memory, where allowed");
    app.add_option("--pair", pairs, "master: PUBLISHER:SUBSCRIBER; one or more")
        ->allow_extra_args(false);
    app.add_option("--test", tests, "master: a test as JSON; one or more")->allow_extra_args(false);
    try {
        app.parse(argc, argv);
        for (auto const& text : pairs) o.pairs.push_back(parsePair(text));
        for (auto const& text : tests) o.tests.push_back(ec1::Test::parse(text));
        if (o.master && (o.tests.empty() || o.pairs.empty())) {
            throw bench::UsageError("a master needs at least one --pair and one --test");
        }
        ec1::Federate(o, stopAsked).run();
        return 0;
    } catch (CLI::Success const& e) {  // --help
        return app.exit(e);
    } catch (CLI::ParseError const& e) {
        std::cerr << "ec1fed: " << e.what() << "; see ec1fed --help" << std::endl;
        return 2;
    } catch (std::invalid_argument const& e) {
        std::cerr << "ec1fed: " << e.what() << std::endl;
        return 2;
    } catch (bench::UsageError const& e) {
        std::cerr << "ec1fed: " << e.what() << std::endl;
        return 2;
    } catch (bench::EndpointUnreachable const& e) {
        std::cerr << "ec1fed: can't be reached: " << e.what() << std::endl;
        return 3;
    } catch (std::exception const& e) {
        std::cerr << "ec1fed: " << e.what() << std::endl;
        return 1;
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGTERM, askStop);
    std::signal(SIGINT, askStop);
    int const code = run(argc, argv);
    if (code != 0 && stopAsked != 0) {
        std::signal(stopAsked, SIG_DFL);
        std::raise(stopAsked);
    }
    return code;
}
