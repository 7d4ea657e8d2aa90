//! The services that this layer has, by their names in the 2010 C++ API: here those that are called
//! in a way of their own, in `generated/services.rs` all others.

use crate::arguments::{Call, Failure, bad, elsewhere};
use crate::generated::services::SERVICES;
use crate::network::Member;
use crate::value::Value;
use starling_core::message::RequestNumber;
use starling_core::{
    Answer, AttributeHandle, Bounds, Conflated, LogicalTime, MessageRetractionHandle,
    ParameterHandle, Service, Service::*,
};

/// What generated services use.
pub(crate) mod prelude {
    pub(crate) use super::Act;
    pub(crate) use crate::arguments::Call;
    pub(crate) use crate::names;
    pub(crate) use crate::value::Value;
    pub(crate) use starling_core::Service;
}

type Result<T = Vec<Value>> = std::result::Result<T, Failure>;

/// Takes the arguments, serves, and gives the result.
pub(crate) type Act = fn(&mut Call<'_>) -> Result;

/// The service of this name, or why there is none here.
pub(crate) fn find(name: &str) -> std::result::Result<Act, Failure> {
    let mut all = BY_HAND.iter().chain(SERVICES);
    if let Some((_, act)) = all.find(|(service, _)| service.name() == name) {
        return Ok(*act);
    }
    if name == "connect" {
        return Ok(connect);
    }
    if ELSEWHERE.contains(&name) {
        return elsewhere(name);
    }
    bad(format!("no service: {name}"))
}

/// Services that the layers above do without the core.
const ELSEWHERE: [&str; 3] = ["disconnect", "evokeCallback", "evokeMultipleCallbacks"];

/// A federate is connected already; of settings the core has those of conflation.
fn connect(c: &mut Call<'_>) -> Result {
    let setting = |v: &Value| Some(v.text()?.strip_prefix("conflate.reliable=")?.to_owned());
    let Some(classes) = c.arguments.iter().find_map(setting) else {
        return elsewhere("connect");
    };
    let conflated = Conflated {
        reliable: classes.split_whitespace().map(str::to_owned).collect(),
        ..Conflated::default()
    };
    c.network.call(c.peer, |lrc| lrc.set_conflated(conflated));
    Ok(vec![])
}

fn nothing(_: ()) -> Vec<Value> {
    vec![]
}

fn borrow<H: Copy>(values: &[(H, Vec<u8>)]) -> Vec<(H, &[u8])> {
    values.iter().map(|(h, v)| (*h, v.as_slice())).collect()
}

/// What a message in time-stamp order is retracted by.
fn retraction(c: &Call<'_>, message: MessageRetractionHandle) -> Vec<Value> {
    vec![c.names().retraction(message)]
}

/// Query GALT or Query LITS.
fn bounds(c: &mut Call<'_>, service: Service, which: fn(Bounds) -> Option<LogicalTime>) -> Result {
    c.serve(|lrc| lrc.query_bounds(service))?;
    let Some(answer) = c.network.wait(c.peer, |lrc| lrc.bounds(service)) else {
        return bad("no word on the time has come");
    };
    let time = which(answer?);
    let shown = time.map_or("0".into(), |t| t.to_string());
    let defined = time.is_some().to_string();
    Ok(vec![Value::Word(defined), Value::Word(shown)])
}

const BY_HAND: &[(Service, Act)] = &[
    (CreateFederationExecution, |c| create(c, false)),
    (CreateFederationExecutionWithMIM, |c| create(c, true)),
    (DestroyFederationExecution, |c| {
        let federation = c.text()?;
        let destroy = |lrc: &mut Member| lrc.destroy_federation_execution(&federation);
        c.network.ask(c.peer, destroy)?;
        Ok(vec![])
    }),
    (JoinFederationExecution, join),
    (ResignFederationExecution, |c| {
        let action = c.resign_action()?;
        c.network
            .ask(c.peer, |lrc| lrc.resign_federation_execution(action))?;
        Ok(vec![])
    }),
    (UpdateAttributeValues, |c| {
        let (instance, values, tag) = (c.instance()?, c.attribute_values()?, c.bytes()?);
        let time = c.optional_time()?;
        let values: Vec<(AttributeHandle, &[u8])> = borrow(&values);
        if let Some(time) = time {
            let send = |f: &mut Member| f.update_attribute_values_at(instance, &values, &tag, time);
            let message = c.serve(send)?;
            return Ok(retraction(c, message));
        }
        c.serve(|f| f.update_attribute_values(instance, &values, &tag))
            .map(nothing)
    }),
    (SendInteraction, |c| {
        let (class, values, tag) = (c.interaction_class()?, c.parameter_values()?, c.bytes()?);
        let time = c.optional_time()?;
        let values: Vec<(ParameterHandle, &[u8])> = borrow(&values);
        if let Some(time) = time {
            let message = c.serve(|f| f.send_interaction_at(class, &values, &tag, time))?;
            return Ok(retraction(c, message));
        }
        c.serve(|f| f.send_interaction(class, &values, &tag))
            .map(nothing)
    }),
    (DeleteObjectInstance, |c| {
        let (instance, tag) = (c.instance()?, c.bytes()?);
        if let Some(time) = c.optional_time()? {
            let message = c.serve(|f| f.delete_object_instance_at(instance, &tag, time))?;
            return Ok(retraction(c, message));
        }
        c.serve(|f| f.delete_object_instance(instance, &tag))
            .map(nothing)
    }),
    (RequestAttributeValueUpdate, |c| {
        let of_instance = c.next_is(|v| {
            let word = v.text().unwrap_or_default();
            word.starts_with('@') || word == "invalid" || word == "madeup"
        });
        if of_instance {
            let (instance, attributes, tag) = (c.instance()?, c.attributes()?, c.bytes()?);
            c.serve(|f| f.request_instance_attribute_value_update(instance, &attributes, &tag))
        } else {
            let (class, attributes, tag) = (c.object_class()?, c.attributes()?, c.bytes()?);
            c.serve(|f| f.request_class_attribute_value_update(class, &attributes, &tag))
        }
        .map(nothing)
    }),
    (ConfirmDivestiture, |c| {
        let (instance, attributes, tag) = (c.instance()?, c.attributes()?, c.bytes()?);
        let request = c.serve(|f| f.confirm_divestiture(instance, &attributes, &tag))?;
        divested(c, ConfirmDivestiture, request).map(|_| vec![])
    }),
    (AttributeOwnershipDivestitureIfWanted, |c| {
        let (instance, attributes) = (c.instance()?, c.attributes()?);
        let request =
            c.serve(|f| f.attribute_ownership_divestiture_if_wanted(instance, &attributes, &[]))?;
        let gone = divested(c, AttributeOwnershipDivestitureIfWanted, request)?;
        Ok(vec![c.names().attributes(&gone)])
    }),
    (QueryAttributeOwnership, |c| {
        let (instance, attribute) = (c.instance()?, c.attribute()?);
        c.serve(|f| f.query_attribute_ownership(instance, &[attribute]))
            .map(nothing)
    }),
    (SendInteractionWithRegions, |c| {
        let (class, values) = (c.interaction_class()?, c.parameter_values()?);
        let (regions, tag) = (c.regions()?, c.bytes()?);
        let time = c.optional_time()?;
        let values = borrow(&values);
        if let Some(time) = time {
            let send = |f: &mut Member| {
                f.send_interaction_with_regions_at(class, &values, &regions, &tag, time)
            };
            let message = c.serve(send)?;
            return Ok(retraction(c, message));
        }
        c.serve(|f| f.send_interaction_with_regions(class, &values, &regions, &tag))
            .map(nothing)
    }),
    (QueryGALT, |c| bounds(c, QueryGALT, |(galt, _)| galt)),
    (QueryLITS, |c| bounds(c, QueryLITS, |(_, lits)| lits)),
    (EnableCallbacks, |c| {
        c.serve(|f| f.enable_callbacks(true)).map(nothing)
    }),
    (DisableCallbacks, |c| {
        c.serve(|f| f.enable_callbacks(false)).map(nothing)
    }),
];

fn create(c: &mut Call<'_>, with_mim: bool) -> Result {
    let (federation, modules) = (c.text()?, c.modules()?);
    let mim = if with_mim { Some(c.module()?) } else { None };
    let time = c.optional_text()?.unwrap_or_default();
    if modules.is_empty() {
        return elsewhere("CouldNotOpenFDD");
    }
    c.network.ask(c.peer, |lrc| {
        lrc.create_federation_execution(&federation, modules, mim, &time)
    })?;
    Ok(vec![])
}

/// `["name"] "type" "federation" [modules]`.
fn join(c: &mut Call<'_>) -> Result {
    if c.network.federate(c.peer).is_some() {
        return elsewhere("FederateAlreadyExecutionMember");
    }
    let mut texts = Vec::new();
    while c.next_is(|v| matches!(v, Value::Text(_))) {
        texts.push(c.text()?);
    }
    let modules = c.optional(Call::modules)?;
    let (name, kind, federation) = match texts.as_slice() {
        [kind, federation] => (None, kind, federation),
        [name, kind, federation] => (Some(name.as_str()), kind, federation),
        _ => return bad("expected [\"name\"] \"type\" \"federation execution\" [modules]"),
    };
    let joined = c.network.ask(c.peer, |lrc| {
        lrc.join_federation_execution(name, kind, federation, modules)
    });
    match joined? {
        Answer::Joined(handle) => Ok(vec![c.names().federate(handle)]),
        Answer::Done => bad("the executive answered out of turn"),
    }
}

/// The executive's word on what was divested.
fn divested(
    c: &mut Call<'_>,
    service: Service,
    request: RequestNumber,
) -> Result<Vec<AttributeHandle>> {
    match c.network.wait(c.peer, |lrc| lrc.divested(service, request)) {
        Some(answer) => Ok(answer?),
        None => bad("no word on the divestiture has come"),
    }
}
