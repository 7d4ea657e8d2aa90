//! What must be so at the executive, by the brute force of `starling-galt-oracle`: who may send
//! what, who is granted what and when, and which messages each grant brings.

use crate::ddm::model::World;
use crate::watch::Watch;
use starling_core::message::time::{Notice, Request as TimeRequest};
use starling_core::message::{
    DataBody, EntryBody, Request, RequestBody, Stamp, TimeStatus, federation, object,
};
use starling_core::{Advance, FederateHandle, LogicalTime, LogicalTimeInterval, ObjectModel};
use starling_galt_oracle::{self as oracle, Kind};
use std::collections::{BTreeMap, BTreeSet};

/// A message in time-stamp order: its sender and the number that it has there.
pub(crate) type Message = (FederateHandle, u64);

/// A whole logical time.
pub(crate) fn whole(time: LogicalTime) -> i64 {
    let float = || time.as_float64().expect("it is of one of the two types");
    time.as_integer64().unwrap_or_else(|| whole_number(float()))
}

fn whole_number(value: f64) -> i64 {
    assert_eq!(value.fract(), 0.0, "its times are whole");
    value as i64
}

fn length(interval: LogicalTimeInterval) -> i64 {
    let float = || {
        interval
            .as_float64()
            .expect("it is of one of the two types")
    };
    interval
        .as_integer64()
        .unwrap_or_else(|| whole_number(float()))
}

pub(crate) fn kind(of: Advance) -> Kind {
    match of {
        Advance::Time => Kind::Tar,
        Advance::TimeAvailable => Kind::Tara,
        Advance::NextMessage => Kind::Nmr,
        Advance::NextMessageAvailable => Kind::Nmra,
        Advance::FlushQueue => Kind::Fqr,
    }
}

/// What stands in one federate's stream and was not granted, frame by frame: the values of one update
/// are one message to retract, and come in several frames if their transportation differs.
struct Waiting {
    time: i64,
    message: Message,
    /// The numbers that it carries.
    numbers: Vec<u64>,
}

/// The number at the end of a value or of a deletion's tag.
fn number_of(bytes: &[u8]) -> u64 {
    u64::from_le_bytes(*bytes.last_chunk().expect("it ends in 8 bytes"))
}

/// The executive's view of time.
#[derive(Default)]
pub(crate) struct Times {
    handles: Vec<FederateHandle>,
    all: Vec<oracle::Federate>,
    waiting: Vec<Vec<Waiting>>,
    /// The first point that a federate may use once it regulates.
    first: BTreeMap<FederateHandle, i64>,
    /// By federate: the numbers that the grants on their way must bring.
    brought: BTreeMap<FederateHandle, Vec<Vec<u64>>>,
    /// Where a federate was before its last grant, by its own time.
    before: BTreeMap<FederateHandle, i64>,
    /// Federates that have passed over a grant, and are still there.
    still: BTreeMap<FederateHandle, i64>,
    /// What the last flush has brought to a federate, by time.
    flushed: BTreeMap<FederateHandle, Vec<(i64, Message)>>,
    /// Of a flush that was asked on: the time of the first message that its federate wants, and those there that are not
    /// retracted.
    awaited: BTreeMap<FederateHandle, (i64, BTreeSet<Message>)>,
    /// Who is granted a flush for the sake of what is retracted by now: it has to pass that over, too.
    in_vain: BTreeSet<FederateHandle>,
    taken_back: BTreeSet<Message>,
    /// How often.
    pub(crate) granted_in_vain: u64,
    /// Numbers that a federate must not get in time-stamp order any more.
    pub(crate) withdrawn: BTreeSet<(FederateHandle, u64)>,
    /// Something has changed since the last comparison.
    changed: bool,
    pub(crate) grants: u64,
    /// Grants that were passed over: of Next Message Request, of Flush Queue Request.
    pub(crate) passed_over: [u64; 2],
}

impl Times {
    fn of(&self, federate: FederateHandle) -> usize {
        let at = self.handles.iter().position(|h| *h == federate);
        at.expect("time is asked for by members")
    }

    /// Whether the last grant of a flush stands at what was retracted; once.
    pub(crate) fn take_in_vain(&mut self, federate: FederateHandle) -> bool {
        self.in_vain.remove(&federate)
    }

    pub(crate) fn first_regulating(&self, federate: FederateHandle) -> i64 {
        self.first[&federate]
    }

    /// The numbers that the next grant that comes to a federate brings, or its regulation. It asks for no other
    /// before: if there were several, it was told nothing of those that brought nothing to it.
    pub(crate) fn take_brought(&mut self, federate: FederateHandle) -> Vec<u64> {
        let all = self.brought.remove(&federate).unwrap_or_default();
        assert!(
            !all.is_empty(),
            "{federate} is told of a grant that nobody made"
        );
        all.concat()
    }

    /// The latest time that anybody is at or waits for.
    pub(crate) fn latest(&self) -> i64 {
        let of = |f: &oracle::Federate| {
            let asked = f.request.map(|(_, to)| to);
            let all = [Some(f.time), asked, f.enabling];
            all.into_iter().flatten().max()
        };
        self.all.iter().filter_map(of).max().unwrap_or(0)
    }

    fn leave(&mut self, federate: FederateHandle) {
        let at = self.of(federate);
        self.all[at] = oracle::Federate::default();
        self.waiting[at].clear();
        self.changed = true;
    }

    fn push(&mut self, to: FederateHandle, frame: Waiting) {
        let Waiting { time, message, .. } = frame;
        let at = self.of(to);
        let f = &mut self.all[at];
        if !f.constrained {
            return;
        }
        let late = time < f.time || (f.over && time == f.time);
        assert!(
            !late,
            "{message:?} at {time} comes too late to {to} at {}",
            f.time
        );
        f.queue.push(time);
        self.waiting[at].push(frame);
        self.changed = true;
    }

    /// A member may use this time stamp.
    fn require_admitted(&self, sender: FederateHandle, stamp: Stamp) {
        let (f, time) = (&self.all[self.of(sender)], whole(stamp.time));
        let (first, regulates) = (f.first_point(), f.regulating && f.enabling.is_none());
        assert!(
            regulates && 2 * time >= first,
            "{sender} sends at {time}, and its first point is {first}: {f:?}"
        );
    }

    /// Delay Subscription Evaluation: whoever is constrained is to judge by itself.
    fn require_all_constrained(&self, sender: FederateHandle, to: &[FederateHandle]) {
        let all = self.handles.iter().zip(&self.all);
        let constrained = all.filter(|(h, f)| f.constrained && **h != sender);
        let left_out = constrained.map(|(h, _)| *h).find(|h| !to.contains(h));
        assert_eq!(left_out, None, "what {sender} sends goes to {to:?} only");
    }

    /// Takes out what a federate has come to: up to a time, or all.
    fn bring(&mut self, federate: FederateHandle, up_to: Option<i64>) {
        let at = self.of(federate);
        let comes = |time: i64| up_to.is_none_or(|t| time <= t);
        let frames = std::mem::take(&mut self.waiting[at]).into_iter();
        let (come, stay): (Vec<_>, _) = frames.partition(|frame| comes(frame.time));
        self.waiting[at] = stay;
        self.all[at].queue.retain(|time| !comes(*time));
        let numbers = come.into_iter().flat_map(|frame| frame.numbers).collect();
        self.brought.entry(federate).or_default().push(numbers);
    }

    fn request(&mut self, origin: FederateHandle, request: &TimeRequest) {
        let at = self.of(origin);
        self.changed = true;
        match request {
            TimeRequest::EnableRegulation(lookahead) => {
                let lookahead = length(*lookahead);
                let (time, first) = oracle::regulation(&self.all, at, lookahead);
                self.first.insert(origin, first);
                let f = &mut self.all[at];
                (f.regulating, f.enabling, f.floor) = (true, Some(time), first);
                (f.lookahead, f.spent) = (lookahead, false);
            }
            TimeRequest::DisableRegulation => {
                let f = &mut self.all[at];
                (f.regulating, f.floor) = (false, 0);
            }
            TimeRequest::EnableConstrained => self.all[at].constraining = true,
            TimeRequest::DisableConstrained => {
                let f = &mut self.all[at];
                f.constrained = false;
                f.queue.clear();
                self.waiting[at].clear();
            }
            TimeRequest::Advance { kind: by, to } | TimeRequest::AskOn { kind: by, to, .. } => {
                if let TimeRequest::AskOn { at, next, .. } = request {
                    let before = self.before[&origin];
                    assert_eq!(whole(*at), before, "{origin} has passed over a grant");
                    self.still.insert(origin, before);
                    self.passed_over[usize::from(*by == Advance::FlushQueue)] += 1;
                    self.in_vain.remove(&origin);
                    self.awaited.remove(&origin);
                    if let Some(next) = next {
                        let flushed = self.flushed.get(&origin).into_iter().flatten();
                        let there = flushed.filter(|(time, _)| *time == whole(*next));
                        let there = there.map(|(_, message)| *message);
                        let there = there.filter(|m| !self.taken_back.contains(m)).collect();
                        self.awaited.insert(origin, (whole(*next), there));
                        // It stands for all that were handed over and are not delivered.
                        let frame = Waiting {
                            time: whole(*next),
                            message: (origin, 0),
                            numbers: Vec::new(),
                        };
                        self.push(origin, frame);
                    }
                }
                let f = &mut self.all[at];
                f.keep_promise();
                f.request = Some((kind(*by), whole(*to)));
            }
            TimeRequest::ModifyLookahead(lookahead) => {
                let f = &mut self.all[at];
                f.keep_promise();
                f.lookahead = length(*lookahead);
            }
            TimeRequest::QueryBounds => {}
            TimeRequest::Retract { number, .. } => self.retract((origin, *number)),
        }
    }

    fn retract(&mut self, message: Message) {
        self.taken_back.insert(message);
        for (_, there) in self.awaited.values_mut() {
            there.remove(&message);
        }
        for (at, waiting) in self.waiting.iter_mut().enumerate() {
            let me = self.handles[at];
            for frame in waiting.extract_if(.., |frame| frame.message == message) {
                let numbers = frame.numbers.into_iter();
                self.withdrawn.extend(numbers.map(|number| (me, number)));
            }
            self.all[at].queue = waiting.iter().map(|frame| frame.time).collect();
        }
    }

    fn notice(&mut self, to: FederateHandle, notice: &Notice) {
        let at = self.of(to);
        match notice {
            Notice::Granted { time, flush } => {
                let time = whole(*time);
                let now = self.still.remove(&to).unwrap_or(self.all[at].time);
                self.before.insert(to, now);
                let expected = oracle::grant(&self.all, at);
                assert_eq!(expected, Some(time), "granted to {to} of {:?}", self.all);
                let by = self.all[at].request.map(|(kind, _)| kind);
                assert_eq!(*flush, by == Some(Kind::Fqr));
                if *flush {
                    self.flush(to, time);
                }
                oracle::advance(&mut self.all[at], time);
                self.bring(to, (!flush).then_some(time));
                self.grants += 1;
            }
            Notice::Regulating { time, .. } => {
                let time = whole(*time);
                assert_eq!(self.all[at].enabling.take(), Some(time), "{to} regulates");
                assert!(oracle::may_regulate(&self.all, at, time), "{to} regulates");
                let f = &mut self.all[at];
                f.over &= f.time == time;
                f.time = time;
                self.bring(to, Some(time));
            }
            Notice::Constrained => {
                assert!(oracle::may_constrain(&self.all, at), "{to} is constrained");
                let f = &mut self.all[at];
                (f.constraining, f.constrained, f.over) = (false, true, false);
            }
            Notice::Bounds { galt, lits } => {
                let expected = oracle::galt(&self.all, at).map(|p| p / 2);
                assert_eq!(galt.map(whole), expected, "GALT of {to}: {:?}", self.all);
                let expected = oracle::lits(&self.all, at);
                assert_eq!(lits.map(whole), expected, "LITS of {to}: {:?}", self.all);
            }
            Notice::Retracted { .. } => {}
        }
        self.changed = true;
    }

    /// A flush is granted, to this time.
    fn flush(&mut self, federate: FederateHandle, time: i64) {
        let at = self.of(federate);
        let asked = self.all[at].request.map(|(_, to)| to);
        let frames = self.waiting[at].iter();
        // What stands for others has no numbers.
        let real = frames.filter(|frame| !frame.numbers.is_empty());
        let real: Vec<_> = real.map(|frame| (frame.time, frame.message)).collect();
        if let Some((next, there)) = self.awaited.remove(&federate) {
            let galt = oracle::galt(&self.all, at);
            let others = real.iter().any(|(stamp, _)| *stamp == time);
            let for_it = next == time && Some(time) < asked && galt.is_none_or(|p| p / 2 > time);
            if for_it && there.is_empty() && !others {
                self.in_vain.insert(federate);
                self.granted_in_vain += 1;
            }
            let still = there.into_iter().map(|message| (next, message));
            self.flushed
                .insert(federate, real.into_iter().chain(still).collect());
        } else {
            self.flushed.insert(federate, real);
        }
    }

    /// Compares every GALT and LITS; once the executive has `settled`, nothing can be granted.
    pub(crate) fn compare(&mut self, status: &[(FederateHandle, TimeStatus)], settled: bool) {
        if !std::mem::replace(&mut self.changed, !settled) {
            return;
        }
        let galts = oracle::galts(&self.all);
        for (me, known) in status {
            let at = self.of(*me);
            let f = &self.all[at];
            let galt = known
                .galt
                .map(|t| 2 * whole(t) + i64::from(known.galt_passed));
            assert_eq!(galt, galts[at], "GALT of {me}: {:?}", self.all);
            let next = f.queue.iter().copied();
            let lits = galts[at].map(|p| p / 2).into_iter().chain(next).min();
            assert_eq!(known.lits.map(whole), lits, "LITS of {me}: {:?}", self.all);
            let time = self.still.get(me).copied().unwrap_or(f.time);
            assert_eq!(whole(known.time), time, "logical time of {me}");
            assert_eq!(known.constrained, f.constrained, "{me} constrained");
            assert_eq!(
                known.queued,
                f.queue.len() as u64,
                "messages that wait for {me}"
            );
        }
        for (at, f) in self.all.iter().enumerate().filter(|_| settled) {
            let me = self.handles[at];
            let granted = oracle::grant(&self.all, at);
            assert_eq!(granted, None, "{me} waits for it in {:?}", self.all);
            let constrained = f.constraining && oracle::may_constrain(&self.all, at);
            assert!(!constrained, "{me} waits to be constrained: {:?}", self.all);
            let waits = f
                .enabling
                .is_some_and(|t| oracle::may_regulate(&self.all, at, t));
            assert!(!waits, "{me} waits to regulate: {:?}", self.all);
        }
    }
}

/// What the network is watched by: the world of declarations and regions, and time.
#[derive(Default)]
pub(crate) struct Seen {
    pub(crate) world: World,
    pub(crate) times: Times,
    /// Subscriptions are judged at delivery.
    pub(crate) delayed: bool,
}

impl Watch for Seen {
    fn joined(&mut self, handle: FederateHandle, model: &ObjectModel) {
        self.world.joined(handle, model);
    }

    fn entered(&mut self, handle: FederateHandle) {
        self.times.handles.push(handle);
        self.times.all.push(oracle::Federate::default());
        self.times.waiting.push(Vec::new());
        self.times.changed = true;
    }

    fn died(&mut self, handle: FederateHandle) {
        self.world.died(handle);
    }

    fn lost(&mut self, handle: FederateHandle) {
        self.world.lost(handle);
        self.times.leave(handle);
    }

    fn ordered(&mut self, origin: FederateHandle, request: &Request) {
        self.world.take(origin, request);
        match &request.body {
            RequestBody::Federation(federation::Request::Resign(_)) => self.times.leave(origin),
            RequestBody::Object(object::Request::DeleteObject {
                stamp: Some(stamp), ..
            }) if stamp.retraction.is_some() => self.times.require_admitted(origin, *stamp),
            _ => {}
        }
    }

    fn told(&mut self, to: FederateHandle, body: &EntryBody) {
        if let EntryBody::Object(object::Entry::Remove {
            producer,
            tag,
            stamp: Some(stamp),
            ..
        }) = body
            && let Some(number) = stamp.retraction
        {
            let frame = Waiting {
                time: whole(stamp.time),
                message: (*producer, number),
                numbers: vec![number_of(tag)],
            };
            self.times.push(to, frame);
        }
    }

    fn timed(&mut self, origin: FederateHandle, request: &TimeRequest) {
        self.times.request(origin, request);
    }

    fn notified(&mut self, to: FederateHandle, notice: &Notice) {
        self.times.notice(to, notice);
    }

    fn forwarded(&mut self, sender: FederateHandle, body: &DataBody<'_>, to: &[FederateHandle]) {
        let Some(payload) = body.payload() else {
            return;
        };
        let Some(stamp) = payload.stamp else {
            return;
        };
        let Some(number) = stamp.retraction else {
            return;
        };
        self.times.require_admitted(sender, stamp);
        if self.delayed && matches!(body, DataBody::Interaction { .. }) && payload.address.is_none()
        {
            self.times.require_all_constrained(sender, to);
        }
        for receiver in to {
            assert_ne!(*receiver, sender, "{sender} hears itself");
            let values = payload.values.iter();
            let frame = Waiting {
                time: whole(stamp.time),
                message: (sender, number),
                numbers: values.map(|(_, value)| number_of(value)).collect(),
            };
            self.times.push(*receiver, frame);
        }
    }
}
