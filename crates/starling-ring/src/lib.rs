//! Shared memory between processes of one host, one ring per sender with many readers: bytes of
//! frames, whose meaning is others'.
//!
//! Each process has a [`RingWriter`], a [`Board`], and the board's doorbell. It hands their
//! descriptors to its peers. For each peer that it sends to it calls `RingWriter::admit` with the
//! peer's board and doorbell; for each that it hears it calls `Board::join` with the peer's ring and
//! doorbell, which makes a [`RingReader`]. The two calls may come in any order; `RingWriter::is_ready`
//! says when both have been made. Both ends must be given the same [`Attachment`].
//!
//! Sending: `put` any number of frames, each for any number of seats, then `publish`. Receiving:
//! `read` each ring that `has_news`; if none has, `Board::prepare_to_sleep`, ask all once more, wait
//! for the doorbell, `awake`. A reader that does not keep up is detached by the writer, which gets
//! back what that has not read.
//!
//! Every word that is shared has one writer; peers can neither change nor shorten it, and what they
//! write is not believed (`docs/decisions/shared-memory.md`). Nothing has a name in a file system, so
//! nothing is left of a process that was killed.
#![warn(missing_docs)]
#![deny(unsafe_code)]

#[cfg(not(target_os = "linux"))]
#[path = "absent.rs"]
mod map;
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "memory that others write")]
mod map;

mod board;
mod layout;
mod long;
mod reader;
mod seats;
mod sizes;
mod writer;

pub use board::Board;
pub use map::{DoorbellCalls, doorbell_calls};
pub use reader::{Read, RingReader};
pub use seats::{Attachment, Seat, Seats};
pub use writer::{Fill, Full, RingWriter};
