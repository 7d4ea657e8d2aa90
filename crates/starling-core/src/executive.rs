//! The executive: every federation execution of one rtiexec, and who is connected to it.
//!
//! Inputs come in with `connected`, `receive`, `data` and `disconnected`; after each batch call
//! `settle`, and take the outputs with `poll_output`. Outputs made by an input must be put on a
//! peer's stream before a data frame that came after that input.

use crate::execution::Execution;
use crate::message::{
    Data, FederationInformation, FederationStatus, FromExecutive, ModuleSource, PeerInfo,
    ToExecutive,
};
use crate::{Exception, ExceptionKind, FederateHandle, PeerId, ProtocolError};
use std::collections::{BTreeMap, VecDeque};
use std::panic::{AssertUnwindSafe, catch_unwind};

struct Peer {
    info: PeerInfo,
    member_of: Option<(String, FederateHandle)>,
}

/// All federation executions, and the connections that use them. Single-threaded; whoever
/// drives it owns it.
#[derive(Default)]
pub struct Executive {
    peers: BTreeMap<PeerId, Peer>,
    executions: BTreeMap<String, Execution>,
    out: VecDeque<(PeerId, FromExecutive)>,
}

impl Executive {
    /// An executive without federation executions.
    pub fn new() -> Self {
        Self::default()
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

    /// The joined federate behind a peer: federation execution, federate's name, handle.
    pub fn member(&self, peer: PeerId) -> Option<(&str, &str, FederateHandle)> {
        let (federation, handle) = self.peers.get(&peer)?.member_of.as_ref()?;
        let name = self.executions.get(federation)?.federate_name(*handle)?;
        Some((federation, name, *handle))
    }

    /// A control message. On an error the peer's connection must be ended, with `disconnected`.
    pub fn receive(&mut self, peer: PeerId, message: ToExecutive) -> Result<(), ProtocolError> {
        match message {
            ToExecutive::CreateFederation {
                federation,
                modules,
                mim,
                time,
            } => {
                let done = self.create(federation, modules, mim, time);
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
            ToExecutive::Join {
                name,
                kind,
                federation,
                modules,
            } => self.join(peer, name, kind, federation, modules)?,
            ToExecutive::Request(request) => {
                let (federation, federate) = self.membership(peer)?;
                self.contained(&federation, |execution| {
                    execution.request(federate, request)
                })??;
                self.take_outputs(&federation);
            }
        }
        Ok(())
    }

    /// Whom to forward a data frame to, as it is. All outputs that belong before it on the
    /// receivers' streams are ready in `poll_output`.
    pub fn data(&mut self, peer: PeerId, data: &Data<'_>) -> Result<Vec<PeerId>, ProtocolError> {
        // No allocation here once federation executions are numbered: see docs/STATUS.md.
        let (federation, federate) = self.membership(peer)?;
        let to = self.contained(&federation, |execution| execution.data(federate, data))??;
        self.take_outputs(&federation);
        Ok(to)
    }

    /// A connection has ended, for this reason; a joined federate behind it is resigned by its
    /// automatic resign directive.
    pub fn disconnected(&mut self, peer: PeerId, reason: &str) {
        let Some(gone) = self.peers.remove(&peer) else {
            return;
        };
        if let Some((federation, federate)) = gone.member_of {
            // A panic has already been answered by ending the federation execution.
            let _ = self.contained(&federation, |e| e.lost(federate, reason));
            self.take_outputs(&federation);
        }
        self.out.retain(|(to, _)| *to != peer);
    }

    /// Brings every member up to date with its federation execution's log. Call after a batch.
    pub fn settle(&mut self) {
        for execution in self.executions.values_mut() {
            execution.settle();
            self.out.extend(execution.outputs());
        }
    }

    /// The next message to a peer.
    pub fn poll_output(&mut self) -> Option<(PeerId, FromExecutive)> {
        let (peer, message) = self.out.pop_front()?;
        Some((peer, message))
    }

    fn membership(&self, peer: PeerId) -> Result<(String, FederateHandle), ProtocolError> {
        self.peers
            .get(&peer)
            .and_then(|p| p.member_of.clone())
            .ok_or_else(|| ProtocolError("it is no joined federate, but sent as one".into()))
    }

    fn create(
        &mut self,
        name: String,
        modules: Vec<ModuleSource>,
        mim: Option<ModuleSource>,
        time: String,
    ) -> Result<(), Exception> {
        if self.executions.contains_key(&name) {
            return Err(Exception::new(
                ExceptionKind::FederationExecutionAlreadyExists,
                format!("federation execution '{name}' exists already"),
            ));
        }
        let execution = Execution::create(name.clone(), modules, mim, time)?;
        self.executions.insert(name, execution);
        Ok(())
    }

    fn destroy(&mut self, name: &str) -> Result<(), Exception> {
        let Some(execution) = self.executions.get(name) else {
            return Err(no_federation(name, self.executions.keys()));
        };
        let members = execution.member_names();
        if !members.is_empty() {
            return Err(Exception::new(
                ExceptionKind::FederatesCurrentlyJoined,
                format!(
                    "'{name}' still has joined federates: {}",
                    members.join(", ")
                ),
            ));
        }
        self.executions.remove(name);
        Ok(())
    }

    fn join(
        &mut self,
        peer: PeerId,
        name: Option<String>,
        kind: String,
        federation: String,
        modules: Vec<ModuleSource>,
    ) -> Result<(), ProtocolError> {
        let state = self.peers.get(&peer);
        let state = state.ok_or_else(|| ProtocolError("it never shook hands".into()))?;
        if state.member_of.is_some() {
            return Err(ProtocolError("it joined twice on one connection".into()));
        }
        let info = state.info.clone();
        if !self.executions.contains_key(&federation) {
            let refusal = no_federation(&federation, self.executions.keys());
            let refusal = FromExecutive::JoinRefused(refusal);
            self.out.push_back((peer, refusal));
            return Ok(());
        }
        let joined = self.contained(&federation, |e| e.join(peer, info, name, kind, modules))?;
        self.take_outputs(&federation);
        match joined {
            Ok(handle) => {
                if let Some(state) = self.peers.get_mut(&peer) {
                    state.member_of = Some((federation, handle));
                }
            }
            Err(refusal) => {
                let refusal = FromExecutive::JoinRefused(refusal);
                self.out.push_back((peer, refusal));
            }
        }
        Ok(())
    }

    /// Runs `work` on a federation execution. A panic ends that one, not the process.
    fn contained<T>(
        &mut self,
        federation: &str,
        work: impl FnOnce(&mut Execution) -> T,
    ) -> Result<T, ProtocolError> {
        let gone = || ProtocolError(format!("federation execution '{federation}' is gone"));
        let execution = self.executions.get_mut(federation).ok_or_else(gone)?;
        match catch_unwind(AssertUnwindSafe(|| work(execution))) {
            Ok(result) => Ok(result),
            Err(_) => {
                let why = format!(
                    "federation execution '{federation}' was ended by an internal error of the RTI"
                );
                if let Some(broken) = self.executions.remove(federation) {
                    for peer in broken.peers() {
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

    fn take_outputs(&mut self, federation: &str) {
        let Some(execution) = self.executions.get_mut(federation) else {
            return;
        };
        self.out.extend(execution.outputs());
        for peer in execution.left() {
            if let Some(p) = self.peers.get_mut(&peer) {
                p.member_of = None;
            }
        }
    }
}

fn no_federation<'a>(name: &str, existing: impl Iterator<Item = &'a String>) -> Exception {
    let existing: Vec<_> = existing.map(|n| format!("'{n}'")).collect();
    let there = if existing.is_empty() {
        "there is none".to_owned()
    } else {
        format!("there are {}", existing.join(", "))
    };
    Exception::new(
        ExceptionKind::FederationExecutionDoesNotExist,
        format!("there is no federation execution '{name}' ({there})"),
    )
}
