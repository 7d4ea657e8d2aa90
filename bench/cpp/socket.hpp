// Sockets by address: "unix:PATH" or "HOST:PORT".
#pragma once

#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
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
// cancelled: in a program of several threads each then takes 60 instructions more; its `syscall`
// takes 16 to bring six arguments in order.
inline long transfer(long call, int socket, void const* bytes, std::size_t size, int flags) {
#ifdef __x86_64__
    long result;
    register long flags10 __asm__("r10") = flags;
    register long address8 __asm__("r8") = 0;
    register long length9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "=a"(result)
                     : "a"(call), "D"(static_cast<long>(socket)), "S"(bytes), "d"(size),
                       "r"(flags10), "r"(address8), "r"(length9)
                     : "rcx", "r11", "memory");
    if (__builtin_expect(result >= 0, 1)) return result;
    errno = static_cast<int>(-result);
    return -1;
#else
    return ::syscall(call, socket, bytes, size, flags, nullptr, nullptr);
#endif
}
inline long sendNow(int socket, void const* bytes, std::size_t size, int flags) {
    return transfer(SYS_sendto, socket, bytes, size, flags);
}
inline long receiveNow(int socket, void* bytes, std::size_t size, int flags) {
    return transfer(SYS_recvfrom, socket, bytes, size, flags);
}

// What is sent leaves at once.
void noDelay(int socket);

// Where a listening TCP socket listens, or to which own address a connected one is bound:
// "HOST:PORT" in numbers; "" for another kind of socket.
std::string ownAddress(int socket);

}  // namespace bench
