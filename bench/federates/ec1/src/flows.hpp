// One federate's part in a test: what it publishes, and what came of all that it subscribes to.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "echo.hpp"
#include "endpoint.hpp"
#include "record_log.hpp"
#include "station_clock.hpp"
#include "test.hpp"

namespace ec1 {

// An update as it came, in the file of a sample; little-endian.
struct Record {
    std::uint64_t stamp;   // of the publisher's clock, ns
    std::int64_t latency;  // ns, by the clocks of both
    std::uint32_t sequence;
    std::uint16_t entity;
    std::uint8_t publisher;
    std::uint8_t first;  // 0: it had come before
};
static_assert(sizeof(Record) == 24, "as it stands in files");

// The PBOM's class for a transportation; "Latest" where what is not read is overwritten.
std::string className(bool reliable, bool conflate);

class Flows final : public bench::DataEvents {
public:
    // `topic` is that of the test's class; `clock` dates what is sent and what comes; `echo`
    // compares it with the publishers', if theirs may be others.
    Flows(bench::Endpoint& endpoint, Test const& test, bench::TopicId topic, std::string const& me,
          std::string const& directory, bench::StationClock const& clock, bench::Echo* echo);

    bool publishes() const { return mine_ >= 0; }
    int number() const { return mine_; }  // among the publishers; -1: it is none
    // Where what belongs to the sample is kept.
    std::string file(char const* what, char const* kind) const;
    bool subscribes() const { return !from_.empty(); }
    void declare();
    void registerItems();
    void discovered(bench::TopicId topic) { discovered_ += topic == topic_ ? 1 : 0; }
    // An update that is in no sample: who hears it knows that the way is there.
    void probe();
    // The publishers whose items or probes have not come; empty: all have.
    std::string missing() const;

    void begin(int sample, std::uint32_t tag);
    // Sends all of the sample, at its pace; `between` is called now and then.
    void send(std::function<void()> const& between);
    // So much as was sent by each publisher has come, or is not to come any more: nothing came for
    // `patience` seconds. Where older updates are overwritten the newest of each entity must come.
    bool complete(Json const& sent, double patience);
    // What a publisher did.
    Json sent() const;
    // Who publishes nothing is told when the others begin to send and when all have: how busy its
    // host is meanwhile counts as theirs.
    void othersSend();
    void othersHaveSent();
    // What a subscriber saw, a flow each. Ends the sample.
    Json received();

private:
    struct Flow {
        std::string publisher;
        bool heard = false;                 // an update came, also of those in no sample
        std::vector<bool> seen;             // by entity and sequence number
        std::vector<std::uint32_t> newest;  // by entity
        std::uint64_t unique = 0, duplicates = 0, reordered = 0, late = 0, wrong = 0;
    };
    void arrived(bench::Arrival const& arrival) override;
    void count(Flow& flow, std::size_t publisher, std::size_t entity, std::uint32_t sequence,
               std::uint64_t stamp, std::uint64_t now);
    bool hasAll(Flow const& flow, std::uint64_t sent) const;
    void sendOne(std::uint64_t index, std::uint32_t tag);
    void pingPublishers();
    bool compared() const;  // so many echoes have come that clocks can be
    void keepPings();

    bench::Endpoint& endpoint_;
    bench::StationClock const& clock_;
    bench::Echo* const echo_;
    Test const test_;
    bench::TopicId const topic_;
    std::string const me_, directory_;
    std::vector<std::string> publishers_;  // of the test, in order
    int mine_ = -1;                        // this one's number among them
    std::vector<int> flowOf_;              // by publisher; -1: not subscribed to
    std::vector<Flow> from_;
    std::size_t discovered_ = 0;
    std::vector<std::size_t> items_;
    bool byRti_;  // the RTI decides when what is sent leaves

    std::uint32_t tag_ = 0;
    int sample_ = 0;
    std::size_t pinged_ = 0;  // publishers
    std::uint64_t sentCount_ = 0, lateSends_ = 0, unsent_ = 0;
    std::uint64_t beganNs_ = 0, heardNs_ = 0;
    std::uint64_t firstStampNs_ = 0, lastStampNs_ = 0;  // of what was sent
    double sendCpu_ = 0, busy_ = 0;  // while it was: of this process, of the host
    std::vector<std::pair<double, double>> hostBefore_;  // busy and all jiffies of its CPUs
    std::uint64_t lostBefore_ = 0, fragmentsBefore_ = 0, fragments_ = 0;
    double cpuBefore_ = 0;
    bool tired_ = false;  // the sample ended by patience
    std::unique_ptr<bench::RecordLog<Record>> log_;
};

// IP fragments that this host (its network namespace) has made of datagrams that were too long.
std::uint64_t ipFragments();
// What the process has used of CPUs, s.
double cpuSeconds();
std::uint64_t nowNs();

}  // namespace ec1
