//! Callbacks under the names of the 2010 C++ API. One of the core's may be several there.

use crate::names::{Names, bytes, transportation};
use crate::value::Value;
use starling_core::{
    Callback, FederateHandle, ObjectClassHandle, ObjectInstanceHandle, Owner, RegionHandle,
    SynchronizationPointFailure,
};

/// A callback's name and arguments.
pub(crate) type Event = (&'static str, Vec<Value>);

/// `class_of` tells the class at which a federate knows, or knew, an instance.
pub(crate) fn events(
    callback: &Callback,
    mut names: Names<'_>,
    class_of: impl FnOnce(ObjectInstanceHandle) -> Option<ObjectClassHandle>,
) -> Vec<Event> {
    if let Some(instance) = instance_of(callback) {
        names.object_class = class_of(instance);
    }
    let n = &names;
    let text = |text: &String| Value::Text(text.clone());
    let event = match callback {
        Callback::ConnectionLost { fault } => ("connectionLost", vec![text(fault)]),
        Callback::ReportFederationExecutions(list) => {
            let pair = |name: &String, time| Value::Pair(name.clone(), Box::new(text(time)));
            let list = list
                .iter()
                .map(|f| pair(&f.name, &f.time_implementation))
                .collect();
            ("reportFederationExecutions", vec![Value::Set(list)])
        }
        Callback::SynchronizationPointRegistered { label, failure } => match failure {
            None => (
                "synchronizationPointRegistrationSucceeded",
                vec![text(label)],
            ),
            Some(failure) => {
                let why = match failure {
                    SynchronizationPointFailure::LabelNotUnique => {
                        "SYNCHRONIZATION_POINT_LABEL_NOT_UNIQUE"
                    }
                    SynchronizationPointFailure::SetMemberNotJoined => {
                        "SYNCHRONIZATION_SET_MEMBER_NOT_JOINED"
                    }
                };
                let why = Value::word(why);
                (
                    "synchronizationPointRegistrationFailed",
                    vec![text(label), why],
                )
            }
        },
        Callback::AnnounceSynchronizationPoint { label, tag } => (
            "announceSynchronizationPoint",
            vec![text(label), bytes(tag)],
        ),
        Callback::FederationSynchronized { label, failed } => {
            let failed = failed.iter().map(|f| n.federate(*f)).collect();
            (
                "federationSynchronized",
                vec![text(label), Value::Set(failed)],
            )
        }
        Callback::StartRegistrationForObjectClass(class) => (
            "startRegistrationForObjectClass",
            vec![n.object_class(*class)],
        ),
        Callback::StopRegistrationForObjectClass(class) => (
            "stopRegistrationForObjectClass",
            vec![n.object_class(*class)],
        ),
        Callback::TurnInteractionsOn(class) => {
            ("turnInteractionsOn", vec![n.interaction_class(*class)])
        }
        Callback::TurnInteractionsOff(class) => {
            ("turnInteractionsOff", vec![n.interaction_class(*class)])
        }
        Callback::NamesReserved {
            names,
            multiple,
            succeeded,
        } => {
            let name = match (multiple, succeeded) {
                (false, true) => "objectInstanceNameReservationSucceeded",
                (false, false) => "objectInstanceNameReservationFailed",
                (true, true) => "multipleObjectInstanceNameReservationSucceeded",
                (true, false) => "multipleObjectInstanceNameReservationFailed",
            };
            let names: Vec<Value> = names.iter().map(text).collect();
            let arguments = match multiple {
                true => vec![Value::Set(names)],
                false => names,
            };
            (name, arguments)
        }
        Callback::DiscoverObjectInstance {
            instance,
            class,
            name,
            producer,
        } => {
            let mut arguments = vec![n.instance(*instance), n.object_class(*class), text(name)];
            arguments.extend(sent_by(n, *producer, None));
            ("discoverObjectInstance", arguments)
        }
        Callback::ReflectAttributeValues {
            instance,
            values,
            tag,
            transportation: how,
            producer,
            regions,
        } => {
            let values = values.iter().map(|(a, v)| pair(n.attribute(a), v));
            let values = Value::Set(values.collect());
            let mut arguments = vec![n.instance(*instance), values, bytes(tag), receive_order()];
            arguments.push(transportation(*how));
            arguments.extend(sent_by(n, *producer, regions.as_deref()));
            ("reflectAttributeValues", arguments)
        }
        Callback::ReceiveInteraction {
            class,
            values,
            tag,
            transportation: how,
            producer,
            regions,
        } => {
            let of_class = Names {
                interaction_class: Some(*class),
                ..names
            };
            let n = &of_class;
            let values = values.iter().map(|(p, v)| pair(n.parameter(p), v));
            let values = Value::Set(values.collect());
            let class = n.interaction_class(*class);
            let mut arguments = vec![class, values, bytes(tag), receive_order()];
            arguments.push(transportation(*how));
            arguments.extend(sent_by(n, *producer, regions.as_deref()));
            ("receiveInteraction", arguments)
        }
        Callback::RemoveObjectInstance {
            instance,
            tag,
            producer,
        } => {
            let mut arguments = vec![n.instance(*instance), bytes(tag), receive_order()];
            arguments.extend(sent_by(n, *producer, None));
            ("removeObjectInstance", arguments)
        }
        Callback::ConfirmAttributeTransportationTypeChange {
            instance,
            attributes,
            transportation: how,
        } => (
            "confirmAttributeTransportationTypeChange",
            vec![
                n.instance(*instance),
                n.attributes(attributes),
                transportation(*how),
            ],
        ),
        Callback::ReportAttributeTransportationType {
            instance,
            attribute,
            transportation: how,
        } => (
            "reportAttributeTransportationType",
            vec![
                n.instance(*instance),
                n.attribute(*attribute),
                transportation(*how),
            ],
        ),
        Callback::ConfirmInteractionTransportationTypeChange {
            class,
            transportation: how,
        } => (
            "confirmInteractionTransportationTypeChange",
            vec![n.interaction_class(*class), transportation(*how)],
        ),
        Callback::ReportInteractionTransportationType {
            federate,
            class,
            transportation: how,
        } => {
            let (who, class) = (n.federate(*federate), n.interaction_class(*class));
            (
                "reportInteractionTransportationType",
                vec![who, class, transportation(*how)],
            )
        }
        Callback::AttributesInScope {
            instance,
            attributes,
        } => (
            "attributesInScope",
            vec![n.instance(*instance), n.attributes(attributes)],
        ),
        Callback::AttributesOutOfScope {
            instance,
            attributes,
        } => (
            "attributesOutOfScope",
            vec![n.instance(*instance), n.attributes(attributes)],
        ),
        Callback::TurnUpdatesOnForObjectInstance {
            instance,
            attributes,
            rate,
        } => {
            let mut arguments = vec![n.instance(*instance), n.attributes(attributes)];
            if !rate.is_empty() {
                arguments.push(text(rate));
            }
            ("turnUpdatesOnForObjectInstance", arguments)
        }
        Callback::TurnUpdatesOffForObjectInstance {
            instance,
            attributes,
        } => (
            "turnUpdatesOffForObjectInstance",
            vec![n.instance(*instance), n.attributes(attributes)],
        ),
        Callback::ProvideAttributeValueUpdate {
            instance,
            attributes,
            tag,
        } => (
            "provideAttributeValueUpdate",
            vec![n.instance(*instance), n.attributes(attributes), bytes(tag)],
        ),
        Callback::RequestAttributeOwnershipAssumption {
            instance,
            attributes,
            tag,
        } => (
            "requestAttributeOwnershipAssumption",
            vec![n.instance(*instance), n.attributes(attributes), bytes(tag)],
        ),
        // 2010 has no tag in the next and in Attribute Ownership Unavailable.
        Callback::RequestDivestitureConfirmation {
            instance,
            attributes,
            ..
        } => (
            "requestDivestitureConfirmation",
            vec![n.instance(*instance), n.attributes(attributes)],
        ),
        Callback::AttributeOwnershipAcquisitionNotification {
            instance,
            attributes,
            tag,
        } => (
            "attributeOwnershipAcquisitionNotification",
            vec![n.instance(*instance), n.attributes(attributes), bytes(tag)],
        ),
        Callback::AttributeOwnershipUnavailable {
            instance,
            attributes,
            ..
        } => (
            "attributeOwnershipUnavailable",
            vec![n.instance(*instance), n.attributes(attributes)],
        ),
        Callback::RequestAttributeOwnershipRelease {
            instance,
            attributes,
            tag,
        } => (
            "requestAttributeOwnershipRelease",
            vec![n.instance(*instance), n.attributes(attributes), bytes(tag)],
        ),
        Callback::ConfirmAttributeOwnershipAcquisitionCancellation {
            instance,
            attributes,
        } => (
            "confirmAttributeOwnershipAcquisitionCancellation",
            vec![n.instance(*instance), n.attributes(attributes)],
        ),
        Callback::InformAttributeOwnership {
            instance,
            attributes,
            owner,
        } => {
            let name = match *owner {
                None => "attributeIsNotOwned",
                Some(Owner::Rti) => "attributeIsOwnedByRTI",
                Some(Owner::Federate(_)) => "informAttributeOwnership",
            };
            let owner = owner.and_then(Owner::federate);
            let of_one = |attribute| {
                let mut arguments = vec![n.instance(*instance), n.attribute(attribute)];
                arguments.extend(owner.map(|o| n.federate(o)));
                (name, arguments)
            };
            return attributes.iter().map(|a| of_one(*a)).collect();
        }
    };
    vec![event]
}

fn receive_order() -> Value {
    Value::word("RECEIVE")
}

fn pair(handle: Value, value: &[u8]) -> Value {
    Value::Pair(
        handle.text().unwrap_or_default().to_owned(),
        Box::new(bytes(value)),
    )
}

/// The supplemental information, as far as the FDD's switches let it through.
fn sent_by(
    n: &Names<'_>,
    producer: Option<FederateHandle>,
    regions: Option<&[RegionHandle]>,
) -> Vec<Value> {
    let mut list = Vec::new();
    if let Some(producer) = producer {
        list.push(Value::Pair(
            "producer".into(),
            Box::new(n.federate(producer)),
        ));
    }
    if let Some(regions) = regions {
        let regions = Value::Set(regions.iter().map(|r| n.region(*r)).collect());
        list.push(Value::Pair("regions".into(), Box::new(regions)));
    }
    list
}

fn instance_of(callback: &Callback) -> Option<ObjectInstanceHandle> {
    match callback {
        Callback::DiscoverObjectInstance { instance, .. }
        | Callback::ReflectAttributeValues { instance, .. }
        | Callback::RemoveObjectInstance { instance, .. }
        | Callback::ConfirmAttributeTransportationTypeChange { instance, .. }
        | Callback::ReportAttributeTransportationType { instance, .. }
        | Callback::AttributesInScope { instance, .. }
        | Callback::AttributesOutOfScope { instance, .. }
        | Callback::TurnUpdatesOnForObjectInstance { instance, .. }
        | Callback::TurnUpdatesOffForObjectInstance { instance, .. }
        | Callback::ProvideAttributeValueUpdate { instance, .. }
        | Callback::RequestAttributeOwnershipAssumption { instance, .. }
        | Callback::RequestDivestitureConfirmation { instance, .. }
        | Callback::AttributeOwnershipAcquisitionNotification { instance, .. }
        | Callback::AttributeOwnershipUnavailable { instance, .. }
        | Callback::RequestAttributeOwnershipRelease { instance, .. }
        | Callback::ConfirmAttributeOwnershipAcquisitionCancellation { instance, .. }
        | Callback::InformAttributeOwnership { instance, .. } => Some(*instance),
        _ => None,
    }
}
