//! Writers and readers of one process, each with a mapping of its own.

mod common;
mod plain;

use common::{Member, seat};
use rustix::event::{PollFd, PollFlags, Timespec};
use starling_ring::{Full, Read, RingReader, RingWriter, Seats};
use std::sync::atomic::{AtomicBool, Ordering};

fn to(seats: &[u8]) -> Seats {
    seats.iter().map(|s| seat(*s)).collect()
}

/// Puts in and publishes.
fn say(writer: &mut RingWriter, seats: &[u8], frame: &[u8]) {
    writer
        .put(to(seats), frame.len(), |r| r.copy_from_slice(frame))
        .unwrap();
    writer.publish();
}

#[test]
fn who_is_meant_gets_it_once_and_in_order() {
    let mut a = Member::new(0);
    let (mut b, mut c) = (Member::new(1), Member::new(2));
    let mut from_a = [b.hear(&mut a, 7), c.hear(&mut a, 8)];
    assert!(a.ring.is_ready(seat(1)) && a.ring.is_ready(seat(2)));
    let mut got = [Vec::new(), Vec::new()];
    for reader in &mut from_a {
        assert_eq!(reader.read(&mut got[0], 100), Read::Nothing);
        assert!(!reader.has_news());
    }
    say(&mut a.ring, &[1], b"one");
    say(&mut a.ring, &[1, 2], b"both");
    say(&mut a.ring, &[2], b"two");
    for (reader, got) in from_a.iter_mut().zip(&mut got) {
        assert!(reader.has_news());
        assert_eq!(reader.read(got, 100), Read::Frames);
        assert_eq!(reader.read(got, 100), Read::Nothing);
        assert!(!reader.has_news());
    }
    assert_eq!(got, [b"oneboth".to_vec(), b"bothtwo".to_vec()]);
}

#[test]
fn who_reads_nothing_is_in_the_way_and_gets_the_rest_another_way() {
    let mut a = Member::new(0);
    let (mut b, mut c) = (Member::new(1), Member::new(2));
    let (mut slow, mut quick) = (b.hear(&mut a, 7), c.hear(&mut a, 8));
    let (mut sent, mut heard) = (Vec::new(), Vec::new());
    loop {
        let frame = [sent.len() as u8; 1000];
        match a
            .ring
            .put(to(&[1, 2]), frame.len(), |r| r.copy_from_slice(&frame))
        {
            Ok(()) => sent.extend(frame),
            Err(Full) => break,
        }
        a.ring.publish();
        assert_eq!(quick.read(&mut heard, usize::MAX), Read::Frames);
        if sent.len() == 3000 {
            assert_eq!(
                slow.read(&mut Vec::new(), 1500),
                Read::Frames,
                "one of 1000"
            );
        }
    }
    assert_eq!(heard, sent);
    assert_eq!(a.ring.in_the_way(), to(&[1]));
    let mut apart = Vec::new();
    a.ring
        .detach(seat(1), |frame| apart.extend_from_slice(frame));
    assert_eq!(apart, sent[1000..]);
    assert_eq!(slow.read(&mut heard, 1), Read::Over);
    assert!(!slow.has_news());
    say(&mut a.ring, &[2], b"on");
    heard.clear();
    assert_eq!(quick.read(&mut heard, 100), Read::Frames);
    assert_eq!(heard, b"on");
    // And back again.
    a.ring.readmit(seat(1), 9);
    assert!(!a.ring.is_ready(seat(1)));
    slow.rejoin(9);
    assert!(a.ring.is_ready(seat(1)));
    say(&mut a.ring, &[1], b"again");
    heard.clear();
    assert_eq!(slow.read(&mut heard, 100), Read::Frames);
    assert_eq!(heard, b"again");
}

#[test]
fn a_long_frame_goes_in_as_it_is_read() {
    let mut a = Member::new(0);
    let mut b = Member::new(1);
    let mut from_a = b.hear(&mut a, 7);
    let long: Vec<u8> = (0..1_000_000u32).map(|n| (n / 7) as u8).collect();
    say(&mut a.ring, &[1], &long);
    let mut heard = Vec::new();
    while !a.ring.is_whole() {
        assert_eq!(a.ring.put(to(&[1]), 1, |_| ()), Err(Full));
        assert_eq!(from_a.read(&mut heard, usize::MAX), Read::Nothing);
        a.ring.publish();
    }
    assert_eq!(from_a.read(&mut heard, usize::MAX), Read::Frames);
    assert!(heard == long);
}

#[test]
fn only_who_sleeps_is_woken_and_once() {
    let mut a = Member::new(0);
    let mut b = Member::new(1);
    let mut from_a = b.hear(&mut a, 7);
    let mut heard = Vec::new();
    say(&mut a.ring, &[1], b"x");
    assert_eq!(a.ring.bells_rung(), 0);
    b.board.prepare_to_sleep();
    assert!(from_a.has_news(), "or it would sleep");
    say(&mut a.ring, &[1], b"y");
    say(&mut a.ring, &[1], b"z");
    assert_eq!(a.ring.bells_rung(), 1);
    b.board.awake();
    b.board.answer();
    assert_eq!(from_a.read(&mut heard, 100), Read::Frames);
    assert_eq!(heard, b"xyz");
    say(&mut a.ring, &[1], b"on");
    assert_eq!(a.ring.bells_rung(), 1);
}

#[test]
fn who_has_read_all_that_was_for_it_wakes_a_writer_that_waits_for_room() {
    let mut a = Member::new(0);
    let (mut b, mut c) = (Member::new(1), Member::new(2));
    let (mut early, mut late) = (b.hear(&mut a, 7), c.hear(&mut a, 8));
    say(&mut a.ring, &[1], b"early");
    while a.ring.put(to(&[2]), 1000, |_| ()) == Ok(()) {
        a.ring.publish();
    }
    assert!(!a.ring.wait_for_room());
    let mut heard = Vec::new();
    let mut rings_when_read = |reader: &mut RingReader| {
        a.board.answer();
        while reader.read(&mut heard, 1000) == Read::Frames {}
        let doorbell = a.board.doorbell();
        let poll = &mut [PollFd::new(&doorbell, PollFlags::IN)];
        rustix::event::poll(poll, Some(&Timespec::default())).unwrap() == 1
    };
    assert!(rings_when_read(&mut late));
    assert!(rings_when_read(&mut early), "it was in the way, too");
    assert!(a.ring.wait_for_room());
}

/// Another one, for whom the writer waits, too, does not read.
#[test]
fn who_reads_on_wakes_a_writer_that_waits_for_several() {
    let mut a = Member::new(0);
    let (mut b, mut c) = (Member::new(1), Member::new(2));
    let (mut reads, _stopped) = (b.hear(&mut a, 7), c.hear(&mut a, 8));
    say(&mut a.ring, &[2], &[0; 1000]);
    for _ in 0..20 {
        for _ in 0..10 {
            say(&mut a.ring, &[1], &[0; 100]);
        }
        for number in [1, 2] {
            assert!(!a.ring.wait_for(seat(number), 500));
        }
        a.board.answer();
        while reads.read(&mut Vec::new(), 100) == Read::Frames {}
        let doorbell = a.board.doorbell();
        let poll = &mut [PollFd::new(&doorbell, PollFlags::IN)];
        let rung = rustix::event::poll(poll, Some(&Timespec::default())).unwrap();
        assert_eq!(rung, 1);
        assert!(a.ring.wait_for(seat(1), 500));
    }
}

/// It may be in the midst of records that are written over, and begins again while others' are published.
#[test]
fn who_is_detached_again_and_again_takes_no_offence() {
    let mut a = Member::new(0);
    let (mut b, mut c) = (Member::new(1), Member::new(2));
    let (mut reader, _deaf) = (b.hear(&mut a, 7), c.hear(&mut a, 8));
    let (times, broken) = (6_000, AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut size = 8;
            for mark in 9..9 + times {
                for round in 0..40 {
                    size = (size * 5 + 8) % 8_000;
                    // Bytes that are no sizes and no kinds, where another's record stood.
                    let who = [1, 2][usize::from(round > 4)];
                    if a.ring.put(to(&[who]), size, |r| r.fill(0xff)).is_err() {
                        a.ring.detach(seat(2), |_| {});
                        a.ring.readmit(seat(2), 1_000_000 + mark);
                    }
                    a.ring.publish();
                    if round == 4 {
                        a.ring.detach(seat(1), |_| {});
                    }
                }
                while !a.ring.is_awaited(seat(1), mark) {
                    if broken.load(Ordering::Relaxed) {
                        return;
                    }
                    std::thread::yield_now();
                }
                a.ring.readmit(seat(1), mark);
            }
        });
        let (mut mark, mut batch) = (9, Vec::new());
        while mark < 9 + times {
            batch.clear();
            match reader.read(&mut batch, 1 << 20) {
                Read::Over => {
                    reader.rejoin(mark);
                    mark += 1;
                }
                Read::Broken(why) => {
                    broken.store(true, Ordering::Relaxed);
                    panic!("{why}, after {mark}");
                }
                Read::Frames | Read::Nothing => {}
            }
        }
    });
}
