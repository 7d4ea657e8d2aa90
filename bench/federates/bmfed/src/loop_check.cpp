// bench-loop PAIRS: the inner loop of a federate that receives in so many pairs, from an endpoint
// that follows a script. Of the first pair all but the last message come in the first two waits; of
// the second all come, ten in each of a hundred waits. Says how many messages of each pair came,
// and how many waits lay between its first and its last, as JSON; and whether the set of stamps
// ends.
#include <cstdlib>
#include <iostream>
#include <nlohmann/json.hpp>
#include <thread>

#include "inner_loop.hpp"
#include "stamp.hpp"

namespace {

auto const kWait = std::chrono::milliseconds(10);
int pairs = 1;

class Scripted final : public bench::Endpoint {
public:
    std::string version() const override { return "script"; }
    bench::Capabilities capabilities() const override { return {}; }
    bench::Statistics statistics() const override { return {}; }
    void connect(std::string const&, bench::Callbacks) override {}
    bool join(std::string const&, std::string const&, std::string const&) override { return true; }
    void resign() override {}
    bool destroy(std::string const&) override { return true; }
    void disconnect() override {}
    bench::TopicId add(bench::Topic const&) override { return topics_++; }
    void publish(bench::TopicId, std::size_t) override {}
    void subscribe(bench::TopicId, std::size_t) override {}
    void withdraw() override {}
    std::size_t addItem(bench::TopicId, std::size_t, std::uint64_t) override { return 0; }
    void setTransport(std::size_t, bool) override {}
    bool settled() const override { return true; }
    void fill(std::size_t, unsigned char const*, std::size_t) override {}
    void send(std::size_t, std::uint64_t) override {}
    void say(bench::TopicId, std::vector<std::string> const&) override {}
    void flush() override {}
    void tick(double, double) override {}
    void wait(double) override {
        ++waits_;
        std::this_thread::sleep_for(kWait);
        if (waits_ <= 2) give(0, waits_ == 1 ? 1 : 998);
        else if (pairs > 1 && waits_ <= 102) give(1, 10);
    }

private:
    void give(bench::TopicId topic, int count) {
        for (; count > 0; --count) {
            data_->arrived({topic, 0, bench::makeStamp(1, ++stamp_), 8, false, nullptr});
        }
    }

    bench::TopicId topics_ = 0;
    int waits_ = 0;
    std::uint64_t stamp_ = 0;
};

class Nobody final : public bmfed::RtiEvents {
public:
    void discovered(bmfed::Tree, int) override {}
    void removed(bmfed::Tree, int) override {}
    void controlReceived(bmfed::Control, std::vector<std::string> const&) override {}
    void connectionLost(std::string const&) override {}
    void malformed(std::string const&) override {}
};

}  // namespace

namespace bench {

std::unique_ptr<Endpoint> loadEndpoint(std::string const&, EndpointEvents&, char const* volatile*) {
    return std::unique_ptr<Endpoint>(new Scripted);
}

}  // namespace bench

int main(int argc, char** argv) {
    pairs = argc > 1 ? std::atoi(argv[1]) : 1;
    Nobody nobody;
    bmfed::RtiProxy rti(nobody, "script");
    bmfed::TestDescription test;
    test.kind = bmfed::TestKind::owot;
    test.reliable = false;
    test.loopVersion = 3;
    test.updates = 1000;
    test.samples = 1;
    test.pairs = {{"a", "c", {}}};
    if (pairs > 1) test.pairs.push_back({"b", "c", {}});
    bmfed::InnerLoop loop(rti, test, "c", "", 5, 0.1, [] {});
    loop.declare();
    loop.registerItems();
    loop.ready(1);
    auto said = nlohmann::json::array();
    for (auto const& part : loop.run()) {
        double const waits = part.seconds / std::chrono::duration<double>(kWait).count();
        said.push_back({{"received", part.received}, {"waits", waits}});
    }
    bmfed::SeenStamps seen;
    seen.reset(8);
    int taken = 0;
    for (std::uint64_t stamp = 1; stamp <= 100; ++stamp) taken += seen.insert(stamp) ? 1 : 0;
    std::cout << nlohmann::json{{"pairs", said}, {"taken", taken}} << std::endl;
}
