//! `starling bench`: the benchmark platform of the same install.

use crate::fail;
use clap::Args;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

/// The platform's own program.
const PLATFORM: &str = "starling-bench";

const ABSENT: &str = "the benchmark platform is not installed: 'starling-bench' is neither beside this program \
     nor in PATH\ndo: in a source tree 'make venv', elsewhere 'pip install' the folder bench of one";

/// Options of `starling bench`: all are the platform's.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Arguments {
    /// The study and its options, as of `starling-bench`; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

/// Runs `starling bench`: this process becomes `starling-bench`.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let mut command = Command::new(program());
    command.args(&arguments.arguments);
    match replace(&mut command) {
        Ok(code) => code,
        Err(e) if e.kind() == ErrorKind::NotFound => fail(ABSENT, 1),
        Err(e) => fail(format_args!("can't run {PLATFORM}: {e}"), 1),
    }
}

/// The one beside this program, else the one that PATH leads to.
fn program() -> PathBuf {
    let here = std::env::current_exe();
    let beside = here.ok().map(|program| program.with_file_name(PLATFORM));
    let beside = beside.filter(|program| program.is_file());
    beside.unwrap_or_else(|| PathBuf::from(PLATFORM))
}

/// Signals reach it as if it had been started itself.
#[cfg(unix)]
fn replace(command: &mut Command) -> std::io::Result<ExitCode> {
    use std::os::unix::process::CommandExt;
    Err(command.exec())
}

#[cfg(not(unix))]
fn replace(command: &mut Command) -> std::io::Result<ExitCode> {
    let code = command.status()?.code();
    let code = code.and_then(|code| u8::try_from(code).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}
