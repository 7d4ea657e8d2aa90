//! Handles of what comes and goes in a federation execution (those of the FDD are in starling-fom).

use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

/// A joined federate of a federation execution, from 1; never reused in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FederateHandle(pub u32);

impl FederateHandle {
    /// Whether it can be a federate's: 0 never is.
    pub fn is_valid(self) -> bool {
        self.0 != 0
    }
}

/// Who owns an instance attribute or has registered an object instance; where nobody does, there
/// is no `Owner`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Owner {
    /// The RTI itself.
    Rti,
    /// A joined federate.
    Federate(FederateHandle),
}

impl Owner {
    /// The federate, if it is one.
    pub fn federate(self) -> Option<FederateHandle> {
        match self {
            Owner::Rti => None,
            Owner::Federate(federate) => Some(federate),
        }
    }
}

impl From<FederateHandle> for Owner {
    fn from(federate: FederateHandle) -> Self {
        Owner::Federate(federate)
    }
}

impl PartialEq<FederateHandle> for Owner {
    fn eq(&self, federate: &FederateHandle) -> bool {
        *self == Owner::Federate(*federate)
    }
}

impl fmt::Display for FederateHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "federate {}", self.0)
    }
}

/// An object instance of a federation execution; never reused in it.
///
/// Each federate has the block of handles whose upper half is its own handle, so registering
/// needs no answer from the executive; the RTI has the block of 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectInstanceHandle(pub u64);

impl ObjectInstanceHandle {
    /// The `number`-th instance registered by `federate` (from 1).
    pub fn new(federate: FederateHandle, number: u32) -> Self {
        ObjectInstanceHandle(u64::from(federate.0) << 32 | u64::from(number))
    }

    /// Who registered it.
    pub fn registrar(self) -> Owner {
        match self.block() {
            0 => Owner::Rti,
            federate => Owner::Federate(FederateHandle(federate)),
        }
    }

    /// The upper half, which says whose block it is of.
    pub fn block(self) -> u32 {
        (self.0 >> 32) as u32
    }

    /// Its number in its registrar's block.
    pub fn number(self) -> u32 {
        self.0 as u32
    }
}

impl fmt::Display for ObjectInstanceHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "object instance {}.{}", self.block(), self.number())
    }
}

/// A message that was sent in time-stamp order, for who may retract it. Its upper 24 bits are its
/// sender's handle, the rest its number there. 0 is none: sent in receive order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MessageRetractionHandle(pub u64);

impl MessageRetractionHandle {
    const NUMBER_BITS: u32 = 40;

    /// The greatest number of a message.
    pub const NUMBER_MAX: u64 = (1 << Self::NUMBER_BITS) - 1;

    /// The `number`-th message of `sender`, from 1 to [`NUMBER_MAX`](Self::NUMBER_MAX).
    pub fn new(sender: FederateHandle, number: u64) -> Self {
        MessageRetractionHandle(u64::from(sender.0) << Self::NUMBER_BITS | number)
    }

    /// The federate that sent it.
    pub fn sender(self) -> FederateHandle {
        FederateHandle((self.0 >> Self::NUMBER_BITS) as u32)
    }

    /// Its number among its sender's.
    pub fn number(self) -> u64 {
        self.0 & Self::NUMBER_MAX
    }
}

impl fmt::Display for MessageRetractionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "message {} of {}", self.number(), self.sender())
    }
}

/// A region of a federation execution; never reused in it. Its upper half is its creator's handle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RegionHandle(pub u64);

impl RegionHandle {
    /// The `number`-th region created by `federate` (from 1).
    pub fn new(federate: FederateHandle, number: u32) -> Self {
        RegionHandle(u64::from(federate.0) << 32 | u64::from(number))
    }

    /// The federate that created it.
    pub fn creator(self) -> FederateHandle {
        FederateHandle((self.0 >> 32) as u32)
    }

    /// Its number among its creator's.
    pub fn number(self) -> u32 {
        self.0 as u32
    }

    /// The first and the last that a federate can create.
    pub(crate) fn block(creator: FederateHandle) -> (Self, Self) {
        (Self::new(creator, 0), Self::new(creator, u32::MAX))
    }
}

impl fmt::Display for RegionHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "region {}.{}", self.creator().0, self.number())
    }
}

/// A connection to the executive, numbered by whoever drives it; never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PeerId(pub u64);

/// A map from handles. It is looked up, never iterated, so its order shows nowhere.
pub(crate) type HandleMap<K, V> = std::collections::HashMap<K, V, BuildHasherDefault<HandleHasher>>;

/// Multiplicative hash: handles are dense numbers that nobody chooses. The FDD's and federates' are
/// the executive's, and it takes no instance but its registrar's next.
#[derive(Default)]
pub(crate) struct HandleHasher(u64);

impl Hasher for HandleHasher {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        for b in bytes {
            self.write_u64(u64::from(*b));
        }
    }
    fn write_u32(&mut self, n: u32) {
        self.write_u64(u64::from(n));
    }
    fn write_u64(&mut self, n: u64) {
        let h = (self.0 ^ n).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = h ^ (h >> 32);
    }
}
