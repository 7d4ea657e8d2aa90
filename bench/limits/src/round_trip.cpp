// Round trips between federates: ping updates, each pong answers from within its callback.
#include "federate.hpp"

#include <algorithm>

namespace limits {

using namespace rti1516e;

namespace {

double const kLostAfterS = 0.5;

/// Either side: publishes one class, subscribes to the other.
class Player : public Federate {
public:
    Player(Options const &options, bool pings)
        : Federate(options, options.best),
          pings_(pings),
          best_(options.best),
          others_(std::max<std::uint64_t>(pings ? options.receivers : 1, 1)),
          bytes_(options.bytes) {
        join(pings ? L"ping" : L"pong" + std::to_wstring(options.me));
        Class const &mine = pings ? there : back, &other = pings ? back : there;
        // Whoever discovers the other's instance has its subscription.
        rti->subscribeObjectClassAttributes(other.handle, other.attributes);
        rti->publishObjectClassAttributes(mine.handle, mine.attributes);
        payload_.make(mine.payload, bytes_);
        instance_ = rti->registerObjectInstance(mine.handle);
        await([&] { return partners_ == others_; });
    }

    void discoverObjectInstance(ObjectInstanceHandle, ObjectClassHandle,
                                std::wstring const &) LIMITS_THROW override {
        ++partners_;
    }
    void discoverObjectInstance(ObjectInstanceHandle, ObjectClassHandle, std::wstring const &,
                                FederateHandle) LIMITS_THROW override {
        ++partners_;
    }
    void removeObjectInstance(ObjectInstanceHandle, VariableLengthData const &, OrderType,
                              SupplementalRemoveInfo) LIMITS_THROW override {
        --partners_;
    }
    void reflectAttributeValues(ObjectInstanceHandle, AttributeHandleValueMap const &values,
                                VariableLengthData const &, OrderType, TransportationType,
                                SupplementalReflectInfo) LIMITS_THROW override {
        if (pings_) at_ = seconds();
        VariableLengthData const &value = values.begin()->second;
        sizes_ = sizes_ && value.size() == bytes_;
        std::uint64_t const number = numberOf(value);
        // What was lost and comes after all is of an earlier trip.
        answers_ += number == asked_ ? 1 : 0;
        if (!pings_) update(number);
    }
    using NullFederateAmbassador::discoverObjectInstance;
    using NullFederateAmbassador::reflectAttributeValues;
    using NullFederateAmbassador::removeObjectInstance;

    /// One round trip, until the last answer, in seconds; of best effort less than 0 if any was
    /// lost.
    double trip(std::uint64_t number) {
        asked_ = number;
        answers_ = 0;
        double const start = seconds();
        update(number);
        // Whoever waits looks once a second.
        await([&] {
            return answers_ == others_ || partners_ < others_ ||
                   (best_ && seconds() - start > kLostAfterS);
        });
        if (partners_ < others_) throw Failure("pong has left");
        if (!sizes_) throw Failure("a value came back with another size");
        return answers_ == others_ ? at_ - start : -1;
    }

    void answer() {
        await([&] { return partners_ == 0; });
    }

private:
    void update(std::uint64_t number) {
        rti->updateAttributeValues(instance_, payload_.numbered(number), noTag);
    }

    bool const pings_, best_;
    std::uint64_t const others_;
    std::size_t const bytes_;
    Payload payload_;
    ObjectInstanceHandle instance_;
    bool sizes_ = true;
    std::uint64_t partners_ = 0, asked_ = 0, answers_ = 0;
    double at_ = 0;
};

}  // namespace

void ping(Options const &options) {
    std::uint64_t const warmUp = options.warmUp, count = options.count;
    Player player(options, true);
    std::uint64_t lost = 0;
    std::vector<double> trips;
    trips.reserve(count);
    for (std::uint64_t n = 1; n <= warmUp + count; ++n) {
        double const trip = player.trip(n);
        if (n <= warmUp) continue;
        if (trip < 0) ++lost;
        else trips.push_back(trip * 1e6);
    }
    player.leave();
    if (trips.empty()) throw Failure("nothing came back");
    nlohmann::json said = {{"us", trips}};
    if (options.best) said["lost"] = lost;
    tell(said);
}

void pong(Options const &options) {
    Player player(options, false);
    player.answer();
}

}  // namespace limits
