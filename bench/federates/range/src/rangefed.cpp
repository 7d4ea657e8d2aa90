// rangefed: the user interface's side of a federate, without a window. It starts the interface,
// commands it by two events, reads its ring and writes the log; with --lines it is what terminal
// and web page show. Words at the standard input: start, resign, log on, log off.
#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <string>
#include <vector>

#include "ring_reader.hpp"
#include "sample_log.hpp"

namespace {

using nlohmann::json;
using range::Shared;

volatile std::sig_atomic_t stopAsked = 0;

extern "C" void askStop(int signal) { stopAsked = signal; }

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Options {
    bool lines = false, await = false, elements = false, named = false, live = false;
    int attach = 0;  // the process of an interface that runs
    int everyMs = 200;
    std::string name = "federate", out;
    std::vector<std::string> interface;  // its command
};

bool isName(std::string const& text) {
    auto const stands = [](char c) {
        return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.' || c == '-';
    };
    // No folder, and no option that follows where a name was forgotten.
    return text.size() < sizeof Shared::name && text.find_first_not_of('.') != std::string::npos &&
           text.compare(0, 2, "--") != 0 && std::all_of(text.begin(), text.end(), stands);
}

std::string besideMe(char const* name) {
    char path[PATH_MAX];
    ssize_t const length = ::readlink("/proc/self/exe", path, sizeof path);
    std::string const me(path, length > 0 ? static_cast<std::size_t>(length) : 0);
    return me.substr(0, me.rfind('/') + 1) + name;
}

int numberOf(std::string const& option, std::string const& text) {
    char* end = nullptr;
    long const value = std::strtol(text.c_str(), &end, 10);
    if (end == text.c_str() || *end != 0 || value < 1 || value > INT_MAX) {
        throw Failure(option + ": '" + text + "' is no number");
    }
    return static_cast<int>(value);
}

// Its own options end at the first that it does not know: those are the interface's.
Options parse(int argc, char** argv) {
    Options o;
    std::vector<std::string> given(argv + 1, argv + argc);
    for (std::size_t i = 0; i < given.size(); ++i) {
        auto const value = [&] {
            if (i + 1 == given.size()) throw Failure(given[i] + " needs a value");
            return given[++i];
        };
        std::string const option = given[i];
        if (option == "--lines") o.lines = true;
        else if (option == "--await") o.await = true;
        else if (option == "--elements") o.elements = true;
        else if (option == "--every-ms") o.everyMs = numberOf(option, value());
        else if (option == "--attach") o.attach = numberOf(option, value());
        else if (option == "--name" || option == "--out") {
            // What both need to know.
            (option == "--name" ? o.name : o.out) = value();
            if (option == "--name") o.named = true;
            o.interface.insert(o.interface.end(), {option, given[i]});
        } else {
            o.live = o.live || option == "--live";
            o.interface.push_back(option);
            if (i + 1 < given.size() && option.compare(0, 2, "--") == 0 &&
                given[i + 1].compare(0, 2, "--") != 0) {
                o.interface.push_back(given[++i]);
            }
        }
    }
    if (!isName(o.name)) {
        throw Failure("'" + o.name +
                      "' is no name; use up to 63 letters, digits, '_', '.' and '-'");
    }
    return o;
}

// Who reads holds a lock, which ends with it: another one would take what it has not read.
void lockReading(int memory, pid_t of) {
    if (::flock(memory, LOCK_EX | LOCK_NB) == 0) return;
    throw Failure("process " + std::to_string(of) +
                  " has a reader; end that one, or wait until it has ended");
}

Shared* map(int memory) {
    void* const at = ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, memory, 0);
    if (at == MAP_FAILED) throw Failure(std::string("no shared memory: ") + std::strerror(errno));
    return static_cast<Shared*>(at);
}

// So long an interface that is stopped may be asked to resign.
std::chrono::seconds const kStands(5);

// What is told to who displays: whole lines. Nobody is waited for meanwhile, as this thread also
// takes what comes: what there is no room for is left out, and counted.
class Lines {
public:
    void say(std::string const& line, bool last) {
        if (gone_) return;
        if (waits_.size() > kWaitsMax && !last) ++leftOut_;
        else waits_ += line + "\n";
        write();
    }
    // All that waits is said, unless nobody hears it or this one is told to stop.
    void end() {
        for (write(); !waits_.empty() && stopAsked == 0; write()) {
            pollfd out{STDOUT_FILENO, POLLOUT, 0};
            ::poll(&out, 1, 200);
        }
    }
    // Nobody is left who could hear of anything.
    bool gone() const { return gone_; }
    std::uint64_t leftOut() const { return leftOut_; }

private:
    static constexpr std::size_t kWaitsMax = 1 << 16;

    void write() {
        while (!waits_.empty()) {
            pollfd out{STDOUT_FILENO, POLLOUT, 0};
            if (::poll(&out, 1, 0) <= 0) return;
            // A pipe that has room takes so much at once; it is left as it is, since it may be
            // others', too.
            std::size_t const part = std::min<std::size_t>(waits_.size(), PIPE_BUF);
            ssize_t const n = ::write(STDOUT_FILENO, waits_.data(), part);
            if (n > 0) {
                waits_.erase(0, static_cast<std::size_t>(n));
                continue;
            }
            if (errno == EAGAIN || errno == EINTR) return;
            gone_ = errno == EPIPE || errno == EIO;  // not that a disk is full
            waits_.clear();
        }
    }

    std::string waits_;
    std::uint64_t leftOut_ = 0;
    bool gone_ = false;
};

class Reader {
public:
    explicit Reader(Options const& options) : o_(options) {
        if (o_.attach != 0) attach();  // by which its name is known
        if (!o_.out.empty()) log_.reset(new range::SampleLog(o_.out, o_.name));
        if (o_.attach != 0) {
            if (log_) log_->goOn(*shared_);
            return;
        }
        // Who conducts tests takes anew those that were interrupted.
        if (log_ && o_.live) log_->refuseEarlier();
        start();
    }

    // Until the interface has ended; its exit code. If this one can't go on the interface that it
    // started ends, too: nobody else would end it.
    int run() {
        try {
            return follow();
        } catch (...) {
            endInterface();
            throw;
        }
    }

private:
    int follow() {
        if (!o_.await && o_.attach == 0) shared_->start.store(1);
        while (!ended_) {
            // What it wrote before it ended is read, too.
            ended_ = hasEnded();
            read();
            if (ended_) break;
            listen();
            if (stopAsked != 0) forward();
            // Who displayed was killed, for example: nobody else would end the interface.
            if (lines_.gone()) {
                if (child_ <= 0) return 0;
                obey("resign");
            }
            // Asked each time: it may have gone on meanwhile.
            if (stands()) {
                throw Failure("the interface, process " + std::to_string(pid_) +
                              ", is stopped (SIGSTOP, or a debugger) and can't resign");
            }
        }
        return conclude();
    }
    void endInterface() {
        // Of one that has ended the number may be another's by now.
        if (child_ <= 0 || ended_) return;
        ::kill(child_, SIGTERM);
        ::kill(child_, SIGCONT);  // one that is stopped resigns, too
        timespec const pause{0, 10000000};
        for (int i = 0; i < 500 && ::waitpid(child_, &status_, WNOHANG) == 0; ++i) {
            ::nanosleep(&pause, nullptr);
        }
        // Of one that has ended nothing is left to be killed.
        if (::waitpid(child_, &status_, WNOHANG) == 0) {
            ::kill(child_, SIGKILL);
            ::waitpid(child_, &status_, 0);
        }
    }

    void start() {
        int const memory = ::memfd_create("range", MFD_ALLOW_SEALING);
        // Nobody who opens it makes it smaller under those that look into it.
        if (memory < 0 || ::ftruncate(memory, sizeof(Shared)) != 0 ||
            ::fcntl(memory, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
            throw Failure(std::string("no memory to share: ") + std::strerror(errno));
        }
        shared_ = map(memory);
        shared_->magic = Shared::kMagic;
        // Opened anew, as the interface inherits `memory` and a lock with it.
        std::string const again = "/proc/self/fd/" + std::to_string(memory);
        lock_ = ::open(again.c_str(), O_RDWR | O_CLOEXEC);
        if (lock_ < 0) throw Failure(again + " can't be opened: " + std::strerror(errno));
        lockReading(lock_, ::getpid());
        shared_->logging.store(o_.out.empty() ? 0 : 1);
        std::vector<std::string> words{besideMe("range-interface"), "--memory",
                                       std::to_string(memory)};
        words.insert(words.end(), o_.interface.begin(), o_.interface.end());
        std::vector<char*> arguments;
        for (auto& word : words) arguments.push_back(&word[0]);
        arguments.push_back(nullptr);
        child_ = ::fork();
        if (child_ < 0) throw Failure(std::string("can't start: ") + std::strerror(errno));
        if (child_ == 0) {
            // What it says is this one's log; lines are for who displays.
            if (o_.lines) ::dup2(STDERR_FILENO, STDOUT_FILENO);
            int const none = ::open("/dev/null", O_RDONLY);
            ::dup2(none, STDIN_FILENO);
            ::execv(arguments[0], arguments.data());
            std::cerr << "rangefed: can't start " << words[0] << ": " << std::strerror(errno)
                      << std::endl;
            ::_exit(2);
        }
        pid_ = child_;
        ::close(memory);
        ring_.reset(new range::RingReader(*shared_));
    }

    // The descriptor of the memory, of the interface's process.
    void attach() {
        pid_ = o_.attach;
        std::string const folder = "/proc/" + std::to_string(pid_) + "/fd/";
        for (int fd = 3; fd < 1024; ++fd) {
            char to[PATH_MAX];
            ssize_t const n = ::readlink((folder + std::to_string(fd)).c_str(), to, sizeof to);
            if (n < 0 || std::string(to, static_cast<std::size_t>(n)).find("memfd:range") ==
                             std::string::npos) {
                continue;
            }
            int const memory = ::open((folder + std::to_string(fd)).c_str(), O_RDWR | O_CLOEXEC);
            if (memory < 0) continue;
            lock_ = memory;
            lockReading(lock_, pid_);
            struct stat there;
            bool const whole = ::fstat(memory, &there) == 0 &&
                               there.st_size == static_cast<off_t>(sizeof(Shared)) &&
                               (::fcntl(memory, F_GET_SEALS) & F_SEAL_SHRINK) != 0;
            if (whole) shared_ = map(memory);
            if (!whole || shared_->magic != Shared::kMagic || !shared_->isSound()) {
                throw Failure("process " + std::to_string(pid_) +
                              " is of another version, or what it shares is damaged");
            }
            if (!o_.named && shared_->name[0] != 0) o_.name = shared_->name;
            if (!isName(o_.name)) {
                throw Failure("process " + std::to_string(pid_) + " says '" + o_.name +
                              "' for its name, which is none");
            }
            ring_.reset(new range::RingReader(*shared_));
            return;
        }
        throw Failure("process " + std::to_string(pid_) + " is no interface, or another user's");
    }

    bool hasEnded() {
        if (child_ > 0) return ::waitpid(child_, &status_, WNOHANG) == child_;
        // Nobody may have asked yet what became of it.
        return stateOf() == 'Z' || stateOf() == 'X';
    }
    // As proc(5) has it; X of one that is not there.
    char stateOf() const {
        std::ifstream in("/proc/" + std::to_string(pid_) + "/stat");
        std::string stat;
        std::getline(in, stat);
        auto const behind = stat.rfind(") ");
        return behind == std::string::npos ? 'X' : stat[behind + 2];
    }

    void read() {
        std::vector<range::Element> const elements = ring_->read();
        shared_->read.fetch_add(elements.size());
        shared_->overrun.fetch_add(ring_->missed() - missed_);
        bool const logging = log_ && shared_->logging.load() != 0;
        if (ring_->missed() != missed_) {
            std::uint64_t const more = ring_->missed() - missed_;
            missed_ = ring_->missed();
            std::cerr << "rangefed: overrun: " << more << " elements of the ring were missed"
                      << std::endl;
            tell({{"event", "overrun"}, {"missed", more}, {"all", missed_}});
        }
        if (logging && o_.elements) log_->keep(elements, shared_->test.load());
        if (log_) log_->drain(*shared_, logging);
        else discard();
        shared_->readTo.store(ring_->until());
        if (!o_.lines) return;
        for (auto const& element : elements) show(element);
        auto const dropped = shared_->droppedOf();
        tell({{"event", "state"},
              {"state", shared_->state.load()},
              {"interface", pid_},
              {"name", o_.name},
              {"test", shared_->test.load()},
              {"logging", logging},
              {"elements", ring_->count()},
              {"overrun", ring_->missed()},
              {"samples", shared_->put.load()},
              {"dropped", std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0})},
              {"deadlines_missed", shared_->missed.load()},
              {"deadlines_late", shared_->late.load()},
              {"lateness_max_ns", shared_->lateNsMax.load()},
              {"lines_left_out", lines_.leftOut()}});
    }
    void discard() {
        std::uint64_t const put = shared_->put.load(std::memory_order_acquire);
        shared_->taken.store(put);
        shared_->written.store(put);
    }

    void show(range::Element const& element) {
        json federates = json::array();
        for (auto const& e : element.entries) {
            if (e.handle == 0) continue;
            federates.push_back({e.handle, e.count, e.currentNs, e.deliveryNs});
        }
        tell({{"event", "element"},
              {"number", element.number},
              {"own", shared_->own.load()},
              {"at", element.atNs},
              {"federates", federates}});
    }
    void tell(json const& line, bool last = false) {
        // Words that came may be no UTF-8.
        if (o_.lines) lines_.say(line.dump(-1, ' ', false, json::error_handler_t::replace), last);
    }
    void tellEnd(json const& line) {
        tell(line, true);
        lines_.end();
    }

    // Waits until it is time to read again, and does what is asked meanwhile.
    void listen() {
        bool const words = o_.lines || o_.await;
        // Who measures tests waits for the log at their ends.
        pollfd watch{words && !closed_ ? STDIN_FILENO : -1, POLLIN, 0};
        if (::poll(&watch, 1, o_.everyMs) <= 0 || watch.revents == 0) return;
        char part[256];
        ssize_t const n = ::read(STDIN_FILENO, part, sizeof part);
        if (n <= 0) {
            closed_ = true;
            return;
        }
        in_.append(part, static_cast<std::size_t>(n));
        for (std::size_t end; (end = in_.find('\n')) != std::string::npos; in_.erase(0, end + 1)) {
            obey(in_.substr(0, end));
        }
    }
    void obey(std::string const& word) {
        if (word == "start") {
            shared_->start.store(1);
        } else if (word == "resign") {
            shared_->resign.store(1);
            resigned_ = true;
        } else if (word == "log on" || word == "log off") shared_->logging.store(word == "log on");
        else tell({{"event", "unknown"}, {"word", word}});
    }
    // It was asked to resign, and each time that it was looked at for some seconds since then it is
    // stopped, by a signal or a debugger.
    bool stands() {
        auto const now = std::chrono::steady_clock::now();
        bool const asked = stopAsked != 0 || resigned_;
        if (!asked || std::toupper(stateOf()) != 'T') ran_ = now;
        return now - ran_ > kStands;
    }
    void forward() {
        if (child_ <= 0) std::exit(0);
        ::kill(child_, stopAsked);
    }

    int conclude() {
        if (child_ <= 0) {
            tellEnd({{"event", "ended"}, {"why", "the interface has ended"}});
            return 0;
        }
        if (WIFEXITED(status_)) {
            int const code = WEXITSTATUS(status_);
            tellEnd({{"event", "ended"},
                     {"code", code},
                     {"why", shared_->error},
                     {"started_ns", shared_->startedNs.load()},
                     {"ended_ns", shared_->endedNs.load()}});
            return code;
        }
        int const signal = WTERMSIG(status_);
        std::string const why = "the interface was ended by signal " + std::to_string(signal);
        tellEnd({{"event", "ended"}, {"code", 1}, {"why", why}});
        if (stopAsked != 0) {
            std::signal(stopAsked, SIG_DFL);
            std::raise(stopAsked);
        }
        std::cerr << "rangefed: " << why << std::endl;
        return 1;
    }

    Options o_;
    Shared* shared_ = nullptr;
    int lock_ = -1;  // held until it ends
    pid_t child_ = 0, pid_ = 0;
    int status_ = 0;
    std::unique_ptr<range::RingReader> ring_;
    std::unique_ptr<range::SampleLog> log_;
    Lines lines_;
    std::uint64_t missed_ = 0;
    std::string in_;
    bool closed_ = false, ended_ = false, resigned_ = false;
    std::chrono::steady_clock::time_point ran_ = std::chrono::steady_clock::now();
};

}  // namespace

int main(int argc, char** argv) {
    std::signal(SIGTERM, askStop);
    std::signal(SIGINT, askStop);
    std::signal(SIGPIPE, SIG_IGN);
    try {
        return Reader(parse(argc, argv)).run();
    } catch (std::exception const& e) {
        std::cerr << "rangefed: " << e.what() << std::endl;
        return 2;
    }
}
