//! What a federate counts for the MOM, from joining on: plain additions, so that who subscribes last
//! reads the same totals as who did first.

use crate::message::mom::{Counts, InstanceCounts};
use crate::{InteractionClassHandle, ObjectClassHandle, ProtocolError, Transportation};
use starling_fom::ObjectModel;

/// What of it a report can say: each has a class that asks for it and one that says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "they are the names of the classes")]
pub enum Counted {
    ObjectInstancesUpdated,
    ObjectInstancesReflected,
    UpdatesSent,
    ReflectionsReceived,
    InteractionsSent,
    InteractionsReceived,
}

impl Counted {
    /// What a class below HLArequest asks for.
    pub(super) fn asked_by(class: &str) -> Option<Self> {
        Some(match class {
            "HLArequestObjectInstancesUpdated" => Counted::ObjectInstancesUpdated,
            "HLArequestObjectInstancesReflected" => Counted::ObjectInstancesReflected,
            "HLArequestUpdatesSent" => Counted::UpdatesSent,
            "HLArequestReflectionsReceived" => Counted::ReflectionsReceived,
            "HLArequestInteractionsSent" => Counted::InteractionsSent,
            "HLArequestInteractionsReceived" => Counted::InteractionsReceived,
            _ => return None,
        })
    }

    /// The class below HLAreport that says it.
    pub(super) fn report(self) -> &'static str {
        match self {
            Counted::ObjectInstancesUpdated => "HLAreportObjectInstancesUpdated",
            Counted::ObjectInstancesReflected => "HLAreportObjectInstancesReflected",
            Counted::UpdatesSent => "HLAreportUpdatesSent",
            Counted::ReflectionsReceived => "HLAreportReflectionsReceived",
            Counted::InteractionsSent => "HLAreportInteractionsSent",
            Counted::InteractionsReceived => "HLAreportInteractionsReceived",
        }
    }
}

/// By the number of a class, then by transportation type.
type ByClass = Vec<[u64; 2]>;

/// Counts of a joined federate.
#[derive(Default)]
pub(crate) struct Tally {
    /// Something is counted of updates, reflections and interactions, here or by [`crate::traffic`]: whoever sends or
    /// gets one asks this alone where nothing is.
    is_on: bool,
    /// Calls of Update Attribute Values.
    updates_sent: u64,
    pub(crate) instances: InstanceCounts,
    updates: ByClass,
    reflections: ByClass,
    interactions_sent: ByClass,
    interactions_received: ByClass,
    instances_updated: ByClass,
    instances_reflected: ByClass,
}

#[inline(always)]
fn add(to: &mut ByClass, class: u32, transportation: Transportation) {
    if let Some(counts) = to.get_mut(class as usize) {
        counts[transportation as usize] += 1;
    } else {
        grow(to, class, transportation);
    }
}

#[cold]
fn grow(to: &mut ByClass, class: u32, transportation: Transportation) {
    to.resize(class as usize + 1, [0; 2]);
    to[class as usize][transportation as usize] += 1;
}

impl Tally {
    /// Whether anything is counted. What was sent or is delivered is to be told only then.
    #[inline(always)]
    pub(crate) fn is_on(&self) -> bool {
        self.is_on
    }

    /// Something is counted from now on.
    pub(crate) fn turn_on(&mut self) {
        self.is_on = true;
    }

    /// Update Attribute Values was called.
    #[inline(always)]
    pub(crate) fn update_called(&mut self) {
        self.updates_sent += u64::from(self.is_on);
    }

    /// An update of an instance of this class was sent.
    #[inline(always)]
    pub(crate) fn updated(&mut self, class: ObjectClassHandle, transportation: Transportation) {
        add(&mut self.updates, class.raw(), transportation);
    }

    /// An update is delivered of an instance registered as this class.
    #[inline(always)]
    pub(crate) fn reflected(&mut self, class: ObjectClassHandle, transportation: Transportation) {
        add(&mut self.reflections, class.raw(), transportation);
    }

    /// An interaction was sent.
    #[inline(always)]
    pub(crate) fn sent(&mut self, class: InteractionClassHandle, transportation: Transportation) {
        add(&mut self.interactions_sent, class.raw(), transportation);
    }

    /// An interaction is delivered that was sent as this class.
    #[inline(always)]
    pub(crate) fn received(
        &mut self,
        class: InteractionClassHandle,
        transportation: Transportation,
    ) {
        add(&mut self.interactions_received, class.raw(), transportation);
    }

    /// An instance was updated for the first time.
    #[cold]
    pub(crate) fn first_update(&mut self, class: ObjectClassHandle) {
        if self.is_on {
            let how = Transportation::Reliable;
            add(&mut self.instances_updated, class.raw(), how);
        }
    }

    /// An instance is reflected for the first time.
    #[cold]
    pub(crate) fn first_reflection(&mut self, class: ObjectClassHandle) {
        if self.is_on {
            let how = Transportation::Reliable;
            add(&mut self.instances_reflected, class.raw(), how);
        }
    }

    /// Of one that has joined; `on`: there is a management object model.
    pub(super) fn new(on: bool) -> Self {
        Tally {
            is_on: on,
            ..Tally::default()
        }
    }

    /// As it was saved. An error if the object model does not have what was counted.
    pub(super) fn restore(
        on: bool,
        counts: &Counts,
        model: &ObjectModel,
    ) -> Result<Self, ProtocolError> {
        let objects = counts.updates.iter().chain(&counts.reflections);
        let objects = objects.map(|(class, ..)| class);
        let of_instances = counts.instances_updated.iter();
        let of_instances = of_instances.chain(&counts.instances_reflected);
        let mut objects = objects.chain(of_instances.map(|(class, _)| class));
        let mut interactions = counts
            .interactions_sent
            .iter()
            .chain(&counts.interactions_received);
        if !objects.all(|class| model.object_class(*class).is_some())
            || !interactions.all(|(class, ..)| model.interaction_class(*class).is_some())
        {
            let why = "what was counted is of a class that the object model does not have";
            return Err(ProtocolError(why.into()));
        }
        let mut tally = Tally {
            updates_sent: counts.updates_sent,
            instances: counts.instances,
            ..Tally::new(on)
        };
        let put = |to: &mut ByClass, class: u32, how: Transportation, n: u64| {
            let least = class as usize + 1;
            to.resize(least.max(to.len()), [0; 2]);
            to[class as usize][how as usize] = n;
        };
        for (class, how, n) in &counts.updates {
            put(&mut tally.updates, class.raw(), *how, *n);
        }
        for (class, how, n) in &counts.reflections {
            put(&mut tally.reflections, class.raw(), *how, *n);
        }
        for (class, how, n) in &counts.interactions_sent {
            put(&mut tally.interactions_sent, class.raw(), *how, *n);
        }
        for (class, how, n) in &counts.interactions_received {
            put(&mut tally.interactions_received, class.raw(), *how, *n);
        }
        let how = Transportation::Reliable;
        for (class, n) in &counts.instances_updated {
            put(&mut tally.instances_updated, class.raw(), how, *n);
        }
        for (class, n) in &counts.instances_reflected {
            put(&mut tally.instances_reflected, class.raw(), how, *n);
        }
        Ok(tally)
    }

    /// All of it; `queued`: messages that wait in receive order and in time-stamp order.
    pub(crate) fn counts(&self, queued: (u64, u64)) -> Counts {
        Counts {
            receive_order_length: queued.0,
            time_stamp_order_length: queued.1,
            updates_sent: self.updates_sent,
            instances: self.instances,
            updates: by_transportation(&self.updates, ObjectClassHandle::from_raw),
            reflections: by_transportation(&self.reflections, ObjectClassHandle::from_raw),
            interactions_sent: by_transportation(
                &self.interactions_sent,
                InteractionClassHandle::from_raw,
            ),
            interactions_received: by_transportation(
                &self.interactions_received,
                InteractionClassHandle::from_raw,
            ),
            instances_updated: by_class(&self.instances_updated),
            instances_reflected: by_class(&self.instances_reflected),
        }
    }
}

fn by_transportation<H: Copy>(
    counts: &ByClass,
    handle: impl Fn(u32) -> H,
) -> Vec<(H, Transportation, u64)> {
    let mut list = Vec::new();
    for (class, of_class) in (0..).zip(counts) {
        for how in [Transportation::Reliable, Transportation::BestEffort] {
            let count = of_class[how as usize];
            list.extend((count > 0).then(|| (handle(class), how, count)));
        }
    }
    list
}

fn by_class(counts: &ByClass) -> Vec<(ObjectClassHandle, u64)> {
    let all = (0..).zip(counts).filter(|(_, c)| c[0] > 0);
    all.map(|(class, c)| (ObjectClassHandle::from_raw(class), c[0]))
        .collect()
}
