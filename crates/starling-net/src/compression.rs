//! Compressed links: behind the greeting a stream is a sequence of records, of which each carries the next piece
//! of what is sent, compressed if that makes it shorter (`docs/wire-format.md`, "Compressed links").
//!
//! Invariants: what is compressed is a whole frame of the LZ4 or Zstandard format, which other programs read, too; a
//! record holds at most [`RECORD_BYTES`], before and after; a reader never decompresses more at once than one
//! record brings beyond what a read brings without compression.

use crate::stream::Stream;
use lz4_flex::frame::{BlockMode, BlockSize, FrameDecoder, FrameEncoder, FrameInfo};
use starling_rid::{COMPRESS_LEVEL, COMPRESS_METHOD, Settings};
use std::fmt;
use std::io::{self, Read, Write};
use std::ops::Range;
use zstd::bulk::{Compressor, Decompressor};

/// A record holds no more.
pub const RECORD_BYTES: usize = 256 * 1024;
/// Length, and whether it is compressed.
const HEAD_BYTES: usize = 4;
const COMPRESSED: u32 = 1 << 31;
/// Less is not worth the time.
const LEAST_BYTES: usize = 64;
/// Flags and block size of the LZ4 frames that are sent, and taken: version 1, blocks of at most 256 KiB.
const LZ4_HEAD: [u8; 4] = [0x04, 0x22, 0x4d, 0x18];
const LZ4_BLOCK: u8 = 5 << 4;

/// How a link is compressed. What two ends want is the lesser of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Method {
    /// Not at all.
    #[default]
    Off,
    /// LZ4 frames.
    Lz4,
    /// Zstandard frames.
    Zstd,
}

impl Method {
    /// What both ends take, of what this one wants and the other has said in its greeting.
    pub fn agreed(self, other: u8) -> Self {
        let other = match other {
            0 => Method::Off,
            1 => Method::Lz4,
            // One that comes later can do this, too.
            _ => Method::Zstd,
        };
        self.min(other)
    }

    /// As it is said in a greeting.
    pub fn number(self) -> u8 {
        self as u8
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Method::Off => "off",
            Method::Lz4 => "lz4",
            Method::Zstd => "zstd",
        })
    }
}

/// What the settings say of compression.
#[derive(Clone, Copy, Debug, Default)]
pub struct Compression {
    /// What this end wants.
    pub method: Method,
    /// Of zstd.
    level: i32,
}

impl Compression {
    /// As the settings say.
    pub fn of(settings: &Settings) -> Self {
        let method = match settings.get(COMPRESS_METHOD).as_str() {
            "lz4" => Method::Lz4,
            "zstd" => Method::Zstd,
            _ => Method::Off,
        };
        let level = settings.get(COMPRESS_LEVEL).try_into().unwrap_or(1);
        Compression { method, level }
    }

    /// What this end wants over such a stream: the system copies within a host faster than anything compresses.
    pub fn over(self, stream: &Stream) -> Method {
        match stream {
            Stream::Tcp(_) => self.method,
            Stream::Unix(_) => Method::Off,
        }
    }

    /// What is sent with an agreed method; none if it is off.
    pub fn sender(self, method: Method) -> Option<Box<Records>> {
        let pack = match method {
            Method::Off => return None,
            Method::Lz4 => Pack::Lz4,
            // The level is in range, so only memory can be missing.
            Method::Zstd => Compressor::new(self.level).map_or(Pack::Lz4, Pack::Zstd),
        };
        Some(Box::new(Records {
            pack,
            wire: Vec::new(),
            left: 0,
            spare: Vec::new(),
        }))
    }
}

enum Pack {
    Lz4,
    Zstd(Compressor<'static>),
}

/// The sending end of a compressed link: pieces become records, which leave in their order.
pub struct Records {
    pack: Pack,
    /// Records, of which some bytes have left.
    wire: Vec<u8>,
    left: usize,
    spare: Vec<u8>,
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Records({} bytes wait)", self.pending())
    }
}

impl Records {
    /// How it compresses.
    pub fn method(&self) -> Method {
        match self.pack {
            Pack::Lz4 => Method::Lz4,
            Pack::Zstd(_) => Method::Zstd,
        }
    }

    /// Bytes of records that were begun and have not left.
    pub fn pending(&self) -> usize {
        self.wire.len() - self.left
    }

    /// Takes a piece of these bytes, if all that was taken before has left; how many bytes were taken, and how
    /// many left.
    pub fn write(&mut self, stream: &Stream, bytes: &[u8]) -> io::Result<(usize, usize)> {
        let (free, mut left) = self.finish(stream)?;
        let piece = &bytes[..if free {
            bytes.len().min(RECORD_BYTES)
        } else {
            0
        }];
        if !piece.is_empty() {
            self.put(piece);
            left += self.finish(stream)?.1;
        }
        Ok((piece.len(), left))
    }

    /// Writes what waits of records; whether that was all, and how many bytes left.
    pub fn finish(&mut self, stream: &Stream) -> io::Result<(bool, usize)> {
        let before = self.left;
        while self.left < self.wire.len() {
            match stream.write_some(&self.wire[self.left..])? {
                Some(sent) => self.left += sent,
                None => return Ok((false, self.left - before)),
            }
        }
        let left = self.left - before;
        self.wire.clear();
        self.left = 0;
        Ok((true, left))
    }

    /// Drops what waits; for a link that has failed.
    pub fn discard(&mut self) {
        self.wire.clear();
        self.left = 0;
    }

    fn put(&mut self, piece: &[u8]) {
        // An error is that it takes more room than it has uncompressed.
        let shorter = piece.len() >= LEAST_BYTES && self.pack(piece).is_ok();
        let (body, mark) = if shorter && self.spare.len() < piece.len() {
            (&self.spare[..], COMPRESSED)
        } else {
            (piece, 0)
        };
        let head = body.len() as u32 | mark;
        self.wire.extend_from_slice(&head.to_le_bytes());
        self.wire.extend_from_slice(body);
    }

    fn pack(&mut self, piece: &[u8]) -> io::Result<()> {
        self.spare.clear();
        match &mut self.pack {
            Pack::Lz4 => {
                let info = FrameInfo::new()
                    .block_size(BlockSize::Max256KB)
                    .block_mode(BlockMode::Independent);
                let mut encoder = FrameEncoder::with_frame_info(info, &mut self.spare);
                encoder.write_all(piece)?;
                encoder.finish().map_err(io::Error::other)?;
            }
            Pack::Zstd(compressor) => {
                self.spare.reserve(piece.len());
                compressor.compress_to_buffer(piece, &mut self.spare)?;
            }
        }
        Ok(())
    }
}

/// The receiving end of a compressed link.
pub struct Unpack {
    method: Method,
    zstd: Option<Decompressor<'static>>,
    /// What has come and is not unpacked yet begins here.
    raw: Vec<u8>,
    start: usize,
    /// Bytes of an uncompressed record that are still to come.
    plain: usize,
    spare: Vec<u8>,
}

impl fmt::Debug for Unpack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Unpack({})", self.method)
    }
}

fn broken(why: &str) -> io::Error {
    let why = format!("a compressed link carries {why}");
    io::Error::new(io::ErrorKind::InvalidData, why)
}

impl Unpack {
    /// For an agreed method; none if it is off.
    pub fn new(method: Method) -> io::Result<Option<Box<Self>>> {
        let zstd = match method {
            Method::Off => return Ok(None),
            Method::Lz4 => None,
            Method::Zstd => Some(Decompressor::new()?),
        };
        Ok(Some(Box::new(Unpack {
            method,
            zstd,
            raw: Vec::new(),
            start: 0,
            plain: 0,
            spare: Vec::new(),
        })))
    }

    /// Bytes as they came.
    pub fn came(&mut self, bytes: &[u8]) {
        if self.start == self.raw.len() {
            self.raw.clear();
            self.start = 0;
        } else if self.start > RECORD_BYTES {
            self.raw.drain(..self.start);
            self.start = 0;
        }
        self.raw.extend_from_slice(bytes);
    }

    /// The next piece of what was sent, if it has come.
    ///
    /// # Errors
    /// What has come is none of this format: too large, or not what it says.
    pub fn next_piece(&mut self) -> io::Result<Option<&[u8]>> {
        let waits = &self.raw[self.start..];
        if self.plain > 0 {
            let count = self.plain.min(waits.len());
            self.plain -= count;
            let from = self.start;
            self.start += count;
            return Ok((count > 0).then(|| &self.raw[from..from + count]));
        }
        let Some((head, rest)) = waits.split_first_chunk::<HEAD_BYTES>() else {
            return Ok(None);
        };
        let head = u32::from_le_bytes(*head);
        let length = (head & !COMPRESSED) as usize;
        if length == 0 || length > RECORD_BYTES {
            return Err(broken("a record of no length that it may have"));
        }
        if head & COMPRESSED == 0 {
            self.start += HEAD_BYTES;
            self.plain = length;
            return self.next_piece();
        }
        if rest.len() < length {
            return Ok(None);
        }
        let from = self.start + HEAD_BYTES;
        self.unpack(from..from + length)?;
        // Who asks again after an error finds the same record.
        self.start = from + length;
        Ok(Some(&self.spare))
    }

    /// Whether there may be a piece that has come.
    pub fn has_more(&self) -> bool {
        let waits = &self.raw[self.start..];
        let whole = |head: &[u8; HEAD_BYTES]| {
            let head = u32::from_le_bytes(*head);
            head & COMPRESSED == 0 || waits.len() - HEAD_BYTES >= (head & !COMPRESSED) as usize
        };
        let more = !waits.is_empty() && self.plain > 0;
        more || waits.first_chunk().is_some_and(whole)
    }

    fn unpack(&mut self, body: Range<usize>) -> io::Result<()> {
        let body = &self.raw[body];
        self.spare.clear();
        match &mut self.zstd {
            Some(zstd) => {
                self.spare.reserve(RECORD_BYTES);
                let unpacked = zstd.decompress_to_buffer(body, &mut self.spare);
                unpacked.map_err(|e| broken(&format!("what is no Zstandard frame: {e}")))?;
            }
            None => {
                // The head says how much memory is taken.
                let taken = body.starts_with(&LZ4_HEAD) && body.get(5) == Some(&LZ4_BLOCK);
                if !taken {
                    return Err(broken("what is no LZ4 frame, or one of larger blocks"));
                }
                let mut most = FrameDecoder::new(body).take(RECORD_BYTES as u64 + 1);
                let unpacked = most.read_to_end(&mut self.spare);
                unpacked.map_err(|e| broken(&format!("what is no LZ4 frame: {e}")))?;
                let behind = most.into_inner().into_inner();
                if self.spare.len() <= RECORD_BYTES && !behind.is_empty() {
                    return Err(broken("more than an LZ4 frame in a record"));
                }
            }
        }
        if self.spare.is_empty() || self.spare.len() > RECORD_BYTES {
            return Err(broken("a record that holds nothing, or more than it may"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fill, Link};
    use std::process::{Command, Stdio};

    const METHODS: [Method; 2] = [Method::Lz4, Method::Zstd];

    fn sender(method: Method) -> Records {
        let compression = Compression { method, level: 3 };
        *compression.sender(method).unwrap()
    }

    fn record(method: Method, piece: &[u8]) -> Vec<u8> {
        let mut records = sender(method);
        records.put(piece);
        records.wire
    }

    fn text(bytes: usize) -> Vec<u8> {
        let line = b"position 12.5 17.25 3.5 heading 90; ".iter().copied();
        line.cycle().take(bytes).collect()
    }

    fn noise(bytes: usize) -> Vec<u8> {
        (0..bytes).map(|_| fastrand::u8(..)).collect()
    }

    /// Whatever is sent, in whatever pieces it comes.
    #[test]
    fn what_is_sent_comes() {
        for method in METHODS {
            let (a, b) = Stream::pair().unwrap();
            let (mut ours, mut theirs) = (Link::new(a), Link::new(b));
            ours.writer.out().extend(b"greeting");
            ours.writer.compress(Some(Box::new(sender(method))));
            let (mut sent, mut came) = (b"greeting".to_vec(), Vec::new());
            let mut unpack = Unpack::new(method).unwrap();
            for round in 0..63 {
                let bytes = [1, 40, 63, 64, 3_000, 100_000, 700_000][round % 7];
                let piece = if round % 3 == 0 {
                    noise(bytes)
                } else {
                    text(bytes)
                };
                ours.writer.out().extend_from_slice(&piece);
                sent.extend_from_slice(&piece);
                assert_eq!(ours.writer.position(), sent.len() as u64);
                loop {
                    let done = ours.writer.flush().unwrap();
                    assert_eq!(done, ours.writer.pending() == 0);
                    while theirs.reader.fill().unwrap() != Fill::Nothing {
                        if came.len() < 8 {
                            came.extend_from_slice(&theirs.reader.inbox()[..8]);
                            theirs.reader.consume(8);
                            theirs.reader.decompress(unpack.take()).unwrap();
                        }
                        came.extend_from_slice(theirs.reader.inbox());
                        theirs.reader.consume(theirs.reader.inbox().len());
                    }
                    if done {
                        break;
                    }
                }
                assert!(came == sent, "{method}, round {round}");
            }
            assert_eq!(theirs.reader.position(), sent.len() as u64);
            let (left, _) = ours.writer.counts();
            assert!(left < sent.len() as u64 / 2, "{left} of {}", sent.len());
        }
    }

    #[test]
    fn what_does_not_shrink_takes_four_bytes_more() {
        for (method, bytes) in METHODS.into_iter().flat_map(|m| {
            let sizes = [1, 63, 64, 1400, 16_384, RECORD_BYTES];
            sizes.map(|bytes| (m, bytes))
        }) {
            let piece = noise(bytes);
            let wire = record(method, &piece);
            assert_eq!(wire.len(), bytes + HEAD_BYTES);
            assert_eq!(wire[HEAD_BYTES..], piece);
        }
    }

    /// The programs that everybody has read what was captured.
    #[test]
    fn other_programs_read_it() {
        for (method, program) in [(Method::Lz4, "lz4"), (Method::Zstd, "zstd")] {
            let piece = text(20_000);
            let wire = record(method, &piece);
            assert!(wire.len() < 2_000, "{}", wire.len());
            let child = Command::new(program)
                .args(["-d", "-c"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn();
            let mut child = match child {
                Ok(child) => child,
                Err(error) if std::env::var_os("CI").is_none_or(|v| v.is_empty()) => {
                    let _ = writeln!(io::stderr(), "left out: {program}: {error}");
                    continue;
                }
                Err(error) => panic!("CI is set, but {program} can't be run: {error}"),
            };
            let mut input = child.stdin.take().unwrap();
            input.write_all(&wire[HEAD_BYTES..]).unwrap();
            drop(input);
            let output = child.wait_with_output().unwrap();
            assert!(output.status.success());
            assert!(output.stdout == piece, "{program}");
        }
    }

    fn refused(method: Method, body: &[u8]) -> String {
        let mut unpack = Unpack::new(method).unwrap().unwrap();
        let head = body.len() as u32 | COMPRESSED;
        unpack.came(&[&head.to_le_bytes(), body].concat());
        unpack.next_piece().unwrap_err().to_string()
    }

    #[test]
    fn bombs_and_nonsense_are_refused() {
        let zeros = vec![0; 100 << 20];
        let bomb = zstd::bulk::compress(&zeros, 3).unwrap();
        let why = refused(Method::Zstd, &bomb);
        assert!(why.contains("no Zstandard frame"), "{why}");
        let zeros = &zeros[..RECORD_BYTES + 1];
        let info = |size| FrameInfo::new().block_size(size);
        for (size, why) in [
            (BlockSize::Max256KB, "more than it may"),
            (BlockSize::Max4MB, "of larger blocks"),
        ] {
            let mut encoder = FrameEncoder::with_frame_info(info(size), Vec::new());
            encoder.write_all(zeros).unwrap();
            let bomb = encoder.finish().unwrap();
            let told = refused(Method::Lz4, &bomb);
            assert!(told.contains(why), "{told}");
        }
        for method in METHODS {
            refused(method, b"nonsense");
            let wire = record(method, &text(1_000));
            for behind in [&b"x"[..], b"nonsense"] {
                let why = refused(method, &[&wire[HEAD_BYTES..], behind].concat());
                assert!(why.contains("frame"), "{why}");
            }
            let mut unpack = Unpack::new(method).unwrap().unwrap();
            unpack.came(&[0; 4]);
            assert!(unpack.next_piece().is_err());
            unpack.came(&(RECORD_BYTES as u32 + 1).to_le_bytes());
            assert!(unpack.next_piece().is_err());
        }
    }

    /// Whoever asks again after an error is not given what stands behind it.
    #[test]
    fn behind_what_is_refused_nothing_comes() {
        for method in METHODS {
            let (a, b) = Stream::pair().unwrap();
            let mut theirs = Link::new(b);
            let unpack = Unpack::new(method).unwrap();
            theirs.reader.decompress(unpack).unwrap();
            let good = record(method, &text(1_000));
            let head = 8 | COMPRESSED;
            let wire = [&good, &head.to_le_bytes()[..], b"nonsense", &good].concat();
            assert_eq!(a.write_some(&wire).unwrap(), Some(wire.len()));
            for _ in 0..3 {
                assert!(theirs.reader.fill().is_err());
                assert_eq!(theirs.reader.inbox(), text(1_000));
            }
        }
    }

    /// Of many small records that become large ones no more is unpacked at once than what is read otherwise.
    #[test]
    fn a_reader_takes_little_at_once() {
        let (a, b) = Stream::pair().unwrap();
        let mut theirs = Link::new(b);
        let unpack = Unpack::new(Method::Zstd).unwrap();
        theirs.reader.decompress(unpack).unwrap();
        let zeros = vec![0; RECORD_BYTES];
        let wire = record(Method::Zstd, &zeros).repeat(1000);
        assert!(wire.len() < 60_000, "{}", wire.len());
        assert_eq!(a.write_some(&wire).unwrap(), Some(wire.len()));
        let mut records = 0;
        loop {
            let filled = theirs.reader.fill().unwrap();
            let came = theirs.reader.inbox().len();
            assert!(came <= 2 * RECORD_BYTES, "{came}");
            theirs.reader.consume(came);
            records += came / RECORD_BYTES;
            if !matches!(filled, Fill::More(_)) {
                break;
            }
            assert!(theirs.reader.has_more() || records == 1000);
        }
        assert_eq!(records, 1000);
    }

    /// Who reads on while there may be more has all that was there: a full read is not forgotten over what it has
    /// brought to unpack. rtiexec is told of bytes once.
    #[test]
    fn a_reader_that_stops_where_there_is_no_more_has_all() {
        for method in METHODS {
            let (a, b) = Stream::pair().unwrap();
            let mut theirs = Link::new(b);
            let unpack = Unpack::new(method).unwrap();
            theirs.reader.decompress(unpack).unwrap();
            let piece = record(method, &text(16_384));
            let wire = piece.repeat(200_000 / piece.len());
            let sent = a.write_some(&wire).unwrap().expect("there is room");
            assert!(sent > 140_000, "more than a read brings: {sent}");
            while let Fill::More(_) = theirs.reader.fill().unwrap() {
                theirs.reader.consume(theirs.reader.inbox().len());
            }
            assert_eq!(theirs.reader.counts().0, sent as u64, "{method}");
        }
    }
}
