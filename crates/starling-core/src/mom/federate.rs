//! The MOM at a joined federate: what the RTI sends, and what it asks.

use super::counts::Tally;
use super::{RTI, Served, federate_of, region_of};
use crate::ddm::address::AddressBuf;
use crate::log::federate::Place;
use crate::message::mom::{Entry, Request, SlotValues, Switches};
use crate::message::{After, Data, DataBody, Payload, Range};
use crate::{
    Federate, FederateHandle, InteractionClassHandle, ProtocolError, Transportation, Values,
    ValuesBuf,
};
use starling_fom::ObjectModel;
use std::collections::VecDeque;

/// What a joined federate has of this chapter.
pub(crate) struct FederateMom {
    pub(crate) tally: Tally,
    pub(crate) switches: Switches,
    /// What the LRC is to do on behalf of others.
    pub(super) acts: VecDeque<(InteractionClassHandle, SlotValues)>,
    served: Served,
}

impl FederateMom {
    pub(crate) fn new(model: &ObjectModel) -> Self {
        FederateMom {
            tally: Tally::default(),
            switches: Switches::of(model),
            acts: VecDeque::new(),
            served: Served::of(model),
        }
    }

    /// The FDD has grown.
    pub(crate) fn model_changed(&mut self, model: &ObjectModel) {
        self.served = Served::of(model);
    }
}

impl Federate {
    /// An entry of this chapter.
    pub(crate) fn apply_mom(&mut self, entry: Entry, place: Place) -> Result<(), ProtocolError> {
        match entry {
            Entry::Update {
                instance,
                values,
                ranges,
            } => self.apply_own_data(place, &values, (federate_of(instance).0, &ranges), |p| {
                DataBody::Update {
                    instance,
                    payload: p,
                }
            }),
            Entry::Interaction {
                class,
                values,
                ranges,
            } => self.apply_own_data(place, &values, (0, &ranges), |payload| {
                DataBody::Interaction { class, payload }
            }),
            Entry::Act { class, values } => {
                self.mom.acts.push_back((class, values));
                Ok(())
            }
            Entry::Switches(switches) => {
                self.mom.switches = switches;
                Ok(())
            }
            Entry::AttributeState {
                instance,
                attribute,
                owned,
            } => {
                self.own_silently(instance, attribute, owned);
                Ok(())
            }
            Entry::Ask => {
                let counts = self.mom.tally.counts(self.delivery.lengths());
                self.log.request(Request::Counts(Box::new(counts)));
                Ok(())
            }
        }
    }

    /// What the RTI sends is data as any other; it has applied the log up to the entry's place.
    fn apply_own_data(
        &mut self,
        place: Place,
        values: &SlotValues,
        (region, ranges): (u32, &[Range]),
        body: impl FnOnce(Payload<'_>) -> DataBody<'_>,
    ) -> Result<(), ProtocolError> {
        let mut buffer = ValuesBuf::default();
        for (slot, value) in values {
            buffer.push(*slot, value);
        }
        let region = region_of(FederateHandle(region));
        let with = [(region, ranges)];
        let address = (!ranges.is_empty()).then(|| AddressBuf::new(&[self.me], with.into_iter()));
        let payload = Payload {
            transportation: Transportation::Reliable,
            values: buffer.values(),
            tag: &[],
            address: address.as_ref().map(AddressBuf::borrow),
            stamp: None,
        };
        let data = Data {
            sender: RTI,
            after: After {
                requests: Default::default(),
                index: place.index,
            },
            body: body(payload),
        };
        self.apply_data(&data)
    }

    /// Tells the RTI of an interaction that it acts on.
    #[inline]
    pub(crate) fn send_to_rti(&mut self, class: InteractionClassHandle, values: Values<'_>) {
        if self.mom.served.has(class) {
            let values = values.iter().map(|(slot, v)| (slot, v.to_vec())).collect();
            self.log.request(Request::Sent { class, values });
        }
    }
}
