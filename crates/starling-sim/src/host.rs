//! A federate's computer: its LRC, and what of data was read there and is not taken yet.
//!
//! Data is left as it was read while nothing else is to be done than to deliver it, and goes from there to its
//! callback; before all else it is taken, into the queue. That is what `crates/starling/src/pending.rs` does with
//! batches of many messages; here what is read together, and what is left at all, is drawn.

use crate::program::Report;
use starling_bed::Sent;
use starling_core::message::{FromExecutive, RequestNumber};
use starling_core::{
    AttributeHandle, Batch, Callback, DataPath, Federate, FederateHandle, Lrc,
    ObjectInstanceHandle, PeerId, PlainCallback, Service,
};
use starling_wire::{PlainBegin, read_data, read_plain, run_of_data, split_frame};
use std::collections::VecDeque;

/// How often which short way was taken.
#[derive(Clone, Copy, Default)]
pub(crate) struct Ways {
    /// From where it was read straight to the callback.
    pub(crate) passed: u64,
    /// Of those, what was read together with others.
    pub(crate) passed_on: u64,
    /// Left as it was read: passed later, or taken for something else that was to be done.
    pub(crate) left: u64,
    /// From the queue, as most are.
    pub(crate) queued: u64,
    /// What was sent as most is: without a time, with one.
    pub(crate) sent: [u64; 2],
    /// Data that had to wait, since it has overtaken what it comes after.
    pub(crate) early: u64,
}

impl Ways {
    /// With those of another.
    pub(crate) fn and(self, other: Ways) -> Ways {
        Ways {
            passed: self.passed + other.passed,
            passed_on: self.passed_on + other.passed_on,
            left: self.left + other.left,
            queued: self.queued + other.queued,
            sent: [0, 1].map(|n| self.sent[n] + other.sent[n]),
            early: self.early + other.early,
        }
    }

    /// Counts them.
    pub(crate) fn report(self, report: &mut Report) {
        report.count("passed as it was read", self.passed);
        report.count("passed behind what was read with it", self.passed_on);
        report.count("left as it was read", self.left);
        report.count("next of the queue as most are", self.queued);
        let [untimed, timed] = self.sent;
        report.count("sent as most is", untimed);
        report.count("sent as most is, with a time", timed);
        report.count("fault: data overtakes what it comes after", self.early);
    }
}

/// Updates and interactions, of which so much was taken, from the executive's stream or a peer's link.
struct Unread {
    batch: Batch,
    taken: usize,
    from: Option<FederateHandle>,
}

pub(crate) struct Host {
    pub(crate) lrc: Lrc<Sent>,
    pub(crate) handle: FederateHandle,
    pub(crate) peer: PeerId,
    /// It has not done anything yet.
    pub(crate) new: bool,
    pub(crate) resigning: bool,
    /// It waits for the federation's word on giving these away, and does nothing else.
    pub(crate) deciding: Option<Deciding>,
    /// Updates and interactions that have come.
    pub(crate) came: u64,
    /// Those of them that were delivered.
    pub(crate) delivered: u64,
    /// Those that were lost on their way to it.
    pub(crate) lost: u64,
    /// It leaves what it reads.
    leaves: bool,
    unread: VecDeque<Unread>,
    begin: PlainBegin,
    /// The callback before, until its federate does something else.
    kept: Option<PlainCallback>,
    pub(crate) ways: Ways,
}

/// A call that needs the federation's word.
pub(crate) struct Deciding {
    pub(crate) service: Service,
    pub(crate) request: RequestNumber,
    pub(crate) instance: ObjectInstanceHandle,
    pub(crate) attributes: Vec<AttributeHandle>,
}

impl Host {
    /// That of an LRC that has joined.
    pub(crate) fn new(
        lrc: Lrc<Sent>,
        handle: FederateHandle,
        peer: PeerId,
        draw: &mut fastrand::Rng,
    ) -> Self {
        Host {
            lrc,
            handle,
            peer,
            new: true,
            resigning: false,
            deciding: None,
            came: 0,
            delivered: 0,
            lost: 0,
            leaves: draw.u8(..4) > 0,
            unread: VecDeque::new(),
            begin: PlainBegin::default(),
            kept: None,
            ways: Ways::default(),
        }
    }

    /// The joined federate, to look at.
    pub(crate) fn federate(&self) -> &Federate {
        self.lrc.federate().expect("hosts are joined")
    }

    /// All that has come was applied: neither data nor the log waits for what it comes after.
    pub(crate) fn waits_for_nothing(&self) {
        let (me, log) = (self.handle, self.federate().save().log);
        assert!(self.unread.is_empty(), "{me} leaves what it has read");
        let control = log.control.first();
        assert!(
            control.is_none(),
            "{me}: the log waits for ever: {control:?}"
        );
        let held = self.federate().counters().held;
        assert_eq!(held, 0, "{me}: data waits for ever for what it comes after");
    }

    /// A message of the executive's arrives.
    pub(crate) fn receive(&mut self, message: FromExecutive) {
        self.settle();
        let taken = self.lrc.receive(message);
        taken.unwrap_or_else(|e| panic!("{} refuses what comes: {e}", self.handle));
        self.lives();
    }

    /// A data frame arrives, on the executive's stream or from a peer.
    pub(crate) fn receive_data(
        &mut self,
        from: Option<FederateHandle>,
        bytes: &[u8],
        draw: &mut fastrand::Rng,
    ) {
        let is_data = run_of_data(bytes, bytes.len()) == bytes.len();
        self.came += u64::from(is_data);
        if is_data && self.leaves && draw.u8(..8) > 0 && self.leave(from, bytes, draw) {
            self.ways.left += 1;
            return;
        }
        self.settle();
        self.unread.push_back(Unread::new(from, bytes));
        self.settle();
    }

    /// Leaves data until its callback is asked for, if it may be left.
    fn leave(
        &mut self,
        from: Option<FederateHandle>,
        bytes: &[u8],
        draw: &mut fastrand::Rng,
    ) -> bool {
        if !self.lrc.is_straight() {
            return false;
        }
        let last = self.unread.back_mut().filter(|last| last.from == from);
        if let Some(last) = last.filter(|_| draw.bool()) {
            // As if it had been read together: whatever it is, the first of these is as most are.
            let together = [&last.batch.bytes()[last.taken..], bytes].concat();
            *last = Unread::new(from, &together);
            return true;
        }
        let is_plain = read_plain(&mut self.begin, bytes).is_some();
        if is_plain {
            self.unread.push_back(Unread::new(from, bytes));
        }
        is_plain
    }

    /// Takes all that was left.
    pub(crate) fn settle(&mut self) {
        self.kept = None;
        while !self.unread.is_empty() {
            self.take_first();
        }
    }

    /// Takes the next message that was left.
    fn take_first(&mut self) {
        let Some(first) = self.unread.front_mut() else {
            return;
        };
        let held = |lrc: &Lrc<Sent>| lrc.counters().map_or(0, |c| c.held);
        let before = held(&self.lrc);
        let (rest, from) = (&first.batch.bytes()[first.taken..], first.from);
        let path = DataPath::of(from);
        if let Some((data, used)) = read_plain(&mut self.begin, rest)
            && from.is_none_or(|federate| federate == data.sender)
            && self.lrc.receive_plainly(data, path, &first.batch)
        {
            first.taken += used;
        } else {
            let (frame, used) = split_frame(rest)
                .expect("frames are legal")
                .expect("frames are whole");
            first.taken += used;
            let data = read_data(frame).expect("it is data");
            let data = data.unwrap_or_else(|e| panic!("data of our own can't be decoded: {e}"));
            if let Some(federate) = from {
                assert_eq!(data.sender, federate, "data on another's link");
            }
            let taken = self.lrc.receive_data(&data, path, Some(&first.batch));
            taken.unwrap_or_else(|e| panic!("{} refuses what comes: {e}", self.handle));
        }
        self.ways.early += u64::from(held(&self.lrc) > before);
        self.end_of_batch();
        self.lives();
    }

    fn end_of_batch(&mut self) {
        let over = |first: &Unread| first.taken == first.batch.bytes().len();
        if self.unread.front().is_some_and(over) {
            self.unread.pop_front();
        }
    }

    fn lives(&self) {
        if let Some(why) = self.lrc.lost() {
            panic!("a federate is lost: {why}");
        }
    }

    /// The next callback, now delivered.
    pub(crate) fn next_callback(&mut self, draw: &mut fastrand::Rng) -> Option<Callback> {
        // One who evokes callbacks one by one makes nothing of the one before.
        if draw.u8(..4) == 0 {
            self.kept = None;
        }
        if self.next_plain() {
            return self.kept.clone().map(Into::into);
        }
        self.kept = None;
        loop {
            let more = !self.unread.is_empty();
            while !self.unread.is_empty() && (!self.lrc.has_queue() || !self.lrc.is_straight()) {
                self.take_first();
            }
            let callback = self.lrc.next_callback();
            // What was taken last may be none for this federate.
            if callback.is_some() || !more {
                return callback;
            }
        }
    }

    /// Makes the next callback of the one before, if it is one as most are.
    fn next_plain(&mut self) -> bool {
        let Some(first) = self.unread.front_mut() else {
            return self.next_of_queue();
        };
        let rest = &first.batch.bytes()[first.taken..];
        let Some((data, used)) = read_plain(&mut self.begin, rest) else {
            return false;
        };
        let foreign = first.from.is_some_and(|federate| federate != data.sender);
        let by = (&first.batch, DataPath::of(first.from));
        if foreign || !self.lrc.pass_plainly(data, by, &mut self.kept) {
            return self.lrc.has_queue() && self.next_of_queue();
        }
        self.ways.passed += 1;
        self.ways.passed_on += u64::from(first.taken > 0);
        first.taken += used;
        self.end_of_batch();
        true
    }

    fn next_of_queue(&mut self) -> bool {
        let is_next = self.lrc.next_plain(&mut self.kept);
        self.ways.queued += u64::from(is_next);
        is_next
    }
}

impl Unread {
    fn new(from: Option<FederateHandle>, bytes: &[u8]) -> Self {
        let mut batch = Batch::default();
        batch.refill(bytes);
        Unread {
            batch,
            taken: 0,
            from,
        }
    }
}
