// How many values the receiver has got, in memory that both federates share: the sender sees that
// nothing is under way before each call, and the RTI has nothing more to carry for that. Values, as
// those of an update may come in several callbacks: one for each transportation.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace fomcost {

class Arrivals {
public:
    // Both name the same file; who comes first makes it. Throws std::runtime_error.
    explicit Arrivals(std::string const& path);
    ~Arrivals();
    Arrivals(Arrivals const&) = delete;
    Arrivals& operator=(Arrivals const&) = delete;

    void add(std::uint64_t values) { count_->fetch_add(values, std::memory_order_release); }
    std::uint64_t count() const { return count_->load(std::memory_order_acquire); }

private:
    std::atomic<std::uint64_t>* count_;
};

}  // namespace fomcost
