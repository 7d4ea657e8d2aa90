//! What depends on the operating system (Linux), and all `unsafe` code of this crate.

use crate::calls::count_system_call;
use rustix::event::{EventfdFlags, PollFlags, Timespec, eventfd};
use rustix::fs::FlockOperation;
use rustix::io::Errno;
use rustix::net::addr::{SocketAddrArg, SocketAddrStorage};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrAny,
};
use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::thread::CpuSet;
use rustix::time::{Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags};
use std::fs::File;
use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::time::Duration;

pub(crate) use rustix::event::PollFd;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// A descriptor beyond the standard three. In a process that has closed one of those the next
/// descriptor gets its number, and what the program prints would go into it.
pub(crate) fn beyond_standard(fd: impl Into<OwnedFd>) -> io::Result<OwnedFd> {
    let fd = fd.into();
    if fd.as_raw_fd() > 2 {
        return Ok(fd);
    }
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, 3)?)
}

/// Writes to a socket; a closed peer gives an error, never SIGPIPE, which would end a federate
/// that does not ignore it.
pub(crate) fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    count_system_call(|c| c.sends += 1);
    Ok(rustix::net::send(fd, bytes, SendFlags::NOSIGNAL)?)
}

/// Reads from a socket.
pub(crate) fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    count_system_call(|c| c.receives += 1);
    Ok(rustix::net::recv(fd, buffer, RecvFlags::DONTWAIT)?.0)
}

/// So many are sent, or received, with one call at most.
pub(crate) const MANY: usize = 32;

/// Bytes of a datagram, or of several one behind the other.
#[derive(Clone, Copy, Default)]
pub(crate) struct Outgoing<'a> {
    pub(crate) bytes: &'a [u8],
    /// Where to; none: where the socket leads.
    pub(crate) to: Option<SocketAddr>,
    /// They are datagrams of this size each, but the last one, which may be smaller; 0: one.
    pub(crate) size: u16,
}

/// What goes with datagrams that leave, or have come, as one: the size of each, in two bytes or in four.
#[repr(C)]
struct Segments {
    head: libc::cmsghdr,
    size: [u8; 8],
}

/// Zero, of a structure of the system's, which may have more fields than are set here.
///
/// # Safety
/// It has numbers and pointers only.
unsafe fn zero<T>() -> T {
    // SAFETY: for these zero is a value.
    unsafe { std::mem::zeroed() }
}

/// Sends the first [`MANY`] of these to where each is to go; how many the system has taken. It is an error only if that
/// was none.
pub(crate) fn send_many(fd: BorrowedFd<'_>, all: &[Outgoing<'_>]) -> io::Result<usize> {
    count_system_call(|c| c.sends += 1);
    if let [Outgoing { bytes, to, size: 0 }] = all {
        // One takes less time so.
        match to {
            Some(to) => rustix::net::sendto(fd, bytes, SendFlags::DONTWAIT, to)?,
            None => rustix::net::send(fd, bytes, SendFlags::DONTWAIT)?,
        };
        return Ok(1);
    }
    let all = &all[..all.len().min(MANY)];
    let mut heads = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MANY];
    let mut slices = [const { MaybeUninit::<libc::iovec>::uninit() }; MANY];
    let mut segments = [const { MaybeUninit::<Segments>::uninit() }; MANY];
    let mut names = [const { MaybeUninit::<SocketAddrStorage>::uninit() }; MANY];
    for (at, one) in all.iter().enumerate() {
        // SAFETY: structures of numbers and pointers.
        let (mut head, mut said) = unsafe { (zero::<libc::mmsghdr>(), zero::<Segments>()) };
        if let Some(to) = one.to {
            let name = names[at].as_mut_ptr();
            // SAFETY: that is room for any address.
            head.msg_hdr.msg_namelen = unsafe { to.write_sockaddr(name) };
            head.msg_hdr.msg_name = name.cast();
        }
        head.msg_hdr.msg_iov = slices[at].write(libc::iovec {
            iov_base: one.bytes.as_ptr().cast_mut().cast(),
            iov_len: one.bytes.len(),
        });
        head.msg_hdr.msg_iovlen = 1;
        if one.size > 0 {
            (said.head.cmsg_level, said.head.cmsg_type) = (libc::SOL_UDP, libc::UDP_SEGMENT);
            said.head.cmsg_len = (size_of::<libc::cmsghdr>() + size_of::<u16>()) as _;
            said.size[..2].copy_from_slice(&one.size.to_ne_bytes());
            head.msg_hdr.msg_control = std::ptr::from_mut(segments[at].write(said)).cast();
            head.msg_hdr.msg_controllen = size_of::<Segments>() as _;
        }
        heads[at].write(head);
    }
    // SAFETY: so many heads are written, and what they point to lives through the call, which only reads it, and writes
    // lengths into the heads.
    let sent = check(unsafe {
        let heads = heads.as_mut_ptr().cast();
        libc::sendmmsg(fd.as_raw_fd(), heads, all.len() as _, libc::MSG_DONTWAIT)
    })?;
    Ok(usize::try_from(sent).unwrap_or(0))
}

/// What has come at once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Incoming {
    pub(crate) slot: usize,
    pub(crate) length: usize,
    pub(crate) from: SocketAddr,
    /// It is datagrams of this size each, but the last one, which may be smaller.
    pub(crate) size: usize,
}

/// Receives datagrams, each into its slot of `buffer`, all of which have so many bytes. It is an error only if there was
/// none.
pub(crate) fn receive_many(
    fd: BorrowedFd<'_>,
    (buffer, slot): (&mut [u8], usize),
    came: &mut Vec<Incoming>,
) -> io::Result<usize> {
    count_system_call(|c| c.receives += 1);
    let mut heads = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; MANY];
    let mut slices = [const { MaybeUninit::<libc::iovec>::uninit() }; MANY];
    let mut segments = [const { MaybeUninit::<Segments>::uninit() }; MANY];
    let mut names = [const { MaybeUninit::<SocketAddrStorage>::uninit() }; MANY];
    let mut count = 0;
    for (at, slot) in buffer.chunks_exact_mut(slot).take(MANY).enumerate() {
        // SAFETY: structures of numbers and pointers.
        let (mut head, said) = unsafe { (zero::<libc::mmsghdr>(), zero::<Segments>()) };
        head.msg_hdr.msg_name = names[at].as_mut_ptr().cast();
        head.msg_hdr.msg_namelen = size_of::<SocketAddrStorage>() as _;
        head.msg_hdr.msg_iov = slices[at].write(libc::iovec {
            iov_base: slot.as_mut_ptr().cast(),
            iov_len: slot.len(),
        });
        head.msg_hdr.msg_iovlen = 1;
        head.msg_hdr.msg_control = std::ptr::from_mut(segments[at].write(said)).cast();
        head.msg_hdr.msg_controllen = size_of::<Segments>() as _;
        heads[at].write(head);
        count += 1;
    }
    // SAFETY: so many heads are written; what they point to is this call's alone, has the lengths that are given, and
    // lives through it.
    let received = check(unsafe {
        let heads = heads.as_mut_ptr().cast();
        let no_end = std::ptr::null_mut();
        libc::recvmmsg(
            fd.as_raw_fd(),
            heads,
            count,
            libc::MSG_DONTWAIT as _,
            no_end,
        )
    })?;
    let received = usize::try_from(received).unwrap_or(0);
    for at in 0..received {
        // SAFETY: they were written before the call, which the system has filled so many of in.
        let (head, said) = unsafe { (heads[at].assume_init_ref(), segments[at].assume_init_ref()) };
        let length = head.msg_len as usize;
        let whole = size_of::<libc::cmsghdr>() + size_of::<libc::c_int>();
        let is_said = head.msg_hdr.msg_controllen >= whole as _
            && (said.head.cmsg_level, said.head.cmsg_type) == (libc::SOL_UDP, libc::UDP_GRO);
        let size = said.size.first_chunk().filter(|_| is_said);
        let size = size.and_then(|size| usize::try_from(libc::c_int::from_ne_bytes(*size)).ok());
        let size = size.filter(|size| *size > 0);
        let namelen = head.msg_hdr.msg_namelen as usize;
        if !(size_of::<libc::sockaddr_in>()..=size_of::<SocketAddrStorage>()).contains(&namelen) {
            continue;
        }
        // SAFETY: the system has written an address of so many bytes there.
        let from = unsafe { SocketAddrAny::read(names[at].as_ptr(), head.msg_hdr.msg_namelen) };
        if let Ok(from) = SocketAddr::try_from(from) {
            came.push(Incoming {
                slot: at,
                length,
                from,
                size: size.unwrap_or(length),
            });
        }
    }
    Ok(received)
}

/// Wants datagrams that the system has joined to come so. An error: it joins none.
pub(crate) fn receive_joined(fd: BorrowedFd<'_>) -> io::Result<()> {
    set_of_datagrams(fd, libc::UDP_GRO, 1)
}

/// An error: the system does not know what joined datagrams are, and would take them for one.
pub(crate) fn sends_joined(fd: BorrowedFd<'_>) -> io::Result<()> {
    // Those of no size that is said are alone.
    set_of_datagrams(fd, libc::UDP_SEGMENT, 0)
}

fn set_of_datagrams(fd: BorrowedFd<'_>, option: libc::c_int, value: libc::c_int) -> io::Result<()> {
    let (number, bytes) = (&raw const value, size_of_val(&value) as libc::socklen_t);
    // SAFETY: the number lives through the call, and has so many bytes.
    check(unsafe { libc::setsockopt(fd.as_raw_fd(), libc::SOL_UDP, option, number.cast(), bytes) })
        .map(|_| ())
}

/// Most descriptors that go with one message.
pub(crate) const DESCRIPTORS_MAX: usize = 3;

/// As [`send`] over a Unix-domain socket, with at most [`DESCRIPTORS_MAX`] descriptors, which arrive
/// with the first of the bytes. None: the system passes no more descriptors now, and took nothing.
pub(crate) fn send_with(
    fd: BorrowedFd<'_>,
    bytes: &[u8],
    descriptors: &[OwnedFd],
) -> io::Result<Option<usize>> {
    count_system_call(|c| c.sends += 1);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let descriptors: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    let fits = control.push(SendAncillaryMessage::ScmRights(&descriptors));
    assert!(fits, "more descriptors than go with one message");
    let bytes = [IoSlice::new(bytes)];
    match rustix::net::sendmsg(fd, &bytes, &mut control, SendFlags::NOSIGNAL) {
        Ok(sent) => Ok(Some(sent)),
        Err(Errno::TOOMANYREFS) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Descriptors that came along with bytes, or why this process does not have them.
pub(crate) type Came = io::Result<[OwnedFd; DESCRIPTORS_MAX]>;

/// As [`receive`] from a Unix-domain socket, with the descriptors that came along; a read ends with
/// them. An error if they are not as many as go with one message.
pub(crate) fn receive_with(
    fd: BorrowedFd<'_>,
    buffer: &mut [u8],
) -> io::Result<(usize, Option<Came>)> {
    count_system_call(|c| c.receives += 1);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::DONTWAIT | RecvFlags::CMSG_CLOEXEC;
    let got = rustix::net::recvmsg(fd, &mut [IoSliceMut::new(buffer)], &mut control, flags)?;
    let mut descriptors = Vec::new();
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(came) = message {
            descriptors.extend(came);
        }
    }
    let cut = got.flags.contains(ReturnFlags::CTRUNC);
    if descriptors.is_empty() && !cut {
        return Ok((got.bytes, None));
    }
    // Room for an odd number of them is room for one more.
    let count = descriptors.len();
    if count > DESCRIPTORS_MAX || count < DESCRIPTORS_MAX && !cut {
        let why = "it sent another number of descriptors than goes with one message";
        return Err(io::Error::new(io::ErrorKind::InvalidData, why));
    }
    let moved = descriptors.into_iter().map(beyond_standard);
    let came = moved.collect::<io::Result<Vec<_>>>().and_then(|all| {
        leave_room(&all)?;
        // The system has kept those that this process may not have.
        <[OwnedFd; DESCRIPTORS_MAX]>::try_from(all).map_err(|_| no_room())
    });
    Ok((got.bytes, Some(came)))
}

/// An error if, with these descriptors of memory that is shared or of links to other federates, less than a quarter of those that this
/// process may have is left for connections and files, without which it could not go on.
pub fn leave_room(descriptors: &[impl AsFd]) -> io::Result<()> {
    let Some(most) = getrlimit(Resource::Nofile).current else {
        return Ok(());
    };
    // A new descriptor has the lowest number that is free.
    let numbers = descriptors.iter().map(|fd| fd.as_fd().as_raw_fd());
    let last = numbers.max();
    match last.and_then(|last| u64::try_from(last).ok()) {
        Some(last) if last >= most - most / 4 => Err(no_room()),
        _ => Ok(()),
    }
}

/// The same before there is another one that this listener takes.
pub fn leave_room_beside(listener: &impl AsFd) -> io::Result<()> {
    let next = rustix::io::fcntl_dupfd_cloexec(listener, 3).map_err(|_| no_room())?;
    leave_room(&[next])
}

fn no_room() -> io::Error {
    io::Error::other("too many open files; raise its limit: ulimit -n")
}

/// A counter to wake a waiting thread by.
pub(crate) fn event_fd() -> io::Result<File> {
    let fd = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)?;
    Ok(File::from(beyond_standard(fd)?))
}

/// A timer that can be polled, not set.
pub(crate) fn timer_fd() -> io::Result<File> {
    let flags = TimerfdFlags::CLOEXEC | TimerfdFlags::NONBLOCK;
    let fd = rustix::time::timerfd_create(TimerfdClockId::Monotonic, flags)?;
    Ok(File::from(beyond_standard(fd)?))
}

/// Sets a timer to run out once after `time`, whatever it was set to before.
pub(crate) fn set_timer(fd: BorrowedFd<'_>, time: Duration) -> io::Result<()> {
    count_system_call(|c| c.wakes += 1);
    let once = Itimerspec {
        it_interval: Timespec::default(),
        // Zero would stop it.
        it_value: timespec(time.max(Duration::from_nanos(1))),
    };
    rustix::time::timerfd_settime(fd, TimerfdTimerFlags::empty(), &once)?;
    Ok(())
}

fn timespec(time: Duration) -> Timespec {
    Timespec {
        tv_sec: time.as_secs().try_into().unwrap_or(i64::MAX),
        tv_nsec: time.subsec_nanos().into(),
    }
}

/// An entry for [`poll`].
pub(crate) fn poll_entry(fd: BorrowedFd<'_>, read: bool, write: bool) -> PollFd<'_> {
    let mut events = PollFlags::empty();
    events.set(PollFlags::IN, read);
    events.set(PollFlags::OUT, write);
    PollFd::from_borrowed_fd(fd, events)
}

/// Whether an entry can be read (or has ended), and can be written.
pub(crate) fn poll_result(entry: &PollFd<'_>) -> (bool, bool) {
    let ended = PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL;
    let is = |flags| entry.revents().intersects(flags | ended);
    (is(PollFlags::IN), is(PollFlags::OUT))
}

/// Waits until an entry is ready or the time is over; a signal ends the wait early.
pub(crate) fn poll(entries: &mut [PollFd<'_>], timeout: Option<Duration>) -> io::Result<()> {
    count_system_call(|c| c.waits += 1);
    match rustix::event::poll(entries, timeout.map(timespec).as_ref()) {
        Ok(_) => Ok(()),
        Err(Errno::INTR) => {
            entries.iter_mut().for_each(PollFd::clear_revents);
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// Process and user at the other end of a Unix-domain stream. Not rustix's `socket_peercred`: its
/// process is never 0, but here it is for one that this process's namespace does not show.
pub(crate) fn unix_peer(fd: BorrowedFd<'_>) -> io::Result<(u32, u32)> {
    let who: libc::ucred = option(fd, libc::SOL_SOCKET, libc::SO_PEERCRED)?;
    Ok((u32::try_from(who.pid).unwrap_or(0), who.uid))
}

/// A structure of the system's that consists of numbers only.
///
/// # Safety
/// All bytes, also zeros, must be a value of the type.
unsafe trait Numbers {}
// SAFETY: three integers.
unsafe impl Numbers for libc::ucred {}
// SAFETY: integers only.
unsafe impl Numbers for libc::tcp_info {}

/// An option of a socket; what an older system does not know of it stays 0.
fn option<T: Numbers>(fd: BorrowedFd<'_>, level: i32, name: i32) -> io::Result<T> {
    // SAFETY: zeros are a value of it.
    let mut value: T = unsafe { std::mem::zeroed() };
    let mut length = size_of::<T>() as libc::socklen_t;
    let to = (&raw mut value).cast();
    // SAFETY: `value` is writable for `length` bytes, and any bytes are a value of it.
    check(unsafe { libc::getsockopt(fd.as_raw_fd(), level, name, to, &raw mut length) })?;
    Ok(value)
}

/// What the system knows of the answers of the host at the other end of a TCP stream.
pub(crate) fn answers(fd: BorrowedFd<'_>) -> io::Result<Answers> {
    let info: libc::tcp_info = option(fd, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    let ms = |n: u32| Duration::from_millis(n.into());
    Ok(Answers {
        last: ms(info.tcpi_last_ack_recv),
        sent: ms(info.tcpi_last_data_sent),
        retransmits: info.tcpi_retransmits,
        probes: info.tcpi_probes,
    })
}

/// How many bytes the host at the other end of a TCP stream has acknowledged.
pub(crate) fn acknowledged(fd: BorrowedFd<'_>) -> io::Result<u64> {
    let info: libc::tcp_info = option(fd, libc::IPPROTO_TCP, libc::TCP_INFO)?;
    Ok(info.tcpi_bytes_acked)
}

/// What a host has said lately on one TCP stream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Answers {
    /// How long ago its last acknowledgement came.
    pub last: Duration,
    /// How long ago data was last sent to it, again or for the first time.
    pub sent: Duration,
    /// How often in a row the same data was sent without progress.
    pub retransmits: u8,
    /// Questions whether its closed window is open again that it has not answered.
    pub probes: u8,
}

impl Answers {
    /// Whether the host answers: false if nothing came from it for `time` although it was asked
    /// more than once.
    ///
    /// Silence alone says nothing: while a process does not read, its host's window closes, and
    /// the system asks at intervals that double up to two minutes. One answer may be lost, and
    /// the last question may be on its way; two that remain without answer tell.
    pub(crate) fn within(self, time: Duration) -> bool {
        let again = self.retransmits > 1 && self.last > self.sent;
        self.last < time || !(again || self.probes > 1)
    }
}

/// Runs what may write to a pipe. If nobody reads that any more, the write gives an error, never
/// SIGPIPE, which would end a federate that does not ignore it. `work` must not panic.
pub(crate) fn without_sigpipe<T>(work: impl FnOnce() -> T) -> T {
    let none = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: the sets are plain structures of bits that are written before they are read, and
    // outlive the calls. The mask is this thread's own and is put back; the signal that a write
    // brings about goes to the thread that wrote, so no other one's is taken away.
    unsafe {
        let mut pipe: libc::sigset_t = std::mem::zeroed();
        let (mut before, mut pending) = (pipe, pipe);
        libc::sigemptyset(&raw mut pipe);
        libc::sigaddset(&raw mut pipe, libc::SIGPIPE);
        libc::sigpending(&raw mut pending);
        let waited_already = libc::sigismember(&raw const pending, libc::SIGPIPE) == 1;
        libc::pthread_sigmask(libc::SIG_BLOCK, &raw const pipe, &raw mut before);
        let result = work();
        if !waited_already {
            while libc::sigtimedwait(&raw const pipe, std::ptr::null_mut(), &raw const none) < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
        }
        libc::pthread_sigmask(libc::SIG_SETMASK, &raw const before, std::ptr::null_mut());
        result
    }
}

/// A number of this process, never 0: every child that it forks has another. Costs no system call.
#[inline]
pub fn process_stamp() -> u64 {
    // SAFETY: it points to `NO_STAMP`, or to a page that is never unmapped.
    let stamp = unsafe { &*STAMP.load(Ordering::Acquire) };
    match stamp.load(Ordering::Relaxed) {
        0 => fresh_stamp(),
        known => known,
    }
}

/// Where it stands, once it does: every service looks there, so that nothing is asked on the way.
static STAMP: AtomicPtr<AtomicU64> = AtomicPtr::new((&raw const NO_STAMP).cast_mut());
static NO_STAMP: AtomicU64 = AtomicU64::new(0);

#[cold]
fn fresh_stamp() -> u64 {
    static PAGE: OnceLock<Option<&AtomicU64>> = OnceLock::new();
    static LAST: AtomicU64 = AtomicU64::new(0);
    let Some(stamp) = PAGE.get_or_init(page_wiped_by_fork) else {
        return std::process::id().into();
    };
    STAMP.store(std::ptr::from_ref(*stamp).cast_mut(), Ordering::Release);
    match stamp.load(Ordering::Relaxed) {
        0 => {
            // The parent's count goes on in the child.
            let fresh = LAST.fetch_add(1, Ordering::Relaxed) + 1;
            match stamp.compare_exchange(0, fresh, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => fresh,
                Err(other) => other,
            }
        }
        known => known,
    }
}

/// Memory that is zero again in a forked child, if the system offers it.
fn page_wiped_by_fork() -> Option<&'static AtomicU64> {
    use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous};
    const PAGE_BYTES: usize = 4096;
    let access = ProtFlags::READ | ProtFlags::WRITE;
    // SAFETY: a new mapping of one page at least, zero, aligned to a page and never unmapped: fit
    // for an atomic number for the rest of the process.
    unsafe {
        let page =
            mmap_anonymous(std::ptr::null_mut(), PAGE_BYTES, access, MapFlags::PRIVATE).ok()?;
        madvise(page, PAGE_BYTES, Advice::LinuxWipeOnFork).ok()?;
        Some(AtomicU64::from_ptr(page.cast()))
    }
}

/// Closes this process's copy of what a descriptor stands for; the number stays taken, so that
/// whoever still has it does no harm.
pub(crate) fn detach_descriptor(fd: BorrowedFd<'_>) -> io::Result<()> {
    let nothing = File::open("/dev/null")?;
    // SAFETY: both descriptors are open; what `fd` stood for is not used any more.
    check(unsafe { libc::dup3(nothing.as_raw_fd(), fd.as_raw_fd(), libc::O_CLOEXEC) }).map(|_| ())
}

/// Lets other threads go before this one from now on.
pub fn be_nice() {
    // Where that is not allowed it goes on as it is.
    let _ = rustix::process::nice(10);
}

/// The user this process runs as.
pub fn user_id() -> u32 {
    rustix::process::geteuid().as_raw()
}

/// This host's name.
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .unwrap_or_else(|_| "unknown".into())
}

/// Tries to take a lock that ends with the file's last descriptor.
pub fn try_lock(file: &File) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK | Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Makes the command's process a stranger to this one: own session, no descriptor but the
/// standard three, none of its limits that can be lifted, and child of init, so that the federate
/// gets no zombie and no late SIGCHLD.
/// The process that `spawn` returns ends at once and must be waited for.
pub(crate) fn detach(command: &mut Command) {
    // SAFETY: between fork and exec only system calls are made, nothing is allocated or locked.
    unsafe {
        command.pre_exec(|| {
            check(libc::setsid())?;
            shed_limits();
            // Also std's own pipe, which must stay open until exec, and does.
            let flags = libc::CLOSE_RANGE_CLOEXEC as libc::c_int;
            libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, flags);
            match check(libc::fork())? {
                0 => Ok(()),
                _ => libc::_exit(0),
            }
        });
    }
}

/// Lifts what one process has set for itself and what would hold for a server of many: soft limits
/// go to the hard ones, the process may run on every CPU, in the usual way and at the usual
/// priority. What this user may not lift stays.
fn shed_limits() {
    for resource in [
        Resource::As,
        Resource::Cpu,
        Resource::Data,
        Resource::Fsize,
        Resource::Memlock,
        Resource::Nofile,
        Resource::Nproc,
        Resource::Rss,
    ] {
        let mut limit = getrlimit(resource);
        limit.current = limit.maximum;
        let _ = setrlimit(resource, limit);
    }
    let mut everywhere = CpuSet::new();
    (0..CpuSet::MAX_CPU).for_each(|cpu| everywhere.set(cpu));
    let _ = rustix::thread::sched_setaffinity(None, &everywhere);
    // SAFETY: sched_param is a structure of numbers, and lives through the call.
    unsafe {
        let usual: libc::sched_param = std::mem::zeroed();
        libc::sched_setscheduler(0, libc::SCHED_OTHER, &raw const usual);
    }
    let _ = rustix::process::setpriority_process(None, 0);
}

/// The file this code was loaded from: the federate's library, or the program.
pub(crate) fn own_file() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let here: fn() -> Option<PathBuf> = own_file;
    // SAFETY: `info` is written before it is read; the name lives as long as the library.
    unsafe {
        let mut info: libc::Dl_info = std::mem::zeroed();
        if libc::dladdr(here as *const libc::c_void, &raw mut info) == 0 || info.dli_fname.is_null()
        {
            return None;
        }
        let name = std::ffi::CStr::from_ptr(info.dli_fname);
        Some(std::ffi::OsStr::from_bytes(name.to_bytes()).into())
    }
}

/// Allows this process as many descriptors as the system lets it have.
pub fn raise_descriptor_limit() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // A failure changes nothing.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// What a process of this host is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessState {
    /// It does not exist, or has ended and is only waited for.
    Gone,
    /// It runs, or sleeps in a call of its own.
    Running,
    /// It is stopped by a signal.
    Stopped,
    /// It is stopped, and a debugger holds it.
    Debugged,
}

/// What a process of this host is doing.
pub fn process_state(pid: u32) -> ProcessState {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) else {
        return ProcessState::Gone;
    };
    let field = |name| {
        let line = status.lines().find_map(|l| l.strip_prefix(name));
        line.map_or("", str::trim)
    };
    match field("State:").chars().next() {
        Some('Z' | 'X' | 'x') | None => ProcessState::Gone,
        Some('t' | 'T') if field("TracerPid:") != "0" => ProcessState::Debugged,
        Some('t' | 'T') => ProcessState::Stopped,
        Some(_) => ProcessState::Running,
    }
}

/// The name of a process of this host. The system cuts what it calls itself off after 15
/// characters; the rest is taken from the name of its program or script, if that begins so.
pub fn process_name(pid: u32) -> Option<String> {
    /// What the system keeps.
    const KEPT: usize = 15;
    let name = std::fs::read(format!("/proc/{pid}/comm")).ok()?;
    let name = String::from_utf8_lossy(&name).trim_end().to_owned();
    if name.len() < KEPT {
        return Some(name);
    }
    let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    // The program itself; behind an interpreter, its script.
    let words = line.split(|b| *b == 0).take(2);
    let mut words = words.map(|w| String::from_utf8_lossy(w).into_owned());
    let whole = words.find_map(|w| {
        let file = w.rsplit('/').next()?;
        file.starts_with(&name).then(|| file.to_owned())
    });
    Some(whole.unwrap_or(name))
}

/// A TCP socket of this host.
struct TcpSocket {
    local_port: u16,
    remote_port: u16,
    listens: bool,
    user: u32,
    /// As its descriptors are called.
    name: String,
}

fn tcp_sockets() -> Vec<TcpSocket> {
    let port = |address: &str| u16::from_str_radix(address.rsplit(':').next()?, 16).ok();
    let parse = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().take(10).collect();
        let [_, local, remote, state, .., user, _, inode] = fields[..] else {
            return None;
        };
        Some(TcpSocket {
            local_port: port(local)?,
            remote_port: port(remote)?,
            listens: state == "0A",
            user: user.parse().ok()?,
            name: format!("socket:[{inode}]"),
        })
    };
    let tables = ["/proc/net/tcp", "/proc/net/tcp6"];
    let texts = tables.map(|table| std::fs::read_to_string(table).unwrap_or_default());
    texts
        .iter()
        .flat_map(|t| t.lines().skip(1))
        .filter_map(parse)
        .collect()
}

/// Whether a process has one of these sockets; none if its descriptors can't be looked at.
fn has_socket(pid: u32, sockets: &[TcpSocket]) -> Option<bool> {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).ok()?;
    let mut targets = open
        .flatten()
        .filter_map(|e| std::fs::read_link(e.path()).ok());
    Some(targets.any(|t| sockets.iter().any(|s| t.as_os_str() == s.name.as_str())))
}

/// The process that listens on a TCP port of this host, as far as this user may see it.
pub(crate) fn listening_process(port: u16) -> Option<u32> {
    let mut sockets = tcp_sockets();
    sockets.retain(|s| s.listens && s.local_port == port);
    let pids = std::fs::read_dir("/proc").ok()?.flatten();
    let pids = pids.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    pids.into_iter()
        .find(|pid| has_socket(*pid, &sockets) == Some(true))
}

/// Whether a process of this host has the socket of a connection between these ports, as far as
/// this user may see it; else whether its user has.
pub(crate) fn holds_tcp(pid: u32, local_port: u16, remote_port: u16) -> bool {
    use std::os::unix::fs::MetadataExt;
    let mut sockets = tcp_sockets();
    sockets.retain(|s| s.local_port == local_port && s.remote_port == remote_port);
    has_socket(pid, &sockets).unwrap_or_else(|| {
        let user = std::fs::metadata(format!("/proc/{pid}")).map(|m| m.uid());
        user.is_ok_and(|user| sockets.iter().any(|s| s.user == user))
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// As in a C++ federate: Rust's own programs ignore the signal.
    pub(crate) fn default_sigpipe() {
        // SAFETY: no handler of ours is involved.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
    }

    #[test]
    fn knows_processes() {
        assert_eq!(process_state(std::process::id()), ProcessState::Running);
        assert_eq!(process_state(u32::MAX), ProcessState::Gone);
        let own = std::env::current_exe().unwrap();
        let name = own.file_name().unwrap().to_str().unwrap();
        assert!(name.len() > 15, "{name}: the system cuts it off");
        // Of the process: of this thread it is the test's name.
        assert_eq!(process_name(std::process::id()).as_deref(), Some(name));
        assert!(!host_name().is_empty());
    }

    #[test]
    fn a_host_is_silent_if_it_was_asked_twice() {
        let second = Duration::from_secs(1);
        let answers = |last: u32, sent: u32, retransmits, probes| {
            let signs = Answers {
                last: second * last,
                sent: second * sent,
                retransmits,
                probes,
            };
            signs.within(5 * second)
        };
        assert!(answers(4, 0, 3, 0), "not for long");
        assert!(answers(100, 100, 0, 0), "it was not asked");
        assert!(answers(100, 120, 0, 1), "its answer may be on the way");
        assert!(!answers(100, 120, 0, 2), "window closed, cable cut");
        assert!(answers(100, 3, 1, 0));
        assert!(!answers(100, 3, 2, 0), "cable cut");
        assert!(answers(6, 6, 4, 0), "it takes nothing, but says so");
    }

    #[test]
    fn finds_who_listens() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(listening_process(port), Some(std::process::id()));
        drop(listener);
        assert_eq!(listening_process(port), None);
    }

    #[test]
    fn a_process_is_known_by_its_socket() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let here = listener.local_addr().unwrap().port();
        let stream = std::net::TcpStream::connect(("127.0.0.1", here)).unwrap();
        let there = stream.local_addr().unwrap().port();
        assert!(holds_tcp(std::process::id(), there, here));
        let mut other = Command::new("sleep").arg("60").spawn().unwrap();
        assert!(
            !holds_tcp(other.id(), there, here),
            "it may say so, but has none"
        );
        assert!(!holds_tcp(1, there, here) || user_id() == 0);
        other.kill().unwrap();
        other.wait().unwrap();
    }

    #[test]
    fn finds_its_own_file() {
        let own = own_file().unwrap().canonicalize().unwrap();
        assert_eq!(
            own,
            std::env::current_exe().unwrap().canonicalize().unwrap()
        );
    }
}
