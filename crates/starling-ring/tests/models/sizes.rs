//! As small as it goes: a ring of two records, of 8 bytes each.

pub(crate) const SEATS: usize = 2;
pub(crate) const PARTS: u64 = 2;
pub(crate) const TOGETHER: u64 = 3;
pub(crate) const RING_MIN: usize = 64;
pub(crate) const RING_MAX: usize = 64;
pub(crate) const STRETCHES: usize = 8;
