use super::*;
use crate::Callback;
use crate::content::Piece;
use crate::ddm::receive::RegionsGone;
use crate::declaration::QueuedAdvisory;
use crate::federation::save::QueuedSave;
use crate::message::{LogIndex, Payload, RequestNumber, Stamp};
use crate::object::receive::Received;
use crate::ownership::federate::QueuedNotice;
use crate::ownership::federate::QueuedOwnership;
use crate::time::federate::QueuedTime;
use crate::{
    AttributeHandle, Batch, FederateHandle, InteractionClassHandle, MessageRetractionHandle,
    ObjectInstanceHandle, OwnershipNotice, RegionHandle, Transportation, Values, ValuesBuf,
};

thread_local! {
    /// How often it was looked which message something is.
    pub(super) static LOOKS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

const SENDER: FederateHandle = FederateHandle(1);

fn at(time: i64) -> LogicalTime {
    LogicalTime::integer64(time)
}

/// A message in time-stamp order, as it is received in this order.
fn message(number: u64, time: i64, order: Order) -> QueuedObject {
    let mut message = interaction(0);
    if let QueuedObject::Receive { received, .. } = &mut message {
        received.order = order;
        let values = ValuesBuf::default();
        received.payload = Payload {
            transportation: Transportation::Reliable,
            values: values.values(),
            tag: &[],
            address: None,
            stamp: Some(Stamp {
                time: at(time),
                retraction: Some(number),
            }),
        }
        .keep();
    }
    message
}

fn numbers(delivery: &mut Delivery) -> Vec<u64> {
    let all = std::iter::from_fn(|| delivery.next());
    all.filter_map(|queued| Some(queued.key()?.1)).collect()
}

#[test]
fn a_retracted_message_is_taken_out_wherever_it_waits() {
    let mut delivery = Delivery::default();
    for number in 1..=3 {
        delivery.push_in_time_order(at(5), message(number, 5, Order::TimeStamp));
    }
    delivery.push_in_time_order(at(9), message(4, 9, Order::TimeStamp));
    assert!(delivery.take_message((SENDER, 2), at(5)).is_some());
    assert!(delivery.take_message((SENDER, 2), at(5)).is_none());
    delivery.release(Some(at(5)), Order::TimeStamp, |_| {});
    delivery.push(message(5, 9, Order::Receive));
    assert!(delivery.take_message((SENDER, 1), at(5)).is_some());
    delivery.push(message(6, 9, Order::Receive));
    delivery.push(message(6, 9, Order::Receive));
    delivery.withhold(true);
    delivery.push(message(7, 9, Order::Receive));
    assert!(delivery.take_message((SENDER, 5), at(9)).is_some());
    assert!(delivery.take_message((SENDER, 6), at(9)).is_some());
    assert!(delivery.take_message((SENDER, 6), at(9)).is_some());
    assert!(delivery.take_message((SENDER, 6), at(9)).is_none());
    assert_eq!(numbers(&mut delivery), [3]);
    assert!(delivery.take_message((SENDER, 3), at(5)).is_none());
    delivery.withhold(false);
    assert_eq!(numbers(&mut delivery), [7]);
    assert!(delivery.take_message((SENDER, 4), at(9)).is_some());
    assert!(delivery.is_empty());
    assert_eq!((delivery.bytes(), delivery.withheld_bytes()), (0, 0));
    assert!(delivery.places.is_empty() && !delivery.detour);
}

/// Where data in time-stamp order waits by itself it is as any other message.
#[test]
fn what_waits_where_it_came_is_a_message_as_others_are() {
    let mut delivery = Delivery::default();
    for (number, time) in [(1, 5), (2, 5), (3, 9), (4, 5)] {
        let timed = timed(number, time, 10);
        delivery.push_timed(at(time), timed.bytes(), || timed);
        delivery.push_in_time_order(at(time), message(10 + number, time, Order::TimeStamp));
    }
    let one = timed(1, 5, 10).bytes() + Queued::from(message(1, 5, Order::TimeStamp)).bytes();
    assert_eq!((delivery.withheld_bytes(), delivery.bytes()), (4 * one, 0));
    let taken = delivery.take_message((SENDER, 2), at(5)).expect("it waits");
    assert_eq!(taken.message(), Some((SENDER, 2)));
    assert_eq!(delivery.data(), 7);
    let saved = delivery.save().in_time_order;
    let numbers_saved = saved.iter().map(|(time, queued)| match queued {
        crate::saved::delivery::Queued::Data { data, .. } => {
            let stamp = data.borrow().body.payload().and_then(|p| p.stamp);
            let stamp = stamp.expect("it has one");
            assert_eq!(stamp.time, *time);
            stamp.retraction.expect("it has one")
        }
        other => panic!("{other:?}"),
    });
    assert_eq!(numbers_saved.collect::<Vec<_>>(), [1, 11, 12, 4, 14, 3, 13]);
    delivery.release(Some(at(5)), Order::TimeStamp, |_| {});
    assert_eq!(delivery.lengths(), (0, 7));
    assert_eq!(delivery.first_timed().map(Timed::time), Some(at(5)));
    assert!(delivery.first_timed().is_some());
    delivery.drop_timed();
    // Which moves all that was released.
    assert!(delivery.take_message((SENDER, 4), at(5)).is_some());
    delivery.end_time_order();
    assert_eq!(delivery.lengths(), (3, 2));
    assert_eq!(numbers(&mut delivery), [11, 12, 14]);
    delivery.release(None, Order::Receive, |_| {});
    assert!(
        delivery
            .first_timed()
            .is_some_and(|t| t.order == Order::Receive)
    );
    assert_eq!((delivery.lengths(), delivery.withheld_bytes()), ((2, 0), 0));
    assert_eq!(numbers(&mut delivery), [3, 13]);
    assert_eq!(delivery.bytes(), 0);
}

#[test]
fn messages_are_counted_wherever_they_wait() {
    let mut delivery = Delivery::default();
    delivery.withhold(true);
    delivery.push(interaction(0));
    delivery.withhold(false);
    delivery.push_in_time_order(at(5), message(1, 5, Order::TimeStamp));
    assert_eq!(delivery.lengths(), (1, 1));
    delivery.release(Some(at(5)), Order::TimeStamp, |_| {});
    assert_eq!(delivery.lengths(), (1, 1), "behind what was withheld");
    delivery.hold_for_save(true);
    assert_eq!(delivery.lengths(), (1, 1), "while a save is made");
}

/// Looks at messages for the retraction of every second one of so many, in receive order, as
/// long as more come and others are delivered.
fn looks(messages: u64) -> u64 {
    let mut delivery = Delivery::default();
    for number in 1..=messages {
        delivery.push(message(number, 9, Order::Receive));
    }
    LOOKS.set(0);
    for n in 1..=messages / 2 {
        let more = message(messages + n, 9, Order::Receive);
        delivery.push(more);
        let number = messages / 2 + n;
        assert!(delivery.take_message((SENDER, number), at(9)).is_some());
        assert!(delivery.next().is_some());
    }
    let stale = delivery.places.len();
    assert!(stale as u64 <= 2 * messages + 64, "{stale} places");
    LOOKS.get()
}

#[test]
fn a_retraction_does_not_look_at_all_that_waits() {
    let (few, many) = (looks(200), looks(2_000));
    assert!(many < 12 * few, "{few} looks for 200, {many} for 2,000");
}

fn interaction(tag: usize) -> QueuedObject {
    QueuedObject::Receive {
        class: InteractionClassHandle::from_raw(1),
        received: Received {
            sender: FederateHandle(1),
            sender_applied: LogIndex(1),
            payload: Payload {
                transportation: Transportation::Reliable,
                values: ValuesBuf::default().values(),
                tag: &vec![0; tag],
                address: None,
                stamp: None,
            }
            .keep(),
            order: Order::Receive,
            transportation: Transportation::Reliable,
        },
    }
}

/// The same as data as most is.
fn plain(tag: usize) -> Plain {
    let mut batch = Batch::default();
    batch.refill(&vec![0; tag]);
    let (tag, values) = batch.bytes().split_at(tag);
    let values = Values::parse(values).unwrap();
    Plain {
        piece: Piece::of(&batch, values, tag).expect("it is of the batch"),
        what: 1,
        sender_applied: LogIndex(1),
        sender: FederateHandle(1),
        transportation: Transportation::Reliable,
        is_update: false,
    }
}

/// The same in time-stamp order.
fn timed(number: u64, time: i64, tag: usize) -> Timed {
    let plain = plain(tag);
    Timed {
        piece: plain.piece,
        what: plain.what,
        sender_applied: plain.sender_applied,
        retraction: MessageRetractionHandle::new(SENDER, number),
        bits: at(time).to_bits(),
        of: at(time).time_type(),
        order: Order::TimeStamp,
        transportation: plain.transportation,
        is_update: plain.is_update,
    }
}

/// One of each kind, with this number of bytes in what it holds.
fn of_each_kind(bytes: usize) -> Vec<Queued> {
    let first = Callback::SynchronizationPointRegistered {
        label: "n".repeat(bytes),
        failure: None,
    };
    let mut all: Vec<Queued> = vec![first.into()];
    while let Some(next) = following(&all[all.len() - 1], bytes) {
        all.push(next);
    }
    all
}

/// The kind after this one. A kind that is missing here does not compile.
fn following(kind: &Queued, bytes: usize) -> Option<Queued> {
    let instance = ObjectInstanceHandle::new(FederateHandle(1), 1);
    let text = "n".repeat(bytes);
    let tag = vec![0; bytes];
    let attributes = vec![AttributeHandle::from_raw(1); bytes / size_of::<AttributeHandle>()];
    let region = RegionHandle::new(FederateHandle(1), 1);
    Some(match kind {
        Queued::Federation(_) => {
            QueuedAdvisory::Interactions(InteractionClassHandle::from_raw(1), true).into()
        }
        Queued::Declaration(_) => Queued::Plain(plain(bytes)),
        Queued::Plain(_) => Queued::Timed(timed(1, 5, bytes)),
        Queued::Timed(_) => interaction(bytes).into(),
        Queued::Object(queued) => match queued {
            QueuedObject::Receive { .. } => match interaction(bytes) {
                QueuedObject::Receive { received, .. } => {
                    QueuedObject::Reflect { instance, received }.into()
                }
                other => unreachable!("{other:?}"),
            },
            QueuedObject::Reflect { .. } => QueuedObject::NamesReserved {
                names: vec![text],
                multiple: false,
                succeeded: true,
            }
            .into(),
            QueuedObject::NamesReserved { .. } => QueuedObject::Discover(instance).into(),
            QueuedObject::Discover(_) => QueuedObject::Remove {
                instance,
                tag,
                producer: FederateHandle(1),
                stamp: None,
                order: Order::Receive,
            }
            .into(),
            QueuedObject::Remove { .. } => QueuedObject::Provide((instance, tag, 0)).into(),
            QueuedObject::Provide(_) => QueuedObject::Transportation(Box::new(
                crate::message::object::Entry::AttributeTransportationChanged {
                    instance,
                    attributes,
                    transportation: Transportation::Reliable,
                },
            ))
            .into(),
            QueuedObject::Transportation(_) => QueuedObject::Scope {
                instance,
                attributes,
                inside: true,
            }
            .into(),
            QueuedObject::Scope { .. } => QueuedObject::Updates {
                instance,
                attributes: vec![],
                rate: Some(text.into()),
            }
            .into(),
            QueuedObject::Updates { .. } => QueuedOwnership::Notice(Box::new(QueuedNotice {
                notice: OwnershipNotice::Acquired,
                instance,
                attributes,
                tag: vec![],
                index: LogIndex(1),
                as_of: RequestNumber(1),
            }))
            .into(),
        },
        Queued::Ownership(QueuedOwnership::Notice(_)) => QueuedOwnership::Report(
            instance,
            Box::new(Callback::InformAttributeOwnership {
                instance,
                attributes,
                owner: None,
            }),
        )
        .into(),
        Queued::Ownership(QueuedOwnership::Report(..)) => RegionsGone {
            first: region,
            last: region,
        }
        .into(),
        Queued::Ddm(_) => QueuedTime::Constrained.into(),
        Queued::Time(_) => QueuedSave::new(Callback::RestoreRequested {
            label: text,
            succeeded: true,
        })
        .into(),
        Queued::Save(_) => return None,
    })
}

#[test]
fn everything_that_waits_is_counted_with_what_it_holds() {
    const HELD: usize = 4_000;
    for (empty, full) in of_each_kind(0).into_iter().zip(of_each_kind(HELD)) {
        assert!(empty.bytes() >= size_of::<Queued>(), "{empty:?}");
        let holds_nothing = matches!(
            full,
            Queued::Declaration(_)
                | Queued::Object(QueuedObject::Discover(_))
                | Queued::Ddm(_)
                | Queued::Time(_)
        );
        let more = full.bytes() - empty.bytes();
        assert_eq!(more >= HELD, !holds_nothing, "{full:?}");
    }
}

#[test]
fn bytes_are_those_of_what_waits() {
    let mut delivery = Delivery::default();
    delivery.push(interaction(0));
    let empty = delivery.bytes();
    delivery.push(QueuedAdvisory::Interactions(
        InteractionClassHandle::from_raw(1),
        true,
    ));
    delivery.push_plain(plain(1_000));
    delivery.push(interaction(10));
    let advisory = size_of::<Queued>();
    assert_eq!(delivery.bytes(), 3 * empty + advisory + 1_010);
    let long = |q: &Queued| q.bytes() > empty + 500;
    delivery.withdraw(long);
    assert_eq!(delivery.bytes(), 2 * empty + advisory + 10);
    assert!(matches!(delivery.next(), Some(Queued::Object(_))));
    assert_eq!(delivery.bytes(), empty + advisory + 10);
    assert!(matches!(delivery.next(), Some(Queued::Declaration(_))));
    assert_eq!(delivery.bytes(), empty + 10);
    delivery.end();
    delivery.push(interaction(10));
    assert_eq!((delivery.bytes(), delivery.has_next()), (0, false));
}

#[test]
fn what_was_withheld_keeps_its_place_among_the_others() {
    let mut delivery = Delivery::default();
    let discovery = |n| {
        let instance = ObjectInstanceHandle::new(FederateHandle(1), n);
        QueuedObject::Discover(instance)
    };
    let mut came: Vec<String> = Vec::new();
    let mut push = |delivery: &mut Delivery, queued: QueuedObject| {
        came.push(format!("{queued:?}"));
        match queued {
            QueuedObject::Receive { received, .. } if delivery.is_straight() => {
                delivery.push_plain(plain(received.payload.content.bytes()));
            }
            queued => delivery.push(queued),
        }
    };
    push(&mut delivery, discovery(1));
    push(&mut delivery, interaction(1));
    delivery.withhold(true);
    push(&mut delivery, discovery(2));
    push(&mut delivery, interaction(2));
    delivery.withhold(false);
    delivery.withhold(true);
    push(&mut delivery, discovery(3));
    assert!(delivery.withheld_bytes() > 0);
    delivery.withhold(false);
    push(&mut delivery, interaction(3));
    assert_eq!((delivery.len(), delivery.withheld_bytes()), (6, 0));
    let delivered = std::iter::from_fn(|| delivery.next()).map(|queued| match queued {
        Queued::Object(queued) => format!("{queued:?}"),
        other => panic!("{other:?}"),
    });
    assert_eq!(delivered.collect::<Vec<_>>(), came);
    assert_eq!((delivery.bytes(), delivery.detour), (0, false));
}
