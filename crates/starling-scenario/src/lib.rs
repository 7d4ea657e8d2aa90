//! Plays the text scenarios of `tests/<room>/*.scenario` below the façades: on the core alone, and
//! with every message as bytes of the wire format. The conformance player (`tests/conformance`)
//! plays the same files through the C++ API; its README says what a file means.
//!
//! Here nothing runs by itself: after every step everything that was sent has arrived, and a
//! callback is delivered when the scenario asks for the next one, as in HLA_EVOKED. Steps that belong
//! to the layers above (connecting, threads, enumerators, handle decoding) are left out, and said.
#![warn(missing_docs)]

mod arguments;
mod callbacks;
mod file;
mod names;
mod network;
mod player;
mod services;
mod value;

pub use file::{Scenario, read_scenarios};
pub use network::Layer;
pub use player::{Left, play, record};
