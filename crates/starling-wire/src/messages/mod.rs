//! The messages of `starling_core::message`, field by field in the order in which they stand there:
//! here the envelopes, in each other file what is one room's.

use crate::codec::{Reader, Wire, WireError, bad, put_number};
use starling_core::message::statistics::{
    CallTimes, ClassTraffic, PeerTraffic, SenderTraffic, Volume, WayTraffic,
};
use starling_core::message::*;
use starling_core::{
    AttributeHandle, Counters, DimensionHandle, Exception, ExceptionKind, FederateHandle,
    InteractionClassHandle, MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle,
    Order, Owner, RegionHandle, Services,
};
use std::sync::Arc;

/// Structs, as their fields.
macro_rules! fields {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl crate::codec::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
            fn get(
                from: &mut crate::codec::Reader<'_>,
            ) -> Result<Self, crate::codec::WireError> {
                Ok($name { $($field: crate::codec::Wire::get(from)?),* })
            }
        }
    )*};
}

/// Enums, as a number and the fields of the choice. A string says what it is in errors.
macro_rules! variants {
    ($($name:ident $what:literal { $($number:literal $variant:ident $({ $($field:ident),* })? $(($($inner:ident),+))?),* $(,)? })*) => {$(
        impl crate::codec::Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $($name::$variant $({ $($field),* })? $(($($inner),+))? => {
                        out.push($number);
                        $($($field.put(out);)*)?
                        $($($inner.put(out);)+)?
                    })*
                }
            }
            fn get(
                from: &mut crate::codec::Reader<'_>,
            ) -> Result<Self, crate::codec::WireError> {
                match from.byte()? {
                    $($number => {
                        $($(let $field = crate::codec::Wire::get(from)?;)*)?
                        $($(let $inner = crate::codec::Wire::get(from)?;)+)?
                        Ok($name::$variant $({ $($field),* })? $(($($inner),+))?)
                    })*
                    n => crate::codec::bad(format!("{n} is no {}", $what)),
                }
            }
        }
    )*};
}

mod ddm;
mod declaration;
pub(crate) mod federation;
mod mom;
mod object;
mod ownership;
mod save;
pub(crate) mod saved;
pub(crate) mod time;

macro_rules! handles {
    ($($name:ident),*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                self.raw().put(out);
            }
            fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
                Ok($name::from_raw(Wire::get(from)?))
            }
        }
    )*};
}

handles!(
    ObjectClassHandle,
    AttributeHandle,
    InteractionClassHandle,
    DimensionHandle
);

macro_rules! numbers {
    ($($name:ident),*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                self.0.put(out);
            }
            fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
                Ok($name(Wire::get(from)?))
            }
        }
    )*};
}

numbers!(FederateHandle, LogIndex, RequestNumber);

/// Block (the registrar), then number: small numbers, few bytes.
impl Wire for ObjectInstanceHandle {
    fn put(&self, out: &mut Vec<u8>) {
        self.block().put(out);
        self.number().put(out);
    }
    #[inline]
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let registrar = FederateHandle(u32::get(from)?);
        Ok(ObjectInstanceHandle::new(registrar, u32::get(from)?))
    }
}

impl Wire for MessageRetractionHandle {
    fn put(&self, out: &mut Vec<u8>) {
        self.0.put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(MessageRetractionHandle(Wire::get(from)?))
    }
}

/// Creator, then number.
impl Wire for RegionHandle {
    fn put(&self, out: &mut Vec<u8>) {
        self.creator().0.put(out);
        self.number().put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let creator = FederateHandle(u32::get(from)?);
        Ok(RegionHandle::new(creator, u32::get(from)?))
    }
}

impl Wire for Exception {
    fn put(&self, out: &mut Vec<u8>) {
        (self.kind as u16 as u32).put(out);
        self.message.put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let n = u32::get(from)?;
        let mut all = ExceptionKind::ALL.iter();
        match all.find(|k| **k as u16 as u32 == n) {
            Some(kind) => Ok(Exception::new(*kind, String::get(from)?)),
            None => bad(format!("{n} is no exception")),
        }
    }
}

impl Wire for Result<Vec<AttributeHandle>, Exception> {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_ref().err().cloned().put(out);
        if let Ok(attributes) = self {
            attributes.put(out);
        }
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(match Option::<Exception>::get(from)? {
            Some(thrown) => Err(thrown),
            None => Ok(Wire::get(from)?),
        })
    }
}

impl Wire for Result<(), Exception> {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_ref().err().cloned().put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Option::<Exception>::get(from)?.map_or(Ok(()), Err))
    }
}

impl Wire for Counters {
    fn put(&self, out: &mut Vec<u8>) {
        self.values().iter().for_each(|count| count.put(out));
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut values = [0; Counters::NAMES.len()];
        for value in &mut values {
            *value = Wire::get(from)?;
        }
        Ok(Counters::of(values))
    }
}

impl<T: Wire> Wire for Arc<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Arc::new(T::get(from)?))
    }
}

impl<T: Wire> Wire for Box<T> {
    fn put(&self, out: &mut Vec<u8>) {
        (**self).put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Box::new(T::get(from)?))
    }
}

fields! {
    Services { mom, time, ddm, rates }
    PeerInfo { pid, host, program, version, path }
    Doing { calls, service, callback }
    Question { federation, federate, subject }
    Finding { link, holds, detail }
    Request { applied, fenced, body }
    FederationInformation { name, time_implementation }
    FederationStatus { name, time_implementation, modules, instances, log, refused, behind_deletion, outdated, services, under_way, federates }
    UnderWay { what, label, stage, waits_for, since_ms }
    FederateStatus { federate, peer, counters, doing, still, time, paths, best_effort, best_effort_paths }
    BestEffort { by, lost, dropped }
    Path { by, to }
    TimeStatus {
        time, galt, galt_passed, lits, lookahead, constrained, asked, advancing_to, in_state_ms, queued,
        waits_for
    }
    Statistics { classes, senders, ways, peers, calls }
    Volume { messages, bytes }
    ClassTraffic { class, is_interaction, transportation, sent, received }
    SenderTraffic { sender, transportation, received }
    WayTraffic { way, sent, received }
    PeerTraffic { federate, way, sent, received }
    CallTimes { name, is_callback, total_ns, longest_ns, buckets }
    FederateStatistics { federation, handle, name, told }
    Cause { sender, request }
    Entry { index, cause, body }
    Watermark { index, requests }
}

impl Wire for Snapshot {
    fn put(&self, out: &mut Vec<u8>) {
        put_snapshot_head(self, out);
        for module in &self.modules {
            federation::put_module_head(module, out);
            out.extend_from_slice(&module.text);
        }
        self.federates.put(out);
        self.declarations.put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Snapshot {
            handle: Wire::get(from)?,
            name: Wire::get(from)?,
            federation: Wire::get(from)?,
            time_implementation: Wire::get(from)?,
            services: Wire::get(from)?,
            index: Wire::get(from)?,
            modules: Wire::get(from)?,
            federates: Wire::get(from)?,
            declarations: Wire::get(from)?,
        })
    }
}

/// What stands before the modules of a snapshot, with their number.
pub(crate) fn put_snapshot_head(snapshot: &Snapshot, out: &mut Vec<u8>) {
    snapshot.handle.put(out);
    snapshot.name.put(out);
    snapshot.federation.put(out);
    snapshot.time_implementation.put(out);
    snapshot.services.put(out);
    snapshot.index.put(out);
    put_number(out, snapshot.modules.len() as u64);
}

/// The number of `FromExecutive::Joined`.
pub(crate) const JOINED: u8 = 3;
/// The number of `FromExecutive::Restored`.
pub(crate) const RESTORED: u8 = 11;

// A room has the number of its chapter.
variants! {
    Order "order type" { 1 Receive, 2 TimeStamp }
    Owner "owner" { 0 Rti, 1 Federate(federate) }
    ToExecutive "message to the executive" {
        1 CreateFederation { federation, modules, mim, time_implementation },
        2 DestroyFederation { federation },
        3 ListFederations,
        4 Join { name, kind, federation, modules },
        5 Request(request),
        6 QueryStatus,
        7 QueryWhy(question),
        8 ResignFederate { federation, federate },
        9 Stop { force },
        10 Time(request),
        11 Counted { counters, doing, for_ms, withheld_bytes_max },
        12 Part(part),
        13 PartTooLarge { applied, bytes },
        14 Leaves { why },
        15 Measured(statistics),
        16 QueryStatistics,
    }
    RequestBody "room of requests" {
        1 PathChanged,
        4 Federation(request),
        5 Declaration(request),
        6 Object(request),
        7 Ownership(request),
        9 Ddm(request),
        11 Mom(request),
    }
    FromExecutive "message of the executive" {
        1 Done(result),
        2 Federations(list),
        3 Joined(snapshot),
        4 JoinRefused(exception),
        5 Entry(entry),
        6 Watermark(mark),
        7 Removed(why),
        8 Status(list),
        9 Why(findings),
        10 Time(notice),
        11 Restored(restored),
        12 Statistics(list),
    }
    EntryBody "room of entries" {
        1 Fenced,
        2 EpochBegan,
        4 Federation(entry),
        5 Declaration(entry),
        6 Object(entry),
        7 Ownership(entry),
        9 Ddm(entry),
        11 Mom(entry),
    }
}
