//! Support services, chapter 10.

use crate::boundary::{guarded, keep, living, service};
use crate::federation::resign_action;
use crate::types::{StarlingAmbassador, StarlingStatus, StarlingText};
use starling::Service;
use starling::{
    AttributeHandle, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle,
};
use std::ptr::null_mut;

/// Look-ups: arguments, what is stored at the last argument, how it comes from the core.
macro_rules! lookups {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty,
        |$f:ident| $body:expr;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As in the crate's rules; `result` is writable.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            ambassador: *const StarlingAmbassador,
            $($argument: $type,)*
            result: *mut $result,
        ) -> StarlingStatus {
            // SAFETY: as above.
            unsafe { service(ambassador, result, |$f| Ok($body)) }
        }
    )*};
}

/// Advisory switches.
macro_rules! switches {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As in the crate's rules.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(ambassador: *const StarlingAmbassador) -> StarlingStatus {
            // SAFETY: as above.
            unsafe { service(ambassador, null_mut(), |f| f.$method()) }
        }
    )*};
}

switches! {
    /// Enable Object Class Relevance Advisory Switch, §10.33.
    starling_enable_object_class_relevance_advisory_switch enable_object_class_relevance_advisory_switch;
    /// Disable Object Class Relevance Advisory Switch, §10.34.
    starling_disable_object_class_relevance_advisory_switch disable_object_class_relevance_advisory_switch;
    /// Enable Attribute Relevance Advisory Switch, §10.35.
    starling_enable_attribute_relevance_advisory_switch enable_attribute_relevance_advisory_switch;
    /// Disable Attribute Relevance Advisory Switch, §10.36.
    starling_disable_attribute_relevance_advisory_switch disable_attribute_relevance_advisory_switch;
    /// Enable Attribute Scope Advisory Switch, §10.37.
    starling_enable_attribute_scope_advisory_switch enable_attribute_scope_advisory_switch;
    /// Disable Attribute Scope Advisory Switch, §10.38.
    starling_disable_attribute_scope_advisory_switch disable_attribute_scope_advisory_switch;
    /// Enable Interaction Relevance Advisory Switch, §10.39.
    starling_enable_interaction_relevance_advisory_switch enable_interaction_relevance_advisory_switch;
    /// Disable Interaction Relevance Advisory Switch, §10.40.
    starling_disable_interaction_relevance_advisory_switch disable_interaction_relevance_advisory_switch;
}

lookups! {
    /// Get Automatic Resign Directive, 1516.1-2010 §10.2.
    starling_get_automatic_resign_directive() -> u32,
        |f| f.automatic_resign_directive()? as u32;
    /// Get Federate Handle, §10.4.
    starling_get_federate_handle(name: StarlingText) -> u32,
        |f| f.federate_handle(name.read()?)?.0;
    /// Get Federate Name, §10.5.
    starling_get_federate_name(federate: u32) -> StarlingText,
        |f| keep(f.federate_name(FederateHandle(federate))?);
    /// Get Object Class Handle, §10.6.
    starling_get_object_class_handle(name: StarlingText) -> u32,
        |f| f.object_class_handle(name.read()?)?.raw();
    /// Get Object Class Name, §10.7.
    starling_get_object_class_name(class_: u32) -> StarlingText,
        |f| keep(f.object_class_name(ObjectClassHandle::from_raw(class_))?);
    /// Get Known Object Class Handle, §10.8.
    starling_get_known_object_class_handle(instance: u64) -> u32,
        |f| f.known_object_class_handle(ObjectInstanceHandle(instance))?.raw();
    /// Get Object Instance Handle, §10.9.
    starling_get_object_instance_handle(name: StarlingText) -> u64,
        |f| f.object_instance_handle(name.read()?)?.0;
    /// Get Object Instance Name, §10.10.
    starling_get_object_instance_name(instance: u64) -> StarlingText,
        |f| keep(f.object_instance_name(ObjectInstanceHandle(instance))?);
    /// Get Attribute Handle, §10.11.
    starling_get_attribute_handle(class_: u32, name: StarlingText) -> u32,
        |f| f.attribute_handle(ObjectClassHandle::from_raw(class_), name.read()?)?.raw();
    /// Get Attribute Name, §10.12.
    starling_get_attribute_name(class_: u32, attribute: u32) -> StarlingText,
        |f| keep(f.attribute_name(
            ObjectClassHandle::from_raw(class_),
            AttributeHandle::from_raw(attribute),
        )?);
    /// Get Update Rate Value, §10.13.
    starling_get_update_rate_value(designator: StarlingText) -> f64,
        |f| f.update_rate_value(designator.read()?)?;
    /// Get Update Rate Value for Attribute, §10.14.
    starling_get_update_rate_value_for_attribute(
        instance: u64, attribute: u32) -> f64,
        |f| f.update_rate_value_for_attribute(
            ObjectInstanceHandle(instance),
            AttributeHandle::from_raw(attribute),
        )?;
    /// Get Interaction Class Handle, §10.15.
    starling_get_interaction_class_handle(name: StarlingText) -> u32,
        |f| f.interaction_class_handle(name.read()?)?.raw();
    /// Get Interaction Class Name, §10.16.
    starling_get_interaction_class_name(class_: u32) -> StarlingText,
        |f| keep(f.interaction_class_name(InteractionClassHandle::from_raw(class_))?);
    /// Get Parameter Handle, §10.17.
    starling_get_parameter_handle(class_: u32, name: StarlingText) -> u32,
        |f| f.parameter_handle(InteractionClassHandle::from_raw(class_), name.read()?)?.raw();
    /// Get Parameter Name, §10.18.
    starling_get_parameter_name(class_: u32, parameter: u32) -> StarlingText,
        |f| keep(f.parameter_name(
            InteractionClassHandle::from_raw(class_),
            ParameterHandle::from_raw(parameter),
        )?);
    /// Get Dimension Handle, §10.25.
    starling_get_dimension_handle(name: StarlingText) -> u32,
        |f| f.dimension_handle(name.read()?)?.raw();
    /// Get Dimension Name, §10.26.
    starling_get_dimension_name(dimension: u32) -> StarlingText,
        |f| keep(f.dimension_name(DimensionHandle::from_raw(dimension))?);
    /// Get Dimension Upper Bound, §10.27.
    starling_get_dimension_upper_bound(dimension: u32) -> u64,
        |f| f.dimension_upper_bound(DimensionHandle::from_raw(dimension))?;
}

/// Set Automatic Resign Directive, §10.3.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_set_automatic_resign_directive(
    ambassador: *const StarlingAmbassador,
    action: u32,
) -> StarlingStatus {
    // SAFETY: as above.
    unsafe {
        service(ambassador, std::ptr::null_mut(), |f| {
            let set = Service::SetAutomaticResignDirective;
            f.require(set)?;
            let action = resign_action(action).map_err(|e| e.in_service(set))?;
            f.set_automatic_resign_directive(action)
        })
    }
}

/// Get Available Dimensions for Class Attribute, §10.23: at most `room` are stored at `list`;
/// `count` is how many there are.
///
/// # Safety
/// As in the crate's rules; `list` has room for `room` numbers, `count` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_get_available_dimensions_for_class_attribute(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    attribute: u32,
    list: *mut u32,
    room: usize,
    count: *mut usize,
) -> StarlingStatus {
    let class = ObjectClassHandle::from_raw(class_);
    let attribute = AttributeHandle::from_raw(attribute);
    // SAFETY: as above.
    unsafe {
        service(ambassador, count, |f| {
            let found = f.available_dimensions_for_class_attribute(class, attribute)?;
            Ok(store(&found, list, room))
        })
    }
}

/// Get Available Dimensions for Interaction Class, §10.24, likewise.
///
/// # Safety
/// As in the crate's rules; `list` has room for `room` numbers, `count` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_get_available_dimensions_for_interaction_class(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    list: *mut u32,
    room: usize,
    count: *mut usize,
) -> StarlingStatus {
    let class = InteractionClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        service(ambassador, count, |f| {
            let found = f.available_dimensions_for_interaction_class(class)?;
            Ok(store(&found, list, room))
        })
    }
}

/// # Safety
/// `list` has room for `room` numbers.
pub(crate) unsafe fn store(found: &[DimensionHandle], list: *mut u32, room: usize) -> usize {
    for (i, dimension) in found.iter().enumerate().take(room) {
        // SAFETY: as above.
        unsafe { list.add(i).write(dimension.raw()) };
    }
    found.len()
}

/// Evoke Callback, §10.41. `more`: there are further callbacks.
///
/// # Safety
/// As in the crate's rules; `more` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_evoke_callback(
    ambassador: *const StarlingAmbassador,
    min_s: f64,
    more: *mut bool,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: as above.
        unsafe { more.write(living(ambassador)?.rti.evoke_callback(min_s)?) };
        Ok(())
    })
}

/// Evoke Multiple Callbacks, §10.42. `more`: there are further callbacks.
///
/// # Safety
/// As in the crate's rules; `more` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_evoke_multiple_callbacks(
    ambassador: *const StarlingAmbassador,
    min_s: f64,
    max_s: f64,
    more: *mut bool,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: as above.
        unsafe {
            more.write(
                living(ambassador)?
                    .rti
                    .evoke_multiple_callbacks(min_s, max_s)?,
            )
        };
        Ok(())
    })
}

/// Enable Callbacks, §10.43.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_enable_callbacks(
    ambassador: *const StarlingAmbassador,
) -> StarlingStatus {
    // SAFETY: as above.
    guarded(|| unsafe { living(ambassador) }?.rti.enable_callbacks())
}

/// Disable Callbacks, §10.44.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_disable_callbacks(
    ambassador: *const StarlingAmbassador,
) -> StarlingStatus {
    // SAFETY: as above.
    guarded(|| unsafe { living(ambassador) }?.rti.disable_callbacks())
}

/// NotConnected or FederateNotExecutionMember, if so: for a service that a façade does without
/// the core but whose pre-conditions are the standard's, by its name.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_require_joined(
    ambassador: *const StarlingAmbassador,
    name: StarlingText,
) -> StarlingStatus {
    use Service::*;
    let services = [
        GetFederateName,
        GetOrderType,
        GetOrderName,
        GetTransportationType,
        GetTransportationName,
        NormalizeFederateHandle,
        NormalizeServiceGroup,
        DecodeFederateHandle,
        DecodeObjectClassHandle,
        DecodeInteractionClassHandle,
        DecodeObjectInstanceHandle,
        DecodeAttributeHandle,
        DecodeParameterHandle,
        DecodeDimensionHandle,
        DecodeMessageRetractionHandle,
        DecodeRegionHandle,
    ];
    // SAFETY: as above.
    let name = unsafe { name.read() }.unwrap_or_default();
    let named = services.into_iter().find(|s| s.name() == name);
    let named = named.unwrap_or(GetTimeFactory);
    // SAFETY: as above.
    unsafe { service(ambassador, null_mut(), |f| f.require(named)) }
}
