//! Datagrams to a real server: whose it takes, and what it makes of those that nobody should send.

mod common;

use common::{Client, Running, run};
use starling_core::message::{BestEffort, FromExecutive, ToExecutive};
use starling_net::{Datagrams, Endpoint, Leaving};
use starling_wire::{
    DatagramIn, DatagramOut, LinkNotice, LinkRequest, Secret, StreamPosition, split_datagram,
};
use std::net::{Ipv4Addr, UdpSocket};
use std::time::Duration;

/// One that takes no way for closed while a test goes on, however long that is held up.
fn server() -> Running {
    beating(Duration::from_secs(3600))
}

fn beating(heartbeat: Duration) -> Running {
    run(|config| {
        config.listen.push(Endpoint::loopback(0));
        config.heartbeat = heartbeat;
        config.timeout = Duration::from_secs(3600);
    })
}

/// A member's way by datagrams.
struct Way {
    socket: UdpSocket,
    secret: Secret,
    out: DatagramOut,
    incoming: DatagramIn,
}

impl Way {
    /// Asks for a session.
    fn open(client: &mut Client) -> Way {
        client.tell_link(&LinkRequest::Datagrams, None);
        let LinkNotice::Datagrams { port, secret } = client.link_notice() else {
            panic!("no session");
        };
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        socket.connect(("127.0.0.1", port as u16)).unwrap();
        socket
            .set_read_timeout(Some(Duration::from_secs(60)))
            .unwrap();
        let secret: Secret = secret.try_into().unwrap();
        Way {
            socket,
            secret,
            out: DatagramOut::new(&secret, 1400, client.link.writer.position()),
            incoming: DatagramIn::default(),
        }
    }

    fn send(&mut self, asks: bool) {
        self.socket.send(self.out.datagram(true, asks)).unwrap();
        self.out.sent();
    }

    /// Sends what is bundled, and waits for the answer to it. So all of that has been taken.
    fn send_and_hear(&mut self) {
        self.send(true);
        assert!(self.receive().is_empty());
    }

    /// The frames of the next datagram.
    fn receive(&mut self) -> Vec<u8> {
        let mut buffer = [0; 70_000];
        let length = self.socket.recv(&mut buffer).expect("it answers");
        let (head, frames) = split_datagram(&buffer[..length]).unwrap();
        assert!(head.secret == self.secret && head.hears);
        let at = StreamPosition {
            read: u64::MAX,
            best_effort: 0,
        };
        self.incoming.receive((&head, frames), at).unwrap().to_vec()
    }
}

/// Its own datagrams still come.
#[test]
fn who_hears_no_datagrams_any_more_is_shown_so() {
    let server = server();
    let mut a = Client::founder(&server, "F");
    let mut way = Way::open(&mut a);
    way.send_and_hear();
    assert_eq!(best_effort(&server)[0].by, "datagrams");
    way.socket.send(way.out.datagram(false, true)).unwrap();
    way.out.sent();
    assert!(way.receive().is_empty());
    assert_eq!(
        best_effort(&server)[0].by,
        "its stream (no datagram comes there any more)"
    );
    way.send_and_hear();
    assert_eq!(best_effort(&server)[0].by, "datagrams");
}

/// A frame with this number, declared best effort.
fn frame(client: &mut Client, number: u32) -> Vec<u8> {
    let before = client.link.writer.out().len();
    client.send(number);
    let mut frame = client.link.writer.out().split_off(before);
    frame[4] |= 8;
    frame
}

fn best_effort(server: &Running) -> Vec<BestEffort> {
    let mut asks = Client::connect(server);
    asks.tell(ToExecutive::QueryStatus);
    let status = asks.until(|m| matches!(m, FromExecutive::Status(_)));
    let FromExecutive::Status(list) = status else {
        unreachable!()
    };
    let federates = list.into_iter().flat_map(|f| f.federates);
    federates.map(|f| f.best_effort).collect()
}

#[test]
fn what_is_no_members_changes_nothing_and_is_not_answered() {
    let server = server();
    let mut a = Client::founder(&server, "F");
    let mut b = Client::member(&server, "F", "b");
    b.subscribe();
    a.until_subscribed(&b);
    let mut way = Way::open(&mut a);
    way.send_and_hear();
    let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
    stranger.connect(way.socket.peer_addr().unwrap()).unwrap();
    let mut guess = way.out.datagram(true, true).to_vec();
    guess[5] ^= 1;
    for junk in [&b""[..], &[0; 2000], &[1; 34], &guess] {
        stranger.send(junk).unwrap();
    }
    // Behind them: the member's way is as it was.
    way.send_and_hear();
    stranger.set_nonblocking(true).unwrap();
    assert!(
        stranger.recv(&mut [0; 100]).is_err(),
        "a stranger is answered"
    );
    // A member's junk is dropped, and ends nothing.
    way.out.forward(&[9, 0, 0, 0, 1, 2, 3]);
    way.send(true);
    way = Way::open(&mut a);
    way.send_and_hear();
    // A frame that says to be of another federate, and one that comes after what has not happened.
    let mut others = frame(&mut a, 1);
    others[5] += 1;
    let mut early = frame(&mut a, 1);
    early[6] = 99;
    for wrong in [others, early] {
        way.out.forward(&wrong);
        way.send_and_hear();
    }
    assert_eq!(best_effort(&server)[0].lost, 2);
    // The session of an end that has resigned is nobody's.
    let mut gone = Way::open(&mut b);
    gone.send_and_hear();
    drop(b);
    a.until_member("b", false);
    gone.send(true);
    way.send_and_hear();
    gone.socket.set_nonblocking(true).unwrap();
    assert!(gone.socket.recv(&mut [0; 100]).is_err());
}

#[test]
fn data_waits_for_its_place_in_the_stream_and_goes_on_by_datagram() {
    let server = server();
    let (mut a, mut b) = (
        Client::founder(&server, "F"),
        Client::member(&server, "F", "b"),
    );
    b.subscribe();
    a.until_subscribed(&b);
    let (mut from_a, mut to_b) = (Way::open(&mut a), Way::open(&mut b));
    from_a.send_and_hear();
    to_b.send_and_hear();
    let first = frame(&mut a, 1);
    from_a.out.forward(&first);
    from_a.send_and_hear();
    assert_eq!(to_b.receive(), first);
    // It comes after what is still to be written.
    a.tell_link(&LinkRequest::Datagrams, None);
    let second = frame(&mut a, 2);
    from_a = {
        let LinkNotice::Datagrams { secret, .. } = a.link_notice() else {
            panic!("no session");
        };
        let secret: Secret = secret.try_into().unwrap();
        let behind = a.link.writer.position() + 10;
        let out = DatagramOut::new(&secret, 1400, behind);
        Way {
            secret,
            out,
            incoming: DatagramIn::default(),
            ..from_a
        }
    };
    from_a.out.forward(&second);
    from_a.send_and_hear();
    to_b.socket.set_nonblocking(true).unwrap();
    assert!(
        to_b.socket.recv(&mut [0; 100]).is_err(),
        "it overtook the stream"
    );
    to_b.socket.set_nonblocking(false).unwrap();
    // Two heartbeats are 10 bytes.
    for _ in 0..2 {
        starling_wire::put_heartbeat(a.link.writer.out());
    }
    a.send_all();
    assert_eq!(to_b.receive(), second);
    assert_eq!(best_effort(&server).iter().map(|b| b.lost).sum::<u64>(), 0);
    // What comes by the stream is newer than what was sent before it and comes later.
    let (third, fourth) = (frame(&mut a, 3), frame(&mut a, 4));
    a.link.writer.out().extend(fourth.clone());
    a.send_all();
    assert_eq!(to_b.receive(), fourth);
    from_a.out.forward(&third);
    from_a.send_and_hear();
    assert_eq!(best_effort(&server).iter().map(|b| b.lost).sum::<u64>(), 1);
}

/// What was sent by datagram is on its way before what was sent behind it on the stream, also where rtiexec has found both.
#[test]
fn the_stream_overtakes_no_datagram_at_rtiexec() {
    let server = server();
    let (mut a, mut b) = (
        Client::founder(&server, "F"),
        Client::member(&server, "F", "b"),
    );
    b.subscribe();
    a.until_subscribed(&b);
    let (mut from_a, mut to_b) = (Way::open(&mut a), Way::open(&mut b));
    from_a.send_and_hear();
    to_b.send_and_hear();
    to_b.socket.set_nonblocking(true).unwrap();
    for number in 0..1000 {
        let lossy = frame(&mut a, 2 * number);
        from_a.out.forward(&lossy);
        from_a.send(false);
        a.send(2 * number + 1);
        a.send_all();
        assert_eq!(b.next_number(), 2 * number + 1);
        assert_eq!(to_b.receive(), lossy, "the datagram came later");
    }
}

#[test]
fn a_way_on_which_nothing_comes_gives_way_to_the_stream() {
    let server = beating(Duration::from_millis(100));
    let (mut a, mut b) = (
        Client::founder(&server, "F"),
        Client::member(&server, "F", "b"),
    );
    b.subscribe();
    a.until_subscribed(&b);
    let mut to_b = Way::open(&mut b);
    to_b.send_and_hear();
    let send = |a: &mut Client, number| {
        let frame = frame(a, number);
        a.link.writer.out().extend(frame);
        a.send_all();
    };
    send(&mut a, 1);
    assert!(!to_b.receive().is_empty());
    while best_effort(&server).iter().any(|b| b.by == "datagrams") {
        b.wait(Duration::from_millis(20));
    }
    send(&mut a, 2);
    assert_eq!(b.next_number(), 2);
    // It is heard again.
    to_b.send_and_hear();
    send(&mut a, 3);
    assert!(!to_b.receive().is_empty());
    assert!(best_effort(&server).iter().any(|b| b.by == "datagrams"));
}

/// Each end is told how much the other one has sent, if nothing comes by datagram any more, too.
#[test]
fn what_is_lost_before_the_stream_is_taken_is_counted() {
    let server = beating(Duration::from_millis(100));
    let (mut a, mut b) = (
        Client::founder(&server, "F"),
        Client::member(&server, "F", "b"),
    );
    b.subscribe();
    a.until_subscribed(&b);
    let (mut from_a, mut to_b) = (Way::open(&mut a), Way::open(&mut b));
    from_a.send_and_hear();
    to_b.send_and_hear();
    let first = frame(&mut a, 1);
    from_a.out.forward(&first);
    from_a.send_and_hear();
    let notice = b.link_notice();
    assert_eq!(notice, LinkNotice::Sent { messages: 1 });
    for number in 2..7 {
        let lost = frame(&mut a, number);
        from_a.out.forward(&lost);
    }
    let messages = from_a.out.messages();
    a.tell_link(&LinkRequest::Sent { messages }, None);
    let until_lost = |lost| while best_effort(&server)[0].lost != lost {};
    until_lost(5);
    // Of one membership, however many sessions it has.
    from_a = Way::open(&mut a);
    until_lost(5);
    from_a.send_and_hear();
    a.tell_link(&LinkRequest::Sent { messages: u64::MAX }, None);
    until_lost(u64::MAX);
}

/// Also where best-effort data goes by streams.
#[test]
fn who_does_not_read_loses_best_effort_data_is_told_so_and_holds_up_nobody() {
    const LIMIT: usize = 64 * 1024;
    const SENT: u32 = 300_000;
    let server = run(|config| {
        config.send_queue_bytes = LIMIT;
        config.heartbeat = Duration::from_millis(50);
        config.timeout = Duration::from_secs(3600);
    });
    let (mut a, mut b) = (
        Client::founder(&server, "F"),
        Client::member(&server, "F", "b"),
    );
    b.subscribe();
    a.until_subscribed(&b);
    for number in 0..SENT {
        let frame = frame(&mut a, number);
        a.link.writer.out().extend_from_slice(&frame);
        // Far more than all buffers between the two hold.
        while a.link.writer.pending() > LIMIT {
            a.link.writer.flush().unwrap();
            assert_eq!(server.state().held, 0);
        }
    }
    // What is reliable comes behind that.
    a.send(SENT);
    a.send_all();
    let (mut came, mut last) = (0, None);
    while last != Some(SENT) {
        let number = b.next_number();
        assert!(last < Some(number));
        (came, last) = (came + 1, Some(number));
    }
    assert!(came < SENT as u64);
    while came + b.lost < u64::from(SENT) + 1 {
        b.wait_and_take_in();
    }
    assert_eq!(came + b.lost, u64::from(SENT) + 1);
    assert_eq!(best_effort(&server)[1].dropped, b.lost);
}

/// System calls of rtiexec to receive and to send, since then.
fn calls(server: &Running, since: (u64, u64)) -> (u64, u64) {
    let calls = server.state().calls;
    (calls.receives - since.0, calls.sends - since.1)
}

/// However many receivers there are, and however much has come together.
#[test]
fn one_call_receives_and_one_sends() {
    const RECEIVERS: usize = 8;
    let server = run(|config| {
        config.listen.push(Endpoint::loopback(0));
        config.heartbeat = Duration::from_secs(3600);
        config.timeout = Duration::from_secs(3600);
    });
    let mut a = Client::founder(&server, "F");
    let mut members: Vec<_> = (0..RECEIVERS)
        .map(|n| {
            let mut member = Client::member(&server, "F", &format!("m{n}"));
            member.subscribe();
            a.until_subscribed(&member);
            let mut way = Way::open(&mut member);
            way.send_and_hear();
            (member, way)
        })
        .collect();
    let mut from_a = Way::open(&mut a);
    from_a.send_and_hear();
    for number in 0..20 {
        let before = calls(&server, (0, 0));
        let frame = frame(&mut a, number);
        from_a.out.forward(&frame);
        from_a.send(false);
        for (_, way) in &mut members {
            assert_eq!(way.receive(), frame);
        }
        assert_eq!(calls(&server, before), (1, 1));
    }
    // 400 messages in 40 datagrams, which come at once.
    let before = calls(&server, (0, 0));
    let frame = frame(&mut a, 20);
    for _ in 0..40 {
        (0..10).for_each(|_| from_a.out.forward(&frame));
        from_a.out.datagram(true, false);
    }
    let (bytes, lengths) = from_a.out.leaving();
    let to = Some(from_a.socket.peer_addr().unwrap());
    let sender = Datagrams::at(Ipv4Addr::LOCALHOST.into()).unwrap();
    assert_eq!(sender.send_all([Leaving { to, bytes, lengths }]), 40);
    for (_, way) in &mut members {
        let mut came = 0;
        while came < 400 * frame.len() {
            came += way.receive().len();
        }
        assert_eq!((came, way.incoming.lost()), (400 * frame.len(), 0));
    }
    assert_eq!(calls(&server, before), (1, 1));
}
