//! Data distribution management, chapter 9, and the support services for regions.

use crate::boundary::service;
use crate::declaration::attributes;
use crate::object::with_values;
use crate::support::store;
use crate::types::{
    StarlingAmbassador, StarlingAttributeRegions, StarlingBytes, StarlingStatus, StarlingText,
    StarlingValue, slice,
};
use starling::AttributeRegions;
use starling::{
    DimensionHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    ParameterHandle, RegionHandle,
};
use std::ptr::null_mut;

/// # Safety
/// `list` points to `count` readable numbers.
unsafe fn regions(list: *const u64, count: usize) -> Vec<RegionHandle> {
    // SAFETY: as above.
    let list = unsafe { slice(list, count) };
    list.iter().map(|r| RegionHandle(*r)).collect()
}

/// # Safety
/// `list` points to `count` readable elements, whose lists are readable.
unsafe fn attribute_regions(
    list: *const StarlingAttributeRegions,
    count: usize,
) -> Vec<AttributeRegions> {
    // SAFETY: as above.
    let list = unsafe { slice(list, count) };
    let of = |item: &StarlingAttributeRegions| {
        // SAFETY: as above.
        unsafe {
            AttributeRegions {
                attributes: attributes(item.attributes, item.attributes_count),
                regions: regions(item.regions, item.regions_count),
            }
        }
    };
    list.iter().map(of).collect()
}

/// Create Region, 1516.1-2010 §9.2.
///
/// # Safety
/// As in the crate's rules; `region` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_create_region(
    ambassador: *const StarlingAmbassador,
    dimensions: *const u32,
    dimensions_count: usize,
    region: *mut u64,
) -> StarlingStatus {
    // SAFETY: as above.
    unsafe {
        let list = slice(dimensions, dimensions_count).iter();
        let list: Vec<_> = list.map(|d| DimensionHandle::from_raw(*d)).collect();
        service(ambassador, region, |f| Ok(f.create_region(&list)?.0))
    }
}

/// Commit Region Modifications, §9.3.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_commit_region_modifications(
    ambassador: *const StarlingAmbassador,
    regions_: *const u64,
    regions_count: usize,
) -> StarlingStatus {
    // SAFETY: as above.
    unsafe {
        let list = regions(regions_, regions_count);
        service(ambassador, null_mut(), |f| {
            f.commit_region_modifications(&list)
        })
    }
}

/// Delete Region, §9.4.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_delete_region(
    ambassador: *const StarlingAmbassador,
    region: u64,
) -> StarlingStatus {
    // SAFETY: as above.
    unsafe {
        service(ambassador, null_mut(), |f| {
            f.delete_region(RegionHandle(region))
        })
    }
}

/// Register Object Instance With Regions, §9.5. `name.data` null: the RTI makes a name.
///
/// # Safety
/// As in the crate's rules; `instance` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_register_object_instance_with_regions(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    regions_: *const StarlingAttributeRegions,
    regions_count: usize,
    name: StarlingText,
    instance: *mut u64,
) -> StarlingStatus {
    let class = ObjectClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        let list = attribute_regions(regions_, regions_count);
        service(ambassador, instance, |f| {
            let name = match name.data.is_null() {
                true => None,
                false => Some(name.read()?),
            };
            Ok(f.register_object_instance_with_regions(class, &list, name)?
                .0)
        })
    }
}

/// Functions of an instance, attributes and regions.
macro_rules! of_instance {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As in the crate's rules.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            ambassador: *const StarlingAmbassador,
            instance: u64,
            regions_: *const StarlingAttributeRegions,
            regions_count: usize,
        ) -> StarlingStatus {
            let instance = ObjectInstanceHandle(instance);
            // SAFETY: as above.
            unsafe {
                let list = attribute_regions(regions_, regions_count);
                service(ambassador, null_mut(), |f| f.$method(instance, &list))
            }
        }
    )*};
}

of_instance! {
    /// Associate Regions For Updates, 1516.1-2010 §9.6.
    starling_associate_regions_for_updates associate_regions_for_updates;
    /// Unassociate Regions For Updates, §9.7.
    starling_unassociate_regions_for_updates unassociate_regions_for_updates;
}

/// Subscribe Object Class Attributes With Regions, §9.8. An empty `rate` is no reduction.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_subscribe_object_class_attributes_with_regions(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    regions_: *const StarlingAttributeRegions,
    regions_count: usize,
    active: bool,
    rate: StarlingText,
) -> StarlingStatus {
    let class = ObjectClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        let list = attribute_regions(regions_, regions_count);
        service(ambassador, null_mut(), |f| {
            let rate = rate.read()?;
            f.subscribe_object_class_attributes_with_regions(class, &list, active, rate)
        })
    }
}

/// Unsubscribe Object Class Attributes With Regions, §9.9.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_unsubscribe_object_class_attributes_with_regions(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    regions_: *const StarlingAttributeRegions,
    regions_count: usize,
) -> StarlingStatus {
    let class = ObjectClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        let list = attribute_regions(regions_, regions_count);
        service(ambassador, null_mut(), |f| {
            f.unsubscribe_object_class_attributes_with_regions(class, &list)
        })
    }
}

/// Subscribe Interaction Class With Regions, §9.10.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_subscribe_interaction_class_with_regions(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    regions_: *const u64,
    regions_count: usize,
    active: bool,
) -> StarlingStatus {
    let class = InteractionClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        let list = regions(regions_, regions_count);
        service(ambassador, null_mut(), |f| {
            f.subscribe_interaction_class_with_regions(class, &list, active)
        })
    }
}

/// Unsubscribe Interaction Class With Regions, §9.11.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_unsubscribe_interaction_class_with_regions(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    regions_: *const u64,
    regions_count: usize,
) -> StarlingStatus {
    let class = InteractionClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        let list = regions(regions_, regions_count);
        service(ambassador, null_mut(), |f| {
            f.unsubscribe_interaction_class_with_regions(class, &list)
        })
    }
}

/// Send Interaction With Regions, §9.12, in receive order.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_send_interaction_with_regions(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    values: *const StarlingValue,
    values_count: usize,
    regions_: *const u64,
    regions_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let class = InteractionClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        let list = regions(regions_, regions_count);
        with_values(values, values_count, ParameterHandle::from_raw, |values| {
            service(ambassador, null_mut(), |f| {
                f.send_interaction_with_regions(class, values, &list, tag.read())
            })
        })
    }
}

/// Request Attribute Value Update With Regions, §9.13.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_request_attribute_value_update_with_regions(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    regions_: *const StarlingAttributeRegions,
    regions_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let class = ObjectClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        let list = attribute_regions(regions_, regions_count);
        service(ambassador, null_mut(), |f| {
            f.request_attribute_value_update_with_regions(class, &list, tag.read())
        })
    }
}

/// Get Dimension Handle Set, §10.28: at most `room` are stored at `list`; `count` is how many
/// there are.
///
/// # Safety
/// As in the crate's rules; `list` has room for `room` numbers, `count` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_get_dimension_handle_set(
    ambassador: *const StarlingAmbassador,
    region: u64,
    list: *mut u32,
    room: usize,
    count: *mut usize,
) -> StarlingStatus {
    // SAFETY: as above.
    unsafe {
        service(ambassador, count, |f| {
            let found = f.dimension_handle_set(RegionHandle(region))?;
            Ok(store(&found, list, room))
        })
    }
}

/// Get Range Bounds, §10.29.
///
/// # Safety
/// As in the crate's rules; `lower` and `upper` are writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_get_range_bounds(
    ambassador: *const StarlingAmbassador,
    region: u64,
    dimension: u32,
    lower: *mut u64,
    upper: *mut u64,
) -> StarlingStatus {
    let dimension = DimensionHandle::from_raw(dimension);
    // SAFETY: as above.
    unsafe {
        service(ambassador, upper, |f| {
            let bounds = f.range_bounds(RegionHandle(region), dimension)?;
            lower.write(bounds.0.into());
            Ok(bounds.1.into())
        })
    }
}

/// Set Range Bounds, §10.30.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_set_range_bounds(
    ambassador: *const StarlingAmbassador,
    region: u64,
    dimension: u32,
    lower: u64,
    upper: u64,
) -> StarlingStatus {
    let dimension = DimensionHandle::from_raw(dimension);
    // SAFETY: as above.
    unsafe {
        service(ambassador, null_mut(), |f| {
            f.set_range_bounds(RegionHandle(region), dimension, lower, upper)
        })
    }
}
