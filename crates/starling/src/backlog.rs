//! What waits at its sender for a peer that does not keep up with its ring.
//!
//! Who sends faster than a peer reads has to wait for it as long as that one reads on. One that does not read holds
//! up nobody until so much waits for it as may; and when it reads again, it gets twice what comes meanwhile. One that
//! has no CPU for a while looks as if it did not read: so who has come back soon is waited for longer the next time.

use crate::shared::GRACE;
use std::collections::VecDeque;
use std::time::{Duration, Instant};

/// Frames are kept in runs of about so many bytes: a record of the smallest ring holds one.
const RUN_BYTES: usize = 8_000;
/// Who comes back later than this was stopped.
const SOON: Duration = Duration::from_secs(1);

/// Frames for one peer, in their order.
pub(crate) struct Backlog {
    runs: VecDeque<Vec<u8>>,
    bytes: usize,
    /// A run has no more than this, unless it is one frame.
    run_bytes: usize,
    /// If more waits, its sender waits for the peer.
    free: usize,
    /// When the peer was last given something.
    moved: Instant,
    /// For so long it is waited for then.
    patience: Duration,
}

impl Backlog {
    /// Without frames, of a peer that does not read; `frame_bytes_max`: of the largest frame.
    pub(crate) fn new(frame_bytes_max: usize, now: Instant) -> Self {
        Backlog {
            runs: VecDeque::new(),
            bytes: 0,
            run_bytes: RUN_BYTES.min(frame_bytes_max),
            free: usize::MAX,
            moved: now,
            patience: GRACE,
        }
    }

    /// How much waits.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }

    /// Adds a frame, or several, of `length` bytes.
    pub(crate) fn push(&mut self, length: usize, put: impl FnOnce(&mut Vec<u8>)) {
        let full = |run: &Vec<u8>| run.len() + length > self.run_bytes;
        if self.runs.back().is_none_or(full) {
            let capacity = length.max(self.run_bytes);
            self.runs.push_back(Vec::with_capacity(capacity));
        }
        put(self.runs.back_mut().expect("one at least"));
        self.bytes += length;
    }

    /// Adds what is behind all this.
    pub(crate) fn append(&mut self, mut rest: Backlog) {
        self.runs.append(&mut rest.runs);
        self.bytes += rest.bytes;
    }

    /// Gives `take` the first of what waits, a run of frames at a time, until it takes no more.
    pub(crate) fn give(&mut self, now: Instant, mut take: impl FnMut(&[u8]) -> bool) {
        let before = self.bytes;
        while self.runs.front().is_some_and(|run| take(run)) {
            self.bytes -= self.runs.pop_front().map_or(0, |run| run.len());
        }
        let given = before - self.bytes;
        if given > 0 {
            let gap = now.saturating_duration_since(self.moved);
            if gap > SOON {
                self.patience = GRACE;
            } else {
                self.patience = self.patience.max(2 * gap).min(SOON);
            }
            self.moved = now;
            self.free = self.bytes + given / 2;
        }
    }

    /// Whether its sender is to wait for the peer.
    pub(crate) fn presses(&self) -> bool {
        self.bytes > self.free
    }

    /// Until when its sender waits for the peer, if it does: longer if that goes on to read.
    pub(crate) fn presses_until(&mut self, now: Instant) -> Option<Instant> {
        let until = self.moved + self.patience;
        if now >= until {
            self.free = usize::MAX;
        }
        self.presses().then_some(until)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn add(backlog: &mut Backlog, frame: &[u8]) {
        backlog.push(frame.len(), |run| run.extend_from_slice(frame));
    }

    #[test]
    fn frames_stay_whole_and_in_their_order() {
        let now = Instant::now();
        let frames = |n: u8| (0..n).map(|n| vec![n; usize::from(n) * 40]);
        let mut backlog = Backlog::new(1 << 20, now);
        let mut rest = Backlog::new(1 << 20, now);
        frames(200).for_each(|frame| add(&mut backlog, &frame));
        add(&mut rest, &[7; 20_000]);
        add(&mut rest, &[8]);
        backlog.append(rest);
        let all = frames(200).chain([vec![7; 20_000], vec![8]]);
        let all: Vec<_> = all.collect();
        assert_eq!(backlog.bytes(), all.concat().len());
        let mut runs = Vec::new();
        backlog.give(now, |run| {
            runs.push(run.to_vec());
            true
        });
        assert_eq!(backlog.bytes(), 0);
        assert_eq!(runs.concat(), all.concat());
        let longer: Vec<_> = runs.iter().filter(|run| run.len() > RUN_BYTES).collect();
        assert_eq!(longer, [&vec![7; 20_000]]);
        assert!(runs.len() < all.concat().len() / RUN_BYTES * 2);
    }

    /// As long as the peer reads, what waits for it shrinks, however fast its sender is; while it does not, its
    /// sender goes on.
    #[test]
    fn who_reads_again_comes_to_the_end() {
        let mut now = Instant::now();
        let mut backlog = Backlog::new(1 << 20, now);
        let run = [0; RUN_BYTES];
        for _ in 0..1000 {
            add(&mut backlog, &run);
            assert!(!backlog.presses(), "it does not read");
        }
        let mut turns = 0;
        while backlog.bytes() > 0 {
            let mut room = 4;
            backlog.give(now, |_| {
                room -= 1;
                room >= 0
            });
            while !backlog.presses() && backlog.bytes() > 0 {
                add(&mut backlog, &run);
            }
            turns += 1;
            assert!(turns < 2_000, "{} bytes", backlog.bytes());
            let until = backlog.presses_until(now);
            let waits = |until| (now + GRACE..=now + SOON).contains(&until);
            assert!(
                until.is_some_and(waits) || backlog.bytes() == 0,
                "{until:?}"
            );
            now += GRACE - Duration::from_millis(1);
        }
    }

    #[test]
    fn who_came_back_soon_is_waited_for_longer() {
        let ms = Duration::from_millis;
        let mut now = Instant::now();
        let mut backlog = Backlog::new(1 << 20, now);
        let mut waited_after = |gap| {
            now += gap;
            (0..4).for_each(|_| add(&mut backlog, &[0; RUN_BYTES]));
            let mut room = 1;
            backlog.give(now, |_| std::mem::take(&mut room) > 0);
            let mut until = backlog.presses_until(now);
            while until.is_none() {
                add(&mut backlog, &[0; RUN_BYTES]);
                until = backlog.presses_until(now);
            }
            let until = until.expect("it presses");
            assert_eq!(backlog.presses_until(until), None, "it has stopped");
            add(&mut backlog, &[0; RUN_BYTES]);
            assert!(!backlog.presses(), "and is not waited for");
            until - now
        };
        let gaps = [10, 200, 60, 900, 1_001, 30].map(ms);
        let waits = [50, 400, 400, 1_000, 50, 60].map(ms);
        assert_eq!(gaps.map(&mut waited_after), waits);
    }
}
