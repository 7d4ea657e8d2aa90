//! The log as one joined federate has it: what has come of it, put in order, and the federate's
//! own requests and data frames on their way out.

use super::order::Ordering;
use crate::message::{
    After, Data, DataBody, FromExecutive, LogIndex, Request, RequestBody, RequestNumber,
};
use crate::{FederateHandle, ProtocolError};
use std::collections::{BTreeSet, VecDeque};

pub(crate) use super::order::{Now, Ordered};

/// How this federate's data frames travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// On the stream to the executive, which forwards them.
    Executive,
    /// On a link of its own to each receiver.
    Direct,
}

/// What goes to the executive or to a peer.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// To the executive.
    Request(Request),
    /// A fence, to this receiver's own link ([`DataPath::Direct`] only).
    Fence {
        /// The receiver.
        to: FederateHandle,
        /// The frame.
        fence: Data<'static>,
    },
}

/// The replica of one joined federate.
pub(crate) struct Replica {
    me: FederateHandle,
    path: DataPath,
    order: Ordering,
    /// Requests made so far.
    requests: RequestNumber,
    /// Receivers whose own link has carried data since its last fence.
    fenceable: BTreeSet<FederateHandle>,
    out: VecDeque<Output>,
}

impl Replica {
    /// Of a federate that joined at this index; `senders` are the members then, with the numbers of
    /// their last requests.
    pub(crate) fn new(
        me: FederateHandle,
        path: DataPath,
        index: LogIndex,
        senders: impl IntoIterator<Item = (FederateHandle, RequestNumber)>,
    ) -> Self {
        Replica {
            me,
            path,
            order: Ordering::new(me, path, index, senders),
            requests: RequestNumber::default(),
            fenceable: BTreeSet::new(),
            out: VecDeque::new(),
        }
    }

    /// The last log index applied; what a frame sent now comes after.
    pub(crate) fn applied(&self) -> LogIndex {
        self.order.applied()
    }

    /// Own requests that are in the applied part of the log.
    pub(crate) fn own_requests(&self) -> RequestNumber {
        self.order.own_requests()
    }

    /// The number that the next request will have.
    pub(crate) fn next_request(&self) -> RequestNumber {
        self.requests.next()
    }

    /// Puts a request into the log.
    pub(crate) fn request(&mut self, body: RequestBody) {
        self.requests = self.requests.next();
        self.out.push_back(Output::Request(Request {
            fenced: Vec::new(),
            body,
        }));
    }

    /// Puts a request into the log that ends something: data sent before it must be handled
    /// before it, so every link of its own used since its last fence is fenced first.
    pub(crate) fn ending_request(&mut self, body: RequestBody) {
        let request = self.requests.next();
        let after = self.after();
        let fenced: Vec<_> = std::mem::take(&mut self.fenceable).into_iter().collect();
        for to in &fenced {
            let fence = Data {
                sender: self.me,
                after,
                body: DataBody::Fence { request },
            };
            self.out.push_back(Output::Fence { to: *to, fence });
        }
        self.requests = request;
        self.out
            .push_back(Output::Request(Request { fenced, body }));
    }

    /// A data frame of this federate's, sent now to these.
    pub(crate) fn frame<'a>(&mut self, to: &[FederateHandle], body: DataBody<'a>) -> Data<'a> {
        if self.path == DataPath::Direct {
            self.fenceable.extend(to);
        }
        Data {
            sender: self.me,
            after: self.after(),
            body,
        }
    }

    fn after(&self) -> After {
        After {
            requests: self.requests,
            index: self.applied(),
        }
    }

    /// The next thing to put on a link.
    pub(crate) fn poll_output(&mut self) -> Option<Output> {
        self.out.pop_front()
    }

    /// A message of the executive's stream.
    pub(crate) fn receive(&mut self, message: FromExecutive) -> Result<(), ProtocolError> {
        match message {
            FromExecutive::Entry(entry) => self.order.entry(entry),
            FromExecutive::Watermark(mark) => self.order.watermark(mark),
            other => {
                return Err(ProtocolError(format!(
                    "expected an entry of the log or a watermark, got {other:?}"
                )));
            }
        }
        Ok(())
    }

    /// Takes a data frame and says what to do with it now.
    pub(crate) fn receive_data(&mut self, data: &Data<'_>) -> Result<Now, ProtocolError> {
        self.order.data(data)
    }

    /// A peer's own link has ended and all that it carried has been received.
    pub(crate) fn link_ended(&mut self, peer: FederateHandle) {
        self.order.link_ended(peer);
        self.fenceable.remove(&peer);
    }

    /// What is to be applied next. Call until there is none, applying each before the next call.
    pub(crate) fn next(&mut self) -> Option<Ordered> {
        self.order.next()
    }

    /// `peer` has become a member.
    pub(crate) fn joined(&mut self, peer: FederateHandle) {
        self.order.joined(peer);
    }

    /// `peer` is no longer a member: what is still held of it goes; returns how many frames.
    pub(crate) fn resigned(&mut self, peer: FederateHandle) -> usize {
        self.fenceable.remove(&peer);
        self.order.forget(peer)
    }
}
