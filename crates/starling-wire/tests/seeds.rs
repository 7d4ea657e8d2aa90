//! What the fuzz target `wire_frame` checks, on the inputs it has kept.
#![allow(clippy::print_stdout, reason = "the test harness shows it")]

use starling_wire::{Frame, split_frame};
use std::path::Path;

#[path = "../../../fuzz/checks/wire_frame.rs"]
mod wire_frame;

/// A seed that is refused at once leads the fuzzer nowhere.
fn all_is_decoded(mut bytes: &[u8]) {
    while !bytes.is_empty() {
        let whole = split_frame(bytes).ok().flatten();
        let decoded = whole.map(|(frame, used)| (Frame::decode(frame).map(drop), used));
        let Some((Ok(()), used)) = decoded else {
            panic!("of an older layout ({decoded:?}); do: as examples/seeds.rs says");
        };
        bytes = &bytes[used..];
    }
}

#[test]
fn every_kept_input_is_read_soundly() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/wire_frame");
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display()); // shown if it fails
        let bytes = std::fs::read(path).unwrap();
        wire_frame::check(&bytes);
        all_is_decoded(&bytes);
        count += 1;
    }
    assert!(count >= 50, "only {count} files in {}", folder.display());
}
