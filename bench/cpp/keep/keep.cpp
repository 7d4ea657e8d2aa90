// bench-keep: starts, watches and ends processes on a host for a manager elsewhere. Who conducts
// says what to do at its standard input, a JSON object per line, and hears of it at its standard
// output; when the input ends (the connection was lost, the manager died) everything ends, and
// services that were stopped run again, if no other run wants them quiet. Between requests it
// sleeps.
//
//   {"do": "start", "name":, "command": [], "env": {}, "cwd":, "log":, "cpus": []}
//   {"do": "end", "hurry":}            ends all; "ended": who had to be; "left": what stays
//   {"do": "quiet", "services": []}    stops these services until the end
//   {"do": "look", "s":}, {"do": "clock"}, {"do": "listens", "name":, "port":}, {"do": "stopped"}
//
// Each has one answer, in order; {"error":} is one, too. Unasked comes {"gone": NAME, "code":} when
// a process has ended (code below 0: by that signal). First it says {"directory":} (which is
// removed in the end), and what it cleaned of what dead keepers left ("cleaned").
#include <fcntl.h>
#include <ftw.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <map>
#include <set>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "host.hpp"
#include "services.hpp"

namespace {

using bench::Json;
using Clock = std::chrono::steady_clock;

char const kRun[] = "BENCH_RUN_ID";        // of a process: KEEPER:START:SPACE:RUN
char const kKeptFor[] = "BENCH_KEPT_FOR";  // of a keeper: the run
std::size_t const kLineMax = 1 << 20;
auto const kGrace = std::chrono::seconds(3);

void removeTree(std::string const& directory) {
    ::nftw(
        directory.c_str(),
        [](char const* path, struct stat const*, int, FTW*) { return ::remove(path); }, 16,
        FTW_DEPTH | FTW_PHYS);
}

class Keeper {
public:
    Keeper(std::string run, std::string const& former) : run_(std::move(run)) {
        // What a process leaves running becomes a child of this one.
        ::prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
        std::signal(SIGPIPE, SIG_IGN);
        sigset_t watched;
        sigemptyset(&watched);
        for (int const number : {SIGCHLD, SIGTERM, SIGHUP, SIGINT}) sigaddset(&watched, number);
        ::sigprocmask(SIG_BLOCK, &watched, &before_);
        signals_ = ::signalfd(-1, &watched, SFD_CLOEXEC | SFD_NONBLOCK);
        std::string const start = bench::startOf(::getpid()), space = bench::pidSpace();
        me_ = std::to_string(::getpid()) + ":" + start + ":" + space + ":" + run_;
        if (!former.empty()) endKeeperOf(former);
        clean();
        directory_ = bench::temporary() + "/" + bench::kPrefix + std::to_string(::getpid()) + "-" +
                     start + "-" + space + "-XXXXXX";
        if (::mkdtemp(&directory_[0]) == nullptr) {
            throw std::runtime_error("can't make " + directory_ + ": " + std::strerror(errno));
        }
        say({{"directory", directory_}, {"cleaned", cleaned_}});
    }
    ~Keeper() {
        endAll(true);
        bench::startServices(directory_);
        removeTree(directory_);
    }
    Keeper(Keeper const&) = delete;
    Keeper& operator=(Keeper const&) = delete;

    // Until the input ends, or a signal asks for the end.
    void run() {
        for (;;) {
            pollfd watch[] = {{0, POLLIN, 0}, {signals_, POLLIN, 0}};
            if (::poll(watch, 2, -1) < 0 && errno != EINTR) return;
            if (watch[1].revents != 0) reap();
            if (endAsked_ || (watch[0].revents != 0 && !hear())) return;
        }
    }

private:
    // False: the input has ended, or is none of ours.
    bool hear() {
        char buffer[65536];
        ssize_t const n = ::read(0, buffer, sizeof buffer);
        if (n <= 0) return n < 0 && errno == EINTR;
        in_.append(buffer, static_cast<std::size_t>(n));
        for (std::size_t end; (end = in_.find('\n')) != std::string::npos; in_.erase(0, end + 1)) {
            Json const asked = Json::parse(in_.substr(0, end), nullptr, false);
            try {
                say(answer(asked));
            } catch (std::exception const& e) {
                say({{"error", e.what()}});
            }
        }
        return in_.size() < kLineMax;
    }

    static void say(Json const& line) {
        std::string const text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
        for (std::size_t done = 0; done < text.size();) {
            ssize_t const n = ::write(1, text.data() + done, text.size() - done);
            if (n < 0 && errno == EINTR) continue;
            if (n < 0) return;  // nobody hears it: the input has ended, too
            done += static_cast<std::size_t>(n);
        }
    }

    Json answer(Json const& asked) {
        std::string const what = asked.at("do");
        if (what == "start") return start(asked);
        if (what == "end") {
            auto const ended = endAll(asked.at("hurry"));
            return {{"ended", ended}, {"left", left()}};
        }
        if (what == "quiet") return quiet(asked.at("services"));
        if (what == "look") return bench::lookAround(asked.at("s"), directory_);
        if (what == "stopped") return {{"stopped", stopped()}};
        if (what == "listens") {
            auto const found = running_.find(asked.at("name").get<std::string>());
            return {{"listens",
                     found != running_.end() && bench::listens(found->second, asked.at("port"))}};
        }
        if (what == "clock") {
            auto const now = std::chrono::system_clock::now().time_since_epoch();
            return {{"ns", std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()}};
        }
        throw std::runtime_error("nobody can do '" + what + "'");
    }

    Json start(Json const& asked) {
        std::string const name = asked.at("name"), log = asked.at("log"), cwd = asked.at("cwd");
        auto const command = asked.at("command").get<std::vector<std::string>>();
        auto env = asked.at("env").get<std::map<std::string, std::string>>();
        for (char const* kept : {"PATH", "HOME", "USER", "LANG", "TMPDIR"}) {
            char const* const value = std::getenv(kept);
            if (value != nullptr) env.emplace(kept, value);
        }
        env[kRun] = me_;
        // Everything that takes memory is done before the fork.
        std::vector<std::string> variables;
        for (auto const& one : env) variables.push_back(one.first + "=" + one.second);
        std::vector<char*> arguments, environment;
        for (auto const& one : command) arguments.push_back(const_cast<char*>(one.c_str()));
        for (auto const& one : variables) environment.push_back(const_cast<char*>(one.c_str()));
        arguments.push_back(nullptr);
        environment.push_back(nullptr);
        cpu_set_t cpus;
        CPU_ZERO(&cpus);
        for (int const cpu : asked.at("cpus").get<std::vector<int>>()) CPU_SET(cpu, &cpus);
        if (running_.count(name) != 0) throw std::runtime_error("'" + name + "' is running");
        int failure[2];
        if (::pipe2(failure, O_CLOEXEC) != 0) throw std::runtime_error(std::strerror(errno));
        pid_t const keeper = ::getpid(), child = ::fork();
        if (child == 0) {
            begin(arguments.data(), environment.data(), cwd.c_str(), log.c_str(), cpus, keeper);
            int const why = errno;
            ssize_t const told = ::write(failure[1], &why, sizeof why);
            ::_exit(told < 0 ? 126 : 127);
        }
        ::close(failure[1]);
        int why = 0;
        if (child > 0 && ::read(failure[0], &why, sizeof why) <= 0) why = 0;
        ::close(failure[0]);
        if (child < 0) throw std::runtime_error(std::strerror(errno));
        if (why != 0) {
            ::waitpid(child, nullptr, 0);
            throw std::runtime_error(std::string(std::strerror(why)));
        }
        running_[name] = child;
        return {{"started", child}};
    }

    // In the new process; returns if something fails.
    void begin(char** command, char** env, char const* cwd, char const* log, cpu_set_t const& cpus,
               pid_t keeper) const {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
        if (::getppid() != keeper) ::_exit(127);  // it died before that
        ::setsid();
        ::sigprocmask(SIG_SETMASK, &before_, nullptr);
        std::signal(SIGPIPE, SIG_DFL);
        int const none = ::open("/dev/null", O_RDONLY);
        int const out = ::open(log, O_WRONLY | O_CREAT | O_APPEND, 0600);
        if (none < 0 || out < 0 || ::chdir(cwd) != 0) return;
        if (CPU_COUNT(&cpus) > 0 && ::sched_setaffinity(0, sizeof cpus, &cpus) != 0) return;
        ::dup2(none, 0);
        ::dup2(out, 1);
        ::dup2(out, 2);
        ::execvpe(command[0], command, env);
    }

    // Says who has ended.
    void reap() {
        signalfd_siginfo one;
        while (::read(signals_, &one, sizeof one) == sizeof one) {
            endAsked_ |= one.ssi_signo != SIGCHLD;
        }
        int status = 0;
        for (pid_t pid; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
            for (auto at = running_.begin(); at != running_.end(); ++at) {
                if (at->second != pid) continue;
                int const code = WIFSIGNALED(status) ? -WTERMSIG(status) : WEXITSTATUS(status);
                say({{"gone", at->first}, {"code", code}});
                running_.erase(at);
                break;
            }
        }
    }

    // Ends what runs, gently first, then what that left running.
    std::vector<std::string> endAll(bool hurry) {
        std::vector<std::string> had;
        for (auto const& one : running_) had.push_back(one.first);
        auto const groups = [&](std::vector<int> const& numbers) {
            for (auto const& one : running_) {
                for (int const number : numbers) ::kill(-one.second, number);
            }
            wait([&] { return running_.empty(); });
        };
        // What is stopped acts on SIGTERM only when it continues.
        if (!running_.empty()) groups({SIGTERM, SIGCONT});
        if (!running_.empty()) groups({SIGKILL});
        std::vector<std::vector<int>> stages = {{SIGTERM, SIGCONT}, {SIGKILL}};
        if (!hurry) stages.insert(stages.begin(), std::vector<int>{});
        for (auto const& numbers : stages) {
            // Who ends may leave others behind, which are children of this one then.
            std::set<int> asked;
            wait([&] {
                auto const there = bench::childrenOf(::getpid());
                for (int const pid : there) {
                    if (!asked.insert(pid).second) continue;
                    for (int const number : numbers) ::kill(pid, number);
                }
                return there.empty();
            });
        }
        return had;
    }
    // What could not be ended, in words.
    static std::vector<std::string> left() {
        std::vector<std::string> found;
        for (int const pid : bench::childrenOf(::getpid())) {
            std::string const number = std::to_string(pid);
            found.push_back("process " + number + " ('" +
                            bench::textOf("/proc/" + number + "/comm") + "')");
        }
        return found;
    }
    template <typename Done>
    void wait(Done const& done) {
        auto const until = Clock::now() + kGrace;
        for (; !done() && Clock::now() < until; reap()) {
            pollfd watch = {signals_, POLLIN, 0};
            ::poll(&watch, 1, 50);
        }
    }

    // The first process that was stopped, by its name or its own; "" if none was.
    std::string stopped() const {
        for (auto const& one : running_) {
            auto const stat = bench::statOf(one.second);
            if (!stat.empty() && stat[0] == "T") return one.first;
        }
        return "";
    }

    // ---- services

    Json quiet(std::vector<std::string> const& names) {
        for (auto const& name : names) {
            if (std::find(quiet_.begin(), quiet_.end(), name) != quiet_.end()) continue;
            if (bench::stopService(name, directory_)) quiet_.push_back(name);
        }
        return {{"quiet", quiet_}};
    }

    // ---- what dead keepers left

    void endKeeperOf(std::string const& run) {
        for (int const pid : bench::everyProcess()) {
            if (pid == ::getpid() || bench::variableOf(pid, kKeptFor) != run) continue;
            ::kill(pid, SIGTERM);
            // It ends its processes first.
            for (auto const until = Clock::now() + 6 * kGrace;
                 !bench::startOf(pid).empty() && Clock::now() < until;) {
                std::this_thread::sleep_for(std::chrono::milliseconds(20));
            }
            cleaned_.push_back("ended keeper " + std::to_string(pid));
        }
    }
    // This process and all above it: they may have been told a dead keeper's id.
    static std::set<int> ownLine() {
        std::set<int> line;
        for (int pid = ::getpid(); pid > 0 && line.insert(pid).second;) {
            auto const stat = bench::statOf(pid);
            pid = stat.size() > 1 ? std::atoi(stat[1].c_str()) : 0;
        }
        return line;
    }
    void clean() {
        auto const own = ownLine();
        for (int const number : {SIGTERM, SIGKILL}) {
            std::vector<std::pair<int, std::string>> found;
            for (int const pid : bench::everyProcess()) {
                std::string const id = bench::variableOf(pid, kRun);
                if (own.count(pid) == 0 && !id.empty() && !bench::alive(id, ':') &&
                    !bench::startOf(pid).empty()) {
                    found.emplace_back(pid, bench::startOf(pid));
                }
            }
            for (auto const& one : found) {
                ::kill(one.first, number);
                if (number != SIGTERM) continue;
                ::kill(one.first, SIGCONT);
                cleaned_.push_back("ended process " + std::to_string(one.first));
            }
            wait([&] {
                return std::none_of(found.begin(), found.end(),
                                    [](std::pair<int, std::string> const& one) {
                                        return bench::startOf(one.first) == one.second;
                                    });
            });
        }
        std::string const base = bench::temporary();
        for (auto const& name : bench::namesIn(base)) {
            std::string const path = base + "/" + name;
            if (!bench::isKeepers(path) || bench::aliveOf(path) ||
                // Of a manager, that has hosts to clean before.
                ::access((path + "/hosts.json").c_str(), F_OK) == 0) {
                continue;
            }
            for (auto const& said : bench::startServices(path)) cleaned_.push_back(said);
            removeTree(path);
            cleaned_.push_back("removed " + path);
        }
    }

    std::string const run_;
    std::string me_, directory_, in_;
    sigset_t before_{};
    int signals_ = -1;
    bool endAsked_ = false;
    std::map<std::string, pid_t> running_;
    std::vector<std::string> quiet_, cleaned_;
};

}  // namespace

int main(int argc, char** argv) {
    CLI::App app{
        "Keeps processes of a benchmark on a host, as long as its standard input is open."};
    std::string run, former;
    app.add_option("--run", run, "the run's id");
    app.add_option("--end", former, "first end the keeper of that run");
    CLI11_PARSE(app, argc, argv);
    try {
        Keeper(run, former).run();
        return 0;
    } catch (std::exception const& e) {
        std::fprintf(stderr, "bench-keep: %s\n", e.what());
        return 1;
    }
}
