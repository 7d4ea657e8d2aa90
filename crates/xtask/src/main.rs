//! Code generation: `cargo xtask generate` writes, `cargo xtask generate --check` compares. And
//! `cargo xtask faults`, which sees that tests find what is wrong.
#![warn(missing_docs)]
#![forbid(unsafe_code)]
#![allow(clippy::print_stdout, reason = "no part of the RTI")]

mod api;
mod c_header;
mod capi;
mod cpp;
mod cpp_bodies;
mod cpp_headers;
mod faults;
mod messages;
mod players;
mod rust_tables;
mod service_pages;
mod settings_tests;
mod types;

use anyhow::{Context, Result, bail};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The project's root folder.
pub(crate) fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// A generated file: path from the project's root, and its text.
pub(crate) struct Generated {
    path: String,
    text: String,
}

/// Reads a table of `spec/` as rows of fields, without its heading.
pub(crate) fn table(path: &str) -> Result<Vec<Vec<String>>> {
    let full = root().join(path);
    let text = std::fs::read_to_string(&full).with_context(|| format!("reading {path}"))?;
    Ok(text
        .lines()
        .skip(1)
        .map(|l| l.split('\t').map(str::to_owned).collect())
        .collect())
}

/// Generated Rust looks like written Rust.
fn rustfmt(text: String) -> Result<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .context("rustfmt is needed: rustup component add rustfmt")?;
    let mut input = child.stdin.take().context("rustfmt takes no input")?;
    // rustfmt reads all before it writes, so neither side waits for the other.
    input.write_all(text.as_bytes())?;
    drop(input);
    let output = child.wait_with_output()?;
    if !output.status.success() {
        bail!(
            "rustfmt ended with {} on generated code (it says why above)",
            output.status
        );
    }
    Ok(String::from_utf8(output.stdout)?)
}

fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args
        .iter()
        .map(String::as_str)
        .collect::<Vec<_>>()
        .as_slice()
    {
        ["generate"] => generate(false),
        ["generate", "--check"] => generate(true),
        ["faults", kind, names @ ..] => faults::run(kind, names),
        _ => bail!("usage: cargo xtask generate [--check] | faults time|saves [NAME...]"),
    }
}

/// Writes all that is generated, or fails where it would be another.
fn generate(check: bool) -> Result<()> {
    let mut stale = Vec::new();
    let api = api::Api::read()?;
    let mut files = rust_tables::generate(&api)?;
    files.extend(capi::generate(&api)?);
    files.extend(players::generate_rust(&api)?);
    for file in &mut files {
        file.text = rustfmt(std::mem::take(&mut file.text))?;
    }
    // The C header is made from crates that contain the tables.
    settle(files, check, &mut stale)?;
    let mut files = cpp_headers::generate()?;
    files.push(cpp_bodies::generate()?);
    files.extend(cpp::generate(&api)?);
    files.extend(players::generate_cpp(&api)?);
    files.push(c_header::generate()?);
    files.push(messages::generate());
    files.extend(service_pages::generate()?);
    files.push(settings_tests::generate()?);
    settle(files, check, &mut stale)?;
    if !stale.is_empty() {
        bail!(
            "out of date, run `cargo xtask generate`: {}",
            stale.join(", ")
        );
    }
    Ok(())
}

/// Writes what differs, or notes it as stale.
fn settle(files: Vec<Generated>, check: bool, stale: &mut Vec<String>) -> Result<()> {
    for file in files {
        let path = root().join(&file.path);
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        if old == file.text {
            continue;
        }
        if check {
            stale.push(file.path);
        } else {
            std::fs::create_dir_all(path.parent().expect("generated files lie in a folder"))?;
            std::fs::write(&path, file.text).with_context(|| format!("writing {}", file.path))?;
            println!("wrote {}", file.path);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    /// What `cargo xtask generate --check` says, built as the tests are, which are built anyhow.
    #[test]
    fn what_is_generated_is_up_to_date() {
        super::generate(true).unwrap();
    }
}
