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

impl Counts {
    /// Leaves the last classes out that would make it larger than a message may be; whether there were any.
    pub(crate) fn shorten(&mut self, bytes_max: usize) -> bool {
        /// No entry takes more, and all that is in no list.
        const ENTRY_BYTES: usize = 16;
        const REST_BYTES: usize = 256;
        fn keep<T>(list: &mut Vec<T>, room: &mut usize) -> bool {
            let all = list.len();
            list.truncate(*room);
            *room -= list.len();
            list.len() < all
        }
        let room = &mut (bytes_max.saturating_sub(REST_BYTES) / ENTRY_BYTES);
        let cut = [
            keep(&mut self.updates, room),
            keep(&mut self.reflections, room),
            keep(&mut self.interactions_sent, room),
            keep(&mut self.interactions_received, room),
            keep(&mut self.instances_updated, room),
            keep(&mut self.instances_reflected, room),
        ];
        cut.contains(&true)
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_keep_to_a_message() {
        let class = ObjectClassHandle::from_raw;
        let of = |n: u32| (class(n), Transportation::Reliable, u64::MAX);
        let whole = Counts {
            updates_sent: 7,
            updates: (0..40).map(of).collect(),
            reflections: (0..20).map(of).collect(),
            instances_updated: vec![(class(1), 1)],
            ..Counts::default()
        };
        let cut = |bytes_max| {
            let mut counts = whole.clone();
            let cut = counts.shorten(bytes_max);
            (cut, counts)
        };
        assert_eq!(cut(usize::MAX), (false, whole.clone()));
        assert_eq!(cut(256 + 61 * 16), (false, whole.clone()));
        let (is_cut, counts) = cut(1_024);
        assert!(is_cut);
        assert_eq!(counts.updates, whole.updates);
        assert_eq!(counts.reflections, whole.reflections[..8]);
        assert_eq!((counts.updates_sent, counts.instances_updated), (7, vec![]));
    }
}
