// The control pipe between a program under measurement and whoever conducts it: JSON, one object
// per line, over a Unix-domain or TCP socket. Every object has an "event".
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "socket.hpp"

namespace bench {

using Json = nlohmann::json;

// What a line says under a key; "" where that is no text. Lines come from whoever connects: of what
// a stranger says nothing may end a measurement.
std::string said(Json const& line, char const* key);

// A socket that carries lines. Nothing is sent or received while there is no connection.
class ControlPipe {
public:
    ControlPipe() = default;
    // Connects to "unix:PATH" or "HOST:PORT" and says hello as `name`, with the run's id (from the
    // environment). Throws UsageError or std::runtime_error.
    ControlPipe(std::string const& address, std::string const& name);
    explicit ControlPipe(int socket) : socket_(socket) {}
    ~ControlPipe();
    ControlPipe(ControlPipe&& other) noexcept { *this = std::move(other); }
    ControlPipe& operator=(ControlPipe&& other) noexcept {
        std::swap(socket_, other.socket_);
        std::swap(in_, other.in_);
        return *this;
    }

    bool connected() const { return socket_ >= 0; }
    // A conductor that went away is no reason to end a measurement: failures are dropped.
    void send(Json const& line);
    // Until something has come, at most so long; s.
    void await(double seconds) const;
    // What has come since; does not wait. A line that is no JSON object ends the connection.
    std::vector<Json> receive();

private:
    void close();
    int socket_ = -1;
    std::string in_;
};

// The other end, for a master that nobody conducts: its subordinates' last words come here.
class ControlServer {
public:
    // Listens at "unix:PATH" or "HOST:PORT"; with no address nowhere.
    explicit ControlServer(std::string const& address);
    ~ControlServer();
    ControlServer(ControlServer const&) = delete;
    ControlServer& operator=(ControlServer const&) = delete;

    bool listening() const { return listener_ >= 0; }
    // What has come since from anybody; does not wait.
    std::vector<Json> receive();

private:
    int listener_ = -1;
    std::string path_;
    std::vector<ControlPipe> pipes_;
};

}  // namespace bench
