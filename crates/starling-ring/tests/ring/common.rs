//! Members of a federation execution that has no executive.

use starling_ring::{Attachment, Board, RingReader, RingWriter, Seat};
use std::os::fd::{BorrowedFd, OwnedFd};

pub struct Member {
    pub seat: Seat,
    pub ring: RingWriter,
    pub board: Board,
}

pub fn seat(number: u8) -> Seat {
    Seat::new(number).unwrap()
}

fn given(fd: BorrowedFd<'_>) -> OwnedFd {
    fd.try_clone_to_owned().unwrap()
}

impl Member {
    pub fn new(number: u8) -> Member {
        Member {
            seat: seat(number),
            ring: RingWriter::new(0).unwrap(),
            board: Board::new().unwrap(),
        }
    }

    /// From now on this one hears the other.
    pub fn hear(&mut self, other: &mut Member, mark: u64) -> RingReader {
        let attachment = Attachment {
            writer: other.seat,
            reader: self.seat,
            mark,
        };
        let (memory, doorbell) = (self.board.memory(), self.board.doorbell());
        other
            .ring
            .admit(attachment, given(memory), given(doorbell))
            .unwrap();
        let (memory, doorbell) = (other.ring.memory(), other.board.doorbell());
        self.board
            .join(attachment, given(memory), given(doorbell), 1 << 30)
            .unwrap()
    }
}
