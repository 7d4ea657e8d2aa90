//! The MOM's object instances: what they are, and what their attributes are worth.

use super::attributes::{is_of_federate, is_of_federation, needs_counts};
use super::execution::{Managed, Waiting, Why};
use super::reports::text;
use super::{FEDERATION, RTI, federate_of, instance_of, region_of};
use crate::execution::Execution;
use crate::message::mom::{Counts, Entry, Switches};
use crate::message::{Cause, ModuleSource, Range, time};
use crate::object::PRIVILEGE_TO_DELETE;
use crate::object::registered::Instance;
use crate::time::galt::Outcome;
use crate::{AttributeHandle, FederateHandle, ObjectInstanceHandle, Owner};
use std::collections::{BTreeSet, VecDeque};
use std::time::Duration;

/// Wall-clock time in the states of a federate's time manager.
#[derive(Default)]
pub(super) struct Spent {
    advancing: bool,
    /// Since when it is in its state.
    since: Duration,
    /// Since when it was in the state before.
    before: Duration,
    /// Up to when `spent` counts.
    accounted: Duration,
    /// In Time Granted and Time Advancing, since the attribute was last updated.
    spent: [Duration; 2],
}

impl Spent {
    /// Of a federate that begins now.
    pub(super) fn new(advancing: bool, now: Duration) -> Self {
        Spent {
            advancing,
            since: now,
            before: now,
            accounted: now,
            ..Spent::default()
        }
    }

    /// The state is this from now on.
    fn switch(&mut self, advancing: bool, now: Duration) {
        self.account(now);
        self.before = self.since;
        self.since = now;
        self.advancing = advancing;
    }

    /// The last switch, to Time Granted, was none: it has been advancing all the while.
    fn advance_on(&mut self, now: Duration) {
        self.account(now);
        let [granted, advancing] = &mut self.spent;
        let meanwhile = now.saturating_sub(self.since).min(*granted);
        *granted -= meanwhile;
        *advancing += meanwhile;
        self.since = self.before;
        self.advancing = true;
    }

    fn account(&mut self, now: Duration) {
        self.spent[usize::from(self.advancing)] += now.saturating_sub(self.accounted);
        self.accounted = now;
    }

    /// Milliseconds in a state since the last call for it. What is less than one is told with the next.
    pub(super) fn take(&mut self, advancing: bool, now: Duration) -> u64 {
        self.account(now);
        let spent = &mut self.spent[usize::from(advancing)];
        let whole = u64::try_from(spent.as_millis()).unwrap_or(u64::MAX);
        *spent -= Duration::from_millis(whole).min(*spent);
        whole
    }
}

impl Execution {
    /// Registers HLAmanager.HLAfederation.
    pub(crate) fn register_federation(&mut self) {
        self.register_own("HLAmanager.HLAfederation", FEDERATION, None);
    }

    /// Registers a joiner's HLAmanager.HLAfederate; it has joined with these modules.
    pub(crate) fn manage(&mut self, joiner: FederateHandle, modules: Vec<ModuleSource>) {
        let managed = Managed {
            modules,
            asynchronous: false,
            switches: Switches::of(&self.model),
            spent: Spent::new(false, self.mom.now),
            reports: 0,
            period: None,
            waiting: VecDeque::new(),
            again: Vec::new(),
            is_asked: false,
        };
        self.mom.federates.insert(joiner, managed);
        self.register_own("HLAmanager.HLAfederate", instance_of(joiner), Some(joiner));
        self.federation_changed(&["HLAfederatesInFederation"]);
    }

    /// The FDD has grown by modules of a joiner's.
    pub(crate) fn modules_changed(&mut self) {
        self.federation_changed(&["HLAFOMmoduleDesignatorList", "HLAcurrentFDD"]);
    }

    /// A federate is no longer a member.
    pub(crate) fn manage_no_more(&mut self, gone: FederateHandle) {
        self.mom.set_period(gone, None);
        self.mom.federates.remove(&gone);
        if !self.services.mom {
            return;
        }
        self.log.advance();
        self.remove_instance(None, instance_of(gone), RTI, &[], None);
        self.regions.take_own(region_of(gone));
        self.federation_changed(&["HLAfederatesInFederation"]);
    }

    fn register_own(
        &mut self,
        class: &str,
        handle: ObjectInstanceHandle,
        about: Option<FederateHandle>,
    ) {
        if !self.services.mom {
            return;
        }
        // A MIM of somebody's own may lack it.
        let Some(class) = self.model.object_class_by_name(class) else {
            return;
        };
        let predefined = |a: &AttributeHandle| {
            let name = self.model.attribute(*a).map_or("", |a| &a.name);
            let of_class = match about {
                Some(_) => is_of_federate(name),
                None => is_of_federation(name),
            };
            of_class || name == PRIVILEGE_TO_DELETE
        };
        let owners = class.attributes.iter();
        let owners = owners
            .map(|a| predefined(a).then_some(Owner::Rti))
            .collect();
        let (class, attributes) = (class.handle, class.attributes.clone());
        self.objects.put_own(handle, class, owners);
        let ranges = about.map(|f| self.about(f)).unwrap_or_default();
        if let (Some(federate), false) = (about, ranges.is_empty()) {
            let with = |a: &AttributeHandle| {
                let dimensions = self.model.attribute(*a).map(|a| &a.dimensions);
                dimensions.is_some_and(|d| !d.is_empty())
            };
            let attributes = attributes.into_iter().filter(with);
            let region = region_of(federate);
            self.regions.put_own(region, &ranges, handle, attributes);
        }
        for federate in self.log.members() {
            self.log.advance();
            self.discover(None, federate, &[handle]);
        }
    }

    /// What says of which federate something is: its point of the dimension HLAfederate (11.1).
    pub(super) fn about(&self, federate: FederateHandle) -> Vec<Range> {
        let dimension = self.model.dimension_by_name("HLAfederate");
        let point = |d: &starling_fom::Dimension| Range {
            dimension: d.handle,
            lower: federate.0,
            upper: federate.0 + 1,
        };
        dimension.map(point).into_iter().collect()
    }

    /// How long a member's time manager has been in its state.
    pub(crate) fn in_time_state(&self, federate: FederateHandle) -> Duration {
        let managed = self.mom.federates.get(&federate);
        let since = managed.map_or(self.mom.now, |m| m.spent.since);
        self.mom.now.saturating_sub(since)
    }

    /// Provides values of what the RTI owns, as an owner that is asked for them does (§6.20).
    pub(crate) fn provide_own(
        &mut self,
        cause: Option<Cause>,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        self.update_own(cause, instance, attributes, Why::Asked, None);
    }

    /// Attributes of HLAmanager.HLAfederation have new values.
    pub(crate) fn federation_changed(&mut self, names: &[&str]) {
        self.update_named(FEDERATION, names, Why::Asked);
    }

    /// Attributes of a federate's HLAmanager.HLAfederate have new values.
    pub(crate) fn changed(&mut self, federate: FederateHandle, names: &[&str]) {
        self.update_named(instance_of(federate), names, Why::Asked);
    }

    /// Updates these attributes of an instance of the RTI's.
    pub(super) fn update_named(&mut self, handle: ObjectInstanceHandle, names: &[&str], why: Why) {
        let instance = self.objects.get(handle);
        let known = instance.filter(|i| i.knowing().next().is_some());
        let Some(class) = known.map(|i| i.class()) else {
            return;
        };
        let attributes = names.iter();
        let attributes = attributes.filter_map(|n| self.model.attribute_by_name(class, n));
        let attributes: Vec<_> = attributes.collect();
        self.update_own(None, handle, &attributes, why, None);
    }

    /// A federate's time manager is in another state from now on.
    fn time_manager_changed(
        &mut self,
        federate: FederateHandle,
        change: impl FnOnce(&mut Spent, Duration),
    ) {
        let now = self.mom.now;
        if let Some(managed) = self.mom.federates.get_mut(&federate) {
            change(&mut managed.spent, now);
        }
        self.changed(federate, &["HLAtimeManagerState"]);
    }

    /// A federate has asked for something about its time.
    pub(crate) fn time_asked(&mut self, federate: FederateHandle, request: time::Request) {
        match request {
            time::Request::Advance { .. } => {
                self.time_manager_changed(federate, |spent, now| spent.switch(true, now));
            }
            // That it was granted is not so; who has been told so is told otherwise.
            time::Request::AskOn { .. } => self.time_manager_changed(federate, Spent::advance_on),
            time::Request::DisableRegulation => self.changed(federate, &["HLAtimeRegulating"]),
            time::Request::DisableConstrained => self.changed(federate, &["HLAtimeConstrained"]),
            _ => {}
        }
    }

    /// Something about a federate's time has come.
    pub(crate) fn time_settled(&mut self, federate: FederateHandle, outcome: Outcome) {
        match outcome {
            Outcome::Granted { .. } => {
                self.time_manager_changed(federate, |spent, now| spent.switch(false, now));
            }
            Outcome::Regulating { .. } => self.changed(federate, &["HLAtimeRegulating"]),
            Outcome::Constrained => self.changed(federate, &["HLAtimeConstrained"]),
        }
    }

    /// What a federate subscribes to of an instance, at the class at which it knows it; one may come twice.
    pub(super) fn subscribed_of(
        &self,
        federate: FederateHandle,
        instance: &Instance,
    ) -> impl Iterator<Item = AttributeHandle> {
        let known = instance.known_class(federate).into_iter();
        known.flat_map(move |known| self.subscriptions.attributes(federate, known))
    }

    /// Updates those of the attributes to which somebody subscribes, for all who do to one of them. What needs the federate's counts waits for
    /// them, if they are not given.
    pub(super) fn update_own(
        &mut self,
        cause: impl Into<Option<Cause>>,
        handle: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        why: Why,
        counts: Option<&Counts>,
    ) {
        let cause = cause.into();
        let Some(instance) = self.objects.get(handle) else {
            return;
        };
        let (mut audience, mut wanted) = (Vec::new(), BTreeSet::new());
        let takes = |f: &FederateHandle| why == Why::Asked || !self.mom.full.contains(f);
        for federate in instance.knowing().filter(takes) {
            let of = self.subscribed_of(federate, instance);
            let mut of = of.filter(|a| attributes.contains(a)).peekable();
            if of.peek().is_some() {
                audience.push(federate);
                wanted.extend(of);
            }
        }
        let (mut values, mut later) = (Vec::new(), Vec::new());
        for attribute in attributes.iter().filter(|a| wanted.contains(a)) {
            let name = self.model.attribute(*attribute).map(|a| a.name.clone());
            let slot = self.slot(handle, *attribute);
            let (Some(name), Some(slot)) = (name, slot) else {
                continue;
            };
            if self.owner(handle, Some(*attribute)) != Some(Owner::Rti) {
                continue;
            }
            if counts.is_none() && needs_counts(&name) {
                later.push(*attribute);
                continue;
            }
            let value = match handle {
                // Its token is empty.
                _ if name == PRIVILEGE_TO_DELETE => Some(Vec::new()),
                FEDERATION => self.federation_value(&name),
                _ => self.federate_value(federate_of(handle), &name, counts),
            };
            values.extend(value.map(|value| (slot, value)));
        }
        if !later.is_empty() {
            let federate = federate_of(handle);
            if let Some(managed) = self.mom.federates.get_mut(&federate) {
                managed.is_asked |= why == Why::Asked;
            }
            self.ask_counts(cause, federate, Waiting::Update(later));
        }
        if !values.is_empty() {
            let ranges = if self.regions.are_associated(handle) {
                self.about(federate_of(handle))
            } else {
                Vec::new()
            };
            let update = Entry::Update {
                instance: handle,
                values,
                ranges,
            };
            self.log.tell(cause, &audience, update);
            if let Some(instance) = self.objects.get_mut(handle) {
                instance.note_own_update();
            }
        }
    }

    /// HLAfederateState: ActiveFederate, FederateSaveInProgress, FederateRestoreInProgress.
    pub(super) fn federate_state(&self, federate: FederateHandle) -> u32 {
        match () {
            () if self.federation.is_restored_now(federate) => 5,
            () if self.federation.is_saved_now(federate) => 3,
            () => 1,
        }
    }

    /// These federates have come into a save or a restore, or out of it.
    pub(crate) fn states_changed(&mut self, federates: &[FederateHandle]) {
        for federate in federates {
            self.changed(*federate, &["HLAfederateState"]);
        }
    }

    /// Another save is the next one, or the last one.
    pub(crate) fn saves_changed(&mut self) {
        self.federation_changed(&[
            "HLAlastSaveName",
            "HLAlastSaveTime",
            "HLAnextSaveName",
            "HLAnextSaveTime",
        ]);
    }

    /// The FOM modules, without the MIM.
    pub(super) fn fom_modules(&self) -> &[ModuleSource] {
        self.federation.modules().get(1..).unwrap_or_default()
    }

    /// The FDD as one module, as a value. It takes as long as the modules are large, so it is kept until the
    /// next one comes.
    pub(super) fn current_fdd(&mut self) -> Vec<u8> {
        let modules = self.federation.modules().len();
        if let Some((_, fdd)) = self.mom.fdd.as_ref().filter(|(of, _)| *of == modules) {
            return fdd.clone();
        }
        let all = self.federation.modules().iter();
        let all = all.map(|m| {
            let module = starling_fom::parse(&m.designator, mim_text(m))?;
            Ok((module, mim_text(m).to_vec()))
        });
        let all: Result<Vec<_>, starling_fom::FomError> = all.collect();
        let fdd = all.and_then(|all| starling_fom::compose(&all, self.federation.name()));
        let fdd = fdd.unwrap_or_else(|why| {
            // They have merged, so that they can be composed.
            self.note_failure(None, format!("HLAcurrentFDD is shown as empty: {why}"));
            String::new()
        });
        let fdd = text(&fdd);
        self.mom.fdd = Some((modules, fdd.clone()));
        fdd
    }
}

/// The text of a module; the built-in MIM travels without.
pub(crate) fn mim_text(module: &ModuleSource) -> &[u8] {
    if module.text.is_empty() {
        starling_fom::standard_mim().as_bytes()
    } else {
        &module.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_time_is_told_however_often_somebody_asks() {
        let mut spent = Spent::new(false, Duration::ZERO);
        let asked = (1..=10_000).map(|n| spent.take(false, n * Duration::from_micros(300)));
        assert_eq!(asked.sum::<u64>(), 3_000);
    }

    #[test]
    fn a_grant_that_is_passed_over_is_time_in_time_advancing() {
        let at = Duration::from_secs;
        let mut spent = Spent::new(false, at(0));
        spent.switch(true, at(1));
        spent.switch(false, at(5));
        assert_eq!(spent.take(false, at(6)), 2_000);
        assert_eq!(spent.take(false, at(6)), 0);
        // What has been told as time in Time Granted is told.
        spent.advance_on(at(8));
        assert_eq!(spent.since, at(1));
        assert_eq!(spent.take(true, at(9)), 7_000);
        assert_eq!(spent.take(false, at(9)), 0);
    }
}
