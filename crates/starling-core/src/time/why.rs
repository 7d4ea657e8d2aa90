//! "Time stands still": who waits for whom, at which time and since when, as the executive knows it.
//!
//! A federate waits for those who may still send what belongs before the time that it wants. The one
//! with the least bound waits for nobody itself (else it would have been granted), so the chain
//! ends there: it has asked for nothing, or a save or a restore holds all.

use super::execution::Since;
use super::galt::Wait;
use crate::execution::Execution;
use crate::executive::quoted;
use crate::federation::members::Member;
use crate::why::{Broken, Walk};
use crate::{FederateHandle, PeerId};
use std::time::Duration;

/// A federate, or a federation execution, that has waited for long.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LongWait {
    /// The federate's connection; none if all wait.
    pub waiting: Option<PeerId>,
    /// The federation execution.
    pub federation: String,
    /// For whom and what, as a sentence without its end.
    pub why: String,
    /// Whose turn it is, and its name.
    pub turn: Option<(PeerId, String)>,
    /// Whose it is if that one waits at a synchronization point that it has achieved; see [`Why::at_point`](crate::Why).
    pub at_point: Option<(PeerId, String)>,
}

impl Execution {
    /// Why a federate's time does not go on.
    pub(crate) fn why_time(&self, walk: &mut Walk, of: FederateHandle) -> Result<(), Broken> {
        walk.holds("time", self.time_text(of));
        let Some(wait) = self.time.times().wait(of) else {
            let asked = match self.takes_part_in_time(of) {
                false => "nothing: it takes no part in time management".to_owned(),
                true if self.is_held() && !self.is_awaited_at_save(of) => self.asks_nothing(of),
                true => {
                    walk.turn = Some(of);
                    return walk.fails("asked", self.asks_nothing(of));
                }
            };
            walk.holds("asked", asked);
            if !self.is_held() {
                return Ok(());
            }
            walk.turn = self.hold_turn();
            return walk.fails("delivered", self.hold_text());
        };
        let asked = format!("for {}, {}", self.asked_text(of, &wait), self.ago(of));
        walk.holds("asked", asked);
        walk.turn = self.turn(&wait);
        walk.fails("granted", self.waits_text(&wait))
    }

    /// At which synchronization point the federate whose turn it is may wait, or this one if it is nobody's.
    pub(crate) fn why_point(&self, walk: &mut Walk, of: FederateHandle) {
        if self.is_held() {
            return;
        }
        if let Some((who, why)) = self.at_point(walk.turn.unwrap_or(of)) {
            let _ = walk.fails("point", why);
            walk.at_point = Some(who);
        }
    }

    /// For whom a federate waits in the first place.
    fn turn(&self, wait: &Wait) -> Option<FederateHandle> {
        if wait.held {
            self.hold_turn()
        } else {
            wait.behind.first().map(|(first, _)| *first)
        }
    }

    /// Whether time management withholds what would come.
    pub(crate) fn why_withheld(&self, walk: &mut Walk, of: FederateHandle) -> Result<(), Broken> {
        let times = self.time.times();
        let (queued, constrained) = (times.queued(of), times.is_constrained(of));
        if queued > 0 {
            let mut why = format!("{queued} message(s) in time-stamp order wait for its advance");
            let most = self.time.messages_max;
            if queued > most / 2 {
                why += &format!(
                    ", more than half of the {most} that limits.withheld_bytes of rtiexec allows: beyond \
                     these it is resigned"
                );
            }
            let _ = walk.fails("time", format!("{why}; {}", self.time_text(of)));
            let Some(wait) = times.wait(of) else {
                walk.turn = Some(of);
                return walk.fails("asked", self.asks_nothing(of));
            };
            walk.turn = self.turn(&wait);
            return walk.fails("granted", self.waits_text(&wait));
        }
        let advances = times.clock(of).is_some_and(|c| c.advance().is_some());
        if constrained && !advances && !self.mom.delivers_asynchronously(of) {
            let since = self.ago(of);
            let why = format!(
                "{}: while it asks for no advance ({since}) it gets nothing in receive order, as \
                 asynchronous delivery is not enabled (1516.1-2010, 8.1)",
                self.time_text(of)
            );
            walk.turn = Some(of);
            return walk.fails("time", why);
        }
        Ok(())
    }

    /// Whether a federate withholds so much that it may be cut off: what it keeps itself, of whatever size and in
    /// whichever order, as it has told.
    pub(crate) fn why_withheld_bytes(&self, walk: &mut Walk, of: FederateHandle) {
        let member = self.federation.members().get(&of);
        if let Some((bytes, most)) = member.and_then(Member::withholds_much) {
            let percent = u128::from(bytes) * 100 / u128::from(most.max(1));
            let why = format!(
                "{bytes} bytes wait at {} for its advance, or the end of a save or restore: {percent} % of the {most} that \
                 its limits.withheld_bytes allows; beyond these it is cut off",
                self.federate_text(of)
            );
            let _ = walk.fails("withheld", why);
        }
    }

    /// Who waits longer than this, and was not named yet.
    pub(crate) fn take_long_waits(&mut self, longer: Duration) -> Vec<LongWait> {
        let now = self.mom.now;
        let all = self.time.since.iter();
        let long = |s: &Since| !s.noted && now.saturating_sub(s.when) >= longer;
        let long: Vec<_> = all.filter(|(_, s)| long(s)).map(|(f, _)| *f).collect();
        let mut waits = Vec::new();
        for federate in long {
            let wait = self.time.times().wait(federate);
            let Some((wait, waiting)) = wait.zip(self.log.peer(federate)) else {
                continue;
            };
            let first = self.turn(&wait);
            let turn = first.and_then(|first| self.turn_of(first));
            let point = first.filter(|_| !wait.held);
            let point = point.and_then(|first| self.at_point(first));
            let asked = self.asked_text(federate, &wait);
            let mut why = format!(
                "waits for {asked}, {}: {}",
                self.ago(federate),
                self.waits_text(&wait)
            );
            let at_point = point.and_then(|(who, point)| {
                why += &format!("; {point}");
                self.turn_of(who)
            });
            waits.push(LongWait {
                waiting: Some(waiting),
                federation: self.federation.name().to_owned(),
                why,
                turn,
                at_point,
            });
            if let Some(since) = self.time.since.get_mut(&federate) {
                since.noted = true;
            }
        }
        waits
    }

    /// Whether it regulates or is constrained.
    fn takes_part_in_time(&self, of: FederateHandle) -> bool {
        let times = self.time.times();
        let regulates = times.clock(of).is_some_and(|c| c.lookahead().is_some());
        regulates || times.is_constrained(of)
    }

    /// Where it stands.
    fn time_text(&self, of: FederateHandle) -> String {
        let times = self.time.times();
        let who = self.federate_text(of);
        let Some(clock) = times.clock(of) else {
            return who;
        };
        let time = times.time(of).unwrap_or_else(|| clock.time());
        let mut text = format!("{who} is at {time}");
        text += if times.is_constrained(of) {
            ", time-constrained"
        } else {
            ", not time-constrained"
        };
        match times.lookahead(of) {
            Some(lookahead) => text += &format!(", time-regulating with lookahead {lookahead}"),
            None => text += ", not time-regulating",
        }
        if let Some(galt) = times.galt(of).time() {
            text += &format!(", GALT {galt}");
        }
        text
    }

    /// What is asked for.
    fn asked_text(&self, of: FederateHandle, wait: &Wait) -> String {
        let times = self.time.times();
        if times.is_enabling(of) {
            return format!("time regulation at {}", wait.at);
        }
        match times.clock(of).and_then(|c| c.advance()) {
            Some((kind, to)) if wait.at != to => {
                format!("{} up to {to}, next {}", kind.name(), wait.at)
            }
            Some((kind, to)) => format!("{} to {to}", kind.name()),
            None => format!("time constraint at {}", wait.at),
        }
    }

    /// It stands still by its own will.
    fn asks_nothing(&self, of: FederateHandle) -> String {
        let who = self.federate_text(of);
        let at = self.time.times().time(of).map(|time| time.to_string());
        format!(
            "{who} has asked for no advance since it came to {}, {}",
            at.unwrap_or_default(),
            self.ago(of)
        )
    }

    /// Who is in the way.
    fn waits_text(&self, wait: &Wait) -> String {
        if wait.held {
            return self.hold_text();
        }
        let Some(((first, bound), others)) = wait.behind.split_first() else {
            return "nobody is in its way".to_owned();
        };
        let times = self.time.times();
        let doing = match times.wait(*first) {
            Some(held) => format!("and waits for {} itself", self.asked_text(*first, &held)),
            None => format!("and has asked for no advance, {}", self.ago(*first)),
        };
        let mut text = format!(
            "{}, from which messages with time stamps of {bound} may still come, {doing}",
            self.time_text(*first)
        );
        let names = others.iter();
        let names = names.filter_map(|(f, _)| self.federation.federate_name(*f));
        if let Some(names) = quoted(names) {
            text += &format!("; behind it, too: {names}");
        }
        text
    }

    /// Since when it waits, or does not.
    fn ago(&self, of: FederateHandle) -> String {
        let since = self.time.since.get(&of).copied().unwrap_or_default();
        let ago = self.mom.now.saturating_sub(since.when);
        format!("{:.1} s ago (turn {})", ago.as_secs_f64(), since.turns)
    }
}
