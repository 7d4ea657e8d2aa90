//! How much memory a value holds, so that what waits can be bounded in bytes.

use crate::message::federation::{FederateInformation, ModuleSource};
use crate::message::mom::Switches;
use crate::message::{
    AttributeRegions, Discovery, FederationInformation, LogIndex, Range, RegionSpecification,
    RequestNumber, Stamp, SubscribedAttribute, Subscription,
};
use crate::{
    AttributeHandle, FederateHandle, InteractionClassHandle, LogicalTime, ObjectClassHandle,
    ObjectInstanceHandle, Owner, OwnershipNotice, RegionHandle, RestoreFailure, RestoreState,
    SaveFailure, SaveStatus, SynchronizationPointFailure, Transportation,
};

/// A value that may hold memory elsewhere.
pub(crate) trait Held {
    /// Bytes that it holds elsewhere, without itself.
    fn held(&self) -> usize;
}

macro_rules! nothing {
    ($($type:ty),* $(,)?) => {$(
        impl Held for $type {
            #[inline]
            fn held(&self) -> usize {
                0
            }
        }
    )*};
}
nothing!(
    bool,
    u8,
    u32,
    AttributeHandle,
    FederateHandle,
    InteractionClassHandle,
    LogIndex,
    LogicalTime,
    ObjectClassHandle,
    ObjectInstanceHandle,
    Owner,
    OwnershipNotice,
    Range,
    RegionHandle,
    RequestNumber,
    RestoreFailure,
    RestoreState,
    SaveFailure,
    SaveStatus,
    Stamp,
    Subscription,
    SynchronizationPointFailure,
    Switches,
    Transportation,
);

impl Held for String {
    fn held(&self) -> usize {
        self.len()
    }
}

impl<T: Held> Held for Vec<T> {
    fn held(&self) -> usize {
        size_of_val(self.as_slice()) + self.iter().map(T::held).sum::<usize>()
    }
}

impl<T: Held> Held for Box<T> {
    fn held(&self) -> usize {
        size_of::<T>() + T::held(self)
    }
}

impl<T: Held> Held for Option<T> {
    fn held(&self) -> usize {
        self.as_ref().map_or(0, T::held)
    }
}

impl<A: Held, B: Held> Held for (A, B) {
    fn held(&self) -> usize {
        self.0.held() + self.1.held()
    }
}

impl Held for ModuleSource {
    fn held(&self) -> usize {
        self.designator.len() + self.text.len()
    }
}

macro_rules! structs {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl Held for $name {
            fn held(&self) -> usize {
                0 $(+ self.$field.held())*
            }
        }
    )*};
}
structs! {
    FederateInformation { name, kind }
    FederationInformation { name, time_implementation }
    SubscribedAttribute { rate }
    Discovery { name }
    RegionSpecification { ranges }
    AttributeRegions { attributes, regions }
}

/// An enum holds what the fields of its variant hold.
macro_rules! holds {
    ($name:ident {
        $($variant:ident $({ $($field:ident),* })? $(($inner:ident))?),* $(,)?
    }) => {
        impl crate::held::Held for $name {
            fn held(&self) -> usize {
                match self {
                    $($name::$variant $({ $($field),* })? $(($inner))? => {
                        0 $($(+ crate::held::Held::held($field))*)?
                            $(+ crate::held::Held::held($inner))?
                    })*
                }
            }
        }
    };
}
pub(crate) use holds;
