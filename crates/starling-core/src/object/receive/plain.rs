//! The short way of data from a link to its callback: of an update or interaction as most are, whose turn is now and of which is
//! known already as what it is received. Whatever is otherwise goes the long way, from its beginning; that one alone says
//! what is right. What is in time-stamp order has one of its own ([`super::timed`]).

use super::SlotMap;
use crate::callback::{PlainCallback, PlainPart};
use crate::content::{Piece, Place};
use crate::declaration::Declarations;
use crate::delivery::Plain;
use crate::message::{After, LogIndex, PlainData};
use crate::mom::counts::Tally;
use crate::object::known::FederateObjects;
use crate::traffic::{Traffic, note};
use crate::{
    AttributeHandle, Batch, DataPath, Federate, FederateHandle, InteractionClassHandle,
    ObjectClassHandle, ObjectInstanceHandle, ParameterHandle,
};
use std::sync::Arc;

/// As what data is received that is as most is.
#[derive(Clone, Copy)]
pub(super) enum ReceivedPlainly<'a> {
    Update {
        instance: ObjectInstanceHandle,
        class: ObjectClassHandle,
        handles: &'a SlotMap<AttributeHandle>,
        /// It holds for frames whose sender had applied the log up to here.
        from: LogIndex,
    },
    Interaction {
        sent: InteractionClassHandle,
        class: InteractionClassHandle,
        handles: &'a SlotMap<ParameterHandle>,
    },
}

/// As what the last update was received: so are others of its instance, until anything else is done with the federate than to
/// send and to deliver what is as most is.
pub(crate) struct Reflected {
    instance: ObjectInstanceHandle,
    class: ObjectClassHandle,
    /// None: there was none.
    handles: Option<SlotMap<AttributeHandle>>,
    from: LogIndex,
}

impl Default for Reflected {
    /// Of none.
    fn default() -> Self {
        Reflected {
            instance: ObjectInstanceHandle(0),
            class: ObjectClassHandle::from_raw(0),
            handles: None,
            from: LogIndex::default(),
        }
    }
}

impl Reflected {
    /// As what this is received, if it is of that instance and something of it is.
    #[inline(always)]
    pub(super) fn received(&self, data: &PlainData<'_>) -> Option<ReceivedPlainly<'_>> {
        let Reflected {
            instance,
            class,
            ref handles,
            from,
        } = *self;
        let handles = handles.as_ref()?;
        let holds = data.is_update && data.what == instance.0 && from <= data.after.index;
        let holds = holds && data.values.has_any(handles);
        holds.then_some(ReceivedPlainly::Update {
            instance,
            class,
            handles,
            from,
        })
    }

    #[inline(always)]
    pub(super) fn note(&mut self, received: &ReceivedPlainly<'_>) {
        if let ReceivedPlainly::Update {
            instance,
            class,
            handles,
            from,
        } = *received
        {
            (self.instance, self.class, self.from) = (instance, class, from);
            // Mostly they are those of the one before.
            if !matches!(&self.handles, Some(before) if Arc::ptr_eq(before, handles)) {
                self.handles = Some(Arc::clone(handles));
            }
        }
    }
}

/// As what data is received, if that is known already, and something of it is.
#[inline(always)]
pub(super) fn received_plainly<'a>(
    objects: &'a FederateObjects,
    declarations: &'a Declarations,
    data: &PlainData<'_>,
) -> Option<ReceivedPlainly<'a>> {
    let (maps, from) = (declarations.received(), data.after.index);
    if data.is_update {
        let instance = ObjectInstanceHandle(data.what);
        let known = objects.instances.get(&instance)?;
        let ready = known.received_as.as_ref()?;
        let holds = ready.from <= from && ready.made_of == maps.cleared;
        if !holds || !known.is_reflected() || !data.values.has_any(&ready.map) {
            return None;
        }
        return Some(ReceivedPlainly::Update {
            instance,
            class: known.registered_class,
            handles: &ready.map,
            from: ready.from,
        });
    }
    let sent = InteractionClassHandle::from_raw(data.what as u32);
    let ready = maps.interaction(sent)?;
    let (class, handles) = ready.map.as_ref().filter(|_| ready.from <= from)?;
    Some(ReceivedPlainly::Interaction {
        sent,
        class: *class,
        handles,
    })
}

impl Federate {
    /// Takes an update or interaction as most are, of this batch. False, and nothing is done: its turn is not now,
    /// or something is wrong with it.
    #[inline(always)]
    pub fn receive_plainly(&mut self, data: PlainData<'_>, path: DataPath, batch: &Batch) -> bool {
        let now = self.is_of_known(&data) && self.delivery.is_straight();
        let how = (data.transportation, path);
        if !now || !self.log.is_next(data.sender, data.after, how) {
            return false;
        }
        let Some(piece) = Piece::of(batch, data.values, data.tag) else {
            return false;
        };
        self.delivery.push_plain(Plain {
            piece,
            what: data.what,
            sender_applied: data.after.index,
            sender: data.sender,
            transportation: data.transportation,
            is_update: data.is_update,
        });
        self.counters.queued += 1;
        true
    }

    /// Makes of `kept` the next callback, now delivered, if it is one as most are: data of which is known already as what
    /// it is received. False, and nothing is done: it is another. `last`: as of [`Self::pass_plainly`].
    #[inline(always)]
    pub(crate) fn next_plain(
        &mut self,
        kept: &mut Option<PlainCallback>,
        last: &mut Reflected,
    ) -> bool {
        if self.mom.conveys_regions() {
            return false;
        }
        let Some(plain) = self.delivery.first_plain() else {
            return self.next_timed(kept, last);
        };
        let data = PlainData {
            sender: plain.sender,
            after: After {
                requests: Default::default(),
                index: plain.sender_applied,
            },
            is_update: plain.is_update,
            what: plain.what,
            transportation: plain.transportation,
            tag: &[],
            values: plain.piece.values(),
        };
        let Some(received) = received_plainly(&self.objects, &self.declarations, &data) else {
            return false;
        };
        let part = PlainPart {
            batch: &plain.piece.batch,
            place: plain.piece.place,
            transportation: data.transportation,
            producer: self.conveyed(data.sender),
            time: None,
        };
        let by = (&mut self.mom.tally, &mut self.traffic);
        call_back(kept, received, part, (by, data.sender));
        self.delivery.drop_plain();
        true
    }

    /// Whether this federate knows the instance, or the FDD has the interaction class.
    #[inline(always)]
    pub(super) fn is_of_known(&self, data: &PlainData<'_>) -> bool {
        if data.is_update {
            let instance = ObjectInstanceHandle(data.what);
            self.objects.instances.contains_key(&instance)
        } else {
            let class = InteractionClassHandle::from_raw(data.what as u32);
            self.model.interaction_class(class).is_some()
        }
    }

    /// Makes of `kept` the callback of an update or interaction as most are, of this batch, that is delivered before it was
    /// in the queue. False, and nothing is done: its turn is not now, or it is another. `last`: as what the last update was
    /// received, if that holds.
    #[inline(always)]
    pub(crate) fn pass_plainly(
        &mut self,
        data: PlainData<'_>,
        (batch, path): (&Batch, DataPath),
        kept: &mut Option<PlainCallback>,
        last: &mut Reflected,
    ) -> bool {
        let how = (data.transportation, path);
        if !self.log.is_next(data.sender, data.after, how) {
            return false;
        }
        let received = match last.received(&data) {
            Some(received) => received,
            None => {
                let found = received_plainly(&self.objects, &self.declarations, &data);
                let Some(received) = found else {
                    return false;
                };
                last.note(&received);
                received
            }
        };
        let Some(place) = Place::of(batch, data.values, data.tag) else {
            return false;
        };
        self.counters.queued += 1;
        let part = PlainPart {
            batch,
            place,
            transportation: data.transportation,
            producer: self.conveyed(data.sender),
            time: None,
        };
        let by = (&mut self.mom.tally, &mut self.traffic);
        call_back(kept, received, part, (by, data.sender));
        true
    }

    /// Whether what comes is delivered as it comes: [`Federate::pass_plainly`].
    #[inline(always)]
    pub(crate) fn is_straight(&self) -> bool {
        self.delivery.is_straight() && !self.mom.conveys_regions()
    }

    /// Whether something waits in the queue.
    #[inline(always)]
    pub(crate) fn has_queue(&self) -> bool {
        self.delivery.has_queue()
    }
}

/// Counts what is delivered, and makes its callback of the one before.
#[inline(always)]
pub(super) fn call_back(
    kept: &mut Option<PlainCallback>,
    received: ReceivedPlainly<'_>,
    part: PlainPart<'_>,
    ((tally, traffic), sender): ((&mut Tally, &mut Option<Box<Traffic>>), FederateHandle),
) {
    let (how, bytes) = (part.transportation, part.place.bytes());
    match received {
        ReceivedPlainly::Update {
            instance,
            class,
            handles,
            ..
        } => {
            if tally.is_on() {
                tally.reflected(class, how);
                note(traffic, |t| t.reflected(class, sender, how, bytes));
            }
            PlainCallback::reflect(kept, instance, handles, part);
        }
        ReceivedPlainly::Interaction {
            sent,
            class,
            handles,
        } => {
            if tally.is_on() {
                tally.received(sent, how);
                note(traffic, |t| t.received(sent, sender, how, bytes));
            }
            PlainCallback::receive(kept, class, handles, part);
        }
    }
}
