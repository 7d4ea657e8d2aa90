//! One who reads a peer's ring.
//!
//! Invariants: what the ring holds is copied before it is judged; no position is used that is not
//! within one ring's length; no call takes longer than going once through the ring.

use crate::layout::*;
use crate::map::{Bell, Own, Records, Theirs, cpu, fence_all};
use crate::seats::Attachment;
use std::sync::Arc;

/// What reading a ring has come to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Read {
    /// Nothing new.
    Nothing,
    /// At least one frame; there may be more.
    Frames,
    /// Nothing more will come: the writer has detached this reader, or is gone and all that it had
    /// published was read. Of a long frame, what was not whole is dropped.
    Over,
    /// The writer does not keep to the rules; why, in words. Nothing more is read.
    Broken(&'static str),
}

/// What a peer's ring holds for this process. Made by `Board::join`.
pub struct RingReader {
    ring: Theirs,
    /// Where the cursor stands that the writer sees.
    board: Arc<Own>,
    writer: Bell,
    attachment: Attachment,
    frame_bytes_max: usize,
    /// What stands before it was read.
    cursor: u64,
    /// The writer has admitted this reader.
    joined: bool,
    /// The beginning of a long frame.
    long: Vec<u8>,
    doubt: Option<Doubt>,
    /// For this position the waiting writer was woken.
    rung: u64,
    writer_is_gone: bool,
    ended: Option<Read>,
}

/// What was copied while the writer was detaching this reader, and may be no good.
struct Doubt {
    frames: Vec<u8>,
    /// Where it stood in the ring.
    from: u64,
    to: u64,
}

impl RingReader {
    pub(crate) fn new(
        board: Arc<Own>,
        ring: Theirs,
        writer: Bell,
        attachment: Attachment,
        frame_bytes_max: usize,
    ) -> RingReader {
        let mut reader = RingReader {
            ring,
            board,
            writer,
            attachment,
            frame_bytes_max,
            cursor: 0,
            joined: false,
            long: Vec::new(),
            doubt: None,
            rung: 0,
            writer_is_gone: false,
            ended: None,
        };
        reader.begin(attachment.mark);
        reader
    }

    /// Reads again after `Read::Over`, once the writer has readmitted this reader with the same mark,
    /// or before: the writer is woken.
    pub fn rejoin(&mut self, mark: u64) {
        self.begin(mark);
        self.writer.ring();
    }

    fn begin(&mut self, mark: u64) {
        self.attachment.mark = mark;
        (self.cursor, self.joined, self.ended, self.doubt) = (0, false, None, None);
        self.long = Vec::new();
        let entry = entry(self.attachment.writer.index());
        self.board.set(entry + CURSOR, 0);
        self.board.release(entry + MARK, mark);
    }

    fn slot(&self, word: usize) -> u64 {
        self.ring.load(slot(self.attachment.reader.index()) + word)
    }

    fn slot_acquire(&self, word: usize) -> u64 {
        self.ring
            .acquire(slot(self.attachment.reader.index()) + word)
    }

    /// Whether `read` has something to say: a load or two, of a line that changes only when there is
    /// something for this reader.
    #[inline]
    pub fn has_news(&self) -> bool {
        if self.ended.is_some() {
            return false;
        }
        if self.writer_is_gone {
            return true;
        }
        let attached = self.slot(MARK) == self.attachment.mark;
        if attached && self.doubt.is_none() {
            return self.slot(END) != self.cursor;
        }
        self.slot(DETACHED) == self.attachment.mark
    }

    /// Whether the writer last published on another CPU than this thread's: then the next frame may
    /// come within a moment, and a wait may begin by asking `has_news` for some µs; else it can't come
    /// before this thread gives way.
    #[inline]
    pub fn writer_is_elsewhere(&self) -> bool {
        self.ring.load(CPU) != cpu()
    }

    /// The writer's process is known to be dead, or to have closed its ring for good: what it has
    /// published is read to its end, and then it is over.
    pub fn writer_is_gone(&mut self) {
        self.writer_is_gone = true;
    }

    /// Appends to `batch` the frames that have come, in order and one behind the other, no more than
    /// `max` bytes of them but at least one, with those that its writer has put together with it (less than 4 KiB).
    pub fn read(&mut self, batch: &mut Vec<u8>, max: usize) -> Read {
        if let Some(ended) = self.ended {
            return ended;
        }
        let found = self.look(batch, max).unwrap_or_else(Read::Broken);
        if matches!(found, Read::Over | Read::Broken(_)) {
            self.ended = Some(found);
            self.long = Vec::new();
        }
        found
    }

    fn look(&mut self, batch: &mut Vec<u8>, max: usize) -> Result<Read, &'static str> {
        if self.doubt.is_some() {
            return self.resolve(batch);
        }
        let mark = self.slot_acquire(MARK);
        self.joined |= mark == self.attachment.mark;
        if mark != self.attachment.mark {
            if self.detached_at(mark)?.is_some() {
                return Ok(Read::Over);
            }
            if !self.writer_is_gone {
                return Ok(Read::Nothing);
            }
            if !self.joined {
                return Ok(Read::Over);
            }
        }
        let end = self.slot_acquire(END);
        if end == self.cursor {
            let over = self.writer_is_gone;
            return Ok(if over { Read::Over } else { Read::Nothing });
        }
        // Where it starts may be newer than where it ends: what is published then comes behind this end.
        let from = self.cursor.max(self.slot(START).min(end));
        if from > end || end - from > self.ring.size() || !(from | end).is_multiple_of(8) {
            return Err("it says that frames stand where none can");
        }
        let before = batch.len();
        let to = match self.copy(from, end, batch, max) {
            Ok(to) => to,
            Err(why) => {
                batch.truncate(before);
                fence_all();
                // Detached in the midst of it, it may have read what the writer was writing over.
                let attached = self.slot_acquire(MARK) == self.attachment.mark;
                return if attached || self.writer_is_gone {
                    Err(why)
                } else {
                    Ok(Read::Nothing)
                };
            }
        };
        self.claim(to, end);
        let mark = self.slot_acquire(MARK);
        if mark == self.attachment.mark || self.writer_is_gone {
            let some = batch.len() > before;
            return Ok(if some { Read::Frames } else { Read::Nothing });
        }
        let frames = batch.split_off(before);
        self.doubt = Some(Doubt { frames, from, to });
        self.resolve(batch)
    }

    /// Up to where the writer has seen this reader's claim when it detached it; none: it has not, or
    /// is doing so. `mark`: of its slot, not this reader's.
    fn detached_at(&self, mark: u64) -> Result<Option<u64>, &'static str> {
        let is_own = |detached| detached == self.attachment.mark;
        // Both before and after: the position is not of who has the seat now.
        let before = self.slot_acquire(DETACHED);
        let at = self.slot_acquire(DETACHED_AT);
        if is_own(before) && is_own(self.slot(DETACHED)) {
            return Ok(Some(at));
        }
        if self.joined && (mark != 0 || is_own(before)) {
            return Err("it has given this reader's seat to another");
        }
        Ok(None)
    }

    /// Copies what is for this reader; up to where.
    fn copy(
        &mut self,
        from: u64,
        end: u64,
        batch: &mut Vec<u8>,
        max: usize,
    ) -> Result<u64, &'static str> {
        let seat = self.attachment.reader.index();
        let (word, bit) = (1 + seat / 64, seat % 64);
        let part_max = part_bytes_max(self.ring.size());
        let records = self.ring.records(from, end - from);
        let (mut at, mut left, mut some) = (0, max, false);
        batch.reserve(max.min(records.bytes() as usize));
        while let Some([head, seats]) = records.head(at, word) {
            let length = head & LENGTH;
            if length > part_max || record_bytes(length) > records.bytes() - at {
                return Err("a record that is too long");
            }
            if seats >> bit & 1 == 1 {
                match left.checked_sub(length as usize) {
                    Some(after) => left = after,
                    None if some => break,
                    None => left = 0,
                }
                some = true;
                let bytes = at + RECORD_HEAD;
                if head >> 32 == WHOLE && self.long.is_empty() {
                    records.append(bytes, length as usize, batch);
                } else {
                    let whole = part(&records, bytes, head, &mut self.long, self.frame_bytes_max)?;
                    if whole {
                        batch.append(&mut self.long);
                        self.long = Vec::new();
                    }
                }
            }
            at += record_bytes(length);
        }
        Ok(from + at)
    }

    /// Lets the writer write over what stands before `to`, and wakes it if it waits for that.
    fn claim(&mut self, to: u64, end: u64) {
        self.cursor = to;
        let entry = entry(self.attachment.writer.index());
        self.board.release(entry + CURSOR, to);
        // Either the writer sees this when it detaches, or waits; or it is seen here that it does.
        fence_all();
        let wanted = self.ring.load(WANTED);
        if wanted != 0 && wanted != self.rung && (to >= wanted || to == end) {
            self.rung = wanted;
            self.writer.ring();
        }
    }

    /// What was copied counts if the writer had seen that it was claimed, or can't have written over
    /// it because it is dead.
    fn resolve(&mut self, batch: &mut Vec<u8>) -> Result<Read, &'static str> {
        let mark = self.slot_acquire(MARK);
        let detached_at = self.detached_at(mark)?;
        if detached_at.is_none() && !self.writer_is_gone {
            return Ok(Read::Nothing);
        }
        let doubt = self.doubt.take().expect("there is a doubt");
        if let Some(at) = detached_at {
            if at <= doubt.from {
                return Ok(Read::Over);
            }
            if at < doubt.to {
                return Err("it detached this reader where that never was");
            }
        }
        batch.extend_from_slice(&doubt.frames);
        Ok(match doubt.frames.is_empty() {
            true if detached_at.is_some() => Read::Over,
            true => Read::Nothing,
            false => Read::Frames,
        })
    }
}

/// Copies a part of a long frame; whether that is whole now.
#[cold]
fn part(
    records: &Records<'_>,
    at: u64,
    head: u64,
    long: &mut Vec<u8>,
    frame_bytes_max: usize,
) -> Result<bool, &'static str> {
    let (length, kind) = ((head & LENGTH) as usize, head >> 32);
    if kind != PART && kind != LAST_PART {
        return Err("a frame within another, or a record of no kind");
    }
    if long.len() + length > frame_bytes_max {
        return Err("a frame that is too long");
    }
    records.append(at, length, long);
    Ok(kind == LAST_PART)
}
