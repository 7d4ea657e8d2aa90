#include "session.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <stdexcept>

#include "ask.hpp"
#include "clock.hpp"

namespace range {

namespace {

// What an RTI may take beyond the time-out for joining, to start a server for example.
double const kStartS = 15;
// How much later than its leaving a federate's last word may come.
double const kLastWordsS = 2;
double const kAskS = 5;
// What a reader that lives may take to have all on disk.
double const kWrittenS = 20;
// For how long a federate that measures goes on when it has sent its last.
double const kStaysS = 6;

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

double secondsSince(std::uint64_t ns) {
    return static_cast<double>(Measure::monotonicNs() - ns) * 1e-9;
}

Json histogram(bench::Histogram const& of) {
    Json found = Json::array();
    for (unsigned b = 0; b < bench::Histogram::kBuckets; ++b) {
        if (of.counts()[b] != 0) {
            found.push_back({bench::Histogram::leastOf(b), of.counts()[b]});
        }
    }
    return found;
}

Json deadlinesOf(bench::Deadlines const& of) {
    return {{"turns", of.turns()},
            {"late", of.late()},
            {"missed", of.missed()},
            {"max_ns", of.lateness().largest()},
            {"lateness", histogram(of.lateness())}};
}

long residentKb(std::string const& process) {
    std::ifstream in("/proc/" + process + "/statm");
    long size = 0, resident = 0;
    in >> size >> resident;
    return resident * (::sysconf(_SC_PAGESIZE) / 1024);
}

// Of this process and of the reader that started it.
std::array<long, 2> memoryKb() {
    return {residentKb("self"), residentKb(std::to_string(::getppid()))};
}

std::string fileOf(std::string const& out, char const* what, Test const& test,
                   std::string const& name, char const* kind) {
    return out + "/" + what + "_test" + std::to_string(test.number) + "_" + name + kind;
}

}  // namespace

Session::Session(Options options, Shared& shared, volatile std::sig_atomic_t const& stop)
    : options_(std::move(options)),
      shared_(shared),
      stop_(stop),
      clock_(options_.clock == "realtime" ? bench::StationClock::Kind::realtime
                                          : bench::StationClock::Kind::monotonic),
      jumps_([this] { return clock_.nowNs(); },
             bench::Jumps::of(options_.clock == "realtime", clock_.right())),
      echo_(clock_),
      instrument_(options_.instrument, *this, clock_),
      measure_(instrument_, shared, stop) {
    if (!options_.manager.empty()) pipe_ = bench::ControlPipe(options_.manager, options_.name);
    watching_ = std::thread([this] { watch(); });
}

Session::~Session() {
    quit_ = true;
    watching_.join();
}

void Session::run() {
    try {
        join();
        if (options_.live) runLive();
        else if (options_.master) runMaster();
        else runOther();
        leave();
        tellManager({{"event", "left"}, {"federate", options_.name}});
    } catch (std::exception const& e) {
        tellManager({{"event", "error"}, {"message", e.what()}});
        // The others hear why; what fails on the way out changes nothing.
        patienceS_ = 5;
        try {
            measure_.open = false;
            if (known_ || options_.master) say("failed", nullptr, e.what());
            instrument_.flush();
            leave();
        } catch (std::exception const&) {
        }
        throw;
    }
}

void Session::join() {
    patienceS_ = options_.joinTimeoutS + kStartS;
    instrument_.connect();
    std::uint64_t const start = Measure::monotonicNs();
    while (!instrument_.join()) {
        check();
        if (secondsSince(start) > options_.joinTimeoutS) {
            throw Failure("the federation execution could not be joined in time");
        }
    }
    patienceS_ = 3 * options_.dataTimeoutS;
    shared_.state.store(static_cast<std::uint32_t>(State::joined));
    std::cout << "joined on " << instrument_.version() << std::endl;
    bench::ClockError const error = bench::Clock::error();
    tellManager({{"event", "joined"},
                 {"federate", options_.name},
                 {"rti", instrument_.version()},
                 {"clock", {{"step_ns", error.stepNs}, {"reading_ns", error.readingNs}}}});
}

void Session::leave() {
    instrument_.resign();
    if (options_.master || options_.live) {
        std::uint64_t const start = Measure::monotonicNs();
        while (!instrument_.destroy() && !options_.live &&
               secondsSince(start) < options_.dataTimeoutS) {
            ::usleep(10000);
        }
    }
    instrument_.disconnect();
}

// ---- conversation

void Session::say(std::string const& what, Test const* test, std::string const& more) {
    std::string const number = test == nullptr ? "" : std::to_string(test->number);
    instrument_.say({what, number, options_.name, more});
}

void Session::said(std::vector<std::string> const& words) {
    std::string const &what = words[0], &number = words[1], &from = words[2], &more = words[3];
    if (from == options_.name) return;
    if (what == "stations" && !options_.master) {
        if (!meet(Json::parse(more, nullptr, false))) {
            failure_ = "federate '" + from + "' named stations that nobody can meet";
        }
        return;
    }
    auto const peer = peers_.find(from);
    if (peer == peers_.end()) return;
    peer->second.heardNs = Measure::monotonicNs();
    if (what == "failed") {
        peer->second.failure = more;
    } else if (what == "here") {
        peer->second.echo = more;
    } else if (what == "test") {
        tests_.push_back(Json::parse(more, nullptr, false));
    } else if (what == "end") {
        if (more == options_.name) ended_ = true;
    } else if (what != "alive") {
        peer->second.said[what + " " + number] = more;
    }
}

bool Session::meet(Json const& told) {
    auto const texts = [](Json const& of) {
        return std::all_of(of.begin(), of.end(), [](Json const& one) { return one.is_string(); });
    };
    bool const good = told.is_object() && told.contains("names") && told["names"].is_array() &&
                      texts(told["names"]) && told.contains("echoes") &&
                      told["echoes"].is_object() && texts(told["echoes"]);
    if (!good) return false;
    options_.names = told["names"].get<std::vector<std::string>>();
    for (auto const& name : options_.names) {
        peers_[name].echo = told["echoes"].value(name, "");
        peers_[name].heardNs = Measure::monotonicNs();
    }
    peers_.erase(options_.name);
    auto const at = std::find(options_.names.begin(), options_.names.end(), options_.name);
    station_ = static_cast<unsigned>(at - options_.names.begin()) + 1;
    instrument_.number(station_);
    known_ = true;
    return true;
}

void Session::check() {
    if (stop_ != 0) throw Failure("ended by signal " + std::to_string(stop_));
    if (!instrument_.problem().empty()) throw Failure(instrument_.problem());
    if (!failure_.empty()) throw Failure(failure_);
    for (auto const& peer : peers_) {
        if (!peer.second.failure.empty()) {
            throw Failure("federate '" + peer.first + "' failed: " + peer.second.failure);
        }
        double const silent = known_ ? secondsSince(peer.second.heardNs) : 0;
        if (silent > options_.dataTimeoutS + quietS_ && left_.count(peer.first) == 0) {
            throw Failure("federate '" + peer.first + "' was not heard for " +
                          std::to_string(silent) + " s; it died or hangs");
        }
    }
}

void Session::beat() { ++beats_; }

void Session::pump() {
    instrument_.pump(0.05);
    beat();
    if (known_ && secondsSince(saidNs_) > 1) {
        saidNs_ = Measure::monotonicNs();
        say("alive", nullptr);
    }
    readPipe();
    check();
}

void Session::waitUntil(std::string const& forWhat, double seconds,
                        std::function<bool()> const& done) {
    std::uint64_t const start = Measure::monotonicNs();
    while (!done()) {
        pump();
        if (secondsSince(start) > seconds) throw Failure(forWhat);
    }
}

std::vector<std::string> Session::others(Test const& test) const {
    std::vector<std::string> found(options_.names.begin(), options_.names.begin() + test.federates);
    found.erase(std::remove(found.begin(), found.end(), options_.name), found.end());
    return found;
}

void Session::waitForAll(std::string const& what, Test const& test) {
    std::string const wanted = what + " " + std::to_string(test.number);
    for (auto const& name : others(test)) {
        waitUntil("federate '" + name + "' lives but did not say '" + wanted + "' in time",
                  3 * options_.dataTimeoutS, [&] { return peers_[name].said.count(wanted) != 0; });
    }
}

bool Session::anySaid(std::string const& what, Test const& test) const {
    std::string const wanted = what + " " + std::to_string(test.number);
    return std::any_of(peers_.begin(), peers_.end(),
                       [&](auto const& peer) { return peer.second.said.count(wanted) != 0; });
}

// ---- of the master

void Session::runMaster() {
    for (auto const& name : options_.names) {
        if (name != options_.name) peers_[name];
    }
    auto const at = std::find(options_.names.begin(), options_.names.end(), options_.name);
    station_ = static_cast<unsigned>(at - options_.names.begin()) + 1;
    instrument_.number(station_);
    auto const missing = [&](std::function<bool(Peer const&)> const& has) {
        std::string found;
        for (auto const& p : peers_) {
            if (!has(p.second)) found += " " + p.first;
        }
        return found;
    };
    std::uint64_t const start = Measure::monotonicNs();
    auto const here = [](Peer const& p) { return !p.echo.empty(); };
    auto const knows = [](Peer const& p) { return p.said.count("known ") != 0; };
    Json echoes = Json::object();
    for (std::uint64_t calledNs = 0; !missing(knows).empty();) {
        if (secondsSince(start) > options_.joinTimeoutS) {
            throw Failure("not all federates joined in time; missing:" + missing(knows));
        }
        if (missing(here).empty() && secondsSince(calledNs) > 0.2) {
            calledNs = Measure::monotonicNs();
            echoes[options_.name] = echo_.address();
            for (auto const& p : peers_) echoes[p.first] = p.second.echo;
            Json const told = {{"names", options_.names}, {"echoes", echoes}};
            say("stations", nullptr, told.dump());
        }
        pump();
    }
    for (auto& p : peers_) p.second.heardNs = Measure::monotonicNs();
    known_ = true;
    for (auto const& one : options_.tests) test(one);
    endAll();
}

void Session::endAll() {
    // One at a time, so that an RTI never sees two resign at once.
    std::vector<std::string> names;
    for (auto const& p : peers_) names.push_back(p.first);
    for (auto const& name : names) {
        say("end", nullptr, name);
        // From here on it says nothing more.
        left_[name] = false;
        if (pipe_.connected()) {
            waitUntil("federate '" + name + "' lives but did not leave in time",
                      3 * options_.dataTimeoutS, [&] { return left_[name]; });
        }
    }
    instrument_.flush();
}

// ---- of the others

void Session::runOther() {
    std::uint64_t const start = Measure::monotonicNs();
    for (std::uint64_t calledNs = 0; !known_;) {
        if (secondsSince(start) > options_.joinTimeoutS) {
            throw Failure("no master was heard within the time-out for joining");
        }
        if (secondsSince(calledNs) > 0.2) {
            calledNs = Measure::monotonicNs();
            say("here", nullptr, echo_.address());
        }
        pump();
    }
    say("known", nullptr);
    while (!ended_) {
        if (tests_.empty()) {
            pump();
            continue;
        }
        Json const next = tests_.front();
        tests_.erase(tests_.begin());
        test(Test::parse(next));
    }
    instrument_.flush();
}

// ---- a test

void Session::test(Test const& t) {
    if (options_.master) {
        tellManager({{"event", "test"}, {"test", t.number}, {"of", options_.tests.size()}});
        for (auto& p : peers_) p.second.said.clear();
        say("test", &t, t.given.dump());
    }
    if (t.federates > options_.names.size()) {
        throw Failure("test " + std::to_string(t.number) + " is of more federates than there are");
    }
    if (!takesPart(t)) return lookOn(t);
    std::cout << "test " << t.given.dump() << std::endl;
    declare(t);
    Json const facts = measured(t);
    if (options_.master) {
        waitForAll("over", t);
        tell(t, facts);
        say("withdraw", &t);
    } else {
        say("over", &t, facts.dump());
        waitUntil("the master did not end test " + std::to_string(t.number) + " in time",
                  6 * options_.dataTimeoutS + kWrittenS, [&] { return anySaid("withdraw", t); });
    }
    instrument_.withdraw();
    if (options_.master) waitForAll("withdrawn", t);
    else say("withdrawn", &t);
}

void Session::lookOn(Test const& t) {
    quietS_ = t.floorS + t.durationS + kStaysS;
    while (!anySaid("withdraw", t)) pump();
    quietS_ = 0;
    for (auto& p : peers_) p.second.heardNs = Measure::monotonicNs();
}

void Session::declare(Test const& t) {
    if (t.threaded != instrument_.immediate()) {
        throw Failure("test " + std::to_string(t.number) + ": threaded tests run with " +
                      "--threaded, and no others");
    }
    measure_.prepare(t, station_);
    instrument_.declare("test " + std::to_string(t.number), t.bytesOf(station_), t.reliable);
    waitUntil("the other federates' instances were not all discovered in time",
              3 * options_.dataTimeoutS, [&] { return instrument_.others() >= t.federates - 1; });
}

std::uint64_t Session::sentBy(unsigned station, Test const& t) const {
    auto const peer = peers_.find(options_.names[station - 1]);
    auto const found = peer->second.said.find("sent " + std::to_string(t.number));
    if (found == peer->second.said.end()) return UINT64_MAX;
    char* end = nullptr;
    std::uint64_t const sent = std::strtoull(found->second.c_str(), &end, 10);
    if (end != found->second.c_str() && *end == '\0') return sent;
    throw Failure("federate '" + peer->first + "' has sent '" + found->second + "' messages");
}

std::uint64_t Session::receivedOf(unsigned station) const {
    return measure_.heard(station).received;
}

bool Session::allCame(Test const& t) const {
    for (unsigned s = 1; s <= t.federates; ++s) {
        if (s != station_ && receivedOf(s) < sentBy(s, t)) return false;
    }
    return true;
}

std::string Session::discipline() const {
    return options_.discipline.empty() ? "" : bench::ask(options_.discipline, kAskS);
}

Json Session::measured(Test const& t) {
    std::string const disciplined = discipline();
    std::string notice, none;
    std::string const scheduling = schedule(t.realtime, notice);
    bench::Deadlines const floor = measure_.floor(t);
    // Federates of one priority don't take turns: who waits for another does so with none.
    schedule(false, none);
    if (!notice.empty()) std::cout << "notice: " << notice << std::endl;
    instrument_.prime();
    std::vector<std::pair<std::uint32_t, std::string>> partners;
    for (unsigned s = 1; s <= t.federates; ++s) {
        if (s != station_) partners.emplace_back(s, peers_[options_.names[s - 1]].echo);
    }
    std::uint64_t const elements = shared_.elements.load(), read = shared_.read.load(),
                        overrun = shared_.overrun.load();
    auto const dropped = shared_.droppedOf();
    measure_.open = true;
    say("ready", &t);
    if (options_.master) {
        waitForAll("ready", t);
        say("go", &t);
        instrument_.flush();
    } else {
        waitUntil("the master did not begin test " + std::to_string(t.number) + " in time",
                  3 * options_.dataTimeoutS, [&] { return anySaid("go", t); });
    }
    // The echo's thread has a stack, locked with all else while it lives: looked at without it.
    // (From an execution's second test on the one of the test before is still in what is before.)
    std::array<long, 2> const before = memoryKb();
    lookAtClock(true);
    echo_.ping(partners, t.bytesOf(station_), t.pingHz);
    schedule(t.realtime, none);
    bool const whole = measure_.run(t, station_, t.updatesOf(station_));
    schedule(false, none);
    for (auto& p : peers_) p.second.heardNs = Measure::monotonicNs();
    std::vector<bench::Ping> const pings = echo_.stop();
    std::array<long, 2> const after = memoryKb();
    if (!whole) {
        check();
        std::uint64_t const start = Measure::monotonicNs();
        while (secondsSince(start) < kLastWordsS) pump();
        throw Failure(shared_.resign.load() != 0
                          ? "told to resign during a test"
                          : "a federate left during a test; it died or resigned");
    }
    say("sent", &t, std::to_string(instrument_.count()));
    // What is under way may still come: for best effort until it has been silent for long enough.
    double const patience = t.reliable ? options_.dataTimeoutS : options_.lossTimeoutS;
    std::uint64_t heardNs = Measure::monotonicNs();
    std::uint64_t heardOf = UINT64_MAX;
    while (!allCame(t) && secondsSince(heardNs) < patience) {
        measure_.rest(t, [&] { return allCame(t); });
        beat();
        check();
        std::uint64_t now = 0;
        bool sending = false;
        for (unsigned s = 1; s <= t.federates; ++s) {
            if (s == station_) continue;
            now += receivedOf(s);
            sending = sending || sentBy(s, t) == UINT64_MAX;
        }
        // Who still sends is waited for, as long as it is heard.
        if (now != heardOf || sending) heardNs = Measure::monotonicNs();
        heardOf = now;
        if (secondsSince(saidNs_) > 1) {
            saidNs_ = Measure::monotonicNs();
            say("alive", nullptr);
        }
    }
    measure_.open = false;
    // Everything is on disk before it is told.
    std::uint64_t const put = shared_.put.load(), made = shared_.elements.load();
    waitUntil("the samples were not written in time: the reader has ended, or the disk is slow",
              kWrittenS,
              [&] { return shared_.written.load() >= put && shared_.readTo.load() >= made; });

    std::int64_t const jumped = lookAtClock();
    Json heard = Json::object();
    for (unsigned s = 1; s <= t.federates; ++s) {
        if (s == station_) continue;
        Heard const& h = measure_.heard(s);
        heard[options_.names[s - 1]] = {{"received", h.received},
                                        {"dropped", shared_.droppedOf()[s] - dropped[s]},
                                        {"doubled", h.doubled},
                                        {"disordered", h.disordered},
                                        {"beyond", h.beyond}};
    }
    Json const facts = {{"name", options_.name},
                        {"station", station_},
                        {"test", t.number},
                        {"sent", instrument_.count()},
                        {"planned", measure_.planned()},
                        {"skipped", measure_.skipped()},
                        {"heard", heard},
                        {"foreign", instrument_.foreign()},
                        {"scheduling", scheduling},
                        {"notice", notice},
                        {"deadlines", deadlinesOf(measure_.deadlines())},
                        {"floor", deadlinesOf(floor)},
                        {"elements",
                         {{"made", made - elements},
                          {"read", shared_.read.load() - read},
                          {"missed", shared_.overrun.load() - overrun}}},
                        {"memory_kb", {before[0], after[0]}},
                        {"reader_kb", {before[1], after[1]}},
                        {"discipline", {disciplined, discipline()}},
                        {"jumped_ns", jumped},
                        {"boot", bench::boot()},
                        {"thread_s", measure_.threadS()}};
    keep(t, facts, pings);
    return facts;
}

void Session::keep(Test const& t, Json facts, std::vector<bench::Ping> const& pings) const {
    std::string const path = fileOf(options_.out, "facts", t, options_.name, ".json");
    std::ofstream(path) << facts.dump() << "\n";
    std::ofstream raw(fileOf(options_.out, "pings", t, options_.name, ".raw"), std::ios::binary);
    raw.write(reinterpret_cast<char const*>(pings.data()),
              static_cast<std::streamsize>(pings.size() * sizeof(bench::Ping)));
    if (!raw.flush()) throw Failure("can't write " + path + " or what belongs to it");
}

// What came of each pair, for the manager.
void Session::tell(Test const& t, Json const& own) {
    std::string const over = "over " + std::to_string(t.number);
    auto const facts = [&](std::string const& name) {
        return name == options_.name ? own : Json::parse(peers_[name].said[over]);
    };
    std::map<std::string, Json> told;
    for (unsigned s = 0; s < t.federates; ++s) {
        told[options_.names[s]] = facts(options_.names[s]);
    }
    for (std::size_t p = 0; p < options_.pairs.size(); ++p) {
        auto const& pair = options_.pairs[p];
        if (told.count(pair.first) == 0 || told.count(pair.second) == 0) continue;
        Json const &from = told[pair.first], &to = told[pair.second];
        Json const& heard = to.at("heard").at(pair.first);
        std::uint64_t const sent = from.at("sent"), received = heard.at("received");
        tellManager({{"event", "sample"},
                     {"test", t.number},
                     {"sample", 1},
                     {"pair", p + 1},
                     {"sender", pair.first},
                     {"receiver", pair.second},
                     {"planned", from.at("planned")},
                     {"sent", sent},
                     {"received", received},
                     {"lost", sent - std::min(received, sent)},
                     {"doubled", heard.at("doubled")},
                     {"disordered", heard.at("disordered")},
                     {"elements_missed", to.at("elements").at("missed")},
                     {"dropped", heard.at("dropped")}});
    }
    if (!options_.paced) return;
    goOn_ = false;
    tellManager({{"event", "between"}});
    while (!goOn_) {
        if (!pipe_.connected()) throw Failure("the manager has gone");
        pump();
    }
}

// ---- live

void Session::runLive() {
    Test const& t = options_.tests.front();
    station_ = options_.instrument.station;
    measure_.prepare(t, station_, true);
    instrument_.declare("live", t.bytesOf(1), t.reliable);
    while (shared_.start.load() == 0 && shared_.resign.load() == 0) {
        instrument_.pump(0.05);
        beat();
        check();
    }
    shared_.startedNs.store(Measure::monotonicNs());
    std::string notice;
    instrument_.prime();
    std::string const scheduling = schedule(t.realtime, notice);
    std::cout << scheduling << (notice.empty() ? "" : "; notice: " + notice) << std::endl;
    measure_.open = true;
    if (shared_.resign.load() == 0) measure_.run(t, station_, 0);
    measure_.open = false;
    shared_.endedNs.store(Measure::monotonicNs());
    schedule(false, notice);
    check();
}

// ---- the thread beside

void Session::tellManager(Json const& event) {
    std::lock_guard<std::mutex> const held(pipeMutex_);
    pipe_.send(event);
}

std::int64_t Session::lookAtClock(bool anew) {
    std::lock_guard<std::mutex> const held(jumpsMutex_);
    std::int64_t const by = jumps_.look([this] { return clock_.nowNs(); }).byNs;
    if (anew) jumpedNs_ = 0;
    else if (std::abs(by) > std::abs(jumpedNs_)) jumpedNs_ = by;
    return jumpedNs_;
}

void Session::readPipe() {
    std::lock_guard<std::mutex> const held(pipeMutex_);
    for (auto const& line : pipe_.receive()) {
        std::string const event = bench::said(line, "event");
        if (event == "left") left_[bench::said(line, "federate")] = true;
        if (event == "on") goOn_ = true;
    }
}

void Session::watch() {
    std::uint64_t seen = UINT64_MAX, told = UINT64_MAX, sinceNs = Measure::monotonicNs();
    for (unsigned n = 1; !quit_; ++n) {
        ::usleep(100000);
        std::uint64_t const is = beats_ + shared_.turns.load();
        if (is != seen) sinceNs = Measure::monotonicNs();
        if (n % 10 == 0) lookAtClock();
        seen = is;
        if (n % 10 == 0 && is != told) {
            tellManager({{"event", "alive"}});
            told = is;
        }
        if (secondsSince(sinceNs) > patienceS_) {
            // Its own thread hangs: nothing of it can be ended in order.
            std::cerr << "rangefed: nothing went on for " << patienceS_ << " s; it is in "
                      << instrument_.service() << std::endl;
            ::_exit(1);
        }
    }
}

}  // namespace range
