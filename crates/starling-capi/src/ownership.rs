//! Ownership management, chapter 7. Tags that the API of 2010 lacks may be empty.

use crate::boundary::{guarded, living, service};
use crate::declaration::attributes;
use crate::types::{StarlingAmbassador, StarlingBytes, StarlingStatus};
use starling::{AttributeHandle, ObjectInstanceHandle};
use std::ptr::null_mut;

/// Functions of an instance, attributes and a tag.
macro_rules! with_tag {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As in the crate's rules.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
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
                    f.$method(instance, &list, tag.read())
                })
            }
        }
    )*};
}

with_tag! {
    /// Unconditional Attribute Ownership Divestiture, 1516.1-2010 §7.2.
    starling_unconditional_attribute_ownership_divestiture unconditional_attribute_ownership_divestiture;
    /// Negotiated Attribute Ownership Divestiture, §7.3.
    starling_negotiated_attribute_ownership_divestiture negotiated_attribute_ownership_divestiture;
    /// Attribute Ownership Acquisition, §7.8.
    starling_attribute_ownership_acquisition attribute_ownership_acquisition;
    /// Attribute Ownership Acquisition If Available, §7.9.
    starling_attribute_ownership_acquisition_if_available attribute_ownership_acquisition_if_available;
    /// Attribute Ownership Release Denied, §7.12.
    starling_attribute_ownership_release_denied attribute_ownership_release_denied;
}

/// Functions of an instance and attributes.
macro_rules! without_tag {
    ($($(#[$doc:meta])* $name:ident $method:ident;)*) => {$(
        $(#[$doc])*
        ///
        /// # Safety
        /// As in the crate's rules.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            ambassador: *const StarlingAmbassador,
            instance: u64,
            attributes_: *const u32,
            attributes_count: usize,
        ) -> StarlingStatus {
            let instance = ObjectInstanceHandle(instance);
            // SAFETY: as above.
            unsafe {
                let list = attributes(attributes_, attributes_count);
                service(ambassador, null_mut(), |f| {
                    f.$method(instance, &list)
                })
            }
        }
    )*};
}

without_tag! {
    /// Cancel Negotiated Attribute Ownership Divestiture, 1516.1-2010 §7.14.
    starling_cancel_negotiated_attribute_ownership_divestiture cancel_negotiated_attribute_ownership_divestiture;
    /// Cancel Attribute Ownership Acquisition, §7.15.
    starling_cancel_attribute_ownership_acquisition cancel_attribute_ownership_acquisition;
    /// Query Attribute Ownership, §7.17.
    starling_query_attribute_ownership query_attribute_ownership;
}

/// Confirm Divestiture, §7.6. Waits for the federation's word.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_confirm_divestiture(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    attributes_: *const u32,
    attributes_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let instance = ObjectInstanceHandle(instance);
    guarded(|| {
        // SAFETY: as above.
        let (rti, list, tag) = unsafe {
            let list = attributes(attributes_, attributes_count);
            (&living(ambassador)?.rti, list, tag.read())
        };
        rti.confirm_divestiture(instance, &list, tag)
    })
}

/// Attribute Ownership Divestiture If Wanted, §7.13. Waits for the federation's word; stores the
/// divested attributes at `divested` and how many they are at `divested_count`.
///
/// # Safety
/// As in the crate's rules; `divested` has room for `attributes_count` numbers, `divested_count`
/// is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_attribute_ownership_divestiture_if_wanted(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    attributes_: *const u32,
    attributes_count: usize,
    tag: StarlingBytes,
    divested: *mut u32,
    divested_count: *mut usize,
) -> StarlingStatus {
    let instance = ObjectInstanceHandle(instance);
    guarded(|| {
        // SAFETY: as above.
        let (rti, list, tag) = unsafe {
            let list = attributes(attributes_, attributes_count);
            (&living(ambassador)?.rti, list, tag.read())
        };
        let gone = rti.attribute_ownership_divestiture_if_wanted(instance, &list, tag)?;
        let gone = &gone[..gone.len().min(attributes_count)];
        for (i, attribute) in gone.iter().enumerate() {
            // SAFETY: as above.
            unsafe { divested.add(i).write(attribute.raw()) };
        }
        // SAFETY: as above.
        unsafe { divested_count.write(gone.len()) };
        Ok(())
    })
}

/// Is Attribute Owned By Federate, §7.19.
///
/// # Safety
/// As in the crate's rules; `owned` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_is_attribute_owned_by_federate(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    attribute: u32,
    owned: *mut bool,
) -> StarlingStatus {
    let instance = ObjectInstanceHandle(instance);
    let attribute = AttributeHandle::from_raw(attribute);
    // SAFETY: as above.
    unsafe {
        service(ambassador, owned, |f| {
            f.is_attribute_owned_by_federate(instance, attribute)
        })
    }
}
