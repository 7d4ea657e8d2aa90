#include "federate.hpp"

#include <signal.h>
#include <unistd.h>

#include <cmath>
#include <codecvt>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iostream>
#include <locale>

namespace fomcost {

using namespace rti1516e;

namespace {

std::wstring wide(std::string const& text) {
    return std::wstring_convert<std::codecvt_utf8<wchar_t>>("?", L"?").from_bytes(text);
}
std::string utf8(std::wstring const& text) {
    return std::wstring_convert<std::codecvt_utf8<wchar_t>>("?", L"?").to_bytes(text);
}

// A service that does not return ends the process with a message instead of holding up the run.
char barking[] = "fomcost: no progress: a service of the RTI does not return, or never ends\n";
extern "C" void bark(int) {
    if (::write(STDERR_FILENO, barking, sizeof barking - 1) < 0) ::_exit(1);
    ::_exit(1);
}
void watch(double seconds) {
    ::signal(SIGALRM, bark);
    ::alarm(static_cast<unsigned>(std::ceil(std::min(std::max(seconds, 1.0), 1e8))));
}
// What an RTI may take beyond the time-out for joining, to start a server for example.
double const kStartS = 15;

}  // namespace

Federate::Federate(Options options, volatile int const& stop)
    : options_(std::move(options)),
      rti_(RTIambassadorFactory().createRTIambassador()),
      arrivals_(options_.out + "/arrivals"),
      stop_(stop) {
    if (!options_.manager.empty()) pipe_ = bench::ControlPipe(options_.manager, options_.name);
}

Federate::~Federate() noexcept {
    try {
        leave();
    } catch (rti1516e::Exception const&) {
        // The fault that brought us here is the one to report.
    }
}

void Federate::run() {
    try {
        join();
        work();
        worked_ = true;
        leave();
        tell({{"event", "left"}, {"federate", options_.name}});
    } catch (rti1516e::Exception const& e) {
        tell({{"event", "error"}, {"message", utf8(e.what())}});
        throw Failure(utf8(e.what()));
    } catch (std::exception const& e) {
        tell({{"event", "error"}, {"message", e.what()}});
        throw;
    }
}

void Federate::join() {
    watch(options_.joinTimeoutS + kStartS);
    try {
        rti_->connect(*this, HLA_EVOKED, wide(options_.localSettings));
    } catch (ConnectionFailed const& e) {
        throw Unreachable("the RTI can't be reached: " + utf8(e.what()));
    }
    connected_ = true;
    std::uint64_t const start = nowNs();
    std::wstring const federation = wide(options_.federation);
    std::vector<std::wstring> modules{wide(options_.fom)};
    if (!options_.values.empty()) {
        std::ifstream in(options_.values);
        Json const file = Json::parse(in, nullptr, false);
        if (!file.is_object()) throw Failure(options_.values + " holds no values");
        for (auto const& module : file.at("modules"))
            modules.push_back(wide(module.get<std::string>()));
    }
    while (!joined_) {
        if (secondsSince(start) > options_.joinTimeoutS) {
            throw Failure("federation execution '" + options_.federation +
                          "' could not be joined in time");
        }
        try {
            // Partial RTIs have but the service that takes one.
            if (modules.size() == 1) rti_->createFederationExecution(federation, modules[0]);
            else rti_->createFederationExecution(federation, modules);
        } catch (FederationExecutionAlreadyExists const&) {
        }
        try {
            rti_->joinFederationExecution(wide(options_.name), L"fomcost", federation);
            joined_ = true;
        } catch (FederationExecutionDoesNotExist const&) {
            // Someone destroyed it between the two services.
        }
    }
    talk_ = rti_->getInteractionClassHandle(L"HLAinteractionRoot.FomCostTalk");
    text_ = rti_->getParameterHandle(talk_, L"text");
    rti_->publishInteractionClass(talk_);
    rti_->subscribeInteractionClass(talk_);
    std::string const rti = utf8(rtiName()) + " " + utf8(rtiVersion());
    std::cout << "joined " << options_.federation << " on " << rti << std::endl;
    bench::ClockError const error = bench::Clock::error();
    tell({{"event", "joined"},
          {"federate", options_.name},
          {"rti", rti},
          {"clock", {{"step_ns", error.stepNs}, {"reading_ns", error.readingNs}}}});
}

void Federate::leave() {
    watch(3 * options_.dataTimeoutS);
    if (joined_) {
        joined_ = false;
        rti_->resignFederationExecution(CANCEL_THEN_DELETE_THEN_DIVEST);
        std::uint64_t const start = nowNs();
        // The sender is the last one; who ends with a fault leaves that to others.
        for (bool there = options_.master && worked_;
             there && secondsSince(start) < options_.dataTimeoutS;) {
            try {
                rti_->destroyFederationExecution(wide(options_.federation));
                there = false;
            } catch (FederatesCurrentlyJoined const&) {
                rti_->evokeMultipleCallbacks(0.01, 0.01);
            } catch (FederationExecutionDoesNotExist const&) {
                there = false;
            }
        }
    }
    if (connected_) {
        connected_ = false;
        try {
            rti_->disconnect();
        } catch (rti1516e::Exception const&) {
            // Partial RTIs have no such service; the process ends all the same.
        }
    }
}

Class& Federate::classOf(Test const& test, bool publish) {
    auto const made = classes_.emplace((test.object ? "o " : "i ") + test.className, Class());
    Class& c = made.first->second;
    if (test.object) {
        if (!c.object.isValid()) {
            c.object = rti_->getObjectClassHandle(L"HLAobjectRoot." + wide(test.className));
        }
        AttributeHandleSet added;
        for (auto const& field : test.fields) {
            auto& handle = c.attributes[field];
            if (handle.isValid()) continue;
            handle = rti_->getAttributeHandle(c.object, wide(field));
            added.insert(handle);
        }
        if (added.empty()) return c;
        // Whether declarations replace or add to each other does not matter.
        for (auto const& one : c.attributes) added.insert(one.second);
        if (publish) {
            rti_->publishObjectClassAttributes(c.object, added);
            if (!c.instance.isValid()) c.instance = rti_->registerObjectInstance(c.object);
        } else {
            rti_->subscribeObjectClassAttributes(c.object, added);
        }
        return c;
    }
    if (!c.interaction.isValid()) {
        c.interaction =
            rti_->getInteractionClassHandle(L"HLAinteractionRoot." + wide(test.className));
        if (publish) rti_->publishInteractionClass(c.interaction);
        else rti_->subscribeInteractionClass(c.interaction);
    }
    for (auto const& field : test.fields) {
        auto& handle = c.parameters[field];
        if (!handle.isValid()) handle = rti_->getParameterHandle(c.interaction, wide(field));
    }
    return c;
}

void Federate::say(Json const& what) {
    // HLAASCIIstring (1516.2-2010, 4.13.6): number of characters, big-endian, then these.
    std::string const text = what.dump();
    std::string encoded;
    for (int shift = 24; shift >= 0; shift -= 8)
        encoded += static_cast<char>((text.size() >> shift) & 0xff);
    encoded += text;
    ParameterHandleValueMap values;
    values[text_].setData(encoded.data(), encoded.size());
    rti_->sendInteraction(talk_, values, noTag_);
}

void Federate::receiveInteraction(InteractionClassHandle theClass,
                                  ParameterHandleValueMap const& values, VariableLengthData const&,
                                  OrderType, TransportationType type,
                                  SupplementalReceiveInfo) FOMCOST_THROW {
    if (theClass != talk_) return arrived(values.size(), type == RELIABLE);
    auto const found = values.find(text_);
    if (found == values.end() || found->second.size() < 4) return;
    auto const* at = static_cast<char const*>(found->second.data());
    Json const said = Json::parse(at + 4, at + found->second.size(), nullptr, false);
    if (!said.is_object() || !said.count("what") || !said["what"].is_string()) return;
    try {
        heard(said);
    } catch (std::exception const& e) {
        lost_ = std::string("what the other federate said can't be obeyed: ") + e.what();
    }
}

void Federate::connectionLost(std::wstring const& fault) FOMCOST_THROW {
    joined_ = connected_ = false;
    lost_ = "connection lost: " + utf8(fault);
}

void Federate::pulse() {
    if (!lost_.empty()) throw Failure(lost_);
    if (stop_ != 0) throw Failure("ended by signal " + std::to_string(stop_));
    if (secondsSince(pulsedNs_) < 1) return;
    pulsedNs_ = nowNs();
    clock_.look();
    watch(3 * options_.dataTimeoutS);
    tell({{"event", "alive"}});
}

void Federate::await(std::function<bool()> const& done, double seconds, std::string const& what) {
    std::uint64_t const start = nowNs();
    while (!done()) {
        rti_->evokeCallback(0.005);
        pulse();
        if (secondsSince(start) > seconds) throw Failure(what + " in time");
    }
}

}  // namespace fomcost
