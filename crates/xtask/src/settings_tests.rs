//! docs/settings-tests.md: which tests show what a setting does. A test says so itself, in a line of its documentation:
//! `Shows settings: net.unix, net.run_dir.`

use crate::{Generated, root};
use anyhow::{Context, Result, bail, ensure};
use starling_rid::{SETTINGS, Setting};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::path::Path;

const MARK: &str = "/// Shows settings: ";
const PATH: &str = "docs/settings-tests.md";
const HEAD: &str = "\
# What shows that a setting does something

Made by `cargo xtask generate` from what tests say of themselves; don't edit. Each of these sees a difference that the setting
makes: in what is counted, captured, shown or refused.

| setting | tests |
|---|---|
";

/// The page; an error where a setting has no test.
pub(crate) fn generate() -> Result<Generated> {
    let mut sources = BTreeMap::new();
    read(&root().join("crates"), "crates", &mut sources)?;
    let text = page(&sources, SETTINGS)?;
    let path = PATH.into();
    Ok(Generated { path, text })
}

/// The sources below a folder, by their path from the project's root.
fn read(folder: &Path, name: &str, sources: &mut BTreeMap<String, String>) -> Result<()> {
    for entry in std::fs::read_dir(folder).with_context(|| format!("reading {name}"))? {
        let entry = entry?;
        let name = format!("{name}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            read(&entry.path(), &name, sources)?;
        } else if name.ends_with(".rs") && !name.starts_with("crates/xtask/") {
            sources.insert(name, std::fs::read_to_string(entry.path())?);
        }
    }
    Ok(())
}

fn page(sources: &BTreeMap<String, String>, settings: &[Setting]) -> Result<String> {
    let mut shown: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for (path, text) in sources {
        for (number, line) in text.lines().enumerate() {
            let Some(names) = line.trim_start().strip_prefix(MARK) else {
                continue;
            };
            let place = format!("{path}:{}", number + 1);
            let test = test_behind(text, number).with_context(|| {
                format!("{place}: no test follows (one with #[test], or named in a test!(...))")
            })?;
            for name in names.trim_end_matches('.').split(", ") {
                let setting = settings.iter().find(|s| s.key == name);
                let setting = setting.with_context(|| {
                    format!("{place}: there is no setting '{name}' (all end with a full stop)")
                })?;
                ensure!(
                    sets(text, setting),
                    "{place}: nothing in this file sets {name}"
                );
                let tests = shown.entry(setting.key).or_default();
                tests.push(format!("`{test}` in `{path}`"));
            }
        }
    }
    let mut out = HEAD.to_owned();
    let mut without = Vec::new();
    for setting in settings {
        match shown.get(setting.key) {
            Some(tests) => writeln!(out, "| `{}` | {} |", setting.key, tests.join(", "))?,
            None => without.push(setting.key),
        }
    }
    if !without.is_empty() {
        bail!(
            "no test shows what these settings do: {} (do: write one, with a line '{MARK}...' in its documentation)",
            without.join(", ")
        );
    }
    Ok(out)
}

/// The test whose documentation a line belongs to.
fn test_behind(text: &str, line: usize) -> Option<&str> {
    let mut marked = false;
    for line in text.lines().skip(line + 1).map(str::trim_start) {
        if line.starts_with("///") {
            continue;
        }
        if line.starts_with("#[") {
            marked |= line == "#[test]";
            continue;
        }
        let name = line.strip_prefix("fn ")?.split('(').next()?;
        let listed = text.contains(&format!("test!({name})"));
        return (marked || listed).then_some(name);
    }
    None
}

/// Whether a file names a setting in code: as it stands in a designator, its variable, or its constant.
fn sets(text: &str, setting: &Setting) -> bool {
    let constant = setting.key.replace('.', "_").to_uppercase();
    let mut code = text.lines().filter(|l| !l.trim_start().starts_with("//"));
    code.any(|line| {
        [setting.key, constant.as_str()].iter().any(|name| {
            line.match_indices(name).any(|(at, _)| {
                let next = line[at + name.len()..].chars().next();
                !next.is_some_and(|c| c.is_ascii_alphanumeric() || c == '_')
            })
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(text: &str, settings: &[&str]) -> Result<String, String> {
        let settings: Vec<_> = SETTINGS
            .iter()
            .filter(|s| settings.contains(&s.key))
            .copied()
            .collect();
        let sources = BTreeMap::from([("a.rs".to_owned(), text.to_owned())]);
        page(&sources, &settings).map_err(|e| format!("{e:#}"))
    }

    #[test]
    fn a_setting_without_a_test_is_an_error() {
        let two = "/// Shows settings: net.unix, fom.check.\n#[test]\nfn seen() {\n    \"net.unix=no\"; FOM_CHECK;\n}\n";
        let page = of(two, &["net.unix", "fom.check"]).unwrap();
        assert!(page.contains("| `net.unix` | `seen` in `a.rs` |"), "{page}");
        let listed = "test!(seen)\n/// Shows settings: net.unix.\nfn seen() { \"net.unix\" }";
        of(listed, &["net.unix"]).unwrap();
        for (text, settings, why) in [
            (
                two,
                &["net.unix", "fom.check", "log.file"][..],
                "do: log.file (do:",
            ),
            (
                two,
                &["net.unix"],
                "a.rs:1: there is no setting 'fom.check'",
            ),
            (
                "/// Shows settings: net.unix.\nfn seen() { \"net.unix\" }",
                &["net.unix"],
                "no test follows",
            ),
            (
                "/// Shows settings: log.file.\n#[test]\nfn seen() { \"log.file_bytes=1\" }",
                &["log.file"],
                "nothing in this file sets log.file",
            ),
        ] {
            let error = of(text, settings).unwrap_err();
            assert!(error.contains(why), "{error}");
        }
    }

    #[test]
    fn every_setting_has_a_test() {
        let page = generate().unwrap();
        let there = std::fs::read_to_string(root().join(PATH)).unwrap();
        assert!(there == page.text, "run `cargo xtask generate`");
    }
}
