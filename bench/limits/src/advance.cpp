// Federates whose time goes on step by step, with messages in time-stamp order or without.
//
// The first one measures. In each step a federate sends its share of the messages, one step ahead,
// and asks for the next time (Time Advance Request). Whoever is constrained gets all messages of a
// step before its grant, or finds out.
#include "federate.hpp"

#include <RTI/time/HLAfloat64Interval.h>
#include <RTI/time/HLAfloat64Time.h>

namespace limits {

using namespace rti1516e;

namespace {

wchar_t const kReady[] = L"ready", kEnd[] = L"end";

class Advancing : public Federate {
public:
    explicit Advancing(Options const &options)
        : Federate(options),
          me_(options.me),
          federates_(options.federates),
          messages_(options.messages),
          steps_(options.steps),
          warmUp_(options.warmUp),
          regulating_(options.regulating),
          constrained_(options.constrained),
          bytes_(options.bytes) {}

    /// The first federates regulate, the last ones are constrained.
    void run() {
        join(L"f" + std::to_wstring(me_));
        rti->subscribeObjectClassAttributes(there.handle, there.attributes);
        rti->publishObjectClassAttributes(there.handle, there.attributes);
        payload_.make(there.payload, bytes_);
        instance_ = rti->registerObjectInstance(there.handle);
        rti->changeAttributeOrderType(instance_, there.attributes, TIMESTAMP);
        await([&] { return known_ == federates_ - 1; });
        if (me_ == 0) {
            rti->registerFederationSynchronizationPoint(kReady, noTag);
            rti->registerFederationSynchronizationPoint(kEnd, noTag);
        }
        if (regulates(me_)) {
            rti->enableTimeRegulation(HLAfloat64Interval(1));
            await([&] { return regulationEnabled_; });
        }
        if (isConstrained()) {
            rti->enableTimeConstrained();
            await([&] { return constraintEnabled_; });
        }
        await([&] { return announced_ == 2; });
        meet(kReady);

        std::vector<double> took;
        took.reserve(steps_);
        double start = seconds();
        std::uint64_t before = received_;
        for (std::uint64_t step = 1; step <= warmUp_ + steps_; ++step) {
            double const began = seconds();
            HLAfloat64Time const next(static_cast<double>(step));
            for (std::uint64_t n = share(me_); n > 0; --n)
                rti->updateAttributeValues(instance_, payload_.numbered(step), noTag, next);
            granted_ = false;
            rti->timeAdvanceRequest(next);
            awaitGrant();
            if (isConstrained() && received_ != step * others())
                throw Failure("at " + std::to_string(step) + " there are " +
                              std::to_string(received_) + " messages instead of " +
                              std::to_string(step * others()));
            if (step > warmUp_) took.push_back((seconds() - began) * 1e6);
            if (step == warmUp_) {
                start = seconds();
                before = received_;
            }
        }
        double const all = seconds() - start;
        // Nobody leaves before all have come to the end: who is gone has nobody wait for it.
        meet(kEnd);
        leave();
        tell({{"us", took}, {"seconds", all}, {"messages", received_ - before}});
    }

    void discoverObjectInstance(ObjectInstanceHandle, ObjectClassHandle,
                                std::wstring const &) LIMITS_THROW override {
        ++known_;
    }
    void discoverObjectInstance(ObjectInstanceHandle, ObjectClassHandle, std::wstring const &,
                                FederateHandle) LIMITS_THROW override {
        ++known_;
    }
    void announceSynchronizationPoint(std::wstring const &,
                                      VariableLengthData const &) LIMITS_THROW override {
        ++announced_;
    }
    void federationSynchronized(std::wstring const &label,
                                FederateHandleSet const &) LIMITS_THROW override {
        met_ = label;
    }
    void timeRegulationEnabled(LogicalTime const &) LIMITS_THROW override {
        regulationEnabled_ = true;
    }
    void timeConstrainedEnabled(LogicalTime const &) LIMITS_THROW override {
        constraintEnabled_ = true;
    }
    void timeAdvanceGrant(LogicalTime const &) LIMITS_THROW override { granted_ = true; }
    void reflectAttributeValues(ObjectInstanceHandle, AttributeHandleValueMap const &values,
                                VariableLengthData const &, OrderType, TransportationType,
                                LogicalTime const &, OrderType, MessageRetractionHandle,
                                SupplementalReflectInfo) LIMITS_THROW override {
        if (values.begin()->second.size() != bytes_)
            throw FederateInternalError(L"a value of another size");
        ++received_;
    }
    using NullFederateAmbassador::discoverObjectInstance;
    using NullFederateAmbassador::reflectAttributeValues;

private:
    /// Waits for the first callback, then evokes what is there, as receivers in receive order do.
    void awaitGrant() {
        bool any = false;
        await([&] {
            if (any && !granted_) rti->evokeMultipleCallbacks(0, 1);
            any = true;
            return granted_;
        });
    }

    /// Goes on when all have come here.
    void meet(std::wstring const &label) {
        rti->synchronizationPointAchieved(label);
        await([&] { return met_ == label; });
    }

    bool regulates(std::uint64_t federate) const { return federate < regulating_; }
    bool isConstrained() const { return me_ >= federates_ - constrained_; }
    /// Messages of a federate in each step: all together are `messages_`.
    std::uint64_t share(std::uint64_t federate) const {
        if (!regulates(federate)) return 0;
        return messages_ * (federate + 1) / regulating_ - messages_ * federate / regulating_;
    }
    std::uint64_t others() const { return messages_ - share(me_); }

    std::uint64_t const me_, federates_, messages_, steps_, warmUp_, regulating_, constrained_;
    std::size_t const bytes_;
    Payload payload_;
    ObjectInstanceHandle instance_;
    std::wstring met_;
    std::uint64_t known_ = 0, received_ = 0, announced_ = 0;
    bool granted_ = false;
    bool regulationEnabled_ = false, constraintEnabled_ = false;
};

}  // namespace

void advance(Options const &options) { Advancing(options).run(); }

}  // namespace limits
