//! Which federates share memory with each other, and their descriptors on the way to each other.
//!
//! A joined federate on a Unix-domain link offers three descriptors. Each other member of its federation
//! execution that has offered, and runs as the same user, gets them, and a seat: a small number by
//! which each finds its place in the other's memory. What these descriptors are is not looked at here:
//! whoever gets them does.
//!
//! Invariants: a seat is one member's at a time; a mark is never given twice; that a member is gone stands on
//! a stream before what the log says of it, and before the seat is somebody else's; what a member relays
//! reaches only whom it was meant for.

use crate::connection::Connection;
use crate::datagrams::{BY_DATAGRAMS, BY_STREAM};
use crate::direct::DIRECT;
use crate::server::{Ending, Server};
use crate::sites::FORWARDER;
use crate::trunk::BY_A_FORWARDER;
use starling_core::message::{FederationStatus, Path};
use starling_core::{FederateHandle, NAME_BYTES_MAX, PeerId};
use starling_net::{Descriptors, LinkReader};
use starling_wire::{LinkNotice, LinkRequest, put_link_notice};
use std::collections::BTreeMap;
use std::time::Instant;

/// So many members of one federation execution share memory; a record in a ring has a bit for each.
const SEATS: u8 = 128;
/// More best-effort messages are not dropped between two heartbeats, which are a day apart at most.
const DROPPED_MAX: u64 = 1 << 40;

/// As a path is called that is none of rtiexec's.
pub(crate) const SHARED_MEMORY: &str = "shared memory";

/// Those who share memory, by their marks.
#[derive(Default)]
pub(crate) struct Seats {
    members: BTreeMap<u64, Member>,
    last_mark: u64,
}

impl Seats {
    /// A mark that was never given.
    pub(crate) fn next_mark(&mut self) -> u64 {
        self.last_mark += 1;
        self.last_mark
    }
}

/// One of them.
struct Member {
    /// Its connection.
    n: usize,
    execution: u64,
    federate: FederateHandle,
    seat: u8,
    user: u32,
    descriptors: Descriptors,
    /// How its data gets to others, where it has said so: in shared memory, and what is to be said of that, or why not.
    paths: BTreeMap<u64, Result<String, String>>,
}

impl Server {
    /// A federate says something about links.
    pub(crate) fn link_request(
        &mut self,
        n: usize,
        request: LinkRequest,
        reader: &mut LinkReader,
        now: Instant,
    ) -> Result<(), Ending> {
        match request {
            LinkRequest::Offer { number } if self.connection(n).is_some_and(|c| c.is_part) => {
                // Its forwarder passes no descriptors.
                let why = BY_A_FORWARDER.to_owned();
                self.tell(n, &LinkNotice::Refused { number, why }, None);
            }
            LinkRequest::Offer { number } => {
                let Some(descriptors) = reader.take_descriptors() else {
                    let why = "malformed message: it offers memory without the descriptors";
                    return Err(Ending::Fault(why.into()));
                };
                let seated = match descriptors {
                    Ok(descriptors) => self.seat(n, descriptors.into()),
                    Err(why) => {
                        // A former offer is taken back all the same.
                        self.unseat(n);
                        Err(format!("rtiexec has {why}"))
                    }
                };
                let answer = match seated {
                    Ok((seat, mark)) => LinkNotice::Seated { number, seat, mark },
                    Err(why) => {
                        if let Some(connection) = self.connection(n) {
                            connection.unshared.clone_from(&why);
                        }
                        LinkNotice::Refused { number, why }
                    }
                };
                self.tell(n, &answer, None);
                if let LinkNotice::Seated { mark, .. } = answer {
                    self.introduce(mark);
                }
            }
            LinkRequest::Relay { to, frames } => {
                // Either may have gone meanwhile, and with it what this belongs to.
                if let Some((from, to)) = self.pair(n, to) {
                    self.tell(to, &LinkNotice::Relayed { from, frames }, None);
                    self.check_room(n, to, now);
                }
            }
            LinkRequest::Dropped { messages, .. } if messages > DROPPED_MAX => {
                let why = "malformed message: more best-effort data than anybody drops in a day";
                return Err(Ending::Fault(why.into()));
            }
            LinkRequest::Dropped { to, messages } => {
                let pair = self.pair(n, to).or_else(|| self.link_between(n, to));
                if let Some((_, to)) = pair {
                    self.tell(to, &LinkNotice::Lost { messages }, None);
                }
            }
            LinkRequest::Datagrams => self.open_session(n, now),
            LinkRequest::Sent { messages } => self.hear_sent(n, messages),
            LinkRequest::Site => self.enter_site(n),
            // To who has left meanwhile: no forwarder on the way has had it.
            LinkRequest::Pass { .. } => {}
            LinkRequest::Direct { .. }
            | LinkRequest::Endpoint { .. }
            | LinkRequest::Rest { .. }
            | LinkRequest::Over { .. }
            | LinkRequest::Again { .. }
            | LinkRequest::BestEffort { .. } => self.direct_request(n, request, now)?,
            LinkRequest::Path { to, shared, why } => {
                if why.len() > NAME_BYTES_MAX {
                    let why = "malformed message: a reason of too many bytes for its path";
                    return Err(Ending::Fault(why.into()));
                }
                if to == 0
                    && let Some(connection) = self.connection(n)
                {
                    connection.unshared = why;
                } else if let Some((from, _)) = self.pair(n, to)
                    && let Some(member) = self.seats.members.get_mut(&from)
                {
                    let path = if shared { Ok(why) } else { Err(why) };
                    member.paths.insert(to, path);
                } else if shared {
                    self.is_linked(n, to, why);
                }
            }
        }
        Ok(())
    }

    /// The mark of the member on connection `n`, and the connection of the member with mark `to`, if both
    /// are of the same federation execution.
    fn pair(&mut self, n: usize, to: u64) -> Option<(u64, usize)> {
        let from = self.connection(n)?.mark?;
        let (one, other) = (self.seats.members.get(&from)?, self.seats.members.get(&to)?);
        let may = one.execution == other.execution && one.user == other.user;
        may.then_some((from, other.n))
    }

    /// Gives a member a seat, or says why not.
    fn seat(&mut self, n: usize, descriptors: Descriptors) -> Result<(u8, u64), String> {
        self.unseat(n);
        if !self.config.shared_memory {
            return Err("transport.shared_memory = off at rtiexec".into());
        }
        // It may have been resigned while its offer was on its way.
        let member = self.executive.member_of(PeerId(n as u64));
        let (execution, federate) = member.ok_or("it is no joined federate any more")?;
        let user = self.connection(n).and_then(|c| c.user);
        let user = user.ok_or("its user is not known")?;
        let members = self.seats.members.values();
        let taken = members.filter(|m| m.execution == execution);
        let taken = taken.fold(0_u128, |taken, m| taken | 1 << m.seat);
        let seat = (0..SEATS).find(|seat| taken & 1 << seat == 0);
        let seat = seat.ok_or_else(|| format!("{SEATS} federates share memory already"))?;
        let mark = self.seats.next_mark();
        let member = Member {
            n,
            execution,
            federate,
            seat,
            user,
            descriptors,
            paths: BTreeMap::new(),
        };
        self.seats.members.insert(mark, member);
        if let Some(connection) = self.connection(n) {
            connection.mark = Some(mark);
            connection.unshared.clear();
            connection.has_links = true;
        }
        Ok((seat, mark))
    }

    /// Gives a new member and the others each other's descriptors.
    fn introduce(&mut self, mark: u64) {
        let Some(new) = self.seats.members.get(&mark) else {
            return;
        };
        let peer = |mark, m: &Member| {
            let (seat, federate) = (m.seat, m.federate);
            let notice = LinkNotice::Peer {
                mark,
                seat,
                federate,
            };
            (notice, m.descriptors.clone())
        };
        let mut messages = Vec::new();
        for (other, member) in &self.seats.members {
            if *other != mark && member.execution == new.execution && member.user == new.user {
                messages.push((new.n, peer(*other, member)));
                messages.push((member.n, peer(mark, new)));
            }
        }
        for (n, (notice, descriptors)) in messages {
            self.tell(n, &notice, Some(descriptors));
        }
    }

    /// A member has left. It is told so, too: the others drop what they hold for it, and what the log still
    /// tells it is not to wait for a fence among that.
    pub(crate) fn leave_seat(&mut self, n: usize) {
        if let Some(mark) = self.unseat(n) {
            self.tell(n, &LinkNotice::Gone { mark }, None);
        }
    }

    /// A member shares memory no more; its mark, if it did.
    pub(crate) fn unseat(&mut self, n: usize) -> Option<u64> {
        let mark = self.connection(n).and_then(|c| c.mark.take())?;
        let gone = self.seats.members.remove(&mark)?;
        let mut others = Vec::new();
        for other in self.seats.members.values_mut() {
            if other.execution == gone.execution && other.user == gone.user {
                other.paths.remove(&mark);
                others.push(other.n);
            }
        }
        for n in others {
            self.tell(n, &LinkNotice::Gone { mark }, None);
        }
        Some(mark)
    }

    /// Appends a message about links to what is to be sent.
    pub(crate) fn tell(&mut self, n: usize, notice: &LinkNotice, descriptors: Option<Descriptors>) {
        let Some(connection) = self.connection(n) else {
            return;
        };
        if connection.write_failed.is_some() {
            return;
        }
        if let Some(descriptors) = descriptors {
            connection.writer.attach(descriptors);
        }
        put_link_notice(connection.writer.out(), notice);
        if self.written.last() != Some(&n) {
            self.written.push(n);
        }
        self.mark_dirty(n);
    }

    /// How the data of all these travels, and whose process is stopped or silent, for `starling ps`.
    pub(crate) fn put_paths(&mut self, list: &mut [FederationStatus]) {
        let mut still = self.all_still();
        for federation in list {
            let connections = self.connections.numbers();
            let here = connections.filter_map(|n| {
                let connection = self.connections.get(n)?;
                let (name, _) = connection.member.as_ref()?;
                let (_, _, handle) = self.executive.member(PeerId(n as u64))?;
                (*name == federation.name).then_some((handle, (n, connection)))
            });
            let here: BTreeMap<_, _> = here.collect();
            for federate in &mut federation.federates {
                let own = here.get(&federate.federate.handle);
                if let Some((n, _)) = own {
                    federate.still = still.remove(n).unwrap_or_default();
                    federate.best_effort = self.best_effort_of(*n);
                }
                let own = own.map(|(_, connection)| *connection);
                let mut paths = BTreeMap::<String, Vec<FederateHandle>>::new();
                let mut best_effort = BTreeMap::<String, Vec<FederateHandle>>::new();
                let has_some = |c: &Connection| {
                    self.shares(c).is_some() || c.direct.is_some() || self.is_at_a_site(c)
                };
                if own.is_some_and(has_some) {
                    for (other, (_, connection)) in &here {
                        if *other != federate.federate.handle {
                            let by = self.path(own, Some(connection));
                            let lossy = self.best_effort_path(&by, own, Some(connection));
                            best_effort.entry(lossy).or_default().push(*other);
                            paths.entry(by).or_default().push(*other);
                        }
                    }
                } else if here.len() > 1 {
                    // Most may be so: said once, not for each pair.
                    let by = self.path(own, None);
                    best_effort.insert(self.best_effort_path(&by, own, None), Vec::new());
                    paths.insert(by, Vec::new());
                }
                let all = |paths: BTreeMap<_, _>| {
                    let paths = paths.into_iter();
                    paths.map(|(by, to)| Path { by, to }).collect()
                };
                (federate.paths, federate.best_effort_paths) = (all(paths), all(best_effort));
            }
        }
    }

    /// Whether these two, on these connections, hand data to each other in shared memory, or are to.
    pub(crate) fn share_memory(&self, one: usize, other: usize) -> bool {
        let member = |n| self.shares(self.connections.get(n)?);
        match (member(one), member(other)) {
            (Some(one), Some(other)) => one.execution == other.execution && one.user == other.user,
            _ => false,
        }
    }

    /// The ways by which data of the others of its federation execution gets to the federate on
    /// connection `n`, each with how many they are.
    pub(crate) fn ways_to(&self, n: usize) -> BTreeMap<String, usize> {
        let to = self.connections.get(n);
        let federation = |c: &'_ Connection| Some(c.member.as_ref()?.0.clone());
        let here = to.and_then(federation);
        let mut ways = BTreeMap::new();
        for from in self.connections.numbers().filter(|from| *from != n) {
            let from = self.connections.get(from);
            if from.and_then(federation) == here {
                *ways.entry(self.path(from, to)).or_default() += 1;
            }
        }
        ways
    }

    /// What a federate shares, if it does.
    fn shares(&self, connection: &Connection) -> Option<&Member> {
        self.seats.members.get(&connection.mark?)
    }

    /// How data of the one gets to the other; of both, none: how that of all gets anywhere.
    fn path(&self, from: Option<&Connection>, to: Option<&Connection>) -> String {
        let Some(from) = from else {
            return "rtiexec".into();
        };
        if let Some(to) = to
            && self.are_near(from, to)
        {
            return FORWARDER.into();
        }
        if let Some(why) = self.behind_a_forwarder(from, to) {
            return format!("rtiexec ({why})");
        }
        let Some(to) = to else {
            return match self.shares(from) {
                Some(_) => "rtiexec".into(),
                None if from.direct.is_none() && from.is_of_another_host() => {
                    format!("rtiexec ({})", from.unlinked())
                }
                None => format!("rtiexec ({})", unshared(from)),
            };
        };
        let near = match self.memory_path(from, to) {
            Ok(note) if note.is_empty() => return SHARED_MEMORY.into(),
            Ok(note) => return format!("{SHARED_MEMORY} ({note})"),
            Err(why) => why,
        };
        match self.link_path(from, to) {
            Ok(by) => by,
            // Where links are wanted, why there is none is what matters.
            Err(why) if !self.is_near(from, to) && self.may_want_link(from, to) => {
                format!("rtiexec ({why})")
            }
            Err(_) => format!("rtiexec ({near})"),
        }
    }

    /// Why nothing faster is possible between these, or to all others, whatever else they have: one of them comes by a forwarder.
    fn behind_a_forwarder(&self, from: &Connection, to: Option<&Connection>) -> Option<String> {
        let trunk = |c: &Connection| Some(c.channel.as_ref()?.place().0);
        let may_be_one = to.is_none_or(|to| trunk(to) == trunk(from));
        if from.is_part && may_be_one && !self.config.passes {
            return Some(format!(
                "{BY_A_FORWARDER}; forwarder.passes = false at rtiexec"
            ));
        }
        if from.is_part {
            return Some(BY_A_FORWARDER.into());
        }
        let other = to.is_some_and(|to| to.is_part);
        other.then(|| format!("of the other: {BY_A_FORWARDER}"))
    }

    /// How best-effort data of the one gets to the other, or to all others, where reliable data gets there `by` this.
    fn best_effort_path(
        &self,
        by: &str,
        from: Option<&Connection>,
        to: Option<&Connection>,
    ) -> String {
        if let (Some(from), Some(to)) = (from, to)
            && by.starts_with(DIRECT)
        {
            let said = self.best_effort_on_link(from, to);
            return said.unwrap_or("not known before there is some").to_owned();
        }
        // Between it and rtiexec, and between rtiexec and the other.
        let leg = |of: &Connection| self.best_effort_by(of);
        let first = from.map_or_else(|| BY_STREAM.into(), leg);
        let second = to.map(leg);
        let second = second.as_deref();
        match by.strip_prefix("rtiexec") {
            Some(why) if first == BY_DATAGRAMS && second.is_none_or(|by| by == BY_DATAGRAMS) => {
                format!("rtiexec by datagrams{why}")
            }
            Some(why) if first != BY_STREAM || second.is_some_and(|by| by != BY_STREAM) => {
                let second = second.map(|by| format!(", from there by {by}"));
                format!(
                    "rtiexec, to there by {first}{}{why}",
                    second.unwrap_or_default()
                )
            }
            _ => format!("{by}, the way of reliable data"),
        }
    }

    /// Whether data of the one gets to the other in shared memory, and what is to be said of that, or why not.
    fn memory_path(&self, from: &Connection, to: &Connection) -> Result<String, String> {
        let Some(own) = self.shares(from) else {
            return Err(unshared(from).into());
        };
        let Some(other) = self.shares(to) else {
            return Err(format!("of the other: {}", unshared(to)));
        };
        if own.user != other.user {
            return Err("the other is another user's".into());
        }
        match to.mark.and_then(|mark| own.paths.get(&mark)) {
            Some(said) => said.clone(),
            None => match from.mark.and_then(|mark| other.paths.get(&mark)) {
                Some(Err(why)) => Err(format!("of the other: {why}")),
                _ => Err("shared memory is not set up yet".into()),
            },
        }
    }

    /// Whether both share memory with somebody: then why not with each other is the question.
    fn is_near(&self, from: &Connection, to: &Connection) -> bool {
        self.shares(from).is_some() && self.shares(to).is_some()
    }
}

/// As a sentence.
pub(crate) fn ways_text(ways: &BTreeMap<String, usize>) -> String {
    let ways = ways.iter().map(|(by, count)| match count {
        1 => format!("by {by} from another federate"),
        _ => format!("by {by} from {count} others"),
    });
    match ways.collect::<Vec<_>>().join(", ").as_str() {
        "" => "no other federate is joined".into(),
        ways => format!("data comes {ways}"),
    }
}

/// Why a federate shares no memory.
fn unshared(connection: &Connection) -> &str {
    match connection.unshared.as_str() {
        "" => "it has not offered shared memory",
        why => why,
    }
}
