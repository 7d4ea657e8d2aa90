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
use std::collections::{BTreeMap, VecDeque};

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
    /// Datagrams of later turns, by their turn: until it begins nobody knows whether they are for this end.
    early: BTreeMap<u64, VecDeque<Vec<u8>>>,
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
            early: BTreeMap::new(),
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
        self.leave_out(turn, (self.grouped, grouped));
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

    /// Of what waits, drops what this turn shows not to be for this end; whether the turns before it were, and it is.
    fn leave_out(&mut self, turn: u64, (was, is): (bool, bool)) {
        let later = match turn.checked_add(1) {
            Some(next) => self.early.split_off(&next),
            None => BTreeMap::new(),
        };
        let mut gone = std::mem::replace(&mut self.early, later);
        match (was, is) {
            (true, true) => self.early.append(&mut gone),
            (false, true) => self.early.extend(gone.remove_entry(&turn)),
            (_, false) => {}
        }
        let gone = gone.values().flatten().map(|datagram| held(datagram));
        self.early_bytes -= gone.sum::<usize>();
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
        while let Some(mut first) = self.early.first_entry().filter(|e| *e.key() <= self.turn) {
            let of = *first.key();
            let Some(datagram) = first.get_mut().pop_front() else {
                first.remove();
                continue;
            };
            self.early_bytes -= held(&datagram);
            self.came |= of == self.turn;
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
        if self.makes_room(head.behind, held(datagram)) {
            self.early_bytes += held(datagram);
            let of_turn = self.early.entry(head.behind).or_default();
            of_turn.push_back(datagram.to_vec());
        }
        (&[], tell)
    }

    /// Makes room for so many bytes of a later turn, if there can be any. What is sent to this end now is of the nearest turns:
    /// the farthest makes room. Until the first turn that is for this end is announced, what may be for others does, so the
    /// oldest.
    fn makes_room(&mut self, turn: u64, bytes: usize) -> bool {
        while self.early_bytes + bytes > KEPT_BYTES_MAX {
            let entry = if self.grouped {
                self.early.last_entry().filter(|last| *last.key() > turn)
            } else {
                self.early.first_entry()
            };
            let Some(mut entry) = entry else {
                return false;
            };
            let gone = if self.grouped {
                entry.get_mut().pop_back()
            } else {
                entry.get_mut().pop_front()
            };
            if entry.get().is_empty() {
                entry.remove();
            }
            self.early_bytes -= gone.map_or(0, |datagram| held(&datagram));
        }
        true
    }
}

/// What one that is kept takes in memory, about.
fn held(datagram: &[u8]) -> usize {
    size_of::<Vec<u8>>() + datagram.len()
}
