//! What happens by the clock: heartbeats, judgement of the silent, ending when idle.

use crate::connection::Connection;
use crate::liveness::{Paused, Signs, Verdict, judge};
use crate::server::{Ended, Server};
use starling_net::{Lock, ProcessState};
use starling_wire::put_heartbeat;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};
use tracing::{info, warn};

impl Server {
    /// How often the clock is looked at.
    pub(crate) fn tick_interval(&self) -> Duration {
        let limits = [self.config.timeout, self.config.hello_timeout];
        let shortest = limits.iter().fold(self.config.heartbeat, |s, l| s.min(*l)) / 4;
        shortest.clamp(Duration::from_millis(10), Duration::from_millis(500))
    }

    /// Looks at the clock.
    pub(crate) fn tick(&mut self, now: Instant) {
        let pause = self.tick_interval() + self.config.heartbeat;
        self.attention.look(now, pause);
        self.tend_lanes(now);
        for n in self.connections.numbers().collect::<Vec<_>>() {
            if !self.is_upstream(n)
                && let Some(reason) = self.check_stall(n, now)
            {
                self.remove(n, &reason);
                continue;
            }
            if self.takes_too_long(n, now) {
                let limit = self.config.frame_timeout.unwrap_or_default().as_secs_f64();
                let why = format!(
                    "a message that it began was not whole after {limit} s (limits.frame_timeout_s)"
                );
                self.remove(n, &why);
                continue;
            }
            self.judge_session(n, now);
            self.tend_way(n, now);
            self.beat(n, now);
            match self.silence(n, now) {
                Some(Verdict::Dead(reason)) => self.remove(n, &reason),
                Some(Verdict::Keep(why)) => {
                    let Some(connection) = self.connection(n) else {
                        continue;
                    };
                    if connection.kept.replace(why) != Some(why) {
                        let name = connection.name();
                        warn!("{name} is silent but kept: {why}");
                    }
                }
                None => {}
            }
        }
    }

    /// Whether it has begun a message too long ago. A joined federate that is silent meanwhile is
    /// a matter of liveness: its process may be stopped.
    fn takes_too_long(&mut self, n: usize, now: Instant) -> bool {
        let (limit, timeout) = (self.config.frame_timeout, self.config.timeout);
        let Some((limit, connection)) = limit.zip(self.connection(n)) else {
            return false;
        };
        let begun = connection.begun.filter(|_| !connection.must_wait());
        let relay = connection.relay.as_ref();
        let joined = connection.member.is_some() || relay.is_some_and(|r| r.is_member());
        let heard = connection.heard;
        let since = |moment| now.duration_since(self.attention.from(moment));
        let late = begun.is_some_and(|begun| since(begun) >= limit);
        late && (!joined || since(heard) < timeout)
    }

    fn beat(&mut self, n: usize, now: Instant) {
        let heartbeat = self.config.heartbeat;
        let by_rtiexec = self.upstream.is_some() && !self.is_upstream(n);
        let Some(connection) = self.connection(n) else {
            return;
        };
        // That of a federate comes from rtiexec: it is to learn whether that one is there.
        if by_rtiexec && connection.trunk.is_none() {
            return;
        }
        let quiet = now.duration_since(connection.sent) >= heartbeat;
        if connection.info.is_some() && quiet && connection.writer.pending() == 0 {
            put_heartbeat(connection.writer.out());
            self.mark_dirty(n);
        }
    }

    fn silence(&mut self, n: usize, now: Instant) -> Option<Verdict> {
        let (timeout, heartbeat) = (self.config.timeout, self.config.heartbeat);
        let hello_timeout = self.config.hello_timeout;
        // As federates do with rtiexec: one that is only stopped may go on.
        let paused = if self.is_upstream(n) {
            Paused::Keep
        } else {
            self.config.paused
        };
        let heard = self.connection(n)?.heard;
        let silent = now.duration_since(self.attention.from(heard));
        let connection = self.connection(n)?;
        let limit = match connection.info {
            Some(_) => timeout,
            None => hello_timeout,
        };
        // That of a channel is its forwarder's to judge.
        if connection.is_part || silent < limit {
            return None;
        }
        // Of one that is not read nothing can come. What it has left behind is read all the same, then it is judged:
        // another process may have its connection open.
        if !connection.held_by.is_empty()
            && !connection.closing
            && connection.process_state() == Some(ProcessState::Gone)
        {
            connection.closing = true;
            connection.readable = true;
            self.queue(n);
            return None;
        }
        if connection.must_wait() || connection.readable || connection.queued {
            return None;
        }
        if connection.info.is_none() {
            return Some(Verdict::Dead(
                "it connected, but never said who it is (limits.hello_timeout_s)".into(),
            ));
        }
        let process = connection.process_state();
        let stream = connection.writer.stream();
        // Its last sign of life and its host's last acknowledgement are about as old when a cable
        // was cut; a host that answers has acknowledged a heartbeat since.
        let recently = (timeout / 2).max(2 * heartbeat);
        let signs = Signs {
            silent,
            process,
            host_answers: stream.host_answers(recently),
        };
        Some(judge(signs, paused))
    }

    /// Destroys federation executions that nobody will need any more, in an rtiexec that started
    /// by itself: without federates for as long as it would stay without connections, and nobody
    /// is connected who could be about to join. A federate that was killed can't destroy its own.
    pub(crate) fn drop_unused(&mut self, now: Instant) {
        let (true, Some(limit)) = (self.config.by_itself, self.config.idle_exit) else {
            return;
        };
        let undecided =
            |c: &Connection| c.info.is_some() && c.member.is_none() && c.trunk.is_none();
        if self.connections.iter_mut().any(|c| undecided(c)) {
            self.empty_since.clear();
            return;
        }
        let empty: BTreeMap<_, _> = self.executive.without_members().collect();
        let empty_since = std::mem::take(&mut self.empty_since);
        for (name, id) in empty {
            // The name may be another execution's by now.
            let (_, since) = match empty_since.get(&name) {
                Some(same) if same.0 == id => *same,
                _ => (id, now),
            };
            if now.duration_since(since) >= limit {
                self.drop_execution(id);
            } else {
                self.empty_since.insert(name, (id, since));
            }
        }
    }

    fn drop_execution(&mut self, id: u64) {
        if let Some(name) = self.executive.drop_unused(id) {
            info!(
                "federation execution '{name}' has no federates and nobody who could join: \
                 destroyed (start.idle_exit_s; in one started with `starling rtiexec` it would stay)"
            );
        }
    }

    /// Whether to end because nobody needs this process; with the lock that makes sure of it.
    pub(crate) fn check_idle(&mut self, now: Instant) -> Option<Ended> {
        let limit = self.config.idle_exit?;
        let kept = self.executive.federations() > 0 && !self.config.by_itself;
        if !self.connections.is_empty()
            || kept
            || self.workshop.is_busy()
            || self.archivist.is_busy()
        {
            self.idle_since = now;
            return None;
        }
        if now.duration_since(self.idle_since) < limit {
            return None;
        }
        let lock: Option<Lock> = match &self.config.run_dir {
            Some(run_dir) => match run_dir.try_lock() {
                Ok(Some(lock)) => Some(lock),
                // Somebody is looking for an rtiexec: not idle after all.
                Ok(None) => return None,
                // The directory is gone, so nobody can find this process.
                Err(_) => None,
            },
            None => None,
        };
        self.accept(now);
        if !self.connections.is_empty() {
            return None;
        }
        for (_, id) in self.executive.without_members().collect::<Vec<_>>() {
            self.drop_execution(id);
        }
        info!("nobody is connected and no federation execution is left: ending");
        Some(Ended::Idle(lock))
    }
}
