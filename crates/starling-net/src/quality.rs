//! What the network is told of packets, and how much the system keeps of what is on its way.

use crate::datagram::Datagrams;
use crate::stream::Stream;
use rustix::net::sockopt;
use starling_rid::{NET_BUFFER_BYTES, NET_DSCP_BEST_EFFORT, NET_DSCP_RELIABLE, Settings};
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// As the settings say.
#[derive(Clone, Copy, Debug, Default)]
pub struct Quality {
    /// Differentiated services code points of what goes by streams and by datagrams; 0: not set.
    stream: u8,
    datagrams: u8,
    /// Bytes that the system keeps in each direction; 0: as it likes.
    buffer: usize,
}

impl Quality {
    /// As the settings say.
    pub fn of(settings: &Settings) -> Self {
        let point = |key| u8::try_from(settings.get(key)).unwrap_or(0);
        Quality {
            stream: point(NET_DSCP_RELIABLE),
            datagrams: point(NET_DSCP_BEST_EFFORT),
            buffer: settings.get(NET_BUFFER_BYTES) as usize,
        }
    }

    /// Tells the system so of a stream.
    ///
    /// # Errors
    /// It does not take it.
    pub fn mark(self, stream: &Stream) -> io::Result<()> {
        self.keep(stream.as_fd())?;
        match stream {
            Stream::Tcp(_) => point(stream.as_fd(), self.stream),
            Stream::Unix(_) => Ok(()),
        }
    }

    /// Tells the system so of datagrams that are sent.
    ///
    /// # Errors
    /// It does not take it.
    pub fn mark_datagrams(self, socket: &Datagrams) -> io::Result<()> {
        self.keep(socket.as_fd())?;
        point(socket.as_fd(), self.datagrams)
    }

    fn keep(self, socket: BorrowedFd<'_>) -> io::Result<()> {
        if self.buffer > 0 {
            sockopt::set_socket_send_buffer_size(socket, self.buffer)?;
            sockopt::set_socket_recv_buffer_size(socket, self.buffer)?;
        }
        Ok(())
    }
}

/// The system's own send priority follows from it.
fn point(socket: BorrowedFd<'_>, point: u8) -> io::Result<()> {
    if point == 0 {
        return Ok(());
    }
    let byte = point << 2;
    // A socket of IPv6 may have a peer of IPv4, one of IPv4 has no class.
    let _ = sockopt::set_ipv6_tclass(socket, byte.into());
    Ok(sockopt::set_ip_tos(socket, byte)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use starling_rid::Sources;

    /// Shows settings: net.buffer_bytes.
    #[test]
    fn the_system_keeps_as_much_as_it_is_asked_to() {
        let kept = |bytes: u32| {
            let text = format!("net.buffer_bytes={bytes}");
            let settings = Sources::new().designator(&text).read().unwrap();
            let (ours, theirs) = Stream::pair().unwrap();
            for stream in [&ours, &theirs] {
                Quality::of(&settings).mark(stream).unwrap();
            }
            let taken = std::iter::from_fn(|| ours.write_some(&[0; 1000]).unwrap());
            taken.sum::<usize>()
        };
        let (small, large) = (kept(5_000), kept(100_000));
        assert!(2 * small < large, "{small} and {large}");
    }
}
