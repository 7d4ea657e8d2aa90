// An adapter that carries nothing: what a program does beside it is the program's own.
#include "endpoint.hpp"

namespace {

using namespace bench;

class Null final : public Endpoint {
public:
    Null(EndpointEvents &, char const *volatile *) {}
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
    std::size_t addItem(TopicId, std::size_t, std::uint64_t) override { return 0; }
    void setTransport(std::size_t, bool) override {}
    bool settled() const override { return true; }
    void fill(std::size_t, unsigned char const *, std::size_t) override {}
    void send(std::size_t, std::uint64_t) override {}
    void say(TopicId, std::vector<std::string> const &) override {}
    void flush() override {}
    void tick(double, double) override {}
    void wait(double) override {}

private:
    TopicId topics_ = 0;
};

} // namespace

BENCH_ADAPTER(Null)
