//! What others say of groups and send there: peers, members who know a group's secret, and strangers.

use super::*;
use starling_core::message::{Data, DataBody, LogIndex, Payload, RequestNumber};
use starling_core::{FederateHandle, Transportation, ValuesBuf};
use starling_net::{Arrivals, Datagrams, Leaving};
use starling_wire::{OnLink, put_data, put_on_link, read_data, split_frame};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};

/// Who hears a group though nobody has told it of that.
struct Listener(Datagrams, Arrivals);

fn send(by: &Datagrams, datagram: &[u8], to: SocketAddrV4) -> bool {
    let leaving = Leaving {
        to: Some(to.into()),
        bytes: datagram,
        lengths: &[datagram.len()],
    };
    by.send_all([leaving]) == 1
}

impl Listener {
    fn new(group: SocketAddrV4) -> Self {
        let socket = Datagrams::in_group(group, Ipv4Addr::LOCALHOST).unwrap();
        Listener(socket, Arrivals::new(1))
    }

    fn next(&mut self) -> Option<(Vec<u8>, SocketAddr)> {
        if self.1.is_empty() {
            self.0.receive_all(&mut self.1);
        }
        let (datagram, from) = self.1.take()?;
        Some((datagram.to_vec(), from))
    }
}

fn direct(member: &Member) -> usize {
    let links = member.links();
    let mut state = links.lock();
    let direct = state.lrc.outbox().direct.as_ref();
    direct.map_or(0, |direct| direct.direct())
}

fn until_linked(both: [&Member; 2]) {
    until("there is a link", || {
        both.iter().for_each(|member| member.evoke());
        both.map(direct) == [1, 1]
    });
}

/// What stands there goes to its peer as if it had said it.
fn say_on_link(member: &Member, said: &[u8]) {
    let links = member.links();
    let mut state = links.lock();
    let direct = state.lrc.outbox().direct.as_mut();
    direct.unwrap().misbehave(said);
    state.flush();
}

/// What a peer says of groups that there are not, or not yet, changes nothing.
#[test]
fn what_is_said_of_no_group_means_nothing() {
    let rtiexec = linking();
    let sender = Member::join(&rtiexec, CallbackModel::Evoked, MULTICAST);
    let receiver = Member::join(&rtiexec, CallbackModel::Evoked, MULTICAST);
    receiver.subscribe();
    until("it is heard", || {
        sender.evoke();
        sender.send(0, 0, 4);
        while receiver.next().is_some() {}
        sender.heard() == (1, 0)
    });
    let (port, why) = (70_000, String::new());
    let mut said = Vec::new();
    for number in [0, 1, 2, 65, u32::MAX] {
        let (turn, sent) = (u64::MAX, u64::MAX);
        for says in [
            OnLink::Joined {
                number,
                port,
                why: why.clone(),
            },
            OnLink::Hears { number, on: true },
            OnLink::Turn {
                number,
                turn,
                sent,
                grouped: number % 2 == 0,
            },
            OnLink::Ends { number },
        ] {
            put_on_link(&mut said, &says);
        }
    }
    say_on_link(&receiver, &said);
    for number in 1..100 {
        sender.send(0, number, 100);
        sender.send(1, number, 4);
    }
    until("all of it comes", || {
        sender.evoke();
        matches!(receiver.next(), Some((1, 99)))
    });
    assert_eq!(sender.heard(), (1, 0));
}

/// Who is in a group knows what its datagrams are recognized by, and may send some: what can't be ends nobody's link, what
/// comes after what never does holds up nothing, and what says that much was sent is not believed for long.
#[test]
fn whoever_sends_to_a_group_holds_up_no_link() {
    let group = SocketAddrV4::new(Ipv4Addr::new(239, 193, 201, 91), 15198);
    let here = Ipv4Addr::LOCALHOST;
    for what in 0..5 {
        let rtiexec = linking();
        let settings = format!("{MULTICAST};multicast.group={group}");
        let sender = Member::join(&rtiexec, CallbackModel::Evoked, &settings);
        let quiet = format!("{MULTICAST};log.level=off");
        let receiver = Member::join(&rtiexec, CallbackModel::Evoked, &quiet);
        receiver.subscribe();
        let mut listener = Listener::new(group);
        let mut heard = Vec::new();
        until("it is heard, here too", || {
            sender.evoke();
            sender.send(0, 0, 4);
            while receiver.next().is_some() {}
            if let Some((came, _)) = listener.next() {
                heard = came;
            }
            sender.heard() == (1, 0) && heard.len() > 34
        });
        let links = sender.links();
        let own = links.lock().lrc.federate().unwrap().handle();
        let (frame, _) = split_frame(&heard[34..]).unwrap().unwrap();
        let mut after = read_data(frame).unwrap().unwrap().after;
        match what {
            2 => after.index = LogIndex(u64::MAX),
            3 => after.requests = RequestNumber(u64::MAX),
            _ => {}
        }
        let no_values = ValuesBuf::default();
        let payload = Payload {
            transportation: Transportation::BestEffort,
            values: no_values.values(),
            tag: &u32::MAX.to_le_bytes(),
            address: None,
            stamp: None,
        };
        let class = sender.classes[0];
        let foreign = Data {
            sender: if what == 1 { FederateHandle(77) } else { own },
            after,
            body: DataBody::Interaction { class, payload },
        };
        let mut large = foreign;
        if let DataBody::Interaction { payload, .. } = &mut large.body {
            payload.tag = &[0; 5_000];
        }
        // What it has heard last, as if more had been sent before it.
        let mut forged = heard[..34].to_vec();
        let more = if what == 4 { 1 << 63 } else { 100 };
        let before = u64::from_le_bytes(*forged[18..].first_chunk().unwrap()) + more;
        forged[18..26].copy_from_slice(&before.to_le_bytes());
        put_data(&mut forged, &foreign);
        let from = if what == 0 {
            Ipv4Addr::new(127, 0, 0, 2)
        } else {
            here
        };
        let stranger = Datagrams::sent_from((from, 0).into()).unwrap();
        let lost = receiver.lost();
        for _ in 0..3 {
            assert!(send(&stranger, &forged, group));
            receiver.evoke();
        }
        until("the strangers' has come", || {
            let came = listener.next();
            came.is_some_and(|(_, by)| by.port() == stranger.port().unwrap() && by.ip() == from)
        });
        // Of what waits for good there is an end.
        for count in (1..40).filter(|_| [2, 3].contains(&what)) {
            forged.truncate(34);
            forged[18..26].copy_from_slice(&(before + 10 * count).to_le_bytes());
            (0..10).for_each(|_| put_data(&mut forged, &large));
            assert!(send(&stranger, &forged, group));
            receiver.evoke();
        }
        let held = || {
            let links = receiver.links();
            let state = links.lock();
            state.lrc.federate().unwrap().held_bytes(own)
        };
        assert!(held() < (1 << 20) + 10_000, "{}", held());
        for number in 1..100 {
            sender.send(1, number, 4);
        }
        let (mut expected, mut feigned) = (1..100, 0);
        until("all that is reliable comes", || {
            sender.evoke();
            match receiver.next() {
                Some((1, number)) => assert_eq!(Some(number), expected.next()),
                Some((_, u32::MAX)) => {
                    assert_eq!(what, 4, "of a stranger something is taken");
                    feigned += 1;
                }
                _ => {}
            }
            expected.is_empty()
        });
        assert_eq!(feigned > 0, what == 4, "a message as the sender's own");
        if [2, 3].contains(&what) {
            assert!(held() > 1 << 19, "{}: too little was forged", held());
        }
        until("best effort comes", || {
            sender.evoke();
            sender.send(0, 5, 4);
            matches!(receiver.next(), Some((0, 5)))
        });
        let mut state = links.lock();
        assert_eq!(state.lrc.outbox().direct.as_ref().unwrap().direct(), 1);
        drop(state);
        // What was sent when nothing of that turn was taken any more.
        assert!(receiver.lost() - lost < 1 << 32, "{what}");
    }
}

/// A member may say that what another one's datagrams are recognized by is its own: that is taken of what comes from where it is.
#[test]
fn nobody_else_takes_the_place_of_who_sends_to_a_group() {
    let rtiexec = linking();
    let group = SocketAddrV4::new(Ipv4Addr::new(239, 193, 201, 92), 15199);
    let settings = format!("{MULTICAST};multicast.group={group}");
    let sender = Member::join(&rtiexec, CallbackModel::Evoked, &settings);
    let free = TcpListener::bind("127.0.0.2:0").unwrap();
    let elsewhere = free.local_addr().unwrap();
    drop(free);
    // It is taken in behind the sender, and by another address.
    let settings = format!("{settings};transport.listen={elsewhere}");
    let hostile = Member::join(&rtiexec, CallbackModel::Evoked, &settings);
    let receiver = Member::join(&rtiexec, CallbackModel::Evoked, MULTICAST);
    receiver.subscribe();
    let mut listener = Listener::new(group);
    let mut heard = Vec::new();
    let linked = |member: &Member| {
        let links = member.links();
        let mut state = links.lock();
        let direct = state.lrc.outbox().direct.as_ref();
        direct.is_some_and(|direct| direct.direct() == 2)
    };
    until("it is heard, here too", || {
        sender.evoke();
        hostile.evoke();
        sender.send(0, 0, 4);
        while receiver.next().is_some() {}
        if let Some((came, _)) = listener.next() {
            heard = came;
        }
        sender.heard() == (1, 0) && heard.len() > 34 && linked(&hostile)
    });
    let mut said = Vec::new();
    let claims = OnLink::Group {
        number: 1,
        address: group.ip().to_string(),
        port: group.port().into(),
        secret: heard[2..18].to_vec(),
    };
    put_on_link(&mut said, &claims);
    say_on_link(&hostile, &said);
    until("it has said so", || {
        hostile.evoke();
        hostile.send(1, 5, 4);
        receiver.next() == Some((1, 5))
    });
    sender.send(0, 7, 4);
    until("it is heard still", || {
        sender.evoke();
        receiver.next() == Some((0, 7))
    });
    assert_eq!(sender.heard(), (1, 0));
}

/// A sender that gets no answer offers its group and takes that back again and again; who has not read for long reads all of it at
/// once.
#[test]
fn groups_that_were_taken_back_do_not_count() {
    let rtiexec = linking();
    let [sender, receiver] = pair(&rtiexec, CallbackModel::Evoked, [ALONE, ALONE]);
    let mut said = Vec::new();
    for number in [0, 1].repeat(200) {
        let (address, port) = match number {
            0 => ("", 0),
            _ => ("239.193.201.93", 15197),
        };
        let offers = OnLink::Group {
            number,
            address: address.into(),
            port,
            secret: vec![7; 16],
        };
        put_on_link(&mut said, &offers);
        put_on_link(&mut said, &OnLink::Ends { number });
    }
    until_linked([&sender, &receiver]);
    say_on_link(&sender, &said);
    sender.send(1, 2, 4);
    until("what stands behind it comes", || {
        sender.evoke();
        receiver.next() == Some((1, 2))
    });
    assert_eq!([&sender, &receiver].map(direct), [1, 1]);
}

/// Whoever offers one group after the other under one number has its peer in the last of them only.
#[test]
fn a_group_takes_the_place_of_the_former_of_its_number() {
    const OFFERS: u8 = 200;
    let rtiexec = linking();
    let [sender, receiver] = pair(&rtiexec, CallbackModel::Evoked, [ALONE, ALONE]);
    until_linked([&sender, &receiver]);
    // The system has an address's last byte first.
    let joined = || {
        let all = std::fs::read_to_string("/proc/net/igmp").unwrap();
        let groups = all
            .lines()
            .filter_map(|line| line.split_whitespace().next());
        let ours = groups.filter(|group| group.ends_with("CAC1EF"));
        ours.map(str::to_owned).collect::<Vec<_>>()
    };
    for last in 1..=OFFERS {
        let offers = OnLink::Group {
            number: 1,
            address: format!("239.193.202.{last}"),
            port: 15197,
            secret: vec![7; 16],
        };
        let mut said = Vec::new();
        put_on_link(&mut said, &offers);
        say_on_link(&sender, &said);
        until("it is in this one", || {
            sender.evoke();
            receiver.evoke();
            joined().contains(&format!("{last:02X}CAC1EF"))
        });
    }
    until("it has left the others", || joined().len() == 1);
}

/// Who says on and on that it hears, and that it does not, is not told as often what comes there.
#[test]
fn who_begins_and_ceases_to_hear_is_believed_now_and_then() {
    let rtiexec = linking();
    let often = format!("{ALONE};fault.heartbeat_s=0.5");
    let [sender, receiver] = pair(&rtiexec, CallbackModel::Evoked, [&often, ALONE]);
    sender.subscribe();
    until("each hears the other", || {
        sender.evoke();
        sender.send(0, 0, 4);
        while receiver.next().is_some() {}
        receiver.send(1, 1, 4);
        sender.next() == Some((1, 1)) && sender.heard() == (0, 1) && direct(&receiver) == 1
    });
    let put = || {
        let links = sender.links();
        let mut state = links.lock();
        let direct = state.lrc.outbox().direct.as_ref().unwrap();
        direct.peers[0].window.end()
    };
    let before = put();
    let mut said = Vec::new();
    for _ in 0..20_000 {
        for on in [true, false] {
            put_on_link(&mut said, &OnLink::Hears { number: 0, on });
        }
    }
    say_on_link(&receiver, &said);
    receiver.send(1, 2, 4);
    until("all of it was heard", || {
        receiver.evoke();
        sender.next() == Some((1, 2))
    });
    let more = put() - before;
    assert!(more < 20_000, "{more} bytes");
    until("the last word counts, from the next heartbeat on", || {
        sender.evoke();
        sender.send(0, 0, 4);
        while receiver.next().is_some() {}
        sender.heard() == (0, 0)
    });
}
