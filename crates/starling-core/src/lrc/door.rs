//! What the standard asks of many services alike.

use crate::message::{AttributeRegions, ResignAction};
use crate::switches::switched_off;
use crate::{
    AttributeHandle, DimensionHandle, Exception, ExceptionKind, FederateHandle,
    InteractionClassHandle, LogicalTime, LogicalTimeInterval, MessageRetractionHandle,
    ObjectClassHandle, ObjectInstanceHandle, Order, ParameterHandle, RegionHandle, Service,
    ServiceGroup, Transportation,
};
use std::ops::BitAnd;

/// A set of pre-conditions. [`Service::preconditions`](crate::Service::preconditions) says which a
/// service has; the table is made from the exceptions that the C++ API of 2010 declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preconditions(u8);

impl Preconditions {
    /// NotConnected.
    pub const CONNECTED: Self = Preconditions(1);
    /// FederateNotExecutionMember.
    pub const JOINED: Self = Preconditions(1 << 1);
    /// CallNotAllowedFromWithinCallback.
    pub const OUTSIDE_CALLBACK: Self = Preconditions(1 << 2);
    /// SaveInProgress.
    pub const NO_SAVE: Self = Preconditions(1 << 3);
    /// RestoreInProgress.
    pub const NO_RESTORE: Self = Preconditions(1 << 4);
    /// RTIinternalError where `services.time` is off.
    pub const TIME: Self = Preconditions(1 << 5);
    /// RTIinternalError where `services.ddm` is off.
    pub const DDM: Self = Preconditions(1 << 6);

    /// With these bits, from the lowest: connected, joined, outside callback, no save, no restore,
    /// time management, data distribution management.
    pub(crate) const fn of_bits(bits: u8) -> Self {
        Preconditions(bits)
    }

    /// Whether it has all of `others`.
    pub fn has(self, others: Preconditions) -> bool {
        self & others == others
    }

    /// Whether there is none.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    #[inline]
    pub(crate) fn set(&mut self, which: Preconditions, on: bool) {
        if on {
            self.0 |= which.0
        } else {
            self.0 &= !which.0
        }
    }

    /// The exception for the first of them, in the order in which all services check. `lost`: why
    /// the connection has ended.
    pub fn refusal(self, lost: &str) -> Exception {
        let (kind, why) = if self.has(Self::CONNECTED) {
            let why = format!("the connection has ended: {lost}");
            return Exception::new(ExceptionKind::NotConnected, why);
        } else if self.has(Self::JOINED) {
            let why = "the federate has not joined a federation execution";
            (ExceptionKind::FederateNotExecutionMember, why)
        } else if self.has(Self::OUTSIDE_CALLBACK) {
            let why = "called within a callback of the same ambassador";
            (ExceptionKind::CallNotAllowedFromWithinCallback, why)
        } else if self.has(Self::NO_SAVE) {
            (ExceptionKind::SaveInProgress, "a save is in progress")
        } else if self.has(Self::NO_RESTORE) {
            (ExceptionKind::RestoreInProgress, "a restore is in progress")
        } else if self.has(Self::TIME) {
            return switched_off("it is a service of time management", "services.time");
        } else {
            let what = "it is a service of data distribution management";
            return switched_off(what, "services.ddm");
        };
        Exception::new(kind, why)
    }
}

impl Service {
    /// Whether it only looks up what this federate knows (chapter 10): names and handles of each other,
    /// and what the FDD says of them.
    pub(super) fn is_look_up(self) -> bool {
        let name = self.name();
        let kinds = ["get", "normalize", "decode"];
        kinds.iter().any(|kind| name.starts_with(kind))
    }
}

impl BitAnd for Preconditions {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        Preconditions(self.0 & other.0)
    }
}

/// How many bytes an argument takes in a message, at most; what is bounded anyway counts nothing.
pub(crate) trait Extent {
    fn extent(&self) -> usize;
}

macro_rules! bounded {
    ($($type:ty)*) => {$(
        impl Extent for $type {
            #[inline]
            fn extent(&self) -> usize {
                0
            }
        }
    )*};
}
bounded!(bool u64 AttributeHandle DimensionHandle FederateHandle InteractionClassHandle LogicalTime
    LogicalTimeInterval MessageRetractionHandle ObjectClassHandle ObjectInstanceHandle Order
    ParameterHandle RegionHandle ResignAction ServiceGroup Transportation Option<LogicalTime>);

/// A handle takes 10 bytes at most.
macro_rules! handles {
    ($($type:ty)*) => {$(
        impl Extent for [$type] {
            fn extent(&self) -> usize {
                10 * self.len()
            }
        }
    )*};
}
handles!(AttributeHandle DimensionHandle FederateHandle RegionHandle);

impl Extent for [u8] {
    fn extent(&self) -> usize {
        self.len()
    }
}

impl Extent for str {
    fn extent(&self) -> usize {
        self.len()
    }
}

impl Extent for Option<&str> {
    fn extent(&self) -> usize {
        self.map_or(0, str::len)
    }
}

impl Extent for [&str] {
    fn extent(&self) -> usize {
        self.iter().map(|name| 10 + name.len()).sum()
    }
}

impl Extent for [AttributeRegions] {
    fn extent(&self) -> usize {
        let of = |item: &AttributeRegions| 20 + item.attributes.extent() + item.regions.extent();
        self.iter().map(of).sum()
    }
}
