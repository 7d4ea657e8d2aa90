//! CONTRIBUTING.md says which files a service takes by hand; here the sources are asked.

use std::collections::BTreeSet;
use std::path::Path;

/// The example's names: its request, its answer and its callback, in every spelling.
const NAMES: [&str; 6] = [
    "QueryAttributeTransportation",
    "query_attribute_transportation",
    "queryAttributeTransportationType",
    "ReportAttributeTransportationType",
    "reportAttributeTransportationType",
    "Entry::AttributeTransportation {",
];

/// Files below a folder that name the example, but for generated ones, headers, tests of a crate, and the
/// simulator, which CONTRIBUTING.md names besides.
fn naming(root: &Path, below: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(root.join(below)).unwrap() {
        let entry = entry.unwrap();
        let name = entry.file_name().into_string().unwrap();
        let path = format!("{below}/{name}");
        let left_out = ["generated", "include", "target", "starling-sim"].contains(&name.as_str())
            || (name == "tests" && below.starts_with("crates/"));
        if entry.file_type().unwrap().is_dir() {
            if !left_out {
                naming(root, &path, found);
            }
        } else if let Ok(text) = std::fs::read_to_string(entry.path())
            && NAMES.iter().any(|name| text.contains(name))
        {
            found.insert(path);
        }
    }
}

#[test]
fn a_service_takes_the_eight_files_that_contributing_names() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let text = std::fs::read_to_string(root.join("CONTRIBUTING.md")).unwrap();
    // `| 1 | `file` | what |`
    let rows = text.lines().filter_map(|line| {
        let (number, rest) = line.strip_prefix("| ")?.split_once(" | `")?;
        number.parse::<usize>().ok()?;
        Some(rest.split_once('`')?.0.to_owned())
    });
    let listed: BTreeSet<String> = rows.collect();
    let mut found = BTreeSet::new();
    for below in [
        "crates",
        "cpp/rti1516e",
        "tests/object",
        "tests/conformance/src",
    ] {
        naming(&root, below, &mut found);
    }
    for page in ["spec/api.tsv", "docs/wire-format.md"] {
        let text = std::fs::read_to_string(root.join(page)).unwrap();
        found.extend(
            NAMES
                .iter()
                .any(|n| text.contains(n))
                .then(|| page.to_owned()),
        );
    }
    assert_eq!(found, listed);
    assert!(listed.len() <= 8, "{} files", listed.len());
}
