//! The rings of peers, and how their data is read.

use crate::shared::Place;
use starling_core::FederateHandle;
use starling_ring::{Board, Read, RingReader};
use std::io;
use std::os::fd::OwnedFd;

/// Of no attachment.
const NO_MARK: u64 = 0;

/// What is read of peers' rings, by whoever has the turn to read.
#[derive(Default)]
pub(crate) struct Rings(Option<Open>);

struct Open {
    board: Board,
    place: Place,
    peers: Vec<Peer>,
    /// Whose ring was read last.
    last: usize,
    /// None is read for now.
    paused: bool,
}

/// Whose ring it is.
struct Peer {
    place: Place,
    federate: FederateHandle,
    reader: RingReader,
    /// How often this federate has asked to be attached again.
    times: u16,
    /// It was detached, and has asked that since.
    over: bool,
    /// It writes nothing any more.
    gone: bool,
    /// So much of its data is early that it is not read now.
    early: bool,
    /// It has what can't be: it is not read any more.
    broken: bool,
}

impl Peer {
    fn has_news(&self) -> bool {
        !self.broken && !self.early && self.reader.has_news()
    }

    /// Asks to be attached again, at this place.
    fn rejoin(&mut self, own: Place) {
        self.times = self.times.wrapping_add(1);
        let attachment = Place::attachment(self.place, own, self.times);
        self.reader.rejoin(attachment.mark);
    }
}

impl Rings {
    /// Begins, as this one, without peers.
    pub(crate) fn open(&mut self, board: Board, place: Place) {
        let peers = Vec::new();
        self.0 = Some(Open {
            board,
            place,
            peers,
            last: 0,
            paused: false,
        });
    }

    /// Reads nothing any more.
    pub(crate) fn close(&mut self) {
        self.0 = None;
    }

    /// Whether there is none.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.0.as_ref().is_none_or(|open| open.peers.is_empty())
    }

    /// Maps a peer's ring.
    pub(crate) fn join(
        &mut self,
        place: Place,
        federate: FederateHandle,
        (ring, doorbell): (OwnedFd, OwnedFd),
        frame_bytes_max: usize,
    ) -> io::Result<()> {
        let Some(open) = &mut self.0 else {
            return Ok(());
        };
        let attachment = Place::attachment(place, open.place, 0);
        let reader = open
            .board
            .join(attachment, ring, doorbell, frame_bytes_max)?;
        open.peers.push(Peer {
            place,
            federate,
            reader,
            times: 0,
            over: false,
            gone: false,
            early: false,
            broken: false,
        });
        Ok(())
    }

    /// Whether there is something to read: a load or two for each ring.
    #[inline]
    pub(crate) fn has_news(&self) -> bool {
        let open = self.0.as_ref().filter(|open| !open.paused);
        open.is_some_and(|open| open.peers.iter().any(Peer::has_news))
    }

    /// Whether a peer's ring has something, also if it is not read for now.
    pub(crate) fn has_news_of(&self, mark: u64) -> bool {
        let mut peers = self.0.iter().flat_map(|open| &open.peers);
        peers.any(|p| p.place.mark == mark && !p.broken && p.reader.has_news())
    }

    /// Whether there is nothing to be read for now, whatever the rings have.
    pub(crate) fn pause(&mut self, pauses: bool) {
        if let Some(open) = &mut self.0 {
            open.paused = pauses;
        }
    }

    /// The doorbell, to wait for.
    pub(crate) fn board(&self) -> Option<&Board> {
        self.0.as_ref().map(|open| &open.board)
    }

    /// Whoever sends something from now on rings. False: something is there already.
    pub(crate) fn prepare_to_sleep(&mut self) -> bool {
        if let Some(open) = &mut self.0 {
            open.board.prepare_to_sleep();
        }
        !self.has_news()
    }

    /// The wait is over; `rung`: the doorbell has rung.
    pub(crate) fn awake(&mut self, rung: bool) {
        if let Some(open) = &mut self.0 {
            open.board.awake();
            if rung {
                open.board.answer();
            }
        }
    }

    /// The peers in turn, by the mark and federate of each.
    pub(crate) fn peer(&self, at: usize) -> Option<(u64, FederateHandle)> {
        let peer = self.0.as_ref()?.peers.get(at)?;
        Some((peer.place.mark, peer.federate))
    }

    /// Whether who was read last may go on while this thread keeps its CPU.
    pub(crate) fn others_run(&self) -> bool {
        let last = self.0.as_ref().and_then(|open| open.peers.get(open.last));
        last.is_some_and(|peer| peer.reader.writer_is_elsewhere())
    }

    /// This federate's own mark, if it shares memory.
    pub(crate) fn own_mark(&self) -> Option<u64> {
        Some(self.0.as_ref()?.place.mark)
    }

    /// Which federate has this mark.
    pub(crate) fn federate(&self, mark: u64) -> Option<FederateHandle> {
        let mut peers = self.0.iter().flat_map(|open| &open.peers);
        Some(peers.find(|p| p.place.mark == mark)?.federate)
    }

    /// Reads some of what a peer's ring has, at most `max` bytes: whole frames, appended to `batch`.
    /// False: nothing is there now.
    ///
    /// # Errors
    /// The ring has what can't be; it is not read again.
    pub(crate) fn read(
        &mut self,
        mark: u64,
        batch: &mut Vec<u8>,
        max: usize,
    ) -> Result<bool, &'static str> {
        let Some(open) = &mut self.0 else {
            return Ok(false);
        };
        let mut peers = open.peers.iter_mut().enumerate();
        let found = peers.find(|(_, p)| p.place.mark == mark && !p.broken);
        let Some((at, peer)) = found else {
            return Ok(false);
        };
        match peer.reader.read(batch, max) {
            Read::Frames => {
                open.last = at;
                peer.over = false;
                Ok(true)
            }
            Read::Nothing => Ok(false),
            Read::Over => {
                // It was detached. What it has not read waits at the sender, or is relayed: then that asks again.
                if !peer.gone {
                    peer.over = true;
                    peer.rejoin(open.place);
                }
                Ok(false)
            }
            Read::Broken(why) => {
                peer.broken = true;
                Err(why)
            }
        }
    }

    /// All that a peer has relayed since this federate was detached from its ring has come: it may be
    /// attached again.
    pub(crate) fn rejoin(&mut self, mark: u64) {
        let Some(open) = &mut self.0 else {
            return;
        };
        for peer in &mut open.peers {
            if peer.place.mark == mark && !peer.broken && peer.over {
                peer.rejoin(open.place);
            }
        }
    }

    /// A peer's ring is not to be read: too much of it is early.
    pub(crate) fn set_early(&mut self, mark: u64) {
        let peers = self.0.iter_mut().flat_map(|open| &mut open.peers);
        for peer in peers.filter(|p| p.place.mark == mark) {
            peer.early = true;
        }
    }

    /// Rings of which too much was early are read again where it is not.
    pub(crate) fn look_at_early(&mut self, is_so: impl Fn(FederateHandle) -> bool) {
        let peers = self.0.iter_mut().flat_map(|open| &mut open.peers);
        for peer in peers.filter(|p| p.early) {
            peer.early = is_so(peer.federate);
        }
    }

    /// A peer's ring is read no more; it is told that it has no reader here.
    pub(crate) fn break_off(&mut self, mark: u64) {
        let peers = self.0.iter_mut().flat_map(|open| &mut open.peers);
        for peer in peers.filter(|p| p.place.mark == mark) {
            peer.broken = true;
            peer.reader.rejoin(NO_MARK);
        }
    }

    /// Whether a peer has broken its link.
    pub(crate) fn is_broken(&self, mark: u64) -> bool {
        let mut peers = self.0.iter().flat_map(|open| &open.peers);
        peers.any(|p| p.place.mark == mark && p.broken)
    }

    /// A peer writes nothing any more: to be read until there is nothing, and then to be removed.
    pub(crate) fn is_gone(&mut self, mark: u64) {
        let peers = self.0.iter_mut().flat_map(|open| &mut open.peers);
        for peer in peers.filter(|p| p.place.mark == mark) {
            peer.gone = true;
            peer.reader.writer_is_gone();
        }
    }

    /// Forgets a peer.
    pub(crate) fn remove(&mut self, mark: u64) {
        if let Some(open) = &mut self.0 {
            open.peers.retain(|p| p.place.mark != mark);
        }
    }
}
