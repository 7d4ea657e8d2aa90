//! The table of settings for readers.

use crate::presets;
use crate::sources::Settings;
use crate::table::SETTINGS;
use std::fmt::Write;

const INTRODUCTION: &str = "\
# Settings

Made from `crates/starling-rid/src/table.rs` by `starling config document`; don't edit.

From strongest to weakest: the environment variable `STARLING_OVERRIDES`, the
localSettingsDesignator of `connect`, `STARLING_*` variables (`STARLING_CONNECT_ADDRESS` for
`connect.address`), `./starling.toml`, the user's `~/.config/starling/starling.toml`, the preset
(below), built-in values. `starling config show --origin` says where each value came from.

`STARLING_OVERRIDES` and the designator are lists of `key=value`, separated by `;`, `,` or line
ends. Also taken: `host:port`, `crcAddress=host:port`, `crcHost=HOST` with `crcPort=PORT`,
`rti://host:port`, and the name of a `.toml` file or of a properties file (`host=`, `port=`, or
settings). An unknown key is refused with the nearest name; the other keys that FedPro and Pitch
federates are known to give (`FedPro.*`, `LRC.*`, `nick`) are ignored with a note on standard error, once per process. So
is a setting in the designator that only rtiexec reads: it does nothing there. An
unknown `STARLING_*` variable is refused if it resembles a setting, else noted.

A file is refused if others than its user or the superuser can have written it, or put it into its
directory. `./starling.toml`, and a file named without its whole path, can't set `start.program`,
`log.file`, `rtiexec.listen`, `forwarder.listen`, `forwarder.upstream`, `transport.listen`, `net.run_dir` and `saves.dir`. A program that has more rights than its user reads
neither variables nor files.

In a file, `connect.address` is

```toml
[connect]
address = \"sim7:15160\"
```
";

/// `docs/settings.md`.
pub fn markdown() -> String {
    let mut out = INTRODUCTION.to_owned();
    let mut group = "";
    for setting in SETTINGS {
        let of = setting.key.split('.').next().unwrap_or_default();
        if of != group {
            group = of;
            let _ = write!(
                out,
                "\n## {group}\n\n| setting | values | unit | default | meaning |\n|---|---|---|---|---|\n"
            );
        }
        let default = if setting.default.is_empty() {
            "nothing".into()
        } else {
            format!("`{}`", setting.default)
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {} | {default} | {} |",
            setting.key,
            setting.kind,
            setting.unit,
            setting.doc.replace('|', "\\|")
        );
    }
    let _ = write!(
        out,
        "\n## Presets\n\n`preset = \"wan\"` (in a file, above all tables) or `STARLING_PRESET=wan`; from \
         `crates/starling-rid/src/presets.toml`:\n\n```toml\n{}```\n",
        presets::FILE
    );
    out
}

/// `starling config show`: one setting per line, all or those of `name`, if wanted with origins.
pub fn as_text(settings: &Settings, origins: bool, name: Option<&str>) -> String {
    let mut values = settings.values().collect::<Vec<_>>();
    values.retain(|(setting, ..)| name.is_none_or(|name| setting.is_of(name)));
    let width = values.iter().map(|(s, ..)| s.key.len()).max().unwrap_or(0);
    let mut out = String::new();
    for (setting, value, origin) in values {
        let value = value.to_string();
        let value = if value.is_empty() { "-".into() } else { value };
        let line = if origins {
            format!("{:width$}  {value:24} {origin}", setting.key)
        } else {
            format!("{:width$}  {value}", setting.key)
        };
        let _ = writeln!(out, "{}", line.trim_end());
    }
    for note in settings.notes() {
        let _ = writeln!(out, "note: {note}");
    }
    out
}
