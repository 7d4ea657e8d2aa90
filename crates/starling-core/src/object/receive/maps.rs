//! As what a federate receives values, said once of a class for all frames that are late enough.

use crate::handles::HandleMap;
use crate::message::LogIndex;
use crate::{AttributeHandle, InteractionClassHandle, ObjectClassHandle, ParameterHandle};
use std::sync::Arc;

/// By slot of the sent class: the handle that the receiver gets it as, if it does.
pub(crate) type SlotMap<H> = Arc<Vec<Option<H>>>;

/// What can be said of a class once for all frames that are late enough.
#[derive(Clone)]
pub(in crate::object) struct Prepared<T> {
    /// It holds for frames whose sender had applied the log up to here.
    pub(super) from: LogIndex,
    /// And as long as this is the number of the maps.
    pub(super) made_of: u64,
    pub(super) map: T,
}

/// The class at which interactions of a sent class are received, and their parameters there.
pub(super) type ReceivedAs = (InteractionClassHandle, SlotMap<ParameterHandle>);

/// What is ready, of all classes.
#[derive(Default)]
pub(crate) struct ReceiveMaps {
    /// By sent class and class of receipt.
    pub(super) objects:
        HandleMap<(ObjectClassHandle, ObjectClassHandle), Prepared<SlotMap<AttributeHandle>>>,
    /// By the number of the sent class.
    interactions: Vec<Option<Prepared<Option<ReceivedAs>>>>,
    /// How often they were cleared.
    pub(super) cleared: u64,
}

impl ReceiveMaps {
    #[inline(always)]
    pub(super) fn interaction(
        &self,
        sent: InteractionClassHandle,
    ) -> Option<&Prepared<Option<ReceivedAs>>> {
        self.interactions.get(sent.raw() as usize)?.as_ref()
    }

    /// Of a class of the FDD.
    pub(super) fn put_interaction(
        &mut self,
        sent: InteractionClassHandle,
        ready: Prepared<Option<ReceivedAs>>,
    ) {
        let place = sent.raw() as usize;
        if self.interactions.len() <= place {
            self.interactions.resize_with(place + 1, || None);
        }
        self.interactions[place] = Some(ready);
    }

    /// Own subscriptions, as called or as applied, or the FDD have changed.
    pub(crate) fn clear(&mut self) {
        self.objects.clear();
        self.interactions.clear();
        self.cleared += 1;
    }
}
