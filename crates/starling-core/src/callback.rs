//! Callbacks as they leave the core, one after another.

use crate::message::FederationInformation;
use crate::{
    AttributeHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, Owner, ParameterHandle, RegionHandle, SynchronizationPointFailure,
    Transportation, ValuesBuf,
};
use std::fmt;
use std::sync::Arc;

/// One callback to the federate. Handles, names and values are as the standard passes them;
/// `producer` is none where the FDD's switch Convey Producing Federate is off, or the RTI itself is
/// the producer.
#[derive(Clone, Debug, PartialEq)]
pub enum Callback {
    /// Connection Lost, 1516.1-2010 §4.4.
    ConnectionLost {
        /// Why.
        fault: String,
    },
    /// Report Federation Executions, §4.8.
    ReportFederationExecutions(Vec<FederationInformation>),
    /// Confirm Synchronization Point Registration, §4.12.
    SynchronizationPointRegistered {
        /// The synchronization point's label.
        label: String,
        /// Why it was not registered, if so.
        failure: Option<SynchronizationPointFailure>,
    },
    /// Announce Synchronization Point, §4.13.
    AnnounceSynchronizationPoint {
        /// The synchronization point's label.
        label: String,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// Federation Synchronized, §4.15.
    FederationSynchronized {
        /// The synchronization point's label.
        label: String,
        /// Those who achieved it unsuccessfully.
        failed: Vec<FederateHandle>,
    },
    /// Start Registration For Object Class, §5.10.
    StartRegistrationForObjectClass(ObjectClassHandle),
    /// Stop Registration For Object Class, §5.11.
    StopRegistrationForObjectClass(ObjectClassHandle),
    /// Turn Interactions On, §5.12.
    TurnInteractionsOn(InteractionClassHandle),
    /// Turn Interactions Off, §5.13.
    TurnInteractionsOff(InteractionClassHandle),
    /// (Multiple) Object Instance Name(s) Reserved, §6.3, §6.6.
    NamesReserved {
        /// All that were asked for.
        names: Vec<String>,
        /// Whether the multiple form was called.
        multiple: bool,
        /// Succeeded or failed.
        succeeded: bool,
    },
    /// Discover Object Instance, §6.9.
    DiscoverObjectInstance {
        /// The instance discovered.
        instance: ObjectInstanceHandle,
        /// The known class.
        class: ObjectClassHandle,
        /// Its name.
        name: String,
        /// Who registered it.
        producer: Option<FederateHandle>,
    },
    /// Reflect Attribute Values, §6.11.
    ReflectAttributeValues {
        /// The instance that was updated.
        instance: ObjectInstanceHandle,
        /// Only those subscribed at the known class.
        values: NamedValues<AttributeHandle>,
        /// User-supplied tag.
        tag: Vec<u8>,
        /// How it was sent.
        transportation: Transportation,
        /// Who sent it.
        producer: Option<FederateHandle>,
        /// The regions that it was updated with, if they are conveyed; none for the default one.
        regions: Option<Vec<RegionHandle>>,
    },
    /// Receive Interaction, §6.13.
    ReceiveInteraction {
        /// The received class: the sent one, or its nearest superclass that is subscribed.
        class: InteractionClassHandle,
        /// Only those available at the received class.
        values: NamedValues<ParameterHandle>,
        /// User-supplied tag.
        tag: Vec<u8>,
        /// How it was sent.
        transportation: Transportation,
        /// Who sent it.
        producer: Option<FederateHandle>,
        /// The regions that it was sent with, if they are conveyed; none for the default one.
        regions: Option<Vec<RegionHandle>>,
    },
    /// Remove Object Instance, §6.15.
    RemoveObjectInstance {
        /// The instance that was deleted.
        instance: ObjectInstanceHandle,
        /// User-supplied tag.
        tag: Vec<u8>,
        /// Who deleted it.
        producer: Option<FederateHandle>,
    },
    /// Confirm Attribute Transportation Type Change, §6.24.
    ConfirmAttributeTransportationTypeChange {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes whose transportation type has changed.
        attributes: Vec<AttributeHandle>,
        /// How they travel now.
        transportation: Transportation,
    },
    /// Report Attribute Transportation Type, §6.26.
    ReportAttributeTransportationType {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attribute.
        attribute: AttributeHandle,
        /// How it travels.
        transportation: Transportation,
    },
    /// Confirm Interaction Transportation Type Change, §6.28.
    ConfirmInteractionTransportationTypeChange {
        /// The interaction class.
        class: InteractionClassHandle,
        /// How this federate sends it now.
        transportation: Transportation,
    },
    /// Report Interaction Transportation Type, §6.30.
    ReportInteractionTransportationType {
        /// The federate that sends it.
        federate: FederateHandle,
        /// The interaction class.
        class: InteractionClassHandle,
        /// How that federate sends it.
        transportation: Transportation,
    },
    /// Attributes In Scope, §6.17.
    AttributesInScope {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes that have come into scope.
        attributes: Vec<AttributeHandle>,
    },
    /// Attributes Out Of Scope, §6.18.
    AttributesOutOfScope {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes that have left scope.
        attributes: Vec<AttributeHandle>,
    },
    /// Turn Updates On For Object Instance, §6.21.
    TurnUpdatesOnForObjectInstance {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// Wanted now.
        attributes: Vec<AttributeHandle>,
        /// At this update rate designator; empty: all updates.
        rate: String,
    },
    /// Turn Updates Off For Object Instance, §6.22.
    TurnUpdatesOffForObjectInstance {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// Wanted by nobody now.
        attributes: Vec<AttributeHandle>,
    },
    /// Provide Attribute Value Update, §6.20.
    ProvideAttributeValueUpdate {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The owned attributes whose values somebody wants.
        attributes: Vec<AttributeHandle>,
        /// User-supplied tag.
        tag: Vec<u8>,
    },
    /// Request Attribute Ownership Assumption, §7.4.
    RequestAttributeOwnershipAssumption {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes that are offered.
        attributes: Vec<AttributeHandle>,
        /// The divesting federate's.
        tag: Vec<u8>,
    },
    /// Request Divestiture Confirmation, §7.5.
    RequestDivestitureConfirmation {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes that another federate is to get.
        attributes: Vec<AttributeHandle>,
        /// The acquiring federate's (2025).
        tag: Vec<u8>,
    },
    /// Attribute Ownership Acquisition Notification, §7.7: owned from now on.
    AttributeOwnershipAcquisitionNotification {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes that the federate owns now.
        attributes: Vec<AttributeHandle>,
        /// The divesting federate's.
        tag: Vec<u8>,
    },
    /// Attribute Ownership Unavailable, §7.10.
    AttributeOwnershipUnavailable {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes that the federate does not get.
        attributes: Vec<AttributeHandle>,
        /// The denying federate's (2025).
        tag: Vec<u8>,
    },
    /// Request Attribute Ownership Release, §7.11.
    RequestAttributeOwnershipRelease {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The owned attributes that another federate wants.
        attributes: Vec<AttributeHandle>,
        /// The acquiring federate's.
        tag: Vec<u8>,
    },
    /// Confirm Attribute Ownership Acquisition Cancellation, §7.16.
    ConfirmAttributeOwnershipAcquisitionCancellation {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes that the federate is no longer acquiring.
        attributes: Vec<AttributeHandle>,
    },
    /// Inform Attribute Ownership, §7.18; also Attribute Is Not Owned and Attribute Is Owned By
    /// RTI of 2010.
    InformAttributeOwnership {
        /// The object instance.
        instance: ObjectInstanceHandle,
        /// The attributes with this owner.
        attributes: Vec<AttributeHandle>,
        /// Who owns them; none: nobody.
        owner: Option<Owner>,
    },
}

impl Callback {
    /// The callback's name in the C++ and Java APIs.
    pub fn name(&self) -> &'static str {
        match self {
            Callback::ConnectionLost { .. } => "connectionLost",
            Callback::ReportFederationExecutions(_) => "reportFederationExecutions",
            Callback::SynchronizationPointRegistered { failure: None, .. } => {
                "synchronizationPointRegistrationSucceeded"
            }
            Callback::SynchronizationPointRegistered { .. } => {
                "synchronizationPointRegistrationFailed"
            }
            Callback::AnnounceSynchronizationPoint { .. } => "announceSynchronizationPoint",
            Callback::FederationSynchronized { .. } => "federationSynchronized",
            Callback::StartRegistrationForObjectClass(_) => "startRegistrationForObjectClass",
            Callback::StopRegistrationForObjectClass(_) => "stopRegistrationForObjectClass",
            Callback::TurnInteractionsOn(_) => "turnInteractionsOn",
            Callback::TurnInteractionsOff(_) => "turnInteractionsOff",
            Callback::NamesReserved {
                multiple,
                succeeded,
                ..
            } => match (multiple, succeeded) {
                (false, true) => "objectInstanceNameReservationSucceeded",
                (false, false) => "objectInstanceNameReservationFailed",
                (true, true) => "multipleObjectInstanceNameReservationSucceeded",
                (true, false) => "multipleObjectInstanceNameReservationFailed",
            },
            Callback::DiscoverObjectInstance { .. } => "discoverObjectInstance",
            Callback::ReflectAttributeValues { .. } => "reflectAttributeValues",
            Callback::ReceiveInteraction { .. } => "receiveInteraction",
            Callback::RemoveObjectInstance { .. } => "removeObjectInstance",
            Callback::ConfirmAttributeTransportationTypeChange { .. } => {
                "confirmAttributeTransportationTypeChange"
            }
            Callback::ReportAttributeTransportationType { .. } => {
                "reportAttributeTransportationType"
            }
            Callback::ConfirmInteractionTransportationTypeChange { .. } => {
                "confirmInteractionTransportationTypeChange"
            }
            Callback::ReportInteractionTransportationType { .. } => {
                "reportInteractionTransportationType"
            }
            Callback::AttributesInScope { .. } => "attributesInScope",
            Callback::AttributesOutOfScope { .. } => "attributesOutOfScope",
            Callback::TurnUpdatesOnForObjectInstance { .. } => "turnUpdatesOnForObjectInstance",
            Callback::TurnUpdatesOffForObjectInstance { .. } => "turnUpdatesOffForObjectInstance",
            Callback::ProvideAttributeValueUpdate { .. } => "provideAttributeValueUpdate",
            Callback::RequestAttributeOwnershipAssumption { .. } => {
                "requestAttributeOwnershipAssumption"
            }
            Callback::RequestDivestitureConfirmation { .. } => "requestDivestitureConfirmation",
            Callback::AttributeOwnershipAcquisitionNotification { .. } => {
                "attributeOwnershipAcquisitionNotification"
            }
            Callback::AttributeOwnershipUnavailable { .. } => "attributeOwnershipUnavailable",
            Callback::RequestAttributeOwnershipRelease { .. } => "requestAttributeOwnershipRelease",
            Callback::ConfirmAttributeOwnershipAcquisitionCancellation { .. } => {
                "confirmAttributeOwnershipAcquisitionCancellation"
            }
            Callback::InformAttributeOwnership { owner, .. } => match *owner {
                None => "attributeIsNotOwned",
                Some(Owner::Rti) => "attributeIsOwnedByRTI",
                Some(_) => "informAttributeOwnership",
            },
        }
    }

    /// The object instance that it is about, if any.
    pub fn instance(&self) -> Option<ObjectInstanceHandle> {
        match self {
            Callback::DiscoverObjectInstance { instance, .. }
            | Callback::ReflectAttributeValues { instance, .. }
            | Callback::RemoveObjectInstance { instance, .. }
            | Callback::ConfirmAttributeTransportationTypeChange { instance, .. }
            | Callback::ReportAttributeTransportationType { instance, .. }
            | Callback::AttributesInScope { instance, .. }
            | Callback::AttributesOutOfScope { instance, .. }
            | Callback::TurnUpdatesOnForObjectInstance { instance, .. }
            | Callback::TurnUpdatesOffForObjectInstance { instance, .. }
            | Callback::ProvideAttributeValueUpdate { instance, .. }
            | Callback::RequestAttributeOwnershipAssumption { instance, .. }
            | Callback::RequestDivestitureConfirmation { instance, .. }
            | Callback::AttributeOwnershipAcquisitionNotification { instance, .. }
            | Callback::AttributeOwnershipUnavailable { instance, .. }
            | Callback::RequestAttributeOwnershipRelease { instance, .. }
            | Callback::ConfirmAttributeOwnershipAcquisitionCancellation { instance, .. }
            | Callback::InformAttributeOwnership { instance, .. } => Some(*instance),
            _ => None,
        }
    }
}

/// The callback's name, and of what instance it speaks.
impl fmt::Display for Callback {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())?;
        match self.instance() {
            Some(instance) => write!(f, " of {instance}"),
            None => Ok(()),
        }
    }
}

/// Received values together with the handles that the receiver may see.
#[derive(Clone, Debug)]
pub struct NamedValues<H> {
    pub(crate) values: ValuesBuf,
    /// By slot: the handle, or none where the receiver does not get that value.
    pub(crate) handles: Arc<Vec<Option<H>>>,
}

impl<H: Copy> NamedValues<H> {
    /// Handle and value, in the order of sending.
    pub fn iter(&self) -> impl Iterator<Item = (H, &[u8])> {
        self.values
            .values()
            .iter()
            .filter_map(|(slot, value)| Some(((*self.handles.get(slot as usize)?)?, value)))
    }
}

impl<H: Copy + PartialEq> PartialEq for NamedValues<H> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}
