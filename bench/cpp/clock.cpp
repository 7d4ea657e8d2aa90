#include "clock.hpp"

#include <time.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace bench {

std::atomic<std::uint64_t> Clock::injectedNs_{0};
std::uint64_t Clock::toInjectNs_ = 0;

Clock::Clock() : jumps_(nowNs) {
    if (char const* const seconds = std::getenv("BENCH_CLOCK_JUMP")) {
        toInjectNs_ =
            static_cast<std::uint64_t>(static_cast<std::int64_t>(std::atof(seconds) * 1e9));
        std::signal(SIGUSR1,
                    [](int) { injectedNs_.store(toInjectNs_, std::memory_order_relaxed); });
    }
}

void Clock::look() {
    Jumps::Found const found = jumps_.look(nowNs);
    if (found.byNs == 0) return;
    char text[160];
    std::snprintf(text, sizeof text,
                  "the clock jumped by %+.6g s within %.3g s, so times taken meanwhile are void",
                  static_cast<double>(found.byNs) * 1e-9,
                  static_cast<double>(found.withinNs) * 1e-9);
    throw ClockJumped(text);
}

ClockError Clock::error() {
    timespec step;
    ::clock_getres(CLOCK_MONOTONIC, &step);
    // The shortest of many: whoever is interrupted in between says nothing of the clock.
    std::uint64_t shortest = UINT64_MAX;
    for (int i = 0; i < 1000; ++i) {
        std::uint64_t const before = nowNs();
        shortest = std::min(shortest, nowNs() - before);
    }
    return {nsOf(step), shortest};
}

}  // namespace bench
