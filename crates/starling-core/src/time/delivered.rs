//! Messages that were delivered to a federate and that their senders may still retract.

use super::value::LogicalTime;
use crate::FederateHandle;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

/// No more are remembered: those that may be retracted for the shortest time are forgotten.
const MAX: usize = 65_536;

/// By sender and number there, and by time stamp, up to which they may be retracted. Each once, however many frames it
/// came in.
#[derive(Default)]
pub(super) struct Delivered {
    stamps: BTreeMap<(FederateHandle, u64), LogicalTime>,
    by_time: BTreeSet<(LogicalTime, FederateHandle, u64)>,
}

impl Delivered {
    /// With their time stamps, by which they are in order.
    pub(super) fn save(&self) -> Vec<(FederateHandle, u64, LogicalTime)> {
        let all = self.by_time.iter();
        all.map(|(time, sender, number)| (*sender, *number, *time))
            .collect()
    }

    pub(super) fn restore(saved: Vec<(FederateHandle, u64, LogicalTime)>) -> Self {
        let mut restored = Delivered::default();
        for (sender, number, time) in saved {
            restored.insert((sender, number), time);
        }
        restored
    }

    pub(super) fn insert(&mut self, (sender, number): (FederateHandle, u64), time: LogicalTime) {
        if let Entry::Vacant(new) = self.stamps.entry((sender, number)) {
            new.insert(time);
            self.by_time.insert((time, sender, number));
        }
        if self.stamps.len() > MAX {
            self.forget_first();
        }
    }

    /// Whether it was delivered and may be retracted; then no more.
    pub(super) fn remove(&mut self, (sender, number): (FederateHandle, u64)) -> bool {
        let stamp = self.stamps.remove(&(sender, number));
        stamp.is_some_and(|time| self.by_time.remove(&(time, sender, number)))
    }

    pub(super) fn forget_up_to(&mut self, up_to: LogicalTime) {
        while let Some((time, ..)) = self.by_time.first()
            && *time <= up_to
        {
            self.forget_first();
        }
    }

    fn forget_first(&mut self) {
        if let Some((_, sender, number)) = self.by_time.pop_first() {
            self.stamps.remove(&(sender, number));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SENDER: FederateHandle = FederateHandle(2);

    fn at(time: usize) -> LogicalTime {
        LogicalTime::integer64(time as i64)
    }

    /// So many messages, one for each time from 1 on.
    fn delivered(messages: usize) -> Delivered {
        let mut delivered = Delivered::default();
        for n in 1..=messages {
            delivered.insert((SENDER, n as u64), at(n));
        }
        delivered
    }

    #[test]
    fn what_a_grant_has_passed_is_forgotten_and_all_else_is_not() {
        let mut delivered = delivered(5);
        delivered.forget_up_to(at(2));
        let left = [1, 2, 3, 5].map(|n| delivered.remove((SENDER, n)));
        assert_eq!(left, [false, false, true, true]);
        assert!(!delivered.remove((SENDER, 3)), "it is asked back once");
        assert_eq!(delivered.save(), [(SENDER, 4, at(4))]);
    }

    #[test]
    fn a_message_in_several_frames_counts_once() {
        let mut delivered = delivered(MAX);
        for _ in 0..3 {
            delivered.insert((SENDER, 7), at(7));
        }
        assert_eq!(delivered.save().len(), MAX);
        assert!(delivered.remove((SENDER, 1)), "nothing had to go");
    }

    #[test]
    fn beyond_the_bound_those_go_that_could_be_retracted_for_the_shortest_time() {
        let mut delivered = delivered(MAX + 2);
        assert_eq!(delivered.save().len(), MAX);
        let left = [1, 2, 3].map(|n| delivered.remove((SENDER, n)));
        assert_eq!(left, [false, false, true]);
    }
}
