// Updates from `produce` to `consume` along any of what they may hang on: bytes, attributes, object
// instances, classes, receivers, a rate; reliable or best effort; for a time or a number. Both tell
// what it took of their CPUs and of their host's network.
//
// The way to agree is a reliable instance of its own: a consumer that knows all instances asks for
// its value, and does so again when it has all; its update says that the flow is over, and how many
// there were.
#include "federate.hpp"

#include <algorithm>
#include <fstream>
#include <random>
#include <sstream>

namespace limits {

using namespace rti1516e;

namespace {

char const kBegin = 'b', kDone = 'd';
/// After so long without anything, what is missing of best effort is lost.
double const kSilenceS = 0.5;
/// Times of calls are kept for so many at most, those of arrivals, too.
std::size_t const kTimesMax = 1 << 24;
/// The clock is looked at once for so many updates.
std::uint64_t const kUnlooked = 16;
/// Who is behind sends so many at most before it looks whether the time is over.
std::uint64_t const kBurstMax = 1024;

/// What a value begins with.
struct Front {
    std::uint64_t number;
    double at;
};

/// What has passed the interfaces of this host, without those to itself.
struct Traffic {
    double sentBytes = 0, sentFrames = 0, receivedBytes = 0, receivedFrames = 0;

    static Traffic now() {
        Traffic all;
        std::ifstream file("/proc/self/net/dev");
        for (std::string line; std::getline(file, line);) {
            std::size_t const colon = line.find(':');
            if (colon == std::string::npos || line.find("lo:") < colon) continue;
            std::istringstream fields(line.substr(colon + 1));
            double field[10] = {};
            for (double &one : field) fields >> one;
            all.receivedBytes += field[0];
            all.receivedFrames += field[1];
            all.sentBytes += field[8];
            all.sentFrames += field[9];
        }
        return all;
    }
    nlohmann::json since(Traffic const &before) const {
        return {{"sent_bytes", sentBytes - before.sentBytes},
                {"sent_frames", sentFrames - before.sentFrames},
                {"received_bytes", receivedBytes - before.receivedBytes},
                {"received_frames", receivedFrames - before.receivedFrames}};
    }
};

/// A class whose instances are updated, and the attributes of an update.
struct Flowing {
    ObjectClassHandle handle;
    AttributeHandleSet attributes;
    AttributeHandleValueMap values;
};

std::vector<Flowing> flowing(Options const &options, RTIambassador &rti) {
    std::vector<Flowing> found(std::max<std::uint64_t>(options.classes, 1));
    for (std::size_t i = 0; i < found.size(); ++i) {
        Flowing &one = found[i];
        std::wstring const name = options.classes > 0 ? L"Class" + std::to_wstring(i + 1)
                                  : options.best      ? L"BestMany"
                                                      : L"Many";
        one.handle = rti.getObjectClassHandle(L"HLAobjectRoot." + name);
        for (std::uint64_t v = 1; v <= options.values; ++v) {
            AttributeHandle const attribute =
                rti.getAttributeHandle(one.handle, L"value" + std::to_wstring(v));
            one.attributes.insert(attribute);
            one.values[attribute];
        }
    }
    return found;
}

class Producer : public Federate {
public:
    explicit Producer(Options const &options)
        : Federate(options), options_(options), bytes_(options.bytes, 'x') {}

    void run() {
        join(L"producer");
        rti->publishObjectClassAttributes(there.handle, there.attributes);
        std::vector<Flowing> classes = flowing(options_, *rti);
        for (Flowing const &one : classes)
            rti->publishObjectClassAttributes(one.handle, one.attributes);
        std::vector<std::pair<ObjectInstanceHandle, Flowing *>> instances;
        instances.reserve(options_.instances);
        double const before = seconds();
        for (std::uint64_t i = 0; i < options_.instances; ++i) {
            Flowing &of = classes[i % classes.size()];
            instances.emplace_back(rti->registerObjectInstance(of.handle), &of);
        }
        double const registered = seconds() - before;
        ObjectInstanceHandle const agreed = rti->registerObjectInstance(there.handle);
        await([&] { return begun_ == options_.receivers; });
        if (options_.announced) tell({{"begun", true}});

        Traffic const traffic = Traffic::now();
        double const start = seconds(), cpu = cpuSeconds();
        std::uint64_t sent = 0;
        for (std::size_t next = 0; !over(sent, start);) {
            std::uint64_t burst = kUnlooked;
            if (options_.rate > 0) {
                auto const due = static_cast<std::uint64_t>((seconds() - start) *
                                                            static_cast<double>(options_.rate));
                burst = std::min(due, options_.updates > 0 ? options_.updates : due) - sent;
                burst = std::min(burst, std::max(options_.burst, kBurstMax));
                // The last ones are as few as they are.
                if (burst == 0 || (burst < options_.burst && !ends(sent + burst))) {
                    rti->evokeMultipleCallbacks(0.001, 0.001);
                    continue;
                }
            } else if (options_.updates > 0) {
                burst = std::min(burst, options_.updates - sent);
            }
            for (; burst > 0; --burst) {
                update(instances[next].first, *instances[next].second, ++sent);
                next = next + 1 == instances.size() ? 0 : next + 1;
            }
        }
        double const took = seconds() - start;
        Payload end;
        end.make(there.payload, sizeof(std::uint64_t));
        rti->updateAttributeValues(agreed, end.numbered(sent), noTag);
        await([&] { return done_ == options_.receivers; });
        double const cpuTook = cpuSeconds() - cpu;
        nlohmann::json said = {{"sent", sent},
                               {"sending_s", took},
                               {"whole_s", seconds() - start},
                               {"cpu_s", cpuTook},
                               {"register_us", registered * 1e6 / double(options_.instances)},
                               {"traffic", Traffic::now().since(traffic)}};
        if (options_.clocked) said["call"] = summary(calls_);
        leave();
        tell(said);
    }

    void provideAttributeValueUpdate(ObjectInstanceHandle, AttributeHandleSet const &,
                                     VariableLengthData const &tag) LIMITS_THROW override {
        if (tag.size() == 0) return;
        char const said = *static_cast<char const *>(tag.data());
        begun_ += said == kBegin;
        done_ += said == kDone;
    }

private:
    bool ends(std::uint64_t sent) const { return options_.updates > 0 && sent >= options_.updates; }
    bool over(std::uint64_t sent, double start) const {
        return ends(sent) ||
               (options_.ms > 0 && (seconds() - start) * 1e3 >= static_cast<double>(options_.ms));
    }

    void update(ObjectInstanceHandle instance, Flowing &of, std::uint64_t number) {
        // Random values differ from each other, too.
        if (options_.random)
            for (std::size_t at = 0; at < bytes_.size(); at += sizeof(std::uint64_t)) {
                std::uint64_t const some = random_();
                std::memcpy(bytes_.data() + at, &some, std::min(sizeof some, bytes_.size() - at));
            }
        Front const front = {number, seconds()};
        std::memcpy(bytes_.data(), &front, sizeof front);
        for (auto &value : of.values) value.second.setDataPointer(bytes_.data(), bytes_.size());
        double const called = options_.clocked ? seconds() : 0;
        rti->updateAttributeValues(instance, of.values, noTag);
        if (options_.clocked && calls_.size() < kTimesMax)
            calls_.push_back(static_cast<float>((seconds() - called) * 1e6));
    }

    Options const options_;
    std::vector<char> bytes_;
    std::mt19937_64 random_;
    std::vector<float> calls_;
    std::uint64_t begun_ = 0, done_ = 0;
};

class Consumer : public Federate {
public:
    explicit Consumer(Options const &options) : Federate(options), options_(options) {}

    void run() {
        std::string const name = std::to_string(options_.me);
        join(L"consumer" + std::wstring(name.begin(), name.end()));
        double const before = seconds();
        for (Flowing const &one : flowing(options_, *rti))
            rti->subscribeObjectClassAttributes(one.handle, one.attributes);
        rti->subscribeObjectClassAttributes(there.handle, there.attributes);
        await([&] { return agreed_ && known_ == options_.instances; });
        double const knew = seconds() - before;
        traffic_ = Traffic::now();
        ask(kBegin + name);
        while (!complete()) rti->evokeMultipleCallbacks(0.01, 0.1);
        double const cpu = cpuAtEnd_ - cpu_;
        nlohmann::json const traffic = Traffic::now().since(traffic_);
        if (options_.stays) {
            tell({{"received", received_}});
            stay();
        }
        ask(kDone + name);
        leave();
        if (faults_ > 0)
            throw Failure(std::to_string(faults_) + " faults in the flow; the first: " + fault_);
        if (!options_.best && received_ != sent_)
            throw Failure(std::to_string(received_) + " updates of " + std::to_string(sent_));
        nlohmann::json said = {
            {"received", received_}, {"sent", sent_}, {"seconds", lastAt_ - firstAt_},
            {"discovered_s", knew},  {"cpu_s", cpu},  {"traffic", traffic}};
        if (options_.stamped) said["delay"] = summary(delays_);
        tell(said);
    }

    void discoverObjectInstance(ObjectInstanceHandle object, ObjectClassHandle class_,
                                std::wstring const &) LIMITS_THROW override {
        if (class_ == there.handle) {
            instance_ = object;
            agreed_ = true;
        } else {
            ++known_;
        }
    }
    void discoverObjectInstance(ObjectInstanceHandle object, ObjectClassHandle class_,
                                std::wstring const &name, FederateHandle) LIMITS_THROW override {
        discoverObjectInstance(object, class_, name);
    }
    void reflectAttributeValues(ObjectInstanceHandle object, AttributeHandleValueMap const &values,
                                VariableLengthData const &, OrderType, TransportationType,
                                SupplementalReflectInfo) LIMITS_THROW override {
        VariableLengthData const &value = values.begin()->second;
        if (object == instance_) {
            sent_ = numberOf(value);
            ended_ = true;
            endedAt_ = seconds();
            return;
        }
        lastAt_ = seconds();
        if (received_ == 0) {
            firstAt_ = lastAt_;
            cpu_ = cpuSeconds();
        }
        Front front = {0, 0};
        if (value.size() != options_.bytes || values.size() != options_.values)
            fault("a value of " + std::to_string(value.size()) + " bytes, or too few");
        else std::memcpy(&front, value.data(), sizeof front);
        if (!options_.best && front.number != last_ + 1)
            fault("update " + std::to_string(front.number) + " after " + std::to_string(last_));
        last_ = front.number;
        ++received_;
        if (options_.stamped && delays_.size() < kTimesMax)
            delays_.push_back(static_cast<float>((lastAt_ - front.at) * 1e6));
    }
    using NullFederateAmbassador::discoverObjectInstance;
    using NullFederateAmbassador::reflectAttributeValues;

private:
    bool complete() {
        if (!ended_ || faults_ > 0) return faults_ > 0;
        bool const silent = seconds() - std::max(lastAt_, endedAt_) > kSilenceS;
        bool const all = received_ >= sent_ || (options_.best && silent);
        if (all) cpuAtEnd_ = cpuSeconds();
        return all;
    }
    void ask(std::string const &tag) {
        rti->requestAttributeValueUpdate(instance_, there.attributes,
                                         VariableLengthData(tag.data(), tag.size()));
    }
    void fault(std::string const &what) {
        if (faults_++ == 0) fault_ = what;
    }

    Options const options_;
    ObjectInstanceHandle instance_;
    Traffic traffic_;
    std::string fault_;
    std::vector<float> delays_;
    std::uint64_t known_ = 0, received_ = 0, sent_ = 0, last_ = 0, faults_ = 0;
    double firstAt_ = 0, lastAt_ = 0, endedAt_ = 0, cpu_ = 0, cpuAtEnd_ = 0;
    bool agreed_ = false, ended_ = false;
};

}  // namespace

void produce(Options const &options) { Producer(options).run(); }

void consume(Options const &options) { Consumer(options).run(); }

}  // namespace limits
