// One federate of a scenario: executes command lines on an RTI ambassador, keeps its callbacks.
#pragma once

#include "value.hpp"

#include <RTI/FederateAmbassador.h>
#include <RTI/RTI1516.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <tuple>

namespace conformance {

/// How every federate of a run connects.
struct Arrangement {
    rti1516e::CallbackModel model = rti1516e::HLA_EVOKED;
    std::string settings; // local settings designator
};

/// A command that makes no sense to this federate; the scenario is wrong, not the RTI.
struct BadCommand : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Class of the attributes or parameters that a call or callback names.
struct Context {
    rti1516e::ObjectClassHandle objectClass;
    rti1516e::InteractionClassHandle interactionClass;
};

class Ambassador;

class Federate {
public:
    explicit Federate(Arrangement const &);
    ~Federate();
    Federate(Federate const &) = delete;

    /// Executes a line; the reply is one line:
    /// `call SERVICE ARGUMENTS`           ok [RESULT] | ex EXCEPTION "message" | bad "why"
    /// `within CALLBACK SERVICE ...`      ok; executed in the next such callback
    /// `next SECONDS`                     cb CALLBACK ARGUMENTS {TAB in REPLY} | none
    /// `settle SECONDS`                   ok COUNT-OF-CALLBACKS-WAITING
    /// `reset FEDERATION-EXECUTION`       ok; resigned, disconnected, a new ambassador
    std::string execute(std::string const &line);

    // For the services and callbacks:
    rti1516e::RTIambassador &rti() { return *rti_; }
    void connect(rti1516e::CallbackModel, std::wstring const &settings);
    Arrangement const &arrangement() const { return arrangement_; }

    /// The attributes' class of an instance: as known, as last known, or none.
    rti1516e::ObjectClassHandle classOf(rti1516e::ObjectInstanceHandle const &);
    void remember(rti1516e::ObjectInstanceHandle const &, rti1516e::ObjectClassHandle const &);

    /// Handles that this federate has met, by their encoding.
    template <class Handle> void meet(std::string const &hex, Handle const &handle) {
        std::lock_guard<std::mutex> lock(mutex_);
        std::get<std::map<std::string, Handle>>(met_).insert({hex, handle});
    }
    template <class Handle> bool met(std::string const &hex, Handle &handle) {
        std::lock_guard<std::mutex> lock(mutex_);
        auto const &book = std::get<std::map<std::string, Handle>>(met_);
        auto const found = book.find(hex);
        if (found != book.end())
            handle = found->second;
        return found != book.end();
    }
    /// The length of this kind of handle's encoding, 0 if none was met.
    template <class Handle> size_t encodedLength() {
        std::lock_guard<std::mutex> lock(mutex_);
        auto const &book = std::get<std::map<std::string, Handle>>(met_);
        return book.empty() ? 0 : book.begin()->first.size() / 2;
    }

    /// A callback came; may throw FederateInternalError if a scenario wants that.
    void called(std::string const &name, std::string const &arguments);

private:
    struct Event {
        std::string text;
        std::vector<std::string> within;
    };
    struct Armed {
        std::string callback;
        Values command;
    };

    std::string call(Values const &, size_t from);
    std::string next(double seconds);
    std::string settle(double seconds);
    std::string reset(std::wstring const &federation);
    /// Waits until `done` holds, evoking callbacks if they are evoked.
    template <class Done> bool wait(double seconds, Done done);

    Arrangement const arrangement_;
    std::unique_ptr<Ambassador> ambassador_;
    std::unique_ptr<rti1516e::RTIambassador> rti_;
    rti1516e::CallbackModel model_;
    bool connected_ = false;
    bool enabled_ = true;

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Event> events_;
    std::deque<Armed> armed_;
    std::deque<bool> listings_; // reports to come; true if asked for by settle()
    std::map<std::string, rti1516e::ObjectClassHandle> classes_;
    template <class H> using Book = std::map<std::string, H>;
    std::tuple<Book<rti1516e::FederateHandle>, Book<rti1516e::ObjectClassHandle>,
               Book<rti1516e::InteractionClassHandle>, Book<rti1516e::ObjectInstanceHandle>,
               Book<rti1516e::AttributeHandle>, Book<rti1516e::ParameterHandle>,
               Book<rti1516e::DimensionHandle>, Book<rti1516e::MessageRetractionHandle>,
               Book<rti1516e::RegionHandle>>
        met_;
};

/// Executes a service by its name: the result as text. Throws BadCommand or what the RTI throws.
std::string invoke(Federate &, Values const &, size_t from);

/// A service of the API, as the player knows it.
struct Known {
    std::string name;
    size_t parameters;
    std::string sample; // arguments that any RTI can take, before join
};
std::vector<Known> knownServices();
std::vector<std::string> knownCallbacks();

/// The name of an exception of the standard.
std::string exceptionName(rti1516e::Exception const &);

}
