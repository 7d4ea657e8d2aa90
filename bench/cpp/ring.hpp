// A ring in memory that processes share: one writes, the others read all of it, each at its own
// pace, and are to be woken if they sleep. It trusts all. Positions only grow; one is at its
// remainder by kBytes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace bench {

template <std::uint64_t kBytes, std::size_t kReaders = 1>
struct SharedRing {
    struct Reader {
        alignas(64) std::atomic<std::uint64_t> read;
        std::atomic<std::uint32_t> sleeps;
    };
    alignas(64) std::atomic<std::uint64_t> written;
    Reader readers[kReaders];
    alignas(64) unsigned char bytes[kBytes];
    static_assert(sizeof(std::atomic<std::uint64_t>) == 8, "the same in every process");

    // ---- of the writer
    // Where it goes on, and how much the first so many readers have room for.
    std::uint64_t end() const { return written.load(std::memory_order_relaxed); }
    std::uint64_t room(std::size_t of = 1) const {
        std::uint64_t behind = 0;
        for (std::size_t i = 0; i < of; ++i)
            behind = std::max(behind, end() - readers[i].read.load(std::memory_order_acquire));
        return kBytes - behind;
    }
    // Shows what was written before `at`. True: the first reader slept, and is to be woken; others
    // are to be asked about.
    bool show(std::uint64_t at) {
        written.store(at, std::memory_order_release);
        // Either it is seen here that a reader sleeps, or there what was written.
        std::atomic_thread_fence(std::memory_order_seq_cst);
        return slept();
    }
    bool slept(std::size_t who = 0) {
        auto &sleeps = readers[who].sleeps;
        return sleeps.load(std::memory_order_relaxed) != 0 && sleeps.exchange(0) != 0;
    }

    // ---- of a reader
    // Where it goes on, and until where it may.
    std::uint64_t begin(std::size_t me = 0) const {
        return readers[me].read.load(std::memory_order_relaxed);
    }
    std::uint64_t shown() const { return written.load(std::memory_order_acquire); }
    bool empty(std::size_t me = 0) const { return shown() == begin(me); }
    void taken(std::uint64_t at, std::size_t me = 0) {
        readers[me].read.store(at, std::memory_order_release);
    }
    // From here on it is woken; if the ring is still empty it may sleep.
    void fallAsleep(std::size_t me = 0) {
        readers[me].sleeps.store(1, std::memory_order_relaxed);
        std::atomic_thread_fence(std::memory_order_seq_cst);
    }
    void wakeUp(std::size_t me = 0) { readers[me].sleeps.store(0, std::memory_order_relaxed); }
};

}  // namespace bench
