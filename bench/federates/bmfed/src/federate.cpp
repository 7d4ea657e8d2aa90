#include "federate.hpp"

#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "stamp.hpp"
#include "watchdog.hpp"

namespace bmfed {

using bench::nowNs;
using bench::secondsSince;

namespace {

// The name under which a subordinate keeps what it knows of its master.
char const kMaster[] = "master";
char const kAbort[] = "abort: ";
// How long a federate that fails may take to tell the others and to leave.
double const kLeaveS = 5;
// How much later than its leaving a federate's last word may come: an RTI may keep order only
// within a class.
double const kLastWordsS = 2;
// What an RTI may take beyond the time-out for joining, to start a server for example.
double const kStartS = 15;
// How long the RTI may have to wait while the manager is listened to.
double const kManagerS = 0.05;
// What a state is that names the libraries of a federate.
std::string const kLibraries = "libraries ";

std::string sampleId(int test, int sample) {
    return std::to_string(test) + "." + std::to_string(sample);
}

}  // namespace

Federate::Federate(Options options, volatile std::sig_atomic_t const& stop)
    : options_(std::move(options)),
      stop_(stop),
      rti_(*this, options_.adapter),
      server_(options_.listen),
      results_(options_.master ? options_.outputDirectory : std::string()) {
    if (!options_.manager.empty()) pipe_ = bench::ControlPipe(options_.manager, options_.name);
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
        pipe_.send({{"event", "left"}, {"federate", options_.name}});
        if (refused_ != 0) {
            std::cerr << "lines refused at the control socket: " << refused_ << std::endl;
        }
    } catch (std::exception const& e) {
        Watchdog::arm(kLeaveS, 1, "bmfed: " + std::string(e.what()));
        pipe_.send({{"event", "error"}, {"message", e.what()}});
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
    rti_.connect(options_.localSettings,
                 options_.immediate ? bench::Callbacks::immediate : bench::Callbacks::evoked);
    std::uint64_t const start = nowNs();
    while (!rti_.createAndJoin(options_.federation, options_.fom, options_.name)) {
        if (secondsSince(start) > options_.joinTimeoutS) {
            throw Failure("federation execution '" + options_.federation +
                          "' could not be joined in time");
        }
    }
    rti_.declareControl(options_.master);
    std::cout << "joined " << options_.federation << " on " << rti_.rtiVersion() << std::endl;
    bench::ClockError const error = bench::Clock::error();
    pipe_.send({{"event", "joined"},
                {"federate", options_.name},
                {"rti", rti_.rtiVersion()},
                {"libraries", rti_.libraries()},
                {"clock", {{"step_ns", error.stepNs}, {"reading_ns", error.readingNs}}}});
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
    if (options_.master) pipe_.send({{"event", "alive"}});
    options_.master ? direct("alive", "") : report("alive", "");
    check();
}

void Federate::check() {
    // First: after a jump everybody seems to have been silent.
    clock_.look();
    if (!gone_.empty()) awaitReason();
    if (!failure_.empty()) throw Failure(failure_);
    if (stop_ != 0) throw Failure("ended by signal " + std::to_string(stop_));
    for (auto const& peer : peers_) {
        if (!peer.second.failure.empty()) {
            throw Failure("federate '" + peer.first + "' failed: " + peer.second.failure);
        }
    }
    checkSilence();
}

// What a federate says waits behind data that were sent before, its own and those of others, for as
// long as the RTI takes to deliver them: as long as any come, nobody is silent. Data of a sample
// end, so a federate that has died is found then at the latest.
void Federate::checkSilence() {
    if (loop_ != nullptr && loop_->came() != came_) {
        came_ = loop_->came();
        cameNs_ = nowNs();
    }
    for (auto const& peer : peers_) {
        double const unheard = secondsSince(peer.second.heardNs);
        if (unheard <= options_.dataTimeoutS) continue;
        bool const fed = cameNs_ > peer.second.heardNs;
        double const silent = fed ? secondsSince(cameNs_) : unheard;
        if (silent <= options_.dataTimeoutS) continue;
        throw Failure("federate '" + peer.first + "' was not heard for " + std::to_string(unheard) +
                      " s" +
                      (fed ? ": nothing but data came, and for " + std::to_string(silent) +
                                 " s no data, either"
                           : std::string()) +
                      "; it died or hangs, or registers or deletes so many instances that "
                      "data_timeout_s is too short");
    }
}

void Federate::awaitReason() {
    std::uint64_t const start = nowNs();
    auto const told = [&] {
        return !failure_.empty() || std::any_of(peers_.begin(), peers_.end(), [](auto const& p) {
            return !p.second.failure.empty();
        });
    };
    while (!told() && secondsSince(start) < kLastWordsS) rti_.wait(0.05);
    if (!told()) failure_ = gone_;
    gone_.clear();
}

// All of the sample that this federate sends.
void Federate::sent() {
    if (options_.master) allSent_ = true;
    else report("sent", sampleId_);
    rti_.flush();
}

// That nothing more will come of a sample of best effort, once all that send have said so.
void Federate::tellOver() {
    if (!options_.master || overTold_ || loop_ == nullptr || test_.reliable) return;
    for (auto const& pair : test_.pairs) {
        auto const peer = peers_.find(pair.sender);
        bool const said =
            peer == peers_.end() ? allSent_ : peer->second.states.count("sent " + sampleId_) != 0;
        if (!said) return;
    }
    overTold_ = true;
    loop_->over();
    direct("over", sampleId_);
    rti_.flush();
}

void Federate::pump(double seconds) {
    tellOver();
    rti_.wait(seconds);
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
        else if (state.compare(0, kLibraries.size(), kLibraries) == 0)
            peer->second.libraries = Json::parse(state.substr(kLibraries.size()), nullptr, false);
        else peer->second.states.insert(state + " " + values[0]);
        return;
    }
    if (kind == Control::testResults) {
        // They say of which federate, test and sample they are: an RTI that keeps order only
        // within a class lets other interactions overtake them.
        Json const fields = Json::parse(values[0], nullptr, false);
        try {
            if (fields.at("of") == sampleId_) addPart(PartResult::parse(fields.at("part")));
        } catch (Json::exception const& e) {
            failure_ = "test results that can't be read: " + std::string(e.what());
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
    } else if (values[0] == "over") {
        // Who has got all has not waited for it.
        if (loop_ != nullptr && values[1] == sampleId_) loop_->over();
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
        if (stop_ != 0) throw Failure("ended by signal " + std::to_string(stop_));
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
    for (auto& peer : peers_) {
        if (!peer.second.libraries.is_array()) {
            throw Failure("federate '" + peer.first + "' said what are no libraries");
        }
        pipe_.send({{"event", "libraries"},
                    {"federate", peer.first},
                    {"libraries", peer.second.libraries}});
        peer.second.heardNs = nowNs();
    }

    std::uint32_t tag = 1;
    for (std::size_t i = 0; i < options_.tests.size(); ++i) {
        TestDescription test = options_.tests[i];
        if (test.number == 0) test.number = static_cast<int>(i) + 1;
        test.firstTag = tag;
        tag += static_cast<std::uint32_t>(test.samples);
        runTest(test);
    }
    endAll();
}

void Federate::addPart(PartResult const& part) {
    if (part.pair < test_.pairs.size()) parts_[part.pair].add(part, test_.latency());
    else failure_ = "test results of a pair that there is not: " + std::to_string(part.pair + 1);
}

std::string Federate::partMissing() const {
    for (std::size_t p = 0; p < test_.pairs.size(); ++p) {
        auto const found = parts_.find(p);
        if (found == parts_.end() || !found->second.fromSender) return test_.pairs[p].sender;
        if (!found->second.fromReceiver) return test_.pairs[p].receiver;
    }
    return "";
}

void Federate::runTest(TestDescription const& test) {
    std::string const id = std::to_string(test.number);
    pipe_.send({{"event", "test"},
                {"test", test.number},
                {"of", options_.tests.size()},
                {"description", Json::parse(test.format())}});
    std::cout << "test " << test.format() << std::endl;

    for (auto& peer : peers_) peer.second.states.clear();
    rti_.sendControl(Control::testDescription, {test.format(), id});
    prepare(test);
    waitForAll("declared", id);
    direct("register", id);
    loop_->registerItems();
    waitForDiscovery();
    std::string silence;
    for (int s = 1; s <= test.samples && silence.empty(); ++s) {
        loop_->ready(s);
        waitForAll("ready", sampleId(test.number, s));
        sampleId_ = sampleId(test.number, s);
        parts_.clear();
        allSent_ = overTold_ = false;
        direct("begin", sampleId_);
        rti_.flush();
        for (auto const& part : sample()) addPart(part);
        waitForAll("finished", sampleId_);
        overTold_ = true;  // nobody waits for that word any more; the next sample is another
        std::uint64_t const start = nowNs();
        while (!partMissing().empty()) {
            pump();
            if (secondsSince(start) > options_.dataTimeoutS) {
                throw Failure("federate '" + partMissing() + "' has finished sample " + sampleId_ +
                              " but its results did not come");
            }
        }
        for (auto const& pair : parts_) {
            pipe_.send(results_.save(test, s, pair.first, pair.second));
            if (silence.empty()) silence = pair.second.silence;
        }
        if (options_.paced) waitForManager();
    }
    if (!silence.empty()) {
        std::cout << "test " << id << " ends: " << silence << std::endl;
        pipe_.send({{"event", "problem"}, {"test", test.number}, {"message", silence}});
        // Who expects a further sample hears of it before instances vanish.
        direct("stop", id);
        running_ = false;
        waitForAll("stopped", id);
    }
    running_ = false;
    direct("withdraw", id);
    rti_.withdraw();
    loop_.reset();
    waitForAll("withdrawn", id);
}

void Federate::readPipe() {
    std::vector<Json> lines = pipe_.receive();
    for (auto& line : server_.receive()) lines.push_back(std::move(line));
    for (auto const& line : lines) {
        std::string const event = bench::said(line, "event");
        std::string const federate = bench::said(line, "federate");
        // Also the words that federates have for a manager come here, and count for nothing.
        if (event.empty() || (event == "left" && federate.empty())) {
            if (refused_++ == 0) {
                std::cerr << "a line at the control socket was refused, as it has no text for "
                          << (event.empty() ? "'event'" : "'federate'") << "; the run goes on"
                          << std::endl;
            }
        } else if (event == "left") {
            left_.insert(federate);
        } else if (event == "on") {
            goOn_ = true;
        }
    }
}

void Federate::waitForManager() {
    goOn_ = false;
    pipe_.send({{"event", "between"}});
    while (!goOn_) {
        if (!pipe_.connected()) throw Failure("the manager has gone");
        // Its word is acted on at once: a federate that sleeps on begins its sample cold.
        pipe_.await(kManagerS);
        // One callback each, so that what others say does not pile up.
        for (std::size_t n = 0; n <= peers_.size(); ++n) pump(0);
        readPipe();
    }
}

void Federate::endAll() {
    // One at a time, so that an RTI never sees two resign at once: the next is asked when the last
    // has left, which the federation execution can't tell but the control pipe does.
    bool const told = pipe_.connected() || server_.listening();
    if (!told) std::cout << "no control pipe: two federates may resign at once" << std::endl;
    while (!peers_.empty()) {
        auto const peer = peers_.begin();
        rti_.sendControl(Control::endFedex, {peer->first});
        std::uint64_t const start = nowNs();
        auto const hasLeft = [&] {
            readPipe();
            return told ? left_.count(peer->first) != 0
                        : peer->second.states.count("resigning ") != 0;
        };
        while (!hasLeft()) {
            peer->second.heardNs = nowNs();  // it says nothing while it leaves
            pump();
            if (secondsSince(start) > 3 * options_.dataTimeoutS) {
                throw Failure("federate '" + peer->first + "' lives but did not leave in time");
            }
        }
        peers_.erase(peer);
    }
}

// ---- subordinate

Federate::Directive Federate::nextDirective(std::vector<Directive> const& allowed) {
    for (;;) {
        waitUntil([&] { return ended_ || !directives_.empty(); });
        if (directives_.empty()) return Directive{"end", ""};
        Directive const next = directives_.front();
        directives_.pop_front();
        if (next.what == "rollCall") {
            // As text of any bytes: what a file may be called.
            Json const libraries = rti_.libraries();
            report(kLibraries + libraries.dump(-1, ' ', true, Json::error_handler_t::replace), "");
            report("joined", "");
            continue;
        }
        for (auto const& one : allowed) {
            if (one.what == next.what && (one.id.empty() || one.id == next.id)) {
                taken_ = next;
                return next;
            }
        }
        if (next.what == taken_.what && next.id == taken_.id) {
            throw Failure("directive '" + next.what + "' for test " + next.id +
                          " came twice: the RTI delivers reliable messages more than once");
        }
        throw Failure("unexpected directive '" + next.what + "' for test " + next.id);
    }
}

void Federate::runSubordinate() {
    std::uint64_t const start = nowNs();
    while (peers_.empty()) {  // until the master is heard
        if (stop_ != 0) throw Failure("ended by signal " + std::to_string(stop_));
        if (!failure_.empty()) throw Failure(failure_);
        if (secondsSince(start) > options_.joinTimeoutS) {
            throw Failure("no master was heard within the time-out for joining");
        }
        watch();
        rti_.wait(0.05);
    }
    for (;;) {
        // Between tests the master may still wait for others to join.
        if (nextDirective({{"describe", ""}}).what == "end") break;
        TestDescription const test = TestDescription::parse(description_);
        std::string const id = std::to_string(test.number);
        std::cout << "test " << description_ << std::endl;
        prepare(test);
        report("declared", id);
        nextDirective({{"register", id}});
        loop_->registerItems();
        waitForDiscovery();
        bool stopped = false;
        for (int s = 1; s <= test.samples; ++s) {
            std::string const sid = sampleId(test.number, s);
            sampleId_ = sid;  // what is said of the last one does not count for this
            loop_->ready(s);
            report("ready", sid);
            if (nextDirective({{"begin", sid}, {"stop", id}}).what == "stop") {
                // The test makes no sense any more.
                running_ = false;
                report("stopped", id);
                stopped = true;
                break;
            }
            for (auto const& part : sample()) {
                Json const text = {{"of", sid}, {"from", options_.name}, {"part", part.json()}};
                rti_.sendControl(Control::testResults, {text.dump()});
            }
            report("finished", sid);
        }
        // Instances of partners may vanish from here on.
        running_ = false;
        if (nextDirective({{"withdraw", id}, {"stop", stopped ? "-" : id}}).what == "stop") {
            report("stopped", id);  // after the last sample there was nothing left to stop
            nextDirective({{"withdraw", id}});
        }
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
    bench::Capabilities const can = rti_.capabilities();
    if (test.reliable ? !can.reliable : !can.bestEffort) {
        throw Failure("test " + std::to_string(test.number) + ": " + rti_.rtiVersion() +
                      " has no transportation '" + test.transportName() + "'");
    }
    if (test.byService && !can.transportChange) {
        throw Failure("test " + std::to_string(test.number) + ": " + rti_.rtiVersion() +
                      " has no choice of transportation; choose it by class");
    }
    if ((test.loopVersion == 4) != options_.immediate) {
        throw Failure("test " + std::to_string(test.number) + ": loop 4 and no other is run with " +
                      "immediate callbacks (--immediate)");
    }
    if (test.messageBytes() > can.messageBytesMax) {
        throw Failure("test " + std::to_string(test.number) + ": a message has " +
                      std::to_string(test.messageBytes()) + " bytes; " + rti_.rtiVersion() +
                      " carries " + std::to_string(can.messageBytesMax));
    }
    test.checkMemory(options_.name);
    loop_.reset(new InnerLoop(rti_, test_, options_.name, options_.outputDirectory,
                              options_.dataTimeoutS, options_.lossTimeoutS,
                              {[this] { pulse(); }, [this] { sent(); }, [this] { tellOver(); }}));
    loop_->declare();
}

void Federate::waitForDiscovery() {
    std::uint64_t const start = nowNs();
    while (!loop_->discoveredAll() || !rti_.settled()) {
        pump();
        if (secondsSince(start) > options_.dataTimeoutS) {
            throw Failure(std::string(rti_.settled()
                                          ? "the partner's instances were not all discovered"
                                          : "a change of transportation was not confirmed") +
                          " in time; give more data_timeout_s if there are many");
        }
    }
    running_ = true;
}

std::vector<PartResult> Federate::sample() {
    std::vector<PartResult> const parts = loop_->run();
    check();
    return parts;
}

// ---- callbacks

void Federate::discovered(Tree tree, int number) {
    if (loop_ != nullptr) loop_->discovered(tree, number);
}

void Federate::removed(Tree, int) {
    if (running_) gone_ = "a partner's instances were removed during a test; it died or resigned";
}

void Federate::connectionLost(std::string const& reason) {
    failure_ = "connection to the RTI lost: " + reason;
}

void Federate::malformed(std::string const& what) {
    // After a withdrawal stragglers of the last test still arrive; they are no fault.
    if (running_) failure_ = "unexpected data: " + what;
}

}  // namespace bmfed
