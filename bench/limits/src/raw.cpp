// The raw limit beside the figures of an RTI: plain sockets on one host.
//   limits-raw round-trip --socket tcp|unix|ring --bytes N --warm-up N --count N --relay 0|1
//   limits-raw stream --socket tcp|unix|ring --bytes N --count N --relay 0|1 --batch BYTES
// round-trip: A -> (relay ->) B -> (relay ->) A, a process each. stream: sender -> (relay ->)
// receiver; the sender calls send() once for each BYTES (0: for each message), the receiver reads
// 64 KB and is timed from its first to its last byte. ring: shared memory, without a relay.
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "raw_ring.hpp"

namespace {

std::size_t const kRead = 64 * 1024;

double seconds() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

int checked(int result, char const *what) {
    if (result < 0)
        throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
    return result;
}

/// Two connected ends.
struct Pair {
    int ends[2];

    explicit Pair(bool tcp) {
        if (!tcp) {
            checked(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
            return;
        }
        int const listener = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
        sockaddr_in address = {};
        address.sin_family = AF_INET;
        address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        socklen_t size = sizeof address;
        auto *at = reinterpret_cast<sockaddr *>(&address);
        checked(bind(listener, at, size), "bind");
        checked(listen(listener, 1), "listen");
        checked(getsockname(listener, at, &size), "getsockname");
        ends[0] = checked(socket(AF_INET, SOCK_STREAM, 0), "socket");
        checked(connect(ends[0], at, size), "connect");
        ends[1] = checked(accept(listener, nullptr, nullptr), "accept");
        close(listener);
        int const on = 1;
        for (int end : ends)
            checked(setsockopt(end, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on), "TCP_NODELAY");
    }
};

/// False at the end of the stream.
bool readAll(int fd, char *to, std::size_t size) {
    while (size > 0) {
        ssize_t const got = recv(fd, to, size, 0);
        if (got == 0)
            return false;
        checked(static_cast<int>(got), "recv");
        to += got;
        size -= static_cast<std::size_t>(got);
    }
    return true;
}

void writeAll(int fd, char const *from, std::size_t size) {
    while (size > 0) {
        ssize_t const sent = ::send(fd, from, size, MSG_NOSIGNAL);
        checked(static_cast<int>(sent), "send");
        from += sent;
        size -= static_cast<std::size_t>(sent);
    }
}

/// Hands on what comes from either end, until one ends.
void relay(int a, int b) {
    std::vector<char> buffer(kRead);
    pollfd watch[2] = {{a, POLLIN, 0}, {b, POLLIN, 0}};
    for (;;) {
        checked(poll(watch, 2, -1), "poll");
        for (int i = 0; i < 2; ++i) {
            if (watch[i].revents == 0)
                continue;
            ssize_t const got = recv(watch[i].fd, buffer.data(), buffer.size(), 0);
            if (got <= 0)
                return;
            writeAll(watch[1 - i].fd, buffer.data(), static_cast<std::size_t>(got));
        }
    }
}

/// Runs `work` in a process of its own, which ends with this one.
template <class Work> pid_t apart(std::vector<int> const &closed, Work work) {
    pid_t const parent = getpid(), pid = checked(fork(), "fork");
    if (pid != 0)
        return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    for (int fd : closed)
        close(fd);
    try {
        work();
        _exit(0);
    } catch (std::exception const &e) {
        std::fprintf(stderr, "limits-raw: %s\n", e.what());
    }
    _exit(1);
}

/// Sends numbered messages, each when the one before is back.
template <class Send, class Receive>
void trips(std::size_t bytes, std::size_t warmUp, std::size_t count, Send send, Receive receive) {
    std::vector<char> message(bytes, 'x');
    std::vector<double> trips;
    trips.reserve(count);
    for (std::uint64_t n = 1; n <= warmUp + count; ++n) {
        double const start = seconds();
        std::memcpy(message.data(), &n, sizeof n);
        send(message.data());
        std::uint64_t back = 0;
        receive(message.data());
        double const trip = seconds() - start;
        std::memcpy(&back, message.data(), sizeof back);
        if (back != n)
            throw std::runtime_error("another message came back");
        if (n > warmUp)
            trips.push_back(trip * 1e6);
    }
    std::sort(trips.begin(), trips.end());
    double sum = 0;
    for (double t : trips)
        sum += t;
    std::printf("{\"p50_us\": %.3f, \"p99_us\": %.3f, \"mean_us\": %.3f}\n",
                trips[trips.size() / 2], trips[trips.size() * 99 / 100],
                sum / static_cast<double>(trips.size()));
}

void roundTrip(bool tcp, std::size_t bytes, std::size_t warmUp, std::size_t count, bool relayed) {
    Pair const left(tcp), right(tcp);
    int const a = left.ends[0], x = left.ends[1], y = right.ends[0], b = right.ends[1];
    int const other = relayed ? b : x;
    if (relayed)
        apart({a, b}, [&] { relay(x, y); });
    apart({a, y, relayed ? x : b}, [&] {
        std::vector<char> message(bytes);
        while (readAll(other, message.data(), bytes))
            writeAll(other, message.data(), bytes);
    });
    for (int fd : {x, y, b})
        close(fd);
    trips(
        bytes, warmUp, count, [&](char const *message) { writeAll(a, message, bytes); },
        [&](char *message) {
            if (!readAll(a, message, bytes))
                throw std::runtime_error("the other end has ended");
        });
    close(a);
}

void roundTripByRings(std::size_t bytes, std::size_t warmUp, std::size_t count) {
    Ring there, back;
    apart({}, [&] {
        std::vector<char> message(bytes);
        for (std::size_t n = 0; n < warmUp + count; ++n) {
            there.takeAll(message.data(), bytes);
            back.put(message.data(), bytes);
        }
    });
    trips(
        bytes, warmUp, count, [&](char const *message) { there.put(message, bytes); },
        [&](char *message) { back.takeAll(message, bytes); });
}

/// Puts numbered messages together, as many as fit, and hands them on.
template <class Send>
void sendAll(std::size_t bytes, std::size_t count, std::size_t batch, Send send) {
    std::size_t const each = std::max<std::size_t>(batch / bytes, 1);
    std::vector<char> message(each * bytes, 'x');
    for (std::uint64_t n = 0; n < count;) {
        std::size_t const now = std::min<std::size_t>(each, count - n);
        for (std::size_t i = 0; i < now; ++i, ++n)
            std::memcpy(message.data() + i * bytes, &n, sizeof n);
        send(message.data(), now * bytes);
    }
}

/// Takes so many messages, and prints how fast they came.
template <class Receive> void receiveAll(std::size_t bytes, std::size_t count, Receive receive) {
    std::vector<char> buffer(kRead + bytes);
    std::size_t held = 0;
    std::uint64_t next = 0;
    double first = 0;
    while (next < count) {
        std::size_t const got = receive(buffer.data() + held, kRead);
        if (first == 0)
            first = seconds();
        if (got == 0)
            break;
        held += got;
        std::size_t used = 0;
        for (; held - used >= bytes; used += bytes, ++next) {
            std::uint64_t number;
            std::memcpy(&number, buffer.data() + used, sizeof number);
            if (number != next)
                throw std::runtime_error("a message is missing");
        }
        held -= used;
        std::memmove(buffer.data(), buffer.data() + used, held);
    }
    double const took = seconds() - first;
    if (next != count)
        throw std::runtime_error("messages are missing at the end");
    std::printf("{\"received\": %llu, \"seconds\": %.6f, \"per_s\": %.0f}\n",
                static_cast<unsigned long long>(next), took, static_cast<double>(next - 1) / took);
}

void stream(bool tcp, std::size_t bytes, std::size_t count, bool relayed, std::size_t batch) {
    Pair const left(tcp), right(tcp);
    int const from = left.ends[0], to = relayed ? right.ends[1] : left.ends[1];
    if (relayed)
        apart({from, to}, [&] { relay(left.ends[1], right.ends[0]); });
    apart({left.ends[1], right.ends[0], right.ends[1]}, [&] {
        sendAll(bytes, count, batch,
                [&](char const *some, std::size_t size) { writeAll(from, some, size); });
    });
    for (int fd : {left.ends[0], left.ends[1], right.ends[0], right.ends[1]})
        if (fd != to)
            close(fd);
    receiveAll(bytes, count, [&](char *some, std::size_t size) {
        ssize_t const got = recv(to, some, size, 0);
        checked(static_cast<int>(got), "recv");
        return static_cast<std::size_t>(got);
    });
}

void streamByRing(std::size_t bytes, std::size_t count, std::size_t batch) {
    Ring ring;
    apart({}, [&] {
        sendAll(bytes, count, batch,
                [&](char const *some, std::size_t size) { ring.put(some, size); });
    });
    receiveAll(bytes, count, [&](char *some, std::size_t size) { return ring.take(some, size); });
}

}

int main(int argc, char **argv) {
    try {
        std::map<std::string, std::string> given;
        for (int i = 2; i + 1 < argc; i += 2)
            given[argv[i]] = argv[i + 1];
        auto number = [&](char const *key) {
            return static_cast<std::size_t>(std::strtoull(given[key].c_str(), nullptr, 10));
        };
        std::string const what = argc > 1 ? argv[1] : "", socket = given["--socket"];
        std::size_t const bytes = number("--bytes"), count = number("--count");
        std::size_t const warmUp = number("--warm-up"), batch = number("--batch");
        bool const trip = what == "round-trip", relayed = number("--relay") != 0;
        bool const ring = socket == "ring", tcp = socket == "tcp";
        if ((!trip && what != "stream") || (!ring && !tcp && socket != "unix") ||
            (ring && relayed) || bytes < sizeof(std::uint64_t) || count < 2) {
            std::fprintf(stderr,
                         "usage: limits-raw round-trip|stream --socket tcp|unix|ring --bytes N "
                         "--count N [--warm-up N] [--relay 0|1] [--batch BYTES]\n");
            return 2;
        }
        if (trip && ring)
            roundTripByRings(bytes, warmUp, count);
        else if (trip)
            roundTrip(tcp, bytes, warmUp, count, relayed);
        else if (ring)
            streamByRing(bytes, count, batch);
        else
            stream(tcp, bytes, count, relayed, batch);
        int status = 0, failed = 0;
        while (wait(&status) > 0)
            failed |= status;
        return failed == 0 ? 0 : 1;
    } catch (std::exception const &e) {
        std::fprintf(stderr, "limits-raw: %s\n", e.what());
        return 1;
    }
}
