//! Attribute and parameter values as one flat run of bytes, made once by the sender.
//!
//! Each value is `slot` (its position in its class's list of available attributes or parameters)
//! and `length`, both as LEB128, then the bytes: two bytes of overhead for a small value.
//!
//! What a federate sends is written once, where it is to stand: [`ValuesOut`].

use std::fmt;

/// Values borrowed from a frame; known to be well-formed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Values<'a>(&'a [u8]);

/// Values of its own, made or kept.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ValuesBuf(Vec<u8>);

/// The bytes are no run of slot, length, value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidValues;

/// As many bytes as are copied at once where fewer are wanted.
const FEW: usize = 32;

/// Where bytes are put for which there is room.
pub trait Put {
    /// Behind what was put before. A slice that has no room for them panics.
    fn put(&mut self, bytes: &[u8]);

    /// The first `count` of these bytes. What is to be put behind them may be written over meanwhile.
    #[inline(always)]
    fn put_few<const N: usize>(&mut self, bytes: &[u8; N], count: usize) {
        self.put(&bytes[..count]);
    }
}

impl Put for Vec<u8> {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        self.extend_from_slice(bytes);
    }

    /// Copies mostly a few more, since a copy of a size that is known is no call.
    #[inline(always)]
    fn put_few<const N: usize>(&mut self, bytes: &[u8; N], count: usize) {
        match bytes.first_chunk::<FEW>() {
            Some(few) if count <= FEW => {
                let end = self.len() + count;
                self.extend_from_slice(few);
                self.truncate(end);
            }
            _ => self.extend_from_slice(&bytes[..count]),
        }
    }
}

impl Put for &mut [u8] {
    #[inline(always)]
    fn put(&mut self, bytes: &[u8]) {
        let (here, rest) = std::mem::take(self).split_at_mut(bytes.len());
        // Eight to sixteen bytes are two words that may overlap: to call for them would take twice as long.
        match (bytes.first_chunk::<8>(), bytes.last_chunk::<8>()) {
            (Some(first), Some(last)) if bytes.len() <= 16 => {
                here[..8].copy_from_slice(first);
                here[bytes.len() - 8..].copy_from_slice(last);
            }
            _ => here.copy_from_slice(bytes),
        }
        *self = rest;
    }

    /// As that of `Vec`.
    #[inline(always)]
    fn put_few<const N: usize>(&mut self, bytes: &[u8; N], count: usize) {
        match (bytes.first_chunk::<FEW>(), self.first_chunk_mut::<FEW>()) {
            (Some(few), Some(room)) if count <= FEW => {
                *room = *few;
                *self = &mut std::mem::take(self)[count..];
            }
            _ => self.put(&bytes[..count]),
        }
    }
}

/// The values of a data frame: a run of bytes, or what becomes one when the frame is written.
pub trait Run: Copy {
    /// How many bytes the run takes.
    fn bytes(&self) -> usize;
    /// Writes the run.
    fn put_into(&self, out: &mut impl Put);
}

/// A value as a service is given it, with the handle of its attribute or parameter.
pub trait Given {
    /// That of an attribute, or of a parameter.
    type Handle: Copy;

    /// Of what it is the value.
    fn handle(&self) -> Self::Handle;

    /// Its bytes.
    fn value(&self) -> &[u8];
}

impl<H: Copy> Given for (H, &[u8]) {
    type Handle = H;

    #[inline(always)]
    fn handle(&self) -> H {
        self.0
    }

    #[inline(always)]
    fn value(&self) -> &[u8] {
        self.1
    }
}

/// The values of a data frame on its way out.
#[derive(Clone, Copy, Debug)]
pub enum ValuesOut<'a> {
    /// As they are to stand in the frame.
    Run(Values<'a>),
    /// As an update or an interaction gave them.
    Given(&'a dyn AnyListed),
}

/// Values as a service was given them, with the slot of each.
pub struct Listed<'a, T: Given> {
    slots: &'a [(T::Handle, u32)],
    values: &'a [T],
    /// What their run takes.
    bytes: usize,
}

/// [`Listed`] values, however they were given.
pub trait AnyListed: fmt::Debug {
    /// What their run takes.
    fn run_bytes(&self) -> usize;

    /// The slot and the bytes of one of them.
    fn get(&self, at: usize) -> Option<(u32, &[u8])>;
}

impl<T: Given> Clone for Listed<'_, T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T: Given> Copy for Listed<'_, T> {}

impl<'a, T: Given> Listed<'a, T> {
    /// `bytes`: the sum of [`value_bytes`] over all.
    #[inline(always)]
    pub(crate) fn of_bytes(slots: &'a [(T::Handle, u32)], values: &'a [T], bytes: usize) -> Self {
        debug_assert_eq!(slots.len(), values.len());
        Listed {
            slots,
            values,
            bytes,
        }
    }
}

impl<T: Given> AnyListed for Listed<'_, T> {
    fn run_bytes(&self) -> usize {
        self.bytes
    }

    fn get(&self, at: usize) -> Option<(u32, &[u8])> {
        Some((self.slots.get(at)?.1, self.values.get(at)?.value()))
    }
}

impl<T: Given> fmt::Debug for Listed<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let slots = self.slots.iter().map(|(_, slot)| slot);
        let values = self.values.iter().map(T::value);
        f.debug_map().entries(slots.zip(values)).finish()
    }
}

impl<T: Given> Run for Listed<'_, T> {
    #[inline(always)]
    fn bytes(&self) -> usize {
        self.bytes
    }

    #[inline(always)]
    fn put_into(&self, out: &mut impl Put) {
        for ((_, slot), given) in self.slots.iter().zip(self.values) {
            put_value(out, *slot, given.value());
        }
    }
}

impl Run for Values<'_> {
    #[inline]
    fn bytes(&self) -> usize {
        self.0.len()
    }

    #[inline(always)]
    fn put_into(&self, out: &mut impl Put) {
        out.put(self.0);
    }
}

impl Run for ValuesOut<'_> {
    #[inline]
    fn bytes(&self) -> usize {
        match self {
            ValuesOut::Run(run) => run.bytes(),
            ValuesOut::Given(list) => list.run_bytes(),
        }
    }

    #[inline(always)]
    fn put_into(&self, out: &mut impl Put) {
        match self {
            ValuesOut::Run(run) => run.put_into(out),
            ValuesOut::Given(list) => {
                let mut at = 0;
                while let Some((slot, value)) = list.get(at) {
                    put_value(out, slot, value);
                    at += 1;
                }
            }
        }
    }
}

/// What a value takes in a run.
#[inline(always)]
pub(crate) fn value_bytes(slot: u32, length: usize) -> usize {
    match (slot, length) {
        (0..0x80, 0..0x80) => 2 + length,
        _ => leb_bytes(u64::from(slot)) + leb_bytes(length as u64) + length,
    }
}

/// Writes slot, length and value.
#[inline(always)]
fn put_value(out: &mut impl Put, slot: u32, value: &[u8]) {
    match (slot, value.len()) {
        (0..0x80, 0..0x80) => out.put(&[slot as u8, value.len() as u8]),
        (_, length) => {
            put_leb(out, u64::from(slot));
            put_leb(out, length as u64);
        }
    }
    out.put(value);
}

fn leb_bytes(n: u64) -> usize {
    (64 - (n | 1).leading_zeros() as usize).div_ceil(7)
}

#[inline]
fn put_leb(out: &mut impl Put, mut n: u64) {
    while n >= 0x80 {
        out.put(&[n as u8 | 0x80]);
        n >>= 7;
    }
    out.put(&[n as u8]);
}

impl<'a> Values<'a> {
    /// Checks the whole run, so that iterating can't fail.
    #[inline(always)]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, InvalidValues> {
        let mut rest = bytes;
        while !rest.is_empty() {
            split(&mut rest).ok_or(InvalidValues)?;
        }
        Ok(Values(bytes))
    }

    /// Whether one of the values is of a slot that has a handle here.
    #[inline(always)]
    pub(crate) fn has_any<H>(self, handles: &[Option<H>]) -> bool {
        // Mostly the first, for which nothing more of it need be read.
        let has_first = match self.0.first() {
            Some(&slot) if slot < 0x80 => matches!(handles.get(usize::from(slot)), Some(Some(_))),
            _ => false,
        };
        has_first || self.has_another(handles)
    }

    #[inline(never)]
    fn has_another<H>(self, handles: &[Option<H>]) -> bool {
        let mut rest = self.0;
        while let Some((slot, _)) = split(&mut rest) {
            if matches!(handles.get(slot as usize), Some(Some(_))) {
                return true;
            }
        }
        false
    }

    /// The values in the order in which they were added.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = (u32, &'a [u8])> {
        let mut rest = self.0;
        std::iter::from_fn(move || split(&mut rest))
    }

    /// Of a run that was checked before.
    #[inline]
    pub(crate) fn of_checked(bytes: &'a [u8]) -> Self {
        debug_assert!(Values::parse(bytes).is_ok());
        Values(bytes)
    }

    /// The run itself.
    pub fn as_bytes(self) -> &'a [u8] {
        self.0
    }
}

impl ValuesBuf {
    /// Of values that may not be such a run yet.
    pub fn of(run: impl Run) -> Self {
        let mut bytes = Vec::with_capacity(run.bytes());
        run.put_into(&mut bytes);
        ValuesBuf(bytes)
    }

    /// Adds a value.
    pub fn push(&mut self, slot: u32, value: &[u8]) {
        put_value(&mut self.0, slot, value);
    }

    /// Empties it and keeps its memory.
    pub fn clear(&mut self) {
        self.0.clear();
    }

    /// How many bytes the run takes.
    pub fn bytes(&self) -> usize {
        self.0.len()
    }

    /// Whether it holds no value.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Its values.
    pub fn values(&self) -> Values<'_> {
        Values(&self.0)
    }
}

impl fmt::Debug for Values<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.iter()).finish()
    }
}

impl fmt::Debug for ValuesBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.values().fmt(f)
    }
}

#[inline(always)]
fn split<'a>(rest: &mut &'a [u8]) -> Option<(u32, &'a [u8])> {
    let slot = u32::try_from(unleb(rest)?).ok()?;
    let length = usize::try_from(unleb(rest)?).ok()?;
    if length > rest.len() {
        return None;
    }
    let (value, tail) = rest.split_at(length);
    *rest = tail;
    Some((slot, value))
}

#[inline]
pub(crate) fn leb(out: &mut Vec<u8>, n: u64) {
    put_leb(out, n);
}

#[inline(always)]
pub(crate) fn unleb(rest: &mut &[u8]) -> Option<u64> {
    // At the end of every run there is none, for which nothing is to be called.
    let (&byte, tail) = rest.split_first()?;
    // Most numbers are small.
    let (n, tail) = if byte < 0x80 {
        (u64::from(byte), tail)
    } else {
        // By value: what is pointed to by others has to stand in memory.
        long_unleb(rest)?
    };
    *rest = tail;
    Some(n)
}

#[cold]
fn long_unleb(mut rest: &[u8]) -> Option<(u64, &[u8])> {
    let mut n = 0u64;
    for shift in (0..63).step_by(7) {
        let (&byte, tail) = rest.split_first()?;
        rest = tail;
        n |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some((n, rest));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AttributeHandle;

    #[test]
    fn few_bytes_are_put_alike_wherever_they_go() {
        let bytes: [u8; 99] = std::array::from_fn(|n| n as u8);
        for few in [0, 1, FEW - 1, FEW, FEW + 1, 99] {
            for behind in [0, 1, 7, 8, 9, 15, 16, 17, FEW, 99] {
                let mut list = vec![7];
                list.put_few(&bytes, few);
                list.put(&bytes[..behind]);
                // With no room to spare.
                let mut slot = vec![0; 1 + few + behind];
                let mut left = &mut slot[..];
                left.put(&[7]);
                left.put_few(&bytes, few);
                left.put(&bytes[..behind]);
                assert!(left.is_empty());
                assert_eq!(slot, list, "{few} and {behind}");
            }
        }
    }

    #[test]
    fn small_values_cost_two_bytes() {
        let mut v = ValuesBuf::default();
        v.push(5, &[1, 2, 3]);
        v.push(127, &[]);
        assert_eq!(v.values().as_bytes(), [5, 3, 1, 2, 3, 127, 0]);
        let got: Vec<_> = v.values().iter().collect();
        assert_eq!(got, [(5, &[1u8, 2, 3][..]), (127, &[][..])]);
    }

    #[test]
    fn truncated_and_overlong_runs_are_refused() {
        for bad in [
            &[5u8][..],
            &[5, 3, 1, 2],
            &[0x80],
            &[0xff; 12],
            &[1, 0xff, 0xff, 0xff, 0xff, 0x7f],
        ] {
            assert_eq!(Values::parse(bad), Err(InvalidValues), "{bad:?}");
        }
    }

    proptest::proptest! {
        /// However values are given, and wherever they are put, it is the same run.
        #[test]
        fn a_list_becomes_the_run_that_it_stands_for(
            list in proptest::collection::vec(
                (proptest::prop_oneof![0..300u32, proptest::num::u32::ANY], 0..20_000usize), 0..6),
        ) {
            let bytes = vec![7; 20_000];
            let handle = AttributeHandle::from_raw;
            let slots: Vec<_> = list.iter().map(|(slot, _)| (handle(*slot), *slot)).collect();
            let value = |(slot, length): &(u32, usize)| (handle(*slot), &bytes[..*length]);
            let values: Vec<_> = list.iter().map(value).collect();
            let mut pushed = ValuesBuf::default();
            list.iter().for_each(|(slot, length)| pushed.push(*slot, &bytes[..*length]));
            let length = list.iter().map(|(slot, length)| value_bytes(*slot, *length)).sum();
            assert_eq!(length, pushed.bytes());
            let listed = Listed::of_bytes(&slots, &values, length);
            assert_eq!(ValuesBuf::of(listed), pushed);
            for given in [ValuesOut::Given(&listed), ValuesOut::Run(pushed.values())] {
                assert_eq!(given.bytes(), length);
                assert_eq!(ValuesBuf::of(given), pushed);
                let mut slice = vec![0; length];
                let mut room = &mut slice[..];
                given.put_into(&mut room);
                assert!(room.is_empty());
                assert_eq!(slice, pushed.values().as_bytes());
            }
        }

        #[test]
        fn what_is_pushed_comes_back(list: Vec<(u32, Vec<u8>)>) {
            let mut v = ValuesBuf::default();
            for (slot, value) in &list {
                v.push(*slot, value);
            }
            let parsed = Values::parse(v.values().as_bytes()).unwrap();
            let back: Vec<_> = parsed.iter().map(|(s, b)| (s, b.to_vec())).collect();
            assert_eq!(back, list);
        }
    }
}
