//! Any saved federation execution.

use super::*;
use proptest::collection::{btree_map, btree_set};
use starling_core::message::{Data, DataBody, OwnedData, Payload};
use starling_core::saved;
use starling_core::{MessageRetractionHandle, Order, SavedFederation, TimeType, ValuesBuf};
use starling_wire::Description;
use std::collections::{BTreeMap, BTreeSet};

impl<K: Any + Ord, V: Any> Any for BTreeMap<K, V> {
    fn any() -> BoxedStrategy<Self> {
        btree_map(K::any(), V::any(), 0..3).boxed()
    }
}

impl<T: Any + Ord> Any for BTreeSet<T> {
    fn any() -> BoxedStrategy<Self> {
        btree_set(T::any(), 0..3).boxed()
    }
}

impl Any for Arc<[Range]> {
    fn any() -> BoxedStrategy<Self> {
        Range::list().prop_map(Arc::from).boxed()
    }
}

impl Any for MessageRetractionHandle {
    fn any() -> BoxedStrategy<Self> {
        u64::any().prop_map(MessageRetractionHandle).boxed()
    }
}

impl Any for Result<Vec<AttributeHandle>, Exception> {
    fn any() -> BoxedStrategy<Self> {
        let either = (of(Exception::any()), any_of());
        either
            .prop_map(|(thrown, attributes)| thrown.map_or(Ok(attributes), Err))
            .boxed()
    }
}

impl Any for OwnedData {
    fn any() -> BoxedStrategy<Self> {
        let head = (
            FederateHandle::any(),
            RequestNumber::any(),
            LogIndex::any(),
            InteractionClassHandle::any(),
        );
        let payload = (
            Transportation::any(),
            u8::list(),
            u8::list(),
            Option::<Stamp>::any(),
        );
        let data = (head, payload).prop_map(|(head, (transportation, tag, value, stamp))| {
            let (sender, requests, index, class) = head;
            let mut values = ValuesBuf::default();
            values.push(0, &value);
            let data = Data {
                sender,
                after: After { requests, index },
                body: DataBody::Interaction {
                    class,
                    payload: Payload {
                        transportation,
                        values: values.values(),
                        tag: &tag,
                        address: None,
                        stamp,
                    },
                },
            };
            data.to_owned()
        });
        data.boxed()
    }
}

enums! {
    Order { Receive, TimeStamp }
    TimeType { Integer64, Float64 }
}

structs! {
    SavedFederation { federation, label, time, execution, federates }
    Description { version, federation, label, time, federates }
    Restored { snapshot, part }
}

mod whole {
    use super::*;
    use saved::{Execution, Federate};
    structs! {
        Execution { federation, declaration, object, ownership, ddm, time, mom, services, log }
        Federate { federation, declaration, object, ownership, ddm, time, mom, log, delivery }
    }
}

mod federation_room {
    use super::*;
    use saved::federation::{Execution, Federate, Member, SynchronizationPoint};
    structs! {
        Execution { name, modules, members, last_federate, synchronization_points }
        Member { name, kind, resign_directive }
        SynchronizationPoint { registrar, tag, for_all, waiting, achieved }
        Federate { handle, name, federation, members, announced, resign_directive, resigned }
    }
}

mod declaration_room {
    use super::*;
    use saved::declaration::{Execution, Federate, Pace, Publications, Said};
    structs! {
        Execution { subscriptions, publications }
        Publications { objects, interactions }
        Federate {
            subscriptions, mine, published, published_interactions, registration, interactions, pace
        }
        Said { queued, delivered }
        Pace { now_us, sent }
    }

    impl<C: Any + Ord> Any for saved::declaration::Advisories<C> {
        fn any() -> BoxedStrategy<Self> {
            (any_of(), any_of())
                .prop_map(|(enabled, said)| Self { enabled, said })
                .boxed()
        }
    }
}

mod object_room {
    use super::*;
    use saved::object::{Execution, Federate, Instance, KnownInstance, Told, Wanted};
    structs! {
        Execution { instances, last, reserved, transportations, told, interactions_sent, refused, behind_deletion }
        Instance { class, name, owners, updates, known, locally_deleted, transportations }
        Told { switches, scope, relevance, touched }
        Federate { instances, reserved, last_instance, wanted, transportations, switches, locally_deleted, counted }
        KnownInstance {
            registered_class, known_class, name, owned, transportations, orders, in_scope, updated, reflected, discovered,
            removed, gone
        }
        Wanted { instance, tag, acquisitions }
    }

    impl<H: Any + Ord> Any for saved::object::TransportationChanges<H> {
        fn any() -> BoxedStrategy<Self> {
            (any_of(), any_of())
                .prop_map(|(changed, changing)| Self { changed, changing })
                .boxed()
        }
    }
}

mod ownership_room {
    use super::*;
    use saved::ownership::{Asked, Candidate, Execution, Federate, OwnTransfer, Transfer};
    structs! {
        Execution { transfers }
        Transfer { divesting, asked, tag, candidates, offered }
        Candidate { federate, if_available, tag, release_at }
        Federate { transfers, acquisitions, release_seen, asked, decided }
        OwnTransfer { state, request }
        Asked { how, instance, attributes }
    }
    enums! {
        saved::ownership::TransferState {
            Divesting, WillingToAcquire, AcquisitionPending, TryingToCancel
        }
    }
}

mod ddm_room {
    use super::*;
    use saved::ddm::{Execution, Federate, OwnRegion};
    structs! {
        Execution { committed, associations }
        Federate { own, last_region, associations, conveyed }
        OwnRegion { ranges, committed, told, sent }
    }
}

mod time_room {
    use super::*;
    use saved::time::{Clock, Deleted, Deletion, Execution, Federate, FederateTime, Sent};
    structs! {
        Execution { time_type, federates, messages, retractable, deletions, unsettled }
        FederateTime { clock, constrained, over, enabling, constraining, released, still_at, queue }
        Clock { time, exclusive, lookahead, floor, shrinks, advance }
        Deletion { message, class, waiting, knew, then }
        Federate {
            time_type, clock, passed_over, enabling, constraint, asynchronous, last_number, sent, delivered,
            deleted, bounds, orders
        }
        Sent { time, deletes }
        Deleted { kept, restored }
    }
    enums! {
        saved::time::Bound { Never, At { time, strict } }
        saved::time::Constraint { Off, Pending, Begun, On }
    }
}

mod mom_room {
    use super::*;
    use saved::mom::{Execution, Federate, Managed};
    structs! {
        Execution { auto_provide, federates }
        Managed { modules, asynchronous, switches, reports, period_s, waiting, again }
        Federate { switches, counts }
    }
    enums! {
        saved::mom::Waiting { Update(attributes), Report(counted) }
        saved::mom::Counted {
            ObjectInstancesUpdated, ObjectInstancesReflected, UpdatesSent, ReflectionsReceived, InteractionsSent,
            InteractionsReceived
        }
    }
}

mod log_room {
    use super::*;
    use saved::log::{Execution, Federate, Sender, Stream};
    structs! {
        Execution { index, settled, epoch, streams }
        Stream { requests, last_request_at, told }
        Federate { applied, epoch, requests, fenceable, control, senders, latest }
        Sender { requests, fence, ended, held }
    }
    enums! {
        saved::log::Control { Entry(entry), Watermark(mark), Time(notice), Data(data) }
    }
}

mod what_waits {
    use super::*;
    use saved::delivery::{Federate, Queued};
    structs! {
        Federate { queue, in_time_order, withholding, ended }
    }
    enums! {
        saved::delivery::QueuedTime {
            Regulating { time, strict }, Constrained, Granted(time), RequestRetraction(message)
        }
    }

    impl Any for Queued {
        fn any() -> BoxedStrategy<Self> {
            let _all_are_listed = |it: &Queued| match it {
                Queued::Federation(..)
                | Queued::Registration(..)
                | Queued::Interactions(..)
                | Queued::Object(..)
                | Queued::Discover(..)
                | Queued::Provide(..)
                | Queued::Data { .. }
                | Queued::Remove { .. }
                | Queued::Ownership { .. }
                | Queued::RegionsGone { .. }
                | Queued::Time(..) => {}
            };
            prop_oneof![
                any_of().prop_map(Queued::Federation),
                any_of().prop_map(|(class, on)| Queued::Registration(class, on)),
                any_of().prop_map(|(class, on)| Queued::Interactions(class, on)),
                any_of().prop_map(Queued::Object),
                any_of().prop_map(Queued::Discover),
                any_of().prop_map(Queued::Provide),
                any_of().prop_map(|(data, order)| Queued::Data { data, order }),
                any_of().prop_map(|(entry, order)| Queued::Remove { entry, order }),
                any_of().prop_map(|(entry, index, as_of)| Queued::Ownership {
                    entry,
                    index,
                    as_of
                }),
                any_of().prop_map(|(first, last)| Queued::RegionsGone { first, last }),
                any_of().prop_map(Queued::Time),
            ]
            .boxed()
        }
    }
}
