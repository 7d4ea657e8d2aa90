//! FOM modules and the MIM: from sources to an object model.
//!
//! Reading and merging large modules takes seconds, so it is apart from the executive: whoever
//! drives that may do it on another thread ([`Executive::take_modules`](crate::Executive)).

use crate::exception::throw;
use crate::message::{LogIndex, ModuleSource, ToExecutive};
use crate::{Exception, ExceptionKind, ProtocolError};
use starling_fom::{Check, FomError, FomErrorKind, Module, ObjectModel, STANDARD_MIM_DESIGNATOR};
use std::collections::HashSet;
use std::sync::Arc;

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
    /// What they are merged into, with its modules; none: the first of them is the MIM.
    pub(crate) base: Option<(Arc<ObjectModel>, Vec<ModuleSource>)>,
    pub(crate) basis: Basis,
    /// What the message brought.
    pub(crate) sources: Vec<ModuleSource>,
    pub(crate) check: Check,
}

/// What modules are merged into: a federation execution by its number at the executive (names come
/// back, numbers don't), since its last restore (which may change their order), with so many modules.
/// Default: one that is to be created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Basis {
    pub(crate) execution: u64,
    pub(crate) epoch: LogIndex,
    pub(crate) modules: usize,
}

/// How much memory one federation execution's object model may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ModelsRoom {
    /// All models together may take so many bytes.
    pub(crate) max: usize,
    /// So many are taken by others.
    pub(crate) others: usize,
}

impl ModelsRoom {
    /// Refuses a model that takes more than there is room for.
    pub(crate) fn require(self, bytes: usize) -> Result<(), Exception> {
        let Self { max, others } = self;
        if bytes <= max.saturating_sub(others) {
            return Ok(());
        }
        let why = format!(
            "the object model would take about {bytes} bytes of memory in rtiexec and those of \
             other federation executions take {others}; {max} are allowed altogether \
             (limits.models_bytes)\n  do: destroy federation executions that are not needed, take \
             out of the FOM modules what is not used, or set limits.models_bytes of rtiexec higher"
        );
        Err(Exception::new(ExceptionKind::RTIinternalError, why))
    }
}

/// Modules that were merged, or why they can't be.
pub struct MergedModules {
    /// While this is so, the base is still the same.
    pub(crate) basis: Basis,
    /// What the federation execution does not have yet, by the contents.
    pub(crate) sources: Vec<ModuleSource>,
    /// What it has already.
    known: Vec<ModuleSource>,
    pub(crate) model: Result<Arc<ObjectModel>, Exception>,
    /// About how many bytes of memory the model takes, with the texts of all its modules, if the
    /// message brought any.
    pub(crate) bytes: usize,
    warnings: Vec<FomError>,
}

/// What Create Federation Execution asks of its modules before it opens them, §4.5: a FOM module,
/// and no naming of the standard MIM, which comes by itself.
pub(crate) fn require_given(modules: usize, mim: Option<&str>) -> Result<(), Exception> {
    if mim == Some(STANDARD_MIM_DESIGNATOR) {
        throw!(
            DesignatorIsHLAstandardMIM,
            "the standard MIM is used without being named"
        );
    }
    if modules == 0 {
        throw!(CouldNotOpenFDD, "no FOM module was given");
    }
    Ok(())
}

impl ModuleMerge {
    /// Whether there is nothing to be merged.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Reads and merges them.
    pub fn run(self) -> MergedModules {
        let (base, there) = match self.base {
            // Most joins bring none, and cost no more for a large federation execution.
            Some((same, _)) if self.sources.is_empty() => {
                return MergedModules {
                    basis: self.basis,
                    sources: Vec::new(),
                    known: Vec::new(),
                    model: Ok(same),
                    bytes: 0,
                    warnings: Vec::new(),
                };
            }
            base => base.unzip(),
        };
        let there = there.unwrap_or_default();
        let has: HashSet<_> = there.iter().map(contents).collect();
        let brought = once(self.sources).into_iter();
        let (known, sources): (Vec<_>, Vec<_>) = brought.partition(|m| has.contains(&contents(m)));
        let merged = match base {
            Some(same) if sources.is_empty() => Ok((same, Vec::new())),
            base => build(base, &sources, self.check).map(|(m, warnings)| (Arc::new(m), warnings)),
        };
        let (model, warnings) = match merged {
            Ok((model, warnings)) => (Ok(model), warnings),
            Err(refusal) => (Err(refusal), Vec::new()),
        };
        let texts = there.iter().chain(&sources).map(|m| m.text.len());
        let texts: usize = texts.sum();
        MergedModules {
            basis: self.basis,
            bytes: texts + model.as_ref().map_or(0, |m| m.memory_bytes()),
            sources,
            known,
            model,
            warnings,
        }
    }
}

/// What two modules have in common that are the same, wherever their files are; the built-in MIM is by its name.
pub(super) fn contents(module: &ModuleSource) -> (&[u8], Option<&str>) {
    let by_name = module.text.is_empty();
    (&module.text, by_name.then_some(module.designator.as_str()))
}

/// Without repetitions.
fn once(modules: Vec<ModuleSource>) -> Vec<ModuleSource> {
    let mut seen = HashSet::with_capacity(modules.len());
    let new = modules.iter().map(|module| seen.insert(contents(module)));
    let new: Vec<bool> = new.collect();
    let modules = modules.into_iter().zip(new);
    modules.filter_map(|(m, new)| new.then_some(m)).collect()
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

    /// All modules that the message brought.
    pub(crate) fn all_brought(&self) -> impl Iterator<Item = &ModuleSource> {
        self.known.iter().chain(&self.sources)
    }

    /// What was let pass with a warning, for the log.
    pub fn warnings(&self) -> &[FomError] {
        &self.warnings
    }
}

/// The object model of a MIM and FOM modules, merged in this order, as somebody else has accepted
/// them.
pub(crate) fn rebuild(sources: &[ModuleSource]) -> Result<ObjectModel, Exception> {
    Ok(rebuild_doubting(sources)?.0)
}

/// The same, with what is doubtful of them.
pub(crate) fn rebuild_doubting(
    sources: &[ModuleSource],
) -> Result<(ObjectModel, Vec<FomError>), Exception> {
    build(None, sources, Check::Lenient)
}

/// The same of saved modules, with about how many bytes of memory it takes, their texts included.
pub(crate) fn restore(
    sources: &[ModuleSource],
) -> Result<(Arc<ObjectModel>, usize), ProtocolError> {
    let model = rebuild(sources)
        .map_err(|e| ProtocolError(format!("the saved FDD can't be merged any more: {e}")))?;
    let texts: usize = sources.iter().map(|m| m.text.len()).sum();
    let bytes = texts + model.memory_bytes();
    Ok((Arc::new(model), bytes))
}

/// Merges further FOM modules that somebody else has accepted.
pub(crate) fn extend(model: &mut ObjectModel, modules: &[ModuleSource]) -> Result<(), Exception> {
    *model = build(Some(Arc::new(model.clone())), modules, Check::Lenient)?.0;
    Ok(())
}

fn build(
    base: Option<Arc<ObjectModel>>,
    sources: &[ModuleSource],
    check: Check,
) -> Result<(ObjectModel, Vec<FomError>), Exception> {
    let (mut model, modules) = match base {
        Some(base) => (ObjectModel::clone(&base), sources),
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
