// An RTI with the C++ API of IEEE 1516.1-2010: nothing but the standard's own headers.
#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>

#include <endian.h>

#include <algorithm>
#include <chrono>
#include <codecvt>
#include <condition_variable>
#include <cstring>
#include <locale>
#include <map>
#include <mutex>
#include <typeinfo>
#include <unordered_map>

#include "endpoint.hpp"

// The standard's headers give every callback an exception specification, which C++17 removed.
#if __cplusplus >= 201703L
#define HLA_THROW
#else
#define HLA_THROW throw(rti1516e::FederateInternalError)
#endif

namespace bench {

namespace {

using namespace rti1516e;

std::wstring wide(std::string const& text) {
    return std::wstring_convert<std::codecvt_utf8<wchar_t>>("?", L"?").from_bytes(text);
}
std::string narrow(std::wstring const& text) {
    return std::wstring_convert<std::codecvt_utf8<wchar_t>>("?", L"?").to_bytes(text);
}

// HLAASCIIstring (1516.2-2010 §4.13.6): number of characters, big-endian, then the characters.
std::string encodeAscii(std::string const& text) {
    std::uint32_t const n = static_cast<std::uint32_t>(text.size());
    std::string out;
    for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>((n >> shift) & 0xff);
    return out + text;
}
bool decodeAscii(VariableLengthData const& data, std::string& text) {
    if (data.size() < 4) return false;
    auto const* bytes = static_cast<unsigned char const*>(data.data());
    std::size_t const n = (std::size_t{bytes[0]} << 24) | (std::size_t{bytes[1]} << 16) |
                          (std::size_t{bytes[2]} << 8) | bytes[3];
    if (n != data.size() - 4) return false;
    text.assign(reinterpret_cast<char const*>(bytes) + 4, n);
    return true;
}

// Stamps travel little-endian, so that hosts of either kind can be partners.
void putStamp(unsigned char* to, std::uint64_t stamp) {
    stamp = htole64(stamp);
    std::memcpy(to, &stamp, sizeof stamp);
}
template <typename Map>
bool getStamp(Map const& values, Arrival& arrival) {
    if (values.empty()) return false;
    VariableLengthData const& data = values.begin()->second;
    std::size_t const size = data.size();
    if (size < 8) return false;
    std::memcpy(&arrival.stamp, data.data(), sizeof arrival.stamp);
    arrival.stamp = le64toh(arrival.stamp);
    arrival.bytes = size;
    arrival.data = static_cast<unsigned char const*>(data.data());
    return true;
}

struct HashHandle {
    template <typename Handle>
    std::size_t operator()(Handle const& handle) const {
        return static_cast<std::size_t>(handle.hash());
    }
};

// What the RTI calls a topic; its fields' handles are asked for when they are first used.
struct Class {
    Topic topic;
    ObjectClassHandle object;
    InteractionClassHandle interaction;
    std::vector<AttributeHandle> attributes;
    std::vector<ParameterHandle> parameters;
    std::size_t discovered = 0;
    bool sentReliably = true;  // interactions: what was asked of the RTI, or the FOM says
};
struct Remote {
    TopicId topic;
    std::size_t instance;
};
// Instances of others by their handles. It is asked once per reflection, where a bucket of
// std::unordered_map (a division, a node elsewhere) would be a fifth of what the program adds.
class Remotes {
public:
    // Null: not there.
    Remote const* find(ObjectInstanceHandle const& handle) const {
        Slot const& slot = slots_[at(handle)];
        return slot.used ? &slot.remote : nullptr;
    }
    void add(ObjectInstanceHandle const& handle, Remote const& remote) {
        if (2 * (count_ + 1) > slots_.size()) grow();
        Slot& slot = slots_[at(handle)];
        if (!slot.used) ++count_;
        slot.handle = handle;
        slot.remote = remote;
        slot.used = true;
    }
    void remove(ObjectInstanceHandle const& handle) {
        std::size_t hole = at(handle);
        if (!slots_[hole].used) return;
        slots_[hole].used = false;
        --count_;
        // What stands behind, up to the next free slot, may have wanted this one.
        for (std::size_t i = next(hole); slots_[i].used; i = next(i)) {
            Slot moved = slots_[i];
            slots_[i].used = false;
            slots_[at(moved.handle)] = moved;
        }
    }

private:
    struct Slot {
        ObjectInstanceHandle handle;
        Remote remote{0, 0};
        bool used = false;
    };
    std::size_t next(std::size_t i) const { return (i + 1) & (slots_.size() - 1); }
    // Where it is, or would be.
    std::size_t at(ObjectInstanceHandle const& handle) const {
        std::size_t i = static_cast<std::size_t>(handle.hash()) & (slots_.size() - 1);
        while (slots_[i].used && slots_[i].handle != handle) i = next(i);
        return i;
    }
    void grow() {
        std::vector<Slot> old(2 * slots_.size());
        old.swap(slots_);
        for (Slot const& slot : old) {
            if (slot.used) slots_[at(slot.handle)] = slot;
        }
    }

    std::vector<Slot> slots_ = std::vector<Slot>(64);  // a power of two
    std::size_t count_ = 0;
};
// A local proxy. Its values point into `storage`. An RTI may copy the bytes when it is given the
// pointer (1516.1-2010 has no rule on that), so each update gives it anew.
struct Item {
    TopicId topic;
    bool object;
    ObjectInstanceHandle instance;
    InteractionClassHandle interaction;
    AttributeHandleValueMap attributes;
    ParameterHandleValueMap parameters;
    std::vector<VariableLengthData*> values;  // of one of the maps
    std::vector<unsigned char> storage;
    std::size_t stride;
};

class Hla1516e final : public Endpoint, private NullFederateAmbassador {
public:
    Hla1516e(EndpointEvents& events, char const* volatile* service)
        : events_(events), service_(service) {}
    ~Hla1516e() override {
        if (lock_.owns_lock()) lock_.unlock();
        rti_.reset();  // no callback comes after this
    }

    std::string version() const override {
        return narrow(rti1516e::rtiName()) + " " + narrow(rti1516e::rtiVersion());
    }
    // The type of what the RTI has made is known where that is.
    void const* within() const override { return rti_ ? &typeid(*rti_) : nullptr; }
    Capabilities capabilities() const override {
        Capabilities can;
        can.immediate = can.transportChange = can.sessions = true;
        return can;
    }

    void connect(std::string const& settings, Callbacks callbacks) override;
    bool join(std::string const& session, std::string const& fom,
              std::string const& member) override;
    void resign() override;
    bool destroy(std::string const& session) override;
    void disconnect() override;

    TopicId add(Topic const& topic) override;
    void publish(TopicId topic, std::size_t fields) override;
    void subscribe(TopicId topic, std::size_t fields) override;
    void withdraw() override;
    std::size_t addItem(TopicId topic, std::size_t fields, std::uint64_t bytesEach) override;
    void setTransport(std::size_t item, bool reliable) override;
    bool settled() const override { return changes_ == 0; }
    void fill(std::size_t item, unsigned char const* bytes, std::size_t size) override {
        Item& one = *items_[item];
        std::memcpy(one.storage.data() + 8, bytes, std::min(size, one.stride - 8));
    }
    void send(std::size_t item, std::uint64_t stamp) override;
    void say(TopicId topic, std::vector<std::string> const& values) override;

    void flush() override { evoke(0, 0); }
    void tick(double minSeconds, double maxSeconds) override {
        immediate_ ? sleep(minSeconds, false) : evoke(minSeconds, maxSeconds);
    }
    void wait(double maxSeconds) override {
        if (immediate_) return sleep(maxSeconds, true);
        service("evokeCallback", [&] { Inside(*this)->evokeCallback(maxSeconds); });
    }

private:
    // With immediate callbacks the RTI's thread delivers while the program is inside a service,
    // here the time between making and destroying this, and at no other time.
    class Inside {
    public:
        explicit Inside(Hla1516e& of) : of_(of) {
            if (of_.immediate_) of_.lock_.unlock();
        }
        ~Inside() {
            if (of_.immediate_) of_.lock_.lock();
        }
        Inside(Inside const&) = delete;
        Inside& operator=(Inside const&) = delete;
        RTIambassador* operator->() const { return of_.rti_.get(); }

    private:
        Hla1516e& of_;
    };
    // Made while a callback runs, by whichever thread.
    class Callback {
    public:
        explicit Callback(Hla1516e& of) : of_(of) {
            if (of_.immediate_) of_.begin();
        }
        ~Callback() {
            if (of_.immediate_) of_.mutex_.unlock();
        }
        Callback(Callback const&) = delete;
        Callback& operator=(Callback const&) = delete;

    private:
        Hla1516e& of_;
    };
    void begin() {
        mutex_.lock();
        ++delivered_;
        came_.notify_one();
    }
    // Until the time has passed, or something was delivered.
    void sleep(double seconds, bool orDelivered) {
        *service_ = "wait for callbacks";
        std::uint64_t const before = delivered_;
        came_.wait_for(lock_, std::chrono::duration<double>(seconds),
                       [&] { return orDelivered && delivered_ != before; });
    }

    void evoke(double minSeconds, double maxSeconds) {
        service("evokeMultipleCallbacks",
                [&] { Inside(*this)->evokeMultipleCallbacks(minSeconds, maxSeconds); });
    }

    // Runs a service; its exception becomes an EndpointError that names the service. What it costs
    // is in every figure, so it stands where it is called.
    template <typename Call>
    __attribute__((always_inline)) auto service(char const* name, Call call) -> decltype(call()) {
        *service_ = name;
        try {
            return call();
        } catch (rti1516e::Exception const&) {
            failed(name);
        }
    }
    // The exception that is being handled, in words.
    [[noreturn]] static void failed(char const* name) {
        try {
            throw;
        } catch (rti1516e::NotConnected const& e) {
            throw EndpointError("connection to the RTI lost: " + std::string(name) + ": " +
                                narrow(e.what()));
        } catch (rti1516e::Exception const& e) {
            throw EndpointError(std::string(name) + ": " + narrow(e.what()));
        }
    }

    // A class's handle is asked for when it is first used.
    Class& at(TopicId topic) {
        Class& c = classes_[topic];
        // The names and all else that is handed to the RTI are made before it is called.
        if (c.topic.kind == Topic::Kind::object && !c.object.isValid()) {
            std::wstring const name = L"HLAobjectRoot." + wide(c.topic.name);
            c.object = Inside(*this)->getObjectClassHandle(name);
            objectTopics_[c.object] = topic;
        } else if (c.topic.kind != Topic::Kind::object && !c.interaction.isValid()) {
            std::wstring const name = L"HLAinteractionRoot." + wide(c.topic.name);
            c.interaction = Inside(*this)->getInteractionClassHandle(name);
            interactionTopics_[c.interaction] = topic;
        }
        return c;
    }
    AttributeHandle attribute(Class& c, std::size_t field) {
        while (c.attributes.size() <= field) {
            std::wstring const name = wide(c.topic.fields[c.attributes.size()]);
            AttributeHandle const handle = Inside(*this)->getAttributeHandle(c.object, name);
            c.attributes.push_back(handle);
        }
        return c.attributes[field];
    }
    ParameterHandle parameter(Class& c, std::size_t field) {
        while (c.parameters.size() <= field) {
            std::wstring const name = wide(c.topic.fields[c.parameters.size()]);
            ParameterHandle const handle = Inside(*this)->getParameterHandle(c.interaction, name);
            c.parameters.push_back(handle);
        }
        return c.parameters[field];
    }
    AttributeHandleSet attributes(Class& c, std::size_t count) {
        AttributeHandleSet set;
        for (std::size_t f = 0; f < count; ++f) set.insert(attribute(c, f));
        return set;
    }

    // Callbacks of the RTI.
    void confirmAttributeTransportationTypeChange(ObjectInstanceHandle, AttributeHandleSet,
                                                  TransportationType) HLA_THROW override {
        Callback const held(*this);
        if (changes_ > 0) --changes_;
    }
    void confirmInteractionTransportationTypeChange(InteractionClassHandle,
                                                    TransportationType) HLA_THROW override {
        Callback const held(*this);
        if (changes_ > 0) --changes_;
    }
    using NullFederateAmbassador::discoverObjectInstance;
    using NullFederateAmbassador::receiveInteraction;
    using NullFederateAmbassador::reflectAttributeValues;
    using NullFederateAmbassador::removeObjectInstance;

    void connectionLost(std::wstring const& reason) HLA_THROW override {
        Callback const held(*this);
        joined_ = connected_ = false;
        events_.connectionLost(narrow(reason));
    }
    void discoverObjectInstance(ObjectInstanceHandle instance, ObjectClassHandle theClass,
                                std::wstring const&) HLA_THROW override {
        Callback const held(*this);
        auto const found = objectTopics_.find(theClass);
        if (found == objectTopics_.end()) return events_.malformed("discovery at an unused class");
        remotes_.add(instance, Remote{found->second, classes_[found->second].discovered++});
        events_.discovered(found->second);
    }
    void discoverObjectInstance(ObjectInstanceHandle instance, ObjectClassHandle theClass,
                                std::wstring const& name, FederateHandle) HLA_THROW override {
        discoverObjectInstance(instance, theClass, name);
    }
    void removeObjectInstance(ObjectInstanceHandle instance, VariableLengthData const&, OrderType,
                              SupplementalRemoveInfo) HLA_THROW override {
        Callback const held(*this);
        Remote const* const found = remotes_.find(instance);
        if (found == nullptr) return;
        TopicId const topic = found->topic;
        remotes_.remove(instance);
        events_.removed(topic);
    }
    void reflectAttributeValues(ObjectInstanceHandle instance,
                                AttributeHandleValueMap const& values, VariableLengthData const&,
                                OrderType, TransportationType type,
                                SupplementalReflectInfo) HLA_THROW override {
        Callback const held(*this);
        Remote const* const found = remotes_.find(instance);
        if (found == nullptr) return events_.malformed("reflection of an unknown instance");
        arrived(*found, values, type == RELIABLE);
    }
    void receiveInteraction(InteractionClassHandle theClass, ParameterHandleValueMap const& values,
                            VariableLengthData const&, OrderType, TransportationType type,
                            SupplementalReceiveInfo) HLA_THROW override {
        Callback const held(*this);
        auto const found = interactionTopics_.find(theClass);
        if (found == interactionTopics_.end()) {
            return events_.malformed("interaction of an unused class");
        }
        Class const& c = classes_[found->second];
        if (c.topic.kind == Topic::Kind::text) return said(found->second, c, values);
        arrived(Remote{found->second, 0}, values, type == RELIABLE);
    }
    template <typename Map>
    void arrived(Remote const& from, Map const& values, bool reliable) {
        Arrival arrival{from.topic, 0, from.instance, 0, reliable, nullptr};
        if (!getStamp(values, arrival)) return events_.malformed("data without a time stamp");
        ++statistics_.arrived;
        if (data_ != nullptr) data_->arrived(arrival);
    }
    // Asks the RTI to let this federate's interactions of a class travel so.
    void letTravel(Class& c, bool reliably);
    void said(TopicId topic, Class const& c, ParameterHandleValueMap const& values) {
        std::vector<std::string> texts;
        for (auto const& p : c.parameters) {
            auto const value = values.find(p);
            std::string text;
            if (value == values.end() || !decodeAscii(value->second, text)) {
                return events_.malformed("text with a bad parameter");
            }
            texts.push_back(text);
        }
        events_.said(topic, texts);
    }

    EndpointEvents& events_;
    char const* volatile* const service_;
    // Of all below, where callbacks are immediate; this thread has it while it is in no service.
    std::mutex mutex_;
    std::unique_lock<std::mutex> lock_;
    std::condition_variable came_;
    bool immediate_ = false;
    std::uint64_t delivered_ = 0;
    std::unique_ptr<RTIambassador> rti_;
    std::size_t changes_ = 0;  // of transportation that the RTI has not confirmed
    bool joined_ = false;
    bool connected_ = false;
    VariableLengthData const noTag_;

    std::vector<Class> classes_;  // by topic
    std::unordered_map<ObjectClassHandle, TopicId, HashHandle> objectTopics_;
    std::unordered_map<InteractionClassHandle, TopicId, HashHandle> interactionTopics_;
    Remotes remotes_;
    std::vector<std::unique_ptr<Item>> items_;
    std::vector<TopicId> published_;
    std::vector<TopicId> subscribed_;
};

void Hla1516e::connect(std::string const& settings, Callbacks callbacks) {
    if (callbacks == Callbacks::immediate) {
        lock_ = std::unique_lock<std::mutex>(mutex_);
        immediate_ = true;
    }
    *service_ = "connect";
    try {
        rti_.reset(rti1516e::RTIambassadorFactory().createRTIambassador().release());
        std::wstring const designator = wide(settings);
        Inside(*this)->connect(*this, immediate_ ? HLA_IMMEDIATE : HLA_EVOKED, designator);
    } catch (rti1516e::ConnectionFailed const& e) {
        throw EndpointUnreachable("connect: " + narrow(e.what()));
    } catch (rti1516e::Exception const& e) {
        throw EndpointError("connect: " + narrow(e.what()));
    }
    connected_ = true;
}

bool Hla1516e::join(std::string const& session, std::string const& fom, std::string const& member) {
    std::wstring const name = wide(session), module = wide(fom), federate = wide(member);
    return service("createFederationExecution or joinFederationExecution", [&] {
        try {
            if (entry_ != Entry::join) Inside(*this)->createFederationExecution(name, module);
        } catch (FederationExecutionAlreadyExists const&) {
            if (entry_ == Entry::create) {
                throw EndpointError("federation execution '" + session + "' is there already");
            }
        }
        try {
            Inside(*this)->joinFederationExecution(federate, L"bench", name);
        } catch (FederationExecutionDoesNotExist const&) {
            if (entry_ == Entry::join) {
                throw EndpointError("there is no federation execution '" + session + "'");
            }
            return false;  // someone destroyed it between the two services
        }
        joined_ = true;
        return true;
    });
}

void Hla1516e::resign() {
    if (!joined_) return;
    joined_ = false;
    service("resignFederationExecution",
            [&] { Inside(*this)->resignFederationExecution(CANCEL_THEN_DELETE_THEN_DIVEST); });
}

bool Hla1516e::destroy(std::string const& session) {
    std::wstring const name = wide(session);
    return service("destroyFederationExecution", [&] {
        try {
            Inside(*this)->destroyFederationExecution(name);
        } catch (FederatesCurrentlyJoined const&) {
            return false;
        } catch (FederationExecutionDoesNotExist const&) {
        }
        return true;
    });
}

void Hla1516e::disconnect() {
    if (!connected_) return;
    connected_ = false;
    service("disconnect", [&] { Inside(*this)->disconnect(); });
}

TopicId Hla1516e::add(Topic const& topic) {
    Class c;
    c.topic = topic;
    c.sentReliably = topic.reliable;
    classes_.push_back(c);
    return classes_.size() - 1;
}

void Hla1516e::publish(TopicId topic, std::size_t fields) {
    service("publish", [&] {
        Class& c = at(topic);
        if (c.topic.kind == Topic::Kind::object) {
            AttributeHandleSet const used = attributes(c, fields);
            Inside(*this)->publishObjectClassAttributes(c.object, used);
        } else {
            for (std::size_t f = 0; f < fields; ++f) parameter(c, f);
            Inside(*this)->publishInteractionClass(c.interaction);
        }
    });
    if (classes_[topic].topic.kind != Topic::Kind::text) published_.push_back(topic);
}

void Hla1516e::subscribe(TopicId topic, std::size_t fields) {
    service("subscribe", [&] {
        Class& c = at(topic);
        c.discovered = 0;
        if (c.topic.kind == Topic::Kind::object) {
            AttributeHandleSet const used = attributes(c, fields);
            Inside(*this)->subscribeObjectClassAttributes(c.object, used);
        } else {
            for (std::size_t f = 0; f < fields; ++f) parameter(c, f);
            Inside(*this)->subscribeInteractionClass(c.interaction);
        }
    });
    if (classes_[topic].topic.kind != Topic::Kind::text) subscribed_.push_back(topic);
}

void Hla1516e::withdraw() {
    service("withdrawal", [&] {
        for (auto const& item : items_) {
            if (item->object) Inside(*this)->deleteObjectInstance(item->instance, noTag_);
        }
        // A later use of a class finds it as the FOM says.
        for (TopicId const topic : published_) {
            letTravel(classes_[topic], classes_[topic].topic.reliable);
        }
        while (!settled()) wait(0.05);
        for (TopicId const topic : published_) {
            Class const& c = classes_[topic];
            if (c.topic.kind == Topic::Kind::object) Inside(*this)->unpublishObjectClass(c.object);
            else Inside(*this)->unpublishInteractionClass(c.interaction);
        }
        for (TopicId const topic : subscribed_) {
            Class const& c = classes_[topic];
            if (c.topic.kind == Topic::Kind::object)
                Inside(*this)->unsubscribeObjectClass(c.object);
            else Inside(*this)->unsubscribeInteractionClass(c.interaction);
        }
    });
    items_.clear();
    published_.clear();
    subscribed_.clear();
}

std::size_t Hla1516e::addItem(TopicId topic, std::size_t fields, std::uint64_t bytesEach) {
    std::unique_ptr<Item> item(new Item);
    item->stride = static_cast<std::size_t>(bytesEach);
    item->storage.assign(fields * item->stride, 0x5a);
    service("preparation of an instance", [&] {
        Class& c = at(topic);
        item->topic = topic;
        item->object = c.topic.kind == Topic::Kind::object;
        for (std::size_t f = 0; f < fields; ++f) {
            item->values.push_back(item->object ? &item->attributes[attribute(c, f)]
                                                : &item->parameters[parameter(c, f)]);
        }
        if (item->object) item->instance = Inside(*this)->registerObjectInstance(c.object);
        else item->interaction = c.interaction;
    });
    items_.push_back(std::move(item));
    return items_.size() - 1;
}

void Hla1516e::letTravel(Class& c, bool reliably) {
    if (c.topic.kind != Topic::Kind::event || c.sentReliably == reliably) return;
    c.sentReliably = reliably;
    ++changes_;
    service("requestInteractionTransportationTypeChange", [&] {
        Inside(*this)->requestInteractionTransportationTypeChange(
            c.interaction, reliably ? RELIABLE : BEST_EFFORT);
    });
}

void Hla1516e::setTransport(std::size_t index, bool reliable) {
    Item const& item = *items_[index];
    if (!item.object) return letTravel(classes_[item.topic], reliable);
    AttributeHandleSet all;
    for (auto const& value : item.attributes) all.insert(value.first);
    ++changes_;
    service("requestAttributeTransportationTypeChange", [&] {
        Inside(*this)->requestAttributeTransportationTypeChange(item.instance, all,
                                                                reliable ? RELIABLE : BEST_EFFORT);
    });
}

void Hla1516e::send(std::size_t index, std::uint64_t stamp) {
    Item& item = *items_[index];
    unsigned char* at = item.storage.data();
    for (VariableLengthData* value : item.values) {
        putStamp(at, stamp);
        value->setDataPointer(at, item.stride);
        at += item.stride;
    }
    ++statistics_.sent;
    if (item.object) {
        service("updateAttributeValues", [&] {
            Inside(*this)->updateAttributeValues(item.instance, item.attributes, noTag_);
        });
    } else {
        service("sendInteraction",
                [&] { Inside(*this)->sendInteraction(item.interaction, item.parameters, noTag_); });
    }
}

void Hla1516e::say(TopicId topic, std::vector<std::string> const& values) {
    service("sendInteraction", [&] {
        Class& c = at(topic);
        ParameterHandleValueMap parameters;
        for (std::size_t i = 0; i < values.size(); ++i) {
            std::string const encoded = encodeAscii(values[i]);
            parameters[parameter(c, i)].setData(encoded.data(), encoded.size());
        }
        Inside(*this)->sendInteraction(c.interaction, parameters, noTag_);
    });
}

}  // namespace

}  // namespace bench

BENCH_ADAPTER(bench::Hla1516e)
