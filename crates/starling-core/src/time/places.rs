//! Places of messages that wait in time-stamp order, among all of a federation execution.
//!
//! What one federate sends with one time stamp mostly follows each other, so that it is kept as one run.
//!
//! Invariant: no run is empty, and of one time no place is in two of them.

use super::value::LogicalTime;
use std::collections::BTreeMap;

/// Messages by time stamp, then by their places.
#[derive(Default)]
pub(super) struct Places {
    /// How many, by the time and place of the first.
    runs: BTreeMap<(LogicalTime, u64), u64>,
    messages: u64,
}

impl Places {
    /// Adds so many messages, of which there are some, in places behind all that were added.
    pub(super) fn push(&mut self, time: LogicalTime, first: u64, messages: u64) {
        self.messages += messages;
        let last = self
            .runs
            .range_mut((time, 0)..=(time, u64::MAX))
            .next_back();
        match last {
            Some(((_, begin), run)) if begin + *run == first => *run += messages,
            _ => {
                self.runs.insert((time, first), messages);
            }
        }
    }

    /// The time of the first message.
    #[inline]
    pub(super) fn first(&self) -> Option<LogicalTime> {
        let ((time, _), _) = self.runs.first_key_value()?;
        Some(*time)
    }

    /// How many messages there are.
    pub(super) fn len(&self) -> usize {
        usize::try_from(self.messages).unwrap_or(usize::MAX)
    }

    pub(super) fn clear(&mut self) {
        *self = Places::default();
    }

    /// Takes all messages out up to a time.
    pub(super) fn take_up_to(&mut self, up_to: LogicalTime) {
        while let Some(first) = self.runs.first_entry()
            && first.key().0 <= up_to
        {
            self.messages -= first.remove();
        }
    }

    /// Takes a message out. Whether it was there.
    pub(super) fn take(&mut self, time: LogicalTime, place: u64) -> bool {
        let up_to = self.runs.range((time, 0)..=(time, place)).next_back();
        let Some((first, run)) = up_to.map(|((_, first), run)| (*first, *run)) else {
            return false;
        };
        let before = place - first;
        if before >= run {
            return false;
        }
        self.messages -= 1;
        self.runs.remove(&(time, first));
        let parts = [(first, before), (place + 1, run - before - 1)];
        let parts = parts.into_iter().filter(|(_, messages)| *messages > 0);
        let parts = parts.map(|(first, messages)| ((time, first), messages));
        self.runs.extend(parts);
        true
    }

    /// All, in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = (LogicalTime, u64)> {
        let runs = self.runs.iter();
        runs.flat_map(|((time, first), run)| (*first..first + run).map(|place| (*time, place)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn at(time: i64) -> LogicalTime {
        LogicalTime::integer64(time)
    }

    proptest! {
        /// As if each were kept by itself.
        #[test]
        fn every_place_is_found(steps in prop::collection::vec((0..4_i64, 1..5_u64, 0..6_u8), 0..60)) {
            let mut places = Places::default();
            let mut each = BTreeSet::new();
            let mut last = 0;
            for (time, n, what) in steps {
                match what {
                    0 => {
                        places.take_up_to(at(time));
                        each.retain(|(t, _)| *t > at(time));
                    }
                    1 | 2 => {
                        let place = last + 2 - n.min(last + 2);
                        prop_assert_eq!(places.take(at(time), place), each.remove(&(at(time), place)));
                    }
                    _ => {
                        // Between them may be messages for others.
                        let first = last + 1 + u64::from(what == 3);
                        places.push(at(time), first, n);
                        each.extend((first..first + n).map(|place| (at(time), place)));
                        last = first + n - 1;
                    }
                }
                prop_assert!(places.iter().eq(each.iter().copied()));
                prop_assert_eq!(places.len(), each.len());
                prop_assert_eq!(places.first(), each.first().map(|(t, _)| *t));
            }
        }
    }

    #[test]
    fn messages_one_after_another_are_one_entry() {
        let mut places = Places::default();
        places.push(at(1), 1, 500);
        places.push(at(1), 501, 500);
        assert_eq!((places.runs.len(), places.len()), (1, 1_000));
        assert!(places.take(at(1), 300) && !places.take(at(1), 300));
        assert_eq!((places.runs.len(), places.len()), (2, 999));
    }
}
