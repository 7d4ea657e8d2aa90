//! What the model checker has smaller.

/// How many members of a federation execution may have a seat.
pub(crate) const SEATS: usize = 128;
/// A record takes no more than this part of a ring.
pub(crate) const PARTS: u64 = 8;
/// Frames share a record of less than so many bytes.
pub(crate) const TOGETHER: u64 = 4096;
/// Bytes of records of a ring.
pub(crate) const RING_MIN: usize = 64 << 10;
pub(crate) const RING_MAX: usize = 16 << 20;
/// Of so many stretches of a ring it is remembered where records stand in them.
pub(crate) const STRETCHES: usize = 256;
