#include "federate.hpp"

#include <sched.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <numeric>

#include "ask.hpp"
#include "kernel_time.hpp"

namespace ec1 {

char const* volatile service = "none";

namespace {

int watchdogCode = 1;

extern "C" void bark(int) {
    char const text[] = "ec1fed: no progress; the last service called was ";
    char const* const in = service;
    bool const said = ::write(STDERR_FILENO, text, sizeof text - 1) > 0 &&
                      ::write(STDERR_FILENO, in, std::strlen(in)) > 0 &&
                      ::write(STDERR_FILENO, "\n", 1) > 0;
    ::_exit(said ? watchdogCode : 1);
}

char const kAbort[] = "abort";
double const kStartS = 15;  // what an RTI may take beyond the time-out for joining
double const kLeaveS = 5;
double const kAskS = 5;  // what the daemon that disciplines a clock may take
std::uint64_t const kProbeNs = 20000000;
int const kWakeUps = 50;
int const kToldAtOnce = 20;

double secondsSince(std::uint64_t ns) { return static_cast<double>(nowNs() - ns) * 1e-9; }

std::string stage(std::string const& what, std::string const& id) { return what + " " + id; }

// Standard deviation.
double spread(std::vector<double> const& of) {
    if (of.size() < 2) return 0;
    double const n = static_cast<double>(of.size());
    double const mean = std::accumulate(of.begin(), of.end(), 0.0) / n;
    double squares = 0;
    for (double const one : of) squares += (one - mean) * (one - mean);
    return std::sqrt(squares / (n - 1));
}

}  // namespace

void watchdog(double seconds, int exitCode) {
    watchdogCode = exitCode;
    std::signal(SIGALRM, bark);
    ::alarm(static_cast<unsigned>(std::ceil(std::min(seconds, 1e8))) + 1);
}

Federate::Federate(Options options, volatile std::sig_atomic_t const& stop)
    : options_(std::move(options)),
      stop_(stop),
      stationClock_(options_.discipline.empty() ? bench::StationClock::Kind::monotonic
                                                : bench::StationClock::Kind::realtime),
      jumps_([this] { return stationClock_.nowNs(); },
             bench::Jumps::of(!options_.discipline.empty(), stationClock_.right())),
      endpoint_(bench::loadEndpoint(
          options_.instead.empty() ? options_.adapter : Side::parse(options_.instead).adapter,
          *this, &service)) {
    if (!options_.manager.empty()) pipe_ = bench::ControlPipe(options_.manager, options_.name);
    if (options_.echo) echo_.reset(new bench::Echo(stationClock_));
    // Sleeps end when they are to, not up to 50 us later.
    ::prctl(PR_SET_TIMERSLACK, 1);
    if (!options_.realTime) return;
    // Half of it is none: whoever is called "not allowed" runs as the others do.
    sched_param const priority = {10}, usual = {0};
    char const* what = "locking memory";
    bool allowed = ::mlockall(MCL_CURRENT | MCL_FUTURE) == 0;
    if (allowed) {
        what = "real-time scheduling";
        allowed = ::sched_setscheduler(0, SCHED_FIFO, &priority) == 0;
    }
    std::string const why = std::strerror(errno);
    scheduling_ = allowed ? "real-time" : "real-time not allowed";
    if (allowed) return;
    std::cout << what << " is not allowed here: " << why << "\n";
    ::munlockall();
    ::sched_setscheduler(0, SCHED_OTHER, &usual);
}

void Federate::run() {
    try {
        join();
        options_.master ? lead() : serve();
        watchdog(3 * options_.dataTimeoutS, 1);
        endpoint_->deliverTo(nullptr);
        endpoint_->resign();
        if (bridge_) bridge_->there().resign();
        std::uint64_t const start = nowNs();
        while (options_.master && !endpoint_->destroy(options_.federation) &&
               secondsSince(start) < options_.dataTimeoutS) {
            endpoint_->tick(0.01, 0.01);
        }
        endpoint_->disconnect();
        pipe_.send({{"event", "left"}, {"federate", options_.name}});
    } catch (std::exception const& e) {
        watchdog(kLeaveS, 1);
        pipe_.send({{"event", "error"}, {"message", e.what()}});
        // The others hear why; what fails on the way out changes nothing.
        try {
            if (talks_ && options_.master) call(kAbort, "", e.what());
            if (talks_ && !options_.master) answer("failed", "", e.what());
            if (talks_) endpoint_->flush();
            if (talks_) endpoint_->resign();
            if (talks_ && options_.master) endpoint_->destroy(options_.federation);
        } catch (std::exception const&) {
        }
        throw;
    }
}

void Federate::join() {
    watchdog(options_.joinTimeoutS + kStartS, 3);
    std::string const settings =
        options_.instead.empty() ? options_.settings : Side::parse(options_.instead).settings;
    if (!options_.bridge.empty()) {
        Side const side = Side::parse(options_.bridge);
        // Of DDS the members find each other.
        if (side.adapter != "dds") meeting_.reset(new MeetingPlace(side.settings));
        bridge_.reset(new Bridge(*endpoint_, bench::loadEndpoint(side.adapter, away_, &service)));
        connectPatiently(bridge_->there(), side.settings, options_.joinTimeoutS);
        joinPatiently(bridge_->there());
    }
    // Whom the other side meets at is started by the gateway, which comes last.
    if (options_.instead.empty()) endpoint_->connect(settings, bench::Callbacks::evoked);
    else connectPatiently(*endpoint_, settings, options_.joinTimeoutS);
    joinPatiently(*endpoint_);
    addTopics(*endpoint_);
    if (bridge_) addTopics(bridge_->there());
    talks_ = true;
    std::cout << "joined " << options_.federation << " on " << endpoint_->version() << std::endl;
    bench::ClockError const error = bench::Clock::error();
    pipe_.send({{"event", "joined"},
                {"federate", options_.name},
                {"rti", endpoint_->version()},
                {"clock", {{"step_ns", error.stepNs}, {"reading_ns", error.readingNs}}}});
}

void Federate::joinPatiently(bench::Endpoint& to) {
    std::uint64_t const start = nowNs();
    while (!to.join(options_.federation, options_.fom, options_.name)) {
        if (stop_ != 0) throw Failure("ended by signal " + std::to_string(stop_));
        if (secondsSince(start) > options_.joinTimeoutS) {
            throw Failure("'" + options_.federation + "' could not be joined in time");
        }
    }
}

// They have the same numbers at both sides.
void Federate::addTopics(bench::Endpoint& to) {
    using Kind = bench::Topic::Kind;
    calls_ = to.add({"PBOMcall", Kind::text, true, {"what", "id", "body"}});
    answers_ = to.add({"PBOManswer", Kind::text, true, {"from", "what", "id", "body"}});
    to.publish(options_.master ? calls_ : answers_, options_.master ? 3 : 4);
    to.subscribe(options_.master ? answers_ : calls_, options_.master ? 4 : 3);
    for (bool const reliable : {true, false}) {
        for (bool const conflate : {false, true}) {
            std::string const name = className(reliable, conflate);
            classes_[name] = to.add({name, Kind::object, reliable, {"state"}});
        }
    }
}

// ---- conversation

void Federate::call(std::string const& what, std::string const& id, std::string const& body) {
    endpoint_->say(calls_, {what, id, body});
    if (bridge_) bridge_->there().say(calls_, {what, id, body});
}

void Federate::answer(std::string const& what, std::string const& id, std::string const& body) {
    if (options_.master) heard_[options_.name][stage(what, id)] = body;
    else endpoint_->say(answers_, {options_.name, what, id, body});
}

void Federate::pulse() {
    pulsedNs_ = nowNs();
    watchdog(3 * options_.dataTimeoutS, 1);
    if (options_.master) pipe_.send({{"event", "alive"}});
    check();
}

void Federate::check() {
    clock_.look();
    if (!failure_.empty()) throw Failure(failure_);
    if (stop_ != 0) throw Failure("ended by signal " + std::to_string(stop_));
    for (auto const& member : heard_) {
        auto const found = member.second.find("failed ");
        if (found != member.second.end()) {
            throw Failure("federate '" + member.first + "' failed: " + found->second);
        }
    }
}

void Federate::pump(double seconds) {
    if (test_.lagS > 0 && running_ && flows_ && flows_->subscribes()) {
        // It looks only so often, and takes all that there is then.
        timespec const pause = {static_cast<time_t>(test_.lagS),
                                static_cast<long>(std::fmod(test_.lagS, 1) * 1e9)};
        // A signal ends it: whoever is asked to stop does not wait for this.
        ::clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, nullptr);
        endpoint_->tick(0, 0.05);
    } else if (bridge_) {
        // Each side in turn: neither is looked at more than half a millisecond late.
        endpoint_->wait(0.0005);
        endpoint_->tick(0, 0.005);
        endpoint_->flush();
        bridge_->there().wait(0.0005);
        bridge_->there().tick(0, 0.005);
        bridge_->there().flush();
    } else {
        endpoint_->wait(seconds);
        endpoint_->tick(0, 0.01);
    }
    if (secondsSince(pulsedNs_) > 1) pulse();
    check();
    if (probing_ && nowNs() - probedNs_ > kProbeNs) {
        probedNs_ = nowNs();
        flows_->probe();
    }
    if (looking_) {
        // What an update needs is there, or does not come: then the test shows what is lost.
        std::string const missing = flows_->missing();
        bool const tired = secondsSince(lookingNs_) > options_.dataTimeoutS;
        if (tired && test_.updates == 0) throw Failure(missing + " in time");
        if (tired || missing.empty()) {
            looking_ = false;
            answer("ready", waitsFor_, missing);
        }
    }
    // Who looks only so often hears nothing between two looks.
    if (!draining_.empty() &&
        flows_->complete(expected_, test_.reliable && test_.updates == 0
                                        ? options_.dataTimeoutS
                                        : options_.lossTimeoutS + 2 * test_.lagS)) {
        received(draining_);
    }
}

std::string const& Federate::answered(std::string const& member, std::string const& what) const {
    static std::string const none;
    auto const found = heard_.find(member);
    if (found == heard_.end()) return none;
    auto const body = found->second.find(what);
    return body == found->second.end() ? none : body->second;
}

void Federate::all(std::string const& what, std::string const& id, double most) {
    std::string const wanted = stage(what, id);
    std::uint64_t const start = nowNs();
    for (;;) {
        std::string missing;
        for (auto const& member : members_) {
            if (heard_[member].count(wanted) == 0) missing += " '" + member + "'";
        }
        if (missing.empty()) return;
        if (secondsSince(start) > most) {
            throw Failure("no answer '" + wanted + "' in time from" + missing);
        }
        pump();
    }
}

void Federate::said(bench::TopicId topic, std::vector<std::string> const& values) {
    if (topic == answers_) {
        heard_[values[0]][stage(values[1], values[2])] = values[3];
    } else if (topic == calls_) {
        if (values[0] == kAbort) failure_ = "the master ended the run: " + values[2];
        else queue_.push_back({values[0], values[1], values[2]});
    }
}

// ---- the master

void Federate::lead() {
    for (auto const& pair : options_.pairs) members_.insert({pair.first, pair.second});
    members_.insert(options_.name);
    std::uint64_t const start = nowNs();
    std::uint64_t called = 0;
    sayHere();
    auto const there = [&] {
        return std::all_of(members_.begin(), members_.end(), [&](std::string const& member) {
            return heard_[member].count("here ") != 0;
        });
    };
    while (!there()) {
        if (secondsSince(start) > options_.joinTimeoutS) {
            std::string missing;
            for (auto const& m : members_) missing += heard_[m].count("here ") ? "" : " " + m;
            throw Failure("not all federates joined in time; missing:" + missing);
        }
        if (nowNs() - called > 100000000) {
            called = nowNs();
            call("here", "");
        }
        pump();
    }
    std::map<std::string, std::string> echoes;
    for (auto const& member : members_) echoes[member] = answered(member, "here ");
    std::uint32_t tag = 1;
    for (Test test : options_.tests) {
        test.pairs = options_.pairs;
        if (test.echo) test.echoes = echoes;
        pipe_.send({{"event", "test"}, {"test", test.number}, {"of", options_.tests.size()}});
        Json described = test.json();
        described["tag"] = tag;
        std::string const id = std::to_string(test.number);
        std::cout << "test " << described << std::endl;
        for (auto& member : heard_) member.second.clear();
        Call const begin = {"declare", id, described.dump()};
        call(begin.what, begin.id, begin.body);
        obey(begin);
        all("declared", id, 3 * options_.dataTimeoutS);
        call("register", id);
        obey({"register", id, ""});
        all("ready", id, 3 * options_.dataTimeoutS);
        call("quiet", id);
        obey({"quiet", id, ""});
        all("quiet", id, 3 * options_.dataTimeoutS);
        double const lasts = static_cast<double>(test.updatesEach()) * test.period();
        for (int s = 1; s <= test.samples; ++s, ++tag) {
            std::string const sid = id + "." + std::to_string(s);
            if (test.conflate && pipe_.connected()) waitForManager(true);
            Json const what = {{"sample", s}, {"tag", tag}};
            call("begin", sid, what.dump());
            obey({"begin", sid, what.dump()});
            all("begun", sid, 3 * options_.dataTimeoutS);
            call("send", sid);
            obey({"send", sid, ""});
            all("sent", sid, lasts + 3 * options_.dataTimeoutS);
            Json sent = Json::object(), counts = Json::object();
            for (auto const& member : members_) {
                sent[member] = Json::parse(answered(member, stage("sent", sid)));
                counts[member] = sent[member].value("sent", std::uint64_t{0});
            }
            call("drain", sid, counts.dump());
            obey({"drain", sid, counts.dump()});
            all("received", sid, lasts + 6 * options_.dataTimeoutS);
            if (test.conflate && pipe_.connected()) waitForManager(true);
            tell(test, s, sent);
            if (options_.paced) waitForManager();
        }
        call("withdraw", id);
        obey({"withdraw", id, ""});
        all("withdrawn", id, 3 * options_.dataTimeoutS);
    }
    endAll();
}

void Federate::tell(Test const& test, int sample, Json const& sent) {
    std::string const sid = std::to_string(test.number) + "." + std::to_string(sample);
    std::sort(wakeUps_.begin(), wakeUps_.end());
    auto const wake = [&](double share) {
        return wakeUps_.empty() ? 0
                                : wakeUps_[static_cast<std::size_t>(
                                      share * static_cast<double>(wakeUps_.size() - 1))];
    };
    std::map<std::string, Json> flows;  // by subscriber
    for (auto const& pair : test.pairs) {
        if (flows.count(pair.second) == 0) {
            flows[pair.second] = Json::parse(answered(pair.second, stage("received", sid)));
        }
    }
    int number = 0;
    double busy = 0;
    for (Json const& out : sent) busy = std::max(busy, out.value("cpu_busy", 0.0));
    for (auto const& of : flows) {
        for (Json const& flow : of.second) busy = std::max(busy, flow.at("cpu_busy").get<double>());
    }
    std::vector<std::string> publishers;
    for (auto const& pair : test.pairs) {
        auto at = std::find(publishers.begin(), publishers.end(), pair.first);
        if (at == publishers.end()) at = publishers.insert(at, pair.first);
        Json const& out = sent.at(pair.first);
        Json const& all = flows.at(pair.second);
        auto const found = std::find_if(all.begin(), all.end(), [&](Json const& flow) {
            return flow.value("publisher", "") == pair.first;
        });
        if (found == all.end()) throw Failure("'" + pair.second + "' said nothing of its flow");
        Json row = *found;
        row.erase("publisher");
        row.erase("cpu");
        for (char const* const key : {"sent", "unsent", "late_sends", "send_s", "fragments"}) {
            row[key] = out.at(key);
        }
        // What did not come of any of the subscriber's flows, and of those before this one: of
        // these the RTI counts together what it replaced.
        std::int64_t missing = 0, before = 0;
        for (auto flow = all.begin(); flow != all.end(); ++flow) {
            if (flow == found) before = missing;
            missing += sent.at(flow->at("publisher")).at("sent").get<std::int64_t>() -
                       flow->at("received").get<std::int64_t>();
        }
        row["missing_of_all"] = missing;
        row["missing_before"] = before;
        row["event"] = "sample";
        row["test"] = test.number;
        row["sample"] = sample;
        row["pair"] = ++number;
        row["publisher"] = at - publishers.begin();
        row["sender"] = pair.first;
        row["receiver"] = pair.second;
        row["cpu_busy"] = busy;
        row["sender_cpu"] = out.at("cpu");
        row["receiver_cpu"] = found->at("cpu");
        row["wake_p50_us"] = wake(0.5);
        row["wake_max_us"] = wake(1);
        row["wake_sd_us"] = spread(wakeUps_);
        row["scheduling"] = scheduling_;
        pipe_.send(row);
        // Of many flows the manager is not told faster than it takes them.
        if (number % kToldAtOnce == 0 && pipe_.connected()) waitForManager();
    }
    if (!options_.manager.empty() && !pipe_.connected()) throw Failure("the manager has gone");
}

void Federate::readPipe() {
    for (auto const& line : pipe_.receive()) {
        std::string const event = bench::said(line, "event");
        if (event == "left") left_.insert(bench::said(line, "federate"));
        if (event == "on") goOn_ = true;
    }
}

void Federate::waitForManager(bool counts) {
    goOn_ = false;
    pipe_.send({{"event", "between"}, {"counts", counts}});
    std::uint64_t called = 0;
    while (!goOn_) {
        // Who does nothing has nothing new to tell the RTI, and nobody knows that it has told all.
        if (counts && nowNs() - called > 100000000) {
            called = nowNs();
            call("here", "");
        }
        if (!pipe_.connected()) throw Failure("the manager has gone");
        pump();
        readPipe();
    }
}

// One at a time, so that no middleware sees two leave at once.
void Federate::endAll() {
    for (auto const& member : members_) {
        if (member == options_.name) continue;
        call("end", member);
        std::uint64_t const start = nowNs();
        while (pipe_.connected() && left_.count(member) == 0) {
            pump();
            readPipe();
            if (secondsSince(start) > 3 * options_.dataTimeoutS) {
                throw Failure("federate '" + member + "' did not leave in time");
            }
        }
    }
}

// ---- every member

void Federate::serve() {
    std::uint64_t const start = nowNs();
    bool led = false;
    for (;;) {
        while (queue_.empty()) {
            pump();
            if (!led && secondsSince(start) > options_.joinTimeoutS) {
                throw Failure("no master was heard within the time-out for joining");
            }
        }
        led = true;
        Call const next = queue_.front();
        queue_.pop_front();
        if (!obey(next)) return;
    }
}

void Federate::sayHere() { answer("here", "", echo_ ? echo_->address() : ""); }

bool Federate::obey(Call const& call) {
    if (call.what == "here") {
        sayHere();
    } else if (call.what == "declare") {
        prepare(Test::parse(call.body));
        answer("declared", call.id);
    } else if (call.what == "register") {
        flows_->registerItems();
        if (bridge_) bridge_->registerItems();
        probing_ = true;
        looking_ = true;
        lookingNs_ = nowNs();
        waitsFor_ = call.id;
    } else if (call.what == "quiet") {
        // No probe is sent any more.
        probing_ = looking_ = false;
        wakeUps_.clear();
        for (int i = 0; i < kWakeUps && options_.master; ++i) {
            std::uint64_t const until = nowNs() + 1000000;
            bench::sleepUntil(until);
            wakeUps_.push_back(static_cast<double>(nowNs() - until) * 1e-3);
        }
        answer("quiet", call.id);
    } else if (call.what == "begin") {
        Json const what = Json::parse(call.body);
        askClock();
        flows_->begin(what.at("sample"), what.at("tag"));
        running_ = true;
        answer("begun", call.id);
    } else if (call.what == "send") {
        if (flows_->publishes()) {
            flows_->send([this] {
                if (secondsSince(pulsedNs_) > 1) pulse();
                check();
            });
            answer("sent", call.id, flows_->sent().dump());
        } else {
            flows_->othersSend();
            answer("sent", call.id, "{}");
        }
    } else if (call.what == "drain") {
        flows_->othersHaveSent();
        expected_ = Json::parse(call.body);
        draining_ = call.id;
        if (!flows_->subscribes()) received(call.id);  // else when all has come
    } else if (call.what == "withdraw") {
        endpoint_->deliverTo(nullptr);
        running_ = false;
        endpoint_->withdraw();
        if (bridge_) bridge_->withdraw();
        flows_.reset();
        answer("withdrawn", call.id);
    } else if (call.what == "end") {
        return call.id != options_.name;
    } else {
        throw Failure("the master says '" + call.what + "', which nobody knows");
    }
    return true;
}

void Federate::prepare(Test const& test) {
    test_ = test;
    bench::Capabilities const can = endpoint_->capabilities();
    if (test.reliable ? !can.reliable : !can.bestEffort) {
        throw Failure("test " + std::to_string(test.number) + ": " + endpoint_->version() +
                      " has no " + (test.reliable ? "reliable" : "best-effort") + " delivery");
    }
    if (20 + test.payload > can.messageBytesMax) {
        throw Failure("test " + std::to_string(test.number) + ": a payload of " +
                      std::to_string(test.payload) + " bytes is more than " + endpoint_->version() +
                      " carries");
    }
    // The RTI bundles by itself only where it can write later, by a thread of its own.
    if (options_.adapter != "hla1516e") test_.bundling = false;
    flows_.reset(new Flows(*endpoint_, test_, classes_.at(className(test.reliable, test.conflate)),
                           options_.name, options_.directory, stationClock_, echo_.get()));
    flows_->declare();
    bench::TopicId const topic = classes_.at(className(test.reliable, test.conflate));
    if (bridge_) bridge_->declare(test_, theirs_, topic, topic);
}

void Federate::askClock() {
    if (options_.discipline.empty()) return;
    jumps_.look([this] { return stationClock_.nowNs(); });
    disciplined_ = bench::ask(options_.discipline, kAskS);
}

void Federate::received(std::string id) {
    draining_.clear();
    running_ = false;
    Json const found = flows_->received();
    keepClock();
    answer("received", id, found.dump());
}

void Federate::keepClock() {
    if (options_.discipline.empty() || options_.directory.empty()) return;
    std::string const said = bench::ask(options_.discipline, kAskS);
    std::int64_t const jumped = jumps_.look([this] { return stationClock_.nowNs(); }).byNs;
    std::ofstream(flows_->file("clock", ".json")) << Json{{"publisher", flows_->number()},
                                                          {"boot", bench::boot()},
                                                          {"jumped_ns", jumped},
                                                          {"discipline", {disciplined_, said}}};
}

void Federate::discovered(bench::TopicId topic) {
    if (flows_) flows_->discovered(topic);
}

void Federate::removed(bench::TopicId) {
    if (running_) failure_ = "a partner's instances were removed during a test; it has gone";
}

void Federate::malformed(std::string const& what) {
    if (running_) failure_ = "unexpected data: " + what;
}

}  // namespace ec1
