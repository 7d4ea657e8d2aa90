#include "arrivals.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <stdexcept>

namespace fomcost {

Arrivals::Arrivals(std::string const& path) {
    auto fail = [&] {
        throw std::runtime_error("can't share memory by " + path + ": " + std::strerror(errno));
    };
    int const file = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0) fail();
    void* at = MAP_FAILED;
    if (::ftruncate(file, sizeof *count_) == 0) {
        at = ::mmap(nullptr, sizeof *count_, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    }
    if (at == MAP_FAILED) fail();
    ::close(file);
    // A new file is zeros, which is how a count begins.
    count_ = static_cast<std::atomic<std::uint64_t>*>(at);
}

Arrivals::~Arrivals() { ::munmap(static_cast<void*>(count_), sizeof *count_); }

}  // namespace fomcost
