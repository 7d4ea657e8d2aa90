//! Connecting, within a time.

use crate::platform::{self, beyond_standard, poll, poll_entry};
use crate::stream::Stream;
use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_error};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use starling_rid::Endpoint;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Connects. A refusal is an error at once; silence is one when the time is over. A Unix-domain
/// socket must be served by this user or the superuser.
pub fn dial(to: &Endpoint, timeout: Duration) -> io::Result<Stream> {
    match to {
        Endpoint::Unix(path) => {
            let stream = Stream::unix(connect_unix(path, timeout)?)?;
            let (pid, uid) = platform::unix_peer(stream.as_fd())?;
            if uid != platform::user_id() && uid != 0 {
                return Err(io::Error::new(
                    io::ErrorKind::PermissionDenied,
                    format!("it is served by another user ({uid}, process {pid})"),
                ));
            }
            Ok(stream)
        }
        Endpoint::Tcp { host, port } => {
            let end = Instant::now() + timeout;
            let addresses = resolve(host, *port, timeout)?;
            let mut last = io::Error::new(io::ErrorKind::NotFound, "the name has no address");
            for (tried, address) in addresses.iter().enumerate() {
                // The rest of the time is shared among the addresses that are left.
                let left = end.saturating_duration_since(Instant::now());
                let share = left / u32::try_from(addresses.len() - tried).unwrap_or(1);
                match connect_tcp(address, share) {
                    Ok(stream) => return Stream::tcp(stream),
                    Err(error) => last = error,
                }
            }
            Err(last)
        }
    }
}

/// Begins to connect, without waiting: once the stream can be written to, [`Stream::connected`] says what has
/// become of it.
pub fn begin_dial(to: SocketAddr) -> io::Result<Stream> {
    Stream::tcp(begin_tcp(&to)?.0.into())
}

fn stream_socket(family: AddressFamily, flags: SocketFlags) -> io::Result<OwnedFd> {
    let flags = flags | SocketFlags::CLOEXEC;
    // Moved before it is connected: the program may print at any time.
    beyond_standard(socket_with(family, SocketType::STREAM, flags, None)?)
}

/// Connects to a Unix-domain socket. It waits only while the queue of the listener is full.
pub(crate) fn connect_unix(path: &Path, timeout: Duration) -> io::Result<UnixStream> {
    let end = Instant::now() + timeout;
    let address = SocketAddrUnix::new(path)?;
    let socket = stream_socket(AddressFamily::UNIX, SocketFlags::empty())?;
    loop {
        // Zero would wait for ever.
        let left = end.saturating_duration_since(Instant::now());
        let left = left.max(Duration::from_millis(1));
        set_socket_timeout(&socket, Timeout::Send, Some(left))?;
        match connect(&socket, &address) {
            Ok(()) => return Ok(socket.into()),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) => {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "the process that listens there takes no connection (stopped?), \
                     and as many as its queue holds wait already",
                ));
            }
            Err(error) => return Err(error.into()),
        }
    }
}

/// A socket that connects, or has connected already.
fn begin_tcp(address: &SocketAddr) -> io::Result<(OwnedFd, bool)> {
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let socket = stream_socket(family, SocketFlags::NONBLOCK)?;
    match connect(&socket, address) {
        // Interrupted, it goes on by itself.
        Err(Errno::INPROGRESS | Errno::INTR) => Ok((socket, false)),
        done => {
            done?;
            Ok((socket, true))
        }
    }
}

fn connect_tcp(address: &SocketAddr, timeout: Duration) -> io::Result<TcpStream> {
    let end = Instant::now() + timeout;
    let (socket, done) = begin_tcp(address)?;
    if done {
        return Ok(socket.into());
    }
    loop {
        let left = end.saturating_duration_since(Instant::now());
        let mut entry = [poll_entry(socket.as_fd(), false, true)];
        poll(&mut entry, Some(left))?;
        if platform::poll_result(&entry[0]).1 {
            socket_error(&socket)??;
            return Ok(socket.into());
        }
        if left.is_zero() {
            return Err(io::Error::new(
                io::ErrorKind::TimedOut,
                "no answer to the connection",
            ));
        }
    }
}

/// The addresses of a host. Only a name that must be looked up costs a thread, because the
/// system's look-up knows no time-out.
pub(crate) fn resolve(host: &str, port: u16, timeout: Duration) -> io::Result<Vec<SocketAddr>> {
    if let Ok(address) = host.parse::<IpAddr>() {
        return Ok(vec![(address, port).into()]);
    }
    if host == "localhost" {
        return Ok(vec![
            ([127, 0, 0, 1], port).into(),
            ([0_u16, 0, 0, 0, 0, 0, 0, 1], port).into(),
        ]);
    }
    let (done, result) = mpsc::channel();
    let name = host.to_owned();
    std::thread::Builder::new()
        .name("starling-resolve".into())
        .spawn(move || {
            let found = (name.as_str(), port).to_socket_addrs();
            // Nobody listens any more after the time-out.
            let _ = done.send(found.map(Iterator::collect));
        })?;
    result.recv_timeout(timeout).unwrap_or_else(|_| {
        Err(io::Error::new(
            io::ErrorKind::TimedOut,
            format!("the name '{host}' could not be looked up in time"),
        ))
    })
}
