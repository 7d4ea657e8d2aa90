// Sockets by address: "unix:PATH" or "HOST:PORT".
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

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

// `send` and `recv` of the kernel. Those of the C library are points at which a thread may be
// cancelled: in a program of several threads each then takes 60 instructions more.
inline long sendNow(int socket, void const* bytes, std::size_t size, int flags) {
    return ::syscall(SYS_sendto, socket, bytes, size, flags, nullptr, 0);
}
inline long receiveNow(int socket, void* bytes, std::size_t size, int flags) {
    return ::syscall(SYS_recvfrom, socket, bytes, size, flags, nullptr, nullptr);
}

// What is sent leaves at once.
void noDelay(int socket);

// Where a listening TCP socket listens, or to which own address a connected one is bound:
// "HOST:PORT" in numbers; "" for another kind of socket.
std::string ownAddress(int socket);

}  // namespace bench
