//! Callbacks as they leave the core, one after another.

use crate::content::{Batch, Content, Piece, Place};
use crate::held::Held;
use crate::message::{FederationInformation, Stamp};
use crate::{
    AttributeHandle, FederateHandle, InteractionClassHandle, LogicalTime, MessageRetractionHandle,
    ObjectClassHandle, ObjectInstanceHandle, Order, Owner, ParameterHandle, RegionHandle,
    RestoreFailure, RestoreState, SaveFailure, SaveStatus, SynchronizationPointFailure,
    Transportation,
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
    /// Initiate Federate Save, §4.17.
    InitiateFederateSave {
        /// The label of the save.
        label: String,
        /// The time asked for; none: at once.
        time: Option<LogicalTime>,
    },
    /// Federation Saved, §4.20.
    FederationSaved,
    /// Federation Not Saved, §4.20.
    FederationNotSaved {
        /// Why not.
        reason: SaveFailure,
    },
    /// Federation Save Status Response, §4.23.
    FederationSaveStatusResponse(Vec<(FederateHandle, SaveStatus)>),
    /// Confirm Federation Restoration Request, §4.25.
    RestoreRequested {
        /// The label asked for.
        label: String,
        /// Whether a restore will begin.
        succeeded: bool,
    },
    /// Federation Restore Begun, §4.26.
    FederationRestoreBegun,
    /// Initiate Federate Restore, §4.27.
    InitiateFederateRestore {
        /// The label of the save.
        label: String,
        /// The federate's name from the restore on.
        name: String,
        /// Its handle from the restore on.
        federate: FederateHandle,
    },
    /// Federation Restored, §4.29.
    FederationRestored,
    /// Federation Not Restored, §4.29.
    FederationNotRestored {
        /// Why not.
        reason: RestoreFailure,
    },
    /// Federation Restore Status Response, §4.32.
    FederationRestoreStatusResponse(Vec<RestoreState>),
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
        /// Only those subscribed at the known class, and the user-supplied tag.
        values: NamedValues<AttributeHandle>,
        /// How it was sent.
        transportation: Transportation,
        /// Who sent it.
        producer: Option<FederateHandle>,
        /// The regions that it was updated with, if they are conveyed; none for the default one.
        regions: Option<Vec<RegionHandle>>,
        /// Its time, if it was given one.
        time: Option<Box<MessageTime>>,
    },
    /// Receive Interaction, §6.13.
    ReceiveInteraction {
        /// The received class: the sent one, or its nearest superclass that is subscribed.
        class: InteractionClassHandle,
        /// Only those available at the received class, and the user-supplied tag.
        values: NamedValues<ParameterHandle>,
        /// How it was sent.
        transportation: Transportation,
        /// Who sent it.
        producer: Option<FederateHandle>,
        /// The regions that it was sent with, if they are conveyed; none for the default one.
        regions: Option<Vec<RegionHandle>>,
        /// Its time, if it was given one.
        time: Option<Box<MessageTime>>,
    },
    /// Remove Object Instance, §6.15.
    RemoveObjectInstance {
        /// The instance that was deleted.
        instance: ObjectInstanceHandle,
        /// User-supplied tag.
        tag: Vec<u8>,
        /// Who deleted it.
        producer: Option<FederateHandle>,
        /// Its time, if it was given one.
        time: Option<Box<MessageTime>>,
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
    /// Time Regulation Enabled, §8.3.
    TimeRegulationEnabled {
        /// The federate's logical time now.
        time: LogicalTime,
    },
    /// Time Constrained Enabled, §8.6.
    TimeConstrainedEnabled {
        /// The federate's logical time.
        time: LogicalTime,
    },
    /// Time Advance Grant, §8.13.
    TimeAdvanceGrant {
        /// The federate's logical time now.
        time: LogicalTime,
    },
    /// Request Retraction, §8.22.
    RequestRetraction {
        /// The message, which was delivered.
        message: MessageRetractionHandle,
    },
}

/// The time of a message that is delivered (§6.11, §6.13, §6.15).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTime {
    /// Its time stamp.
    pub time: LogicalTime,
    /// The order in which it was sent.
    pub sent: Order,
    /// The order in which it is received.
    pub received: Order,
    /// Its handle; 0 if it was sent in receive order.
    pub retraction: MessageRetractionHandle,
}

/// Before it is delivered: the sender belongs to the retraction's number, and the order in which it is
/// received is open.
impl From<Stamp> for MessageTime {
    #[inline]
    fn from(stamp: Stamp) -> Self {
        MessageTime {
            time: stamp.time,
            sent: match stamp.retraction {
                Some(_) => Order::TimeStamp,
                None => Order::Receive,
            },
            received: Order::Receive,
            retraction: MessageRetractionHandle(stamp.retraction.unwrap_or_default()),
        }
    }
}

/// What [`MessageTime`] was made of, before it is delivered.
impl From<MessageTime> for Stamp {
    #[inline]
    fn from(waiting: MessageTime) -> Self {
        let number = waiting.retraction.0;
        Stamp {
            time: waiting.time,
            retraction: (waiting.sent == Order::TimeStamp).then_some(number),
        }
    }
}

impl Callback {
    /// The callback's name in the C++ and Java APIs.
    #[inline]
    pub fn name(&self) -> &'static str {
        match self {
            Callback::ReflectAttributeValues { .. } => "reflectAttributeValues",
            Callback::ReceiveInteraction { .. } => "receiveInteraction",
            other => other.rarer_name(),
        }
    }

    fn rarer_name(&self) -> &'static str {
        match self {
            Callback::SynchronizationPointRegistered { failure: None, .. } => {
                "synchronizationPointRegistrationSucceeded"
            }
            Callback::SynchronizationPointRegistered { .. } => {
                "synchronizationPointRegistrationFailed"
            }
            Callback::RestoreRequested {
                succeeded: true, ..
            } => "requestFederationRestoreSucceeded",
            Callback::RestoreRequested { .. } => "requestFederationRestoreFailed",
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
            Callback::InformAttributeOwnership { owner: None, .. } => "attributeIsNotOwned",
            Callback::InformAttributeOwnership {
                owner: Some(Owner::Rti),
                ..
            } => "attributeIsOwnedByRTI",
            // One callback of the API.
            other => other.row_name(),
        }
    }
}

impl Held for Callback {
    fn held(&self) -> usize {
        match self {
            Callback::ConnectionLost { fault } => fault.held(),
            Callback::ReportFederationExecutions(list) => list.held(),
            Callback::SynchronizationPointRegistered { label, .. } => label.held(),
            Callback::AnnounceSynchronizationPoint { label, tag } => label.held() + tag.held(),
            Callback::FederationSynchronized { label, failed } => label.held() + failed.held(),
            Callback::InitiateFederateSave { label, .. }
            | Callback::RestoreRequested { label, .. } => label.held(),
            Callback::InitiateFederateRestore { label, name, .. } => label.held() + name.held(),
            Callback::FederationSaveStatusResponse(list) => list.held(),
            Callback::FederationRestoreStatusResponse(list) => list.held(),
            Callback::NamesReserved { names, .. } => names.held(),
            Callback::DiscoverObjectInstance { name, .. } => name.held(),
            Callback::ReflectAttributeValues { values, .. } => values.content.bytes(),
            Callback::ReceiveInteraction { values, .. } => values.content.bytes(),
            Callback::RemoveObjectInstance { tag, .. } => tag.held(),
            Callback::TurnUpdatesOnForObjectInstance {
                attributes, rate, ..
            } => attributes.held() + rate.held(),
            Callback::ConfirmAttributeTransportationTypeChange { attributes, .. }
            | Callback::AttributesInScope { attributes, .. }
            | Callback::AttributesOutOfScope { attributes, .. }
            | Callback::TurnUpdatesOffForObjectInstance { attributes, .. }
            | Callback::ConfirmAttributeOwnershipAcquisitionCancellation { attributes, .. }
            | Callback::InformAttributeOwnership { attributes, .. } => attributes.held(),
            Callback::ProvideAttributeValueUpdate {
                attributes, tag, ..
            }
            | Callback::RequestAttributeOwnershipAssumption {
                attributes, tag, ..
            }
            | Callback::RequestDivestitureConfirmation {
                attributes, tag, ..
            }
            | Callback::AttributeOwnershipAcquisitionNotification {
                attributes, tag, ..
            }
            | Callback::AttributeOwnershipUnavailable {
                attributes, tag, ..
            }
            | Callback::RequestAttributeOwnershipRelease {
                attributes, tag, ..
            } => attributes.held() + tag.held(),
            Callback::FederationSaved
            | Callback::FederationNotSaved { .. }
            | Callback::FederationRestoreBegun
            | Callback::FederationRestored
            | Callback::FederationNotRestored { .. }
            | Callback::StartRegistrationForObjectClass(_)
            | Callback::StopRegistrationForObjectClass(_)
            | Callback::TurnInteractionsOn(_)
            | Callback::TurnInteractionsOff(_)
            | Callback::ReportAttributeTransportationType { .. }
            | Callback::ConfirmInteractionTransportationTypeChange { .. }
            | Callback::ReportInteractionTransportationType { .. }
            | Callback::TimeRegulationEnabled { .. }
            | Callback::TimeConstrainedEnabled { .. }
            | Callback::TimeAdvanceGrant { .. }
            | Callback::RequestRetraction { .. } => 0,
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

/// Reflect Attribute Values, §6.11, or Receive Interaction, §6.13, as most are: of a message in receive order
/// that was given no time, or in time-stamp order, and without regions.
#[derive(Clone, Debug)]
pub enum PlainCallback {
    /// As [`Callback::ReflectAttributeValues`].
    ReflectAttributeValues {
        /// The instance that was updated.
        instance: ObjectInstanceHandle,
        /// Only those subscribed at the known class, and the user-supplied tag.
        values: PlainValues<AttributeHandle>,
        /// How it was sent.
        transportation: Transportation,
        /// Who sent it.
        producer: Option<FederateHandle>,
        /// Its time, if it was sent in time-stamp order.
        time: Option<MessageTime>,
    },
    /// As [`Callback::ReceiveInteraction`].
    ReceiveInteraction {
        /// The received class.
        class: InteractionClassHandle,
        /// Only those available at the received class, and the user-supplied tag.
        values: PlainValues<ParameterHandle>,
        /// How it was sent.
        transportation: Transportation,
        /// Who sent it.
        producer: Option<FederateHandle>,
        /// Its time, if it was sent in time-stamp order.
        time: Option<MessageTime>,
    },
}

impl PlainCallback {
    /// As [`Callback::name`].
    #[inline]
    pub fn name(&self) -> &'static str {
        match self {
            PlainCallback::ReflectAttributeValues { .. } => "reflectAttributeValues",
            PlainCallback::ReceiveInteraction { .. } => "receiveInteraction",
        }
    }
}

/// What of a callback as most are does not depend on what it is of.
#[derive(Clone, Copy)]
pub(crate) struct PlainPart<'a> {
    pub(crate) batch: &'a Batch,
    pub(crate) place: Place,
    pub(crate) transportation: Transportation,
    pub(crate) producer: Option<FederateHandle>,
    pub(crate) time: Option<MessageTime>,
}

impl PlainCallback {
    /// Makes of the callback before, if there is one, that of a reflection: mostly it shares the same.
    #[inline(always)]
    pub(crate) fn reflect(
        kept: &mut Option<Self>,
        of: ObjectInstanceHandle,
        handles: &Arc<Vec<Option<AttributeHandle>>>,
        part: PlainPart<'_>,
    ) {
        if let Some(PlainCallback::ReflectAttributeValues {
            instance,
            values,
            transportation,
            producer,
            time,
        }) = kept
        {
            values.refill(part.batch, part.place, handles);
            (*instance, *transportation) = (of, part.transportation);
            (*producer, *time) = (part.producer, part.time);
        } else {
            *kept = Some(PlainCallback::ReflectAttributeValues {
                instance: of,
                values: PlainValues::new(part.batch, part.place, handles),
                transportation: part.transportation,
                producer: part.producer,
                time: part.time,
            });
        }
    }

    /// The same of an interaction.
    #[inline(always)]
    pub(crate) fn receive(
        kept: &mut Option<Self>,
        of: InteractionClassHandle,
        handles: &Arc<Vec<Option<ParameterHandle>>>,
        part: PlainPart<'_>,
    ) {
        if let Some(PlainCallback::ReceiveInteraction {
            class,
            values,
            transportation,
            producer,
            time,
        }) = kept
        {
            values.refill(part.batch, part.place, handles);
            (*class, *transportation) = (of, part.transportation);
            (*producer, *time) = (part.producer, part.time);
        } else {
            *kept = Some(PlainCallback::ReceiveInteraction {
                class: of,
                values: PlainValues::new(part.batch, part.place, handles),
                transportation: part.transportation,
                producer: part.producer,
                time: part.time,
            });
        }
    }
}

impl From<PlainCallback> for Callback {
    fn from(plain: PlainCallback) -> Self {
        match plain {
            PlainCallback::ReflectAttributeValues {
                instance,
                values,
                transportation,
                producer,
                time,
            } => Callback::ReflectAttributeValues {
                instance,
                values: values.into(),
                transportation,
                producer,
                regions: None,
                time: time.map(Box::new),
            },
            PlainCallback::ReceiveInteraction {
                class,
                values,
                transportation,
                producer,
                time,
            } => Callback::ReceiveInteraction {
                class,
                values: values.into(),
                transportation,
                producer,
                regions: None,
                time: time.map(Box::new),
            },
        }
    }
}

/// Received values together with the handles that the receiver may see, and the tag with which they
/// came.
#[derive(Clone, Debug)]
pub struct NamedValues<H> {
    pub(crate) content: Content,
    /// By slot: the handle, or none where the receiver does not get that value.
    pub(crate) handles: Arc<Vec<Option<H>>>,
}

/// The same where they came.
#[derive(Clone, Debug)]
pub struct PlainValues<H> {
    pub(crate) piece: Piece,
    /// By slot, as of [`NamedValues`].
    pub(crate) handles: Arc<Vec<Option<H>>>,
}

impl<H> PlainValues<H> {
    #[inline(always)]
    fn new(batch: &Batch, place: Place, handles: &Arc<Vec<Option<H>>>) -> Self {
        PlainValues {
            piece: Piece::at(batch, place),
            handles: handles.clone(),
        }
    }

    /// Becomes those at this place. What it shares already is not shared anew.
    #[inline(always)]
    fn refill(&mut self, batch: &Batch, place: Place, handles: &Arc<Vec<Option<H>>>) {
        self.piece.refill(batch, place);
        if !Arc::ptr_eq(&self.handles, handles) {
            self.handles = handles.clone();
        }
    }
}

impl<H: Copy> PlainValues<H> {
    /// Handle and value, in the order of sending.
    #[inline(always)]
    pub fn iter(&self) -> impl Iterator<Item = (H, &[u8])> {
        let handles = &self.handles[..];
        let handle = |slot| handles.get(slot as usize).copied().flatten();
        let values = self.piece.values().iter();
        values.filter_map(move |(slot, value)| Some((handle(slot)?, value)))
    }

    /// The user-supplied tag.
    #[inline(always)]
    pub fn tag(&self) -> &[u8] {
        self.piece.tag()
    }
}

impl<H> From<PlainValues<H>> for NamedValues<H> {
    fn from(plain: PlainValues<H>) -> Self {
        NamedValues {
            content: plain.piece.into(),
            handles: plain.handles,
        }
    }
}

impl<H: Copy> NamedValues<H> {
    /// Handle and value, in the order of sending.
    #[inline]
    pub fn iter(&self) -> impl Iterator<Item = (H, &[u8])> {
        Self::iter_of(&self.content, &self.handles)
    }

    #[inline]
    pub(crate) fn iter_of<'a>(
        content: &'a Content,
        handles: &'a [Option<H>],
    ) -> impl Iterator<Item = (H, &'a [u8])> {
        let handle = |slot| handles.get(slot as usize).copied().flatten();
        let values = content.values().iter();
        values.filter_map(move |(slot, value)| Some((handle(slot)?, value)))
    }

    /// The user-supplied tag.
    #[inline]
    pub fn tag(&self) -> &[u8] {
        self.content.tag()
    }
}

impl<H: Copy + PartialEq> PartialEq for NamedValues<H> {
    fn eq(&self, other: &Self) -> bool {
        self.tag() == other.tag() && self.iter().eq(other.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_callback_is_of_the_chapter_that_its_room_is() {
        assert_eq!(Callback::FederationSaved.chapter(), 4);
        let label = "save".to_owned();
        let restore = Callback::RestoreRequested {
            label,
            succeeded: true,
        };
        assert_eq!(restore.chapter(), 4);
        let class = ObjectClassHandle::from_raw(1);
        assert_eq!(
            Callback::StartRegistrationForObjectClass(class).chapter(),
            5
        );
    }
}
