//! FOM modules and the MIM: from sources to an object model.

use crate::message::ModuleSource;
use crate::{Exception, ExceptionKind};
use starling_fom::{FomError, FomErrorKind, Module, ObjectModel, STANDARD_MIM_DESIGNATOR};

/// Which role a module was given in; the exceptions differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Fom,
    Mim,
}

/// The object model of a MIM and FOM modules, merged in this order.
pub(crate) fn build(sources: &[ModuleSource]) -> Result<ObjectModel, Exception> {
    let (mim, modules) = sources
        .split_first()
        .ok_or_else(|| Exception::new(ExceptionKind::ErrorReadingMIM, "there is no MIM"))?;
    // The built-in MIM travels by name only.
    let mut model = match mim.text.is_empty() && mim.designator == STANDARD_MIM_DESIGNATOR {
        true => starling_fom::standard_model().clone(),
        false => ObjectModel::new(&parse(mim, Role::Mim)?).map_err(|e| exception(e, Role::Mim))?,
    };
    merge(&mut model, modules)?;
    Ok(model)
}

/// Merges further FOM modules; on an error the model is as before.
pub(crate) fn merge(model: &mut ObjectModel, modules: &[ModuleSource]) -> Result<(), Exception> {
    let modules: Vec<_> = modules
        .iter()
        .map(|source| parse(source, Role::Fom))
        .collect::<Result<_, _>>()?;
    model.merge(&modules).map_err(|e| exception(e, Role::Fom))
}

fn exception(error: FomError, role: Role) -> Exception {
    let kind = match (error.kind(), role) {
        (FomErrorKind::Inconsistent, Role::Fom) => ExceptionKind::InconsistentFDD,
        (_, Role::Fom) => ExceptionKind::ErrorReadingFDD,
        (_, Role::Mim) => ExceptionKind::ErrorReadingMIM,
    };
    Exception::new(kind, error.to_string())
}

fn parse(source: &ModuleSource, role: Role) -> Result<Module, Exception> {
    starling_fom::parse(&source.designator, &source.text).map_err(|e| exception(e, role))
}
