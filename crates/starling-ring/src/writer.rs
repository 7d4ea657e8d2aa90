//! The one who writes a ring.
//!
//! Invariants: every position before `tail` was written as part of a record, and records touch each
//! other. What stands from `limit - size` on is not written over; that is the least of where the
//! bundle began that is not published and, of every reader that has not read all that was for it,
//! `kept`. What a reader says is believed only as far as it costs nobody but itself. What is published does not change.

use crate::layout::*;
use crate::long::LongFrames;
use crate::map::{Bell, Given, Handle, Own, Theirs, cpu, fence_all};
use crate::seats::{Attachment, Seat, Seats};
use std::io;

/// There was no room for a frame, and nothing was put.
///
/// Then: `publish`, wait a while for readers (`wait_for_room`), `detach` those `in_the_way` if they
/// don't come; and put again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// What writes a frame, straight into the ring. A closure does; but where that is called is for the compiler to choose.
pub trait Fill {
    /// Writes it into so many bytes.
    fn fill(self, bytes: &mut [u8]);
}

impl<F: FnOnce(&mut [u8])> Fill for F {
    #[inline(always)]
    fn fill(self, bytes: &mut [u8]) {
        self(bytes);
    }
}

/// This process's ring: what it puts in goes to as many readers as it says, copied once.
pub struct RingWriter {
    map: Own,
    size: u64,
    /// How many bytes a record holds.
    part_max: u64,
    /// The end of what was put.
    tail: u64,
    /// The end of what was published.
    published: u64,
    /// No record may go beyond it.
    limit: u64,
    /// Who gets something of what was put since.
    wanted_by: Seats,
    attached: Seats,
    readers: Vec<Option<Reader>>,
    /// For every stretch of the ring, the record that covers its first byte.
    edges: Vec<u64>,
    /// Where the next stretch begins.
    next_edge: u64,
    /// A stretch has 2 to the power of this many bytes.
    stretch: u32,
    long: LongFrames,
    open: Open,
    /// How much room was lacking last.
    lacking: u64,
    /// For which position it waited last.
    wanted: u64,
    bells: u64,
}

/// The record that was put last. Frames for the same readers join it until it is published: to go on there takes less
/// than to begin another, and to copy one of several less than to copy several.
struct Open {
    /// Where it begins, and for whom it is.
    at: u64,
    to: Seats,
    /// How many bytes stand in it; [`TOGETHER`]: none may join.
    length: u64,
}

/// What is known of a reader.
struct Reader {
    attachment: Attachment,
    board: Theirs,
    bell: Bell,
    /// As in its slot.
    end: u64,
    /// It has read all that was for it: it holds up nothing.
    idle: bool,
    /// A record's beginning, not after what it claims to have read; not to be written over.
    kept: u64,
    /// The sleep for which its bell was rung.
    rung: u64,
}

impl RingWriter {
    /// A ring of at least `bytes` bytes of records, rounded up to a power of two between 64 KiB
    /// and 16 MiB. An error: the system gives no memory, or has none that can be sealed.
    pub fn new(bytes: usize) -> io::Result<RingWriter> {
        let size = bytes.clamp(RING_MIN, RING_MAX).next_power_of_two();
        let stretches = size.min(STRETCHES);
        Ok(RingWriter {
            map: Own::new(RING_MAGIC, size)?,
            size: size as u64,
            part_max: part_bytes_max(size as u64),
            tail: 0,
            published: 0,
            limit: size as u64,
            wanted_by: Seats::NONE,
            attached: Seats::NONE,
            readers: (0..SEATS).map(|_| None).collect(),
            edges: vec![0; stretches],
            next_edge: 0,
            stretch: (size / stretches).trailing_zeros(),
            long: LongFrames::default(),
            open: Open {
                at: 0,
                to: Seats::NONE,
                length: TOGETHER,
            },
            lacking: 0,
            wanted: 0,
            bells: 0,
        })
    }

    /// The memory, to hand over to readers (`Board::join`).
    pub fn memory(&self) -> Handle<'_> {
        self.map.descriptor()
    }

    /// How many bytes of records it has.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// How often a peer's doorbell was rung (a system call each).
    pub fn bells_rung(&self) -> u64 {
        self.bells
    }

    /// Attaches a reader, by the memory and the doorbell of its `Board`. Frames may be put for it
    /// at once; but whether it reads this ring is known when `is_ready` says so. Who had its seat
    /// before must have been removed.
    ///
    /// Errors: what was handed over is no board that only its owner can change, or no doorbell.
    pub fn admit(
        &mut self,
        attachment: Attachment,
        board: Given,
        doorbell: Given,
    ) -> io::Result<()> {
        let seat = attachment.reader;
        assert!(self.readers[seat.index()].is_none(), "a seat that is free");
        let board = Theirs::new(board, BOARD_MAGIC, [0, 0])?;
        self.readers[seat.index()] = Some(Reader {
            attachment,
            board,
            bell: Bell::of(doorbell)?,
            end: 0,
            idle: true,
            kept: 0,
            rung: 0,
        });
        self.attach(seat);
        Ok(())
    }

    /// Attaches a reader again that was detached; at its end, `RingReader::rejoin` with the same mark.
    pub fn readmit(&mut self, seat: Seat, mark: u64) {
        assert!(!self.attached.contains(seat), "one that was detached");
        let reader = self.readers[seat.index()].as_mut();
        reader.expect("one that was admitted").attachment.mark = mark;
        self.attach(seat);
    }

    fn attach(&mut self, seat: Seat) {
        // Records that are not published may name who had the seat before.
        self.publish();
        let slot = slot(seat.index());
        let from = self.tail;
        let reader = self.readers[seat.index()].as_mut().expect("a reader");
        (reader.end, reader.kept, reader.idle) = (from, from, true);
        self.map.set(slot + START, from);
        self.map.set(slot + END, from);
        self.map.release(slot + MARK, reader.attachment.mark);
        self.attached.insert(seat);
    }

    /// Whether the reader has mapped the ring and reads it.
    pub fn is_ready(&self, seat: Seat) -> bool {
        self.reader(seat).is_some_and(|r| r.claim().is_some())
    }

    /// Whether a reader that was detached is over with what it had until then, and waits to be
    /// attached again with this mark.
    pub fn is_awaited(&self, seat: Seat, mark: u64) -> bool {
        let of = |r: &Reader| r.board.load(entry(r.attachment.writer.index()) + MARK) == mark;
        !self.attached.contains(seat) && self.reader(seat).is_some_and(of)
    }

    /// Those that are attached.
    pub fn attached(&self) -> Seats {
        self.attached
    }

    fn reader(&self, seat: Seat) -> Option<&Reader> {
        self.readers[seat.index()].as_ref()
    }

    /// Puts a frame of `length` bytes for those at the seats `to`, all of whom are attached: `encode`
    /// writes it, straight into the ring. They see it once it is published; of one without bytes they
    /// see nothing.
    ///
    /// A frame longer than an eighth of the ring is taken at once, and goes in as there is room:
    /// until it `is_whole`, nothing else can be put.
    #[inline]
    pub fn put(
        &mut self,
        to: Seats,
        length: usize,
        encode: impl FnOnce(&mut [u8]),
    ) -> Result<(), Full> {
        let place = self.place(to, length);
        if !self.takes(place, length) {
            return self.put_with_care(to, length, encode);
        }
        self.put_record(place, (to, WHOLE), length, encode);
        Ok(())
    }

    /// The same of a frame for which there is room anyway, as there mostly is: whether it was put. Else nothing is
    /// done: [`put`](Self::put) it.
    #[inline(always)]
    pub fn put_at_once(&mut self, to: Seats, length: usize, encode: impl Fill) -> bool {
        let place = self.place(to, length);
        let takes = self.takes(place, length);
        if takes {
            self.put_record(place, (to, WHOLE), length, encode);
        }
        takes
    }

    /// In which record a frame is to stand, and behind how many bytes there.
    #[inline(always)]
    fn place(&self, to: Seats, length: usize) -> (u64, u64) {
        let Open {
            at,
            to: of,
            length: before,
        } = self.open;
        if before + (length as u64) < TOGETHER && to == of {
            return (at, before);
        }
        assert!(to.and(self.attached) == to, "all are attached");
        (self.tail, 0)
    }

    /// Whether there is room for a frame without another look at the readers.
    #[inline(always)]
    fn takes(&self, (at, before): (u64, u64), length: usize) -> bool {
        let end = at + record_bytes(before + length as u64);
        end <= self.limit && (before > 0 || length as u64 <= self.part_max && self.is_whole())
    }

    /// It fits.
    #[inline(always)]
    fn put_record(
        &mut self,
        (at, before): (u64, u64),
        (to, kind): (Seats, u64),
        length: usize,
        fill: impl Fill,
    ) {
        let [low, high] = to.words();
        let bytes = before + length as u64;
        let head = [bytes | kind << 32, low, high];
        self.map.fill(at, head, before as usize, length, fill);
        let end = at + record_bytes(bytes);
        if end > self.next_edge {
            self.note_edges(at, end);
        }
        self.tail = end;
        if before > 0 {
            self.open.length = bytes;
            return;
        }
        self.wanted_by = self.wanted_by.or(to);
        // A part of a long frame stands alone.
        let length = if kind == WHOLE { bytes } else { TOGETHER };
        self.open = Open { at, to, length };
    }

    #[cold]
    fn note_edges(&mut self, record: u64, end: u64) {
        while self.next_edge < end {
            let stretch = (self.next_edge >> self.stretch) as usize & (self.edges.len() - 1);
            self.edges[stretch] = record;
            self.next_edge += 1 << self.stretch;
        }
    }

    #[cold]
    fn put_with_care(
        &mut self,
        to: Seats,
        length: usize,
        encode: impl FnOnce(&mut [u8]),
    ) -> Result<(), Full> {
        assert!(u32::try_from(length).is_ok(), "a frame's length");
        self.open.length = TOGETHER;
        if !self.go_on() {
            return Err(Full);
        }
        if length as u64 > self.part_max {
            let mut frame = vec![0; length];
            encode(&mut frame);
            self.long.begin(to, self.tail, frame);
            self.go_on();
            return Ok(());
        }
        if !self.has_room(record_bytes(length as u64)) {
            return Err(Full);
        }
        self.put_record((self.tail, 0), (to, WHOLE), length, encode);
        Ok(())
    }

    /// Whether all that was taken is in the ring.
    #[inline]
    pub fn is_whole(&self) -> bool {
        self.long.is_whole()
    }

    /// Puts in of a long frame what there is room for: whether that was all.
    fn go_on(&mut self) -> bool {
        let Some(mut frame) = self.long.take_unfinished() else {
            return true;
        };
        while frame.put < frame.bytes.len() {
            let left = &frame.bytes[frame.put..];
            let part = &left[..left.len().min(self.part_max as usize)];
            if !self.has_room(record_bytes(part.len() as u64)) {
                break;
            }
            let kind = if part.len() < left.len() {
                PART
            } else {
                LAST_PART
            };
            let place = (self.tail, 0);
            self.put_record(place, (frame.to, kind), part.len(), |r: &mut [u8]| {
                r.copy_from_slice(part);
            });
            frame.put += part.len();
            frame.end = self.tail;
        }
        self.long.back(frame);
        self.long.is_whole()
    }

    /// Asks the readers how far they are if need be.
    fn has_room(&mut self, bytes: u64) -> bool {
        if self.tail + bytes > self.limit {
            self.look();
        }
        let enough = self.tail + bytes <= self.limit;
        self.lacking = if enough { 0 } else { bytes };
        enough
    }

    /// Asks the readers how far they are.
    fn look(&mut self) {
        let mut least = self.published;
        for seat in self.attached.iter() {
            let reader = self.readers[seat.index()].as_mut().expect("attached");
            reader.look(&self.edges, self.stretch);
            if !reader.idle {
                least = least.min(reader.kept);
            }
        }
        self.limit = least + self.size;
        self.long.forget(least);
    }

    /// Bytes put since the last `publish`; of records, so somewhat more than those of the frames.
    #[inline]
    pub fn pending(&self) -> u64 {
        self.tail - self.published
    }

    /// Shows the readers what was put for them, and wakes those of them that sleep. Goes on with a
    /// long frame that is not whole.
    pub fn publish(&mut self) {
        self.go_on();
        if !self.long.is_empty() {
            self.look();
        }
        if self.pending() == 0 {
            return;
        }
        for seat in self.wanted_by.iter() {
            let reader = self.readers[seat.index()].as_mut().expect("attached");
            let slot = slot(seat.index());
            if reader.end != self.published {
                // What stands between is not for it.
                reader.look(&self.edges, self.stretch);
            }
            if reader.idle {
                (reader.idle, reader.kept) = (false, self.published);
                self.map.set(slot + START, self.published);
            }
            reader.end = self.tail;
            self.map.release(slot + END, self.tail);
        }
        self.published = self.tail;
        self.open.length = TOGETHER;
        self.map.set(CPU, cpu());
        // Either this one sees that a reader sleeps, or the reader sees what is published.
        fence_all();
        for seat in self.wanted_by.iter() {
            let reader = self.readers[seat.index()].as_mut().expect("attached");
            self.bells += u64::from(reader.wake());
        }
        self.wanted_by = Seats::NONE;
    }

    /// How many bytes of the ring hold what this reader has not read.
    pub fn behind(&mut self, seat: Seat) -> u64 {
        let Some(reader) = self.readers[seat.index()].as_mut() else {
            return 0;
        };
        reader.look(&self.edges, self.stretch);
        if reader.idle {
            0
        } else {
            reader.end - reader.kept
        }
    }

    /// After `Full` or when a long frame does not go on: those of the attached without whom there
    /// would be room. None: what is in the way must be published first.
    pub fn in_the_way(&mut self) -> Seats {
        self.look();
        let needed = (self.tail + self.lacking).saturating_sub(self.size);
        let mut seats = self.attached;
        for seat in self.attached.iter() {
            if self.reader(seat).is_none_or(|r| r.idle || r.kept >= needed) {
                seats.remove(seat);
            }
        }
        seats
    }

    /// After `Full`, or when a long frame does not go on: asks the readers to ring the doorbell of
    /// this process when they have made room, and looks whether they have already. False: wait for the
    /// doorbell, `Board::answer`, and ask again.
    pub fn wait_for_room(&mut self) -> bool {
        self.publish();
        // Half a ring, lest it be woken for each record.
        self.want(self.tail.saturating_sub(self.size / 2));
        fence_all();
        let room = self.has_room(self.lacking);
        if room {
            self.map.set(WANTED, 0);
        }
        room
    }

    /// Each reader rings once for a position, and whoever comes to its end rings at any. So it is never the same
    /// twice: one that rang for another's does so again.
    fn want(&mut self, position: u64) {
        self.wanted = position.max(self.wanted + 1);
        self.map.set(WANTED, self.wanted);
    }

    /// Asks a reader to ring the doorbell of this process when about so many bytes are left to it of what was put
    /// for it, and looks whether that is so already. Others may ring, too.
    pub fn wait_for(&mut self, seat: Seat, left: u64) -> bool {
        self.publish();
        if let Some(end) = self.reader(seat).map(|reader| reader.end) {
            self.want(end.saturating_sub(left));
        }
        fence_all();
        self.behind(seat) <= left
    }

    /// Detaches a reader: nothing is put for it any more, and nothing of this ring waits for it.
    /// `frames` gets, in order, one or several at a time, all frames that it had not claimed, also those that are not
    /// published; it will drop what it has of a long frame among them.
    ///
    /// It may be attached again once its `RingReader` is over. Nothing happens to one that is not attached.
    pub fn detach(&mut self, seat: Seat, mut frames: impl FnMut(&[u8])) {
        if !self.attached.contains(seat) {
            return;
        }
        self.open.length = TOGETHER;
        let slot = slot(seat.index());
        self.map.set(slot + MARK, 0);
        // Either its claim is seen here, or it sees that it is detached.
        fence_all();
        let reader = self.readers[seat.index()].as_mut().expect("attached");
        reader.look(&self.edges, self.stretch);
        let (mut at, detached_at);
        if reader.idle {
            (at, detached_at) = (self.published, reader.end);
        } else {
            // From a record's beginning to the first that was not claimed, whatever a claim may be.
            let claim = reader.claim().unwrap_or(0).clamp(reader.kept, reader.end);
            at = reader.kept;
            while at < claim {
                at += record_bytes(self.map.head(at) & LENGTH);
            }
            detached_at = at;
        }
        // Who had the seat before, and is late, must not take this position for its own.
        self.map.set(slot + DETACHED, 0);
        self.map.release(slot + DETACHED_AT, detached_at);
        self.map.release(slot + DETACHED, reader.attachment.mark);
        fence_all();
        self.bells += u64::from(reader.wake());
        self.attached.remove(seat);
        self.wanted_by.remove(seat);
        while at < self.tail {
            let head = self.map.head(at);
            let length = head & LENGTH;
            let to = [8, 16].map(|word| self.map.head(at + word));
            let end = at + record_bytes(length);
            let is_for = Seats::from(seat).words();
            if to[0] & is_for[0] | to[1] & is_for[1] == 0 {
                at = end;
            } else if head >> 32 == WHOLE {
                self.map
                    .show(at + RECORD_HEAD, length as usize, &mut frames);
                at = end;
            } else {
                at = self.long.give(at, seat, &mut frames);
            }
        }
        self.long.leave(seat, &mut frames);
    }

    /// Forgets a reader: it has left the federation execution, or is dead. Its seat is free.
    pub fn remove(&mut self, seat: Seat) {
        self.detach(seat, |_| {});
        self.readers[seat.index()] = None;
    }
}

impl Reader {
    /// How far it says to have read; none if it does not read this ring.
    fn claim(&self) -> Option<u64> {
        let entry = entry(self.attachment.writer.index());
        let reads_this = |mark| mark == self.attachment.mark;
        // Both before and after: the cursor is of neither the ring read before nor the one after.
        let before = self.board.acquire(entry + MARK);
        let cursor = self.board.acquire(entry + CURSOR);
        (reads_this(before) && reads_this(self.board.load(entry + MARK))).then_some(cursor)
    }

    fn look(&mut self, edges: &[u64], stretch: u32) {
        if self.idle {
            return;
        }
        let Some(cursor) = self.claim() else { return };
        if cursor >= self.end {
            self.idle = true;
            return;
        }
        let edge = edges[(cursor >> stretch) as usize & (edges.len() - 1)];
        // Else a record of the ring's next turn has the place.
        if (self.kept..=cursor).contains(&edge) {
            self.kept = edge;
        }
    }

    /// Whether it was necessary to wake it.
    fn wake(&mut self) -> bool {
        let sleep = self.board.load(SLEEP);
        let sleeps = !sleep.is_multiple_of(2) && sleep != self.rung;
        if sleeps {
            self.rung = sleep;
            self.bell.ring();
        }
        sleeps
    }
}
