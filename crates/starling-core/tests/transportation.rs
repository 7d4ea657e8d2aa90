//! Transportation types, 1516.1-2010 §6.23 to §6.30.

use crate::common::Federation;
use starling_core::{
    AttributeHandle, Callback, ExceptionKind, ObjectInstanceHandle, Transportation,
};

/// A has registered an instance of class A, which B subscribes to and knows.
fn known() -> (Federation, ObjectInstanceHandle, Vec<AttributeHandle>) {
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
    f.run();
    let instance = f
        .call("A", |f| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("B");
    (f, instance, list)
}

/// How B gets an update of these attributes.
fn travelled(
    f: &mut Federation,
    instance: ObjectInstanceHandle,
    attribute: AttributeHandle,
) -> Transportation {
    f.call("A", |f| {
        f.update_attribute_values(instance, &[(attribute, b"1")], b"")
    })
    .unwrap();
    match &f.callbacks("B")[..] {
        [Callback::ReflectAttributeValues { transportation, .. }] => *transportation,
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_attribute_travels_as_confirmed() {
    let (mut f, instance, list) = known();
    let (x, y) = (list[0], list[1]);
    assert_eq!(travelled(&mut f, instance, x), Transportation::Reliable);
    assert_eq!(travelled(&mut f, instance, y), Transportation::BestEffort);
    let best_effort = Transportation::BestEffort;
    f.call("A", |f| {
        f.request_attribute_transportation_type_change(instance, &[x], best_effort)
    })
    .unwrap();
    // Not before the confirmation.
    assert_eq!(travelled(&mut f, instance, x), Transportation::Reliable);
    let again = f.call("A", |f| {
        f.request_attribute_transportation_type_change(instance, &[y, x], best_effort)
    });
    assert_eq!(
        again.unwrap_err().kind,
        ExceptionKind::AttributeAlreadyBeingChanged
    );
    let confirmed = Callback::ConfirmAttributeTransportationTypeChange {
        instance,
        attributes: vec![x],
        transportation: best_effort,
    };
    assert_eq!(f.callbacks("A"), [confirmed]);
    assert_eq!(travelled(&mut f, instance, x), best_effort);
    for (attribute, transportation) in [(x, best_effort), (y, best_effort)] {
        f.call("B", |f| {
            f.query_attribute_transportation_type(instance, attribute)
        })
        .unwrap();
        let report = Callback::ReportAttributeTransportationType {
            instance,
            attribute,
            transportation,
        };
        assert_eq!(f.callbacks("B"), [report]);
    }
    let not_owned = f.call("B", |f| {
        f.request_attribute_transportation_type_change(instance, &[x], best_effort)
    });
    assert_eq!(
        not_owned.unwrap_err().kind,
        ExceptionKind::AttributeNotOwned
    );
}

#[test]
fn with_its_publication_a_change_ends() {
    let (mut f, instance, list) = known();
    let x = list[0];
    let best_effort = Transportation::BestEffort;
    f.call("A", |f| {
        f.request_attribute_transportation_type_change(instance, &[x], best_effort)
    })
    .unwrap();
    f.callbacks("A");
    let class = f.class("A");
    f.call("A", |f| f.unpublish_object_class_attributes(class, &[x]))
        .unwrap();
    f.call("B", |f| f.query_attribute_transportation_type(instance, x))
        .unwrap();
    let report = Callback::ReportAttributeTransportationType {
        instance,
        attribute: x,
        transportation: Transportation::Reliable,
    };
    assert_eq!(f.callbacks("B"), [report]);
}

#[test]
fn an_interaction_travels_as_confirmed() {
    let mut f = Federation::new("");
    let a = f.join("A");
    f.join("B");
    let class = f.interaction("I");
    let best_effort = Transportation::BestEffort;
    let change = |f: &mut Federation| {
        f.call("A", |f| {
            f.request_interaction_transportation_type_change(class, best_effort)
        })
    };
    assert_eq!(
        change(&mut f).unwrap_err().kind,
        ExceptionKind::InteractionClassNotPublished
    );
    f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    f.call("B", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.run();
    change(&mut f).unwrap();
    assert_eq!(
        change(&mut f).unwrap_err().kind,
        ExceptionKind::InteractionClassAlreadyBeingChanged
    );
    let confirmed = Callback::ConfirmInteractionTransportationTypeChange {
        class,
        transportation: best_effort,
    };
    assert_eq!(f.callbacks("A"), [confirmed]);
    f.call("A", |f| f.send_interaction(class, &[], b""))
        .unwrap();
    match &f.callbacks("B")[..] {
        [Callback::ReceiveInteraction { transportation, .. }] => {
            assert_eq!(*transportation, best_effort);
        }
        other => panic!("{other:?}"),
    }
    let b = f.member("B").handle();
    for (federate, transportation) in [(a, best_effort), (b, Transportation::Reliable)] {
        f.call("B", |f| {
            f.query_interaction_transportation_type(federate, class)
        })
        .unwrap();
        let report = Callback::ReportInteractionTransportationType {
            federate,
            class,
            transportation,
        };
        assert_eq!(f.callbacks("B"), [report]);
    }
}
