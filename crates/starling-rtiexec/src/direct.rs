//! Which members have TCP links to each other, and what of a link that has ended goes by this process.
//!
//! A joined federate that wants links is asked, as soon as there is another one that it is to have a link to, where it
//! takes connections. Each pair that is to have a link gets a secret, and one of the two an address to connect to.
//! When one end of a link is over the other is told so; when both have relayed what they had put on it, and one asks,
//! there may be another.
//!
//! Invariants: a pair is introduced only when nothing of a former link is relayed any more, and what was relayed
//! stands on both streams before that; a secret goes to these two only, and is never used again; that a member is gone
//! stands on a stream before what the log says of it.

use crate::connection::Connection;
use crate::server::{Ending, Server};
use crate::trunk::BY_A_FORWARDER;
use starling_core::{FederateHandle, NAME_BYTES_MAX, PeerId};
use starling_net::{Endpoint, random_secret};
use starling_wire::{LinkNotice, LinkRequest};
use std::collections::BTreeMap;
use std::net::IpAddr;
use std::time::Instant;
use tracing::info;

/// So many members of one federation execution have links to each other: each is a descriptor of both.
const MEMBERS: usize = 128;
/// As a path is called that is none of rtiexec's.
pub(crate) const DIRECT: &str = "direct tcp";

/// Which pairs have links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Links {
    /// None.
    None,
    /// Those of different hosts.
    BetweenHosts,
    /// All that share no memory.
    All,
}

impl Links {
    /// As `transport.path` says.
    pub(crate) fn of(path: &str) -> Self {
        match path {
            "direct" => Self::All,
            "auto" => Self::BetweenHosts,
            _ => Self::None,
        }
    }
}

/// Those who want links, by their marks.
#[derive(Default)]
pub(crate) struct Directs {
    members: BTreeMap<u64, Member>,
    pairs: BTreeMap<(u64, u64), Pair>,
}

struct Member {
    /// Its connection.
    n: usize,
    execution: u64,
    federate: FederateHandle,
    /// It wants links to others of its host, too.
    all: bool,
    /// Where it is, as seen from here.
    host: Host,
    /// It was asked where it takes connections.
    asked: bool,
    /// At which address it takes connections, if it has said so, and at which port; or why nowhere. None: it has not said
    /// anything yet.
    endpoint: Option<Result<(Option<IpAddr>, u16), String>>,
}

/// Where a member is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Host {
    /// Beside this process.
    Here,
    /// There.
    There(IpAddr),
}

/// Two members that have, or had, a link: the one with the lower mark first.
struct Pair {
    ends: [End; 2],
    /// By which ways best-effort data of each goes to the other, if there was any.
    best_effort: [String; 2],
    /// Which of them connects.
    dials: usize,
    /// One has asked for another link.
    asked: bool,
    /// Why it had none, as it was logged last.
    logged: String,
}

#[derive(Clone, Default)]
enum End {
    /// It is to have a link.
    #[default]
    Begun,
    /// Its data takes it, compressed by this, if it is.
    Linked(String),
    /// It has none, for this reason.
    Over(String),
}

impl Server {
    /// A federate says something about TCP links.
    pub(crate) fn direct_request(
        &mut self,
        n: usize,
        request: LinkRequest,
        now: Instant,
    ) -> Result<(), Ending> {
        let fault = |what: &str| Err(Ending::Fault(format!("malformed message: {what}")));
        let why_bytes = match &request {
            LinkRequest::Endpoint { why, address, .. } => why.len().max(address.len()),
            LinkRequest::Over { why, .. } => why.len(),
            LinkRequest::BestEffort { by, .. } => by.len(),
            _ => 0,
        };
        if why_bytes > NAME_BYTES_MAX {
            return fault("a reason or address of too many bytes for its links");
        }
        match request {
            LinkRequest::Direct { all } => {
                let wanted = self.want_links(n, all);
                match wanted {
                    Ok(mark) => self.ask_for_endpoints(mark),
                    Err(why) => {
                        if let Some(connection) = self.connection(n) {
                            connection.undirect.clone_from(&why);
                        }
                        self.tell(n, &LinkNotice::NoDirect { why }, None);
                    }
                }
            }
            LinkRequest::Endpoint { address, port, why } => {
                let address = match address.as_str() {
                    "" => None,
                    address => match address.parse::<IpAddr>() {
                        Ok(address) => Some(address),
                        Err(_) => return fault("what is no address for its links"),
                    },
                };
                let endpoint = match u16::try_from(port) {
                    Ok(0) => Err(why),
                    Ok(port) => Ok((address, port)),
                    Err(_) => return fault("what is no port for its links"),
                };
                let mark = self.connection(n).and_then(|c| c.direct);
                // It may have been resigned meanwhile.
                if let Some(mark) = mark
                    && let Some(member) = self.directs.members.get_mut(&mark)
                    && member.asked
                    && member.endpoint.is_none()
                {
                    member.endpoint = Some(endpoint);
                    self.introduce_to_all(mark);
                }
            }
            LinkRequest::Rest { to, at, frames } => {
                // Either may have gone meanwhile, and with it what this belongs to.
                if let Some((from, to)) = self.link_between(n, to) {
                    self.tell(to, &LinkNotice::Rest { from, at, frames }, None);
                    self.check_room(n, to, now);
                }
            }
            LinkRequest::Over { to, why } => self.link_is_over(n, to, why),
            LinkRequest::BestEffort { to, by } => {
                if let Some((pair, end)) = self.pair_of(n, to) {
                    pair.best_effort[end] = by;
                }
            }
            LinkRequest::Again { to } => {
                if let Some((pair, _)) = self.pair_of(n, to) {
                    pair.asked = true;
                    self.introduce_again(n, to);
                }
            }
            LinkRequest::Offer { .. }
            | LinkRequest::Relay { .. }
            | LinkRequest::Path { .. }
            | LinkRequest::Datagrams
            | LinkRequest::Sent { .. }
            | LinkRequest::Dropped { .. }
            | LinkRequest::Site
            | LinkRequest::Pass { .. } => {}
        }
        Ok(())
    }

    /// Takes a member in, or says why not.
    fn want_links(&mut self, n: usize, all: bool) -> Result<u64, String> {
        self.end_links(n);
        if self.config.links == Links::None {
            return Err("transport.path = forwarder at rtiexec".into());
        }
        if self.connection(n).is_some_and(|c| c.is_part) {
            return Err(BY_A_FORWARDER.into());
        }
        // It may have been resigned while this was on its way.
        let member = self.executive.member_of(PeerId(n as u64));
        let (execution, federate) = member.ok_or("it is no joined federate any more")?;
        let members = self.directs.members.values();
        if members.filter(|m| m.execution == execution).count() == MEMBERS {
            return Err(format!("{MEMBERS} federates have links already"));
        }
        let all = all && self.config.links == Links::All;
        let mark = self.seats.next_mark();
        let Some(connection) = self.connection(n) else {
            return Err("it is gone".into());
        };
        let host = connection.host();
        connection.direct = Some(mark);
        connection.undirect.clear();
        connection.has_links = true;
        let member = Member {
            n,
            execution,
            federate,
            all,
            host,
            asked: false,
            endpoint: None,
        };
        self.directs.members.insert(mark, member);
        Ok(mark)
    }

    /// Asks a new member where it takes connections, and those that it is to have links to, if there are any.
    fn ask_for_endpoints(&mut self, mark: u64) {
        let members = &self.directs.members;
        let Some(new) = members.get(&mark) else {
            return;
        };
        let others = members.iter();
        let others = others.filter(|(m, other)| **m != mark && self.are_to_be_linked(new, other));
        let mut asked: Vec<u64> = others.map(|(other, _)| *other).collect();
        if !asked.is_empty() {
            asked.push(mark);
        }
        let here = !self.is_reached_from_elsewhere();
        for mark in asked {
            let member = self.directs.members.get_mut(&mark);
            if let Some(member) = member.filter(|m| !m.asked) {
                member.asked = true;
                let n = member.n;
                self.tell(n, &LinkNotice::Listen { mark, here }, None);
            }
        }
    }

    fn is_reached_from_elsewhere(&self) -> bool {
        self.listeners.iter().any(|(listener, _)| {
            let endpoint = listener.endpoint();
            let Ok(Endpoint::Tcp { host, .. }) = endpoint else {
                return false;
            };
            host.parse::<IpAddr>().is_ok_and(|ip| !ip.is_loopback())
        })
    }

    /// Gives a new member and the others links to each other, where they are to have some.
    fn introduce_to_all(&mut self, mark: u64) {
        let Some(new) = self.directs.members.get(&mark) else {
            return;
        };
        let others = self.directs.members.iter();
        let others = others.filter(|(other, member)| {
            **other != mark && member.endpoint.is_some() && self.are_to_be_linked(new, member)
        });
        let others: Vec<u64> = others.map(|(other, _)| *other).collect();
        for other in others {
            // Who was there first takes connections longest, and knows of it before.
            let pair = (mark.min(other), mark.max(other));
            let dials = usize::from(pair.1 == mark);
            let ends = Default::default();
            let new = Pair {
                ends,
                best_effort: Default::default(),
                dials,
                asked: false,
                logged: String::new(),
            };
            self.directs.pairs.insert(pair, new);
            self.introduce_pair(pair);
        }
    }

    fn are_to_be_linked(&self, one: &Member, other: &Member) -> bool {
        let near = one.host == other.host;
        one.execution == other.execution
            && (!near || one.all && other.all)
            && !self.share_memory(one.n, other.n)
    }

    /// Tells two members that there is to be a link between them, and one of them where to connect to.
    fn introduce_pair(&mut self, marks: (u64, u64)) {
        let members = &self.directs.members;
        let (Some(pair), Some(low), Some(high)) = (
            self.directs.pairs.get(&marks),
            members.get(&marks.0),
            members.get(&marks.1),
        ) else {
            return;
        };
        let both = [(marks.0, low), (marks.1, high)];
        let mut dials = pair.dials;
        // Who takes no connections connects.
        if !matches!(both[1 - dials].1.endpoint, Some(Ok(_))) {
            dials = 1 - dials;
        }
        let secret = [random_secret(), random_secret()];
        let found = match (secret, &both[1 - dials].1.endpoint) {
            ([Ok(one), Ok(other)], Some(Ok(endpoint))) => {
                let address = self.address_for(both[dials].1, both[1 - dials].1, endpoint.0);
                address.map(|address| (address, endpoint.1, [one, other].concat()))
            }
            ([Ok(_), Ok(_)], _) => Err("neither of them takes connections".into()),
            ([Err(error), _] | [_, Err(error)], _) => {
                Err(format!("rtiexec has no secret: {error}"))
            }
        };
        let (address, port, secret) = match found {
            Ok(found) => found,
            Err(why) => {
                if let Some(pair) = self.directs.pairs.get_mut(&marks) {
                    pair.ends = [End::Over(why.clone()), End::Over(why)];
                }
                return;
            }
        };
        let notice = |of: usize, address: String| {
            let (mark, member) = both[of];
            LinkNotice::Direct {
                mark,
                federate: member.federate,
                address,
                port: port.into(),
                secret: secret.clone(),
            }
        };
        let messages = [
            (both[1 - dials].1.n, notice(dials, String::new())),
            (both[dials].1.n, notice(1 - dials, address.to_string())),
        ];
        for (n, notice) in messages {
            self.tell(n, &notice, None);
        }
    }

    /// At which address `from` reaches `to`.
    fn address_for(
        &self,
        from: &Member,
        to: &Member,
        said: Option<IpAddr>,
    ) -> Result<IpAddr, String> {
        if let Some(said) = said {
            return Ok(said);
        }
        match (to.host, from.host) {
            (Host::There(address), _) => Ok(address),
            (Host::Here, Host::Here) => {
                let seen = self.connections.get(to.n).and_then(Connection::remote_ip);
                Ok(seen.unwrap_or(IpAddr::from([127, 0, 0, 1])))
            }
            // Beside this process, which `from` reaches there.
            (Host::Here, Host::There(_)) => {
                let own = self.connections.get(from.n).and_then(Connection::local_ip);
                own.ok_or_else(|| "its address is not known".into())
            }
        }
    }

    /// The connections and marks of two members that may have a link.
    pub(crate) fn link_between(&mut self, n: usize, to: u64) -> Option<(u64, usize)> {
        let from = self.connection(n)?.direct?;
        let pair = (from.min(to), from.max(to));
        self.directs.pairs.contains_key(&pair).then_some(())?;
        Some((from, self.directs.members.get(&to)?.n))
    }

    /// What the member on connection `n` and another one have, and which of the two ends is the former's.
    fn pair_of(&mut self, n: usize, to: u64) -> Option<(&mut Pair, usize)> {
        let from = self.connection(n)?.direct?;
        let pair = (from.min(to), from.max(to));
        let pair = self.directs.pairs.get_mut(&pair)?;
        Some((pair, usize::from(from > to)))
    }

    /// A member's data to another takes their link.
    pub(crate) fn is_linked(&mut self, n: usize, to: u64, compression: String) {
        if let Some((pair, end)) = self.pair_of(n, to) {
            pair.ends[end] = End::Linked(compression);
        }
    }

    /// One end of a link is over: so is the other.
    fn link_is_over(&mut self, n: usize, to: u64, why: String) {
        let Some((pair, end)) = self.pair_of(n, to) else {
            return;
        };
        let came_about = pair.ends.iter().any(|end| matches!(end, End::Linked(_)));
        let first = !matches!(pair.ends[1 - end], End::Over(_));
        if first && !came_about {
            // It may be the other way round that works.
            pair.dials = 1 - pair.dials;
        }
        // The first reason is the cause.
        let told = match &pair.ends[1 - end] {
            End::Over(cause) => cause.clone(),
            _ => why.clone(),
        };
        pair.ends[end] = End::Over(told);
        // It may be tried again and again.
        let news = first && pair.logged != why;
        if news {
            pair.logged.clone_from(&why);
        }
        let Some((from, other)) = self.link_between(n, to) else {
            return;
        };
        if first {
            let names = [n, other].map(|n| self.connections.get(n).map(Connection::name));
            if let ([Some(one), Some(other)], true) = (names, news) {
                info!("{one}: data to {other} goes by rtiexec: {why}");
            }
            self.tell(other, &LinkNotice::Broken { mark: from }, None);
        } else {
            self.introduce_again(n, to);
        }
    }

    /// Two members get another link, if one has asked for it and both have ended the former.
    fn introduce_again(&mut self, n: usize, to: u64) {
        let Some(from) = self.connection(n).and_then(|c| c.direct) else {
            return;
        };
        let marks = (from.min(to), from.max(to));
        let Some(pair) = self.directs.pairs.get_mut(&marks) else {
            return;
        };
        let over = pair.ends.iter().all(|end| matches!(end, End::Over(_)));
        if over && std::mem::take(&mut pair.asked) {
            (pair.ends, pair.best_effort) = Default::default();
            self.introduce_pair(marks);
        }
    }

    /// A member has left. It is told so, too: it waits for nobody's fence any more.
    pub(crate) fn leave_links(&mut self, n: usize) {
        if let Some(mark) = self.end_links(n) {
            self.tell(n, &LinkNotice::Gone { mark }, None);
        }
    }

    /// A member has no links any more; its mark, if it had.
    pub(crate) fn end_links(&mut self, n: usize) -> Option<u64> {
        let mark = self.connection(n).and_then(|c| c.direct.take())?;
        self.directs.members.remove(&mark)?;
        let pairs = self.directs.pairs.keys();
        let pairs: Vec<_> = pairs
            .filter(|p| p.0 == mark || p.1 == mark)
            .copied()
            .collect();
        for pair in pairs {
            self.directs.pairs.remove(&pair);
            let other = if pair.0 == mark { pair.1 } else { pair.0 };
            if let Some(other) = self.directs.members.get(&other) {
                let n = other.n;
                self.tell(n, &LinkNotice::Gone { mark }, None);
            }
        }
        Some(mark)
    }

    /// How data of the one gets to the other, which it shares no memory with: by a link, or why not.
    pub(crate) fn link_path(&self, from: &Connection, to: &Connection) -> Result<String, String> {
        let members = &self.directs.members;
        let (one, own) = match from
            .direct
            .and_then(|mark| Some((mark, members.get(&mark)?)))
        {
            Some(found) => found,
            None => return Err(from.unlinked().to_owned()),
        };
        let (two, other) = match to.direct.and_then(|mark| Some((mark, members.get(&mark)?))) {
            Some(found) => found,
            None => return Err(format!("of the other: {}", to.unlinked())),
        };
        let pair = self.directs.pairs.get(&(one.min(two), one.max(two)));
        match pair.map(|pair| &pair.ends[usize::from(one > two)]) {
            Some(End::Linked(compression)) if compression.is_empty() => Ok(DIRECT.into()),
            Some(End::Linked(compression)) => Ok(format!("{DIRECT}, {compression}")),
            Some(End::Over(why)) => Err(why.clone()),
            Some(End::Begun) => Err("the link is not set up yet".into()),
            None if !self.are_to_be_linked(own, other) => {
                Err("both are on one host; transport.path".into())
            }
            None => Err("the link is not set up yet".into()),
        }
    }
}

impl Server {
    /// Whether, of the one that shares no memory with the other, why they have no link is what matters: between hosts, of one
    /// that wants links on its host, too, or is not beside this process, where others share memory.
    pub(crate) fn may_want_link(&self, from: &Connection, to: &Connection) -> bool {
        let member = from.direct.and_then(|mark| self.directs.members.get(&mark));
        from.host() != to.host() || member.is_some_and(|m| m.all || m.host != Host::Here)
    }

    /// By which ways best-effort data of the one goes to the other on their link, if it has said so.
    pub(crate) fn best_effort_on_link(&self, from: &Connection, to: &Connection) -> Option<&str> {
        let (one, two) = (from.direct?, to.direct?);
        let pair = self.directs.pairs.get(&(one.min(two), one.max(two)))?;
        let by = pair.best_effort[usize::from(one > two)].as_str();
        (!by.is_empty()).then_some(by)
    }
}

impl Connection {
    fn stream_addresses(&self) -> Option<(IpAddr, IpAddr)> {
        let stream = self.writer.stream();
        let of = |a: std::net::SocketAddr| a.ip().to_canonical();
        Some((
            of(stream.local_address().ok()?),
            of(stream.remote_address().ok()?),
        ))
    }

    /// The address by which it has reached this process.
    fn local_ip(&self) -> Option<IpAddr> {
        Some(self.stream_addresses()?.0)
    }

    /// Its address.
    fn remote_ip(&self) -> Option<IpAddr> {
        Some(self.stream_addresses()?.1)
    }

    /// Why it has no links, for people.
    pub(crate) fn unlinked(&self) -> &str {
        match self.undirect.as_str() {
            "" if self.is_of_another_host() => "it has not asked for links; transport.path there",
            "" => "it has not asked for links; transport.path, or it has come by loopback TCP",
            why => why,
        }
    }

    pub(crate) fn is_of_another_host(&self) -> bool {
        self.host() != Host::Here
    }

    fn host(&self) -> Host {
        match self.stream_addresses() {
            Some((own, its)) if own != its && !its.is_loopback() => Host::There(its),
            _ => Host::Here,
        }
    }
}
