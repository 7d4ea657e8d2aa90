//! Callbacks to the federate, one after another.

use crate::links::Links;
use parking_lot::Mutex;
use starling_core::Callback;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The federate's side.
pub trait FederateAmbassador: Send {
    /// A callback. The error names the callback and says what was thrown; it is reported with the
    /// federate's name, and the next callback comes all the same. A panic ends the connection.
    fn deliver(&mut self, callback: Callback) -> Result<(), String>;
}

/// Where callbacks go. Callbacks of one ambassador never overlap.
pub(crate) struct Evocation {
    federate: Mutex<Box<dyn FederateAmbassador>>,
    /// The thread that is inside a callback now, by `this_thread`; 0: none.
    inside: AtomicUsize,
}

/// Until it is dropped, its thread is inside a callback.
struct Inside<'a>(&'a AtomicUsize);

impl Evocation {
    pub(crate) fn new(federate: Box<dyn FederateAmbassador>) -> Self {
        Evocation {
            federate: Mutex::new(federate),
            inside: AtomicUsize::new(0),
        }
    }

    /// Whether this thread is inside a callback.
    pub(crate) fn is_inside(&self) -> bool {
        // Only this thread writes its own number.
        self.inside.load(Ordering::Relaxed) == this_thread()
    }

    /// Returns when no callback runs, unless it is this thread that is inside one.
    pub(crate) fn wait_until_idle(&self) {
        if !self.is_inside() {
            drop(self.federate.lock());
        }
    }

    /// Delivers one callback, if there is one. Whoever holds `federate` takes the next, so the
    /// order is kept among several evoking threads.
    pub(crate) fn one(&self, links: &Links) -> bool {
        let mut federate = self.federate.lock();
        let mut state = links.lock();
        let Some(callback) = state.lrc.next_callback() else {
            return false;
        };
        state.show_note();
        drop(state);
        let _inside = self.enter();
        match catch_unwind(AssertUnwindSafe(|| federate.deliver(callback))) {
            Ok(Ok(())) => {}
            Ok(Err(why)) => {
                let who = match links.lock().lrc.federate() {
                    Some(federate) => format!("federate '{}'", federate.name()),
                    None => "the federate".to_owned(),
                };
                starling_net::remark(format_args!("starling: {who} threw from {why}"));
            }
            Err(_) => links.break_down("the federate panicked in a callback"),
        }
        true
    }

    /// Delivers what there is.
    pub(crate) fn all(&self, links: &Links) {
        while self.one(links) {}
    }

    fn enter(&self) -> Inside<'_> {
        self.inside.store(this_thread(), Ordering::Relaxed);
        Inside(&self.inside)
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A number that no other living thread has, and not 0.
fn this_thread() -> usize {
    thread_local! {
        static HERE: u8 = const { 0 };
    }
    HERE.with(|here| std::ptr::from_ref(here) as usize)
}
