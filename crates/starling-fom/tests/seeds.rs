//! What the fuzz target `fom_module` checks, on the inputs it has kept.
#![allow(clippy::print_stdout, reason = "the test harness shows it")]

use std::path::Path;

#[path = "../../../fuzz/checks/fom_module.rs"]
mod fom_module;

#[test]
fn every_kept_input_is_read_soundly() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/fom_module");
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display()); // shown if it fails
        fom_module::check(&std::fs::read(path).unwrap());
        count += 1;
    }
    assert!(count >= 50, "only {count} files in {}", folder.display());
}
