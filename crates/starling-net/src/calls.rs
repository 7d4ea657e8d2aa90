//! How many system calls a thread makes for its links, for tests that hold these numbers: they tell
//! more of what a message costs than times do.

use std::cell::Cell;

/// System calls of one thread so far. What is done once in a connection's life is not counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SystemCalls {
    /// Writes to links.
    pub sends: u64,
    /// Reads from links.
    pub receives: u64,
    /// Waits for links; in rtiexec those that something ended but the clock.
    pub waits: u64,
    /// Other threads woken, timers set, and what these ask for at the other end.
    pub wakes: u64,
}

thread_local! {
    static CALLS: Cell<SystemCalls> = const {
        Cell::new(SystemCalls { sends: 0, receives: 0, waits: 0, wakes: 0 })
    };
}

/// Those of the calling thread.
pub fn system_calls() -> SystemCalls {
    CALLS.get()
}

/// Counts those of the calling thread that this crate does not make itself.
pub fn count_system_call(change: impl FnOnce(&mut SystemCalls)) {
    // A thread that ends has none any more.
    let _ = CALLS.try_with(|calls| {
        let mut now = calls.get();
        change(&mut now);
        calls.set(now);
    });
}
