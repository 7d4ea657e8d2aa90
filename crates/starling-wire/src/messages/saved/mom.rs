//! Management object model.

use starling_core::saved::mom::{Execution, Federate, Managed};

fields! {
    Execution { auto_provide, federates }
    Managed { modules, asynchronous, switches, reports, period_s }
    Federate { switches, counts }
}
