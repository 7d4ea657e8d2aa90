//! `starling saves`.

use super::{FEDERATION, Federate, KIND, Rtiexec, save, store};
use serde_json::Value;
use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt;
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

/// rtiexec uses nothing that stands where others may write: so it is not as if there were no saves.
#[test]
fn a_directory_that_others_may_write_to_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let open = directory.path().join("saves");
    std::fs::create_dir(&open).unwrap();
    std::fs::set_permissions(&open, Permissions::from_mode(0o777)).unwrap();
    for arguments in [
        &[][..],
        &["list"],
        &["list", "--json"],
        &["show", "F", "L"],
        &["remove", "F", "L"],
    ] {
        let (done, text) = saves(directory.path(), arguments);
        let why = "can be written by others (mode 777); chmod go-w it, or set saves.dir";
        assert!(!done && text.contains(why), "{arguments:?}: {text}");
    }
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

/// Digits are as they come: bytes, ages, versions.
fn without_numbers(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if out.ends_with('0') => {}
            '0'..='9' => out.push('0'),
            c => out.push(c),
        }
    }
    out
}

/// What the user's page types is typed, and prints what stands there.
#[test]
fn the_page_about_restarting_shows_what_is_printed() {
    let home = tempfile::tempdir().unwrap();
    let saves = home.path().join(".local/state/starling/saves");
    let saves = saves.to_str().unwrap();
    let rtiexec = Rtiexec::start_with(home.path(), &[("STARLING_SAVES_DIR", saves)]);
    let join = |name| {
        let modules = ["RestaurantFOMmodule-2010.xml"];
        Federate::join_to("Demo", &rtiexec.address, name, &modules)
    };
    save(&[&join("Radar"), &join("Viewer")], "noon");

    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/saves.md");
    let page = std::fs::read_to_string(page).unwrap();
    let block = page.split("```\n").nth(1).expect("a block of commands");
    let mut typed = String::new();
    for line in block.lines().filter(|line| line.starts_with("$ ")) {
        let mut words = line.split(' ').skip(1);
        assert_eq!(words.next(), Some("starling"), "{line}");
        let out = Command::new(env!("CARGO_BIN_EXE_starling"))
            .args(words)
            .env_clear()
            .env("HOME", home.path())
            .output()
            .unwrap();
        typed += &format!("{line}\n{}", String::from_utf8(out.stdout).unwrap());
    }
    let typed = typed.replace(home.path().to_str().unwrap(), "/home/me");
    assert_eq!(without_numbers(&typed), without_numbers(block));
    assert_eq!(typed.lines().filter(|l| l.starts_with("$ ")).count(), 3);
}
