// The receiver: says what has come, and how long the ticks took that brought it.
#include <unistd.h>

#include <algorithm>
#include <numeric>

#include "federate.hpp"

namespace fomcost {

namespace {

class Receiver final : public Federate {
public:
    using Federate::Federate;

private:
    void work() override;
    void heard(Json const& said) override { asked_.push_back(said); }
    void arrived(std::size_t values, bool reliable) override {
        if (cameNs_ == 0) cameNs_ = nowNs();
        values_ += values;
        ++messages_;
        reliably_ += reliable ? 1 : 0;
        arrivals_.add(values);
    }
    void answer(Json const& asked);
    void tick();
    void forget();

    std::vector<Json> asked_;
    bool done_ = false, ticking_ = false;
    std::uint64_t heardNs_ = 0, instances_ = 0;
    std::set<std::string> classes_;
    // Of the sample under way.
    std::uint64_t values_ = 0, messages_ = 0, reliably_ = 0, cameNs_ = 0;
    std::vector<double> ticks_, toCallback_;
};

void Receiver::work() {
    heardNs_ = nowNs();
    // The sender tells nothing while it takes a sample, but then it sends.
    std::uint64_t came = 0;
    while (!done_) {
        ticking_ ? tick() : static_cast<void>(rti_->evokeCallback(0.005));
        pulse();
        std::vector<Json> asked;
        asked.swap(asked_);
        if (!asked.empty() || arrivals_.count() != came) heardNs_ = nowNs();
        came = arrivals_.count();
        for (auto const& one : asked) answer(one);
        double const patience = options_.joinTimeoutS + 3 * options_.dataTimeoutS + 60;
        if (secondsSince(heardNs_) > patience) {
            throw Failure("the sender was not heard for " + std::to_string(patience) + " s");
        }
    }
}

// Asks the RTI often enough for every update to come alone, but sleeps in between, so that a tick
// takes what the RTI does with what is there.
void Receiver::tick() {
    ::usleep(100);
    cameNs_ = 0;
    std::uint64_t const before = nowNs();
    rti_->evokeMultipleCallbacks(0.0, 0.0);
    std::uint64_t const after = nowNs();
    if (cameNs_ == 0) return;
    ticks_.push_back(static_cast<double>(after - before));
    toCallback_.push_back(static_cast<double>(cameNs_ - before));
}

void Receiver::forget() {
    values_ = messages_ = reliably_ = 0;
    ticks_.clear();
    toCallback_.clear();
}

double meanOf(std::vector<double> const& values) {
    double const sum = std::accumulate(values.begin(), values.end(), 0.0);
    return values.empty() ? 0 : sum / static_cast<double>(values.size());
}
double medianOf(std::vector<double> values) {
    if (values.empty()) return 0;
    auto const middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void Receiver::answer(Json const& asked) {
    std::string const what = asked["what"];
    if (what == "hello") {
        say({{"what", "here"}});
    } else if (what == "prepare") {
        Test const test = Test::parse(asked.at("test").dump());
        std::string const name = (test.object ? "o " : "i ") + test.className;
        if (test.object && classes_.insert(name).second) ++instances_;
        classOf(test, false);
        say({{"what", "ready"}});
    } else if (what == "discovered?") {
        // Every class has one instance.
        await([&] { return discovered_ >= instances_; }, 3 * options_.dataTimeoutS,
              "an instance was not discovered");
        say({{"what", "discovered"}});
    } else if (what == "begin") {
        ticking_ = true;
        say({{"what", "begun"}});
    } else if (what == "count") {
        forget();
        say({{"what", "counts"}});
    } else if (what == "end") {
        ticking_ = false;
        say({{"what", "result"},
             {"values", values_},
             {"messages", messages_},
             {"came_reliably", reliably_},
             {"tick_ns", meanOf(ticks_)},
             {"tick_p50_ns", medianOf(ticks_)},
             {"to_callback_ns", meanOf(toCallback_)},
             {"to_callback_p50_ns", medianOf(toCallback_)}});
    } else if (what == "bye") {
        done_ = true;
    }
    rti_->evokeMultipleCallbacks(0.0, 0.0);
}

}  // namespace

std::unique_ptr<Federate> makeReceiver(Options options, volatile int const& stop) {
    return std::unique_ptr<Federate>(new Receiver(std::move(options), stop));
}

}  // namespace fomcost
