#include "seen_stamps.hpp"

#include <algorithm>

namespace bmfed {

using bench::isNewer;

void SeenStamps::reset(std::uint64_t count) {
    std::uint64_t const kept = std::min(count, kKept);
    if (size_ != kept) ascending_.reset(new std::uint64_t[kept]);
    size_ = kept;
    next_ = ascending_.get();
    end_ = next_ + kept;
    std::size_t size = 1;
    while (size <= kept + kept / 2) size *= 2;  // there is always a free one
    if (left_ != kept || others_.size() != size) others_.assign(size, 0);
    left_ = kept;
    begun_ = full_ = false;
}

bool SeenStamps::insert(std::uint64_t stamp) {
    if (!begun_) {
        begun_ = true;
        newest_ = stamp - 1;
        passed_ = stamp - (bench::kTimeMask >> 2);  // others that are older may come after it
    }
    if (!isNewer(stamp, newest_)) return insertOlder(stamp);
    if (room() == 0) {
        next_ = ascending_.get();
        full_ = true;
    }
    put(stamp);
    return true;
}

bool SeenStamps::insertOlder(std::uint64_t stamp) {
    if (!isNewer(stamp, passed_)) return false;
    auto const put = static_cast<std::size_t>(next_ - ascending_.get());
    std::size_t const there = full_ ? size_ : put, oldest = full_ ? put : 0;
    auto const at = [&](std::size_t n) { return ascending_[(oldest + n) % size_]; };
    // The first that is not older.
    std::size_t low = 0;
    for (std::size_t high = there; low < high;) {
        std::size_t const middle = low + (high - low) / 2;
        if (isNewer(stamp, at(middle))) low = middle + 1;
        else high = middle;
    }
    if (low < there && at(low) == stamp) return false;
    // It may be one of those that are forgotten.
    if (low == 0 && full_) return false;
    std::size_t const mask = others_.size() - 1;
    std::size_t slot = static_cast<std::size_t>(stamp * 0x9e3779b97f4a7c15u >> 20) & mask;
    while (others_[slot] != 0) {
        if (others_[slot] == stamp) return false;
        slot = (slot + 1) & mask;
    }
    // So many were never sent: what comes beyond is none of them.
    if (left_ == 0) return false;
    --left_;
    others_[slot] = stamp;
    return true;
}

}  // namespace bmfed
