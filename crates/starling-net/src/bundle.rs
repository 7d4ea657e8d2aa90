//! When a bundle of messages is written: at once if the link was idle or what is sent may be an
//! answer, else when it is large or old enough. Pure: the caller tells the time.

use starling_rid::{BUNDLE_AGE_US, BUNDLE_IDLE_US, BUNDLE_TCP_BYTES, Settings};
use std::time::{Duration, Instant};

/// The limits of a bundle.
#[derive(Clone, Copy, Debug)]
pub struct Bundling {
    /// Written when this large.
    pub bytes: usize,
    /// A message is written at once if the last write is this long ago.
    pub idle: Duration,
    /// Written when its first message is this old.
    pub age: Duration,
}

impl Bundling {
    /// As the settings say, for streams.
    pub fn of(settings: &Settings) -> Self {
        let us = |value: f64| Duration::from_secs_f64(value / 1e6);
        Self {
            bytes: settings.get(BUNDLE_TCP_BYTES) as usize,
            idle: us(settings.get(BUNDLE_IDLE_US)),
            age: us(settings.get(BUNDLE_AGE_US)),
        }
    }
}

/// The bundle of one link.
#[derive(Clone, Copy, Debug)]
pub struct Bundle {
    rule: Bundling,
    flushed: Option<Instant>,
    due: Option<Instant>,
    /// The link took only part of what was written: not tried again before so many bytes wait.
    blocked: Option<usize>,
    /// So many messages may join before the time is asked for again: 0 unless it waits, was timed, and is not blocked.
    untimed: u32,
}

/// A bundle that waits asks for the time once in so many messages; in between whoever woke for
/// its `due` writes it.
const UNTIMED_MAX: u32 = 16;
/// A link that takes nothing is not tried again before so many bytes more wait, or as many as are bundled.
const RETRY_BYTES: usize = 16 * 1024;

impl Bundle {
    /// An empty bundle.
    pub fn new(rule: Bundling) -> Self {
        Self {
            rule,
            flushed: None,
            due: None,
            blocked: None,
            untimed: 0,
        }
    }

    /// Whether a bundle waits that was timed not long ago, and was not large enough then.
    #[inline(always)]
    pub fn is_timed(&self) -> bool {
        self.untimed > 0
    }

    /// Whether a message was appended to a bundle that waits, was timed not long ago, and still is not large
    /// enough, which is what is mostly to be said. Else nothing is changed: ask [`Bundle::appended_untimed`].
    #[inline(always)]
    pub fn goes_on(&mut self, pending: usize) -> bool {
        let goes_on = self.untimed > 0 && pending < self.rule.bytes;
        self.untimed -= u32::from(goes_on);
        goes_on
    }

    /// As [`Bundle::appended`], if that can be said without a look at the clock, which costs more than
    /// all else here.
    #[inline]
    pub fn appended_untimed(&mut self, pending: usize) -> Option<bool> {
        if let Some(until) = self.blocked {
            return Some(pending >= until);
        }
        if pending >= self.rule.bytes {
            return Some(true);
        }
        let left = self.untimed.checked_sub(1)?;
        self.untimed = left;
        Some(false)
    }

    /// A message was appended and `pending` bytes wait: true if they are to be written now.
    pub fn appended(&mut self, pending: usize, now: Instant) -> bool {
        if let Some(until) = self.blocked {
            return pending >= until;
        }
        let idle = |t: Instant| now.duration_since(t) >= self.rule.idle;
        if pending >= self.rule.bytes || self.flushed.is_none_or(idle) {
            return true;
        }
        let due = *self.due.get_or_insert(now + self.rule.age);
        self.untimed = UNTIMED_MAX;
        now >= due
    }

    /// When what waits must be written, if anything waits.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// What waited was written, and it is `now`: who writes to several, or wakes them, may be busy with that for longer than
    /// makes a link idle.
    pub fn flushed(&mut self, now: Instant) {
        self.flushed = Some(now);
        self.due = None;
        self.blocked = None;
        self.untimed = 0;
    }

    /// Some of what waited was written, `pending` bytes were not: the rest is written when the
    /// link has room again, for which the caller watches.
    pub fn blocked(&mut self, pending: usize) {
        self.due = None;
        self.blocked = Some(pending + self.rule.bytes.max(RETRY_BYTES));
        self.untimed = 0;
    }

    /// Whether the last write found no room for all.
    pub fn is_blocked(&self) -> bool {
        self.blocked.is_some()
    }

    /// The sender has waited for the link and something has come: what it sends next may be the
    /// answer that the other side waits for, so it is written at once. Only the next: after it
    /// the link is not idle.
    pub fn turned(&mut self) {
        self.flushed = None;
        self.untimed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_when_idle_large_or_old() {
        let us = Duration::from_micros;
        let mut bundle = Bundle::new(Bundling {
            bytes: 1000,
            idle: us(50),
            age: us(30),
        });
        let start = Instant::now();
        assert!(bundle.appended(10, start), "idle");
        bundle.flushed(start);
        assert!(!bundle.appended(10, start + us(10)));
        assert_eq!(bundle.due(), Some(start + us(40)));
        assert!(!bundle.appended(20, start + us(39)));
        assert!(bundle.appended(30, start + us(40)), "old");
        assert!(bundle.appended(1000, start + us(11)), "large");
        bundle.flushed(start + us(40));
        assert_eq!(bundle.due(), None);
        assert!(!bundle.appended(10, start + us(89)));
        assert!(bundle.appended(10, start + us(90)), "idle again");
    }

    #[test]
    fn asks_for_the_time_only_now_and_then() {
        let us = Duration::from_micros;
        let mut bundle = Bundle::new(Bundling {
            bytes: 1000,
            idle: us(50),
            age: us(30),
        });
        let start = Instant::now();
        assert_eq!(bundle.appended_untimed(1000), Some(true), "large");
        assert_eq!(bundle.appended_untimed(10), None, "may have been idle");
        bundle.flushed(start);
        assert_eq!(bundle.appended_untimed(10), None, "its age begins");
        assert!(!bundle.appended(10, start + us(10)));
        for _ in 0..UNTIMED_MAX {
            assert_eq!(bundle.appended_untimed(20), Some(false));
        }
        assert!(!bundle.goes_on(20), "as it is asked on the shortest way");
        assert_eq!(bundle.appended_untimed(20), None, "may be old");
        assert!(!bundle.appended(20, start + us(10)));
        assert!(bundle.goes_on(20) && !bundle.goes_on(1000));
        bundle.turned();
        assert!(!bundle.goes_on(20));
        assert_eq!(bundle.appended_untimed(20), None, "an answer");
        assert!(bundle.appended(20, start + us(11)));
        bundle.blocked(10);
        assert_eq!(bundle.appended_untimed(9 + RETRY_BYTES), Some(false));
        assert_eq!(bundle.appended_untimed(10 + RETRY_BYTES), Some(true));
    }

    #[test]
    fn writes_an_answer_at_once() {
        let us = Duration::from_micros;
        let rule = Bundling {
            bytes: 1000,
            idle: us(50),
            age: us(50),
        };
        let mut bundle = Bundle::new(rule);
        let start = Instant::now();
        bundle.flushed(start);
        bundle.turned();
        assert!(bundle.appended(10, start + us(1)));
        bundle.flushed(start + us(1));
        assert!(!bundle.appended(10, start + us(2)), "only the first");
    }

    #[test]
    fn does_not_try_a_full_link_for_each_message() {
        let us = Duration::from_micros;
        let rule = Bundling {
            bytes: 1000,
            idle: us(50),
            age: us(50),
        };
        let mut bundle = Bundle::new(rule);
        let start = Instant::now();
        assert!(bundle.appended(5000, start));
        bundle.blocked(4000);
        assert!(bundle.is_blocked() && bundle.due().is_none());
        assert!(!bundle.appended(5100, start + us(1000)));
        assert!(bundle.appended(4000 + RETRY_BYTES, start + us(1000)));
        bundle.flushed(start + us(1000));
        assert!(!bundle.is_blocked());
        assert!(bundle.appended(10, start + us(1050)));
    }

    /// Nor one where each message is written at once.
    #[test]
    fn without_bundles_a_full_link_is_not_tried_for_each_message() {
        let rule = Bundling {
            bytes: 0,
            idle: Duration::ZERO,
            age: Duration::ZERO,
        };
        let mut bundle = Bundle::new(rule);
        let start = Instant::now();
        assert!(bundle.appended(5000, start));
        bundle.blocked(4000);
        assert_eq!(bundle.appended_untimed(5000), Some(false));
        assert!(!bundle.appended(6000, start));
        assert!(bundle.appended(4000 + RETRY_BYTES, start));
    }
}
