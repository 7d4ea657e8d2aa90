//! `starling rtiexec`.
//!
//! Once federates can connect, one line on standard output says where:
//! `ready 127.0.0.1:15160 unix:/run/user/1000/starling/rtiexec-15160.sock`.

use crate::serving::{self, Serving};
use crate::{Failure, fail, failed, wrong_settings};
use clap::Args;
use starling_net::{RunDir, raise_descriptor_limit};
use starling_rid::{
    DEFAULT_PORT, LOG_FILE, RTIEXEC_IDLE_EXIT_S, RTIEXEC_LISTEN, SettingError, Settings,
};
use starling_rtiexec::{Config, Ended, Server, start_logging};
use std::process::ExitCode;
use std::time::Duration;
use tracing::warn;

/// Options of `starling rtiexec`; every other setting comes from the usual sources.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Where to listen, host:port or unix:/path; may be given several times [rtiexec.listen]
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<String>,
    /// End after so many seconds without connection and federation execution [rtiexec.idle_exit_s]
    #[arg(long, value_name = "SECONDS")]
    idle_exit_s: Option<f64>,
    #[command(flatten)]
    serving: Serving,
    /// Started by a federate, which holds the lock of the run directory
    #[arg(long, hide = true)]
    by_itself: bool,
}

/// Runs `starling rtiexec`.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match serve(arguments) {
        // The lock, if any, is held until the process is gone.
        Ok(_ended) => std::process::exit(0),
        Err((error, code)) => fail(error, code),
    }
}

fn serve(arguments: &Arguments) -> Result<Ended, Failure> {
    let mut settings = settings(arguments).map_err(wrong_settings)?;
    let run_dir = RunDir::of(&settings);
    if let (true, Ok(run_dir)) = (arguments.by_itself, &run_dir)
        && settings.get(LOG_FILE).is_empty()
    {
        let file = run_dir.log(DEFAULT_PORT).display().to_string();
        let set = settings.set(LOG_FILE, &file, "starting by itself");
        set.map_err(wrong_settings)?;
    }
    let _log = start_logging(&settings).map_err(failed)?;
    for note in settings.notes() {
        warn!("{note}");
    }
    raise_descriptor_limit();
    let mut config = Config::of(&settings);
    config.by_itself = arguments.by_itself;
    if let Some(seconds) = arguments.idle_exit_s {
        let set = settings.set(RTIEXEC_IDLE_EXIT_S, &seconds.to_string(), "--idle-exit-s");
        set.map_err(wrong_settings)?;
        let time = Duration::from_secs_f64(settings.get(RTIEXEC_IDLE_EXIT_S));
        // For one that was started by itself 0 means at once, else never.
        config.idle_exit = (arguments.by_itself || !time.is_zero()).then_some(time);
    }
    match run_dir {
        Ok(run_dir) => config.run_dir = Some(run_dir),
        Err(error) if arguments.by_itself => return Err(failed(error.to_string())),
        Err(error) => warn!("no Unix-domain links: {error}"),
    }
    let server = Server::new(config).map_err(failed)?;
    serving::serve(server, "rtiexec", "").map_err(failed)
}

fn settings(arguments: &Arguments) -> Result<Settings, SettingError> {
    let mut settings = arguments.serving.settings()?;
    if !arguments.listen.is_empty() {
        settings.set(RTIEXEC_LISTEN, &arguments.listen.join(" "), "--listen")?;
    }
    Ok(settings)
}
