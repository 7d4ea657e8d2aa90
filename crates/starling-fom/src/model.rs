//! The merged object model, and look-ups in it.

use crate::error::short;
use crate::handles::*;
use crate::module::Fields;
use crate::{Check, Code, FomError, Module, Switches};
use std::collections::BTreeMap;
use std::sync::Arc;

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

impl Transportation {
    /// Its name in FOM modules and in the services about names (1516.1-2010, 10.22).
    pub fn name(self) -> &'static str {
        match self {
            Transportation::Reliable => "HLAreliable",
            Transportation::BestEffort => "HLAbestEffort",
        }
    }
}

impl Order {
    /// Its name in FOM modules and in the services about names (1516.1-2010, 10.20).
    pub fn name(self) -> &'static str {
        match self {
            Order::Receive => "Receive",
            Order::TimeStamp => "TimeStamp",
        }
    }
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
    /// position is its slot. Ascending, since handles are given in the order of definition.
    pub attributes: Vec<AttributeHandle>,
    pub(crate) child_names: BTreeMap<String, ObjectClassHandle>,
    /// What it declares itself.
    pub(crate) own: BTreeMap<String, AttributeHandle>,
    pub(crate) fields: Fields,
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
    /// position is its slot. Ascending, since handles are given in the order of definition.
    pub parameters: Vec<ParameterHandle>,
    pub(crate) child_names: BTreeMap<String, InteractionClassHandle>,
    /// What it declares itself.
    pub(crate) own: BTreeMap<String, ParameterHandle>,
    /// How it travels.
    pub transportation: Transportation,
    /// Its preferred order.
    pub order: Order,
    /// Its available dimensions.
    pub dimensions: Vec<DimensionHandle>,
    pub(crate) dimensions_given: bool,
    pub(crate) fields: Fields,
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

/// Most available attributes of all object classes together, inherited ones counted at each class;
/// likewise of parameters. RPR 2.0 has 5,000.
pub(crate) const AVAILABLE_MAX: usize = 4_000_000;
/// Most bytes of all class names together, each fully qualified.
pub(crate) const NAME_BYTES_MAX: usize = 64 << 20;

type Rows = BTreeMap<String, Arc<TableEntry>>;

/// A MIM with the FOM modules merged into it: the FDD of a federation execution.
///
/// Handles are given in order of definition and never change; merging the same modules in the
/// same order gives the same handles everywhere. A clone shares what neither it nor the original
/// changes afterwards, so that a thousand federation executions have one MIM in memory.
#[derive(Clone, Debug, Default)]
pub struct ObjectModel {
    pub(crate) modules: Vec<String>,
    /// How many classes the MIM has: object classes, interaction classes.
    mim: (usize, usize),
    pub(crate) object_classes: Vec<Arc<ObjectClass>>,
    pub(crate) interaction_classes: Vec<Arc<InteractionClass>>,
    pub(crate) attributes: Vec<Arc<Attribute>>,
    pub(crate) parameters: Vec<Arc<Parameter>>,
    pub(crate) dimensions: Vec<Arc<Dimension>>,
    pub(crate) dimension_names: BTreeMap<String, DimensionHandle>,
    pub(crate) tables: BTreeMap<&'static str, Arc<Rows>>,
    pub(crate) switches: Switches,
    pub(crate) switches_set: bool,
    /// Dimensions that are referred to (by what, where) and not yet defined.
    pub(crate) undefined: BTreeMap<DimensionHandle, (String, Origin)>,
    /// While modules are merged: in which line of a definition its transportation stands.
    pub(crate) transportation_lines: BTreeMap<Origin, u32>,
    /// Available attributes and parameters, at all classes.
    pub(crate) available: usize,
    pub(crate) name_bytes: usize,
}

/// What is wrong with modules: of each kind the first so many.
#[derive(Debug, Default)]
pub struct Problems {
    /// What is refused.
    pub errors: Vec<FomError>,
    /// What only [`Check::Strict`] refuses.
    pub warnings: Vec<FomError>,
}

impl Problems {
    pub(crate) const MAX: usize = 200;

    pub(crate) fn add(&mut self, problem: FomError) {
        let list = if problem.is_harmless() {
            &mut self.warnings
        } else {
            &mut self.errors
        };
        if list.len() < Self::MAX {
            list.push(problem);
        }
    }

    /// Enough is wrong to stop reading.
    pub(crate) fn is_full(&self) -> bool {
        self.errors.len() >= Self::MAX
    }

    /// The first that is refused by this check.
    pub fn refused(&self, check: Check) -> Option<&FomError> {
        let warnings = match check {
            Check::Lenient => &[][..],
            Check::Strict => &self.warnings,
        };
        self.errors.iter().chain(warnings).next()
    }
}

impl ObjectModel {
    /// Starts from a MIM. It must define HLAobjectRoot with HLAprivilegeToDeleteObject, and
    /// HLAinteractionRoot.
    pub fn new(mim: &Module) -> Result<Self, FomError> {
        let mut model = ObjectModel::default();
        let mut problems = Problems::default();
        model.merge_into(mim, &mut problems);
        if let Err(error) = model.require_roots(mim) {
            problems.add(error);
        }
        model.resolve(&mut problems);
        model.mim = (model.object_classes.len(), model.interaction_classes.len());
        match problems.errors.into_iter().next() {
            None => Ok(model),
            Some(first) => Err(first),
        }
    }

    /// Whether the MIM defines this class.
    pub fn is_class_of_mim(&self, class: ObjectClassHandle) -> bool {
        class.index().is_some_and(|i| i < self.mim.0)
    }

    /// Whether the MIM defines this class.
    pub fn is_interaction_of_mim(&self, class: InteractionClassHandle) -> bool {
        class.index().is_some_and(|i| i < self.mim.1)
    }

    /// Merges FOM modules given together (1516.1-2010 Annex C): they may refer to each other in
    /// any order. Gives what was let pass; on an error the model is as before.
    pub fn merge(&mut self, modules: &[Module], check: Check) -> Result<Vec<FomError>, FomError> {
        let (next, problems) = self.try_merge(modules);
        if let Some(first) = problems.refused(check) {
            return Err(first.clone());
        }
        *self = next;
        Ok(problems.warnings)
    }

    /// What would come of `merge`, and what is wrong with it; a problem leaves out the
    /// definition that has it.
    pub fn try_merge(&self, modules: &[Module]) -> (ObjectModel, Problems) {
        let mut next = self.clone();
        let mut problems = Problems::default();
        for module in modules {
            next.merge_into(module, &mut problems);
            for unknown in &module.unknown {
                problems.add(unknown.clone());
            }
            module.repeated_classes(&mut problems);
        }
        next.resolve(&mut problems);
        next.endless_data_types(self.modules.len(), &mut problems);
        for missing in next.undefined_data_types(self.modules.len()) {
            problems.add(missing);
        }
        (next, problems)
    }

    /// References of modules from this number on to data types that no module defines. Nothing
    /// that an RTI does depends on them; what federates that decode by the FDD do does.
    fn undefined_data_types(&self, from: usize) -> impl Iterator<Item = FomError> {
        let known = self.tables.get("data type");
        let missing = move |what: &dyn Fn() -> String, fields: &Fields, origin: Origin| {
            let refers =
                |path: &str| matches!(path.rsplit('.').next(), Some("dataType" | "representation"));
            let names = fields.iter().filter(|(path, _)| refers(path));
            let mut unknown = names.filter(|(_, n)| !known.is_some_and(|k| k.contains_key(n)));
            let (_, name) = unknown.next().filter(|_| origin.0 >= from)?;
            let what = format!(
                "{}: data type '{}' is defined by no module{}",
                what(),
                short(name),
                self.nearest_data_type(name)
            );
            let code = Code::UndefinedDataType;
            Some(FomError::new(code, self.place(origin), what))
        };
        let attributes = self.attributes.iter().filter_map(move |a| {
            let what = || {
                let class = self.object_class(a.class).map_or("", |c| &c.name);
                format!("class '{class}', attribute '{}'", a.name)
            };
            missing(&what, &a.fields, a.origin)
        });
        let parameters = self.parameters.iter().filter_map(move |p| {
            let what = || {
                let class = self.interaction_class(p.class).map_or("", |c| &c.name);
                format!("class '{class}', parameter '{}'", p.name)
            };
            missing(&what, &p.fields, p.origin)
        });
        let rows = self.tables().filter_map(move |(table, name, row)| {
            missing(&|| format!("{table} '{name}'"), &row.fields, row.origin)
        });
        attributes.chain(parameters).chain(rows).take(Problems::MAX)
    }

    /// Designators of the merged modules, the MIM first.
    pub fn modules(&self) -> &[String] {
        &self.modules
    }

    /// A class by its handle.
    #[inline]
    pub fn object_class(&self, handle: ObjectClassHandle) -> Option<&ObjectClass> {
        self.object_classes.get(handle.index()?).map(Arc::as_ref)
    }

    /// All object classes, HLAobjectRoot first.
    pub fn object_classes(&self) -> impl Iterator<Item = &ObjectClass> + Clone {
        self.object_classes.iter().map(Arc::as_ref)
    }

    /// A class by its fully qualified name, with or without `HLAobjectRoot.`.
    pub fn object_class_by_name(&self, name: &str) -> Option<&ObjectClass> {
        let root = self.object_classes().next()?;
        let steps = below(&root.name, name);
        steps.into_iter().flatten().try_fold(root, |class, step| {
            self.object_class(*class.child_names.get(step)?)
        })
    }

    /// A class by its handle.
    #[inline]
    pub fn interaction_class(&self, handle: InteractionClassHandle) -> Option<&InteractionClass> {
        self.interaction_classes
            .get(handle.index()?)
            .map(Arc::as_ref)
    }

    /// All interaction classes, HLAinteractionRoot first.
    pub fn interaction_classes(&self) -> impl Iterator<Item = &InteractionClass> + Clone {
        self.interaction_classes.iter().map(Arc::as_ref)
    }

    /// A class by its fully qualified name, with or without `HLAinteractionRoot.`.
    pub fn interaction_class_by_name(&self, name: &str) -> Option<&InteractionClass> {
        let root = self.interaction_classes().next()?;
        let steps = below(&root.name, name);
        steps.into_iter().flatten().try_fold(root, |class, step| {
            self.interaction_class(*class.child_names.get(step)?)
        })
    }

    /// An object class and its superclasses, up to the root.
    pub fn object_lineage(&self, class: ObjectClassHandle) -> impl Iterator<Item = &ObjectClass> {
        let parent = |c: &&ObjectClass| c.parent.and_then(|p| self.object_class(p));
        std::iter::successors(self.object_class(class), parent)
    }

    /// An interaction class and its superclasses, up to the root.
    pub fn interaction_lineage(
        &self,
        class: InteractionClassHandle,
    ) -> impl Iterator<Item = &InteractionClass> {
        let parent = |c: &&InteractionClass| c.parent.and_then(|p| self.interaction_class(p));
        std::iter::successors(self.interaction_class(class), parent)
    }

    /// An attribute by its handle.
    pub fn attribute(&self, handle: AttributeHandle) -> Option<&Attribute> {
        self.attributes.get(handle.index()?).map(Arc::as_ref)
    }

    /// An available attribute of a class by its name.
    pub fn attribute_by_name(
        &self,
        class: ObjectClassHandle,
        name: &str,
    ) -> Option<AttributeHandle> {
        let mut classes = self.object_lineage(class);
        classes.find_map(|c| c.own.get(name).copied())
    }

    /// A parameter by its handle.
    pub fn parameter(&self, handle: ParameterHandle) -> Option<&Parameter> {
        self.parameters.get(handle.index()?).map(Arc::as_ref)
    }

    /// An available parameter of a class by its name.
    pub fn parameter_by_name(
        &self,
        class: InteractionClassHandle,
        name: &str,
    ) -> Option<ParameterHandle> {
        let mut at = self.interaction_class(class);
        while let Some(c) = at {
            if let Some(own) = c.own.get(name) {
                return Some(*own);
            }
            at = c.parent.and_then(|p| self.interaction_class(p));
        }
        None
    }

    /// A dimension by its handle.
    pub fn dimension(&self, handle: DimensionHandle) -> Option<&Dimension> {
        self.dimensions.get(handle.index()?).map(Arc::as_ref)
    }

    /// A dimension by its name.
    pub fn dimension_by_name(&self, name: &str) -> Option<&Dimension> {
        self.dimension(*self.dimension_names.get(name)?)
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
            .flat_map(|(table, rows)| rows.iter().map(|(name, e)| (*table, name.as_str(), &**e)))
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
    #[inline]
    pub fn slot(&self, attribute: AttributeHandle) -> Option<u32> {
        place(&self.attributes, attribute, AttributeHandle::raw)
    }
}

impl InteractionClass {
    /// The position of a parameter in `parameters`.
    #[inline]
    pub fn slot(&self, parameter: ParameterHandle) -> Option<u32> {
        place(&self.parameters, parameter, ParameterHandle::raw)
    }
}

/// Where a handle stands among ascending ones. Those that a class declares itself are the last, and follow
/// one another unless it was defined in several modules: mostly no search is needed.
#[inline]
fn place<H: Copy + Ord>(handles: &[H], handle: H, number: fn(H) -> u32) -> Option<u32> {
    let last = handles.last()?;
    let behind = number(*last).wrapping_sub(number(handle)) as usize;
    let place = (handles.len() - 1).wrapping_sub(behind);
    if handles.get(place) == Some(&handle) {
        return Some(place as u32);
    }
    let found = handles.binary_search(&handle);
    found.ok().map(|place| place as u32)
}

/// The steps from the root class to a class; none if the name is the root's. The root's own name may
/// be left out.
fn below<'n>(root: &str, name: &'n str) -> Option<std::str::Split<'n, char>> {
    let rest = match name.strip_prefix(root) {
        Some("") => return None,
        Some(rest) => rest.strip_prefix('.').unwrap_or(name),
        None => name,
    };
    Some(rest.split('.'))
}

pub(crate) fn field<'a>(fields: &'a Fields, path: &str) -> Option<&'a str> {
    let found = fields.iter().find(|(p, _)| p == path)?;
    Some(&found.1)
}
