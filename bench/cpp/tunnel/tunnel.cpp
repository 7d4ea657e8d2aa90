// bench-tunnel: Ethernet over GRE (RFC 2784, transparent Ethernet bridging) between hosts, for
// kernels that have none. It makes a TAP device in the network namespace that it is started in;
// frames go to the peer that has their address, or to all. Says "ready", and what it did when it is
// ended.
#include <arpa/inet.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <netinet/in.h>
#include <netinet/ip.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <fcntl.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Mac = std::array<unsigned char, 6>;

// No flag, version 0; then the protocol: Ethernet.
unsigned char const kGre[] = {0, 0, 0x65, 0x58};
std::size_t const kPacketMax = 65535;
int const kBuffer = 4 * 1024 * 1024;
// So many of one side are taken before the other's turn.
int const kTurn = 64;
std::size_t const kPlacesMax = 4096;

volatile std::sig_atomic_t stopAsked = 0;
extern "C" void askStop(int) { stopAsked = 1; }

[[noreturn]] void fail(std::string const& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

in_addr_t addressOf(std::string const& text) {
    in_addr found{};
    if (::inet_pton(AF_INET, text.c_str(), &found) != 1) {
        throw std::runtime_error("'" + text + "' is no IPv4 address");
    }
    return found.s_addr;
}

class Tunnel {
public:
    Tunnel(std::string const& device, std::string const& local, std::vector<std::string> const& to)
        : packet_(kPacketMax + sizeof kGre) {
        for (auto const& peer : to) peers_.push_back(addressOf(peer));
        tap_ = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
        ifreq request{};
        request.ifr_flags = IFF_TAP | IFF_NO_PI;
        if (device.size() >= sizeof request.ifr_name) throw std::runtime_error("too long a name");
        std::strcpy(request.ifr_name, device.c_str());
        if (tap_ < 0 || ::ioctl(tap_, TUNSETIFF, &request) != 0) fail("no TAP device");
        socket_ = ::socket(AF_INET, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_GRE);
        sockaddr_in at{};
        at.sin_family = AF_INET;
        at.sin_addr.s_addr = addressOf(local);
        if (socket_ < 0 || ::bind(socket_, reinterpret_cast<sockaddr*>(&at), sizeof at) != 0) {
            fail("no socket for GRE at " + local);
        }
        ::setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &kBuffer, sizeof kBuffer);
        ::setsockopt(socket_, SOL_SOCKET, SO_SNDBUF, &kBuffer, sizeof kBuffer);
    }
    ~Tunnel() {
        if (tap_ >= 0) ::close(tap_);
        if (socket_ >= 0) ::close(socket_);
    }
    Tunnel(Tunnel const&) = delete;
    Tunnel& operator=(Tunnel const&) = delete;

    // Until it is asked to end.
    void run() {
        pollfd watch[] = {{tap_, POLLIN, 0}, {socket_, POLLIN, 0}};
        sigset_t none;
        sigemptyset(&none);
        while (stopAsked == 0) {
            // Signals are let in while it waits, and at no other time.
            if (::ppoll(watch, 2, nullptr, &none) <= 0) continue;
            for (int n = 0; n < kTurn && watch[0].revents != 0 && leave(); ++n) {
            }
            for (int n = 0; n < kTurn && watch[1].revents != 0 && arrive(); ++n) {
            }
        }
    }

    nlohmann::json told() const {
        return {{"sent", sent_}, {"arrived", arrived_}, {"foreign", foreign_}, {"dropped", lost_}};
    }

private:
    // A frame of this host; false: there is none.
    bool leave() {
        ssize_t const n = ::read(tap_, packet_.data() + sizeof kGre, kPacketMax - sizeof kGre);
        if (n < 14) return false;
        std::memcpy(packet_.data(), kGre, sizeof kGre);
        Mac target;
        std::memcpy(target.data(), packet_.data() + sizeof kGre, target.size());
        auto const known = places_.find(target);
        for (in_addr_t const peer : peers_) {
            if (known != places_.end() && known->second != peer) continue;
            sockaddr_in at{};
            at.sin_family = AF_INET;
            at.sin_addr.s_addr = peer;
            ++sent_;
            // What the system refuses is lost, as at a full queue.
            if (::sendto(socket_, packet_.data(), static_cast<std::size_t>(n) + sizeof kGre, 0,
                         reinterpret_cast<sockaddr*>(&at), sizeof at) < 0) {
                ++lost_;
            }
        }
        return true;
    }

    // A packet of a peer; false: there is none.
    bool arrive() {
        sockaddr_in from{};
        socklen_t size = sizeof from;
        ssize_t const n = ::recvfrom(socket_, packet_.data(), packet_.size(), 0,
                                     reinterpret_cast<sockaddr*>(&from), &size);
        if (n < 0) return false;
        std::size_t const head = (packet_[0] & 15u) * 4u + sizeof kGre;
        bool const ours = static_cast<std::size_t>(n) >= head + 14 &&
                          std::memcmp(packet_.data() + head - sizeof kGre, kGre, sizeof kGre) == 0;
        if (!ours) {
            ++foreign_;
            return true;
        }
        Mac source;
        std::memcpy(source.data(), packet_.data() + head + 6, source.size());
        if (places_.size() < kPlacesMax) places_[source] = from.sin_addr.s_addr;
        ++arrived_;
        if (::write(tap_, packet_.data() + head, static_cast<std::size_t>(n) - head) < 0) ++lost_;
        return true;
    }

    std::vector<in_addr_t> peers_;
    std::map<Mac, in_addr_t> places_;
    std::vector<unsigned char> packet_;
    int tap_ = -1, socket_ = -1;
    std::uint64_t sent_ = 0, arrived_ = 0, foreign_ = 0, lost_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"Ethernet over GRE between hosts."};
    std::string device = "tun0", local;
    std::vector<std::string> peers;
    app.add_option("--device", device, "name of the TAP device")->capture_default_str();
    app.add_option("--local", local, "this host's address")->required();
    app.add_option("--peer", peers, "another host's; one or more")
        ->required()
        ->allow_extra_args(false);
    CLI11_PARSE(app, argc, argv);
    try {
        // Blocked but while it waits, so that none comes between a look and a wait.
        sigset_t ends;
        sigemptyset(&ends);
        sigaddset(&ends, SIGTERM);
        sigaddset(&ends, SIGINT);
        ::sigprocmask(SIG_BLOCK, &ends, nullptr);
        std::signal(SIGTERM, askStop);
        std::signal(SIGINT, askStop);
        Tunnel tunnel(device, local, peers);
        std::cout << "ready" << std::endl;
        tunnel.run();
        std::cout << tunnel.told() << std::endl;
        return 0;
    } catch (std::exception const& e) {
        std::cerr << "bench-tunnel: " << e.what() << std::endl;
        return 1;
    }
}
