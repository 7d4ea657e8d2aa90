//! Best-effort data to other federates by datagrams: by multicast one for all who hear it, else one for each.
//!
//! The TCP link to each of them carries what orders datagrams ([`GroupOut`]): so nothing is taken before a fence, or behind
//! it, that was sent on the other side of it; and how many messages were sent is known to who has not got the last of
//! them.

use crate::datagrams::{TRIES, Wanted};
use starling_core::Run;
use starling_net::{Datagrams, Leaving, Quality, Stream, random_secret};
use starling_rid::{ClassGroup, GROUP_PORT};
use starling_wire::{DataFrame, GroupOut, OnLink};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::sync::Arc;
use std::time::Instant;

/// Who was sent nothing in a group in so many heartbeats is to leave it.
const UNUSED_BEATS: u32 = 3;
/// Who has heard nothing of a group for so many heartbeats is sent datagrams of its own meanwhile.
const DEAF_BEATS: u32 = 2;
/// A peer says so often within a heartbeat that it hears something, or does not; the last of what it says more counts from the
/// next one on.
const CHANGES_MAX: u32 = 16;
/// Of so many groups it is said that they are heard, or not.
const SHOWN: usize = 4;

/// The group of a federation execution that no setting names: one of the organization-local scope, by its name.
pub(crate) fn group_of(federation: &str) -> SocketAddrV4 {
    // FNV-1a.
    let hash = federation.bytes().fold(0x811c_9dc5_u32, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    });
    let [_, a, b, c] = hash.to_be_bytes();
    SocketAddrV4::new(Ipv4Addr::new(239, 192 + a % 4, b, c), GROUP_PORT)
}

/// The groups that are named by settings.
#[derive(Clone, Default)]
pub(crate) struct Named {
    /// For all classes that have no other.
    pub(crate) group: Option<SocketAddrV4>,
    /// By class.
    pub(crate) classes: Vec<ClassGroup>,
}

/// What is sent to several peers, or to one.
pub(crate) struct Group {
    /// As peers are told of it; 0: for one alone.
    number: u32,
    /// Where to; none: that is not known yet.
    at: Option<SocketAddr>,
    /// By what.
    socket: Option<Arc<Datagrams>>,
    out: GroupOut,
    /// Nothing waits for more.
    at_once: bool,
    /// So many of what is sent to see who hears are lost.
    #[cfg(test)]
    loses: u32,
}

impl Group {
    /// What a peer is to know to take part.
    pub(crate) fn offer(&self) -> OnLink {
        OnLink::Group {
            number: self.number,
            address: self.at.map_or(String::new(), |at| at.ip().to_string()),
            port: self.at.map_or(0, |at| at.port().into()),
            secret: self.out.secret().to_vec(),
        }
    }

    /// Whether a frame of these bytes goes this way.
    #[inline]
    pub(crate) fn takes(&self, bytes: usize) -> bool {
        self.out.takes(bytes)
    }

    /// Sends a frame, with others.
    pub(crate) fn put<V: Run>(&mut self, frame: &DataFrame<'_, V>) {
        if !self.out.has_room(frame.bytes()) {
            self.out.datagram();
            if self.out.is_long() {
                self.flush();
            }
        }
        self.out.put(frame);
    }

    /// Bytes that wait, or more if they are not to.
    #[inline]
    pub(crate) fn pending(&self) -> usize {
        match self.out.pending() {
            0 => 0,
            _ if self.at_once => usize::MAX,
            bytes => bytes,
        }
    }

    /// Sends what waits. What the system does not take is lost, and receivers count it.
    #[inline]
    pub(crate) fn flush(&mut self) {
        flush(&mut [self]);
    }

    /// Sends what waits, or nothing, for those who listen whether anything comes.
    pub(crate) fn send(&mut self) {
        self.out.datagram();
        #[cfg(test)]
        if let Some(left) = self.loses.checked_sub(1) {
            self.loses = left;
            return self.out.sent();
        }
        self.flush();
    }

    fn leaving(&self) -> Option<Leaving<'_>> {
        let (bytes, lengths) = self.out.leaving();
        let to = Some(self.at?);
        Some(Leaving { to, bytes, lengths })
    }

    /// Whether something was sent since the turn began.
    pub(crate) fn is_news(&self) -> bool {
        self.out.is_news()
    }

    /// Begins a turn: to be told to all who hear.
    pub(crate) fn next_turn(&mut self) {
        self.flush();
        self.out.next_turn();
    }

    /// The turn, as it is told to who gets data this way from now on, or does not. What waited was sent.
    pub(crate) fn announce(&mut self, grouped: bool) -> OnLink {
        self.flush();
        let (turn, sent) = self.out.turn();
        OnLink::Turn {
            number: self.number,
            turn,
            sent,
            grouped,
        }
    }
}

/// Sends what waits for these, with one call for many that have a socket in common.
pub(crate) fn flush(all: &mut [&mut Group]) {
    let mut left = 0;
    for at in 0..all.len() {
        if all[at].out.complete() {
            all.swap(left, at);
            left += 1;
        }
    }
    let mut all = &mut all[..left];
    while let Some(first) = all.first() {
        let by = first.socket.as_ref().map(Arc::as_ptr);
        let theirs = |group: &&mut Group| group.socket.as_ref().map(Arc::as_ptr) == by;
        if let Some(socket) = &first.socket {
            let leaving = all.iter().filter(|group| theirs(group));
            socket.send_all(leaving.filter_map(|group| group.leaving()));
        }
        let mut left = 0;
        for at in 0..all.len() {
            if theirs(&all[at]) {
                all[at].out.sent();
            } else {
                all.swap(left, at);
                left += 1;
            }
        }
        all = &mut all[..left];
    }
}

/// All groups that this federate sends to, and what is needed for more.
pub(crate) struct Groups {
    /// By number, from 1; the first is for all classes that have no other. None: multicast is not wanted.
    all: Vec<Group>,
    /// By the interface that has this address, which leads to other hosts, or does not.
    interface: Option<(Ipv4Addr, bool)>,
    /// Which of them (from 0) is for the classes that are named, in their order.
    of_named: Vec<usize>,
    /// Whose data goes to it by datagrams of its own.
    single: Wanted,
    bytes: usize,
    quality: Quality,
    /// For single peers, by the address of this host from which they are sent.
    sockets: BTreeMap<IpAddr, Arc<Datagrams>>,
    pub(crate) beat: Instant,
    /// When those who were asked lately were sent something last, so that they hear it.
    pub(crate) tried: Instant,
    /// As each of those that begin from now on.
    #[cfg(test)]
    loses: u32,
}

impl Groups {
    /// With datagrams of at most so many bytes where a message is no larger, but none yet.
    pub(crate) fn new(single: Wanted, bytes: usize, quality: Quality, now: Instant) -> Self {
        Groups {
            all: Vec::new(),
            interface: None,
            of_named: Vec::new(),
            single,
            bytes,
            quality,
            sockets: BTreeMap::new(),
            beat: now,
            tried: now,
            #[cfg(test)]
            loses: 0,
        }
    }

    /// Sends by multicast, too, once there is somebody.
    pub(crate) fn name(&mut self, named: &Named, federation: &str) -> io::Result<()> {
        let mut places = BTreeMap::new();
        let mut place = |at: SocketAddrV4| -> io::Result<usize> {
            if let Some(place) = places.get(&at) {
                return Ok(*place);
            }
            let place = self.all.len();
            self.all.push(Group {
                number: place as u32 + 1,
                at: Some(at.into()),
                socket: None,
                out: GroupOut::new(random_secret()?, self.bytes),
                at_once: self.bytes == 0,
                #[cfg(test)]
                loses: self.loses,
            });
            places.insert(at, place);
            Ok(place)
        };
        place(named.group.unwrap_or_else(|| group_of(federation)))?;
        let classes = named.classes.iter();
        self.of_named = classes
            .map(|class| place(class.group))
            .collect::<io::Result<_>>()?;
        Ok(())
    }

    /// There is a link to a peer. Groups are sent to by the interface of the first one that leads to another host; as long
    /// as none does, of the first.
    pub(crate) fn meet(&mut self, stream: &Stream) -> io::Result<()> {
        let elsewhere = stream.leads_elsewhere();
        if self.all.is_empty() || self.interface.is_some_and(|(_, is)| is || !elsewhere) {
            return Ok(());
        }
        let Some(interface) = interface(stream.local_address()) else {
            return Ok(());
        };
        let socket = Arc::new(Datagrams::to_groups(interface)?);
        self.quality.mark_datagrams(&socket)?;
        for group in &mut self.all {
            group.flush();
            group.socket = Some(socket.clone());
        }
        self.interface = Some((interface, elsewhere));
        Ok(())
    }

    /// So many of what is sent to see who hears are lost, in each group that there is or will be.
    #[cfg(test)]
    pub(crate) fn lose(&mut self, count: u32) {
        self.all.iter_mut().for_each(|group| group.loses = count);
        self.loses = count;
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.all.len()
    }

    /// One of them.
    pub(crate) fn at(&mut self, place: usize) -> &mut Group {
        &mut self.all[place]
    }

    /// All of them.
    pub(crate) fn all(&mut self) -> &mut [Group] {
        &mut self.all
    }

    /// Which is for data of the named class of this number, from 1, or for that of all others, if one is.
    #[inline]
    pub(crate) fn of_class(&self, class: u32) -> Option<usize> {
        self.interface?;
        let named = (class as usize).checked_sub(1);
        Some(
            named
                .and_then(|named| self.of_named.get(named).copied())
                .unwrap_or(0),
        )
    }

    /// Whether the one at this place takes a frame of so many bytes.
    pub(crate) fn takes(&self, place: usize, bytes: usize) -> bool {
        self.all[place].takes(bytes)
    }

    /// Whether data for one on this or another host goes to it by datagrams of its own.
    #[inline]
    pub(crate) fn takes_single(&self, elsewhere: bool) -> bool {
        match self.single {
            Wanted::Always => true,
            Wanted::Never => false,
            Wanted::Auto => elsewhere,
        }
    }

    /// One for a single peer.
    pub(crate) fn single(&self) -> io::Result<Group> {
        Ok(Group {
            number: 0,
            at: None,
            socket: None,
            out: GroupOut::new(random_secret()?, self.bytes),
            at_once: self.bytes == 0,
            #[cfg(test)]
            loses: self.loses,
        })
    }

    /// Closes what no single peer is sent to from any more.
    pub(crate) fn close_unused(&mut self) {
        self.sockets
            .retain(|_, socket| Arc::strong_count(socket) > 1);
    }

    /// The single peer takes its datagrams there, `from` where its link comes.
    pub(crate) fn direct_to(
        &mut self,
        group: &mut Group,
        (from, at): (SocketAddr, SocketAddr),
    ) -> io::Result<()> {
        let socket = match self.sockets.get(&from.ip()) {
            Some(socket) => socket.clone(),
            None => {
                let socket = Arc::new(Datagrams::sent_from(from)?);
                self.quality.mark_datagrams(&socket)?;
                self.sockets.insert(from.ip(), socket.clone());
                socket
            }
        };
        (group.at, group.socket) = (Some(at), Some(socket));
        Ok(())
    }
}

/// Whether a peer gets what is sent to a group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Hearing {
    /// It was not told of it.
    #[default]
    Unasked,
    /// It was told, and has not heard anything yet, or nothing any more.
    Asked,
    /// It takes no part.
    Refused,
    /// It gets its data this way.
    Hears,
}

/// How a peer hears a group.
#[derive(Debug, Default)]
pub(crate) struct Ear {
    pub(crate) hearing: Hearing,
    /// Why it takes no part, or hears nothing any more.
    pub(crate) why: String,
    /// Something was for it there since the last heartbeat.
    pub(crate) used: bool,
    /// What is sent there next is to come behind what stands on its link.
    pub(crate) behind: bool,
    /// Heartbeats in which nothing was.
    unused: u32,
    /// Heartbeats since it was asked.
    waited: u32,
    /// How often it is still to be tried between heartbeats, since it takes part.
    tries: u32,
    /// How often it has begun and ceased to hear since the last heartbeat.
    changes: u32,
    /// What it has said last, if that was once too often.
    pub(crate) put_off: Option<bool>,
}

impl Ear {
    /// It is told of the group.
    pub(crate) fn ask(&mut self) {
        (self.hearing, self.waited, self.unused, self.tries) = (Hearing::Asked, 0, 0, 0);
    }

    /// It takes part, so it is to be tried whether it hears.
    pub(crate) fn takes_part(&mut self) {
        self.tries = TRIES;
    }

    /// It takes part since lately, and is not known to hear: it may be that what was sent for that was lost.
    pub(crate) fn is_tried(&self) -> bool {
        self.hearing == Hearing::Asked && self.tries > 0
    }

    /// It is tried again. Whether it is.
    pub(crate) fn try_again(&mut self) -> bool {
        let is_tried = self.is_tried();
        self.tries -= u32::from(is_tried);
        is_tried
    }

    /// It has nothing to do with the group any more.
    pub(crate) fn forget(&mut self) {
        *self = Ear::default();
    }

    /// It hears nothing any more.
    pub(crate) fn lose(&mut self) {
        self.ask();
        self.takes_part();
        self.waited = DEAF_BEATS;
        self.why = "no datagram comes there any more".into();
    }

    /// It is to begin or cease to hear. False: it has done so too often.
    pub(crate) fn change(&mut self) -> bool {
        self.changes = self.changes.saturating_add(1);
        self.changes <= CHANGES_MAX
    }

    /// It hears nothing, and that is not about to change.
    #[inline]
    pub(crate) fn is_deaf(&self) -> bool {
        match self.hearing {
            Hearing::Unasked | Hearing::Hears => false,
            Hearing::Asked => self.waited >= DEAF_BEATS,
            Hearing::Refused => true,
        }
    }

    /// A heartbeat; whether the peer has no need of the group any more. `is_news`: something was sent there.
    pub(crate) fn beat(&mut self, is_news: bool) -> bool {
        self.changes = 0;
        let counts = match self.hearing {
            Hearing::Unasked | Hearing::Refused => return false,
            Hearing::Asked => true,
            Hearing::Hears => is_news,
        };
        self.waited += u32::from(self.hearing == Hearing::Asked);
        self.unused = if std::mem::take(&mut self.used) {
            0
        } else {
            self.unused + u32::from(counts)
        };
        self.unused >= UNUSED_BEATS
    }

    fn why_not(&self) -> &str {
        match self.why.as_str() {
            "" => "no datagram has come there",
            why => why,
        }
    }
}

/// By which ways best-effort data goes to a peer, for people; none: there was none yet. `single`: by datagrams of its own
/// where it does not hear a group, if those are wanted.
pub(crate) fn ways(
    groups: &Groups,
    ears: &[Ear],
    single: Option<&Ear>,
    elsewhere: bool,
) -> Option<String> {
    let asked = |hears: bool| {
        let all = groups.all.iter().zip(ears).filter(move |(_, ear)| {
            ear.hearing != Hearing::Unasked && (ear.hearing == Hearing::Hears) == hears
        });
        all.filter_map(|(group, ear)| Some((group.at?, ear)))
    };
    let (heard, deaf) = (asked(true).count(), asked(false).count());
    let mut said = String::new();
    if heard > 0 {
        said.push_str("multicast");
        for (at, _) in asked(true).take(SHOWN) {
            let _ = write!(said, " {at}");
        }
        if heard > SHOWN {
            let _ = write!(said, " and {} more", heard - SHOWN);
        }
        if deaf == 0 {
            return Some(said);
        }
        said.push_str("; else ");
    }
    let mut why: Vec<_> = asked(false)
        .take(SHOWN)
        .map(|(at, ear)| format!("not by {at}: {}", ear.why_not()))
        .collect();
    match single {
        _ if !groups.takes_single(elsewhere) => {
            said.push_str("the way of reliable data");
            why.push("both are on one host; transport.best_effort".into());
        }
        Some(ear) if ear.hearing == Hearing::Hears => said.push_str("unicast"),
        Some(ear) if ear.hearing != Hearing::Unasked => {
            said.push_str("the way of reliable data");
            why.push(format!("not by unicast: {}", ear.why_not()));
        }
        _ if deaf == 0 => return None,
        _ => said.push_str("the way of reliable data"),
    }
    if !why.is_empty() {
        let _ = write!(said, " ({})", why.join("; "));
    }
    Some(said)
}

/// The IPv4 address of an interface.
pub(crate) fn interface(of: io::Result<SocketAddr>) -> Option<Ipv4Addr> {
    match of.ok()?.ip().to_canonical() {
        IpAddr::V4(address) => Some(address),
        IpAddr::V6(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_is_asked_is_tried_so_often_until_it_hears() {
        let mut ear = Ear::default();
        assert!(!ear.try_again(), "it was not asked");
        ear.ask();
        assert!(!ear.try_again(), "it takes no part yet");
        ear.takes_part();
        assert!((0..TRIES).all(|_| ear.is_tried() && ear.try_again()));
        assert!(!ear.is_tried() && !ear.try_again(), "then once a heartbeat");
        ear.lose();
        assert!(ear.try_again());
        ear.hearing = Hearing::Hears;
        assert!(!ear.is_tried() && !ear.try_again());
    }

    #[test]
    fn who_has_heard_something_is_not_said_to_have_heard_nothing() {
        let mut ear = Ear::default();
        ear.ask();
        assert_eq!(ear.why_not(), "no datagram has come there");
        ear.hearing = Hearing::Hears;
        ear.lose();
        assert_eq!(ear.why_not(), "no datagram comes there any more");
        ear.forget();
        ear.ask();
        assert_eq!(ear.why_not(), "no datagram has come there", "of the next");
    }
}
