// Shared memory: a ring from each sender to each receiver on one host, in order and once. A
// receiver first spins, then sleeps at its links, where the sender rings.
#include <endian.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <deque>

#include "mesh.hpp"
#include "ring.hpp"

namespace bench {

namespace {

std::uint64_t const kRing = 16 * 1024 * 1024;
// A frame never wraps around, so the longest takes half of the ring.
std::uint64_t const kMessageMax = kRing / 2 - 64;
// How long a receiver asks the rings before it sleeps.
std::chrono::microseconds const kSpin(50);
std::uint32_t const kSkip = 0;  // the rest of the ring is empty: go on at its front

using Ring = SharedRing<kRing>;

std::uint64_t padded(std::uint64_t bytes) { return (bytes + 7) & ~std::uint64_t{7}; }

// A mapping of a ring; the memory is gone with the last of its two processes.
class Mapping {
public:
    Mapping() = default;
    explicit Mapping(int file) : file_(file) {
        void* const at = ::mmap(nullptr, sizeof(Ring), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (at != MAP_FAILED) ring_ = static_cast<Ring*>(at);
    }
    ~Mapping() {
        if (ring_ != nullptr) ::munmap(ring_, sizeof(Ring));
        if (file_ >= 0) ::close(file_);
    }
    Mapping(Mapping&& other) noexcept { *this = std::move(other); }
    Mapping& operator=(Mapping&& other) noexcept {
        std::swap(file_, other.file_);
        std::swap(ring_, other.ring_);
        return *this;
    }
    Ring* operator->() const { return ring_; }
    explicit operator bool() const { return ring_ != nullptr; }
    int file() const { return file_; }

private:
    int file_ = -1;
    Ring* ring_ = nullptr;
};

}  // namespace

class SharedMemory final : public Mesh {
public:
    using Mesh::Mesh;
    std::string version() const override { return "shared memory 1"; }
    Capabilities capabilities() const override {
        Capabilities can;
        can.messageBytesMax = kMessageMax;
        return can;
    }

private:
    struct Rings {
        Mapping to, from;
    };

    // What is found stays where it is while others come.
    Rings& of(Link const& link) {
        if (rings_.size() <= link.index) rings_.resize(link.index + 1);
        return rings_[link.index];
    }

    // Where the peer finds the ring to it: a memory file of this process.
    std::string greeting(Link& link) override {
        int const file = ::memfd_create("bench-ring", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        // Nobody who opens it makes it smaller under those that look into it.
        if (file < 0 || ::ftruncate(file, sizeof(Ring)) != 0 ||
            ::fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
            throw EndpointError(std::string("no shared memory: ") + std::strerror(errno));
        }
        Rings& rings = of(link);
        rings.to = Mapping(file);
        if (!rings.to)
            throw EndpointError(std::string("no shared memory: ") + std::strerror(errno));
        return "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(file);
    }

    void greeted(Link& link, std::string const& path) override {
        bool const named = path.compare(0, 6, "/proc/") == 0 &&
                           path.find_first_not_of("0123456789/procfd") == std::string::npos;
        int const file = named ? ::open(path.c_str(), O_RDWR | O_CLOEXEC) : -1;
        bool const whole = file >= 0 && (::fcntl(file, F_GET_SEALS) & F_SEAL_SHRINK) != 0 &&
                           ::lseek(file, 0, SEEK_END) == off_t{sizeof(Ring)};
        if (whole) of(link).from = Mapping(file);
        else if (file >= 0) ::close(file);
        if (!of(link).from) {
            events_.connectionLost("no shared memory with '" + link.name +
                                   "': it must be on this host, of the same user");
        }
    }

    // What it wrote before it left still counts.
    void lost(Link& link) override {
        if (of(link).from) empty(link, false);
        of(link) = Rings();
    }

    void carry(Link& to, Bytes const& frame) override {
        Mapping& ring = of(to).to;
        std::uint64_t const size = padded(frame.size());
        std::uint64_t at = ring->end();
        std::uint64_t const left = kRing - at % kRing;
        std::uint64_t const skipped = left < size ? left : 0;
        for (Patience patience; skipped + size > ring->room();) {
            if (patience.over(skipped + size - ring->room())) lose(to);
            if (to.socket < 0) return;
            // Full: the peer is slow. Its data are taken meanwhile, or both would wait.
            if (ring->slept()) Mesh::ring(to);
            collect(false);
            take(false);
            if (to.socket < 0) return;
            ::sched_yield();
        }
        if (skipped > 0) {
            std::memset(ring->bytes + at % kRing, 0, 8);
            at += skipped;
        }
        std::memcpy(ring->bytes + at % kRing, frame.data(), frame.size());
        if (ring->show(at + size)) Mesh::ring(to);
    }

    std::size_t collect(bool hand) override {
        std::size_t delivered = 0;
        for (std::size_t l = 0; l < links_.size() && l < rings_.size(); ++l) {
            if (rings_[l].from && links_[l]->socket >= 0) delivered += empty(*links_[l], hand);
        }
        return delivered;
    }

    std::size_t empty(Link& link, bool hand) {
        Mapping& ring = of(link).from;
        std::uint64_t const until = ring->shown();
        std::uint64_t at = ring->begin();
        std::size_t delivered = 0;
        while (at != until && ring) {
            unsigned char const* const frame = ring->bytes + at % kRing;
            std::uint64_t const room = std::min(kRing - at % kRing, until - at);
            std::uint32_t size, what;
            std::memcpy(&size, frame, sizeof size);
            std::memcpy(&what, frame + 4, sizeof what);
            size = le32toh(size);
            what = le32toh(what);
            if (what == kSkip) {
                at += kRing - at % kRing;
            } else if (what < kData || size + sizeof(Header) > room) {
                events_.malformed("a ring of '" + link.name + "' with a frame that nobody wrote");
                at = until;
            } else {
                accept(link, what, frame + sizeof(Header), size, hand);
                at += padded(size + sizeof(Header));
                delivered += hand ? 1 : 0;
            }
            ring->taken(at);
        }
        return delivered;
    }

    bool waiting() const {
        for (auto const& rings : rings_) {
            if (rings.from && !rings.from->empty()) return true;
        }
        return false;
    }

    bool goToSleep() override {
        auto const end = std::chrono::steady_clock::now() + kSpin;
        do {
            if (waiting()) return false;
            ::sched_yield();
        } while (std::chrono::steady_clock::now() < end);
        for (auto const& rings : rings_) {
            if (rings.from) rings.from->fallAsleep();
        }
        if (!waiting()) return true;
        wakeUp();
        return false;
    }

    void wakeUp() override {
        for (auto const& rings : rings_) {
            if (rings.from) rings.from->wakeUp();
        }
    }

    std::deque<Rings> rings_;  // by link
};

}  // namespace bench

BENCH_ADAPTER(bench::SharedMemory)
