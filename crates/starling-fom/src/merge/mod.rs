//! Merging a module into the model, 1516.1-2010 Annex C.
//!
//! - a class that is not there yet is added;
//! - a class that is there may be repeated as scaffolding (no attributes or parameters), or with
//!   exactly the same ones; scaffolding may be filled in once;
//! - a row of any other table may be repeated if it says the same;
//! - the switches table of the first module that has one holds;
//! - what differs without changing any exchange of data is told, and the first definition holds;
//! - where a module of 1516-2000 repeats the MIM in the words of that edition, the MIM holds.
//!
//! All of it is linear in the size of the modules, but for what they inherit: that is bounded.

mod compare;
mod interactions;
mod objects;

use crate::error::short;
use crate::handles::*;
use crate::model::*;
use crate::module::{EntryDef, Fields, Lines};
use crate::{Code, FomError, Module, Place};
use std::sync::Arc;

pub(crate) use compare::difference;

impl ObjectModel {
    /// Merges what can be merged, and says what can't.
    pub(crate) fn merge_into(&mut self, module: &Module, problems: &mut Problems) {
        self.modules.push(module.designator.clone());
        // Tables first: classes refer to dimensions and transportations.
        for entry in &module.entries {
            if problems.is_full() {
                return;
            }
            if let Err(problem) = self.merge_entry(entry, module.is_of_2000) {
                problems.add(problem);
            }
        }
        if let Some(root) = &module.objects {
            self.merge_object_class(root, None, module.is_of_2000, problems);
        }
        if let Some(root) = &module.interactions {
            self.merge_interaction_class(root, None, module.is_of_2000, problems);
        }
        if let Some((switches, _)) = &module.switches
            && !self.switches_set
        {
            self.switches = switches.clone();
            self.switches_set = true;
        }
    }

    pub(crate) fn require_roots(&self, mim: &Module) -> Result<(), FomError> {
        let place = Place {
            module: mim.designator.clone(),
            line: 1,
        };
        let root = self.object_classes().next();
        let privilege = root.and_then(|r| r.own.get("HLAprivilegeToDeleteObject"));
        if privilege.is_none() || self.interaction_classes.is_empty() {
            let what = "it is no MIM: it must define HLAobjectRoot with the attribute HLAprivilegeToDeleteObject, and HLAinteractionRoot";
            return Err(FomError::new(Code::NotAMim, place, what));
        }
        Ok(())
    }

    fn merge_entry(&mut self, new: &EntryDef, of_2000: bool) -> Result<(), FomError> {
        let origin = self.origin(new.line);
        let old = self.tables.get(new.table).and_then(|t| t.get(&new.name));
        if let Some(old) = old {
            if of_2000 && is_of_mim(old.origin) {
                return Ok(());
            }
            let Some((_, difference)) = difference(&old.fields, &new.fields) else {
                return Ok(());
            };
            // The standard's prose: its quotation marks differ from tool to tool.
            let counts = |(path, _): &&(String, String)| path != "encoding";
            let counting =
                |fields: &Fields| -> Fields { fields.iter().filter(counts).cloned().collect() };
            let prose = old.field("kind") == Some("basicData")
                && self::difference(&counting(&old.fields), &counting(&new.fields)).is_none();
            let code = if prose {
                Code::Difference
            } else {
                Code::Conflict
            };
            let what = format!("{} '{}': {difference}", new.table, new.name);
            let (at, first) = (self.place(origin), self.place(old.origin));
            return Err(FomError::conflict(code, what, at, first));
        }
        match new.table {
            "dimension" => self.add_dimension(new)?,
            "update rate" => {
                let rate = field(&new.fields, "rate").and_then(|r| r.parse::<f64>().ok());
                if !rate.is_some_and(|r| r.is_finite() && r > 0.0) {
                    let what = format!("update rate '{}' has no rate above 0", new.name);
                    let at = self.place(self.origin(new.lines.of("rate")));
                    return Err(FomError::new(Code::BadValue, at, what));
                }
            }
            "transportation" => {
                let reliable = field(&new.fields, "reliable").unwrap_or("Yes");
                if !matches!(reliable, "Yes" | "No") {
                    let what = format!(
                        "transportation '{}' is reliable '{}'; it is Yes or No",
                        new.name,
                        short(reliable)
                    );
                    let at = self.place(self.origin(new.lines.of("reliable")));
                    return Err(FomError::new(Code::BadValue, at, what));
                }
            }
            _ => {}
        }
        let entry = TableEntry {
            fields: new.fields.clone(),
            origin,
        };
        let rows = self.tables.entry(new.table).or_default();
        Arc::make_mut(rows).insert(new.name.clone(), Arc::new(entry));
        Ok(())
    }

    fn add_dimension(&mut self, new: &EntryDef) -> Result<(), FomError> {
        let at = |model: &Self, field| model.place(model.origin(new.lines.of(field)));
        let upper_bound = match field(&new.fields, "upperBound") {
            None => u32::MAX,
            Some(text) => text.parse().ok().filter(|b| *b > 0).ok_or_else(|| {
                let what = format!(
                    "dimension '{}' has the upper bound '{}'; it is a whole number from 1 to 4294967295",
                    new.name,
                    short(text)
                );
                FomError::new(Code::BadValue, at(self, "upperBound"), what)
            })?,
        };
        let value = field(&new.fields, "value").unwrap_or("Excluded");
        let default_range = default_range(value, upper_bound).ok_or_else(|| {
            let what = format!(
                "dimension '{}' has the value '{}' when unspecified; it is a range like [0..3), a single value like [2), or Excluded, within the upper bound {upper_bound}",
                new.name,
                short(value)
            );
            FomError::new(Code::BadValue, at(self, "value"), what)
        });
        let handle = self.dimension_handle(&new.name);
        self.undefined.remove(&handle);
        if let Some(d) = handle.index().and_then(|i| self.dimensions.get_mut(i)) {
            let d = Arc::make_mut(d);
            d.upper_bound = upper_bound;
            d.default_range = default_range?;
        }
        Ok(())
    }

    /// The line at which the definition in that line names a transportation that is still to be looked for.
    fn note_transportation(&mut self, fields: &Fields, lines: &Lines, line: u32) {
        let own = lines.of("transportation");
        let standard = |name| matches!(name, "HLAreliable" | "HLAbestEffort");
        if own != line && field(fields, "transportation").is_some_and(|name| !standard(name)) {
            let origin = self.origin(line);
            self.transportation_lines.insert(origin, own);
        }
    }

    /// The handle of a dimension, given at its first mention whichever module defines it.
    fn dimension_handle(&mut self, name: &str) -> DimensionHandle {
        if let Some(known) = self.dimension_by_name(name) {
            return known.handle;
        }
        let handle = DimensionHandle::of_index(self.dimensions.len());
        self.dimension_names.insert(name.to_owned(), handle);
        self.dimensions.push(Arc::new(Dimension {
            handle,
            name: name.to_owned(),
            upper_bound: u32::MAX,
            default_range: None,
        }));
        handle
    }

    /// Checks and settles references, once all modules of a set are in.
    pub(crate) fn resolve(&mut self, problems: &mut Problems) {
        for (dimension, (what, origin)) in &self.undefined {
            let name = self.dimension(*dimension).map_or("", |d| &d.name);
            let what = format!(
                "{what}: dimension '{}' is defined by no module{}",
                short(name),
                self.nearest_dimension(name)
            );
            problems.add(FomError::new(Code::Undefined, self.place(*origin), what));
        }
        let mut settled = |how: Result<Transportation, FomError>| {
            how.unwrap_or_else(|error| {
                problems.add(error);
                Transportation::Reliable
            })
        };
        let attributes = self.attributes.iter().map(|a| {
            let what = || {
                let class = self.object_class(a.class).map_or("", |c| &c.name);
                format!("class '{class}', attribute '{}'", a.name)
            };
            settled(self.transportation(&what, &a.fields, a.origin))
        });
        let attributes: Vec<_> = attributes.collect();
        let interactions = self.interaction_classes.iter().map(|c| {
            let what = || format!("interaction class '{}'", c.name);
            settled(self.transportation(&what, &c.fields, c.origin))
        });
        let interactions: Vec<_> = interactions.collect();
        for (attribute, how) in self.attributes.iter_mut().zip(attributes) {
            if attribute.transportation != how {
                Arc::make_mut(attribute).transportation = how;
            }
        }
        for (class, how) in self.interaction_classes.iter_mut().zip(interactions) {
            if class.transportation != how {
                Arc::make_mut(class).transportation = how;
            }
        }
        self.transportation_lines.clear();
    }

    fn transportation(
        &self,
        what: &dyn Fn() -> String,
        fields: &Fields,
        origin: Origin,
    ) -> Result<Transportation, FomError> {
        match field(fields, "transportation") {
            None | Some("HLAreliable" | "reliable") => Ok(Transportation::Reliable),
            Some("HLAbestEffort" | "best_effort" | "bestEffort") => Ok(Transportation::BestEffort),
            Some(name) => match self.tables.get("transportation").and_then(|t| t.get(name)) {
                Some(row) if row.field("reliable") == Some("No") => Ok(Transportation::BestEffort),
                Some(_) => Ok(Transportation::Reliable),
                None => {
                    let what = format!(
                        "{}: transportation '{}' is defined by no module{}",
                        what(),
                        short(name),
                        self.nearest_transportation(name)
                    );
                    let own = self.transportation_lines.get(&origin);
                    let at = self.place((origin.0, own.copied().unwrap_or(origin.1)));
                    Err(FomError::new(Code::Undefined, at, what))
                }
            },
        }
    }

    fn order(&self, what: &str, fields: &Fields, lines: &Lines) -> Result<Order, FomError> {
        match field(fields, "order") {
            None | Some("Receive" | "receive" | "HLAreceive") => Ok(Order::Receive),
            Some("TimeStamp" | "timestamp" | "Timestamp" | "HLAtimeStamp") => Ok(Order::TimeStamp),
            Some(other) => {
                let what = format!(
                    "{what}: order is '{}'; it is Receive or TimeStamp",
                    short(other)
                );
                let at = self.place(self.origin(lines.of("order")));
                Err(FomError::new(Code::BadValue, at, what))
            }
        }
    }

    fn dimension_handles(
        &mut self,
        what: &str,
        names: Option<&[String]>,
        lines: &Lines,
    ) -> Vec<DimensionHandle> {
        let mut handles = Vec::new();
        for (n, name) in names.unwrap_or_default().iter().enumerate() {
            let known = self.dimensions.len();
            let handle = self.dimension_handle(name);
            if self.dimensions.len() > known {
                // A module of 1516-2000 has them in the head of the definition.
                let line = lines.dimensions.get(n).copied();
                let origin = self.origin(line.unwrap_or_else(|| lines.of("dimensions")));
                self.undefined.insert(handle, (what.to_owned(), origin));
            }
            handles.push(handle);
        }
        handles
    }

    pub(crate) fn names_of(&self, dimensions: &[DimensionHandle]) -> Vec<String> {
        let names = dimensions.iter().filter_map(|d| self.dimension(*d));
        names.map(|d| d.name.clone()).collect()
    }

    /// What modules inherit is not linear in their size, so it is bounded: room for so many available
    /// members and bytes of names, or TooLarge.
    fn require_room(&mut self, available: usize, name: usize, line: u32) -> Result<(), FomError> {
        let place = |model: &Self| model.place(model.origin(line));
        if self.available + available > AVAILABLE_MAX {
            let what = format!(
                "with what is inherited there are more than {AVAILABLE_MAX} attributes and parameters"
            );
            return Err(FomError::new(Code::TooLarge, place(self), what));
        }
        if self.name_bytes + name > NAME_BYTES_MAX {
            let what =
                format!("the full names of all classes have more than {NAME_BYTES_MAX} bytes");
            return Err(FomError::new(Code::TooLarge, place(self), what));
        }
        self.available += available;
        self.name_bytes += name;
        Ok(())
    }

    /// A line of the module that is being merged.
    fn origin(&self, line: u32) -> Origin {
        (self.modules.len() - 1, line)
    }

    pub(crate) fn place(&self, (module, line): Origin) -> Place {
        Place {
            module: self.modules[module].clone(),
            line,
        }
    }
}

fn is_of_mim(origin: Origin) -> bool {
    origin.0 == 0
}

fn qualified(parent: Option<&str>, name: &str) -> String {
    match parent {
        Some(parent) => format!("{parent}.{name}"),
        None => name.to_owned(),
    }
}

/// Reads a dimension's value when unspecified (1516.2-2010 §4.7): `[lower..upper)`, `[only)` or
/// `Excluded`.
fn default_range(text: &str, upper_bound: u32) -> Option<Option<(u32, u32)>> {
    if text.eq_ignore_ascii_case("Excluded") {
        return Some(None);
    }
    let bounds = text.strip_prefix('[')?.strip_suffix(')')?;
    // 1516-2000 writes whole numbers as 3.0, too.
    let number = |text: &str| {
        let text = text.trim();
        text.strip_suffix(".0").unwrap_or(text).parse::<u32>().ok()
    };
    let (lower, upper) = match bounds.split_once("..") {
        Some((lower, upper)) => (number(lower)?, number(upper)?),
        None => (number(bounds)?, number(bounds)?.checked_add(1)?),
    };
    (lower < upper && upper <= upper_bound).then_some(Some((lower, upper)))
}
