//! What the network tells the checker of a run.

use starling_core::message::{EntryBody, Request};
use starling_core::{FederateHandle, ObjectModel};

/// Keeps a model from what happens, in the order in which it happens at the executive.
pub(crate) trait Watch {
    /// A federate has joined; the answer has come to it.
    fn joined(&mut self, handle: FederateHandle, model: &ObjectModel);
    /// The executive has let it in.
    fn entered(&mut self, _: FederateHandle) {}
    /// Its process is gone; the executive will see its connection end later.
    fn died(&mut self, handle: FederateHandle);
    /// The executive has resigned it by its directive.
    fn lost(&mut self, handle: FederateHandle);
    /// The executive takes a request.
    fn ordered(&mut self, origin: FederateHandle, request: &Request);
    /// The executive tells a federate something.
    fn told(&mut self, _: FederateHandle, _: &EntryBody) {}
    /// All that an input brings about has been told.
    fn settled(&mut self) {}
}
