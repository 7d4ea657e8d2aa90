// The interface's life: it joins, agrees with others on each test, measures, tells what came of it.
// With a master's tests or, `live`, by itself until it is told to resign.
#pragma once

#include <csignal>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "control_pipe.hpp"
#include "echo.hpp"
#include "jumps.hpp"
#include "measure.hpp"

namespace range {

struct Options {
    bench::Instrument::Options instrument;
    std::string name, out, manager;
    double joinTimeoutS = 30, dataTimeoutS = 10, lossTimeoutS = 1;
    bool master = false, paced = false, live = false;
    std::vector<std::string> names;                          // of all federates, in order
    std::vector<std::pair<std::string, std::string>> pairs;  // senders and receivers, in order
    std::vector<Test> tests;
    std::string clock = "monotonic", discipline;
    int memory = -1;
};

class Session : private bench::Instrument::Events {
public:
    Session(Options options, Shared& shared, volatile std::sig_atomic_t const& stop);
    ~Session();
    void run();

private:
    struct Peer {
        std::string echo, failure;
        std::map<std::string, std::string> said;  // "what test" and what more it said of it
        std::uint64_t heardNs = 0;
    };

    void arrived(bench::RecordHead const& head, std::uint64_t nowNs, unsigned char const*,
                 std::size_t) override {
        measure_.arrived(head, nowNs);
    }
    void said(std::vector<std::string> const& words) override;

    // Takes over who is there, as the master says it; false: it says something else.
    bool meet(Json const& told);

    void join();
    void leave();
    void runMaster();
    void runOther();
    void runLive();
    void endAll();
    void test(Test const& test);
    // Of a federate that takes no part: until the others' test is over.
    void lookOn(Test const& test);
    void declare(Test const& test);
    Json measured(Test const& test);
    // What the daemon says that disciplines this host's clock; nothing if it is not to be asked.
    std::string discipline() const;
    void waitForAll(std::string const& what, Test const& test);
    bool anySaid(std::string const& what, Test const& test) const;
    void tell(Test const& test, Json const& own);
    bool takesPart(Test const& test) const { return station_ <= test.federates; }
    // Those of a test but this one.
    std::vector<std::string> others(Test const& test) const;
    bool allCame(Test const& test) const;
    std::uint64_t sentBy(unsigned station, Test const& test) const;
    std::uint64_t receivedOf(unsigned station) const;
    void keep(Test const& test, Json facts, std::vector<bench::Ping> const& pings) const;

    void say(std::string const& what, Test const* test, std::string const& more = "");
    void pump();
    void waitUntil(std::string const& forWhat, double seconds, std::function<bool()> const& done);
    void check();
    void beat();
    void watch();
    // The largest jump of this host's clock that was seen, since `anew`.
    std::int64_t lookAtClock(bool anew = false);
    void tellManager(Json const& event);
    void readPipe();

    Options options_;
    Shared& shared_;
    volatile std::sig_atomic_t const& stop_;
    bench::StationClock clock_;
    std::mutex jumpsMutex_;  // the thread beside looks once a second
    bench::Jumps jumps_;
    std::int64_t jumpedNs_ = 0;
    bench::Echo echo_;
    bench::Instrument instrument_;
    Measure measure_;
    std::map<std::string, Peer> peers_;
    unsigned station_ = 0;
    bool known_ = false, ended_ = false, goOn_ = false;
    std::vector<Json> tests_;           // told and not yet begun, by others than the master
    std::map<std::string, bool> left_;  // federates whose process has ended
    std::string failure_;
    std::uint64_t saidNs_ = 0;
    double quietS_ = 0;  // so much longer others may be silent: they measure

    // The manager is told that this one lives, and a stuck one is ended, by a thread of its own.
    std::mutex pipeMutex_;
    bench::ControlPipe pipe_;
    std::atomic<std::uint64_t> beats_{0};
    std::atomic<double> patienceS_{60};
    std::atomic<bool> quit_{false};
    std::thread watching_;
};

}  // namespace range
