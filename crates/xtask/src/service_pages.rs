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

/// How far a federate has come with a save, then with a restore; the first of either: it was asked for, and the
/// federate has not heard of it.
const STATES: [&str; 8] = [
    "save requested",
    "initiated",
    "begun",
    "complete",
    "restore requested",
    "begun",
    "initiated",
    "complete",
];

/// Which services a federate may call, and which callbacks it gets, in each state of a save and of a restore:
/// what the exceptions that the C++ API declares leave open. By these goes the door, too
/// (`rust_tables::preconditions`). Neighbours in a chapter that are alike share a row.
fn open_while_saving(services: &[Vec<String>]) -> Result<String> {
    let declared = table("spec/cpp/rti1516e.tsv")?;
    let mut rows = Rows::default();
    let mut seen = BTreeSet::new();
    let clause = |row: &[String]| row[1].split_whitespace().next().unwrap_or("-").to_owned();
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
            if !overloads.is_empty() && seen.insert(name) {
                rows.add(&clause(row), name, open_service(throws));
            }
        }
    }
    for row in services
        .iter()
        .filter(|r| r[1] != "-" && r[3] == "callback")
    {
        for name in row[4].split(" / ").filter(|n| *n != "-") {
            if seen.insert(name) {
                let clause = clause(row);
                let open = open_callback(&clause, name);
                rows.add(&clause, &format!("*{name}*"), open);
            }
        }
    }
    // What is sent to the RTI is an interaction, what comes from it callbacks (chapter 11).
    let (sent, told) = (
        open_service(|e| ["SaveInProgress", "RestoreInProgress"].contains(&e)),
        open_callback("6.11", ""),
    );
    let (save, restore) = (
        open_service(|e| e == "RestoreInProgress"),
        open_service(|e| e == "SaveInProgress"),
    );
    rows.add("11", "to the MOM: HLAresignFederationExecution", [true; 8]);
    let of_save = "to the MOM: HLAfederateSaveBegun, HLAfederateSaveComplete";
    rows.add("11", of_save, save);
    rows.add("11", "to the MOM: HLAfederateRestoreComplete", restore);
    rows.add(
        "11",
        "to the MOM: HLAadjust, HLArequest, other HLAservice",
        sent,
    );
    rows.add("11", "of the MOM: updates, reports", told);
    rows.add(
        "11",
        "what the RTI asks its library for others: counts",
        [true; 8],
    );
    let mut out = format!("| clause | | {} |\n", STATES.join(" | "));
    out += &format!("|---|---|{}\n", "---|".repeat(STATES.len()));
    for (clauses, names, open) in rows.0 {
        let cells = open.map(|open| if open { "yes" } else { "-" });
        out += &format!("| {clauses} | {names} | {} |\n", cells.join(" | "));
    }
    Ok(out)
}

/// In which states a service is open that throws these.
fn open_service(throws: impl Fn(&str) -> bool) -> [bool; 8] {
    // Who joins is another federate, which is refused from the request for a restore on.
    let of_all = throws("FederateAlreadyExecutionMember");
    let mut open = [true; 8];
    for (state, open) in open.iter_mut().enumerate() {
        let saving = (1..4).contains(&state);
        let restoring = (5..8).contains(&state) || of_all && state == 4;
        *open = !(saving && throws("SaveInProgress")
            || restoring && throws("RestoreInProgress")
            || state != 1 && throws("SaveNotInitiated")
            || state != 2 && throws("FederateHasNotBegunSave")
            || !saving && throws("SaveNotInProgress")
            || state != 6 && throws("RestoreNotRequested")
            || !restoring && throws("RestoreNotInProgress"));
    }
    open
}

/// In which states a callback is open: those of saves and restores are, and those that concern no federation
/// execution.
fn open_callback(clause: &str, name: &str) -> [bool; 8] {
    let number = clause
        .strip_prefix("4.")
        .and_then(|n| n.parse::<u32>().ok());
    let of_save = number.is_some_and(|n| (17..=32).contains(&n));
    let of_none = ["connectionLost", "reportFederationExecutions"].contains(&name);
    let always = of_save || of_none;
    [true, always, always, always, true, always, always, always]
}

/// Clauses, names and in which states they are open.
#[derive(Default)]
struct Rows(Vec<(String, String, [bool; 8])>);

impl Rows {
    /// Adds a name, to the last row of its chapter that is open in the same states.
    fn add(&mut self, clause: &str, name: &str, open: [bool; 8]) {
        let chapter = |clause: &str| clause.split('.').next().unwrap_or(clause).to_owned();
        let is_callback = |name: &str| name.starts_with('*');
        let alike = self.0.iter_mut().find(|(first, names, of)| {
            chapter(first) == chapter(clause)
                && *of == open
                && is_callback(names) == is_callback(name)
        });
        match alike {
            Some((_, names, _)) => *names += &format!(", {name}"),
            None => self.0.push((clause.to_owned(), name.to_owned(), open)),
        }
    }
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
