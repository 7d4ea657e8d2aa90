//! Callbacks to the federate: a table of function pointers.

use crate::boundary::thrown;
use crate::types::{
    StarlingBytes, StarlingFederation, StarlingRegions, StarlingText, StarlingValue,
};
use starling::{AttributeHandle, FederateHandle, Owner, RegionHandle, Transportation};
use starling::{Callback, Exception, ExceptionKind, FederateAmbassador};
use std::ffi::c_void;
use std::ptr::null;

/// How a value travelled: HLAreliable 1, HLAbestEffort 2 (the numbers of the C++ API of 2010).
pub(crate) fn transportation_number(transportation: Transportation) -> u32 {
    match transportation {
        Transportation::Reliable => 1,
        Transportation::BestEffort => 2,
    }
}

/// The type with this number, or InvalidTransportationType.
pub(crate) fn transportation(number: u32) -> Result<Transportation, Exception> {
    match number {
        1 => Ok(Transportation::Reliable),
        2 => Ok(Transportation::BestEffort),
        _ => Err(Exception::new(
            ExceptionKind::InvalidTransportationType,
            format!("{number} is neither RELIABLE (1) nor BEST_EFFORT (2)"),
        )),
    }
}

/// A federate's handle as the C ABI has it: 0 for none.
fn federate_number(federate: Option<FederateHandle>) -> u32 {
    federate.map_or(0, |f| f.0)
}

fn numbers(attributes: &[AttributeHandle]) -> Vec<u32> {
    attributes.iter().map(|a| a.raw()).collect()
}

fn region_numbers(regions: &[RegionHandle]) -> Vec<u64> {
    regions.iter().map(|r| r.0).collect()
}

/// The federate's functions. Each returns true, or false if the federate threw
/// FederateInternalError. Null: the callback is dropped. Arguments are valid for the callback.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct StarlingCallbacks {
    /// `sizeof(StarlingCallbacks)` as the caller was compiled.
    pub size: usize,
    /// Passed back as the first argument of every function.
    pub context: *mut c_void,
    /// Connection Lost, 1516.1-2010 §4.4.
    pub connection_lost: Option<extern "C" fn(*mut c_void, fault: StarlingText) -> bool>,
    /// Report Federation Executions, §4.8.
    pub report_federation_executions:
        Option<extern "C" fn(*mut c_void, list: *const StarlingFederation, count: usize) -> bool>,
    /// Confirm Synchronization Point Registration, §4.12. `failure`: 0 label not unique, 1 set
    /// member not joined.
    pub synchronization_point_registered: Option<
        extern "C" fn(*mut c_void, label: StarlingText, succeeded: bool, failure: u32) -> bool,
    >,
    /// Announce Synchronization Point, §4.13.
    pub announce_synchronization_point:
        Option<extern "C" fn(*mut c_void, label: StarlingText, tag: StarlingBytes) -> bool>,
    /// Federation Synchronized, §4.15.
    pub federation_synchronized: Option<
        extern "C" fn(*mut c_void, label: StarlingText, failed: *const u32, count: usize) -> bool,
    >,
    /// Start (`wanted`) and Stop Registration For Object Class, §5.10, §5.11.
    pub registration_for_object_class:
        Option<extern "C" fn(*mut c_void, class_: u32, wanted: bool) -> bool>,
    /// Turn Interactions On (`wanted`) and Off, §5.12, §5.13.
    pub turn_interactions: Option<extern "C" fn(*mut c_void, class_: u32, wanted: bool) -> bool>,
    /// Attributes In Scope (`inside`) and Out Of Scope, §6.17, §6.18.
    pub attributes_scope: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            attributes: *const u32,
            count: usize,
            inside: bool,
        ) -> bool,
    >,
    /// Turn Updates On (`wanted`) and Off For Object Instance, §6.21, §6.22. An empty `rate` is
    /// no update rate designator.
    pub turn_updates: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            attributes: *const u32,
            count: usize,
            wanted: bool,
            rate: StarlingText,
        ) -> bool,
    >,
    /// Confirm Attribute Transportation Type Change, §6.24.
    pub confirm_attribute_transportation_type_change: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            attributes: *const u32,
            count: usize,
            transportation: u32,
        ) -> bool,
    >,
    /// Report Attribute Transportation Type, §6.26.
    pub report_attribute_transportation_type: Option<
        extern "C" fn(*mut c_void, instance: u64, attribute: u32, transportation: u32) -> bool,
    >,
    /// Confirm Interaction Transportation Type Change, §6.28.
    pub confirm_interaction_transportation_type_change:
        Option<extern "C" fn(*mut c_void, class_: u32, transportation: u32) -> bool>,
    /// Report Interaction Transportation Type, §6.30.
    pub report_interaction_transportation_type:
        Option<extern "C" fn(*mut c_void, federate: u32, class_: u32, transportation: u32) -> bool>,
    /// Object Instance Name Reserved, §6.3.
    pub object_instance_name_reserved:
        Option<extern "C" fn(*mut c_void, name: StarlingText, succeeded: bool) -> bool>,
    /// Multiple Object Instance Names Reserved, §6.6.
    pub multiple_object_instance_names_reserved: Option<
        extern "C" fn(
            *mut c_void,
            names: *const StarlingText,
            count: usize,
            succeeded: bool,
        ) -> bool,
    >,
    /// Discover Object Instance, §6.9.
    pub discover_object_instance: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            class_: u32,
            name: StarlingText,
            producer: u32,
        ) -> bool,
    >,
    /// Reflect Attribute Values, §6.11, in receive order. `regions` is null where they are not
    /// conveyed.
    pub reflect_attribute_values: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            values: *const StarlingValue,
            count: usize,
            tag: StarlingBytes,
            transportation: u32,
            producer: u32,
            regions: *const StarlingRegions,
        ) -> bool,
    >,
    /// Receive Interaction, §6.13, in receive order. `regions` as above.
    pub receive_interaction: Option<
        extern "C" fn(
            *mut c_void,
            class_: u32,
            values: *const StarlingValue,
            count: usize,
            tag: StarlingBytes,
            transportation: u32,
            producer: u32,
            regions: *const StarlingRegions,
        ) -> bool,
    >,
    /// Remove Object Instance, §6.15.
    pub remove_object_instance: Option<
        extern "C" fn(*mut c_void, instance: u64, tag: StarlingBytes, producer: u32) -> bool,
    >,
    /// Provide Attribute Value Update, §6.20.
    pub provide_attribute_value_update: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            attributes: *const u32,
            count: usize,
            tag: StarlingBytes,
        ) -> bool,
    >,
    /// Request Attribute Ownership Assumption, §7.4.
    pub request_attribute_ownership_assumption: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            attributes: *const u32,
            count: usize,
            tag: StarlingBytes,
        ) -> bool,
    >,
    /// Request Divestiture Confirmation, §7.5.
    pub request_divestiture_confirmation: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            attributes: *const u32,
            count: usize,
            tag: StarlingBytes,
        ) -> bool,
    >,
    /// Attribute Ownership Acquisition Notification, §7.7.
    pub attribute_ownership_acquisition_notification: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            attributes: *const u32,
            count: usize,
            tag: StarlingBytes,
        ) -> bool,
    >,
    /// Attribute Ownership Unavailable, §7.10.
    pub attribute_ownership_unavailable: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            attributes: *const u32,
            count: usize,
            tag: StarlingBytes,
        ) -> bool,
    >,
    /// Request Attribute Ownership Release, §7.11.
    pub request_attribute_ownership_release: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            attributes: *const u32,
            count: usize,
            tag: StarlingBytes,
        ) -> bool,
    >,
    /// Confirm Attribute Ownership Acquisition Cancellation, §7.16.
    pub confirm_attribute_ownership_acquisition_cancellation: Option<
        extern "C" fn(*mut c_void, instance: u64, attributes: *const u32, count: usize) -> bool,
    >,
    /// Inform Attribute Ownership, Attribute Is Not Owned, Attribute Is Owned By RTI, §7.18.
    /// `by`: 0 nobody, 1 the federate `owner`, 2 the RTI.
    pub inform_attribute_ownership: Option<
        extern "C" fn(
            *mut c_void,
            instance: u64,
            attributes: *const u32,
            count: usize,
            by: u32,
            owner: u32,
        ) -> bool,
    >,
}

/// The table as the library's federate ambassador.
pub(crate) struct Table {
    pub(crate) callbacks: StarlingCallbacks,
    values: Vec<StarlingValue>,
}

// SAFETY: the caller of connect vouches that its functions may be called from any thread; the
// values are filled and used within one callback.
unsafe impl Send for Table {}

impl Table {
    pub(crate) fn new(callbacks: StarlingCallbacks) -> Self {
        Table {
            callbacks,
            values: Vec::new(),
        }
    }

    /// Lines values up in the reused buffer.
    fn fill<'a>(&mut self, values: impl Iterator<Item = (u32, &'a [u8])>) {
        self.values.clear();
        self.values
            .extend(values.map(|(handle, value)| StarlingValue {
                handle,
                value: StarlingBytes::of(value),
            }));
    }
}

impl FederateAmbassador for Table {
    fn deliver(&mut self, callback: Callback) -> Result<(), String> {
        let c = self.callbacks;
        let to = c.context;
        let done = match &callback {
            Callback::ConnectionLost { fault } => c
                .connection_lost
                .is_none_or(|f| f(to, StarlingText::of(fault))),
            Callback::ReportFederationExecutions(list) => {
                let list: Vec<_> = list
                    .iter()
                    .map(|f| StarlingFederation {
                        name: StarlingText::of(&f.name),
                        time: StarlingText::of(&f.time_implementation),
                    })
                    .collect();
                let report = c.report_federation_executions;
                report.is_none_or(|f| f(to, list.as_ptr(), list.len()))
            }
            Callback::SynchronizationPointRegistered { label, failure } => {
                let label = StarlingText::of(label);
                let why = failure.map_or(0, |f| f as u32);
                let registered = c.synchronization_point_registered;
                registered.is_none_or(|f| f(to, label, failure.is_none(), why))
            }
            Callback::AnnounceSynchronizationPoint { label, tag } => {
                let announce = c.announce_synchronization_point;
                announce.is_none_or(|f| f(to, StarlingText::of(label), StarlingBytes::of(tag)))
            }
            Callback::FederationSynchronized { label, failed } => {
                let failed: Vec<_> = failed.iter().map(|f| f.0).collect();
                let label = StarlingText::of(label);
                let synchronized = c.federation_synchronized;
                synchronized.is_none_or(|f| f(to, label, failed.as_ptr(), failed.len()))
            }
            Callback::StartRegistrationForObjectClass(class) => {
                let registration = c.registration_for_object_class;
                registration.is_none_or(|f| f(to, class.raw(), true))
            }
            Callback::StopRegistrationForObjectClass(class) => {
                let registration = c.registration_for_object_class;
                registration.is_none_or(|f| f(to, class.raw(), false))
            }
            Callback::TurnInteractionsOn(class) => {
                c.turn_interactions.is_none_or(|f| f(to, class.raw(), true))
            }
            Callback::TurnInteractionsOff(class) => c
                .turn_interactions
                .is_none_or(|f| f(to, class.raw(), false)),
            Callback::AttributesInScope {
                instance,
                attributes,
            } => {
                let list = numbers(attributes);
                let scope = c.attributes_scope;
                scope.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), true))
            }
            Callback::AttributesOutOfScope {
                instance,
                attributes,
            } => {
                let list = numbers(attributes);
                let scope = c.attributes_scope;
                scope.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), false))
            }
            Callback::TurnUpdatesOnForObjectInstance {
                instance,
                attributes,
                rate,
            } => {
                let (list, rate) = (numbers(attributes), StarlingText::of(rate));
                let turn = c.turn_updates;
                turn.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), true, rate))
            }
            Callback::TurnUpdatesOffForObjectInstance {
                instance,
                attributes,
            } => {
                let (list, none) = (numbers(attributes), StarlingText::of(""));
                let turn = c.turn_updates;
                turn.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), false, none))
            }
            Callback::ConfirmAttributeTransportationTypeChange {
                instance,
                attributes,
                transportation,
            } => {
                let list = numbers(attributes);
                let how = transportation_number(*transportation);
                let confirm = c.confirm_attribute_transportation_type_change;
                confirm.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), how))
            }
            Callback::ReportAttributeTransportationType {
                instance,
                attribute,
                transportation,
            } => {
                let how = transportation_number(*transportation);
                let report = c.report_attribute_transportation_type;
                report.is_none_or(|f| f(to, instance.0, attribute.raw(), how))
            }
            Callback::ConfirmInteractionTransportationTypeChange {
                class,
                transportation,
            } => {
                let how = transportation_number(*transportation);
                let confirm = c.confirm_interaction_transportation_type_change;
                confirm.is_none_or(|f| f(to, class.raw(), how))
            }
            Callback::ReportInteractionTransportationType {
                federate,
                class,
                transportation,
            } => {
                let how = transportation_number(*transportation);
                let report = c.report_interaction_transportation_type;
                report.is_none_or(|f| f(to, federate.0, class.raw(), how))
            }
            Callback::NamesReserved {
                names,
                multiple: true,
                succeeded,
            } => {
                let names: Vec<_> = names.iter().map(|n| StarlingText::of(n)).collect();
                let reserved = c.multiple_object_instance_names_reserved;
                reserved.is_none_or(|f| f(to, names.as_ptr(), names.len(), *succeeded))
            }
            Callback::NamesReserved {
                names, succeeded, ..
            } => {
                let name = names.first().map_or("", String::as_str);
                let reserved = c.object_instance_name_reserved;
                reserved.is_none_or(|f| f(to, StarlingText::of(name), *succeeded))
            }
            Callback::DiscoverObjectInstance {
                instance,
                class,
                name,
                producer,
            } => {
                let name = StarlingText::of(name);
                let discover = c.discover_object_instance;
                discover.is_none_or(|f| {
                    f(
                        to,
                        instance.0,
                        class.raw(),
                        name,
                        federate_number(*producer),
                    )
                })
            }
            Callback::ReflectAttributeValues {
                instance,
                values,
                tag,
                transportation,
                producer,
                regions,
            } => {
                let conveyed = regions.as_ref().map(|r| region_numbers(r));
                let regions = conveyed.as_ref().map(|r| StarlingRegions::of(r));
                let regions = regions.as_ref().map_or(null(), std::ptr::from_ref);
                self.fill(values.iter().map(|(a, v)| (a.raw(), v)));
                let (at, count) = (self.values.as_ptr(), self.values.len());
                let (tag, how) = (
                    StarlingBytes::of(tag),
                    transportation_number(*transportation),
                );
                let reflect = c.reflect_attribute_values;
                reflect.is_none_or(|f| {
                    f(
                        to,
                        instance.0,
                        at,
                        count,
                        tag,
                        how,
                        federate_number(*producer),
                        regions,
                    )
                })
            }
            Callback::ReceiveInteraction {
                class,
                values,
                tag,
                transportation,
                producer,
                regions,
            } => {
                let conveyed = regions.as_ref().map(|r| region_numbers(r));
                let regions = conveyed.as_ref().map(|r| StarlingRegions::of(r));
                let regions = regions.as_ref().map_or(null(), std::ptr::from_ref);
                self.fill(values.iter().map(|(p, v)| (p.raw(), v)));
                let (at, count) = (self.values.as_ptr(), self.values.len());
                let (tag, how) = (
                    StarlingBytes::of(tag),
                    transportation_number(*transportation),
                );
                let receive = c.receive_interaction;
                receive.is_none_or(|f| {
                    f(
                        to,
                        class.raw(),
                        at,
                        count,
                        tag,
                        how,
                        federate_number(*producer),
                        regions,
                    )
                })
            }
            Callback::RemoveObjectInstance {
                instance,
                tag,
                producer,
            } => {
                let tag = StarlingBytes::of(tag);
                let remove = c.remove_object_instance;
                remove.is_none_or(|f| f(to, instance.0, tag, federate_number(*producer)))
            }
            Callback::ProvideAttributeValueUpdate {
                instance,
                attributes,
                tag,
            } => {
                let list = numbers(attributes);
                let tag = StarlingBytes::of(tag);
                let provide = c.provide_attribute_value_update;
                provide.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), tag))
            }
            Callback::RequestAttributeOwnershipAssumption {
                instance,
                attributes,
                tag,
            } => {
                let list = numbers(attributes);
                let tag = StarlingBytes::of(tag);
                let call = c.request_attribute_ownership_assumption;
                call.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), tag))
            }
            Callback::RequestDivestitureConfirmation {
                instance,
                attributes,
                tag,
            } => {
                let list = numbers(attributes);
                let tag = StarlingBytes::of(tag);
                let call = c.request_divestiture_confirmation;
                call.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), tag))
            }
            Callback::AttributeOwnershipAcquisitionNotification {
                instance,
                attributes,
                tag,
            } => {
                let list = numbers(attributes);
                let tag = StarlingBytes::of(tag);
                let call = c.attribute_ownership_acquisition_notification;
                call.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), tag))
            }
            Callback::AttributeOwnershipUnavailable {
                instance,
                attributes,
                tag,
            } => {
                let list = numbers(attributes);
                let tag = StarlingBytes::of(tag);
                let call = c.attribute_ownership_unavailable;
                call.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), tag))
            }
            Callback::RequestAttributeOwnershipRelease {
                instance,
                attributes,
                tag,
            } => {
                let list = numbers(attributes);
                let tag = StarlingBytes::of(tag);
                let call = c.request_attribute_ownership_release;
                call.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), tag))
            }
            Callback::ConfirmAttributeOwnershipAcquisitionCancellation {
                instance,
                attributes,
            } => {
                let list = numbers(attributes);
                let call = c.confirm_attribute_ownership_acquisition_cancellation;
                call.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len()))
            }
            Callback::InformAttributeOwnership {
                instance,
                attributes,
                owner,
            } => {
                let list = numbers(attributes);
                let by = match *owner {
                    None => 0,
                    Some(Owner::Rti) => 2,
                    Some(Owner::Federate(_)) => 1,
                };
                let owner = federate_number(owner.and_then(Owner::federate));
                let call = c.inform_attribute_ownership;
                call.is_none_or(|f| f(to, instance.0, list.as_ptr(), list.len(), by, owner))
            }
        };
        match done {
            true => Ok(()),
            false => Err(format!("{callback}: {}", thrown())),
        }
    }
}
