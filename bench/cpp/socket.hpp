// Sockets by address: "unix:PATH" or "HOST:PORT".
#pragma once

#include <stdexcept>
#include <string>

namespace bench {

// Wrong command line, address or test description; exit code 2.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// A stream socket, or -1 with errno. Throws UsageError for what is no address.
int connectTo(std::string const& address);
int listenAt(std::string const& address);

// What is sent leaves at once.
void noDelay(int socket);

// Where a listening TCP socket listens, or to which own address a connected one is bound:
// "HOST:PORT" in numbers; "" for another kind of socket.
std::string ownAddress(int socket);

}  // namespace bench
