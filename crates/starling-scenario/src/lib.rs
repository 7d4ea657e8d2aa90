//! Plays the text scenarios of `tests/<room>/*.scenario` below the façades: on the core alone, and
//! with every message as bytes of the wire format. The conformance player (`tests/conformance`)
//! plays the same files through the C++ API; its README says what a file means.
//!
//! Here nothing runs by itself: what was sent has arrived after every step, or arrives link by link
//! in a random order as steps need it ([`Layer`]), and a callback is delivered when the scenario asks
//! for the next one, as in HLA_EVOKED. Steps that belong to the layers above (connecting, threads, numbers that are no enumerator) are left out, and said.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

mod arguments;
mod callbacks;
mod file;
mod generated;
mod names;
mod network;
mod player;
mod services;
mod value;

pub use file::{Scenario, read_scenarios};
pub use network::Layer;
pub use player::{Left, play, record};
