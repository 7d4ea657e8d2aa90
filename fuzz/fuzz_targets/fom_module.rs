#![no_main]

#[path = "../checks/fom_module.rs"]
mod fom_module;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fom_module::check(bytes));
