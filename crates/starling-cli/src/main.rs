//! The program `starling`: one file per group of subcommands.
//!
//! What each exit code means stands in `EXIT_CODES`, which every `--help` shows.
#![forbid(unsafe_code)]

mod bench;
mod columns;
mod config;
mod document;
mod fom;
mod forwarder;
mod manage;
mod ps;
mod rtiexec;
mod saves;
mod serving;
mod stats;
mod top;
mod why;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use serde_json::Value;
use starling::Reply;
use starling_core::message::ToExecutive;
use starling_rid::{SettingError, Sources};
use std::process::ExitCode;

/// With the commit, where the build knew it (`build.rs`).
const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), " (", env!("BUILT_COMMIT"), ")");

const EXIT_CODES: &str =
    "Exit codes: 0 done, 1 failed or a check did not hold, 2 wrong usage, 3 no rtiexec reached";

/// What was asked for can't be meant.
const WRONG_USAGE: u8 = 2;
/// Longest name of a class that is asked about: rtiexec takes 64 KB from who has not joined.
const ASKED_BYTES_MAX: usize = 16 * 1024;
/// No rtiexec could be reached.
const UNREACHABLE: u8 = 3;

#[derive(Parser)]
#[command(
    name = "starling",
    version = VERSION,
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
    /// Run a forwarder: hands on what the federates of a site say to each other and to an rtiexec elsewhere
    Forwarder(forwarder::Arguments),
    /// List federation executions, their federates, and how these are connected
    Ps(ps::Arguments),
    /// Show, again and again, what the federates do: rates, queues, time, who waits
    Top(top::Arguments),
    /// Show what federates measure of themselves: data by class, other federate and way, how long calls take
    Stats(stats::Arguments),
    /// Say why a federate gets no updates or interactions: walks the chain, names the link that fails
    Why(why::Arguments),
    /// Destroy a federation execution that has no joined federates
    Destroy(manage::Destroy),
    /// Resign a joined federate, as if its connection had ended
    Resign(manage::Resign),
    /// End rtiexec
    Stop(manage::Stop),
    /// Check, show, merge and compare FOM modules
    #[command(subcommand)]
    Fom(fom::Command),
    /// List, show and remove saved federation executions
    Saves(saves::Arguments),
    /// Show and check settings
    #[command(subcommand)]
    Config(config::Command),
    /// Measure an RTI: runs the benchmark platform, `starling-bench`
    Bench(bench::Arguments),
    /// Print the version and the commit that this program was built from
    Version,
    /// Print the completion script of a shell
    Completions(document::Completions),
    /// Write the manual pages of this program
    #[command(hide = true)]
    Man(document::ManPages),
}

/// The command line, with the exit codes in the help of every subcommand.
fn command() -> clap::Command {
    fn explain(command: clap::Command) -> clap::Command {
        let explained = command.get_after_help().is_some();
        let command = if explained {
            command
        } else {
            command.after_help(EXIT_CODES)
        };
        command.mut_subcommands(explain)
    }
    explain(Arguments::command())
}

fn main() -> ExitCode {
    let matches = command().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    match arguments.command {
        Command::Rtiexec(arguments) => rtiexec::run(&arguments),
        Command::Forwarder(arguments) => forwarder::run(&arguments),
        Command::Ps(arguments) => ps::run(&arguments),
        Command::Top(arguments) => top::run(&arguments),
        Command::Stats(arguments) => stats::run(&arguments),
        Command::Why(arguments) => why::run(&arguments),
        Command::Destroy(arguments) => manage::destroy(&arguments),
        Command::Resign(arguments) => manage::resign(&arguments),
        Command::Stop(arguments) => manage::stop(&arguments),
        Command::Fom(command) => fom::run(&command),
        Command::Saves(arguments) => saves::run(&arguments),
        Command::Config(command) => config::run(&command),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Version => print(&format!("starling {VERSION}\n")),
        Command::Completions(arguments) => document::completions(&arguments),
        Command::Man(arguments) => document::man_pages(&arguments),
    }
}

/// Prints an error as every subcommand does.
fn fail(error: impl std::fmt::Display, code: u8) -> ExitCode {
    starling_net::say(format_args!("starling: {error}"));
    ExitCode::from(code)
}

/// Prints which of these is longer than it may be, if one is. Said before rtiexec is asked.
fn too_long<'a>(names: impl IntoIterator<Item = &'a String>, most: usize) -> Option<ExitCode> {
    let long = names.into_iter().find(|name| name.len() > most)?;
    let (begin, length) = (long.chars().take(20).collect::<String>(), long.len());
    let begin = starling_net::printable(&begin);
    let why = format!("the name '{begin}...' has {length} bytes; {most} are allowed");
    Some(fail(why, WRONG_USAGE))
}

/// Why a subcommand fails, and its exit code.
type Failure = (String, u8);

fn failed(why: String) -> Failure {
    (why, 1)
}

/// Settings that can't be read, or say what can't be.
fn wrong_settings(error: SettingError) -> Failure {
    (error.to_string(), WRONG_USAGE)
}

/// Asks the rtiexec that a localSettingsDesignator leads to, as `program`; else why not, and the exit
/// code.
fn query(designator: &str, program: &str, question: &ToExecutive) -> Result<Reply, Failure> {
    let settings = Sources::of_process().argument(designator).read();
    let settings = settings.map_err(wrong_settings)?;
    starling::query(&settings, program, question).map_err(|why| (why, UNREACHABLE))
}

fn print_json(value: &Value) -> ExitCode {
    print(&format!("{value:#}\n"))
}

/// Writes to standard output; a reader that has gone away (`| head`) is no error.
fn print(text: &str) -> ExitCode {
    use std::io::{ErrorKind, Write, stdout};
    let mut out = stdout();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // A reader that has seen enough (`| head`) has ended on purpose.
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            fail(format!("the output can't be written: {error}"), 1)
        }
        _ => ExitCode::SUCCESS,
    }
}
