//! Whether there is room behind the numbers of a save that are counted on.
//!
//! Whoever makes a save may write any. One at the end of its type would be counted on into a panic, or from the beginning
//! again; one before what it has numbered would give the same number twice.

use super::save::SavedFederation;
use crate::message::mom::Counts;
use crate::mom;
use crate::saved;
use crate::saved::delivery::Queued;
use crate::{FederateHandle, MessageRetractionHandle, Owner};

/// No federation execution comes so far by itself, and from here on there is room for as many again.
const COUNT_MAX: u64 = u64::MAX / 2;
/// The same of handles of federates, which joins count: in that of a message they have 24 bits.
const FEDERATE_MAX: u32 = 1 << 23;

/// An error if a number is beyond what it can be.
fn at_most(
    most: impl Into<u64>,
    number: impl Into<u64>,
    what: impl FnOnce() -> String,
) -> Result<(), String> {
    let (number, most) = (number.into(), most.into());
    if number <= most {
        return Ok(());
    }
    let what = what();
    Err(format!("{what} is {number}, and can't be beyond {most}"))
}

/// An error if some number of the executive's part of a save has no room behind it, or is none that can be in it.
pub(super) fn require_room(saved: &SavedFederation) -> Result<(), String> {
    let of = &saved.execution;
    let last = of.federation.last_federate;
    at_most(FEDERATE_MAX, last, || "its last federate handle".into())?;
    for federate in of.federation.members.keys() {
        if *federate == mom::RTI {
            return Err("it has a federate under the handle of the RTI".into());
        }
        at_most(last, federate.0, || format!("the handle of {federate}"))?;
    }
    log(&of.log)?;
    objects(of)?;
    time(&of.time)?;
    for (federate, managed) in &of.mom.federates {
        let what = || format!("the number of reports of services of {federate}");
        at_most(COUNT_MAX, managed.reports, what)?;
    }
    Ok(())
}

fn log(log: &saved::log::Execution) -> Result<(), String> {
    let index = log.index.0;
    at_most(COUNT_MAX, index, || "the last index of its log".into())?;
    at_most(index, log.settled.0, || {
        "the index up to which all were told its log".into()
    })?;
    at_most(index, log.epoch.0, || "the index of its epoch".into())?;
    for (federate, stream) in &log.streams {
        // Each has taken an index.
        let requests = || format!("the number of requests of {federate}");
        at_most(index, stream.requests.0, requests)?;
        let request = || format!("the index of the last request of {federate}");
        at_most(index, stream.last_request_at.0, request)?;
        let told = || format!("the index up to which {federate} was told the log");
        at_most(index, stream.told.0, told)?;
    }
    Ok(())
}

fn objects(of: &saved::Execution) -> Result<(), String> {
    let members = &of.federation.members;
    for (handle, instance) in &of.object.instances {
        let updates = || format!("the number of updates of {handle}");
        at_most(COUNT_MAX, instance.updates, updates)?;
        for (federate, (_, before, _)) in &instance.known {
            let before_known =
                || format!("the number of updates of {handle} before {federate} knew it");
            at_most(instance.updates, *before, before_known)?;
        }
        match handle.registrar() {
            Owner::Rti => {
                let of = handle.number().checked_sub(1).map(FederateHandle);
                if !of.is_some_and(|f| f == mom::RTI || members.contains_key(&f)) {
                    return Err(format!("{handle} is about no federate in it"));
                }
            }
            Owner::Federate(registrar) if members.contains_key(&registrar) => {
                let last = of.object.last.get(&registrar).copied();
                let what = || format!("the number of {handle} at its registrar");
                at_most(last.unwrap_or_default(), handle.number(), what)?;
            }
            Owner::Federate(_) => {}
        }
    }
    for (class, sent) in &of.object.interactions_sent {
        let what = || format!("the number of interactions of class {class}");
        at_most(COUNT_MAX, *sent, what)?;
    }
    at_most(COUNT_MAX, of.object.refused, || {
        "the number of updates and deletions that were refused".into()
    })?;
    at_most(COUNT_MAX, of.object.behind_deletion, || {
        "the number of updates and deletions that came behind a deletion".into()
    })
}

fn time(time: &saved::time::Execution) -> Result<(), String> {
    let messages = time.messages;
    at_most(COUNT_MAX, messages, || {
        "the number of its messages in time-stamp order".into()
    })?;
    let place = || "the place of a message in time-stamp order".into();
    for federate in time.federates.values() {
        for (_, at) in &federate.queue {
            at_most(messages, *at, place)?;
        }
    }
    for ((sender, _, number), to) in &time.retractable {
        message(*sender, *number)?;
        for (_, at) in to {
            at_most(messages, *at, place)?;
        }
    }
    for deletion in time.deletions.values() {
        for (sender, _, number) in [deletion.message].into_iter().chain(deletion.then) {
            message(sender, number)?;
        }
    }
    Ok(())
}

/// A message in time-stamp order, by its number at its sender.
fn message(sender: FederateHandle, number: u64) -> Result<(), String> {
    at_most(MessageRetractionHandle::NUMBER_MAX, number, || {
        format!("the number of a message of {sender} in time-stamp order")
    })
}

/// The same of a federate's part.
pub(super) fn require_room_in_part(
    federate: FederateHandle,
    part: &saved::Federate,
    of: &saved::Execution,
) -> Result<(), String> {
    let registered = of.object.last.get(&federate).copied().unwrap_or_default();
    if part.object.last_instance != registered {
        return Err(format!(
            "its last object instance is its {}., and the executive's is its {registered}.",
            part.object.last_instance
        ));
    }
    for region in part.ddm.own.keys() {
        let what = || format!("the number of {region}");
        at_most(part.ddm.last_region, region.number(), what)?;
    }
    message(federate, part.time.last_number)?;
    for number in part.time.sent.keys() {
        at_most(part.time.last_number, *number, || {
            "the number of a message that it may retract".into()
        })?;
    }
    let acquisitions = part.ownership.acquisitions;
    at_most(COUNT_MAX, acquisitions, || {
        "the number of its acquisitions".into()
    })?;
    let waiting = part
        .delivery
        .queue
        .iter()
        .filter_map(|queued| match queued {
            Queued::Provide(wanted) => Some(wanted),
            _ => None,
        });
    for wanted in part.object.wanted.keys().chain(waiting) {
        at_most(acquisitions, wanted.acquisitions, || {
            "the number of its acquisitions before values were asked for".into()
        })?;
    }
    counts(&part.mom.counts)
}

fn counts(counts: &Counts) -> Result<(), String> {
    let of_instances = counts.instances;
    let mut all = vec![
        counts.updates_sent,
        of_instances.registered,
        of_instances.deleted,
        of_instances.discovered,
        of_instances.removed,
    ];
    let objects = counts.updates.iter().chain(&counts.reflections);
    all.extend(objects.map(|(.., n)| *n));
    let interactions = counts.interactions_sent.iter();
    let interactions = interactions.chain(&counts.interactions_received);
    all.extend(interactions.map(|(.., n)| *n));
    let instances = counts.instances_updated.iter();
    let instances = instances.chain(&counts.instances_reflected);
    all.extend(instances.map(|(_, n)| *n));
    let most = all.into_iter().max().unwrap_or_default();
    at_most(COUNT_MAX, most, || {
        "a number that it counts for the MOM".into()
    })
}
