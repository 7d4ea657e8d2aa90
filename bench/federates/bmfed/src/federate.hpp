// The benchmark federate: the general execution, as master or subordinate.
#pragma once

#include <csignal>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "clock.hpp"
#include "control_pipe.hpp"
#include "inner_loop.hpp"
#include "results.hpp"
#include "rti_proxy.hpp"
#include "test_description.hpp"

namespace bmfed {

// The run can't go on; exit code 1.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Options {
    std::string name;
    std::string federation = "rtibm";
    std::string fom;
    std::string localSettings;
    std::string adapter = "hla1516e";
    std::string outputDirectory;
    std::string manager;
    bool paced = false;  // waits for the manager after each sample
    std::string listen;
    bool master = false;
    bool immediate = false;              // callbacks by the RTI's thread
    std::vector<Pair> pairs;             // master only
    std::vector<TestDescription> tests;  // master only
    double joinTimeoutS = 30;
    double dataTimeoutS = 10;
    double lossTimeoutS = 1;
};

class Federate final : private RtiEvents {
public:
    // `stop` becomes a signal's number when that asks for the end.
    Federate(Options options, volatile std::sig_atomic_t const& stop);
    void run();

private:
    // What is known of another federate: when it was last heard and the states it reported.
    struct Peer {
        std::uint64_t heardNs = 0;
        std::set<std::string> states;
        std::string failure;
        Json libraries = Json::array();  // that it has loaded
    };
    using Peers = std::map<std::string, Peer>;
    struct Directive {
        std::string what, id;
    };

    void join();
    void runMaster();
    void runTest(TestDescription const& test);
    // Who has not sent its part of the sample; nobody: empty.
    std::string partMissing() const;
    void addPart(PartResult const& part);
    void runSubordinate();
    Directive nextDirective(std::vector<Directive> const& allowed);
    void endAll();
    // Takes what the control pipe brought.
    void readPipe();
    // Until the manager says so: what it does between samples disturbs none.
    void waitForManager();
    void prepare(TestDescription const& test);
    void waitForDiscovery();
    std::vector<PartResult> sample();

    void report(std::string const& state, std::string const& id);
    void direct(std::string const& what, std::string const& id);
    void waitForAll(std::string const& state, std::string const& id);
    // Renews the bound on the time without progress.
    void watch();
    // One tick with heartbeats and checks; throws Failure.
    void pump(double seconds = 0.05);
    void sent();
    void tellOver();
    void pulse();
    void check();
    // Throws Failure if a federate is silent, and no data have come, for too long.
    void checkSilence();
    // A partner has left, and may have said why.
    void awaitReason();
    void waitUntil(std::function<bool()> const& done);

    void discovered(Tree tree, int number) override;
    void removed(Tree tree, int number) override;
    void controlReceived(Control kind, std::vector<std::string> const& values) override;
    void connectionLost(std::string const& reason) override;
    void malformed(std::string const& what) override;

    Options options_;
    volatile std::sig_atomic_t const& stop_;
    bench::Clock clock_;
    RtiProxy rti_;
    bench::ControlPipe pipe_;
    bench::ControlServer server_;
    ResultsFile results_;
    std::unique_ptr<InnerLoop> loop_;
    TestDescription test_;
    Peers peers_;  // master: the subordinates; subordinate: the master
    std::deque<Directive> directives_;
    Directive taken_;  // the last of them
    std::string description_;
    std::string sampleId_;        // of the sample; master: whose results are wanted
    PairSamples parts_;           // master: what came of it
    bool allSent_ = false;        // master: what it sends of the sample
    bool overTold_ = true;        // master: that all federates have sent theirs
    std::set<std::string> left_;  // federates that have left, by the control pipe
    bool goOn_ = false;           // so said the manager
    std::uint64_t refused_ = 0;   // lines at the control socket that say nothing
    std::string failure_;
    std::string gone_;  // that a partner has left when it should not
    std::uint64_t pulsedNs_ = 0;
    // Data, when they were last counted, and when there were more.
    std::uint64_t came_ = 0, cameNs_ = 0;
    bool running_ = false;  // instances of partners must not vanish now
    bool ended_ = false;    // subordinate: the master asked it to resign
};

}  // namespace bmfed
