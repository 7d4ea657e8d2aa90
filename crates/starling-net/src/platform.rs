//! What depends on the operating system (Linux), and all `unsafe` code of this crate.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

fn check(result: libc::c_int) -> io::Result<libc::c_int> {
    if result < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

/// Writes to a socket; a closed peer gives an error, never SIGPIPE, which would end a federate
/// that does not ignore it.
pub(crate) fn send(fd: BorrowedFd<'_>, bytes: &[u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length are those of a live slice.
    let sent = unsafe {
        libc::send(
            fd.as_raw_fd(),
            bytes.as_ptr().cast(),
            bytes.len(),
            libc::MSG_NOSIGNAL,
        )
    };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Reads from a socket.
pub(crate) fn receive(fd: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<usize> {
    // SAFETY: the pointer and length are those of a live, writable slice.
    let got = unsafe {
        libc::recv(
            fd.as_raw_fd(),
            buffer.as_mut_ptr().cast(),
            buffer.len(),
            libc::MSG_DONTWAIT,
        )
    };
    usize::try_from(got).map_err(|_| io::Error::last_os_error())
}

/// A counter to wake a waiting thread by.
pub(crate) fn event_fd() -> io::Result<File> {
    // SAFETY: no pointers; the new descriptor is owned by nobody else.
    unsafe {
        let fd = check(libc::eventfd(0, libc::EFD_CLOEXEC | libc::EFD_NONBLOCK))?;
        Ok(File::from(OwnedFd::from_raw_fd(fd)))
    }
}

/// A timer that can be polled, not set.
pub(crate) fn timer_fd() -> io::Result<File> {
    let flags = libc::TFD_CLOEXEC | libc::TFD_NONBLOCK;
    // SAFETY: no pointers; the new descriptor is owned by nobody else.
    unsafe {
        let fd = check(libc::timerfd_create(libc::CLOCK_MONOTONIC, flags))?;
        Ok(File::from(OwnedFd::from_raw_fd(fd)))
    }
}

/// Sets a timer to run out once after `time`, whatever it was set to before.
pub(crate) fn set_timer(fd: BorrowedFd<'_>, time: Duration) -> io::Result<()> {
    // Zero would stop it.
    let time = time.max(Duration::from_nanos(1));
    let zero = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    let value = libc::itimerspec {
        it_interval: zero,
        it_value: libc::timespec {
            tv_sec: libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX),
            tv_nsec: time.subsec_nanos().into(),
        },
    };
    // SAFETY: `value` outlives the call, the former value is not asked for.
    check(unsafe {
        libc::timerfd_settime(fd.as_raw_fd(), 0, &raw const value, std::ptr::null_mut())
    })
    .map(|_| ())
}

pub(crate) use libc::pollfd;

/// An entry for [`poll`].
pub(crate) fn poll_entry(fd: BorrowedFd<'_>, read: bool, write: bool) -> pollfd {
    pollfd {
        fd: fd.as_raw_fd(),
        events: if read { libc::POLLIN } else { 0 } | if write { libc::POLLOUT } else { 0 },
        revents: 0,
    }
}

/// Whether an entry can be read (or has ended), and can be written.
pub(crate) fn poll_result(entry: &pollfd) -> (bool, bool) {
    let ended = libc::POLLHUP | libc::POLLERR | libc::POLLNVAL;
    let is = |flags| entry.revents & flags != 0;
    (is(libc::POLLIN | ended), is(libc::POLLOUT | ended))
}

/// Waits until an entry is ready or the time is over; a signal ends the wait early.
pub(crate) fn poll(entries: &mut [pollfd], timeout: Option<Duration>) -> io::Result<()> {
    let time = timeout.map(|t| libc::timespec {
        tv_sec: t.as_secs().try_into().unwrap_or(libc::time_t::MAX),
        tv_nsec: t.subsec_nanos().into(),
    });
    let time = time.as_ref().map_or(std::ptr::null(), std::ptr::from_ref);
    let count = entries.len() as libc::nfds_t;
    // SAFETY: pointer and count are those of a live slice; `time` is null or outlives the call.
    let result = unsafe { libc::ppoll(entries.as_mut_ptr(), count, time, std::ptr::null()) };
    match check(result) {
        Err(e) if e.kind() == io::ErrorKind::Interrupted => {
            entries.iter_mut().for_each(|e| e.revents = 0);
            Ok(())
        }
        other => other.map(|_| ()),
    }
}

/// Process and user at the other end of a Unix-domain stream.
pub(crate) fn unix_peer(fd: BorrowedFd<'_>) -> io::Result<(u32, u32)> {
    let mut who = libc::ucred {
        pid: 0,
        uid: 0,
        gid: 0,
    };
    option(fd, libc::SOL_SOCKET, libc::SO_PEERCRED, &mut who)?;
    Ok((u32::try_from(who.pid).unwrap_or(0), who.uid))
}

/// How long ago the host at the other end of a TCP stream last acknowledged anything.
pub(crate) fn last_acknowledged(fd: BorrowedFd<'_>) -> io::Result<Duration> {
    // SAFETY: tcp_info is a plain structure of numbers, for which all zeros is a value.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    option(fd, libc::IPPROTO_TCP, libc::TCP_INFO, &mut info)?;
    Ok(Duration::from_millis(info.tcpi_last_ack_recv.into()))
}

fn option<T>(fd: BorrowedFd<'_>, level: i32, name: i32, value: &mut T) -> io::Result<()> {
    let mut length = size_of::<T>() as libc::socklen_t;
    // SAFETY: `value` is writable for `length` bytes, and only used with plain C structures.
    check(unsafe {
        libc::getsockopt(
            fd.as_raw_fd(),
            level,
            name,
            std::ptr::from_mut(value).cast(),
            &raw mut length,
        )
    })
    .map(|_| ())
}

/// The user this process runs as.
pub fn user_id() -> u32 {
    // SAFETY: no arguments, can't fail.
    unsafe { libc::geteuid() }
}

/// This host's name.
pub fn host_name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .map(|name| name.trim().to_owned())
        .unwrap_or_else(|_| "unknown".into())
}

/// Tries to take a lock that ends with the file's last descriptor.
pub(crate) fn try_lock(file: &File) -> io::Result<bool> {
    // SAFETY: no pointers.
    match check(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) }) {
        Ok(_) => Ok(true),
        Err(e) if e.kind() == io::ErrorKind::WouldBlock => Ok(false),
        Err(e) if e.kind() == io::ErrorKind::Interrupted => Ok(false),
        Err(e) => Err(e),
    }
}

/// Makes the command's process a stranger to this one: own session, no descriptor but the
/// standard three, and child of init, so that the federate gets no zombie and no late SIGCHLD.
/// The process that `spawn` returns ends at once and must be waited for.
pub(crate) fn detach(command: &mut Command) {
    // SAFETY: between fork and exec only async-signal-safe calls are made, nothing is allocated.
    unsafe {
        command.pre_exec(|| {
            check(libc::setsid())?;
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
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` lives and is writable during both calls. A failure changes nothing.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
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

/// The name of a process of this host.
pub fn process_name(pid: u32) -> Option<String> {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm")).ok()?;
    Some(name.trim().to_owned())
}

/// The process that listens on a TCP port of this host, as far as this user may see it.
pub(crate) fn listening_process(port: u16) -> Option<u32> {
    let mut sockets = Vec::new();
    for table in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = std::fs::read_to_string(table).unwrap_or_default();
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let [_, local, _, state, .., inode] = fields.get(..10)? else {
                continue;
            };
            let ours = local
                .rsplit(':')
                .next()
                .and_then(|p| u16::from_str_radix(p, 16).ok());
            if ours == Some(port) && *state == "0A" {
                sockets.push(format!("socket:[{inode}]"));
            }
        }
    }
    let pids = std::fs::read_dir("/proc").ok()?.flatten();
    let pids = pids.filter_map(|e| e.file_name().to_str()?.parse::<u32>().ok());
    pids.into_iter().find(|pid| {
        let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
            return false;
        };
        let target = |e: std::fs::DirEntry| std::fs::read_link(e.path()).ok();
        open.flatten()
            .filter_map(target)
            .any(|t| sockets.iter().any(|s| t.as_os_str() == s.as_str()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn knows_processes() {
        assert_eq!(process_state(std::process::id()), ProcessState::Running);
        assert_eq!(process_state(u32::MAX), ProcessState::Gone);
        assert!(process_name(std::process::id()).is_some());
        assert!(!host_name().is_empty());
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
    fn finds_its_own_file() {
        let own = own_file().unwrap().canonicalize().unwrap();
        assert_eq!(
            own,
            std::env::current_exe().unwrap().canonicalize().unwrap()
        );
    }
}
