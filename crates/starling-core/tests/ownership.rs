//! Ownership management, 1516.1-2010 chapter 7: what each service does, when it throws, and what
//! becomes of ownership elsewhere (publication, deletion, resignation).

use crate::common::{Federation, Sent};
use starling_core::message::ResignAction;
use starling_core::{
    AttributeHandle, Callback, Exception, ExceptionKind, Lrc, ObjectInstanceHandle, Owner, Service,
};

/// Federates that publish and subscribe x and y of class A; A has registered `self.car`.
struct Setting {
    f: Federation,
    car: ObjectInstanceHandle,
    x: AttributeHandle,
    y: AttributeHandle,
    privilege: AttributeHandle,
}

impl Setting {
    fn new(others: &[&str]) -> Self {
        let mut f = Federation::new("");
        f.join("A");
        let [x, y] = f.attributes(&["x", "y"])[..] else {
            unreachable!()
        };
        let privilege = f.attributes(&["HLAprivilegeToDeleteObject"])[0];
        let mut new = Setting {
            f,
            car: ObjectInstanceHandle(0),
            x,
            y,
            privilege,
        };
        new.declare("A", &[x, y]);
        for other in others {
            new.f.join(other);
            new.declare(other, &[x, y]);
        }
        new.car = new.register("A");
        for other in others {
            let found = new.f.callbacks(other);
            assert_eq!(found.len(), 1, "{other} discovers and is offered nothing");
        }
        new.f.quiet();
        new
    }

    fn declare(&mut self, name: &str, attributes: &[AttributeHandle]) {
        let class = self.f.class("A");
        self.f
            .call(name, |f| {
                f.publish_object_class_attributes(class, attributes)?;
                f.subscribe_object_class_attributes(class, attributes, true, "")
            })
            .unwrap();
    }

    fn register(&mut self, name: &str) -> ObjectInstanceHandle {
        let class = self.f.class("A");
        let done = self
            .f
            .call(name, |f| f.register_object_instance(class, None));
        done.unwrap()
    }

    /// A service on the car's attributes.
    fn try_do(
        &mut self,
        name: &str,
        service: fn(&mut Lrc<Sent>, ObjectInstanceHandle, List) -> Done,
        attributes: &[AttributeHandle],
    ) -> Result<(), Exception> {
        let car = self.car;
        let done = self.f.call(name, |f| service(f, car, attributes));
        self.f.run();
        done
    }

    fn unconditional(&mut self, name: &str, list: &[AttributeHandle]) {
        self.try_do(name, unconditional, list).unwrap();
    }

    fn negotiated(&mut self, name: &str, list: &[AttributeHandle]) {
        self.try_do(name, negotiated, list).unwrap();
    }

    fn acquire(&mut self, name: &str, list: &[AttributeHandle]) {
        self.try_do(name, acquire, list).unwrap();
    }

    fn if_available(&mut self, name: &str, list: &[AttributeHandle]) {
        self.try_do(name, if_available, list).unwrap();
    }

    fn deny(&mut self, name: &str, list: &[AttributeHandle]) {
        self.try_do(name, deny, list).unwrap();
    }

    fn cancel_divestiture(&mut self, name: &str, list: &[AttributeHandle]) {
        self.try_do(name, cancel_divestiture, list).unwrap();
    }

    fn cancel_acquisition(&mut self, name: &str, list: &[AttributeHandle]) {
        self.try_do(name, cancel_acquisition, list).unwrap();
    }

    fn confirm(
        &mut self,
        name: &str,
        list: &[AttributeHandle],
    ) -> Result<Vec<AttributeHandle>, Exception> {
        let car = self.car;
        let request = self
            .f
            .call(name, |f| f.confirm_divestiture(car, list, b"confirmed"))?;
        self.f.run();
        let answer = self
            .f
            .federate(name)
            .divested(Service::ConfirmDivestiture, request);
        answer.expect("the federation has answered")
    }

    fn if_wanted(
        &mut self,
        name: &str,
        list: &[AttributeHandle],
    ) -> Result<Vec<AttributeHandle>, Exception> {
        let car = self.car;
        let request = self.f.call(name, |f| {
            f.attribute_ownership_divestiture_if_wanted(car, list, b"")
        })?;
        self.f.run();
        let answer = self
            .f
            .federate(name)
            .divested(Service::AttributeOwnershipDivestitureIfWanted, request);
        answer.expect("the federation has answered")
    }

    /// What `name` is told of the car.
    fn told(&mut self, name: &str, expected: &[Callback]) {
        assert_eq!(self.f.callbacks(name), expected, "for {name}");
    }

    fn owner_of(&mut self, attribute: AttributeHandle) -> Vec<String> {
        let car = self.car;
        let names = ["A", "B", "C", "D"].into_iter();
        let names = names.filter(|n| self.f.is_joined(n)).collect::<Vec<_>>();
        let mut owners = Vec::new();
        for name in names {
            let owned = self
                .f
                .federate(name)
                .is_attribute_owned_by_federate(car, attribute);
            if owned == Ok(true) {
                owners.push(name.to_owned());
            }
        }
        assert!(owners.len() < 2, "two owners: {owners:?}");
        owners
    }

    fn assumption(&self, list: &[AttributeHandle], tag: &[u8]) -> Callback {
        Callback::RequestAttributeOwnershipAssumption {
            instance: self.car,
            attributes: list.to_vec(),
            tag: tag.to_vec(),
        }
    }

    fn confirmation(&self, list: &[AttributeHandle]) -> Callback {
        Callback::RequestDivestitureConfirmation {
            instance: self.car,
            attributes: list.to_vec(),
            tag: b"want".to_vec(),
        }
    }

    fn acquired(&self, list: &[AttributeHandle], tag: &[u8]) -> Callback {
        Callback::AttributeOwnershipAcquisitionNotification {
            instance: self.car,
            attributes: list.to_vec(),
            tag: tag.to_vec(),
        }
    }

    fn unavailable(&self, list: &[AttributeHandle]) -> Callback {
        Callback::AttributeOwnershipUnavailable {
            instance: self.car,
            attributes: list.to_vec(),
            tag: Vec::new(),
        }
    }

    fn release(&self, list: &[AttributeHandle]) -> Callback {
        Callback::RequestAttributeOwnershipRelease {
            instance: self.car,
            attributes: list.to_vec(),
            tag: b"want".to_vec(),
        }
    }

    fn cancelled(&self, list: &[AttributeHandle]) -> Callback {
        Callback::ConfirmAttributeOwnershipAcquisitionCancellation {
            instance: self.car,
            attributes: list.to_vec(),
        }
    }
}

type Done = Result<(), Exception>;
type List<'a> = &'a [AttributeHandle];

fn unconditional(f: &mut Lrc<Sent>, i: ObjectInstanceHandle, list: List) -> Done {
    f.unconditional_attribute_ownership_divestiture(i, list, b"")
}
fn negotiated(f: &mut Lrc<Sent>, i: ObjectInstanceHandle, list: List) -> Done {
    f.negotiated_attribute_ownership_divestiture(i, list, b"offer")
}
fn acquire(f: &mut Lrc<Sent>, i: ObjectInstanceHandle, list: List) -> Done {
    f.attribute_ownership_acquisition(i, list, b"want")
}
fn if_available(f: &mut Lrc<Sent>, i: ObjectInstanceHandle, list: List) -> Done {
    f.attribute_ownership_acquisition_if_available(i, list, b"want")
}
fn deny(f: &mut Lrc<Sent>, i: ObjectInstanceHandle, list: List) -> Done {
    f.attribute_ownership_release_denied(i, list, b"")
}
fn cancel_divestiture(f: &mut Lrc<Sent>, i: ObjectInstanceHandle, list: List) -> Done {
    f.cancel_negotiated_attribute_ownership_divestiture(i, list)
}
fn cancel_acquisition(f: &mut Lrc<Sent>, i: ObjectInstanceHandle, list: List) -> Done {
    f.cancel_attribute_ownership_acquisition(i, list)
}
fn query(f: &mut Lrc<Sent>, i: ObjectInstanceHandle, list: List) -> Done {
    f.query_attribute_ownership(i, list)
}
fn confirm(f: &mut Lrc<Sent>, i: ObjectInstanceHandle, list: List) -> Done {
    f.confirm_divestiture(i, list, b"").map(|_| ())
}
fn if_wanted(f: &mut Lrc<Sent>, i: ObjectInstanceHandle, list: List) -> Done {
    f.attribute_ownership_divestiture_if_wanted(i, list, b"")
        .map(|_| ())
}
fn is_owned(f: &mut Lrc<Sent>, i: ObjectInstanceHandle, list: List) -> Done {
    let mut each = list.iter();
    each.try_for_each(|a| f.is_attribute_owned_by_federate(i, *a).map(|_| ()))
}

#[test]
fn unconditional_divestiture_offers_and_the_first_to_ask_gets_it() {
    let mut s = Setting::new(&["B", "C"]);
    let x = s.x;
    s.unconditional("A", &[x]);
    assert!(s.owner_of(x).is_empty());
    s.told("A", &[]);
    s.told("B", &[s.assumption(&[x], b"")]);
    s.told("C", &[s.assumption(&[x], b"")]);
    s.acquire("B", &[x]);
    s.if_available("C", &[x]);
    s.told("B", &[s.acquired(&[x], b"")]);
    s.told("C", &[s.unavailable(&[x])]);
    assert_eq!(s.owner_of(x), ["B"]);
    s.f.quiet();
}

#[test]
fn negotiated_divestiture_is_confirmed_with_its_tag() {
    let mut s = Setting::new(&["B", "C"]);
    let (x, y) = (s.x, s.y);
    s.negotiated("A", &[x, y]);
    s.told("B", &[s.assumption(&[x, y], b"offer")]);
    s.told("C", &[s.assumption(&[x, y], b"offer")]);
    s.acquire("B", &[x]);
    s.told("A", &[s.confirmation(&[x])]);
    s.if_available("C", &[x]);
    s.f.quiet();
    assert_eq!(s.owner_of(x), ["A"], "until it confirms");
    assert_eq!(s.confirm("A", &[x]), Ok(vec![x]));
    assert_eq!(
        s.owner_of(x),
        Vec::<String>::new(),
        "nobody yet by its own view"
    );
    s.told("B", &[s.acquired(&[x], b"confirmed")]);
    s.told("C", &[s.unavailable(&[x])]);
    assert_eq!(s.owner_of(x), ["B"]);
    assert_eq!(s.owner_of(y), ["A"]);
    s.f.quiet();
}

#[test]
fn an_acquisition_if_available_waits_for_an_owner_who_divests() {
    let mut s = Setting::new(&["B"]);
    let x = s.x;
    s.negotiated("A", &[x]);
    s.f.callbacks("B");
    s.if_available("B", &[x]);
    s.told("B", &[]);
    s.told("A", &[s.confirmation(&[x])]);
    s.cancel_divestiture("A", &[x]);
    s.told("B", &[s.unavailable(&[x])]);
    assert_eq!(s.owner_of(x), ["A"]);
    s.f.quiet();
}

#[test]
fn a_pending_acquisition_asks_the_owner_again_when_it_keeps_the_attribute() {
    let mut s = Setting::new(&["B"]);
    let x = s.x;
    s.negotiated("A", &[x]);
    s.f.callbacks("B");
    s.acquire("B", &[x]);
    s.told("A", &[s.confirmation(&[x])]);
    s.cancel_divestiture("A", &[x]);
    s.told("A", &[s.release(&[x])]);
    s.told("B", &[]);
    assert_eq!(s.if_wanted("A", &[x]), Ok(vec![x]));
    s.told("B", &[s.acquired(&[x], b"")]);
}

#[test]
fn an_acquisition_asks_the_owner_who_may_deny_or_divest() {
    let mut s = Setting::new(&["B", "C"]);
    let (x, y) = (s.x, s.y);
    s.acquire("B", &[x, y]);
    s.told("A", &[s.release(&[x, y])]);
    s.acquire("C", &[x]);
    s.told("A", &[s.release(&[x])]);
    s.deny("A", &[y]);
    s.told("B", &[s.unavailable(&[y])]);
    s.told("C", &[]);
    assert_eq!(s.if_wanted("A", &[x, y]), Ok(vec![x]));
    assert_eq!(s.owner_of(y), ["A"], "nobody wants it any more");
    s.told("B", &[s.acquired(&[x], b""), s.release(&[x])]);
    s.told("C", &[]);
    s.unconditional("B", &[x]);
    s.told("C", &[s.acquired(&[x], b"")]);
    s.told("A", &[]);
    assert_eq!(s.owner_of(x), ["C"]);
    s.f.quiet();
}

#[test]
fn a_denial_is_for_those_acquisitions_of_which_the_owner_was_told() {
    let mut s = Setting::new(&["B", "C"]);
    let x = s.x;
    s.acquire("B", &[x]);
    s.told("A", &[s.release(&[x])]);
    s.acquire("C", &[x]);
    // A's release request for C waits in its queue.
    s.deny("A", &[x]);
    s.told("B", &[s.unavailable(&[x])]);
    s.told("C", &[]);
    s.told("A", &[s.release(&[x])]);
    s.deny("A", &[x]);
    s.told("C", &[s.unavailable(&[x])]);
    // Nobody asks for it now.
    s.deny("A", &[x]);
    s.f.quiet();
}

#[test]
fn if_available_gets_what_is_unowned_and_no_more() {
    let mut s = Setting::new(&["B"]);
    let (x, y) = (s.x, s.y);
    s.unconditional("A", &[x]);
    s.f.callbacks("B");
    s.if_available("B", &[x, y]);
    s.told("B", &[s.acquired(&[x], b""), s.unavailable(&[y])]);
    s.told("A", &[]);
    assert_eq!(
        (s.owner_of(x), s.owner_of(y)),
        (vec!["B".into()], vec!["A".into()])
    );
}

#[test]
fn an_acquisition_overrides_one_if_available() {
    let mut s = Setting::new(&["B"]);
    let x = s.x;
    let car = s.car;
    // Both before anything comes back: the answer to the first is not told.
    s.f.call("B", |f| {
        f.attribute_ownership_acquisition_if_available(car, &[x], b"")?;
        f.attribute_ownership_acquisition(car, &[x], b"want")
    })
    .unwrap();
    s.told("B", &[]);
    s.told("A", &[s.release(&[x])]);
    s.cancel_acquisition("B", &[x]);
    s.told("B", &[s.cancelled(&[x])]);
    s.f.quiet();
}

#[test]
fn a_cancelled_acquisition_is_confirmed_or_was_granted() {
    let mut s = Setting::new(&["B"]);
    let (x, y) = (s.x, s.y);
    s.acquire("B", &[x, y]);
    assert_eq!(s.if_wanted("A", &[x]), Ok(vec![x]));
    // The notification for x is on its way.
    s.cancel_acquisition("B", &[x, y]);
    s.told("B", &[s.acquired(&[x], b""), s.cancelled(&[y])]);
    assert_eq!(s.owner_of(x), ["B"]);
    // Of the request to release, only what is still owned is told.
    s.told("A", &[s.release(&[y])]);
    s.unconditional("A", &[y]);
    s.told("B", &[s.assumption(&[y], b"")]);
    assert!(s.owner_of(y).is_empty());
}

#[test]
fn a_denial_on_its_way_when_the_acquisition_is_cancelled_is_not_told() {
    let mut s = Setting::new(&["B"]);
    let x = s.x;
    s.acquire("B", &[x]);
    s.told("A", &[s.release(&[x])]);
    s.deny("A", &[x]);
    s.cancel_acquisition("B", &[x]);
    s.told("B", &[s.cancelled(&[x])]);
    // And again for one that is asked for again before the confirmation comes.
    s.acquire("B", &[x]);
    s.told("A", &[s.release(&[x])]);
    s.cancel_acquisition("B", &[x]);
    s.acquire("B", &[x]);
    s.told("B", &[s.cancelled(&[x])]);
    s.told("A", &[s.release(&[x])]);
    s.deny("A", &[x]);
    s.told("B", &[s.unavailable(&[x])]);
    s.f.quiet();
}

#[test]
fn nobody_acquires_any_more_when_the_owner_confirms() {
    let mut s = Setting::new(&["B", "C"]);
    let (x, y) = (s.x, s.y);
    s.negotiated("A", &[x, y]);
    s.f.callbacks("B");
    s.f.callbacks("C");
    s.acquire("B", &[x]);
    s.acquire("C", &[y]);
    s.told("A", &[s.confirmation(&[x]), s.confirmation(&[y])]);
    s.cancel_acquisition("B", &[x]);
    let refused = s.confirm("A", &[x, y]).unwrap_err();
    assert_eq!(refused.kind, ExceptionKind::NoAcquisitionPending);
    assert!(refused.message.contains("'x'"), "{refused}");
    assert_eq!(s.owner_of(y), ["A"], "all or none");
    s.told("B", &[s.cancelled(&[x])]);
    // The others are offered it again, and the owner is asked again.
    s.told("C", &[s.assumption(&[x], b"offer")]);
    s.if_available("C", &[x]);
    s.told("A", &[s.confirmation(&[x])]);
    assert_eq!(s.confirm("A", &[x, y]), Ok(vec![x, y]));
    s.told("C", &[s.acquired(&[x, y], b"confirmed")]);
    s.f.quiet();
}

#[test]
fn an_old_request_to_confirm_is_not_told_in_a_new_divestiture() {
    let mut s = Setting::new(&["B"]);
    let x = s.x;
    s.negotiated("A", &[x]);
    s.f.callbacks("B");
    s.if_available("B", &[x]);
    // A has not seen the request to confirm when it cancels and begins again.
    s.cancel_divestiture("A", &[x]);
    s.negotiated("A", &[x]);
    s.told("A", &[]);
    s.told("B", &[s.unavailable(&[x]), s.assumption(&[x], b"offer")]);
    s.acquire("B", &[x]);
    s.told("A", &[s.confirmation(&[x])]);
}

#[test]
fn late_publishers_and_late_discoverers_are_offered_it_once() {
    let mut s = Setting::new(&["B"]);
    let (x, y) = (s.x, s.y);
    s.unconditional("A", &[x]);
    s.negotiated("A", &[y]);
    s.told(
        "B",
        &[s.assumption(&[x], b""), s.assumption(&[y], b"offer")],
    );
    s.f.join("C");
    let class = s.f.class("A");
    s.f.call("C", |f| {
        f.subscribe_object_class_attributes(class, &[y], true, "")
    })
    .unwrap();
    assert_eq!(s.f.callbacks("C").len(), 1, "only the discovery");
    s.f.call("C", |f| f.publish_object_class_attributes(class, &[x]))
        .unwrap();
    s.told("C", &[s.assumption(&[x], b"")]);
    s.f.call("C", |f| f.publish_object_class_attributes(class, &[x, y]))
        .unwrap();
    s.told("C", &[s.assumption(&[y], b"offer")]);
    s.f.call("C", |f| {
        f.unpublish_object_class_attributes(class, &[x])?;
        f.publish_object_class_attributes(class, &[x])
    })
    .unwrap();
    s.told("C", &[s.assumption(&[x], b"")]);
    s.f.join("D");
    s.declare("D", &[x, y]);
    let told = s.f.callbacks("D");
    assert_eq!(
        told[1..],
        [s.assumption(&[x], b""), s.assumption(&[y], b"offer")]
    );
    s.f.quiet();
}

#[test]
fn what_nobody_ever_owned_is_offered() {
    let mut s = Setting::new(&["B"]);
    let (x, y) = (s.x, s.y);
    s.f.join("C");
    s.declare("C", &[x]);
    s.f.callbacks("C");
    // C registers an instance whose y it does not publish.
    s.car = s.register("C");
    for name in ["A", "B"] {
        let told = s.f.callbacks(name);
        assert_eq!(told[1..], [s.assumption(&[y], b"")], "for {name}");
    }
    s.told("C", &[]);
    s.declare("C", &[x, y]);
    s.told("C", &[s.assumption(&[y], b"")]);
    s.if_available("B", &[y]);
    s.told("B", &[s.acquired(&[y], b"")]);
    s.f.quiet();
}

#[test]
fn an_unowned_instance_is_discovered_when_somebody_acquires_an_attribute() {
    let mut s = Setting::new(&["B"]);
    let (x, y) = (s.x, s.y);
    s.unconditional("A", &[x]);
    s.f.join("C");
    let class = s.f.class("A");
    s.f.call("C", |f| {
        f.subscribe_object_class_attributes(class, &[x], true, "")
    })
    .unwrap();
    s.told("C", &[]);
    s.acquire("B", &[x]);
    assert!(matches!(
        s.f.callbacks("C")[..],
        [Callback::DiscoverObjectInstance { instance, .. }] if instance == s.car
    ));
    let _ = y;
}

#[test]
fn the_new_owner_updates_and_provides_values() {
    let mut s = Setting::new(&["B", "C"]);
    let (x, car) = (s.x, s.car);
    let update = |s: &mut Setting, name: &str| {
        s.f.call(name, |f| f.update_attribute_values(car, &[(x, b"v")], b""))
    };
    update(&mut s, "A").unwrap();
    s.unconditional("A", &[x]);
    let refused = update(&mut s, "A").unwrap_err();
    assert_eq!(refused.kind, ExceptionKind::AttributeNotOwned);
    assert!(
        refused.message.contains(": attribute 'x' of 'HLAinstance-"),
        "{refused}"
    );
    s.acquire("B", &[x]);
    let early = update(&mut s, "B").unwrap_err();
    assert_eq!(early.kind, ExceptionKind::AttributeNotOwned, "not notified");
    let told = s.f.callbacks("B");
    assert!(matches!(told[0], Callback::ReflectAttributeValues { .. }));
    assert_eq!(
        told[1..],
        [s.assumption(&[x], b""), s.acquired(&[x], b"")][1..]
    );
    update(&mut s, "B").unwrap();
    let reflected = |c: &&Callback| matches!(c, Callback::ReflectAttributeValues { .. });
    assert_eq!(s.f.callbacks("A").iter().filter(reflected).count(), 1);
    assert_eq!(s.f.callbacks("C").iter().filter(reflected).count(), 2);
    s.f.call("C", |f| {
        f.request_instance_attribute_value_update(car, &[x], b"")
    })
    .unwrap();
    assert_eq!(s.f.callbacks("A"), []);
    assert!(matches!(
        s.f.callbacks("B")[..],
        [Callback::ProvideAttributeValueUpdate { .. }]
    ));
}

#[test]
fn values_wanted_of_a_new_owner_are_asked_for_after_its_notification() {
    let mut s = Setting::new(&["B", "C"]);
    let (x, y, car) = (s.x, s.y, s.car);
    s.unconditional("A", &[x]);
    s.f.callbacks("B");
    s.acquire("B", &[x]);
    s.told("B", &[s.acquired(&[x], b"")]);
    let want = |s: &mut Setting, attribute| {
        s.f.call("C", |f| {
            f.request_instance_attribute_value_update(car, &[attribute], b"t")
        })
        .unwrap();
    };
    // B is asked for x, gets y, and is asked for y, before any of it is delivered.
    want(&mut s, x);
    s.acquire("B", &[y]);
    s.unconditional("A", &[y]);
    want(&mut s, y);
    let provide = |attribute| Callback::ProvideAttributeValueUpdate {
        instance: car,
        attributes: vec![attribute],
        tag: b"t".to_vec(),
    };
    s.told("B", &[provide(x), s.acquired(&[y], b""), provide(y)]);
}

#[test]
fn queries_tell_the_owner() {
    let mut s = Setting::new(&["B"]);
    let (x, y, car) = (s.x, s.y, s.car);
    let a = s.f.member("A").handle();
    s.unconditional("A", &[x]);
    s.f.callbacks("B");
    s.try_do("B", query, &[x, y]).unwrap();
    let inform = |attribute, owner| Callback::InformAttributeOwnership {
        instance: car,
        attributes: vec![attribute],
        owner,
    };
    s.told("B", &[inform(x, None), inform(y, Some(Owner::Federate(a)))]);
    s.try_do("A", query, &[y]).unwrap();
    s.told("A", &[inform(y, Some(Owner::Federate(a)))]);
}

#[test]
fn nobody_owns_what_is_deleted_and_not_yet_removed() {
    let mut s = Setting::new(&["B"]);
    let (x, y, car) = (s.x, s.y, s.car);
    s.f.call("B", |f| f.enable_time_constrained()).unwrap();
    assert_eq!(s.f.callbacks("B").len(), 1);
    s.f.call("A", |f| f.delete_object_instance(car, b""))
        .unwrap();
    s.try_do("B", query, &[x, y]).unwrap();
    let inform = Callback::InformAttributeOwnership {
        instance: car,
        attributes: vec![x, y],
        owner: None,
    };
    s.told("B", &[inform]);
    s.if_available("B", &[x]);
    s.told("B", &[s.unavailable(&[x])]);
    s.acquire("B", &[y]);
    s.told("B", &[]);
    s.cancel_acquisition("B", &[y]);
    s.told("B", &[s.cancelled(&[y])]);
    s.f.call("B", |f| f.disable_time_constrained()).unwrap();
    assert!(matches!(
        s.f.callbacks("B")[..],
        [Callback::RemoveObjectInstance { .. }]
    ));
}

#[test]
fn the_privilege_to_delete_changes_hands() {
    let mut s = Setting::new(&["B"]);
    let (privilege, car) = (s.privilege, s.car);
    s.unconditional("A", &[privilege]);
    s.told("B", &[s.assumption(&[privilege], b"")]);
    s.acquire("B", &[privilege]);
    s.told("B", &[s.acquired(&[privilege], b"")]);
    let refused = s.f.call("A", |f| f.delete_object_instance(car, b""));
    assert_eq!(
        refused.unwrap_err().kind,
        ExceptionKind::DeletePrivilegeNotHeld
    );
    s.f.call("B", |f| f.delete_object_instance(car, b"tag"))
        .unwrap();
    assert!(matches!(
        s.f.callbacks("A")[..],
        [Callback::RemoveObjectInstance { instance, .. }] if instance == car
    ));
    let gone = s.try_do("A", query, &[privilege]).unwrap_err();
    assert_eq!(gone.kind, ExceptionKind::ObjectInstanceNotKnown);
}

#[test]
fn deletion_ends_acquisitions() {
    let mut s = Setting::new(&["B"]);
    let (x, car) = (s.x, s.car);
    let class = s.f.class("A");
    s.acquire("B", &[x]);
    s.f.call("A", |f| f.delete_object_instance(car, b""))
        .unwrap();
    assert!(matches!(
        s.f.callbacks("B")[..],
        [Callback::RemoveObjectInstance { .. }]
    ));
    s.f.call("B", |f| f.unpublish_object_class(class)).unwrap();
    s.f.resign("B", ResignAction::NoAction);
    s.f.quiet();
}

#[test]
fn what_is_not_published_is_not_owned() {
    let mut s = Setting::new(&["B"]);
    let (x, y, privilege) = (s.x, s.y, s.privilege);
    let class = s.f.class("A");
    s.f.call("A", |f| f.unpublish_object_class_attributes(class, &[x]))
        .unwrap();
    s.told("B", &[s.assumption(&[x], b"")]);
    assert!(s.owner_of(x).is_empty());
    s.acquire("B", &[y]);
    assert_eq!(s.owner_of(privilege), ["A"]);
    s.f.call("A", |f| f.unpublish_object_class(class)).unwrap();
    s.told(
        "B",
        &[s.acquired(&[y], b""), s.assumption(&[privilege], b"")],
    );
    assert!(s.owner_of(privilege).is_empty());
    // Publishing again gives nothing back, but offers.
    s.declare("A", &[x, y]);
    s.told("A", &[s.assumption(&[privilege, x], b"")]);
    s.f.quiet();
}

#[test]
fn acquiring_forbids_unpublishing_forgetting_and_resigning() {
    let mut s = Setting::new(&["B"]);
    let (x, y, car) = (s.x, s.y, s.car);
    let class = s.f.class("A");
    s.acquire("B", &[x]);
    let pending = ExceptionKind::OwnershipAcquisitionPending;
    let kind = |done: Result<(), Exception>| done.unwrap_err().kind;
    let all = s.f.call("B", |f| f.unpublish_object_class(class));
    assert_eq!(kind(all), pending);
    let one =
        s.f.call("B", |f| f.unpublish_object_class_attributes(class, &[x]));
    assert_eq!(kind(one), pending);
    let forget = s.f.call("B", |f| f.local_delete_object_instance(car));
    assert_eq!(kind(forget), pending);
    use ResignAction::*;
    for action in [
        NoAction,
        DeleteObjects,
        UnconditionallyDivestAttributes,
        DeleteObjectsThenDivest,
    ] {
        let resign = s.f.call("B", |f| f.resign_federation_execution(action));
        assert_eq!(kind(resign), pending, "{action:?}");
    }
    s.f.call("B", |f| f.unpublish_object_class_attributes(class, &[y]))
        .unwrap();
    s.told("A", &[s.release(&[x])]);
    s.f.resign("B", CancelPendingOwnershipAcquisitions);
    // The acquisition is gone with it.
    assert_eq!(s.if_wanted("A", &[x]), Ok(vec![]));
    assert_eq!(s.owner_of(x), ["A"]);
}

#[test]
fn owning_forbids_forgetting_and_some_ways_of_resigning() {
    let mut s = Setting::new(&["B"]);
    let (x, car, privilege) = (s.x, s.car, s.privilege);
    s.unconditional("A", &[privilege]);
    let owns = ExceptionKind::FederateOwnsAttributes;
    let forget = s.f.call("A", |f| f.local_delete_object_instance(car));
    assert_eq!(forget.unwrap_err().kind, owns);
    use ResignAction::*;
    for action in [NoAction, DeleteObjects, CancelPendingOwnershipAcquisitions] {
        let resign = s.f.call("A", |f| f.resign_federation_execution(action));
        assert_eq!(resign.unwrap_err().kind, owns, "{action:?}");
    }
    let _ = x;
    s.f.resign("A", UnconditionallyDivestAttributes);
}

#[test]
fn resigning_or_lost_owners_leave_to_who_wants_it() {
    for lost in [false, true] {
        let mut s = Setting::new(&["B", "C"]);
        let (x, y, privilege) = (s.x, s.y, s.privilege);
        s.acquire("C", &[y]);
        if lost {
            s.f.call("A", |f| {
                f.set_automatic_resign_directive(ResignAction::UnconditionallyDivestAttributes)
                    .unwrap();
            });
            s.f.lose("A");
        } else {
            s.f.resign("A", ResignAction::UnconditionallyDivestAttributes)
        }
        s.told("B", &[s.assumption(&[privilege, x], b"")]);
        s.told(
            "C",
            &[s.acquired(&[y], b""), s.assumption(&[privilege, x], b"")],
        );
        s.if_available("B", &[x]);
        s.told("B", &[s.acquired(&[x], b"")]);
        s.f.quiet();
    }
}

#[test]
fn resigning_with_delete_removes_what_may_be_deleted_and_leaves_the_rest() {
    let mut s = Setting::new(&["B"]);
    let (x, y, privilege) = (s.x, s.y, s.privilege);
    s.unconditional("A", &[privilege]);
    s.acquire("B", &[privilege]);
    s.f.callbacks("B");
    s.f.resign("A", ResignAction::DeleteObjectsThenDivest);
    s.told("B", &[s.assumption(&[x, y], b"")]);
    assert_eq!(s.owner_of(privilege), ["B"]);
}

#[test]
fn local_deletion_forgets_also_the_registrars_own() {
    let mut s = Setting::new(&["B"]);
    let (x, y, car, privilege) = (s.x, s.y, s.car, s.privilege);
    s.unconditional("A", &[x, y, privilege]);
    s.f.call("A", |f| f.local_delete_object_instance(car))
        .unwrap();
    s.f.callbacks("B");
    s.acquire("B", &[x]);
    s.told("B", &[s.acquired(&[x], b"")]);
    // There is an owned attribute again: A discovers its former instance, and is offered the rest.
    let told = s.f.callbacks("A");
    assert!(matches!(
        told[0],
        Callback::DiscoverObjectInstance { instance, .. } if instance == car
    ));
    assert_eq!(told[1..], [s.assumption(&[privilege, y], b"")]);
    s.f.quiet();
}

#[test]
fn every_listed_exception_is_thrown() {
    use ExceptionKind::*;
    let mut s = Setting::new(&["B"]);
    let (x, y, car) = (s.x, s.y, s.car);
    let z = s.f.attributes(&["z"])[0];
    let all = [
        unconditional,
        negotiated,
        confirm,
        acquire,
        if_available,
        deny,
        if_wanted,
        cancel_divestiture,
        cancel_acquisition,
        query,
        is_owned,
    ];
    let kind = |done: Result<(), Exception>| done.unwrap_err().kind;
    for service in all {
        // z is an attribute of the subclass only.
        assert_eq!(kind(s.try_do("A", service, &[z])), AttributeNotDefined);
        let unknown = ObjectInstanceHandle(car.0 + 1);
        let done = s.f.call("A", |f| service(f, unknown, &[x]));
        assert_eq!(kind(done), ObjectInstanceNotKnown);
    }
    for service in [
        unconditional,
        negotiated,
        confirm,
        deny,
        if_wanted,
        cancel_divestiture,
    ] {
        assert_eq!(kind(s.try_do("B", service, &[x])), AttributeNotOwned);
    }
    for service in [acquire, if_available] {
        assert_eq!(kind(s.try_do("A", service, &[x])), FederateOwnsAttributes);
    }
    assert_eq!(
        kind(s.try_do("A", cancel_acquisition, &[x])),
        AttributeAlreadyOwned
    );
    assert_eq!(
        kind(s.try_do("B", cancel_acquisition, &[x])),
        AttributeAcquisitionWasNotRequested
    );
    for service in [confirm, cancel_divestiture] {
        let done = s.try_do("A", service, &[x]);
        assert_eq!(kind(done), AttributeDivestitureWasNotRequested);
    }
    s.negotiated("A", &[x]);
    assert_eq!(
        kind(s.try_do("A", negotiated, &[y, x])),
        AttributeAlreadyBeingDivested
    );
    assert_eq!(s.confirm("A", &[x]).unwrap_err().kind, NoAcquisitionPending);
    s.cancel_divestiture("A", &[x]);
    s.acquire("B", &[x]);
    assert_eq!(
        kind(s.try_do("B", if_available, &[y, x])),
        AttributeAlreadyBeingAcquired
    );
    s.acquire("B", &[x]);
    // Nothing of the refused calls has happened.
    s.if_available("B", &[y]);
    let class = s.f.class("A");
    s.f.join("C");
    s.f.call("C", |f| {
        f.subscribe_object_class_attributes(class, &[x, y], true, "")
    })
    .unwrap();
    s.f.callbacks("C");
    for service in [acquire, if_available] {
        assert_eq!(kind(s.try_do("C", service, &[x])), ObjectClassNotPublished);
    }
    s.f.call("C", |f| f.publish_object_class_attributes(class, &[y]))
        .unwrap();
    for service in [acquire, if_available] {
        assert_eq!(kind(s.try_do("C", service, &[x])), AttributeNotPublished);
    }
    assert_eq!(
        s.f.federate("B").is_attribute_owned_by_federate(car, x),
        Ok(false)
    );
}
