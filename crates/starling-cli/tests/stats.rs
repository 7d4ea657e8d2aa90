//! `starling stats`: what federates measure of themselves, asked for while they run.
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

mod numbers;

use numbers::{Ears, Rtiexec, until};
use serde_json::Value;
use starling::{Callback, CallbackModel, RtiAmbassador};
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
    let (to, heard) = channel();
    let rti = RtiAmbassador::new();
    let settings = format!("{};connect.timeout_s=100;{settings}", rtiexec.address);
    rti.connect(Box::new(Ears(to)), CallbackModel::Evoked, &settings)
        .unwrap();
    let fom = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/hello/Hello.xml");
    // Another may have created it.
    let _ = rti.create_federation_execution("Hello", &[fom.display().to_string()], None, "");
    rti.join_federation_execution(Some(name), "car", "Hello", &[])
        .unwrap();
    (rti, heard)
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
    assert_eq!(way["way"], "to rtiexec", "{all}");
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
        "  to rtiexec  sent ",
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

#[test]
fn nobody_has_joined() {
    let rtiexec = Rtiexec::start("", &[]);
    assert_eq!(stats(&rtiexec, &[]), "no joined federates\n");
    assert_eq!(stats(&rtiexec, &["--json"]), "[]\n");
}
