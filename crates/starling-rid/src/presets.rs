//! Presets: named sets of values, in one file.

use crate::error::SettingError;
use crate::file::{self, FileValue};

/// The file, with what each preset is for.
pub(crate) const FILE: &str = include_str!("presets.toml");

/// The values of a preset; `default` has none.
pub(crate) fn of(name: &str) -> Result<Vec<FileValue>, SettingError> {
    file::parse_below(FILE, "presets.toml", &format!("{name}."))
}
