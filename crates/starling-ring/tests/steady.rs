//! Once all has its size, neither end takes memory, and no doorbell is rung: the only
//! system call there is. Instructions are counted by
//! `make instructions`.

use starling_ring::{Attachment, Board, Read, RingWriter, Seat};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn a_stream_takes_no_memory_and_rings_nobody_who_is_awake() {
    let seat = |number| Seat::new(number).unwrap();
    let attachment = Attachment {
        writer: seat(0),
        reader: seat(1),
        mark: 1,
    };
    let (mut ring, own, board) = (
        RingWriter::new(1 << 18).unwrap(),
        Board::new().unwrap(),
        Board::new().unwrap(),
    );
    let given = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().unwrap();
    ring.admit(attachment, given(board.memory()), given(board.doorbell()))
        .unwrap();
    let mut reader = board
        .join(
            attachment,
            given(ring.memory()),
            given(own.doorbell()),
            1 << 20,
        )
        .unwrap();
    let mut batch = Vec::new();
    let mut stream = |bundles: usize| {
        for _ in 0..bundles {
            for _ in 0..128 {
                let put = ring.put(seat(1).into(), 100, |record| record.fill(1));
                put.expect("all is read at once");
            }
            ring.publish();
            batch.clear();
            assert_eq!(reader.read(&mut batch, usize::MAX), Read::Frames);
        }
        ring.bells_rung()
    };
    stream(1);
    // The allocator counts what other threads take, too, as the one does at first that waits for this test.
    let window = |_| {
        let region = Region::new(ALLOCATOR);
        let bells = stream(100);
        let change = region.change();
        (change.allocations + change.reallocations, bells)
    };
    assert_eq!((0..10).map(window).min(), Some((0, 0)));
}
