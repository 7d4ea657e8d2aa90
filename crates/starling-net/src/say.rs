//! Lines for people, on standard error.

use crate::platform;
use std::borrow::Cow;
use std::fmt::{Display, Write as _};
use std::io::{self, ErrorKind, StderrLock, Write as _};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Lines that could not be written since the last one that could.
static UNSAID: AtomicU64 = AtomicU64::new(0);

/// What a pipe that is said to be writable takes without waiting (PIPE_BUF of Linux).
const TAKEN_AT_ONCE: usize = 4096;

/// Writes a line of a program's own to standard error, and waits for its reader. If it can't be
/// written (standard error is closed, the disk is full, the reader has gone), the line is dropped
/// and counted, and the next one that can be written says how many are missing: whoever runs the
/// process loses a line, never the process. Control characters but line ends are escaped. From
/// any thread.
pub fn say(line: impl Display) {
    write(&line, |stderr, text| stderr.write_all(text));
}

/// As [`say`], for a library in somebody's process: where standard error is a pipe that nobody
/// reads, the line is dropped and counted instead of holding up that process. (Not where another
/// process fills the same pipe at the same moment.)
pub fn remark(line: impl Display) {
    write(&line, |stderr, text| {
        text.chunks(TAKEN_AT_ONCE).try_for_each(|chunk| {
            let writable = {
                let mut entry = [platform::poll_entry(stderr.as_fd(), false, true)];
                platform::poll(&mut entry, Some(Duration::ZERO))?;
                platform::poll_result(&entry[0]).1
            };
            if !writable {
                return Err(ErrorKind::WouldBlock.into());
            }
            stderr.write_all(chunk)
        })
    });
}

fn write(line: &dyn Display, to: impl FnOnce(&mut StderrLock<'_>, &[u8]) -> io::Result<()>) {
    // Held over the whole line, so that none is torn by another thread's.
    let mut stderr = io::stderr().lock();
    let unsaid = UNSAID.swap(0, Ordering::Relaxed);
    let mut text = match unsaid {
        0 => String::new(),
        n => format!("starling: {n} line(s) before this could not be written\n"),
    };
    // Writing to a string can't fail, and what a Display of ours returns is no error.
    let _ = writeln!(text, "{line}");
    let text = escape(&text, |c| c != '\n' && is_control(c));
    let written = platform::without_sigpipe(|| to(&mut stderr, text.as_bytes()));
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
        if wanted(c) {
            out.extend(c.escape_default())
        } else {
            out.push(c)
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
            let player = "say::tests::plays_a_process_with_broken_standard_error";
            assert_eq!(exit_code(player, broken), Some(42));
        }
    }

    /// The process below, as above.
    #[test]
    fn plays_a_process_whose_standard_error_nobody_reads() {
        if std::env::var_os("STARLING_TEST_BROKEN_STDERR").is_none() {
            return;
        }
        // Far more than a pipe holds.
        let lines = 1_000;
        for _ in 0..lines {
            remark("x".repeat(1_000));
        }
        let lost = UNSAID.load(Ordering::Relaxed);
        std::process::exit(if (1..lines).contains(&lost) { 42 } else { 1 });
    }

    #[test]
    fn a_pipe_that_nobody_reads_holds_up_no_federate() {
        let (_open_and_unread, full) = std::io::pipe().unwrap();
        let player = "say::tests::plays_a_process_whose_standard_error_nobody_reads";
        assert_eq!(exit_code(player, full.into()), Some(42));
    }

    fn exit_code(test: &str, stderr: Stdio) -> Option<i32> {
        let status = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", test])
            .env("STARLING_TEST_BROKEN_STDERR", "1")
            .stdout(Stdio::null())
            .stderr(stderr)
            .status();
        status.unwrap().code()
    }
}
