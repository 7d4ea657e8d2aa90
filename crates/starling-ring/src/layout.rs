//! Where what stands in a ring and a board, in bytes from the start of the memory. Every word has 8
//! bytes in the host's order, and one writer: the owner of the memory.

pub(crate) use crate::sizes::*;

/// What a ring begins with; another version of this layout has another.
pub(crate) const RING_MAGIC: u64 = u64::from_be_bytes(*b"starrg01");
/// What a board begins with.
pub(crate) const BOARD_MAGIC: u64 = u64::from_be_bytes(*b"starbd01");

/// Words that change stand on cache lines of their own.
const LINE: usize = 64;

/// Both begin with it.
pub(crate) const MAGIC: usize = 0;
/// Of a ring: how many bytes its records have.
pub(crate) const SIZE: usize = 8;
/// Of a ring: the CPU on which its writer last published.
pub(crate) const CPU: usize = LINE;
/// Of a ring: its writer waits for readers to come to this position; 0: it does not wait.
pub(crate) const WANTED: usize = 2 * LINE;
/// Of a board: odd while its owner sleeps; it never falls.
pub(crate) const SLEEP: usize = LINE;

/// Of a ring: what its writer says to the reader at `seat`.
pub(crate) fn slot(seat: usize) -> usize {
    (3 + seat) * LINE
}

/// Of a slot: the mark of the reader that is attached; 0: none.
pub(crate) const MARK: usize = 0;
/// Of a slot: the end of the last bundle that had something for this reader.
pub(crate) const END: usize = 8;
/// Of a slot: no record for this reader stands before it, as long as it has not read up to `END`.
pub(crate) const START: usize = 16;
/// Of a slot: the mark of the reader that was detached last.
pub(crate) const DETACHED: usize = 24;
/// Of a slot: what that one has claimed before this position is its own.
pub(crate) const DETACHED_AT: usize = 32;

/// Of a board: what its owner says to the sender at `seat`.
pub(crate) fn entry(seat: usize) -> usize {
    (2 + seat) * LINE
}

/// Of an entry: up to here the owner has copied what was for it, and reads nothing before it again.
pub(crate) const CURSOR: usize = 8;

/// A ring's words stand before its records, a board's are all it has. A multiple of every page size.
pub(crate) const HEAD: usize = 64 << 10;
const _: () = assert!((3 + SEATS) * LINE <= HEAD);

/// A record's head: length and kind, and whom it is for (two words).
pub(crate) const RECORD_HEAD: u64 = 24;
/// Of a record's first word.
pub(crate) const LENGTH: u64 = u32::MAX as u64;
/// Of a record's first word, above the length: whole frames, a part of one, its last part.
pub(crate) const WHOLE: u64 = 0;
pub(crate) const PART: u64 = 1;
pub(crate) const LAST_PART: u64 = 2;

/// How much of a ring a record of so many bytes takes.
pub(crate) fn record_bytes(length: u64) -> u64 {
    RECORD_HEAD + ((length + 7) & !7)
}

/// How many bytes one record of a ring of this size may hold.
pub(crate) const fn part_bytes_max(ring: u64) -> u64 {
    ring / PARTS - RECORD_HEAD
}
const _: () = assert!(TOGETHER <= part_bytes_max(RING_MIN as u64));
