//! Data between federates of one host in shared memory: what takes it, what does not, and that nothing
//! is lost, doubled or overtaken when the path changes.

use super::*;
use crate::intake::BATCH_BYTES;
use crate::links::Links;
use parking_lot::Mutex;
use starling_core::InteractionClassHandle;
use std::sync::Arc;
use std::thread;

const SMALL_RING: &str = "transport.ring_bytes=65536";
/// More is relayed.
const SMALL_BACKLOG: &str = "limits.send_queue_bytes=65536";

/// An rtiexec whose federates share memory unless they are told otherwise.
fn sharing() -> Rtiexec {
    Rtiexec::start()
}

/// A federate of federation execution F.
pub(super) struct Member {
    pub(super) rti: RtiAmbassador,
    hears: Mutex<Receiver<Callback>>,
    pub(super) class: InteractionClassHandle,
    evokes: bool,
}

impl Member {
    pub(super) fn join(rtiexec: &Rtiexec, model: CallbackModel, settings: &str) -> Self {
        let (rti, hears) = connect_with(rtiexec, model, false, settings);
        // It exists already for all but the first.
        let _ = rti.create_federation_execution("F", &[FOM.into()], None, "");
        let class = join(&rti);
        let evokes = model == CallbackModel::Evoked;
        Member {
            rti,
            hears: Mutex::new(hears),
            class,
            evokes,
        }
    }

    pub(super) fn evoked(rtiexec: &Rtiexec, settings: &str) -> Self {
        Member::join(rtiexec, CallbackModel::Evoked, settings)
    }

    pub(super) fn links(&self) -> Arc<Links> {
        let now = self.rti.now(Service::ListFederationExecutions);
        now.unwrap().links
    }

    /// To how many others its data takes shared memory, or a link.
    pub(super) fn direct(&self) -> usize {
        let links = self.links();
        let mut state = links.lock();
        // As any call does that sends or waits.
        state.flush();
        let link = state.lrc.outbox();
        let shared = link.shared.as_ref().map_or(0, |s| s.direct());
        shared + link.direct.as_ref().map_or(0, |d| d.direct())
    }

    pub(super) fn until_direct(&self, count: usize) {
        until("so many direct paths", || {
            self.evoke();
            self.direct() == count
        });
    }

    /// Bytes that it has written to rtiexec.
    pub(super) fn written(&self) -> u64 {
        self.links().lock().lrc.outbox().counts().0
    }

    pub(super) fn evoke(&self) {
        if self.evokes {
            self.rti.evoke_callback(0.001).unwrap();
        } else {
            thread::yield_now();
        }
    }

    pub(super) fn send(&self, number: u32, bytes: usize) {
        let mut tag = vec![0; bytes];
        tag[..4].copy_from_slice(&number.to_le_bytes());
        self.rti.send_interaction(self.class, &[], &tag).unwrap();
    }

    /// The next interaction's number and size, if it is there.
    pub(super) fn next(&self) -> Option<(u32, usize)> {
        self.evoke();
        self.heard()
    }

    pub(super) fn heard(&self) -> Option<(u32, usize)> {
        match self.hears.lock().try_recv() {
            Ok(Callback::ReceiveInteraction { values, .. }) => {
                let tag = values.tag();
                Some((u32::from_le_bytes(*tag.first_chunk()?), tag.len()))
            }
            _ => None,
        }
    }

    /// Hears all these numbers, in order, with nothing between them.
    pub(super) fn hears_all(&self, numbers: impl Iterator<Item = u32>) {
        for number in numbers {
            let mut next = None;
            until("an interaction", || {
                next = self.next();
                next.is_some()
            });
            assert_eq!(next.map(|n| n.0), Some(number));
        }
    }
}

pub(super) fn join(rti: &RtiAmbassador) -> InteractionClassHandle {
    rti.join_federation_execution(None, "t", "F", &[]).unwrap();
    let class = rti.interaction_class_handle("Signal").unwrap();
    rti.publish_interaction_class(class).unwrap();
    class
}

/// The receivers subscribe, and the sender knows it.
pub(super) fn subscribe(sender: &Member, receivers: &[&Member]) {
    for receiver in receivers {
        let class = receiver.class;
        receiver
            .rti
            .subscribe_interaction_class(class, true)
            .unwrap();
        until("it is heard", || {
            sender.evoke();
            sender.send(0, 4);
            receiver.next().is_some()
        });
    }
    // What is left of these is no part of what follows: all have heard the last of them.
    let hears = |receiver: &Member, number: u32| {
        until("the last of them", || {
            receiver.next().is_some_and(|(n, _)| n == number)
        });
    };
    let numbers = 1..;
    for (number, receiver) in numbers.zip(receivers) {
        sender.send(number, 4);
        hears(receiver, number);
    }
    let last = receivers.len() as u32;
    for receiver in receivers.iter().rev().skip(1) {
        hears(receiver, last);
    }
    for receiver in receivers {
        assert_eq!(receiver.next(), None);
    }
}

#[test]
fn data_takes_shared_memory_and_no_stream() {
    let alone = "callbacks.io=single-threaded";
    let evoked = CallbackModel::Evoked;
    for (model, sends, receives) in [
        (evoked, "", ""),
        (CallbackModel::Immediate, "", ""),
        (evoked, alone, alone),
        (evoked, "callbacks.spin_us=0", "callbacks.spin_us=0"),
    ] {
        let rtiexec = sharing();
        let sender = Member::evoked(&rtiexec, sends);
        let receiver = Member::join(&rtiexec, model, receives);
        subscribe(&sender, &[&receiver]);
        sender.until_direct(1);
        let before = sender.written();
        thread::scope(|scope| {
            scope.spawn(|| (0..3000).for_each(|n| sender.send(n, 1000)));
            receiver.hears_all(0..3000);
        });
        let written = sender.written() - before;
        assert!(written < 100_000, "{written} bytes for {model:?} {sends}");
    }
}

/// Shows settings: transport.shared_memory.
#[test]
fn without_shared_memory_data_takes_the_stream() {
    let off = "transport.shared_memory=off";
    for (server, sends, receives) in [(true, off, ""), (true, "", off), (false, "", "")] {
        let rtiexec = Rtiexec::with(|config| config.shared_memory = server);
        let sender = Member::evoked(&rtiexec, sends);
        let receiver = Member::evoked(&rtiexec, receives);
        subscribe(&sender, &[&receiver]);
        let before = sender.written();
        (0..200).for_each(|n| sender.send(n, 1000));
        receiver.hears_all(0..200);
        assert!(sender.written() - before > 200_000);
        assert_eq!(sender.direct(), 0);
    }
}

#[test]
fn frames_larger_than_the_ring_arrive() {
    let rtiexec = sharing();
    let sender = Member::evoked(&rtiexec, SMALL_RING);
    let receiver = Member::evoked(&rtiexec, "");
    subscribe(&sender, &[&receiver]);
    sender.until_direct(1);
    let sizes = [100, 9_000, 300_000, 50, 3_000_000, 70_000, 4];
    thread::scope(|scope| {
        let sending = scope.spawn(|| {
            for (number, size) in (0..).zip(sizes) {
                sender.send(number, size);
            }
            sender.rti.evoke_callback(0.0).unwrap();
        });
        for (number, size) in (0..).zip(sizes) {
            let mut next = None;
            until("a large one", || {
                next = receiver.next();
                next.is_some()
            });
            assert_eq!(next, Some((number, size)));
            let links = receiver.links();
            let state = links.lock();
            for batch in state.pending.spare.iter().chain([&state.batch]) {
                let kept = batch.bytes().len();
                assert!(kept <= BATCH_BYTES, "{kept} bytes of what was taken");
            }
        }
        sending.join().unwrap();
    });
}

/// Its receiver did not read when it was sent, and nothing is sent behind it.
#[test]
fn a_large_one_at_the_end_arrives_while_its_sender_only_evokes() {
    let rtiexec = sharing();
    let sender = Member::evoked(&rtiexec, SMALL_RING);
    let receiver = Member::evoked(&rtiexec, "limits.callback_queue_bytes=4096;log.level=off");
    subscribe(&sender, &[&receiver]);
    sender.until_direct(1);
    let sizes = [100, 9_000, 3_000_000];
    for (number, size) in (0..).zip(sizes) {
        sender.send(number, size);
    }
    assert_eq!(sender.direct(), 0, "it was detached");
    for (number, size) in (0..).zip(sizes) {
        let mut next = None;
        until("a large one", || {
            sender.rti.evoke_callback(0.0).unwrap();
            next = receiver.next();
            next.is_some()
        });
        assert_eq!(next, Some((number, size)));
    }
}

/// What one that does not read is to get instead is relayed in messages that rtiexec takes.
#[test]
fn what_is_relayed_is_no_longer_than_a_frame_may_be() {
    const LIMIT: usize = 20_000;
    let rtiexec = Rtiexec::with(|config| {
        config.shared_memory = true;
        config.frame_bytes_max = LIMIT;
    });
    let sender = Member::evoked(&rtiexec, &format!("{SMALL_RING};{SMALL_BACKLOG}"));
    let slow = Member::evoked(&rtiexec, "limits.callback_queue_bytes=4096;log.level=off");
    subscribe(&sender, &[&slow]);
    sender.until_direct(1);
    let sizes = [100, LIMIT - 200, 5_000];
    let sizes = || (0..).zip(sizes.into_iter().cycle()).take(60);
    for (number, size) in sizes() {
        sender.send(number, size);
    }
    sender.rti.evoke_callback(0.0).unwrap();
    assert_eq!(sender.direct(), 0, "it was detached");
    for (number, size) in sizes() {
        let mut next = None;
        until("an interaction", || {
            next = slow.next();
            next.is_some()
        });
        assert_eq!(next, Some((number, size)));
    }
}

/// Two that only send to each other do not make room for each other for ever: what waits for either is bounded.
#[test]
fn two_that_only_send_to_each_other_are_bounded() {
    const MOST: usize = 1 << 20;
    let rtiexec = sharing();
    let settings = format!("{SMALL_RING};limits.callback_queue_bytes={MOST};log.level=off");
    let both = [(); 2].map(|()| Member::evoked(&rtiexec, &settings));
    let [one, other] = &both;
    one.rti
        .subscribe_interaction_class(one.class, true)
        .unwrap();
    subscribe(one, &[other]);
    until("it is heard", || {
        one.evoke();
        other.send(0, 4);
        one.next().is_some()
    });
    thread::scope(|scope| {
        for member in &both {
            scope.spawn(|| {
                for _ in 0..3_000 {
                    let sent = member.rti.send_interaction(member.class, &[], &[0; 10_000]);
                    if let Err(refused) = sent {
                        assert_eq!(refused.kind, ExceptionKind::RTIinternalError);
                        break;
                    }
                }
            });
        }
    });
    for member in &both {
        let waits = member.rti.waiting_bytes();
        assert!(waits < 8 * MOST, "{waits} bytes wait");
    }
}

/// One does not take what it is sent: the others get theirs all the same, and it loses nothing.
#[test]
fn a_receiver_that_does_not_read_holds_up_no_other() {
    one_does_not_read(SMALL_RING);
    one_does_not_read(&format!("{SMALL_RING};{SMALL_BACKLOG}"));
}

fn one_does_not_read(settings: &str) {
    const COUNT: u32 = 2_000;
    let rtiexec = sharing();
    let sender = Member::evoked(&rtiexec, settings);
    let quick = Member::evoked(&rtiexec, "");
    let slow = Member::evoked(&rtiexec, "limits.callback_queue_bytes=4096;log.level=off");
    subscribe(&sender, &[&quick, &slow]);
    sender.until_direct(2);
    for turn in 0..3 {
        let numbers = turn * COUNT..(turn + 1) * COUNT;
        thread::scope(|scope| {
            scope.spawn(|| {
                numbers.clone().for_each(|n| sender.send(n, 1000));
                sender.rti.evoke_callback(0.0).unwrap();
            });
            quick.hears_all(numbers.clone());
        });
        // The other one may be, too, if it had no CPU.
        assert!(sender.direct() < 2, "the slow one is detached");
        slow.hears_all(numbers.clone());
        // It reads again: its data takes shared memory again.
        until("both", || {
            slow.evoke();
            sender.evoke();
            sender.direct() == 2
        });
    }
}

/// What was sent before a resignation arrives before it; who joins again takes part again.
#[test]
fn what_was_sent_before_one_resigns_arrives() {
    let rtiexec = sharing();
    let receiver = Member::evoked(&rtiexec, "");
    let sender = Member::evoked(&rtiexec, "");
    subscribe(&sender, &[&receiver]);
    for _ in 0..3 {
        until("shared memory", || {
            receiver.evoke();
            sender.send(u32::MAX, 4);
            sender.evoke();
            sender.direct() == 1
        });
        (0..500).for_each(|n| sender.send(n, 100));
        let action = ResignAction::NoAction;
        sender.rti.resign_federation_execution(action).unwrap();
        let mut expected = 0..500;
        until("all of it", || {
            if let Some((number, _)) = receiver.next().filter(|(n, _)| *n != u32::MAX) {
                assert_eq!(Some(number), expected.next());
            }
            expected.is_empty()
        });
        join(&sender.rti);
    }
}

/// What a peer holds for one that resigns goes, a fence among it: the log tells that one of its resignation all
/// the same.
#[test]
fn who_resigns_waits_for_no_fence() {
    let rtiexec = sharing();
    let sender = Member::evoked(&rtiexec, "");
    let leaver = Member::evoked(&rtiexec, "callbacks.io=single-threaded");
    subscribe(&sender, &[&leaver]);
    sender.until_direct(1);
    sender.send(0, 100);
    let class = sender.class;
    sender.rti.unpublish_interaction_class(class).unwrap();
    // It is heard by the sender before the leaver reads.
    let links = leaver.links();
    let mut state = links.lock();
    let action = ResignAction::NoAction;
    state.lrc.resign_federation_execution(action).unwrap();
    links.flush(&mut state);
    drop(state);
    until("the sender knows", || {
        sender.evoke();
        sender.direct() == 0
    });
    until("the leaver knows", || {
        leaver.evoke();
        !links.lock().lrc.is_member()
    });
}

/// Two ways for two receivers, and one that comes and goes while data flows.
#[test]
fn receivers_come_and_go_while_data_flows() {
    const COUNT: u32 = 20_000;
    let rtiexec = sharing();
    let sender = Member::evoked(&rtiexec, SMALL_RING);
    let far = Member::evoked(&rtiexec, "transport.shared_memory=off");
    let near = Member::evoked(&rtiexec, "");
    subscribe(&sender, &[&far, &near]);
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..COUNT {
                sender.send(number, 50);
                if number % 100 == 0 {
                    sender.evoke();
                }
            }
            sender.rti.evoke_callback(0.0).unwrap();
        });
        scope.spawn(|| far.hears_all(0..COUNT));
        scope.spawn(|| {
            for _ in 0..5 {
                let guest = Member::join(&rtiexec, CallbackModel::Immediate, "");
                let class = guest.class;
                guest.rti.subscribe_interaction_class(class, true).unwrap();
                let mut last = None;
                for _ in 0..300 {
                    if let Some((number, _)) = guest.next() {
                        assert!(
                            last.is_none_or(|last| number == last + 1),
                            "{last:?} {number}"
                        );
                        last = Some(number);
                    }
                }
                let action = ResignAction::NoAction;
                guest.rti.resign_federation_execution(action).unwrap();
            }
        });
        near.hears_all(0..COUNT);
    });
}

/// Threads that send over one ring: all of it arrives, and that of each in its order.
#[test]
fn several_threads_send_over_one_ring() {
    const THREADS: u32 = 4;
    const COUNT: u32 = 4_000;
    let rtiexec = sharing();
    let sender = Member::evoked(&rtiexec, SMALL_RING);
    let receiver = Member::evoked(&rtiexec, "");
    subscribe(&sender, &[&receiver]);
    sender.until_direct(1);
    thread::scope(|scope| {
        for first in (0..THREADS).map(|n| n * COUNT) {
            let sender = &sender;
            scope.spawn(move || (first..first + COUNT).for_each(|n| sender.send(n, 200)));
        }
        let mut next: Vec<_> = (0..THREADS).map(|n| n * COUNT).collect();
        for _ in 0..THREADS * COUNT {
            let mut came = None;
            until("an interaction", || {
                came = receiver.next();
                came.is_some()
            });
            let (number, _) = came.expect("one");
            let due = &mut next[(number / COUNT) as usize];
            assert_eq!(number, *due);
            *due += 1;
        }
    });
}

/// Of both ends together: one rings, the other one wakes up, silences its doorbell, and answers.
#[test]
fn a_round_trip_takes_six_system_calls_and_two_wake_ups() {
    const TRIPS: u32 = 500;
    let rtiexec = sharing();
    // All is done by the thread that calls, and nothing by the clock.
    let long = "fault.heartbeat_s=20000;fault.timeout_s=20000";
    let settings = format!("callbacks.io=single-threaded;callbacks.spin_us=0;{long}");
    let both = [(); 2].map(|()| Member::evoked(&rtiexec, &settings));
    let [one, other] = &both;
    subscribe(one, &[other]);
    let class = one.class;
    one.rti.subscribe_interaction_class(class, true).unwrap();
    until("it is heard", || {
        one.evoke();
        other.send(0, 4);
        one.next().is_some()
    });
    both.iter().for_each(|member| {
        until("it reads shared memory", || {
            both.iter().for_each(|member| member.evoke());
            member.direct() == 1
        });
    });
    let hears = |member: &Member| loop {
        if let Some((number, _)) = member.heard() {
            return number;
        }
        member.rti.evoke_callback(PATIENCE.as_secs_f64()).unwrap();
    };
    let calls = || {
        let stream = starling_net::system_calls();
        (stream, starling_ring::doorbell_calls())
    };
    // What is left of the beginning.
    both.iter()
        .for_each(|member| while member.next().is_some() {});
    let trips = |member: &Member, first: bool| {
        let mut begun = None;
        for number in 0..=TRIPS {
            if number == 1 {
                begun = Some((calls(), Instant::now()));
            }
            if first {
                member.send(number, 100);
            }
            assert_eq!(hears(member), number);
            if !first {
                member.send(number, 100);
            }
        }
        let ((stream, bells), begun) = begun.expect("trips");
        let (stream_now, bells_now) = calls();
        let took = begun.elapsed();
        let bells = (
            bells_now.rung - bells.rung,
            bells_now.answered - bells.answered,
        );
        let waits = stream_now.waits - stream.waits;
        let other = (stream_now.sends + stream_now.receives + stream_now.wakes)
            - (stream.sends + stream.receives + stream.wakes);
        (bells, waits, other, took)
    };
    let ends = thread::scope(|scope| {
        let answers = scope.spawn(|| trips(other, false));
        [trips(one, true), answers.join().unwrap()]
    });
    for ((rung, answered), waits, others, took) in ends {
        let shown = format!("{rung} {answered} {waits} {others} {took:?}");
        let trips = u64::from(TRIPS);
        assert!(rung <= trips && answered <= trips, "{shown}");
        // Who need not wait may look at the stream. A call of such a federate looks at its links once in a
        // millisecond at most, too, and tells of itself once in a second.
        let looks = took.as_millis() as u64 + 2;
        assert!(waits + others <= trips + looks, "{shown}");
    }
}
