//! Tests of the core for what a scenario can't show, a file for each room or rule. They are one program:
//! as programs of their own each would be linked with the core by itself, for every change of it.

mod acting;
mod advisories;
mod common;
mod conflation;
mod counters;
mod ddm;
mod deaths;
mod fences;
mod hostile;
mod modified;
mod modules;
mod mom_off;
mod object;
mod open;
mod ownership;
mod paths;
mod plain;
mod resigning;
mod restored_links;
mod save;
mod save_failures;
mod save_numbers;
mod save_refusals;
mod save_reports;
mod saved;
mod scheduled_saves;
mod service_reports;
mod shown;
mod switched_off;
mod synchronization;
mod time;
mod traffic;
mod transportation;
mod under_way;
mod unjoined;
mod update_rates;
mod why;
mod why_time;

/// One that is not named above would never run.
#[test]
fn every_file_is_named_here() {
    let here = concat!(env!("CARGO_MANIFEST_DIR"), "/tests");
    let named = include_str!("main.rs");
    for entry in std::fs::read_dir(here).unwrap() {
        let file = entry.unwrap().file_name().into_string().unwrap();
        let module = file.trim_end_matches(".rs");
        let is_named = named.contains(&format!("\nmod {module};\n"));
        assert!(is_named || file == "main.rs", "tests/{file}");
    }
}
