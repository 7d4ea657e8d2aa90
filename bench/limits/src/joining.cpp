// What it takes to join: `bystand` has joined, with object instances; `join` does so, knows them
// all, and leaves, again and again.
#include "federate.hpp"

namespace limits {

using namespace rti1516e;

namespace {

class Joining : public Federate {
public:
    using Federate::Federate;

    /// Subscribed before it is said that this one is there.
    void stand(Options const &options) {
        join(L"bystander" + std::to_wstring(options.me));
        rti->subscribeObjectClassAttributes(there.handle, there.attributes);
        rti->subscribeInteractionClass(rti->getInteractionClassHandle(L"Five"));
        rti->publishObjectClassAttributes(there.handle, there.attributes);
        for (std::uint64_t i = 0; i < options.instances; ++i)
            rti->registerObjectInstance(there.handle);
        tell({{"joined_us", joinSeconds * 1e6}});
        stay();
        leave();
    }

    void run(Options const &options) {
        std::vector<float> joined, known, left;
        for (std::uint64_t lap = 0; lap < options.laps; ++lap) {
            known_ = 0;
            join(L"newcomer");
            joined.push_back(static_cast<float>(joinSeconds * 1e6));
            double const start = seconds();
            rti->subscribeObjectClassAttributes(there.handle, there.attributes);
            await([&] { return known_ >= options.instances; });
            known.push_back(static_cast<float>((seconds() - start) * 1e6));
            double const leaving = seconds();
            leave();
            left.push_back(static_cast<float>((seconds() - leaving) * 1e6));
        }
        if (known_ != options.instances)
            throw Failure("discovered " + std::to_string(known_) + " instances instead of " +
                          std::to_string(options.instances));
        tell({{"join", summary(joined)}, {"discover", summary(known)}, {"resign", summary(left)}});
    }

    void discoverObjectInstance(ObjectInstanceHandle, ObjectClassHandle,
                                std::wstring const &) LIMITS_THROW override {
        ++known_;
    }
    void discoverObjectInstance(ObjectInstanceHandle, ObjectClassHandle, std::wstring const &,
                                FederateHandle) LIMITS_THROW override {
        ++known_;
    }
    using NullFederateAmbassador::discoverObjectInstance;

private:
    std::uint64_t known_ = 0;
};

}  // namespace

void bystand(Options const &options) { Joining(options).stand(options); }

void join(Options const &options) { Joining(options).run(options); }

}  // namespace limits
