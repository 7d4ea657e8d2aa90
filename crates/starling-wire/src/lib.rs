//! The core's messages as bytes: wire format v1, specified in `docs/wire-format.md`.
//!
//! A stream is a sequence of frames: length (32 bits, little-endian, of what follows), type (one
//! byte), body. Whole numbers are LEB128. Encoders append to the caller's buffer; decoders check
//! every length against what is there, allocate nothing ahead, and never panic.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod codec;
mod data;
mod datagram;
mod entries;
mod frame;
mod greeting;
mod group;
#[macro_use]
mod messages;
mod parcel;
mod peers;
mod trunk;

pub use codec::WireError;
pub use data::{
    Begin, DataFrame, Framed, Head, PlainBegin, PlainFrames, TimedBegin, data_kind, put_data,
    read_data, read_plain, read_timed, run_of_data,
};
pub use datagram::{
    DATAGRAM_BYTES_MAX, DatagramHead, DatagramIn, DatagramOut, Secret, StreamPosition,
    split_datagram,
};
pub use entries::{BeginFrames, EntryFrames, Piece};
pub use frame::{
    FRAME_BYTES_MAX, Frame, HEARTBEAT, Hello, VERSION, Welcome, may_bring_modules, may_relay,
    put_from_executive, put_heartbeat, put_hello, put_to_executive, put_welcome, split_frame,
};
pub use greeting::{Foreign, read_welcome};
pub use group::{GroupIn, GroupOut};
pub use messages::saved::{
    Description, decode_description, decode_save, put_description, put_save,
};
pub use parcel::{
    Lane, PLACES_MAX, Parcel, Parcels, ParcelsHead, ParcelsOut, Place, split_parcels,
};
pub use peers::{
    LinkNotice, LinkRequest, OnLink, is_pass, put_link_notice, put_link_request, put_on_link,
    put_pass, put_passed, read_on_link, read_pass, read_passed,
};
pub use trunk::{FIRST_ROOM, OnTrunk, is_on_trunk, put_deliver, put_on_trunk, read_on_trunk};
