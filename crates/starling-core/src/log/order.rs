//! The ordering layer: each federate handles what one sender did in that sender's order, and
//! nothing before its cause, whichever links carried it.
//!
//! Invariants:
//! - the log is applied in order; an entry whose request was fenced on its sender's own link
//!   waits for that fence, and the rest of the log with it;
//! - a data frame waits until its sender's requests and the log index it names are applied, and
//!   the later frames of that sender with it; other senders are not held up;
//! - once a federate's resignation is applied nothing of it comes through any more.
//!
//! What waits is bounded: control by the executive's stream, data by `HELD_BYTES_MAX` for each
//! sender, beyond which the peer has broken the protocol (its `after` never comes). It is not part
//! of what waits for delivery: who stopped reading for its sake would never read the entries that
//! it waits for.

use super::federate::DataPath;
use crate::message::{
    After, Cause, Data, DataBody, Entry, EntryBody, LogIndex, OwnedData, RequestNumber, Watermark,
};
use crate::{FederateHandle, ProtocolError};
use std::collections::btree_map::Entry as Slot;
use std::collections::{BTreeMap, BTreeSet, VecDeque};

/// Most that is held for one sender, in bytes; a single frame may be larger.
const HELD_BYTES_MAX: usize = 256 << 20;

/// What comes out, in the order in which it is to be applied.
#[derive(Debug, PartialEq)]
pub(crate) enum Ordered {
    /// A log entry.
    Entry(Entry),
    /// A data frame that had to wait.
    Data(OwnedData),
}

/// What to do with a data frame that has just come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Now {
    /// Handle it.
    Handle,
    /// Nothing: it is kept until its turn, or was a fence.
    Wait,
    /// Nothing ever: its sender has resigned.
    Refuse,
}

#[derive(Default)]
struct Sender {
    /// Its last request in the applied part of the log.
    requests: RequestNumber,
    /// The last fence that came on its own link.
    fence: RequestNumber,
    /// Its link to us has ended: no fence will come any more.
    ended: bool,
    held: VecDeque<OwnedData>,
    /// What they take in memory, about.
    held_bytes: usize,
}

enum Control {
    Entry(Entry),
    Watermark(Watermark),
}

/// State of one receiver.
pub(crate) struct Ordering {
    me: FederateHandle,
    /// Others have links of their own to this receiver, on which fences come.
    direct: bool,
    applied: LogIndex,
    control: VecDeque<Control>,
    senders: BTreeMap<FederateHandle, Sender>,
    /// Handles up to here that are not in `senders` have resigned; they are never reused.
    latest: FederateHandle,
    /// Senders of which frames are held; none in steady state.
    holding: BTreeSet<FederateHandle>,
    held_bytes_max: usize,
}

impl Ordering {
    pub(crate) fn new(
        me: FederateHandle,
        path: DataPath,
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
            direct: path == DataPath::Direct,
            applied,
            control: VecDeque::new(),
            senders,
            holding: BTreeSet::new(),
            held_bytes_max: HELD_BYTES_MAX,
        }
    }

    /// The last log index applied; what a frame sent now comes after.
    pub(crate) fn applied(&self) -> LogIndex {
        self.applied
    }

    /// Own requests that are in the applied part of the log.
    pub(crate) fn own_requests(&self) -> RequestNumber {
        self.senders
            .get(&self.me)
            .map_or(RequestNumber::default(), |s| s.requests)
    }

    pub(crate) fn entry(&mut self, entry: Entry) {
        self.control.push_back(Control::Entry(entry));
    }

    pub(crate) fn watermark(&mut self, mark: Watermark) {
        self.control.push_back(Control::Watermark(mark));
    }

    /// Takes a data frame and says what to do with it now.
    pub(crate) fn data(&mut self, data: &Data<'_>) -> Result<Now, ProtocolError> {
        let applied = self.applied;
        let sender = match self.senders.entry(data.sender) {
            Slot::Occupied(known) => known.into_mut(),
            Slot::Vacant(_) if data.sender <= self.latest => return Ok(Now::Refuse),
            // The entry of its joining is still on its way.
            Slot::Vacant(new) => new.insert(Sender::default()),
        };
        if sender.held.is_empty() && ready(sender, applied, &data.after) {
            if let DataBody::Fence { request } = data.body {
                sender.fence = sender.fence.max(request);
                return Ok(Now::Wait);
            }
            return Ok(Now::Handle);
        }
        let bytes = data.bytes();
        if !sender.held.is_empty() && sender.held_bytes + bytes > self.held_bytes_max {
            return Err(ProtocolError(format!(
                "{}: {} frames with {} bytes wait for log index {} and its request {}, which do not come; at most {} bytes are held for one sender",
                data.sender,
                sender.held.len(),
                sender.held_bytes,
                data.after.index,
                data.after.requests,
                self.held_bytes_max,
            )));
        }
        sender.held.push_back(data.to_owned());
        sender.held_bytes += bytes;
        self.holding.insert(data.sender);
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
        self.senders.remove(&peer).map_or(0, |s| s.held.len())
    }

    /// What can be applied next. Call until there is none, applying each before the next call.
    pub(crate) fn next(&mut self) -> Option<Ordered> {
        loop {
            // Data first: what may go now must not see later entries before it.
            if !self.holding.is_empty()
                && let Some(data) = self.next_held()
            {
                return Some(Ordered::Data(data));
            }
            match self.control.front()? {
                Control::Watermark(_) => {
                    let Some(Control::Watermark(mark)) = self.control.pop_front() else {
                        unreachable!("it was just seen there")
                    };
                    for (federate, request) in mark.requests {
                        self.request_applied(federate, request);
                    }
                    self.applied = self.applied.max(mark.index);
                }
                Control::Entry(entry) => {
                    if matches!(entry.body, EntryBody::Fenced) && !self.fence_has_come(entry) {
                        return None;
                    }
                    let Some(Control::Entry(entry)) = self.control.pop_front() else {
                        unreachable!("it was just seen there")
                    };
                    if let Some(Cause { sender, request }) = entry.cause {
                        self.request_applied(sender, request);
                    }
                    self.applied = self.applied.max(entry.index);
                    return Some(Ordered::Entry(entry));
                }
            }
        }
    }

    fn fence_has_come(&self, entry: &Entry) -> bool {
        let Some(cause) = entry.cause.filter(|_| self.direct) else {
            return true;
        };
        let come = |s: &Sender| s.fence >= cause.request || (s.ended && s.held.is_empty());
        // Nothing comes any more from one whose resignation is applied.
        self.senders.get(&cause.sender).is_none_or(come)
    }

    fn request_applied(&mut self, federate: FederateHandle, request: RequestNumber) {
        if let Some(sender) = self.senders.get_mut(&federate) {
            sender.requests = sender.requests.max(request);
        }
    }

    fn next_held(&mut self) -> Option<OwnedData> {
        let (senders, applied) = (&mut self.senders, self.applied);
        let mut next = None;
        self.holding.retain(|handle| {
            let Some(sender) = senders.get_mut(handle) else {
                return false;
            };
            while next.is_none()
                && let Some(data) = sender.take_ready(applied)
            {
                match data.borrow().body {
                    DataBody::Fence { request } => sender.fence = sender.fence.max(request),
                    _ => next = Some(data),
                }
            }
            !sender.held.is_empty()
        });
        next
    }
}

impl Sender {
    /// The first frame that is held, if it need wait no longer.
    fn take_ready(&mut self, applied: LogIndex) -> Option<OwnedData> {
        let first = self.held.front()?.borrow();
        if !ready(self, applied, &first.after) {
            return None;
        }
        self.held_bytes -= first.bytes();
        self.held.pop_front()
    }
}

fn ready(sender: &Sender, applied: LogIndex, after: &After) -> bool {
    sender.requests >= after.requests && applied >= after.index
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Payload;
    use crate::{InteractionClassHandle, Transportation, ValuesBuf};

    const SENDER: FederateHandle = FederateHandle(2);

    fn ordering() -> Ordering {
        let members = [1, 2].map(|f| (FederateHandle(f), RequestNumber(0)));
        Ordering::new(FederateHandle(1), DataPath::Direct, LogIndex(5), members)
    }

    /// A frame that waits for this index.
    fn hold(ordering: &mut Ordering, index: u64, bytes: usize) -> Result<Now, ProtocolError> {
        let mut values = ValuesBuf::default();
        values.push(0, &vec![0; bytes]);
        ordering.data(&Data {
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
                },
            },
        })
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
            ordering.watermark(Watermark {
                index: LogIndex(index),
                requests: Vec::new(),
            });
            assert!(matches!(ordering.next(), Some(Ordered::Data(_))));
            assert_eq!(ordering.next(), None);
        }
    }
}
