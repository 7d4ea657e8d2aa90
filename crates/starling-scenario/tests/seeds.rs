//! What the fuzz target `executive` checks, on the inputs it has kept.

use std::path::Path;

#[path = "../../../fuzz/checks/executive.rs"]
mod executive;

#[test]
fn hostile_federates_harm_nobody() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/executive");
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display()); // shown if it fails
        executive::check(&std::fs::read(path).unwrap());
        count += 1;
    }
    assert!(count >= 50, "only {count} files in {}", folder.display());
}
