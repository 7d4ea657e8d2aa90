// The raw limit beside the figures of an RTI, and of a study's program on plain ways: one host
// with nothing else.
//   bench-raw round-trip --socket tcp|unix|udp|ring --bytes N --warm-up N --count N --relay 0|1
//             [--each 0|1]
//   bench-raw stream --socket tcp|unix|udp|multicast|ring --bytes N --count N --relay 0|1
//             --batch BYTES [--stamps 0|1] [--ends N]
//   bench-raw round --socket tcp|unix --bytes N --warm-up N --count N --ends N
//   bench-raw fan-out --socket tcp|unix|ring --bytes N --warm-up N --count N --ends N
// round-trip: A -> (relay ->) B -> (relay ->) A, a process each; says what each took, in us.
// stream: sender -> (relay ->) receiver; the sender calls send() once for each BYTES (0: for each
// message), the receiver reads 64 KB and is timed from its first to its last byte. To several ends
// the sender, or the relay, sends to each; it says how long the slowest took. ring: shared
// memory, without a relay; of several ends all read one ring. udp: datagrams of BYTES, without a
// relay; nobody waits for a receiver that does not keep up, and it says what came of how many;
// multicast: the same to a group. round: each end, a process each, sends one message to a relay and
// waits; the relay answers all when it has one of each; the first end says what each round took.
// fan-out: one sends a message to each of the ends, which answer; says how long it was until the
// last answer.
// --cpus: where the processes run, in turn: who measures, the other ends, the relay last. --spaces
// A,B
// --address ADDRESS: TCP links go from one network namespace to another, where that is the address.
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>

#include "clock.hpp"
#include "ring.hpp"
#include "socket.hpp"

namespace {

std::size_t const kRead = 64 * 1024, kDatagramMax = 65507;

using Json = nlohmann::json;
using bench::Clock;

int checked(int result, char const *what) {
    if (result < 0) throw std::runtime_error(std::string(what) + ": " + std::strerror(errno));
    return result;
}

// Where processes and links are, if that is asked for.
std::vector<int> cpus;
std::vector<std::string> spaces;
std::string at = "127.0.0.1";

// Keeps this process on the CPU of this number.
void settle(std::size_t number) {
    if (cpus.empty()) return;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(cpus[number % cpus.size()], &one);
    checked(sched_setaffinity(0, sizeof one, &one), "sched_setaffinity");
}

// Sockets that are made from now on are of this namespace.
void enter(std::string const &space) {
    int const there = checked(open(space.c_str(), O_RDONLY | O_CLOEXEC), space.c_str());
    checked(setns(there, CLONE_NEWNET), "setns");
    close(there);
}

// After so long without a datagram there come no more; one that is waited for is lost.
timeval const kSilence = {0, 300000}, kLost = {10, 0};

// A socket for datagrams, at this address.
int datagrams(in_addr_t at = INADDR_LOOPBACK) {
    int const made = checked(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), "socket");
    sockaddr_in here = {};
    here.sin_family = AF_INET;
    here.sin_addr.s_addr = htonl(at);
    checked(bind(made, reinterpret_cast<sockaddr *>(&here), sizeof here), "bind");
    // It may be that less is given.
    int const much = 4 << 20;
    for (int buffer : {SO_RCVBUF, SO_SNDBUF})
        setsockopt(made, SOL_SOCKET, buffer, &much, sizeof much);
    setsockopt(made, SOL_SOCKET, SO_RCVTIMEO, &kLost, sizeof kLost);
    return made;
}

void pointAt(int from, int to) {
    sockaddr_in there = {};
    socklen_t size = sizeof there;
    checked(getsockname(to, reinterpret_cast<sockaddr *>(&there), &size), "getsockname");
    checked(connect(from, reinterpret_cast<sockaddr *>(&there), sizeof there), "connect");
}

// Two connected ends.
struct Pair {
    int ends[2];

    explicit Pair(std::string const &socket) {
        if (socket == "udp") {
            for (int &end : ends) end = datagrams();
            pointAt(ends[0], ends[1]);
            pointAt(ends[1], ends[0]);
            return;
        }
        if (socket == "multicast") {
            // 239.255.77.77, which this host alone hears.
            in_addr_t const group = 0xefff4d4d;
            for (int i = 0; i < 2; ++i) ends[i] = datagrams(i == 0 ? INADDR_LOOPBACK : group);
            ip_mreq const there = {{htonl(group)}, {htonl(INADDR_LOOPBACK)}};
            checked(setsockopt(ends[1], IPPROTO_IP, IP_ADD_MEMBERSHIP, &there, sizeof there),
                    "join a group");
            checked(setsockopt(ends[0], IPPROTO_IP, IP_MULTICAST_IF, &there.imr_interface,
                               sizeof there.imr_interface),
                    "send to a group");
            pointAt(ends[0], ends[1]);
            return;
        }
        if (socket == "unix") {
            checked(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), "socketpair");
            return;
        }
        if (!spaces.empty()) enter(spaces.back());
        int const listener = checked(bench::listenAt(at + ":0"), "listen");
        if (!spaces.empty()) enter(spaces.front());
        ends[0] = checked(bench::connectTo(bench::ownAddress(listener)), "connect");
        ends[1] = checked(accept(listener, nullptr, nullptr), "accept");
        close(listener);
        for (int end : ends) bench::noDelay(end);
    }
};

// A ring without a frame around its bytes, made before its processes part.
class ByteRing {
public:
    static constexpr std::size_t kReaders = 64;

    explicit ByteRing(std::size_t readers = 1) {
        void *const at = mmap(nullptr, sizeof(Memory), PROT_READ | PROT_WRITE,
                              MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (at == MAP_FAILED) throw std::runtime_error("no shared memory");
        memory_ = static_cast<Memory *>(at);  // of zeros, as a new ring is
        for (std::size_t i = 0; i < readers; ++i)
            bells_.push_back(checked(eventfd(0, EFD_CLOEXEC), "eventfd"));
    }
    ByteRing(ByteRing const &) = delete;

    // Shows the other ends what was put, and wakes those that sleep.
    void put(char const *from, std::size_t size) {
        for (std::size_t done = 0; done < size;) {
            std::uint64_t const at = memory_->end(), room = memory_->room(bells_.size());
            if (room == 0) {
                sched_yield();
                continue;
            }
            std::uint64_t const offset = at % kBytes;
            std::uint64_t const now = std::min<std::uint64_t>({room, size - done, kBytes - offset});
            std::memcpy(memory_->bytes + offset, from + done, now);
            done += now;
            if (memory_->show(at + now)) ring(0);
            for (std::size_t i = 1; i < bells_.size(); ++i)
                if (memory_->slept(i)) ring(i);
        }
    }

    // At least one byte, and what else there is up to so many.
    std::size_t take(char *to, std::size_t most, std::size_t me = 0) {
        while (memory_->empty(me)) {
            memory_->fallAsleep(me);
            if (memory_->empty(me)) sleep(me);
            memory_->wakeUp(me);
        }
        std::uint64_t const at = memory_->begin(me), offset = at % kBytes;
        std::uint64_t const now =
            std::min<std::uint64_t>({memory_->shown() - at, most, kBytes - offset});
        std::memcpy(to, memory_->bytes + offset, now);
        memory_->taken(at + now, me);
        return now;
    }

    void takeAll(char *to, std::size_t size) {
        for (std::size_t done = 0; done < size;) done += take(to + done, size - done);
    }

private:
    static constexpr std::uint64_t kBytes = 1024 * 1024;
    using Memory = bench::SharedRing<kBytes, kReaders>;

    void ring(std::size_t who) {
        std::uint64_t const one = 1;
        if (::write(bells_[who], &one, sizeof one) != sizeof one)
            throw std::runtime_error("the other end can't be woken");
    }

    void sleep(std::size_t me) {
        pollfd watch = {bells_[me], POLLIN, 0};
        if (poll(&watch, 1, 10000) <= 0) throw std::runtime_error("nothing came for 10 s");
        std::uint64_t rung;
        if (::read(bells_[me], &rung, sizeof rung) != sizeof rung) {
            throw std::runtime_error("the bell can't be read");
        }
    }

    Memory *memory_;
    std::vector<int> bells_;
};

// False at the end of the stream.
bool readAll(int fd, char *to, std::size_t size) {
    while (size > 0) {
        ssize_t const got = recv(fd, to, size, 0);
        if (got == 0) return false;
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

// Hands on what comes from one to all others, and what comes from these to it, until one ends.
void relay(int one, std::vector<int> const &others) {
    std::vector<char> buffer(kRead);
    std::vector<int> const back{one};
    std::vector<pollfd> watch{{one, POLLIN, 0}};
    for (int other : others) watch.push_back({other, POLLIN, 0});
    for (;;) {
        checked(poll(watch.data(), watch.size(), -1), "poll");
        for (pollfd const &from : watch) {
            if (from.revents == 0) continue;
            ssize_t const got = recv(from.fd, buffer.data(), buffer.size(), 0);
            if (got <= 0) return;
            for (int to : from.fd == one ? others : back)
                writeAll(to, buffer.data(), static_cast<std::size_t>(got));
        }
    }
}

// Runs `work` in a process of its own, which ends with this one; the first one is this.
template <class Work>
pid_t apart(std::size_t number, std::vector<int> const &closed, Work work) {
    pid_t const parent = getpid(), pid = checked(fork(), "fork");
    if (pid != 0) return pid;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    for (int fd : closed) close(fd);
    try {
        settle(number);
        work();
        _exit(0);
    } catch (std::exception const &e) {
        std::fprintf(stderr, "bench-raw: %s\n", e.what());
    }
    _exit(1);
}

// Sends numbered messages, each when the one before is back.
template <class Send, class Receive>
void trips(std::size_t bytes, std::size_t warmUp, std::size_t count, bool each, Send send,
           Receive receive) {
    std::vector<char> message(bytes, 'x');
    std::vector<double> trips;
    trips.reserve(count);
    for (std::uint64_t n = 1; n <= warmUp + count; ++n) {
        std::uint64_t const start = Clock::nowNs();
        std::memcpy(message.data(), &n, sizeof n);
        send(message.data());
        std::uint64_t back = 0;
        receive(message.data());
        std::uint64_t const ns = Clock::nowNs() - start;
        std::memcpy(&back, message.data(), sizeof back);
        if (back != n) throw std::runtime_error("another message came back");
        if (n > warmUp) trips.push_back(static_cast<double>(ns) * 1e-3);
    }
    if (!each) trips.resize(1);
    std::printf("%s\n", Json({{"us", trips}}).dump().c_str());
}

void roundTrip(std::string const &socket, std::size_t bytes, std::size_t warmUp, std::size_t count,
               bool relayed, bool each) {
    Pair const left(socket), right(socket);
    int const a = left.ends[0], x = left.ends[1], y = right.ends[0], b = right.ends[1];
    int const other = relayed ? b : x;
    if (relayed) apart(2, {a, b}, [&] { relay(x, {y}); });
    apart(1, {a, y, relayed ? x : b}, [&] {
        std::vector<char> message(bytes);
        for (std::size_t n = 0; n < warmUp + count; ++n) {
            if (!readAll(other, message.data(), bytes)) return;
            writeAll(other, message.data(), bytes);
        }
    });
    for (int fd : {x, y, b}) close(fd);
    trips(
        bytes, warmUp, count, each, [&](char const *message) { writeAll(a, message, bytes); },
        [&](char *message) {
            if (!readAll(a, message, bytes)) throw std::runtime_error("the other end has ended");
        });
    close(a);
}

void roundTripByRings(std::size_t bytes, std::size_t warmUp, std::size_t count, bool each) {
    ByteRing there, back;
    apart(1, {}, [&] {
        std::vector<char> message(bytes);
        for (std::size_t n = 0; n < warmUp + count; ++n) {
            there.takeAll(message.data(), bytes);
            back.put(message.data(), bytes);
        }
    });
    trips(
        bytes, warmUp, count, each, [&](char const *message) { there.put(message, bytes); },
        [&](char *message) { back.takeAll(message, bytes); });
}

// Answers all ends with what the last one sent, once each has sent a message; until one ends.
void answerRounds(std::vector<int> const &ends, std::size_t bytes) {
    std::vector<char> message(bytes);
    std::vector<pollfd> watch;
    for (int end : ends) watch.push_back({end, POLLIN, 0});
    for (std::size_t there = 0;;) {
        checked(poll(watch.data(), watch.size(), -1), "poll");
        for (pollfd const &one : watch) {
            if (one.revents == 0) continue;
            if (!readAll(one.fd, message.data(), bytes)) return;
            ++there;
        }
        if (there < ends.size()) continue;
        for (int end : ends) writeAll(end, message.data(), bytes);
        there = 0;
    }
}

// Links of one process with so many: their ends here, and there.
struct Links {
    std::vector<int> here, there;

    Links(std::string const &socket, std::size_t ends) {
        for (std::size_t i = 0; i < ends; ++i) {
            Pair const pair(socket);
            here.push_back(pair.ends[0]);
            there.push_back(pair.ends[1]);
        }
    }
};

std::vector<int> together(std::vector<int> one, std::vector<int> const &other) {
    one.insert(one.end(), other.begin(), other.end());
    return one;
}

// Whoever keeps another's end open never hears that it has ended.
std::vector<int> butOne(std::vector<int> ends, std::size_t i) {
    ends.erase(ends.begin() + static_cast<std::ptrdiff_t>(i));
    return ends;
}

void rounds(std::string const &socket, std::size_t bytes, std::size_t warmUp, std::size_t count,
            std::size_t ends) {
    Links const links(socket, ends);
    std::vector<int> const &here = links.here, &there = links.there;
    apart(ends, here, [&] { answerRounds(there, bytes); });
    for (std::size_t i = 1; i < ends; ++i) {
        apart(i, together(there, butOne(here, i)), [&] {
            std::vector<char> message(bytes, 'x');
            for (std::size_t n = 0; n < warmUp + count; ++n) {
                writeAll(here[i], message.data(), bytes);
                if (!readAll(here[i], message.data(), bytes)) return;
            }
        });
    }
    int const mine = here.front();
    for (int end : together(there, butOne(here, 0))) close(end);
    std::uint64_t sent = 0;
    trips(
        bytes, warmUp, count, true,
        [&](char const *message) {
            std::memcpy(&sent, message, sizeof sent);
            writeAll(mine, message, bytes);
        },
        [&](char *message) {
            if (!readAll(mine, message, bytes)) throw std::runtime_error("the relay has ended");
            // What comes back is the last end's.
            std::memcpy(message, &sent, sizeof sent);
        });
    close(mine);
}

// To all ends, and back from the last one.
void fanOut(std::string const &socket, std::size_t bytes, std::size_t warmUp, std::size_t count,
            std::size_t ends) {
    Links const links(socket, ends);
    std::vector<int> const &here = links.here, &there = links.there;
    for (std::size_t i = 0; i < ends; ++i) {
        apart(i + 1, together(here, butOne(there, i)), [&] {
            std::vector<char> message(bytes);
            for (std::size_t n = 0; n < warmUp + count; ++n) {
                if (!readAll(there[i], message.data(), bytes)) return;
                writeAll(there[i], message.data(), bytes);
            }
        });
    }
    for (int end : there) close(end);
    trips(
        bytes, warmUp, count, true,
        [&](char const *message) {
            for (int end : here) writeAll(end, message, bytes);
        },
        [&](char *message) {
            for (int end : here)
                if (!readAll(end, message, bytes)) throw std::runtime_error("an end has ended");
        });
    for (int end : here) close(end);
}

void fanOutByRings(std::size_t bytes, std::size_t warmUp, std::size_t count, std::size_t ends) {
    std::deque<ByteRing> there(ends), back(ends);
    for (std::size_t i = 0; i < ends; ++i) {
        apart(i + 1, {}, [&] {
            std::vector<char> message(bytes);
            for (std::size_t n = 0; n < warmUp + count; ++n) {
                there[i].takeAll(message.data(), bytes);
                back[i].put(message.data(), bytes);
            }
        });
    }
    trips(
        bytes, warmUp, count, true,
        [&](char const *message) {
            for (ByteRing &one : there) one.put(message, bytes);
        },
        [&](char *message) {
            for (ByteRing &one : back) one.takeAll(message, bytes);
        });
}

// In front of a message that goes one way: its number, and above it the time if that is asked for.
unsigned const kNumberBits = 24;
std::uint64_t const kNumberMask = (1u << kNumberBits) - 1;

// Puts numbered messages together, as many as fit, and hands them on.
template <class Send>
void sendAll(std::size_t bytes, std::size_t count, std::size_t batch, bool stamped, Send send) {
    std::size_t const each = std::max<std::size_t>(batch / bytes, 1);
    std::vector<char> message(each * bytes, 'x');
    for (std::uint64_t n = 0; n < count;) {
        std::size_t const now = std::min<std::size_t>(each, count - n);
        for (std::size_t i = 0; i < now; ++i, ++n) {
            char *const at = message.data() + i * bytes;
            std::uint64_t const time = stamped ? Clock::nowNs() << kNumberBits : 0;
            std::uint64_t const front = time | (n & kNumberMask);
            std::memcpy(at, &front, sizeof front);
        }
        send(message.data(), now * bytes);
    }
}

// Takes so many messages; the seconds from the first to the last.
template <class Receive>
double receiveAll(std::size_t bytes, std::size_t count, Receive receive) {
    std::vector<char> buffer(kRead + bytes);
    std::size_t held = 0;
    std::uint64_t next = 0;
    std::uint64_t first = 0;
    while (next < count) {
        std::size_t const got = receive(buffer.data() + held, kRead);
        if (first == 0) first = Clock::nowNs();
        if (got == 0) break;
        held += got;
        std::size_t used = 0;
        for (; held - used >= bytes; used += bytes, ++next) {
            std::uint64_t number;
            std::memcpy(&number, buffer.data() + used, sizeof number);
            if ((number & kNumberMask) != (next & kNumberMask))
                throw std::runtime_error("a message is missing");
        }
        held -= used;
        std::memmove(buffer.data(), buffer.data() + used, held);
    }
    auto const ns = static_cast<double>(Clock::nowNs() - first);
    if (next != count) throw std::runtime_error("messages are missing at the end");
    return ns * 1e-9;
}

bool allDone() {
    int status = 0, failed = 0;
    while (wait(&status) > 0) failed |= status;
    return failed == 0;
}

// All messages for each of the ends, the first of which is this process, the others behind the
// sender; prints how fast the slowest had them.
template <class Take>
void receiveEach(std::size_t bytes, std::size_t count, std::size_t ends, Take take) {
    std::size_t const size = ends * sizeof(double);
    void *const at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("no shared memory");
    auto *const seconds = static_cast<double *>(at);
    auto const all = [&](std::size_t end) {
        seconds[end] = receiveAll(
            bytes, count, [&](char *some, std::size_t most) { return take(end, some, most); });
    };
    for (std::size_t end = 1; end < ends; ++end) apart(end + 1, {}, [&] { all(end); });
    all(0);
    if (!allDone()) throw std::runtime_error("an end has failed");
    double const slowest = *std::max_element(seconds, seconds + ends);
    std::printf("%s\n", Json({{"received", count}, {"seconds", slowest}}).dump().c_str());
}

void stream(std::string const &socket, std::size_t bytes, std::size_t count, bool relayed,
            std::size_t batch, bool stamped, std::size_t ends) {
    Links const last(socket, ends), first(socket, relayed ? 1 : 0);
    std::vector<int> const &from = relayed ? first.here : last.here;
    auto const relays = relayed ? together(first.there, last.here) : std::vector<int>();
    if (relayed) {
        apart(ends + 1, together(first.here, last.there),
              [&] { relay(first.there.front(), last.here); });
    }
    apart(1, together(relays, last.there), [&] {
        sendAll(bytes, count, batch, stamped, [&](char const *some, std::size_t size) {
            for (int one : from) writeAll(one, some, size);
        });
    });
    for (int one : together(from, relays)) close(one);
    receiveEach(bytes, count, ends, [&](std::size_t end, char *some, std::size_t size) {
        ssize_t const got = recv(last.there[end], some, size, 0);
        checked(static_cast<int>(got), "recv");
        return static_cast<std::size_t>(got);
    });
}

void streamByDatagrams(std::string const &socket, std::size_t bytes, std::size_t count,
                       std::size_t batch, bool stamped) {
    Pair const pair(socket);
    int const from = pair.ends[0], to = pair.ends[1];
    setsockopt(to, SOL_SOCKET, SO_RCVTIMEO, &kSilence, sizeof kSilence);
    apart(1, {to}, [&] {
        sendAll(bytes, count, batch, stamped,
                [&](char const *some, std::size_t size) { writeAll(from, some, size); });
    });
    close(from);
    std::vector<char> buffer(kRead);
    std::uint64_t received = 0, first = 0, last = 0;
    while (received < count) {
        ssize_t const got = recv(to, buffer.data(), buffer.size(), 0);
        if (got < 0 && errno != ECONNREFUSED) break;
        if (got < 0) continue;
        last = Clock::nowNs();
        if (first == 0) first = last;
        received += static_cast<std::size_t>(got) / bytes;
    }
    double const took = static_cast<double>(last - first) * 1e-9;
    std::printf("%s\n",
                Json({{"received", received}, {"sent", count}, {"seconds", took}}).dump().c_str());
}

void streamByRing(std::size_t bytes, std::size_t count, std::size_t batch, bool stamped,
                  std::size_t ends) {
    ByteRing ring(ends);
    apart(1, {}, [&] {
        sendAll(bytes, count, batch, stamped,
                [&](char const *some, std::size_t size) { ring.put(some, size); });
    });
    receiveEach(bytes, count, ends, [&](std::size_t end, char *some, std::size_t size) {
        return ring.take(some, size, end);
    });
}

}  // namespace

int main(int argc, char **argv) {
    std::string socket;
    std::size_t bytes = 0, count = 0, warmUp = 0, batch = 0, ends = 0;
    bool relayed = false, stamped = false, each = true;
    CLI::App app("The raw limit: plain sockets and memory.");
    app.require_subcommand(1);
    auto const command = [&](char const *name, char const *about) {
        CLI::App *const one = app.add_subcommand(name, about);
        one->add_option("--socket", socket)
            ->required()
            ->check(CLI::IsMember({"tcp", "unix", "udp", "multicast", "ring"}));
        one->add_option("--cpus", cpus)->delimiter(',');
        one->add_option("--spaces", spaces)->delimiter(',')->expected(2);
        one->add_option("--address", at);
        one->add_option("--bytes", bytes)->required()->check(CLI::Range(8, 1 << 30));
        one->add_option("--count", count)->required()->check(CLI::Range(2, 1 << 30));
        one->add_option("--relay", relayed);
        return one;
    };
    CLI::App *const trip = command("round-trip", "messages that come back");
    trip->add_option("--warm-up", warmUp, "before those that are counted");
    trip->add_option("--each", each, "prints every one of them, or the first only");
    CLI::App *const oneWay = command("stream", "messages one way");
    oneWay->add_option("--batch", batch, "bytes sent at once");
    oneWay->add_option("--stamps", stamped, "the time is read for each message, and sent in it");
    oneWay->add_option("--ends", ends)->check(CLI::Range(1, 1000));
    CLI::App *const round = command("round", "messages of all ends, answered together");
    round->add_option("--warm-up", warmUp, "before those that are counted");
    round->add_option("--ends", ends)->check(CLI::Range(2, 1000));
    CLI::App *const out = command("fan-out", "messages to all ends, and back");
    out->add_option("--warm-up", warmUp, "before those that are counted");
    out->add_option("--ends", ends)->check(CLI::Range(1, 1000));
    try {
        app.parse(argc, argv);
        bool const ring = socket == "ring", grouped = socket == "multicast",
                   udp = socket == "udp" || grouped;
        if ((ring || udp) && relayed) throw CLI::ValidationError("--relay", socket + " has none");
        if ((ring || udp) && *round)
            throw CLI::ValidationError("--socket", "a round has tcp or unix");
        if (udp && *out) throw CLI::ValidationError("--socket", "a fan-out has tcp, unix or ring");
        if (relayed && *out) throw CLI::ValidationError("--relay", "a fan-out has none");
        ends = ends > 0 ? ends : *oneWay ? 1 : 2;
        if (*oneWay && ends > 1 && (udp || (ring && ends > ByteRing::kReaders)))
            throw CLI::ValidationError("--ends", "datagrams have one, a ring at most 64");
        if (!spaces.empty() && socket != "tcp")
            throw CLI::ValidationError("--spaces", "these are of tcp");
        if (grouped && *trip) throw CLI::ValidationError("--socket", "a group does not answer");
        if (udp && std::max(bytes, batch) > kDatagramMax)
            throw CLI::ValidationError("--bytes, --batch", "a datagram has at most 65507 bytes");
        settle(0);
        if (*out && ring) fanOutByRings(bytes, warmUp, count, ends);
        else if (*out) fanOut(socket, bytes, warmUp, count, ends);
        else if (*round) rounds(socket, bytes, warmUp, count, ends);
        else if (*trip && ring) roundTripByRings(bytes, warmUp, count, each);
        else if (*trip) roundTrip(socket, bytes, warmUp, count, relayed, each);
        else if (ring) streamByRing(bytes, count, batch, stamped, ends);
        else if (udp) streamByDatagrams(socket, bytes, count, batch, stamped);
        else stream(socket, bytes, count, relayed, batch, stamped, ends);
        return allDone() ? 0 : 1;
    } catch (CLI::ParseError const &e) {
        return app.exit(e) == 0 ? 0 : 2;
    } catch (std::exception const &e) {
        std::fprintf(stderr, "bench-raw: %s\n", e.what());
        return 1;
    }
}
