// One of many federates that register instances and discover all those of the others.
#include "federate.hpp"

#include <unistd.h>

namespace limits {

using namespace rti1516e;

namespace {

class Member : public Federate {
public:
    using Federate::Federate;

    void run(std::wstring const &name, std::uint64_t federates, std::uint64_t instances) {
        expected_ = (federates - 1) * instances;
        join(name);
        rti->subscribeObjectClassAttributes(there.handle, there.attributes);
        rti->publishObjectClassAttributes(there.handle, there.attributes);
        for (std::uint64_t i = 0; i < instances; ++i)
            own_.insert(rti->registerObjectInstance(there.handle));
        await([&] { return known_.size() >= expected_ || fault_; });
        double const at = seconds();
        check();
        tell({{"discovered", known_.size()}, {"at_s", at}});
        // Who resigns now takes time from those who still discover: wait for the launcher.
        char byte;
        while (read(0, &byte, 1) > 0) {
        }
        check();
        leave();
    }

    void discoverObjectInstance(ObjectInstanceHandle object, ObjectClassHandle class_,
                                std::wstring const &) LIMITS_THROW override {
        fault_ = fault_ || class_ != there.handle || own_.count(object) != 0 ||
                 !known_.insert(object).second;
    }
    void discoverObjectInstance(ObjectInstanceHandle object, ObjectClassHandle class_,
                                std::wstring const &name, FederateHandle) LIMITS_THROW override {
        discoverObjectInstance(object, class_, name);
    }
    using NullFederateAmbassador::discoverObjectInstance;

private:
    void check() {
        if (fault_) throw Failure("discovered twice, at another class, or what is its own");
        if (known_.size() != expected_)
            throw Failure("discovered " + std::to_string(known_.size()) + " instances instead of " +
                          std::to_string(expected_));
    }

    std::set<ObjectInstanceHandle> own_, known_;
    std::size_t expected_ = 0;
    bool fault_ = false;
};

}  // namespace

void crowd(Options const &options) {
    Member member(options);
    member.run(std::wstring(options.name.begin(), options.name.end()), options.federates,
               options.instances);
}

}  // namespace limits
