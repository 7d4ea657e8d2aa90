//! The merged object model, and look-ups in it.

use crate::handles::*;
use crate::module::Fields;
use crate::{FomError, Module, Switches};
use std::collections::BTreeMap;

/// How values travel (the FDD's own transportation types map to one of these by `reliable`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Transportation {
    /// HLAreliable.
    Reliable,
    /// HLAbestEffort.
    BestEffort,
}

/// In which order values are delivered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Order {
    /// Receive order.
    Receive,
    /// Time-stamp order.
    TimeStamp,
}

/// Module (by number of merging) and line of a definition.
pub(crate) type Origin = (usize, u32);

/// An object class.
#[derive(Clone, Debug)]
pub struct ObjectClass {
    /// Its handle.
    pub handle: ObjectClassHandle,
    /// Fully qualified, from `HLAobjectRoot` on.
    pub name: String,
    /// Its superclass; none for HLAobjectRoot.
    pub parent: Option<ObjectClassHandle>,
    /// Its subclasses.
    pub children: Vec<ObjectClassHandle>,
    /// All available attributes, inherited ones included. Grows at the end only: an attribute's
    /// position is its slot.
    pub attributes: Vec<AttributeHandle>,
    pub(crate) slots: Vec<(u32, u32)>,
    pub(crate) fields: Fields,
    pub(crate) own: usize,
    pub(crate) origin: Origin,
}

/// An interaction class.
#[derive(Clone, Debug)]
pub struct InteractionClass {
    /// Its handle.
    pub handle: InteractionClassHandle,
    /// Fully qualified, from `HLAinteractionRoot` on.
    pub name: String,
    /// Its superclass; none for HLAinteractionRoot.
    pub parent: Option<InteractionClassHandle>,
    /// Its subclasses.
    pub children: Vec<InteractionClassHandle>,
    /// All available parameters, inherited ones included. Grows at the end only: a parameter's
    /// position is its slot.
    pub parameters: Vec<ParameterHandle>,
    /// How it travels.
    pub transportation: Transportation,
    /// Its preferred order.
    pub order: Order,
    /// Its available dimensions.
    pub dimensions: Vec<DimensionHandle>,
    pub(crate) dimensions_given: bool,
    pub(crate) slots: Vec<(u32, u32)>,
    pub(crate) fields: Fields,
    pub(crate) own: usize,
    pub(crate) origin: Origin,
}

/// An attribute.
#[derive(Clone, Debug)]
pub struct Attribute {
    /// Its handle.
    pub handle: AttributeHandle,
    /// Its name.
    pub name: String,
    /// The class that declares it.
    pub class: ObjectClassHandle,
    /// How its values travel.
    pub transportation: Transportation,
    /// Its preferred order.
    pub order: Order,
    /// Its available dimensions.
    pub dimensions: Vec<DimensionHandle>,
    pub(crate) fields: Fields,
    pub(crate) origin: Origin,
}

/// A parameter.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Its handle.
    pub handle: ParameterHandle,
    /// Its name.
    pub name: String,
    /// The class that declares it.
    pub class: InteractionClassHandle,
    pub(crate) fields: Fields,
    pub(crate) origin: Origin,
}

/// A dimension.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its handle.
    pub handle: DimensionHandle,
    /// Its name.
    pub name: String,
    /// Ranges lie in [0, upper_bound). 2^32 - 1 where the FDD gives none.
    pub upper_bound: u32,
    /// The range, lower bound included and upper not, of a region that leaves the dimension out
    /// (1516.2-2010 §4.7, "value when unspecified"). None: it is excluded, or the FDD says nothing.
    pub default_range: Option<(u32, u32)>,
}

/// A row of another table of the FDD.
#[derive(Clone, Debug)]
pub struct TableEntry {
    pub(crate) fields: Fields,
    pub(crate) origin: Origin,
}

impl TableEntry {
    /// What it says: path and value, without prose.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|(p, v)| (p.as_str(), v.as_str()))
    }

    /// One of its values.
    pub fn field(&self, path: &str) -> Option<&str> {
        field(&self.fields, path)
    }
}

/// A MIM with the FOM modules merged into it: the FDD of a federation execution.
///
/// Handles are given in order of definition and never change; merging the same modules in the
/// same order gives the same handles everywhere.
#[derive(Clone, Debug, Default)]
pub struct ObjectModel {
    pub(crate) modules: Vec<String>,
    pub(crate) object_classes: Vec<ObjectClass>,
    pub(crate) interaction_classes: Vec<InteractionClass>,
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) dimensions: Vec<Dimension>,
    pub(crate) object_names: BTreeMap<String, ObjectClassHandle>,
    pub(crate) interaction_names: BTreeMap<String, InteractionClassHandle>,
    pub(crate) tables: BTreeMap<&'static str, BTreeMap<String, TableEntry>>,
    pub(crate) switches: Switches,
    pub(crate) switches_set: bool,
    /// Dimensions that are referred to (by what, where) and not yet defined.
    pub(crate) undefined: BTreeMap<DimensionHandle, (String, Origin)>,
}

impl ObjectModel {
    /// Starts from a MIM. It must define HLAobjectRoot with HLAprivilegeToDeleteObject, and
    /// HLAinteractionRoot.
    pub fn new(mim: &Module) -> Result<Self, FomError> {
        let mut model = ObjectModel::default();
        let mut problems = Vec::new();
        model.merge_into(mim, &mut problems);
        problems.extend(model.require_roots(mim).err());
        model.resolve(&mut problems);
        match problems.into_iter().next() {
            None => Ok(model),
            Some(first) => Err(first),
        }
    }

    /// Merges FOM modules given together (1516.1-2010 Annex C): they may refer to each other in
    /// any order. On an error the model is as before.
    pub fn merge(&mut self, modules: &[Module]) -> Result<(), FomError> {
        let (next, problems) = self.try_merge(modules);
        match problems.into_iter().next() {
            None => *self = next,
            Some(first) => return Err(first),
        }
        Ok(())
    }

    /// What would come of `merge`, and all that is wrong with it; a problem leaves out the
    /// definition that has it.
    pub fn try_merge(&self, modules: &[Module]) -> (ObjectModel, Vec<FomError>) {
        let mut next = self.clone();
        let mut problems = Vec::new();
        for module in modules {
            next.merge_into(module, &mut problems);
        }
        next.resolve(&mut problems);
        (next, problems)
    }

    /// References to data types that no module defines. `merge` allows them (nothing that an RTI
    /// does depends on them); federates that decode by the FDD don't.
    pub fn undefined_data_types(&self) -> Vec<FomError> {
        let known = self.tables.get("data type");
        let missing = |what: String, fields: &Fields, origin: Origin| {
            let refers =
                |path: &str| matches!(path.rsplit('.').next(), Some("dataType" | "representation"));
            let names = fields.iter().filter(|(path, _)| refers(path));
            let unknown = names.filter(|(_, n)| !known.is_some_and(|k| k.contains_key(n)));
            let errors = unknown.map(|(_, name)| {
                let what = format!("{what}: data type '{name}' is defined by no module");
                FomError::inconsistent("STL-FOM-013", self.place(origin), what)
            });
            errors.collect::<Vec<_>>()
        };
        let attributes = self.attributes.iter().map(|a| {
            let class = self.object_class(a.class).map_or("", |c| &c.name);
            let what = format!("class '{class}', attribute '{}'", a.name);
            missing(what, &a.fields, a.origin)
        });
        let parameters = self.parameters.iter().map(|p| {
            let class = self.interaction_class(p.class).map_or("", |c| &c.name);
            let what = format!("class '{class}', parameter '{}'", p.name);
            missing(what, &p.fields, p.origin)
        });
        let rows = self
            .tables
            .iter()
            .flat_map(|(table, rows)| rows.iter().map(move |(name, row)| (*table, name, row)));
        let rows = rows.map(|(table, name, row)| {
            missing(format!("{table} '{name}'"), &row.fields, row.origin)
        });
        attributes.chain(parameters).chain(rows).flatten().collect()
    }

    /// Designators of the merged modules, the MIM first.
    pub fn modules(&self) -> &[String] {
        &self.modules
    }

    /// A class by its handle.
    pub fn object_class(&self, handle: ObjectClassHandle) -> Option<&ObjectClass> {
        self.object_classes.get(handle.index()?)
    }

    /// All object classes, HLAobjectRoot first.
    pub fn object_classes(&self) -> impl Iterator<Item = &ObjectClass> {
        self.object_classes.iter()
    }

    /// A class by its fully qualified name, with or without `HLAobjectRoot.`.
    pub fn object_class_by_name(&self, name: &str) -> Option<&ObjectClass> {
        let handle = self.object_names.get(name).or_else(|| {
            let qualified = format!("HLAobjectRoot.{name}");
            self.object_names.get(&qualified)
        })?;
        self.object_class(*handle)
    }

    /// A class by its handle.
    pub fn interaction_class(&self, handle: InteractionClassHandle) -> Option<&InteractionClass> {
        self.interaction_classes.get(handle.index()?)
    }

    /// All interaction classes, HLAinteractionRoot first.
    pub fn interaction_classes(&self) -> impl Iterator<Item = &InteractionClass> {
        self.interaction_classes.iter()
    }

    /// A class by its fully qualified name, with or without `HLAinteractionRoot.`.
    pub fn interaction_class_by_name(&self, name: &str) -> Option<&InteractionClass> {
        let handle = self.interaction_names.get(name).or_else(|| {
            let qualified = format!("HLAinteractionRoot.{name}");
            self.interaction_names.get(&qualified)
        })?;
        self.interaction_class(*handle)
    }

    /// An attribute by its handle.
    pub fn attribute(&self, handle: AttributeHandle) -> Option<&Attribute> {
        self.attributes.get(handle.index()?)
    }

    /// An available attribute of a class by its name.
    pub fn attribute_by_name(
        &self,
        class: ObjectClassHandle,
        name: &str,
    ) -> Option<AttributeHandle> {
        let mut available = self.object_class(class)?.attributes.iter().copied();
        available.find(|a| self.attribute(*a).is_some_and(|a| a.name == name))
    }

    /// A parameter by its handle.
    pub fn parameter(&self, handle: ParameterHandle) -> Option<&Parameter> {
        self.parameters.get(handle.index()?)
    }

    /// An available parameter of a class by its name.
    pub fn parameter_by_name(
        &self,
        class: InteractionClassHandle,
        name: &str,
    ) -> Option<ParameterHandle> {
        let mut available = self.interaction_class(class)?.parameters.iter().copied();
        available.find(|p| self.parameter(*p).is_some_and(|p| p.name == name))
    }

    /// A dimension by its handle.
    pub fn dimension(&self, handle: DimensionHandle) -> Option<&Dimension> {
        self.dimensions.get(handle.index()?)
    }

    /// A dimension by its name.
    pub fn dimension_by_name(&self, name: &str) -> Option<&Dimension> {
        self.dimensions.iter().find(|d| d.name == name)
    }

    /// An update rate by its designator, in updates per second.
    pub fn update_rate(&self, designator: &str) -> Option<f64> {
        let entry = self.tables.get("update rate")?.get(designator)?;
        entry.field("rate")?.parse().ok()
    }

    /// The switches.
    pub fn switches(&self) -> &Switches {
        &self.switches
    }

    /// The other tables: data types, transportations, tags and so on, by table and name.
    pub fn tables(&self) -> impl Iterator<Item = (&'static str, &str, &TableEntry)> {
        self.tables
            .iter()
            .flat_map(|(table, rows)| rows.iter().map(|(name, e)| (*table, name.as_str(), e)))
    }

    /// Whether `class` is `ancestor` or one of its subclasses.
    pub fn is_subclass_or_same(
        &self,
        class: ObjectClassHandle,
        ancestor: ObjectClassHandle,
    ) -> bool {
        let mut at = Some(class);
        while let Some(c) = at {
            if c == ancestor {
                return true;
            }
            at = self.object_class(c).and_then(|c| c.parent);
        }
        false
    }

    /// Whether interaction class `class` is `ancestor` or below it.
    pub fn is_interaction_subclass_or_same(
        &self,
        class: InteractionClassHandle,
        ancestor: InteractionClassHandle,
    ) -> bool {
        let mut at = Some(class);
        while let Some(c) = at {
            if c == ancestor {
                return true;
            }
            at = self.interaction_class(c).and_then(|c| c.parent);
        }
        false
    }
}

impl ObjectClass {
    /// The position of an attribute in `attributes`.
    pub fn slot(&self, attribute: AttributeHandle) -> Option<u32> {
        slot(&self.slots, attribute.raw())
    }
}

impl InteractionClass {
    /// The position of a parameter in `parameters`.
    pub fn slot(&self, parameter: ParameterHandle) -> Option<u32> {
        slot(&self.slots, parameter.raw())
    }
}

fn slot(slots: &[(u32, u32)], raw: u32) -> Option<u32> {
    let at = slots.binary_search_by_key(&raw, |(h, _)| *h).ok()?;
    Some(slots[at].1)
}

pub(crate) fn field<'a>(fields: &'a Fields, path: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(p, _)| p == path)?;
    Some(&found.1)
}
