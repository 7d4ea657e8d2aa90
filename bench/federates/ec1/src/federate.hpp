// A member of a session: publisher, subscriber or both. One is the master: it leads the others
// through the tests, and says to the manager what came of them.
#pragma once

#include <csignal>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "bridge.hpp"
#include "clock.hpp"
#include "control_pipe.hpp"
#include "echo.hpp"
#include "endpoint.hpp"
#include "flows.hpp"
#include "jumps.hpp"
#include "station_clock.hpp"
#include "test.hpp"

namespace ec1 {

// The run can't go on; exit code 1.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct Options {
    std::string name, federation = "ec1", fom, settings, adapter = "hla1516e", directory, manager;
    std::string bridge, instead;  // ADAPTER,SETTINGS of the other side; of this one
    std::string discipline;       // what disciplines this host's clock says so to this command
    bool master = false, paced = false, realTime = false, echo = false;
    std::vector<Pair> pairs;  // master only
    std::vector<Test> tests;  // master only
    double joinTimeoutS = 30, dataTimeoutS = 10, lossTimeoutS = 1;
};

// Bounds every wait: after so many seconds without another call the process ends with a message
// that names the service it is in.
void watchdog(double seconds, int exitCode);
extern char const* volatile service;

class Federate final : private bench::EndpointEvents {
public:
    Federate(Options options, volatile std::sig_atomic_t const& stop);
    void run();

private:
    struct Call {
        std::string what, id, body;
    };
    using Answers = std::map<std::string, std::map<std::string, std::string>>;  // by member, stage

    void join();
    void joinPatiently(bench::Endpoint& to);  // until the join time-out
    void lead();
    void endAll();
    void serve();
    // Does what the master says; false: the end.
    bool obey(Call const& call);

    // What a member does at each stage, and what it answers.
    void prepare(Test const& test);
    void askClock();
    void received(std::string id);  // all has come; ends the sample
    // What was said of this host's clock before a sample and after.
    void keepClock();

    void call(std::string const& what, std::string const& id, std::string const& body = "");
    void answer(std::string const& what, std::string const& id, std::string const& body = "");
    void sayHere();  // and where its echo is reached
    // Waits until all have answered this; `most`: seconds. Throws Failure with who has not.
    void all(std::string const& what, std::string const& id, double most);
    std::string const& answered(std::string const& member, std::string const& stage) const;
    void pump(double seconds = 0.02);
    void pulse();
    void check();
    void readPipe();
    // Until it says go on; `counts`: it notes first what the RTI has counted.
    void waitForManager(bool counts = false);
    void tell(Test const& test, int sample, Json const& sent);

    // The texts of a gateway's other side.
    class Away final : public bench::EndpointEvents {
    public:
        explicit Away(Federate& of) : of_(of) {}

    private:
        void discovered(bench::TopicId) override {}
        void removed(bench::TopicId) override {}
        void said(bench::TopicId topic, std::vector<std::string> const& values) override {
            of_.theirs_.insert(values[0]);
            of_.said(topic, values);
        }
        void connectionLost(std::string const& reason) override { of_.failure_ = reason; }
        void malformed(std::string const& what) override { of_.malformed(what); }
        Federate& of_;
    };
    void addTopics(bench::Endpoint& to);

    void discovered(bench::TopicId topic) override;
    void removed(bench::TopicId topic) override;
    void said(bench::TopicId topic, std::vector<std::string> const& values) override;
    void connectionLost(std::string const& reason) override { failure_ = reason; }
    void malformed(std::string const& what) override;

    Options const options_;
    volatile std::sig_atomic_t const& stop_;
    bench::Clock clock_;
    bench::StationClock stationClock_;
    bench::Jumps jumps_;
    std::string disciplined_;            // before the sample
    std::unique_ptr<bench::Echo> echo_;  // none where all members read one clock
    std::unique_ptr<bench::Endpoint> endpoint_;
    Away away_{*this};
    std::unique_ptr<MeetingPlace> meeting_;
    std::unique_ptr<Bridge> bridge_;
    std::set<std::string> theirs_;  // members of the other side
    bench::ControlPipe pipe_;
    bench::TopicId calls_ = 0, answers_ = 0;
    std::map<std::string, bench::TopicId> classes_;
    std::unique_ptr<Flows> flows_;
    Test test_;
    std::set<std::string> members_;
    Answers heard_;
    std::deque<Call> queue_;
    std::set<std::string> left_;
    std::vector<double> wakeUps_;  // the last look at the host's own lateness, us
    std::string scheduling_ = "normal";
    std::string failure_, waitsFor_;
    std::uint64_t pulsedNs_ = 0, probedNs_ = 0, lookingNs_ = 0;
    bool talks_ = false;  // what is said is heard
    bool probing_ = false, running_ = false, goOn_ = false, looking_ = false;
    std::string draining_;  // the stage that ends when all has come
    Json expected_;
};

}  // namespace ec1
