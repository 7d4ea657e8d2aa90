// bench-loop SCRIPT: the inner loop by itself, on an endpoint that follows a script; what came of
// it, as JSON. The scripts stand in `main`.
#include <deque>
#include <functional>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <thread>

#include "inner_loop.hpp"
#include "stamp.hpp"

namespace {

using Json = nlohmann::json;

auto const kWait = std::chrono::milliseconds(10);

class Scripted final : public bench::Endpoint {
public:
    std::string version() const override { return "script"; }
    bench::Capabilities capabilities() const override { return {}; }
    void connect(std::string const&, bench::Callbacks) override {}
    bool join(std::string const&, std::string const&, std::string const&) override { return true; }
    void resign() override {}
    bool destroy(std::string const&) override { return true; }
    void disconnect() override {}
    bench::TopicId add(bench::Topic const&) override { return topics_++; }
    void publish(bench::TopicId, std::size_t) override {}
    void subscribe(bench::TopicId topic, std::size_t) override { subscribed.push_back(topic); }
    void withdraw() override {}
    std::size_t addItem(bench::TopicId, std::size_t, std::uint64_t) override { return items_++; }
    void setTransport(std::size_t, bool) override {}
    bool settled() const override { return true; }
    void fill(std::size_t, unsigned char const*, std::size_t) override {}
    void send(std::size_t, std::uint64_t stamp) override {
        ++statistics_.sent;
        onSend(stamp);
    }
    void say(bench::TopicId, std::vector<std::string> const&) override {}
    void flush() override {
        ++flushes;
        onFlush();
    }
    void tick(double, double maxSeconds) override { wait(maxSeconds); }
    void wait(double maxSeconds) override {
        ++waits;
        onWait(maxSeconds);
    }

    // Delivers a message of the n-th topic that was subscribed to.
    void give(std::size_t nth, std::uint64_t stamp) {
        ++statistics_.arrived;
        data_->arrived({subscribed.at(nth), 0, stamp, 8, false, nullptr});
    }

    std::function<void(std::uint64_t)> onSend = [](std::uint64_t) {};
    std::function<void()> onFlush = [] {};
    std::function<void(double)> onWait = [](double) {};
    std::vector<bench::TopicId> subscribed;
    int waits = 0, flushes = 0;

private:
    bench::TopicId topics_ = 0;
    std::size_t items_ = 0;
};

Scripted* script = nullptr;  // once it is made

class Nobody final : public bmfed::RtiEvents {
public:
    void discovered(bmfed::Tree, int) override {}
    void removed(bmfed::Tree, int) override {}
    void controlReceived(bmfed::Control, std::vector<std::string> const&) override {}
    void connectionLost(std::string const&) override {}
    void malformed(std::string const&) override {}
};

// A sample of a test of federate "c", which `begun` may set up further.
class Play {
public:
    Play() {
        test.loopVersion = 3;
        test.samples = 1;
    }

    Json run() {
        bmfed::InnerLoop loop(rti_, test, "c", "", 5, lossTimeoutS, [] {});
        loop.declare();
        loop.registerItems();
        loop.ready(1);
        Json parts = Json::array();
        for (auto const& part : loop.run()) {
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
    double lossTimeoutS = 0.1;
    Scripted& endpoint = *script;
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

// Federate "c" sends round trips of so many instances, one under way at most, each of which is back
// within the next flush.
Json backAtOnce(int instances, int loop) {
    Play play;
    play.test.kind = bmfed::TestKind::rtol;
    play.test.updates = 100;
    play.test.outstandingMax = 1;
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

// More stamps than there is room for.
Json stamps() {
    bmfed::SeenStamps seen;
    seen.reset(8);
    int taken = 0;
    for (std::uint64_t stamp = 1; stamp <= 100; ++stamp) taken += seen.insert(stamp) ? 1 : 0;
    return {{"taken", taken}};
}

}  // namespace

namespace bench {

std::unique_ptr<Endpoint> loadEndpoint(std::string const&, EndpointEvents&, char const* volatile*) {
    script = new Scripted;
    return std::unique_ptr<Endpoint>(script);
}

}  // namespace bench

int main(int argc, char** argv) {
    std::map<std::string, std::function<Json()>> const scripts = {
        {"one pair", [] { return receives(1); }},
        {"two pairs", [] { return receives(2); }},
        {"back at once", [] { return backAtOnce(1, 3); }},
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
