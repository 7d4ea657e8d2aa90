//! Frames: what stands on a link.

use crate::codec::{Reader, Wire, WireError, bad, put_bytes};
use crate::data::read_data;
use crate::peers::{LINK_NOTICE, LINK_REQUEST, LinkNotice, LinkRequest};
use starling_core::message::{Data, FromExecutive, PeerInfo, ToExecutive};

/// The version of the format, told in the first frame of either side.
pub const VERSION: u32 = 1;

/// The largest frame. What comes in takes memory as it comes, not as it is announced.
pub const FRAME_BYTES_MAX: usize = 1 << 30;

/// The first bytes of a connection, so that a stranger is recognized at once.
const MAGIC: &[u8; 4] = b"STRL";

const HELLO: u8 = 1;
const WELCOME: u8 = 2;
/// Type of the frame that only shows life.
pub const HEARTBEAT: u8 = 3;
const TO_EXECUTIVE: u8 = 4;
pub(crate) const FROM_EXECUTIVE: u8 = 5;
/// The choices of TO_EXECUTIVE that bring FOM modules (`messages/mod.rs`).
const CREATE_FEDERATION: u8 = 1;
const JOIN: u8 = 4;

/// The first frame of whoever connects.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hello {
    /// The version of the format that it speaks.
    pub version: u32,
    /// Who it is.
    pub info: PeerInfo,
    /// To be answered with what only an rtiexec of the same user can know; empty if that is not
    /// asked.
    pub challenge: Vec<u8>,
    /// How it wants the connection to be compressed: 0 not, 1 by LZ4, 2 by Zstandard.
    pub compression: u8,
}

/// The answer to a Hello.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Welcome {
    /// The version of the format that the executive speaks.
    pub version: u32,
    /// Who it is, and by which path whoever said hello has come to it.
    pub info: PeerInfo,
    /// Why the connection is refused, if it is.
    pub refusal: Option<String>,
    /// The largest frame that it takes, in bytes: whoever sends a larger one is cut off.
    pub frame_bytes_max: u64,
    /// The answer to the challenge; empty if it has none.
    pub answer: Vec<u8>,
    /// How the connection is compressed behind these two.
    pub compression: u8,
}

/// A decoded frame. Data borrows from the receiver's buffer.
#[derive(Debug, PartialEq)]
pub enum Frame<'a> {
    /// First from whoever connects.
    Hello(Hello),
    /// First from the executive.
    Welcome(Welcome),
    /// Only shows life.
    Heartbeat,
    /// Control, to the executive.
    ToExecutive(ToExecutive),
    /// Control, from the executive.
    FromExecutive(FromExecutive),
    /// About links between federates, to rtiexec.
    LinkRequest(LinkRequest),
    /// About links between federates, from rtiexec.
    LinkNotice(LinkNotice),
    /// Data; `to` all who want it.
    Data(Data<'a>),
}

/// The first whole frame of `buffer` (without its length) and how many bytes it takes there;
/// none if more must come first.
#[inline]
pub fn split_frame(buffer: &[u8]) -> Result<Option<(&[u8], usize)>, WireError> {
    let Some((length, rest)) = buffer.split_first_chunk::<4>() else {
        return Ok(None);
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length == 0 || length > FRAME_BYTES_MAX {
        return bad(format!(
            "a frame of {length} bytes; 1 to {FRAME_BYTES_MAX} are allowed"
        ));
    }
    Ok(rest.get(..length).map(|frame| (frame, 4 + length)))
}

/// Whether a frame that begins so may bring FOM modules: it creates a federation execution or
/// joins one. No other frame of who has not joined is large. None if too little has come.
pub fn may_bring_modules(begin: &[u8]) -> Option<bool> {
    match begin {
        [] | [TO_EXECUTIVE] => None,
        [TO_EXECUTIVE, choice, ..] => Some([CREATE_FEDERATION, JOIN].contains(choice)),
        _ => Some(false),
    }
}

/// Whether a frame that begins so may have another frame within it.
pub fn may_relay(begin: &[u8]) -> bool {
    begin.first().is_none_or(|kind| *kind == LINK_REQUEST)
}

impl<'a> Frame<'a> {
    /// Decodes what `split_frame` gave.
    pub fn decode(frame: &'a [u8]) -> Result<Self, WireError> {
        if let Some(data) = read_data(frame) {
            return data.map(Frame::Data);
        }
        let mut from = Reader::new(frame);
        let decoded = match from.byte()? {
            HELLO => {
                magic(&mut from)?;
                Frame::Hello(Hello {
                    version: Wire::get(&mut from)?,
                    info: Wire::get(&mut from)?,
                    challenge: from.bytes()?.to_vec(),
                    compression: from.byte()?,
                })
            }
            WELCOME => {
                magic(&mut from)?;
                Frame::Welcome(Welcome {
                    version: Wire::get(&mut from)?,
                    info: Wire::get(&mut from)?,
                    refusal: Wire::get(&mut from)?,
                    frame_bytes_max: Wire::get(&mut from)?,
                    answer: from.bytes()?.to_vec(),
                    compression: from.byte()?,
                })
            }
            HEARTBEAT => Frame::Heartbeat,
            TO_EXECUTIVE => Frame::ToExecutive(Wire::get(&mut from)?),
            FROM_EXECUTIVE => Frame::FromExecutive(Wire::get(&mut from)?),
            LINK_REQUEST => Frame::LinkRequest(Wire::get(&mut from)?),
            LINK_NOTICE => Frame::LinkNotice(Wire::get(&mut from)?),
            kind => return bad(format!("{kind} is no type of frame")),
        };
        from.end()?;
        Ok(decoded)
    }
}

fn magic(from: &mut Reader<'_>) -> Result<(), WireError> {
    for expected in MAGIC {
        if from.byte()? != *expected {
            return bad("the peer does not speak Starling's protocol");
        }
    }
    Ok(())
}

/// Appends a control message to the executive.
pub fn put_to_executive(out: &mut Vec<u8>, message: &ToExecutive) {
    frame(out, |out| {
        out.push(TO_EXECUTIVE);
        message.put(out);
    });
}

/// Appends a control message from the executive.
pub fn put_from_executive(out: &mut Vec<u8>, message: &FromExecutive) {
    frame(out, |out| {
        out.push(FROM_EXECUTIVE);
        message.put(out);
    });
}

/// Appends a Hello.
pub fn put_hello(out: &mut Vec<u8>, hello: &Hello) {
    frame(out, |out| {
        out.push(HELLO);
        out.extend_from_slice(MAGIC);
        hello.version.put(out);
        hello.info.put(out);
        put_bytes(out, &hello.challenge);
        hello.compression.put(out);
    });
}

/// Appends a Welcome.
pub fn put_welcome(out: &mut Vec<u8>, welcome: &Welcome) {
    frame(out, |out| {
        out.push(WELCOME);
        out.extend_from_slice(MAGIC);
        welcome.version.put(out);
        welcome.info.put(out);
        welcome.refusal.put(out);
        welcome.frame_bytes_max.put(out);
        put_bytes(out, &welcome.answer);
        welcome.compression.put(out);
    });
}

/// Appends a heartbeat.
pub fn put_heartbeat(out: &mut Vec<u8>) {
    frame(out, |out| out.push(HEARTBEAT));
}

/// Reserves the length, writes the rest, fills the length in.
pub(crate) fn frame(out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    write(out);
    let length = u32::try_from(out.len() - start - 4).unwrap_or(u32::MAX);
    out[start..start + 4].copy_from_slice(&length.to_le_bytes());
}
