//! Any message, for property tests. Complete by construction: the rooms' messages are made from their
//! declarations in `starling_core::message`, a struct of all its fields, and another enum's variant
//! that is not listed leaves a `match` without an arm.

use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;
use starling_core::message::*;
use starling_core::{
    Advance, AttributeHandle, Counters, DimensionHandle, Divestiture, Exception, ExceptionKind,
    FederateHandle, InstanceSwitches, InteractionClassHandle, LogicalTime, LogicalTimeInterval,
    ObjectClassHandle, ObjectInstanceHandle, Owner, OwnershipNotice, RegionHandle, RestoreFailure,
    RestoreState, RestoreStatus, SaveFailure, SaveStatus, Services, SynchronizationPointFailure,
    Transportation,
};
use starling_wire::{LinkNotice, LinkRequest, OnLink};
use std::fmt::Debug;
use std::sync::Arc;

/// What there is a strategy for.
pub trait Any: Debug + Clone + Sized + 'static {
    /// Any value.
    fn any() -> BoxedStrategy<Self>;
    /// A list of such; short, to keep cases small.
    fn list() -> BoxedStrategy<Vec<Self>> {
        vec(Self::any(), 0..4).boxed()
    }
}

/// Any value of the type that is asked for.
pub fn any_of<T: Any>() -> BoxedStrategy<T> {
    T::any()
}

impl Any for Counters {
    fn any() -> BoxedStrategy<Self> {
        any::<[u64; Counters::NAMES.len()]>()
            .prop_map(Counters::of)
            .boxed()
    }
}

macro_rules! plain {
    ($($type:ty),*) => {$(
        impl Any for $type {
            fn any() -> BoxedStrategy<Self> {
                proptest::prelude::any::<$type>().boxed()
            }
        }
    )*};
}
plain!(bool, u32, u64, ());

/// Bytes come long enough for lengths of two bytes.
impl Any for u8 {
    fn any() -> BoxedStrategy<Self> {
        proptest::prelude::any::<u8>().boxed()
    }
    fn list() -> BoxedStrategy<Vec<Self>> {
        vec(Self::any(), 0..200).boxed()
    }
}

impl Any for String {
    fn any() -> BoxedStrategy<Self> {
        ".{0,8}".boxed()
    }
}

impl<T: Any> Any for Vec<T> {
    fn any() -> BoxedStrategy<Self> {
        T::list()
    }
}

impl<T: Any> Any for Option<T> {
    fn any() -> BoxedStrategy<Self> {
        of(T::any()).boxed()
    }
}

impl<T: Any> Any for Box<T> {
    fn any() -> BoxedStrategy<Self> {
        T::any().prop_map(Box::new).boxed()
    }
}

impl<T: Any> Any for Arc<T> {
    fn any() -> BoxedStrategy<Self> {
        T::any().prop_map(Arc::new).boxed()
    }
}

impl Any for Arc<[u8]> {
    fn any() -> BoxedStrategy<Self> {
        u8::list().prop_map(Arc::from).boxed()
    }
}

impl<A: Any, B: Any> Any for (A, B) {
    fn any() -> BoxedStrategy<Self> {
        (A::any(), B::any()).boxed()
    }
}

impl<A: Any, B: Any, C: Any> Any for (A, B, C) {
    fn any() -> BoxedStrategy<Self> {
        (A::any(), B::any(), C::any()).boxed()
    }
}

macro_rules! made_of {
    ($($number:ty: $($type:ident $make:expr),*;)*) => {$($(
        impl Any for $type {
            fn any() -> BoxedStrategy<Self> {
                <$number>::any().prop_map($make).boxed()
            }
        }
    )*)*};
}
made_of! {
    u32: FederateHandle FederateHandle, ObjectClassHandle ObjectClassHandle::from_raw,
        InteractionClassHandle InteractionClassHandle::from_raw,
        AttributeHandle AttributeHandle::from_raw, DimensionHandle DimensionHandle::from_raw;
    u64: RequestNumber RequestNumber, LogIndex LogIndex, RegionHandle RegionHandle,
        ObjectInstanceHandle ObjectInstanceHandle;
}

impl Any for Exception {
    fn any() -> BoxedStrategy<Self> {
        let kinds = select(ExceptionKind::ALL.to_vec());
        let fields = (kinds, String::any());
        fields
            .prop_map(|(kind, message)| Exception::new(kind, message))
            .boxed()
    }
}

impl Any for Result<(), Exception> {
    fn any() -> BoxedStrategy<Self> {
        of(Exception::any())
            .prop_map(|e| e.map_or(Ok(()), Err))
            .boxed()
    }
}

impl Any for Range {
    fn any() -> BoxedStrategy<Self> {
        let bounds = (DimensionHandle::any(), u32::any(), u32::any());
        let range = bounds.prop_map(|(dimension, a, b)| {
            let lower = a.min(b).min(u32::MAX - 1);
            let upper = a.max(b).max(lower + 1);
            Range {
                dimension,
                lower,
                upper,
            }
        });
        range.boxed()
    }
}

/// Whole times; a floating-point interval may also be infinite.
macro_rules! times {
    ($($type:ident),*) => {$(
        impl Any for $type {
            fn any() -> BoxedStrategy<Self> {
                let integer = proptest::prelude::any::<i64>().prop_map($type::integer64);
                let float = proptest::num::f64::ANY.prop_map(|f| $type::float64(f));
                let float = float.prop_map(|f| f.unwrap_or($type::integer64(0)));
                prop_oneof![integer, float].boxed()
            }
        }
    )*};
}
times!(LogicalTime, LogicalTimeInterval);

/// Numbers of messages begin with 1.
impl Any for Stamp {
    fn any() -> BoxedStrategy<Self> {
        let fields = (LogicalTime::any(), of(1u64..));
        fields
            .prop_map(|(time, retraction)| Stamp { time, retraction })
            .boxed()
    }
}

/// The strategy for a field: by its type, whatever its name.
macro_rules! field {
    ($field:ident) => {
        any_of()
    };
}

/// Structs with all their fields.
macro_rules! structs {
    ($($($name:ident)::+ $(<$($of:ident),*>)? { $($field:ident),* })*) => {$(
        impl $(<$($of: Any),*>)? Any for $($name)::+ $(<$($of),*>)? {
            fn any() -> BoxedStrategy<Self> {
                ($(field!($field),)*).prop_map(|($($field,)*)| $($name)::+ { $($field),* }).boxed()
            }
        }
    )*};
}

impl<N: Any> Any for declaration::Snapshot<N> {
    fn any() -> BoxedStrategy<Self> {
        let fields = (any_of(), any_of(), any_of());
        let all = fields.prop_map(|(objects, interactions, regions)| declaration::Snapshot {
            objects,
            interactions,
            regions,
        });
        all.boxed()
    }
}

impl<N: Any> Any for ddm::Snapshot<N> {
    fn any() -> BoxedStrategy<Self> {
        let fields = (any_of(), any_of(), any_of());
        let all = fields.prop_map(|(regions, objects, interactions)| ddm::Snapshot {
            regions,
            objects,
            interactions,
        });
        all.boxed()
    }
}

/// Enums with all their variants, the last without a comma.
macro_rules! enums {
    ($($($name:ident)::+ { $($variant:ident $({ $($field:ident),* })? $(($inner:ident))?),* })*) => {$(
        impl Any for $($name)::+ {
            fn any() -> BoxedStrategy<Self> {
                type It = $($name)::+;
                let _all_are_listed = |it: &It| match it {
                    $(It::$variant { .. } => {})*
                };
                prop_oneof![$(variant!(It $variant $({ $($field),* })? $(($inner))?)),*].boxed()
            }
        }
    )*};
}

macro_rules! variant {
    ($it:ident $variant:ident) => {
        Just($it::$variant)
    };
    ($it:ident $variant:ident { $($field:ident),* }) => {
        ($(field!($field),)*).prop_map(|($($field,)*)| $it::$variant { $($field),* })
    };
    ($it:ident $variant:ident ($inner:ident)) => {
        any_of().prop_map($it::$variant)
    };
}

/// The messages of the rooms, as `starling-core` declares them: none can be missing.
macro_rules! rooms {
    ($($room:ident { $($name:ident),* } $messages:ident)*) => {$(
        const _: () = {
            use starling_core::message::$room::{$($name),*};
            starling_core::$messages!(numbered);
        };
    )*};
}

macro_rules! numbered {
    ($($name:ident $what:literal {
        $($number:literal $variant:ident $({ $($field:ident),* })? $(($inner:ident))?,)*
    })*) => {
        enums! { $($name { $($variant $({ $($field),* })? $(($inner))?),* })* }
    };
}

rooms! {
    federation { Request, Entry } federation_messages
    save { Request, Entry } save_messages
    declaration { Request, Entry } declaration_messages
    object { Request, Entry } object_messages
    ownership { Request, Entry } ownership_messages
    time { Request, Notice } time_messages
    ddm { Request, Entry } ddm_messages
    mom { Request, Entry } mom_messages
}

structs! {
    PeerInfo { pid, host, program, version, path }
    Request { applied, fenced, body }
    TimeRequest { applied, body }
    Doing { calls, service, callback }
    Statistics { classes, senders, ways, peers, calls }
    statistics::Volume { messages, bytes }
    statistics::ClassTraffic { class, is_interaction, transportation, sent, received }
    statistics::SenderTraffic { sender, transportation, received }
    statistics::WayTraffic { way, sent, received }
    statistics::PeerTraffic { federate, way, sent, received }
    statistics::CallTimes { name, is_callback, total_ns, longest_ns, buckets }
    FederateStatistics { federation, handle, name, told }
    Question { federation, federate, subject }
    Finding { link, holds, detail }
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
    Cause { sender, request }
    Entry { index, cause, body }
    Watermark { index, requests }
    Snapshot {
        handle, name, federation, time_implementation, services, index, modules, federates, declarations
    }
    ModuleSource { designator, text }
    FederateInformation { handle, name, kind }
    SubscribedAttribute { attribute, active, rate }
    InstanceSwitches { scope, relevance }
    RestoreState { before, after, status }
    Discovery { instance, registered_class, known_class, name }
    RegionSpecification { region, ranges }
    AttributeRegions { attributes, regions }
    Services { mom, time, ddm, rates }
    mom::InstanceCounts { registered, deleted, discovered, removed }
    mom::Switches { convey_regions, convey_producer, report_services, report_exceptions }
    mom::Invocation { service, chapter, supplied, returned, exception }
    mom::Counts {
        receive_order_length, time_stamp_order_length, updates_sent, instances, updates,
        reflections, interactions_sent, interactions_received, instances_updated,
        instances_reflected
    }
    RegionSubscription<C, A, N> { region, class, attribute, active, rate, since }
}

enums! {
    ToExecutive {
        CreateFederation { federation, modules, mim, time_implementation },
        DestroyFederation { federation },
        ListFederations,
        Join { name, kind, federation, modules },
        Request(request),
        Time(request),
        Part(part),
        PartTooLarge { applied, bytes },
        Leaves { why },
        QueryStatus,
        ResignFederate { federation, federate },
        Stop { force },
        QueryWhy(question),
        Measured(statistics),
        QueryStatistics,
        Counted { counters, doing, for_ms, withheld_bytes_max }
    }
    FromExecutive {
        Done(result),
        Federations(list),
        Joined(snapshot),
        JoinRefused(exception),
        Entry(entry),
        Watermark(mark),
        Time(notice),
        Removed(why),
        Restored(restored),
        Status(list),
        Why(findings),
        Statistics(list)
    }
    LinkRequest {
        Offer { number },
        Relay { to, frames },
        Path { to, shared, why },
        Datagrams,
        Direct { all },
        Endpoint { address, port, why },
        Rest { to, at, frames },
        Over { to, why },
        Again { to },
        Site,
        Pass { to, frames },
        BestEffort { to, by },
        Sent { messages },
        Dropped { to, messages }
    }
    LinkNotice {
        Seated { number, seat, mark },
        Refused { number, why },
        Peer { mark, seat, federate },
        Gone { mark },
        Relayed { from, frames },
        Datagrams { port, secret },
        NoDatagrams { why },
        Listen { mark, here },
        NoDirect { why },
        Direct { mark, federate, address, port, secret },
        Broken { mark },
        Rest { from, at, frames },
        Site,
        Near { federate, near },
        Passed { from, frames },
        Lost { messages },
        Sent { messages }
    }
    OnLink {
        Hello { version, mark, proof, compression },
        Confirm { position },
        Group { number, address, port, secret },
        Joined { number, port, why },
        Hears { number, on },
        Turn { number, turn, sent, grouped },
        Ends { number }
    }
    RequestBody {
        PathChanged,
        Federation(request),
        Declaration(request),
        Object(request),
        Ownership(request),
        Ddm(request),
        Mom(request)
    }
    EntryBody {
        Fenced,
        EpochBegan,
        Federation(entry),
        Declaration(entry),
        Object(entry),
        Ownership(entry),
        Ddm(entry),
        Mom(entry)
    }

    ResignAction {
        UnconditionallyDivestAttributes,
        DeleteObjects,
        CancelPendingOwnershipAcquisitions,
        DeleteObjectsThenDivest,
        CancelThenDeleteThenDivest,
        NoAction
    }
    SynchronizationPointFailure { LabelNotUnique, SetMemberNotJoined }

    SaveFailure {
        RtiUnableToSave,
        FederateReportedFailureDuringSave,
        FederateResignedDuringSave,
        RtiDetectedFailureDuringSave,
        SaveTimeCannotBeHonored,
        SaveAborted
    }
    SaveStatus {
        NoSaveInProgress,
        FederateInstructedToSave,
        FederateSaving,
        FederateWaitingForFederationToSave
    }
    RestoreFailure {
        RtiUnableToRestore,
        FederateReportedFailureDuringRestore,
        FederateResignedDuringRestore,
        RtiDetectedFailureDuringRestore,
        RestoreAborted
    }
    RestoreStatus {
        NoRestoreInProgress,
        FederateRestoreRequestPending,
        FederateWaitingForRestoreToBegin,
        FederatePreparedToRestore,
        FederateRestoring,
        FederateWaitingForFederationToRestore
    }

    Subscription { None, Passive, Active }

    Transportation { Reliable, BestEffort }

    Owner { Rti, Federate(federate) }
    Divestiture { Unconditional, Negotiated, Confirmed, IfWanted }
    OwnershipNotice {
        Acquired,
        Unavailable,
        AcquisitionCancelled,
        ConfirmationRequested,
        ReleaseRequested,
        AssumptionRequested
    }

    Advance { Time, TimeAvailable, NextMessage, NextMessageAvailable, FlushQueue }
}

mod saved;
