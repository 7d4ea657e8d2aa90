//! Plain data that crosses the boundary.

use starling::{Exception, ExceptionKind, RtiAmbassador};

/// 0, or the number of the standard's exception.
pub type StarlingStatus = u32;

/// Version of this ABI; grows when a function or field changes its meaning.
pub const STARLING_ABI_VERSION: u32 = 1;

/// An RTI ambassador.
pub struct StarlingAmbassador {
    pub(crate) rti: RtiAmbassador,
}

/// UTF-8 text. `data` may be null if `size` is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingText {
    /// First byte.
    pub data: *const u8,
    /// Bytes.
    pub size: usize,
}

/// Bytes. `data` may be null if `size` is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingBytes {
    /// First byte.
    pub data: *const u8,
    /// Bytes.
    pub size: usize,
}

/// A handle of an attribute or parameter with its value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingValue {
    /// The handle's number.
    pub handle: u32,
    /// The value.
    pub value: StarlingBytes,
}

/// A federation execution in reportFederationExecutions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingFederation {
    /// Its name.
    pub name: StarlingText,
    /// Its logical time implementation.
    pub time: StarlingText,
}

/// Handles of regions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingRegions {
    /// The first.
    pub data: *const u64,
    /// How many.
    pub size: usize,
}

/// Attributes, each of them with each of these regions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingAttributeRegions {
    /// The first attribute.
    pub attributes: *const u32,
    /// How many.
    pub attributes_count: usize,
    /// The first region.
    pub regions: *const u64,
    /// How many.
    pub regions_count: usize,
}

impl StarlingRegions {
    pub(crate) fn of(regions: &[u64]) -> Self {
        StarlingRegions {
            data: regions.as_ptr(),
            size: regions.len(),
        }
    }
}

impl StarlingText {
    pub(crate) fn of(text: &str) -> Self {
        StarlingText {
            data: text.as_ptr(),
            size: text.len(),
        }
    }

    /// # Safety
    /// `data` points to `size` readable bytes, or `size` is 0, for as long as `'a`.
    pub(crate) unsafe fn read<'a>(self) -> Result<&'a str, Exception> {
        // SAFETY: as above.
        let bytes = unsafe { slice(self.data, self.size) };
        std::str::from_utf8(bytes).map_err(|_| {
            Exception::new(
                ExceptionKind::RTIinternalError,
                "a text argument is not UTF-8",
            )
        })
    }
}

impl StarlingBytes {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        StarlingBytes {
            data: bytes.as_ptr(),
            size: bytes.len(),
        }
    }

    /// # Safety
    /// `data` points to `size` readable bytes, or `size` is 0, for as long as `'a`.
    pub(crate) unsafe fn read<'a>(self) -> &'a [u8] {
        // SAFETY: as above.
        unsafe { slice(self.data, self.size) }
    }
}

/// An array argument.
///
/// # Safety
/// `data` points to `size` readable elements, or `size` is 0, for as long as `'a`.
pub(crate) unsafe fn slice<'a, T>(data: *const T, size: usize) -> &'a [T] {
    match size == 0 || data.is_null() {
        true => &[],
        // SAFETY: as above.
        false => unsafe { std::slice::from_raw_parts(data, size) },
    }
}
