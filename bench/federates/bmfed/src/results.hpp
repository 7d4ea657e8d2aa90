// What a sample yields: JSON in the testResults interaction and the control pipe, CSV in a file.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "test_description.hpp"

namespace bmfed {

// One federate's part of one pair's sample.
struct PartResult {
    std::size_t pair = 0;
    bool sender = false;
    std::uint64_t sent = 0;          // updates or interactions queued by the sender
    std::uint64_t received = 0;      // by the receiver or returnee; by the sender: returned
    std::uint64_t late = 0;          // stragglers of earlier samples, not counted above
    std::uint64_t doubled = 0;       // what came more than once, not counted above
    std::uint64_t cameReliably = 0;  // of those received, as far as the adapter is told
    std::uint64_t heartbeats = 0;    // sent while the sample was taken
    std::uint64_t unrecorded = 0;    // round trips for which the disk was too slow
    double seconds = 0;   // sender: begin to last flush or return; receiver: first to last
    std::string silence;  // reliable data stopped coming: what came, and what did not

    Json json() const;
    // Throws Json::exception.
    static PartResult parse(Json const& fields);
};

// Both parts of one pair's sample, merged by the master.
struct PairSample {
    bool fromSender = false, fromReceiver = false;
    std::uint64_t sent = 0, received = 0, late = 0, doubled = 0, cameReliably = 0, heartbeats = 0;
    std::uint64_t unrecorded = 0;
    double sendSeconds = 0, receiveSeconds = 0;
    std::string silence;

    // A part of each side has been added.
    bool complete() const { return fromSender && fromReceiver; }
    void add(PartResult const& part, bool latency);
    std::uint64_t lost() const { return sent > received ? sent - received : 0; }
};
using PairSamples = std::map<std::size_t, PairSample>;

// results.csv of the master: one row per pair and sample, with what the control pipe gets as a
// "sample" event. An empty directory: no file.
class ResultsFile {
public:
    explicit ResultsFile(std::string const& directory);
    Json save(TestDescription const& test, int sample, std::size_t pair, PairSample const& result);

private:
    std::ofstream file_;
};

// Where every round trip of a test and pair is recorded, in nanoseconds.
std::string tripsPath(std::string const& directory, TestDescription const& test, std::size_t pair);

}  // namespace bmfed
