// Records of one size on their way from a measuring thread to a file: it puts them into memory, a
// thread of the log writes them, while it goes on. Where the disk can't follow, records are dropped
// and counted: the measuring thread never waits.
#pragma once

#include <fcntl.h>
#include <semaphore.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

namespace bench {

template <typename Record>
class RecordLog {
    static_assert(std::is_trivially_copyable<Record>::value, "its bytes are what is written");

public:
    // `path` is emptied. At most `room` records wait to be written; a power of two. Throws
    // std::runtime_error.
    RecordLog(std::string const& path, std::uint64_t room)
        : path_(path), ring_(room), mask_(room - 1) {
        file_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
        if (file_ < 0) fail(errno);
        ::sem_init(&wake_, 0, 0);
        writer_ = std::thread([this] { writeAll(); });
    }
    ~RecordLog() {
        finish();
        if (file_ >= 0) ::close(file_);
        ::sem_destroy(&wake_);
    }
    RecordLog(RecordLog const&) = delete;
    RecordLog& operator=(RecordLog const&) = delete;

    // By one thread; allocates and locks nothing.
    void put(Record const& record) {
        if (put_ - seen_ > mask_) {
            seen_ = written_.load(std::memory_order_acquire);
            if (put_ - seen_ > mask_) {
                ++dropped_;
                return;
            }
        }
        ring_[put_++ & mask_] = record;
        shown_.store(put_, std::memory_order_release);
        if ((put_ & (mask_ >> 2)) == 0) ::sem_post(&wake_);
    }
    // How many were dropped. All others are in the file when it returns; std::runtime_error if not.
    std::uint64_t end() {
        finish();
        if (error_ != 0) fail(error_);
        return dropped_;
    }

private:
    void finish() {
        if (!writer_.joinable()) return;
        quit_.store(true, std::memory_order_release);
        ::sem_post(&wake_);
        writer_.join();
    }
    void writeAll() {
        for (bool last = false; !last;) {
            while (::sem_wait(&wake_) != 0) {
            }
            last = quit_.load(std::memory_order_acquire);
            std::uint64_t const until = shown_.load(std::memory_order_acquire);
            for (std::uint64_t from = written_.load(std::memory_order_relaxed); from != until;) {
                std::uint64_t const begin = from & mask_;
                std::uint64_t const some = std::min(until - from, mask_ + 1 - begin);
                write(&ring_[begin], some * sizeof(Record));
                from += some;
                written_.store(from, std::memory_order_release);
            }
        }
    }
    void write(void const* from, std::size_t size) {
        auto const* at = static_cast<char const*>(from);
        while (size > 0 && error_ == 0) {
            ssize_t const n = ::write(file_, at, size);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) {
                error_ = errno;
                return;
            }
            at += n;
            size -= static_cast<std::size_t>(n);
        }
    }
    [[noreturn]] void fail(int error) {
        throw std::runtime_error("can't write " + path_ + ": " + std::strerror(error));
    }

    std::string const path_;
    std::vector<Record> ring_;
    std::uint64_t const mask_;
    // The measuring thread's.
    std::uint64_t put_ = 0, seen_ = 0, dropped_ = 0;
    std::atomic<std::uint64_t> shown_{0}, written_{0};
    std::atomic<bool> quit_{false};
    sem_t wake_;
    int file_ = -1;
    int error_ = 0;  // the writer's until it has ended
    std::thread writer_;
};

}  // namespace bench
