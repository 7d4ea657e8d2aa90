//! What is decided of an instance while its deletion in time-stamp order may be retracted: who does not know it for now is
//! told when it does again.

use super::retracted::{delete, owned_by_another, owns};
use super::*;
use starling_core::Archived;
use starling_core::saved::delivery::Queued;

const ACQUIRED: &str = "attributeOwnershipAcquisitionNotification";
const RELEASE: &str = "requestAttributeOwnershipRelease";
const OFFERED: &str = "requestAttributeOwnershipAssumption";

/// As `known_instance`, and b, which is constrained, owns x. c publishes x, too.
fn owned_by_who_has_not_come_to_it() -> (Federation, ObjectInstanceHandle, [AttributeHandle; 1]) {
    let (mut f, instance, xy) = known_instance();
    let (class, x) = (f.class("A"), [xy[0]]);
    for name in ["b", "c"] {
        f.call(name, |f| f.publish_object_class_attributes(class, &x))
            .unwrap();
    }
    divest(&mut f, "a", instance, &x);
    f.run();
    f.call("b", |f| {
        f.attribute_ownership_acquisition_if_available(instance, &x, b"")
    })
    .unwrap();
    for name in ["a", "b", "c"] {
        f.callbacks(name);
    }
    assert!(owns(&mut f, "b", instance, x[0]).unwrap());
    (f, instance, x)
}

fn divest(f: &mut Federation, name: &str, of: ObjectInstanceHandle, what: &[AttributeHandle]) {
    f.call(name, |f| {
        f.unconditional_attribute_ownership_divestiture(of, what, b"")
    })
    .unwrap();
}

fn acquire(f: &mut Federation, name: &str, of: ObjectInstanceHandle, what: &[AttributeHandle]) {
    f.call(name, |f| f.attribute_ownership_acquisition(of, what, b""))
        .unwrap();
}

#[test]
fn who_has_deleted_it_hears_of_its_acquisition_when_that_is_retracted() {
    let (mut f, instance, x) = owned_by_who_has_not_come_to_it();
    acquire(&mut f, "a", instance, &x);
    assert_eq!(f.told("b"), RELEASE);
    let handle = delete(&mut f, instance);
    divest(&mut f, "b", instance, &x);
    assert_eq!(f.told("a"), "");
    let part = f.member("a").save();
    let waiting = part.delivery.queue.iter();
    let waiting = waiting.filter(|queued| matches!(queued, Queued::Ownership { .. }));
    assert_eq!(waiting.count(), 1, "a save has it");
    f.call("a", |f| f.retract(handle)).unwrap();
    assert_eq!(f.told("a"), ACQUIRED);
    assert!(owns(&mut f, "a", instance, x[0]).unwrap());
    f.call("a", |f| {
        f.update_attribute_values(instance, &[(x[0], b"1")], b"u")
    })
    .unwrap();
    assert_eq!((f.told("c").as_str(), f.status().refused), ("u", 0));
}

#[test]
fn an_acquisition_that_comes_to_nothing_while_its_federate_has_deleted_the_instance_ends() {
    let (mut f, instance, x) = owned_by_who_has_not_come_to_it();
    acquire(&mut f, "a", instance, &x);
    assert_eq!(f.told("b"), RELEASE);
    let handle = delete(&mut f, instance);
    f.call("b", |f| {
        f.attribute_ownership_release_denied(instance, &x, b"")
    })
    .unwrap();
    assert_eq!(f.told("a"), "");
    f.call("a", |f| f.retract(handle)).unwrap();
    assert_eq!(f.told("a"), "attributeOwnershipUnavailable");
    let again = f.call("a", |f| {
        f.attribute_ownership_acquisition_if_available(instance, &x, b"")
    });
    assert_eq!(again, Ok(()));
}

#[test]
fn what_others_want_of_it_its_owner_hears_when_its_deletion_is_retracted() {
    for divests in [false, true] {
        let (mut f, instance, xy) = known_instance();
        let (class, y) = (f.class("A"), [xy[1]]);
        f.call("b", |f| f.publish_object_class_attributes(class, &y))
            .unwrap();
        if divests {
            f.call("a", |f| {
                f.negotiated_attribute_ownership_divestiture(instance, &y, b"")
            })
            .unwrap();
            assert_eq!(f.told("b"), OFFERED);
        }
        let handle = delete(&mut f, instance);
        acquire(&mut f, "b", instance, &y);
        assert_eq!(f.told("a"), "");
        f.call("a", |f| f.retract(handle)).unwrap();
        let asked = [
            "requestAttributeOwnershipRelease",
            "requestDivestitureConfirmation",
        ];
        assert_eq!(f.told("a"), asked[usize::from(divests)]);
        if divests {
            f.call("a", |f| f.confirm_divestiture(instance, &y, b""))
                .unwrap();
        } else {
            divest(&mut f, "a", instance, &y);
        }
        assert_eq!(f.told("b"), ACQUIRED);
    }
}

#[test]
fn nobody_hears_of_what_stays_deleted() {
    let (mut f, instance, xy) = known_instance();
    let class = f.class("A");
    f.call("b", |f| f.publish_object_class_attributes(class, &xy))
        .unwrap();
    delete(&mut f, instance);
    acquire(&mut f, "b", instance, &xy);
    assert_eq!(f.told("a"), "");
    f.tar("b", 9.0);
    f.tar("a", 20.0);
    assert_eq!(f.told("b"), "remove d@9TT, grant 9");
    assert_eq!(f.told("a"), "grant 20");
    let part = f.member("a").save();
    assert_eq!((f.status().instances, part.delivery.queue), (0, vec![]));
}

#[test]
fn who_was_told_of_the_removal_hears_of_its_acquisition_behind_the_next_discovery() {
    for hears_late in [false, true] {
        let (mut f, instance, x) = owned_by_who_has_not_come_to_it();
        acquire(&mut f, "c", instance, &x);
        assert_eq!(f.told("b"), RELEASE);
        let handle = delete(&mut f, instance);
        assert_eq!(f.told("c"), "remove d@9TR");
        divest(&mut f, "b", instance, &x);
        if !hears_late {
            assert_eq!(f.told("c"), "");
        }
        f.call("a", |f| f.retract(handle)).unwrap();
        let told = format!("retract {}, discover, {ACQUIRED}", handle.number());
        assert_eq!(f.told("c"), told);
        assert!(owns(&mut f, "c", instance, x[0]).unwrap());
    }
}

#[test]
fn what_those_want_who_were_told_of_the_removal_is_forgotten_if_that_is_for_good() {
    let (mut f, instance, x) = owned_by_who_has_not_come_to_it();
    acquire(&mut f, "c", instance, &x);
    f.callbacks("b");
    delete(&mut f, instance);
    assert_eq!(f.told("c"), "remove d@9TR");
    assert_eq!(f.member("c").save().ownership.transfers.len(), 1);
    f.tar("b", 9.0);
    f.tar("a", 20.0);
    assert_eq!((f.told("c").as_str(), f.status().instances), ("", 0));
    let part = f.member("c").save();
    assert_eq!(part.ownership.transfers.len(), 0);
    assert_eq!(part.time.deleted, Default::default());
}

#[test]
fn what_is_asked_for_while_a_removal_waits_that_is_retracted_goes_on() {
    let (mut f, instance, x) = owned_by_who_has_not_come_to_it();
    let handle = delete(&mut f, instance);
    f.run();
    acquire(&mut f, "c", instance, &x);
    f.run();
    f.call("a", |f| f.retract(handle)).unwrap();
    assert_eq!(f.told("c"), "");
    assert_eq!(f.told("b"), RELEASE);
    divest(&mut f, "b", instance, &x);
    assert_eq!(f.told("c"), ACQUIRED);
}

/// §5.3, whether the removal has been delivered or not.
#[test]
fn who_publishes_it_no_more_owns_nothing_of_it_when_the_deletion_is_retracted() {
    for delivered in [false, true] {
        let (mut f, instance, x) = owned_by_another();
        let class = f.class("A");
        let handle = delete(&mut f, instance);
        f.run();
        if delivered {
            assert_eq!(f.told("c"), "remove d@9TR");
        }
        f.call("c", |f| f.unpublish_object_class(class)).unwrap();
        f.call("a", |f| f.retract(handle)).unwrap();
        f.callbacks("c");
        assert_eq!(owns(&mut f, "c", instance, x), Ok(false));
        // It is there for others (7.4).
        assert_eq!(f.told("a"), OFFERED);
        f.call("a", |f| {
            f.attribute_ownership_acquisition_if_available(instance, &[x], b"")
        })
        .unwrap();
        assert_eq!(f.told("a"), ACQUIRED);
    }
}

/// §5.3, of what a federate has deleted itself; an acquisition that it has asked for ends with it.
#[test]
fn who_publishes_no_more_what_it_deletes_owns_nothing_of_it_when_the_deletion_is_retracted() {
    let (mut f, instance, x) = owned_by_who_has_not_come_to_it();
    let (class, y) = (f.class("A"), [f.attributes(&["y"])[0]]);
    f.call("c", |f| f.publish_object_class_attributes(class, &y))
        .unwrap();
    acquire(&mut f, "a", instance, &x);
    assert_eq!(f.told("b"), RELEASE);
    let handle = delete(&mut f, instance);
    f.call("a", |f| f.unpublish_object_class(class)).unwrap();
    divest(&mut f, "b", instance, &x);
    f.call("a", |f| f.retract(handle)).unwrap();
    assert_eq!(f.told("a"), "");
    for attribute in [x[0], y[0]] {
        assert_eq!(owns(&mut f, "a", instance, attribute), Ok(false));
    }
    // It is there for others (7.4).
    assert_eq!(f.told("c"), OFFERED);
    f.call("c", |f| {
        f.attribute_ownership_acquisition_if_available(instance, &y, b"")
    })
    .unwrap();
    assert_eq!(f.told("c"), ACQUIRED);
    f.resign("a", ResignAction::NoAction);
    assert_eq!(f.status().refused, 0);
}

#[test]
fn who_has_left_wants_nothing_of_it_any_more() {
    for lost in [false, true] {
        let (mut f, instance, x) = owned_by_who_has_not_come_to_it();
        acquire(&mut f, "c", instance, &x);
        f.callbacks("b");
        let handle = delete(&mut f, instance);
        assert_eq!(f.told("c"), "remove d@9TR");
        if lost {
            f.lose("c");
        } else {
            f.resign("c", ResignAction::NoAction);
        }
        divest(&mut f, "b", instance, &x);
        f.run();
        f.call("a", |f| f.retract(handle)).unwrap();
        assert_eq!(f.told("a"), OFFERED);
        f.call("a", |f| {
            f.attribute_ownership_acquisition_if_available(instance, &x, b"")
        })
        .unwrap();
        assert_eq!(f.told("a"), ACQUIRED);
    }
}

#[test]
fn a_change_of_transportation_is_confirmed_when_the_deletion_is_retracted() {
    let (mut f, instance, xy) = known_instance();
    let change = |f: &mut Federation, how| {
        f.call("a", |f| {
            f.request_attribute_transportation_type_change(instance, &xy[..1], how)
        })
        .unwrap();
    };
    change(&mut f, Transportation::BestEffort);
    let handle = delete(&mut f, instance);
    assert_eq!(f.told("a"), "");
    f.call("a", |f| f.retract(handle)).unwrap();
    assert_eq!(f.told("a"), "confirmAttributeTransportationTypeChange");
    change(&mut f, Transportation::Reliable);
    assert_eq!(f.told("a"), "confirmAttributeTransportationTypeChange");
}

/// What others want of what a federate has deleted must not make it keep any number of bytes.
#[test]
fn what_is_said_of_what_is_deleted_is_bounded() {
    let (mut f, instance, xy) = known_instance();
    let (class, y) = (f.class("A"), [xy[1]]);
    f.call("b", |f| f.publish_object_class_attributes(class, &y))
        .unwrap();
    f.call("a", |f| f.set_withheld_bytes_max(10_000));
    delete(&mut f, instance);
    for n in 0..20 {
        let tag = vec![n; 1_000];
        f.call("b", |f| {
            f.attribute_ownership_acquisition(instance, &y, &tag)
        })
        .unwrap();
        assert_eq!(f.told("a"), "");
        let withheld = f.member("a").withheld_bytes();
        assert!(
            (1_000..1_200).contains(&withheld),
            "{withheld}: the last one only"
        );
        f.call("b", |f| {
            f.cancel_attribute_ownership_acquisition(instance, &y)
        })
        .unwrap();
        f.callbacks("b");
    }
    f.tar("a", 20.0);
    assert_eq!(f.told("a"), "grant 20");
    assert_eq!(f.member("a").withheld_bytes(), 0);
}

#[test]
fn what_is_saved_when_one_who_wanted_it_has_left_can_be_restored() {
    let (mut f, instance, x) = owned_by_who_has_not_come_to_it();
    acquire(&mut f, "c", instance, &x);
    f.callbacks("b");
    delete(&mut f, instance);
    assert_eq!(f.told("c"), "remove d@9TR");
    f.resign("c", ResignAction::NoAction);
    divest(&mut f, "b", instance, &x);
    f.call("a", |f| f.request_federation_save("S", None))
        .unwrap();
    for name in ["a", "b"] {
        assert!(f.told(name).ends_with("initiateFederateSave"));
        f.call(name, |f| f.federate_save_begun()).unwrap();
        f.call(name, |f| f.federate_save_complete()).unwrap();
    }
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, Archived::Written);
    let saved = task.write.expect("it was to be written");
    for name in ["a", "b"] {
        assert_eq!(f.told(name), "federationSaved");
    }
    f.call("a", |f| f.request_federation_restore("S")).unwrap();
    f.run();
    let task = f.archives().remove(0);
    f.archived(&task, Archived::Read(saved));
    let told = f.told("a");
    assert!(
        told.starts_with("requestFederationRestoreSucceeded"),
        "{told}: {:?}",
        f.notes()
    );
}

/// b and c are constrained, and a has left with a deletion at 9 under way. b owns the privilege to delete.
fn left_with_a_deletion_under_way() -> (Federation, ObjectInstanceHandle) {
    let (mut f, instance, _) = known_instance();
    let (class, root) = (f.class("A"), f.class("HLAobjectRoot"));
    f.constrain("c");
    let privilege = f.call("b", |f| {
        f.attribute_handle(root, "HLAprivilegeToDeleteObject")
    });
    let privilege = [privilege.unwrap()];
    f.call("b", |f| {
        f.publish_object_class_attributes(class, &privilege)
    })
    .unwrap();
    delete(&mut f, instance);
    f.resign("a", ResignAction::UnconditionallyDivestAttributes);
    f.callbacks("b");
    f.call("b", |f| {
        f.attribute_ownership_acquisition_if_available(instance, &privilege, b"")
    })
    .unwrap();
    assert_eq!(f.told("b"), ACQUIRED);
    f.call("b", |f| {
        f.change_attribute_order_type(instance, &privilege, Order::TimeStamp)
    })
    .unwrap();
    f.regulate("b", 1.0);
    (f, instance)
}

/// Nor if its federate has passed over the other's, as it wants nothing of it (§8.10).
#[test]
fn what_another_s_deletion_has_passed_does_not_come_back_by_a_retraction() {
    let (mut f, instance) = left_with_a_deletion_under_way();
    let message = f.call("b", |f| {
        f.delete_object_instance_at(instance, b"b's", at(18.0))
    });
    f.nmr("b", 15.0);
    assert_eq!(f.told("b"), "grant 15");
    f.call("b", |f| f.retract(message.unwrap())).unwrap();
    let known = f.call("b", |f| f.object_instance_name(instance));
    assert_eq!(
        known.map_err(|e| e.kind),
        Err(ExceptionKind::ObjectInstanceNotKnown)
    );
    f.tar("c", 9.0);
    assert_eq!(f.told("c"), "remove d@9TT, grant 9");
    assert_eq!((f.status().instances, f.status().behind_deletion), (0, 1));
    f.quiet();
}

#[test]
fn what_is_gone_by_another_s_deletion_does_not_come_back_by_a_retraction() {
    let (mut f, instance) = left_with_a_deletion_under_way();
    let message = f.call("b", |f| {
        f.delete_object_instance_at(instance, b"b's", at(18.0))
    });
    f.tar("b", 9.0);
    f.tar("c", 9.0);
    assert_eq!(f.told("b"), "grant 9");
    assert_eq!(f.told("c"), "remove d@9TT, grant 9");
    assert_eq!((f.status().instances, f.status().behind_deletion), (0, 1));
    f.call("b", |f| f.retract(message.unwrap())).unwrap();
    let known = f.call("b", |f| f.object_instance_name(instance));
    assert_eq!(
        known.map_err(|e| e.kind),
        Err(ExceptionKind::ObjectInstanceNotKnown)
    );
    f.quiet();
}

#[test]
fn who_owns_the_privilege_deletes_at_once_what_goes_later() {
    let (mut f, instance) = left_with_a_deletion_under_way();
    f.call("c", |f| f.enable_asynchronous_delivery()).unwrap();
    f.call("b", |f| f.delete_object_instance(instance, b"b's"))
        .unwrap();
    assert_eq!(f.told("c"), "remove b's");
    assert_eq!((f.status().instances, f.status().refused), (0, 0));
    f.tar("b", 20.0);
    f.tar("c", 9.0);
    assert_eq!(
        (f.told("b"), f.told("c")),
        ("grant 20".into(), "grant 9".into())
    );
}

/// It is gone at the sooner of the two times, and at the later one after all if the sooner deletion is retracted.
#[test]
fn who_owns_the_privilege_deletes_sooner_what_goes_later() {
    for retracted in [false, true] {
        let (mut f, instance) = left_with_a_deletion_under_way();
        let message = f.call("b", |f| {
            f.delete_object_instance_at(instance, b"b's", at(5.0))
        });
        f.run();
        if retracted {
            f.call("b", |f| f.retract(message.unwrap())).unwrap();
            f.run();
            let known = f.call("b", |f| f.object_instance_name(instance));
            assert!(known.is_ok(), "it is there until 9");
        }
        let both = |f: &mut Federation, to: f64| {
            f.tar("b", to);
            f.tar("c", to);
            (f.told("b"), f.told("c"), f.status().instances)
        };
        let none = String::new();
        let (sooner, later, left) = if retracted {
            (none, "remove d@9TT, ".to_owned(), 1)
        } else {
            ("remove b's@5TT, ".to_owned(), none, 0)
        };
        let expected = ("grant 7".into(), sooner + "grant 7", left);
        assert_eq!(both(&mut f, 7.0), expected);
        let expected = (later.clone() + "grant 20", later + "grant 20", 0);
        assert_eq!(both(&mut f, 20.0), expected);
        assert_eq!((f.status().refused, f.status().behind_deletion), (0, 0));
    }
}

/// §6.17, §6.18: who knows an instance as before is told what has changed meanwhile; who discovers it again, all.
#[test]
fn what_is_in_scope_is_told_again_only_to_who_was_told_of_the_removal() {
    for (delivered, fewer) in [(false, false), (false, true), (true, false), (true, true)] {
        let (mut f, instance, xy) = known_instance();
        f.call("c", |f| f.enable_attribute_scope_advisory_switch())
            .unwrap();
        assert_eq!(f.told("c"), "attributesInScope");
        let deletion = f.call("a", |f| {
            f.delete_object_instance_at(instance, b"d", at(9.0))
        });
        f.run();
        if delivered {
            assert_eq!(f.told("c"), "remove d@9TR");
        }
        let class = f.class("A");
        if fewer {
            f.call("c", |f| {
                f.unsubscribe_object_class_attributes(class, &xy[1..])
            })
            .unwrap();
        }
        let deletion = deletion.unwrap();
        f.call("a", |f| f.retract(deletion)).unwrap();
        let told = match (delivered, fewer) {
            (true, _) => format!("retract {}, discover, attributesInScope", deletion.number()),
            (false, true) => "attributesOutOfScope".into(),
            (false, false) => String::new(),
        };
        assert_eq!(f.told("c"), told, "{delivered} {fewer}");
    }
}
