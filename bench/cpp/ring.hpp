// A ring in memory that two processes share: one writes, the other reads, and is to be woken if it
// sleeps. It trusts both. Positions only grow; one is at its remainder by kBytes.
#pragma once

#include <atomic>
#include <cstdint>

namespace bench {

template <std::uint64_t kBytes>
struct SharedRing {
    alignas(64) std::atomic<std::uint64_t> written;
    alignas(64) std::atomic<std::uint64_t> read;
    std::atomic<std::uint32_t> sleeps;
    alignas(64) unsigned char bytes[kBytes];
    static_assert(sizeof(std::atomic<std::uint64_t>) == 8, "the same in every process");

    // ---- of the writer
    // Where it goes on, and how much there is room for.
    std::uint64_t end() const { return written.load(std::memory_order_relaxed); }
    std::uint64_t room() const { return kBytes - (end() - read.load(std::memory_order_acquire)); }
    // Shows what was written before `at`. True: the reader slept, and is to be woken.
    bool show(std::uint64_t at) {
        written.store(at, std::memory_order_release);
        // Either it is seen here that the reader sleeps, or there what was written.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return slept();
    }
    bool slept() { return sleeps.load(std::memory_order_relaxed) != 0 && sleeps.exchange(0) != 0; }

    // ---- of the reader
    // Where it goes on, and until where it may.
    std::uint64_t begin() const { return read.load(std::memory_order_relaxed); }
    std::uint64_t shown() const { return written.load(std::memory_order_acquire); }
    bool empty() const { return shown() == begin(); }
    void taken(std::uint64_t at) { read.store(at, std::memory_order_release); }
    // From here on it is woken; if the ring is still empty it may sleep.
    void fallAsleep() {
        sleeps.store(1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    void wakeUp() { sleeps.store(0, std::memory_order_relaxed); }
};

}  // namespace bench
