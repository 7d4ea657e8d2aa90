#include "federate.hpp"

#include "ambassador.hpp"
#include "format.hpp"

#include <chrono>
#include <cstdlib>

namespace conformance {

using namespace rti1516e;

namespace {

typedef std::chrono::steady_clock Clock;

Clock::time_point after(double seconds) {
    return Clock::now() + std::chrono::milliseconds(static_cast<long long>(seconds * 1000));
}

}

Federate::Federate(Arrangement const &arrangement)
    : arrangement_(arrangement), model_(arrangement.model) {
    reset(std::wstring());
}

Federate::~Federate() { rti_.reset(); }

void Federate::connect(CallbackModel model, std::wstring const &settings) {
    rti_->connect(*ambassador_, model, settings);
    model_ = model;
    connected_ = true;
    enabled_ = true;
}

ObjectClassHandle Federate::classOf(ObjectInstanceHandle const &instance) {
    try {
        ObjectClassHandle const known = rti_->getKnownObjectClassHandle(instance);
        remember(instance, known);
        return known;
    } catch (Exception const &) {
    }
    std::lock_guard<std::mutex> lock(mutex_);
    auto const found = classes_.find(hex(instance.encode()));
    return found == classes_.end() ? ObjectClassHandle() : found->second;
}

void Federate::remember(ObjectInstanceHandle const &instance, ObjectClassHandle const &known) {
    std::lock_guard<std::mutex> lock(mutex_);
    classes_[hex(instance.encode())] = known;
}

void Federate::called(std::string const &name, std::string const &arguments) {
    std::deque<Armed> now;
    {
        std::lock_guard<std::mutex> lock(mutex_);
        if (name == "connectionLost")
            connected_ = false;
        if (name == "reportFederationExecutions" && !listings_.empty()) {
            bool const own = listings_.front();
            listings_.pop_front();
            if (own) {
                changed_.notify_all();
                return;
            }
        }
        for (auto armed = armed_.begin(); armed != armed_.end();) {
            if (armed->callback == name) {
                now.push_back(*armed);
                armed = armed_.erase(armed);
            } else {
                ++armed;
            }
        }
    }
    Event event;
    event.text = name + (arguments.empty() ? "" : " " + arguments);
    bool fail = false;
    for (Armed const &armed : now) {
        fail = fail || armed.command[2].isWord("throw");
        event.within.push_back(armed.command[2].isWord("throw") ? "ok" : call(armed.command, 2));
    }
    {
        std::lock_guard<std::mutex> lock(mutex_);
        events_.push_back(event);
        changed_.notify_all();
    }
    if (fail)
        throw FederateInternalError(L"as the scenario wants");
}

std::string Federate::call(Values const &values, size_t from) {
    std::string const name = from < values.size() ? values[from].text : "";
    bool const listing = name == "listFederationExecutions";
    std::string reply;
    if (listing) {
        std::lock_guard<std::mutex> lock(mutex_);
        listings_.push_back(false);
    }
    try {
        std::string const result = invoke(*this, values, from);
        reply = "ok" + (result.empty() ? "" : " " + result);
    } catch (BadCommand const &e) {
        reply = "bad " + quoted(e.what());
    } catch (Exception const &e) {
        reply = "ex " + exceptionName(e) + " " + quoted(utf8(e.what()));
    } catch (std::exception const &e) {
        reply = "bad " + quoted(std::string("not an exception of the standard: ") + e.what());
    }
    bool const done = reply.compare(0, 2, "ok") == 0;
    std::lock_guard<std::mutex> lock(mutex_);
    if (listing && !done && !listings_.empty())
        listings_.pop_back();
    if (done && name == "disconnect")
        connected_ = false;
    if (done && (name == "enableCallbacks" || name == "disableCallbacks"))
        enabled_ = name == "enableCallbacks";
    return reply;
}

template <class Done> bool Federate::wait(double seconds, Done done) {
    Clock::time_point const end = after(seconds);
    std::unique_lock<std::mutex> lock(mutex_);
    if (model_ == HLA_IMMEDIATE || !connected_)
        return changed_.wait_until(lock, end, done);
    while (!done()) {
        if (Clock::now() >= end || !connected_)
            return false;
        lock.unlock();
        rti_->evokeCallback(0.1);
        lock.lock();
    }
    return true;
}

std::string Federate::next(double seconds) {
    wait(seconds, [this] { return !events_.empty(); });
    std::lock_guard<std::mutex> lock(mutex_);
    if (events_.empty())
        return "none";
    std::string reply = "cb " + events_.front().text;
    for (std::string const &within : events_.front().within)
        reply += "\tin " + within;
    events_.pop_front();
    return reply;
}

/// What was on its way to this federate comes before the report that it asks for.
std::string Federate::settle(double seconds) {
    if (connected_ && enabled_) {
        {
            std::lock_guard<std::mutex> lock(mutex_);
            listings_.push_back(true);
        }
        rti_->listFederationExecutions();
        if (!wait(seconds, [this] { return !connected_ || listings_.empty(); }))
            return "bad \"no reportFederationExecutions within " +
                   std::to_string(static_cast<int>(seconds)) + " s\"";
    }
    std::lock_guard<std::mutex> lock(mutex_);
    return "ok " + std::to_string(events_.size());
}

std::string Federate::reset(std::wstring const &federation) {
    if (rti_) {
        try {
            rti_->enableCallbacks();
        } catch (Exception const &) {
        }
        try {
            rti_->resignFederationExecution(CANCEL_THEN_DELETE_THEN_DIVEST);
        } catch (Exception const &) {
        }
        try {
            if (!federation.empty()) {
                if (!connected_)
                    rti_->connect(*ambassador_, arrangement_.model, wide(arrangement_.settings));
                rti_->destroyFederationExecution(federation);
            }
        } catch (Exception const &) {
        }
        try {
            rti_->disconnect();
        } catch (Exception const &) {
        }
    }
    rti_.reset();
    ambassador_.reset(new Ambassador(*this));
    rti_.reset(RTIambassadorFactory().createRTIambassador().release());
    std::lock_guard<std::mutex> lock(mutex_);
    connected_ = false;
    enabled_ = true;
    model_ = arrangement_.model;
    events_.clear();
    armed_.clear();
    listings_.clear();
    classes_.clear();
    met_ = decltype(met_)();
    return "ok";
}

std::string Federate::execute(std::string const &line) {
    try {
        Values const values = parse(line);
        std::string const verb = values.empty() ? "" : values[0].text;
        if (verb == "call")
            return call(values, 1);
        if (verb == "next" && values.size() == 2)
            return next(std::atof(values[1].text.c_str()));
        if (verb == "settle" && values.size() == 2)
            return settle(std::atof(values[1].text.c_str()));
        if (verb == "reset" && values.size() == 2)
            return reset(wide(values[1].text));
        if (verb == "within" && values.size() > 2) {
            std::lock_guard<std::mutex> lock(mutex_);
            armed_.push_back({values[1].text, values});
            return "ok";
        }
        return "bad " + quoted("not a command: " + line);
    } catch (Exception const &e) {
        return "bad " + quoted(exceptionName(e) + ": " + utf8(e.what()));
    } catch (std::exception const &e) {
        return "bad " + quoted(e.what());
    }
}

}
