//! `starling forwarder`.
//!
//! Once federates can connect, one line on standard output says where, as that of `starling rtiexec`.

use crate::{UNREACHABLE, fail};
use clap::Args;
use starling_net::{RunDir, raise_descriptor_limit};
use starling_rid::{
    CONNECT_TIMEOUT_S, FORWARDER_LISTEN, FORWARDER_UPSTREAM, Key, LOG_FILE, LOG_LEVEL, NET_RUN_DIR,
    SettingError, Settings, Sources,
};
use starling_rtiexec::{Config, Ended, Server, start_logging};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use tracing::{info, warn};

/// Options of `starling forwarder`; every other setting comes from the usual sources.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The rtiexec or forwarder that it hands on to, host:port or unix:/path [forwarder.upstream]
    #[arg(long, value_name = "ADDRESS")]
    upstream: Option<String>,
    /// Where to listen, host:port or unix:/path; may be given several times [forwarder.listen]
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<String>,
    /// Directory of sockets and locks [net.run_dir]
    #[arg(long, value_name = "DIRECTORY")]
    run_dir: Option<String>,
    /// off, error, warning, info, debug or trace [log.level]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Where the log goes, instead of standard error [log.file]
    #[arg(long, value_name = "FILE")]
    log_file: Option<String>,
}

/// Runs `starling forwarder`.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match serve(arguments) {
        Ok(Ended::Lost(why)) => fail(
            format_args!(
                "the forwarder has lost its way to rtiexec, and its federates with it: {why}\n  \
                 do: start it again once rtiexec can be reached"
            ),
            1,
        ),
        Ok(Ended::Stopped(_) | Ended::Idle(_)) => ExitCode::SUCCESS,
        Err((error, code)) => fail(error, code),
    }
}

fn serve(arguments: &Arguments) -> Result<Ended, (String, u8)> {
    let failed = |why: String| (why, 1);
    let settings = settings(arguments).map_err(|e| failed(e.to_string()))?;
    let _log = start_logging(&settings).map_err(failed)?;
    for note in settings.notes() {
        warn!("{note}");
    }
    let Some(upstream) = settings.get(FORWARDER_UPSTREAM) else {
        let why = "no rtiexec is named to hand on to\n  do: give --upstream HOST:PORT";
        return Err((why.into(), crate::WRONG_USAGE));
    };
    raise_descriptor_limit();
    let mut config = Config::of(&settings);
    config.listen = settings.get(FORWARDER_LISTEN);
    match RunDir::of(&settings) {
        Ok(run_dir) => config.run_dir = Some(run_dir),
        Err(error) => warn!("no Unix-domain links: {error}"),
    }
    let timeout = Duration::from_secs_f64(settings.get(CONNECT_TIMEOUT_S));
    let greeted = starling::greet(&upstream, "forwarder", timeout, config.compression);
    let (link, welcome) = greeted.map_err(|why| {
        (
            format!("{why}\n  do: start it first (--upstream)"),
            UNREACHABLE,
        )
    })?;
    let mut server = Server::forwarder(config, link, welcome).map_err(failed)?;
    server
        .stop_on_signals()
        .map_err(|e| failed(format!("signals can't be watched: {e}")))?;
    let endpoints: Vec<_> = server.endpoints().iter().map(ToString::to_string).collect();
    let endpoints = endpoints.join(" ");
    info!(
        "forwarder of Starling {}, process {}, listens on {endpoints}, hands on to {upstream}",
        env!("CARGO_PKG_VERSION"),
        std::process::id()
    );
    // Nobody has to read it.
    let _ = writeln!(std::io::stdout(), "ready {endpoints}");
    server
        .run()
        .map_err(|e| failed(format!("waiting for links failed: {e}")))
}

fn settings(arguments: &Arguments) -> Result<Settings, SettingError> {
    let mut settings = Sources::of_process().read()?;
    if !arguments.listen.is_empty() {
        settings.set(FORWARDER_LISTEN, &arguments.listen.join(" "), "--listen")?;
    }
    if let Some(upstream) = &arguments.upstream {
        settings.set(FORWARDER_UPSTREAM, upstream, "--upstream")?;
    }
    let mut set = |key: Key<String>, value: &Option<String>, option: &str| match value {
        Some(text) => settings.set(key, text, option),
        None => Ok(()),
    };
    set(NET_RUN_DIR, &arguments.run_dir, "--run-dir")?;
    set(LOG_LEVEL, &arguments.log_level, "--log-level")?;
    set(LOG_FILE, &arguments.log_file, "--log-file")?;
    Ok(settings)
}
