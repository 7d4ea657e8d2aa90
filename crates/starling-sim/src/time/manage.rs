//! What federates have the management object model do, and hear of it, while time goes on, owners change, and
//! federates come and go ([`crate::observe`]).

use super::Run;
use crate::observe::{Adjust, adjust};
use crate::program::legal;
use starling_core::{Callback, FederateHandle, PeerId};
use std::collections::BTreeSet;
use std::time::Duration;

impl Run {
    pub(super) fn begin_managed(&mut self, peer: PeerId, me: FederateHandle) {
        let own = self.own.get_mut(&me).expect("it has just joined");
        let (draw, observer) = (&mut self.draw, &mut own.observer);
        let done = self.network.call(peer, |f| observer.begin(draw, f));
        legal(done, &[]);
        // What the RTI says is in receive order: many are to hear it also while they don't advance.
        if self.draw.bool() {
            self.asynchronous(peer, me);
        }
    }

    /// A federate says something to the RTI, or time goes by for that.
    pub(super) fn manage(&mut self, peer: PeerId, me: FederateHandle) {
        match self.draw.u8(..12) {
            0 => {
                let now = Duration::from_micros(self.network.now_us);
                if self.network.pass_time(now, &mut self.seen) {
                    self.count("mom: periodic updates");
                }
            }
            1..4 => self.adjust(peer, Adjust::Timing),
            4 => self.adjust(peer, Adjust::ConveyProducer),
            5 => self.adjust(peer, Adjust::ReportServices),
            6 => self.adjust(peer, Adjust::ReportExceptions),
            _ => {
                let there: Vec<_> = self.own.keys().copied().collect();
                let own = self.own.get_mut(&me).expect("callers are there");
                let (draw, observer) = (&mut self.draw, &mut own.observer);
                let done = self.network.call(peer, |f| observer.act(draw, f, &there));
                let what = done.unwrap_or_else(|e| panic!("unexpected {e}"));
                self.count(what);
            }
        }
    }

    /// A federate has the RTI adjust what it does with some federate, which may be gone by then.
    fn adjust(&mut self, peer: PeerId, what: Adjust) {
        let all: Vec<_> = self.own.keys().copied().collect();
        let of = all[self.draw.usize(..all.len())];
        let number = match what {
            Adjust::Timing => self.draw.u32(..4),
            _ => self.draw.u32(..2),
        };
        let done = self.network.call(peer, |f| adjust(f, of, what, number));
        legal(done, &[]);
        self.count(what.name());
    }

    /// Whether a callback is the RTI's own, and is heard.
    pub(super) fn is_of_rti(
        &mut self,
        peer: PeerId,
        me: FederateHandle,
        callback: &Callback,
    ) -> bool {
        let own = self.own.get_mut(&me).expect("callbacks come to the living");
        let model = self.network.hosts[&peer].federate().model();
        let Some(what) = own.observer.hears(me, model, callback) else {
            return false;
        };
        let is_data = matches!(
            callback,
            Callback::ReflectAttributeValues { .. } | Callback::ReceiveInteraction { .. }
        );
        assert!(
            !is_data || !own.withholds(),
            "withheld from {me}: {callback:?}"
        );
        self.count(what);
        true
    }

    /// All has come to rest: what federates have heard is so, and what they have asked for was told, unless it is
    /// withheld from them.
    pub(super) fn look_at_what_was_told(&mut self, there: &BTreeSet<FederateHandle>) {
        let hosts = self.network.hosts.values().map(|h| (h.peer, h.handle));
        let hears = |me: &FederateHandle| self.own.get(me).is_some_and(|own| !own.withholds());
        let hosts: Vec<_> = hosts.filter(|(_, me)| hears(me)).collect();
        for (peer, me) in &hosts {
            let observer = &mut self.own.get_mut(me).expect("it lives").observer;
            observer.is_answered(*me, there);
            let done = self.network.call(*peer, |f| observer.ask_anew(f));
            legal(done, &[]);
        }
        self.drain();
        for (peer, me) in hosts {
            let mut observer = std::mem::take(&mut self.own(me).observer);
            let all = &self.own;
            let model = self.network.hosts[&peer].federate().model();
            observer.compare(me, model, there, |of, name| {
                let own = all.get(&of)?;
                Some(match name {
                    "HLAfederateState" => 1,
                    "HLAtimeManagerState" => 0,
                    "HLAtimeRegulating" => own.view.regulating.into(),
                    "HLAtimeConstrained" => own.view.constrained.into(),
                    "HLAasynchronousDelivery" => own.asynchronous.into(),
                    _ => return None,
                })
            });
            self.own(me).observer = observer;
        }
        self.count("mom: what was told is so");
    }
}
