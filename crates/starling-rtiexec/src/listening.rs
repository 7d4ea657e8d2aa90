//! Where a server listens.

use crate::config::Config;
use crate::server::{LISTENER, Server};
use mio::unix::SourceFd;
use mio::{Interest, Registry};
use starling_net::{Endpoint, Listener, Lock, RunDir, Token};
use std::io;
use std::os::fd::AsRawFd;
use std::time::Duration;
use tracing::warn;

/// Opens all listeners. Beside a TCP port that federates of this host use, the run directory's
/// socket of the same number is opened, so that they find the shorter way by themselves.
/// Each TCP listener comes with a token, by which federates of this user on this host recognise it.
pub(crate) fn open(config: &Config) -> Result<Vec<(Listener, Option<Token>)>, String> {
    let mut listeners = Vec::new();
    for endpoint in &config.listen {
        let failed = |e: std::io::Error| {
            let remedy = match e.kind() {
                std::io::ErrorKind::AddrInUse => {
                    "use that rtiexec (starling ps), end it, or choose another rtiexec.listen"
                }
                _ => "correct rtiexec.listen",
            };
            format!("can't listen on {endpoint}: {e}\n  do: {remedy}")
        };
        let listener = Listener::bind(endpoint).map_err(failed)?;
        let bound = listener.endpoint().map_err(failed)?;
        let token = match (&bound, &config.run_dir) {
            (Endpoint::Tcp { port, .. }, Some(run_dir)) if serves_this_host(&bound) => {
                let token = Token::publish(run_dir, *port);
                Some(token.map_err(|e| format!("no token in {}: {e}", run_dir.path().display()))?)
            }
            _ => None,
        };
        listeners.push((listener, token));
        // One that a federate started is this user's only one: all its federates must find it there,
        // also those that may use Unix-domain links where the first may not.
        let beside_it = (config.unix || config.by_itself) && serves_this_host(&bound);
        if let (Endpoint::Tcp { port, .. }, true) = (&bound, beside_it) {
            listeners.extend(beside(config, *port)?.map(|beside| (beside, None)));
        }
    }
    if listeners.is_empty() {
        return Err("rtiexec.listen names no address\n  do: give at least one".into());
    }
    Ok(listeners)
}

/// Whether federates of this host reach it.
pub(crate) fn serves_this_host(endpoint: &Endpoint) -> bool {
    let Endpoint::Tcp { host, .. } = endpoint else {
        return false;
    };
    endpoint.is_local() || host == "0.0.0.0" || host == "::"
}

/// Connections to the listener of this number are told to who waits for events.
pub(crate) fn await_connections(
    registry: &Registry,
    number: usize,
    listener: &Listener,
) -> io::Result<()> {
    let token = mio::Token(LISTENER + number);
    let descriptor = listener.as_raw_fd();
    registry.register(&mut SourceFd(&descriptor), token, Interest::READABLE)
}

impl Server {
    /// Listens again where a socket was removed, which cleaners of temporary directories do: else the next federate
    /// would start another rtiexec beside this one.
    pub(crate) fn listen_again(&mut self) {
        for (number, (listener, _)) in self.listeners.iter_mut().enumerate() {
            let Some(path) = listener.removed() else {
                continue;
            };
            let path = path.display().to_string();
            if let Some(run_dir) = &self.config.run_dir {
                // It may be gone as a whole; if it can't be made, what follows says so.
                let _ = RunDir::open(run_dir.path());
            }
            let again = listener
                .listen_again()
                .and_then(|()| await_connections(&self.registry, number, listener));
            match again {
                Ok(()) => warn!("{path} was removed: listening there again"),
                Err(e) => warn!(
                    "{path} was removed, and can't be listened on again: {e}; who looks for an rtiexec \
                     there does not find this one"
                ),
            }
        }
    }
}

fn beside(config: &Config, port: u16) -> Result<Option<Listener>, String> {
    let Some(run_dir) = &config.run_dir else {
        return Ok(None);
    };
    let failed = |e: std::io::Error| {
        format!(
            "can't listen beside port {port}: {e}\n  \
             do: end that rtiexec, choose another port, or set net.unix to false"
        )
    };
    // A federate that is starting an rtiexec must not see half of this one.
    let _lock: Option<Lock> = if config.by_itself {
        None
    } else {
        Some(run_dir.lock(Duration::from_secs(30)).map_err(failed)?)
    };
    let endpoint = Endpoint::Unix(run_dir.socket(port));
    Listener::bind(&endpoint).map(Some).map_err(failed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use starling_rid::Settings;

    #[test]
    fn one_that_started_by_itself_is_found_without_tcp_too() {
        let directory =
            std::env::temp_dir().join(format!("starling-beside-{}", std::process::id()));
        for (by_itself, listeners) in [(true, 2), (false, 1)] {
            let mut config = Config::of(&Settings::default());
            config.listen = vec![Endpoint::loopback(0)];
            config.run_dir = Some(RunDir::open(&directory).unwrap());
            config.unix = false;
            config.by_itself = by_itself;
            assert_eq!(open(&config).unwrap().len(), listeners);
        }
        std::fs::remove_dir_all(&directory).unwrap();
    }
}
