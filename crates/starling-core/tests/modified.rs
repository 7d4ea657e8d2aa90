//! HLAmodifyAttributeState (1516.1-2010, 11.4.1) while something about the attribute is under way: an attribute has one
//! owner, by the word of the executive and by that of every federate. The rest is in `tests/mom/adjust.scenario`.

use crate::common::Federation;
use starling_core::{
    AttributeHandle, Callback, LogicalTime, LogicalTimeInterval, ObjectInstanceHandle, Order,
    Service,
};

const MODIFY: &str = "HLAmanager.HLAfederate.HLAadjust.HLAmodifyAttributeState";

/// A has registered an instance that B and C know; all publish and subscribe x and y. M manages.
struct Setting {
    f: Federation,
    car: ObjectInstanceHandle,
    x: AttributeHandle,
    y: AttributeHandle,
}

fn setting() -> Setting {
    let mut f = Federation::new("");
    for name in ["A", "B", "C", "M"] {
        f.join(name);
    }
    let (class, xy) = (f.class("A"), f.attributes(&["x", "y"]));
    for name in ["A", "B", "C"] {
        f.call(name, |f| {
            f.publish_object_class_attributes(class, &xy)?;
            f.subscribe_object_class_attributes(class, &xy, true, "")
        })
        .unwrap();
    }
    let car = f.call("A", |f| f.register_object_instance(class, None));
    let modify = f.interaction(MODIFY);
    f.call("M", |f| f.publish_interaction_class(modify))
        .unwrap();
    for name in ["B", "C"] {
        assert_eq!(f.callbacks(name).len(), 1, "{name} discovers it");
    }
    f.quiet();
    Setting {
        f,
        car: car.unwrap(),
        x: xy[0],
        y: xy[1],
    }
}

impl Setting {
    /// The manager makes an attribute a federate's, or no longer.
    fn modify(&mut self, whom: &str, attribute: AttributeHandle, owned: bool) {
        let class = self.f.interaction(MODIFY);
        let array = |bytes: &[u8]| [&(bytes.len() as u32).to_be_bytes(), bytes].concat();
        let whom = self.f.member(whom).handle().0.to_be_bytes();
        let values = [
            ("HLAfederate", array(&whom)),
            ("HLAobjectInstance", array(&self.car.0.to_be_bytes())),
            ("HLAattribute", array(&attribute.raw().to_be_bytes())),
            ("HLAattributeState", u32::from(owned).to_be_bytes().to_vec()),
        ];
        self.f
            .call("M", |f| {
                let named = values.iter().map(|(name, value)| {
                    let parameter = f.parameter_handle(class, name).unwrap();
                    (parameter, value.as_slice())
                });
                let named: Vec<_> = named.collect();
                f.send_interaction(class, &named, b"")
            })
            .unwrap();
    }

    /// Whose an attribute is: by what each federate says, and by what the executive answers.
    fn owners(&mut self, attribute: AttributeHandle) -> (Vec<&'static str>, Option<String>) {
        let car = self.car;
        let mut owners = Vec::new();
        for name in ["A", "B", "C"] {
            let owns = self
                .f
                .call(name, |f| f.is_attribute_owned_by_federate(car, attribute));
            if owns.unwrap() {
                owners.push(name);
            }
        }
        self.f
            .call("B", |f| f.query_attribute_ownership(car, &[attribute]))
            .unwrap();
        let told = self.f.callbacks("B");
        let [Callback::InformAttributeOwnership { owner, .. }] = &told[..] else {
            panic!("{told:?}");
        };
        let owner = owner.and_then(|owner| owner.federate());
        let owner = owner.map(|f| self.f.federate("B").federate_name(f).unwrap());
        (owners, owner)
    }

    fn acquire(&mut self, name: &str, attribute: AttributeHandle) {
        let car = self.car;
        self.f
            .call(name, |f| {
                f.attribute_ownership_acquisition(car, &[attribute], b"")
            })
            .unwrap();
    }
}

fn one(name: &'static str) -> (Vec<&'static str>, Option<String>) {
    (vec![name], Some(name.to_owned()))
}

/// B was granted x and has not been told so when the manager gives it to C: the acquisition ends, and B may ask again.
#[test]
fn what_was_granted_and_not_told_is_not_acquired_when_it_is_another_s() {
    let mut s = setting();
    let (car, x, y) = (s.car, s.x, s.y);
    for attribute in [x, y] {
        s.acquire("B", attribute);
    }
    assert_eq!(s.f.callbacks("A").len(), 2, "it is asked");
    s.f.call("A", |f| {
        f.unconditional_attribute_ownership_divestiture(car, &[x, y], b"")
    })
    .unwrap();
    s.f.run();
    s.modify("C", x, true);
    let told = s.f.callbacks("B");
    assert!(
        matches!(
            &told[..],
            [
                Callback::AttributeOwnershipAcquisitionNotification { attributes: acquired, .. },
                Callback::AttributeOwnershipUnavailable { attributes: unavailable, .. },
            ] if acquired[..] == [y] && unavailable[..] == [x]
        ),
        "{told:?}"
    );
    assert_eq!(s.f.callbacks("C"), []);
    assert_eq!(s.owners(x), one("C"));
    assert_eq!(s.owners(y), one("B"));
    s.acquire("B", x);
    assert_eq!(s.f.callbacks("C").len(), 1, "it is asked");
}

/// A waits for the executive's word on x when the manager gives it to C.
#[test]
fn what_a_federate_has_asked_about_does_not_come_back_to_it_when_it_is_another_s() {
    for confirms in [false, true] {
        let mut s = setting();
        let (car, x) = (s.car, s.x);
        if confirms {
            s.f.call("A", |f| {
                f.negotiated_attribute_ownership_divestiture(car, &[x], b"")
            })
            .unwrap();
            assert_eq!(s.f.callbacks("C").len(), 1, "it is offered");
        }
        s.acquire("B", x);
        s.f.callbacks("B");
        assert_eq!(s.f.callbacks("A").len(), 1, "it is asked");
        let (service, asked) = s.f.call_late("A", |f| {
            if confirms {
                let asked = f.confirm_divestiture(car, &[x], b"");
                (Service::ConfirmDivestiture, asked)
            } else {
                let asked = f.attribute_ownership_divestiture_if_wanted(car, &[x], b"");
                (Service::AttributeOwnershipDivestitureIfWanted, asked)
            }
        });
        s.modify("C", x, true);
        s.f.hear();
        s.f.run();
        let answer = s.f.call("A", |f| f.divested(service, asked.unwrap()));
        match answer.expect("an answer") {
            Ok(divested) => assert_eq!((confirms, divested), (false, vec![])),
            Err(why) => assert!(confirms, "{why}"),
        }
        assert_eq!(s.f.callbacks("A"), []);
        assert_eq!(
            s.f.callbacks("C").len(),
            1,
            "it is asked by B's acquisition"
        );
        s.f.callbacks("B");
        assert_eq!(s.owners(x), one("C"));
    }
}

/// A has deleted the instance in time-stamp order, of which the executive hears later, and retracts that.
#[test]
fn what_is_given_and_taken_while_its_instance_is_away_is_so_when_it_is_back() {
    let mut s = setting();
    let (car, x, y) = (s.car, s.x, s.y);
    s.modify("B", y, true);
    s.f.quiet();
    let root = s.f.class("HLAobjectRoot");
    s.f.call("A", |f| {
        f.enable_time_regulation(LogicalTimeInterval::float64(1.0).unwrap())?;
        let privilege = f.attribute_handle(root, "HLAprivilegeToDeleteObject")?;
        f.change_attribute_order_type(car, &[privilege], Order::TimeStamp)
    })
    .unwrap();
    assert_eq!(s.f.callbacks("A").len(), 1, "it regulates");
    let deleted = s.f.call_late("A", |f| {
        f.delete_object_instance_at(car, b"", LogicalTime::float64(9.0).unwrap())
    });
    s.modify("C", x, true);
    s.modify("A", y, true);
    s.f.hear();
    s.f.call("A", |f| f.retract(deleted.unwrap())).unwrap();
    for name in ["A", "B", "C"] {
        s.f.callbacks(name);
    }
    assert_eq!(s.owners(x), one("C"));
    assert_eq!(s.owners(y), one("A"));
}
