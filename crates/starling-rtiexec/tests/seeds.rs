//! What the fuzz target `saved_file` checks, on the inputs it has kept.
#![allow(clippy::print_stdout, reason = "the test harness shows it")]

use std::path::Path;

#[path = "../../../fuzz/checks/saved_file.rs"]
mod saved_file;

#[test]
fn every_kept_file_is_read_soundly_and_refused_when_it_is_damaged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/saved_file");
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display()); // shown if it fails
        let seed = std::fs::read(path).unwrap();
        let read = saved_file::check(&seed);
        assert!(
            read.is_ok(),
            "of an older layout, or version ({read:?}); do: as examples/seeds.rs says"
        );
        // Lengths, names and what not: the checksum is right again.
        for at in (0..seed.len()).step_by(29) {
            let _ = saved_file::check(&seed[..at]);
            let mut damaged = seed.clone();
            for byte in [0, 0x7f, 0xff, seed[at].wrapping_add(1)] {
                damaged[at] = byte;
                let _ = saved_file::check(&damaged);
            }
        }
        count += 1;
    }
    assert!(count >= 5, "only {count} files in {}", folder.display());
}
