//! Modules at the executive: merged elsewhere, checked as set, and names that are nearly there.

use crate::common::{Federation, fom};
use crate::save::{restoring, saved};
use starling_core::message::{FromExecutive, ModuleSource, PeerInfo, ToExecutive};
use starling_core::{
    Archived, Callback, Check, Exception, ExceptionKind, Executive, ModuleMerge, PeerId,
};

fn module(designator: &str, text: &str) -> ModuleSource {
    ModuleSource {
        designator: designator.into(),
        text: text.as_bytes().into(),
    }
}

fn class(name: &str, kind: &str) -> String {
    format!(
        "<objectModel><objects><objectClass><name>HLAobjectRoot</name><objectClass>\
         <name>{name}</name><attribute><name>a</name><dataType>{kind}</dataType></attribute>\
         </objectClass></objectClass></objects></objectModel>"
    )
}

fn create(modules: Vec<ModuleSource>) -> ToExecutive {
    ToExecutive::CreateFederation {
        federation: "F".into(),
        modules,
        mim: None,
        time_implementation: String::new(),
    }
}

fn join(modules: Vec<ModuleSource>) -> ToExecutive {
    ToExecutive::Join {
        name: None,
        kind: "test".into(),
        federation: "F".into(),
        modules,
    }
}

fn connect(executive: &mut Executive, n: u64) -> PeerId {
    executive.connected(
        PeerId(n),
        PeerInfo {
            pid: 1,
            host: "host".into(),
            program: "test".into(),
            version: "1".into(),
            path: "memory".into(),
        },
    );
    PeerId(n)
}

fn created(executive: &mut Executive, message: ToExecutive) -> Result<(), Exception> {
    let peer = PeerId(1);
    executive.receive(peer, message).unwrap();
    match executive.poll_output() {
        Some((_, FromExecutive::Done(done))) => done,
        other => panic!("{other:?}"),
    }
}

#[test]
fn strict_refuses_what_is_doubtful() {
    let misspelt = class("Boat", "HLAbyte").replace("attribute>", "atribute>");
    for (text, code) in [
        (class("Boat", "Unknown"), "STL-FOM-013"),
        (misspelt, "STL-FOM-018"),
    ] {
        refused_by_strict(&text, code);
    }
}

fn refused_by_strict(text: &str, code: &str) {
    let doubtful = || create(vec![module("m.xml", text)]);
    let mut executive = Executive::new();
    connect(&mut executive, 1);
    executive.set_check(Check::Strict);
    let refused = created(&mut executive, doubtful()).unwrap_err();
    assert_eq!(refused.kind, ExceptionKind::InconsistentFDD);
    assert!(refused.to_string().contains(code), "{refused}");
    executive.set_check(Check::Lenient);
    let mut message = doubtful();
    let merged = executive
        .take_modules(&mut message)
        .map(ModuleMerge::run)
        .unwrap();
    assert_eq!(merged.warnings().len(), 1);
    executive
        .receive_merged(PeerId(1), message, Some(merged))
        .unwrap();
    assert_eq!(executive.federations(), 1);
}

/// Two joiners bring modules; both are merged elsewhere, and the second finds those of the first.
#[test]
fn modules_are_merged_elsewhere() {
    let mut executive = Executive::new();
    connect(&mut executive, 1);
    created(&mut executive, create(vec![module("m.xml", &fom(""))])).unwrap();
    let brought = |executive: &mut Executive, n: u64, kind: &str| {
        let peer = connect(executive, n);
        let name = format!("late{n}.xml");
        let mut message = join(vec![module(&name, &class("Late", kind))]);
        let merge = executive.take_modules(&mut message).unwrap();
        (peer, message, merge)
    };
    let joiners = [(2, "HLAbyte"), (3, "HLAbyte"), (4, "HLAinteger32BE")];
    let taken = joiners.map(|(n, kind)| brought(&mut executive, n, kind));
    let merging = taken.map(|(peer, message, merge)| {
        let thread = std::thread::spawn(move || merge.run());
        (peer, message, thread.join().unwrap())
    });
    let mut joined = Vec::new();
    for (peer, message, merged) in merging {
        executive
            .receive_merged(peer, message, Some(merged))
            .unwrap();
        while let Some((to, answer)) = executive.poll_output() {
            match answer {
                FromExecutive::Joined(snapshot) if to == peer => {
                    joined.push(Ok(snapshot.modules.len()));
                }
                FromExecutive::JoinRefused(why) => joined.push(Err(why.kind)),
                _ => {}
            }
        }
    }
    // MIM, m.xml, late2.xml; late3.xml is the same from elsewhere; late4.xml contradicts these.
    assert_eq!(joined, [Ok(3), Ok(3), Err(ExceptionKind::InconsistentFDD)]);
}

/// While modules of a joiner are merged elsewhere, its federation execution is destroyed, and another
/// one of the same name and with as many modules is created.
#[test]
fn what_was_merged_for_another_execution_of_that_name_is_merged_again() {
    let mut executive = Executive::new();
    connect(&mut executive, 1);
    let (known, late) = (
        module("m.xml", &fom("")),
        module("late.xml", &class("Late", "HLAbyte")),
    );
    created(&mut executive, create(vec![known.clone()])).unwrap();
    let joiner = connect(&mut executive, 2);
    let mut message = join(vec![known, late]);
    let merged = executive.take_modules(&mut message).unwrap().run();
    assert!(!executive.is_outdated(&message, &merged));
    let destroy = ToExecutive::DestroyFederation {
        federation: "F".into(),
    };
    created(&mut executive, destroy).unwrap();
    let other = module("other.xml", &class("Other", "HLAbyte"));
    created(&mut executive, create(vec![other])).unwrap();
    assert!(executive.is_outdated(&message, &merged));
    executive
        .receive_merged(joiner, message, Some(merged))
        .unwrap();
    let answers = std::iter::from_fn(|| executive.poll_output());
    let designators = answers.filter_map(|(to, answer)| match answer {
        FromExecutive::Joined(snapshot) if to == joiner => Some(snapshot.modules),
        _ => None,
    });
    let designators: Vec<_> = designators.flatten().map(|m| m.designator).collect();
    assert_eq!(designators[1..], ["other.xml", "m.xml", "late.xml"]);
}

/// After a restore classes have the handles that the order of modules in the save gives them.
#[test]
fn what_was_merged_before_a_restore_is_merged_again() {
    let mut f = Federation::new("");
    for (name, brings) in [("A", "Aa"), ("B", "Bb")] {
        let module = module(brings, &class(brings, "HLAbyte"));
        f.join_with(name, vec![module]).unwrap();
    }
    let Archived::Read(mut saved) = saved(&mut f, "L") else {
        panic!("it was read");
    };
    saved.execution.federation.modules.swap(2, 3);
    let joiner = connect(f.executive(), 1_000);
    let mut message = join(vec![module("late.xml", &class("Late", "HLAbyte"))]);
    let merged = f.executive().take_modules(&mut message).unwrap().run();
    restoring(&mut f, "L", Archived::Read(saved));
    f.run();
    assert!(f.executive().is_outdated(&message, &merged));
    f.executive()
        .receive_merged(joiner, message, Some(merged))
        .unwrap();
    f.run();
    // A has merged the module itself; what B hears of A's class is judged by the executive.
    f.callbacks("A");
    f.callbacks("B");
    let kinds = ["Aa", "Bb", "Late"].map(|name| f.class(name));
    for class in kinds {
        let a = f.federate("A").attribute_handle(class, "a").unwrap();
        f.call("B", |f| {
            f.subscribe_object_class_attributes(class, &[a], true, "")
        })
        .unwrap();
        f.run();
        f.call("A", |f| f.publish_object_class_attributes(class, &[a]))
            .unwrap();
        f.call("A", |f| f.register_object_instance(class, None))
            .unwrap();
        let told = f.callbacks("B");
        assert!(
            matches!(&told[..], [Callback::DiscoverObjectInstance { class: of, .. }] if *of == class),
            "{told:?}"
        );
    }
}

#[test]
fn names_that_are_nearly_there_are_suggested() {
    let mut f = Federation::new("");
    f.join("Alpha");
    let federate = f.federate("Alpha");
    let object = federate.object_class_handle("A").unwrap();
    let interaction = federate.interaction_class_handle("I.J").unwrap();
    let text = |error: Exception| error.to_string();
    for (error, nearest) in [
        (
            text(federate.object_class_handle("A.b2").unwrap_err()),
            "'A.B'",
        ),
        (
            text(federate.object_class_handle("B").unwrap_err()),
            "'A.B'",
        ),
        (
            text(
                federate
                    .object_class_handle("HLAobjectRoot.A.C")
                    .unwrap_err(),
            ),
            "'HLAobjectRoot.A.B'",
        ),
        (
            text(federate.interaction_class_handle("I.K").unwrap_err()),
            "'I.J'",
        ),
        (
            text(federate.attribute_handle(object, "X1").unwrap_err()),
            "'x'",
        ),
        (
            text(federate.parameter_handle(interaction, "Q").unwrap_err()),
            "'q'",
        ),
        (text(federate.dimension_handle("e").unwrap_err()), "'E'"),
        (
            text(federate.update_rate_value("low").unwrap_err()),
            "'Low'",
        ),
        (
            text(federate.federate_handle("Alhpa").unwrap_err()),
            "'Alpha'",
        ),
    ] {
        assert!(
            error.contains(&format!("; nearest is {nearest} (1516.1-2010, ")),
            "{error}"
        );
    }
    let far = text(federate.object_class_handle("SomethingElse").unwrap_err());
    assert!(!far.contains("nearest"), "{far}");
}

/// A module of so many classes.
fn classes(designator: &str, classes: usize) -> ModuleSource {
    let rows: String = (0..classes)
        .map(|n| format!("<objectClass><name>{designator}{n}</name></objectClass>"))
        .collect();
    let text = format!(
        "<objectModel><objects><objectClass><name>HLAobjectRoot</name>{rows}</objectClass></objects></objectModel>"
    );
    module(designator, &text)
}

fn create_as(federation: &str, modules: Vec<ModuleSource>) -> ToExecutive {
    ToExecutive::CreateFederation {
        federation: federation.into(),
        modules,
        mim: None,
        time_implementation: String::new(),
    }
}

#[test]
fn object_models_have_a_budget() {
    let mut executive = Executive::new();
    connect(&mut executive, 1);
    let large = || vec![classes("Large", 5_000)];
    created(&mut executive, create(large())).unwrap();
    let one = executive.models_bytes();
    assert!(one > 5_000 * 100, "{one}");
    executive.limit_models(2 * one + one / 2);
    created(&mut executive, create_as("G", large())).unwrap();
    assert_eq!(executive.models_bytes(), 2 * one);

    let refused = created(&mut executive, create_as("H", large())).unwrap_err();
    let refused = refused.to_string();
    for told in [one, 2 * one, 2 * one + one / 2] {
        assert!(refused.contains(&told.to_string()), "{told}: {refused}");
    }
    assert!(refused.contains("limits.models_bytes"), "{refused}");
    assert_eq!(
        (executive.federations(), executive.models_bytes()),
        (2, 2 * one)
    );

    // What a joiner brings counts; who brings nothing joins all the same.
    let joins = |executive: &mut Executive, n: u64, modules| {
        let peer = connect(executive, n);
        executive.receive(peer, join(modules)).unwrap();
        std::iter::from_fn(|| executive.poll_output()).find_map(|(to, m)| match m {
            FromExecutive::JoinRefused(why) if to == peer => Some(Err(why.to_string())),
            FromExecutive::Joined(_) if to == peer => Some(Ok(())),
            _ => None,
        })
    };
    let refused = joins(&mut executive, 2, vec![classes("Late", 5_000)]);
    let refused = refused.unwrap().unwrap_err();
    assert!(refused.contains("limits.models_bytes"), "{refused}");
    assert_eq!(executive.models_bytes(), 2 * one);
    joins(&mut executive, 3, vec![]).unwrap().unwrap();
    joins(&mut executive, 4, large()).unwrap().unwrap();
    joins(&mut executive, 5, vec![classes("Late", 500)])
        .unwrap()
        .unwrap();
    assert!(executive.models_bytes() > 2 * one);

    let destroy = |federation: &str| ToExecutive::DestroyFederation {
        federation: federation.into(),
    };
    created(&mut executive, destroy("G")).unwrap();
    created(&mut executive, create_as("H", large())).unwrap();
}

/// Who joins and does not read keeps the texts of modules in memory: they count until they are sent.
#[test]
fn texts_that_wait_to_be_sent_count() {
    let mut executive = Executive::new();
    let peer = connect(&mut executive, 1);
    created(&mut executive, create(vec![classes("Large", 5_000)])).unwrap();
    executive.receive(peer, join(vec![])).unwrap();
    let joined = executive.poll_output();
    let Some((_, FromExecutive::Joined(snapshot))) = &joined else {
        panic!("{joined:?}");
    };
    let text = snapshot.modules[1].text.len();
    executive.disconnected(peer, "test");
    connect(&mut executive, 2);
    let destroy = ToExecutive::DestroyFederation {
        federation: "F".into(),
    };
    executive.receive(PeerId(2), destroy).unwrap();
    assert_eq!(
        (executive.federations(), executive.models_bytes()),
        (0, text)
    );
    drop(joined);
    assert_eq!(executive.models_bytes(), 0);
}

#[test]
fn the_first_federate_is_told_what_is_doubtful_of_the_modules() {
    let mut f = Federation::new("<sharring>Publish</sharring>");
    f.join("A");
    f.join("B");
    let note = f.federate("A").take_note().expect("it is the first");
    assert!(
        note.contains("sharring") && note.contains("starling fom check"),
        "{note}"
    );
    assert_eq!(f.federate("B").take_note(), None);
    let saved = saved(&mut f, "L");
    restoring(&mut f, "L", saved);
    assert_eq!(f.callbacks("A").len(), 1, "it is restored");
    assert_eq!(f.federate("A").take_note(), None, "it was told");
    let mut sound = Federation::new("");
    sound.join("A");
    assert_eq!(sound.federate("A").take_note(), None);
}
