//! What the network tells the checker of a run.

use starling_core::message::{DataBody, EntryBody, Request, time};
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
    /// The executive takes a request about time.
    fn timed(&mut self, _: FederateHandle, _: &time::Request) {}
    /// The executive tells a federate something about time.
    fn notified(&mut self, _: FederateHandle, _: &time::Notice) {}
    /// The executive forwards what a federate has sent to these.
    fn forwarded(&mut self, _: FederateHandle, _: &DataBody<'_>, _: &[FederateHandle]) {}
    /// What a federate has sent by best effort is lost on its way to this one, or to all.
    fn dropped(&mut self, _: FederateHandle, _: Option<FederateHandle>, _: &DataBody<'_>) {}
    /// The executive has become what was saved.
    fn restored(&mut self) {}
    /// All that an input brings about has been told.
    fn settled(&mut self) {}
}
