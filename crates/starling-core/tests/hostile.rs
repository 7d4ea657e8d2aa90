//! What one federate sends past its LRC: the executive refuses it, and the others go on.

use crate::common::Federation;
use starling_core::message::{After, Data, LogIndex, RequestNumber, Stamp};
use starling_core::message::{
    AttributeRegions, DataBody, Payload, Range, RegionSpecification, RequestBody, ResignAction,
    SubscribedAttribute, ddm, declaration, federation, object, ownership, time,
};
use starling_core::{
    AddressBuf, AttributeHandle, Callback, DataPath, Divestiture, Exception, ExceptionKind,
    FederateHandle, LogicalTime, LogicalTimeInterval, ObjectInstanceHandle, RegionHandle, Service,
    Transportation, ValuesBuf,
};

/// A owns x and y of an instance, which B and C know and publish, too.
fn owned() -> (Federation, ObjectInstanceHandle, Vec<AttributeHandle>) {
    let mut f = Federation::new("");
    let names = ["A", "B", "C"];
    for name in names {
        f.join(name);
    }
    let (class, list) = (f.class("A"), f.attributes(&["x", "y"]));
    for name in names {
        f.call(name, |f| f.publish_object_class_attributes(class, &list))
            .unwrap();
        f.call(name, |f| {
            f.subscribe_object_class_attributes(class, &list, true, "")
        })
        .unwrap();
    }
    let instance = f.call("A", |f| f.register_object_instance(class, None));
    for name in names {
        f.callbacks(name);
    }
    (f, instance.unwrap(), list)
}

/// A region of D, committed by A past its LRC.
fn region(f: &mut Federation, number: u32) -> RegionHandle {
    let dimension = f.call("A", |f| f.dimension_handle("D")).unwrap();
    let region = RegionHandle::new(f.member("A").handle(), number);
    let range = Range {
        dimension,
        lower: 0,
        upper: 1,
    };
    let ranges = vec![range];
    let commit = ddm::Request::CommitRegions(vec![RegionSpecification { region, ranges }]);
    f.forge_request("A", &[], commit).unwrap();
    region
}

/// The federation execution goes on for a federate.
fn is_served(f: &mut Federation, name: &str) {
    f.call(name, |f| f.reserve_object_instance_name("served"))
        .unwrap();
    let told = f.callbacks(name);
    let served = |c: &Callback| {
        matches!(
            c,
            Callback::NamesReserved {
                succeeded: true,
                ..
            }
        )
    };
    assert!(told.iter().any(served), "{told:?}");
}

#[test]
fn an_attribute_listed_twice_is_divested_once() {
    let (mut f, instance, list) = owned();
    let x = list[0];
    for name in ["B", "C"] {
        f.call(name, |f| {
            f.attribute_ownership_acquisition(instance, &[x], b"")
        })
        .unwrap();
    }
    let request = f.call("A", |f| {
        f.attribute_ownership_divestiture_if_wanted(instance, &[x, list[1], x], b"")
    });
    f.run();
    let service = Service::AttributeOwnershipDivestitureIfWanted;
    let divested = f.call("A", |f| f.divested(service, request.unwrap()));
    assert_eq!(divested, Some(Ok(vec![x])));
    let mut acquired = |name| {
        let told = f.callbacks(name);
        let is = |c: &&Callback| {
            matches!(
                c,
                Callback::AttributeOwnershipAcquisitionNotification { .. }
            )
        };
        told.iter().filter(is).count()
    };
    assert_eq!((acquired("B"), acquired("C")), (1, 0));
    is_served(&mut f, "A");
}

#[test]
fn a_set_that_names_something_twice_ends_its_sender_alone() {
    type Make = fn(&mut Federation, ObjectInstanceHandle, Vec<AttributeHandle>) -> RequestBody;
    fn divest(
        how: Divestiture,
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
    ) -> RequestBody {
        let tag = vec![];
        let divest = ownership::Request::DivestOwnership {
            how,
            instance,
            attributes,
            tag,
        };
        divest.into()
    }
    fn subscribe(f: &mut Federation, regions: Vec<AttributeRegions>) -> RequestBody {
        let subscribe = ddm::Request::SubscribeObjectClassWithRegions {
            class: f.class("A"),
            regions,
            active: true,
            rate: String::new(),
        };
        subscribe.into()
    }
    let all: [Make; 11] = [
        |_, instance, twice| divest(Divestiture::IfWanted, instance, twice),
        |_, instance, twice| divest(Divestiture::Confirmed, instance, twice),
        |_, instance, twice| divest(Divestiture::Unconditional, instance, twice),
        |_, instance, attributes| {
            let query = ownership::Request::QueryOwnership {
                instance,
                attributes,
            };
            query.into()
        },
        |_, instance, attributes| {
            let tag = vec![];
            let wanted = object::Request::RequestInstanceUpdate {
                instance,
                attributes,
                tag,
            };
            wanted.into()
        },
        |_, _, _| {
            let names = vec!["b".into(), "a".into()];
            let multiple = true;
            object::Request::ReserveNames { names, multiple }.into()
        },
        |f, _, attributes| {
            let class = f.class("A");
            declaration::Request::PublishObjectClass { class, attributes }.into()
        },
        |f, _, twice| {
            let class = f.class("A");
            let subscribed = |attribute| SubscribedAttribute {
                attribute,
                active: true,
                rate: String::new(),
            };
            let attributes = twice.into_iter().map(subscribed).collect();
            declaration::Request::SubscribeObjectClass { class, attributes }.into()
        },
        |_, _, _| {
            let register = federation::Request::RegisterSynchronizationPoint {
                label: "l".into(),
                tag: vec![],
                set: vec![FederateHandle(2), FederateHandle(1)],
            };
            register.into()
        },
        |f, _, attributes| {
            let regions = vec![region(f, 1)];
            let twice = AttributeRegions {
                attributes,
                regions,
            };
            subscribe(f, vec![twice])
        },
        |f, _, twice| {
            let regions = vec![region(f, 1)];
            let item = |attribute| AttributeRegions {
                attributes: vec![attribute],
                regions: regions.clone(),
            };
            subscribe(f, twice.into_iter().map(item).collect())
        },
    ];
    for make in all {
        let (mut f, instance, list) = owned();
        for name in ["B", "C"] {
            f.call(name, |f| {
                f.attribute_ownership_acquisition(instance, &list, b"")
            })
            .unwrap();
        }
        let forged = make(&mut f, instance, vec![list[0]; 2]);
        let why = f.forge_request("A", &[], forged);
        let why = why.expect_err("it names something twice, or does not ascend");
        assert!(why.contains("does not ascend"), "{why}");
        is_served(&mut f, "B");
    }
}

#[test]
fn fences_name_each_receiver_once_and_only_where_there_are_links() {
    let mut f = Federation::new("");
    let (_, b) = (f.join("A"), f.join("B"));
    let nothing = || object::Request::ReleaseNames { names: vec![] };
    let why = f.forge_request("A", &[b], nothing()).unwrap_err();
    assert!(why.contains("no links"), "{why}");
    is_served(&mut f, "B");

    let mut f = Federation::direct("");
    let (_, b) = (f.join("A"), f.join("B"));
    let why = f.forge_request("A", &[b, b], nothing()).unwrap_err();
    assert!(why.contains("does not ascend"), "{why}");
    is_served(&mut f, "B");
}

/// B has not come to the removal of A's instance when A registers its handle again.
#[test]
fn a_handle_registered_again_ends_its_registrar_alone() {
    let (mut f, instance, _) = owned();
    f.call("B", |f| f.enable_time_constrained()).unwrap();
    f.callbacks("B");
    f.call("A", |f| f.delete_object_instance(instance, b""))
        .unwrap();
    f.callbacks("B");
    let again = object::Request::RegisterObject {
        instance,
        class: f.class("A"),
        name: None,
    };
    let why = f.forge_request("A", &[], again).unwrap_err();
    assert!(why.contains("not its next handle"), "{why}");
    is_served(&mut f, "B");
}

#[test]
fn nobody_chooses_the_number_of_an_instance() {
    let (mut f, instance, _) = owned();
    let far = ObjectInstanceHandle::new(FederateHandle(instance.block()), instance.number() + 2);
    let far = object::Request::RegisterObject {
        instance: far,
        class: f.class("A"),
        name: None,
    };
    let why = f.forge_request("A", &[], far).unwrap_err();
    assert!(why.contains("not its next handle"), "{why}");
    is_served(&mut f, "B");
}

#[test]
fn pairs_of_attribute_and_region_are_bounded() {
    let mut f = Federation::new("");
    f.join("A");
    f.join("B");
    let item = |n: u32| AttributeRegions {
        attributes: (0..n).map(AttributeHandle::from_raw).collect(),
        regions: (0..n)
            .map(|n| RegionHandle::new(FederateHandle(1), n))
            .collect(),
    };
    let forged = ddm::Request::SubscribeObjectClassWithRegions {
        class: f.class("A"),
        regions: vec![item(257)],
        active: true,
        rate: String::new(),
    };
    let why = f.forge_request("A", &[], forged).unwrap_err();
    assert!(why.contains("66049 pairs"), "{why}");
    is_served(&mut f, "B");

    // A federate that means it is told what to do.
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    let dimension = f.call("B", |f| f.dimension_handle("D")).unwrap();
    let region = f.call("B", |f| f.create_region(&[dimension])).unwrap();
    f.call("B", |f| f.commit_region_modifications(&[region]))
        .unwrap();
    let many = |pairs: usize| AttributeRegions {
        attributes: x.clone(),
        regions: vec![region; pairs],
    };
    let mut subscribe = |pairs| {
        f.call("B", |f| {
            f.subscribe_object_class_attributes_with_regions(class, &[many(pairs)], true, "")
        })
    };
    let refused = subscribe(65_537).unwrap_err();
    assert_eq!(refused.kind, ExceptionKind::RTIinternalError);
    assert!(refused.message.contains("in several calls"), "{refused:?}");
    subscribe(65_536).unwrap();
}

#[test]
fn what_the_fdd_does_not_have_ends_its_sender_alone() {
    type Make = fn(&mut Federation, AttributeHandle) -> RequestBody;
    let all: [Make; 3] = [
        |f, _| {
            let attributes = (0..9).map(|n| AttributeHandle::from_raw(1_000 + n));
            let wanted = object::Request::RequestClassUpdate {
                class: f.class("A"),
                attributes: attributes.collect(),
                tag: vec![],
            };
            wanted.into()
        },
        |f, _| {
            let change = object::Request::ChangeInteractionTransportation {
                class: starling_core::InteractionClassHandle::from_raw(1_000),
                transportation: Transportation::Reliable,
            };
            f.run();
            change.into()
        },
        |f, attribute| {
            let subscribe = declaration::Request::SubscribeObjectClass {
                class: f.class("A"),
                attributes: vec![SubscribedAttribute {
                    attribute,
                    active: true,
                    rate: "r".repeat(1_000),
                }],
            };
            subscribe.into()
        },
    ];
    for make in all {
        let (mut f, _, list) = owned();
        let forged = make(&mut f, list[0]);
        f.forge_request("A", &[], forged).unwrap_err();
        is_served(&mut f, "B");
    }
}

/// A says of a region of B's what it is not.
#[test]
fn what_time_management_does_not_allow_in_a_state_ends_its_sender_alone() {
    use time::Request::*;
    let interval = |value| LogicalTimeInterval::float64(value).unwrap();
    let (one, back) = (interval(1.0), interval(-1.0));
    let (other, steps) = (LogicalTime::integer64(5), LogicalTimeInterval::integer64(1));
    let to = |to| Advance {
        kind: starling_core::Advance::Time,
        to,
    };
    let advance = to(LogicalTime::float64(5.0).unwrap());
    let behind = to(LogicalTime::float64(-1.0).unwrap());
    let retract = Retract {
        number: 1,
        time: LogicalTime::float64(5.0).unwrap(),
    };
    #[derive(Debug)]
    enum Is {
        Neither,
        Regulating,
        Constrained,
        Both,
    }
    use Is::*;
    // What it is when it sends what; the last one is refused.
    let wrong: &[(Is, &[_])] = &[
        (Neither, &[EnableRegulation(back)]),
        (Neither, &[EnableRegulation(steps)]),
        (Regulating, &[EnableRegulation(one)]),
        (Constrained, &[advance, EnableRegulation(one)]),
        (Neither, &[DisableRegulation]),
        (Constrained, &[EnableConstrained]),
        (Neither, &[DisableConstrained]),
        (Constrained, &[advance, advance]),
        (Neither, &[to(other)]),
        (Neither, &[behind]),
        (Neither, &[ModifyLookahead(one)]),
        (Regulating, &[ModifyLookahead(back)]),
        (Regulating, &[ModifyLookahead(steps)]),
        (Both, &[advance, ModifyLookahead(one)]),
        (Neither, &[retract]),
    ];
    for (is, sent) in wrong {
        let mut f = Federation::new("");
        f.join("A");
        f.join("B");
        let regulate = |f: &mut Federation, name| {
            f.call(name, |f| f.enable_time_regulation(one)).unwrap();
            assert_eq!(f.callbacks(name).len(), 1);
        };
        // So that an advance waits.
        regulate(&mut f, "B");
        if matches!(is, Regulating | Both) {
            regulate(&mut f, "A");
        }
        if matches!(is, Constrained | Both) {
            f.call("A", |f| f.enable_time_constrained()).unwrap();
            assert_eq!(f.callbacks("A").len(), 1);
        }
        let (at, why) = f.forge_time("A", sent).unwrap_err();
        assert_eq!(at, sent.len() - 1, "{is:?} {sent:?}: {why}");
        assert!(why.contains("can't be in its state"), "{why}");
        is_served(&mut f, "B");
    }
}

/// §8.21: what can't be retracted any more stays deleted, whoever says it is not.
#[test]
fn a_deletion_that_is_for_good_is_not_undone_by_a_forged_retraction() {
    let at = |time| LogicalTime::float64(time).unwrap();
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
    f.run();
    let one = LogicalTimeInterval::float64(1.0).unwrap();
    f.call("A", |f| f.enable_time_regulation(one)).unwrap();
    f.call("B", |f| f.enable_time_constrained()).unwrap();
    let instance = f
        .call("A", |f| f.register_object_instance(class, None))
        .unwrap();
    let told = |f: &mut Federation, name: &str| -> Vec<_> {
        f.callbacks(name).iter().map(Callback::name).collect()
    };
    assert_eq!(told(&mut f, "A"), ["timeRegulationEnabled"]);
    assert_eq!(
        told(&mut f, "B"),
        ["timeConstrainedEnabled", "discoverObjectInstance"]
    );
    f.call("A", |f| f.delete_object_instance_at(instance, b"", at(9.0)))
        .unwrap();
    f.call("A", |f| f.time_advance_request(at(20.0))).unwrap();
    assert_eq!(told(&mut f, "A"), ["timeAdvanceGrant"]);
    let retract = time::Request::Retract {
        number: 1,
        time: at(9.0),
    };
    f.forge_time("A", &[retract]).unwrap();
    f.call("B", |f| f.time_advance_request(at(15.0))).unwrap();
    assert_eq!(
        told(&mut f, "B"),
        ["removeObjectInstance", "timeAdvanceGrant"]
    );
    assert_eq!(f.status().instances, 0, "it is gone for all");
}

#[test]
fn nobody_speaks_for_the_regions_of_others() {
    let mut f = Federation::new("<conveyRegionDesignatorSets isEnabled=\"true\"/>");
    for name in ["A", "B", "C"] {
        f.join(name);
    }
    let class = f.interaction("I");
    f.call("C", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    let dimension = f.call("A", |f| f.dimension_handle("D")).unwrap();
    let region = RegionHandle::new(f.member("B").handle(), 1);
    let range = Range {
        dimension,
        lower: 7,
        upper: 8,
    };
    let to = [f.member("C").handle()];
    let with = [(region, &[range][..])];
    let address = AddressBuf::new(&to, with.into_iter());
    let none = ValuesBuf::default();
    let payload = Payload {
        transportation: Transportation::Reliable,
        values: none.values(),
        tag: b"",
        address: Some(address.borrow()),
        stamp: None,
    };
    f.forge_arriving("A", DataBody::Interaction { class, payload });
    let told = f.callbacks("C");
    let Some(Callback::ReceiveInteraction { regions, .. }) = told.first() else {
        panic!("{told:?}");
    };
    assert_eq!(regions.as_deref(), Some(&[][..]));
    let asked = f.member("C").range_bounds(region, dimension);
    assert_eq!(asked.unwrap_err().kind, ExceptionKind::InvalidRegion);
}

/// What the executive keeps of one federate in the tests below.
const KEPT_BYTES: usize = 20_000;

/// A and B, of whom not much is kept.
fn bounded() -> Federation {
    let mut f = Federation::bounded(KEPT_BYTES);
    for name in ["A", "B"] {
        f.join(name);
    }
    f
}

/// Makes one after the other until it is refused; how many were not.
fn until_refused(
    f: &mut Federation,
    mut make: impl FnMut(&mut Federation, u32) -> Result<(), String>,
) -> u32 {
    for n in 1..10_000 {
        if let Err(why) = make(f, n) {
            assert!(why.contains("limits.kept_bytes of rtiexec"), "{why}");
            let named = ["'A' would have ", "the federate would have "];
            assert!(named.iter().any(|n| why.starts_with(n)), "{why}");
            assert!(!f.is_joined("A"));
            is_served(f, "B");
            return n - 1;
        }
    }
    panic!("there is no bound");
}

#[test]
fn names_reserved_are_bounded() {
    let mut f = bounded();
    let reserve = |f: &mut Federation, who: &str, name: &str| {
        f.call(who, |f| f.reserve_object_instance_name(name))
            .unwrap();
        match &f.callbacks(who)[..] {
            [Callback::NamesReserved { succeeded, .. }] => *succeeded,
            other => panic!("{other:?}"),
        }
    };
    let long = "n".repeat(1_000);
    let mut names = (0..).map(|n| format!("{long}{n}"));
    let fits = names.by_ref().take_while(|name| reserve(&mut f, "A", name));
    assert_eq!(fits.count(), KEPT_BYTES / 1_129);
    // Nobody else is refused, and who gives some back may reserve others.
    assert!(reserve(&mut f, "B", "of B"));
    let released = f.call("A", |f| f.release_object_instance_name(&format!("{long}0")));
    released.unwrap();
    assert!(reserve(&mut f, "A", "another"));
    assert!(f.is_joined("A"));
    let name = format!("{long}1");
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    f.call("A", |f| f.publish_object_class_attributes(class, &x))
        .unwrap();
    f.call("A", |f| f.register_object_instance(class, Some(&name)))
        .unwrap();
    assert!(reserve(&mut f, "A", "it is an instance's now"));
}

#[test]
fn instances_are_bounded() {
    let register = |f: &mut Federation, number| {
        let request = object::Request::RegisterObject {
            instance: ObjectInstanceHandle::new(FederateHandle(1), number),
            class: f.class("A"),
            name: None,
        };
        f.forge_request("A", &[], request)
    };
    let mut f = bounded();
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    f.call("A", |f| f.publish_object_class_attributes(class, &x))
        .unwrap();
    // What is deleted does not count.
    for number in 1..=200 {
        register(&mut f, number).unwrap();
        let instance = ObjectInstanceHandle::new(FederateHandle(1), number);
        let (tag, stamp) = (vec![], None);
        let delete = object::Request::DeleteObject {
            instance,
            tag,
            stamp,
        };
        f.forge_request("A", &[], delete).unwrap();
    }
    let fits = until_refused(&mut f, |f, n| register(f, 200 + n));
    assert!((40..70).contains(&fits), "{fits} instances");
}

#[test]
fn regions_and_what_they_are_used_for_are_bounded() {
    let fits = until_refused(&mut bounded(), |f, n| {
        let dimension = f.call("B", |f| f.dimension_handle("D")).unwrap();
        let range = Range {
            dimension,
            lower: 0,
            upper: 1,
        };
        // The first again and again takes no more room.
        for number in [1, n] {
            let specification = RegionSpecification {
                region: RegionHandle::new(FederateHandle(1), number),
                ranges: vec![range],
            };
            let commit = ddm::Request::CommitRegions(vec![specification]);
            f.forge_request("A", &[], commit)?;
        }
        Ok(())
    });
    assert!((80..140).contains(&fits), "{fits} regions");

    // Each pair of a region and what it is subscribed or associated with counts, and once only.
    let mut f = bounded();
    let regions: Vec<_> = (1..=30).map(|number| region(&mut f, number)).collect();
    let (class, interaction) = (f.class("A"), f.interaction("I"));
    let list = f.attributes(&["x", "y"]);
    f.call("A", |f| f.publish_object_class_attributes(class, &list))
        .unwrap();
    let instance = f.call("A", |f| f.register_object_instance(class, None));
    let instance = instance.unwrap();
    let mut made = Vec::new();
    let fits = until_refused(&mut f, |f, n| {
        let regions = vec![regions[n as usize]];
        let pair = AttributeRegions {
            attributes: vec![list[0]],
            regions: regions.clone(),
        };
        let all: [RequestBody; 3] = [
            ddm::Request::SubscribeObjectClassWithRegions {
                class,
                regions: vec![pair.clone()],
                active: true,
                rate: String::new(),
            }
            .into(),
            ddm::Request::SubscribeInteractionWithRegions {
                class: interaction,
                regions,
                active: true,
            }
            .into(),
            ddm::Request::AssociateRegions {
                instance,
                regions: vec![pair],
            }
            .into(),
        ];
        for request in all {
            f.forge_request("A", &[], request.clone())?;
            made.push(request);
        }
        for request in &made {
            f.forge_request("A", &[], request.clone())?;
        }
        Ok(())
    });
    assert!((20..29).contains(&fits), "{fits} of each");
}

#[test]
fn synchronization_points_are_bounded() {
    let register = |f: &mut Federation, label: String| {
        let request = federation::Request::RegisterSynchronizationPoint {
            label,
            tag: vec![0; 1_000],
            set: vec![],
        };
        f.forge_request("A", &[], request)
    };
    let mut f = bounded();
    for n in 0..100 {
        register(&mut f, format!("{n}")).unwrap();
        for name in ["A", "B"] {
            f.callbacks(name);
            let achieved = |f: &mut starling_core::Lrc<_>| {
                f.synchronization_point_achieved(&format!("{n}"), true)
            };
            f.call(name, achieved).unwrap();
        }
    }
    let fits = until_refused(&mut f, |f, n| register(f, format!("p{n}")));
    assert!((12..20).contains(&fits), "{fits} points");
}

/// What is kept of a point grows with the federates that it is for, also with those that join later.
#[test]
fn federates_that_synchronization_points_are_for_are_bounded() {
    let register = |f: &mut Federation, n: u32| {
        let request = federation::Request::RegisterSynchronizationPoint {
            label: format!("{n}"),
            tag: vec![],
            set: vec![],
        };
        f.forge_request("A", &[], request)
    };
    let mut f = bounded();
    for n in 2..50 {
        f.join(&format!("{n}"));
    }
    let fits = until_refused(&mut f, register);
    assert!((18..24).contains(&fits), "{fits} points for 50");
    let mut f = bounded();
    for n in 0..40 {
        register(&mut f, n).unwrap();
    }
    let refused = (0..1_000).find_map(|n| {
        let joined = f.join_with(&format!("{n}"), vec![]);
        Some((n, joined.err()?))
    });
    let (fits, why) = refused.expect("there is no bound");
    assert!((15..25).contains(&fits), "{fits} joiners");
    assert_eq!(why.kind, ExceptionKind::RTIinternalError);
    let named = "that 'A' registered";
    assert!(
        why.message.contains(named) && why.message.contains("limits.kept_bytes"),
        "{why}"
    );
    f.resign("0", ResignAction::NoAction);
    f.join("in its place");
    // What A leaves counts on.
    f.lose("A");
    f.join("in A's place");
    let refused = f.join_with("too many", vec![]).unwrap_err();
    assert!(
        refused
            .message
            .contains("that federates that have resigned registered"),
        "{refused}"
    );
    f.resign("1", ResignAction::NoAction);
    f.join("in that of 1");
    // What is counted is what there is: this looks.
    f.executive().save("F").expect("it is there");
}

#[test]
fn messages_that_may_be_retracted_are_bounded() {
    let mut f = bounded();
    let class = f.interaction("I");
    f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    f.call("B", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    let lookahead = LogicalTimeInterval::float64(1.0).unwrap();
    f.call("A", |f| f.enable_time_regulation(lookahead))
        .unwrap();
    f.callbacks("A");
    let fits = until_refused(&mut f, |f, n| {
        let none = ValuesBuf::default();
        let stamp = Stamp {
            time: LogicalTime::float64(9.0).unwrap(),
            retraction: Some(n.into()),
        };
        let payload = Payload {
            transportation: Transportation::Reliable,
            values: none.values(),
            tag: b"",
            address: None,
            stamp: Some(stamp),
        };
        f.forge_refused("A", DataBody::Interaction { class, payload })
    });
    assert!((80..160).contains(&fits), "{fits} messages");
}

/// Joins as `name`, registers instances or synchronization points, resigns and leaves them; whether it
/// could join.
fn leave(f: &mut Federation, name: &str, what: &str) -> Result<(), String> {
    f.join_with(name, vec![]).map_err(|e| e.message)?;
    let (class, x) = (f.class("A"), f.attributes(&["x"]));
    f.call(name, |f| {
        f.publish_object_class_attributes(class, &x)?;
        for n in 0..3 {
            if what == "object instances" {
                f.register_object_instance(class, None)?;
            } else {
                let label = format!("{name}{n}");
                f.register_federation_synchronization_point(&label, &[0; 500], &[])?;
            }
        }
        Ok::<_, Exception>(())
    })
    .unwrap();
    f.run();
    f.resign(name, ResignAction::UnconditionallyDivestAttributes);
    Ok(())
}

#[test]
fn what_those_leave_who_join_again_and_again_is_bounded() {
    for what in ["object instances", "synchronization points"] {
        let mut f = Federation::bounded(5000);
        f.join("A");
        let (class, x) = (f.class("A"), f.attributes(&["x"]));
        f.call("A", |a| {
            a.subscribe_object_class_attributes(class, &x, true, "")?;
            a.publish_object_class_attributes(class, &x)
        })
        .unwrap();
        let mut names = (0..100).map(|n| format!("B{n}"));
        let refused = names.find_map(|name| leave(&mut f, &name, what).err());
        let why = refused.expect("it is bounded");
        assert!(
            why.contains(what) && why.contains("limits.kept_bytes"),
            "{why}"
        );
        // Who is there goes on, and when what was left has gone others join again.
        for callback in f.callbacks("A") {
            match callback {
                Callback::DiscoverObjectInstance { instance, .. } => {
                    let root = f.class("HLAobjectRoot");
                    let a = f.federate("A");
                    let privilege = a.attribute_handle(root, "HLAprivilegeToDeleteObject");
                    let privilege = [privilege.unwrap()];
                    f.call("A", |a| {
                        a.attribute_ownership_acquisition_if_available(instance, &privilege, b"")
                    })
                    .unwrap();
                    f.callbacks("A");
                    f.call("A", |a| a.delete_object_instance(instance, b""))
                        .unwrap();
                }
                Callback::AnnounceSynchronizationPoint { label, .. } => f
                    .call("A", |a| a.synchronization_point_achieved(&label, true))
                    .unwrap(),
                _ => {}
            }
        }
        f.run();
        assert_eq!(leave(&mut f, "C", what), Ok(()));
    }
}

/// A has a link of its own to C, on which nobody judges what it sends: C puts nothing else off for what comes after what
/// never happens.
#[test]
fn what_is_said_to_come_after_what_never_happens_holds_up_nothing() {
    for (requests, index) in [(0, u64::MAX), (u64::MAX, 0), (u64::MAX, u64::MAX)] {
        for lost in [false, true] {
            let mut f = Federation::direct("");
            let [a, _, _] = ["A", "B", "C"].map(|name| f.join(name));
            let (class, list) = (f.class("A"), f.attributes(&["x"]));
            f.call("A", |f| f.publish_object_class_attributes(class, &list))
                .unwrap();
            f.call("C", |f| {
                f.subscribe_object_class_attributes(class, &list, true, "")
            })
            .unwrap();
            f.run();
            let car = f.call("A", |f| f.register_object_instance(class, None));
            let car = car.unwrap();
            assert_eq!(f.callbacks("C").len(), 1, "it discovers the car");
            let no_values = ValuesBuf::default();
            let payload = Payload {
                transportation: Transportation::Reliable,
                values: no_values.values(),
                tag: b"",
                address: None,
                stamp: None,
            };
            let after = After {
                requests: RequestNumber(requests),
                index: LogIndex(index),
            };
            let body = DataBody::Update {
                instance: car,
                payload,
            };
            let never = Data {
                sender: a,
                after,
                body,
            };
            f.call("C", |f| f.receive_data(&never, DataPath::Direct, None))
                .unwrap();
            let values = [(list[0], &b"1"[..])];
            f.call("A", |f| f.update_attribute_values(car, &values, b""))
                .unwrap();
            f.call("A", |f| f.delete_object_instance(car, b"")).unwrap();
            f.run();
            assert!(f.callbacks("C").is_empty(), "the fence is on the link");
            if lost {
                f.end_link(a, "C", 1);
                f.lose("A");
            } else {
                f.arrive(a, "C");
            }
            let told = f.callbacks("C");
            assert!(
                matches!(
                    told[..],
                    [
                        Callback::ReflectAttributeValues { .. },
                        Callback::RemoveObjectInstance { .. }
                    ]
                ),
                "{told:?} for {after:?}"
            );
            is_served(&mut f, "C");
            let counters = f.member("C").counters();
            let (held, gone) = (counters.held, counters.from_removed);
            assert_eq!((held, gone), if lost { (0, 1) } else { (1, 0) });
        }
    }
}

/// What comes by the executive it has looked at; a peer's link may bring anything.
#[test]
fn a_time_stamp_of_the_other_type_is_refused_whichever_way_it_comes() {
    let mut f = Federation::direct("");
    let [a, _] = ["A", "B"].map(|name| f.join(name));
    let class = f.interaction("I");
    f.call("A", |f| f.publish_interaction_class(class)).unwrap();
    f.call("B", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.run();
    let none = ValuesBuf::default();
    for (time, fits) in [
        (LogicalTime::integer64(5), false),
        (LogicalTime::float64(5.0).unwrap(), true),
    ] {
        let stamp = Some(Stamp {
            time,
            retraction: None,
        });
        let payload = Payload {
            transportation: Transportation::Reliable,
            values: none.values(),
            tag: b"",
            address: None,
            stamp,
        };
        let data = Data {
            sender: a,
            after: After {
                requests: RequestNumber(0),
                index: LogIndex(f.status().log.0),
            },
            body: DataBody::Interaction { class, payload },
        };
        let taken = f.call("B", |f| f.receive_data(&data, DataPath::Direct, None));
        assert_eq!(taken.is_ok(), fits, "{taken:?}");
        let told = f.callbacks("B");
        assert_eq!(told.len(), usize::from(fits), "{told:?}");
    }
    is_served(&mut f, "B");
}
