// A chapter that rtiexec's settings switch off: its services throw RTIinternalError, which names
// the setting, and the others work.
#include "federate.hpp"

#include <RTI/time/HLAfloat64Interval.h>
#include <RTI/time/HLAfloat64Time.h>

namespace testing_federates {
namespace {

auto *const environment = testing::AddGlobalTestEnvironment(new OneRtiexec);

/// The services of a chapter, called by a federate that has joined.
typedef std::vector<std::function<void()>> Services;

Services timeServices(Federate &f) {
    auto &rti = *f.rti;
    return {
        [&] { rti.enableTimeRegulation(HLAfloat64Interval(1)); },
        [&] { rti.enableTimeConstrained(); },
        [&] { rti.timeAdvanceRequest(HLAfloat64Time(1)); },
        [&] { rti.timeAdvanceRequestAvailable(HLAfloat64Time(1)); },
        [&] { rti.nextMessageRequest(HLAfloat64Time(1)); },
        [&] { rti.nextMessageRequestAvailable(HLAfloat64Time(1)); },
        [&] { rti.flushQueueRequest(HLAfloat64Time(1)); },
        [&] { rti.enableAsynchronousDelivery(); },
        [&] {
            HLAfloat64Time time;
            rti.queryGALT(time);
        },
        [&] {
            HLAfloat64Time time;
            rti.queryLogicalTime(time);
        },
        [&] {
            HLAfloat64Time time;
            rti.queryLITS(time);
        },
    };
}

Services regionServices(Federate &f) {
    auto &rti = *f.rti;
    DimensionHandleSet const dimensions = {rti.getDimensionHandle(L"SodaFlavor")};
    AttributeHandleSetRegionHandleSetPairVector const regions = {{{f.cups}, RegionHandleSet()}};
    return {
        [&rti, dimensions] { rti.createRegion(dimensions); },
        [&rti] { rti.commitRegionModifications(RegionHandleSet()); },
        [&f, regions] { f.rti->subscribeObjectClassAttributesWithRegions(f.soda, regions); },
        [&f, regions] { f.rti->registerObjectInstanceWithRegions(f.soda, regions); },
    };
}

Services managerServices(Federate &f) {
    auto &rti = *f.rti;
    ObjectClassHandle const manager = rti.getObjectClassHandle(L"HLAmanager.HLAfederation");
    AttributeHandleSet const name = {rti.getAttributeHandle(manager, L"HLAfederationName")};
    InteractionClassHandle const report =
        rti.getInteractionClassHandle(L"HLAmanager.HLAfederate.HLAreport.HLAreportMOMexception");
    InteractionClassHandle const request = rti.getInteractionClassHandle(
        L"HLAmanager.HLAfederation.HLArequest.HLArequestSynchronizationPoints");
    return {
        [&rti, manager, name] { rti.subscribeObjectClassAttributes(manager, name); },
        [&rti, report] { rti.subscribeInteractionClass(report); },
        [&rti, request] { rti.publishInteractionClass(request); },
    };
}

Services rateServices(Federate &f) {
    return {[&f] { f.rti->subscribeObjectClassAttributes(f.soda, {f.cups}, true, L"Low"); }};
}

struct Off {
    char const *variable;
    std::wstring setting;
    Services (*services)(Federate &);
};

Off const kOff[] = {
    {"STARLING_SERVICES_TIME", L"services.time", timeServices},
    {"STARLING_SERVICES_DDM", L"services.ddm", regionServices},
    {"STARLING_SERVICES_MOM", L"services.mom", managerServices},
    {"STARLING_SERVICES_RATES", L"services.rates", rateServices},
};

/// Whether a service is refused as one that is off; why.
std::wstring refusal(std::function<void()> const &service) {
    try {
        service();
    } catch (RTIinternalError const &e) {
        return e.what();
    } catch (Exception const &) {
        // What it asks for is not so; the service is there.
    }
    return L"";
}

class SwitchedOff : public testing::TestWithParam<Off> {};
INSTANTIATE_TEST_SUITE_P(Services, SwitchedOff, testing::ValuesIn(kOff),
                         [](auto const &info) { return info.param.variable + 18; });

TEST_P(SwitchedOff, ThrowsAndNamesItsSetting) {
    setenv(GetParam().variable, "off", 1);
    Rtiexec rtiexec;
    unsetenv(GetParam().variable);
    Federate f;
    f.rti->connect(f, f.model, rtiexec.settings());
    f.enter(L"A");
    for (Off const &one : kOff) {
        bool const off = one.setting == GetParam().setting;
        int number = 0;
        for (auto const &service : one.services(f)) {
            std::wstring const why = refusal(service);
            EXPECT_EQ(why.find(one.setting + L" = off") != why.npos, off)
                << testing::PrintToString(one.setting) << ", service " << number << ": "
                << testing::PrintToString(why);
            ++number;
        }
    }
    // Data comes as ever.
    EXPECT_NO_THROW(f.update(f.rti->registerObjectInstance(f.soda), "1"));
    f.leave();
}

}
}
