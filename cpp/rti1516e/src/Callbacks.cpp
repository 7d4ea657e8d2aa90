// Callbacks that are several functions of the federate ambassador, and those that bring values.
#include "Callbacks.h"

#include "Arguments.h"
#include "VariableLengthDataImplementation.h"

namespace starling {

using namespace rti1516e;

static inline void *pointer(StarlingBytes bytes) { return const_cast<uint8_t *>(bytes.data); }

// Within the callback that it is for: a call takes as long as a value.
template <class Handle>
__attribute__((always_inline)) inline typename ValueMap<Handle>::Map const &
ValueMap<Handle>::fill(StarlingValue const *values, size_t count) {
    StarlingValue const *const end = values + count;
    if (places_.size() != count) {
        fillAnew(values, count);
        return map_;
    }
    auto place = places_.begin();
    for (StarlingValue const *value = values; value != end; ++value, ++place) {
        if (place->first != value->handle) {
            fillAnew(values, count);
            break;
        }
        VariableLengthDataFriend::borrow(*place->second, pointer(value->value), value->value.size);
    }
    return map_;
}

template <class Handle> void ValueMap<Handle>::fillAnew(StarlingValue const *values, size_t count) {
    map_.clear();
    places_.clear();
    for (size_t i = 0; i < count; ++i) {
        VariableLengthData &value = map_[make<Handle>(values[i].handle)];
        VariableLengthDataFriend::borrow(value, pointer(values[i].value), values[i].value.size);
        places_.emplace_back(values[i].handle, &value);
    }
}

VariableLengthData const &Callbacks::tag(StarlingBytes bytes) {
    VariableLengthDataFriend::borrow(tag_, pointer(bytes), bytes.size);
    return tag_;
}

template <class Info>
__attribute__((always_inline)) inline Info Callbacks::producedBy(uint32_t producer) {
    return producer == 0 ? Info() : Info(make<FederateHandle>(producer));
}

template <class Info>
__attribute__((always_inline)) inline Info Callbacks::sentBy(uint32_t producer,
                                                             StarlingRegions const *regions) {
    return regions ? sentWith<Info>(producer, *regions) : producedBy<Info>(producer);
}

template <class Info>
__attribute__((noinline)) Info Callbacks::sentWith(uint32_t producer,
                                                   StarlingRegions const &regions) {
    RegionHandleSet const set = handles<RegionHandle>(regions.data, regions.size);
    return producer == 0 ? Info(set) : Info(make<FederateHandle>(producer), set);
}

void Callbacks::tellWhatWasThrown() {
    try {
        throw;
    } catch (Exception const &e) {
        starling_callback_threw(Argument(e.what()));
    } catch (std::exception const &e) {
        std::string const what = std::string("std::exception: ") + e.what();
        starling_callback_threw({reinterpret_cast<uint8_t const *>(what.data()), what.size()});
    } catch (...) {
        starling_callback_threw(Argument(L"something that is no exception"));
    }
}

StarlingCallbacks Callbacks::table() {
    StarlingCallbacks t = {};
    t.size = sizeof t;
    t.context = this;
    t.release = [](void *callbacks) { delete static_cast<Callbacks *>(callbacks); };
    fillIn(t);
    return t;
}

void Callbacks::reportFederationExecutions(StarlingReportFederationExecutions const &e) {
    FederationExecutionInformationVector report;
    for (size_t i = 0; i < e.list_count; ++i)
        report.emplace_back(wide(e.list[i].name), wide(e.list[i].time));
    federate_.reportFederationExecutions(report);
}

void Callbacks::synchronizationPointRegistered(StarlingSynchronizationPointRegistered const &e) {
    if (e.failure_happened)
        federate_.synchronizationPointRegistrationFailed(
            wide(e.label), static_cast<SynchronizationPointFailureReason>(e.failure));
    else
        federate_.synchronizationPointRegistrationSucceeded(wide(e.label));
}

void Callbacks::initiateFederateSave(StarlingInitiateFederateSave const &e) {
    if (e.time.kind == 2)
        federate_.initiateFederateSave(wide(e.label));
    else
        federate_.initiateFederateSave(wide(e.label), *madeTime(e.time));
}

void Callbacks::federationSaveStatusResponse(StarlingFederationSaveStatusResponse const &e) {
    FederateHandleSaveStatusPairVector response;
    for (size_t i = 0; i < e.list_count; ++i)
        response.emplace_back(make<FederateHandle>(e.list[i].federate),
                              static_cast<SaveStatus>(e.list[i].status));
    federate_.federationSaveStatusResponse(response);
}

void Callbacks::restoreRequested(StarlingRestoreRequested const &e) {
    if (e.succeeded)
        federate_.requestFederationRestoreSucceeded(wide(e.label));
    else
        federate_.requestFederationRestoreFailed(wide(e.label));
}

void Callbacks::federationRestoreStatusResponse(StarlingFederationRestoreStatusResponse const &e) {
    FederateRestoreStatusVector response;
    for (size_t i = 0; i < e.list_count; ++i)
        response.emplace_back(make<FederateHandle>(e.list[i].before),
                              make<FederateHandle>(e.list[i].after),
                              static_cast<RestoreStatus>(e.list[i].status));
    federate_.federationRestoreStatusResponse(response);
}

void Callbacks::namesReserved(StarlingNamesReserved const &e) {
    std::set<std::wstring> names;
    for (size_t i = 0; i < e.names_count; ++i)
        names.insert(wide(e.names[i]));
    if (e.multiple && e.succeeded)
        federate_.multipleObjectInstanceNameReservationSucceeded(names);
    else if (e.multiple)
        federate_.multipleObjectInstanceNameReservationFailed(names);
    else if (e.succeeded)
        federate_.objectInstanceNameReservationSucceeded(*names.begin());
    else
        federate_.objectInstanceNameReservationFailed(*names.begin());
}

void Callbacks::discoverObjectInstance(StarlingDiscoverObjectInstance const &e) {
    ObjectInstanceHandle const instance = make<ObjectInstanceHandle>(e.instance);
    ObjectClassHandle const class_ = make<ObjectClassHandle>(e.class_);
    if (e.producer == 0)
        federate_.discoverObjectInstance(instance, class_, wide(e.name));
    else
        federate_.discoverObjectInstance(instance, class_, wide(e.name),
                                         make<FederateHandle>(e.producer));
}

/// Calls `tell` with what comes before the producer: nothing, the time, or the time and the message
/// retraction handle.
template <class Tell>
void Callbacks::withTime(StarlingMessageTime const *message, Tell const &tell) {
    if (!message)
        return tell(RECEIVE);
    OrderType const sent = static_cast<OrderType>(message->sent_order);
    LogicalTime const &stamp = time_.set(message->time);
    OrderType const received = static_cast<OrderType>(message->received_order);
    if (message->retraction == 0)
        tell(sent, stamp, received);
    else
        tell(sent, stamp, received, make<MessageRetractionHandle>(message->retraction));
}

// Without time and regions, as most come, by a way of its own: what the others need would be got
// ready for it, too.
void Callbacks::reflectAttributeValues(StarlingReflectAttributeValues const &e) {
    if (e.time || e.regions)
        return reflectWithMore(e);
    federate_.reflectAttributeValues(make<ObjectInstanceHandle>(e.instance),
                                     attributes_.fill(e.values, e.values_count), tag(e.tag),
                                     RECEIVE, static_cast<TransportationType>(e.transportation),
                                     producedBy<SupplementalReflectInfo>(e.producer));
}

void Callbacks::reflectWithMore(StarlingReflectAttributeValues const &e) {
    withTime(e.time, [&](OrderType sent, auto const &...time) {
        federate_.reflectAttributeValues(
            make<ObjectInstanceHandle>(e.instance), attributes_.fill(e.values, e.values_count),
            tag(e.tag), sent, static_cast<TransportationType>(e.transportation), time...,
            sentBy<SupplementalReflectInfo>(e.producer, e.regions));
    });
}

void Callbacks::receiveInteraction(StarlingReceiveInteraction const &e) {
    if (e.time || e.regions)
        return receiveWithMore(e);
    federate_.receiveInteraction(make<InteractionClassHandle>(e.class_),
                                 parameters_.fill(e.values, e.values_count), tag(e.tag), RECEIVE,
                                 static_cast<TransportationType>(e.transportation),
                                 producedBy<SupplementalReceiveInfo>(e.producer));
}

void Callbacks::receiveWithMore(StarlingReceiveInteraction const &e) {
    withTime(e.time, [&](OrderType sent, auto const &...time) {
        federate_.receiveInteraction(make<InteractionClassHandle>(e.class_),
                                     parameters_.fill(e.values, e.values_count), tag(e.tag), sent,
                                     static_cast<TransportationType>(e.transportation), time...,
                                     sentBy<SupplementalReceiveInfo>(e.producer, e.regions));
    });
}

void Callbacks::removeObjectInstance(StarlingRemoveObjectInstance const &e) {
    withTime(e.time, [&](OrderType sent, auto const &...time) {
        federate_.removeObjectInstance(make<ObjectInstanceHandle>(e.instance), tag(e.tag), sent,
                                       time..., producedBy<SupplementalRemoveInfo>(e.producer));
    });
}

void Callbacks::turnUpdatesOnForObjectInstance(StarlingTurnUpdatesOnForObjectInstance const &e) {
    ObjectInstanceHandle const instance = make<ObjectInstanceHandle>(e.instance);
    AttributeHandleSet const set = handles<AttributeHandle>(e.attributes, e.attributes_count);
    if (e.rate.size == 0)
        federate_.turnUpdatesOnForObjectInstance(instance, set);
    else
        federate_.turnUpdatesOnForObjectInstance(instance, set, wide(e.rate));
}

void Callbacks::informAttributeOwnership(StarlingInformAttributeOwnership const &e) {
    ObjectInstanceHandle const instance = make<ObjectInstanceHandle>(e.instance);
    for (size_t i = 0; i < e.attributes_count; ++i) {
        AttributeHandle const attribute = make<AttributeHandle>(e.attributes[i]);
        if (e.owner_kind == 0)
            federate_.attributeIsNotOwned(instance, attribute);
        else if (e.owner_kind == 1)
            federate_.informAttributeOwnership(instance, attribute, make<FederateHandle>(e.owner));
        else
            federate_.attributeIsOwnedByRTI(instance, attribute);
    }
}

}
