#![no_main]

#[path = "../checks/saved_file.rs"]
mod saved_file;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let _ = saved_file::check(bytes);
});
