// rtiProxy: the federate's fast access to the RTI. It caches handles and keeps local proxies of
// instances and interactions. No type of any HLA API stands here, so another API generation or
// another middleware is another .cpp file behind this header.
#pragma once

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace bmfed {

// A service failed; the text names it and gives the RTI's reason.
struct RtiError : std::runtime_error {
    using std::runtime_error::runtime_error;
};
// The RTI can't be reached; exit code 3.
struct RtiUnreachable : RtiError {
    using RtiError::RtiError;
};

// The four trees of the FOM whose classes carry buffers.
enum class Tree { sendObj, returnObj, sendInt, returnInt };
inline bool isObject(Tree tree) { return tree == Tree::sendObj || tree == Tree::returnObj; }

// The interactions federates talk with, with their parameters in FOM order.
enum class Control { testDirective, testDescription, endFedex, testState, testResults };

// One class of a tree, as far as a test uses it.
struct ClassUse {
    Tree tree;
    int number;   // 1..32
    int buffers;  // buffer_1..buffer_n are used
};

// A reflection or a received interaction.
struct Arrival {
    Tree tree;
    int number;
    int instance;  // order of discovery within its class; 0 for interactions
    std::uint64_t stamp;
};

// What the RTI tells the federate; called inside flush, tick and wait only. Must not throw.
class RtiEvents {
public:
    virtual void discovered(Tree tree, int number) = 0;
    virtual void removed(Tree tree, int number) = 0;
    virtual void arrived(Arrival const& arrival) = 0;
    virtual void controlReceived(Control kind, std::vector<std::string> const& values) = 0;
    virtual void connectionLost(std::string const& reason) = 0;
    virtual void malformed(std::string const& what) = 0;

protected:
    ~RtiEvents() = default;
};

class RtiProxy {
public:
    explicit RtiProxy(RtiEvents& events);
    ~RtiProxy();
    RtiProxy(RtiProxy const&) = delete;
    RtiProxy& operator=(RtiProxy const&) = delete;

    std::string rtiVersion() const;

    // Federation management.
    void connect(std::string const& localSettings);
    // Creates the federation execution if needed; false: not possible yet, try again.
    bool createAndJoin(std::string const& federation, std::string const& fom,
                       std::string const& federate);
    void resign();
    // False: other federates are still joined.
    bool destroy(std::string const& federation);
    void disconnect();

    // The federates' own conversation.
    void declareControl(bool master);
    // True from then on until the federate is no longer joined.
    bool canTalk() const;
    void sendControl(Control kind, std::vector<std::string> const& values);

    // Declaration; withdraw undoes all of it and deletes this federate's instances.
    void publish(ClassUse const& use);
    void subscribe(ClassUse const& use);
    void withdraw();

    // A local proxy: registers an object instance, or prepares an interaction. Returns its index.
    std::size_t addItem(ClassUse const& use, std::uint64_t bufferBytes);
    // updateAttributeValues or sendInteraction with `stamp` at the front of every buffer.
    void queue(std::size_t item, std::uint64_t stamp);

    // evokeMultipleCallbacks(0, 0), which flushes what is pending.
    void flush();
    // evokeMultipleCallbacks(min, max).
    void tick(double minSeconds, double maxSeconds);
    // evokeCallback(max): ends with the first callback.
    void wait(double maxSeconds);

private:
    struct Impl;
    std::unique_ptr<Impl> impl_;
};

}  // namespace bmfed
