//! Time management, chapter 8. It is no part of the log: a federate's time concerns nobody but the
//! executive and itself, and so takes no log index and no watermark of others.

use super::LogIndex;
use crate::{Advance, FederateHandle, LogicalTime, LogicalTimeInterval};

messages! {
    ($) time_messages

    /// What a joined federate asks for.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Request "request of time management" {
        /// Enable Time Regulation, §8.2, with this lookahead.
        1 EnableRegulation(lookahead: LogicalTimeInterval),
        /// Disable Time Regulation, §8.4.
        2 DisableRegulation,
        /// Enable Time Constrained, §8.5.
        3 EnableConstrained,
        /// Disable Time Constrained, §8.7.
        4 DisableConstrained,
        /// An advance of logical time, §8.8 to §8.12.
        5 Advance {
            /// By which service.
            kind: Advance,
            /// The time asked for.
            to: LogicalTime,
        },
        /// Modify Lookahead, §8.19.
        6 ModifyLookahead(lookahead: LogicalTimeInterval),
        /// Query GALT and Query LITS, §8.16, §8.18; answered by [`Notice::Bounds`].
        7 QueryBounds,
        /// Retract, §8.21.
        8 Retract {
            /// The message's number.
            number: u64,
            /// Its time stamp.
            time: LogicalTime,
        },
        /// Of one that waits for its next message, or flushes its queue: it has passed over a grant, as it wanted none
        /// of the messages any more for whose sake it was no later (§8.10, §8.12), and waits on.
        9 AskOn {
            /// By which service.
            kind: Advance,
            /// The time asked for.
            to: LogicalTime,
            /// Its logical time, that of its last grant that was none of these.
            at: LogicalTime,
            /// Of one that flushes its queue: the time stamp of the first message that it wants of those it was
            /// handed, which it has not been delivered.
            next: Option<LogicalTime>,
        },
    }

    /// What the executive tells a federate.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Notice "notice of time management" {
        /// Time Regulation Enabled, §8.3.
        1 Regulating {
            /// The federate's logical time now.
            time: LogicalTime,
            /// Whether the time stamp one lookahead later is too early.
            strict: bool,
        },
        /// Time Constrained Enabled, §8.6: what follows in time-stamp order is.
        2 Constrained,
        /// Time Advance Grant, §8.13, behind all messages that come by then.
        3 Granted {
            /// The federate's logical time now.
            time: LogicalTime,
            /// All messages that wait are delivered, whatever their time stamps.
            flush: bool,
        },
        /// Greatest available logical time and least incoming time stamp.
        4 Bounds {
            /// None: undefined, since no other federate regulates.
            galt: Option<LogicalTime>,
            /// None: undefined.
            lits: Option<LogicalTime>,
        },
        /// A message was retracted, §8.21.
        5 Retracted {
            /// Who sent it.
            sender: FederateHandle,
            /// Its number at its sender.
            number: u64,
            /// Its time stamp.
            time: LogicalTime,
        },
    }
}

/// A request on its way. It takes no place in the log, but names one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeRequest {
    /// Log index that its sender had applied.
    pub applied: LogIndex,
    /// What is asked.
    pub body: Request,
}

/// The time of a message, §8.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// Its time stamp.
    pub time: LogicalTime,
    /// Of one that is sent in time-stamp order: the number by which its sender may retract it, from
    /// 1. None: sent in receive order.
    pub retraction: Option<u64>,
}
