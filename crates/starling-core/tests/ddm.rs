//! Data distribution management, 1516.1-2010 chapter 9, and §10.28 to §10.30.

#![allow(
    clippy::cloned_ref_to_slice_refs,
    reason = "lists of one are plainer written out"
)]

use crate::common::{Federation, Sent};
use starling_core::message::{AttributeRegions, ResignAction};
use starling_core::{
    AttributeHandle, Callback, DimensionHandle, Exception, ExceptionKind, Lrc,
    ObjectInstanceHandle, RegionHandle,
};

const CONVEY: &str = "<conveyRegionDesignatorSets isEnabled=\"true\"/>";
const SCOPE: &str = "<attributeScopeAdvisory isEnabled=\"true\"/>";

fn dimension(f: &mut Federation, name: &str) -> DimensionHandle {
    f.federate("A").dimension_handle(name).unwrap()
}

/// A committed region with these ranges.
fn region(f: &mut Federation, by: &str, ranges: &[(&str, u64, u64)]) -> RegionHandle {
    let dimensions: Vec<_> = ranges.iter().map(|(d, ..)| dimension(f, d)).collect();
    let region = f.call(by, |f| f.create_region(&dimensions)).unwrap();
    r#move(f, by, region, ranges);
    region
}

fn r#move(f: &mut Federation, by: &str, region: RegionHandle, ranges: &[(&str, u64, u64)]) {
    for (name, lower, upper) in ranges {
        let dimension = dimension(f, name);
        f.call(by, |f| {
            f.set_range_bounds(region, dimension, *lower, *upper)
        })
        .unwrap();
    }
    f.call(by, |f| f.commit_region_modifications(&[region]))
        .unwrap();
}

fn with(f: &mut Federation, attributes: &[&str], regions: &[RegionHandle]) -> AttributeRegions {
    AttributeRegions {
        attributes: f.attributes(attributes),
        regions: regions.to_vec(),
    }
}

fn publish(f: &mut Federation, by: &str, class: &str, attributes: &[&str]) {
    let (class, list) = (f.class(class), f.attributes(attributes));
    f.call(by, |f| f.publish_object_class_attributes(class, &list))
        .unwrap();
}

fn register(f: &mut Federation, class: &str, list: &[AttributeRegions]) -> ObjectInstanceHandle {
    let class = f.class(class);
    f.call("A", |f| {
        f.register_object_instance_with_regions(class, list, None)
    })
    .unwrap()
}

fn subscribe(f: &mut Federation, by: &str, class: &str, list: &[AttributeRegions]) {
    let class = f.class(class);
    f.call(by, |f| {
        f.subscribe_object_class_attributes_with_regions(class, list, true, "")
    })
    .unwrap();
}

/// Attribute values as a federate is told them: by callback, name and value.
type Told = Vec<Vec<(AttributeHandle, Vec<u8>)>>;

fn reflected(f: &mut Federation, by: &str) -> Told {
    let mut told = Vec::new();
    for callback in f.callbacks(by) {
        if let Callback::ReflectAttributeValues { values, .. } = callback {
            told.push(values.iter().map(|(a, v)| (a, v.to_vec())).collect());
        }
    }
    told
}

fn update(f: &mut Federation, instance: ObjectInstanceHandle, names: &[&str]) {
    let attributes = f.attributes(names);
    let values: Vec<_> = attributes.iter().map(|a| (*a, &b"v"[..])).collect();
    f.call("A", |f| f.update_attribute_values(instance, &values, b""))
        .unwrap();
}

fn value(a: AttributeHandle) -> (AttributeHandle, Vec<u8>) {
    (a, b"v".to_vec())
}

fn discovers(callbacks: &[Callback]) -> usize {
    let discovery = |c: &&Callback| matches!(c, Callback::DiscoverObjectInstance { .. });
    callbacks.iter().filter(discovery).count()
}

fn kind<T: std::fmt::Debug>(result: Result<T, Exception>) -> ExceptionKind {
    result.unwrap_err().kind
}

#[test]
fn frames_leave_only_for_overlapping_subscribers() {
    let mut f = Federation::new("");
    for name in ["A", "B", "C", "D"] {
        f.join(name);
    }
    publish(&mut f, "A", "A", &["x", "y"]);
    let u = region(&mut f, "A", &[("D", 10, 20)]);
    let updated = with(&mut f, &["x"], &[u]);
    let instance = register(&mut f, "A", &[updated]);
    for (name, lower) in [("B", 15), ("C", 20)] {
        let s = region(&mut f, name, &[("D", lower, lower + 10)]);
        let list = with(&mut f, &["x"], &[s]);
        subscribe(&mut f, name, "A", &[list]);
    }
    // Without regions: the default region, which overlaps all.
    let (class, x) = (f.class("A"), f.attributes(&["x"])[0]);
    f.call("D", |f| {
        f.subscribe_object_class_attributes(class, &[x], true, "")
    })
    .unwrap();
    assert_eq!(discovers(&f.callbacks("B")), 1);
    assert_eq!(discovers(&f.callbacks("C")), 0);
    assert_eq!(discovers(&f.callbacks("D")), 1);
    f.forwarded = 0;
    update(&mut f, instance, &["x"]);
    assert_eq!(f.forwarded, 2);
    assert_eq!(reflected(&mut f, "B"), [[value(x)]]);
    assert_eq!(reflected(&mut f, "D"), [[value(x)]]);
    f.quiet();
    // Nobody: nothing leaves the sender.
    f.call("D", |f| f.unsubscribe_object_class(class)).unwrap();
    f.run();
    r#move(&mut f, "A", u, &[("D", 40, 41)]);
    let before = f.member("A").counters();
    update(&mut f, instance, &["x", "y"]);
    let after = f.member("A").counters();
    assert_eq!(
        (after.sent, after.unwanted),
        (before.sent, before.unwanted + 2)
    );
    assert_eq!(f.forwarded, 2);
    // C comes to where it moved.
    let c = RegionHandle::new(f.member("C").handle(), 1);
    r#move(&mut f, "C", c, &[("D", 40, 50)]);
    f.run();
    update(&mut f, instance, &["x"]);
    assert_eq!(f.forwarded, 3);
    let told = f.callbacks("C");
    assert_eq!((discovers(&told), told.len()), (1, 2));
    f.quiet();
}

#[test]
fn overlap_is_in_the_dimensions_that_both_specify() {
    let mut f = Federation::new("");
    for name in ["A", "B"] {
        f.join(name);
    }
    publish(&mut f, "A", "A", &["x"]);
    let x = f.attributes(&["x"])[0];
    let u = region(&mut f, "A", &[("D", 10, 20)]);
    let updated = with(&mut f, &["x"], &[u]);
    let instance = register(&mut f, "A", &[updated]);
    // E alone: no common dimension, so they overlap.
    let s = region(&mut f, "B", &[("E", 0, 1)]);
    let list = with(&mut f, &["x"], &[s]);
    subscribe(&mut f, "B", "A", std::slice::from_ref(&list));
    f.callbacks("B");
    update(&mut f, instance, &["x"]);
    assert_eq!(reflected(&mut f, "B"), [[value(x)]]);
    // A second region of the set is as good as the first.
    let both = region(&mut f, "B", &[("D", 0, 5), ("E", 0, 1)]);
    let also = with(&mut f, &["x"], &[both]);
    subscribe(&mut f, "B", "A", &[also]);
    let class = f.class("A");
    f.call("B", |f| {
        f.unsubscribe_object_class_attributes_with_regions(class, &[list])
    })
    .unwrap();
    f.run();
    update(&mut f, instance, &["x"]);
    f.quiet();
    r#move(&mut f, "A", u, &[("D", 4, 5)]);
    update(&mut f, instance, &["x"]);
    assert_eq!(reflected(&mut f, "B"), [[value(x)]]);
}

#[test]
fn attributes_with_other_regions_go_in_other_frames() {
    let mut f = Federation::new(CONVEY);
    for name in ["A", "B"] {
        f.join(name);
    }
    publish(&mut f, "A", "A.B", &["x", "y", "z"]);
    let [x, y, z] = f.attributes(&["x", "y", "z"])[..] else {
        unreachable!()
    };
    let u = region(&mut f, "A", &[("D", 10, 20)]);
    let v = region(&mut f, "A", &[("D", 30, 40)]);
    let list = [with(&mut f, &["x"], &[u]), with(&mut f, &["z"], &[u, v])];
    let instance = register(&mut f, "A.B", &list);
    let s = region(&mut f, "B", &[("D", 0, 100)]);
    let list = with(&mut f, &["x", "z"], &[s]);
    subscribe(&mut f, "B", "A.B", &[list]);
    let (class, plain) = (f.class("A.B"), f.attributes(&["y"]));
    f.call("B", |f| {
        f.subscribe_object_class_attributes(class, &plain, true, "")
    })
    .unwrap();
    f.callbacks("B");
    update(&mut f, instance, &["x", "y", "z"]);
    let mut told = Vec::new();
    for callback in f.callbacks("B") {
        let Callback::ReflectAttributeValues {
            values, regions, ..
        } = callback
        else {
            panic!("{callback:?}")
        };
        told.push((values.iter().map(|(a, _)| a).collect::<Vec<_>>(), regions));
    }
    // y has no dimensions, so there is nothing to convey.
    let expected = [
        (vec![y], None),
        (vec![x], Some(vec![u])),
        (vec![z], Some(vec![u, v])),
    ];
    assert_eq!(told, expected);
    // What was conveyed can be asked for its ranges, and is not one's own.
    let d = dimension(&mut f, "D");
    let b = f.federate("B");
    assert_eq!(b.dimension_handle_set(u).unwrap(), [d]);
    assert_eq!(b.range_bounds(u, d).unwrap(), (10, 20));
    assert_eq!(
        kind(b.delete_region(u)),
        ExceptionKind::RegionNotCreatedByThisFederate
    );
    // With the default region the set is empty.
    let gone = [with(&mut f, &["x"], &[u, v]), with(&mut f, &["z"], &[u, v])];
    f.call("A", |f| f.unassociate_regions_for_updates(instance, &gone))
        .unwrap();
    update(&mut f, instance, &["x", "z"]);
    let told = f.callbacks("B");
    let [
        Callback::ReflectAttributeValues {
            values, regions, ..
        },
    ] = &told[..]
    else {
        panic!("{told:?}")
    };
    assert_eq!(values.iter().count(), 2);
    assert_eq!(regions.as_deref(), Some(&[][..]));
}

#[test]
fn regions_that_come_to_overlap_bring_discovery_and_scope() {
    let mut f = Federation::new(SCOPE);
    for name in ["A", "B"] {
        f.join(name);
    }
    publish(&mut f, "A", "A", &["x", "y"]);
    let x = f.attributes(&["x"])[0];
    let u = region(&mut f, "A", &[("D", 10, 20)]);
    let updated = with(&mut f, &["x"], &[u]);
    let instance = register(&mut f, "A", std::slice::from_ref(&updated));
    let s = region(&mut f, "B", &[("D", 50, 60)]);
    let list = with(&mut f, &["x"], &[s]);
    subscribe(&mut f, "B", "A", &[list]);
    f.quiet();
    let inside = Callback::AttributesInScope {
        instance,
        attributes: vec![x],
    };
    let outside = Callback::AttributesOutOfScope {
        instance,
        attributes: vec![x],
    };
    // The update region moves into it.
    r#move(&mut f, "A", u, &[("D", 55, 65)]);
    let told = f.callbacks("B");
    assert_eq!((discovers(&told), &told[1..]), (1, &[inside.clone()][..]));
    r#move(&mut f, "A", u, &[("D", 60, 65)]);
    assert_eq!(f.callbacks("B"), [outside.clone()]);
    // The subscription region moves into it; it is known already.
    r#move(&mut f, "B", s, &[("D", 0, 61)]);
    assert_eq!(f.callbacks("B"), [inside.clone()]);
    r#move(&mut f, "B", s, &[("D", 0, 60)]);
    assert_eq!(f.callbacks("B"), [outside.clone()]);
    // Without associations the default region overlaps.
    f.call("A", |f| {
        f.unassociate_regions_for_updates(instance, &[updated.clone()])
    })
    .unwrap();
    assert_eq!(f.callbacks("B"), [inside.clone()]);
    f.call("A", |f| {
        f.associate_regions_for_updates(instance, &[updated])
    })
    .unwrap();
    assert_eq!(f.callbacks("B"), [outside.clone()]);
    // Uncommitted ranges change nothing.
    let d = dimension(&mut f, "D");
    f.call("A", |f| f.set_range_bounds(u, d, 0, 100)).unwrap();
    f.quiet();
    f.call("A", |f| f.commit_region_modifications(&[u]))
        .unwrap();
    assert_eq!(f.callbacks("B"), [inside]);
    // Who resigns takes its regions along; the instance is an orphan then.
    f.resign("A", ResignAction::UnconditionallyDivestAttributes);
    assert_eq!(f.callbacks("B"), [outside]);
}

#[test]
fn a_locally_deleted_instance_is_discovered_again_on_overlap() {
    let mut f = Federation::new("");
    for name in ["A", "B"] {
        f.join(name);
    }
    publish(&mut f, "A", "A", &["x"]);
    let u = region(&mut f, "A", &[("D", 10, 20)]);
    let updated = with(&mut f, &["x"], &[u]);
    let instance = register(&mut f, "A", &[updated]);
    let s = region(&mut f, "B", &[("D", 10, 20)]);
    let list = with(&mut f, &["x"], &[s]);
    subscribe(&mut f, "B", "A", &[list]);
    assert_eq!(discovers(&f.callbacks("B")), 1);
    f.call("B", |f| f.local_delete_object_instance(instance))
        .unwrap();
    f.quiet();
    r#move(&mut f, "A", u, &[("D", 10, 21)]);
    assert_eq!(discovers(&f.callbacks("B")), 1);
}

/// A sends interactions of class I with regions of its own, B subscribes to them.
fn sender_and_receiver(mut f: Federation) -> (Federation, DimensionHandle) {
    for name in ["A", "B"] {
        f.join(name);
    }
    let class = f.interaction("I");
    f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    f.call("B", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.run();
    let d = dimension(&mut f, "D");
    (f, d)
}

fn send(f: &mut Federation, regions: &[RegionHandle]) {
    let class = f.interaction("I");
    f.call("A", |f| {
        f.send_interaction_with_regions(class, &[], regions, b"")
    })
    .unwrap();
}

#[test]
fn a_conveyed_region_is_known_until_it_is_deleted() {
    let (mut f, d) = sender_and_receiver(Federation::new(CONVEY));
    let u = region(&mut f, "A", &[("D", 10, 20)]);
    let v = region(&mut f, "A", &[("D", 30, 40)]);
    send(&mut f, &[u, v]);
    r#move(&mut f, "A", u, &[("D", 11, 20)]);
    send(&mut f, &[u]);
    f.call("A", |f| f.delete_region(u)).unwrap();
    f.run();
    // It is gone, but B has not been told of what was sent with it.
    let b = f.federate("B");
    assert_eq!(kind(b.range_bounds(u, d)), ExceptionKind::InvalidRegion);
    for bounds in [(10, 20), (11, 20)] {
        assert!(b.next_callback().is_some());
        assert_eq!(b.range_bounds(u, d), Ok(bounds));
    }
    assert_eq!(b.next_callback(), None);
    assert_eq!(kind(b.range_bounds(u, d)), ExceptionKind::InvalidRegion);
    assert_eq!(b.range_bounds(v, d), Ok((30, 40)), "v is still there");
}

#[test]
fn conveyed_regions_go_with_their_creator() {
    for lost in [false, true] {
        let (mut f, d) = sender_and_receiver(Federation::new(CONVEY));
        let u = region(&mut f, "A", &[("D", 10, 20)]);
        send(&mut f, &[u]);
        if lost {
            f.lose("A")
        } else {
            f.resign("A", ResignAction::NoAction)
        }
        let b = f.federate("B");
        assert!(b.next_callback().is_some());
        assert_eq!(b.range_bounds(u, d), Ok((10, 20)));
        assert_eq!(b.next_callback(), None);
        assert_eq!(kind(b.range_bounds(u, d)), ExceptionKind::InvalidRegion);
    }
}

#[test]
fn what_comes_later_than_the_deletion_of_its_region_leaves_nothing_behind() {
    let (mut f, d) = sender_and_receiver(Federation::direct(CONVEY));
    let u = region(&mut f, "A", &[("D", 10, 20)]);
    send(&mut f, &[u]);
    f.call("A", |f| f.delete_region(u)).unwrap();
    f.run();
    let a = f.member("A").handle();
    assert_eq!(f.callbacks("B"), []);
    f.arrive(a, "B");
    let b = f.federate("B");
    assert!(b.next_callback().is_some());
    assert_eq!(b.range_bounds(u, d), Ok((10, 20)));
    assert_eq!(b.next_callback(), None);
    assert_eq!(kind(b.range_bounds(u, d)), ExceptionKind::InvalidRegion);
}

#[test]
fn a_hundred_thousand_regions_that_come_and_go_are_forgotten() {
    let (mut f, d) = sender_and_receiver(Federation::new(CONVEY));
    let class = f.interaction("I");
    let mut conveyed = Vec::new();
    for _ in 0..1_000 {
        for _ in 0..100 {
            let done = f.call("A", |f| {
                let region = f.create_region(&[d])?;
                f.commit_region_modifications(&[region])?;
                f.send_interaction_with_regions(class, &[], &[region], b"")?;
                f.delete_region(region)
            });
            done.unwrap();
        }
        f.run();
        let b = f.federate("B");
        while let Some(callback) = b.next_callback() {
            let Callback::ReceiveInteraction {
                regions: Some(regions),
                ..
            } = callback
            else {
                panic!("{callback:?}")
            };
            conveyed.extend(regions);
        }
        assert!(!b.has_callbacks(), "nothing waits");
    }
    assert_eq!(conveyed.len(), 100_000);
    let b = f.federate("B");
    for region in conveyed {
        let asked = kind(b.range_bounds(region, d));
        assert_eq!(asked, ExceptionKind::InvalidRegion, "{region} is forgotten");
    }
}

#[test]
fn interactions_with_regions() {
    let mut f = Federation::new(CONVEY);
    for name in ["A", "B", "C"] {
        f.join(name);
    }
    let (i, j) = (f.interaction("I"), f.interaction("I.J"));
    f.call("A", |f| f.publish_interaction_class(j)).unwrap();
    let u = region(&mut f, "A", &[("D", 10, 20)]);
    let at_i = region(&mut f, "B", &[("D", 0, 100)]);
    let at_j = region(&mut f, "B", &[("D", 90, 100)]);
    for (class, region) in [(i, at_i), (j, at_j)] {
        f.call("B", |f| {
            f.subscribe_interaction_class_with_regions(class, &[region], true)
        })
        .unwrap();
    }
    f.call("C", |f| f.subscribe_interaction_class(i, true))
        .unwrap();
    f.run();
    let send = |f: &mut Federation, regions: &[RegionHandle]| {
        f.call("A", |f| {
            f.send_interaction_with_regions(j, &[], regions, b"")
        })
        .unwrap();
    };
    send(&mut f, &[u]);
    // B's nearest class is J, whose region does not overlap; I's does not count then.
    assert_eq!(f.callbacks("B"), []);
    assert_eq!(f.forwarded, 1);
    let told = f.callbacks("C");
    let [Callback::ReceiveInteraction { class, regions, .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!((*class, regions.clone()), (i, Some(vec![u])));
    f.call("B", |f| {
        f.unsubscribe_interaction_class_with_regions(j, &[at_j])
    })
    .unwrap();
    f.run();
    send(&mut f, &[u]);
    assert_eq!(f.callbacks("B").len(), 1);
    // Without regions: to all.
    send(&mut f, &[]);
    let told = f.callbacks("B");
    let [Callback::ReceiveInteraction { regions, .. }] = &told[..] else {
        panic!("{told:?}")
    };
    assert_eq!(regions.as_deref(), Some(&[][..]));
}

#[test]
fn values_are_asked_of_whom_the_regions_overlap() {
    let mut f = Federation::new("");
    for name in ["A", "B"] {
        f.join(name);
    }
    publish(&mut f, "A", "A", &["x", "y"]);
    let x = f.attributes(&["x"])[0];
    let u = region(&mut f, "A", &[("D", 10, 20)]);
    let v = region(&mut f, "A", &[("D", 30, 40)]);
    let list = with(&mut f, &["x"], &[u]);
    let near = register(&mut f, "A", &[list]);
    let list = with(&mut f, &["x"], &[v]);
    register(&mut f, "A", &[list]);
    let default = register(&mut f, "A", &[]);
    let asked = region(&mut f, "B", &[("D", 0, 11)]);
    let list = with(&mut f, &["x"], &[asked]);
    let class = f.class("A");
    f.call("B", |f| {
        f.request_attribute_value_update_with_regions(class, &[list], b"t")
    })
    .unwrap();
    let told: Vec<_> = f
        .callbacks("A")
        .into_iter()
        .map(|c| match c {
            Callback::ProvideAttributeValueUpdate {
                instance,
                attributes,
                ..
            } => (instance, attributes),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(told, [(near, vec![x]), (default, vec![x])]);
}

#[test]
fn a_late_joiner_knows_the_regions_of_subscriptions() {
    let mut f = Federation::new("");
    f.join("B");
    f.join("A");
    let s = region(&mut f, "B", &[("D", 10, 20)]);
    let list = with(&mut f, &["x"], &[s]);
    subscribe(&mut f, "B", "A", &[list]);
    let (i, si) = (f.interaction("I"), region(&mut f, "B", &[("D", 0, 1)]));
    f.call("B", |f| {
        f.subscribe_interaction_class_with_regions(i, &[si], true)
    })
    .unwrap();
    f.resign("A", ResignAction::NoAction);
    f.join("A");
    publish(&mut f, "A", "A", &["x"]);
    f.call("A", |f| f.publish_interaction_class(i)).unwrap();
    let u = region(&mut f, "A", &[("D", 0, 10)]);
    let updated = with(&mut f, &["x"], &[u]);
    let instance = register(&mut f, "A", &[updated]);
    update(&mut f, instance, &["x"]);
    assert_eq!(f.forwarded, 0);
    f.quiet();
    f.call("A", |f| f.send_interaction_with_regions(i, &[], &[u], b""))
        .unwrap();
    assert_eq!(f.callbacks("B").len(), 1);
    r#move(&mut f, "A", u, &[("D", 0, 11)]);
    update(&mut f, instance, &["x"]);
    assert_eq!(f.callbacks("B").len(), 2);
}

#[test]
fn relevance_follows_overlap() {
    let mut f = Federation::new("<attributeRelevanceAdvisory isEnabled=\"true\"/>");
    for name in ["A", "B"] {
        f.join(name);
    }
    publish(&mut f, "A", "A", &["x"]);
    let u = region(&mut f, "A", &[("D", 10, 20)]);
    let updated = with(&mut f, &["x"], &[u]);
    let instance = register(&mut f, "A", &[updated]);
    let (s, t) = (
        region(&mut f, "B", &[("D", 10, 20)]),
        region(&mut f, "B", &[("D", 15, 20)]),
    );
    let class = f.class("A");
    for (region, rate) in [(s, "Low"), (t, "High")] {
        let list = with(&mut f, &["x"], &[region]);
        f.call("B", |f| {
            f.subscribe_object_class_attributes_with_regions(class, &[list], true, rate)
        })
        .unwrap();
    }
    f.callbacks("B");
    let attributes = f.attributes(&["x"]);
    let on = |rate: &str| Callback::TurnUpdatesOnForObjectInstance {
        instance,
        attributes: attributes.clone(),
        rate: rate.into(),
    };
    assert_eq!(f.callbacks("A"), [on("Low"), on("High")]);
    r#move(&mut f, "A", u, &[("D", 10, 15)]);
    assert_eq!(f.callbacks("A"), [on("Low")]);
    r#move(&mut f, "A", u, &[("D", 0, 10)]);
    let off = Callback::TurnUpdatesOffForObjectInstance {
        instance,
        attributes,
    };
    assert_eq!(f.callbacks("A"), [off]);
}

#[test]
fn what_is_wrong_is_said() {
    use ExceptionKind::*;
    let mut f = Federation::new("");
    for name in ["A", "B"] {
        f.join(name);
    }
    let (d, e) = (dimension(&mut f, "D"), dimension(&mut f, "E"));
    let none = DimensionHandle::from_raw(99);
    let (class, i) = (f.class("A"), f.interaction("I"));
    let theirs = region(&mut f, "B", &[("D", 0, 1)]);
    let never = RegionHandle::new(f.member("A").handle(), 77);
    publish(&mut f, "A", "A", &["x", "y"]);
    let u = region(&mut f, "A", &[("D", 0, 1)]);
    let both = region(&mut f, "A", &[("D", 0, 1), ("E", 0, 1)]);
    let updated = with(&mut f, &["x"], &[u]);
    let instance = register(&mut f, "A", std::slice::from_ref(&updated));
    let (x, y, z) = (
        with(&mut f, &["x"], &[theirs]),
        with(&mut f, &["y"], &[u]),
        with(&mut f, &["z"], &[u]),
    );
    let invalid = with(&mut f, &["x"], &[never]);
    let a = f.federate("A");
    assert_eq!(kind(a.create_region(&[d, none])), InvalidDimensionHandle);
    let template = a.create_region(&[d]).unwrap();
    assert_eq!(a.range_bounds(template, d).unwrap(), (0, 100));
    assert_eq!(a.dimension_handle_set(both).unwrap(), [d, e]);
    assert_eq!(kind(a.dimension_handle_set(theirs)), InvalidRegion);
    assert_eq!(kind(a.range_bounds(never, d)), InvalidRegion);
    let missing = RegionDoesNotContainSpecifiedDimension;
    assert_eq!(kind(a.range_bounds(u, e)), missing);
    assert_eq!(kind(a.set_range_bounds(u, e, 0, 1)), missing);
    for (lower, upper) in [(1, 1), (2, 1), (0, 101), (100, 101), (0, 1 << 40)] {
        let set = a.set_range_bounds(u, d, lower, upper);
        assert_eq!(kind(set), InvalidRangeBound, "[{lower}, {upper})");
    }
    a.set_range_bounds(u, d, 99, 100).unwrap();
    assert_eq!(kind(a.set_range_bounds(never, d, 0, 1)), InvalidRegion);
    let not_ours = RegionNotCreatedByThisFederate;
    assert_eq!(kind(a.set_range_bounds(theirs, d, 0, 1)), not_ours);
    assert_eq!(kind(a.commit_region_modifications(&[never])), InvalidRegion);
    assert_eq!(kind(a.commit_region_modifications(&[theirs])), not_ours);
    assert_eq!(kind(a.delete_region(never)), InvalidRegion);
    assert_eq!(kind(a.delete_region(theirs)), not_ours);
    assert_eq!(kind(a.delete_region(u)), RegionInUseForUpdateOrSubscription);
    // y has no dimensions; I has D only; a template is no specification yet.
    let uncommitted = AttributeRegions {
        regions: vec![template],
        ..updated.clone()
    };
    type Service = Box<dyn Fn(&mut Lrc<Sent>, &[AttributeRegions]) -> ExceptionKind>;
    let services: [Service; 4] = [
        Box::new(move |f, l| kind(f.register_object_instance_with_regions(class, l, None))),
        Box::new(move |f, l| kind(f.associate_regions_for_updates(instance, l))),
        Box::new(move |f, l| {
            kind(f.subscribe_object_class_attributes_with_regions(class, l, true, ""))
        }),
        Box::new(move |f, l| kind(f.request_attribute_value_update_with_regions(class, l, b""))),
    ];
    for service in &services {
        assert_eq!(service(a, &[y.clone()]), InvalidRegionContext);
        assert_eq!(service(a, &[x.clone()]), not_ours);
        assert_eq!(service(a, &[x.clone(), invalid.clone()]), InvalidRegion);
        assert_eq!(service(a, &[uncommitted.clone()]), InvalidRegion);
        assert_eq!(service(a, &[z.clone()]), AttributeNotDefined);
    }
    let ending: [Service; 2] = [
        Box::new(move |f, l| kind(f.unassociate_regions_for_updates(instance, l))),
        Box::new(move |f, l| kind(f.unsubscribe_object_class_attributes_with_regions(class, l))),
    ];
    for service in &ending {
        assert_eq!(service(a, &[x.clone()]), not_ours);
        assert_eq!(service(a, &[invalid.clone()]), InvalidRegion);
        assert_eq!(service(a, &[z.clone()]), AttributeNotDefined);
    }
    let send = |f: &mut Lrc<Sent>, r: &[RegionHandle]| {
        kind(f.send_interaction_with_regions(i, &[], r, b""))
    };
    assert_eq!(send(a, &[u]), InteractionClassNotPublished);
    a.publish_interaction_class(i).unwrap();
    assert_eq!(send(a, &[both]), InvalidRegionContext);
    assert_eq!(send(a, &[theirs]), not_ours);
    assert_eq!(send(a, &[never]), InvalidRegion);
    let subscribe = |f: &mut Lrc<Sent>, r: &[RegionHandle]| {
        kind(f.subscribe_interaction_class_with_regions(i, r, true))
    };
    assert_eq!(subscribe(a, &[both]), InvalidRegionContext);
    assert_eq!(subscribe(a, &[theirs]), not_ours);
    assert_eq!(subscribe(a, &[never]), InvalidRegion);
    let end = |f: &mut Lrc<Sent>, r: &[RegionHandle]| {
        kind(f.unsubscribe_interaction_class_with_regions(i, r))
    };
    assert_eq!(end(a, &[theirs]), not_ours);
    assert_eq!(end(a, &[never]), InvalidRegion);
    // In use for as long as it is subscribed with.
    a.subscribe_interaction_class_with_regions(i, &[u], false)
        .unwrap();
    a.delete_object_instance(instance, b"").unwrap();
    assert_eq!(kind(a.delete_region(u)), RegionInUseForUpdateOrSubscription);
    a.unsubscribe_interaction_class_with_regions(i, &[u])
        .unwrap();
    a.delete_region(u).unwrap();
    assert_eq!(kind(a.delete_region(u)), InvalidRegion);
    a.delete_region(template).unwrap();
    let rate = a.subscribe_object_class_attributes_with_regions(class, &[], true, "None");
    assert_eq!(kind(rate), InvalidUpdateRateDesignator);
    f.run();
}

/// 1516.2-2010 §4.7, value when unspecified: of E 0 to 10, D is excluded.
#[test]
fn a_dimension_that_a_region_leaves_out_has_its_default_range() {
    for (ranges, meets) in [
        (&[("E", 9, 20)][..], true),
        (&[("E", 10, 20)], false),
        (&[("D", 15, 20), ("E", 0, 1)], true),
        (&[("D", 50, 60), ("E", 0, 1)], false),
        (&[], true),
    ] {
        let mut f = Federation::new(SCOPE);
        f.join("A");
        f.join("B");
        publish(&mut f, "A", "A", &["x"]);
        let u = region(&mut f, "A", &[("D", 10, 20)]);
        let updated = with(&mut f, &["x"], &[u]);
        let instance = register(&mut f, "A", &[updated]);
        let s = region(&mut f, "B", ranges);
        let list = with(&mut f, &["x"], &[s]);
        subscribe(&mut f, "B", "A", &[list]);
        f.run();
        assert_eq!(
            discovers(&f.callbacks("B")),
            usize::from(meets),
            "{ranges:?}"
        );
        // The other way round: the updating region is moved to where the default range is not.
        let away = region(&mut f, "A", &[("E", 10, 11)]);
        let updated = with(&mut f, &["x"], &[away]);
        let replaced = with(&mut f, &["x"], &[u]);
        f.call("A", |f| {
            f.associate_regions_for_updates(instance, &[updated])
        })
        .unwrap();
        f.call("A", |f| {
            f.unassociate_regions_for_updates(instance, &[replaced])
        })
        .unwrap();
        f.run();
        f.callbacks("B");
        let forwarded = f.forwarded;
        update(&mut f, instance, &["x"]);
        let in_e = ranges.iter().any(|(d, _, upper)| *d == "E" && *upper > 10);
        assert_eq!(f.forwarded - forwarded, usize::from(in_e), "{ranges:?}");
        assert_eq!(
            reflected(&mut f, "B").len(),
            usize::from(in_e),
            "{ranges:?}"
        );
    }
}

/// What an update that throws had lined up does not travel with the next one.
#[test]
fn an_update_that_throws_leaves_nothing_for_the_next() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    publish(&mut f, "A", "A", &["x", "y"]);
    let r = region(&mut f, "A", &[("D", 10, 20)]);
    let updated = with(&mut f, &["x"], &[r]);
    let instance = register(&mut f, "A", &[updated]);
    let s = region(&mut f, "B", &[("D", 10, 20)]);
    let list = with(&mut f, &["x"], &[s]);
    subscribe(&mut f, "B", "A", &[list]);
    f.callbacks("B");
    f.call("A", |f| f.set_frame_bytes_max(1_000));
    let (x, large) = (f.attributes(&["x"])[0], vec![0; 1_000]);
    let refused = f.call("A", |f| {
        f.update_attribute_values(instance, &[(x, &large)], b"")
    });
    assert_eq!(kind(refused), ExceptionKind::RTIinternalError);
    update(&mut f, instance, &["x"]);
    assert_eq!(reflected(&mut f, "B"), [[value(x)]]);
}
