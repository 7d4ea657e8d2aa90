//! `starling config`: settings and where they come from.

use crate::{WRONG_USAGE, fail, print, print_json};
use clap::Subcommand;
use serde_json::{Value as Json, json};
use starling_rid::{SETTINGS, Settings, Sources, Value, as_text, markdown};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Subcommands of `starling config`.
#[derive(Subcommand)]
pub(crate) enum Command {
    /// Show every setting as a federate started here would have it
    Show {
        /// Say where each value was given
        #[arg(long)]
        origin: bool,
        /// As JSON, with origins
        #[arg(long)]
        json: bool,
        /// Only the setting of this name, or those of this table; or all, as with this localSettingsDesignator of connect
        #[arg(default_value = "")]
        designator: String,
    },
    /// Check a settings file, or all that a federate started here would read
    Check {
        /// A .toml file, or a properties file
        file: Option<PathBuf>,
    },
    /// Write docs/settings.md to standard output
    Document,
}

/// Runs `starling config`.
pub(crate) fn run(command: &Command) -> ExitCode {
    match command {
        Command::Show {
            origin,
            json,
            designator,
        } => {
            let is_name = SETTINGS.iter().any(|s| s.is_of(designator));
            let name = is_name.then_some(designator.as_str());
            let designator = if is_name { "" } else { designator };
            match Sources::of_process().designator(designator).read() {
                Ok(settings) if *json => print_json(&as_json(&settings, name)),
                Ok(settings) => print(&as_text(&settings, *origin, name)),
                Err(error) => fail(error, WRONG_USAGE),
            }
        }
        Command::Check { file } => match checked(file.as_deref()).read() {
            Ok(settings) => {
                let notes: String = settings
                    .notes()
                    .iter()
                    .map(|n| format!("note: {n}\n"))
                    .collect();
                let all = file.as_ref().map(|file| format!("{}: ", file.display()));
                let all = all.unwrap_or_default();
                print(&format!("{all}every setting is known and valid\n{notes}"))
            }
            Err(error) => fail(error, 1),
        },
        Command::Document => print(&markdown()),
    }
}

/// As the file would be read: that of the working directory can't set everything. Without one, all that is read here.
fn checked(file: Option<&Path>) -> Sources {
    let Some(file) = file else {
        return Sources::of_process();
    };
    if file == Path::new("starling.toml") || file == Path::new("./starling.toml") {
        Sources::new().project_file(file)
    } else {
        Sources::new().user_file(file)
    }
}

/// Every setting, or one, with its origin; numbers and switches as such.
fn as_json(settings: &Settings, name: Option<&str>) -> Json {
    let wanted = settings.values();
    let wanted = wanted.filter(|(setting, ..)| name.is_none_or(|name| setting.is_of(name)));
    let rows = wanted.map(|(setting, value, origin)| {
        let value = match value {
            Value::Switch(on) => json!(on),
            Value::Integer(number) => json!(number),
            Value::Number(number) => json!(number),
            other => json!(other.to_string()),
        };
        json!({
            "key": setting.key,
            "value": value,
            "unit": setting.unit,
            "origin": origin.to_string(),
        })
    });
    rows.collect()
}
