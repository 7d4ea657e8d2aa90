//! Object management.

use starling_core::message::object::{Discovery, Entry, Request};
use starling_core::{InstanceSwitches, Transportation};

fields! {
    InstanceSwitches { scope, relevance }
    Discovery { instance, registered_class, known_class, name }
}

variants! {
    Transportation "transportation type" { 0 Reliable, 1 BestEffort }
    Request "request of object management" {
        1 ReserveNames { names, multiple },
        2 ReleaseNames { names },
        3 RegisterObject { instance, class, name },
        4 DeleteObject { instance, tag, stamp },
        5 LocalDeleteObject { instance },
        6 RequestInstanceUpdate { instance, attributes, tag },
        7 RequestClassUpdate { class, attributes, tag },
        8 ChangeAttributeTransportation { instance, attributes, transportation },
        9 QueryAttributeTransportation { instance, attribute },
        10 ChangeInteractionTransportation { class, transportation },
        11 QueryInteractionTransportation { federate, class },
        12 SetInstanceSwitches(switches),
    }
    Entry "entry of object management" {
        1 NamesReserved { names, multiple, succeeded },
        2 Discover(list),
        3 Remove { instance, producer, tag, stamp },
        4 ProvideUpdate { wanted, tag },
        5 AttributesScope { instance, entered, left },
        6 AttributesRelevance { instance, on, off },
        7 AttributeTransportationChanged { instance, attributes, transportation },
        8 AttributeTransportation { instance, attribute, transportation },
        9 InteractionTransportationChanged { class, transportation },
        10 InteractionTransportation { federate, class, transportation },
    }
}
