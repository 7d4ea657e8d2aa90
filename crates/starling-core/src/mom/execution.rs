//! The MOM at the executive: whose instances there are, who waits for what, and the RTI's own timer.

use super::counts::Counted;
use super::objects::Spent;
use super::reports::Fault;
use crate::execution::Execution;
use crate::message::mom::{Entry, Request, Switches};
use crate::message::{Cause, ModuleSource};
use crate::{AttributeHandle, FederateHandle, ProtocolError};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// What the executive knows of this chapter.
#[derive(Default)]
pub(crate) struct ExecutionMom {
    /// Since the executive began.
    pub(crate) now: Duration,
    pub(super) federates: BTreeMap<FederateHandle, Managed>,
    /// Those with a period, by when their next update is due.
    pub(super) periodic: BTreeSet<(Duration, FederateHandle)>,
    /// Members that had no room for more messages when the last of these was due.
    pub(super) full: BTreeSet<FederateHandle>,
    /// The Auto-Provide Switch, once it was set.
    pub(super) auto_provide: Option<bool>,
    /// HLAcurrentFDD, as it was with so many modules.
    pub(super) fdd: Option<(usize, Vec<u8>)>,
    /// The text of the module that was asked for last, and the value that it is in reports.
    pub(super) module: Option<(Arc<[u8]>, Vec<u8>)>,
}

/// A member, to the MOM.
pub(super) struct Managed {
    /// FOM modules that it brought, also those that were there already.
    pub(super) modules: Vec<ModuleSource>,
    pub(super) asynchronous: bool,
    pub(super) switches: Switches,
    pub(super) spent: Spent,
    /// Its service invocations that were reported.
    pub(super) reports: u64,
    /// Between periodic updates.
    pub(super) period: Option<Period>,
    /// What waits for its counts, in the order of asking: of each kind one.
    pub(super) waiting: VecDeque<Waiting>,
    /// What came to be asked while one of its kind was waiting: of each kind one.
    pub(super) again: Vec<Waiting>,
    /// Some update that waits for its counts was asked for, and is not due by the clock only.
    pub(super) is_asked: bool,
}

/// Seconds between periodic updates at most: HLAseconds is signed.
pub(super) const PERIOD_MAX: u32 = i32::MAX as u32;

/// Periodic updates of one HLAmanager.HLAfederate.
pub(super) struct Period {
    pub(super) length: Duration,
    /// When the next one is due, since the executive began.
    pub(super) due: Duration,
}

/// What needs a federate's counts. All reports of a class are one kind, all updates another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Waiting {
    /// An update of these attributes.
    Update(Vec<AttributeHandle>),
    /// A report of this.
    Report(Counted),
}

impl Waiting {
    pub(super) fn is_same_kind(&self, other: &Self) -> bool {
        match (self, other) {
            (Waiting::Update(_), Waiting::Update(_)) => true,
            (Waiting::Report(one), Waiting::Report(another)) => one == another,
            _ => false,
        }
    }

    /// Takes in what another of its kind asks for.
    fn extend(&mut self, other: Self) {
        if let (Waiting::Update(here), Waiting::Update(more)) = (self, other) {
            here.extend(more);
            here.sort_unstable();
            here.dedup();
        }
    }
}

/// Why the RTI updates attributes of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Somebody has asked for it, or they have changed.
    Asked,
    /// It is due by the clock, and not made for who has no room for it: nobody is held up that it does not grow, and
    /// the next one is newer.
    Due,
}

impl ExecutionMom {
    /// Members, for each time that they have been asked for their counts and have not answered.
    fn asked(&self) -> Vec<FederateHandle> {
        let all = self.federates.iter();
        all.flat_map(|(federate, m)| m.waiting.iter().map(|_| *federate))
            .collect()
    }

    /// Whether asynchronous delivery is enabled at a member (§8.14).
    pub(crate) fn delivers_asynchronously(&self, federate: FederateHandle) -> bool {
        let managed = self.federates.get(&federate);
        managed.is_some_and(|m| m.asynchronous)
    }

    /// A member's periodic updates from now on, or none.
    pub(super) fn set_period(&mut self, federate: FederateHandle, period: Option<Period>) {
        let Some(managed) = self.federates.get_mut(&federate) else {
            return;
        };
        if let Some(former) = &managed.period {
            self.periodic.remove(&(former.due, federate));
        }
        self.periodic
            .extend(period.as_ref().map(|p| (p.due, federate)));
        managed.period = period;
    }
}

impl Execution {
    /// A request of this chapter.
    pub(crate) fn serve_mom(
        &mut self,
        cause: Cause,
        request: Request,
    ) -> Result<(), ProtocolError> {
        match request {
            Request::Sent { .. } | Request::Invoked(_) if !self.services.mom => {
                let why = "says something to a management object model that there is not";
                Err(ProtocolError(format!("{} {why}", cause.sender)))
            }
            Request::Sent { class, values } => self.interaction_to_rti(cause, class, &values),
            Request::Counts(counts) => {
                let sender = cause.sender;
                let managed = self.mom.federates.get_mut(&sender);
                let next = managed.and_then(|managed| {
                    let next = managed.waiting.pop_front()?;
                    let mut again = managed.again.iter();
                    let again = again.position(|again| again.is_same_kind(&next));
                    let again = again.map(|at| managed.again.swap_remove(at));
                    let why = if managed.is_asked {
                        Why::Asked
                    } else {
                        Why::Due
                    };
                    managed.is_asked &= again.is_some() || matches!(next, Waiting::Report(_));
                    Some((next, again, why))
                });
                let Some((next, again, why)) = next else {
                    let why = format!("{sender} told its counts, which nobody had asked for");
                    return Err(ProtocolError(why));
                };
                match next {
                    Waiting::Update(attributes) => {
                        let instance = super::instance_of(sender);
                        self.update_own(cause, instance, &attributes, why, Some(&counts));
                    }
                    Waiting::Report(asked) => self.report_counts(cause, sender, asked, &counts),
                }
                if let Some(again) = again {
                    self.ask_counts(cause, sender, again);
                }
                Ok(())
            }
            Request::Refused {
                class,
                why,
                parameter,
            } => {
                let class = self.model.interaction_class(class);
                let name = class.map(|c| c.name.clone()).unwrap_or_default();
                let fault = Fault { why, parameter };
                self.report_mom_exception(cause, cause.sender, &name, fault);
                Ok(())
            }
            Request::Invoked(invocation) => {
                self.report_invoked(cause, &invocation);
                Ok(())
            }
            Request::AsynchronousDelivery(on) => {
                if let Some(managed) = self.mom.federates.get_mut(&cause.sender) {
                    managed.asynchronous = on;
                }
                self.changed(cause.sender, &["HLAasynchronousDelivery"]);
                Ok(())
            }
        }
    }

    /// Asks for all that was asked for at the save that is restored: who has answered since did so to one that
    /// is no more.
    pub(crate) fn ask_counts_again(&mut self) {
        for federate in self.mom.asked() {
            self.log.tell(None, &[federate], Entry::Ask);
        }
    }

    /// Asks a federate for its counts, for this. While it has not answered one of this kind, all further ones wait
    /// for that, and then for one answer together, which goes to all who subscribe: so whoever asks is answered
    /// by what was counted when it asked or later, and a federate that does not answer is asked no more.
    pub(super) fn ask_counts(
        &mut self,
        cause: impl Into<Option<Cause>>,
        federate: FederateHandle,
        waiting: Waiting,
    ) {
        let Some(managed) = self.mom.federates.get_mut(&federate) else {
            return;
        };
        if !managed.waiting.iter().any(|w| w.is_same_kind(&waiting)) {
            managed.waiting.push_back(waiting);
            self.log.tell(cause, &[federate], Entry::Ask);
            return;
        }
        let mut again = managed.again.iter_mut();
        match again.find(|w| w.is_same_kind(&waiting)) {
            Some(again) => again.extend(waiting),
            None => managed.again.push(waiting),
        }
    }
}
