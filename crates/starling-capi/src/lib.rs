//! The C ABI of the federate library: what every façade (C++, Java, Python) stands on.
//!
//! Rules for callers:
//! - every function returns a status: 0, or the number of the standard's exception (see
//!   `spec/exceptions.tsv`); [`starling_message`] then says why;
//! - texts are UTF-8 with a length, and borrowed: arguments for the call, callback arguments for
//!   the callback, results until the same thread's next call;
//! - all functions are thread-safe; an ambassador must not be deleted while another thread is
//!   inside one of its functions;
//! - no panic and no exception crosses: a panic becomes RTIinternalError.
#![warn(missing_docs)]

mod boundary;
mod callbacks;
mod ddm;
mod declaration;
mod federation;
mod object;
mod ownership;
mod support;
mod types;

pub use boundary::starling_message;
pub use callbacks::*;
pub use ddm::*;
pub use declaration::*;
pub use federation::*;
pub use object::*;
pub use ownership::*;
pub use support::*;
pub use types::*;
