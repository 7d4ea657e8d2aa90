//! What the RTI can do without, but federates that read the FDD can't: data types that contain
//! themselves, and classes that a module defines twice.

use crate::error::short;
use crate::model::{ObjectModel, Problems, TableEntry};
use crate::module::{ClassDef, Module};
use crate::{Code, FomError, Place};
use std::collections::BTreeMap;

/// How many data types of a circle a message names.
const SHOWN: usize = 5;

impl Module {
    /// Classes that it defines twice below the same superclass.
    pub(crate) fn repeated_classes(&self, problems: &mut Problems) {
        for root in [&self.objects, &self.interactions].into_iter().flatten() {
            self.repeated_below(root, problems);
        }
    }

    fn repeated_below(&self, class: &ClassDef, problems: &mut Problems) {
        let place = |line| Place {
            module: self.designator.clone(),
            line,
        };
        let mut seen = BTreeMap::new();
        for child in &class.children {
            if let Some(first) = seen.insert(&child.name, child.line) {
                let what = format!(
                    "the class '{}' is twice below '{}'",
                    short(&child.name),
                    short(&class.name)
                );
                let (at, first) = (place(child.line), place(first));
                problems.add(FomError::conflict(Code::Repeated, what, at, first));
            }
            self.repeated_below(child, problems);
        }
    }
}

/// Where the search for circles is with a data type.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    /// Those that were entered before it contain it.
    Open,
    Done,
}

impl ObjectModel {
    /// Data types, one of each circle, that modules from this number on have made contain themselves.
    pub(crate) fn endless_data_types(&self, from: usize, problems: &mut Problems) {
        let Some(types) = self.tables.get("data type") else {
            return;
        };
        let mut seen: BTreeMap<&str, Seen> = BTreeMap::new();
        for (name, row) in types.iter() {
            if row.origin.0 < from || seen.contains_key(name.as_str()) {
                continue;
            }
            // Without recursion: a circle may be as long as a module is.
            seen.insert(name, Seen::Open);
            let mut path = vec![(name.as_str(), contained(row).into_iter())];
            while let Some((at, inside)) = path.last_mut() {
                let at = *at;
                let Some(next) = inside.next() else {
                    seen.insert(at, Seen::Done);
                    path.pop();
                    continue;
                };
                let Some((next, row)) = types.get_key_value(next) else {
                    continue;
                };
                match seen.get(next.as_str()) {
                    Some(Seen::Done) => {}
                    None => {
                        seen.insert(next, Seen::Open);
                        path.push((next, contained(row).into_iter()));
                    }
                    // Each message takes a walk along the path.
                    Some(Seen::Open) if problems.warnings.len() >= Problems::MAX => return,
                    Some(Seen::Open) => {
                        let names = path.iter().map(|(name, _)| *name);
                        let circle: Vec<_> = names.skip_while(|name| name != next).collect();
                        let what = format!(
                            "data type '{}' contains itself{}",
                            short(next),
                            through(&circle)
                        );
                        problems.add(FomError::new(Code::Endless, self.place(row.origin), what));
                    }
                }
            }
        }
    }
}

/// Data types of which each value of a data type has one at least.
fn contained(row: &TableEntry) -> Vec<&str> {
    let fields = row.fields();
    let wanted = |path: &str| match row.field("kind") {
        Some("fixedRecordData") => path.starts_with("field") && path.ends_with(".dataType"),
        Some("arrayData") => path == "dataType" && has_elements(row.field("cardinality")),
        Some("variantRecordData") => path == "dataType",
        Some("simpleData" | "enumeratedData") => path == "representation",
        _ => false,
    };
    let wanted = fields.filter(|(path, _)| wanted(path));
    wanted.map(|(_, name)| name).collect()
}

/// Whether each array of this cardinality has an element: it is a number, or several, above 0.
fn has_elements(cardinality: Option<&str>) -> bool {
    let mut numbers = cardinality.unwrap_or_default().split(',');
    numbers.all(|n| n.trim().parse::<u64>().is_ok_and(|n| n > 0))
}

fn through(circle: &[&str]) -> String {
    let others = circle.get(1..).unwrap_or_default();
    let shown: Vec<_> = others.iter().take(SHOWN).map(|name| short(name)).collect();
    match others.len() {
        0 => String::new(),
        n if n > SHOWN => format!(", through {} and {} more", shown.join(", "), n - SHOWN),
        _ => format!(", through {}", shown.join(", ")),
    }
}
