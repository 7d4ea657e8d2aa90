//! Back-pressure: bounded queues.
//!
//! Nobody's requests are read while it leaves the answers to them unread, either. What nobody sends, the periodic updates
//! of the management object model, is not made for who has no room for it.
//!
//! Invariants: bytes waiting for one receiver stay below `limits.send_queue_bytes` plus one
//! message, or 16 KiB of messages, of each sender, with control messages below 16 times that plus what one request leads
//! to, and what the system had of those who die meanwhile below 32 times that; nothing reliable is dropped while the receiver lives, and
//! best-effort data, of which half of that may wait, holds up nobody. A sender whose own message found full receivers is not
//! read until each one's queue is half empty (of one behind a forwarder: until its channel has room); the links' own buffers then slow it down. A federate reads its links
//! while it waits to send, so two senders can't hold each other up for ever. Who is held is not
//! judged for its silence, because it is this process that doesn't listen.

use crate::liveness::may_stand_still;
use crate::server::Server;
use starling_core::message::{Finding, Question};
use std::time::Instant;
use tracing::{info, warn};

/// How many times more bytes than of data may wait for a receiver before requests are held up.
const CONTROL_FACTOR: usize = 16;
/// And before who has ended is not read to its end.
const LAST_FACTOR: usize = 2 * CONTROL_FACTOR;

impl Server {
    /// After a data message of `sender` was appended for `receiver`.
    pub(crate) fn check_room(&mut self, sender: usize, receiver: usize, now: Instant) {
        self.check_limit(sender, receiver, self.config.send_queue_bytes, now);
    }

    /// After a request of `sender` was handled and what it led to was appended: only those whom that
    /// went to hold it, whoever else is slow. Requests have more room, so that a full data queue hardly
    /// ever delays the services of others.
    pub(crate) fn check_control_room(&mut self, sender: usize, now: Instant) {
        let of_data = self.config.send_queue_bytes;
        let limit = of_data.saturating_mul(CONTROL_FACTOR);
        for i in 0..self.written.len() {
            let receiver = self.written[i];
            // Who has not joined gets nothing but answers.
            let joined = self
                .connection(receiver)
                .is_some_and(|c| c.member.is_some());
            let limit = if joined { limit } else { of_data };
            self.check_limit(sender, receiver, limit, now);
        }
    }

    /// After a forwarder has said something on its trunk: who asks on and on is to read the answers.
    pub(crate) fn check_trunk_room(&mut self, trunk: usize, now: Instant) {
        let limit = self.config.send_queue_bytes.saturating_mul(CONTROL_FACTOR);
        self.check_limit(trunk, trunk, limit, now);
    }

    fn check_limit(&mut self, sender: usize, receiver: usize, limit: usize, now: Instant) {
        let Some(to) = self.connection(receiver) else {
            return;
        };
        if to.writer.pending() <= limit {
            return;
        }
        if to.writable {
            to.flush(now);
            if to.writer.pending() <= limit {
                return;
            }
        }
        self.hold(sender, receiver, now);
    }

    /// A sender is not read until a receiver has room again.
    pub(crate) fn hold(&mut self, sender: usize, receiver: usize, now: Instant) {
        let ends = self.connection(sender).is_some_and(|c| c.closing);
        if ends && self.has_last_room(receiver) {
            return;
        }
        let Some(to) = self.connection(receiver) else {
            return;
        };
        to.full_since.get_or_insert(now);
        if !to.holds.contains(&sender) {
            to.holds.push(sender);
        }
        if let Some(from) = self.connection(sender)
            && !from.held_by.contains(&receiver)
        {
            from.held_by.push(receiver);
        }
    }

    /// Whether there is room for what one has sent that has ended: the system had no more of it than a socket holds.
    fn has_last_room(&self, receiver: usize) -> bool {
        let most = self.config.send_queue_bytes.saturating_mul(LAST_FACTOR);
        let waits = self.connections.get(receiver).map_or(0, |to| {
            let (end, left) = to.written();
            end - left
        });
        waits <= most as u64
    }

    /// Who has ended is read to its end, whoever holds it: others learn it now, not when its receivers read.
    pub(crate) fn let_end(&mut self, n: usize) {
        let Some(ended) = self.connection(n).filter(|c| c.closing) else {
            return;
        };
        let held_by = std::mem::take(&mut ended.held_by);
        let (has_room, full): (Vec<_>, _) =
            held_by.into_iter().partition(|to| self.has_last_room(*to));
        if let Some(ended) = self.connection(n) {
            ended.held_by = full;
        }
        self.forget_held(n, &has_room);
        self.tell_end(n);
    }

    /// These hold a sender up no more, or it is gone.
    pub(crate) fn forget_held(&mut self, sender: usize, receivers: &[usize]) {
        for receiver in receivers {
            let Some(to) = self.connection(*receiver) else {
                continue;
            };
            to.holds.retain(|held| *held != sender);
            if to.holds.is_empty() {
                (to.full_since, to.slow_told) = (None, false);
            }
        }
    }

    /// Lets the senders go that `receiver` has held, if there is room again or it is gone.
    pub(crate) fn release(&mut self, receiver: usize) {
        self.acknowledge(receiver);
        let half = self.config.send_queue_bytes / 2;
        let held = match self.connection(receiver) {
            Some(to) if to.holds.is_empty() || to.is_full(half) => return,
            Some(to) => {
                to.full_since = None;
                if std::mem::take(&mut to.slow_told) {
                    let name = to.name();
                    info!("{name} takes its messages again");
                }
                self.connection(receiver)
                    .map(|to| std::mem::take(&mut to.holds))
            }
            None => None,
        };
        self.let_go(receiver, held.unwrap_or_default());
    }

    pub(crate) fn let_go(&mut self, receiver: usize, held: Vec<usize>) {
        let now = Instant::now();
        for sender in held {
            let Some(from) = self.connection(sender) else {
                continue;
            };
            let held = from.held_by.len();
            from.held_by.retain(|holder| *holder != receiver);
            if held > 0 && from.held_by.is_empty() {
                from.heard = now;
                self.queue(sender);
            }
        }
    }

    /// Who of the federation execution that is asked about is not read, and whose messages that waits for.
    pub(crate) fn held_up(&self, asked: &Question) -> Option<Finding> {
        /// So many are named.
        const NAMED: usize = 10;
        let all = || {
            let numbers = self.connections.numbers();
            numbers.filter_map(|n| self.connections.get(n))
        };
        let is_asked = |(federation, federate): &&(String, String)| {
            *federate == asked.federate
                && (asked.federation.is_empty() || asked.federation == *federation)
        };
        let mut members = all().filter_map(|c| c.member.as_ref());
        let (federation, _) = members.find(is_asked)?;
        let held = all().filter_map(|from| {
            let (of, name) = from.member.as_ref().filter(|(of, _)| of == federation)?;
            let to = self.connections.get(*from.held_by.first()?)?;
            let whom = match &to.member {
                Some((there, whom)) if there == of && whom == name => "it".to_owned(),
                _ => to.name(),
            };
            let bytes = to.writer.pending();
            Some(format!(
                "rtiexec does not read '{name}' until {whom} has taken its messages ({bytes} bytes wait)"
            ))
        });
        let held: Vec<_> = held.take(NAMED).collect();
        (!held.is_empty()).then(|| Finding {
            link: "held up".into(),
            holds: false,
            detail: held.join("; "),
        })
    }

    /// Warns of a slow receiver, or gives the reason to end it.
    pub(crate) fn check_stall(&mut self, receiver: usize, now: Instant) -> Option<String> {
        let (limit, paused) = (self.config.send_stall, self.config.paused);
        let full_since = self.connection(receiver)?.full_since?;
        let since = now.duration_since(self.attention.from(full_since));
        let to = self.connection(receiver)?;
        if limit.is_some_and(|limit| since >= limit) {
            let process = to.process_state();
            if may_stand_still(process, to.kept.is_some(), paused) {
                return None;
            }
            let since = since.as_secs_f64();
            return Some(match &to.holds[..] {
                [own] if *own == receiver => format!(
                    "it has not taken the answers to its own requests for {since:.1} s (limits.send_stall_s)"
                ),
                holds => format!(
                    "it has held up {} sender(s) for {since:.1} s (limits.send_stall_s)",
                    holds.len()
                ),
            });
        }
        if since.as_secs() >= 1 && !to.slow_told {
            to.slow_told = true;
            let (name, held) = (to.name(), to.holds.clone());
            let held: Vec<_> = held
                .into_iter()
                .filter_map(|s| Some(self.connection(s)?.name()))
                .collect();
            let end = limit.map_or("limits.send_stall_s is 0: they wait".into(), |limit| {
                let limit = limit.as_secs_f64();
                format!("after {limit} s of it it is resigned (limits.send_stall_s)")
            });
            warn!(
                "{name} takes its messages too slowly and holds up {}; {end}",
                held.join("; ")
            );
        }
        None
    }
}
