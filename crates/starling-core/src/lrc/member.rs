//! A joined federate, with what its last messages have shown that holds for others like them.
//!
//! What is sent and delivered as most is takes many checks, all of which come to what they came to for the message before:
//! unless anything else was done with the federate meanwhile. Whatever else that is needs the federate to be changed, and so
//! goes by [`DerefMut`], which forgets all that was shown. So nothing that is done has to know of it.

use crate::federate::Sink;
use crate::federation::save::Stages;
use crate::message::PlainData;
use crate::object::receive::Reflected;
use crate::object::send::Found;
use crate::{
    AttributeHandle, Batch, Federate, Given, InteractionClassHandle, LogicalTime,
    MessageRetractionHandle, ObjectInstanceHandle, ParameterHandle, PlainCallback,
};
use std::ops::{Deref, DerefMut};

/// Something and when it was shown, by [`Member::changes`].
#[derive(Default)]
struct Shown<T> {
    at: u64,
    what: T,
}

/// There were no changes before the first.
const NEVER: u64 = 0;

pub(super) struct Member {
    federate: Box<Federate>,
    /// How often it was changed otherwise than by sending and delivering what is as most is.
    changes: u64,
    /// Of the last update and the last interaction that were sent.
    update: Shown<Found<AttributeHandle>>,
    interaction: Shown<Found<ParameterHandle>>,
    /// That what comes is delivered as it comes, and as what the last update was.
    passed: Shown<Reflected>,
}

impl Member {
    pub(super) fn new(federate: Federate) -> Self {
        Member {
            federate: Box::new(federate),
            changes: NEVER + 1,
            update: Shown::default(),
            interaction: Shown::default(),
            passed: Shown::default(),
        }
    }

    /// As [`Federate::update_plainly`]; not one whose call is reported or counts for an update rate.
    #[inline(always)]
    pub(super) fn update_plainly<S: Sink + ?Sized>(
        &mut self,
        instance: ObjectInstanceHandle,
        values: &[impl Given<Handle = AttributeHandle>],
        tag: &[u8],
        time: Option<LogicalTime>,
        send: &mut S,
    ) -> Option<MessageRetractionHandle> {
        let Member {
            federate,
            changes,
            update,
            ..
        } = self;
        let run = match update.known(*changes, (true, instance.0), values) {
            Some(run) => run,
            None => {
                update.at = NEVER;
                if !sends_plainly(federate) {
                    return None;
                }
                let run = federate.find_update(instance, values, &mut update.what)?;
                update.at = *changes;
                run
            }
        };
        federate.send_found(&update.what, (values, run, tag), time, send)
    }

    /// As [`Federate::send_plainly`]; not one whose call is reported.
    #[inline(always)]
    pub(super) fn send_plainly<S: Sink + ?Sized>(
        &mut self,
        class: InteractionClassHandle,
        values: &[impl Given<Handle = ParameterHandle>],
        tag: &[u8],
        time: Option<LogicalTime>,
        send: &mut S,
    ) -> Option<MessageRetractionHandle> {
        let Member {
            federate,
            changes,
            interaction,
            ..
        } = self;
        let run = match interaction.known(*changes, (false, class.raw().into()), values) {
            Some(run) => run,
            None => {
                interaction.at = NEVER;
                if !sends_plainly(federate) {
                    return None;
                }
                let run = federate.find_interaction(class, values, &mut interaction.what)?;
                interaction.at = *changes;
                run
            }
        };
        federate.send_found(&interaction.what, (values, run, tag), time, send)
    }

    /// As [`Federate::pass_plainly`], if nothing is to be done before. `stages`: those that the LRC has seen to.
    #[inline(always)]
    pub(super) fn pass_plainly(
        &mut self,
        data: PlainData<'_>,
        batch: &Batch,
        kept: &mut Option<PlainCallback>,
        stages: Stages,
    ) -> bool {
        let Member {
            federate,
            changes,
            passed,
            ..
        } = self;
        if passed.at != *changes {
            if !delivers_plainly(federate, stages) || federate.has_queue() {
                return false;
            }
            passed.at = *changes;
            passed.what.forget();
        }
        federate.pass_plainly(data, batch, kept, &mut passed.what)
    }

    /// Whether what comes is delivered as it comes.
    #[inline(always)]
    pub(super) fn is_straight(&self, stages: Stages) -> bool {
        delivers_plainly(&self.federate, stages)
    }
}

impl<H: Copy + PartialEq> Shown<Found<H>> {
    /// What the run of these values takes, if what was shown holds for them.
    #[inline(always)]
    fn known(
        &self,
        changes: u64,
        what: (bool, u64),
        values: &[impl Given<Handle = H>],
    ) -> Option<usize> {
        if self.at == changes && self.what.what == what {
            self.what.run_bytes(values)
        } else {
            None
        }
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
