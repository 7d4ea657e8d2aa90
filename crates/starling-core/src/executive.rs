//! The executive: every federation execution of one rtiexec, and who is connected to it.
//!
//! Inputs come in with `connected`, `receive`, `data` and `disconnected`; after each batch call
//! `settle`, and take the outputs with `poll_output`. Outputs made by an input must be put on a
//! peer's stream before a data frame that came after that input.

use crate::exception::require_name;
use crate::execution::Execution;
use crate::federation::modules::{MergedModules, ModuleMerge};
use crate::message::{
    Data, FederationInformation, FederationStatus, Finding, FromExecutive, ModuleSource, PeerInfo,
    Question, ToExecutive,
};
use crate::{Exception, ExceptionKind, FederateHandle, PeerId, ProtocolError};
use starling_fom::Check;
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// Numbers a federation execution for as long as the executive lives: names come back, numbers
/// don't.
type ExecutionId = u64;

/// How many federation executions or federates a message names.
const NAMES_SHOWN: usize = 10;

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
    /// Whence an execution was created, as [`origin`] says.
    origins: BTreeMap<ExecutionId, String>,
    per_origin_max: Option<usize>,
    last_execution: ExecutionId,
    out: VecDeque<(PeerId, FromExecutive)>,
    check: Check,
    notes: VecDeque<(PeerId, String)>,
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

    /// At most so many federation executions exist at a time that were created from one host.
    pub fn limit_federations(&mut self, per_host: usize) {
        self.per_origin_max = Some(per_host);
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

    /// Federation executions that exist.
    pub fn federations(&self) -> usize {
        self.executions.len()
    }

    /// Federation executions without joined federates: name, and a number that is never reused.
    pub fn without_members(&self) -> impl Iterator<Item = (String, u64)> {
        let empty = self.executions.iter().filter(|(_, e)| e.members.is_empty());
        empty.map(|(id, e)| (e.name.clone(), *id))
    }

    /// Destroys a federation execution that has no joined federates; its name.
    pub fn drop_unused(&mut self, execution: u64) -> Option<String> {
        let empty = self.executions.get(&execution)?.members.is_empty();
        let dropped = empty.then(|| self.remove(execution))?;
        Some(dropped?.name)
    }

    /// The joined federate behind a peer: federation execution, federate's name, handle.
    pub fn member(&self, peer: PeerId) -> Option<(&str, &str, FederateHandle)> {
        let (id, handle) = self.peers.get(&peer)?.member_of?;
        let execution = self.executions.get(&id)?;
        Some((&execution.name, execution.federate_name(handle)?, handle))
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
    /// federation execution is another one of that name. If
    /// [`receive_merged`](Self::receive_merged) is given such, it merges them again.
    pub fn is_outdated(&self, message: &ToExecutive, merged: &MergedModules) -> bool {
        let ToExecutive::Join { federation, .. } = message else {
            return false;
        };
        let id = self.names.get(federation);
        let execution = id.and_then(|id| self.executions.get(id));
        execution.is_some_and(|e| e.basis() != merged.basis)
    }

    /// Tells how much time has gone by since the executive began; only for ages in messages.
    pub fn set_time(&mut self, now: Duration) {
        self.now = now;
    }

    /// Joined federates of all federation executions.
    pub fn joined(&self) -> usize {
        self.peers
            .values()
            .filter(|p| p.member_of.is_some())
            .count()
    }

    /// Something for the log of the executive's process, about what a peer did.
    pub fn poll_note(&mut self) -> Option<(PeerId, String)> {
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
                let list = self.executions.values().map(Execution::information);
                let list: Vec<FederationInformation> = list.collect();
                self.out.push_back((peer, FromExecutive::Federations(list)));
            }
            ToExecutive::QueryStatus => {
                let list = self.executions.values().map(Execution::status);
                let list: Vec<FederationStatus> = list.collect();
                self.out.push_back((peer, FromExecutive::Status(list)));
            }
            ToExecutive::QueryWhy(question) => {
                let (findings, _) = self.why(&question);
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
            // The process has the say.
            ToExecutive::Stop { .. } => {
                let why = "only the process of an rtiexec can be stopped";
                let done = Err(Exception::new(ExceptionKind::RTIinternalError, why));
                self.out.push_back((peer, FromExecutive::Done(done)));
            }
            ToExecutive::Request(request) => {
                let (id, federate) = self.membership(peer)?;
                self.contained(id, |execution| execution.request(federate, request))??;
                self.take_outputs(id);
            }
        }
        Ok(())
    }

    /// Walks the chain from senders to a receiver up to the first link that fails; with the
    /// receiver's connection if it is joined.
    pub fn why(&self, question: &Question) -> (Vec<Finding>, Option<PeerId>) {
        // It changes nothing, so a panic in it leaves nothing half-changed.
        let found = catch_unwind(AssertUnwindSafe(|| self.walk(question)));
        found.unwrap_or_else(|_| {
            let finding = Finding {
                link: "rtiexec".into(),
                holds: false,
                detail: "an internal error of the RTI in looking for it; see the log of rtiexec"
                    .into(),
            };
            (vec![finding], None)
        })
    }

    fn walk(&self, question: &Question) -> (Vec<Finding>, Option<PeerId>) {
        let mut all = self.executions.values();
        let found = match (question.federation.as_str(), self.executions.len()) {
            ("", 1) => all.next(),
            (name, _) => all.find(|e| e.name == name),
        };
        let Some(execution) = found else {
            let there_are = there_are(self.names.keys());
            let detail = match (question.federation.as_str(), self.names.is_empty()) {
                (_, true) => "there is no federation execution".to_owned(),
                ("", _) => format!("name one of the federation executions: {there_are}"),
                (name, _) => format!("there is no '{name}'; {there_are}"),
            };
            let link = "federation execution".to_owned();
            let holds = false;
            let finding = Finding {
                link,
                holds,
                detail,
            };
            return (vec![finding], None);
        };
        let (findings, federate) = execution.why(question);
        (findings, federate.and_then(|f| execution.log.peer(f)))
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
        self.contained(id, |execution| execution.data(federate, data, to))??;
        self.take_outputs(id);
        Ok(())
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

    /// Brings every member up to date with its federation execution's log. Call after a batch.
    pub fn settle(&mut self) {
        let behind = self.executions.iter().filter(|(_, e)| e.log.is_unsettled());
        let behind: Vec<ExecutionId> = behind.map(|(id, _)| *id).collect();
        for id in behind {
            // A panic has already been answered by ending the federation execution.
            let _ = self.contained(id, |e| e.log.settle());
            self.take_outputs(id);
        }
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
        let origin = self.peers.get(&peer).map_or("", |p| origin(&p.info.path));
        let created = self.origins.values().filter(|o| *o == origin).count();
        if self.per_origin_max.is_some_and(|max| created >= max) {
            return Err(Exception::new(
                ExceptionKind::RTIinternalError,
                format!(
                    "{created} federation executions exist that federates connected by {origin} \
                     have created, and no more are allowed (limits.federations_per_host); destroy some"
                ),
            ));
        }
        let origin = origin.to_owned();
        let check = self.check;
        let merge = || Execution::modules_to_create(modules, mim, check).run();
        let merged = || merged.unwrap_or_else(merge);
        let mut execution = Execution::create(name.clone(), merged, time_implementation)?;
        execution.created = self.now;
        self.last_execution += 1;
        execution.number = self.last_execution;
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
        if let Some(members) = quoted(execution.member_names()) {
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
            return Err(no_federation(federation, self.names.keys()));
        };
        let Some((handle, peer)) = execution.member_named(federate) else {
            let there = quoted(execution.member_names()).unwrap_or("none".into());
            let name = &execution.name;
            return Err(Exception::new(
                ExceptionKind::FederateNotExecutionMember,
                format!("'{federate}' is not joined to '{name}'; joined: {there}"),
            ));
        };
        let reason = "it was resigned by `starling resign`";
        // First, so that it learns the reason before it finds itself gone.
        let removed = FromExecutive::Removed(reason.into());
        self.out.push_back((peer, removed));
        // A panic has already been answered by ending the federation execution.
        let _ = self.contained(id, |e| e.lost(handle, reason));
        self.take_outputs(id);
        Ok(())
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
        let (joined, differ) = self.contained(id, |e| {
            let merged = merged.unwrap_or_else(|| e.modules_to_join(modules, check).run());
            let differ = e.differing(&merged.sources, now);
            (e.join(peer, info, name, kind, merged, check), differ)
        })?;
        self.take_outputs(id);
        match joined {
            Ok(handle) => {
                if let Some(state) = self.peers.get_mut(&peer) {
                    state.member_of = Some((id, handle));
                }
                self.notes.extend(differ.map(|differ| (peer, differ)));
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
        match catch_unwind(AssertUnwindSafe(|| work(execution))) {
            Ok(result) => Ok(result),
            Err(_) => {
                let mut why = "an internal error of the RTI".to_owned();
                if let Some(broken) = self.remove(id) {
                    why = format!("federation execution '{}' was ended by {why}", broken.name);
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
        self.names.remove(&execution.name);
        self.origins.remove(&id);
        Some(execution)
    }

    fn take_outputs(&mut self, id: ExecutionId) {
        let execution = self.executions.get_mut(&id);
        // A data frame seldom has any.
        let Some(execution) = execution.filter(|e| e.log.has_news() || !e.notes.is_empty()) else {
            return;
        };
        self.out.extend(execution.log.outputs());
        self.notes.extend(execution.notes.drain(..));
        for peer in execution.log.left() {
            if let Some(p) = self.peers.get_mut(&peer) {
                p.member_of = None;
            }
        }
    }
}

/// Which host a path comes from: `unix`, or `tcp` and the address without the port.
fn origin(path: &str) -> &str {
    path.rsplit_once(':').map_or(path, |(host, _port)| host)
}

fn no_federation<'a>(name: &str, existing: impl Iterator<Item = &'a String>) -> Exception {
    Exception::new(
        ExceptionKind::FederationExecutionDoesNotExist,
        format!(
            "there is no federation execution '{name}' ({})",
            there_are(existing)
        ),
    )
}

/// Which federation executions exist.
fn there_are<'a>(existing: impl Iterator<Item = &'a String>) -> String {
    let names = quoted(existing.map(String::as_str));
    names.map_or("there is none".into(), |names| format!("there are {names}"))
}

/// Names for a message: the first ones, and the number of the others. None if there are none.
pub(crate) fn quoted<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut names = names.map(|n| format!("'{n}'"));
    let shown: Vec<_> = names.by_ref().take(NAMES_SHOWN).collect();
    let shown = (!shown.is_empty()).then(|| shown.join(", "))?;
    Some(match names.count() {
        0 => shown,
        more => format!("{shown} and {more} more"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_in_why_ends_no_federation_execution() {
        let mut executive = Executive::new();
        executive.connected(PeerId(1), PeerInfo::default());
        let create = ToExecutive::CreateFederation {
            federation: "F".into(),
            modules: vec![],
            mim: None,
            time_implementation: String::new(),
        };
        executive.receive(PeerId(1), create).unwrap();
        executive.poll_output();
        let question = ToExecutive::QueryWhy(Question {
            federation: "F".into(),
            federate: crate::why::PANIC.into(),
            subject: String::new(),
        });
        executive.receive(PeerId(1), question).unwrap();
        let Some((PeerId(1), FromExecutive::Why(findings))) = executive.poll_output() else {
            panic!("no answer");
        };
        assert!(!findings[0].holds && findings[0].detail.contains("internal error"));
        assert_eq!(executive.federations(), 1);
    }
}
