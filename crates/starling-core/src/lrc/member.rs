//! A joined federate, with what its last messages have shown that holds for others like them.
//!
//! What is sent and delivered as most is takes many checks, all of which come to what they came to for the message before:
//! unless anything else was done with the federate meanwhile. Whatever else that is needs the federate to be changed, and so
//! goes by [`DerefMut`], which forgets all that was shown. So nothing that is done has to know of it.

use crate::federate::Sink;
use crate::federation::save::Stages;
use crate::message::{PlainData, TimedData};
use crate::object::receive::Reflected;
use crate::object::send::{LastSent, Sends};
use crate::{
    Batch, DataPath, Federate, Given, LogicalTime, MessageRetractionHandle, PlainCallback,
};
use std::ops::{Deref, DerefMut};

/// There were no changes before the first.
const NEVER: u64 = 0;

pub(super) struct Member {
    federate: Box<Federate>,
    /// How often it was changed otherwise than by sending and delivering what is as most is.
    changes: u64,
    sent: LastSent,
    /// When it was shown, by `changes`, that what waits and what comes is delivered in that order.
    delivers: u64,
    /// As what the last update was received that was delivered since then.
    reflected: Reflected,
    /// When it was shown that besides nothing waits.
    straight: u64,
}

impl Member {
    pub(super) fn new(federate: Federate) -> Self {
        Member {
            federate: Box::new(federate),
            changes: NEVER + 1,
            sent: LastSent::default(),
            delivers: NEVER,
            reflected: Reflected::default(),
            straight: NEVER,
        }
    }

    /// As [`Federate::send_plainly`]; not what is reported, or what counts for an update rate.
    #[inline(always)]
    pub(super) fn send_plainly<W: Sends, S: Sink + ?Sized>(
        &mut self,
        what: W,
        values: &[impl Given<Handle = W::Handle>],
        tag: &[u8],
        time: Option<LogicalTime>,
        send: &mut S,
    ) -> Option<MessageRetractionHandle> {
        let federate = &mut self.federate;
        let found = what.last(&mut self.sent);
        let holds = found.at == self.changes;
        let run = if holds { found.run_bytes(values) } else { None };
        let run = match run {
            Some(run) if found.of == what.key() => run,
            _ => {
                found.at = NEVER;
                if !holds && !sends_plainly(federate) {
                    return None;
                }
                let run = what.find(federate, values, found, run)?;
                found.at = self.changes;
                run
            }
        };
        federate.send_found((what, found), (values, run, tag), time, send)
    }

    /// As [`Federate::pass_plainly`], if nothing is to be done before. `stages`: those that the LRC has seen to.
    #[inline(always)]
    pub(super) fn pass_plainly(
        &mut self,
        data: PlainData<'_>,
        by: (&Batch, DataPath),
        kept: &mut Option<PlainCallback>,
        stages: Stages,
    ) -> bool {
        if self.straight != self.changes {
            if !self.delivers(stages) || self.federate.has_queue() {
                return false;
            }
            self.straight = self.changes;
        }
        let last = &mut self.reflected;
        self.federate.pass_plainly(data, by, kept, last)
    }

    /// As [`Federate::next_plain`]. `stages`: as there.
    #[inline(always)]
    pub(super) fn next_plain(&mut self, kept: &mut Option<PlainCallback>, stages: Stages) -> bool {
        self.delivers(stages) && self.federate.next_plain(kept, &mut self.reflected)
    }

    /// Whether what waits and what comes is delivered in that order.
    #[inline(always)]
    fn delivers(&mut self, stages: Stages) -> bool {
        if self.delivers != self.changes {
            if !delivers_plainly(&self.federate, stages) {
                return false;
            }
            self.delivers = self.changes;
            self.reflected = Reflected::default();
        }
        true
    }

    /// As [`Federate::receive_timed`]: what waits for its time changes nothing of what was shown.
    #[inline(always)]
    pub(super) fn receive_timed(&mut self, data: TimedData<'_>, batch: &Batch) -> bool {
        self.federate.receive_timed(data, batch)
    }

    /// Whether what comes is delivered as it comes.
    #[inline(always)]
    pub(super) fn is_straight(&self, stages: Stages) -> bool {
        delivers_plainly(&self.federate, stages)
    }
}

#[inline(always)]
fn sends_plainly(federate: &Federate) -> bool {
    !federate.is_reported() && !federate.wants_time()
}

#[inline(always)]
fn delivers_plainly(federate: &Federate, stages: Stages) -> bool {
    stages == federate.stages() && !federate.is_reported() && federate.is_straight()
}

impl Deref for Member {
    type Target = Federate;

    #[inline(always)]
    fn deref(&self) -> &Federate {
        &self.federate
    }
}

impl DerefMut for Member {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut Federate {
        self.changes += 1;
        &mut self.federate
    }
}
