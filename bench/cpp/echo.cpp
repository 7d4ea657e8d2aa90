#include "echo.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>
#include <stdexcept>

namespace bench {

namespace {

// At the front of every datagram, in the order of the sending host: only it and its echo read them.
struct Stamps {
    std::uint64_t key;  // of who pings, so that strangers' datagrams are none
    std::uint32_t to, number;
    std::uint64_t sent, there, back;  // `there` is 0 until it is answered
};
constexpr std::size_t kDatagramMax = 65507;
// Many more than a run of an hour has.
constexpr std::size_t kKeptMax = 1 << 20;

int open() {
    int const made = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_in any{};
    any.sin_family = AF_INET;
    if (made < 0 || ::bind(made, reinterpret_cast<sockaddr*>(&any), sizeof any) != 0) {
        throw std::runtime_error(std::string("no socket for echoes: ") + std::strerror(errno));
    }
    return made;
}

// An address of this host that others can reach.
std::string ownAddressHere() {
    char const* const said = std::getenv("BENCH_ADDRESS");
    in_addr own;
    if (said != nullptr && ::inet_pton(AF_INET, said, &own) == 1) return said;
    ifaddrs* all = nullptr;
    std::string found = "127.0.0.1";
    if (::getifaddrs(&all) != 0) return found;
    for (ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
        if (one->ifa_addr == nullptr || one->ifa_addr->sa_family != AF_INET) continue;
        if ((one->ifa_flags & IFF_LOOPBACK) != 0 || (one->ifa_flags & IFF_UP) == 0) continue;
        char text[INET_ADDRSTRLEN];
        auto const* at = reinterpret_cast<sockaddr_in const*>(one->ifa_addr);
        ::inet_ntop(AF_INET, &at->sin_addr, text, sizeof text);
        found = text;
        break;
    }
    ::freeifaddrs(all);
    return found;
}

std::uint64_t key() {
    static std::uint64_t const drawn = std::random_device{}() | std::uint64_t{1} << 40;
    return drawn;
}

}  // namespace

Echo::Echo(StationClock const& clock) : clock_(clock), server_(open()), client_(open()) {
    sockaddr_in at{};
    socklen_t size = sizeof at;
    ::getsockname(server_, reinterpret_cast<sockaddr*>(&at), &size);
    address_ = ownAddressHere() + ":" + std::to_string(ntohs(at.sin_port));
    serving_ = std::thread([this] { serve(); });
}

Echo::~Echo() {
    stop();
    quit_ = true;
    serving_.join();
    ::close(server_);
    ::close(client_);
}

void Echo::serve() {
    std::vector<unsigned char> in(kDatagramMax);
    while (!quit_) {
        pollfd watch{server_, POLLIN, 0};
        if (::poll(&watch, 1, 100) <= 0) continue;
        sockaddr_in from{};
        socklen_t size = sizeof from;
        ssize_t const n = ::recvfrom(server_, in.data(), in.size(), MSG_DONTWAIT,
                                     reinterpret_cast<sockaddr*>(&from), &size);
        clock_.beAsked();
        std::uint64_t const there = clock_.nowNs();
        if (n < static_cast<ssize_t>(sizeof(Stamps))) continue;
        Stamps stamps;
        std::memcpy(&stamps, in.data(), sizeof stamps);
        // An answer may come here under a false name of its sender: two servers would answer each
        // other for ever.
        if (stamps.there != 0) continue;
        stamps.there = there;
        stamps.back = clock_.nowNs();
        std::memcpy(in.data(), &stamps, sizeof stamps);
        ::sendto(server_, in.data(), static_cast<std::size_t>(n), MSG_DONTWAIT,
                 reinterpret_cast<sockaddr*>(&from), size);
    }
}

void Echo::ping(std::vector<std::pair<std::uint32_t, std::string>> const& partners,
                std::size_t size, double hz) {
    stop();
    to_.clear();
    numbers_.clear();
    for (auto const& partner : partners) {
        auto const colon = partner.second.rfind(':');
        sockaddr_in at{};
        at.sin_family = AF_INET;
        unsigned long const port =
            colon == std::string::npos
                ? 0
                : std::strtoul(partner.second.c_str() + colon + 1, nullptr, 10);
        if (port == 0 || port > 65535 ||
            ::inet_pton(AF_INET, partner.second.substr(0, colon).c_str(), &at.sin_addr) != 1) {
            throw std::runtime_error("'" + partner.second + "' is no address of an echo");
        }
        at.sin_port = htons(static_cast<std::uint16_t>(port));
        to_.push_back(at);
        numbers_.push_back(partner.first);
    }
    out_.assign(std::min(std::max(size, sizeof(Stamps)), kDatagramMax), 0x5a);
    came_ = 0;
    if (to_.empty() || hz <= 0) return;
    pinging_ = true;
    sending_ = std::thread([this, hz] { send(hz); });
}

std::vector<Ping> Echo::stop() {
    pinging_ = false;
    if (sending_.joinable()) sending_.join();
    std::vector<Ping> found;
    found.swap(found_);
    return found;
}

void Echo::send(double hz) {
    // What a ping of before left is not of this one.
    receive(false, 0);
    int const pauseMs = std::max(1, static_cast<int>(1000 / hz));
    for (std::uint32_t number = 0; pinging_; ++number) {
        std::size_t const at = number % to_.size();
        Stamps stamps{key(), numbers_[at], number, 0, 0, 0};
        stamps.sent = clock_.nowNs();
        std::memcpy(out_.data(), &stamps, sizeof stamps);
        ::sendto(client_, out_.data(), out_.size(), MSG_DONTWAIT,
                 reinterpret_cast<sockaddr const*>(&to_[at]), sizeof to_[at]);
        timespec now;
        ::clock_gettime(CLOCK_MONOTONIC, &now);
        auto const ms = [](timespec const& t) { return t.tv_sec * 1000 + t.tv_nsec / 1000000; };
        for (auto const until = ms(now) + pauseMs; pinging_;) {
            ::clock_gettime(CLOCK_MONOTONIC, &now);
            auto const left = until - ms(now);
            if (left <= 0) break;
            receive(true, static_cast<int>(std::min<long>(left, 100)));
        }
    }
}

void Echo::receive(bool keep, int wait) {
    pollfd watch{client_, POLLIN, 0};
    if (::poll(&watch, 1, wait) <= 0) return;
    unsigned char in[sizeof(Stamps)];
    for (;;) {
        ssize_t const n = ::recv(client_, in, sizeof in, MSG_DONTWAIT);
        std::uint64_t const came = clock_.nowNs();
        if (n < static_cast<ssize_t>(sizeof in)) return;
        Stamps stamps;
        std::memcpy(&stamps, in, sizeof stamps);
        if (!keep || stamps.key != key() || found_.size() >= kKeptMax) continue;
        found_.push_back(Ping{stamps.to, static_cast<std::uint32_t>(out_.size()), stamps.sent,
                              stamps.there, stamps.back, came});
        ++came_;
    }
}

}  // namespace bench
