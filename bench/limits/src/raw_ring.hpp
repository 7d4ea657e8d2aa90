// A ring in memory that two processes share, one of which puts bytes in and the other takes them
// out, and is woken if it sleeps. It trusts both, and neither may die: what no real one can be
// cheaper than.
#ifndef LIMITS_RAW_RING_HPP
#define LIMITS_RAW_RING_HPP

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

/// Made before its processes part. 1 MiB of bytes.
class Ring {
public:
    Ring() {
        void *at = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
                        -1, 0);
        bell_ = eventfd(0, EFD_CLOEXEC);
        if (at == MAP_FAILED || bell_ < 0)
            throw std::runtime_error("no shared memory");
        shared_ = new (at) Shared;
    }
    Ring(Ring const &) = delete;

    /// Shows the other end what was put, and wakes it if it sleeps.
    void put(char const *from, std::size_t size) {
        for (std::size_t done = 0; done < size;) {
            std::uint64_t const at = shared_->written.load(std::memory_order_relaxed);
            std::size_t const room = kBytes - (at - shared_->read.load(std::memory_order_acquire));
            if (room == 0) {
                sched_yield();
                continue;
            }
            std::size_t const offset = at % kBytes;
            std::size_t const now = std::min({room, size - done, kBytes - offset});
            std::memcpy(shared_->bytes + offset, from + done, now);
            shared_->written.store(at + now, std::memory_order_release);
            done += now;
            // Either it is seen here that the other end sleeps, or there what was written.
            std::atomic_thread_fence(std::memory_order_seq_cst);
            if (shared_->sleeps.load(std::memory_order_relaxed) && shared_->sleeps.exchange(0)) {
                std::uint64_t const one = 1;
                if (::write(bell_, &one, sizeof one) != sizeof one)
                    throw std::runtime_error("the other end can't be woken");
            }
        }
    }

    /// At least one byte, and what else there is up to so many.
    std::size_t take(char *to, std::size_t most) {
        std::uint64_t const at = shared_->read.load(std::memory_order_relaxed);
        while (shared_->written.load(std::memory_order_acquire) == at) {
            shared_->sleeps.store(1, std::memory_order_relaxed);
            std::atomic_thread_fence(std::memory_order_seq_cst);
            if (shared_->written.load(std::memory_order_acquire) == at)
                sleep();
            shared_->sleeps.store(0, std::memory_order_relaxed);
        }
        std::uint64_t const written = shared_->written.load(std::memory_order_acquire);
        std::size_t const offset = at % kBytes;
        std::size_t const now = std::min({std::size_t(written - at), most, kBytes - offset});
        std::memcpy(to, shared_->bytes + offset, now);
        shared_->read.store(at + now, std::memory_order_release);
        return now;
    }

    void takeAll(char *to, std::size_t size) {
        for (std::size_t done = 0; done < size;)
            done += take(to + done, size - done);
    }

private:
    static constexpr std::size_t kBytes = 1024 * 1024;

    struct Shared {
        alignas(64) std::atomic<std::uint64_t> written{0};
        alignas(64) std::atomic<std::uint64_t> read{0};
        std::atomic<std::uint32_t> sleeps{0};
        alignas(64) char bytes[kBytes];
    };

    void sleep() {
        pollfd watch = {bell_, POLLIN, 0};
        if (poll(&watch, 1, 10000) <= 0)
            throw std::runtime_error("nothing came for 10 s");
        std::uint64_t count;
        if (::read(bell_, &count, sizeof count) != sizeof count)
            throw std::runtime_error("no wake-up");
    }

    Shared *shared_;
    int bell_;
};

#endif
