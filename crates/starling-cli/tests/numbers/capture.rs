//! What crosses the network cards of a namespace, captured: which numbered messages, how often, and in what.

use rustix::io::Errno;
use rustix::net::sockopt::{Timeout, set_socket_recv_buffer_size_force, set_socket_timeout};
use rustix::net::{AddressFamily, Protocol, RecvFlags, SocketFlags, SocketType, recv, socket_with};
use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
use std::collections::BTreeMap;
use std::fs::File;
use std::num::NonZeroU32;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::channel;
use std::thread::JoinHandle;
use std::time::Duration;

/// Behind a message's number and its sender.
pub const MARK: &[u8] = b"<a captured one>";

/// Goes on until it is looked at.
pub struct Capture {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<Seen>,
}

/// How often each message was seen, by sender and number.
pub type Copies = BTreeMap<(u64, u64), usize>;

/// What has crossed.
#[derive(Default)]
pub struct Seen {
    /// Of each direction of a TCP connection what its packets had, by where in the stream that stands.
    streams: BTreeMap<[u8; 12], BTreeMap<u32, Vec<u8>>>,
    first: BTreeMap<[u8; 12], u32>,
    pub datagrams: Copies,
}

impl Capture {
    /// Begins now, with all network cards of a namespace but the loopback.
    pub fn start(namespace: &str) -> Self {
        let place = File::open(format!("/var/run/netns/{namespace}")).unwrap();
        let is_over = Arc::new(AtomicBool::new(false));
        let (begun, begins) = channel();
        let over = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            // Of this thread alone.
            move_into_link_name_space(place.as_fd(), Some(LinkNameSpaceType::Network)).unwrap();
            let all = NonZeroU32::new(u32::from(3_u16.to_be())).map(Protocol::from_raw);
            let family = AddressFamily::PACKET;
            let socket = socket_with(family, SocketType::RAW, SocketFlags::CLOEXEC, all).unwrap();
            set_socket_recv_buffer_size_force(&socket, 256 << 20).unwrap();
            let soon = Some(Duration::from_millis(50));
            set_socket_timeout(&socket, Timeout::Recv, soon).unwrap();
            begun.send(()).unwrap();
            let mut seen = Seen::default();
            let mut packet = vec![0; 1 << 17];
            loop {
                match recv(&socket, &mut packet[..], RecvFlags::empty()) {
                    Ok((_, bytes)) => seen.add(&packet[..bytes]),
                    Err(Errno::AGAIN) if over.load(Ordering::Relaxed) => return seen,
                    Err(Errno::AGAIN | Errno::INTR) => {}
                    Err(error) => panic!("{error}"),
                }
            }
        });
        begins.recv().unwrap();
        Capture { is_over, thread }
    }

    /// Ends it, once all that has crossed is seen.
    pub fn seen(self) -> Seen {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap()
    }
}

impl Seen {
    fn add(&mut self, packet: &[u8]) {
        let is_ipv4 = packet.get(12..14) == Some(&[8, 0]);
        // That of the loopback has no addresses.
        if !is_ipv4 || packet[..12] == [0; 12] {
            return;
        }
        let packet = &packet[14..];
        let length = u16::from_be_bytes([packet[2], packet[3]]);
        let (head, rest) = packet[..usize::from(length)].split_at(usize::from(packet[0] & 15) * 4);
        match head[9] {
            6 => {
                let mut ends = [0; 12];
                ends[..8].copy_from_slice(&head[12..20]);
                ends[8..].copy_from_slice(&rest[..4]);
                let number = u32::from_be_bytes(*rest[4..].first_chunk().unwrap());
                let payload = &rest[usize::from(rest[12] >> 4) * 4..];
                let first = *self.first.entry(ends).or_insert(number);
                let at = number.wrapping_sub(first);
                // What is from before the first one is no part of this, nor is what is sent to see whether somebody lives.
                if !payload.is_empty() && at < 1 << 31 {
                    let stream = self.streams.entry(ends).or_default();
                    let before = stream.entry(at).or_default();
                    if before.len() < payload.len() {
                        *before = payload.to_vec();
                    }
                }
            }
            17 => count(&rest[8..], &mut self.datagrams),
            _ => {}
        }
    }

    /// Messages on TCP connections; what TCP itself has repeated counts once.
    pub fn streamed(&self) -> Copies {
        let mut copies = Copies::new();
        for stream in self.streams.values() {
            let mut all: Vec<u8> = Vec::new();
            for (at, payload) in stream {
                let known = all.len().checked_sub(*at as usize);
                let known = known.expect("the capture has missed nothing");
                all.extend(payload.get(known..).unwrap_or_default());
            }
            count(&all, &mut copies);
        }
        copies
    }
}

fn count(bytes: &[u8], copies: &mut Copies) {
    for (at, part) in bytes.windows(MARK.len()).enumerate() {
        if part != MARK {
            continue;
        }
        let word = |back: usize| {
            let word = bytes[at - back..].first_chunk().expect("behind two words");
            u64::from_le_bytes(*word)
        };
        *copies.entry((word(8), word(16))).or_default() += 1;
    }
}
