#![no_main]

#[path = "../checks/restore.rs"]
mod restore;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    restore::check(bytes);
});
