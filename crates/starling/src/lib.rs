//! The federate library: one [`RtiAmbassador`] per connection, thread-safe, several per process.
//!
//! All HLA rules are in `starling-core`; this crate owns the link, the threads and the files.
//! Whoever waits, reads: a thread inside `evoke_callback` or a service that needs an answer reads
//! the link itself; the background thread reads only while the federate is busy elsewhere
//! (`HLA_EVOKED`), or always (`HLA_IMMEDIATE`, where it also delivers).
#![warn(missing_docs)]

mod ambassador;
mod background;
mod connection;
mod modules;
mod notes;
mod patience;
mod services;

pub use ambassador::{CallbackModel, FederateAmbassador, RtiAmbassador};
pub use starling_core as core;
pub use starling_core::{Callback, Exception, ExceptionKind, Service};
