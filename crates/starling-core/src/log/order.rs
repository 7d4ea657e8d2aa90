//! The ordering layer: each federate handles what one sender did in that sender's order, and
//! nothing before its cause, whichever links carried it.
//!
//! Invariants:
//! - the log is applied in order; an entry whose request was fenced on its sender's own link
//!   waits for that fence, and the rest of the log with it;
//! - a data frame waits until its sender's requests and the log index it names are applied; the later
//!   frames of that sender name no less, so they wait with it; other senders are not held up, and nothing
//!   is by a frame that names what never comes (`log/waiting.rs`);
//! - best-effort data that comes by the executive comes behind none of its sender's that has come on its own link and is
//!   newer: a datagram on its way by the executive may be overtaken by what is sent after the path was changed, and is too
//!   late then. What comes on links is in an order of its own for each group of multicast;
//! - what the receiver itself holds back waits for a request of its own, unless the log waits for that
//!   sender's fence, which may be behind it;
//! - what waits of a sender stands in the order in which it was sent, also while its data changes from
//!   one path to another: a request stands between the last frame on the old path and the first on
//!   the new one, so frames after fewer requests go first, whichever came first;
//! - once the beginning of an epoch is applied, nothing comes through whose sender had not applied
//!   it;
//! - once a federate's resignation is applied nothing of it comes through any more;
//! - what has overtaken a restore on a link of its own waits for it ([`Ordering::take_ahead`]), also of a
//!   handle that had resigned: the restore may have given it to somebody again.
//!
//! What waits is bounded by `HELD_BYTES_MAX`, data for each sender, and control: beyond it a peer
//! has broken the protocol (what its `after` names never comes, or its fence does not). It is not part
//! of what waits for delivery: who stopped reading for its sake would never read the entries that
//! it waits for.

use super::waiting::Waiting;
use crate::held::Held;
use crate::message::time::Notice;
use crate::message::{
    After, Cause, Data, DataBody, Entry, EntryBody, LogIndex, OwnedData, RequestNumber, Watermark,
};
use crate::saved::log::Control;
use crate::{DataPath, FederateHandle, ProtocolError, Transportation};
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

/// Most that is held for one sender, or of control, in bytes; a single frame may be larger.
const HELD_BYTES_MAX: usize = 256 << 20;

/// What comes out, in the order in which it is to be applied.
#[derive(Debug, PartialEq)]
pub(crate) enum Ordered {
    /// A log entry.
    Entry(Arc<Entry>),
    /// A data frame that had to wait, and the path by which it came.
    Data(OwnedData, DataPath),
    /// What the executive says about time.
    Time(Notice),
}

/// What to do with a data frame that has just come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Now {
    /// Handle it.
    Handle,
    /// Nothing: it is kept until its turn, was a fence, or is of an older epoch.
    Wait,
    /// Nothing ever: its sender has resigned.
    Refuse,
    /// Nothing ever: best-effort data that was sent after it has come.
    Late,
}

#[derive(Default)]
pub(super) struct Sender {
    /// Its last request in the applied part of the log.
    pub(super) requests: RequestNumber,
    /// The last fence that came on its own link.
    pub(super) fence: RequestNumber,
    /// Its link to us has ended: no fence will come any more.
    pub(super) ended: bool,
    pub(super) held: Waiting,
    /// They wait for this request of the receiver's.
    pub(super) until: RequestNumber,
    /// The request that the last of its best-effort data on its own link came after, of what was handled.
    pub(super) newest: RequestNumber,
}

impl Sender {
    /// A frame that is to be handled now comes after this request.
    fn handle(&mut self, requests: RequestNumber, best_effort: bool, path: DataPath) {
        if best_effort && path == DataPath::Direct {
            self.newest = self.newest.max(requests);
        }
    }

    /// Whether best-effort data that was sent after it has come on another path.
    fn is_overtaken(&self, requests: RequestNumber, best_effort: bool, path: DataPath) -> bool {
        best_effort && path == DataPath::Executive && requests < self.newest
    }
}

/// Whose frame was next last; nothing of it is held. All that is read together is mostly one sender's.
#[derive(Clone, Copy)]
struct Recent {
    sender: FederateHandle,
    /// Its requests by then.
    requests: RequestNumber,
    newest: RequestNumber,
}

impl Control {
    /// What it takes in memory, about.
    pub(super) fn bytes(&self) -> usize {
        let elsewhere = match self {
            Control::Entry(entry) => size_of::<Entry>() + entry.body.held(),
            Control::Watermark(mark) => mark.requests.held(),
            Control::Time(_) => 0,
            Control::Data(data) => data.borrow().bytes(),
        };
        size_of::<Control>() + elsewhere
    }
}

/// State of one receiver.
pub(crate) struct Ordering {
    me: FederateHandle,
    pub(super) applied: LogIndex,
    /// Where the present epoch began.
    pub(super) epoch: LogIndex,
    /// Data frames of older epochs, dropped.
    outdated: u64,
    pub(super) control: VecDeque<Control>,
    /// What `control` takes in memory, about.
    pub(super) control_bytes: usize,
    pub(super) senders: BTreeMap<FederateHandle, Sender>,
    /// Handles up to here that are not in `senders` have resigned; they are never reused.
    pub(super) latest: FederateHandle,
    /// Frames of who has resigned that come after what is not applied: of the next epoch.
    ahead: Vec<OwnedData>,
    /// What they take in memory, about.
    ahead_bytes: usize,
    /// Senders of which frames are held; none in steady state.
    pub(super) holding: BTreeSet<FederateHandle>,
    recent: Option<Recent>,
    held_bytes_max: usize,
}

impl Ordering {
    pub(crate) fn new(
        me: FederateHandle,
        applied: LogIndex,
        senders: impl IntoIterator<Item = (FederateHandle, RequestNumber)>,
    ) -> Self {
        let senders: BTreeMap<_, _> = senders
            .into_iter()
            .map(|(handle, requests)| {
                let sender = Sender {
                    requests,
                    ..Sender::default()
                };
                (handle, sender)
            })
            .collect();
        let latest = senders.keys().next_back().copied().unwrap_or(me).max(me);
        Ordering {
            latest,
            me,
            applied,
            epoch: LogIndex::default(),
            outdated: 0,
            control: VecDeque::new(),
            control_bytes: 0,
            senders,
            ahead: Vec::new(),
            ahead_bytes: 0,
            holding: BTreeSet::new(),
            recent: None,
            held_bytes_max: HELD_BYTES_MAX,
        }
    }

    /// The last log index applied; what a frame sent now comes after.
    pub(crate) fn applied(&self) -> LogIndex {
        self.applied
    }

    /// Data frames of older epochs that were dropped.
    pub(crate) fn outdated(&self) -> u64 {
        self.outdated
    }

    /// Data frames that wait for what they come after.
    pub(crate) fn held(&self) -> usize {
        let holding = self.holding.iter();
        let held = holding.filter_map(|handle| Some(self.senders.get(handle)?.held.len()));
        held.sum()
    }

    /// Bytes of this sender's data that wait for what they come after.
    pub(crate) fn held_bytes(&self, sender: FederateHandle) -> usize {
        self.senders.get(&sender).map_or(0, |s| s.held.bytes())
    }

    /// Own requests that are in the applied part of the log.
    pub(crate) fn own_requests(&self) -> RequestNumber {
        self.senders
            .get(&self.me)
            .map_or(RequestNumber::default(), |s| s.requests)
    }

    pub(crate) fn entry(&mut self, entry: Arc<Entry>) -> Result<(), ProtocolError> {
        self.put_control(Control::Entry(entry))
    }

    pub(crate) fn watermark(&mut self, mark: Watermark) -> Result<(), ProtocolError> {
        self.put_control(Control::Watermark(mark))
    }

    /// Puts control behind what waits; nothing does but for a fence.
    fn put_control(&mut self, control: Control) -> Result<(), ProtocolError> {
        let bytes = control.bytes();
        if !self.control.is_empty() && self.control_bytes + bytes > self.held_bytes_max {
            return Err(ProtocolError(format!(
                "{} entries and watermarks with {} bytes wait for the fence of {}, which does not come; at most {} bytes are held",
                self.control.len(),
                self.control_bytes,
                self.awaited(),
                self.held_bytes_max
            )));
        }
        self.control_bytes += bytes;
        self.control.push_back(control);
        Ok(())
    }

    fn take_control(&mut self) -> Option<Control> {
        let control = self.control.pop_front()?;
        self.control_bytes -= control.bytes();
        Some(control)
    }

    /// Whose fence is waited for.
    fn awaited(&self) -> String {
        match self.control.front() {
            Some(Control::Entry(entry)) => entry.cause.map(|c| c.sender.to_string()),
            _ => None,
        }
        .unwrap_or_else(|| "nobody".into())
    }

    pub(crate) fn time(&mut self, notice: Notice) -> Result<(), ProtocolError> {
        self.put_control(Control::Time(notice))
    }

    /// Whether a frame of this sender's, in receive order, is to be handled now, and none of the sender's
    /// waits: it counts as handled then. One of which this is not said may be to be handled, too.
    #[inline(always)]
    pub(crate) fn is_next(
        &mut self,
        sender: FederateHandle,
        after: After,
        (transportation, path): (Transportation, DataPath),
    ) -> bool {
        if after.index < self.epoch || after.index > self.applied {
            return false;
        }
        let best_effort = transportation == Transportation::BestEffort;
        // Of best-effort data one that is none of these may be noted, or too late.
        let as_before = |newest| match path {
            DataPath::Direct => after.requests <= newest,
            DataPath::Executive => after.requests >= newest,
        };
        match &self.recent {
            Some(recent)
                if recent.sender == sender
                    && after.requests <= recent.requests
                    && (!best_effort || as_before(recent.newest)) =>
            {
                true
            }
            _ => self.is_next_of(sender, after.requests, best_effort, path),
        }
    }

    /// The same of one for which the log has got far enough.
    #[inline(never)]
    fn is_next_of(
        &mut self,
        sender: FederateHandle,
        requests: RequestNumber,
        best_effort: bool,
        path: DataPath,
    ) -> bool {
        let known = self.senders.get_mut(&sender);
        let Some(known) = known.filter(|s| s.held.is_empty()) else {
            self.recent = None;
            return false;
        };
        let late = known.is_overtaken(requests, best_effort, path);
        let is_next = requests <= known.requests && !late;
        if is_next {
            known.handle(requests, best_effort, path);
        }
        self.recent = Some(Recent {
            sender,
            requests: known.requests,
            newest: known.newest,
        });
        is_next
    }

    /// The same of one in time-stamp order, which comes by the executive, after all that it is to come after.
    #[inline(always)]
    pub(crate) fn is_next_in_time_order(&self, after: After) -> bool {
        after.index >= self.epoch && self.control.is_empty()
    }

    /// Whether what a data frame comes after is applied.
    pub(crate) fn is_ready(&self, data: &Data<'_>) -> bool {
        let sender = self.senders.get(&data.sender);
        sender.is_some_and(|s| ready(s, self.applied, &data.after))
    }

    /// Takes a data frame and says what to do with it now.
    #[inline]
    pub(crate) fn data(&mut self, data: &Data<'_>, path: DataPath) -> Result<Now, ProtocolError> {
        if data.after.index < self.epoch {
            self.outdated += u64::from(!data.is_fence());
            return Ok(Now::Wait);
        }
        if data.is_in_time_order() {
            return self.data_in_time_order(data);
        }
        let applied = self.applied;
        let sender = match self.senders.entry(data.sender) {
            Slot::Occupied(known) => known.into_mut(),
            Slot::Vacant(_) if data.sender <= self.latest => return Ok(self.stranger(data)),
            // The entry of its joining is still on its way.
            Slot::Vacant(new) => new.insert(Sender::default()),
        };
        let best_effort = data.is_best_effort();
        if sender.is_overtaken(data.after.requests, best_effort, path) {
            return Ok(Now::Late);
        }
        if ready(sender, applied, &data.after) && !sender.held.has_ready(sender.requests) {
            if let DataBody::Fence { request } = data.body {
                sender.fence = sender.fence.max(request);
                return Ok(Now::Wait);
            }
            sender.handle(data.after.requests, best_effort, path);
            self.recent = None;
            return Ok(Now::Handle);
        }
        let bytes = data.bytes();
        if !sender.held.is_empty() && sender.held.bytes() + bytes > self.held_bytes_max {
            return Err(ProtocolError(format!(
                "{}: {} frames with {} bytes wait for log index {} and its request {}, which do not come; at most {} bytes are held for one sender",
                data.sender,
                sender.held.len(),
                sender.held.bytes(),
                data.after.index,
                data.after.requests,
                self.held_bytes_max,
            )));
        }
        sender.held.put((data.to_owned(), path), applied);
        self.recent = None;
        self.holding.insert(data.sender);
        Ok(Now::Wait)
    }

    /// Whether the log does not wait for the fence of this sender, who must still be there.
    pub(crate) fn can_hold_back(&self, sender: FederateHandle) -> bool {
        self.senders.contains_key(&sender) && self.fence_awaited() != Some(sender)
    }

    /// A frame that came on its sender's own link, and whose turn has come, waits for a request of the receiver's, before
    /// what is held of its sender.
    pub(crate) fn hold_back(&mut self, data: &Data<'_>, until: RequestNumber) {
        if let Some(sender) = self.senders.get_mut(&data.sender) {
            sender.until = until;
            sender.held.put_first((data.to_owned(), DataPath::Direct));
            self.recent = None;
            self.holding.insert(data.sender);
        }
    }

    /// The sender of the fence that the log waits for.
    pub(crate) fn fence_awaited(&self) -> Option<FederateHandle> {
        match self.control.front()? {
            Control::Entry(entry) if matches!(entry.body, EntryBody::Fenced) => {
                entry.cause.map(|c| c.sender)
            }
            _ => None,
        }
    }

    /// A frame of a handle that has resigned. All that its member sent comes after what is applied by now.
    #[cold]
    fn stranger(&mut self, data: &Data<'_>) -> Now {
        let bytes = data.bytes();
        if data.after.index <= self.applied || self.ahead_bytes + bytes > self.held_bytes_max {
            return Now::Refuse;
        }
        self.ahead_bytes += bytes;
        self.ahead.push(data.to_owned());
        Now::Wait
    }

    /// Takes out all that is held: the federate begins again, and what its peers have sent since they did
    /// is among it. Each sender's stands in its order.
    pub(crate) fn take_ahead(&mut self) -> Vec<OwnedData> {
        self.holding.clear();
        self.ahead_bytes = 0;
        let mut all = std::mem::take(&mut self.ahead);
        for sender in self.senders.values_mut() {
            all.extend(sender.held.take_all().map(|(data, _)| data));
        }
        all
    }

    /// It comes by the executive, after all that it is to come after; if that waits for a fence, so
    /// does it, and what the sender sent otherwise does not hold it up. Its sender may have resigned.
    fn data_in_time_order(&mut self, data: &Data<'_>) -> Result<Now, ProtocolError> {
        if self.control.is_empty() {
            return Ok(Now::Handle);
        }
        self.put_control(Control::Data(data.to_owned()))?;
        Ok(Now::Wait)
    }

    /// The link of `peer`'s own has ended, after all that it carried was read.
    pub(crate) fn link_ended(&mut self, peer: FederateHandle) {
        match self.senders.entry(peer) {
            Slot::Occupied(known) => known.into_mut().ended = true,
            Slot::Vacant(_) if peer <= self.latest => {}
            // The entry of its joining is still on its way.
            Slot::Vacant(new) => new.insert(Sender::default()).ended = true,
        }
    }

    /// `peer` has become a member.
    pub(crate) fn joined(&mut self, peer: FederateHandle) {
        self.senders.entry(peer).or_default();
        self.latest = self.latest.max(peer);
    }

    /// `peer` is no longer a member: what is still held of it goes; returns how many frames.
    pub(crate) fn forget(&mut self, peer: FederateHandle) -> usize {
        self.holding.remove(&peer);
        self.recent = None;
        let held = self.senders.remove(&peer).map(|s| s.held);
        held.map_or(0, |mut held| {
            let frames = held.take_all();
            frames.filter(|(f, _)| !f.borrow().is_fence()).count()
        })
    }

    /// What can be applied next. Call until there is none, applying each before the next call.
    pub(crate) fn next(&mut self) -> Option<Ordered> {
        loop {
            // Data first: what may go now must not see later entries before it.
            if !self.holding.is_empty()
                && let Some((data, path)) = self.next_held()
            {
                return Some(Ordered::Data(data, path));
            }
            match self.control.front()? {
                Control::Watermark(_) => {
                    let Some(Control::Watermark(mark)) = self.take_control() else {
                        unreachable!("it was just seen there")
                    };
                    for (federate, request) in mark.requests {
                        self.request_applied(federate, request);
                    }
                    self.applied = self.applied.max(mark.index);
                }
                Control::Time(notice) => {
                    let notice = *notice;
                    self.take_control();
                    return Some(Ordered::Time(notice));
                }
                Control::Data(_) => {
                    let Some(Control::Data(data)) = self.take_control() else {
                        unreachable!("it was just seen there")
                    };
                    return Some(Ordered::Data(data, DataPath::Executive));
                }
                Control::Entry(entry) => {
                    if matches!(entry.body, EntryBody::Fenced) && !self.fence_has_come(entry) {
                        if self.let_go() {
                            continue;
                        }
                        return None;
                    }
                    let Some(Control::Entry(entry)) = self.take_control() else {
                        unreachable!("it was just seen there")
                    };
                    // What was sent after the request waits for what it brings about, not for its fences.
                    if let Some(Cause { sender, request }) = entry.cause
                        && !matches!(entry.body, EntryBody::Fenced)
                    {
                        self.request_applied(sender, request);
                    }
                    self.applied = self.applied.max(entry.index);
                    if matches!(entry.body, EntryBody::EpochBegan) {
                        self.begin_epoch(entry.index);
                    }
                    return Some(Ordered::Entry(entry));
                }
            }
        }
    }

    /// What is held of older epochs goes.
    pub(crate) fn begin_epoch(&mut self, at: LogIndex) {
        self.epoch = at;
        self.recent = None;
        for sender in self.senders.values_mut() {
            // Its requests may be numbered anew.
            sender.newest = RequestNumber::default();
            self.outdated += sender.held.drop_outdated(at);
        }
    }

    fn fence_has_come(&self, entry: &Entry) -> bool {
        let Some(cause) = entry.cause else {
            return true;
        };
        // What was sent before the request names nothing behind this entry: so it is handled by now, but for what
        // waits for the receiver itself.
        let own = self.own_requests();
        let come = |s: &Sender| s.fence >= cause.request || (s.ended && s.until <= own);
        // Nothing comes any more from one whose resignation is applied.
        self.senders.get(&cause.sender).is_none_or(come)
    }

    /// What is held back of whose fence the log waits for is no longer: the request that it waits for stands
    /// behind that fence. Whether something was.
    fn let_go(&mut self) -> bool {
        let (own, awaited) = (self.own_requests(), self.fence_awaited());
        let sender = awaited.and_then(|sender| self.senders.get_mut(&sender));
        sender.is_some_and(|s| std::mem::take(&mut s.until) > own)
    }

    fn request_applied(&mut self, federate: FederateHandle, request: RequestNumber) {
        if let Some(sender) = self.senders.get_mut(&federate) {
            sender.requests = sender.requests.max(request);
        }
    }

    fn next_held(&mut self) -> Option<(OwnedData, DataPath)> {
        let own = self.own_requests();
        let (senders, applied) = (&mut self.senders, self.applied);
        let mut next = None;
        self.holding.retain(|handle| {
            let Some(sender) = senders.get_mut(handle) else {
                return false;
            };
            sender.held.reach(applied);
            while next.is_none()
                && sender.until <= own
                && let Some((data, path)) = sender.held.take_ready(sender.requests)
            {
                let frame = data.borrow();
                if let DataBody::Fence { request } = frame.body {
                    sender.fence = sender.fence.max(request);
                    continue;
                }
                sender.handle(frame.after.requests, frame.is_best_effort(), path);
                next = Some((data, path));
            }
            !sender.held.is_empty()
        });
        next
    }
}

#[inline]
fn ready(sender: &Sender, applied: LogIndex, after: &After) -> bool {
    sender.requests >= after.requests && applied >= after.index
}

#[cfg(test)]
mod tests;
