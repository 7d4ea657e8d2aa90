//! What became of data: nothing is lost without being counted.

use std::fmt;

/// Numbers of one kind: a struct of them, and the same as a list, for who shows or carries all.
macro_rules! counters {
    ($(#[$about:meta])* $name:ident { $($(#[$about_field:meta])* $field:ident,)* }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {$(
            $(#[$about_field])*
            pub $field: u64,
        )*}

        impl $name {
            /// Their names, in the order in which they stand here.
            pub const NAMES: [&str; [$(stringify!($field)),*].len()] = [$(stringify!($field)),*];

            /// In the order of their names.
            pub fn values(&self) -> [u64; Self::NAMES.len()] {
                [$(self.$field),*]
            }

            /// Of values in the order of their names.
            pub fn of([$($field),*]: [u64; Self::NAMES.len()]) -> Self {
                $name { $($field),* }
            }
        }
    };
}

counters! {
    /// Counts since the federate joined, restores in between or not, and what waits now. Of each update and interaction that it makes one of the first
    /// four counts; of each frame that arrives one of `queued`, `unknown`, `from_removed` and `outdated`; one that was lost did not. What
    /// was queued is delivered, waits, or is counted as `unknown`, `unsubscribed`, `retracted`,
    /// `conflated` or `dropped`.
    Counters {
        /// Updates and interactions handed to the data path, or to the RTI that acts on them (MOM).
        sent,
        /// Updates and interactions that neither a federate subscribes to nor the RTI acts on; not sent.
        unwanted,
        /// Best-effort updates that were not sent to a receiver because of its update rate.
        reduced,
        /// Updates of an instance that another federate has deleted, its removal not yet delivered; not sent.
        of_deleted,
        /// Reflections and interactions put into the callback queue.
        queued,
        /// Arrived, but this federate has no such instance (not discovered, or deleted locally).
        unknown,
        /// Arrived, but nothing in it was subscribed when it was to be delivered, or this federate had
        /// become the owner of what was.
        unsubscribed,
        /// Queued, and retracted by their senders before they were delivered (1516.1-2010, 8.21).
        retracted,
        /// Queued, and not delivered, since this federate resigned, was restored, or lost the connection while time
        /// management or a save withheld it; and what arrived until its resignation was in the log.
        dropped,
        /// Arrived from a federate that had already been removed.
        from_removed,
        /// Best-effort data that was sent to this federate by datagrams and did not arrive, or too late.
        lost,
        /// Arrived, but its sender had not applied the beginning of the present epoch.
        outdated,
        /// Requests for values that became one callback with an earlier one (Provide Attribute Value
        /// Update).
        merged,
        /// Queued, and replaced by a newer reflection before they were delivered (`conflate.best_effort`,
        /// `conflate.reliable`).
        conflated,
        /// Now: frames that wait for what they come after.
        held,
        /// Now: messages that time management withholds.
        withheld,
        /// Now: about how many bytes these are, with what a save or restore withholds: what `limits.withheld_bytes` bounds.
        withheld_bytes,
        /// Now: callbacks that wait for the federate.
        waiting,
    }
}

/// What was sent and received, and all that did not come as it was sent, or not yet.
impl fmt::Display for Counters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} sent, {} received", self.sent, self.queued)?;
        for (count, what) in [
            (self.conflated, "of these replaced by newer reflections"),
            (self.unwanted, "not sent: nobody subscribed"),
            (self.reduced, "left out by update rate"),
            (self.of_deleted, "not sent: the instance was deleted"),
            (self.unknown, "dropped: instance not known here"),
            (self.unsubscribed, "dropped: not subscribed when due"),
            (self.retracted, "retracted before delivery"),
            (self.dropped, "dropped: waited at resigning or a restore"),
            (self.from_removed, "dropped: sender had resigned"),
            (self.lost, "best effort, lost on the way"),
            (self.outdated, "dropped: from before a restore"),
            (self.merged, "requests for values merged"),
            (self.held, "held for what they come after"),
            (self.withheld, "withheld by time management"),
            (self.withheld_bytes, "bytes withheld"),
            (self.waiting, "callbacks wait"),
        ] {
            if count > 0 {
                write!(f, ", {count} {what}")?;
            }
        }
        Ok(())
    }
}
