// An adapter that carries nothing: what a program does beside it is the program's own. In each turn
// one message comes, as its own item's of another station. At its end it says how many did, and the
// longest time that a turn asked for.
#include <algorithm>
#include <cstdio>
#include <cstring>

#include "endpoint.hpp"

namespace {

using namespace bench;

class Null final : public Endpoint {
public:
    Null(EndpointEvents &, char const *volatile *) {}
    ~Null() override {
        std::fprintf(stderr, "null: %u came, at most %g s a turn\n", count_, longest_);
    }
    std::string version() const override { return "nothing 1"; }
    Capabilities capabilities() const override { return {}; }
    void connect(std::string const &, Callbacks) override {}
    bool join(std::string const &, std::string const &, std::string const &) override {
        return true;
    }
    void resign() override {}
    bool destroy(std::string const &) override { return true; }
    void disconnect() override {}
    TopicId add(Topic const &) override { return topics_++; }
    void publish(TopicId, std::size_t) override {}
    void subscribe(TopicId, std::size_t) override {}
    void withdraw() override {}
    std::size_t addItem(TopicId topic, std::size_t, std::uint64_t bytes) override {
        value_.resize(bytes);
        topic_ = topic;
        return 0;
    }
    void setTransport(std::size_t, bool) override {}
    bool settled() const override { return true; }
    void fill(std::size_t, unsigned char const *bytes, std::size_t size) override {
        std::memcpy(value_.data() + 8, bytes, size);
    }
    void send(std::size_t, std::uint64_t stamp) override { stamp_ = stamp; }
    void say(TopicId, std::vector<std::string> const &) override {}
    void flush() override {}
    void tick(double, double maxSeconds) override {
        longest_ = std::max(longest_, maxSeconds);
        if (data_ == nullptr || stamp_ == 0) return;
        // Behind the stamp: its number, the station (an octet), and the record, which is the own
        // one's.
        ++count_;
        std::uint8_t const station = 2;
        std::memcpy(value_.data() + 8, &count_, sizeof count_);
        std::memcpy(value_.data() + 12, &station, sizeof station);
        data_->arrived({topic_, stamp_, 0, value_.size(), true, value_.data()});
    }
    void wait(double) override {}

private:
    TopicId topics_ = 0, topic_ = 0;
    std::vector<unsigned char> value_;
    std::uint64_t stamp_ = 0;
    std::uint32_t count_ = 0;
    double longest_ = 0;
};

}  // namespace

BENCH_ADAPTER(Null)
