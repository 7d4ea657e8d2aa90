//! A whole server over real sockets, with federates that are the core and a link each.

mod common;

use common::{Client, Running, run, run_for};
use starling_core::message::{
    FromExecutive, ModuleSource, PeerInfo, Question, ResignAction, ToExecutive,
};
use starling_core::{Callback, Counters, ExceptionKind, NAME_BYTES_MAX};
use starling_net::{Endpoint, Fill};
use starling_rid::Sources;
use starling_rtiexec::{Config, Paused};
use starling_wire::{HEARTBEAT, Hello, VERSION, put_hello, put_to_executive, split_frame};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

#[test]
fn data_reaches_whoever_wants_it_in_order_and_nobody_else() {
    let server = run(|_| {});
    let mut sender = Client::founder(&server, "Flow");
    let mut receiver = Client::member(&server, "Flow", "receiver");
    let mut stranger = Client::member(&server, "Flow", "stranger");
    receiver.subscribe();
    sender.until_subscribed(&receiver);
    for number in 0..20_000_u32 {
        sender.send(number);
    }
    sender.send_all();
    for number in 0..20_000 {
        assert_eq!(receiver.next_number(), number);
    }
    // All that the server had for the stranger precedes this answer.
    stranger.tell(ToExecutive::ListFederations);
    let list = stranger.until(|m| matches!(m, FromExecutive::Federations(_)));
    assert!(matches!(list, FromExecutive::Federations(l) if l.len() == 1 && l[0].name == "Flow"));
    assert_eq!(stranger.federate().counters(), Counters::default());
}

#[test]
fn federation_executions_are_apart_and_refusals_are_answers() {
    let server = run(|_| {});
    let mut one = Client::founder(&server, "One");
    let mut two = Client::founder(&server, "Two");
    let mut third = Client::connect(&server);
    let refused = third.create("One").unwrap_err();
    assert!(
        refused.contains("FederationExecutionAlreadyExists"),
        "{refused}"
    );
    let refused = third.join("Three", "third").unwrap_err();
    assert!(refused.contains("'One', 'Two'"), "{refused}");
    third.join("Two", "third").unwrap();
    third.subscribe();
    two.until_subscribed(&third);
    one.send(1);
    one.send_all();
    two.send(2);
    two.send_all();
    assert_eq!(third.next_number(), 2);
}

#[test]
fn a_malformed_peer_is_cut_off_and_told_why_while_others_go_on() {
    let server = run(|config| config.frame_bytes_max = 1 << 20);
    let mut sender = Client::founder(&server, "Robust");
    let mut receiver = Client::member(&server, "Robust", "receiver");
    receiver.subscribe();
    sender.until_subscribed(&receiver);
    // What a frame with another within it takes besides, for however many it is, is allowed until it says what it is.
    let too_large = (1_u32 << 20) + 64 + 5 * 4096 + 1;
    let data = [&((1_u32 << 20) + 1).to_le_bytes()[..], &[HEARTBEAT]].concat();
    for (bytes, why) in [
        (vec![4, 0, 0, 0, 99, 1, 0, 0], "no type of frame"),
        (vec![0, 0, 0, 0], "0 bytes"),
        (too_large.to_le_bytes().to_vec(), "more than 1048576"),
        (data, "more than 1048576"),
        (vec![2, 0, 0, 0, 3, 0], "malformed message"),
    ] {
        let mut bad = Client::member(&server, "Robust", "bad");
        bad.link.writer.out().extend_from_slice(&bytes);
        bad.send_all();
        let said = bad.until(|m| matches!(m, FromExecutive::Removed(_)));
        assert!(format!("{said:?}").contains(why), "{bytes:?}: {said:?}");
        bad.until_closed();
    }
    // A stranger.
    let mut stranger = Client::stranger(&server);
    stranger
        .link
        .writer
        .out()
        .extend_from_slice(&[1, 0, 0, 0, 3]);
    stranger.send_all();
    stranger.until_closed();
    sender.send(7);
    sender.send_all();
    assert_eq!(receiver.next_number(), 7);
}

#[test]
fn who_speaks_another_protocol_gets_an_answer_of_his_own() {
    let server = run(|_| {});
    let tls = [0x16, 3, 1, 2, 0, 1, 0, 1, 0xfc, 3, 3];
    for (said, begin, end) in [
        (
            &b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"[..],
            &b"HTTP/1.1 400 "[..],
            &b"serves.\n"[..],
        ),
        (&b"HEAD"[..], b"HTTP/1.1 400 ", b"serves.\n"),
        (&tls, &[0x15, 3], &[2, 70]),
        (b"SSH-2.0-OpenSSH_9.2\r\n", b"This is rtiexec", b"serves.\n"),
    ] {
        let mut stranger = Client::stranger(&server);
        stranger.link.writer.out().extend_from_slice(said);
        stranger.send_all();
        stranger.until_closed();
        let answer = stranger.link.reader.inbox();
        assert!(
            answer.starts_with(begin) && answer.ends_with(end),
            "{answer:?}"
        );
    }
}

#[test]
fn another_version_is_refused_with_both_versions() {
    let server = run(|_| {});
    let mut old = Client::stranger(&server);
    let refusal = old.hello(starling_wire::VERSION + 1).unwrap_err();
    assert!(
        refusal.contains("version 2") && refusal.contains("version 1"),
        "{refusal}"
    );
    old.until_closed();
}

#[test]
fn a_closed_connection_resigns_its_federate_with_the_reason() {
    let server = run(|_| {});
    let mut left = Client::founder(&server, "Loss");
    let lost = Client::member(&server, "Loss", "lost");
    left.until_member("lost", true);
    drop(lost);
    left.until_member("lost", false);
    assert!(
        left.fault.contains("closed the connection"),
        "{}",
        left.fault
    );
    // Who resigns of itself leaves without a fault.
    let mut good = Client::member(&server, "Loss", "good");
    left.until_member("good", true);
    good.federate_mut()
        .resign_federation_execution(ResignAction::NoAction)
        .unwrap();
    good.send_all();
    left.until_member("good", false);
    assert_eq!(left.fault, "");
}

#[test]
fn a_slow_receiver_holds_its_sender_up_and_loses_nothing() {
    const LIMIT: usize = 64 * 1024;
    let server = run(|config| {
        config.send_queue_bytes = LIMIT;
        // What is held up is silent, and must not be judged for it.
        config.timeout = Duration::from_millis(100);
        config.heartbeat = Duration::from_millis(50);
    });
    let mut sender = Client::founder(&server, "Slow");
    let mut receiver = Client::member(&server, "Slow", "receiver");
    receiver.subscribe();
    sender.until_subscribed(&receiver);
    // Far more than all buffers between the two can hold: only back-pressure stops it.
    let mut sent = 0;
    while server.state().held == 0 {
        while sender.link.writer.pending() < LIMIT {
            sender.send(sent);
            sent += 1;
        }
        sender.link.writer.flush().unwrap();
        assert!(sent < 2_000_000, "the sender was never held up");
    }
    // The receiver begins to read: everything comes, in order.
    for number in 0..sent {
        sender.link.writer.flush().unwrap();
        assert_eq!(receiver.next_number(), number);
    }
}

/// Who dies while it is held is resigned all the same, with all that it had sent before.
#[test]
fn who_dies_while_it_is_held_up_is_resigned_at_once() {
    const LIMIT: usize = 64 * 1024;
    let server = run(|config| config.send_queue_bytes = LIMIT);
    let mut sender = Client::founder(&server, "Held");
    let mut slow = Client::member(&server, "Held", "slow");
    let mut third = Client::member(&server, "Held", "third");
    for receiver in [&mut slow, &mut third] {
        receiver.subscribe();
        sender.until_subscribed(receiver);
    }
    third.until_member("founder", true);
    let mut sent = 0;
    let mut bytes = 0;
    while server.state().held == 0 {
        while sender.link.writer.pending() < LIMIT {
            let before = sender.link.writer.pending();
            sender.send(sent);
            bytes += sender.link.writer.pending() - before;
            sent += 1;
        }
        sender.link.writer.flush().unwrap();
        third.take_in();
    }
    // What the system has taken of it stands before its end.
    let each = bytes / sent as usize;
    let whole = (bytes - sender.link.writer.pending()) / each;
    drop(sender);
    third.until_member("founder", false);
    assert_ne!(third.fault, "");
    assert_eq!(server.state().held, 0);
    let came = |client: &mut Client| {
        let callbacks = std::iter::from_fn(|| client.federate_mut().next_callback());
        let is_number = |c: &Callback| matches!(c, Callback::ReceiveInteraction { .. });
        callbacks.filter(is_number).count()
    };
    assert_eq!(came(&mut third), whole, "of {sent}");
    // Who has held it up gets as much, and then learns it, too.
    slow.until_member("founder", false);
    assert_eq!(came(&mut slow), whole, "of {sent}");
}

#[test]
fn requests_too_are_held_up_by_a_receiver_that_does_not_read() {
    let server = run(|config| config.send_queue_bytes = 8 * 1024);
    let mut asker = Client::founder(&server, "Log");
    let mut reader = Client::member(&server, "Log", "reader");
    asker.until_member("reader", true);
    let class = asker.federate().interaction_class_handle("Number").unwrap();
    let mut requests = 0;
    while server.state().held == 0 {
        while asker.link.writer.pending() < 64 * 1024 {
            asker
                .federate_mut()
                .subscribe_interaction_class(class, true)
                .unwrap();
            asker
                .federate_mut()
                .unsubscribe_interaction_class(class)
                .unwrap();
            asker.take_requests();
            requests += 2;
        }
        asker.link.writer.flush().unwrap();
        // Only the reader is slow.
        asker.take_in();
        assert!(requests < 5_000_000, "the requests were never held up");
    }
    let mut curious = Client::connect(&server);
    curious.tell(ToExecutive::QueryWhy(Question {
        federation: String::new(),
        federate: "founder".into(),
        subject: None,
    }));
    let why = curious.until(|m| matches!(m, FromExecutive::Why(_)));
    let FromExecutive::Why(findings) = why else {
        unreachable!();
    };
    let last = findings.last().unwrap();
    assert!(
        !last.holds
            && last.detail.contains(
                "does not read 'founder' until federate 'reader' of 'Log', test (process"
            ),
        "{last:?}"
    );
    asker
        .federate_mut()
        .resign_federation_execution(ResignAction::NoAction)
        .unwrap();
    asker.take_requests();
    while reader.federate().federate_handle("founder").is_ok() {
        asker.link.writer.flush().unwrap();
        asker.take_in();
        reader.wait(Duration::from_millis(1));
        reader.take_in();
    }
}

#[test]
fn a_receiver_that_never_reads_is_resigned_where_that_is_set() {
    let server = run(|config| {
        config.send_queue_bytes = 64 * 1024;
        config.send_stall = Some(Duration::from_millis(200));
        config.heartbeat = Duration::from_millis(50);
    });
    let mut sender = Client::founder(&server, "Stall");
    let mut receiver = Client::member(&server, "Stall", "receiver");
    receiver.subscribe();
    sender.until_subscribed(&receiver);
    let mut number = 0;
    while sender.federate().federate_handle("receiver").is_ok() {
        while sender.link.writer.pending() < 64 * 1024 {
            sender.send(number);
            number += 1;
        }
        sender.link.writer.flush().unwrap();
        sender.wait(Duration::from_millis(20));
        sender.take_in();
    }
    assert!(
        sender.fault.contains("limits.send_stall_s"),
        "{}",
        sender.fault
    );
}

#[test]
fn whoever_never_says_hello_is_cut_off() {
    let server = run(|config| config.hello_timeout = Duration::from_millis(50));
    Client::stranger(&server).until_closed();
}

#[test]
fn a_busy_process_is_not_taken_for_dead_and_heartbeats_come() {
    let server = run(|config| {
        config.timeout = Duration::from_millis(50);
        config.heartbeat = Duration::from_millis(20);
        config.paused = Paused::Resign;
    });
    // Silent, but of a process that runs: this one.
    let mut busy = Client::founder(&server, "Busy");
    for _ in 0..10 {
        busy.until_heartbeat();
    }
    busy.tell(ToExecutive::ListFederations);
    busy.until(|m| matches!(m, FromExecutive::Federations(_)));
}

#[test]
fn the_end_of_the_server_is_told_to_its_federates() {
    let mut server = run(|_| {});
    let mut client = Client::founder(&server, "End");
    server.stop();
    let said = client.until(|m| matches!(m, FromExecutive::Removed(_)));
    assert!(
        format!("{said:?}").contains("rtiexec was ended by its owner"),
        "{said:?}"
    );
    client.until_closed();
    assert!(!server.path().exists(), "the socket is removed");
}

#[test]
fn who_removes_its_socket_hides_it_for_a_moment_only() {
    let mut server = run(|config| config.heartbeat = Duration::from_millis(20));
    let mut founder = Client::founder(&server, "Found");
    let at = server.path().clone();
    for _ in 0..2 {
        std::fs::remove_file(&at).unwrap();
        while !at.exists() {
            std::thread::yield_now();
        }
        let mut found = Client::at(&Endpoint::Unix(at.clone()));
        found.hello(VERSION).unwrap();
        found.tell(ToExecutive::ListFederations);
        let there = found.until(|m| matches!(m, FromExecutive::Federations(_)));
        assert!(format!("{there:?}").contains("Found"), "{there:?}");
    }
    // What stands there is another's: it is left alone, also at the end.
    std::fs::remove_file(&at).unwrap();
    std::fs::write(&at, "another's").unwrap();
    founder.tell(ToExecutive::ListFederations);
    founder.until(|m| matches!(m, FromExecutive::Federations(_)));
    server.stop();
    founder.until_closed();
    assert_eq!(std::fs::read(&at).unwrap(), b"another's");
    std::fs::remove_file(&at).unwrap();
}

#[test]
fn it_ends_when_nobody_needs_it() {
    let idle_exit = Some(Duration::from_millis(50));
    let (server, founder) = run_for(|config| config.idle_exit = idle_exit);
    let mut founder = founder.found("Idle");
    founder
        .federate_mut()
        .resign_federation_execution(ResignAction::NoAction)
        .unwrap();
    founder.send_all();
    // A federation execution keeps it; without, and without connections, it ends.
    founder.tell(ToExecutive::DestroyFederation {
        federation: "Idle".into(),
    });
    founder.until(|m| matches!(m, FromExecutive::Done(Ok(()))));
    drop(founder);
    assert_eq!(server.ended(), "Idle");
}

#[test]
fn one_that_started_by_itself_ends_though_a_federation_was_left_behind() {
    let (server, founder) = run_for(|config| {
        config.by_itself = true;
        config.idle_exit = Some(Duration::from_millis(50));
    });
    // As a federate that is killed: neither resigned nor destroyed.
    drop(founder.found("Left"));
    assert_eq!(server.ended(), "Idle");
}

#[test]
fn one_that_started_by_itself_drops_what_nobody_can_join_and_nothing_else() {
    let (server, other) = run_for(|config| {
        config.by_itself = true;
        config.idle_exit = Some(Duration::from_millis(50));
        config.heartbeat = Duration::from_millis(50);
    });
    let mut other = other.found("Other");
    let mut undecided = Client::connect(&server);
    undecided.create("Later").unwrap();
    drop(Client::founder(&server, "Left"));
    let names = |client: &mut Client| {
        client.tell(ToExecutive::ListFederations);
        match client.until(|m| matches!(m, FromExecutive::Federations(_))) {
            FromExecutive::Federations(list) => {
                list.into_iter().map(|f| f.name).collect::<Vec<_>>()
            }
            _ => unreachable!(),
        }
    };
    // Somebody may be about to join.
    for _ in 0..5 {
        other.until_heartbeat();
    }
    assert_eq!(names(&mut other), ["Other", "Later", "Left"]);
    undecided.join("Later", "late").unwrap();
    while names(&mut other) != ["Other", "Later"] {
        other.until_heartbeat();
    }
}

#[test]
fn one_host_can_leave_only_so_many_federations() {
    let server = run(|config| {
        config.federations_per_host = 3;
        config.listen.push(Endpoint::loopback(0));
    });
    for n in 0..3 {
        Client::connect(&server).create(&format!("F{n}")).unwrap();
    }
    let mut client = Client::connect(&server);
    let refused = client.create("F3").unwrap_err();
    assert!(refused.contains("limits.federations_per_host"), "{refused}");
    // Another address of the same host.
    let tcp = server
        .endpoints
        .iter()
        .find(|e| matches!(e, Endpoint::Tcp { .. }));
    let mut other = Client::at(tcp.unwrap());
    other.hello(VERSION).unwrap();
    let refused = other.create("F3").unwrap_err();
    assert!(refused.contains("limits.federations_per_host"), "{refused}");
    client.tell(ToExecutive::DestroyFederation {
        federation: "F0".into(),
    });
    client.until(|m| matches!(m, FromExecutive::Done(Ok(()))));
    client.create("F3").unwrap();
}

#[test]
fn callbacks_of_the_core_carry_what_was_sent() {
    let server = run(|_| {});
    let mut sender = Client::founder(&server, "Values");
    let mut receiver = Client::member(&server, "Values", "receiver");
    receiver.subscribe();
    sender.until_subscribed(&receiver);
    sender.send(5);
    sender.send_all();
    let Callback::ReceiveInteraction {
        producer, values, ..
    } = receiver.next_callback()
    else {
        panic!("not an interaction");
    };
    // The FDD does not convey producing federates.
    assert_eq!((producer, values.tag()), (None, &b"tag"[..]));
}

/// A module of so many interaction classes, each with a long description.
fn large_module(classes: usize) -> ModuleSource {
    let semantics = "words ".repeat(200);
    let mut text = String::from(
        "<objectModel><interactions><interactionClass><name>HLAinteractionRoot</name>",
    );
    for n in 0..classes {
        text += &format!(
            "<interactionClass><name>I{n}</name><semantics>{semantics}</semantics></interactionClass>"
        );
    }
    text += "</interactionClass></interactions></objectModel>";
    ModuleSource {
        designator: "large.xml".into(),
        text: text.into_bytes().into(),
    }
}

/// Round trips of another client until the creation of a federation execution is answered, and
/// how long each took.
fn round_trips_while_created(server: &Running, classes: usize) -> Vec<Duration> {
    let mut other = Client::connect(server);
    let mut creator = Client::connect(server);
    creator.tell(ToExecutive::CreateFederation {
        federation: format!("Large {classes}"),
        modules: vec![large_module(classes)],
        mim: None,
        time_implementation: String::new(),
    });
    let mut took = Vec::new();
    while split_frame(creator.link.reader.inbox()).unwrap().is_none() {
        let begin = Instant::now();
        other.tell(ToExecutive::ListFederations);
        other.until(|m| matches!(m, FromExecutive::Federations(_)));
        took.push(begin.elapsed());
        creator.link.reader.fill().unwrap();
    }
    let answer = creator.until(|m| matches!(m, FromExecutive::Done(_)));
    assert_eq!(answer, FromExecutive::Done(Ok(())));
    took
}

#[test]
fn others_are_served_while_modules_are_read() {
    let merging = Arc::new(Mutex::new(()));
    let server = run(|config| config.merging = merging.clone());
    let held = merging.lock().unwrap();
    let mut creator = Client::connect(&server);
    creator.tell(ToExecutive::CreateFederation {
        federation: "Large".into(),
        modules: vec![large_module(100)],
        mim: None,
        time_implementation: String::new(),
    });
    // Were its modules read in between, it would be answered before this.
    let mut other = Client::connect(&server);
    for _ in 0..5 {
        other.tell(ToExecutive::ListFederations);
        let list = other.until(|m| matches!(m, FromExecutive::Federations(_)));
        assert_eq!(list, FromExecutive::Federations(Vec::new()));
    }
    creator.link.reader.fill().unwrap();
    assert_eq!(split_frame(creator.link.reader.inbox()).unwrap(), None);
    drop(held);
    let answer = creator.until(|m| matches!(m, FromExecutive::Done(_)));
    assert_eq!(answer, FromExecutive::Done(Ok(())));
    // What somebody sends behind its modules waits for them.
    let mut hasty = Client::connect(&server);
    let create = ToExecutive::CreateFederation {
        federation: "Hasty".into(),
        modules: vec![large_module(100)],
        mim: None,
        time_implementation: String::new(),
    };
    let federation = "Hasty".into();
    put_to_executive(hasty.link.writer.out(), &create);
    put_to_executive(hasty.link.writer.out(), &create);
    hasty.tell(ToExecutive::DestroyFederation { federation });
    let mut answer = || match hasty.until(|m| matches!(m, FromExecutive::Done(_))) {
        FromExecutive::Done(done) => done.is_ok(),
        _ => unreachable!(),
    };
    assert_eq!([answer(), answer(), answer()], [true, false, true]);
}

#[test]
fn modules_that_come_to_one_federation_execution_at_once_are_all_merged() {
    let server = run(|_| {});
    let _founder = Client::founder(&server, "Together");
    let mut joiners: Vec<_> = (0..4).map(|_| Client::connect(&server)).collect();
    for (n, joiner) in joiners.iter_mut().enumerate() {
        let mut module = large_module(500);
        module.designator = format!("module{n}.xml");
        let text = String::from_utf8(module.text.to_vec()).unwrap();
        let text = text.replace("<name>I", &format!("<name>J{n}x"));
        module.text = text.into_bytes().into();
        joiner.tell(ToExecutive::Join {
            name: Some(format!("joiner{n}")),
            kind: "test".into(),
            federation: "Together".into(),
            modules: vec![module],
        });
    }
    for joiner in &mut joiners {
        let answer =
            joiner.until(|m| matches!(m, FromExecutive::Joined(_) | FromExecutive::JoinRefused(_)));
        assert!(matches!(answer, FromExecutive::Joined(_)), "{answer:?}");
    }
    let mut last = Client::connect(&server);
    last.join("Together", "last").unwrap();
    for n in 0..4 {
        let class = format!("J{n}x499");
        assert!(last.federate().interaction_class_handle(&class).is_ok());
    }
}

/// On an idle machine: `cargo test --release -p starling-rtiexec --test server -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
#[allow(clippy::print_stdout, reason = "its result")]
fn round_trips_while_28_mb_are_read() {
    let server = run(|_| {});
    let median = |mut list: Vec<Duration>| {
        list.sort_unstable();
        (list[list.len() / 2], list.len())
    };
    let mut other = Client::connect(&server);
    let alone = (0..5000).map(|_| {
        let begin = Instant::now();
        other.tell(ToExecutive::ListFederations);
        other.until(|m| matches!(m, FromExecutive::Federations(_)));
        begin.elapsed()
    });
    let (alone, _) = median(alone.collect());
    let (meanwhile, count) = median(round_trips_while_created(&server, 22_000));
    let ratio = meanwhile.as_secs_f64() / alone.as_secs_f64();
    println!("alone {alone:?}, meanwhile {meanwhile:?} ({count} round trips), ratio {ratio:.2}");
    assert!(ratio <= 2.0, "{ratio}");
}

#[test]
fn who_does_not_take_its_answers_is_not_read() {
    const LIMIT: usize = 64 * 1024;
    let server = run(|config| config.send_queue_bytes = LIMIT);
    let _founder = Client::founder(&server, "Status");
    let mut asker = Client::connect(&server);
    let mut asked = 0;
    while server.state().held == 0 {
        if asker.link.writer.pending() < LIMIT {
            for _ in 0..1000 {
                put_to_executive(asker.link.writer.out(), &ToExecutive::QueryStatus);
            }
            asked += 1000;
        }
        asker.link.writer.flush().unwrap();
        assert!(asked < 10_000_000, "it was never held up");
    }
    let waiting = server.state().waiting_bytes;
    assert!(waiting < LIMIT + 4096, "{waiting}: at most one answer more");
    // When it reads, every answer comes.
    for _ in 0..asked {
        asker.link.writer.flush().unwrap();
        asker.until(|m| matches!(m, FromExecutive::Status(_)));
    }
    assert_eq!(server.state().held, 0);
}

/// Says these bytes, and what it is told when it is cut off for them.
fn cut_off(mut client: Client, bytes: &[u8]) -> String {
    client.link.writer.out().extend_from_slice(bytes);
    client.send_until_cut_off();
    let told = client.until(|m| matches!(m, FromExecutive::Removed(_)));
    client.until_closed();
    format!("{told:?}")
}

/// The begin of a frame that creates a federation execution, as long as that.
fn begun_creation(length: u32, come: usize) -> Vec<u8> {
    let mut whole = Vec::new();
    let create = ToExecutive::CreateFederation {
        federation: "F".into(),
        modules: vec![],
        mim: None,
        time_implementation: String::new(),
    };
    put_to_executive(&mut whole, &create);
    let mut bytes = length.to_le_bytes().to_vec();
    bytes.extend(&whole[4..6]);
    bytes.resize(come, 0);
    bytes
}

#[test]
fn before_joining_only_modules_are_large() {
    let server = run(|_| {});
    let large = 100_000_u32.to_le_bytes();
    let mut status = Vec::new();
    put_to_executive(&mut status, &ToExecutive::QueryStatus);
    let told = cut_off(
        Client::connect(&server),
        &[&large[..], &status[4..]].concat(),
    );
    assert!(told.contains("100000 bytes, more than 65536"), "{told}");
    // With modules, and once joined, it is a matter of the limit of all.
    let mut creator = Client::connect(&server);
    creator
        .link
        .writer
        .out()
        .extend(begun_creation(100_000, 50_000));
    creator.send_all();
    let mut member = Client::founder(&server, "Large");
    member
        .link
        .writer
        .out()
        .extend_from_slice(&[&large[..], &status[4..]].concat());
    member.send_all();
    while server.state().unjoined_bytes != 50_000 {}
    assert_eq!(server.state().connections, 2);
}

#[test]
fn what_is_begun_must_end() {
    let server = run(|config| config.frame_timeout = Some(Duration::from_millis(50)));
    let told = cut_off(Client::connect(&server), &begun_creation(100_000, 1000));
    assert!(told.contains("limits.frame_timeout_s"), "{told}");
    // So it is for a federate whose bytes come one by one; its heartbeats are late, too.
    let mut slow = Client::founder(&server, "Slow");
    let mut bytes = begun_creation(1_000_000, 1_000_000).into_iter();
    loop {
        slow.link.writer.out().extend(bytes.next());
        if slow.link.writer.flush().is_err() {
            break;
        }
        slow.wait(Duration::from_millis(1));
        if matches!(slow.link.reader.fill(), Ok(Fill::Closed) | Err(_)) {
            break;
        }
    }
    while server.state().connections > 0 {}
}

#[test]
fn all_that_strangers_begin_is_bounded() {
    let server = run(|config| config.frame_bytes_max = 1_000_000);
    let begin = |bytes: usize| {
        let mut client = Client::connect(&server);
        client
            .link
            .writer
            .out()
            .extend(begun_creation(1_000_000, bytes));
        client.send_all();
        client
    };
    let _kept = [begin(600_000), begin(600_000)];
    let told = cut_off(
        Client::connect(&server),
        &begun_creation(1_000_000, 900_000),
    );
    assert!(told.contains("have not joined"), "{told}");
    while server.state().unjoined_bytes != 1_200_000 {}
}

#[test]
fn names_have_a_limit() {
    let server = run(|_| {});
    let long = "n".repeat(NAME_BYTES_MAX + 1);
    let told = Client::connect(&server).create(&long).unwrap_err();
    assert!(told.contains("1025 bytes; 1024 are allowed"), "{told}");
    let mut client = Client::connect(&server);
    client.create(&long[1..]).unwrap();
    let told = client.join(&long[1..], &long).unwrap_err();
    assert!(told.contains("the name of a federate has 1025"), "{told}");
    client.join(&long[1..], &long[1..]).unwrap();
    let federate = client.federate_mut();
    let told = federate.reserve_object_instance_name(&long).unwrap_err();
    assert_eq!(told.kind, ExceptionKind::IllegalName);
    assert!(
        federate
            .register_federation_synchronization_point(&long, b"", &[])
            .is_err()
    );
    let mut stranger = Client::stranger(&server);
    let info = PeerInfo {
        program: long,
        ..PeerInfo::default()
    };
    put_hello(
        stranger.link.writer.out(),
        &Hello {
            compression: 0,
            version: VERSION,
            challenge: Vec::new(),
            info,
        },
    );
    stranger.send_all();
    stranger.until_closed();
}

#[test]
fn a_process_number_told_over_tcp_proves_nothing() {
    let server = run(|config| {
        config.listen.push(Endpoint::loopback(0));
        config.timeout = Duration::from_millis(100);
        config.heartbeat = Duration::from_millis(20);
    });
    // Silent, and it says that it is a process that runs: that may be anyone's.
    let mut liar = Client::at(&server.endpoints[1]);
    let info = PeerInfo {
        pid: 1,
        host: starling_net::host_name(),
        ..PeerInfo::default()
    };
    put_hello(
        liar.link.writer.out(),
        &Hello {
            compression: 0,
            version: VERSION,
            challenge: Vec::new(),
            info,
        },
    );
    liar.send_all();
    let told = liar.until(|m| matches!(m, FromExecutive::Removed(_)));
    assert!(format!("{told:?}").contains("its host answers"), "{told:?}");
    // This process is what it says.
    let mut honest = Client::at(&server.endpoints[1]);
    honest.hello(VERSION).unwrap();
    for _ in 0..20 {
        honest.until_heartbeat();
    }
    honest.tell(ToExecutive::ListFederations);
    honest.until(|m| matches!(m, FromExecutive::Federations(_)));
}

#[test]
fn places_of_connections_are_used_again() {
    let server = run(|_| {});
    let mut founder = Client::founder(&server, "Places");
    for _ in 0..2000 {
        Client::connect(&server);
        while server.state().connections > 1 {}
    }
    assert_eq!(server.state().places, 2);
    // A number of before means nobody now.
    let other = Client::member(&server, "Places", "other");
    founder.until_member("other", true);
    drop(other);
    founder.until_member("other", false);
    assert_eq!(server.state().places, 2);
}

/// The reason comes though the socket was full, and though the removed federate sends before it reads.
#[test]
fn who_is_removed_is_told_why() {
    let server = run(|config| {
        config.send_queue_bytes = 1 << 20;
        config.timeout = Duration::from_secs(3600);
        config.send_stall = Some(Duration::from_millis(20));
    });
    let mut sender = Client::founder(&server, "Slow");
    let mut receiver = Client::member(&server, "Slow", "receiver");
    receiver.subscribe();
    sender.until_subscribed(&receiver);
    let mut number = 0;
    while sender.fault.is_empty() && server.state().leaving == 0 {
        for _ in 0..1000 {
            sender.send(number);
            number += 1;
        }
        // Held up for a while; what it does not take now it takes later.
        sender.link.writer.flush().unwrap();
        sender.wait(Duration::from_millis(1));
    }
    let waiting = server.state();
    assert_eq!((waiting.connections, waiting.leaving), (1, 1));
    sender.until_member("receiver", false);
    // It does not know yet.
    receiver.send(1);
    receiver.link.writer.flush().unwrap();
    let told = receiver.until(|m| matches!(m, FromExecutive::Removed(_)));
    assert!(
        format!("{told:?}").contains("limits.send_stall_s"),
        "{told:?}"
    );
    receiver.until_closed();
    drop(receiver);
    while server.state().leaving > 0 {}
}

#[test]
fn a_federate_is_told_that_rtiexec_has_no_management_object_model() {
    for (setting, on) in [("", true), ("services.mom=off", false)] {
        let settings = Sources::new().designator(setting).read().unwrap();
        let server = run(|c| c.services = Config::of(&settings).services);
        let mut client = Client::founder(&server, "Managed");
        let federate = client.federate_mut();
        let class = "HLAmanager.HLAfederation.HLAreport.HLAreportMIMdata";
        let class = federate.interaction_class_handle(class).unwrap();
        let subscribed = federate.subscribe_interaction_class(class, true);
        assert_eq!(subscribed.is_ok(), on, "{subscribed:?}");
    }
}
