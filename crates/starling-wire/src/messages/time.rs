//! Time management.

use crate::codec::{Reader, Wire, WireError, bad};
use starling_core::message::time::{Notice, Request};
use starling_core::message::{Stamp, TimeRequest};
use starling_core::{Advance, LogicalTime, LogicalTimeInterval, TimeType};

fields! {
    TimeRequest { applied, body }
}

const INTEGER64: u8 = 0;
const FLOAT64: u8 = 1;

variants! {
    TimeType "logical time implementation" { 0 Integer64, 1 Float64 }
    Advance "advance of logical time" {
        0 Time, 1 TimeAvailable, 2 NextMessage, 3 NextMessageAvailable, 4 FlushQueue
    }
}

/// What a logical time takes.
pub(crate) const TIME_BYTES: usize = 9;

/// The type, then the 64 bits in the order of the least significant byte first.
#[inline]
fn typed_bytes(of: TimeType, bits: u64) -> [u8; TIME_BYTES] {
    let mut bytes = [0; TIME_BYTES];
    bytes[0] = match of {
        TimeType::Integer64 => INTEGER64,
        TimeType::Float64 => FLOAT64,
    };
    bytes[1..].copy_from_slice(&bits.to_le_bytes());
    bytes
}

/// A logical time as it is written.
#[inline]
pub(crate) fn time_bytes(time: LogicalTime) -> [u8; TIME_BYTES] {
    typed_bytes(time.time_type(), time.to_bits())
}

/// Reads [`time_bytes`], if nothing is wrong with them.
#[inline(always)]
pub(crate) fn time_of(bytes: &[u8; TIME_BYTES]) -> Option<LogicalTime> {
    let (of, bits) = bytes.split_first()?;
    let of = match *of {
        INTEGER64 => TimeType::Integer64,
        FLOAT64 => TimeType::Float64,
        _ => return None,
    };
    LogicalTime::from_bits(of, u64::from_le_bytes(bits.try_into().ok()?))
}

macro_rules! times {
    ($($name:ident),*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                out.extend_from_slice(&typed_bytes(self.time_type(), self.to_bits()));
            }
            #[inline]
            fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
                let Some((typed, rest)) = from.0.split_first_chunk::<TIME_BYTES>() else {
                    return bad("a logical time has 9 bytes");
                };
                let of = match typed[0] {
                    INTEGER64 => TimeType::Integer64,
                    FLOAT64 => TimeType::Float64,
                    n => return bad(format!("{n} is no logical time implementation")),
                };
                from.0 = rest;
                let mut bits = [0; 8];
                bits.copy_from_slice(&typed[1..]);
                match $name::from_bits(of, u64::from_le_bytes(bits)) {
                    Some(time) => Ok(time),
                    None => bad("a logical time is not a number"),
                }
            }
        }
    )*};
}
times!(LogicalTime, LogicalTimeInterval);

/// The time, then the number, 0 for none.
impl Wire for Stamp {
    fn put(&self, out: &mut Vec<u8>) {
        self.time.put(out);
        self.retraction.unwrap_or_default().put(out);
    }
    #[inline]
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let time = Wire::get(from)?;
        let number = u64::get(from)?;
        Ok(Stamp {
            time,
            retraction: (number > 0).then_some(number),
        })
    }
}

starling_core::time_messages!(variants);
