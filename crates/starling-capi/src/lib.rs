//! The C ABI of Starling's federate library: what every façade (C++, Java, Python) stands on.
//!
//! Calls
//! - Every function returns 0, or the number of one of the standard's exceptions; then
//!   [`starling_message`] says why, until the same thread's next call. What each can throw stands
//!   with it; besides, all throw RTIinternalError where a pointer breaks the rules below, and where
//!   the library finds a fault of its own. Nothing is stored at `result` then.
//! - All functions are thread-safe. An ambassador must not be deleted while another thread is inside
//!   one of its functions, nor within one of its own callbacks.
//! - Handles are numbers, 0 is never one. Times in seconds end in `_s`.
//!
//! Pointers
//! - What an argument points to stays as it is during the call; nothing of it is kept afterwards.
//! - A null pointer with a size or count other than 0 is an error, as is a pointer that is not aligned
//!   for its type. With a size of 0 the pointer is not looked at.
//! - A `result` must not be null. Texts and lists that are results are borrowed: they live until the
//!   same thread's next call of any function.
//! - Texts are UTF-8 with their size in bytes, without a 0 at the end.
//!
//! Callbacks
//! - The functions and the context of `StarlingCallbacks` are used from `starling_connect` until
//!   `starling_disconnect` or `starling_delete` returns, one at a time: with HLA_EVOKED on the thread
//!   that evokes, with HLA_IMMEDIATE on a thread of the library.
//! - What `event` points to lives for that callback. Its `size` is that of the struct as the library
//!   was compiled; fields are only ever added at the end, so read none that lies beyond it.
//! - True: done. False: the federate threw FederateInternalError, of which it told with
//!   [`starling_callback_threw`]. The library says so on standard error; the callback counts as
//!   delivered, and the next ones come all the same. A C++ exception must not leave a callback.
//! - Services may be called within a callback, but for those that throw
//!   CallNotAllowedFromWithinCallback.
#![warn(missing_docs)]
#![deny(clippy::undocumented_unsafe_blocks, unsafe_op_in_unsafe_fn)]

mod boundary;
mod callbacks;
mod ddm;
mod federation;
mod generated;
mod object;
#[cfg(test)]
mod tests;
mod types;

/// What generated functions use.
mod prelude {
    pub(crate) use crate::boundary::{Out, guarded, keep, keep_handles, living, named};
    pub(crate) use crate::types::*;
    pub(crate) use starling::*;
}

pub use boundary::{starling_callback_threw, starling_message};
pub use ddm::*;
pub use federation::*;
pub use generated::{callbacks::*, federation::*};
pub use generated::{ddm::*, declaration::*, object::*, ownership::*, support::*, time::*};
pub use object::*;
pub use types::*;
