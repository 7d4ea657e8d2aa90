//! When a thread that waits for the link asks again for a while before it sleeps.
//!
//! To sleep and be woken on another CPU takes tens of microseconds; an answer that comes sooner is
//! here sooner by asking. Where nothing comes so soon, or other processes take the CPU meanwhile,
//! asking only costs; so it is done as long as it has paid lately. Where there are more federates than CPUs
//! those that ask would let each other run in turn, for nothing: who has let others run a few times sleeps.

use std::time::Duration;

/// What luck grows to, by one with each answer.
const LUCK: u32 = 8;
/// What a failure takes of it: to ask in vain costs more than an answer that was asked for saves.
const FAILURE: u32 = 4;
/// Waits without asking after that.
const PAUSE: u32 = 31;
/// Who lets others run and is back sooner than this found nobody who wanted to.
const TURN: Duration = Duration::from_nanos(1500);
/// Times that others may run before this sleeps.
const TURNS: u32 = 2;
/// Waits without asking once others have taken the CPU: their turn costs as much as many wake-ups.
const CROWDED: u32 = 2000;

/// What a waiting thread has learned.
#[derive(Debug)]
pub(crate) struct Patience {
    spin: Duration,
    luck: u32,
    pause: u32,
}

impl Patience {
    /// Asks for this long at most; zero: never.
    pub(crate) fn new(spin: Duration) -> Self {
        Patience {
            spin,
            luck: LUCK,
            pause: 0,
        }
    }

    /// For how long to ask before this sleep.
    pub(crate) fn spin(&mut self) -> Option<Duration> {
        if self.pause > 0 {
            self.pause -= 1;
            return None;
        }
        (!self.spin.is_zero()).then_some(self.spin)
    }

    /// Whether to ask on, when letting others run has `taken` so long; `turns` counts how often they did.
    pub(crate) fn asks_on(&self, taken: Duration, turns: &mut u32) -> bool {
        *turns += u32::from(taken > TURN);
        *turns <= TURNS
    }

    /// What became of it: whether anything came, and how long it took.
    pub(crate) fn learn(&mut self, came: bool, took: Duration) {
        if took > 4 * self.spin {
            self.pause = CROWDED;
        } else if came {
            self.luck = (self.luck + 1).min(LUCK);
        } else {
            self.luck = self.luck.saturating_sub(FAILURE);
            if self.luck == 0 {
                self.pause = PAUSE;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPIN: Duration = Duration::from_micros(50);

    fn asked(patience: &mut Patience, waits: u32, came: bool, took: Duration) -> u32 {
        let mut asked = 0;
        for _ in 0..waits {
            if patience.spin().is_some() {
                patience.learn(came, took);
                asked += 1;
            }
        }
        asked
    }

    #[test]
    fn asks_as_long_as_it_pays() {
        let mut patience = Patience::new(SPIN);
        assert_eq!(asked(&mut patience, 100, true, SPIN / 2), 100);
        assert_eq!(asked(&mut patience, 2 + 320, false, SPIN), 2 + 10);
        assert_eq!(asked(&mut patience, 32, true, SPIN / 2), 1);
        assert_eq!(asked(&mut patience, 100, true, SPIN / 2), 100);
    }

    #[test]
    fn what_comes_half_the_time_does_not_pay() {
        let mut patience = Patience::new(SPIN);
        let mut spun = 0;
        for wait in 0..1000 {
            if patience.spin().is_some() {
                patience.learn(wait % 2 == 0, SPIN / 2);
                spun += 1;
            }
        }
        assert!(spun < 100, "{spun}");
    }

    #[test]
    fn lets_others_run_twice_at_most() {
        let patience = Patience::new(SPIN);
        let mut turns = 0;
        let goes_on =
            [0, 2, 1, 2, 2].map(|us| patience.asks_on(Duration::from_micros(us), &mut turns));
        assert_eq!(goes_on, [true, true, true, true, false]);
    }

    #[test]
    fn leaves_a_crowded_cpu_alone() {
        let mut patience = Patience::new(SPIN);
        assert_eq!(asked(&mut patience, 2001, true, 60 * SPIN), 1);
        assert_eq!(asked(&mut patience, 1, true, SPIN), 1);
    }

    #[test]
    fn never_without_a_time() {
        assert_eq!(Patience::new(Duration::ZERO).spin(), None);
    }
}
