//! Merging a module into the model, 1516.1-2010 Annex C.
//!
//! - a class that is not there yet is added;
//! - a class that is there may be repeated as scaffolding (no attributes or parameters), or with
//!   exactly the same ones; scaffolding may be filled in once;
//! - a row of any other table may be repeated if it says the same;
//! - the switches table of the first module that has one holds.

use crate::handles::*;
use crate::model::*;
use crate::module::{ClassDef, EntryDef, Fields, MemberDef};
use crate::{FomError, Module, Place};

/// Fields of a member whose difference is a conflict.
const MEMBER_FIELDS: [&str; 6] = [
    "dataType",
    "updateType",
    "ownership",
    "sharing",
    "transportation",
    "order",
];

impl ObjectModel {
    /// Merges what can be merged, and says what can't.
    pub(crate) fn merge_into(&mut self, module: &Module, problems: &mut Vec<FomError>) {
        self.modules.push(module.designator.clone());
        // Tables first: classes refer to dimensions and transportations.
        for entry in &module.entries {
            problems.extend(self.merge_entry(entry).err());
        }
        if let Some(root) = &module.objects {
            self.merge_object_class(root, None, problems);
        }
        if let Some(root) = &module.interactions {
            self.merge_interaction_class(root, None, problems);
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
        let root = self.object_classes.first().map(|c| c.handle);
        let privilege = root.and_then(|r| self.attribute_by_name(r, "HLAprivilegeToDeleteObject"));
        if privilege.is_none() || self.interaction_classes.is_empty() {
            let what = "it is no MIM: it must define HLAobjectRoot with the attribute HLAprivilegeToDeleteObject, and HLAinteractionRoot";
            return Err(FomError::unreadable("STL-FOM-009", place, what));
        }
        Ok(())
    }

    fn merge_entry(&mut self, new: &EntryDef) -> Result<(), FomError> {
        let origin = self.origin(new.line);
        let rows = self.tables.entry(new.table).or_default();
        if let Some(old) = rows.get(&new.name) {
            let (old_origin, difference) = (old.origin, difference(&old.fields, &new.fields));
            return match difference {
                None => Ok(()),
                Some(d) => {
                    let what = format!("{} '{}': {d}", new.table, new.name);
                    Err(FomError::conflict(
                        what,
                        self.place(origin),
                        self.place(old_origin),
                    ))
                }
            };
        }
        let entry = TableEntry {
            fields: new.fields.clone(),
            origin,
        };
        rows.insert(new.name.clone(), entry);
        match new.table {
            "dimension" => self.add_dimension(new, origin)?,
            "update rate" => {
                let rate = field(&new.fields, "rate").and_then(|r| r.parse::<f64>().ok());
                if !rate.is_some_and(|r| r.is_finite() && r > 0.0) {
                    let what = format!("update rate '{}' has no rate above 0", new.name);
                    return Err(FomError::unreadable(
                        "STL-FOM-010",
                        self.place(origin),
                        what,
                    ));
                }
            }
            "transportation" => {
                let reliable = field(&new.fields, "reliable").unwrap_or("Yes");
                if !matches!(reliable, "Yes" | "No") {
                    let what = format!(
                        "transportation '{}' is reliable '{reliable}'; it is Yes or No",
                        new.name
                    );
                    return Err(FomError::unreadable(
                        "STL-FOM-010",
                        self.place(origin),
                        what,
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn add_dimension(&mut self, new: &EntryDef, origin: Origin) -> Result<(), FomError> {
        let upper_bound = match field(&new.fields, "upperBound") {
            None => u32::MAX,
            Some(text) => text.parse().ok().filter(|b| *b > 0).ok_or_else(|| {
                let what = format!(
                    "dimension '{}' has the upper bound '{text}'; it is a whole number from 1 to 4294967295",
                    new.name
                );
                FomError::unreadable("STL-FOM-010", self.place(origin), what)
            })?,
        };
        let value = field(&new.fields, "value").unwrap_or("Excluded");
        let default_range = default_range(value, upper_bound).ok_or_else(|| {
            let what = format!(
                "dimension '{}' has the value '{value}' when unspecified; it is a range like [0..3), a single value like [2), or Excluded, within the upper bound {upper_bound}",
                new.name
            );
            FomError::unreadable("STL-FOM-010", self.place(origin), what)
        });
        let handle = self.dimension_handle(&new.name);
        self.undefined.remove(&handle);
        if let Some(d) = handle.index().and_then(|i| self.dimensions.get_mut(i)) {
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
        self.dimensions.push(Dimension {
            handle,
            name: name.to_owned(),
            upper_bound: u32::MAX,
            default_range: None,
        });
        handle
    }

    /// Checks and settles references, once all modules of a set are in.
    pub(crate) fn resolve(&mut self, problems: &mut Vec<FomError>) {
        for (dimension, (what, origin)) in &self.undefined {
            let name = self.dimension(*dimension).map_or("", |d| &d.name);
            let what = format!("{what}: dimension '{name}' is defined by no module");
            let at = self.place(*origin);
            problems.push(FomError::inconsistent("STL-FOM-011", at, what));
        }
        let mut settled = |how: Result<Transportation, FomError>| {
            how.unwrap_or_else(|error| {
                problems.push(error);
                Transportation::Reliable
            })
        };
        let attributes: Vec<_> = self
            .attributes
            .iter()
            .map(|a| {
                let class = self.object_class(a.class).map_or("", |c| &c.name);
                let what = || format!("class '{class}', attribute '{}'", a.name);
                settled(self.transportation(&what, &a.fields, a.origin))
            })
            .collect();
        let interactions: Vec<_> = self
            .interaction_classes
            .iter()
            .map(|c| {
                let what = || format!("interaction class '{}'", c.name);
                settled(self.transportation(&what, &c.fields, c.origin))
            })
            .collect();
        for (attribute, how) in self.attributes.iter_mut().zip(attributes) {
            attribute.transportation = how;
        }
        for (class, how) in self.interaction_classes.iter_mut().zip(interactions) {
            class.transportation = how;
        }
    }

    fn merge_object_class(
        &mut self,
        new: &ClassDef,
        parent: Option<ObjectClassHandle>,
        problems: &mut Vec<FomError>,
    ) {
        let name = self.qualified(
            parent.and_then(|p| self.object_class(p)).map(|p| &p.name),
            new,
        );
        let handle = match self.object_names.get(&name) {
            Some(handle) => *handle,
            None => self.add_object_class(&name, new, parent),
        };
        problems.extend(self.fill_object_class(&name, handle, new).err());
        for child in &new.children {
            self.merge_object_class(child, Some(handle), problems);
        }
    }

    fn fill_object_class(
        &mut self,
        name: &str,
        handle: ObjectClassHandle,
        new: &ClassDef,
    ) -> Result<(), FomError> {
        let index = handle.index().expect("handles of the model have an index");
        let class = &self.object_classes[index];
        let (old_origin, own) = (class.origin, class.own);
        self.same_sharing(name, &class.fields, new, old_origin)?;
        let origin = self.origin(new.line);
        let class = &mut self.object_classes[index];
        if adopt(&mut class.fields, &new.fields) {
            class.origin = origin;
        }
        if !new.members.is_empty() {
            let old: Vec<_> = self
                .attributes
                .iter()
                .filter(|a| a.class == handle)
                .map(|a| {
                    (
                        a.name.clone(),
                        a.fields.clone(),
                        self.names_of(&a.dimensions),
                        a.origin,
                    )
                })
                .collect();
            if own == 0 {
                for (i, member) in new.members.iter().enumerate() {
                    self.no_twin(name, "attribute", &new.members[..i], member)?;
                    self.no_inherited(name, handle, member)?;
                    self.add_attribute(handle, name, member)?;
                }
                self.object_classes[index].own = new.members.len();
            } else {
                self.same_members(name, "attribute", &old, new, old_origin)?;
            }
        }
        Ok(())
    }

    fn add_object_class(
        &mut self,
        name: &str,
        new: &ClassDef,
        parent: Option<ObjectClassHandle>,
    ) -> ObjectClassHandle {
        let handle = ObjectClassHandle::of_index(self.object_classes.len());
        let inherited = parent.and_then(|p| self.object_class(p));
        let inherited = inherited.map(|p| (p.attributes.clone(), p.slots.clone()));
        let (attributes, slots) = inherited.unwrap_or_default();
        self.object_classes.push(ObjectClass {
            handle,
            name: name.to_owned(),
            parent,
            children: Vec::new(),
            attributes,
            slots,
            fields: new.fields.clone(),
            own: 0,
            origin: self.origin(new.line),
        });
        if let Some(p) = parent.and_then(ObjectClassHandle::index) {
            self.object_classes[p].children.push(handle);
        }
        self.object_names.insert(name.to_owned(), handle);
        handle
    }

    fn add_attribute(
        &mut self,
        class: ObjectClassHandle,
        class_name: &str,
        new: &MemberDef,
    ) -> Result<(), FomError> {
        let what = format!("class '{class_name}', attribute '{}'", new.name);
        let order = self.order(&what, &new.fields, new.line)?;
        let dimensions = self.dimension_handles(&what, new.dimensions.as_deref(), new.line);
        let handle = AttributeHandle::of_index(self.attributes.len());
        self.attributes.push(Attribute {
            handle,
            name: new.name.clone(),
            class,
            transportation: Transportation::Reliable,
            order,
            dimensions,
            fields: new.fields.clone(),
            origin: self.origin(new.line),
        });
        // Subclasses that came before this definition get it at the end.
        let mut below = vec![class];
        while let Some(c) = below.pop() {
            if let Some(c) = c.index().and_then(|i| self.object_classes.get_mut(i)) {
                append(&mut c.attributes, &mut c.slots, handle, handle.raw());
                below.extend(&c.children);
            }
        }
        Ok(())
    }

    fn merge_interaction_class(
        &mut self,
        new: &ClassDef,
        parent: Option<InteractionClassHandle>,
        problems: &mut Vec<FomError>,
    ) {
        let parent_class = parent.and_then(|p| self.interaction_class(p));
        let name = self.qualified(parent_class.map(|p| &p.name), new);
        let handle = match self.interaction_names.get(&name) {
            Some(handle) => *handle,
            None => self.add_interaction_class(&name, new, parent),
        };
        problems.extend(self.fill_interaction_class(&name, handle, new).err());
        for child in &new.children {
            self.merge_interaction_class(child, Some(handle), problems);
        }
    }

    fn fill_interaction_class(
        &mut self,
        name: &str,
        handle: InteractionClassHandle,
        new: &ClassDef,
    ) -> Result<(), FomError> {
        let index = handle.index().expect("handles of the model have an index");
        let class = &self.interaction_classes[index];
        let (old_origin, own) = (class.origin, class.own);
        self.same_sharing(name, &class.fields, new, old_origin)?;
        self.same_travel(name, &class.fields, new, old_origin)?;
        let what = format!("interaction class '{name}'");
        self.order(&what, &new.fields, new.line)?;
        if let Some(is) = &new.dimensions {
            let was = self.names_of(&class.dimensions);
            if !class.dimensions_given {
                let dimensions = self.dimension_handles(&what, Some(is), new.line);
                let class = &mut self.interaction_classes[index];
                (class.dimensions, class.dimensions_given) = (dimensions, true);
            } else if *is != was && !new.members.is_empty() {
                let what = format!("{what}: dimensions {} vs {}", list(&was), list(is));
                let at = self.place(self.origin(new.line));
                return Err(FomError::conflict(what, at, self.place(old_origin)));
            }
        }
        self.adopt_fields(index, new)?;
        if !new.members.is_empty() {
            let old: Vec<_> = self
                .parameters
                .iter()
                .filter(|p| p.class == handle)
                .map(|p| (p.name.clone(), p.fields.clone(), Vec::new(), p.origin))
                .collect();
            if own == 0 {
                for (i, member) in new.members.iter().enumerate() {
                    self.no_twin(name, "parameter", &new.members[..i], member)?;
                    self.no_inherited_parameter(name, handle, member)?;
                    self.add_parameter(handle, member);
                }
                self.interaction_classes[index].own = new.members.len();
            } else {
                self.same_members(name, "parameter", &old, new, old_origin)?;
            }
        }
        Ok(())
    }

    /// What former scaffolding left open holds as said now.
    fn adopt_fields(&mut self, index: usize, new: &ClassDef) -> Result<(), FomError> {
        let origin = self.origin(new.line);
        let class = &mut self.interaction_classes[index];
        if adopt(&mut class.fields, &new.fields) {
            class.origin = origin;
        }
        let class = &self.interaction_classes[index];
        let order = self.order(&class.name, &class.fields, new.line)?;
        self.interaction_classes[index].order = order;
        Ok(())
    }

    fn add_interaction_class(
        &mut self,
        name: &str,
        new: &ClassDef,
        parent: Option<InteractionClassHandle>,
    ) -> InteractionClassHandle {
        let handle = InteractionClassHandle::of_index(self.interaction_classes.len());
        let inherited = parent.and_then(|p| self.interaction_class(p));
        let inherited = inherited.map(|p| (p.parameters.clone(), p.slots.clone()));
        let (parameters, slots) = inherited.unwrap_or_default();
        self.interaction_classes.push(InteractionClass {
            handle,
            name: name.to_owned(),
            parent,
            children: Vec::new(),
            parameters,
            transportation: Transportation::Reliable,
            order: Order::Receive,
            dimensions: Vec::new(),
            dimensions_given: false,
            slots,
            fields: Fields::new(),
            own: 0,
            origin: self.origin(new.line),
        });
        if let Some(p) = parent.and_then(InteractionClassHandle::index) {
            self.interaction_classes[p].children.push(handle);
        }
        self.interaction_names.insert(name.to_owned(), handle);
        handle
    }

    fn add_parameter(&mut self, class: InteractionClassHandle, new: &MemberDef) {
        let handle = ParameterHandle::of_index(self.parameters.len());
        self.parameters.push(Parameter {
            handle,
            name: new.name.clone(),
            class,
            fields: new.fields.clone(),
            origin: self.origin(new.line),
        });
        let mut below = vec![class];
        while let Some(c) = below.pop() {
            if let Some(c) = c.index().and_then(|i| self.interaction_classes.get_mut(i)) {
                append(&mut c.parameters, &mut c.slots, handle, handle.raw());
                below.extend(&c.children);
            }
        }
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
                        "{}: transportation '{name}' is defined by no module",
                        what()
                    );
                    let at = self.place(origin);
                    Err(FomError::inconsistent("STL-FOM-011", at, what))
                }
            },
        }
    }

    fn order(&self, what: &str, fields: &Fields, line: u32) -> Result<Order, FomError> {
        match field(fields, "order") {
            None | Some("Receive" | "receive" | "HLAreceive") => Ok(Order::Receive),
            Some("TimeStamp" | "timestamp" | "Timestamp" | "HLAtimeStamp") => Ok(Order::TimeStamp),
            Some(other) => {
                let what = format!("{what}: order is '{other}'; it is Receive or TimeStamp");
                let at = self.place(self.origin(line));
                Err(FomError::unreadable("STL-FOM-010", at, what))
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

    fn same_sharing(
        &self,
        name: &str,
        old: &Fields,
        new: &ClassDef,
        first: Origin,
    ) -> Result<(), FomError> {
        self.same_field("class", name, "sharing", old, new, first)
    }

    fn same_travel(
        &self,
        name: &str,
        old: &Fields,
        new: &ClassDef,
        first: Origin,
    ) -> Result<(), FomError> {
        self.same_field("interaction class", name, "transportation", old, new, first)?;
        self.same_field("interaction class", name, "order", old, new, first)
    }

    fn same_field(
        &self,
        kind: &str,
        name: &str,
        path: &str,
        old: &Fields,
        new: &ClassDef,
        first: Origin,
    ) -> Result<(), FomError> {
        let (Some(was), Some(is)) = (field(old, path), field(&new.fields, path)) else {
            return Ok(());
        };
        // The roots and MOM classes are scaffolding in most modules, whatever they say of sharing.
        if was == is || (path == "sharing" && new.members.is_empty()) {
            return Ok(());
        }
        let what = format!("{kind} '{name}': {path} {was} vs {is}");
        let at = self.place(self.origin(new.line));
        Err(FomError::conflict(what, at, self.place(first)))
    }

    fn same_members(
        &self,
        class: &str,
        kind: &str,
        old: &[(String, Fields, Vec<String>, Origin)],
        new: &ClassDef,
        first: Origin,
    ) -> Result<(), FomError> {
        for (i, member) in new.members.iter().enumerate() {
            self.no_twin(class, kind, &new.members[..i], member)?;
            let at = || self.place(self.origin(member.line));
            let Some((_, fields, dimensions, origin)) = old.iter().find(|o| o.0 == member.name)
            else {
                let what = format!(
                    "class '{class}': {kind} '{}' is not in the former definition of the class",
                    member.name
                );
                return Err(FomError::conflict(what, at(), self.place(first)));
            };
            let conflict = |text: String| {
                let what = format!("class '{class}', {kind} '{}': {text}", member.name);
                FomError::conflict(what, at(), self.place(*origin))
            };
            for path in MEMBER_FIELDS {
                if let (Some(was), Some(is)) = (field(fields, path), field(&member.fields, path))
                    && was != is
                {
                    return Err(conflict(format!("{path} {was} vs {is}")));
                }
            }
            if let Some(is) = &member.dimensions
                && is != dimensions
            {
                return Err(conflict(format!(
                    "dimensions {} vs {}",
                    list(dimensions),
                    list(is)
                )));
            }
        }
        match old
            .iter()
            .find(|o| new.members.iter().all(|m| m.name != o.0))
        {
            None => Ok(()),
            Some((missing, _, _, origin)) => {
                let what = format!(
                    "class '{class}': {kind} '{missing}' of the former definition is missing here"
                );
                let at = self.place(self.origin(new.line));
                Err(FomError::conflict(what, at, self.place(*origin)))
            }
        }
    }

    fn no_twin(
        &self,
        class: &str,
        kind: &str,
        before: &[MemberDef],
        new: &MemberDef,
    ) -> Result<(), FomError> {
        match before.iter().find(|m| m.name == new.name) {
            None => Ok(()),
            Some(twin) => {
                let what = format!("class '{class}' has the {kind} '{}' twice", new.name);
                let at = self.place(self.origin(new.line));
                Err(FomError::conflict(
                    what,
                    at,
                    self.place(self.origin(twin.line)),
                ))
            }
        }
    }

    fn no_inherited(
        &self,
        class: &str,
        handle: ObjectClassHandle,
        new: &MemberDef,
    ) -> Result<(), FomError> {
        let inherited = self.attribute_by_name(handle, &new.name);
        if let Some(a) = inherited.and_then(|a| self.attribute(a)) {
            return Err(self.hides(class, "attribute", new, a.origin));
        }
        // A subclass that came before this definition may have it too.
        let twin = self.attributes.iter().find(|a| {
            a.name == new.name && a.class != handle && self.is_subclass_or_same(a.class, handle)
        });
        match twin.and_then(|a| Some((a, self.object_class(a.class)?))) {
            None => Ok(()),
            Some((a, below)) => Err(self.hidden(class, "attribute", new, &below.name, a.origin)),
        }
    }

    fn no_inherited_parameter(
        &self,
        class: &str,
        handle: InteractionClassHandle,
        new: &MemberDef,
    ) -> Result<(), FomError> {
        let inherited = self.parameter_by_name(handle, &new.name);
        if let Some(p) = inherited.and_then(|p| self.parameter(p)) {
            return Err(self.hides(class, "parameter", new, p.origin));
        }
        let prefix = format!("{class}.");
        let twin = self.parameters.iter().find_map(|p| {
            let below = self.interaction_class(p.class)?;
            (p.name == new.name && below.name.starts_with(&prefix)).then_some((p, below))
        });
        match twin {
            None => Ok(()),
            Some((p, below)) => Err(self.hidden(class, "parameter", new, &below.name, p.origin)),
        }
    }

    fn hides(&self, class: &str, kind: &str, new: &MemberDef, origin: Origin) -> FomError {
        let what = format!(
            "class '{class}' defines the {kind} '{}', which it inherits",
            new.name
        );
        FomError::conflict(what, self.place(self.origin(new.line)), self.place(origin))
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
        FomError::conflict(what, self.place(self.origin(new.line)), self.place(origin))
    }

    fn qualified(&self, parent: Option<&String>, new: &ClassDef) -> String {
        match parent {
            Some(parent) => format!("{parent}.{}", new.name),
            None => new.name.clone(),
        }
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

/// Reads a dimension's value when unspecified (1516.2-2010 §4.7): `[lower..upper)`, `[only)` or
/// `Excluded`.
fn default_range(text: &str, upper_bound: u32) -> Option<Option<(u32, u32)>> {
    if text.eq_ignore_ascii_case("Excluded") {
        return Some(None);
    }
    let bounds = text.strip_prefix('[')?.strip_suffix(')')?;
    let number = |text: &str| text.trim().parse::<u32>().ok();
    let (lower, upper) = match bounds.split_once("..") {
        Some((lower, upper)) => (number(lower)?, number(upper)?),
        None => (number(bounds)?, number(bounds)?.checked_add(1)?),
    };
    (lower < upper && upper <= upper_bound).then_some(Some((lower, upper)))
}

/// Takes over what is not said yet; whether there was any.
fn adopt(fields: &mut Fields, new: &Fields) -> bool {
    let before = fields.len();
    for (path, value) in new {
        if field(fields, path).is_none() {
            fields.push((path.clone(), value.clone()));
        }
    }
    fields.len() > before
}

fn append<H: PartialEq>(list: &mut Vec<H>, slots: &mut Vec<(u32, u32)>, handle: H, raw: u32) {
    let slot = u32::try_from(list.len()).expect("tables are bounded far below 2^32");
    list.push(handle);
    let at = slots.partition_point(|(h, _)| *h < raw);
    slots.insert(at, (raw, slot));
}

/// The first difference between two rows, as `field: was vs is`. Their order says nothing.
pub(crate) fn difference(old: &Fields, new: &Fields) -> Option<String> {
    if old == new {
        return None;
    }
    let values = |fields: &Fields, path: &str| {
        let all = fields.iter().filter(|(p, _)| p == path);
        all.map(|(_, v)| v.clone()).collect::<Vec<_>>().join(", ")
    };
    for (path, _) in old.iter().chain(new) {
        let (was, is) = (values(old, path), values(new, path));
        if was != is {
            return Some(match (was.as_str(), is.as_str()) {
                (only, "") => format!("{path} {only} only in the first definition"),
                ("", only) => format!("{path} {only} only in the second definition"),
                _ => format!("{path} {was} vs {is}"),
            });
        }
    }
    None
}

fn list(names: &[String]) -> String {
    match names.is_empty() {
        true => "none".into(),
        false => names.join(", "),
    }
}
