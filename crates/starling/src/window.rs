//! What a federate has put on a TCP link to another one and that one has not confirmed: a link that breaks has
//! lost an unknown part of it, so it is kept, and relayed then.
//!
//! Invariants: what stands in it are whole frames, in the order in which they were put; it is written from where
//! it stands, without a copy; positions count all bytes put so far, from the beginning of the link.

use starling_net::{Records, Stream};
use starling_wire::split_frame;
use std::collections::VecDeque;
use std::io;

/// A chunk that has as much takes no more frames.
const CHUNK_BYTES: usize = 64 * 1024;
/// A larger one is not kept to be used again.
const KEPT_BYTES: usize = 2 * CHUNK_BYTES;

#[derive(Default)]
pub(crate) struct Window {
    /// Whole frames each.
    chunks: VecDeque<Vec<u8>>,
    /// Where the first chunk begins.
    start: u64,
    confirmed: u64,
    /// Which chunk is written next, and from where on.
    cursor: (usize, usize),
    written: u64,
    end: u64,
    spare: Vec<u8>,
    /// What is written is compressed.
    records: Option<Box<Records>>,
}

impl Window {
    /// As it is sent compressed, if it is.
    pub(crate) fn sent_as(records: Option<Box<Records>>) -> Self {
        Window {
            records,
            ..Window::default()
        }
    }

    /// How it is sent compressed, for people; empty: it is not.
    pub(crate) fn compression(&self) -> String {
        let records = self.records.as_ref();
        records.map_or(String::new(), |r| r.method().to_string())
    }

    /// Where the next frame will stand.
    pub(crate) fn end(&self) -> u64 {
        self.end
    }

    /// Bytes that wait to be written.
    #[inline]
    pub(crate) fn pending(&self) -> usize {
        let records = self.records.as_ref().map_or(0, |r| r.pending());
        (self.end - self.written) as usize + records
    }

    /// Bytes that are kept, because they are not confirmed.
    #[inline]
    pub(crate) fn kept(&self) -> usize {
        (self.end - self.confirmed) as usize
    }

    /// Bytes that were written and are not confirmed.
    pub(crate) fn under_way(&self) -> usize {
        (self.written - self.confirmed) as usize
    }

    /// Up to where it is confirmed.
    #[cfg(test)]
    pub(crate) fn confirmed(&self) -> u64 {
        self.confirmed
    }

    /// Appends a whole frame.
    #[inline]
    pub(crate) fn put(&mut self, append: impl FnOnce(&mut Vec<u8>)) {
        if self.chunks.back().is_none_or(|c| c.len() >= CHUNK_BYTES) {
            let mut chunk = std::mem::take(&mut self.spare);
            if !self.chunks.is_empty() {
                // It will be full, too: it need not grow bit by bit.
                chunk.reserve(CHUNK_BYTES + CHUNK_BYTES / 4);
            }
            self.chunks.push_back(chunk);
        }
        if let Some(chunk) = self.chunks.back_mut() {
            let before = chunk.len();
            append(chunk);
            self.end += (chunk.len() - before) as u64;
        }
    }

    /// A frame that is not kept here: it was relayed, as was all before.
    pub(crate) fn skip(&mut self, bytes: usize) {
        self.end += bytes as u64;
        (self.start, self.confirmed, self.written) = (self.end, self.end, self.end);
    }

    /// Writes as much as the system takes; whether that was all.
    pub(crate) fn write(&mut self, stream: &Stream) -> io::Result<bool> {
        while let Some(chunk) = self.chunks.get(self.cursor.0) {
            let rest = &chunk[self.cursor.1..];
            if rest.is_empty() {
                if self.cursor.0 + 1 == self.chunks.len() {
                    break;
                }
                self.cursor = (self.cursor.0 + 1, 0);
                continue;
            }
            let taken = match &mut self.records {
                None => stream.write_some(rest)?.unwrap_or(0),
                Some(records) => records.write(stream, rest)?.0,
            };
            if taken == 0 {
                return Ok(false);
            }
            self.cursor.1 += taken;
            self.written += taken as u64;
        }
        match &mut self.records {
            None => Ok(true),
            Some(records) => Ok(records.finish(stream)?.0),
        }
    }

    /// The reader has all up to there; how much more that is.
    ///
    /// # Errors
    /// It can't have.
    pub(crate) fn confirm(&mut self, position: u64) -> Result<u64, &'static str> {
        if position < self.confirmed || position > self.written {
            return Err("it confirms what was not sent");
        }
        let more = position - self.confirmed;
        self.confirmed = position;
        loop {
            let last = self.chunks.len() == 1;
            let Some(first) = self.chunks.front_mut() else {
                break;
            };
            let end = self.start + first.len() as u64;
            if end > position {
                break;
            }
            self.start = end;
            if last {
                // Used again where it stands.
                if first.capacity() > KEPT_BYTES {
                    *first = Vec::new();
                }
                first.clear();
                self.cursor = (0, 0);
                break;
            }
            if let Some(mut chunk) = self.chunks.pop_front()
                && chunk.capacity() <= KEPT_BYTES
            {
                chunk.clear();
                self.spare = chunk;
            }
            // All of it was written.
            self.cursor = match self.cursor {
                (0, _) => (0, 0),
                (chunk, at) => (chunk - 1, at),
            };
        }
        Ok(more)
    }

    /// Gives away all that is not confirmed, in pieces of whole frames of about this size, each with its position.
    /// Nothing more is written.
    pub(crate) fn take_rest(&mut self, piece: usize, mut rest: impl FnMut(u64, &[u8])) {
        let mut at = self.confirmed;
        let mut from = (self.confirmed - self.start) as usize;
        for chunk in std::mem::take(&mut self.chunks) {
            // A reader that has confirmed a part of a frame is sent what it will not understand.
            let mut left = &chunk[from..];
            from = 0;
            while !left.is_empty() {
                let bytes = whole_frames(left, piece);
                rest(at, &left[..bytes]);
                at += bytes as u64;
                left = &left[bytes..];
            }
        }
        self.cursor = (0, 0);
        self.records = None;
        (self.start, self.confirmed, self.written) = (self.end, self.end, self.end);
    }
}

/// How many bytes the frames take that fit into `most`, or the first one.
fn whole_frames(bytes: &[u8], most: usize) -> usize {
    let mut all = 0;
    while let Ok(Some((_, used))) = split_frame(&bytes[all..]) {
        if all > 0 && all + used > most {
            break;
        }
        all += used;
    }
    if all == 0 { bytes.len() } else { all }
}

#[cfg(test)]
mod tests {
    use super::*;
    use starling_net::{Fill, Link};
    use starling_wire::put_heartbeat;

    /// A frame of so many bytes.
    fn frame(bytes: usize, with: u8) -> Vec<u8> {
        let mut frame = u32::try_from(bytes - 4).unwrap().to_le_bytes().to_vec();
        frame.resize(bytes, with);
        frame
    }

    /// Whatever was confirmed, what is confirmed and the rest are all that was put, in order.
    #[test]
    fn what_is_not_confirmed_is_kept() {
        let (ours, theirs) = Stream::pair().unwrap();
        let (mut reader, _) = Link::new(theirs).split();
        let mut window = Window::default();
        let (mut put, mut came) = (Vec::new(), Vec::new());
        for number in 0..4_000_u32 {
            let bytes = match number % 100 {
                0 => 100_000,
                n => 50 + 10 * n as usize,
            };
            let frame = frame(bytes, number as u8);
            put.extend_from_slice(&frame);
            window.put(|out| out.extend_from_slice(&frame));
            assert_eq!(window.end(), put.len() as u64);
            if number % 7 == 0 {
                window.write(&ours).unwrap();
            }
            if number % 13 == 0 {
                while let Fill::Bytes(_) | Fill::More(_) = reader.fill().unwrap() {
                    while let Some((_, used)) = split_frame(reader.inbox()).unwrap() {
                        came.extend_from_slice(&reader.inbox()[..used]);
                        reader.consume(used);
                    }
                }
                if number % 3 == 0 {
                    window.confirm(came.len() as u64).unwrap();
                    assert_eq!(window.confirmed(), came.len() as u64);
                }
            }
            assert_eq!(window.kept(), put.len() - window.confirmed() as usize);
            let kept = window.chunks.iter().map(Vec::len).sum::<usize>();
            assert!(
                kept < window.kept() + CHUNK_BYTES + 100_000,
                "no more is kept"
            );
        }
        assert!(window.confirmed() > 0 && window.pending() > 0);
        let confirmed = window.confirmed() as usize;
        let (mut at, mut rest) = (confirmed as u64, Vec::new());
        window.take_rest(5_000, |position, frames| {
            assert_eq!(position, at);
            at += frames.len() as u64;
            assert!(frames.len() <= 5_000 || frames.len() == 100_000);
            let whole = whole_frames(frames, usize::MAX);
            assert_eq!(whole, frames.len());
            rest.extend_from_slice(frames);
        });
        assert!(rest == put[confirmed..]);
        assert_eq!((window.kept(), window.pending()), (0, 0));
    }

    #[test]
    fn what_was_not_sent_is_not_confirmed() {
        let (ours, _theirs) = Stream::pair().unwrap();
        let mut window = Window::default();
        for _ in 0..2 {
            window.put(put_heartbeat);
        }
        assert!(window.confirm(1).is_err(), "not written yet");
        window.write(&ours).unwrap();
        assert!(window.confirm(11).is_err(), "more than there is");
        window.confirm(5).unwrap();
        assert!(window.confirm(4).is_err(), "less than before");
        window.confirm(10).unwrap();
        assert_eq!(window.kept(), 0);
        // Whatever it says, nothing is looked for where nothing is.
        window.put(put_heartbeat);
        window.write(&ours).unwrap();
        window.confirm(12).unwrap();
        let mut bytes = 0;
        window.take_rest(100, |_, frames| bytes += frames.len());
        assert_eq!(bytes, 3);
    }
}
