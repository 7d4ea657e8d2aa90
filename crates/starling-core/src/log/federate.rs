//! The log as one joined federate has it: what has come of it, put in order, and the federate's
//! own requests and data frames on their way out.

use super::order::Ordering;
use crate::message::time;
use crate::message::{
    After, Cause, Data, DataBody, DataSent, FromExecutive, LogIndex, OwnedData, PlainData, Request,
    RequestBody, RequestNumber, Sets, TimeRequest,
};
use crate::saved;
use crate::{Address, AddressBuf, FederateHandle, ProtocolError, Transportation, ValuesOut};
use std::collections::{BTreeSet, VecDeque};

pub(crate) use super::order::{Now, Ordered};

/// How a federate's data frames travel to another one. In time-stamp order they all go by the
/// executive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DataPath {
    /// On the stream to the executive, which forwards them.
    Executive,
    /// On a link of its own to the receiver.
    Direct,
}

impl DataPath {
    /// Of what has come on a link of this federate's, or else from the executive.
    #[inline]
    pub fn of(link: Option<FederateHandle>) -> Self {
        match link {
            Some(_) => DataPath::Direct,
            None => DataPath::Executive,
        }
    }

    fn other(self) -> Self {
        match self {
            DataPath::Executive => DataPath::Direct,
            DataPath::Direct => DataPath::Executive,
        }
    }
}

/// How the receivers of the last frame that was split are reached: streams go to the same again and
/// again. Of nobody after a path has changed.
#[derive(Default)]
pub(crate) struct Split {
    to: Vec<FederateHandle>,
    direct: Vec<FederateHandle>,
    forwarded: Vec<FederateHandle>,
    /// Of `forwarded`, in a frame without regions.
    address: Option<AddressBuf>,
    /// `direct` are among those whose links are to be fenced.
    noted: bool,
}

impl Split {
    /// Those with links of their own.
    #[inline]
    pub(crate) fn direct(&self) -> &[FederateHandle] {
        &self.direct
    }

    /// Those that the executive forwards it to.
    #[inline]
    pub(crate) fn forwarded(&self) -> &[FederateHandle] {
        &self.forwarded
    }

    /// These as a frame without regions names them.
    #[inline]
    pub(crate) fn address(&self) -> Address<'_> {
        let address = self.address.as_ref();
        address.expect("it is made with the split").borrow()
    }

    pub(super) fn forget(&mut self) {
        self.to.clear();
        self.noted = false;
    }
}

/// What goes to the executive or to a peer.
#[derive(Clone, Debug, PartialEq)]
pub enum Output {
    /// To the executive.
    Request(Request),
    /// To the executive, about time.
    Time(TimeRequest),
    /// To the executive: this federate's part of a save.
    Part(Box<saved::Federate>),
    /// A fence, to this receiver's own link.
    Fence {
        /// The receiver.
        to: FederateHandle,
        /// The frame.
        fence: Data<'static>,
    },
}

/// Where an entry stands in the log, and what brought it about.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    pub(crate) index: LogIndex,
    pub(crate) cause: Option<Cause>,
}

impl Place {
    /// The federate whose request it was.
    pub(crate) fn sender(&self) -> Result<FederateHandle, ProtocolError> {
        let sender = self.cause.map(|c| c.sender);
        let index = self.index;
        sender.ok_or_else(|| ProtocolError(format!("nobody asked for entry {index} of the log")))
    }
}

/// The replica of one joined federate.
pub(crate) struct Replica {
    pub(super) me: FederateHandle,
    /// To those that no other is set for.
    pub(super) path: DataPath,
    /// Those to which data takes the other path.
    pub(super) elsewhere: BTreeSet<FederateHandle>,
    pub(super) order: Ordering,
    /// Requests made so far.
    pub(super) requests: RequestNumber,
    /// Receivers whose own link has carried data since its last fence; among them those of `split`
    /// while that says so.
    pub(super) fenceable: BTreeSet<FederateHandle>,
    pub(super) split: Split,
    pub(super) out: VecDeque<Output>,
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
            elsewhere: BTreeSet::new(),
            order: Ordering::new(me, index, senders),
            requests: RequestNumber::default(),
            fenceable: BTreeSet::new(),
            split: Split::default(),
            out: VecDeque::new(),
        }
    }

    /// After a restore: what was sent before this index was applied is nothing any more, and
    /// requests are numbered on as this federate's were.
    pub(crate) fn begin_again(&mut self, index: LogIndex) {
        self.order.begin_epoch(index);
        self.requests = self.order.own_requests();
    }

    /// Takes out the data frames that wait, for the federate that this one becomes by a restore.
    pub(crate) fn take_ahead(&mut self) -> Vec<OwnedData> {
        self.order.take_ahead()
    }

    /// The last log index applied; what a frame sent now comes after.
    pub(crate) fn applied(&self) -> LogIndex {
        self.order.applied()
    }

    /// Data frames of older epochs that were dropped.
    pub(crate) fn outdated(&self) -> u64 {
        self.order.outdated()
    }

    /// Data frames that wait for what they come after.
    pub(crate) fn held(&self) -> usize {
        self.order.held()
    }

    pub(crate) fn held_bytes(&self, sender: FederateHandle) -> usize {
        self.order.held_bytes(sender)
    }

    /// Whether what a data frame comes after is applied.
    pub(crate) fn is_ready(&self, data: &Data<'_>) -> bool {
        self.order.is_ready(data)
    }

    /// Whether the log waits for the fence of this sender.
    pub(crate) fn awaits_fence_of(&self, sender: FederateHandle) -> bool {
        self.order.fence_awaited() == Some(sender)
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
    pub(crate) fn request(&mut self, body: impl Into<RequestBody>) {
        let body = body.into();
        self.put(Vec::new(), body);
    }

    /// Puts a request out, its sets sorted.
    fn put(&mut self, fenced: Vec<FederateHandle>, mut body: RequestBody) {
        body.sort_sets();
        self.requests = self.requests.next();
        let applied = self.applied();
        self.out.push_back(Output::Request(Request {
            applied,
            fenced,
            body,
        }));
    }

    /// Puts a request into the log that ends something: data sent before it must be handled
    /// before it, so every link of its own used since its last fence is fenced first.
    pub(crate) fn ending_request(&mut self, body: impl Into<RequestBody>) {
        self.split.noted = false;
        let fenced = std::mem::take(&mut self.fenceable).into_iter().collect();
        self.fenced_request(fenced, body);
    }

    fn fenced_request(&mut self, fenced: Vec<FederateHandle>, body: impl Into<RequestBody>) {
        let request = self.requests.next();
        let after = self.after();
        for to in &fenced {
            let fence = Data {
                sender: self.me,
                after,
                body: DataBody::Fence { request },
            };
            self.out.push_back(Output::Fence { to: *to, fence });
        }
        self.put(fenced, body.into());
    }

    /// A data frame of this federate's, sent now.
    #[inline]
    pub(crate) fn frame<'a>(&self, body: DataBody<'a, ValuesOut<'a>>) -> DataSent<'a> {
        Data {
            sender: self.me,
            after: self.after(),
            body,
        }
    }

    /// An update or interaction as most are, sent now: of the instance or class of this number.
    #[inline(always)]
    pub(crate) fn plain_frame<'a, V>(
        &self,
        (is_update, what): (bool, u64),
        transportation: Transportation,
        tag: &'a [u8],
        values: V,
    ) -> PlainData<'a, V> {
        PlainData {
            sender: self.me,
            after: self.after(),
            is_update,
            what,
            transportation,
            tag,
            values,
        }
    }

    /// By which path data goes to all of these: as all data does, or as was found for the last frame. None: it is to be
    /// split.
    #[inline(always)]
    pub(crate) fn path_to_all(&self, to: &[FederateHandle]) -> Option<DataPath> {
        if self.path == DataPath::Executive && self.elsewhere.is_empty() {
            return Some(DataPath::Executive);
        }
        let direct = self.split.noted && self.split.forwarded.is_empty() && self.split.to == to;
        direct.then_some(DataPath::Direct)
    }

    /// Which of these, of whom there is at least one, get a frame that is sent now on links of their
    /// own, and which by the executive.
    #[inline]
    pub(crate) fn split(&mut self, to: &[FederateHandle]) -> &Split {
        if self.split.to != to || !self.split.noted {
            self.split_anew(to);
        }
        &self.split
    }

    #[cold]
    fn split_anew(&mut self, to: &[FederateHandle]) {
        let mut split = std::mem::take(&mut self.split);
        split.to.clear();
        split.to.extend_from_slice(to);
        let is_direct = |f: &&FederateHandle| self.path_to(**f) == DataPath::Direct;
        split.direct.clear();
        split.direct.extend(to.iter().filter(is_direct));
        split.forwarded.clear();
        split.forwarded.extend(to.iter().filter(|f| !is_direct(f)));
        split.address = Some(AddressBuf::to_some(&split.forwarded, None));
        split.noted = true;
        self.fenceable.extend(&split.direct);
        self.split = split;
    }

    fn path_to(&self, peer: FederateHandle) -> DataPath {
        if self.elsewhere.contains(&peer) {
            self.path.other()
        } else {
            self.path
        }
    }

    /// Data to `peer` takes this path from now on. The request that tells so stands between the last
    /// frame on the old path and the first on the new one, which comes after it; what a link of
    /// the peer's own carried until now is fenced before it.
    pub(crate) fn set_path(&mut self, peer: FederateHandle, path: DataPath) {
        if self.path_to(peer) == path {
            return;
        }
        if path == self.path {
            self.elsewhere.remove(&peer)
        } else {
            self.elsewhere.insert(peer)
        };
        self.split.forget();
        let used = self.fenceable.remove(&peer);
        let fenced = used.then_some(peer).into_iter().collect();
        self.fenced_request(fenced, RequestBody::PathChanged);
    }

    /// Asks for something about time, in the order of all requests.
    pub(crate) fn request_time(&mut self, request: time::Request) {
        let applied = self.applied();
        let body = request;
        self.out
            .push_back(Output::Time(TimeRequest { applied, body }));
    }

    /// Sends something that is no request.
    pub(crate) fn put_output(&mut self, output: Output) {
        self.out.push_back(output);
    }

    fn after(&self) -> After {
        After {
            requests: self.requests,
            index: self.applied(),
        }
    }

    #[inline]
    pub(crate) fn has_output(&self) -> bool {
        !self.out.is_empty()
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
            FromExecutive::Time(notice) => self.order.time(notice),
            other => Err(ProtocolError(format!(
                "expected an entry of the log or a watermark, got {other:?}"
            ))),
        }
    }

    /// As [`Ordering::is_next`].
    #[inline(always)]
    pub(crate) fn is_next(
        &mut self,
        sender: FederateHandle,
        after: After,
        how: (Transportation, DataPath),
    ) -> bool {
        self.order.is_next(sender, after, how)
    }

    /// As [`Ordering::is_next_in_time_order`].
    #[inline(always)]
    pub(crate) fn is_next_in_time_order(&self, after: After) -> bool {
        self.order.is_next_in_time_order(after)
    }

    /// Takes a data frame and says what to do with it now.
    pub(crate) fn receive_data(
        &mut self,
        data: &Data<'_>,
        path: DataPath,
    ) -> Result<Now, ProtocolError> {
        self.order.data(data, path)
    }

    /// Whether what a sender's data waits for can come before it: the log does not wait for its fence.
    pub(crate) fn can_hold_back(&self, sender: FederateHandle) -> bool {
        self.order.can_hold_back(sender)
    }

    /// A data frame whose turn has come waits for a request of this federate's, and what its sender has sent
    /// since with it.
    pub(crate) fn hold_back(&mut self, data: &Data<'_>, request: RequestNumber) {
        self.order.hold_back(data, request);
    }

    /// A peer's own link has ended and all that it carried has been received.
    pub(crate) fn link_ended(&mut self, peer: FederateHandle) {
        // What goes to it on a link of this end's is another matter, and still to be fenced.
        self.order.link_ended(peer);
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
        self.split.forget();
        self.elsewhere.remove(&peer);
        self.order.forget(peer)
    }
}
