//! The messages of `starling_core::message`, field by field in the order in which they stand there.

use crate::codec::{Reader, Wire, WireError, bad, put_bytes};
use starling_core::message::*;
use starling_core::{
    AttributeHandle, DimensionHandle, Divestiture, Exception, ExceptionKind, FederateHandle,
    InstanceSwitches, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle, Owner,
    OwnershipNotice, RegionHandle, SynchronizationPointFailure, Transportation,
};

macro_rules! fields {
    ($($name:ident { $($field:ident),* })*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                $(self.$field.put(out);)*
            }
            fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
                Ok($name { $($field: Wire::get(from)?),* })
            }
        }
    )*};
}

/// An enum as its number and its fields.
macro_rules! variants {
    ($($name:ident { $($number:literal $variant:ident $({ $($field:ident),* })? $(($inner:ident))?),* $(,)? })*) => {$(
        impl Wire for $name {
            fn put(&self, out: &mut Vec<u8>) {
                match self {
                    $($name::$variant $({ $($field),* })? $(($inner))? => {
                        out.push($number);
                        $($($field.put(out);)*)?
                        $($inner.put(out);)?
                    })*
                }
            }
            fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
                match from.byte()? {
                    $($number => {
                        $($(let $field = Wire::get(from)?;)*)?
                        $(let $inner = Wire::get(from)?;)?
                        Ok($name::$variant $({ $($field),* })? $(($inner))?)
                    })*
                    n => bad(format!("{n} is no {}", stringify!($name))),
                }
            }
        }
    )*};
}

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
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let registrar = FederateHandle(u32::get(from)?);
        Ok(ObjectInstanceHandle::new(registrar, u32::get(from)?))
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

impl<C: Wire, A: Wire> Wire for RegionSubscription<C, A> {
    fn put(&self, out: &mut Vec<u8>) {
        self.region.put(out);
        self.class.put(out);
        self.attribute.put(out);
        self.active.put(out);
        self.rate.put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(RegionSubscription {
            region: Wire::get(from)?,
            class: Wire::get(from)?,
            attribute: Wire::get(from)?,
            active: Wire::get(from)?,
            rate: Wire::get(from)?,
        })
    }
}

/// Dimension, lower bound, width: an empty range can't be said.
impl Wire for Range {
    fn put(&self, out: &mut Vec<u8>) {
        self.dimension.put(out);
        self.lower.put(out);
        (self.upper - self.lower).put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let dimension = DimensionHandle::get(from)?;
        let (lower, width) = (u32::get(from)?, u32::get(from)?);
        match lower.checked_add(width).filter(|_| width > 0) {
            Some(upper) => Ok(Range {
                dimension,
                lower,
                upper,
            }),
            None => bad(format!("a range of {width} from {lower}")),
        }
    }
}

impl Wire for ModuleSource {
    fn put(&self, out: &mut Vec<u8>) {
        self.designator.put(out);
        put_bytes(out, &self.text);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let designator = String::get(from)?;
        let text = from.bytes()?.to_vec();
        Ok(ModuleSource { designator, text })
    }
}

impl Wire for ResignAction {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let n = from.byte()?;
        ResignAction::from_number(n.into())
            .map_or_else(|| bad(format!("{n} is no resign action")), Ok)
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

impl Wire for Result<(), Exception> {
    fn put(&self, out: &mut Vec<u8>) {
        self.as_ref().err().cloned().put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Option::<Exception>::get(from)?.map_or(Ok(()), Err))
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
    InstanceSwitches { scope, relevance }
    Question { federation, federate, subject }
    Finding { link, holds, detail }
    PeerInfo { pid, host, program, version, path }
    Request { fenced, body }
    SubscribedAttribute { attribute, active, rate }
    FederationInformation { name, time_implementation }
    FederateInformation { handle, name, kind }
    FederationStatus { name, time_implementation, modules, instances, log, refused, federates }
    Snapshot {
        handle, name, federation, time_implementation, index, modules, federates, object_subscriptions,
        interaction_subscriptions, regions, object_region_subscriptions,
        interaction_region_subscriptions
    }
    Cause { sender, request }
    Entry { index, cause, body }
    Discovery { instance, registered_class, known_class, name }
    Watermark { index, requests }
    RegionSpecification { region, ranges }
    AttributeRegions { attributes, regions }
}

variants! {
    Owner { 0 Rti, 1 Federate(federate) }
    Subscription { 0 None, 1 Passive, 2 Active }
    Transportation { 0 Reliable, 1 BestEffort }
    SynchronizationPointFailure { 0 LabelNotUnique, 1 SetMemberNotJoined }
    Divestiture { 0 Unconditional, 1 Negotiated, 2 Confirmed, 3 IfWanted }
    OwnershipNotice {
        0 Acquired, 1 Unavailable, 2 AcquisitionCancelled, 3 ConfirmationRequested,
        4 ReleaseRequested, 5 AssumptionRequested,
    }
    ToExecutive {
        1 CreateFederation { federation, modules, mim, time_implementation },
        2 DestroyFederation { federation },
        3 ListFederations,
        4 Join { name, kind, federation, modules },
        5 Request(request),
        6 QueryStatus,
        7 QueryWhy(question),
        8 ResignFederate { federation, federate },
        9 Stop { force },
    }
    RequestBody {
        1 PublishObjectClass { class, attributes },
        2 PublishInteraction { class, published },
        3 SubscribeObjectClass { class, attributes },
        4 SubscribeInteraction { class, subscription },
        5 ReserveNames { names, multiple },
        6 ReleaseNames { names },
        7 RegisterObject { instance, class, name },
        8 DeleteObject { instance, tag },
        9 LocalDeleteObject { instance },
        10 RequestInstanceUpdate { instance, attributes, tag },
        11 RequestClassUpdate { class, attributes, tag },
        12 SetResignDirective(action),
        13 Resign(action),
        14 RegisterSynchronizationPoint { label, tag, set },
        15 AchieveSynchronizationPoint { label, successfully },
        16 SetInstanceSwitches(switches),
        17 ChangeAttributeTransportation { instance, attributes, transportation },
        18 QueryAttributeTransportation { instance, attribute },
        19 ChangeInteractionTransportation { class, transportation },
        20 QueryInteractionTransportation { federate, class },
        32 DivestOwnership { how, instance, attributes, tag },
        33 AcquireOwnership { if_available, instance, attributes, tag },
        34 DenyOwnershipRelease { instance, attributes, seen, tag },
        35 CancelOwnershipDivestiture { instance, attributes },
        36 CancelOwnershipAcquisition { instance, attributes },
        37 QueryOwnership { instance, attributes },
        40 CommitRegions(list),
        41 DeleteRegion(region),
        42 RegisterObjectWithRegions { instance, class, name, regions },
        43 AssociateRegions { instance, regions },
        44 UnassociateRegions { instance, regions },
        45 SubscribeObjectClassWithRegions { class, regions, active, rate },
        46 UnsubscribeObjectClassWithRegions { class, regions },
        47 SubscribeInteractionWithRegions { class, regions, active },
        48 UnsubscribeInteractionWithRegions { class, regions },
        49 RequestClassUpdateWithRegions { class, regions, tag },
    }
    FromExecutive {
        1 Done(result),
        2 Federations(list),
        3 Joined(snapshot),
        4 JoinRefused(exception),
        5 Entry(entry),
        6 Watermark(mark),
        7 Removed(why),
        8 Status(list),
        9 Why(findings),
    }
    EntryBody {
        1 FederateJoined { federate, modules },
        2 FederateResigned { federate, fault },
        3 ObjectSubscription { class, attributes },
        4 InteractionSubscription { class, subscription },
        5 NamesReserved { names, multiple, succeeded },
        6 Discover(list),
        7 Remove { instance, producer, tag },
        8 ProvideUpdate { wanted, tag },
        9 SynchronizationPointRegistered { label, failure },
        10 SynchronizationPointAnnounced { label, tag },
        11 FederationSynchronized { label, failed },
        12 AttributesScope { instance, entered, left },
        13 AttributesRelevance { instance, on, off },
        14 AttributeTransportationChanged { instance, attributes, transportation },
        15 AttributeTransportation { instance, attribute, transportation },
        16 InteractionTransportationChanged { class, transportation },
        17 InteractionTransportation { federate, class, transportation },
        32 Ownership { notice, instance, attributes, tag },
        33 Divested { instance, attributes, unwanted },
        34 OwnershipReport { instance, owners },
        35 Fenced,
        40 RegionsCommitted(list),
        41 ObjectRegionSubscription { class, specifications, regions, active, rate },
        42 ObjectRegionUnsubscription { class, regions },
        43 InteractionRegionSubscription { class, specifications, active },
        44 InteractionRegionUnsubscription { class, regions },
        45 RegionDeleted(region),
    }
}
