// bench-conformance ROLE --key value ...: one member of a session that shows what every adapter
// must do: bring each message once, in order and whole, or count exactly what is missing. `send`
// sends numbered messages to `--peers` members that `receive`; each prints what it saw as a line of
// JSON.
#include <CLI/CLI.hpp>
#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "endpoint.hpp"

namespace {

using bench::Topic;
using bench::TopicId;
using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Options {
    std::string adapter, settings, fom, name = "sender", session = "conformance";
    bool event = false, bestEffort = false, immediate = false, endless = false,
         untilRemoved = false, probe = false;
    std::size_t peers = 1, items = 1, fields = 1, messages = 1;
    std::uint64_t bytes = 8;
    double silence = 2, limit = 60;
    double wait = 0.05, pause = 0;  // for what comes, and for something else
};

class Member : private bench::EndpointEvents, private bench::DataEvents {
public:
    explicit Member(Options const& options, bool sends)
        : options_(options),
          endpoint_(bench::loadEndpoint(options.adapter, *this, &service_)),
          started_(Clock::now()) {
        endpoint_->deliverTo(this);
        endpoint_->connect(options.settings, options.immediate ? bench::Callbacks::immediate
                                                               : bench::Callbacks::evoked);
        while (!endpoint_->join(options.session, options.fom, options.name)) check();
        calls_ = endpoint_->add({"masterFederate.testDirective",
                                 Topic::Kind::text,
                                 true,
                                 {"testDirective", "internalTestID"}});
        answers_ = endpoint_->add({"subordinateFederate.testState",
                                   Topic::Kind::text,
                                   true,
                                   {"internalTestID", "testState"}});
        endpoint_->publish(sends ? calls_ : answers_, 2);
        endpoint_->subscribe(sends ? answers_ : calls_, 2);
        std::vector<std::string> fields;
        for (std::size_t f = 1; f <= options.fields; ++f) {
            fields.push_back("buffer_" + std::to_string(f));
        }
        // The FOM has reliable classes first.
        std::string const number = options.bestEffort ? "17" : "1";
        data_ = endpoint_->add({(options.event ? "sendInt.S" : "sendObj.S") + number,
                                options.event ? Topic::Kind::event : Topic::Kind::object,
                                !options.bestEffort, fields});
        if (sends) endpoint_->publish(data_, options.fields);
        else endpoint_->subscribe(data_, options.fields);
    }

    Json send() {
        answered("here");
        std::vector<std::size_t> items;
        for (std::size_t i = 0; i < options_.items; ++i) {
            items.push_back(endpoint_->addItem(data_, options_.fields, options_.bytes));
        }
        if (!options_.event) answered("discovered");
        // Of a middleware that has no order between who is there and what is sent.
        probed_ = items;
        if (options_.probe) answered("heard");
        std::uint64_t sent = 0;
        while (options_.endless || sent < options_.messages) {
            endpoint_->send(items[sent % items.size()], sent + 1);
            if (++sent % 100 == 0) endpoint_->flush();
            if (sent == 1) {
                std::cout << "sending" << std::endl;
            }
            check();
        }
        endpoint_->flush();
        answered("done " + std::to_string(sent));
        endpoint_->withdraw();
        answered("left");
        leave();
        return {{"sent", sent}};
    }

    Json receive() {
        while (!left_ && !(options_.untilRemoved && removed_ == options_.items)) {
            wait();
            answer();
            check();
        }
        leave();
        return {{"received", received_}, {"distinct", seen_.size()},   {"disordered", disordered_},
                {"removed", removed_},   {"wrong_bytes", wrongBytes_}, {"discovered", discovered_},
                {"last", last_},         {"malformed", malformed_}};
    }

private:
    // Asks until every peer has answered this.
    void answered(std::string const& what) {
        peers_.clear();
        wanted_ = what;
        Clock::time_point asked;
        while (peers_.size() < options_.peers) {
            if (Clock::now() - asked > std::chrono::milliseconds(100)) {
                endpoint_->say(calls_, {what, ""});
                if (what == "heard") {
                    for (std::size_t const item : probed_) endpoint_->send(item, 0);
                    endpoint_->flush();
                }
                asked = Clock::now();
            }
            wait();
            check();
        }
    }

    void wait() {
        if (options_.pause > 0) {
            std::this_thread::sleep_for(std::chrono::duration<double>(options_.pause));
        }
        endpoint_->wait(options_.wait);
    }

    void answer() {
        if (asked_.empty()) return;
        std::string const what = asked_;
        asked_.clear();
        bool ready = true;
        if (what == "discovered") ready = discovered_ == options_.items;
        if (what == "heard") ready = probes_.size() == options_.items;
        if (what.compare(0, 5, "done ") == 0) {
            auto const sent = std::stoull(what.substr(5));
            ready = received_ >= sent || (options_.bestEffort && silent());
        }
        if (what == "left") ready = options_.event || removed_ == options_.items;
        if (!ready) return;
        endpoint_->say(answers_, {what, options_.name});
        endpoint_->flush();
        left_ = what == "left";
    }

    bool silent() const {
        return Clock::now() - heard_ > std::chrono::duration<double>(options_.silence);
    }

    // No wait is unbounded.
    void check() const {
        if (!lost_.empty()) throw bench::EndpointError("connection lost: " + lost_);
        if (Clock::now() - started_ > std::chrono::duration<double>(options_.limit)) {
            throw bench::EndpointError(std::string("not done in time; in ") + service_);
        }
    }

    void leave() {
        endpoint_->resign();
        endpoint_->destroy(options_.session);
        endpoint_->disconnect();
    }

    void discovered(TopicId) override { ++discovered_; }
    void removed(TopicId) override { ++removed_; }
    void arrived(bench::Arrival const& arrival) override {
        if (options_.probe && arrival.stamp == 0) {
            // Events have no instances: that one came shows the way of all.
            probes_.insert(arrival.instance);
            for (std::size_t i = 0; options_.event && i < options_.items; ++i) probes_.insert(i);
            return;
        }
        ++received_;
        heard_ = Clock::now();
        if (arrival.stamp <= last_) ++disordered_;
        last_ = std::max(last_, arrival.stamp);
        if (arrival.bytes < options_.bytes || arrival.topic != data_ ||
            arrival.instance >= options_.items) {
            ++wrongBytes_;
        }
        seen_.insert(arrival.stamp);
    }
    void said(TopicId topic, std::vector<std::string> const& values) override {
        if (topic == calls_) asked_ = values[0];
        else if (values[0] == wanted_) peers_.insert(values[1]);
    }
    void connectionLost(std::string const& reason) override { lost_ = reason; }
    void malformed(std::string const&) override { ++malformed_; }

    Options const options_;
    char const* volatile service_ = "none";
    std::unique_ptr<bench::Endpoint> endpoint_;
    Clock::time_point const started_;
    Clock::time_point heard_ = Clock::now();
    TopicId calls_ = 0, answers_ = 0, data_ = 0;
    std::string wanted_, asked_, lost_;
    std::set<std::string> peers_;
    std::set<std::uint64_t> seen_;
    std::set<std::size_t> probes_;     // of which items one has come
    std::vector<std::size_t> probed_;  // items whose way is not known to be there
    std::uint64_t received_ = 0, disordered_ = 0, wrongBytes_ = 0, malformed_ = 0, last_ = 0;
    std::size_t discovered_ = 0, removed_ = 0;
    bool left_ = false;
};

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"A member of a conformance session. Exit codes: 0 done, 1 failed, 2 usage."};
    app.add_option("--adapter", options.adapter)->required();
    app.add_option("--settings", options.settings);
    app.add_option("--fom", options.fom);
    app.add_option("--name", options.name);
    app.add_option("--peers", options.peers);
    app.add_option("--items", options.items);
    app.add_option("--fields", options.fields);
    app.add_option("--messages", options.messages);
    app.add_option("--bytes", options.bytes);
    app.add_option("--event", options.event);
    app.add_option("--best-effort", options.bestEffort);
    app.add_option("--immediate", options.immediate);
    app.add_option("--endless", options.endless);
    app.add_option("--probe", options.probe);
    app.add_option("--session", options.session);
    app.add_option("--wait", options.wait);
    app.add_option("--pause", options.pause);
    app.add_option("--until-removed", options.untilRemoved);
    auto* const send = app.add_subcommand("send");
    auto* const receive = app.add_subcommand("receive");
    app.require_subcommand(1);
    send->fallthrough();
    receive->fallthrough();
    try {
        app.parse(argc, argv);
        Member member(options, send->parsed());
        std::cout << (send->parsed() ? member.send() : member.receive()) << std::endl;
        return 0;
    } catch (CLI::ParseError const& e) {
        return app.exit(e) == 0 ? 0 : 2;
    } catch (std::exception const& e) {
        std::cerr << "bench-conformance: " << e.what() << std::endl;
        return 1;
    }
}
