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
pub struct FomError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    kind: FomErrorKind,
    code: &'static str,
    what: String,
    at: Place,
    first: Option<Place>,
    action: String,
}

impl FomError {
    pub(crate) fn unreadable(code: &'static str, at: Place, what: impl Into<String>) -> Self {
        FomError(Box::new(Details {
            kind: FomErrorKind::Unreadable,
            code,
            what: what.into(),
            at,
            first: None,
            action: "correct the module there".into(),
        }))
    }

    pub(crate) fn inconsistent(code: &'static str, at: Place, what: impl Into<String>) -> Self {
        let mut error = FomError::unreadable(code, at, what);
        error.0.kind = FomErrorKind::Inconsistent;
        error
    }

    pub(crate) fn conflict(what: impl Into<String>, at: Place, first: Place) -> Self {
        let action = if at.module == first.module {
            "remove one of the two definitions".to_owned()
        } else {
            format!("starling fom diff {} {}", first.module, at.module)
        };
        let mut error = FomError::inconsistent("STL-FOM-012", at, what);
        error.0.first = Some(first);
        error.0.action = action;
        error
    }

    /// Which exception it becomes.
    pub fn kind(&self) -> FomErrorKind {
        self.0.kind
    }

    /// A stable code, `STL-FOM-nnn`.
    pub fn code(&self) -> &'static str {
        self.0.code
    }

    /// Where it is.
    pub fn at(&self) -> &Place {
        &self.0.at
    }

    /// Where the definition stands that it contradicts.
    pub fn first(&self) -> Option<&Place> {
        self.0.first.as_ref()
    }
}

impl fmt::Display for FomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.0.kind {
            FomErrorKind::Unreadable => "unreadable module",
            FomErrorKind::Inconsistent => "inconsistent FDD",
        };
        write!(
            f,
            "{} {kind}: {}\n  at {}",
            self.0.code, self.0.what, self.0.at
        )?;
        if let Some(first) = &self.0.first {
            write!(f, "; first defined at {first}")?;
        }
        write!(f, "\n  do: {}", self.0.action)
    }
}

impl std::error::Error for FomError {}
