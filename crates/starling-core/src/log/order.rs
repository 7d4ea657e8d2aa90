//! The ordering layer: each federate handles what one sender did in that sender's order, and
//! nothing before its cause, whichever links carried it.
//!
//! Invariants:
//! - the log is applied in order; an entry whose request was fenced on its sender's own link
//!   waits for that fence, and the rest of the log with it;
//! - a data frame waits until its sender's requests and the log index it names are applied; the later
//!   frames of that sender name no less, so they wait with it; other senders are not held up, and nothing
//!   is by a frame that names what never comes (`log/waiting.rs`);
//! - best-effort data comes behind none of its sender's that is newer: a datagram on its way by the executive may be
//!   overtaken by what is sent after the path was changed, and is too late then;
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
    /// The request that the last of its best-effort data came after, of what was handled.
    pub(super) newest: RequestNumber,
}

impl Sender {
    /// A frame that is to be handled now comes after this request.
    fn handle(&mut self, requests: RequestNumber, transportation: Transportation) {
        if transportation == Transportation::BestEffort {
            self.newest = self.newest.max(requests);
        }
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
        transportation: Transportation,
    ) -> bool {
        if after.index < self.epoch || after.index > self.applied {
            return false;
        }
        let reliable = transportation == Transportation::Reliable;
        match &self.recent {
            Some(recent)
                if recent.sender == sender
                    && after.requests <= recent.requests
                    && (reliable || after.requests == recent.newest) =>
            {
                true
            }
            _ => self.is_next_of(sender, after.requests, transportation),
        }
    }

    /// The same of one for which the log has got far enough.
    #[inline(never)]
    fn is_next_of(
        &mut self,
        sender: FederateHandle,
        requests: RequestNumber,
        transportation: Transportation,
    ) -> bool {
        let known = self.senders.get_mut(&sender);
        let Some(known) = known.filter(|s| s.held.is_empty()) else {
            self.recent = None;
            return false;
        };
        let late = transportation == Transportation::BestEffort && requests < known.newest;
        let is_next = requests <= known.requests && !late;
        if is_next {
            known.handle(requests, transportation);
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
        let transportation = data.body.transportation();
        if transportation == Transportation::BestEffort && data.after.requests < sender.newest {
            return Ok(Now::Late);
        }
        if ready(sender, applied, &data.after) && !sender.held.has_ready(sender.requests) {
            if let DataBody::Fence { request } = data.body {
                sender.fence = sender.fence.max(request);
                return Ok(Now::Wait);
            }
            sender.handle(data.after.requests, transportation);
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
                sender.handle(frame.after.requests, frame.body.transportation());
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
mod tests {
    use super::*;
    use crate::message::{Payload, federation};
    use crate::{InteractionClassHandle, ValuesBuf};

    const SENDER: FederateHandle = FederateHandle(2);

    fn ordering() -> Ordering {
        let members = [1, 2].map(|f| (FederateHandle(f), RequestNumber(0)));
        Ordering::new(FederateHandle(1), LogIndex(5), members)
    }

    /// A frame that waits for this index.
    fn hold(ordering: &mut Ordering, index: u64, bytes: usize) -> Result<Now, ProtocolError> {
        let mut values = ValuesBuf::default();
        values.push(0, &vec![0; bytes]);
        let data = Data {
            sender: SENDER,
            after: After {
                requests: RequestNumber(0),
                index: LogIndex(index),
            },
            body: DataBody::Interaction {
                class: InteractionClassHandle::from_raw(0),
                payload: Payload {
                    transportation: Transportation::Reliable,
                    values: values.values(),
                    tag: &[],
                    address: None,
                    stamp: None,
                },
            },
        };
        ordering.data(&data, DataPath::Direct)
    }

    #[test]
    fn what_waits_is_bounded_in_bytes_whatever_the_number_of_frames() {
        const FRAMES: usize = 10_000;
        let held = |bytes| {
            let mut ordering = ordering();
            ordering.held_bytes_max = 100_000;
            for held in 0..FRAMES {
                if let Err(refused) = hold(&mut ordering, 6, bytes) {
                    return (held, refused.to_string());
                }
            }
            panic!("{FRAMES} frames of {bytes} bytes are held");
        };
        let (many, _) = held(10);
        let (fewer, refused) = held(10_000);
        assert!((5..10).contains(&fewer), "{fewer} frames of 10,000 bytes");
        assert!(many > 10 * fewer, "{many} frames of 10 bytes");
        assert!(refused.contains("wait for log index 6"), "{refused}");
        assert!(refused.contains("at most 100000 bytes"), "{refused}");
    }

    #[test]
    fn one_frame_is_held_whatever_its_size_and_room_is_free_again_when_it_goes() {
        let mut ordering = ordering();
        ordering.held_bytes_max = 1_000;
        for index in 6..9 {
            assert_eq!(hold(&mut ordering, index, 5_000).unwrap(), Now::Wait);
            assert!(hold(&mut ordering, index, 0).is_err());
            let requests = Vec::new();
            let index = LogIndex(index);
            ordering.watermark(Watermark { index, requests }).unwrap();
            assert!(matches!(ordering.next(), Some(Ordered::Data(..))));
            assert_eq!(ordering.next(), None);
        }
    }

    #[test]
    fn a_frame_is_next_as_long_as_its_sender_is_there_and_nothing_of_it_waits() {
        const RELIABLE: Transportation = Transportation::Reliable;
        let mut ordering = ordering();
        let after = |requests, index| After {
            requests: RequestNumber(requests),
            index: LogIndex(index),
        };
        for _ in 0..2 {
            assert!(ordering.is_next(SENDER, after(0, 5), RELIABLE));
            assert!(!ordering.is_next(SENDER, after(1, 5), RELIABLE));
            assert!(!ordering.is_next(SENDER, after(0, 6), RELIABLE));
            assert!(!ordering.is_next(FederateHandle(3), after(0, 5), RELIABLE));
        }
        assert!(ordering.is_next(SENDER, after(0, 5), RELIABLE));
        hold(&mut ordering, 6, 1).unwrap();
        assert!(
            !ordering.is_next(SENDER, after(0, 5), RELIABLE),
            "the other is first"
        );
        let mark = Watermark {
            index: LogIndex(6),
            requests: vec![(SENDER, RequestNumber(1))],
        };
        ordering.watermark(mark).unwrap();
        let Some(Ordered::Data(data, _)) = ordering.next() else {
            panic!("its turn has come");
        };
        assert!(ordering.is_next(SENDER, after(1, 6), RELIABLE));
        ordering.hold_back(&data.borrow(), RequestNumber(1));
        assert!(
            !ordering.is_next(SENDER, after(1, 6), RELIABLE),
            "it is held back"
        );
        ordering.take_ahead();
        assert!(ordering.is_next(SENDER, after(1, 6), RELIABLE));
        ordering.begin_epoch(LogIndex(7));
        assert!(
            !ordering.is_next(SENDER, after(1, 6), RELIABLE),
            "of the epoch before"
        );
        ordering.applied = LogIndex(7);
        assert!(ordering.is_next(SENDER, after(1, 7), RELIABLE));
        ordering.forget(SENDER);
        assert!(!ordering.is_next(SENDER, after(1, 7), RELIABLE));
    }

    /// A restore may give such a handle to somebody again, of whom this has come.
    #[test]
    fn data_of_handles_that_have_resigned_is_bounded_in_bytes() {
        let mut ordering = ordering();
        ordering.senders.remove(&SENDER);
        assert_eq!(hold(&mut ordering, 6, 1_000).unwrap(), Now::Wait);
        ordering.held_bytes_max = 3 * ordering.ahead_bytes;
        for _ in 0..2 {
            assert_eq!(hold(&mut ordering, 6, 1_000).unwrap(), Now::Wait);
        }
        assert_eq!(hold(&mut ordering, 6, 0).unwrap(), Now::Refuse);
        assert_eq!(ordering.take_ahead().len(), 3);
        assert_eq!(hold(&mut ordering, 6, 1_000).unwrap(), Now::Wait);
        // What it comes after is applied already, so it can't be its next owner's.
        assert_eq!(hold(&mut ordering, 5, 0).unwrap(), Now::Refuse);
    }

    /// The entry of index 7.
    fn put(ordering: &mut Ordering, cause: Option<Cause>, body: EntryBody) {
        let index = LogIndex(7);
        let entry = Arc::new(Entry { index, cause, body });
        ordering.entry(entry).unwrap();
    }

    #[test]
    fn control_that_waits_for_a_fence_is_bounded_in_bytes() {
        let mut ordering = ordering();
        ordering.held_bytes_max = 100_000;
        let request = RequestNumber(1);
        let sender = SENDER;
        put(
            &mut ordering,
            Some(Cause { sender, request }),
            EntryBody::Fenced,
        );
        assert_eq!(ordering.next(), None);
        let entry = |index| {
            let tag = vec![0; 10_000];
            let label = "l".into();
            let body = federation::Entry::SynchronizationPointAnnounced { label, tag }.into();
            let index = LogIndex(index);
            Arc::new(Entry {
                index,
                cause: None,
                body,
            })
        };
        let bytes = Control::Entry(entry(8)).bytes();
        ordering.held_bytes_max = ordering.control_bytes + 2 * bytes;
        ordering.entry(entry(8)).unwrap();
        ordering.entry(entry(9)).expect("exactly that is allowed");
        ordering.held_bytes_max = 100_000;
        let refused = (10..30).find_map(|index| Some((index, ordering.entry(entry(index)).err()?)));
        let (at, refused) = refused.expect("20 entries of 10,000 bytes are held");
        assert!((16..18).contains(&at), "{at}");
        assert!(
            refused.to_string().contains("the fence of federate 2"),
            "{refused}"
        );
        // With the fence all of it goes.
        let fence = Data {
            sender,
            after: After::default(),
            body: DataBody::Fence { request },
        };
        ordering.data(&fence, DataPath::Direct).unwrap();
        assert_eq!(
            std::iter::from_fn(|| ordering.next()).count() as u64,
            at - 7
        );
        assert_eq!(ordering.control_bytes, 0);
    }

    #[test]
    fn data_after_a_request_waits_for_what_it_brings_about_and_not_only_for_its_fences() {
        let mut ordering = ordering();
        let (sender, request) = (SENDER, RequestNumber(1));
        let cause = Some(Cause { sender, request });
        let data = |ordering: &mut Ordering, requests, body| {
            let index = LogIndex(5);
            let after = After { requests, index };
            let data = Data {
                sender,
                after,
                body,
            };
            ordering.data(&data, DataPath::Direct).unwrap()
        };
        ordering
            .watermark(Watermark {
                index: LogIndex(6),
                requests: Vec::new(),
            })
            .unwrap();
        put(&mut ordering, cause, EntryBody::Fenced);
        let fence = DataBody::Fence { request };
        assert_eq!(data(&mut ordering, RequestNumber(0), fence), Now::Wait);
        assert!(
            matches!(ordering.next(), Some(Ordered::Entry(_))),
            "the fences"
        );
        // The entry of what was asked for has not come yet.
        let no_values = ValuesBuf::default();
        let update = Payload {
            transportation: Transportation::Reliable,
            values: no_values.values(),
            tag: &[],
            address: None,
            stamp: None,
        };
        let class = InteractionClassHandle::from_raw(0);
        let sent = DataBody::Interaction {
            class,
            payload: update,
        };
        assert_eq!(data(&mut ordering, request, sent), Now::Wait);
        assert_eq!(ordering.next(), None);
        let index = LogIndex(8);
        let (label, tag) = ("l".into(), Vec::new());
        let body = federation::Entry::SynchronizationPointAnnounced { label, tag }.into();
        let entry = Arc::new(Entry { index, cause, body });
        ordering.entry(entry).unwrap();
        assert!(
            matches!(ordering.next(), Some(Ordered::Entry(_))),
            "what it was"
        );
        assert!(matches!(ordering.next(), Some(Ordered::Data(..))));
    }

    fn interaction(ordering: &mut Ordering, index: u64) -> Now {
        hold(ordering, index, 1).unwrap()
    }

    #[test]
    fn frames_of_an_older_epoch_are_dropped_and_counted() {
        let mut ordering = ordering();
        assert_eq!(interaction(&mut ordering, 5), Now::Handle);
        // Held when the epoch begins: the first is of the old one, the second of the new one.
        assert_eq!(interaction(&mut ordering, 6), Now::Wait);
        assert_eq!(interaction(&mut ordering, 7), Now::Wait);
        put(&mut ordering, None, EntryBody::EpochBegan);
        assert!(matches!(ordering.next(), Some(Ordered::Entry(_))));
        assert_eq!(ordering.outdated(), 1);
        let Some(Ordered::Data(held, _)) = ordering.next() else {
            panic!("the frame of the new epoch is gone");
        };
        assert_eq!(held.borrow().after.index, LogIndex(7));
        assert_eq!(ordering.next(), None);
        assert_eq!(ordering.senders[&SENDER].held.bytes(), 0);
        // Late on another link.
        assert_eq!(interaction(&mut ordering, 6), Now::Wait);
        assert_eq!((ordering.next(), ordering.outdated()), (None, 2));
        assert_eq!(interaction(&mut ordering, 7), Now::Handle);
    }

    /// A frame without values of SENDER's, after so many requests and this index.
    fn frame(ordering: &mut Ordering, (requests, index): (u64, u64), body: DataBody<'_>) -> Now {
        let after = After {
            requests: RequestNumber(requests),
            index: LogIndex(index),
        };
        let data = Data {
            sender: SENDER,
            after,
            body,
        };
        ordering.data(&data, DataPath::Direct).unwrap()
    }

    /// With tag `tag`, as data.
    fn said(ordering: &mut Ordering, after: (u64, u64), tag: &[u8]) -> Now {
        said_as(Transportation::Reliable, ordering, after, tag)
    }

    fn said_as(
        transportation: Transportation,
        ordering: &mut Ordering,
        after: (u64, u64),
        tag: &[u8],
    ) -> Now {
        let no_values = ValuesBuf::default();
        let payload = Payload {
            transportation,
            values: no_values.values(),
            tag,
            address: None,
            stamp: None,
        };
        let class = InteractionClassHandle::from_raw(0);
        frame(ordering, after, DataBody::Interaction { class, payload })
    }

    /// The tag of what comes out next.
    fn next_said(ordering: &mut Ordering) -> Option<Vec<u8>> {
        match ordering.next()? {
            Ordered::Data(data, _) => Some(data.borrow().body.payload()?.tag.to_vec()),
            other => panic!("{other:?}"),
        }
    }

    /// Whichever of its two numbers is a lie.
    const NEVER: [(u64, u64); 3] = [(0, u64::MAX), (u64::MAX, 0), (u64::MAX, u64::MAX)];

    fn reach(ordering: &mut Ordering, index: u64, requests: u64) {
        let requests = vec![(SENDER, RequestNumber(requests))];
        let index = LogIndex(index);
        ordering.watermark(Watermark { index, requests }).unwrap();
    }

    #[test]
    fn a_frame_after_what_never_comes_is_in_nobodys_way() {
        for (never, early) in NEVER.into_iter().flat_map(|n| [(n, false), (n, true)]) {
            let mut ordering = ordering();
            assert_eq!(said(&mut ordering, never, b"never"), Now::Wait);
            assert_eq!(said(&mut ordering, (0, 5), b"1"), Now::Handle, "{never:?}");
            assert_eq!(said(&mut ordering, (1, 5), b"2"), Now::Wait);
            assert_eq!(said(&mut ordering, (1, 7), b"3"), Now::Wait);
            let request = RequestNumber(2);
            if early {
                assert_eq!(
                    frame(&mut ordering, (1, 7), DataBody::Fence { request }),
                    Now::Wait
                );
            }
            assert_eq!(ordering.next(), None);
            reach(&mut ordering, 7, 1);
            let sender = SENDER;
            for (index, body) in [(8, EntryBody::Fenced), (9, EntryBody::EpochBegan)] {
                let cause = Some(Cause { sender, request });
                let index = LogIndex(index);
                let entry = Arc::new(Entry { index, cause, body });
                ordering.entry(entry).unwrap();
            }
            for tag in [b"2", b"3"] {
                assert_eq!(next_said(&mut ordering).unwrap(), tag, "{never:?}");
            }
            if !early {
                assert_eq!(ordering.next(), None, "the fence is waited for");
                assert_eq!(ordering.fence_awaited(), Some(SENDER));
                assert_eq!(
                    frame(&mut ordering, (1, 7), DataBody::Fence { request }),
                    Now::Wait
                );
            }
            for _ in 0..2 {
                assert!(
                    matches!(ordering.next(), Some(Ordered::Entry(_))),
                    "{never:?}"
                );
            }
            assert_eq!(ordering.next(), None);
        }
    }

    #[test]
    fn who_is_gone_is_waited_for_no_longer_whatever_it_has_sent() {
        for never in NEVER {
            let mut ordering = ordering();
            assert_eq!(said(&mut ordering, never, b"never"), Now::Wait);
            let (sender, request) = (SENDER, RequestNumber(1));
            put(
                &mut ordering,
                Some(Cause { sender, request }),
                EntryBody::Fenced,
            );
            assert_eq!(ordering.next(), None);
            ordering.link_ended(SENDER);
            assert!(
                matches!(ordering.next(), Some(Ordered::Entry(_))),
                "{never:?}"
            );
            assert_eq!(ordering.next(), None);
            assert_eq!(ordering.forget(SENDER), 1, "it is counted");
        }
    }

    /// In a new epoch a sender's requests are numbered on from what they were when it was saved.
    #[test]
    fn what_has_overtaken_a_restore_stands_behind_what_was_sent_before_it() {
        let mut ordering = ordering();
        let (sender, request) = (SENDER, RequestNumber(3));
        assert_eq!(said(&mut ordering, (2, 6), b"old"), Now::Wait);
        assert_eq!(
            frame(&mut ordering, (2, 6), DataBody::Fence { request }),
            Now::Wait
        );
        assert_eq!(said(&mut ordering, (0, 9), b"new"), Now::Wait);
        reach(&mut ordering, 6, 2);
        put(
            &mut ordering,
            Some(Cause { sender, request }),
            EntryBody::Fenced,
        );
        assert_eq!(next_said(&mut ordering).unwrap(), b"old");
        assert!(matches!(ordering.next(), Some(Ordered::Entry(_))));
        assert_eq!(ordering.next(), None);
        assert_eq!(ordering.take_ahead().len(), 1);
    }

    /// What goes by the executive in datagrams may be overtaken by what takes the path after it, which a request is before.
    #[test]
    fn best_effort_data_comes_behind_nothing_newer() {
        let [lossy, reliable] = [Transportation::BestEffort, Transportation::Reliable];
        let after = |requests| After {
            requests: RequestNumber(requests),
            index: LogIndex(5),
        };
        for (plainly, held) in [(false, false), (true, false), (false, true)] {
            let mut ordering = ordering();
            let say = |ordering: &mut Ordering, how, requests| {
                if plainly && ordering.is_next(SENDER, after(requests), how) {
                    return Now::Handle;
                }
                said_as(how, ordering, (requests, 5), b"")
            };
            if held {
                assert_eq!(say(&mut ordering, lossy, 2), Now::Wait);
            }
            reach(&mut ordering, 6, 2);
            assert_eq!(ordering.next().is_some(), held);
            for _ in 0..2 {
                // Reliable data overtakes none.
                assert_eq!(say(&mut ordering, reliable, 2), Now::Handle);
                if !held {
                    assert_eq!(say(&mut ordering, lossy, 1), Now::Handle);
                }
            }
            for _ in 0..2 {
                assert_eq!(say(&mut ordering, lossy, 2), Now::Handle);
                assert_eq!(say(&mut ordering, lossy, 1), Now::Late);
                assert_eq!(say(&mut ordering, reliable, 1), Now::Handle);
                assert_eq!(say(&mut ordering, lossy, 1), Now::Late);
            }
            // In another epoch requests may be numbered anew.
            ordering.begin_epoch(LogIndex(5));
            assert_eq!(say(&mut ordering, lossy, 1), Now::Handle);
        }
    }

    #[test]
    fn what_waits_stands_in_its_order_however_it_came() {
        const FRAMES: u64 = 20_000;
        let mut ordering = ordering();
        let mut after = |requests| {
            let tag = u64::to_le_bytes(requests);
            assert_eq!(said(&mut ordering, (1, 6), &tag), Now::Wait);
            assert_eq!(said(&mut ordering, (2, 7), &tag), Now::Wait);
        };
        (0..FRAMES).for_each(&mut after);
        reach(&mut ordering, 7, 2);
        for _ in 0..2 {
            for number in 0..FRAMES {
                assert_eq!(next_said(&mut ordering).unwrap(), number.to_le_bytes());
            }
        }
        assert_eq!((ordering.held(), ordering.next()), (0, None));
        assert_eq!(ordering.held_bytes(SENDER), 0);
    }
}
