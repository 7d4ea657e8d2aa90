#![no_main]

#[path = "../checks/compressed.rs"]
mod compressed;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| compressed::check(bytes));
