//! Attribute and parameter values as one flat run of bytes, made once by the sender.
//!
//! Each value is `slot` (its position in its class's list of available attributes or parameters)
//! and `length`, both as LEB128, then the bytes: two bytes of overhead for a small value.

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

impl<'a> Values<'a> {
    /// Checks the whole run, so that iterating can't fail.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, InvalidValues> {
        let mut rest = bytes;
        while !rest.is_empty() {
            split(&mut rest).ok_or(InvalidValues)?;
        }
        Ok(Values(bytes))
    }

    /// The values in the order in which they were added.
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
    /// Adds a value.
    pub fn push(&mut self, slot: u32, value: &[u8]) {
        leb(&mut self.0, u64::from(slot));
        leb(&mut self.0, value.len() as u64);
        self.0.extend_from_slice(value);
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

#[inline]
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
pub(crate) fn leb(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

#[inline]
pub(crate) fn unleb(rest: &mut &[u8]) -> Option<u64> {
    // Most numbers are small.
    match rest.split_first() {
        Some((&byte, tail)) if byte < 0x80 => {
            *rest = tail;
            Some(u64::from(byte))
        }
        _ => long_unleb(rest),
    }
}

fn long_unleb(rest: &mut &[u8]) -> Option<u64> {
    let mut n = 0u64;
    for shift in (0..63).step_by(7) {
        let (&byte, tail) = rest.split_first()?;
        *rest = tail;
        n |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(n);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

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
