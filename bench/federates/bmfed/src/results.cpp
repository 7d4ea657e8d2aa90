#include "results.hpp"

#include <iomanip>
#include <stdexcept>

namespace bmfed {

Json PartResult::json() const {
    return {{"pair", pair},
            {"sender", sender},
            {"sent", sent},
            {"received", received},
            {"late", late},
            {"doubled", doubled},
            {"came_reliably", cameReliably},
            {"heartbeats", heartbeats},
            {"unrecorded", unrecorded},
            {"seconds", seconds},
            {"silence", silence}};
}

PartResult PartResult::parse(Json const& fields) {
    PartResult part;
    fields.at("pair").get_to(part.pair);
    fields.at("sender").get_to(part.sender);
    fields.at("sent").get_to(part.sent);
    fields.at("received").get_to(part.received);
    fields.at("late").get_to(part.late);
    fields.at("doubled").get_to(part.doubled);
    fields.at("came_reliably").get_to(part.cameReliably);
    fields.at("heartbeats").get_to(part.heartbeats);
    fields.at("unrecorded").get_to(part.unrecorded);
    fields.at("seconds").get_to(part.seconds);
    fields.at("silence").get_to(part.silence);
    return part;
}

void PairSample::add(PartResult const& part, bool latency) {
    (part.sender ? fromSender : fromReceiver) = true;
    late += part.late;
    doubled += part.doubled;
    heartbeats += part.heartbeats;
    unrecorded += part.unrecorded;
    if (part.sender) {
        sent = part.sent;
        sendSeconds = part.seconds;
    } else {
        receiveSeconds = part.seconds;
    }
    // A latency test counts what came back, a throughput test what arrived.
    if (part.sender == latency) {
        received = part.received;
        cameReliably = part.cameReliably;
    }
    if (silence.empty()) silence = part.silence;
}

ResultsFile::ResultsFile(std::string const& directory) {
    if (directory.empty()) return;
    file_.open(directory + "/results.csv");
    if (!file_) throw std::runtime_error("can't write " + directory + "/results.csv");
    file_ << "test,kind,transport,loop,types,instances,buffers,bytes,updates,pair,sender,receiver,"
             "sample,sent,received,lost,late,doubled,send_s,receive_s,rate_hz,mb_per_s,"
             "came_reliably,heartbeats,unrecorded\n"
          << std::setprecision(9);
}

Json ResultsFile::save(TestDescription const& t, int sample, std::size_t pair,
                       PairSample const& r) {
    // Throughput: intervals between the first and the last arrival, on the receiver's clock.
    // Latency: round trips per second of the sender's loop.
    double const seconds = t.latency() ? r.sendSeconds : r.receiveSeconds;
    double const intervals = static_cast<double>(r.received) - (t.latency() ? 0 : 1);
    double const rate = seconds > 0 && intervals > 0 ? intervals / seconds : 0;
    double const megabytes =
        rate * static_cast<double>(t.bufferBytes) * static_cast<double>(t.buffers) * 1e-6;
    Pair const& names = t.pairs[pair];
    if (file_.is_open()) {
        file_ << t.number << ',' << t.kindName() << ',' << t.transportName() << ',' << t.loopVersion
              << ',' << t.types << ',' << t.instances << ',' << t.buffers << ',' << t.bufferBytes
              << ',' << t.updates << ',' << pair + 1 << ',' << names.sender << ',' << names.receiver
              << ',' << sample << ',' << r.sent << ',' << r.received << ',' << r.lost() << ','
              << r.late << ',' << r.doubled << ',' << r.sendSeconds << ',' << r.receiveSeconds
              << ',' << rate << ',' << megabytes << ',' << r.cameReliably << ',' << r.heartbeats
              << ',' << r.unrecorded
              << std::endl;  // each sample reaches the disk: results so far are always kept
        if (!file_) throw std::runtime_error("can't write results.csv (disk full?)");
    }
    return {{"event", "sample"},
            {"test", t.number},
            {"kind", t.kindName()},
            {"transport", t.transportName()},
            {"loop", t.loopVersion},
            {"types", t.types},
            {"instances", t.instances},
            {"buffers", t.buffers},
            {"bytes", t.bufferBytes},
            {"updates", t.updates},
            {"pair", pair + 1},
            {"sender", names.sender},
            {"receiver", names.receiver},
            {"sample", sample},
            {"sent", r.sent},
            {"received", r.received},
            {"lost", r.lost()},
            {"late", r.late},
            {"doubled", r.doubled},
            {"send_s", r.sendSeconds},
            {"receive_s", r.receiveSeconds},
            {"rate_hz", rate},
            {"mb_per_s", megabytes},
            {"came_reliably", r.cameReliably},
            {"heartbeats", r.heartbeats},
            {"unrecorded", r.unrecorded}};
}

std::string tripsPath(std::string const& directory, TestDescription const& test, std::size_t pair) {
    return directory + "/rtt_test" + std::to_string(test.number) + "_pair" +
           std::to_string(pair + 1) + ".raw";
}

}  // namespace bmfed
