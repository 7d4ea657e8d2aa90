//! Who has TCP links to whom: who connects where, what proves it, and what becomes of a link that is over.

mod common;

use common::{Client, Running};
use starling_core::message::{FromExecutive, ResignAction, ToExecutive};
use starling_rtiexec::Links;
use starling_wire::{LinkNotice, LinkRequest, put_link_request};

fn linking() -> Running {
    common::run(|config| config.links = Links::All)
}

fn want(client: &mut Client) {
    client.tell_link(&LinkRequest::Direct { all: true }, None);
}

/// It is asked where it takes connections; its mark.
fn asked(client: &mut Client) -> u64 {
    match client.link_notice() {
        LinkNotice::Listen { mark, here: true } => mark,
        other => panic!("{other:?}"),
    }
}

fn endpoint(address: &str, port: u32) -> LinkRequest {
    LinkRequest::Endpoint {
        address: address.into(),
        port,
        why: "it has none".into(),
    }
}

/// It is asked where it takes connections, and takes them at this port; its mark.
fn listens(client: &mut Client, port: u32) -> u64 {
    let mark = asked(client);
    client.tell_link(&endpoint("", port), None);
    mark
}

/// A link that it is to have: the peer's mark, where to connect to, and the secret.
fn link(client: &mut Client) -> (u64, String, u32, Vec<u8>) {
    match client.link_notice() {
        LinkNotice::Direct {
            mark,
            address,
            port,
            secret,
            ..
        } => (mark, address, port, secret),
        other => panic!("{other:?}"),
    }
}

fn over(to: u64, why: &str) -> LinkRequest {
    let why = why.into();
    LinkRequest::Over { to, why }
}

/// How data gets from the first to the second member, as `starling ps` says.
fn path(client: &mut Client, other: &Client) -> String {
    client.tell(ToExecutive::QueryStatus);
    let status = client.until(|m| matches!(m, FromExecutive::Status(_)));
    let FromExecutive::Status(list) = status else {
        unreachable!()
    };
    let (own, to) = (client.federate().handle(), other.federate().handle());
    let federates = &list[0].federates;
    let of = federates.iter().find(|f| f.federate.handle == own).unwrap();
    let path = of
        .paths
        .iter()
        .find(|p| p.to.is_empty() || p.to.contains(&to));
    path.unwrap().by.clone()
}

#[test]
fn two_get_a_secret_that_is_never_used_again() {
    let server = linking();
    let mut a = Client::founder(&server, "F");
    let mut b = Client::member(&server, "F", "b");
    let mut c = Client::member(&server, "F", "c");
    let mut elsewhere = Client::founder(&server, "G");
    // Nobody is asked before there is another one.
    want(&mut a);
    want(&mut elsewhere);
    want(&mut b);
    let mark_a = listens(&mut a, 4001);
    let mark_b = listens(&mut b, 4002);
    // The one that came later connects to the other.
    let (to, address, port, secret) = link(&mut b);
    assert_eq!(
        (to, &*address, port, secret.len()),
        (mark_a, "127.0.0.1", 4001, 32)
    );
    let of_a = link(&mut a);
    assert_eq!(of_a, (mark_b, String::new(), 4001, secret.clone()));
    // Another pair has another one.
    want(&mut c);
    let mark_c = listens(&mut c, 4003);
    let [with_a, with_b] = [link(&mut c), link(&mut c)];
    assert_eq!([with_a.0, with_b.0], [mark_a, mark_b]);
    assert!(with_a.3 != with_b.3 && with_a.3 != secret);
    assert_eq!((link(&mut a).0, link(&mut b).0), (mark_c, mark_c));
    // Both use it; then one end is over, and what it had put there goes to the other alone, before that is told.
    let linked = |to| LinkRequest::Path {
        to,
        shared: true,
        why: String::new(),
    };
    assert_eq!(path(&mut a, &b), "rtiexec (the link is not set up yet)");
    a.tell_link(&linked(mark_b), None);
    b.tell_link(&linked(mark_a), None);
    assert_eq!(path(&mut a, &b), "direct tcp");
    let frames = b"frames".to_vec();
    let rest = LinkRequest::Rest {
        to: mark_b,
        at: 7,
        frames: frames.clone(),
    };
    a.tell_link(&rest, None);
    a.tell_link(&over(mark_b, "it is cut"), None);
    let from = mark_a;
    let told = LinkNotice::Rest {
        from,
        at: 7,
        frames,
    };
    assert_eq!(b.link_notice(), told);
    assert_eq!(b.link_notice(), LinkNotice::Broken { mark: mark_a });
    assert_eq!(path(&mut a, &b), "rtiexec (it is cut)");
    // There is another link when both have ended the former and one has asked, and not before.
    a.tell_link(&LinkRequest::Again { to: mark_b }, None);
    assert_eq!(path(&mut a, &b), "rtiexec (it is cut)");
    b.tell_link(&over(mark_a, "so is this end"), None);
    let again = link(&mut b);
    assert_eq!((again.0, again.2), (mark_a, 4001), "it worked that way");
    assert_ne!(again.3, secret);
    assert_eq!(link(&mut a).3, again.3);
    // It does not come about: the other end connects the next time.
    b.tell_link(&over(mark_a, "no answer"), None);
    b.tell_link(&LinkRequest::Again { to: mark_a }, None);
    assert_eq!(a.link_notice(), LinkNotice::Broken { mark: mark_b });
    a.tell_link(&over(mark_b, "so is this end"), None);
    assert_eq!((link(&mut a).2, link(&mut b).1), (4002, String::new()));
    // Those who leave are told of, and nothing reaches them any more.
    let action = ResignAction::NoAction;
    b.federate_mut()
        .resign_federation_execution(action)
        .unwrap();
    b.send_all();
    assert_eq!(a.link_notice(), LinkNotice::Gone { mark: mark_b });
    assert_eq!(c.link_notice(), LinkNotice::Gone { mark: mark_b });
    assert!(
        a.federate().federate_handle("b").is_ok(),
        "not resigned yet"
    );
    a.tell_link(&rest, None);
    a.tell_link(&over(mark_b, "late"), None);
    elsewhere.tell_link(&over(mark_a, "none of its own"), None);
    drop(c);
    assert_eq!(a.link_notice(), LinkNotice::Gone { mark: mark_c });
}

/// Who takes no connections connects; two of them have no link.
#[test]
fn one_that_takes_no_connections_connects() {
    let server = linking();
    let mut a = Client::founder(&server, "F");
    let mut b = Client::member(&server, "F", "b");
    let mut c = Client::member(&server, "F", "c");
    want(&mut a);
    want(&mut b);
    let mark_a = listens(&mut a, 0);
    asked(&mut b);
    b.tell_link(&endpoint("10.0.0.7", 4002), None);
    assert_eq!(link(&mut b).1, "", "the other connects");
    let (_, address, port, _) = link(&mut a);
    assert_eq!((&*address, port), ("10.0.0.7", 4002), "where it has said");
    want(&mut c);
    let mark_c = listens(&mut c, 0);
    assert_eq!(link(&mut c).2, 4002);
    assert_eq!(link(&mut b).0, mark_c);
    assert_eq!(
        path(&mut c, &a),
        "rtiexec (neither of them takes connections)"
    );
    assert!(mark_a < mark_c);
}

#[test]
fn links_are_refused_where_they_are_not_wanted() {
    let server = common::run(|config| config.links = Links::None);
    let mut a = Client::founder(&server, "F");
    a.tell_link(&LinkRequest::Direct { all: true }, None);
    let why = "transport.path = forwarder at rtiexec".to_owned();
    assert_eq!(a.link_notice(), LinkNotice::NoDirect { why });
    // Nobody else is there, whatever it says.
    a.tell_link(&endpoint("", 4001), None);
    a.tell_link(&over(1, "nobody"), None);
    a.tell_link(&LinkRequest::Again { to: 1 }, None);
    let b = Client::member(&server, "F", "b");
    assert_eq!(
        path(&mut a, &b),
        "rtiexec (it has not offered shared memory)"
    );
    // Beside each other only if both want that.
    let server = common::run(|config| config.links = Links::BetweenHosts);
    let mut a = Client::founder(&server, "F");
    let mut b = Client::member(&server, "F", "b");
    want(&mut a);
    // Each answer comes behind what was asked before.
    path(&mut a, &b);
    want(&mut b);
    assert_eq!(
        path(&mut b, &a),
        "rtiexec (it has not offered shared memory)"
    );
}

#[test]
fn what_makes_no_sense_ends_the_connection() {
    let server = linking();
    for request in [
        endpoint("nowhere", 1),
        endpoint("", 65_536),
        endpoint(&"1".repeat(70_000), 1),
        over(1, &"w".repeat(70_000)),
        LinkRequest::Dropped {
            to: 1,
            messages: u64::MAX,
        },
    ] {
        let mut a = Client::founder(&server, "F");
        let mut b = Client::member(&server, "F", "b");
        want(&mut a);
        want(&mut b);
        asked(&mut a);
        a.tell_link(&request, None);
        a.until_closed();
        drop((a, b));
        let mut next = Client::connect(&server);
        while next.create("G").is_err() {}
        next.tell(ToExecutive::DestroyFederation {
            federation: "G".into(),
        });
        next.tell(ToExecutive::DestroyFederation {
            federation: "F".into(),
        });
        next.until(|m| matches!(m, FromExecutive::Done(_)));
        next.until(|m| matches!(m, FromExecutive::Done(_)));
    }
}

/// Who says on and on that a link is over waits for the other to hear it.
#[test]
fn what_is_told_of_links_is_bounded() {
    const ROOM: usize = 1000;
    let server = common::run(|config| {
        config.links = Links::All;
        config.send_queue_bytes = ROOM;
    });
    let mut hostile = Client::founder(&server, "F");
    let mut slow = Client::member(&server, "F", "slow");
    want(&mut hostile);
    want(&mut slow);
    listens(&mut hostile, 4001);
    let mark = listens(&mut slow, 4002);
    assert_eq!(link(&mut hostile).0, mark);
    let mut said = 0;
    while server.state().held == 0 && said < 100_000 {
        if hostile.link.writer.pending() < 1 << 16 {
            for _ in 0..1000 {
                put_link_request(hostile.link.writer.out(), &over(mark, "it is not"));
            }
            said += 1000;
        }
        hostile.link.writer.flush().unwrap();
    }
    let state = server.state();
    assert_eq!(state.held, 1);
    assert!(state.waiting_bytes < 20 * ROOM, "{}", state.waiting_bytes);
    // Once it reads, the other is read on.
    while server.state().held > 0 {
        slow.take_in();
    }
}
