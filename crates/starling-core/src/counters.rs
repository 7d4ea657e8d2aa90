//! What became of data: nothing is lost without being counted.

use std::fmt;

/// Counts since the federate joined, and what waits now. Of each update and interaction that it makes one of the first
/// four counts; of each frame that arrives one of `queued`, `unknown`, `from_removed` and `outdated`. What
/// was queued is delivered, waits, or is counted as `unknown`, `unsubscribed`, `retracted` or `dropped`.
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
    /// Queued, and retracted by their senders before they were delivered (1516.1-2010, 8.21).
    pub retracted: u64,
    /// Queued, and not delivered, since this federate resigned; and what arrived until its
    /// resignation was in the log.
    pub dropped: u64,
    /// Arrived from a federate that had already been removed.
    pub from_removed: u64,
    /// Arrived, but its sender had not applied the beginning of the present epoch.
    pub outdated: u64,
    /// Requests for values that became one callback with an earlier one (Provide Attribute Value
    /// Update).
    pub conflated: u64,
    /// Now: frames that wait for what they come after.
    pub held: u64,
    /// Now: messages that time management withholds.
    pub withheld: u64,
    /// Now: callbacks that wait for the federate.
    pub waiting: u64,
}

/// What was sent and received, and all that did not come as it was sent, or not yet.
impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sent, {} received", self.sent, self.queued)?;
        for (count, what) in [
            (self.unwanted, "not sent: nobody subscribed"),
            (self.reduced, "left out by update rate"),
            (self.of_deleted, "not sent: the instance was deleted"),
            (self.unknown, "dropped: instance not known here"),
            (self.unsubscribed, "dropped: not subscribed when due"),
            (self.retracted, "retracted before delivery"),
            (self.dropped, "dropped: waited at resigning"),
            (self.from_removed, "dropped: sender had resigned"),
            (self.outdated, "dropped: from before a restore"),
            (self.conflated, "requests for values conflated"),
            (self.held, "held for what they come after"),
            (self.withheld, "withheld by time management"),
            (self.waiting, "callbacks wait"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}
