#include "instrument.hpp"

#include <endian.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <random>

#include "kernel_time.hpp"

namespace bench {

namespace {

// FNV-1a, folded to 24 bits: of ten records of one exercise three in a million exercises have two
// that are taken for each other.
std::uint32_t numberOf(std::string const &name) {
    std::uint32_t hash = 2166136261u;
    for (unsigned char const c : name) hash = (hash ^ c) * 16777619u;
    return (hash ^ (hash >> 24)) & 0xffffff;
}

std::size_t const kRest = sizeof(RecordHead) - 8;  // of the head behind the time

// Words of instruments with one number: for how long who says it has it, and that it is to end.
char const *const kNumber = "number", *const kTaken = "taken";
// So often at most who hears records of its own number says so.
std::uint64_t const kClaimNs = 1000000000;
// Claims of this number that wait for the next turn; one for which there is no room comes again
// after a second.
std::size_t const kToSayMax = 16;

// By which instruments of one number tell themselves apart.
std::string drawnMark() {
    std::random_device draw;
    return std::to_string(draw()) + "." + std::to_string(draw());
}

}  // namespace

Instrument::Instrument(Options options, Events &events, StationClock const &clock)
    : options_(std::move(options)),
      events_(events),
      clock_(clock),
      endpoint_(loadEndpoint(options_.adapter, *this, &service_)),
      mark_(drawnMark()) {}

Instrument::~Instrument() = default;

void Instrument::connect() {
    if (options_.entry != Entry::either && !endpoint_->capabilities().sessions) {
        throw EndpointError(version() + " has no federation executions to create or to join");
    }
    endpoint_->enter(options_.entry);
    endpoint_->connect(options_.localSettings,
                       options_.immediate ? Callbacks::immediate : Callbacks::evoked);
}

bool Instrument::join() {
    if (!endpoint_->join(options_.session, options_.fom, options_.member)) return false;
    words_ = endpoint_->add({"Word", Topic::Kind::text, true, {"what", "test", "from", "more"}});
    records_[0] = endpoint_->add({"RecordBestEffort", Topic::Kind::object, false, {"value"}});
    records_[1] = endpoint_->add({"Record", Topic::Kind::object, true, {"value"}});
    endpoint_->publish(words_, 4);
    endpoint_->subscribe(words_, 4);
    endpoint_->deliverTo(this);
    return true;
}

void Instrument::resign() { endpoint_->resign(); }

void Instrument::declare(std::string const &record, std::size_t bytes, bool reliable) {
    Capabilities const can = endpoint_->capabilities();
    if (reliable ? !can.reliable : !can.bestEffort) {
        throw EndpointError(endpoint_->version() + " has no transportation '" +
                            (reliable ? "reliable': declare it with reliable = 0"
                                      : "best_effort': declare it with reliable = 1"));
    }
    if (bytes > can.messageBytesMax) {
        throw EndpointError("a record has " + std::to_string(bytes) + " bytes; " +
                            endpoint_->version() + " carries " +
                            std::to_string(can.messageBytesMax));
    }
    others_ = gone_ = 0;
    head_ = RecordHead{0, 0, options_.station & 0xff, numberOf(record)};
    mine_ = std::to_string(head_.station) + "." + std::to_string(head_.record);
    sinceNs_ = readNs(CLOCK_BOOTTIME);
    out_.assign(bytes - 8, 0x5a);
    TopicId const topic = records_[reliable];
    endpoint_->publish(topic, 1);
    item_ = endpoint_->addItem(topic, 1, bytes);
    filled_ = true;
    endpoint_->subscribe(topic, 1);
    if (options_.bothClasses) endpoint_->subscribe(records_[!reliable], 1);
    claim();  // said in the next turn: here nobody is waited for
}

void Instrument::withdraw() { endpoint_->withdraw(); }

void Instrument::fill(unsigned char const *bytes, std::size_t size) {
    std::memcpy(out_.data() + kRest, bytes, std::min(size, out_.size() - kRest));
    filled_ = true;
}

void Instrument::prime() {
    send();
    filled_ = true;
    endpoint_->flush();
}

std::uint64_t Instrument::update() {
    ++head_.count;
    return send();
}

std::uint64_t Instrument::send() {
    std::uint32_t const count = htole32(head_.count);
    std::uint32_t const from = htole32(head_.station | head_.record << 8);
    std::memcpy(out_.data(), &count, sizeof count);
    std::memcpy(out_.data() + 4, &from, sizeof from);
    // Padding that has not changed is there.
    endpoint_->fill(item_, out_.data(), filled_ ? out_.size() : kRest);
    filled_ = false;
    head_.sentNs = clock_.nowNs();
    endpoint_->send(item_, head_.sentNs);
    return head_.sentNs;
}

void Instrument::turnUntil(std::uint64_t monotonicNs) {
    std::uint64_t const is = readNs(CLOCK_MONOTONIC);
    double const left = monotonicNs <= is ? 0 : static_cast<double>(monotonicNs - is) * 1e-9;
    endpoint_->tick(left, left);
    if (!toSay_.empty()) speak();
}

void Instrument::arrived(Arrival const &arrival) {
    std::uint64_t const now = clock_.nowNs();
    RecordHead head;
    if (arrival.bytes < sizeof head) {
        ++foreign_;
        return;
    }
    head.sentNs = arrival.stamp;
    std::uint32_t count, from;
    std::memcpy(&count, arrival.data + 8, sizeof count);
    std::memcpy(&from, arrival.data + 12, sizeof from);
    head.count = le32toh(count);
    head.station = le32toh(from) & 0xff;
    head.record = le32toh(from) >> 8;
    if (head.record != head_.record || head.station == 0 || head.station > kStationsMax) {
        ++foreign_;
        return;
    }
    if (head.station == head_.station) {
        ++foreign_;
        if (readNs(CLOCK_BOOTTIME) - claimedNs_ >= kClaimNs) claim();
        return;
    }
    events_.arrived(head, now, arrival.data + sizeof head,
                    static_cast<std::size_t>(arrival.bytes) - sizeof head);
}

void Instrument::said(TopicId topic, std::vector<std::string> const &values) {
    if (topic != words_ || values.size() != 4) return;
    if (values[0] == kNumber || values[0] == kTaken) heardClaim(values);
    else events_.said(values);
}

void Instrument::claim() {
    claimedNs_ = readNs(CLOCK_BOOTTIME);
    if (toSay_.size() < kToSayMax) toSay_.push_back({kNumber, mine_, mark_, ""});
}

// Who has had a number for longer goes on with it. How long that is needs no common clock, and is
// compared by one of the two alone, the one with the larger mark: each by itself might find that it
// is the older one, as words take their time.
void Instrument::heardClaim(std::vector<std::string> const &values) {
    std::string const &whose = values[1], &mark = values[2];
    if (whose != mine_ || (mark == mark_) != (values[0] == kTaken)) return;
    if (values[0] == kNumber) {
        if (mark > mark_) return claim();
        std::uint64_t const theirsNs = std::strtoull(values[3].c_str(), nullptr, 10);
        if (theirsNs <= readNs(CLOCK_BOOTTIME) - sinceNs_) {
            if (toSay_.size() < kToSayMax) toSay_.push_back({kTaken, mine_, mark, ""});
            return;
        }
    }
    problem_ =
        "another instrument has the station's number " + std::to_string(options_.station) + ", too";
}

void Instrument::speak() {
    std::vector<std::vector<std::string>> saying;
    saying.swap(toSay_);  // as others' words may come meanwhile
    for (auto &words : saying) {
        // For how long is told as it is now: a claim may have waited for this turn.
        if (words[0] == kNumber) words[3] = std::to_string(readNs(CLOCK_BOOTTIME) - sinceNs_);
        say(words);
    }
}

void Instrument::connectionLost(std::string const &reason) {
    if (problem_.empty()) problem_ = "connection to the RTI lost: " + reason;
}

}  // namespace bench
