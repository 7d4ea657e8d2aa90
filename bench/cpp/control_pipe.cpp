#include "control_pipe.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace bench {

namespace {

std::size_t const kLineMax = 1 << 20;
int const kVersion = 1;

// A conductor that does not read is given up, not waited for.
void boundSending(int s) {
    timeval const limit = {10, 0};
    ::setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

}  // namespace

std::string said(Json const& line, char const* key) {
    auto const found = line.find(key);
    return found != line.end() && found->is_string() ? found->get<std::string>() : std::string();
}

ControlPipe::ControlPipe(std::string const& address, std::string const& name) {
    socket_ = connectTo(address);
    if (socket_ >= 0) boundSending(socket_);
    else throw std::runtime_error("can't reach the control pipe at " + address);
    char const* const run = std::getenv("BENCH_RUN_ID");
    send({{"event", "hello"},
          {"version", kVersion},
          {"name", name},
          {"run", run == nullptr ? "" : run}});
}

ControlPipe::~ControlPipe() { close(); }

void ControlPipe::close() {
    if (socket_ >= 0) ::close(socket_);
    socket_ = -1;
}

void ControlPipe::send(Json const& line) {
    // Bytes that are no UTF-8 (in an RTI's messages) are replaced.
    std::string const text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
    std::size_t done = 0;
    while (socket_ >= 0 && done < text.size()) {
        ssize_t const n = ::send(socket_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
        if (n > 0) done += static_cast<std::size_t>(n);
        else if (n < 0 && errno == EINTR) continue;
        else close();
    }
}

void ControlPipe::await(double seconds) const {
    pollfd one = {socket_, POLLIN, 0};
    ::poll(&one, 1, static_cast<int>(seconds * 1e3));
}

std::vector<Json> ControlPipe::receive() {
    std::vector<Json> lines;
    char buffer[4096];
    while (socket_ >= 0) {
        ssize_t const n = ::recv(socket_, buffer, sizeof buffer, MSG_DONTWAIT);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0 && errno == EAGAIN) break;
        if (n <= 0) {
            close();
            break;
        }
        in_.append(buffer, static_cast<std::size_t>(n));
        std::size_t from = 0;
        for (std::size_t end; (end = in_.find('\n', from)) != std::string::npos; from = end + 1) {
            Json line = Json::parse(in_.substr(from, end - from), nullptr, false);
            if (!line.is_object()) {
                close();
                return lines;
            }
            lines.push_back(std::move(line));
        }
        in_.erase(0, from);
        if (in_.size() > kLineMax) close();
    }
    return lines;
}

ControlServer::ControlServer(std::string const& address) {
    if (address.empty()) return;
    listener_ = listenAt(address);
    if (listener_ < 0) {
        throw std::runtime_error("can't listen at " + address + ": " + std::strerror(errno));
    }
    if (address.compare(0, 5, "unix:") == 0) path_ = address.substr(5);
}

ControlServer::~ControlServer() {
    if (listener_ >= 0) ::close(listener_);
    if (!path_.empty()) ::unlink(path_.c_str());
}

std::vector<Json> ControlServer::receive() {
    while (listener_ >= 0) {
        pollfd watch = {listener_, POLLIN, 0};
        if (::poll(&watch, 1, 0) <= 0) break;
        int const s = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
        if (s < 0) break;
        pipes_.emplace_back(s);
    }
    std::vector<Json> lines;
    for (auto& pipe : pipes_) {
        for (auto& line : pipe.receive()) lines.push_back(std::move(line));
    }
    pipes_.erase(std::remove_if(pipes_.begin(), pipes_.end(),
                                [](ControlPipe const& pipe) { return !pipe.connected(); }),
                 pipes_.end());
    return lines;
}

}  // namespace bench
