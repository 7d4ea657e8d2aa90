// The inner loops OWOT, OWIT, RTOL and RTIL. One federate may send in some pairs and receive or
// return in others at the same time; the loop serves all of its roles.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "recorder.hpp"
#include "results.hpp"
#include "rti_proxy.hpp"
#include "seen_stamps.hpp"
#include "test_description.hpp"
#include "under_way.hpp"

namespace bmfed {

class InnerLoop final : private bench::DataEvents {
public:
    // What it has others do; each may send, and throws to end the loop.
    struct Calls {
        std::function<void()> pulse;      // about once per second
        std::function<void()> sent;       // best effort: this federate has sent all of the sample
        std::function<void()> meanwhile;  // best effort: while it waits for the rest
    };

    // Round trips are recorded in `directory`, if that is not empty.
    InnerLoop(RtiProxy& rti, TestDescription const& test, std::string const& self,
              std::string const& directory, double dataTimeoutS, double lossTimeoutS, Calls calls);

    ~InnerLoop() { rti_.deliverTo(nullptr); }
    InnerLoop(InnerLoop const&) = delete;
    InnerLoop& operator=(InnerLoop const&) = delete;

    // Steps of the general execution.
    void declare();
    void registerItems();
    bool discoveredAll() const;
    // Messages that have come since the counters were armed, also those that don't count.
    std::uint64_t came() const;
    // Arms the counters for a sample (from 1).
    void ready(int sample);
    std::vector<PartResult> run();

    // Callbacks.
    void discovered(Tree tree, int number);
    // All federates have sent all of the sample: what does not come now is lost.
    void over() { over_ = true; }

private:
    struct Role {
        PartResult result;
        std::vector<std::size_t> items;  // to send, or to return with
        std::uint64_t expected = 0;      // arrivals (receiver) or returns (sender of latency)
        int toDiscover = 0;
        std::uint64_t warmedUp = 0;  // arrivals of the warm-up
        std::uint64_t firstNs = 0, lastNs = 0;
        std::uint64_t noted = 0;  // received when a wait last ended
        std::uint64_t cut = 0;    // bytes of a value that came with fewer than were sent; 0: none
        SeenStamps seen;
        std::unique_ptr<bench::Recorder> trips;  // of a sender of latency
    };
    // What is known of the data of a topic: whose they are, what is done with them, and its first
    // item to return with.
    struct Route {
        Role* role = nullptr;
        bool returned = false, answered = false;  // neither: they are counted
        std::size_t firstItem = 0;
    };

    ClassUse use(Tree tree, std::size_t pair, int type) const;

    void arrived(bench::Arrival const& arrival) override;
    void passed(std::uint64_t count, std::uint64_t last) override;
    // All but what goes one way, of this sample, as it was sent, neither the first nor the last.
    [[gnu::noinline]] void notCounted(bench::Arrival const& arrival);
    // All but data of this sample, as they were sent, neither the first nor the last.
    [[gnu::noinline]] void otherArrived(Route const& route, bench::Arrival const& arrival);
    [[gnu::noinline]] void ofAnotherSample(Route const& route, bench::Arrival const& arrival);
    [[gnu::noinline]] void cameBack(Role& role, std::uint64_t stamp);
    void giveBack(Route const& route, bench::Arrival const& arrival);
    void subscribe(ClassUse const& use, Role& role, bool returned, int type);
    void warmUp();
    void send();
    void ask();
    void askOne(Role& role, std::size_t item);
    void askAlone(Role& role);
    template <class Watched>
    std::uint64_t queue(std::size_t const* item, std::size_t const* end, std::uint64_t now,
                        Watched watched);
    void flushAndDrain();
    void awaitReturns();
    void flushReturns() {
        if (!returns_.empty()) rti_.give(returns_);
    }
    void planAnswers();
    void hear();
    void waitOnce();
    void note(std::uint64_t now);
    void pause();
    template <class Done, class Patience>
    bool await(Done done, Patience patience);
    void awaitRest();
    std::string silence(Role const& role) const;
    std::string cut(Role const& role) const;
    bool complete() const;
    void housekeeping(std::uint64_t nowNs);

    RtiProxy& rti_;
    TestDescription test_;
    std::string const directory_;
    double const dataTimeoutS_, lossTimeoutS_;
    // How long it is silent until what is missing is lost: a partner's answer, and the rest of a
    // sample of best effort of which nobody has said yet that all was sent.
    std::uint64_t const answerNs_, restNs_;
    Calls calls_;
    Tree const sends_, returnsWith_;
    std::vector<Role> roles_;
    std::array<Route, kTopicsMax> routes_{};   // by topic
    Role nobody_;                              // whose arrivals are never what is usual
    std::array<Role*, kTopicsMax> counted_{};  // whose data go one way, by topic; or nobody's
    // The roles that wait for instances of a class: of returns, and of what is sent.
    std::array<Role*, kClasses + 1> returned_{}, sent_{};
    bench::Answers returns_;
    std::size_t rounds_ = 0;  // of who does nothing but receive or return, between two looks
    std::uint16_t tag_ = 0;
    bool silent_ = false;            // data stopped coming; the sample is over
    bool over_ = false;              // all was sent
    std::uint64_t arrivals_ = 0;     // of any kind: progress
    std::uint64_t noted_ = 0;        // of these, when it was last noted when they came
    std::uint64_t outstanding_ = 0;  // round trips under way
    // Where some may be lost and so many only may be under way: which these are.
    bool const losesPlaces_;
    UnderWay underWay_;
    int lostInARow_ = 0;  // round trips of best effort
    std::uint64_t pulseNs_ = 0;
    std::uint64_t stampedNs_ = 0;  // of round trips one by one: no two stamps are the same
    std::uint64_t lookedNs_ = 0;   // when the clock was last read for a wait
};

}  // namespace bmfed
