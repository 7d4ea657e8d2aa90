//! Data frames: updates, interactions and fences. Both ends spend most of their time here, so that a
//! frame is written as a whole, and read without a look at what else a frame may be.

use crate::codec::{Reader, Wire, WireError, bad, put_bytes};
use crate::messages::time::{TIME_BYTES, time_bytes, time_of};
use starling_core::message::{
    After, Data, DataBody, LogIndex, OwnedData, Payload, PlainData, PlainSent, RequestNumber,
    Stamp, TimedData,
};
use starling_core::{
    Address, Batch, FederateHandle, InteractionClassHandle, ObjectInstanceHandle, Put, Run,
    Transportation, Values,
};
use std::borrow::BorrowMut;

const UPDATE: u8 = 16;
const INTERACTION: u8 = 17;
const FENCE: u8 = 18;
/// Added to UPDATE and INTERACTION: declared best effort.
const BEST_EFFORT: u8 = 8;
/// Added to UPDATE and INTERACTION: sent with regions, to the receivers that it names.
const ADDRESSED: u8 = 32;
/// Added to UPDATE and INTERACTION: it was given a time stamp.
const STAMPED: u8 = 64;

/// The data frame that `split_frame` gave; none if it is a frame of another kind, or of none.
#[inline]
pub fn read_data(frame: &[u8]) -> Option<Result<Data<'_>, WireError>> {
    match read_usual(frame) {
        Some(data) => Some(Ok(data)),
        None => read_closely(frame),
    }
}

/// An update or interaction without receivers' names, of which only the values need be looked at one by
/// one, as most are. None: it is something else, or something is wrong.
#[inline(always)]
fn read_usual(frame: &[u8]) -> Option<Data<'_>> {
    let (kind, mut body) = frame.split_first()?;
    let from = &mut body;
    let transportation = match kind & BEST_EFFORT {
        0 => Transportation::Reliable,
        _ => Transportation::BestEffort,
    };
    let is_update = match kind & !(BEST_EFFORT | STAMPED) {
        UPDATE => true,
        INTERACTION => false,
        _ => return None,
    };
    let sender = FederateHandle(short_number(from)?);
    let after = After {
        requests: RequestNumber(usual_number(from)?),
        index: LogIndex(usual_number(from)?),
    };
    let (first, second) = if is_update {
        (short_number(from)?, short_number(from)?)
    } else {
        (short_number(from)?, 0)
    };
    let stamp = match kind & STAMPED {
        0 => None,
        _ => Some(usual_stamp(from)?),
    };
    let tag = usize::try_from(usual_number(from)?).ok()?;
    let (tag, values) = from.split_at_checked(tag)?;
    let payload = Payload {
        transportation,
        values: Values::parse(values).ok()?,
        tag,
        address: None,
        stamp,
    };
    let body = if is_update {
        DataBody::Update {
            instance: ObjectInstanceHandle::new(FederateHandle(first), second),
            payload,
        }
    } else {
        DataBody::Interaction {
            class: InteractionClassHandle::from_raw(first),
            payload,
        }
    };
    Some(Data {
        sender,
        after,
        body,
    })
}

#[inline(always)]
fn usual_stamp(from: &mut &[u8]) -> Option<Stamp> {
    let (time, rest) = from.split_first_chunk::<TIME_BYTES>()?;
    *from = rest;
    let time = time_of(time)?;
    let number = usual_number(from)?;
    Some(Stamp {
        time,
        retraction: (number > 0).then_some(number),
    })
}

#[inline(always)]
fn short_number(from: &mut &[u8]) -> Option<u32> {
    u32::try_from(usual_number(from)?).ok()
}

/// A number, if nothing is wrong with it.
#[inline(always)]
fn usual_number(from: &mut &[u8]) -> Option<u64> {
    // By value: what is pointed to by others has to stand in memory.
    let (number, rest) = match *from {
        [] => return None,
        [byte, rest @ ..] if *byte < 0x80 => (u64::from(*byte), rest),
        // Of a message's number, which every one in time-stamp order has, two or three bytes. Longer ones alone take
        // a call, which what has been read by then would have to outlive.
        [low, high, rest @ ..] if *high < 0x80 => (low_bits(*low) | u64::from(*high) << 7, rest),
        [low, middle, high, rest @ ..] if *high < 0x80 => {
            let number = low_bits(*low) | low_bits(*middle) << 7 | u64::from(*high) << 14;
            (number, rest)
        }
        _ => long_number(from)?,
    };
    *from = rest;
    Some(number)
}

#[inline(always)]
fn low_bits(byte: u8) -> u64 {
    u64::from(byte & 0x7f)
}

#[cold]
fn long_number(from: &[u8]) -> Option<(u64, &[u8])> {
    let mut reader = Reader::new(from);
    let number = reader.long_number().ok()?;
    Some((number, reader.0))
}

/// How an update or interaction begins: its kind, which has `STAMP`, its sender, and what it comes after. The next one mostly
/// begins so, too, and then none of this is read anew.
pub struct Begin<const STAMP: u8> {
    /// The bytes, as far as `mask` has ones; a number that no frame begins with where they are more than fit here.
    bytes: u64,
    mask: u64,
    length: usize,
    is_update: bool,
    transportation: Transportation,
    sender: FederateHandle,
    after: After,
}

/// That of one without time.
pub type PlainBegin = Begin<0>;
/// That of one with a time stamp.
pub type TimedBegin = Begin<STAMPED>;

impl<const STAMP: u8> Default for Begin<STAMP> {
    /// Of none.
    fn default() -> Self {
        Begin {
            bytes: 1,
            mask: 0,
            length: 0,
            is_update: false,
            transportation: Transportation::Reliable,
            sender: FederateHandle(0),
            after: After::default(),
        }
    }
}

impl<const STAMP: u8> Begin<STAMP> {
    /// Becomes that of this frame. Returns what stands behind it.
    #[inline(always)]
    fn read<'a>(&mut self, frame: &'a [u8]) -> Option<&'a [u8]> {
        match frame.first_chunk() {
            Some(first) if u64::from_le_bytes(*first) & self.mask == self.bytes => {}
            _ => self.read_anew(frame)?,
        }
        frame.get(self.length..)
    }

    #[inline(never)]
    fn read_anew(&mut self, frame: &[u8]) -> Option<()> {
        let (kind, mut rest) = frame.split_first()?;
        let from = &mut rest;
        let is_update = match (kind & !BEST_EFFORT) ^ STAMP {
            UPDATE => true,
            INTERACTION => false,
            _ => return None,
        };
        let transportation = match kind & BEST_EFFORT {
            0 => Transportation::Reliable,
            _ => Transportation::BestEffort,
        };
        let sender = FederateHandle(short_number(from)?);
        let after = After {
            requests: RequestNumber(usual_number(from)?),
            index: LogIndex(usual_number(from)?),
        };
        let length = frame.len() - rest.len();
        let none = Self::default();
        let (bytes, mask) = match frame.first_chunk() {
            Some(first) if length <= size_of::<u64>() => {
                let mask = u64::MAX >> (u64::BITS as usize - 8 * length);
                (u64::from_le_bytes(*first) & mask, mask)
            }
            _ => (none.bytes, none.mask),
        };
        *self = Begin {
            bytes,
            mask,
            length,
            is_update,
            transportation,
            sender,
            after,
        };
        Some(())
    }
}

/// The update or interaction as most are with which a buffer begins, and the bytes that it takes there. None:
/// what is there is incomplete, or something else, for [`read_data`], or something is wrong with it. `begin`: that of one
/// before that was read so, or of none.
#[inline(always)]
pub fn read_plain<'a>(begin: &mut PlainBegin, buffer: &'a [u8]) -> Option<(PlainData<'a>, usize)> {
    let (data, _, bytes) = read_flat(begin, buffer)?;
    Some((data, bytes))
}

/// The same of one in time-stamp order.
#[inline(always)]
pub fn read_timed<'a>(begin: &mut TimedBegin, buffer: &'a [u8]) -> Option<(TimedData<'a>, usize)> {
    let (plain, stamp, bytes) = read_flat(begin, buffer)?;
    Some((TimedData::new(plain, stamp?)?, bytes))
}

#[inline(always)]
fn read_flat<'a, const STAMP: u8>(
    begin: &mut Begin<STAMP>,
    buffer: &'a [u8],
) -> Option<(PlainData<'a>, Option<Stamp>, usize)> {
    let (length, rest) = buffer.split_first_chunk::<4>()?;
    let length = u32::from_le_bytes(*length) as usize;
    let mut body = begin.read(rest.get(..length)?)?;
    let from = &mut body;
    let mut what = u64::from(short_number(from)?);
    if begin.is_update {
        what = what << 32 | u64::from(short_number(from)?);
    }
    let stamp = match STAMP {
        0 => None,
        _ => Some(usual_stamp(from)?),
    };
    let tag = usize::try_from(usual_number(from)?).ok()?;
    let (tag, values) = from.split_at_checked(tag)?;
    let data = PlainData {
        sender: begin.sender,
        after: begin.after,
        is_update: begin.is_update,
        what,
        transportation: begin.transportation,
        tag,
        values: Values::parse(values).ok()?,
    };
    Some((data, stamp, 4 + length))
}

/// A data frame of any kind, or what is wrong with it.
#[inline(never)]
fn read_closely(frame: &[u8]) -> Option<Result<Data<'_>, WireError>> {
    let (kind, body) = frame.split_first()?;
    match kind & !(BEST_EFFORT | ADDRESSED | STAMPED) {
        UPDATE | INTERACTION => Some(read(*kind, Reader::new(body))),
        _ if *kind == FENCE => Some(read(*kind, Reader::new(body))),
        _ => None,
    }
}

/// The updates and interactions with which a buffer begins, each with the bytes that it takes there:
/// until one is incomplete, is of more than `most` bytes, names receivers, is best effort where those are
/// left out, or something is wrong with it.
pub struct PlainFrames<'a> {
    rest: &'a [u8],
    most: usize,
    best_effort: bool,
}

impl<'a> PlainFrames<'a> {
    /// Those of this buffer.
    pub fn new(buffer: &'a [u8], most: usize) -> Self {
        let rest = buffer;
        PlainFrames {
            rest,
            most,
            best_effort: true,
        }
    }

    /// Without best-effort data.
    pub fn reliable(mut self) -> Self {
        self.best_effort = false;
        self
    }

    #[inline(always)]
    fn admits(&self, kind: u8) -> bool {
        let more = if self.best_effort { BEST_EFFORT } else { 0 };
        matches!(kind & !(STAMPED | more), UPDATE | INTERACTION)
    }

    /// Whether there are none, at first sight: of others this is so.
    #[inline]
    pub fn is_none(&self) -> bool {
        !self.rest.get(4).is_some_and(|kind| self.admits(*kind))
    }
}

impl<'a> Iterator for PlainFrames<'a> {
    type Item = (Data<'a>, usize);

    #[inline(always)]
    fn next(&mut self) -> Option<(Data<'a>, usize)> {
        let (length, rest) = self.rest.split_first_chunk::<4>()?;
        let length = u32::from_le_bytes(*length) as usize;
        let (frame, rest) = rest.split_at_checked(length)?;
        let admitted = length <= self.most && self.admits(*frame.first()?);
        let data = read_usual(frame).filter(|_| admitted)?;
        self.rest = rest;
        Some((data, 4 + length))
    }
}

/// How many bytes the whole updates and interactions take with which `buffer` begins: as many as fit into
/// `most`, or into a small batch if any of them was given a time stamp.
#[inline]
pub fn run_of_data(buffer: &[u8], mut most: usize) -> usize {
    let mut rest = buffer;
    while let Some((length, frame)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes(*length) as usize;
        let kind = frame.first().copied().unwrap_or_default();
        if kind & STAMPED != 0 {
            most = most.min(Batch::SMALL_BYTES);
        }
        let is_data = matches!(
            kind & !(BEST_EFFORT | ADDRESSED | STAMPED),
            UPDATE | INTERACTION
        );
        let Some(behind) = frame.get(length..) else {
            break;
        };
        if !is_data || buffer.len() - behind.len() > most {
            break;
        }
        rest = behind;
    }
    buffer.len() - rest.len()
}

/// Of a frame that begins so, behind its length: whether it is declared best effort; none if it is no update or
/// interaction.
#[inline]
pub fn data_kind(begin: &[u8]) -> Option<bool> {
    let kind = begin.first()?;
    let is_data = matches!(
        kind & !(BEST_EFFORT | ADDRESSED | STAMPED),
        UPDATE | INTERACTION
    );
    is_data.then_some(kind & BEST_EFFORT != 0)
}

#[inline]
fn read(kind: u8, mut from: Reader<'_>) -> Result<Data<'_>, WireError> {
    let from = &mut from;
    let sender = FederateHandle(u32::get(from)?);
    let after = After {
        requests: RequestNumber(from.number()?),
        index: LogIndex(from.number()?),
    };
    let body = match kind & !(BEST_EFFORT | ADDRESSED | STAMPED) {
        UPDATE => DataBody::Update {
            instance: ObjectInstanceHandle::get(from)?,
            payload: payload(kind, from)?,
        },
        INTERACTION => DataBody::Interaction {
            class: InteractionClassHandle::get(from)?,
            payload: payload(kind, from)?,
        },
        _ => {
            let request = RequestNumber(from.number()?);
            from.end()?;
            DataBody::Fence { request }
        }
    };
    Ok(Data {
        sender,
        after,
        body,
    })
}

/// What updates and interactions have in common: the rest of the frame.
#[inline]
fn payload<'a>(kind: u8, from: &mut Reader<'a>) -> Result<Payload<'a>, WireError> {
    let transportation = match kind & BEST_EFFORT {
        0 => Transportation::Reliable,
        _ => Transportation::BestEffort,
    };
    let (address, stamp) = match kind & (ADDRESSED | STAMPED) {
        0 => (None, None),
        _ => {
            let address = (kind & ADDRESSED != 0).then(|| address(from)).transpose()?;
            let stamp = (kind & STAMPED != 0).then(|| Wire::get(from)).transpose()?;
            (address, stamp)
        }
    };
    let tag = from.bytes()?;
    let Ok(values) = Values::parse(from.0) else {
        return bad("values run over the end of their frame");
    };
    Ok(Payload {
        transportation,
        values,
        tag,
        address,
        stamp,
    })
}

fn address<'a>(from: &mut Reader<'a>) -> Result<Address<'a>, WireError> {
    let address = Address::parse(from.bytes()?);
    address.or_else(|_| bad("receivers and regions of a frame are not well-formed"))
}

/// Appends a data frame.
#[inline(always)]
pub fn put_data<'a>(out: &mut Vec<u8>, data: &impl Framed<'a>) {
    let frame = DataFrame::new(data);
    out.reserve(frame.bytes());
    frame.put_into(out);
}

/// What becomes a data frame.
pub trait Framed<'a>: Copy {
    /// Its values.
    type Values: Run;

    /// The frame, with a head that may have been another's, best of the same sender.
    fn frame<H: BorrowMut<Head>>(&self, head: H) -> DataFrame<'a, Self::Values, H>;

    /// Whether it may go by a datagram: it was sent best effort and in receive order.
    fn is_best_effort(&self) -> bool;

    /// Whether it is a fence.
    fn is_fence(&self) -> bool;
}

impl<'a, V: Run> Framed<'a> for Data<'a, V> {
    type Values = V;

    #[inline(always)]
    fn frame<H: BorrowMut<Head>>(&self, mut head: H) -> DataFrame<'a, V, H> {
        let mut rest = Rest {
            at: 0,
            address: &[],
            tag: &[],
            values: None,
        };
        let numbers: &mut Head = head.borrow_mut();
        numbers.begin(self.sender, self.after);
        let kind = match &self.body {
            DataBody::Update { instance, payload } => {
                numbers.name(UPDATE, instance.0);
                rest.take_payload(numbers, UPDATE, payload)
            }
            DataBody::Interaction { class, payload } => {
                numbers.name(INTERACTION, class.raw().into());
                rest.take_payload(numbers, INTERACTION, payload)
            }
            DataBody::Fence { request } => {
                numbers.name(FENCE, request.0);
                FENCE
            }
        };
        DataFrame::of(head, kind, rest)
    }

    fn is_best_effort(&self) -> bool {
        Data::is_best_effort(self)
    }

    fn is_fence(&self) -> bool {
        matches!(self.body, DataBody::Fence { .. })
    }
}

impl<'a, V: Run> Framed<'a> for PlainSent<'a, V> {
    type Values = V;

    #[inline(always)]
    fn frame<H: BorrowMut<Head>>(&self, mut head: H) -> DataFrame<'a, V, H> {
        let PlainSent { plain, stamp } = self;
        let numbers: &mut Head = head.borrow_mut();
        numbers.begin(plain.sender, plain.after);
        let mut kind = if plain.is_update { UPDATE } else { INTERACTION };
        numbers.name(kind, plain.what);
        if plain.transportation == Transportation::BestEffort {
            kind += BEST_EFFORT;
        }
        if let Some(stamp) = stamp {
            kind += STAMPED;
            numbers.stamp(*stamp);
        }
        numbers.number(plain.tag.len() as u64);
        let rest = Rest {
            at: 0,
            address: &[],
            tag: plain.tag,
            values: Some(plain.values),
        };
        DataFrame::of(head, kind, rest)
    }

    #[inline(always)]
    fn is_best_effort(&self) -> bool {
        self.plain.transportation == Transportation::BestEffort && !self.is_in_time_order()
    }

    #[inline(always)]
    fn is_fence(&self) -> bool {
        false
    }
}

/// A data frame whose length is known and that is written where there is room for it: nothing of it
/// is copied twice.
pub struct DataFrame<'a, V, H = Head> {
    head: H,
    /// Where in the head the address belongs, which is empty if there is none.
    at: usize,
    address: &'a [u8],
    tag: &'a [u8],
    values: Option<V>,
    bytes: usize,
}

impl<'a, V: Run> DataFrame<'a, V> {
    /// The frame of this.
    pub fn new(data: &impl Framed<'a, Values = V>) -> Self {
        data.frame(Head::default())
    }
}

impl<'a, V: Run, H: BorrowMut<Head>> DataFrame<'a, V, H> {
    /// Of this kind, with all numbers in its head.
    #[inline(always)]
    fn of(mut head: H, kind: u8, rest: Rest<'a, V>) -> Self {
        let Rest {
            at,
            address,
            tag,
            values,
        } = rest;
        let numbers: &mut Head = head.borrow_mut();
        let run = values.as_ref().map_or(0, |values| values.bytes());
        let bytes = numbers.used + address.len() + tag.len() + run;
        let length = u32::try_from(bytes - 4).unwrap_or(u32::MAX);
        numbers.bytes[..4].copy_from_slice(&length.to_le_bytes());
        numbers.bytes[4] = kind;
        DataFrame {
            head,
            at,
            address,
            tag,
            values,
            bytes,
        }
    }

    /// How many bytes it takes.
    #[inline]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Writes it.
    #[inline(always)]
    pub fn put_into(&self, out: &mut impl Put) {
        let head: &Head = self.head.borrow();
        if self.address.is_empty() {
            out.put_few(&head.bytes, head.used);
        } else {
            out.put(&head.bytes[..self.at]);
            out.put(self.address);
            out.put(&head.bytes[self.at..head.used]);
        }
        if !self.tag.is_empty() {
            out.put(self.tag);
        }
        if let Some(values) = &self.values {
            values.put_into(out);
        }
    }
}

/// What of a frame does not stand in its head.
struct Rest<'a, V> {
    at: usize,
    address: &'a [u8],
    tag: &'a [u8],
    values: Option<V>,
}

impl<'a, V: Run> Rest<'a, V> {
    /// Returns the kind of the frame.
    #[inline(always)]
    fn take_payload(&mut self, head: &mut Head, mut kind: u8, payload: &Payload<'a, V>) -> u8 {
        if payload.transportation == Transportation::BestEffort {
            kind += BEST_EFFORT;
        }
        if let Some(address) = payload.address {
            kind += ADDRESSED;
            self.address = address.as_bytes();
            head.number(self.address.len() as u64);
            self.at = head.used;
        }
        if let Some(stamp) = payload.stamp {
            kind += STAMPED;
            head.stamp(stamp);
        }
        head.number(payload.tag.len() as u64);
        self.tag = payload.tag;
        self.values = Some(payload.values);
        kind
    }
}

/// Length, then what stands in the frame.
impl Wire for OwnedData {
    fn put(&self, out: &mut Vec<u8>) {
        let mut frame = Vec::new();
        put_data(&mut frame, &self.borrow());
        put_bytes(out, &frame[4..]);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        match read_data(from.bytes()?) {
            Some(data) => Ok(data?.to_owned()),
            None => bad("no data frame where one is kept"),
        }
    }
}

/// The numbers with which a frame begins, behind four bytes for its length and one for its kind. The first of
/// them are those of the frame before as long as its sender has neither made a request nor applied anything, and
/// so are the next if it is of the same instance, or interaction class.
pub struct Head {
    bytes: [u8; Head::BYTES],
    /// Of whom and after what the first numbers are, and where they end.
    of: (FederateHandle, After),
    begun: usize,
    /// Of what the next ones are, by the kind of the frame, and where they end. 0: there are none.
    named: (u8, u64),
    named_to: usize,
    used: usize,
}

impl Default for Head {
    /// Of nobody, after nothing: three zeros.
    #[inline(always)]
    fn default() -> Self {
        Head {
            bytes: [0; Head::BYTES],
            of: (FederateHandle(0), After::default()),
            begun: 8,
            named: (0, 0),
            named_to: 8,
            used: 8,
        }
    }
}

impl Head {
    /// A power of two, and room for eight numbers of at most 10 bytes (sender, two of `after`, two of the instance,
    /// length of the address, that of the stamp, length of the tag), and for the time of the stamp.
    const BYTES: usize = 128;

    #[inline(always)]
    fn begin(&mut self, sender: FederateHandle, after: After) {
        if self.of != (sender, after) {
            self.begin_anew(sender, after);
        }
    }

    /// Behind what it [begins](Self::begin) with: the instance, class or request that the frame is of.
    #[inline(always)]
    fn name(&mut self, kind: u8, what: u64) {
        if self.named != (kind, what) {
            self.name_anew(kind, what);
        }
        self.used = self.named_to;
    }

    #[inline(never)]
    fn name_anew(&mut self, kind: u8, what: u64) {
        self.used = self.begun;
        if kind == UPDATE {
            let instance = ObjectInstanceHandle(what);
            self.number(instance.block().into());
            self.number(instance.number().into());
        } else {
            self.number(what);
        }
        self.named = (kind, what);
        self.named_to = self.used;
    }

    #[cold]
    fn begin_anew(&mut self, sender: FederateHandle, after: After) {
        self.used = 5;
        self.number(sender.0.into());
        self.number(after.requests.0);
        self.number(after.index.0);
        self.of = (sender, after);
        self.begun = self.used;
        self.named = (0, 0);
    }

    #[inline(always)]
    fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.byte(n as u8 | 0x80);
            n >>= 7;
        }
        self.byte(n as u8);
    }

    #[inline(always)]
    fn byte(&mut self, byte: u8) {
        // There is room: so it need not be looked at.
        self.bytes[self.used % Head::BYTES] = byte;
        self.used += 1;
    }

    #[inline(always)]
    fn stamp(&mut self, stamp: Stamp) {
        self.bytes[self.used..self.used + TIME_BYTES].copy_from_slice(&time_bytes(stamp.time));
        self.used += TIME_BYTES;
        self.number(stamp.retraction.unwrap_or_default());
    }
}

const _: () = assert!(5 + 8 * 10 + TIME_BYTES <= Head::BYTES && Head::BYTES.is_power_of_two());

#[cfg(test)]
mod tests {
    use super::*;
    use crate::codec::put_number;
    use proptest::prelude::*;
    use starling_core::LogicalTime;

    fn interaction(class: u32, tag: &[u8], kind: u8) -> Vec<u8> {
        let mut frame = Vec::new();
        let payload = Payload {
            transportation: Transportation::Reliable,
            values: Values::parse(&[]).unwrap(),
            tag,
            address: None,
            stamp: None,
        };
        let class = InteractionClassHandle::from_raw(class);
        let data = Data {
            sender: FederateHandle(1),
            after: After::default(),
            body: DataBody::Interaction { class, payload },
        };
        put_data(&mut frame, &data);
        frame[4] += kind;
        frame
    }

    #[test]
    fn a_run_has_whole_frames_of_data_and_few_with_time_stamps() {
        let (one, two) = (
            interaction(1, b"one", 0),
            interaction(2, b"two2", BEST_EFFORT),
        );
        let both = [&one[..], &two].concat();
        assert_eq!(run_of_data(&both, 1_000), both.len());
        assert_eq!(run_of_data(&both, both.len()), both.len());
        assert_eq!(run_of_data(&both, both.len() - 1), one.len());
        assert_eq!(run_of_data(&both[..both.len() - 1], 1_000), one.len());
        assert_eq!(run_of_data(&both[..4], 1_000), 0);
        assert_eq!(run_of_data(&one, one.len() - 1), 0);
        let mut heartbeat = Vec::new();
        crate::put_heartbeat(&mut heartbeat);
        for other in [heartbeat, vec![0; 8]] {
            let mixed = [&one[..], &other, &two].concat();
            assert_eq!(run_of_data(&mixed, 1_000), one.len(), "{other:?}");
        }
        // Before the first of them, too.
        let mut stamped = [interaction(1, &[0; 100], 0), interaction(1, b"", STAMPED)].concat();
        let all = stamped.repeat(100);
        let small = run_of_data(&all, 16_384);
        assert!((1_900..=Batch::SMALL_BYTES).contains(&small), "{small}");
        assert_eq!(run_of_data(&all, 500), run_of_data(&all[..500], 16_384));
        stamped.splice(0..0, interaction(1, &[0; 4_000], 0));
        assert_eq!(run_of_data(&stamped, 16_384), stamped.len() - 10);
    }

    proptest! {
        /// With the head of whatever frames before, a frame is what it is with one of its own; and one as most are is
        /// what it is among those of all kinds. However the one before begins, it is read as it is alone.
        #[test]
        fn a_head_has_nothing_of_the_frames_before(
            frames in prop::collection::vec(
                (
                    (0..3u32, prop_oneof![0..3u64, any::<u64>()], 0..3u64),
                    0..3u8,
                    prop_oneof![0..3u64, any::<u64>()],
                    any::<bool>(),
                    prop_oneof![0..3usize, Just(200)],
                    prop::option::of((any::<i64>(), 0..3u64)),
                ),
                1..30,
            ),
        ) {
            let mut head = Head::default();
            let mut put = |data: &Data<'_>| {
                let mut out = Vec::new();
                data.frame(&mut head).put_into(&mut out);
                out
            };
            let mut plain_head = Head::default();
            let (mut begin, mut timed_begin) = (PlainBegin::default(), TimedBegin::default());
            for ((sender, requests, index), kind, what, best_effort, tag, stamp) in frames {
                let sender = FederateHandle(sender);
                let after = After {
                    requests: RequestNumber(requests),
                    index: LogIndex(index),
                };
                let mut alone = Vec::new();
                if kind == 2 {
                    let request = RequestNumber(what);
                    let body = DataBody::Fence { request };
                    let fence = Data { sender, after, body };
                    put_data(&mut alone, &fence);
                    prop_assert_eq!(put(&fence), alone);
                    continue;
                }
                let transportation = if best_effort {
                    Transportation::BestEffort
                } else {
                    Transportation::Reliable
                };
                let is_update = kind == 0;
                let what = if is_update { what } else { u64::from(what as u32) };
                let (tag, values) = (vec![7; tag], [3, 1, 9]);
                let plain = PlainData {
                    sender,
                    after,
                    is_update,
                    what,
                    transportation,
                    tag: &tag,
                    values: Values::parse(&values).unwrap(),
                };
                let stamp = stamp.map(|(time, number)| Stamp {
                    time: LogicalTime::integer64(time),
                    retraction: (number > 0).then_some(number),
                });
                let sent = PlainSent { plain, stamp };
                put_data(&mut alone, &sent);
                let mut by = Vec::new();
                sent.frame(&mut plain_head).put_into(&mut by);
                prop_assert_eq!(&by, &alone);
                let untimed = stamp.is_none().then_some((plain, by.len()));
                prop_assert_eq!(read_plain(&mut begin, &by), untimed);
                let timed = stamp.and_then(|stamp| TimedData::new(plain, stamp));
                prop_assert_eq!(read_timed(&mut timed_begin, &by), timed.map(|timed| (timed, by.len())));
                let data = read_data(&by[4..]).unwrap().unwrap();
                prop_assert_eq!(put(&data), by);
            }
        }

        /// What is read the short way is what is read the long way, and nothing else.
        #[test]
        fn both_ways_of_reading_agree(
            kind in prop_oneof![Just(UPDATE), Just(INTERACTION), any::<u8>()],
            (best_effort, stamped) in any::<(bool, bool)>(),
            (time_type, time) in (0..3u8, any::<[u8; 8]>()),
            numbers in prop::collection::vec(prop_oneof![0..200u64, any::<u64>()], 6),
            rest: Vec<u8>,
            cut: prop::sample::Index,
        ) {
            let mut frame = vec![kind];
            frame[0] |= if best_effort { BEST_EFFORT } else { 0 };
            frame[0] |= if stamped { STAMPED } else { 0 };
            let before = if kind & INTERACTION == INTERACTION { 4 } else { 5 };
            for (n, number) in numbers.iter().enumerate() {
                if stamped && n == before {
                    frame.push(time_type);
                    frame.extend(time);
                }
                put_number(&mut frame, *number);
            }
            frame.extend(rest);
            frame.truncate(cut.index(frame.len()) + 1);
            let closely = read_closely(&frame);
            let usual = closely.clone().and_then(Result::ok).filter(|_| {
                matches!(frame[0] & !(BEST_EFFORT | STAMPED), UPDATE | INTERACTION)
            });
            prop_assert_eq!(read_usual(&frame), usual);
            let mut buffer = u32::try_from(frame.len()).unwrap().to_le_bytes().to_vec();
            buffer.extend(&frame);
            let (mut begin, mut timed_begin) = (PlainBegin::default(), TimedBegin::default());
            let incomplete = read_plain(&mut begin, &buffer[..buffer.len() - 1]);
            prop_assert!(incomplete.is_none());
            let incomplete = read_timed(&mut timed_begin, &buffer[..buffer.len() - 1]);
            prop_assert!(incomplete.is_none());
            buffer.push(UPDATE);
            let data = closely.as_ref().and_then(|data| data.as_ref().ok());
            let plain = data.and_then(Data::as_plain);
            let plain = plain.map(|plain| (plain, 4 + frame.len()));
            let timed = data.and_then(Data::as_timed).map(|timed| (timed, 4 + frame.len()));
            // Again, too, when it begins as the one before.
            for _ in 0..2 {
                prop_assert_eq!(read_plain(&mut begin, &buffer), plain);
                prop_assert_eq!(read_timed(&mut timed_begin, &buffer), timed);
            }
            prop_assert_eq!(read_data(&frame), closely);
        }
    }
}
