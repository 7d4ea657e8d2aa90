// The clock by which hosts date what they send to each other: CLOCK_MONOTONIC where all processes
// run on one, or CLOCK_REALTIME where a daemon disciplines it. For tests an error may be put into
// it, which is the host's to all that read it; no clock of the machine is touched.
#pragma once

#include <cstdint>

#include "kernel_time.hpp"

namespace bench {

class StationClock {
public:
    enum class Kind { monotonic, realtime };

    // BENCH_CLOCK_OFFSET_NS and BENCH_CLOCK_DRIFT_PPM in the environment are its error; with
    // BENCH_CLOCK_JUMP_NS it jumps by so many at SIGUSR1, and with BENCH_CLOCK_DELAY_NS who asks
    // it for the time is heard so much later: the way to it is longer than the way back.
    explicit StationClock(Kind kind = Kind::monotonic);

    std::uint64_t nowNs() const {
        std::uint64_t const ns = readNs(id_);
        return wrong_ ? wrong(ns) : ns;
    }

    // No error is put into it.
    bool right() const { return !wrong_; }
    // For who answers others with its time: waits as long as their way to it is made longer.
    void beAsked() const;

private:
    std::uint64_t wrong(std::uint64_t ns) const;

    clockid_t id_;
    bool wrong_ = false;
    std::int64_t offsetNs_ = 0, jumpNs_ = 0, delayNs_ = 0;
    double drift_ = 0;
};

}  // namespace bench
