//! What the standard asks of many services alike.

use crate::federation::restore::RestoreStage;
use crate::federation::save::{SaveStatus, Stages};
use crate::message::{AttributeRegions, ResignAction};
use crate::switches::switched_off;
use crate::{
    AttributeHandle, DimensionHandle, Exception, ExceptionKind, FederateHandle,
    InteractionClassHandle, LogicalTime, LogicalTimeInterval, MessageRetractionHandle,
    ObjectClassHandle, ObjectInstanceHandle, Order, ParameterHandle, RegionHandle, ServiceGroup,
    Transportation,
};
use std::ops::BitAnd;

/// A set of pre-conditions. [`Service::preconditions`](crate::Service::preconditions) says which a
/// service has; the table is made from the exceptions that the C++ API of 2010 declares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Preconditions(u16);

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
    /// SaveNotInitiated.
    pub const SAVE_INITIATED: Self = Preconditions(1 << 7);
    /// FederateHasNotBegunSave.
    pub const SAVE_BEGUN: Self = Preconditions(1 << 8);
    /// SaveNotInProgress.
    pub const SAVING: Self = Preconditions(1 << 9);
    /// RestoreNotRequested.
    pub const RESTORE_INITIATED: Self = Preconditions(1 << 10);
    /// RestoreNotInProgress.
    pub const RESTORING: Self = Preconditions(1 << 11);

    /// That neither a save nor a restore is in progress.
    pub(super) const MEANWHILE: Self = Preconditions(Self::NO_SAVE.0 | Self::NO_RESTORE.0);

    /// With these bits, in the order of the constants.
    pub(crate) const fn of_bits(bits: u16) -> Self {
        Preconditions(bits)
    }

    /// A federate has come so far with a save and a restore.
    pub(super) fn set_stages(&mut self, stages: Stages) {
        let Stages { save, restore } = stages;
        let (saves, restores) = (SaveStatus::default(), RestoreStage::default());
        self.set(Self::NO_SAVE, save != saves);
        self.set(Self::NO_RESTORE, restore != restores);
        self.set(
            Self::SAVE_INITIATED,
            save != SaveStatus::FederateInstructedToSave,
        );
        self.set(Self::SAVE_BEGUN, save != SaveStatus::FederateSaving);
        self.set(Self::SAVING, save == saves);
        self.set(Self::RESTORE_INITIATED, restore != RestoreStage::Initiated);
        self.set(Self::RESTORING, restore == restores);
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
        } else if self.has(Self::SAVE_INITIATED) {
            let why = "no save was initiated at this federate, or it has begun already";
            (ExceptionKind::SaveNotInitiated, why)
        } else if self.has(Self::SAVE_BEGUN) {
            let why = "this federate has not called federateSaveBegun, or it is complete already";
            (ExceptionKind::FederateHasNotBegunSave, why)
        } else if self.has(Self::SAVING) {
            let why = "no save was initiated at this federate";
            (ExceptionKind::SaveNotInProgress, why)
        } else if self.has(Self::RESTORE_INITIATED) {
            let why = "no restore was initiated at this federate, or it is complete already";
            (ExceptionKind::RestoreNotRequested, why)
        } else if self.has(Self::RESTORING) {
            let why = "no restore has begun at this federate";
            (ExceptionKind::RestoreNotInProgress, why)
        } else if self.has(Self::TIME) {
            return switched_off("it is a service of time management", "services.time");
        } else {
            let what = "it is a service of data distribution management";
            return switched_off(what, "services.ddm");
        };
        Exception::new(kind, why)
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
