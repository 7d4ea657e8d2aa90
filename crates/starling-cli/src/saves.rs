//! `starling saves`: lists, shows and removes saved federation executions.

use crate::{Failure, fail, failed, print, wrong_settings};
use clap::{Args, Subcommand};
use serde_json::{Value, json};
use starling_net::printable;
use starling_rid::Sources;
use starling_rtiexec::save_store;
use starling_rtiexec::saves::{SaveStore, StoredSave};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::SystemTime;

/// What `starling saves` does; nothing: it lists.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Option<Command>,
    /// As JSON, of the list
    #[arg(long)]
    json: bool,
}

/// Subcommands of `starling saves`.
#[derive(Subcommand)]
enum Command {
    /// List saved federation executions
    List(List),
    /// Show one, by FEDERATION and LABEL (as the list shows them, without quotes): its federates, when it was saved, whether it can be restored
    Show(Which),
    /// Remove one, by FEDERATION and LABEL
    Remove(Which),
}

/// Options of `starling saves list`.
#[derive(Args, Default)]
struct List {
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Settings, as in a localSettingsDesignator (saves.dir=...)
    #[arg(default_value = "")]
    settings: String,
}

/// Which save.
#[derive(Args)]
struct Which {
    /// The federation execution
    federation: String,
    /// The label of the save
    label: String,
    /// Settings, as in a localSettingsDesignator (saves.dir=...)
    #[arg(default_value = "")]
    settings: String,
}

/// Runs `starling saves`.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let list = Command::List(List {
        json: arguments.json,
        ..List::default()
    });
    let done = match arguments.command.as_ref().unwrap_or(&list) {
        Command::List(list) => {
            open(&list.settings).and_then(|store| show_all(&store, list.json).map_err(failed))
        }
        Command::Show(which) => {
            let shown = |store: SaveStore| show(&store, which).map_err(failed);
            return match open(&which.settings).and_then(shown) {
                Ok((text, true)) => print(&text),
                Ok((text, false)) => {
                    print(&text);
                    ExitCode::from(1)
                }
                Err((why, code)) => fail(why, code),
            };
        }
        Command::Remove(which) => {
            open(&which.settings).and_then(|store| remove(&store, which).map_err(failed))
        }
    };
    match done {
        Ok(text) => print(&text),
        Err((why, code)) => fail(why, code),
    }
}

fn open(settings: &str) -> Result<SaveStore, Failure> {
    let settings = Sources::of_process().designator(settings).read();
    let settings = settings.map_err(wrong_settings)?;
    Ok(save_store(&settings))
}

fn show_all(store: &SaveStore, json: bool) -> Result<String, String> {
    let saves = store.list()?;
    if json {
        let list: Vec<Value> = saves.iter().map(as_json).collect();
        return Ok(format!("{:#}\n", Value::Array(list)));
    }
    if saves.is_empty() {
        return Ok(format!("no saves in {}\n", store.directory().display()));
    }
    let mut text = String::new();
    for save in &saves {
        let age = age_text(age_s(save));
        let size = save.size;
        let _ = match &save.description {
            Ok(d) => writeln!(
                text,
                "{:?} of {:?}: {size} bytes, {age} old, {} federates, Starling {}",
                d.label,
                d.federation,
                d.federates.len(),
                printable(&d.version)
            ),
            Err(why) => writeln!(
                text,
                "{}: {size} bytes, {age} old: {}",
                printable(&save.path.display().to_string()),
                printable(why)
            ),
        };
    }
    Ok(text)
}

/// In the largest unit of which there are two at least.
fn age_text(seconds: u64) -> String {
    let units = [(86_400, "days"), (3_600, "hours"), (60, "minutes")];
    let fits = units.into_iter().find(|(unit, _)| seconds >= 2 * unit);
    match fits {
        Some((unit, name)) => format!("{} {name}", seconds / unit),
        None => format!("{seconds} s"),
    }
}

fn age_s(save: &StoredSave) -> u64 {
    let age = SystemTime::now().duration_since(save.written);
    age.unwrap_or_default().as_secs()
}

fn as_json(save: &StoredSave) -> Value {
    let written = save.written.duration_since(SystemTime::UNIX_EPOCH);
    let file = json!({
        "file": save.path.display().to_string(),
        "bytes": save.size,
        "written_s": written.unwrap_or_default().as_secs(),
    });
    let said = match &save.description {
        Ok(d) => json!({
            "federation": d.federation,
            "label": d.label,
            "time": d.time.map(|t| t.to_string()),
            "version": d.version,
            "federates": d.federates.iter().map(|(name, kind)| json!({"name": name, "type": kind}))
                .collect::<Vec<_>>(),
        }),
        Err(why) => json!({"error": why}),
    };
    let (Value::Object(mut file), Value::Object(said)) = (file, said) else {
        unreachable!("both were made as objects")
    };
    file.extend(said);
    Value::Object(file)
}

fn find(store: &SaveStore, which: &Which) -> Result<StoredSave, String> {
    let path = store.path(&which.federation, &which.label);
    let mut all = store.list()?;
    // No argument of a program has a NUL, for one: what the list shows for it will do.
    let is_shown = |name: &str, given: &str| format!("{name:?}") == format!("\"{given}\"");
    let described = |save: &StoredSave| {
        let description = save.description.as_ref();
        description.is_ok_and(|d| {
            is_shown(&d.federation, &which.federation) && is_shown(&d.label, &which.label)
        })
    };
    let mut places = (0..all.len()).filter(|at| all[*at].path == path);
    let found = places.next();
    let found = found.or_else(|| all.iter().position(described));
    found.map(|at| all.swap_remove(at)).ok_or_else(|| {
        format!(
            "there is no save '{}' of '{}' in {}",
            which.label,
            which.federation,
            store.directory().display()
        )
    })
}

/// What is known of a save, and whether it can be restored.
fn show(store: &SaveStore, which: &Which) -> Result<(String, bool), String> {
    let save = find(store, which)?;
    let (federation, label) = match &save.description {
        Ok(said) => (&said.federation, &said.label),
        Err(_) => (&which.federation, &which.label),
    };
    let read = store.read(federation, label);
    let read = read.and_then(|saved| saved.require_whole());
    let can_be_restored = read.is_ok();
    let whole = match read {
        Ok(()) => "it can be restored".to_owned(),
        Err(why) => format!("it can't be restored: {why}"),
    };
    let mut text = format!(
        "{}\n{} bytes, written {} s ago; {}\n",
        printable(&save.path.display().to_string()),
        save.size,
        age_s(&save),
        printable(&whole)
    );
    if let Ok(said) = &save.description {
        if let Some(time) = said.time {
            let _ = writeln!(text, "at the logical time {time}");
        }
        for (name, kind) in &said.federates {
            let _ = writeln!(text, "federate {name:?} of type {kind:?}");
        }
    }
    Ok((text, can_be_restored))
}

fn remove(store: &SaveStore, which: &Which) -> Result<String, String> {
    let save = find(store, which)?;
    store.remove(&save)?;
    Ok(format!(
        "{:?} of {:?} is removed\n",
        which.label, which.federation
    ))
}

#[cfg(test)]
mod tests {
    use super::age_text;

    #[test]
    fn ages_are_in_words() {
        let shown = [0, 119, 120, 7_199, 7_200, 172_799, 172_800].map(age_text);
        let expected = [
            "0 s",
            "119 s",
            "2 minutes",
            "119 minutes",
            "2 hours",
            "47 hours",
            "2 days",
        ];
        assert_eq!(shown, expected);
    }
}
