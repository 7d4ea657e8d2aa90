//! Any bytes as the state of a saved federation execution, and as what a save says of itself; what decodes is encoded
//! and decodes to the same.
//!
//! Run by the fuzz target of this name, and on every file of `fuzz/seeds` by `cargo test`. The file around these is
//! the fuzz target `saved_file`'s, and what comes of them `restore`'s.

use starling_wire::{decode_description, decode_save, put_description, put_save};

pub fn check(bytes: &[u8]) {
    if let Ok(saved) = decode_save(bytes) {
        let mut out = Vec::new();
        put_save(&mut out, &saved);
        assert!(decode_save(&out).is_ok_and(|again| again == saved));
    }
    if let Ok(description) = decode_description(bytes) {
        let mut out = Vec::new();
        put_description(&mut out, &description);
        assert!(decode_description(&out).is_ok_and(|again| again == description));
    }
}
