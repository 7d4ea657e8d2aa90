//! What federates and rtiexec say to each other about links beside their stream: between federates of one
//! host, between those of different hosts, and by datagrams; and what federates say on their links to each other
//! beside data. No part of the log, and nothing that the core knows of: these links carry data frames and
//! fences like any other.

use crate::codec::{Reader, Wire, WireError, bad, put_bytes, put_number};
use crate::frame::frame;
use starling_core::FederateHandle;

pub(crate) const LINK_REQUEST: u8 = 6;
pub(crate) const LINK_NOTICE: u8 = 7;
const ON_LINK: u8 = 8;

/// From a federate to rtiexec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkRequest {
    /// It has memory to share: its ring, its board and its doorbell, three descriptors that go with
    /// this. One that offers again takes the former offer back.
    Offer {
        /// To be told with the answer: which of its offers.
        number: u32,
    },
    /// What does not pass on the link to a peer, because that peer does not take it there: it belongs
    /// behind all that has been put on that link.
    Relay {
        /// The peer's mark.
        to: u64,
        /// Whole frames of data, and fences.
        frames: Vec<u8>,
    },
    /// Which way its data to a peer takes from now on, for people.
    Path {
        /// The peer's mark; 0: to all, because it shares nothing.
        to: u64,
        /// Shared memory, or the TCP link, whichever the mark is of; else by way of rtiexec.
        shared: bool,
        /// Why not shared memory, if there is a reason.
        why: String,
    },
    /// It wants to exchange best-effort data by datagrams as long as it is a member.
    Datagrams,
    /// It wants TCP links of its own to other members.
    Direct {
        /// Also to those of its host.
        all: bool,
    },
    /// It takes TCP connections of other members, or does not.
    Endpoint {
        /// At this address; empty: the one that rtiexec knows it by.
        address: String,
        /// At this port; 0: nowhere, but it may connect to others.
        port: u32,
        /// Why nowhere.
        why: String,
    },
    /// What was put on a TCP link and is not confirmed by its reader: nothing is read from the link after this.
    Rest {
        /// The peer's mark.
        to: u64,
        /// Where on the link these begin: bytes put on it before, Hello not counted.
        at: u64,
        /// Whole frames.
        frames: Vec<u8>,
    },
    /// A TCP link carries nothing more from this end, nor is anything of it relayed any more.
    Over {
        /// The peer's mark.
        to: u64,
        /// Why.
        why: String,
    },
    /// There may be a TCP link again.
    Again {
        /// The peer's mark.
        to: u64,
    },
    /// It takes what other members pass to it by their forwarder, and wants to pass data to them.
    Site,
    /// To a forwarder: data for others that come by it.
    Pass {
        /// Which federates, in ascending order.
        to: Vec<FederateHandle>,
        /// Whole frames of data, and fences.
        frames: Vec<u8>,
    },
    /// How its best-effort data gets to a member that it has a TCP link to, for people.
    BestEffort {
        /// The peer's mark.
        to: u64,
        /// By what, and why not by something faster.
        by: String,
    },
    /// By datagrams it has sent so much in this session, or had a heartbeat ago: what has not come of it never will.
    Sent {
        /// Messages.
        messages: u64,
    },
    /// For another one with which it shares memory or has a link it had best-effort data for which there was no room there.
    Dropped {
        /// Its mark.
        to: u64,
        /// Messages since it was last said.
        messages: u64,
    },
}

/// From rtiexec to a federate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkNotice {
    /// An offer was taken.
    Seated {
        /// Which offer.
        number: u32,
        /// Its seat, 0 to 127: no other of the federation execution on this host has it as long.
        seat: u8,
        /// Its mark: no other offer ever has it.
        mark: u64,
    },
    /// An offer was not taken.
    Refused {
        /// Which offer.
        number: u32,
        /// The reason.
        why: String,
    },
    /// A peer shares memory: its ring, its board and its doorbell, three descriptors that go with this.
    Peer {
        /// Its mark.
        mark: u64,
        /// Its seat.
        seat: u8,
        /// Which federate it is.
        federate: FederateHandle,
    },
    /// A peer shares memory no more: what its ring holds now is the last of it.
    Gone {
        /// Its mark.
        mark: u64,
    },
    /// What a peer has relayed: it stands behind all that the peer has put on the link.
    Relayed {
        /// The peer's mark.
        from: u64,
        /// Whole frames of data, and fences.
        frames: Vec<u8>,
    },
    /// Best-effort data may go by datagrams from now on, in both directions, until its membership ends or
    /// is restored.
    Datagrams {
        /// The UDP port of rtiexec, at the address of this stream; of a Unix-domain one, on this host.
        port: u32,
        /// What they are recognized by, 16 bytes.
        secret: Vec<u8>,
    },
    /// It may not.
    NoDatagrams {
        /// The reason.
        why: String,
    },
    /// It may have TCP links to other members, and is to say where it takes connections.
    Listen {
        /// Its mark.
        mark: u64,
        /// Only processes of this host can reach it.
        here: bool,
    },
    /// It may not.
    NoDirect {
        /// The reason.
        why: String,
    },
    /// There is to be a TCP link to a peer.
    Direct {
        /// Its mark.
        mark: u64,
        /// Which federate it is.
        federate: FederateHandle,
        /// Where to connect to; empty: the peer connects.
        address: String,
        /// At which port.
        port: u32,
        /// 32 bytes that nobody else knows: who connects proves itself by the first 16, the other by the rest.
        secret: Vec<u8>,
    },
    /// A peer's end of a TCP link is over: so is this one.
    Broken {
        /// Its mark.
        mark: u64,
    },
    /// What a peer had put on its TCP link.
    Rest {
        /// Its mark.
        from: u64,
        /// Where on the link these begin.
        at: u64,
        /// Whole frames.
        frames: Vec<u8>,
    },
    /// It comes by a forwarder, which passes data to others that do; for that it has to ask.
    Site,
    /// A member may be passed data by the forwarder; or it is gone, behind all that it has passed.
    Near {
        /// Which federate.
        federate: FederateHandle,
        /// It is there.
        near: bool,
    },
    /// From a forwarder: what a member has passed.
    Passed {
        /// Which federate.
        from: FederateHandle,
        /// Whole frames of data, and fences.
        frames: Vec<u8>,
    },
    /// From a forwarder: of best-effort data for the federate so much is lost, or was dropped there, since this was said last.
    Lost {
        /// Messages.
        messages: u64,
    },
    /// By datagrams so much had been sent to the federate in this session a heartbeat ago: what has not come of it never will.
    Sent {
        /// Messages.
        messages: u64,
    },
}

/// What federates say on a TCP link between them, beside data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OnLink {
    /// First, from both ends: from who has connected first.
    Hello {
        /// The version of the format.
        version: u32,
        /// Its own mark.
        mark: u64,
        /// Its half of the secret.
        proof: Vec<u8>,
        /// How it wants the link to be compressed, as in [`crate::Hello`].
        compression: u8,
    },
    /// All up to there has come.
    Confirm {
        /// Bytes put on the link by its other end, Hello not counted.
        position: u64,
    },
    /// This end sends best-effort data by datagrams, to a group of receivers or to this one; the other may take part.
    Group {
        /// Which of this end's groups; 0: the one for this receiver alone.
        number: u32,
        /// The group's IPv4 address; empty: the other has an address of its own.
        address: String,
        /// Its UDP port.
        port: u32,
        /// What datagrams of this end to this group are recognized by, 16 bytes.
        secret: Vec<u8>,
    },
    /// It takes part, and is to be sent something there; or it does not.
    Joined {
        /// In which of the other's groups.
        number: u32,
        /// The UDP port at which it takes what is for it alone, at its address on this link.
        port: u32,
        /// Why it does not; empty: it does.
        why: String,
    },
    /// Whether datagrams to a group come.
    Hears {
        /// Of which of the other's groups.
        number: u32,
        /// They do.
        on: bool,
    },
    /// A new turn of this end's datagrams to a group begins: those of earlier ones are late behind this, those of later
    /// ones early before it.
    Turn {
        /// Of which group.
        number: u32,
        /// Its number, which datagrams name instead of a place in a stream.
        turn: u64,
        /// Messages in all datagrams before.
        sent: u64,
        /// Data for this reader goes to the group; else it comes another way.
        grouped: bool,
    },
    /// This end has nothing more for the other in a group: it is to leave it.
    Ends {
        /// Which group.
        number: u32,
    },
}

variants! {
    LinkRequest "message about links" {
        1 Offer { number },
        2 Relay { to, frames },
        3 Path { to, shared, why },
        4 Datagrams,
        5 Direct { all },
        6 Endpoint { address, port, why },
        7 Rest { to, at, frames },
        8 Over { to, why },
        9 Again { to },
        10 Site,
        11 Pass { to, frames },
        12 BestEffort { to, by },
        13 Sent { messages },
        14 Dropped { to, messages },
    }
    LinkNotice "message about links" {
        1 Seated { number, seat, mark },
        2 Refused { number, why },
        3 Peer { mark, seat, federate },
        4 Gone { mark },
        5 Relayed { from, frames },
        6 Datagrams { port, secret },
        7 NoDatagrams { why },
        8 Listen { mark, here },
        9 NoDirect { why },
        10 Direct { mark, federate, address, port, secret },
        11 Broken { mark },
        12 Rest { from, at, frames },
        13 Site,
        14 Near { federate, near },
        15 Passed { from, frames },
        16 Lost { messages },
        17 Sent { messages },
    }
    OnLink "message on a link" {
        1 Hello { version, mark, proof, compression },
        2 Confirm { position },
        3 Group { number, address, port, secret },
        4 Joined { number, port, why },
        5 Hears { number, on },
        6 Turn { number, turn, sent, grouped },
        7 Ends { number },
    }
}

/// Appends a message about links, to rtiexec.
pub fn put_link_request(out: &mut Vec<u8>, request: &LinkRequest) {
    frame(out, |out| {
        out.push(LINK_REQUEST);
        request.put(out);
    });
}

/// Numbers of [`LinkRequest::Pass`] and [`LinkNotice::Passed`], whose frames are not copied on their way.
const PASS: u8 = 11;
const PASSED: u8 = 15;

/// Appends a [`LinkRequest::Pass`] with frames of so many bytes, which `put` appends.
#[inline]
pub fn put_pass(
    out: &mut Vec<u8>,
    to: &[FederateHandle],
    bytes: usize,
    put: impl FnOnce(&mut Vec<u8>),
) {
    frame(out, |out| {
        out.extend([LINK_REQUEST, PASS]);
        put_number(out, to.len() as u64);
        for federate in to {
            put_number(out, u64::from(federate.0));
        }
        put_number(out, bytes as u64);
        put(out);
    });
}

/// Appends a [`LinkNotice::Passed`].
pub fn put_passed(out: &mut Vec<u8>, from: FederateHandle, frames: &[u8]) {
    out.reserve(frames.len() + 16);
    frame(out, |out| {
        out.extend([LINK_NOTICE, PASSED]);
        put_number(out, u64::from(from.0));
        put_bytes(out, frames);
    });
}

/// Whether a frame that begins so is a [`LinkRequest::Pass`]; none: too little has come.
pub fn is_pass(begin: &[u8]) -> Option<bool> {
    match begin {
        [] | [LINK_REQUEST] => None,
        [kind, choice, ..] => Some((*kind, *choice) == (LINK_REQUEST, PASS)),
        [_] => Some(false),
    }
}

/// Decodes a [`LinkRequest::Pass`], from what `split_frame` gave: its receivers into `to`, and its frames; none: it is
/// something else.
pub fn read_pass<'a>(
    frame: &'a [u8],
    to: &mut Vec<FederateHandle>,
) -> Option<Result<&'a [u8], WireError>> {
    let rest = frame.strip_prefix(&[LINK_REQUEST, PASS])?;
    let mut read = |mut from: Reader<'a>| {
        to.clear();
        // Each takes a byte at least, so what is announced is not believed.
        for _ in 0..from.number()? {
            let federate = FederateHandle::get(&mut from)?;
            // None of them twice: it would get as many copies.
            if to.last().is_some_and(|last| *last >= federate) {
                return bad("receivers that do not ascend");
            }
            to.push(federate);
        }
        let frames = from.bytes()?;
        from.end()?;
        Ok(frames)
    };
    Some(read(Reader::new(rest)))
}

/// Decodes a [`LinkNotice::Passed`], from what `split_frame` gave; none: it is something else.
#[inline]
pub fn read_passed(frame: &[u8]) -> Option<Result<(FederateHandle, &[u8]), WireError>> {
    let rest = frame.strip_prefix(&[LINK_NOTICE, PASSED])?;
    fn read<'a>(mut from: Reader<'a>) -> Result<(FederateHandle, &'a [u8]), WireError> {
        let federate = FederateHandle::get(&mut from)?;
        let frames = from.bytes()?;
        from.end()?;
        Ok((federate, frames))
    }
    Some(read(Reader::new(rest)))
}

/// Appends a message about links, from rtiexec.
pub fn put_link_notice(out: &mut Vec<u8>, notice: &LinkNotice) {
    frame(out, |out| {
        out.push(LINK_NOTICE);
        notice.put(out);
    });
}

/// Appends what a federate says on a link to another one.
pub fn put_on_link(out: &mut Vec<u8>, said: &OnLink) {
    frame(out, |out| {
        out.push(ON_LINK);
        said.put(out);
    });
}

/// Decodes that, from what `split_frame` gave; none: it is something else.
pub fn read_on_link(frame: &[u8]) -> Option<Result<OnLink, WireError>> {
    let (kind, rest) = frame.split_first()?;
    (*kind == ON_LINK).then(|| {
        let mut from = Reader::new(rest);
        let said = OnLink::get(&mut from)?;
        from.end()?;
        Ok(said)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Frame, split_frame};

    /// The short way says what the long one does, and refuses what that refuses.
    #[test]
    fn what_is_passed_is_the_same_by_either_way() {
        let (a, b) = (FederateHandle(1), FederateHandle(300));
        let whole = LinkRequest::Pass {
            to: vec![a, b],
            frames: b"frames".to_vec(),
        };
        let (mut long, mut short) = (Vec::new(), Vec::new());
        put_link_request(&mut long, &whole);
        put_pass(&mut short, &[a, b], 6, |out| out.extend(b"frames"));
        assert_eq!(long, short);
        let (frame, _) = split_frame(&short).unwrap().unwrap();
        assert_eq!((is_pass(frame), is_pass(&frame[..1])), (Some(true), None));
        let mut to = Vec::new();
        assert_eq!(read_pass(frame, &mut to), Some(Ok(&b"frames"[..])));
        assert_eq!(to, [a, b]);
        for end in 2..frame.len() {
            assert!(read_pass(&frame[..end], &mut to).unwrap().is_err(), "{end}");
            assert!(Frame::decode(&frame[..end]).is_err(), "{end}");
        }
        assert_eq!(read_pass(&[LINK_REQUEST, 10], &mut to), None);
        for twice in [[a, a], [b, a]] {
            let mut bytes = Vec::new();
            put_pass(&mut bytes, &twice, 6, |out| out.extend(b"frames"));
            let (frame, _) = split_frame(&bytes).unwrap().unwrap();
            assert!(read_pass(frame, &mut to).unwrap().is_err());
            assert!(to.len() < 2);
        }

        let whole = LinkNotice::Passed {
            from: b,
            frames: b"frames".to_vec(),
        };
        let (mut long, mut short) = (Vec::new(), Vec::new());
        put_link_notice(&mut long, &whole);
        put_passed(&mut short, b, b"frames");
        assert_eq!(long, short);
        let (frame, _) = split_frame(&short).unwrap().unwrap();
        assert_eq!(read_passed(frame), Some(Ok((b, &b"frames"[..]))));
        for end in 2..frame.len() {
            assert!(read_passed(&frame[..end]).unwrap().is_err(), "{end}");
        }
    }
}
