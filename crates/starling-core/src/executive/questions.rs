//! What others ask of the executive: `listFederationExecutions`, `starling ps`, `starling why`, and
//! what its own process wants to know of it. Nothing here changes a federation execution.

use super::Executive;
use crate::execution::Execution;
use crate::message::statistics::{FederateStatistics, Statistics};
use crate::message::{
    FederationInformation, FederationStatus, Finding, Question, TimeStatus, WHICH_FEDERATION,
};
use crate::{Exception, ExceptionKind, FederateHandle, LongWait, PeerId, Why};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// How many federation executions or federates a message names.
const NAMES_SHOWN: usize = 10;

impl Executive {
    /// Federation executions that exist.
    pub fn federations(&self) -> usize {
        self.executions.len()
    }

    /// Federation executions without joined federates: name, and a number that is never reused.
    pub fn without_members(&self) -> impl Iterator<Item = (String, u64)> {
        let empty = self
            .executions
            .iter()
            .filter(|(_, e)| e.federation.members().is_empty());
        empty.map(|(id, e)| (e.federation.name().to_owned(), *id))
    }

    /// Joined federates of all federation executions.
    pub fn joined(&self) -> usize {
        self.peers
            .values()
            .filter(|p| p.member_of.is_some())
            .count()
    }

    /// The joined federate behind a peer: federation execution, federate's name, handle.
    pub fn member(&self, peer: PeerId) -> Option<(&str, &str, FederateHandle)> {
        let (id, handle) = self.peers.get(&peer)?.member_of?;
        let execution = self.executions.get(&id)?;
        Some((
            execution.federation.name(),
            execution.federation.federate_name(handle)?,
            handle,
        ))
    }

    /// The federation execution of which a peer is a member, by a number that is never reused, and the
    /// federate that it is there.
    pub fn member_of(&self, peer: PeerId) -> Option<(u64, FederateHandle)> {
        self.peers.get(&peer)?.member_of
    }

    /// Where the joined federates of a federation execution stand in time; none if there is no such
    /// federation execution.
    pub fn time_status(&self, federation: &str) -> Option<Vec<(FederateHandle, TimeStatus)>> {
        let execution = self.executions.get(self.names.get(federation)?)?;
        let members = execution.time.times().federates();
        Some(members.map(|f| (f, execution.time_status(f))).collect())
    }

    /// Walks the chain from senders to a receiver, or from a federate to those whom its time waits
    /// for, up to the first link that fails.
    pub fn why(&mut self, question: &Question) -> Why {
        self.tell_time();
        // It changes nothing, so a panic in it leaves nothing half-changed.
        let found = catch_unwind(AssertUnwindSafe(|| self.walk(question)));
        found.unwrap_or_else(|_| {
            let finding = Finding {
                link: "rtiexec".into(),
                holds: false,
                detail: "an internal error of the RTI in looking for it; see the log of rtiexec"
                    .into(),
            };
            Why {
                findings: vec![finding],
                ..Why::default()
            }
        })
    }

    /// Federates that have waited for their time for longer than this, and federation executions whose
    /// save, restore or synchronization point has; each wait is named once.
    pub fn take_long_waits(&mut self, longer: Duration) -> Vec<LongWait> {
        self.tell_time();
        let all = self.executions.values_mut();
        let waits = |e: &mut Execution| {
            let mut waits = e.take_long_under_way(longer);
            waits.extend(e.take_long_waits(longer));
            waits
        };
        all.flat_map(waits).collect()
    }

    /// As of when they are asked.
    fn tell_time(&mut self) {
        for execution in self.executions.values_mut() {
            execution.mom.now = self.now;
        }
    }

    fn walk(&self, question: &Question) -> Why {
        let federate = &question.federate;
        let suits = |e: &&Execution| match question.federation.as_str() {
            "" => self.executions.len() == 1 || e.federation.member_named(federate).is_some(),
            name => e.federation.name() == name,
        };
        let suiting: Vec<_> = self.executions.values().filter(suits).collect();
        if let [execution] = suiting[..] {
            return execution.why(question);
        }
        let there_are = there_are(self.names.keys());
        let (link, detail) = match (question.federation.as_str(), self.names.is_empty()) {
            (_, true) => (
                "federation execution",
                "there is no federation execution".to_owned(),
            ),
            ("", _) => match quoted(suiting.iter().map(|e| e.federation.name())) {
                Some(names) => (
                    WHICH_FEDERATION,
                    format!(
                        "'{federate}' is joined to several, name one (--federation NAME): {names}"
                    ),
                ),
                None => (
                    "joined",
                    format!("'{federate}' is joined to no federation execution; {there_are}"),
                ),
            },
            (name, _) => (
                "federation execution",
                format!("there is no '{name}'; {there_are}"),
            ),
        };
        let finding = Finding {
            link: link.to_owned(),
            holds: false,
            detail,
        };
        Why {
            findings: vec![finding],
            ..Why::default()
        }
    }

    /// Lists the federation executions (1516.1-2010 §4.7).
    pub(super) fn information(&self) -> Vec<FederationInformation> {
        let all = self.executions.values();
        all.map(Execution::information).collect()
    }

    /// How every federation execution stands now, for `starling ps`.
    pub(super) fn status(&mut self) -> Vec<FederationStatus> {
        self.tell_time();
        let all = self.executions.values();
        all.map(Execution::status).collect()
    }

    /// What all joined federates measure, for `starling stats`; of very many federates those that were told
    /// of first.
    pub(super) fn statistics(&self) -> Vec<FederateStatistics> {
        let all = self.executions.values().map(|e| &e.federation);
        let all = all.flat_map(|f| f.members().iter().map(|(n, m)| m.statistics(f.name(), *n)));
        let mut bytes = 0;
        all.map(|mut of| {
            bytes += of.told.as_ref().map_or(0, Statistics::bytes);
            of.told.take_if(|_| bytes > Statistics::ANSWER_BYTES_MAX);
            of
        })
        .collect()
    }
}

/// A service named a federation execution that does not exist.
pub(super) fn no_federation<'a>(
    name: &str,
    existing: impl Iterator<Item = &'a String>,
) -> Exception {
    let mut existing = existing.peekable();
    let why = match (name, existing.peek()) {
        ("", None) => "there is no federation execution".to_owned(),
        _ => format!(
            "there is no federation execution '{name}' ({})",
            there_are(existing)
        ),
    };
    Exception::new(ExceptionKind::FederationExecutionDoesNotExist, why)
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
