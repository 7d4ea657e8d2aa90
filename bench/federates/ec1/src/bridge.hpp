// A gateway's other side: what is published there is published here, too, and the other way, with
// the same time stamps. Texts cross as well, so the master, which is the gateway, leads both sides.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "endpoint.hpp"
#include "test.hpp"

namespace ec1 {

// "ADAPTER,SETTINGS"
struct Side {
    std::string adapter, settings;
    static Side parse(std::string const& text);
};

// Starts bench-meet, beside this program, at a side's address; it ends with this process.
class MeetingPlace {
public:
    explicit MeetingPlace(std::string const& address);
    ~MeetingPlace();
    MeetingPlace(MeetingPlace const&) = delete;
    MeetingPlace& operator=(MeetingPlace const&) = delete;

private:
    int process_ = -1;
};

// Connects; who is to be met may come later.
void connectPatiently(bench::Endpoint& endpoint, std::string const& settings, double seconds);

class Bridge final {
public:
    // Data that come from `from` leave by `to`.
    class Lane final : public bench::DataEvents {
    public:
        Lane(bench::Endpoint& from, bench::Endpoint& to) : from_(from), to_(to) {}
        void declare(bench::TopicId fromTopic, bench::TopicId toTopic);
        void registerItems(Test const& test, std::set<std::size_t> const& publishers);
        void withdraw();
        bool used() const { return used_; }

    private:
        void arrived(bench::Arrival const& arrival) override;

        bench::Endpoint& from_;
        bench::Endpoint& to_;
        bool used_ = false;
        bench::TopicId fromTopic_ = 0, toTopic_ = 0;
        std::vector<std::vector<std::size_t>> items_;  // by publisher, by entity
    };

    Bridge(bench::Endpoint& here, std::unique_ptr<bench::Endpoint> there)
        : there_(std::move(there)), back_(*there_, here), forth_(here, *there_) {}

    bench::Endpoint& there() { return *there_; }
    // `theirs`: members of the other side.
    void declare(Test const& test, std::set<std::string> const& theirs, bench::TopicId hereTopic,
                 bench::TopicId thereTopic);
    void registerItems();
    void withdraw();

private:
    std::unique_ptr<bench::Endpoint> there_;
    Lane back_, forth_;
    Test test_;
    std::set<std::size_t> here_, away_;  // publishers of each side
};

}  // namespace ec1
