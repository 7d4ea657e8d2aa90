//! The program `starling`: one file per group of subcommands.
//!
//! Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no rtiexec reached.

mod config;
mod document;
mod fom;
mod ps;
mod query;
mod rtiexec;
mod why;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

/// No rtiexec could be reached.
const UNREACHABLE: u8 = 3;

#[derive(Parser)]
#[command(
    name = "starling",
    version,
    about = "Starling, an HLA run-time infrastructure"
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the server that federates connect to
    Rtiexec(rtiexec::Arguments),
    /// List federation executions, their federates, and how these are connected
    Ps(ps::Arguments),
    /// Say why a federate gets no updates or interactions: walks the chain, names the link that fails
    Why(why::Arguments),
    /// Check, show, merge and compare FOM modules
    #[command(subcommand)]
    Fom(fom::Command),
    /// Show and check settings
    #[command(subcommand)]
    Config(config::Command),
    /// Print the completion script of a shell
    Completions(document::Completions),
    /// Write the manual pages of this program
    #[command(hide = true)]
    Man(document::ManPages),
}

fn main() -> ExitCode {
    match Arguments::parse().command {
        Command::Rtiexec(arguments) => rtiexec::run(&arguments),
        Command::Ps(arguments) => ps::run(&arguments),
        Command::Why(arguments) => why::run(&arguments),
        Command::Fom(command) => fom::run(&command),
        Command::Config(command) => config::run(&command),
        Command::Completions(arguments) => document::completions(&arguments),
        Command::Man(arguments) => document::man_pages(&arguments),
    }
}

/// Prints an error as every subcommand does.
fn fail(error: impl std::fmt::Display, code: u8) -> ExitCode {
    starling_net::say(format_args!("starling: {error}"));
    ExitCode::from(code)
}

/// Writes to standard output; a reader that has gone away (`| head`) is no error.
fn print(text: &str) -> ExitCode {
    use std::io::Write;
    // Nobody is left who could be told.
    let _ = std::io::stdout().write_all(text.as_bytes());
    ExitCode::SUCCESS
}
