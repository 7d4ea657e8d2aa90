//! Data between federates on TCP links of their own: what takes them and what does not, and that nothing is lost,
//! doubled or overtaken when they break, are not read, or come again.

use super::sharing::{Member, join, subscribe};
use super::*;
use crate::datagrams::Wanted;
use crate::direct::{Change, Direct, Way};
use crate::greeting::listen;
use crate::group::Groups;
use crate::peers::{Introduced, Peers};
use starling_core::message::{After, Data, DataBody, LogIndex, Payload, RequestNumber};
use starling_core::{FederateHandle, NAME_BYTES_MAX, Transportation, ValuesBuf};
use starling_net::{Bundling, Endpoint, Fill, Link, Listener, Quality, Stream, Waiter, dial};
use starling_rtiexec::Links;
use starling_wire::{
    LinkRequest, OnLink, VERSION, put_data, put_heartbeat, put_on_link, read_on_link, split_frame,
};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread;

mod alone;

const DIRECT: &str = "transport.path=direct";
/// The least that a link may keep, and as much for a while.
const SMALL: &str =
    "transport.path=direct;transport.ring_bytes=65536;limits.send_queue_bytes=65536";

/// An rtiexec whose federates may have links to each other, and share no memory.
fn linking() -> Rtiexec {
    Rtiexec::with(|config| (config.links, config.shared_memory) = (Links::All, false))
}

/// Cuts what links a federate has.
fn cut(member: &Member) {
    let links = member.links();
    let mut state = links.lock();
    if let Some(direct) = &state.lrc.outbox().direct {
        direct.cut();
    }
}

#[test]
fn data_takes_the_link_and_no_stream() {
    let alone = "callbacks.io=single-threaded";
    let evoked = CallbackModel::Evoked;
    for (model, sends, receives) in [
        (evoked, "", ""),
        (CallbackModel::Immediate, "", ""),
        (evoked, alone, alone),
        (evoked, "callbacks.spin_us=0", "callbacks.spin_us=0"),
    ] {
        let rtiexec = linking();
        let sender = Member::evoked(&rtiexec, &format!("{DIRECT};{sends}"));
        let receiver = Member::join(&rtiexec, model, &format!("{DIRECT};{receives}"));
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

/// Where it reaches rtiexec there a federate takes links, also by IPv6.
#[test]
fn links_are_taken_where_rtiexec_is_reached() {
    for own in ["127.0.0.1", "::1"] {
        let (host, port) = (own.to_owned(), 0);
        // A system without IPv6 has no such address.
        let Ok(rtiexec) = Listener::bind(&Endpoint::Tcp { host, port }) else {
            assert_ne!(own, "127.0.0.1");
            continue;
        };
        let stream = dial(&rtiexec.endpoint().unwrap(), PATIENCE).unwrap();
        for here in [true, false] {
            let (_listener, _, port) = listen(None, &stream, here).unwrap();
            let host = own.to_owned();
            let reached = dial(&Endpoint::Tcp { host, port }, PATIENCE);
            assert!(reached.is_ok(), "{own}, {here}: {reached:?}");
        }
    }
}

/// Shows settings: transport.path.
#[test]
fn without_links_data_takes_the_stream() {
    let off = "transport.path=forwarder";
    let auto = "transport.path=auto";
    for (server, sends, receives) in [
        (Links::All, off, DIRECT),
        (Links::All, DIRECT, off),
        // These are on one host.
        (Links::All, DIRECT, auto),
        (Links::BetweenHosts, DIRECT, DIRECT),
        (Links::None, DIRECT, DIRECT),
    ] {
        let rtiexec =
            Rtiexec::with(|config| (config.links, config.shared_memory) = (server, false));
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

/// A link is compressed if both ends want it; what breaks then is relayed as ever.
#[test]
fn compressed_links_carry_the_same() {
    let [lz4, zstd] = ["lz4", "zstd"].map(|m| format!("{DIRECT};compress.method={m}"));
    let rtiexec = linking();
    let sender = Member::evoked(&rtiexec, &zstd);
    let receivers = [DIRECT, &lz4, &zstd].map(|settings| Member::evoked(&rtiexec, settings));
    let [plain, by_lz4, by_zstd] = &receivers;
    subscribe(&sender, &[plain, by_lz4, by_zstd]);
    sender.until_direct(3);
    until("status shows how", || {
        let paths = super::datagrams::status(&rtiexec)[0].paths.clone();
        let paths = paths.iter().map(|p| (p.by.as_str(), p.to.len()));
        let all = ["direct tcp", "direct tcp, lz4", "direct tcp, zstd"].map(|by| (by, 1));
        paths.collect::<Vec<_>>() == all
    });
    for turn in 0..3 {
        let numbers = turn * 300..(turn + 1) * 300;
        thread::scope(|scope| {
            let sending = scope.spawn(|| {
                for number in numbers.clone() {
                    sender.send(number, [1000, 4, 100_000][number as usize % 97 % 3]);
                    if turn == 2 && number % 100 == 0 {
                        cut(&sender);
                    }
                }
                sender.rti.evoke_callback(0.0).unwrap();
            });
            let hearing = receivers.each_ref().map(|receiver| {
                let numbers = numbers.clone();
                scope.spawn(|| receiver.hears_all(numbers))
            });
            // Joined, which ThreadSanitizer sees; it does not see how a scope waits.
            sending.join().unwrap();
            hearing.into_iter().for_each(|h| h.join().unwrap());
        });
    }
}

/// Those that share memory have no link beside it; the others do.
#[test]
fn shared_memory_comes_first() {
    let rtiexec = Rtiexec::with(|config| {
        config.links = Links::All;
        config.shared_memory = true;
    });
    let sender = Member::evoked(&rtiexec, DIRECT);
    let near = Member::evoked(&rtiexec, DIRECT);
    let far = Member::evoked(&rtiexec, &format!("{DIRECT};transport.shared_memory=off"));
    subscribe(&sender, &[&near, &far]);
    sender.until_direct(2);
    let links = sender.links();
    let linked = {
        let mut state = links.lock();
        state.lrc.outbox().direct.as_ref().map(|d| d.direct())
    };
    assert_eq!(linked, Some(1));
    let before = sender.written();
    thread::scope(|scope| {
        scope.spawn(|| (0..5000).for_each(|n| sender.send(n, 1000)));
        scope.spawn(|| near.hears_all(0..5000));
        far.hears_all(0..5000);
    });
    assert!(sender.written() - before < 100_000);
}

#[test]
fn frames_of_any_size_arrive() {
    let rtiexec = linking();
    let sender = Member::evoked(&rtiexec, SMALL);
    let receiver = Member::evoked(&rtiexec, SMALL);
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
        }
        sending.join().unwrap();
    });
}

/// Links break again and again, at either end, while data goes both ways: each number comes once, and in order.
#[test]
fn links_that_break_lose_nothing() {
    const MORE: u32 = 300;
    // The pause after each is longer.
    const CUTS: usize = 6;
    let rtiexec = linking();
    let both = [(); 2].map(|()| Member::join(&rtiexec, CallbackModel::Immediate, DIRECT));
    for [one, other] in [[0, 1], [1, 0]].map(|pair| pair.map(|at| &both[at])) {
        subscribe(one, &[other]);
    }
    both[0].until_direct(1);
    let done = AtomicBool::new(false);
    let cuts = AtomicU32::new(0);
    thread::scope(|scope| {
        for member in &both {
            scope.spawn(|| {
                let mut number = 0;
                // On until it has broken often enough, and a while after.
                let mut last = u32::MAX;
                while number < last {
                    let bytes = [20, 400, 30_000][number as usize % 3];
                    member.send(number, bytes);
                    number += 1;
                    if last == u32::MAX && done.load(Ordering::Relaxed) {
                        last = number + MORE;
                    }
                }
                member.send(u32::MAX, 4);
                member.rti.evoke_callback(0.0).ok();
            });
            scope.spawn(|| {
                let mut expected = 0;
                loop {
                    let mut next = None;
                    until("an interaction", || {
                        next = member.next();
                        next.is_some()
                    });
                    match next {
                        Some((u32::MAX, _)) => break,
                        Some((number, _)) => assert_eq!(number, expected),
                        None => unreachable!("it was there"),
                    }
                    expected += 1;
                }
            });
        }
        let _done = Ends(&done);
        for turn in 0..CUTS {
            let victim = &both[turn % 2];
            victim.until_direct(1);
            cut(victim);
            until("it is noticed", || victim.direct() == 0);
            cuts.fetch_add(1, Ordering::Relaxed);
        }
    });
    assert_eq!(cuts.load(Ordering::Relaxed) as usize, CUTS);
}

/// One does not take what it is sent: the others get theirs all the same, it loses nothing, and what is kept for it
/// is bounded.
#[test]
fn a_receiver_that_does_not_read_holds_up_no_other() {
    // Less than rtiexec keeps for one before it holds up its senders.
    const COUNT: u32 = 3_000;
    let rtiexec = linking();
    let sender = Member::evoked(&rtiexec, SMALL);
    let quick = Member::evoked(&rtiexec, SMALL);
    let settings = format!("{SMALL};limits.callback_queue_bytes=4096;log.level=off");
    let slow = Member::evoked(&rtiexec, &settings);
    subscribe(&sender, &[&quick, &slow]);
    sender.until_direct(2);
    let most = |member: &Member| {
        let links = member.links();
        let mut state = links.lock();
        let direct = state.lrc.outbox().direct.as_ref().map(|d| d.kept());
        let (kept, may) = direct.unwrap();
        // A call puts one frame before it waits.
        assert!(
            kept <= may + 65_536 + 2_000,
            "{kept} bytes are kept, {may} may be"
        );
    };
    for turn in 0..2 {
        let numbers = turn * COUNT..(turn + 1) * COUNT;
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in numbers.clone() {
                    sender.send(number, 1000);
                    most(&sender);
                }
                sender.rti.evoke_callback(0.0).unwrap();
            });
            quick.hears_all(numbers.clone());
        });
        assert_eq!(sender.direct(), 1, "the slow one is served by rtiexec");
        slow.hears_all(numbers.clone());
        // It reads again: its data takes a link again.
        until("both", || {
            slow.evoke();
            sender.evoke();
            sender.direct() == 2
        });
    }
}

/// Who does not read keeps its link as long as what waits for it may be kept.
///
/// Shows settings: transport.ring_bytes.
#[test]
fn a_link_keeps_as_much_as_is_set() {
    const LARGE: &str =
        "transport.path=direct;transport.ring_bytes=16777216;limits.send_queue_bytes=65536";
    for (settings, links) in [(LARGE, 1), (SMALL, 0)] {
        let rtiexec = linking();
        let sender = Member::evoked(&rtiexec, settings);
        let stopped = format!("{settings};limits.callback_queue_bytes=4096;log.level=off");
        let receiver = Member::evoked(&rtiexec, &stopped);
        subscribe(&sender, &[&receiver]);
        sender.until_direct(1);
        // Less than rtiexec keeps for one before it holds up its senders.
        (0..3_000).for_each(|number| sender.send(number, 1000));
        assert_eq!(sender.direct(), links);
        receiver.hears_all(0..3_000);
    }
}

/// Two that only send to each other do not make room for each other for ever: what waits for either is bounded.
#[test]
fn two_that_only_send_to_each_other_are_bounded() {
    const MOST: usize = 1 << 20;
    let rtiexec = linking();
    let settings = format!("{SMALL};limits.callback_queue_bytes={MOST};log.level=off");
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
    one.until_direct(1);
    let (refused, ended) = (AtomicU32::new(0), AtomicU32::new(0));
    thread::scope(|scope| {
        for member in &both {
            scope.spawn(|| {
                for _ in 0..3_000 {
                    let sent = member.rti.send_interaction(member.class, &[], &[0; 10_000]);
                    if let Err(error) = sent {
                        assert_eq!(error.kind, ExceptionKind::RTIinternalError);
                        refused.fetch_add(1, Ordering::Relaxed);
                        break;
                    }
                }
                let waits = member.rti.waiting_bytes();
                assert!(waits < 8 * MOST, "{waits} bytes wait");
                ended.fetch_add(1, Ordering::Relaxed);
                // The other one may wait for that.
                until("the other one ends, too", || {
                    member.evoke();
                    ended.load(Ordering::Relaxed) == 2
                });
            });
        }
    });
    assert!(refused.load(Ordering::Relaxed) > 0);
}

/// What was sent before a resignation arrives before it; who joins again has links again.
#[test]
fn what_was_sent_before_one_resigns_arrives() {
    let rtiexec = linking();
    let receiver = Member::evoked(&rtiexec, DIRECT);
    let sender = Member::evoked(&rtiexec, DIRECT);
    subscribe(&sender, &[&receiver]);
    for _ in 0..3 {
        until("a link", || {
            receiver.evoke();
            sender.send(u32::MAX, 4);
            sender.evoke();
            sender.direct() == 1
        });
        (0..500).for_each(|n| sender.send(n, 1000));
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
    let rtiexec = linking();
    let sender = Member::evoked(&rtiexec, DIRECT);
    let leaver = Member::evoked(&rtiexec, &format!("{DIRECT};callbacks.io=single-threaded"));
    subscribe(&sender, &[&leaver]);
    until("so many direct paths", || {
        leaver.evoke();
        sender.evoke();
        sender.direct() == 1
    });
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

/// A port that is free now.
fn free_port() -> u16 {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    taken.local_addr().unwrap().port()
}

/// Whoever connects where a federate takes links, and says nothing, nonsense, or that it is another one, is cut off or
/// given up; links come about beside that, and data flows.
#[test]
fn strangers_get_no_link() {
    let rtiexec = linking();
    let port = free_port();
    let listens = format!("{DIRECT};transport.listen=127.0.0.1:{port}");
    let first = Member::evoked(&rtiexec, &listens);
    // It listens as soon as there is somebody to have a link to.
    let other = Member::evoked(&rtiexec, DIRECT);
    until("it listens", || {
        first.evoke();
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    let hello = |mark, version, proof: &[u8]| {
        let mut out = Vec::new();
        let proof = proof.to_vec();
        put_on_link(
            &mut out,
            &OnLink::Hello {
                version,
                mark,
                proof,
                compression: 0,
            },
        );
        out
    };
    let confirm = || {
        let mut out = Vec::new();
        put_on_link(&mut out, &OnLink::Confirm { position: 1 << 40 });
        out
    };
    let refused = [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0xff; 100],
        vec![0; 100],
        confirm(),
        hello(1, VERSION, &[7; 40]),
    ];
    // Whose mark nobody has, or not yet: kept for a while, and less than all.
    let kept = (0..40).map(|mark| hello(mark, VERSION, &[7; 16]));
    let say = |what: &[u8]| {
        let mut link = Link::new(dial(&Endpoint::loopback(port), PATIENCE).unwrap());
        link.writer.append(what);
        link.writer.flush().unwrap();
        link
    };
    let mut kept: Vec<_> = kept.map(|what| say(&what)).collect();
    for what in &refused {
        let mut link = say(what);
        until("it is cut off", || {
            first.evoke();
            matches!(link.reader.fill(), Ok(Fill::Closed) | Err(_))
        });
    }
    let second = Member::evoked(&rtiexec, DIRECT);
    subscribe(&first, &[&second, &other]);
    first.until_direct(2);
    (0..100).for_each(|n| first.send(n, 100));
    second.hears_all(0..100);
    // More than may wait have gone already.
    let mut gone = 0;
    for link in &mut kept {
        gone += usize::from(matches!(link.reader.fill(), Ok(Fill::Closed) | Err(_)));
    }
    assert!(gone >= 8, "{gone}");
}

/// A peer puts on a link what it must not: the link is over, with a warning, and nothing else. Data of that peer goes by
/// rtiexec from then on.
#[test]
fn a_peer_that_misbehaves_loses_its_link() {
    let framed = |put: &dyn Fn(&mut Vec<u8>)| {
        let mut out = Vec::new();
        put(&mut out);
        out
    };
    let fence = |sender| -> Data<'static> {
        let after = After {
            requests: RequestNumber(0),
            index: LogIndex(0),
        };
        let request = RequestNumber(1);
        Data {
            sender: FederateHandle(sender),
            after,
            body: DataBody::Fence { request },
        }
    };
    let group = |number, address: &str, secret| OnLink::Group {
        number,
        address: address.into(),
        port: 9,
        secret: vec![7; secret],
    };
    for bytes in [
        b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        vec![0; 4],
        vec![1, 0, 0, 0, 0xff],
        framed(&|out| put_heartbeat(out)),
        framed(&|out| put_data(out, &fence(77))),
        framed(&|out| put_on_link(out, &OnLink::Confirm { position: 1 << 40 })),
        framed(&|out| put_on_link(out, &group(1, "239.1.1.1", 15))),
        framed(&|out| put_on_link(out, &group(1, "everywhere", 16))),
        framed(&|out| put_on_link(out, &group(0, "239.1.1.1", 16))),
        framed(&|out| {
            for number in 0..1000 {
                let at = if number == 0 { "" } else { "10.0.0.1" };
                put_on_link(out, &group(number, at, 16));
            }
        }),
        framed(&|out| {
            let (number, port, why) = (1, 0, "?".repeat(1 << 16));
            put_on_link(out, &OnLink::Joined { number, port, why });
        }),
        framed(&|out| {
            let proof = vec![0; 16];
            let (version, mark) = (VERSION, 1);
            put_on_link(
                out,
                &OnLink::Hello {
                    version,
                    mark,
                    proof,
                    compression: 0,
                },
            );
        }),
    ] {
        let rtiexec = linking();
        let receiver = Member::evoked(&rtiexec, &format!("{DIRECT};log.level=off"));
        let hostile = Member::evoked(&rtiexec, DIRECT);
        subscribe(&hostile, &[&receiver]);
        hostile.until_direct(1);
        {
            let links = hostile.links();
            let mut state = links.lock();
            let direct = state.lrc.outbox().direct.as_mut();
            direct.unwrap().misbehave(&bytes);
            state.flush();
        }
        until("both ends are over", || {
            hostile.evoke();
            receiver.evoke();
            hostile.direct() == 0 && receiver.direct() == 0
        });
        (0..100).for_each(|n| hostile.send(n, 100));
        receiver.hears_all(0..100);
        assert_eq!(hostile.direct(), 0, "there is no other one");
    }
}

/// As long as one always has more, in memory or on its link, the links of others are looked at, too.
#[test]
fn who_sends_on_and_on_keeps_no_other_link_waiting() {
    const FAR: u32 = 5;
    // So much of the one is always there, more than a read takes.
    const AHEAD: u32 = 400;
    // It does all in its calls: what it sends is there behind the call, and what it reads it reads then.
    let alone = format!("{DIRECT};callbacks.io=single-threaded");
    let off = "transport.shared_memory=off";
    for near in ["", off] {
        let rtiexec = Rtiexec::with(|config| config.links = Links::All);
        let receiver = Member::evoked(&rtiexec, &alone);
        let near = Member::evoked(&rtiexec, &format!("{DIRECT};{near}"));
        let far = Member::evoked(&rtiexec, &format!("{alone};{off}"));
        for sender in [&near, &far] {
            subscribe(sender, &[&receiver]);
        }
        let all = [&receiver, &near, &far];
        until("all have links", || {
            all.iter().for_each(|member| member.evoke());
            all.iter().all(|member| member.direct() == 2)
        });
        let (over, sent) = (AtomicBool::new(false), AtomicU32::new(0));
        let mut came = 0;
        thread::scope(|scope| {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    near.send(FAR, 1000);
                    sent.fetch_add(1, Ordering::Relaxed);
                }
            });
            let _over = Ends(&over);
            let mut others = 0;
            while came < FAR && others < 20_000 {
                until("it is ahead", || {
                    sent.load(Ordering::Relaxed) > others + AHEAD
                });
                match receiver.next() {
                    Some((FAR, _)) => {
                        others += 1;
                        if others == 1000 {
                            (0..FAR).for_each(|number| far.send(number, 100));
                        }
                    }
                    Some(_) => came += 1,
                    None => {}
                }
            }
        });
        assert_eq!(came, FAR);
    }
}

/// Each has a link to each other one, and what it sends comes to all, while some come and go.
#[test]
fn many_have_links_to_each_other() {
    const MEMBERS: usize = 8;
    const COUNT: u32 = 500;
    let rtiexec = linking();
    let immediate = CallbackModel::Immediate;
    let members = [(); MEMBERS].map(|()| Member::join(&rtiexec, immediate, DIRECT));
    let all: Vec<_> = members.iter().collect();
    let (first, others) = all.split_first().unwrap();
    subscribe(first, others);
    for member in &members {
        member.until_direct(MEMBERS - 1);
    }
    // Each of them learns of the subscriptions when it gets to it.
    for sender in 1..MEMBERS {
        let receivers = (1..MEMBERS).filter(|n| *n != sender);
        subscribe(all[sender], &receivers.map(|n| all[n]).collect::<Vec<_>>());
    }
    let guest = Member::join(&rtiexec, immediate, DIRECT);
    first.until_direct(MEMBERS);
    let action = ResignAction::NoAction;
    guest.rti.resign_federation_execution(action).unwrap();
    first.until_direct(MEMBERS - 1);
    for sender in 0..MEMBERS {
        thread::scope(|scope| {
            scope.spawn(|| (0..COUNT).for_each(|n| members[sender].send(n, 2000)));
            // The first one does not subscribe.
            for receiver in (1..MEMBERS).filter(|n| *n != sender) {
                members[receiver].hears_all(0..COUNT);
            }
        });
    }
}

/// Who can't be connected to connects; where neither can, rtiexec forwards.
///
/// Shows settings: transport.listen.
#[test]
fn one_that_can_be_reached_is_enough() {
    let nowhere = "transport.listen=192.0.2.1:1";
    for (one, other, links) in [(nowhere, "", 1), ("", nowhere, 1), (nowhere, nowhere, 0)] {
        let rtiexec = linking();
        let sender = Member::evoked(&rtiexec, &format!("{DIRECT};{one}"));
        let receiver = Member::evoked(&rtiexec, &format!("{DIRECT};{other}"));
        subscribe(&sender, &[&receiver]);
        if links > 0 {
            sender.until_direct(links);
        }
        (0..100).for_each(|n| sender.send(n, 100));
        receiver.hears_all(0..100);
        assert_eq!(sender.direct(), links);
    }
}

/// A link brings a long frame in several reads, if little of it is on its way, too; what rtiexec says of the end of its
/// sender may come between them.
#[test]
fn of_who_has_died_all_is_taken_that_has_come() {
    let rtiexec = linking();
    // Compressed, all of it is at the receiver's host at once.
    let packed = format!("{DIRECT};compress.method=lz4");
    let sender = Member::evoked(&rtiexec, &packed);
    // It reads link and stream in turn.
    let alone = format!("{packed};callbacks.io=single-threaded;callbacks.spin_us=0");
    let receiver = Member::evoked(&rtiexec, &alone);
    subscribe(&sender, &[&receiver]);
    until("a link", || {
        // Which does its part of it in its calls only.
        receiver.evoke();
        sender.evoke();
        sender.direct() == 1
    });
    sender.send(0, 900_000);
    sender.send(1, 4);
    let links = sender.links();
    until("the system has it all", || {
        let mut state = links.lock();
        state.flush();
        let direct = state.lrc.outbox().direct.as_ref().unwrap();
        direct.peers.iter().all(|peer| peer.window.pending() == 0)
    });
    {
        let mut state = links.lock();
        state.lrc.outbox().shut_down();
        if let Some(direct) = &state.lrc.outbox().direct {
            direct.cut();
        }
    }
    until("rtiexec knows", || {
        super::datagrams::status(&rtiexec).len() == 1
    });
    receiver.hears_all(0..2);
}

/// Until there is something to do for a peer; of what the watches tell.
fn await_peer(peers: &Peers) -> Vec<(bool, bool)> {
    let mut watches: Vec<_> = peers.watches(&[]).collect();
    let waiter = Waiter::new().unwrap();
    waiter.wait(&mut watches, Some(PATIENCE)).unwrap();
    let ready = watches.iter().map(|w| (w.readable, w.writable));
    let ready: Vec<_> = ready.collect();
    assert!(ready.iter().any(|(read, write)| *read || *write));
    ready
}

/// Who answers a greeting has a link, may send at once, and may end at once: nobody has looked at the answer by then.
#[test]
fn of_who_has_died_is_taken_what_has_come_with_its_greeting() {
    let rtiexec = Rtiexec::with(|config| config.shared_memory = false);
    let sender = Member::evoked(&rtiexec, "");
    let receiver = Member::evoked(&rtiexec, "");
    subscribe(&sender, &[&receiver]);
    let (federate, index) = {
        let links = sender.links();
        let state = links.lock();
        let federate = state.lrc.federate().unwrap();
        (federate.handle(), federate.save().log.applied)
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (own, mark) = (5, 7);
    let secret = [[1; 16], [2; 16]].concat();
    let mut peers = Peers::default();
    {
        let links = receiver.links();
        let mut state = links.lock();
        state.listen(own, true, &mut peers);
        let who = Introduced {
            mark,
            federate,
            address: address.ip().to_string(),
            port: address.port().into(),
            secret: secret.clone(),
        };
        state.meet(who, &mut peers).unwrap();
        let ready = await_peer(&peers);
        peers.awake(ready.into_iter(), &[]);
        state.take_peers(&mut peers);
        let (mut there, _) = listener.accept().unwrap();
        let mut said = Vec::new();
        while split_frame(&said).unwrap().is_none() {
            let mut more = [0; 100];
            let count = there.read(&mut more).unwrap();
            assert!(count > 0, "it says who it is");
            said.extend(&more[..count]);
        }
        let mut answer = Vec::new();
        let hello = OnLink::Hello {
            version: VERSION,
            mark,
            proof: secret[16..].to_vec(),
            compression: 0,
        };
        put_on_link(&mut answer, &hello);
        let no_values = ValuesBuf::default();
        let payload = Payload {
            transportation: Transportation::Reliable,
            values: no_values.values(),
            tag: &77_u32.to_le_bytes(),
            address: None,
            stamp: None,
        };
        let class = receiver.class;
        let data = Data {
            sender: federate,
            after: After {
                requests: RequestNumber(0),
                index,
            },
            body: DataBody::Interaction { class, payload },
        };
        put_data(&mut answer, &data);
        there.write_all(&answer).unwrap();
        await_peer(&peers);
        assert!(state.peer_is_gone(mark, &mut peers).unwrap());
        assert!(peers.peer(mark).is_none());
    }
    receiver.hears_all(77..78);
}
