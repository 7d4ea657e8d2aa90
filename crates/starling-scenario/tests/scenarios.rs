//! Every scenario of the conformance suite, on the core, over the wire format and on links that are not equally fast.
#![allow(clippy::print_stdout, reason = "the test harness shows it")]

use starling_scenario::{Layer, play, read_scenarios};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn tests() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests")
}

fn files() -> Vec<PathBuf> {
    let list = |path: &Path| -> Vec<PathBuf> {
        let entries = std::fs::read_dir(path).into_iter().flatten();
        entries.filter_map(|e| Some(e.ok()?.path())).collect()
    };
    let rooms = list(&tests());
    let mut files: Vec<PathBuf> = rooms.iter().flat_map(|room| list(room)).collect();
    files.retain(|file| file.extension().is_some_and(|e| e == "scenario"));
    files.sort();
    files
}

/// What only the layers above have. Whatever else is left out is a gap here.
const ELSEWHERE: &[&str] = &[
    "AlreadyConnected",
    "CouldNotOpenFDD",
    "CouldNotOpenMIM",
    "DesignatorIsHLAstandardMIM",
    "FederateAlreadyExecutionMember",
    "FederateInternalError",
    "FederateIsExecutionMember",
    "FederateNotExecutionMember",
    "connect",
    "disconnect",
    "evokeCallback",
    "evokeMultipleCallbacks",
    "numbers that are no enumerator",
    "numbers that are no time",
    "only cut",
    "only immediate",
];

fn play_all(layer: Layer) {
    let foms = tests().join("data/fom").display().to_string();
    let mut played = 0;
    let mut left_out = BTreeSet::new();
    let mut failures = Vec::new();
    for file in files() {
        for scenario in read_scenarios(&file).expect("a scenario file") {
            played += 1;
            match play(&scenario, layer, &foms) {
                Ok(left) => left_out.extend(left),
                Err(why) => failures.push(why),
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
    println!("{layer:?}: {played} scenarios");
    assert!(played > 150, "{played} scenarios found");
    let left_out: Vec<&str> = left_out.iter().map(String::as_str).collect();
    assert_eq!(left_out, ELSEWHERE);
}

#[test]
fn on_the_core() {
    play_all(Layer::Core);
}

#[test]
fn over_the_wire_format() {
    play_all(Layer::Wire);
}

/// A scenario that fails here expects an order that nothing makes: say `quiet`, or expect a callback
/// first. Through the C++ API it would fail now and then.
#[test]
fn whichever_link_is_faster() {
    for seed in 0..LINK_ORDERS {
        play_all(Layer::Late(seed));
    }
}

/// The scenarios that depended on the order of two links failed in every fourth order or more often.
const LINK_ORDERS: u64 = 12;

#[test]
fn wrong_scenarios_fail() {
    let file = tests().join("conformance/must_fail.txt");
    let foms = tests().join("data/fom").display().to_string();
    let scenarios = read_scenarios(&file).expect("a scenario file");
    // What they get wrong at other layers is told in their titles.
    for scenario in &scenarios {
        let outcome = play(scenario, Layer::Core, &foms);
        let noticed = outcome.is_err() || outcome.is_ok_and(|left| !left.is_empty());
        assert!(noticed, "{} must fail: {}", scenario.place, scenario.title);
    }
    assert!(!scenarios.is_empty());
}

/// What a save and a restore may come to is shown value by value, as the C++ API lists them.
#[test]
fn every_reason_and_status_of_saves_and_restores_is_shown() {
    let header = tests().join("../cpp/rti1516e/include/RTI/Enums.h");
    let header = std::fs::read_to_string(header).expect("the header");
    let text = |file: PathBuf| std::fs::read_to_string(file).expect("it is there");
    let scenarios: String = files().into_iter().map(text).collect();
    let words: BTreeSet<&str> = scenarios
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .collect();
    let mut missing = Vec::new();
    let mut listed = 0;
    for name in [
        "SaveFailureReason",
        "RestoreFailureReason",
        "SaveStatus",
        "RestoreStatus",
    ] {
        let (_, after) = header.split_once(&format!("enum {name} {{")).expect(name);
        let (values, _) = after.split_once('}').expect("its end");
        for value in values.split(',').filter_map(|v| v.split('=').next()) {
            listed += 1;
            if !words.contains(value.trim()) {
                missing.push(value.trim().to_owned());
            }
        }
    }
    assert_eq!(listed, 21);
    assert_eq!(missing, Vec::<String>::new());
}
