//! What a time-constrained federate is not told until it advances, what it is told all the same, and
//! how much may wait for it (1516.1-2010 §8.1).

use super::*;
use starling_core::Archived;
use std::collections::BTreeSet;
use std::time::Duration;

#[test]
fn receive_order_waits_while_a_constrained_federate_does_not_advance() {
    let mut f = federation(&["a", "b"]);
    f.constrain("b");
    f.plain("a", "one");
    assert_eq!(f.told("b"), "");
    // Other callbacks do not wait.
    let class = f.class("A");
    let xy = f.attributes(&["x"]);
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &xy, true, "")
            .unwrap();
    });
    let (instance, _) = f.instance();
    assert_eq!(f.told("b"), "discover");
    f.call("a", |f| {
        f.update_attribute_values(instance, &[(xy[0], b"1")], b"two")
    })
    .unwrap();
    f.call("a", |f| f.delete_object_instance(instance, b"three"))
        .unwrap();
    assert_eq!(f.told("b"), "");
    f.tar("b", 1.0);
    assert_eq!(f.told("b"), "one, two, remove three, grant 1");
    f.plain("a", "four");
    assert_eq!(f.told("b"), "");
    f.call("b", |f| f.enable_asynchronous_delivery()).unwrap();
    assert_eq!(f.told("b"), "four");
    f.plain("a", "five");
    assert_eq!(f.told("b"), "five");
    f.call("b", |f| f.disable_asynchronous_delivery()).unwrap();
    f.plain("a", "six");
    assert_eq!(f.told("b"), "");
    f.call("b", |f| f.disable_time_constrained()).unwrap();
    assert_eq!(f.told("b"), "six");
}

#[test]
fn what_is_withheld_is_not_counted_as_waiting_and_has_a_bound_of_its_own() {
    let mut f = federation(&["a", "b"]);
    f.federate("b").set_withheld_bytes_max(1_000_000);
    f.constrain("b");
    f.regulate("a", 1.0);
    let waiting = f.federate("b").waiting_bytes();
    f.send("a", &"x".repeat(400_000), 5.0);
    assert_eq!(f.federate("b").waiting_bytes(), waiting);
    assert_eq!(f.federate("b").take_note(), None);
    f.plain("a", &"y".repeat(200_000));
    assert_eq!(f.federate("b").waiting_bytes(), waiting);
    let note = f.federate("b").take_note().unwrap();
    assert!(note.contains("limits.withheld_bytes"), "{note}");
    assert!(
        note.contains("enable asynchronous delivery"),
        "some is in receive order: {note}"
    );
    let value = vec![0; 500_000];
    let mut values = ValuesBuf::default();
    values.push(0, &value);
    let frame = Data {
        sender: f.member("a").handle(),
        after: After::default(),
        body: DataBody::Interaction {
            class: f.interaction("I"),
            payload: Payload {
                transportation: Transportation::Reliable,
                values: values.values(),
                tag: &[],
                address: None,
                stamp: None,
            },
        },
    };
    let cut_off = f
        .federate("b")
        .receive_data(&frame, DataPath::Executive, None)
        .unwrap_err();
    assert!(cut_off.0.contains("does not ask to advance"), "{cut_off}");
}

/// Asynchronous delivery does nothing for messages in time-stamp order.
#[test]
fn no_advice_is_given_that_does_not_help() {
    let mut f = federation(&["a", "b"]);
    f.federate("b").set_withheld_bytes_max(1_000_000);
    f.constrain("b");
    f.regulate("a", 1.0);
    f.send("a", &"x".repeat(600_000), 5.0);
    let note = f.federate("b").take_note().unwrap();
    assert!(note.contains("let it advance, end the save"), "{note}");
}

#[test]
fn disabling_constraint_hands_over_what_waits() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    f.send("a", "late", 9.0);
    f.send("a", "soon", 2.0);
    f.tar("b", 8.0);
    assert_eq!(f.told("b"), "");
    f.call("b", |f| f.disable_time_constrained()).unwrap();
    assert_eq!(f.told("b"), "soon@2TR, late@9TR, grant 8");
    f.send("a", "direct", 3.0);
    assert_eq!(f.told("b"), "direct@3TR");
}

/// B, which takes no callbacks, is constrained; A, which regulates, has an instance.
#[test]
fn what_is_withheld_comes_behind_its_discovery() {
    let mut f = federation(&["a", "b"]);
    f.constrain("b");
    let (class, xy) = (f.class("A"), f.attributes(&["x", "y"]));
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &xy, true, "")
            .unwrap();
    });
    f.run();
    let (instance, xy) = f.instance();
    f.call("a", |f| {
        f.update_attribute_values(instance, &[(xy[0], b"1")], b"first")
    })
    .unwrap();
    f.call("a", |f| f.delete_object_instance(instance, b"gone"))
        .unwrap();
    f.run();
    f.tar("b", 1.0);
    assert_eq!(f.told("b"), "discover, first, remove gone, grant 1");
}

/// A discovery is not withheld, and comes before what is in time-stamp order, whenever its federate takes callbacks.
#[test]
fn what_is_in_time_stamp_order_comes_behind_its_discovery() {
    for evokes in [false, true] {
        let mut f = federation(&["a", "b"]);
        f.regulate("a", 1.0);
        f.constrain("b");
        let (class, xy) = (f.class("A"), f.attributes(&["x", "y"]));
        f.call("b", |f| {
            f.subscribe_object_class_attributes(class, &xy, true, "")
                .unwrap();
        });
        f.run();
        f.plain("a", "withheld");
        let (instance, xy) = f.instance();
        f.call("a", |f| {
            f.update_attribute_values_at(instance, &[(xy[0], b"1")], b"u", at(3.0))
        })
        .unwrap();
        f.run();
        if evokes {
            assert_eq!(f.told("b"), "discover");
        }
        f.tar("b", 4.0);
        f.tar("a", 9.0);
        let told = f.told("b");
        let expected = if evokes {
            "withheld, u@3TT, grant 4"
        } else {
            "withheld, discover, u@3TT, grant 4"
        };
        assert_eq!(told, expected);
    }
}

#[test]
fn what_was_granted_and_not_delivered_comes_in_receive_order_once_constraint_is_off() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    f.send("a", "x", 2.0);
    f.tar("b", 2.0);
    f.tar("a", 5.0);
    f.run();
    f.call("b", |f| f.disable_time_constrained()).unwrap();
    assert_eq!(f.told("b"), "x@2TR, grant 2");
}

/// The table in docs/services/time.md has a row for each test of one, and the other way round.
#[test]
fn the_page_names_the_tests_of_its_rows() {
    let page = include_str!("../../../../docs/services/time.md");
    let rows = page.lines().filter(|l| l.starts_with('|'));
    let cells = rows.filter_map(|l| l.strip_suffix("` |")?.rsplit_once('`'));
    let is_row = |name: &&str| name.starts_with("withheld_") || name.starts_with("not_withheld_");
    let named: BTreeSet<_> = cells.map(|(_, name)| name).filter(is_row).collect();
    let functions = include_str!("withheld.rs").lines();
    let functions = functions.filter_map(|l| l.strip_prefix("fn ")?.strip_suffix("() {"));
    assert_eq!(named, functions.filter(is_row).collect());
}

/// What A does, and how B, which is constrained and does not advance, is told of it.
fn withheld(what: impl Fn(&mut Federation, ObjectInstanceHandle, AttributeHandle), told: &str) {
    for until in ["advance", "asynchronous delivery"] {
        let (mut f, instance, xy) = known_instance();
        what(&mut f, instance, xy[0]);
        assert_eq!(f.told("b"), "", "{until}");
        match until {
            "advance" => f.tar("b", 1.0),
            _ => f.call("b", |f| f.enable_asynchronous_delivery()).unwrap(),
        }
        assert_eq!(f.told("b"), told, "{until}");
    }
}

#[test]
fn withheld_reflect_attribute_values_in_receive_order() {
    withheld(
        |f, instance, x| {
            f.call("a", |f| {
                f.update_attribute_values(instance, &[(x, b"1")], b"u")
            })
            .unwrap();
        },
        "u",
    );
}

#[test]
fn withheld_receive_interaction_in_receive_order() {
    withheld(
        |f, _, _| {
            let class = f.interaction("I");
            f.call("b", |f| f.subscribe_interaction_class(class, true))
                .unwrap();
            f.run();
            f.call("a", |f| {
                f.publish_interaction_class(class)?;
                f.send_interaction(class, &[], b"i")
            })
            .unwrap();
        },
        "i",
    );
}

#[test]
fn withheld_remove_object_instance_in_receive_order() {
    withheld(
        |f, instance, _| {
            f.call("a", |f| f.delete_object_instance(instance, b"r"))
                .unwrap();
        },
        "remove r",
    );
}

#[test]
fn withheld_all_three_in_time_stamp_order_whatever_else() {
    let (mut f, instance, xy) = known_instance();
    let class = f.interaction("I");
    f.call("b", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.run();
    f.call("b", |f| f.enable_asynchronous_delivery()).unwrap();
    f.call("a", |f| {
        f.publish_interaction_class(class)?;
        f.change_interaction_order_type(class, Order::TimeStamp)?;
        f.update_attribute_values_at(instance, &[(xy[0], b"1")], b"u", at(4.0))?;
        f.send_interaction_at(class, &[], b"i", at(5.0))?;
        f.delete_object_instance_at(instance, b"r", at(6.0))
    })
    .unwrap();
    assert_eq!(f.told("b"), "");
    f.tar("b", 4.0);
    assert_eq!(f.told("b"), "", "it is not granted yet");
    f.tar("a", 4.0);
    assert_eq!(f.told("b"), "u@4TT, grant 4");
    assert_eq!(f.told("b"), "");
    f.tar("b", 6.0);
    assert_eq!(f.told("a"), "grant 4");
    f.tar("a", 9.0);
    assert_eq!(f.told("b"), "i@5TT, remove r@6TT, grant 6");
}

/// What is done, and that B, which is constrained and does not advance, is told at once, before a message that
/// came earlier.
fn not_withheld(
    what: impl Fn(&mut Federation, ObjectInstanceHandle, &[AttributeHandle]),
    told: &str,
) {
    let (mut f, instance, xy) = known_instance();
    f.plain("a", "earlier");
    assert_eq!(f.told("c"), "earlier");
    what(&mut f, instance, &xy);
    assert_eq!(f.told("b"), told);
    f.tar("b", 1.0);
    assert_eq!(f.told("b"), "earlier");
}

#[test]
fn not_withheld_discover_object_instance() {
    let another = |f: &mut Federation, _, _: &[AttributeHandle]| {
        let class = f.class("A");
        f.call("a", |f| f.register_object_instance(class, None))
            .unwrap();
    };
    not_withheld(another, "discover");
}

#[test]
fn not_withheld_provide_attribute_value_update() {
    let asked = |f: &mut Federation, _, xy: &[AttributeHandle]| {
        let class = f.class("A");
        let own = f.call("b", |f| {
            f.publish_object_class_attributes(class, xy)?;
            f.register_object_instance(class, None)
        });
        assert_eq!(f.told("c"), "discover");
        let own = own.unwrap();
        f.call("c", |f| {
            f.request_instance_attribute_value_update(own, xy, b"")
        })
        .unwrap();
    };
    not_withheld(asked, "provideAttributeValueUpdate");
}

#[test]
fn not_withheld_ownership() {
    let offered = |f: &mut Federation, instance, xy: &[AttributeHandle]| {
        let class = f.class("A");
        f.call("b", |f| f.publish_object_class_attributes(class, xy))
            .unwrap();
        f.run();
        f.call("a", |f| {
            f.unconditional_attribute_ownership_divestiture(instance, xy, b"")
        })
        .unwrap();
        assert_eq!(f.told("b"), "requestAttributeOwnershipAssumption");
        f.call("b", |f| {
            f.attribute_ownership_acquisition(instance, xy, b"")
        })
        .unwrap();
    };
    not_withheld(offered, "attributeOwnershipAcquisitionNotification");
}

#[test]
fn not_withheld_advisories() {
    let begins_and_ends = |f: &mut Federation, _, xy: &[AttributeHandle]| {
        let (class, sub, i) = (f.class("A"), f.class("A.B"), f.interaction("I"));
        f.call("b", |f| {
            f.enable_interaction_relevance_advisory_switch()?;
            f.publish_interaction_class(i)
        })
        .unwrap();
        assert_eq!(f.told("b"), "turnInteractionsOn");
        let own = f.call("b", |f| {
            f.enable_object_class_relevance_advisory_switch()?;
            f.enable_attribute_relevance_advisory_switch()?;
            f.enable_attribute_scope_advisory_switch()?;
            f.publish_object_class_attributes(sub, xy)?;
            f.register_object_instance(sub, None)
        });
        own.unwrap();
        assert_eq!(
            f.told("b"),
            "startRegistrationForObjectClass, attributesInScope, turnUpdatesOnForObjectInstance"
        );
        let another = f.call("a", |f| f.register_object_instance(class, None));
        assert_eq!(f.told("b"), "discover, attributesInScope");
        f.call("a", |f| {
            f.unconditional_attribute_ownership_divestiture(another?, xy, b"")
        })
        .unwrap();
        assert_eq!(f.told("b"), "attributesOutOfScope");
        for name in ["a", "c"] {
            f.call(name, |f| {
                f.unsubscribe_object_class(class)?;
                f.unsubscribe_interaction_class(i)
            })
            .unwrap();
        }
    };
    not_withheld(
        begins_and_ends,
        "stopRegistrationForObjectClass, turnUpdatesOffForObjectInstance, turnInteractionsOff",
    );
}

#[test]
fn not_withheld_synchronization_points() {
    let from_beginning_to_end = |f: &mut Federation, _, _: &[AttributeHandle]| {
        for told in [
            "synchronizationPointRegistrationSucceeded, announceSynchronizationPoint",
            "synchronizationPointRegistrationFailed",
        ] {
            f.call("b", |f| {
                f.register_federation_synchronization_point("p", b"", &[])
            })
            .unwrap();
            assert_eq!(f.told("b"), told);
        }
        for name in ["a", "b", "c"] {
            f.told(name);
            f.call(name, |f| f.synchronization_point_achieved("p", true))
                .unwrap();
        }
    };
    not_withheld(from_beginning_to_end, "federationSynchronized");
}

#[test]
fn not_withheld_save_and_restore() {
    let both = |f: &mut Federation, _, _: &[AttributeHandle]| {
        let all = ["a", "b", "c"];
        f.call("b", |f| f.request_federation_save("S", None))
            .unwrap();
        assert_eq!(f.told("b"), "initiateFederateSave");
        f.call("b", |f| f.query_federation_save_status()).unwrap();
        assert_eq!(f.told("b"), "federationSaveStatusResponse");
        f.call("b", |f| f.abort_federation_save()).unwrap();
        assert_eq!(f.told("b"), "federationNotSaved");
        f.call("c", |f| f.request_federation_save("S", None))
            .unwrap();
        for name in all {
            f.told(name);
            f.call(name, |f| f.federate_save_begun()).unwrap();
            f.call(name, |f| f.federate_save_complete()).unwrap();
        }
        f.run();
        let mut task = f.archives().remove(0);
        f.archived(&task, Archived::Written);
        assert_eq!(f.told("b"), "federationSaved");
        f.call("b", |f| f.request_federation_restore("")).unwrap();
        assert_eq!(f.told("b"), "requestFederationRestoreFailed");
        f.call("b", |f| f.query_federation_restore_status())
            .unwrap();
        assert_eq!(f.told("b"), "federationRestoreStatusResponse");
        let saved = Archived::Read(task.write.take().expect("it was written"));
        for is_aborted in [true, false] {
            f.call("b", |f| f.request_federation_restore("S")).unwrap();
            f.run();
            let read = f.archives().remove(0);
            f.archived(&read, saved.clone());
            assert_eq!(
                f.told("b"),
                "requestFederationRestoreSucceeded, federationRestoreBegun"
            );
            for name in ["a", "c", "a", "c"] {
                f.told(name);
            }
            assert_eq!(f.told("b"), "initiateFederateRestore");
            if is_aborted {
                f.call("a", |f| f.abort_federation_restore()).unwrap();
                assert_eq!(f.told("b"), "federationNotRestored");
                for name in ["a", "c"] {
                    f.told(name);
                }
            }
        }
        for name in all {
            f.call(name, |f| f.federate_restore_complete()).unwrap();
        }
    };
    not_withheld(both, "federationRestored");
}

#[test]
fn not_withheld_report_federation_executions() {
    let asked = |f: &mut Federation, _, _: &[AttributeHandle]| {
        f.call("b", |f| f.list_federation_executions()).unwrap();
    };
    not_withheld(asked, "reportFederationExecutions");
}

#[test]
fn not_withheld_time_regulation_enabled() {
    let enabled = |f: &mut Federation, _, _: &[AttributeHandle]| {
        f.call("b", |f| f.enable_time_regulation(span(1.0)))
            .unwrap();
    };
    not_withheld(enabled, "regulating 0");
}

#[test]
fn not_withheld_names_and_transportation_types() {
    let asked = |f: &mut Federation, _, _: &[AttributeHandle]| {
        let class = f.interaction("I");
        f.call("b", |f| {
            f.publish_interaction_class(class)?;
            f.reserve_object_instance_name("n")?;
            f.request_interaction_transportation_type_change(class, Transportation::BestEffort)
        })
        .unwrap();
    };
    let told = "objectInstanceNameReservationSucceeded, confirmInteractionTransportationTypeChange";
    not_withheld(asked, told);
}

#[test]
fn not_withheld_request_retraction() {
    let (mut f, ..) = known_instance();
    let class = f.interaction("I");
    f.call("b", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.run();
    let sent = f.call("a", |f| {
        f.publish_interaction_class(class)?;
        f.change_interaction_order_type(class, Order::TimeStamp)?;
        f.send_interaction_at(class, &[], b"i", at(5.0))
    });
    let sent = sent.unwrap();
    f.call("b", |f| f.flush_queue_request(at(1.0))).unwrap();
    assert_eq!(f.told("b"), "i@5TT, grant 1");
    f.call("a", |f| f.retract(sent)).unwrap();
    assert_eq!(f.told("b"), format!("retract {}", sent.number()));
}

/// They come in their place among the messages: what came before them is not withheld yet, what came after a grant is.
#[test]
fn not_withheld_time_constrained_enabled_and_time_advance_grant() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.plain("a", "before");
    f.call("b", |f| f.enable_time_constrained()).unwrap();
    f.plain("a", "withheld");
    assert_eq!(f.told("b"), "before, constrained 0");
    f.tar("b", 1.0);
    f.plain("a", "advancing");
    f.tar("a", 5.0);
    f.plain("a", "granted");
    assert_eq!(f.told("b"), "withheld, advancing, grant 1");
    f.tar("b", 2.0);
    assert_eq!(f.told("b"), "granted, grant 2");
}

/// They are messages in receive order like all others (11.1).
#[test]
fn withheld_what_the_mom_reflects_and_sends() {
    const OF: &str = "HLAmanager.HLAfederate";
    let (mut f, ..) = known_instance();
    let class = f.class(OF);
    let ask = f.interaction(&format!("{OF}.HLArequest.HLArequestPublications"));
    let report = f.interaction(&format!("{OF}.HLAreport.HLAreportObjectClassPublication"));
    let b = [4, f.member("b").handle().0].map(u32::to_be_bytes).concat();
    f.call("b", |f| {
        let state = f.attribute_handle(class, "HLAasynchronousDelivery")?;
        f.subscribe_object_class_attributes(class, &[state], true, "")?;
        f.subscribe_interaction_class(report, true)?;
        f.publish_interaction_class(ask)?;
        let whom = f.parameter_handle(ask, "HLAfederate")?;
        f.send_interaction(ask, &[(whom, &b)], b"")
    })
    .unwrap();
    f.call("a", |f| f.enable_asynchronous_delivery()).unwrap();
    let names = |f: &mut Federation| -> Vec<_> {
        let told = f.callbacks("b");
        told.iter().map(Callback::name).collect()
    };
    assert_eq!(names(&mut f), ["discoverObjectInstance"; 3]);
    f.tar("b", 1.0);
    assert_eq!(
        names(&mut f),
        ["receiveInteraction", "reflectAttributeValues"]
    );
}

const DELAYED: &str = "<delaySubscriptionEvaluation isEnabled=\"true\"/>";

#[test]
fn subscriptions_are_judged_when_it_is_sent_or_with_the_switch_when_it_is_delivered() {
    for (switch, told) in [("", "grant 5"), (DELAYED, "early@4TT, u@4TT, grant 5")] {
        let mut f = Federation::new(switch);
        for name in ["a", "b"] {
            f.join(name);
        }
        let (class, interaction) = (f.class("A"), f.interaction("I"));
        f.call("a", |f| {
            f.publish_interaction_class(interaction)?;
            f.change_interaction_order_type(interaction, Order::TimeStamp)
        })
        .unwrap();
        let (instance, xy) = f.instance();
        // B knows the instance by Y.
        f.call("b", |f| {
            f.subscribe_object_class_attributes(class, &xy[1..], true, "")
        })
        .unwrap();
        assert_eq!(f.told("b"), "discover");
        f.regulate("a", 1.0);
        f.constrain("b");
        f.send("a", "early", 4.0);
        f.call("a", |f| {
            f.update_attribute_values_at(instance, &[(xy[0], b"1")], b"u", at(4.0))
        })
        .unwrap();
        f.run();
        f.call("b", |f| {
            f.subscribe_interaction_class(interaction, true)?;
            f.subscribe_object_class_attributes(class, &xy[..1], true, "")
        })
        .unwrap();
        f.tar("b", 5.0);
        f.tar("a", 9.0);
        assert_eq!(f.told("b"), told, "{switch}");
        // What it has ended since does not come either way.
        f.tar("b", 20.0);
        assert_eq!(f.told("a"), "grant 9");
        f.send("a", "late", 15.0);
        f.run();
        f.call("b", |f| f.unsubscribe_interaction_class(interaction))
            .unwrap();
        f.tar("a", 30.0);
        assert_eq!(f.told("b"), "grant 20", "{switch}");
    }
}

#[test]
fn a_federate_that_never_advances_takes_no_endless_memory_of_the_executive() {
    // For 100 messages.
    let mut f = Federation::limited(12_800);
    prepare(&mut f, &["a", "b", "c"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    f.constrain("c");
    for _ in 0..60 {
        f.send("a", "x", 2.0);
    }
    // Of what is granted nothing is kept.
    f.tar("c", 2.0);
    f.tar("a", 5.0);
    assert!(f.told("c").ends_with("grant 2"));
    assert_eq!(f.told("a"), "grant 5");
    let warned = |f: &mut Federation| {
        let why = f.why("b", "I").join("; ");
        why.contains("more than half of the 100 that limits.withheld_bytes")
    };
    assert!(warned(&mut f), "60 wait");
    for _ in 0..40 {
        f.send("a", "x", 6.0);
    }
    f.run();
    assert!(f.is_joined("b"));
    f.send("a", "one too many", 6.0);
    f.run();
    assert!(!f.is_joined("b"));
    let lost = format!("{:?}", f.call("b", |f| f.next_callback()));
    assert!(lost.contains("limits.withheld_bytes"), "{lost}");
    assert!(f.is_joined("a") && f.is_joined("c"));
}

/// rtiexec counts 128 bytes for a message in time-stamp order, and nothing for others: the federate comes to its bound
/// first, and tells of it.
#[test]
fn why_warns_of_what_a_federate_itself_withholds_from_half_of_its_bound_on() {
    const MOST: usize = 100_000;
    let large = "x".repeat(MOST / 8);
    for in_time_order in [true, false] {
        let mut f = federation(&["a", "b"]);
        f.federate("b").set_withheld_bytes_max(MOST);
        f.regulate("a", 1.0);
        f.constrain("b");
        let warned = |f: &mut Federation| {
            f.run();
            f.call("b", |f| f.report(Duration::ZERO, false));
            f.run();
            let of_data = f.why("b", "I");
            let (of_time, _) = f.why_time("b");
            let warning = |lines: &Vec<String>| {
                let mut lines = lines.iter();
                lines
                    .find(|line| line.starts_with("FAIL withheld"))
                    .cloned()
            };
            assert_eq!(warning(&of_data), warning(&of_time));
            // What it waits for is said before.
            let first = |lines: &[String]| {
                let mut failing = lines.iter().filter(|line| line.starts_with("FAIL"));
                failing.next().cloned().unwrap_or_default()
            };
            let names = ["FAIL time", "FAIL asked"];
            assert!(first(&of_data).starts_with(names[0]), "{of_data:?}");
            assert!(first(&of_time).starts_with(names[1]), "{of_time:?}");
            warning(&of_time)
        };
        let send = |f: &mut Federation| {
            if in_time_order {
                f.send("a", &large, 2.0);
            } else {
                f.plain("a", &large);
            }
        };
        for _ in 0..3 {
            send(&mut f);
        }
        assert_eq!(warned(&mut f), None, "less than half");
        for _ in 0..2 {
            send(&mut f);
        }
        let warning = warned(&mut f).expect("more than half");
        let bytes = f.member("b").withheld_bytes();
        let percent = bytes * 100 / MOST;
        assert!((62..66).contains(&percent), "{bytes} bytes");
        let expected = format!(
            "FAIL withheld: {bytes} bytes wait at 'b' for its advance, or the end of a save or restore: {percent} % of \
             the 100000 that its limits.withheld_bytes allows; beyond these it is cut off"
        );
        assert_eq!(warning, expected);
        // Who advances withholds no more.
        f.tar("b", 2.0);
        f.tar("a", 2.0);
        assert!(f.told("b").ends_with("grant 2"));
        f.call("b", |f| f.report(Duration::ZERO, false));
        let (lines, _) = f.why_time("b");
        assert!(
            !lines.iter().any(|line| line.contains("withheld")),
            "{lines:?}"
        );
    }
}

#[test]
fn a_withheld_removal_leaves_the_name_to_the_next_instance() {
    let mut f = federation(&["a", "b"]);
    let (class, xy) = (f.class("A"), f.attributes(&["x", "y"]));
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &xy, true, "")
    })
    .unwrap();
    f.call("a", |f| f.publish_object_class_attributes(class, &xy))
        .unwrap();
    let register = |f: &mut Federation| {
        f.call("a", |f| f.reserve_object_instance_name("n"))
            .unwrap();
        f.callbacks("a");
        f.call("a", |f| f.register_object_instance(class, Some("n")))
            .unwrap()
    };
    let former = register(&mut f);
    assert_eq!(f.told("b"), "discover");
    f.constrain("b");
    f.call("a", |f| f.delete_object_instance(former, b"d"))
        .unwrap();
    let next = register(&mut f);
    assert_eq!(f.told("b"), "discover");
    assert_eq!(f.member("b").known_instances(), [former, next]);
    f.tar("b", 1.0);
    assert_eq!(f.told("b"), "remove d, grant 1");
    assert_eq!(f.member("b").known_instances(), [next]);
    let found = f.call("b", |f| f.object_instance_handle("n"));
    assert_eq!(found, Ok(next));
}
