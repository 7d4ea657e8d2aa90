//! Broken and conflicting modules: each with the whole message that its author gets.
//!
//! `tests/data/fom/broken/<case>.xml`, or `<case>.a.xml` with `<case>.b.xml`, is merged with the
//! standard MIM; `<case>.expected` holds the message.

use starling_fom::{FomError, FomErrorKind, parse, standard_model};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom/broken")
}

/// The module files of each case, in order.
fn cases() -> BTreeMap<String, Vec<String>> {
    let mut cases = BTreeMap::<String, Vec<String>>::new();
    for file in std::fs::read_dir(folder()).unwrap() {
        let name = file.unwrap().file_name().into_string().unwrap();
        if let Some(stem) = name.strip_suffix(".xml") {
            let case = stem.trim_end_matches(".a").trim_end_matches(".b");
            cases.entry(case.to_owned()).or_default().push(name);
        }
    }
    for files in cases.values_mut() {
        files.sort();
    }
    cases
}

fn load(files: &[String]) -> Result<(), FomError> {
    let mut modules = Vec::new();
    for file in files {
        modules.push(parse(file, &std::fs::read(folder().join(file)).unwrap())?);
    }
    let mut model = standard_model().clone();
    let result = model.merge(&modules);
    if result.is_err() {
        assert_eq!(model.modules(), standard_model().modules());
    }
    result
}

#[test]
fn every_broken_module_gets_its_message() {
    let mut wrong = String::new();
    let cases = cases();
    assert!(cases.len() >= 60, "only {} cases found", cases.len());
    for (case, files) in &cases {
        let got = match load(files) {
            Ok(()) => "it loaded".into(),
            Err(error) => format!("{error}\n"),
        };
        let expected = folder().join(format!("{case}.expected"));
        let expected = std::fs::read_to_string(&expected).unwrap_or_default();
        if got != expected {
            wrong += &format!("--- {case}: expected\n{expected}--- got\n{got}");
        }
    }
    assert!(wrong.is_empty(), "{wrong}");
}

#[test]
fn a_conflict_of_two_modules_is_inconsistent_and_names_both() {
    for (case, files) in cases().iter().filter(|(_, files)| files.len() == 2) {
        let error = load(files).unwrap_err();
        assert_eq!(error.kind(), FomErrorKind::Inconsistent, "{case}");
        assert_eq!(error.at().module, files[1], "{case}");
        assert_eq!(
            error.first().map(|f| &f.module),
            Some(&files[0]),
            "{case}: {error}"
        );
    }
}

#[test]
fn all_problems_of_a_module_are_found() {
    let text = "<objectModel><objects><objectClass><name>HLAobjectRoot</name>
        <objectClass><name>Boat</name>
        <attribute><name>Speed</name><order>Random</order></attribute></objectClass>
        <objectClass><name>Tide</name>
        <attribute><name>Height</name><transportation>Pigeon</transportation></attribute>
        </objectClass></objectClass></objects>
        <dimensions><dimension><name>Lane</name><upperBound>0</upperBound></dimension></dimensions>
        </objectModel>";
    let module = parse("m.xml", text.as_bytes()).unwrap();
    let (_, problems) = standard_model().try_merge(&[module]);
    let lines: Vec<_> = problems.iter().map(|p| p.at().line).collect();
    assert_eq!(lines, [7, 3, 5]);
}

#[test]
fn scaffolding_first_leaves_the_definition_whole() {
    let root = |inner: &str| {
        format!(
            "<objectModel><interactions><interactionClass><name>HLAinteractionRoot</name>
             <interactionClass><name>Horn</name>{inner}</interactionClass>
             </interactionClass></interactions></objectModel>"
        )
    };
    let scaffold = root("");
    let whole = root(
        "<transportation>HLAbestEffort</transportation><order>TimeStamp</order>
         <parameter><name>Pitch</name></parameter>",
    );
    for texts in [[&scaffold, &whole], [&whole, &scaffold]] {
        let modules = texts.map(|t| parse("m.xml", t.as_bytes()).unwrap());
        let mut model = standard_model().clone();
        model.merge(&modules).unwrap();
        let horn = model.interaction_class_by_name("Horn").unwrap();
        assert_eq!(
            horn.transportation,
            starling_fom::Transportation::BestEffort
        );
        assert_eq!(horn.order, starling_fom::Order::TimeStamp);
    }
}

#[test]
fn the_order_of_enumerators_says_nothing() {
    let module = |name: &str, enumerators: [(&str, u8); 2]| {
        let rows = enumerators
            .map(|(n, v)| format!("<enumerator><name>{n}</name><value>{v}</value></enumerator>"));
        let xml = format!(
            "<objectModel><dataTypes><enumeratedDataTypes><enumeratedData><name>Flag</name>\
             <representation>HLAinteger32BE</representation>{}</enumeratedData>\
             </enumeratedDataTypes></dataTypes></objectModel>",
            rows.concat()
        );
        parse(name, xml.as_bytes()).unwrap()
    };
    let first = module("a.xml", [("Red", 1), ("Blue", 2)]);
    let second = module("b.xml", [("Blue", 2), ("Red", 1)]);
    let third = module("c.xml", [("Blue", 1), ("Red", 2)]);
    assert_eq!(first.meaning().differences(&second.meaning()), []);
    let mut model = standard_model().clone();
    model.merge(&[first, second]).unwrap();
    assert!(model.merge(&[third]).is_err());
}
