#include "flows.hpp"

#include <sys/resource.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "kernel_time.hpp"
#include "pbom.hpp"

namespace ec1 {

namespace {

// So many records wait for the disk, at most: 24 MB.
std::uint64_t const kRoom = 1u << 20;
// A publisher looks so often for what others say, ns.
std::uint64_t const kLookNs = 20000000;
// Of a publisher's clock so many echoes are wanted in a sample, and no fewer or more in a second. A
// sample that is over earlier waits for half of them, for a second at most.
double const kEchoes = 24, kEchoHzMin = 10, kEchoHzMax = 200, kEchoesS = 1;
std::size_t const kEchoBytes = 64;
// So many updates that are due are sent before it is looked at the clock again.
int const kAtOnce = 16;

// Busy and all jiffies of each CPU of this host.
std::vector<std::pair<double, double>> cpuTimes() {
    std::vector<std::pair<double, double>> found;
    std::ifstream in("/proc/stat");
    for (std::string line; std::getline(in, line) && line.compare(0, 3, "cpu") == 0;) {
        if (line[3] == ' ') continue;
        std::istringstream words(line);
        std::string name;
        words >> name;
        double all = 0, idle = 0, value = 0;
        for (int i = 0; i < 8 && words >> value; ++i) {
            all += value;
            if (i == 3 || i == 4) idle += value;
        }
        found.emplace_back(all - idle, all);
    }
    return found;
}

// The share that the busiest CPU was busy since then.
double busiest(std::vector<std::pair<double, double>> const& before) {
    auto const after = cpuTimes();
    double most = 0;
    for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
        double const all = after[i].second - before[i].second;
        if (all > 0) most = std::max(most, (after[i].first - before[i].first) / all);
    }
    return most;
}

}  // namespace

std::uint64_t nowNs() { return bench::readNs(CLOCK_MONOTONIC); }

double cpuSeconds() {
    rusage used;
    ::getrusage(RUSAGE_SELF, &used);
    auto const seconds = [](timeval const& t) {
        return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6;
    };
    return seconds(used.ru_utime) + seconds(used.ru_stime);
}

std::uint64_t ipFragments() {
    // Two lines begin with "Ip:": names, and values in the same order.
    std::ifstream in("/proc/self/net/snmp");
    std::string names, values;
    while (std::getline(in, names) && names.compare(0, 3, "Ip:") != 0) {
    }
    std::getline(in, values);
    std::istringstream name(names), value(values);
    for (std::string n, v; name >> n && value >> v;) {
        if (n == "FragCreates") return std::strtoull(v.c_str(), nullptr, 10);
    }
    return 0;
}

std::string className(bool reliable, bool conflate) {
    return std::string(reliable ? "PBOMreliable" : "PBOMbestEffort") + (conflate ? "Latest" : "");
}

Flows::Flows(bench::Endpoint& endpoint, Test const& test, bench::TopicId topic,
             std::string const& me, std::string const& directory, bench::StationClock const& clock,
             bench::Echo* echo)
    : endpoint_(endpoint),
      clock_(clock),
      echo_(test.echo ? echo : nullptr),
      test_(test),
      topic_(topic),
      me_(me),
      directory_(directory),
      byRti_(test.bundling) {
    for (auto const& pair : test_.pairs) {
        auto found = std::find(publishers_.begin(), publishers_.end(), pair.first);
        if (found == publishers_.end()) found = publishers_.insert(found, pair.first);
        auto const number = static_cast<std::size_t>(found - publishers_.begin());
        flowOf_.resize(publishers_.size(), -1);
        if (pair.first == me_) mine_ = static_cast<int>(number);
        if (pair.second != me_) continue;
        flowOf_[number] = static_cast<int>(from_.size());
        from_.emplace_back();
        from_.back().publisher = pair.first;
    }
}

std::string Flows::file(char const* what, char const* kind) const {
    return directory_ + "/" + what + "_test" + std::to_string(test_.number) + "_" +
           std::to_string(sample_) + "_" + me_ + kind;
}

void Flows::declare() {
    if (publishes()) endpoint_.publish(topic_, 1);
    if (subscribes()) endpoint_.subscribe(topic_, 1);
    if (publishes() || subscribes()) endpoint_.deliverTo(this);
}

void Flows::registerItems() {
    if (!publishes()) return;
    for (std::size_t e = 0; e < test_.entities; ++e) {
        items_.push_back(endpoint_.addItem(topic_, 1, kHeaderBytes + test_.payload));
    }
}

void Flows::probe() {
    if (publishes()) sendOne(0, 0);
    endpoint_.flush();
}

std::string Flows::missing() const {
    for (auto const& flow : from_) {
        if (!flow.heard) return "no update of '" + flow.publisher + "' has come";
    }
    std::size_t const expected = from_.size() * test_.entities;
    if (discovered_ < expected) {
        return std::to_string(discovered_) + " of " + std::to_string(expected) +
               " instances were discovered";
    }
    return "";
}

// ---- publishing

void Flows::begin(int sample, std::uint32_t tag) {
    tag_ = tag;
    sample_ = sample;
    sentCount_ = lateSends_ = unsent_ = firstStampNs_ = lastStampNs_ = 0;
    for (auto& flow : from_) {
        std::string const publisher = flow.publisher;
        bool const heard = flow.heard;
        flow = Flow();
        flow.publisher = publisher;
        flow.heard = heard;
        flow.seen.assign(test_.entities * test_.updatesEach(), false);
        flow.newest.assign(test_.entities, 0);
    }
    if (subscribes() && !directory_.empty()) {
        log_.reset();
        log_.reset(new bench::RecordLog<Record>(file("flow", ".raw"), kRoom));
    }
    lostBefore_ = endpoint_.statistics().lost;
    fragmentsBefore_ = ipFragments();
    cpuBefore_ = cpuSeconds();
    pingPublishers();
    beganNs_ = heardNs_ = nowNs();
}

void Flows::pingPublishers() {
    if (echo_ == nullptr || !subscribes()) return;
    std::vector<std::pair<std::uint32_t, std::string>> partners;
    for (std::size_t p = 0; p < flowOf_.size(); ++p) {
        auto const at = test_.echoes.find(publishers_[p]);
        // Of whom no echo is known nothing is told: then that is said of its times.
        if (flowOf_[p] >= 0 && at != test_.echoes.end() && !at->second.empty()) {
            partners.emplace_back(static_cast<std::uint32_t>(p), at->second);
        }
    }
    double const lasts = static_cast<double>(test_.updatesEach()) * test_.period();
    double const each = std::min(std::max(kEchoes / lasts, kEchoHzMin), kEchoHzMax);
    pinged_ = partners.size();
    echo_->ping(partners, kEchoBytes, each * static_cast<double>(pinged_));
}

bool Flows::compared() const {
    if (echo_ == nullptr || !subscribes()) return true;
    bool const enough =
        static_cast<double>(echo_->came()) >= kEchoes / 2 * static_cast<double>(pinged_);
    return enough || static_cast<double>(nowNs() - beganNs_) * 1e-9 > kEchoesS;
}

void Flows::keepPings() {
    if (echo_ == nullptr || !subscribes()) return;
    std::vector<bench::Ping> const pings = echo_->stop();
    if (directory_.empty()) return;
    std::string const name = file("pings", ".raw");
    std::ofstream raw(name, std::ios::binary);
    raw.write(reinterpret_cast<char const*>(pings.data()),
              static_cast<std::streamsize>(pings.size() * sizeof(bench::Ping)));
    raw.close();
    if (!raw) throw std::runtime_error("'" + name + "' can't be written");
}

void Flows::sendOne(std::uint64_t index, std::uint32_t tag) {
    std::size_t const entity = index % test_.entities;
    Pbom const pbom = {Pbom::identityOf(static_cast<std::size_t>(mine_), entity),
                       static_cast<std::uint32_t>(index / test_.entities + 1), tag};
    unsigned char behind[12];
    pbom.write(behind);
    endpoint_.fill(items_[entity], behind, sizeof behind);
    lastStampNs_ = clock_.nowNs();
    if (index == 0) firstStampNs_ = lastStampNs_;
    endpoint_.send(items_[entity], lastStampNs_);
}

void Flows::send(std::function<void()> const& between) {
    std::uint64_t const each = test_.updatesEach(), total = each * test_.entities;
    double const period = test_.period() * 1e9;
    double const cpuBefore = cpuSeconds();
    hostBefore_ = cpuTimes();
    std::uint64_t const start = nowNs();
    auto const due = [&](std::uint64_t index) {
        double const turn = static_cast<double>(index / test_.entities);
        double const share = test_.spread ? static_cast<double>(index % test_.entities) /
                                                static_cast<double>(test_.entities)
                                          : 0;
        return start + static_cast<std::uint64_t>((turn + share) * period);
    };
    // Who is behind catches up, until the time is over; what is not sent then is not sent.
    std::uint64_t const over =
        start + static_cast<std::uint64_t>((static_cast<double>(each) + 1) * period);
    std::uint64_t lookedNs = start, next = 0;
    auto const look = [&] {
        lookedNs = nowNs();
        endpoint_.tick(0, 0);
        between();
    };
    // Who looks ends a bundle that waits for more: where the RTI bundles that is seldom, and just
    // before more is sent, when what was sent before has waited for as long as it would.
    std::uint64_t const lookNs = byRti_ ? 5 * kLookNs : kLookNs;
    std::uint64_t const latestNs = byRti_ ? 10 * lookNs : lookNs;
    while (next < total) {
        std::uint64_t now = nowNs();
        if (now > over && test_.updates == 0) break;
        bool const some = due(next) <= now;
        if (some && byRti_ && now - lookedNs > lookNs) look();
        for (int i = 0; i < kAtOnce && next < total && due(next) <= now; ++i, ++next) {
            if (now - due(next) > static_cast<std::uint64_t>(period)) ++lateSends_;
            sendOne(next, tag_);
        }
        if (some && !byRti_) endpoint_.flush();
        if (nowNs() - lookedNs > latestNs) look();
        if (next < total && due(next) > nowNs()) {
            bench::sleepUntil(std::min(due(next), lookedNs + latestNs + 1000000));
        }
    }
    endpoint_.flush();
    double const wall = static_cast<double>(nowNs() - start) * 1e-9;
    sendCpu_ = (cpuSeconds() - cpuBefore) / wall;
    busy_ = busiest(hostBefore_);
    fragments_ = ipFragments() - fragmentsBefore_;
    sentCount_ = next;
    unsent_ = total - next;
}

Json Flows::sent() const {
    // From the first to the last: nobody waits for another there.
    double const took = static_cast<double>(lastStampNs_ - firstStampNs_) * 1e-9;
    return {{"sent", sentCount_}, {"unsent", unsent_}, {"late_sends", lateSends_}, {"send_s", took},
            {"cpu", sendCpu_},    {"cpu_busy", busy_}, {"fragments", fragments_}};
}

// ---- subscribing

void Flows::othersSend() { hostBefore_ = cpuTimes(); }

void Flows::othersHaveSent() {
    if (!publishes()) busy_ = busiest(hostBefore_);
}

void Flows::arrived(bench::Arrival const& arrival) {
    std::uint64_t const now = clock_.nowNs();
    if (arrival.topic != topic_ || arrival.data == nullptr || arrival.bytes < kHeaderBytes) return;
    Pbom const pbom = Pbom::read(arrival.data + 8);
    if (pbom.publisher() >= flowOf_.size() || flowOf_[pbom.publisher()] < 0) return;
    Flow& flow = from_[static_cast<std::size_t>(flowOf_[pbom.publisher()])];
    if (pbom.test == 0) {
        flow.heard = true;
        return;
    }
    if (pbom.test != tag_) {
        ++flow.late;
        return;
    }
    heardNs_ = clock_.right() ? now : nowNs();
    bool const right = arrival.bytes == kHeaderBytes + test_.payload &&
                       pbom.entity() < test_.entities && pbom.sequence >= 1 &&
                       pbom.sequence <= test_.updatesEach();
    if (!right) {
        ++flow.wrong;
        return;
    }
    count(flow, pbom.publisher(), pbom.entity(), pbom.sequence, arrival.stamp, now);
}

void Flows::count(Flow& flow, std::size_t publisher, std::size_t entity, std::uint32_t sequence,
                  std::uint64_t stamp, std::uint64_t now) {
    auto const latency = static_cast<std::int64_t>(now - stamp);
    auto const place = flow.seen.begin() +
                       static_cast<std::ptrdiff_t>(entity * test_.updatesEach() + sequence - 1);
    bool const first = !*place;
    if (first) {
        *place = true;
        ++flow.unique;
        if (sequence < flow.newest[entity]) ++flow.reordered;
        else flow.newest[entity] = sequence;
    } else {
        ++flow.duplicates;
    }
    if (log_) {
        log_->put({stamp, latency, sequence, static_cast<std::uint16_t>(entity),
                   static_cast<std::uint8_t>(publisher), static_cast<std::uint8_t>(first)});
    }
}

bool Flows::hasAll(Flow const& flow, std::uint64_t sent) const {
    if (flow.unique >= sent) return true;
    if (!test_.conflate) return false;
    // They were sent in turn.
    for (std::size_t e = 0; e < test_.entities; ++e) {
        std::uint64_t const last = sent / test_.entities + (e < sent % test_.entities ? 1 : 0);
        if (flow.newest[e] < last) return false;
    }
    return true;
}

bool Flows::complete(Json const& sent, double patience) {
    bool const all = std::all_of(from_.begin(), from_.end(), [&](Flow const& flow) {
        return hasAll(flow, sent.value(flow.publisher, std::uint64_t{0}));
    });
    tired_ = !all && static_cast<double>(nowNs() - heardNs_) * 1e-9 > patience;
    return (all || tired_) && compared();
}

Json Flows::received() {
    std::uint64_t const dropped = log_ ? log_->end() : 0;
    log_.reset();
    double const wall = static_cast<double>(nowNs() - beganNs_) * 1e-9;
    double const cpu = wall > 0 ? (cpuSeconds() - cpuBefore_) / wall : 0;
    keepPings();
    bench::Statistics const told = endpoint_.statistics();
    Json const lost = told.tellsLost ? Json(told.lost - lostBefore_) : Json();
    Json flows = Json::array();
    for (auto const& flow : from_) {
        flows.push_back({{"publisher", flow.publisher},
                         {"received", flow.unique},
                         {"duplicates", flow.duplicates},
                         {"reordered", flow.reordered},
                         {"late", flow.late},
                         {"wrong", flow.wrong},
                         {"lost_on_the_way", lost},
                         {"tired", tired_ ? 1 : 0},
                         {"unrecorded", dropped},
                         {"heard", flow.heard},
                         {"discovered", discovered_},
                         {"instances", from_.size() * test_.entities},
                         {"waited_s", wall},
                         {"cpu_busy", busy_},
                         {"cpu", cpu}});
    }
    return flows;
}

}  // namespace ec1
