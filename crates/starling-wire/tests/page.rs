//! docs/wire-format.md names every message of every room with its number, and none that is not there.

use std::collections::BTreeSet;

/// Number and name of the messages of a kind.
macro_rules! numbers {
    ($($name:ident $what:literal {
        $($number:literal $variant:ident $({ $($field:ident),* })? $(($inner:ident))?,)*
    })*) => {
        vec![$((stringify!($name), vec![$(($number, stringify!($variant))),*])),*]
    };
}

/// Rooms, what the page puts before the numbers of their requests and entries, and the messages.
macro_rules! rooms {
    ($($requests:literal $entries:literal $messages:ident)*) => {
        vec![$(($requests, $entries, starling_core::$messages!(numbers))),*]
    };
}

#[test]
fn the_page_names_every_message_with_its_number() {
    let rooms = rooms! {
        "4 " "4 " federation_messages
        "4 5 " "4 6 " save_messages
        "5 " "5 " declaration_messages
        "6 " "6 " object_messages
        "7 " "7 " ownership_messages
        "" "" time_messages
        "9 " "9 " ddm_messages
        "11 " "11 " mom_messages
    };
    let mut declared = BTreeSet::new();
    for (requests, entries, kinds) in rooms {
        for (kind, messages) in kinds {
            let (table, room) = match (kind, requests) {
                ("Notice", _) => ("time notice", ""),
                ("Request", "") => ("time request", ""),
                ("Request", _) => ("request", requests),
                _ => ("entry", entries),
            };
            declared.extend(
                messages
                    .iter()
                    .map(|(n, name)| format!("{table}: {room}{n} {name}")),
            );
        }
    }
    // They carry a room's messages, and stand in the page in its stead.
    declared.remove("request: 4 5 Save");
    declared.remove("entry: 4 6 Save");

    let mut named = BTreeSet::new();
    let mut table = "";
    for line in include_str!("../../../docs/wire-format.md").lines() {
        let Some(row) = line.strip_prefix('|') else {
            table = "";
            continue;
        };
        let first = row.split('|').next().unwrap_or("").trim();
        let is_message = first.starts_with(|c: char| c.is_ascii_digit());
        if table.is_empty() {
            table = first;
        } else if is_message && ["request", "entry", "time request", "time notice"].contains(&table)
        {
            named.insert(format!("{table}: {first}"));
        }
    }
    // The log's own.
    for own in [
        "request: 1 PathChanged",
        "entry: 1 Fenced",
        "entry: 2 EpochBegan",
    ] {
        assert!(named.remove(own), "{own} is missing");
    }
    assert_eq!(named, declared);
}
