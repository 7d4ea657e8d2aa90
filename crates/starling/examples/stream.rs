//! A million reliable updates between two processes, while a third federate joins a hundred times
//! at random moments: `cargo run --release -p starling --example stream -- [UPDATES] [JOINS]`.
//! Needs the program `starling` (start.program, PATH or beside this). Every receiver checks that
//! what it gets has no gap up to the last update, and is in order.
#![allow(clippy::print_stdout, reason = "its result")]

use starling::ResignAction;
use starling::{AttributeHandle, ObjectClassHandle, ObjectInstanceHandle};
use starling::{Callback, CallbackModel, FederateAmbassador, RtiAmbassador};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

const FOM: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../tests/data/fom/restaurant/RestaurantFOMmodule-2010.xml"
);

/// What a federate has heard so far.
#[derive(Default)]
struct Heard {
    wanted: u64,
    first: Option<(u64, Instant)>,
    last: u64,
    at: Option<Instant>,
    faults: u64,
}

struct Ears(Arc<Mutex<Heard>>);

impl FederateAmbassador for Ears {
    fn deliver(&mut self, callback: Callback) -> Result<(), String> {
        let heard = &mut *self.0.lock().map_err(|e| e.to_string())?;
        match callback {
            Callback::ProvideAttributeValueUpdate { .. } => heard.wanted += 1,
            Callback::ReflectAttributeValues { values, .. } => {
                let (_, value) = values.iter().next().ok_or("no value")?;
                let head = value.first_chunk().ok_or("a short value")?;
                let number = u64::from_le_bytes(*head);
                let now = Instant::now();
                match heard.first {
                    None => heard.first = Some((number, now)),
                    Some(_) if number != heard.last + 1 => heard.faults += 1,
                    Some(_) => {}
                }
                heard.last = number;
                heard.at = Some(now);
            }
            _ => {}
        }
        Ok(())
    }
}

struct Federate {
    rti: RtiAmbassador,
    heard: Arc<Mutex<Heard>>,
    class: ObjectClassHandle,
    attribute: AttributeHandle,
}

impl Federate {
    fn join(name: &str) -> Self {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let rti = RtiAmbassador::new();
        let ears = Box::new(Ears(heard.clone()));
        rti.connect(ears, CallbackModel::Evoked, "")
            .expect("connect");
        // Whoever comes second finds it there.
        let _ = rti.create_federation_execution("Stream", &[FOM.to_owned()], None, "");
        rti.join_federation_execution(Some(name), "stream", "Stream", &[])
            .expect("join");
        let class = rti.object_class_handle("Food.Drink");
        let class = class.expect("the class");
        let attribute = rti.attribute_handle(class, "NumberCups");
        Federate {
            rti,
            heard,
            class,
            attribute: attribute.expect("the attribute"),
        }
    }

    fn subscribe(&self) {
        let (class, attribute) = (self.class, self.attribute);
        let done = self
            .rti
            .subscribe_object_class_attributes(class, &[attribute], true, "");
        done.expect("subscribe");
    }

    fn leave(&self) {
        let action = ResignAction::DeleteObjectsThenDivest;
        self.rti
            .resign_federation_execution(action)
            .expect("resign");
        // Others may still be joined.
        let _ = self.rti.destroy_federation_execution("Stream");
    }
}

fn send(updates: u64) {
    let me = Federate::join("sender");
    let (class, attribute) = (me.class, me.attribute);
    let published = me.rti.publish_object_class_attributes(class, &[attribute]);
    published.expect("publish");
    let instance: ObjectInstanceHandle = me
        .rti
        .register_object_instance(class, None)
        .expect("register");
    // The receiver's request comes behind its subscription: from then on nothing may be missing.
    while me.heard.lock().expect("no panic").wanted == 0 {
        me.rti.evoke_callback(1.0).expect("evoke");
    }
    let mut value = [0; 100];
    for number in 1..=updates {
        value[..8].copy_from_slice(&number.to_le_bytes());
        let done = me
            .rti
            .update_attribute_values(instance, &[(attribute, &value[..])], b"");
        done.expect("update");
        if number % 1000 == 0 {
            me.rti.evoke_multiple_callbacks(0.01, 0.01).expect("evoke");
        }
    }
    me.rti.evoke_multiple_callbacks(0.0, 0.0).expect("evoke");
    // The receiver resigns first, when it has all.
    while me.rti.federate_handle("receiver").is_ok() {
        me.rti.evoke_callback(0.05).expect("evoke");
    }
    me.leave();
}

fn receive(updates: u64) {
    let me = Federate::join("receiver");
    me.subscribe();
    let (class, attribute) = (me.class, me.attribute);
    let ask = || {
        let asked = me
            .rti
            .request_class_attribute_value_update(class, &[attribute], b"");
        asked.expect("request");
    };
    ask();
    loop {
        me.rti.evoke_multiple_callbacks(0.1, 0.1).expect("evoke");
        let heard = me.heard.lock().expect("no panic");
        match heard.first {
            // The sender may not have registered yet.
            None => {
                drop(heard);
                ask();
            }
            Some((first, start)) if heard.last == updates => {
                let seconds = (heard.at.expect("the last one's time") - start).as_secs_f64();
                println!(
                    "receiver: {} of {updates} updates, first {first}, {} gaps, {seconds:.2} s",
                    heard.last - first + 1,
                    heard.faults
                );
                let faults = heard.faults + u64::from(first != 1);
                drop(heard);
                me.leave();
                std::process::exit(i32::from(faults > 0));
            }
            Some(_) => {}
        }
    }
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |n: usize, default| {
        let given = arguments
            .get(n)
            .map(|a| a.parse().expect("arguments are whole numbers"));
        given.unwrap_or(default)
    };
    if let Some(role) = std::env::var_os("STREAM_ROLE") {
        match role.to_str() {
            Some("sender") => return send(number(1, 0)),
            _ => return receive(number(1, 0)),
        }
    }
    let (updates, joins): (u64, u64) = (number(1, 1_000_000), number(2, 100));
    let start = |role: &str| {
        let mut command = Command::new(std::env::current_exe().expect("this program"));
        let child = command
            .arg(updates.to_string())
            .env("STREAM_ROLE", role)
            .spawn();
        child.expect("a process of the same program")
    };
    let mut others = [start("sender"), start("receiver")];
    let mut draw = fastrand::Rng::new();
    let (mut complete, mut faults, mut got) = (0, 0, 0);
    for _ in 0..joins {
        let me = Federate::join("joiner");
        me.subscribe();
        // It stays for a random time, and must have no gap in what it heard.
        let end = Instant::now() + Duration::from_millis(draw.u64(5..80));
        while Instant::now() < end {
            me.rti
                .evoke_multiple_callbacks(0.005, 0.005)
                .expect("evoke");
        }
        let heard = me.heard.lock().expect("no panic");
        faults += heard.faults;
        if let Some((first, _)) = heard.first {
            complete += 1;
            got += heard.last - first + 1;
        }
        drop(heard);
        me.leave();
    }
    println!(
        "joiner: {joins} times, heard something {complete} times, {got} updates, {faults} gaps"
    );
    let ended = others
        .iter_mut()
        .all(|c| c.wait().is_ok_and(|s| s.success()));
    std::process::exit(i32::from(faults > 0 || !ended));
}
