//! The one log of a federation execution. It carries what the rooms say and knows none of them.
//!
//! [`executive`] makes it and keeps every member's stream; [`federate`] is the replica that one
//! joined federate applies, with the federate's own requests and fences; [`order`] is the replica's
//! ordering layer, [`waiting`] what that holds of one sender.

pub(crate) mod executive;
pub(crate) mod federate;
mod order;
mod saved;
mod waiting;
