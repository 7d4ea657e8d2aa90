// Values on their way from a measuring thread to a file: it puts them into memory, a thread of the
// recorder writes them. As long as a sample fits into half of that memory nothing is written within
// it; a longer one is written as it goes on, and where the disk can't follow, values are dropped
// and counted: the measuring thread never waits.
//
// In the file a sample is one or more blocks: its number and a count as 32-bit integers, then so
// many 32-bit floats, all little-endian. A count with the bit kMore is followed by another block
// of the sample, so one without its last block was cut off.
#pragma once

#include <semaphore.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

namespace bench {

class Recorder {
public:
    static constexpr std::uint32_t kMore = 0x80000000;

    // At most so many values wait to be written; a power of two of them.
    explicit Recorder(std::uint64_t room);
    ~Recorder();
    Recorder(Recorder const&) = delete;
    Recorder& operator=(Recorder const&) = delete;

    // A sample begins, at the end of the file or, `anew`, of an emptied one. Throws
    // std::runtime_error if that can't be written.
    void begin(std::string const& path, bool anew, std::uint32_t sample);
    // Of the sample that has begun, by one thread at a time; the only call within it. It allocates
    // and locks nothing, and calls the kernel once for each half of the room, to wake the writer.
    void put(float value) {
        if (put_ - seen_ > mask_ && !hasRoom()) {
            ++dropped_;
            return;
        }
        std::memcpy(&ring_[put_++ & mask_], &value, sizeof value);
        shown_.store(put_, std::memory_order_release);
        if ((put_ & (mask_ >> 1)) == 0) ::sem_post(&wake_);
    }
    // The sample is over; how many values were dropped. Returns when all others are in the file, or
    // throws std::runtime_error if one is not.
    std::uint64_t end();

private:
    bool hasRoom() {
        seen_ = written_.load(std::memory_order_acquire);
        return put_ - seen_ <= mask_;
    }
    void writeAll();
    void writeShown(bool last);
    void writeBlock(std::uint32_t count, bool more, std::uint32_t* values);

    std::vector<std::uint32_t> ring_;  // floats as they are written
    std::uint64_t const mask_;
    // The measuring thread's: how many were put and dropped, and written when it last looked.
    std::uint64_t put_ = 0, dropped_ = 0, seen_ = 0;
    std::atomic<std::uint64_t> shown_{0}, written_{0};
    // What the writer does when it is woken: nothing before a sample has begun or after its end.
    std::atomic<bool> open_{false}, ending_{false}, quit_{false};
    sem_t wake_, ended_;
    // The writer's while a sample is open.
    int file_ = -1;
    int error_ = 0;
    std::uint32_t sample_ = 0;
    std::string path_;
    std::thread writer_;
};

}  // namespace bench
