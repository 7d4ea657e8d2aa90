// A stream of numbered updates from `send` to `receive`, which `late` joins again and again.
//
// Whoever wants the stream asks for the value once it has discovered the instance, with a tag; the
// sender hears that after the asker's subscription, so from its next update on nothing may be
// missing. That update carries the asker's tag.
//
// What is streamed is an update of one attribute, or with `--values` of the class Five, of more
// than five of the class Ten, or with `--interaction 1` an interaction of its namesake; `--anew 1`
// makes its map anew each time, `--instances` updates so many in turn. A sender that `--stays` says
// when it could begin, and does when its input ends.
#include "federate.hpp"

#include <algorithm>
#include <map>
#include <random>
#include <thread>

namespace limits {

using namespace rti1516e;

namespace {

char const kStart[] = "start", kDone[] = "done", kEnd[] = "end";

VariableLengthData tagOf(std::string const &text) {
    return VariableLengthData(text.data(), text.size());
}
bool is(VariableLengthData const &tag, std::string const &text) {
    return tag.size() == text.size() && std::memcmp(tag.data(), text.data(), text.size()) == 0;
}

bool begins(VariableLengthData const &tag, std::string const &text) {
    return tag.size() >= text.size() && std::memcmp(tag.data(), text.data(), text.size()) == 0;
}

/// Values of the same bytes, sent again and again with another number in front.
template <class Handle>
class Values {
public:
    typedef std::map<Handle, VariableLengthData> Map;

    void make(std::vector<Handle> const &handles, std::size_t size, bool anew) {
        handles_ = handles;
        bytes_.assign(size, 'x');
        anew_ = anew;
        places_.clear();
        for (Handle const &handle : handles) places_.push_back(&map_[handle]);
    }
    Map const &numbered(std::uint64_t number) {
        std::memcpy(bytes_.data(), &number, sizeof number);
        if (anew_) {
            map_.clear();
            for (Handle const &handle : handles_)
                map_[handle] = VariableLengthData(bytes_.data(), bytes_.size());
        } else {
            for (VariableLengthData *place : places_)
                place->setDataPointer(bytes_.data(), bytes_.size());
        }
        return map_;
    }

private:
    std::vector<Handle> handles_;
    std::vector<char> bytes_;
    Map map_;
    std::vector<VariableLengthData *> places_;  // in the map, while it is not made anew
    bool anew_ = false;
};

/// What is streamed, by the options.
struct Streamed {
    Streamed(Options const &options, RTIambassador &rti, ObjectClassHandle oneOf,
             AttributeHandle one)
        : class_(oneOf),
          attributes(1, one),
          interaction(rti.getInteractionClassHandle(L"Five")),
          interactions(options.interaction) {
        std::uint64_t const values = options.values;
        if (values > 1 && !interactions) {
            class_ = rti.getObjectClassHandle(values > 5 ? L"Ten" : L"Five");
            attributes.clear();
        }
        for (std::uint64_t i = 1; i <= values; ++i) {
            std::wstring const name = L"value" + std::to_wstring(i);
            if (interactions) parameters.push_back(rti.getParameterHandle(interaction, name));
            else if (values > 1) attributes.push_back(rti.getAttributeHandle(class_, name));
        }
    }

    AttributeHandleSet attributeSet() const {
        return AttributeHandleSet(attributes.begin(), attributes.end());
    }

    ObjectClassHandle class_;
    std::vector<AttributeHandle> attributes;
    InteractionClassHandle interaction;
    std::vector<ParameterHandle> parameters;
    bool interactions;
};

class Sender : public Federate {
public:
    using Federate::Federate;

    void run(Options const &options) {
        std::uint64_t const updates = options.updates, laps = options.laps;
        double const spread = options.spreadMs / 1e3;
        std::mt19937_64 random(options.seed);
        std::uniform_int_distribution<std::uint64_t> draw(1, 2000);
        std::uint64_t const receivers = options.receivers;
        bool const anew = options.anew;
        join(L"sender");
        Streamed const what(options, *rti, there.handle, there.payload);
        interaction_ = what.interaction;
        interactions_ = what.interactions;
        if (interactions_) rti->publishInteractionClass(interaction_);
        attributes_.make(what.attributes, options.bytes, anew);
        parameters_.make(what.parameters, options.bytes, anew);
        rti->publishObjectClassAttributes(there.handle, there.attributes);
        rti->publishObjectClassAttributes(what.class_, what.attributeSet());
        for (std::uint64_t n = options.instances; n > 0; --n)
            instances_.push_back(rti->registerObjectInstance(what.class_));
        instance_ = instances_.begin();
        // For what receivers ask for.
        if (what.class_ != there.handle) rti->registerObjectInstance(there.handle);
        await([&] { return started_ == receivers; });
        if (options.stays) {
            tell({{"begun", true}});
            stay();
        }
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
            if (sent_ + 1 < updates) burst = std::min(burst, updates - sent_ - 1);
            for (; burst > 0; --burst) update();
        }
        send(tagOf(kEnd));
        await([&] { return done_ == receivers; });
        leave();
        tell({{"sent", sent_}});
    }

    void provideAttributeValueUpdate(ObjectInstanceHandle, AttributeHandleSet const &,
                                     VariableLengthData const &tag) LIMITS_THROW override {
        if (begins(tag, kStart)) ++started_;
        else if (begins(tag, kDone)) ++done_;
        else wanted_.push_back(tag);
    }

private:
    void update() {
        VariableLengthData const *tag = &noTag;
        if (marked_ < wanted_.size()) tag = &wanted_[marked_++];
        send(*tag);
    }

    void send(VariableLengthData const &tag) {
        if (interactions_) {
            rti->sendInteraction(interaction_, parameters_.numbered(++sent_), tag);
            return;
        }
        rti->updateAttributeValues(*instance_, attributes_.numbered(++sent_), tag);
        if (++instance_ == instances_.end()) instance_ = instances_.begin();
    }

    Values<AttributeHandle> attributes_;
    Values<ParameterHandle> parameters_;
    std::vector<ObjectInstanceHandle> instances_;
    std::vector<ObjectInstanceHandle>::const_iterator instance_;
    InteractionClassHandle interaction_;
    bool interactions_ = false;
    std::vector<VariableLengthData> wanted_;
    std::uint64_t sent_ = 0, marked_ = 0, started_ = 0, done_ = 0;
};

/// Who gets the stream, from its beginning or not, and finds what is wrong with it.
class Receiver : public Federate {
public:
    explicit Receiver(Options const &options)
        : Federate(options), options_(options), bytes_(options.bytes) {}

    /// Joins, subscribes and asks for the stream.
    void begin(std::wstring const &name, std::string const &tag) {
        known_ = ended = false;
        first = last = marked = 0;
        mark_ = tag;
        join(name);
        Streamed const what(options_, *rti, there.handle, there.payload);
        if (what.interactions) rti->subscribeInteractionClass(what.interaction);
        rti->subscribeObjectClassAttributes(what.class_, what.attributeSet());
        rti->subscribeObjectClassAttributes(there.handle, there.attributes);
        await([&] { return known_; });
        rti->requestAttributeValueUpdate(instance_, there.attributes, tagOf(tag));
    }

    /// Listens until `enough`, which callbacks bring about.
    template <class Enough>
    void listen(Enough enough) {
        // Who polls has no time to wait.
        double const least = options_.polls ? 0 : 0.01, most = options_.polls ? 0 : 0.1;
        while (!enough()) rti->evokeMultipleCallbacks(least, most);
        if (faults_ != 0)
            throw Failure(std::to_string(faults_) + " faults in the stream; the first: " + fault_);
    }

    /// Tells the sender that all has come.
    void thank(std::string const &me) {
        rti->requestAttributeValueUpdate(instance_, there.attributes, tagOf(kDone + me));
    }

    void discoverObjectInstance(ObjectInstanceHandle object, ObjectClassHandle class_,
                                std::wstring const &) LIMITS_THROW override {
        if (class_ != there.handle) return;
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
        take(values.begin()->second, tag);
    }
    void receiveInteraction(InteractionClassHandle, ParameterHandleValueMap const &values,
                            VariableLengthData const &tag, OrderType, TransportationType,
                            SupplementalReceiveInfo) LIMITS_THROW override {
        take(values.begin()->second, tag);
    }
    using NullFederateAmbassador::discoverObjectInstance;
    using NullFederateAmbassador::receiveInteraction;
    using NullFederateAmbassador::reflectAttributeValues;

    std::uint64_t first = 0, last = 0, marked = 0;
    double firstAt = 0, lastAt = 0;
    bool ended = false;

private:
    void take(VariableLengthData const &value, VariableLengthData const &tag) {
        std::uint64_t const number = numberOf(value);
        if (first == 0) {
            first = number;
            firstAt = seconds();
        } else if (number != last + 1) {
            fault("update " + std::to_string(number) + " after " + std::to_string(last));
        }
        if (value.size() != bytes_) fault("a value of " + std::to_string(value.size()) + " bytes");
        last = number;
        if (tag.size() != 0) {
            if (is(tag, mark_)) marked = number;
            if (is(tag, kEnd)) {
                ended = true;
                lastAt = seconds();
            }
        }
    }
    void fault(std::string const &what) {
        if (faults_++ == 0) fault_ = what;
    }

    Options const options_;
    std::size_t const bytes_;
    ObjectInstanceHandle instance_;
    std::string mark_, fault_;
    std::uint64_t faults_ = 0;
    bool known_ = false;
};

}  // namespace

void send(Options const &options) { Sender(options).run(options); }

void receive(Options const &options) {
    Receiver me(options);
    // Of several receivers each has a number, by which their requests are told apart.
    std::string const name = std::to_string(options.me);
    me.begin(L"receiver" + std::wstring(name.begin(), name.end()), kStart + name);
    me.listen([&] { return me.ended; });
    me.thank(name);
    me.leave();
    if (me.first != 1 || me.last < options.updates)
        throw Failure("got updates " + std::to_string(me.first) + " to " + std::to_string(me.last));
    tell({{"received", me.last}, {"seconds", me.lastAt - me.firstAt}});
}

void late(Options const &options) {
    std::uint64_t const laps = options.laps, stay = options.stay;
    std::mt19937_64 random(options.seed);
    std::uniform_real_distribution<double> pause(0, 2 * options.pauseMs / 1e3);
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
    tell({{"joins", laps}, {"heard", heard}});
}

}  // namespace limits
