//! What a federate does for whom others wait: its own word, and what the system says of its process.

use crate::connection::Connection;
use crate::server::Server;
use starling_core::PeerId;
use starling_net::ProcessState;
use std::collections::BTreeMap;
use std::time::Instant;
use tracing::warn;

/// So much waits for a federate that reads, now and then.
const UNREAD_BYTES: usize = 4096;
/// The service by which a federate achieves a synchronization point.
const ACHIEVED: &str = "synchronizationPointAchieved";

/// Whether it may wait at a synchronization point: it evokes, or has called nothing since it achieved one.
fn may_wait(connection: &Connection) -> bool {
    let (doing, _) = &connection.doing;
    let achieved = doing.service == ACHIEVED && doing.callback.is_empty();
    achieved || doing.evokes() && !connection.rests
}

impl Server {
    /// That the process of the federate behind a connection is stopped, or silent; none if it is neither.
    pub(crate) fn stillness(&mut self, PeerId(peer): PeerId) -> Option<String> {
        let heartbeat = self.config.heartbeat;
        let connection = self.connection(peer as usize)?;
        let process = match connection.process_state() {
            Some(ProcessState::Stopped) => Some("its process is stopped; "),
            Some(ProcessState::Debugged) => Some("its process is held by a debugger; "),
            Some(ProcessState::Gone) => Some("its process is gone; "),
            Some(ProcessState::Running) | None => None,
        };
        let silent = connection.heard.elapsed();
        // One heartbeat may be late.
        (process.is_some() || silent > 3 * heartbeat).then(|| {
            let silent = silent.as_secs_f64();
            format!(
                "{}nothing has come from it for {silent:.1} s",
                process.unwrap_or_default()
            )
        })
    }

    /// The same of all of whom nothing has come for longer than a heartbeat, by their connections: of others it is not
    /// worth the trouble to ask the system.
    pub(crate) fn all_still(&mut self) -> BTreeMap<usize, String> {
        let heartbeat = self.config.heartbeat;
        let mut numbers: Vec<_> = self.connections.numbers().collect();
        numbers.retain(|n| {
            let connection = self.connections.get(*n);
            connection.is_some_and(|c| c.member.is_some() && c.heard.elapsed() > heartbeat)
        });
        let still = numbers.into_iter();
        still
            .filter_map(|n| Some((n, self.stillness(PeerId(n as u64))?)))
            .collect()
    }

    /// Whose turn it is, and what that one does: `turn`, or if that one waits at a synchronization point, who has not
    /// come to it.
    pub(crate) fn turn_text(
        &mut self,
        turn: Option<(PeerId, String)>,
        at_point: Option<(PeerId, String)>,
    ) -> Option<String> {
        let waits = match turn {
            Some((PeerId(peer), _)) => may_wait(self.connection(peer as usize)?),
            None => true,
        };
        let (peer, name) = at_point.filter(|_| waits).or(turn)?;
        let does = self.turn_of(peer)?;
        Some(format!("it is the turn of '{name}': {does}"))
    }

    /// What the federate behind a connection does, as a sentence without its subject.
    pub(crate) fn turn_of(&mut self, PeerId(peer): PeerId) -> Option<String> {
        let mut parts: Vec<String> = self.stillness(PeerId(peer)).into_iter().collect();
        let connection = self.connection(peer as usize)?;
        let now = Instant::now();
        let (doing, since) = &connection.doing;
        let since = now.duration_since(*since).as_secs_f64();
        parts.push(match (&*doing.callback, &*doing.service) {
            ("", "") => "it has not told what it does".to_owned(),
            ("", service) if connection.rests => {
                format!("it has called nothing since it evoked callbacks ({service}), about {since:.1} s ago")
            }
            ("", service) if doing.evokes() => format!(
                "it evokes callbacks ({service}) whenever it tells what it does, once a second, for about {since:.1} s"
            ),
            ("", service) => format!("it called {service} last, about {since:.1} s ago"),
            (callback, _) => format!("it has been in the callback {callback} for about {since:.1} s"),
        });
        let (callbacks, bytes) = (connection.counters.waiting, connection.writer.pending());
        if callbacks > 0 {
            parts.push(format!("{callbacks} callbacks wait for it to evoke"));
        }
        // Less is on its way at any moment.
        if bytes > UNREAD_BYTES {
            parts.push(format!("{bytes} bytes wait for it to read"));
        }
        Some(parts.join("; "))
    }

    /// Names in the log whose time, save, restore or synchronization point has waited for long, and for
    /// whom; once each wait.
    pub(crate) fn name_waits(&mut self) {
        let Some(longer) = self.config.log_wait else {
            return;
        };
        self.executive.set_time(self.began.elapsed());
        for wait in self.executive.take_long_waits(longer) {
            let turn = self.turn_text(wait.turn, wait.at_point);
            let turn = turn.map(|turn| format!("; {turn}"));
            let name = match wait.waiting {
                Some(PeerId(peer)) => self.connection(peer as usize).map(|c| c.name()),
                None => Some(format!("'{}':", wait.federation)),
            };
            if let Some(name) = name {
                warn!("{name} {}{}", wait.why, turn.unwrap_or_default());
            }
        }
    }
}
