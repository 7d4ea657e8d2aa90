#include "bridge.hpp"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdlib>

#include "flows.hpp"
#include "pbom.hpp"
#include "socket.hpp"

namespace ec1 {

Side Side::parse(std::string const& text) {
    auto const comma = text.find(',');
    if (comma == std::string::npos || comma == 0) {
        throw bench::UsageError("'" + text + "' is not ADAPTER,SETTINGS");
    }
    return {text.substr(0, comma), text.substr(comma + 1)};
}

MeetingPlace::MeetingPlace(std::string const& address) {
    char path[PATH_MAX];
    ssize_t const length = ::readlink("/proc/self/exe", path, sizeof path);
    std::string const program(path, length > 0 ? static_cast<std::size_t>(length) : 0);
    std::string const meet = program.substr(0, program.rfind('/') + 1) + "bench-meet";
    process_ = ::fork();
    if (process_ < 0) throw bench::EndpointError("bench-meet can't be started");
    if (process_ > 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::execl(meet.c_str(), meet.c_str(), address.c_str(), nullptr);
    ::_exit(127);
}

MeetingPlace::~MeetingPlace() {
    if (process_ <= 0) return;
    ::kill(process_, SIGTERM);
    ::waitpid(process_, nullptr, 0);
}

void connectPatiently(bench::Endpoint& endpoint, std::string const& settings, double seconds) {
    std::uint64_t const start = nowNs();
    for (;;) {
        try {
            return endpoint.connect(settings, bench::Callbacks::evoked);
        } catch (bench::EndpointUnreachable const&) {
            if (static_cast<double>(nowNs() - start) * 1e-9 > seconds) throw;
            timespec const pause = {0, 20000000};
            ::nanosleep(&pause, nullptr);
        }
    }
}

// ---- one direction

void Bridge::Lane::declare(bench::TopicId fromTopic, bench::TopicId toTopic) {
    used_ = true;
    fromTopic_ = fromTopic;
    toTopic_ = toTopic;
    from_.subscribe(fromTopic, 1);
    to_.publish(toTopic, 1);
    from_.deliverTo(this);
}

void Bridge::Lane::registerItems(Test const& test, std::set<std::size_t> const& publishers) {
    items_.clear();
    for (std::size_t const publisher : publishers) {
        if (items_.size() <= publisher) items_.resize(publisher + 1);
        for (std::size_t e = 0; e < test.entities; ++e) {
            items_[publisher].push_back(to_.addItem(toTopic_, 1, kHeaderBytes + test.payload));
        }
    }
}

void Bridge::Lane::withdraw() {
    if (used_) from_.deliverTo(nullptr);
    used_ = false;
    items_.clear();
}

void Bridge::Lane::arrived(bench::Arrival const& arrival) {
    if (arrival.topic != fromTopic_ || arrival.bytes < kHeaderBytes) return;
    Pbom const pbom = Pbom::read(arrival.data + 8);
    if (pbom.publisher() >= items_.size()) return;
    auto const& items = items_[pbom.publisher()];
    if (pbom.entity() >= items.size()) return;
    std::size_t const item = items[pbom.entity()];
    to_.fill(item, arrival.data + 8, static_cast<std::size_t>(arrival.bytes) - 8);
    to_.send(item, arrival.stamp);
}

// ---- both

void Bridge::declare(Test const& test, std::set<std::string> const& theirs,
                     bench::TopicId hereTopic, bench::TopicId thereTopic) {
    test_ = test;
    here_.clear();
    away_.clear();
    std::vector<std::string> publishers;
    for (auto const& pair : test.pairs) {
        auto at = std::find(publishers.begin(), publishers.end(), pair.first);
        if (at == publishers.end()) at = publishers.insert(at, pair.first);
        bool const away = theirs.count(pair.first) != 0;
        if (away == (theirs.count(pair.second) != 0)) continue;
        (away ? away_ : here_).insert(static_cast<std::size_t>(at - publishers.begin()));
    }
    if (!away_.empty()) back_.declare(thereTopic, hereTopic);
    if (!here_.empty()) forth_.declare(hereTopic, thereTopic);
}

void Bridge::registerItems() {
    if (back_.used()) back_.registerItems(test_, away_);
    if (forth_.used()) forth_.registerItems(test_, here_);
}

void Bridge::withdraw() {
    back_.withdraw();
    forth_.withdraw();
    there_->withdraw();
}

}  // namespace ec1
