//! Messages that wait in time-stamp order.
//!
//! Most messages have the time stamp of others that wait, so each time has a list; that of the message that came last
//! stands apart, as the next one mostly has the same. Of a list from which a message is retracted the others keep their
//! places from then on, by which the next is found.
//!
//! Invariants: no list is without a message; each time has one list; of a list's places at least about half have messages.

use super::value::LogicalTime;
use std::collections::{BTreeMap, BTreeSet};
use std::iter::once_with;
use std::ops::Bound::{Excluded, Unbounded};

/// What a message is found by. Several may have the same, the parts of one.
pub(crate) trait Keyed {
    type Key: Copy + Ord;

    /// None for what is not looked for.
    fn key(&self) -> Option<Self::Key>;
}

/// Messages by time stamp, then as they came.
pub(crate) struct ByTime<T: Keyed> {
    lists: BTreeMap<LogicalTime, List<T>>,
    /// The list that grows, which is none of the others.
    open: Option<(LogicalTime, List<T>)>,
    messages: usize,
    /// Of a list that was taken out, to be used again.
    spare: Vec<T>,
    /// How many messages were in the list that grew before.
    before: usize,
}

/// The messages at one time, as they came.
enum List<T: Keyed> {
    Whole(Vec<T>),
    /// Some were taken out.
    Gapped(Box<Gapped<T>>),
}

struct Gapped<T: Keyed> {
    /// None where one was taken out.
    places: Vec<Option<T>>,
    messages: usize,
    /// The places of the first so many, by their keys.
    by_key: BTreeSet<(T::Key, usize)>,
    keyed: usize,
}

/// More gaps than this, and than messages, are closed.
const GAPS_MAX: usize = 32;

/// The memory of a list is used again if it is for no more messages than that.
const SPARE_MAX: usize = 2_048;

impl<T: Keyed> Default for ByTime<T> {
    fn default() -> Self {
        ByTime {
            lists: BTreeMap::new(),
            open: None,
            messages: 0,
            spare: Vec::new(),
            before: 0,
        }
    }
}

impl<T: Keyed> List<T> {
    #[inline(always)]
    fn push_with(&mut self, make: impl FnOnce() -> T) {
        match self {
            // Made where it stays: room for it is made before.
            List::Whole(messages) => messages.extend(once_with(make)),
            List::Gapped(list) => list.push(make()),
        }
    }

    fn messages(&self) -> usize {
        match self {
            List::Whole(messages) => messages.len(),
            List::Gapped(list) => list.messages,
        }
    }

    fn iter(&self) -> impl Iterator<Item = &T> {
        let (whole, gapped) = match self {
            List::Whole(messages) => (&messages[..], &[][..]),
            List::Gapped(list) => (&[][..], &list.places[..]),
        };
        whole.iter().chain(gapped.iter().flatten())
    }

    fn into_messages(self) -> Vec<T> {
        match self {
            List::Whole(messages) => messages,
            List::Gapped(list) => list.places.into_iter().flatten().collect(),
        }
    }

    fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        match self {
            List::Whole(messages) => messages.retain(keep),
            List::Gapped(list) => {
                list.places.retain(|m| m.as_ref().is_some_and(&mut keep));
                list.messages = list.places.len();
                list.close_gaps();
            }
        }
    }

    fn take(&mut self, key: T::Key) -> Option<T> {
        if let List::Whole(messages) = self {
            let messages = std::mem::take(messages);
            *self = List::Gapped(Box::new(Gapped {
                messages: messages.len(),
                places: messages.into_iter().map(Some).collect(),
                by_key: BTreeSet::new(),
                keyed: 0,
            }));
        }
        match self {
            List::Gapped(list) => list.take(key),
            List::Whole(_) => unreachable!("it was made one with gaps"),
        }
    }
}

impl<T: Keyed> Gapped<T> {
    #[cold]
    fn push(&mut self, message: T) {
        self.places.push(Some(message));
        self.messages += 1;
    }

    fn take(&mut self, key: T::Key) -> Option<T> {
        for (place, message) in self.places.iter().enumerate().skip(self.keyed) {
            let key = message.as_ref().and_then(T::key);
            self.by_key.extend(key.map(|key| (key, place)));
        }
        self.keyed = self.places.len();
        let found = *self.by_key.range((key, 0)..=(key, usize::MAX)).next()?;
        self.by_key.remove(&found);
        let taken = self.places[found.1].take();
        self.messages -= 1;
        if self.places.len() - self.messages > GAPS_MAX.max(self.messages) {
            self.close_gaps();
        }
        taken
    }

    fn close_gaps(&mut self) {
        self.places.retain(Option::is_some);
        self.by_key.clear();
        self.keyed = 0;
    }
}

impl<T: Keyed> ByTime<T> {
    /// Puts a message behind those of its time.
    pub(crate) fn push(&mut self, time: LogicalTime, message: T) {
        self.push_with(time, || message);
    }

    /// The same of one that is yet to be made.
    #[inline(always)]
    pub(crate) fn push_with(&mut self, time: LogicalTime, make: impl FnOnce() -> T) {
        let list = match &mut self.open {
            Some((open, list)) if *open == time => list,
            _ => self.open(time),
        };
        list.push_with(make);
        self.messages += 1;
    }

    /// The list of this time, to which messages are added from now on.
    #[cold]
    fn open(&mut self, time: LogicalTime) -> &mut List<T> {
        self.close();
        let list = self.lists.remove(&time).unwrap_or_else(|| {
            let mut memory = std::mem::take(&mut self.spare);
            // It mostly comes to as many as the one before, and what follows them when they are released. So no list takes
            // more memory than that one, where it has fewer: of those that have a time of their own there may be many.
            memory.reserve_exact(self.before + 1);
            List::Whole(memory)
        });
        &mut self.open.insert((time, list)).1
    }

    /// Puts the list that grows among the others.
    fn close(&mut self) {
        if let Some((time, list)) = self.open.take() {
            self.before = list.messages();
            self.lists.insert(time, list);
        }
    }

    /// How many messages there are.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.messages
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.messages == 0
    }

    /// Takes the messages out that have the first time stamp of all, if that is not beyond `up_to`;
    /// none: whatever it is. Their memory may be given back.
    pub(crate) fn take_first(&mut self, up_to: Option<LogicalTime>) -> Option<Vec<T>> {
        self.close();
        let first = self.lists.first_entry()?;
        if up_to.is_some_and(|up_to| *first.key() > up_to) {
            return None;
        }
        let list = first.remove();
        self.messages -= list.messages();
        Some(list.into_messages())
    }

    /// Memory of what was taken out, to be used again.
    pub(crate) fn give_back(&mut self, mut memory: Vec<T>) {
        memory.clear();
        if (self.spare.capacity()..=SPARE_MAX).contains(&memory.capacity()) {
            self.spare = memory;
        }
    }

    /// Takes a message out; of several with this key, the first.
    pub(crate) fn take(&mut self, time: LogicalTime, key: T::Key) -> Option<T> {
        self.close();
        let list = self.lists.get_mut(&time)?;
        let taken = list.take(key)?;
        if list.messages() == 0 {
            self.lists.remove(&time);
        }
        self.messages -= 1;
        Some(taken)
    }

    /// Keeps those of which that is true.
    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.close();
        for list in self.lists.values_mut() {
            list.retain(&mut keep);
        }
        self.lists.retain(|_, list| list.messages() > 0);
        self.messages = self.lists.values().map(List::messages).sum();
    }

    /// All, in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (LogicalTime, &T)> {
        let open = self.open.as_ref().map(|(time, list)| (time, list));
        let at = open.map_or(Unbounded, |(time, _)| Excluded(*time));
        let before = self.lists.range((Unbounded, at));
        let behind = open.map(|_| self.lists.range((at, Unbounded)));
        let lists = before.chain(open).chain(behind.into_iter().flatten());
        lists.flat_map(|(time, list)| list.iter().map(|message| (*time, message)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
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
    fn a_list_has_room_for_as_many_as_the_one_before() {
        let mut waiting = ByTime::default();
        let room = |waiting: &ByTime<(u64, char)>| match &waiting.open {
            Some((_, List::Whole(messages))) => messages.capacity(),
            _ => panic!("it is whole, and grows"),
        };
        (0..1_000).for_each(|n| waiting.push(at(1), (n, 'a')));
        waiting.push(at(2), (0, 'b'));
        let taken = room(&waiting);
        assert!((1_001..1_100).contains(&taken), "{taken}");
        (1..1_001).for_each(|n| waiting.push(at(2), (n, 'b')));
        assert_eq!(room(&waiting), taken);
        // One for each of them, and no more than it takes behind one of one.
        waiting.push(at(3), (0, 'c'));
        waiting.push(at(4), (0, 'd'));
        assert!(room(&waiting) < 10);
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
        let mut first = waiting.take_first(Some(at(2))).expect("they are at 1");
        let names = first.drain(..).map(|(_, name)| name);
        assert_eq!(names.collect::<String>(), "ab");
        waiting.give_back(first);
        assert_eq!((all(&waiting).as_str(), waiting.len()), ("cde", 3));
        assert!(waiting.take_first(Some(at(1))).is_none());
        waiting.retain(|(_, name)| *name != 'c' && *name != 'e');
        assert_eq!((all(&waiting).as_str(), waiting.len()), ("d", 1));
        assert!(waiting.take_first(None).is_some());
        assert!(waiting.is_empty() && waiting.take_first(None).is_none());
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
        assert_eq!((waiting.len(), all(&waiting).as_str()), (1, "d"));
        assert_eq!(waiting.take(at(5), 2), Some((2, 'd')));
        assert!(waiting.is_empty() && waiting.take_first(None).is_none());
    }

    proptest! {
        /// As if all stood in one list.
        #[test]
        fn each_waits_in_its_place(steps in prop::collection::vec((0..5_i64, 0..6_u64, 0..9_u8), 0..60)) {
            let mut waiting = ByTime::default();
            let mut list: Vec<(i64, (u64, char))> = Vec::new();
            for (time, key, what) in steps {
                match what {
                    0 => {
                        let taken = waiting.take_first(Some(at(time)));
                        let first = list.iter().map(|(t, _)| *t).min().filter(|t| *t <= time);
                        let of_first = list.iter().filter(|(t, _)| Some(*t) == first).map(|(_, m)| *m);
                        let expected: Vec<_> = of_first.collect();
                        list.retain(|(t, _)| Some(*t) != first);
                        let taken = taken.map(|all| {
                            let messages = all.clone();
                            waiting.give_back(all);
                            messages
                        });
                        prop_assert_eq!(taken.unwrap_or_default(), expected);
                    }
                    1 | 2 => {
                        let place = list.iter().position(|(t, m)| (*t, m.0) == (time, key));
                        let expected = place.map(|place| list.remove(place).1);
                        prop_assert_eq!(waiting.take(at(time), key), expected);
                    }
                    3 => {
                        waiting.retain(|m| m.0 != key);
                        list.retain(|(_, m)| m.0 != key);
                    }
                    n => {
                        let message = (key, char::from(b'a' + n));
                        waiting.push(at(time), message);
                        list.push((time, message));
                    }
                }
                let mut expected = list.clone();
                expected.sort_by_key(|(t, _)| *t);
                let there: Vec<_> = waiting.iter().map(|(t, m)| (t, *m)).collect();
                let expected: Vec<_> = expected.into_iter().map(|(t, m)| (at(t), m)).collect();
                prop_assert_eq!(there, expected);
                prop_assert_eq!(waiting.len(), list.len());
            }
        }
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
