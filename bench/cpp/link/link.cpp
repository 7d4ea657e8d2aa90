// bench-link: a switch between network namespaces whose links delay, lose, double and reorder, for
// kernels without netem. In each namespace it makes a TAP device "eth0"; a frame that leaves one is
// delivered by its host's rule, at the rate of who gets it. Says "ready" when all are there, and
// what it did when it is ended.
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <queue>
#include <stdexcept>
#include <string>
#include <vector>

#include "fate.hpp"

namespace {

using Clock = std::chrono::steady_clock;
using Json = nlohmann::json;
using Frame = std::vector<unsigned char>;
using Mac = std::array<unsigned char, 6>;

// A host's frames that wait; what comes beyond is dropped, as by a full queue.
std::size_t const kWaitingMax = 65536;
std::size_t const kFrameMax = 65536;
// What comes to a host is held to its rate, and dropped where it would wait for longer.
std::chrono::milliseconds const kWaitMax(400);
// So many frames of a host are taken before the next one's turn.
int const kTurn = 64;

volatile std::sig_atomic_t stopAsked = 0;
extern "C" void askStop(int) { stopAsked = 1; }

[[noreturn]] void fail(std::string const& what) {
    throw std::runtime_error(what + ": " + std::strerror(errno));
}

struct Port {
    std::string space;
    bool isolated = false;  // frames from it reach only those that are not, as at a bridge's port
    bench::LinkRule rule;
    bench::Fates fates;
    int tap = -1;
    Clock::time_point last;  // when the last frame that keeps the order is due
    std::size_t waiting = 0;
    std::uint64_t frames = 0, lost = 0, doubled = 0, ahead = 0, dropped = 0;
    double nsPerByte = 0;         // of what comes to it; 0: no time
    Clock::time_point carried{};  // when all of that has come

    Clock::duration takes(std::size_t bytes) const {
        std::chrono::duration<double, std::nano> const ns(static_cast<double>(bytes) * nsPerByte);
        return std::chrono::duration_cast<Clock::duration>(ns);
    }
};

// {"namespace":, "isolated":, "delay_ms":, "jitter_ms":, "loss":, "duplicate":, "reorder":,
// "rate_mbit":}
Port parsePort(std::string const& text, std::uint64_t seed) {
    Json const said = Json::parse(text);
    bench::LinkRule rule;
    rule.delayMs = said.value("delay_ms", 0.0);
    rule.jitterMs = said.value("jitter_ms", 0.0);
    rule.loss = said.value("loss", 0.0);
    rule.duplicate = said.value("duplicate", 0.0);
    rule.reorder = said.value("reorder", 0.0);
    Port port{said.value("namespace", ""),
              said.value("isolated", false),
              rule,
              bench::Fates(rule, seed),
              -1,
              {}};
    double const rate = said.value("rate_mbit", 0.0);
    port.nsPerByte = rate > 0 ? 8000 / rate : 0;
    return port;
}

// A TAP device in another namespace; this process is in that one afterwards.
int openTap(std::string const& space) {
    int const there = ::open(space.c_str(), O_RDONLY | O_CLOEXEC);
    if (there < 0 || ::setns(there, CLONE_NEWNET) != 0) fail("can't enter " + space);
    ::close(there);
    int const tap = ::open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::strcpy(request.ifr_name, "eth0");
    if (tap < 0 || ::ioctl(tap, TUNSETIFF, &request) != 0) fail("no TAP device in " + space);
    return tap;
}

class Switch {
public:
    explicit Switch(std::vector<Port>& ports) : ports_(ports), frame_(kFrameMax) {}

    // Until it is asked to end.
    void run() {
        std::vector<pollfd> watch;
        for (auto const& port : ports_) watch.push_back({port.tap, POLLIN, 0});
        sigset_t none;
        sigemptyset(&none);
        while (stopAsked == 0) {
            deliver();
            timespec wait{}, *limit = nullptr;
            if (!due_.empty()) {
                auto const left = std::chrono::nanoseconds(due_.top().at - Clock::now()).count();
                wait.tv_sec = left > 0 ? left / 1000000000 : 0;
                wait.tv_nsec = left > 0 ? left % 1000000000 : 0;
                limit = &wait;
            }
            // Signals are let in while it waits, and at no other time.
            if (::ppoll(watch.data(), watch.size(), limit, &none) <= 0) continue;
            for (std::size_t p = 0; p < ports_.size(); ++p) {
                if (watch[p].revents != 0) take(p);
            }
        }
    }

private:
    static constexpr std::size_t kByAddress = SIZE_MAX;
    struct Due {
        Clock::time_point at;
        std::uint64_t number;  // those of one moment keep their order
        std::size_t from, to;  // ports
        Frame frame;
        bool operator<(Due const& other) const {
            return at != other.at ? at > other.at : number > other.number;
        }
    };

    void take(std::size_t p) {
        Port& port = ports_[p];
        for (int turn = 0; turn < kTurn; ++turn) {
            ssize_t const n = ::read(port.tap, frame_.data(), frame_.size());
            if (n < 14) return;  // nothing more; no Ethernet frame is shorter than its header
            ++port.frames;
            Mac source;
            std::memcpy(source.data(), frame_.data() + 6, source.size());
            if (places_.size() < 4096) places_[source] = p;
            bench::Fate const fate = port.fates.next();
            port.lost += fate.lost ? 1 : 0;
            if (fate.lost) continue;
            auto const now = Clock::now();
            auto at = now + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double, std::milli>(fate.delayMs));
            port.ahead += fate.ahead ? 1 : 0;
            if (!fate.ahead) at = port.last = std::max(at, port.last);
            port.doubled += fate.doubled ? 1 : 0;
            for (int copy = fate.doubled ? 2 : 1; copy > 0; --copy) {
                if (port.waiting == kWaitingMax) {
                    ++port.dropped;
                    continue;
                }
                ++port.waiting;
                due_.push(
                    {at, ++number_, p, kByAddress, Frame(frame_.begin(), frame_.begin() + n)});
            }
        }
    }

    void deliver() {
        auto const now = Clock::now();
        while (!due_.empty() && due_.top().at <= now) {
            // What puts it into its place in the queue stays as it is.
            Due const one = std::move(const_cast<Due&>(due_.top()));
            due_.pop();
            --ports_[one.from].waiting;
            if (one.to != kByAddress) {
                give(one.to, one.frame);
                continue;
            }
            Mac target;
            std::memcpy(target.data(), one.frame.data(), target.size());
            auto const known = places_.find(target);
            for (std::size_t p = 0; p < ports_.size(); ++p) {
                bool const there = known == places_.end() ? p != one.from : p == known->second;
                bool const apart = ports_[p].isolated && ports_[one.from].isolated;
                if (there && !apart) hold(p, one, now);
            }
        }
    }

    // Until the host's link has carried it.
    void hold(std::size_t p, Due const& one, Clock::time_point now) {
        Port &port = ports_[p], &from = ports_[one.from];
        if (port.nsPerByte == 0) return give(p, one.frame);
        auto const begins = std::max(port.carried, now);
        auto const at = begins + port.takes(one.frame.size());
        if (begins - now > kWaitMax || from.waiting == kWaitingMax) {
            ++port.dropped;
            return;
        }
        port.carried = at;
        ++from.waiting;
        due_.push({at, ++number_, one.from, p, one.frame});
    }

    void give(std::size_t p, Frame const& frame) {
        // What a host does not take is lost, as at a full receive queue.
        if (::write(ports_[p].tap, frame.data(), frame.size()) < 0) ++ports_[p].dropped;
    }

    std::vector<Port>& ports_;
    Frame frame_;
    std::priority_queue<Due> due_;
    std::map<Mac, std::size_t> places_;
    std::uint64_t number_ = 0;
};

Json told(std::vector<Port> const& ports) {
    Json out = Json::array();
    for (auto const& p : ports) {
        out.push_back({{"namespace", p.space},
                       {"frames", p.frames},
                       {"lost", p.lost},
                       {"doubled", p.doubled},
                       {"ahead", p.ahead},
                       {"dropped", p.dropped}});
    }
    return out;
}

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{"A switch with links that delay, lose, double and reorder."};
    std::vector<std::string> given;
    std::uint64_t seed = 1, plan = 0;
    app.add_option("--port", given, "a host's namespace and rule, as JSON; one or more")
        ->required()
        ->allow_extra_args(false);
    app.add_option("--seed", seed, "of all fates")->capture_default_str();
    app.add_option("--plan", plan, "print so many fates of the first port, and carry nothing");
    CLI11_PARSE(app, argc, argv);
    try {
        std::vector<Port> ports;
        for (auto const& text : given) ports.push_back(parsePort(text, seed + ports.size()));
        for (; plan > 0; --plan) {
            bench::Fate const fate = ports.front().fates.next();
            std::cout << fate.lost << ' ' << fate.doubled << ' ' << fate.ahead << ' '
                      << fate.delayMs << '\n';
            if (plan == 1) return 0;
        }
        // Blocked but while the switch waits, so that none comes between a look and a wait.
        sigset_t ends;
        sigemptyset(&ends);
        sigaddset(&ends, SIGTERM);
        sigaddset(&ends, SIGINT);
        ::sigprocmask(SIG_BLOCK, &ends, nullptr);
        std::signal(SIGTERM, askStop);
        std::signal(SIGINT, askStop);
        for (auto& port : ports) port.tap = openTap(port.space);
        std::cout << "ready" << std::endl;
        Switch(ports).run();
        std::cout << told(ports) << std::endl;
        return 0;
    } catch (std::exception const& e) {
        std::cerr << "bench-link: " << e.what() << std::endl;
        return 1;
    }
}
