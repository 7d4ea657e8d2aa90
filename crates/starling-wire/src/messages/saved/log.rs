//! The control log.

use starling_core::saved::log::{Control, Execution, Federate, Sender, Stream};

fields! {
    Execution { index, settled, epoch, streams }
    Stream { requests, last_request_at, told }
    Federate { applied, epoch, requests, fenceable, control, senders, latest }
    Sender { requests, fence, ended, held }
}

variants! {
    Control "control that waits" { 1 Entry(entry), 2 Watermark(mark), 3 Time(notice), 4 Data(data) }
}
