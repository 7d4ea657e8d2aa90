//! Broken and conflicting modules: each with the whole message that its author gets.
//!
//! `tests/data/fom/broken/<case>.xml`, or `<case>.a.xml` with `<case>.b.xml`, is merged with the
//! standard MIM, strictly; `<case>.expected` holds the message. With STARLING_WRITE_EXPECTED in the
//! environment they are written: read the difference before committing it.

use starling_fom::{Check, Code, FomError, FomErrorKind, parse, standard_model};
use std::collections::{BTreeMap, BTreeSet};
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
    let result = model.merge(&modules, Check::Strict).map(|_| ());
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
        if std::env::var_os("STARLING_WRITE_EXPECTED").is_some() {
            std::fs::write(&expected, &got).unwrap();
        }
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
        assert_ne!(error.kind(), FomErrorKind::Unreadable, "{case}");
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
    let lines: Vec<_> = problems.errors.iter().map(|p| p.at().line).collect();
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
        model.merge(&modules, Check::Strict).unwrap();
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
    model.merge(&[first, second], Check::Strict).unwrap();
    assert!(model.merge(&[third], Check::Lenient).is_err());
}

/// Every code occurs in a message above, or in the test that is named here.
#[test]
fn every_code_has_a_test() {
    let mut codes: BTreeSet<&str> = Code::ALL.iter().map(|c| c.text()).collect();
    assert_eq!(codes.len(), Code::ALL.len());
    for elsewhere in [
        Code::NotAMim,           // what_is_no_mim_is_refused
        Code::UndefinedDataType, // starling-cli: what_the_rti_accepts_is_a_warning
        Code::Unopened,          // starling-cli: check_prints_all_problems
    ] {
        codes.remove(elsewhere.text());
    }
    for file in std::fs::read_dir(folder()).unwrap() {
        let path = file.unwrap().path();
        if path.extension().is_some_and(|e| e == "expected") {
            let text = std::fs::read_to_string(path).unwrap();
            codes.retain(|code| !text.starts_with(code));
        }
    }
    assert!(codes.is_empty(), "{codes:?}");
}

#[test]
fn what_is_no_mim_is_refused() {
    let mim = parse("m.xml", b"<objectModel/>").unwrap();
    let error = starling_fom::ObjectModel::new(&mim).unwrap_err();
    assert_eq!(error.code(), Code::NotAMim);
}

/// Each field in a line of its own, of which one is wrong.
#[test]
fn what_is_wrong_is_told_at_its_own_line() {
    let class = |fields: &str| {
        format!(
            "<objects>\n<objectClass>\n<name>HLAobjectRoot</name>\n<objectClass>\n<name>C</name>\n\
             <attribute>\n<name>a</name>\n{fields}\n</attribute>\n</objectClass>\n</objectClass>\n</objects>"
        )
    };
    let interaction = |fields: &str| {
        format!(
            "<interactions>\n<interactionClass>\n<name>HLAinteractionRoot</name>\n<interactionClass>\n\
             <name>I</name>\n{fields}\n</interactionClass>\n</interactionClass>\n</interactions>"
        )
    };
    let row = |table: &str, row: &str, fields: &str| {
        format!("<{table}>\n<{row}>\n<name>R</name>\n{fields}\n</{row}>\n</{table}>")
    };
    let members = [
        "<transportation>HLAreliable</transportation>\n<order>WRONG</order>",
        "<order>Receive</order>\n<transportation>WRONG</transportation>",
        "<dimensions>\n<dimension>NA</dimension>\n<dimension>HLAfederate</dimension>\n\
         <dimension>WRONG</dimension>\n</dimensions>\n<order>Receive</order>",
    ];
    let mut modules: Vec<_> = members.iter().map(|m| class(m)).collect();
    modules.extend(members.iter().map(|m| interaction(m)));
    modules.extend([
        row(
            "dimensions",
            "dimension",
            "<value>Excluded</value>\n<upperBound>WRONG</upperBound>",
        ),
        row(
            "dimensions",
            "dimension",
            "<upperBound>3</upperBound>\n<value>WRONG</value>",
        ),
        row(
            "transportations",
            "transportation",
            "\n<reliable>WRONG</reliable>",
        ),
        row("updateRates", "updateRate", "\n<rate>WRONG</rate>"),
    ]);
    for module in modules {
        let text = format!("<objectModel>\n{module}\n</objectModel>\n");
        let line = text.lines().position(|l| l.contains("WRONG")).unwrap() + 1;
        let merged = parse("m.xml", text.as_bytes()).and_then(|module| {
            let mut model = standard_model().clone();
            model.merge(&[module], Check::Lenient).map(|_| ())
        });
        let told = merged.unwrap_err().to_string();
        assert!(
            told.contains(&format!("at m.xml:{line}\n")),
            "{told}\n{text}"
        );
    }
}
