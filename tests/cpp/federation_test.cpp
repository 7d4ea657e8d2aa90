// Federates by the standard API alone, on an rtiexec that starts by itself.
#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>
#include <RTI/encoding/BasicDataElements.h>
#include <RTI/time/HLAfloat64Interval.h>
#include <RTI/time/HLAfloat64Time.h>
#include <RTI/time/HLAinteger64Interval.h>

#include <cstdlib>
#include <cstring>
#include <deque>
#include <filesystem>
#include <fstream>
#include <functional>
#include <gtest/gtest.h>
#include <memory>

using namespace rti1516e;

namespace {

struct Ears : NullFederateAmbassador {
    std::deque<std::wstring> heard;

    void discoverObjectInstance(ObjectInstanceHandle, ObjectClassHandle,
                                std::wstring const &name) override {
        heard.push_back(L"discover " + name);
    }
    void reflectAttributeValues(ObjectInstanceHandle, AttributeHandleValueMap const &values,
                                VariableLengthData const &tag, OrderType, TransportationType,
                                SupplementalReflectInfo) override {
        std::wstring text = L"reflect";
        for (auto const &value : values)
            text += L" " + wide(value.second);
        heard.push_back(text + L" tag " + wide(tag));
    }
    void removeObjectInstance(ObjectInstanceHandle, VariableLengthData const &, OrderType,
                              SupplementalRemoveInfo) override {
        heard.push_back(L"remove");
    }
    void objectInstanceNameReservationSucceeded(std::wstring const &name) override {
        heard.push_back(L"reserved " + name);
    }
    void objectInstanceNameReservationFailed(std::wstring const &name) override {
        heard.push_back(L"refused " + name);
    }
    void provideAttributeValueUpdate(ObjectInstanceHandle, AttributeHandleSet const &set,
                                     VariableLengthData const &) override {
        heard.push_back(L"provide " + std::to_wstring(set.size()));
    }
    void timeRegulationEnabled(LogicalTime const &) override { heard.push_back(L"regulating"); }
    using NullFederateAmbassador::discoverObjectInstance;
    using NullFederateAmbassador::reflectAttributeValues;
    using NullFederateAmbassador::removeObjectInstance;

    static std::wstring wide(VariableLengthData const &data) {
        auto const *bytes = static_cast<char const *>(data.data());
        return std::wstring(bytes, bytes + data.size());
    }
};

struct Federate {
    Ears ears;
    std::unique_ptr<RTIambassador> rti{RTIambassadorFactory().createRTIambassador()};

    /// The next callback.
    std::wstring next() {
        while (ears.heard.empty())
            rti->evokeCallback(10);
        std::wstring first = ears.heard.front();
        ears.heard.pop_front();
        return first;
    }
};

std::wstring fom() { return L"" STARLING_FOM; }

VariableLengthData text(char const *bytes) { return VariableLengthData(bytes, strlen(bytes)); }

class Federation : public testing::Test {
protected:
    void join(Federate &f, std::wstring const &name) {
        f.rti->connect(f.ears, HLA_EVOKED);
        try {
            f.rti->createFederationExecution(L"Test", fom());
        } catch (FederationExecutionAlreadyExists const &) {
        }
        f.rti->joinFederationExecution(name, L"tester", L"Test");
    }

    void leave(Federate &f) {
        f.rti->resignFederationExecution(CANCEL_THEN_DELETE_THEN_DIVEST);
        try {
            f.rti->destroyFederationExecution(L"Test");
        } catch (FederatesCurrentlyJoined const &) {
        }
        f.rti->disconnect();
    }
};

TEST_F(Federation, UpdatesReachTheSubscriber) {
    Federate a, b;
    join(a, L"A");
    join(b, L"B");
    ObjectClassHandle const soda = a.rti->getObjectClassHandle(L"Food.Drink.Soda");
    AttributeHandle const cups = a.rti->getAttributeHandle(soda, L"NumberCups");
    AttributeHandleSet set;
    set.insert(cups);
    b.rti->subscribeObjectClassAttributes(b.rti->getObjectClassHandle(L"Food.Drink"), set);
    a.rti->publishObjectClassAttributes(soda, set);
    a.rti->reserveObjectInstanceName(L"Cola \u00e9\u20ac");
    EXPECT_EQ(a.next(), L"reserved Cola \u00e9\u20ac");
    ObjectInstanceHandle const cola = a.rti->registerObjectInstance(soda, L"Cola \u00e9\u20ac");
    EXPECT_EQ(b.next(), L"discover Cola \u00e9\u20ac");
    EXPECT_EQ(b.rti->getObjectInstanceName(cola), L"Cola \u00e9\u20ac");
    EXPECT_EQ(b.rti->getKnownObjectClassHandle(cola), b.rti->getObjectClassHandle(L"Food.Drink"));

    b.rti->requestAttributeValueUpdate(cola, set, VariableLengthData());
    // The request comes after B's subscription in the log: who has it sends to B.
    EXPECT_EQ(a.next(), L"provide 1");
    AttributeHandleValueMap values;
    values[cups] = text("42");
    a.rti->updateAttributeValues(cola, values, text("now"));
    EXPECT_EQ(b.next(), L"reflect 42 tag now");
    EXPECT_THROW(b.rti->updateAttributeValues(cola, values, text("")), AttributeNotOwned);
    EXPECT_THROW(b.rti->deleteObjectInstance(cola, text("")), DeletePrivilegeNotHeld);
    a.rti->deleteObjectInstance(cola, text(""));
    EXPECT_EQ(b.next(), L"remove");
    EXPECT_THROW(b.rti->getObjectInstanceName(cola), ObjectInstanceNotKnown);
    leave(a);
    leave(b);
}

TEST_F(Federation, ExceptionsAreTheStandardsAndSayWhy) {
    Federate a;
    EXPECT_THROW(a.rti->getObjectClassHandle(L"Food"), NotConnected);
    EXPECT_THROW(a.rti->connect(a.ears, HLA_EVOKED, L"127.0.0.1:1"), ConnectionFailed);
    EXPECT_THROW(a.rti->connect(a.ears, HLA_EVOKED, L"conect.address=1"),
                 InvalidLocalSettingsDesignator);
    a.rti->connect(a.ears, HLA_EVOKED);
    EXPECT_THROW(a.rti->connect(a.ears, HLA_EVOKED), AlreadyConnected);
    EXPECT_THROW(a.rti->createFederationExecution(L"X", L"nowhere.xml"), CouldNotOpenFDD);
    EXPECT_THROW(a.rti->joinFederationExecution(L"t", L"X"), FederationExecutionDoesNotExist);
    EXPECT_THROW(a.rti->getObjectClassHandle(L"Food"), FederateNotExecutionMember);
    a.rti->createFederationExecution(L"Test", fom(), L"HLAinteger64Time");
    a.rti->joinFederationExecution(L"t", L"Test");
    EXPECT_EQ(a.rti->getTimeFactory()->getName(), L"HLAinteger64Time");
    EXPECT_THROW(a.rti->disconnect(), FederateIsExecutionMember);
    EXPECT_THROW(a.rti->getTransportationType(L"HLAfast"), InvalidTransportationName);
    EXPECT_THROW(a.rti->reserveObjectInstanceName(L"HLAmine"), IllegalName);
    try {
        a.rti->getObjectClassHandle(L"Foot");
        FAIL();
    } catch (NameNotFound const &e) {
        EXPECT_EQ(e.what(), L"NameNotFound: getObjectClassHandle: the FDD has no object class "
                            L"'Foot'; nearest is 'Food' (1516.1-2010, 10.6)");
    }
    EXPECT_THROW(a.rti->abortFederationSave(), SaveNotInProgress);
    FederateHandle const me = a.rti->getFederateHandle(a.rti->getFederateName(
        a.rti->decodeFederateHandle(a.rti->getFederateHandle(L"t-1").encode())));
    EXPECT_TRUE(me.isValid());
    EXPECT_THROW(a.rti->decodeFederateHandle(text("abc")), CouldNotDecode);
    leave(a);
}

// No service that gives a time or an interval throws InvalidLogicalTime or
// InvalidLogicalTimeInterval.
TEST_F(Federation, TimesOfTheOtherTypeTakeNothing) {
    Federate a;
    a.rti->connect(a.ears, HLA_EVOKED);
    a.rti->createFederationExecution(L"Test", fom(), L"HLAinteger64Time");
    a.rti->joinFederationExecution(L"t", L"Test");
    a.rti->enableTimeRegulation(HLAinteger64Interval(1));
    EXPECT_EQ(a.next(), L"regulating");
    Federate b;
    b.rti->connect(b.ears, HLA_EVOKED);
    b.rti->joinFederationExecution(L"t", L"Test");
    b.rti->enableTimeRegulation(HLAinteger64Interval(1));
    EXPECT_EQ(b.next(), L"regulating");
    HLAfloat64Time time(3.5);
    HLAfloat64Interval interval(3.5);
    EXPECT_THROW(a.rti->queryLogicalTime(time), RTIinternalError);
    EXPECT_THROW(a.rti->queryGALT(time), RTIinternalError);
    EXPECT_THROW(a.rti->queryLITS(time), RTIinternalError);
    EXPECT_EQ(time, HLAfloat64Time(3.5));
    try {
        a.rti->queryLookahead(interval);
        FAIL();
    } catch (RTIinternalError const &e) {
        EXPECT_EQ(e.what(),
                  L"RTIinternalError: InvalidLogicalTimeInterval: HLAfloat64Interval expected, "
                  L"but this is of HLAinteger64Time");
    }
    EXPECT_EQ(interval, HLAfloat64Interval(3.5));
    leave(a);
    leave(b);
}

// A stream of wide characters in the C locale fails at the first character beyond ASCII, and loses
// all that follows.
TEST_F(Federation, ExceptionsCanBeWrittenInTheCLocale) {
    Federate a;
    RTIambassador &rti = *a.rti;
    VariableLengthData const none;
    std::vector<std::function<void()>> const mistakes = {
        [&] { rti.getObjectClassHandle(L"Foot"); },
        [&] { rti.disableTimeConstrained(); },
        [&] { rti.getFederateName(FederateHandle()); },
        [&] { rti.getOrderType(L"Bank"); },
        [&] { rti.getOrderName(static_cast<OrderType>(7)); },
        [&] { rti.getTransportationType(L"HLAfast"); },
        [&] { rti.getTransportationName(static_cast<TransportationType>(7)); },
        [&] { rti.normalizeFederateHandle(FederateHandle()); },
        [&] { rti.normalizeServiceGroup(static_cast<ServiceGroup>(7)); },
        [&] { rti.decodeRegionHandle(none); },
        [&] { rti.updateAttributeValues(ObjectInstanceHandle(), {}, none); },
        [&] { rti.connect(a.ears, HLA_EVOKED, L"127.0.0.1:1"); },
        [&] { rti.createFederationExecution(L"X", L"nowhere.xml"); },
        [&] { HLAinteger32BE().decode(none); },
        [&] { HLAfloat64Time().decode(none); },
    };
    std::filesystem::path const file =
        std::filesystem::path(std::getenv("STARLING_NET_RUN_DIR")) / "exceptions";
    auto const writeAll = [&] {
        for (auto const &mistake : mistakes) {
            try {
                mistake();
                ADD_FAILURE() << "nothing was thrown";
            } catch (Exception const &e) {
                std::wofstream out(file);
                EXPECT_TRUE(out << e << std::flush)
                    << std::string(e.what().begin(), e.what().end());
            }
        }
    };
    writeAll();
    a.rti->connect(a.ears, HLA_EVOKED);
    a.rti->createFederationExecution(L"Test", fom());
    a.rti->joinFederationExecution(L"t", L"Test");
    writeAll();
    leave(a);
}

}
