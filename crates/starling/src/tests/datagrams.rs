//! Best-effort data by datagrams: what takes them, what does not, and that each message comes or is counted.

use super::*;
use crate::links::Links;
use parking_lot::Mutex;
use starling_core::InteractionClassHandle;
use starling_core::message::{BestEffort, FederateStatus, FromExecutive, ToExecutive};
use starling_net::Datagrams;
use starling_rid::CONNECT_ADDRESS;
use std::collections::BTreeSet;
use std::net::{TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

mod between;
mod hostile;

const DATAGRAMS: &str = "transport.best_effort=datagrams";

/// An rtiexec that federates reach over TCP, too, so that it has a port for datagrams. They share no memory, which would take
/// all that they send.
fn rtiexec() -> Rtiexec {
    Rtiexec::with(|config| {
        config.shared_memory = false;
        config.listen.push(Endpoint::loopback(0));
    })
}

/// More than a datagram takes.
const LARGE: usize = 70_000;

struct Member {
    rti: RtiAmbassador,
    hears: Mutex<Receiver<Callback>>,
    /// Declared best effort, and reliable.
    classes: [InteractionClassHandle; 2],
    evokes: bool,
}

impl Member {
    fn join(rtiexec: &Rtiexec, model: CallbackModel, settings: &str) -> Self {
        let (rti, hears) = connect_with(rtiexec, model, false, settings);
        // It exists already for all but the first.
        let _ = rti.create_federation_execution("F", &[FOM.into()], None, "");
        rti.join_federation_execution(None, "t", "F", &[]).unwrap();
        let classes = ["Signal.Light", "Signal.Horn"];
        let classes = classes.map(|name| rti.interaction_class_handle(name).unwrap());
        for class in classes {
            rti.publish_interaction_class(class).unwrap();
        }
        Member {
            rti,
            hears: Mutex::new(hears),
            classes,
            evokes: model == CallbackModel::Evoked,
        }
    }

    fn subscribe(&self) {
        for class in self.classes {
            self.rti.subscribe_interaction_class(class, true).unwrap();
        }
    }

    fn links(&self) -> Arc<Links> {
        let now = self.rti.now(Service::ListFederationExecutions);
        now.unwrap().links
    }

    /// Whether its best-effort data goes by datagrams.
    fn is_open(&self) -> bool {
        let links = self.links();
        let mut state = links.lock();
        state
            .lrc
            .outbox()
            .datagrams
            .as_ref()
            .is_some_and(|s| s.is_open())
    }

    /// How many others hear what it sends to groups, and what it sends to them alone.
    fn heard(&self) -> (usize, usize) {
        let links = self.links();
        let mut state = links.lock();
        let direct = state.lrc.outbox().direct.as_ref();
        direct.map_or((0, 0), |direct| direct.heard())
    }

    /// To how many others it has links.
    fn direct(&self) -> usize {
        let links = self.links();
        let mut state = links.lock();
        let direct = state.lrc.outbox().direct.as_ref();
        direct.map_or(0, |direct| direct.direct())
    }

    fn written(&self) -> u64 {
        self.links().lock().lrc.outbox().counts().0
    }

    fn lost(&self) -> u64 {
        self.links().lock().lrc.counters().unwrap().lost
    }

    fn evoke(&self) {
        if self.evokes {
            self.rti.evoke_callback(0.001).unwrap();
        } else {
            thread::yield_now();
        }
    }

    fn send(&self, class: usize, number: u32, bytes: usize) {
        let mut tag = vec![0; bytes];
        tag[..4].copy_from_slice(&number.to_le_bytes());
        let class = self.classes[class];
        self.rti.send_interaction(class, &[], &tag).unwrap();
    }

    /// The next interaction that is there: its class, and its number.
    fn next(&self) -> Option<(usize, u32)> {
        self.evoke();
        match self.hears.lock().try_recv() {
            Ok(Callback::ReceiveInteraction { class, values, .. }) => {
                let class = self.classes.iter().position(|c| *c == class)?;
                Some((class, u32::from_le_bytes(*values.tag().first_chunk()?)))
            }
            _ => None,
        }
    }
}

/// They join, the second one subscribes, and the first one knows it.
fn pair(rtiexec: &Rtiexec, model: CallbackModel, settings: [&str; 2]) -> [Member; 2] {
    let sender = Member::join(rtiexec, CallbackModel::Evoked, settings[0]);
    let receiver = Member::join(rtiexec, model, settings[1]);
    receiver.subscribe();
    until("it is heard", || {
        sender.evoke();
        sender.send(1, 0, 4);
        receiver.next().is_some()
    });
    sender.send(1, 1, 4);
    until("the last of them", || receiver.next() == Some((1, 1)));
    [sender, receiver]
}

/// What rtiexec says of those who are joined, by handle.
pub(super) fn status(rtiexec: &Rtiexec) -> Vec<FederateStatus> {
    let mut settings = Settings::default();
    let path = rtiexec.path.display();
    settings
        .set(CONNECT_ADDRESS, &format!("unix:{path}"), "test")
        .unwrap();
    let reply = crate::query(&settings, "test", &ToExecutive::QueryStatus).unwrap();
    let FromExecutive::Status(list) = reply.answer else {
        panic!("no status");
    };
    list.into_iter().flat_map(|f| f.federates).collect()
}

/// What it says of their data to and from itself.
fn told(rtiexec: &Rtiexec) -> Vec<BestEffort> {
    let federates = status(rtiexec).into_iter();
    federates.map(|f| f.best_effort).collect()
}

#[test]
fn best_effort_goes_by_datagrams_and_all_else_by_the_stream() {
    const COUNT: u32 = 3000;
    let alone = "transport.best_effort=datagrams;callbacks.io=single-threaded";
    for (model, sends, receives) in [
        (CallbackModel::Evoked, DATAGRAMS, DATAGRAMS),
        (CallbackModel::Immediate, DATAGRAMS, DATAGRAMS),
        (CallbackModel::Evoked, alone, alone),
    ] {
        let rtiexec = rtiexec();
        let [sender, receiver] = pair(&rtiexec, model, [sends, receives]);
        until("both ways are open", || {
            sender.evoke();
            receiver.evoke();
            sender.is_open() && receiver.is_open()
        });
        let before = sender.written();
        let (mut best_effort, mut reliable) = (BTreeSet::new(), 0);
        thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0..COUNT {
                    sender.send(0, number, 200);
                    if number % 100 == 0 {
                        sender.send(1, number / 100, 4);
                    }
                }
            });
            let counted = || {
                let there: u64 = told(&rtiexec).iter().map(|b| b.lost).sum();
                there + receiver.lost()
            };
            until("each comes or is counted", || {
                match receiver.next() {
                    Some((0, number)) => assert!(
                        best_effort.last().is_none_or(|last| *last < number)
                            && best_effort.insert(number),
                        "{number} is no news"
                    ),
                    Some((_, number)) => {
                        assert_eq!(number, reliable, "reliable data is whole and in order");
                        reliable += 1;
                    }
                    None => {
                        return reliable == COUNT / 100
                            && best_effort.len() as u64 + counted() == COUNT.into();
                    }
                }
                false
            });
        });
        let written = sender.written() - before;
        assert!(written < 20_000, "{written} bytes on the stream");
        assert!(best_effort.len() > 100, "{}", best_effort.len());
        assert!(
            told(&rtiexec).iter().all(|b| b.by == "datagrams"),
            "{:?}",
            told(&rtiexec)
        );
    }
}

#[test]
fn who_reads_nothing_loses_best_effort_data_alone_and_it_is_counted() {
    const COUNT: u32 = 40_000;
    let link = "transport.best_effort=stream;transport.path=direct";
    for (rtiexec, settings) in [(rtiexec(), DATAGRAMS), (linking(), link)] {
        let alone = format!("{settings};callbacks.io=single-threaded");
        let [sender, receiver] = pair(&rtiexec, CallbackModel::Evoked, [settings, &alone]);
        until("both ways are open", || {
            sender.evoke();
            receiver.evoke();
            sender.direct() == 1 || sender.is_open() && receiver.is_open()
        });
        // 40 MB, more than any buffer takes: nobody is held up.
        for number in 0..COUNT {
            sender.send(0, number, 1000);
        }
        sender.send(1, 2, 4);
        let (mut came, mut reliable) = (0, false);
        until("each comes or is counted", || {
            sender.evoke();
            match receiver.next() {
                Some((0, _)) => came += 1,
                Some(last) => {
                    assert_eq!(last, (1, 2));
                    reliable = true;
                }
                None => {
                    let there: u64 = told(&rtiexec).iter().map(|b| b.lost).sum();
                    return reliable && came + receiver.lost() + there == COUNT.into();
                }
            }
            false
        });
        assert!(came < COUNT.into(), "the test sends too little to lose any");
    }
}

/// Datagrams may cease to come, to rtiexec or from there; what was sent before that was noticed is counted.
#[test]
fn what_is_lost_before_the_stream_is_taken_is_counted() {
    for by_sender in [true, false] {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = free.local_addr().unwrap().port();
        drop(free);
        let rtiexec = Rtiexec::with(|config| {
            config.shared_memory = false;
            config.listen.push(Endpoint::loopback(port));
            config.heartbeat = Duration::from_millis(100);
        });
        let often = format!("{DATAGRAMS};fault.heartbeat_s=0.1");
        let [sender, receiver] = pair(&rtiexec, CallbackModel::Evoked, [&often, &often]);
        until("both ways are open", || {
            sender.evoke();
            receiver.evoke();
            sender.is_open() && receiver.is_open()
        });
        // What the sender sends comes to a stranger; what is for the receiver goes to where nobody reads, as that is where
        // its own comes from.
        let stranger = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (cut, port) = if by_sender {
            (&sender, stranger.local_addr().unwrap().port())
        } else {
            (&receiver, port)
        };
        {
            let links = cut.links();
            let mut state = links.lock();
            let link = state.lrc.outbox();
            let socket = Datagrams::along(link.stream(), port).unwrap();
            link.datagrams.as_mut().unwrap().lead(socket);
        }
        let (mut sent, mut came) = (0, 0);
        until("it is noticed", || {
            sender.evoke();
            sender.send(0, sent, 10);
            sent += 1;
            came += u64::from(receiver.next().is_some());
            !cut.is_open()
        });
        let mut lost = 0;
        until("each comes or is counted", || {
            sender.evoke();
            came += u64::from(receiver.next().is_some());
            let there: u64 = told(&rtiexec).iter().map(|b| b.lost).sum();
            lost = there + receiver.lost();
            came + lost == u64::from(sent)
        });
        assert!(lost > 0, "{by_sender}");
    }
}

/// Shows settings: transport.best_effort.
#[test]
fn without_datagrams_best_effort_goes_by_the_stream_and_status_says_why() {
    let unix_only = Rtiexec::start();
    let refusing = Rtiexec::with(|config| {
        config.listen.push(Endpoint::loopback(0));
        config.datagrams = false;
    });
    for (rtiexec, settings, why) in [
        (
            &unix_only,
            DATAGRAMS,
            "rtiexec listens at no TCP address of this host",
        ),
        (
            &refusing,
            DATAGRAMS,
            "transport.best_effort = stream at rtiexec",
        ),
        (&rtiexec(), "", "its stream"),
        (&rtiexec(), "transport.best_effort=stream", "its stream"),
    ] {
        let [sender, receiver] = pair(rtiexec, CallbackModel::Evoked, [settings, settings]);
        for number in 0..200 {
            sender.send(0, number, 100);
        }
        for number in 0..200 {
            let mut next = None;
            until("the next one", || {
                next = receiver.next();
                next.is_some()
            });
            assert_eq!(next, Some((0, number)), "nothing is lost on a stream");
        }
        assert!(
            told(rtiexec).iter().all(|b| b.by.contains(why)),
            "{:?}",
            told(rtiexec)
        );
    }
}

#[test]
fn a_session_is_of_one_membership() {
    let rtiexec = rtiexec();
    for round in 0..3 {
        let [sender, receiver] = pair(&rtiexec, CallbackModel::Evoked, [DATAGRAMS, DATAGRAMS]);
        until("both ways are open", || {
            sender.evoke();
            receiver.evoke();
            sender.is_open() && receiver.is_open()
        });
        for member in [&sender, &receiver] {
            member.send(0, round, 10);
            let (rti, action) = (&member.rti, ResignAction::NoAction);
            rti.resign_federation_execution(action).unwrap();
            assert!(!member.is_open());
        }
        sender.rti.destroy_federation_execution("F").unwrap();
        // The same connections, in another federation execution.
        for member in [&sender, &receiver] {
            let _ = member
                .rti
                .create_federation_execution("F", &[FOM.into()], None, "");
            member
                .rti
                .join_federation_execution(None, "t", "F", &[])
                .unwrap();
            until("it is open again", || {
                member.evoke();
                member.is_open()
            });
            member
                .rti
                .resign_federation_execution(ResignAction::NoAction)
                .unwrap();
        }
        sender.rti.destroy_federation_execution("F").unwrap();
    }
}

const MULTICAST: &str = "transport.best_effort=multicast;transport.path=direct";

const ALONE: &str = "transport.best_effort=datagrams;transport.path=direct";

/// An rtiexec whose federates may have links to each other, too, and share no memory.
fn linking() -> Rtiexec {
    Rtiexec::with(|config| {
        config.shared_memory = false;
        // What goes by rtiexec before there are links is not lost: that would be counted later.
        config.datagrams = false;
        config.links = starling_rtiexec::Links::All;
    })
}
