//! The tables of docs/services/<room>.md: what of them follows from spec/ and tests/.
//!
//! Clause, name, whether it works and the scenarios that play it are made; the last column and all
//! around the table are written by hand and kept.

use crate::{Generated, root, table};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Rooms, with the area that spec/services.tsv calls them.
const ROOMS: [(&str, &str); 7] = [
    ("federation", "Federation mgmt"),
    ("declaration", "Declaration"),
    ("object", "Object"),
    ("ownership", "Ownership"),
    ("time", "Time"),
    ("ddm", "DDM"),
    ("support", "Support"),
];
const BEGIN: &str = "<!-- Made by `cargo xtask generate`, but for the last column. -->\n";
const BEGIN_OPEN: &str = "<!-- What is open, made by `cargo xtask generate`. -->\n";
const END: &str = "<!-- Up to here. -->\n";
/// So many files of other rooms are named at most.
const FILES: usize = 3;

/// Every room's page with its table as it has to be.
pub(crate) fn generate() -> Result<Vec<Generated>> {
    let services = table("spec/services.tsv")?;
    let works = works()?;
    let played = played()?;
    let mut pages = Vec::new();
    for (room, area) in ROOMS {
        let path = format!("docs/services/{room}.md");
        let page = std::fs::read_to_string(root().join(&path))
            .with_context(|| format!("reading {path}"))?;
        let (before, rest) = page
            .split_once(BEGIN)
            .with_context(|| format!("{path} has no line {BEGIN}"))?;
        let (old, after) = rest
            .split_once(END)
            .with_context(|| format!("{path} has no line {END}"))?;
        let notes = notes(old);
        let mut out = String::from("| clause | | works | played in | |\n|---|---|---|---|---|\n");
        let mut seen = BTreeSet::new();
        for row in services.iter().filter(|r| r[0] == area && r[1] != "-") {
            for name in row[4].split([' ', '/']).filter(|n| !matches!(*n, "" | "-")) {
                if !seen.insert(name) {
                    continue;
                }
                let title = match row[3].as_str() {
                    "callback" => format!("*{name}*"),
                    _ => name.to_owned(),
                };
                let works = works.get(name).map_or("no", String::as_str);
                let files = played.get(name).map_or(String::new(), |f| files(f, room));
                let note = notes.get(name).copied().unwrap_or_default();
                out += &format!("| {} | {title} | {works} | {files} | {note} |\n", row[1]);
            }
        }
        let after = match after.split_once(BEGIN_OPEN) {
            Some((before, rest)) => {
                let (_, after) = rest
                    .split_once(END)
                    .with_context(|| format!("{path}: {BEGIN_OPEN} has no end"))?;
                let open = open_while_saving(&services)?;
                format!("{before}{BEGIN_OPEN}{open}{END}{after}")
            }
            None => after.to_owned(),
        };
        pages.push(Generated {
            path,
            text: format!("{before}{BEGIN}{}{END}{after}", out.replace("|  |", "| |")),
        });
    }
    Ok(pages)
}

/// Which services a federate may call, and which callbacks it gets, while it saves and while it is
/// restored: what the exceptions that the C++ API declares leave open, and nothing of it is refused
/// for the stage.
fn open_while_saving(services: &[Vec<String>]) -> Result<String> {
    /// The exception of who has not come to a stage, and the stage in which it is not thrown.
    const STAGES: [(&str, &str); 3] = [
        ("SaveNotInitiated", "instructed"),
        ("FederateHasNotBegunSave", "begun"),
        ("RestoreNotRequested", "initiated"),
    ];
    let declared = table("spec/cpp/rti1516e.tsv")?;
    let mut out =
        String::from("| clause | | while it saves | while it is restored |\n|---|---|---|---|\n");
    let mut seen = BTreeSet::new();
    for row in services.iter().filter(|r| r[1] != "-" && r[3] == "service") {
        for name in row[4].split(" / ").filter(|n| *n != "-") {
            let of_ambassador = |r: &&Vec<String>| {
                r[0] == "RTI/RTIambassador.h" && r[2] == "method pure" && r[4] == name
            };
            let overloads: Vec<_> = declared.iter().filter(of_ambassador).collect();
            let throws = |kind: &str| {
                let mut all = overloads.iter().flat_map(|r| r[6].split(' '));
                all.any(|e| e == kind)
            };
            // Who is joined already is told so first.
            if overloads.is_empty() || throws("FederateAlreadyExecutionMember") {
                continue;
            }
            let open = |refusal: &str, other: &str| {
                if throws(refusal) || throws(other) {
                    return "-";
                }
                let of_stage = STAGES.iter().find(|(unready, _)| throws(unready));
                of_stage.map_or("yes", |(_, stage)| stage)
            };
            let saving = open("SaveInProgress", "RestoreNotInProgress");
            let restoring = open("RestoreInProgress", "SaveNotInProgress");
            if (saving, restoring) != ("-", "-") && seen.insert(name) {
                out += &format!("| {} | {name} | {saving} | {restoring} |\n", row[1]);
            }
        }
    }
    for row in services
        .iter()
        .filter(|r| r[1] != "-" && r[3] == "callback")
    {
        for name in row[4].split(" / ").filter(|n| *n != "-") {
            let lower = name.to_lowercase();
            let always = ["connectionLost", "reportFederationExecutions"].contains(&name);
            let open = |part: &str| {
                if always || lower.contains(part) {
                    "yes"
                } else {
                    "-"
                }
            };
            let (saving, restoring) = (open("save"), open("restore"));
            if (saving, restoring) != ("-", "-") && seen.insert(name) {
                out += &format!("| {} | *{name}* | {saving} | {restoring} |\n", row[1]);
            }
        }
    }
    Ok(out)
}

/// What docs/conformance.md says of each service and callback, from the suite's results.
fn works() -> Result<BTreeMap<String, String>> {
    let page = std::fs::read_to_string(root().join("docs/conformance.md"))?;
    let rows = page.lines().map(|l| l.split('|').map(str::trim).collect());
    Ok(rows
        .filter(|cells: &Vec<&str>| cells.len() > 4 && ["yes", "no"].contains(&cells[3]))
        .map(|cells| (cells[2].to_owned(), cells[3].to_owned()))
        .collect())
}

/// The last column, by the name in the second.
fn notes(table: &str) -> BTreeMap<&str, &str> {
    let rows = table.lines().map(|l| l.split('|').map(str::trim).collect());
    rows.filter(|cells: &Vec<&str>| cells.len() == 7)
        .map(|cells| (cells[2].trim_matches('*'), cells[5]))
        .collect()
}

/// Which scenario files name what, as `room/topic`. A step is a federate, then perhaps an arrow, then
/// names and arguments; words that are no service or callback do no harm.
fn played() -> Result<BTreeMap<String, BTreeSet<String>>> {
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (room, _) in ROOMS {
        let folder = root().join("tests").join(room);
        if !folder.is_dir() {
            continue;
        }
        for entry in std::fs::read_dir(&folder)? {
            let path = entry?.path();
            if path.extension().is_none_or(|e| e != "scenario") {
                continue;
            }
            let topic = path.file_stem().map(Path::new).unwrap_or(&path).display();
            let file = format!("{room}/{topic}");
            let text = std::fs::read_to_string(&path)?;
            for word in text
                .lines()
                .filter(|l| !l.starts_with('#'))
                .flat_map(str::split_whitespace)
            {
                found
                    .entry(word.to_owned())
                    .or_default()
                    .insert(file.clone());
            }
        }
    }
    Ok(found)
}

/// The files of its own room; if there are none, the first ones of others.
fn files(all: &BTreeSet<String>, room: &str) -> String {
    let own = |f: &&String| f.split('/').next() == Some(room);
    let mut chosen: Vec<&String> = all.iter().filter(own).collect();
    if chosen.is_empty() {
        chosen = all.iter().take(FILES).collect();
    }
    let short: Vec<&str> = chosen
        .iter()
        .map(|f| f.strip_prefix(&format!("{room}/")).unwrap_or(f))
        .collect();
    short.join(", ")
}
