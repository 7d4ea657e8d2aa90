// What one test does. The same JSON stands on the master's command line and in the testDescription
// interaction.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "control_pipe.hpp"

namespace bmfed {

using bench::Json;
using bench::UsageError;

constexpr int kClassesPerTransport = 16;
constexpr int kClasses = 2 * kClassesPerTransport;
constexpr int kBuffersPerClass = 32;

enum class TestKind { owot, owit, rtol, rtil };

struct Pair {
    std::string sender;
    std::string receiver;
    std::vector<int>
        classes;  // of its types in turn, within the transportation; none: as they come
};

struct TestDescription {
    TestKind kind = TestKind::rtol;
    bool reliable = true;
    bool byService = false;  // the transportation is asked of the RTI, not chosen by classes
    int loopVersion = 1;     // 4: callbacks are immediate
    int types = 1;
    int instances = 1;
    int buffers = 1;
    std::uint64_t bufferBytes = 8;
    std::uint64_t updates = 1000;
    std::uint64_t warmUp = 0;  // sent before each sample, and not counted
    int samples = 5;
    std::uint64_t queuedBytesMax = 65536;
    std::uint64_t queuedUpdatesMax = 1000;
    std::uint64_t outstandingMax = 0;  // 0: send on as soon as no reflection arrives
    double tickMin = 0.001;
    double tickMax = 0.01;
    std::uint64_t pairsMax = ~std::uint64_t{0};  // so many of the pairs take part, the first
    // Set by the master. A test that is resumed or run alone keeps its number.
    int number = 0;              // of the test in its federation execution; 0: not given
    std::uint32_t firstTag = 1;  // tag of the first sample
    std::vector<Pair> pairs;

    bool objects() const { return kind == TestKind::owot || kind == TestKind::rtol; }
    bool latency() const { return kind == TestKind::rtol || kind == TestKind::rtil; }
    std::string kindName() const;
    std::string transportName() const { return reliable ? "reliable" : "best_effort"; }

    // Those of these pairs that take part in this test.
    void take(std::vector<Pair> const& all) {
        pairs = all;
        if (pairs.size() > pairsMax) pairs.resize(static_cast<std::size_t>(pairsMax));
    }
    // Number of the class (1..32) that type `type` (from 0) of pair `pair` (from 0) uses. The FOM
    // makes 1..16 reliable and 17..32 best effort; a test that asks for its transportation uses
    // all. Each is that of one pair and type.
    int classNumber(std::size_t pair, int type) const;
    // All buffers of one update.
    std::uint64_t messageBytes() const { return static_cast<std::uint64_t>(buffers) * bufferBytes; }
    // Round trips that wait to be written: all of a sample of up to a million, which is written
    // when it is over.
    std::uint64_t tripsHeld() const { return std::min(2 * updates + 2, std::uint64_t{1} << 21); }
    // What a federate needs for its pairs, besides the RTI's own; bmmanager computes the same.
    std::uint64_t memoryBytes(std::string const& federate) const;

    std::string format() const;
    // Throws UsageError, naming the field.
    static TestDescription parse(std::string const& text);
    // Throws UsageError if the test can't be run with its pairs.
    void check() const;
    // Throws UsageError if who waits would be taken for dead by others.
    void checkWaits(double dataTimeoutS) const;
    // Throws UsageError if this federate can't have what it needs on this host.
    void checkMemory(std::string const& federate) const;

private:
    // What stands before the first class that is used.
    int classesBefore() const { return reliable || byService ? 0 : kClassesPerTransport; }
};

}  // namespace bmfed
