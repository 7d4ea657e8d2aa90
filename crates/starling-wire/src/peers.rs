//! What federates and rtiexec say to each other about links beside their stream: between federates of one
//! host, and by datagrams. No part of the log, and nothing that the core knows of: these links carry data
//! frames and fences like any other.

use crate::codec::Wire;
use crate::frame::frame;
use starling_core::FederateHandle;

pub(crate) const LINK_REQUEST: u8 = 6;
pub(crate) const LINK_NOTICE: u8 = 7;

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
        /// Shared memory; else by way of rtiexec.
        shared: bool,
        /// Why not shared memory, if there is a reason.
        why: String,
    },
    /// It wants to exchange best-effort data by datagrams as long as it is a member.
    Datagrams,
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
}

variants! {
    LinkRequest "message about links" {
        1 Offer { number },
        2 Relay { to, frames },
        3 Path { to, shared, why },
        4 Datagrams,
    }
    LinkNotice "message about links" {
        1 Seated { number, seat, mark },
        2 Refused { number, why },
        3 Peer { mark, seat, federate },
        4 Gone { mark },
        5 Relayed { from, frames },
        6 Datagrams { port, secret },
        7 NoDatagrams { why },
    }
}

/// Appends a message about links, to rtiexec.
pub fn put_link_request(out: &mut Vec<u8>, request: &LinkRequest) {
    frame(out, |out| {
        out.push(LINK_REQUEST);
        request.put(out);
    });
}

/// Appends a message about links, from rtiexec.
pub fn put_link_notice(out: &mut Vec<u8>, notice: &LinkNotice) {
    frame(out, |out| {
        out.push(LINK_NOTICE);
        notice.put(out);
    });
}
