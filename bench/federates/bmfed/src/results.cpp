#include "results.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iomanip>
#include <sstream>
#include <stdexcept>

namespace bmfed {

namespace {

// Nearest rank: the smallest value with at least `share` of all values at or below it.
double percentileMs(std::vector<std::uint64_t> const& sorted, double share) {
    auto const rank =
        static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size()) - 1e-9));
    return static_cast<double>(sorted[rank == 0 ? 0 : rank - 1]) * 1e-6;
}

double field(std::map<std::string, std::string> const& fields, char const* key) {
    auto const found = fields.find(key);
    if (found == fields.end()) throw std::runtime_error(std::string("test results lack ") + key);
    return std::strtod(found->second.c_str(), nullptr);
}

}  // namespace

RoundTrips summarize(std::vector<std::uint64_t> ns) {
    RoundTrips out;
    if (ns.empty()) return out;
    std::sort(ns.begin(), ns.end());
    double const n = static_cast<double>(ns.size());
    double sum = 0;
    for (auto const v : ns) sum += static_cast<double>(v);
    double const mean = sum / n;
    double squares = 0;
    for (auto const v : ns)
        squares += (static_cast<double>(v) - mean) * (static_cast<double>(v) - mean);
    out.mean = mean * 1e-6;
    out.sd = ns.size() > 1 ? std::sqrt(squares / (n - 1)) * 1e-6 : 0;
    out.min = static_cast<double>(ns.front()) * 1e-6;
    out.max = static_cast<double>(ns.back()) * 1e-6;
    out.p50 = percentileMs(ns, 0.5);
    out.p90 = percentileMs(ns, 0.9);
    out.p99 = percentileMs(ns, 0.99);
    out.p999 = percentileMs(ns, 0.999);
    return out;
}

std::string formatPart(PartResult const& part) {
    std::ostringstream out;
    out << std::setprecision(12) << "pair=" << part.pair << ",sender=" << part.sender
        << ",sent=" << part.sent << ",received=" << part.received << ",late=" << part.late
        << ",seconds=" << part.seconds;
    if (!part.roundTripsNs.empty()) {
        RoundTrips const r = summarize(part.roundTripsNs);
        out << ",mean=" << r.mean << ",sd=" << r.sd << ",min=" << r.min << ",p50=" << r.p50
            << ",p90=" << r.p90 << ",p99=" << r.p99 << ",p999=" << r.p999 << ",max=" << r.max;
    }
    return out.str();
}

void mergePart(std::map<std::string, std::string> const& fields, bool latency,
               std::map<std::size_t, PairSample>& samples) {
    auto get = [&](char const* key) { return field(fields, key); };
    PairSample& s = samples[static_cast<std::size_t>(get("pair"))];
    bool const sender = get("sender") != 0;
    s.late += static_cast<std::uint64_t>(get("late"));
    if (sender) {
        s.sent = static_cast<std::uint64_t>(get("sent"));
        s.sendSeconds = get("seconds");
    } else {
        s.receiveSeconds = get("seconds");
    }
    // A latency test counts what came back, a throughput test what arrived.
    if (sender == latency) s.received = static_cast<std::uint64_t>(get("received"));
    if (fields.count("mean") != 0) {
        s.roundTrips.mean = get("mean");
        s.roundTrips.sd = get("sd");
        s.roundTrips.min = get("min");
        s.roundTrips.p50 = get("p50");
        s.roundTrips.p90 = get("p90");
        s.roundTrips.p99 = get("p99");
        s.roundTrips.p999 = get("p999");
        s.roundTrips.max = get("max");
    }
}

ResultsFile::ResultsFile(std::string const& directory) {
    if (directory.empty()) return;
    file_.open(directory + "/results.csv");
    if (!file_) throw std::runtime_error("can't write " + directory + "/results.csv");
    file_ << "test,kind,transport,loop,types,instances,buffers,bytes,updates,pair,sender,receiver,"
             "sample,sent,received,lost,late,send_s,receive_s,rate_hz,mb_per_s,rtt_mean_ms,"
             "rtt_sd_ms,rtt_min_ms,rtt_p50_ms,rtt_p90_ms,rtt_p99_ms,rtt_p999_ms,rtt_max_ms\n"
          << std::setprecision(9);
}

void ResultsFile::save(TestDescription const& t, int sample, std::size_t pair, PairSample const& r,
                       MessagePipe& pipe) {
    // Throughput: intervals between the first and the last arrival, on the receiver's clock.
    // Latency: round trips per second of the sender's loop.
    double const seconds = t.latency() ? r.sendSeconds : r.receiveSeconds;
    double const intervals = static_cast<double>(r.received) - (t.latency() ? 0 : 1);
    double const rate = seconds > 0 && intervals > 0 ? intervals / seconds : 0;
    double const megabytes =
        rate * static_cast<double>(t.bufferBytes) * static_cast<double>(t.buffers) * 1e-6;
    RoundTrips const& m = r.roundTrips;
    Pair const& names = t.pairs[pair];
    if (file_.is_open()) {
        file_ << t.number << ',' << t.kindName() << ',' << t.transportName() << ',' << t.loopVersion
              << ',' << t.types << ',' << t.instances << ',' << t.buffers << ',' << t.bufferBytes
              << ',' << t.updates << ',' << pair + 1 << ',' << names.sender << ',' << names.receiver
              << ',' << sample << ',' << r.sent << ',' << r.received << ',' << r.lost() << ','
              << r.late << ',' << r.sendSeconds << ',' << r.receiveSeconds << ',' << rate << ','
              << megabytes << ',' << m.mean << ',' << m.sd << ',' << m.min << ',' << m.p50 << ','
              << m.p90 << ',' << m.p99 << ',' << m.p999 << ',' << m.max
              << std::endl;  // each sample reaches the disk: results so far are always kept
        if (!file_) throw std::runtime_error("can't write results.csv (disk full?)");
    }
    auto const count = [](int n) { return static_cast<unsigned long long>(n); };
    pipe.send(JsonLine("sample")
                  .count("test", count(t.number))
                  .text("kind", t.kindName())
                  .text("transport", t.transportName())
                  .count("loop", count(t.loopVersion))
                  .count("types", count(t.types))
                  .count("instances", count(t.instances))
                  .count("buffers", count(t.buffers))
                  .count("bytes", t.bufferBytes)
                  .count("updates", t.updates)
                  .count("pair", pair + 1)
                  .text("sender", names.sender)
                  .text("receiver", names.receiver)
                  .count("sample", count(sample))
                  .count("sent", r.sent)
                  .count("received", r.received)
                  .count("lost", r.lost())
                  .count("late", r.late)
                  .number("send_s", r.sendSeconds)
                  .number("receive_s", r.receiveSeconds)
                  .number("rate_hz", rate)
                  .number("mb_per_s", megabytes)
                  .number("rtt_mean_ms", m.mean)
                  .number("rtt_sd_ms", m.sd)
                  .number("rtt_min_ms", m.min)
                  .number("rtt_p50_ms", m.p50)
                  .number("rtt_p90_ms", m.p90)
                  .number("rtt_p99_ms", m.p99)
                  .number("rtt_p999_ms", m.p999)
                  .number("rtt_max_ms", m.max));
}

void saveRoundTrips(std::string const& directory, TestDescription const& test, int sample,
                    PartResult const& part) {
    if (directory.empty() || part.roundTripsNs.empty()) return;
    std::string const path = directory + "/rtt_test" + std::to_string(test.number) + "_pair" +
                             std::to_string(part.pair + 1) + ".csv";
    std::ofstream file(path, sample == 1 ? std::ios::trunc : std::ios::app);
    if (sample == 1) file << "sample,rtt_ns\n";
    for (auto const ns : part.roundTripsNs) file << sample << ',' << ns << '\n';
    if (!file) throw std::runtime_error("can't write " + path);
}

}  // namespace bmfed
