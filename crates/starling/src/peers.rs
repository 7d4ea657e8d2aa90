//! TCP links to other federates, as far as they come about and are read here.
//!
//! rtiexec says which links there are to be, who of the two connects, and gives both a secret that nobody else knows.
//! Each end says first who it is and proves it by its half of the secret; whoever does not is cut off.

use crate::datagrams::Wanted;
use crate::direct::{CONFIRM_BYTES, Direct};
use crate::greeting::{GREETING, Greeting, PROOF_BYTES, dial, listen};
use crate::hearing::{Heard, Joined, Whose, end_heard};
use crate::intake::{BATCH_BYTES, belongs_to, refused};
use crate::pending::Way;
use crate::state::State;
use crate::statistics::Way as By;
use starling_core::{DataPath, Federate, FederateHandle, ProtocolError};
use starling_net::{
    Arrivals, Fill, LinkReader, Listener, Stream, Unpack, Watch, leave_room, leave_room_beside,
};
use starling_wire::{LinkRequest, OnLink, read_data, read_on_link, run_of_data, split_frame};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// A link is broken when the other host has not acknowledged for so long what was sent.
const SILENCE: Duration = Duration::from_secs(2);
/// So many who have connected may not have said who they are.
const STRANGERS: usize = 32;
/// Links are read into one buffer, as large as one read needs it.
const SPARE_BYTES: usize = 128 * 1024;
/// Of who is gone so many reads are taken: more than the system keeps of one connection.
const READS_MAX: usize = 1024;
/// Where a connection can't be taken, as where the federate's own program has all descriptors, it would be asked for again and again.
const ADMITS_AGAIN: Duration = Duration::from_secs(1);

/// What is read of peers' links, by whoever has the turn to read.
#[derive(Default)]
pub(crate) struct Peers(Option<Box<Open>>);

pub(crate) struct Open {
    mark: u64,
    /// None: it only connects to others.
    listener: Option<Listener>,
    /// Nobody is admitted until then, as that has failed.
    rests_until: Option<Instant>,
    /// Somebody may have connected.
    knocks: bool,
    /// Who has connected and not said who it is.
    strangers: Vec<Greeting>,
    pub(crate) peers: Vec<Peer>,
    spare: Vec<u8>,
    /// Where peers send best-effort data to.
    pub(crate) groups: Vec<Joined>,
    pub(crate) whose: Whose,
    /// Why nothing is taken there; empty: it is.
    pub(crate) deaf: String,
    pub(crate) arrivals: Arrivals,
    /// What has brought something last.
    pub(crate) last: Last,
    /// There may be something to do.
    pub(crate) news: bool,
    /// When something is to be given up that has not come about.
    until: Option<Instant>,
}

/// Where in what a thread that waits asks again first.
#[derive(Clone, Copy)]
pub(crate) enum Last {
    /// The link of this one of the peers.
    Link(usize),
    /// This one of the groups.
    Group(usize),
}

pub(crate) struct Peer {
    pub(crate) mark: u64,
    pub(crate) federate: FederateHandle,
    /// What this end proves itself by, and the other.
    proofs: [Vec<u8>; 2],
    pub(crate) stage: Stage,
    /// Bytes of its link that were taken, by it or relayed; and up to where that was confirmed.
    taken: u64,
    confirmed: u64,
    /// Something may be there.
    ready: bool,
    /// It was read already, and is still to be taken.
    filled: Option<Fill>,
    /// So much of its data is early that its link is not read now.
    early: bool,
    /// It has sent what can't be: nothing of it is taken any more.
    pub(crate) broken: bool,
    /// Best-effort data that comes by datagrams.
    pub(crate) heard: Vec<Heard>,
}

pub(crate) enum Stage {
    /// There is no link.
    None,
    /// It is to connect here.
    Awaited,
    /// The connection is on its way.
    Dialled(Stream, Instant),
    /// It is to say who it is, after this end has.
    Greeted(Box<Greeting>),
    /// There is a link.
    Linked(Box<LinkReader>),
}

/// What is to come of a notice that there is to be a link.
pub(crate) struct Introduced {
    pub(crate) mark: u64,
    pub(crate) federate: FederateHandle,
    pub(crate) address: String,
    pub(crate) port: u32,
    pub(crate) secret: Vec<u8>,
}

impl Peers {
    /// Begins without any, as the one with this mark.
    pub(crate) fn open(&mut self, mark: u64, listener: Option<Listener>, deaf: String) {
        self.0 = Some(Box::new(Open {
            mark,
            listener,
            rests_until: None,
            knocks: false,
            strangers: Vec::new(),
            peers: Vec::new(),
            spare: vec![0; SPARE_BYTES],
            groups: Vec::new(),
            whose: Whose::new(),
            deaf,
            arrivals: Arrivals::default(),
            last: Last::Link(0),
            news: false,
            until: None,
        }));
    }

    /// Reads nothing any more.
    pub(crate) fn close(&mut self) {
        self.0 = None;
    }

    /// Whether nothing is to be watched.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// What to wait for; `full`: the peers whose links take nothing now. [`Peers::awake`] is told what was ready, in
    /// the same order.
    pub(crate) fn watches<'a>(
        &'a self,
        full: &'a [(u64, Arc<Stream>)],
    ) -> impl Iterator<Item = Watch<'a>> {
        let open = self.0.iter();
        open.flat_map(move |open| {
            let listener = open.listens().map(|l| Watch::new(l, false));
            let strangers = open.strangers.iter().filter(|g| g.said.is_none());
            let strangers = strangers.map(|g| Watch::new(g.link.stream(), false));
            let peers = open.peers.iter().filter_map(Peer::watch);
            let groups = open.groups.iter().map(|g| Watch::new(&g.socket, false));
            let full = full.iter().map(|(_, stream)| Watch::write_only(&**stream));
            let links = listener.into_iter().chain(strangers).chain(peers);
            links.chain(groups).chain(full)
        })
    }

    /// After the wait: which of the watches were ready. Returns those of `full` that take something again.
    pub(crate) fn awake<'a>(
        &mut self,
        mut ready: impl Iterator<Item = (bool, bool)>,
        full: &'a [(u64, Arc<Stream>)],
    ) -> Vec<&'a u64> {
        let Some(open) = &mut self.0 else {
            return Vec::new();
        };
        let mut next = || {
            ready
                .next()
                .is_some_and(|(readable, writable)| readable || writable)
        };
        let mut any = false;
        if open.listens().is_some() {
            open.knocks |= next();
        }
        for _ in open.strangers.iter().filter(|g| g.said.is_none()) {
            any |= next();
        }
        for peer in &mut open.peers {
            if peer.watch().is_some() {
                peer.ready |= next();
                any |= peer.ready;
            }
        }
        for group in &mut open.groups {
            group.ready |= next();
            any |= group.ready;
        }
        open.news |= any || open.knocks;
        full.iter()
            .filter(|_| next())
            .map(|(mark, _)| mark)
            .collect()
    }

    /// When something is to be given up that has not come about.
    #[inline]
    pub(crate) fn due(&self) -> Option<Instant> {
        self.0.as_ref()?.until
    }

    /// Looks whether the link or the group that has brought something last has more, while a thread waits and asks again and
    /// again.
    pub(crate) fn ask_last(&mut self) -> bool {
        let Some(open) = &mut self.0 else {
            return false;
        };
        let last = match open.last {
            Last::Link(at) => open.peers.get_mut(at),
            Last::Group(at) => {
                let group = open.groups.get_mut(at);
                let has_news = group.is_some_and(|group| {
                    group.ready |= group.socket.has_news();
                    group.ready
                });
                open.news |= has_news;
                return has_news;
            }
        };
        if let Some(peer) = last.filter(|p| !p.early)
            && let Stage::Linked(reader) = &mut peer.stage
        {
            if peer.filled.is_none() {
                reader.borrow(&mut open.spare);
                match reader.fill() {
                    Ok(Fill::Nothing) => {
                        reader.give_back(&mut open.spare);
                        return false;
                    }
                    // In its inbox; an end or an error shows again when it is read.
                    Ok(filled @ (Fill::Bytes(_) | Fill::More(_))) => peer.filled = Some(filled),
                    Ok(Fill::Closed) | Err(_) => {}
                }
            }
            (peer.ready, open.news) = (true, true);
            return true;
        }
        false
    }

    /// Whether there may be something to do.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        self.0.as_ref().is_some_and(|open| open.news)
    }

    /// The wait is over, also for what does not come about.
    pub(crate) fn look_at_time(&mut self) {
        if let Some(open) = &mut self.0 {
            open.news |= open.until.is_some_and(|until| Instant::now() >= until);
        }
    }

    #[cfg(test)]
    pub(crate) fn all(&mut self) -> Option<&mut Open> {
        self.0.as_deref_mut()
    }

    pub(crate) fn peer(&mut self, mark: u64) -> Option<&mut Peer> {
        let mut peers = self.0.iter_mut().flat_map(|open| &mut open.peers);
        peers.find(|p| p.mark == mark)
    }

    /// Links of which too much was early are read again where it is not.
    pub(crate) fn look_at_early(&mut self, is_so: impl Fn(FederateHandle) -> bool) {
        let Some(open) = &mut self.0 else {
            return;
        };
        for peer in open.peers.iter_mut().filter(|p| p.early) {
            peer.early = is_so(peer.federate);
            if !peer.early {
                // Some may have been read before.
                (peer.ready, open.news) = (true, true);
            }
        }
    }
}

impl Peer {
    fn watch(&self) -> Option<Watch<'_>> {
        match &self.stage {
            Stage::None | Stage::Awaited => None,
            Stage::Dialled(stream, _) => Some(Watch::write_only(stream)),
            Stage::Greeted(greeting) => Some(Watch::new(greeting.link.stream(), false)),
            Stage::Linked(_) if self.early => None,
            Stage::Linked(reader) => Some(Watch::new(&**reader.stream(), false)),
        }
    }
}

impl State {
    /// Is asked where it takes connections, and says so.
    pub(crate) fn listen(&mut self, mark: u64, here: bool, peers: &mut Peers) {
        // It may have resigned meanwhile.
        if !self.lrc.is_member() {
            return;
        }
        let link = self.lrc.outbox();
        let given = self.listens.clone();
        let listening = listen(given.as_ref(), link.stream(), here);
        let (listener, endpoint) = match listening {
            Ok((listener, address, port)) => (Some(listener), (address, port, String::new())),
            Err(why) => (None, (String::new(), 0, why)),
        };
        let (address, port, why) = endpoint;
        let deaf = match self.groups {
            Wanted::Never => "transport.best_effort = stream there".to_owned(),
            _ => String::new(),
        };
        peers.open(mark, listener, deaf);
        let sizes = (self.window, self.queue);
        let direct = Direct::new(link.bundling(), sizes, link.frame_bytes_max);
        link.direct = Some(Box::new(direct));
        self.has_links = true;
        self.begin_groups(Instant::now());
        self.lrc.outbox().put_link_request(&LinkRequest::Endpoint {
            address,
            port: port.into(),
            why,
        });
    }

    /// There is to be a link to a peer.
    pub(crate) fn meet(&mut self, who: Introduced, peers: &mut Peers) -> Result<(), ProtocolError> {
        let Some(open) = &mut peers.0 else {
            return Ok(());
        };
        if who.secret.len() != 2 * PROOF_BYTES {
            return Err(ProtocolError("no secret for a link".into()));
        }
        let now = Instant::now();
        let (first, second) = who.secret.split_at(PROOF_BYTES);
        let (first, second) = (first.to_vec(), second.to_vec());
        let dials = !who.address.is_empty();
        let known = open.peers.iter().position(|p| p.mark == who.mark);
        let at = known.unwrap_or_else(|| {
            open.peers.push(Peer {
                mark: who.mark,
                federate: who.federate,
                proofs: Default::default(),
                stage: Stage::None,
                taken: 0,
                confirmed: 0,
                ready: false,
                filled: None,
                early: false,
                broken: false,
                heard: Vec::new(),
            });
            open.peers.len() - 1
        });
        let peer = &mut open.peers[at];
        peer.proofs = if dials {
            [first, second]
        } else {
            [second, first]
        };
        let begun = match (peer.broken, dials) {
            (true, _) => Err("it has sent what can't be".to_owned()),
            // Who connected would be cut off, and not learn why.
            (false, false) => match open.listener.as_ref().map(leave_room_beside) {
                Some(Err(error)) => Err(error.to_string()),
                _ => Ok(Stage::Awaited),
            },
            (false, true) => {
                dial(&who.address, who.port).map(|stream| Stage::Dialled(stream, now + GREETING))
            }
        };
        (peer.taken, peer.confirmed) = (0, 0);
        end_heard(&mut peer.heard, |_| true);
        if let Some(direct) = &mut self.lrc.outbox().direct {
            direct.await_link(peer.mark, peer.federate, now);
        }
        match begun {
            Ok(stage) => {
                peer.stage = stage;
                // It may have connected before this was read.
                open.news = true;
            }
            Err(why) => self.fail_link(peer, why, now),
        }
        Ok(())
    }

    /// Takes what has come on peers' links, and what is to become one. A fault of this connection's ends it.
    pub(crate) fn take_peers(&mut self, peers: &mut Peers) {
        let now = Instant::now();
        let Some(open) = &mut peers.0 else {
            return;
        };
        let due = |until: &Instant| now >= *until;
        open.news = false;
        if std::mem::take(&mut open.knocks) || open.rests_until.as_ref().is_some_and(due) {
            open.admit(now);
        }
        let (own, wanted) = (open.mark, self.compression.method);
        for at in 0..open.peers.len() {
            let peer = &mut open.peers[at];
            let ready = std::mem::take(&mut peer.ready);
            match &mut peer.stage {
                Stage::Dialled(stream, until) => {
                    if ready || due(until) {
                        let until = *until;
                        let connected = if ready {
                            stream.connected().map_err(|e| e.to_string())
                        } else {
                            Err("no answer to the connection".into())
                        };
                        let Stage::Dialled(stream, _) =
                            std::mem::replace(&mut peer.stage, Stage::None)
                        else {
                            unreachable!("it was just seen there")
                        };
                        let mut greeting = Greeting::new(stream, now);
                        greeting.until = until;
                        let said =
                            connected.and_then(|()| greeting.say(own, &peer.proofs[0], wanted));
                        match said {
                            Ok(()) => peer.stage = Stage::Greeted(Box::new(greeting)),
                            Err(why) => self.fail_link(peer, why, now),
                        }
                    }
                }
                Stage::Greeted(greeting) if ready || due(&greeting.until) => {
                    self.hear_greeting(peer, now);
                }
                Stage::Greeted(_) => {}
                Stage::None | Stage::Awaited | Stage::Linked(_) => peer.ready = ready,
            }
        }
        self.greet_strangers(open, now);
        for at in 0..open.peers.len() {
            if std::mem::take(&mut open.peers[at].ready)
                && let Err(error) = self.take_of_link(open, at, now)
            {
                self.refuse(error);
                return;
            }
        }
        self.take_of_groups(open);
        open.look_until();
        // A fence may have ended this federate's membership.
        if self.has_links && !self.lrc.is_member() {
            peers.close();
            self.lrc.outbox().direct = None;
        }
    }

    fn fail_link(&mut self, peer: &mut Peer, why: String, now: Instant) {
        peer.stage = Stage::None;
        if let Some(direct) = &mut self.lrc.outbox().direct {
            direct.fail((peer.mark, peer.federate), why, !peer.broken, now);
        }
    }

    /// The other end of a connection may have said that it is the one that is awaited there.
    fn hear_greeting(&mut self, peer: &mut Peer, now: Instant) {
        let Stage::Greeted(greeting) = &mut peer.stage else {
            return;
        };
        match greeting.hear(now) {
            Ok(Some(said)) if said.is(peer.mark, &peer.proofs[1]) => self.link(peer, now),
            Ok(Some(_)) => {
                let why = "what answers there is another federate";
                self.fail_link(peer, why.into(), now);
            }
            Ok(None) => {}
            Err(why) => self.fail_link(peer, why, now),
        }
    }

    /// Both ends of a connection have said who they are.
    fn link(&mut self, peer: &mut Peer, now: Instant) {
        let Stage::Greeted(greeting) = std::mem::replace(&mut peer.stage, Stage::None) else {
            return;
        };
        let said = greeting.said.map_or(0, |said| said.compression);
        let method = self.compression.method.agreed(said);
        let (mut reader, writer) = greeting.link.split();
        let stream = writer.stream().clone();
        let unpack = Unpack::new(method).and_then(|unpack| reader.decompress(unpack));
        let records = self.compression.sender(method);
        let Some(direct) = &mut self.lrc.outbox().direct else {
            return;
        };
        // Without it, a link that is cut is noticed late.
        if let Err(error) = unpack
            .and_then(|()| stream.break_after(SILENCE))
            .and_then(|()| self.quality.mark(&stream))
        {
            direct.fail((peer.mark, peer.federate), error.to_string(), true, now);
            return;
        }
        direct.open((peer.mark, peer.federate), stream, records, now);
        peer.stage = Stage::Linked(Box::new(reader));
        // Data may have come behind the greeting.
        peer.ready = true;
    }

    /// Those who have connected say who they are.
    fn greet_strangers(&mut self, open: &mut Open, now: Instant) {
        let own = open.mark;
        for mut stranger in std::mem::take(&mut open.strangers) {
            let said = match stranger.hear(now) {
                // Who is none of those awaited is cut off.
                Err(_) => continue,
                Ok(None) => {
                    open.strangers.push(stranger);
                    continue;
                }
                Ok(Some(said)) => said,
            };
            let awaited = |p: &&mut Peer| p.mark == said.mark && matches!(p.stage, Stage::Awaited);
            let Some(peer) = open.peers.iter_mut().find(awaited) else {
                // What rtiexec says of it may still be on its way here.
                open.strangers.push(stranger);
                continue;
            };
            if !said.is(peer.mark, &peer.proofs[1])
                || stranger
                    .say(own, &peer.proofs[0], self.compression.method)
                    .is_err()
            {
                continue;
            }
            peer.stage = Stage::Greeted(Box::new(stranger));
            self.link(peer, now);
        }
    }

    /// Takes what has come on one link, unless too much of it is early.
    fn take_of_link(
        &mut self,
        open: &mut Open,
        at: usize,
        now: Instant,
    ) -> Result<(), ProtocolError> {
        let peer = &mut open.peers[at];
        if matches!(peer.stage, Stage::Linked(_)) {
            peer.early = self.holds_much_of(peer.federate);
        }
        if !peer.early {
            self.read_link(open, at, now)?;
        }
        Ok(())
    }

    /// Reads one link once; whether something was there.
    fn read_link(
        &mut self,
        open: &mut Open,
        at: usize,
        now: Instant,
    ) -> Result<bool, ProtocolError> {
        self.take_before_link(open, at);
        let peer = &mut open.peers[at];
        let (mark, federate) = (peer.mark, peer.federate);
        let Stage::Linked(reader) = &mut peer.stage else {
            return Ok(false);
        };
        open.last = Last::Link(at);
        let filled = match peer.filled.take() {
            Some(filled) => Ok(filled),
            None => {
                reader.borrow(&mut open.spare);
                reader.fill()
            }
        };
        let came = loop {
            let peer = &mut open.peers[at];
            let Stage::Linked(reader) = &mut peer.stage else {
                return Ok(false);
            };
            let came = self.take_on_link((mark, federate), reader.inbox(), &mut peer.heard, now);
            let used = came.as_ref().map_or(0, |(used, _)| *used);
            reader.consume(used);
            peer.taken += used as u64;
            match came {
                Ok((_, true)) => self.take_before_link(open, at),
                _ => break came,
            }
        };
        let peer = &mut open.peers[at];
        if let Stage::Linked(reader) = &mut peer.stage {
            reader.give_back(&mut open.spare);
        }
        let link = self.lrc.outbox();
        let why = match (came, filled) {
            (Err(error), _) => return self.break_link(peer, &error.0, now).map(|()| false),
            (Ok(_), Ok(Fill::Closed)) => "the other has closed the link".to_owned(),
            (Ok(_), Err(error)) => format!("the link has broken: {error}"),
            (Ok(_), Ok(filled)) => {
                if let Fill::More(_) = filled {
                    (peer.ready, open.news) = (true, true);
                }
                if peer.taken - peer.confirmed >= CONFIRM_BYTES {
                    peer.confirmed = peer.taken;
                    link.confirm(mark, peer.taken);
                }
                return Ok(!matches!(filled, Fill::Nothing));
            }
        };
        peer.stage = Stage::None;
        link.break_off(mark, &why, true, now);
        Ok(false)
    }

    /// Takes whole frames that a peer has put on its link; how many bytes they take, and whether the next one ends a turn
    /// behind them, before which sockets are to be asked. An error is the peer's fault.
    fn take_on_link(
        &mut self,
        (mark, federate): (u64, FederateHandle),
        bytes: &[u8],
        heard: &mut Vec<Heard>,
        now: Instant,
    ) -> Result<(usize, bool), ProtocolError> {
        let by = if mark == 0 { By::Stream } else { By::Link };
        let mut used = 0;
        loop {
            let rest = &bytes[used..];
            let run = run_of_data(rest, BATCH_BYTES);
            if run > 0 {
                self.batch.refill(&rest[..run]);
                self.note_came(by);
                // What comes to a group has its place behind this.
                let may_wait = mark != 0 && heard.is_empty();
                if !may_wait || !self.leave_batch(Some((Way::Link(mark), federate))) {
                    self.settle();
                    self.take_of_peer(federate)?;
                }
                used += run;
                continue;
            }
            let announced = rest.first_chunk::<4>().map(|l| u32::from_le_bytes(*l));
            if announced.is_some_and(|bytes| bytes as usize > self.lrc.outbox().frame_bytes_max) {
                return Err(ProtocolError("a frame that is too long".into()));
            }
            let Some((frame, length)) = split_frame(rest).map_err(refused)? else {
                return Ok((used, false));
            };
            match (read_data(frame), read_on_link(frame)) {
                (Some(data), _) => {
                    self.settle();
                    if let Some(ways) = &mut self.lrc.outbox().ways {
                        ways.came(by, &rest[..length]);
                    }
                    let data = data.map_err(refused)?;
                    belongs_to(federate, &data)?;
                    self.lrc.receive_data(&data, DataPath::Direct, None)?;
                }
                (None, Some(Ok(OnLink::Confirm { position }))) => {
                    let direct = self.lrc.outbox().direct.as_mut();
                    let confirmed = direct.map(|d| d.confirm(mark, position, now));
                    confirmed
                        .transpose()
                        .map_err(|why| ProtocolError(why.into()))?;
                }
                (None, Some(Ok(OnLink::Turn { .. }))) if used > 0 && !heard.is_empty() => {
                    return Ok((used, true));
                }
                (None, Some(Ok(said))) => {
                    self.settle();
                    self.take_of_grouping((mark, federate), said, heard)?;
                }
                _ => return Err(ProtocolError("what does not belong on a link".into())),
            }
            used += length;
        }
    }

    /// A peer has sent what can't be: nothing of it is taken any more.
    #[cold]
    pub(crate) fn break_link(
        &mut self,
        peer: &mut Peer,
        why: &str,
        now: Instant,
    ) -> Result<(), ProtocolError> {
        self.settle();
        if self.lrc.federate().is_some_and(Federate::exceeds_withheld) {
            // No fault of the peer's: this federate does not advance.
            return Err(ProtocolError(why.into()));
        }
        starling_net::remark(format_args!(
            "starling: warning: the link of {} is not read any more: {why}",
            peer.federate
        ));
        peer.stage = Stage::None;
        peer.broken = true;
        end_heard(&mut peer.heard, |_| true);
        self.lrc.outbox().break_off(peer.mark, why, false, now);
        self.lrc.link_ended(peer.federate)
    }

    /// What a peer had put on its link, or would have.
    pub(crate) fn take_rest_of(
        &mut self,
        mark: u64,
        at: u64,
        frames: &[u8],
        peers: &mut Peers,
    ) -> Result<(), ProtocolError> {
        let now = Instant::now();
        let Some(open) = &mut peers.0 else {
            return Ok(());
        };
        let of = |p: &Peer| p.mark == mark && !p.broken;
        let Some(which) = open.peers.iter().position(of) else {
            return Ok(());
        };
        let peer = &mut open.peers[which];
        // What the link still has is among this.
        peer.stage = Stage::None;
        let Some(had) = peer.taken.checked_sub(at) else {
            return self.break_link(peer, "a part of what it has sent is missing", now);
        };
        let had = usize::try_from(had).unwrap_or(usize::MAX);
        let mut new = frames.get(had..).unwrap_or_default();
        while !new.is_empty() {
            self.take_before_link(open, which);
            let peer = &mut open.peers[which];
            match self.take_on_link((0, peer.federate), new, &mut peer.heard, now) {
                Ok((used, more)) if more || used == new.len() => {
                    peer.taken += used as u64;
                    new = &new[used..];
                }
                Ok(_) => return self.break_link(peer, "a part of a frame", now),
                Err(error) => return self.break_link(peer, &error.0, now),
            }
        }
        Ok(())
    }

    /// A peer's end of a link is over.
    pub(crate) fn peer_broke_off(&mut self, mark: u64, peers: &mut Peers) {
        let Some(peer) = peers.peer(mark) else {
            return;
        };
        peer.stage = Stage::None;
        let who = (mark, peer.federate);
        self.lrc.outbox().peer_broke_off(who, Instant::now());
    }

    /// A peer is gone, or this federate is: what has come of it is the last.
    pub(crate) fn peer_is_gone(
        &mut self,
        mark: u64,
        peers: &mut Peers,
    ) -> Result<bool, ProtocolError> {
        let now = Instant::now();
        let Some(open) = &mut peers.0 else {
            return Ok(false);
        };
        let own = open.mark == mark;
        let mut any = own;
        while let Some(at) = open.peers.iter().position(|p| own || p.mark == mark) {
            any = true;
            // Its answer may have come, and data behind it.
            self.hear_greeting(&mut open.peers[at], now);
            // A read may bring but a part of a frame. What is early waits in memory, and nothing comes behind it.
            let mut reads = 0..READS_MAX;
            while reads.next().is_some() && self.read_link(open, at, now)? {}
            let gone = open.peers.remove(at);
            if let Some(direct) = &mut self.lrc.outbox().direct {
                direct.remove(gone.mark);
            }
            if !gone.broken {
                self.settle();
                self.lrc.link_ended(gone.federate)?;
            }
        }
        open.last = Last::Link(0);
        open.look_until();
        open.leave_unheard();
        Ok(any)
    }
}

impl Open {
    /// Takes connections that wait.
    /// Where to watch for who connects.
    fn listens(&self) -> Option<&Listener> {
        self.listener
            .as_ref()
            .filter(|_| self.rests_until.is_none())
    }

    fn admit(&mut self, now: Instant) {
        self.rests_until = None;
        let Some(listener) = &self.listener else {
            return;
        };
        loop {
            match listener.accept() {
                // Then it connects to nobody here, and gets its data by rtiexec.
                Ok(Some(stream)) if leave_room(&[&stream]).is_err() => {}
                Ok(Some(stream)) => {
                    if self.strangers.len() == STRANGERS {
                        self.strangers.remove(0);
                    }
                    self.strangers.push(Greeting::new(stream, now));
                }
                Ok(None) => return,
                Err(error) => {
                    starling_net::remark(format_args!(
                        "starling: warning: no links of other federates are taken for {} s: {error}",
                        ADMITS_AGAIN.as_secs()
                    ));
                    self.rests_until = Some(now + ADMITS_AGAIN);
                    return;
                }
            }
        }
    }

    fn look_until(&mut self) {
        let strangers = self.strangers.iter().map(|g| g.until);
        let peers = self.peers.iter().filter_map(|peer| match &peer.stage {
            Stage::Dialled(_, until) => Some(*until),
            Stage::Greeted(greeting) => Some(greeting.until),
            _ => None,
        });
        self.until = strangers.chain(peers).chain(self.rests_until).min();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn where_nobody_can_be_admitted_that_is_tried_again_later() {
        let at = starling_net::Endpoint::parse("127.0.0.1:0").unwrap();
        let listener = Listener::bind(&at).unwrap();
        // As nothing else does, this has connections refused that wait.
        let socket = std::net::TcpStream::from(listener.as_fd().try_clone_to_owned().unwrap());
        socket.shutdown(std::net::Shutdown::Both).unwrap();
        let mut peers = Peers::default();
        peers.open(1, Some(listener), String::new());
        assert_eq!(peers.watches(&[]).count(), 1);
        let now = Instant::now();
        let open = peers.all().unwrap();
        open.admit(now);
        open.look_until();
        assert_eq!(peers.watches(&[]).count(), 0);
        assert_eq!(peers.due(), Some(now + ADMITS_AGAIN));
        let open = peers.all().unwrap();
        open.admit(now + ADMITS_AGAIN);
        open.look_until();
        assert_eq!(peers.due(), Some(now + 2 * ADMITS_AGAIN));
    }
}
