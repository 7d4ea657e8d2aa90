//! Federation restore, 1516.1-2010 §4.24 to §4.32.
//!
//! The request is answered when the save has been read and found to fit: the same object model,
//! the same time implementation, and for each of its federates one of the same type, of the same
//! name first. The restore begins when the asking federate has been told so, and goes on when all
//! have been told that it has begun. Until all are complete nothing of the federation execution
//! changes, so a restore that fails leaves everything as it was. Then all changes at once: the
//! executive is what it was at the save, a new epoch begins, and each federate begins again with its
//! part of the save, under the handle and the name that it had then.
//!
//! Invariants:
//! - from its request (§4.24) on nobody joins, and from its beginning on (§4.26) no time is granted: the joined
//!   federates fit the save. Who leaves between the answer (§4.25) and the beginning ends the restore, and who
//!   asked, who alone knows of it, is told that it can't be any more;
//! - indices of the log go on, beyond those of the save and of what was before the restore.

use super::save::{
    Archive, QueuedSave, SavedFederation, Stages, TASK_IS_OUT, failed_text, why_no_label,
};
use super::under_way::Joint;
use super::whole::merged;
use crate::callback::Callback;
use crate::exception::require_name;
use crate::execution::Execution;
use crate::executive::quoted;
use crate::log::federate::DataPath;
use crate::message::save::{Entry, Request};
use crate::message::{Cause, LogIndex, ModuleSource, Restored};
use crate::mom::mim_text;
use crate::{Exception, Federate, FederateHandle, ProtocolError};
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::iter::zip;
use std::sync::Arc;

/// Why a federation execution was not restored (C++ numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RestoreFailure {
    RtiUnableToRestore = 0,
    FederateReportedFailureDuringRestore = 1,
    FederateResignedDuringRestore = 2,
    RtiDetectedFailureDuringRestore = 3,
    RestoreAborted = 4,
}

/// How far a federate has come with a restore (C++ numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum RestoreStatus {
    NoRestoreInProgress = 0,
    FederateRestoreRequestPending = 1,
    FederateWaitingForRestoreToBegin = 2,
    FederatePreparedToRestore = 3,
    FederateRestoring = 4,
    FederateWaitingForFederationToRestore = 5,
}

/// One federate in Federation Restore Status Response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RestoreState {
    /// Its handle before the restore.
    pub before: FederateHandle,
    /// Its handle after the restore; the same where none is in progress.
    pub after: FederateHandle,
    /// How far it has come.
    pub status: RestoreStatus,
}

/// How far a restore has come for a federate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum RestoreStage {
    #[default]
    None,
    Begun,
    Initiated,
    Complete,
}

/// A restore that was asked for.
struct Restore {
    label: String,
    began: LogIndex,
    asked: FederateHandle,
    /// The task in which the save is read.
    reading: Option<u64>,
    /// What was read.
    saved: Option<Box<SavedFederation>>,
    /// Joined federates: the handle after the restore, and how far they are. Empty until the save
    /// has been read.
    members: BTreeMap<FederateHandle, (FederateHandle, RestoreStatus)>,
    begun: bool,
}

/// Restores at the executive.
#[derive(Default)]
pub(crate) struct Restoring(Option<Restore>);

impl Restoring {
    /// Whether a restore has begun and not ended.
    pub(crate) fn has_begun(&self) -> bool {
        self.0.as_ref().is_some_and(|r| r.begun)
    }

    /// Whether a restore was asked for and has not ended.
    pub(crate) fn is_in_progress(&self) -> bool {
        self.0.is_some()
    }

    /// Whose turn it is: the one that asked, until it has been told that there is such a save; who has not been told
    /// that the restore has begun; who has not said that it is restored.
    pub(super) fn not_done(&self) -> Vec<FederateHandle> {
        let Some(restore) = &self.0 else {
            return Vec::new();
        };
        if !restore.begun {
            return Vec::from_iter(restore.saved.is_some().then_some(restore.asked));
        }
        let waits = |of: RestoreStatus| {
            let members = restore.members.iter();
            let those = members.filter(move |(_, (_, status))| *status == of);
            those.map(|(federate, _)| *federate).collect::<Vec<_>>()
        };
        let unprepared = waits(RestoreStatus::FederateWaitingForRestoreToBegin);
        if unprepared.is_empty() {
            waits(RestoreStatus::FederateRestoring)
        } else {
            unprepared
        }
    }

    /// The label of a restore that is under way, how far it is and whom it waits for.
    pub(super) fn under_way(&self) -> Option<(&str, &'static str, Vec<FederateHandle>)> {
        let restore = self.0.as_ref()?;
        let stage = if restore.begun {
            let unprepared = RestoreStatus::FederateWaitingForRestoreToBegin;
            if restore.members.values().any(|(_, s)| *s == unprepared) {
                "federates hear that it has begun"
            } else {
                "federates are restored"
            }
        } else if restore.saved.is_some() {
            "it is about to begin"
        } else {
            "the save is being read"
        };
        Some((&restore.label, stage, self.not_done()))
    }

    /// Whether the restore that began there is in progress.
    pub(super) fn is_that(&self, began: LogIndex) -> bool {
        self.0.as_ref().is_some_and(|r| r.began == began)
    }

    /// Whether a restore has begun of which a federate is part.
    pub(super) fn has_begun_for(&self, federate: FederateHandle) -> bool {
        let restore = self.0.as_ref().filter(|r| r.begun);
        restore.is_some_and(|r| r.members.contains_key(&federate))
    }
}

impl Execution {
    /// Request Federation Restore, §4.24.
    pub(crate) fn request_restore(&mut self, cause: Cause, label: String) {
        let why = if why_no_label(&label).is_some() {
            Some("no save has such a label")
        } else if self.federation.saves.is_in_progress()
            || self.federation.restoring.is_in_progress()
        {
            Some("another save or restore has begun meanwhile")
        } else if self.federation.saves.has_task_out() {
            Some(TASK_IS_OUT)
        } else {
            None
        };
        if let Some(why) = why {
            self.refuse_restore(cause, cause.sender, label, why.into());
            return;
        }
        let number = self.federation.saves.put_task(Archive {
            execution: self.federation.number,
            number: 0,
            federation: self.federation.name.clone(),
            label: label.clone(),
            write: None,
        });
        self.federation.begun.begin(Joint::Restore, self.mom.now);
        self.federation.restoring.0 = Some(Restore {
            label,
            began: self.log.index(),
            asked: cause.sender,
            reading: Some(number),
            saved: None,
            members: BTreeMap::new(),
            begun: false,
        });
    }

    fn refuse_restore(
        &mut self,
        cause: impl Into<Option<Cause>>,
        asked: FederateHandle,
        label: String,
        why: String,
    ) {
        let note = format!("the save '{label}' can't be restored: {why}");
        self.note_refusal(asked, note);
        let failure = Some(why);
        let restore = LogIndex::default();
        let refused = Entry::RestoreRequested {
            label,
            failure,
            restore,
        };
        self.log.tell(cause, &[asked], refused);
    }

    /// The save that was to be read has been, or could not be.
    pub(crate) fn restore_read(&mut self, task: u64, read: Result<Box<SavedFederation>, String>) {
        let restore = self.federation.restoring.0.as_ref();
        let due = restore.filter(|r| r.reading == Some(task));
        let Some((asked, began, label)) = due.map(|r| (r.asked, r.began, r.label.clone())) else {
            return;
        };
        self.log.advance();
        let fits = read.and_then(|saved| Ok((self.fit(&saved)?, saved)));
        let (members, saved) = match fits {
            Ok(fits) => fits,
            Err(why) => {
                self.federation.restoring.0 = None;
                self.refuse_restore(None, asked, label, why);
                self.settle_time();
                return;
            }
        };
        if let Some(restore) = &mut self.federation.restoring.0 {
            restore.reading = None;
            restore.saved = Some(saved);
            restore.members = members;
        }
        let failure = None;
        let succeeded = Entry::RestoreRequested {
            label,
            failure,
            restore: began,
        };
        self.log.tell(None, &[asked], succeeded);
    }

    /// Which federate of the save each joined one becomes, or why they do not fit.
    fn fit(
        &self,
        saved: &SavedFederation,
    ) -> Result<BTreeMap<FederateHandle, (FederateHandle, RestoreStatus)>, String> {
        let then = saved.execution.time.time_type.name();
        let now = self.time.time_type().name();
        if then != now {
            return Err(format!(
                "it was saved with the logical time {then}, and this federation execution's is {now}"
            ));
        }
        self.same_modules(saved)?;
        let of = &saved.execution.federation.members;
        // Names first: of one type, whoever has the name of then is that one again.
        let mut left_by_name = BTreeMap::new();
        for (then, m) in of {
            left_by_name.entry((&m.kind, &m.name)).or_insert(*then);
        }
        let joined = self.federation.members.iter();
        let same =
            joined.filter_map(|(f, m)| Some((*f, left_by_name.remove(&(&m.kind, &m.name))?)));
        let mut becomes: BTreeMap<_, _> = same.collect();
        let taken: BTreeSet<_> = becomes.values().copied().collect();
        let mut left: BTreeMap<_, BTreeSet<_>> = BTreeMap::new();
        for (then, m) in of.iter().filter(|(then, _)| !taken.contains(then)) {
            left.entry(&m.kind).or_default().insert(*then);
        }
        let mut too_many = Vec::new();
        for (handle, m) in &self.federation.members {
            if becomes.contains_key(handle) {
                continue;
            }
            match left.get_mut(&m.kind).and_then(BTreeSet::pop_first) {
                Some(then) => {
                    becomes.insert(*handle, then);
                }
                None => too_many.push(named(&m.name, &m.kind)),
            }
        }
        let missing: BTreeSet<_> = left.into_values().flatten().collect();
        let missing = missing.iter().filter_map(|then| of.get(then));
        let missing: Vec<String> = missing.map(|m| named(&m.name, &m.kind)).collect();
        let missing = quoted(missing.iter().map(String::as_str));
        let too_many = quoted(too_many.iter().map(String::as_str));
        match (missing, too_many) {
            (None, None) => {
                self.require_whole(saved)?;
                let none = RestoreStatus::NoRestoreInProgress;
                let members = becomes.into_iter();
                Ok(members.map(|(f, then)| (f, (then, none))).collect())
            }
            (missing, too_many) => {
                let missing = missing.map(|names| format!("missing {names}"));
                let too_many = too_many.map(|names| format!("too many {names}"));
                let both: Vec<_> = missing.into_iter().chain(too_many).collect();
                Err(format!(
                    "the joined federates are not those of the save: {}",
                    both.join("; ")
                ))
            }
        }
    }

    /// An error if a save can't be restored, whoever has made it.
    fn require_whole(&self, saved: &SavedFederation) -> Result<(), String> {
        let modules = &saved.execution.federation.modules;
        let model = if *modules == self.federation.modules {
            Arc::clone(&self.model)
        } else {
            merged(modules)?
        };
        saved.require_whole_of(&self.federation.name, model)
    }

    fn same_modules(&self, saved: &SavedFederation) -> Result<(), String> {
        let then = &saved.execution.federation.modules;
        let differs = |in_these: &[ModuleSource], others: &[ModuleSource]| {
            // The same file may be named by another path.
            let texts: HashSet<&[u8]> = others.iter().map(mim_text).collect();
            let lacking = in_these.iter().filter(|m| !texts.contains(mim_text(m)));
            let names: Vec<&str> = lacking.map(|m| m.designator.as_str()).collect();
            quoted(names.into_iter())
        };
        let (gone, new) = (
            differs(then, &self.federation.modules),
            differs(&self.federation.modules, then),
        );
        let (there, here) = (saved.execution.services.named(), self.services.named());
        if let Some(((setting, then), (_, now))) = zip(there, here).find(|(t, h)| t != h) {
            let word = |on| ["off", "on"][usize::from(on)];
            let (then, now) = (word(then), word(now));
            return Err(format!(
                "it was made with {setting} = {then}, and here that is {now}"
            ));
        }
        match (gone, new) {
            (None, None) => Ok(()),
            (gone, new) => Err(format!(
                "its object model differs: FOM modules of the save that are missing or have other \
                 contents: {}; FOM modules that the save does not have: {}",
                gone.unwrap_or("none".into()),
                new.unwrap_or("none".into())
            )),
        }
    }

    /// The asking federate has been told of the success, or a federate of the beginning.
    pub(crate) fn restore_prepared(&mut self, cause: Cause) {
        let Some(restore) = &mut self.federation.restoring.0 else {
            return;
        };
        if restore.members.is_empty() {
            return;
        }
        if !restore.begun {
            self.begin_restore(cause);
            return;
        }
        if let Some((_, status)) = restore.members.get_mut(&cause.sender)
            && *status == RestoreStatus::FederateWaitingForRestoreToBegin
        {
            *status = RestoreStatus::FederatePreparedToRestore;
        }
        self.initiate_restore(cause);
    }

    /// Federation Restore Begun, §4.26.
    fn begin_restore(&mut self, cause: Cause) {
        let restore = self.federation.restoring.0.as_ref();
        let Some(restore) = restore.filter(|r| r.asked == cause.sender) else {
            return;
        };
        let began = restore.began;
        // Since the answer nobody has joined, and who had left would have ended it.
        if let Some(restore) = &mut self.federation.restoring.0 {
            for (_, status) in restore.members.values_mut() {
                *status = RestoreStatus::FederateWaitingForRestoreToBegin;
            }
            restore.begun = true;
        }
        self.time.hold_all();
        self.log
            .tell_all(cause, Entry::RestoreBegun { restore: began });
        let everyone = self.log.members();
        self.states_changed(&everyone);
    }

    /// Initiate Federate Restore, §4.27, when all are prepared.
    fn initiate_restore(&mut self, cause: Cause) {
        let Some(restore) = &mut self.federation.restoring.0 else {
            return;
        };
        let Some(saved) = &restore.saved else { return };
        let prepared = |s: &RestoreStatus| *s == RestoreStatus::FederatePreparedToRestore;
        if !restore.members.values().all(|(_, s)| prepared(s)) {
            return;
        }
        for (handle, (then, status)) in &mut restore.members {
            *status = RestoreStatus::FederateRestoring;
            let Some(member) = saved.execution.federation.members.get(then) else {
                continue;
            };
            let initiate = Entry::InitiateRestore {
                label: restore.label.clone(),
                name: member.name.clone(),
                federate: *then,
            };
            self.log.tell(cause, &[*handle], initiate);
        }
    }

    /// Federate Restore Complete, §4.28, or Not Complete.
    pub(crate) fn restore_ended(&mut self, cause: Cause, successfully: bool) {
        let Some(restore) = &mut self.federation.restoring.0 else {
            return;
        };
        let Some((_, status)) = restore.members.get_mut(&cause.sender) else {
            return;
        };
        if *status != RestoreStatus::FederateRestoring {
            return;
        }
        if !successfully {
            let why = format!("{} is not restored", self.federate_text(cause.sender));
            let reason = RestoreFailure::FederateReportedFailureDuringRestore;
            self.fail_restore(cause, Some(cause.sender), (reason, &why));
            return;
        }
        *status = RestoreStatus::FederateWaitingForFederationToRestore;
        let waits = |s: &RestoreStatus| *s == RestoreStatus::FederateWaitingForFederationToRestore;
        if !restore.members.values().all(|(_, s)| waits(s)) {
            return;
        }
        let becomes = restore.members.iter().map(|(f, (then, _))| (*f, *then));
        let becomes: BTreeMap<_, _> = becomes.collect();
        let Some(saved) = restore.saved.take() else {
            return;
        };
        match self.begin_again(*saved, &becomes) {
            Ok(()) => {
                self.federation.restoring.0 = None;
                let everyone = self.log.members();
                self.states_changed(&everyone);
                self.saves_changed();
            }
            Err(why) => {
                let reason = RestoreFailure::RtiUnableToRestore;
                self.fail_restore(cause, None, (reason, &why));
            }
        }
    }

    /// Abort Federation Restore, §4.30.
    pub(crate) fn abort_restore(&mut self, cause: Cause) {
        if self.federation.restoring.has_begun() {
            let why = format!("{} has aborted it", self.federate_text(cause.sender));
            let reason = RestoreFailure::RestoreAborted;
            self.fail_restore(cause, Some(cause.sender), (reason, &why));
        }
    }

    /// `by`: whose doing it is.
    fn fail_restore(
        &mut self,
        cause: impl Into<Option<Cause>>,
        by: Option<FederateHandle>,
        (reason, why): (RestoreFailure, &str),
    ) {
        let restore = self.federation.restoring.0.take();
        let begun = restore.as_ref().is_some_and(|r| r.begun);
        let label = restore.map_or_else(String::new, |r| r.label);
        self.note_failure(by, failed_text("restore", &label, reason.name(), why));
        self.log.tell_all(cause, Entry::NotRestored(reason));
        if begun {
            let everyone = self.log.members();
            self.states_changed(&everyone);
        }
        self.let_time_go_on();
    }

    /// Query Federation Restore Status, §4.31.
    pub(crate) fn query_restore(&mut self, cause: Cause) {
        let restore = self.federation.restoring.0.as_ref();
        let state = |before: FederateHandle| {
            let member = restore.and_then(|r| r.members.get(&before)).copied();
            let (after, mut status) =
                member.unwrap_or((before, RestoreStatus::NoRestoreInProgress));
            if restore.is_some_and(|r| !r.begun && r.asked == before) {
                status = RestoreStatus::FederateRestoreRequestPending;
            }
            RestoreState {
                before,
                after,
                status,
            }
        };
        let list = self.log.members().into_iter().map(state).collect();
        self.log
            .tell(cause, &[cause.sender], Entry::RestoreStatus(list));
    }

    /// A federate is no longer a member. Nothing fits any more; before the restore has begun only
    /// who asked for it knows of it, and nobody has left during a restore.
    pub(crate) fn restore_without(&mut self, (federate, name): (FederateHandle, &str), lost: bool) {
        let Some(restore) = &self.federation.restoring.0 else {
            return;
        };
        let (reason, how) = if lost {
            (RestoreFailure::RtiDetectedFailureDuringRestore, "was lost")
        } else {
            (
                RestoreFailure::FederateResignedDuringRestore,
                "has resigned",
            )
        };
        let why = format!("'{name}' {how}");
        if restore.begun {
            self.fail_restore(None, None, (reason, &why));
            return;
        }
        let (asked, label) = (restore.asked, restore.label.clone());
        let why = if asked == federate {
            format!("{why}, which had asked for it")
        } else if !restore.members.is_empty() {
            format!("{why} before it had begun")
        } else {
            return;
        };
        self.federation.restoring.0 = None;
        let reason = RestoreFailure::RtiUnableToRestore;
        self.note_failure(None, failed_text("restore", &label, reason.name(), &why));
        if asked != federate {
            self.log.tell(None, &[asked], Entry::NotRestored(reason));
        }
        self.settle_time();
    }
}

/// Restoring itself.
impl Execution {
    /// Becomes what was saved, and makes each member the one that `becomes` says. On an error it is
    /// as before.
    fn begin_again(
        &mut self,
        mut saved: SavedFederation,
        becomes: &BTreeMap<FederateHandle, FederateHandle>,
    ) -> Result<(), String> {
        // Who is complete may still set its directive, behind what the executive saves of it.
        for (federate, part) in &saved.federates {
            if let Some(member) = saved.execution.federation.members.get_mut(federate) {
                member.resign_directive = part.federation.resign_directive;
            }
        }
        let members = saved.execution.federation.members.iter();
        let members: Vec<_> = members.map(|(f, m)| (*f, m.name.clone())).collect();
        let mut parts: BTreeMap<_, _> = saved.federates.into_iter().collect();
        if !members.iter().all(|(handle, _)| parts.contains_key(handle)) {
            return Err("the part of a federate is missing".into());
        }
        // Handles of classes follow the order in which modules came: that of the save holds.
        let order = saved.execution.federation.modules.clone();
        let mut before = None;
        if order != self.federation.modules {
            let model = std::mem::replace(&mut self.model, merged(&order)?);
            let order = std::mem::replace(&mut self.federation.modules, order);
            before = Some((model, order));
        }
        let log = saved.execution.log.clone();
        let latest = self.federation.last_federate;
        let processes = becomes.iter().filter_map(|(f, then)| {
            let member = self.federation.members.get(f)?;
            Some((*then, member.info.clone()))
        });
        let processes = processes.collect();
        if let Err(why) = self.restore(saved.execution, processes) {
            if let Some((model, order)) = before {
                self.model = model;
                self.federation.modules = order;
            }
            return Err(why.0);
        }
        self.federation.last_federate = self.federation.last_federate.max(latest);
        if let Some((dropped, time)) = self.federation.saves.take_scheduled() {
            let why = format!(
                "the save '{dropped}', which was to come at {time}, comes no more: '{}' was restored",
                saved.label
            );
            self.note_failure(None, why);
        }
        self.federation.saves.restart();
        self.federation.saves.set_last(saved.label, saved.time);
        self.log.restart(&log, becomes);
        for (handle, name) in members {
            if let Some(part) = parts.remove(&handle) {
                let snapshot = self.snapshot(handle, name);
                self.log.restored(Restored { snapshot, part });
            }
        }
        self.ask_counts_again();
        self.settle_time();
        Ok(())
    }
}

impl Federate {
    /// Begins again with what it was at a save. What it was told of that waits until it has been
    /// told that it is restored. Data that has overtaken the restore on links of its own comes behind it.
    pub(crate) fn begin_again(
        &mut self,
        restored: Restored,
        path: DataPath,
    ) -> Result<Self, ProtocolError> {
        let Restored { snapshot, part } = restored;
        let index = snapshot.index;
        let mut federate = Federate::new(snapshot, path)?;
        federate.restore(part)?;
        federate.log.begin_again(index);
        federate.federation.stages = Stages::restored();
        federate.delivery.hold_for_save(true);
        federate
            .delivery
            .push(QueuedSave::new(Callback::FederationRestored));
        let ahead = self.log.take_ahead();
        federate.count_on(self);
        for data in ahead {
            // Whoever sent what can't be is not the fault of the connection that tells of the restore.
            if federate
                .receive_data(&data.borrow(), DataPath::Direct, None)
                .is_err()
            {
                federate.counters.unknown += 1;
            }
        }
        Ok(federate)
    }
}

/// A federate for a message.
fn named(name: &str, kind: &str) -> String {
    format!("{name} of type {kind}")
}

impl Federate {
    /// Request Federation Restore, 1516.1-2010 §4.24.
    pub fn request_federation_restore(&mut self, label: &str) -> Result<(), Exception> {
        require_name("a save", label)?;
        let label = label.to_owned();
        self.log.request(Request::Restore { label });
        Ok(())
    }

    /// Federate Restore Complete, §4.28.
    pub fn federate_restore_complete(&mut self) -> Result<(), Exception> {
        self.end_federate_restore(true)
    }

    /// Federate Restore Not Complete, §4.28.
    pub fn federate_restore_not_complete(&mut self) -> Result<(), Exception> {
        self.end_federate_restore(false)
    }

    fn end_federate_restore(&mut self, successfully: bool) -> Result<(), Exception> {
        self.federation.stages.restore = RestoreStage::Complete;
        let restore = self.federation.began;
        self.log.request(Request::RestoreEnded {
            restore,
            successfully,
        });
        Ok(())
    }

    /// Abort Federation Restore, §4.30.
    pub fn abort_federation_restore(&mut self) -> Result<(), Exception> {
        let restore = self.federation.began;
        self.log.request(Request::AbortRestore { restore });
        Ok(())
    }

    /// Query Federation Restore Status, §4.31; the answer is a callback.
    pub fn query_federation_restore_status(&mut self) -> Result<(), Exception> {
        self.log.request(Request::QueryRestore);
        Ok(())
    }
}
