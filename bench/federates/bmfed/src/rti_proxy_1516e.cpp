// rtiProxy for IEEE 1516.1-2010: nothing but the standard's own headers.
#include <RTI/NullFederateAmbassador.h>
#include <RTI/RTI1516.h>

#include <codecvt>
#include <cstring>
#include <locale>
#include <map>
#include <unordered_map>

#include "rti_proxy.hpp"
#include "watchdog.hpp"

// The standard's headers give every callback an exception specification, which C++17 removed.
#if __cplusplus >= 201703L
#define BMFED_THROW
#else
#define BMFED_THROW throw(rti1516e::FederateInternalError)
#endif

namespace bmfed {

namespace {

using namespace rti1516e;

std::wstring wide(std::string const& text) {
    return std::wstring_convert<std::codecvt_utf8<wchar_t>>("?", L"?").from_bytes(text);
}
std::string narrow(std::wstring const& text) {
    return std::wstring_convert<std::codecvt_utf8<wchar_t>>("?", L"?").to_bytes(text);
}

// Runs a service; its exception becomes an RtiError that names the service.
template <typename Call>
auto service(char const* name, Call call) -> decltype(call()) {
    Watchdog::calling(name);
    try {
        return call();
    } catch (rti1516e::NotConnected const& e) {
        throw RtiError("connection to the RTI lost: " + std::string(name) + ": " +
                       narrow(e.what()));
    } catch (rti1516e::Exception const& e) {
        throw RtiError(std::string(name) + ": " + narrow(e.what()));
    }
}

char const* const kTreeNames[] = {"sendObj", "returnObj", "sendInt", "returnInt"};

std::wstring className(Tree tree, int number) {
    bool const sends = tree == Tree::sendObj || tree == Tree::sendInt;
    return wide(std::string(isObject(tree) ? "HLAobjectRoot." : "HLAinteractionRoot.") +
                kTreeNames[static_cast<int>(tree)] + (sends ? ".S" : ".R") +
                std::to_string(number));
}

struct ControlClass {
    wchar_t const* name;
    std::vector<wchar_t const*> parameters;
    bool fromMaster;
};
std::vector<ControlClass> const& controlClasses() {
    static std::vector<ControlClass> const classes = {
        {L"HLAinteractionRoot.masterFederate.testDirective",
         {L"testDirective", L"internalTestID"},
         true},
        {L"HLAinteractionRoot.masterFederate.testDescription",
         {L"testDescription", L"internalTestID"},
         true},
        {L"HLAinteractionRoot.masterFederate.endFedex", {L"name"}, true},
        {L"HLAinteractionRoot.subordinateFederate.testState",
         {L"internalTestID", L"testState"},
         false},
        {L"HLAinteractionRoot.subordinateFederate.testResults", {L"testResults"}, false},
    };
    return classes;
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
    for (int i = 0; i < 8; ++i) to[i] = static_cast<unsigned char>(stamp >> (8 * i));
}
template <typename Map>
bool getStamp(Map const& values, std::uint64_t& stamp) {
    if (values.empty()) return false;
    VariableLengthData const& data = values.begin()->second;
    if (data.size() < 8) return false;
    auto const* from = static_cast<unsigned char const*>(data.data());
    stamp = 0;
    for (int i = 0; i < 8; ++i) stamp |= std::uint64_t{from[i]} << (8 * i);
    return true;
}

struct HashHandle {
    template <typename Handle>
    std::size_t operator()(Handle const& handle) const {
        return static_cast<std::size_t>(handle.hash());
    }
};

struct ObjectClass {
    Tree tree;
    int number;
    ObjectClassHandle handle;
    std::vector<AttributeHandle> buffers;
    int discovered = 0;
};
struct InteractionClass {
    Tree tree;
    int number;
    InteractionClassHandle handle;
    std::vector<ParameterHandle> buffers;
};
struct Remote {
    Tree tree;
    int number;
    int instance;
};
// A local proxy. Its values point into `storage`. An RTI may copy the bytes when it is given the
// pointer (1516.1-2010 has no rule on that), so each update gives it anew.
struct Item {
    bool object;
    ObjectInstanceHandle instance;
    InteractionClassHandle interaction;
    AttributeHandleValueMap attributes;
    ParameterHandleValueMap parameters;
    std::vector<VariableLengthData*> values;  // of one of the maps
    std::vector<unsigned char> storage;
    std::size_t stride;
};

}  // namespace

struct RtiProxy::Impl : rti1516e::NullFederateAmbassador {
    explicit Impl(RtiEvents& e) : events(e) {}

    RtiEvents& events;
    std::unique_ptr<RTIambassador> rti;
    bool joined = false;
    bool connected = false;
    VariableLengthData const noTag;

    std::map<std::pair<int, int>, ObjectClass> objectClasses;  // by tree and number
    std::map<std::pair<int, int>, InteractionClass> interactionClasses;
    std::unordered_map<ObjectClassHandle, ObjectClass*, HashHandle> objectClassOf;
    std::unordered_map<InteractionClassHandle, InteractionClass*, HashHandle> interactionClassOf;
    std::unordered_map<ObjectInstanceHandle, Remote, HashHandle> remotes;
    std::vector<std::unique_ptr<Item>> items;
    std::vector<ClassUse> published;
    std::vector<ClassUse> subscribed;

    std::vector<InteractionClassHandle> controlHandles;
    std::vector<std::vector<ParameterHandle>> controlParameters;

    ObjectClass& objectClass(Tree tree, int number) {
        auto const key = std::make_pair(static_cast<int>(tree), number);
        auto const found = objectClasses.find(key);
        if (found != objectClasses.end()) return found->second;
        ObjectClass c;
        c.tree = tree;
        c.number = number;
        c.handle = rti->getObjectClassHandle(className(tree, number));
        ObjectClass& kept = objectClasses[key] = c;
        objectClassOf[kept.handle] = &kept;
        return kept;
    }
    InteractionClass& interactionClass(Tree tree, int number) {
        auto const key = std::make_pair(static_cast<int>(tree), number);
        auto const found = interactionClasses.find(key);
        if (found != interactionClasses.end()) return found->second;
        InteractionClass c;
        c.tree = tree;
        c.number = number;
        c.handle = rti->getInteractionClassHandle(className(tree, number));
        InteractionClass& kept = interactionClasses[key] = c;
        interactionClassOf[kept.handle] = &kept;
        return kept;
    }
    AttributeHandle attribute(ObjectClass& c, int buffer) {
        while (static_cast<int>(c.buffers.size()) < buffer) {
            c.buffers.push_back(rti->getAttributeHandle(
                c.handle, L"buffer_" + std::to_wstring(c.buffers.size() + 1)));
        }
        return c.buffers[static_cast<std::size_t>(buffer - 1)];
    }
    ParameterHandle parameter(InteractionClass& c, int buffer) {
        while (static_cast<int>(c.buffers.size()) < buffer) {
            c.buffers.push_back(rti->getParameterHandle(
                c.handle, L"buffer_" + std::to_wstring(c.buffers.size() + 1)));
        }
        return c.buffers[static_cast<std::size_t>(buffer - 1)];
    }
    AttributeHandleSet attributes(ObjectClass& c, int count) {
        AttributeHandleSet set;
        for (int b = 1; b <= count; ++b) set.insert(attribute(c, b));
        return set;
    }

    // Callbacks of the RTI.
    using NullFederateAmbassador::discoverObjectInstance;
    using NullFederateAmbassador::receiveInteraction;
    using NullFederateAmbassador::reflectAttributeValues;
    using NullFederateAmbassador::removeObjectInstance;

    void connectionLost(std::wstring const& reason) BMFED_THROW override {
        joined = connected = false;
        events.connectionLost(narrow(reason));
    }
    void discoverObjectInstance(ObjectInstanceHandle instance, ObjectClassHandle theClass,
                                std::wstring const&) BMFED_THROW override {
        auto const found = objectClassOf.find(theClass);
        if (found == objectClassOf.end()) return events.malformed("discovery at an unused class");
        ObjectClass& c = *found->second;
        remotes[instance] = Remote{c.tree, c.number, c.discovered++};
        events.discovered(c.tree, c.number);
    }
    void discoverObjectInstance(ObjectInstanceHandle instance, ObjectClassHandle theClass,
                                std::wstring const& name, FederateHandle) BMFED_THROW override {
        discoverObjectInstance(instance, theClass, name);
    }
    void removeObjectInstance(ObjectInstanceHandle instance, VariableLengthData const&, OrderType,
                              SupplementalRemoveInfo) BMFED_THROW override {
        auto const found = remotes.find(instance);
        if (found == remotes.end()) return;
        Remote const gone = found->second;
        remotes.erase(found);
        events.removed(gone.tree, gone.number);
    }
    void reflectAttributeValues(ObjectInstanceHandle instance,
                                AttributeHandleValueMap const& values, VariableLengthData const&,
                                OrderType, TransportationType,
                                SupplementalReflectInfo) BMFED_THROW override {
        auto const found = remotes.find(instance);
        std::uint64_t stamp = 0;
        if (found == remotes.end()) return events.malformed("reflection of an unknown instance");
        if (!getStamp(values, stamp)) return events.malformed("reflection without a time stamp");
        Remote const& from = found->second;
        events.arrived(Arrival{from.tree, from.number, from.instance, stamp});
    }
    void receiveInteraction(InteractionClassHandle theClass, ParameterHandleValueMap const& values,
                            VariableLengthData const&, OrderType, TransportationType,
                            SupplementalReceiveInfo) BMFED_THROW override {
        auto const found = interactionClassOf.find(theClass);
        if (found == interactionClassOf.end()) return controlReceived(theClass, values);
        std::uint64_t stamp = 0;
        if (!getStamp(values, stamp)) return events.malformed("interaction without a time stamp");
        events.arrived(Arrival{found->second->tree, found->second->number, 0, stamp});
    }
    void controlReceived(InteractionClassHandle theClass, ParameterHandleValueMap const& values) {
        for (std::size_t k = 0; k < controlHandles.size(); ++k) {
            if (!(controlHandles[k] == theClass)) continue;
            std::vector<std::string> texts;
            for (auto const& p : controlParameters[k]) {
                auto const value = values.find(p);
                std::string text;
                if (value == values.end() || !decodeAscii(value->second, text)) {
                    return events.malformed("control interaction with a bad parameter");
                }
                texts.push_back(text);
            }
            return events.controlReceived(static_cast<Control>(k), texts);
        }
        events.malformed("interaction of an unused class");
    }
};

RtiProxy::RtiProxy(RtiEvents& events) : impl_(new Impl(events)) {}

RtiProxy::~RtiProxy() = default;

std::string RtiProxy::rtiVersion() const {
    return narrow(rti1516e::rtiName()) + " " + narrow(rti1516e::rtiVersion());
}

void RtiProxy::connect(std::string const& localSettings) {
    Watchdog::calling("connect");
    try {
        impl_->rti.reset(rti1516e::RTIambassadorFactory().createRTIambassador().release());
        impl_->rti->connect(*impl_, HLA_EVOKED, wide(localSettings));
    } catch (rti1516e::ConnectionFailed const& e) {
        throw RtiUnreachable("connect: " + narrow(e.what()));
    } catch (rti1516e::Exception const& e) {
        throw RtiError("connect: " + narrow(e.what()));
    }
    impl_->connected = true;
}

bool RtiProxy::createAndJoin(std::string const& federation, std::string const& fom,
                             std::string const& federate) {
    return service("createFederationExecution or joinFederationExecution", [&] {
        try {
            impl_->rti->createFederationExecution(wide(federation), wide(fom));
        } catch (FederationExecutionAlreadyExists const&) {
        }
        try {
            impl_->rti->joinFederationExecution(wide(federate), L"bmfed", wide(federation));
        } catch (FederationExecutionDoesNotExist const&) {
            return false;  // someone destroyed it between the two services
        }
        impl_->joined = true;
        return true;
    });
}

void RtiProxy::resign() {
    if (!impl_->joined) return;
    impl_->joined = false;
    service("resignFederationExecution",
            [&] { impl_->rti->resignFederationExecution(CANCEL_THEN_DELETE_THEN_DIVEST); });
}

bool RtiProxy::destroy(std::string const& federation) {
    return service("destroyFederationExecution", [&] {
        try {
            impl_->rti->destroyFederationExecution(wide(federation));
        } catch (FederatesCurrentlyJoined const&) {
            return false;
        } catch (FederationExecutionDoesNotExist const&) {
        }
        return true;
    });
}

void RtiProxy::disconnect() {
    if (!impl_->connected) return;
    impl_->connected = false;
    service("disconnect", [&] { impl_->rti->disconnect(); });
}

void RtiProxy::declareControl(bool master) {
    service("declaration of control interactions", [&] {
        for (auto const& c : controlClasses()) {
            auto const handle = impl_->rti->getInteractionClassHandle(c.name);
            std::vector<ParameterHandle> parameters;
            for (auto const* p : c.parameters) {
                parameters.push_back(impl_->rti->getParameterHandle(handle, p));
            }
            impl_->controlHandles.push_back(handle);
            impl_->controlParameters.push_back(parameters);
        }
        for (std::size_t k = 0; k < controlClasses().size(); ++k) {
            if (controlClasses()[k].fromMaster == master) {
                impl_->rti->publishInteractionClass(impl_->controlHandles[k]);
            } else {
                impl_->rti->subscribeInteractionClass(impl_->controlHandles[k]);
            }
        }
    });
}

bool RtiProxy::canTalk() const {
    return impl_->joined && impl_->controlHandles.size() == controlClasses().size();
}

void RtiProxy::sendControl(Control kind, std::vector<std::string> const& values) {
    auto const k = static_cast<std::size_t>(kind);
    ParameterHandleValueMap parameters;
    for (std::size_t i = 0; i < values.size(); ++i) {
        std::string const encoded = encodeAscii(values[i]);
        parameters[impl_->controlParameters[k][i]].setData(encoded.data(), encoded.size());
    }
    service("sendInteraction", [&] {
        impl_->rti->sendInteraction(impl_->controlHandles[k], parameters, impl_->noTag);
    });
}

void RtiProxy::publish(ClassUse const& use) {
    service("publish", [&] {
        if (isObject(use.tree)) {
            ObjectClass& c = impl_->objectClass(use.tree, use.number);
            impl_->rti->publishObjectClassAttributes(c.handle, impl_->attributes(c, use.buffers));
        } else {
            impl_->rti->publishInteractionClass(
                impl_->interactionClass(use.tree, use.number).handle);
        }
    });
    impl_->published.push_back(use);
}

void RtiProxy::subscribe(ClassUse const& use) {
    service("subscribe", [&] {
        if (isObject(use.tree)) {
            ObjectClass& c = impl_->objectClass(use.tree, use.number);
            c.discovered = 0;
            impl_->rti->subscribeObjectClassAttributes(c.handle, impl_->attributes(c, use.buffers));
        } else {
            impl_->rti->subscribeInteractionClass(
                impl_->interactionClass(use.tree, use.number).handle);
        }
    });
    impl_->subscribed.push_back(use);
}

void RtiProxy::withdraw() {
    service("withdrawal after a test", [&] {
        for (auto const& item : impl_->items) {
            if (item->object) impl_->rti->deleteObjectInstance(item->instance, impl_->noTag);
        }
        for (auto const& use : impl_->published) {
            if (isObject(use.tree)) {
                impl_->rti->unpublishObjectClass(impl_->objectClass(use.tree, use.number).handle);
            } else {
                impl_->rti->unpublishInteractionClass(
                    impl_->interactionClass(use.tree, use.number).handle);
            }
        }
        for (auto const& use : impl_->subscribed) {
            if (isObject(use.tree)) {
                impl_->rti->unsubscribeObjectClass(impl_->objectClass(use.tree, use.number).handle);
            } else {
                impl_->rti->unsubscribeInteractionClass(
                    impl_->interactionClass(use.tree, use.number).handle);
            }
        }
    });
    impl_->items.clear();
    impl_->published.clear();
    impl_->subscribed.clear();
}

std::size_t RtiProxy::addItem(ClassUse const& use, std::uint64_t bufferBytes) {
    std::unique_ptr<Item> item(new Item);
    auto const buffers = static_cast<std::size_t>(use.buffers);
    item->object = isObject(use.tree);
    item->stride = static_cast<std::size_t>(bufferBytes);
    item->storage.assign(buffers * item->stride, 0x5a);
    service("preparation of an instance", [&] {
        for (std::size_t b = 0; b < buffers; ++b) {
            int const number = static_cast<int>(b) + 1;
            if (item->object) {
                ObjectClass& c = impl_->objectClass(use.tree, use.number);
                item->values.push_back(&item->attributes[impl_->attribute(c, number)]);
            } else {
                InteractionClass& c = impl_->interactionClass(use.tree, use.number);
                item->values.push_back(&item->parameters[impl_->parameter(c, number)]);
                item->interaction = c.handle;
            }
        }
        if (item->object) {
            item->instance =
                impl_->rti->registerObjectInstance(impl_->objectClass(use.tree, use.number).handle);
        }
    });
    impl_->items.push_back(std::move(item));
    return impl_->items.size() - 1;
}

void RtiProxy::queue(std::size_t index, std::uint64_t stamp) {
    Item& item = *impl_->items[index];
    unsigned char* at = item.storage.data();
    for (VariableLengthData* value : item.values) {
        putStamp(at, stamp);
        value->setDataPointer(at, item.stride);
        at += item.stride;
    }
    if (item.object) {
        service("updateAttributeValues", [&] {
            impl_->rti->updateAttributeValues(item.instance, item.attributes, impl_->noTag);
        });
    } else {
        service("sendInteraction", [&] {
            impl_->rti->sendInteraction(item.interaction, item.parameters, impl_->noTag);
        });
    }
}

void RtiProxy::flush() { tick(0, 0); }

void RtiProxy::tick(double minSeconds, double maxSeconds) {
    service("evokeMultipleCallbacks",
            [&] { impl_->rti->evokeMultipleCallbacks(minSeconds, maxSeconds); });
}

void RtiProxy::wait(double maxSeconds) {
    service("evokeCallback", [&] { impl_->rti->evokeCallback(maxSeconds); });
}

}  // namespace bmfed
