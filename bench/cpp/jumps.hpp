// Notices that a clock was set: that it goes otherwise than one which nobody sets.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "kernel_time.hpp"

namespace bench {

class Jumps {
public:
    // The clock beside, and what is no jump: less than this, or what adjusting may make of a
    // second, which is less than a thousandth. The kernel's raw clock is not adjusted;
    // CLOCK_MONOTONIC is as CLOCK_REALTIME is, so beside it each step of that is seen.
    struct Beside {
        clockid_t clock = CLOCK_MONOTONIC_RAW;
        std::int64_t leastNs = 1000000, adjustedParts = 1000;
    };
    static Beside steps() { return {CLOCK_MONOTONIC, 1000, INT64_MAX}; }
    // For the clock of a host: each step, unless an error is put into it.
    static Beside of(bool realtime, bool right) { return realtime && right ? steps() : Beside(); }

    // By how much it has jumped since the last look, and how long ago that was. 0: by no more than
    // adjusting may make, and than what passed between the readings.
    struct Found {
        std::int64_t byNs, withinNs;
    };

    template <typename NowNs>
    explicit Jumps(NowNs nowNs) : Jumps(nowNs, Beside()) {}
    template <typename NowNs>
    Jumps(NowNs nowNs, Beside beside) : beside_(beside), last_(read(nowNs)) {}

    template <typename NowNs>
    Found look(NowNs nowNs) {
        Readings const was = last_;
        last_ = read(nowNs);
        auto const raw = static_cast<std::int64_t>(last_.raw - was.raw);
        auto const by = static_cast<std::int64_t>(last_.now - was.now) - raw;
        auto const slack = static_cast<std::int64_t>(was.betweenNs + last_.betweenNs);
        auto const least = beside_.leastNs + raw / beside_.adjustedParts + slack;
        return {std::abs(by) <= least ? 0 : by, raw};
    }

private:
    struct Readings {
        std::uint64_t now, raw, betweenNs;
    };
    template <typename NowNs>
    Readings read(NowNs nowNs) const {
        std::uint64_t const before = rawNs(), now = nowNs(), after = rawNs();
        return {now, before, after - before};
    }
    std::uint64_t rawNs() const { return readNs(beside_.clock); }

    Beside beside_;
    Readings last_;
};

}  // namespace bench
