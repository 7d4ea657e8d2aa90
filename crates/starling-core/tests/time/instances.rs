//! Updates and deletions of object instances in time-stamp order, and their retraction.

use super::*;

#[test]
fn an_update_is_cut_by_order_type() {
    let mut f = federation(&["a", "b"]);
    let class = f.class("A");
    let xy = f.attributes(&["x", "y"]);
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &xy, true, "")
            .unwrap();
    });
    let (instance, _) = f.instance();
    f.regulate("a", 1.0);
    assert_eq!(f.told("b"), "discover");
    f.constrain("b");
    let change = |order, which| {
        move |f: &mut starling_core::Lrc<_>| {
            f.change_attribute_order_type(instance, &[which], order)
        }
    };
    f.call("a", change(Order::Receive, xy[1])).unwrap();
    f.call("a", |f| {
        f.update_attribute_values_at(instance, &[(xy[0], b"1"), (xy[1], b"2")], b"u", at(2.0))
    })
    .unwrap();
    f.tar("b", 1.5);
    assert_eq!(f.told("b"), "u@2RR");
    f.tar("a", 9.0);
    assert_eq!(f.told("b"), "grant 1.5");
    f.tar("b", 2.0);
    assert_eq!(f.told("b"), "u@2TT, grant 2");
    // Best effort and reliable in time-stamp order: both by the ordered stream, as declared.
    f.call("a", change(Order::TimeStamp, xy[1])).unwrap();
    assert_eq!(f.told("a"), "grant 9");
    f.call("a", |f| {
        f.update_attribute_values_at(instance, &[(xy[0], b"1"), (xy[1], b"2")], b"v", at(10.0))
    })
    .unwrap();
    f.tar("b", 10.0);
    f.tar("a", 11.0);
    assert_eq!(f.told("b"), "v@10TT, v@10TT, grant 10");
}

#[test]
fn a_deletion_in_time_stamp_order_comes_at_its_time() {
    let (mut f, instance, xy) = known_instance();
    f.call("a", |f| {
        f.update_attribute_values_at(instance, &[(xy[0], b"1")], b"last", at(4.0))
    })
    .unwrap();
    let handle = f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(4.0))
    });
    assert_ne!(handle.unwrap(), MessageRetractionHandle::default());
    let error = f
        .call("a", |f| f.object_instance_name(instance))
        .unwrap_err();
    assert_eq!(error.kind, ExceptionKind::ObjectInstanceNotKnown);
    assert_eq!(f.told("c"), "last@4TR, remove d@4TR");
    assert_eq!(f.told("b"), "");
    assert_eq!(f.status().instances, 1);
    f.tar("b", 4.0);
    f.tar("a", 5.0);
    assert_eq!(f.told("b"), "last@4TT, remove d@4TT, grant 4");
    assert_eq!(f.status().instances, 0);
}

/// 8.21: what is sent of an instance while its deletion may be retracted comes at its time to whoever knows it again by then,
/// whenever it was read.
#[test]
fn updates_before_a_deletion_come_to_who_knows_the_instance_again() {
    for flushed in [false, true] {
        let (mut f, instance, xy) = known_instance();
        let (class, y) = (f.class("A"), [xy[1]]);
        f.call("c", |f| f.publish_object_class_attributes(class, &y))
            .unwrap();
        f.call("a", |f| {
            f.unconditional_attribute_ownership_divestiture(instance, &y, b"")
                .unwrap();
            f.subscribe_object_class_attributes(class, &y, true, "")
                .unwrap();
        });
        f.run();
        f.call("c", |f| {
            f.attribute_ownership_acquisition_if_available(instance, &y, b"")
        })
        .unwrap();
        f.callbacks("c");
        f.call("c", |f| {
            f.change_attribute_order_type(instance, &y, Order::TimeStamp)
        })
        .unwrap();
        f.regulate("c", 1.0);
        f.constrain("a");
        let deletion = f.call("a", |f| {
            f.delete_object_instance_at(instance, b"d", at(10.0))
        });
        f.run();
        if flushed {
            f.call("b", |f| f.flush_queue_request(at(20.0))).unwrap();
            assert_eq!(f.told("b"), "remove d@10TT, grant 1");
        }
        f.call("c", |f| {
            f.update_attribute_values_at(instance, &[(y[0], b"1")], b"u", at(9.0))
        })
        .unwrap();
        f.run();
        f.call("a", |f| f.retract(deletion.unwrap())).unwrap();
        f.run();
        for name in ["a", "b", "c"] {
            f.tar(name, 12.0);
        }
        let again = if flushed { "retract 1, discover, " } else { "" };
        assert_eq!(f.told("b"), format!("{again}u@9TT, grant 12"));
        assert_eq!(f.told("a"), "u@9TT, grant 12");
    }
}

/// 11.2: to c, which updates y of it and reflects x, it is the same instance when its deletion was retracted.
#[test]
fn an_instance_that_is_there_again_counts_once() {
    let (mut f, instance, xy) = known_instance();
    let (class, y) = (f.class("A"), [xy[1]]);
    f.call("c", |f| f.publish_object_class_attributes(class, &y))
        .unwrap();
    f.call("a", |f| {
        f.unconditional_attribute_ownership_divestiture(instance, &y, b"")
    })
    .unwrap();
    f.run();
    f.call("c", |f| {
        f.attribute_ownership_acquisition_if_available(instance, &y, b"")
    })
    .unwrap();
    f.callbacks("c");
    let update = |f: &mut Federation| {
        for (name, attribute) in [("a", xy[0]), ("c", xy[1])] {
            f.call(name, |f| {
                f.update_attribute_values(instance, &[(attribute, b"1")], b"u")
            })
            .unwrap();
        }
        f.callbacks("c").len()
    };
    assert_eq!(update(&mut f), 1);
    let deletion = f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(9.0))
    });
    assert_eq!(f.told("c"), "remove d@9TR");
    f.call("a", |f| f.retract(deletion.unwrap())).unwrap();
    assert_eq!(f.callbacks("c").len(), 2, "retract, discover");
    assert_eq!(update(&mut f), 1);
    let counts = f.member("c").save().mom.counts;
    assert_eq!(counts.reflections.len(), 1);
    assert_eq!(counts.reflections[0].2, 2);
    assert_eq!(counts.instances_reflected, [(class, 1)]);
    assert_eq!(counts.instances_updated, [(class, 1)]);
}

#[test]
fn a_retracted_deletion_leaves_all_as_it_was() {
    let (mut f, instance, xy) = known_instance();
    let name = f.call("a", |f| f.object_instance_name(instance)).unwrap();
    let delete = |f: &mut Federation| {
        f.call("a", |f| {
            f.delete_object_instance_at(instance, b"d", at(9.0))
        })
        .unwrap()
    };
    let handle = delete(&mut f);
    assert_eq!(f.told("c"), "remove d@9TR");
    f.call("a", |f| f.retract(handle)).unwrap();
    assert_eq!(f.told("b"), "");
    let again = format!("retract {}, discover", handle.number());
    assert_eq!(f.told("c"), again);
    assert_eq!(
        f.call("a", |f| f.object_instance_name(instance)).unwrap(),
        name
    );
    f.call("a", |f| {
        f.update_attribute_values_at(instance, &[(xy[0], b"1")], b"alive", at(2.0))
    })
    .unwrap();
    assert_eq!(f.told("c"), "alive@2TR");
    // Retracted before anybody was told: nobody is.
    let handle = delete(&mut f);
    f.run();
    f.call("a", |f| f.retract(handle)).unwrap();
    assert_eq!(f.told("c"), "");
    f.tar("b", 20.0);
    f.tar("a", 30.0);
    assert_eq!(f.told("b"), "alive@2TT, grant 20");
    assert_eq!(f.status().instances, 1);
    // The last one stays.
    f.call("a", |f| f.delete_object_instance(instance, b"end"))
        .unwrap();
    assert_eq!(f.told("c"), "remove end");
}

#[test]
fn a_deletion_that_has_come_to_all_may_still_be_retracted() {
    let (mut f, instance, _) = known_instance();
    let handle = f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(9.0))
    });
    f.call("b", |f| f.flush_queue_request(at(3.0))).unwrap();
    assert_eq!(f.told("b"), "remove d@9TT, grant 1");
    assert_eq!(f.told("c"), "remove d@9TR");
    assert_eq!(f.status().instances, 1, "a may take it back");
    let handle = handle.unwrap();
    f.call("a", |f| f.retract(handle)).unwrap();
    let again = format!("retract {}, discover", handle.number());
    assert_eq!((f.told("b"), f.told("c")), (again.clone(), again));
    let handle = f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(9.0))
    });
    handle.unwrap();
    f.call("b", |f| f.flush_queue_request(at(3.0))).unwrap();
    f.run();
    assert_eq!(f.status().instances, 1);
    f.tar("a", 20.0);
    assert_eq!(f.status().instances, 0, "it can't be taken back any more");
}

/// The one who hears of the deletion before its time may own what it updates until it takes the removal.
#[test]
fn updates_up_to_the_time_of_a_deletion_come_though_their_sender_has_its_removal_waiting() {
    for is_constrained in [true, false] {
        let mut f = federation(&["a", "b", "c"]);
        let class = f.class("A");
        let (x, y) = (f.attributes(&["x"]), f.attributes(&["y"]));
        for name in ["b", "c"] {
            f.call(name, |f| {
                f.publish_object_class_attributes(class, &y)?;
                f.subscribe_object_class_attributes(class, &[x[0], y[0]], true, "")
            })
            .unwrap();
        }
        let instance = f.call("a", |f| {
            f.publish_object_class_attributes(class, &x).unwrap();
            f.register_object_instance(class, None).unwrap()
        });
        for name in ["b", "c"] {
            assert_eq!(
                f.told(name),
                "discover, requestAttributeOwnershipAssumption"
            );
        }
        f.call("b", |f| {
            f.attribute_ownership_acquisition_if_available(instance, &y, b"")
        })
        .unwrap();
        assert_eq!(f.told("b"), "attributeOwnershipAcquisitionNotification");
        f.call("b", |f| {
            f.change_attribute_order_type(instance, &y, Order::TimeStamp)
        })
        .unwrap();
        for name in ["a", "b"] {
            f.regulate(name, 1.0);
        }
        f.constrain("c");
        if is_constrained {
            f.constrain("b");
        }
        f.call("a", |f| {
            f.delete_object_instance_at(instance, b"d", at(9.0))
        })
        .unwrap();
        if is_constrained {
            f.call("b", |f| f.flush_queue_request(at(3.0))).unwrap();
        }
        f.run();
        for (tag, time) in [(&b"before"[..], 5.0), (b"after", 12.0)] {
            f.call("b", |f| {
                f.update_attribute_values_at(instance, &[(y[0], b"1")], tag, at(time))
            })
            .unwrap();
        }
        let removed = ["remove d@9TR", "remove d@9TT, grant 1"];
        assert_eq!(f.told("b"), removed[usize::from(is_constrained)]);
        f.tar("c", 9.0);
        for name in ["a", "b"] {
            f.tar(name, 20.0);
        }
        assert_eq!(f.told("c"), "before@5TT, remove d@9TT, grant 9");
        f.tar("c", 12.0);
        assert_eq!(f.told("c"), "grant 12");
    }
}

/// It knows the instance all the while (6.9), and so is told that it is removed.
#[test]
fn who_stops_subscribing_and_begins_again_while_a_deletion_waits_is_told_of_it() {
    for again in [false, true] {
        let (mut f, instance, xy) = known_instance();
        let class = f.class("A");
        f.call("a", |f| {
            f.delete_object_instance_at(instance, b"d", at(4.0))
        })
        .unwrap();
        f.call("b", |f| f.unsubscribe_object_class(class)).unwrap();
        assert_eq!(f.told("b"), "");
        if again {
            f.call("b", |f| {
                f.subscribe_object_class_attributes(class, &xy, true, "")
            })
            .unwrap();
        }
        f.tar("b", 4.0);
        f.tar("a", 5.0);
        assert_eq!(f.told("b"), "remove d@4TT, grant 4", "{again}");
        assert_eq!(f.status().instances, 0);
    }
}

#[test]
fn who_has_deleted_it_locally_while_a_deletion_waits_is_told_nothing_of_it() {
    let (mut f, instance, _) = known_instance();
    f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(4.0))
    })
    .unwrap();
    assert_eq!(f.told("b"), "");
    f.call("b", |f| f.local_delete_object_instance(instance))
        .unwrap();
    f.tar("b", 4.0);
    f.tar("a", 5.0);
    assert_eq!(f.told("b"), "grant 4");
    assert_eq!(f.status().instances, 0);
}

#[test]
fn a_deletion_outlives_its_federate_and_its_receivers() {
    let (mut f, instance, _) = known_instance();
    f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(9.0))
    })
    .unwrap();
    f.resign("a", ResignAction::UnconditionallyDivestAttributes);
    assert_eq!(f.status().instances, 1);
    f.tar("b", 9.0);
    assert_eq!(f.told("b"), "remove d@9TT, grant 9");
    assert_eq!(f.status().instances, 0);

    let (mut f, instance, _) = known_instance();
    f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(9.0))
    })
    .unwrap();
    f.tar("a", 20.0);
    f.lose("b");
    assert_eq!(f.status().instances, 0);
}

#[test]
fn who_has_resigned_is_told_nothing_of_a_deletion_that_is_retracted() {
    let (mut f, instance, _) = known_instance();
    let handle = f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(9.0))
    });
    f.run();
    f.call("a", |f| f.retract(handle.unwrap())).unwrap();
    // Its resignation is behind the retraction, in its own view before it.
    f.call("c", |f| {
        f.resign_federation_execution(ResignAction::NoAction)
    })
    .unwrap();
    f.run();
    assert!(!f.is_joined("c"));
    assert_eq!(f.status().instances, 1);
}

#[test]
fn all_parts_of_an_update_are_retracted() {
    let (mut f, instance, xy) = known_instance();
    // X and Y differ in transportation type.
    let sent = f.call("a", |f| {
        let values = [(xy[0], &b"1"[..]), (xy[1], &b"2"[..])];
        f.update_attribute_values_at(instance, &values, b"u", at(9.0))
    });
    assert_eq!(f.told("c"), "u@9TR, u@9TR");
    let sent = sent.unwrap();
    f.call("a", |f| f.retract(sent)).unwrap();
    assert_eq!(f.told("c"), format!("retract {}", sent.number()));
    f.tar("b", 20.0);
    f.tar("a", 30.0);
    assert_eq!(f.told("b"), "grant 20");
}

/// A flush (§8.12) may come between the frames of one update: a simulated federation found it.
#[test]
fn an_update_is_flushed_in_part_and_retracted() {
    let (mut f, instance, xy) = known_instance();
    let values = [(xy[0], &b"1"[..]), (xy[1], &b"2"[..])];
    let flushed_in_part = |f: &mut Federation| {
        let sent = f.call_in_part("a", |f| {
            f.update_attribute_values_at(instance, &values, b"u", at(9.0))
        });
        f.call("b", |f| f.flush_queue_request(at(3.0))).unwrap();
        f.hear();
        assert_eq!(f.told("b"), "u@9TT, grant 1");
        sent.unwrap()
    };
    flushed_in_part(&mut f);
    f.call("b", |f| f.flush_queue_request(at(3.0))).unwrap();
    assert_eq!(f.told("b"), "u@9TT, grant 1", "the other part");

    // What had come is asked back, once, and the rest does not come.
    let sent = flushed_in_part(&mut f);
    f.call("a", |f| f.retract(sent)).unwrap();
    assert_eq!(f.told("b"), format!("retract {}", sent.number()));
    f.tar("b", 20.0);
    f.tar("a", 30.0);
    assert_eq!(f.told("b"), "grant 20");
}

#[test]
fn what_is_retracted_or_waits_at_resigning_is_counted() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    let gone = f.send("a", "gone", 5.0);
    f.send("a", "stays", 5.0);
    f.plain("a", "withheld");
    f.call("a", |f| f.retract(gone)).unwrap();
    f.run();
    let counters = f.member("b").counters();
    assert_eq!((counters.queued, counters.retracted), (3, 1));
    // A's last one arrives when B has resigned, and the federation execution does not know it yet.
    f.call_late("b", |f| {
        f.resign_federation_execution(ResignAction::NoAction)
    })
    .unwrap();
    f.plain("a", "late");
    let counters = f.federate("b").counters().unwrap();
    assert_eq!((counters.queued, counters.dropped), (4, 3));
}

#[test]
fn what_was_sent_in_receive_order_has_no_retraction() {
    let mut f = federation(&["a"]);
    f.regulate("a", 1.0);
    let refused = f.call("a", |f| f.retract(MessageRetractionHandle(0)));
    let refused = refused.unwrap_err();
    assert_eq!(refused.kind, ExceptionKind::InvalidMessageRetractionHandle);
    assert_eq!(
        refused.message,
        "retract: the handle stands for no message: what is sent in receive order has none to retract it by (1516.1-2010, 8.21)"
    );
}

/// It is neither retracted nor past its time.
#[test]
fn what_was_sent_before_regulation_was_disabled_can_not_be_retracted() {
    let mut f = federation(&["a", "b"]);
    f.constrain("b");
    f.regulate("a", 1.0);
    let sent = f.send("a", "far", 100.0);
    f.call("a", |f| f.disable_time_regulation()).unwrap();
    f.regulate("a", 1.0);
    let refused = f.call("a", |f| f.retract(sent)).unwrap_err();
    assert_eq!(refused.kind, ExceptionKind::MessageCanNoLongerBeRetracted);
    let why = "was sent before time regulation was disabled";
    assert!(refused.message.contains(why), "{}", refused.message);
}

/// What a failed call would have sent is no message that could be retracted.
#[test]
fn a_call_that_fails_sends_nothing() {
    let mut f = federation(&["a", "b"]);
    let class = f.class("A");
    let xy = f.attributes(&["x", "y"]);
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &xy, true, "")
    })
    .unwrap();
    let (instance, _) = f.instance();
    f.regulate("a", 1.0);
    assert_eq!(f.told("b"), "discover");
    f.call("a", |f| {
        f.change_attribute_order_type(instance, &[xy[1]], Order::Receive)
    })
    .unwrap();
    f.call("a", |f| f.set_frame_bytes_max(1_000));
    let large = vec![0; 1_000];
    let z = f.attributes(&["z"])[0];
    let (interaction, none) = (f.interaction("I"), Vec::new());
    let failures = [
        // In time-stamp order what fits, in receive order what does not; and the reverse.
        [(xy[0], &none), (xy[1], &large)],
        [(xy[0], &large), (xy[1], &none)],
        // An attribute that is not of the class.
        [(xy[0], &none), (z, &none)],
    ];
    for values in failures {
        let values = values.map(|(attribute, value)| (attribute, value.as_slice()));
        f.call("a", |f| {
            f.update_attribute_values_at(instance, &values, b"u", at(5.0))
        })
        .unwrap_err();
    }
    f.call("a", |f| {
        f.send_interaction_at(interaction, &[], &large, at(5.0))
    })
    .unwrap_err();
    f.call("a", |f| {
        f.send_interaction_with_regions_at(interaction, &[], &[], &large, at(5.0))
    })
    .unwrap_err();
    let counters = f.member("a").counters();
    assert_eq!((counters.sent, counters.unwanted), (0, 0));
    let first = MessageRetractionHandle::new(f.member("a").handle(), 1);
    let error = f.call("a", |f| f.retract(first)).unwrap_err();
    assert_eq!(error.kind, ExceptionKind::InvalidMessageRetractionHandle);
}

/// A deletion that waits for its time stays its federate's: nobody else comes to own the privilege to
/// delete, and so no other deletion is refused because of it and lost when it is retracted.
#[test]
fn nobody_else_can_delete_what_is_being_deleted() {
    let (mut f, instance, _) = known_instance();
    let class = f.class("A");
    let privilege = f.call("a", |f| {
        f.attribute_handle(class, "HLAprivilegeToDeleteObject")
    });
    let privilege = [privilege.unwrap()];
    f.call("c", |f| {
        f.publish_object_class_attributes(class, &privilege)
    })
    .unwrap();
    f.call("a", |f| {
        f.negotiated_attribute_ownership_divestiture(instance, &privilege, b"")
    })
    .unwrap();
    f.callbacks("c");
    // Its acquisition crosses the deletion.
    f.call_late("c", |f| {
        f.attribute_ownership_acquisition(instance, &privilege, b"")
    })
    .unwrap();
    let message = f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(9.0))
    });
    f.callbacks("a");
    let refused = f.call("c", |f| f.delete_object_instance(instance, b"c's"));
    assert_eq!(
        refused.unwrap_err().kind,
        ExceptionKind::DeletePrivilegeNotHeld
    );
    f.call("a", |f| f.retract(message.unwrap())).unwrap();
    f.callbacks("c");
    f.call("a", |f| f.delete_object_instance(instance, b"a's"))
        .unwrap();
    assert!(f.told("c").ends_with("remove a's"));
    assert_eq!(f.status().instances, 0);
    assert_eq!(f.status().refused, 0);
}

/// What a federate owns is out of its scope (6.1).
#[test]
fn a_new_owner_does_not_hear_the_former_owner_s_values() {
    let mut f = federation(&["a", "b"]);
    let (class, xz) = (f.class("A.B"), f.attributes(&["x", "z"]));
    let instance = f.call("a", |f| {
        f.publish_object_class_attributes(class, &xz).unwrap();
        let instance = f.register_object_instance(class, None).unwrap();
        f.change_attribute_order_type(instance, &xz, Order::TimeStamp)
            .unwrap();
        instance
    });
    f.call("b", |f| {
        f.publish_object_class_attributes(class, &xz).unwrap();
        f.subscribe_object_class_attributes(class, &xz, true, "")
            .unwrap();
    });
    assert_eq!(f.told("b"), "discover");
    f.constrain("b");
    f.regulate("a", 1.0);
    let mut update = |tag: &str, attributes: &[AttributeHandle], time: Option<f64>| {
        let values: Vec<_> = attributes.iter().map(|a| (*a, &b"1"[..])).collect();
        f.call("a", |f| match time {
            None => f.update_attribute_values(instance, &values, tag.as_bytes()),
            Some(time) => f
                .update_attribute_values_at(instance, &values, tag.as_bytes(), at(time))
                .map(|_| ()),
        })
        .unwrap();
    };
    update("in receive order", &xz[..1], None);
    update("of one that stays", &xz, None);
    update("in time-stamp order", &xz[..1], Some(5.0));
    f.call("b", |f| {
        f.attribute_ownership_acquisition(instance, &xz[..1], b"")
    })
    .unwrap();
    f.run();
    f.call("a", |f| {
        f.unconditional_attribute_ownership_divestiture(instance, &xz[..1], b"")
    })
    .unwrap();
    assert_eq!(f.told("b"), "attributeOwnershipAcquisitionNotification");
    f.tar("a", 20.0);
    f.tar("b", 10.0);
    let told = f.callbacks("b");
    let [Callback::ReflectAttributeValues { values, .. }, _] = &told[..] else {
        panic!("{told:?}")
    };
    let reflected: Vec<_> = values.iter().map(|(a, _)| a).collect();
    assert_eq!(
        (values.tag(), reflected),
        (&b"of one that stays"[..], vec![xz[1]])
    );
    assert_eq!(short(&told[1]), "grant 10");
    assert_eq!(f.member("b").counters().unsubscribed, 2);
}

/// What goes to nobody stays at its sender, which must not keep any number of it.
#[test]
fn what_may_be_retracted_is_bounded_at_its_sender() {
    const MOST: u64 = 1 << 20;
    let mut f = federation(&["a"]);
    f.regulate("a", 1.0);
    let class = f.interaction("I");
    f.call("a", |f| f.unsubscribe_interaction_class(class))
        .unwrap();
    f.run();
    let retracted = f.call("a", |a| {
        let mut last = MessageRetractionHandle::default();
        for _ in 0..MOST {
            last = a.send_interaction_at(class, &[], b"", at(9.0)).unwrap();
        }
        let beyond = a.send_interaction_at(class, &[], b"", at(9.0)).unwrap();
        let refused = a.retract(beyond).map_err(|e| e.kind);
        (refused, a.retract(last).is_ok())
    });
    let no_longer = Err(ExceptionKind::MessageCanNoLongerBeRetracted);
    assert_eq!(retracted, (no_longer, true));
    // Each that is done with makes room.
    let handle = f.send("a", "again", 9.0);
    f.call("a", |f| f.retract(handle)).unwrap();
}
