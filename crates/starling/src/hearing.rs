//! Best-effort data of peers by datagrams: what groups this end takes part in, and what comes there.

use crate::datagrams::{TOGETHER, Wanted};
use crate::group::Groups;
use crate::intake::{belongs_to, take_plainly};
use crate::peers::{Last, Open, Peer, Stage};
use crate::state::State;
use crate::statistics::Way;
use starling_core::{DataPath, Federate, FederateHandle, NAME_BYTES_MAX, ProtocolError};
use starling_net::{Arrivals, Datagrams, Quality, leave_room};
use starling_wire::{GroupIn, OnLink, Secret, read_data, split_datagram, split_frame};
use std::collections::{BTreeMap, VecDeque};
use std::net::{IpAddr, SocketAddr, SocketAddrV4};
use std::time::Instant;

/// A peer may have so many groups: those that a setting may name, the one for all other classes, and one for each alone.
const GROUPS_OF_PEER: usize = starling_rid::GROUPS_MAX + 2;
/// So many sockets take datagrams of peers, one for each group and for each address of this host; but each peer may have a few,
/// however many others have.
const SOCKETS: usize = 128;
const FEW: usize = 2;
/// So many datagrams are taken before links have their turn.
const PER_TURN: usize = 64;
/// If more than this of a sender's data waits for what comes on the stream, what of datagrams would wait, too, is lost:
/// who has their secret may say that they come after what never does.
const EARLY_BYTES_MAX: usize = 1024 * 1024;

/// Whose group it is that a secret stands for, of what comes from an address: the mark of the peer, and the group's number. Who
/// is elsewhere may say that it is its own.
pub(crate) type Whose = BTreeMap<(Secret, IpAddr), (u64, u32)>;

/// A group that this end has joined, or what is for it alone.
pub(crate) struct Joined {
    at: Option<SocketAddrV4>,
    by: IpAddr,
    pub(crate) socket: Datagrams,
    /// Something may be there.
    pub(crate) ready: bool,
    /// What has come and waits for its turn, from where: no more than is received at once.
    left: VecDeque<(Vec<u8>, SocketAddr)>,
}

/// What is received of one peer in one of its groups.
pub(crate) struct Heard {
    /// Which.
    pub(crate) number: u32,
    /// The group; none: it comes for this federate alone.
    pub(crate) at: Option<SocketAddrV4>,
    /// By the interface that has this address; none: it was not joined yet.
    pub(crate) by: Option<IpAddr>,
    pub(crate) joined: bool,
    /// From where its datagrams come, as its link does.
    pub(crate) from: Option<IpAddr>,
    /// What can't be has come there: nothing of it is taken any more.
    pub(crate) spoilt: bool,
    /// The peer has nothing more for this federate there.
    pub(crate) over: bool,
    pub(crate) incoming: GroupIn,
}

impl Heard {
    /// As a peer has offered it; none if that makes no sense.
    pub(crate) fn new(number: u32, address: &str, port: u32, secret: &[u8]) -> Option<Self> {
        let at = match (number, address) {
            (0, "") => None,
            (0, _) => return None,
            (_, address) => {
                let port = u16::try_from(port).ok()?;
                Some(SocketAddrV4::new(address.parse().ok()?, port))
            }
        };
        Some(Heard {
            number,
            at,
            by: None,
            joined: false,
            from: None,
            spoilt: false,
            over: false,
            incoming: GroupIn::new(secret.try_into().ok()?),
        })
    }

    /// Whether what comes from there is taken.
    pub(crate) fn takes_from(&self, from: IpAddr) -> bool {
        !self.over && !self.spoilt && self.from == Some(from)
    }
}

/// A peer does not send there any more. What has been joined waits to be left behind the others' turns
/// ([`State::take_of_groups`]); who has not read for long finds much that has not.
pub(crate) fn end_heard(heard: &mut Vec<Heard>, ends: impl Fn(&Heard) -> bool) {
    heard.retain(|h| h.joined || !ends(h));
    let ended = heard.iter_mut().filter(|h| ends(h));
    ended.for_each(|h| h.over = true);
}

impl State {
    /// What is said on a link of best-effort data that does not come there.
    pub(crate) fn take_of_grouping(
        &mut self,
        (mark, federate): (u64, FederateHandle),
        said: OnLink,
        heard: &mut Vec<Heard>,
    ) -> Result<(), ProtocolError> {
        let direct = &mut self.lrc.outbox().direct;
        match said {
            OnLink::Group {
                number,
                address,
                port,
                secret,
            } => {
                let offered = Heard::new(number, &address, port, &secret);
                let offered = offered.ok_or_else(|| ProtocolError("no group".into()))?;
                end_heard(heard, |h| h.number == number);
                if heard.iter().filter(|h| !h.over).count() >= GROUPS_OF_PEER {
                    return Err(ProtocolError("too many groups".into()));
                }
                heard.push(offered);
            }
            OnLink::Joined { number, port, why } => {
                if why.len() > NAME_BYTES_MAX {
                    return Err(ProtocolError("a reason of too many bytes".into()));
                }
                if let Some(direct) = direct {
                    direct.joined(mark, number, port, why);
                }
            }
            OnLink::Hears { number, on } => {
                if let Some(direct) = direct {
                    direct.hears(mark, number, on);
                }
            }
            OnLink::Turn {
                number,
                turn,
                sent,
                grouped,
            } => {
                let Some(of) = heard.iter_mut().find(|h| h.number == number && !h.over) else {
                    return Ok(());
                };
                let mut deaf = of.incoming.begin_turn(turn, sent, grouped);
                self.lrc.count_lost(of.incoming.lost());
                while let Some(frames) = of.incoming.next_kept() {
                    deaf |= self.take_heard(federate, of, &frames);
                }
                if deaf {
                    let on = false;
                    self.lrc.outbox().say(mark, &OnLink::Hears { number, on });
                }
            }
            OnLink::Ends { number } => end_heard(heard, |h| h.number == number),
            OnLink::Hello { .. } | OnLink::Confirm { .. } => {
                return Err(ProtocolError("what does not belong on a link".into()));
            }
        }
        Ok(())
    }

    /// Takes part in groups that peers send to, leaves those that none does any more, and takes what has come there.
    pub(crate) fn take_of_groups(&mut self, open: &mut Open) {
        let (mut over, mut new) = (false, false);
        for at in 0..open.peers.len() {
            let peer = &mut open.peers[at];
            let before = peer.heard.len();
            peer.heard.retain(|heard| !heard.over);
            over |= peer.heard.len() < before;
            let Stage::Linked(reader) = &peer.stage else {
                continue;
            };
            if peer.heard.iter().all(|h| h.joined) {
                continue;
            }
            let by = reader.stream().local_address();
            let from = reader.stream().remote_address();
            let from = from.ok().map(|from| from.ip().to_canonical());
            new = true;
            for n in 0..peer.heard.len() {
                let heard = &mut open.peers[at].heard[n];
                if std::mem::replace(&mut heard.joined, true) {
                    continue;
                }
                heard.from = from;
                let (number, group) = (heard.number, heard.at);
                let by = by.as_ref().map(|by| by.ip()).map_err(ToString::to_string);
                let has = open.peers[at].heard.iter().filter(|h| h.by.is_some());
                let has = has.count();
                let joined = by.and_then(|by| open.join(group, (by, has), self.quality));
                let (port, why) = match joined {
                    Ok((by, port)) => {
                        open.peers[at].heard[n].by = Some(by);
                        (port, String::new())
                    }
                    Err(why) => (0, why),
                };
                let port = port.into();
                let said = OnLink::Joined { number, port, why };
                self.lrc.outbox().say(open.peers[at].mark, &said);
            }
        }
        if over {
            open.leave_unheard();
        }
        if over || new {
            let all = open.peers.iter();
            let all = all.flat_map(|p| p.heard.iter().map(|h| (p.mark, h)));
            let all = all.filter_map(|(mark, h)| {
                let recognized = (*h.incoming.secret(), h.from?);
                Some((recognized, (mark, h.number)))
            });
            open.whose = all.collect();
        }
        self.take_of_sockets(open, None);
    }

    /// Takes what has come in the groups of this peer, whose link is about to be read: that may end the turn that it is of. What
    /// is of the next one waits, and all behind it where it is.
    pub(crate) fn take_before_link(&mut self, open: &mut Open, at: usize) {
        if !open.peers[at].heard.is_empty() {
            self.take_of_sockets(open, Some(at));
        }
    }

    fn take_of_sockets(&mut self, open: &mut Open, before: Option<usize>) {
        for (at, group) in open.groups.iter_mut().enumerate() {
            let is_due = match before {
                None => std::mem::take(&mut group.ready),
                Some(at) => open.peers[at].sends_to(group),
            };
            if !is_due {
                continue;
            }
            let (mut taken, mut bytes, mut more) = (0, 0, true);
            loop {
                let waited = group.left.pop_front();
                let next = match &waited {
                    Some((datagram, from)) => Some((&datagram[..], *from)),
                    None => open.arrivals.take(),
                };
                let Some((datagram, from)) = next else {
                    // Before a link is read, as much as a socket keeps: what comes meanwhile may be late.
                    let is_enough = match before {
                        None => taken >= PER_TURN,
                        Some(_) => bytes >= Datagrams::KEPT_BYTES,
                    };
                    if !more || is_enough {
                        break;
                    }
                    more = group.socket.receive_all(&mut open.arrivals);
                    if !open.arrivals.is_empty() {
                        open.last = Last::Group(at);
                    }
                    continue;
                };
                taken += 1;
                bytes += Datagrams::kept_bytes(datagram.len());
                // Of strangers, and of this end, nothing is taken.
                let from = from.ip().to_canonical();
                let head = split_datagram(datagram).map(|(head, _)| head);
                let whose = head.and_then(|head| open.whose.get(&(head.secret, from)));
                let Some(&(mark, number)) = whose else {
                    continue;
                };
                let mut peers = open.peers.iter_mut().enumerate();
                let Some((at, peer)) = peers.find(|(_, p)| p.mark == mark && !p.broken) else {
                    continue;
                };
                let federate = peer.federate;
                let mut all = peer.heard.iter_mut();
                let heard = all.find(|h| h.number == number && h.takes_from(from));
                let Some(heard) = heard else {
                    continue;
                };
                let (frames, tell) = heard.incoming.take(datagram);
                // What the link says next is of it, and of all that follows: it stays where it is.
                let waits = before == Some(at) && heard.incoming.keeps();
                self.settle();
                let spoilt = self.take_heard(federate, heard, frames);
                if spoilt || tell {
                    let on = !spoilt;
                    self.lrc.outbox().say(mark, &OnLink::Hears { number, on });
                }
                if waits {
                    while let Some((datagram, from)) = open.arrivals.take() {
                        group.left.push_back((datagram.to_vec(), from));
                    }
                    more = true;
                    break;
                }
            }
            if more {
                (group.ready, open.news) = (true, true);
            }
        }
    }

    /// Takes frames of a datagram of a peer's, in a group. Whether nothing more is taken there, because they are what can't
    /// be: others may have sent them, so it is no fault of the link's.
    fn take_heard(&mut self, federate: FederateHandle, heard: &mut Heard, frames: &[u8]) -> bool {
        self.batch.refill(frames);
        self.note_came(match heard.number {
            0 => Way::Unicast,
            _ => Way::Multicast,
        });
        let Err(why) = self.take_of_datagram(Some(federate)) else {
            return false;
        };
        starling_net::remark(format_args!(
            "starling: warning: datagrams of {federate} are not taken any more where what can't be has come; it may be \
             another's: {why}"
        ));
        heard.spoilt = true;
        true
    }

    /// Takes the frames of the batch, which are best-effort data that has come by a datagram: of a peer's, or of rtiexec's.
    /// What is not taken is counted.
    ///
    /// # Errors
    /// What can't be is among them.
    pub(crate) fn take_of_datagram(
        &mut self,
        by: Option<FederateHandle>,
    ) -> Result<(), ProtocolError> {
        let path = match by {
            Some(_) => DataPath::Direct,
            None => DataPath::Executive,
        };
        let mut rest = self.batch.bytes();
        let (mut dropped, mut taken) = (0, Ok(()));
        loop {
            if taken.is_ok() {
                rest = take_plainly(&mut self.lrc, &self.batch, rest, by);
            }
            let Ok(Some((frame, used))) = split_frame(rest) else {
                break;
            };
            rest = &rest[used..];
            let data = match read_data(frame) {
                Some(Ok(data)) if taken.is_ok() => data,
                _ => {
                    dropped += 1;
                    continue;
                }
            };
            let own = self.lrc.federate();
            let has_no_room = own.is_some_and(|own| {
                let early = own.held_bytes(data.sender) > EARLY_BYTES_MAX && !own.is_ready(&data);
                early || own.withholds_much()
            });
            if has_no_room {
                dropped += 1;
                continue;
            }
            taken = by.map_or(Ok(()), |federate| belongs_to(federate, &data));
            let lrc = &mut self.lrc;
            taken = taken.and_then(|()| lrc.receive_data(&data, path, Some(&self.batch)));
            if taken.is_err() && lrc.federate().is_some_and(Federate::exceeds_withheld) {
                // It is kept all the same, the last of these.
                taken = Ok(());
            }
            dropped += u64::from(taken.is_err());
        }
        self.lrc.count_lost(dropped);
        taken
    }

    /// Best-effort data goes to peers by datagrams, where that is wanted and they hear them.
    pub(crate) fn begin_groups(&mut self, now: Instant) {
        let Some(federation) = self.lrc.federate().map(|f| f.federation().to_owned()) else {
            return;
        };
        if self.groups == Wanted::Never {
            return;
        }
        let (quality, link) = (self.quality, self.lrc.outbox());
        let mut groups = Groups::new(self.groups, link.datagram_bytes, quality, now);
        if let Some(named) = &self.multicast
            && let Err(error) = groups.name(named, &federation)
        {
            starling_net::remark(format_args!(
                "starling: warning: best-effort data goes to no group: {error}"
            ));
        }
        if let Some(direct) = &mut link.direct {
            direct.send_by(groups);
        }
    }
}

impl Peer {
    /// Whether it sends to this end there.
    fn sends_to(&self, group: &Joined) -> bool {
        let there = (group.at, Some(group.by));
        self.heard.iter().any(|heard| (heard.at, heard.by) == there)
    }
}

impl Open {
    /// Takes part in a group, by the interface of this host that has this address, or opens what is for this end alone;
    /// by which address, and its port. Its sender `has` so many already.
    fn join(
        &mut self,
        at: Option<SocketAddrV4>,
        (by, has): (IpAddr, usize),
        quality: Quality,
    ) -> Result<(IpAddr, u16), String> {
        if !self.deaf.is_empty() {
            return Err(self.deaf.clone());
        }
        let by = by.to_canonical();
        let known = self.groups.iter().find(|g| (g.at, g.by) == (at, by));
        let port = |socket: &Datagrams| match at {
            Some(at) => Ok(at.port()),
            None => socket.port().map_err(|e| e.to_string()),
        };
        if let Some(joined) = known {
            return Ok((by, port(&joined.socket)?));
        }
        if self.groups.len() >= SOCKETS && has >= FEW {
            return Err(format!("it has {SOCKETS} sockets for datagrams already"));
        }
        let socket = match (at, by) {
            (None, by) => Datagrams::at(by),
            (Some(at), IpAddr::V4(by)) => Datagrams::in_group(at, by),
            (Some(_), IpAddr::V6(_)) => return Err("their link is of IPv6".into()),
        };
        let socket = socket.and_then(|socket| {
            quality.mark_datagrams(&socket)?;
            leave_room(&[&socket])?;
            Ok(socket)
        });
        let socket = socket.map_err(|e| e.to_string())?;
        let port = port(&socket)?;
        if !self.arrivals.has_room() {
            self.arrivals = Arrivals::new(TOGETHER);
        }
        self.groups.push(Joined {
            at,
            by,
            socket,
            ready: true,
            left: VecDeque::new(),
        });
        Ok((by, port))
    }

    /// Leaves groups that no peer sends to this end in any more.
    pub(crate) fn leave_unheard(&mut self) {
        let peers = &self.peers;
        let is_heard = |at, by| {
            let mut all = peers.iter().flat_map(|p| &p.heard);
            all.any(|heard| (heard.at, heard.by) == (at, Some(by)))
        };
        self.groups.retain(|group| is_heard(group.at, group.by));
        if let Last::Group(_) = self.last {
            self.last = Last::Link(0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::peers::Peers;
    use starling_net::Leaving;
    use std::net::Ipv4Addr;

    /// Else what comes there would wait until it sleeps.
    #[test]
    fn a_thread_that_waits_asks_where_a_datagram_has_come_last() {
        let mut peers = Peers::default();
        peers.open(1, None, String::new());
        let here = IpAddr::from(Ipv4Addr::LOCALHOST);
        let open = peers.all().unwrap();
        let (_, port) = open.join(None, (here, 0), Quality::default()).unwrap();
        open.groups[0].ready = false;
        let sender = Datagrams::at(here).unwrap();
        let to = Some((here, port).into());
        let (bytes, lengths) = (&b"data"[..], &[4][..]);
        let send = || sender.send_all([Leaving { to, bytes, lengths }]);
        assert_eq!(send(), 1);
        assert!(!peers.ask_last(), "a link has brought something last");
        peers.all().unwrap().last = Last::Group(0);
        assert!(peers.ask_last() && peers.has_news());
        let open = peers.all().unwrap();
        assert!(open.groups[0].ready);
        // It is still there to be taken, and then there is nothing.
        assert!(!open.groups[0].socket.receive_all(&mut open.arrivals));
        assert_eq!(open.arrivals.take().unwrap().0, b"data");
        (open.groups[0].ready, open.news) = (false, false);
        assert!(!peers.ask_last() && !peers.has_news());
        // Who has left it asks a link.
        peers.all().unwrap().leave_unheard();
        assert_eq!(send(), 1);
        assert!(!peers.ask_last());
    }

    /// Else one peer would take datagrams from all others.
    #[test]
    fn who_has_few_sockets_gets_one_whatever_others_have() {
        let mut peers = Peers::default();
        peers.open(1, None, String::new());
        let open = peers.all().unwrap();
        let mut join = |number: u8, has| {
            let by = IpAddr::from(Ipv4Addr::new(127, 0, 1, number));
            open.join(None, (by, has), Quality::default()).is_ok()
        };
        assert!((0..=255).take_while(|number| join(*number, 66)).count() == SOCKETS);
        assert!(join(254, 0) && join(255, FEW - 1));
        assert!(!join(253, FEW));
        // It is there.
        assert!(join(255, FEW));
    }
}
