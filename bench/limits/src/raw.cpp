// The raw limit beside the figures of an RTI: plain sockets on one host.
//   limits-raw round-trip --socket tcp|unix --bytes N --warm-up N --count N
//   limits-raw stream --socket tcp|unix --bytes N --count N --relay 0|1 --batch BYTES
// round-trip: A -> relay -> B -> relay -> A, three processes. stream: sender -> (relay ->)
// receiver; the sender calls send() once for each BYTES (0: for each message), the receiver reads
// 64 KB and is timed from its first to its last byte.
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

void roundTrip(bool tcp, std::size_t bytes, std::size_t warmUp, std::size_t count) {
    Pair const left(tcp), right(tcp);
    int const a = left.ends[0], x = left.ends[1], y = right.ends[0], b = right.ends[1];
    apart({a, b}, [&] { relay(x, y); });
    apart({a, x, y}, [&] {
        std::vector<char> message(bytes);
        while (readAll(b, message.data(), bytes))
            writeAll(b, message.data(), bytes);
    });
    for (int fd : {x, y, b})
        close(fd);
    std::vector<char> message(bytes, 'x');
    std::vector<double> trips;
    trips.reserve(count);
    for (std::uint64_t n = 1; n <= warmUp + count; ++n) {
        double const start = seconds();
        std::memcpy(message.data(), &n, sizeof n);
        writeAll(a, message.data(), bytes);
        std::uint64_t back = 0;
        if (!readAll(a, message.data(), bytes))
            throw std::runtime_error("the relay has ended");
        double const trip = seconds() - start;
        std::memcpy(&back, message.data(), sizeof back);
        if (back != n)
            throw std::runtime_error("another message came back");
        if (n > warmUp)
            trips.push_back(trip * 1e6);
    }
    close(a);
    std::sort(trips.begin(), trips.end());
    double sum = 0;
    for (double t : trips)
        sum += t;
    std::printf("{\"p50_us\": %.3f, \"p99_us\": %.3f, \"mean_us\": %.3f}\n",
                trips[trips.size() / 2], trips[trips.size() * 99 / 100],
                sum / static_cast<double>(trips.size()));
}

void stream(bool tcp, std::size_t bytes, std::size_t count, bool relayed, std::size_t batch) {
    Pair const left(tcp), right(tcp);
    int const from = left.ends[0], to = relayed ? right.ends[1] : left.ends[1];
    if (relayed)
        apart({from, to}, [&] { relay(left.ends[1], right.ends[0]); });
    apart({left.ends[1], right.ends[0], right.ends[1]}, [&] {
        std::size_t const each = std::max<std::size_t>(batch / bytes, 1);
        std::vector<char> message(each * bytes, 'x');
        for (std::uint64_t n = 0; n < count;) {
            std::size_t const now = std::min<std::size_t>(each, count - n);
            for (std::size_t i = 0; i < now; ++i, ++n)
                std::memcpy(message.data() + i * bytes, &n, sizeof n);
            writeAll(from, message.data(), now * bytes);
        }
    });
    for (int fd : {left.ends[0], left.ends[1], right.ends[0], right.ends[1]})
        if (fd != to)
            close(fd);
    std::vector<char> buffer(kRead + bytes);
    std::size_t held = 0;
    std::uint64_t next = 0;
    double first = 0;
    for (;;) {
        ssize_t const got = recv(to, buffer.data() + held, kRead, 0);
        checked(static_cast<int>(got), "recv");
        if (first == 0)
            first = seconds();
        if (got == 0)
            break;
        held += static_cast<std::size_t>(got);
        std::size_t used = 0;
        for (; held - used >= bytes; used += bytes, ++next) {
            std::uint64_t number;
            std::memcpy(&number, buffer.data() + used, sizeof number);
            if (number != next)
                throw std::runtime_error("a message is missing");
        }
        held -= used;
        std::memmove(buffer.data(), buffer.data() + used, held);
        if (next == count)
            break;
    }
    double const took = seconds() - first;
    if (next != count)
        throw std::runtime_error("messages are missing at the end");
    std::printf("{\"received\": %llu, \"seconds\": %.6f, \"per_s\": %.0f}\n",
                static_cast<unsigned long long>(next), took, static_cast<double>(next - 1) / took);
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
        if ((what != "round-trip" && what != "stream") || (socket != "tcp" && socket != "unix") ||
            bytes < sizeof(std::uint64_t) || count < 2) {
            std::fprintf(stderr, "usage: limits-raw round-trip|stream --socket tcp|unix --bytes N "
                                 "--count N [--warm-up N] [--relay 0|1] [--batch BYTES]\n");
            return 2;
        }
        if (what == "round-trip")
            roundTrip(socket == "tcp", bytes, number("--warm-up"), count);
        else
            stream(socket == "tcp", bytes, count, number("--relay") != 0, number("--batch"));
        int status = 0, failed = 0;
        while (wait(&status) > 0)
            failed |= status;
        return failed == 0 ? 0 : 1;
    } catch (std::exception const &e) {
        std::fprintf(stderr, "limits-raw: %s\n", e.what());
        return 1;
    }
}
