//! FOM modules and the MIM: from sources to an object model.
//!
//! Reading and merging large modules takes seconds, so it is apart from the executive: whoever
//! drives that may do it on another thread ([`Executive::take_modules`](crate::Executive)).

use crate::message::{ModuleSource, ToExecutive};
use crate::{Exception, ExceptionKind};
use starling_fom::{Check, FomError, FomErrorKind, Module, ObjectModel, STANDARD_MIM_DESIGNATOR};

/// Most modules of a federation execution, the MIM included.
const MODULES_MAX: usize = 1000;

/// Which role a module was given in; the exceptions differ.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Role {
    Fom,
    Mim,
}

/// Modules that a message brought, to be merged. Holds no reference to the executive and takes
/// time in proportion to their size, so it can run on any thread.
pub struct ModuleMerge {
    /// What they are merged into; none: the first of them is the MIM.
    pub(crate) base: Option<ObjectModel>,
    pub(crate) basis: Basis,
    pub(crate) sources: Vec<ModuleSource>,
    /// What the message brought and the federation execution has already.
    pub(crate) known: Vec<ModuleSource>,
    pub(crate) check: Check,
}

/// What modules are merged into: a federation execution by its number at the executive (names come
/// back, numbers don't), with so many modules. Default: one that is to be created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Basis {
    pub(crate) execution: u64,
    pub(crate) modules: usize,
}

/// Modules that were merged, or why they can't be.
pub struct MergedModules {
    /// While this is so, the base is still the same.
    pub(crate) basis: Basis,
    pub(crate) sources: Vec<ModuleSource>,
    known: Vec<ModuleSource>,
    pub(crate) model: Result<ObjectModel, Exception>,
    warnings: Vec<FomError>,
}

impl ModuleMerge {
    /// Whether there is nothing to be merged.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Reads and merges them.
    pub fn run(self) -> MergedModules {
        let merged = build(self.base, &self.sources, self.check);
        let (model, warnings) = match merged {
            Ok((model, warnings)) => (Ok(model), warnings),
            Err(refusal) => (Err(refusal), Vec::new()),
        };
        MergedModules {
            basis: self.basis,
            sources: self.sources,
            known: self.known,
            model,
            warnings,
        }
    }
}

impl MergedModules {
    /// Puts the modules of a join back into its message, to be merged again.
    pub fn give_back(self, message: &mut ToExecutive) {
        if let ToExecutive::Join { modules, .. } = message {
            *modules = self.brought();
        }
    }

    /// All modules that the message brought.
    pub(crate) fn brought(self) -> Vec<ModuleSource> {
        let mut all = self.known;
        all.extend(self.sources);
        all
    }

    /// What was let pass with a warning, for the log.
    pub fn warnings(&self) -> &[FomError] {
        &self.warnings
    }
}

/// The object model of a MIM and FOM modules, merged in this order, as somebody else has accepted
/// them.
pub(crate) fn rebuild(sources: &[ModuleSource]) -> Result<ObjectModel, Exception> {
    Ok(build(None, sources, Check::Lenient)?.0)
}

/// Merges further FOM modules that somebody else has accepted.
pub(crate) fn extend(model: &mut ObjectModel, modules: &[ModuleSource]) -> Result<(), Exception> {
    *model = build(Some(model.clone()), modules, Check::Lenient)?.0;
    Ok(())
}

fn build(
    base: Option<ObjectModel>,
    sources: &[ModuleSource],
    check: Check,
) -> Result<(ObjectModel, Vec<FomError>), Exception> {
    let (mut model, modules) = match base {
        Some(base) => (base, sources),
        None => {
            let (mim, modules) = sources
                .split_first()
                .ok_or_else(|| Exception::new(ExceptionKind::ErrorReadingMIM, "there is no MIM"))?;
            (start(mim)?, modules)
        }
    };
    if model.modules().len() + modules.len() > MODULES_MAX {
        let text = format!("a federation execution has at most {MODULES_MAX} FOM modules");
        return Err(Exception::new(ExceptionKind::ErrorReadingFDD, text));
    }
    let modules: Vec<_> = modules
        .iter()
        .map(|source| parse(source, Role::Fom))
        .collect::<Result<_, _>>()?;
    let merged = model.merge(&modules, check);
    let warnings = merged.map_err(|e| exception(e, Role::Fom))?;
    Ok((model, warnings))
}

fn start(mim: &ModuleSource) -> Result<ObjectModel, Exception> {
    // The built-in MIM travels by name only.
    if mim.text.is_empty() && mim.designator == STANDARD_MIM_DESIGNATOR {
        return Ok(starling_fom::standard_model().clone());
    }
    ObjectModel::new(&parse(mim, Role::Mim)?).map_err(|e| exception(e, Role::Mim))
}

fn exception(error: FomError, role: Role) -> Exception {
    let kind = match (error.kind(), role) {
        (_, Role::Mim) => ExceptionKind::ErrorReadingMIM,
        (FomErrorKind::Unreadable, Role::Fom) => ExceptionKind::ErrorReadingFDD,
        (_, Role::Fom) => ExceptionKind::InconsistentFDD,
    };
    Exception::new(kind, error.to_string())
}

fn parse(source: &ModuleSource, role: Role) -> Result<Module, Exception> {
    starling_fom::parse(&source.designator, &source.text).map_err(|e| exception(e, role))
}
