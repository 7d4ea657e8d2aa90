// What all federates of `make bench` share. Nothing but the standard's headers.
#pragma once

#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

// The standard's headers give every callback an exception specification, which C++17 removed.
#if __cplusplus >= 201703L
#define LIMITS_THROW
#else
#define LIMITS_THROW throw(rti1516e::FederateInternalError)
#endif

namespace limits {

/// What a federate was told on its command line; a role has what it needs of it.
struct Options {
    std::string fom, name;
    unsigned timeout = 0;
    std::uint64_t bytes = 0, warmUp = 0, count = 0, updates = 0, values = 1, receivers = 0;
    std::uint64_t laps = 0, spreadMs = 0, seed = 0, pauseMs = 0, stay = 0;
    std::uint64_t me = 0, federates = 0, instances = 1, messages = 0, steps = 0, regulating = 0,
                  constrained = 0;
    std::uint64_t rate = 0, ms = 0, classes = 0, burst = 0;
    bool interaction = false, anew = false, best = false, random = false, clocked = false,
         stamped = false, announced = false, polls = false, stays = false;
};

/// The run has failed: something was lost, doubled, out of order, or did not come in time.
struct Failure : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Seconds of the clock that all processes of a host share.
double seconds();
/// Seconds of CPUs that this process has had.
double cpuSeconds();

/// What of a series of times is told: median, 99th and 99.9th percentile, mean and longest.
nlohmann::json summary(std::vector<float> &times);

std::string narrow(std::wstring const &text);

/// A payload's first 8 bytes.
inline std::uint64_t numberOf(rti1516e::VariableLengthData const &data) {
    std::uint64_t number = 0;
    if (data.size() >= sizeof number) std::memcpy(&number, data.data(), sizeof number);
    return number;
}

/// A value that is updated again and again with another number in front. The RTI is given the bytes
/// anew each time: it may have copied them.
class Payload {
public:
    Payload() = default;
    void make(rti1516e::AttributeHandle attribute, std::size_t size);
    rti1516e::AttributeHandleValueMap const &numbered(std::uint64_t number) {
        std::memcpy(bytes_.data(), &number, sizeof number);
        values_.begin()->second.setDataPointer(bytes_.data(), bytes_.size());
        return values_;
    }
    std::size_t size() const { return bytes_.size(); }

private:
    std::vector<char> bytes_;
    rti1516e::AttributeHandleValueMap values_;
};

/// A class of the FOM with its only attribute.
struct Class {
    rti1516e::ObjectClassHandle handle;
    rti1516e::AttributeHandle payload;
    rti1516e::AttributeHandleSet attributes;
};

/// A federate that is joined while it lives.
class Federate : public rti1516e::NullFederateAmbassador {
public:
    /// With `best` its classes are those whose attributes are best effort.
    explicit Federate(Options const &options, bool best = false);
    ~Federate() noexcept override;

    /// Joins, having created the federation execution if nobody had.
    void join(std::wstring const &name);
    /// Resigns, deleting what it registered, and destroys the federation execution if it is last.
    void leave();
    /// Evokes callbacks until `done`, which the next callbacks bring about. The run's time-out
    /// ends what would take for ever.
    template <class Done>
    void await(Done done) {
        while (!done()) rti->evokeCallback(1.0);
    }

    /// Evokes callbacks until the launcher closes the standard input.
    void stay();

    void connectionLost(std::wstring const &fault) LIMITS_THROW override;

protected:
    std::unique_ptr<rti1516e::RTIambassador> rti;
    Class there, back;
    rti1516e::VariableLengthData const noTag;
    /// What the service itself took when this federate joined last.
    double joinSeconds = 0;

private:
    std::wstring const fom_, federation_, prefix_;
    bool connected_ = false, joined_ = false;
};

/// A line of what this federate has seen.
void tell(nlohmann::json const &said);

// The roles; each tells what it has seen and throws Failure on a fault.
void ping(Options const &options);
void pong(Options const &options);
void send(Options const &options);
void receive(Options const &options);
void late(Options const &options);
void crowd(Options const &options);
void advance(Options const &options);
void produce(Options const &options);
void consume(Options const &options);
void bystand(Options const &options);
void join(Options const &options);
void calls(Options const &options);

}  // namespace limits
