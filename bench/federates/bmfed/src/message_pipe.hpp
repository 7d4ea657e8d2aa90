// The message pipe to bmmanager: JSON, one object per line, over a Unix-domain or TCP socket.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace bmfed {

// A JSON object under construction; values are written in the order given.
class JsonLine {
public:
    explicit JsonLine(std::string const& event) { text("event", event); }
    JsonLine& text(std::string const& key, std::string const& value);
    JsonLine& number(std::string const& key, double value);
    JsonLine& count(std::string const& key, unsigned long long value);
    std::string str() const { return "{" + body_ + "}\n"; }

private:
    void key(std::string const& key);
    std::string body_;
};

class MessagePipe {
public:
    // No connection: every send is dropped.
    MessagePipe() = default;
    // "unix:PATH" or "HOST:PORT"; throws UsageError or std::runtime_error.
    explicit MessagePipe(std::string const& address);
    ~MessagePipe();
    MessagePipe(MessagePipe const&) = delete;
    MessagePipe& operator=(MessagePipe const&) = delete;
    MessagePipe(MessagePipe&& other) noexcept : socket_(other.socket_) { other.socket_ = -1; }
    MessagePipe& operator=(MessagePipe&& other) noexcept {
        std::swap(socket_, other.socket_);
        return *this;
    }
    // A manager that went away is no reason to end a measurement: failures are dropped.
    void send(JsonLine const& line);

private:
    int socket_ = -1;
};

}  // namespace bmfed
