//! What is let pass: modules as they are in the field, and what [`Check::Strict`] says of them.

use starling_fom::{Check, Code, Module, ObjectModel, Transportation, parse, standard_model};
use std::path::Path;

fn data(name: &str) -> Module {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom/lenient");
    let bytes = std::fs::read(folder.join(name)).unwrap();
    parse(name, &bytes).unwrap_or_else(|e| panic!("{e}"))
}

/// With what each was warned of: line and what of it.
fn merged(names: &[&str]) -> (ObjectModel, Vec<(u32, String)>) {
    let modules: Vec<_> = names.iter().map(|n| data(n)).collect();
    let mut model = standard_model().clone();
    let warnings = model.merge(&modules, Check::Lenient);
    let warnings = warnings.unwrap_or_else(|e| panic!("{e}"));
    let told = warnings.iter().map(|w| (w.at().line, w.what().to_owned()));
    let told = told.collect();
    let strict = standard_model().clone().merge(&modules, Check::Strict);
    assert_eq!(
        strict.err().as_ref(),
        warnings.first(),
        "strict refuses just these"
    );
    (model, told)
}

#[test]
fn a_tag_or_time_that_is_not_applicable_says_nothing() {
    for names in [
        ["tags-NA.xml", "tags-given.xml"],
        ["tags-given.xml", "tags-NA.xml"],
    ] {
        let modules = names.map(data);
        let mut model = standard_model().clone();
        let merged = model.merge(&modules[..], Check::Lenient);
        // An attribute that a subclass has already can't become the superclass's.
        let Err(error) = merged else {
            assert_eq!(names[0], "tags-NA.xml");
            let tags = model
                .tables()
                .filter(|(table, ..)| matches!(*table, "tag" | "time"));
            let tags: Vec<_> = tags
                .map(|(_, name, row)| (name, row.field("dataType")))
                .collect();
            let given = [
                ("updateReflectTag", Some("HLAASCIIstring")),
                ("timeStamp", Some("HLAfloat64BE")),
            ];
            assert_eq!(tags, given);
            continue;
        };
        assert_eq!((names[0], error.code()), ("tags-given.xml", Code::Conflict));
    }
}

#[test]
fn what_changes_no_exchange_of_data_is_told_and_the_first_holds() {
    let (model, told) = merged(&["tags-NA.xml", "tags-given.xml"]);
    let of: Vec<_> = told
        .iter()
        .map(|(line, what)| (*line, what.as_str()))
        .collect();
    let [(18, encoding), (6, privilege), (6, inherited)] = of[..] else {
        panic!("{told:?}")
    };
    assert!(
        encoding.starts_with("data type 'HLAfloat32BE': encoding "),
        "{encoding}"
    );
    assert_eq!(
        privilege,
        "class 'HLAobjectRoot', attribute 'HLAprivilegeToDeleteObject': order TimeStamp vs Receive"
    );
    assert_eq!(
        inherited,
        "class 'HLAobjectRoot.Storm.Squall' defines the attribute 'Force', which it inherits"
    );
    let squall = model.object_class_by_name("Storm.Squall").unwrap();
    let storm = model.object_class_by_name("Storm").unwrap();
    assert_eq!(squall.attributes, storm.attributes);
}

#[test]
fn an_inherited_attribute_declared_otherwise_is_a_conflict() {
    let text = |kind: &str| {
        let force =
            |kind| format!("<attribute><name>Force</name><dataType>{kind}</dataType></attribute>");
        format!(
            "<objectModel><objects><objectClass><name>HLAobjectRoot</name><objectClass>\
             <name>Storm</name>{}<objectClass><name>Squall</name>{}</objectClass></objectClass>\
             </objectClass></objects></objectModel>",
            force("HLAinteger32BE"),
            force(kind)
        )
    };
    for (kind, accepted) in [("HLAinteger32BE", true), ("HLAfloat32BE", false)] {
        let module = parse("m.xml", text(kind).as_bytes()).unwrap();
        let merged = standard_model().clone().merge(&[module], Check::Lenient);
        assert_eq!(merged.is_ok(), accepted, "{kind}");
    }
}

/// Prose does not hide what counts.
#[test]
fn another_size_of_basic_data_is_a_conflict() {
    let text = "<objectModel><dataTypes><basicDataRepresentations><basicData>
        <name>HLAfloat32BE</name><size>64</size><endian>Big</endian><encoding>mine</encoding>
        </basicData></basicDataRepresentations></dataTypes></objectModel>";
    let module = parse("m.xml", text.as_bytes()).unwrap();
    let error = standard_model()
        .clone()
        .merge(&[module], Check::Lenient)
        .unwrap_err();
    assert_eq!(error.code(), Code::Conflict);
}

#[test]
fn a_module_of_2000_keeps_the_mim() {
    let (model, told) = merged(&["of-2000.xml"]);
    assert_eq!(told, []);
    let boat = model.object_class_by_name("Boat").unwrap();
    let speed = model.attribute_by_name(boat.handle, "Speed").unwrap();
    let speed = model.attribute(speed).unwrap();
    assert_eq!(speed.transportation, Transportation::BestEffort);
    let lane = model.dimension(speed.dimensions[0]).unwrap();
    assert_eq!((lane.upper_bound, lane.default_range), (8, Some((0, 2))));
    assert!(model.switches().auto_provide);
    let of = |model: &ObjectModel| {
        let federate = model
            .object_class_by_name("HLAmanager.HLAfederate")
            .unwrap();
        federate.attributes.clone()
    };
    assert_eq!(of(&model), of(standard_model()));
    let report = model
        .interaction_class_by_name("HLAmanager.HLAoldReport")
        .unwrap();
    let dimension = model.dimension(report.dimensions[0]).unwrap();
    assert_eq!(dimension.name, "HLAfederate");
}

#[test]
fn prefixes_are_of_no_interest() {
    let text = "<x:objectModel><x:objects><y:objectClass><name>HLAobjectRoot</name>
        <objectClass z:name='Boat'/></y:objectClass></x:objects></x:objectModel>";
    let module = parse("m.xml", text.as_bytes()).unwrap();
    let mut model = standard_model().clone();
    model.merge(&[module], Check::Strict).unwrap();
    assert!(model.object_class_by_name("Boat").is_some());
}
