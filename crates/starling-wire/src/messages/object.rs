//! Object management.

use starling_core::message::object::{Discovery, Entry, Request};
use starling_core::{InstanceSwitches, Transportation};

fields! {
    InstanceSwitches { scope, relevance }
    Discovery { instance, registered_class, known_class, name }
}

variants! {
    Transportation "transportation type" { 0 Reliable, 1 BestEffort }
}

starling_core::object_messages!(variants);
