//! What a federation execution does as a whole and has not ended, since when and whom it waits for: a
//! save or a restore, and synchronization points. For `starling ps` and for the log.

use crate::FederateHandle;
use crate::execution::Execution;
use crate::executive::quoted;
use crate::message::UnderWay;
use crate::time::why::LongWait;
use std::collections::BTreeMap;
use std::time::Duration;

/// So many synchronization points are named, in the order of their labels.
const POINTS_SHOWN: usize = 100;

/// What may be under way; a synchronization point by its label.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Joint {
    Save,
    Restore,
    Point(String),
}

/// Since when what has been under way, by what the executive was told of the time of day, and whether
/// the log names it already. What has ended may still be here, but for synchronization points.
#[derive(Default)]
pub(crate) struct Begun(BTreeMap<Joint, (Duration, bool)>);

impl Begun {
    pub(super) fn begin(&mut self, what: Joint, now: Duration) {
        self.0.insert(what, (now, false));
    }

    pub(super) fn end_point(&mut self, label: &str) {
        self.0.remove(&Joint::Point(label.to_owned()));
    }

    /// These points are those of a save that was restored.
    pub(super) fn restore<'a>(&mut self, labels: impl Iterator<Item = &'a String>, now: Duration) {
        self.0.retain(|what, _| !matches!(what, Joint::Point(_)));
        for label in labels {
            self.begin(Joint::Point(label.clone()), now);
        }
    }
}

impl Execution {
    /// What is under way: a save, scheduled or begun, or a restore, then synchronization points.
    pub(crate) fn under_way(&self) -> Vec<UnderWay> {
        let points = self.federation.synchronization_points.keys();
        let points = points.take(POINTS_SHOWN).cloned().map(Joint::Point);
        let all = [Joint::Save, Joint::Restore].into_iter().chain(points);
        all.filter_map(|what| self.joint(&what)).collect()
    }

    /// One of these, if it is under way.
    fn joint(&self, what: &Joint) -> Option<UnderWay> {
        let (name, label, stage, waits_for) = match what {
            Joint::Save => {
                let (label, stage, waits_for) = self.save_under_way()?;
                ("save", label, stage, waits_for)
            }
            Joint::Restore => {
                let (label, stage, waits_for) = self.federation.restoring.under_way()?;
                ("restore", label, stage.to_owned(), waits_for)
            }
            Joint::Point(label) => {
                let point = self.federation.synchronization_points.get(label)?;
                let (done, waiting) = (point.achieved.len(), &point.waiting);
                let stage = format!("achieved by {done} of {}", done + waiting.len());
                let waits_for = waiting.iter().copied().collect();
                ("synchronization point", label.as_str(), stage, waits_for)
            }
        };
        let begun = self.federation.begun.0.get(what);
        let since = begun.map_or(Duration::ZERO, |(since, _)| {
            self.mom.now.saturating_sub(*since)
        });
        Some(UnderWay {
            what: name.to_owned(),
            label: label.to_owned(),
            stage,
            waits_for,
            since_ms: u64::try_from(since.as_millis()).unwrap_or(u64::MAX),
        })
    }

    /// What has been under way for longer than this, and was not named yet.
    pub(crate) fn take_long_under_way(&mut self, longer: Duration) -> Vec<LongWait> {
        let now = self.mom.now;
        let long = self.federation.begun.0.iter_mut();
        let long =
            long.filter(|(_, (since, noted))| !noted && now.saturating_sub(*since) >= longer);
        let long: Vec<_> = long
            .map(|(what, (_, noted))| {
                *noted = true;
                what.clone()
            })
            .collect();
        let long = long.iter().filter_map(|what| self.joint(what));
        long.map(|under_way| self.named(&under_way)).collect()
    }

    fn named(&self, under_way: &UnderWay) -> LongWait {
        let UnderWay {
            what,
            label,
            stage,
            waits_for,
            since_ms,
        } = under_way;
        let since = *since_ms as f64 / 1000.0;
        let mut why = format!("{what} '{label}' is not done after {since:.1} s: {stage}");
        let names = waits_for
            .iter()
            .filter_map(|f| self.federation.federate_name(*f));
        if let Some(names) = quoted(names) {
            why += &format!("; it waits for {names}");
        }
        let turn = waits_for.first().and_then(|f| self.turn_of(*f));
        LongWait {
            waiting: None,
            federation: self.federation.name.clone(),
            why,
            turn,
            at_point: None,
        }
    }

    /// A synchronization point that a federate has achieved, and where it may wait for others: the first of these, and
    /// all in words.
    pub(crate) fn at_point(&self, of: FederateHandle) -> Option<(FederateHandle, String)> {
        let mut points = self.federation.synchronization_points.iter();
        let (label, point) = points.find(|(_, point)| point.achieved.contains_key(&of))?;
        let first = *point.waiting.first()?;
        let waiting = point.waiting.iter();
        let names = quoted(waiting.filter_map(|f| self.federation.federate_name(*f)))?;
        let by = self.federate_text(of);
        Some((
            first,
            format!("{by} has achieved '{label}', which waits for {names}"),
        ))
    }

    /// Whom a wait is for in the first place: its connection and name.
    pub(crate) fn turn_of(&self, federate: FederateHandle) -> Option<(crate::PeerId, String)> {
        let name = self.federation.federate_name(federate)?;
        Some((self.log.peer(federate)?, name.to_owned()))
    }
}
