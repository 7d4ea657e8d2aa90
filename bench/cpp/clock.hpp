// The clock of all measurements: monotonic, in nanoseconds. It knows how far a time may be wrong,
// and notices when it has jumped.
#pragma once

#include <atomic>
#include <cstdint>
#include <stdexcept>

#include "jumps.hpp"
#include "kernel_time.hpp"

namespace bench {

// The clock no longer says how much time has passed.
struct ClockJumped : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// What a difference of two readings may be wrong by: a step of the clock, and what a reading takes.
struct ClockError {
    std::uint64_t stepNs, readingNs;
};

class Clock {
public:
    // With BENCH_CLOCK_JUMP=SECONDS in the environment SIGUSR1 makes this process's clock jump by
    // so many, for tests; no clock of the machine is touched.
    Clock();

    // This clock for a library that the program loads, which has none of the program's variables.
    class Reader {
    public:
        std::uint64_t nowNs() const {
            return readNs(CLOCK_MONOTONIC) + injectedNs_->load(std::memory_order_relaxed);
        }

    private:
        friend class Clock;
        explicit Reader(std::atomic<std::uint64_t> const* injectedNs) : injectedNs_(injectedNs) {}

        std::atomic<std::uint64_t> const* injectedNs_;
    };
    static Reader reader() { return Reader(&injectedNs_); }
    static std::uint64_t nowNs() { return reader().nowNs(); }

    // Throws ClockJumped if it has since the last look.
    void look();

    static ClockError error();

private:
    Jumps jumps_;
    static std::atomic<std::uint64_t> injectedNs_;
    static std::uint64_t toInjectNs_;
};

}  // namespace bench
