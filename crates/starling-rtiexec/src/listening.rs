//! Where a server listens.

use crate::config::Config;
use starling_net::{Endpoint, Listener, Lock, Token};
use std::time::Duration;

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
    use starling_net::RunDir;
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
