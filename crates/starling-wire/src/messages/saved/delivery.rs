//! What waits for a federate.

use starling_core::saved::delivery::{Federate, Queued, QueuedTime};

fields! {
    Federate { queue, in_time_order, withholding, ended }
}

variants! {
    Queued "callback that waits" {
        1 Federation(entry),
        2 Registration(class, wanted),
        3 Interactions(class, wanted),
        4 Object(entry),
        5 Discover(instance),
        6 Provide(wanted),
        7 Data { data, order },
        8 Remove { entry, order },
        9 Ownership { entry, index, as_of },
        10 RegionsGone { first, last },
        11 Time(queued),
    }
    QueuedTime "callback of time management" {
        1 Regulating { time, strict }, 2 Constrained, 3 Granted(time), 4 RequestRetraction(message),
    }
}
