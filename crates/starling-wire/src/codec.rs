//! How values become bytes.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The bytes are not what the format allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireError(pub String);

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WireError {}

pub(crate) fn bad<T>(what: impl Into<String>) -> Result<T, WireError> {
    Err(WireError(what.into()))
}

/// What the lists of one message may take in memory, in bytes: an element may take a byte here and a
/// hundred there.
const LISTS_BYTES_MAX: usize = 1 << 30;

/// The rest of a frame's body, and what its lists may still take.
pub(crate) struct Reader<'a>(pub(crate) &'a [u8], usize);

impl<'a> Reader<'a> {
    #[inline]
    pub(crate) fn new(body: &'a [u8]) -> Self {
        Reader(body, LISTS_BYTES_MAX)
    }

    /// Makes room for a list.
    fn reserve<T>(&mut self, count: u64) -> Result<(), WireError> {
        let bytes = usize::try_from(count).unwrap_or(usize::MAX);
        let left = self.1.checked_sub(bytes.saturating_mul(size_of::<T>()));
        self.1 = left.ok_or_else(|| {
            let most = LISTS_BYTES_MAX >> 20;
            WireError(format!("its lists would take more than {most} MiB"))
        })?;
        Ok(())
    }

    #[inline]
    pub(crate) fn byte(&mut self) -> Result<u8, WireError> {
        match self.0.split_first() {
            Some((byte, rest)) => {
                self.0 = rest;
                Ok(*byte)
            }
            None => bad("a frame ends too early"),
        }
    }

    #[inline]
    pub(crate) fn number(&mut self) -> Result<u64, WireError> {
        // Most numbers are small.
        match self.0.split_first() {
            Some((byte, rest)) if *byte < 0x80 => {
                self.0 = rest;
                Ok(u64::from(*byte))
            }
            _ => self.long_number(),
        }
    }

    pub(crate) fn long_number(&mut self) -> Result<u64, WireError> {
        let mut n = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            n |= bits << shift;
            if byte < 0x80 {
                return Ok(n);
            }
        }
        bad("a number has more than 64 bits")
    }

    #[inline]
    pub(crate) fn bytes(&mut self) -> Result<&'a [u8], WireError> {
        let length = self.number()?;
        match usize::try_from(length).ok().filter(|l| *l <= self.0.len()) {
            Some(length) => {
                let (bytes, rest) = self.0.split_at(length);
                self.0 = rest;
                Ok(bytes)
            }
            None => bad(format!("{length} bytes announced, {} left", self.0.len())),
        }
    }

    pub(crate) fn end(&self) -> Result<(), WireError> {
        match self.0.len() {
            0 => Ok(()),
            n => bad(format!("{n} bytes too many at the end of a frame")),
        }
    }
}

#[inline]
pub(crate) fn put_number(out: &mut Vec<u8>, mut n: u64) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// A value with its bytes.
pub(crate) trait Wire: Sized {
    fn put(&self, out: &mut Vec<u8>);
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError>;
}

impl Wire for u64 {
    fn put(&self, out: &mut Vec<u8>) {
        put_number(out, *self);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        from.number()
    }
}

impl Wire for u32 {
    fn put(&self, out: &mut Vec<u8>) {
        put_number(out, u64::from(*self));
    }
    #[inline]
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let n = from.number()?;
        u32::try_from(n).or_else(|_| bad(format!("{n} has more than 32 bits")))
    }
}

impl Wire for bool {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(u8::from(*self));
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        match from.byte()? {
            0 => Ok(false),
            1 => Ok(true),
            n => bad(format!("{n} is no truth value")),
        }
    }
}

impl Wire for String {
    fn put(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.as_bytes());
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        match std::str::from_utf8(from.bytes()?) {
            Ok(text) => Ok(text.to_owned()),
            Err(_) => bad("a text is not UTF-8"),
        }
    }
}

impl Wire for u8 {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        from.byte()
    }
}

/// Count, then the elements. Every element takes at least a byte, so a count beyond what is left
/// is refused before anything is allocated.
impl<T: Wire> Wire for Vec<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.len() as u64);
        for item in self {
            item.put(out);
        }
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let count = from.number()?;
        if count > from.0.len() as u64 {
            return bad(format!(
                "{count} elements announced, {} bytes left",
                from.0.len()
            ));
        }
        from.reserve::<T>(count)?;
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(T::get(from)?);
        }
        Ok(list)
    }
}

/// As a list of pairs; in any order, each key once.
impl<K: Wire + Ord, V: Wire> Wire for BTreeMap<K, V> {
    fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.len() as u64);
        for (key, value) in self {
            key.put(out);
            value.put(out);
        }
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let list = Vec::<(K, V)>::get(from)?;
        let count = list.len();
        let map: Self = list.into_iter().collect();
        if map.len() == count {
            Ok(map)
        } else {
            bad("a key stands twice in a map")
        }
    }
}

/// As a list; in any order, each element once.
impl<T: Wire + Ord> Wire for BTreeSet<T> {
    fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.len() as u64);
        self.iter().for_each(|item| item.put(out));
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let list = Vec::<T>::get(from)?;
        let count = list.len();
        let set: Self = list.into_iter().collect();
        if set.len() == count {
            Ok(set)
        } else {
            bad("an element stands twice in a set")
        }
    }
}

impl<T: Wire> Wire for Option<T> {
    fn put(&self, out: &mut Vec<u8>) {
        self.is_some().put(out);
        if let Some(value) = self {
            value.put(out);
        }
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(if bool::get(from)? {
            Some(T::get(from)?)
        } else {
            None
        })
    }
}

impl<A: Wire, B: Wire> Wire for (A, B) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok((A::get(from)?, B::get(from)?))
    }
}

impl<A: Wire, B: Wire, C: Wire> Wire for (A, B, C) {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
        self.1.put(out);
        self.2.put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok((A::get(from)?, B::get(from)?, C::get(from)?))
    }
}

impl Wire for () {
    fn put(&self, _: &mut Vec<u8>) {}
    fn get(_: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_a_bound_in_memory_before_any_is_there() {
        let mut bytes = Vec::new();
        let count = LISTS_BYTES_MAX / size_of::<String>();
        put_number(&mut bytes, count as u64 + 1);
        // A text of no characters is one byte.
        bytes.resize(bytes.len() + count + 1, 0);
        let refused = Vec::<String>::get(&mut Reader::new(&bytes));
        assert_eq!(
            refused,
            Err(WireError("its lists would take more than 1024 MiB".into()))
        );
    }

    #[test]
    fn lists_in_lists_count_together() {
        let mut bytes = Vec::new();
        vec![vec![0_u64; 4]; 3].put(&mut bytes);
        let all = 3 * size_of::<Vec<u64>>() + 12 * size_of::<u64>();
        assert!(Vec::<Vec<u64>>::get(&mut Reader(&bytes, all)).is_ok());
        assert!(Vec::<Vec<u64>>::get(&mut Reader(&bytes, all - 1)).is_err());
    }
}
