#include "link.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace conformance {

namespace {

/// Lines over a pair of descriptors.
class Lines {
public:
    Lines(int in, int out) : in_(in), out_(out) {}

    bool send(std::string line) {
        line += '\n';
        for (size_t sent = 0; sent < line.size();) {
            ssize_t const n = ::write(out_, line.data() + sent, line.size() - sent);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return false;
            sent += static_cast<size_t>(n);
        }
        return true;
    }

    /// False at the end of the stream, or after that long; negative waits for ever.
    bool receive(std::string &line, double seconds) {
        auto const end = std::chrono::steady_clock::now() +
                         std::chrono::milliseconds(static_cast<long long>(seconds * 1000));
        for (;;) {
            size_t const newline = buffer_.find('\n');
            if (newline != std::string::npos) {
                line = buffer_.substr(0, newline);
                buffer_.erase(0, newline + 1);
                return true;
            }
            auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(
                                  end - std::chrono::steady_clock::now())
                                  .count();
            if (seconds >= 0 && left <= 0)
                return false;
            pollfd p = {in_, POLLIN, 0};
            int const ready = ::poll(&p, 1, seconds < 0 ? -1 : static_cast<int>(left));
            if (ready < 0 && errno != EINTR)
                return false;
            if (ready <= 0)
                continue;
            char bytes[4096];
            ssize_t const n = ::read(in_, bytes, sizeof bytes);
            if (n < 0 && errno == EINTR)
                continue;
            if (n <= 0)
                return false;
            buffer_.append(bytes, static_cast<size_t>(n));
        }
    }

private:
    int in_, out_;
    std::string buffer_;
};

class Direct : public Link {
public:
    explicit Direct(Arrangement const &arrangement) : federate_(arrangement) {}
    std::string ask(std::string const &line, double) override { return federate_.execute(line); }

private:
    Federate federate_;
};

void pair(int fds[2]) {
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds) != 0)
        throw LinkDown(std::string("socketpair: ") + std::strerror(errno));
}

class Remote : public Link {
public:
    std::string ask(std::string const &line, double seconds) override {
        std::string reply;
        if (!lines_ || !lines_->send(line) || !lines_->receive(reply, seconds))
            throw LinkDown("no answer to: " + line);
        return reply;
    }

protected:
    ~Remote() { hangUp(); }
    void use(int fd) {
        fd_ = fd;
        lines_.reset(new Lines(fd, fd));
    }
    void hangUp() {
        if (fd_ >= 0)
            ::close(fd_);
        fd_ = -1;
        lines_.reset();
    }

private:
    int fd_ = -1;
    std::unique_ptr<Lines> lines_;
};

class Thread : public Remote {
public:
    explicit Thread(Arrangement const &arrangement) {
        int fds[2];
        pair(fds);
        use(fds[0]);
        thread_ = std::thread([arrangement, fds] {
            {
                Federate federate(arrangement);
                serve(federate, fds[1], fds[1]);
            }
            ::close(fds[1]);
        });
    }
    ~Thread() {
        hangUp();
        thread_.join();
    }

private:
    std::thread thread_;
};

class Process : public Remote {
public:
    Process(Arrangement const &arrangement, std::string const &program) {
        int fds[2];
        pair(fds);
        char const *model = arrangement.model == rti1516e::HLA_EVOKED ? "evoked" : "immediate";
        pid_ = ::fork();
        if (pid_ < 0)
            throw LinkDown(std::string("fork: ") + std::strerror(errno));
        if (pid_ == 0) {
            ::dup2(fds[1], 0);
            ::dup2(fds[1], 1);
            ::execl(program.c_str(), program.c_str(), "--federate", "--model", model, "--settings",
                    arrangement.settings.c_str(), static_cast<char *>(nullptr));
            ::_exit(127);
        }
        ::close(fds[1]);
        use(fds[0]);
    }
    bool kill() override {
        ::kill(pid_, SIGKILL);
        return true;
    }
    /// The federate ends when its commands do; it has 10 s to take leave.
    ~Process() {
        hangUp();
        for (int i = 0; i < 1000; ++i) {
            if (::waitpid(pid_, nullptr, WNOHANG) == pid_)
                return;
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
        }
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }

private:
    pid_t pid_;
};

}

std::unique_ptr<Link> makeLink(Placement placement, Arrangement const &arrangement,
                               std::string const &program) {
    switch (placement) {
    case Placement::Threads:
        return std::unique_ptr<Link>(new Thread(arrangement));
    case Placement::Processes:
        return std::unique_ptr<Link>(new Process(arrangement, program));
    case Placement::OneThread:
        break;
    }
    return std::unique_ptr<Link>(new Direct(arrangement));
}

void serve(Federate &federate, int in, int out) {
    Lines lines(in, out);
    std::string line;
    while (lines.receive(line, -1) && lines.send(federate.execute(line)))
        ;
}

}
