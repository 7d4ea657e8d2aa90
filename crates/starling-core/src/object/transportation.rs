//! Transportation types, 1516.1-2010 §6.23 to §6.30.
//!
//! An instance attribute travels as the FDD says until its owner changes that; the change holds
//! from the delivered confirmation on, and ends with the ownership. An interaction class travels
//! as its sender has changed it, until the sender unpublishes it.

use super::known::Instance;
use crate::callback::Callback;
use crate::exception::throw;
use crate::execution::Execution;
use crate::message::Cause;
use crate::message::object::{Entry, Request};
pub(super) use crate::saved::object::TransportationChanges as Changes;
use crate::{
    AttributeHandle, Exception, Federate, FederateHandle, InteractionClassHandle,
    ObjectInstanceHandle, ProtocolError, Transportation,
};
use std::collections::BTreeMap;

impl<H: Ord> Default for Changes<H> {
    fn default() -> Self {
        Changes {
            changed: BTreeMap::new(),
            changing: BTreeMap::new(),
        }
    }
}

impl<H: Copy + Ord> Changes<H> {
    /// How it travels now, if not as the FDD says.
    pub(crate) fn get(&self, handle: H) -> Option<Transportation> {
        self.changed.get(&handle).copied()
    }

    /// Back to the FDD.
    pub(crate) fn forget(&mut self, handle: H) {
        self.changed.remove(&handle);
        self.changing.remove(&handle);
    }

    pub(super) fn confirm(&mut self, handle: H) {
        if let Some(now) = self.changing.remove(&handle) {
            self.changed.insert(handle, now);
        }
    }
}

impl Execution {
    /// Request Attribute Transportation Type Change, §6.23.
    pub(crate) fn change_attribute_transportation(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        attributes: Vec<AttributeHandle>,
        transportation: Transportation,
    ) {
        for attribute in &attributes {
            let owned = self.owner(instance, Some(*attribute)) == Some(cause.sender.into());
            if let Some(slot) = self.slot(instance, *attribute).filter(|_| owned)
                && let Some(known) = self.objects.instances.get_mut(&instance)
            {
                known.transportations.insert(slot, transportation);
            }
        }
        let changed = Entry::AttributeTransportationChanged {
            instance,
            attributes,
            transportation,
        };
        self.log.tell(cause, &[cause.sender], changed);
    }

    /// Query Attribute Transportation Type, §6.25.
    pub(crate) fn query_attribute_transportation(
        &mut self,
        cause: Cause,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) {
        let changed = self.slot(instance, attribute).and_then(|slot| {
            let known = self.objects.instances.get(&instance)?;
            known.transportations.get(&slot).copied()
        });
        let of_fdd = self.model.attribute(attribute).map(|a| a.transportation);
        if let Some(transportation) = changed.or(of_fdd) {
            let report = Entry::AttributeTransportation {
                instance,
                attribute,
                transportation,
            };
            self.log.tell(cause, &[cause.sender], report);
        }
    }

    /// Request Interaction Transportation Type Change, §6.27.
    pub(crate) fn change_interaction_transportation(
        &mut self,
        cause: Cause,
        class: InteractionClassHandle,
        transportation: Transportation,
    ) -> Result<(), ProtocolError> {
        self.require_interaction(class)?;
        let key = (cause.sender, class);
        self.objects.transportations.insert(key, transportation);
        let changed = Entry::InteractionTransportationChanged {
            class,
            transportation,
        };
        self.log.tell(cause, &[cause.sender], changed);
        Ok(())
    }

    /// Query Interaction Transportation Type, §6.29.
    pub(crate) fn query_interaction_transportation(
        &mut self,
        cause: Cause,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) {
        let changed = self
            .objects
            .transportations
            .get(&(federate, class))
            .copied();
        let of_fdd = self
            .model
            .interaction_class(class)
            .map(|c| c.transportation);
        if let Some(transportation) = changed.or(of_fdd) {
            let report = Entry::InteractionTransportation {
                federate,
                class,
                transportation,
            };
            self.log.tell(cause, &[cause.sender], report);
        }
    }
}

impl Federate {
    /// Request Attribute Transportation Type Change, §6.23.
    pub fn request_attribute_transportation_type_change(
        &mut self,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
        transportation: Transportation,
    ) -> Result<(), Exception> {
        let known = self.known(instance)?;
        self.require_attributes(known.known_class, attributes)?;
        self.require_owned(instance, known, attributes)?;
        let changing = &known.transportations.changing;
        if let Some(a) = attributes.iter().find(|a| changing.contains_key(a)) {
            throw!(
                AttributeAlreadyBeingChanged,
                "attribute {} of '{}' has an earlier change that is not confirmed yet",
                self.attribute_text(*a),
                known.name(instance)
            );
        }
        if let Some(known) = self.objects.instances.get_mut(&instance) {
            let changing = attributes.iter().map(|a| (*a, transportation));
            known.transportations.changing.extend(changing);
        }
        self.log
            .ending_request(Request::ChangeAttributeTransportation {
                instance,
                attributes: attributes.to_vec(),
                transportation,
            });
        Ok(())
    }

    /// Query Attribute Transportation Type, §6.25; the answer is a callback.
    pub fn query_attribute_transportation_type(
        &mut self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Result<(), Exception> {
        let class = self.known(instance)?.known_class;
        self.require_attributes(class, &[attribute])?;
        self.log.request(Request::QueryAttributeTransportation {
            instance,
            attribute,
        });
        Ok(())
    }

    /// Request Interaction Transportation Type Change, §6.27.
    pub fn request_interaction_transportation_type_change(
        &mut self,
        class: InteractionClassHandle,
        transportation: Transportation,
    ) -> Result<(), Exception> {
        let known = self.require_interaction_class(class)?;
        if !self.declarations.publishes_interaction(class) {
            throw!(
                InteractionClassNotPublished,
                "'{}' is not published by this federate",
                known.name
            );
        }
        if self.objects.transportations.changing.contains_key(&class) {
            throw!(
                InteractionClassAlreadyBeingChanged,
                "'{}' has an earlier change that is not confirmed yet",
                known.name
            );
        }
        self.objects
            .transportations
            .changing
            .insert(class, transportation);
        self.log
            .ending_request(Request::ChangeInteractionTransportation {
                class,
                transportation,
            });
        Ok(())
    }

    /// Query Interaction Transportation Type, §6.29; the answer is a callback.
    pub fn query_interaction_transportation_type(
        &mut self,
        federate: FederateHandle,
        class: InteractionClassHandle,
    ) -> Result<(), Exception> {
        self.require_interaction_class(class)?;
        if !self.federation.members().contains_key(&federate) {
            throw!(
                RTIinternalError,
                "{federate} is not joined to '{}', so it sends nothing",
                self.federation.federation()
            );
        }
        self.log
            .request(Request::QueryInteractionTransportation { federate, class });
        Ok(())
    }

    /// AttributeNotOwned unless all are owned by this federate.
    pub(crate) fn require_owned(
        &self,
        instance: ObjectInstanceHandle,
        known: &Instance,
        attributes: &[AttributeHandle],
    ) -> Result<(), Exception> {
        let owned = |a: &&AttributeHandle| known.owned.binary_search(a).is_ok();
        match attributes.iter().find(|a| !owned(a)) {
            None => Ok(()),
            Some(a) => throw!(
                AttributeNotOwned,
                "attribute {} of '{}' is not owned by this federate",
                self.attribute_text(*a),
                known.name(instance)
            ),
        }
    }

    /// The callback of an entry about transportation types. A confirmation: from now on it travels so.
    pub(crate) fn deliver_transportation(&mut self, entry: Entry) -> Option<Callback> {
        if let Entry::AttributeTransportationChanged { instance, .. } = entry
            && self.known(instance).is_err()
        {
            // It may be known again.
            if self.away(instance).is_some() {
                self.time.away.put_confirmation(instance, entry);
            }
            return None;
        }
        match entry {
            Entry::AttributeTransportationChanged {
                instance,
                attributes,
                transportation,
            } => {
                let known = self.objects.instances.get_mut(&instance)?;
                for attribute in &attributes {
                    known.confirm_transportation(*attribute);
                }
                Some(Callback::ConfirmAttributeTransportationTypeChange {
                    instance,
                    attributes,
                    transportation,
                })
            }
            Entry::AttributeTransportation {
                instance,
                attribute,
                transportation,
            } => Some(Callback::ReportAttributeTransportationType {
                instance,
                attribute,
                transportation,
            }),
            Entry::InteractionTransportationChanged {
                class,
                transportation,
            } => {
                self.objects.transportations.confirm(class);
                Some(Callback::ConfirmInteractionTransportationTypeChange {
                    class,
                    transportation,
                })
            }
            Entry::InteractionTransportation {
                federate,
                class,
                transportation,
            } => Some(Callback::ReportInteractionTransportationType {
                federate,
                class,
                transportation,
            }),
            other => unreachable!("{other:?} is not about a transportation type"),
        }
    }
}
