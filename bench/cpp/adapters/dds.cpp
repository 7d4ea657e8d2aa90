// Cyclone DDS by its C API. A topic is a DDS topic with the QoS of its transportation: all is kept
// until it is read, but where the topic's name ends in "Latest" only the newest of each instance. A
// session is a partition. Texts and the announcements of items share one reliable topic, so that
// what was declared is known before a text that follows it.
#include <arpa/inet.h>
#include <endian.h>
#include <net/if.h>

#include <dds/dds.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "bench_dds.h"
#include "endpoint.hpp"

namespace bench {

namespace {

int const kTakenAtOnce = 256;
// What a reader keeps that nobody takes; a reliable writer then waits.
int32_t const kKeptMax = 1 << 14;
std::uint64_t const kMessageMax = std::uint64_t{1} << 24;

double now() {
    using namespace std::chrono;
    return duration<double>(steady_clock::now().time_since_epoch()).count();
}

// The same at every member: FNV-1a.
std::uint32_t hashOf(std::string const& text) {
    std::uint32_t hash = 2166136261u;
    for (char const c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return hash;
}

dds_entity_t checked(dds_entity_t result, char const* what) {
    if (result < 0) throw EndpointError(std::string(what) + ": " + dds_strretcode(-result));
    return result;
}

void put32(std::vector<unsigned char>& to, std::uint32_t value) {
    value = htole32(value);
    auto const* at = reinterpret_cast<unsigned char const*>(&value);
    to.insert(to.end(), at, at + sizeof value);
}
void putText(std::vector<unsigned char>& to, std::string const& text) {
    put32(to, static_cast<std::uint32_t>(text.size()));
    to.insert(to.end(), text.begin(), text.end());
}

}  // namespace

class Dds final : public Endpoint {
public:
    Dds(EndpointEvents& events, char const* volatile* service)
        : events_(events), service_(service) {}
    ~Dds() override { disconnect(); }

    std::string version() const override { return "Cyclone DDS " BENCH_DDS_VERSION; }
    Capabilities capabilities() const override {
        Capabilities can;
        can.messageBytesMax = kMessageMax;
        return can;
    }
    Statistics statistics() const override {
        Statistics found = statistics_;
        found.tellsLost = true;
        for (auto const& c : classes_) {
            dds_sample_lost_status_t lost;
            if (c.reader > 0 && dds_get_sample_lost_status(c.reader, &lost) == 0) {
                found.lost += lost.total_count;
            }
        }
        return found;
    }

    // `settings`: interfaces of which the first that is there is used, "tun0,eth0"; if none is,
    // that of BENCH_ADDRESS in the environment, the host's own.
    void connect(std::string const& settings, Callbacks callbacks) override;
    bool join(std::string const& session, std::string const&, std::string const& member) override;
    void resign() override { leave(); }
    bool destroy(std::string const&) override { return true; }
    void disconnect() override {
        leave();
        if (domain_ > 0) dds_delete(domain_);
        domain_ = 0;
    }

    TopicId add(Topic const& topic) override {
        classes_.push_back(Class());
        classes_.back().topic = topic;
        byName_[topic.name] = classes_.size() - 1;
        return classes_.size() - 1;
    }
    void publish(TopicId topic, std::size_t) override;
    void subscribe(TopicId topic, std::size_t) override;
    void withdraw() override;
    std::size_t addItem(TopicId topic, std::size_t fields, std::uint64_t bytesEach) override;
    void setTransport(std::size_t, bool) override {
        throw EndpointError(version() + " has no choice of transportation");
    }
    bool settled() const override { return true; }
    void fill(std::size_t item, unsigned char const* bytes, std::size_t size) override {
        Item& one = *items_[item];
        std::memcpy(one.state.data() + 8, bytes, std::min(size, one.stride - 8));
    }
    void send(std::size_t item, std::uint64_t stamp) override;
    void say(TopicId topic, std::vector<std::string> const& values) override;
    void flush() override { poll(0); }
    void tick(double minSeconds, double maxSeconds) override {
        double const start = now();
        std::size_t delivered = poll(0);
        for (double passed = 0; passed < maxSeconds; passed = now() - start) {
            if (passed >= minSeconds && delivered == 0) break;
            delivered = poll(passed < minSeconds ? minSeconds - passed : 0);
        }
    }
    void wait(double maxSeconds) override {
        double const start = now();
        double left = maxSeconds;
        while (poll(left) == 0) {
            left = maxSeconds - (now() - start);
            if (left <= 0) return;
        }
    }

private:
    struct Class {
        Topic topic;
        dds_entity_t writer = 0, reader = 0;
        bool hears = false;  // texts
        std::size_t discovered = 0;
    };
    struct Item {
        TopicId topic;
        std::size_t fields, stride;
        std::vector<unsigned char> state;
    };
    using Key = std::pair<std::uint32_t, std::uint32_t>;  // writer and item
    struct Remote {
        TopicId topic;
        std::size_t instance;
    };

    void leave();
    dds_entity_t topicOf(Topic const& topic);
    void write(dds_entity_t writer, std::uint32_t item, std::vector<unsigned char> const& state);
    std::size_t poll(double seconds);
    std::size_t take(dds_entity_t reader, TopicId topic, bool talk);
    bool deliver(dds_sample_info_t const& info, void const* sample, TopicId topic, bool talk);
    void heard(bench_DdsMessage const& message);
    Remote const& remote(Key const& key, TopicId topic);

    EndpointEvents& events_;
    char const* volatile* const service_;
    dds_entity_t domain_ = 0, participant_ = 0, publisher_ = 0, subscriber_ = 0, waitset_ = 0;
    dds_entity_t talkWriter_ = 0, talkReader_ = 0;
    std::map<std::string, dds_entity_t> ddsTopics_;
    std::vector<Class> classes_;
    std::map<std::string, TopicId> byName_;
    std::vector<std::unique_ptr<Item>> items_;
    std::uint32_t firstItem_ = 0;  // numbers are never used again
    std::map<Key, Remote> remotes_;
    // What was taken together, for as long as it is delivered.
    struct Batch {
        void* samples[kTakenAtOnce];
        dds_sample_info_t infos[kTakenAtOnce];
        int count;
    };
    std::vector<std::unique_ptr<Batch>> batches_;
    std::vector<std::pair<dds_sample_info_t const*, void*>> taken_;
    std::string member_;
    std::uint32_t me_ = 0;
};

void Dds::connect(std::string const& settings, Callbacks callbacks) {
    *service_ = "dds_create_domain";
    if (callbacks == Callbacks::immediate) {
        throw EndpointError("this adapter has no thread for callbacks of its own");
    }
    char const* const own = std::getenv("BENCH_ADDRESS");
    in_addr number;
    bool const known = own != nullptr && ::inet_pton(AF_INET, own, &number) == 1;
    std::string interface = known ? "address=\"" + std::string(own) : "name=\"lo";
    for (std::size_t at = 0; at < settings.size();) {
        std::size_t const comma = std::min(settings.find(',', at), settings.size());
        std::string const name = settings.substr(at, comma - at);
        at = comma + 1;
        if (::if_nametoindex(name.c_str()) == 0) continue;
        interface = "name=\"" + name;
        break;
    }
    std::string const config =
        "<CycloneDDS><Domain><General><Interfaces><NetworkInterface " + interface +
        "\" multicast=\"true\"/></Interfaces><AllowMulticast>true</AllowMulticast></General>"
        "<Discovery><ParticipantIndex>none</ParticipantIndex></Discovery>"
        "<Internal><SocketReceiveBufferSize min=\"default\" max=\"4MB\"/></Internal>"
        "</Domain></CycloneDDS>";
    domain_ = dds_create_domain(0, config.c_str());
    if (domain_ < 0) {
        throw EndpointUnreachable("dds_create_domain on " + interface +
                                  "\": " + dds_strretcode(-domain_));
    }
}

bool Dds::join(std::string const& session, std::string const&, std::string const& member) {
    *service_ = "dds_create_participant";
    member_ = member;
    me_ = hashOf(member);
    participant_ = checked(dds_create_participant(0, nullptr, nullptr), "dds_create_participant");
    std::unique_ptr<dds_qos_t, void (*)(dds_qos_t*)> qos(dds_create_qos(), dds_delete_qos);
    dds_qset_partition1(qos.get(), session.c_str());
    publisher_ = checked(dds_create_publisher(participant_, qos.get(), nullptr), "publisher");
    subscriber_ = checked(dds_create_subscriber(participant_, qos.get(), nullptr), "subscriber");
    waitset_ = checked(dds_create_waitset(participant_), "dds_create_waitset");
    dds_entity_t const talk = topicOf({"talk", Topic::Kind::text, true, {}});
    talkWriter_ = checked(dds_create_writer(publisher_, talk, nullptr, nullptr), "writer");
    talkReader_ = checked(dds_create_reader(subscriber_, talk, nullptr, nullptr), "reader");
    checked(dds_set_status_mask(talkReader_, DDS_DATA_AVAILABLE_STATUS), "dds_set_status_mask");
    checked(dds_waitset_attach(waitset_, talkReader_, 0), "dds_waitset_attach");
    return true;
}

void Dds::leave() {
    *service_ = "dds_delete";
    if (participant_ > 0) dds_delete(participant_);
    participant_ = 0;
    ddsTopics_.clear();
    remotes_.clear();
    for (auto& c : classes_) c.reader = c.writer = 0;
}

// Writers and readers take over the topic's QoS.
dds_entity_t Dds::topicOf(Topic const& topic) {
    auto const found = ddsTopics_.find(topic.name);
    if (found != ddsTopics_.end()) return found->second;
    std::unique_ptr<dds_qos_t, void (*)(dds_qos_t*)> qos(dds_create_qos(), dds_delete_qos);
    bool const reliable = topic.kind == Topic::Kind::text || topic.reliable;
    dds_qset_reliability(
        qos.get(), reliable ? DDS_RELIABILITY_RELIABLE : DDS_RELIABILITY_BEST_EFFORT, DDS_SECS(1));
    std::string const latest = "Latest";
    bool const newest =
        topic.name.size() > latest.size() &&
        topic.name.compare(topic.name.size() - latest.size(), latest.size(), latest) == 0;
    if (newest) {
        dds_qset_history(qos.get(), DDS_HISTORY_KEEP_LAST, 1);
    } else {
        dds_qset_history(qos.get(), DDS_HISTORY_KEEP_ALL, 0);
        dds_qset_resource_limits(qos.get(), kKeptMax, DDS_LENGTH_UNLIMITED, DDS_LENGTH_UNLIMITED);
    }
    std::string name = "bench_" + topic.name;
    std::replace(name.begin(), name.end(), '.', '_');  // names of DDS have no dots
    dds_entity_t const made = checked(
        dds_create_topic(participant_, &bench_DdsMessage_desc, name.c_str(), qos.get(), nullptr),
        "dds_create_topic");
    return ddsTopics_[topic.name] = made;
}

void Dds::publish(TopicId topic, std::size_t) {
    *service_ = "dds_create_writer";
    Class& c = classes_[topic];
    if (c.topic.kind == Topic::Kind::text || c.writer > 0) return;
    c.writer = checked(dds_create_writer(publisher_, topicOf(c.topic), nullptr, nullptr),
                       "dds_create_writer");
}

void Dds::subscribe(TopicId topic, std::size_t) {
    *service_ = "dds_create_reader";
    Class& c = classes_[topic];
    c.discovered = 0;
    c.hears = true;
    if (c.topic.kind == Topic::Kind::text || c.reader > 0) return;
    c.reader = checked(dds_create_reader(subscriber_, topicOf(c.topic), nullptr, nullptr),
                       "dds_create_reader");
    checked(dds_set_status_mask(c.reader, DDS_DATA_AVAILABLE_STATUS), "dds_set_status_mask");
    checked(dds_waitset_attach(waitset_, c.reader, static_cast<dds_attach_t>(topic + 1)),
            "dds_waitset_attach");
}

void Dds::withdraw() {
    *service_ = "dds_delete";
    for (auto& c : classes_) {
        if (c.topic.kind == Topic::Kind::text) continue;
        // Its instances are disposed of with it.
        if (c.writer > 0) dds_delete(c.writer);
        if (c.reader > 0) {
            dds_waitset_detach(waitset_, c.reader);
            dds_delete(c.reader);
        }
        c.writer = c.reader = 0;
        c.hears = false;
    }
    remotes_.clear();
    firstItem_ += static_cast<std::uint32_t>(items_.size());
    items_.clear();
}

std::size_t Dds::addItem(TopicId topic, std::size_t fields, std::uint64_t bytesEach) {
    if (bytesEach < 8 || fields * bytesEach > kMessageMax) {
        throw EndpointError("a message of " + std::to_string(fields * bytesEach) +
                            " bytes can't be carried");
    }
    std::unique_ptr<Item> made(new Item);
    made->topic = topic;
    made->fields = fields;
    made->stride = static_cast<std::size_t>(bytesEach);
    made->state.assign(fields * made->stride, 0x5a);
    auto const index = static_cast<std::uint32_t>(items_.size());
    items_.push_back(std::move(made));
    std::vector<unsigned char> announced = {'I'};
    put32(announced, firstItem_ + index);
    putText(announced, classes_[topic].topic.name);
    write(talkWriter_, 0, announced);
    return index;
}

void Dds::send(std::size_t index, std::uint64_t stamp) {
    Item& one = *items_[index];
    std::uint64_t const little = htole64(stamp);
    for (std::size_t f = 0; f < one.fields; ++f) {
        std::memcpy(one.state.data() + f * one.stride, &little, sizeof little);
    }
    ++statistics_.sent;
    write(classes_[one.topic].writer, firstItem_ + static_cast<std::uint32_t>(index), one.state);
}

void Dds::write(dds_entity_t writer, std::uint32_t item, std::vector<unsigned char> const& state) {
    *service_ = "dds_write";
    bench_DdsMessage message{};
    message.writer = me_;
    message.item = item;
    message.state._length = message.state._maximum = static_cast<std::uint32_t>(state.size());
    message.state._buffer = const_cast<std::uint8_t*>(state.data());
    // Who reads slowly holds a reliable writer up, as long as whoever calls has patience.
    dds_return_t result = dds_write(writer, &message);
    while (result == DDS_RETCODE_TIMEOUT) result = dds_write(writer, &message);
    checked(result, "dds_write");
}

void Dds::say(TopicId topic, std::vector<std::string> const& values) {
    std::vector<unsigned char> text = {'T'};
    putText(text, classes_[topic].topic.name);
    for (auto const& value : values) putText(text, value);
    write(talkWriter_, 0, text);
}

std::size_t Dds::poll(double seconds) {
    *service_ = "dds_waitset_wait";
    if (seconds > 0) {
        dds_attach_t came[64];
        checked(dds_waitset_wait(waitset_, came, 64, static_cast<dds_duration_t>(seconds * 1e9)),
                "dds_waitset_wait");
    }
    *service_ = "dds_take";
    std::size_t delivered = take(talkReader_, 0, true);
    for (TopicId topic = 0; topic < classes_.size(); ++topic) {
        if (classes_[topic].reader > 0) delivered += take(classes_[topic].reader, topic, false);
    }
    return delivered;
}

// DDS keeps the order of each instance only, and hands out one after the other: what is there is
// put into the order in which it was written.
std::size_t Dds::take(dds_entity_t reader, TopicId topic, bool talk) {
    std::size_t used = 0;
    taken_.clear();
    do {
        if (used == batches_.size()) batches_.emplace_back(new Batch);
        Batch& one = *batches_[used++];
        std::fill(std::begin(one.samples), std::end(one.samples), nullptr);
        one.count = checked(dds_take(reader, one.samples, one.infos, kTakenAtOnce, kTakenAtOnce),
                            "dds_take");
        for (int i = 0; i < one.count; ++i) taken_.emplace_back(&one.infos[i], one.samples[i]);
    } while (batches_[used - 1]->count == kTakenAtOnce &&
             taken_.size() < static_cast<std::size_t>(kKeptMax));
    std::stable_sort(taken_.begin(), taken_.end(), [](auto const& a, auto const& b) {
        return a.first->source_timestamp < b.first->source_timestamp;
    });
    std::size_t delivered = 0;
    for (auto const& one : taken_)
        delivered += deliver(*one.first, one.second, topic, talk) ? 1 : 0;
    for (std::size_t n = 0; n < used; ++n) {
        Batch& one = *batches_[n];
        if (one.count > 0) dds_return_loan(reader, one.samples, one.count);
    }
    return delivered;
}

// False: it is its own.
bool Dds::deliver(dds_sample_info_t const& info, void const* sample, TopicId topic, bool talk) {
    auto const& message = *static_cast<bench_DdsMessage const*>(sample);
    if (message.writer == me_) return false;
    if (talk) {
        if (info.valid_data) heard(message);
        return true;
    }
    Key const key(message.writer, message.item);
    if (!info.valid_data) {
        bool const object = classes_[topic].topic.kind == Topic::Kind::object;
        // Its writer deleted it, or has died.
        if (info.instance_state != DDS_IST_ALIVE && remotes_.erase(key) > 0 && object) {
            events_.removed(topic);
        }
        return true;
    }
    Remote const& from = remote(key, topic);
    std::size_t const size = message.state._length;
    if (size < 8) {
        events_.malformed("data without a time stamp");
        return true;
    }
    Arrival arrival{
        topic, 0, from.instance, size, classes_[topic].topic.reliable, message.state._buffer};
    std::memcpy(&arrival.stamp, message.state._buffer, sizeof arrival.stamp);
    arrival.stamp = le64toh(arrival.stamp);
    ++statistics_.arrived;
    if (data_ != nullptr) data_->arrived(arrival);
    return true;
}

// Data may overtake what announces their item.
Dds::Remote const& Dds::remote(Key const& key, TopicId topic) {
    auto const found = remotes_.find(key);
    if (found != remotes_.end()) return found->second;
    Class& c = classes_[topic];
    Remote const made{topic, c.topic.kind == Topic::Kind::object ? c.discovered++ : 0};
    if (c.topic.kind == Topic::Kind::object) events_.discovered(topic);
    return remotes_.emplace(key, made).first->second;
}

void Dds::heard(bench_DdsMessage const& message) {
    unsigned char const* at = message.state._buffer;
    std::size_t left = message.state._length;
    auto const number = [&](std::uint32_t& value) {
        if (left < 4) return false;
        std::memcpy(&value, at, 4);
        value = le32toh(value);
        at += 4;
        left -= 4;
        return true;
    };
    std::vector<std::string> parts;
    std::uint32_t item = 0, size = 0;
    char const kind = left > 0 ? static_cast<char>(*at) : '\0';
    at += left > 0 ? 1 : 0;
    left -= left > 0 ? 1 : 0;
    bool good = kind == 'T' || (kind == 'I' && number(item));
    while (good && left > 0) {
        good = number(size) && size <= left;
        if (!good) break;
        parts.emplace_back(reinterpret_cast<char const*>(at), size);
        at += size;
        left -= size;
    }
    if (!good || parts.empty()) return events_.malformed("a text that nobody sends");
    auto const topic = byName_.find(parts.front());
    if (topic == byName_.end() || !classes_[topic->second].hears) return;
    if (kind == 'I') {
        remote(Key(message.writer, item), topic->second);
        return;
    }
    parts.erase(parts.begin());
    if (parts.size() != classes_[topic->second].topic.fields.size()) {
        return events_.malformed("a text with other fields");
    }
    events_.said(topic->second, parts);
}

}  // namespace bench

BENCH_ADAPTER(bench::Dds)
