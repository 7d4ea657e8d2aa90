//! The services that this layer has, by their names in the 2010 C++ API.

use crate::arguments::{Call, Failure, RESIGN_ACTIONS, bad, elsewhere};
use crate::network::Member;
use crate::value::Value;
use starling_core::message::RequestNumber;
use starling_core::{Answer, AttributeHandle, Lrc, ParameterHandle, Service, Service::*};

type Result<T = Vec<Value>> = std::result::Result<T, Failure>;

/// Takes the arguments, serves, and gives the result.
pub(crate) type Act = fn(&mut Call<'_>) -> Result;

/// The service of this name, or why there is none here.
pub(crate) fn find(name: &str) -> std::result::Result<Act, Failure> {
    if let Some((_, act)) = SERVICES.iter().find(|(service, _)| service.name() == name) {
        return Ok(*act);
    }
    match ELSEWHERE.contains(&name) {
        true => elsewhere(name),
        false => bad(format!("no service: {name}")),
    }
}

/// Services that the layers above do without the core.
const ELSEWHERE: [&str; 18] = [
    "connect",
    "disconnect",
    "evokeCallback",
    "evokeMultipleCallbacks",
    "getOrderType",
    "getOrderName",
    "getTransportationType",
    "getTransportationName",
    "normalizeServiceGroup",
    "decodeFederateHandle",
    "decodeObjectClassHandle",
    "decodeInteractionClassHandle",
    "decodeObjectInstanceHandle",
    "decodeAttributeHandle",
    "decodeParameterHandle",
    "decodeDimensionHandle",
    "decodeMessageRetractionHandle",
    "decodeRegionHandle",
];

fn nothing(_: ()) -> Vec<Value> {
    vec![]
}

fn text(text: &str) -> Vec<Value> {
    vec![Value::Text(text.to_owned())]
}

fn number(number: f64) -> Vec<Value> {
    vec![Value::Word(number.to_string())]
}

fn borrow<H: Copy>(values: &[(H, Vec<u8>)]) -> Vec<(H, &[u8])> {
    values.iter().map(|(h, v)| (*h, v.as_slice())).collect()
}

/// Without the argument that only time management reads.
fn no_time(call: &Call<'_>) -> Result<()> {
    match call.arguments.len() {
        0 => Ok(()),
        _ => elsewhere("time management"),
    }
}

/// An instance, attributes, a tag.
macro_rules! with_tag {
    ($method:ident) => {
        |c| {
            let (instance, attributes, tag) = (c.instance()?, c.attributes()?, c.bytes()?);
            c.serve(|f| f.$method(instance, &attributes, &tag))
                .map(nothing)
        }
    };
}

macro_rules! of_class_and_attributes {
    ($method:ident) => {
        |c| {
            let (class, attributes) = (c.class()?, c.attributes()?);
            c.serve(|f| f.$method(class, &attributes)).map(nothing)
        }
    };
}

macro_rules! of_instance_and_attributes {
    ($method:ident) => {
        |c| {
            let (instance, attributes) = (c.instance()?, c.attributes()?);
            c.serve(|f| f.$method(instance, &attributes)).map(nothing)
        }
    };
}

macro_rules! of_instance_and_regions {
    ($method:ident) => {
        |c| {
            let (instance, regions) = (c.instance()?, c.attribute_regions()?);
            c.serve(|f| f.$method(instance, &regions)).map(nothing)
        }
    };
}

macro_rules! of_interaction {
    ($method:ident) => {
        |c| {
            let class = c.interaction()?;
            c.serve(|f| f.$method(class)).map(nothing)
        }
    };
}

macro_rules! of_class {
    ($method:ident) => {
        |c| {
            let class = c.class()?;
            c.serve(|f| f.$method(class)).map(nothing)
        }
    };
}

macro_rules! of_name {
    ($method:ident) => {
        |c| {
            let name = c.text()?;
            c.serve(|f| f.$method(&name)).map(nothing)
        }
    };
}

macro_rules! of_names {
    ($method:ident) => {
        |c| {
            let names = c.texts()?;
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            c.serve(|f| f.$method(&names)).map(nothing)
        }
    };
}

macro_rules! switch {
    ($method:ident) => {
        |c| c.serve(|f| f.$method()).map(nothing)
    };
}

const SERVICES: &[(Service, Act)] = &[
    // Clause 4
    (CreateFederationExecution, |c| create(c, false)),
    (CreateFederationExecutionWithMIM, |c| create(c, true)),
    (DestroyFederationExecution, |c| {
        let federation = c.text()?;
        let destroy = |lrc: &mut Member| lrc.destroy_federation_execution(&federation);
        c.network.ask(c.peer, destroy)?;
        Ok(vec![])
    }),
    (ListFederationExecutions, |c| {
        c.serve(Lrc::list_federation_executions).map(nothing)
    }),
    (JoinFederationExecution, join),
    (ResignFederationExecution, |c| {
        let action = c.resign_action()?;
        c.network
            .ask(c.peer, |lrc| lrc.resign_federation_execution(action))?;
        Ok(vec![])
    }),
    (RegisterFederationSynchronizationPoint, |c| {
        let (label, tag) = (c.text()?, c.bytes()?);
        let set = match c.arguments.is_empty() {
            true => vec![],
            false => c.federates()?,
        };
        c.serve(|f| f.register_federation_synchronization_point(&label, &tag, &set))
            .map(nothing)
    }),
    (SynchronizationPointAchieved, |c| {
        let (label, successfully) = (c.text()?, c.flag()?);
        c.serve(|f| f.synchronization_point_achieved(&label, successfully))
            .map(nothing)
    }),
    // Clause 5
    (
        PublishObjectClassAttributes,
        of_class_and_attributes!(publish_object_class_attributes),
    ),
    (UnpublishObjectClass, of_class!(unpublish_object_class)),
    (
        UnpublishObjectClassAttributes,
        of_class_and_attributes!(unpublish_object_class_attributes),
    ),
    (
        PublishInteractionClass,
        of_interaction!(publish_interaction_class),
    ),
    (
        UnpublishInteractionClass,
        of_interaction!(unpublish_interaction_class),
    ),
    (SubscribeObjectClassAttributes, |c| {
        let (class, attributes, active) = (c.class()?, c.attributes()?, c.flag()?);
        let rate = c.optional_text()?.unwrap_or_default();
        c.serve(|f| f.subscribe_object_class_attributes(class, &attributes, active, &rate))
            .map(nothing)
    }),
    (UnsubscribeObjectClass, of_class!(unsubscribe_object_class)),
    (
        UnsubscribeObjectClassAttributes,
        of_class_and_attributes!(unsubscribe_object_class_attributes),
    ),
    (SubscribeInteractionClass, |c| {
        let (class, active) = (c.interaction()?, c.flag()?);
        c.serve(|f| f.subscribe_interaction_class(class, active))
            .map(nothing)
    }),
    (
        UnsubscribeInteractionClass,
        of_interaction!(unsubscribe_interaction_class),
    ),
    // Clause 6
    (
        ReserveObjectInstanceName,
        of_name!(reserve_object_instance_name),
    ),
    (
        ReleaseObjectInstanceName,
        of_name!(release_object_instance_name),
    ),
    (
        ReserveMultipleObjectInstanceName,
        of_names!(reserve_multiple_object_instance_name),
    ),
    (
        ReleaseMultipleObjectInstanceName,
        of_names!(release_multiple_object_instance_name),
    ),
    (RegisterObjectInstance, |c| {
        let (class, name) = (c.class()?, c.optional_text()?);
        let instance = c.serve(|f| f.register_object_instance(class, name.as_deref()))?;
        Ok(vec![c.names().instance(instance)])
    }),
    (UpdateAttributeValues, |c| {
        let (instance, values, tag) = (c.instance()?, c.attribute_values()?, c.bytes()?);
        no_time(c)?;
        let values: Vec<(AttributeHandle, &[u8])> = borrow(&values);
        c.serve(|f| f.update_attribute_values(instance, &values, &tag))
            .map(nothing)
    }),
    (SendInteraction, |c| {
        let (class, values, tag) = (c.interaction()?, c.parameter_values()?, c.bytes()?);
        no_time(c)?;
        let values: Vec<(ParameterHandle, &[u8])> = borrow(&values);
        c.serve(|f| f.send_interaction(class, &values, &tag))
            .map(nothing)
    }),
    (DeleteObjectInstance, |c| {
        let (instance, tag) = (c.instance()?, c.bytes()?);
        no_time(c)?;
        c.serve(|f| f.delete_object_instance(instance, &tag))
            .map(nothing)
    }),
    (LocalDeleteObjectInstance, |c| {
        let instance = c.instance()?;
        c.serve(|f| f.local_delete_object_instance(instance))
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
            let (class, attributes, tag) = (c.class()?, c.attributes()?, c.bytes()?);
            c.serve(|f| f.request_class_attribute_value_update(class, &attributes, &tag))
        }
        .map(nothing)
    }),
    (RequestAttributeTransportationTypeChange, |c| {
        let (instance, attributes) = (c.instance()?, c.attributes()?);
        let to = c.transportation()?;
        c.serve(|f| f.request_attribute_transportation_type_change(instance, &attributes, to))
            .map(nothing)
    }),
    (QueryAttributeTransportationType, |c| {
        let (instance, attribute) = (c.instance()?, c.attribute()?);
        c.serve(|f| f.query_attribute_transportation_type(instance, attribute))
            .map(nothing)
    }),
    (RequestInteractionTransportationTypeChange, |c| {
        let (class, to) = (c.interaction()?, c.transportation()?);
        c.serve(|f| f.request_interaction_transportation_type_change(class, to))
            .map(nothing)
    }),
    (QueryInteractionTransportationType, |c| {
        let (federate, class) = (c.federate()?, c.interaction()?);
        c.serve(|f| f.query_interaction_transportation_type(federate, class))
            .map(nothing)
    }),
    // Clause 7
    (
        UnconditionalAttributeOwnershipDivestiture,
        // The 2010 API has no tag here.
        |c| {
            let (instance, attributes) = (c.instance()?, c.attributes()?);
            c.serve(|f| f.unconditional_attribute_ownership_divestiture(instance, &attributes, &[]))
                .map(nothing)
        },
    ),
    (
        NegotiatedAttributeOwnershipDivestiture,
        with_tag!(negotiated_attribute_ownership_divestiture),
    ),
    (ConfirmDivestiture, |c| {
        let (instance, attributes, tag) = (c.instance()?, c.attributes()?, c.bytes()?);
        let request = c.serve(|f| f.confirm_divestiture(instance, &attributes, &tag))?;
        divested(c, ConfirmDivestiture, request).map(|_| vec![])
    }),
    (
        AttributeOwnershipAcquisition,
        with_tag!(attribute_ownership_acquisition),
    ),
    (AttributeOwnershipAcquisitionIfAvailable, |c| {
        let (instance, attributes) = (c.instance()?, c.attributes()?);
        c.serve(|f| f.attribute_ownership_acquisition_if_available(instance, &attributes, &[]))
            .map(nothing)
    }),
    (AttributeOwnershipReleaseDenied, |c| {
        let (instance, attributes) = (c.instance()?, c.attributes()?);
        c.serve(|f| f.attribute_ownership_release_denied(instance, &attributes, &[]))
            .map(nothing)
    }),
    (AttributeOwnershipDivestitureIfWanted, |c| {
        let (instance, attributes) = (c.instance()?, c.attributes()?);
        let request =
            c.serve(|f| f.attribute_ownership_divestiture_if_wanted(instance, &attributes, &[]))?;
        let gone = divested(c, AttributeOwnershipDivestitureIfWanted, request)?;
        Ok(vec![c.names().attributes(&gone)])
    }),
    (
        CancelNegotiatedAttributeOwnershipDivestiture,
        of_instance_and_attributes!(cancel_negotiated_attribute_ownership_divestiture),
    ),
    (
        CancelAttributeOwnershipAcquisition,
        of_instance_and_attributes!(cancel_attribute_ownership_acquisition),
    ),
    (QueryAttributeOwnership, |c| {
        let (instance, attribute) = (c.instance()?, c.attribute()?);
        c.serve(|f| f.query_attribute_ownership(instance, &[attribute]))
            .map(nothing)
    }),
    (IsAttributeOwnedByFederate, |c| {
        let (instance, attribute) = (c.instance()?, c.attribute()?);
        let owned = c.serve(|f| f.is_attribute_owned_by_federate(instance, attribute))?;
        Ok(vec![Value::Word(owned.to_string())])
    }),
    // Clause 9
    (CreateRegion, |c| {
        let dimensions = c.dimensions()?;
        let region = c.serve(|f| f.create_region(&dimensions))?;
        Ok(vec![c.names().region(region)])
    }),
    (CommitRegionModifications, |c| {
        let regions = c.regions()?;
        c.serve(|f| f.commit_region_modifications(&regions))
            .map(nothing)
    }),
    (DeleteRegion, |c| {
        let region = c.region()?;
        c.serve(|f| f.delete_region(region)).map(nothing)
    }),
    (RegisterObjectInstanceWithRegions, |c| {
        let (class, regions) = (c.class()?, c.attribute_regions()?);
        let name = c.optional_text()?;
        let instance =
            c.serve(|f| f.register_object_instance_with_regions(class, &regions, name.as_deref()))?;
        Ok(vec![c.names().instance(instance)])
    }),
    (
        AssociateRegionsForUpdates,
        of_instance_and_regions!(associate_regions_for_updates),
    ),
    (
        UnassociateRegionsForUpdates,
        of_instance_and_regions!(unassociate_regions_for_updates),
    ),
    (SubscribeObjectClassAttributesWithRegions, |c| {
        let (class, regions, active) = (c.class()?, c.attribute_regions()?, c.flag()?);
        let rate = c.optional_text()?.unwrap_or_default();
        c.serve(|f| {
            f.subscribe_object_class_attributes_with_regions(class, &regions, active, &rate)
        })
        .map(nothing)
    }),
    (UnsubscribeObjectClassAttributesWithRegions, |c| {
        let (class, regions) = (c.class()?, c.attribute_regions()?);
        c.serve(|f| f.unsubscribe_object_class_attributes_with_regions(class, &regions))
            .map(nothing)
    }),
    (SubscribeInteractionClassWithRegions, |c| {
        let (class, regions, active) = (c.interaction()?, c.regions()?, c.flag()?);
        c.serve(|f| f.subscribe_interaction_class_with_regions(class, &regions, active))
            .map(nothing)
    }),
    (UnsubscribeInteractionClassWithRegions, |c| {
        let (class, regions) = (c.interaction()?, c.regions()?);
        c.serve(|f| f.unsubscribe_interaction_class_with_regions(class, &regions))
            .map(nothing)
    }),
    (SendInteractionWithRegions, |c| {
        let (class, values) = (c.interaction()?, c.parameter_values()?);
        let (regions, tag) = (c.regions()?, c.bytes()?);
        no_time(c)?;
        let values = borrow(&values);
        c.serve(|f| f.send_interaction_with_regions(class, &values, &regions, &tag))
            .map(nothing)
    }),
    (RequestAttributeValueUpdateWithRegions, |c| {
        let (class, regions, tag) = (c.class()?, c.attribute_regions()?, c.bytes()?);
        c.serve(|f| f.request_attribute_value_update_with_regions(class, &regions, &tag))
            .map(nothing)
    }),
    // Clause 10
    (GetAutomaticResignDirective, |c| {
        let action = c.serve(Lrc::automatic_resign_directive)?;
        let named = RESIGN_ACTIONS.iter().find(|(_, a)| *a == action);
        Ok(named
            .map(|(name, _)| Value::word(*name))
            .into_iter()
            .collect())
    }),
    (SetAutomaticResignDirective, |c| {
        let action = c.resign_action()?;
        c.serve(|f| f.set_automatic_resign_directive(action))
            .map(nothing)
    }),
    (GetFederateHandle, |c| {
        let name = c.text()?;
        let handle = c.serve(|f| f.federate_handle(&name))?;
        Ok(vec![c.names().federate(handle)])
    }),
    (GetFederateName, |c| {
        let handle = c.federate()?;
        // Only façades know handles that are not valid.
        if handle.0 == 0 {
            return elsewhere("InvalidFederateHandle");
        }
        Ok(text(&c.serve(|f| f.federate_name(handle))?))
    }),
    (GetObjectClassHandle, |c| {
        let name = c.text()?;
        let class = c.serve(|f| f.object_class_handle(&name))?;
        Ok(vec![c.names().object_class(class)])
    }),
    (GetObjectClassName, |c| {
        let class = c.class()?;
        Ok(text(&c.serve(|f| f.object_class_name(class))?))
    }),
    (GetKnownObjectClassHandle, |c| {
        let instance = c.instance()?;
        let class = c.serve(|f| f.known_object_class_handle(instance))?;
        Ok(vec![c.names().object_class(class)])
    }),
    (GetObjectInstanceHandle, |c| {
        let name = c.text()?;
        let instance = c.serve(|f| f.object_instance_handle(&name))?;
        Ok(vec![c.names().instance(instance)])
    }),
    (GetObjectInstanceName, |c| {
        let instance = c.instance()?;
        Ok(text(&c.serve(|f| f.object_instance_name(instance))?))
    }),
    (GetAttributeHandle, |c| {
        let (class, name) = (c.class()?, c.text()?);
        let attribute = c.serve(|f| f.attribute_handle(class, &name))?;
        Ok(vec![c.names().attribute(attribute)])
    }),
    (GetAttributeName, |c| {
        let (class, attribute) = (c.class()?, c.attribute()?);
        Ok(text(&c.serve(|f| f.attribute_name(class, attribute))?))
    }),
    (GetUpdateRateValue, |c| {
        let designator = c.text()?;
        c.serve(|f| f.update_rate_value(&designator)).map(number)
    }),
    (GetUpdateRateValueForAttribute, |c| {
        let (instance, attribute) = (c.instance()?, c.attribute()?);
        c.serve(|f| f.update_rate_value_for_attribute(instance, attribute))
            .map(number)
    }),
    (GetInteractionClassHandle, |c| {
        let name = c.text()?;
        let class = c.serve(|f| f.interaction_class_handle(&name))?;
        Ok(vec![c.names().interaction_class(class)])
    }),
    (GetInteractionClassName, |c| {
        let class = c.interaction()?;
        Ok(text(&c.serve(|f| f.interaction_class_name(class))?))
    }),
    (GetParameterHandle, |c| {
        let (class, name) = (c.interaction()?, c.text()?);
        let parameter = c.serve(|f| f.parameter_handle(class, &name))?;
        Ok(vec![c.names().parameter(parameter)])
    }),
    (GetParameterName, |c| {
        let (class, parameter) = (c.interaction()?, c.parameter()?);
        Ok(text(&c.serve(|f| f.parameter_name(class, parameter))?))
    }),
    (GetAvailableDimensionsForClassAttribute, |c| {
        let (class, attribute) = (c.class()?, c.attribute()?);
        let list = c.serve(|f| f.available_dimensions_for_class_attribute(class, attribute))?;
        Ok(vec![c.names().dimensions(&list)])
    }),
    (GetAvailableDimensionsForInteractionClass, |c| {
        let class = c.interaction()?;
        let list = c.serve(|f| f.available_dimensions_for_interaction_class(class))?;
        Ok(vec![c.names().dimensions(&list)])
    }),
    (GetDimensionHandle, |c| {
        let name = c.text()?;
        let dimension = c.serve(|f| f.dimension_handle(&name))?;
        Ok(vec![c.names().dimension(dimension)])
    }),
    (GetDimensionName, |c| {
        let dimension = c.dimension()?;
        Ok(text(&c.serve(|f| f.dimension_name(dimension))?))
    }),
    (GetDimensionUpperBound, |c| {
        let dimension = c.dimension()?;
        let bound = c.serve(|f| f.dimension_upper_bound(dimension))?;
        Ok(vec![Value::Word(bound.to_string())])
    }),
    (GetDimensionHandleSet, |c| {
        let region = c.region()?;
        let list = c.serve(|f| f.dimension_handle_set(region))?;
        Ok(vec![c.names().dimensions(&list)])
    }),
    (GetRangeBounds, |c| {
        let (region, dimension) = (c.region()?, c.dimension()?);
        let (lower, upper) = c.serve(|f| f.range_bounds(region, dimension))?;
        Ok(vec![Value::Word(format!("{lower}..{upper}"))])
    }),
    (SetRangeBounds, |c| {
        let (region, dimension) = (c.region()?, c.dimension()?);
        let (lower, upper) = c.range()?;
        c.serve(|f| f.set_range_bounds(region, dimension, lower, upper))
            .map(nothing)
    }),
    (NormalizeFederateHandle, |c| {
        let handle = c.federate()?;
        match handle.0 {
            0 => elsewhere("InvalidFederateHandle"),
            number => Ok(vec![Value::Word(number.to_string())]),
        }
    }),
    (
        EnableObjectClassRelevanceAdvisorySwitch,
        switch!(enable_object_class_relevance_advisory_switch),
    ),
    (
        DisableObjectClassRelevanceAdvisorySwitch,
        switch!(disable_object_class_relevance_advisory_switch),
    ),
    (
        EnableAttributeRelevanceAdvisorySwitch,
        switch!(enable_attribute_relevance_advisory_switch),
    ),
    (
        DisableAttributeRelevanceAdvisorySwitch,
        switch!(disable_attribute_relevance_advisory_switch),
    ),
    (
        EnableAttributeScopeAdvisorySwitch,
        switch!(enable_attribute_scope_advisory_switch),
    ),
    (
        DisableAttributeScopeAdvisorySwitch,
        switch!(disable_attribute_scope_advisory_switch),
    ),
    (
        EnableInteractionRelevanceAdvisorySwitch,
        switch!(enable_interaction_relevance_advisory_switch),
    ),
    (
        DisableInteractionRelevanceAdvisorySwitch,
        switch!(disable_interaction_relevance_advisory_switch),
    ),
    (EnableCallbacks, |c| {
        c.serve(|f| f.enable_callbacks(true)).map(nothing)
    }),
    (DisableCallbacks, |c| {
        c.serve(|f| f.enable_callbacks(false)).map(nothing)
    }),
    (GetTimeFactory, |c| {
        Ok(text(&c.serve(Lrc::time_implementation)?))
    }),
];

fn create(c: &mut Call<'_>, with_mim: bool) -> Result {
    let (federation, modules) = (c.text()?, c.modules()?);
    let mim = match with_mim {
        true => Some(c.module()?),
        false => None,
    };
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
    let modules = match c.arguments.is_empty() {
        true => vec![],
        false => c.modules()?,
    };
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

/// The executive's word on what was divested; everything has arrived.
fn divested(
    c: &mut Call<'_>,
    service: Service,
    request: RequestNumber,
) -> Result<Vec<AttributeHandle>> {
    match c.network.call(c.peer, |lrc| lrc.divested(service, request)) {
        Some(answer) => Ok(answer?),
        None => bad("no word on the divestiture has come"),
    }
}
