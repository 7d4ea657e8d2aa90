//! The management object model.

use starling_core::message::mom::{Counts, Entry, InstanceCounts, Invocation, Request, Switches};

fields! {
    Invocation { service, chapter, supplied, returned, exception }
    Switches { convey_regions, convey_producer, report_services, report_exceptions }
    InstanceCounts { registered, deleted, discovered, removed }
    Counts {
        receive_order_length, time_stamp_order_length, updates_sent, instances, updates,
        reflections, interactions_sent, interactions_received, instances_updated,
        instances_reflected
    }
}

starling_core::mom_messages!(variants);
