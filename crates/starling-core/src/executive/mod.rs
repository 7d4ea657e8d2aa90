//! The executive: every federation execution of one rtiexec, and who is connected to it.
//!
//! Inputs come in with `connected`, `receive`, `data` and `disconnected`; after each batch call
//! `settle`, and take the outputs with `poll_output`. Outputs made by an input must be put on a
//! peer's stream before a data frame that came after that input.

mod questions;
#[cfg(test)]
mod tests;

pub(crate) use questions::quoted;

use crate::exception::require_name;
use crate::execution::Execution;
use crate::federation::modules::{self, MergedModules, ModelsRoom, ModuleMerge, require_given};
use crate::log::executive::Log;
use crate::message::{Data, FromExecutive, ModuleSource, PeerInfo, ToExecutive, WHICH_FEDERATION};
use crate::saved;
use crate::{
    Archive, Archived, Exception, ExceptionKind, FederateHandle, PeerId, ProtocolError, Services,
};
use questions::no_federation;
use starling_fom::Check;
use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// Numbers a federation execution for as long as the executive lives: names come back, numbers
/// don't.
type ExecutionId = u64;

struct Peer {
    info: PeerInfo,
    member_of: Option<(ExecutionId, FederateHandle)>,
}

/// All federation executions, and the connections that use them. Single-threaded; whoever
/// drives it owns it.
#[derive(Default)]
pub struct Executive {
    peers: BTreeMap<PeerId, Peer>,
    executions: BTreeMap<ExecutionId, Execution>,
    names: BTreeMap<String, ExecutionId>,
    /// Where the federate was that created an execution, as [`origin`] says.
    origins: BTreeMap<ExecutionId, String>,
    per_origin_max: Option<usize>,
    models_bytes_max: Option<usize>,
    withheld_bytes_max: Option<usize>,
    kept_bytes_max: Option<usize>,
    services: Services,
    /// Texts of modules whose federation executions are gone: messages that wait may hold them.
    gone: Vec<Weak<[u8]>>,
    last_execution: ExecutionId,
    out: VecDeque<(PeerId, FromExecutive)>,
    check: Check,
    /// Federates may have links of their own to each other.
    direct_links: bool,
    notes: VecDeque<(Option<PeerId>, String)>,
    archive: VecDeque<Archive>,
    /// Since it began.
    now: Duration,
}

impl Executive {
    /// An executive without federation executions.
    pub fn new() -> Self {
        Self::default()
    }

    /// How modules are checked from now on.
    pub fn set_check(&mut self, check: Check) {
        self.check = check;
    }

    /// Federates may have links of their own to each other: only then do requests bring fences.
    pub fn allow_direct_links(&mut self) {
        self.direct_links = true;
    }

    /// At most so many federation executions exist at a time that were created from one host.
    pub fn limit_federations(&mut self, per_host: usize) {
        self.per_origin_max = Some(per_host);
    }

    /// The object models of all federation executions take at most so many bytes of memory together.
    pub fn limit_models(&mut self, bytes: usize) {
        self.models_bytes_max = Some(bytes);
    }

    /// About how many bytes of memory the object models of all federation executions take, with the
    /// texts of their modules, and with texts that only messages hold that wait to be sent.
    pub fn models_bytes(&mut self) -> usize {
        self.gone.retain(|text| text.strong_count() > 0);
        // A text that is gone in between has no bytes.
        let texts = self.gone.iter().filter_map(Weak::upgrade);
        let texts: usize = texts.map(|text| text.len()).sum();
        texts
            + self
                .executions
                .values()
                .map(|e| e.federation.model_bytes())
                .sum::<usize>()
    }

    /// What the object model of this federation execution may take.
    fn room_for_model(&mut self, of: Option<ExecutionId>) -> ModelsRoom {
        let own = of.and_then(|id| self.executions.get(&id));
        let own = own.map_or(0, |e| e.federation.model_bytes());
        ModelsRoom {
            max: self.models_bytes_max.unwrap_or(usize::MAX),
            others: self.models_bytes() - own,
        }
    }

    /// How many bytes, about, are kept here of messages in time-stamp order for one federate that
    /// does not advance; beyond it is resigned. Before this is called, any.
    pub fn limit_withheld(&mut self, bytes: usize) {
        self.withheld_bytes_max = Some(bytes);
    }

    /// How many bytes, about, are kept of what one joined federate has made, of each of: names reserved,
    /// object instances registered, regions and what they are used for, synchronization points, and
    /// messages that it can retract. Before this is called, any.
    pub fn limit_kept(&mut self, bytes: usize) {
        self.kept_bytes_max = Some(bytes);
    }

    /// What of the standard federation executions have that are created from now on. Before this is
    /// called, all.
    pub fn set_services(&mut self, services: Services) {
        self.services = services;
    }

    /// A peer has connected and shaken hands. `peer` must be new.
    pub fn connected(&mut self, peer: PeerId, info: PeerInfo) {
        let new = self.peers.insert(
            peer,
            Peer {
                info,
                member_of: None,
            },
        );
        assert!(new.is_none(), "a peer's number is never reused");
    }

    /// Destroys a federation execution that has no joined federates; its name.
    pub fn drop_unused(&mut self, execution: u64) -> Option<String> {
        let empty = self
            .executions
            .get(&execution)?
            .federation
            .members()
            .is_empty();
        let dropped = empty.then(|| self.remove(execution))?;
        Some(dropped?.federation.name().to_owned())
    }

    /// All that it knows of a federation execution, for a save. What is on its way out is no part of
    /// it: take the outputs first.
    pub fn save(&self, federation: &str) -> Option<saved::Execution> {
        let execution = self.executions.get(self.names.get(federation)?)?;
        Some(execution.save())
    }

    /// A federation execution that was saved exists from now on, with these connections as its
    /// members; there must be none of its name. An error if it can't be what was saved.
    pub fn restore(
        &mut self,
        saved: saved::Execution,
        members: &BTreeMap<FederateHandle, PeerId>,
    ) -> Result<(), ProtocolError> {
        let federation = &saved.federation;
        if self.names.contains_key(&federation.name) {
            let name = &federation.name;
            return Err(ProtocolError(format!("'{name}' exists already")));
        }
        let modules = federation.modules.clone();
        let (model, bytes) = modules::restore(&modules)?;
        let name = federation.name.clone();
        let mut execution = Execution::new(name.clone(), saved.time.time_type, modules, model);
        let info = |peer: &PeerId| Some(self.peers.get(peer)?.info.clone());
        let processes = members.iter();
        let processes = processes.filter_map(|(handle, peer)| Some((*handle, info(peer)?)));
        let processes = processes.collect();
        execution.services = saved.services;
        execution.log = Log::restore(saved.log.clone(), members);
        execution.restore(saved, processes)?;
        self.last_execution += 1;
        let id = self.last_execution;
        execution.federation.enter(id, bytes, self.now);
        for (handle, peer) in members {
            if let Some(state) = self.peers.get_mut(peer) {
                state.member_of = Some((id, *handle));
            }
        }
        self.names.insert(name, id);
        self.executions.insert(id, execution);
        Ok(())
    }

    /// Takes the FOM modules out of a message, if it has any that are needed. Merging them takes
    /// time: it can be done on another thread, while other messages are received, and the result
    /// be given to [`receive_merged`](Self::receive_merged) with the message; what else the same
    /// peer sends waits meanwhile. Modules that another federate brings to the federation execution
    /// in between make that merge them again.
    pub fn take_modules(&self, message: &mut ToExecutive) -> Option<ModuleMerge> {
        match message {
            ToExecutive::CreateFederation {
                federation,
                modules,
                mim,
                ..
            } => {
                let new = !self.names.contains_key(federation);
                let take = || (std::mem::take(modules), mim.take());
                let (modules, mim) = new.then(take)?;
                Some(Execution::modules_to_create(modules, mim, self.check))
            }
            ToExecutive::Join {
                federation,
                modules,
                ..
            } => {
                let execution = self.executions.get(self.names.get(federation)?)?;
                let modules = std::mem::take(modules);
                Some(execution.modules_to_join(modules, self.check))
            }
            _ => None,
        }
    }

    /// Whether another federate has brought modules since those of this message were merged, or the
    /// federation execution was restored or is another one of that name. If
    /// [`receive_merged`](Self::receive_merged) is given such, it merges them again.
    pub fn is_outdated(&self, message: &ToExecutive, merged: &MergedModules) -> bool {
        let ToExecutive::Join { federation, .. } = message else {
            return false;
        };
        let id = self.names.get(federation);
        let execution = id.and_then(|id| self.executions.get(id));
        execution.is_some_and(|e| e.basis() != merged.basis)
    }

    /// Tells how much time has gone by since the executive began: periodic updates of the MOM are due by
    /// it, and what it and `starling why` say of ages.
    pub fn set_time(&mut self, now: Duration) {
        self.now = now;
    }

    /// When [`Executive::handle_timeout`] is to be called, since the executive began; none: not
    /// before something else has come.
    pub fn next_timeout(&self) -> Option<Duration> {
        let all = self.executions.values();
        all.filter_map(Execution::next_timeout).min()
    }

    /// Does what is due by the time that was last told. It grows without anybody's doing, so it is not made for a peer
    /// for which there is no room.
    pub fn handle_timeout(&mut self, has_room: impl Fn(PeerId) -> bool) {
        let now = self.now;
        let due = |e: &Execution| e.next_timeout().is_some_and(|due| due <= now);
        let due = self.executions.iter().filter(|(_, e)| due(e));
        for id in due.map(|(id, _)| *id).collect::<Vec<_>>() {
            // A panic has already been answered by ending the federation execution.
            let _ = self.contained(id, |execution| execution.handle_timeout(&has_room));
            self.take_outputs(id);
        }
    }

    /// Something for the log of the executive's process, about what a peer did; of none: it says whom it is about.
    pub fn poll_note(&mut self) -> Option<(Option<PeerId>, String)> {
        self.notes.pop_front()
    }

    /// A control message. On an error the peer's connection must be ended, with `disconnected`.
    pub fn receive(&mut self, peer: PeerId, mut message: ToExecutive) -> Result<(), ProtocolError> {
        let merged = self.take_modules(&mut message).map(ModuleMerge::run);
        self.receive_merged(peer, message, merged)
    }

    /// A control message whose modules, if it had any, were taken and have been merged. On an error
    /// the peer's connection must be ended, with `disconnected`.
    pub fn receive_merged(
        &mut self,
        peer: PeerId,
        message: ToExecutive,
        merged: Option<MergedModules>,
    ) -> Result<(), ProtocolError> {
        match message {
            ToExecutive::CreateFederation {
                federation,
                modules,
                mim,
                time_implementation,
            } => {
                let modules = (modules, mim);
                let done = self.create(peer, federation, modules, merged, time_implementation);
                self.out.push_back((peer, FromExecutive::Done(done)));
            }
            ToExecutive::DestroyFederation { federation } => {
                let done = self.destroy(&federation);
                self.out.push_back((peer, FromExecutive::Done(done)));
            }
            ToExecutive::ListFederations => {
                let list = FromExecutive::Federations(self.information());
                self.out.push_back((peer, list));
            }
            ToExecutive::QueryStatus => {
                let status = FromExecutive::Status(self.status());
                self.out.push_back((peer, status));
            }
            ToExecutive::QueryStatistics => {
                let statistics = FromExecutive::Statistics(self.statistics());
                self.out.push_back((peer, statistics));
            }
            ToExecutive::QueryWhy(question) => {
                let findings = self.why(&question).findings;
                self.out.push_back((peer, FromExecutive::Why(findings)));
            }
            ToExecutive::Join {
                name,
                kind,
                federation,
                modules,
            } => self.join(peer, name, kind, federation, (modules, merged))?,
            ToExecutive::ResignFederate {
                federation,
                federate,
            } => {
                let done = self.resign_by_order(&federation, &federate);
                self.out.push_back((peer, FromExecutive::Done(done)));
            }
            ToExecutive::Leaves { why } => return Err(ProtocolError(why)),
            // The process has the say.
            ToExecutive::Stop { .. } => {
                let why = "only the process of an rtiexec can be stopped";
                let done = Err(Exception::new(ExceptionKind::RTIinternalError, why));
                self.out.push_back((peer, FromExecutive::Done(done)));
            }
            // One that is no member any more may not know it yet.
            ToExecutive::Counted {
                counters,
                doing,
                withheld_bytes_max,
                ..
            } => {
                doing.require_names()?;
                if let Ok((id, federate)) = self.membership(peer) {
                    self.contained(id, |execution| {
                        let member = execution.federation.member_mut(federate);
                        member.map(|m| m.set_told(*counters, doing, withheld_bytes_max))
                    })??;
                }
            }
            ToExecutive::Measured(measured) => {
                measured.require_bounded()?;
                if let Ok((id, federate)) = self.membership(peer) {
                    self.contained(id, |execution| {
                        let member = execution.federation.member_mut(federate);
                        member.map(|m| m.set_measured(measured))
                    })??;
                }
            }
            ToExecutive::Part(part) => {
                let (id, federate) = self.membership(peer)?;
                self.contained(id, |execution| execution.part(federate, *part))??;
                self.take_outputs(id);
            }
            ToExecutive::PartTooLarge { applied, bytes } => {
                let (id, federate) = self.membership(peer)?;
                self.contained(id, |execution| {
                    execution.part_too_large(federate, applied, bytes)
                })?;
                self.take_outputs(id);
            }
            ToExecutive::Time(request) => {
                let (id, federate) = self.membership(peer)?;
                self.contained(id, |execution| execution.time_request(federate, request))??;
                self.take_outputs(id);
            }
            ToExecutive::Request(request) => {
                let (id, federate) = self.membership(peer)?;
                if !request.fenced.is_empty() && !self.direct_links {
                    let why = format!("{federate} sent fences, but there are no links for them");
                    return Err(ProtocolError(why));
                }
                self.contained(id, |execution| execution.request(federate, request))??;
                self.take_outputs(id);
            }
        }
        Ok(())
    }

    /// Whom to forward a data frame to, as it is, into `to`. All outputs that belong before it on
    /// the receivers' streams are ready in `poll_output`.
    pub fn data(
        &mut self,
        peer: PeerId,
        data: &Data<'_>,
        to: &mut Vec<PeerId>,
    ) -> Result<(), ProtocolError> {
        to.clear();
        let (id, federate) = self.membership(peer)?;
        // A data frame seldom has any.
        let has_outputs = self.contained(id, |execution| {
            execution.data(federate, data, to)?;
            Ok(execution.has_outputs())
        })??;
        if has_outputs {
            self.take_outputs(id);
        }
        Ok(())
    }

    /// Takes data frames of `peer`, each with its bytes, as long as nothing but being forwarded comes
    /// of them and they all go to the same peers, which `to` then holds; returns how many bytes these
    /// frames have. The next one, and whatever is wrong with it, is for [`Self::data`].
    pub fn data_run<'a>(
        &mut self,
        peer: PeerId,
        frames: impl Iterator<Item = (Data<'a>, usize)>,
        to: &mut Vec<PeerId>,
    ) -> Result<usize, ProtocolError> {
        to.clear();
        let Ok((id, federate)) = self.membership(peer) else {
            return Ok(0);
        };
        let (bytes, has_outputs) = self.contained(id, |execution| {
            let bytes = execution.data_run(federate, frames, to);
            (bytes, execution.has_outputs())
        })?;
        if has_outputs {
            self.take_outputs(id);
        }
        Ok(bytes)
    }

    /// A connection has ended, for this reason; a joined federate behind it is resigned by its
    /// automatic resign directive.
    pub fn disconnected(&mut self, peer: PeerId, reason: &str) {
        let Some(gone) = self.peers.remove(&peer) else {
            return;
        };
        if let Some((id, federate)) = gone.member_of {
            // A panic has already been answered by ending the federation execution.
            let _ = self.contained(id, |e| e.lost(federate, reason));
            self.take_outputs(id);
        }
        self.out.retain(|(to, _)| *to != peer);
    }

    /// The next thing to be done with saved federation executions.
    pub fn poll_archive(&mut self) -> Option<Archive> {
        self.archive.pop_front()
    }

    /// What has come of a task of [`poll_archive`](Self::poll_archive), by the numbers in it. Why
    /// it could not be done is a sentence without its end.
    pub fn archived(&mut self, execution: u64, task: u64, done: Result<Archived, String>) {
        // A federation execution may be gone by now; a panic has been answered by ending it.
        let _ = self.contained(execution, |e| {
            e.federation.saves().task_done(task);
            match done {
                Ok(Archived::Written) => e.saved(task, Ok(())),
                Ok(Archived::Read(saved)) => e.restore_read(task, Ok(saved)),
                Err(why) => {
                    e.saved(task, Err(why.clone()));
                    e.restore_read(task, Err(why));
                }
            }
        });
        self.take_outputs(execution);
    }

    /// Grants what messages have made possible, and brings every member up to date with its
    /// federation execution's log. Call after a batch.
    pub fn settle(&mut self) {
        self.gone.retain(|text| text.strong_count() > 0);
        self.resign_overdue();
        let is_behind = |e: &Execution| e.log.is_unsettled() || e.time.is_unsettled();
        let behind = self.executions.iter().filter(|(_, e)| is_behind(e));
        let behind: Vec<ExecutionId> = behind.map(|(id, _)| *id).collect();
        for id in behind {
            // A panic has already been answered by ending the federation execution.
            let _ = self.contained(id, |e| {
                if e.time.is_unsettled() {
                    e.settle_time();
                }
                e.log.settle();
            });
            self.take_outputs(id);
        }
    }

    /// Whether there is a message to a peer.
    #[inline]
    pub fn has_output(&self) -> bool {
        !self.out.is_empty()
    }

    /// The next message to a peer.
    pub fn poll_output(&mut self) -> Option<(PeerId, FromExecutive)> {
        let (peer, message) = self.out.pop_front()?;
        Some((peer, message))
    }

    fn membership(&self, peer: PeerId) -> Result<(ExecutionId, FederateHandle), ProtocolError> {
        self.peers
            .get(&peer)
            .and_then(|p| p.member_of)
            .ok_or_else(|| ProtocolError("it is no joined federate, but sent as one".into()))
    }

    fn create(
        &mut self,
        peer: PeerId,
        name: String,
        (modules, mim): (Vec<ModuleSource>, Option<ModuleSource>),
        merged: Option<MergedModules>,
        time_implementation: String,
    ) -> Result<(), Exception> {
        if let Some(existing) = self.names.get(&name).and_then(|id| self.executions.get(id)) {
            let given = merged.as_ref().map_or(&modules[..], |m| &m.sources);
            let mut why = format!("federation execution '{name}' exists already");
            if let Some(differ) = existing.differing(given, self.now) {
                why = format!("{why}: {differ}");
            }
            let kind = ExceptionKind::FederationExecutionAlreadyExists;
            return Err(Exception::new(kind, why));
        }
        require_name("a federation execution", &name)?;
        for module in modules.iter().chain(&mim) {
            require_name("a FOM module", &module.designator)?;
        }
        let (given, own_mim) = match &merged {
            // The MIM comes first; the built-in one travels without its text.
            Some(merged) => {
                let mim = merged.sources.first().filter(|mim| !mim.text.is_empty());
                // Of a MIM that is given as FOM module too only one is left, and it is refused.
                let given = merged.sources.len();
                let given = given.saturating_sub(usize::from(merged.model.is_ok()));
                (given, mim)
            }
            None => (modules.len(), mim.as_ref()),
        };
        require_given(given, own_mim.map(|mim| mim.designator.as_str()))?;
        let origin = self.peers.get(&peer).map_or("", |p| origin(&p.info.path));
        let created = self.origins.values().filter(|o| *o == origin).count();
        if self.per_origin_max.is_some_and(|max| created >= max) {
            return Err(Exception::new(
                ExceptionKind::RTIinternalError,
                format!(
                    "{created} federation executions exist that federates of {origin} have created, and no more are allowed (limits.federations_per_host); destroy some"
                ),
            ));
        }
        let origin = origin.to_owned();
        let room = self.room_for_model(None);
        let check = self.check;
        let merge = || Execution::modules_to_create(modules, mim, check).run();
        let merged = || merged.unwrap_or_else(merge);
        let mut execution = Execution::create(name.clone(), merged, time_implementation, room)?;
        execution.mom.now = self.now;
        execution.services = self.services;
        execution.register_federation();
        if let Some(bytes) = self.withheld_bytes_max {
            execution.time.limit(bytes);
        }
        execution.kept_bytes_max = self.kept_bytes_max.unwrap_or(usize::MAX);
        self.last_execution += 1;
        let bytes = execution.federation.model_bytes();
        execution
            .federation
            .enter(self.last_execution, bytes, self.now);
        self.names.insert(name, self.last_execution);
        self.origins.insert(self.last_execution, origin);
        self.executions.insert(self.last_execution, execution);
        Ok(())
    }

    fn destroy(&mut self, name: &str) -> Result<(), Exception> {
        let id = self.names.get(name).copied();
        let Some((id, execution)) = id.and_then(|id| Some((id, self.executions.get(&id)?))) else {
            return Err(no_federation(name, self.names.keys()));
        };
        if let Some(members) = quoted(execution.federation.member_names()) {
            return Err(Exception::new(
                ExceptionKind::FederatesCurrentlyJoined,
                format!("'{name}' still has joined federates: {members}"),
            ));
        }
        self.remove(id);
        Ok(())
    }

    /// Resigns a joined federate as if its connection had ended, for `starling resign`.
    fn resign_by_order(&mut self, federation: &str, federate: &str) -> Result<(), Exception> {
        let id = match (federation, self.names.len()) {
            ("", 1) => self.names.values().next(),
            (name, _) => self.names.get(name),
        };
        let found = id.and_then(|id| Some((*id, self.executions.get(id)?)));
        let Some((id, execution)) = found else {
            if federation.is_empty() && !self.names.is_empty() {
                let names = quoted(self.names.keys().map(String::as_str)).unwrap_or_default();
                return Err(Exception::new(
                    ExceptionKind::FederationExecutionDoesNotExist,
                    format!("{WHICH_FEDERATION}? There are {names}: name it (--federation)"),
                ));
            }
            return Err(no_federation(federation, self.names.keys()));
        };
        let Some((handle, peer)) = execution.member_named(federate) else {
            let there = quoted(execution.federation.member_names()).unwrap_or("none".into());
            let name = execution.federation.name();
            return Err(Exception::new(
                ExceptionKind::FederateNotExecutionMember,
                format!("'{federate}' is not joined to '{name}'; joined: {there}"),
            ));
        };
        self.resign(id, (handle, peer), "it was resigned by `starling resign`");
        Ok(())
    }

    fn resign(
        &mut self,
        id: ExecutionId,
        (federate, peer): (FederateHandle, PeerId),
        reason: &str,
    ) {
        // First, so that it learns the reason before it finds itself gone.
        let removed = FromExecutive::Removed(reason.into());
        self.out.push_back((peer, removed));
        // A panic has already been answered by ending the federation execution.
        let _ = self.contained(id, |e| e.lost(federate, reason));
        self.take_outputs(id);
    }

    /// Resigns those for whom more is kept than [`limit_withheld`](Self::limit_withheld) says.
    fn resign_overdue(&mut self) {
        let mut overdue = Vec::new();
        for (id, execution) in &mut self.executions {
            if execution.time.has_overdue() {
                for (federate, why) in execution.time.take_overdue() {
                    let peer = execution.log.peer(federate);
                    overdue.extend(peer.map(|peer| (*id, (federate, peer), why)));
                }
            }
        }
        for (id, member, why) in overdue {
            self.resign(id, member, why);
        }
    }

    fn join(
        &mut self,
        peer: PeerId,
        name: Option<String>,
        kind: String,
        federation: String,
        (modules, merged): (Vec<ModuleSource>, Option<MergedModules>),
    ) -> Result<(), ProtocolError> {
        let state = self.peers.get(&peer);
        let state = state.ok_or_else(|| ProtocolError("it never shook hands".into()))?;
        if state.member_of.is_some() {
            return Err(ProtocolError("it joined twice on one connection".into()));
        }
        let info = state.info.clone();
        let Some(id) = self.names.get(&federation).copied() else {
            let refusal = no_federation(&federation, self.names.keys());
            let refusal = FromExecutive::JoinRefused(refusal);
            self.out.push_back((peer, refusal));
            return Ok(());
        };
        let (check, now) = (self.check, self.now);
        let room = self.room_for_model(Some(id));
        let (joined, differ) = self.contained(id, |e| {
            let merged = merged.unwrap_or_else(|| e.modules_to_join(modules, check).run());
            let differ = e.differing(&merged.sources, now);
            let joined = e.join(peer, info, name, kind, (merged, room), check);
            (joined, differ)
        })?;
        self.take_outputs(id);
        match joined {
            Ok(handle) => {
                if let Some(state) = self.peers.get_mut(&peer) {
                    state.member_of = Some((id, handle));
                }
                self.notes.extend(differ.map(|differ| (Some(peer), differ)));
            }
            Err(mut refusal) => {
                if let Some(differ) = differ {
                    refusal.message = format!("{}\n{differ}", refusal.message);
                }
                let refusal = FromExecutive::JoinRefused(refusal);
                self.out.push_back((peer, refusal));
            }
        }
        Ok(())
    }

    /// Runs `work` on a federation execution. A panic ends that one, not the process.
    fn contained<T>(
        &mut self,
        id: ExecutionId,
        work: impl FnOnce(&mut Execution) -> T,
    ) -> Result<T, ProtocolError> {
        let gone = || ProtocolError("its federation execution is gone".into());
        let execution = self.executions.get_mut(&id).ok_or_else(gone)?;
        execution.mom.now = self.now;
        match catch_unwind(AssertUnwindSafe(|| work(execution))) {
            Ok(result) => Ok(result),
            Err(_) => {
                let mut why = "an internal error of the RTI".to_owned();
                if let Some(broken) = self.remove(id) {
                    why = format!(
                        "federation execution '{}' was ended by {why}",
                        broken.federation.name()
                    );
                    for peer in broken.log.peers() {
                        if let Some(p) = self.peers.get_mut(&peer) {
                            p.member_of = None;
                        }
                        let removed = FromExecutive::Removed(why.clone());
                        self.out.push_back((peer, removed));
                    }
                }
                Err(ProtocolError(why))
            }
        }
    }

    fn remove(&mut self, id: ExecutionId) -> Option<Execution> {
        let execution = self.executions.remove(&id)?;
        self.names.remove(execution.federation.name());
        self.origins.remove(&id);
        // Only what a message holds besides: a weak reference would keep the others' memory.
        let held = execution
            .federation
            .modules()
            .iter()
            .filter(|m| Arc::strong_count(&m.text) > 1);
        self.gone.extend(held.map(|m| Arc::downgrade(&m.text)));
        Some(execution)
    }

    fn take_outputs(&mut self, id: ExecutionId) {
        let execution = self.executions.get_mut(&id);
        let Some(execution) = execution.filter(|e| e.has_outputs()) else {
            return;
        };
        self.archive.extend(execution.federation.saves().tasks());
        for (peer, federate) in execution.log.renamed() {
            if let Some(p) = self.peers.get_mut(&peer) {
                p.member_of = Some((id, federate));
            }
        }
        self.out.extend(execution.log.outputs());
        self.notes.extend(execution.notes.drain(..));
        for peer in execution.log.left() {
            if let Some(p) = self.peers.get_mut(&peer) {
                p.member_of = None;
            }
        }
    }
}

/// In the path of who comes by a forwarder, between how it reaches that one and how that one is connected.
pub const BY_FORWARDER: &str = " by forwarder ";

/// Which host a path (`unix`, or `tcp` and the address with the port, and how it is compressed) comes from. All that comes from
/// this host itself is one, whatever address of the loopback network it took.
///
/// Who comes by a forwarder comes from where that one is, as far as this process can tell.
fn origin(path: &str) -> &str {
    const THIS_HOST: &str = "this host";
    let path = path
        .rsplit_once(BY_FORWARDER)
        .map_or(path, |(_, forwarder)| forwarder);
    let path = path.split_once(", ").map_or(path, |(path, _)| path);
    let address = path.strip_prefix("tcp ").map(str::parse::<SocketAddr>);
    match address {
        Some(Ok(address)) if !address.ip().to_canonical().is_loopback() => {
            path.rsplit_once(':').map_or(path, |(host, _port)| host)
        }
        Some(Err(_)) => path,
        Some(Ok(_)) | None => THIS_HOST,
    }
}
