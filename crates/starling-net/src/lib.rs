//! Bytes between processes: links over TCP and Unix-domain streams, listeners, waiting for
//! several descriptors at once, and reaching an rtiexec, if need be by starting it.
//!
//! This crate moves bytes and knows nothing of their meaning; frames are `starling-wire`'s.
//! Everything that depends on the operating system, and all `unsafe` code, is in `platform`.
//!
//! Invariants: no call blocks longer than its time-out; bytes leave in the order in which they
//! were appended; a link that has failed stays failed.
#![warn(missing_docs)]
#![deny(unsafe_code)]

mod bundle;
mod calls;
mod compression;
mod datagram;
mod dial;
mod file;
mod link;
mod listener;
#[allow(unsafe_code, reason = "what the operating system asks for")]
mod platform;
mod quality;
mod reach;
mod run_dir;
mod say;
mod start;
mod stream;
mod token;
mod wait;

pub use bundle::{Bundle, Bundling};
pub use calls::{SystemCalls, count_system_call, system_calls};
pub use compression::{Compression, Method, RECORD_BYTES, Records, Unpack};
pub use datagram::{Arrivals, Datagrams, Leaving, random_secret};
pub use dial::{begin_dial, dial};
pub use file::{open_file, read_file};
pub use link::{Descriptors, Fill, Link, LinkReader, LinkWriter};
pub use listener::Listener;
pub use platform::{
    ProcessState, be_nice, host_name, leave_room, leave_room_beside, process_name, process_stamp,
    process_state, raise_descriptor_limit, try_lock, user_id,
};
pub use quality::Quality;
pub use reach::{Reach, ReachError, Reached, find, reach};
pub use run_dir::{Lock, RunDir};
pub use say::{printable, remark, say};
pub use starling_rid::Endpoint;
pub use start::find_program;
pub use stream::{Peer, Stream};
pub use token::{Challenge, NOT_OWN, Token};
pub use wait::{Alarm, Waiter, Waker, Watch};
