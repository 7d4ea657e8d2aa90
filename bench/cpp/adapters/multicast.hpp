// UDP multicast: each message is one datagram to the session's group (RFC 2365, 239.192.0.0/14),
// whoever and however many its receivers are. All members of the session hear it, and those that
// did not subscribe drop it. What carries frames in a form of its own derives from it.
#pragma once

#include <arpa/inet.h>

#include <map>

#include "datagrams.hpp"

namespace bench {

// The same at every member: FNV-1a.
inline std::uint32_t groupOf(std::string const& text) {
    std::uint32_t hash = 2166136261u;
    for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
}

class Multicast : public Datagrams {
public:
    using Datagrams::Datagrams;
    ~Multicast() override {
        if (group_ >= 0) ::close(group_);
    }
    std::string version() const override { return "UDP multicast 1"; }

protected:
    // A frame as it leaves.
    virtual Bytes const& sealed(Bytes const& frame) { return frame; }

private:
    using Source = std::pair<std::uint32_t, std::uint16_t>;  // address and port of a peer

    int socketToWatch() const override { return group_; }

    std::string greeting(Link& link) override {
        std::string const port = Datagrams::greeting(link);
        if (group_ < 0) join();
        return port;
    }

    // Two sessions that share a group hear each other; their members are told apart by their ports.
    void join() {
        sockaddr_in own{};
        socklen_t size = sizeof own;
        ::getsockname(socket_, reinterpret_cast<sockaddr*>(&own), &size);
        if (own.sin_family != AF_INET) throw EndpointError("multicast needs IPv4");
        std::uint32_t const hash = groupOf(session());
        at_.sin_family = AF_INET;
        at_.sin_addr.s_addr = htonl(0xefc00000u | (hash & 0x3ffffu));
        at_.sin_port = htons(static_cast<std::uint16_t>(20000 + (hash >> 18) % 10000));
        ip_mreqn const member = {at_.sin_addr, own.sin_addr, 0};
        int const on = 1, off = 0;
        group_ = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (group_ < 0 || ::setsockopt(group_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
            ::setsockopt(group_, SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer) != 0 ||
            ::setsockopt(group_, IPPROTO_IP, IP_MULTICAST_ALL, &off, sizeof off) != 0 ||
            ::bind(group_, reinterpret_cast<sockaddr*>(&at_), sizeof at_) != 0 ||
            ::setsockopt(group_, IPPROTO_IP, IP_ADD_MEMBERSHIP, &member, sizeof member) != 0 ||
            ::setsockopt(socket_, IPPROTO_IP, IP_MULTICAST_IF, &member, sizeof member) != 0) {
            throw EndpointError(std::string("no multicast: ") + std::strerror(errno));
        }
    }

    void greeted(Link& link, std::string const& port) override {
        Datagrams::greeted(link, port);
        auto const& peer = reinterpret_cast<sockaddr_in const&>(ways_[link.index].at);
        sources_[Source(peer.sin_addr.s_addr, peer.sin_port)] = link.index;
    }

    bool carryToAll(Bytes const& frame) override {
        ++statistics_.systemCalls;
        // What the system refuses is lost like what the network loses: the receivers count.
        Bytes const& out = sealed(frame);
        (void)::sendto(socket_, out.data(), out.size(), MSG_NOSIGNAL,
                       reinterpret_cast<sockaddr const*>(&at_), sizeof at_);
        return true;
    }

    Link* sender(unsigned char const*, sockaddr_in const& from) override {
        auto const found = sources_.find(Source(from.sin_addr.s_addr, from.sin_port));
        return found == sources_.end() ? nullptr : links_[found->second].get();  // its own, too
    }

    int group_ = -1;
    sockaddr_in at_{};
    std::map<Source, std::size_t> sources_;  // links
};

}  // namespace bench
