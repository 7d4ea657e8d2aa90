// Round trips of a sample, one under way at a time, of which an endpoint does by itself as many as
// go as is usual.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "clock.hpp"
#include "recorder.hpp"

namespace bench {

// Messages of the items in turn, each of which is back before the next leaves.
struct Trips {
    std::vector<std::size_t> const& items;
    std::uint16_t const tag;  // of their stamps
    Recorder& record;         // what each took, ns
    Clock::Reader const clock;

    std::size_t next = 0;       // of the items
    std::uint64_t left = 0;     // to begin
    std::uint64_t untilNs = 0;  // none begins later
    std::uint64_t lastNs = 0;   // stamped last: no two stamps are the same
    // What was done: one that has begun and is not back is under way.
    std::uint64_t begun = 0, back = 0, backNs = 0;
};

}  // namespace bench
