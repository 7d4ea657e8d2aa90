//! What is wrong with a module, where, and what to do.

use std::fmt;

/// A line of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The module's designator.
    pub module: String,
    /// Line, from 1.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.module, self.line)
    }
}

/// Which exception the standard has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FomErrorKind {
    /// Not readable as a FOM module (ErrorReadingFDD, ErrorReadingMIM).
    Unreadable,
    /// Readable, but it contradicts itself or another module (InconsistentFDD).
    Inconsistent,
}

/// A broken or conflicting module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FomError {
    pub(crate) kind: FomErrorKind,
    pub(crate) code: &'static str,
    pub(crate) what: String,
    pub(crate) at: Place,
    pub(crate) first: Option<Place>,
    pub(crate) action: String,
}

impl FomError {
    pub(crate) fn unreadable(code: &'static str, at: Place, what: impl Into<String>) -> Self {
        FomError {
            kind: FomErrorKind::Unreadable,
            code,
            what: what.into(),
            at,
            first: None,
            action: "correct the module there".into(),
        }
    }

    pub(crate) fn inconsistent(code: &'static str, at: Place, what: impl Into<String>) -> Self {
        FomError {
            kind: FomErrorKind::Inconsistent,
            ..FomError::unreadable(code, at, what)
        }
    }

    pub(crate) fn conflict(what: impl Into<String>, at: Place, first: Place) -> Self {
        let action = if at.module == first.module {
            "remove one of the two definitions".to_owned()
        } else {
            format!("starling fom diff {} {}", first.module, at.module)
        };
        FomError {
            first: Some(first),
            action,
            ..FomError::inconsistent("STL-FOM-012", at, what)
        }
    }

    /// Which exception it becomes.
    pub fn kind(&self) -> FomErrorKind {
        self.kind
    }

    /// A stable code, `STL-FOM-nnn`.
    pub fn code(&self) -> &'static str {
        self.code
    }

    /// Where it is.
    pub fn at(&self) -> &Place {
        &self.at
    }

    /// Where the definition stands that it contradicts.
    pub fn first(&self) -> Option<&Place> {
        self.first.as_ref()
    }
}

impl fmt::Display for FomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            FomErrorKind::Unreadable => "unreadable module",
            FomErrorKind::Inconsistent => "inconsistent FDD",
        };
        write!(f, "{} {kind}: {}\n  at {}", self.code, self.what, self.at)?;
        if let Some(first) = &self.first {
            write!(f, "; first defined at {first}")?;
        }
        write!(f, "\n  do: {}", self.action)
    }
}

impl std::error::Error for FomError {}
