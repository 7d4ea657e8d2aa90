//! `starling stats`: what federates measure of themselves, asked for while they run.
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

mod numbers;

use numbers::forwarder::Forwarder;
use numbers::{Ears, Rtiexec, until};
use serde_json::Value;
use starling::{Callback, CallbackModel, RtiAmbassador, Transportation};
use std::path::Path;
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};

fn stats(rtiexec: &Rtiexec, options: &[&str]) -> String {
    let shown = Command::new(env!("CARGO_BIN_EXE_starling"))
        .arg("stats")
        .args(options)
        .arg(&rtiexec.address)
        .output()
        .unwrap();
    assert!(shown.status.success(), "{shown:?}");
    String::from_utf8(shown.stdout).unwrap()
}

fn join(rtiexec: &Rtiexec, name: &str, settings: &str) -> (RtiAmbassador, Receiver<Callback>) {
    join_at(&rtiexec.address, HELLO, name, settings)
}

const HELLO: &str = "../../examples/hello/Hello.xml";

fn join_at(at: &str, fom: &str, name: &str, settings: &str) -> (RtiAmbassador, Receiver<Callback>) {
    let (to, heard) = channel();
    let rti = RtiAmbassador::new();
    let settings = format!("{at};connect.timeout_s=100;{settings}");
    rti.connect(Box::new(Ears(to)), CallbackModel::Evoked, &settings)
        .unwrap();
    let fom = Path::new(env!("CARGO_MANIFEST_DIR")).join(fom);
    // Another may have created it.
    let _ = rti.create_federation_execution("Hello", &[fom.display().to_string()], None, "");
    rti.join_federation_execution(Some(name), "car", "Hello", &[])
        .unwrap();
    (rti, heard)
}

/// An address that was given to the command is not said to have been given to connect.
#[test]
fn who_asks_nobody_is_told_where_the_address_stands() {
    let asked = Command::new(env!("CARGO_BIN_EXE_starling"))
        .args(["stats", "connect.address=unix:/none/x"])
        .output()
        .unwrap();
    let said = String::from_utf8(asked.stderr).unwrap();
    let place = "no rtiexec answers (connect.address of the command line)";
    assert!(said.contains(place), "{said}");
    assert_eq!(asked.status.code(), Some(3));
}

/// Shows settings: statistics.enabled.
#[test]
fn federates_tell_what_they_send_get_and_take() {
    let rtiexec = Rtiexec::start("", &[]);
    let forwarded = "statistics.enabled=true;transport.shared_memory=off";
    let (sender, asked) = join(&rtiexec, "Sender", forwarded);
    let (receiver, heard) = join(&rtiexec, "Receiver", forwarded);
    let (_silent, _) = join(&rtiexec, "Silent", "");
    let class = sender.object_class_handle("HLAobjectRoot.Car").unwrap();
    let speed = sender.attribute_handle(class, "Speed").unwrap();
    sender
        .publish_object_class_attributes(class, &[speed])
        .unwrap();
    receiver
        .subscribe_object_class_attributes(class, &[speed], true, "")
        .unwrap();
    let instance = sender.register_object_instance(class, None).unwrap();
    let evoke = |rti: &RtiAmbassador, heard: &Receiver<Callback>, name: &str| {
        rti.evoke_callback(1.0).unwrap();
        heard.try_iter().filter(|c| c.name() == name).count()
    };
    until("a discovery", || {
        evoke(&receiver, &heard, "discoverObjectInstance") == 1
    });
    receiver
        .request_instance_attribute_value_update(instance, &[speed], b"")
        .unwrap();
    // Whom it is asked by has subscribed.
    until("a request", || {
        evoke(&sender, &asked, "provideAttributeValueUpdate") == 1
    });
    for _ in 0..10 {
        sender
            .update_attribute_values(instance, &[(speed, &[7; 100])], b"")
            .unwrap();
    }
    assert!(sender.update_attribute_values(instance, &[], b"").is_ok());
    let mut reflected = 0;
    until("ten reflections", || {
        reflected += evoke(&receiver, &heard, "reflectAttributeValues");
        reflected == 10
    });
    // They tell once a second, by themselves.
    let mut all = Value::Null;
    let of = |all: &Value, name: &str| {
        let all = all.as_array().unwrap();
        all.iter().find(|of| of["name"] == name).unwrap()["statistics"].clone()
    };
    until("ten updates in the statistics of both", || {
        all = serde_json::from_str(&stats(&rtiexec, &["--json"])).unwrap();
        let is_ten = |name: &str, which: &str| {
            let class = &of(&all, name)["classes"][0];
            class["class"] == "HLAobjectRoot.Car" && class[which]["messages"] == 10
        };
        is_ten("Sender", "sent") && is_ten("Receiver", "received")
    });
    let (by_sender, by_receiver) = (of(&all, "Sender"), of(&all, "Receiver"));
    assert_eq!(of(&all, "Silent"), Value::Null, "{all}");
    let class = &by_sender["classes"][0];
    assert_eq!(class["transportation"], "HLAreliable", "{all}");
    assert_eq!(
        class["sent"], by_receiver["classes"][0]["received"],
        "{all}"
    );
    assert_eq!(by_receiver["senders"][0]["name"], "Sender", "{all}");
    assert_eq!(
        by_receiver["senders"][0]["received"], class["sent"],
        "{all}"
    );
    let way = &by_sender["ways"][0];
    assert_eq!(way["way"], "rtiexec", "{all}");
    assert_eq!(way["sent"]["messages"], 10, "{all}");
    let call = |of: &Value, name: &str| {
        let calls = of["calls"].as_array().unwrap();
        let call = calls.iter().find(|call| call["name"] == name);
        call.unwrap_or_else(|| panic!("{name}: {of}")).clone()
    };
    let (update, reflect) = (
        call(&by_sender, "updateAttributeValues"),
        call(&by_receiver, "reflectAttributeValues"),
    );
    // The one that updates nothing is a call, too.
    assert_eq!(
        (&update["calls"], &update["callback"]),
        (&11.into(), &false.into())
    );
    assert_eq!(
        (&reflect["calls"], &reflect["callback"]),
        (&10.into(), &true.into())
    );
    assert_eq!(
        call(&by_sender, "joinFederationExecution")["calls"],
        1,
        "{all}"
    );
    let [total, longest] = ["total_ns", "longest_ns"].map(|key| update[key].as_u64().unwrap());
    assert!(
        0 < longest && longest <= total && total <= 11 * longest,
        "{update}"
    );
    let buckets = update["below_power_of_two_ns"].as_array().unwrap();
    let counted: u64 = buckets.iter().map(|n| n.as_u64().unwrap()).sum();
    assert_eq!(counted, 11, "{update}");
    // The longest call is in the last bucket.
    assert!(
        longest < 1 << (buckets.len() - 1) && longest >= 1 << (buckets.len() - 2),
        "{update}"
    );

    let text = stats(&rtiexec, &[]);
    for line in [
        "Sender of Hello:",
        "  HLAobjectRoot.Car  HLAreliable     10 ",
        "  Sender  HLAreliable     10 ",
        "  all       rtiexec  10 ",
        "  Receiver  rtiexec  10 ",
        "  updateAttributeValues ",
        "Silent of Hello:\n  nothing: it measures if its settings have statistics.enabled = true",
    ] {
        assert!(text.contains(line), "'{line}' in {text}");
    }
}

#[test]
fn who_is_restored_counts_anew_by_class_and_by_way_and_goes_on_with_calls() {
    let rtiexec = Rtiexec::start("", &[]);
    let settings = "statistics.enabled=true;transport.shared_memory=off";
    let (sender, heard) = join(&rtiexec, "Sender", settings);
    let (receiver, told) = join(&rtiexec, "Receiver", settings);
    let both = [(&sender, &heard), (&receiver, &told)];
    let expect = |(rti, heard): (&RtiAmbassador, &Receiver<Callback>), name: &str| {
        until(name, || {
            rti.evoke_callback(1.0).unwrap();
            heard.try_iter().any(|c| c.name() == name)
        });
    };
    let class = sender.object_class_handle("HLAobjectRoot.Car").unwrap();
    let speed = sender.attribute_handle(class, "Speed").unwrap();
    sender
        .publish_object_class_attributes(class, &[speed])
        .unwrap();
    receiver
        .subscribe_object_class_attributes(class, &[speed], true, "")
        .unwrap();
    let instance = sender.register_object_instance(class, None).unwrap();
    expect(both[1], "discoverObjectInstance");
    receiver
        .request_instance_attribute_value_update(instance, &[speed], b"")
        .unwrap();
    // Whom it is asked by has subscribed.
    expect(both[0], "provideAttributeValueUpdate");
    // All that was sent has arrived, before and after.
    let update = |times: u64| {
        for _ in 0..times {
            sender
                .update_attribute_values(instance, &[(speed, &[7; 100])], b"")
                .unwrap();
        }
        let mut reflected = 0;
        until("all reflections", || {
            receiver.evoke_callback(1.0).unwrap();
            let came = told.try_iter();
            reflected += came
                .filter(|c| c.name() == "reflectAttributeValues")
                .count() as u64;
            reflected == times
        });
    };
    let counted = |times: u64, calls: u64| {
        let mut all = Value::Null;
        until("these counts", || {
            all = serde_json::from_str(&stats(&rtiexec, &["--json"])).unwrap();
            let of = |name: &str| {
                let of = all.as_array().unwrap().iter().find(|of| of["name"] == name);
                of.unwrap()["statistics"].clone()
            };
            let (sent, received) = (of("Sender"), of("Receiver"));
            let made = sent["calls"].as_array();
            let made =
                made.and_then(|calls| calls.iter().find(|c| c["name"] == "updateAttributeValues"));
            let made = made.map(|call| call["calls"].clone());
            sent["classes"][0]["sent"]["messages"] == times
                && sent["ways"][0]["sent"]["messages"] == times
                && received["classes"][0]["received"]["messages"] == times
                && made == Some(calls.into())
        });
    };
    update(10);
    counted(10, 10);
    sender.request_federation_save("Evening", None).unwrap();
    for of in both {
        expect(of, "initiateFederateSave");
        of.0.federate_save_begun().unwrap();
        of.0.federate_save_complete().unwrap();
    }
    let expect_of_both = |name| both.into_iter().for_each(|of| expect(of, name));
    expect_of_both("federationSaved");
    sender.request_federation_restore("Evening").unwrap();
    expect_of_both("federationRestoreBegun");
    for of in both {
        expect(of, "initiateFederateRestore");
        of.0.federate_restore_complete().unwrap();
    }
    expect_of_both("federationRestored");
    update(3);
    counted(3, 13);
}

/// By whatever way it goes, what one sends is counted by that way and for each receiver, and at each receiver by that way and of
/// that sender: the same messages and bytes.
#[test]
fn what_goes_each_way_is_counted_at_both_ends_by_way_and_peer() {
    let off = "transport.shared_memory=off";
    let direct = format!("{off};transport.path=direct");
    let single = format!("{direct};transport.best_effort=datagrams");
    let multicast = format!("{direct};transport.best_effort=multicast");
    let datagrams = format!("{off};transport.best_effort=datagrams");
    // As `starling ps` calls the path, whether it is best effort, and how often each message is sent.
    let ways = [
        ("rtiexec", off, "rtiexec (", false, 1),
        ("rtiexec by datagrams", &datagrams, "rtiexec (", true, 1),
        ("shared memory", "", "shared memory", false, 1),
        ("direct tcp", &direct, "direct tcp", false, 2),
        ("unicast", &single, "direct tcp", true, 2),
        ("multicast", &multicast, "direct tcp", true, 1),
        ("forwarder", off, "forwarder", false, 1),
    ];
    std::thread::scope(|scope| {
        for (way, settings, path, best_effort, copies) in ways {
            scope.spawn(move || goes_one_way(way, settings, path, best_effort, copies));
        }
    });
}

fn goes_one_way(way: &str, settings: &str, path: &str, best_effort: bool, copies: u64) {
    const SENT: u64 = 100;
    const RESTAURANT: &str = "../../tests/data/fom/restaurant/RestaurantFOMmodule-2010.xml";
    let linking = [("STARLING_TRANSPORT_PATH", "direct")];
    let rtiexec = Rtiexec::start_by(&[], Some("127.0.0.1:0"), "", &linking);
    let forwarder = (way == "forwarder").then(|| Forwarder::start(&rtiexec.address));
    let at = match (&forwarder, way) {
        (Some(forwarder), _) => &forwarder.address,
        // Datagrams come beside a TCP listener.
        (_, "rtiexec by datagrams") => rtiexec.tcp.as_ref().unwrap(),
        _ => &rtiexec.address,
    };
    let settings = format!("statistics.enabled=true;net.unix=false;{settings}");
    let joined = ["sender", "a", "b"].map(|name| join_at(at, RESTAURANT, name, &settings));
    let all = joined.each_ref().map(|(rti, _heard)| rti);
    let [sender, receivers @ ..] = &all;
    for name in ["a", "b"] {
        until(path, || rtiexec.path("sender", name).starts_with(path));
    }
    let class = sender.interaction_class_handle("CustomerTransactions.FoodServed");
    let class = class.unwrap();
    sender.publish_interaction_class(class).unwrap();
    if best_effort {
        let best_effort = Transportation::BestEffort;
        let asked = sender.request_interaction_transportation_type_change(class, best_effort);
        asked.unwrap();
    }
    for receiver in receivers {
        receiver.subscribe_interaction_class(class, true).unwrap();
    }
    let told = |name: &str| {
        let all: Value = serde_json::from_str(&stats(&rtiexec, &["--json"])).unwrap();
        let of = all.as_array().unwrap().iter().find(|of| of["name"] == name);
        of.unwrap()["statistics"].clone()
    };
    // Of all, or of a peer: messages and bytes that went this way.
    let counts = |told: &Value, peer: Option<&str>, which: &str| {
        let list = if peer.is_some() { "peers" } else { "ways" };
        let rows = told[list].as_array().into_iter().flatten();
        let mut rows = rows.filter(|row| peer.is_none_or(|peer| row["name"] == peer));
        let row = rows.find(|row| row["way"] == way);
        ["messages", "bytes"].map(|what| row.map_or(0, |row| row[which][what].as_u64().unwrap()))
    };
    let sent = |told: &Value| [None, Some("a"), Some("b")].map(|peer| counts(told, peer, "sent"));
    let send = |count: u64| {
        for _ in 0..count {
            sender.send_interaction(class, &[], &[7; 100]).unwrap();
        }
        for rti in &all {
            rti.evoke_multiple_callbacks(0.0, 0.1).unwrap();
        }
    };
    let mut all_sent = 0;
    until(way, || {
        send(1);
        all_sent += 1;
        sent(&told("sender"))
            .iter()
            .all(|[messages, _]| *messages > 0)
    });
    // When the sender has told of all.
    let all_told = |all_sent: u64| {
        let mut now = Value::Null;
        until("all is told", || {
            now = told("sender");
            let classes = now["classes"].as_array().into_iter().flatten();
            let sent = classes.map(|row| row["sent"]["messages"].as_u64().unwrap());
            sent.sum::<u64>() == all_sent
        });
        sent(&now)
    };
    let before = all_told(all_sent);
    send(SENT);
    let now = all_told(all_sent + SENT);
    let new = [0, 1, 2].map(|n| [0, 1].map(|what| now[n][what] - before[n][what]));
    println!("{way}: {new:?}");
    let [messages, bytes] = new[1];
    assert!(messages == SENT && bytes > SENT * 100, "{way}: {new:?}");
    assert_eq!(new[2], new[1], "{way}");
    assert_eq!(new[0], new[1].map(|one| copies * one), "{way}");
    for (name, sent) in [("a", now[1]), ("b", now[2])] {
        until("the same at the other end", || {
            send(0);
            let told = told(name);
            [None, Some("sender")].map(|peer| counts(&told, peer, "received")) == [sent; 2]
        });
    }
}

#[test]
fn nobody_has_joined() {
    let rtiexec = Rtiexec::start("", &[]);
    assert_eq!(stats(&rtiexec, &[]), "no joined federates\n");
    assert_eq!(stats(&rtiexec, &["--json"]), "[]\n");
}
