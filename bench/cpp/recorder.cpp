#include "recorder.hpp"

#include <endian.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <stdexcept>

namespace bench {

namespace {

std::uint64_t powerOfTwo(std::uint64_t least) {
    std::uint64_t found = 2;
    while (found < least) found *= 2;
    return found;
}

// All that lies there; false with errno.
bool writeWhole(int file, iovec* parts, int count) {
    while (count > 0) {
        ssize_t written = ::writev(file, parts, count);
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        for (; count > 0 && static_cast<std::size_t>(written) >= parts->iov_len; ++parts, --count) {
            written -= static_cast<ssize_t>(parts->iov_len);
        }
        if (count == 0) break;
        parts->iov_base = static_cast<char*>(parts->iov_base) + written;
        parts->iov_len -= static_cast<std::size_t>(written);
    }
    return true;
}

}  // namespace

Recorder::Recorder(std::uint64_t room) : ring_(powerOfTwo(room)), mask_(ring_.size() - 1) {
    ::sem_init(&wake_, 0, 0);
    ::sem_init(&ended_, 0, 0);
    // Signals are for the threads of the program.
    sigset_t all, before;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
    writer_ = std::thread([this] { writeAll(); });
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

Recorder::~Recorder() {
    quit_.store(true);
    ::sem_post(&wake_);
    writer_.join();
    if (file_ >= 0) ::close(file_);
    ::sem_destroy(&wake_);
    ::sem_destroy(&ended_);
}

void Recorder::begin(std::string const& path, bool anew, std::uint32_t sample) {
    if (open_.load()) end();
    path_ = path;
    sample_ = htole32(sample);
    put_ = dropped_ = seen_ = 0;
    shown_.store(0);
    written_.store(0);
    error_ = 0;
    int const how = O_WRONLY | O_CREAT | O_CLOEXEC | (anew ? O_TRUNC : O_APPEND);
    file_ = ::open(path.c_str(), how, 0666);
    if (file_ < 0) throw std::runtime_error("can't write " + path + ": " + std::strerror(errno));
    open_.store(true);
}

std::uint64_t Recorder::end() {
    if (!open_.load()) return 0;
    ending_.store(true);
    ::sem_post(&wake_);
    while (::sem_wait(&ended_) != 0) {  // a signal came
    }
    if (error_ != 0) {
        throw std::runtime_error("can't write " + path_ + ": " + std::strerror(error_));
    }
    return dropped_;
}

void Recorder::writeAll() {
    for (;;) {
        ::sem_wait(&wake_);
        if (quit_.load()) return;
        if (!open_.load()) continue;
        bool const last = ending_.load();
        writeShown(last);
        if (!last) continue;
        if (::close(file_) != 0 && error_ == 0) error_ = errno;
        file_ = -1;
        ending_.store(false);
        open_.store(false);
        ::sem_post(&ended_);
    }
}

void Recorder::writeShown(bool last) {
    std::uint64_t const until = shown_.load(std::memory_order_acquire);
    std::uint64_t at = written_.load(std::memory_order_relaxed);
    // The memory is a ring: its end and its beginning are two blocks.
    do {
        std::uint64_t const first = at & mask_;
        std::uint64_t const count = std::min(until - at, ring_.size() - first);
        bool const more = !last || at + count != until;
        if (count != 0 || last) {
            writeBlock(static_cast<std::uint32_t>(count), more, ring_.data() + first);
        }
        at += count;
        written_.store(at, std::memory_order_release);
    } while (at != until);
}

void Recorder::writeBlock(std::uint32_t count, bool more, std::uint32_t* values) {
    if (error_ != 0) return;  // `end` tells
    for (std::uint32_t i = 0; i < count; ++i) values[i] = htole32(values[i]);
    std::uint32_t header[] = {sample_, htole32(more ? count | kMore : count)};
    iovec parts[] = {{header, sizeof header}, {values, count * sizeof *values}};
    if (!writeWhole(file_, parts, 2)) error_ = errno;
}

}  // namespace bench
