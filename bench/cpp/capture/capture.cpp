// bench-capture: writes down every packet that passes an interface of the network namespace in
// which it runs (AF_PACKET), as a pcap file with nanoseconds, until SIGTERM or SIGINT. Prints, as
// JSON, the interface's own addresses, since when nothing is missed (CLOCK_MONOTONIC) and by how
// much the clock of the packets' times (CLOCK_REALTIME) is ahead of that; "ready"; and at the end
// how many packets there were, how many the kernel dropped because this program did not keep up,
// and both clocks again.
#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

volatile sig_atomic_t ended = 0;

[[noreturn]] void fail(std::string const& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

// A socket that hears all packets of an interface.
class Interface {
public:
    explicit Interface(std::string const& name)
        : socket_(::socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0)) {
        if (socket_ < 0) fail("can't capture packets");
        int const room = 64 << 20, on = 1;
        // More than its limit only for root, who alone is here.
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
        if (::setsockopt(socket_, SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on) != 0)
            fail("packets without times");
        sockaddr_ll at{};
        at.sll_family = AF_PACKET;
        at.sll_protocol = htons(ETH_P_ALL);
        at.sll_ifindex = static_cast<int>(::if_nametoindex(name.c_str()));
        if (at.sll_ifindex == 0) fail("no interface '" + name + "'");
        if (::bind(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0)
            fail("can't capture packets of '" + name + "'");
    }
    ~Interface() { ::close(socket_); }
    Interface(Interface const&) = delete;
    Interface& operator=(Interface const&) = delete;

    // False: nothing has come for so long.
    bool waits(int milliseconds) {
        pollfd one{socket_, POLLIN, 0};
        return ::poll(&one, 1, milliseconds) > 0;
    }
    // The next packet, in full, or as much as there is room for; its length, 0: none is there.
    std::size_t next(std::vector<unsigned char>& into, timespec& time) {
        iovec part{into.data(), into.size()};
        alignas(cmsghdr) char more[256];
        msghdr message{};
        message.msg_iov = &part;
        message.msg_iovlen = 1;
        message.msg_control = more;
        message.msg_controllen = sizeof more;
        ssize_t const n = ::recvmsg(socket_, &message, MSG_DONTWAIT | MSG_TRUNC);
        if (n < 0) {
            if (errno == EAGAIN || errno == EINTR || errno == ENETDOWN) return 0;
            fail("can't receive packets");
        }
        for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
            if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SO_TIMESTAMPNS)
                std::memcpy(&time, CMSG_DATA(c), sizeof time);
        }
        return static_cast<std::size_t>(n);
    }
    std::uint64_t dropped() {
        tpacket_stats stats{};
        socklen_t size = sizeof stats;
        if (::getsockopt(socket_, SOL_PACKET, PACKET_STATISTICS, &stats, &size) != 0)
            fail("how many packets were dropped is not known");
        return stats.tp_drops;
    }

private:
    int const socket_;
};

class PcapFile {
public:
    explicit PcapFile(std::string const& path) : file_(std::fopen(path.c_str(), "wb")) {
        if (!file_) fail("can't write " + path);
        std::uint32_t const magicNs = 0xa1b23c4d, linkEthernet = 1;
        std::uint16_t const version[] = {2, 4};
        std::uint32_t const zone[] = {0, 0};
        put(&magicNs, sizeof magicNs);
        put(version, sizeof version);
        put(zone, sizeof zone);
        put(&kSnap, sizeof kSnap);
        put(&linkEthernet, sizeof linkEthernet);
    }
    void add(timespec const& time, unsigned char const* packet, std::size_t there,
             std::size_t length) {
        std::uint32_t const head[] = {
            static_cast<std::uint32_t>(time.tv_sec), static_cast<std::uint32_t>(time.tv_nsec),
            static_cast<std::uint32_t>(there), static_cast<std::uint32_t>(length)};
        put(head, sizeof head);
        put(packet, there);
    }
    void flush() {
        if (std::fflush(file_.get()) != 0) fail("can't write packets");
    }
    // The largest that offloading makes.
    static constexpr std::uint32_t kSnap = 1 << 18;

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    void put(void const* bytes, std::size_t size) {
        if (size != 0 && std::fwrite(bytes, size, 1, file_.get()) != 1) fail("can't write packets");
    }
    std::unique_ptr<std::FILE, Close> file_;
};

constexpr std::uint32_t PcapFile::kSnap;

// IPv4 addresses of an interface.
std::vector<std::string> addresses(std::string const& interface) {
    ifaddrs* first = nullptr;
    if (::getifaddrs(&first) != 0) fail("the addresses of '" + interface + "' are not known");
    std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> const every(first, ::freeifaddrs);
    std::vector<std::string> found;
    for (ifaddrs const* one = first; one != nullptr; one = one->ifa_next) {
        if (interface != one->ifa_name || !one->ifa_addr || one->ifa_addr->sa_family != AF_INET)
            continue;
        char text[INET_ADDRSTRLEN] = "";
        auto const& at = *reinterpret_cast<sockaddr_in const*>(one->ifa_addr);
        ::inet_ntop(AF_INET, &at.sin_addr, text, sizeof text);
        found.emplace_back(text);
    }
    return found;
}

std::int64_t ns(clockid_t clock) {
    timespec now{};
    ::clock_gettime(clock, &now);
    return now.tv_sec * std::int64_t{1'000'000'000} + now.tv_nsec;
}

// Without what is said here nobody can tell what the packets are.
void say(nlohmann::json const& what) {
    std::cout << what << std::endl;
    if (!std::cout) fail("can't say what is captured");
}

void capture(std::string const& interface, std::string const& path) {
    PcapFile file(path);
    file.flush();
    Interface from(interface);
    auto const ahead = [] { return ns(CLOCK_REALTIME) - ns(CLOCK_MONOTONIC); };
    say({{"addresses", addresses(interface)},
         {"ahead_ns", ahead()},
         {"began_ns", ns(CLOCK_MONOTONIC)}});
    std::cout << "ready" << std::endl;
    std::vector<unsigned char> packet(PcapFile::kSnap);
    std::uint64_t packets = 0;
    timespec time{};
    for (bool last = false;;) {
        // What had come by the end is written, too.
        last = ended != 0;
        while (std::size_t const length = from.next(packet, time)) {
            file.add(time, packet.data(), std::min<std::size_t>(length, packet.size()), length);
            ++packets;
        }
        if (last) break;
        if (!from.waits(100)) file.flush();
    }
    file.flush();
    say({{"packets", packets},
         {"dropped", from.dropped()},
         {"ahead_ns_at_end", ahead()},
         {"ended_ns", ns(CLOCK_MONOTONIC)}});
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Writes the packets of an interface to a pcap file, until SIGTERM."};
    std::string interface = "eth0", out;
    app.add_option("--interface", interface, "of this network namespace")->capture_default_str();
    app.add_option("--out", out, "pcap file")->required();
    CLI11_PARSE(app, argc, argv);
    struct sigaction action {};
    action.sa_handler = [](int) { ended = 1; };
    ::sigaction(SIGTERM, &action, nullptr);
    ::sigaction(SIGINT, &action, nullptr);
    try {
        capture(interface, out);
        return 0;
    } catch (std::exception const& e) {
        std::cerr << "bench-capture: " << e.what() << std::endl;
        return 1;
    }
}
