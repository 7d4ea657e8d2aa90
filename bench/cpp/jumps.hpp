// Notices that a clock was set: that it goes otherwise than the kernel's raw one, which nobody sets
// or adjusts.
#pragma once

#include <time.h>

#include <cstdint>
#include <cstdlib>

namespace bench {

class Jumps {
public:
    // By how much it has jumped since the last look, and how long ago that was. 0: by no more than
    // adjusting may make, and than what passed between the readings.
    struct Found {
        std::int64_t byNs, withinNs;
    };

    template <typename NowNs>
    explicit Jumps(NowNs nowNs) : last_(read(nowNs)) {}

    template <typename NowNs>
    Found look(NowNs nowNs) {
        Readings const was = last_;
        last_ = read(nowNs);
        auto const raw = static_cast<std::int64_t>(last_.raw - was.raw);
        auto const by = static_cast<std::int64_t>(last_.now - was.now) - raw;
        auto const slack = static_cast<std::int64_t>(was.betweenNs + last_.betweenNs);
        return {std::abs(by) <= kLeastNs + raw / kAdjusted + slack ? 0 : by, raw};
    }

private:
    // What adjusting makes of a second is less than a thousandth; what is shorter than this is no
    // jump.
    static constexpr std::int64_t kAdjusted = 1000, kLeastNs = 1000000;

    struct Readings {
        std::uint64_t now, raw, betweenNs;
    };
    template <typename NowNs>
    static Readings read(NowNs nowNs) {
        std::uint64_t const before = rawNs(), now = nowNs(), after = rawNs();
        return {now, before, after - before};
    }
    static std::uint64_t rawNs() {
        timespec now;
        ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
        return static_cast<std::uint64_t>(now.tv_sec) * 1000000000u +
               static_cast<std::uint64_t>(now.tv_nsec);
    }

    Readings last_;
};

}  // namespace bench
