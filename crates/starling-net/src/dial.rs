//! Connecting, within a time.

use crate::platform;
use crate::stream::Stream;
use starling_rid::Endpoint;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpStream, ToSocketAddrs};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// Connects. A refusal is an error at once; silence is one when the time is over. A Unix-domain
/// socket must be served by this user or the superuser.
pub fn dial(to: &Endpoint, timeout: Duration) -> io::Result<Stream> {
    match to {
        Endpoint::Unix(path) => {
            let stream = Stream::unix(UnixStream::connect(path)?)?;
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
                match TcpStream::connect_timeout(address, share.max(Duration::from_millis(1))) {
                    Ok(stream) => return Stream::tcp(stream),
                    Err(error) => last = error,
                }
            }
            Err(last)
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
