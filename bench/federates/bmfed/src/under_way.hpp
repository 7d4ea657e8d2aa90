// Which round trips of best effort are under way.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "stamp.hpp"

namespace bmfed {

// The stamps of those that their sender waits for, as they ascend. What is back while an older one
// is not tells that the older one is lost, as soon as it was sent later by more than a time-out: so
// no loss keeps its place longer, and no delay of the sender's own makes a loss. It allocates
// nothing within a sample.
class UnderWay {
public:
    // Empties it, with room for so many.
    void reset(std::uint64_t room, std::uint64_t lossNs) {
        ring_.resize(static_cast<std::size_t>(std::max<std::uint64_t>(room, 1)));
        lossNs_ = lossNs;
        clear();
    }
    void clear() { count_ = 0; }
    // One that is newer than all before; there is room for it.
    void put(std::uint64_t stamp) { at(count_++) = stamp; }
    // That with this stamp is back. How many are under way no more: it, unless it was given up
    // before, and those that are lost.
    std::uint64_t back(std::uint64_t stamp) {
        std::size_t const before = count_;
        while (count_ > 0 && bench::isNewer(stamp, at(0)) && bench::ageNs(at(0), stamp) > lossNs_) {
            leave();
        }
        // The first that is not older.
        std::size_t low = 0;
        for (std::size_t high = count_; low < high;) {
            std::size_t const middle = low + (high - low) / 2;
            if (bench::isNewer(stamp, at(middle))) low = middle + 1;
            else high = middle;
        }
        if (low < count_ && at(low) == stamp) {
            for (; low > 0; --low) at(low) = at(low - 1);
            leave();
        }
        return before - count_;
    }

private:
    std::uint64_t& at(std::size_t nth) {
        std::size_t const place = first_ + nth;
        return ring_[place < ring_.size() ? place : place - ring_.size()];
    }
    void leave() {
        first_ = first_ + 1 == ring_.size() ? 0 : first_ + 1;
        --count_;
    }

    std::vector<std::uint64_t> ring_ = std::vector<std::uint64_t>(1);
    std::size_t first_ = 0, count_ = 0;
    std::uint64_t lossNs_ = 0;
};

}  // namespace bmfed
