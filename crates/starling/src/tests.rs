//! Faults on purpose: whatever fails half-way ends the connection, delivers Connection Lost, and
//! leaves nobody waiting.

use crate::{
    Callback, CallbackModel, ExceptionKind, FederateAmbassador, ResignAction, RtiAmbassador,
    Service,
};
use starling_net::Endpoint;
use starling_rid::Settings;
use starling_rtiexec::{Config, Server, Stopper};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const MODELS: [CallbackModel; 2] = [CallbackModel::Evoked, CallbackModel::Immediate];

/// A server in a thread, which ends with this.
struct Rtiexec {
    path: PathBuf,
    stopper: Stopper,
}

impl Rtiexec {
    fn start() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("starling-faults-{}-{number}.sock", std::process::id());
        let path = std::env::temp_dir().join(name);
        let mut config = Config::of(&Settings::default());
        config.listen = vec![Endpoint::Unix(path.clone())];
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
    let (heard, hears) = channel();
    let rti = RtiAmbassador::new();
    let settings = format!("unix:{}", rtiexec.path.display());
    rti.connect(Box::new(Ears { heard, panics }), model, &settings)
        .unwrap();
    (rti, hears)
}

/// Connection Lost is delivered, and all services throw; the ambassador connects again.
fn is_lost(rti: &RtiAmbassador, hears: &Receiver<Callback>, rtiexec: &Rtiexec) {
    loop {
        // A federate that panics in the middle of evoking would do as well.
        let _ = catch_unwind(AssertUnwindSafe(|| rti.evoke_callback(0.01)));
        let heard = hears.recv_timeout(Duration::from_millis(10));
        if let Ok(Callback::ConnectionLost { fault }) = heard {
            let says = fault.contains("RTI") || fault.contains("panicked");
            assert!(says, "{fault}");
            break;
        }
    }
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
        let links = rti.links(Service::ListFederationExecutions).unwrap();
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
    let links = rti.links(Service::ListFederationExecutions).unwrap();
    std::thread::scope(|scope| {
        // Whichever of them reads panics; the other one's evoking ends all the same.
        let evoke = || scope.spawn(|| rti.evoke_callback(1000.0));
        let both = [evoke(), evoke()];
        links.lock().fault = Some("reading");
        rti.list_federation_executions().unwrap();
        let panics = both.map(|thread| thread.join().is_err());
        assert!(panics.contains(&true));
    });
    is_lost(&rti, &hears, &rtiexec);
}

#[test]
fn a_panic_of_the_background_thread_ends_the_connection() {
    for model in MODELS {
        let rtiexec = Rtiexec::start();
        let (rti, hears) = connect(&rtiexec, model, false);
        let links = rti.links(Service::ListFederationExecutions).unwrap();
        links.lock().fault = Some("background");
        links.waker.wake();
        // It takes over once the federate is absent, which only looks here.
        while rti.is_connected() {
            std::thread::yield_now();
        }
        is_lost(&rti, &hears, &rtiexec);
    }
}
