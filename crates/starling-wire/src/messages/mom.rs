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

variants! {
    Request "request of the management object model" {
        1 Sent { class, values },
        2 Counts(counts),
        3 AsynchronousDelivery(on),
        4 Refused { class, why, parameter },
        5 Invoked(invocation),
    }
    Entry "entry of the management object model" {
        1 Update { instance, values, ranges },
        2 Interaction { class, values, ranges },
        3 Ask,
        4 Switches(switches),
        5 AttributeState { instance, attribute, owned },
        6 Act { class, values },
    }
}
