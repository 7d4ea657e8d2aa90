//! Random programs of one writer and three readers, against a plain model: what was put for a reader
//! and it has not read is a queue.

use crate::common::{Member, seat};
use proptest::prelude::*;
use starling_ring::{Full, Read, RingReader, Seats};
use std::collections::VecDeque;

#[derive(Clone, Debug)]
enum Step {
    /// Who gets it, as bits, and how long it is.
    Put(u8, usize),
    Publish,
    /// Who reads, how often, and how much at once.
    Read(usize, usize, usize),
    WaitForRoom,
    Detach(usize),
    /// Detaches who is in the way.
    MakeRoom,
    Readmit(usize),
    /// Another takes the seat.
    Replace(usize),
}

const READERS: usize = 3;

fn step() -> impl Strategy<Value = Step> {
    let who = || 0..READERS;
    let length = prop_oneof![
        8 => 1usize..200,
        4 => 1000usize..8200,
        1 => 8200usize..150_000,
    ];
    prop_oneof![
        20 => (0u8..1 << READERS, length).prop_map(|(to, length)| Step::Put(to, length)),
        8 => Just(Step::Publish),
        12 => (who(), 1usize..4, 0usize..20_000).prop_map(|(n, t, m)| Step::Read(n, t, m)),
        1 => Just(Step::WaitForRoom),
        1 => who().prop_map(Step::Detach),
        1 => Just(Step::MakeRoom),
        3 => who().prop_map(Step::Readmit),
        1 => who().prop_map(Step::Replace),
    ]
}

/// One reader, as it should be.
struct Reader {
    member: Member,
    reader: RingReader,
    /// Put, but not read.
    queue: VecDeque<Vec<u8>>,
    attached: bool,
}

struct World {
    writer: Member,
    readers: Vec<Reader>,
    marks: u64,
    frames: u32,
}

impl World {
    fn new() -> World {
        let mut writer = Member::new(0);
        let mut readers = Vec::new();
        for n in 0..READERS {
            // On both words of a record's mask.
            let mut member = Member::new(1 + 63 * n as u8);
            let reader = member.hear(&mut writer, 1 + n as u64);
            readers.push(Reader {
                member,
                reader,
                queue: VecDeque::new(),
                attached: true,
            });
        }
        World {
            writer,
            readers,
            marks: 100,
            frames: 0,
        }
    }

    fn seats(&self, bits: u8) -> (Seats, Vec<usize>) {
        let chosen = |n: &usize| bits >> n & 1 == 1 && self.readers[*n].attached;
        let who: Vec<usize> = (0..READERS).filter(chosen).collect();
        let seats = who.iter().map(|n| self.readers[*n].member.seat).collect();
        (seats, who)
    }

    fn put(&mut self, bits: u8, length: usize) {
        let (to, who) = self.seats(bits);
        let mut frame = vec![self.frames as u8; length];
        let number = self.frames.to_le_bytes();
        let told = length.min(4);
        frame[..told].copy_from_slice(&number[..told]);
        let mut put = || {
            let write = |record: &mut [u8]| record.copy_from_slice(&frame);
            self.writer.ring.put(to, length, write)
        };
        if put() == Err(Full) {
            return;
        }
        self.frames += 1;
        for n in who {
            self.readers[n].queue.push_back(frame.clone());
        }
    }

    /// Whether anything was read.
    fn read(&mut self, n: usize, max: usize) -> bool {
        let Reader {
            reader,
            queue,
            attached,
            ..
        } = &mut self.readers[n];
        let news = reader.has_news();
        let mut batch = Vec::new();
        let found = reader.read(&mut batch, max);
        match found {
            Read::Frames => assert!(news, "it has no news, and something to read"),
            Read::Nothing => assert!(*attached && batch.is_empty()),
            Read::Over => assert!(!*attached && batch.is_empty()),
            Read::Broken(why) => panic!("{why}"),
        }
        let mut rest = &batch[..];
        while let Some(frame) = queue.front().filter(|_| !rest.is_empty()) {
            assert!(rest.starts_with(frame), "a frame as it was put");
            rest = &rest[frame.len()..];
            queue.pop_front();
        }
        assert!(rest.is_empty(), "bytes that nobody put");
        news
    }

    fn detach(&mut self, n: usize) {
        let reader = &mut self.readers[n];
        let mut left = Vec::new();
        let keep = |frames: &[u8]| left.extend_from_slice(frames);
        self.writer.ring.detach(reader.member.seat, keep);
        if reader.attached {
            let queue = Vec::from_iter(reader.queue.iter().flatten().copied());
            assert!(queue == left, "what it had not read, and only that");
        }
        reader.queue.clear();
        reader.attached = false;
    }

    fn step(&mut self, step: &Step) {
        match *step {
            Step::Put(bits, length) => self.put(bits, length),
            Step::Publish => self.writer.ring.publish(),
            Step::Read(n, times, max) => {
                (0..times).for_each(|_| _ = self.read(n, max));
            }
            Step::WaitForRoom => _ = self.writer.ring.wait_for_room(),
            Step::Detach(n) => self.detach(n),
            Step::MakeRoom => {
                let seats = self.writer.ring.in_the_way();
                for n in 0..READERS {
                    if seats.contains(self.readers[n].member.seat) {
                        self.detach(n);
                    }
                }
            }
            Step::Readmit(n) => {
                let reader = &mut self.readers[n];
                if !reader.attached {
                    self.marks += 1;
                    self.writer.ring.readmit(reader.member.seat, self.marks);
                    reader.reader.rejoin(self.marks);
                    reader.attached = true;
                }
            }
            Step::Replace(n) => {
                let number = self.readers[n].member.seat.number();
                self.writer.ring.remove(seat(number));
                self.marks += 1;
                let mut member = Member::new(number);
                let reader = member.hear(&mut self.writer, self.marks);
                self.readers[n] = Reader {
                    member,
                    reader,
                    queue: VecDeque::new(),
                    attached: true,
                };
            }
        }
    }

    /// Whatever has been before, all that was put is read.
    fn finish(&mut self) {
        loop {
            self.writer.ring.publish();
            let read = (0..READERS).map(|n| self.read(n, usize::MAX));
            if read.filter(|news| *news).count() == 0 && self.writer.ring.is_whole() {
                break;
            }
        }
        for reader in &self.readers {
            assert!(reader.queue.is_empty(), "something was lost");
        }
        assert!(self.writer.ring.in_the_way().is_empty());
        let all = self.writer.ring.attached();
        assert_eq!(
            self.writer.ring.put(all, 8000, |_| ()),
            Ok(()),
            "there is room"
        );
    }
}

proptest! {
    #[test]
    fn each_reader_gets_what_was_put_for_it(steps in proptest::collection::vec(step(), 0..300)) {
        let mut world = World::new();
        steps.iter().for_each(|step| world.step(step));
        world.finish();
    }
}
