//! A connected byte stream, TCP or Unix-domain.

use crate::platform::{self, Came};
use rustix::net::sockopt;
use std::fmt;
use std::io;
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connected stream that never blocks.
#[derive(Debug)]
pub enum Stream {
    /// TCP, without delay.
    Tcp(TcpStream),
    /// Unix-domain.
    Unix(UnixStream),
}

/// Who is at the other end of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Peer {
    /// `unix` or `tcp 10.0.0.7:50312`, for people.
    pub path: String,
    /// Process and user, where the system vouches for them.
    pub process: Option<(u32, u32)>,
}

impl Stream {
    /// Takes a TCP connection: no delay, non-blocking.
    pub fn tcp(stream: TcpStream) -> io::Result<Self> {
        let stream = TcpStream::from(platform::beyond_standard(stream)?);
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(Self::Tcp(stream))
    }

    /// Takes a Unix-domain connection: non-blocking.
    pub fn unix(stream: UnixStream) -> io::Result<Self> {
        let stream = UnixStream::from(platform::beyond_standard(stream)?);
        stream.set_nonblocking(true)?;
        Ok(Self::Unix(stream))
    }

    /// Two connected ends in this process.
    pub fn pair() -> io::Result<(Self, Self)> {
        let (a, b) = UnixStream::pair()?;
        Ok((Self::unix(a)?, Self::unix(b)?))
    }

    /// Who is at the other end.
    pub fn peer(&self) -> Peer {
        match self {
            Self::Tcp(stream) => Peer {
                path: match stream.peer_addr() {
                    Ok(address) => format!("tcp {address}"),
                    Err(_) => "tcp".into(),
                },
                process: None,
            },
            Self::Unix(_) => Peer {
                path: "unix".into(),
                process: platform::unix_peer(self.as_fd()).ok(),
            },
        }
    }

    /// Whether the other end is a socket of this process of this host, as far as this user may see:
    /// where its descriptors can't be looked at, its user is compared.
    pub fn is_of_process(&self, pid: u32) -> bool {
        match self {
            Self::Tcp(stream) => match (stream.peer_addr(), stream.local_addr()) {
                (Ok(there), Ok(here)) => platform::holds_tcp(pid, there.port(), here.port()),
                _ => false,
            },
            Self::Unix(_) => self.peer().process.is_some_and(|(its, _)| its == pid),
        }
    }

    /// Whether the operating system of the peer's host answers, whatever its process does: not if
    /// nothing came from it for `time` although it was asked repeatedly. None where this can't be
    /// told. While heartbeats are sent a host that can't be reached is noticed within `time` and
    /// a few seconds; if its window was closed before, within three times as long as that was.
    pub fn host_answers(&self, time: Duration) -> Option<bool> {
        match self {
            Self::Tcp(_) => Some(platform::answers(self.as_fd()).ok()?.within(time)),
            Self::Unix(_) => None,
        }
    }

    /// How many bytes of what was sent the other host has, whether it was read there or not; TCP only.
    pub fn acknowledged(&self) -> Option<u64> {
        match self {
            Self::Tcp(_) => platform::acknowledged(self.as_fd()).ok(),
            Self::Unix(_) => None,
        }
    }

    /// What has become of a connection that was begun without waiting, once it can be written to.
    ///
    /// # Errors
    /// Why there is none.
    pub fn connected(&self) -> io::Result<()> {
        Ok(sockopt::socket_error(self)??)
    }

    /// From now on the system takes the connection for broken when what was sent is not acknowledged by the other
    /// host within `time`, nor what it asks when nothing is sent for so long; or when the other process reads nothing for
    /// that long although more waits than its system takes. TCP only: others don't break.
    pub fn break_after(&self, time: Duration) -> io::Result<()> {
        let Self::Tcp(stream) = self else {
            return Ok(());
        };
        let ms = u32::try_from(time.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(stream, ms)?;
        sockopt::set_tcp_keepidle(stream, time)?;
        sockopt::set_tcp_keepintvl(stream, Duration::from_secs(1))?;
        Ok(sockopt::set_socket_keepalive(stream, true)?)
    }

    /// The address of the other end; TCP only.
    pub fn remote_address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr(),
            Self::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// This end's address; TCP only.
    pub fn local_address(&self) -> io::Result<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr(),
            Self::Unix(_) => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Whether the other end is on another host, as far as the address tells.
    pub fn leads_elsewhere(&self) -> bool {
        match self {
            Self::Tcp(stream) => match (stream.peer_addr(), stream.local_addr()) {
                (Ok(there), Ok(here)) => there.ip() != here.ip() && !there.ip().is_loopback(),
                _ => false,
            },
            Self::Unix(_) => false,
        }
    }

    /// Whether it goes by TCP to a loopback address: to this host, or into a tunnel, which its other end leaves as another's.
    pub fn is_to_loopback(&self) -> bool {
        matches!(self, Self::Tcp(stream) if stream.peer_addr().is_ok_and(|a| a.ip().to_canonical().is_loopback()))
    }

    /// Ends the connection in both directions; whoever waits for it sees the end.
    pub fn shut_down(&self) {
        // An error means that it has ended already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Both),
            Self::Unix(stream) => stream.shutdown(Shutdown::Both),
        };
    }

    /// Ends the connection in this direction; what the peer sends is still taken by the system.
    pub fn end_sending(&self) {
        // An error means that it has ended already.
        let _ = match self {
            Self::Tcp(stream) => stream.shutdown(Shutdown::Write),
            Self::Unix(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    /// Closes this process's copy only, in a child that was forked: the connection is its
    /// parent's, and goes on.
    pub fn leave_to_parent(&self) {
        // Without a descriptor to spare it stays open until the process ends.
        let _ = platform::detach_descriptor(self.as_fd());
    }

    /// Writes what the system takes of this now; none: it takes nothing.
    pub fn write_some(&self, bytes: &[u8]) -> io::Result<Option<usize>> {
        match self.send(bytes) {
            Ok(sent) => Ok(Some(sent)),
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(e) => Err(e),
        }
    }

    pub(crate) fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        retry(|| platform::send(self.as_fd(), bytes))
    }

    pub(crate) fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        retry(|| platform::receive(self.as_fd(), buffer))
    }

    /// None: the system passes no more descriptors now, and took nothing.
    pub(crate) fn send_with(
        &self,
        bytes: &[u8],
        descriptors: &[OwnedFd],
    ) -> io::Result<Option<usize>> {
        retry(|| platform::send_with(self.as_fd(), bytes, descriptors))
    }

    pub(crate) fn receive_with(&self, buffer: &mut [u8]) -> io::Result<(usize, Option<Came>)> {
        retry(|| platform::receive_with(self.as_fd(), buffer))
    }

    /// Whether descriptors can be passed over it.
    pub fn passes_descriptors(&self) -> bool {
        matches!(self, Self::Unix(_))
    }
}

fn retry<T>(mut call: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    loop {
        match call() {
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl AsRawFd for Stream {
    fn as_raw_fd(&self) -> RawFd {
        self.as_fd().as_raw_fd()
    }
}

impl fmt::Display for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.peer().path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Endpoint, Link, Listener, Waiter, dial};

    #[test]
    fn a_host_answers_though_its_process_reads_nothing() {
        let listener = Listener::bind(&Endpoint::loopback(0)).unwrap();
        let client = dial(&listener.endpoint().unwrap(), Duration::from_secs(10)).unwrap();
        let waiter = Waiter::new().unwrap();
        let mut link = Link::new(client);
        // The window closes; the system asks at intervals that double, so the last answer gets
        // older than any time that is shorter than the interval.
        let time = Duration::from_secs(1);
        while platform::answers(link.as_fd()).unwrap().last < time {
            link.writer.out().resize(1 << 20, 0);
            link.writer.flush().unwrap();
            let pause = Some(Duration::from_millis(20));
            waiter.wait(&mut [], pause).unwrap();
        }
        assert_eq!(link.stream().host_answers(time), Some(true));
    }
}
