//! Datagrams of one federate to others, or to a single one, that it has links to. No I/O.
//!
//! A datagram that is for several can't name a place on the link of each. It names a turn, which begins at places on all
//! these links at once: what is said there of turns goes through [`GroupIn::begin_turn`], in the order of the link, and
//! datagrams through [`GroupIn::take`], in whichever order they come.
//!
//! Invariants: nothing is taken before the turn that it names has begun, or behind its end; what is taken was sent after all
//! that was taken before, and for this reader; each message that was sent while the reader was to get it is taken, kept, or counted as lost,
//! once a later turn has begun; what does not name the secret changes nothing. Who knows the secret may say more than was
//! sent: that is believed until the link says how much it was, and nothing is counted before.

use crate::data::DataFrame;
use crate::datagram::{
    DatagramIn, DatagramOut, KEPT_BYTES_MAX, Secret, StreamPosition, split_datagram,
};
use starling_core::Run;
use std::collections::VecDeque;

/// Who has got nothing in so many turns in which something was sent is to get it another way.
const DEAF_TURNS: u32 = 3;

/// What is sent.
#[derive(Debug)]
pub struct GroupOut {
    secret: Secret,
    out: DatagramOut,
    turn: u64,
    /// Messages in turns before this one.
    told: u64,
}

impl GroupOut {
    /// Recognized by this secret, with datagrams of at most so many bytes where a message is no larger.
    pub fn new(secret: Secret, bytes: usize) -> Self {
        GroupOut {
            secret,
            out: DatagramOut::new(&secret, bytes, 0),
            turn: 0,
            told: 0,
        }
    }

    /// What its datagrams are recognized by.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Whether a message of these bytes fits into a datagram at all.
    #[inline]
    pub fn takes(&self, bytes: usize) -> bool {
        self.out.takes(bytes)
    }

    /// Whether a message of these bytes fits beside those that wait.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.out.has_room(bytes)
    }

    /// Appends a frame, for which there must be room.
    #[inline]
    pub fn put<V: Run>(&mut self, frame: &DataFrame<'_, V>) {
        self.out.put(frame);
    }

    /// Bytes that wait to leave; 0: nothing does.
    #[inline]
    pub fn pending(&self) -> usize {
        self.out.pending()
    }

    /// Whether so much waits that it is to leave before more is appended.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.out.is_long()
    }

    /// Whether something was put since the turn began.
    pub fn is_news(&self) -> bool {
        self.out.messages() > self.told
    }

    /// The turn, and how many messages there were in all.
    pub fn turn(&self) -> (u64, u64) {
        (self.turn, self.out.messages())
    }

    /// Begins a turn, which is to be announced. Nothing may wait.
    pub fn next_turn(&mut self) {
        self.turn += 1;
        self.out.follow(self.turn);
        self.told = self.out.messages();
    }

    /// Ends the datagram that is being filled, as [`DatagramOut::datagram`].
    pub fn datagram(&mut self) -> &[u8] {
        self.out.datagram(false, false)
    }

    /// The same if something is in it. Whether anything is to leave.
    pub fn complete(&mut self) -> bool {
        self.out.complete(false)
    }

    /// Those that are to leave, as [`DatagramOut::leaving`]; then [`sent`](Self::sent) is to be called.
    pub fn leaving(&self) -> (&[u8], &[usize]) {
        self.out.leaving()
    }

    /// They have left, or are lost.
    pub fn sent(&mut self) {
        self.out.sent();
    }
}

/// What is received of one sender in one group.
#[derive(Debug)]
pub struct GroupIn {
    secret: Secret,
    incoming: DatagramIn,
    turn: u64,
    /// Datagrams of later turns: until these begin nobody knows whether they are for this end, nor whether those are that
    /// they show to be missing.
    early: VecDeque<Vec<u8>>,
    early_bytes: usize,
    /// Its data for this end comes this way.
    grouped: bool,
    /// Something has come in this turn.
    came: bool,
    /// The sender was told that something comes.
    told: bool,
    silent: u32,
    /// Messages that were lost before this turn, and how many of them were counted.
    lost: u64,
    counted: u64,
}

impl GroupIn {
    /// Recognized by this secret.
    pub fn new(secret: Secret) -> Self {
        GroupIn {
            secret,
            incoming: DatagramIn::default(),
            turn: 0,
            early: VecDeque::new(),
            early_bytes: 0,
            grouped: false,
            came: false,
            told: false,
            silent: 0,
            lost: 0,
            counted: 0,
        }
    }

    fn position(&self) -> StreamPosition {
        StreamPosition {
            read: self.turn,
            best_effort: self.turn,
        }
    }

    /// The sender begins a turn, behind so many messages; what comes in it is for this end if it is `grouped`. Whether it
    /// is to be told that nothing comes.
    pub fn begin_turn(&mut self, turn: u64, sent: u64, grouped: bool) -> bool {
        if !self.grouped {
            self.incoming = DatagramIn::behind(sent);
            (self.lost, self.counted) = (0, 0);
        }
        self.incoming.correct(sent);
        let before = self.lost;
        self.lost = before.max(self.incoming.lost());
        let missed = self.grouped && !self.came && self.lost > before;
        // What was not for this end, or is not to be. What of it is, is known to be missing once a later one of its turn comes.
        let was = self.grouped;
        self.early.retain(|datagram| {
            let of = turn_of(datagram);
            of > turn || grouped && (was || of == turn)
        });
        self.early_bytes = self.early.iter().map(|datagram| held(datagram)).sum();
        (self.turn, self.grouped) = (turn, grouped);
        if self.came {
            self.silent = 0;
        }
        self.came = false;
        self.silent += u32::from(missed);
        if self.silent < DEAF_TURNS || !self.told {
            return false;
        }
        (self.told, self.silent) = (false, 0);
        true
    }

    /// Whether something waits for a turn.
    pub fn keeps(&self) -> bool {
        !self.early.is_empty()
    }

    /// Messages that were lost before this turn, since this was asked last.
    pub fn lost(&mut self) -> u64 {
        self.lost - std::mem::replace(&mut self.counted, self.lost)
    }

    /// Frames that have waited for this turn.
    pub fn next_kept(&mut self) -> Option<Vec<u8>> {
        while self.early.front().is_some_and(|d| turn_of(d) <= self.turn) {
            let datagram = self.early.pop_front()?;
            self.early_bytes -= held(&datagram);
            self.came |= turn_of(&datagram) == self.turn;
            let frames = self.receive(&datagram);
            if !frames.is_empty() {
                return Some(frames.to_vec());
            }
        }
        None
    }

    /// Frames of a datagram of this turn, or of one before.
    fn receive<'a>(&mut self, datagram: &'a [u8]) -> &'a [u8] {
        let at = self.position();
        let split = split_datagram(datagram);
        let frames = split.map(|(head, frames)| self.incoming.receive((&head, frames), at));
        frames.and_then(Result::ok).unwrap_or_default()
    }

    /// What its datagrams are recognized by.
    pub fn secret(&self) -> &Secret {
        &self.secret
    }

    /// Frames of such a datagram that are to be handled now, and whether the sender is to be told that it is heard.
    pub fn take<'a>(&mut self, datagram: &'a [u8]) -> (&'a [u8], bool) {
        let Some((head, frames)) = split_datagram(datagram).filter(|d| d.0.secret == self.secret)
        else {
            return (&[], false);
        };
        let tell = !std::mem::replace(&mut self.told, true);
        self.came = true;
        if head.behind <= self.turn {
            let frames = if self.grouped {
                self.receive(datagram)
            } else {
                &[]
            };
            return (frames, tell);
        }
        if frames.is_empty() {
            return (&[], tell);
        }
        // What may be for others makes room: the turn that is the first for this end has yet to be announced.
        while !self.grouped && self.early_bytes + held(datagram) > KEPT_BYTES_MAX {
            let Some(others) = self.early.pop_front() else {
                break;
            };
            self.early_bytes -= held(&others);
        }
        if self.early_bytes + held(datagram) <= KEPT_BYTES_MAX {
            self.early_bytes += held(datagram);
            self.early.push_back(datagram.to_vec());
        }
        (&[], tell)
    }
}

fn turn_of(datagram: &[u8]) -> u64 {
    split_datagram(datagram).map_or(0, |(head, _)| head.behind)
}

/// What one that is kept takes in memory, about.
fn held(datagram: &[u8]) -> usize {
    size_of::<Vec<u8>>() + datagram.len()
}
