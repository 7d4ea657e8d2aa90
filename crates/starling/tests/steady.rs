//! Once all has its size, updates and reflections over shared memory take no memory, whichever thread does the work, and
//! write nothing to rtiexec. Instructions are counted by `make instructions`, and its system calls of streams.

use starling::{Callback, CallbackModel, FederateAmbassador, PlainCallback, RtiAmbassador};
use starling_net::{Endpoint, system_calls};
use starling_rid::Settings;
use starling_rtiexec::{Config, Server};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const PATIENCE: Duration = Duration::from_secs(120);
const BYTES: usize = 100;

/// Counts what it hears.
struct Ears(Arc<AtomicUsize>);

impl FederateAmbassador for Ears {
    fn deliver(&mut self, _: Callback) -> Result<(), String> {
        Ok(())
    }

    fn deliver_plain(&mut self, callback: &PlainCallback) -> Result<(), String> {
        if let PlainCallback::ReflectAttributeValues { values, .. } = callback {
            let bytes: usize = values.iter().map(|(_, value)| value.len()).sum();
            assert_eq!(bytes, BYTES);
            self.0.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }
}

#[test]
fn a_stream_of_updates_takes_no_memory() {
    let directory = tempfile::tempdir().unwrap();
    let address = directory.path().join("s.sock");
    let mut config = Config::of(&Settings::default());
    config.listen = vec![Endpoint::Unix(address.clone())];
    config.hello_timeout = PATIENCE;
    // Nothing happens by the clock.
    (config.heartbeat, config.timeout) = (100 * PATIENCE, 100 * PATIENCE);
    let server = Server::new(config).unwrap();
    let stopper = server.stopper();
    let running = std::thread::spawn(|| server.run().map(|_| ()));
    let settings = format!(
        "connect.address=unix:{};connect.timeout_s=3600;fault.heartbeat_s=12000;fault.timeout_s=12000",
        address.display()
    );
    let fom = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../tests/data/fom/fleet/Fleet.xml"
    );
    let join = || {
        let (rti, heard) = (RtiAmbassador::new(), Arc::<AtomicUsize>::default());
        let ears = Box::new(Ears(heard.clone()));
        rti.connect(ears, CallbackModel::Evoked, &settings).unwrap();
        // It exists already for the second.
        let _ = rti.create_federation_execution("F", &[fom.into()], None, "");
        rti.join_federation_execution(None, "t", "F", &[]).unwrap();
        (rti, heard)
    };
    let ((sender, _), (receiver, heard)) = (join(), join());
    let class = sender.object_class_handle("Vehicle").unwrap();
    let speed = sender.attribute_handle(class, "Speed").unwrap();
    sender
        .publish_object_class_attributes(class, &[speed])
        .unwrap();
    receiver
        .subscribe_object_class_attributes(class, &[speed], true, "")
        .unwrap();
    let instance = sender.register_object_instance(class, None).unwrap();
    // So many, and all of them come.
    let updates = |count: usize| {
        for _ in 0..count {
            let values = [(speed, &[1; BYTES][..])];
            sender
                .update_attribute_values(instance, &values, b"tag")
                .unwrap();
        }
        sender.evoke_callback(0.0).unwrap();
    };
    let come = |count: usize| {
        let end = Instant::now() + PATIENCE;
        while heard.load(Ordering::Relaxed) < count {
            assert!(Instant::now() < end, "they don't come");
            receiver.evoke_multiple_callbacks(0.001, 1.0).unwrap();
            sender.evoke_callback(0.0).unwrap();
        }
        heard.store(0, Ordering::Relaxed);
    };
    // Until the subscription has come, and the way is settled: nothing goes to rtiexec.
    let end = Instant::now() + PATIENCE;
    let mut before = system_calls().sends;
    loop {
        assert!(Instant::now() < end, "they do not share memory");
        updates(100);
        receiver.evoke_multiple_callbacks(0.01, 1.0).unwrap();
        let now = system_calls().sends;
        if now == before && heard.swap(0, Ordering::Relaxed) == 100 {
            break;
        }
        before = now;
    }
    // Other threads take memory at times, too: rtiexec's, and the one that waits for this test. What updates take, be it
    // once in a thousand, would be in most windows.
    let window = || {
        let (region, before) = (Region::new(ALLOCATOR), system_calls());
        for _ in 0..20 {
            updates(100);
            come(100);
        }
        let change = region.change();
        let sends = system_calls().sends - before.sends;
        (change.allocations + change.reallocations, sends)
    };
    let windows: Vec<_> = (0..20).map(|_| window()).collect();
    let free = windows.iter().filter(|window| **window == (0, 0)).count();
    assert!(2 * free > windows.len(), "{windows:?}");
    drop((sender, receiver));
    stopper.stop();
    running.join().unwrap().unwrap();
}
