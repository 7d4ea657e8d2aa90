//! A writer and two readers. Of one of them nothing can be believed: what the writer reads of its board
//! and what it reads of the ring is changed on its way, word by word, as the input says. Nobody
//! panics or reads beyond the memory; the other reader gets what was put for it; and what the writer
//! gives back of the first's is the end of what was put for that.
//!
//! Run by the fuzz target of this name, and on every file of `fuzz/seeds` by `cargo test`.

use crate::board::Board;
use crate::map::{Given, Input};
use crate::reader::{Read, RingReader};
use crate::seats::{Attachment, Seat, Seats};
use crate::writer::RingWriter;
use std::collections::VecDeque;
use std::rc::Rc;

const FRAME_MAX: usize = 2000;

struct Reader {
    seat: Seat,
    reader: RingReader,
    /// What was put since it was attached, or, of the honest one, not yet read.
    frames: VecDeque<Vec<u8>>,
    last: Option<Read>,
}

struct World {
    input: Rc<Input>,
    ring: RingWriter,
    /// The honest one first.
    readers: [Reader; 2],
    mark: u64,
}

pub fn check(bytes: &[u8]) {
    let input = Input::new(bytes);
    let mut world = World::new(input.clone());
    while let Some(what) = input.next() {
        world.step(what);
    }
    // Of the input nothing is left: from here on the memory is as it is.
    loop {
        world.ring.publish();
        if !world.read_honest(usize::MAX) && world.ring.is_whole() {
            break;
        }
        let in_the_way = world.ring.in_the_way();
        if in_the_way.contains(world.readers[1].seat) {
            world.detach();
        }
    }
    assert!(world.readers[0].frames.is_empty(), "something was lost");
}

impl World {
    fn new(input: Rc<Input>) -> World {
        let mut ring = RingWriter::new(0).unwrap();
        let own = Board::new().unwrap();
        let readers = [(1, Input::new(&[])), (70, input.clone())].map(|(seat, changes)| {
            let given = |handle: Given| match handle {
                Given::Memory(memory, _) => Given::Memory(memory, changes.clone()),
                other => other,
            };
            let board = Board::new().unwrap();
            let attachment = Attachment {
                writer: Seat::new(0).unwrap(),
                reader: Seat::new(seat).unwrap(),
                mark: 7,
            };
            let memory = given(board.memory().into_owned());
            ring.admit(attachment, memory, board.doorbell().into_owned())
                .unwrap();
            let memory = given(ring.memory().into_owned());
            let doorbell = own.doorbell().into_owned();
            let reader = board.join(attachment, memory, doorbell, FRAME_MAX);
            Reader {
                seat: attachment.reader,
                reader: reader.unwrap(),
                frames: VecDeque::new(),
                last: None,
            }
        });
        World {
            input,
            ring,
            readers,
            mark: 7,
        }
    }

    fn step(&mut self, what: u8) {
        match what % 16 {
            0..5 => self.put(what / 16),
            5..8 => self.ring.publish(),
            8..10 => _ = self.read_honest(usize::from(what)),
            10..13 => self.read_changed(usize::from(what)),
            13 => _ = self.ring.wait_for_room(),
            14 if what < 128 => self.detach(),
            14 => self.readers[1].reader.writer_is_gone(),
            _ => self.readmit(),
        }
        self.ring.is_ready(self.readers[1].seat);
        self.readers[1].reader.has_news();
        self.ring.behind(self.readers[1].seat);
    }

    fn put(&mut self, to: u8) {
        let of_input = usize::from(self.input.next().unwrap_or(0));
        let length = if of_input < 220 {
            1 + of_input / 4
        } else {
            of_input * 7
        };
        let frame = vec![of_input as u8; length];
        let meant = |n: &usize| to >> n & 1 == 1;
        let who = Vec::from_iter((0..2).filter(meant));
        let seats = Seats::from_iter(who.iter().map(|n| self.readers[*n].seat));
        let seats = seats.and(self.ring.attached());
        let put = self
            .ring
            .put(seats, length, |record| record.copy_from_slice(&frame));
        if put.is_ok() {
            for reader in &mut self.readers {
                if seats.contains(reader.seat) {
                    reader.frames.push_back(frame.clone());
                }
            }
        }
    }

    /// Whether there was something.
    fn read_honest(&mut self, max: usize) -> bool {
        let honest = &mut self.readers[0];
        let mut batch = Vec::new();
        let news = honest.reader.has_news();
        let read = honest.reader.read(&mut batch, max);
        assert!(matches!(read, Read::Nothing | Read::Frames), "{read:?}");
        let mut rest = &batch[..];
        while let Some(frame) = honest.frames.front().filter(|_| !rest.is_empty()) {
            assert!(rest.starts_with(frame), "a frame as it was put");
            rest = &rest[frame.len()..];
            honest.frames.pop_front();
        }
        assert!(rest.is_empty(), "bytes that nobody put");
        news
    }

    fn read_changed(&mut self, max: usize) {
        let Reader { reader, last, .. } = &mut self.readers[1];
        let mut batch = Vec::new();
        let read = reader.read(&mut batch, max);
        assert!(
            batch.len() <= max + FRAME_MAX + 1024,
            "no more than asked for and a frame"
        );
        assert!(read == Read::Frames || batch.is_empty());
        if let Some(ended @ (Read::Over | Read::Broken(_))) = *last {
            assert_eq!(read, ended, "an end is an end");
        }
        *last = Some(read);
    }

    fn detach(&mut self) {
        let reader = &mut self.readers[1];
        let mut left = Vec::new();
        self.ring
            .detach(reader.seat, |frames| left.extend_from_slice(frames));
        let mut rest = &left[..];
        while let Some(frame) = reader.frames.pop_back().filter(|_| !rest.is_empty()) {
            let before = rest.strip_suffix(&frame[..]);
            rest = before.expect("whole frames, the last that were put");
        }
        assert!(rest.is_empty(), "no more than was put");
        reader.frames.clear();
    }

    fn readmit(&mut self) {
        let Reader {
            seat, reader, last, ..
        } = &mut self.readers[1];
        if !self.ring.attached().contains(*seat) {
            self.mark += 1;
            self.ring.readmit(*seat, self.mark);
            reader.rejoin(self.mark);
            *last = None;
        }
    }
}
