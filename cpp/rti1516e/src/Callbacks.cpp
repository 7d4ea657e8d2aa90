#include "Callbacks.h"

#include "HandleImplementation.h"
#include "Text.h"

namespace starling {

using namespace rti1516e;

namespace {

template <class Handle> struct Make;
template <> struct Make<AttributeHandle> : AttributeHandleFriend {};
template <> struct Make<ParameterHandle> : ParameterHandleFriend {};

AttributeHandleSet attributeSet(uint32_t const *attributes, size_t count) {
    AttributeHandleSet set;
    for (size_t i = 0; i < count; ++i)
        set.insert(AttributeHandleFriend::make(attributes[i]));
    return set;
}

void *pointer(StarlingBytes bytes) { return const_cast<uint8_t *>(bytes.data); }

}

template <class Handle>
typename ValueMap<Handle>::Map const &ValueMap<Handle>::fill(StarlingValue const *values,
                                                             size_t count) {
    bool same = places_.size() == count && map_.size() == count;
    for (size_t i = 0; same && i < count; ++i)
        same = places_[i].first == values[i].handle;
    if (!same) {
        map_.clear();
        places_.clear();
        for (size_t i = 0; i < count; ++i)
            places_.emplace_back(values[i].handle, &map_[Make<Handle>::make(values[i].handle)]);
    }
    for (size_t i = 0; i < count; ++i)
        places_[i].second->setDataPointer(pointer(values[i].value), values[i].value.size);
    return map_;
}

VariableLengthData const &Callbacks::tag(StarlingBytes bytes) {
    tag_.setDataPointer(pointer(bytes), bytes.size);
    return tag_;
}

template <class Info> Info Callbacks::producedBy(uint32_t producer) {
    return producer == 0 ? Info() : Info(FederateHandleFriend::make(producer));
}

template <class Info> Info Callbacks::sentBy(uint32_t producer, StarlingRegions const *regions) {
    if (!regions)
        return producedBy<Info>(producer);
    RegionHandleSet set;
    for (size_t i = 0; i < regions->size; ++i)
        set.insert(RegionHandleFriend::make(regions->data[i]));
    return producer == 0 ? Info(set) : Info(FederateHandleFriend::make(producer), set);
}

template <class Call> bool Callbacks::guarded(void *context, Call call) {
    try {
        call(*static_cast<Callbacks *>(context));
        return true;
    } catch (Exception const &e) {
        starling_callback_threw(Argument(e.what()));
    } catch (std::exception const &e) {
        std::string const what = std::string("std::exception: ") + e.what();
        starling_callback_threw({reinterpret_cast<uint8_t const *>(what.data()), what.size()});
    } catch (...) {
        starling_callback_threw(Argument(L"something that is no exception"));
    }
    return false;
}

StarlingCallbacks Callbacks::table() {
    StarlingCallbacks t = {};
    t.size = sizeof t;
    t.context = this;
    t.connection_lost = [](void *context, StarlingText fault) {
        return guarded(context, [&](Callbacks &c) { c.federate_.connectionLost(wide(fault)); });
    };
    t.report_federation_executions = [](void *context, StarlingFederation const *list,
                                        size_t count) {
        return guarded(context, [&](Callbacks &c) {
            FederationExecutionInformationVector report;
            for (size_t i = 0; i < count; ++i)
                report.emplace_back(wide(list[i].name), wide(list[i].time));
            c.federate_.reportFederationExecutions(report);
        });
    };
    t.synchronization_point_registered = [](void *context, StarlingText label, bool succeeded,
                                            uint32_t failure) {
        return guarded(context, [&](Callbacks &c) {
            if (succeeded)
                c.federate_.synchronizationPointRegistrationSucceeded(wide(label));
            else
                c.federate_.synchronizationPointRegistrationFailed(
                    wide(label), static_cast<SynchronizationPointFailureReason>(failure));
        });
    };
    t.announce_synchronization_point = [](void *context, StarlingText label, StarlingBytes tag) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.announceSynchronizationPoint(wide(label), c.tag(tag));
        });
    };
    t.federation_synchronized = [](void *context, StarlingText label, uint32_t const *failed,
                                   size_t count) {
        return guarded(context, [&](Callbacks &c) {
            FederateHandleSet set;
            for (size_t i = 0; i < count; ++i)
                set.insert(FederateHandleFriend::make(failed[i]));
            c.federate_.federationSynchronized(wide(label), set);
        });
    };
    t.registration_for_object_class = [](void *context, uint32_t class_, bool wanted) {
        return guarded(context, [&](Callbacks &c) {
            ObjectClassHandle const handle = ObjectClassHandleFriend::make(class_);
            if (wanted)
                c.federate_.startRegistrationForObjectClass(handle);
            else
                c.federate_.stopRegistrationForObjectClass(handle);
        });
    };
    t.turn_interactions = [](void *context, uint32_t class_, bool wanted) {
        return guarded(context, [&](Callbacks &c) {
            InteractionClassHandle const handle = InteractionClassHandleFriend::make(class_);
            if (wanted)
                c.federate_.turnInteractionsOn(handle);
            else
                c.federate_.turnInteractionsOff(handle);
        });
    };
    t.attributes_scope = [](void *context, uint64_t instance, uint32_t const *attributes,
                            size_t count, bool inside) {
        return guarded(context, [&](Callbacks &c) {
            ObjectInstanceHandle const object = ObjectInstanceHandleFriend::make(instance);
            AttributeHandleSet const set = attributeSet(attributes, count);
            if (inside)
                c.federate_.attributesInScope(object, set);
            else
                c.federate_.attributesOutOfScope(object, set);
        });
    };
    t.turn_updates = [](void *context, uint64_t instance, uint32_t const *attributes, size_t count,
                        bool wanted, StarlingText rate) {
        return guarded(context, [&](Callbacks &c) {
            ObjectInstanceHandle const object = ObjectInstanceHandleFriend::make(instance);
            AttributeHandleSet const set = attributeSet(attributes, count);
            if (!wanted)
                c.federate_.turnUpdatesOffForObjectInstance(object, set);
            else if (rate.size == 0)
                c.federate_.turnUpdatesOnForObjectInstance(object, set);
            else
                c.federate_.turnUpdatesOnForObjectInstance(object, set, wide(rate));
        });
    };
    t.confirm_attribute_transportation_type_change = [](void *context, uint64_t instance,
                                                        uint32_t const *attributes, size_t count,
                                                        uint32_t transportation) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.confirmAttributeTransportationTypeChange(
                ObjectInstanceHandleFriend::make(instance), attributeSet(attributes, count),
                static_cast<TransportationType>(transportation));
        });
    };
    t.report_attribute_transportation_type = [](void *context, uint64_t instance,
                                                uint32_t attribute, uint32_t transportation) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.reportAttributeTransportationType(
                ObjectInstanceHandleFriend::make(instance), AttributeHandleFriend::make(attribute),
                static_cast<TransportationType>(transportation));
        });
    };
    t.confirm_interaction_transportation_type_change = [](void *context, uint32_t class_,
                                                          uint32_t transportation) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.confirmInteractionTransportationTypeChange(
                InteractionClassHandleFriend::make(class_),
                static_cast<TransportationType>(transportation));
        });
    };
    t.report_interaction_transportation_type = [](void *context, uint32_t federate, uint32_t class_,
                                                  uint32_t transportation) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.reportInteractionTransportationType(
                FederateHandleFriend::make(federate), InteractionClassHandleFriend::make(class_),
                static_cast<TransportationType>(transportation));
        });
    };
    t.object_instance_name_reserved = [](void *context, StarlingText name, bool succeeded) {
        return guarded(context, [&](Callbacks &c) {
            if (succeeded)
                c.federate_.objectInstanceNameReservationSucceeded(wide(name));
            else
                c.federate_.objectInstanceNameReservationFailed(wide(name));
        });
    };
    t.multiple_object_instance_names_reserved = [](void *context, StarlingText const *list,
                                                   size_t count, bool succeeded) {
        return guarded(context, [&](Callbacks &c) {
            std::set<std::wstring> names;
            for (size_t i = 0; i < count; ++i)
                names.insert(wide(list[i]));
            if (succeeded)
                c.federate_.multipleObjectInstanceNameReservationSucceeded(names);
            else
                c.federate_.multipleObjectInstanceNameReservationFailed(names);
        });
    };
    t.discover_object_instance = [](void *context, uint64_t instance, uint32_t class_,
                                    StarlingText name, uint32_t producer) {
        return guarded(context, [&](Callbacks &c) {
            ObjectInstanceHandle const object = ObjectInstanceHandleFriend::make(instance);
            ObjectClassHandle const kind = ObjectClassHandleFriend::make(class_);
            if (producer == 0)
                c.federate_.discoverObjectInstance(object, kind, wide(name));
            else
                c.federate_.discoverObjectInstance(object, kind, wide(name),
                                                   FederateHandleFriend::make(producer));
        });
    };
    t.reflect_attribute_values = [](void *context, uint64_t instance, StarlingValue const *values,
                                    size_t count, StarlingBytes tag, uint32_t transportation,
                                    uint32_t producer, StarlingRegions const *regions) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.reflectAttributeValues(
                ObjectInstanceHandleFriend::make(instance), c.attributes_.fill(values, count),
                c.tag(tag), RECEIVE, static_cast<TransportationType>(transportation),
                sentBy<SupplementalReflectInfo>(producer, regions));
        });
    };
    t.receive_interaction = [](void *context, uint32_t class_, StarlingValue const *values,
                               size_t count, StarlingBytes tag, uint32_t transportation,
                               uint32_t producer, StarlingRegions const *regions) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.receiveInteraction(InteractionClassHandleFriend::make(class_),
                                           c.parameters_.fill(values, count), c.tag(tag), RECEIVE,
                                           static_cast<TransportationType>(transportation),
                                           sentBy<SupplementalReceiveInfo>(producer, regions));
        });
    };
    t.remove_object_instance = [](void *context, uint64_t instance, StarlingBytes tag,
                                  uint32_t producer) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.removeObjectInstance(ObjectInstanceHandleFriend::make(instance), c.tag(tag),
                                             RECEIVE, producedBy<SupplementalRemoveInfo>(producer));
        });
    };
    t.provide_attribute_value_update = [](void *context, uint64_t instance,
                                          uint32_t const *attributes, size_t count,
                                          StarlingBytes tag) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.provideAttributeValueUpdate(ObjectInstanceHandleFriend::make(instance),
                                                    attributeSet(attributes, count), c.tag(tag));
        });
    };
    t.request_attribute_ownership_assumption = [](void *context, uint64_t instance,
                                                  uint32_t const *attributes, size_t count,
                                                  StarlingBytes tag) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.requestAttributeOwnershipAssumption(
                ObjectInstanceHandleFriend::make(instance), attributeSet(attributes, count),
                c.tag(tag));
        });
    };
    t.request_divestiture_confirmation = [](void *context, uint64_t instance,
                                            uint32_t const *attributes, size_t count,
                                            StarlingBytes) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.requestDivestitureConfirmation(ObjectInstanceHandleFriend::make(instance),
                                                       attributeSet(attributes, count));
        });
    };
    t.attribute_ownership_acquisition_notification = [](void *context, uint64_t instance,
                                                        uint32_t const *attributes, size_t count,
                                                        StarlingBytes tag) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.attributeOwnershipAcquisitionNotification(
                ObjectInstanceHandleFriend::make(instance), attributeSet(attributes, count),
                c.tag(tag));
        });
    };
    t.attribute_ownership_unavailable = [](void *context, uint64_t instance,
                                           uint32_t const *attributes, size_t count,
                                           StarlingBytes) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.attributeOwnershipUnavailable(ObjectInstanceHandleFriend::make(instance),
                                                      attributeSet(attributes, count));
        });
    };
    t.request_attribute_ownership_release = [](void *context, uint64_t instance,
                                               uint32_t const *attributes, size_t count,
                                               StarlingBytes tag) {
        return guarded(context, [&](Callbacks &c) {
            c.federate_.requestAttributeOwnershipRelease(ObjectInstanceHandleFriend::make(instance),
                                                         attributeSet(attributes, count),
                                                         c.tag(tag));
        });
    };
    t.confirm_attribute_ownership_acquisition_cancellation =
        [](void *context, uint64_t instance, uint32_t const *attributes, size_t count) {
            return guarded(context, [&](Callbacks &c) {
                c.federate_.confirmAttributeOwnershipAcquisitionCancellation(
                    ObjectInstanceHandleFriend::make(instance), attributeSet(attributes, count));
            });
        };
    t.inform_attribute_ownership = [](void *context, uint64_t instance, uint32_t const *attributes,
                                      size_t count, uint32_t by, uint32_t owner) {
        return guarded(context, [&](Callbacks &c) {
            ObjectInstanceHandle const object = ObjectInstanceHandleFriend::make(instance);
            for (AttributeHandle const &attribute : attributeSet(attributes, count)) {
                if (by == 0)
                    c.federate_.attributeIsNotOwned(object, attribute);
                else if (by == 1)
                    c.federate_.informAttributeOwnership(object, attribute,
                                                         FederateHandleFriend::make(owner));
                else
                    c.federate_.attributeIsOwnedByRTI(object, attribute);
            }
        });
    };
    return t;
}

}
