//! The short way of data from a link to its callback: of an update or interaction as most are, whose turn is now and of which is
//! known already as what it is received. Whatever is otherwise goes the long way, from its beginning; that one alone says
//! what is right. What is in time-stamp order has one of its own ([`super::timed`]).

use super::SlotMap;
use crate::callback::{PlainCallback, PlainValues};
use crate::content::Piece;
use crate::declaration::Declarations;
use crate::delivery::Plain;
use crate::message::{After, PlainData};
use crate::object::known::FederateObjects;
use crate::traffic::note;
use crate::{
    AttributeHandle, Batch, Federate, FederateHandle, InteractionClassHandle, MessageTime,
    ObjectClassHandle, ObjectInstanceHandle, ParameterHandle, Transportation,
};

/// As what data is received that is as most is.
pub(super) enum ReceivedPlainly {
    Update {
        instance: ObjectInstanceHandle,
        class: ObjectClassHandle,
        handles: SlotMap<AttributeHandle>,
    },
    Interaction {
        sent: InteractionClassHandle,
        class: InteractionClassHandle,
        handles: SlotMap<ParameterHandle>,
    },
}

/// As what data is received, if that is known already, and something of it is.
#[inline(always)]
pub(super) fn received_plainly(
    objects: &FederateObjects,
    declarations: &Declarations,
    data: &PlainData<'_>,
) -> Option<ReceivedPlainly> {
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
            handles: ready.map.clone(),
        });
    }
    let sent = InteractionClassHandle::from_raw(data.what as u32);
    let ready = maps.interactions.get(&sent)?;
    let (class, handles) = ready.map.as_ref().filter(|_| ready.from <= from)?;
    Some(ReceivedPlainly::Interaction {
        sent,
        class: *class,
        handles: handles.clone(),
    })
}

impl Federate {
    /// Takes an update or interaction as most are, of this batch. False, and nothing is done: its turn is not now,
    /// or something is wrong with it.
    #[inline(always)]
    pub fn receive_plainly(&mut self, data: PlainData<'_>, batch: &Batch) -> bool {
        let now = self.is_of_known(&data) && self.delivery.is_straight();
        if !now || !self.log.is_next(data.sender, data.after) {
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

    /// The next callback, now delivered, if it is one as most are: data of which is known already as what it is
    /// received.
    #[inline(always)]
    pub fn next_plain(&mut self) -> Option<PlainCallback> {
        if self.mom.conveys_regions() {
            return None;
        }
        let Some(plain) = self.delivery.first_plain() else {
            return self.next_timed();
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
        let received = received_plainly(&self.objects, &self.declarations, &data)?;
        let (sender, transportation) = (data.sender, data.transportation);
        let piece = self.delivery.take_plain()?.piece;
        self.called_back(received, (sender, transportation), piece, None)
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

    /// The callback of an update or interaction as most are, of this batch, that is delivered before it was in the queue.
    /// None, and nothing is done: its turn is not now, or it is another.
    #[inline(always)]
    pub(crate) fn pass_plainly(
        &mut self,
        data: PlainData<'_>,
        batch: &Batch,
    ) -> Option<PlainCallback> {
        if !self.log.is_next(data.sender, data.after) {
            return None;
        }
        let received = received_plainly(&self.objects, &self.declarations, &data)?;
        let piece = Piece::of(batch, data.values, data.tag)?;
        self.counters.queued += 1;
        self.called_back(received, (data.sender, data.transportation), piece, None)
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

    /// Counts what is delivered, and makes its callback.
    #[inline(always)]
    pub(super) fn called_back(
        &mut self,
        received: ReceivedPlainly,
        (sender, transportation): (FederateHandle, Transportation),
        piece: Piece,
        time: Option<MessageTime>,
    ) -> Option<PlainCallback> {
        let producer = self.conveyed(sender);
        let bytes = piece.bytes();
        Some(match received {
            ReceivedPlainly::Update {
                instance,
                class,
                handles,
            } => {
                self.mom.tally.reflected(class, transportation);
                note(&mut self.traffic, |t| {
                    t.reflected(class, sender, transportation, bytes)
                });
                PlainCallback::ReflectAttributeValues {
                    instance,
                    values: PlainValues { piece, handles },
                    transportation,
                    producer,
                    time,
                }
            }
            ReceivedPlainly::Interaction {
                sent,
                class,
                handles,
            } => {
                self.mom.tally.received(sent, transportation);
                note(&mut self.traffic, |t| {
                    t.received(sent, sender, transportation, bytes)
                });
                PlainCallback::ReceiveInteraction {
                    class,
                    values: PlainValues { piece, handles },
                    transportation,
                    producer,
                    time,
                }
            }
        })
    }
}
