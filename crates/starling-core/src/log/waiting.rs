//! Data frames of one sender that wait for what they come after.
//!
//! What a frame names, requests and a log index, never gets less from one frame of a sender's to the next, but the
//! requests where an epoch begins, and there the index gets greater. So of two frames the one that was sent first
//! is ready if the other one is; and of those whose index is applied, which are of one epoch, the one after fewer requests
//! was sent first. Hence the two maps: a frame that names what never comes stays in its place, and is in nobody's way.

use crate::DataPath;
use crate::message::{LogIndex, OwnedData, RequestNumber};
use std::collections::BTreeMap;

/// A frame, and the path by which it came.
type Frame = (OwnedData, DataPath);

#[derive(Default)]
pub(super) struct Waiting {
    /// Those whose log index is not applied, by it, and those of one index by requests.
    for_index: BTreeMap<(LogIndex, RequestNumber, i64), Frame>,
    /// The others, by requests.
    for_request: BTreeMap<(RequestNumber, LogIndex, i64), Frame>,
    /// What they take in memory, about; 0: there are none.
    bytes: usize,
    /// Frames with the same numbers stand in the order of these: of the first one, and of the next.
    first: i64,
    next: i64,
}

impl Waiting {
    #[inline(always)]
    pub(super) fn is_empty(&self) -> bool {
        self.bytes == 0
    }

    pub(super) fn len(&self) -> usize {
        self.for_request.len() + self.for_index.len()
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds what comes behind all that comes after the same.
    pub(super) fn put(&mut self, frame: Frame, applied: LogIndex) {
        let data = frame.0.borrow();
        let (requests, index) = (data.after.requests, data.after.index);
        self.bytes += data.bytes();
        self.next += 1;
        if index <= applied {
            self.for_request.insert((requests, index, self.next), frame);
        } else {
            self.for_index.insert((index, requests, self.next), frame);
        }
    }

    /// Adds what is ready, and was sent before all others.
    pub(super) fn put_first(&mut self, frame: Frame) {
        let data = frame.0.borrow();
        let (requests, index) = (data.after.requests, data.after.index);
        self.bytes += data.bytes();
        self.first -= 1;
        self.for_request
            .insert((requests, index, self.first), frame);
    }

    /// The log is applied up to there.
    pub(super) fn reach(&mut self, applied: LogIndex) {
        while let Some(first) = self.for_index.first_entry()
            && first.key().0 <= applied
        {
            let ((index, requests, place), frame) = first.remove_entry();
            self.for_request.insert((requests, index, place), frame);
        }
    }

    /// Whether one is ready when the sender's requests are applied up to this one.
    #[inline]
    pub(super) fn has_ready(&self, requests: RequestNumber) -> bool {
        let first = self.for_request.first_key_value();
        first.is_some_and(|(key, _)| key.0 <= requests)
    }

    /// Takes out the first one that is.
    pub(super) fn take_ready(&mut self, requests: RequestNumber) -> Option<Frame> {
        let first = self.for_request.first_entry()?;
        if first.key().0 > requests {
            return None;
        }
        let frame = first.remove();
        self.bytes -= frame.0.borrow().bytes();
        Some(frame)
    }

    /// Takes out what was sent before the log index `epoch` was applied; how many frames.
    pub(super) fn drop_outdated(&mut self, epoch: LogIndex) -> u64 {
        let (mut dropped, bytes) = (0, &mut self.bytes);
        let mut keep = |(data, _): &mut Frame| {
            let data = data.borrow();
            let keep = data.after.index >= epoch;
            if !keep {
                *bytes -= data.bytes();
                dropped += u64::from(!data.is_fence());
            }
            keep
        };
        self.for_request.retain(|_, frame| keep(frame));
        self.for_index.retain(|_, frame| keep(frame));
        dropped
    }

    /// All of them, in the order in which they were sent.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Frame> {
        self.for_request.values().chain(self.for_index.values())
    }

    /// Takes out all of them.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = Frame> + use<> {
        let all = std::mem::take(self);
        let (ready, rest) = (all.for_request, all.for_index);
        ready.into_values().chain(rest.into_values())
    }
}
