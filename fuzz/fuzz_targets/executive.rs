#![no_main]

#[path = "../checks/executive.rs"]
mod executive;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| executive::check(bytes));
