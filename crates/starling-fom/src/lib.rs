//! FOM modules and MIMs of IEEE 1516.2: from bytes to one merged object model (the FDD).
//!
//! [`parse`] reads one module; [`ObjectModel`] starts from a MIM and merges modules by the rules
//! of 1516.1-2010 Annex C. No file is opened here, and no input makes it panic.
//!
//! Accepted beyond the 2010 schema, since modules in the field need it: no namespace, no
//! identification, 1516-2000 layout (fields as XML attributes) and transportation names, missing
//! data types, and the elements that 1516.2-2025 added (ignored).
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod compose;
mod doubtful;
mod error;
mod handles;
mod meaning;
mod memory;
mod merge;
mod model;
mod module;
mod nearest;
mod schema;
mod switches;
mod xml;

pub use compose::compose;
pub use error::{Check, Code, FomError, FomErrorKind, Place};
pub use handles::{
    AttributeHandle, DimensionHandle, InteractionClassHandle, ObjectClassHandle, ParameterHandle,
};
pub use meaning::{Difference, Meaning};
pub use model::{
    Attribute, Dimension, InteractionClass, ObjectClass, ObjectModel, Order, Parameter, Problems,
    TableEntry, Transportation,
};
pub use module::{MODULE_BYTES_MAX, Module, parse};
pub use nearest::nearest;
pub use switches::{AutomaticResignAction, Switches};

/// The name by which federates ask for the built-in MIM.
pub const STANDARD_MIM_DESIGNATOR: &str = "HLAstandardMIM";

/// The standard MIM of 1516.1-2010.
pub fn standard_mim() -> &'static str {
    include_str!("../../../spec/mim/HLAstandardMIM-2010.xml")
}

/// The object model of the standard MIM alone; read once per process.
pub fn standard_model() -> &'static ObjectModel {
    static MODEL: std::sync::OnceLock<ObjectModel> = std::sync::OnceLock::new();
    MODEL.get_or_init(|| {
        let mim = parse(STANDARD_MIM_DESIGNATOR, standard_mim().as_bytes());
        let model = mim.and_then(|mim| ObjectModel::new(&mim));
        model.expect("the built-in MIM is valid")
    })
}
