//! Any bytes as the file of a save, as rtiexec reads it: with the checksum that is right, or any fuzzer would get no
//! further. What is read is written and read as the same; cut off or with one bit changed it is refused.
//!
//! Run by the fuzz target of this name, and on every file of `fuzz/seeds` by `cargo test`.

use sha2::{Digest, Sha256};
use starling_core::SavedFederation;
use starling_rtiexec::saves::{SaveStore, decode, encode};
use std::fs;
use std::os::unix::fs::DirBuilderExt;

/// Files are cut off where a page ends.
const PAGE_BYTES: usize = 4096;

/// A file but for its checksum. What it was read as.
pub fn check(bytes: &[u8]) -> Result<SavedFederation, String> {
    let file = [bytes, &Sha256::digest(bytes)].concat();
    let read = decode(&file);
    let Ok(saved) = &read else {
        store(&file, "F", "L").expect_err("it was refused before");
        return read;
    };
    assert_eq!(decode(&encode(saved)).as_ref(), Ok(saved));
    let at_disk = store(&file, &saved.federation, &saved.label);
    assert_eq!(at_disk.as_ref(), Ok(saved));
    let pages = (0..file.len()).step_by(PAGE_BYTES);
    for cut in pages.chain([file.len() - 1]) {
        let why = decode(&file[..cut]).expect_err("it is cut off");
        assert!(why.contains("cut off"), "{why}");
    }
    for at in (0..file.len()).step_by(file.len() / 32) {
        let mut damaged = file.clone();
        damaged[at] ^= 1 << (at % 8);
        let why = decode(&damaged).expect_err("it is damaged");
        assert!(!why.is_empty());
    }
    read
}

/// What a store has that has this file only, of a save of this name.
fn store(file: &[u8], federation: &str, label: &str) -> Result<SavedFederation, String> {
    let directory = format!("starling-fuzz-saves-{}", std::process::id());
    let directory = std::env::temp_dir().join(directory);
    let _ = fs::remove_dir_all(&directory);
    fs::DirBuilder::new()
        .mode(0o700)
        .create(&directory)
        .unwrap();
    let store = SaveStore::new(directory.clone(), 1 << 20, 0);
    fs::write(store.path(federation, label), file).unwrap();
    let read = store.read(federation, label);
    let listed = store.list().unwrap();
    fs::remove_dir_all(directory).unwrap();
    assert_eq!(listed.len(), 1);
    match (&read, &listed[0].description) {
        (Ok(_), said) => assert!(said.is_ok(), "{said:?}"),
        (Err(why), Ok(_)) => assert!(!why.is_empty()),
        (Err(why), Err(said)) => assert!(!why.is_empty() && !said.is_empty()),
    }
    read
}
