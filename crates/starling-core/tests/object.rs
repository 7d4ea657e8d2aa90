//! Object management, 1516.1-2010 chapter 6.

mod common;

use common::Federation;
use starling_core::message::ResignAction;
use starling_core::{Callback, ExceptionKind};

#[test]
fn requests_for_values_that_wait_together_are_one_callback() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, list) = (f.class("A"), f.attributes(&["x", "y"]));
    let (x, y) = (list[0], list[1]);
    f.call("A", |f, _| f.publish_object_class_attributes(class, &list))
        .unwrap();
    f.call("B", |f, _| {
        f.subscribe_object_class_attributes(class, &list, true, "")
    })
    .unwrap();
    let instance = f
        .call("A", |f, _| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("B");
    for (attributes, tag) in [(&[x][..], "1"), (&[x, y], "1"), (&[y], "2")] {
        f.call("B", |f, _| {
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
    f.call("B", |f, _| {
        f.request_class_attribute_value_update(class, &[x], b"1")
    })
    .unwrap();
    assert_eq!(f.callbacks("A"), [provide(&[x], "1")]);
}

#[test]
fn what_is_deleted_locally_is_discovered_again_with_its_next_update() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    f.call("A", |f, _| f.publish_object_class_attributes(class, &x))
        .unwrap();
    f.call("B", |f, _| {
        f.subscribe_object_class_attributes(class, &x, true, "")
    })
    .unwrap();
    let instance = f
        .call("A", |f, _| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("B");
    f.call("B", |f, _| f.local_delete_object_instance(instance))
        .unwrap();
    f.quiet();
    f.call("A", |f, send| {
        f.update_attribute_values(instance, &[(x[0], b"1")], b"", send)
    })
    .unwrap();
    let told = f.callbacks("B");
    assert!(
        matches!(
            told[..],
            [
                Callback::DiscoverObjectInstance { .. },
                Callback::ReflectAttributeValues { .. }
            ]
        ),
        "{told:?}"
    );
}

#[test]
fn nothing_is_delivered_after_the_first_callback_that_a_resignation_drops() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    f.call("A", |f, _| f.publish_object_class_attributes(class, &x))
        .unwrap();
    f.call("B", |f, _| {
        f.subscribe_object_class_attributes(class, &x, true, "")
    })
    .unwrap();
    let instance = f
        .call("A", |f, _| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("B");
    let update = |f: &mut Federation, value: &[u8]| {
        f.call("A", |f, send| {
            f.update_attribute_values(instance, &[(x[0], value)], b"", send)
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
    f.call("A", |f, _| f.publish_object_class_attributes(class, &list))
        .unwrap();
    f.call("B", |f, _| {
        f.subscribe_object_class_attributes(class, &list, true, "")
    })
    .unwrap();
    let instance = f
        .call("A", |f, _| f.register_object_instance(class, None))
        .unwrap();
    f.callbacks("B");
    f.federate("A").set_frame_bytes_max(MOST);
    let large = [7; MOST];
    // Of a reliable and a best-effort attribute either may be too large, or the tag.
    for (first, second, tag) in [(MOST, 1, 0), (1, MOST, 0), (1, 1, MOST)] {
        let values = [(list[0], &large[..first]), (list[1], &large[..second])];
        let refused = f.call("A", |f, send| {
            f.update_attribute_values(instance, &values, &large[..tag], send)
        });
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind, ExceptionKind::RTIinternalError);
        let text = refused.message;
        assert!(text.contains("limits.frame_bytes") && text.contains("1000 bytes"));
        f.quiet();
    }
    f.call("A", |f, send| {
        let values = [(list[0], &large[..MOST / 2])];
        f.update_attribute_values(instance, &values, b"", send)
    })
    .unwrap();
    assert_eq!(f.callbacks("B").len(), 1);
}
