//! The loop: read what has come, hand it to the executive, write each buffer once.
//!
//! Invariants: what the executive made of one input stands on every receiver's stream before the
//! next data frame; a peer's fault ends that peer only; a peer's number is never reused.

use crate::archivist::Archivist;
use crate::config::Config;
use crate::connection::Connection;
use crate::datagrams::{DATAGRAMS, Sockets};
use crate::direct::{Directs, Links};
use crate::leaving::Leaving;
use crate::listening;
use crate::liveness::Attention;
use crate::modules::Workshop;
use crate::seats::Seats;
use crate::sites::Sites;
use crate::slots::Slots;
use crate::turns::{Turn, is_round_over};
use crate::upstream::Upstream;
use mio::{Events, Interest, Poll, Registry};
use starling_core::message::{FromExecutive, PeerInfo};
use starling_core::{Executive, PeerId};
use starling_net::{
    Endpoint, Fill, LinkReader, Listener, Lock, SystemCalls, Token, count_system_call, host_name,
    system_calls,
};
use starling_wire::BeginFrames;
use starling_wire::put_from_executive;
use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use tracing::{debug, info, warn};

/// How often one connection is read before the others have their turn.
const FILLS_PER_TURN: usize = 4;
/// How long the last messages may take to leave when the server ends.
const FAREWELL: Duration = Duration::from_secs(1);

const WAKER: mio::Token = mio::Token(usize::MAX);
const SIGNAL: mio::Token = mio::Token(usize::MAX - 1);
pub(crate) const LISTENER: usize = usize::MAX / 2;

/// Why a server has ended.
#[derive(Debug)]
pub enum Ended {
    /// It was told to, by a signal of this name or a [`Stopper`].
    Stopped(String),
    /// Nobody needed it; the lock is to be held until the process is gone.
    Idle(Option<Lock>),
    /// It is a forwarder, and whom it handed on to is gone, for this reason.
    Lost(String),
}

/// Ends a server from another thread.
#[derive(Clone, Debug)]
pub struct Stopper {
    waker: Arc<mio::Waker>,
    stop: Arc<AtomicBool>,
}

impl Stopper {
    /// Ends the server; its federates learn of it.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Release);
        // An error means that it has ended already.
        let _ = self.waker.wake();
    }
}

/// What a server holds at a moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// Connections.
    pub connections: usize,
    /// Those of them that are trunks of forwarders, whose federates come by others of them.
    pub trunks: usize,
    /// Connections that have ended but for the reason.
    pub leaving: usize,
    /// Places for connections, used or free.
    pub places: usize,
    /// Connections that are not read because somebody does not take what they lead to.
    pub held: usize,
    /// Bytes that wait to be written.
    pub waiting_bytes: usize,
    /// Bytes of messages of those who have not joined, not handled yet.
    pub unjoined_bytes: usize,
    /// Bytes of data that were put on streams, once for each receiver or trunk, so far.
    pub forwarded: u64,
    /// System calls so far.
    pub calls: SystemCalls,
}

/// Asks a server from another thread what it holds; for tests.
#[derive(Clone, Debug)]
pub struct Observer {
    waker: Arc<mio::Waker>,
    ask: Sender<Sender<State>>,
}

impl Observer {
    /// What it holds between two rounds; none if it has ended.
    pub fn state(&self) -> Option<State> {
        let (to, from) = channel();
        self.ask.send(to).ok()?;
        self.waker.wake().ok()?;
        from.recv().ok()
    }
}

/// An rtiexec.
pub struct Server {
    pub(crate) config: Config,
    pub(crate) executive: Executive,
    /// Whom the data frame in hand goes to; kept for its memory.
    pub(crate) receivers: Vec<PeerId>,
    /// The frames of those who join or are restored.
    pub(crate) begins: BeginFrames,
    pub(crate) connections: Slots,
    pub(crate) seats: Seats,
    pub(crate) directs: Directs,
    pub(crate) sites: Sites,
    pub(crate) sockets: Sockets,
    /// Connections that have ended but for the reason, the oldest first.
    pub(crate) leaving: VecDeque<Leaving>,
    pub(crate) idle_since: Instant,
    pub(crate) began: Instant,
    pub(crate) attention: Attention,
    /// What has come of messages of those who have not joined.
    pub(crate) unjoined_bytes: usize,
    /// Who has asked for the end of this process.
    pub(crate) stopping: Option<String>,
    poll: Poll,
    pub(crate) registry: Arc<Registry>,
    pub(crate) listeners: Vec<(Listener, Option<Token>)>,
    signals: Vec<(&'static str, mio::net::UnixStream)>,
    waker: Arc<mio::Waker>,
    /// Memory to read into, for whichever connection is read.
    spare: Vec<u8>,
    /// Connections wait that can't be taken yet, because there are no descriptors.
    starved: bool,
    /// A connection has ended since.
    freed: bool,
    /// The federation executions without federates, by name: which of that name, and since when.
    pub(crate) empty_since: BTreeMap<String, (u64, Instant)>,
    stop: Arc<AtomicBool>,
    observers: (Sender<Sender<State>>, Receiver<Sender<State>>),
    pub(crate) workshop: Workshop,
    pub(crate) archivist: Archivist,
    /// Connections with something to be read.
    work: VecDeque<usize>,
    /// Connections with something to be written.
    pub(crate) dirty: Vec<usize>,
    /// Those on whose streams something was put by the message in hand.
    pub(crate) written: Vec<usize>,
    pub(crate) about: PeerInfo,
    /// Bytes of data that were put on streams.
    pub(crate) forwarded: u64,
    /// How many connections are trunks.
    pub(crate) trunk_count: usize,
    /// Trunks that the data in hand goes to.
    pub(crate) trunks: Vec<usize>,
    /// Frames on their way from one connection's buffer to another's; kept for its memory.
    pub(crate) in_hand: Vec<u8>,
    /// Where what comes is handed on; none: here is the executive.
    pub(crate) upstream: Option<Upstream>,
    /// When the other ends of trunks are told next how much was sent beside these.
    pub(crate) next_beat: Instant,
    /// Something was dropped since.
    pub(crate) drops: bool,
}

/// Why a connection ends.
pub(crate) enum Ending {
    /// By the peer.
    Closed(String),
    /// By its fault.
    Fault(String),
}

impl Server {
    /// Opens the listeners. Federates can connect, and are served once it runs.
    pub fn new(config: Config) -> Result<Self, String> {
        let failed = |e: io::Error| format!("the server can't be set up: {e}");
        let listeners = listening::open(&config)?;
        let poll = Poll::new().map_err(failed)?;
        for (i, (listener, _)) in listeners.iter().enumerate() {
            listening::await_connections(poll.registry(), i, listener).map_err(failed)?;
        }
        let mut executive = Executive::new();
        executive.set_check(config.check);
        executive.limit_federations(config.federations_per_host);
        executive.limit_models(config.models_bytes);
        executive.limit_withheld(config.withheld_bytes);
        executive.limit_kept(config.kept_bytes);
        executive.set_services(config.services);
        if config.shared_memory || config.links != Links::None {
            executive.allow_direct_links();
        }
        let waker = Arc::new(mio::Waker::new(poll.registry(), WAKER).map_err(failed)?);
        let workshop = Workshop::new(&waker, &config.merging).map_err(failed)?;
        let archivist = Archivist::new(config.saves.clone(), &waker).map_err(failed)?;
        Ok(Self {
            config,
            executive,
            receivers: Vec::new(),
            begins: BeginFrames::default(),
            connections: Slots::default(),
            seats: Seats::default(),
            directs: Directs::default(),
            sites: Sites::default(),
            sockets: Sockets::default(),
            leaving: VecDeque::new(),
            idle_since: Instant::now(),
            began: Instant::now(),
            attention: Attention::new(Instant::now()),
            unjoined_bytes: 0,
            stopping: None,
            registry: Arc::new(poll.registry().try_clone().map_err(failed)?),
            poll,
            listeners,
            signals: Vec::new(),
            waker,
            stop: Arc::default(),
            observers: channel(),
            workshop,
            archivist,
            spare: Vec::new(),
            starved: false,
            freed: false,
            empty_since: BTreeMap::new(),
            work: VecDeque::new(),
            dirty: Vec::new(),
            written: Vec::new(),
            about: PeerInfo {
                pid: std::process::id(),
                host: host_name(),
                program: "rtiexec".into(),
                version: env!("CARGO_PKG_VERSION").into(),
                path: String::new(),
            },
            forwarded: 0,
            trunk_count: 0,
            trunks: Vec::new(),
            in_hand: Vec::new(),
            upstream: None,
            next_beat: Instant::now(),
            drops: false,
        })
    }

    /// Where it listens.
    pub fn endpoints(&self) -> Vec<Endpoint> {
        self.listeners
            .iter()
            .filter_map(|(l, _)| l.endpoint().ok())
            .collect()
    }

    /// Asks from another thread what it holds.
    pub fn observer(&self) -> Observer {
        Observer {
            waker: self.waker.clone(),
            ask: self.observers.0.clone(),
        }
    }

    fn observe(&mut self) {
        while let Ok(asker) = self.observers.1.try_recv() {
            let mut state = State {
                places: self.connections.places(),
                unjoined_bytes: self.unjoined_bytes,
                calls: system_calls(),
                forwarded: self.forwarded,
                trunks: self.trunk_count,
                ..State::default()
            };
            state.leaving = self.leaving.len();
            for connection in self.connections.iter_mut() {
                state.connections += 1;
                let is_full = connection.relay.as_ref().is_some_and(|r| r.is_full());
                state.held += usize::from(is_full || !connection.held_by.is_empty());
                state.waiting_bytes += connection.writer.pending();
            }
            // It may not want to know any more.
            let _ = asker.send(state);
        }
    }

    /// Ends it from another thread.
    pub fn stopper(&self) -> Stopper {
        Stopper {
            waker: self.waker.clone(),
            stop: self.stop.clone(),
        }
    }

    /// Ends in good order on SIGTERM and SIGINT. A file that grows beyond a limit on its size is an
    /// error where it is written, no longer a signal that ends the process.
    pub fn stop_on_signals(&mut self) -> io::Result<()> {
        use signal_hook::consts::{SIGINT, SIGTERM, SIGXFSZ};
        signal_hook::flag::register(SIGXFSZ, Arc::default())?;
        for (name, signal) in [("SIGTERM", SIGTERM), ("SIGINT", SIGINT)] {
            let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
            signal_hook::low_level::pipe::register(signal, theirs)?;
            ours.set_nonblocking(true)?;
            let mut ours = mio::net::UnixStream::from_std(ours);
            self.poll
                .registry()
                .register(&mut ours, SIGNAL, Interest::READABLE)?;
            self.signals.push((name, ours));
        }
        Ok(())
    }

    /// Serves until it is told to end or nobody needs it any more.
    pub fn run(mut self) -> io::Result<Ended> {
        let mut events = Events::with_capacity(1024);
        let mut next_tick = Instant::now() + self.tick_interval();
        loop {
            let timeout = if self.work.is_empty() && !self.sockets.readable {
                let due = self.executive.next_timeout().map(|due| self.began + due);
                let next = due.map_or(next_tick, |due| due.min(next_tick));
                next.saturating_duration_since(Instant::now())
            } else {
                Duration::ZERO
            };
            match self.poll.poll(&mut events, Some(timeout)) {
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                other => other?,
            }
            if !events.is_empty() {
                count_system_call(|c| c.waits += 1);
            }
            let now = Instant::now();
            let mut stop = None;
            for event in &events {
                match event.token() {
                    WAKER if self.stop.load(Ordering::Acquire) => {
                        stop = Some("its owner".to_owned());
                    }
                    WAKER => {
                        self.take_merged(now);
                        self.take_archived();
                        self.observe();
                    }
                    DATAGRAMS => self.sockets.readable = true,
                    SIGNAL => stop = self.signal().or(stop),
                    mio::Token(t) if t >= LISTENER => self.accept(now),
                    mio::Token(n) => self.note(n, event, now),
                }
            }
            if stop.is_none() {
                self.round(now);
                stop = self.stopping.take();
            }
            if let Some(by) = stop {
                info!("ended by {by}");
                let program = self.about.program.clone();
                self.say_farewell(format!("{program} was ended by {by}"));
                return Ok(Ended::Stopped(by));
            }
            if let Some(why) = self.upstream.as_ref().and_then(|up| up.lost.clone()) {
                self.say_farewell(format!("the forwarder has lost its way to rtiexec: {why}"));
                return Ok(Ended::Lost(why));
            }
            if self.starved && (std::mem::take(&mut self.freed) || now >= next_tick) {
                self.accept(now);
            }
            if now >= next_tick {
                next_tick = now + self.tick_interval();
                self.tick(now);
                self.name_waits();
                self.tick_leaving(now);
                self.write_all(now);
                self.listen_again();
                self.drop_unused(now);
                if let Some(ended) = self.check_idle(now) {
                    return Ok(ended);
                }
            }
        }
    }

    /// What proves to a peer that this process is its user's own, if it asks for that and that
    /// can be proved.
    pub(crate) fn answer(&mut self, n: usize, challenge: &[u8]) -> Vec<u8> {
        let Some(connection) = self.connections.get(n) else {
            return Vec::new();
        };
        match self.listeners.get(connection.listener) {
            Some((_, Some(token))) if !connection.is_part && !challenge.is_empty() => {
                let answer = token.answer(challenge, connection.writer.stream());
                answer.unwrap_or_default()
            }
            _ => Vec::new(),
        }
    }

    pub(crate) fn connection(&mut self, n: usize) -> Option<&mut Connection> {
        self.connections.get_mut(n)
    }

    /// Puts a connection among those that have something to be read.
    pub(crate) fn queue(&mut self, n: usize) {
        if let Some(connection) = self.connection(n)
            && !std::mem::replace(&mut connection.queued, true)
        {
            self.work.push_back(n);
        }
    }

    /// Takes the connections that wait. The system reports them once: those that can't be taken
    /// now are remembered, and tried again when a connection has ended and at each look at the
    /// clock.
    pub(crate) fn accept(&mut self, now: Instant) {
        let was_starved = std::mem::take(&mut self.starved);
        for i in 0..self.listeners.len() {
            loop {
                let stream = match self.listeners[i].0.accept() {
                    Ok(Some(stream)) => stream,
                    Ok(None) => break,
                    // Who leaves is told as far as there is room.
                    Err(_) if self.end_leaving() => continue,
                    Err(error) => {
                        // Each listener finds it.
                        if !was_starved && !self.starved {
                            warn!(
                                "connections can't be taken until others end: {error} \
                                 (connected: {}; do: raise the limit, ulimit -Hn)",
                                self.connections.numbers().count()
                            );
                        }
                        self.starved = true;
                        break;
                    }
                };
                let n = self.connections.next();
                if let Err(error) = self.config.quality.mark(&stream) {
                    warn!("no net.dscp_reliable or net.buffer_bytes: {error}");
                }
                match Connection::new(stream, mio::Token(n), &self.registry, now) {
                    Ok(mut connection) => {
                        connection.listener = i;
                        // A forwarder can't hand them on.
                        if let (None, Some(reader)) = (&self.upstream, &mut connection.reader) {
                            reader.admit_descriptors();
                        }
                        debug!("connected: {}", connection.path);
                        self.connections.put(connection);
                        self.queue(n);
                    }
                    Err(error) => warn!("a connection could not be watched: {error}"),
                }
            }
        }
        if was_starved && !self.starved {
            info!("connections are taken again");
        }
    }

    /// Takes note of what a connection is ready for.
    fn note(&mut self, n: usize, event: &mio::event::Event, now: Instant) {
        let Some(connection) = self.connection(n) else {
            self.note_leaving(n, event, now);
            return;
        };
        if event.is_writable() || event.is_write_closed() || event.is_error() {
            connection.flush(now);
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            connection.readable = true;
            connection.closing |= event.is_read_closed() || event.is_error();
        }
        let readable = connection.readable;
        self.release(n);
        if readable {
            self.queue(n);
        }
    }

    /// Handles what has come, then writes what came of it.
    pub(crate) fn round(&mut self, now: Instant) {
        // What was sent by datagram before a request is best handled before it, and on its way before what that brings about.
        self.take_datagrams(now);
        let receivers = std::mem::take(&mut self.dirty);
        self.send_bundled(&receivers);
        receivers.iter().for_each(|n| self.flush_way(*n));
        self.dirty = receivers;
        for _ in 0..self.work.len() {
            if let Some(n) = self.work.pop_front() {
                self.serve(n, now);
                if is_round_over(now, self.config.turn) {
                    break;
                }
            }
        }
        if self.executive.next_timeout().is_some() {
            self.executive.set_time(self.began.elapsed());
            let (connections, most) = (&self.connections, self.config.send_queue_bytes);
            let has_room = |PeerId(n)| {
                let connection = connections.get(n as usize);
                connection.is_some_and(|connection| connection.has_room(most))
            };
            self.executive.handle_timeout(has_room);
        }
        self.executive.settle();
        self.take_outputs();
        self.give_archive_tasks();
        self.log_notes();
        self.write_all(now);
        self.written.clear();
    }

    fn write_all(&mut self, now: Instant) {
        // What goes to channels is put on their trunks.
        for at in 0.. {
            let Some(&n) = self.dirty.get(at) else { break };
            if self.connection(n).is_some_and(|c| c.is_part) {
                self.flush_channel(n, now);
                self.release(n);
            }
        }
        let dirty = std::mem::take(&mut self.dirty);
        for &n in &dirty {
            let Some(connection) = self.connection(n) else {
                continue;
            };
            connection.dirty = false;
            if connection.is_part {
                continue;
            }
            if connection.writable {
                connection.flush(now);
                let failed = connection.write_failed.is_some();
                self.release(n);
                if failed {
                    self.queue(n);
                }
            }
            self.flush_way(n);
        }
        // Behind what stands on streams, of which some may be to be read before.
        self.send_bundled(&dirty);
        if self.dirty.is_empty() {
            self.dirty = dirty;
            self.dirty.clear();
        }
    }

    fn serve(&mut self, n: usize, now: Instant) {
        self.let_end(n);
        let Some(connection) = self.connection(n) else {
            return;
        };
        connection.queued = false;
        let Some(mut reader) = connection.reader.take() else {
            return;
        };
        reader.borrow(&mut self.spare);
        let mut turn = Turn::new(self.config.turn);
        let result = self.read(n, &mut reader, &mut turn, now);
        let waits = turn.is_over() && !reader.inbox().is_empty();
        reader.give_back(&mut self.spare);
        let Some(connection) = self.connection(n) else {
            return;
        };
        connection.reader = Some(reader);
        if waits {
            // It is this process that does not listen.
            connection.heard = now;
        }
        let is_part = connection.is_part;
        if connection.session.is_some() && result.is_ok() {
            self.take_kept(n, now);
        }
        if is_part {
            if result.is_ok() {
                self.take_kept_up(n, now);
            }
            self.grant(n);
        }
        let Some(connection) = self.connection(n) else {
            return;
        };
        match result {
            Ok(()) if (waits || connection.readable) && !connection.must_wait() => self.queue(n),
            Ok(()) => {}
            Err(Ending::Closed(why)) => self.closed(n, &why),
            Err(Ending::Fault(why)) => self.remove(n, &why),
        }
    }

    /// Reads and handles frames until nothing is left, the turn is over, or a receiver is full.
    fn read(
        &mut self,
        n: usize,
        reader: &mut LinkReader,
        turn: &mut Turn,
        now: Instant,
    ) -> Result<(), Ending> {
        let is_forwarder = self.upstream.is_some();
        for fills in 0.. {
            self.frames(n, reader, turn, now)?;
            if fills > 0 {
                turn.took_data();
            }
            let Some(connection) = self.connection(n) else {
                return Ok(());
            };
            let waits = connection.must_wait() || !connection.readable;
            if waits || fills == FILLS_PER_TURN || turn.is_over() {
                return Ok(());
            }
            match reader.fill() {
                Ok(Fill::Closed) => {
                    let why = if reader.inbox().is_empty() {
                        "its process ended or closed the connection"
                    } else {
                        "its connection ended within a message"
                    };
                    return Err(Ending::Closed(why.into()));
                }
                Ok(Fill::Nothing) => {
                    connection.readable = false;
                    if let Some(why) = connection.write_failed.take() {
                        return Err(Ending::Closed(if connection.is_part {
                            why
                        } else {
                            format!("its connection failed: {why}")
                        }));
                    }
                    continue;
                }
                // Of a forwarder descriptors are not wanted, but with them a read ends, whatever else there is.
                Ok(Fill::Bytes(_)) => connection.readable = connection.closing || is_forwarder,
                Ok(Fill::More(_)) => {}
                Err(error)
                    if matches!(
                        error.kind(),
                        io::ErrorKind::OutOfMemory | io::ErrorKind::InvalidData
                    ) =>
                {
                    return Err(Ending::Fault(error.to_string()));
                }
                Err(error) => {
                    return Err(Ending::Closed(format!("its connection failed: {error}")));
                }
            }
            connection.heard = now;
            if connection.kept.take().is_some() {
                let name = connection.name();
                info!("{name} is heard again");
            }
        }
        Ok(())
    }

    /// A connection has ended by the peer's doing.
    pub(crate) fn closed(&mut self, n: usize, why: &str) {
        let Some(connection) = self.connection(n) else {
            return;
        };
        if connection.member.is_some() {
            let (name, counters) = (connection.name(), &connection.counters);
            warn!("lost: {name}: {why} without resigning; it last told: {counters}");
        } else {
            debug!("disconnected: {}: {why}", connection.name());
        }
        self.end(n, why);
    }

    /// Ends a connection for a reason that the peer is told, if it still listens.
    pub(crate) fn remove(&mut self, n: usize, why: &str) {
        let Some(connection) = self.connection(n) else {
            return;
        };
        warn!("cut off: {}: {why}", connection.name());
        let is_part = connection.is_part;
        if connection.info.is_some() && !is_part {
            let told = FromExecutive::Removed(why.to_owned());
            connection.writer.discard_unbegun();
            put_from_executive(connection.writer.out(), &told);
            connection.flush(Instant::now());
        }
        if let Some(connection) = self.take(n, why, why) {
            self.let_leave(n, connection);
        }
    }

    fn end(&mut self, n: usize, why: &str) {
        if let Some(connection) = self.take(n, why, "") {
            connection.end();
        }
    }

    /// Takes a connection out; for everybody else it has ended. `told`: what its federate is to be told of it, if it is
    /// a channel of a trunk.
    pub(crate) fn take(&mut self, n: usize, why: &str, told: &str) -> Option<Box<Connection>> {
        self.leave_site(n);
        // Before it is no channel any more.
        self.close_session(n);
        self.end_parts(n, why, told);
        self.end_relay(n, why);
        self.unseat(n);
        self.end_links(n);
        let mut connection = self.connections.take(n)?;
        self.freed = true;
        if let Some((federation, _)) = &connection.member {
            self.empty_since.remove(federation);
        }
        self.unjoined_bytes -= connection.counted;
        if connection.info.is_some() {
            self.executive.disconnected(PeerId(n as u64), why);
        }
        self.let_go(n, std::mem::take(&mut connection.holds));
        self.forget_held(n, &connection.held_by);
        self.take_outputs();
        Some(connection)
    }

    fn signal(&mut self) -> Option<String> {
        use std::io::Read;
        let mut fired = self.signals.iter_mut();
        let (name, _) = fired.find_map(|(name, s)| Some((*name, s.read(&mut [0; 16]).ok()?)))?;
        Some(name.to_owned())
    }

    /// Tells every federate that this is the end, and gives what waits a moment to leave.
    fn say_farewell(&mut self, why: String) {
        self.listeners.clear();
        if let Some(up) = self.upstream.as_ref().map(|up| up.n) {
            self.end(up, "it has ended");
        }
        let told = FromExecutive::Removed(why);
        let end = Instant::now() + FAREWELL;
        // Federates behind a trunk are told by their forwarder.
        for connection in self.connections.iter_mut().filter(|c| !c.is_part) {
            if connection.info.is_some() && connection.write_failed.is_none() {
                put_from_executive(connection.writer.out(), &told);
            }
            connection.flush(Instant::now());
        }
        let mut events = Events::with_capacity(64);
        loop {
            let waits =
                |c: &Connection| !c.is_part && c.write_failed.is_none() && c.writer.pending() > 0;
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() || !self.connections.iter_mut().any(|c| waits(c)) {
                break;
            }
            if self.poll.poll(&mut events, Some(left)).is_err() {
                break;
            }
            for connection in self.connections.iter_mut() {
                connection.flush(Instant::now());
            }
        }
        for connection in self.connections.iter_mut() {
            connection.writer.stream().shut_down();
        }
    }
}
