// A stream of numbered updates from `send` to `receive`, which `late` joins again and again.
//
// Whoever wants the stream asks for the value once it has discovered the instance, with a tag; the
// sender hears that after the asker's subscription, so from its next update on nothing may be
// missing. That update carries the asker's tag.
#include "federate.hpp"

#include <algorithm>
#include <cstdio>
#include <random>
#include <thread>

namespace limits {

using namespace rti1516e;

namespace {

char const kStart[] = "start", kDone[] = "done", kEnd[] = "end";

VariableLengthData tagOf(std::string const &text) {
    return VariableLengthData(text.data(), text.size());
}
bool begins(VariableLengthData const &tag, std::string const &text) {
    return tag.size() >= text.size() && std::memcmp(tag.data(), text.data(), text.size()) == 0;
}
bool is(VariableLengthData const &tag, std::string const &text) {
    return tag.size() == text.size() && std::memcmp(tag.data(), text.data(), text.size()) == 0;
}

class Sender : public Federate {
public:
    using Federate::Federate;

    void run(Options const &options) {
        std::uint64_t const updates = options.number("updates"), laps = options.number("laps");
        double const spread = options.number("spread-ms") / 1e3;
        std::mt19937_64 random(options.number("seed"));
        std::uniform_int_distribution<std::uint64_t> draw(1, 2000);
        join(L"sender");
        rti->publishObjectClassAttributes(there.handle, there.attributes);
        payload_.make(there.payload, options.number("bytes"));
        instance_ = rti->registerObjectInstance(there.handle);
        std::uint64_t const receivers = options.number("receivers");
        await([&] { return started_ == receivers; });
        double const start = seconds();
        // The last update is sent when all that join late have got their first.
        while (sent_ + 1 < updates || marked_ < laps) {
            std::uint64_t burst = updates;
            if (spread > 0) {
                double const due = start + spread * sent_ / updates;
                double const wait = std::max(0.0, due - seconds());
                rti->evokeMultipleCallbacks(wait, wait);
                burst = draw(random);
            }
            if (sent_ + 1 < updates)
                burst = std::min(burst, updates - sent_ - 1);
            for (; burst > 0; --burst)
                update();
        }
        rti->updateAttributeValues(instance_, payload_.numbered(++sent_), tagOf(kEnd));
        await([&] { return done_ == receivers; });
        leave();
        std::printf("{\"sent\": %llu}\n", static_cast<unsigned long long>(sent_));
    }

    void provideAttributeValueUpdate(ObjectInstanceHandle, AttributeHandleSet const &,
                                     VariableLengthData const &tag) LIMITS_THROW override {
        if (begins(tag, kStart))
            ++started_;
        else if (begins(tag, kDone))
            ++done_;
        else
            wanted_.push_back(tag);
    }

private:
    void update() {
        VariableLengthData const *tag = &noTag;
        if (marked_ < wanted_.size())
            tag = &wanted_[marked_++];
        rti->updateAttributeValues(instance_, payload_.numbered(++sent_), *tag);
    }

    Payload payload_;
    ObjectInstanceHandle instance_;
    std::vector<VariableLengthData> wanted_;
    std::uint64_t sent_ = 0, marked_ = 0;
    std::uint64_t started_ = 0, done_ = 0;
};

/// Who gets the stream, from its beginning or not, and finds what is wrong with it.
class Receiver : public Federate {
public:
    explicit Receiver(Options const &options)
        : Federate(options), bytes_(options.number("bytes")) {}

    /// Joins, subscribes and asks for the stream.
    void begin(std::wstring const &name, std::string const &tag) {
        known_ = ended = false;
        first = last = marked = 0;
        mark_ = tag;
        join(name);
        rti->subscribeObjectClassAttributes(there.handle, there.attributes);
        await([&] { return known_; });
        rti->requestAttributeValueUpdate(instance_, there.attributes, tagOf(tag));
    }

    /// Listens until `enough`, which callbacks bring about.
    template <class Enough> void listen(Enough enough) {
        while (!enough())
            rti->evokeMultipleCallbacks(0.01, 0.1);
        if (faults_ != 0)
            throw Failure(std::to_string(faults_) + " faults in the stream; the first: " + fault_);
    }

    /// Tells the sender that all has come.
    void thank(std::string const &me) {
        rti->requestAttributeValueUpdate(instance_, there.attributes, tagOf(kDone + me));
    }

    void discoverObjectInstance(ObjectInstanceHandle object, ObjectClassHandle,
                                std::wstring const &) LIMITS_THROW override {
        instance_ = object;
        known_ = true;
    }
    void discoverObjectInstance(ObjectInstanceHandle object, ObjectClassHandle class_,
                                std::wstring const &name, FederateHandle) LIMITS_THROW override {
        discoverObjectInstance(object, class_, name);
    }
    void reflectAttributeValues(ObjectInstanceHandle, AttributeHandleValueMap const &values,
                                VariableLengthData const &tag, OrderType, TransportationType,
                                SupplementalReflectInfo) LIMITS_THROW override {
        VariableLengthData const &value = values.begin()->second;
        std::uint64_t const number = numberOf(value);
        if (first == 0) {
            first = number;
            firstAt = seconds();
        } else if (number != last + 1) {
            fault("update " + std::to_string(number) + " after " + std::to_string(last));
        }
        if (value.size() != bytes_)
            fault("a value of " + std::to_string(value.size()) + " bytes");
        last = number;
        if (tag.size() != 0) {
            if (is(tag, mark_))
                marked = number;
            if (is(tag, kEnd)) {
                ended = true;
                lastAt = seconds();
            }
        }
    }
    using NullFederateAmbassador::discoverObjectInstance;
    using NullFederateAmbassador::reflectAttributeValues;

    std::uint64_t first = 0, last = 0, marked = 0;
    double firstAt = 0, lastAt = 0;
    bool ended = false;

private:
    void fault(std::string const &what) {
        if (faults_++ == 0)
            fault_ = what;
    }

    std::size_t const bytes_;
    ObjectInstanceHandle instance_;
    std::string mark_, fault_;
    std::uint64_t faults_ = 0;
    bool known_ = false;
};

}

void send(Options const &options) { Sender(options).run(options); }

void receive(Options const &options) {
    Receiver me(options);
    // Of several receivers each has a number, by which their requests are told apart.
    std::string const name = options.text("me");
    me.begin(L"receiver" + std::wstring(name.begin(), name.end()), kStart + name);
    me.listen([&] { return me.ended; });
    me.thank(name);
    me.leave();
    if (me.first != 1 || me.last < options.number("updates"))
        throw Failure("got updates " + std::to_string(me.first) + " to " + std::to_string(me.last));
    std::printf("{\"received\": %llu, \"seconds\": %.6f, \"per_s\": %.0f}\n",
                static_cast<unsigned long long>(me.last), me.lastAt - me.firstAt,
                (me.last - 1) / (me.lastAt - me.firstAt));
}

void late(Options const &options) {
    std::uint64_t const laps = options.number("laps"), stay = options.number("stay");
    std::mt19937_64 random(options.number("seed"));
    std::uniform_real_distribution<double> pause(0, 2 * options.number("pause-ms") / 1e3);
    std::uniform_int_distribution<std::uint64_t> more(0, stay);
    Receiver me(options);
    std::uint64_t heard = 0;
    for (std::uint64_t lap = 1; lap <= laps; ++lap) {
        std::this_thread::sleep_for(std::chrono::duration<double>(pause(random)));
        me.begin(L"late", std::to_string(lap));
        // The last one stays to the end.
        std::uint64_t const until = lap == laps ? ~std::uint64_t{0} : more(random);
        me.listen([&] { return me.ended || (me.marked != 0 && me.last - me.marked >= until); });
        if (me.marked == 0)
            throw Failure("join " + std::to_string(lap) + " missed its first update: got " +
                          std::to_string(me.first) + " to " + std::to_string(me.last));
        if (me.ended != (lap == laps))
            throw Failure("the stream ended during join " + std::to_string(lap));
        heard += me.last - me.first + 1;
        me.leave();
    }
    std::printf("{\"joins\": %llu, \"heard\": %llu}\n", static_cast<unsigned long long>(laps),
                static_cast<unsigned long long>(heard));
}

}
