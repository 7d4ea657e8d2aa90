//! What `starling rtiexec` and `starling forwarder` have in common: where they keep their sockets, what they
//! log, and how they say that federates can connect.

use clap::Args;
use starling_rid::{LOG_FILE, LOG_LEVEL, NET_RUN_DIR, SettingError, Settings, Sources};
use starling_rtiexec::{Ended, Server};
use std::io::Write;
use tracing::info;

/// Options of both; every other setting comes from the usual sources.
#[derive(Args)]
pub(crate) struct Serving {
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

impl Serving {
    /// The settings of the usual sources, and these options.
    pub(crate) fn settings(&self) -> Result<Settings, SettingError> {
        let mut settings = Sources::of_process().read()?;
        for (key, value, option) in [
            (NET_RUN_DIR, &self.run_dir, "--run-dir"),
            (LOG_LEVEL, &self.log_level, "--log-level"),
            (LOG_FILE, &self.log_file, "--log-file"),
        ] {
            if let Some(text) = value {
                settings.set(key, text, option)?;
            }
        }
        Ok(settings)
    }
}

/// Serves until the server ends. Where federates can connect stands on one line of standard output; `what` it is,
/// and `more` of it, in the log.
pub(crate) fn serve(mut server: Server, what: &str, more: &str) -> Result<Ended, String> {
    server
        .stop_on_signals()
        .map_err(|e| format!("signals can't be watched: {e}"))?;
    let endpoints: Vec<_> = server.endpoints().iter().map(ToString::to_string).collect();
    let endpoints = endpoints.join(" ");
    info!(
        "{what} of Starling {}, process {}, listens on {endpoints}{more}",
        env!("CARGO_PKG_VERSION"),
        std::process::id()
    );
    // Nobody has to read it.
    let _ = writeln!(std::io::stdout(), "ready {endpoints}");
    server
        .run()
        .map_err(|e| format!("waiting for links failed: {e}"))
}
