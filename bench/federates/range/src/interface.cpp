// range-interface: the federate that measures. rangefed, its user interface, starts it.
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <map>

#include "session.hpp"

namespace {

volatile std::sig_atomic_t stopAsked = 0;

extern "C" void askStop(int signal) { stopAsked = signal; }

struct CommandLine {
    CLI::App app{"The interface of a range test bed: joins, measures, shares what comes of it."};
    range::Options options;
    std::vector<std::string> pairs, tests;
    std::size_t bytes = 1024;
    double hz = 10;
    unsigned tickHz = 500;
    bool bestEffort = false, normal = false;

    CommandLine() {
        auto& o = options;
        auto const seconds = CLI::Range(0.0, 1e8);
        app.add_option("--name", o.name, "of this federate")->required();
        app.add_option("--fom", o.instrument.fom, "file of the FOM")->required();
        app.add_option("--federation", o.instrument.session, "federation execution")->required();
        app.add_option("--enter", o.instrument.entry,
                       "either: who comes first makes it; create: it is new; join: it is there")
            ->transform(CLI::CheckedTransformer(
                std::map<std::string, bench::Entry>{{"either", bench::Entry::either},
                                                    {"create", bench::Entry::create},
                                                    {"join", bench::Entry::join}}));
        app.add_option("--local-settings", o.instrument.localSettings);
        app.add_option("--adapter", o.instrument.adapter, "what carries the data");
        app.add_option("--out", o.out, "where what it counts is written");
        app.add_option("--join-timeout", o.joinTimeoutS, "s")->check(seconds);
        app.add_option("--data-timeout", o.dataTimeoutS, "s")->check(seconds);
        app.add_option("--loss-timeout", o.lossTimeoutS, "s")->check(seconds);
        app.add_option("--manager", o.manager, "control pipe of who conducts");
        app.add_flag("--master", o.master, "conduct the tests");
        app.add_flag("--paced", o.paced, "wait for the manager's 'on' after each test");
        app.add_option("--pair", pairs)->allow_extra_args(false);
        app.add_option("--test", tests)->allow_extra_args(false);
        app.add_flag("--threaded", o.instrument.immediate, "callbacks by a thread of the RTI");
        app.add_option("--clock", o.clock, "monotonic or realtime")
            ->check(CLI::IsMember({"monotonic", "realtime"}));
        app.add_option("--discipline", o.discipline,
                       "command that says what disciplines this host's clock, and how well");
        app.add_option("--memory", o.memory, "descriptor of the shared memory")->required();
        app.add_flag("--live", o.live, "no tests: measure from 'start' until 'resign'");
        app.add_option("--station", o.instrument.station, "live: this federate's number, 1 to 10")
            ->check(CLI::Range(1u, range::kFederates));
        app.add_option("--bytes", bytes, "live: of the record")->check(CLI::Range(16, 1 << 24));
        app.add_option("--hz", hz, "live: rate of the record")->check(CLI::Range(0.01, 10000.0));
        app.add_option("--tick-hz", tickHz, "live: of the timer")->check(CLI::Range(1u, 10000u));
        app.add_flag("--best-effort", bestEffort, "live");
        app.add_flag("--normal", normal, "live: no real-time priority");
    }
    range::Options parse(int argc, char** argv) {
        app.parse(argc, argv);
        auto& o = options;
        auto const add = [&](std::string const& name) {
            if (std::find(o.names.begin(), o.names.end(), name) == o.names.end()) {
                o.names.push_back(name);
            }
        };
        for (auto const& text : pairs) {
            auto const colon = text.find(':');
            if (colon == std::string::npos) {
                throw bench::UsageError("--pair " + text + " is not SENDER:RECEIVER");
            }
            o.pairs.emplace_back(text.substr(0, colon), text.substr(colon + 1));
            add(o.pairs.back().first);
            add(o.pairs.back().second);
        }
        for (auto const& text : tests) {
            range::Json const given = range::Json::parse(text, nullptr, false);
            if (given.is_discarded()) throw bench::UsageError("--test " + text + " is no JSON");
            o.tests.push_back(range::Test::parse(given));
            if (o.tests.back().federates > o.names.size()) {
                throw bench::UsageError("--test " + text + ": so many federates are not there");
            }
        }
        if (o.live) {
            o.tests.assign(
                1, range::Test::parse({{"number", 0},
                                       {"federates", range::kFederates},
                                       {"bytes", bytes},
                                       {"hz", hz},
                                       {"duration_s", 86400},
                                       {"tick_hz", tickHz},
                                       {"scheduling", normal ? "normal" : "realtime"},
                                       {"threaded", o.instrument.immediate},
                                       {"transport", bestEffort ? "best_effort" : "reliable"}}));
        } else if (o.master && tests.empty()) {
            throw bench::UsageError("a master needs at least one --test");
        }
        o.instrument.member = o.name;
        return o;
    }
};

range::Shared& attached(int memory) {
    void* const at =
        ::mmap(nullptr, sizeof(range::Shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (at == MAP_FAILED) {
        throw bench::UsageError("--memory " + std::to_string(memory) +
                                " is no memory to share: " + std::strerror(errno));
    }
    return *static_cast<range::Shared*>(at);
}

int run(int argc, char** argv) {
    CommandLine line;
    range::Shared* shared = nullptr;
    auto const failed = [&](int code, std::string const& what) {
        std::cerr << "rangefed: " << what << std::endl;
        if (shared != nullptr) std::strncpy(shared->error, what.c_str(), sizeof shared->error - 1);
        return code;
    };
    try {
        range::Options const options = line.parse(argc, argv);
        shared = &attached(options.memory);
        std::strncpy(shared->name, options.name.c_str(), sizeof shared->name - 1);
        range::Session(options, *shared, stopAsked).run();
        shared->state.store(static_cast<std::uint32_t>(range::State::ended));
        return 0;
    } catch (CLI::Success const& e) {
        return line.app.exit(e);
    } catch (CLI::ParseError const& e) {
        return failed(2, std::string(e.what()) + "; see range-interface --help");
    } catch (bench::UsageError const& e) {
        return failed(2, e.what());
    } catch (bench::EndpointUnreachable const& e) {
        return failed(3, std::string("the RTI can't be reached: ") + e.what());
    } catch (std::exception const& e) {
        return failed(1, e.what());
    }
}

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGTERM, askStop);
    std::signal(SIGINT, askStop);
    // Who is conducted leaves nothing running; who is not measures on when its reader dies.
    if (std::getenv("BENCH_RUN_ID") != nullptr) ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    int const code = run(argc, argv);
    if (code != 0 && stopAsked != 0) {
        std::signal(stopAsked, SIG_DFL);
        std::raise(stopAsked);
    }
    return code;
}
