//! Who shares memory with whom: offers, seats, descriptors passed on, and what is relayed.

mod common;

use common::{Client, Running};
use starling_core::FederateHandle;
use starling_core::message::{
    FromExecutive, Question, Request, RequestBody, ResignAction, ToExecutive,
};
use starling_net::Descriptors;
use starling_wire::{LinkNotice, LinkRequest};
use std::collections::BTreeMap;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

fn sharing() -> Running {
    common::run(|config| config.shared_memory = true)
}

/// Three descriptors of a file with this length, by which it is known.
fn descriptors(length: u64) -> Descriptors {
    let file = tempfile::tempfile().unwrap();
    file.set_len(length).unwrap();
    of_file(&file)
}

fn of_file(file: &File) -> Descriptors {
    let copy = || OwnedFd::from(file.try_clone().unwrap());
    [copy(), copy(), copy()].into()
}

fn offer(client: &mut Client, number: u32, length: u64) -> LinkNotice {
    client.tell_link(&LinkRequest::Offer { number }, Some(descriptors(length)));
    client.link_notice()
}

/// Its seat and mark.
fn seated(client: &mut Client, length: u64) -> (u8, u64) {
    match offer(client, 1, length) {
        LinkNotice::Seated {
            number: 1,
            seat,
            mark,
        } => (seat, mark),
        other => panic!("{other:?}"),
    }
}

/// A peer that it is told of: mark, seat, federate, and the length of the file that it shares.
fn peer(client: &mut Client) -> (u64, u8, FederateHandle, u64) {
    let LinkNotice::Peer {
        mark,
        seat,
        federate,
    } = client.link_notice()
    else {
        panic!("no peer");
    };
    let came = client.link.reader.take_descriptors().unwrap().unwrap();
    let lengths = came.map(|fd| File::from(fd).metadata().unwrap().len());
    assert_eq!(lengths, [lengths[0]; 3]);
    (mark, seat, federate, lengths[0])
}

fn resign(client: &mut Client) {
    let action = ResignAction::NoAction;
    client
        .federate_mut()
        .resign_federation_execution(action)
        .unwrap();
    client.send_all();
}

/// Descriptors of a file that this process has, the server's and the clients'.
fn count_open(file: &File) -> usize {
    let number = file.metadata().unwrap().ino();
    let all = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let open = all.filter_map(|fd| std::fs::metadata(fd.path()).ok());
    open.filter(|m| m.ino() == number).count()
}

#[test]
fn members_get_each_others_memory_and_seats_are_used_again() {
    let server = sharing();
    let mut a = Client::founder(&server, "Near");
    let mut b = Client::member(&server, "Near", "b");
    let mut c = Client::member(&server, "Near", "c");
    let mut elsewhere = Client::founder(&server, "Far");
    let (of_a, of_b, of_c) = (
        a.federate().handle(),
        b.federate().handle(),
        c.federate().handle(),
    );
    let (seat_a, mark_a) = seated(&mut a, 11);
    let (seat_b, mark_b) = seated(&mut b, 12);
    assert_eq!(peer(&mut a), (mark_b, seat_b, of_b, 12));
    assert_eq!(peer(&mut b), (mark_a, seat_a, of_a, 11));
    seated(&mut elsewhere, 14);
    let (seat_c, mark_c) = seated(&mut c, 13);
    assert_eq!(peer(&mut c), (mark_a, seat_a, of_a, 11));
    assert_eq!(peer(&mut c), (mark_b, seat_b, of_b, 12));
    assert_eq!(peer(&mut a), (mark_c, seat_c, of_c, 13));
    assert_eq!([seat_a, seat_b, seat_c], [0, 1, 2]);
    // What one relays comes to whom it is meant for, and nobody else.
    let relay = |to| LinkRequest::Relay {
        to,
        frames: b"frames".to_vec(),
    };
    a.tell_link(&relay(mark_b), None);
    assert_eq!(peer(&mut b), (mark_c, seat_c, of_c, 13));
    let relayed = LinkNotice::Relayed {
        from: mark_a,
        frames: b"frames".to_vec(),
    };
    assert_eq!(b.link_notice(), relayed);
    elsewhere.tell_link(&relay(mark_b), None);
    // One resigns, one dies: the others are told before the log says so.
    resign(&mut b);
    assert_eq!(a.link_notice(), LinkNotice::Gone { mark: mark_b });
    assert!(
        a.federate().federate_handle("b").is_ok(),
        "not resigned yet"
    );
    assert_eq!(c.link_notice(), LinkNotice::Gone { mark: mark_b });
    a.tell_link(&relay(mark_b), None);
    drop(c);
    assert_eq!(a.link_notice(), LinkNotice::Gone { mark: mark_c });
    assert!(
        a.federate().federate_handle("c").is_ok(),
        "not resigned yet"
    );
    a.until_member("c", false);
    // The seat is free again, the mark is not.
    let mut d = Client::member(&server, "Near", "d");
    let (seat_d, mark_d) = seated(&mut d, 15);
    assert_eq!(seat_d, seat_b);
    assert!(mark_d > mark_c);
    assert_eq!((peer(&mut a).0, peer(&mut d).0), (mark_d, mark_a));
    // Who offers again takes the former offer back.
    let (_, again) = seated(&mut d, 16);
    assert_eq!(a.link_notice(), LinkNotice::Gone { mark: mark_d });
    assert_eq!((peer(&mut a).0, again), (again, mark_d + 1));
    assert_eq!(peer(&mut d).3, 11);
}

#[test]
fn paths_are_shown() {
    let server = sharing();
    let mut a = Client::founder(&server, "Near");
    let mut others = BTreeMap::new();
    seated(&mut a, 1);
    for (name, shared) in [("b", true), ("c", false), ("d", true)] {
        let mut other = Client::member(&server, "Near", name);
        let (_, to) = seated(&mut other, 1);
        let why = if shared { "" } else { "it sleeps" }.to_owned();
        a.tell_link(&LinkRequest::Path { to, shared, why }, None);
        others.insert(name, other);
    }
    a.tell(ToExecutive::QueryStatus);
    let status = a.until(|m| matches!(m, FromExecutive::Status(_)));
    let FromExecutive::Status(list) = status else {
        unreachable!()
    };
    let [of_a, of_b, ..] = &list[0].federates[..] else {
        panic!("{list:?}");
    };
    let paths = of_a.paths.iter().map(|p| (p.by.as_str(), p.to.len()));
    let paths: Vec<_> = paths.collect();
    assert_eq!(paths, [("rtiexec (it sleeps)", 1), ("shared memory", 2)]);
    let yet = "rtiexec (shared memory is not set up yet)";
    assert_eq!(
        (of_b.paths[0].by.as_str(), of_b.paths[0].to.len()),
        (yet, 3)
    );
    // To one of them, as it is told who asks why it gets nothing.
    let b = others.get_mut("b").expect("it is joined");
    b.subscribe();
    a.until_subscribed(b);
    a.tell(ToExecutive::QueryWhy(Question {
        federation: "Near".into(),
        federate: "b".into(),
        subject: Some("Number".into()),
    }));
    let FromExecutive::Why(findings) = a.until(|m| matches!(m, FromExecutive::Why(_))) else {
        unreachable!()
    };
    let path = findings.iter().find(|f| f.link == "path");
    let path = &path.unwrap_or_else(|| panic!("{findings:?}")).detail;
    let sent = findings.iter().find(|f| f.link == "sent");
    let sent = &sent.unwrap_or_else(|| panic!("{findings:?}")).detail;
    assert!(
        sent.ends_with("; what takes shared memory does not come to rtiexec"),
        "{sent}"
    );
    let ways =
        format!("data comes by {yet} from 2 others, by shared memory from another federate; ");
    assert!(path.starts_with(&ways), "{path}");
    // Of one that has not offered.
    let _other = Client::member(&server, "Near", "e");
    drop(others.remove("d"));
    a.until_member("d", false);
    a.tell(ToExecutive::QueryStatus);
    let status = a.until(|m| matches!(m, FromExecutive::Status(_)));
    let FromExecutive::Status(list) = status else {
        unreachable!()
    };
    let [of_a, .., of_e] = &list[0].federates[..] else {
        panic!("{list:?}");
    };
    let paths = of_a.paths.iter().map(|p| (p.by.as_str(), p.to.len()));
    let why = "it has not offered shared memory";
    let of_other = format!("rtiexec (of the other: {why})");
    let expected = [
        ("rtiexec (it sleeps)", 1),
        (&of_other, 1),
        ("shared memory", 1),
    ];
    assert_eq!(paths.collect::<Vec<_>>(), expected);
    let of_e: Vec<_> = of_e.paths.iter().map(|p| (&p.by, p.to.len())).collect();
    let all_others = 0;
    assert_eq!(of_e, [(&format!("rtiexec ({why})"), all_others)]);
}

#[test]
fn offers_are_refused_with_the_reason() {
    let server = common::run(|config| config.shared_memory = false);
    let mut a = Client::founder(&server, "Near");
    let why = "transport.shared_memory = off at rtiexec".to_owned();
    assert_eq!(offer(&mut a, 7, 1), LinkNotice::Refused { number: 7, why });
}

#[test]
fn there_are_128_seats() {
    let server = sharing();
    let mut members = vec![Client::founder(&server, "Many")];
    let refused = loop {
        let number = members.len() as u32;
        match offer(members.last_mut().unwrap(), number, 1) {
            LinkNotice::Seated { seat, .. } => assert_eq!(u32::from(seat) + 1, number),
            other => break other,
        }
        assert!(number <= 128);
        members.push(Client::member(&server, "Many", &number.to_string()));
    };
    assert_eq!(members.len(), 129);
    let LinkNotice::Refused { number: 129, why } = refused else {
        panic!("{refused:?}");
    };
    assert!(why.contains("128 federates share memory"), "{why}");
}

/// What a federate does that it must not; it is cut off, the others stay.
fn is_cut_off(server: &Running, federation: &str, fault: impl FnOnce(&mut Client)) {
    let mut witness = Client::founder(server, federation);
    let mut hostile = Client::member(server, federation, "hostile");
    witness.until_member("hostile", true);
    fault(&mut hostile);
    hostile.until_closed();
    witness.until_member("hostile", false);
}

#[test]
fn who_attaches_descriptors_to_what_takes_none_is_cut_off() {
    let server = sharing();
    let file = tempfile::tempfile().unwrap();
    is_cut_off(&server, "stray", |hostile| {
        hostile.link.writer.attach(of_file(&file));
        hostile.tell_link(
            &LinkRequest::Relay {
                to: 1,
                frames: Vec::new(),
            },
            None,
        );
    });
    is_cut_off(&server, "none", |hostile| {
        hostile.tell_link(&LinkRequest::Offer { number: 1 }, None);
    });
    is_cut_off(&server, "many", |hostile| {
        for _ in 0..100 {
            hostile.link.writer.attach(of_file(&file));
            // The first byte of a frame that does not come.
            hostile.link.writer.out().push(0);
            hostile.send_until_cut_off();
        }
    });
    is_cut_off(&server, "fences", |hostile| {
        let request = Request {
            applied: starling_core::message::LogIndex(0),
            fenced: vec![FederateHandle(1)],
            body: RequestBody::PathChanged,
        };
        hostile.tell(ToExecutive::Request(request));
    });
    // Who was cut off stays until it has heard why.
    while server.state().leaving > 0 {
        std::thread::yield_now();
    }
    assert_eq!(count_open(&file), 1, "all others are closed");
}
