//! Management object model, chapter 11.

use crate::message::Range;
use crate::{
    AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    Transportation,
};
use starling_fom::ObjectModel;

/// Values by slot of their class.
pub type SlotValues = Vec<(u32, Vec<u8>)>;

messages! {
    ($) mom_messages

    /// What a joined federate tells the RTI.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Request "request of the management object model" {
        /// It has sent an interaction that the RTI acts on: HLAadjust, HLArequest or HLAservice.
        1 Sent {
            /// The sent class.
            class: InteractionClassHandle,
            /// Values by slot of the sent class.
            values: SlotValues,
        },
        /// Answer to [`Entry::Ask`].
        2 Counts(counts: Box<Counts>),
        /// Whether asynchronous delivery is enabled from now on, §8.14, §8.15.
        3 AsynchronousDelivery(on: bool),
        /// What [`Entry::Act`] asked for was not done.
        4 Refused {
            /// The class of the interaction.
            class: InteractionClassHandle,
            /// Why, as a sentence.
            why: String,
            /// A parameter is missing or malformed.
            parameter: bool,
        },
        /// It has called a service, or the RTI has called it.
        5 Invoked(invocation: Box<Invocation>),
    }

    /// What the log says.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Entry "entry of the management object model" {
        /// The RTI updates attributes of an instance of its own. Audience: those who know it and
        /// subscribe.
        1 Update {
            /// The instance.
            instance: ObjectInstanceHandle,
            /// Values by slot of the registered class.
            values: SlotValues,
            /// What they are sent with; none: the default region.
            ranges: Vec<Range>,
        },
        /// The RTI sends an interaction. Audience: those who subscribe.
        2 Interaction {
            /// The sent class.
            class: InteractionClassHandle,
            /// Values by slot of the sent class.
            values: SlotValues,
            /// What it is sent with; none: the default region.
            ranges: Vec<Range>,
        },
        /// The receiver is to tell what it has counted.
        3 Ask,
        /// The receiver is to do what an HLAservice interaction asks of it.
        6 Act {
            /// The class of the interaction.
            class: InteractionClassHandle,
            /// Values by slot of that class.
            values: SlotValues,
        },
        /// The receiver's switches from now on.
        4 Switches(switches: Switches),
        /// An instance attribute is the receiver's, or no longer, and it is not notified
        /// (HLAmodifyAttributeState).
        5 AttributeState {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attribute.
            attribute: AttributeHandle,
            /// Whether the receiver owns it.
            owned: bool,
        },
    }
}

/// A federate's switches that only the MOM sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Switches {
    /// Convey Region Designator Sets.
    pub convey_regions: bool,
    /// Convey Producing Federate.
    pub convey_producer: bool,
    /// Service Reporting.
    pub report_services: bool,
    /// Exception Reporting.
    pub report_exceptions: bool,
}

impl Switches {
    /// As the FDD has them, for a federate that joins.
    pub(crate) fn of(model: &ObjectModel) -> Self {
        let fdd = model.switches();
        Switches {
            convey_regions: fdd.convey_region_designator_sets,
            convey_producer: fdd.convey_producing_federate,
            report_services: fdd.service_reporting,
            report_exceptions: fdd.exception_reporting,
        }
    }
}

/// A call of a service or callback, for its report.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Invocation {
    /// Its name.
    pub service: String,
    /// The chapter that it is of.
    pub chapter: u8,
    /// The arguments as text.
    pub supplied: Vec<String>,
    /// The results as text.
    pub returned: Vec<String>,
    /// What was thrown, the standard's name and a sentence; empty: nothing.
    pub exception: String,
}

impl Invocation {
    /// The standard's name of what was thrown.
    pub(crate) fn exception_name(&self) -> &str {
        self.exception.split(':').next().unwrap_or_default()
    }
}

/// What a federate has counted since it joined.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Messages in receive order that wait for it.
    pub receive_order_length: u64,
    /// Messages in time-stamp order that wait for it.
    pub time_stamp_order_length: u64,
    /// Calls of Update Attribute Values.
    pub updates_sent: u64,
    /// Of instances.
    pub instances: InstanceCounts,
    /// Updates by registered class and transportation type.
    pub updates: Vec<(ObjectClassHandle, Transportation, u64)>,
    /// Reflections by registered class and transportation type.
    pub reflections: Vec<(ObjectClassHandle, Transportation, u64)>,
    /// Interactions sent by class and transportation type.
    pub interactions_sent: Vec<(InteractionClassHandle, Transportation, u64)>,
    /// Interactions received by sent class and transportation type.
    pub interactions_received: Vec<(InteractionClassHandle, Transportation, u64)>,
    /// Instances that it has updated, by registered class.
    pub instances_updated: Vec<(ObjectClassHandle, u64)>,
    /// Instances of which it has had a reflection, by registered class.
    pub instances_reflected: Vec<(ObjectClassHandle, u64)>,
}

/// How often instances came and went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InstanceCounts {
    /// Registered by it.
    pub registered: u64,
    /// Deleted by it.
    pub deleted: u64,
    /// Discovered.
    pub discovered: u64,
    /// Removed.
    pub removed: u64,
}
