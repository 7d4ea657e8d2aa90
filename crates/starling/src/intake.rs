//! What has come, on the stream from rtiexec and in peers' rings, goes to the LRC.

use crate::datagrams::{self, Receiving};
use crate::direct::Change;
use crate::link::Link;
use crate::links::ReadSide;
use crate::peers::{Introduced, Peers};
use crate::pending::Way;
use crate::rings::Rings;
use crate::shared::{Place, Shared};
use crate::site::Site;
use crate::state::State;
use crate::statistics::{Way as By, Ways};
use starling_core::message::{Data, FromExecutive};
use starling_core::{Batch, DataPath, Federate, FederateHandle, Lrc, ProtocolError};
use starling_net::LinkReader;
use starling_ring::{Board, RingWriter, Seat};
use starling_wire::{
    Frame, LinkNotice, LinkRequest, PlainBegin, TimedBegin, WireError, read_data, read_passed,
    read_plain, read_timed, run_of_data, split_frame,
};
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

/// Data is kept in pieces of at most this size: as long as one of its messages waits, a whole piece
/// does.
pub(crate) const BATCH_BYTES: usize = 16 * 1024;
/// So many pieces of a ring are read before others have their turn.
const PIECES_PER_TURN: usize = 8;
/// If more than this of a peer's data waits for what comes on the stream, its ring is not read: its sender
/// then takes the way through rtiexec, too.
const HELD_BYTES_MAX: usize = 16 * 1024 * 1024;
/// More than the largest ring (16 MiB) can hold: of two pieces one at least has half of `BATCH_BYTES`.
const PIECES_MAX: usize = 4_096;

/// Memory that was offered to others, until that is answered.
pub(crate) struct Offer {
    number: u32,
    ring: RingWriter,
    board: Board,
}

/// Takes data as most is, with which `rest` of the batch begins, if this federate has sent it; returns what is left.
#[inline(always)]
pub(crate) fn take_plainly<'a>(
    lrc: &mut Lrc<Link>,
    batch: &Batch,
    mut rest: &'a [u8],
    by: Option<FederateHandle>,
) -> &'a [u8] {
    let (path, mut begin) = (DataPath::of(by), PlainBegin::default());
    while let Some((data, used)) = read_plain(&mut begin, rest)
        && by.is_none_or(|by| by == data.sender)
        && lrc.receive_plainly(data, path, batch)
    {
        rest = &rest[used..];
    }
    rest
}

/// The same of data in time-stamp order, which comes on the stream only.
#[inline(always)]
fn take_timed<'a>(lrc: &mut Lrc<Link>, batch: &Batch, mut rest: &'a [u8]) -> &'a [u8] {
    let mut begin = TimedBegin::default();
    while let Some((data, used)) = read_timed(&mut begin, rest)
        && lrc.receive_timed(data, batch)
    {
        rest = &rest[used..];
    }
    rest
}

pub(crate) fn refused(error: WireError) -> ProtocolError {
    ProtocolError(error.0)
}

impl State {
    /// Takes what has come on the stream.
    pub(crate) fn take_frames(&mut self, side: &mut ReadSide) {
        let (reader, rings, peers) = (&mut side.reader, &mut side.rings, &mut side.peers);
        let receiving = &mut side.receiving;
        let mut looked = false;
        let refused = loop {
            let run = run_of_data(reader.inbox(), BATCH_BYTES);
            if run > 0 {
                if let Some(receiving) = receiving {
                    receiving.note_streamed(reader.position(), &reader.inbox()[..run]);
                }
                self.batch.refill(&reader.inbox()[..run]);
                self.note_came(By::Stream);
                reader.consume(run);
                if self.leave_batch(None) {
                    continue;
                }
                self.settle();
                match self.take_batch() {
                    Ok(()) => continue,
                    Err(error) => break error,
                }
            }
            let (frame, used) = match split_frame(reader.inbox()) {
                Ok(None) => {
                    self.take_kept(reader, receiving);
                    return;
                }
                Ok(Some(whole)) => whole,
                Err(error) => break ProtocolError(error.0),
            };
            self.settle();
            // What was sent by datagram before it, and may be overtaken by what it releases.
            if !std::mem::replace(&mut looked, true) {
                self.take_datagrams(reader, receiving);
            }
            self.take_kept(reader, receiving);
            if let Some(receiving) = receiving {
                receiving.note_streamed(reader.position(), &reader.inbox()[..used]);
            }
            if let Some(ways) = &mut self.lrc.outbox().ways {
                ways.came(By::Stream, &reader.inbox()[..used]);
            }
            let taken = self.take(frame);
            reader.consume(used);
            let noticed = taken
                .and_then(|notice| self.look_at_links(notice, reader, (rings, peers), receiving));
            if let Err(error) = noticed {
                break error;
            }
        };
        self.refuse(refused);
    }

    /// The batch has come this way.
    #[inline(always)]
    pub(crate) fn note_came(&mut self, by: By) {
        if let Some(ways) = &mut self.lrc.outbox().ways {
            ways.came(by, self.batch.bytes());
        }
    }

    /// Takes the frames of the batch, all of which are data.
    pub(crate) fn take_batch(&mut self) -> Result<(), ProtocolError> {
        let mut rest = self.batch.bytes();
        loop {
            rest = take_plainly(&mut self.lrc, &self.batch, rest, None);
            rest = take_timed(&mut self.lrc, &self.batch, rest);
            let Some((frame, used)) = split_frame(rest).map_err(refused)? else {
                return Ok(());
            };
            rest = &rest[used..];
            if let Some(data) = read_data(frame) {
                self.lrc.receive_data(
                    &data.map_err(refused)?,
                    DataPath::Executive,
                    Some(&self.batch),
                )?;
            }
        }
    }

    fn take(&mut self, frame: &[u8]) -> Result<Option<LinkNotice>, ProtocolError> {
        match read_data(frame) {
            Some(Ok(data)) => self
                .lrc
                .receive_data(&data, DataPath::Executive, None)
                .map(|()| None),
            Some(Err(error)) => Err(ProtocolError(error.0)),
            None => self.take_control(frame),
        }
    }

    fn take_control(&mut self, frame: &[u8]) -> Result<Option<LinkNotice>, ProtocolError> {
        if let Some(passed) = read_passed(frame) {
            let (from, frames) = passed.map_err(refused)?;
            return self.take_passed(from, frames).map(|()| None);
        }
        match Frame::decode(frame).map_err(refused)? {
            Frame::FromExecutive(message) => {
                // Who begins has nothing of what was before.
                let begins = matches!(
                    message,
                    FromExecutive::Joined(_) | FromExecutive::Restored(_)
                );
                self.begins_links |= begins;
                if begins && let Some(ways) = &mut self.lrc.outbox().ways {
                    **ways = Ways::default();
                }
                self.lrc.receive(message)?;
                if self.lrc.lost().is_some() {
                    self.lrc.outbox().shut_down();
                }
                Ok(None)
            }
            Frame::LinkNotice(notice) => Ok(Some(notice)),
            Frame::Heartbeat => Ok(None),
            other => Err(ProtocolError(format!("out of place: {other:?}"))),
        }
    }

    /// Sees to the links behind a frame that was no data.
    fn look_at_links(
        &mut self,
        notice: Option<LinkNotice>,
        reader: &mut LinkReader,
        (rings, peers): (&mut Rings, &mut Peers),
        receiving: &mut Option<Receiving>,
    ) -> Result<(), ProtocolError> {
        match notice {
            Some(LinkNotice::Sent { messages }) => self.sum_up(messages, reader, receiving),
            Some(LinkNotice::Datagrams { port, secret }) => {
                *receiving = self.begin_datagrams(port, &secret)?;
            }
            Some(notice) => self.take_notice(notice, reader, rings, peers)?,
            None => {}
        }
        if self.has_links && !self.lrc.is_member() {
            self.close_links(rings, peers);
        }
        if std::mem::take(&mut self.begins_links) {
            self.close_links(rings, peers);
            self.offer();
            let link = self.lrc.outbox();
            // Behind a tunnel links would leave it.
            let tunnelled = link.stream().is_to_loopback();
            if let Some(all) = self.wants_direct.filter(|all| *all || !tunnelled) {
                link.put_link_request(&LinkRequest::Direct { all });
            }
            self.ask_for_datagrams();
        }
        if self.lrc.outbox().datagrams.is_none() {
            *receiving = None;
        }
        Ok(())
    }

    fn close_links(&mut self, rings: &mut Rings, peers: &mut Peers) {
        rings.close();
        peers.close();
        self.lrc.outbox().shared = None;
        self.lrc.outbox().direct = None;
        self.lrc.outbox().site = None;
        self.lrc.outbox().datagrams = None;
        self.offer = None;
        self.has_links = false;
    }

    /// Takes what another federate has passed by their forwarder.
    fn take_passed(&mut self, from: FederateHandle, frames: &[u8]) -> Result<(), ProtocolError> {
        let site = self.lrc.outbox().site.as_ref();
        if site.is_none_or(|site| site.is_broken(from)) {
            // It was on its way to a member that is none any more.
            return Ok(());
        }
        self.batch.refill(frames);
        self.note_came(By::Forwarder);
        let Err(why) = self.take_of_peer(from) else {
            return Ok(());
        };
        if self.lrc.federate().is_some_and(Federate::exceeds_withheld) {
            // No fault of the other's: this federate does not advance.
            return Err(why);
        }
        starling_net::remark(format_args!(
            "starling: warning: nothing of what {from} passes by the forwarder is taken any more: {}",
            why.0
        ));
        if let Some(site) = &mut self.lrc.outbox().site {
            site.break_off(from);
        }
        self.lrc.link_ended(from)
    }

    /// Another federate comes by the same forwarder, or is gone.
    fn take_near(&mut self, federate: FederateHandle, near: bool) -> Result<(), ProtocolError> {
        let own = self.lrc.federate().map(Federate::handle);
        let Some(site) = &mut self.lrc.outbox().site else {
            return Ok(());
        };
        if near {
            site.join(federate);
            return Ok(());
        }
        if own.is_none_or(|own| own == federate) {
            // This one has left: others drop what they hold for it, and no fence is waited for.
            let peers: Vec<_> = site.peers().collect();
            self.lrc.outbox().site = None;
            return peers
                .into_iter()
                .try_for_each(|peer| self.lrc.link_ended(peer));
        }
        site.remove(federate);
        self.lrc.link_ended(federate)
    }

    /// Offers memory to the other federates of this host.
    fn offer(&mut self) {
        let link = self.lrc.outbox();
        let possible = if self.ring_bytes == 0 {
            Err("transport.shared_memory = off".to_owned())
        } else if !link.stream().passes_descriptors() {
            Err("its link to rtiexec is no Unix-domain one".to_owned())
        } else {
            let memory = new_memory(self.ring_bytes);
            memory.map_err(|e| format!("it has no memory to share: {e}"))
        };
        let request = match possible {
            Ok((ring, board, descriptors)) => {
                self.offers += 1;
                let number = self.offers;
                self.offer = Some(Offer {
                    number,
                    ring,
                    board,
                });
                self.has_links = true;
                link.attach(descriptors);
                LinkRequest::Offer { number }
            }
            Err(why) => LinkRequest::Path {
                to: 0,
                shared: false,
                why,
            },
        };
        link.put_link_request(&request);
    }

    /// Asks for a way by datagrams, if one is wanted.
    fn ask_for_datagrams(&mut self) {
        let wanted = self.wants_datagrams;
        let link = self.lrc.outbox();
        if wanted.over(link.stream()) {
            link.put_link_request(&LinkRequest::Datagrams);
            self.has_links = true;
        }
    }

    /// rtiexec takes datagrams. Where this end has no socket for them, its data keeps to the stream.
    fn begin_datagrams(
        &mut self,
        port: u32,
        secret: &[u8],
    ) -> Result<Option<Receiving>, ProtocolError> {
        let (port, secret) = match (u16::try_from(port), secret.try_into()) {
            (Ok(port), Ok(secret)) => (port, secret),
            _ => return Err(ProtocolError("no port or secret for datagrams".into())),
        };
        // It may have resigned meanwhile.
        if !self.lrc.is_member() {
            return Ok(None);
        }
        let quality = self.quality;
        let link = self.lrc.outbox();
        let heartbeat = link.heartbeat();
        match datagrams::begin(link, port, secret, heartbeat, quality) {
            Ok((sending, receiving)) => {
                link.datagrams = Some(Box::new(sending));
                Ok(Some(receiving))
            }
            Err(error) => {
                starling_net::remark(format_args!(
                    "starling: note: best-effort data goes by the stream: no socket for datagrams: {error}"
                ));
                Ok(None)
            }
        }
    }

    fn take_notice(
        &mut self,
        notice: LinkNotice,
        reader: &mut LinkReader,
        rings: &mut Rings,
        peers: &mut Peers,
    ) -> Result<(), ProtocolError> {
        match notice {
            LinkNotice::Listen { mark, here } => self.listen(mark, here, peers),
            LinkNotice::Direct {
                mark,
                federate,
                address,
                port,
                secret,
            } => {
                let who = Introduced {
                    mark,
                    federate,
                    address,
                    port,
                    secret,
                };
                self.meet(who, peers)?;
            }
            LinkNotice::Broken { mark } => self.peer_broke_off(mark, peers),
            LinkNotice::Rest { from, at, frames } => {
                self.take_rest_of(from, at, &frames, peers)?;
            }
            LinkNotice::Site if self.lrc.is_member() => {
                let link = self.lrc.outbox();
                link.site = Some(Box::new(Site::default()));
                link.put_link_request(&LinkRequest::Site);
                self.has_links = true;
            }
            LinkNotice::Near { federate, near } => self.take_near(federate, near)?,
            LinkNotice::Gone { mark } if self.peer_is_gone(mark, peers)? => {}
            LinkNotice::Seated { number, seat, mark } => {
                let seat = seat_of(seat)?;
                // Else of an offer before the last.
                if let Some(offer) = self.offer.take_if(|offer| offer.number == number) {
                    let place = Place { seat, mark };
                    let link = self.lrc.outbox();
                    let most = (link.frame_bytes_max, link.queue_bytes);
                    let shared = Shared::new(offer.ring, place, link.bundling(), most);
                    link.shared = Some(Box::new(shared));
                    rings.open(offer.board, place);
                }
            }
            LinkNotice::Lost { messages } => self.lrc.count_lost(messages),
            // Why, `starling ps` says.
            LinkNotice::Datagrams { .. }
            | LinkNotice::NoDatagrams { .. }
            | LinkNotice::NoDirect { .. }
            | LinkNotice::Site
            | LinkNotice::Sent { .. }
            | LinkNotice::Passed { .. } => {}
            LinkNotice::Refused { number, .. } => {
                self.offer.take_if(|offer| offer.number == number);
            }
            LinkNotice::Peer {
                mark,
                seat,
                federate,
            } => {
                let Some(descriptors) = reader.take_descriptors() else {
                    let why = "a peer's links without the descriptors";
                    return Err(ProtocolError(why.into()));
                };
                let seat = seat_of(seat)?;
                let place = Place { seat, mark };
                let link = self.lrc.outbox();
                let Some(shared) = &mut link.shared else {
                    return Ok(());
                };
                let most = link.frame_bytes_max;
                let met = descriptors.and_then(|[ring, board, doorbell]| {
                    let copy = doorbell.try_clone()?;
                    // What it is told last is that this one reads: then nothing is left that may fail.
                    shared.admit(place, federate, board, doorbell)?;
                    rings.join(place, federate, (ring, copy), most)
                });
                if let Err(error) = met {
                    shared.remove(mark);
                    let path = LinkRequest::Path {
                        to: mark,
                        shared: false,
                        why: format!("it can't take the other's memory: {error}"),
                    };
                    link.put_link_request(&path);
                }
            }
            LinkNotice::Gone { mark } if rings.own_mark() == Some(mark) => {
                // This federate has left. Peers drop what they hold for it: no fence is waited for.
                self.take_rings(rings);
                self.settle();
                while let Some((mark, federate)) = rings.peer(0) {
                    rings.remove(mark);
                    self.lrc.link_ended(federate)?;
                }
            }
            LinkNotice::Gone { mark } => {
                if let Some(shared) = &mut self.lrc.outbox().shared {
                    shared.remove(mark);
                }
                if let Some(federate) = rings.federate(mark) {
                    rings.is_gone(mark);
                    if !self.take_rest(mark, federate, (rings, peers))? {
                        let why = "it goes on where it has said that it has ended";
                        self.break_off(mark, federate, why, rings)?;
                    }
                    rings.remove(mark);
                    self.lrc.link_ended(federate)?;
                }
            }
            LinkNotice::Relayed { from, frames } => {
                if let Some(federate) = rings.federate(from) {
                    // What it has put into its ring comes before. (It may have been attached again since, and
                    // go on there: then that was read long ago.)
                    self.take_rest(from, federate, (rings, peers))?;
                    if frames.is_empty() {
                        // It asks, and has relayed all.
                        rings.rejoin(from);
                    }
                    if rings.is_broken(from) {
                        return Ok(());
                    }
                    self.batch.refill(&frames);
                    self.note_came(By::Stream);
                    if let Err(why) = self.take_of_peer(federate) {
                        self.break_off(from, federate, &why.0, rings)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes what peers' rings have. `Err` is a fault of this connection's.
    pub(crate) fn take_rings(&mut self, rings: &mut Rings) {
        if !rings.has_news() {
            return;
        }
        let mut peers = 0..;
        while let Some((mark, federate)) = peers.next().and_then(|at| rings.peer(at)) {
            for _ in 0..PIECES_PER_TURN {
                if self.holds_much_of(federate) {
                    rings.set_early(mark);
                    break;
                }
                match self.take_of_ring(mark, federate, rings) {
                    Ok(true) => {}
                    Ok(false) => break,
                    Err(error) => {
                        self.refuse(error);
                        return;
                    }
                }
            }
        }
        // A fence may have ended this federate's membership.
        if self.has_links && !self.lrc.is_member() {
            rings.close();
            self.lrc.outbox().shared = None;
        }
    }

    /// Whether so much of a peer's data waits for what comes on the stream that its ring is not read.
    pub(crate) fn holds_much_of(&self, federate: FederateHandle) -> bool {
        let own = self.lrc.federate();
        // A fence that the log waits for stands behind what is not read yet.
        own.is_some_and(|own| {
            own.held_bytes(federate) > HELD_BYTES_MAX && !own.awaits_fence_of(federate)
        })
    }

    /// Something has come: rings that were not read are, if what they come after was that.
    pub(crate) fn look_at_early(&self, rings: &mut Rings, peers: &mut Peers) {
        rings.look_at_early(|federate| self.holds_much_of(federate));
        peers.look_at_early(|federate| self.holds_much_of(federate));
    }

    /// Takes all that a peer's ring has; false: there is more than a ring can hold.
    fn take_rest(
        &mut self,
        mark: u64,
        federate: FederateHandle,
        (rings, peers): (&mut Rings, &mut Peers),
    ) -> Result<bool, ProtocolError> {
        let mut pieces = 0..PIECES_MAX;
        while pieces.next().is_some() {
            if !self.take_of_ring(mark, federate, rings)? {
                self.settle();
                self.break_off_pending(rings, peers)?;
                return Ok(true);
            }
        }
        self.settle();
        Ok(false)
    }

    /// Takes a piece of what a peer's ring has; false: there is nothing.
    fn take_of_ring(
        &mut self,
        mark: u64,
        federate: FederateHandle,
        rings: &mut Rings,
    ) -> Result<bool, ProtocolError> {
        // Else what was read before would lose its memory, which is used again once all of it is delivered.
        if !rings.has_news_of(mark) {
            return Ok(false);
        }
        let mut read = Ok(false);
        self.batch
            .fill(|bytes| read = rings.read(mark, bytes, BATCH_BYTES));
        match read {
            Ok(true) => {}
            Ok(false) => return Ok(false),
            Err(why) => {
                self.break_off(mark, federate, why, rings)?;
                return Ok(false);
            }
        }
        self.note_came(By::SharedMemory);
        if self.leave_batch(Some((Way::Ring(mark), federate))) {
            return Ok(true);
        }
        self.settle();
        if let Err(why) = self.take_of_peer(federate) {
            self.break_off(mark, federate, &why.0, rings)?;
            return Ok(false);
        }
        Ok(true)
    }

    /// Breaks off the rings and links that have brought what they must not.
    pub(crate) fn break_off_pending(
        &mut self,
        rings: &mut Rings,
        peers: &mut Peers,
    ) -> Result<(), ProtocolError> {
        while let Some(((way, federate), why)) = self.pending.next_broken() {
            match way {
                Way::Ring(mark) => self.break_off(mark, federate, &why, rings)?,
                Way::Link(mark) => {
                    if let Some(peer) = peers.peer(mark).filter(|p| !p.broken) {
                        self.break_link(peer, &why, Instant::now())?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Takes the frames of the batch, all of which are a peer's. An error is the peer's fault.
    pub(crate) fn take_of_peer(&mut self, federate: FederateHandle) -> Result<(), ProtocolError> {
        let mut rest = self.batch.bytes();
        loop {
            rest = take_plainly(&mut self.lrc, &self.batch, rest, Some(federate));
            let Some((frame, used)) = split_frame(rest).map_err(refused)? else {
                break;
            };
            rest = &rest[used..];
            let data = read_data(frame).ok_or_else(|| ProtocolError("no data".into()))?;
            let data = data.map_err(refused)?;
            belongs_to(federate, &data)?;
            self.lrc
                .receive_data(&data, DataPath::Direct, Some(&self.batch))?;
        }
        let whole = rest.is_empty();
        if self.batch.bytes().len() > BATCH_BYTES {
            // What comes next would keep all the memory of a long frame.
            self.batch = Batch::default();
        }
        if whole {
            Ok(())
        } else {
            Err(ProtocolError("a part of a frame".into()))
        }
    }

    /// A peer has broken its link: nothing of it is read any more.
    #[cold]
    fn break_off(
        &mut self,
        mark: u64,
        federate: FederateHandle,
        why: &str,
        rings: &mut Rings,
    ) -> Result<(), ProtocolError> {
        self.settle();
        if self.lrc.federate().is_some_and(Federate::exceeds_withheld) {
            // No fault of the peer's: this federate does not advance.
            return Err(ProtocolError(why.into()));
        }
        starling_net::remark(format_args!(
            "starling: warning: the memory that {federate} shares is not read any more: {why}"
        ));
        rings.break_off(mark);
        self.lrc.link_ended(federate)
    }

    /// Sets the paths that are to be changed; whether that left something to be written.
    pub(crate) fn settle_paths(&mut self) -> bool {
        let mut any = false;
        while self.lrc.outbox().is_unsettled() {
            if let Some(federate) = self.next_at_site() {
                self.lrc.set_data_path(federate, DataPath::Direct);
                any = true;
                continue;
            }
            let Some(change) = self.next_change(Instant::now()) else {
                break;
            };
            any = true;
            match change {
                Change::Path {
                    mark,
                    federate,
                    path,
                } => {
                    self.lrc.set_data_path(federate, path);
                    if path == DataPath::Direct {
                        let link = self.lrc.outbox();
                        let direct = link.direct.as_ref();
                        let path = LinkRequest::Path {
                            to: mark,
                            shared: true,
                            why: direct.and_then(|d| d.compression(mark)).unwrap_or_default(),
                        };
                        link.put_link_request(&path);
                    }
                    // Else rtiexec was told why, or is next.
                }
                Change::Tell(request) => self.lrc.outbox().put_link_request(&request),
            }
        }
        any
    }

    fn next_at_site(&mut self) -> Option<FederateHandle> {
        let mut site = self.lrc.outbox().site.take()?;
        let members = self.lrc.federate();
        let next = site.next_change(|f| members.is_some_and(|m| m.is_member(f)));
        self.lrc.outbox().site = Some(site);
        next
    }

    fn next_change(&mut self, now: Instant) -> Option<Change> {
        let link = self.lrc.outbox();
        let (shared, direct) = (link.shared.take(), link.direct.take());
        let members = self.lrc.federate();
        let is_member = |f| members.is_some_and(|m| m.is_member(f));
        let (mut shared, mut direct) = (shared, direct);
        let change = shared.as_mut().and_then(|s| s.next_change(now, is_member));
        let change = change.or_else(|| direct.as_mut()?.next_change(now, is_member));
        let link = self.lrc.outbox();
        (link.shared, link.direct) = (shared, direct);
        change
    }
}

/// An error if a peer must not send this on a link of its own.
pub(crate) fn belongs_to(federate: FederateHandle, data: &Data<'_>) -> Result<(), ProtocolError> {
    if data.sender == federate && !data.is_in_time_order() {
        return Ok(());
    }
    let why = "data of another federate, or that belongs to rtiexec's stream";
    Err(ProtocolError(why.into()))
}

/// What is to be offered: a ring, a board, and the descriptors of both and of the doorbell.
fn new_memory(bytes: usize) -> io::Result<(RingWriter, Board, starling_net::Descriptors)> {
    let (ring, board) = (RingWriter::new(bytes)?, Board::new()?);
    let copy = |fd: std::os::fd::BorrowedFd<'_>| fd.as_fd().try_clone_to_owned();
    let descriptors = [
        copy(ring.memory())?,
        copy(board.memory())?,
        copy(board.doorbell())?,
    ];
    starling_net::leave_room(&descriptors)?;
    Ok((ring, board, Arc::new(descriptors)))
}

fn seat_of(number: u8) -> Result<Seat, ProtocolError> {
    Seat::new(number).ok_or_else(|| ProtocolError(format!("{number} is no seat")))
}
