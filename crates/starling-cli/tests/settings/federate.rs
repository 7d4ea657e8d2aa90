//! Settings of federates.

use super::numbers::{Federate, Rtiexec, until};
use super::{Member, serve};
use starling::Callback;
use starling_net::system_calls;
use std::thread;

/// Shows settings: callbacks.io.
#[test]
fn who_reads_only_in_calls_has_no_thread_for_it() {
    let rtiexec = Rtiexec::start("", &[]);
    let [with, without] = ["async", "single-threaded"].map(|io| {
        let settings = format!("callbacks.io={io}");
        let federate = Federate::start(&rtiexec, "receiver", io, &settings);
        let tasks = format!("/proc/{}/task", federate.child.id());
        std::fs::read_dir(tasks).unwrap().count()
    });
    assert_eq!(with, without + 1);
}

/// One that sends interactions of 100 bytes, of which nobody reads any.
struct Sender {
    member: Member,
    class: starling::InteractionClassHandle,
    _receiver: Member,
    _server: super::common::Running,
}

impl Sender {
    /// The one with these settings; the way of the data is rtiexec's.
    fn new(interaction: &str, text: &str) -> Self {
        let forwards = "transport.shared_memory=off";
        let server = serve(&format!(
            "fault.heartbeat_s=3600;fault.timeout_s=3600;{forwards}"
        ));
        let address = server.endpoints[0].to_string();
        let member = Member::join(&address, "sender", text);
        let receiver = Member::join(&address, "receiver", "");
        let class = member.rti.interaction_class_handle(interaction).unwrap();
        member.rti.publish_interaction_class(class).unwrap();
        receiver
            .rti
            .subscribe_interaction_class(class, true)
            .unwrap();
        until("it is heard", || {
            member.rti.evoke_callback(0.0).unwrap();
            member.rti.send_interaction(class, &[], b"0").unwrap();
            receiver.rti.evoke_callback(0.01).unwrap();
            receiver.heard.try_iter().next().is_some()
        });
        Sender {
            member,
            class,
            _receiver: receiver,
            _server: server,
        }
    }

    /// Writes that so many take.
    fn sends(&self, count: usize) -> u64 {
        let before = system_calls().sends;
        for _ in 0..count {
            let rti = &self.member.rti;
            rti.send_interaction(self.class, &[], &[7; 100]).unwrap();
        }
        system_calls().sends - before
    }
}

const COUNT: usize = 3000;

/// Writes that `COUNT` messages take with these settings.
fn writes(text: &str) -> u64 {
    Sender::new("Signal.Horn", text).sends(COUNT)
}

/// Shows settings: bundle.tcp_bytes.
#[test]
fn bundles_are_as_large_as_it_is_set() {
    // Nothing is written because it is old, or because nothing was for long.
    let patient = "bundle.idle_us=1000000;bundle.age_us=1000000";
    let each = Sender::new("Signal.Horn", &format!("{patient};bundle.tcp_bytes=0"));
    // As many as the system takes, whether they are read or not.
    assert_eq!(each.sends(100), 100);
    // Over 100 bytes each, of which whoever writes what is old may take some.
    let at_most = |bytes: usize| (COUNT * 200 / bytes + 2) as u64;
    let large = writes(&format!("{patient};bundle.tcp_bytes=65536"));
    let small = writes(&format!("{patient};bundle.tcp_bytes=4096"));
    assert!(large <= at_most(65_536), "{large}");
    assert!(small <= at_most(4096) && small > 2 * large, "{small}");
}

/// Shows settings: bundle.idle_us.
#[test]
fn what_comes_after_a_pause_is_written_at_once() {
    let old = "bundle.tcp_bytes=65536;bundle.age_us=1000000";
    let never = writes(&format!("{old};bundle.idle_us=1000000"));
    // Each message that is looked at comes after a pause of no length.
    let always = writes(&format!("{old};bundle.idle_us=0"));
    assert!(always > 10 * never, "{always} and {never}");
}

/// Shows settings: bundle.age_us.
#[test]
fn what_is_old_is_written() {
    let idle = "bundle.tcp_bytes=65536;bundle.idle_us=1000000";
    let young = writes(&format!("{idle};bundle.age_us=1000000"));
    let old = writes(&format!("{idle};bundle.age_us=0"));
    assert!(old > 10 * young, "{old} and {young}");
}

/// Shows settings: preset.
#[test]
fn presets_bundle_as_they_say() {
    let patient = "bundle.idle_us=1000000;bundle.age_us=1000000";
    let of = |preset: &str| writes(&format!("{patient};preset={preset}"));
    let default = of("default");
    // The background thread may have written one because it was old.
    let compliant = of("compliant");
    assert!(
        compliant.abs_diff(default) <= 2,
        "{compliant} and {default}"
    );
    for preset in ["fastest", "wan"] {
        let larger = of(preset);
        assert!(2 * larger < default, "{preset}: {larger}, {default}");
    }
}

/// Shows settings: callbacks.spin_us.
#[test]
fn who_waits_asks_again_and_again_if_it_is_set() {
    let reads = |spin: u32| {
        let server = serve("fault.heartbeat_s=3600;fault.timeout_s=3600");
        let address = server.endpoints[0].to_string();
        let text = format!("callbacks.io=single-threaded;callbacks.spin_us={spin}");
        let member = Member::connect(&address, &text);
        // Nothing is to come.
        let before = system_calls().receives;
        member.rti.evoke_callback(0.02).unwrap();
        system_calls().receives - before
    };
    let (asleep, awake) = (reads(0), reads(10_000));
    // Who sleeps reads when it is told that something is there. How often others read hangs on who has the CPU.
    assert!(asleep == 0 && awake > 0, "{asleep} and {awake}");
}

/// Shows settings: conflate.best_effort, conflate.reliable.
#[test]
fn of_what_waits_the_newest_comes_where_it_is_set() {
    for (setting, conflated) in [
        ("", [false, false]),
        ("conflate.reliable=Vehicle", [true, false]),
        ("conflate.best_effort=Vehicle", [false, true]),
    ] {
        let server = serve("");
        let address = server.endpoints[0].to_string();
        let sender = Member::join(&address, "sender", "");
        let receiver = Member::join(&address, "receiver", setting);
        let class = sender.rti.object_class_handle("Vehicle").unwrap();
        let [speed, noise] =
            ["Speed", "Noise"].map(|name| sender.rti.attribute_handle(class, name).unwrap());
        let both = [speed, noise];
        let (rti, other) = (&sender.rti, &receiver.rti);
        rti.publish_object_class_attributes(class, &both).unwrap();
        other
            .subscribe_object_class_attributes(class, &both, true, "")
            .unwrap();
        let instance = rti.register_object_instance(class, None).unwrap();
        receiver.until("discoverObjectInstance");
        other
            .request_instance_attribute_value_update(instance, &both, b"")
            .unwrap();
        sender.until("provideAttributeValueUpdate");
        other.disable_callbacks().unwrap();
        for value in 0..10_u8 {
            for attribute in both {
                rti.update_attribute_values(instance, &[(attribute, &[value])], b"")
                    .unwrap();
            }
        }
        // Answered behind what was sent before.
        for rti in [rti, other] {
            rti.query_galt().unwrap();
        }
        other.enable_callbacks().unwrap();
        let mut came = [0; 2];
        let mut last = [None; 2];
        until("the last ones", || {
            other.evoke_callback(0.01).unwrap();
            for callback in receiver.heard.try_iter() {
                let Callback::ReflectAttributeValues { values, .. } = callback else {
                    continue;
                };
                for (attribute, value) in values.iter() {
                    let at = usize::from(attribute == noise);
                    came[at] += 1;
                    last[at] = value.first().copied();
                }
            }
            last == [Some(9); 2]
        });
        let expected = conflated.map(|is| if is { 1 } else { 10 });
        assert_eq!(came, expected, "{setting}");
    }
}

/// Datagrams that a federate sends for so many interactions.
fn datagrams(bytes: usize) -> u64 {
    let server = super::common::run(|config| {
        let listen = std::mem::take(&mut config.listen);
        config.listen = listen;
        config.listen.push(starling_net::Endpoint::loopback(0));
    });
    let address = server.endpoints[0].to_string();
    // As many leave together as have the bytes of a bundle of a stream: each alone.
    let text = format!(
        "transport.best_effort=datagrams;bundle.udp_bytes={bytes};bundle.tcp_bytes=0;\
         transport.shared_memory=off;bundle.idle_us=1000000;bundle.age_us=1000000;fault.heartbeat_s=3600"
    );
    let sender = Member::join(&address, "sender", &text);
    let receiver = Member::join(&address, "receiver", "");
    let class = sender.rti.interaction_class_handle("Signal.Light").unwrap();
    sender.rti.publish_interaction_class(class).unwrap();
    receiver
        .rti
        .subscribe_interaction_class(class, true)
        .unwrap();
    until("it goes by datagrams, and is heard", || {
        sender.rti.evoke_callback(0.01).unwrap();
        sender.rti.send_interaction(class, &[], b"0").unwrap();
        receiver.rti.evoke_callback(0.01).unwrap();
        receiver.heard.try_iter().next().is_some() && goes_by_datagrams(&address)
    });
    let before = system_calls().sends;
    for _ in 0..COUNT {
        sender.rti.send_interaction(class, &[], &[7; 100]).unwrap();
    }
    system_calls().sends - before
}

fn goes_by_datagrams(address: &str) -> bool {
    let shown = std::process::Command::new(env!("CARGO_BIN_EXE_starling"))
        .args(["ps", "--json", address])
        .output()
        .unwrap();
    let shown: serde_json::Value = serde_json::from_slice(&shown.stdout).unwrap();
    let federates = shown["federations"][0]["federates"].as_array().unwrap();
    let sender = federates.iter().find(|f| f["name"] == "sender").unwrap();
    sender["best_effort"]["by"] == "datagrams"
}

/// Shows settings: bundle.udp_bytes.
#[test]
fn datagrams_are_as_large_as_it_is_set() {
    let [each, some, many] = [0, 1400, 14_000].map(datagrams);
    assert_eq!(each, COUNT as u64);
    assert!(some * 5 < each, "{some} and {each}");
    assert!(many * 5 < some, "{many} and {some}");
}

/// Shows settings: limits.callback_queue_bytes.
#[test]
fn so_much_waits_for_a_federate_that_evokes_nothing() {
    let of = |bytes: &str| {
        let server = serve("limits.send_queue_bytes=100000000");
        let address = server.endpoints[0].to_string();
        let sender = Member::join(&address, "sender", "");
        let text = format!("limits.callback_queue_bytes={bytes};log.level=off");
        let receiver = Member::join(&address, "receiver", &text);
        let class = sender.rti.interaction_class_handle("Signal.Horn").unwrap();
        sender.rti.publish_interaction_class(class).unwrap();
        receiver
            .rti
            .subscribe_interaction_class(class, true)
            .unwrap();
        until("it is heard", || {
            sender.rti.evoke_callback(0.01).unwrap();
            sender.rti.send_interaction(class, &[], b"0").unwrap();
            receiver.rti.evoke_callback(0.01).unwrap();
            receiver.heard.try_iter().next().is_some()
        });
        let limit: usize = bytes.parse().unwrap();
        for _ in 0..400 {
            sender
                .rti
                .send_interaction(class, &[], &[7; 10_000])
                .unwrap();
        }
        sender.rti.evoke_callback(0.0).unwrap();
        until("so much waits", || {
            thread::yield_now();
            receiver.rti.waiting_bytes() >= limit.min(3_900_000)
        });
        receiver.rti.waiting_bytes()
    };
    let (small, large) = (of("100000"), of("100000000"));
    assert!(large >= 3_900_000, "{large}");
    // One reading more than the limit.
    assert!(small < 2_000_000, "{small}");
}
