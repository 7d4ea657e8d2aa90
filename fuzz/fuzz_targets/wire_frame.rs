#![no_main]

#[path = "../checks/wire_frame.rs"]
mod wire_frame;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| wire_frame::check(bytes));
