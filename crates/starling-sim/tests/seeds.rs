//! A fixed share of seeds in every test run; a campaign runs `examples/campaign.rs`.

use starling_sim::{KINDS, Report};

#[test]
fn seeds() {
    replay("plain", 800);
}

#[test]
fn seeds_where_every_second_federate_conflates() {
    replay("conflated", 400);
}

#[test]
fn seeds_of_data_distribution_management() {
    replay("ddm", 1000);
}

#[test]
fn seeds_of_time_management() {
    replay("time", 600);
}

#[test]
fn seeds_of_saves_and_restores() {
    replay("saves", 400);
}

/// The same with a management object model: what it was asked for is restored, and reports have no gap.
#[test]
fn seeds_of_saves_with_a_management_object_model() {
    replay("managed", 200);
}

/// Whatever the MOM has a service for is done on behalf of others, but for saves and restores.
#[test]
fn seeds_of_services_called_for_others() {
    replay("acts", 60);
}

/// How often at least what comes up in each kind of programs, by a column for each: about half of what these seeds
/// bring about. `examples/campaign.rs 0 SEEDS 300 KIND` prints it.
const FLOORS: &str = include_str!("floors.txt");

/// The names of a line of floors and its cells.
fn row(line: &str) -> (&str, Vec<&str>) {
    let (what, cells) = line.split_at(60);
    (what.trim(), cells.split_whitespace().collect())
}

/// Every service, exception, callback and fault of this kind of programs comes up often enough.
fn replay(kind: &str, seeds: u64) {
    let run = KINDS.iter().find(|(name, _)| *name == kind);
    let (_, run) = run.expect("there are such programs");
    let mut done = Report::default();
    for seed in 0..seeds {
        let report = std::panic::catch_unwind(|| run(seed, 300));
        let report = report.unwrap_or_else(|_| panic!("seed {seed}, 300 actions"));
        done.add(&report);
    }
    let mut rows = FLOORS.lines().map(row);
    let (_, kinds) = rows.next().expect("the kinds of programs");
    let column = kinds
        .iter()
        .position(|k| *k == kind)
        .expect("it has a column");
    let too_little: Vec<_> = rows
        .filter(|(_, cells)| cells[column] != "-")
        .filter_map(|(what, cells)| {
            let least: u64 = cells[column].parse().expect("floors are whole numbers");
            let times = done.coverage.get(what).copied().unwrap_or(0);
            (times < least).then(|| format!("{what}: {times} times, not {least}"))
        })
        .collect();
    assert!(
        too_little.is_empty(),
        "the programs of '{kind}' do too little: {too_little:#?}"
    );
}

macro_rules! names {
    ($($(#[$doc:meta])* $service:ident $method:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        [$(starling_core::Service::$service),*]
    };
}

/// Those of rooms; what only looks something up or sets a switch is of chapters 10 and 12.
#[test]
fn services_that_no_program_calls() {
    let called: Vec<_> = FLOORS.lines().map(|line| row(line).0).collect();
    let is_of_room = |clause: &str| !clause.starts_with("10.") && clause != "12";
    let others: Vec<_> = starling_core::services!(names)
        .into_iter()
        .filter(|service| is_of_room(service.clause()))
        .map(starling_core::Service::name)
        .filter(|name| !called.iter().any(|c| c.ends_with(&format!(": {name}"))))
        .collect();
    let expected = [
        "queryFederationSaveStatus",
        "queryFederationRestoreStatus",
        "queryAttributeOwnership",
    ];
    assert_eq!(others, expected);
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
