use super::*;
use crate::message::{Payload, federation};
use crate::{InteractionClassHandle, ValuesBuf};

const SENDER: FederateHandle = FederateHandle(2);

fn ordering() -> Ordering {
    let members = [1, 2].map(|f| (FederateHandle(f), RequestNumber(0)));
    Ordering::new(FederateHandle(1), LogIndex(5), members)
}

/// A frame that waits for this index.
fn hold(ordering: &mut Ordering, index: u64, bytes: usize) -> Result<Now, ProtocolError> {
    let mut values = ValuesBuf::default();
    values.push(0, &vec![0; bytes]);
    let data = Data {
        sender: SENDER,
        after: After {
            requests: RequestNumber(0),
            index: LogIndex(index),
        },
        body: DataBody::Interaction {
            class: InteractionClassHandle::from_raw(0),
            payload: Payload {
                transportation: Transportation::Reliable,
                values: values.values(),
                tag: &[],
                address: None,
                stamp: None,
            },
        },
    };
    ordering.data(&data, DataPath::Direct)
}

#[test]
fn what_waits_is_bounded_in_bytes_whatever_the_number_of_frames() {
    const FRAMES: usize = 10_000;
    let held = |bytes| {
        let mut ordering = ordering();
        ordering.held_bytes_max = 100_000;
        for held in 0..FRAMES {
            if let Err(refused) = hold(&mut ordering, 6, bytes) {
                return (held, refused.to_string());
            }
        }
        panic!("{FRAMES} frames of {bytes} bytes are held");
    };
    let (many, _) = held(10);
    let (fewer, refused) = held(10_000);
    assert!((5..10).contains(&fewer), "{fewer} frames of 10,000 bytes");
    assert!(many > 10 * fewer, "{many} frames of 10 bytes");
    assert!(refused.contains("wait for log index 6"), "{refused}");
    assert!(refused.contains("at most 100000 bytes"), "{refused}");
}

#[test]
fn one_frame_is_held_whatever_its_size_and_room_is_free_again_when_it_goes() {
    let mut ordering = ordering();
    ordering.held_bytes_max = 1_000;
    for index in 6..9 {
        assert_eq!(hold(&mut ordering, index, 5_000).unwrap(), Now::Wait);
        assert!(hold(&mut ordering, index, 0).is_err());
        let requests = Vec::new();
        let index = LogIndex(index);
        ordering.watermark(Watermark { index, requests }).unwrap();
        assert!(matches!(ordering.next(), Some(Ordered::Data(..))));
        assert_eq!(ordering.next(), None);
    }
}

#[test]
fn a_frame_is_next_as_long_as_its_sender_is_there_and_nothing_of_it_waits() {
    const RELIABLE: (Transportation, DataPath) = (Transportation::Reliable, DataPath::Executive);
    let mut ordering = ordering();
    let after = |requests, index| After {
        requests: RequestNumber(requests),
        index: LogIndex(index),
    };
    for _ in 0..2 {
        assert!(ordering.is_next(SENDER, after(0, 5), RELIABLE));
        assert!(!ordering.is_next(SENDER, after(1, 5), RELIABLE));
        assert!(!ordering.is_next(SENDER, after(0, 6), RELIABLE));
        assert!(!ordering.is_next(FederateHandle(3), after(0, 5), RELIABLE));
    }
    assert!(ordering.is_next(SENDER, after(0, 5), RELIABLE));
    hold(&mut ordering, 6, 1).unwrap();
    assert!(
        !ordering.is_next(SENDER, after(0, 5), RELIABLE),
        "the other is first"
    );
    let mark = Watermark {
        index: LogIndex(6),
        requests: vec![(SENDER, RequestNumber(1))],
    };
    ordering.watermark(mark).unwrap();
    let Some(Ordered::Data(data, _)) = ordering.next() else {
        panic!("its turn has come");
    };
    assert!(ordering.is_next(SENDER, after(1, 6), RELIABLE));
    ordering.hold_back(&data.borrow(), RequestNumber(1));
    assert!(
        !ordering.is_next(SENDER, after(1, 6), RELIABLE),
        "it is held back"
    );
    ordering.take_ahead();
    assert!(ordering.is_next(SENDER, after(1, 6), RELIABLE));
    ordering.begin_epoch(LogIndex(7));
    assert!(
        !ordering.is_next(SENDER, after(1, 6), RELIABLE),
        "of the epoch before"
    );
    ordering.applied = LogIndex(7);
    assert!(ordering.is_next(SENDER, after(1, 7), RELIABLE));
    ordering.forget(SENDER);
    assert!(!ordering.is_next(SENDER, after(1, 7), RELIABLE));
}

/// A restore may give such a handle to somebody again, of whom this has come.
#[test]
fn data_of_handles_that_have_resigned_is_bounded_in_bytes() {
    let mut ordering = ordering();
    ordering.senders.remove(&SENDER);
    assert_eq!(hold(&mut ordering, 6, 1_000).unwrap(), Now::Wait);
    ordering.held_bytes_max = 3 * ordering.ahead_bytes;
    for _ in 0..2 {
        assert_eq!(hold(&mut ordering, 6, 1_000).unwrap(), Now::Wait);
    }
    assert_eq!(hold(&mut ordering, 6, 0).unwrap(), Now::Refuse);
    assert_eq!(ordering.take_ahead().len(), 3);
    assert_eq!(hold(&mut ordering, 6, 1_000).unwrap(), Now::Wait);
    // What it comes after is applied already, so it can't be its next owner's.
    assert_eq!(hold(&mut ordering, 5, 0).unwrap(), Now::Refuse);
}

/// The entry of index 7.
fn put(ordering: &mut Ordering, cause: Option<Cause>, body: EntryBody) {
    let index = LogIndex(7);
    let entry = Arc::new(Entry { index, cause, body });
    ordering.entry(entry).unwrap();
}

#[test]
fn control_that_waits_for_a_fence_is_bounded_in_bytes() {
    let mut ordering = ordering();
    ordering.held_bytes_max = 100_000;
    let request = RequestNumber(1);
    let sender = SENDER;
    put(
        &mut ordering,
        Some(Cause { sender, request }),
        EntryBody::Fenced,
    );
    assert_eq!(ordering.next(), None);
    let entry = |index| {
        let tag = vec![0; 10_000];
        let label = "l".into();
        let body = federation::Entry::SynchronizationPointAnnounced { label, tag }.into();
        let index = LogIndex(index);
        Arc::new(Entry {
            index,
            cause: None,
            body,
        })
    };
    let bytes = Control::Entry(entry(8)).bytes();
    ordering.held_bytes_max = ordering.control_bytes + 2 * bytes;
    ordering.entry(entry(8)).unwrap();
    ordering.entry(entry(9)).expect("exactly that is allowed");
    ordering.held_bytes_max = 100_000;
    let refused = (10..30).find_map(|index| Some((index, ordering.entry(entry(index)).err()?)));
    let (at, refused) = refused.expect("20 entries of 10,000 bytes are held");
    assert!((16..18).contains(&at), "{at}");
    assert!(
        refused.to_string().contains("the fence of federate 2"),
        "{refused}"
    );
    // With the fence all of it goes.
    let fence = Data {
        sender,
        after: After::default(),
        body: DataBody::Fence { request },
    };
    ordering.data(&fence, DataPath::Direct).unwrap();
    assert_eq!(
        std::iter::from_fn(|| ordering.next()).count() as u64,
        at - 7
    );
    assert_eq!(ordering.control_bytes, 0);
}

#[test]
fn data_after_a_request_waits_for_what_it_brings_about_and_not_only_for_its_fences() {
    let mut ordering = ordering();
    let (sender, request) = (SENDER, RequestNumber(1));
    let cause = Some(Cause { sender, request });
    let data = |ordering: &mut Ordering, requests, body| {
        let index = LogIndex(5);
        let after = After { requests, index };
        let data = Data {
            sender,
            after,
            body,
        };
        ordering.data(&data, DataPath::Direct).unwrap()
    };
    ordering
        .watermark(Watermark {
            index: LogIndex(6),
            requests: Vec::new(),
        })
        .unwrap();
    put(&mut ordering, cause, EntryBody::Fenced);
    let fence = DataBody::Fence { request };
    assert_eq!(data(&mut ordering, RequestNumber(0), fence), Now::Wait);
    assert!(
        matches!(ordering.next(), Some(Ordered::Entry(_))),
        "the fences"
    );
    // The entry of what was asked for has not come yet.
    let no_values = ValuesBuf::default();
    let update = Payload {
        transportation: Transportation::Reliable,
        values: no_values.values(),
        tag: &[],
        address: None,
        stamp: None,
    };
    let class = InteractionClassHandle::from_raw(0);
    let sent = DataBody::Interaction {
        class,
        payload: update,
    };
    assert_eq!(data(&mut ordering, request, sent), Now::Wait);
    assert_eq!(ordering.next(), None);
    let index = LogIndex(8);
    let (label, tag) = ("l".into(), Vec::new());
    let body = federation::Entry::SynchronizationPointAnnounced { label, tag }.into();
    let entry = Arc::new(Entry { index, cause, body });
    ordering.entry(entry).unwrap();
    assert!(
        matches!(ordering.next(), Some(Ordered::Entry(_))),
        "what it was"
    );
    assert!(matches!(ordering.next(), Some(Ordered::Data(..))));
}

fn interaction(ordering: &mut Ordering, index: u64) -> Now {
    hold(ordering, index, 1).unwrap()
}

#[test]
fn frames_of_an_older_epoch_are_dropped_and_counted() {
    let mut ordering = ordering();
    assert_eq!(interaction(&mut ordering, 5), Now::Handle);
    // Held when the epoch begins: the first is of the old one, the second of the new one.
    assert_eq!(interaction(&mut ordering, 6), Now::Wait);
    assert_eq!(interaction(&mut ordering, 7), Now::Wait);
    put(&mut ordering, None, EntryBody::EpochBegan);
    assert!(matches!(ordering.next(), Some(Ordered::Entry(_))));
    assert_eq!(ordering.outdated(), 1);
    let Some(Ordered::Data(held, _)) = ordering.next() else {
        panic!("the frame of the new epoch is gone");
    };
    assert_eq!(held.borrow().after.index, LogIndex(7));
    assert_eq!(ordering.next(), None);
    assert_eq!(ordering.senders[&SENDER].held.bytes(), 0);
    // Late on another link.
    assert_eq!(interaction(&mut ordering, 6), Now::Wait);
    assert_eq!((ordering.next(), ordering.outdated()), (None, 2));
    assert_eq!(interaction(&mut ordering, 7), Now::Handle);
}

/// A frame without values of SENDER's, after so many requests and this index.
fn frame(ordering: &mut Ordering, after: (u64, u64), body: DataBody<'_>) -> Now {
    frame_by(DataPath::Direct, ordering, after, body)
}

fn frame_by(
    path: DataPath,
    ordering: &mut Ordering,
    (requests, index): (u64, u64),
    body: DataBody<'_>,
) -> Now {
    let after = After {
        requests: RequestNumber(requests),
        index: LogIndex(index),
    };
    let data = Data {
        sender: SENDER,
        after,
        body,
    };
    ordering.data(&data, path).unwrap()
}

/// With tag `tag`, as data.
fn said(ordering: &mut Ordering, after: (u64, u64), tag: &[u8]) -> Now {
    said_as(
        (Transportation::Reliable, DataPath::Direct),
        ordering,
        after,
        tag,
    )
}

fn said_as(
    (transportation, path): (Transportation, DataPath),
    ordering: &mut Ordering,
    after: (u64, u64),
    tag: &[u8],
) -> Now {
    let no_values = ValuesBuf::default();
    let payload = Payload {
        transportation,
        values: no_values.values(),
        tag,
        address: None,
        stamp: None,
    };
    let class = InteractionClassHandle::from_raw(0);
    frame_by(
        path,
        ordering,
        after,
        DataBody::Interaction { class, payload },
    )
}

/// The tag of what comes out next.
fn next_said(ordering: &mut Ordering) -> Option<Vec<u8>> {
    match ordering.next()? {
        Ordered::Data(data, _) => Some(data.borrow().body.payload()?.tag.to_vec()),
        other => panic!("{other:?}"),
    }
}

/// Whichever of its two numbers is a lie.
const NEVER: [(u64, u64); 3] = [(0, u64::MAX), (u64::MAX, 0), (u64::MAX, u64::MAX)];

fn reach(ordering: &mut Ordering, index: u64, requests: u64) {
    let requests = vec![(SENDER, RequestNumber(requests))];
    let index = LogIndex(index);
    ordering.watermark(Watermark { index, requests }).unwrap();
}

#[test]
fn a_frame_after_what_never_comes_is_in_nobodys_way() {
    for (never, early) in NEVER.into_iter().flat_map(|n| [(n, false), (n, true)]) {
        let mut ordering = ordering();
        assert_eq!(said(&mut ordering, never, b"never"), Now::Wait);
        assert_eq!(said(&mut ordering, (0, 5), b"1"), Now::Handle, "{never:?}");
        assert_eq!(said(&mut ordering, (1, 5), b"2"), Now::Wait);
        assert_eq!(said(&mut ordering, (1, 7), b"3"), Now::Wait);
        let request = RequestNumber(2);
        if early {
            assert_eq!(
                frame(&mut ordering, (1, 7), DataBody::Fence { request }),
                Now::Wait
            );
        }
        assert_eq!(ordering.next(), None);
        reach(&mut ordering, 7, 1);
        let sender = SENDER;
        for (index, body) in [(8, EntryBody::Fenced), (9, EntryBody::EpochBegan)] {
            let cause = Some(Cause { sender, request });
            let index = LogIndex(index);
            let entry = Arc::new(Entry { index, cause, body });
            ordering.entry(entry).unwrap();
        }
        for tag in [b"2", b"3"] {
            assert_eq!(next_said(&mut ordering).unwrap(), tag, "{never:?}");
        }
        if !early {
            assert_eq!(ordering.next(), None, "the fence is waited for");
            assert_eq!(ordering.fence_awaited(), Some(SENDER));
            assert_eq!(
                frame(&mut ordering, (1, 7), DataBody::Fence { request }),
                Now::Wait
            );
        }
        for _ in 0..2 {
            assert!(
                matches!(ordering.next(), Some(Ordered::Entry(_))),
                "{never:?}"
            );
        }
        assert_eq!(ordering.next(), None);
    }
}

#[test]
fn who_is_gone_is_waited_for_no_longer_whatever_it_has_sent() {
    for never in NEVER {
        let mut ordering = ordering();
        assert_eq!(said(&mut ordering, never, b"never"), Now::Wait);
        let (sender, request) = (SENDER, RequestNumber(1));
        put(
            &mut ordering,
            Some(Cause { sender, request }),
            EntryBody::Fenced,
        );
        assert_eq!(ordering.next(), None);
        ordering.link_ended(SENDER);
        assert!(
            matches!(ordering.next(), Some(Ordered::Entry(_))),
            "{never:?}"
        );
        assert_eq!(ordering.next(), None);
        assert_eq!(ordering.forget(SENDER), 1, "it is counted");
    }
}

/// In a new epoch a sender's requests are numbered on from what they were when it was saved.
#[test]
fn what_has_overtaken_a_restore_stands_behind_what_was_sent_before_it() {
    let mut ordering = ordering();
    let (sender, request) = (SENDER, RequestNumber(3));
    assert_eq!(said(&mut ordering, (2, 6), b"old"), Now::Wait);
    assert_eq!(
        frame(&mut ordering, (2, 6), DataBody::Fence { request }),
        Now::Wait
    );
    assert_eq!(said(&mut ordering, (0, 9), b"new"), Now::Wait);
    reach(&mut ordering, 6, 2);
    put(
        &mut ordering,
        Some(Cause { sender, request }),
        EntryBody::Fenced,
    );
    assert_eq!(next_said(&mut ordering).unwrap(), b"old");
    assert!(matches!(ordering.next(), Some(Ordered::Entry(_))));
    assert_eq!(ordering.next(), None);
    assert_eq!(ordering.take_ahead().len(), 1);
}

/// What goes by the executive in datagrams may be overtaken by what takes the path after it, which a request is before. What
/// takes the path is in no common order with what does so in another group.
#[test]
fn best_effort_data_by_the_executive_comes_behind_nothing_newer_of_a_link() {
    let [lossy, reliable] = [Transportation::BestEffort, Transportation::Reliable];
    let [relayed, direct] = [DataPath::Executive, DataPath::Direct];
    let after = |requests| After {
        requests: RequestNumber(requests),
        index: LogIndex(5),
    };
    for (plainly, held) in [(false, false), (true, false), (false, true)] {
        let mut ordering = ordering();
        let say = |ordering: &mut Ordering, how, path, requests| {
            if plainly && ordering.is_next(SENDER, after(requests), (how, path)) {
                return Now::Handle;
            }
            said_as((how, path), ordering, (requests, 5), b"")
        };
        if held {
            assert_eq!(say(&mut ordering, lossy, direct, 2), Now::Wait);
        }
        reach(&mut ordering, 6, 2);
        assert_eq!(ordering.next().is_some(), held);
        for _ in 0..2 {
            // Reliable data overtakes none, nor does what goes the same way.
            for (how, path, requests) in [
                (reliable, direct, 2),
                (lossy, relayed, 2),
                (lossy, relayed, 1),
            ] {
                let late = held && (how, requests) == (lossy, 1);
                let expected = if late { Now::Late } else { Now::Handle };
                assert_eq!(say(&mut ordering, how, path, requests), expected);
            }
        }
        for _ in 0..2 {
            assert_eq!(say(&mut ordering, lossy, direct, 2), Now::Handle);
            assert_eq!(say(&mut ordering, lossy, relayed, 1), Now::Late);
            assert_eq!(say(&mut ordering, lossy, direct, 1), Now::Handle);
            assert_eq!(say(&mut ordering, lossy, relayed, 2), Now::Handle);
            assert_eq!(say(&mut ordering, reliable, relayed, 1), Now::Handle);
            assert_eq!(say(&mut ordering, lossy, relayed, 1), Now::Late);
        }
        // In another epoch requests may be numbered anew.
        ordering.begin_epoch(LogIndex(5));
        assert_eq!(say(&mut ordering, lossy, relayed, 1), Now::Handle);
    }
}

#[test]
fn what_waits_stands_in_its_order_however_it_came() {
    const FRAMES: u64 = 20_000;
    let mut ordering = ordering();
    let mut after = |requests| {
        let tag = u64::to_le_bytes(requests);
        assert_eq!(said(&mut ordering, (1, 6), &tag), Now::Wait);
        assert_eq!(said(&mut ordering, (2, 7), &tag), Now::Wait);
    };
    (0..FRAMES).for_each(&mut after);
    reach(&mut ordering, 7, 2);
    for _ in 0..2 {
        for number in 0..FRAMES {
            assert_eq!(next_said(&mut ordering).unwrap(), number.to_le_bytes());
        }
    }
    assert_eq!((ordering.held(), ordering.next()), (0, None));
    assert_eq!(ordering.held_bytes(SENDER), 0);
}
