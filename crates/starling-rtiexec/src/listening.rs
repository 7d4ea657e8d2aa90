//! Where a server listens.

use crate::config::Config;
use starling_net::{Endpoint, Listener, Lock};
use std::time::Duration;

/// Opens all listeners. Beside a TCP port that federates of this host use, the run directory's
/// socket of the same number is opened, so that they find the shorter way by themselves.
pub(crate) fn open(config: &Config) -> Result<Vec<Listener>, String> {
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
        listeners.push(listener);
        if let (Endpoint::Tcp { port, .. }, true) =
            (&bound, config.unix && serves_this_host(&bound))
        {
            listeners.extend(beside(config, *port)?);
        }
    }
    if listeners.is_empty() {
        return Err("rtiexec.listen names no address\n  do: give at least one".into());
    }
    Ok(listeners)
}

fn serves_this_host(endpoint: &Endpoint) -> bool {
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
    let _lock: Option<Lock> = match config.by_itself {
        true => None,
        false => Some(run_dir.lock(Duration::from_secs(30)).map_err(failed)?),
    };
    let endpoint = Endpoint::Unix(run_dir.socket(port));
    Listener::bind(&endpoint).map(Some).map_err(failed)
}
