//! Data distribution management.

use starling_core::saved::ddm::{Execution, Federate, OwnRegion};

fields! {
    Execution { committed, associations }
    Federate { own, last_region, associations, conveyed }
    OwnRegion { ranges, committed, told, sent }
}
