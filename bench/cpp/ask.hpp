// What the host says of itself, its daemons within a time: never asked while something is
// measured.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <fstream>
#include <string>

namespace bench {

// Its output and what it complains of, as ASCII, at most 64 KB; what is not done in time is ended.
// Never throws: who reads the answer sees what it lacks.
inline std::string ask(std::string const& command, double seconds) {
    using Clock = std::chrono::steady_clock;
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return "no pipe";
    pid_t const child = ::fork();
    if (child == 0) {
        ::setpgid(0, 0);
        ::dup2(ends[1], STDOUT_FILENO);
        ::dup2(ends[1], STDERR_FILENO);
        ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
        ::_exit(127);
    }
    ::close(ends[1]);
    std::string said;
    auto const until = Clock::now() + std::chrono::duration<double>(seconds);
    while (child > 0 && said.size() < 65536) {
        auto const left =
            std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now()).count();
        pollfd one{ends[0], POLLIN, 0};
        int const ready = left <= 0 ? 0 : ::poll(&one, 1, static_cast<int>(left));
        if (ready < 0 && errno == EINTR) continue;
        if (ready <= 0) {
            said += "\nno answer in time";
            break;
        }
        char buffer[4096];
        ssize_t const n = ::read(ends[0], buffer, sizeof buffer);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        said.append(buffer, static_cast<std::size_t>(n));
    }
    ::close(ends[0]);
    if (child > 0) {
        ::kill(-child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    for (char& c : said) {
        if ((c < ' ' && c != '\n' && c != '\t') || c > '~') c = '?';
    }
    return said;
}

// The start of the kernel that runs: namespaces of one machine have one, and its clock.
inline std::string boot() {
    std::ifstream in("/proc/sys/kernel/random/boot_id");
    std::string id;
    std::getline(in, id);
    return id;
}

}  // namespace bench
