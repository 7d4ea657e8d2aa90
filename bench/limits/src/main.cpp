// limits-federate ROLE --key value ...: one federate of `make bench`.
// Exit codes: 0 done, 1 a fault (lost, doubled, out of order, RTI), 2 usage, 3 not done in time.
#include "federate.hpp"

#include <csignal>
#include <cstdio>
#include <unistd.h>

namespace {

extern "C" void outOfTime(int) {
    char const text[] = "limits: not done within --timeout seconds\n";
    // Nothing can be done about a failed write here.
    if (write(2, text, sizeof text - 1) < 0) {
    }
    _exit(3);
}

}

int main(int argc, char **argv) {
    std::map<std::string, void (*)(limits::Options const &)> const roles = {
        {"ping", limits::ping},       {"pong", limits::pong}, {"send", limits::send},
        {"receive", limits::receive}, {"late", limits::late}, {"crowd", limits::crowd},
        {"advance", limits::advance},
    };
    try {
        auto const role = roles.find(argc > 1 ? argv[1] : "");
        if (role == roles.end())
            throw std::invalid_argument(
                "usage: limits-federate ping|pong|send|receive|late|crowd|advance --key value ...");
        limits::Options const options(argc - 2, argv + 2);
        std::signal(SIGALRM, outOfTime);
        alarm(static_cast<unsigned>(options.number("timeout")));
        role->second(options);
        return 0;
    } catch (std::invalid_argument const &e) {
        std::fprintf(stderr, "limits: %s\n", e.what());
        return 2;
    } catch (rti1516e::Exception const &e) {
        std::fprintf(stderr, "limits: %s\n", limits::narrow(e.what()).c_str());
    } catch (std::exception const &e) {
        std::fprintf(stderr, "limits: %s\n", e.what());
    }
    return 1;
}
