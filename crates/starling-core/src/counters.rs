//! What became of data: nothing is lost without being counted.

/// Counts since the federate joined. `sent = received + counted` holds over a federation execution.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Updates and interactions handed to the data path.
    pub sent: u64,
    /// Updates and interactions that no federate subscribes to; not sent.
    pub unwanted: u64,
    /// Best-effort updates that were not sent to a receiver because of its update rate.
    pub reduced: u64,
    /// Updates of an instance that another federate has deleted, its removal not yet delivered; not sent.
    pub of_deleted: u64,
    /// Reflections and interactions put into the callback queue.
    pub queued: u64,
    /// Arrived, but this federate has no such instance (not discovered, or deleted locally).
    pub unknown: u64,
    /// Arrived, but nothing in it was subscribed when it was to be delivered.
    pub unsubscribed: u64,
    /// Arrived from a federate that had already been removed.
    pub from_removed: u64,
}
