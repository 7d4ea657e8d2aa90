//! The MOM at a joined federate: what the RTI sends, and what it asks.

use super::counts::Tally;
use super::reports::class_of_rti;
use super::{
    RTI, Served, federate_of, is_of_rti, own_attribute, own_class, region_of, switched_off,
};
use crate::ddm::address::AddressBuf;
use crate::federation::SaveStatus;
use crate::federation::save::Stages;
use crate::log::federate::Place;
use crate::message::mom::{Entry, Request, SlotValues, Switches};
use crate::message::{After, Data, DataBody, Payload, Range};
use crate::{
    AttributeHandle, DataPath, Exception, Federate, FederateHandle, InteractionClassHandle, Listed,
    ObjectClassHandle, ParameterHandle, ProtocolError, Transportation, Values, ValuesBuf,
    ValuesOut,
};
use starling_fom::ObjectModel;
use std::collections::VecDeque;

/// What a joined federate has of this chapter.
pub(crate) struct FederateMom {
    /// The federation execution has a management object model.
    pub(super) is_on: bool,
    pub(crate) tally: Tally,
    pub(crate) switches: Switches,
    /// What the LRC is to do on behalf of others.
    pub(super) acts: VecDeque<(InteractionClassHandle, SlotValues)>,
    /// It has been noted that its counts are more than a message may hold.
    is_cut: bool,
    served: Served,
}

impl FederateMom {
    /// `on`: the federation execution has a management object model.
    pub(crate) fn new(model: &ObjectModel, on: bool) -> Self {
        let mut switches = Switches::of(model);
        switches.report_services &= on;
        switches.report_exceptions &= on;
        let mut new = FederateMom {
            is_on: on,
            tally: Tally::new(on),
            switches,
            acts: VecDeque::new(),
            is_cut: false,
            served: Served::default(),
        };
        new.model_changed(model);
        new
    }

    /// Whether this federate is to be told with which regions others sent (§9, Convey Region Designator Sets).
    pub(crate) fn conveys_regions(&self) -> bool {
        self.switches.convey_regions
    }

    /// Whether the RTI acts on interactions of this class.
    #[inline]
    pub(crate) fn serves(&self, class: InteractionClassHandle) -> bool {
        self.served.has(class)
    }

    /// The FDD has grown.
    pub(crate) fn model_changed(&mut self, model: &ObjectModel) {
        if self.is_on {
            self.served = Served::of(model);
        }
    }
}

impl Federate {
    /// RTIinternalError for what the RTI alone makes of an object class, where it makes nothing.
    pub(crate) fn require_managed_object(
        &self,
        class: ObjectClassHandle,
        attributes: &[AttributeHandle],
    ) -> Result<(), Exception> {
        match own_attribute(&self.model, class, attributes) {
            Some(name) if !self.mom.is_on => Err(switched_off(&format!(
                "'{name}' of '{}'",
                own_class(&self.model, class).unwrap_or_default()
            ))),
            _ => Ok(()),
        }
    }

    /// RTIinternalError for an interaction class that the RTI sends or acts on, where it does neither.
    pub(crate) fn require_managed_interaction(
        &self,
        class: InteractionClassHandle,
    ) -> Result<(), Exception> {
        let class = self.model.interaction_class(class);
        match class.filter(|c| is_of_rti(&c.name)) {
            Some(class) if !self.mom.is_on => Err(switched_off(&format!("'{}'", class.name))),
            _ => Ok(()),
        }
    }

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
                self.own_silently(instance, attribute, owned, place.index);
                Ok(())
            }
            Entry::Ask => {
                let mut counts = self.mom.tally.counts(self.delivery.lengths());
                if counts.shorten(self.frame_bytes_max) && !self.mom.is_cut {
                    self.mom.is_cut = true;
                    self.set_note(format!(
                        "what is counted here for the management object model takes more than one message may \
                         hold: {} bytes (limits.frame_bytes of rtiexec); reports lack the last classes",
                        self.frame_bytes_max
                    ));
                }
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
        self.apply_data(&data, DataPath::Executive, None)
    }

    /// Whether interactions of a class may be sent to the RTI while a save or a restore has come so far (11.4.4): those
    /// that end it for another federate, and that which resigns one.
    pub(crate) fn may_tell_rti(&self, class: InteractionClassHandle, stages: Stages) -> bool {
        let name = self
            .model
            .interaction_class(class)
            .map(|c| class_of_rti(&c.name));
        let service = name
            .as_ref()
            .and_then(|n| n.strip_prefix("HLAfederate.HLAservice."));
        let of_save = stages.save != SaveStatus::NoSaveInProgress;
        self.mom.serves(class)
            && match service {
                Some("HLAresignFederationExecution") => true,
                Some("HLAfederateSaveBegun" | "HLAfederateSaveComplete") => of_save,
                Some("HLAfederateRestoreComplete") => !of_save,
                _ => false,
            }
    }

    /// Send Interaction (§6.12) of one of these. It goes to the RTI alone: nobody is delivered any meanwhile, and what
    /// federates send each other is in no save.
    pub(crate) fn tell_rti(
        &mut self,
        class: InteractionClassHandle,
        values: &[(ParameterHandle, &[u8])],
        tag: &[u8],
    ) -> Result<(), Exception> {
        let (transportation, bytes) = self.line_up(class, values)?;
        self.require_fits(bytes + tag.len())?;
        self.mom.tally.sent(class, transportation);
        self.counters.sent += 1;
        let list = Listed::of_bytes(&self.slots, values, bytes);
        let values = ValuesBuf::of(ValuesOut::Given(&list));
        self.send_to_rti(class, values.values(), true);
        Ok(())
    }

    /// Tells the RTI of an interaction that it acts on. One that was not handed out to federates, and counted as
    /// unwanted, is sent all the same: the RTI wants it.
    #[cold]
    pub(crate) fn send_to_rti(
        &mut self,
        class: InteractionClassHandle,
        values: Values<'_>,
        handed_out: bool,
    ) {
        if !handed_out {
            self.counters.unwanted -= 1;
            self.counters.sent += 1;
        }
        let values = values.iter().map(|(slot, v)| (slot, v.to_vec())).collect();
        self.log.request(Request::Sent { class, values });
    }
}
