//! A writer and a reader in processes of their own, one of which may be killed: the other end is this
//! test's own program, started again.

mod other;

use other::{Line, Other, answer, frame, ids, seat, wait_for, wait_for_news};
use starling_ring::{Attachment, Board, Full, Read, RingReader, RingWriter};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// These tests count descriptors: one at a time.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

fn descriptors() -> usize {
    std::fs::read_dir("/proc/self/fd").unwrap().count()
}

fn mappings() -> usize {
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
    maps.lines()
        .filter(|map| map.contains("memfd:starling"))
        .count()
}

/// Starts a process that reads what this one writes.
fn with_reader(ring: &mut RingWriter, board: &Board) -> Other {
    let other = Other::start("reads");
    other.line.give(&[ring.memory(), board.doorbell()]);
    let [memory, doorbell] = other.line.take();
    let attachment = Attachment {
        writer: seat(0),
        reader: seat(1),
        mark: 1,
    };
    ring.admit(attachment, memory, doorbell).unwrap();
    other
}

/// Puts a frame, if need be waits for the reader; the number it has.
fn say(ring: &mut RingWriter, board: &Board, number: u32, length: usize) {
    let frame = frame(number, length);
    let put = |ring: &mut RingWriter| {
        ring.put(seat(1).into(), frame.len(), |r| r.copy_from_slice(&frame))
    };
    while put(ring) == Err(Full) {
        while !ring.wait_for_room() {
            wait_for(board);
        }
    }
}

#[test]
fn each_frame_is_read_or_given_back_however_often_a_reader_is_detached() {
    let _alone = alone();
    let mut random = fastrand::Rng::with_seed(3);
    let (mut ring, board) = (RingWriter::new(0).unwrap(), Board::new().unwrap());
    let mut other = with_reader(&mut ring, &board);
    let (mut number, mut by_ring, mut another_way) = (0, 0, 0);
    for round in 1..=100 {
        if round > 1 {
            ring.readmit(seat(1), round);
        }
        let first = number;
        for _ in 0..random.u32(0..300) {
            let most = [100, 100, 4000, 40_000][random.usize(0..4)];
            let length = random.usize(0..most);
            say(&mut ring, &board, number, length);
            number += 1;
            if random.u8(0..8) == 0 {
                ring.publish();
            }
        }
        let mut left = Vec::new();
        ring.detach(seat(1), |frame| left.extend_from_slice(frame));
        let (left, read) = (ids(&left), other.line.numbers());
        assert_eq!(read.first().or(left.first()).is_some(), number > first);
        let all: Vec<u32> = read.iter().chain(&left).copied().collect();
        assert_eq!(all, Vec::from_iter(first..number), "round {round}");
        by_ring += read.len();
        another_way += left.len();
    }
    assert!(
        by_ring > 500 && another_way > 100,
        "{by_ring} {another_way}"
    );
    other.kill();
}

#[test]
fn a_reader_that_is_killed_holds_up_nobody_once_it_is_detached() {
    let _alone = alone();
    let before = (descriptors(), mappings());
    for round in 0..5 {
        let (mut ring, board) = (RingWriter::new(0).unwrap(), Board::new().unwrap());
        let mut other = with_reader(&mut ring, &board);
        for number in 0..round * 50 {
            say(&mut ring, &board, number, 1000);
        }
        other.kill();
        let mut last = round * 50;
        while ring.put(seat(1).into(), 1008, |r| {
            r.copy_from_slice(&frame(last, 1000))
        }) == Ok(())
        {
            last += 1;
        }
        ring.publish();
        assert!(ring.in_the_way().contains(seat(1)));
        let mut left = Vec::new();
        ring.detach(seat(1), |frame| left.extend_from_slice(frame));
        let left = ids(&left);
        assert!(left.len() > 30, "all of a ring, or what was not read of it");
        assert_eq!(left, Vec::from_iter(last - left.len() as u32..last));
        assert!(ring.in_the_way().is_empty());
    }
    assert_eq!((descriptors(), mappings()), before);
}

#[test]
fn what_a_writer_published_before_it_was_killed_is_read() {
    let _alone = alone();
    let before = (descriptors(), mappings());
    for round in 0..5 {
        let mut board = Board::new().unwrap();
        let mut other = Other::start("writes");
        other.line.give(&[board.memory(), board.doorbell()]);
        let [memory, doorbell] = other.line.take();
        let attachment = Attachment {
            writer: seat(0),
            reader: seat(1),
            mark: 1,
        };
        let mut reader = board.join(attachment, memory, doorbell, 1 << 20).unwrap();
        let mut batch = Vec::new();
        while batch.len() < round * 200_000 {
            wait_for_news(&mut board, &reader);
            let read = reader.read(&mut batch, 9000);
            assert!(matches!(read, Read::Frames | Read::Nothing), "{read:?}");
        }
        other.kill();
        reader.writer_is_gone();
        read_to_end(&mut reader, &mut batch);
        let read = ids(&batch);
        assert_eq!(read, Vec::from_iter(0..read.len() as u32));
    }
    assert_eq!((descriptors(), mappings()), before);
}

fn read_to_end(reader: &mut RingReader, batch: &mut Vec<u8>) {
    loop {
        match reader.read(batch, 9000) {
            Read::Over => break,
            Read::Frames | Read::Nothing => {}
            Read::Broken(why) => panic!("{why}"),
        }
    }
    assert!(!reader.has_news());
}

/// Not a test: the other end's process.
#[test]
#[ignore = "started by the tests"]
fn other_end() {
    let Some(what) = std::env::var_os(other::VARIABLE) else {
        return;
    };
    let line = Line::of_child();
    match what.to_str() {
        Some("reads") => answer::reads(line),
        _ => answer::writes(line),
    }
}
