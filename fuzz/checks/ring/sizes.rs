//! Small, so that an input goes around the ring several times.

pub(crate) const SEATS: usize = 128;
pub(crate) const PARTS: u64 = 8;
pub(crate) const TOGETHER: u64 = 100;
pub(crate) const RING_MIN: usize = 1024;
pub(crate) const RING_MAX: usize = 1024;
pub(crate) const STRETCHES: usize = 8;
