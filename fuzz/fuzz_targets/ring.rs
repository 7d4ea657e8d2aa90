#![no_main]
#![allow(dead_code, reason = "of the crate's sources the check needs a part")]

#[path = "../../crates/starling-ring/src/board.rs"]
mod board;
#[path = "../../crates/starling-ring/src/layout.rs"]
mod layout;
#[path = "../../crates/starling-ring/src/long.rs"]
mod long;
#[path = "../checks/ring/map.rs"]
mod map;
#[path = "../../crates/starling-ring/src/reader.rs"]
mod reader;
#[path = "../checks/ring.rs"]
mod ring;
#[path = "../../crates/starling-ring/src/seats.rs"]
mod seats;
#[path = "../checks/ring/sizes.rs"]
mod sizes;
#[path = "../../crates/starling-ring/src/writer.rs"]
mod writer;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ring::check(bytes));
