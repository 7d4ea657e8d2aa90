// What of a sample has come already.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "stamp.hpp"

namespace bmfed {

// The stamps of a pair's messages in a sample, so that what an RTI delivers twice counts once. A
// sender's stamps ascend, and an RTI that keeps its order brings them so: a newer one than all
// before takes few instructions. Only the latest kept are known: what is older than these counts as
// delivered before. It allocates nothing within a sample.
class SeenStamps {
public:
    static constexpr std::uint64_t kKept = std::uint64_t{1} << 20;
    // What it needs for each that is kept, at most: of those that ascend as many, of the others a
    // power of two beyond one and a half times as many.
    static constexpr std::uint64_t kBytesEach = 4 * sizeof(std::uint64_t);

    SeenStamps() { reset(0); }
    // Empties it, with room for so many.
    void reset(std::uint64_t count);
    // Whether it is one of the same sample, newer than all before, of which there are some, and one
    // of those that may be put. Where the time of stamps begins anew it says no.
    bool follows(std::uint64_t stamp) const {
        return next_ < stop_ && (stamp - newest() - 1) >> (bench::kTagShift - 1) == 0;
    }
    void put(std::uint64_t stamp) { *next_++ = stamp; }
    // At most so many more may be put before one is inserted.
    void mayPut(std::uint64_t more) { stop_ = next_ + std::min(more, room()); }
    // Any. False: it was there already.
    bool insert(std::uint64_t stamp);
    // So many that might be put have come, the last with this stamp.
    void passed(std::uint64_t count, std::uint64_t stamp) {
        begun_ = true;
        stop_ -= std::min(count, static_cast<std::uint64_t>(stop_ - next_));
        next_[-1] = passed_ = stamp;
    }
    std::uint64_t newest() const { return next_[-1]; }

private:
    bool insertOlder(std::uint64_t stamp);
    std::uint64_t room() const { return static_cast<std::uint64_t>(end_ - next_); }

    // The latest of those that came in order, in a ring behind a place for what is before its
    // first; what was never put is never read.
    std::unique_ptr<std::uint64_t[]> ascending_;
    std::uint64_t size_ = 0;                                            // of the ring
    std::uint64_t *next_ = nullptr, *stop_ = nullptr, *end_ = nullptr;  // of it
    // The others, by a hash; 0: free; a power of two of them. Cleared when the first comes.
    std::unique_ptr<std::uint64_t[]> others_;
    std::uint64_t slots_ = 0, left_ = 0;  // of these; how many more there may be
    std::uint64_t passed_ = 0;            // what is not newer has come
    bool begun_ = false, full_ = false;   // there are some; the ring has none free
};

}  // namespace bmfed
