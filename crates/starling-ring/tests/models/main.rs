//! What a writer and a reader say to each other through memory, in every order in which their
//! processes can meet, up to a number of preemptions, and with every outdated value that the memory
//! model lets one of them see: the crate's own sources, on a ring of two records (`map`, `sizes`).
//!
//! `make models` runs this. A process that nobody wakes is a deadlock, and fails.
#![allow(dead_code, reason = "of the crate's sources the models need a part")]

#[path = "../../src/board.rs"]
mod board;
#[path = "../../src/layout.rs"]
mod layout;
#[path = "../../src/long.rs"]
mod long;
mod map;
#[path = "../../src/reader.rs"]
mod reader;
#[path = "../../src/seats.rs"]
mod seats;
mod sizes;
#[path = "../../src/writer.rs"]
mod writer;

use board::Board;
use loom::thread;
use map::{Doorbell, Given, Handle};
use reader::{Read, RingReader};
use seats::{Attachment, Seat, Seats};
use std::sync::Arc;
use writer::{Full, RingWriter};

fn model(preemptions: usize, run: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(preemptions);
    builder.check(run);
}

fn seat(number: u8) -> Seat {
    Seat::new(number).unwrap()
}

fn attachment(reader: u8, mark: u64) -> Attachment {
    Attachment {
        writer: seat(0),
        reader: seat(reader),
        mark,
    }
}

fn bell(handle: Handle<'_>) -> Arc<Doorbell> {
    match handle.into_owned() {
        Given::Bell(bell) => bell,
        Given::Memory(_) => panic!("a doorbell"),
    }
}

/// A writer at seat 0; readers' boards, admitted.
fn writer(boards: &[(&Board, u8, u64)]) -> RingWriter {
    let mut ring = RingWriter::new(0).unwrap();
    for (board, seat, mark) in boards {
        admit(&mut ring, board, attachment(*seat, *mark));
    }
    ring
}

fn admit(ring: &mut RingWriter, board: &Board, attachment: Attachment) {
    let (memory, doorbell) = (board.memory(), board.doorbell());
    ring.admit(attachment, memory.into_owned(), doorbell.into_owned())
        .unwrap();
}

fn join(board: &Board, ring: &RingWriter, writer: &Board, attachment: Attachment) -> RingReader {
    let (memory, doorbell) = (ring.memory(), writer.doorbell());
    board
        .join(attachment, memory.into_owned(), doorbell.into_owned(), 64)
        .unwrap()
}

/// Frames are single bytes.
fn put(ring: &mut RingWriter, to: u8, frame: u8) -> Result<(), Full> {
    ring.put(seat(to).into(), 1, |bytes| bytes[0] = frame)
}

fn say(ring: &mut RingWriter, to: u8, frame: u8) {
    put(ring, to, frame).unwrap();
    ring.publish();
}

fn detach(ring: &mut RingWriter, from: u8) -> Vec<u8> {
    let mut left = Vec::new();
    ring.detach(seat(from), |frame| left.extend_from_slice(frame));
    left
}

/// Asks so often, and once it is known that there is something to know, until it is over.
fn read(reader: &mut RingReader, times: usize) -> Vec<u8> {
    let mut frames = Vec::new();
    for _ in 0..times {
        if reader.read(&mut frames, 1) == Read::Over {
            break;
        }
    }
    frames
}

fn read_to_end(reader: &mut RingReader, frames: &mut Vec<u8>) {
    loop {
        match reader.read(frames, 1) {
            Read::Over => return,
            Read::Frames => {}
            other => panic!("{other:?} of {frames:?}"),
        }
    }
}

#[test]
fn what_a_detached_reader_has_not_read_is_given_back_and_only_that() {
    model(3, || {
        let (own, board, other) = (board(), board(), board());
        let mut ring = writer(&[(&board, 0, 7), (&other, 1, 8)]);
        let mut reader = join(&board, &ring, &own, attachment(0, 7));
        let reading = thread::spawn(move || {
            let frames = read(&mut reader, 2);
            (reader, frames)
        });
        say(&mut ring, 0, 1);
        say(&mut ring, 0, 2);
        let left = detach(&mut ring, 0);
        // The place is written over while the other may still read.
        say(&mut ring, 1, 3);
        say(&mut ring, 1, 4);
        let (mut reader, mut frames) = reading.join().unwrap();
        read_to_end(&mut reader, &mut frames);
        assert_eq!([frames, left].concat(), [1, 2]);
    });
}

/// Two frames in one record.
#[test]
fn what_was_put_together_is_read_or_given_back_together() {
    model(3, || {
        let (own, board, other) = (board(), board(), board());
        let mut ring = writer(&[(&board, 0, 7), (&other, 1, 8)]);
        let mut reader = join(&board, &ring, &own, attachment(0, 7));
        let reading = thread::spawn(move || {
            let frames = read(&mut reader, 2);
            (reader, frames)
        });
        put(&mut ring, 0, 1).unwrap();
        say(&mut ring, 0, 2);
        // There is room for another record, none for two.
        put(&mut ring, 0, 3).unwrap();
        put(&mut ring, 0, 4).unwrap();
        let left = detach(&mut ring, 0);
        assert!(
            [&[1, 2, 3, 4][..], &[3, 4]].contains(&&left[..]),
            "{left:?}"
        );
        say(&mut ring, 1, 5);
        let (mut reader, mut frames) = reading.join().unwrap();
        read_to_end(&mut reader, &mut frames);
        assert_eq!([frames, left].concat(), [1, 2, 3, 4]);
    });
}

#[test]
fn a_ring_goes_round_as_its_reader_reads() {
    model(2, || {
        let (own, board) = (board(), board());
        let mut ring = writer(&[(&board, 0, 7)]);
        let mut reader = join(&board, &ring, &own, attachment(0, 7));
        let reading = thread::spawn(move || {
            let frames = read(&mut reader, 3);
            (reader, frames)
        });
        let mut sent = Vec::new();
        for frame in 1..=4 {
            // A reader that is behind costs nothing but these.
            if put(&mut ring, 0, frame).is_ok() {
                ring.publish();
                sent.push(frame);
            }
        }
        let (mut reader, mut frames) = reading.join().unwrap();
        reader.writer_is_gone();
        read_to_end(&mut reader, &mut frames);
        assert_eq!(frames, sent);
    });
}

#[test]
fn records_of_others_are_jumped_over_while_they_are_written() {
    model(2, || {
        let (own, board, other) = (board(), board(), board());
        let mut ring = writer(&[(&board, 0, 7), (&other, 1, 8)]);
        let mut reader = join(&board, &ring, &own, attachment(0, 7));
        let mut of_other = join(&other, &ring, &own, attachment(1, 8));
        let reading = thread::spawn(move || {
            let frames = read(&mut reader, 3);
            (reader, frames)
        });
        say(&mut ring, 0, 1);
        let mut sent = vec![1];
        for frame in 2..=4 {
            say_if(&mut ring, 1, frame);
            read(&mut of_other, 1);
        }
        if say_if(&mut ring, 0, 5) {
            sent.push(5);
        }
        let (mut reader, mut frames) = reading.join().unwrap();
        reader.writer_is_gone();
        read_to_end(&mut reader, &mut frames);
        assert_eq!(frames, sent);
    });
}

fn say_if(ring: &mut RingWriter, to: u8, frame: u8) -> bool {
    let room = put(ring, to, frame).is_ok();
    ring.publish();
    room
}

/// As a process waits that has nothing else to do.
fn wait_for_news(board: &mut Board, doorbell: &Doorbell, reader: &RingReader) {
    board.prepare_to_sleep();
    if !reader.has_news() {
        doorbell.wait();
        board.answer();
    }
    board.awake();
}

#[test]
fn no_wake_up_is_lost_and_none_comes_twice() {
    model(3, || {
        let (own, mut board) = (board(), board());
        let mut ring = writer(&[(&board, 0, 7)]);
        let mut reader = join(&board, &ring, &own, attachment(0, 7));
        let doorbell = bell(board.doorbell());
        let reading = thread::spawn(move || {
            let mut frames = Vec::new();
            while frames.len() < 2 {
                wait_for_news(&mut board, &doorbell, &reader);
                reader.read(&mut frames, usize::MAX);
            }
            frames
        });
        say(&mut ring, 0, 1);
        say(&mut ring, 0, 2);
        assert!(ring.bells_rung() <= 2);
        assert_eq!(reading.join().unwrap(), [1, 2]);
    });
}

#[test]
fn who_is_detached_while_it_sleeps_learns_of_it() {
    model(3, || {
        let (own, mut board) = (board(), board());
        let mut ring = writer(&[(&board, 0, 7)]);
        let mut reader = join(&board, &ring, &own, attachment(0, 7));
        let doorbell = bell(board.doorbell());
        let reading = thread::spawn(move || {
            let mut frames = Vec::new();
            while reader.read(&mut frames, usize::MAX) != Read::Over {
                wait_for_news(&mut board, &doorbell, &reader);
            }
            frames
        });
        say(&mut ring, 0, 1);
        let left = detach(&mut ring, 0);
        let frames = reading.join().unwrap();
        assert_eq!([frames, left].concat(), [1]);
    });
}

#[test]
fn a_writer_that_waits_for_room_is_woken() {
    model(3, || {
        let (own, board) = (board(), board());
        let mut ring = writer(&[(&board, 0, 7)]);
        let mut reader = join(&board, &ring, &own, attachment(0, 7));
        say(&mut ring, 0, 1);
        say(&mut ring, 0, 2);
        let reading = thread::spawn(move || {
            let frames = read(&mut reader, 2);
            (reader, frames)
        });
        let doorbell = bell(own.doorbell());
        while put(&mut ring, 0, 3).is_err() {
            while !ring.wait_for_room() {
                doorbell.wait();
                own.answer();
            }
        }
        ring.publish();
        let (mut reader, mut frames) = reading.join().unwrap();
        reader.writer_is_gone();
        read_to_end(&mut reader, &mut frames);
        assert_eq!(frames, [1, 2, 3]);
    });
}

/// The seat at the reader's board goes from one writer, whose positions are high, to another.
#[test]
fn a_cursor_of_the_writer_before_is_not_taken_for_an_own_one() {
    model(2, || {
        let (own, board, other) = (board(), board(), board());
        let mut before = writer(&[(&board, 0, 6)]);
        let mut reader = join(&board, &before, &other, attachment(0, 6));
        for frame in 0..5 {
            say(&mut before, 0, frame);
            assert_eq!(read(&mut reader, 1), [frame]);
        }
        drop(reader);
        let mut ring = writer(&[(&board, 0, 7)]);
        let (memory, doorbell) = (ring.memory().into_owned(), own.doorbell().into_owned());
        let reading = thread::spawn(move || {
            let mut reader = board.join(attachment(0, 7), memory, doorbell, 64).unwrap();
            let frames = read(&mut reader, 1);
            (reader, frames)
        });
        let mut sent = Vec::new();
        for frame in 1..=3 {
            if say_if(&mut ring, 0, frame) {
                sent.push(frame);
            }
        }
        let (mut reader, mut frames) = reading.join().unwrap();
        reader.writer_is_gone();
        read_to_end(&mut reader, &mut frames);
        assert_eq!(frames, sent);
    });
}

/// A writer that was thought dead goes on while its seat is another's, whose positions are high.
#[test]
fn a_cursor_of_the_writer_after_is_not_taken_for_an_own_one() {
    model(2, || {
        let (own, board, other) = (board(), board(), board());
        let mut after = writer(&[(&other, 0, 6)]);
        for frame in 3..6 {
            say(&mut after, 0, frame);
            assert_eq!(detach(&mut after, 0), [frame]);
            after.readmit(seat(0), 6);
        }
        after.remove(seat(0));
        admit(&mut after, &board, attachment(0, 8));
        say(&mut after, 0, 6);
        let mut ring = writer(&[(&board, 0, 7)]);
        let mut reader = join(&board, &ring, &own, attachment(0, 7));
        let (memory, doorbell) = (after.memory().into_owned(), own.doorbell().into_owned());
        let reading = thread::spawn(move || {
            read(&mut reader, 1);
            let mut reader = board.join(attachment(0, 8), memory, doorbell, 64).unwrap();
            assert_eq!(read(&mut reader, 1), [6]);
        });
        say(&mut ring, 0, 1);
        say(&mut ring, 0, 2);
        let left = detach(&mut ring, 0);
        reading.join().unwrap();
        assert!(left.ends_with(&[2]), "it read one at most: {left:?}");
    });
}

/// A reader that was thought dead goes on while its seat is another's.
#[test]
fn who_has_lost_its_seat_takes_nothing_for_its_own() {
    model(2, || {
        let (own, board, other) = (board(), board(), board());
        let mut ring = writer(&[(&board, 0, 7)]);
        let mut reader = join(&board, &ring, &own, attachment(0, 7));
        let reading = thread::spawn(move || read(&mut reader, 2));
        say(&mut ring, 0, 1);
        ring.remove(seat(0));
        admit(&mut ring, &other, attachment(0, 8));
        say(&mut ring, 0, 2);
        say(&mut ring, 0, 3);
        assert_eq!(detach(&mut ring, 0), [2, 3]);
        let frames = reading.join().unwrap();
        assert!(frames.is_empty() || frames == [1], "{frames:?}");
    });
}

fn board() -> Board {
    Board::new().unwrap()
}

#[test]
fn seats_are_as_many_as_there_are() {
    assert_eq!(Seats::from_iter((0..4).filter_map(Seat::new)).len(), 2);
}
