//! What a forwarder and the process that it forwards to (rtiexec, or another forwarder) say to each other on
//! the connection between them, the trunk, which carries the streams of all federates of that forwarder.
//!
//! Each of these streams is a channel: from the forwarder its bytes come as they are, to it whole frames go, one
//! copy for however many channels. For each channel and direction the receiver says how far its stream may
//! go, so that one whose receiver does not read takes a bounded part of memory, and holds up no other one.
//! Best-effort data goes beside it by datagrams (`parcel`), where these come.

use crate::codec::{Reader, WireError, bad, put_bytes, put_number};
use crate::frame::frame;
use starling_core::FederateHandle;

pub(crate) const TRUNK: u8 = 9;

/// How far the stream of a new channel may go, in either direction, before the other end has said anything.
pub const FIRST_ROOM: u64 = 64 * 1024;

/// What is said on a trunk. Channels are numbered by the forwarder, none of them twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnTrunk<'a> {
    /// From the forwarder, first: this connection is a trunk.
    Begin,
    /// From the forwarder: a new channel.
    Open {
        /// Its number.
        channel: u64,
        /// How its federate reaches the forwarder, for people.
        path: &'a str,
    },
    /// From the forwarder: the stream of a channel goes on, wherever frames begin in it.
    Bytes {
        /// The channel.
        channel: u64,
        /// What comes next on it.
        bytes: &'a [u8],
    },
    /// To the forwarder: the streams of these channels go on with this.
    Deliver {
        /// The channels.
        channels: Vec<u64>,
        /// Whole frames.
        frames: &'a [u8],
    },
    /// A channel ends, from either side.
    Close {
        /// The channel.
        channel: u64,
        /// Why; to the forwarder, what its federate is to be told, or nothing.
        why: &'a str,
    },
    /// The stream of a channel, in the direction from which this is not said, may go so far.
    Room {
        /// The channel.
        channel: u64,
        /// Bytes since the channel was opened.
        position: u64,
    },
    /// To the forwarder: the federate behind a channel is a member, to whom others of the group may pass data.
    Member {
        /// The channel.
        channel: u64,
        /// A federation execution since it was created or restored.
        group: u64,
        /// Which federate it is there.
        federate: FederateHandle,
    },
    /// To the forwarder: it is none any more.
    NoMember {
        /// The channel.
        channel: u64,
    },
    /// From the forwarder: best-effort data is to go by datagrams beside this connection.
    Datagrams,
    /// To the forwarder: it may, in both directions, from now on.
    Way {
        /// The UDP port, at the address of this stream; of a Unix-domain one, on this host.
        port: u32,
        /// What they are recognized by, 16 bytes.
        secret: &'a [u8],
    },
    /// To the forwarder: it may not.
    NoWay {
        /// The reason.
        why: &'a str,
    },
    /// So many messages of a channel were sent by datagrams, or are lost already, some time ago: what of them has not come
    /// never will.
    Sent {
        /// The channel.
        channel: u64,
        /// Since it was opened, in the direction in which this is said.
        messages: u64,
    },
    /// From a forwarder: how best-effort data of a federate travels between it and the forwarder behind it, for people.
    BestEffort {
        /// The federate's channel.
        channel: u64,
        /// By what.
        by: &'a str,
    },
    /// From the forwarder: the federate of a channel has ended. What is still to come of it comes, whoever does not take what
    /// it leads to, then Close.
    Ends {
        /// The channel.
        channel: u64,
    },
}

/// Appends what is said on a trunk.
pub fn put_on_trunk(out: &mut Vec<u8>, said: &OnTrunk<'_>) {
    match said {
        OnTrunk::Begin => frame(out, |out| out.extend([TRUNK, 1])),
        OnTrunk::Open { channel, path } => about(out, 2, *channel, |out| {
            put_bytes(out, path.as_bytes());
        }),
        OnTrunk::Bytes { channel, bytes } => about(out, 3, *channel, |out| {
            out.extend_from_slice(bytes);
        }),
        OnTrunk::Deliver { channels, frames } => put_deliver(out, channels, frames),
        OnTrunk::Close { channel, why } => about(out, 5, *channel, |out| {
            put_bytes(out, why.as_bytes());
        }),
        OnTrunk::Room { channel, position } => about(out, 6, *channel, |out| {
            put_number(out, *position);
        }),
        OnTrunk::Member {
            channel,
            group,
            federate,
        } => about(out, 7, *channel, |out| {
            put_number(out, *group);
            put_number(out, u64::from(federate.0));
        }),
        OnTrunk::NoMember { channel } => about(out, 8, *channel, |_| ()),
        OnTrunk::Datagrams => frame(out, |out| out.extend([TRUNK, 9])),
        OnTrunk::Way { port, secret } => about(out, 10, u64::from(*port), |out| {
            put_bytes(out, secret);
        }),
        OnTrunk::NoWay { why } => frame(out, |out| {
            out.extend([TRUNK, 11]);
            put_bytes(out, why.as_bytes());
        }),
        OnTrunk::Sent { channel, messages } => about(out, 12, *channel, |out| {
            put_number(out, *messages);
        }),
        OnTrunk::BestEffort { channel, by } => about(out, 13, *channel, |out| {
            put_bytes(out, by.as_bytes());
        }),
        OnTrunk::Ends { channel } => about(out, 14, *channel, |_| ()),
    }
}

/// Appends whole frames for these channels.
pub fn put_deliver(out: &mut Vec<u8>, channels: &[u64], frames: &[u8]) {
    out.reserve(frames.len() + 2 * channels.len() + 16);
    frame(out, |out| {
        out.extend([TRUNK, 4]);
        put_number(out, channels.len() as u64);
        for channel in channels {
            put_number(out, *channel);
        }
        out.extend_from_slice(frames);
    });
}

/// `channel`: or another number with which it begins.
fn about(out: &mut Vec<u8>, choice: u8, channel: u64, rest: impl FnOnce(&mut Vec<u8>)) {
    frame(out, |out| {
        out.extend([TRUNK, choice]);
        put_number(out, channel);
        rest(out);
    });
}

/// Whether a frame that begins so is one of these.
pub fn is_on_trunk(begin: &[u8]) -> bool {
    begin.first() == Some(&TRUNK)
}

/// Decodes one, from what `split_frame` gave; none: it is something else.
pub fn read_on_trunk(frame: &[u8]) -> Option<Result<OnTrunk<'_>, WireError>> {
    let (kind, rest) = frame.split_first()?;
    (*kind == TRUNK).then(|| read(&mut Reader::new(rest)))
}

fn read<'a>(from: &mut Reader<'a>) -> Result<OnTrunk<'a>, WireError> {
    let choice = from.byte()?;
    let alone = match choice {
        1 => Some(OnTrunk::Begin),
        9 => Some(OnTrunk::Datagrams),
        11 => Some(OnTrunk::NoWay { why: text(from)? }),
        _ => None,
    };
    if let Some(alone) = alone {
        from.end()?;
        return Ok(alone);
    }
    if choice == 4 {
        let mut left = from.number()?;
        if left > from.0.len() as u64 {
            return bad(format!("{left} channels in {} bytes", from.0.len()));
        }
        let mut channels = Vec::new();
        while left > 0 {
            channels.push(from.number()?);
            left -= 1;
        }
        let frames = std::mem::take(&mut from.0);
        return Ok(OnTrunk::Deliver { channels, frames });
    }
    let channel = from.number()?;
    let said = match choice {
        2 => OnTrunk::Open {
            channel,
            path: text(from)?,
        },
        3 => OnTrunk::Bytes {
            channel,
            bytes: std::mem::take(&mut from.0),
        },
        5 => OnTrunk::Close {
            channel,
            why: text(from)?,
        },
        6 => OnTrunk::Room {
            channel,
            position: from.number()?,
        },
        7 => OnTrunk::Member {
            channel,
            group: from.number()?,
            federate: match u32::try_from(from.number()?) {
                Ok(federate) => FederateHandle(federate),
                Err(_) => return bad("a federate handle of more than 32 bits"),
            },
        },
        8 => OnTrunk::NoMember { channel },
        10 => OnTrunk::Way {
            port: match u32::try_from(channel) {
                Ok(port) => port,
                Err(_) => return bad("a port of more than 32 bits"),
            },
            secret: from.bytes()?,
        },
        12 => OnTrunk::Sent {
            channel,
            messages: from.number()?,
        },
        13 => OnTrunk::BestEffort {
            channel,
            by: text(from)?,
        },
        14 => OnTrunk::Ends { channel },
        other => return bad(format!("{other} is nothing that is said on a trunk")),
    };
    from.end()?;
    Ok(said)
}

fn text<'a>(from: &mut Reader<'a>) -> Result<&'a str, WireError> {
    std::str::from_utf8(from.bytes()?).or_else(|_| bad("a text that is not UTF-8"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::split_frame;

    #[test]
    fn what_is_said_is_read_and_what_is_cut_or_longer_is_refused() {
        let all = [
            OnTrunk::Begin,
            OnTrunk::Open {
                channel: 300,
                path: "tcp 10.0.0.1:5",
            },
            OnTrunk::Bytes {
                channel: 1,
                bytes: b"of a frame",
            },
            OnTrunk::Deliver {
                channels: vec![1, 2, 1 << 40],
                frames: b"whole",
            },
            OnTrunk::Close {
                channel: 7,
                why: "why",
            },
            OnTrunk::Room {
                channel: 7,
                position: u64::MAX,
            },
            OnTrunk::Member {
                channel: 7,
                group: 3,
                federate: FederateHandle(9),
            },
            OnTrunk::NoMember { channel: 7 },
            OnTrunk::Datagrams,
            OnTrunk::Way {
                port: 15160,
                secret: &[7; 16],
            },
            OnTrunk::NoWay { why: "why" },
            OnTrunk::Sent {
                channel: 7,
                messages: 1 << 40,
            },
            OnTrunk::BestEffort {
                channel: 7,
                by: "datagrams",
            },
            OnTrunk::Ends { channel: 7 },
        ];
        for said in all {
            let mut bytes = Vec::new();
            put_on_trunk(&mut bytes, &said);
            let (frame, size) = split_frame(&bytes).unwrap().unwrap();
            assert_eq!(size, bytes.len());
            assert!(is_on_trunk(frame));
            assert_eq!(read_on_trunk(frame), Some(Ok(said.clone())));
            let to_the_end = matches!(said, OnTrunk::Bytes { .. } | OnTrunk::Deliver { .. });
            for end in 1..frame.len() {
                let cut = read_on_trunk(&frame[..end]).unwrap();
                assert!(cut.is_err() || to_the_end, "{said:?} cut to {end}");
            }
            let longer = [frame, &[0]].concat();
            assert!(read_on_trunk(&longer).unwrap().is_err() || to_the_end);
        }
        assert_eq!(read_on_trunk(&[3]), None);
        // A count is checked before memory is taken.
        assert!(
            read_on_trunk(&[TRUNK, 4, 255, 255, 255, 255, 15, 1])
                .unwrap()
                .is_err()
        );
    }
}
