//! Decoding takes memory in proportion to the bytes there, whatever they announce.

use starling_wire::Frame;
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn memory_is_in_proportion_to_the_bytes() {
    let mut seed = 0x51c2_u64;
    for round in 0..20_000 {
        let mut frame = Vec::new();
        frame.push([1, 2, 4, 5, 6, 7, 16, 17, 18][round % 9]);
        frame.push((round / 9 % 14) as u8);
        for _ in 0..round % 97 {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1);
            // Mostly small numbers, so that decoding goes far.
            let byte = (seed >> 56) as u8;
            frame.push(if seed >> 40 & 7 == 0 { byte } else { byte & 3 });
        }
        let region = Region::new(ALLOCATOR);
        let decoded = Frame::decode(&frame);
        let taken = region.change().bytes_allocated;
        drop(decoded);
        // An empty text takes one byte on the wire and 24 in memory, a whole empty FederateStatus
        // 6 and over 100; a growing list is taken up to three times.
        assert!(
            taken <= 1_000 + 400 * frame.len(),
            "{taken} bytes for {frame:?}"
        );
    }
}
