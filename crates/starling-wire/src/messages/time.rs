//! Time management.

use crate::codec::{Reader, Wire, WireError, bad};
use starling_core::message::time::{Notice, Request};
use starling_core::message::{Stamp, TimeRequest};
use starling_core::{Advance, LogicalTime, LogicalTimeInterval, TimeType};

fields! {
    TimeRequest { applied, body }
}

variants! {
    TimeType "logical time implementation" { 0 Integer64, 1 Float64 }
    Advance "advance of logical time" {
        0 Time, 1 TimeAvailable, 2 NextMessage, 3 NextMessageAvailable, 4 FlushQueue
    }
}

/// The type, then the 64 bits in the order of the least significant byte first.
macro_rules! times {
    ($($name:ident),*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                self.time_type().put(out);
                out.extend_from_slice(&self.to_bits().to_le_bytes());
            }
            fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
                let of = TimeType::get(from)?;
                let Some((bits, rest)) = from.0.split_first_chunk() else {
                    return bad("a logical time has 8 bytes");
                };
                from.0 = rest;
                match $name::from_bits(of, u64::from_le_bytes(*bits)) {
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
