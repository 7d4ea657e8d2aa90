//! Object management, 1516.1-2010 chapter 6.

use crate::common::Federation;
use starling_core::message::{
    DataBody, FromExecutive, ModuleSource, Payload, PeerInfo, ResignAction, ToExecutive, object,
};
use starling_core::{
    Callback, ExceptionKind, Executive, NAME_BYTES_MAX, ObjectClassHandle, ParameterHandle, PeerId,
    Transportation, ValuesBuf,
};

#[test]
fn requests_for_values_that_wait_together_are_one_callback() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, list) = (f.class("A"), f.attributes(&["x", "y"]));
    let (x, y) = (list[0], list[1]);
    f.call("A", |f| f.publish_object_class_attributes(class, &list))
        .unwrap();
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &list, true, "")
    })
    .unwrap();
    let instance = f
        .call("A", |f| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("B");
    for (attributes, tag) in [(&[x][..], "1"), (&[x, y], "1"), (&[y], "2")] {
        f.call("B", |f| {
            f.request_instance_attribute_value_update(instance, attributes, tag.as_bytes())
        })
        .unwrap();
    }
    let provide = |attributes: &[_], tag: &str| Callback::ProvideAttributeValueUpdate {
        instance,
        attributes: attributes.to_vec(),
        tag: tag.as_bytes().to_vec(),
    };
    assert_eq!(
        f.callbacks("A"),
        [provide(&[x, y], "1"), provide(&[y], "2")]
    );
    // What comes after the delivery is asked again.
    f.call("B", |f| {
        f.request_class_attribute_value_update(class, &[x], b"1")
    })
    .unwrap();
    assert_eq!(f.callbacks("A"), [provide(&[x], "1")]);
}

#[test]
fn names_have_so_many_bytes_at_most() {
    let mut f = Federation::new("");
    f.join("A");
    let longest = "n".repeat(NAME_BYTES_MAX);
    f.call("A", |f| f.reserve_object_instance_name(&longest))
        .unwrap();
    let told = f.callbacks("A");
    assert!(
        matches!(
            &told[..],
            [Callback::NamesReserved {
                succeeded: true,
                ..
            }]
        ),
        "{told:?}"
    );
    let longer = longest + "n";
    let refused = f.call("A", |f| f.reserve_object_instance_name(&longer));
    assert_eq!(refused.unwrap_err().kind, ExceptionKind::IllegalName);
}

#[test]
fn what_is_deleted_locally_is_discovered_again_with_its_next_update() {
    for (mut f, link) in [(Federation::new(""), false), (Federation::direct(""), true)] {
        let a = f.join("A");
        f.join("B");
        let (class, x) = (f.class("A"), f.attributes(&["x"]));
        f.call("A", |f| f.publish_object_class_attributes(class, &x))
            .unwrap();
        f.call("B", |f| {
            f.subscribe_object_class_attributes(class, &x, true, "")
        })
        .unwrap();
        f.run();
        let instance = f
            .call("A", |f| f.register_object_instance(class, None))
            .unwrap();
        f.callbacks("B");
        // What is discovered again can be deleted again.
        for round in [["1", "2"], ["3", "4"]] {
            f.call("B", |f| f.local_delete_object_instance(instance))
                .unwrap();
            f.quiet();
            for value in round {
                let values = [(x[0], value.as_bytes())];
                f.call("A", |f| f.update_attribute_values(instance, &values, b""))
                    .unwrap();
            }
            if link {
                assert_eq!(f.arrive(a, "B"), 2);
            }
            let told = f.callbacks("B").into_iter().map(|callback| match callback {
                Callback::DiscoverObjectInstance { .. } => "discovered".to_owned(),
                Callback::ReflectAttributeValues { values, .. } => {
                    let bytes = values.iter().flat_map(|(_, value)| value);
                    bytes.map(|byte| char::from(*byte)).collect()
                }
                other => panic!("{other:?}"),
            });
            let told: Vec<_> = told.collect();
            assert_eq!(told, ["discovered", round[0], round[1]], "link: {link}");
        }
    }
}

#[test]
fn nothing_is_delivered_after_the_first_callback_that_a_resignation_drops() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    f.call("A", |f| f.publish_object_class_attributes(class, &x))
        .unwrap();
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &x, true, "")
    })
    .unwrap();
    let instance = f
        .call("A", |f| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("B");
    let update = |f: &mut Federation, value: &[u8]| {
        f.call("A", |f| {
            f.update_attribute_values(instance, &[(x[0], value)], b"")
        })
        .unwrap();
    };
    update(&mut f, b"dropped");
    assert!(f.federate("B").has_callbacks());
    // The request is on its way when the next update comes.
    f.federate("B")
        .resign_federation_execution(ResignAction::NoAction)
        .unwrap();
    update(&mut f, b"later");
    assert!(!f.federate("B").has_callbacks());
    assert_eq!(f.federate("B").next_callback(), None);
    f.run();
    assert!(!f.is_joined("B"));
}

#[test]
fn what_does_not_fit_into_a_message_is_refused_before_anything_is_sent() {
    const MOST: usize = 1000;
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, list) = (f.class("A"), f.attributes(&["x", "y"]));
    f.call("A", |f| f.publish_object_class_attributes(class, &list))
        .unwrap();
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &list, true, "")
    })
    .unwrap();
    let instance = f
        .call("A", |f| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("B");
    f.federate("A").set_frame_bytes_max(MOST);
    let large = [7; MOST];
    // Of a reliable and a best-effort attribute either may be too large, or the tag.
    for (first, second, tag) in [(MOST, 1, 0), (1, MOST, 0), (1, 1, MOST)] {
        let values = [(list[0], &large[..first]), (list[1], &large[..second])];
        let refused = f.call("A", |f| {
            f.update_attribute_values(instance, &values, &large[..tag])
        });
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind, ExceptionKind::RTIinternalError);
        let text = refused.message;
        assert!(text.contains("limits.frame_bytes") && text.contains("1000 bytes"));
        f.quiet();
    }
    f.call("A", |f| {
        let values = [(list[0], &large[..MOST / 2])];
        f.update_attribute_values(instance, &values, b"")
    })
    .unwrap();
    assert_eq!(f.callbacks("B").len(), 1);
}

#[test]
fn an_update_by_a_federate_that_is_not_the_owner_is_dropped_and_counted() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    f.join("C");
    let (class, list) = (f.class("A"), f.attributes(&["x", "y"]));
    for (name, published) in [("A", &list[..1]), ("B", &list[..])] {
        f.call(name, |f| {
            f.publish_object_class_attributes(class, published)
        })
        .unwrap();
    }
    f.call("C", |f| {
        f.subscribe_object_class_attributes(class, &list, true, "")
    })
    .unwrap();
    // A owns x and nobody y.
    let instance = f
        .call("A", |f| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("C");
    let x = f.member("A").model().object_class(class).unwrap();
    let (x, y) = (x.slot(list[0]).unwrap(), x.slot(list[1]).unwrap());
    let mut forged = |name: &str, slots: &[u32]| {
        let mut values = ValuesBuf::default();
        for slot in slots {
            values.push(*slot, b"1");
        }
        let update = DataBody::Update {
            instance,
            payload: Payload {
                transportation: Transportation::Reliable,
                values: values.values(),
                tag: b"",
                address: None,
                stamp: None,
            },
        };
        (f.forge(name, update).len(), f.status().refused)
    };
    assert_eq!(forged("A", &[x]), (1, 0));
    assert_eq!(forged("B", &[x]), (0, 1));
    assert_eq!(forged("A", &[x, y]), (0, 2));
    assert_eq!(forged("A", &[1000]), (0, 3));
}

/// An instance that was registered without a name is found by the one that it got, by who knows it and by no other spelling.
#[test]
fn default_names_are_looked_up() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, list) = (f.class("A"), f.attributes(&["x"]));
    f.call("A", |f| f.publish_object_class_attributes(class, &list))
        .unwrap();
    let instance = f
        .call("A", |f| f.register_object_instance(class, None))
        .unwrap();
    let name = f.call("A", |f| f.object_instance_name(instance)).unwrap();
    let of = |f: &mut Federation, by: &str, name: &str| {
        let found = f.call(by, |f| f.object_instance_handle(name));
        found.map_err(|e| e.kind)
    };
    let unknown = Err(ExceptionKind::ObjectInstanceNotKnown);
    assert_eq!(of(&mut f, "A", &name), Ok(instance));
    assert_eq!(of(&mut f, "B", &name), unknown, "not subscribed");
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &list, true, "")
    })
    .unwrap();
    assert_eq!(of(&mut f, "B", &name), unknown, "not discovered yet");
    f.callbacks("B");
    assert_eq!(of(&mut f, "B", &name), Ok(instance));
    let (start, number) = name.rsplit_once('-').unwrap();
    for other in [
        format!("{start}-0{number}"),
        format!("{start}-+{number}"),
        format!("{start}-4294967295"),
        format!("{start}-4294967296"),
        format!("{name}-1"),
        start.to_owned(),
    ] {
        assert_eq!(of(&mut f, "A", &other), unknown, "{other}");
    }
    f.call("A", |f| f.delete_object_instance(instance, b""))
        .unwrap();
    assert_eq!(of(&mut f, "A", &name), unknown, "deleted");
    assert_eq!(of(&mut f, "B", &name), Ok(instance), "not removed yet");
    f.callbacks("B");
    assert_eq!(of(&mut f, "B", &name), unknown, "removed");
}

/// Default names stay unique whatever a federate asks for.
#[test]
fn nobody_reserves_names_of_the_rti() {
    for name in ["HLAinstance-2-1", "HLA", ""] {
        let mut f = Federation::new("");
        f.join("A");
        let names = vec![name.to_owned()];
        let multiple = false;
        let refused = f.forge_request("A", &[], object::Request::ReserveNames { names, multiple });
        let why = refused.unwrap_err();
        assert!(why.contains("HLA") || why.contains("empty"), "{why}");
    }
}

/// Its owner deletes an instance while others do something with it: they had not heard of it.
#[test]
fn what_comes_behind_the_deletion_of_its_instance_is_counted() {
    let mut f = Federation::new("");
    for name in ["A", "B", "C"] {
        f.join(name);
    }
    let (class, list) = (f.class("A"), f.attributes(&["x", "y"]));
    for name in ["A", "B", "C"] {
        let published = &list[usize::from(name == "B")..];
        f.call(name, |f| {
            f.publish_object_class_attributes(class, published)?;
            f.subscribe_object_class_attributes(class, &list, true, "")
        })
        .unwrap();
    }
    let instance = f
        .call("A", |f| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("B");
    f.call("A", |f| {
        f.unconditional_attribute_ownership_divestiture(instance, &list[1..], b"")
    })
    .unwrap();
    f.callbacks("B");
    f.call("B", |f| {
        f.attribute_ownership_acquisition_if_available(instance, &list[1..], b"")
    })
    .unwrap();
    f.callbacks("B");
    f.callbacks("C");
    f.call("A", |f| f.delete_object_instance(instance, b""))
        .unwrap();
    f.call("B", |f| {
        f.update_attribute_values(instance, &[(list[1], b"1")], b"")
    })
    .unwrap();
    let status = f.status();
    assert_eq!((status.instances, status.behind_deletion), (0, 1));
    let told = f.callbacks("C");
    let [Callback::RemoveObjectInstance { .. }] = told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(f.status().refused, 0);
}

#[test]
fn a_refusal_names_ten_federation_executions_at_most() {
    let mut executive = Executive::new();
    executive.connected(PeerId(1), PeerInfo::default());
    let mut refused = |federations: usize| {
        while executive.federations() < federations {
            let create = ToExecutive::CreateFederation {
                federation: format!("F{:02}", executive.federations()),
                modules: vec![ModuleSource {
                    designator: "test.xml".into(),
                    text: crate::common::fom("").into_bytes().into(),
                }],
                mim: None,
                time_implementation: String::new(),
            };
            executive.receive(PeerId(1), create).unwrap();
            let created = executive.poll_output();
            assert!(matches!(created, Some((_, FromExecutive::Done(Ok(()))))));
        }
        let federation = "G".into();
        let destroy = ToExecutive::DestroyFederation { federation };
        executive.receive(PeerId(1), destroy).unwrap();
        match executive.poll_output() {
            Some((_, FromExecutive::Done(Err(why)))) => why.to_string(),
            other => panic!("{other:?}"),
        }
    };
    assert!(refused(0).ends_with("(there is none)"));
    assert!(refused(2).ends_with("(there are 'F00', 'F01')"));
    assert!(refused(10).ends_with("'F08', 'F09')"));
    assert!(refused(30).ends_with("'F08', 'F09' and 20 more)"));
}

#[test]
fn refusals_say_which_parameter_was_meant_and_that_a_handle_was_never_set() {
    let mut f = Federation::new("");
    f.join("A");
    let (i, j) = (f.interaction("I"), f.interaction("I.J"));
    f.call("A", |f| {
        f.publish_interaction_class(i).unwrap();
        let q = f.parameter_handle(j, "q").unwrap();
        for (parameter, says) in [
            (q, "'q' (parameter handle "),
            (
                ParameterHandle::from_raw(0),
                "the parameter handle is 0: none was set",
            ),
            (
                ParameterHandle::from_raw(9_999),
                "parameter handle 9999 is not in the FDD",
            ),
        ] {
            let sent = f.send_interaction(i, &[(parameter, b"")], b"");
            let refused = sent.unwrap_err();
            assert_eq!(refused.kind, ExceptionKind::InteractionParameterNotDefined);
            assert!(refused.message.contains(says), "{refused}");
        }
        let refused = f
            .object_class_name(ObjectClassHandle::from_raw(0))
            .unwrap_err();
        assert!(refused.message.contains("none was set"), "{refused}");
    });
}
