//! Forwarders, and whoever says that it is one: what they may do, what of them waits where, and how much.

mod common;

use common::{Client, Running, run, run_forwarder, run_forwarder_to};
use starling_core::message::{FromExecutive, ToExecutive};
use starling_core::{Callback, FederateHandle};
use starling_net::Endpoint;
use starling_wire::{
    FIRST_ROOM, Hello, LinkNotice, LinkRequest, OnTrunk, VERSION, put_hello, put_link_request,
    put_on_trunk, put_pass, put_to_executive, read_on_trunk, split_frame,
};
use std::ops::Range;
use std::time::Duration;

fn hello() -> Vec<u8> {
    let mut bytes = Vec::new();
    put_hello(
        &mut bytes,
        &Hello {
            version: VERSION,
            ..Hello::default()
        },
    );
    bytes
}

/// Draws the same numbers from the same seed.
struct Random(u64);

impl Random {
    fn of(&mut self, range: Range<u64>) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        range.start + self.0 % (range.end - range.start)
    }

    /// What a federate may say, or something else.
    fn stream(&mut self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for _ in 0..self.of(1..4) {
            match self.of(0..9) {
                0 => bytes.extend(hello()),
                1 => put_to_executive(&mut bytes, &ToExecutive::ListFederations),
                2 => put_link_request(&mut bytes, &LinkRequest::Site),
                3 => {
                    // Now and then in an order that is none.
                    let mut to = Vec::new();
                    for _ in 0..self.of(0..4) {
                        to.push(FederateHandle(self.of(1..5) as u32));
                    }
                    let heartbeats = self.of(0..1000) as usize;
                    put_pass(&mut bytes, &to, 5 * heartbeats, |out| {
                        out.extend([1, 0, 0, 0, 3].repeat(heartbeats));
                    });
                }
                4 => put_to_executive(
                    &mut bytes,
                    &ToExecutive::Join {
                        name: None,
                        kind: String::new(),
                        federation: "here".into(),
                        modules: Vec::new(),
                    },
                ),
                5 => put_on_trunk(&mut bytes, &OnTrunk::Begin),
                6 => {
                    // An interaction declared best effort, of nobody, or something like that.
                    let kind = [16 + 8, 17 + 8, 48 + 8, 64 + 16 + 8][self.of(0..4) as usize];
                    let body: Vec<u8> = (0..self.of(0..9)).map(|_| self.of(0..5) as u8).collect();
                    let length = 1 + body.len() as u32;
                    bytes.extend(length.to_le_bytes());
                    bytes.push(kind);
                    bytes.extend(body);
                }
                7 => bytes.extend(self.trunk_within()),
                _ => bytes.extend((0..self.of(1..40)).map(|_| self.of(0..256) as u8)),
            }
        }
        self.spoil(&mut bytes);
        bytes
    }

    /// As if a federate were a forwarder.
    fn trunk_within(&mut self) -> Vec<u8> {
        let mut bytes = hello();
        let channel = self.of(1..4);
        for said in [
            OnTrunk::Begin,
            OnTrunk::Open { channel, path: "" },
            OnTrunk::Bytes {
                channel,
                bytes: &hello(),
            },
        ] {
            put_on_trunk(&mut bytes, &said);
        }
        bytes
    }

    /// Changes something, now and then.
    fn spoil(&mut self, bytes: &mut Vec<u8>) {
        if self.of(0..6) == 0 && !bytes.is_empty() {
            let at = self.of(0..bytes.len() as u64) as usize;
            bytes[at] = self.of(0..256) as u8;
        }
        if self.of(0..10) == 0 {
            bytes.truncate(self.of(0..1 + bytes.len() as u64) as usize);
        }
    }

    fn on_trunk(&mut self) -> Vec<u8> {
        let channel = self.of(0..6);
        let stream = self.stream();
        let text = "x".repeat(self.of(0..2000) as usize);
        let said = match self.of(0..16) {
            0 => OnTrunk::Begin,
            1..4 => OnTrunk::Open {
                channel,
                path: &text[..text.len() / 2],
            },
            4..8 => OnTrunk::Bytes {
                channel,
                bytes: &stream,
            },
            8 => OnTrunk::Close {
                channel,
                why: &text,
            },
            9 => OnTrunk::Room {
                channel,
                position: self.of(0..1 << 40),
            },
            10 => OnTrunk::Datagrams,
            11 => OnTrunk::Sent {
                channel,
                messages: self.of(0..u64::MAX),
            },
            12 => OnTrunk::BestEffort { channel, by: &text },
            14 => OnTrunk::Ends { channel },
            13 => OnTrunk::Deliver {
                channels: vec![channel, 1, 2],
                frames: &stream,
            },
            _ => OnTrunk::Member {
                channel,
                group: 1,
                federate: FederateHandle(1),
            },
        };
        let mut bytes = Vec::new();
        put_on_trunk(&mut bytes, &said);
        self.spoil(&mut bytes);
        bytes
    }
}

fn until_alone(server: &Running, connections: usize) {
    while server.state().connections > connections {}
    assert_eq!(server.state().unjoined_bytes, 0);
}

fn removed(client: &mut Client) -> String {
    match client.until(|m| matches!(m, FromExecutive::Removed(_))) {
        FromExecutive::Removed(why) => why,
        _ => unreachable!(),
    }
}

fn is_served(client: &mut Client) {
    client.tell(ToExecutive::ListFederations);
    client.until(|m| matches!(m, FromExecutive::Federations(_)));
}

/// Whatever somebody says on a trunk, who is honest is served, and nothing of the other is left.
#[test]
fn a_hostile_forwarder_hurts_itself_only() {
    let server = run(|_| {});
    let mut honest = Client::founder(&server, "here");
    for seed in 1..400 {
        let mut random = Random(seed);
        let mut hostile = Client::connect(&server);
        put_on_trunk(hostile.link.writer.out(), &OnTrunk::Begin);
        for channel in 1..3 {
            let open = OnTrunk::Open { channel, path: "" };
            put_on_trunk(hostile.link.writer.out(), &open);
        }
        // So few that what is on channels is handled before something ends the trunk, or many.
        let most = if seed % 2 == 0 { 6 } else { 60 };
        for _ in 0..random.of(1..most) {
            hostile.link.writer.out().extend(random.on_trunk());
        }
        hostile.send_until_cut_off();
        is_served(&mut honest);
    }
    until_alone(&server, 1);
    assert_eq!(server.state().trunks, 0);
}

/// The same of a federate behind a forwarder, whose other federates are served.
#[test]
fn a_hostile_federate_behind_a_forwarder_hurts_itself_only() {
    let by_datagrams = |config: &mut starling_rtiexec::Config| {
        config.listen.push(Endpoint::loopback(0));
        config.datagrams_near = true;
    };
    let server = run(by_datagrams);
    let tcp = |of: &Running| {
        let mut all = of.endpoints.iter();
        all.find(|at| matches!(at, Endpoint::Tcp { .. })).cloned()
    };
    let forwarder = run_forwarder_to(&tcp(&server).unwrap(), by_datagrams);
    let farther = run_forwarder_to(&tcp(&forwarder).unwrap(), by_datagrams);
    let mut honest = Client::founder(&forwarder, "here");
    let mut other = Client::member(&farther, "here", "other");
    for seed in 1..400 {
        let mut random = Random(seed);
        let at = if seed % 2 == 0 { &forwarder } else { &farther };
        let mut hostile = if random.of(0..4) == 0 {
            Client::stranger(at)
        } else {
            Client::connect(at)
        };
        for _ in 0..10 {
            hostile.link.writer.out().extend(random.stream());
        }
        hostile.send_until_cut_off();
        is_served(&mut honest);
        is_served(&mut other);
    }
    // The trunks, and the two.
    until_alone(&server, 4);
    assert_eq!((server.state().trunks, forwarder.state().trunks), (1, 1));
}

/// A forwarder in the test's hands.
struct Trunk(Client);

impl Trunk {
    fn new(server: &Running) -> Self {
        let mut client = Client::connect(server);
        put_on_trunk(client.link.writer.out(), &OnTrunk::Begin);
        client.send_all();
        Trunk(client)
    }

    fn say(&mut self, said: &OnTrunk<'_>) {
        put_on_trunk(self.0.link.writer.out(), said);
        self.0.send_until_cut_off();
    }

    fn open(&mut self, channel: u64) {
        self.say(&OnTrunk::Open {
            channel,
            path: "tcp 10.0.0.9:9",
        });
        self.say(&OnTrunk::Bytes {
            channel,
            bytes: &hello(),
        });
    }
}

#[test]
fn more_than_there_is_room_for_ends_the_trunk() {
    let server = run(|config| config.window_bytes = FIRST_ROOM);
    for (over, is_cut) in [(0, false), (1, true)] {
        let mut trunk = Trunk::new(&server);
        trunk.say(&OnTrunk::Open {
            channel: 1,
            path: "",
        });
        // A message that has begun, and is not whole when the room is used up.
        let mut bytes = vec![0; FIRST_ROOM as usize + over];
        bytes[..4].copy_from_slice(&60_000_u32.to_le_bytes());
        for bytes in bytes.chunks(30_000) {
            trunk.say(&OnTrunk::Bytes { channel: 1, bytes });
        }
        if is_cut {
            let why = removed(&mut trunk.0);
            assert!(why.contains("than it has room for"), "{why}");
        } else {
            // It is no Hello: that channel is ended, not the trunk.
            let why = closed(&mut trunk, 1);
            assert!(why.contains("malformed"), "{why}");
            trunk.open(2);
        }
    }
}

/// What federates say is said on channels: a forwarder would serve it, and rtiexec have a member with channels.
#[test]
fn on_a_trunk_nothing_else_is_said() {
    let server = run(|_| {});
    let forwarder = run_forwarder(&server, |_| {});
    for at in [&server, &forwarder] {
        for said in [
            ToExecutive::ListFederations,
            ToExecutive::Stop { force: true },
        ] {
            let mut trunk = Trunk::new(at);
            trunk.0.tell(said);
            let why = removed(&mut trunk.0);
            assert!(why.contains("on a trunk"), "{why}");
        }
    }
    is_served(&mut Client::connect(&forwarder));
}

/// Else nothing would bound the channels of one connection, and what comes by them would outlast it.
#[test]
fn a_channel_becomes_no_trunk() {
    let server = run(|_| {});
    let forwarder = run_forwarder(&server, |_| {});
    let mut honest = Client::founder(&server, "here");
    for at in [&server, &forwarder] {
        let mut trunk = Trunk::new(at);
        trunk.open(1);
        let mut within = Vec::new();
        for said in [
            OnTrunk::Begin,
            OnTrunk::Open {
                channel: 1,
                path: "",
            },
        ] {
            put_on_trunk(&mut within, &said);
        }
        let mut joins = hello();
        put_to_executive(
            &mut joins,
            &ToExecutive::Join {
                name: Some("hidden".into()),
                kind: String::new(),
                federation: "here".into(),
                modules: Vec::new(),
            },
        );
        put_on_trunk(
            &mut within,
            &OnTrunk::Bytes {
                channel: 1,
                bytes: &joins,
            },
        );
        trunk.say(&OnTrunk::Bytes {
            channel: 1,
            bytes: &within,
        });
        let why = closed(&mut trunk, 1);
        assert!(why.contains("becomes no trunk"), "{why}");
        // Only that one.
        trunk.open(2);
        drop(trunk);
        until_alone(&forwarder, 1);
        // The forwarder, and the honest one.
        until_alone(&server, 2);
        assert_eq!((server.state().trunks, forwarder.state().trunks), (1, 0));
    }
    is_served(&mut honest);
    assert!(honest.federate().federate_handle("hidden").is_err());
}

/// Why a channel was closed.
fn closed(trunk: &mut Trunk, of: u64) -> String {
    loop {
        while let Some((frame, used)) = split_frame(trunk.0.link.reader.inbox()).unwrap() {
            let said = read_on_trunk(frame).map(Result::unwrap);
            let why = match said {
                Some(OnTrunk::Close { channel, why }) if channel == of => Some(why.to_owned()),
                _ => None,
            };
            trunk.0.link.reader.consume(used);
            if let Some(why) = why {
                return why;
            }
        }
        trunk.0.wait(std::time::Duration::from_secs(3600));
        trunk.0.link.reader.fill().unwrap();
    }
}

/// A receiver behind two forwarders reads nothing: its sender is held, bounded parts wait at each of the three, and
/// all of it comes once it reads.
#[test]
fn what_waits_for_one_that_does_not_read_is_bounded() {
    const WINDOW: usize = FIRST_ROOM as usize;
    const QUEUE: usize = 100_000;
    /// What a socket takes besides is not counted.
    const MOST: usize = 2 * WINDOW + QUEUE + 100_000;
    let bounded = |config: &mut starling_rtiexec::Config| {
        config.window_bytes = FIRST_ROOM;
        config.send_queue_bytes = QUEUE;
    };
    let server = run(bounded);
    let near = run_forwarder(&server, bounded);
    let far = run_forwarder(&near, bounded);
    let mut sender = Client::founder(&server, "here");
    let mut slow = Client::member(&far, "here", "slow");
    let mut other = Client::member(&near, "here", "other");
    slow.subscribe();
    other.subscribe();
    sender.until_subscribed(&slow);
    sender.until_subscribed(&other);
    let mut sent = 0;
    while server.state().held == 0 {
        for _ in 0..100 {
            if sender.link.writer.pending() < 1 << 20 {
                sender.send(sent);
                sent += 1;
            }
        }
        sender.link.writer.flush().unwrap();
    }
    for waits in [&server, &near, &far].map(|at| at.state().waiting_bytes) {
        assert!(waits < MOST, "{waits}");
    }
    // Nobody else is held up.
    is_served(&mut other);
    let mut heard = 0;
    while heard < sent {
        sender.link.writer.flush().unwrap();
        assert_eq!(slow.next_number(), heard);
        heard += 1;
    }
    for number in 0..sent {
        assert_eq!(other.next_number(), number);
    }
}

/// A federate behind two forwarders that ends while it is held up is resigned, with all that it had sent before, however
/// little room its stream has on the trunks; who holds it up is at rtiexec, or behind a forwarder itself.
#[test]
fn who_ends_while_it_is_held_up_behind_forwarders_is_resigned() {
    const QUEUE: usize = 50_000;
    let bounded = |config: &mut starling_rtiexec::Config| {
        config.window_bytes = FIRST_ROOM;
        config.send_queue_bytes = QUEUE;
    };
    let server = run(bounded);
    let near = run_forwarder(&server, bounded);
    let far = run_forwarder(&near, bounded);
    let mut third = Client::founder(&server, "here");
    third.subscribe();
    for (at, name) in [(&server, "at rtiexec"), (&near, "at a forwarder")] {
        let mut slow = Client::member(at, "here", name);
        let mut sender = Client::member(&far, "here", "sender");
        for other in [&mut third, &mut slow] {
            other.until_member("sender", true);
        }
        slow.subscribe();
        for receiver in [&slow, &third] {
            sender.until_subscribed(receiver);
        }
        let (mut sent, mut bytes) = (0, 0);
        // Until rtiexec does not read it, and nothing more of it has room on the first trunk.
        while server.state().held == 0 || far.state().held == 0 {
            while sender.link.writer.pending() < QUEUE {
                let before = sender.link.writer.pending();
                sender.send(sent);
                bytes += sender.link.writer.pending() - before;
                sent += 1;
            }
            sender.link.writer.flush().unwrap();
            third.take_in();
        }
        let each = bytes / sent as usize;
        let whole = (bytes - sender.link.writer.pending()) / each;
        drop(sender);
        third.until_member("sender", false);
        assert_ne!(third.fault, "");
        let came = |client: &mut Client| {
            let callbacks = std::iter::from_fn(|| client.federate_mut().next_callback());
            let is_number = |c: &Callback| matches!(c, Callback::ReceiveInteraction { .. });
            callbacks.filter(is_number).count()
        };
        assert_eq!(came(&mut third), whole, "of {sent}");
        slow.until_member("sender", false);
        assert_eq!(came(&mut slow), whole, "of {sent}");
    }
}

/// Best-effort data that has no room at a receiver behind a forwarder is dropped and counted; nobody is held for it.
#[test]
fn best_effort_data_holds_up_nobody_and_what_is_dropped_is_counted() {
    const SENT: u32 = 20_000;
    let narrow = |config: &mut starling_rtiexec::Config| {
        config.window_bytes = FIRST_ROOM;
        config.heartbeat = Duration::from_millis(50);
    };
    let server = run(narrow);
    let near = run_forwarder(&server, narrow);
    let mut sender = Client::founder(&server, "here");
    let mut slow = Client::member(&near, "here", "slow");
    slow.subscribe();
    sender.until_subscribed(&slow);
    for number in 0..SENT {
        let before = sender.link.writer.out().len();
        sender.send(number);
        // Declared best effort.
        sender.link.writer.out()[before + 4] |= 8;
        if number % 100 == 0 {
            sender.send_all();
        }
    }
    sender.send_all();
    is_served(&mut sender);
    assert_eq!(server.state().held, 0);
    sender.tell(ToExecutive::QueryStatus);
    let status = sender.until(|m| matches!(m, FromExecutive::Status(_)));
    let FromExecutive::Status(list) = status else {
        unreachable!()
    };
    let mut federates = list[0].federates.iter();
    let told = federates.find(|f| f.federate.name == "slow").unwrap();
    let dropped = u32::try_from(told.best_effort.dropped).unwrap();
    assert!(dropped > 0, "all of it had room");
    let mut last = None;
    for _ in dropped..SENT {
        let number = slow.next_number();
        assert!(last.is_none_or(|last| last < number));
        last = Some(number);
    }
    // What is reliable comes behind it, and nothing else.
    for number in SENT.. {
        sender.send(number);
        sender.send_all();
        assert_eq!(slow.next_number(), number);
        if slow.lost >= u64::from(dropped) {
            break;
        }
    }
    // It was told of each once.
    assert_eq!(slow.lost, u64::from(dropped));
}

/// Requests and answers that are written in the same turn take no room from it.
#[test]
fn best_effort_data_beside_control_is_not_dropped_where_there_is_room() {
    const SENT: u32 = 100;
    let server = run(|_| {});
    let near = run_forwarder(&server, |_| {});
    let mut sender = Client::founder(&server, "here");
    let mut receiver = Client::member(&near, "here", "receiver");
    receiver.subscribe();
    sender.until_subscribed(&receiver);
    for number in 0..SENT {
        let federate = sender.federate_mut();
        federate
            .register_federation_synchronization_point(&format!("point {number}"), b"", &[])
            .unwrap();
        sender.take_requests();
        let before = sender.link.writer.out().len();
        sender.send(number);
        // Declared best effort.
        sender.link.writer.out()[before + 4] |= 8;
    }
    sender.send_all();
    // What is reliable comes behind it.
    sender.send(SENT);
    sender.send_all();
    let mut came = Vec::new();
    while came.last() != Some(&SENT) {
        if let Callback::ReceiveInteraction { values, .. } = receiver.next_callback() {
            let (_, value) = values.iter().next().unwrap();
            came.push(u32::from_le_bytes(*value.first_chunk().unwrap()));
        }
    }
    assert_eq!(came, Vec::from_iter(0..=SENT));
}

/// Two forwarders, each with half of the federates, each have half of the work, and nobody does it twice.
#[test]
fn two_forwarders_share_the_load() {
    const EACH: u32 = 2000;
    let server = run(|_| {});
    let forwarders = [(); 2].map(|()| run_forwarder(&server, |_| {}));
    let mut first = Client::founder(&forwarders[0], "here");
    let mut others = [(0, "b"), (1, "c"), (1, "d")]
        .map(|(by, name)| Client::member(&forwarders[by], "here", name));
    first.subscribe();
    others.iter_mut().for_each(Client::subscribe);
    let before = forwarders.each_ref().map(|f| f.state().forwarded);
    let at_rtiexec = server.state().forwarded;
    let mut all: Vec<&mut Client> = std::iter::once(&mut first).chain(&mut others).collect();
    for from in 0..all.len() {
        for to in 0..all.len() {
            if from != to {
                let [from, to] = all.get_disjoint_mut([from, to]).unwrap();
                from.until_subscribed(to);
            }
        }
        for number in 0..EACH {
            all[from].send(number);
        }
        all[from].send_all();
        for (to, client) in all.iter_mut().enumerate() {
            if to != from {
                for number in 0..EACH {
                    assert_eq!(client.next_number(), number);
                }
            }
        }
    }
    let work = [0, 1].map(|at| forwarders[at].state().forwarded - before[at]);
    let rtiexec = server.state().forwarded - at_rtiexec;
    let sum = work[0] + work[1];
    for own in work {
        assert!((40..=60).contains(&(own * 100 / sum)), "{own} of {sum}");
    }
    // rtiexec puts each message on both trunks once, whoever has sent it; a forwarder on three streams of four.
    assert!(
        rtiexec * 10 < sum * 7,
        "{rtiexec} at rtiexec, {sum} at both"
    );
}

#[test]
fn who_is_resigned_behind_a_forwarder_is_told_why() {
    let server = run(|_| {});
    let forwarder = run_forwarder(&server, |_| {});
    let mut client = Client::founder(&forwarder, "here");
    // What no federate may say.
    put_link_request(
        client.link.writer.out(),
        &LinkRequest::Endpoint {
            address: "nowhere".into(),
            port: 1,
            why: String::new(),
        },
    );
    client.send_until_cut_off();
    let why = removed(&mut client);
    assert!(why.contains("no address"), "{why}");
    let mut next = Client::connect(&forwarder);
    is_served(&mut next);
}

/// Two members of one trunk, who are told so.
fn neighbours(one: &Running, other: &Running, federation: &str) -> [Client; 2] {
    let mut both = [
        Client::founder(one, federation),
        Client::member(other, federation, "other"),
    ];
    for client in &mut both {
        assert_eq!(client.link_notice(), LinkNotice::Site);
        client.tell_link(&LinkRequest::Site, None);
    }
    for client in &mut both {
        assert!(matches!(
            client.link_notice(),
            LinkNotice::Near { near: true, .. }
        ));
    }
    both
}

/// Passes so many bytes to these.
fn pass(client: &mut Client, to: &[FederateHandle], bytes: usize) {
    let out = client.link.writer.out();
    put_pass(out, to, bytes, |out| out.resize(out.len() + bytes, 7));
    client.send_until_cut_off();
}

/// A forwarder needs what is passed as a whole, however long it is and however little else may be on its way.
#[test]
fn what_is_passed_comes_however_many_forwarders_are_between() {
    const WINDOW: usize = FIRST_ROOM as usize;
    let narrow = |config: &mut starling_rtiexec::Config| config.window_bytes = FIRST_ROOM;
    let server = run(narrow);
    let near = run_forwarder(&server, narrow);
    let far = run_forwarder(&near, narrow);
    let farther = run_forwarder(&near, narrow);
    for (other, federation) in [(&near, "one"), (&farther, "two")] {
        let [mut sender, mut receiver] = neighbours(&far, other, federation);
        let (from, to) = (sender.federate().handle(), receiver.federate().handle());
        for bytes in [
            100,
            WINDOW + 1,
            WINDOW + WINDOW / 8,
            3 * WINDOW,
            40 * WINDOW,
        ] {
            pass(&mut sender, &[to], bytes);
            let frames = vec![7; bytes];
            assert!(receiver.link_notice() == LinkNotice::Passed { from, frames });
            is_served(&mut sender);
        }
    }
}

/// The room for it is granted also if it is but little more than there is.
#[test]
fn a_message_a_little_longer_than_the_window_comes() {
    const WINDOW: usize = FIRST_ROOM as usize;
    let narrow = |config: &mut starling_rtiexec::Config| config.window_bytes = FIRST_ROOM;
    let server = run(narrow);
    let near = run_forwarder(&server, narrow);
    let mut sender = Client::founder(&near, "here");
    let mut receiver = Client::member(&server, "here", "other");
    receiver.subscribe();
    sender.until_subscribed(&receiver);
    for (number, more) in (0..).zip((0..WINDOW / 2).step_by(1_000)) {
        sender.send_with(number, &vec![0; WINDOW - 300 + more]);
        sender.send_all();
        assert_eq!(receiver.next_number(), number);
    }
}

/// Who passes what is no data to a receiver that does not read is held up as by data, and this one is ended for it.
#[test]
fn what_is_passed_has_bounds_whatever_it_is() {
    const MOST: usize = 1 << 26;
    let server = run(|_| {});
    let near = run_forwarder(&server, |config| {
        config.send_queue_bytes = 64 * 1024;
        config.send_stall = Some(Duration::from_millis(200));
        config.heartbeat = Duration::from_millis(50);
    });
    for bytes in [40_000, 1] {
        let federation = format!("of {bytes} bytes");
        let [mut sender, receiver] = neighbours(&near, &near, &federation);
        let to = [receiver.federate().handle()];
        let (all, mut passed) = (near.state().connections, 0);
        while near.state().connections == all {
            while sender.link.writer.pending() < 64 * 1024 {
                let out = sender.link.writer.out();
                let before = out.len();
                put_pass(out, &to, bytes, |out| out.resize(out.len() + bytes, 7));
                passed += out.len() - before;
            }
            assert!(
                passed < MOST,
                "{passed} bytes are passed in pieces of {bytes}, and nobody is held up: {:?}",
                near.state()
            );
            sender.link.writer.flush().unwrap();
            sender.wait(Duration::from_millis(1));
        }
        drop((sender, receiver));
        while near.state().connections > all - 2 {
            std::thread::yield_now();
        }
    }
}

/// Who names a receiver again and again would have a copy made for each time.
#[test]
fn nobody_is_passed_the_same_twice() {
    let server = run(|_| {});
    let near = run_forwarder(&server, |_| {});
    let [mut sender, mut receiver] = neighbours(&near, &near, "here");
    let to = receiver.federate().handle();
    pass(&mut sender, &[to, to], 5);
    let why = removed(&mut sender);
    assert!(why.contains("do not ascend"), "{why}");
    assert!(matches!(
        receiver.link_notice(),
        LinkNotice::Near { near: false, .. }
    ));
    is_served(&mut receiver);
}

/// It is nothing, and nothing of it is kept: it has not the room that it would need.
#[test]
fn what_is_passed_before_joining_is_dropped_as_it_comes() {
    const WINDOW: usize = FIRST_ROOM as usize;
    let narrow = |config: &mut starling_rtiexec::Config| {
        config.window_bytes = FIRST_ROOM;
        config.frame_bytes_max = 10 * WINDOW;
    };
    let server = run(narrow);
    let near = run_forwarder(&server, narrow);
    let far = run_forwarder(&near, narrow);
    for at in [&near, &far] {
        let mut stranger = Client::connect(at);
        pass(&mut stranger, &[FederateHandle(1)], 20 * WINDOW);
        is_served(&mut stranger);
    }
}

/// Federates know rtiexec's limit only.
#[test]
fn how_long_a_message_may_be_is_rtiexecs_to_say() {
    const BYTES: usize = 100_000;
    for (rtiexec, forwarder, is_cut) in [(2 * BYTES, 1_000, false), (1_000, 2 * BYTES, true)] {
        let server = run(|config| config.frame_bytes_max = rtiexec);
        let near = run_forwarder(&server, |config| config.frame_bytes_max = forwarder);
        let far = run_forwarder(&near, |config| config.frame_bytes_max = forwarder);
        let [mut sender, mut receiver] = neighbours(&far, &far, "here");
        pass(&mut sender, &[receiver.federate().handle()], BYTES);
        if is_cut {
            let why = removed(&mut sender);
            assert!(why.contains("are passed at once"), "{why}");
        } else {
            assert!(matches!(receiver.link_notice(), LinkNotice::Passed { .. }));
        }
    }
}

#[test]
fn who_speaks_another_version_behind_a_forwarder_is_told_so() {
    let server = run(|_| {});
    let near = run_forwarder(&server, |_| {});
    let far = run_forwarder(&near, |_| {});
    for at in [&near, &far] {
        let why = Client::stranger(at).hello(VERSION + 1).unwrap_err();
        assert!(why.contains("of the protocol"), "{why}");
    }
}

/// A forwarder keeps what has come of it until it is whole.
#[test]
fn what_one_has_begun_to_pass_must_end() {
    let soon = |config: &mut starling_rtiexec::Config| {
        config.frame_timeout = Some(std::time::Duration::from_millis(50));
    };
    let server = run(|_| {});
    let near = run_forwarder(&server, soon);
    let [mut sender, mut receiver] = neighbours(&near, &near, "here");
    let mut bytes = Vec::new();
    let to = [receiver.federate().handle()];
    put_pass(&mut bytes, &to, 1000, |out| out.resize(out.len() + 1000, 7));
    sender.link.writer.out().extend(&bytes[..500]);
    sender.send_until_cut_off();
    let why = removed(&mut sender);
    assert!(why.contains("limits.frame_timeout_s"), "{why}");
    is_served(&mut receiver);
}
