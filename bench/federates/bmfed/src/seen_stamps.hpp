// What of a sample has come already.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

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

    // Empties it, with room for so many.
    void reset(std::uint64_t count);
    // Whether it is one of the same sample, newer than all before, of which there are some. Where
    // the time of stamps begins anew it says no.
    bool follows(std::uint64_t stamp) const {
        return (stamp - newest_ - 1) >> (bench::kTagShift - 1) == 0;
    }
    // So many of those may be put; then one is to be inserted.
    std::uint64_t room() const { return static_cast<std::uint64_t>(end_ - next_); }
    void put(std::uint64_t stamp) { *next_++ = newest_ = stamp; }
    // Any. False: it was there already.
    bool insert(std::uint64_t stamp);
    // All up to this one have come.
    void passed(std::uint64_t stamp) {
        begun_ = true;
        newest_ = passed_ = stamp;
    }
    std::uint64_t newest() const { return newest_; }

private:
    bool insertOlder(std::uint64_t stamp);

    // The latest of those that came in order, in a ring; what was never put is never read.
    std::unique_ptr<std::uint64_t[]> ascending_;
    std::size_t size_ = 0;  // of it
    std::uint64_t* end_ = nullptr;
    std::uint64_t* next_ = nullptr;          // of these
    std::vector<std::uint64_t> others_;      // by a hash; 0: free; a power of two of them
    std::uint64_t left_ = 0;                 // how many more of these there may be
    std::uint64_t newest_ = 0, passed_ = 0;  // what is not newer than `passed_` has come
    bool begun_ = false, full_ = false;      // there are some; the ring has none free
};

}  // namespace bmfed
