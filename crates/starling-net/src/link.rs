//! A stream with its buffers.
//!
//! Invariants: what is appended to the outgoing buffer leaves in that order, in as few calls as
//! the system takes; what came in stays at its place until it is consumed, so that frames are
//! decoded where they lie. Descriptors that go with a frame come with it or before it, in the order of
//! the frames.

use crate::compression::{RECORD_BYTES, Records, Unpack};
use crate::platform::{Came, DESCRIPTORS_MAX};
use crate::stream::Stream;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;

/// How much room a read has at least.
const READ_BYTES: usize = 64 * 1024;
/// An empty buffer larger than this gives its memory back.
const KEPT_BYTES: usize = 1024 * 1024;
/// Bytes for several links are copied if they are fewer.
const SHARED_BYTES: usize = 64 * 1024;
/// More at once is copied by `rep movsb`, which is no faster, and of which instruments count each
/// byte as an instruction.
const PIECE_BYTES: usize = 1024;
/// As much room for frames is made at once.
const SPARE_BYTES: usize = 4096;

/// For so many frames descriptors may have come before them. A frame with some is small, so that hardly
/// ever more than one has to wait for its bytes.
const FRAMES_WAITING_MAX: usize = 2;

/// Descriptors that go with a frame, at most three; several links may send them.
pub type Descriptors = Arc<[OwnedFd]>;

/// What a [`LinkReader::fill`] has brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// Nothing is there now.
    Nothing,
    /// So many bytes, and for now no more.
    Bytes(usize),
    /// So many bytes, and there may be more.
    More(usize),
    /// The peer has closed the stream; what came before is in the inbox.
    Closed,
}

/// The incoming half of a link.
#[derive(Debug)]
pub struct LinkReader {
    stream: Arc<Stream>,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
    bytes: u64,
    /// Bytes that were consumed.
    consumed: u64,
    calls: u64,
    /// Descriptors that came, for frames that are still to be taken; none: they are not wanted.
    descriptors: Option<VecDeque<Came>>,
    /// It is a part of the stream, which its owner gives it.
    is_part: bool,
    /// What comes is compressed.
    unpack: Option<Box<Unpack>>,
}

impl LinkReader {
    fn new(stream: Arc<Stream>) -> Self {
        Self {
            stream,
            buffer: Vec::new(),
            start: 0,
            end: 0,
            bytes: 0,
            consumed: 0,
            calls: 0,
            descriptors: None,
            is_part: false,
            unpack: None,
        }
    }

    /// What comes of one that is a part of a stream.
    ///
    /// # Errors
    /// There is no memory for it.
    pub fn feed(&mut self, bytes: &[u8]) -> io::Result<()> {
        let kept = self.end - self.start;
        if self.buffer.len() - self.end < bytes.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, kept);
            let wanted = kept + bytes.len();
            if wanted > self.buffer.len() {
                // Twice as much, so that what is long is not copied for each piece of it.
                let more = (2 * wanted).saturating_sub(self.buffer.len());
                if self.buffer.try_reserve_exact(more).is_err() {
                    return Err(no_memory(wanted));
                }
                self.buffer.resize(2 * wanted, 0);
            }
        }
        self.buffer[self.end..self.end + bytes.len()].copy_from_slice(bytes);
        self.end += bytes.len();
        self.bytes += bytes.len() as u64;
        Ok(())
    }

    /// What comes behind what was consumed is compressed, if it is.
    ///
    /// # Errors
    /// What has come already can't be.
    pub fn decompress(&mut self, unpack: Option<Box<Unpack>>) -> io::Result<()> {
        if let Some(mut unpack) = unpack {
            unpack.came(self.inbox());
            self.end = self.start;
            self.unpack_some(&mut unpack)?;
            self.unpack = Some(unpack);
        }
        Ok(())
    }

    /// Whether more has come than is in the inbox, so that nothing is to be waited for.
    #[inline]
    pub fn has_more(&self) -> bool {
        self.unpack.as_ref().is_some_and(|u| u.has_more())
    }

    /// From now on descriptors are taken that come along, if the stream passes any; before, they are
    /// closed by the system.
    pub fn admit_descriptors(&mut self) {
        if self.stream.passes_descriptors() {
            self.descriptors.get_or_insert_default();
        }
    }

    /// The descriptors that go with a frame which has three; an error if they came, but this process
    /// may not have so many. None: it came without.
    pub fn take_descriptors(&mut self) -> Option<io::Result<[OwnedFd; DESCRIPTORS_MAX]>> {
        self.descriptors.as_mut()?.pop_front()
    }

    /// Whether descriptors have come that no frame took, although all that came was consumed: the
    /// peer has attached them to what takes none.
    pub fn has_stray_descriptors(&self) -> bool {
        self.start == self.end && self.descriptors.as_ref().is_some_and(|d| !d.is_empty())
    }

    /// Reads once what is there, without waiting.
    ///
    /// # Errors
    /// What the system says; `OutOfMemory` if there is no room for what has come of a frame;
    /// `InvalidData` if other descriptors came than frames can take.
    pub fn fill(&mut self) -> io::Result<Fill> {
        if self.is_part {
            return Ok(Fill::Nothing);
        }
        if let Some(mut unpack) = self.unpack.take() {
            let filled = self.fill_compressed(&mut unpack);
            self.unpack = Some(unpack);
            return filled;
        }
        self.make_room()?;
        self.calls += 1;
        let room = self.buffer.len() - self.end;
        let buffer = &mut self.buffer[self.end..];
        // With descriptors a read ends, whatever else there is.
        let mut cut = false;
        let received = match &mut self.descriptors {
            None => self.stream.receive(buffer),
            Some(waiting) => self.stream.receive_with(buffer).and_then(|(got, came)| {
                cut = came.is_some();
                waiting.extend(came);
                if waiting.len() > FRAMES_WAITING_MAX {
                    let why = "it sends descriptors that nothing takes";
                    return Err(io::Error::new(io::ErrorKind::InvalidData, why));
                }
                Ok(got)
            }),
        };
        match received {
            Ok(0) => Ok(Fill::Closed),
            Ok(got) => {
                self.end += got;
                self.bytes += got as u64;
                Ok(if got == room || cut {
                    Fill::More(got)
                } else {
                    Fill::Bytes(got)
                })
            }
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(Fill::Nothing),
            Err(e) => Err(e),
        }
    }

    fn fill_compressed(&mut self, unpack: &mut Unpack) -> io::Result<Fill> {
        // Where there is something to unpack the system is not asked, so it may have more: the read that brought this
        // may have been a full one, and of what comes an owner is told once (epoll, by edges).
        let mut more = unpack.has_more();
        if !more {
            self.make_room()?;
            self.calls += 1;
            let room = &mut self.buffer[self.end..];
            match self.stream.receive(room) {
                Ok(0) => return Ok(Fill::Closed),
                Ok(got) => {
                    more = got == room.len();
                    self.bytes += got as u64;
                    unpack.came(&room[..got]);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(Fill::Nothing),
                Err(e) => return Err(e),
            }
        }
        let got = self.unpack_some(unpack)?;
        Ok(if more || unpack.has_more() {
            Fill::More(got)
        } else {
            Fill::Bytes(got)
        })
    }

    /// Unpacks not much more than what a record holds; how many bytes that is.
    fn unpack_some(&mut self, unpack: &mut Unpack) -> io::Result<usize> {
        let before = self.end - self.start;
        while self.end - self.start - before < RECORD_BYTES {
            let Some(piece) = unpack.next_piece()? else {
                break;
            };
            self.make_room_for(piece.len())?;
            self.buffer[self.end..self.end + piece.len()].copy_from_slice(piece);
            self.end += piece.len();
        }
        Ok(self.end - self.start - before)
    }

    /// What has come and was not consumed yet.
    #[inline]
    pub fn inbox(&self) -> &[u8] {
        &self.buffer[self.start..self.end]
    }

    /// Forgets the first `count` bytes of the inbox.
    #[inline]
    pub fn consume(&mut self, count: usize) {
        assert!(count <= self.end - self.start, "more consumed than came");
        self.start += count;
        self.consumed += count as u64;
        if self.start == self.end {
            self.start = 0;
            self.end = 0;
            if self.buffer.len() > KEPT_BYTES {
                self.buffer = Vec::new();
            }
        }
    }

    /// Bytes that were consumed so far: where in the stream this end reads on.
    #[inline]
    pub fn position(&self) -> u64 {
        self.consumed
    }

    /// Reads into `spare` from now on, if this link has no large buffer of its own: a thread with
    /// many links needs one buffer. To be given back with [`LinkReader::give_back`].
    pub fn borrow(&mut self, spare: &mut Vec<u8>) {
        let kept = self.end - self.start;
        if kept <= READ_BYTES && spare.len() >= kept + READ_BYTES {
            spare[..kept].copy_from_slice(self.inbox());
            self.buffer = std::mem::take(spare);
            (self.start, self.end) = (0, kept);
        }
    }

    /// Gives the memory back: what was not consumed stays here, in as little as it takes. More
    /// than a read brings is not copied but keeps the buffer.
    pub fn give_back(&mut self, spare: &mut Vec<u8>) {
        let kept = self.end - self.start;
        if kept <= READ_BYTES && self.buffer.len() > kept {
            let rest = self.inbox().to_vec();
            *spare = std::mem::replace(&mut self.buffer, rest);
            (self.start, self.end) = (0, kept);
        }
    }

    /// Bytes and read calls so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.bytes, self.calls)
    }

    /// The stream.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// The buffer grows only as bytes come, never by an announced length.
    fn make_room(&mut self) -> io::Result<()> {
        if self.buffer.len() - self.end >= READ_BYTES / 2 {
            return Ok(());
        }
        self.make_room_for(READ_BYTES)
    }

    fn make_room_for(&mut self, bytes: usize) -> io::Result<()> {
        let kept = self.end - self.start;
        if self.buffer.len() - self.end >= bytes {
            return Ok(());
        }
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.start = 0;
            self.end = kept;
        }
        if self.buffer.len() - kept < bytes {
            let wanted = (2 * kept).max(READ_BYTES) + bytes.max(READ_BYTES);
            if self
                .buffer
                .try_reserve_exact(wanted - self.buffer.len())
                .is_err()
            {
                return Err(no_memory(kept));
            }
            self.buffer.resize(wanted, 0);
        }
        Ok(())
    }
}

fn no_memory(kept: usize) -> io::Error {
    let why = format!("no memory for a frame of more than {kept} bytes");
    io::Error::new(io::ErrorKind::OutOfMemory, why)
}

/// The outgoing half of a link.
#[derive(Debug)]
pub struct LinkWriter {
    stream: Arc<Stream>,
    /// What leaves before `buffer`: none unless large bytes were shared.
    before: VecDeque<Chunk>,
    /// Bytes in `before`.
    before_bytes: usize,
    /// What was appended, then `spare` bytes of whatever value.
    buffer: Vec<u8>,
    spare: usize,
    /// Of the first of these, what has left.
    written: usize,
    /// Where in the first of these a frame begins that is the first of which that can be told: what
    /// is before belongs to one whose beginning has been forgotten.
    boundary: usize,
    way: Way,
}

/// How what is appended leaves.
#[derive(Debug, Default)]
struct Way {
    /// Bytes that have left, or stand in records.
    taken: u64,
    /// Bytes on the stream, and calls for them.
    bytes: u64,
    calls: u64,
    /// What is behind so many bytes is sent compressed.
    records: Option<(u64, Box<Records>)>,
    /// Descriptors, and behind how many bytes of all that were ever to be written their frames begin.
    attached: VecDeque<(u64, Descriptors)>,
    /// Frames that were dropped because the system passed no more descriptors.
    unattached: u64,
}

impl Way {
    /// Takes some of these bytes; an error if it takes none now.
    #[inline]
    fn take(&mut self, stream: &Stream, bytes: &[u8]) -> io::Result<usize> {
        self.calls += 1;
        if self.records.is_some() {
            return self.take_compressed(stream, bytes);
        }
        let (attached, unattached) = (&mut self.attached, &mut self.unattached);
        let sent = send(stream, bytes, attached, self.taken, unattached)?;
        self.taken += sent as u64;
        self.bytes += sent as u64;
        Ok(sent)
    }

    fn take_compressed(&mut self, stream: &Stream, bytes: &[u8]) -> io::Result<usize> {
        let Some((from, records)) = &mut self.records else {
            return Ok(0);
        };
        let plain = from.saturating_sub(self.taken);
        let (count, left) = if plain > 0 {
            let before = usize::try_from(plain).unwrap_or(usize::MAX);
            let sent = stream.send(&bytes[..before.min(bytes.len())])?;
            (sent, sent)
        } else {
            records.write(stream, bytes)?
        };
        self.taken += count as u64;
        self.bytes += left as u64;
        if count == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        Ok(count)
    }

    /// Writes what stands in records; whether nothing does any more.
    fn finish(&mut self, stream: &Stream) -> io::Result<bool> {
        match &mut self.records {
            Some((_, records)) if records.pending() > 0 => {
                self.calls += 1;
                let (all, left) = records.finish(stream)?;
                self.bytes += left as u64;
                Ok(all)
            }
            _ => Ok(true),
        }
    }
}

#[derive(Debug)]
enum Chunk {
    Own(Vec<u8>),
    Shared(Arc<[u8]>),
}

impl Chunk {
    fn bytes(&self) -> &[u8] {
        match self {
            Chunk::Own(bytes) => bytes,
            Chunk::Shared(bytes) => bytes,
        }
    }
}

impl LinkWriter {
    fn new(stream: Arc<Stream>) -> Self {
        Self {
            stream,
            before: VecDeque::new(),
            before_bytes: 0,
            buffer: Vec::new(),
            spare: 0,
            written: 0,
            boundary: 0,
            way: Way::default(),
        }
    }

    /// The frame that is appended next goes with these descriptors, over a stream that passes them. If
    /// the system passes no more when it is to be written, it is dropped.
    pub fn attach(&mut self, descriptors: Descriptors) {
        assert!(
            self.stream.passes_descriptors(),
            "only Unix-domain streams pass descriptors"
        );
        let at = self.position();
        self.way.attached.push_back((at, descriptors));
    }

    /// What is appended from now on is sent compressed, if it is.
    pub fn compress(&mut self, records: Option<Box<Records>>) {
        assert!(
            self.way.attached.is_empty(),
            "descriptors go with plain bytes"
        );
        let from = self.position();
        self.way.records = records.map(|records| (from, records));
    }

    /// Bytes that were appended so far, written or not: where in the stream the next frame stands.
    #[inline]
    pub fn position(&self) -> u64 {
        self.way.taken + self.unsent() as u64
    }

    /// Bytes that have not left, nor stand in records.
    #[inline]
    fn unsent(&self) -> usize {
        self.before_bytes + self.appended() - self.written
    }

    /// Where in the buffer the next bytes go.
    #[inline(always)]
    fn appended(&self) -> usize {
        self.buffer.len() - self.spare
    }

    /// How many frames were dropped because the system passed no more descriptors.
    pub fn unattached(&self) -> u64 {
        self.way.unattached
    }

    /// The buffer to append whole frames to; what stands in it is not to be touched.
    #[inline]
    pub fn out(&mut self) -> &mut Vec<u8> {
        if self.spare > 0 {
            self.buffer.truncate(self.appended());
            self.spare = 0;
        }
        &mut self.buffer
    }

    /// Appends a whole frame of so many bytes, which is to be written there now.
    #[inline(always)]
    pub fn room(&mut self, bytes: usize) -> &mut [u8] {
        if self.spare < bytes {
            self.make_spare(bytes);
        }
        let at = self.appended();
        self.spare -= bytes;
        &mut self.buffer[at..at + bytes]
    }

    /// For many a frame, since each of these bytes is written for nothing.
    #[cold]
    fn make_spare(&mut self, bytes: usize) {
        let appended = self.appended();
        self.spare = bytes.max(SPARE_BYTES);
        self.buffer.resize(appended + self.spare, 0);
    }

    /// Appends whole frames.
    #[inline]
    pub fn append(&mut self, frames: &[u8]) {
        let out = self.out();
        out.reserve(frames.len());
        for piece in frames.chunks(PIECE_BYTES) {
            out.extend_from_slice(piece);
        }
    }

    /// Appends bytes that other links send, too. Large ones are not copied.
    pub fn share(&mut self, bytes: &Arc<[u8]>) {
        let out = self.out();
        if bytes.len() < SHARED_BYTES {
            out.extend_from_slice(bytes);
            return;
        }
        let own = std::mem::take(out);
        for chunk in [Chunk::Own(own), Chunk::Shared(Arc::clone(bytes))] {
            self.before_bytes += chunk.bytes().len();
            self.before.push_back(chunk);
        }
    }

    /// Bytes that wait to be written.
    #[inline(always)]
    pub fn pending(&self) -> usize {
        let records = self.way.records.as_ref().map_or(0, |(_, r)| r.pending());
        self.unsent() + records
    }

    /// Writes as much as the system takes now. True if nothing is left.
    pub fn flush(&mut self) -> io::Result<bool> {
        if !self.before.is_empty() && !self.flush_before()? {
            return Ok(false);
        }
        let end = self.appended();
        while self.written < end {
            let waiting = &self.buffer[self.written..end];
            match self.way.take(&self.stream, waiting) {
                Ok(taken) => self.written += taken,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    self.forget_written();
                    return Ok(false);
                }
                Err(e) => return Err(e),
            }
        }
        self.forget_written();
        self.way.finish(&self.stream)
    }

    fn flush_before(&mut self) -> io::Result<bool> {
        while let Some(first) = self.before.front() {
            let bytes = first.bytes();
            while self.written < bytes.len() {
                match self.way.take(&self.stream, &bytes[self.written..]) {
                    Ok(taken) => self.written += taken,
                    Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(false),
                    Err(e) => return Err(e),
                }
            }
            self.before_bytes -= bytes.len();
            self.boundary = next_frame(bytes, self.boundary, bytes.len()) - bytes.len();
            self.written = 0;
            self.before.pop_front();
        }
        Ok(true)
    }

    /// Takes out whole frames, none of which begins behind the first `room` bytes; how many bytes they are.
    /// For a link that is a part of a stream.
    pub fn take_frames(&mut self, room: usize, take: impl FnOnce(&[u8])) -> usize {
        self.out();
        if !self.before.is_empty() {
            // A frame may stand in several of these.
            let mut all = Vec::with_capacity(self.pending());
            for chunk in self.before.drain(..) {
                all.extend_from_slice(&chunk.bytes()[std::mem::take(&mut self.written)..]);
            }
            all.extend_from_slice(&self.buffer);
            (self.buffer, self.before_bytes) = (all, 0);
        }
        let waiting = &self.buffer[self.written..];
        let mut end = 0;
        while end < waiting.len().min(room) {
            end = next_frame(waiting, end, end + 1).min(waiting.len());
        }
        take(&waiting[..end]);
        self.written += end;
        self.way.taken += end as u64;
        self.way.bytes += end as u64;
        self.boundary = self.written;
        self.forget_written();
        end
    }

    /// Drops what waits; for a link that has failed.
    pub fn discard(&mut self) {
        self.before.clear();
        self.before_bytes = 0;
        self.out().clear();
        self.written = 0;
        self.boundary = 0;
        self.way.attached.clear();
        if let Some((_, records)) = &mut self.way.records {
            records.discard();
        }
    }

    /// Drops all frames of which nothing has left yet.
    pub fn discard_unbegun(&mut self) {
        self.out();
        let first = self.before.front().map_or(&self.buffer[..], Chunk::bytes);
        let mut left = next_frame(first, self.boundary, self.written);
        let mut kept = 0;
        for chunk in &mut self.before {
            if left == 0 {
                break;
            }
            if chunk.bytes().len() > left {
                *chunk = Chunk::Own(chunk.bytes()[..left].to_vec());
            }
            left -= chunk.bytes().len();
            kept += 1;
        }
        self.before.truncate(kept);
        self.before_bytes = self.before.iter().map(|c| c.bytes().len()).sum();
        self.buffer.truncate(left);
        // Those of a frame that has begun have left with its first byte.
        self.way.attached.clear();
    }

    /// Bytes on the stream and write calls so far.
    pub fn counts(&self) -> (u64, u64) {
        (self.way.bytes, self.way.calls)
    }

    /// The stream.
    pub fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    fn forget_written(&mut self) {
        let appended = self.appended();
        if self.written == appended {
            // The bytes stay, to be written over.
            self.spare = self.buffer.len();
            self.written = 0;
            self.boundary = 0;
            if self.buffer.capacity() > KEPT_BYTES {
                (self.buffer, self.spare) = (Vec::new(), 0);
            }
        } else if self.written > appended / 2 {
            self.out();
            // At most one byte is moved for each that was written.
            self.boundary = next_frame(&self.buffer, self.boundary, self.written) - self.written;
            self.buffer.drain(..self.written);
            self.written = 0;
        }
    }
}

/// Writes some of `bytes`, before which `sent` were written: up to where a frame begins that goes with
/// descriptors, or from there on with them. Counts such a frame as written that had to be dropped.
#[inline]
fn send(
    stream: &Stream,
    bytes: &[u8],
    attached: &mut VecDeque<(u64, Descriptors)>,
    sent: u64,
    unattached: &mut u64,
) -> io::Result<usize> {
    match attached.front() {
        None => stream.send(bytes),
        Some((at, _)) if *at > sent => {
            let before = usize::try_from(at - sent).unwrap_or(usize::MAX);
            stream.send(&bytes[..before.min(bytes.len())])
        }
        Some((_, descriptors)) => {
            let frame = next_frame(bytes, 0, 1).min(bytes.len());
            let count = stream.send_with(&bytes[..frame], descriptors)?;
            attached.pop_front();
            *unattached += u64::from(count.is_none());
            Ok(count.unwrap_or(frame))
        }
    }
}

/// Where the first frame begins at `from` or behind it, if one begins at `boundary`: each begins with
/// the length of its rest. It may lie behind the end of `bytes`.
fn next_frame(bytes: &[u8], boundary: usize, from: usize) -> usize {
    let mut next = boundary;
    while next < from {
        let length = bytes.get(next..).and_then(|rest| rest.first_chunk::<4>());
        next = match length {
            Some(length) => next + 4 + u32::from_le_bytes(*length) as usize,
            // No frame is put in two pieces within its length.
            None => from.max(bytes.len()),
        };
    }
    next
}

/// Both halves, for one thread.
#[derive(Debug)]
pub struct Link {
    /// What comes in.
    pub reader: LinkReader,
    /// What goes out.
    pub writer: LinkWriter,
}

impl Link {
    /// A link over a stream.
    pub fn new(stream: Stream) -> Self {
        let stream = Arc::new(stream);
        Self {
            reader: LinkReader::new(stream.clone()),
            writer: LinkWriter::new(stream),
        }
    }

    /// A link that is a part of a stream: its owner gives it what comes, and takes what goes.
    pub fn part(of: &Arc<Stream>) -> Self {
        let mut reader = LinkReader::new(of.clone());
        reader.is_part = true;
        Self {
            reader,
            writer: LinkWriter::new(of.clone()),
        }
    }

    /// The halves, for a thread each.
    pub fn split(self) -> (LinkReader, LinkWriter) {
        (self.reader, self.writer)
    }

    /// The stream.
    pub fn stream(&self) -> &Stream {
        &self.reader.stream
    }
}

impl AsFd for Link {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.reader.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_bytes_leave_in_their_place_uncopied() {
        let (a, b) = Stream::pair().unwrap();
        let (mut sender, mut link) = (Link::new(a), Link::new(b));
        let large: Arc<[u8]> = vec![2; 40 * SHARED_BYTES].into();
        let small: Arc<[u8]> = vec![4; 3].into();
        let writer = &mut sender.writer;
        writer.out().push(1);
        writer.share(&large);
        writer.out().push(3);
        writer.share(&small);
        writer.share(&large);
        writer.out().push(5);
        assert_eq!(Arc::strong_count(&large), 3);
        let all = 6 + 2 * large.len();
        assert_eq!(writer.pending(), all);
        loop {
            let done = writer.flush().unwrap();
            while let Fill::Bytes(_) | Fill::More(_) = link.reader.fill().unwrap() {}
            assert_eq!(writer.pending() == 0, done);
            if done && link.reader.inbox().len() == all {
                break;
            }
        }
        assert_eq!(Arc::strong_count(&large), 1);
        let mut expected = vec![1];
        expected.extend_from_slice(&large);
        expected.extend([3, 4, 4, 4]);
        expected.extend_from_slice(&large);
        expected.push(5);
        assert!(link.reader.inbox() == expected, "in another order");
    }

    /// A frame of so many bytes behind its length.
    fn frame(length: usize, byte: u8) -> Vec<u8> {
        let mut frame = u32::try_from(length).unwrap().to_le_bytes().to_vec();
        frame.resize(4 + length, byte);
        frame
    }

    #[test]
    fn what_is_discarded_are_whole_frames() {
        // The frame with which the link stalls is small, large, or in several pieces.
        for (length, pieces) in [
            (1, 1),
            (700, 1),
            (3 * SHARED_BYTES, 1),
            (3 * SHARED_BYTES, 3),
        ] {
            let (a, b) = Stream::pair().unwrap();
            let (mut sender, mut link) = (Link::new(a), Link::new(b));
            let writer = &mut sender.writer;
            let one = frame(length, 1);
            let pieces: Vec<Arc<[u8]>> = one
                .chunks(one.len().div_ceil(pieces))
                .map(Arc::from)
                .collect();
            // Until nothing more leaves, though something was read in between.
            let mut read = 0;
            for round in 0..3 {
                while writer.flush().unwrap() {
                    for _ in 0..1000 {
                        pieces.iter().for_each(|piece| writer.share(piece));
                    }
                }
                if round < 2 {
                    for _ in 0..2 {
                        link.reader.fill().unwrap();
                    }
                    read = link.reader.inbox().len();
                }
            }
            assert!(read > 0 && writer.pending() > 0);
            writer.discard_unbegun();
            assert!(
                writer.pending() < one.len(),
                "{} of {length}",
                writer.pending()
            );
            writer.out().extend(frame(5, 2));
            loop {
                let done = writer.flush().unwrap();
                while let Fill::Bytes(_) | Fill::More(_) = link.reader.fill().unwrap() {}
                if done {
                    break;
                }
            }
            while link.reader.fill().unwrap() != Fill::Nothing {}
            let mut all = link.reader.inbox();
            while let Some(rest) = all.strip_prefix(&one[..]) {
                all = rest;
            }
            assert_eq!(all, frame(5, 2), "a part of a frame of {length}");
        }
    }

    #[test]
    fn a_part_of_a_stream_gives_whole_frames_and_keeps_what_it_is_fed() {
        let (a, _b) = Stream::pair().unwrap();
        let mut part = Link::part(&Arc::new(a));
        let large: Arc<[u8]> = vec![7; SHARED_BYTES].into();
        let length = u32::try_from(1 + large.len()).unwrap().to_le_bytes();
        let head = [&length[..], &[6]].concat();
        let all = [
            frame(3, 1),
            frame(3, 2),
            [&head[..], &large].concat(),
            frame(1, 3),
        ];
        let writer = &mut part.writer;
        writer.append(&all[0]);
        writer.append(&all[1]);
        writer.append(&head);
        writer.share(&large);
        writer.append(&all[3]);
        let mut taken = Vec::new();
        let mut take = |room| {
            let mut frames = Vec::new();
            let count = writer.take_frames(room, |bytes| frames.extend_from_slice(bytes));
            assert_eq!(count, frames.len());
            taken.extend_from_slice(&frames);
            count
        };
        assert_eq!(take(0), 0);
        assert_eq!(take(1), 7);
        assert_eq!(take(7), 7);
        assert_eq!(take(8), all[2].len());
        assert_eq!(take(100), 5);
        assert_eq!(take(100), 0);
        assert!(taken == all.concat(), "other frames, or in another order");
        assert_eq!(
            (writer.pending(), writer.position()),
            (0, taken.len() as u64)
        );

        let reader = &mut part.reader;
        for piece in taken.chunks(1000) {
            reader.feed(piece).unwrap();
            assert_eq!(reader.fill().unwrap(), Fill::Nothing);
        }
        reader.consume(14);
        reader.feed(&[9]).unwrap();
        assert!(
            reader.inbox() == [&taken[14..], &[9]].concat(),
            "something else"
        );
    }

    #[test]
    fn one_buffer_serves_many_links() {
        let (a, b) = Stream::pair().unwrap();
        let (mut sender, mut link) = (Link::new(a), Link::new(b));
        let mut send = |bytes: &[u8]| {
            sender.writer.out().extend_from_slice(bytes);
            assert!(sender.writer.flush().unwrap());
        };
        let reader = &mut link.reader;
        send(b"whole");
        assert_eq!(reader.fill().unwrap(), Fill::Bytes(5));
        reader.consume(5);
        let spare = &mut Vec::new();
        reader.give_back(spare);
        assert!(spare.len() >= READ_BYTES && reader.buffer.capacity() == 0);
        // A part stays, and is continued in whatever buffer is there.
        send(b"part ");
        reader.borrow(spare);
        assert_eq!((reader.fill().unwrap(), spare.len()), (Fill::Bytes(5), 0));
        reader.give_back(spare);
        assert_eq!(reader.inbox(), b"part ");
        assert!(reader.buffer.capacity() < 100);
        send(b"and the rest");
        reader.borrow(spare);
        assert_eq!(reader.fill().unwrap(), Fill::Bytes(12));
        assert_eq!(reader.inbox(), b"part and the rest");
        // What is large stays where it is.
        send(&[1; READ_BYTES]);
        while reader.fill().unwrap() != Fill::Nothing {}
        let spare = &mut vec![0; 4 * READ_BYTES];
        for _ in 0..2 {
            reader.give_back(spare);
            assert_eq!(reader.inbox().len(), 17 + READ_BYTES);
            reader.borrow(spare);
            assert_eq!(
                (reader.inbox().len(), spare.len()),
                (17 + READ_BYTES, 4 * READ_BYTES)
            );
        }
    }
}
