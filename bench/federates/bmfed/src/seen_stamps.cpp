#include "seen_stamps.hpp"

namespace bmfed {

using bench::isNewer;

void SeenStamps::reset(std::uint64_t count) {
    std::uint64_t const kept = std::min(count, kKept);
    if (ascending_ == nullptr || size_ != kept) ascending_.reset(new std::uint64_t[kept + 1]);
    size_ = kept;
    stop_ = next_ = ascending_.get() + 1;
    end_ = next_ + kept;
    next_[-1] = 0;
    std::uint64_t slots = 1;
    while (slots <= kept + kept / 2) slots *= 2;  // there is always a free one
    if (slots_ != slots) others_.reset(new std::uint64_t[slots]);
    slots_ = slots;
    left_ = kept;
    begun_ = full_ = false;
}

bool SeenStamps::insert(std::uint64_t stamp) {
    if (!begun_) {
        begun_ = true;
        next_[-1] = stamp - 1;
        passed_ = stamp - (bench::kTimeMask >> 2);  // others that are older may come after it
    }
    if (!isNewer(stamp, newest())) return insertOlder(stamp);
    if (size_ == 0) return false;
    if (room() == 0) {
        std::uint64_t* const first = ascending_.get();
        *first = newest();
        next_ = first + 1;
        full_ = true;
    }
    put(stamp);
    return true;
}

bool SeenStamps::insertOlder(std::uint64_t stamp) {
    if (!isNewer(stamp, passed_)) return false;
    std::uint64_t const* const ring = ascending_.get() + 1;
    auto const put = static_cast<std::uint64_t>(next_ - ring);
    std::uint64_t const there = full_ ? size_ : put, oldest = full_ ? put : 0;
    auto const at = [&](std::uint64_t n) { return ring[(oldest + n) % size_]; };
    // The first that is not older.
    std::uint64_t low = 0;
    for (std::uint64_t high = there; low < high;) {
        std::uint64_t const middle = low + (high - low) / 2;
        if (isNewer(stamp, at(middle))) low = middle + 1;
        else high = middle;
    }
    if (low < there && at(low) == stamp) return false;
    // It may be one of those that are forgotten.
    if (low == 0 && full_) return false;
    if (left_ == size_) std::fill_n(others_.get(), slots_, 0);
    std::uint64_t const mask = slots_ - 1;
    std::uint64_t slot = (stamp * 0x9e3779b97f4a7c15u >> 20) & mask;
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
