//! With a server in the same process. Faults on purpose: whatever fails half-way ends the
//! connection, delivers Connection Lost, and leaves nobody waiting. And threads that get in each
//! other's way.

use crate::{
    Callback, CallbackModel, ExceptionKind, FederateAmbassador, LogicalTime, LogicalTimeInterval,
    ResignAction, RtiAmbassador, Service,
};
use starling_net::Endpoint;
use starling_rid::Settings;
use starling_rtiexec::{Config, Server, Stopper};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

mod datagrams;
mod direct;
mod sharing;

const MODELS: [CallbackModel; 2] = [CallbackModel::Evoked, CallbackModel::Immediate];

/// A server in a thread, which ends with this.
struct Rtiexec {
    path: PathBuf,
    stopper: Stopper,
}

impl Rtiexec {
    fn start() -> Self {
        Rtiexec::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Config)) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("starling-faults-{}-{number}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut config = Config::of(&Settings::default());
        config.listen = vec![Endpoint::Unix(path.clone())];
        config.hello_timeout = PATIENCE;
        change(&mut config);
        let server = Server::new(config).unwrap();
        let stopper = server.stopper();
        std::thread::spawn(|| server.run().map(|_| ()));
        Rtiexec { path, stopper }
    }
}

impl Drop for Rtiexec {
    fn drop(&mut self) {
        self.stopper.stop();
    }
}

/// How long a test waits for what must come: then it fails, and does not hang.
const PATIENCE: Duration = Duration::from_secs(120);

/// Does this again until it is so.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not after {PATIENCE:?}");
    }
}

/// Says that something is over when it is left, also by a panic, which a scope tells only when its threads have ended.
struct Ends<'a>(&'a AtomicBool);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Ears {
    heard: Sender<Callback>,
    panics: bool,
}

impl FederateAmbassador for Ears {
    fn deliver(&mut self, callback: Callback) -> Result<(), String> {
        let _ = self.heard.send(callback);
        assert!(!self.panics, "a test wants this panic: callback");
        Ok(())
    }
}

fn connect(
    rtiexec: &Rtiexec,
    model: CallbackModel,
    panics: bool,
) -> (RtiAmbassador, Receiver<Callback>) {
    connect_with(rtiexec, model, panics, "")
}

fn connect_with(
    rtiexec: &Rtiexec,
    model: CallbackModel,
    panics: bool,
    settings: &str,
) -> (RtiAmbassador, Receiver<Callback>) {
    let (heard, hears) = channel();
    let rti = RtiAmbassador::new();
    let path = rtiexec.path.display();
    let settings = format!("connect.address=unix:{path};connect.timeout_s=3600;{settings}");
    rti.connect(Box::new(Ears { heard, panics }), model, &settings)
        .unwrap();
    (rti, hears)
}

/// Connection Lost is delivered, and all services throw; the ambassador connects again.
fn is_lost(rti: &RtiAmbassador, hears: &Receiver<Callback>, rtiexec: &Rtiexec) {
    until("Connection Lost", || {
        // A federate that panics in the middle of evoking would do as well.
        let _ = catch_unwind(AssertUnwindSafe(|| rti.evoke_callback(0.01)));
        let heard = hears.recv_timeout(Duration::from_millis(10));
        let Ok(Callback::ConnectionLost { fault }) = heard else {
            return false;
        };
        let says = fault.contains("RTI") || fault.contains("panicked");
        assert!(says, "{fault}");
        true
    });
    assert!(!rti.is_connected());
    for thrown in [
        rti.list_federation_executions(),
        rti.object_class_handle("A").map(|_| ()),
        rti.resign_federation_execution(ResignAction::NoAction),
    ] {
        assert_eq!(thrown.unwrap_err().kind, ExceptionKind::NotConnected);
    }
    rti.disconnect().unwrap();
    let (again, _) = connect(rtiexec, CallbackModel::Evoked, false);
    again.destroy_federation_execution("none").unwrap_err();
}

#[test]
fn a_panic_in_a_callback_ends_the_connection() {
    for model in MODELS {
        let rtiexec = Rtiexec::start();
        let (rti, hears) = connect(&rtiexec, model, true);
        rti.list_federation_executions().unwrap();
        is_lost(&rti, &hears, &rtiexec);
    }
}

#[test]
fn a_panic_in_a_service_ends_the_connection() {
    for model in MODELS {
        let rtiexec = Rtiexec::start();
        let (rti, hears) = connect(&rtiexec, model, false);
        let links = rti.now(Service::ListFederationExecutions).unwrap().links;
        links.lock().fault = Some("service");
        let panicked = catch_unwind(AssertUnwindSafe(|| rti.list_federation_executions()));
        assert!(panicked.is_err());
        is_lost(&rti, &hears, &rtiexec);
    }
}

#[test]
fn a_panic_while_a_thread_reads_ends_the_connection_for_all_who_wait() {
    let rtiexec = Rtiexec::start();
    let (rti, hears) = connect(&rtiexec, CallbackModel::Evoked, false);
    let links = rti.now(Service::ListFederationExecutions).unwrap().links;
    std::thread::scope(|scope| {
        // Whichever of them reads panics; the other one's evoking ends all the same.
        let evoke = || {
            scope.spawn(|| {
                until("the end of evoking", || {
                    let _ = rti.evoke_callback(PATIENCE.as_secs_f64());
                    !rti.is_connected()
                });
            })
        };
        let both = [evoke(), evoke()];
        links.lock().fault = Some("reading");
        // The background thread may read the first answers, and this one, which waits for them, too.
        let mut panicked = false;
        until("the end of reading", || {
            let asks = || rti.list_federation_executions();
            panicked |= catch_unwind(AssertUnwindSafe(asks)).is_err();
            // While answers wait to be handed over nobody else reads, and more would come than can be.
            until("nothing that waits", || {
                !rti.is_connected() || !links.lock().lrc.has_callbacks()
            });
            !rti.is_connected()
        });
        let panics = both.map(|thread| thread.join().is_err());
        assert!(panicked || panics.contains(&true));
    });
    is_lost(&rti, &hears, &rtiexec);
}

#[test]
fn a_panic_of_the_background_thread_ends_the_connection() {
    for model in MODELS {
        let rtiexec = Rtiexec::start();
        let (rti, hears) = connect(&rtiexec, model, false);
        let links = rti.now(Service::ListFederationExecutions).unwrap().links;
        links.lock().fault = Some("background");
        links.news();
        // It takes over once the federate is absent, which only looks here.
        until("the background thread's end", || {
            std::thread::yield_now();
            !rti.is_connected()
        });
        is_lost(&rti, &hears, &rtiexec);
    }
}

const FOM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/data/fom/fleet/Fleet.xml"
);

/// Refused before anything is sent, and by the executive's answer.
#[test]
fn a_refusal_names_its_service_once() {
    let rtiexec = Rtiexec::start();
    let (connected, _hears) = connect(&rtiexec, CallbackModel::Evoked, false);
    for rti in [RtiAmbassador::new(), connected] {
        let fom = [FOM.to_owned()];
        let refusals = [
            ("(1516.1-2010, 4.5)", {
                let time = "no such time";
                rti.create_federation_execution("None", &fom, None, time)
            }),
            (
                "(1516.1-2010, 4.6)",
                rti.destroy_federation_execution("None"),
            ),
            ("(1516.1-2010, 4.9)", {
                let joined = rti.join_federation_execution(None, "kind", "None", &[]);
                joined.map(|_| ())
            }),
            ("(1516.1-2010, 4.10)", {
                rti.resign_federation_execution(ResignAction::NoAction)
            }),
        ];
        for (clause, refusal) in refusals {
            let text = refusal.unwrap_err().message;
            assert_eq!(text.matches("(1516.1-2010, ").count(), 1, "{text}");
            assert!(text.ends_with(clause), "{text}");
        }
    }
}

#[test]
fn what_is_no_number_is_no_time_to_evoke() {
    let rtiexec = Rtiexec::start();
    let (rti, _hears) = connect(&rtiexec, CallbackModel::Evoked, false);
    assert_eq!(rti.evoke_callback(f64::NAN), Ok(false));
    assert_eq!(rti.evoke_callback(f64::NEG_INFINITY), Ok(false));
    assert_eq!(rti.evoke_multiple_callbacks(f64::NAN, f64::NAN), Ok(false));
}

/// While others connect and disconnect, each service works on one connection from its first to
/// its last step.
#[test]
fn a_service_does_not_change_its_connection() {
    let rtiexec = Rtiexec::start();
    let settings = format!("unix:{};connect.timeout_s=3600", rtiexec.path.display());
    let rti = RtiAmbassador::new();
    let (heard, hears) = channel();
    let lives = 300;
    let running = AtomicU32::new(1);
    std::thread::scope(|scope| {
        let others = || {
            while running.load(Ordering::Relaxed) == 1 {
                match rti.disconnect() {
                    Ok(()) => {}
                    Err(e) => assert_eq!(e.kind, ExceptionKind::FederateIsExecutionMember, "{e}"),
                }
                let _ = rti.list_federation_executions();
                let _ = rti.evoke_callback(0.0);
            }
        };
        let others = [scope.spawn(others), scope.spawn(others)];
        let federate = || {
            let rti = &rti;
            let ears = Ears {
                heard: heard.clone(),
                panics: false,
            };
            match rti.connect(Box::new(ears), CallbackModel::Evoked, &settings) {
                Err(e) if e.kind == ExceptionKind::AlreadyConnected => {}
                other => other?,
            }
            let _ = rti.create_federation_execution("F", &[FOM.into()], None, "");
            rti.join_federation_execution(None, "t", "F", &[])?;
            // From here on nobody else can disconnect.
            let looked_up = rti.object_class_handle("HLAobjectRoot");
            let resigned = rti.resign_federation_execution(ResignAction::NoAction);
            Ok::<_, crate::Exception>([looked_up.err(), resigned.err()])
        };
        // Most are disconnected before they join; how many depends on who runs when.
        let mut ends: Vec<_> = (0..lives).filter_map(|_| federate().ok()).collect();
        running.store(0, Ordering::Relaxed);
        for other in others {
            other.join().unwrap();
        }
        // Whatever the others have left behind.
        ends.push(federate().unwrap());
        assert_eq!(ends.iter().find(|end| **end != [None, None]), None);
    });
    let lost = hears.try_iter().find_map(|callback| match callback {
        Callback::ConnectionLost { fault } => Some(fault),
        _ => None,
    });
    assert_eq!(lost, None);
}

/// A federate with `callbacks.io = single-threaded` that never evokes still hears who subscribes.
#[test]
fn one_that_only_sends_hears_of_subscribers() {
    let rtiexec = Rtiexec::start();
    let (heard, _) = channel();
    let ears = Ears {
        heard,
        panics: false,
    };
    let sender = RtiAmbassador::new();
    let settings = format!(
        "connect.address=unix:{};callbacks.io=single-threaded;connect.timeout_s=3600",
        rtiexec.path.display()
    );
    sender
        .connect(Box::new(ears), CallbackModel::Evoked, &settings)
        .unwrap();
    sender
        .create_federation_execution("F", &[FOM.into()], None, "")
        .unwrap();
    let (receiver, hears) = connect(&rtiexec, CallbackModel::Immediate, false);
    for rti in [&sender, &receiver] {
        rti.join_federation_execution(None, "t", "F", &[]).unwrap();
    }
    let class = sender.interaction_class_handle("Signal").unwrap();
    sender.publish_interaction_class(class).unwrap();
    receiver.subscribe_interaction_class(class, true).unwrap();
    until("an interaction", || {
        sender.send_interaction(class, &[], b"").unwrap();
        matches!(hears.try_recv(), Ok(Callback::ReceiveInteraction { .. }))
    });
}

/// What is here already is delivered when a service of another thread ends its withholding, not when
/// something comes next: nothing comes here, not even a heartbeat.
/// What was read is not taken before its callbacks are asked for, which shows in nothing.
#[test]
fn data_that_waits_where_it_was_read_is_judged_when_its_turn_comes() {
    const SENT: usize = 3_000;
    let rtiexec = Rtiexec::start();
    let (sender, _) = connect(&rtiexec, CallbackModel::Evoked, false);
    let (receiver, hears) = connect(&rtiexec, CallbackModel::Evoked, false);
    sender
        .create_federation_execution("F", &[FOM.into()], None, "")
        .unwrap();
    let class = sharing::join(&sender);
    sharing::join(&receiver);
    receiver.subscribe_interaction_class(class, true).unwrap();
    sender.publish_interaction_class(class).unwrap();
    let send = |number: usize| {
        sender
            .send_interaction(class, &[], &number.to_le_bytes())
            .unwrap()
    };
    let number = |callback: Callback| match callback {
        Callback::ReceiveInteraction { values, .. } => {
            usize::from_le_bytes(values.tag().try_into().unwrap())
        }
        other => panic!("{other}"),
    };
    until("the sender hears of the subscription", || {
        send(0);
        sender.evoke_callback(0.0).unwrap();
        receiver.evoke_callback(0.001).unwrap();
        hears.try_recv().is_ok()
    });
    // In bundles, so that many are read at once.
    (1..=SENT).for_each(send);
    sender.evoke_callback(0.0).unwrap();
    let numbered = || hears.try_iter().map(number).filter(|number| *number > 0);
    let mut came = Vec::new();
    until("half of them", || {
        receiver.evoke_callback(0.01).unwrap();
        came.extend(numbered());
        came.len() >= SENT / 2
    });
    assert!(receiver.waiting_bytes() > 0, "more was read than delivered");
    // Disabled, they wait; enabled, they go on; unsubscribed, they are nothing any more.
    receiver.disable_callbacks().unwrap();
    assert!(!receiver.evoke_callback(0.0).unwrap());
    receiver.enable_callbacks().unwrap();
    until("one more", || {
        receiver.evoke_callback(0.01).unwrap();
        came.extend(numbered());
        came.len() > SENT / 2
    });
    receiver.unsubscribe_interaction_class(class).unwrap();
    for _ in 0..10 {
        receiver.evoke_multiple_callbacks(0.01, 0.1).unwrap();
    }
    assert_eq!(hears.try_iter().count(), 0);
    assert!(came.len() < SENT && came.iter().copied().eq(1..=came.len()));
}

#[test]
fn what_an_advance_releases_is_delivered_at_once() {
    let rtiexec = Rtiexec::with(|config| {
        let day = Duration::from_secs(24 * 3600);
        (config.heartbeat, config.timeout) = (day, 3 * day);
    });
    let silent = "fault.heartbeat_s=86400;fault.timeout_s=86400";
    let connect = || connect_with(&rtiexec, CallbackModel::Immediate, false, silent);
    let ((sender, sender_hears), (receiver, hears)) = (connect(), connect());
    let wait = |hears: &Receiver<Callback>, wanted: &str| {
        until(wanted, || match hears.recv_timeout(PATIENCE) {
            Ok(callback) => callback.name() == wanted,
            Err(_) => panic!("{wanted} has not come"),
        });
    };
    let wait_for = |wanted| wait(&hears, wanted);
    let made = sender.create_federation_execution("F", &[FOM.into()], None, "");
    made.unwrap();
    for rti in [&sender, &receiver] {
        rti.join_federation_execution(None, "t", "F", &[]).unwrap();
    }
    let class = sender.interaction_class_handle("Signal").unwrap();
    sender.publish_interaction_class(class).unwrap();
    let lookahead = LogicalTimeInterval::float64(1.0).unwrap();
    sender.enable_time_regulation(lookahead).unwrap();
    receiver.subscribe_interaction_class(class, true).unwrap();
    receiver.enable_time_constrained().unwrap();
    wait_for("timeConstrainedEnabled");
    // Who hears of it knows what was subscribed to before.
    let registered = receiver.register_federation_synchronization_point("subscribed", b"", &[]);
    registered.unwrap();
    wait(&sender_hears, "announceSynchronizationPoint");
    wait_for("announceSynchronizationPoint");
    for to in (10..=200).step_by(10) {
        sender.send_interaction(class, &[], b"").unwrap();
        // It comes behind the interaction, and is not withheld.
        let label = to.to_string();
        let registered = sender.register_federation_synchronization_point(&label, b"", &[]);
        registered.unwrap();
        wait_for("announceSynchronizationPoint");
        let time = LogicalTime::float64(f64::from(to)).unwrap();
        receiver.time_advance_request(time).unwrap();
        wait_for("receiveInteraction");
        sender.time_advance_request(time).unwrap();
        wait(&sender_hears, "timeAdvanceGrant");
        wait_for("timeAdvanceGrant");
    }
}

/// Who answers a connection late holds up the thread that connects, and no other.
#[test]
fn services_answer_while_a_thread_connects() {
    let path = std::env::temp_dir().join(format!("starling-silent-{}.sock", std::process::id()));
    let _ = std::fs::remove_file(&path);
    let silent = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let rti = RtiAmbassador::new();
    let settings = format!(
        "connect.address=unix:{};connect.timeout_s=3600",
        path.display()
    );
    let connect = || {
        let (heard, _) = channel();
        let panics = false;
        let ears = Box::new(Ears { heard, panics });
        rti.connect(ears, CallbackModel::Evoked, &settings)
    };
    std::thread::scope(|scope| {
        let connecting = scope.spawn(connect);
        let (answers_nothing, _) = silent.accept().unwrap();
        assert!(!rti.is_connected());
        let refused = rti.list_federation_executions().unwrap_err();
        assert_eq!(refused.kind, ExceptionKind::NotConnected);
        let refused = connect().unwrap_err();
        assert_eq!(refused.kind, ExceptionKind::AlreadyConnected);
        rti.disconnect().unwrap();
        assert!(!connecting.is_finished(), "they waited for it");
        drop((silent, answers_nothing));
        let failed = connecting.join().unwrap().unwrap_err();
        assert_eq!(failed.kind, ExceptionKind::ConnectionFailed);
    });
    std::fs::remove_file(&path).unwrap();
}

/// Whose callback does this.
struct Does<F>(F);

impl<F: FnMut() + Send> FederateAmbassador for Does<F> {
    fn deliver(&mut self, _: Callback) -> Result<(), String> {
        self.0();
        Ok(())
    }
}

/// As long as a callback runs, the ambassador that another thread disconnects is there: a new connection,
/// whose callbacks would overlap with that one, is refused within it, and elsewhere waits for its end.
#[test]
fn callbacks_of_two_connections_do_not_overlap() {
    let rtiexec = Rtiexec::start();
    let rti = Arc::new(RtiAmbassador::new());
    let address = format!("unix:{};connect.timeout_s=3600", rtiexec.path.display());
    let connect = {
        let (rti, address) = (rti.clone(), address.clone());
        move || rti.connect(Box::new(Does(|| {})), CallbackModel::Immediate, &address)
    };
    let (runs, running) = channel();
    let (go_on, may_return) = channel();
    let (within, refused) = channel();
    let slow = Does({
        let connect = connect.clone();
        move || {
            runs.send(()).unwrap();
            may_return.recv().unwrap();
            within.send(connect()).unwrap();
            may_return.recv().unwrap();
        }
    });
    rti.connect(Box::new(slow), CallbackModel::Immediate, &address)
        .unwrap();
    rti.list_federation_executions().unwrap();
    running.recv_timeout(PATIENCE).unwrap();
    std::thread::scope(|scope| {
        // The callback returns however this ends.
        let go_on = go_on;
        let leaves = scope.spawn(|| rti.disconnect());
        until("it disconnects", || rti.is_ending());
        go_on.send(()).unwrap();
        let refused = refused.recv_timeout(PATIENCE).unwrap().unwrap_err();
        let kind = ExceptionKind::CallNotAllowedFromWithinCallback;
        assert_eq!(refused.kind, kind, "{refused}");
        let comes = scope.spawn(connect);
        assert!(!leaves.is_finished(), "it did not wait for the callback");
        go_on.send(()).unwrap();
        leaves.join().unwrap().unwrap();
        comes.join().unwrap().unwrap();
    });
    assert!(rti.is_connected());
}

/// Whom the MOM resigns is no member to any of its services, whether or not the federation execution knows of it
/// already.
#[test]
fn who_was_resigned_by_the_mom_joins_again_and_disconnects() {
    let rtiexec = Rtiexec::start();
    let (manager, _) = connect(&rtiexec, CallbackModel::Immediate, false);
    let fom = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/data/fom/fleet/Manager.xml"
    );
    let fom = [fom.to_owned()];
    manager
        .create_federation_execution("F", &fom, None, "")
        .unwrap();
    let join = |rti: &RtiAmbassador| rti.join_federation_execution(None, "test", "F", &[]);
    join(&manager).unwrap();
    let service = "HLAmanager.HLAfederate.HLAservice.HLAresignFederationExecution";
    let class = manager.interaction_class_handle(service).unwrap();
    manager.publish_interaction_class(class).unwrap();
    let parameter = |name| manager.parameter_handle(class, name).unwrap();
    let (whom, action) = (parameter("HLAfederate"), parameter("HLAresignAction"));
    let directive = (1 + ResignAction::NoAction as u32).to_be_bytes();
    // It reads only when it is told to: of the resignation no more than what it was asked for.
    let single = "callbacks.io=single-threaded";
    let (rti, _hears) = connect_with(&rtiexec, CallbackModel::Evoked, false, single);
    let resigned_by_mom = || {
        let handle = join(&rti).unwrap();
        let handle = [4, handle.0].map(u32::to_be_bytes).concat();
        let values = [(whom, &handle[..]), (action, &directive[..])];
        manager.send_interaction(class, &values, b"").unwrap();
        until("it is no member", || {
            rti.evoke_callback(0.0).unwrap();
            let asked = rti.object_class_handle("HLAobjectRoot");
            let no_member = ExceptionKind::FederateNotExecutionMember;
            asked.map_err(|e| assert_eq!(e.kind, no_member)).is_err()
        });
    };
    for _ in 0..5 {
        resigned_by_mom();
    }
    rti.disconnect().unwrap();
    assert!(!rti.is_connected());
}
