//! Federation management.

use starling_core::saved::federation::{Execution, Federate, Member, SynchronizationPoint};

fields! {
    Execution { name, modules, members, last_federate, synchronization_points }
    Member { name, kind, resign_directive }
    SynchronizationPoint { registrar, tag, for_all, waiting, achieved }
    Federate { handle, name, federation, members, announced, resign_directive, resigned }
}
