//! Object management, chapter 6.

use crate::boundary::service;
use crate::callbacks::transportation;
use crate::declaration::attributes;
use crate::types::{
    StarlingAmbassador, StarlingBytes, StarlingStatus, StarlingText, StarlingValue, slice,
};
use starling::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, ParameterHandle,
};
use starling::{Exception, Service};
use std::ptr::null_mut;

/// Values on the stack up to this number; more go to the heap.
const FEW: usize = 16;

/// Runs `work` on values as the core takes them.
///
/// # Safety
/// `values` points to `count` readable values, whose bytes are readable.
pub(crate) unsafe fn with_values<H: Copy, T>(
    values: *const StarlingValue,
    count: usize,
    handle: fn(u32) -> H,
    work: impl FnOnce(&[(H, &[u8])]) -> T,
) -> T {
    // SAFETY: as above.
    let values = unsafe { slice(values, count) };
    // SAFETY: as above.
    let pair = |v: &StarlingValue| (handle(v.handle), unsafe { v.value.read() });
    if values.len() <= FEW {
        let mut few = [(handle(0), &[][..]); FEW];
        for (place, value) in few.iter_mut().zip(values) {
            *place = pair(value);
        }
        return work(&few[..values.len()]);
    }
    work(&values.iter().map(pair).collect::<Vec<_>>())
}

/// Functions of one name.
macro_rules! of_name {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As in the crate's rules.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            ambassador: *const StarlingAmbassador,
            name: StarlingText,
        ) -> StarlingStatus {
            // SAFETY: as above.
            unsafe {
                service(ambassador, null_mut(), |f| f.$method(name.read()?))
            }
        }
    )*};
}

of_name! {
    /// Reserve Object Instance Name, 1516.1-2010 §6.2.
    starling_reserve_object_instance_name reserve_object_instance_name;
    /// Release Object Instance Name, §6.4.
    starling_release_object_instance_name release_object_instance_name;
}

/// Functions of a set of names.
macro_rules! of_names {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As in the crate's rules.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            ambassador: *const StarlingAmbassador,
            names: *const StarlingText,
            names_count: usize,
        ) -> StarlingStatus {
            // SAFETY: as above.
            unsafe {
                service(ambassador, null_mut(), |f| {
                    let names = slice(names, names_count).iter().map(|n| n.read());
                    f.$method(&names.collect::<Result<Vec<_>, Exception>>()?)
                })
            }
        }
    )*};
}

of_names! {
    /// Reserve Multiple Object Instance Name, 1516.1-2010 §6.5.
    starling_reserve_multiple_object_instance_name reserve_multiple_object_instance_name;
    /// Release Multiple Object Instance Name, §6.7.
    starling_release_multiple_object_instance_name release_multiple_object_instance_name;
}

/// Register Object Instance, §6.8. `name.data` null: the RTI makes a name.
///
/// # Safety
/// As in the crate's rules; `instance` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_register_object_instance(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    name: StarlingText,
    instance: *mut u64,
) -> StarlingStatus {
    let class = ObjectClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        service(ambassador, instance, |f| {
            let name = match name.data.is_null() {
                true => None,
                false => Some(name.read()?),
            };
            Ok(f.register_object_instance(class, name)?.0)
        })
    }
}

/// Update Attribute Values, §6.10, in receive order.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_update_attribute_values(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    values: *const StarlingValue,
    values_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let instance = ObjectInstanceHandle(instance);
    // SAFETY: as above.
    unsafe {
        let handle = starling::AttributeHandle::from_raw;
        with_values(values, values_count, handle, |values| {
            service(ambassador, null_mut(), |f| {
                f.update_attribute_values(instance, values, tag.read())
            })
        })
    }
}

/// Send Interaction, §6.12, in receive order.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_send_interaction(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    values: *const StarlingValue,
    values_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let class = InteractionClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        with_values(values, values_count, ParameterHandle::from_raw, |values| {
            service(ambassador, null_mut(), |f| {
                f.send_interaction(class, values, tag.read())
            })
        })
    }
}

/// Delete Object Instance, §6.14, in receive order.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_delete_object_instance(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    tag: StarlingBytes,
) -> StarlingStatus {
    let instance = ObjectInstanceHandle(instance);
    // SAFETY: as above.
    unsafe {
        service(ambassador, null_mut(), |f| {
            f.delete_object_instance(instance, tag.read())
        })
    }
}

/// Local Delete Object Instance, §6.16.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_local_delete_object_instance(
    ambassador: *const StarlingAmbassador,
    instance: u64,
) -> StarlingStatus {
    let instance = ObjectInstanceHandle(instance);
    // SAFETY: as above.
    unsafe {
        service(ambassador, null_mut(), |f| {
            f.local_delete_object_instance(instance)
        })
    }
}

/// Request Attribute Value Update of an instance, §6.19.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_request_instance_attribute_value_update(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    attributes_: *const u32,
    attributes_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let instance = ObjectInstanceHandle(instance);
    // SAFETY: as above.
    unsafe {
        let list = attributes(attributes_, attributes_count);
        service(ambassador, null_mut(), |f| {
            f.request_instance_attribute_value_update(instance, &list, tag.read())
        })
    }
}

/// Request Attribute Value Update of a class, §6.19.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_request_class_attribute_value_update(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    attributes_: *const u32,
    attributes_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let class = ObjectClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        let list = attributes(attributes_, attributes_count);
        service(ambassador, null_mut(), |f| {
            f.request_class_attribute_value_update(class, &list, tag.read())
        })
    }
}

/// Request Attribute Transportation Type Change, §6.23. Transportation: 1 reliable, 2 best effort.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_request_attribute_transportation_type_change(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    attributes_: *const u32,
    attributes_count: usize,
    transportation_: u32,
) -> StarlingStatus {
    // SAFETY: as above.
    unsafe {
        let list = attributes(attributes_, attributes_count);
        service(ambassador, null_mut(), |f| {
            let change = Service::RequestAttributeTransportationTypeChange;
            f.require(change)?;
            let to = transportation(transportation_).map_err(|e| e.in_service(change))?;
            let instance = ObjectInstanceHandle(instance);
            f.request_attribute_transportation_type_change(instance, &list, to)
        })
    }
}

/// Query Attribute Transportation Type, §6.25.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_query_attribute_transportation_type(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    attribute: u32,
) -> StarlingStatus {
    let (instance, attribute) = (
        ObjectInstanceHandle(instance),
        AttributeHandle::from_raw(attribute),
    );
    // SAFETY: as above.
    unsafe {
        service(ambassador, null_mut(), |f| {
            f.query_attribute_transportation_type(instance, attribute)
        })
    }
}

/// Request Interaction Transportation Type Change, §6.27.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_request_interaction_transportation_type_change(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    transportation_: u32,
) -> StarlingStatus {
    let class = InteractionClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        service(ambassador, null_mut(), |f| {
            let change = Service::RequestInteractionTransportationTypeChange;
            f.require(change)?;
            let to = transportation(transportation_).map_err(|e| e.in_service(change))?;
            f.request_interaction_transportation_type_change(class, to)
        })
    }
}

/// Query Interaction Transportation Type, §6.29.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_query_interaction_transportation_type(
    ambassador: *const StarlingAmbassador,
    federate: u32,
    class_: u32,
) -> StarlingStatus {
    let class = InteractionClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        service(ambassador, null_mut(), |f| {
            f.query_interaction_transportation_type(FederateHandle(federate), class)
        })
    }
}
