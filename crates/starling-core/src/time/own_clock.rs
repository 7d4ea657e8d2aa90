//! A joined federate's own clock, with what was found of the time stamp that it has used last: the next message mostly
//! has the same.

use super::galt::Clock;
use super::value::{Bound, LogicalTime};
use std::ops::Deref;

/// It is read as it is, and changed only through [`OwnClock::change`], which forgets what was found.
pub(super) struct OwnClock {
    clock: Clock,
    /// A time stamp that may be used, and whether it lies beyond what is promised.
    found: Option<(LogicalTime, bool)>,
}

impl From<Clock> for OwnClock {
    fn from(clock: Clock) -> Self {
        OwnClock { clock, found: None }
    }
}

impl Deref for OwnClock {
    type Target = Clock;
    #[inline]
    fn deref(&self) -> &Clock {
        &self.clock
    }
}

impl OwnClock {
    /// The clock, to be changed.
    pub(super) fn change(&mut self) -> &mut Clock {
        self.found = None;
        &mut self.clock
    }

    /// Whether a regulating federate may use this time stamp.
    #[inline]
    pub(super) fn admits(&mut self, stamp: LogicalTime) -> bool {
        matches!(self.found, Some((found, _)) if found == stamp) || self.find(stamp)
    }

    #[inline(never)]
    fn find(&mut self, stamp: LogicalTime) -> bool {
        let bound = self.clock.bound();
        let admits = bound.is_some_and(|bound| bound.admits(stamp));
        if admits {
            self.found = Some((stamp, self.is_beyond(stamp)));
        }
        admits
    }

    /// Whether a time stamp that may be used lies beyond what is promised: then its message may be retracted.
    #[inline(always)]
    pub(super) fn lets_retract(&self, stamp: LogicalTime) -> bool {
        match self.found {
            Some((found, beyond)) if found == stamp => beyond,
            _ => self.is_beyond(stamp),
        }
    }

    fn is_beyond(&self, stamp: LogicalTime) -> bool {
        self.clock.promised().and_then(Bound::time) < Some(stamp)
    }
}

#[cfg(test)]
mod tests {
    use super::super::galt::Advance;
    use super::super::value::{LogicalTimeInterval, TimeType};
    use super::*;

    #[test]
    fn what_was_found_goes_when_the_clock_changes() {
        let at = LogicalTime::integer64;
        let mut clock = OwnClock::from(Clock::new(TimeType::Integer64));
        assert!(!clock.admits(at(5)), "it does not regulate");
        let lookahead = LogicalTimeInterval::integer64(2);
        clock.change().regulate(lookahead, at(3), false);
        // Again, when it was found.
        for _ in 0..2 {
            assert!(clock.admits(at(6)) && clock.lets_retract(at(6)));
            assert!(clock.admits(at(5)) && !clock.lets_retract(at(5)));
            assert!(!clock.admits(at(4)));
        }
        clock.change().ask(Advance::Time, at(4));
        assert!(!clock.admits(at(5)), "counted from the time asked for");
        assert!(clock.admits(at(6)) && clock.lets_retract(at(6)));
        clock.change().grant(at(4));
        assert!(clock.admits(at(6)) && !clock.lets_retract(at(6)));
        clock.change().stop_regulating();
        assert!(!clock.admits(at(6)));
    }
}
