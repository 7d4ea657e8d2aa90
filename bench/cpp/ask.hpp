// What a command says, within a time: for questions to the host's daemons, never while something
// is measured.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
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
        if (left <= 0 || ::poll(&one, 1, static_cast<int>(left)) <= 0) {
            said += "\nno answer in time";
            break;
        }
        char buffer[4096];
        ssize_t const n = ::read(ends[0], buffer, sizeof buffer);
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

}  // namespace bench
