//! Time management as a save has it.

use super::deletions::Deletions;
use super::delivered::Delivered;
use super::execution::{ExecutionTime, Since};
use super::federate::{FederateTime, OwnDeletion, Sent};
use super::galt::{Clock, Federate, Times};
use super::orders::Place;
use super::places::Places;
use super::retractable::Retractable;
use super::value::TimeType;
use crate::object::known::Instance;
use crate::saved::delivery::{Queued, QueuedTime};
use crate::saved::time as saved;
use crate::{FederateHandle, ProtocolError};
use starling_fom::ObjectModel;
use std::collections::BTreeMap;
use std::time::Duration;

impl ExecutionTime {
    pub(crate) fn save(&self) -> saved::Execution {
        saved::Execution {
            time_type: self.time_type(),
            federates: self.times.save(),
            messages: self.messages,
            retractable: self.retractable.save(),
            deletions: self.deletions.save(),
            unsettled: self.unsettled,
        }
    }

    /// Limits stay. Who waits, waits since now.
    pub(crate) fn restore(&mut self, saved: saved::Execution, now: Duration) {
        self.times = Times::restore(saved.time_type, saved.federates);
        self.messages = saved.messages;
        self.retractable = Retractable::restore(saved.retractable);
        self.deletions = Deletions::restore(saved.deletions);
        self.unsettled = saved.unsettled;
        self.overdue.clear();
        let members = self.times.federates();
        self.since = members.map(|f| (f, Since::from(now))).collect();
    }
}

impl Clock {
    fn save(&self) -> saved::Clock {
        saved::Clock {
            time: self.time,
            exclusive: self.exclusive,
            lookahead: self.lookahead,
            floor: self.floor,
            shrinks: self.shrinks,
            advance: self.advance,
        }
    }

    fn restore(saved: saved::Clock) -> Self {
        Clock {
            time: saved.time,
            exclusive: saved.exclusive,
            lookahead: saved.lookahead,
            floor: saved.floor,
            shrinks: saved.shrinks,
            advance: saved.advance,
        }
    }
}

impl Times {
    fn save(&self) -> BTreeMap<FederateHandle, saved::FederateTime> {
        let all = self.federates.iter();
        all.map(|(handle, f)| (*handle, f.save())).collect()
    }

    fn restore(of: TimeType, saved: BTreeMap<FederateHandle, saved::FederateTime>) -> Self {
        let mut times = Times::new(of);
        for (handle, saved) in saved {
            times.federates.insert(handle, Federate::restore(saved));
            times.change(handle, |_| ());
        }
        times
    }
}

impl Federate {
    fn save(&self) -> saved::FederateTime {
        saved::FederateTime {
            clock: self.clock.save(),
            constrained: self.constrained,
            over: self.over,
            enabling: self.enabling,
            constraining: self.constraining,
            released: self.released,
            still_at: self.still_at,
            queue: self.queue.iter().collect(),
        }
    }

    fn restore(saved: saved::FederateTime) -> Self {
        let mut queue = Places::default();
        for (time, sequence) in saved.queue {
            queue.push(time, sequence, 1);
        }
        Federate {
            clock: Clock::restore(saved.clock),
            constrained: saved.constrained,
            over: saved.over,
            enabling: saved.enabling,
            constraining: saved.constraining,
            released: saved.released,
            still_at: saved.still_at,
            queue,
            place: Place::default(),
        }
    }
}

/// An error if a federate's part of a save says otherwise of its time than the executive's: what it asks for
/// once it is restored would be refused. What waits for it in the part counts as told.
pub(crate) fn require_same_time(
    of: &saved::Execution,
    federate: FederateHandle,
    part: &crate::saved::Federate,
) -> Result<(), String> {
    let known = of.federates.get(&federate).ok_or("it is no member's")?;
    let mut clock = Clock::restore(part.time.clock.clone());
    let (mut enabling, mut constraint) = (part.time.enabling, part.time.constraint);
    for queued in &part.delivery.queue {
        match queued {
            Queued::Time(QueuedTime::Regulating { time, strict }) => {
                let lookahead = enabling.take();
                let lookahead =
                    lookahead.ok_or("it did not ask for the regulation it waits for")?;
                clock.regulate(lookahead, *time, *strict);
            }
            Queued::Time(QueuedTime::Constrained) => constraint = saved::Constraint::On,
            Queued::Time(QueuedTime::Granted(time)) => clock.grant(*time),
            _ => {}
        }
    }
    let is = clock.save();
    let may_pass_over = is.advance.is_some_and(|(kind, _)| kind.may_pass_over());
    let passed_over = part.time.passed_over.filter(|_| may_pass_over);
    let known_at = passed_over.map_or(is.time, |(passed, _)| passed.max(is.time));
    let then = &known.clock;
    let constrained = constraint == saved::Constraint::On;
    let constraining = constraint == saved::Constraint::Pending;
    let of_executive = Clock::restore(then.clone());
    let why = if known_at != then.time {
        format!("it is at {}, not at {known_at}", then.time)
    } else if is.advance != then.advance {
        "it waits for another advance, or for none".into()
    } else if enabling.is_some() != known.enabling.is_some()
        || is.lookahead.or(enabling) != then.lookahead
    {
        "it regulates otherwise".into()
    } else if (constrained, constraining) != (known.constrained, known.constraining) {
        "it is constrained otherwise".into()
    } else if enabling.is_none() && clock.bound() < of_executive.bound() {
        "it may not use that early time stamps".into()
    } else {
        return Ok(());
    };
    Err(format!("what it says of its time is not so: {why}"))
}

impl FederateTime {
    pub(crate) fn save(&self) -> saved::Federate {
        let sent = self.sent.iter().map(|(number, sent)| {
            let deletes = sent.deletes.and_then(|instance| {
                let deleted = self.deleted.get(&instance)?;
                Some((instance, deleted.known.save(instance)))
            });
            let sent = saved::Sent {
                time: sent.time,
                deletes,
            };
            (*number, sent)
        });
        saved::Federate {
            time_type: self.of,
            clock: self.clock.save(),
            passed_over: self.passed_over,
            enabling: self.enabling,
            constraint: self.constraint,
            asynchronous: self.asynchronous,
            last_number: self.last_number,
            sent: sent.collect(),
            delivered: self.delivered.save(),
            deleted: saved::Deleted {
                kept: self.kept.iter().map(|(h, i)| (*h, i.save(*h))).collect(),
                restored: self.undeleted.clone(),
            },
            bounds: self.bounds,
            orders: self.orders.clone(),
        }
    }

    /// Limits stay. An error if the object model does not have what was saved.
    pub(crate) fn restore(
        &mut self,
        saved: saved::Federate,
        model: &ObjectModel,
    ) -> Result<(), ProtocolError> {
        for (handle, deleted) in saved.sent.values().filter_map(|s| s.deletes.as_ref()) {
            deleted.require_in(model, *handle)?;
        }
        for (handle, kept) in &saved.deleted.kept {
            kept.require_in(model, *handle)?;
        }
        let by_time = saved.sent.iter();
        self.sent_by_time = by_time.map(|(number, s)| (s.time, *number)).collect();
        self.sent.clear();
        self.deleted.clear();
        for (number, sent) in saved.sent {
            let (time, deletes) = (sent.time, sent.deletes);
            let instance = deletes.as_ref().map(|(instance, _)| *instance);
            let deletion = deletes.map(|(instance, known)| {
                let known = Instance::restore(instance, known);
                (instance, OwnDeletion { number, known })
            });
            self.deleted.extend(deletion);
            let deletes = instance;
            self.sent.insert(number, Sent { time, deletes });
        }
        self.of = saved.time_type;
        self.clock = Clock::restore(saved.clock).into();
        self.passed_over = saved.passed_over;
        self.enabling = saved.enabling;
        self.constraint = saved.constraint;
        self.asynchronous = saved.asynchronous;
        self.last_number = saved.last_number;
        self.delivered = Delivered::restore(saved.delivered);
        let kept = saved.deleted.kept.into_iter();
        self.kept = kept.map(|(h, i)| (h, Instance::restore(h, i))).collect();
        self.undeleted = saved.deleted.restored;
        self.bounds = saved.bounds;
        self.orders = saved.orders;
        Ok(())
    }
}
