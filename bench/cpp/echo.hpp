// The network beside what is measured: UDP messages of the same size that a partner sends back, on
// threads of their own. Each gives what the way takes there and back, and what the two hosts'
// clocks say of each other.
#pragma once

#include <netinet/in.h>

#include <atomic>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "station_clock.hpp"

namespace bench {

// One message there and back: sent and come back by the clock here, come and sent back by there.
struct Ping {
    std::uint32_t to;    // as the partner was numbered
    std::uint32_t size;  // of the datagram, in bytes
    std::uint64_t sent, there, back, came;
};
static_assert(sizeof(Ping) == 40, "as it stands in files");

class Echo {
public:
    // Sends back what comes, from now on. Throws std::runtime_error without a socket.
    explicit Echo(StationClock const& clock);
    ~Echo();
    Echo(Echo const&) = delete;
    Echo& operator=(Echo const&) = delete;

    // Where it is reached, "ADDRESS:PORT": as BENCH_ADDRESS in the environment says, else at the
    // first network of this host, or 127.0.0.1 if it has none.
    std::string const& address() const { return address_; }

    // Pings partners in turn, so many times a second altogether; what comes back is kept.
    // `size`: of a datagram; more than a datagram holds is cut to that.
    void ping(std::vector<std::pair<std::uint32_t, std::string>> const& partners, std::size_t size,
              double hz);
    // How many have come back since then.
    std::size_t came() const { return came_; }
    // Ends that; what came back. What was lost is not among it.
    std::vector<Ping> stop();

private:
    void serve();
    void send(double hz);
    void receive(bool keep, int wait);

    StationClock const& clock_;
    std::string address_;
    int server_ = -1, client_ = -1;
    std::atomic<bool> quit_{false}, pinging_{false};
    std::atomic<std::size_t> came_{0};
    std::vector<sockaddr_in> to_;
    std::vector<std::uint32_t> numbers_;
    std::vector<unsigned char> out_;
    std::vector<Ping> found_;
    std::thread serving_, sending_;
};

}  // namespace bench
