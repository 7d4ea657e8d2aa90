//! What a federate does for whom others wait: its own word, and what the system says of its process.

use crate::server::Server;
use starling_core::PeerId;
use starling_net::ProcessState;
use std::time::Instant;
use tracing::warn;

impl Server {
    /// What the federate behind a connection does, as a sentence without its subject.
    pub(crate) fn turn_of(&mut self, PeerId(peer): PeerId) -> Option<String> {
        let heartbeat = self.config.heartbeat;
        let connection = self.connection(peer as usize)?;
        let now = Instant::now();
        let silent = now.duration_since(connection.heard);
        let process = match connection.process_state() {
            Some(ProcessState::Stopped) => Some("its process is stopped"),
            Some(ProcessState::Debugged) => Some("its process is held by a debugger"),
            Some(ProcessState::Gone) => Some("its process is gone"),
            Some(ProcessState::Running) | None => None,
        };
        let mut parts: Vec<String> = process.map(str::to_owned).into_iter().collect();
        // One heartbeat may be late.
        if process.is_some() || silent > 3 * heartbeat {
            let silent = silent.as_secs_f64();
            parts.push(format!("nothing has come from it for {silent:.1} s"));
        }
        let (doing, since) = &connection.doing;
        let since = now.duration_since(*since).as_secs_f64();
        let evokes = doing.service.starts_with("evoke");
        parts.push(match (&*doing.callback, &*doing.service) {
            ("", "") => "it has not told what it does".to_owned(),
            ("", service) if evokes => format!(
                "it evokes callbacks ({service}), and has called nothing else for about {since:.1} s"
            ),
            ("", service) => format!("it called {service} last, about {since:.1} s ago"),
            (callback, _) => format!("it has been in the callback {callback} for about {since:.1} s"),
        });
        let (callbacks, bytes) = (connection.counters.waiting, connection.writer.pending());
        if callbacks > 0 {
            parts.push(format!("{callbacks} callbacks wait for it to evoke"));
        }
        if bytes > 0 {
            parts.push(format!("{bytes} bytes wait for it to read"));
        }
        Some(parts.join("; "))
    }

    /// Names in the log whose time has waited for long, and for whom; once each wait.
    pub(crate) fn name_waits(&mut self) {
        let Some(longer) = self.config.log_wait else {
            return;
        };
        self.executive.set_time(self.began.elapsed());
        for wait in self.executive.take_long_waits(longer) {
            let turn = wait.turn.and_then(|(peer, name)| {
                let does = self.turn_of(peer)?;
                Some(format!("; it is the turn of '{name}': {does}"))
            });
            let PeerId(peer) = wait.waiting;
            if let Some(connection) = self.connection(peer as usize) {
                let (name, why) = (connection.name(), wait.why);
                warn!("{name} {why}{}", turn.unwrap_or_default());
            }
        }
    }
}
