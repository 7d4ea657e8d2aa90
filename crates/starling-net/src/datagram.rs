//! UDP sockets that never block.

use crate::calls::count_system_call;
use crate::platform;
use crate::stream::Stream;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::rand::{GetRandomFlags, getrandom};
use starling_rid::Endpoint;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};

/// What the system is asked to keep of what has come and was not read, in bytes; it may keep less.
const BUFFER_BYTES: usize = 4 << 20;
/// So many errors of datagrams sent before are passed over at a time.
const ERRORS_MAX: usize = 16;

/// A UDP socket that never blocks. What can't be sent now is lost, as datagrams are.
#[derive(Debug)]
pub struct Datagrams(UdpSocket);

impl Datagrams {
    fn of(socket: UdpSocket) -> io::Result<Self> {
        let socket = UdpSocket::from(platform::beyond_standard(socket)?);
        socket.set_nonblocking(true)?;
        // As much as the system allows; it works with less, too.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES);
        let _ = sockopt::set_socket_send_buffer_size(&socket, BUFFER_BYTES);
        Ok(Self(socket))
    }

    /// A socket beside a TCP listener that is bound to `endpoint`: at its address, and with its port if that
    /// is free.
    ///
    /// # Errors
    /// What the system says; `Unsupported` for another endpoint than of TCP.
    pub fn beside(endpoint: &Endpoint) -> io::Result<Self> {
        let Endpoint::Tcp { host, port } = endpoint else {
            return Err(io::ErrorKind::Unsupported.into());
        };
        let host: IpAddr = host.parse().map_err(io::Error::other)?;
        let socket = UdpSocket::bind((host, *port)).or_else(|_| UdpSocket::bind((host, 0)))?;
        Self::of(socket)
    }

    /// A socket for datagrams from and to that port only, at the other end of `stream`; of a Unix-domain
    /// one, on this host.
    ///
    /// # Errors
    /// What the system says.
    pub fn along(stream: &Stream, port: u16) -> io::Result<Self> {
        let there = match stream {
            Stream::Tcp(stream) => stream.peer_addr()?.ip(),
            Stream::Unix(_) => Ipv4Addr::LOCALHOST.into(),
        };
        let any: IpAddr = match there {
            IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
            IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
        };
        let socket = UdpSocket::bind((any, 0))?;
        socket.connect((there, port))?;
        Self::of(socket)
    }

    /// A socket for datagrams from wherever they come, at this address of this host and any free port.
    ///
    /// # Errors
    /// What the system says.
    pub fn at(address: IpAddr) -> io::Result<Self> {
        Self::of(UdpSocket::bind((address, 0))?)
    }

    /// A socket that sends to any address, from this one of this host.
    ///
    /// # Errors
    /// What the system says.
    pub fn sent_from(mut address: SocketAddr) -> io::Result<Self> {
        address.set_port(0);
        Self::of(UdpSocket::bind(address)?)
    }

    /// A socket that sends to groups, by the interface that has this address, to the hosts of its network.
    ///
    /// # Errors
    /// What the system says.
    pub fn to_groups(interface: Ipv4Addr) -> io::Result<Self> {
        // Bound to an address, a socket sends to groups by that address's interface.
        let socket = UdpSocket::bind((interface, 0))?;
        // Receivers may be on this host, too.
        socket.set_multicast_loop_v4(true)?;
        Self::of(socket)
    }

    /// A socket that takes what comes for a group by the interface that has this address. Other processes of this host
    /// may have one, too.
    ///
    /// # Errors
    /// What the system says; `InvalidInput` for what is no group's address.
    pub fn in_group(group: SocketAddrV4, interface: Ipv4Addr) -> io::Result<Self> {
        if !group.ip().is_multicast() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let flags = SocketFlags::CLOEXEC;
        let socket = rustix::net::socket_with(AddressFamily::INET, SocketType::DGRAM, flags, None)?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        // At the group's address: what comes for others with this port is not for this socket.
        rustix::net::bind(&socket, &group)?;
        let socket = UdpSocket::from(socket);
        socket.join_multicast_v4(group.ip(), &interface)?;
        Self::of(socket)
    }

    /// Its port at this end.
    ///
    /// # Errors
    /// What the system says.
    pub fn port(&self) -> io::Result<u16> {
        Ok(self.0.local_addr()?.port())
    }

    /// Sends, over one that is [`along`](Self::along) a stream. Whether the system took it.
    pub fn send(&self, datagram: &[u8]) -> bool {
        count_system_call(|c| c.sends += 1);
        match self.0.send(datagram) {
            Ok(_) => true,
            Err(e) if e.kind() == io::ErrorKind::WouldBlock => false,
            // What became of an earlier one is told with the next, which has then not been sent.
            Err(_) => self.0.send(datagram).is_ok(),
        }
    }

    /// Sends to that address. Whether the system took it.
    pub fn send_to(&self, datagram: &[u8], to: SocketAddr) -> bool {
        count_system_call(|c| c.sends += 1);
        self.0.send_to(datagram, to).is_ok()
    }

    /// The next datagram: its length, and where it came from; none if none is there. Of one that is larger
    /// than the buffer the rest is lost.
    pub fn receive(&self, buffer: &mut [u8]) -> Option<(usize, SocketAddr)> {
        for _ in 0..ERRORS_MAX {
            count_system_call(|c| c.receives += 1);
            match self.0.recv_from(buffer) {
                Ok(received) => return Some(received),
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return None,
                // Of a datagram sent before, or a signal. Each is told once.
                Err(_) => {}
            }
        }
        None
    }
}

impl AsFd for Datagrams {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl AsRawFd for Datagrams {
    fn as_raw_fd(&self) -> RawFd {
        self.0.as_raw_fd()
    }
}

/// Sixteen random bytes, which nobody can guess.
///
/// # Errors
/// What the system says.
pub fn random_secret() -> io::Result<[u8; 16]> {
    let mut bytes = [0; 16];
    // Up to 256 bytes come at once.
    match getrandom(&mut bytes, GetRandomFlags::empty())? {
        16 => Ok(bytes),
        got => Err(io::Error::other(format!("only {got} random bytes"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Link, Listener, Waiter, Watch, dial};
    use std::time::Duration;

    #[test]
    fn who_has_joined_a_group_gets_what_is_sent_there() {
        let here = Ipv4Addr::LOCALHOST;
        let group = |last| SocketAddrV4::new(Ipv4Addr::new(239, 255, 77, last), 0);
        let first = Datagrams::in_group(group(1), here).unwrap();
        let port = first.port().unwrap();
        let with_port = |of: SocketAddrV4| SocketAddrV4::new(*of.ip(), port);
        let second = Datagrams::in_group(with_port(group(1)), here).unwrap();
        let other = Datagrams::in_group(with_port(group(2)), here).unwrap();
        let sender = Datagrams::to_groups(here).unwrap();
        assert!(sender.send_to(b"all", with_port(group(1)).into()));
        let mut buffer = [0; 10];
        let waiter = Waiter::new().unwrap();
        for member in [&first, &second] {
            waiter.wait(&mut [Watch::new(member, false)], None).unwrap();
            assert_eq!(member.receive(&mut buffer).unwrap().0, 3);
        }
        assert!(other.receive(&mut buffer).is_none());
        assert!(Datagrams::in_group(SocketAddrV4::new(here, 0), here).is_err());
    }

    #[test]
    fn a_datagram_goes_along_a_stream_and_comes_back() {
        let listener = Listener::bind(&Endpoint::loopback(0)).unwrap();
        let endpoint = listener.endpoint().unwrap();
        let server = Datagrams::beside(&endpoint).unwrap();
        let stream = Link::new(dial(&endpoint, Duration::from_secs(10)).unwrap());
        let client = Datagrams::along(stream.stream(), server.port().unwrap()).unwrap();
        let waiter = Waiter::new().unwrap();
        let mut buffer = [0; 10];
        assert!(server.receive(&mut buffer).is_none());
        assert!(client.send(b"there"));
        waiter
            .wait(&mut [Watch::new(&server, false)], None)
            .unwrap();
        let (length, from) = server.receive(&mut buffer).unwrap();
        assert_eq!(&buffer[..length], b"there");
        assert!(server.send_to(b"back", from));
        waiter
            .wait(&mut [Watch::new(&client, false)], None)
            .unwrap();
        assert_eq!(client.receive(&mut buffer).unwrap().0, 4);
        // What nobody listens to is no error of a later one, and a second socket finds another port.
        let second = Datagrams::beside(&endpoint);
        assert_ne!(second.unwrap().port().unwrap(), server.port().unwrap());
        drop(server);
        for _ in 0..3 {
            client.send(b"lost");
        }
        assert!(client.receive(&mut buffer).is_none());
        assert!(random_secret().unwrap() != random_secret().unwrap());
    }
}
