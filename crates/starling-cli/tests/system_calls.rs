//! How many system calls a round of time advances takes, at rtiexec and at a federate.
//!
//! Everybody asks for the next time and waits for the grant. What a message needs is exact: each grant
//! is one read of one write. What hangs on the clock is bounded by how long the run took, whatever the
//! machine did meanwhile: a federate tells of itself at most once a second, and one without a background
//! thread looks for what has come at most once a millisecond when it calls a service. Waits of rtiexec
//! that the clock ends are not counted. Federates with a background thread are not measured here: how
//! often that looks hangs on the clock alone.

#[path = "../../starling-rtiexec/tests/common/mod.rs"]
mod common;

use starling::{CallbackModel, FederateAmbassador, RtiAmbassador};
use starling_core::{Callback, LogicalTime, LogicalTimeInterval};
use starling_net::{SystemCalls, system_calls};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Barrier};
use std::time::{Duration, Instant};

const ROUNDS: u64 = 200;
/// Nothing happens by the clock in a run.
const LONG_S: u64 = 20_000;

struct Ears(Sender<&'static str>);

impl FederateAmbassador for Ears {
    fn deliver(&mut self, callback: Callback) -> Result<(), String> {
        self.0.send(callback.name()).map_err(|e| e.to_string())
    }
}

/// A joined federate, which is regulating with a lookahead of 1 and constrained.
struct Federate {
    rti: RtiAmbassador,
    heard: Receiver<&'static str>,
}

impl Federate {
    fn join(address: &str, name: &str) -> Self {
        let (rti, (sender, heard)) = (RtiAmbassador::new(), channel());
        let settings = format!(
            "{address};callbacks.io=single-threaded;callbacks.spin_us=0;\
             fault.heartbeat_s={LONG_S};fault.timeout_s={LONG_S}"
        );
        let model = CallbackModel::Evoked;
        rti.connect(Box::new(Ears(sender)), model, &settings)
            .unwrap();
        let fom = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
            .join("../../tests/data/fom/restaurant/RestaurantFOMmodule-2010.xml");
        // Others have created it.
        let _ = rti.create_federation_execution("F", &[fom.display().to_string()], None, "");
        rti.join_federation_execution(Some(name), "t", "F", &[])
            .unwrap();
        let me = Federate { rti, heard };
        let lookahead = LogicalTimeInterval::float64(1.0).unwrap();
        me.rti.enable_time_regulation(lookahead).unwrap();
        me.until("timeRegulationEnabled");
        me.rti.enable_time_constrained().unwrap();
        me.until("timeConstrainedEnabled");
        me
    }

    fn until(&self, what: &str) {
        while self.heard.try_recv() != Ok(what) {
            self.rti.evoke_callback(LONG_S as f64).unwrap();
        }
    }

    fn round(&self, to: u64) {
        let to = LogicalTime::float64(to as f64).unwrap();
        self.rti.time_advance_request(to).unwrap();
        self.until("timeAdvanceGrant");
    }
}

fn since(now: SystemCalls, then: SystemCalls) -> SystemCalls {
    SystemCalls {
        sends: now.sends - then.sends,
        receives: now.receives - then.receives,
        waits: now.waits - then.waits,
        wakes: now.wakes - then.wakes,
    }
}

/// System calls of rtiexec and of each federate, and what the clock may have added.
fn measure(federates: usize) -> (SystemCalls, Vec<SystemCalls>, Duration) {
    let server = common::run(|config| {
        config.heartbeat = Duration::from_secs(LONG_S);
        config.timeout = Duration::from_secs(LONG_S);
    });
    let address = server.endpoints[0].to_string();
    let all = Arc::new(Barrier::new(federates + 1));
    let threads: Vec<_> = (0..federates)
        .map(|n| {
            let (address, all) = (address.clone(), all.clone());
            std::thread::spawn(move || {
                let federate = Federate::join(&address, &format!("f{n}"));
                all.wait(); // All regulate.
                // One that has begun to wait for another's request has read all else: first that
                // others share memory, then that their data takes it.
                for to in 1..=3 {
                    federate.round(to);
                    all.wait();
                }
                all.wait(); // rtiexec was looked at.
                let before = system_calls();
                (4..4 + ROUNDS).for_each(|to| federate.round(to));
                let calls = since(system_calls(), before);
                all.wait();
                all.wait(); // rtiexec was looked at again.
                calls
            })
        })
        .collect();
    for _ in 0..4 {
        all.wait();
    }
    let (before, begun) = (server.state().calls, Instant::now());
    all.wait();
    all.wait();
    let (at_rtiexec, took) = (since(server.state().calls, before), begun.elapsed());
    all.wait();
    let of_federates = threads.into_iter().map(|t| t.join().unwrap());
    (at_rtiexec, of_federates.collect(), took)
}

#[test]
fn of_a_round_of_time_advances() {
    for federates in [2, 8] {
        let (at_rtiexec, of_federates, took) = measure(federates);
        let n = federates as u64;
        // Of each federate, also of what was due before.
        let (seconds, milliseconds) = (took.as_secs() + 2, took.as_millis() as u64 + 2);
        for calls in &of_federates {
            assert_eq!(calls.receives, ROUNDS, "a read for each grant: {calls:?}");
            let reports = calls.sends - ROUNDS;
            assert!(reports <= seconds, "a write for each request: {calls:?}");
            let looks = calls.waits - ROUNDS;
            assert!(looks <= milliseconds.min(ROUNDS), "one wait: {calls:?}");
            assert_eq!(calls.wakes, 0, "no other thread: {calls:?}");
        }
        let calls = at_rtiexec;
        assert_eq!(calls.sends, n * ROUNDS, "a write for each grant: {calls:?}");
        let reports = calls.receives - n * ROUNDS;
        assert!(reports <= n * seconds, "a read for each request: {calls:?}");
        // One wait may bring the requests of several; the last look is one, too.
        assert!(calls.waits <= calls.receives + 2, "{calls:?}");
        assert!(calls.waits >= ROUNDS, "{calls:?}");
        assert_eq!(calls.wakes, 0, "{calls:?}");
    }
}
