//! Saving and restoring.

use super::counts::Tally;
use super::execution::{ExecutionMom, Managed, Period};
use super::federate::FederateMom;
use super::objects::Spent;
use crate::message::ModuleSource;
use crate::saved::mom as saved;
use std::collections::VecDeque;
use std::time::Duration;

impl ExecutionMom {
    /// `modules` are those of the federation execution.
    pub(crate) fn save(&self, modules: &[ModuleSource]) -> saved::Execution {
        let place = |m: &ModuleSource| modules.iter().position(|other| other == m);
        let federates = self.federates.iter().map(|(handle, m)| {
            let places = m.modules.iter().filter_map(place);
            let managed = saved::Managed {
                modules: places.map(|place| place as u32).collect(),
                asynchronous: m.asynchronous,
                switches: m.switches,
                reports: m.reports,
                period_s: m.period.as_ref().map(|p| p.length.as_secs()),
            };
            (*handle, managed)
        });
        saved::Execution {
            off: self.off,
            auto_provide: self.auto_provide,
            federates: federates.collect(),
        }
    }

    /// Periods, and times in a state, begin now.
    pub(crate) fn restore(&mut self, saved: saved::Execution, modules: &[ModuleSource]) {
        let now = self.now;
        let federates = saved.federates.into_iter().map(|(handle, m)| {
            let places = m.modules.iter();
            let period = m.period_s.map(|seconds| {
                let length = Duration::from_secs(seconds);
                let due = now + length;
                Period { length, due }
            });
            let managed = Managed {
                modules: places
                    .filter_map(|place| modules.get(*place as usize).cloned())
                    .collect(),
                asynchronous: m.asynchronous,
                switches: m.switches,
                spent: Spent::new(now),
                reports: m.reports,
                period,
                waiting: VecDeque::new(),
            };
            (handle, managed)
        });
        self.federates = federates.collect();
        let periodic = self.federates.iter();
        let periodic = periodic.filter_map(|(f, m)| Some((m.period.as_ref()?.due, *f)));
        self.periodic = periodic.collect();
        self.auto_provide = saved.auto_provide;
        // The modules may stand in another order.
        self.fdd = None;
    }
}

impl FederateMom {
    pub(crate) fn save(&self) -> saved::Federate {
        saved::Federate {
            switches: self.switches,
            counts: self.tally.counts((0, 0)),
        }
    }

    pub(crate) fn restore(&mut self, saved: saved::Federate) {
        self.switches = saved.switches;
        self.tally = Tally::restore(!self.tally.off, &saved.counts);
    }
}
