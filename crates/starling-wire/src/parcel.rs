//! Datagrams beside a trunk: best-effort data of federates behind a forwarder, in either direction. No I/O.
//!
//! A datagram is a head and parcels. A parcel has whole frames of data, once, and for each channel that they are for its
//! number and place there: how many messages of that channel were before, and how far its stream must have been read. So a
//! channel is what a session of a single federate is (`datagram`), whoever shares the datagrams with it; what [`Lane`]
//! knows of it at an end is all that there is to know, and a forwarder between two others hands on what it takes.
//!
//! Invariants, for each direction of a channel:
//! - each message that was to come by datagram, from wherever its numbers began, is taken, kept, or counted as lost once
//!   what was told of numbers has come; also those that were lost before this end's sender could send them;
//! - what is taken was sent after all that has been taken before, whichever of datagrams and stream it came by;
//! - nothing is taken before the part of the channel's stream is read that it was sent behind;
//! - what does not name the secret changes nothing.

use crate::codec::{Reader, WireError, bad, put_number};
use crate::datagram::{
    ASKS, DATAGRAM_BYTES_MAX, DatagramIn, HEARS, Row, Secret, StreamPosition, Told, count_frames,
};

/// The first byte, where those of a single federate have their version.
const FORMAT: u8 = 2;
/// Format, flags, secret.
const HEAD_BYTES: usize = 1 + 1 + 16;
/// So many channels are named by one parcel.
pub const PLACES_MAX: usize = 256;
/// What a channel, its number and its place take at most, and what is in a parcel beside these and frames.
const PLACE_BYTES_MAX: usize = 3 * 10;
const PARCEL_BYTES_MAX: usize = 4 + 2;

/// Where the next message of a channel stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The channel.
    pub channel: u64,
    /// Messages of it before this one.
    pub before: u64,
    /// Where its stream, in the same direction, must have been read to.
    pub behind: u64,
}

/// Parcels, in datagrams that are to leave together.
#[derive(Debug)]
pub struct ParcelsOut {
    row: Row,
    bytes_max: usize,
    /// Where the last parcel begins.
    last: usize,
    /// What a message has that goes on with it.
    next: Vec<Place>,
    /// Kept for its memory.
    places: Vec<u8>,
}

impl ParcelsOut {
    /// Recognized by this secret, with datagrams of at most `bytes_max` bytes where a message is no larger.
    pub fn new(secret: &Secret, bytes_max: usize) -> Self {
        let mut head = vec![FORMAT, 0];
        head.extend_from_slice(secret);
        ParcelsOut {
            row: Row::new(head),
            bytes_max: bytes_max.clamp(HEAD_BYTES, DATAGRAM_BYTES_MAX),
            last: 0,
            next: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Whether nothing waits to leave.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.row.pending() == 0
    }

    /// Whether so much waits that it is to leave before more is appended.
    #[inline]
    pub fn is_long(&self) -> bool {
        self.row.is_long()
    }

    /// Whether nothing is in the datagram that is being filled.
    fn is_new(&self) -> bool {
        self.row.last() == HEAD_BYTES
    }

    /// Whether a frame of these bytes fits into a datagram at all, whoever it is for.
    #[inline]
    pub fn takes(bytes: usize) -> bool {
        HEAD_BYTES + PARCEL_BYTES_MAX + PLACES_MAX * PLACE_BYTES_MAX + bytes <= DATAGRAM_BYTES_MAX
    }

    /// Appends a whole frame, which it [`takes`](Self::takes), for at most [`PLACES_MAX`] channels. False: there is no room
    /// beside what is in the datagram, which is to be ended before.
    #[must_use]
    pub fn put(&mut self, places: &[Place], frame: &[u8]) -> bool {
        debug_assert!(places.len() <= PLACES_MAX && Self::takes(frame.len()));
        let goes_on = !self.is_new() && self.next == places;
        self.places.clear();
        if !goes_on {
            self.places.extend_from_slice(&[0; 4]);
            put_number(&mut self.places, places.len() as u64);
            for place in places {
                put_number(&mut self.places, place.channel);
                put_number(&mut self.places, place.before);
                put_number(&mut self.places, place.behind);
            }
        }
        let bytes = self.places.len() + frame.len();
        if !self.is_new() && self.row.last() + bytes > self.bytes_max {
            return false;
        }
        let out = &mut self.row.bytes;
        if !goes_on {
            self.last = out.len();
            self.next.clear();
            self.next.extend_from_slice(places);
        }
        out.extend_from_slice(&self.places);
        out.extend_from_slice(frame);
        for place in &mut self.next {
            // As it is numbered: a forwarder may have said that all there can be are lost.
            place.before = place.before.saturating_add(1);
        }
        let length = u32::try_from(out.len() - self.last - 4).unwrap_or(u32::MAX);
        out[self.last..self.last + 4].copy_from_slice(&length.to_le_bytes());
        true
    }

    /// Ends the datagram that is being filled, as [`DatagramOut::datagram`](crate::DatagramOut::datagram).
    pub fn datagram(&mut self, hears: bool, asks: bool) -> &[u8] {
        let begin = self.row.begin;
        self.row.bytes[begin + 1] = HEARS * u8::from(hears) + ASKS * u8::from(asks);
        self.row.end()
    }

    /// The same if something is in it. Whether anything is to leave.
    pub fn complete(&mut self, hears: bool) -> bool {
        if !self.is_new() {
            self.datagram(hears, false);
        }
        !self.is_empty()
    }

    /// Those that are to leave, as [`DatagramOut::leaving`](crate::DatagramOut::leaving); then [`sent`](Self::sent) is to be
    /// called.
    pub fn leaving(&self) -> (&[u8], &[usize]) {
        self.row.leaving()
    }

    /// They have left, or are lost.
    pub fn sent(&mut self) {
        self.last -= self.row.begin.min(self.last);
        self.row.sent();
    }
}

/// What a datagram says besides its parcels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ParcelsHead {
    /// The trunk that it names.
    pub secret: Secret,
    /// Its sender has heard datagrams of this side.
    pub hears: bool,
    /// Its sender wants to hear whether it is heard.
    pub asks: bool,
}

/// The parcels of a datagram, one by one.
#[derive(Clone, Copy, Debug)]
pub struct Parcels<'a>(&'a [u8]);

/// Whole frames of best-effort data, and how many these are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parcel<'a> {
    /// The frames.
    pub frames: &'a [u8],
    /// How many.
    pub count: u64,
}

/// Head and parcels of what has come; none if it is no datagram of this format.
pub fn split_parcels(bytes: &[u8]) -> Option<(ParcelsHead, Parcels<'_>)> {
    let (head, parcels) = bytes.split_first_chunk::<HEAD_BYTES>()?;
    if head[0] != FORMAT || head[1] & !(HEARS | ASKS) != 0 {
        return None;
    }
    let head = ParcelsHead {
        secret: *head[2..].first_chunk()?,
        hears: head[1] & HEARS != 0,
        asks: head[1] & ASKS != 0,
    };
    Some((head, Parcels(parcels)))
}

impl<'a> Parcels<'a> {
    /// The next one, and in `places` whom it is for; none: there are no more.
    ///
    /// # Errors
    /// It is none, and nothing behind it is to be looked at.
    pub fn next(&mut self, places: &mut Vec<Place>) -> Result<Option<Parcel<'a>>, WireError> {
        places.clear();
        if self.0.is_empty() {
            return Ok(None);
        }
        let parts = self.0.split_first_chunk::<4>().and_then(|(length, rest)| {
            rest.split_at_checked(usize::try_from(u32::from_le_bytes(*length)).ok()?)
        });
        let Some((parcel, rest)) = parts else {
            return bad("a part of a parcel in a datagram");
        };
        self.0 = rest;
        let from = &mut Reader::new(parcel);
        let count = from.number()?;
        if count == 0 || count > PLACES_MAX as u64 {
            return bad(format!(
                "a parcel for {count} channels; 1 to {PLACES_MAX} are allowed"
            ));
        }
        for _ in 0..count {
            places.push(Place {
                channel: from.number()?,
                before: from.number()?,
                behind: from.number()?,
            });
        }
        let frames = from.0;
        match count_frames(frames) {
            Ok(0) => bad("a parcel without messages"),
            Ok(count) => Ok(Some(Parcel { frames, count })),
            Err(why) => bad(why),
        }
    }
}

/// What of a channel goes by datagrams beside its stream, at one of its ends, in both directions.
#[derive(Debug, Default)]
pub struct Lane {
    incoming: DatagramIn,
    /// Where in what comes on the stream the last message of best-effort data ended.
    streamed: u64,
    /// Lost messages that were asked for.
    counted: u64,
    /// Messages that were to go out by datagrams, with those that were lost before.
    numbered: u64,
    /// Where in what goes out on the stream that ends which these come behind.
    behind: u64,
    told: Told,
}

impl Lane {
    /// Where the next message stands, which is to be sent by datagram.
    pub fn next(&mut self, channel: u64) -> Place {
        let before = self.numbered;
        self.numbered = before.saturating_add(1);
        Place {
            channel,
            before,
            behind: self.behind,
        }
    }

    /// What is sent by datagram from now on is to be taken only behind what stands on the outgoing stream up to here.
    pub fn follow(&mut self, position: u64) {
        self.behind = self.behind.max(position);
    }

    /// So many messages that were to be sent are lost already.
    pub fn skip(&mut self, messages: u64) {
        self.numbered = self.numbered.saturating_add(messages);
    }

    /// To be called once in a while: up to which number messages had been sent at the call before, if the other end is to be
    /// told. What of these has not come then never will.
    pub fn tell(&mut self) -> Option<u64> {
        self.told.tell(self.numbered)
    }

    /// The other end has told that.
    pub fn sum_up(&mut self, sent: u64) {
        self.incoming.sum_up(sent);
    }

    /// A message of best-effort data has come on the stream, up to here.
    pub fn note_streamed(&mut self, position: u64) {
        self.streamed = position;
    }

    fn at(&self, read: u64) -> StreamPosition {
        StreamPosition {
            read,
            best_effort: self.streamed,
        }
    }

    /// Takes what has come in a parcel, the stream being read up to `read`. Whether its frames are to be handled now.
    pub fn take(&mut self, place: &Place, parcel: &Parcel<'_>, read: u64) -> bool {
        let at = self.at(read);
        let number = (place.before, place.behind);
        let taken = self
            .incoming
            .take(number, (parcel.frames, parcel.count), at);
        !taken.is_empty()
    }

    /// Whether something waits for the stream.
    #[inline]
    pub fn keeps(&self) -> bool {
        self.incoming.keeps()
    }

    /// The next frames that have waited for the stream, if it is read so far.
    pub fn next_kept(&mut self, read: u64) -> Option<Vec<u8>> {
        self.incoming.next_kept(self.at(read))
    }

    /// Messages that were taken and could not be handled.
    pub fn drop_messages(&mut self, count: u64) {
        self.incoming.drop_messages(count);
    }

    /// Messages that did not come, and never will.
    pub fn lost(&self) -> u64 {
        self.incoming.lost()
    }

    /// Those of them of which this has not said yet that they are lost.
    pub fn newly_lost(&mut self) -> u64 {
        let lost = self.incoming.lost();
        lost - std::mem::replace(&mut self.counted, lost)
    }
}
