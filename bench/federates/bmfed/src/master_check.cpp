// bench-master MANAGER: a master of two samples of round trips of best effort that a partner, "a",
// sends, on an endpoint that plays this partner; what came of it, as JSON. Its manager is at that
// control pipe; none: it has none.
//
// The partner sends four in each sample. In the second it waits for long after the first, as if one
// had been lost. It says that it is through together with all else that it has to say of a sample,
// as an RTI may deliver it that delivers in bursts.
//
// bench-master slow|dead: of one sample that comes so slowly that what the partner says would have
// to wait behind it for longer than the time-out; "dead": it ends halfway.
#include <algorithm>
#include <chrono>
#include <iostream>
#include <memory>
#include <thread>
#include <utility>

#include "federate.hpp"
#include "scripted.hpp"
#include "stamp.hpp"

namespace {

using bmfed::Json;

double const kLossTimeoutS = 0.005;
std::uint64_t const kUpdates = 4;
int const kSamples = 2;
// The slow sample takes three times as long as nothing may be heard.
double const kTimeoutS = 1;
int const kGap = 250;  // waits of a millisecond
std::uint64_t const kSlowUpdates = 12;

bmfed::Scripted* script = nullptr;  // once it is made

class Partner {
public:
    Partner(bmfed::Scripted& endpoint, bool paced, std::string const& slow)
        : endpoint_(endpoint), paced_(paced), slow_(slow) {
        endpoint_.onSay = [this](bench::TopicId topic, std::vector<std::string> const& values) {
            hear(static_cast<bmfed::Control>(topic), values);
        };
        endpoint_.onSend = [this](std::uint64_t) { ++answered_; };
        endpoint_.onWait = [this](double seconds) { work(seconds); };
    }

    Json found() const { return {{"answered", answered_}, {"over", over_}, {"longest", longest_}}; }

private:
    void hear(bmfed::Control kind, std::vector<std::string> const& values) {
        auto const& what = values[0];
        if (kind == bmfed::Control::testDescription) say(values[1], "declared");
        if (kind == bmfed::Control::endFedex) say("", "resigning");
        if (kind != bmfed::Control::testDirective) return;
        between_ = between_ && what != "begin" && what != "withdraw";
        if (what == "rollCall") {
            say("", R"(libraries ["/a/libpartner.so"])");
            say("", "joined");
        } else if (what == "register") {
            say("1.1", "ready");
        } else if (what == "begin") {
            ++sample_;
            left_ = slow_.empty() ? kUpdates : kSlowUpdates;
        } else if (what == "withdraw") {
            say(values[1], "withdrawn");
        } else if (what == "over") {
            over_.push_back({values[1], sample_, left_});
        }
    }

    void say(std::string const& id, std::string const& state) {
        texts_.push_back({bmfed::Control::testState, {id, "a|" + state}});
    }

    // What happens within a wait.
    void work(double seconds) {
        if (between_) longest_ = std::max(longest_, seconds);
        for (auto& text : std::exchange(texts_, {})) {
            endpoint_.tell(static_cast<bench::TopicId>(text.first), text.second);
        }
        if (std::exchange(finished_, false)) {
            between_ = true;
            if (!paced_) sayReady();
        }
        if (left_ == 0) return;
        if (!slow_.empty()) {
            std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
            if (++slept_ % kGap != 0 || (slow_ == "dead" && left_ <= kSlowUpdates / 2)) return;
        }
        if (sample_ == kSamples && left_ == kUpdates - 1) {
            // Its own wait for what is lost.
            std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
            if (++silent_ * seconds < 5 * kLossTimeoutS) return;
        }
        // Behind the topics of the conversation that a master hears.
        endpoint_.give(2, bench::makeStamp(static_cast<std::uint16_t>(sample_), ++stamp_));
        if (--left_ > 0) return;
        std::string const id = "1." + std::to_string(sample_);
        bmfed::PartResult part;
        part.sender = true;
        part.sent = part.received = slow_.empty() ? kUpdates : kSlowUpdates;
        say(id, "sent");
        Json const results = {{"of", id}, {"from", "a"}, {"part", part.json()}};
        texts_.push_back({bmfed::Control::testResults, {results.dump()}});
        say(id, "finished");
        finished_ = true;
        // So nothing but the manager is waited for.
        if (paced_) sayReady();
    }

    void sayReady() {
        if (slow_.empty() && sample_ < kSamples) say("1." + std::to_string(sample_ + 1), "ready");
    }

    bmfed::Scripted& endpoint_;
    bool const paced_;
    std::string const slow_;
    std::vector<std::pair<bmfed::Control, std::vector<std::string>>> texts_;  // still to be said
    int sample_ = 0;
    std::uint64_t left_ = 0, stamp_ = 0, answered_ = 0;
    double silent_ = 0;          // waits
    int slept_ = 0;              // waits of the slow sample
    bool finished_ = false;      // is said with the next wait
    Json over_ = Json::array();  // of which sample that was said, in which, with so many to come
    bool between_ = false;       // from the end of a sample to the next
    double longest_ = 0;         // wait meanwhile
};

bool paced = false;
std::string slow;
std::unique_ptr<Partner> partner;

}  // namespace

namespace bench {

std::unique_ptr<Endpoint> loadEndpoint(std::string const&, EndpointEvents& events,
                                       char const* volatile*) {
    script = new bmfed::Scripted(events);
    partner.reset(new Partner(*script, paced, slow));
    return std::unique_ptr<Endpoint>(script);
}

std::vector<std::string> loadedLibraries(Endpoint const&) { return {"/a/libmaster.so"}; }

}  // namespace bench

int main(int argc, char** argv) {
    bmfed::Options options;
    options.name = "c";
    options.master = true;
    options.pairs = {{"a", "c", {}}};
    options.lossTimeoutS = kLossTimeoutS;
    std::string const given = argc > 1 ? argv[1] : "";
    if (given == "slow" || given == "dead") slow = given;
    else options.manager = given;
    options.paced = paced = !options.manager.empty();
    if (!slow.empty()) options.dataTimeoutS = options.lossTimeoutS = kTimeoutS;
    bmfed::TestDescription test;
    test.kind = bmfed::TestKind::rtil;
    test.reliable = false;
    test.loopVersion = 3;
    test.outstandingMax = 1;
    test.updates = slow.empty() ? kUpdates : kSlowUpdates;
    test.samples = slow.empty() ? kSamples : 1;
    test.tickMax = 0.001;
    test.pairs = options.pairs;
    options.tests = {test};
    volatile std::sig_atomic_t const stop = 0;
    try {
        bmfed::Federate(options, stop).run();
    } catch (std::exception const& e) {
        std::cerr << e.what() << std::endl;
        return 1;
    }
    std::cout << partner->found() << std::endl;
}
