//! Starting an rtiexec. The caller holds the lock.

use crate::platform;
use starling_rid::variable;
use std::fs::{File, OpenOptions};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The `starling` program: as set, else in STARLING_HOME, beside the library that this code is
/// in, beside the running program, in PATH. The error lists where it was looked for.
pub fn find_program(set: &str) -> Result<PathBuf, String> {
    if !set.is_empty() {
        let path = PathBuf::from(set);
        // Else it would hang on the working directory which program runs.
        if !path.is_absolute() {
            return Err(format!("start.program is '{set}'; give its whole path"));
        }
        return if is_program(&path) {
            Ok(path)
        } else {
            Err(format!("start.program is '{set}', which is no program"))
        };
    }
    let mut places = Vec::new();
    if let Some(home) = variable("STARLING_HOME") {
        places.push(Path::new(&home).join("bin"));
    }
    for file in [platform::own_file(), std::env::current_exe().ok()] {
        let file = file.and_then(|f| f.canonicalize().ok());
        if let Some(directory) = file.as_deref().and_then(Path::parent) {
            // lib/librti1516e.so belongs to bin/starling; lib may have a sub-directory. Tests lie
            // in a sub-directory of the program's.
            let parents = directory.ancestors().skip(1).take(2);
            places.extend(parents.map(|p| p.join("bin")));
            places.push(directory.to_owned());
            places.extend(directory.parent().map(Path::to_owned));
        }
    }
    let path = variable("PATH").unwrap_or_default();
    // An empty or relative entry means the working directory.
    let path = std::env::split_paths(&path).filter(|p| p.is_absolute());
    let all = places.iter().cloned().chain(path);
    let mut programs = all.map(|place| place.join("starling"));
    programs.find(|p| is_program(p)).ok_or_else(|| {
        let mut tried: Vec<_> = places.iter().map(|p| p.display().to_string()).collect();
        tried.dedup();
        let tried = tried.join(", ");
        format!("the program 'starling' is neither in {tried} nor in PATH")
    })
}

fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).is_ok_and(|m| m.is_file() && m.permissions().mode() & 0o111 != 0)
}

/// Starts a program that lives on by itself, and waits until it writes a line to its standard
/// output, which is returned. Its standard error goes to `log`.
pub(crate) fn spawn(
    program: &Path,
    arguments: &[&str],
    log: &Path,
    timeout: Duration,
) -> Result<String, String> {
    let failed = |what: &str, e: io::Error| format!("{what}: {e}");
    let log_file = OpenOptions::new()
        .create(true)
        .append(true)
        .mode(0o600)
        .open(log)
        .and_then(platform::beyond_standard)
        .map(File::from)
        .map_err(|e| failed(&format!("its log {} can't be opened", log.display()), e))?;
    let start_of_log = log_file.metadata().map_or(0, |m| m.len());
    let (ready, its_end) = pipe().map_err(|e| failed("no pipe", e))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(its_end)
        .stderr(log_file);
    platform::detach(&mut command);
    let mut child = command
        .spawn()
        .map_err(|e| failed(&format!("{} can't be run", program.display()), e))?;
    drop(command); // and with it our copy of the pipe's other end
    // Only the process in between, which ends at once.
    child
        .wait()
        .map_err(|e| failed("it can't be waited for", e))?;
    let line = read_line(ready, timeout).map_err(|e| failed("it said nothing", e))?;
    match line {
        Some(line) => Ok(line),
        None => Err(format!(
            "{} ended before it was ready: {}",
            program.display(),
            end_of(log, start_of_log)
        )),
    }
}

fn pipe() -> io::Result<(OwnedFd, OwnedFd)> {
    let (ours, its) = UnixStream::pair()?;
    let its = platform::beyond_standard(its)?;
    Ok((platform::beyond_standard(ours)?, its))
}

/// A line from a pipe; none if it was closed before.
fn read_line(pipe: OwnedFd, timeout: Duration) -> io::Result<Option<String>> {
    let end = Instant::now() + timeout;
    let mut pipe = File::from(pipe);
    let mut line = Vec::new();
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let mut entry = [platform::poll_entry(pipe.as_fd(), true, false)];
        platform::poll(&mut entry, Some(left))?;
        if platform::poll_result(&entry[0]).0 {
            let mut bytes = [0; 256];
            let got = pipe.read(&mut bytes)?;
            line.extend_from_slice(&bytes[..got]);
            if let Some(end) = line.iter().position(|b| *b == b'\n') {
                return Ok(Some(String::from_utf8_lossy(&line[..end]).into_owned()));
            }
            if got == 0 {
                return Ok(None);
            }
        } else if left.is_zero() {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "start.timeout_s is over",
            ));
        }
    }
}

/// What a log says after `start`, for an error message.
fn end_of(log: &Path, start: u64) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let new = text.get(start as usize..).unwrap_or_default();
    let new = String::from_utf8_lossy(new);
    match new.trim() {
        "" => format!("it left no message in {}", log.display()),
        said => said.to_owned(),
    }
}
