//! Listening for links.

use crate::dial::{connect_unix, resolve};
use crate::platform;
use crate::run_dir::Lock;
use crate::stream::Stream;
use starling_rid::Endpoint;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long another process may take to replace a socket in the same directory.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

/// The name of a socket that is bound and does not listen yet. Short, as a socket's whole path may have 107 bytes.
const UNREADY: &str = ".new";

/// A listening socket that never blocks. The file of a Unix-domain one goes with it; only this
/// user can connect there.
#[derive(Debug)]
pub struct Listener {
    /// Goes before the socket is closed: nobody can have put another one there.
    file: Option<SocketFile>,
    socket: Socket,
}

#[derive(Debug)]
enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

/// The file that a Unix-domain socket was bound to; removed when dropped, unless somebody has
/// put another in its place.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    /// Device and inode.
    identity: Option<(u64, u64)>,
}

impl Listener {
    /// Listens. If somebody does so already, the error says who.
    pub fn bind(at: &Endpoint) -> io::Result<Self> {
        let (socket, file) = match at {
            Endpoint::Tcp { host, port } => (Socket::Tcp(bind_tcp(host, *port)?), None),
            Endpoint::Unix(path) => {
                let (socket, file) = bind_unix(path)?;
                (Socket::Unix(socket), Some(file))
            }
        };
        match &socket {
            Socket::Tcp(l) => l.set_nonblocking(true)?,
            Socket::Unix(l) => l.set_nonblocking(true)?,
        }
        Ok(Self { file, socket })
    }

    /// Where it listens, with the port that was given to it.
    pub fn endpoint(&self) -> io::Result<Endpoint> {
        match &self.socket {
            Socket::Tcp(listener) => {
                let address = listener.local_addr()?;
                Ok(Endpoint::Tcp {
                    host: address.ip().to_string(),
                    port: address.port(),
                })
            }
            Socket::Unix(_) => {
                let file = self.file.as_ref();
                Ok(Endpoint::Unix(
                    file.map(|f| f.path.clone()).unwrap_or_default(),
                ))
            }
        }
    }

    /// Where its socket stood, if somebody has removed it from there: nobody finds it any more.
    pub fn removed(&self) -> Option<&Path> {
        let file = self.file.as_ref()?;
        let gone = file.identity.is_some() && identity(&file.path) != file.identity;
        gone.then_some(&file.path)
    }

    /// Listens at its path again, where its socket was removed from there. If that fails, as where another process
    /// listens there by now, it says so once, and is not said to be removed any more.
    pub fn listen_again(&mut self) -> io::Result<()> {
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        // What stands there is another's, whatever its number.
        file.identity = None;
        let (socket, file) = bind_unix(&file.path)?;
        socket.set_nonblocking(true)?;
        *self = Listener {
            file: Some(file),
            socket: Socket::Unix(socket),
        };
        Ok(())
    }

    /// The next connection, if one waits. One that is over already, or of another user on a
    /// Unix-domain socket, is skipped.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        loop {
            let accepted = match &self.socket {
                Socket::Tcp(listener) => listener.accept().map(|(s, _)| Stream::tcp(s)),
                Socket::Unix(listener) => listener.accept().map(|(s, _)| Stream::unix(s)),
            };
            match accepted {
                Ok(Ok(stream)) if allowed(&stream) => return Ok(Some(stream)),
                Ok(_) => {}
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(None),
                Err(e) if e.kind() == io::ErrorKind::ConnectionAborted => {}
                Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if self.identity.is_some() && identity(&self.path) == self.identity {
            // Nobody is left who could be told.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let found = fs::symlink_metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match &self.socket {
            Socket::Tcp(listener) => listener.as_fd(),
            Socket::Unix(listener) => listener.as_fd(),
        }
    }
}

impl AsRawFd for Listener {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

fn allowed(stream: &Stream) -> bool {
    match stream.peer().process {
        Some((_, uid)) => uid == platform::user_id() || uid == 0,
        None => true,
    }
}

fn bind_tcp(host: &str, port: u16) -> io::Result<TcpListener> {
    let addresses = resolve(host, port, Duration::from_secs(5))?;
    let first = addresses
        .first()
        .ok_or_else(|| io::Error::other(format!("the name '{host}' has no address")))?;
    match TcpListener::bind(first) {
        Ok(listener) => Ok(platform::beyond_standard(listener)?.into()),
        Err(e) if e.kind() == io::ErrorKind::AddrInUse => {
            let by = match platform::listening_process(port) {
                Some(pid) => by_process(pid),
                None => "by a process of another user, or on another address".into(),
            };
            Err(io::Error::new(
                io::ErrorKind::AddrInUse,
                format!("port {port} is in use {by}"),
            ))
        }
        Err(e) => Err(e),
    }
}

/// Binds to a path. A socket that nobody serves, which is what a killed process leaves, is
/// replaced; nothing else is.
fn bind_unix(path: &Path) -> io::Result<(UnixListener, SocketFile)> {
    // Two processes must not find the same stale socket, and the slower remove the other's.
    let directory = match path.parent() {
        Some(directory) if !directory.as_os_str().is_empty() => directory,
        _ => Path::new("."),
    };
    let _lock = Lock::of_directory(directory, LOCK_TIMEOUT)?;
    match fs::symlink_metadata(path) {
        Ok(found) if found.file_type().is_socket() => remove_stale(path)?,
        Ok(_) => {
            return Err(io::Error::new(
                io::ErrorKind::AlreadyExists,
                format!("{} exists and is no socket", path.display()),
            ));
        }
        Err(e) if e.kind() == io::ErrorKind::NotFound => {}
        Err(e) => return Err(e),
    }
    // Who finds the file must be able to connect: so it gets its name when it listens.
    let unready = directory.join(UNREADY);
    match fs::remove_file(&unready) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(e),
        _ => {}
    }
    let listener = platform::beyond_standard(UnixListener::bind(&unready)?)?;
    fs::set_permissions(&unready, fs::Permissions::from_mode(0o600))?;
    fs::rename(&unready, path)?;
    let file = SocketFile {
        path: path.to_owned(),
        identity: identity(path),
    };
    Ok((listener.into(), file))
}

/// Removes a socket that nobody serves.
fn remove_stale(path: &Path) -> io::Result<()> {
    let by = match connect_unix(path, Duration::ZERO) {
        Ok(other) => match platform::unix_peer(other.as_fd()) {
            Ok((pid, _)) => by_process(pid),
            Err(_) => "by another process".into(),
        },
        Err(e) if e.kind() == io::ErrorKind::TimedOut => "by a process that is stopped".into(),
        Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => return fs::remove_file(path),
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(e) => return Err(e),
    };
    Err(io::Error::new(
        io::ErrorKind::AddrInUse,
        format!("{} is in use {by}", path.display()),
    ))
}

fn by_process(pid: u32) -> String {
    let name = platform::process_name(pid).unwrap_or_else(|| "unknown".into());
    format!("by process {pid} ({name})")
}
