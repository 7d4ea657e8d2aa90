// Best-effort data as datagrams, each sent at once; there is no reliable data, and texts travel the
// links. Here to each receiver by itself; multicast.cpp sends to all at once.
#pragma once

#include <endian.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "mesh.hpp"
#include "socket.hpp"

namespace bench {

// What IPv4 leaves of 64 KiB, without a frame's header.
constexpr std::uint64_t kDatagramMax = 65507 - sizeof(Header);
constexpr int kBuffer = 4 * 1024 * 1024;
// So many are taken before the links get their turn.
constexpr int kDatagramsPerTurn = 4096;

class Datagrams : public Mesh {
public:
    using Mesh::Mesh;
    ~Datagrams() override {
        if (socket_ >= 0) ::close(socket_);
    }
    Capabilities capabilities() const override {
        Capabilities can;
        can.reliable = false;
        can.messageBytesMax = kDatagramMax;
        return can;
    }

protected:
    struct Way {
        sockaddr_storage at{};
        socklen_t size = 0;
    };

    int socketToWatch() const override { return socket_; }

    // The datagrams' socket has the address of the link and a port of its own.
    std::string greeting(Link& link) override {
        if (socket_ < 0) {
            sockaddr_storage at{};
            socklen_t size = sizeof at;
            if (::getsockname(link.socket, reinterpret_cast<sockaddr*>(&at), &size) != 0) return "";
            portOf(at) = 0;
            socket_ = ::socket(at.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
            if (socket_ < 0 || ::bind(socket_, reinterpret_cast<sockaddr*>(&at), size) != 0) {
                throw EndpointError(std::string("no datagrams: ") + std::strerror(errno));
            }
            ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
            ::setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &kBuffer, sizeof kBuffer);
        }
        std::string const own = ownAddress(socket_);
        return own.substr(own.rfind(':') + 1);
    }

    void greeted(Link& link, std::string const& port) override {
        if (ways_.size() <= link.index) ways_.resize(link.index + 1);
        Way& way = ways_[link.index];
        way.size = sizeof way.at;
        if (::getpeername(link.socket, reinterpret_cast<sockaddr*>(&way.at), &way.size) != 0) {
            way.size = 0;
            return;
        }
        portOf(way.at) = htons(static_cast<std::uint16_t>(std::strtoul(port.c_str(), nullptr, 10)));
    }

    static std::uint16_t& portOf(sockaddr_storage& at) {
        // Both kinds of address have the port at the same place.
        return reinterpret_cast<sockaddr_in&>(at).sin_port;
    }

    // In a datagram the size, which it has anyway, makes room for what the receiver calls the
    // sender.
    void carry(Link& to, Bytes const& frame) override {
        if (to.index >= ways_.size() || ways_[to.index].size == 0) return;
        out_ = frame;
        std::uint32_t const slot = htole32(to.slot);
        std::memcpy(out_.data(), &slot, sizeof slot);
        Way const& way = ways_[to.index];
        ++statistics_.systemCalls;
        // What the system refuses is lost like what the network loses: the receiver counts.
        (void)::sendto(socket_, out_.data(), out_.size(), MSG_NOSIGNAL,
                       reinterpret_cast<sockaddr const*>(&way.at), way.size);
    }

    std::size_t collect(bool hand) override {
        if (!hand) return 0;  // the system keeps it, or loses it
        std::size_t delivered = 0;
        int const socket = socketToWatch();
        for (int turn = 0; socket >= 0 && turn < kDatagramsPerTurn; ++turn) {
            ++statistics_.systemCalls;
            sockaddr_in at{};
            socklen_t size = sizeof at;
            ssize_t n = ::recvfrom(socket, in_.data(), in_.size(), MSG_DONTWAIT,
                                   reinterpret_cast<sockaddr*>(&at), &size);
            if (n < 0) break;
            n = opened(n);
            if (n < static_cast<ssize_t>(sizeof(Header))) continue;
            Link* const from = sender(in_.data(), at);
            std::uint32_t what;
            std::memcpy(&what, in_.data() + 4, sizeof what);
            what = le32toh(what);
            if (from == nullptr || from->socket < 0 || what < kData) continue;
            accept(*from, what, in_.data() + sizeof(Header),
                   static_cast<std::size_t>(n) - sizeof(Header), true);
            ++delivered;
        }
        return delivered;
    }

    // Makes of a datagram in `in_` the frame that it carries; its size, 0: none.
    virtual ssize_t opened(ssize_t size) { return size; }

    // Whose datagram it is; none: nobody's. Here it says so itself.
    virtual Link* sender(unsigned char const* datagram, sockaddr_in const&) {
        std::uint32_t slot;
        std::memcpy(&slot, datagram, sizeof slot);
        slot = le32toh(slot);
        return slot < links_.size() ? links_[slot].get() : nullptr;
    }

    int socket_ = -1;
    std::vector<Way> ways_;  // by link
    Bytes out_, in_ = Bytes(65536);
};

}  // namespace bench
