//! `starling rtiexec`.
//!
//! Once federates can connect, one line on standard output says where:
//! `ready 127.0.0.1:15160 unix:/run/user/1000/starling/rtiexec-15160.sock`.

use crate::fail;
use clap::Args;
use starling_net::{RunDir, raise_descriptor_limit};
use starling_rid::{
    DEFAULT_PORT, Key, LOG_FILE, LOG_LEVEL, NET_RUN_DIR, RTIEXEC_IDLE_EXIT_S, RTIEXEC_LISTEN,
    SettingError, Settings, Sources,
};
use starling_rtiexec::{Config, Ended, Server, start_logging};
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;
use tracing::{info, warn};

/// Options of `starling rtiexec`; every other setting comes from the usual sources.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Where to listen, host:port or unix:/path; may be given several times [rtiexec.listen]
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<String>,
    /// End after so many seconds without connection and federation execution [rtiexec.idle_exit_s]
    #[arg(long, value_name = "SECONDS")]
    idle_exit_s: Option<f64>,
    /// Directory of sockets and locks [net.run_dir]
    #[arg(long, value_name = "DIRECTORY")]
    run_dir: Option<String>,
    /// off, error, warning, info, debug or trace [log.level]
    #[arg(long, value_name = "LEVEL")]
    log_level: Option<String>,
    /// Where the log goes, instead of standard error [log.file]
    #[arg(long, value_name = "FILE")]
    log_file: Option<String>,
    /// Started by a federate, which holds the lock of the run directory
    #[arg(long, hide = true)]
    by_itself: bool,
}

/// Runs `starling rtiexec`.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match serve(arguments) {
        // The lock, if any, is held until the process is gone.
        Ok(_ended) => std::process::exit(0),
        Err(error) => fail(error, 1),
    }
}

fn serve(arguments: &Arguments) -> Result<Ended, String> {
    let mut settings = settings(arguments).map_err(|e| e.to_string())?;
    let run_dir = RunDir::of(&settings);
    if let (true, Ok(run_dir)) = (arguments.by_itself, &run_dir)
        && settings.get(LOG_FILE).is_empty()
    {
        let file = run_dir.log(DEFAULT_PORT).display().to_string();
        let set = settings.set(LOG_FILE, &file, "starting by itself");
        set.map_err(|e| e.to_string())?;
    }
    let _log = start_logging(&settings)?;
    for note in settings.notes() {
        warn!("{note}");
    }
    raise_descriptor_limit();
    let mut config = Config::of(&settings);
    config.by_itself = arguments.by_itself;
    if let Some(seconds) = arguments.idle_exit_s {
        let set = settings.set(RTIEXEC_IDLE_EXIT_S, &seconds.to_string(), "--idle-exit-s");
        set.map_err(|e| e.to_string())?;
        let time = Duration::from_secs_f64(settings.get(RTIEXEC_IDLE_EXIT_S));
        // For one that was started by itself 0 means at once, else never.
        config.idle_exit = (arguments.by_itself || !time.is_zero()).then_some(time);
    }
    match run_dir {
        Ok(run_dir) => config.run_dir = Some(run_dir),
        Err(error) if arguments.by_itself => return Err(error.to_string()),
        Err(error) => warn!("no Unix-domain links: {error}"),
    }
    let mut server = Server::new(config)?;
    server
        .stop_on_signals()
        .map_err(|e| format!("signals can't be watched: {e}"))?;
    let endpoints: Vec<_> = server.endpoints().iter().map(ToString::to_string).collect();
    let endpoints = endpoints.join(" ");
    info!(
        "rtiexec of Starling {}, process {}, listens on {endpoints}",
        env!("CARGO_PKG_VERSION"),
        std::process::id()
    );
    // Nobody has to read it.
    let _ = writeln!(std::io::stdout(), "ready {endpoints}");
    server
        .run()
        .map_err(|e| format!("waiting for links failed: {e}"))
}

fn settings(arguments: &Arguments) -> Result<Settings, SettingError> {
    let mut settings = Sources::of_process().read()?;
    if !arguments.listen.is_empty() {
        settings.set(RTIEXEC_LISTEN, &arguments.listen.join(" "), "--listen")?;
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
