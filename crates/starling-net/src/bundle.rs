//! When a bundle of messages is written: at once if the link was idle, else when it is large or
//! old enough. Pure: the caller tells the time.

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
}

impl Bundle {
    /// An empty bundle.
    pub fn new(rule: Bundling) -> Self {
        Self {
            rule,
            flushed: None,
            due: None,
        }
    }

    /// A message was appended and `pending` bytes wait: true if they are to be written now.
    pub fn appended(&mut self, pending: usize, now: Instant) -> bool {
        let idle = |t: Instant| now.duration_since(t) >= self.rule.idle;
        if pending >= self.rule.bytes || self.flushed.is_none_or(idle) {
            return true;
        }
        let due = *self.due.get_or_insert(now + self.rule.age);
        now >= due
    }

    /// When what waits must be written, if anything waits.
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// What waited was written.
    pub fn flushed(&mut self, now: Instant) {
        self.flushed = Some(now);
        self.due = None;
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
}
