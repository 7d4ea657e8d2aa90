//! The attributes of the MOM's object classes that are the RTI's (1516.1-2010, 11.2), each with what it is worth:
//! whatever else has such an attribute owned by the RTI has no value.

use super::encoding::Encoder;
use super::execution::Managed;
use super::reports::text;
use crate::execution::Execution;
use crate::federation::members::Member;
use crate::message::ModuleSource;
use crate::message::mom::Counts;
use crate::time::galt::Clock;
use crate::{FederateHandle, LogicalTime};

/// The version that HLARTIversion names.
const VERSION: &str = concat!("Starling ", env!("CARGO_PKG_VERSION"));

/// An attribute of HLAmanager.HLAfederation: its name, and its value.
type OfFederation = (&'static str, fn(&mut Execution) -> Vec<u8>);

/// All attributes of HLAmanager.HLAfederation.
static OF_FEDERATION: [OfFederation; 12] = [
    ("HLAfederationName", |x| text(x.federation.name())),
    ("HLAfederatesInFederation", |x| {
        let members = x.federation.members();
        Encoder::of(|e| e.list(members.keys(), |e, f| e.handle(f.0)))
    }),
    ("HLARTIversion", |_| text(VERSION)),
    ("HLAMIMdesignator", |x| {
        let mim = x.federation.modules().first();
        text(mim.map_or("", |m| &m.designator))
    }),
    ("HLAFOMmoduleDesignatorList", |x| {
        Encoder::of(|e| designators(e, x.fom_modules()))
    }),
    ("HLAcurrentFDD", Execution::current_fdd),
    ("HLAtimeImplementationName", |x| {
        text(x.time.time_type().name())
    }),
    ("HLAlastSaveName", |x| text(x.federation.last_save().0)),
    ("HLAlastSaveTime", |x| time(x.federation.last_save().1)),
    ("HLAnextSaveName", |x| text(x.federation.next_save().0)),
    ("HLAnextSaveTime", |x| time(x.federation.next_save().1)),
    ("HLAautoProvide", |x| {
        Encoder::of(|e| e.boolean(x.auto_provide()))
    }),
];

/// An attribute of HLAmanager.HLAfederate.
struct OfFederate {
    name: &'static str,
    /// The RTI updates it periodically, if it is asked to (HLAsetTiming).
    periodic: bool,
    worth: Worth,
}

/// What an attribute of HLAmanager.HLAfederate is worth.
enum Worth {
    /// What the executive knows of the federate.
    Known(fn(&mut Encoder, &Of<'_>)),
    /// Milliseconds in a state of its time manager since it was last asked for.
    Spent { advancing: bool },
    /// What the federate alone knows.
    Counted(fn(&Counts) -> u64),
}

/// A member.
struct Of<'a> {
    federate: FederateHandle,
    execution: &'a Execution,
    member: &'a Member,
    managed: &'a Managed,
}

impl Of<'_> {
    fn clock(&self) -> Option<&Clock> {
        self.execution.time.times().clock(self.federate)
    }
}

const fn once(name: &'static str, known: fn(&mut Encoder, &Of<'_>)) -> OfFederate {
    let worth = Worth::Known(known);
    let periodic = false;
    OfFederate {
        name,
        periodic,
        worth,
    }
}

const fn periodic(name: &'static str, worth: Worth) -> OfFederate {
    let periodic = true;
    OfFederate {
        name,
        periodic,
        worth,
    }
}

/// All attributes of HLAmanager.HLAfederate.
static OF_FEDERATE: [OfFederate; 32] = {
    use Worth::{Counted, Known, Spent};
    [
        once("HLAfederateHandle", |e, of| e.handle(of.federate.0)),
        once("HLAfederateName", |e, of| e.text(of.member.name())),
        once("HLAfederateType", |e, of| e.text(of.member.kind())),
        once("HLAfederateHost", |e, of| {
            e.text(&of.member.peer_info().host);
        }),
        once("HLARTIversion", |e, _| e.text(VERSION)),
        once("HLAFOMmoduleDesignatorList", |e, of| {
            designators(e, &of.managed.modules);
        }),
        once("HLAtimeConstrained", |e, of| {
            e.boolean(of.execution.time.is_constrained(of.federate));
        }),
        once("HLAtimeRegulating", |e, of| {
            let bound = of.execution.time.times().bounds(of.federate).0;
            e.boolean(bound.is_some());
        }),
        once("HLAasynchronousDelivery", |e, of| {
            e.boolean(of.managed.asynchronous);
        }),
        once("HLAfederateState", |e, of| {
            e.number(of.execution.federate_state(of.federate));
        }),
        once("HLAtimeManagerState", |e, of| {
            e.boolean(of.clock().is_some_and(|c| c.advance().is_some()));
        }),
        once("HLAconveyRegionDesignatorSets", |e, of| {
            e.boolean(of.managed.switches.convey_regions);
        }),
        once("HLAconveyProducingFederate", |e, of| {
            e.boolean(of.managed.switches.convey_producer);
        }),
        periodic(
            "HLAlogicalTime",
            Known(|e, of| e.time(of.execution.time.times().time(of.federate))),
        ),
        periodic(
            "HLAlookahead",
            Known(|e, of| e.interval(of.execution.time.times().lookahead(of.federate))),
        ),
        periodic(
            "HLAGALT",
            Known(|e, of| e.time(of.execution.time.times().galt(of.federate).time())),
        ),
        periodic(
            "HLALITS",
            Known(|e, of| e.time(of.execution.time.times().lits(of.federate))),
        ),
        periodic("HLAROlength", Counted(|c| c.receive_order_length)),
        periodic("HLATSOlength", Counted(|c| c.time_stamp_order_length)),
        periodic(
            "HLAreflectionsReceived",
            Counted(|c| total(c.reflections.iter().map(|(.., n)| n))),
        ),
        periodic("HLAupdatesSent", Counted(|c| c.updates_sent)),
        periodic(
            "HLAinteractionsReceived",
            Counted(|c| total(c.interactions_received.iter().map(|(.., n)| n))),
        ),
        periodic(
            "HLAinteractionsSent",
            Counted(|c| total(c.interactions_sent.iter().map(|(.., n)| n))),
        ),
        periodic(
            "HLAobjectInstancesThatCanBeDeleted",
            Known(|e, of| e.count(of.execution.deletable_by(of.federate).len() as u64)),
        ),
        periodic(
            "HLAobjectInstancesUpdated",
            Counted(|c| total(c.instances_updated.iter().map(|(_, n)| n))),
        ),
        periodic(
            "HLAobjectInstancesReflected",
            Counted(|c| total(c.instances_reflected.iter().map(|(_, n)| n))),
        ),
        periodic(
            "HLAobjectInstancesDeleted",
            Counted(|c| c.instances.deleted),
        ),
        periodic(
            "HLAobjectInstancesRemoved",
            Counted(|c| c.instances.removed),
        ),
        periodic(
            "HLAobjectInstancesRegistered",
            Counted(|c| c.instances.registered),
        ),
        periodic(
            "HLAobjectInstancesDiscovered",
            Counted(|c| c.instances.discovered),
        ),
        periodic("HLAtimeGrantedTime", Spent { advancing: false }),
        periodic("HLAtimeAdvancingTime", Spent { advancing: true }),
    ]
};

/// Federates may tell any numbers.
fn total<'a>(counts: impl Iterator<Item = &'a u64>) -> u64 {
    counts.fold(0, |sum, n| sum.saturating_add(*n))
}

fn time(time: Option<LogicalTime>) -> Vec<u8> {
    Encoder::of(|e| e.time(time))
}

fn designators(e: &mut Encoder, modules: &[ModuleSource]) {
    e.list(modules, |e, m| e.text(&m.designator));
}

fn of_federate(name: &str) -> Option<&'static OfFederate> {
    OF_FEDERATE.iter().find(|a| a.name == name)
}

/// Whether it is an attribute of HLAmanager.HLAfederation that is the RTI's.
pub(super) fn is_of_federation(name: &str) -> bool {
    OF_FEDERATION.iter().any(|(own, _)| *own == name)
}

/// Whether it is an attribute of HLAmanager.HLAfederate that is the RTI's.
pub(super) fn is_of_federate(name: &str) -> bool {
    of_federate(name).is_some()
}

/// Attributes of HLAmanager.HLAfederate that the RTI updates periodically.
pub(super) fn periodic_names() -> Vec<&'static str> {
    let periodic = OF_FEDERATE.iter().filter(|a| a.periodic);
    periodic.map(|a| a.name).collect()
}

/// Whether it is one of these.
pub(super) fn is_periodic(name: &str) -> bool {
    of_federate(name).is_some_and(|a| a.periodic)
}

/// Whether a federate alone knows what an attribute of its HLAmanager.HLAfederate is worth.
pub(super) fn needs_counts(name: &str) -> bool {
    of_federate(name).is_some_and(|a| matches!(a.worth, Worth::Counted(_)))
}

impl Execution {
    /// What an attribute of HLAmanager.HLAfederation is worth; none if it is none of those.
    pub(super) fn federation_value(&mut self, name: &str) -> Option<Vec<u8>> {
        let (_, value) = OF_FEDERATION.iter().find(|(own, _)| *own == name)?;
        Some(value(self))
    }

    /// What an attribute of a member's HLAmanager.HLAfederate is worth; none if it is none of those, or is
    /// counted and no counts are given.
    pub(super) fn federate_value(
        &mut self,
        federate: FederateHandle,
        name: &str,
        counts: Option<&Counts>,
    ) -> Option<Vec<u8>> {
        let mut e = Encoder::default();
        match &of_federate(name)?.worth {
            Worth::Known(put) => put(
                &mut e,
                &Of {
                    federate,
                    execution: self,
                    member: self.federation.members().get(&federate)?,
                    managed: self.mom.federates.get(&federate)?,
                },
            ),
            Worth::Spent { advancing } => {
                let now = self.mom.now;
                let managed = self.mom.federates.get_mut(&federate)?;
                e.count(managed.spent.take(*advancing, now));
            }
            Worth::Counted(count) => e.count(count(counts?)),
        }
        Some(e.done())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::PRIVILEGE_TO_DELETE;
    use starling_fom::ObjectModel;
    use std::collections::BTreeSet;

    #[test]
    fn all_attributes_of_the_mim_and_no_others_are_worth_something() {
        let mim = starling_fom::parse("mim", starling_fom::standard_mim().as_bytes()).unwrap();
        let model = ObjectModel::new(&mim).unwrap();
        let of_mim = |class: &str| -> BTreeSet<&str> {
            let class = model.object_class_by_name(class).unwrap();
            let names = class.attributes.iter();
            let names = names.map(|a| model.attribute(*a).unwrap().name.as_str());
            names.filter(|name| *name != PRIVILEGE_TO_DELETE).collect()
        };
        let of_federation = OF_FEDERATION.iter().map(|(name, _)| *name).collect();
        assert_eq!(of_mim("HLAmanager.HLAfederation"), of_federation);
        let of_federate = OF_FEDERATE.iter().map(|a| a.name).collect();
        assert_eq!(of_mim("HLAmanager.HLAfederate"), of_federate);
    }

    #[test]
    fn sums_of_any_counts_have_an_end() {
        let most = [u64::MAX, 1];
        assert_eq!(total(most.iter()), u64::MAX);
    }
}
