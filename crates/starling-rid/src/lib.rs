//! The RTI initialization data (RID, 1516.1-2010 §4.2): every run-time setting, typed once in
//! [`SETTINGS`], and where each value came from.
//!
//! ```
//! use starling_rid::{CONNECT_ADDRESS, Sources};
//! let settings = Sources::new().designator("crcAddress=sim7:15160").read()?;
//! assert_eq!(settings.get(CONNECT_ADDRESS).unwrap().to_string(), "sim7:15160");
//! assert_eq!(settings.origin(CONNECT_ADDRESS).to_string(), "connect()");
//! # Ok::<(), starling_rid::SettingError>(())
//! ```
//!
//! Invariants: a value that was given is either used or refused, never silently dropped; the
//! one exception, a key of another RTI, leaves a note.
#![warn(missing_docs)]
#![deny(unsafe_code)]

mod designator;
mod documentation;
mod endpoint;
mod error;
mod file;
mod groups;
mod nearest;
mod presets;
mod sources;
mod table;
mod trust;
mod value;

pub use documentation::{as_text, markdown};
pub use endpoint::{DEFAULT_PORT, Endpoint};
pub use error::SettingError;
pub use groups::{ClassGroup, GROUP_PORT, GROUPS_MAX};
pub use sources::{Origin, Settings, Sources};
pub use table::*;
pub use trust::{is_privileged, variable};
pub use value::{FromValue, Key, Kind, Setting, Value};
