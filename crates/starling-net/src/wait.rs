//! Waiting for several streams and for other threads at once, by whichever thread has time.

use crate::calls::count_system_call;
use crate::platform;
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

/// Wakes whoever waits on its [`Waiter`], or will wait next.
#[derive(Clone, Debug)]
pub struct Waker(Arc<File>);

impl Waker {
    /// Wakes. Several calls before the wait are one.
    pub fn wake(&self) {
        // Full means that it is going to wake up anyway.
        count_system_call(|c| c.wakes += 1);
        let _ = (&*self.0).write(&1_u64.to_ne_bytes());
    }
}

/// Ends a wait on its [`Waiter`] at a time: a system call, and no other thread runs until then.
#[derive(Clone, Debug)]
pub struct Alarm(Arc<File>);

impl Alarm {
    /// Goes off once after `time`; what it was set to before is forgotten.
    pub fn set(&self, time: Duration) {
        // Can't fail for a timer of ours and a time in range.
        let _ = platform::set_timer(self.0.as_fd(), time);
    }
}

/// A descriptor to wait for.
#[derive(Debug)]
pub struct Watch<'a> {
    fd: BorrowedFd<'a>,
    read: bool,
    write: bool,
    /// After the wait: something can be read, or the stream has ended.
    pub readable: bool,
    /// After the wait: something can be written, or the stream has ended.
    pub writable: bool,
}

impl<'a> Watch<'a> {
    /// Waits until it can be read, and if `write`, or written.
    pub fn new(fd: &'a impl AsFd, write: bool) -> Self {
        Self {
            fd: fd.as_fd(),
            read: true,
            write,
            readable: false,
            writable: false,
        }
    }

    /// Waits only until it can be written.
    pub fn write_only(fd: &'a impl AsFd) -> Self {
        Self {
            read: false,
            ..Self::new(fd, true)
        }
    }
}

/// A place to wait at. One thread at a time waits; any thread wakes.
#[derive(Debug)]
pub struct Waiter {
    event: Arc<File>,
    alarm: Option<Alarm>,
}

impl Waiter {
    /// A new place to wait at.
    pub fn new() -> io::Result<Self> {
        let event = Arc::new(platform::event_fd()?);
        Ok(Self { event, alarm: None })
    }

    /// A new place to wait at, with an alarm.
    pub fn with_alarm() -> io::Result<(Self, Alarm)> {
        let alarm = Alarm(Arc::new(platform::timer_fd()?));
        let mut waiter = Self::new()?;
        waiter.alarm = Some(alarm.clone());
        Ok((waiter, alarm))
    }

    /// A handle to wake it by.
    pub fn waker(&self) -> Waker {
        Waker(self.event.clone())
    }

    /// Waits until a watch is ready, `wake` is called, the alarm goes off, a signal comes or the
    /// time is over; none: for ever. True if woken by `wake`.
    pub fn wait(&self, watches: &mut [Watch<'_>], timeout: Option<Duration>) -> io::Result<bool> {
        // One link and the wake-up are the usual case, and need no allocation.
        let woken = || platform::poll_entry(self.event.as_fd(), true, false);
        let mut few = [woken(), woken(), woken(), woken()];
        let mut many = Vec::new();
        let count = watches.len() + 1;
        let all = count + usize::from(self.alarm.is_some());
        let entries = if all <= few.len() {
            &mut few[..all]
        } else {
            many.resize_with(all, woken);
            &mut many[..]
        };
        for (entry, watch) in entries[1..].iter_mut().zip(&*watches) {
            *entry = platform::poll_entry(watch.fd, watch.read, watch.write);
        }
        if let (Some(alarm), Some(entry)) = (&self.alarm, entries.get_mut(count)) {
            *entry = platform::poll_entry(alarm.0.as_fd(), true, false);
        }
        platform::poll(entries, timeout)?;
        for (entry, watch) in entries[1..].iter().zip(watches) {
            (watch.readable, watch.writable) = platform::poll_result(entry);
        }
        let ready = |entry: &platform::PollFd<'_>| platform::poll_result(entry).0;
        // Emptied here; another thread may have been faster, or have set the alarm again.
        if let (Some(alarm), Some(entry)) = (&self.alarm, entries.get(count))
            && ready(entry)
        {
            count_system_call(|c| c.wakes += 1);
            let _ = (&*alarm.0).read(&mut [0; 8]);
        }
        let woken = ready(&entries[0]);
        if woken {
            count_system_call(|c| c.wakes += 1);
            let _ = (&*self.event).read(&mut [0; 8]);
        }
        Ok(woken)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Link, Stream};

    #[test]
    fn wakes_once_per_wake() {
        let waiter = Waiter::new().unwrap();
        let waker = waiter.waker();
        waker.wake();
        waker.wake();
        assert!(waiter.wait(&mut [], None).unwrap());
        assert!(!waiter.wait(&mut [], Some(Duration::ZERO)).unwrap());
        let thread = std::thread::spawn(move || waker.wake());
        assert!(waiter.wait(&mut [], None).unwrap());
        thread.join().unwrap();
    }

    #[test]
    fn the_alarm_ends_a_wait() {
        let (waiter, alarm) = Waiter::with_alarm().unwrap();
        // Never awaited: set again before it goes off.
        alarm.set(Duration::from_secs(3600));
        alarm.set(Duration::ZERO);
        let (a, _b) = Stream::pair().unwrap();
        let mut watches = [Watch::new(&a, false)];
        assert!(!waiter.wait(&mut watches, None).unwrap());
        assert!(!watches[0].readable);
        waiter.waker().wake();
        assert!(waiter.wait(&mut watches, None).unwrap(), "once only");
    }

    #[test]
    fn tells_what_is_ready() {
        let waiter = Waiter::new().unwrap();
        let (a, b) = Stream::pair().unwrap();
        let mut watches = [Watch::new(&a, false), Watch::new(&b, true)];
        assert!(!waiter.wait(&mut watches, None).unwrap());
        assert!(!watches[0].readable && !watches[1].readable && watches[1].writable);
        let mut link = Link::new(b);
        link.writer.out().push(7);
        assert!(link.writer.flush().unwrap());
        let mut watches = [Watch::new(&a, false)];
        waiter.wait(&mut watches, None).unwrap();
        assert!(watches[0].readable);
    }

    #[test]
    fn waits_for_many() {
        let waiter = Waiter::new().unwrap();
        let pairs: Vec<_> = (0..9).map(|_| Stream::pair().unwrap()).collect();
        let mut watches: Vec<_> = pairs.iter().map(|(a, _)| Watch::new(a, false)).collect();
        pairs[8].1.shut_down();
        waiter.wait(&mut watches, None).unwrap();
        let ready: Vec<_> = watches.iter().map(|w| w.readable).collect();
        assert_eq!(ready.iter().filter(|r| **r).count(), 1);
        assert!(ready[8]);
    }
}
