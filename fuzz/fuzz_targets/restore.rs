#![no_main]

#[path = "../checks/restore.rs"]
mod restore;

use libfuzzer_sys::{fuzz_mutator, fuzz_target, fuzzer_mutate};
use starling_wire::decode_save;

/// Most changes make a save one that can't be read, which is the fuzz target `save`'s: of some the first that does not.
const TRIES: usize = 50;

fuzz_target!(|bytes: &[u8]| {
    restore::check(bytes);
});

fuzz_mutator!(
    |data: &mut [u8], size: usize, max_size: usize, _seed: u32| {
        let before = data[..size].to_vec();
        for _ in 0..TRIES {
            let changed = fuzzer_mutate(data, size, max_size);
            if data[..changed]
                .get(2..)
                .is_some_and(|state| decode_save(state).is_ok())
            {
                return changed;
            }
            data[..size].copy_from_slice(&before);
        }
        size
    }
);
