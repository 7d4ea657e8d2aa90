//! What a peer's messages lead to.

use crate::direct::DIRECT;
use crate::seats::{SHARED_MEMORY, ways_text};
use crate::server::{Ending, Server};
use crate::sites::FORWARDER;
use crate::trunk::CHANNELS_MAX;
use crate::turns::Turn;
use starling_core::message::{Finding, FromExecutive, PeerInfo, Question, Snapshot, ToExecutive};
use starling_core::{
    Counters, Exception, ExceptionKind, MergedModules, NAME_BYTES_MAX, PeerId, ProtocolError,
    RESTS_FOR, Why,
};
use starling_net::{LinkReader, Method, Unpack};
use starling_wire::{
    EntryFrames, Foreign, Frame, Hello, PlainFrames, VERSION, Welcome, data_kind, is_on_trunk,
    may_bring_modules, may_relay, put_from_executive, put_welcome, read_data, split_frame,
};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tracing::{debug, info, warn};

/// A buffer this large is written while the round goes on, so that its receiver can start.
pub(crate) const EAGER_BYTES: usize = 256 * 1024;
/// So much of data is forwarded at once, or one message.
pub(crate) const RUN_BYTES: usize = 16 * 1024;
/// More than a frame takes that is relayed within another, whose receivers may be all federates behind a forwarder.
pub(crate) const RELAY_HEAD_BYTES: usize = 64 + 5 * CHANNELS_MAX;
/// Before a peer has joined its messages are small, but for those with modules.
pub(crate) const SMALL_BYTES_MAX: usize = 64 * 1024;

impl Server {
    /// Handles what has come, as far as it is whole and the turn is not over.
    pub(crate) fn frames(
        &mut self,
        n: usize,
        reader: &mut LinkReader,
        turn: &mut Turn,
        now: Instant,
    ) -> Result<(), Ending> {
        if self.is_upstream(n) {
            return self.take_down(reader, now);
        }
        if self.upstream.is_some() && self.connection(n).is_some_and(|c| c.trunk.is_none()) {
            let before = reader.position();
            self.hand_on(n, reader, now)?;
            if let Some(connection) = self.connection(n) {
                if reader.position() != before {
                    connection.begun = None;
                }
                if !reader.inbox().is_empty() && !connection.must_wait() {
                    connection.begun.get_or_insert(now);
                }
            }
            return Ok(());
        }
        let fault = |what: String| Ending::Fault(format!("malformed message: {what}"));
        while let Some(connection) = self.connection(n) {
            if connection.must_wait() || turn.is_over() {
                break;
            }
            if connection.member.is_some() && self.data_run(n, reader, now)? {
                continue;
            }
            let Some(connection) = self.connection(n) else {
                break;
            };
            let known = connection.info.is_some();
            let is_trunk = connection.trunk.is_some();
            if !known && let Some(foreign) = Foreign::recognise(reader.inbox()) {
                connection.writer.out().extend(foreign.answer());
                connection.flush(now);
                return Err(Ending::Fault(format!("it speaks {foreign}")));
            }
            let large = match (known, &connection.member) {
                (false, _) => false,
                (true, Some(_)) => true,
                (true, None) => {
                    let frame = reader.inbox().get(4..).unwrap_or_default();
                    may_bring_modules(frame).unwrap_or(true)
                }
            };
            let limit = if large {
                self.config.frame_bytes_max
            } else {
                SMALL_BYTES_MAX.min(self.config.frame_bytes_max)
            };
            let begin = reader.inbox().get(4..).unwrap_or_default();
            let more = if large && may_relay(begin) {
                RELAY_HEAD_BYTES
            } else {
                0
            };
            if let Some(length) = reader.inbox().first_chunk::<4>() {
                let length = u32::from_le_bytes(*length) as usize;
                if length > limit.saturating_add(more) {
                    return Err(fault(format!("{length} bytes, more than {limit}")));
                }
            }
            let split = split_frame(reader.inbox()).map_err(|e| fault(e.to_string()))?;
            let Some((frame, size)) = split else {
                break;
            };
            let mut compressed = Method::Off;
            match read_data(frame).filter(|_| known) {
                None if known && is_on_trunk(frame) => {
                    self.trunk_frame(n, frame, now)?;
                    self.check_trunk_room(n, now);
                }
                Some(data) => {
                    let data = data.map_err(|e| fault(e.to_string()))?;
                    let mut receivers = std::mem::take(&mut self.receivers);
                    let taken = self.executive.data(PeerId(n as u64), &data, &mut receivers);
                    self.take_outputs();
                    taken.map_err(|e| Ending::Fault(e.to_string()))?;
                    let best_effort = data.is_best_effort();
                    for PeerId(receiver) in &receivers {
                        let (to, frame) = (*receiver as usize, &reader.inbox()[..size]);
                        if !best_effort {
                            self.forward(Some(n), to, frame, now)
                        } else {
                            self.forward_best_effort(to, frame, now)
                        }
                    }
                    let holds = (!best_effort).then_some(n);
                    self.deliver(holds, &reader.inbox()[..size], now);
                    if best_effort {
                        self.note_streamed(n, reader.position() + size as u64);
                    }
                    self.receivers = receivers;
                }
                None => match Frame::decode(frame).map_err(|e| fault(e.to_string()))? {
                    Frame::Hello(hello) if !known => compressed = self.welcome(n, hello)?,
                    _ if !known => return Err(fault("it did not begin with Hello".into())),
                    Frame::Heartbeat => {}
                    _ if is_trunk => {
                        return Err(fault("what a federate may say, on a trunk".into()));
                    }
                    Frame::ToExecutive(message) => {
                        self.control(n, message)?;
                        turn.took_request();
                    }
                    Frame::LinkRequest(request) => {
                        self.written.clear();
                        self.link_request(n, request, reader, now)?;
                        self.check_control_room(n, now);
                        turn.took_request();
                    }
                    Frame::Hello(_)
                    | Frame::Welcome(_)
                    | Frame::FromExecutive(_)
                    | Frame::LinkNotice(_)
                    | Frame::Data(_) => {
                        let why = "a kind of message that is not the federate's";
                        return Err(fault(why.into()));
                    }
                },
            }
            reader.consume(size);
            let unpack = Unpack::new(compressed);
            unpack
                .and_then(|unpack| reader.decompress(unpack))
                .map_err(|e| fault(e.to_string()))?;
            if let Some(connection) = self.connection(n) {
                connection.begun = None;
            }
        }
        if reader.has_stray_descriptors() {
            return Err(fault("descriptors with what takes none".into()));
        }
        let left = reader.inbox().len();
        if let Some(connection) = self.connection(n)
            && left > 0
            && !connection.must_wait()
            && !turn.is_over()
        {
            connection.begun.get_or_insert(now);
        }
        self.count_unjoined(n, left)
    }

    /// Forwards the data frames with which the inbox begins, as far as they all go to the same receivers
    /// and nothing else comes of them; whether there were any.
    fn data_run(
        &mut self,
        n: usize,
        reader: &mut LinkReader,
        now: Instant,
    ) -> Result<bool, Ending> {
        let inbox = reader.inbox();
        let inbox = &inbox[..inbox.len().min(RUN_BYTES)];
        let mut frames = PlainFrames::new(inbox, self.config.frame_bytes_max);
        if self.tells_best_effort() {
            // Datagrams may take it, or nobody.
            frames = frames.reliable();
        }
        if frames.is_none() {
            return Ok(false);
        }
        let mut receivers = std::mem::take(&mut self.receivers);
        let run = self
            .executive
            .data_run(PeerId(n as u64), frames, &mut receivers);
        self.take_outputs();
        let run = run.map_err(|e| Ending::Fault(e.to_string()))?;
        for PeerId(receiver) in &receivers {
            let (to, run) = (*receiver as usize, &inbox[..run]);
            if self.has_room_for_data(to) {
                self.forward(Some(n), to, run, now);
            } else {
                self.forward_each(n, to, run, now);
            }
        }
        self.deliver(Some(n), &inbox[..run], now);
        self.receivers = receivers;
        if run == 0 {
            return Ok(false);
        }
        reader.consume(run);
        if let Some(connection) = self.connection(n) {
            connection.begun = None;
        }
        Ok(true)
    }

    /// Counts what has come of messages of who has not joined, in their inboxes and in work. If it
    /// is too much altogether, who has sent most must go.
    fn count_unjoined(&mut self, n: usize, bytes: usize) -> Result<(), Ending> {
        let Some(connection) = self.connection(n) else {
            return Ok(());
        };
        let counts = match (&connection.member, connection.in_work) {
            (Some(_), _) => 0,
            (None, true) => connection.counted.max(bytes),
            (None, false) => bytes,
        };
        let before = std::mem::replace(&mut connection.counted, counts);
        self.unjoined_bytes = self.unjoined_bytes + counts - before;
        if self.unjoined_bytes <= self.config.frame_bytes_max.saturating_mul(2) {
            return Ok(());
        }
        let why = "too many bytes of messages of those who have not joined wait in rtiexec, and most are its own";
        let all = self
            .connections
            .numbers()
            .filter_map(|n| Some((self.connections.get(n)?.counted, n)));
        match all.max() {
            Some((_, most)) if most != n => self.remove(most, why),
            _ => return Err(Ending::Fault(why.into())),
        }
        Ok(())
    }

    /// Whether a receiver's stream has room for data, also for best-effort data.
    #[inline]
    fn has_room_for_data(&self, receiver: usize) -> bool {
        let to = self.connections.get(receiver);
        to.is_none_or(|to| to.is_part || to.writer.pending() <= self.best_effort_room())
    }

    /// The same as [`Server::forward`], where there is no room for best-effort data.
    #[cold]
    fn forward_each(&mut self, sender: usize, receiver: usize, mut run: &[u8], now: Instant) {
        while let Ok(Some((frame, size))) = split_frame(run) {
            let whole = &run[..size];
            run = &run[size..];
            if data_kind(frame) == Some(true) {
                self.forward_best_effort(receiver, whole, now);
            } else {
                self.forward(Some(sender), receiver, whole, now);
            }
        }
    }

    /// Puts frames on a receiver's stream. When that was done for all that they go to, [`Server::deliver`] is to be called.
    pub(crate) fn forward(
        &mut self,
        sender: Option<usize>,
        receiver: usize,
        bytes: &[u8],
        now: Instant,
    ) {
        let Some(to) = self.connections.get_mut(receiver) else {
            return;
        };
        if to.write_failed.is_some() {
            return;
        }
        if to.is_part {
            return self.forward_to_channel(sender, receiver, bytes, now);
        }
        to.writer.append(bytes);
        self.forwarded += bytes.len() as u64;
        if to.writer.pending() >= EAGER_BYTES && to.writable {
            to.flush(now);
        }
        self.mark_dirty(receiver);
        if let Some(sender) = sender {
            self.check_room(sender, receiver, now);
        }
    }

    pub(crate) fn mark_dirty(&mut self, n: usize) {
        if let Some(connection) = self.connection(n)
            && !std::mem::replace(&mut connection.dirty, true)
        {
            self.dirty.push(n);
        }
    }

    /// Answers a greeting; how the connection is compressed from now on.
    fn welcome(&mut self, n: usize, hello: Hello) -> Result<Method, Ending> {
        let about = self.about.clone();
        let frame_bytes_max = self.config.frame_bytes_max as u64;
        let answer = self.answer(n, &hello.challenge);
        let compression = self.config.compression;
        let Some(connection) = self.connection(n) else {
            return Ok(Method::Off);
        };
        let method = if connection.is_part {
            // The trunk is compressed, with all that goes on it.
            Method::Off
        } else {
            let wanted = compression.over(connection.writer.stream());
            wanted.agreed(hello.compression)
        };
        let mut info = hello.info;
        let names = [&info.program, &info.host, &info.version];
        if names.iter().any(|name| name.len() > NAME_BYTES_MAX) {
            let why = format!(
                "malformed message: a name of more than {NAME_BYTES_MAX} bytes in its Hello"
            );
            return Err(Ending::Fault(why));
        }
        info.path.clone_from(&connection.path);
        match connection.local_pid {
            // The system knows better than the peer.
            Some(pid) => info.pid = pid,
            None if !connection.is_part
                && info.host == about.host
                && is_loopback(&connection.path) =>
            {
                connection.claimed_pid = Some(info.pid);
            }
            None => {}
        }
        let refusal = (hello.version != VERSION).then(|| {
            format!(
                "{} (Starling {}) speaks version {} of the protocol, rtiexec (Starling {}) version {VERSION}",
                info.program, info.version, hello.version, about.version
            )
        });
        put_welcome(
            connection.writer.out(),
            &Welcome {
                version: VERSION,
                info: PeerInfo {
                    path: info.path.clone(),
                    ..about
                },
                refusal: refusal.clone(),
                frame_bytes_max,
                answer,
                compression: method.number(),
            },
        );
        if let Some(refusal) = refusal {
            self.write_at_once(n, Instant::now());
            return Err(Ending::Fault(refusal));
        }
        connection.writer.compress(compression.sender(method));
        if method != Method::Off {
            info.path = format!("{}, {method}", info.path);
        }
        connection.info = Some(info.clone());
        debug!("welcome: {}", connection.name());
        self.mark_dirty(n);
        self.executive.connected(PeerId(n as u64), info);
        Ok(method)
    }

    pub(crate) fn control(&mut self, n: usize, message: ToExecutive) -> Result<(), Ending> {
        let asked = match &message {
            ToExecutive::CreateFederation {
                federation,
                modules,
                ..
            } => {
                let modules: Vec<_> = modules.iter().map(|m| m.designator.as_str()).collect();
                Some(format!(
                    "create federation execution '{federation}' ({})",
                    modules.join(", ")
                ))
            }
            ToExecutive::DestroyFederation { federation } => {
                Some(format!("destroy federation execution '{federation}'"))
            }
            ToExecutive::ResignFederate { federate, .. } => {
                if let Err(refusal) = self.require_own_user(n) {
                    self.reply(n, &FromExecutive::Done(Err(refusal)));
                    return Ok(());
                }
                Some(format!("resign '{federate}'"))
            }
            ToExecutive::Stop { force } => {
                let done = self.require_own_user(n).and_then(|()| self.stop(n, *force));
                self.reply(n, &FromExecutive::Done(done));
                return Ok(());
            }
            ToExecutive::Counted {
                counters,
                doing,
                for_ms,
                ..
            } => {
                if let Some(connection) = self.connection(n) {
                    connection.note_counters(**counters);
                    let age = Duration::from_millis(*for_ms);
                    let rests = doing.evokes() && age >= RESTS_FOR;
                    if connection.doing.0 != *doing || connection.rests != rests {
                        let since = connection.heard.checked_sub(age);
                        let since = since.unwrap_or(connection.heard);
                        connection.doing = (doing.clone(), since);
                        connection.rests = rests;
                    }
                }
                None
            }
            ToExecutive::Request(request) if !request.fenced.is_empty() => {
                // Its receivers would wait for them.
                if !self.connection(n).is_some_and(|c| c.has_links) {
                    let why = "it sent fences, but has no links for them";
                    return Err(Ending::Fault(format!("malformed message: {why}")));
                }
                None
            }
            ToExecutive::Leaves { why } => {
                let why: String = why.chars().take(NAME_BYTES_MAX).collect();
                return Err(Ending::Closed(format!("it says '{why}' and has left")));
            }
            ToExecutive::QueryWhy(question) => {
                let answer = self.why(question);
                self.reply(n, &answer);
                return Ok(());
            }
            _ => None,
        };
        if let (Some(asked), Some(connection)) = (asked, self.connection(n)) {
            connection.asked.push_back(asked);
        }
        match self.merge_elsewhere(n, message) {
            Some(message) => self.handle(n, message, None),
            None => Ok(()),
        }
    }

    /// Hands a message to the executive, with its modules if it brought some, and sees to what
    /// comes of it.
    pub(crate) fn handle(
        &mut self,
        n: usize,
        message: ToExecutive,
        merged: Option<MergedModules>,
    ) -> Result<(), Ending> {
        self.executive.set_time(self.began.elapsed());
        self.written.clear();
        // The core contains what goes wrong in a federation execution; this, what does outside.
        let executive = AssertUnwindSafe(&mut self.executive);
        let peer = PeerId(n as u64);
        let result = catch_unwind(AssertUnwindSafe(move || {
            { executive }.0.receive_merged(peer, message, merged)
        }));
        let result = result.unwrap_or_else(|_| {
            let what = "an internal error of the RTI in handling its request";
            Err(ProtocolError(what.into()))
        });
        self.note_membership(n);
        self.take_outputs();
        self.log_notes();
        self.check_control_room(n, Instant::now());
        result.map_err(|e| Ending::Fault(e.to_string()))
    }

    /// Writes into the log what the executive has to say of peers.
    pub(crate) fn log_notes(&mut self) {
        while let Some((peer, note)) = self.executive.poll_note() {
            let Some(PeerId(peer)) = peer else {
                warn!("{note}");
                continue;
            };
            if let Some(connection) = self.connection(peer as usize) {
                let name = connection.name();
                warn!("{name}: {note}");
            }
        }
    }

    /// Puts the answer of this process, not of a federation execution, on a peer's stream.
    fn reply(&mut self, n: usize, answer: &FromExecutive) {
        if let Some(connection) = self.connection(n) {
            put_from_executive(connection.writer.out(), answer);
            self.mark_dirty(n);
            self.written.clear();
            self.written.push(n);
            self.check_control_room(n, Instant::now());
        }
    }

    /// Who may end what others use: whom the system vouches for as this process's user, or root.
    fn require_own_user(&mut self, n: usize) -> Result<(), Exception> {
        if self.connection(n).is_some_and(|c| c.own_user) {
            return Ok(());
        }
        let why = "only the user of this rtiexec may do that, over its Unix-domain socket\n  do: run it on the same host, as the same user (net.unix, net.run_dir)";
        Err(Exception::new(ExceptionKind::RTIinternalError, why))
    }

    /// Ends this process when the answer has been given.
    fn stop(&mut self, n: usize, force: bool) -> Result<(), Exception> {
        let joined = self.executive.joined();
        if joined > 0 && !force {
            let why = format!(
                "{joined} federate(s) are joined (`starling ps`)\n  do: let them resign, or use --force"
            );
            return Err(Exception::new(ExceptionKind::FederatesCurrentlyJoined, why));
        }
        let info = self.connection(n).and_then(|c| c.info.as_ref());
        let by = info.map_or(0, |i| i.pid);
        self.stopping = Some(format!("`starling stop` (process {by})"));
        Ok(())
    }

    /// The chain up to the receiver as the executive knows it, and the path to it; or whom its time
    /// waits for, and what that one does.
    fn why(&mut self, question: &Question) -> FromExecutive {
        self.executive.set_time(self.began.elapsed());
        let Why {
            mut findings,
            receiver,
            senders,
            turn,
            at_point,
        } = self.executive.why(question);
        findings.extend(self.turn_text(turn, at_point).map(|detail| Finding {
            link: "turn".into(),
            holds: false,
            detail,
        }));
        let ways = receiver.map(|PeerId(peer)| self.ways_to(peer as usize));
        let ways = ways.unwrap_or_default();
        if let Some(way) = [SHARED_MEMORY, DIRECT, FORWARDER]
            .into_iter()
            .find(|way| ways.keys().any(|by| by.starts_with(way)))
            && let Some(last) = findings.last_mut()
            && ["sent", "updated"].contains(&last.link.as_str())
        {
            last.holds = true;
            last.detail += &format!("; what takes {way} does not come to rtiexec");
        }
        for (peer, name) in senders {
            findings.extend(self.stillness(peer).map(|still| Finding {
                link: "sender".into(),
                holds: false,
                detail: format!("'{name}': {still}"),
            }));
        }
        let still = receiver.and_then(|peer| self.stillness(peer));
        findings.extend(still.map(|detail| Finding {
            link: "process".into(),
            holds: false,
            detail,
        }));
        let whole = findings.iter().all(|f| f.holds);
        if let (true, Some(PeerId(peer))) = (whole, receiver)
            && let Some(connection) = self.connection(peer as usize)
        {
            let waiting = connection.writer.pending();
            let silent = connection.heard.elapsed().as_secs_f64();
            let path = format!("{}; {} to rtiexec", ways_text(&ways), connection.path);
            let untaken = connection.untaken();
            let (doing, since) = &connection.doing;
            let last = (!doing.service.is_empty()).then(|| {
                let since = since.elapsed().as_secs_f64();
                format!("; it called {} last, about {since:.1} s ago", doing.service)
            });
            findings.extend(untaken.map(|detail| Finding {
                link: "evoked".into(),
                holds: false,
                detail: detail + &last.unwrap_or_default(),
            }));
            findings.push(Finding {
                link: "counts".into(),
                holds: true,
                detail: format!("it has told of itself: {}", connection.counters),
            });
            findings.push(Finding {
                link: "path".into(),
                holds: waiting == 0,
                detail: match waiting {
                    0 => format!("{path}; nothing waits for it, heard {silent:.1} s ago"),
                    _ => format!(
                        "{path}; {waiting} bytes wait for it: its process does not read them (evoke callbacks; limits.callback_queue_bytes); heard {silent:.1} s ago"
                    ),
                },
            });
        }
        findings.extend(self.held_up(question));
        FromExecutive::Why(findings)
    }

    /// Logs who has joined or resigned by what was just handled.
    fn note_membership(&mut self, n: usize) {
        let member = self.executive.member(PeerId(n as u64));
        let member = member.map(|(federation, name, _)| (federation.to_owned(), name.to_owned()));
        let Some(connection) = self.connection(n) else {
            return;
        };
        match (&connection.member, &member) {
            (None, Some(_)) => {
                connection.member = member;
                info!("joined: {}", connection.name());
            }
            (Some(_), None) => {
                // Before what the log says of it.
                self.leave_seat(n);
                self.leave_links(n);
                self.leave_site(n);
                self.close_session(n);
                let Some(connection) = self.connection(n) else {
                    return;
                };
                info!("resigned: {}: {}", connection.name(), connection.counters);
                connection.note_counters(Counters::default());
                if let Some((federation, _)) = connection.member.take() {
                    self.empty_since.remove(&federation);
                }
            }
            (None, None) | (Some(_), Some(_)) => {}
        }
    }

    /// Appends what the executive has made to its receivers' buffers.
    #[inline]
    pub(crate) fn take_outputs(&mut self) {
        // A data frame seldom leads to any.
        if self.executive.has_output() {
            self.put_outputs();
        }
    }

    fn put_outputs(&mut self) {
        let mut frames = EntryFrames::default();
        while let Some((PeerId(peer), mut message)) = self.executive.poll_output() {
            let n = peer as usize;
            match &mut message {
                // It offers again what it shares, if it is restored.
                FromExecutive::Removed(_) | FromExecutive::Restored(_) => {
                    self.unseat(n);
                    self.end_links(n);
                    self.leave_site(n);
                    self.end_session(n);
                }
                FromExecutive::Status(list) => self.put_paths(list),
                _ => {}
            }
            let Some(connection) = self.connections.get_mut(n) else {
                continue;
            };
            match &message {
                FromExecutive::Done(result) => {
                    let asked = connection.asked.pop_front().unwrap_or_default();
                    let name = connection.name();
                    match result {
                        Ok(()) => info!("{asked}: done for {name}"),
                        Err(why) => info!("{asked}: refused to {name}: {why}"),
                    }
                }
                FromExecutive::JoinRefused(why) => {
                    info!("join refused to {}: {why}", connection.name());
                }
                FromExecutive::Removed(why) => {
                    warn!("removed: {}: {why}", connection.name());
                    connection.member = None;
                }
                FromExecutive::Restored(restored) => {
                    let before = connection.name();
                    let Snapshot {
                        federation, name, ..
                    } = &restored.snapshot;
                    connection.member = Some((federation.clone(), name.clone()));
                    info!("restored as '{name}': {before}");
                }
                _ => {}
            }
            if connection.write_failed.is_none() {
                match &message {
                    // Others get it, too.
                    FromExecutive::Entry(entry) if Arc::strong_count(entry) > 1 => {
                        connection.writer.share(&frames.frame(entry));
                    }
                    FromExecutive::Joined(snapshot) => {
                        connection.put_pieces(self.begins.joined(snapshot));
                    }
                    FromExecutive::Restored(restored) => {
                        connection.put_pieces(self.begins.restored(restored));
                    }
                    _ => put_from_executive(connection.writer.out(), &message),
                }
            }
            if matches!(
                message,
                FromExecutive::Joined(_) | FromExecutive::Restored(_)
            ) {
                self.offer_site(n);
            }
            if self.written.last() != Some(&n) {
                self.written.push(n);
            }
            self.mark_dirty(n);
        }
    }
}

fn is_loopback(path: &str) -> bool {
    path.starts_with("tcp 127.") || path.starts_with("tcp [::1]")
}
