//! Lines for people, on standard error.

use crate::platform;
use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::Write as _;
use std::sync::atomic::{AtomicU64, Ordering};

/// Lines that could not be written since the last one that could.
static UNSAID: AtomicU64 = AtomicU64::new(0);

/// Writes a line to standard error. If that can't be done (it is closed, the disk is full, its
/// reader has gone), the line is dropped and counted, and the next one that can be written says
/// how many are missing: whoever runs the process loses a line, never the process. Control
/// characters but line ends are escaped. From any thread.
pub fn say(line: impl Display) {
    let unsaid = UNSAID.swap(0, Ordering::Relaxed);
    let mut text = match unsaid {
        0 => String::new(),
        n => format!("starling: {n} line(s) before this could not be written\n"),
    };
    // Writing to a string can't fail, and what a Display of ours returns is no error.
    let _ = writeln!(text, "{line}");
    let text = escape(&text, |c| c != '\n' && is_control(c));
    // At once, so that no line is torn by another thread's.
    let written = platform::without_sigpipe(|| std::io::stderr().write_all(text.as_bytes()));
    if written.is_err() {
        UNSAID.fetch_add(unsaid + 1, Ordering::Relaxed);
    }
}

/// A name or text of foreign origin as it may stand in a line of a log or table: line ends,
/// terminal control and what changes the direction of writing are escaped as in Rust (`\n`,
/// `\u{1b}`), so that nobody can forge a line or steer a terminal.
pub fn printable(text: &str) -> Cow<'_, str> {
    escape(text, is_control)
}

fn escape(text: &str, wanted: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&wanted) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match wanted(c) {
            true => out.extend(c.escape_default()),
            false => out.push(c),
        }
    }
    out.into()
}

fn is_control(c: char) -> bool {
    let separators = '\u{2028}'..='\u{2029}';
    let directions = [
        '\u{200e}'..='\u{200f}',
        '\u{202a}'..='\u{202e}',
        '\u{2066}'..='\u{2069}',
    ];
    c.is_control() || separators.contains(&c) || directions.iter().any(|r| r.contains(&c))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn foreign_text_forges_no_line() {
        assert_eq!(printable("R\u{e4}dar 7"), "R\u{e4}dar 7");
        assert_eq!(printable("a\nb\u{1b}[2Jc"), "a\\nb\\u{1b}[2Jc");
        assert_eq!(printable("\u{202e}x\u{2028}"), "\\u{202e}x\\u{2028}");
    }

    /// The process below: what it does is asserted by its exit code.
    #[test]
    fn plays_a_process_with_broken_standard_error() {
        if std::env::var_os("STARLING_TEST_BROKEN_STDERR").is_none() {
            return;
        }
        platform::tests::default_sigpipe();
        say("lost");
        say("lost");
        let lost = UNSAID.load(Ordering::Relaxed);
        std::process::exit(if lost == 2 { 42 } else { 1 });
    }

    #[test]
    fn a_broken_standard_error_ends_nothing() {
        let full = || {
            std::fs::File::options()
                .write(true)
                .open("/dev/full")
                .unwrap()
        };
        let (reader, no_reader) = std::io::pipe().unwrap();
        drop(reader);
        for broken in [Stdio::from(full()), Stdio::from(no_reader)] {
            let status = Command::new(std::env::current_exe().unwrap())
                .args([
                    "--exact",
                    "say::tests::plays_a_process_with_broken_standard_error",
                ])
                .env("STARLING_TEST_BROKEN_STDERR", "1")
                .stdout(Stdio::null())
                .stderr(broken)
                .status()
                .unwrap();
            assert_eq!(status.code(), Some(42), "{status}");
        }
    }
}
