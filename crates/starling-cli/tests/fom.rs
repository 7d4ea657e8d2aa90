//! `starling fom` on real and broken modules.

use starling_fom::{Check, ObjectModel, parse, standard_model};
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
        "'no-such-file.xml' can't be opened: No such file",
    ] {
        assert!(error.contains(place), "{place}: {error}");
    }
}

#[test]
fn what_the_rti_accepts_is_a_warning() {
    let out = fom(&["check", "rpr/RPR-Base_v2.0.xml"]);
    assert_eq!(out.status.code(), Some(0));
    assert!(text(&out.stdout).contains(" warnings\n"));
    let strict = fom(&["check", "--strict", "rpr/RPR-Base_v2.0.xml"]);
    assert_eq!(strict.status.code(), Some(1));
    assert_eq!(strict.stdout, b"");
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
    model.merge(&modules, Check::Lenient).unwrap();
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
        again
            .merge(&[written], Check::Lenient)
            .unwrap_or_else(|e| panic!("{e}"));
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
        "conflict: class 'HLAobjectRoot.Boat', attribute 'Speed': order Receive vs TimeStamp\n    \
         at broken/attribute-order.b.xml:6 and broken/attribute-order.a.xml:6\n\
         ! attribute HLAobjectRoot.Boat.Speed: order Receive vs TimeStamp\n    \
         at broken/attribute-order.a.xml:6 and broken/attribute-order.b.xml:6\n"
    );
    let out = fom(&[
        "diff",
        "broken/attribute-missing.a.xml",
        "broken/attribute-missing.b.xml",
    ]);
    assert_eq!(
        text(&out.stdout),
        "conflict: class 'HLAobjectRoot.Boat': attribute 'Course' of the former definition is \
         missing here\n    at broken/attribute-missing.b.xml:5 and broken/attribute-missing.a.xml:7\n\
         - attribute HLAobjectRoot.Boat.Course\n    at broken/attribute-missing.a.xml:7\n"
    );
}

#[test]
fn diff_with_the_mim_shows_what_concerns_it() {
    let module = "broken/root-interaction-changed.xml";
    let out = fom(&["diff", "HLAstandardMIM", module]);
    let shown = text(&out.stdout);
    let marked: Vec<_> = shown.lines().filter(|l| !l.starts_with(' ')).collect();
    let [conflict, changed, added, left_out] = marked[..] else {
        panic!("{shown}")
    };
    assert!(conflict.starts_with("conflict: interaction class 'HLAinteractionRoot'"));
    assert!(changed.starts_with("! interaction class HLAinteractionRoot: transportation"));
    assert_eq!(added, "+ parameter HLAinteractionRoot.Id");
    let all = fom(&["diff", "--all", "HLAstandardMIM", module]);
    let all = text(&all.stdout);
    assert!(
        all.contains("+ interaction class HLAinteractionRoot.Horn\n"),
        "{all}"
    );
    assert!(
        all.contains("- object class HLAobjectRoot.HLAmanager\n"),
        "{all}"
    );
    let all = all.lines().filter(|l| !l.starts_with(' ')).count();
    let number = format!("{} differences in what only one of them says", all - 3);
    assert!(left_out.starts_with(&number), "{left_out}");
}

/// The command that the message about a conflict advises shows that conflict.
#[test]
fn the_advised_diff_shows_the_conflict() {
    for files in [
        &[
            "broken/attribute-order.a.xml",
            "broken/attribute-order.b.xml",
        ][..],
        &[
            "broken/attribute-inherited-late.a.xml",
            "broken/attribute-inherited-late.b.xml",
        ],
        // With the standard MIM.
        &["broken/standard-transportation-changed.xml"],
    ] {
        let arguments: Vec<_> = ["check"].iter().chain(files).copied().collect();
        let out = fom(&arguments);
        let error = text(&out.stderr);
        let what = error.lines().next().unwrap().split("FDD: ").nth(1).unwrap();
        let advice = error.lines().find(|l| l.starts_with("  do: ")).unwrap();
        let command = advice.split("starling fom ").nth(1).unwrap();
        let arguments: Vec<_> = command.split(' ').collect();
        let out = fom(&arguments);
        assert_eq!(out.status.code(), Some(1));
        let shown = text(&out.stdout);
        assert!(shown.starts_with(&format!("conflict: {what}\n")), "{shown}");
    }
}

#[test]
fn show_leaves_the_mim_out() {
    let out = fom(&["show", RESTAURANT]);
    let all = fom(&["show", "--with-mim", RESTAURANT]);
    for of_mim in ["HLAmanager", "HLAprivilegeToDeleteObject"] {
        assert!(!text(&out.stdout).contains(of_mim));
        assert!(text(&all.stdout).contains(of_mim));
    }
    assert!(text(&out.stdout).contains("  HLAobjectRoot (1)\n"));
}

#[test]
fn json_says_what_the_text_says() {
    let json = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_slice(&fom(arguments).stdout).unwrap()
    };
    let of = json(&[
        "check",
        "--json",
        "broken/bad-order.xml",
        "rpr/RPR-Base_v2.0.xml",
    ]);
    assert_eq!(of["accepted"], false);
    let problem = &of["problems"][0];
    assert_eq!(problem["code"], "STL-FOM-010");
    assert_eq!(problem["severity"], "error");
    assert_eq!(problem["at"]["module"], "broken/bad-order.xml");
    assert_eq!(problem["at"]["line"], 6);
    assert_eq!(of["problems"][1]["severity"], "warning");
    let of = json(&["show", "--json", "fleet/Fleet.xml"]);
    let classes = of["object_classes"].as_array().unwrap();
    assert_eq!(classes[0]["name"], "HLAobjectRoot.Vehicle");
    let of = json(&[
        "diff",
        "--json",
        "broken/attribute-missing.a.xml",
        "broken/attribute-missing.b.xml",
    ]);
    assert_eq!(of["conflicts"][0]["code"], "STL-FOM-012");
    let difference = &of["differences"][0];
    assert_eq!(
        difference["definition"],
        "attribute HLAobjectRoot.Boat.Course"
    );
    assert_eq!(difference["first"]["line"], 7);
    assert_eq!(difference["second"], serde_json::Value::Null);
}

#[test]
fn help_says_the_exit_codes() {
    for command in ["check", "show", "merge", "diff"] {
        let out = fom(&[command, "--help"]);
        assert!(text(&out.stdout).contains("Exit codes: 0 "), "{command}");
    }
}

#[test]
fn a_pipe_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let pipe = dir.path().join("pipe");
    assert!(
        Command::new("mkfifo")
            .arg(&pipe)
            .status()
            .unwrap()
            .success()
    );
    let out = fom(&["check", pipe.to_str().unwrap()]);
    assert!(text(&out.stderr).contains("it is no regular file\n"));
    assert_eq!(out.status.code(), Some(1));
}
