//! The closed form against brute force, over random runs of a few federates.

use super::galt::{Advance, Hold, Outcome, Stamped, Times};
use super::value::{Bound, LogicalTime, LogicalTimeInterval, TimeType};
use crate::FederateHandle;
use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use starling_galt_oracle::{self as oracle, Kind, LAST};
use std::cell::Cell;
use std::collections::BTreeSet;

thread_local! {
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

/// Somebody has looked at a federate, for where it stands or for what can be granted.
pub(super) fn looked() {
    LOOKS.set(LOOKS.get() + 1);
}

/// Requests ask for no time beyond, so that what may be sent after them lies in the oracle's range.
const END: i64 = LAST - 20;

#[derive(Clone, Debug)]
enum Input {
    Regulate(usize, i64),
    StopRegulating(usize),
    Constrain(usize),
    StopConstraining(usize),
    Lookahead(usize, i64),
    Ask(usize, Kind, i64),
    Send(usize, i64),
    Retract(usize),
    Leave(usize),
    /// It wants nothing of what it was granted a time for, and asks on.
    PassOver(usize),
    /// All are to be saved, so much beyond the one that is furthest behind.
    Save(i64),
    /// That is over, or nothing comes of it.
    EndOfSave,
}

/// A save at a time, of which these have been told.
#[derive(Default)]
struct Save {
    at: i64,
    told: BTreeSet<usize>,
    /// All are: nothing is granted.
    all: bool,
}

struct Sent {
    sender: usize,
    message: Stamped,
    time: i64,
}

/// The same federation execution twice.
struct Run {
    of: TimeType,
    times: Times,
    model: Vec<oracle::Federate>,
    sent: Vec<Sent>,
    sequence: u64,
    grants: usize,
    save: Option<Save>,
    /// By federate: what it asked for that ended with a message before, and where it was.
    granted_before: Vec<Option<(Kind, i64, i64)>>,
    /// Who has passed over a grant, and where it still is.
    still: Vec<Option<i64>>,
    met: Met,
}

/// How often what has come that is seldom.
#[derive(Clone, Copy, Debug, Default)]
struct Met {
    refused: u32,
    told: u32,
    handed_over: u32,
    saved: u32,
    held: u32,
    passed_over: u32,
    regulated_meanwhile: u32,
}

impl Met {
    fn all(self) -> [(&'static str, u32); 7] {
        [
            ("a save that can't be honoured", self.refused),
            ("told to save", self.told),
            ("messages handed over for a save", self.handed_over),
            ("all are told", self.saved),
            ("an advance that a save holds", self.held),
            ("a grant passed over", self.passed_over),
            ("regulation begun before a save", self.regulated_meanwhile),
        ]
    }

    fn and(self, other: Met) -> Met {
        Met {
            refused: self.refused + other.refused,
            told: self.told + other.told,
            handed_over: self.handed_over + other.handed_over,
            saved: self.saved + other.saved,
            held: self.held + other.held,
            passed_over: self.passed_over + other.passed_over,
            regulated_meanwhile: self.regulated_meanwhile + other.regulated_meanwhile,
        }
    }
}

fn handle(federate: usize) -> FederateHandle {
    FederateHandle(federate as u32 + 1)
}

fn advance(kind: Kind) -> Advance {
    match kind {
        Kind::Tar => Advance::Time,
        Kind::Tara => Advance::TimeAvailable,
        Kind::Nmr => Advance::NextMessage,
        Kind::Nmra => Advance::NextMessageAvailable,
        Kind::Fqr => Advance::FlushQueue,
    }
}

impl Run {
    fn new(of: TimeType, federates: usize) -> Self {
        let mut times = Times::new(of);
        (0..federates).for_each(|f| times.join(handle(f)));
        Run {
            of,
            times,
            model: vec![oracle::Federate::default(); federates],
            sent: Vec::new(),
            sequence: 0,
            grants: 0,
            save: None,
            granted_before: vec![None; federates],
            still: vec![None; federates],
            met: Met::default(),
        }
    }

    fn time(&self, value: i64) -> LogicalTime {
        match self.of {
            TimeType::Integer64 => LogicalTime::integer64(value),
            TimeType::Float64 => LogicalTime::float64(value as f64).unwrap(),
        }
    }

    fn interval(&self, value: i64) -> LogicalTimeInterval {
        match self.of {
            TimeType::Integer64 => LogicalTimeInterval::integer64(value),
            TimeType::Float64 => LogicalTimeInterval::float64(value as f64).unwrap(),
        }
    }

    /// Twice the time, as the oracle's points. Floating-point times that lie between whole ones are
    /// told apart in the first unit of the last place, which is "just after".
    fn point(&self, bound: Bound) -> Option<i64> {
        let Bound::At { time, strict } = bound else {
            return None;
        };
        let point = match (time.as_integer64(), time.as_float64()) {
            (Some(v), _) => 2 * v,
            (_, Some(v)) => 2 * v.floor() as i64 + i64::from(v.fract() != 0.0),
            _ => unreachable!("a time is of one of the two types"),
        };
        (point <= 2 * LAST + 1).then_some(point | i64::from(strict))
    }

    fn whole(&self, time: LogicalTime) -> i64 {
        self.point(Bound::At {
            time,
            strict: false,
        })
        .unwrap()
            / 2
    }

    /// Does it if a federate may; whether it has.
    fn input(&mut self, input: &Input) -> bool {
        let of = match input {
            Input::Regulate(f, _) | Input::StopRegulating(f) | Input::Constrain(f) => *f,
            Input::StopConstraining(f) | Input::Lookahead(f, _) | Input::Ask(f, ..) => *f,
            Input::Send(f, _) | Input::Leave(f) | Input::PassOver(f) => *f,
            Input::Retract(nth) => return self.retract(*nth),
            Input::Save(by) => return self.save_at(*by),
            Input::EndOfSave => return self.end_save(),
        };
        if self.times.clock(handle(of)).is_none() {
            return false;
        }
        // Who has been told of a save does nothing else.
        let told = self
            .save
            .as_ref()
            .is_some_and(|save| save.told.contains(&of));
        if told && !matches!(input, Input::Leave(_)) {
            return false;
        }
        let (f, h) = (&self.model[of], handle(of));
        let enabling = f.enabling.is_some();
        let waits = f.request.is_some() || enabling || f.constraining;
        match *input {
            Input::Regulate(_, lookahead) if f.request.is_none() && !f.regulating => {
                let (at, first) = oracle::regulation(&self.model, of, lookahead);
                let over = |f: &oracle::Federate| f.constrained && (f.over || f.released.is_some());
                if self.of == TimeType::Float64 && lookahead > 0 && self.model.iter().any(over) {
                    // There is a floating-point time between those that the oracle knows.
                    return false;
                }
                let f = &mut self.model[of];
                (f.regulating, f.enabling, f.floor) = (true, Some(at), first);
                (f.lookahead, f.spent) = (lookahead, false);
                self.times.enable_regulation(h, self.interval(lookahead));
            }
            Input::StopRegulating(_) if f.regulating && !enabling => {
                let f = &mut self.model[of];
                (f.regulating, f.floor) = (false, 0);
                self.times.disable_regulation(h);
            }
            Input::Constrain(_) if !waits && !f.constrained => {
                self.model[of].constraining = true;
                self.times.enable_constrained(h);
            }
            Input::StopConstraining(_) if f.constrained => {
                let f = &mut self.model[of];
                f.constrained = false;
                f.released = None;
                f.queue.clear();
                self.granted_before[of] = None;
                self.times.disable_constrained(h);
            }
            Input::Lookahead(_, lookahead) if f.regulating && !enabling && f.request.is_none() => {
                let f = &mut self.model[of];
                f.keep_promise();
                f.lookahead = lookahead;
                self.times.modify_lookahead(h, self.interval(lookahead));
            }
            Input::Ask(_, kind, by) if !waits => {
                let to = (f.time + by).min(END);
                let f = &mut self.model[of];
                f.keep_promise();
                f.request = Some((kind, to));
                self.granted_before[of] = None;
                self.times.ask(h, advance(kind), self.time(to));
            }
            Input::PassOver(_) => {
                let Some((kind, to, at)) = self.granted_before[of].take().filter(|_| !waits) else {
                    return false;
                };
                let f = &mut self.model[of];
                f.keep_promise();
                f.request = Some((kind, to));
                self.still[of] = Some(at);
                self.met.passed_over += 1;
                let on = (advance(kind), self.time(to));
                self.times.ask_on(h, on, self.time(at));
            }
            Input::Send(_, by) if f.regulating && !enabling => {
                // A flush that is held is counted from the time asked for, like the others.
                let mut counted = f.clone();
                if let Some((kind @ Kind::Fqr, _)) = &mut counted.request {
                    *kind = Kind::Tara;
                }
                let first = counted.first_point();
                let time = ((first + 1) / 2 + by).min(END + 15);
                let bound = self.times.bounds(h).0.unwrap();
                // Both agree on what it may send, to the point.
                assert_eq!(self.point(bound), Some(first));
                if !bound.admits(self.time(time)) {
                    return false;
                }
                self.sequence += 1;
                let message = Stamped {
                    time: self.time(time),
                    sequence: self.sequence,
                };
                for (to, f) in self.model.iter_mut().enumerate() {
                    if to != of && f.constrained {
                        let late = time < f.time || (f.over && time == f.time);
                        let late = late || Some(time) <= f.released;
                        assert!(!late, "{time} comes to {to} at {}", f.time);
                        f.queue.push(time);
                        self.times.push(handle(to), message, 1);
                    }
                }
                self.sent.push(Sent {
                    sender: of,
                    message,
                    time,
                });
            }
            Input::Leave(_) => {
                self.model[of] = oracle::Federate::default();
                (self.granted_before[of], self.still[of]) = (None, None);
                self.times.leave(h);
                // Else it is saved without it.
                if self.save.as_ref().is_some_and(|save| !save.told.is_empty()) {
                    self.end_save();
                }
            }
            _ => return false,
        }
        true
    }

    fn retract(&mut self, nth: usize) -> bool {
        if self.sent.is_empty() {
            return false;
        }
        let sent = self.sent.swap_remove(nth % self.sent.len());
        // As the sender may (8.21): not what lies at its bound.
        let sender = self.times.bounds(handle(sent.sender)).0;
        let bound = sender.and_then(Bound::time);
        if bound.is_none_or(|bound| sent.message.time <= bound) {
            return false;
        }
        for (to, f) in self.model.iter_mut().enumerate() {
            if self.times.retract(handle(to), sent.message) {
                let at = f.queue.iter().position(|ts| *ts == sent.time);
                f.queue.swap_remove(at.expect("both have it"));
            }
        }
        true
    }

    /// A later save takes the place of one of which nobody has been told.
    fn save_at(&mut self, by: i64) -> bool {
        if self.save.as_ref().is_some_and(|save| !save.told.is_empty()) {
            return false;
        }
        let there = (0..self.model.len()).filter(|me| self.times.clock(handle(*me)).is_some());
        let Some(least) = there.map(|me| self.model[me].time).min() else {
            return false;
        };
        let at = (least + by).min(END - 1);
        let passed = |(me, f): (usize, &oracle::Federate)| {
            let time = self.still[me].unwrap_or(f.time);
            f.constrained && Some(time).max(f.released) > Some(at)
        };
        let passed = self.model.iter().enumerate().any(passed);
        assert_eq!(self.times.has_passed(self.time(at)).is_some(), passed);
        self.save = None;
        if passed {
            // Nor does that come which it would have taken the place of.
            self.met.refused += 1;
            self.times.set_hold(Hold::Nothing);
            return true;
        }
        self.times.set_hold(Hold::Beyond(self.time(at)));
        self.save = Some(Save {
            at,
            ..Save::default()
        });
        true
    }

    fn end_save(&mut self) -> bool {
        self.times.set_hold(Hold::Nothing);
        self.save.take().is_some()
    }

    /// Whether a federate may not come to a time, for the sake of a save.
    fn is_held(&self, me: usize, time: i64) -> bool {
        self.save.as_ref().is_some_and(|save| {
            save.all || time > save.at || self.model[me].released == Some(save.at)
        })
    }

    /// Tells those of the save who are through its time, and when all constrained ones are, all. Whether there were any.
    fn tell(&mut self) -> bool {
        let Some(save) = self.save.as_ref().filter(|save| !save.all) else {
            return false;
        };
        let at = save.at;
        let there = (0..self.model.len()).filter(|me| self.times.clock(handle(*me)).is_some());
        let (constrained, others): (Vec<_>, Vec<_>) =
            there.partition(|me| self.model[*me].constrained);
        let through = |me: &usize| oracle::is_through(&self.model, *me, at);
        let mut all = constrained.iter().all(through);
        if constrained.is_empty() {
            // As far as it goes by its time, who regulates sends nothing up to there any more.
            all = others.iter().all(|me| {
                let f = &self.model[*me];
                let asked = f.request.map(|(_, to)| to).or(f.enabling);
                !f.regulating || f.time >= at || asked > Some(at)
            });
        }
        for me in &constrained {
            let says = self.times.is_through(handle(*me), self.time(at));
            assert_eq!(says, through(me), "{me} at {at} of {:?}", self.model);
            let stays = !save.told.contains(me) || through(me);
            assert!(stays, "{me} was told at {at} of {:?}", self.model);
        }
        let is_new = |me: &usize| !save.told.contains(me);
        let mut now: Vec<_> = constrained.iter().copied().filter(through).collect();
        now.extend(others.iter().copied().filter(|_| all));
        now.retain(is_new);
        if !self.times.may_be_through(self.time(at)) {
            assert_eq!(now, [], "it is worth a look at {at}: {:?}", self.model);
        }
        for me in &now {
            let before = self.model[*me].queue.len();
            oracle::release(&mut self.model[*me], at);
            self.met.handed_over += u32::from(self.model[*me].queue.len() < before);
            self.times.release(handle(*me), self.time(at));
        }
        if all {
            self.times.set_hold(Hold::All);
            self.met.saved += 1;
        }
        self.met.told += now.len() as u32;
        let any = !now.is_empty();
        let save = self.save.as_mut().expect("it was just looked at");
        save.told.extend(now);
        save.all = all;
        any
    }

    fn settle(&mut self) {
        loop {
            self.settle_time();
            if !self.tell() {
                break;
            }
        }
        self.look_at_waits();
        for (me, f) in self.model.iter().enumerate() {
            let granted = oracle::grant(&self.model, me);
            let waits = granted.is_none_or(|time| self.is_held(me, time));
            assert!(waits, "{me} of {:?}", self.model);
            self.met.held += u32::from(granted.is_some());
            let all = self.save.as_ref().is_some_and(|save| save.all);
            assert!(all || !f.constraining || !oracle::may_constrain(&self.model, me));
            let regulates = |at: i64| oracle::may_regulate(&self.model, me, at);
            let enabled = f.enabling.filter(|at| regulates(*at));
            assert!(enabled.is_none_or(|at| self.is_held(me, at)));
        }
    }

    fn settle_time(&mut self) {
        loop {
            self.compare();
            let Some((federate, outcome)) = self.times.settle() else {
                break;
            };
            let me = federate.0 as usize - 1;
            match outcome {
                Outcome::Granted { time, flush } => {
                    let time = self.whole(time);
                    assert_eq!(oracle::grant(&self.model, me), Some(time));
                    assert!(!self.is_held(me, time), "{me} of {:?}", self.model);
                    let f = &mut self.model[me];
                    let (kind, to) = f.request.unwrap();
                    assert_eq!(flush, kind == Kind::Fqr);
                    let before = self.still[me].take().unwrap_or(f.time);
                    let may = f.constrained && time < to;
                    let may = may && !matches!(kind, Kind::Tar | Kind::Tara);
                    self.granted_before[me] = may.then_some((kind, to, before));
                    oracle::advance(f, time);
                    self.grants += 1;
                }
                Outcome::Regulating { time, .. } => {
                    let time = self.whole(time);
                    assert_eq!(self.model[me].enabling.take(), Some(time));
                    assert!(oracle::may_regulate(&self.model, me, time));
                    assert!(!self.is_held(me, time), "{me} of {:?}", self.model);
                    self.met.regulated_meanwhile += u32::from(self.save.is_some());
                    let f = &mut self.model[me];
                    f.over &= f.time == time;
                    f.time = time;
                    f.released = None;
                    f.queue.retain(|ts| *ts > time);
                    (self.granted_before[me], self.still[me]) = (None, None);
                }
                Outcome::Constrained => {
                    assert!(oracle::may_constrain(&self.model, me));
                    let f = &mut self.model[me];
                    (f.constraining, f.constrained, f.over) = (false, true, false);
                    self.granted_before[me] = None;
                }
            }
        }
    }

    fn compare(&self) {
        for (me, galt) in oracle::galts(&self.model).into_iter().enumerate() {
            let of = handle(me);
            if self.times.clock(of).is_none() {
                continue;
            }
            assert_eq!(
                self.point(self.times.galt(of)),
                galt,
                "{me} of {:?}",
                self.model
            );
            let lits = self
                .times
                .lits(of)
                .filter(|t| self.whole_or_beyond(*t) <= LAST);
            assert_eq!(lits.map(|t| self.whole(t)), oracle::lits(&self.model, me));
            assert_eq!(self.times.queued(of), self.model[me].queue.len());
        }
    }

    /// Who still waits is behind somebody, and the one with the least bound waits for nobody: so
    /// `starling why` need not follow a chain.
    fn look_at_waits(&self) {
        for me in (0..self.model.len()).map(handle) {
            let wait = self.times.wait(me);
            let first = wait.as_ref().and_then(|w| w.behind.first());
            assert_eq!(self.times.waits_for(me), first.map(|(first, _)| *first));
            let Some(wait) = wait else {
                assert!(!self.times.is_waiting(me));
                continue;
            };
            let Some((first, bound)) = wait.behind.first() else {
                assert!(wait.held, "else it was granted");
                continue;
            };
            assert_eq!(self.times.galt(me), *bound, "the least one is its GALT");
            let behind = self.times.wait(*first);
            assert!(behind.is_none_or(|wait| wait.held), "{:?}", self.model);
        }
    }

    fn whole_or_beyond(&self, time: LogicalTime) -> i64 {
        time.as_integer64()
            .or(time.as_float64().map(|f| f as i64))
            .unwrap()
    }

    /// Once nothing is switched any more and all keep asking, all get to the end.
    fn finish(&mut self, kinds: &[Kind]) {
        for round in 0..4_000 {
            let mut done = self.save.is_none();
            if self.save.as_ref().is_some_and(|save| save.all) {
                self.end_save();
                self.settle();
            }
            for me in 0..self.model.len() {
                if self.times.clock(handle(me)).is_none() {
                    continue;
                }
                let f = &self.model[me];
                done &= f.time >= END && f.enabling.is_none() && !f.constraining;
                // At the end, too, it goes on to where no message can come to others.
                let kind = if f.time >= END {
                    Kind::Tar
                } else {
                    kinds[(round + me) % kinds.len()]
                };
                if f.request.is_none() && f.enabling.is_none() && !f.constraining {
                    self.input(&Input::Ask(me, kind, 7 + me as i64));
                    self.settle();
                }
            }
            if done {
                return;
            }
        }
        panic!("no end: {:?}", self.model);
    }
}

fn kind() -> impl Strategy<Value = Kind> {
    prop::sample::select(vec![
        Kind::Tar,
        Kind::Tara,
        Kind::Nmr,
        Kind::Nmra,
        Kind::Fqr,
    ])
}

fn input(federates: usize) -> impl Strategy<Value = Input> {
    let f = move || 0..federates;
    let lookahead = || prop_oneof![Just(0), 0i64..6];
    prop_oneof![
        3 => (f(), lookahead()).prop_map(|(f, l)| Input::Regulate(f, l)),
        1 => f().prop_map(Input::StopRegulating),
        3 => f().prop_map(Input::Constrain),
        1 => f().prop_map(Input::StopConstraining),
        1 => (f(), lookahead()).prop_map(|(f, l)| Input::Lookahead(f, l)),
        12 => (f(), kind(), 0i64..25).prop_map(|(f, k, by)| Input::Ask(f, k, by)),
        8 => (f(), 0i64..12).prop_map(|(f, by)| Input::Send(f, by)),
        2 => (0usize..1_000).prop_map(Input::Retract),
        1 => f().prop_map(Input::Leave),
        6 => f().prop_map(Input::PassOver),
        2 => (0i64..30).prop_map(Input::Save),
        1 => Just(Input::EndOfSave),
    ]
}

fn run() -> impl Strategy<Value = (bool, usize, Vec<Input>, Vec<Kind>)> {
    (2usize..6).prop_flat_map(|n| {
        let kinds = prop::sample::select(vec![Kind::Tar, Kind::Tara, Kind::Nmr, Kind::Nmra]);
        let inputs = prop::collection::vec(input(n), 0..60);
        // In half of the runs all take part in time from the beginning.
        let inputs = (any::<bool>(), inputs).prop_map(move |(all, inputs)| {
            let begin = (0..n).flat_map(|f| [Input::Constrain(f), Input::Regulate(f, f as i64)]);
            begin.filter(|_| all).chain(inputs).collect()
        });
        (
            any::<bool>(),
            Just(n),
            inputs,
            prop::collection::vec(kinds, 1..4),
        )
    })
}

#[test]
fn as_brute_force_says() {
    let config = ProptestConfig {
        cases: 800,
        source_file: Some(file!()),
        ..ProptestConfig::default()
    };
    let met = Cell::new(Met::default());
    let done = TestRunner::new(config).run(&run(), |(integers, federates, inputs, kinds)| {
        let of = if integers {
            TimeType::Integer64
        } else {
            TimeType::Float64
        };
        let mut run = Run::new(of, federates);
        for input in &inputs {
            if run.input(input) {
                run.settle();
            }
        }
        run.finish(&kinds);
        met.set(met.get().and(run.met));
        Ok(())
    });
    done.unwrap_or_else(|failure| panic!("{failure}"));
    let met = met.get();
    for (what, times) in met.all() {
        assert!(
            times >= 5,
            "the runs do too little: {times} x {what}, {met:?}"
        );
    }
}

#[test]
fn next_messages_a_million_apart_take_one_round() {
    let mut times = Times::new(TimeType::Float64);
    let (a, b) = (handle(0), handle(1));
    let time = |t: f64| LogicalTime::float64(t).unwrap();
    for f in [a, b] {
        times.join(f);
        times.enable_regulation(f, LogicalTimeInterval::float64(1.0).unwrap());
        times.enable_constrained(f);
    }
    while times.settle().is_some() {}
    times.ask(a, Advance::NextMessage, time(1e6));
    assert_eq!(times.settle(), None);
    times.ask(b, Advance::NextMessage, time(2e6));
    assert_eq!(times.galt(a).time(), Some(time(1_000_002.0)));
    assert_eq!(times.galt(b).time(), Some(time(1_000_001.0)));
    let granted = Outcome::Granted {
        time: time(1e6),
        flush: false,
    };
    assert_eq!(times.settle(), Some((a, granted)));
    assert_eq!(times.settle(), None);
}

#[test]
fn at_the_last_time_and_with_endless_lookahead_advances_are_granted() {
    let run = |of: TimeType, lookahead: LogicalTimeInterval, last: LogicalTime| {
        let mut times = Times::new(of);
        for f in [handle(0), handle(1)] {
            times.join(f);
            times.enable_regulation(f, lookahead);
            times.enable_constrained(f);
        }
        while times.settle().is_some() {}
        times.ask(handle(0), Advance::Time, last);
        let at_once = times.settle();
        times.ask(handle(1), Advance::NextMessage, last);
        let later = std::iter::from_fn(|| times.settle());
        let all: Vec<_> = at_once.into_iter().chain(later).collect();
        let granted = Outcome::Granted {
            time: last,
            flush: false,
        };
        assert_eq!(all, [(handle(0), granted), (handle(1), granted)]);
        at_once.is_some()
    };
    for lookahead in [0, 1, i64::MAX] {
        let lookahead = LogicalTimeInterval::integer64(lookahead);
        let last = LogicalTime::integer64(i64::MAX);
        assert!(!run(TimeType::Integer64, lookahead, last));
    }
    for (lookahead, at_once) in [(0.0, false), (1.0, false), (f64::INFINITY, true)] {
        let lookahead = LogicalTimeInterval::float64(lookahead).unwrap();
        let last = LogicalTime::float64(f64::MAX).unwrap();
        assert_eq!(run(TimeType::Float64, lookahead, last), at_once);
    }
}

/// How often one looks at a federate for rounds in which so many regulating and constrained ones
/// ask for an advance of this kind, and for the state of all.
fn looks_of_rounds(kind: Kind, federates: u64) -> u64 {
    let mut run = Run::new(TimeType::Integer64, federates as usize);
    let all = || (1..=federates as u32).map(FederateHandle);
    let lookahead = run.interval(10);
    all().for_each(|f| run.times.enable_regulation(f, lookahead));
    while run.times.settle().is_some() {}
    all().for_each(|f| run.times.enable_constrained(f));
    while run.times.settle().is_some() {}
    LOOKS.set(0);
    for round in 1..=3 {
        let mut grants = 0;
        for f in all() {
            // Each has an event of its own, somewhere within the lookahead.
            let to = run.time(10 * round + i64::from(f.0) % 7);
            run.times.ask(f, advance(kind), to);
            grants += std::iter::from_fn(|| run.times.settle()).count() as u64;
        }
        assert_eq!(grants, federates, "{kind:?}, round {round}");
        all().for_each(|f| {
            looked();
            run.times.lits(f);
        });
    }
    LOOKS.get()
}

#[test]
fn a_grant_does_not_look_at_all_federates() {
    for kind in [Kind::Tar, Kind::Tara, Kind::Nmr, Kind::Nmra, Kind::Fqr] {
        let (few, many) = (looks_of_rounds(kind, 50), looks_of_rounds(kind, 500));
        assert!(
            many < 12 * few,
            "{kind:?}: {few} looks for 50, {many} for 500"
        );
    }
}

/// So many federates, all of which regulate with that lookahead.
fn regulating(federates: u32, lookahead: i64) -> Run {
    let mut run = Run::new(TimeType::Integer64, federates as usize);
    let lookahead = run.interval(lookahead);
    for f in (1..=federates).map(FederateHandle) {
        run.times.enable_regulation(f, lookahead);
    }
    while run.times.settle().is_some() {}
    run
}

/// The same, and all are constrained.
fn regulating_and_constrained(federates: u32, lookahead: i64) -> Run {
    let mut run = regulating(federates, lookahead);
    for f in (1..=federates).map(FederateHandle) {
        run.times.enable_constrained(f);
    }
    while run.times.settle().is_some() {}
    run
}

/// For ten times as many federates so many times as many looks, and hardly more.
fn grow_no_faster(looks: impl Fn(u32) -> u64) {
    let (few, many) = (looks(50), looks(500));
    assert!(many < 12 * few, "{few} looks for 50, {many} for 500");
}

#[test]
fn whoever_steps_while_others_wait_for_messages_does_not_look_at_all() {
    let looks = |federates: u32, lookahead: i64, kind: Advance| {
        let all = || (1..=federates).map(FederateHandle);
        let mut run = regulating_and_constrained(federates, lookahead);
        let end = run.time(1000);
        all().skip(1).for_each(|f| run.times.ask(f, kind, end));
        assert_eq!(run.times.settle(), None);
        LOOKS.set(0);
        for step in 1..=50 {
            let to = run.time(step);
            run.times.ask(FederateHandle(1), Advance::TimeAvailable, to);
            let granted = std::iter::from_fn(|| run.times.settle()).count();
            assert_eq!(granted, 1, "step {step}");
        }
        LOOKS.get()
    };
    for lookahead in [0, 10] {
        for kind in [Advance::NextMessage, Advance::NextMessageAvailable] {
            let (few, many) = (looks(50, lookahead, kind), looks(500, lookahead, kind));
            assert_eq!(few, many, "{kind:?} with lookahead {lookahead}");
        }
    }
}

/// With a lookahead that they have shortened, and have not come to what it was before.
#[test]
fn whoever_steps_while_others_keep_to_a_longer_lookahead_does_not_look_at_all() {
    let looks = |federates: u32, before: i64, kind: Advance| {
        let mut run = Run::new(TimeType::Integer64, federates as usize);
        let all = || (1..=federates).map(FederateHandle);
        for f in all() {
            let lookahead = run.interval(if f.0 == 1 { 10 } else { before });
            run.times.enable_regulation(f, lookahead);
        }
        while run.times.settle().is_some() {}
        all().for_each(|f| run.times.enable_constrained(f));
        while run.times.settle().is_some() {}
        let (end, shorter) = (run.time(100_000), run.interval(1));
        for f in all().skip(1) {
            run.times.modify_lookahead(f, shorter);
            run.times.ask(f, kind, end);
        }
        assert_eq!(run.times.settle(), None);
        LOOKS.set(0);
        for step in 1..=50 {
            let to = run.time(step);
            run.times.ask(FederateHandle(1), Advance::TimeAvailable, to);
            let granted = std::iter::from_fn(|| run.times.settle()).count();
            assert_eq!(granted, 1, "step {step}");
        }
        LOOKS.get()
    };
    // What they have promised is behind them soon, or never.
    for before in [20, 10_000] {
        for kind in [Advance::NextMessage, Advance::NextMessageAvailable] {
            let (few, many) = (looks(50, before, kind), looks(500, before, kind));
            assert_eq!(few, many, "{kind:?}, a lookahead of {before} before");
        }
    }
}

#[test]
fn who_begins_to_regulate_does_not_look_at_all() {
    let looks = |federates: u32| {
        let mut run = Run::new(TimeType::Integer64, federates as usize);
        let all = || (1..=federates).map(FederateHandle);
        all().for_each(|f| run.times.enable_constrained(f));
        while run.times.settle().is_some() {}
        let lookahead = run.interval(10);
        LOOKS.set(0);
        for f in all() {
            run.times.enable_regulation(f, lookahead);
            assert!(run.times.settle().is_some(), "{f}");
        }
        LOOKS.get()
    };
    grow_no_faster(looks);
}

#[test]
fn while_a_save_waits_for_its_time_nobody_looks_at_all_for_each_grant() {
    let looks = |federates: u32| {
        let all = || (1..=federates).map(FederateHandle);
        let mut run = regulating_and_constrained(federates, 10);
        let save = run.time(50);
        run.times.set_hold(Hold::Beyond(save));
        LOOKS.set(0);
        for round in 1..=4 {
            for f in all() {
                let to = run.time(10 * round);
                run.times.ask(f, Advance::Time, to);
                while run.times.settle().is_some() {}
                assert!(!run.times.may_be_through(save), "round {round}");
            }
        }
        LOOKS.get()
    };
    grow_no_faster(looks);
}

/// Nor where nobody is constrained, so that it waits for all to come there.
#[test]
fn while_a_save_waits_for_its_time_nobody_looks_at_all_where_none_is_constrained() {
    let looks = |federates: u32| {
        let all = || (1..=federates).map(FederateHandle);
        let mut run = regulating(federates, 10);
        let save = run.time(50);
        run.times.set_hold(Hold::Beyond(save));
        LOOKS.set(0);
        for round in 1..=5 {
            for f in all() {
                assert!(!run.times.may_be_through(save), "round {round}");
                let to = run.time(10 * round);
                run.times.ask(f, Advance::Time, to);
                while run.times.settle().is_some() {}
            }
        }
        assert!(run.times.may_be_through(save));
        LOOKS.get()
    };
    grow_no_faster(looks);
}

/// Nor after the one that had come furthest is constrained no more.
#[test]
fn while_a_save_waits_for_its_time_nobody_looks_at_all_where_the_furthest_is_gone() {
    let looks = |federates: u32| {
        let all = || (1..=federates).map(FederateHandle);
        let mut run = regulating_and_constrained(federates, 10);
        let ten = run.time(10);
        all().for_each(|f| run.times.ask(f, Advance::TimeAvailable, ten));
        while run.times.settle().is_some() {}
        let furthest = FederateHandle(federates);
        let further = run.time(19);
        run.times.ask(furthest, Advance::Time, further);
        while run.times.settle().is_some() {}
        let save = run.time(50);
        run.times.set_hold(Hold::Beyond(save));
        run.times.disable_constrained(furthest);
        LOOKS.set(0);
        for f in all().filter(|f| *f != furthest) {
            let to = run.time(20);
            run.times.ask(f, Advance::Time, to);
            while run.times.settle().is_some() {}
            assert!(!run.times.may_be_through(save));
        }
        LOOKS.get()
    };
    grow_no_faster(looks);
}

#[test]
fn whom_all_wait_for_is_found_without_a_look_at_all_for_each() {
    let looks = |federates: u32| {
        let all = || (1..=federates).map(FederateHandle);
        let mut run = regulating_and_constrained(federates, 10);
        // The first stays where it is.
        let to = run.time(50);
        all()
            .skip(1)
            .for_each(|f| run.times.ask(f, Advance::Time, to));
        assert_eq!(run.times.settle(), None);
        LOOKS.set(0);
        let waiting = all().filter_map(|f| run.times.waits_for(f));
        assert!(waiting.eq(all().skip(1).map(|_| FederateHandle(1))));
        LOOKS.get()
    };
    assert_eq!(looks(50), looks(500));
}
