//! `starling saves`.

use super::{FEDERATION, Federate, KIND, Rtiexec, save, store};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// What it prints, and whether it succeeds.
fn saves(directory: &Path, arguments: &[&str]) -> (bool, String) {
    let out = Command::new(env!("CARGO_BIN_EXE_starling"))
        .arg("saves")
        .args(arguments)
        .env("STARLING_SAVES_DIR", directory.join("saves"))
        .output()
        .unwrap();
    let text = [out.stdout, out.stderr].concat();
    (out.status.success(), String::from_utf8(text).unwrap())
}

#[test]
fn lists_shows_and_removes() {
    let directory = tempfile::tempdir().unwrap();
    let (done, text) = saves(directory.path(), &["list"]);
    assert!(done && text.starts_with("no saves in "), "{text}");

    let rtiexec = Rtiexec::start(directory.path());
    let a = Federate::join(&rtiexec.address, "A \u{e4}");
    save(&[&a], "Evening");
    save(&[&a], "Morning");
    let (done, text) = saves(directory.path(), &["list"]);
    assert!(done, "{text}");
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 2);
    assert!(lines[0].starts_with("\"Evening\" of \"Kept\": "), "{text}");
    assert!(lines[1].starts_with("\"Morning\" of \"Kept\": "), "{text}");

    let (done, text) = saves(directory.path(), &["list", "--json"]);
    // Of the bare command, too; but of none that isn't the list.
    assert_eq!(saves(directory.path(), &["--json"]), (true, text.clone()));
    for others in [["--json", "list"], ["--json", "show"]] {
        assert!(!saves(directory.path(), &others).0, "{others:?}");
    }
    let list: Value = serde_json::from_str(&text).unwrap();
    let list = list.as_array().unwrap();
    assert!(done && list.len() == 2);
    for save in list {
        assert_eq!(save["federation"], FEDERATION);
        assert_eq!(save["federates"][0]["name"], "A \u{e4}");
        assert_eq!(save["federates"][0]["type"], KIND);
        let file = std::fs::metadata(save["file"].as_str().unwrap()).unwrap();
        assert_eq!(save["bytes"], file.len());
    }

    let (done, text) = saves(directory.path(), &["show", FEDERATION, "Evening"]);
    assert!(done && text.contains("it can be restored"), "{text}");
    assert!(
        text.contains("federate \"A \u{e4}\" of type \"tester\""),
        "{text}"
    );
    let path = store(directory.path()).path(FEDERATION, "Evening");
    let mut bytes = std::fs::read(&path).unwrap();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let (done, text) = saves(directory.path(), &["show", FEDERATION, "Evening"]);
    assert!(!done && text.contains("it is damaged"), "{text}");

    let (done, text) = saves(directory.path(), &["remove", FEDERATION, "Evening"]);
    assert!(done && text.contains("is removed"), "{text}");
    assert!(!path.exists());
    for command in ["remove", "show"] {
        let (done, text) = saves(directory.path(), &[command, FEDERATION, "Evening"]);
        assert!(
            !done && text.contains("there is no save 'Evening'"),
            "{text}"
        );
    }
    let (_, text) = saves(directory.path(), &["list"]);
    assert_eq!(text.lines().count(), 1);
    assert_eq!(saves(directory.path(), &[]), (true, text), "it lists");
}

#[test]
fn a_label_that_no_argument_can_be_is_named_as_it_is_listed() {
    let directory = tempfile::tempdir().unwrap();
    let rtiexec = Rtiexec::start(directory.path());
    let a = Federate::join(&rtiexec.address, "A");
    save(&[&a], "a\0b");
    let (_, text) = saves(directory.path(), &[]);
    assert!(text.starts_with(r#""a\0b" of "Kept": "#), "{text}");
    let which = [FEDERATION, r"a\0b"];
    let (done, text) = saves(directory.path(), &["show", which[0], which[1]]);
    assert!(done && text.contains("it can be restored"), "{text}");
    // Whose label is just that comes first.
    save(&[&a], which[1]);
    for left in [1, 0] {
        let (done, text) = saves(directory.path(), &["remove", which[0], which[1]]);
        assert!(done, "{text}");
        let there = store(directory.path()).list().unwrap();
        assert_eq!(there.len(), left);
        for save in there {
            assert_eq!(save.description.unwrap().label, "a\0b");
        }
    }
}
