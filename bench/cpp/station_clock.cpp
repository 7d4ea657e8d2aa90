#include "station_clock.hpp"

#include <atomic>
#include <csignal>
#include <cstdlib>

namespace bench {

namespace {

double number(char const* name) {
    char const* const text = std::getenv(name);
    return text == nullptr ? 0 : std::atof(text);
}

// Of this process's clocks.
std::atomic<bool> jumped{false};

}  // namespace

StationClock::StationClock(Kind kind)
    : id_(kind == Kind::monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME),
      offsetNs_(static_cast<std::int64_t>(number("BENCH_CLOCK_OFFSET_NS"))),
      jumpNs_(static_cast<std::int64_t>(number("BENCH_CLOCK_JUMP_NS"))),
      delayNs_(static_cast<std::int64_t>(number("BENCH_CLOCK_DELAY_NS"))),
      drift_(number("BENCH_CLOCK_DRIFT_PPM") * 1e-6) {
    wrong_ = offsetNs_ != 0 || jumpNs_ != 0 || drift_ != 0;
    if (jumpNs_ != 0) std::signal(SIGUSR1, [](int) { jumped = true; });
}

std::uint64_t StationClock::wrong(std::uint64_t ns) const {
    // The drift is that of the time since the machine began, the same for all who read the clock.
    auto error = offsetNs_ + static_cast<std::int64_t>(drift_ * static_cast<double>(ns));
    if (jumped.load(std::memory_order_relaxed)) error += jumpNs_;
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(ns) + error);
}

void StationClock::beAsked() const {
    if (delayNs_ <= 0) return;
    timespec const delay{delayNs_ / 1000000000, delayNs_ % 1000000000};
    ::nanosleep(&delay, nullptr);
}

}  // namespace bench
