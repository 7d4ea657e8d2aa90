// What a sample yields, as text for the testResults interaction and as CSV.
#pragma once

#include <cstdint>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "message_pipe.hpp"
#include "test_description.hpp"

namespace bmfed {

// One federate's part of one pair's sample.
struct PartResult {
    std::size_t pair = 0;
    bool sender = false;
    std::uint64_t sent = 0;      // updates or interactions queued by the sender
    std::uint64_t received = 0;  // by the receiver or returnee; by the sender: returned
    std::uint64_t late = 0;      // stragglers of earlier samples, not counted above
    double seconds = 0;          // sender: begin to last flush or return; receiver: first to last
    std::vector<std::uint64_t> roundTripsNs;
};

// Statistics of one sample's round trips, in milliseconds.
struct RoundTrips {
    double mean = 0, sd = 0, min = 0, p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0;
};
RoundTrips summarize(std::vector<std::uint64_t> roundTripsNs);

// Both parts of one pair's sample, merged by the master.
struct PairSample {
    std::uint64_t sent = 0, received = 0, late = 0;
    double sendSeconds = 0, receiveSeconds = 0;
    RoundTrips roundTrips;

    std::uint64_t lost() const { return sent > received ? sent - received : 0; }
};

std::string formatPart(PartResult const& part);
// Adds a part, as formatPart wrote it, to the samples by pair.
void mergePart(std::map<std::string, std::string> const& fields, bool latency,
               std::map<std::size_t, PairSample>& samples);

// results.csv of the master: one row per pair and sample. The same row goes through the pipe.
class ResultsFile {
public:
    // An empty directory: no file.
    explicit ResultsFile(std::string const& directory);
    void save(TestDescription const& test, int sample, std::size_t pair, PairSample const& result,
              MessagePipe& pipe);

private:
    std::ofstream file_;
};

// Every round trip of a test, one CSV line each: sample,rtt_ns.
void saveRoundTrips(std::string const& directory, TestDescription const& test, int sample,
                    PartResult const& part);

}  // namespace bmfed
