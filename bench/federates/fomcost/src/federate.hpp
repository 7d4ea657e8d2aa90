// A federate of the study: joins, talks with the other one, and leaves. Nothing but the standard's
// headers.
#pragma once

#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "arrivals.hpp"
#include "clock.hpp"
#include "test.hpp"

// The standard's headers give every callback an exception specification, which C++17 removed.
#if __cplusplus >= 201703L
#define FOMCOST_THROW
#else
#define FOMCOST_THROW throw(rti1516e::FederateInternalError)
#endif

namespace fomcost {

struct Options {
    std::string name, fom, federation = "fomcost", localSettings, out = ".", manager, values;
    std::string receiver;  // the sender's other one
    double joinTimeoutS = 30, dataTimeoutS = 10, lossTimeoutS = 1;
    bool master = false, paced = false;
    std::uint64_t seed = 1;  // of the order of tests within a sample
    std::vector<Test> tests;
    std::vector<Pool> pools;  // of each of them
};

struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};
struct Unreachable : Failure {
    using Failure::Failure;
};

// A class that tests use, with the handles of its fields by name.
struct Class {
    rti1516e::ObjectClassHandle object;
    rti1516e::InteractionClassHandle interaction;
    std::map<std::string, rti1516e::AttributeHandle> attributes;
    std::map<std::string, rti1516e::ParameterHandle> parameters;
    rti1516e::ObjectInstanceHandle instance;  // of the sender
};

class Federate : protected rti1516e::NullFederateAmbassador {
public:
    Federate(Options options, volatile int const& stop);
    ~Federate() noexcept override;

    // To its end; throws Failure and rti1516e::Exception.
    void run();

protected:
    virtual void work() = 0;
    virtual void heard(Json const& said) = 0;

    // The class of a test, declared when it is first used.
    Class& classOf(Test const& test, bool publish);
    void say(Json const& what);
    // Callbacks, until `done`. `what` is missing if the time passes; a federate that lives says so
    // once a second.
    void await(std::function<bool()> const& done, double seconds, std::string const& what);
    // What must be done about once a second, also while a sample is taken.
    void pulse();

    Options const options_;
    std::unique_ptr<rti1516e::RTIambassador> rti_;
    Arrivals arrivals_;
    bench::Clock clock_;
    std::uint64_t discovered_ = 0;
    rti1516e::VariableLengthData const noTag_;

private:
    void join();
    void leave();

    using NullFederateAmbassador::discoverObjectInstance;
    using NullFederateAmbassador::receiveInteraction;
    using NullFederateAmbassador::reflectAttributeValues;

protected:
    void connectionLost(std::wstring const& fault) FOMCOST_THROW override;
    void discoverObjectInstance(rti1516e::ObjectInstanceHandle, rti1516e::ObjectClassHandle,
                                std::wstring const&) FOMCOST_THROW override {
        ++discovered_;
    }
    void discoverObjectInstance(rti1516e::ObjectInstanceHandle, rti1516e::ObjectClassHandle,
                                std::wstring const&,
                                rti1516e::FederateHandle) FOMCOST_THROW override {
        ++discovered_;
    }
    void reflectAttributeValues(rti1516e::ObjectInstanceHandle,
                                rti1516e::AttributeHandleValueMap const& values,
                                rti1516e::VariableLengthData const&, rti1516e::OrderType,
                                rti1516e::TransportationType type,
                                rti1516e::SupplementalReflectInfo) FOMCOST_THROW override {
        arrived(values.size(), type == rti1516e::RELIABLE);
    }
    void receiveInteraction(rti1516e::InteractionClassHandle theClass,
                            rti1516e::ParameterHandleValueMap const& values,
                            rti1516e::VariableLengthData const&, rti1516e::OrderType,
                            rti1516e::TransportationType type,
                            rti1516e::SupplementalReceiveInfo) FOMCOST_THROW override;
    // An update or interaction of a test, with so many values.
    virtual void arrived(std::size_t, bool) {}

private:
    volatile int const& stop_;
    bool connected_ = false, joined_ = false, worked_ = false;
    bench::ControlPipe pipe_;
    std::map<std::string, Class> classes_;
    rti1516e::InteractionClassHandle talk_;
    rti1516e::ParameterHandle text_;
    std::string lost_;  // why there is no connection any more
    std::uint64_t pulsedNs_ = 0;

protected:
    // To who conducts, also what it answers.
    void tell(Json const& event) { pipe_.send(event); }
    std::vector<Json> told() { return pipe_.receive(); }
};

std::unique_ptr<Federate> makeSender(Options options, volatile int const& stop);
std::unique_ptr<Federate> makeReceiver(Options options, volatile int const& stop);

inline std::uint64_t nowNs() { return bench::Clock::nowNs(); }
inline double secondsSince(std::uint64_t ns) { return static_cast<double>(nowNs() - ns) * 1e-9; }

}  // namespace fomcost
