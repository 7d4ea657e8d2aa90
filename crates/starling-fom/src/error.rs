//! What is wrong with a module, where, and what to do.

use crate::STANDARD_MIM_DESIGNATOR;
use std::fmt;

/// Which exception the standard has for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FomErrorKind {
    /// Not readable as a FOM module (ErrorReadingFDD, ErrorReadingMIM).
    Unreadable,
    /// Readable, but it contradicts itself or another module (InconsistentFDD).
    Inconsistent,
    /// The RTI can do without: accepted with a warning, but by [`Check::Strict`].
    Harmless,
}

/// How much of what is wrong with modules is let pass.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Check {
    /// What the RTI can do without is a warning.
    #[default]
    Lenient,
    /// It is refused like anything else.
    Strict,
}

macro_rules! codes {
    ($($name:ident = $number:literal, $kind:ident, $meaning:literal, $action:literal;)*) => {
        /// What can be wrong with a module. The table behind `docs/messages.md`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Code {
            $(#[doc = $meaning] $name,)*
        }

        impl Code {
            /// All of them, in order of their numbers.
            pub const ALL: &[Code] = &[$(Code::$name),*];

            /// `STL-FOM-nnn`; never changes its meaning.
            pub fn text(self) -> &'static str {
                match self {
                    $(Code::$name => concat!("STL-FOM-", $number),)*
                }
            }

            /// What it means, for the documentation.
            pub fn meaning(self) -> &'static str {
                match self {
                    $(Code::$name => $meaning,)*
                }
            }

            /// What whoever wrote the module does about it.
            pub fn action(self) -> &'static str {
                match self {
                    $(Code::$name => $action,)*
                }
            }

            /// Which exception it becomes.
            pub fn kind(self) -> FomErrorKind {
                match self {
                    $(Code::$name => FomErrorKind::$kind,)*
                }
            }
        }
    };
}

codes! {
    TooLarge = "001", Unreadable,
        "A module, or what modules say together, is larger than is read.",
        "split the module, or take out what the federation does not use";
    NotUtf8 = "002", Unreadable,
        "The file is not text in UTF-8.",
        "save the module in UTF-8";
    FedFile = "003", Unreadable,
        "The file is a FED file of HLA 1.3.",
        "give a FOM module of IEEE 1516.2-2010, in XML";
    NotXml = "004", Unreadable,
        "The file is not well-formed XML.",
        "correct the XML there";
    NotAnObjectModel = "005", Unreadable,
        "The root element is another than objectModel.",
        "give a FOM module: an XML file with the root element objectModel";
    BadName = "006", Unreadable,
        "Something has no name, or one that can't be a name.",
        "name it; a class name has no dot";
    BadSwitch = "007", Unreadable,
        "A switch has a value that no switch has.",
        "give the switch one of its values";
    BadRoot = "008", Unreadable,
        "The classes are not below one HLAobjectRoot or HLAinteractionRoot.",
        "put all classes below HLAobjectRoot and HLAinteractionRoot";
    NotAMim = "009", Unreadable,
        "What was given as MIM lacks what every MIM defines.",
        "give a MIM, or none: then the standard one is used";
    BadValue = "010", Unreadable,
        "A field has a value that it can't have.",
        "give it one of the values named above";
    Undefined = "011", Inconsistent,
        "Something is referred to that no module defines.",
        "define it there, or give the module that defines it together with this one";
    Conflict = "012", Inconsistent,
        "Two definitions of the same contradict each other.",
        "remove one of the two definitions, or make them alike";
    UndefinedDataType = "013", Harmless,
        "A data type is referred to that no module defines.",
        "correct its name, or give the module that defines it, too";
    Difference = "014", Harmless,
        "Two definitions of the same differ in what changes no exchange of data; the first holds.",
        "make the two definitions alike, or remove the second";
    Unopened = "015", Unreadable,
        "The file can't be read as a regular file.",
        "give the path of a readable file";
    Endless = "016", Harmless,
        "A data type contains itself, so that no value of it can be encoded.",
        "take the reference out, or make it an array of varying length (cardinality Dynamic)";
    Repeated = "017", Harmless,
        "A module defines a class twice below the same superclass.",
        "put what both say into one of them";
    Unknown = "018", Harmless,
        "An element or XML attribute stands where the OMT knows none of its name; what it says may be lost.",
        "correct its name or its place; what extends the OMT has a namespace of its own";
    UnknownValue = "019", Harmless,
        "A field is empty, or has a value that the OMT doesn't know; the RTI does without it.",
        "give it one of the OMT's values, or leave it out";
}

/// A line of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The module's designator.
    pub module: String,
    /// Line, from 1; 0: the whole of it.
    pub line: u32,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => f.write_str(&self.module),
            line => write!(f, "{}:{line}", self.module),
        }
    }
}

/// A broken or conflicting module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FomError(Box<Details>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Details {
    code: Code,
    what: String,
    at: Place,
    first: Option<Place>,
    /// The field in which the first definition differs, with its value.
    of_first: Option<String>,
}

impl FomError {
    pub(crate) fn new(code: Code, at: Place, what: impl Into<String>) -> Self {
        FomError(Box::new(Details {
            code,
            what: what.into(),
            at,
            first: None,
            of_first: None,
        }))
    }

    pub(crate) fn conflict(code: Code, what: impl Into<String>, at: Place, first: Place) -> Self {
        let mut error = FomError::new(code, at, what);
        error.0.first = Some(first);
        error
    }

    pub(crate) fn of_first(mut self, field: String) -> Self {
        self.0.of_first = Some(field);
        self
    }

    /// A file that could not be read at all.
    pub fn unopened(designator: &str, why: impl fmt::Display) -> Self {
        let place = Place {
            module: designator.to_owned(),
            line: 0,
        };
        let what = format!("'{designator}' can't be opened: {why}");
        FomError::new(Code::Unopened, place, what)
    }

    /// Which exception it becomes.
    pub fn kind(&self) -> FomErrorKind {
        self.0.code.kind()
    }

    /// Whether the RTI can do without it, so that only [`Check::Strict`] refuses it.
    pub fn is_harmless(&self) -> bool {
        self.kind() == FomErrorKind::Harmless
    }

    /// Its entry in the table.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// What is wrong, without place and advice.
    pub fn what(&self) -> &str {
        &self.0.what
    }

    /// Where it is.
    pub fn at(&self) -> &Place {
        &self.0.at
    }

    /// Where the definition stands that it contradicts.
    pub fn first(&self) -> Option<&Place> {
        self.0.first.as_ref()
    }

    /// What to do about it.
    pub fn action(&self) -> String {
        let action = self.0.code.action();
        let Some(first) = &self.0.first else {
            return action.to_owned();
        };
        // The MIM holds whatever a module says.
        let action = match &self.0.of_first {
            Some(field) if first.module == STANDARD_MIM_DESIGNATOR => {
                format!("leave it out, or say what the MIM says ({field})")
            }
            _ => action.to_owned(),
        };
        if first.module == self.0.at.module {
            return action;
        }
        let (first, second) = (quoted(&first.module), quoted(&self.0.at.module));
        format!("{action}; starling fom diff {first} {second}")
    }
}

impl fmt::Display for FomError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind() {
            FomErrorKind::Unreadable => "unreadable module",
            FomErrorKind::Inconsistent => "inconsistent FDD",
            FomErrorKind::Harmless => "doubtful FDD",
        };
        let Details { code, what, at, .. } = &*self.0;
        write!(f, "{} {kind}: {what}\n  at {at}", code.text())?;
        if let Some(first) = &self.0.first {
            write!(f, "; first defined at {first}")?;
        }
        write!(f, "\n  do: {}", self.action())
    }
}

impl std::error::Error for FomError {}

/// As a shell takes it for one word.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "._-/+=:@%,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// A value for a message: of a long one the beginning.
pub(crate) fn short(value: &str) -> String {
    const MAX: usize = 100;
    match value.char_indices().nth(MAX) {
        None => value.to_owned(),
        Some((end, _)) => format!("{}...", &value[..end]),
    }
}
