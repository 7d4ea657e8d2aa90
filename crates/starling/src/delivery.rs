//! Callbacks to the federate, one after another.

use crate::links::{Links, Locked};
use crate::statistics::Calls;
use parking_lot::Mutex;
use starling_core::{Callback, PlainCallback};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// The federate's side.
pub trait FederateAmbassador: Send {
    /// A callback. The error names the callback and says what was thrown; it is reported with the
    /// federate's name, and the next callback comes all the same. A panic ends the connection.
    fn deliver(&mut self, callback: Callback) -> Result<(), String>;

    /// The same for values as most are, which come this way alone: whoever can take them as they are need not
    /// have a [`Callback`] made of them.
    fn deliver_plain(&mut self, callback: &PlainCallback) -> Result<(), String> {
        self.deliver(callback.clone().into())
    }
}

/// Where callbacks go. Callbacks of one ambassador never overlap.
pub(crate) struct Evocation {
    federate: Mutex<Federate>,
    /// The thread that is inside a callback now, by `ThisThread`; 0: none.
    inside: AtomicUsize,
}

struct Federate {
    ambassador: Box<dyn FederateAmbassador>,
    /// What it threw last, and how often without anything else thrown between.
    threw: (String, u64),
}

impl Federate {
    /// A callback has thrown this. What is to be told: not each time that it is the same again.
    fn threw(&mut self, why: String) -> Option<String> {
        if self.threw.0 != why {
            self.threw = (why, 0);
        }
        let (why, times) = &mut self.threw;
        *times += 1;
        match *times {
            1 => Some(why.clone()),
            n if n == 10_u64.pow(n.ilog10()) => Some(format!("{why} ({n} times by now)")),
            _ => None,
        }
    }
}

/// Why no more callbacks as most are follow now.
enum Stop<'a> {
    /// All have been delivered.
    Done,
    /// The next one is another, or there is none.
    Other(Locked<'a>),
    /// The last one has thrown, or panicked.
    Threw(std::thread::Result<Result<(), String>>),
}

/// Until it is dropped, its thread is inside a callback.
struct Inside<'a>(&'a AtomicUsize);

impl Evocation {
    pub(crate) fn new(federate: Box<dyn FederateAmbassador>) -> Self {
        Evocation {
            federate: Mutex::new(Federate {
                ambassador: federate,
                threw: Default::default(),
            }),
            inside: AtomicUsize::new(0),
        }
    }

    /// Whether this thread is inside a callback.
    pub(crate) fn is_inside(&self) -> bool {
        // Only this thread writes its own number.
        self.inside.load(Ordering::Relaxed) == ThisThread::here().0
    }

    /// Returns when no callback runs, unless it is this thread that is inside one.
    pub(crate) fn wait_until_idle(&self) {
        if !self.is_inside() {
            drop(self.federate.lock());
        }
    }

    /// Delivers one callback, if there is one.
    pub(crate) fn one(&self, links: &Links, me: ThisThread) -> bool {
        self.some(links, me, 1) == 1
    }

    /// Delivers so many callbacks, or as many as there are; how many. Whoever holds `federate` takes the next, so
    /// the order is kept among several evoking threads.
    pub(crate) fn some(&self, links: &Links, me: ThisThread, most: u32) -> u32 {
        let mut federate = self.federate.lock();
        let mut done = 0;
        while done < most {
            match self.plain_ones(links, &mut federate, me, (&mut done, most)) {
                Stop::Done => {}
                Stop::Threw(how) => end_badly(how, &mut federate, links),
                Stop::Other(state) => {
                    if !self.one_of_any(links, &mut federate, state, me) {
                        break;
                    }
                    done += 1;
                }
            }
        }
        done
    }

    /// Delivers callbacks as most are, until so many are done. What the federate panics with is caught around all of
    /// them: to do so for each takes as long as a part of it.
    #[inline(always)]
    fn plain_ones<'a>(
        &self,
        links: &'a Links,
        federate: &mut Federate,
        me: ThisThread,
        (done, most): (&mut u32, u32),
    ) -> Stop<'a> {
        let ambassador = &mut federate.ambassador;
        let deliver = || {
            // One after the other shares what they have in common.
            let mut plain = None;
            while *done < most {
                let mut state = links.lock();
                let is_plain = state.next_plain(&mut plain);
                let Some(plain) = plain.as_ref().filter(|_| is_plain) else {
                    return Stop::Other(state);
                };
                state.delivered += 1;
                drop(state);
                *done += 1;
                let begun = Calls::begin(links.calls());
                self.inside.store(me.0, Ordering::Relaxed);
                let told = ambassador.deliver_plain(plain);
                self.inside.store(0, Ordering::Relaxed);
                begun.end_of_callback(links.calls(), plain.name());
                if told.is_err() {
                    return Stop::Threw(Ok(told));
                }
            }
            Stop::Done
        };
        catch_unwind(AssertUnwindSafe(deliver)).unwrap_or_else(|panic| {
            if !self.is_inside() {
                // It is a fault of ours.
                resume_unwind(panic);
            }
            self.inside.store(0, Ordering::Relaxed);
            Stop::Threw(Err(panic))
        })
    }

    /// The same for what may not be as most is.
    #[inline(never)]
    fn one_of_any(
        &self,
        links: &Links,
        federate: &mut Federate,
        mut state: Locked<'_>,
        me: ThisThread,
    ) -> bool {
        let callback = loop {
            let more = state.look_further();
            match state.lrc.next_callback() {
                Some(callback) => break callback,
                None if !more => return false,
                // What was taken last is none for this federate.
                None => {}
            }
        };
        state.show_note();
        state.delivered += 1;
        drop(state);
        let _inside = self.enter(me);
        let (name, begun) = (callback.name(), Calls::begin(links.calls()));
        let done = catch_unwind(AssertUnwindSafe(|| federate.ambassador.deliver(callback)));
        begun.end_of_callback(links.calls(), name);
        match done {
            Ok(Ok(())) => {}
            failed => end_badly(failed, federate, links),
        }
        true
    }

    /// Delivers what there is.
    pub(crate) fn all(&self, links: &Links) {
        let me = ThisThread::here();
        self.some(links, me, u32::MAX);
    }

    fn enter(&self, me: ThisThread) -> Inside<'_> {
        self.inside.store(me.0, Ordering::Relaxed);
        Inside(&self.inside)
    }
}

/// A callback has thrown, or panicked.
#[cold]
fn end_badly(how: std::thread::Result<Result<(), String>>, federate: &mut Federate, links: &Links) {
    let Ok(thrown) = how else {
        return links.break_down("the federate panicked in a callback");
    };
    let Some(why) = thrown.err().and_then(|why| federate.threw(why)) else {
        return;
    };
    let who = match links.lock().lrc.federate() {
        Some(federate) => format!("federate '{}'", federate.name()),
        None => "the federate".to_owned(),
    };
    starling_net::remark(format_args!("starling: {who} threw from {why}"));
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Relaxed);
    }
}

/// A number that no other living thread has, and not 0.
#[derive(Clone, Copy)]
pub(crate) struct ThisThread(usize);

impl ThisThread {
    pub(crate) fn here() -> Self {
        thread_local! {
            static HERE: u8 = const { 0 };
        }
        ThisThread(HERE.with(|here| std::ptr::from_ref(here) as usize))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Deaf;

    impl FederateAmbassador for Deaf {
        fn deliver(&mut self, _: Callback) -> Result<(), String> {
            Ok(())
        }
    }

    #[test]
    fn what_is_thrown_again_and_again_is_told_ever_more_rarely() {
        let mut federate = Federate {
            ambassador: Box::new(Deaf),
            threw: Default::default(),
        };
        let mut told: Vec<_> = (0..5_000)
            .filter_map(|_| federate.threw("it".into()))
            .collect();
        told.extend(federate.threw("other".into()));
        told.extend(federate.threw("it".into()));
        assert_eq!(
            told,
            [
                "it",
                "it (10 times by now)",
                "it (100 times by now)",
                "it (1000 times by now)",
                "other",
                "it",
            ]
        );
    }
}
