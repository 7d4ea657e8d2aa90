//! The virtual network: links that keep their own order and nothing else.

use crate::calls::Caller;
use crate::host::{Deciding, Host, Ways};
use crate::program::Report;
use crate::watch::Watch;
use starling_bed::{Link, Links, Message, Sent};
use starling_core::message::{Data, FromExecutive, ModuleSource, Payload, PeerInfo, ToExecutive};
use starling_core::{
    Answer, Archived, AttributeHandle, Callback, Conflated, DataPath, Exception, ExceptionKind,
    Executive, FederateHandle, InteractionClassHandle, LogicalTime, Lrc, MessageRetractionHandle,
    ObjectInstanceHandle, ParameterHandle, PeerId, Service, Transportation,
};
use starling_wire::{
    Frame, PlainFrames, put_data, put_from_executive, put_to_executive, read_data, split_frame,
};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

pub(crate) struct Network {
    pub(crate) path: DataPath,
    pub(crate) executive: Executive,
    pub(crate) hosts: BTreeMap<PeerId, Host>,
    /// Joining: peers whose answer is on its way.
    pub(crate) joining: BTreeMap<PeerId, Lrc<Sent>>,
    links: Links,
    /// How often a data link gives way when its turn has come.
    pub(crate) slow: u8,
    /// The executive takes that many inputs, or none are left, before it settles.
    pub(crate) batch: u8,
    /// Inputs since it did.
    unsettled: u8,
    /// Every second host that connects conflates these.
    pub(crate) conflated: Conflated,
    /// Hosts that read nothing for now.
    pub(crate) stalled: BTreeSet<PeerId>,
    /// Links between federates on which nothing moves for now.
    pub(crate) standing: BTreeSet<Link>,
    /// Of so many messages of 256 that are sent by best effort one is lost, drawn by `faults`.
    pub(crate) lossy: u8,
    pub(crate) faults: fastrand::Rng,
    /// Draws which of the ways that come to the same is taken.
    ways: fastrand::Rng,
    /// Those that hosts have taken which are gone.
    gone: Ways,
    /// The time for update rates.
    pub(crate) now_us: u64,
    last_peer: u64,
    /// What was called and told here, and what went wrong.
    pub(crate) report: Report,
}

impl Network {
    pub(crate) fn new(path: DataPath, seed: u64) -> Self {
        let mut executive = Executive::new();
        executive.allow_direct_links();
        let mut report = Report::default();
        let how = match path {
            DataPath::Direct => "direct links",
            DataPath::Executive => "by the executive",
        };
        report.count(how, 1);
        Network {
            path,
            executive,
            hosts: BTreeMap::new(),
            joining: BTreeMap::new(),
            links: Links::default(),
            slow: 0,
            batch: 1,
            unsettled: 0,
            conflated: Conflated::default(),
            stalled: BTreeSet::new(),
            standing: BTreeSet::new(),
            lossy: 0,
            faults: fastrand::Rng::with_seed(0),
            ways: fastrand::Rng::with_seed(seed.rotate_left(16)),
            gone: Ways::default(),
            now_us: 0,
            last_peer: 0,
            report,
        }
    }

    pub(crate) fn count(&mut self, what: &'static str) {
        self.report.count(what, 1);
    }

    /// All that was counted.
    pub(crate) fn report(self) -> Report {
        let hosts = self.hosts.values().map(|host| host.ways);
        let (ways, mut report) = (hosts.fold(self.gone, Ways::and), self.report);
        ways.report(&mut report);
        report
    }

    /// A new connection to the executive.
    fn connect(&mut self) -> (PeerId, Lrc<Sent>) {
        self.last_peer += 1;
        let peer = PeerId(self.last_peer);
        self.executive.connected(peer, PeerInfo::default());
        let mut lrc = Lrc::new(Sent::default(), self.path);
        if self.conflates(peer) {
            lrc.set_conflated(self.conflated.clone());
        }
        (peer, lrc)
    }

    /// Whether a host may leave out what is followed by newer.
    pub(crate) fn conflates(&self, peer: PeerId) -> bool {
        !self.conflated.is_empty() && peer.0.is_multiple_of(2)
    }

    /// Asks for a federation execution `F`, over a connection of its own.
    pub(crate) fn create(&mut self, modules: Vec<ModuleSource>, mim: Option<ModuleSource>) {
        self.create_with_time(modules, mim, "");
    }

    /// The same with a logical time of this name.
    pub(crate) fn create_with_time(
        &mut self,
        modules: Vec<ModuleSource>,
        mim: Option<ModuleSource>,
        time: &str,
    ) {
        let (peer, mut lrc) = self.connect();
        let done = lrc.create_federation_execution("F", modules, mim, time);
        let called = self.report.called(Service::CreateFederationExecution, done);
        called.expect("it is connected");
        self.send(peer, None, &mut lrc);
    }

    /// Asks to join it.
    pub(crate) fn join(&mut self, modules: Vec<ModuleSource>) {
        let (peer, mut lrc) = self.connect();
        let done = lrc.join_federation_execution(None, "sim", "F", modules);
        let called = self.report.called(Service::JoinFederationExecution, done);
        called.expect("it is connected");
        if !self.hosts.is_empty() {
            self.count("fault: late join");
        }
        self.send(peer, None, &mut lrc);
        self.joining.insert(peer, lrc);
    }

    /// Puts what an LRC has sent on the links to those who live.
    fn send(&mut self, peer: PeerId, me: Option<FederateHandle>, lrc: &mut Lrc<Sent>) {
        for (to, message) in lrc.outbox().take() {
            let Some(to) = to else {
                self.links.put(Link::Up(peer), [message]);
                continue;
            };
            for to in to {
                let me = me.expect("members send data");
                if self.is_there(to) || self.becomes(to) {
                    self.links.put(Link::Data(me, to), [message.clone()]);
                }
            }
        }
    }

    fn is_there(&self, handle: FederateHandle) -> bool {
        self.hosts.values().any(|h| h.handle == handle)
    }

    /// Whether the end of a link stands behind a restore that its receiver has not read: see
    /// [`Lrc::link_ended`].
    fn waits_for_restore(&self, link: &Link) -> bool {
        let Link::Data(_, to) = link else {
            return false;
        };
        let host = self.hosts.values().find(|h| h.handle == *to);
        let restored =
            |m: &Message| matches!(m, Message::FromExecutive(FromExecutive::Restored(_)));
        let behind = |host: &Host| self.links.on(Link::Down(host.peer)).any(restored);
        matches!(self.links.on(*link).next(), Some(Message::End)) && host.is_some_and(behind)
    }

    /// Whether a host that is to be restored as this one has not read that yet: what is for it waits
    /// on its links, which are its process's.
    fn becomes(&self, handle: FederateHandle) -> bool {
        let mut members = self.hosts.keys().filter_map(|p| self.executive.member(*p));
        members.any(|(_, _, member)| member == handle)
    }

    /// Runs a service at a host and puts what it sends on the links.
    pub(crate) fn call<T>(
        &mut self,
        peer: PeerId,
        service: impl FnOnce(&mut Caller<'_>) -> T,
    ) -> T {
        self.at(peer, |host, network| {
            host.settle();
            service(&mut Caller::new(&mut host.lrc, &mut network.report))
        })
    }

    /// A host's data to another takes this path from now on.
    pub(crate) fn change_path(&mut self, peer: PeerId, to: FederateHandle, path: DataPath) {
        self.count("fault: a data path changes");
        self.at(peer, |host, _| {
            host.settle();
            host.lrc.set_data_path(to, path);
        });
    }

    /// A host reads nothing from now on.
    pub(crate) fn stall(&mut self, peer: PeerId) {
        self.count("fault: stopped");
        self.stalled.insert(peer);
    }

    /// What waited for the federation's word and has it.
    pub(crate) fn decided(
        &mut self,
    ) -> Vec<(
        FederateHandle,
        Deciding,
        Result<Vec<AttributeHandle>, Exception>,
    )> {
        let mut decided = Vec::new();
        for host in self.hosts.values_mut() {
            if let Some(asked) = &host.deciding
                && let Some(answer) = host.lrc.divested(asked.service, asked.request)
            {
                let asked = host.deciding.take().expect("it was just there");
                let given = answer.as_ref().is_ok_and(|divested| !divested.is_empty());
                let what = if given {
                    "ownership: given away on the federation's word"
                } else {
                    "ownership: nobody wants what was to be given away"
                };
                self.report.count(what, 1);
                decided.push((host.handle, asked, answer));
            }
        }
        decided
    }

    fn at<T>(&mut self, peer: PeerId, work: impl FnOnce(&mut Host, &mut Self) -> T) -> T {
        let mut host = self
            .hosts
            .remove(&peer)
            .expect("calls are made at hosts that are there");
        let result = work(&mut host, self);
        self.send(peer, Some(host.handle), &mut host.lrc);
        self.hosts.insert(peer, host);
        result
    }

    /// The next callback of a host, now delivered.
    pub(crate) fn next_callback(&mut self, peer: PeerId) -> Option<Callback> {
        let callback = self.at(peer, |host, network| host.next_callback(&mut network.ways));
        if let Some(callback) = &callback {
            self.report.callbacks += 1;
            let what = format!("callback: {}", callback.name());
            self.report.count(what, 1);
        }
        callback
    }

    /// Update Attribute Values, with a time or without: the short way, which needs nothing that was read, or the long one.
    pub(crate) fn update(
        &mut self,
        peer: PeerId,
        instance: ObjectInstanceHandle,
        (values, tag): (&[(AttributeHandle, &[u8])], &[u8]),
        time: Option<LogicalTime>,
    ) -> Result<MessageRetractionHandle, Exception> {
        let plainly = |lrc: &mut Lrc<Sent>| lrc.update_plainly(instance, values, tag, time);
        let service = Service::UpdateAttributeValues;
        self.send_values(peer, (service, time), plainly, |lrc| match time {
            Some(time) => lrc.update_attribute_values_at(instance, values, tag, time),
            None => lrc
                .update_attribute_values(instance, values, tag)
                .map(|()| MessageRetractionHandle::default()),
        })
    }

    /// The same of Send Interaction.
    pub(crate) fn interact(
        &mut self,
        peer: PeerId,
        class: InteractionClassHandle,
        (values, tag): (&[(ParameterHandle, &[u8])], &[u8]),
        time: Option<LogicalTime>,
    ) -> Result<MessageRetractionHandle, Exception> {
        let plainly = |lrc: &mut Lrc<Sent>| lrc.send_plainly(class, values, tag, time);
        let service = Service::SendInteraction;
        self.send_values(peer, (service, time), plainly, |lrc| match time {
            Some(time) => lrc.send_interaction_at(class, values, tag, time),
            None => lrc
                .send_interaction(class, values, tag)
                .map(|()| MessageRetractionHandle::default()),
        })
    }

    fn send_values(
        &mut self,
        peer: PeerId,
        (service, time): (Service, Option<LogicalTime>),
        plainly: impl FnOnce(&mut Lrc<Sent>) -> Option<MessageRetractionHandle>,
        closely: impl FnOnce(&mut Lrc<Sent>) -> Result<MessageRetractionHandle, Exception>,
    ) -> Result<MessageRetractionHandle, Exception> {
        let now_us = self.now_us;
        let sent = self.at(peer, |host, _| {
            if let Some(sent) = plainly(&mut host.lrc) {
                host.ways.sent[usize::from(time.is_some())] += 1;
                return Ok(sent);
            }
            host.settle();
            if host.lrc.wants_time() {
                host.lrc.set_time_us(now_us);
            }
            closely(&mut host.lrc)
        });
        self.report.called(service, sent)
    }

    /// Moves one item of a link drawn by `draw`; false if all links are empty.
    pub(crate) fn step(&mut self, draw: &mut fastrand::Rng, checker: &mut dyn Watch) -> bool {
        self.report.steps += 1;
        let reads = |link: &Link| match link {
            Link::Down(peer) => !self.stalled.contains(peer),
            Link::Up(_) => true,
            Link::Data(..) if self.standing.contains(link) => false,
            Link::Data(_, to) => self.is_there(*to) || !self.becomes(*to),
        };
        let busy = self.links.busy().filter(reads);
        let busy: Vec<_> = busy.filter(|link| !self.waits_for_restore(link)).collect();
        if busy.is_empty() {
            return self.settle(checker);
        }
        let mut link = busy[draw.usize(..busy.len())];
        // Some networks have slow data links, so that what they carry is overtaken.
        for _ in 0..self.slow {
            if matches!(link, Link::Data(..)) {
                self.count("fault: a data link gives way");
                link = busy[draw.usize(..busy.len())];
            }
        }
        let message = self.links.take(link).expect("it was just listed as busy");
        if self.loses(link, &message, checker) {
            return true;
        }
        // What arrives has been bytes on the way.
        let mut bytes = Vec::new();
        match &message {
            Message::ToExecutive(message) => put_to_executive(&mut bytes, message),
            Message::FromExecutive(message) => put_from_executive(&mut bytes, message),
            Message::Data(data) => {
                put_data(&mut bytes, &data.borrow());
                // The executive takes together what it has read together.
                let mut more = draw.u8(..8);
                while more > 0
                    && matches!(link, Link::Up(_))
                    && matches!(self.links.on(link).next(), Some(Message::Data(_)))
                    && let Some(Message::Data(next)) = self.links.take(link)
                {
                    put_data(&mut bytes, &next.borrow());
                    more -= 1;
                }
            }
            Message::End => {
                self.end(link, checker);
                return true;
            }
        }
        match link {
            Link::Up(peer) if matches!(message, Message::Data(_)) => {
                self.up_data(peer, &bytes, checker);
            }
            Link::Up(peer) => self.up(peer, &bytes, checker),
            Link::Down(peer) => self.down(peer, &bytes, checker),
            Link::Data(from, to) => self.data(from, to, &bytes),
        }
        true
    }

    /// One of the links between federates stands still from now on, if there is any.
    pub(crate) fn stand_still(&mut self) -> bool {
        let links = self.links.busy().filter(|l| matches!(l, Link::Data(..)));
        let links: Vec<_> = links.collect();
        let link = (!links.is_empty()).then(|| links[self.faults.usize(..links.len())]);
        self.standing.extend(link);
        if link.is_some() {
            self.count("fault: a link stands still");
        }
        link.is_some()
    }

    /// Whether what is taken off a link is lost: updates and interactions by best effort may be, unless they are in
    /// time-stamp order.
    fn loses(&mut self, link: Link, message: &Message, checker: &mut dyn Watch) -> bool {
        let Message::Data(data) = message else {
            return false;
        };
        let data = data.borrow();
        let may_be_lost = |p: &Payload<'_>| {
            let in_time_order = p.stamp.is_some_and(|stamp| stamp.retraction.is_some());
            p.transportation == Transportation::BestEffort && !in_time_order
        };
        if self.lossy == 0
            || !data.body.payload().is_some_and(may_be_lost)
            || self.faults.u8(..) >= self.lossy
        {
            return false;
        }
        let to = match link {
            Link::Up(_) => None,
            Link::Down(peer) => self.hosts.get(&peer).map(|h| h.handle),
            Link::Data(_, to) => Some(to),
        };
        if let Some(host) = to.and_then(|to| self.host(to)) {
            host.settle();
            host.lrc.count_lost(1);
            host.lost += 1;
        }
        if to.is_some() || matches!(link, Link::Up(_)) {
            self.count("fault: best effort is lost");
            checker.dropped(data.sender, to, &data.body);
        }
        true
    }

    /// The end of a link arrives.
    fn end(&mut self, link: Link, checker: &mut dyn Watch) {
        match link {
            Link::Up(peer) => {
                if let Some((_, _, handle)) = self.executive.member(peer) {
                    checker.lost(handle);
                }
                self.executive.disconnected(peer, "its process died");
                self.taken(checker);
            }
            Link::Down(_) => {}
            Link::Data(from, to) => {
                if let Some(host) = self.host(to) {
                    host.settle();
                    let taken = host.lrc.link_ended(from);
                    taken.unwrap_or_else(|e| {
                        panic!("{to} refuses the end of {from}'s link: {e}");
                    });
                    self.remove_resigned(to);
                }
            }
        }
    }

    fn up(&mut self, peer: PeerId, bytes: &[u8], checker: &mut dyn Watch) {
        match decode(bytes) {
            Frame::ToExecutive(message) => {
                if let ToExecutive::Request(request) = &message {
                    let member = self.executive.member(peer).map(|(_, _, handle)| handle);
                    checker.ordered(member.expect("requests come from members"), request);
                }
                if let ToExecutive::Time(request) = &message {
                    let member = self.executive.member(peer).map(|(_, _, handle)| handle);
                    checker.timed(member.expect("requests come from members"), &request.body);
                }
                let joins = matches!(message, ToExecutive::Join { .. });
                if let Err(error) = self.executive.receive(peer, message) {
                    panic!("the executive refuses {peer:?}: {error}");
                }
                if let (true, Some((_, _, handle))) = (joins, self.executive.member(peer)) {
                    checker.entered(handle);
                }
            }
            other => panic!("to the executive: {other:?}"),
        }
        self.taken(checker);
    }

    /// Data that has been read together.
    fn up_data(&mut self, peer: PeerId, mut bytes: &[u8], checker: &mut dyn Watch) {
        let mut to = Vec::new();
        while !bytes.is_empty() {
            let frames = PlainFrames::new(bytes, usize::MAX);
            let run = self.executive.data_run(peer, frames, &mut to);
            let mut taken = run.unwrap_or_else(|e| panic!("the executive refuses a run: {e}"));
            if taken == 0 {
                let (data, size) = data_frame(bytes);
                self.executive
                    .data(peer, &data, &mut to)
                    .unwrap_or_else(|e| panic!("the executive refuses data: {e}"));
                taken = size;
            }
            self.flush_executive(checker);
            let member = |p: &PeerId| Some(self.executive.member(*p)?.2);
            let members: Vec<_> = to.iter().filter_map(member).collect();
            let (mut run, rest) = bytes.split_at(taken);
            while !run.is_empty() {
                let (data, size) = data_frame(run);
                checker.forwarded(data.sender, &data.body, &members);
                for peer in &to {
                    let forwarded = Message::Data(data.to_owned());
                    self.links.put(Link::Down(*peer), [forwarded]);
                }
                run = &run[size..];
            }
            bytes = rest;
            self.taken(checker);
        }
    }

    /// So much time has gone by since the executive began. Whether anything was due.
    pub(crate) fn pass_time(&mut self, now: Duration, checker: &mut dyn Watch) -> bool {
        self.executive.set_time(now);
        let due = self.executive.next_timeout().is_some_and(|due| due <= now);
        if due {
            self.executive.handle_timeout(|_| true);
            self.taken(checker);
        }
        due
    }

    /// A task with a saved federation execution is done.
    pub(crate) fn archived(
        &mut self,
        (execution, task): (u64, u64),
        done: Result<Archived, String>,
        checker: &mut dyn Watch,
    ) {
        self.executive.archived(execution, task, done);
        self.taken(checker);
    }

    /// The executive has taken an input.
    fn taken(&mut self, checker: &mut dyn Watch) {
        self.unsettled += 1;
        if self.unsettled >= self.batch {
            self.settle(checker);
        }
        self.flush_executive(checker);
        checker.settled();
    }

    /// Whether there was anything to settle.
    fn settle(&mut self, checker: &mut dyn Watch) -> bool {
        let any = std::mem::take(&mut self.unsettled) > 0;
        self.executive.settle();
        self.flush_executive(checker);
        any
    }

    /// Whether the executive has dealt with all that has come to it.
    pub(crate) fn is_settled(&self) -> bool {
        self.unsettled == 0
    }

    fn flush_executive(&mut self, checker: &mut dyn Watch) {
        while let Some((peer, message)) = self.executive.poll_output() {
            if let FromExecutive::Entry(entry) = &message
                && let Some((_, _, to)) = self.executive.member(peer)
            {
                checker.told(to, &entry.body);
            }
            if let FromExecutive::Time(notice) = &message
                && let Some((_, _, to)) = self.executive.member(peer)
            {
                checker.notified(to, notice);
            }
            if let FromExecutive::Restored(_) = &message {
                checker.restored();
                self.forget_ends(peer);
            }
            self.links
                .put(Link::Down(peer), [Message::FromExecutive(message)]);
        }
    }

    /// A host begins again: ends of links from before say nothing of who has these handles then.
    fn forget_ends(&mut self, peer: PeerId) {
        let Some(me) = self.hosts.get(&peer).map(|h| h.handle) else {
            return;
        };
        let mine = |link: &Link| matches!(link, Link::Data(_, to) if *to == me);
        let mine: Vec<_> = self.links.busy().filter(mine).collect();
        for link in mine {
            if let Some(carried) = self.links.carried(link) {
                carried.retain(|message| !matches!(message, Message::End));
            }
        }
    }

    fn down(&mut self, peer: PeerId, bytes: &[u8], checker: &mut dyn Watch) {
        if let Some(mut lrc) = self.joining.remove(&peer) {
            match decode(bytes) {
                Frame::FromExecutive(message) => lrc.receive(message).expect("it may join"),
                other => panic!("to one that has not joined: {other:?}"),
            }
            match lrc.answer() {
                Some(Ok(Answer::Joined(handle))) => {
                    let host = Host::new(lrc, handle, peer, &mut self.ways);
                    checker.joined(handle, host.federate().model());
                    self.hosts.insert(peer, host);
                }
                Some(Err(e))
                    if [
                        ExceptionKind::SaveInProgress,
                        ExceptionKind::RestoreInProgress,
                    ]
                    .contains(&e.kind) => {}
                Some(other) => panic!("a join was answered by {other:?}"),
                None => {
                    self.joining.insert(peer, lrc);
                }
            }
            return;
        }
        if let Some(host) = self.hosts.get_mut(&peer) {
            match decode(bytes) {
                Frame::FromExecutive(message) => host.receive(message),
                Frame::Data(_) => host.receive_data(None, bytes, &mut self.ways),
                other => panic!("to a federate: {other:?}"),
            }
            match host.lrc.federate() {
                // A restore may have made it another.
                Some(federate) if host.lrc.is_member() => host.handle = federate.handle(),
                _ => {
                    // Somebody has had it resign.
                    if !host.resigning && host.lrc.is_member() {
                        self.call(peer, |_| ());
                    }
                    self.remove(peer);
                }
            }
        }
    }

    fn data(&mut self, from: FederateHandle, to: FederateHandle, bytes: &[u8]) {
        let mut hosts = self.hosts.values_mut();
        if let Some(host) = hosts.find(|h| h.handle == to) {
            host.receive_data(Some(from), bytes, &mut self.ways);
            self.remove_resigned(to);
        }
    }

    fn host(&mut self, handle: FederateHandle) -> Option<&mut Host> {
        self.hosts.values_mut().find(|h| h.handle == handle)
    }

    /// What came on a link of its own may have been the fence that its resignation waited for.
    fn remove_resigned(&mut self, handle: FederateHandle) {
        let gone = self.host(handle).filter(|host| !host.lrc.is_member());
        if let Some(peer) = gone.map(|host| host.peer) {
            self.remove(peer);
        }
    }

    /// A host is no longer there: its links end behind what they carry.
    pub(crate) fn remove(&mut self, peer: PeerId) {
        let Some(gone) = self.hosts.remove(&peer) else {
            return;
        };
        self.gone = self.gone.and(gone.ways);
        self.links.remove(Link::Down(peer));
        // What it was, and what a restore has made of it.
        let member = self.executive.member(peer).map(|(_, _, handle)| handle);
        let handles: BTreeSet<_> = member.into_iter().chain([gone.handle]).collect();
        let others: Vec<_> = self.hosts.values().map(|h| h.handle).collect();
        for other in others {
            for gone in &handles {
                self.links.remove(Link::Data(other, *gone));
                self.links.put(Link::Data(*gone, other), [Message::End]);
            }
        }
    }

    /// A host dies: what it had sent may be lost from any point on.
    pub(crate) fn kill(&mut self, peer: PeerId, draw: &mut fastrand::Rng, checker: &mut dyn Watch) {
        self.count("fault: killed");
        if let Some(up) = self.links.carried(Link::Up(peer)) {
            up.truncate(draw.usize(..=up.len()));
        }
        if let Some(handle) = self.hosts.get(&peer).map(|h| h.handle) {
            let others: Vec<_> = self.hosts.values().map(|h| h.handle).collect();
            for other in others {
                if let Some(data) = self.links.carried(Link::Data(handle, other)) {
                    data.truncate(draw.usize(..=data.len()));
                }
            }
            checker.died(handle);
        }
        self.remove(peer);
        self.links.put(Link::Up(peer), [Message::End]);
    }
}

/// The data frame with which these begin, and its bytes.
fn data_frame(bytes: &[u8]) -> (Data<'_>, usize) {
    let (frame, size) = split_frame(bytes)
        .expect("frames are legal")
        .expect("frames are whole");
    let data = read_data(frame).expect("it is data");
    let data = data.unwrap_or_else(|e| panic!("data of our own can't be decoded: {e}"));
    (data, size)
}

fn decode(bytes: &[u8]) -> Frame<'_> {
    let (frame, used) = split_frame(bytes)
        .expect("frames are legal")
        .expect("frames are whole");
    assert_eq!(used, bytes.len(), "one frame at a time");
    Frame::decode(frame).unwrap_or_else(|e| panic!("a frame of our own can't be decoded: {e}"))
}
