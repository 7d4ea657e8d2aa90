//! The directory of this user's sockets, locks and logs.

use crate::platform;
use starling_rid::{NET_RUN_DIR, Settings, variable};
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// A directory that belongs to this user alone.
#[derive(Clone, Debug)]
pub struct RunDir(PathBuf);

/// Held from the probe for an rtiexec until it is ready, and by an rtiexec that ends because it
/// is idle. Ends when dropped, or with the process.
#[derive(Debug)]
pub struct Lock(#[allow(dead_code, reason = "open as long as the lock is held")] File);

impl RunDir {
    /// The directory of the settings; made if it isn't there.
    pub fn of(settings: &Settings) -> io::Result<Self> {
        let wanted = settings.get(NET_RUN_DIR);
        if !wanted.is_empty() {
            return Self::open(Path::new(&wanted));
        }
        let runtime = variable("XDG_RUNTIME_DIR").map(PathBuf::from);
        match runtime.filter(|d| d.is_absolute() && d.is_dir()) {
            Some(directory) => Self::open(&directory.join("starling")),
            None => {
                let name = format!("starling-{}", platform::user_id());
                let temporary = variable("TMPDIR").map_or("/tmp".into(), PathBuf::from);
                Self::open(&temporary.join(name))
            }
        }
    }

    /// This directory; made if it isn't there. Refused if others could use it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let made = fs::DirBuilder::new().mode(0o700).create(path);
        match made {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                return Err(about(path, "can't be made", &e));
            }
            _ => {}
        }
        let found = fs::symlink_metadata(path).map_err(|e| about(path, "can't be read", &e))?;
        let refuse = |why: String| {
            Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                format!(
                    "the run directory {} {why}; set net.run_dir to a directory of your own",
                    path.display()
                ),
            ))
        };
        if !found.is_dir() {
            return refuse("is no directory".into());
        }
        if found.uid() != platform::user_id() {
            return refuse(format!("belongs to user {}", found.uid()));
        }
        if found.mode() & 0o077 != 0 {
            return refuse(format!(
                "is open to others (mode {:o}; chmod 700 it)",
                found.mode() & 0o777
            ));
        }
        Ok(Self(fs::canonicalize(path)?))
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// The socket of the rtiexec that has this TCP port, or would have it.
    pub fn socket(&self, port: u16) -> PathBuf {
        self.0.join(format!("rtiexec-{port}.sock"))
    }

    /// The secret that an rtiexec at this TCP port shares with its user's federates.
    pub(crate) fn token(&self, port: u16) -> PathBuf {
        self.0.join(format!("rtiexec-{port}.token"))
    }

    /// The log of an rtiexec that was started by itself.
    pub fn log(&self, port: u16) -> PathBuf {
        self.0.join(format!("rtiexec-{port}.log"))
    }

    /// Takes the lock for starting and ending an rtiexec here, if it is free.
    pub fn try_lock(&self) -> io::Result<Option<Lock>> {
        let path = self.0.join("rtiexec.lock");
        // Never removed: two processes could hold locks on different files of this name.
        let file = OpenOptions::new()
            .create(true)
            .truncate(false)
            .write(true)
            .mode(0o600)
            .open(&path)
            .map_err(|e| about(&path, "can't be opened", &e))?;
        let file = File::from(platform::beyond_standard(file)?);
        Ok(platform::try_lock(&file)?.then_some(Lock(file)))
    }

    /// Takes the lock, waiting for whoever has it.
    pub fn lock(&self, timeout: Duration) -> io::Result<Lock> {
        match within(timeout, || self.try_lock())? {
            Some(lock) => Ok(lock),
            None => Err(io::Error::new(
                io::ErrorKind::TimedOut,
                format!(
                    "another process has been starting rtiexec for {} s (lock in {})",
                    timeout.as_secs_f64(),
                    self.0.display()
                ),
            )),
        }
    }
}

impl Lock {
    /// Takes the lock of a directory in which a socket is looked for and replaced; several users
    /// may do so at the same time.
    pub(crate) fn of_directory(path: &Path, timeout: Duration) -> io::Result<Self> {
        let file = File::open(path).map_err(|e| about(path, "can't be opened", &e))?;
        let file = File::from(platform::beyond_standard(file)?);
        let taken = within(timeout, || Ok(platform::try_lock(&file)?.then_some(())))?;
        let why = || format!("another process holds a lock on {}", path.display());
        taken
            .map(|()| Lock(file))
            .ok_or_else(|| io::Error::new(io::ErrorKind::TimedOut, why()))
    }
}

/// What `attempt` brings, if it brings it in time: flock can't wait with a time-out.
fn within<T>(
    timeout: Duration,
    mut attempt: impl FnMut() -> io::Result<Option<T>>,
) -> io::Result<Option<T>> {
    let end = Instant::now() + timeout;
    loop {
        let result = attempt()?;
        if result.is_some() || Instant::now() >= end {
            return Ok(result);
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

fn about(path: &Path, what: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{} {what}: {error}", path.display()))
}
