//! Federation management at the executive.

use super::federate::fdd_directive;
use super::modules::{Basis, MergedModules, ModuleMerge};
use crate::exception::{require_name, throw};
use crate::execution::{Execution, Member};
use crate::executive::quoted;
use crate::message::{
    Cause, EntryBody, FederateInformation, FederationInformation, FederationStatus, ModuleSource,
    PeerInfo, ResignAction, Snapshot,
};
use crate::object::execution::NameUse;
use crate::{Exception, FederateHandle, PeerId};
use starling_fom::Check;
use std::collections::HashSet;
use std::time::Duration;

/// Logical time implementations that every federate has (§12.4).
const TIMES: [&str; 2] = ["HLAfloat64Time", "HLAinteger64Time"];

impl Execution {
    /// The modules of Create Federation Execution, the MIM first.
    pub(crate) fn modules_to_create(
        modules: Vec<ModuleSource>,
        mim: Option<ModuleSource>,
        check: Check,
    ) -> ModuleMerge {
        let mim = mim.unwrap_or_else(|| ModuleSource {
            designator: starling_fom::STANDARD_MIM_DESIGNATOR.to_owned(),
            text: Vec::new(),
        });
        let mut sources = vec![mim];
        sources.extend(modules);
        ModuleMerge {
            base: None,
            basis: Basis::default(),
            sources: once(sources),
            known: Vec::new(),
            check,
        }
    }

    /// Those of Join Federation Execution that the federation execution does not have yet.
    pub(crate) fn modules_to_join(&self, modules: Vec<ModuleSource>, check: Check) -> ModuleMerge {
        let there: HashSet<&ModuleSource> = self.modules.iter().collect();
        let modules = once(modules).into_iter();
        let (known, added) = modules.partition(|module| there.contains(module));
        ModuleMerge {
            base: Some(self.model.clone()),
            basis: self.basis(),
            sources: added,
            known,
            check,
        }
    }

    /// What modules merged now are merged into.
    pub(crate) fn basis(&self) -> Basis {
        Basis {
            execution: self.number,
            modules: self.modules.len(),
        }
    }

    /// Create Federation Execution, 1516.1-2010 §4.5.
    pub(crate) fn create(
        name: String,
        merged: impl FnOnce() -> MergedModules,
        time_implementation: String,
    ) -> Result<Self, Exception> {
        let time_implementation = if time_implementation.is_empty() {
            TIMES[0].to_owned()
        } else {
            time_implementation
        };
        if !TIMES.contains(&time_implementation.as_str()) {
            throw!(
                CouldNotCreateLogicalTimeFactory,
                "there is no logical time implementation '{time_implementation}'; there are {}",
                TIMES.join(" and ")
            );
        }
        let merged = merged();
        let (sources, model) = (merged.sources, merged.model?);
        Ok(Execution::new(name, time_implementation, sources, model))
    }

    /// For List Federation Executions, §4.7.
    pub(crate) fn information(&self) -> FederationInformation {
        FederationInformation {
            name: self.name.clone(),
            time_implementation: self.time_implementation.clone(),
        }
    }

    /// For `starling ps`.
    pub(crate) fn status(&self) -> FederationStatus {
        FederationStatus {
            name: self.name.clone(),
            time_implementation: self.time_implementation.clone(),
            modules: self.modules.iter().map(|m| m.designator.clone()).collect(),
            instances: self.instances.len() as u64,
            log: self.log.index(),
            refused: self.refused,
            federates: self
                .members
                .iter()
                .map(|(handle, m)| (m.information(*handle), m.info.clone()))
                .collect(),
        }
    }

    /// Names of the joined federates.
    pub(crate) fn member_names(&self) -> impl Iterator<Item = &str> {
        self.members.values().map(|m| m.name.as_str())
    }

    /// A joined federate by its name: its handle and connection.
    pub(crate) fn member_named(&self, name: &str) -> Option<(FederateHandle, PeerId)> {
        let (handle, _) = self.members.iter().find(|(_, m)| m.name == name)?;
        Some((*handle, self.log.peer(*handle)?))
    }

    /// How modules that a federate brings differ from those that this federation execution has
    /// under the same names, with its age and federates and what to do; none if they don't.
    pub(crate) fn differing(&self, given: &[ModuleSource], now: Duration) -> Option<String> {
        let other = |m: &&ModuleSource| {
            let same_name = |old: &ModuleSource| old.designator == m.designator;
            self.modules.iter().any(same_name) && !self.modules.contains(m)
        };
        let changed = given.iter().filter(other).map(|m| m.designator.as_str());
        let changed = quoted(changed)?;
        let age = now.saturating_sub(self.created).as_secs();
        let name = &self.name;
        let (federates, first) = match quoted(self.member_names()) {
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

    /// A member's name.
    pub(crate) fn federate_name(&self, federate: FederateHandle) -> Option<&str> {
        Some(&self.members.get(&federate)?.name)
    }

    /// Join Federation Execution, §4.9. The joiner gets a snapshot, the others an entry.
    pub(crate) fn join(
        &mut self,
        peer: PeerId,
        info: PeerInfo,
        name: Option<String>,
        kind: String,
        mut merged: MergedModules,
        check: Check,
    ) -> Result<FederateHandle, Exception> {
        require_name("a federate", name.as_deref().unwrap_or_default())?;
        require_name("a federate type", &kind)?;
        for module in &merged.sources {
            require_name("a FOM module", &module.designator)?;
        }
        let used = |name: &str| self.members.values().any(|m| m.name == name);
        if let Some(name) = name.as_ref().filter(|n| used(n)) {
            throw!(
                FederateNameAlreadyInUse,
                "a federate named '{name}' has joined '{}' already",
                self.name
            );
        }
        if merged.basis != self.basis() {
            // Another federate has brought modules meanwhile, or this federation execution is
            // another one of that name.
            merged = self.modules_to_join(merged.brought(), check).run();
        }
        let added = merged.sources;
        let model = merged.model?;
        if !added.is_empty() {
            self.model = model;
            self.modules.extend(added.iter().cloned());
            self.routes.clear();
            self.grow_instances();
        }

        self.log.advance();
        self.last_federate += 1;
        let handle = FederateHandle(self.last_federate);
        let name = name.unwrap_or_else(|| {
            let mut made = format!("{kind}-{}", handle.0);
            while self.members.values().any(|m| m.name == made) {
                made.push('\'');
            }
            made
        });
        let member = Member {
            info,
            name: name.clone(),
            kind,
            resign_directive: fdd_directive(&self.model),
            transportations: Default::default(),
            published: Default::default(),
            published_interactions: Default::default(),
            mom_noted: false,
        };
        let joined = EntryBody::FederateJoined {
            federate: member.information(handle),
            modules: added,
        };
        self.log.tell_all(None, &joined);
        self.members.insert(handle, member);
        self.log.join(handle, peer);
        self.advise_joiner(handle);
        let snapshot = self.snapshot(handle, name);
        self.log.welcome(snapshot);
        self.announce_to_joiner(handle);
        Ok(handle)
    }

    fn snapshot(&self, handle: FederateHandle, name: String) -> Snapshot {
        let federates = self.members.iter();
        let federates = federates.map(|(h, m)| (m.information(*h), self.log.requests(*h)));
        let objects = self.subscriptions.objects();
        Snapshot {
            handle,
            name,
            federation: self.name.clone(),
            time_implementation: self.time_implementation.clone(),
            index: self.log.index(),
            modules: self.modules.clone(),
            federates: federates.collect(),
            object_subscriptions: objects.map(|(f, c, a)| (f, c, a.clone())).collect(),
            interaction_subscriptions: self.subscriptions.interactions().collect(),
            regions: self.subscriptions.regions.specifications(),
            object_region_subscriptions: self.subscriptions.regions.objects(),
            interaction_region_subscriptions: self.subscriptions.regions.interactions(),
        }
    }

    /// A member's connection has ended.
    pub(crate) fn lost(&mut self, federate: FederateHandle, reason: &str) {
        let Some(member) = self.members.get(&federate) else {
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
        if action.deletes() {
            for instance in self.deletable_by(federate) {
                self.remove_instance(cause, instance, federate, &[]);
            }
        }
        self.names
            .retain(|_, used| *used != NameUse::ReservedBy(federate));
        self.subscriptions.forget(federate);
        self.forget_regions(federate);
        self.routes.clear();
        self.log
            .tell_all(cause, &EntryBody::FederateResigned { federate, fault });
        self.members.remove(&federate);
        self.log.leave(federate);
        // What is left can't stay its own, whatever the action says: the federate is gone.
        self.ownership_without(federate);
        // What follows from it stands behind it, and waits for no fence of who is forgotten then.
        self.synchronize_without(federate);
        self.advise_no_more(federate);
        self.advise(None);
    }
}

/// Without repetitions.
fn once(modules: Vec<ModuleSource>) -> Vec<ModuleSource> {
    let mut seen = HashSet::with_capacity(modules.len());
    let new: Vec<bool> = modules.iter().map(|module| seen.insert(module)).collect();
    let modules = modules.into_iter().zip(new);
    modules.filter_map(|(m, new)| new.then_some(m)).collect()
}

impl Member {
    pub(crate) fn information(&self, handle: FederateHandle) -> FederateInformation {
        FederateInformation {
            handle,
            name: self.name.clone(),
            kind: self.kind.clone(),
        }
    }
}
