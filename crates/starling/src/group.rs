//! Best-effort data to other federates by multicast: one datagram for all who hear it.
//!
//! The TCP link to each of them carries what orders datagrams: a turn that begins there is named by all datagrams sent in it.
//! So nothing is taken before a fence, or behind it, that was sent on the other side of it; and how many messages
//! were sent is known to who has not got the last of them.

use starling_core::Run;
use starling_net::{Datagrams, Quality, random_secret};
use starling_wire::{
    DataFrame, DatagramIn, DatagramOut, OnLink, Secret, StreamPosition, split_datagram,
};
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

/// Who has got nothing in so many turns in which something was sent is to get it on its link.
const DEAF_TURNS: u32 = 3;
/// The port of a group that no setting names.
const PORT: u16 = 15_161;

/// The group of a federation execution that no setting names: one of the organization-local scope, by its name.
pub(crate) fn group_of(federation: &str) -> SocketAddrV4 {
    // FNV-1a.
    let hash = federation.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let [_, a, b, c] = hash.to_be_bytes();
    SocketAddrV4::new(Ipv4Addr::new(239, 192 + a % 4, b, c), PORT)
}

/// What is sent.
pub(crate) struct Group {
    socket: Datagrams,
    secret: Secret,
    at: SocketAddrV4,
    out: DatagramOut,
    turn: u64,
    /// Messages that those who hear know of.
    told: u64,
    beat: Instant,
}

impl Group {
    /// Sends there by the interface that has this address.
    pub(crate) fn new(
        at: SocketAddrV4,
        interface: Ipv4Addr,
        bytes: usize,
        quality: Quality,
        now: Instant,
    ) -> io::Result<Self> {
        let secret = random_secret()?;
        let socket = Datagrams::to_groups(interface)?;
        quality.mark_datagrams(&socket)?;
        Ok(Group {
            socket,
            secret,
            at,
            out: DatagramOut::new(&secret, bytes, 0),
            turn: 0,
            told: 0,
            beat: now,
        })
    }

    /// What a peer is to know to take part.
    pub(crate) fn offer(&self) -> OnLink {
        OnLink::Group {
            address: self.at.ip().to_string(),
            port: self.at.port().into(),
            secret: self.secret.to_vec(),
        }
    }

    /// Whether a frame of these bytes goes this way.
    pub(crate) fn takes(&self, bytes: usize) -> bool {
        self.out.takes(bytes)
    }

    /// Sends a frame, with others.
    pub(crate) fn put<V: Run>(&mut self, frame: &DataFrame<'_, V>) {
        if !self.out.has_room(frame.bytes()) {
            self.flush();
        }
        self.out.put(frame);
    }

    /// Bytes that wait.
    pub(crate) fn pending(&self) -> usize {
        if self.out.is_empty() {
            0
        } else {
            self.out.fill().0
        }
    }

    /// Sends what waits. What the system does not take is lost, and receivers count it.
    pub(crate) fn flush(&mut self) {
        if !self.out.is_empty() {
            self.send();
        }
    }

    /// Sends what waits, or nothing, for those who listen whether anything comes.
    pub(crate) fn send(&mut self) {
        self.socket
            .send_to(self.out.datagram(false, false), self.at.into());
        self.out.sent();
    }

    /// Begins a turn: to be told to all who hear.
    pub(crate) fn next_turn(&mut self) {
        self.flush();
        self.turn += 1;
        self.out.follow(self.turn);
        self.told = self.out.messages();
    }

    /// The turn, as it is told to who gets data this way from now on, or does not.
    pub(crate) fn announce(&self, grouped: bool) -> OnLink {
        OnLink::Turn {
            turn: self.turn,
            sent: self.out.messages(),
            grouped,
        }
    }

    /// When something is to be told next, if somebody waits for it.
    pub(crate) fn due(&self, heartbeat: Duration, is_asked: bool) -> Option<Instant> {
        (is_asked || self.out.messages() > self.told).then_some(self.beat + heartbeat)
    }

    /// Something is told now.
    pub(crate) fn beats(&mut self, now: Instant) -> bool {
        self.beat = now;
        self.out.messages() > self.told
    }
}

/// Whether a peer gets what is sent this way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hearing {
    /// It was not told of it.
    #[default]
    Unasked,
    /// It was told, and has not heard anything yet, or nothing any more.
    Asked,
    /// It gets its data this way.
    Hears,
}

/// What is received of one peer.
pub(crate) struct Heard {
    pub(crate) at: SocketAddrV4,
    secret: Secret,
    incoming: DatagramIn,
    turn: u64,
    /// Its data for this end comes this way.
    grouped: bool,
    /// Something has come in this turn.
    came: bool,
    /// It was told that something comes.
    told: bool,
    silent: u32,
    /// Lost messages that were counted.
    counted: u64,
    pub(crate) joined: bool,
}

impl Heard {
    /// As a peer has offered it; none if that makes no sense.
    pub(crate) fn new(address: &str, port: u32, secret: &[u8]) -> Option<Self> {
        let at = SocketAddrV4::new(address.parse().ok()?, u16::try_from(port).ok()?);
        Some(Heard {
            at,
            secret: secret.try_into().ok()?,
            incoming: DatagramIn::default(),
            turn: 0,
            grouped: false,
            came: false,
            told: false,
            silent: 0,
            counted: 0,
            joined: false,
        })
    }

    fn position(&self) -> StreamPosition {
        StreamPosition {
            read: self.turn,
            best_effort: self.turn,
        }
    }

    /// The peer begins a turn. What is to be said to it, if something is.
    pub(crate) fn begin_turn(&mut self, turn: u64, sent: u64, grouped: bool) -> Option<OnLink> {
        if !self.grouped {
            self.incoming = DatagramIn::behind(sent);
            self.counted = 0;
        }
        self.incoming.sum_up(sent);
        let missed = self.grouped && !self.came && self.incoming.lost() > self.counted;
        (self.turn, self.grouped) = (turn, grouped);
        if self.came {
            self.silent = 0;
        }
        self.came = false;
        self.silent += u32::from(missed);
        if self.silent < DEAF_TURNS || !self.told {
            return None;
        }
        (self.told, self.silent) = (false, 0);
        Some(OnLink::Hears { on: false })
    }

    /// Messages that were lost since this was asked last.
    pub(crate) fn lost(&mut self) -> u64 {
        let lost = self.incoming.lost();
        lost - std::mem::replace(&mut self.counted, lost)
    }

    /// Frames that have waited for this turn.
    pub(crate) fn next_kept(&mut self) -> Option<Vec<u8>> {
        let at = self.position();
        self.incoming.next_kept(at)
    }

    /// Whether a datagram is its.
    pub(crate) fn is_of(&self, datagram: &[u8]) -> bool {
        split_datagram(datagram).is_some_and(|(head, _)| head.secret == self.secret)
    }

    /// Frames of a datagram of its that are to be handled now, and whether the peer is to be told that it is heard.
    pub(crate) fn take<'a>(&mut self, datagram: &'a [u8]) -> (&'a [u8], bool) {
        let Some((head, frames)) = split_datagram(datagram) else {
            return (&[], false);
        };
        let tell = !std::mem::replace(&mut self.told, true);
        self.came = true;
        if !self.grouped {
            return (&[], tell);
        }
        let at = self.position();
        let frames = self.incoming.receive((&head, frames), at);
        (frames.unwrap_or_default(), tell)
    }
}

/// The IPv4 address of an interface.
pub(crate) fn interface(of: io::Result<std::net::SocketAddr>) -> Option<Ipv4Addr> {
    match of.ok()?.ip().to_canonical() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}
