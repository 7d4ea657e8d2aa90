//! Federation save, 1516.1-2010 §4.16 to §4.23.
//!
//! A save at once instructs all federates at once. One at a logical time S waits: no time beyond S is
//! granted any more, and a constrained federate is instructed when it waits for a time beyond S and
//! nothing up to S can come to it any more (it is through S, see [`crate::time::galt`]); the others
//! when all constrained ones are. When all
//! have said that they are complete the executive takes its own state and asks each federate for
//! its part; what was sent before has come by then, because nobody sends anything while it saves but
//! its automatic resign directive, of which its part holds.
//! Once all parts are there the save is decided: only its writing can fail.
//!
//! Invariants:
//! - `stages` has exactly the joined federates that were instructed;
//! - while anybody is instructed, nobody joins and no time is granted beyond the save's;
//! - a scheduled save waits for a restore to end, and holds time again if that fails.

mod federate;

pub(crate) use federate::{QueuedSave, Stages};

use super::under_way::Joint;
use crate::exception::NAME_BYTES_MAX;
use crate::execution::Execution;
use crate::executive::quoted;
use crate::message::save::{Entry, Request};
use crate::message::{Cause, LogIndex};
use crate::saved;
use crate::time::saved::require_same_time;
use crate::{FederateHandle, LogicalTime, ProtocolError};
use std::collections::{BTreeMap, BTreeSet};

/// Why a federation execution was not saved (C++ numbers).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SaveFailure {
    RtiUnableToSave = 0,
    FederateReportedFailureDuringSave = 1,
    FederateResignedDuringSave = 2,
    RtiDetectedFailureDuringSave = 3,
    SaveTimeCannotBeHonored = 4,
    SaveAborted = 5,
}

/// How far a federate has come with a save (C++ numbers).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum SaveStatus {
    #[default]
    NoSaveInProgress = 0,
    FederateInstructedToSave = 1,
    FederateSaving = 2,
    FederateWaitingForFederationToSave = 3,
}

/// A federation execution as a save keeps it.
#[derive(Clone, Debug, PartialEq)]
pub struct SavedFederation {
    /// Its name.
    pub federation: String,
    /// The label of the save.
    pub label: String,
    /// The time of the save, if it was asked for at one.
    pub time: Option<LogicalTime>,
    /// What the executive knew.
    pub execution: saved::Execution,
    /// What each federate knew, ascending.
    pub federates: Vec<(FederateHandle, saved::Federate)>,
}

/// What the executive's process is to do with saved federation executions. It answers with
/// [`Executive::archived`](crate::Executive::archived).
#[derive(Clone, Debug, PartialEq)]
pub struct Archive {
    /// The federation execution's number at the executive.
    pub execution: u64,
    /// The task's number there.
    pub number: u64,
    /// The federation execution's name.
    pub federation: String,
    /// The label of the save.
    pub label: String,
    /// What is to be kept under the label; none: what is kept is to be read.
    pub write: Option<Box<SavedFederation>>,
}

/// What the executive's process has done.
#[derive(Clone, Debug, PartialEq)]
pub enum Archived {
    /// It is kept, and survives the process.
    Written,
    /// What was kept.
    Read(Box<SavedFederation>),
}

/// Why there is no save, for who asked for it and for the process's log.
type NotSaved = (SaveFailure, String);

/// A save that was asked for at a time.
struct Scheduled {
    asked: FederateHandle,
    label: String,
    time: LogicalTime,
}

/// A save of which some federate has been told.
struct Save {
    asked: FederateHandle,
    label: String,
    began: LogIndex,
    time: Option<LogicalTime>,
    stages: BTreeMap<FederateHandle, SaveStatus>,
    progress: Progress,
}

/// How far a save has come as a whole.
enum Progress {
    /// Not all federates are complete.
    Saving,
    /// All are, and were asked for their parts at this place in the log.
    Parts {
        asked_at: LogIndex,
        execution: Box<saved::Execution>,
        parts: BTreeMap<FederateHandle, saved::Federate>,
    },
    /// It is written in this task.
    Writing(u64),
}

/// Saves at the executive.
#[derive(Default)]
pub(crate) struct Saves {
    scheduled: Option<Scheduled>,
    /// The last save that was made, or restored.
    last: Option<(String, Option<LogicalTime>)>,
    save: Option<Save>,
    tasks: Vec<Archive>,
    last_task: u64,
    /// The last task has not been answered, whatever became of what it was for.
    task_is_out: bool,
    /// Refusals and failures that the process's log names, by whose doing, since the last success; none: nobody's.
    noted: BTreeMap<Option<FederateHandle>, u32>,
}

/// No more refusals of one federate's saves and restores are noted, until one succeeds.
const NOTED_MAX: u32 = 20;

impl Saves {
    /// Whether some federate has been told of a save that has not ended.
    pub(crate) fn is_in_progress(&self) -> bool {
        self.save.is_some()
    }

    /// Whether the save that began there is in progress.
    fn is_that(&self, began: LogIndex) -> bool {
        self.save.as_ref().is_some_and(|s| s.began == began)
    }

    /// Numbers a task and puts it up for the executive's process. There must be none.
    pub(crate) fn put_task(&mut self, mut task: Archive) -> u64 {
        debug_assert!(!self.task_is_out, "one task at a time");
        self.task_is_out = true;
        self.last_task += 1;
        task.number = self.last_task;
        self.tasks.push(task);
        self.last_task
    }

    pub(crate) fn has_tasks(&self) -> bool {
        !self.tasks.is_empty()
    }

    /// Tasks since the last call.
    pub(crate) fn tasks(&mut self) -> impl Iterator<Item = Archive> + '_ {
        self.tasks.drain(..)
    }

    /// Whether a task has not been answered. There is one at a time: what it was for may have been
    /// dropped, and what it takes, and the work, is still there.
    pub(super) fn has_task_out(&self) -> bool {
        self.task_is_out
    }

    /// A task was answered.
    pub(crate) fn task_done(&mut self, task: u64) {
        self.task_is_out &= task != self.last_task;
    }

    /// Label and time of a save that was to come, and does not any more.
    pub(super) fn take_scheduled(&mut self) -> Option<(String, LogicalTime)> {
        self.scheduled.take().map(|s| (s.label, s.time))
    }

    /// What is under way is dropped: the federation execution is another one now.
    pub(crate) fn restart(&mut self) {
        self.scheduled = None;
        self.save = None;
    }

    /// This save was restored.
    pub(super) fn set_last(&mut self, label: String, time: Option<LogicalTime>) {
        self.last = Some((label, time));
        self.noted.clear();
    }

    /// Label and time of the last save; empty if there was none.
    pub(super) fn last(&self) -> (&str, Option<LogicalTime>) {
        let last = self.last.as_ref();
        last.map_or(("", None), |(label, time)| (label, *time))
    }

    /// Label and time of the save that is scheduled, or being made; empty if there is none.
    pub(super) fn next(&self) -> (&str, Option<LogicalTime>) {
        match (&self.scheduled, &self.save) {
            (Some(scheduled), _) => (&scheduled.label, Some(scheduled.time)),
            (None, Some(save)) => (&save.label, save.time),
            (None, None) => ("", None),
        }
    }

    /// Whether a federate was instructed to save, and the save has not ended.
    pub(super) fn is_instructed(&self, federate: FederateHandle) -> bool {
        self.stage(federate) != SaveStatus::NoSaveInProgress
    }

    fn stage(&self, federate: FederateHandle) -> SaveStatus {
        let save = self.save.as_ref();
        let stage = save.and_then(|s| s.stages.get(&federate));
        stage.copied().unwrap_or_default()
    }
}

/// Why there is no other task yet.
pub(super) const TASK_IS_OUT: &str =
    "another save of it, of which nothing comes any more, is still being written or read";

/// What has become of a save or a restore. `reason`: as its callback names it.
pub(super) fn failed_text(what: &str, label: &str, reason: &str, why: &str) -> String {
    format!("the {what} '{label}' has failed: {why} ({reason})")
}

fn not_saved(failure: SaveFailure, asked: FederateHandle, why: String) -> Entry {
    Entry::SaveEnded {
        failure: Some(failure),
        asked: Some(asked),
        why,
    }
}

/// Why nothing can be saved under a label, if so. U+FFFD stands for characters that are none: labels that differ in these
/// alone would be the same, and a save take the place of another's.
pub(super) fn why_no_label(label: &str) -> Option<&'static str> {
    if label.is_empty() {
        Some("it has no label")
    } else if label.len() > NAME_BYTES_MAX {
        Some("its label is too long")
    } else {
        let replaced = label.contains(char::REPLACEMENT_CHARACTER);
        replaced.then_some("its label has characters that are no Unicode")
    }
}

impl Execution {
    /// A request of §4.16 to §4.32.
    pub(crate) fn serve_save(
        &mut self,
        cause: Cause,
        request: Request,
    ) -> Result<(), ProtocolError> {
        match request {
            Request::Save { label, time } => self.request_save(cause, label, time)?,
            Request::SaveBegun { save }
            | Request::SaveEnded { save, .. }
            | Request::AbortSave { save }
                if !self.federation.saves.is_that(save) => {}
            Request::SaveBegun { .. } => self.save_stage(
                cause.sender,
                SaveStatus::FederateInstructedToSave,
                SaveStatus::FederateSaving,
            ),
            Request::SaveEnded {
                successfully: true, ..
            } => {
                self.save_stage(
                    cause.sender,
                    SaveStatus::FederateSaving,
                    SaveStatus::FederateWaitingForFederationToSave,
                );
                self.take_parts(cause);
            }
            Request::SaveEnded { .. } => {
                if self.federation.saves.stage(cause.sender) == SaveStatus::FederateSaving {
                    let why = format!("{} has not saved", self.federate_text(cause.sender));
                    let failure = SaveFailure::FederateReportedFailureDuringSave;
                    self.fail_save(cause, Some(cause.sender), (failure, why));
                }
            }
            Request::AbortSave { .. } => {
                let why = format!("{} has aborted it", self.federate_text(cause.sender));
                self.fail_save(cause, Some(cause.sender), (SaveFailure::SaveAborted, why));
            }
            Request::QuerySave => {
                let members = self.log.members().into_iter();
                let list = members
                    .map(|f| (f, self.federation.saves.stage(f)))
                    .collect();
                self.log
                    .tell(cause, &[cause.sender], Entry::SaveStatus(list));
            }
            Request::Restore { label } => self.request_restore(cause, label),
            Request::Prepared { restore }
            | Request::RestoreEnded { restore, .. }
            | Request::AbortRestore { restore }
                if !self.federation.restoring.is_that(restore) => {}
            Request::Prepared { .. } => self.restore_prepared(cause),
            Request::RestoreEnded { successfully, .. } => self.restore_ended(cause, successfully),
            Request::AbortRestore { .. } => self.abort_restore(cause),
            Request::QueryRestore => self.query_restore(cause),
        }
        Ok(())
    }

    /// Request Federation Save, §4.16: replaces one that waits for its time. None is possible while
    /// another save or a restore is under way, of which its federate need not have heard. If that
    /// federate hears of it before it could hear of a failure, its request is dropped: its
    /// federationNotSaved would be taken for the end of the other save.
    fn request_save(
        &mut self,
        cause: Cause,
        label: String,
        time: Option<LogicalTime>,
    ) -> Result<(), ProtocolError> {
        if self.federation.saves.save.is_some() || self.federation.restoring.is_in_progress() {
            let why = format!(
                "the save '{label}' was asked for while another save, or a restore, had begun: \
                 nothing comes of it"
            );
            self.note_refusal(cause.sender, why.clone());
            let hears = self.federation.saves.is_instructed(cause.sender)
                || self.federation.restoring.has_begun();
            if !hears {
                let ended = not_saved(SaveFailure::RtiUnableToSave, cause.sender, why);
                self.log.tell(cause, &[cause.sender], ended);
            }
            return Ok(());
        }
        if let Some(why) = why_no_label(&label) {
            let why = why.to_owned();
            let failure = SaveFailure::RtiUnableToSave;
            self.refuse_save(cause, &label, (failure, why));
            return Ok(());
        }
        let now = self.mom.now;
        let Some(time) = time else {
            self.replace_scheduled(cause.sender, &label);
            self.federation.begun.begin(Joint::Save, now);
            self.begin_save(cause, label);
            return Ok(());
        };
        if time.time_type() != self.time.time_type() {
            return Err(ProtocolError(format!(
                "{} asked for a save at {time}, which is of the other type",
                cause.sender
            )));
        }
        if let Some(beyond) = self.time.has_passed(time) {
            let beyond = self.federate_text(beyond);
            let why = format!("{beyond}, which is time-constrained, is beyond {time} already");
            let failure = SaveFailure::SaveTimeCannotBeHonored;
            self.refuse_save(cause, &label, (failure, why));
            return Ok(());
        }
        self.replace_scheduled(cause.sender, &label);
        let asked = cause.sender;
        self.federation.saves.scheduled = Some(Scheduled { asked, label, time });
        self.federation.begun.begin(Joint::Save, now);
        self.saves_changed();
        self.time.hold_beyond(time);
        self.settle_time();
        Ok(())
    }

    /// What can't be saved, asked for by one federate. Where all hear of a failure, it has no label: so nothing of the
    /// save before it may come.
    fn refuse_save(&mut self, cause: Cause, label: &str, (failure, why): NotSaved) {
        let asked = cause.sender;
        let all = self.federation.saves.scheduled.is_some()
            || failure == SaveFailure::SaveTimeCannotBeHonored;
        if all {
            self.replace_scheduled(asked, label);
        }
        let by = self.federate_text(asked);
        let why = failed_text(
            "save",
            label,
            failure.name(),
            &format!("{why}; asked for by {by}"),
        );
        self.note_failure(Some(asked), why.clone());
        let ended = not_saved(failure, asked, why);
        if !all {
            self.log.tell(cause, &[asked], ended);
            return;
        }
        self.log.tell_all(cause, ended);
        self.saves_changed();
        self.let_time_go_on();
    }

    /// A later request takes the place of a save that waits for its time; no callback says so to who asked for that.
    fn replace_scheduled(&mut self, by: FederateHandle, label: &str) {
        if let Some(before) = self.federation.saves.scheduled.take() {
            let (before, time) = (before.label, before.time);
            let note = format!(
                "the save '{label}' takes the place of '{before}', which was to come at {time}"
            );
            self.note_refusal(by, note);
        }
    }

    /// A save or a restore holds time no longer; a scheduled save goes on holding it beyond its own.
    pub(super) fn let_time_go_on(&mut self) {
        match &self.federation.saves.scheduled {
            Some(scheduled) => self.time.hold_beyond(scheduled.time),
            None => self.time.hold_nothing(),
        }
        self.settle_time();
    }

    /// Instructs whom the scheduled save has come to, if anybody. Call when time has been settled;
    /// it may go on then, as nobody waits for these any more.
    pub(crate) fn instruct_scheduled(&mut self) -> bool {
        if self.federation.restoring.is_in_progress() {
            return false;
        }
        let (asked, label, time) = match (
            &self.federation.saves.scheduled,
            &self.federation.saves.save,
        ) {
            (Some(scheduled), _) => (scheduled.asked, scheduled.label.clone(), scheduled.time),
            (None, Some(save)) if self.time.holds_beyond().is_some() => {
                let Some(time) = save.time else { return false };
                (save.asked, save.label.clone(), time)
            }
            _ => return false,
        };
        if !self.time.may_be_ready_to_save(time) {
            return false;
        }
        let members = self.log.members();
        let (constrained, others): (Vec<_>, Vec<_>) = members
            .into_iter()
            .partition(|f| self.time.is_constrained(*f));
        let all = self.not_come_to_save(time).is_empty();
        let told =
            |f: &FederateHandle| self.federation.saves.stage(*f) != SaveStatus::NoSaveInProgress;
        let ready = constrained.into_iter();
        let ready = ready.filter(|f| self.time.is_ready_to_save(*f, time));
        let mut now: Vec<_> = ready.filter(|f| !told(f)).collect();
        if all {
            now.extend(others.into_iter().filter(|f| !told(f)));
        }
        if now.is_empty() {
            return false;
        }
        self.federation.saves.scheduled = None;
        self.log.advance();
        for federate in &now {
            self.release_for_save(*federate, time);
        }
        self.instruct(None, asked, (label, Some(time)), &now);
        if all {
            self.time.hold_all();
        }
        true
    }

    /// Whom a save at this time waits for before all are instructed: the constrained that can't yet save; if
    /// there are none constrained, who has not come to that time.
    fn not_come_to_save(&self, time: LogicalTime) -> Vec<FederateHandle> {
        let (constrained, others): (Vec<_>, Vec<_>) = self
            .log
            .members()
            .into_iter()
            .partition(|f| self.time.is_constrained(*f));
        let (ready, waiting): (Vec<_>, Vec<_>) = constrained
            .into_iter()
            .partition(|f| self.time.is_ready_to_save(*f, time));
        if !waiting.is_empty() || !ready.is_empty() {
            return waiting;
        }
        let others = others.into_iter();
        others
            .filter(|f| !self.time.has_come_to(*f, time))
            .collect()
    }

    /// Whether a save or a restore has begun: nobody is delivered anything else.
    pub(crate) fn is_held(&self) -> bool {
        self.federation.saves.is_in_progress() || self.federation.restoring.has_begun()
    }

    /// Whom a save or a restore waits for, by what these have not done.
    fn holding(&self) -> [(&'static str, Vec<FederateHandle>); 2] {
        let not_done = "not done with it";
        if self.federation.restoring.has_begun() {
            return [
                ("", Vec::new()),
                (not_done, self.federation.restoring.not_done()),
            ];
        }
        let (_, time) = self.federation.saves.next();
        let mut behind = time.map_or_else(Vec::new, |time| self.not_come_to_save(time));
        // The others wait for those who have not even asked; or all of them for one that is not constrained.
        let asks = |f: &FederateHandle| time.is_some_and(|time| self.time.asks_beyond(*f, time));
        if behind.iter().all(asks) {
            let waits_for = |f: &FederateHandle| self.time.times().waits_for(*f);
            let awaited: BTreeSet<_> = behind.iter().filter_map(waits_for).collect();
            if !awaited.is_empty() {
                behind = awaited.into_iter().collect();
            }
        } else {
            behind.retain(|f| !asks(f));
        }
        let stage = |f: &FederateHandle| self.federation.saves.stage(*f);
        let complete = SaveStatus::FederateWaitingForFederationToSave;
        let saving = self.log.members().into_iter();
        let saving =
            saving.filter(|f| ![SaveStatus::NoSaveInProgress, complete].contains(&stage(f)));
        [("not come to that", behind), (not_done, saving.collect())]
    }

    /// Whether the save waits for a federate to come to its time.
    pub(crate) fn is_awaited_at_save(&self, federate: FederateHandle) -> bool {
        let [(_, behind), _] = self.holding();
        behind.contains(&federate)
    }

    /// Whom all that a save or a restore holds wait for.
    pub(super) fn held_up_by(&self) -> Vec<FederateHandle> {
        self.holding()
            .into_iter()
            .flat_map(|(_, who)| who)
            .collect()
    }

    /// The label of a save that is under way, how far it is and whom it waits for.
    pub(super) fn save_under_way(&self) -> Option<(&str, String, Vec<FederateHandle>)> {
        let saves = &self.federation.saves;
        let (label, time) = saves.next();
        let at = time.map_or(String::new(), |time| format!(" at {time}"));
        let parts_missing = |parts: &BTreeMap<_, _>| {
            let all = self.log.members().into_iter();
            all.filter(|f| !parts.contains_key(f)).collect()
        };
        let (stage, waits_for) = match saves.save.as_ref().map(|s| &s.progress) {
            None => {
                saves.scheduled.as_ref()?;
                ("scheduled", self.holding())
            }
            Some(Progress::Saving) => ("federates save", self.holding()),
            Some(Progress::Parts { parts, .. }) => {
                let missing = parts_missing(parts);
                return Some((label, format!("it takes what the RTI knows{at}"), missing));
            }
            Some(Progress::Writing(_)) => {
                return Some((label, format!("it is being written{at}"), Vec::new()));
            }
        };
        let waits_for = waits_for.into_iter().flat_map(|(_, who)| who).collect();
        Some((label, format!("{stage}{at}"), waits_for))
    }

    /// For which federate in the first place a save or a restore waits.
    pub(crate) fn hold_turn(&self) -> Option<FederateHandle> {
        let [behind, saving] = self.holding();
        behind.1.into_iter().chain(saving.1).next()
    }

    /// What holds time, and whom it waits for; a sentence without its end.
    pub(crate) fn hold_text(&self) -> String {
        let mut text = "it is held until the federation execution is ".to_owned();
        if self.federation.restoring.has_begun() {
            text += "restored";
        } else {
            let (label, time) = self.federation.saves.next();
            text += &format!("saved as '{label}'");
            text += &time.map_or(String::new(), |time| format!(" at {time}"));
        }
        for (what, who) in self.holding() {
            let names = who.iter().filter_map(|f| self.federation.federate_name(*f));
            if let Some(names) = quoted(names) {
                text += &format!("; {what}: {names}");
            }
        }
        text
    }

    fn begin_save(&mut self, cause: Cause, label: String) {
        self.time.hold_all();
        let everyone = self.log.members();
        self.instruct(cause, cause.sender, (label, None), &everyone);
    }

    /// Initiate Federate Save, §4.17.
    fn instruct(
        &mut self,
        cause: impl Into<Option<Cause>>,
        asked: FederateHandle,
        (label, time): (String, Option<LogicalTime>),
        federates: &[FederateHandle],
    ) {
        let index = self.log.index();
        // One at a time was announced when it was asked for.
        let unannounced = time.is_none();
        let save = self.federation.saves.save.get_or_insert_with(|| Save {
            asked,
            label: label.clone(),
            began: index,
            time,
            stages: BTreeMap::new(),
            progress: Progress::Saving,
        });
        let instructed = federates.iter();
        let instructed = instructed.map(|f| (*f, SaveStatus::FederateInstructedToSave));
        save.stages.extend(instructed);
        let save = save.began;
        let initiate = Entry::InitiateSave { label, time, save };
        self.log.tell(cause, federates, initiate);
        self.states_changed(federates);
        if unannounced {
            self.saves_changed();
        }
    }

    fn save_stage(&mut self, federate: FederateHandle, from: SaveStatus, to: SaveStatus) {
        let save = self.federation.saves.save.as_mut();
        if let Some(stage) = save.and_then(|s| s.stages.get_mut(&federate))
            && *stage == from
        {
            *stage = to;
        }
    }

    /// When all are complete: takes the executive's part, and asks for the others, once.
    fn take_parts(&mut self, cause: impl Into<Option<Cause>>) {
        let save = self.federation.saves.save.as_ref();
        let complete =
            |f| self.federation.saves.stage(f) == SaveStatus::FederateWaitingForFederationToSave;
        if !save.is_some_and(|s| matches!(s.progress, Progress::Saving))
            || !self.log.members().into_iter().all(complete)
        {
            return;
        }
        self.log.tell_all(cause, Entry::TakePart);
        let progress = Progress::Parts {
            asked_at: self.log.index(),
            execution: Box::new(self.save()),
            parts: BTreeMap::new(),
        };
        if let Some(save) = &mut self.federation.saves.save {
            save.progress = progress;
        }
    }

    /// A federate's part of the save has come. One that was asked for by another save, which has
    /// failed meanwhile, is dropped.
    pub(crate) fn part(
        &mut self,
        federate: FederateHandle,
        part: saved::Federate,
    ) -> Result<(), ProtocolError> {
        let name = self.federation.federate_name(federate);
        let name = name.unwrap_or_default().to_owned();
        let task_is_out = self.federation.saves.has_task_out();
        let Some(save) = &mut self.federation.saves.save else {
            return Ok(());
        };
        let Progress::Parts {
            asked_at,
            parts,
            execution,
        } = &mut save.progress
        else {
            return Ok(());
        };
        if part.log.applied != *asked_at {
            return Ok(());
        }
        let is = &part.federation;
        if (is.handle, is.name.as_str()) != (federate, name.as_str()) {
            return Err(ProtocolError(format!(
                "{federate}, '{name}', sent the part of {}, '{}'",
                is.handle, is.name
            )));
        }
        require_same_time(&execution.time, federate, &part).map_err(|why| {
            ProtocolError(format!(
                "the part of {federate}, '{name}', of a save: {why}"
            ))
        })?;
        if parts.insert(federate, part).is_some() {
            return Err(ProtocolError(format!(
                "{federate} sent its part of a save twice"
            )));
        }
        if parts.len() < save.stages.len() {
            return Ok(());
        }
        if task_is_out {
            self.log.advance();
            let failure = (SaveFailure::RtiUnableToSave, TASK_IS_OUT.to_owned());
            self.end_save(None, None, Some(failure));
            return Ok(());
        }
        let number = self.federation.saves.last_task + 1;
        let writing = Progress::Writing(number);
        let Progress::Parts {
            execution, parts, ..
        } = std::mem::replace(&mut save.progress, writing)
        else {
            return Ok(());
        };
        let label = save.label.clone();
        let whole = SavedFederation {
            federation: self.federation.name.clone(),
            label: label.clone(),
            time: save.time,
            execution: *execution,
            federates: parts.into_iter().collect(),
        };
        self.federation.saves.put_task(Archive {
            execution: self.federation.number,
            number,
            federation: self.federation.name.clone(),
            label,
            write: Some(Box::new(whole)),
        });
        Ok(())
    }

    /// A federate's part can't come: that ends the save it belongs to.
    pub(crate) fn part_too_large(
        &mut self,
        federate: FederateHandle,
        applied: LogIndex,
        bytes: u64,
    ) {
        let save = self.federation.saves.save.as_ref();
        let asked =
            |p: &Progress| matches!(p, Progress::Parts { asked_at, .. } if *asked_at == applied);
        if save.is_some_and(|s| asked(&s.progress)) {
            let why = format!(
                "the part of federate {} takes {bytes} bytes, more than one message may hold (limits.frame_bytes)",
                self.federate_text(federate)
            );
            self.log.advance();
            let failure = (SaveFailure::RtiUnableToSave, why);
            self.end_save(None, Some(federate), Some(failure));
        }
    }

    /// The save has been written, or could not be.
    pub(crate) fn saved(&mut self, task: u64, done: Result<(), String>) {
        let save = self.federation.saves.save.as_ref();
        if !save.is_some_and(|s| matches!(s.progress, Progress::Writing(t) if t == task)) {
            return;
        }
        let failure = done.err().map(|why| (SaveFailure::RtiUnableToSave, why));
        self.log.advance();
        self.end_save(None, None, failure);
    }

    /// A refusal for the process's log.
    pub(super) fn note_refusal(&mut self, federate: FederateHandle, why: String) {
        if let Some(why) = self.noted(Some(federate), why) {
            let peer = self.log.peer(federate);
            self.notes.extend(peer.map(|peer| (Some(peer), why)));
        }
    }

    /// What has failed as a whole, by whose doing, for the process's log.
    pub(crate) fn note_failure(&mut self, by: Option<FederateHandle>, why: String) {
        if let Some(why) = self.noted(by, why) {
            let name = &self.federation.name;
            self.notes
                .push((None, format!("federation execution '{name}': {why}")));
        }
    }

    /// A federate may ask again and again: the log is bounded.
    fn noted(&mut self, by: Option<FederateHandle>, mut why: String) -> Option<String> {
        let noted = self.federation.saves.noted.entry(by).or_default();
        if *noted == NOTED_MAX {
            return None;
        }
        *noted += 1;
        if *noted == NOTED_MAX {
            why += "; further refusals are not noted until a save or a restore succeeds";
        }
        Some(why)
    }

    /// Ends a save that is not decided yet.
    fn fail_save(
        &mut self,
        cause: impl Into<Option<Cause>>,
        by: Option<FederateHandle>,
        why: NotSaved,
    ) {
        let save = self.federation.saves.save.as_ref();
        if save.is_some_and(|s| !matches!(s.progress, Progress::Writing(_))) {
            self.end_save(cause, by, Some(why));
        }
    }

    /// `by`: whose doing it is that it fails.
    fn end_save(
        &mut self,
        cause: impl Into<Option<Cause>>,
        by: Option<FederateHandle>,
        failure: Option<NotSaved>,
    ) {
        let ended = self.federation.saves.save.take();
        let (failure, why) = failure.unzip();
        let label = ended.as_ref().map_or("", |save| &save.label);
        let why = why.zip(failure);
        let why = why.map(|(why, of)| failed_text("save", label, of.name(), &why));
        if let Some(why) = &why {
            self.note_failure(by, why.clone());
        }
        let ended_entry = Entry::SaveEnded {
            failure,
            asked: ended.as_ref().map(|save| save.asked),
            why: why.unwrap_or_default(),
        };
        self.log.tell_all(cause, ended_entry);
        if let Some(save) = ended {
            if failure.is_none() {
                self.federation.saves.set_last(save.label, save.time);
            }
            let instructed: Vec<_> = save.stages.into_keys().collect();
            self.states_changed(&instructed);
            self.saves_changed();
        }
        self.let_time_go_on();
    }

    /// A federate is no longer a member.
    pub(crate) fn save_without(&mut self, (federate, name): (FederateHandle, &str), lost: bool) {
        self.federation.saves.noted.remove(&Some(federate));
        let save = self.federation.saves.save.as_mut();
        let instructed = save.is_some_and(|s| s.stages.remove(&federate).is_some());
        if instructed {
            let (why, how) = if lost {
                (SaveFailure::RtiDetectedFailureDuringSave, "was lost")
            } else {
                (SaveFailure::FederateResignedDuringSave, "has resigned")
            };
            self.fail_save(None, None, (why, format!("'{name}' {how}")));
        } else {
            self.take_parts(None);
        }
        if self.log.members().is_empty() {
            if let Some((label, time)) = self.federation.saves.take_scheduled() {
                let why = format!(
                    "the save '{label}', which was to come at {time}, comes no more: '{name}' was the last federate, \
                     and has left"
                );
                self.note_failure(None, why);
            }
            self.federation.saves.restart();
            self.time.hold_nothing();
        }
    }
}
