// standin-rti --listen HOST:PORT: the stand-in RTI's server. Says `ready HOST:PORT` once federates
// can connect, and one line per resignation, naming those under way at the same time.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

#include "frames.hpp"

namespace {

using namespace standin;

// Beyond this nobody is read from until the slowest has taken some of what waits for it.
std::size_t const kWaitingMax = 16 << 20;

struct Federate {
    int socket;
    std::uint32_t number;
    std::string in, out, name, federation;
    bool resigning = false, gone = false;
};

struct Server {
    std::vector<std::unique_ptr<Federate>> federates;
    std::map<std::string, std::string> federations;  // the FOM of each
    std::uint32_t numbers = 0;

    void toOthers(Federate const& from, std::string const& bytes) {
        for (auto& f : federates) {
            if (f.get() != &from && !f->federation.empty() && f->federation == from.federation) {
                f->out += bytes;
            }
        }
    }
    void leave(Federate& f) {
        if (f.federation.empty()) return;
        std::string body;
        put(body, f.number);
        toOthers(f, frame(Kind::Gone, body));
        f.federation.clear();
        f.resigning = false;
    }
    void answer(Federate& to, Status status, std::string const& more = "") {
        std::string body;
        put(body, status);
        to.out += frame(Kind::Reply, body + more);
    }
    bool anyIn(std::string const& federation) const {
        return std::any_of(federates.begin(), federates.end(),
                           [&](auto const& f) { return f->federation == federation; });
    }

    void take(Federate& f, Kind kind, std::string const& body) {
        Reader in(body);
        if (kind >= Kind::Register) return toOthers(f, frame(kind, body));
        if (kind == Kind::Create) {
            std::string const name = in.text();
            answer(f, federations.emplace(name, in.text()).second ? Status::Ok : Status::Exists);
        } else if (kind == Kind::Join) {
            std::string const federation = in.text(), name = in.text();
            auto const found = federations.find(federation);
            if (found == federations.end()) return answer(f, Status::Absent);
            for (auto& other : federates) {
                if (other->federation == federation && other->name == name) {
                    return answer(f, Status::NameInUse);
                }
            }
            f.federation = federation;
            f.name = name;
            std::string more;
            put(more, f.number);
            putText(more, found->second);
            answer(f, Status::Ok, more);
            toOthers(f, frame(Kind::Joined, ""));
        } else if (kind == Kind::ResignBegin) {
            f.resigning = true;
            std::printf("resigning:");
            for (auto& one : federates) {
                if (one->resigning) std::printf(" %s", one->name.c_str());
            }
            std::printf("\n");
            answer(f, Status::Ok);
        } else if (kind == Kind::Resign) {
            leave(f);
            answer(f, Status::Ok);
        } else if (kind == Kind::Destroy) {
            std::string const name = in.text();
            if (federations.count(name) == 0) return answer(f, Status::Absent);
            if (anyIn(name)) return answer(f, Status::Joined);
            federations.erase(name);
            answer(f, Status::Ok);
        }
    }
    void read(Federate& f) {
        char buffer[65536];
        ssize_t const n = ::recv(f.socket, buffer, sizeof buffer, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) f.gone = true;
        if (n <= 0) return;
        f.in.append(buffer, static_cast<std::size_t>(n));
        std::size_t at = 0;
        Kind kind;
        try {
            for (std::string body; takeFrame(f.in, at, kind, body);) take(f, kind, body);
        } catch (std::runtime_error const&) {
            f.gone = true;
        }
        f.in.erase(0, at);
    }
    void write(Federate& f) {
        if (f.out.empty()) return;
        ssize_t const n = ::send(f.socket, f.out.data(), f.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n > 0) f.out.erase(0, static_cast<std::size_t>(n));
        else if (errno != EAGAIN && errno != EINTR) f.gone = true;
    }
    void serve(int listener) {
        for (;;) {
            bool const full = std::any_of(federates.begin(), federates.end(), [](auto const& f) {
                return f->out.size() > kWaitingMax;
            });
            std::vector<pollfd> watch = {{listener, POLLIN, 0}};
            for (auto& f : federates) {
                short const events =
                    static_cast<short>((full ? 0 : POLLIN) | (f->out.empty() ? 0 : POLLOUT));
                watch.push_back({f->socket, events, 0});
            }
            ::poll(watch.data(), watch.size(), -1);
            for (std::size_t i = 1; i < watch.size(); ++i) {
                Federate& f = *federates[i - 1];
                if ((watch[i].revents & (POLLIN | POLLERR | POLLHUP)) != 0) read(f);
            }
            for (auto& f : federates) write(*f);
            for (auto& f : federates) {
                if (!f->gone) continue;
                leave(*f);
                ::close(f->socket);
            }
            federates.erase(std::remove_if(federates.begin(), federates.end(),
                                           [](auto const& f) { return f->gone; }),
                            federates.end());
            if ((watch[0].revents & POLLIN) != 0) {
                int const s = ::accept(listener, nullptr, nullptr);
                if (s < 0) continue;
                int const on = 1;
                ::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
                federates.emplace_back(new Federate{s, ++numbers, "", "", "", ""});
            }
        }
    }
};

int fail(char const* what) {
    std::fprintf(stderr, "standin-rti: ");
    std::perror(what);
    return 1;
}

}  // namespace

int main(int argc, char** argv) {
    std::string const at = argc == 3 && std::string(argv[1]) == "--listen" ? argv[2] : "";
    auto const colon = at.rfind(':');
    sockaddr_in address{};
    address.sin_family = AF_INET;
    if (colon == std::string::npos ||
        ::inet_pton(AF_INET, at.substr(0, colon).c_str(), &address.sin_addr) != 1) {
        std::fprintf(stderr, "usage: standin-rti --listen IPV4:PORT\n");
        return 2;
    }
    address.sin_port = htons(static_cast<std::uint16_t>(std::atoi(at.c_str() + colon + 1)));
    int const listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int const on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    socklen_t size = sizeof address;
    auto* const a = reinterpret_cast<sockaddr*>(&address);
    if (::bind(listener, a, size) != 0) return fail(at.c_str());
    if (::listen(listener, 64) != 0) return fail("listen");
    ::getsockname(listener, a, &size);
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    std::printf("ready %s:%u\n", at.substr(0, colon).c_str(), ntohs(address.sin_port));
    Server().serve(listener);
}
