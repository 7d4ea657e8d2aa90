// A thread that is to do something so many times a second: it sleeps until absolute deadlines, so
// that what one turn takes delays no other, and counts what came of them.
#pragma once

#include <array>
#include <cstdint>

#include "kernel_time.hpp"

namespace bench {

// How many times were how long: four buckets for each power of two of nanoseconds, so a value is
// known to a quarter of itself. Adding allocates nothing.
class Histogram {
public:
    static constexpr unsigned kBuckets = 160;
    void add(std::uint64_t ns) {
        ++counts_[bucketOf(ns)];
        if (ns > largest_) largest_ = ns;
    }
    std::array<std::uint64_t, kBuckets> const& counts() const { return counts_; }
    std::uint64_t largest() const { return largest_; }

    static unsigned bucketOf(std::uint64_t ns) {
        if (ns < 4) return static_cast<unsigned>(ns);
        unsigned const power = 63 - static_cast<unsigned>(__builtin_clzll(ns));
        unsigned const at = 4 * (power - 1) + static_cast<unsigned>((ns >> (power - 2)) & 3);
        return at < kBuckets ? at : kBuckets - 1;
    }
    // The least value of a bucket.
    static std::uint64_t leastOf(unsigned bucket) {
        if (bucket < 4) return bucket;
        return std::uint64_t{4 + bucket % 4} << (bucket / 4 - 1);
    }

private:
    std::array<std::uint64_t, kBuckets> counts_{};
    std::uint64_t largest_ = 0;
};

// The arithmetic of deadlines; times are those of CLOCK_MONOTONIC, in ns.
class Deadlines {
public:
    // The first of `hz` a second is at `start`; each period is so many millionths longer.
    Deadlines(std::uint64_t start, std::uint64_t hz, std::uint64_t longerPpm = 0)
        : start_(start), hz_(hz), longerPpm_(longerPpm) {}

    std::uint64_t number() const { return number_; }
    // Of the next turn. No rounding adds up.
    std::uint64_t next() const {
        return start_ + longer(number_ / hz_ * kSecond + number_ % hz_ * kSecond / hz_);
    }
    // That turn begins `now`. Deadlines that have passed meanwhile are missed: they get no turn.
    void begun(std::uint64_t now) {
        std::uint64_t const due = next();
        std::uint64_t const late = now > due ? now - due : 0;
        std::uint64_t const period = longer(kSecond / hz_);
        lateness_.add(late);
        ++turns_;
        if (late > period / 10) ++late_;
        std::uint64_t const passed = late / period;
        missed_ += passed;
        number_ += 1 + passed;
    }

    std::uint64_t turns() const { return turns_; }
    // Turns that began over a tenth of the period after their deadline.
    std::uint64_t late() const { return late_; }
    std::uint64_t missed() const { return missed_; }
    Histogram const& lateness() const { return lateness_; }

private:
    static constexpr std::uint64_t kSecond = 1000000000, kMillion = 1000000;
    std::uint64_t longer(std::uint64_t ns) const {
        return ns + ns / kMillion * longerPpm_ + ns % kMillion * longerPpm_ / kMillion;
    }

    std::uint64_t start_, hz_, longerPpm_;
    std::uint64_t number_ = 0, turns_ = 0, late_ = 0, missed_ = 0;
    Histogram lateness_;
};

// Which updates are due by a turn: `hz` of them a second, the first after `phase` of a period.
class Due {
public:
    Due(double hz, double phase, std::uint64_t updates, double tickHz)
        : hz_(hz), phase_(phase), tickHz_(tickHz), updates_(updates) {}
    // How many are due until then.
    std::uint64_t by(std::uint64_t turn) const {
        double const at = static_cast<double>(turn) / tickHz_ * hz_ - phase_;
        if (at < 0) return 0;
        auto const due = static_cast<std::uint64_t>(at + 1e-6) + 1;
        return updates_ != 0 && due > updates_ ? updates_ : due;
    }

private:
    double hz_, phase_, tickHz_;
    std::uint64_t updates_;
};

}  // namespace bench
