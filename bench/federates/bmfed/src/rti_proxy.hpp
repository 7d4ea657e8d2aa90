// rtiProxy: the federate's fast access to the RTI, or to what is measured in its place: RTIBM's
// trees and conversation as topics of an endpoint.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "endpoint.hpp"

namespace bmfed {

// The four trees of the FOM whose classes carry buffers.
enum class Tree { sendObj, returnObj, sendInt, returnInt };
inline bool isObject(Tree tree) { return tree == Tree::sendObj || tree == Tree::returnObj; }

// The interactions federates talk with, with their parameters in FOM order.
enum class Control { testDirective, testDescription, endFedex, testState, testResults };

// How many topics there may be: all classes and the conversation's.
constexpr std::size_t kTopicsMax = 4 * 32 + 5;

// One class of a tree, as far as a test uses it.
struct ClassUse {
    Tree tree;
    int number;   // 1..32
    int buffers;  // buffer_1..buffer_n are used
};

// What the RTI tells the federate beside data while it is inside a service; must not throw.
class RtiEvents {
public:
    virtual void discovered(Tree tree, int number) = 0;
    virtual void removed(Tree tree, int number) = 0;
    virtual void controlReceived(Control kind, std::vector<std::string> const& values) = 0;
    virtual void connectionLost(std::string const& reason) = 0;
    virtual void malformed(std::string const& what) = 0;

protected:
    ~RtiEvents() = default;
};

class RtiProxy final : private bench::EndpointEvents {
public:
    // `adapter` names the endpoint's library. Throws bench::EndpointError, as all services do.
    RtiProxy(RtiEvents& events, std::string const& adapter);
    RtiProxy(RtiProxy const&) = delete;
    RtiProxy& operator=(RtiProxy const&) = delete;

    std::string rtiVersion() const { return endpoint_->version(); }
    bench::Capabilities capabilities() const { return endpoint_->capabilities(); }
    // Files of the libraries that carry the data.
    std::vector<std::string> libraries() const { return bench::loadedLibraries(*endpoint_); }
    bench::Statistics statistics() const { return endpoint_->statistics(); }

    // Federation management.
    void connect(std::string const& localSettings, bench::Callbacks callbacks) {
        endpoint_->connect(localSettings, callbacks);
    }
    // Creates the federation execution if needed; false: not possible yet, try again.
    bool createAndJoin(std::string const& federation, std::string const& fom,
                       std::string const& federate);
    void resign();
    // False: other federates are still joined.
    bool destroy(std::string const& federation) { return endpoint_->destroy(federation); }
    void disconnect() { endpoint_->disconnect(); }

    // The federates' own conversation.
    void declareControl(bool master);
    // True from then on until the federate is no longer joined.
    bool canTalk() const { return talks_; }
    void sendControl(Control kind, std::vector<std::string> const& values);

    // Declaration; withdraw undoes all of it and deletes this federate's instances.
    void publish(ClassUse const& use);
    void subscribe(ClassUse const& use);
    void withdraw() { endpoint_->withdraw(); }

    // Where data go; they name their class by its topic.
    void deliverTo(bench::DataEvents* data) { endpoint_->deliverTo(data); }
    bench::TopicId topicOf(ClassUse const& use);

    // A local proxy: registers an object instance, or prepares an interaction. Returns its index.
    std::size_t addItem(ClassUse const& use, std::uint64_t bufferBytes);
    // Lets it travel so, whatever the FOM says of its class; in force as soon as `settled`.
    void setTransport(std::size_t item, bool reliable) { endpoint_->setTransport(item, reliable); }
    bool settled() const { return endpoint_->settled(); }
    // updateAttributeValues or sendInteraction with `stamp` at the front of every buffer.
    void queue(std::size_t item, std::uint64_t stamp) { endpoint_->send(item, stamp); }

    // evokeMultipleCallbacks(0, 0), which flushes what is pending.
    void flush() { endpoint_->flush(); }
    // evokeMultipleCallbacks(min, max).
    void tick(double minSeconds, double maxSeconds) { endpoint_->tick(minSeconds, maxSeconds); }
    // evokeCallback(max): ends with the first callback.
    void wait(double maxSeconds) { endpoint_->wait(maxSeconds); }
    void listen(std::size_t rounds, bool const& enough, double maxSeconds) {
        endpoint_->listen(rounds, enough, maxSeconds);
    }
    // queue, flush and wait.
    void exchange(std::size_t item, std::uint64_t stamp, double maxSeconds) {
        endpoint_->exchange(item, stamp, maxSeconds);
    }
    // The same of many, as long as each comes back as usual.
    void trips(bench::Trips& trips, double maxSeconds) { endpoint_->trips(trips, maxSeconds); }
    // Sends back what has come; waits for such, so many times.
    void give(bench::Answers& answers) { endpoint_->give(answers); }
    void answer(bench::Answers& answers, std::size_t rounds, double maxSeconds) {
        endpoint_->answer(answers, rounds, maxSeconds);
    }

private:
    // What a topic is: a class of a tree (kind without meaning), or a kind of the conversation.
    struct Meaning {
        Tree tree;
        int number;
        Control kind;
    };

    void discovered(bench::TopicId topic) override;
    void removed(bench::TopicId topic) override;
    void said(bench::TopicId topic, std::vector<std::string> const& values) override;
    void connectionLost(std::string const& reason) override;
    void malformed(std::string const& what) override { events_.malformed(what); }

    RtiEvents& events_;
    std::unique_ptr<bench::Endpoint> endpoint_;
    std::vector<Meaning> meanings_;                          // by topic
    std::map<std::pair<int, int>, bench::TopicId> classes_;  // by tree and number
    std::vector<bench::TopicId> controls_;                   // by kind
    bool talks_ = false;
};

}  // namespace bmfed
