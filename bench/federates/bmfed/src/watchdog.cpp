#include "watchdog.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

namespace bmfed {

namespace {

// What the signal handler needs, ready before the alarm is set.
char message[1024];
bool namesService = false;
int code = 1;

void say(char const* text, std::size_t length) {
    // A log that can't be written changes nothing: the process ends all the same.
    if (::write(STDERR_FILENO, text, length) < 0) return;
}

}  // namespace

char const* volatile Watchdog::service_ = "none";

void Watchdog::bark(int) {
    say(message, std::strlen(message));
    if (namesService) {
        char const* const service = service_;
        say(service, std::strlen(service));
    }
    say("\n", 1);
    ::_exit(code);
}

void Watchdog::arm(double seconds, int exitCode, std::string const& text) {
    unsigned const limit = static_cast<unsigned>(std::ceil(std::min(seconds, 1e8)));
    ::alarm(0);
    code = exitCode;
    namesService = text.empty();
    if (namesService) {
        std::snprintf(message, sizeof message,
                      "bmfed: no progress for %u s; the last RTI service called was ", limit);
    } else {
        std::snprintf(message, sizeof message, "%s", text.c_str());
    }
    struct sigaction action {};
    action.sa_handler = bark;
    ::sigaction(SIGALRM, &action, nullptr);
    ::alarm(std::max(limit, 1U));
}

}  // namespace bmfed
