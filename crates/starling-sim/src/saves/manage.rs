//! What federates have the management object model do with themselves while saves and restores go on
//! (1516.1-2010, 11.4): how often it reports on them, switches, reports of their services, and of what they have
//! counted; and what they hear of it ([`crate::observe`]).
//!
//! Each adjusts itself only, so that what it has asked for last is what it has at rest, and at a save. Whom it asks
//! about, who is there, has a report by the next rest, whatever was saved and restored on the way.

use super::Run;
use crate::observe::{Adjust, Observer, adjust};
use starling_core::{FederateHandle, PeerId};
use std::collections::BTreeSet;
use std::time::Duration;

/// What a federate has asked for, and what it is told.
#[derive(Clone, Debug, Default)]
pub(super) struct Managed {
    period_s: Option<u64>,
    conveys_producer: Option<bool>,
    is_reported: bool,
    reports_exceptions: bool,
    pub(super) observer: Observer,
}

impl Run {
    pub(super) fn begin_managed(&mut self, peer: PeerId, me: FederateHandle) {
        let own = self.model.own.get_mut(&me).expect("it has just joined");
        let (draw, observer) = (&mut self.draw, &mut own.rooms.managed.observer);
        let done = self.network.call(peer, |f| observer.begin(draw, f));
        done.unwrap_or_else(|e| panic!("{me} can't manage: {e}"));
    }

    /// A federate says something to the RTI, or time goes by.
    pub(super) fn manage(&mut self, peer: PeerId, me: FederateHandle) {
        match self.draw.u8(..12) {
            0 => {
                self.now += Duration::from_millis(self.draw.u64(..3_000));
                if self.network.pass_time(self.now, &mut self.seen) {
                    self.count("mom: periodic updates");
                }
                self.look();
            }
            1..4 => self.adjust(peer, me, Adjust::Timing),
            4 => self.adjust(peer, me, Adjust::ConveyProducer),
            5 => self.adjust(peer, me, Adjust::ReportServices),
            6 => self.adjust(peer, me, Adjust::ReportExceptions),
            _ => self.observe(peer, me),
        }
    }

    /// A federate adjusts what the MOM does with it.
    fn adjust(&mut self, peer: PeerId, me: FederateHandle, what: Adjust) {
        let on = self.draw.bool();
        let number = match what {
            Adjust::Timing => self.draw.u32(..4),
            _ => on.into(),
        };
        let done = self.network.call(peer, |f| adjust(f, me, what, number));
        if self.allowed(me, done).is_none() {
            return;
        }
        self.count(what.name());
        let managed = &mut self.own(me).rooms.managed;
        match what {
            Adjust::Timing => managed.period_s = Some(number.into()).filter(|n| *n > 0),
            Adjust::ConveyProducer => managed.conveys_producer = Some(on),
            Adjust::ReportServices => {
                managed.is_reported = on && !managed.observer.hears_of_services;
            }
            Adjust::ReportExceptions => managed.reports_exceptions = on,
        }
    }

    fn observe(&mut self, peer: PeerId, me: FederateHandle) {
        let there: Vec<_> = self.model.own.keys().copied().collect();
        let own = self.model.own.get_mut(&me).expect("callers are there");
        let (draw, observer) = (&mut self.draw, &mut own.rooms.managed.observer);
        let done = self.network.call(peer, |f| observer.act(draw, f, &there));
        if let Some(what) = self.allowed(me, done) {
            self.count(what);
        }
    }

    /// All has come to rest: what federates have heard is so, and what they have asked for was told.
    pub(super) fn look_at_what_was_told(&mut self) {
        // The model may have one who died as a restore was decided.
        let there: BTreeSet<_> = self.network.hosts.values().map(|h| h.handle).collect();
        for me in &there {
            let own = self.model.own.get(me).expect("all have come to rest");
            own.rooms.managed.observer.is_answered(*me, &there);
        }
        let hosts = self.network.hosts.values();
        let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
        for (peer, me) in &hosts {
            let own = self.model.own.get_mut(me).expect("all have come to rest");
            let observer = &mut own.rooms.managed.observer;
            let done = self.network.call(*peer, |f| observer.ask_anew(f));
            done.unwrap_or_else(|e| panic!("{me} can't ask: {e}"));
        }
        loop {
            let mut moved = false;
            while self.step() {
                moved = true;
            }
            for (peer, _) in &hosts {
                moved |= self.callbacks(*peer, usize::MAX);
            }
            if !moved && !self.step() {
                break;
            }
        }
        for (peer, me) in hosts {
            let mut observer = std::mem::take(&mut self.own(me).rooms.managed.observer);
            let all = &self.model.own;
            let model = self.network.hosts[&peer].federate().model();
            observer.compare(me, model, &there, |of, name| {
                let own = all.get(&of)?;
                Some(match name {
                    "HLAfederateState" => 1,
                    "HLAtimeManagerState" => 0,
                    "HLAtimeRegulating" => own.regulating.into(),
                    // It delivers asynchronously, too.
                    "HLAtimeConstrained" | "HLAasynchronousDelivery" => own.constrained.into(),
                    _ => return None,
                })
            });
            self.own(me).rooms.managed.observer = observer;
        }
        self.count("mom: what was told is so");
    }

    /// What the executive does with each federate is what that has asked for.
    pub(super) fn compare_managed(&self) {
        let saved = self.network.executive.save("F").expect("it is there");
        for (federate, own) in &self.model.own {
            let Some(there) = saved.mom.federates.get(federate) else {
                continue;
            };
            let own = &own.rooms.managed;
            assert_eq!(there.period_s, own.period_s, "{federate}: its period");
            let reported = (
                there.switches.report_services,
                there.switches.report_exceptions,
            );
            let asked = (own.is_reported, own.reports_exceptions);
            assert_eq!(reported, asked, "{federate}: its services");
            if let Some(conveys) = own.conveys_producer {
                assert_eq!(there.switches.convey_producer, conveys, "{federate}");
            }
        }
    }
}
