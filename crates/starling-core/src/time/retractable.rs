//! Messages in time-stamp order that their senders may still retract.
//!
//! A federate mostly sends many with one time stamp to the same federates. Those that come one after
//! another are kept as one run, so that a message costs a part of an entry only.
//!
//! Invariant: of a sender's messages at a time, no number is in two runs.

pub(super) use crate::saved::time::Message as SentMessage;

use super::value::{LogicalTime, TimeType};
use crate::FederateHandle;
use crate::kept::{ENTRY_BYTES, Kept};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::{Range, RangeInclusive};

/// Who was sent a message, with its place among all messages; of several parts of one, each.
pub(super) type SentTo = BTreeSet<(FederateHandle, u64)>;

/// About what is kept of a message that was sent to so many, in bytes; of one in a run it is less.
pub(super) fn sent_bytes(to: usize) -> usize {
    2 * ENTRY_BYTES + to * 2 * size_of::<(FederateHandle, u64)>()
}

/// All of a federation execution.
#[derive(Debug, Default)]
pub(super) struct Retractable {
    /// By the first message.
    runs: BTreeMap<SentMessage, Run>,
    kept: Kept,
}

/// Messages whose numbers and places follow each other.
#[derive(Clone, Debug)]
struct Run {
    messages: u64,
    /// Of the first message.
    to: Vec<(FederateHandle, u64)>,
}

impl Run {
    /// Those behind the first so many.
    fn behind(&self, skipped: u64) -> Run {
        let to = self.to.iter().map(|(f, place)| (*f, place + skipped));
        Run {
            messages: self.messages - skipped,
            to: to.collect(),
        }
    }

    fn bytes(&self) -> usize {
        // No more are added than may be kept.
        usize::try_from(self.messages).unwrap_or(usize::MAX) * sent_bytes(self.to.len())
    }
}

impl Retractable {
    pub(super) fn save(&self) -> BTreeMap<SentMessage, SentTo> {
        debug_assert_eq!(self.kept, self.count_kept(), "what is kept is counted");
        let mut saved = BTreeMap::new();
        for (&(sender, time, first), run) in &self.runs {
            for n in 0..run.messages {
                let to = run.to.iter().map(|(f, place)| (*f, place + n));
                saved.insert((sender, time, first + n), to.collect());
            }
        }
        saved
    }

    pub(super) fn restore(saved: BTreeMap<SentMessage, SentTo>) -> Self {
        let mut restored = Retractable::default();
        for (message, to) in saved {
            restored.insert(message, 1, to.into_iter().collect());
        }
        restored
    }

    /// Whether there are none at all.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    fn count_kept(&self) -> Kept {
        let mut kept = Kept::default();
        for ((sender, ..), run) in &self.runs {
            kept.add(*sender, run.bytes());
        }
        kept
    }

    /// How many bytes are kept for a federate, about.
    pub(super) fn kept_of(&self, sender: FederateHandle) -> usize {
        self.kept.of(sender)
    }

    /// Messages with these numbers and places that follow each other have been sent to those. A
    /// number may be there already: its message had another part.
    pub(super) fn add(
        &mut self,
        (sender, time): (FederateHandle, LogicalTime),
        mut numbers: Range<u64>,
        mut place: u64,
        to: &[FederateHandle],
    ) {
        while !numbers.is_empty() {
            let first = (sender, time, numbers.start);
            let sent = to.iter().map(|federate| (*federate, place));
            let taken = if let Some(mut parts) = self.take(first) {
                parts.extend(sent);
                self.insert(first, 1, parts.into_iter().collect());
                1
            } else {
                let others = self.runs.range(first..(sender, time, numbers.end));
                let end = others.map(|(run, _)| run.2).next();
                let taken = end.unwrap_or(numbers.end) - numbers.start;
                self.insert(first, taken, sent.collect());
                taken
            };
            numbers.start += taken;
            place += taken;
        }
    }

    fn insert(&mut self, first: SentMessage, messages: u64, to: Vec<(FederateHandle, u64)>) {
        let run = Run { messages, to };
        self.kept.add(first.0, run.bytes());
        self.runs.insert(first, run);
    }

    /// The first number of the run that a message is in.
    fn run_of(&self, (sender, time, number): SentMessage) -> Option<u64> {
        let mut up_to = self.runs.range((sender, time, 0)..=(sender, time, number));
        let ((_, _, first), run) = up_to.next_back()?;
        (number - first < run.messages).then_some(*first)
    }

    pub(super) fn contains(&self, message: SentMessage) -> bool {
        self.run_of(message).is_some()
    }

    /// A message can't be retracted any more; all who were sent it.
    pub(super) fn take(&mut self, message: SentMessage) -> Option<SentTo> {
        let (sender, time, number) = message;
        let first = self.run_of(message)?;
        let mut before = self.runs.remove(&(sender, time, first))?;
        self.kept.take(sender, sent_bytes(before.to.len()));
        let at = number - first;
        let taken = before.behind(at).to;
        if at + 1 < before.messages {
            self.runs
                .insert((sender, time, number + 1), before.behind(at + 1));
        }
        if at > 0 {
            before.messages = at;
            self.runs.insert((sender, time, first), before);
        }
        Some(taken.into_iter().collect())
    }

    /// A sender's messages up to a time can't be retracted any more; none: all. Each run is told by its
    /// first and last message.
    pub(super) fn forget(
        &mut self,
        sender: FederateHandle,
        up_to: Option<LogicalTime>,
        mut tell: impl FnMut(RangeInclusive<SentMessage>),
    ) {
        // Before all times of the other type, too.
        let from = (sender, TimeType::Integer64.least(), 0);
        while let Some((&first, _)) = self.runs.range(from..).next()
            && first.0 == sender
            && up_to.is_none_or(|up_to| first.1 <= up_to)
            && let Some(run) = self.runs.remove(&first)
        {
            self.kept.take(sender, run.bytes());
            tell(first..=(sender, first.1, first.2 + run.messages - 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(time: i64) -> LogicalTime {
        LogicalTime::integer64(time)
    }

    fn federates(numbers: &[u32]) -> Vec<FederateHandle> {
        numbers.iter().copied().map(FederateHandle).collect()
    }

    #[derive(Clone, Debug)]
    enum Step {
        /// By one of two, at a time: numbers from, how many, to how many.
        Add(u32, i64, u64, u64, u32),
        Take(u32, i64, u64),
        Forget(u32, Option<i64>),
    }

    fn step() -> impl Strategy<Value = Step> {
        let of = (1..3_u32, 0..3_i64);
        prop_oneof![
            4 => (of.clone(), 1..20_u64, 1..8_u64, 0..3_u32)
                .prop_map(|((by, at), from, n, to)| Step::Add(by, at, from, n, to)),
            3 => (of.clone(), 1..28_u64).prop_map(|((by, at), n)| Step::Take(by, at, n)),
            1 => (1..3_u32, prop::option::of(0..3_i64)).prop_map(|(by, at)| Step::Forget(by, at)),
        ]
    }

    proptest! {
        /// Runs are as if each message were kept by itself.
        #[test]
        fn every_message_is_found_with_all_who_were_sent_it(
            steps in prop::collection::vec(step(), 0..40),
        ) {
            let mut kept = Retractable::default();
            let mut each: BTreeMap<SentMessage, SentTo> = BTreeMap::new();
            let mut place = 1;
            for step in steps {
                match step {
                    Step::Add(by, time, from, n, to) => {
                        let (by, time) = (FederateHandle(by), at(time));
                        let to = federates(&[7, 8, 9][..to as usize]);
                        kept.add((by, time), from..from + n, place, &to);
                        for number in from..from + n {
                            let sent = each.entry((by, time, number)).or_default();
                            sent.extend(to.iter().map(|f| (*f, place)));
                            place += 1;
                        }
                    }
                    Step::Take(by, time, number) => {
                        let message = (FederateHandle(by), at(time), number);
                        prop_assert_eq!(kept.contains(message), each.contains_key(&message));
                        prop_assert_eq!(kept.take(message), each.remove(&message));
                    }
                    Step::Forget(by, up_to) => {
                        let (by, up_to) = (FederateHandle(by), up_to.map(at));
                        let is_over = |(sender, time, _): &SentMessage| {
                            *sender == by && up_to.is_none_or(|up_to| *time <= up_to)
                        };
                        let mut told = BTreeSet::new();
                        kept.forget(by, up_to, |run| {
                            let ((_, time, first), (_, _, last)) = run.into_inner();
                            told.extend((first..=last).map(|number| (by, time, number)));
                        });
                        let over = each.keys().filter(|message| is_over(message)).copied();
                        prop_assert_eq!(told, over.collect());
                        each.retain(|message, _| !is_over(message));
                    }
                }
                prop_assert_eq!(&kept.save(), &each);
                let bytes = |by| {
                    let of = each.iter().filter(|((sender, ..), _)| *sender == by);
                    of.map(|(_, to)| sent_bytes(to.len())).sum::<usize>()
                };
                for by in federates(&[1, 2]) {
                    prop_assert_eq!(kept.kept_of(by), bytes(by));
                }
            }
            let saved = Retractable::restore(each.clone());
            prop_assert_eq!(saved.save(), each);
        }
    }

    #[test]
    fn messages_one_after_another_are_one_entry() {
        let mut kept = Retractable::default();
        let sender = FederateHandle(1);
        kept.add((sender, at(1)), 1..1_001, 1, &federates(&[2, 3]));
        assert_eq!(kept.runs.len(), 1);
        assert!(kept.take((sender, at(1), 500)).is_some());
        assert_eq!(kept.runs.len(), 2);
    }
}
