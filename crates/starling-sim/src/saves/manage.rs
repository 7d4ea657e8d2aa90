//! What federates have the management object model do with themselves while saves and restores go on
//! (1516.1-2010, 11.4): how often it reports on them, switches, reports of their services, and of what they have
//! counted.
//!
//! Each adjusts itself only, so that what it has asked for last is what it has at rest, and at a save. Whom it asks
//! about, who is there, has a report by the next rest, whatever was saved and restored on the way.

use super::Run;
use starling_core::{Callback, FederateHandle, InteractionClassHandle, ObjectModel, PeerId};
use std::collections::{BTreeMap, BTreeSet};

const REPORT: &str = "HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";
const REQUEST: &str = "HLAmanager.HLAfederate.HLArequest.HLArequestUpdatesSent";
const ANSWER: &str = "HLAmanager.HLAfederate.HLAreport.HLAreportUpdatesSent";
const ADJUST: [(&str, &str); 3] = [
    ("HLAsetTiming", "HLAreportPeriod"),
    ("HLAsetSwitches", "HLAconveyProducingFederate"),
    ("HLAsetServiceReporting", "HLAreportingState"),
];

/// What a federate has asked for, and what it is told of the others.
#[derive(Clone, Debug, Default)]
pub(super) struct Managed {
    period_s: Option<u64>,
    conveys_producer: Option<bool>,
    is_reported: bool,
    /// It is told which services are invoked: then its own are not reported.
    observes: bool,
    /// The last report of each federate that it was told of.
    last: BTreeMap<FederateHandle, u32>,
    /// Those whom it has asked about since it was told of them last.
    asked: BTreeSet<FederateHandle>,
}

/// Whether a callback is a report of what a federate has counted.
pub(super) fn is_answer(model: &ObjectModel, callback: &Callback) -> bool {
    is_of(model, callback, ANSWER)
}

/// Whether a callback is a report of a service that was invoked.
pub(super) fn is_report(model: &ObjectModel, callback: &Callback) -> bool {
    is_of(model, callback, REPORT)
}

fn is_of(model: &ObjectModel, callback: &Callback, class: &str) -> bool {
    let expected = model.interaction_class_by_name(class).map(|c| c.handle);
    matches!(callback, Callback::ReceiveInteraction { class, .. } if Some(*class) == expected)
}

/// A parameter's value.
fn value<'a>(model: &ObjectModel, callback: &'a Callback, name: &str) -> &'a [u8] {
    let Callback::ReceiveInteraction { class, values, .. } = callback else {
        panic!("{callback:?} has no parameters");
    };
    let parameter = model.parameter_by_name(*class, name);
    let value = values.iter().find(|(p, _)| Some(*p) == parameter);
    value
        .unwrap_or_else(|| panic!("{callback:?} lacks {name}"))
        .1
}

/// The last four bytes, big endian, which are all of a count and of a handle.
fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(*bytes.last_chunk().expect("it is a number"))
}

impl Managed {
    /// Whoever has asked about a federate is told of what that has counted, when it asked or later (11.4.3).
    pub(super) fn answered(&mut self, model: &ObjectModel, answer: &Callback) {
        let of = FederateHandle(number(value(model, answer, "HLAfederate")));
        self.asked.remove(&of);
    }

    /// Reports of a federate are numbered without a gap as long as anybody is told of them (11.4.3).
    pub(super) fn told(&mut self, me: FederateHandle, model: &ObjectModel, report: &Callback) {
        let of = FederateHandle(number(value(model, report, "HLAfederate")));
        let serial = number(value(model, report, "HLAserialNumber"));
        assert_ne!(of, me, "its own services are reported to itself");
        if let Some(last) = self.last.insert(of, serial) {
            assert_eq!(serial, last + 1, "{me} is told of services of {of}");
        }
    }
}

impl Run {
    /// A joiner is told of the others' services, or may have its own reported.
    pub(super) fn begin_managed(&mut self, peer: PeerId, me: FederateHandle) {
        let observes = self.draw.u8(..3) == 0;
        let done = self.network.call(peer, |f| {
            for (class, _) in ADJUST {
                let class = f.interaction_class_handle(&adjust(class))?;
                f.publish_interaction_class(class)?;
            }
            let request = f.interaction_class_handle(REQUEST)?;
            f.publish_interaction_class(request)?;
            let answer = f.interaction_class_handle(ANSWER)?;
            f.subscribe_interaction_class(answer, true)?;
            if observes {
                let class = f.interaction_class_handle(REPORT)?;
                f.subscribe_interaction_class(class, true)?;
            }
            Ok::<_, starling_core::Exception>(())
        });
        done.unwrap_or_else(|e| panic!("{me} can't manage: {e}"));
        self.own(me).rooms.managed.observes = observes;
    }

    /// A federate adjusts what the MOM does with it.
    pub(super) fn manage(&mut self, peer: PeerId, me: FederateHandle) {
        let (what, on) = (self.draw.usize(..=ADJUST.len()), self.draw.bool());
        if what == ADJUST.len() {
            return self.ask(peer, me);
        }
        let number = match what {
            0 => self.draw.u32(..4),
            _ => on.into(),
        };
        let (class, parameter) = ADJUST[what];
        let class = self.interaction(peer, &adjust(class));
        let of = self.parameter(peer, class, "HLAfederate");
        let parameter = self.parameter(peer, class, parameter);
        let myself = [4, me.0].map(u32::to_be_bytes).concat();
        let values = [(of, &myself[..]), (parameter, &number.to_be_bytes())];
        let done = self
            .network
            .call(peer, |f| f.send_interaction(class, &values, b""));
        if self.allowed(me, done).is_none() {
            return;
        }
        self.count(["mom: period", "mom: switch", "mom: report services"][what]);
        let managed = &mut self.own(me).rooms.managed;
        match what {
            0 => managed.period_s = Some(number.into()).filter(|seconds| *seconds > 0),
            1 => managed.conveys_producer = Some(on),
            _ => managed.is_reported = on && !managed.observes,
        }
    }

    /// A federate asks what some federate, which may be itself, has counted.
    fn ask(&mut self, peer: PeerId, me: FederateHandle) {
        let there: Vec<_> = self.model.own.keys().copied().collect();
        let about = there[self.draw.usize(..there.len())];
        let class = self.interaction(peer, REQUEST);
        let of = self.parameter(peer, class, "HLAfederate");
        let whom = [4, about.0].map(u32::to_be_bytes).concat();
        let done = self
            .network
            .call(peer, |f| f.send_interaction(class, &[(of, &whom)], b""));
        if self.allowed(me, done).is_some() {
            self.count("mom: ask");
            self.own(me).rooms.managed.asked.insert(about);
        }
    }

    /// Whoever has asked about one that is there has been answered.
    pub(super) fn all_are_answered(&self) {
        for (federate, own) in &self.model.own {
            let mut asked = own.rooms.managed.asked.iter();
            let waits = asked.find(|of| self.model.own.contains_key(of));
            assert_eq!(
                waits, None,
                "{federate} waits for a report of what that has counted"
            );
        }
    }

    fn parameter(
        &self,
        peer: PeerId,
        class: InteractionClassHandle,
        name: &str,
    ) -> starling_core::ParameterHandle {
        let model = self.network.hosts[&peer].federate().model();
        let parameter = model.parameter_by_name(class, name);
        parameter.expect("it is in the MIM")
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
            let reported = there.switches.report_services;
            assert_eq!(reported, own.is_reported, "{federate}: its services");
            if let Some(conveys) = own.conveys_producer {
                assert_eq!(there.switches.convey_producer, conveys, "{federate}");
            }
        }
    }
}

fn adjust(class: &str) -> String {
    format!("HLAmanager.HLAfederate.HLAadjust.{class}")
}
