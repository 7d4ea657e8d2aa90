//! Management object model.

use starling_core::saved::mom::{Counted, Execution, Federate, Managed, Waiting};

fields! {
    Execution { auto_provide, federates }
    Managed { modules, asynchronous, switches, reports, period_s, waiting, again }
    Federate { switches, counts }
}

variants! {
    Waiting "what waits for counts" { 0 Update(attributes), 1 Report(counted) }
    Counted "what is counted" {
        0 ObjectInstancesUpdated, 1 ObjectInstancesReflected, 2 UpdatesSent, 3 ReflectionsReceived,
        4 InteractionsSent, 5 InteractionsReceived,
    }
}
