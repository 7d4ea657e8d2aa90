//! Datagrams: best-effort data between a federate and rtiexec, beside their stream. No I/O.
//!
//! A datagram is a head and whole frames of data, or none: then it only shows that the way is open, and
//! up to which number all were sent. Numbers count messages, so that each that did not come is counted,
//! also where a datagram had many.
//!
//! Invariants, for each direction of a session:
//! - what is sent is what is taken, kept, or counted as lost, but for what is on its way, once a later datagram has come or
//!   the stream has told how much was sent;
//! - what is taken was sent after all that has been taken before, whichever of datagrams and stream it
//!   came by: what comes later than something newer is dropped;
//! - nothing is taken before the part of the stream is read that its head names;
//! - what does not name the session's secret changes nothing.

use crate::data::{DataFrame, read_data};
use crate::frame::split_frame;
use starling_core::Run;
use std::collections::VecDeque;

/// What a session is recognized by: drawn at random by rtiexec, for one membership.
pub type Secret = [u8; 16];

/// The first byte: the version of the format.
const VERSION: u8 = 1;
/// Version, flags, secret, number, place in the stream.
const HEAD_BYTES: usize = 1 + 1 + 16 + 8 + 8;
/// The sender has heard the receiver's datagrams in this session.
pub(crate) const HEARS: u8 = 1;
/// The sender wants to hear whether the receiver hears it.
pub(crate) const ASKS: u8 = 2;
/// The largest datagram: what UDP over IPv4 takes.
pub const DATAGRAM_BYTES_MAX: usize = 65_507;
/// What may wait for the stream, in bytes: what comes in 200 ms at 5 MB/s, as TCP sends a segment that was lost again
/// after that time at the earliest where nothing follows it.
pub(crate) const KEPT_BYTES_MAX: usize = 1024 * 1024;

/// So many bytes of datagrams wait to leave together, and what one message takes beyond that.
const LEAVING_BYTES: usize = 64 * 1024;

/// What the other end of a stream is told of how many messages were sent by datagrams, or were to be.
#[derive(Debug, Default)]
pub(crate) struct Told {
    /// How many there were when that was looked at last, and as the other end was told.
    seen: u64,
    told: u64,
}

impl Told {
    /// To be called once in a while, with how many there are: how many there were at the call before, if the other end is to
    /// be told. What of these has not come then never will.
    pub(crate) fn tell(&mut self, messages: u64) -> Option<u64> {
        let told = std::mem::replace(&mut self.told, self.seen);
        self.seen = messages;
        (self.told > told).then_some(self.told)
    }
}

/// Datagrams that are to leave together, one behind the other: those that are whole, and behind them the one that is
/// being filled, of which the head is there.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) bytes: Vec<u8>,
    /// Of those that are whole.
    lengths: Vec<usize>,
    /// Where the one that is being filled begins.
    pub(crate) begin: usize,
    head: usize,
}

impl Row {
    pub(crate) fn new(head: Vec<u8>) -> Self {
        Row {
            head: head.len(),
            bytes: head,
            lengths: Vec::new(),
            begin: 0,
        }
    }

    /// Bytes of the one that is being filled.
    #[inline]
    pub(crate) fn last(&self) -> usize {
        self.bytes.len() - self.begin
    }

    /// Bytes that wait; 0: nothing does.
    #[inline]
    pub(crate) fn pending(&self) -> usize {
        match self.last() {
            last if last == self.head => self.begin,
            last => self.begin + last,
        }
    }

    /// Whether so much waits that it is to leave.
    #[inline]
    pub(crate) fn is_long(&self) -> bool {
        self.begin >= LEAVING_BYTES
    }

    /// The one that is being filled is whole; it is returned, and the next one begins.
    pub(crate) fn end(&mut self) -> &[u8] {
        let (begin, end) = (self.begin, self.bytes.len());
        self.lengths.push(end - begin);
        self.bytes.extend_from_within(begin..begin + self.head);
        self.begin = end;
        &self.bytes[begin..end]
    }

    /// Those that are whole, and the length of each.
    pub(crate) fn leaving(&self) -> (&[u8], &[usize]) {
        (&self.bytes[..self.begin], &self.lengths)
    }

    /// They have left, or are lost.
    pub(crate) fn sent(&mut self) {
        self.bytes.drain(..self.begin);
        self.begin = 0;
        self.lengths.clear();
    }
}

/// The outgoing direction: bundles of messages, each of which is to leave in one datagram, and these together.
#[derive(Debug)]
pub struct DatagramOut {
    row: Row,
    bytes_max: usize,
    /// Messages in the datagram that is being filled.
    messages: u64,
    /// Messages in those before it.
    before: u64,
    /// Where the stream was when that was last to be read before what is sent here.
    behind: u64,
    told: Told,
}

impl DatagramOut {
    /// Of this session, for datagrams of at most `bytes_max` bytes where a message is no larger. The
    /// stream is at `position`.
    pub fn new(secret: &Secret, bytes_max: usize, position: u64) -> Self {
        let mut head = vec![VERSION, 0];
        head.extend_from_slice(secret);
        head.resize(HEAD_BYTES, 0);
        DatagramOut {
            row: Row::new(head),
            bytes_max: bytes_max.clamp(HEAD_BYTES, DATAGRAM_BYTES_MAX),
            messages: 0,
            before: 0,
            behind: position,
            told: Told::default(),
        }
    }

    /// What is appended from now on is to be taken only behind what stands on the stream up to here.
    /// The datagram that is being filled must be empty.
    pub fn follow(&mut self, position: u64) {
        debug_assert_eq!(
            self.messages, 0,
            "it was sent before that stood on the stream"
        );
        self.behind = position;
    }

    /// Where the stream must be read to before what is sent here is taken.
    pub fn behind(&self) -> u64 {
        self.behind
    }

    /// Whether nothing waits to leave.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.pending() == 0
    }

    /// Bytes that wait to leave; 0: nothing does.
    #[inline]
    pub fn pending(&self) -> usize {
        self.row.pending()
    }

    /// Whether so much waits that it is to leave before more is appended.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.row.is_long()
    }

    /// Whether a message of these bytes fits into a datagram at all.
    #[inline]
    pub fn takes(&self, bytes: usize) -> bool {
        HEAD_BYTES + bytes <= DATAGRAM_BYTES_MAX
    }

    /// Whether a message of these bytes fits into the datagram that is being filled, beside what is in it.
    #[inline]
    pub fn has_room(&self, bytes: usize) -> bool {
        self.messages == 0 || self.row.last() + bytes <= self.bytes_max
    }

    /// Appends a frame, for which there must be room.
    #[inline]
    pub fn put<V: Run>(&mut self, frame: &DataFrame<'_, V>) {
        frame.put_into(&mut self.row.bytes);
        self.messages += 1;
    }

    /// Appends a whole frame as it came, for which there must be room.
    #[inline]
    pub fn forward(&mut self, frame: &[u8]) {
        self.row.bytes.extend_from_slice(frame);
        self.messages += 1;
    }

    /// Appends as many of these whole frames, from the first on, as there is room for; their bytes.
    pub fn forward_run(&mut self, frames: &[u8]) -> usize {
        let (mut end, mut count) = (0, 0);
        while let Ok(Some((_, size))) = split_frame(&frames[end..]) {
            let fits = self.row.last() + end + size <= self.bytes_max;
            let is_alone = self.messages + count == 0 && self.takes(size);
            if !fits && !is_alone {
                break;
            }
            (end, count) = (end + size, count + 1);
        }
        self.row.bytes.extend_from_slice(&frames[..end]);
        self.messages += count;
        end
    }

    /// Messages in this one and all before.
    pub fn messages(&self) -> u64 {
        self.before + self.messages
    }

    /// To be called once in a while: how many there were at the call before, if the other end is to be told on the stream.
    pub fn tell(&mut self) -> Option<u64> {
        self.told.tell(self.messages())
    }

    /// Ends the datagram that is being filled, whatever is in it; the next one begins. It waits among those that are
    /// [`leaving`](Self::leaving), and is returned.
    pub fn datagram(&mut self, hears: bool, asks: bool) -> &[u8] {
        let head = &mut self.row.bytes[self.row.begin..];
        head[1] = HEARS * u8::from(hears) + ASKS * u8::from(asks);
        head[18..26].copy_from_slice(&self.before.to_le_bytes());
        head[26..34].copy_from_slice(&self.behind.to_le_bytes());
        self.before += std::mem::take(&mut self.messages);
        self.row.end()
    }

    /// The same if something is in it. Whether anything is to leave.
    pub fn complete(&mut self, hears: bool) -> bool {
        if self.messages > 0 {
            self.datagram(hears, false);
        }
        !self.is_empty()
    }

    /// Those that are to leave, one behind the other, and the length of each; then [`sent`](Self::sent) is to be called.
    pub fn leaving(&self) -> (&[u8], &[usize]) {
        self.row.leaving()
    }

    /// They have left, or are lost.
    pub fn sent(&mut self) {
        self.row.sent();
    }
}

/// What a datagram says besides its messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DatagramHead {
    /// The session that it names.
    pub secret: Secret,
    /// Its sender has heard datagrams of this side.
    pub hears: bool,
    /// Its sender wants to hear whether it is heard.
    pub asks: bool,
    before: u64,
    pub(crate) behind: u64,
}

/// Head and frames of what has come; none if it is no datagram of this format.
pub fn split_datagram(bytes: &[u8]) -> Option<(DatagramHead, &[u8])> {
    let (head, frames) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    let number = |at: usize| head[at..].first_chunk().map(|n| u64::from_le_bytes(*n));
    if head[0] != VERSION || head[1] & !(HEARS | ASKS) != 0 {
        return None;
    }
    let head = DatagramHead {
        secret: *head[2..].first_chunk()?,
        hears: head[1] & HEARS != 0,
        asks: head[1] & ASKS != 0,
        before: number(18)?,
        behind: number(26)?,
    };
    Some((head, frames))
}

/// How far a stream was read, in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamPosition {
    /// All that has been taken.
    pub read: u64,
    /// The end of the last message of best-effort data.
    pub best_effort: u64,
}

/// Where the stream must be, frames that wait for that, and how many these are.
type Kept = (u64, Vec<u8>, u64);

/// What one that is kept takes in memory, about.
fn held(frames: &[u8]) -> usize {
    size_of::<Kept>() + frames.len()
}

/// The incoming direction of a session.
#[derive(Debug, Default)]
pub struct DatagramIn {
    /// Messages that were sent, as far as that is known.
    sent: u64,
    lost: u64,
    /// What of datagrams waits for the stream.
    kept: VecDeque<Kept>,
    kept_bytes: usize,
}

impl DatagramIn {
    /// Of one that takes part from behind the first `sent` messages on.
    pub fn behind(sent: u64) -> Self {
        DatagramIn {
            sent,
            ..DatagramIn::default()
        }
    }

    /// So many messages were sent up to now: what has not come of them never will.
    pub fn sum_up(&mut self, sent: u64) {
        if sent > self.sent {
            self.drop_messages(sent - self.sent);
            self.sent = sent;
        }
    }

    /// So many messages were sent up to now, and no more, whatever came: what had shown more, somebody else has sent.
    pub(crate) fn correct(&mut self, sent: u64) {
        self.lost = self.lost.saturating_sub(self.sent.saturating_sub(sent));
        self.sent = self.sent.min(sent);
        self.sum_up(sent);
    }

    /// Messages that were sent and not taken, and never will be.
    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Takes what has come; the frames if they are to be handled now, and else nothing: they are kept,
    /// too late, or there are none.
    ///
    /// # Errors
    /// They are no frames of best-effort data, of which nothing is taken.
    pub fn receive<'a>(
        &mut self,
        (head, frames): (&DatagramHead, &'a [u8]),
        at: StreamPosition,
    ) -> Result<&'a [u8], &'static str> {
        let count = count_frames(frames)?;
        Ok(self.take((head.before, head.behind), (frames, count), at))
    }

    /// The same of what is known to be so many frames of best-effort data, with what a head says of them.
    pub(crate) fn take<'a>(
        &mut self,
        (before, behind): (u64, u64),
        (frames, count): (&'a [u8], u64),
        at: StreamPosition,
    ) -> &'a [u8] {
        // A copy, or overtaken by another: those that it has are counted as lost.
        if before < self.sent {
            return &[];
        }
        self.drop_messages(before - self.sent);
        self.sent = before.saturating_add(count);
        if behind < at.best_effort {
            self.drop_messages(count);
            return &[];
        }
        if behind <= at.read && self.kept.is_empty() {
            return frames;
        }
        if count > 0 {
            if self.kept_bytes + held(frames) > KEPT_BYTES_MAX {
                self.drop_messages(count);
                return &[];
            }
            self.kept_bytes += held(frames);
            self.kept.push_back((behind, frames.to_vec(), count));
        }
        &[]
    }

    /// Whether something waits for the stream.
    #[inline]
    pub fn keeps(&self) -> bool {
        !self.kept.is_empty()
    }

    /// The next frames that have waited for the stream, if it is there.
    pub fn next_kept(&mut self, at: StreamPosition) -> Option<Vec<u8>> {
        while self
            .kept
            .front()
            .is_some_and(|(behind, ..)| *behind <= at.read)
        {
            let (behind, frames, count) = self.kept.pop_front()?;
            self.kept_bytes -= held(&frames);
            if behind >= at.best_effort {
                return Some(frames);
            }
            self.drop_messages(count);
        }
        None
    }

    /// Messages of a datagram that were taken and could not be handled.
    pub fn drop_messages(&mut self, count: u64) {
        self.lost = self.lost.saturating_add(count);
    }
}

/// How many frames these are, all of them best-effort data.
pub(crate) fn count_frames(mut frames: &[u8]) -> Result<u64, &'static str> {
    let mut count = 0;
    while !frames.is_empty() {
        let Ok(Some((frame, size))) = split_frame(frames) else {
            return Err("a part of a message in a datagram");
        };
        match read_data(frame) {
            Some(Ok(data)) if data.is_best_effort() => {}
            _ => return Err("a datagram with what is no best-effort data"),
        }
        frames = &frames[size..];
        count += 1;
    }
    Ok(count)
}
