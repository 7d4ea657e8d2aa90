//! The other process, and the socket over which it and the test speak: its standard input.

use rustix::event::{PollFd, PollFlags, poll};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use starling_ring::{Attachment, Board, Read, RingReader, RingWriter, Seat};
use std::io::{IoSlice, IoSliceMut, Read as _, Write as _};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

pub const VARIABLE: &str = "STARLING_RING_TEST";

pub fn seat(number: u8) -> Seat {
    Seat::new(number).unwrap()
}

/// Its length, its number, and bytes that follow from those.
pub fn frame(number: u32, length: usize) -> Vec<u8> {
    let mut frame = (length as u32).to_le_bytes().to_vec();
    frame.extend(number.to_le_bytes());
    frame.resize(8 + length, number as u8);
    frame
}

/// The numbers of whole frames.
pub fn ids(mut batch: &[u8]) -> Vec<u32> {
    let mut numbers = Vec::new();
    while !batch.is_empty() {
        let word = |at| u32::from_le_bytes(batch[at..at + 4].try_into().unwrap());
        let (length, number) = (word(0) as usize, word(4));
        let bytes = &batch[8..8 + length];
        assert!(
            bytes.iter().all(|byte| *byte == number as u8),
            "as it was put"
        );
        numbers.push(number);
        batch = &batch[8 + length..];
    }
    numbers
}

/// Waits for the doorbell, and silences it.
pub fn wait_for(board: &Board) {
    let doorbell = board.doorbell();
    poll(&mut [PollFd::new(&doorbell, PollFlags::IN)], None).unwrap();
    board.answer();
}

/// As a process waits that has nothing else to do.
pub fn wait_for_news(board: &mut Board, reader: &RingReader) {
    board.prepare_to_sleep();
    if !reader.has_news() {
        wait_for(board);
    }
    board.awake();
}

pub struct Line(UnixStream);

impl Line {
    pub fn of_child() -> Line {
        let input = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
        Line(UnixStream::from(input))
    }

    pub fn give(&self, descriptors: &[BorrowedFd<'_>]) {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut with = SendAncillaryBuffer::new(&mut space);
        assert!(with.push(SendAncillaryMessage::ScmRights(descriptors)));
        sendmsg(
            &self.0,
            &[IoSlice::new(b"!")],
            &mut with,
            SendFlags::empty(),
        )
        .unwrap();
    }

    pub fn take(&self) -> [OwnedFd; 2] {
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(2))];
        let mut with = RecvAncillaryBuffer::new(&mut space);
        let mut byte = [0];
        let into = &mut [IoSliceMut::new(&mut byte)];
        recvmsg(&self.0, into, &mut with, RecvFlags::CMSG_CLOEXEC).unwrap();
        let mut taken = Vec::new();
        for message in with.drain() {
            if let RecvAncillaryMessage::ScmRights(rights) = message {
                taken.extend(rights);
            }
        }
        taken.try_into().expect("two descriptors")
    }

    /// What the other end says it has read.
    pub fn numbers(&mut self) -> Vec<u32> {
        let mut word = [0; 4];
        let mut next = || {
            self.0.read_exact(&mut word).unwrap();
            u32::from_le_bytes(word)
        };
        let count = next();
        (0..count).map(|_| next()).collect()
    }

    fn tell(&mut self, numbers: &[u32]) {
        let count = [numbers.len() as u32];
        let words = count.iter().chain(numbers).flat_map(|n| n.to_le_bytes());
        self.0.write_all(&Vec::from_iter(words)).unwrap();
    }
}

pub struct Other {
    pub line: Line,
    child: Child,
}

impl Other {
    pub fn start(what: &str) -> Other {
        let (own, its) = UnixStream::pair().unwrap();
        let child = Command::new(std::env::current_exe().unwrap())
            .args(["other_end", "--exact", "--ignored", "--nocapture"])
            .env(VARIABLE, what)
            .stdin(Stdio::from(OwnedFd::from(its)))
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        Other {
            line: Line(own),
            child,
        }
    }

    /// By -9.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What the other process does until it is killed.
pub mod answer {
    use super::*;

    /// Reads, now quickly and now slowly, and tells at the end of each round what.
    pub fn reads(mut line: Line) {
        let [memory, doorbell] = line.take();
        let mut board = Board::new().unwrap();
        line.give(&[board.memory(), board.doorbell()]);
        let attachment = Attachment {
            writer: seat(0),
            reader: seat(1),
            mark: 1,
        };
        let mut reader = board.join(attachment, memory, doorbell, 1 << 20).unwrap();
        let mut random = fastrand::Rng::with_seed(5);
        for round in 2.. {
            let mut batch = Vec::new();
            loop {
                match reader.read(&mut batch, random.usize(0..20_000)) {
                    Read::Over => break,
                    Read::Broken(why) => panic!("{why}"),
                    Read::Frames | Read::Nothing if random.bool() => {}
                    Read::Frames | Read::Nothing => wait_for_news(&mut board, &reader),
                }
            }
            line.tell(&ids(&batch));
            reader.rejoin(round);
        }
    }

    /// Writes as fast as the reader takes it.
    pub fn writes(line: Line) {
        let [memory, doorbell] = line.take();
        let (mut ring, board) = (RingWriter::new(0).unwrap(), Board::new().unwrap());
        line.give(&[ring.memory(), board.doorbell()]);
        let attachment = Attachment {
            writer: seat(0),
            reader: seat(1),
            mark: 1,
        };
        ring.admit(attachment, memory, doorbell).unwrap();
        for number in 0.. {
            let length = [10, 100, 3000, 30_000][number as usize % 4];
            crate::say(&mut ring, &board, number, length);
            if number % 3 == 0 {
                ring.publish();
            }
        }
    }
}
