//! What a module or model says, definition by definition, without prose: for comparing.

use crate::merge::difference;
use crate::module::ClassDef;
use crate::{Module, ObjectModel, Switches};
use std::collections::{BTreeMap, BTreeSet};

/// Definitions by what they define, as `attribute HLAobjectRoot.Boat.Speed`.
#[derive(Clone, Debug, Default)]
pub struct Meaning {
    rows: BTreeMap<String, BTreeSet<(String, String)>>,
    /// Where a module says it.
    lines: BTreeMap<String, u32>,
}

/// Where something is said makes no difference.
impl PartialEq for Meaning {
    fn eq(&self, second: &Meaning) -> bool {
        self.rows == second.rows
    }
}

impl Eq for Meaning {}

/// A definition in which two modules or models differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Only the first has it.
    OnlyFirst(String),
    /// Only the second has it.
    OnlySecond(String),
    /// Both have it; what differs.
    Both(String, String),
}

impl Meaning {
    /// Where the two differ, in order of what is defined.
    pub fn differences(&self, second: &Meaning) -> Vec<Difference> {
        let mut found = Vec::new();
        for (what, was) in &self.rows {
            match second.rows.get(what) {
                None => found.push(Difference::OnlyFirst(what.clone())),
                Some(is) => found.extend(
                    difference(was, is).map(|(_, text)| Difference::Both(what.clone(), text)),
                ),
            }
        }
        let new = second
            .rows
            .keys()
            .filter(|what| !self.rows.contains_key(*what));
        found.extend(new.map(|what| Difference::OnlySecond(what.clone())));
        found
    }

    /// Of this what the second says, too, be it otherwise.
    pub fn repeated_by(&self, second: &Meaning) -> Meaning {
        let mut repeated = self.clone();
        repeated.rows.retain(|what, was| {
            let Some(is) = second.rows.get(what) else {
                return false;
            };
            let paths: BTreeSet<&str> = is.iter().map(|(path, _)| path.as_str()).collect();
            was.retain(|(path, _)| paths.contains(path.as_str()));
            true
        });
        repeated
    }

    /// The line of a definition; none in a merged model.
    pub fn line(&self, what: &str) -> Option<u32> {
        self.lines.get(what).copied()
    }

    fn add(&mut self, what: String, fields: &[(String, String)], dimensions: Option<&[String]>) {
        let row = self.rows.entry(what).or_default();
        row.extend(fields.iter().cloned());
        for name in dimensions.unwrap_or_default() {
            row.insert(("dimensions".into(), name.clone()));
        }
    }

    fn at(&mut self, what: &str, line: u32) {
        self.lines.entry(what.to_owned()).or_insert(line);
    }

    fn switches(&mut self, switches: &Switches, line: Option<u32>) {
        for (name, value) in switches.values() {
            let what = format!("switch {name}");
            if let Some(line) = line {
                self.at(&what, line);
            }
            self.add(what, &[("".into(), value)], None);
        }
    }

    fn class(&mut self, kinds: (&str, &str), parent: &str, class: &ClassDef) {
        let name = match parent {
            "" => class.name.clone(),
            _ => format!("{parent}.{}", class.name),
        };
        let dimensions = class.dimensions.as_deref();
        let what = format!("{} {name}", kinds.0);
        self.at(&what, class.line);
        self.add(what, &class.fields, dimensions);
        for m in &class.members {
            let what = format!("{} {name}.{}", kinds.1, m.name);
            self.at(&what, m.line);
            self.add(what, &m.fields, m.dimensions.as_deref());
        }
        for child in &class.children {
            self.class(kinds, &name, child);
        }
    }
}

impl Module {
    /// What it says.
    pub fn meaning(&self) -> Meaning {
        let mut meaning = Meaning::default();
        if let Some(root) = &self.objects {
            meaning.class(("object class", "attribute"), "", root);
        }
        if let Some(root) = &self.interactions {
            meaning.class(("interaction class", "parameter"), "", root);
        }
        for row in &self.entries {
            let what = format!("{} {}", row.table, row.name);
            meaning.at(&what, row.line);
            meaning.add(what, &row.fields, None);
        }
        if let Some((switches, line)) = &self.switches {
            meaning.switches(switches, Some(*line));
        }
        meaning
    }
}

impl ObjectModel {
    /// What it says.
    pub fn meaning(&self) -> Meaning {
        let mut meaning = Meaning::default();
        for c in self.object_classes() {
            meaning.add(format!("object class {}", c.name), &c.fields, None);
            let own = c.attributes.iter().filter_map(|a| self.attribute(*a));
            for a in own.filter(|a| a.class == c.handle) {
                let dimensions = self.names_of(&a.dimensions);
                let what = format!("attribute {}.{}", c.name, a.name);
                meaning.add(what, &a.fields, Some(&dimensions));
            }
        }
        for c in self.interaction_classes() {
            let dimensions = self.names_of(&c.dimensions);
            let what = format!("interaction class {}", c.name);
            meaning.add(what, &c.fields, Some(&dimensions));
            let own = c.parameters.iter().filter_map(|p| self.parameter(*p));
            for p in own.filter(|p| p.class == c.handle) {
                meaning.add(format!("parameter {}.{}", c.name, p.name), &p.fields, None);
            }
        }
        for (table, name, row) in self.tables() {
            meaning.add(format!("{table} {name}"), &row.fields, None);
        }
        meaning.switches(&self.switches, None);
        meaning
    }
}
