// Times of federates: since when, and the stamps of messages.
#pragma once

#include "clock.hpp"

namespace bench {

inline std::uint64_t nowNs() { return Clock::nowNs(); }

inline double secondsSince(std::uint64_t startNs) {
    return static_cast<double>(nowNs() - startNs) * 1e-9;
}

// The 8 bytes at the front of a message: the sample's tag in the upper 16 bits, time in the
// lower 48 (78 hours). The tag tells a straggler of an earlier sample from this sample's data.
constexpr unsigned kTagShift = 48;
constexpr std::uint64_t kTimeMask = (std::uint64_t{1} << kTagShift) - 1;

// No sample's.
constexpr std::uint16_t kWarmUpTag = 0;

inline std::uint64_t makeStamp(std::uint16_t tag, std::uint64_t timeNs) {
    return (std::uint64_t{tag} << kTagShift) | (timeNs & kTimeMask);
}
inline std::uint16_t tagOf(std::uint64_t stamp) {
    return static_cast<std::uint16_t>(stamp >> kTagShift);
}
// Whether a stamp was made after another of its tag, also where the time began anew in between.
inline bool isNewer(std::uint64_t stamp, std::uint64_t than) {
    return static_cast<std::int64_t>((stamp - than) << (64 - kTagShift)) > 0;
}
// Time since the stamp was made; only its maker may ask.
inline std::uint64_t ageNs(std::uint64_t stamp, std::uint64_t timeNs) {
    return (timeNs - stamp) & kTimeMask;
}

}  // namespace bench
