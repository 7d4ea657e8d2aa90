#![no_main]

#[path = "../checks/save.rs"]
mod save;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| save::check(bytes));
