//! HLAservice interactions: the LRC calls a service as if its federate had (1516.1-2010, 11.4.4).

use super::encoding::Decoder;
use super::reports::{Fault, Given, class_of_rti};
use super::unknown;
use crate::message::ResignAction;
use crate::message::mom::Request;
use crate::{
    AttributeHandle, Exception, Federate, InteractionClassHandle, Lrc, ObjectClassHandle,
    ObjectInstanceHandle, Order, Outbox, TimeType, Transportation,
};

impl Federate {
    /// Whether the RTI was asked to call services on behalf of this federate, and has not done so yet.
    #[inline]
    pub(crate) fn has_acts(&self) -> bool {
        !self.mom.acts.is_empty()
    }
}

impl<O: Outbox> Lrc<O> {
    /// Calls what the RTI was asked to call on behalf of this federate.
    pub(crate) fn act_for_others(&mut self) {
        while let Some((class, values)) = self.joined().and_then(|f| f.mom.acts.pop_front()) {
            let Some(federate) = self.joined() else {
                return;
            };
            let of = federate.time.time_type();
            let sent = federate.model.interaction_class(class);
            let name = sent.map(|c| class_of_rti(&c.name)).unwrap_or_default();
            let given = Given::of(&federate.model, class, &values);
            let done = match given {
                Some(given) => self.outside_callback(|lrc| lrc.act(&name, &given, of)),
                None => Err(unknown(&name)),
            };
            if let (Err(fault), Some(federate)) = (done, self.joined()) {
                federate.log.request(Request::Refused {
                    class,
                    why: fault.why,
                    parameter: fault.parameter,
                });
                self.put_answers();
            }
        }
    }

    fn act(&mut self, class: &str, given: &Given<'_>, of: TimeType) -> Result<(), Fault> {
        let service = class.rsplit('.').next().unwrap_or_default();
        let object_class = || {
            let class = given.get("HLAobjectClass", Decoder::handle)?;
            Ok::<_, Fault>(ObjectClassHandle::from_raw(class))
        };
        let interaction_class = || {
            let class = given.get("HLAinteractionClass", Decoder::handle)?;
            Ok::<_, Fault>(InteractionClassHandle::from_raw(class))
        };
        let instance = || {
            let instance = given.get("HLAobjectInstance", Decoder::instance)?;
            Ok::<_, Fault>(ObjectInstanceHandle(instance))
        };
        let attributes = || {
            let attribute = |d: &mut Decoder<'_>| d.handle().map(AttributeHandle::from_raw);
            given.get("HLAattributeList", |d| d.list(attribute))
        };
        let success = || given.get("HLAsuccessIndicator", Decoder::boolean);
        let active = || given.get("HLAactive", Decoder::boolean);
        let time = || given.get("HLAtimeStamp", |d| d.time(of));
        let lookahead = || given.get("HLAlookahead", |d| d.interval(of));
        let done: Result<(), Exception> = match service {
            "HLAresignFederationExecution" => {
                let action = given.get("HLAresignAction", |d| resign_action(d.number()?))?;
                self.resign(action).map(|()| self.note_resignation())
            }
            "HLAsynchronizationPointAchieved" => {
                let label = given.get("HLAlabel", Decoder::text)?;
                self.synchronization_point_achieved(&label, true)
            }
            "HLAfederateSaveBegun" => self.federate_save_begun(),
            "HLAfederateSaveComplete" => {
                if success()? {
                    self.federate_save_complete()
                } else {
                    self.federate_save_not_complete()
                }
            }
            "HLAfederateRestoreComplete" => {
                if success()? {
                    self.federate_restore_complete()
                } else {
                    self.federate_restore_not_complete()
                }
            }
            "HLApublishObjectClassAttributes" => {
                self.publish_object_class_attributes(object_class()?, &attributes()?)
            }
            "HLAunpublishObjectClassAttributes" => {
                self.unpublish_object_class_attributes(object_class()?, &attributes()?)
            }
            "HLApublishInteractionClass" => self.publish_interaction_class(interaction_class()?),
            "HLAunpublishInteractionClass" => {
                self.unpublish_interaction_class(interaction_class()?)
            }
            "HLAsubscribeObjectClassAttributes" => {
                let (class, attributes) = (object_class()?, attributes()?);
                self.subscribe_object_class_attributes(class, &attributes, active()?, "")
            }
            "HLAunsubscribeObjectClassAttributes" => {
                self.unsubscribe_object_class_attributes(object_class()?, &attributes()?)
            }
            "HLAsubscribeInteractionClass" => {
                self.subscribe_interaction_class(interaction_class()?, active()?)
            }
            "HLAunsubscribeInteractionClass" => {
                self.unsubscribe_interaction_class(interaction_class()?)
            }
            "HLAdeleteObjectInstance" => {
                let tag = given.get("HLAtag", Decoder::bytes)?;
                let time = given.optional("HLAtimeStamp", |d| d.time_if_defined(of))?;
                match time.flatten() {
                    Some(time) => {
                        let deleted = self.delete_object_instance_at(instance()?, tag, time);
                        deleted.map(|_| ())
                    }
                    None => self.delete_object_instance(instance()?, tag),
                }
            }
            "HLAlocalDeleteObjectInstance" => self.local_delete_object_instance(instance()?),
            "HLArequestAttributeTransportationTypeChange" => {
                let (instance, attributes) = (instance()?, attributes()?);
                let how = transportation(given)?;
                self.request_attribute_transportation_type_change(instance, &attributes, how)
            }
            "HLArequestInteractionTransportationTypeChange" => {
                let (class, how) = (interaction_class()?, transportation(given)?);
                self.request_interaction_transportation_type_change(class, how)
            }
            "HLAunconditionalAttributeOwnershipDivestiture" => {
                let (instance, attributes) = (instance()?, attributes()?);
                self.unconditional_attribute_ownership_divestiture(instance, &attributes, &[])
            }
            "HLAenableTimeRegulation" => self.enable_time_regulation(lookahead()?),
            "HLAdisableTimeRegulation" => self.disable_time_regulation(),
            "HLAenableTimeConstrained" => self.enable_time_constrained(),
            "HLAdisableTimeConstrained" => self.disable_time_constrained(),
            "HLAtimeAdvanceRequest" => self.time_advance_request(time()?),
            "HLAtimeAdvanceRequestAvailable" => self.time_advance_request_available(time()?),
            "HLAnextMessageRequest" => self.next_message_request(time()?),
            "HLAnextMessageRequestAvailable" => self.next_message_request_available(time()?),
            "HLAflushQueueRequest" => self.flush_queue_request(time()?),
            "HLAenableAsynchronousDelivery" => self.enable_asynchronous_delivery(),
            "HLAdisableAsynchronousDelivery" => self.disable_asynchronous_delivery(),
            "HLAmodifyLookahead" => self.modify_lookahead(lookahead()?),
            "HLAchangeAttributeOrderType" => {
                let (instance, attributes) = (instance()?, attributes()?);
                self.change_attribute_order_type(instance, &attributes, order(given)?)
            }
            "HLAchangeInteractionOrderType" => {
                self.change_interaction_order_type(interaction_class()?, order(given)?)
            }
            _ => return Err(unknown(class)),
        };
        done.map_err(|exception| Fault::refused(exception.to_string()))
    }
}

/// HLAresignAction: its enumerators begin with 1, those of the C++ API with 0.
fn resign_action(n: u32) -> Option<ResignAction> {
    ResignAction::from_number(n.checked_sub(1)?)
}

fn transportation(given: &Given<'_>) -> Result<Transportation, Fault> {
    given.get("HLAtransportation", |d| match d.text()?.as_str() {
        "HLAreliable" => Some(Transportation::Reliable),
        "HLAbestEffort" => Some(Transportation::BestEffort),
        _ => None,
    })
}

/// HLAorderType: Receive, TimeStamp.
fn order(given: &Given<'_>) -> Result<Order, Fault> {
    given.get("HLAsendOrder", |d| match d.number()? {
        0 => Some(Order::Receive),
        1 => Some(Order::TimeStamp),
        _ => None,
    })
}
