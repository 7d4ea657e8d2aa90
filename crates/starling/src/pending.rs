//! Data that was read and is not taken yet: whole batches, in the order in which they came.
//!
//! While all that waits for the federate is delivered as it came, a message is taken when its callback is asked for, and
//! goes from where it was read straight to that callback: it needs no place in a queue, and is looked at once. Until then
//! it is as if it had not been read. So all of it is taken, into the queue, before anything else is: what else
//! is read, and every service but those that send data as most is ([`State::settle`]).

use crate::intake::{BATCH_BYTES, refused};
use crate::link::Link;
use crate::state::State;
use starling_core::{Batch, DataPath, FederateHandle, Lrc, PlainCallback, ProtocolError};
use starling_wire::{PlainBegin, read_data, read_plain, run_of_data, split_frame};
use std::collections::VecDeque;

/// A batch of whole updates and interactions.
struct Unread {
    batch: Batch,
    /// So much of it was taken.
    taken: usize,
    /// By what of a peer's it came, and whose that is; none: it came on the stream.
    from: Option<Source>,
}

/// By what of a peer's data comes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// The ring of this mark.
    Ring(u64),
    /// The link of this mark.
    Link(u64),
}

/// With the peer.
pub(crate) type Source = (Way, FederateHandle);

/// So many batches may be left at once before memory is asked for again: a megabyte of them, as much as comes to one
/// that is behind before it is called back.
const SPARE_MAX: usize = (1 << 20) / BATCH_BYTES;

/// What is not taken yet.
#[derive(Default)]
pub(crate) struct Pending {
    batches: VecDeque<Unread>,
    bytes: usize,
    /// How the last one that was looked at begins.
    begin: PlainBegin,
    /// Those of which all was taken: their memory is used again if nothing of them is kept. Never that of long
    /// frames.
    pub(crate) spare: Vec<Batch>,
    /// Those that are to be broken off for what they brought, and why.
    broken: Vec<(Source, String)>,
}

impl Pending {
    /// What is to be broken off for what it brought, and why.
    pub(crate) fn next_broken(&mut self) -> Option<(Source, String)> {
        self.broken.pop()
    }
}

impl State {
    /// Leaves the batch that was just read until its callbacks are asked for, if it may be left.
    pub(crate) fn leave_batch(&mut self, from: Option<Source>) -> bool {
        let bytes = self.batch.bytes();
        // What else may come is not read together with data, but from a ring.
        let may_be_other = matches!(from, Some((Way::Ring(_), _)));
        let is_data = !may_be_other || run_of_data(bytes, bytes.len()) == bytes.len();
        let first = read_plain(&mut self.pending.begin, bytes);
        if !is_data || first.is_none() || !self.lrc.is_straight() {
            return false;
        }
        self.pending.bytes += bytes.len();
        let spare = self.pending.spare.pop().unwrap_or_default();
        self.pending.batches.push_back(Unread {
            batch: std::mem::replace(&mut self.batch, spare),
            taken: 0,
            from,
        });
        true
    }

    /// Takes all that was left.
    #[inline]
    pub(crate) fn settle(&mut self) {
        while !self.pending.batches.is_empty() {
            self.take_first();
        }
    }

    /// Takes the next message that was left.
    fn take_first(&mut self) {
        let Some(first) = self.pending.batches.front_mut() else {
            return;
        };
        let (rest, from) = (&first.batch.bytes()[first.taken..], first.from);
        let link = from.map(|(_, federate)| federate);
        let path = DataPath::of(link);
        if let Some((data, used)) = read_plain(&mut self.pending.begin, rest)
            && link.is_none_or(|federate| federate == data.sender)
            && self.lrc.receive_plainly(data, path, &first.batch)
        {
            first.taken += used;
            self.pending.bytes -= used;
            if first.taken == first.batch.bytes().len() {
                self.pass_on();
            }
            return;
        }
        let taken = split_frame(rest).map_err(refused).and_then(|whole| {
            let (frame, used) = whole.ok_or_else(|| ProtocolError("a part of a frame".into()))?;
            first.taken += used;
            self.pending.bytes -= used;
            let data = read_data(frame).ok_or_else(|| ProtocolError("no data".into()))?;
            let data = data.map_err(refused)?;
            if let Some(federate) = link {
                crate::intake::belongs_to(federate, &data)?;
            }
            self.lrc.receive_data(&data, path, Some(&first.batch))
        });
        if first.taken == first.batch.bytes().len() {
            self.pass_on();
        }
        match (taken, from) {
            (Ok(()), _) => {}
            (Err(error), None) => {
                self.pending.batches.clear();
                self.pending.bytes = 0;
                self.refuse(error);
            }
            (Err(ProtocolError(why)), Some(peer)) => {
                let batches = &mut self.pending.batches;
                batches.retain(|unread| unread.from != from);
                let left = |unread: &Unread| unread.batch.bytes().len() - unread.taken;
                self.pending.bytes = batches.iter().map(left).sum();
                self.pending.broken.push((peer, why));
            }
        }
    }

    /// The first batch was taken.
    #[cold]
    fn pass_on(&mut self) {
        let over = self.pending.batches.pop_front();
        // What comes next would keep all the memory of a long frame.
        if let Some(over) = over.filter(|over| over.batch.bytes().len() <= BATCH_BYTES)
            && self.pending.spare.len() < SPARE_MAX
        {
            self.pending.spare.push(over.batch);
        }
    }

    /// Whether the federate may be called back now.
    #[inline]
    pub(crate) fn has_callbacks(&self) -> bool {
        let more = !self.pending.batches.is_empty() && self.lrc.is_straight();
        more || self.lrc.has_callbacks()
    }

    /// How many callbacks there may be, of all that was read.
    pub(crate) fn callbacks(&mut self) -> usize {
        self.settle();
        self.lrc.callbacks()
    }

    /// What waits for the federate, in bytes, about.
    pub(crate) fn waiting_bytes(&self) -> usize {
        self.lrc.waiting_bytes() + self.pending.bytes
    }

    /// Makes of `kept`, the one before, the next callback, if it is one as most are; else first [`Self::look_further`].
    #[inline(always)]
    pub(crate) fn next_plain(&mut self, kept: &mut Option<PlainCallback>) -> bool {
        let Some(first) = self.pending.batches.front_mut() else {
            return self.next_of_queue(kept);
        };
        let bytes = first.batch.bytes();
        let rest = bytes.get(first.taken..);
        let read = rest.and_then(|rest| read_plain(&mut self.pending.begin, rest));
        let Some((data, used)) = read else {
            return false;
        };
        let foreign = |(_, federate): Source| federate != data.sender;
        let path = DataPath::of(first.from.map(|(_, federate)| federate));
        let by = (&first.batch, path);
        if first.from.is_some_and(foreign) || !self.lrc.pass_plainly(data, by, kept) {
            // It may be that something waits that came before.
            return self.lrc.has_queue() && self.next_of_queue(kept);
        }
        first.taken += used;
        self.pending.bytes -= used;
        if first.taken == bytes.len() {
            self.pass_on();
        }
        true
    }

    /// A function of its own: what goes the one way and the other have too much in hand for one.
    #[inline(never)]
    fn next_of_queue(&mut self, kept: &mut Option<PlainCallback>) -> bool {
        self.lrc.next_plain(kept)
    }

    /// Takes of what was left until something waits in the queue; whether anything was left.
    pub(crate) fn look_further(&mut self) -> bool {
        let any = !self.pending.batches.is_empty();
        let goes_on = |lrc: &Lrc<Link>| !lrc.has_queue() || !lrc.is_straight();
        while !self.pending.batches.is_empty() && goes_on(&self.lrc) {
            self.take_first();
        }
        any
    }
}
