//! Saving and restoring.

use super::counts::Tally;
use super::execution::{self, ExecutionMom, PERIOD_MAX, Period, Waiting};
use super::federate::FederateMom;
use super::objects::Spent;
use crate::ProtocolError;
use crate::message::ModuleSource;
use crate::saved::mom::{self as saved, Managed};
use crate::time::galt::Times;
use starling_fom::ObjectModel;
use std::time::Duration;

impl ExecutionMom {
    /// `modules` are those of the federation execution.
    pub(crate) fn save(&self, modules: &[ModuleSource]) -> saved::Execution {
        // By its contents: it may have brought it from elsewhere.
        let place = |m: &ModuleSource| modules.iter().position(|other| other.text == m.text);
        let federates = self.federates.iter().map(|(handle, m)| {
            let places = m.modules.iter().filter_map(place);
            let managed = saved::Managed {
                modules: places.map(|place| place as u32).collect(),
                asynchronous: m.asynchronous,
                switches: m.switches,
                reports: m.reports,
                period_s: m.period.as_ref().map(|p| p.length.as_secs()),
                waiting: m.waiting.iter().cloned().collect(),
                again: m.again.clone(),
            };
            (*handle, managed)
        });
        saved::Execution {
            auto_provide: self.auto_provide,
            federates: federates.collect(),
        }
    }

    /// Periods, and times in a state, begin now.
    pub(crate) fn restore(
        &mut self,
        saved: saved::Execution,
        modules: &[ModuleSource],
        times: &Times,
    ) {
        let now = self.now;
        let advances = |f| times.clock(f).is_some_and(|c| c.advance().is_some());
        let federates = saved.federates.into_iter().map(|(handle, m)| {
            let places = m.modules.iter();
            let period = m.period_s.map(|seconds| {
                let length = Duration::from_secs(seconds);
                let due = now + length;
                Period { length, due }
            });
            let managed = execution::Managed {
                modules: places
                    .filter_map(|place| modules.get(*place as usize).cloned())
                    .collect(),
                asynchronous: m.asynchronous,
                switches: m.switches,
                spent: Spent::new(advances(handle), now),
                reports: m.reports,
                period,
                waiting: m.waiting.into(),
                again: m.again,
                is_asked: true,
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

impl saved::Execution {
    /// An error if a period is none that HLAsetTiming sets, or more waits for counts than can be asked for.
    pub(crate) fn require_sensible(&self) -> Result<(), ProtocolError> {
        for (federate, managed) in &self.federates {
            if let Some(period) = managed.period_s
                && !(1..=PERIOD_MAX.into()).contains(&period)
            {
                let why = format!("the period of the updates of {federate} is {period} s");
                return Err(ProtocolError(why));
            }
            let Managed { waiting, again, .. } = managed;
            let once = |all: &[Waiting], one: &Waiting| {
                all.iter().filter(|w| w.is_same_kind(one)).count() == 1
            };
            let asked = waiting.iter().all(|w| once(waiting, w));
            if !asked || !again.iter().all(|w| once(again, w) && once(waiting, w)) {
                let why = format!("more waits for the counts of {federate} than can be asked for");
                return Err(ProtocolError(why));
            }
        }
        Ok(())
    }
}

impl FederateMom {
    pub(crate) fn save(&self) -> saved::Federate {
        saved::Federate {
            switches: self.switches,
            counts: self.tally.counts((0, 0)),
        }
    }

    /// An error if the object model does not have what was counted.
    pub(crate) fn restore(
        &mut self,
        saved: saved::Federate,
        model: &ObjectModel,
    ) -> Result<(), ProtocolError> {
        self.switches = saved.switches;
        self.tally = Tally::restore(self.is_on, &saved.counts, model)?;
        Ok(())
    }
}
