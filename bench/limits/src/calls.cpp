// How long services take their caller, each called again and again; beside it a bystander that
// subscribes to what is updated.
#include "federate.hpp"

#include <RTI/time/HLAfloat64Interval.h>
#include <RTI/time/HLAfloat64Time.h>

#include <map>

namespace limits {

using namespace rti1516e;

namespace {

class Caller : public Federate {
public:
    using Federate::Federate;

    void run(Options const &options) {
        count_ = options.count;
        join(L"caller");
        rti->publishObjectClassAttributes(there.handle, there.attributes);
        lookUps();
        declarations();
        objects(options.bytes);
        regions();
        time();
        leave();
        nlohmann::json said;
        for (auto &one : took_)
            said[one.first] = summary(one.second);
        tell(said);
    }

    void timeRegulationEnabled(LogicalTime const &) LIMITS_THROW override { answered_ = true; }
    void timeConstrainedEnabled(LogicalTime const &) LIMITS_THROW override { answered_ = true; }
    void timeAdvanceGrant(LogicalTime const &) LIMITS_THROW override { answered_ = true; }

private:
    /// Calls it `count_` times with the number of the call; `then` is not measured.
    template <class Call, class Then> void measure(char const *service, Call call, Then then) {
        std::vector<float> &times = took_[service];
        for (std::uint64_t n = 0; n < count_; ++n) {
            double const start = seconds();
            call(n);
            times.push_back(static_cast<float>((seconds() - start) * 1e6));
            then(n);
        }
    }
    template <class Call> void measure(char const *service, Call call) {
        measure(service, call, [](std::uint64_t) {});
    }

    void lookUps() {
        measure("getObjectClassHandle",
                [&](std::uint64_t) { rti->getObjectClassHandle(L"HLAobjectRoot.There"); });
        measure("getObjectClassName",
                [&](std::uint64_t) { rti->getObjectClassName(there.handle); });
        measure("getAttributeHandle",
                [&](std::uint64_t) { rti->getAttributeHandle(there.handle, L"payload"); });
        measure("getInteractionClassHandle",
                [&](std::uint64_t) { rti->getInteractionClassHandle(L"Five"); });
        measure("evokeCallback, nothing there", [&](std::uint64_t) { rti->evokeCallback(0); });
    }

    void declarations() {
        InteractionClassHandle const five = rti->getInteractionClassHandle(L"Five");
        auto const both = [&](char const *on, char const *off, auto begin, auto end) {
            measure(on, [&](std::uint64_t) { begin(); }, [&](std::uint64_t) { end(); });
            begin();
            measure(off, [&](std::uint64_t) { end(); }, [&](std::uint64_t) { begin(); });
        };
        both(
            "subscribeObjectClassAttributes", "unsubscribeObjectClassAttributes",
            [&] { rti->subscribeObjectClassAttributes(back.handle, back.attributes); },
            [&] { rti->unsubscribeObjectClassAttributes(back.handle, back.attributes); });
        both(
            "publishObjectClassAttributes", "unpublishObjectClassAttributes",
            [&] { rti->publishObjectClassAttributes(back.handle, back.attributes); },
            [&] { rti->unpublishObjectClassAttributes(back.handle, back.attributes); });
        both(
            "subscribeInteractionClass", "unsubscribeInteractionClass",
            [&] { rti->subscribeInteractionClass(five); },
            [&] { rti->unsubscribeInteractionClass(five); });
        both(
            "publishInteractionClass", "unpublishInteractionClass",
            [&] { rti->publishInteractionClass(five); },
            [&] { rti->unpublishInteractionClass(five); });
    }

    void objects(std::size_t bytes) {
        std::vector<ObjectInstanceHandle> own;
        measure("registerObjectInstance",
                [&](std::uint64_t) { own.push_back(rti->registerObjectInstance(there.handle)); });
        Payload payload;
        payload.make(there.payload, bytes);
        measure("updateAttributeValues", [&](std::uint64_t n) {
            rti->updateAttributeValues(own[n], payload.numbered(n), noTag);
        });
        InteractionClassHandle const five = rti->getInteractionClassHandle(L"Five");
        rti->publishInteractionClass(five);
        ParameterHandleValueMap parameters;
        std::vector<char> value(bytes, 'x');
        parameters[rti->getParameterHandle(five, L"value1")].setDataPointer(value.data(),
                                                                            value.size());
        measure("sendInteraction",
                [&](std::uint64_t) { rti->sendInteraction(five, parameters, noTag); });
        measure("requestAttributeValueUpdate", [&](std::uint64_t n) {
            rti->requestAttributeValueUpdate(own[n], there.attributes, noTag);
        });
        measure("queryAttributeOwnership",
                [&](std::uint64_t n) { rti->queryAttributeOwnership(own[n], there.payload); });
        measure("getObjectInstanceName",
                [&](std::uint64_t n) { rti->getObjectInstanceName(own[n]); });
        measure("reserveObjectInstanceName", [&](std::uint64_t n) {
            rti->reserveObjectInstanceName(L"name" + std::to_wstring(n));
        });
        measure("deleteObjectInstance",
                [&](std::uint64_t n) { rti->deleteObjectInstance(own[n], noTag); });
    }

    void regions() {
        DimensionHandle const dimension = rti->getDimensionHandle(L"HLAfederate");
        DimensionHandleSet dimensions;
        dimensions.insert(dimension);
        std::vector<RegionHandle> own;
        measure("createRegion",
                [&](std::uint64_t) { own.push_back(rti->createRegion(dimensions)); });
        measure("setRangeBounds", [&](std::uint64_t n) {
            rti->setRangeBounds(own[n], dimension, RangeBounds(0, 1));
        });
        measure("commitRegionModifications", [&](std::uint64_t n) {
            RegionHandleSet one;
            one.insert(own[n]);
            rti->commitRegionModifications(one);
        });
        measure("deleteRegion", [&](std::uint64_t n) { rti->deleteRegion(own[n]); });
    }

    void time() {
        auto const answered = [&](std::uint64_t) {
            await([&] { return answered_; });
            answered_ = false;
        };
        measure(
            "enableTimeRegulation",
            [&](std::uint64_t) { rti->enableTimeRegulation(HLAfloat64Interval(1)); },
            [&](std::uint64_t n) {
                answered(n);
                rti->disableTimeRegulation();
            });
        rti->enableTimeRegulation(HLAfloat64Interval(1));
        answered(0);
        rti->enableTimeConstrained();
        answered(0);
        HLAfloat64Time now;
        measure("queryLogicalTime", [&](std::uint64_t) { rti->queryLogicalTime(now); });
        rti->queryLogicalTime(now);
        double const from = now.getTime();
        measure(
            "timeAdvanceRequest",
            [&](std::uint64_t n) {
                rti->timeAdvanceRequest(HLAfloat64Time(from + static_cast<double>(n + 1)));
            },
            answered);
        HLAfloat64Time galt;
        measure("queryGALT", [&](std::uint64_t) { rti->queryGALT(galt); });
        measure("modifyLookahead",
                [&](std::uint64_t) { rti->modifyLookahead(HLAfloat64Interval(1)); });
    }

    std::map<std::string, std::vector<float>> took_;
    std::uint64_t count_ = 0;
    bool answered_ = false;
};

}

void calls(Options const &options) { Caller(options).run(options); }

}
