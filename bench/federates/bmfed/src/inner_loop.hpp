// The inner loops OWOT, OWIT, RTOL and RTIL. One federate may send in some pairs and receive or
// return in others at the same time; the loop serves all of its roles.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "results.hpp"
#include "rti_proxy.hpp"
#include "test_description.hpp"

namespace bmfed {

// The stamps that arrived in a sample, so that what an RTI delivers twice counts once. It allocates
// nothing within a sample.
class SeenStamps {
public:
    // Empties it, with room for so many.
    void reset(std::uint64_t count);
    // False: it was there already.
    bool insert(std::uint64_t stamp);

private:
    std::vector<std::uint64_t> slots_;  // 0: free; a power of two of them
};

class InnerLoop {
public:
    // `pulse` runs about once per second and throws to end the loop.
    InnerLoop(RtiProxy& rti, TestDescription const& test, std::string const& self,
              double dataTimeoutS, double lossTimeoutS, std::function<void()> pulse);

    // Steps of the general execution.
    void declare();
    void registerItems();
    bool discoveredAll() const;
    // Arms the counters for a sample (from 1).
    void ready(int sample);
    std::vector<PartResult> run();

    // Callbacks.
    void discovered(Tree tree, int number);
    void arrived(Arrival const& arrival);
    bool uses(Tree tree) const { return isObject(tree) == test_.objects(); }

private:
    struct Role {
        PartResult result;
        std::vector<std::size_t> items;  // to send, or to return with
        std::uint64_t expected = 0;      // arrivals (receiver) or returns (sender of latency)
        int toDiscover = 0;
        std::uint64_t firstNs = 0, lastNs = 0;
        SeenStamps seen;  // best effort only: reliable data comes once
    };
    struct Return {
        std::size_t item;
        std::uint64_t stamp;
    };

    ClassUse use(Tree tree, std::size_t pair, int type) const;
    Tree sendTree() const { return test_.objects() ? Tree::sendObj : Tree::sendInt; }
    Tree returnTree() const { return test_.objects() ? Tree::returnObj : Tree::returnInt; }
    Role* roleOf(int number, bool sender);

    void send();
    void flushAndDrain();
    void flushReturns();
    void pause();
    bool await(std::function<bool()> const& done);
    std::string silence(Role const& role) const;
    bool complete() const;
    void housekeeping(std::uint64_t nowNs);

    RtiProxy& rti_;
    TestDescription test_;
    double dataTimeoutS_;
    double lossTimeoutS_;
    std::function<void()> pulse_;
    std::vector<Role> roles_;
    std::vector<Return> returns_;
    std::uint16_t tag_ = 0;
    bool silent_ = false;            // reliable data stopped coming; the sample is over
    std::uint64_t arrivals_ = 0;     // of any kind: progress
    std::uint64_t outstanding_ = 0;  // round trips under way
    std::uint64_t pulseNs_ = 0;
};

}  // namespace bmfed
