//! GALT, LITS and grants by brute force over a small range of whole times, for tests.
//!
//! Nothing here is closed form: what each federate may yet send is a table of yes and no over all
//! times, filled in until nothing changes. A time v has two points, 2v for "at v" and 2v + 1 for
//! "just after v", so that what is excluded at v can be told from what is not.
#![warn(missing_docs)]
#![forbid(unsafe_code)]

/// Times from 0 up to here are told apart.
pub const LAST: i64 = 160;
const POINTS: usize = 2 * LAST as usize + 2;

/// The five ways to ask for an advance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Time Advance Request.
    Tar,
    /// Time Advance Request Available.
    Tara,
    /// Next Message Request.
    Nmr,
    /// Next Message Request Available.
    Nmra,
    /// Flush Queue Request.
    Fqr,
}

/// A federate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Federate {
    /// It regulates, or will as soon as it may.
    pub regulating: bool,
    /// It is constrained.
    pub constrained: bool,
    /// Its logical time.
    pub time: i64,
    /// As asked for last.
    pub lookahead: i64,
    /// The first point that it may use, whatever its time and lookahead say.
    pub floor: i64,
    /// It may not use its own time any more if it has no lookahead.
    pub spent: bool,
    /// No message at its time comes to it any more.
    pub over: bool,
    /// What it waits for.
    pub request: Option<(Kind, i64)>,
    /// It waits for time regulation at this time.
    pub enabling: Option<i64>,
    /// It waits to be constrained.
    pub constraining: bool,
    /// For a save it was handed over all messages up to this time, before the grant that it waits for.
    pub released: Option<i64>,
    /// Time stamps of messages that wait for its advance.
    pub queue: Vec<i64>,
}

fn strict(kind: Kind) -> bool {
    matches!(kind, Kind::Tar | Kind::Nmr)
}

fn next_message(kind: Kind) -> bool {
    matches!(kind, Kind::Nmr | Kind::Nmra)
}

impl Federate {
    /// The first point that it may use once it is at a point.
    fn first_from(&self, point: i64, exclusive: bool) -> i64 {
        let mut first = point + 2 * self.lookahead;
        if self.lookahead == 0 && exclusive {
            first |= 1;
        }
        first.max(self.floor)
    }

    fn next(&self, to: i64) -> i64 {
        self.queue.iter().copied().fold(to, i64::min)
    }

    /// The first point that it may use now.
    pub fn first_point(&self) -> i64 {
        match self.request {
            Some((kind, to)) if kind != Kind::Fqr || !self.constrained => {
                self.first_from(2 * to, strict(kind))
            }
            _ => self.first_from(2 * self.time, self.spent),
        }
    }

    /// Keeps what it has promised, before it asks for an advance or another lookahead.
    pub fn keep_promise(&mut self) {
        if self.regulating {
            self.floor = self.first_from(2 * self.time, self.spent);
        }
    }
}

/// What can be sent by whom: by federate and point.
fn sendable(all: &[Federate]) -> Vec<Vec<bool>> {
    let mut may = vec![vec![false; POINTS]; all.len()];
    loop {
        let mut changed = false;
        for (me, f) in all.iter().enumerate().filter(|(_, f)| f.regulating) {
            // Points at which it may be told that its time has come.
            let mut grants = Vec::new();
            match (f.enabling, f.request) {
                (Some(at), _) => grants.push((2 * at, false)),
                (None, Some((kind, to))) if next_message(kind) => {
                    let latest = 2 * f.next(to);
                    grants.push((latest, strict(kind)));
                    if f.constrained {
                        let others = may.iter().enumerate().filter(|(k, _)| *k != me);
                        let points = others.flat_map(|(_, row)| {
                            row.iter()
                                .enumerate()
                                .filter(|(_, yes)| **yes)
                                .map(|(p, _)| p as i64)
                        });
                        grants.extend(points.filter(|p| *p < latest).map(|p| (p, strict(kind))));
                    }
                }
                _ => grants.push((f.first_point() - 2 * f.lookahead, false)),
            }
            let firsts = grants
                .iter()
                .map(|(p, exclusive)| f.first_from(*p, *exclusive));
            let Some(first) = firsts.min() else { continue };
            let first = usize::try_from(first).unwrap_or(0).min(POINTS);
            for yes in &mut may[me][first..] {
                changed |= !std::mem::replace(yes, true);
            }
        }
        if !changed {
            return may;
        }
    }
}

/// Of each federate, the first point at which a message can yet come to it, from whatever others
/// may do; none if none can in the range.
pub fn galts(all: &[Federate]) -> Vec<Option<i64>> {
    let may = sendable(all);
    let first = |(k, row): (usize, &Vec<bool>)| Some((k, row.iter().position(|yes| *yes)? as i64));
    let firsts: Vec<_> = may.iter().enumerate().filter_map(first).collect();
    let to = |me| {
        firsts
            .iter()
            .filter(move |(k, _)| *k != me)
            .map(|(_, p)| *p)
            .min()
    };
    (0..all.len()).map(to).collect()
}

/// The one of [`galts`] that is of `me`.
pub fn galt(all: &[Federate], me: usize) -> Option<i64> {
    galts(all)[me]
}

/// The least time stamp that has come or can come to `me`.
pub fn lits(all: &[Federate], me: usize) -> Option<i64> {
    let galt = galt(all, me).map(|p| p / 2);
    galt.into_iter().chain(all[me].queue.iter().copied()).min()
}

/// The time that can be granted to `me` now.
pub fn grant(all: &[Federate], me: usize) -> Option<i64> {
    let f = &all[me];
    let (kind, to) = f.request?;
    if !f.constrained {
        return Some(to);
    }
    let galt = galt(all, me);
    if kind == Kind::Fqr {
        return Some(galt.map_or(f.next(to), |g| f.next(to).min(g / 2)));
    }
    let time = if next_message(kind) { f.next(to) } else { to };
    // No point is left at which something comes too late.
    let late = |p: i64| {
        if strict(kind) {
            p <= 2 * time
        } else {
            p < 2 * time
        }
    };
    (!galt.is_some_and(late)).then_some(time)
}

/// Does what a grant does.
pub fn advance(f: &mut Federate, time: i64) {
    if let Some((kind, _)) = f.request.take() {
        f.spent = strict(kind);
        f.over = strict(kind);
        f.released = None;
        match kind {
            Kind::Fqr => f.queue.clear(),
            _ => f.queue.retain(|ts| *ts > time),
        }
    }
    f.time = time;
}

/// Whether `me` may become constrained now.
pub fn may_constrain(all: &[Federate], me: usize) -> bool {
    galt(all, me).is_none_or(|g| g >= 2 * all[me].time)
}

/// Whether `me`, which waits for regulation at `at`, may regulate now.
pub fn may_regulate(all: &[Federate], me: usize, at: i64) -> bool {
    !all[me].constrained || galt(all, me).is_none_or(|g| g >= 2 * at)
}

/// Whether `me`, which is constrained, is through a time at which all are saved: it waits for what lies beyond, has what
/// it would be granted before, and nothing up to that time can come to it any more.
pub fn is_through(all: &[Federate], me: usize, at: i64) -> bool {
    let f = &all[me];
    let (to, sooner) = match (f.enabling, f.request) {
        (Some(to), _) => (to, false),
        (None, Some((kind, to))) => (to, next_message(kind) || kind == Kind::Fqr),
        (None, None) => return f.time > at,
    };
    let has_them = !sooner || f.queue.iter().all(|ts| *ts > at);
    to > at && has_them && galt(all, me).is_none_or(|p| p > 2 * at)
}

/// Hands over to `f`, which is through a time or is not constrained, what has come up to there.
pub fn release(f: &mut Federate, at: i64) {
    f.queue.retain(|ts| *ts > at);
    f.released = f.constrained.then_some(at);
    // It keeps to that, though a flush may be granted less than it asks for.
    if f.regulating && matches!(f.request, Some((Kind::Fqr, to)) if to > at) {
        f.floor = f.first_from(2 * at, true);
    }
}

/// The time at which `me` may begin to regulate with a lookahead, and the first point that it may
/// use then: no point is over for any constrained federate.
pub fn regulation(all: &[Federate], me: usize, lookahead: i64) -> (i64, i64) {
    let others = all
        .iter()
        .enumerate()
        .filter(|(k, f)| *k != me && f.constrained);
    let over = others
        .map(|(_, f)| {
            let granted = 2 * f.time + i64::from(f.over);
            f.released.map_or(granted, |at| granted.max(2 * at + 1))
        })
        .max()
        .unwrap_or(0);
    for time in all[me].time..=LAST {
        let first = 2 * (time + lookahead);
        if first >= over {
            return (time, first);
        }
        // Without lookahead the time itself may be over; then what comes after it may be used.
        if lookahead == 0 && first + 1 >= over {
            return (time, first + 1);
        }
    }
    (LAST, over)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(lookahead: i64, request: Option<(Kind, i64)>) -> Federate {
        Federate {
            regulating: true,
            constrained: true,
            lookahead,
            request,
            ..Federate::default()
        }
    }

    #[test]
    fn far_next_messages_are_granted_in_one_round() {
        let all = [
            both(1, Some((Kind::Nmr, 60))),
            both(1, Some((Kind::Nmr, 120))),
        ];
        assert_eq!(galts(&all), [Some(124), Some(122)]);
        assert_eq!(grant(&all, 0), Some(60));
        assert_eq!(grant(&all, 1), None);
    }

    #[test]
    fn zero_lookahead() {
        let mut all = [
            both(0, Some((Kind::Tar, 10))),
            both(0, Some((Kind::Tara, 10))),
        ];
        assert_eq!(galts(&all), [Some(20), Some(21)]);
        assert_eq!((grant(&all, 0), grant(&all, 1)), (None, Some(10)));
        all[1].request = Some((Kind::Tar, 10));
        assert_eq!(galts(&all), [Some(21), Some(21)]);
        assert_eq!((grant(&all, 0), grant(&all, 1)), (Some(10), Some(10)));
    }

    #[test]
    fn three_kinds_of_lookahead() {
        let mut all = [
            both(1, Some((Kind::Tar, 40))),
            both(5, Some((Kind::Nmr, 100))),
            both(2, Some((Kind::Nmr, 50))),
        ];
        all[2].queue = vec![30];
        assert_eq!(galts(&all), [Some(64), Some(64), Some(74)]);
        assert_eq!(grant(&all, 2), Some(30));
        advance(&mut all[2], 30);
        all[2].keep_promise();
        all[2].request = Some((Kind::Tar, 60));
        assert_eq!(galts(&all), [Some(92), Some(82), Some(82)]);
        assert_eq!(
            (grant(&all, 0), grant(&all, 1), grant(&all, 2)),
            (Some(40), None, None)
        );
    }

    #[test]
    fn flush_queue() {
        let a = Federate {
            regulating: true,
            lookahead: 1,
            time: 5,
            ..Federate::default()
        };
        let b = |queue: &[i64]| Federate {
            constrained: true,
            time: 2,
            queue: queue.to_vec(),
            request: Some((Kind::Fqr, 20)),
            ..Federate::default()
        };
        assert_eq!(grant(&[a.clone(), b(&[4, 9])], 1), Some(4));
        assert_eq!(grant(&[a, b(&[9])], 1), Some(6));
        assert_eq!(grant(&[b(&[9])], 0), Some(9));
    }

    #[test]
    fn a_shorter_lookahead_comes_as_time_goes_on() {
        let mut f = Federate {
            regulating: true,
            lookahead: 5,
            time: 10,
            ..Federate::default()
        };
        f.keep_promise();
        f.lookahead = 1;
        for (kind, to, first) in [
            (None, 0, 30),
            (Some(Kind::Tar), 12, 30),
            (Some(Kind::Tar), 20, 42),
        ] {
            f.request = kind.map(|k| (k, to));
            assert_eq!(f.first_point(), first);
        }
    }

    #[test]
    fn enabling_regulation_moves_time() {
        let a = Federate {
            regulating: true,
            lookahead: 10,
            time: 140,
            ..Federate::default()
        };
        let b = |over| Federate {
            constrained: true,
            time: 100,
            over,
            ..Federate::default()
        };
        for (over, expected, galt_of_b) in [(true, (91, 202), 202), (false, (90, 200), 200)] {
            let mut all = [a.clone(), b(over), Federate::default()];
            assert_eq!(galt(&all, 1), Some(300));
            assert_eq!(regulation(&all, 2, 10), expected);
            (all[2].time, all[2].floor) = expected;
            (all[2].regulating, all[2].lookahead) = (true, 10);
            assert_eq!(galt(&all, 1), Some(galt_of_b));
        }
    }
}
