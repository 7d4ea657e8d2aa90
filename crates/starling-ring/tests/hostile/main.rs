//! What the fuzz target `ring` checks, on the inputs it has kept.
#![allow(dead_code, reason = "of the crate's sources the check needs a part")]
#![allow(
    clippy::arc_with_non_send_sync,
    reason = "the memory here is one thread's"
)]
#![allow(clippy::print_stdout, reason = "the test harness shows it")]

#[path = "../../src/board.rs"]
mod board;
#[path = "../../src/layout.rs"]
mod layout;
#[path = "../../src/long.rs"]
mod long;
#[path = "../../../../fuzz/checks/ring/map.rs"]
mod map;
#[path = "../../src/reader.rs"]
mod reader;
#[path = "../../../../fuzz/checks/ring.rs"]
mod ring;
#[path = "../../src/seats.rs"]
mod seats;
#[path = "../../../../fuzz/checks/ring/sizes.rs"]
mod sizes;
#[path = "../../src/writer.rs"]
mod writer;

use std::path::Path;

#[test]
fn every_kept_input_does_no_harm() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/ring");
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display()); // shown if it fails
        ring::check(&std::fs::read(path).unwrap());
        count += 1;
    }
    assert!(count >= 50, "only {count} files in {}", folder.display());
}

/// As the fuzzer does, for a moment.
#[test]
fn random_input_does_no_harm() {
    for seed in 0..2000 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bytes = vec![0; random.usize(0..2000)];
        // Half of them change little, so that something goes on.
        let most = [200, 255][seed as usize % 2];
        bytes.fill_with(|| random.u8(0..=most));
        println!("seed {seed}"); // shown if it fails
        ring::check(&bytes);
    }
}
