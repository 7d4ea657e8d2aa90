//! The rule of a save at a time (1516.1-2010, 4.16 and 4.17), at the callbacks of one federate: what is in time-stamp order
//! and at or below the time comes before initiateFederateSave, and nothing else of it does.

use super::{By, Own, whole_or_next};
use starling_core::{FederateHandle, MessageTime, Order};

/// How far a federate has come in time-stamp order, by the callbacks delivered to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Come {
    /// The time stamps that have come since the last grant.
    since: Vec<i64>,
    /// The last grant while it was constrained.
    granted: Option<i64>,
    /// The latest time of a save that it was instructed to make, constrained.
    instructed: Option<i64>,
    /// By its last grant it sends nothing at its time any more, whatever its lookahead.
    spent: bool,
}

impl Own {
    /// The first time stamp that it may use in any case: while it advances counted from the time asked for.
    pub(super) fn first_stamp(&self) -> i64 {
        self.advancing.unwrap_or(self.time) + self.lookahead.max(1)
    }

    /// Others wait at its time for what it may yet send there.
    pub(super) fn is_open(&self) -> bool {
        self.regulating && self.lookahead == 0 && !self.come.spent
    }
}

impl Come {
    /// A message is delivered, with this time.
    pub(super) fn comes(&mut self, me: FederateHandle, time: Option<&MessageTime>) {
        let timely = time.filter(|time| time.received == Order::TimeStamp);
        let Some(stamp) = timely.map(|time| whole_or_next(time.time)) else {
            return;
        };
        let instructed = self.instructed;
        assert!(
            instructed < Some(stamp),
            "what is at {stamp} comes to {me} behind the save at {instructed:?}"
        );
        self.since.push(stamp);
    }

    pub(super) fn regulates(&mut self) {
        self.since.clear();
        self.spent = false;
    }

    pub(super) fn granted(&mut self, me: FederateHandle, time: i64, by: By, constrained: bool) {
        let since = std::mem::take(&mut self.since);
        self.spent = by != By::Flush;
        if !constrained {
            return;
        }
        let within = |stamp: &i64| match by {
            By::Flush => *stamp >= time,
            _ => *stamp <= time,
        };
        let all = since.iter().all(within);
        assert!(all, "{me} is granted {time} by {by:?} behind {since:?}");
        self.granted = Some(time);
    }

    /// It is told to save at a time, constrained.
    pub(super) fn instructed(&mut self, me: FederateHandle, time: i64) {
        let (granted, since) = (self.granted, &self.since);
        assert!(
            granted <= Some(time),
            "{me} is granted {granted:?} before it saves at {time}"
        );
        let beyond = since.iter().find(|stamp| **stamp > time);
        assert_eq!(beyond, None, "{me} has it before it saves at {time}");
        self.instructed = self.instructed.max(Some(time));
    }
}
