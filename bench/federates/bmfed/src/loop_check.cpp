// bench-loop SCRIPT: the inner loop by itself, on an endpoint that follows a script; what came of
// it, as JSON. The scripts stand in `main`.
// bench-loop description: for each line, a test with its pairs as JSON, what is wrong with it, or
// what each federate needs of memory, and the classes that each pair uses.
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "inner_loop.hpp"
#include "scripted.hpp"
#include "stamp.hpp"

namespace {

using Json = nlohmann::json;

auto const kWait = std::chrono::milliseconds(10);

bmfed::Scripted* script = nullptr;  // once it is made

class Nobody final : public bmfed::RtiEvents {
public:
    void discovered(bmfed::Tree, int) override {}
    void removed(bmfed::Tree, int) override {}
    void controlReceived(bmfed::Control, std::vector<std::string> const&) override {}
    void connectionLost(std::string const&) override {}
    void malformed(std::string const&) override {}
};

// A sample of a test of federate "c".
class Play {
public:
    Play() {
        test.loopVersion = 3;
        test.samples = 1;
    }

    Json run() {
        bmfed::InnerLoop it(rti_, test, "c", "", dataTimeoutS, lossTimeoutS, calls);
        loop = &it;
        it.declare();
        it.registerItems();
        it.ready(1);
        Json parts = Json::array();
        for (auto const& part : it.run()) {
            parts.push_back({{"sent", part.sent},
                             {"received", part.received},
                             {"doubled", part.doubled},
                             {"waits", part.seconds / std::chrono::duration<double>(kWait).count()},
                             {"silence", part.silence}});
        }
        return parts;
    }

private:
    Nobody nobody_;
    bmfed::RtiProxy rti_{nobody_, "script"};

public:
    bmfed::TestDescription test;
    double dataTimeoutS = 5, lossTimeoutS = 0.1;
    // All has been sent as soon as nothing but the rest is waited for.
    bmfed::InnerLoop::Calls calls{[] {}, [] {}, [this] { loop->over(); }};
    bmfed::Scripted& endpoint = *script;
    bmfed::InnerLoop* loop = nullptr;  // while it runs
};

// Federate "c" receives in so many pairs. Of the first all but the last message come in the first
// two waits; of the second all come, ten in each of a hundred waits.
Json receives(int pairs) {
    Play play;
    play.test.kind = bmfed::TestKind::owot;
    play.test.reliable = false;
    play.test.updates = 1000;
    play.test.pairs = {{"a", "c", {}}};
    if (pairs > 1) play.test.pairs.push_back({"b", "c", {}});
    std::uint64_t stamp = 0;
    auto const give = [&](std::size_t nth, int count) {
        for (; count > 0; --count) play.endpoint.give(nth, bench::makeStamp(1, ++stamp));
    };
    play.endpoint.onWait = [&](double) {
        std::this_thread::sleep_for(kWait);
        int const wait = play.endpoint.waits;
        if (wait <= 2) give(0, wait == 1 ? 1 : 998);
        else if (pairs > 1 && wait <= 102) give(1, 10);
    };
    return {{"pairs", play.run()}};
}

// Federate "c" sends round trips of so many instances, so many under way at most, each of which is
// back within the next flush.
Json backAtOnce(int instances, int loop, std::uint64_t underWay = 1) {
    Play play;
    play.test.kind = bmfed::TestKind::rtol;
    play.test.updates = 100;
    play.test.outstandingMax = underWay;
    play.test.instances = instances;
    play.test.loopVersion = loop;
    play.test.pairs = {{"c", "a", {}}};
    std::deque<std::uint64_t> away;
    std::size_t most = 0;
    play.endpoint.onSend = [&](std::uint64_t stamp) {
        away.push_back(stamp);
        most = std::max(most, away.size());
    };
    play.endpoint.onFlush = [&] {
        for (; !away.empty(); away.pop_front()) play.endpoint.give(0, away.front());
    };
    Json const parts = play.run();
    return {{"parts", parts}, {"waits", play.endpoint.waits}, {"most", most}};
}

// The same of ten instances, one under way, each of which is back before the call that sends it has
// returned, as may be where callbacks are immediate; how many were sent.
Json backWhileSent() {
    Play play;
    play.test.kind = bmfed::TestKind::rtol;
    play.test.updates = 100;
    play.test.outstandingMax = 1;
    play.test.instances = 10;
    play.test.loopVersion = 4;
    play.test.pairs = {{"c", "a", {}}};
    int sent = 0;
    play.endpoint.onSend = [&](std::uint64_t stamp) {
        ++sent;
        play.endpoint.give(0, stamp);
    };
    Json const parts = play.run();
    return {{"parts", parts}, {"sent", sent}};
}

// Federate "c" receives reliable data of which each tenth is lost; each third comes twice, some at
// once and some at the end.
Json doubledAndLost() {
    Play play;
    play.test.kind = bmfed::TestKind::owot;
    play.test.updates = 1000;
    play.test.pairs = {{"a", "c", {}}};
    play.dataTimeoutS = 0.1;
    play.endpoint.onWait = [&](double seconds) {
        if (play.endpoint.waits > 1)
            return std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        for (int pass = 0; pass < 2; ++pass) {
            for (std::uint64_t n = 1; n <= 1000; ++n) {
                if (n % 10 == 0) continue;
                bool const twice = n % 3 == 0, late = n % 2 == 0;
                if (pass == 1 && !(twice && late)) continue;
                play.endpoint.give(0, bench::makeStamp(1, n));
                if (pass == 0 && twice && !late) play.endpoint.give(0, bench::makeStamp(1, n));
            }
        }
    };
    return {{"parts", play.run()}};
}

// Federate "c" sends one way and receives: what it gets comes in its flushes, but the last, which
// is lost.
Json comesWhileSending() {
    Play play;
    play.test.kind = bmfed::TestKind::owot;
    play.test.reliable = false;
    play.test.updates = 10;
    play.test.queuedUpdatesMax = 1;
    play.test.pairs = {{"a", "c", {}}, {"c", "a", {}}};
    play.endpoint.onFlush = [&] {
        std::this_thread::sleep_for(kWait);
        auto const nth = static_cast<std::uint64_t>(play.endpoint.flushes);
        if (nth < 10) play.endpoint.give(0, bench::makeStamp(1, nth));
    };
    return {{"parts", play.run()}};
}

// Federate "c" returns two messages: one comes while it says that it lives, the other with the
// flush of the first's answer.
Json comesWithAnAnswer() {
    Play play;
    play.test.kind = bmfed::TestKind::rtol;
    play.test.updates = 2;
    play.test.pairs = {{"a", "c", {}}};
    play.endpoint.onWait = [](double) { std::this_thread::sleep_for(std::chrono::seconds(1)); };
    play.calls.pulse = [&] { play.endpoint.give(0, bench::makeStamp(1, 1)); };
    play.endpoint.onFlush = [&] {
        if (play.endpoint.flushes == 1) play.endpoint.give(0, bench::makeStamp(1, 2));
    };
    Json const parts = play.run();
    return {{"parts", parts}, {"waits", play.endpoint.waits}};
}

// Federate "c" returns one message of best effort, which comes while others are told something; how
// many it has returned.
Json comesWithAWord() {
    Play play;
    play.test.kind = bmfed::TestKind::rtol;
    play.test.reliable = false;
    play.test.updates = 1;
    play.test.outstandingMax = 1;
    play.test.pairs = {{"a", "c", {}}};
    int returned = 0, words = 0;
    play.endpoint.onSend = [&](std::uint64_t) { ++returned; };
    play.calls.meanwhile = [&] {
        if (++words == 1) play.endpoint.give(0, bench::makeStamp(1, 1));
    };
    Json const parts = play.run();
    return {{"parts", parts}, {"returned", returned}};
}

// Federate "c" sends round trips of best effort, of which those are lost that `lost` says; how
// often it said that all was sent.
Json losesTrips(std::function<bool(std::uint64_t)> const& lost) {
    Play play;
    play.test.kind = bmfed::TestKind::rtol;
    play.test.reliable = false;
    play.test.updates = 100;
    play.test.outstandingMax = 1;
    play.test.tickMax = 0.001;
    play.test.pairs = {{"c", "a", {}}};
    play.lossTimeoutS = 0.005;
    std::uint64_t sent = 0, stamped = 0;
    int said = 0;
    play.endpoint.onSend = [&](std::uint64_t stamp) {
        stamped = stamp;
        ++sent;
    };
    play.endpoint.onWait = [&](double seconds) {
        if (stamped != 0 && !lost(sent)) return play.endpoint.give(0, std::exchange(stamped, 0));
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
    };
    play.calls.sent = [&] { ++said; };
    Json const parts = play.run();
    return {{"parts", parts}, {"said", said}};
}

// Federate "c" sends round trips of best effort, four under way at most, which come back one in
// each wait. Of the first four three are lost for many times the loss time-out; one of these comes
// then. How many of the others were under way at most, and at the end.
Json losesPlaces() {
    Play play;
    play.test.kind = bmfed::TestKind::rtol;
    play.test.reliable = false;
    play.test.updates = 200;
    play.test.outstandingMax = 4;
    play.test.tickMax = 0.001;
    play.test.pairs = {{"c", "a", {}}};
    play.lossTimeoutS = 0.02;
    std::deque<std::uint64_t> away;
    std::uint64_t sent = 0, lost = 0;
    std::size_t most = 0, atTheEnd = 0;
    play.endpoint.onSend = [&](std::uint64_t stamp) {
        ++sent;
        if (sent == 2) lost = stamp;
        if (sent >= 2 && sent <= 4) return;
        away.push_back(stamp);
        most = std::max(most, away.size());
        if (sent == play.test.updates) atTheEnd = away.size();
    };
    play.endpoint.onWait = [&](double seconds) {
        std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
        if (sent > play.test.updates / 2 && lost != 0) {
            play.endpoint.give(0, std::exchange(lost, 0));
        }
        if (away.empty()) return;
        play.endpoint.give(0, away.front());
        away.pop_front();
    };
    Json const parts = play.run();
    return {{"parts", parts}, {"most", most}, {"at the end", atTheEnd}};
}

// Federate "c" returns messages of best effort, between which it hears nothing for many times the
// loss time-out, as their sender waits for what is lost; the last never comes.
Json returnsAfterSilence() {
    Play play;
    play.test.kind = bmfed::TestKind::rtol;
    play.test.reliable = false;
    play.test.updates = 4;
    play.test.pairs = {{"a", "c", {}}};
    play.lossTimeoutS = 0.01;
    std::uint64_t answered = 0;
    int const silence = 10;  // waits
    bool over = false;
    play.endpoint.onSend = [&](std::uint64_t) { ++answered; };
    play.endpoint.onWait = [&](double) {
        std::this_thread::sleep_for(kWait);
        int const wait = play.endpoint.waits;
        if (wait % silence == 1 && wait < 3 * silence) {
            play.endpoint.give(0, bench::makeStamp(1, static_cast<std::uint64_t>(wait)));
        }
        over = wait > 4 * silence;
    };
    play.calls.meanwhile = [&] {
        if (over) play.loop->over();
    };
    Json const parts = play.run();
    return {{"parts", parts}, {"answered", answered}, {"waits", play.endpoint.waits}};
}

// Whether the stamps that are taken are those that a set takes: in order, out of order, twice, and
// where the time of stamps begins anew.
Json stamps() {
    std::minstd_rand random(7);
    bool same = true;
    int often = 0;
    for (std::uint64_t const from : {std::uint64_t{1}, bench::kTimeMask - 1000}) {
        for (unsigned const back : {0u, 3u, 300u}) {
            std::uint64_t const count = 3000;
            bmfed::SeenStamps seen;
            seen.reset(count);
            std::set<std::uint64_t> set;
            for (std::uint64_t n = back; n < count; ++n) {
                std::uint64_t const at = n - (back == 0 ? 0 : random() % back);
                std::uint64_t const stamp = bench::makeStamp(5, from + at);
                bool const taken = set.insert(stamp).second;
                often += taken ? 0 : 1;
                same = same && seen.insert(stamp) == taken;
            }
        }
    }
    // More than there is room for, of however few.
    for (std::uint64_t count = 1; count < 20; ++count) {
        bmfed::SeenStamps seen;
        seen.reset(count);
        seen.insert(bench::makeStamp(5, 1000));
        for (std::uint64_t n = 1; n <= 100; ++n) {
            same = same && seen.insert(bench::makeStamp(5, n)) == (n <= count);
        }
    }
    bmfed::SeenStamps few;
    few.reset(8);
    int taken = few.insert(bench::makeStamp(5, 1000)) ? 1 : 0;
    for (std::uint64_t n = 1; n <= 100; ++n) taken += few.insert(bench::makeStamp(5, n)) ? 1 : 0;
    // What is older than all that is kept.
    bmfed::SeenStamps many;
    many.reset(3 * bmfed::SeenStamps::kKept);
    for (std::uint64_t n = 1; n <= 2 * bmfed::SeenStamps::kKept; ++n) {
        many.insert(bench::makeStamp(5, 2 * n));
    }
    std::uint64_t const latest = 4 * bmfed::SeenStamps::kKept;
    bool const old = many.insert(bench::makeStamp(5, 3));
    bool const recent = many.insert(bench::makeStamp(5, latest - 3));
    return {{"same", same}, {"often", often}, {"taken", taken}, {"old", old}, {"recent", recent}};
}

Json describe(std::string const& text) {
    try {
        bmfed::TestDescription const test = bmfed::TestDescription::parse(text);
        test.check();
        Json memory = Json::object(), classes = Json::array();
        for (std::size_t pair = 0; pair < test.pairs.size(); ++pair) {
            for (auto const& name : {test.pairs[pair].sender, test.pairs[pair].receiver}) {
                memory[name] = test.memoryBytes(name);
            }
            for (int type = 0; type < test.types; ++type) {
                classes.push_back(test.classNumber(pair, type));
            }
        }
        return {{"memory", memory}, {"classes", classes}};
    } catch (bmfed::UsageError const& e) {
        return {{"refused", e.what()}};
    }
}

}  // namespace

namespace bench {

std::unique_ptr<Endpoint> loadEndpoint(std::string const&, EndpointEvents& events,
                                       char const* volatile*) {
    script = new bmfed::Scripted(events);
    return std::unique_ptr<Endpoint>(script);
}

}  // namespace bench

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "description") {
        for (std::string line; std::getline(std::cin, line);) {
            std::cout << describe(line) << std::endl;
        }
        return 0;
    }
    std::map<std::string, std::function<Json()>> const scripts = {
        {"one pair", [] { return receives(1); }},
        {"two pairs", [] { return receives(2); }},
        {"back at once", [] { return backAtOnce(1, 3); }},
        {"ten instances, V1", [] { return backAtOnce(10, 1); }},
        {"ten instances, V3", [] { return backAtOnce(10, 3); }},
        {"ten instances, four under way", [] { return backAtOnce(10, 3, 4); }},
        {"back while it is sent", backWhileSent},
        {"doubled and lost", doubledAndLost},
        {"comes while sending", comesWhileSending},
        {"comes with an answer", comesWithAnAnswer},
        {"comes with a word", comesWithAWord},
        {"a fifth is lost", [] { return losesTrips([](std::uint64_t n) { return n % 5 == 0; }); }},
        {"all is lost", [] { return losesTrips([](std::uint64_t) { return true; }); }},
        {"three of four are lost", losesPlaces},
        {"returns after silence", returnsAfterSilence},
        {"stamps", stamps},
    };
    auto const chosen = scripts.find(argc > 1 ? argv[1] : "");
    if (chosen == scripts.end()) {
        std::cerr << "bench-loop: no such script; there are:";
        for (auto const& one : scripts) std::cerr << "\n  " << one.first;
        std::cerr << std::endl;
        return 2;
    }
    std::cout << chosen->second() << std::endl;
}
