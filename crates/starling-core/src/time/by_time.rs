//! Messages that wait in time-stamp order.
//!
//! Most messages have the time stamp of others that wait, so each time has a list. A message that is
//! retracted leaves a gap, so that the others keep their places, by which a message is found.
//!
//! Invariants: no list is without a message; of a list's entries at least about half are messages.

use super::value::LogicalTime;
use std::collections::{BTreeMap, BTreeSet};

/// What a message is found by. Several may have the same, the parts of one.
pub(crate) trait Keyed {
    type Key: Copy + Ord;

    /// None for what is not looked for.
    fn key(&self) -> Option<Self::Key>;
}

/// Messages by time stamp, then as they came.
pub(crate) struct ByTime<T: Keyed> {
    lists: BTreeMap<LogicalTime, List<T>>,
    messages: usize,
}

/// The messages at one time.
struct List<T: Keyed> {
    /// As they came; none where one was taken out.
    entries: Vec<Option<T>>,
    messages: usize,
    /// Made when one is looked for: few ever are.
    places: Option<Box<Places<T::Key>>>,
}

/// The places of a list's first entries, by their keys.
struct Places<K> {
    of: BTreeSet<(K, usize)>,
    entries: usize,
}

/// More gaps than this, and than messages, are closed.
const GAPS_MAX: usize = 32;

impl<T: Keyed> Default for ByTime<T> {
    fn default() -> Self {
        ByTime {
            lists: BTreeMap::new(),
            messages: 0,
        }
    }
}

impl<T: Keyed> List<T> {
    fn new() -> Self {
        List {
            // Of those that have a time of their own there may be many.
            entries: Vec::with_capacity(1),
            messages: 0,
            places: None,
        }
    }

    fn take(&mut self, key: T::Key) -> Option<T> {
        let places = self.places.get_or_insert_with(|| {
            Box::new(Places {
                of: BTreeSet::new(),
                entries: 0,
            })
        });
        for (place, entry) in self.entries.iter().enumerate().skip(places.entries) {
            let key = entry.as_ref().and_then(T::key);
            places.of.extend(key.map(|key| (key, place)));
        }
        places.entries = self.entries.len();
        let found = *places.of.range((key, 0)..=(key, usize::MAX)).next()?;
        places.of.remove(&found);
        let taken = self.entries[found.1].take();
        self.messages -= 1;
        if self.entries.len() - self.messages > GAPS_MAX.max(self.messages) {
            self.close_gaps();
        }
        taken
    }

    fn close_gaps(&mut self) {
        self.entries.retain(Option::is_some);
        self.places = None;
    }
}

impl<T: Keyed> ByTime<T> {
    /// Puts a message behind those of its time.
    #[inline]
    pub(crate) fn push(&mut self, time: LogicalTime, message: T) {
        self.extend(time, std::iter::once(message));
    }

    /// Puts messages, of which there are some, behind those of their time.
    #[inline]
    pub(crate) fn extend(&mut self, time: LogicalTime, messages: impl Iterator<Item = T>) {
        let list = self.lists.entry(time).or_insert_with(List::new);
        let before = list.entries.len();
        list.entries.extend(messages.map(Some));
        let more = list.entries.len() - before;
        list.messages += more;
        self.messages += more;
    }

    /// The time of the first message.
    #[inline]
    pub(crate) fn first(&self) -> Option<LogicalTime> {
        Some(*self.lists.first_key_value()?.0)
    }

    /// How many messages there are.
    pub(crate) fn len(&self) -> usize {
        self.messages
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    pub(crate) fn clear(&mut self) {
        *self = ByTime::default();
    }

    /// Takes the messages out that have the first time stamp of all, if that is not beyond `up_to`;
    /// none: whatever it is.
    pub(crate) fn take_first(
        &mut self,
        up_to: Option<LogicalTime>,
    ) -> Option<impl Iterator<Item = T> + use<T>> {
        let first = self.lists.first_entry()?;
        if up_to.is_some_and(|up_to| *first.key() > up_to) {
            return None;
        }
        let list = first.remove();
        self.messages -= list.messages;
        Some(list.entries.into_iter().flatten())
    }

    /// Takes a message out; of several with this key, the first.
    pub(crate) fn take(&mut self, time: LogicalTime, key: T::Key) -> Option<T> {
        let list = self.lists.get_mut(&time)?;
        let taken = list.take(key)?;
        if list.messages == 0 {
            self.lists.remove(&time);
        }
        self.messages -= 1;
        Some(taken)
    }

    /// Keeps those of which that is true.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        for list in self.lists.values_mut() {
            list.entries
                .retain(|entry| entry.as_ref().is_some_and(&mut keep));
            list.close_gaps();
            list.messages = list.entries.len();
        }
        self.lists.retain(|_, list| list.messages > 0);
        self.messages = self.lists.values().map(|list| list.messages).sum();
    }

    /// All, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (LogicalTime, &T)> {
        let lists = self.lists.iter();
        lists.flat_map(|(time, list)| list.entries.iter().flatten().map(|entry| (*time, entry)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::cmp::Ordering;

    impl Keyed for (u64, char) {
        type Key = u64;
        fn key(&self) -> Option<u64> {
            Some(self.0)
        }
    }

    fn at(time: i64) -> LogicalTime {
        LogicalTime::integer64(time)
    }

    fn all(waiting: &ByTime<(u64, char)>) -> String {
        waiting.iter().map(|(_, (_, name))| *name).collect()
    }

    #[test]
    fn messages_come_by_time_then_as_they_came() {
        let mut waiting = ByTime::default();
        for (time, key, name) in [
            (2, 1, 'c'),
            (1, 2, 'a'),
            (2, 3, 'd'),
            (1, 3, 'b'),
            (3, 1, 'e'),
        ] {
            waiting.push(at(time), (key, name));
        }
        assert_eq!((all(&waiting).as_str(), waiting.len()), ("abcde", 5));
        assert_eq!(waiting.first(), Some(at(1)));
        let first = waiting.take_first(Some(at(2))).expect("they are at 1");
        assert_eq!(first.map(|(_, name)| name).collect::<String>(), "ab");
        assert_eq!((all(&waiting).as_str(), waiting.len()), ("cde", 3));
        assert!(waiting.take_first(Some(at(1))).is_none());
        waiting.retain(|(_, name)| *name != 'c' && *name != 'e');
        assert_eq!((all(&waiting).as_str(), waiting.len()), ("d", 1));
        assert!(waiting.take_first(None).is_some());
        assert!(waiting.is_empty() && waiting.first().is_none());
    }

    #[test]
    fn what_is_taken_out_is_gone_and_leaves_the_others_in_order() {
        let mut waiting = ByTime::default();
        for (key, name) in [(1, 'a'), (2, 'b'), (1, 'c')] {
            waiting.push(at(5), (key, name));
        }
        assert_eq!(waiting.take(at(4), 1), None);
        assert_eq!(waiting.take(at(5), 3), None);
        assert_eq!(waiting.take(at(5), 1), Some((1, 'a')));
        waiting.push(at(5), (2, 'd'));
        assert_eq!(all(&waiting), "bcd");
        assert_eq!(waiting.take(at(5), 1), Some((1, 'c')));
        assert_eq!(waiting.take(at(5), 1), None);
        assert_eq!(waiting.take(at(5), 2), Some((2, 'b')));
        assert_eq!((waiting.len(), waiting.first()), (1, Some(at(5))));
        assert_eq!(waiting.take(at(5), 2), Some((2, 'd')));
        assert_eq!((waiting.len(), waiting.first()), (0, None));
    }

    thread_local! {
        static STEPS: Cell<u64> = const { Cell::new(0) };
    }

    /// Counts how often two are compared, and how often one is looked at.
    #[derive(Clone, Copy, PartialEq, Eq)]
    struct Counted(u64);

    impl PartialOrd for Counted {
        fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
            Some(self.cmp(other))
        }
    }

    impl Ord for Counted {
        fn cmp(&self, other: &Self) -> Ordering {
            STEPS.set(STEPS.get() + 1);
            self.0.cmp(&other.0)
        }
    }

    impl Keyed for Counted {
        type Key = Counted;
        fn key(&self) -> Option<Counted> {
            STEPS.set(STEPS.get() + 1);
            Some(*self)
        }
    }

    /// Steps for taking out all of so many at one time, while as many more come.
    fn steps(messages: u64) -> u64 {
        let mut waiting = ByTime::default();
        (0..messages).for_each(|n| waiting.push(at(0), Counted(n)));
        STEPS.set(0);
        for n in 0..messages {
            // From both ends and the middle.
            let n = n * 7 % messages;
            waiting.push(at(0), Counted(messages + n));
            assert!(waiting.take(at(0), Counted(n)).is_some());
        }
        STEPS.get()
    }

    #[test]
    fn a_message_is_found_without_a_look_at_all() {
        let (few, many) = (steps(1_000), steps(10_000));
        assert!(many < 15 * few, "{few} steps for 1,000, {many} for 10,000");
    }
}
