//! Relevance and scope advisories, 1516.1-2010 §5.10 to §5.13, §6.17, §6.18, §6.21, §6.22, and
//! their switches, §10.33 to §10.40.

use crate::common::{Federation, Sent};
use starling_core::message::ResignAction;
use starling_core::{AttributeHandle, Callback, ExceptionKind, Lrc, ObjectInstanceHandle};

const ALL_ON: &str = "<objectClassRelevanceAdvisory isEnabled=\"true\"/>\
    <interactionRelevanceAdvisory isEnabled=\"true\"/>\
    <attributeScopeAdvisory isEnabled=\"true\"/>\
    <attributeRelevanceAdvisory isEnabled=\"true\"/>";

fn publish(f: &mut Federation, by: &str, class: &str, attributes: &[&str]) {
    let (class, list) = (f.class(class), f.attributes(attributes));
    f.call(by, |f| f.publish_object_class_attributes(class, &list))
        .unwrap();
}

fn subscribe(f: &mut Federation, by: &str, class: &str, attributes: &[&str], active: bool) {
    subscribe_at_rate(f, by, class, attributes, active, "");
}

fn subscribe_at_rate(
    f: &mut Federation,
    by: &str,
    class: &str,
    attributes: &[&str],
    active: bool,
    rate: &str,
) {
    let (class, list) = (f.class(class), f.attributes(attributes));
    f.call(by, |f| {
        f.subscribe_object_class_attributes(class, &list, active, rate)
    })
    .unwrap();
}

fn unsubscribe(f: &mut Federation, by: &str, class: &str) {
    let class = f.class(class);
    f.call(by, |f| f.unsubscribe_object_class(class)).unwrap();
}

fn register(f: &mut Federation, by: &str, class: &str) -> ObjectInstanceHandle {
    let class = f.class(class);
    f.call(by, |f| f.register_object_instance(class, None))
        .unwrap()
}

fn inside(instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>) -> Callback {
    Callback::AttributesInScope {
        instance,
        attributes,
    }
}

fn outside(instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>) -> Callback {
    Callback::AttributesOutOfScope {
        instance,
        attributes,
    }
}

fn on(instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>, rate: &str) -> Callback {
    Callback::TurnUpdatesOnForObjectInstance {
        instance,
        attributes,
        rate: rate.into(),
    }
}

fn off(instance: ObjectInstanceHandle, attributes: Vec<AttributeHandle>) -> Callback {
    Callback::TurnUpdatesOffForObjectInstance {
        instance,
        attributes,
    }
}

#[test]
fn registration_starts_and_stops_with_active_subscriptions() {
    let mut f = Federation::new("<objectClassRelevanceAdvisory isEnabled=\"true\"/>");
    f.join("A");
    f.join("B");
    f.join("C");
    let (a, b) = (f.class("A"), f.class("A.B"));
    publish(&mut f, "A", "A.B", &["x", "z"]);
    subscribe(&mut f, "A", "A.B", &["x"], true);
    // Its own subscription, a passive one, other attributes, a subclass: no reason to register.
    subscribe(&mut f, "B", "A", &["x"], false);
    subscribe(&mut f, "B", "A.B", &["y"], true);
    f.quiet();
    publish(&mut f, "C", "A", &["x"]);
    f.quiet();
    // At a superclass.
    subscribe(&mut f, "B", "A", &["x"], true);
    assert_eq!(
        f.callbacks("A"),
        [Callback::StartRegistrationForObjectClass(b)]
    );
    assert_eq!(
        f.callbacks("C"),
        [Callback::StartRegistrationForObjectClass(a)]
    );
    subscribe(&mut f, "C", "A.B", &["z"], true);
    f.quiet();
    unsubscribe(&mut f, "B", "A");
    assert_eq!(
        f.callbacks("C"),
        [Callback::StopRegistrationForObjectClass(a)]
    );
    f.quiet();
    f.resign("C", ResignAction::NoAction);
    assert_eq!(
        f.callbacks("A"),
        [Callback::StopRegistrationForObjectClass(b)]
    );
    // Who publishes later is told then.
    subscribe(&mut f, "B", "A", &["x"], true);
    f.callbacks("A");
    f.join("D");
    publish(&mut f, "D", "A", &["x"]);
    assert_eq!(
        f.callbacks("D"),
        [Callback::StartRegistrationForObjectClass(a)]
    );
}

#[test]
fn what_is_unpublished_before_it_is_told_is_not_told() {
    let mut f = Federation::new("<objectClassRelevanceAdvisory isEnabled=\"true\"/>");
    f.join("A");
    f.join("B");
    publish(&mut f, "A", "A", &["x"]);
    subscribe(&mut f, "B", "A", &["x"], true);
    f.run();
    let class = f.class("A");
    f.call("A", |f| f.unpublish_object_class(class)).unwrap();
    f.quiet();
    publish(&mut f, "A", "A", &["x"]);
    assert_eq!(
        f.callbacks("A"),
        [Callback::StartRegistrationForObjectClass(class)]
    );
}

#[test]
fn interactions_are_turned_on_and_off() {
    let mut f = Federation::new(ALL_ON);
    f.join("A");
    f.join("B");
    let (i, j) = (f.interaction("I"), f.interaction("I.J"));
    for class in [i, j] {
        f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    }
    f.call("B", |f| f.subscribe_interaction_class(i, false))
        .unwrap();
    f.quiet();
    f.call("B", |f| f.subscribe_interaction_class(j, true))
        .unwrap();
    assert_eq!(f.callbacks("A"), [Callback::TurnInteractionsOn(j)]);
    f.call("B", |f| f.subscribe_interaction_class(i, true))
        .unwrap();
    assert_eq!(f.callbacks("A"), [Callback::TurnInteractionsOn(i)]);
    f.call("B", |f| f.unsubscribe_interaction_class(i)).unwrap();
    assert_eq!(f.callbacks("A"), [Callback::TurnInteractionsOff(i)]);
    f.lose("B");
    assert_eq!(f.callbacks("A"), [Callback::TurnInteractionsOff(j)]);
}

#[test]
fn a_switch_that_is_off_keeps_silent_and_tells_when_it_is_on() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    publish(&mut f, "A", "A", &["x"]);
    subscribe(&mut f, "B", "A", &["x"], true);
    f.quiet();
    let class = f.class("A");
    f.call("A", |f| f.enable_object_class_relevance_advisory_switch())
        .unwrap();
    assert_eq!(
        f.callbacks("A"),
        [Callback::StartRegistrationForObjectClass(class)]
    );
    unsubscribe(&mut f, "B", "A");
    f.run();
    f.call("A", |f| f.disable_object_class_relevance_advisory_switch())
        .unwrap();
    f.quiet();
    f.call("A", |f| f.enable_object_class_relevance_advisory_switch())
        .unwrap();
    assert_eq!(
        f.callbacks("A"),
        [Callback::StopRegistrationForObjectClass(class)]
    );
}

#[test]
fn switches_say_when_they_are_so_already() {
    let mut f = Federation::new("");
    f.join("A");
    use ExceptionKind::*;
    type Switch = fn(&mut Lrc<Sent>) -> Result<(), starling_core::Exception>;
    let switches: [(Switch, Switch, ExceptionKind, ExceptionKind); 4] = [
        (
            |f| f.enable_object_class_relevance_advisory_switch(),
            |f| f.disable_object_class_relevance_advisory_switch(),
            ObjectClassRelevanceAdvisorySwitchIsOn,
            ObjectClassRelevanceAdvisorySwitchIsOff,
        ),
        (
            |f| f.enable_interaction_relevance_advisory_switch(),
            |f| f.disable_interaction_relevance_advisory_switch(),
            InteractionRelevanceAdvisorySwitchIsOn,
            InteractionRelevanceAdvisorySwitchIsOff,
        ),
        (
            |f| f.enable_attribute_relevance_advisory_switch(),
            |f| f.disable_attribute_relevance_advisory_switch(),
            AttributeRelevanceAdvisorySwitchIsOn,
            AttributeRelevanceAdvisorySwitchIsOff,
        ),
        (
            |f| f.enable_attribute_scope_advisory_switch(),
            |f| f.disable_attribute_scope_advisory_switch(),
            AttributeScopeAdvisorySwitchIsOn,
            AttributeScopeAdvisorySwitchIsOff,
        ),
    ];
    for (enable, disable, is_on, is_off) in switches {
        assert_eq!(disable(f.federate("A")).unwrap_err().kind, is_off);
        enable(f.federate("A")).unwrap();
        assert_eq!(enable(f.federate("A")).unwrap_err().kind, is_on);
        disable(f.federate("A")).unwrap();
    }
}

#[test]
fn scope_follows_subscription_and_ownership() {
    let mut f = Federation::new("<attributeScopeAdvisory isEnabled=\"true\"/>");
    f.join("A");
    f.join("B");
    publish(&mut f, "A", "A.B", &["x", "y"]);
    let instance = register(&mut f, "A", "A.B");
    subscribe(&mut f, "B", "A", &["x"], true);
    let [x, y] = f.attributes(&["x", "y"])[..] else {
        unreachable!()
    };
    let told = f.callbacks("B");
    assert!(matches!(told[0], Callback::DiscoverObjectInstance { .. }));
    assert_eq!(told[1..], [inside(instance, vec![x])]);
    subscribe(&mut f, "B", "A", &["x", "y"], false);
    assert_eq!(f.callbacks("B"), [inside(instance, vec![y])]);
    // A no longer publishes y there, so nobody owns it.
    let class = f.class("A.B");
    f.call("A", |f| f.unpublish_object_class_attributes(class, &[y]))
        .unwrap();
    assert_eq!(f.callbacks("B"), [outside(instance, vec![y])]);
    unsubscribe(&mut f, "B", "A");
    assert_eq!(f.callbacks("B"), [outside(instance, vec![x])]);
    f.quiet();
}

#[test]
fn updates_are_turned_on_with_the_fastest_rate_and_off() {
    let mut f = Federation::new("<attributeRelevanceAdvisory isEnabled=\"true\"/>");
    f.join("A");
    f.join("B");
    f.join("C");
    publish(&mut f, "A", "A.B", &["x", "y"]);
    let instance = register(&mut f, "A", "A.B");
    let [x, y] = f.attributes(&["x", "y"])[..] else {
        unreachable!()
    };
    subscribe_at_rate(&mut f, "B", "A", &["x"], true, "Low");
    assert_eq!(f.callbacks("A"), [on(instance, vec![x], "Low")]);
    f.callbacks("B");
    subscribe_at_rate(&mut f, "C", "A.B", &["x"], true, "High");
    assert_eq!(f.callbacks("A"), [on(instance, vec![x], "High")]);
    f.callbacks("C");
    subscribe(&mut f, "C", "A.B", &["x", "y"], true);
    let told = f.callbacks("A");
    assert_eq!(told, [on(instance, vec![x, y], "")]);
    // Passive is no reason to update.
    subscribe(&mut f, "C", "A.B", &["x", "y"], false);
    assert_eq!(
        f.callbacks("A"),
        [off(instance, vec![y]), on(instance, vec![x], "Low")]
    );
    f.resign("B", ResignAction::NoAction);
    assert_eq!(f.callbacks("A"), [off(instance, vec![x])]);
}

#[test]
fn enabling_a_switch_tells_what_holds() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    publish(&mut f, "A", "A", &["x"]);
    let instance = register(&mut f, "A", "A");
    subscribe(&mut f, "B", "A", &["x"], true);
    f.callbacks("B");
    f.quiet();
    let x = f.attributes(&["x"]);
    f.call("B", |f| f.enable_attribute_scope_advisory_switch())
        .unwrap();
    assert_eq!(f.callbacks("B"), [inside(instance, x.clone())]);
    f.call("A", |f| f.enable_attribute_relevance_advisory_switch())
        .unwrap();
    assert_eq!(f.callbacks("A"), [on(instance, x, "")]);
}
