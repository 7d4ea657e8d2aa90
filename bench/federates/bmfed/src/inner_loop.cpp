#include "inner_loop.hpp"

#include <unistd.h>

#include <algorithm>
#include <type_traits>

#include "stamp.hpp"
#include "trips.hpp"

namespace bmfed {

using bench::ageNs;
using bench::kWarmUpTag;
using bench::makeStamp;
using bench::nowNs;
using bench::tagOf;

// How often others hear that this federate lives.
std::int64_t const kPulseNs = 1000000000;

// So many round trips of best effort may be lost one after another: beyond it is no loss that a
// sender waits for, but a way on which nothing comes.
int const kLostInARow = 20;

static std::uint64_t nanoseconds(double seconds) {
    return static_cast<std::uint64_t>(seconds * 1e9);
}

InnerLoop::InnerLoop(RtiProxy& rti, TestDescription const& test, std::string const& self,
                     std::string const& directory, double dataTimeoutS, double lossTimeoutS,
                     Calls calls)
    : rti_(rti),
      test_(test),
      directory_(directory),
      dataTimeoutS_(dataTimeoutS),
      lossTimeoutS_(lossTimeoutS),
      answerNs_(nanoseconds(test.reliable ? dataTimeoutS : lossTimeoutS)),
      // Who sends may hear nothing for so long, and go on.
      restNs_(nanoseconds(dataTimeoutS +
                          (test.reliable ? 0 : kLostInARow * (lossTimeoutS + 3 * test.tickMax)))),
      calls_(std::move(calls)),
      sends_(test.objects() ? Tree::sendObj : Tree::sendInt),
      returnsWith_(test.objects() ? Tree::returnObj : Tree::returnInt),
      losesPlaces_(!test.reliable && test.latency() && test.outstandingMax > 0) {
    counted_.fill(&nobody_);
    int const discoveries = test_.objects() ? test_.types * test_.instances : 0;
    for (std::size_t p = 0; p < test_.pairs.size(); ++p) {
        for (bool const sender : {true, false}) {
            if ((sender ? test_.pairs[p].sender : test_.pairs[p].receiver) != self) continue;
            Role role;
            role.result.pair = p;
            role.result.sender = sender;
            role.expected = !sender || test_.latency() ? test_.updates : 0;
            role.toDiscover = !sender || test_.latency() ? discoveries : 0;
            if (sender && test_.latency() && !directory.empty()) {
                role.trips.reset(new bench::Recorder(test_.tripsHeld()));
            }
            roles_.push_back(std::move(role));
        }
    }
    bool const receives = roles_.size() == 1 && !roles_[0].result.sender;
    // However long waits are, it is looked about several times a second. Where data may be lost, a
    // receiver looks after each wait when the last of them came.
    if (receives && (test_.latency() || test_.reliable))
        rounds_ = static_cast<std::size_t>(0.25 / std::max(test_.tickMax, 0.004));
    rti_.deliverTo(this);
}

ClassUse InnerLoop::use(Tree tree, std::size_t pair, int type) const {
    return ClassUse{tree, test_.classNumber(pair, type), test_.buffers};
}

void InnerLoop::declare() {
    for (auto& role : roles_) {
        for (int type = 0; type < test_.types; ++type) {
            ClassUse const send = use(sends_, role.result.pair, type);
            ClassUse const back = use(returnsWith_, role.result.pair, type);
            role.result.sender ? rti_.publish(send) : subscribe(send, role, false, type);
            if (test_.latency()) {
                role.result.sender ? subscribe(back, role, true, type) : rti_.publish(back);
            }
        }
    }
}

void InnerLoop::subscribe(ClassUse const& use, Role& role, bool returned, int type) {
    bench::TopicId const topic = rti_.topicOf(use);
    routes_[topic].role = &role;
    routes_[topic].returned = returned;
    routes_[topic].firstItem = static_cast<std::size_t>(type * test_.instances);
    routes_[topic].answered = test_.latency() && !returned;
    if (!test_.latency()) counted_[topic] = &role;
    (returned ? returned_ : sent_)[static_cast<std::size_t>(use.number)] = &role;
    rti_.subscribe(use);
}

void InnerLoop::registerItems() {
    for (auto& role : roles_) {
        if (!role.result.sender && !test_.latency()) continue;
        Tree const tree = role.result.sender ? sends_ : returnsWith_;
        for (int type = 0; type < test_.types; ++type) {
            for (int i = 0; i < test_.instances; ++i) {
                std::size_t const item =
                    rti_.addItem(use(tree, role.result.pair, type), test_.bufferBytes);
                if (test_.byService) rti_.setTransport(item, test_.reliable);
                role.items.push_back(item);
            }
        }
    }
    planAnswers();
}

// What a federate that does nothing but return answers with.
void InnerLoop::planAnswers() {
    auto& topics = returns_.plan.topics;
    topics.assign(rounds_ > 1 ? routes_.size() : 0, {});
    for (std::size_t topic = 0; topic < topics.size(); ++topic) {
        Route const& route = routes_[topic];
        if (!route.answered) continue;
        auto const count = static_cast<std::size_t>(test_.instances);
        topics[topic] = {route.role->items.data() + route.firstItem, count};
    }
}

bool InnerLoop::discoveredAll() const {
    return std::all_of(roles_.begin(), roles_.end(),
                       [](Role const& role) { return role.toDiscover <= 0; });
}

std::uint64_t InnerLoop::came() const {
    std::uint64_t count = arrivals_;
    for (auto const& role : roles_) count += role.result.late + role.result.doubled;
    return count;
}

void InnerLoop::discovered(Tree tree, int number) {
    auto const& roles = tree == Tree::returnObj ? returned_ : sent_;
    Role* const role = roles[static_cast<std::size_t>(number)];
    if (role != nullptr) --role->toDiscover;
}

void InnerLoop::ready(int sample) {
    std::uint32_t const nth = test_.firstTag + static_cast<std::uint32_t>(sample) - 1;
    tag_ = static_cast<std::uint16_t>(1 + (nth - 1) % 0xffff);
    arrivals_ = noted_ = outstanding_ = 0;
    lostInARow_ = 0;
    silent_ = false;
    // Who receives nothing needs nobody's word.
    over_ = std::all_of(roles_.begin(), roles_.end(),
                        [](Role const& role) { return role.result.sender; });
    returns_.clear();
    returns_.enough = false;
    returns_.plan.tag = tag_;
    for (auto& role : roles_) {
        PartResult fresh;
        fresh.pair = role.result.pair;
        fresh.sender = role.result.sender;
        role.result = fresh;
        if (role.trips != nullptr) {
            role.trips->begin(tripsPath(directory_, test_, fresh.pair), sample == 1,
                              static_cast<std::uint32_t>(sample));
        }
        role.warmedUp = 0;
        role.firstNs = role.lastNs = role.noted = role.cut = 0;
        if (role.expected > 0) role.seen.reset(role.expected);
    }
    if (!losesPlaces_) return;
    auto const senders = std::count_if(roles_.begin(), roles_.end(),
                                       [](Role const& role) { return role.result.sender; });
    std::uint64_t const all = static_cast<std::uint64_t>(senders) * test_.updates;
    underWay_.reset(std::min(all, test_.outstandingMax), nanoseconds(lossTimeoutS_));
}

void InnerLoop::arrived(bench::Arrival const& arrival) {
    Role& role = *counted_[arrival.topic];
    if (!role.seen.follows(arrival.stamp)) return notCounted(arrival);
    role.seen.put(arrival.stamp);
    ++arrivals_;
    ++role.result.received;
    role.result.cameReliably += arrival.reliable ? 1 : 0;
}

// Of a federate's only role, reliably: round trips, or what was sent back.
void InnerLoop::passed(std::uint64_t count, std::uint64_t last) {
    roles_.front().seen.passed(count, last);
    PartResult& result = roles_.front().result;
    arrivals_ += count;
    result.received += count;
    result.cameReliably += count;
}

void InnerLoop::notCounted(bench::Arrival const& arrival) {
    Route const& route = routes_[arrival.topic];
    Role* const role = route.role;
    if (role == nullptr || !role->seen.follows(arrival.stamp)) return otherArrived(route, arrival);
    role->seen.put(arrival.stamp);
    ++arrivals_;
    ++role->result.received;
    role->result.cameReliably += arrival.reliable ? 1 : 0;
    if (route.returned) cameBack(*role, arrival.stamp);
    else if (route.answered) giveBack(route, arrival);
}

void InnerLoop::otherArrived(Route const& route, bench::Arrival const& arrival) {
    Role* const role = route.role;
    if (role == nullptr) return;
    if (tagOf(arrival.stamp) != tag_) return ofAnotherSample(route, arrival);
    PartResult& result = role->result;
    // A sender's stamps differ, so one that comes again was doubled on the way.
    if (result.received == role->expected || !role->seen.insert(arrival.stamp)) {
        ++result.doubled;
        return;
    }
    ++arrivals_;
    result.cameReliably += arrival.reliable ? 1 : 0;
    // Who cuts values off does so with each: of those that follow as usual nothing is asked.
    if (arrival.bytes < test_.bufferBytes) role->cut = std::max<std::uint64_t>(arrival.bytes, 1);
    std::uint64_t const n = ++result.received;
    role->seen.mayPut(std::max(role->expected, n + 1) - 1 - n);
    if (n == role->expected) returns_.enough = roles_.size() == 1;
    if (route.returned) return cameBack(*role, arrival.stamp);
    // The clock is read where it counts: pause() reads it for arrivals in between.
    if (n == 1 || n == role->expected) role->lastNs = nowNs();
    if (n == 1) role->firstNs = role->lastNs;
    if (route.answered) giveBack(route, arrival);
}

void InnerLoop::cameBack(Role& role, std::uint64_t stamp) {
    lostInARow_ = 0;
    role.lastNs = nowNs();
    if (role.trips != nullptr) {
        role.trips->put(static_cast<float>(ageNs(stamp, role.lastNs)));
    }
    if (losesPlaces_) outstanding_ -= underWay_.back(stamp);
    else if (outstanding_ > 0) --outstanding_;
}

void InnerLoop::ofAnotherSample(Route const& route, bench::Arrival const& arrival) {
    if (tagOf(arrival.stamp) != kWarmUpTag) {
        ++route.role->result.late;
        return;
    }
    ++arrivals_;
    ++route.role->warmedUp;
    if (route.answered) giveBack(route, arrival);
}

inline void InnerLoop::giveBack(Route const& route, bench::Arrival const& arrival) {
    std::size_t const item = route.firstItem + arrival.instance;
    auto const& items = route.role->items;
    if (item < items.size()) returns_.put(items[item], arrival.stamp);
}

void InnerLoop::housekeeping(std::uint64_t now) {
    auto const passed = static_cast<std::int64_t>(now - pulseNs_);
    // Some readings are older than the last pulse; a clock that went back is none of these.
    if (passed < kPulseNs && passed > -kPulseNs) return;
    pulseNs_ = now;
    // One of a federate that is in several pairs counts once.
    if (!roles_.empty()) ++roles_.front().result.heartbeats;
    calls_.pulse();
}

// One wait of the loop version.
void InnerLoop::waitOnce() {
    if (test_.loopVersion == 1) {
        rti_.tick(test_.tickMin, test_.tickMax);
    } else if (test_.loopVersion == 2) {
        ::usleep(1);
        rti_.tick(0, 0);
    } else {
        hear();
    }
}

// What has come since the last time came at the latest now.
void InnerLoop::note(std::uint64_t now) {
    if (arrivals_ == noted_) return;
    noted_ = arrivals_;
    for (auto& role : roles_) {
        std::uint64_t const received = role.result.received;
        bool const more = received != role.noted && received < role.expected;
        role.noted = received;
        if (!role.result.sender && more) role.lastNs = now;
    }
}

// A wait, unless something comes while answers are given, with what arrived in it.
void InnerLoop::pause() {
    std::uint64_t const before = arrivals_;
    housekeeping(lookedNs_);
    flushReturns();
    if (arrivals_ == before) waitOnce();
    flushReturns();
    lookedNs_ = nowNs();
    note(lookedNs_);
}

// Version 3's wait. Who does nothing but receive or return looks less often at the clock and
// whether the sample is over.
inline void InnerLoop::hear() {
    if (rounds_ > 1 && !test_.latency()) {
        return rti_.listen(rounds_, returns_.enough, test_.tickMax);
    }
    returns_.plan.left = 0;
    if (rounds_ > 1 && test_.reliable) {
        returns_.plan.newest = roles_.front().seen.newest();
        // Neither the first nor the last: when these came is noted.
        PartResult const& result = roles_.front().result;
        std::uint64_t const last = roles_.front().expected;
        if (result.received > 0 && result.received < last) {
            returns_.plan.left = last - 1 - result.received;
        }
    }
    rounds_ > 1 ? rti_.answer(returns_, rounds_, test_.tickMax) : rti_.wait(test_.tickMax);
}

// Waits until `done`. False: nothing has arrived for the time-out, the rest is lost.
template <class Done, class Patience>
bool InnerLoop::await(Done done, Patience patienceNs) {
    auto const progress = [this] { return arrivals_ + (over_ ? 1 : 0); };
    std::uint64_t seen = progress();
    std::uint64_t sinceNs = 0;  // the end of the first wait: the time-out is of silence
    while (!done()) {
        pause();
        if (progress() != seen || sinceNs == 0) {
            seen = progress();
            sinceNs = lookedNs_;
        } else if (lookedNs_ - sinceNs > patienceNs()) {
            return false;
        }
    }
    return true;
}

// Until so few round trips are under way that another may begin.
void InnerLoop::awaitReturns() {
    bool const back =
        await([this] { return outstanding_ < test_.outstandingMax; }, [this] { return answerNs_; });
    if (back) return;
    // Lost. Where nothing may be lost the next wait would be as long, and in vain.
    silent_ = test_.reliable || ++lostInARow_ == kLostInARow;
    outstanding_ = 0;
    underWay_.clear();
}

// What is still to come of the sample, or to be answered. Whoever gives that up while others send
// would lose what they send later, so for best effort the others say when they are through.
void InnerLoop::awaitRest() {
    if (test_.reliable) {
        bool const all = await([this] { return complete(); }, [this] { return answerNs_; });
        silent_ = !all;
        return;
    }
    if (std::any_of(roles_.begin(), roles_.end(),
                    [](Role const& role) { return role.result.sender; })) {
        calls_.sent();
    }
    // With a limit it is known of each round trip whether it is lost.
    bool const known = over_ && test_.latency() && test_.outstandingMax > 0;
    await(
        [&] {
            calls_.meanwhile();
            return complete() || (known && outstanding_ == 0);
        },
        [this] { return over_ ? answerNs_ : restNs_; });
}

void InnerLoop::flushAndDrain() {
    rti_.flush();
    flushReturns();
    if (arrivals_ != noted_) note(lookedNs_ = nowNs());
    if (!test_.latency()) return;
    if (test_.outstandingMax > 0) return awaitReturns();
    std::uint64_t before;
    do {
        before = arrivals_;
        pause();
    } while (arrivals_ != before);
}

// One round trip under way, each message flushed by itself: what is usual is one call.
void InnerLoop::ask() {
    std::uint64_t const updates = test_.updates;
    stampedNs_ = nowNs();
    // Where only reliable data of this one role may come, an endpoint may go on by itself.
    if (roles_.size() == 1 && test_.reliable && roles_.front().trips != nullptr) {
        return askAlone(roles_.front());
    }
    for (bool more = true; more;) {
        more = false;
        for (auto& role : roles_) {
            if (!role.result.sender) continue;
            for (std::size_t const item : role.items) {
                if (role.result.sent == updates || silent_) break;
                askOne(role, item);
            }
            more = more || (role.result.sent < updates && !silent_);
        }
    }
}

void InnerLoop::askOne(Role& role, std::size_t item) {
    stampedNs_ = std::max(nowNs(), stampedNs_ + 1);
    std::uint64_t const stamp = makeStamp(tag_, stampedNs_);
    if (losesPlaces_) underWay_.put(stamp);
    ++outstanding_;
    ++role.result.sent;
    rti_.exchange(item, stamp, test_.tickMax);
    flushReturns();
    if (outstanding_ > 0) awaitReturns();
    housekeeping(stampedNs_);
}

void InnerLoop::askAlone(Role& role) {
    bench::Trips trips{role.items, tag_, *role.trips, bench::Clock::reader()};
    while (role.result.sent < test_.updates && !silent_) {
        askOne(role, role.items[trips.next]);
        trips.next = (trips.next + 1) % role.items.size();
        if (silent_) break;
        trips.left = test_.updates - role.result.sent;
        trips.lastNs = stampedNs_;
        trips.untilNs = pulseNs_ + kPulseNs;
        outstanding_ = 1;  // what comes otherwise than planned ends it
        rti_.trips(trips, test_.tickMax);
        stampedNs_ = trips.lastNs;
        role.result.sent += trips.begun;
        if (trips.back > 0) role.lastNs = std::max(role.lastNs, trips.backNs);
        if (trips.begun == trips.back) outstanding_ = 0;
        else if (outstanding_ > 0) awaitReturns();
        housekeeping(stampedNs_);
    }
}

// Queues messages of these items, the first stamped later than `now`; when the last was. None of
// the stamps is another's.
template <class Watched>
inline std::uint64_t InnerLoop::queue(std::size_t const* item, std::size_t const* end,
                                      std::uint64_t now, Watched watched) {
    for (std::uint16_t const tag = tag_; item != end; ++item) {
        now = std::max(nowNs(), now + 1);
        std::uint64_t const stamp = makeStamp(tag, now);
        if (watched) underWay_.put(stamp);
        rti_.queue(*item, stamp);
    }
    return now;
}

void InnerLoop::send() {
    std::uint64_t const updateBytes = test_.bufferBytes * static_cast<std::uint64_t>(test_.buffers);
    std::uint64_t const updates = test_.updates;
    // As many as reach one threshold or the other.
    std::uint64_t const together =
        std::min(test_.queuedUpdatesMax, (test_.queuedBytesMax - 1) / updateBytes + 1);
    if (test_.latency() && test_.outstandingMax == 1 && test_.loopVersion == 3) return ask();
    std::uint64_t const answered = test_.latency() ? 1 : 0;
    bool const limited = test_.latency() && test_.outstandingMax > 0;
    std::uint64_t pending = 0;
    std::uint64_t now = nowNs();
    auto flush = [&] {
        flushAndDrain();
        pending = 0;
        housekeeping(now);
    };
    for (bool more = true; more && !silent_;) {
        more = false;
        for (auto& role : roles_) {
            if (!role.result.sender) continue;
            std::size_t const* item = role.items.data();
            std::uint64_t left =
                std::min<std::uint64_t>(role.items.size(), updates - role.result.sent);
            role.result.sent += left;
            while (left > 0) {
                // So many until the next flush.
                std::uint64_t run = std::min(left, together - pending);
                if (limited) run = std::min(run, test_.outstandingMax - outstanding_);
                left -= run;
                pending += run;
                // What comes back meanwhile is one of these.
                outstanding_ += answered * run;
                std::size_t const* const end = item + run;
                now = losesPlaces_ ? queue(item, end, now, std::true_type())
                                   : queue(item, end, now, std::false_type());
                item = end;
                bool const full = limited && outstanding_ >= test_.outstandingMax;
                // What came back while it was queued makes room for more.
                if (pending < together && !full) continue;
                flush();
                if (!silent_) continue;
                role.result.sent -= left;
                break;
            }
            more = more || role.result.sent < updates;
        }
        if (pending > 0) flush();
    }
}

bool InnerLoop::complete() const {
    return std::all_of(roles_.begin(), roles_.end(),
                       [](Role const& role) { return role.result.received >= role.expected; });
}

std::string InnerLoop::silence(Role const& role) const {
    PartResult const& r = role.result;
    Pair const& names = test_.pairs[r.pair];
    std::string const what =
        test_.reliable ? "reliable data stopped coming: nothing for " +
                             std::to_string(static_cast<int>(dataTimeoutS_ + 0.5)) + " s"
                       : "best-effort data stopped coming: " + std::to_string(kLostInARow) +
                             " round trips one after another were lost, each waited for until the "
                             "loss time-out";
    std::string text = what + " at '" + (r.sender ? names.sender : names.receiver) +
                       "', which had got " + std::to_string(r.received) + " of " +
                       std::to_string(role.expected);
    if (r.late != 0) {
        text += "; " + std::to_string(r.late) +
                " more came with the time stamp of another sample and do not count: stragglers, or "
                "the RTI delivers old bytes";
    }
    return text;
}

std::string InnerLoop::cut(Role const& role) const {
    Pair const& names = test_.pairs[role.result.pair];
    return "values came with " + std::to_string(role.cut) + " bytes at '" +
           (role.result.sender ? names.sender : names.receiver) + "', and " +
           std::to_string(test_.bufferBytes) + " were sent: figures would be of shorter messages";
}

// Lets caches, windows and routes settle before a sample; what is lost of it does not matter.
void InnerLoop::warmUp() {
    std::uint64_t stamp = 0;
    for (auto& role : roles_) {
        if (!role.result.sender || test_.warmUp == 0) continue;
        for (std::uint64_t n = 0; n < test_.warmUp; ++n) {
            rti_.queue(role.items[n % role.items.size()], makeStamp(kWarmUpTag, ++stamp));
            if ((n + 1) % test_.queuedUpdatesMax == 0) rti_.flush();
            housekeeping(nowNs());
        }
        rti_.flush();
        if (!test_.latency()) continue;
        await([&] { return role.warmedUp >= test_.warmUp; }, [this] { return answerNs_; });
    }
}

std::vector<PartResult> InnerLoop::run() {
    pulseNs_ = lookedNs_ = nowNs();
    note(lookedNs_);
    warmUp();
    std::uint64_t const beginNs = nowNs();
    send();
    std::uint64_t const sentNs = nowNs();
    // All of a short sample may have come together with the word to begin: then nothing is awaited.
    flushReturns();
    if (!silent_ || !test_.reliable) awaitRest();
    // The last may have come while others were told something: whoever sent it waits for the
    // answer.
    flushReturns();

    std::vector<PartResult> parts;
    for (auto& role : roles_) {
        PartResult& r = role.result;
        std::uint64_t const from = r.sender ? beginNs : role.firstNs;
        std::uint64_t const to = r.sender && role.lastNs == 0 ? sentNs : role.lastNs;
        r.seconds = to > from ? static_cast<double>(to - from) * 1e-9 : 0;
        if (role.trips != nullptr) r.unrecorded = role.trips->end();
        if (silent_ && r.received < role.expected) r.silence = silence(role);
        if (role.cut > 0) r.silence = cut(role);
        parts.push_back(r);
    }
    return parts;
}

}  // namespace bmfed
