// limits-federate ROLE --key value ...: one federate of `make bench`.
// Exit codes: 0 done, 1 a fault (lost, doubled, out of order, RTI), 2 usage, 3 not done in time.
#include "federate.hpp"

#include <unistd.h>
#include <CLI/CLI.hpp>
#include <csignal>
#include <cstdio>

namespace {

extern "C" void outOfTime(int) {
    char const text[] = "limits: not done within --timeout seconds\n";
    // Nothing can be done about a failed write here.
    if (write(2, text, sizeof text - 1) < 0) {
    }
    _exit(3);
}

/// An option that a later one of its name replaces.
template <class Value>
CLI::Option *needs(CLI::App *role, char const *key, Value &value, std::uint64_t least = 0) {
    return role->add_option(key, value)
        ->required()
        ->check(CLI::Range(least, std::uint64_t{1} << 40))
        ->take_last();
}

/// What is streamed: bytes of each value, which hold a number in front.
void streams(CLI::App *role, limits::Options &given) {
    needs(role, "--bytes", given.bytes, sizeof(std::uint64_t));
    role->add_option("--values", given.values)->check(CLI::Range(1, 10));
    role->add_option("--interaction", given.interaction);
    role->add_option("--anew", given.anew);
    role->add_option("--instances", given.instances)->check(CLI::Range(1, 100000));
}

/// What flows: of how many instances, classes and attributes. A value holds a number and a time.
void flows(CLI::App *role, limits::Options &given) {
    needs(role, "--bytes", given.bytes, 2 * sizeof(std::uint64_t));
    needs(role, "--instances", given.instances, 1);
    role->add_option("--values", given.values)->check(CLI::Range(1, 32));
    role->add_option("--classes", given.classes);
    role->add_option("--best", given.best);
}

}  // namespace

int main(int argc, char **argv) {
    limits::Options given;
    void (*run)(limits::Options const &) = nullptr;
    CLI::App app("A federate of `make bench`.");
    app.require_subcommand(1);
    auto const role = [&](char const *name, void (*does)(limits::Options const &)) {
        CLI::App *const made = app.add_subcommand(name);
        made->add_option("--fom", given.fom)->required();
        needs(made, "--timeout", given.timeout, 1);
        made->callback([&run, does] { run = does; });
        return made;
    };
    CLI::App *one = role("pong", limits::pong);
    needs(one, "--bytes", given.bytes, sizeof(std::uint64_t));
    one->add_option("--best", given.best);
    one->add_option("--me", given.me);
    one = role("ping", limits::ping);
    needs(one, "--bytes", given.bytes, sizeof(std::uint64_t));
    one->add_option("--best", given.best);
    needs(one, "--count", given.count, 1);
    needs(one, "--warm-up", given.warmUp);
    one->add_option("--receivers", given.receivers)->check(CLI::Range(1, 1000));
    one = role("send", limits::send);
    streams(one, given);
    needs(one, "--updates", given.updates, 1);
    needs(one, "--laps", given.laps);
    needs(one, "--spread-ms", given.spreadMs);
    needs(one, "--seed", given.seed);
    needs(one, "--receivers", given.receivers, 1);
    one->add_option("--stays", given.stays);
    one = role("receive", limits::receive);
    streams(one, given);
    one->add_option("--polls", given.polls);
    needs(one, "--updates", given.updates, 1);
    needs(one, "--me", given.me);
    one = role("late", limits::late);
    streams(one, given);
    needs(one, "--laps", given.laps, 1);
    needs(one, "--stay", given.stay);
    needs(one, "--pause-ms", given.pauseMs);
    needs(one, "--seed", given.seed);
    one = role("crowd", limits::crowd);
    one->add_option("--name", given.name)->required();
    needs(one, "--federates", given.federates, 1);
    needs(one, "--instances", given.instances);
    one = role("advance", limits::advance);
    needs(one, "--bytes", given.bytes, sizeof(std::uint64_t));
    needs(one, "--me", given.me);
    needs(one, "--federates", given.federates, 2);
    needs(one, "--messages", given.messages);
    needs(one, "--steps", given.steps, 1);
    needs(one, "--warm-up", given.warmUp);
    needs(one, "--regulating", given.regulating, 1);
    needs(one, "--constrained", given.constrained);
    one = role("produce", limits::produce);
    flows(one, given);
    needs(one, "--receivers", given.receivers, 1);
    // Whichever comes first; 0: without a limit.
    needs(one, "--updates", given.updates);
    needs(one, "--ms", given.ms);
    one->add_option("--rate", given.rate);
    one->add_option("--burst", given.burst);
    one->add_option("--random", given.random);
    one->add_option("--clocked", given.clocked);
    one->add_option("--announced", given.announced);
    one = role("consume", limits::consume);
    flows(one, given);
    needs(one, "--me", given.me);
    one->add_option("--stamped", given.stamped);
    one->add_option("--stays", given.stays);
    one = role("bystand", limits::bystand);
    needs(one, "--me", given.me);
    needs(one, "--instances", given.instances);
    one = role("join", limits::join);
    needs(one, "--instances", given.instances);
    needs(one, "--laps", given.laps, 1);
    one = role("calls", limits::calls);
    needs(one, "--bytes", given.bytes, sizeof(std::uint64_t));
    needs(one, "--count", given.count, 1);
    try {
        app.parse(argc, argv);
        std::signal(SIGALRM, outOfTime);
        alarm(given.timeout);
        run(given);
        return 0;
    } catch (CLI::ParseError const &e) {
        return app.exit(e) == 0 ? 0 : 2;
    } catch (rti1516e::Exception const &e) {
        std::fprintf(stderr, "limits: %s\n", limits::narrow(e.what()).c_str());
    } catch (std::exception const &e) {
        std::fprintf(stderr, "limits: %s\n", e.what());
    }
    return 1;
}
