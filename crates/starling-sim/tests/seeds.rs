//! A fixed share of seeds in every test run; a campaign runs `examples/campaign.rs`.

use starling_sim::Report;

#[test]
fn seeds() {
    let done = replay(800, starling_sim::run);
    let acquisitions = done.acquisitions;
    assert!(
        acquisitions > 4_000,
        "the programs do too little: {acquisitions} acquisitions"
    );
    let short = SHORT_WAYS.map(|what| (what, 1_000));
    // Time is not managed.
    came_up(&done, &short[..SHORT_WAYS.len() - 1]);
}

#[test]
fn seeds_where_every_second_federate_conflates() {
    let done = replay(400, starling_sim::run_conflated);
    let conflated = done.coverage.get("conflated").copied().unwrap_or(0);
    assert!(
        conflated > 300,
        "the programs do too little: {conflated} conflated"
    );
}

/// Data on a link of its own that overtook a restore was lost.
#[test]
fn seeds_of_saves_that_failed() {
    for seed in [200_473, 202_881, 206_539, 207_614] {
        starling_sim::saves::run(seed, 300);
    }
}

/// A federate that has passed over a grant and asks on was refused when it saved.
#[test]
fn seed_whose_honest_part_of_a_save_was_refused() {
    starling_sim::saves::run(301_550, 300);
}

/// The next save at a time was told before what came before it, to a federate that had not evoked the end of the last one.
#[test]
fn seed_of_a_save_that_overtook_a_message() {
    starling_sim::saves::run(3_020_874, 300);
}

/// Best-effort data that came on a link of its own was dropped for newer data that had come otherwise.
#[test]
fn seeds_of_messages_that_nothing_had_overtaken() {
    starling_sim::saves::run(6_054_483, 300);
    for seed in [6_097_704, 6_129_551] {
        starling_sim::saves::run_managed(seed, 300);
    }
}

/// A flush that was asked for between the instruction to save and its callback promised more than its time and lookahead.
#[test]
fn seed_of_a_flush_that_crossed_an_instruction() {
    starling_sim::saves::run(3_001_449, 300);
}

/// A federate whose regulation began just behind a time was taken for one that had come to the next, and
/// so held up the others' last advance.
#[test]
fn seeds_of_saves_whose_end_came_too_early() {
    for seed in [202_697, 207_982] {
        starling_sim::saves::run(seed, 300);
    }
}

/// An update below the time of a deletion, whose sender had the removal waiting since it had flushed its queue, was
/// dropped.
#[test]
fn seed_of_an_update_before_a_deletion_that_was_flushed() {
    starling_sim::time::run(1_009_659, 300);
}

/// What was said of an instance that its federate had deleted was dropped, so that after the retraction an acquisition
/// had no end.
#[test]
fn seeds_of_acquisitions_and_deletions_that_were_retracted() {
    for seed in [1_100_642, 1_101_766] {
        starling_sim::time::run(seed, 300);
    }
}

/// What a former owner sent by the executive came behind what the next owner did, since it waited for a discovery; and
/// what waits otherwise until then is to wait for it, too.
#[test]
fn seeds_of_discoveries_that_were_asked_for() {
    for seed in [512_056, 513_336] {
        starling_sim::run(seed, 300);
    }
}

#[test]
fn seeds_of_data_distribution_management() {
    let done = replay(1000, starling_sim::ddm::run);
    let again = done.coverage.get("discovered again").copied();
    assert!(again > Some(20), "discovered again: {again:?}");
}

/// Every service and callback of time management, and every fault, is in a few hundred programs.
#[test]
fn seeds_of_time_management() {
    let done = replay(600, starling_sim::time::run);
    let expected = [
        "timeAdvanceRequest",
        "timeAdvanceRequestAvailable",
        "nextMessageRequest",
        "nextMessageRequestAvailable",
        "flushQueueRequest",
        "grants of next message passed over",
        "timeAdvanceGrant",
        "enableTimeRegulation",
        "timeRegulationEnabled",
        "disableTimeRegulation",
        "enableTimeConstrained",
        "timeConstrainedEnabled",
        "disableTimeConstrained",
        "modifyLookahead",
        "enableAsynchronousDelivery",
        "disableAsynchronousDelivery",
        "queryGALT, queryLITS",
        "retract",
        "retract of a deletion",
        "requestRetraction",
        "changeAttributeOrderType",
        "changeInteractionOrderType",
        "in time-stamp order",
        "in time-stamp order, got in receive order",
        "in receive order with a time",
        "best effort",
        "sendInteractionWithRegions",
        "associateRegionsForUpdates",
        "subscribeObjectClassAttributes at a rate",
        "attributeOwnershipAcquisitionNotification",
        "requestTransportationTypeChange",
        "direct links",
        "by the executive",
        "late join",
        "resignFederationExecution",
        "killed",
        "stopped",
        "HLAinteger64Time",
        "HLAfloat64Time",
        "takes no callbacks",
        "subscriptions are judged at delivery",
        "subscribed since it was sent",
        "not subscribed any more",
        "came to rest",
    ];
    for what in expected.into_iter().chain(OF_THE_MOM) {
        let times = done.coverage.get(what).copied().unwrap_or(0);
        assert!(times >= 20, "the programs do too little: {times} x {what}");
    }
    came_up(&done, &SHORT_WAYS.map(|what| (what, 10)));
    came_up(&done, &[("sent as most is, with a time", 4_000)]);
    // Seldom: who flushes wants nothing of what waits. The core's own random programs of flushes meet it often.
    let passed_over = done
        .coverage
        .get("grants of flush queue passed over")
        .copied();
    assert!(
        passed_over > Some(0),
        "grants of flush queue passed over: {passed_over:?}"
    );
}

/// How data goes from where it was read to its callback, and leaves its sender, if it is as most is.
const SHORT_WAYS: [&str; 6] = [
    "left as it was read",
    "passed as it was read",
    "passed behind what was read with it",
    "next of the queue as most are",
    "sent as most is",
    "sent as most is, with a time",
];

/// At least so often.
fn came_up(done: &Report, least: &[(&str, u64)]) {
    for (what, least) in least {
        let times = done.coverage.get(what).copied().unwrap_or(0);
        assert!(
            times >= *least,
            "the programs do too little: {times} x {what}"
        );
    }
}

fn replay(seeds: u64, run: fn(u64, usize) -> Report) -> Report {
    let mut done = Report::default();
    for seed in 0..seeds {
        let report = std::panic::catch_unwind(|| run(seed, 300));
        let report = report.unwrap_or_else(|_| panic!("seed {seed}, 300 actions"));
        done.add(&report);
    }
    assert!(
        done.callbacks > 10_000,
        "the programs do too little: {} callbacks",
        done.callbacks
    );
    done
}

/// Whatever the MOM has a service for is done on behalf of others, but for saves and restores.
#[test]
fn seeds_of_services_called_for_others() {
    let done = replay(60, starling_sim::acts::run);
    let services = done.coverage.keys().filter(|what| what.starts_with("HLA"));
    assert_eq!(services.count(), 25, "{:?}", done.coverage);
    for (what, times) in &done.coverage {
        assert!(*times > 5, "'{what}' came {times} times");
    }
}

/// What federates do with the management object model in the midst of all rooms, and hear of it.
const OF_THE_MOM: [&str; 19] = [
    "mom: period",
    "mom: periodic updates",
    "mom: switch",
    "mom: auto-provide",
    "mom: report services",
    "mom: report exceptions",
    "mom: subscribe",
    "mom: unsubscribe",
    "mom: ask",
    "mom: ask for values",
    "mom: a parameter is missing",
    "mom: an instance is discovered",
    "mom: an instance is removed",
    "mom: values are told",
    "mom: counts are reported",
    "mom: a service is reported",
    "mom: an exception is reported",
    "mom: what is wrong is reported",
    "mom: a lost federate is reported",
];

/// The same with a management object model: what it was asked for is restored, and reports have no gap.
#[test]
fn seeds_of_saves_with_a_management_object_model() {
    let done = replay(200, starling_sim::saves::run_managed);
    let expected = ["mom: what was told is so", "restored"];
    for what in expected.into_iter().chain(OF_THE_MOM) {
        let times = done.coverage.get(what).copied().unwrap_or_default();
        assert!(times > 25, "'{what}' came {times} times");
    }
}

/// Every stage of saves and restores, and every fault, is in a few hundred programs.
#[test]
fn seeds_of_saves_and_restores() {
    let done = replay(400, starling_sim::saves::run);
    let expected = [
        "save at once",
        "save at a time",
        "initiateFederateSave",
        "instructed with what came up to the time",
        "federationSaved",
        "federationNotSaved",
        "fault: a save that can't be written",
        "fault: save aborted",
        "requestFederationRestoreSucceeded",
        "requestFederationRestoreFailed",
        "federationRestoreBegun",
        "initiateFederateRestore",
        "federationRestored",
        "federationNotRestored",
        "restored",
        "fault: restore aborted",
        "fault: a federate reports failure",
        "fault: left while saving",
        "fault: left while restored",
        "fault: killed",
        "fault: resigned",
        "fault: late join",
        "fault: stopped",
        "fault: a data path changes",
        "fault: a link stands still",
        "fault: best effort is lost",
        "direct links",
        "by the executive",
        "HLAinteger64Time",
        "HLAfloat64Time",
        "compared with the model",
        "ownership: acquire",
        "ownership: acquire if available",
        "ownership: divest",
        "ownership: divest by negotiation",
        "ownership: cancel a divestiture",
        "ownership: give away what is asked for",
        "confirmDivestiture has divested",
        "requestDivestitureConfirmation",
        "attributeOwnershipAcquisitionNotification",
        "ddm: create",
        "ddm: set bounds",
        "ddm: commit",
        "ddm: associate",
        "ddm: send",
        "ddm: subscribe",
        "time: retract",
        "time: change order",
        "time: change an attribute's order",
        "requestRetraction",
        "federation: achieve",
        "federationSynchronized",
        "object: update",
        "object: change transportation",
        "reportInteractionTransportationType",
        "object: change an attribute's transportation",
        "confirmAttributeTransportationTypeChange",
        "reportAttributeTransportationType",
        "reflectAttributeValues",
        "declaration: subscribe at a rate",
        "support: switch",
        "support: directive",
    ];
    for what in expected {
        let times = done.coverage.get(what).copied().unwrap_or_default();
        assert!(times > 10, "'{what}' came {times} times");
    }
    came_up(&done, &SHORT_WAYS.map(|what| (what, 10)));
}
