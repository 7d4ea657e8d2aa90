//! The log: one line per event, time first.

use starling_rid::{LOG_FILE, LOG_LEVEL, Settings};
use std::fs::OpenOptions;
use std::io::IsTerminal;
use std::os::unix::fs::OpenOptionsExt;
use tracing::level_filters::LevelFilter;

/// Sends this process's log where the settings say. Once per process.
pub fn start_logging(settings: &Settings) -> Result<(), String> {
    let level = match settings.get(LOG_LEVEL).as_str() {
        "off" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "warning" => LevelFilter::WARN,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => LevelFilter::INFO,
    };
    let lines = tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false);
    let file = settings.get(LOG_FILE);
    let done = if file.is_empty() {
        let colours = std::io::stderr().is_terminal();
        lines
            .with_ansi(colours)
            .with_writer(std::io::stderr)
            .try_init()
    } else {
        let opened = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            .open(&file);
        let opened = opened.map_err(|e| format!("log.file: {file} can't be opened: {e}"))?;
        lines.with_ansi(false).with_writer(opened).try_init()
    };
    done.map_err(|e| format!("the log can't be started: {e}"))
}
