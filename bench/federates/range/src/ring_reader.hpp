// Reads the ring of a running interface and proves from its counter that no element was missed.
#pragma once

#include <algorithm>
#include <cstring>
#include <vector>

#include "shared.hpp"

namespace range {

class RingReader {
public:
    // From what is there now on: earlier elements were another reader's.
    explicit RingReader(Shared const& shared)
        : shared_(shared), next_(shared.elements.load(std::memory_order_acquire)) {}

    // What has come since, in order. Elements that were written over meanwhile are not among it:
    // `missed` counts them.
    std::vector<Element> read() {
        std::uint64_t const until = shared_.elements.load(std::memory_order_acquire);
        std::vector<Element> found;
        for (std::uint64_t at = first(until); at < until; ++at) {
            found.emplace_back();
            std::memcpy(&found.back(), &shared_.ring[at % kElements], sizeof(Element));
        }
        // The writer went on: what it may have written over, or is writing over, is void.
        std::atomic_thread_fence(std::memory_order_acquire);
        std::uint64_t const valid = firstWhole(shared_.elements.load(std::memory_order_relaxed));
        std::uint64_t const begin = until - found.size();
        std::uint64_t const bad =
            std::min<std::uint64_t>(valid > begin ? valid - begin : 0, found.size());
        found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(bad));
        missed_ += until - next_ - found.size();
        read_ += found.size();
        next_ = until;
        return found;
    }
    std::uint64_t missed() const { return missed_; }
    std::uint64_t count() const { return read_; }
    // It has looked at all elements before this.
    std::uint64_t until() const { return next_; }

private:
    static std::uint64_t firstWhole(std::uint64_t written) {
        // One more than is written may be half there.
        return written + 1 > kElements ? written + 1 - kElements : 0;
    }
    std::uint64_t first(std::uint64_t until) const { return std::max(next_, firstWhole(until)); }

    Shared const& shared_;
    std::uint64_t next_, missed_ = 0, read_ = 0;
};

}  // namespace range
