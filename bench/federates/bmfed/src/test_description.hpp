// What one test does. The same text form (key=value,...) stands on the master's command line and
// in the testDescription interaction.
#pragma once

#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace bmfed {

// Wrong command line or test description; exit code 2.
struct UsageError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class TestKind { owot, owit, rtol, rtil };

struct Pair {
    std::string sender;
    std::string receiver;
};

struct TestDescription {
    TestKind kind = TestKind::rtol;
    bool reliable = true;
    int loopVersion = 1;
    int types = 1;
    int instances = 1;
    int buffers = 1;
    std::uint64_t bufferBytes = 8;
    std::uint64_t updates = 1000;
    int samples = 5;
    std::uint64_t queuedBytesMax = 65536;
    std::uint64_t queuedUpdatesMax = 1000;
    std::uint64_t outstandingMax = 0;  // 0: send on as soon as no reflection arrives
    double tickMin = 0.001;
    double tickMax = 0.01;
    // Set by the master.
    int number = 1;              // of the test in this federation execution
    std::uint32_t firstTag = 1;  // tag of the first sample
    std::vector<Pair> pairs;

    bool objects() const { return kind == TestKind::owot || kind == TestKind::rtol; }
    bool latency() const { return kind == TestKind::rtol || kind == TestKind::rtil; }
    std::string kindName() const;
    std::string transportName() const { return reliable ? "reliable" : "best_effort"; }

    // Number of the class (1..32) that type `type` (from 0) of pair `pair` (from 0) uses. The FOM
    // makes 1..16 reliable and 17..32 best effort.
    int classNumber(std::size_t pair, int type) const;
    // Inverse of classNumber: the pair a class belongs to.
    std::size_t pairOf(int classNumber) const;

    std::string format() const;
    static TestDescription parse(std::string const& text);
    // Throws UsageError if the test can't be run with its pairs.
    void check() const;
};

constexpr int kClassesPerTransport = 16;
constexpr int kBuffersPerClass = 32;

// Splits at `separator`; no empty parts.
std::vector<std::string> split(std::string const& text, char separator);
// key=value,... as a map; used for test results too.
std::map<std::string, std::string> parseFields(std::string const& text);

std::uint64_t parseCount(std::string const& key, std::string const& value, std::uint64_t min,
                         std::uint64_t max);
double parseSeconds(std::string const& key, std::string const& value);

}  // namespace bmfed
