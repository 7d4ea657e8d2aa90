#include "clock.hpp"

#include <time.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>

namespace bench {

namespace {

std::uint64_t nsOf(timespec const& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u +
           static_cast<std::uint64_t>(t.tv_nsec);
}

std::uint64_t rawNs() {
    timespec now;
    ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
    return nsOf(now);
}

// What adjusting makes of a second is less than a thousandth; what is shorter than this is no jump.
std::int64_t const kAdjusted = 1000, kLeastNs = 1000000;

}  // namespace

std::atomic<std::uint64_t> Clock::injectedNs_{0};
std::uint64_t Clock::toInjectNs_ = 0;

Clock::Clock() : last_(read()) {
    if (char const* const seconds = std::getenv("BENCH_CLOCK_JUMP")) {
        toInjectNs_ =
            static_cast<std::uint64_t>(static_cast<std::int64_t>(std::atof(seconds) * 1e9));
        std::signal(SIGUSR1,
                    [](int) { injectedNs_.store(toInjectNs_, std::memory_order_relaxed); });
    }
}

Clock::Readings Clock::read() {
    std::uint64_t const before = rawNs(), now = nowNs(), after = rawNs();
    return {now, before, after - before};
}

void Clock::look() {
    Readings const was = last_;
    last_ = read();
    auto const raw = static_cast<std::int64_t>(last_.raw - was.raw);
    auto const jump = static_cast<std::int64_t>(last_.now - was.now) - raw;
    auto const slack = static_cast<std::int64_t>(was.betweenNs + last_.betweenNs);
    if (std::abs(jump) <= kLeastNs + raw / kAdjusted + slack) return;
    char text[160];
    std::snprintf(text, sizeof text,
                  "the clock jumped by %+.6g s within %.3g s, so times taken meanwhile are void",
                  static_cast<double>(jump) * 1e-9, static_cast<double>(raw) * 1e-9);
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
