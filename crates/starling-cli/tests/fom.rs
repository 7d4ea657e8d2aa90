//! `starling fom` on real and broken modules.

use starling_fom::{ObjectModel, parse, standard_model};
use std::path::Path;
use std::process::{Command, Output};

/// Runs `starling fom` in the folder of test modules.
fn fom(arguments: &[&str]) -> Output {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom");
    let mut command = Command::new(env!("CARGO_BIN_EXE_starling"));
    command.arg("fom").args(arguments).current_dir(folder);
    command.output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

const RESTAURANT: &str = "restaurant/RestaurantFOMmodule-2010.xml";

const RPR: [&str; 14] = [
    "rpr/RPR-Foundation_v2.0.xml",
    "rpr/RPR-Base_v2.0.xml",
    "rpr/RPR-Enumerations_v2.0.xml",
    "rpr/RPR-Physical_v2.0.xml",
    "rpr/RPR-Aggregate_v2.0.xml",
    "rpr/RPR-Communication_v2.0.xml",
    "rpr/RPR-DER_v2.0.xml",
    "rpr/RPR-Logistics_v2.0.xml",
    "rpr/RPR-Minefield_v2.0.xml",
    "rpr/RPR-SE_v2.0.xml",
    "rpr/RPR-SIMAN_v2.0.xml",
    "rpr/RPR-Switches_v2.0.xml",
    "rpr/RPR-UA_v2.0.xml",
    "rpr/RPR-Warfare_v2.0.xml",
];

#[test]
fn the_whole_rpr_fom_has_no_problem() {
    let arguments: Vec<_> = ["check"].into_iter().chain(RPR).collect();
    let out = fom(&arguments);
    assert!(out.status.success(), "{}", text(&out.stderr));
    assert!(text(&out.stdout).starts_with("14 modules with the MIM: "));
}

#[test]
fn check_prints_all_problems() {
    let out = fom(&[
        "check",
        "broken/bad-order.xml",
        "broken/not-closed.xml",
        "broken/undefined-transportation.xml",
        "no-such-file.xml",
    ]);
    assert_eq!(out.status.code(), Some(1));
    let error = text(&out.stderr);
    for place in [
        "at broken/bad-order.xml:6\n",
        "at broken/not-closed.xml:4\n",
        "no-such-file.xml: No such file",
    ] {
        assert!(error.contains(place), "{place}: {error}");
    }
}

#[test]
fn check_reports_undefined_data_types() {
    let out = fom(&["check", "rpr/RPR-Base_v2.0.xml"]);
    assert_eq!(out.status.code(), Some(1));
    let error = text(&out.stderr);
    assert!(error.contains("STL-FOM-013"), "{error}");
    assert!(error.contains("is defined by no module"), "{error}");
}

#[test]
fn show_has_the_tree_with_handles() {
    let out = fom(&["show", RESTAURANT]);
    assert!(out.status.success());
    let shown = text(&out.stdout);
    let model = merged(&[RESTAURANT]);
    let soda = model.object_class_by_name("Food.Drink.Soda").unwrap();
    let line = format!("        Soda ({})\n", soda.handle);
    assert!(shown.contains(&line), "{shown}");
    let flavor = model.attribute_by_name(soda.handle, "Flavor").unwrap();
    assert!(shown.contains(&format!("        - Flavor ({flavor}) ")));
}

fn merged(files: &[&str]) -> ObjectModel {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom");
    let modules: Vec<_> = files
        .iter()
        .map(|f| parse(f, &std::fs::read(folder.join(f)).unwrap()).unwrap())
        .collect();
    let mut model = standard_model().clone();
    model.merge(&modules).unwrap();
    model
}

#[test]
fn what_merge_writes_says_the_same() {
    for files in [&RPR[..], &[RESTAURANT]] {
        let arguments: Vec<_> = ["merge"].iter().chain(files).copied().collect();
        let out = fom(&arguments);
        assert!(out.status.success(), "{}", text(&out.stderr));
        let written = parse("merged.xml", &out.stdout).unwrap_or_else(|e| panic!("{e}"));
        let mut again = standard_model().clone();
        again.merge(&[written]).unwrap_or_else(|e| panic!("{e}"));
        let before = merged(files).meaning();
        assert_eq!(before.differences(&again.meaning()), []);
        assert_ne!(before, standard_model().meaning());
    }
}

#[test]
fn merge_keeps_what_the_modules_say() {
    let files = ["fleet/Fleet.xml", RESTAURANT];
    let out = fom(&["merge", files[0], files[1]]);
    let written = text(&out.stdout);
    for kept in [
        "<semantics>Amount the employee is paid per hour</semantics>",
        "<updateCondition notes=\"Note4 Note5\">Merit increase</updateCondition>",
        "<label>Note5</label>",
        "<identification>fleet/Fleet.xml</identification>",
        "<name>Vehicle</name>",
    ] {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    let one = ["one", "another"].map(|name| {
        let file = format!("{}/notes-{name}.xml", env!("CARGO_TARGET_TMPDIR"));
        let module = format!(
            "<objectModel><objects><objectClass><name>HLAobjectRoot</name>\
             <objectClass><name>{name}</name><sharing>Neither</sharing>\
             <semantics notes=\"N\">the {name}</semantics></objectClass></objectClass></objects>\
             <notes><note><label>N</label><semantics>on {name}</semantics></note></notes>\
             </objectModel>"
        );
        std::fs::write(&file, module).unwrap();
        file
    });
    let out = fom(&["merge", &one[0], &one[1]]);
    let written = text(&out.stdout);
    for kept in [
        "<semantics notes=\"N\">the one</semantics>",
        "<semantics notes=\"N_2\">the another</semantics>",
        "<label>N_2</label>",
        "<semantics>on another</semantics>",
    ] {
        assert!(written.contains(kept), "{kept}: {written}");
    }
    assert_eq!(written.matches("<name>HLAobjectRoot</name>").count(), 1);
}

#[test]
fn diff_tells_what_differs() {
    let same = fom(&["diff", RESTAURANT, RESTAURANT]);
    assert_eq!((same.status.code(), text(&same.stdout)), (Some(0), ""));
    let out = fom(&[
        "diff",
        "broken/attribute-order.a.xml",
        "broken/attribute-order.b.xml",
    ]);
    assert_eq!(out.status.code(), Some(1));
    assert_eq!(
        text(&out.stdout),
        "! attribute HLAobjectRoot.Boat.Speed: order Receive vs TimeStamp\n    \
         at broken/attribute-order.a.xml:6 and broken/attribute-order.b.xml:6\n"
    );
    let out = fom(&[
        "diff",
        "broken/attribute-missing.a.xml",
        "broken/attribute-missing.b.xml",
    ]);
    assert_eq!(
        text(&out.stdout),
        "- attribute HLAobjectRoot.Boat.Course\n    at broken/attribute-missing.a.xml:7\n"
    );
}
