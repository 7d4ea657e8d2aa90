#include "federate.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "clock.hpp"
#include "watchdog.hpp"

namespace bmfed {

namespace {

// The name under which a subordinate keeps what it knows of its master.
char const kMaster[] = "master";
char const kAbort[] = "abort: ";
// How long a federate that fails may take to tell the others and to leave.
double const kLeaveS = 5;
// What an RTI may take beyond the time-out for joining, to start a server for example.
double const kStartS = 15;

std::string sampleId(int test, int sample) {
    return std::to_string(test) + "." + std::to_string(sample);
}

}  // namespace

Federate::Federate(Options options, volatile std::sig_atomic_t const& stop)
    : options_(std::move(options)),
      stop_(stop),
      rti_(*this),
      results_(options_.master ? options_.outputDirectory : std::string()) {
    if (!options_.manager.empty()) pipe_ = MessagePipe(options_.manager);
}

void Federate::run() {
    try {
        join();
        options_.master ? runMaster() : runSubordinate();
        watch();
        rti_.resign();
        if (options_.master) {
            std::uint64_t const start = nowNs();
            while (!rti_.destroy(options_.federation) &&
                   secondsSince(start) < options_.dataTimeoutS) {
                rti_.tick(0.01, 0.01);
            }
        }
        rti_.disconnect();
        pipe_.send(JsonLine("end"));
    } catch (std::exception const& e) {
        Watchdog::arm(kLeaveS, 1, "bmfed: " + std::string(e.what()));
        pipe_.send(JsonLine("error").text("message", e.what()));
        // Tell the others why, then leave; what fails on the way out changes nothing.
        try {
            if (rti_.canTalk()) {
                std::string const why = e.what();
                if (options_.master) rti_.sendControl(Control::endFedex, {kAbort + why});
                else report("failed: " + why, "");
                rti_.flush();
            }
        } catch (std::exception const&) {
        }
        try {
            rti_.resign();
            if (options_.master) rti_.destroy(options_.federation);
            rti_.disconnect();
        } catch (std::exception const&) {
        }
        throw;
    }
}

void Federate::join() {
    Watchdog::arm(options_.joinTimeoutS + kStartS, 3);
    rti_.connect(options_.localSettings);
    std::uint64_t const start = nowNs();
    while (!rti_.createAndJoin(options_.federation, options_.fom, options_.name)) {
        if (secondsSince(start) > options_.joinTimeoutS) {
            throw Failure("federation execution '" + options_.federation +
                          "' could not be joined in time");
        }
    }
    rti_.declareControl(options_.master);
    std::cout << "joined " << options_.federation << " on " << rti_.rtiVersion() << std::endl;
    pipe_.send(JsonLine("joined").text("federate", options_.name).text("rti", rti_.rtiVersion()));
}

// ---- conversation

void Federate::report(std::string const& state, std::string const& id) {
    // testState carries the sender's name, as the FOM has no other place for it.
    rti_.sendControl(Control::testState, {id, options_.name + "|" + state});
}

void Federate::direct(std::string const& what, std::string const& id) {
    rti_.sendControl(Control::testDirective, {what, id});
}

void Federate::watch() { Watchdog::arm(3 * options_.dataTimeoutS, 1); }

void Federate::pulse() {
    pulsedNs_ = nowNs();
    watch();
    if (options_.master) pipe_.send(JsonLine("alive"));
    options_.master ? direct("alive", "") : report("alive", "");
    check();
}

void Federate::check() {
    if (!failure_.empty()) throw Failure(failure_);
    if (stop_ != 0) throw Failure("ended by a signal");
    for (auto const& peer : peers_) {
        if (!peer.second.failure.empty()) {
            throw Failure("federate '" + peer.first + "' failed: " + peer.second.failure);
        }
        double const silent = secondsSince(peer.second.heardNs);
        if (silent > options_.dataTimeoutS) {
            throw Failure("federate '" + peer.first + "' was not heard for " +
                          std::to_string(silent) + " s; it died or hangs");
        }
    }
}

void Federate::pump() {
    rti_.wait(0.05);
    if (secondsSince(pulsedNs_) > 1) pulse();
    check();
}

void Federate::waitUntil(std::function<bool()> const& done) {
    while (!done()) pump();
}

// Every stage but the inner loop is short: a federate that lives but doesn't get through it is
// stuck. The inner loop bounds itself.
void Federate::waitForAll(std::string const& state, std::string const& id) {
    std::string const wanted = state + " " + id;
    double const limit = 3 * options_.dataTimeoutS;
    std::uint64_t const start = nowNs();
    for (;;) {
        auto const missing = std::find_if(
            peers_.begin(), peers_.end(),
            [&](Peers::value_type const& p) { return p.second.states.count(wanted) == 0; });
        if (missing == peers_.end()) return;
        pump();
        if (state != "finished" && secondsSince(start) > limit) {
            throw Failure("federate '" + missing->first + "' lives but did not report '" + wanted +
                          "' in time");
        }
    }
}

void Federate::controlReceived(Control kind, std::vector<std::string> const& values) {
    if (kind == Control::testState) {
        auto const bar = values[1].find('|');
        auto const peer = peers_.find(values[1].substr(0, bar));
        if (bar == std::string::npos || peer == peers_.end()) return;
        std::string const state = values[1].substr(bar + 1);
        peer->second.heardNs = nowNs();
        if (state.compare(0, 8, "failed: ") == 0) peer->second.failure = state.substr(8);
        else peer->second.states.insert(state + " " + values[0]);
        return;
    }
    if (kind == Control::testResults) {
        auto const bar = values[0].find('|');
        auto const peer = peers_.find(values[0].substr(0, bar));
        if (bar != std::string::npos && peer != peers_.end()) {
            peer->second.results.push_back(values[0].substr(bar + 1));
        }
        return;
    }
    peers_[kMaster].heardNs = nowNs();
    if (kind == Control::testDescription) {
        description_ = values[0];
        directives_.push_back(Directive{"describe", values[1]});
    } else if (kind == Control::endFedex) {
        if (values[0].compare(0, sizeof kAbort - 1, kAbort) == 0) {
            failure_ = "the master ended the run: " + values[0].substr(sizeof kAbort - 1);
        } else if (values[0] == options_.name) {
            ended_ = true;
        }
    } else if (values[0] != "alive") {
        directives_.push_back(Directive{values[0], values[1]});
    }
}

// ---- master

void Federate::runMaster() {
    std::set<std::string> names;
    for (auto const& pair : options_.pairs) names.insert({pair.sender, pair.receiver});
    names.erase(options_.name);

    // Everyone has joined once everyone has answered a roll call; from then on both directions
    // of the conversation are known to work.
    std::uint64_t const start = nowNs();
    std::uint64_t calledNs = 0;
    for (auto const& name : names) peers_[name].heardNs = start;
    auto answered = [&] {
        return std::all_of(peers_.begin(), peers_.end(), [](Peers::value_type const& p) {
            return p.second.states.count("joined ") != 0;
        });
    };
    while (!answered()) {
        if (stop_ != 0) throw Failure("ended by a signal");
        if (!failure_.empty()) throw Failure(failure_);
        if (secondsSince(start) > options_.joinTimeoutS) {
            std::string missing;
            for (auto const& p : peers_) {
                if (p.second.states.count("joined ") == 0) missing += " " + p.first;
            }
            throw Failure("not all federates joined in time; missing:" + missing);
        }
        if (secondsSince(calledNs) > 0.1) {
            calledNs = nowNs();
            watch();
            direct("rollCall", "");
        }
        rti_.wait(0.05);
    }
    for (auto& peer : peers_) peer.second.heardNs = nowNs();

    std::uint32_t tag = 1;
    for (std::size_t i = 0; i < options_.tests.size(); ++i) {
        TestDescription test = options_.tests[i];
        test.number = static_cast<int>(i) + 1;
        test.firstTag = tag;
        test.pairs = options_.pairs;
        tag += static_cast<std::uint32_t>(test.samples);
        runTest(test);
    }
    endAll();
}

void Federate::runTest(TestDescription const& test) {
    std::string const id = std::to_string(test.number);
    auto const count = [](std::size_t n) { return static_cast<unsigned long long>(n); };
    pipe_.send(JsonLine("test")
                   .count("test", count(static_cast<std::size_t>(test.number)))
                   .count("of", count(options_.tests.size()))
                   .text("description", test.format()));
    std::cout << "test " << test.format() << std::endl;

    for (auto& peer : peers_) peer.second.states.clear();
    rti_.sendControl(Control::testDescription, {test.format(), id});
    prepare(test);
    waitForAll("declared", id);
    direct("register", id);
    loop_->registerItems();
    waitForDiscovery();
    for (int s = 1; s <= test.samples; ++s) {
        loop_->ready(s);
        waitForAll("ready", sampleId(test.number, s));
        for (auto& peer : peers_) peer.second.results.clear();
        direct("begin", sampleId(test.number, s));
        rti_.flush();
        std::vector<PartResult> const parts = sample(s);
        waitForAll("finished", sampleId(test.number, s));

        std::map<std::size_t, PairSample> pairs;
        for (auto const& part : parts) {
            mergePart(parseFields(formatPart(part)), test.latency(), pairs);
        }
        for (auto const& peer : peers_) {
            for (auto const& text : peer.second.results) {
                mergePart(parseFields(text), test.latency(), pairs);
            }
        }
        for (auto const& pair : pairs) results_.save(test, s, pair.first, pair.second, pipe_);
    }
    running_ = false;
    direct("withdraw", id);
    rti_.withdraw();
    loop_.reset();
    waitForAll("withdrawn", id);
}

void Federate::endAll() {
    // One at a time, so that an RTI never sees two resign at once.
    while (!peers_.empty()) {
        auto const peer = peers_.begin();
        rti_.sendControl(Control::endFedex, {peer->first});
        std::uint64_t const start = nowNs();
        while (peer->second.states.count("resigning ") == 0) {
            pump();
            if (secondsSince(start) > 3 * options_.dataTimeoutS) {
                throw Failure("federate '" + peer->first + "' lives but did not resign in time");
            }
        }
        peers_.erase(peer);
    }
}

// ---- subordinate

std::string Federate::nextDirective(std::string const& id,
                                    std::vector<std::string> const& allowed) {
    for (;;) {
        waitUntil([&] { return ended_ || !directives_.empty(); });
        if (directives_.empty()) return "end";
        Directive const next = directives_.front();
        directives_.pop_front();
        if (next.what == "rollCall") {
            report("joined", "");
            continue;
        }
        bool const expected = std::find(allowed.begin(), allowed.end(), next.what) != allowed.end();
        if (!expected || (!id.empty() && next.id != id)) {
            throw Failure("unexpected directive '" + next.what + "' for test " + next.id);
        }
        return next.what;
    }
}

void Federate::runSubordinate() {
    std::uint64_t const start = nowNs();
    while (peers_.empty()) {  // until the master is heard
        if (stop_ != 0) throw Failure("ended by a signal");
        if (!failure_.empty()) throw Failure(failure_);
        if (secondsSince(start) > options_.joinTimeoutS) {
            throw Failure("no master was heard within the time-out for joining");
        }
        watch();
        rti_.wait(0.05);
    }
    for (;;) {
        // Between tests the master may still wait for others to join.
        if (nextDirective("", {"describe"}) == "end") break;
        TestDescription const test = TestDescription::parse(description_);
        std::string const id = std::to_string(test.number);
        std::cout << "test " << description_ << std::endl;
        prepare(test);
        report("declared", id);
        nextDirective(id, {"register"});
        loop_->registerItems();
        waitForDiscovery();
        for (int s = 1; s <= test.samples; ++s) {
            std::string const sid = sampleId(test.number, s);
            loop_->ready(s);
            report("ready", sid);
            nextDirective(sid, {"begin"});
            for (auto const& part : sample(s)) {
                rti_.sendControl(Control::testResults, {options_.name + "|" + formatPart(part)});
            }
            report("finished", sid);
        }
        // Instances of partners may vanish from here on.
        running_ = false;
        nextDirective(id, {"withdraw"});
        rti_.withdraw();
        loop_.reset();
        report("withdrawn", id);
    }
    report("resigning", "");
    rti_.flush();
}

// ---- both

void Federate::prepare(TestDescription const& test) {
    test_ = test;
    loop_.reset(new InnerLoop(rti_, test_, options_.name, options_.dataTimeoutS,
                              options_.lossTimeoutS, [this] { pulse(); }));
    loop_->declare();
}

void Federate::waitForDiscovery() {
    std::uint64_t const start = nowNs();
    while (!loop_->discoveredAll()) {
        pump();
        if (secondsSince(start) > options_.dataTimeoutS) {
            throw Failure("the partner's instances were not all discovered in time");
        }
    }
    running_ = true;
}

std::vector<PartResult> Federate::sample(int number) {
    std::vector<PartResult> const parts = loop_->run();
    for (auto const& part : parts) {
        saveRoundTrips(options_.outputDirectory, test_, number, part);
    }
    check();
    return parts;
}

// ---- callbacks

void Federate::discovered(Tree tree, int number) {
    if (loop_ != nullptr) loop_->discovered(tree, number);
}

void Federate::removed(Tree, int) {
    if (running_)
        failure_ = "a partner's instances were removed during a test; it died or resigned";
}

void Federate::arrived(Arrival const& arrival) {
    if (loop_ != nullptr) loop_->arrived(arrival);
}

void Federate::connectionLost(std::string const& reason) {
    failure_ = "connection to the RTI lost: " + reason;
}

void Federate::malformed(std::string const& what) {
    // After a withdrawal stragglers of the last test still arrive; they are no fault.
    if (running_) failure_ = "unexpected data: " + what;
}

}  // namespace bmfed
