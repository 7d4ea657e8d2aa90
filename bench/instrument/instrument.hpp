// An instrument among others, in C++: it has one record, which goes out at a rate, and hears the
// newest of others'. What carries them is an adapter (../cpp/endpoint.hpp); nothing here knows of
// any. The thread that calls `turn` does nothing else meanwhile: no allocation, lock, output or
// system call of its own but for the clock, and to settle with another whose their number is.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "endpoint.hpp"
#include "station_clock.hpp"

namespace bench {

// What stands before a record, and travels as the first bytes of its value, little-endian.
struct RecordHead {
    std::uint64_t sentNs;       // by the sender's clock, read last before the update
    std::uint32_t count;        // of its messages, from 1
    std::uint32_t station : 8;  // the sender's number
    std::uint32_t record : 24;  // of its name, so that another kind's is not taken for it
};
static_assert(sizeof(RecordHead) == 16, "as it travels");

class Instrument : private EndpointEvents, private DataEvents {
public:
    static constexpr unsigned kStationsMax = 10;
    static constexpr double kTurnS = 0.001;  // at most so long callbacks are taken in a turn

    struct Options {
        std::string adapter = "hla1516e", localSettings, session, fom, member;
        unsigned station = 1;
        bool immediate = false;
        bool bothClasses = false;  // hears records however their senders let them be carried
        Entry entry = Entry::either;
    };
    // Where it tells what happens, from within `turn` and `pump`. Must not throw.
    class Events {
    public:
        // A record of another's, at the time read first in the reflection.
        virtual void arrived(RecordHead const &head, std::uint64_t nowNs,
                             unsigned char const *bytes, std::size_t size) = 0;
        virtual void said(std::vector<std::string> const &words) = 0;

    protected:
        ~Events() = default;
    };

    Instrument(Options options, Events &events, StationClock const &clock);
    ~Instrument();

    std::string version() const { return endpoint_->version(); }
    Capabilities capabilities() const { return endpoint_->capabilities(); }
    // The number by which others know it, from the next `declare` on.
    void number(unsigned station) { options_.station = station; }
    unsigned station() const { return options_.station; }

    void connect();
    // False: not possible yet, try again.
    bool join();
    std::string waitsFor() const { return endpoint_->waitsFor(); }
    void resign();
    bool destroy() { return endpoint_->destroy(options_.session); }
    void disconnect() { endpoint_->disconnect(); }

    // Publishes and subscribes the record; `bytes` with its head.
    void declare(std::string const &record, std::size_t bytes, bool reliable);
    void withdraw();
    // How many of others' are there, and have gone again since `declare`.
    std::size_t others() const { return others_; }
    std::size_t gone() const { return gone_; }

    // What goes out from now on behind the head.
    void fill(unsigned char const *bytes, std::size_t size);
    // Sends one with the count 0: what the first message of all costs is paid then.
    void prime();
    // Sends the record now; the time at which it was sent.
    std::uint64_t update();
    // Callbacks that have come, for at most a millisecond.
    void turn() {
        endpoint_->tick(0, kTurnS);
        if (!toSay_.empty()) speak();
    }
    // The same with callbacks of another thread, which come until that time.
    void turnUntil(std::uint64_t monotonicNs);
    // Callbacks until the first has come, or so many seconds have passed.
    void pump(double seconds) {
        endpoint_->wait(seconds);
        if (!toSay_.empty()) speak();
    }
    void say(std::vector<std::string> const &words) { endpoint_->say(words_, words); }
    void flush() { endpoint_->flush(); }

    std::uint32_t count() const { return head_.count; }
    bool immediate() const { return options_.immediate; }
    // What is wrong, if anything is; "": nothing.
    std::string const &problem() const { return problem_; }
    // What it does now, for who finds that it does not return.
    char const *service() const { return service_; }
    // Records of another kind, or of nobody's, that were left alone.
    std::uint64_t foreign() const { return foreign_; }

private:
    std::uint64_t send();
    // Says that the number is this one's; hears that of another; says what waits to be said, as a
    // callback may not.
    void claim();
    void heardClaim(std::vector<std::string> const &values);
    void speak();
    void arrived(Arrival const &arrival) override;
    void discovered(TopicId) override { ++others_; }
    void removed(TopicId) override { ++gone_; }
    void said(TopicId topic, std::vector<std::string> const &values) override;
    void connectionLost(std::string const &reason) override;
    void malformed(std::string const &) override { ++foreign_; }

    Options options_;
    Events &events_;
    StationClock const &clock_;
    char const *volatile service_ = "none";
    std::unique_ptr<Endpoint> endpoint_;
    TopicId words_ = 0, records_[2] = {0, 0};
    std::size_t item_ = 0, others_ = 0, gone_ = 0;
    RecordHead head_{};
    std::uint64_t foreign_ = 0;
    bool filled_ = false;
    std::vector<unsigned char> out_;  // behind the time sent: the rest of the head, and the record
    std::string problem_;
    std::string const mark_;  // tells it from another with the same number
    std::string mine_;        // number and record
    std::uint64_t sinceNs_ = 0, claimedNs_ = 0;
    std::vector<std::vector<std::string>> toSay_;
};

}  // namespace bench
