// conformance_player: plays scenarios on any RTI with the C++ API of IEEE 1516.1-2010.
#include "scenario.hpp"

#include <csignal>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <thread>
#include <unistd.h>

using namespace conformance;

namespace {

char const *const usage =
    "usage: conformance_player [options] FILE.scenario...\n"
    "  --model evoked|immediate              callback model (evoked)\n"
    "  --federates one-thread|threads|processes  where the federates run (one-thread)\n"
    "  --settings TEXT                       local settings designator of connect\n"
    "  --foms DIRECTORY                      FOM modules, ${foms} in scenarios\n"
    "  --results FILE                        what was shown, as tab-separated lines\n"
    "  --sweep TABLE                         also the generic exceptions of all services in TABLE\n"
    "  --title TEXT                          only scenarios with TEXT in their title\n"
    "  --wait SECONDS                        for what has to come (120)\n"
    "  --pause SECONDS                       before every step, random, at most (0)\n"
    "  --texts                               exceptions name service and clause, in ASCII\n"
    "  --cut COMMAND                         kills the RTI's server process, for `cut` in "
    "scenarios\n"
    "  --must-fail                           every scenario must fail, at its last step\n"
    "  --verbose                             every step with its reply\n"
    "  --list                                services and callbacks that the player knows\n";

/// A step that neither ends nor fails: an RTI call that does not return.
void watch(double seconds) {
    std::thread([seconds] {
        for (long last = -1;;) {
            long const now = progress;
            if (now == last) {
                std::cerr << place() << "\n    no progress for " << seconds << " s\n";
                std::_Exit(3);
            }
            last = now;
            std::this_thread::sleep_for(
                std::chrono::milliseconds(static_cast<long>(seconds * 1000)));
        }
    }).detach();
}

bool applies(Scenario const &scenario, Run const &run, std::string const &title) {
    if (!title.empty() && scenario.title.find(title) == std::string::npos)
        return false;
    std::string const name = run.name();
    for (std::string const &only : scenario.only)
        if (only == "cut" ? run.cut.empty() : name.find(only) == std::string::npos)
            return false;
    return true;
}

}

int main(int argc, char **argv) {
    Run run;
    std::string results, title, table;
    std::vector<std::string> files;
    bool child = false, mustFail = false;
    for (int i = 1; i < argc; ++i) {
        std::string const option = argv[i];
        auto value = [&]() -> std::string {
            if (++i >= argc) {
                std::cerr << option << " needs a value\n" << usage;
                std::exit(2);
            }
            return argv[i];
        };
        if (option == "--federate") {
            child = true;
        } else if (option == "--model") {
            run.arrangement.model =
                value() == "immediate" ? rti1516e::HLA_IMMEDIATE : rti1516e::HLA_EVOKED;
        } else if (option == "--federates") {
            std::string const where = value();
            run.placement = where == "processes" ? Placement::Processes
                            : where == "threads" ? Placement::Threads
                                                 : Placement::OneThread;
        } else if (option == "--settings") {
            run.arrangement.settings = value();
        } else if (option == "--foms") {
            run.foms = value();
        } else if (option == "--results") {
            results = value();
        } else if (option == "--sweep") {
            table = value();
        } else if (option == "--title") {
            title = value();
        } else if (option == "--wait") {
            run.wait = std::atof(value().c_str());
        } else if (option == "--pause") {
            run.pause = std::atof(value().c_str());
        } else if (option == "--cut") {
            run.cut = value();
        } else if (option == "--must-fail") {
            mustFail = true;
        } else if (option == "--texts") {
            run.texts = true;
        } else if (option == "--verbose") {
            run.verbose = true;
        } else if (option == "--list") {
            for (Known const &service : knownServices())
                std::cout << "service\t" << service.name << '\t' << service.parameters << '\t'
                          << service.sample << '\n';
            for (std::string const &name : knownCallbacks())
                std::cout << "callback\t" << name << '\n';
            return 0;
        } else if (option[0] == '-') {
            std::cerr << "no option " << option << "\n" << usage;
            return 2;
        } else {
            files.push_back(option);
        }
    }
    std::signal(SIGPIPE, SIG_IGN);
    if (child) {
        Federate federate(run.arrangement);
        serve(federate, 0, 1);
        return 0;
    }
    if (files.empty() && table.empty()) {
        std::cerr << usage;
        return 2;
    }
    char path[4096];
    ssize_t const length = ::readlink("/proc/self/exe", path, sizeof path);
    run.program = length > 0 ? std::string(path, static_cast<size_t>(length)) : argv[0];

    std::vector<Scenario> scenarios;
    try {
        auto add = [&](std::vector<Scenario> const &list) {
            for (Scenario const &scenario : list)
                if (applies(scenario, run, title))
                    scenarios.push_back(scenario);
        };
        if (!table.empty())
            add(sweep(table));
        for (std::string const &file : files)
            add(readScenarios(file));
    } catch (SyntaxError const &e) {
        std::cerr << e.what() << "\n";
        return 2;
    }
    if (scenarios.empty()) {
        std::cerr << "no scenario to play\n";
        return 2;
    }
    watch(run.wait + 60);
    Results out(results);
    Conductor conductor(run, out);
    size_t failed = 0;
    for (Scenario const &scenario : scenarios) {
        int const line = conductor.play(scenario);
        failed += line == (mustFail ? scenario.steps.back().line : 0) ? 0 : 1;
    }
    std::cout << run.name() << ": " << scenarios.size() << " scenarios, " << failed << " failed"
              << std::endl;
    return failed == 0 ? 0 : 1;
}
