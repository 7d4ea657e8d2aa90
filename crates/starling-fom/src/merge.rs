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

use crate::error::short;
use crate::handles::*;
use crate::model::*;
use crate::module::{ClassDef, EntryDef, Fields, MemberDef};
use crate::{Code, FomError, Module, Place};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Fields of a member of which two definitions may not differ, and whether that is harmless: the
/// RTI does not enforce them.
const MEMBER_FIELDS: [(&str, bool); 6] = [
    ("dataType", false),
    ("transportation", false),
    ("order", false),
    ("updateType", true),
    ("ownership", true),
    ("sharing", true),
];

/// A definition that is there, for comparing with another of the same.
struct Known<'a> {
    fields: &'a Fields,
    dimensions: Vec<String>,
    origin: Origin,
    inherited: bool,
}

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
            let code = match prose {
                true => Code::Difference,
                false => Code::Conflict,
            };
            let what = format!("{} '{}': {difference}", new.table, new.name);
            let (at, first) = (self.place(origin), self.place(old.origin));
            return Err(FomError::conflict(code, what, at, first));
        }
        match new.table {
            "dimension" => self.add_dimension(new, origin)?,
            "update rate" => {
                let rate = field(&new.fields, "rate").and_then(|r| r.parse::<f64>().ok());
                if !rate.is_some_and(|r| r.is_finite() && r > 0.0) {
                    let what = format!("update rate '{}' has no rate above 0", new.name);
                    return Err(FomError::new(Code::BadValue, self.place(origin), what));
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
                    return Err(FomError::new(Code::BadValue, self.place(origin), what));
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

    fn add_dimension(&mut self, new: &EntryDef, origin: Origin) -> Result<(), FomError> {
        let upper_bound = match field(&new.fields, "upperBound") {
            None => u32::MAX,
            Some(text) => text.parse().ok().filter(|b| *b > 0).ok_or_else(|| {
                let what = format!(
                    "dimension '{}' has the upper bound '{}'; it is a whole number from 1 to 4294967295",
                    new.name,
                    short(text)
                );
                FomError::new(Code::BadValue, self.place(origin), what)
            })?,
        };
        let value = field(&new.fields, "value").unwrap_or("Excluded");
        let default_range = default_range(value, upper_bound).ok_or_else(|| {
            let what = format!(
                "dimension '{}' has the value '{}' when unspecified; it is a range like [0..3), a single value like [2), or Excluded, within the upper bound {upper_bound}",
                new.name,
                short(value)
            );
            FomError::new(Code::BadValue, self.place(origin), what)
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
    }

    fn merge_object_class(
        &mut self,
        new: &ClassDef,
        parent: Option<ObjectClassHandle>,
        of_2000: bool,
        problems: &mut Problems,
    ) {
        if problems.is_full() {
            return;
        }
        let known = match parent.and_then(|p| self.object_class(p)) {
            Some(parent) => parent.child_names.get(&new.name).copied(),
            None => self.object_classes.first().map(|root| root.handle),
        };
        let known = match known {
            Some(handle) => Ok(handle),
            None => self.add_object_class(new, parent),
        };
        let handle = match known {
            Ok(handle) => handle,
            Err(problem) => return problems.add(problem),
        };
        if let Err(problem) = self.fill_object_class(handle, new, of_2000, problems) {
            problems.add(problem);
        }
        for child in &new.children {
            self.merge_object_class(child, Some(handle), of_2000, problems);
        }
    }

    fn fill_object_class(
        &mut self,
        handle: ObjectClassHandle,
        new: &ClassDef,
        of_2000: bool,
        problems: &mut Problems,
    ) -> Result<(), FomError> {
        let index = handle.index().expect("handles of the model have an index");
        let class = &self.object_classes[index];
        if of_2000 && self.is_class_of_mim(handle) {
            return Ok(());
        }
        let (name, old_origin) = (class.name.clone(), class.origin);
        self.same_sharing("class", &name, &class.fields, new, old_origin, problems);
        if class.own.is_empty() {
            // Only what is new goes down: scaffolding may be repeated as often as it likes.
            let is_new = |m: &MemberDef| self.attribute_by_name(handle, &m.name).is_none();
            let below = match new.members.iter().any(is_new) {
                true => self.object_classes_below(handle),
                false => Vec::new(),
            };
            let wanted: BTreeSet<&str> = new.members.iter().map(|m| m.name.as_str()).collect();
            let hidden: BTreeMap<String, AttributeHandle> = below
                .iter()
                .skip(1)
                .filter_map(|c| self.object_class(*c))
                .flat_map(|c| &c.own)
                .filter(|(name, _)| wanted.contains(name.as_str()))
                .map(|(name, handle)| (name.clone(), *handle))
                .collect();
            for member in &new.members {
                let known = self.attribute_by_name(handle, &member.name);
                let known = known.and_then(|a| self.known_attribute(a, handle));
                if let Some(known) = known {
                    self.again(&name, "attribute", &known, member, problems)?;
                    continue;
                }
                let twin = hidden.get(&member.name).and_then(|a| self.attribute(*a));
                if let Some(a) = twin {
                    let below = self.object_class(a.class).map_or("", |c| &c.name);
                    return Err(self.hidden(&name, "attribute", member, below, a.origin));
                }
                self.add_attribute(handle, &name, &below, member)?;
            }
        } else if !new.members.is_empty() {
            let find = |name: &str| {
                let known = self.attribute_by_name(handle, name)?;
                self.known_attribute(known, handle)
            };
            let own: Vec<&str> = class.own.keys().map(String::as_str).collect();
            self.same_members("attribute", &name, &find, &own, new, old_origin, problems)?;
        }
        let origin = self.origin(new.line);
        let class = &mut self.object_classes[index];
        if lacks(&class.fields, &new.fields) {
            let class = Arc::make_mut(class);
            adopt(&mut class.fields, &new.fields);
            class.origin = origin;
        }
        Ok(())
    }

    fn known_attribute(
        &self,
        attribute: AttributeHandle,
        at: ObjectClassHandle,
    ) -> Option<Known<'_>> {
        let a = self.attribute(attribute)?;
        Some(Known {
            fields: &a.fields,
            dimensions: self.names_of(&a.dimensions),
            origin: a.origin,
            inherited: a.class != at,
        })
    }

    /// A class and all below it.
    fn object_classes_below(&self, class: ObjectClassHandle) -> Vec<ObjectClassHandle> {
        let mut all = vec![class];
        let mut next = 0;
        while let Some(class) = all.get(next).and_then(|c| self.object_class(*c)) {
            all.extend(&class.children);
            next += 1;
        }
        all
    }

    fn add_object_class(
        &mut self,
        new: &ClassDef,
        parent: Option<ObjectClassHandle>,
    ) -> Result<ObjectClassHandle, FomError> {
        let handle = ObjectClassHandle::of_index(self.object_classes.len());
        let above = parent.and_then(|p| self.object_class(p));
        let name = qualified(above.map(|p| p.name.as_str()), &new.name);
        let attributes = above.map(|p| p.attributes.clone()).unwrap_or_default();
        self.require_room(attributes.len(), name.len(), new.line)?;
        self.object_classes.push(Arc::new(ObjectClass {
            handle,
            name,
            parent,
            children: Vec::new(),
            attributes,
            child_names: BTreeMap::new(),
            own: BTreeMap::new(),
            fields: new.fields.clone(),
            origin: self.origin(new.line),
        }));
        if let Some(p) = parent.and_then(ObjectClassHandle::index) {
            let parent = Arc::make_mut(&mut self.object_classes[p]);
            parent.children.push(handle);
            parent.child_names.insert(new.name.clone(), handle);
        }
        Ok(handle)
    }

    /// `below` is the class with all below it: subclasses that came before this definition get it
    /// at the end.
    fn add_attribute(
        &mut self,
        class: ObjectClassHandle,
        class_name: &str,
        below: &[ObjectClassHandle],
        new: &MemberDef,
    ) -> Result<(), FomError> {
        let what = format!("class '{class_name}', attribute '{}'", new.name);
        let order = self.order(&what, &new.fields, new.line)?;
        self.require_room(below.len(), 0, new.line)?;
        let dimensions = self.dimension_handles(&what, new.dimensions.as_deref(), new.line);
        let handle = AttributeHandle::of_index(self.attributes.len());
        self.attributes.push(Arc::new(Attribute {
            handle,
            name: new.name.clone(),
            class,
            transportation: Transportation::Reliable,
            order,
            dimensions,
            fields: new.fields.clone(),
            origin: self.origin(new.line),
        }));
        for c in below.iter().filter_map(|c| c.index()) {
            Arc::make_mut(&mut self.object_classes[c])
                .attributes
                .push(handle);
        }
        if let Some(c) = class.index() {
            let own = &mut Arc::make_mut(&mut self.object_classes[c]).own;
            own.insert(new.name.clone(), handle);
        }
        Ok(())
    }

    fn merge_interaction_class(
        &mut self,
        new: &ClassDef,
        parent: Option<InteractionClassHandle>,
        of_2000: bool,
        problems: &mut Problems,
    ) {
        if problems.is_full() {
            return;
        }
        let known = match parent.and_then(|p| self.interaction_class(p)) {
            Some(parent) => parent.child_names.get(&new.name).copied(),
            None => self.interaction_classes.first().map(|root| root.handle),
        };
        let known = match known {
            Some(handle) => Ok(handle),
            None => self.add_interaction_class(new, parent),
        };
        let handle = match known {
            Ok(handle) => handle,
            Err(problem) => return problems.add(problem),
        };
        if let Err(problem) = self.fill_interaction_class(handle, new, of_2000, problems) {
            problems.add(problem);
        }
        for child in &new.children {
            self.merge_interaction_class(child, Some(handle), of_2000, problems);
        }
    }

    fn fill_interaction_class(
        &mut self,
        handle: InteractionClassHandle,
        new: &ClassDef,
        of_2000: bool,
        problems: &mut Problems,
    ) -> Result<(), FomError> {
        let index = handle.index().expect("handles of the model have an index");
        let class = &self.interaction_classes[index];
        if of_2000 && self.is_interaction_of_mim(handle) {
            return Ok(());
        }
        let (name, old_origin) = (class.name.clone(), class.origin);
        self.same_sharing("class", &name, &class.fields, new, old_origin, problems);
        self.same_travel(&name, &class.fields, new, old_origin)?;
        let what = format!("interaction class '{name}'");
        self.order(&what, &new.fields, new.line)?;
        if let Some(is) = &new.dimensions {
            let was = self.names_of(&class.dimensions);
            if !class.dimensions_given {
                let dimensions = self.dimension_handles(&what, Some(is), new.line);
                let class = Arc::make_mut(&mut self.interaction_classes[index]);
                (class.dimensions, class.dimensions_given) = (dimensions, true);
            } else if *is != was && !new.members.is_empty() {
                let what = format!("{what}: dimensions {} vs {}", list(&was), list(is));
                let (at, first) = (self.place(self.origin(new.line)), self.place(old_origin));
                return Err(FomError::conflict(Code::Conflict, what, at, first));
            }
        }
        // What former scaffolding left open holds as said now.
        let origin = self.origin(new.line);
        let class = &mut self.interaction_classes[index];
        if lacks(&class.fields, &new.fields) {
            let class = Arc::make_mut(class);
            adopt(&mut class.fields, &new.fields);
            class.origin = origin;
        }
        let class = &self.interaction_classes[index];
        let order = self.order(&what, &class.fields, new.line)?;
        if class.order != order {
            Arc::make_mut(&mut self.interaction_classes[index]).order = order;
        }
        let class = &self.interaction_classes[index];
        if class.own.is_empty() {
            // Only what is new goes down: scaffolding may be repeated as often as it likes.
            let is_new = |m: &MemberDef| self.parameter_by_name(handle, &m.name).is_none();
            let below = match new.members.iter().any(is_new) {
                true => self.interaction_classes_below(handle),
                false => Vec::new(),
            };
            let wanted: BTreeSet<&str> = new.members.iter().map(|m| m.name.as_str()).collect();
            let hidden: BTreeMap<String, ParameterHandle> = below
                .iter()
                .skip(1)
                .filter_map(|c| self.interaction_class(*c))
                .flat_map(|c| &c.own)
                .filter(|(name, _)| wanted.contains(name.as_str()))
                .map(|(name, handle)| (name.clone(), *handle))
                .collect();
            for member in &new.members {
                let known = self.parameter_by_name(handle, &member.name);
                let known = known.and_then(|p| self.known_parameter(p, handle));
                if let Some(known) = known {
                    self.again(&name, "parameter", &known, member, problems)?;
                    continue;
                }
                let twin = hidden.get(&member.name).and_then(|p| self.parameter(*p));
                if let Some(a) = twin {
                    let below = self.interaction_class(a.class).map_or("", |c| &c.name);
                    return Err(self.hidden(&name, "parameter", member, below, a.origin));
                }
                self.add_parameter(handle, &below, member)?;
            }
        } else if !new.members.is_empty() {
            let find = |name: &str| {
                let known = self.parameter_by_name(handle, name)?;
                self.known_parameter(known, handle)
            };
            let own: Vec<&str> = class.own.keys().map(String::as_str).collect();
            self.same_members("parameter", &name, &find, &own, new, old_origin, problems)?;
        }
        Ok(())
    }

    fn known_parameter(
        &self,
        parameter: ParameterHandle,
        at: InteractionClassHandle,
    ) -> Option<Known<'_>> {
        let a = self.parameter(parameter)?;
        Some(Known {
            fields: &a.fields,
            dimensions: Vec::new(),
            origin: a.origin,
            inherited: a.class != at,
        })
    }

    /// A class and all below it.
    fn interaction_classes_below(
        &self,
        class: InteractionClassHandle,
    ) -> Vec<InteractionClassHandle> {
        let mut all = vec![class];
        let mut next = 0;
        while let Some(class) = all.get(next).and_then(|c| self.interaction_class(*c)) {
            all.extend(&class.children);
            next += 1;
        }
        all
    }

    fn add_interaction_class(
        &mut self,
        new: &ClassDef,
        parent: Option<InteractionClassHandle>,
    ) -> Result<InteractionClassHandle, FomError> {
        let handle = InteractionClassHandle::of_index(self.interaction_classes.len());
        let above = parent.and_then(|p| self.interaction_class(p));
        let name = qualified(above.map(|p| p.name.as_str()), &new.name);
        let parameters = above.map(|p| p.parameters.clone()).unwrap_or_default();
        self.require_room(parameters.len(), name.len(), new.line)?;
        self.interaction_classes.push(Arc::new(InteractionClass {
            handle,
            name,
            parent,
            children: Vec::new(),
            parameters,
            transportation: Transportation::Reliable,
            order: Order::Receive,
            dimensions: Vec::new(),
            dimensions_given: false,
            child_names: BTreeMap::new(),
            own: BTreeMap::new(),
            fields: Fields::new(),
            origin: self.origin(new.line),
        }));
        if let Some(p) = parent.and_then(InteractionClassHandle::index) {
            let parent = Arc::make_mut(&mut self.interaction_classes[p]);
            parent.children.push(handle);
            parent.child_names.insert(new.name.clone(), handle);
        }
        Ok(handle)
    }

    /// `below` is the class with all below it: subclasses that came before this definition get it
    /// at the end.
    fn add_parameter(
        &mut self,
        class: InteractionClassHandle,
        below: &[InteractionClassHandle],
        new: &MemberDef,
    ) -> Result<(), FomError> {
        self.require_room(below.len(), 0, new.line)?;
        let handle = ParameterHandle::of_index(self.parameters.len());
        self.parameters.push(Arc::new(Parameter {
            handle,
            name: new.name.clone(),
            class,
            fields: new.fields.clone(),
            origin: self.origin(new.line),
        }));
        for c in below.iter().filter_map(|c| c.index()) {
            Arc::make_mut(&mut self.interaction_classes[c])
                .parameters
                .push(handle);
        }
        if let Some(c) = class.index() {
            let own = &mut Arc::make_mut(&mut self.interaction_classes[c]).own;
            own.insert(new.name.clone(), handle);
        }
        Ok(())
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
                    let at = self.place(origin);
                    Err(FomError::new(Code::Undefined, at, what))
                }
            },
        }
    }

    fn order(&self, what: &str, fields: &Fields, line: u32) -> Result<Order, FomError> {
        match field(fields, "order") {
            None | Some("Receive" | "receive" | "HLAreceive") => Ok(Order::Receive),
            Some("TimeStamp" | "timestamp" | "Timestamp" | "HLAtimeStamp") => Ok(Order::TimeStamp),
            Some(other) => {
                let what = format!(
                    "{what}: order is '{}'; it is Receive or TimeStamp",
                    short(other)
                );
                let at = self.place(self.origin(line));
                Err(FomError::new(Code::BadValue, at, what))
            }
        }
    }

    fn dimension_handles(
        &mut self,
        what: &str,
        names: Option<&[String]>,
        line: u32,
    ) -> Vec<DimensionHandle> {
        let origin = self.origin(line);
        let mut handles = Vec::new();
        for name in names.unwrap_or_default() {
            let known = self.dimensions.len();
            let handle = self.dimension_handle(name);
            if self.dimensions.len() > known {
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

    /// The roots and MOM classes are scaffolding in most modules, whatever they say of sharing.
    fn same_sharing(
        &self,
        kind: &str,
        name: &str,
        old: &Fields,
        new: &ClassDef,
        first: Origin,
        problems: &mut Problems,
    ) {
        if let Err((what, was)) = same_field(kind, name, "sharing", old, new)
            && !new.members.is_empty()
        {
            let (at, first) = (self.place(self.origin(new.line)), self.place(first));
            problems.add(FomError::conflict(Code::Difference, what, at, first).of_first(was));
        }
    }

    fn same_travel(
        &self,
        name: &str,
        old: &Fields,
        new: &ClassDef,
        first: Origin,
    ) -> Result<(), FomError> {
        for path in ["transportation", "order"] {
            same_field("interaction class", name, path, old, new).map_err(|(what, was)| {
                let (at, first) = (self.place(self.origin(new.line)), self.place(first));
                FomError::conflict(Code::Conflict, what, at, first).of_first(was)
            })?;
        }
        Ok(())
    }

    /// A repeated definition has the same members, and says the same of them.
    #[allow(
        clippy::too_many_arguments,
        reason = "attributes and parameters share it"
    )]
    fn same_members<'a>(
        &self,
        kind: &str,
        class: &str,
        find: &dyn Fn(&str) -> Option<Known<'a>>,
        own: &[&str],
        new: &ClassDef,
        first: Origin,
        problems: &mut Problems,
    ) -> Result<(), FomError> {
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        for member in &new.members {
            let at = || self.place(self.origin(member.line));
            if let Some(line) = seen.insert(&member.name, member.line) {
                let first = self.place(self.origin(line));
                return Err(twice(class, kind, member, at(), first));
            }
            let Some(known) = find(&member.name) else {
                let what = format!(
                    "class '{class}': {kind} '{}' is not in the former definition of the class",
                    member.name
                );
                let first = self.place(first);
                return Err(FomError::conflict(Code::Conflict, what, at(), first));
            };
            if known.inherited {
                self.again(class, kind, &known, member, problems)?;
                continue;
            }
            if let Some((code, text)) = differs(&known, member) {
                let what = format!("class '{class}', {kind} '{}': {text}", member.name);
                let error = FomError::conflict(code, what, at(), self.place(known.origin));
                match error.is_harmless() {
                    true => problems.add(error),
                    false => return Err(error),
                }
            }
        }
        match own.iter().find(|name| !seen.contains_key(*name)) {
            None => Ok(()),
            Some(missing) => {
                let what = format!(
                    "class '{class}': {kind} '{missing}' of the former definition is missing here"
                );
                let at = self.place(self.origin(new.line));
                let first = find(missing).map_or(first, |known| known.origin);
                let first = self.place(first);
                Err(FomError::conflict(Code::Conflict, what, at, first))
            }
        }
    }

    /// A class defines what it has: twice in its own definition, or what it inherits, which is let
    /// pass if it says the same.
    fn again(
        &self,
        class: &str,
        kind: &str,
        known: &Known<'_>,
        new: &MemberDef,
        problems: &mut Problems,
    ) -> Result<(), FomError> {
        let (at, first) = (self.place(self.origin(new.line)), self.place(known.origin));
        if !known.inherited {
            return Err(twice(class, kind, new, at, first));
        }
        let what = format!(
            "class '{class}' defines the {kind} '{}', which it inherits",
            new.name
        );
        match differs(known, new) {
            Some((Code::Conflict, how)) => {
                let what = format!("{what}: {how}");
                Err(FomError::conflict(Code::Conflict, what, at, first))
            }
            _ => {
                problems.add(FomError::conflict(Code::Difference, what, at, first));
                Ok(())
            }
        }
    }

    fn hidden(
        &self,
        class: &str,
        kind: &str,
        new: &MemberDef,
        below: &str,
        origin: Origin,
    ) -> FomError {
        let what = format!(
            "class '{class}' defines the {kind} '{}', which its subclass '{below}' has too",
            new.name
        );
        let at = self.place(self.origin(new.line));
        FomError::conflict(Code::Conflict, what, at, self.place(origin))
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

fn twice(class: &str, kind: &str, new: &MemberDef, at: Place, first: Place) -> FomError {
    let what = format!("class '{class}' has the {kind} '{}' twice", new.name);
    FomError::conflict(Code::Conflict, what, at, first)
}

/// What both say of a class is the same, or how it differs, and what the first says.
fn same_field(
    kind: &str,
    name: &str,
    path: &str,
    old: &Fields,
    new: &ClassDef,
) -> Result<(), (String, String)> {
    match (field(old, path), field(&new.fields, path)) {
        (Some(was), Some(is)) if was != is => {
            let first = format!("{path} {}", short(was));
            let what = format!("{kind} '{name}': {first} vs {}", short(is));
            Err((what, first))
        }
        _ => Ok(()),
    }
}

/// In what a definition differs from the one that is there, and how badly.
fn differs(known: &Known<'_>, new: &MemberDef) -> Option<(Code, String)> {
    let privilege = new.name == "HLAprivilegeToDeleteObject";
    let differing = MEMBER_FIELDS.iter().filter_map(|(path, harmless)| {
        let (was, is) = (field(known.fields, path)?, field(&new.fields, path)?);
        let harmless = *harmless || (privilege && *path == "order");
        let code = match harmless {
            true => Code::Difference,
            false => Code::Conflict,
        };
        (was != is).then(|| (code, format!("{path} {} vs {}", short(was), short(is))))
    });
    let dimensions = new
        .dimensions
        .as_ref()
        .filter(|is| **is != known.dimensions);
    let dimensions = dimensions.map(|is| {
        let text = format!("dimensions {} vs {}", list(&known.dimensions), list(is));
        (Code::Conflict, text)
    });
    // The fields that count come first.
    let (conflicts, others): (Vec<_>, Vec<_>) = differing
        .chain(dimensions)
        .partition(|(code, _)| *code == Code::Conflict);
    conflicts.into_iter().chain(others).next()
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

/// Whether a definition leaves open what another says.
fn lacks(fields: &Fields, new: &Fields) -> bool {
    new.iter().any(|(path, _)| field(fields, path).is_none())
}

/// Takes over what is not said yet.
fn adopt(fields: &mut Fields, new: &Fields) {
    for (path, value) in new {
        if field(fields, path).is_none() {
            fields.push((path.clone(), value.clone()));
        }
    }
}

/// In which field two rows differ first, and how, as `field: was vs is`. Their order says nothing.
pub(crate) fn difference<'a, F>(old: &'a F, new: &'a F) -> Option<(&'a str, String)>
where
    F: PartialEq,
    &'a F: IntoIterator<Item = &'a (String, String)>,
{
    if old == new {
        return None;
    }
    let values = |fields: &'a F| {
        let mut values = BTreeMap::<&str, Vec<&str>>::new();
        for (path, value) in fields {
            values.entry(path).or_default().push(value);
        }
        values
    };
    let (was, is) = (values(old), values(new));
    let text = |values: Option<&Vec<&str>>| values.map(|v| short(&v.join(", ")));
    for (path, _) in old.into_iter().chain(new) {
        let (was, is) = (was.get(path.as_str()), is.get(path.as_str()));
        if was != is {
            let how = match (text(was), text(is)) {
                (Some(was), Some(is)) => format!("{path} {was} vs {is}"),
                (was, None) => {
                    let only = was.unwrap_or_default();
                    format!("{path} {only} only in the first definition")
                }
                (None, Some(only)) => format!("{path} {only} only in the second definition"),
            };
            return Some((path, how));
        }
    }
    None
}

/// Names for a message; of many the first.
fn list(names: &[String]) -> String {
    const MAX: usize = 10;
    let shown: Vec<_> = names.iter().take(MAX).map(|n| short(n)).collect();
    match names.len() {
        0 => "none".into(),
        1..=MAX => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), more - MAX),
    }
}
