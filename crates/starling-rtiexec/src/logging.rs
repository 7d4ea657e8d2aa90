//! The log: one line per event, time first.
//!
//! Invariants: what can't be written is dropped and counted, and the log says so as soon as it
//! can be written again; no thread but the log's own ever waits for the log, so a terminal that
//! stands still or a full disk holds up no federation; one event is one line, whatever names
//! stand in it.

use starling_net::printable;
use starling_rid::{LOG_FILE, LOG_FILE_BYTES, LOG_LEVEL, Settings};
use std::fs::{File, OpenOptions};
use std::io::{self, IsTerminal, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tracing::error;
use tracing::field::Field;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::fmt::format::{Writer, debug_fn};

/// Bytes that may wait to be written.
const WAITING_BYTES_MAX: usize = 1 << 20;
/// How long the last lines may take when the process ends.
const FAREWELL: Duration = Duration::from_secs(1);

/// Sends this process's log, with what panics, where the settings say. Once per process. Drop
/// what is returned before the process ends, so that the last lines are written.
pub fn start_logging(settings: &Settings) -> Result<LogFile, String> {
    let level = match settings.get(LOG_LEVEL).as_str() {
        "off" => LevelFilter::OFF,
        "error" => LevelFilter::ERROR,
        "warning" => LevelFilter::WARN,
        "debug" => LevelFilter::DEBUG,
        "trace" => LevelFilter::TRACE,
        _ => LevelFilter::INFO,
    };
    let file = settings.get(LOG_FILE);
    let (colours, lines) = if file.is_empty() {
        (io::stderr().is_terminal(), Lines::to(io::stderr()))
    } else {
        let opened = Rotated::open(Path::new(&file), settings.get(LOG_FILE_BYTES));
        let opened = opened.map_err(|e| format!("log.file: {file} can't be opened: {e}"))?;
        (false, Lines::to(opened))
    };
    let lines = lines.map_err(|e| format!("the log can't be started: {e}"))?;
    tracing_subscriber::fmt()
        .with_max_level(level)
        .with_target(false)
        .with_ansi(colours)
        .fmt_fields(debug_fn(one_line))
        // It would report that to standard error, and panic there.
        .log_internal_errors(false)
        .with_writer(lines.clone())
        .try_init()
        .map_err(|e| format!("the log can't be started: {e}"))?;
    std::panic::set_hook(Box::new(|what| {
        let what = what.to_string().replace('\n', " ");
        error!("internal error of the RTI, please report it: {what}");
    }));
    Ok(LogFile(lines))
}

/// Names come from federates: none may forge a line or steer a terminal.
fn one_line(to: &mut Writer<'_>, _: &Field, value: &dyn std::fmt::Debug) -> std::fmt::Result {
    to.write_str(&printable(&format!("{value:?}")))
}

/// The log of this process. When dropped it waits until all is written, for a second at most.
#[derive(Debug)]
pub struct LogFile(Lines);

impl Drop for LogFile {
    fn drop(&mut self) {
        // If it takes longer, the lines are lost with the process.
        let _ = self.0.all_written().recv_timeout(FAREWELL);
    }
}

/// The way to the thread that writes the lines.
#[derive(Clone, Debug)]
struct Lines {
    to: Sender<Message>,
    counts: Arc<Counts>,
}

#[derive(Debug)]
enum Message {
    Line(Vec<u8>),
    /// To be answered when all before it is written.
    Flush(Sender<()>),
}

#[derive(Debug, Default)]
struct Counts {
    /// Bytes that wait to be written.
    waiting: AtomicUsize,
    /// Lines that were dropped, and of which the log does not speak yet.
    lost: AtomicU64,
}

impl Lines {
    fn to(destination: impl Write + Send + 'static) -> io::Result<Self> {
        let (to, messages) = channel();
        let counts = Arc::new(Counts::default());
        let lines = Self {
            to,
            counts: counts.clone(),
        };
        let thread = std::thread::Builder::new().name("log".into());
        thread.spawn(move || write_lines(&messages, destination, &counts))?;
        Ok(lines)
    }

    /// Hears when all up to now is written, or that the log's thread has ended.
    fn all_written(&self) -> Receiver<()> {
        let (done, all_written) = channel();
        // An error: it ends, which `done` says when it goes.
        let _ = self.to.send(Message::Flush(done));
        all_written
    }
}

impl<'a> MakeWriter<'a> for Lines {
    type Writer = &'a Self;

    fn make_writer(&'a self) -> Self::Writer {
        self
    }
}

impl Write for &Lines {
    /// Takes a whole line, or drops it if too much waits.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let waiting = self.counts.waiting.fetch_add(line.len(), Ordering::Relaxed);
        if waiting > WAITING_BYTES_MAX || self.to.send(Message::Line(line.to_vec())).is_err() {
            self.counts.waiting.fetch_sub(line.len(), Ordering::Relaxed);
            self.counts.lost.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log's thread.
fn write_lines(messages: &Receiver<Message>, mut to: impl Write, counts: &Counts) {
    for message in messages {
        match message {
            Message::Line(line) => {
                write_line(&line, &mut to, &counts.lost);
                counts.waiting.fetch_sub(line.len(), Ordering::Relaxed);
            }
            Message::Flush(done) => {
                if counts.lost.load(Ordering::Relaxed) > 0 {
                    write_line(b"", &mut to, &counts.lost);
                }
                // An error: nobody waits any more.
                let _ = done.send(());
            }
        }
    }
}

/// Writes a line behind a note on those that were lost before it; or counts it as lost.
fn write_line(line: &[u8], to: &mut impl Write, lost: &AtomicU64) {
    let before = lost.swap(0, Ordering::Relaxed);
    let mut text = Vec::new();
    if before > 0 {
        // Half a line may stand there.
        text = format!("\n{before} line(s) of the log could not be written\n").into_bytes();
    }
    text.extend_from_slice(line);
    if to.write_all(&text).is_err() {
        lost.fetch_add(before + 1, Ordering::Relaxed);
    }
}

/// A file that is renamed to `NAME.1`, replacing the one before, when it would grow too large.
struct Rotated {
    file: File,
    path: PathBuf,
    bytes: u64,
    /// 0: never.
    bytes_max: u64,
}

impl Rotated {
    fn open(path: &Path, bytes_max: u64) -> io::Result<Self> {
        let file = append_to(path)?;
        Ok(Self {
            bytes: file.metadata()?.len(),
            file,
            path: path.to_owned(),
            bytes_max,
        })
    }

    fn begin_new(&mut self) -> io::Result<()> {
        let mut old = self.path.clone().into_os_string();
        old.push(".1");
        std::fs::rename(&self.path, old)?;
        self.file = append_to(&self.path)?;
        Ok(())
    }
}

impl Write for Rotated {
    fn write(&mut self, text: &[u8]) -> io::Result<usize> {
        let after = self.bytes.saturating_add(text.len() as u64);
        if self.bytes_max > 0 && after > self.bytes_max && self.bytes > 0 {
            // Where that can't be done (a directory that others own), the old file goes on, and
            // it is tried again when it has grown as much once more.
            let _ = self.begin_new();
            self.bytes = 0;
        }
        let written = self.file.write(text)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn append_to(path: &Path) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.create(true).append(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn what_cannot_be_written_is_counted() {
        let lost = AtomicU64::new(0);
        let mut full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        write_line(b"one\n", &mut full, &lost);
        write_line(b"two\n", &mut full, &lost);
        let mut room = Vec::new();
        write_line(b"three\n", &mut room, &lost);
        write_line(b"four\n", &mut room, &lost);
        let text = String::from_utf8(room).unwrap();
        let expected = "\n2 line(s) of the log could not be written\nthree\nfour\n";
        assert_eq!(text, expected);
    }

    /// Takes nothing while its lock is held.
    struct Stalled(Arc<Mutex<Vec<u8>>>);

    impl Write for Stalled {
        fn write(&mut self, text: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_reader_that_stands_still_holds_up_nobody_and_is_bounded() {
        let written = Arc::new(Mutex::new(Vec::new()));
        let held = written.lock().unwrap();
        let lines = Lines::to(Stalled(written.clone())).unwrap();
        let line = [b'x'; 1 << 12];
        for _ in 0..1000 {
            (&lines).write_all(&line).unwrap();
        }
        assert!(lines.counts.waiting.load(Ordering::Relaxed) <= WAITING_BYTES_MAX + line.len());
        drop(held);
        lines.all_written().recv().unwrap();
        let written = written.lock().unwrap();
        let text = String::from_utf8_lossy(&written);
        // The log's thread may have begun when some were lost already: that is a note of its own.
        let notes = text.lines().filter_map(|l| {
            let lost = l.strip_suffix(" line(s) of the log could not be written")?;
            Some(lost.parse::<usize>().unwrap())
        });
        let lost: usize = notes.sum();
        assert!(lost > 0);
        let lines = text.matches('x').count() / line.len();
        assert_eq!(lines + lost, 1000);
    }

    #[test]
    fn a_file_is_rotated_at_its_size() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("log");
        let mut file = Rotated::open(&path, 10).unwrap();
        for line in ["first\n", "secnd\n", "third, and long\n", "4th\n"] {
            file.write_all(line.as_bytes()).unwrap();
        }
        let read = |name| std::fs::read_to_string(directory.path().join(name)).unwrap();
        assert_eq!(read("log"), "4th\n");
        assert_eq!(read("log.1"), "third, and long\n");
        // One that was opened before counts what is there already.
        let mut file = Rotated::open(&path, 10).unwrap();
        file.write_all(b"5th-line\n").unwrap();
        assert_eq!(
            (read("log").as_str(), read("log.1").as_str()),
            ("5th-line\n", "4th\n")
        );
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 2);
    }
}
