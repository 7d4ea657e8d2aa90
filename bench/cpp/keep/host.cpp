#include "host.hpp"

#include <dirent.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <sstream>

namespace bench {

namespace {

double const kBusy = 0.02;  // of a CPU

std::string procOf(int pid, char const* file) {
    return "/proc/" + std::to_string(pid) + "/" + file;
}

// A process and all below it.
std::set<int> familyOf(int pid) {
    std::map<int, int> parents;
    for (int const one : everyProcess()) {
        auto const stat = statOf(one);
        if (stat.size() > 1) parents[one] = std::atoi(stat[1].c_str());
    }
    std::set<int> found = {pid};
    for (bool more = true; more;) {
        more = false;
        for (auto const& one : parents) {
            if (found.count(one.second) != 0) more |= found.insert(one.first).second;
        }
    }
    return found;
}

// CPU time of every process in clock ticks.
std::map<int, long> ticks() {
    std::map<int, long> out;
    for (int const pid : everyProcess()) {
        auto const stat = statOf(pid);
        if (stat.size() > 12) out[pid] = std::atol(stat[11].c_str()) + std::atol(stat[12].c_str());
    }
    return out;
}

}  // namespace

std::string temporary() {
    char const* const given = std::getenv("TMPDIR");
    return given == nullptr || *given == 0 ? "/tmp" : given;
}

bool isKeepers(std::string const& path) {
    struct stat found {};
    return path.compare(path.rfind('/') + 1, sizeof kPrefix - 1, kPrefix) == 0 &&
           ::lstat(path.c_str(), &found) == 0 && S_ISDIR(found.st_mode) &&
           found.st_uid == ::getuid();
}

bool alive(std::string const& id, char between) {
    std::istringstream from(id);
    std::string pid, start, space;
    std::getline(from, pid, between) && std::getline(from, start, between) &&
        std::getline(from, space, between);
    return space != pidSpace() || startOf(std::atoi(pid.c_str())) == start;
}

bool aliveOf(std::string const& directory) {
    return alive(directory.substr(directory.rfind('/') + sizeof kPrefix), '-');
}

std::vector<std::string> namesIn(std::string const& directory) {
    std::vector<std::string> out;
    std::unique_ptr<DIR, int (*)(DIR*)> const open(::opendir(directory.c_str()), ::closedir);
    while (dirent* const entry = open ? ::readdir(open.get()) : nullptr) {
        if (entry->d_name[0] != '.') out.push_back(entry->d_name);
    }
    return out;
}

std::string textOf(std::string const& path) {
    std::ifstream in(path, std::ios::binary);
    std::ostringstream all;
    // Of a process that ends meanwhile nothing can be read: then that is a bad stream, no
    // exception.
    all << in.rdbuf();
    std::string text = all.str();
    if (!text.empty() && text.back() == '\n') text.pop_back();
    return text;
}

std::vector<std::string> statOf(int pid) {
    std::string const text = textOf(procOf(pid, "stat"));
    auto const name = text.rfind(')');
    if (name == std::string::npos) return {};
    std::istringstream in(text.substr(name + 1));
    return {std::istream_iterator<std::string>(in), {}};
}

std::string startOf(int pid) {
    auto const stat = statOf(pid);
    return stat.size() > 19 && stat[0] != "Z" && stat[0] != "X" ? stat[19] : "";
}

std::string pidSpace() {
    char said[64];
    ssize_t const n = ::readlink("/proc/self/ns/pid", said, sizeof said);  // pid:[4026531836]
    std::string number;
    for (ssize_t i = 0; i < n; ++i) {
        if (said[i] >= '0' && said[i] <= '9') number += said[i];
    }
    return number;
}

std::vector<int> everyProcess() {
    std::vector<int> out;
    for (auto const& name : namesIn("/proc")) {
        if (std::isdigit(static_cast<unsigned char>(name[0])))
            out.push_back(std::atoi(name.c_str()));
    }
    return out;
}

std::vector<int> childrenOf(int pid) {
    std::vector<int> out;
    std::string const me = std::to_string(pid);
    for (int const one : everyProcess()) {
        auto const stat = statOf(one);
        if (stat.size() > 1 && stat[1] == me) out.push_back(one);
    }
    return out;
}

std::string variableOf(int pid, std::string const& name) {
    std::istringstream in(textOf(procOf(pid, "environ")));
    for (std::string one; std::getline(in, one, '\0');) {
        if (one.compare(0, name.size() + 1, name + "=") == 0) return one.substr(name.size() + 1);
    }
    return "";
}

bool listens(int pid, int port) {
    std::set<std::string> sockets;
    for (char const* table : {"net/tcp", "net/tcp6"}) {
        std::istringstream in(textOf(procOf(pid, table)));
        std::string line;
        std::getline(in, line);
        while (std::getline(in, line)) {
            std::istringstream fields(line);
            std::vector<std::string> const f{std::istream_iterator<std::string>(fields), {}};
            if (f.size() < 10 || f[3] != "0A") continue;
            long const at = std::strtol(f[1].c_str() + f[1].rfind(':') + 1, nullptr, 16);
            if (at == port) sockets.insert("socket:[" + f[9] + "]");
        }
    }
    for (int const one : familyOf(pid)) {
        std::string const directory = procOf(one, "fd");
        for (auto const& fd : namesIn(directory)) {
            char to[64];
            ssize_t const n = ::readlink((directory + "/" + fd).c_str(), to, sizeof to);
            if (n > 0 && sockets.count(std::string(to, static_cast<std::size_t>(n))) != 0) {
                return true;
            }
        }
    }
    return false;
}

Json lookAround(double seconds, std::string const& directory) {
    auto const before = ticks();
    timespec const pause = {static_cast<time_t>(seconds),
                            static_cast<long>((seconds - static_cast<time_t>(seconds)) * 1e9)};
    ::nanosleep(&pause, nullptr);
    double const all = seconds * static_cast<double>(::sysconf(_SC_CLK_TCK));
    Json busy = Json::array();
    for (auto const& now : ticks()) {
        auto const was = before.find(now.first);
        double const share =
            static_cast<double>(now.second - (was == before.end() ? 0 : was->second)) / all;
        if (was == before.end() || share <= kBusy || now.first == ::getpid()) continue;
        busy.push_back(
            {{"pid", now.first}, {"name", textOf(procOf(now.first, "comm"))}, {"cpu", share}});
    }
    utsname system{};
    ::uname(&system);
    struct statvfs disk {};
    ::statvfs(directory.c_str(), &disk);
    std::string model;
    std::istringstream cpus(textOf("/proc/cpuinfo"));
    for (std::string line; model.empty() && std::getline(cpus, line);) {
        if (line.compare(0, 10, "model name") == 0) model = line.substr(line.find(':') + 2);
    }
    cpu_set_t usable;
    CPU_ZERO(&usable);
    ::sched_getaffinity(0, sizeof usable, &usable);
    std::string const governor = textOf("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
    std::istringstream load(textOf("/proc/loadavg"));
    double minute = 0;
    load >> minute;
    return {{"host", system.nodename},
            {"kernel", system.release},
            {"kernel_build", system.version},
            {"preempt", textOf("/sys/kernel/debug/sched/preempt")},
            {"begun", textOf("/proc/cmdline")},
            {"cpu", model.empty() ? system.machine : model},
            {"cpus", CPU_COUNT(&usable)},
            {"governor", governor.empty() ? "unknown" : governor},
            {"clock_source",
             textOf("/sys/devices/system/clocksource/clocksource0/current_clocksource")},
            {"load", minute},
            {"memory_bytes", static_cast<double>(::sysconf(_SC_PHYS_PAGES)) *
                                 static_cast<double>(::sysconf(_SC_PAGE_SIZE))},
            {"disk_free_bytes",
             static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize)},
            {"busy", busy}};
}

}  // namespace bench
