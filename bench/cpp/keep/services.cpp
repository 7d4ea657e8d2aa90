#include "services.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "host.hpp"

namespace bench {

namespace {

using Clock = std::chrono::steady_clock;

// systemd gives a service 90 s to stop or to start.
auto const kTurn = std::chrono::seconds(100);

// The time in which nobody else stops or starts services. What is locked is the directory of
// temporary files, which needs no file that would have to be removed.
class Turn {
public:
    Turn() : directory_(::open(temporary().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
        for (auto const until = Clock::now() + kTurn;
             directory_ >= 0 && ::flock(directory_, LOCK_EX | LOCK_NB) != 0;) {
            if (Clock::now() < until && (errno == EWOULDBLOCK || errno == EINTR)) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
                continue;
            }
            ::close(directory_);
            throw std::runtime_error("another run has stopped or started services for too long");
        }
        if (directory_ < 0) throw std::runtime_error(temporary() + ": " + std::strerror(errno));
    }
    ~Turn() { ::close(directory_); }
    Turn(Turn const&) = delete;
    Turn& operator=(Turn const&) = delete;

private:
    int const directory_;
};

// systemctl VERB SERVICE; whether it succeeded.
bool service(char const* verb, std::string const& name) {
    pid_t const child = ::fork();
    if (child == 0) {
        int const none = ::open("/dev/null", O_RDWR);
        for (int fd : {0, 1, 2}) ::dup2(none, fd);
        ::execlp("systemctl", "systemctl", verb, "--", name.c_str(), nullptr);
        ::_exit(127);
    }
    int status = 0;
    while (child > 0 && ::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    return child > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

std::vector<std::string> named(std::string const& directory) {
    std::istringstream list(textOf(directory + "/quiet"));
    std::vector<std::string> found;
    for (std::string one; std::getline(list, one);) found.push_back(one);
    return found;
}

// False: the list could not be written.
bool write(std::string const& directory, std::vector<std::string> const& names) {
    std::string const path = directory + "/quiet", fresh = path + ".new";
    std::FILE* const list = std::fopen(fresh.c_str(), "w");
    bool kept = list != nullptr;
    for (auto const& one : names) kept = kept && std::fprintf(list, "%s\n", one.c_str()) > 0;
    if (list != nullptr && std::fclose(list) != 0) kept = false;
    return kept && ::rename(fresh.c_str(), path.c_str()) == 0;
}

bool wantedElsewhere(std::string const& name, std::string const& directory) {
    std::string const base = temporary();
    auto const others = namesIn(base);
    return std::any_of(others.begin(), others.end(), [&](std::string const& other) {
        std::string const path = base + "/" + other;
        if (path == directory || !isKeepers(path) || !aliveOf(path)) return false;
        auto const wanted = named(path);
        return std::find(wanted.begin(), wanted.end(), name) != wanted.end();
    });
}

}  // namespace

bool stopService(std::string const& name, std::string const& directory) {
    Turn const turn;
    if (!service("is-active", name) && !wantedElsewhere(name, directory)) return false;
    // Written down first: whoever cleans up after this keeper starts it again.
    auto names = named(directory);
    names.push_back(name);
    if (!write(directory, names)) {
        throw std::runtime_error("can't write down that '" + name + "' is stopped");
    }
    if (!service("stop", name)) throw std::runtime_error("can't stop '" + name + "'");
    return true;
}

std::vector<std::string> startServices(std::string const& directory) {
    std::vector<std::string> said;
    for (auto names = named(directory); !names.empty(); names.erase(names.begin())) {
        std::string const& name = names.front();
        std::unique_ptr<Turn> turn;
        try {
            turn.reset(new Turn);
        } catch (std::runtime_error const& e) {  // it is started all the same
            std::fprintf(stderr, "bench-keep: %s\n", e.what());
        }
        if (wantedElsewhere(name, directory)) {
            said.push_back("left service " + name + " to another run, which has it stopped");
        } else if (service("start", name)) {
            said.push_back("started service " + name);
        } else {
            std::fprintf(stderr, "bench-keep: can't start the service '%s' again\n", name.c_str());
        }
        write(directory, {names.begin() + 1, names.end()});
    }
    return said;
}

}  // namespace bench
