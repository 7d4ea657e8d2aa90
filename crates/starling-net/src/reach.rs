//! Reaching the rtiexec that the settings mean, if need be by starting it.
//!
//! Invariants: an address that was set is never answered by starting anything; one lock is held
//! from the probe until the connection stands, so that of many processes one starts an rtiexec
//! and all use it, and no idle rtiexec ends under a connection.

use crate::dial::dial;
use crate::platform::process_name;
use crate::run_dir::RunDir;
use crate::start::{find_program, spawn};
use crate::stream::Stream;
use crate::token::Challenge;
use starling_rid::{
    CONNECT_ADDRESS, CONNECT_TIMEOUT_S, DEFAULT_PORT, Endpoint, NET_UNIX, START_BY_ITSELF,
    START_IDLE_EXIT_S, START_PROGRAM, START_TIMEOUT_S, Settings,
};
use std::fmt;
use std::io;
use std::time::Duration;

/// A connection to an rtiexec.
#[derive(Debug)]
pub struct Reach {
    /// The connection; nothing was said on it yet.
    pub stream: Stream,
    /// Where it goes.
    pub endpoint: Endpoint,
    /// How it came about.
    pub how: Reached,
    /// To be sent with the Hello, and the answer to be checked: it was found, not named, and any
    /// user could listen there.
    pub challenge: Option<Challenge>,
}

impl Reach {
    /// Where it goes, and to which process if the system tells, for messages.
    pub fn whom(&self) -> String {
        match self.stream.peer().process {
            Some((pid, _)) => {
                let name = process_name(pid).unwrap_or_else(|| "unknown".into());
                format!("{} (process {pid}, {name})", self.endpoint)
            }
            None => self.endpoint.to_string(),
        }
    }
}

/// How an rtiexec was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reached {
    /// It ran already.
    Running,
    /// It was started for this connection.
    Started,
}

/// No rtiexec could be reached: what was tried, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReachError(pub String);

impl fmt::Display for ReachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ReachError {}

/// Connects to the rtiexec that the settings mean; starts one if no address is set, none runs
/// and the settings allow it.
pub fn reach(settings: &Settings) -> Result<Reach, ReachError> {
    if settings.get(CONNECT_ADDRESS).is_some() || !settings.get(START_BY_ITSELF) {
        return find(settings);
    }
    let failed = |why: String| {
        ReachError(format!(
            "no rtiexec runs on this host, and none could be started by itself: {why}\n  \
             do: run `starling rtiexec`, or set connect.address to one that runs"
        ))
    };
    let run_dir = RunDir::of(settings).map_err(|e| failed(e.to_string()))?;
    let endpoint = own_endpoint(settings, &run_dir);
    let time = |key| Duration::from_secs_f64(settings.get(key));
    let lock = run_dir
        .lock(time(START_TIMEOUT_S))
        .map_err(|e| failed(e.to_string()))?;
    let connect = || dial(&endpoint, time(CONNECT_TIMEOUT_S));
    let there = |stream: Stream, how| {
        let challenge = own(&stream, &run_dir).map_err(failed)?;
        Ok(Reach {
            stream,
            endpoint: endpoint.clone(),
            how,
            challenge,
        })
    };
    match connect() {
        Ok(stream) => return there(stream, Reached::Running),
        Err(error) if nobody_there(&error) => {}
        Err(error) => return Err(failed(format!("{endpoint}: {error}"))),
    }
    // Another one would serve the same user, and their federates would never meet.
    let socket = Endpoint::Unix(run_dir.socket(DEFAULT_PORT));
    if endpoint != socket
        && let Ok(stream) = dial(&socket, time(CONNECT_TIMEOUT_S))
    {
        let process = stream
            .peer()
            .process
            .map_or(String::new(), |(pid, _)| format!(" (process {pid})"));
        return Err(ReachError(format!(
            "your rtiexec{process} listens at {socket} only, and net.unix = false ({}) asks for TCP\n  \
             do: leave net.unix as it is, or end that rtiexec (`starling stop`) and run `starling rtiexec`, \
             which listens at both",
            settings.origin(NET_UNIX)
        )));
    }
    let program = find_program(&settings.get(START_PROGRAM)).map_err(failed)?;
    let arguments = [
        "rtiexec",
        "--by-itself",
        "--run-dir",
        &run_dir.path().display().to_string(),
        "--listen",
        &endpoint.to_string(),
        "--idle-exit-s",
        &settings.get(START_IDLE_EXIT_S).to_string(),
    ];
    let log = run_dir.log(DEFAULT_PORT);
    let started = spawn(&program, &arguments, &log, time(START_TIMEOUT_S));
    let stream = match (started, connect()) {
        (_, Ok(stream)) => stream,
        (Ok(_), Err(error)) => return Err(failed(format!("{endpoint}: {error}"))),
        (Err(why), Err(_)) => return Err(failed(why)),
    };
    drop(lock);
    there(stream, Reached::Started)
}

/// Connects to the rtiexec that the settings mean and that runs already.
pub fn find(settings: &Settings) -> Result<Reach, ReachError> {
    let timeout = Duration::from_secs_f64(settings.get(CONNECT_TIMEOUT_S));
    let set = settings.get(CONNECT_ADDRESS);
    let mut candidates = Vec::new();
    let mut tried = Vec::new();
    if settings.get(NET_UNIX) {
        let port = match &set {
            None => Some(DEFAULT_PORT),
            Some(Endpoint::Tcp { port, .. }) if set.as_ref().is_some_and(Endpoint::is_local) => {
                Some(*port)
            }
            Some(_) => None,
        };
        if let Some(port) = port {
            match RunDir::of(settings) {
                Ok(run_dir) => candidates.push(Endpoint::Unix(run_dir.socket(port))),
                Err(error) => tried.push(error.to_string()),
            }
        }
    }
    candidates.push(set.clone().unwrap_or(Endpoint::loopback(DEFAULT_PORT)));
    for endpoint in candidates {
        let stream = match dial(&endpoint, timeout) {
            Ok(stream) => stream,
            Err(error) => {
                tried.push(format!("{endpoint}: {error}"));
                continue;
            }
        };
        let challenge = match &set {
            Some(_) => Ok(None),
            None => RunDir::of(settings)
                .map_err(|e| e.to_string())
                .and_then(|run_dir| own(&stream, &run_dir)),
        };
        match challenge {
            Ok(challenge) => {
                return Ok(Reach {
                    stream,
                    endpoint,
                    how: Reached::Running,
                    challenge,
                });
            }
            Err(why) => tried.push(why),
        }
    }
    let origin = match set {
        Some(_) => format!("connect.address of {}", settings.origin(CONNECT_ADDRESS)),
        None => "no address is set".into(),
    };
    Err(ReachError(format!(
        "no rtiexec answers ({origin}); tried {}\n  \
         do: run `starling rtiexec` there, or correct connect.address",
        tried.join("; ")
    )))
}

/// How to make sure that a listener which was found, not named, is this user's own. For a
/// Unix-domain socket the system has told.
fn own(stream: &Stream, run_dir: &RunDir) -> Result<Option<Challenge>, String> {
    let Stream::Tcp(tcp) = stream else {
        return Ok(None);
    };
    match Challenge::over(tcp, run_dir) {
        Ok(Some(challenge)) => Ok(Some(challenge)),
        Ok(None) => Err(format!(
            "{stream}: somebody listens, but nothing in {} says that it is an rtiexec of yours \
             (to use another's, set connect.address)",
            run_dir.path().display()
        )),
        Err(error) => Err(format!("{stream}: {error}")),
    }
}

/// Where this user's own rtiexec is, or will be.
fn own_endpoint(settings: &Settings, run_dir: &RunDir) -> Endpoint {
    if settings.get(NET_UNIX) {
        Endpoint::Unix(run_dir.socket(DEFAULT_PORT))
    } else {
        Endpoint::loopback(DEFAULT_PORT)
    }
}

fn nobody_there(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
    )
}
