//! Best-effort data between federates, by datagrams to a group or to one alone.

use super::*;

/// Whether this host listens to a group.
fn is_joined(group: std::net::Ipv4Addr) -> bool {
    let number = u32::from_ne_bytes(group.octets());
    let joined = std::fs::read_to_string("/proc/net/igmp").unwrap();
    joined.contains(&format!("{number:08X}"))
}

/// Shows settings: multicast.group.
#[test]
fn the_group_is_the_one_that_is_set() {
    let group = std::net::Ipv4Addr::new(239, 193, 201, 77);
    for set in [false, true] {
        let rtiexec = linking();
        let settings = if set {
            format!("{MULTICAST};multicast.group={group}:15199")
        } else {
            MULTICAST.to_owned()
        };
        let sender = Member::join(&rtiexec, CallbackModel::Evoked, &settings);
        let receiver = Member::join(&rtiexec, CallbackModel::Evoked, MULTICAST);
        receiver.subscribe();
        until("it is heard", || {
            sender.evoke();
            sender.send(0, 0, 4);
            while receiver.next().is_some() {}
            sender.heard().0 == 1
        });
        assert_eq!(is_joined(group), set);
    }
}

#[test]
fn by_multicast_one_datagram_is_for_all_who_hear_it() {
    const COUNT: u32 = 3000;
    const RECEIVERS: usize = 3;
    let rtiexec = linking();
    let sender = Member::join(&rtiexec, CallbackModel::Evoked, MULTICAST);
    let receivers =
        [(); RECEIVERS].map(|()| Member::join(&rtiexec, CallbackModel::Evoked, MULTICAST));
    receivers.iter().for_each(Member::subscribe);
    // It tells of its group with the first data that it has for each.
    until("all hear it", || {
        sender.evoke();
        sender.send(0, 0, 4);
        for receiver in &receivers {
            while receiver.next().is_some() {}
        }
        sender.heard().0 == RECEIVERS
    });
    // Behind this all that was sent before has come, or is counted.
    sender.send(0, u32::MAX, LARGE);
    for receiver in &receivers {
        until("it is heard", || {
            sender.evoke();
            receiver.next() == Some((0, u32::MAX))
        });
    }
    let before: Vec<_> = receivers.iter().map(Member::lost).collect();
    let put = || {
        let links = sender.links();
        let mut state = links.lock();
        let direct = state.lrc.outbox().direct.as_ref().unwrap();
        direct.peers.iter().map(|p| p.window.end()).sum::<u64>()
    };
    let put_before = put();
    let mut came = [(); RECEIVERS].map(|()| BTreeSet::new());
    thread::scope(|scope| {
        scope.spawn(|| {
            for number in 1..=COUNT {
                sender.send(0, number, 200);
            }
        });
        until("each comes or is counted", || {
            let mut all = true;
            for ((receiver, came), before) in receivers.iter().zip(&mut came).zip(&before) {
                while let Some((0, number)) = receiver.next() {
                    let newest = came.last().is_none_or(|last| *last < number);
                    assert!(number == 0 || newest, "{number} is no news");
                    if number > 0 {
                        came.insert(number);
                    }
                }
                all &= came.len() as u64 + receiver.lost() - before == u64::from(COUNT);
            }
            all
        });
    });
    assert!(came.iter().all(|came| came.len() > 100));
    let put = put() - put_before;
    assert!(put < 20_000, "{put} bytes on links");
}

/// To each of several receivers alone it is a system call for each datagram; by a group it is one for all.
#[test]
fn what_a_sender_does_for_a_group_hangs_on_no_number_of_receivers() {
    const COUNT: u32 = 2000;
    let patient = "bundle.idle_us=1000000;bundle.age_us=1000000";
    let sends = |way: &str, receivers: usize| {
        let rtiexec = linking();
        let settings = format!("{way};{patient}");
        let sender = Member::join(&rtiexec, CallbackModel::Evoked, &settings);
        let join = |_| Member::join(&rtiexec, CallbackModel::Evoked, way);
        let receivers: Vec<_> = (0..receivers).map(join).collect();
        receivers.iter().for_each(Member::subscribe);
        until("all hear it", || {
            sender.evoke();
            sender.send(0, 0, 4);
            for receiver in &receivers {
                while receiver.next().is_some() {}
            }
            let (grouped, alone) = sender.heard();
            grouped + alone == receivers.len()
        });
        let before = starling_net::system_calls().sends;
        (0..COUNT).for_each(|number| sender.send(0, number, 100));
        starling_net::system_calls().sends - before
    };
    // By one datagram for all, and by one for each: some hundreds, of which as many leave together as a bundle of a stream has
    // bytes. What the background thread writes besides, it takes from these.
    for way in [MULTICAST, ALONE] {
        let (one, three) = (sends(way, 1), sends(way, 3));
        assert!((8..20).contains(&one), "{one}");
        assert!((8..20).contains(&three), "{one} and {three}");
    }
}

/// By which ways best-effort data of the first who joined gets to each of the others, as rtiexec knows.
fn ways(rtiexec: &Rtiexec) -> Vec<String> {
    let federates = status(rtiexec);
    let paths = federates.into_iter().map(|f| f.best_effort_paths).next();
    paths.unwrap().into_iter().map(|path| path.by).collect()
}

#[test]
fn without_multicast_each_has_datagrams_of_its_own() {
    const COUNT: u32 = 3000;
    let threads = "callbacks.io=single-threaded";
    for (model, more) in [
        (CallbackModel::Evoked, ""),
        (CallbackModel::Immediate, ""),
        (CallbackModel::Evoked, threads),
    ] {
        let rtiexec = linking();
        let settings = format!("{ALONE};{more}");
        let sender = Member::join(&rtiexec, CallbackModel::Evoked, &settings);
        let receivers = [(); 2].map(|()| Member::join(&rtiexec, model, &settings));
        receivers.iter().for_each(Member::subscribe);
        until("both hear it", || {
            sender.evoke();
            sender.send(0, 0, 4);
            for receiver in &receivers {
                while receiver.next().is_some() {}
            }
            sender.heard() == (0, 2)
        });
        until("rtiexec knows", || {
            sender.evoke();
            ways(&rtiexec) == ["unicast"]
        });
        // Behind this all that was sent before has come, or is counted.
        sender.send(0, 7, LARGE);
        for receiver in &receivers {
            until("it is heard", || {
                sender.evoke();
                matches!(receiver.next(), Some((0, 7)))
            });
        }
        let before: Vec<_> = receivers.iter().map(Member::lost).collect();
        let written = sender.written();
        let mut came = [(); 2].map(|()| BTreeSet::new());
        let mut reliable = [0; 2];
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 1..=COUNT {
                    sender.send(0, number, 200);
                    if number % 100 == 0 {
                        sender.send(1, number, 4);
                    }
                }
            });
            until("each comes or is counted", || {
                let mut all = true;
                for (at, receiver) in receivers.iter().enumerate() {
                    while let Some((class, number)) = receiver.next() {
                        let newest = came[at].last().is_none_or(|last| *last < number);
                        match class {
                            0 => assert!(newest && came[at].insert(number), "{number} is no news"),
                            _ => reliable[at] += 1,
                        }
                    }
                    let told = came[at].len() as u64 + receiver.lost() - before[at];
                    assert!(told <= u64::from(COUNT), "{told} of {COUNT}");
                    all &= told == u64::from(COUNT);
                }
                all && reliable == [COUNT / 100; 2]
            });
        });
        assert!(came.iter().all(|came| came.len() > 100));
        assert!(sender.written() - written < 20_000, "nothing by rtiexec");
    }
}

/// Else it would be sent best-effort data reliably until the next heartbeat.
#[test]
fn who_has_not_got_the_first_datagrams_gets_another_one_soon() {
    for (way, heard) in [(ALONE, (0, 1)), (MULTICAST, (1, 0))] {
        let rtiexec = Rtiexec::with(|config| {
            config.shared_memory = false;
            config.datagrams = false;
            config.links = starling_rtiexec::Links::All;
            config.heartbeat = Duration::from_secs(86_400);
            config.timeout = 3 * config.heartbeat;
        });
        let settings = format!("{way};fault.heartbeat_s=86400;fault.timeout_s=86400");
        let sender = Member::join(&rtiexec, CallbackModel::Evoked, &settings);
        let receiver = Member::join(&rtiexec, CallbackModel::Evoked, &settings);
        until("it may send by datagrams", || {
            sender.evoke();
            let links = sender.links();
            let mut state = links.lock();
            let direct = state.lrc.outbox().direct.as_mut();
            let groups = direct.and_then(|direct| direct.groups.as_mut());
            groups.map(|groups| groups.lose(3)).is_some()
        });
        receiver.subscribe();
        until("it hears the fourth", || {
            sender.evoke();
            sender.send(0, 0, 4);
            while receiver.next().is_some() {}
            sender.heard() == heard
        });
    }
}

/// Who does not take datagrams gets best-effort data reliably, and so do all where the sender does not want any; why,
/// `starling ps` says.
#[test]
fn who_takes_no_datagrams_gets_all_on_its_link() {
    let stream = "transport.best_effort=stream;transport.path=direct";
    let auto = "transport.path=direct";
    for (sends, receives, why) in [
        (
            ALONE,
            stream,
            "the way of reliable data (not by unicast: transport.best_effort = stream there)",
        ),
        (
            stream,
            ALONE,
            "the way of reliable data (transport.best_effort = stream)",
        ),
        (
            auto,
            ALONE,
            "the way of reliable data (both are on one host; transport.best_effort)",
        ),
    ] {
        let rtiexec = linking();
        let sender = Member::join(&rtiexec, CallbackModel::Evoked, sends);
        let receiver = Member::join(&rtiexec, CallbackModel::Evoked, receives);
        receiver.subscribe();
        until("rtiexec knows why", || {
            sender.evoke();
            sender.send(0, 0, 4);
            while receiver.next().is_some() {}
            ways(&rtiexec) == [why]
        });
        sender.send(1, 0, 4);
        until("the last of those", || receiver.next() == Some((1, 0)));
        for number in 0..500 {
            sender.send(0, number, 100);
        }
        for number in 0..500 {
            let mut next = None;
            until("the next one", || {
                next = receiver.next();
                next.is_some()
            });
            assert_eq!(next, Some((0, number)), "nothing is lost on a link");
        }
    }
}

/// Joins and subscribes to what of vehicles is best effort.
fn subscribed_to(rtiexec: &Rtiexec, class: &str, settings: &str) -> Member {
    let member = Member::join(rtiexec, CallbackModel::Evoked, settings);
    let class = member.rti.object_class_handle(class).unwrap();
    let noise = member.rti.attribute_handle(class, "Noise").unwrap();
    let rti = &member.rti;
    rti.subscribe_object_class_attributes(class, &[noise], true, "")
        .unwrap();
    member
}

/// Registers an instance and updates it with numbers.
struct Updater<'a> {
    member: &'a Member,
    instance: starling_core::ObjectInstanceHandle,
    noise: starling_core::AttributeHandle,
    next: u32,
}

impl<'a> Updater<'a> {
    fn new(member: &'a Member, class: &str) -> Self {
        let rti = &member.rti;
        let class = rti.object_class_handle(class).unwrap();
        let noise = rti.attribute_handle(class, "Noise").unwrap();
        rti.publish_object_class_attributes(class, &[noise])
            .unwrap();
        let instance = rti.register_object_instance(class, None).unwrap();
        Updater {
            member,
            instance,
            noise,
            next: 0,
        }
    }

    fn update(&mut self) {
        let value = self.next.to_le_bytes();
        let values: [(_, &[u8]); 1] = [(self.noise, &value)];
        let rti = &self.member.rti;
        rti.update_attribute_values(self.instance, &values, b"")
            .unwrap();
        self.next += 1;
    }
}

/// The numbers of reflections that have come.
fn reflected(member: &Member) -> Vec<u32> {
    member.evoke();
    let hears = member.hears.lock();
    let numbers = hears.try_iter().filter_map(|callback| match callback {
        Callback::ReflectAttributeValues { values, .. } => {
            let (_, value) = values.iter().next()?;
            Some(u32::from_le_bytes(*value.first_chunk()?))
        }
        _ => None,
    });
    numbers.collect()
}

/// Of each update one of these became: it was reflected, lost, or conflated; also by one that evokes nothing for a while.
#[test]
fn what_was_sent_is_received_lost_or_conflated() {
    const COUNT: u32 = 5000;
    for way in [ALONE, MULTICAST] {
        let rtiexec = linking();
        let sender = Member::join(&rtiexec, CallbackModel::Evoked, way);
        let settings = format!("{way};conflate.best_effort=Vehicle");
        let receiver = subscribed_to(&rtiexec, "Vehicle", &settings);
        let mut updater = Updater::new(&sender, "Vehicle.Car");
        let mut came = 0;
        until("it is heard", || {
            sender.evoke();
            updater.update();
            came += reflected(&receiver).len() as u64;
            sender.heard().0 + sender.heard().1 == 1
        });
        let mut last = None;
        for number in 0..COUNT {
            updater.update();
            if number == COUNT / 2 {
                // What comes from now on is conflated until it evokes again.
                came += reflected(&receiver).len() as u64;
            }
        }
        until("each comes or is counted", || {
            sender.evoke();
            let new = reflected(&receiver);
            let newer = new
                .first()
                .is_none_or(|first| last.is_none_or(|last| last < *first));
            assert!(newer, "{last:?} before {new:?}");
            last = new.last().copied().or(last);
            came += new.len() as u64;
            let counters = receiver.links().lock().lrc.counters().unwrap();
            // Before the one was known to have subscribed, and the other to have registered.
            let unsent = sender.links().lock().lrc.counters().unwrap().unwanted;
            let early = unsent + counters.unknown;
            came + counters.conflated + counters.lost + early == updater.next.into()
        });
        let counters = receiver.links().lock().lrc.counters().unwrap();
        assert!(counters.conflated > 0, "{counters:?}");
        assert_eq!((counters.waiting, counters.unsubscribed), (0, 0));
    }
}

/// A federate that does not advance keeps no more best-effort data than may be withheld: the rest is lost, and counted once.
#[test]
fn what_is_withheld_of_best_effort_data_is_bounded() {
    const COUNT: u32 = 500;
    const MOST: usize = 200_000;
    for (way, rtiexec) in [(DATAGRAMS, rtiexec()), (ALONE, linking())] {
        let settings = format!("{way};limits.withheld_bytes={MOST};log.level=off");
        let [sender, receiver] = pair(&rtiexec, CallbackModel::Evoked, [way, &settings]);
        until("datagrams go", || {
            sender.evoke();
            sender.send(0, 0, 4);
            while receiver.next().is_some() {}
            sender.heard() == (0, 1) || sender.is_open() && receiver.is_open() && way == DATAGRAMS
        });
        receiver.rti.enable_time_constrained().unwrap();
        until("it is constrained", || {
            receiver.evoke();
            let came = receiver.hears.lock();
            came.try_iter()
                .any(|c| matches!(c, Callback::TimeConstrainedEnabled { .. }))
        });
        let links = receiver.links();
        let withheld = || links.lock().lrc.federate().unwrap().withheld_bytes();
        for number in 1..COUNT {
            sender.send(0, number, 1000);
            receiver.evoke();
            assert!(withheld() <= MOST / 2 + 3_000, "{}", withheld());
        }
        let counted = |of: &Member| of.links().lock().lrc.counters().unwrap();
        until("each comes or is counted", || {
            sender.evoke();
            receiver.evoke();
            let there: u64 = told(&rtiexec).iter().map(|b| b.lost).sum();
            let here = counted(&receiver);
            here.queued + here.lost + there == counted(&sender).sent
        });
        assert!(withheld() > MOST / 3, "{}", withheld());
        assert!(counted(&receiver).lost > 0);
    }
}

/// What is too large for a datagram takes the link: what was sent before it comes before, or is lost.
#[test]
fn nothing_older_comes_behind_what_takes_the_link() {
    for way in [ALONE, MULTICAST] {
        let rtiexec = linking();
        let [sender, receiver] = pair(&rtiexec, CallbackModel::Evoked, [way, way]);
        until("it is heard", || {
            sender.evoke();
            sender.send(0, 0, 4);
            while receiver.next().is_some() {}
            sender.heard().0 + sender.heard().1 == 1
        });
        let mut last = 0;
        for round in 0..200 {
            let large = 3 * round + 3;
            sender.send(0, large - 2, 100);
            sender.send(0, large - 1, 100);
            sender.send(0, large, LARGE);
            until("the large one", || {
                sender.evoke();
                if let Some((0, number)) = receiver.next() {
                    let is_newer = number > last || (number, last) == (0, 0);
                    assert!(is_newer, "{number} behind {last}, {way}");
                    last = number;
                }
                last == large
            });
        }
        assert_ne!(sender.heard(), (0, 0));
    }
}

/// Passes datagrams on between a federate and rtiexec, at this port; what comes of the federate while it `holds`, later.
fn pass_on(federate: &UdpSocket, port: u16, [holds, over]: [&AtomicBool; 2]) {
    let rtiexec = UdpSocket::bind("127.0.0.1:0").unwrap();
    rtiexec.connect(("127.0.0.1", port)).unwrap();
    for socket in [federate, &rtiexec] {
        socket.set_nonblocking(true).unwrap();
    }
    let (mut bytes, mut whose, mut held) = ([0; 1 << 16], None, Vec::new());
    while !over.load(Ordering::Relaxed) {
        while let Ok((length, from)) = federate.recv_from(&mut bytes) {
            whose = Some(from);
            held.push(bytes[..length].to_vec());
        }
        if !holds.load(Ordering::Relaxed) {
            for datagram in held.drain(..) {
                rtiexec.send(&datagram).unwrap();
            }
        }
        while let (Some(whose), Ok(length)) = (whose, rtiexec.recv(&mut bytes)) {
            federate.send_to(&bytes[..length], whose).unwrap();
        }
        thread::yield_now();
    }
}

/// Its link has broken, so it goes by rtiexec, in a datagram that is long on its way; what is sent next takes a link again.
#[test]
fn nothing_older_comes_by_rtiexec_behind_what_takes_a_link() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = free.local_addr().unwrap().port();
    drop(free);
    let rtiexec = Rtiexec::with(|config| {
        config.shared_memory = false;
        config.links = starling_rtiexec::Links::All;
        config.listen.push(Endpoint::loopback(port));
    });
    for way in [ALONE, MULTICAST] {
        let [sender, receiver] = pair(&rtiexec, CallbackModel::Evoked, [way, way]);
        let [mut sent, mut last] = [1, 1];
        let hear = |last: &mut u32| {
            sender.evoke();
            if let Some((_, number)) = receiver.next() {
                assert!(number > *last, "{number} behind {last}, {way}");
                *last = number;
            }
        };
        let linked = |linked: bool| (sender.direct() == 1) == linked;
        let between = UdpSocket::bind("127.0.0.1:0").unwrap();
        {
            let links = sender.links();
            let mut state = links.lock();
            let link = state.lrc.outbox();
            let port = between.local_addr().unwrap().port();
            let socket = Datagrams::along(link.stream(), port).unwrap();
            link.datagrams.as_mut().unwrap().lead(socket);
        }
        let [holds, over] = [(); 2].map(|()| AtomicBool::new(false));
        thread::scope(|scope| {
            scope.spawn(|| pass_on(&between, port, [&holds, &over]));
            let _over = Ends(&over);
            let mut is_late = false;
            while !is_late {
                holds.store(false, Ordering::Relaxed);
                until("there is a link", || {
                    hear(&mut last);
                    linked(true) && sender.is_open()
                });
                holds.store(true, Ordering::Relaxed);
                if let Some(direct) = &sender.links().lock().lrc.outbox().direct {
                    direct.cut();
                }
                until("it has broken", || {
                    hear(&mut last);
                    linked(false)
                });
                sender.send(0, sent + 1, 100);
                until("there is another one", || {
                    hear(&mut last);
                    linked(true)
                });
                // Else it took that one already, or the stream.
                is_late = last == sent;
                sent += 2;
                sender.send(0, sent, 100);
                until("the newer one", || {
                    hear(&mut last);
                    last == sent
                });
            }
            let lost = receiver.lost();
            holds.store(false, Ordering::Relaxed);
            until("the older one is counted", || {
                hear(&mut last);
                receiver.lost() > lost
            });
        });
    }
}

/// What lies in the socket when a link is read that ends its turn is not late, however much it is.
#[test]
fn what_has_come_before_its_turn_ends_is_not_lost() {
    const COUNT: u32 = 90;
    const TURNS: u32 = 3;
    for way in [ALONE, MULTICAST] {
        let rtiexec = linking();
        let each = format!("{way};bundle.udp_bytes=0");
        // It reads nothing meanwhile.
        let alone = format!("{way};callbacks.io=single-threaded");
        let [sender, receiver] = pair(&rtiexec, CallbackModel::Evoked, [&each, &alone]);
        until("it is heard", || {
            sender.evoke();
            sender.send(0, 0, 4);
            while receiver.next().is_some() {}
            sender.heard().0 + sender.heard().1 == 1
        });
        sender.send(0, u32::MAX, LARGE);
        until("what was sent before has come, or is counted", || {
            receiver.next() == Some((0, u32::MAX))
        });
        let lost = receiver.lost();
        for number in 1..=COUNT * TURNS {
            // What takes the link ends the turn.
            let bytes = if number % COUNT == 0 { LARGE } else { 4 };
            sender.send(0, number, bytes);
        }
        let mut came = 0;
        until("the last one", || {
            sender.evoke();
            match receiver.next() {
                Some((0, 0)) | None => {}
                Some((_, number)) => {
                    assert_eq!(number, came + 1, "{} lost", receiver.lost() - lost);
                    came = number;
                }
            }
            came == COUNT * TURNS
        });
        assert_eq!(receiver.lost(), lost);
    }
}

/// Shows settings: multicast.classes.
#[test]
fn classes_have_the_groups_that_are_set() {
    let group = |last| std::net::Ipv4Addr::new(239, 193, 201, last);
    let settings = format!(
        "{MULTICAST};multicast.group={};multicast.classes=HLAobjectRoot.Vehicle={} Vehicle.Car={}:15170 \
         HLAinteractionRoot.Signal={}",
        group(80),
        group(81),
        group(82),
        group(83),
    );
    let rtiexec = linking();
    let sender = Member::join(&rtiexec, CallbackModel::Evoked, &settings);
    let receiver = subscribed_to(&rtiexec, "Vehicle.Truck", MULTICAST);
    let mut truck = Updater::new(&sender, "Vehicle.Truck");
    let mut car = Updater::new(&sender, "Vehicle.Car");
    let mut joined = |expected: [bool; 4]| {
        until(&format!("{expected:?} are joined"), || {
            truck.update();
            car.update();
            sender.send(0, 0, 4);
            sender.evoke();
            reflected(&receiver);
            [80, 81, 82, 83].map(|last| is_joined(group(last))) == expected
        });
    };
    // A truck is a vehicle; of cars and lights it hears nothing.
    joined([false, true, false, false]);
    let rti = &receiver.rti;
    rti.subscribe_interaction_class(receiver.classes[0], true)
        .unwrap();
    joined([false, true, false, true]);
    let class = rti.object_class_handle("Vehicle").unwrap();
    let noise = rti.attribute_handle(class, "Noise").unwrap();
    rti.subscribe_object_class_attributes(class, &[noise], true, "")
        .unwrap();
    joined([false, true, true, true]);
    until("rtiexec knows", || {
        sender.evoke();
        let ways = ways(&rtiexec);
        ways.len() == 1 && ways[0].starts_with("multicast ") && ways[0].contains(":15170")
    });
}

#[test]
fn what_is_no_group_is_refused_and_named() {
    let settings = "multicast.classes=Vehicle=10.0.0.1";
    let (heard, _hears) = channel();
    let ears = Box::new(Ears {
        heard,
        panics: false,
    });
    let refused = RtiAmbassador::new().connect(ears, CallbackModel::Evoked, settings);
    let refused = refused.unwrap_err().message;
    for part in [
        "multicast.classes: the group of Vehicle: '10.0.0.1' is no multicast address",
        "connect()",
        "give class=group",
    ] {
        assert!(refused.contains(part), "{refused}");
    }
}
