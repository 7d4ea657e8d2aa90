#include "message_pipe.hpp"

#include <netdb.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>

#include "test_description.hpp"

namespace bmfed {

namespace {

std::string quoted(std::string const& text) {
    std::string out = "\"";
    for (char const c : text) {
        if (c == '"' || c == '\\') {
            out += '\\';
            out += c;
        } else if (static_cast<unsigned char>(c) < 0x20) {
            char escaped[8];
            std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
            out += escaped;
        } else {
            out += c;
        }
    }
    return out + "\"";
}

// A manager that does not read is given up, not waited for.
void boundSending(int s) {
    timeval const limit = {10, 0};
    ::setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

int connectUnix(std::string const& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof address.sun_path) {
        throw UsageError("--manager: socket path is too long: " + path);
    }
    std::memcpy(address.sun_path, path.c_str(), path.size());
    int const s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (s >= 0) boundSending(s);
    if (s >= 0 && ::connect(s, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0) {
        return s;
    }
    if (s >= 0) ::close(s);
    return -1;
}

int connectTcp(std::string const& host, std::string const& port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(host.c_str(), port.c_str(), &hints, &found) != 0) return -1;
    int s = -1;
    for (addrinfo* a = found; a != nullptr && s < 0; a = a->ai_next) {
        s = ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC, a->ai_protocol);
        if (s >= 0) boundSending(s);
        if (s >= 0 && ::connect(s, a->ai_addr, a->ai_addrlen) != 0) {
            ::close(s);
            s = -1;
        }
    }
    ::freeaddrinfo(found);
    return s;
}

}  // namespace

void JsonLine::key(std::string const& key) {
    if (!body_.empty()) body_ += ',';
    body_ += quoted(key) + ":";
}

JsonLine& JsonLine::text(std::string const& k, std::string const& value) {
    key(k);
    body_ += quoted(value);
    return *this;
}

JsonLine& JsonLine::number(std::string const& k, double value) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.9g", std::isfinite(value) ? value : 0.0);
    key(k);
    body_ += digits;
    return *this;
}

JsonLine& JsonLine::count(std::string const& k, unsigned long long value) {
    key(k);
    body_ += std::to_string(value);
    return *this;
}

MessagePipe::MessagePipe(std::string const& address) {
    auto const colon = address.rfind(':');
    if (colon == std::string::npos) {
        throw UsageError("--manager " + address + " is neither unix:PATH nor HOST:PORT");
    }
    socket_ = address.compare(0, 5, "unix:") == 0
                  ? connectUnix(address.substr(5))
                  : connectTcp(address.substr(0, colon), address.substr(colon + 1));
    if (socket_ < 0) throw std::runtime_error("can't reach bmmanager at " + address);
}

MessagePipe::~MessagePipe() {
    if (socket_ >= 0) ::close(socket_);
}

void MessagePipe::send(JsonLine const& line) {
    std::string const text = line.str();
    std::size_t done = 0;
    while (socket_ >= 0 && done < text.size()) {
        ssize_t const n = ::send(socket_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
        if (n <= 0) {
            ::close(socket_);
            socket_ = -1;
        } else {
            done += static_cast<std::size_t>(n);
        }
    }
}

}  // namespace bmfed
