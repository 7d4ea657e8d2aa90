//! Time management.

use starling_core::saved::time::{
    Bound, Clock, Constraint, Deleted, Deletion, Execution, Federate, FederateTime, Sent,
};

fields! {
    Execution { time_type, federates, messages, retractable, deletions, unsettled }
    FederateTime { clock, constrained, over, enabling, constraining, released, still_at, queue }
    Clock { time, exclusive, lookahead, floor, shrinks, advance }
    Deletion { message, class, waiting, knew, then }
    Federate { time_type, clock, passed_over, enabling, constraint, asynchronous, last_number, sent, delivered, deleted, bounds, orders }
    Sent { time, deletes }
    Deleted { kept, restored }
}

variants! {
    Bound "bound" { 0 Never, 1 At { time, strict } }
    Constraint "stage of constraint" { 0 Off, 1 Pending, 2 Begun, 3 On }
}
