//! What is said about a setting that can't be used.

use std::fmt;

/// A setting was refused: what is wrong, where it stands, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingError {
    /// What is wrong.
    pub what: String,
    /// Where it was given: `starling.toml:3`, `connect()`, `STARLING_OVERRIDES`.
    pub place: String,
    /// What to do about it.
    pub remedy: String,
}

impl SettingError {
    pub(crate) fn new(
        what: impl Into<String>,
        place: impl fmt::Display,
        remedy: impl Into<String>,
    ) -> Self {
        Self {
            what: what.into(),
            place: place.to_string(),
            remedy: remedy.into(),
        }
    }
}

impl fmt::Display for SettingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}\n  at {}\n  do: {}",
            self.what, self.place, self.remedy
        )
    }
}

impl std::error::Error for SettingError {}
