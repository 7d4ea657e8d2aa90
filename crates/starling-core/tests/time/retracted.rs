//! What becomes of ownership, subscriptions and regions when a deletion at a time is retracted, or while it waits.

use super::*;

/// As `known_instance`, and c, which is not constrained, owns x.
pub(super) fn owned_by_another() -> (Federation, ObjectInstanceHandle, AttributeHandle) {
    let (mut f, instance, xy) = known_instance();
    let (class, x) = (f.class("A"), vec![xy[0]]);
    f.call("c", |f| f.publish_object_class_attributes(class, &x))
        .unwrap();
    f.call("a", |f| {
        f.unconditional_attribute_ownership_divestiture(instance, &x, b"")
    })
    .unwrap();
    f.run();
    f.call("c", |f| {
        f.attribute_ownership_acquisition_if_available(instance, &x, b"")
    })
    .unwrap();
    f.callbacks("c");
    assert!(owns(&mut f, "c", instance, x[0]).unwrap());
    (f, instance, x[0])
}

pub(super) fn owns(
    f: &mut Federation,
    name: &str,
    instance: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> Result<bool, ExceptionKind> {
    let owns = f.call(name, |f| {
        f.is_attribute_owned_by_federate(instance, attribute)
    });
    owns.map_err(|e| e.kind)
}

pub(super) fn delete(
    f: &mut Federation,
    instance: ObjectInstanceHandle,
) -> MessageRetractionHandle {
    let delete = f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(9.0))
    });
    delete.unwrap()
}

/// §7.4: for who has not come to its time the instance is there, and may be its own if the deletion is retracted.
#[test]
fn what_is_being_deleted_is_offered_until_it_is_gone() {
    let (mut f, instance, x) = owned_by_another();
    let class = f.class("A");
    f.call("b", |f| f.publish_object_class_attributes(class, &[x]))
        .unwrap();
    let handle = delete(&mut f, instance);
    f.run();
    f.call("c", |f| {
        f.unconditional_attribute_ownership_divestiture(instance, &[x], b"")
    })
    .unwrap();
    let asked = f.callbacks("b");
    assert!(
        matches!(
            &asked[..],
            [Callback::RequestAttributeOwnershipAssumption { .. }]
        ),
        "{asked:?}"
    );
    f.call("b", |f| {
        f.attribute_ownership_acquisition_if_available(instance, &[x], b"")
    })
    .unwrap();
    f.callbacks("b");
    assert!(owns(&mut f, "b", instance, x).unwrap());
    f.call("a", |f| f.retract(handle)).unwrap();
    f.run();
    assert!(owns(&mut f, "b", instance, x).unwrap());
}

#[test]
fn who_was_told_of_a_deletion_owns_again_what_it_did_when_that_is_retracted() {
    let (mut f, instance, x) = owned_by_another();
    let handle = delete(&mut f, instance);
    assert_eq!(f.told("c"), "remove d@9TR");
    let unknown = Err(ExceptionKind::ObjectInstanceNotKnown);
    assert_eq!(owns(&mut f, "c", instance, x), unknown);
    f.call("a", |f| f.retract(handle)).unwrap();
    let again = format!("retract {}, discover", handle.number());
    assert_eq!(f.told("c"), again);
    assert!(owns(&mut f, "c", instance, x).unwrap());
    f.call("c", |f| {
        f.update_attribute_values(instance, &[(x, b"1")], b"still")
    })
    .unwrap();
    f.call("b", |f| f.enable_asynchronous_delivery()).unwrap();
    assert_eq!(f.told("b"), "still");
    assert_eq!(f.status().refused, 0);
    // Not delivered when it is retracted.
    let handle = delete(&mut f, instance);
    f.run();
    f.call("a", |f| f.retract(handle)).unwrap();
    f.run();
    assert_eq!(f.told("c"), "");
    assert!(owns(&mut f, "c", instance, x).unwrap());
    // For good: what it was is forgotten, and is no other instance's.
    delete(&mut f, instance);
    assert_eq!(f.told("c"), "remove d@9TR");
    f.tar("b", 9.0);
    f.tar("a", 20.0);
    assert_eq!(f.told("b"), "remove d@9TT, grant 9");
    assert_eq!((f.told("c").as_str(), f.status().instances), ("", 0));
    assert_eq!(owns(&mut f, "c", instance, x), unknown);
}

#[test]
fn who_does_not_discover_again_what_was_deleted_owns_nothing_of_it() {
    let (mut f, instance, x) = owned_by_another();
    let class = f.class("A");
    f.call("c", |f| f.unsubscribe_object_class(class)).unwrap();
    let handle = delete(&mut f, instance);
    assert_eq!(f.told("c"), "remove d@9TR");
    f.call("a", |f| f.retract(handle)).unwrap();
    assert_eq!(f.told("c"), format!("retract {}", handle.number()));
    // It is there for others.
    f.call("a", |f| {
        f.attribute_ownership_acquisition_if_available(instance, &[x], b"")
    })
    .unwrap();
    f.callbacks("a");
    assert!(owns(&mut f, "a", instance, x).unwrap());
    // If it discovers the instance later, it is not what it was.
    f.call("c", |f| {
        f.subscribe_object_class_attributes(class, &[x], true, "")
    })
    .unwrap();
    assert_eq!(f.told("c"), "discover");
    assert!(!owns(&mut f, "c", instance, x).unwrap());
}

/// Whether the removal had been delivered by then only it knows.
#[test]
fn who_ends_its_subscription_between_a_deletion_and_its_retraction_knows_what_was_not_removed() {
    for delivered in [false, true] {
        let (mut f, instance, xy) = known_instance();
        let class = f.class("A");
        let handle = delete(&mut f, instance);
        f.run();
        if delivered {
            assert_eq!(f.told("c"), "remove d@9TR");
        }
        f.call("c", |f| f.unsubscribe_object_class(class)).unwrap();
        f.call("a", |f| f.retract(handle)).unwrap();
        let (told, known, discovered) = if delivered {
            let unknown = Err(ExceptionKind::ObjectInstanceNotKnown);
            (format!("retract {}", handle.number()), unknown, "discover")
        } else {
            (String::new(), Ok(class), "")
        };
        assert_eq!(f.told("c"), told);
        let knows = f.call("c", |f| f.known_object_class_handle(instance));
        assert_eq!(knows.map_err(|e| e.kind), known);
        f.call("c", |f| {
            f.subscribe_object_class_attributes(class, &xy, true, "")
        })
        .unwrap();
        assert_eq!(f.told("c"), discovered);
        f.call("a", |f| {
            f.update_attribute_values(instance, &[(xy[0], b"1")], b"u")
        })
        .unwrap();
        assert_eq!(f.told("c"), "u");
        delete(&mut f, instance);
        assert_eq!(f.told("c"), "remove d@9TR");
    }
}

#[test]
fn who_subscribes_at_another_class_between_a_deletion_and_its_retraction_knows_what_was_not_removed_as_before()
 {
    for delivered in [false, true] {
        let (mut f, _, xy) = known_instance();
        let (class, below) = (f.class("A"), f.class("A.B"));
        let z = f.attributes(&["z"]);
        let root = f.class("HLAobjectRoot");
        f.call("a", |f| {
            f.publish_object_class_attributes(below, &[z[0], xy[0]])
        })
        .unwrap();
        f.call("c", |f| f.unsubscribe_object_class(class)).unwrap();
        f.call("c", |f| {
            f.subscribe_object_class_attributes(below, &z, true, "")
        })
        .unwrap();
        f.run();
        // One is deleted and is not; the other was never.
        let [instance, other] = [(); 2].map(|()| {
            f.call("a", |f| f.register_object_instance(below, None))
                .unwrap()
        });
        assert_eq!(f.told("c"), "discover, discover");
        f.call("a", |f| {
            let privilege = f.attribute_handle(root, "HLAprivilegeToDeleteObject")?;
            f.change_attribute_order_type(instance, &[privilege], Order::TimeStamp)
        })
        .unwrap();
        let handle = delete(&mut f, instance);
        f.run();
        if delivered {
            assert_eq!(f.told("c"), "remove d@9TR");
        }
        f.call("c", |f| f.unsubscribe_object_class(below)).unwrap();
        f.call("c", |f| {
            f.subscribe_object_class_attributes(class, &xy[..1], true, "")
        })
        .unwrap();
        f.run();
        f.call("a", |f| f.retract(handle)).unwrap();
        let (told, knows) = if delivered {
            (format!("retract {}, discover", handle.number()), class)
        } else {
            (String::new(), below)
        };
        assert_eq!(f.told("c"), told);
        let known = f.call("c", |f| f.known_object_class_handle(instance));
        assert_eq!(known, Ok(knows));
        for updated in [instance, other] {
            f.call("a", |f| {
                f.update_attribute_values(updated, &[(xy[0], b"1"), (z[0], b"2")], b"u")
            })
            .unwrap();
        }
        // Of what is known at the class below nothing is subscribed.
        assert_eq!(f.told("c"), if delivered { "u" } else { "" });
        delete(&mut f, instance);
        assert_eq!(f.told("c"), "remove d@9TR");
    }
}

/// By the federate's own word it is not time-constrained any more; rtiexec has not heard it.
#[test]
fn who_has_just_ended_constraint_when_a_deletion_is_retracted_knows_it_or_not_as_it_was_told() {
    for delivered in [false, true] {
        let (mut f, instance, x) = owned_by_another();
        f.constrain("c");
        let handle = delete(&mut f, instance);
        f.run();
        f.call_late("c", |f| f.disable_time_constrained()).unwrap();
        if delivered {
            let told = f.call_late("c", |f| f.next_callback());
            let told = told.as_ref().map(short);
            assert_eq!(told.as_deref(), Some("remove d@9TR"));
        }
        f.call("a", |f| f.retract(handle)).unwrap();
        let told = if delivered {
            let told = "discover, requestAttributeOwnershipAssumption";
            format!("retract {}, {told}", handle.number())
        } else {
            String::new()
        };
        assert_eq!(f.told("c"), told);
        assert_eq!(owns(&mut f, "c", instance, x), Ok(!delivered));
        delete(&mut f, instance);
        assert_eq!(f.told("c"), "remove d@9TR");
    }
}

#[test]
fn a_region_of_who_was_told_of_a_deletion_may_be_deleted_whether_that_is_retracted_or_not() {
    for delivered in [true, false] {
        let (mut f, instance, x) = owned_by_another();
        let dimension = f.federate("c").dimension_handle("D").unwrap();
        let region = f.call("c", |f| f.create_region(&[dimension])).unwrap();
        f.call("c", |f| f.set_range_bounds(region, dimension, 0, 5))
            .unwrap();
        f.call("c", |f| f.commit_region_modifications(&[region]))
            .unwrap();
        let pair = || AttributeRegions {
            attributes: vec![x],
            regions: vec![region],
        };
        f.call("c", |f| {
            f.associate_regions_for_updates(instance, &[pair()])
        })
        .unwrap();
        f.run();
        let handle = delete(&mut f, instance);
        if delivered {
            assert_eq!(f.told("c"), "remove d@9TR");
            // It has not heard of the retraction.
            f.call("a", |f| f.retract(handle)).unwrap();
            f.call("c", |f| f.delete_region(region)).unwrap();
            assert_eq!(
                f.told("c"),
                format!("retract {}, discover", handle.number())
            );
        } else {
            f.run();
            f.call("a", |f| f.retract(handle)).unwrap();
            assert_eq!(f.told("c"), "");
            let in_use = f.call("c", |f| f.delete_region(region)).unwrap_err();
            assert_eq!(
                in_use.kind,
                ExceptionKind::RegionInUseForUpdateOrSubscription
            );
            f.call("c", |f| {
                f.unassociate_regions_for_updates(instance, &[pair()])
            })
            .unwrap();
            f.call("c", |f| f.delete_region(region)).unwrap();
        }
        f.run();
        assert!(f.is_joined("c") && owns(&mut f, "c", instance, x).unwrap());
    }
}

/// §9.6: between a deletion's coming to who is not constrained and its delivery, and just as it is retracted.
#[test]
fn regions_associated_while_a_removal_waits_are_gone_with_it_and_stay_if_it_is_retracted_before() {
    for (delivered, hears_late) in [(true, false), (true, true), (false, false)] {
        let (mut f, instance, x) = owned_by_another();
        f.join("d");
        let class = f.class("A");
        let dimension = f.federate("c").dimension_handle("D").unwrap();
        let with = |f: &mut Federation, name: &str, lower, upper| {
            let region = f.call(name, |f| {
                let region = f.create_region(&[dimension])?;
                f.set_range_bounds(region, dimension, lower, upper)?;
                f.commit_region_modifications(&[region])?;
                Ok::<_, starling_core::Exception>(region)
            });
            AttributeRegions {
                attributes: vec![x],
                regions: vec![region.unwrap()],
            }
        };
        let handle = delete(&mut f, instance);
        f.run();
        let pair = with(&mut f, "c", 0, 5);
        let associate = |f: &mut starling_core::Lrc<_>| {
            f.associate_regions_for_updates(instance, std::slice::from_ref(&pair))
        };
        if hears_late {
            f.call_late("c", associate).unwrap();
        } else {
            f.call("c", associate).unwrap();
        }
        if hears_late {
            // The removal is delivered and c has not heard of the retraction, which comes before what it says.
            let told = f.call_late("c", |f| f.next_callback());
            let told = told.as_ref().map(short);
            assert_eq!(told.as_deref(), Some("remove d@9TR"));
        } else if delivered {
            assert_eq!(f.told("c"), "remove d@9TR");
        }
        f.call("a", |f| f.retract(handle)).unwrap();
        let told = if delivered {
            format!("retract {}, discover", handle.number())
        } else {
            String::new()
        };
        assert_eq!(f.told("c"), told);
        assert!(owns(&mut f, "c", instance, x).unwrap());
        // Of another part of the dimension.
        let elsewhere = with(&mut f, "d", 50, 60);
        f.call("d", |f| {
            f.subscribe_object_class_attributes_with_regions(class, &[elsewhere], true, "")
        })
        .unwrap();
        assert_eq!(f.told("d"), if delivered { "discover" } else { "" });
        if !delivered {
            f.call("c", |f| {
                f.unassociate_regions_for_updates(instance, std::slice::from_ref(&pair))
            })
            .unwrap();
            assert_eq!(f.told("d"), "discover");
        }
        f.call("c", |f| {
            f.update_attribute_values(instance, &[(x, b"1")], b"u")
        })
        .unwrap();
        assert_eq!((f.told("d").as_str(), f.status().refused), ("u", 0));
    }
}

/// It discovers it with its next update, as if it had never been deleted (6.16).
#[test]
fn a_deletion_that_is_retracted_brings_nothing_to_who_has_deleted_it_locally() {
    let (mut f, instance, xy) = known_instance();
    let handle = f
        .call("a", |f| {
            f.delete_object_instance_at(instance, b"d", at(9.0))
        })
        .unwrap();
    f.call("b", |f| f.local_delete_object_instance(instance))
        .unwrap();
    f.call("a", |f| f.retract(handle)).unwrap();
    assert_eq!(f.told("b"), "");
    f.call("a", |f| {
        f.update_attribute_values_at(instance, &[(xy[0], b"1")], b"u", at(3.0))
    })
    .unwrap();
    assert_eq!(f.told("b"), "discover");
}

#[test]
fn why_nothing_comes_of_what_is_being_deleted() {
    let (mut f, instance, _) = known_instance();
    let name = f.call("a", |f| f.object_instance_name(instance)).unwrap();
    delete(&mut f, instance);
    assert_eq!(f.told("c"), "remove d@9TR");
    let why = f.why("c", &name);
    let deleted =
        format!("FAIL deleted: 'a' has deleted '{name}' at 9 (6.14): 'c' knows it no more");
    assert_eq!(why.last(), Some(&deleted));
    let why = f.why("b", &name);
    assert!(!why.iter().any(|line| line.contains("deleted")), "{why:?}");
}
