//! Plain data that crosses the boundary, and how arguments are read.
//!
//! What is read by pointer lives as long as the borrow of the pointer itself, which is a variable of
//! the C function that is called: nothing that is read can outlive the call.

use starling::{
    AttributeHandle, AttributeRegions, Exception, ExceptionKind, FederateHandle,
    FederationInformation, LogicalTime, LogicalTimeInterval, MessageTime, Order, RegionHandle,
    ResignAction, RestoreState, RtiAmbassador, SaveStatus, ServiceGroup, TimeType, Transportation,
};

/// 0, or the number of the standard's exception.
pub type StarlingStatus = u32;

/// Version of this ABI; grows when a function or field changes its meaning.
pub const STARLING_ABI_VERSION: u32 = 2;

/// An RTI ambassador.
pub struct StarlingAmbassador {
    pub(crate) rti: RtiAmbassador,
}

/// UTF-8 text, not ended by a 0. `data` may be null if `size` is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingText {
    /// First byte.
    pub data: *const u8,
    /// In bytes.
    pub size: usize,
}

/// Any bytes. `data` may be null if `size` is 0.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingBytes {
    /// First byte.
    pub data: *const u8,
    /// In bytes.
    pub size: usize,
}

/// A handle of an attribute or parameter with its value.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingValue {
    /// The attribute's or parameter's handle.
    pub handle: u32,
    /// Its value, encoded as the FOM says.
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

/// A federate in federationSaveStatusResponse.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingSaveStatus {
    /// Its handle.
    pub federate: u32,
    /// 0 no save in progress, 1 instructed to save, 2 saving, 3 waiting for the federation to save.
    pub status: u32,
}

/// A federate in federationRestoreStatusResponse.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingRestoreStatus {
    /// Its handle before the restore.
    pub before: u32,
    /// Its handle after the restore.
    pub after: u32,
    /// 0 no restore in progress, 1 its request is pending, 2 waiting for the restore to begin,
    /// 3 prepared to restore, 4 restoring, 5 waiting for the federation to restore.
    pub status: u32,
}

/// Handles of regions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingRegions {
    /// The first; may be null if there are none.
    pub data: *const u64,
    /// How many.
    pub size: usize,
}

/// A result that is a list of handles.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingHandles {
    /// The first; may be null if there are none.
    pub data: *const u32,
    /// How many.
    pub size: usize,
}

/// A range of a dimension: from `lower` up to, but without, `upper`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingRange {
    /// The least value in it.
    pub lower: u64,
    /// The least value above it.
    pub upper: u64,
}

/// Attributes, each of them with each of these regions.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingAttributeRegions {
    /// The first attribute; may be null if there are none.
    pub attributes: *const u32,
    /// How many attributes.
    pub attributes_count: usize,
    /// The first region; may be null if there are none.
    pub regions: *const u64,
    /// How many regions.
    pub regions_count: usize,
}

/// A logical time or an interval.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingTime {
    /// 0 HLAinteger64Time, 1 HLAfloat64Time, 2 there is none; any other number is refused as a time of
    /// another type.
    pub kind: u32,
    /// The 64 bits of the value: two's complement, or IEEE 754.
    pub bits: u64,
}

/// What is said of the time of a message that is delivered.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingMessageTime {
    /// Its time stamp.
    pub time: StarlingTime,
    /// How it was sent: 1 receive order, 2 time-stamp order.
    pub sent_order: u32,
    /// How it is received: 1 receive order, 2 time-stamp order.
    pub received_order: u32,
    /// Its message retraction handle; 0 if it was sent in receive order.
    pub retraction: u64,
}

impl StarlingTime {
    fn made(of: TimeType, bits: u64) -> Self {
        let kind = match of {
            TimeType::Integer64 => 0,
            TimeType::Float64 => 1,
        };
        StarlingTime { kind, bits }
    }

    pub(crate) fn of(time: LogicalTime) -> Self {
        Self::made(time.time_type(), time.to_bits())
    }

    pub(crate) fn of_interval(interval: LogicalTimeInterval) -> Self {
        Self::made(interval.time_type(), interval.to_bits())
    }

    pub(crate) fn of_any(time: Option<LogicalTime>) -> Self {
        time.map_or(StarlingTime { kind: 2, bits: 0 }, Self::of)
    }

    fn time_type(self) -> Option<TimeType> {
        match self.kind {
            0 => Some(TimeType::Integer64),
            1 => Some(TimeType::Float64),
            _ => None,
        }
    }

    pub(crate) fn time_if_any(self) -> Result<Option<LogicalTime>, Exception> {
        match self.kind {
            2 => Ok(None),
            _ => self.time().map(Some),
        }
    }

    pub(crate) fn time(self) -> Result<LogicalTime, Exception> {
        let time = self.known();
        time.ok_or_else(|| self.refused(ExceptionKind::InvalidLogicalTime))
    }

    /// The time, if it is one.
    #[inline(always)]
    pub(crate) fn known(self) -> Option<LogicalTime> {
        LogicalTime::from_bits(self.time_type()?, self.bits)
    }

    pub(crate) fn interval(self) -> Result<LogicalTimeInterval, Exception> {
        let interval = self.time_type();
        let interval = interval.and_then(|of| LogicalTimeInterval::from_bits(of, self.bits));
        interval.ok_or_else(|| self.refused(ExceptionKind::InvalidLookahead))
    }

    /// Only a floating-point type has bits that are no value of it.
    fn refused(self, kind: ExceptionKind) -> Exception {
        let value = f64::from_bits(self.bits);
        Exception::new(
            kind,
            match self.time_type() {
                None => "it is of neither HLAinteger64Time nor HLAfloat64Time".to_owned(),
                Some(_) if value.is_nan() => "it is NaN, not a number".to_owned(),
                Some(_) => format!("it is {value}, beyond the final time"),
            },
        )
    }
}

impl StarlingMessageTime {
    pub(crate) fn of(time: &MessageTime) -> Self {
        StarlingMessageTime {
            time: StarlingTime::of(time.time),
            sent_order: time.sent.number(),
            received_order: time.received.number(),
            retraction: time.retraction.0,
        }
    }
}

impl StarlingRegions {
    pub(crate) fn of(regions: &[u64]) -> Self {
        StarlingRegions {
            data: regions.as_ptr(),
            size: regions.len(),
        }
    }
}

impl StarlingRange {
    pub(crate) fn of((lower, upper): (u32, u32)) -> Self {
        StarlingRange {
            lower: lower.into(),
            upper: upper.into(),
        }
    }
}

impl StarlingFederation {
    pub(crate) fn of(federation: &FederationInformation) -> Self {
        StarlingFederation {
            name: StarlingText::of(&federation.name),
            time: StarlingText::of(&federation.time_implementation),
        }
    }
}

impl StarlingSaveStatus {
    pub(crate) fn of((federate, status): &(FederateHandle, SaveStatus)) -> Self {
        StarlingSaveStatus {
            federate: federate.0,
            status: *status as u32,
        }
    }
}

impl StarlingRestoreStatus {
    pub(crate) fn of(state: &RestoreState) -> Self {
        StarlingRestoreStatus {
            before: state.before.0,
            after: state.after.0,
            status: state.status as u32,
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

    /// The argument `name`.
    ///
    /// # Safety
    /// As for [`list`].
    pub(crate) unsafe fn read(&self, name: &str) -> Result<&str, Exception> {
        // SAFETY: the caller vouches for it.
        let bytes = unsafe { list(&self.data, self.size, name) }?;
        std::str::from_utf8(bytes).map_err(|e| refused(format!("the argument {name}: {e}")))
    }

    /// The argument `name`, which is none where `data` is null.
    ///
    /// # Safety
    /// As for [`list`].
    pub(crate) unsafe fn read_optional(&self, name: &str) -> Result<Option<&str>, Exception> {
        if self.data.is_null() && self.size == 0 {
            return Ok(None);
        }
        // SAFETY: the caller vouches for it.
        unsafe { self.read(name) }.map(Some)
    }
}

impl StarlingBytes {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        StarlingBytes {
            data: bytes.as_ptr(),
            size: bytes.len(),
        }
    }

    /// The argument `name`.
    ///
    /// # Safety
    /// As for [`list`].
    #[inline]
    pub(crate) unsafe fn read(&self, name: &str) -> Result<&[u8], Exception> {
        // SAFETY: the caller vouches for it.
        unsafe { list(&self.data, self.size, name) }
    }

    /// The same; none: it can't be read.
    ///
    /// # Safety
    /// As for [`list`].
    #[inline(always)]
    pub(crate) unsafe fn readable(&self) -> Option<&[u8]> {
        // SAFETY: the caller vouches for it.
        unsafe { readable(&self.data, self.size) }
    }
}

/// The argument `name`, an array.
///
/// # Safety
/// Unless it is null, `data` points to `size` elements that can be read and that nobody changes
/// while `data` is borrowed.
#[inline]
pub(crate) unsafe fn list<'a, T>(
    data: &'a *const T,
    size: usize,
    name: &str,
) -> Result<&'a [T], Exception> {
    // SAFETY: the caller vouches for it.
    let list = unsafe { readable(data, size) };
    list.ok_or_else(|| no_list(data.is_null(), size, name))
}

/// The same; none: it can't be read.
///
/// # Safety
/// As for [`list`].
#[inline(always)]
pub(crate) unsafe fn readable<T>(data: &*const T, size: usize) -> Option<&[T]> {
    if size == 0 {
        return Some(&[]);
    }
    if data.is_null() || !data.is_aligned() || size > isize::MAX as usize / size_of::<T>() {
        return None;
    }
    // SAFETY: not null, aligned, not too large, and the caller vouches for the rest.
    Some(unsafe { std::slice::from_raw_parts(*data, size) })
}

#[cold]
fn no_list(null: bool, size: usize, name: &str) -> Exception {
    let what = if null {
        "null"
    } else {
        "not aligned or too large"
    };
    refused(format!(
        "the argument {name} is {what}, its size or count is {size}"
    ))
}

/// What is wrong with how the library is called, not with what a service is asked.
pub(crate) fn refused(why: impl Into<String>) -> Exception {
    Exception::new(ExceptionKind::RTIinternalError, why)
}

/// The argument `name`, handles.
///
/// # Safety
/// As for [`list`].
pub(crate) unsafe fn handles<N: Copy, H>(
    data: &*const N,
    count: usize,
    name: &str,
    handle: fn(N) -> H,
) -> Result<Vec<H>, Exception> {
    // SAFETY: the caller vouches for it.
    let numbers = unsafe { list(data, count, name) }?;
    Ok(numbers.iter().map(|n| handle(*n)).collect())
}

/// The argument `name`, texts.
///
/// # Safety
/// As for [`list`], also for each of the texts.
pub(crate) unsafe fn texts<'a>(
    data: &'a *const StarlingText,
    count: usize,
    name: &str,
) -> Result<Vec<&'a str>, Exception> {
    // SAFETY: the caller vouches for it.
    let texts = unsafe { list(data, count, name) }?;
    // SAFETY: the caller vouches for each text, too; it lives as long as the list.
    texts.iter().map(|t| unsafe { t.read(name) }).collect()
}

/// The argument `name`, texts that the library keeps.
///
/// # Safety
/// As for [`texts`].
pub(crate) unsafe fn strings(
    data: &*const StarlingText,
    count: usize,
    name: &str,
) -> Result<Vec<String>, Exception> {
    // SAFETY: the caller vouches for it.
    let texts = unsafe { texts(data, count, name) }?;
    Ok(texts.into_iter().map(str::to_owned).collect())
}

/// The argument `name`, attributes with regions.
///
/// # Safety
/// As for [`list`], also for the lists in each element.
pub(crate) unsafe fn attribute_regions(
    data: &*const StarlingAttributeRegions,
    count: usize,
    name: &str,
) -> Result<Vec<AttributeRegions>, Exception> {
    // SAFETY: the caller vouches for it.
    let items = unsafe { list(data, count, name) }?;
    let read = |item: &StarlingAttributeRegions| {
        let (attributes, regions) = (item.attributes_count, item.regions_count);
        // SAFETY: the caller vouches for the lists in it, too.
        unsafe {
            Ok(AttributeRegions {
                attributes: handles(
                    &item.attributes,
                    attributes,
                    name,
                    AttributeHandle::from_raw,
                )?,
                regions: handles(&item.regions, regions, name, RegionHandle)?,
            })
        }
    };
    items.iter().map(read).collect()
}

/// Enumerators, by the numbers of the C++ API of 2010.
pub(crate) trait Numbered: Sized {
    /// The enumerator with this number.
    fn numbered(number: u32) -> Result<Self, Exception>;
    /// Its number.
    fn number(self) -> u32;
}

/// Which number is which enumerator, and what the standard throws at others.
macro_rules! numbered {
    ($($kind:ident, $text:literal, $thrown:ident: $($number:literal $which:ident),*;)*) => {$(
        impl Numbered for $kind {
            fn numbered(number: u32) -> Result<Self, Exception> {
                match number {
                    $($number => Ok($kind::$which),)*
                    _ => {
                        let why = format!("{number} is no {}", $text);
                        Err(Exception::new(ExceptionKind::$thrown, why))
                    }
                }
            }

            fn number(self) -> u32 {
                match self {
                    $($kind::$which => $number,)*
                }
            }
        }
    )*};
}

numbered! {
    Order, "order type", InvalidOrderType: 1 Receive, 2 TimeStamp;
    ResignAction, "resign action", InvalidResignAction: 0 UnconditionallyDivestAttributes, 1 DeleteObjects,
        2 CancelPendingOwnershipAcquisitions, 3 DeleteObjectsThenDivest,
        4 CancelThenDeleteThenDivest, 5 NoAction;
    ServiceGroup, "service group", InvalidServiceGroup: 0 FederationManagement, 1 DeclarationManagement,
        2 ObjectManagement, 3 OwnershipManagement, 4 TimeManagement,
        5 DataDistributionManagement, 6 SupportServices;
    Transportation, "transportation type", InvalidTransportationType: 1 Reliable, 2 BestEffort;
}
