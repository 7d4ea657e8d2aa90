//! A federation execution and who takes part in it, as the executive and as each member knows it.

use super::federate::fdd_directive;
use super::restore::Restoring;
use super::save::{Saves, Stages};
use super::under_way::Begun;
use crate::kept::Kept;
use crate::message::statistics::{FederateStatistics, Statistics};
use crate::message::{
    BestEffort, Doing, FederateInformation, FederateStatus, LogIndex, ModuleSource, PeerInfo,
    ResignAction, TimeStatus,
};
use crate::saved::federation::SynchronizationPoint;
use crate::{Counters, FederateHandle, LogicalTime, ProtocolError};
use starling_fom::ObjectModel;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// A joined federate as the executive knows it.
pub(crate) struct Member {
    pub(super) info: PeerInfo,
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) resign_directive: ResignAction,
    /// What became of its data, as it has told last.
    pub(super) counters: Counters,
    pub(super) doing: Doing,
    /// How many bytes may be withheld from it, as it has told last.
    pub(super) withheld_bytes_max: u64,
    /// What it has told last of what it measures.
    pub(super) measured: Option<Box<Statistics>>,
}

impl Member {
    pub(super) fn new(info: PeerInfo, name: String, kind: String, model: &ObjectModel) -> Self {
        Member {
            info,
            name,
            kind,
            resign_directive: fdd_directive(model),
            counters: Counters::default(),
            doing: Doing::default(),
            withheld_bytes_max: 0,
            measured: None,
        }
    }

    pub(crate) fn set_told(&mut self, counters: Counters, doing: Doing, withheld_bytes_max: u64) {
        self.counters = counters;
        self.doing = doing;
        self.withheld_bytes_max = withheld_bytes_max;
    }

    /// How many bytes are withheld from it, and how many may be, if it has told of more than half of these.
    pub(crate) fn withholds_much(&self) -> Option<(u64, u64)> {
        let (bytes, most) = (self.counters.withheld_bytes, self.withheld_bytes_max);
        (bytes > most / 2).then_some((bytes, most))
    }

    pub(crate) fn set_measured(&mut self, measured: Box<Statistics>) {
        self.measured = Some(measured);
    }

    pub(crate) fn status(&self, handle: FederateHandle, time: TimeStatus) -> FederateStatus {
        FederateStatus {
            federate: self.information(handle),
            peer: self.info.clone(),
            counters: self.counters,
            doing: self.doing.clone(),
            still: String::new(),
            time,
            paths: Vec::new(),
            best_effort: BestEffort::default(),
            best_effort_paths: Vec::new(),
        }
    }

    /// For `starling stats`.
    pub(crate) fn statistics(
        &self,
        federation: &str,
        handle: FederateHandle,
    ) -> FederateStatistics {
        FederateStatistics {
            federation: federation.to_owned(),
            handle,
            name: self.name.clone(),
            told: self.measured.as_deref().cloned(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The federate's type.
    pub(crate) fn kind(&self) -> &str {
        &self.kind
    }

    /// The process at the other end of its connection.
    pub(crate) fn peer_info(&self) -> &PeerInfo {
        &self.info
    }

    pub(crate) fn information(&self, handle: FederateHandle) -> FederateInformation {
        FederateInformation {
            handle,
            name: self.name.clone(),
            kind: self.kind.clone(),
        }
    }
}

/// What the executive knows of this chapter.
pub(crate) struct Federation {
    /// Its number at the executive; numbers are not used again.
    pub(super) number: u64,
    pub(super) name: String,
    /// MIM, then FOM modules, in the order of merging.
    pub(super) modules: Vec<ModuleSource>,
    /// About how many bytes of memory the object model and `modules` take.
    pub(super) model_bytes: usize,
    pub(super) members: BTreeMap<FederateHandle, Member>,
    /// The handle of the last federate that joined.
    pub(super) last_federate: u32,
    pub(super) synchronization_points: BTreeMap<String, SynchronizationPoint>,
    /// Of the synchronization points.
    pub(super) points: Kept,
    pub(super) saves: Saves,
    pub(super) restoring: Restoring,
    /// Since when these, and synchronization points, have been under way.
    pub(super) begun: Begun,
    /// When it was created, since the executive began.
    pub(super) created: Duration,
}

impl Federation {
    pub(crate) fn new(name: String, modules: Vec<ModuleSource>) -> Self {
        Federation {
            number: 0,
            name,
            modules,
            model_bytes: 0,
            members: BTreeMap::new(),
            last_federate: 0,
            synchronization_points: BTreeMap::new(),
            points: Kept::default(),
            saves: Saves::default(),
            restoring: Restoring::default(),
            begun: Begun::default(),
            created: Duration::ZERO,
        }
    }

    /// It is among the executive's now: its number there, about how many bytes its object model and
    /// modules take, and the time since the executive began.
    pub(crate) fn enter(&mut self, number: u64, model_bytes: usize, now: Duration) {
        self.number = number;
        self.model_bytes = model_bytes;
        self.created = now;
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// MIM, then FOM modules, in the order of merging.
    pub(crate) fn modules(&self) -> &[ModuleSource] {
        &self.modules
    }

    /// About how many bytes of memory the object model and the modules take.
    pub(crate) fn model_bytes(&self) -> usize {
        self.model_bytes
    }

    /// Label and time of the last save; empty if there was none.
    pub(crate) fn last_save(&self) -> (&str, Option<LogicalTime>) {
        self.saves.last()
    }

    /// Label and time of the next save; empty if there is none.
    pub(crate) fn next_save(&self) -> (&str, Option<LogicalTime>) {
        self.saves.next()
    }

    /// Whether a federate is saving.
    pub(crate) fn is_saved_now(&self, federate: FederateHandle) -> bool {
        self.saves.is_instructed(federate)
    }

    /// Whether a federate is being restored.
    pub(crate) fn is_restored_now(&self, federate: FederateHandle) -> bool {
        self.restoring.has_begun_for(federate)
    }

    /// What is to be done with saved federation executions.
    pub(crate) fn saves(&mut self) -> &mut Saves {
        &mut self.saves
    }

    pub(crate) fn has_archive_tasks(&self) -> bool {
        self.saves.has_tasks()
    }

    /// Joined federates, ascending.
    pub(crate) fn members(&self) -> &BTreeMap<FederateHandle, Member> {
        &self.members
    }

    pub(crate) fn is_member(&self, federate: FederateHandle) -> bool {
        self.members.contains_key(&federate)
    }

    pub(crate) fn member_mut(
        &mut self,
        federate: FederateHandle,
    ) -> Result<&mut Member, ProtocolError> {
        let member = self.members.get_mut(&federate);
        member.ok_or_else(|| ProtocolError(format!("{federate} is not a member")))
    }

    /// Bytes, about, of synchronization points of federates that have resigned.
    pub(crate) fn points_left(&self) -> usize {
        self.points.left()
    }

    /// Synchronization points that are registered and not achieved, by label.
    pub(crate) fn synchronization_points(&self) -> &BTreeMap<String, SynchronizationPoint> {
        &self.synchronization_points
    }

    /// A joined federate by its name.
    pub(crate) fn member_named(&self, name: &str) -> Option<FederateHandle> {
        let mut all = self.members.iter();
        all.find_map(|(handle, m)| (m.name == name).then_some(*handle))
    }

    /// Names of the joined federates.
    pub(crate) fn member_names(&self) -> impl Iterator<Item = &str> {
        self.members.values().map(Member::name)
    }

    /// A member's name.
    pub(crate) fn federate_name(&self, federate: FederateHandle) -> Option<&str> {
        self.members.get(&federate).map(Member::name)
    }
}

/// What a joined federate knows of this chapter.
pub(crate) struct Membership {
    /// The federate's own name.
    pub(super) name: String,
    /// The federation execution's name.
    pub(super) federation: String,
    pub(super) members: BTreeMap<FederateHandle, FederateInformation>,
    /// Synchronization points announced to the federate and not yet achieved by it.
    pub(super) announced: BTreeSet<String>,
    pub(super) resign_directive: ResignAction,
    pub(super) stages: Stages,
    /// Where the save or restore began of which the federate was told last.
    pub(super) began: LogIndex,
    /// The federate's resignation has been applied.
    pub(super) resigned: bool,
}

impl Membership {
    /// Of a federate that has just joined.
    pub(crate) fn new(
        name: String,
        federation: String,
        members: impl Iterator<Item = FederateInformation>,
        model: &ObjectModel,
    ) -> Self {
        Membership {
            name,
            federation,
            members: members.map(|f| (f.handle, f)).collect(),
            announced: BTreeSet::new(),
            resign_directive: fdd_directive(model),
            stages: Stages::default(),
            began: LogIndex::default(),
            resigned: false,
        }
    }

    /// The federate's own name.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The federation execution's name.
    pub(crate) fn federation(&self) -> &str {
        &self.federation
    }

    /// Joined federates as of the applied log, ascending.
    pub(crate) fn members(&self) -> &BTreeMap<FederateHandle, FederateInformation> {
        &self.members
    }

    /// Whether the federate's resignation has been applied.
    pub(crate) fn is_resigned(&self) -> bool {
        self.resigned
    }
}
