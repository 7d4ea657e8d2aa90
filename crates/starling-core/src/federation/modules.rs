//! FOM modules and the MIM: from sources to an object model.

use crate::message::ModuleSource;
use crate::{Exception, ExceptionKind};
use starling_fom::{FomError, FomErrorKind, Module, ObjectModel};

/// Which role a module was given in; the exceptions differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Fom,
    Mim,
}

/// Parses one source. The built-in MIM travels by name only.
pub(crate) fn parse(source: &ModuleSource, role: Role) -> Result<Module, Exception> {
    let standard =
        source.designator == starling_fom::STANDARD_MIM_DESIGNATOR && source.text.is_empty();
    let text = if standard {
        starling_fom::standard_mim().as_bytes()
    } else {
        &source.text
    };
    starling_fom::parse(&source.designator, text).map_err(|e| exception(e, role))
}

/// The object model of a MIM and FOM modules, merged in this order.
pub(crate) fn build(sources: &[ModuleSource]) -> Result<ObjectModel, Exception> {
    let (mim, modules) = sources
        .split_first()
        .ok_or_else(|| Exception::new(ExceptionKind::ErrorReadingMIM, "there is no MIM"))?;
    let mim = parse(mim, Role::Mim)?;
    let mut model = ObjectModel::new(&mim).map_err(|e| exception(e, Role::Mim))?;
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
