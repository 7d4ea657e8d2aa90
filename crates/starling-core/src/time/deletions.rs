//! Deletions in time-stamp order that are not done yet.
//!
//! Invariant: the three views of a deletion (by instance, by message, by who has not come to its
//! time) change together, so that a grant or a retraction finds what it concerns without a search.

use super::retractable::SentMessage;
use super::value::LogicalTime;
use crate::message::LogIndex;
pub(super) use crate::saved::time::Deletion;
use crate::{FederateHandle, ObjectClassHandle, ObjectInstanceHandle};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::RangeInclusive;

/// All deletions of a federation execution.
#[derive(Default)]
pub(super) struct Deletions {
    of: BTreeMap<ObjectInstanceHandle, Deletion>,
    by_message: BTreeMap<SentMessage, ObjectInstanceHandle>,
    due: BTreeMap<FederateHandle, BTreeSet<(LogicalTime, ObjectInstanceHandle)>>,
    /// Those that may be done since this was taken last.
    changed: BTreeSet<ObjectInstanceHandle>,
}

impl Deletions {
    pub(super) fn save(&self) -> BTreeMap<ObjectInstanceHandle, Deletion> {
        self.of.clone()
    }

    pub(super) fn restore(saved: BTreeMap<ObjectInstanceHandle, Deletion>) -> Self {
        let mut restored = Deletions::default();
        for (instance, deletion) in saved {
            restored.insert(instance, deletion);
        }
        restored
    }

    pub(super) fn contains(&self, instance: ObjectInstanceHandle) -> bool {
        self.of.contains_key(&instance)
    }

    pub(super) fn insert(&mut self, instance: ObjectInstanceHandle, deletion: Deletion) {
        let (_, time, _) = deletion.message;
        for federate in &deletion.waiting {
            let due = self.due.entry(*federate).or_default();
            due.insert((time, instance));
        }
        self.by_message.insert(deletion.message, instance);
        self.of.insert(instance, deletion);
        self.changed.insert(instance);
    }

    pub(super) fn remove(&mut self, instance: ObjectInstanceHandle) -> Option<Deletion> {
        let deletion = self.of.remove(&instance)?;
        let (_, time, _) = deletion.message;
        for federate in &deletion.waiting {
            if let Some(due) = self.due.get_mut(federate) {
                due.remove(&(time, instance));
            }
        }
        self.by_message.remove(&deletion.message);
        Some(deletion)
    }

    /// Whether a federate knew an instance before it came to its deletion.
    pub(super) fn knew_before(
        &self,
        instance: ObjectInstanceHandle,
        federate: FederateHandle,
    ) -> bool {
        let deletion = self.of.get(&instance);
        deletion.is_some_and(|d| d.knew.contains_key(&federate))
    }

    /// Instances that a federate knew at a class before it came to their deletions, or deleted them itself.
    pub(super) fn all_known_before(
        &self,
        federate: FederateHandle,
        class: ObjectClassHandle,
    ) -> Vec<ObjectInstanceHandle> {
        let knew = |d: &Deletion| {
            let is_own = d.message.0 == federate && d.class == class;
            is_own || d.knew.get(&federate).is_some_and(|(at, _)| *at == class)
        };
        let all = self.of.iter().filter(|(_, d)| knew(d));
        all.map(|(instance, _)| *instance).collect()
    }

    /// The message that deletes an instance.
    pub(super) fn message(&self, instance: ObjectInstanceHandle) -> Option<SentMessage> {
        Some(self.of.get(&instance)?.message)
    }

    /// The instance that a message deletes.
    pub(super) fn instance(&self, message: SentMessage) -> Option<ObjectInstanceHandle> {
        self.by_message.get(&message).copied()
    }

    /// A federate has come to this time, or to all that waits for it: what it does not know any
    /// more.
    pub(super) fn came(
        &mut self,
        federate: FederateHandle,
        time: Option<LogicalTime>,
    ) -> Vec<ObjectInstanceHandle> {
        let mut gone = Vec::new();
        // Of most there is nothing.
        let Some(due) = self.due.get_mut(&federate) else {
            return gone;
        };
        while let Some((at, instance)) = due.first().copied()
            && time.is_none_or(|time| at <= time)
        {
            due.pop_first();
            gone.push(instance);
        }
        if due.is_empty() {
            self.due.remove(&federate);
        }
        for instance in &gone {
            if let Some(deletion) = self.of.get_mut(instance) {
                deletion.waiting.remove(&federate);
                self.changed.insert(*instance);
            }
        }
        gone
    }

    /// A federate that has come to the deletion of an instance knew it so.
    pub(super) fn knew(
        &mut self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        known: (ObjectClassHandle, Option<LogIndex>),
    ) {
        if let Some(deletion) = self.of.get_mut(&instance) {
            deletion.knew.insert(federate, known);
        }
    }

    /// A federate that has come to the deletion of an instance answers whether it knew it; whether it was asked that
    /// last, and did not.
    pub(super) fn answer_knew(
        &mut self,
        federate: FederateHandle,
        instance: ObjectInstanceHandle,
        (asked, knew): (LogIndex, bool),
    ) -> bool {
        let Some(deletion) = self.of.get_mut(&instance) else {
            return false;
        };
        let known = deletion.knew.get_mut(&federate);
        let Some(known) = known.filter(|k| k.1 == Some(asked)) else {
            return false;
        };
        known.1 = None;
        !knew && deletion.knew.remove(&federate).is_some()
    }

    /// Messages can't be retracted any more.
    pub(super) fn are_final(&mut self, messages: RangeInclusive<SentMessage>) {
        let deleting = self.by_message.range(messages);
        self.changed.extend(deleting.map(|(_, instance)| *instance));
    }

    /// Those that nobody waits for and that `may_be_retracted` does not hold: done.
    pub(super) fn take_done(
        &mut self,
        may_be_retracted: impl Fn(&SentMessage) -> bool,
    ) -> Vec<(ObjectInstanceHandle, FederateHandle)> {
        let mut done = Vec::new();
        if self.changed.is_empty() {
            return done;
        }
        let changed = std::mem::take(&mut self.changed);
        for instance in changed {
            let is_done = |d: &Deletion| d.waiting.is_empty() && !may_be_retracted(&d.message);
            if self.of.get(&instance).is_some_and(is_done)
                && let Some(deletion) = self.remove(instance)
            {
                done.push((instance, deletion.message.0));
            }
        }
        done
    }
}
