//! Listening for links.

use crate::dial::resolve;
use crate::platform;
use crate::stream::Stream;
use starling_rid::Endpoint;
use std::fs;
use std::io;
use std::net::TcpListener;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::time::Duration;

/// A listening socket that never blocks. The file of a Unix-domain one goes with it.
#[derive(Debug)]
pub enum Listener {
    /// TCP.
    Tcp(TcpListener),
    /// Unix-domain; only this user can connect.
    Unix(UnixListener, PathBuf),
}

impl Listener {
    /// Listens. If somebody does so already, the error says who.
    pub fn bind(at: &Endpoint) -> io::Result<Self> {
        let listener = match at {
            Endpoint::Tcp { host, port } => bind_tcp(host, *port)?,
            Endpoint::Unix(path) => bind_unix(path)?,
        };
        match &listener {
            Self::Tcp(l) => l.set_nonblocking(true)?,
            Self::Unix(l, _) => l.set_nonblocking(true)?,
        }
        Ok(listener)
    }

    /// Where it listens, with the port that was given to it.
    pub fn endpoint(&self) -> io::Result<Endpoint> {
        match self {
            Self::Tcp(listener) => {
                let address = listener.local_addr()?;
                Ok(Endpoint::Tcp {
                    host: address.ip().to_string(),
                    port: address.port(),
                })
            }
            Self::Unix(_, path) => Ok(Endpoint::Unix(path.clone())),
        }
    }

    /// The next connection, if one waits. One that is over already, or of another user on a
    /// Unix-domain socket, is skipped.
    pub fn accept(&self) -> io::Result<Option<Stream>> {
        loop {
            let accepted = match self {
                Self::Tcp(listener) => listener.accept().map(|(s, _)| Stream::tcp(s)),
                Self::Unix(listener, _) => listener.accept().map(|(s, _)| Stream::unix(s)),
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

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Unix(_, path) = self {
            // Before the socket is closed: nobody can have put another one there.
            let _ = fs::remove_file(path);
        }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(listener) => listener.as_fd(),
            Self::Unix(listener, _) => listener.as_fd(),
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

fn bind_tcp(host: &str, port: u16) -> io::Result<Listener> {
    let addresses = resolve(host, port, Duration::from_secs(5))?;
    let first = addresses
        .first()
        .ok_or_else(|| io::Error::other(format!("the name '{host}' has no address")))?;
    match TcpListener::bind(first) {
        Ok(listener) => Ok(Listener::Tcp(listener)),
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

fn bind_unix(path: &PathBuf) -> io::Result<Listener> {
    if path.exists() {
        // A socket that nobody serves is what a killed process left.
        match UnixStream::connect(path) {
            Ok(other) => {
                let by = match platform::unix_peer(other.as_fd()) {
                    Ok((pid, _)) => by_process(pid),
                    Err(_) => "by another process".into(),
                };
                return Err(io::Error::new(
                    io::ErrorKind::AddrInUse,
                    format!("{} is in use {by}", path.display()),
                ));
            }
            Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path)?,
            Err(e) => return Err(e),
        }
    }
    let listener = UnixListener::bind(path)?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o600))?;
    Ok(Listener::Unix(listener, path.clone()))
}

fn by_process(pid: u32) -> String {
    let name = platform::process_name(pid).unwrap_or_else(|| "unknown".into());
    format!("by process {pid} ({name})")
}
