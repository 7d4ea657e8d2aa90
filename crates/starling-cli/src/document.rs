//! What the program says about itself to shells and to `man`, made from its own command line.

use crate::{command, fail, print};
use clap::Args;
use clap_complete::Shell;
use std::path::PathBuf;
use std::process::ExitCode;

/// Options of `starling completions`.
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell that is to complete the words of `starling`
    shell: Shell,
}

/// Options of `starling man`.
#[derive(Args)]
pub(crate) struct ManPages {
    /// Where the pages are written, one per subcommand; made if it is not there
    directory: PathBuf,
}

/// Runs `starling completions`.
pub(crate) fn completions(arguments: &Completions) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut command(), "starling", &mut script);
    print(&String::from_utf8_lossy(&script))
}

/// Runs `starling man`.
pub(crate) fn man_pages(arguments: &ManPages) -> ExitCode {
    let directory = &arguments.directory;
    let written = std::fs::create_dir_all(directory)
        .and_then(|()| clap_mangen::generate_to(command(), directory));
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => fail(format!("{}: {error}", directory.display()), 1),
    }
}
