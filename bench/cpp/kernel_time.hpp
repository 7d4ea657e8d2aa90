// The kernel's times as nanoseconds: read, and waited for.
#pragma once

#include <time.h>

#include <cerrno>
#include <cstdint>

namespace bench {

inline std::uint64_t nsOf(timespec const& t) {
    return static_cast<std::uint64_t>(t.tv_sec) * 1000000000u +
           static_cast<std::uint64_t>(t.tv_nsec);
}

inline std::uint64_t readNs(clockid_t clock) {
    timespec now;
    ::clock_gettime(clock, &now);
    return nsOf(now);
}

// Sleeps until then by CLOCK_MONOTONIC, whatever signals come.
inline void sleepUntil(std::uint64_t ns) {
    timespec at;
    at.tv_sec = static_cast<time_t>(ns / 1000000000);
    at.tv_nsec = static_cast<long>(ns % 1000000000);
    while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, nullptr) == EINTR) {
    }
}

}  // namespace bench
