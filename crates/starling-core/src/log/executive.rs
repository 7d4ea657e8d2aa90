//! The log at the executive: who has been told what of it.
//!
//! Invariants:
//! - every request of a member takes one log index, refused or not, unless its epoch is over; one with
//!   fences takes another for these before it;
//! - a member's stream is complete: entries that do not concern it are covered by a watermark
//!   before anything later is put on it;
//! - what was sent by who had not applied the beginning of the present epoch brings nothing about;
//! - no member is told two entries of one index, so that a federate which has applied an index has
//!   applied all of it;
//! - what stands at a request's index is that request's, so that who has applied it counts the request.

use crate::message::time::Notice;
use crate::message::{
    After, Cause, Entry, EntryBody, FromExecutive, LogIndex, RequestNumber, Restored, Snapshot,
    Watermark,
};
use crate::saved::log as saved;
use crate::{FederateHandle, PeerId, ProtocolError};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The stream of one member.
pub(super) struct Stream {
    pub(super) peer: PeerId,
    /// Requests that the member has made.
    pub(super) requests: RequestNumber,
    /// Log index of the last of them.
    pub(super) last_request_at: LogIndex,
    /// It tells the log up to here.
    pub(super) told: LogIndex,
}

/// The log and the streams of all members.
#[derive(Default)]
pub(crate) struct Log {
    pub(super) index: LogIndex,
    /// Every member has been told the log up to here.
    pub(super) settled: LogIndex,
    /// Where the present epoch began: what was sent by who had not applied this is dropped.
    pub(super) epoch: LogIndex,
    /// Requests and data frames that were.
    outdated: u64,
    pub(super) streams: BTreeMap<FederateHandle, Stream>,
    /// Members by the log index of their last request.
    pub(super) latest: BTreeMap<LogIndex, FederateHandle>,
    out: Vec<(PeerId, FromExecutive)>,
    left: Vec<PeerId>,
    /// Members who have become others by a restore.
    renamed: Vec<(PeerId, FederateHandle)>,
    caught_up: CaughtUp,
}

/// Those whom the last data frame went to: streams go to the same again and again. It holds as long as
/// the log is there and no stream has begun or ended.
#[derive(Default)]
struct CaughtUp {
    at: Option<LogIndex>,
    federates: Vec<FederateHandle>,
    peers: Vec<PeerId>,
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
    /// about stands behind them. None if it is of an older epoch: it has neither index nor
    /// number, since its sender counts from 1 again, and nothing comes of it.
    pub(crate) fn request(
        &mut self,
        sender: FederateHandle,
        applied: LogIndex,
        fenced: &[FederateHandle],
    ) -> Result<Option<Cause>, ProtocolError> {
        self.require_there(sender, applied)?;
        if self.is_outdated(applied) {
            return Ok(None);
        }
        self.advance();
        let stream = self
            .streams
            .get_mut(&sender)
            .ok_or_else(|| not_a_member(sender))?;
        stream.requests = stream.requests.next();
        let request = stream.requests;
        let cause = Cause { sender, request };
        self.place_request(sender);
        if !fenced.is_empty() {
            self.tell(cause, fenced, EntryBody::Fenced);
            // The request stands behind: who has applied its fences has not applied it yet.
            self.advance();
            self.place_request(sender);
        }
        Ok(Some(cause))
    }

    /// A member's last request stands at the present index.
    fn place_request(&mut self, sender: FederateHandle) {
        if let Some(stream) = self.streams.get_mut(&sender) {
            self.latest.remove(&stream.last_request_at);
            stream.last_request_at = self.index;
            self.latest.insert(self.index, sender);
        }
    }

    /// Whether a request that takes no index is of this epoch; counted if not.
    pub(crate) fn admits_request(
        &mut self,
        sender: FederateHandle,
        applied: LogIndex,
    ) -> Result<bool, ProtocolError> {
        self.require_there(sender, applied)?;
        Ok(!self.is_outdated(applied))
    }

    /// Refuses a request that comes after what has not happened.
    fn require_there(
        &self,
        sender: FederateHandle,
        applied: LogIndex,
    ) -> Result<(), ProtocolError> {
        if applied > self.index {
            return Err(ProtocolError(format!(
                "{sender} made a request after log index {applied}; the log is at {}",
                self.index
            )));
        }
        Ok(())
    }

    /// Begins a new epoch, and the streams of all members with it, because the federation execution
    /// is restored: what is on its way by then is dropped wherever it arrives later. `becomes` has
    /// the handles that members have from now on. Indices go on behind those of the save, and
    /// requests are numbered as they were then. What follows comes after an index that nobody is told
    /// before it is restored: nothing of it comes through at who has not been.
    pub(crate) fn restart(
        &mut self,
        saved: &saved::Execution,
        becomes: &BTreeMap<FederateHandle, FederateHandle>,
    ) {
        self.index = self.index.max(saved.index);
        self.begin_epoch(None);
        self.advance();
        self.epoch = self.index;
        self.settled = self.index;
        self.caught_up.at = None;
        self.latest.clear();
        for (before, stream) in std::mem::take(&mut self.streams) {
            let Some(federate) = becomes.get(&before).copied() else {
                self.left.push(stream.peer);
                continue;
            };
            let then = saved.streams.get(&federate);
            let stream = Stream {
                peer: stream.peer,
                requests: then.map(|s| s.requests).unwrap_or_default(),
                last_request_at: LogIndex::default(),
                told: self.index,
            };
            self.renamed.push((stream.peer, federate));
            self.streams.insert(federate, stream);
        }
    }

    /// Begins a new epoch with an entry for all members: what is on its way by then is dropped
    /// wherever it arrives later.
    pub(crate) fn begin_epoch(&mut self, cause: impl Into<Option<Cause>>) {
        self.advance();
        self.tell_all(cause, EntryBody::EpochBegan);
        self.epoch = self.index;
    }

    /// Where the present epoch began.
    pub(crate) fn epoch(&self) -> LogIndex {
        self.epoch
    }

    /// Gives a member what it is after a restore.
    pub(crate) fn restored(&mut self, restored: Restored) {
        if let Some(stream) = self.streams.get(&restored.snapshot.handle) {
            let restored = FromExecutive::Restored(Box::new(restored));
            self.out.push((stream.peer, restored));
        }
    }

    /// Peers whose federates have other handles since the last call.
    pub(crate) fn renamed(&mut self) -> impl Iterator<Item = (PeerId, FederateHandle)> + '_ {
        self.renamed.drain(..)
    }

    /// Whether who had applied the log up to `applied` was in an older epoch; counted if so.
    fn is_outdated(&mut self, applied: LogIndex) -> bool {
        let outdated = applied < self.epoch;
        self.outdated += u64::from(outdated);
        outdated
    }

    /// Requests and data frames of older epochs, dropped.
    pub(crate) fn outdated(&self) -> u64 {
        self.outdated
    }

    /// A federate becomes a member: its stream begins behind the present index.
    pub(crate) fn join(&mut self, federate: FederateHandle, peer: PeerId) {
        let stream = Stream {
            peer,
            requests: RequestNumber::default(),
            last_request_at: LogIndex::default(),
            told: self.index,
        };
        self.caught_up.at = None;
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
        self.caught_up.at = None;
        if let Some(gone) = self.streams.remove(&federate) {
            self.latest.remove(&gone.last_request_at);
            self.left.push(gone.peer);
        }
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
    /// somebody of it has been told an entry of the present one, or that is another request's. `cause` is none
    /// for what the RTI does without being asked.
    pub(crate) fn tell(
        &mut self,
        cause: impl Into<Option<Cause>>,
        audience: &[FederateHandle],
        body: impl Into<EntryBody>,
    ) {
        let (cause, body) = (cause.into(), body.into());
        let told = |f| self.streams.get(f).is_some_and(|s| s.told >= self.index);
        if self.is_of_another(cause) || audience.iter().any(told) {
            self.advance();
        }
        let entry = Arc::new(Entry {
            index: self.index,
            cause,
            body,
        });
        for federate in audience {
            self.bring_up_to(*federate, self.index.previous());
            let Some(stream) = self.streams.get_mut(federate) else {
                continue;
            };
            stream.told = self.index;
            let entry = Arc::clone(&entry);
            self.out.push((stream.peer, FromExecutive::Entry(entry)));
        }
    }

    /// Whether a member's request stands at the present index that is not this one. Whoever is told an entry of
    /// the index is told nothing more of it, so would never hear that the request is behind it.
    fn is_of_another(&self, cause: Option<Cause>) -> bool {
        self.latest.get(&self.index).is_some_and(|sender| {
            let request = self.requests(*sender);
            cause
                != Some(Cause {
                    sender: *sender,
                    request,
                })
        })
    }

    /// [`Log::tell`] with all members as the audience.
    pub(crate) fn tell_all(&mut self, cause: impl Into<Option<Cause>>, body: impl Into<EntryBody>) {
        let everyone = self.members();
        self.tell(cause, &everyone, body);
    }

    /// Tells a member about its time, in its stream, but not as a part of the log.
    pub(crate) fn notify(&mut self, federate: FederateHandle, notice: Notice) {
        let peer = self.peer(federate);
        self.out
            .extend(peer.map(|peer| (peer, FromExecutive::Time(notice))));
    }

    /// Brings members up to date, so that a data frame may follow on their streams; their connections.
    #[inline]
    pub(crate) fn catch_up(&mut self, federates: &[FederateHandle]) -> &[PeerId] {
        if self.caught_up.at != Some(self.index) || self.caught_up.federates != federates {
            self.catch_up_anew(federates);
        }
        &self.caught_up.peers
    }

    fn catch_up_anew(&mut self, federates: &[FederateHandle]) {
        let mut caught_up = std::mem::take(&mut self.caught_up);
        caught_up.at = Some(self.index);
        caught_up.federates.clear();
        caught_up.federates.extend_from_slice(federates);
        caught_up.peers.clear();
        for federate in federates {
            let Some(stream) = self.streams.get(federate) else {
                continue;
            };
            let (peer, told) = (stream.peer, stream.told);
            if told < self.index {
                self.bring_up_to(*federate, self.index);
            }
            caught_up.peers.push(peer);
        }
        self.caught_up = caught_up;
    }

    /// Whether a data frame is of this epoch. Refuses one that comes after what has not happened:
    /// its receivers would hold it for ever.
    pub(crate) fn admits(
        &mut self,
        sender: FederateHandle,
        after: &After,
    ) -> Result<bool, ProtocolError> {
        // Before anything else: its sender's requests are numbered from 1 again.
        if self.is_outdated(after.index) {
            return Ok(false);
        }
        let made = self.requests(sender);
        if after.index > self.index || after.requests > made {
            return Err(ProtocolError(format!(
                "{sender} sent a frame after its request {} and log index {}; they are at {made} and {}",
                after.requests, after.index, self.index
            )));
        }
        Ok(true)
    }

    /// Whether a data frame of a member that has made so many requests is one of this epoch, after
    /// what has happened.
    #[inline]
    pub(crate) fn is_plain(&self, made: RequestNumber, after: &After) -> bool {
        (self.epoch..=self.index).contains(&after.index) && after.requests <= made
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
        let moved = self.latest.range(told.next()..).map(|(_, f)| f);
        let requests = moved.filter_map(|f| Some((*f, by_then(self.streams.get(f)?))));
        let requests = requests.collect();
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataPath;
    use crate::log::order::{Ordered, Ordering};
    use crate::message::{Data, DataBody, mom};

    /// What the RTI does meanwhile has no request: of its own index it can't be, or its receiver would wait for ever,
    /// the log for a fence and the fence for the request before it.
    #[test]
    fn a_request_that_concerns_somebody_else_is_behind_what_the_rti_tells_next() {
        let [me, sender] = [1, 2].map(FederateHandle);
        let mut log = Log::default();
        for (federate, peer) in [(me, PeerId(1)), (sender, PeerId(2))] {
            log.join(federate, peer);
        }
        let start = log.index();
        log.request(sender, start, &[]).unwrap().unwrap();
        log.tell(None, &[me], mom::Entry::Ask);
        let cause = log.request(sender, start, &[me]).unwrap().unwrap();
        assert_eq!(cause.request, RequestNumber(2));
        let mut ordering = Ordering::new(me, start, [me, sender].map(|f| (f, RequestNumber(0))));
        let fence = Data {
            sender,
            after: After {
                requests: RequestNumber(1),
                index: start,
            },
            body: DataBody::Fence {
                request: cause.request,
            },
        };
        ordering.data(&fence, DataPath::Direct).unwrap();
        for (_, told) in log.outputs().filter(|(peer, _)| *peer == PeerId(1)) {
            match told {
                FromExecutive::Entry(entry) => ordering.entry(entry).unwrap(),
                FromExecutive::Watermark(mark) => ordering.watermark(mark).unwrap(),
                _ => panic!("nothing else was told"),
            }
        }
        let mut applied = Vec::new();
        while let Some(next) = ordering.next() {
            if let Ordered::Entry(entry) = next {
                applied.push(entry.body.clone());
            }
        }
        assert!(matches!(applied[..], [_, EntryBody::Fenced]), "{applied:?}");
    }
}
