//! Callbacks under the names of the 2010 C++ API: here those that have several forms there, in
//! `generated/callbacks.rs` all others.

use crate::generated::callbacks::event;
use crate::names::{Names, bytes, order, restore_status, save_status, transportation};
use crate::value::Value;
use starling_core::{
    Callback, FederateHandle, MessageTime, ObjectClassHandle, ObjectInstanceHandle, Order, Owner,
    RegionHandle, RestoreState,
};

/// A callback's name and arguments.
pub(crate) type Event = (&'static str, Vec<Value>);

/// `class_of` tells the class at which a federate knows, or knew, an instance.
pub(crate) fn events(
    callback: &Callback,
    mut names: Names<'_>,
    class_of: impl FnOnce(ObjectInstanceHandle) -> Option<ObjectClassHandle>,
) -> Vec<Event> {
    if let Some(instance) = callback.instance() {
        names.object_class = class_of(instance);
    }
    let n = &names;
    if let Some(event) = event(callback, n) {
        return vec![event];
    }
    let text = |text: &String| Value::Text(text.clone());
    let arguments = match callback {
        Callback::ReportFederationExecutions(list) => {
            let pair = |name: &String, time| Value::Pair(name.clone(), Box::new(text(time)));
            let list = list.iter();
            let list = list.map(|f| pair(&f.name, &f.time_implementation));
            vec![Value::Set(list.collect())]
        }
        Callback::SynchronizationPointRegistered { label, failure } => {
            let why = failure.map(|failure| failure.name());
            let mut arguments = vec![text(label)];
            arguments.extend(why.map(Value::word));
            arguments
        }
        Callback::InitiateFederateSave { label, time } => {
            let mut arguments = vec![text(label)];
            arguments.extend(time.map(|t| Value::Word(t.to_string())));
            arguments
        }
        Callback::FederationSaveStatusResponse(list) => {
            let one = |(federate, status): &(FederateHandle, _)| {
                let federate = n.federate(*federate);
                let federate = federate.text().unwrap_or_default().to_owned();
                Value::Pair(federate, Box::new(save_status(*status)))
            };
            vec![Value::Set(list.iter().map(one).collect())]
        }
        Callback::RestoreRequested { label, .. } => vec![text(label)],
        Callback::FederationRestoreStatusResponse(list) => {
            let one = |state: &RestoreState| {
                let (before, after) = (n.federate(state.before), n.federate(state.after));
                Value::List(vec![before, after, restore_status(state.status)])
            };
            vec![Value::Set(list.iter().map(one).collect())]
        }
        Callback::NamesReserved {
            names, multiple, ..
        } => {
            let names: Vec<Value> = names.iter().map(text).collect();
            if *multiple {
                vec![Value::Set(names)]
            } else {
                names
            }
        }
        Callback::DiscoverObjectInstance {
            instance,
            class,
            name,
            producer,
        } => {
            let mut arguments = vec![n.instance(*instance), n.object_class(*class), text(name)];
            arguments.extend(sent_by(n, *producer, None));
            arguments
        }
        Callback::ReflectAttributeValues {
            instance,
            values,
            transportation: how,
            producer,
            regions,
            time,
        } => {
            let tag = values.tag();
            let values = values.iter().map(|(a, v)| pair(n.attribute(a), v));
            let values = Value::Set(values.collect());
            let (sent, timely) = message_time(n, time.as_deref());
            let mut arguments = vec![n.instance(*instance), values, bytes(tag), sent];
            arguments.push(transportation(*how));
            arguments.extend(timely);
            arguments.extend(sent_by(n, *producer, regions.as_deref()));
            arguments
        }
        Callback::ReceiveInteraction {
            class,
            values,
            transportation: how,
            producer,
            regions,
            time,
        } => {
            let of_class = Names {
                interaction_class: Some(*class),
                ..names
            };
            let n = &of_class;
            let tag = values.tag();
            let values = values.iter().map(|(p, v)| pair(n.parameter(p), v));
            let values = Value::Set(values.collect());
            let class = n.interaction_class(*class);
            let (sent, timely) = message_time(n, time.as_deref());
            let mut arguments = vec![class, values, bytes(tag), sent];
            arguments.push(transportation(*how));
            arguments.extend(timely);
            arguments.extend(sent_by(n, *producer, regions.as_deref()));
            arguments
        }
        Callback::RemoveObjectInstance {
            instance,
            tag,
            producer,
            time,
        } => {
            let (sent, timely) = message_time(n, time.as_deref());
            let mut arguments = vec![n.instance(*instance), bytes(tag), sent];
            arguments.extend(timely);
            arguments.extend(sent_by(n, *producer, None));
            arguments
        }
        Callback::TurnUpdatesOnForObjectInstance {
            instance,
            attributes,
            rate,
        } => {
            let mut arguments = vec![n.instance(*instance), n.attributes(attributes)];
            if !rate.is_empty() {
                arguments.push(text(rate));
            }
            arguments
        }
        Callback::InformAttributeOwnership {
            instance,
            attributes,
            owner,
        } => {
            let owner = owner.and_then(Owner::federate);
            let of_one = |attribute| {
                let mut arguments = vec![n.instance(*instance), n.attribute(attribute)];
                arguments.extend(owner.map(|o| n.federate(o)));
                (callback.name(), arguments)
            };
            return attributes.iter().map(|a| of_one(*a)).collect();
        }
        other => panic!("spec/api.tsv leaves {other} to this function"),
    };
    vec![(callback.name(), arguments)]
}

/// The order in which a message was sent, and what its callback says of its time.
fn message_time(n: &Names<'_>, time: Option<&MessageTime>) -> (Value, Vec<Value>) {
    let Some(said) = time else {
        return (order(Order::Receive), vec![]);
    };
    let of = |key: &str, value| Value::Pair(key.to_owned(), Box::new(value));
    let mut list = vec![
        of("time", Value::Word(said.time.to_string())),
        of("received", order(said.received)),
    ];
    if said.retraction.0 != 0 {
        list.push(of("retraction", n.retraction(said.retraction)));
    }
    (order(said.sent), list)
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
