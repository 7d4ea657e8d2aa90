//! Frames that go into a ring in parts.
//!
//! Who is detached half-way through such a frame gets all of it another way: so it is kept as long
//! as anybody may be within it.

use crate::seats::{Seat, Seats};
use std::collections::VecDeque;

#[derive(Default)]
pub(crate) struct LongFrames {
    frames: VecDeque<LongFrame>,
    /// The last of them is not yet in the ring as a whole.
    unfinished: bool,
}

pub(crate) struct LongFrame {
    pub(crate) to: Seats,
    pub(crate) bytes: Vec<u8>,
    /// How many bytes are in the ring.
    pub(crate) put: usize,
    /// Where those begin and end.
    begin: u64,
    pub(crate) end: u64,
}

impl LongFrames {
    pub(crate) fn begin(&mut self, to: Seats, at: u64, bytes: Vec<u8>) {
        assert!(!self.unfinished, "one at a time");
        self.unfinished = true;
        self.frames.push_back(LongFrame {
            to,
            bytes,
            put: 0,
            begin: at,
            end: at,
        });
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    pub(crate) fn is_whole(&self) -> bool {
        !self.unfinished
    }

    /// Takes out the one that is not whole. To be given `back`.
    pub(crate) fn take_unfinished(&mut self) -> Option<LongFrame> {
        if !self.unfinished {
            return None;
        }
        self.frames.pop_back()
    }

    pub(crate) fn back(&mut self, frame: LongFrame) {
        self.unfinished = frame.put < frame.bytes.len();
        self.frames.push_back(frame);
    }

    /// Nobody reads before this position any more.
    pub(crate) fn forget(&mut self, before: u64) {
        let kept = usize::from(self.unfinished);
        while self.frames.len() > kept && self.frames[0].end <= before {
            self.frames.pop_front();
        }
    }

    /// The frame of which the record at this position is a part; where what is in the ring ends.
    pub(crate) fn give(&mut self, at: u64, to: Seat, take: &mut impl FnMut(&[u8])) -> u64 {
        let holds_it = |f: &&mut LongFrame| (f.begin..f.end).contains(&at);
        let frame = self.frames.iter_mut().find(holds_it);
        let frame = frame.expect("a long frame is kept as long as one may be within it");
        frame.to.remove(to);
        take(&frame.bytes);
        frame.end
    }

    /// Nothing more of the one that is not whole goes to this seat; it gets that another way, unless
    /// it was given already.
    pub(crate) fn leave(&mut self, seat: Seat, take: &mut impl FnMut(&[u8])) {
        let Some(frame) = self.frames.back_mut().filter(|_| self.unfinished) else {
            return;
        };
        if frame.to.contains(seat) {
            frame.to.remove(seat);
            take(&frame.bytes);
        }
        if frame.to.is_empty() {
            self.frames.pop_back();
            self.unfinished = false;
        }
    }
}
