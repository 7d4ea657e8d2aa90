//! Logical times and intervals, 1516.1-2010 §12.4: HLAinteger64Time and HLAfloat64Time.

use std::cmp::Ordering;
use std::fmt;

/// A number of one of the two types. All values are ordered: no NaN, one zero. Intervals may be
/// infinite, times are not.
#[derive(Clone, Copy, Debug)]
enum Number {
    Integer(i64),
    Float(f64),
}

/// A logical time. Times of different types are never in one federation execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogicalTime(Number);

/// A logical time interval, as of a lookahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LogicalTimeInterval(Number);

/// Which of the two types a federation execution uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimeType {
    /// HLAinteger64Time.
    Integer64,
    /// HLAfloat64Time.
    Float64,
}

/// A lower bound on time stamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Bound {
    /// At a time or later.
    At {
        /// The time.
        time: LogicalTime,
        /// Only later.
        strict: bool,
    },
    /// No time stamp is that late.
    Never,
}

impl TimeType {
    /// By the name that Create Federation Execution takes.
    pub fn by_name(name: &str) -> Option<Self> {
        match name {
            "HLAinteger64Time" => Some(TimeType::Integer64),
            "HLAfloat64Time" => Some(TimeType::Float64),
            _ => None,
        }
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            TimeType::Integer64 => "HLAinteger64Time",
            TimeType::Float64 => "HLAfloat64Time",
        }
    }

    /// The logical time at which federates begin.
    pub fn initial(self) -> LogicalTime {
        LogicalTime(self.zero())
    }

    /// The lookahead of no length.
    pub fn zero_interval(self) -> LogicalTimeInterval {
        LogicalTimeInterval(self.zero())
    }

    /// The final time (12.4).
    pub(crate) fn last(self) -> LogicalTime {
        LogicalTime(match self {
            TimeType::Integer64 => Number::Integer(i64::MAX),
            TimeType::Float64 => Number::Float(f64::MAX),
        })
    }

    /// Before all others of the type.
    pub(crate) fn least(self) -> LogicalTime {
        LogicalTime(match self {
            TimeType::Integer64 => Number::Integer(i64::MIN),
            TimeType::Float64 => Number::Float(f64::NEG_INFINITY),
        })
    }

    fn zero(self) -> Number {
        match self {
            TimeType::Integer64 => Number::Integer(0),
            TimeType::Float64 => Number::Float(0.0),
        }
    }
}

macro_rules! values {
    ($($type:ident)*) => {$(
        impl $type {
            /// Of the integer type.
            #[inline]
            pub fn integer64(value: i64) -> Self {
                $type(Number::Integer(value))
            }

            /// The value of the integer type.
            pub fn as_integer64(self) -> Option<i64> {
                match self.0 {
                    Number::Integer(value) => Some(value),
                    Number::Float(_) => None,
                }
            }

            /// The value of the floating-point type.
            pub fn as_float64(self) -> Option<f64> {
                match self.0 {
                    Number::Float(value) => Some(value),
                    Number::Integer(_) => None,
                }
            }

            /// Its type.
            #[inline]
            pub fn time_type(self) -> TimeType {
                match self.0 {
                    Number::Integer(_) => TimeType::Integer64,
                    Number::Float(_) => TimeType::Float64,
                }
            }

            /// The 64 bits that stand for it: two's complement, or IEEE 754.
            #[inline]
            pub fn to_bits(self) -> u64 {
                match self.0 {
                    Number::Integer(value) => value as u64,
                    Number::Float(value) => value.to_bits(),
                }
            }

            /// Reads [`Self::to_bits`]; none where [`Self::float64`] has none.
            #[inline]
            pub fn from_bits(of: TimeType, bits: u64) -> Option<Self> {
                match of {
                    TimeType::Integer64 => Some(Self::integer64(bits as i64)),
                    TimeType::Float64 => Self::float64(f64::from_bits(bits)),
                }
            }
        }

        impl fmt::Display for $type {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self.0 {
                    Number::Integer(value) => value.fmt(f),
                    // Beyond this not all digits that would be shown are its own, or most are zeros.
                    Number::Float(value)
                        if value.abs() >= 1e16 || (value != 0.0 && value.abs() < 1e-6) =>
                    {
                        write!(f, "{value:e}")
                    }
                    Number::Float(value) => value.fmt(f),
                }
            }
        }
    )*};
}
values!(LogicalTime LogicalTimeInterval);

impl LogicalTimeInterval {
    /// Of the floating-point type, which has an infinite one; none for what is not a number.
    pub fn float64(value: f64) -> Option<Self> {
        (!value.is_nan()).then_some(LogicalTimeInterval(Number::Float(value + 0.0)))
    }

    /// The longest of a type.
    pub(crate) fn longest(of: TimeType) -> Self {
        LogicalTimeInterval(match of {
            TimeType::Integer64 => Number::Integer(i64::MAX),
            TimeType::Float64 => Number::Float(f64::INFINITY),
        })
    }

    /// What is left of it after a shorter one.
    pub(crate) fn less(self, shorter: LogicalTimeInterval) -> Self {
        match (self.0, shorter.0) {
            (Number::Integer(i), Number::Integer(s)) => Self::integer64(i.saturating_sub(s)),
            (Number::Float(i), Number::Float(s)) => Self::float64(i - s).unwrap_or(self),
            _ => self,
        }
    }

    /// Whether it is less than no time at all.
    pub fn is_negative(self) -> bool {
        self.0 < self.time_type().zero()
    }

    /// Whether it has no length.
    pub fn is_zero(self) -> bool {
        self.0 == self.time_type().zero()
    }
}

impl LogicalTime {
    /// Of the floating-point type; none for what is not a number, or beyond the final time, the
    /// greatest finite value (§12.4).
    #[inline]
    pub fn float64(value: f64) -> Option<Self> {
        value
            .is_finite()
            .then_some(LogicalTime(Number::Float(value + 0.0)))
    }

    /// The time that much later; none beyond the last one of the type.
    #[inline]
    pub(crate) fn plus(self, interval: LogicalTimeInterval) -> Option<LogicalTime> {
        let sum = match (self.0, interval.0) {
            (Number::Integer(t), Number::Integer(i)) => Number::Integer(t.checked_add(i)?),
            (Number::Float(t), Number::Float(i)) => {
                return LogicalTime::float64(t + i);
            }
            _ => return None,
        };
        Some(LogicalTime(sum))
    }

    /// How much later it is than `earlier`.
    pub(crate) fn since(self, earlier: LogicalTime) -> LogicalTimeInterval {
        LogicalTimeInterval(match (self.0, earlier.0) {
            (Number::Integer(t), Number::Integer(e)) => Number::Integer(t.saturating_sub(e)),
            (Number::Float(t), Number::Float(e)) if t != e => Number::Float(t - e),
            _ => self.time_type().zero(),
        })
    }

    /// About the least time from `now` on of which `plus(interval)` is `target` or later; with `strict`,
    /// later, if the interval has a length at all there. Never too early.
    pub(crate) fn least_reaching(
        now: LogicalTime,
        target: LogicalTime,
        interval: LogicalTimeInterval,
        strict: bool,
    ) -> LogicalTime {
        let reaches = |t: LogicalTime| match t.plus(interval) {
            Some(sum) if strict => sum > target,
            Some(sum) => sum >= target,
            None => true,
        };
        if reaches(now) {
            return now;
        }
        let least = match (target.0, interval.0) {
            (Number::Integer(at), Number::Integer(by)) if by > 0 => {
                let exact = at.saturating_sub(by);
                LogicalTime::integer64(exact.saturating_add(strict.into()))
            }
            (Number::Float(at), Number::Float(by)) if by > 0.0 => {
                // A sum is rounded by half a unit of the target's last place at most.
                let next = at.next_up();
                let tries = [at, next, next.next_up()].map(|at| at - by);
                let tries = tries.into_iter().filter_map(LogicalTime::float64);
                let mut tries = tries.filter(|t| reaches(*t));
                tries.next().unwrap_or(target)
            }
            _ => target,
        };
        now.max(least)
    }
}

impl Bound {
    /// What comes `interval` after `time` or later. Where the interval is lost in rounding it is
    /// as none, and with `exclusive` (§8.8, §8.10) the time itself is not included then.
    #[inline]
    pub(crate) fn after(
        time: LogicalTime,
        interval: LogicalTimeInterval,
        exclusive: bool,
    ) -> Bound {
        match time.plus(interval) {
            Some(sum) => Bound::At {
                time: sum,
                strict: exclusive && sum == time,
            },
            None => Bound::Never,
        }
    }

    /// What somebody sends who waits for a message beyond this bound.
    pub(crate) fn relayed(self, interval: LogicalTimeInterval, exclusive: bool) -> Bound {
        let Bound::At { time, strict } = self else {
            return Bound::Never;
        };
        match Bound::after(time, interval, exclusive) {
            Bound::At {
                time: sum,
                strict: s,
            } => Bound::At {
                time: sum,
                strict: s || strict,
            },
            Bound::Never => Bound::Never,
        }
    }

    /// Its time; none for never.
    #[inline]
    pub(crate) fn time(self) -> Option<LogicalTime> {
        match self {
            Bound::At { time, .. } => Some(time),
            Bound::Never => None,
        }
    }

    /// Whether its time itself is too early.
    pub(crate) fn is_strict(self) -> bool {
        matches!(self, Bound::At { strict: true, .. })
    }

    /// Whether a time stamp lies within it.
    #[inline]
    pub(crate) fn admits(self, stamp: LogicalTime) -> bool {
        match self {
            Bound::At { time, strict } => stamp > time || (!strict && stamp == time),
            Bound::Never => false,
        }
    }

    /// Whether a federate may be granted `time` below it: all messages up to there have come; with
    /// `exclusive` those at the time, too.
    pub(crate) fn lets_pass(self, time: LogicalTime, exclusive: bool) -> bool {
        match (self, exclusive) {
            (Bound::Never, _) => true,
            (Bound::At { time: at, .. }, false) => at >= time,
            (bound, true) => !bound.admits(time),
        }
    }
}

impl PartialEq for Number {
    #[inline]
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => a == b,
            // With one zero and no NaN.
            (Number::Float(a), Number::Float(b)) => a == b,
            _ => false,
        }
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Number::Integer(a), Number::Integer(b)) => a.cmp(b),
            (Number::Float(a), Number::Float(b)) => a.total_cmp(b),
            (Number::Integer(_), Number::Float(_)) => Ordering::Less,
            (Number::Float(_), Number::Integer(_)) => Ordering::Greater,
        }
    }
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Bound::At { time, strict: true } => write!(f, "more than {time}"),
            Bound::At { time, .. } => write!(f, "at least {time}"),
            Bound::Never => f.write_str("beyond the last time there is"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn float(value: f64) -> LogicalTime {
        LogicalTime::float64(value).unwrap()
    }

    fn span(value: f64) -> LogicalTimeInterval {
        LogicalTimeInterval::float64(value).unwrap()
    }

    fn at(time: LogicalTime, strict: bool) -> Bound {
        Bound::At { time, strict }
    }

    #[test]
    fn floats_are_ordered_and_have_one_zero() {
        assert_eq!(float(-0.0), float(0.0));
        assert_eq!(float(-0.0).to_bits(), 0);
        let sorted = [f64::MIN, -1.0, 0.0, f64::MIN_POSITIVE, 1.0, f64::MAX];
        assert!(sorted.windows(2).all(|w| float(w[0]) < float(w[1])));
        for value in sorted {
            let bits = float(value).to_bits();
            assert_eq!(
                LogicalTime::from_bits(TimeType::Float64, bits),
                Some(float(value))
            );
        }
    }

    #[test]
    fn no_time_lies_beyond_the_final_one() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(LogicalTime::float64(value), None);
            let bits = value.to_bits();
            assert_eq!(LogicalTime::from_bits(TimeType::Float64, bits), None);
        }
        assert_eq!(LogicalTimeInterval::float64(f64::NAN), None);
        let endless = LogicalTimeInterval::longest(TimeType::Float64);
        assert_eq!(LogicalTimeInterval::float64(f64::INFINITY), Some(endless));
    }

    #[test]
    fn times_are_shown_by_digits_that_are_theirs() {
        let shown = |value| float(value).to_string();
        assert_eq!(shown(f64::MAX), "1.7976931348623157e308");
        assert_eq!(shown(-1e16), "-1e16");
        assert_eq!(shown(9_007_199_254_740_993.0), "9007199254740992");
        assert_eq!(shown(0.1), "0.1");
        assert_eq!(shown(0.0), "0");
        assert_eq!(shown(1e-6), "0.000001");
        assert_eq!(shown(-1.5e-7), "-1.5e-7");
        assert_eq!(shown(f64::from_bits(1)), "5e-324");
    }

    #[test]
    fn beyond_the_last_time_there_is_nothing() {
        let last = LogicalTime::integer64(i64::MAX);
        let one = LogicalTimeInterval::integer64(1);
        assert_eq!(Bound::after(last, one, true), Bound::Never);
        assert!(Bound::Never.lets_pass(last, true));
        assert!(!Bound::Never.admits(last));
        assert_eq!(
            Bound::after(float(1.0), span(f64::INFINITY), false),
            Bound::Never
        );
        assert_eq!(
            Bound::after(float(f64::MAX), span(f64::MAX), false),
            Bound::Never
        );
        assert_eq!(at(last, true).relayed(one, false), Bound::Never);
    }

    #[test]
    fn a_lookahead_lost_in_rounding_is_none() {
        let big = float(1e300);
        assert_eq!(Bound::after(big, span(1.0), true), at(big, true));
        assert_eq!(Bound::after(big, span(1.0), false), at(big, false));
        assert!(at(big, true).lets_pass(big, true));
        assert!(!at(big, false).lets_pass(big, true));
    }

    #[test]
    fn passing_a_bound() {
        let (four, five, six) = (float(4.0), float(5.0), float(6.0));
        for (bound, time, exclusive, passes) in [
            (at(five, false), four, true, true),
            (at(five, false), five, true, false),
            (at(five, true), five, true, true),
            (at(five, false), five, false, true),
            (at(five, true), six, true, false),
            (at(five, true), six, false, false),
        ] {
            assert_eq!(
                bound.lets_pass(time, exclusive),
                passes,
                "{bound} {time} {exclusive}"
            );
        }
    }

    #[test]
    fn the_least_time_that_reaches() {
        let least = |target: f64, by: f64, strict| {
            LogicalTime::least_reaching(float(-1e301), float(target), span(by), strict)
        };
        assert_eq!(least(100.0, 10.0, false), float(90.0));
        assert_eq!(least(100.0, 0.0, true), float(100.0));
        for (target, by) in [
            (100.0, 10.0),
            (0.3, 0.1),
            (1e300, 1.0),
            (1.0, 1e300),
            (7.7, 3.3),
        ] {
            let t = least(target, by, true);
            assert!(
                t.plus(span(by)).is_none_or(|s| s > float(target)),
                "{target} {by}"
            );
            let t = least(target, by, false);
            assert!(
                t.plus(span(by)).is_none_or(|s| s >= float(target)),
                "{target} {by}"
            );
        }
        let integer = LogicalTime::integer64;
        let by = LogicalTimeInterval::integer64;
        assert_eq!(
            LogicalTime::least_reaching(integer(i64::MIN), integer(100), by(10), true),
            integer(91)
        );
        assert_eq!(
            LogicalTime::least_reaching(integer(i64::MIN), integer(100), by(10), false),
            integer(90)
        );
        assert_eq!(
            LogicalTime::least_reaching(integer(i64::MIN), integer(-5), by(i64::MAX), true),
            integer(i64::MIN)
        );
        // Who reaches it already stays, also where the interval is lost in rounding or has no end.
        for by in [10.0, 1e300, f64::MAX, f64::INFINITY] {
            let t = LogicalTime::least_reaching(float(95.0), float(100.0), span(by), true);
            assert_eq!(t, float(95.0), "{by}");
        }
    }
}
