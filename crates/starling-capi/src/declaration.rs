//! Declaration management, chapter 5.

use crate::boundary::service;
use crate::types::{StarlingAmbassador, StarlingStatus, StarlingText, slice};
use starling::{AttributeHandle, InteractionClassHandle, ObjectClassHandle};
use std::ptr::null_mut;

/// # Safety
/// `list` points to `count` readable numbers.
pub(crate) unsafe fn attributes(list: *const u32, count: usize) -> Vec<AttributeHandle> {
    // SAFETY: as above.
    let list = unsafe { slice(list, count) };
    list.iter().map(|a| AttributeHandle::from_raw(*a)).collect()
}

/// Functions of an object class and attributes.
macro_rules! of_class_and_attributes {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As in the crate's rules.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            ambassador: *const StarlingAmbassador,
            class_: u32,
            attributes_: *const u32,
            attributes_count: usize,
        ) -> StarlingStatus {
            let class = ObjectClassHandle::from_raw(class_);
            // SAFETY: as above.
            unsafe {
                let list = attributes(attributes_, attributes_count);
                service(ambassador, null_mut(), |f| f.$method(class, &list))
            }
        }
    )*};
}

of_class_and_attributes! {
    /// Publish Object Class Attributes, 1516.1-2010 §5.2.
    starling_publish_object_class_attributes publish_object_class_attributes;
    /// Unpublish Object Class Attributes, §5.3.
    starling_unpublish_object_class_attributes unpublish_object_class_attributes;
    /// Unsubscribe Object Class Attributes, §5.7.
    starling_unsubscribe_object_class_attributes unsubscribe_object_class_attributes;
}

/// Functions of one class.
macro_rules! of_class {
    ($($(#[$doc:meta])* $name:ident $handle:ident $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As in the crate's rules.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            ambassador: *const StarlingAmbassador,
            class_: u32,
        ) -> StarlingStatus {
            let class = $handle::from_raw(class_);
            // SAFETY: as above.
            unsafe { service(ambassador, null_mut(), |f| f.$method(class)) }
        }
    )*};
}

of_class! {
    /// Unpublish Object Class, 1516.1-2010 §5.3.
    starling_unpublish_object_class ObjectClassHandle unpublish_object_class;
    /// Unsubscribe Object Class, §5.7.
    starling_unsubscribe_object_class ObjectClassHandle unsubscribe_object_class;
    /// Publish Interaction Class, §5.4.
    starling_publish_interaction_class InteractionClassHandle publish_interaction_class;
    /// Unpublish Interaction Class, §5.5.
    starling_unpublish_interaction_class InteractionClassHandle unpublish_interaction_class;
    /// Unsubscribe Interaction Class, §5.9.
    starling_unsubscribe_interaction_class InteractionClassHandle unsubscribe_interaction_class;
}

/// Subscribe Object Class Attributes, §5.6. An empty `rate` is no reduction.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_subscribe_object_class_attributes(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    attributes_: *const u32,
    attributes_count: usize,
    active: bool,
    rate: StarlingText,
) -> StarlingStatus {
    let class = ObjectClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        let list = attributes(attributes_, attributes_count);
        service(ambassador, null_mut(), |f| {
            f.subscribe_object_class_attributes(class, &list, active, rate.read()?)
        })
    }
}

/// Subscribe Interaction Class, §5.8.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_subscribe_interaction_class(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    active: bool,
) -> StarlingStatus {
    let class = InteractionClassHandle::from_raw(class_);
    // SAFETY: as above.
    unsafe {
        service(ambassador, null_mut(), |f| {
            f.subscribe_interaction_class(class, active)
        })
    }
}
