//! UDP sockets that never block.

use crate::calls::count_system_call;
use crate::platform::{self, Outgoing};
use crate::stream::Stream;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, sockopt};
use rustix::rand::{GetRandomFlags, getrandom};
use starling_rid::Endpoint;
use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV4, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, RawFd};
use std::sync::atomic::{AtomicUsize, Ordering};

/// What the system is asked to keep of what has come and was not read, in bytes; it may keep less.
const BUFFER_BYTES: usize = 4 << 20;
/// So many errors of datagrams sent before are passed over at a time.
const ERRORS_MAX: usize = 16;

/// The system takes so many datagrams as one, and so many bytes of them.
const JOINED_MAX: usize = 64;
const JOINED_BYTES: usize = 60_000;
/// What comes as one datagram, or as several joined, has no more bytes.
const SLOT_BYTES: usize = 1 << 16;

/// A UDP socket that never blocks. What can't be sent now is lost, as datagrams are.
#[derive(Debug)]
pub struct Datagrams {
    socket: UdpSocket,
    /// Datagrams of no more bytes each are handed to the system as one, if they are of one size.
    joined: AtomicUsize,
}

/// Datagrams that are to leave together.
#[derive(Clone, Copy, Debug)]
pub struct Leaving<'a> {
    /// Where to; none: where the socket leads.
    pub to: Option<SocketAddr>,
    /// One behind the other.
    pub bytes: &'a [u8],
    /// Of each.
    pub lengths: &'a [usize],
}

/// Datagrams that have come together.
#[derive(Debug, Default)]
pub struct Arrivals {
    slots: Vec<u8>,
    came: Vec<platform::Incoming>,
    /// Which of them is next, and where in its slot.
    next: (usize, usize),
    /// So many are asked for: what is not filled costs, too.
    asked: usize,
}

impl Arrivals {
    /// Room for so many at a time, or for so many joined ones. Memory is taken as it is filled.
    pub fn new(slots: usize) -> Self {
        Arrivals {
            slots: vec![0; slots.clamp(1, platform::MANY) * SLOT_BYTES],
            asked: 2,
            ..Arrivals::default()
        }
    }

    /// Whether there is room for any.
    pub fn has_room(&self) -> bool {
        !self.slots.is_empty()
    }

    /// Whether none is left.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.next.0 >= self.came.len()
    }

    /// The next one, and where it came from.
    pub fn take(&mut self) -> Option<(&[u8], SocketAddr)> {
        let (at, begin) = self.next;
        let came = *self.came.get(at)?;
        let length = (came.length - begin).min(came.size);
        self.next = match begin + length {
            end if end < came.length && length > 0 => (at, end),
            _ => (at + 1, 0),
        };
        let begin = came.slot * SLOT_BYTES + begin;
        Some((&self.slots[begin..begin + length], came.from))
    }
}

impl Datagrams {
    /// The system keeps so many bytes of what has come, twice what it was asked for, unless a setting says more.
    pub const KEPT_BYTES: usize = 2 * BUFFER_BYTES;

    /// What a datagram of so many bytes takes of that at least.
    pub fn kept_bytes(length: usize) -> usize {
        length.max(768)
    }

    fn of(socket: UdpSocket) -> io::Result<Self> {
        let socket = UdpSocket::from(platform::beyond_standard(socket)?);
        socket.set_nonblocking(true)?;
        // As much as the system allows; it works with less, too.
        let _ = sockopt::set_socket_recv_buffer_size(&socket, BUFFER_BYTES);
        let _ = sockopt::set_socket_send_buffer_size(&socket, BUFFER_BYTES);
        // Else they come one by one.
        let _ = platform::receive_joined(socket.as_fd());
        let joins = platform::sends_joined(socket.as_fd()).is_ok();
        let joined = AtomicUsize::new(if joins { JOINED_BYTES } else { 0 });
        Ok(Datagrams { socket, joined })
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
        Ok(self.socket.local_addr()?.port())
    }

    /// Sends datagrams with as few calls as the system allows. What it does not take is lost. How many it took.
    pub fn send_all<'a>(&self, all: impl IntoIterator<Item = Leaving<'a>>) -> usize {
        let mut parts = [Outgoing::default(); platform::MANY];
        let (mut count, mut taken) = (0, 0);
        for Leaving { to, bytes, lengths } in all {
            let (mut bytes, mut lengths) = (bytes, lengths);
            while let Some((joined, length)) = self.joined(lengths) {
                if count == parts.len() {
                    taken += self.send_parts(&parts);
                    count = 0;
                }
                let part;
                (part, bytes) = bytes.split_at(length);
                parts[count] = Outgoing {
                    to,
                    bytes: part,
                    size: if joined > 1 { lengths[0] as u16 } else { 0 },
                };
                lengths = &lengths[joined..];
                count += 1;
            }
        }
        taken + self.send_parts(&parts[..count])
    }

    /// How many of these, from the first on, go as one, and their bytes: they are of one size, but the last may be smaller.
    fn joined(&self, lengths: &[usize]) -> Option<(usize, usize)> {
        let (&size, rest) = lengths.split_first()?;
        let (mut count, mut bytes) = (1, size);
        if size == 0 || size > self.joined.load(Ordering::Relaxed) {
            return Some((count, bytes));
        }
        for &length in rest {
            let fits = bytes + length <= JOINED_BYTES && count < JOINED_MAX;
            if !fits || length > size || length == 0 {
                break;
            }
            (count, bytes) = (count + 1, bytes + length);
            if length < size {
                break;
            }
        }
        Some((count, bytes))
    }

    /// Sends what goes with one call, if nothing fails; how many datagrams the system took.
    fn send_parts(&self, mut parts: &[Outgoing<'_>]) -> usize {
        let (mut taken, mut again) = (0, true);
        while let Some(first) = parts.first() {
            match platform::send_many(self.as_fd(), parts) {
                Ok(sent) => {
                    taken += parts[..sent].iter().map(Outgoing::count).sum::<usize>();
                    (parts, again) = (&parts[sent.max(1)..], true);
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => parts = &parts[1..],
                // What became of an earlier one is told with the next, which has then not been sent.
                Err(_) if again => again = false,
                Err(e) => {
                    if first.size > 0 {
                        taken += self.send_apart(first, &e);
                    }
                    (parts, again) = (&parts[1..], true);
                }
            }
        }
        taken
    }

    /// The system did not take these as one. If that is why, others like them go one by one from now on, too: they are larger
    /// than what the network carries whole, or the way there does not take joined ones.
    #[cold]
    fn send_apart(&self, joined: &Outgoing<'_>, error: &io::Error) -> usize {
        let size = usize::from(joined.size);
        let most = match Errno::from_io_error(error) {
            Some(Errno::INVAL | Errno::MSGSIZE) => size - 1,
            Some(Errno::IO | Errno::OPNOTSUPP) => 0,
            _ => return 0,
        };
        self.joined.fetch_min(most, Ordering::Relaxed);
        let all = joined.bytes.chunks(size);
        let sent = all.map(|bytes| {
            let size = 0;
            self.send_parts(&[Outgoing {
                bytes,
                size,
                ..*joined
            }])
        });
        sent.sum()
    }

    /// Whether one has come.
    pub fn has_news(&self) -> bool {
        count_system_call(|c| c.receives += 1);
        // A fault of one sent before is told once, and ends no wait.
        self.socket.peek(&mut []).is_ok()
    }

    /// Receives what has come, as far as there is room in `arrivals`, of which none may be left. Whether there may be more.
    pub fn receive_all(&self, arrivals: &mut Arrivals) -> bool {
        debug_assert!(arrivals.is_empty(), "they would be lost");
        let slots = arrivals.slots.len() / SLOT_BYTES;
        let asked = arrivals.asked.min(slots);
        arrivals.came.clear();
        arrivals.next = (0, 0);
        for _ in 0..ERRORS_MAX {
            let room = (&mut arrivals.slots[..asked * SLOT_BYTES], SLOT_BYTES);
            match platform::receive_many(self.as_fd(), room, &mut arrivals.came) {
                Ok(received) if received == asked => {
                    arrivals.asked = 2 * asked;
                    return true;
                }
                Ok(received) => {
                    arrivals.asked = received + 1;
                    return false;
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return false,
                // Of a datagram sent before, or a signal. Each is told once.
                Err(_) => {}
            }
        }
        false
    }
}

impl Outgoing<'_> {
    /// How many datagrams these are.
    fn count(&self) -> usize {
        match usize::from(self.size) {
            0 => 1,
            size => self.bytes.len().div_ceil(size),
        }
    }
}

impl AsFd for Datagrams {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl AsRawFd for Datagrams {
    fn as_raw_fd(&self) -> RawFd {
        self.socket.as_raw_fd()
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
    use crate::{Link, Listener, Waiter, Watch, dial, system_calls};
    use std::time::Duration;

    fn send(socket: &Datagrams, datagram: &[u8], to: Option<SocketAddr>) -> usize {
        socket.send_all([Leaving {
            to,
            bytes: datagram,
            lengths: &[datagram.len()],
        }])
    }

    /// What comes, once something has.
    fn receive(socket: &Datagrams) -> Vec<(Vec<u8>, SocketAddr)> {
        let waiter = Waiter::new().unwrap();
        waiter.wait(&mut [Watch::new(socket, false)], None).unwrap();
        assert!(socket.has_news());
        let (mut arrivals, mut came) = (Arrivals::new(4), Vec::new());
        while socket.receive_all(&mut arrivals) || !arrivals.is_empty() {
            while let Some((datagram, from)) = arrivals.take() {
                came.push((datagram.to_vec(), from));
            }
        }
        assert!(!socket.has_news());
        came
    }

    fn here() -> Datagrams {
        Datagrams::at(Ipv4Addr::LOCALHOST.into()).unwrap()
    }

    fn address(of: &Datagrams) -> SocketAddr {
        (Ipv4Addr::LOCALHOST, of.port().unwrap()).into()
    }

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
        assert_eq!(send(&sender, b"all", Some(with_port(group(1)).into())), 1);
        for member in [&first, &second] {
            let [(datagram, _)] = &receive(member)[..] else {
                panic!("another number than one");
            };
            assert_eq!(datagram, b"all");
        }
        assert!(!other.has_news());
        assert!(Datagrams::in_group(SocketAddrV4::new(here, 0), here).is_err());
    }

    #[test]
    fn a_datagram_goes_along_a_stream_and_comes_back() {
        let listener = Listener::bind(&Endpoint::loopback(0)).unwrap();
        let endpoint = listener.endpoint().unwrap();
        let server = Datagrams::beside(&endpoint).unwrap();
        let stream = Link::new(dial(&endpoint, Duration::from_secs(10)).unwrap());
        let client = Datagrams::along(stream.stream(), server.port().unwrap()).unwrap();
        assert!(!server.has_news());
        assert_eq!(send(&client, b"there", None), 1);
        let [(datagram, from)] = &receive(&server)[..] else {
            panic!("another number than one");
        };
        assert_eq!(datagram, b"there");
        assert_eq!(send(&server, b"back", Some(*from)), 1);
        assert_eq!(receive(&client)[0].0, b"back");
        // What nobody listens to is no error of a later one, and a second socket finds another port.
        let second = Datagrams::beside(&endpoint);
        assert_ne!(second.unwrap().port().unwrap(), server.port().unwrap());
        drop(server);
        for _ in 0..3 {
            assert_eq!(send(&client, b"lost", None), 1);
        }
        assert!(!client.has_news());
        assert!(random_secret().unwrap() != random_secret().unwrap());
    }

    /// Of one size, of several, larger than is joined, empty; more than go with one call.
    #[test]
    fn what_leaves_together_comes_as_it_was_in_its_order() {
        let (sender, first, second) = (here(), here(), here());
        let of_many = (0..200).map(|n| 1 + n * 37 % 400);
        for lengths in [
            vec![1300; 150],
            vec![1300, 1300, 700, 1300, 1300],
            vec![20, 0, 20, 20],
            vec![30_000, 30_000, 30_000],
            of_many.collect(),
        ] {
            let byte = |(at, _)| (at % 251) as u8;
            let bytes: Vec<u8> = (0..lengths.iter().sum()).zip(0..).map(byte).collect();
            let both = [&second, &first].map(|to| Leaving {
                to: Some(address(to)),
                bytes: &bytes,
                lengths: &lengths,
            });
            assert_eq!(sender.send_all(both), 2 * lengths.len());
            for to in [&first, &second] {
                let came = receive(to);
                let there: Vec<_> = came.iter().map(|(datagram, _)| datagram.len()).collect();
                assert_eq!(there, lengths);
                let datagrams = came.iter().map(|(datagram, _)| &datagram[..]);
                assert_eq!(datagrams.collect::<Vec<_>>().concat(), bytes);
                assert!(came.iter().all(|(_, from)| *from == address(&sender)));
            }
        }
    }

    /// Several datagrams for several receivers: one call for up to 32 of these, of one size as many as are 60,000 bytes.
    #[test]
    fn one_call_sends_many_and_one_receives_many() {
        let sender = here();
        let receivers: [_; 16] = std::array::from_fn(|_| here());
        let bytes = vec![7; 40 * 1400];
        let lengths = [1400; 40];
        let all = receivers.iter().map(|to| Leaving {
            to: Some(address(to)),
            bytes: &bytes,
            lengths: &lengths,
        });
        let before = system_calls();
        assert_eq!(sender.send_all(all), 16 * 40);
        assert_eq!(system_calls().sends - before.sends, 1);
        let mut arrivals = Arrivals::new(4);
        for receiver in &receivers {
            assert!(!receiver.receive_all(&mut arrivals), "all came at once");
            let count = std::iter::from_fn(|| arrivals.take().map(|_| ())).count();
            assert_eq!(count, 40);
        }
        assert_eq!(system_calls().receives - before.receives, 16);
    }

    /// The others go, and come.
    #[test]
    fn what_the_system_does_not_take_holds_up_nothing() {
        let (sender, receiver) = (here(), here());
        let nowhere = SocketAddr::from(([0, 0, 0, 0, 0, 0, 0, 1], 9));
        let all = [Some(nowhere), Some(address(&receiver))];
        let all = [all, all].concat();
        let all = all.into_iter().map(|to| Leaving {
            to,
            bytes: b"abcd",
            lengths: &[2, 2],
        });
        assert_eq!(sender.send_all(all), 4);
        assert_eq!(receive(&receiver).len(), 4);
    }

    #[test]
    fn what_is_not_taken_as_one_goes_one_by_one() {
        let (sender, receiver) = (here(), here());
        let (bytes, to) = (&[7; 2900][..], Some(address(&receiver)));
        for (error, size, joined) in [
            (Errno::NETUNREACH, 1400, JOINED_BYTES),
            (Errno::INVAL, 1400, 1399),
            (Errno::INVAL, 1450, 1399),
            (Errno::IO, 100, 0),
        ] {
            let part = Outgoing { bytes, to, size };
            let sent = sender.send_apart(&part, &error.into());
            assert_eq!(sender.joined.load(Ordering::Relaxed), joined);
            if joined == JOINED_BYTES {
                assert_eq!(sent, 0);
                continue;
            }
            let came = receive(&receiver);
            assert_eq!((came.len(), sent), (part.count(), part.count()));
        }
        // They all come still, as those of a system that joins none.
        let lengths = [1400, 1400, 100];
        let sent = sender.send_all([Leaving {
            to,
            bytes,
            lengths: &lengths,
        }]);
        assert_eq!(sent, 3);
        assert_eq!(receive(&receiver).len(), 3);
    }
}
