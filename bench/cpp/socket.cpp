#include "socket.hpp"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace bench {

namespace {

// A socket after `use` (connect or bind) succeeded for one of the address's meanings; -1: none.
template <typename Use>
int openSocket(std::string const& address, Use use) {
    if (address.compare(0, 5, "unix:") == 0) {
        std::string const path = address.substr(5);
        sockaddr_un at{};
        at.sun_family = AF_UNIX;
        if (path.size() >= sizeof at.sun_path) {
            throw UsageError("the path of the socket is too long: " + path);
        }
        std::memcpy(at.sun_path, path.c_str(), path.size());
        int const s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (s >= 0 && use(s, reinterpret_cast<sockaddr*>(&at), socklen_t{sizeof at}) == 0) return s;
        int const why = errno;
        if (s >= 0) ::close(s);
        errno = why;
        return -1;
    }
    auto const colon = address.rfind(':');
    if (colon == std::string::npos) {
        throw UsageError("the address '" + address + "' is neither unix:PATH nor HOST:PORT");
    }
    // The system would take the rest of a larger one.
    std::string const port = address.substr(colon + 1);
    bool const digits = port.find_first_not_of("0123456789") == std::string::npos;
    if (port.empty() || (digits && (port.size() > 5 || std::stoi(port) > 65535))) {
        throw UsageError("'" + port + "' in the address '" + address + "' is no port: 0 to 65535");
    }
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(address.substr(0, colon).c_str(), address.c_str() + colon + 1, &hints,
                      &found) != 0) {
        return -1;
    }
    int s = -1;
    for (addrinfo* a = found; a != nullptr && s < 0; a = a->ai_next) {
        s = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (s >= 0 && use(s, a->ai_addr, a->ai_addrlen) != 0) {
            ::close(s);
            s = -1;
        }
    }
    ::freeaddrinfo(found);
    return s;
}

}  // namespace

int connectTo(std::string const& address) { return openSocket(address, ::connect); }

int listenAt(std::string const& address) {
    auto const listens = [](int s, sockaddr* at, socklen_t size) {
        int const on = 1;
        ::setsockopt(s, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
        return ::bind(s, at, size) != 0 ? -1 : ::listen(s, 128);
    };
    int const s = openSocket(address, listens);
    bool const isThere = s < 0 && errno == EADDRINUSE && address.compare(0, 5, "unix:") == 0;
    if (!isThere) return s;
    // The socket of one that was killed stays, and is nobody's; a file that is none is refused
    // alike.
    struct stat found {};
    bool const isSocket =
        ::lstat(address.c_str() + 5, &found) == 0 && (found.st_mode & S_IFMT) == S_IFSOCK;
    int const other = connectTo(address);
    if (other >= 0) ::close(other);
    bool const isDead = isSocket && other < 0 && errno == ECONNREFUSED;
    if (isDead) ::unlink(address.c_str() + 5);
    errno = EADDRINUSE;
    return isDead ? openSocket(address, listens) : -1;
}

void noDelay(int socket) {
    int const on = 1;
    ::setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

std::string ownAddress(int socket) {
    sockaddr_storage at{};
    socklen_t size = sizeof at;
    char host[NI_MAXHOST], port[NI_MAXSERV];
    if (::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0 ||
        (at.ss_family != AF_INET && at.ss_family != AF_INET6) ||
        ::getnameinfo(reinterpret_cast<sockaddr*>(&at), size, host, sizeof host, port, sizeof port,
                      NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
        return "";
    }
    return std::string(host) + ":" + port;
}

}  // namespace bench
