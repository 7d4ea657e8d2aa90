//! The federate library: one [`RtiAmbassador`] per connection, thread-safe, several per process.
//!
//! All HLA rules are in `starling-core`, also a federate's life from connecting to being lost; this
//! crate owns the links, the threads and the files.
//! Whoever waits, reads: a thread inside `evoke_callback` or a service that needs an answer reads
//! the link itself; the background thread reads only while the federate is busy elsewhere
//! (`HLA_EVOKED`), or always (`HLA_IMMEDIATE`, where it also delivers).
//!
//! An error inside the library, or a panic of the federate's in a callback, ends the connection:
//! Connection Lost is delivered, services throw NotConnected, nobody is left waiting.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

/// Panics where a test wants it, once.
macro_rules! fault {
    ($state:expr, $place:expr) => {
        #[cfg(test)]
        if $state.fault.take_if(|wanted| *wanted == $place).is_some() {
            panic!("a test wants this panic: {}", $place);
        }
    };
}

mod ambassador;
mod background;
mod backlog;
mod best_effort;
mod datagrams;
mod delivery;
mod direct;
mod dropped;
mod greeting;
mod group;
mod handshake;
mod hearing;
mod intake;
mod link;
mod links;
mod modules;
mod notes;
mod patience;
mod peers;
mod pending;
mod query;
mod rings;
mod services;
mod shared;
mod site;
mod state;
mod statistics;
mod sync;
#[cfg(test)]
mod tests;
mod turns;
mod window;

pub use ambassador::{CallbackModel, RtiAmbassador};
pub use delivery::FederateAmbassador;
pub use notes::note;
pub use query::{Reply, greet, query};
pub use starling_core::message::{AttributeRegions, FederationInformation, ResignAction};
pub use starling_core::{
    AttributeHandle, Callback, DimensionHandle, Exception, ExceptionKind, FederateHandle, Given,
    InteractionClassHandle, LogicalTime, LogicalTimeInterval, MessageRetractionHandle, MessageTime,
    ObjectClassHandle, ObjectInstanceHandle, Order, Owner, ParameterHandle, PlainCallback,
    RegionHandle, RestoreFailure, RestoreState, RestoreStatus, SaveFailure, SaveStatus, Service,
    ServiceGroup, SynchronizationPointFailure, TimeType, Transportation,
};
