// An endpoint that follows a script, for the checks of the inner loop and of the federate.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "endpoint.hpp"

namespace bmfed {

class Scripted final : public bench::Endpoint {
public:
    explicit Scripted(bench::EndpointEvents& events) : events_(events) {}

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
    void say(bench::TopicId topic, std::vector<std::string> const& values) override {
        onSay(topic, values);
    }
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
        data_->arrived({subscribed.at(nth), stamp, 0, 8, false, nullptr});
    }
    // Delivers a text.
    void tell(bench::TopicId topic, std::vector<std::string> const& values) {
        events_.said(topic, values);
    }

    std::function<void(std::uint64_t)> onSend = [](std::uint64_t) {};
    std::function<void(bench::TopicId, std::vector<std::string> const&)> onSay =
        [](bench::TopicId, std::vector<std::string> const&) {};
    std::function<void()> onFlush = [] {};
    std::function<void(double)> onWait = [](double) {};
    std::vector<bench::TopicId> subscribed;
    int waits = 0, flushes = 0;

private:
    bench::EndpointEvents& events_;
    bench::TopicId topics_ = 0;
    std::size_t items_ = 0;
};

}  // namespace bmfed
