//! The model checker's locks, under the names of `src/sync.rs`.

use loom::sync as checked;
use std::ops::{Deref, DerefMut};

pub(crate) use loom::sync::atomic::{AtomicBool, Ordering};

/// Either locked or tried, never both, as every lock of `turns.rs` is. To try it is no more than
/// `parking_lot` does: a look that may be outdated, then an exchange.
pub(crate) struct Mutex<T> {
    lock: checked::Mutex<()>,
    tried: AtomicBool,
    /// Never contended: whoever gets here holds one of the above.
    data: std::sync::Mutex<T>,
}

pub(crate) struct MutexGuard<'a, T> {
    mutex: &'a Mutex<T>,
    data: Option<std::sync::MutexGuard<'a, T>>,
    /// None: it was tried.
    lock: Option<checked::MutexGuard<'a, ()>>,
}

impl<T> Mutex<T> {
    pub(crate) fn new(data: T) -> Self {
        Mutex {
            lock: checked::Mutex::new(()),
            tried: AtomicBool::new(false),
            data: std::sync::Mutex::new(data),
        }
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        let lock = Some(self.lock.lock().unwrap());
        self.guard(lock)
    }

    pub(crate) fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        if self.tried.load(Ordering::Relaxed) {
            return None;
        }
        let (new, old) = (Ordering::Acquire, Ordering::Relaxed);
        let tried = self.tried.compare_exchange(false, true, new, old);
        tried.is_ok().then(|| self.guard(None))
    }

    fn guard<'a>(&'a self, lock: Option<checked::MutexGuard<'a, ()>>) -> MutexGuard<'a, T> {
        MutexGuard {
            mutex: self,
            data: Some(self.data.try_lock().expect("one thread at a time is here")),
            lock,
        }
    }
}

impl<T> Deref for MutexGuard<'_, T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.data.as_ref().expect("held until it is dropped")
    }
}

impl<T> DerefMut for MutexGuard<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        self.data.as_mut().expect("held until it is dropped")
    }
}

impl<T> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.data = None;
        if self.lock.take().is_none() {
            self.mutex.tried.store(false, Ordering::Release);
        }
    }
}

/// `loom`'s has no timeouts, so [`Instant::now`] is always the same: what has a deadline is at it.
pub(crate) struct Condvar(checked::Condvar);

pub(crate) struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    pub(crate) fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    pub(crate) fn new() -> Self {
        Condvar(checked::Condvar::new())
    }

    pub(crate) fn wait<T>(&self, guard: &mut MutexGuard<'_, T>) {
        guard.data = None;
        let lock = guard
            .lock
            .take()
            .expect("what was tried is not waited with");
        guard.lock = Some(self.0.wait(lock).unwrap());
        guard.data = Some(guard.mutex.data.try_lock().expect("locked"));
    }

    pub(crate) fn wait_until<T>(
        &self,
        _: &mut MutexGuard<'_, T>,
        deadline: Instant,
    ) -> WaitTimeoutResult {
        WaitTimeoutResult(Instant::now() >= deadline)
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

/// A time; there is but one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Instant;

impl Instant {
    pub(crate) fn now() -> Self {
        Instant
    }
}
