//! The log at the executive: who has been told what of it.
//!
//! Invariants:
//! - every request of a member takes one log index, refused or not;
//! - a member's stream is complete: entries that do not concern it are covered by a watermark
//!   before anything later is put on it;
//! - no member is told two entries of one index, so that a federate which has applied an index has
//!   applied all of it.

use crate::message::{
    After, Cause, Entry, EntryBody, FromExecutive, LogIndex, RequestNumber, Snapshot, Watermark,
};
use crate::{FederateHandle, PeerId, ProtocolError};
use std::collections::BTreeMap;

/// The stream of one member.
struct Stream {
    peer: PeerId,
    /// Requests that the member has made.
    requests: RequestNumber,
    /// Log index of the last of them.
    last_request_at: LogIndex,
    /// It tells the log up to here.
    told: LogIndex,
}

/// The log and the streams of all members.
#[derive(Default)]
pub(crate) struct Log {
    index: LogIndex,
    /// Every member has been told the log up to here.
    settled: LogIndex,
    streams: BTreeMap<FederateHandle, Stream>,
    out: Vec<(PeerId, FromExecutive)>,
    left: Vec<PeerId>,
}

impl Log {
    /// Its last index.
    pub(crate) fn index(&self) -> LogIndex {
        self.index
    }

    /// Takes an index for what the RTI does without being asked.
    pub(crate) fn advance(&mut self) {
        self.index = self.index.next();
    }

    /// Takes an index for a member's request. Its fences come first, so that all that it brings
    /// about stands behind them.
    pub(crate) fn request(
        &mut self,
        sender: FederateHandle,
        fenced: &[FederateHandle],
    ) -> Result<Cause, ProtocolError> {
        self.advance();
        let stream = self
            .streams
            .get_mut(&sender)
            .ok_or_else(|| not_a_member(sender))?;
        stream.requests = stream.requests.next();
        stream.last_request_at = self.index;
        let request = stream.requests;
        let cause = Cause { sender, request };
        self.tell(cause, fenced, &EntryBody::Fenced);
        Ok(cause)
    }

    /// A federate becomes a member: its stream begins behind the present index.
    pub(crate) fn join(&mut self, federate: FederateHandle, peer: PeerId) {
        let stream = Stream {
            peer,
            requests: RequestNumber::default(),
            last_request_at: LogIndex::default(),
            told: self.index,
        };
        self.streams.insert(federate, stream);
    }

    /// Begins a new member's stream with what the log has come to.
    pub(crate) fn welcome(&mut self, snapshot: Snapshot) {
        if let Some(stream) = self.streams.get(&snapshot.handle) {
            let joined = FromExecutive::Joined(Box::new(snapshot));
            self.out.push((stream.peer, joined));
        }
    }

    /// A federate is no longer a member: its stream ends.
    pub(crate) fn leave(&mut self, federate: FederateHandle) {
        let gone = self.streams.remove(&federate);
        self.left.extend(gone.map(|s| s.peer));
    }

    /// All members, ascending.
    pub(crate) fn members(&self) -> Vec<FederateHandle> {
        self.streams.keys().copied().collect()
    }

    /// The number of a member's last request.
    pub(crate) fn requests(&self, federate: FederateHandle) -> RequestNumber {
        let stream = self.streams.get(&federate);
        stream.map_or(RequestNumber::default(), |s| s.requests)
    }

    /// The connection of a member.
    pub(crate) fn peer(&self, federate: FederateHandle) -> Option<PeerId> {
        Some(self.streams.get(&federate)?.peer)
    }

    /// The connections of all members.
    pub(crate) fn peers(&self) -> impl Iterator<Item = PeerId> + '_ {
        self.streams.values().map(|s| s.peer)
    }

    /// Puts an entry at the present index on the streams of its audience; at the next one if
    /// somebody of it has been told an entry of the present one. `cause` is none for what the RTI
    /// does without being asked.
    pub(crate) fn tell(
        &mut self,
        cause: impl Into<Option<Cause>>,
        audience: &[FederateHandle],
        body: &EntryBody,
    ) {
        let cause = cause.into();
        let told = |f| self.streams.get(f).is_some_and(|s| s.told >= self.index);
        if audience.iter().any(told) {
            self.advance();
        }
        for federate in audience {
            self.bring_up_to(*federate, self.index.previous());
            let Some(stream) = self.streams.get_mut(federate) else {
                continue;
            };
            stream.told = self.index;
            let entry = Entry {
                index: self.index,
                cause,
                body: body.clone(),
            };
            self.out.push((stream.peer, FromExecutive::Entry(entry)));
        }
    }

    /// [`Log::tell`] with all members as the audience.
    pub(crate) fn tell_all(&mut self, cause: impl Into<Option<Cause>>, body: &EntryBody) {
        let everyone = self.members();
        self.tell(cause, &everyone, body);
    }

    /// Brings a member up to date, so that a data frame may follow on its stream; its connection.
    pub(crate) fn catch_up(&mut self, federate: FederateHandle) -> Option<PeerId> {
        self.bring_up_to(federate, self.index);
        self.peer(federate)
    }

    /// Refuses a data frame that comes after what has not happened: its receivers would hold it
    /// for ever.
    pub(crate) fn require_past(
        &self,
        sender: FederateHandle,
        after: &After,
    ) -> Result<(), ProtocolError> {
        let made = self.requests(sender);
        if after.index > self.index || after.requests > made {
            return Err(ProtocolError(format!(
                "{sender} sent a frame after its request {} and log index {}; they are at {made} and {}",
                after.requests, after.index, self.index
            )));
        }
        Ok(())
    }

    /// Covers what `federate` was not told up to `index` with a watermark.
    fn bring_up_to(&mut self, federate: FederateHandle, index: LogIndex) {
        let Some(stream) = self.streams.get_mut(&federate) else {
            return;
        };
        let (peer, told) = (stream.peer, stream.told);
        if told >= index {
            return;
        }
        stream.told = index;
        // The request that is being served may stand behind this; those before it do not.
        let by_then = |s: &Stream| {
            if s.last_request_at > index {
                s.requests.previous()
            } else {
                s.requests
            }
        };
        let requests = self
            .streams
            .iter()
            .filter(|(_, s)| s.last_request_at > told)
            .map(|(f, s)| (*f, by_then(s)))
            .collect();
        let mark = Watermark { index, requests };
        self.out.push((peer, FromExecutive::Watermark(mark)));
    }

    /// Whether some member may not have been told all of the log.
    pub(crate) fn is_unsettled(&self) -> bool {
        self.settled < self.index
    }

    /// Brings every member up to date.
    pub(crate) fn settle(&mut self) {
        for federate in self.members() {
            self.bring_up_to(federate, self.index);
        }
        self.settled = self.index;
    }

    /// Whether `outputs` or `left` has something to say.
    pub(crate) fn has_news(&self) -> bool {
        !self.out.is_empty() || !self.left.is_empty()
    }

    /// Messages made since the last call.
    pub(crate) fn outputs(&mut self) -> impl Iterator<Item = (PeerId, FromExecutive)> + '_ {
        self.out.drain(..)
    }

    /// Peers whose federates have ceased to be members since the last call.
    pub(crate) fn left(&mut self) -> impl Iterator<Item = PeerId> + '_ {
        self.left.drain(..)
    }
}

fn not_a_member(federate: FederateHandle) -> ProtocolError {
    ProtocolError(format!("{federate} is not a member"))
}
