//! Federation management at the executive.

use super::members::Member;
use super::modules::{Basis, MergedModules, ModelsRoom, ModuleMerge, contents};
use crate::exception::{require_name, throw};
use crate::execution::Execution;
use crate::executive::quoted;
use crate::message::federation::{Entry, Request};
use crate::message::{
    Cause, FederateStatus, FederationInformation, FederationStatus, ModuleSource, PeerInfo,
    ResignAction, Snapshot,
};
use crate::{Exception, FederateHandle, PeerId, ProtocolError, TimeType};
use starling_fom::Check;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

impl Execution {
    /// A request of this chapter.
    pub(crate) fn serve_federation(
        &mut self,
        cause: Cause,
        request: Request,
    ) -> Result<(), ProtocolError> {
        match request {
            Request::SetResignDirective(directive) => {
                self.federation.member_mut(cause.sender)?.resign_directive = directive
            }
            Request::RegisterSynchronizationPoint { label, tag, set } => {
                require_name("a synchronization point", &label)
                    .map_err(|e| ProtocolError(e.message))?;
                self.register_synchronization_point(cause, label, tag, set)?;
            }
            Request::AchieveSynchronizationPoint {
                label,
                successfully,
            } => self.achieve_synchronization_point(cause, &label, successfully),
            Request::Resign(action) => self.resign(cause, cause.sender, action, None),
            Request::Save(request) => self.serve_save(cause, request)?,
        }
        Ok(())
    }

    /// The modules of Create Federation Execution, the MIM first.
    pub(crate) fn modules_to_create(
        modules: Vec<ModuleSource>,
        mim: Option<ModuleSource>,
        check: Check,
    ) -> ModuleMerge {
        let mim = mim.unwrap_or_else(|| ModuleSource {
            designator: starling_fom::STANDARD_MIM_DESIGNATOR.to_owned(),
            text: [].into(),
        });
        let mut sources = vec![mim];
        sources.extend(modules);
        ModuleMerge {
            base: None,
            basis: Basis::default(),
            sources,
            check,
        }
    }

    /// Those of Join Federation Execution. Which of them the federation execution has already is
    /// found out with the merging, because that takes as long as they are large.
    pub(crate) fn modules_to_join(&self, modules: Vec<ModuleSource>, check: Check) -> ModuleMerge {
        ModuleMerge {
            base: Some((Arc::clone(&self.model), self.federation.modules.clone())),
            basis: self.basis(),
            sources: modules,
            check,
        }
    }

    /// What modules merged now are merged into.
    pub(crate) fn basis(&self) -> Basis {
        Basis {
            execution: self.federation.number,
            epoch: self.log.epoch(),
            modules: self.federation.modules.len(),
        }
    }

    /// Create Federation Execution, 1516.1-2010 §4.5.
    pub(crate) fn create(
        name: String,
        merged: impl FnOnce() -> MergedModules,
        time_implementation: String,
        room: ModelsRoom,
    ) -> Result<Self, Exception> {
        let time = match time_implementation.as_str() {
            "" => Some(TimeType::Float64),
            name => TimeType::by_name(name),
        };
        let Some(time) = time else {
            throw!(
                CouldNotCreateLogicalTimeFactory,
                "there is no logical time implementation '{time_implementation}'; there are {} and {}",
                TimeType::Float64.name(),
                TimeType::Integer64.name()
            );
        };
        let merged = merged();
        let (sources, model) = (merged.sources, merged.model?);
        room.require(merged.bytes)?;
        let mut created = Execution::new(name, time, sources, model);
        created.federation.model_bytes = merged.bytes;
        Ok(created)
    }

    /// For List Federation Executions, §4.7.
    pub(crate) fn information(&self) -> FederationInformation {
        FederationInformation {
            name: self.federation.name.clone(),
            time_implementation: self.time.time_type().name().to_owned(),
        }
    }

    /// For `starling ps`.
    pub(crate) fn status(&self) -> FederationStatus {
        FederationStatus {
            name: self.federation.name.clone(),
            time_implementation: self.time.time_type().name().to_owned(),
            modules: self
                .federation
                .modules
                .iter()
                .map(|m| m.designator.clone())
                .collect(),
            instances: self.objects.of_federates() as u64,
            log: self.log.index(),
            refused: self.objects.refused(),
            behind_deletion: self.objects.behind_deletion(),
            outdated: self.log.outdated(),
            services: self.services,
            under_way: self.under_way(),
            federates: self.federate_statuses(),
        }
    }

    fn federate_statuses(&self) -> Vec<FederateStatus> {
        let by = self.held_up_by();
        let holding: BTreeSet<_> = by.iter().copied().collect();
        let status = |(handle, m): (&FederateHandle, &Member)| {
            let mut time = self.time_status(*handle);
            let is_held = self.is_held() || self.time.times().is_held(*handle);
            if is_held && !holding.contains(handle) {
                time.waits_for = by.first().copied().or(time.waits_for);
            }
            m.status(*handle, time)
        };
        self.federation.members.iter().map(status).collect()
    }

    /// A joined federate by its name: its handle and connection.
    pub(crate) fn member_named(&self, name: &str) -> Option<(FederateHandle, PeerId)> {
        let handle = self.federation.member_named(name)?;
        Some((handle, self.log.peer(handle)?))
    }

    /// How modules that a federate brings differ from those that this federation execution has
    /// under the same names, with its age and federates and what to do; none if they don't.
    pub(crate) fn differing(&self, given: &[ModuleSource], now: Duration) -> Option<String> {
        let other = |m: &&ModuleSource| {
            let same_name = |old: &ModuleSource| old.designator == m.designator;
            self.federation.modules.iter().any(same_name) && !self.federation.modules.contains(m)
        };
        let changed = given.iter().filter(other).map(|m| m.designator.as_str());
        let changed = quoted(changed)?;
        let age = now.saturating_sub(self.federation.created).as_secs();
        let name = &self.federation.name;
        let (federates, first) = match quoted(self.federation.member_names()) {
            Some(names) => (
                format!("the joined federates {names}"),
                "`starling resign FEDERATE` for each of them, then ",
            ),
            None => ("no joined federates".into(), ""),
        };
        Some(format!(
            "{changed} of '{name}' had other contents when they were loaded; it has existed for {age} s and has {federates}\n  do: if it is left over, {first}`starling destroy {name}`, and start again"
        ))
    }

    /// Join Federation Execution, §4.9. The joiner gets a snapshot, the others an entry.
    pub(crate) fn join(
        &mut self,
        peer: PeerId,
        info: PeerInfo,
        name: Option<String>,
        kind: String,
        (mut merged, room): (MergedModules, ModelsRoom),
        check: Check,
    ) -> Result<FederateHandle, Exception> {
        require_name("a federate", name.as_deref().unwrap_or_default())?;
        require_name("a federate type", &kind)?;
        for module in &merged.sources {
            require_name("a FOM module", &module.designator)?;
        }
        if self.federation.saves.is_in_progress() {
            throw!(SaveInProgress, "'{}' is being saved", self.federation.name);
        }
        // Also before a restore begins: its request is answered by who is joined then (§4.25).
        if self.federation.restoring.is_in_progress() {
            throw!(
                RestoreInProgress,
                "'{}' is being restored",
                self.federation.name
            );
        }
        self.require_room_left()?;
        self.require_room_in_points()?;
        let used = |name: &str| self.federation.members.values().any(|m| m.name == name);
        if let Some(name) = name.as_ref().filter(|n| used(n)) {
            throw!(
                FederateNameAlreadyInUse,
                "a federate named '{name}' has joined '{}' already",
                self.federation.name
            );
        }
        if merged.basis != self.basis() {
            // Another federate has brought modules meanwhile, or this federation execution was restored
            // or is another one of that name.
            merged = self.modules_to_join(merged.brought(), check).run();
        }
        let brought = self.shared(&merged);
        let added = merged.sources;
        let model = merged.model?;
        let grown = !added.is_empty();
        if grown {
            room.require(merged.bytes)?;
            self.model = model;
            self.federation.model_bytes = merged.bytes;
            self.federation.modules.extend(added.iter().cloned());
            self.subscriptions.model_changed();
            self.grow_instances();
        }

        self.log.advance();
        self.federation.last_federate += 1;
        let handle = FederateHandle(self.federation.last_federate);
        let name = name.unwrap_or_else(|| {
            let mut made = format!("{kind}-{}", handle.0);
            while self.federation.members.values().any(|m| m.name == made) {
                made.push('\'');
            }
            made
        });
        let member = Member::new(info, name.clone(), kind, &self.model);
        let joined = Entry::FederateJoined {
            federate: member.information(handle),
            modules: added,
        };
        self.log.tell_all(None, joined);
        self.federation.members.insert(handle, member);
        self.log.join(handle, peer);
        self.time.join(handle, self.mom.now);
        self.advise_joiner(handle);
        let snapshot = self.snapshot(handle, name);
        self.log.welcome(snapshot);
        // Behind that: with the Auto-Provide Switch it may be asked for its counts at once.
        self.manage(handle, brought);
        if grown {
            self.modules_changed();
        }
        self.announce_to_joiner(handle);
        Ok(handle)
    }

    /// Modules that a joiner brought, by its designators; of those that are there already, the text that is there.
    fn shared(&self, merged: &MergedModules) -> Vec<ModuleSource> {
        let there = self.federation.modules.iter();
        let there: HashMap<_, _> = there.map(|old| (contents(old), &old.text)).collect();
        let brought = merged.all_brought().map(|m| ModuleSource {
            designator: m.designator.clone(),
            text: Arc::clone(there.get(&contents(m)).copied().unwrap_or(&m.text)),
        });
        brought.collect()
    }

    pub(crate) fn snapshot(&mut self, handle: FederateHandle, name: String) -> Snapshot {
        let declarations = self.subscriptions.snapshot();
        let federates = self.federation.members.iter();
        let federates = federates.map(|(h, m)| (m.information(*h), self.log.requests(*h)));
        Snapshot {
            handle,
            name,
            federation: self.federation.name.clone(),
            time_implementation: self.time.time_type().name().to_owned(),
            services: self.services,
            index: self.log.index(),
            modules: self.federation.modules.clone(),
            federates: federates.collect(),
            declarations,
        }
    }

    /// A member's connection has ended.
    pub(crate) fn lost(&mut self, federate: FederateHandle, reason: &str) {
        let Some(member) = self.federation.members.get(&federate) else {
            return;
        };
        self.log.advance();
        let action = member.resign_directive;
        self.resign(None, federate, action, Some(reason.to_owned()));
    }

    /// Resign Federation Execution, §4.10, by request or by the automatic resign directive.
    pub(crate) fn resign(
        &mut self,
        cause: impl Into<Option<Cause>>,
        federate: FederateHandle,
        action: ResignAction,
        fault: Option<String>,
    ) {
        let cause = cause.into();
        let died = fault.is_some();
        let lost = fault
            .as_deref()
            .map(|fault| self.lost_report(federate, fault));
        if action.deletes() {
            for instance in self.deletable_by(federate) {
                self.remove_instance(cause, instance, federate, &[], None);
            }
        }
        self.objects.forget_federate(federate);
        self.subscriptions.change().forget(federate);
        self.publications.forget(federate);
        self.forget_regions(federate);
        self.log
            .tell_all(cause, Entry::FederateResigned { federate, fault });
        let member = self.federation.members.remove(&federate);
        let name = member.map_or_else(String::new, |m| m.name);
        self.log.leave(federate);
        // What is left can't stay its own, whatever the action says: the federate is gone.
        self.ownership_without(federate);
        // What follows from it stands behind it, and waits for no fence of who is forgotten then.
        self.synchronize_without(federate);
        self.time_without(federate);
        self.manage_no_more(federate);
        if let Some(lost) = lost {
            self.report_lost(federate, lost);
        }
        self.advise_no_more(federate);
        self.advise(None);
        // A save that it leaves complete is of who is left, in all rooms.
        self.save_without((federate, &name), died);
        self.restore_without((federate, &name), died);
    }
}
