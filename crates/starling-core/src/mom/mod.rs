//! The management object model, 1516.1-2010 chapter 11.
//!
//! The executive owns and updates the MOM's object instances and sends its reports: all that it says
//! is in entries of the log, which the rooms of chapters 6, 7 and 9 treat as they treat what
//! federates say. What federates say to the RTI comes as a request to the log, behind whatever they
//! asked for before.
//!
//! Invariants:
//! - only the executive makes entries of this chapter: for those who subscribe, and for the federate that
//!   one asks about or acts on;
//! - what a federate counts stands at the federate, and comes to the executive when somebody asks:
//!   no count costs a message;
//! - the handle of a MOM instance follows from whose it is, and is in the RTI's own block;
//! - an attribute that a FOM added to the MOM's classes is nothing to the RTI, nor is a
//!   parameter but HLAsyncPointName, for which the MIM of 2010 has a report and no request.

mod adjust;
pub(crate) mod arguments;
mod attributes;
pub(crate) mod counts;
mod encoding;
pub(crate) mod execution;
pub(crate) mod federate;
mod invocations;
mod objects;
pub(crate) mod reports;
mod saved;
mod services;

pub(crate) use objects::mim_text;

use crate::object::PRIVILEGE_TO_DELETE;
use crate::{
    AttributeHandle, Exception, FederateHandle, ObjectClassHandle, ObjectInstanceHandle,
    RegionHandle,
};
use starling_fom::{InteractionClassHandle, ObjectModel};

/// The class of reports of service invocations.
const SERVICE_INVOCATION: &str = "HLAmanager.HLAfederate.HLAreport.HLAreportServiceInvocation";

/// The RTI where a federate is named as the sender of data or the creator of a region.
pub(crate) const RTI: FederateHandle = FederateHandle(0);

/// How many federates were looked at for what is due next, for tests.
#[cfg(test)]
pub(crate) mod looks {
    use std::cell::Cell;

    thread_local!(static LOOKS: Cell<usize> = const { Cell::new(0) });

    pub(super) fn one_more() {
        LOOKS.set(LOOKS.get() + 1);
    }

    pub(crate) fn take() -> usize {
        LOOKS.take()
    }
}

/// HLAmanager.HLAfederation.
pub(crate) const FEDERATION: ObjectInstanceHandle = ObjectInstanceHandle(1);

/// HLAmanager.HLAfederate of a federate. Handles of federates stay far below the end of the block.
pub(crate) fn instance_of(federate: FederateHandle) -> ObjectInstanceHandle {
    ObjectInstanceHandle(1 + u64::from(federate.0))
}

/// Whose HLAmanager.HLAfederate it is.
fn federate_of(instance: ObjectInstanceHandle) -> FederateHandle {
    FederateHandle((instance.0 - 1) as u32)
}

/// The region that the RTI updates a federate's HLAmanager.HLAfederate with.
fn region_of(federate: FederateHandle) -> RegionHandle {
    RegionHandle::new(RTI, federate.0)
}

/// The RTI's own object classes (11.1): which they are by name, and the first of these attributes that
/// the RTI alone publishes there. What a FOM adds, subclasses and attributes, is the federates'.
pub(crate) fn own_attribute<'a>(
    model: &'a ObjectModel,
    class: ObjectClassHandle,
    attributes: &[AttributeHandle],
) -> Option<&'a str> {
    let class = own_class(model, class)?;
    let name = |a: &AttributeHandle| Some(model.attribute(*a)?.name.as_str());
    let own = |name: &&str| match class {
        "HLAobjectRoot.HLAmanager.HLAfederate" => attributes::is_of_federate(name),
        _ => attributes::is_of_federation(name),
    };
    attributes
        .iter()
        .filter_map(name)
        .find(|n| own(n) || *n == PRIVILEGE_TO_DELETE)
}

/// The name of an object class whose instances only the RTI registers (11.1); none of another.
pub(crate) fn own_class(model: &ObjectModel, class: ObjectClassHandle) -> Option<&str> {
    let name = model.object_class(class)?.name.as_str();
    matches!(
        name,
        "HLAobjectRoot.HLAmanager"
            | "HLAobjectRoot.HLAmanager.HLAfederate"
            | "HLAobjectRoot.HLAmanager.HLAfederation"
    )
    .then_some(name)
}

/// For a class that this version of the MOM does not know.
fn unknown(class: &str) -> reports::Fault {
    reports::Fault::refused(format!("the RTI does not know what to do on '{class}'"))
}

/// Whether it is HLAmanager's interaction class, by its whole name, or one below.
fn is_of_rti(class: &str) -> bool {
    class.split('.').nth(1) == Some("HLAmanager")
}

/// For services that need what there is none of.
fn switched_off(what: &str) -> Exception {
    let what = format!("{what} is the management object model's");
    crate::switches::switched_off(&what, "services.mom")
}

/// The RTI, if it publishes a class, given by its whole name, or a subclass of it.
pub(crate) fn publisher(class: &str) -> Option<String> {
    let mut steps = class.split('.').skip(1);
    let mom = steps.next() == Some("HLAmanager");
    let sent = matches!(steps.nth(1), None | Some("HLAreport"));
    (mom && sent).then(|| "the RTI".to_owned())
}

/// Interaction classes that the RTI subscribes to, with their subclasses: those below HLAadjust,
/// HLArequest and HLAservice. By number, as each interaction that is sent asks for its class.
#[derive(Default)]
pub(crate) struct Served(Vec<bool>);

impl Served {
    pub(crate) fn of(model: &ObjectModel) -> Self {
        let roots = [
            "HLAmanager.HLAfederate.HLAadjust",
            "HLAmanager.HLAfederate.HLArequest",
            "HLAmanager.HLAfederate.HLAservice",
            "HLAmanager.HLAfederation.HLAadjust",
            "HLAmanager.HLAfederation.HLArequest",
        ];
        let children = |class: InteractionClassHandle| {
            let class = model.interaction_class(class);
            class.map_or(&[][..], |c| &c.children).iter().copied()
        };
        let roots = roots
            .iter()
            .filter_map(|n| model.interaction_class_by_name(n));
        let mut below: Vec<_> = roots.flat_map(|root| children(root.handle)).collect();
        let mut served = Vec::new();
        while let Some(class) = below.pop() {
            let number = class.raw() as usize;
            served.resize(served.len().max(number + 1), false);
            served[number] = true;
            below.extend(children(class));
        }
        Served(served)
    }

    /// Whether the RTI acts on interactions of this class.
    #[inline]
    pub(crate) fn has(&self, class: InteractionClassHandle) -> bool {
        self.0.get(class.raw() as usize) == Some(&true)
    }
}
