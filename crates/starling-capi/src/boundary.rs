//! Crossing the boundary: statuses, messages, results, panics.

use crate::types::{
    StarlingAmbassador, StarlingHandles, StarlingStatus, StarlingText, list, refused,
};
use starling::{Exception, RtiAmbassador, Service};
use std::any::Any;
use std::cell::RefCell;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// What the callback that runs on this thread threw.
    static THROWN: RefCell<String> = const { RefCell::new(String::new()) };
    /// The last failure's message, or the last text result, of this thread.
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
    /// The last result of this thread that is a list.
    static HANDLES: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

/// Why this thread's last call failed. Valid until its next call.
#[unsafe(no_mangle)]
pub extern "C" fn starling_message() -> StarlingText {
    TEXT.with_borrow(|text| StarlingText::of(text))
}

/// What a callback threw: called by it, on its thread, before it returns false. It need not be
/// UTF-8.
///
/// # Safety
/// `what` is readable as the crate's rules for pointers say.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_callback_threw(what: StarlingText) {
    guarded(|| {
        // SAFETY: the caller keeps the rules; the bytes are copied before this returns.
        let what = unsafe { list(&what.data, what.size, "what") }?;
        THROWN.set(String::from_utf8_lossy(what).into_owned());
        Ok(())
    });
}

/// What [`starling_callback_threw`] was told by the callback that has returned.
pub(crate) fn thrown() -> String {
    let what = THROWN.take();
    if what.is_empty() {
        "it did not say what".to_owned()
    } else {
        what
    }
}

/// Keeps a text result until this thread's next call.
pub(crate) fn keep(text: String) -> StarlingText {
    TEXT.replace(text);
    starling_message()
}

/// Keeps a result of handles until this thread's next call.
pub(crate) fn keep_handles(handles: impl Iterator<Item = u32>) -> StarlingHandles {
    HANDLES.with_borrow_mut(|kept| {
        kept.clear();
        kept.extend(handles);
        StarlingHandles {
            data: kept.as_ptr(),
            size: kept.len(),
        }
    })
}

/// Runs `work`; an exception or a panic becomes a status and a message.
pub(crate) fn guarded(work: impl FnOnce() -> Result<(), Exception>) -> StarlingStatus {
    let result = catch_unwind(AssertUnwindSafe(work));
    match result.unwrap_or_else(|panic| Err(panicked(panic))) {
        Ok(()) => 0,
        Err(exception) => told(exception),
    }
}

/// Runs `quickly`, the way of most calls; where that says no, and has done nothing, `closely`. That is to be a
/// function of its own, lest what exceptions need be at hand on the way of most.
#[inline(always)]
pub(crate) fn guarded_quickly(
    quickly: impl FnOnce() -> bool,
    closely: impl FnOnce() -> StarlingStatus,
) -> StarlingStatus {
    match catch_unwind(AssertUnwindSafe(quickly)) {
        Ok(true) => 0,
        Ok(false) => closely(),
        Err(panic) => told(panicked(panic)),
    }
}

#[cold]
fn panicked(panic: Box<dyn Any + Send>) -> Exception {
    let what = panic.downcast_ref::<String>().map(String::as_str);
    let what = what.or(panic.downcast_ref::<&str>().copied());
    refused(format!("a bug in the RTI: {}", what.unwrap_or("?")))
}

/// Keeps an exception's message; its status.
fn told(exception: Exception) -> StarlingStatus {
    TEXT.replace(exception.message);
    exception.kind as StarlingStatus
}

/// Names the service where its arguments cannot be read.
#[inline]
pub(crate) fn named<T>(
    service: Service,
    read: impl FnOnce() -> Result<T, Exception>,
) -> Result<T, Exception> {
    read().map_err(|e| e.in_service(service))
}

/// The ambassador, for as long as the pointer is borrowed.
///
/// # Safety
/// `ambassador` is null, or comes from `starling_new` and is not deleted meanwhile.
#[inline]
pub(crate) unsafe fn living<'a>(
    ambassador: &'a *const StarlingAmbassador,
) -> Result<&'a RtiAmbassador, Exception> {
    // SAFETY: not deleted, says the caller; all that ever changes behind it has locks of its own.
    let ambassador: Option<&'a StarlingAmbassador> = unsafe { ambassador.as_ref() };
    ambassador
        .map(|ambassador| &ambassador.rti)
        .ok_or_else(|| refused("the ambassador is null"))
}

/// Where a result goes.
pub(crate) struct Out<'a, T>(*mut T, PhantomData<&'a *mut T>);

impl<'a, T> Out<'a, T> {
    /// The argument `result`.
    ///
    /// # Safety
    /// Unless it is null, a `T` may be written at `result` while that is borrowed.
    pub(crate) unsafe fn at(result: &'a *mut T) -> Result<Self, Exception> {
        // SAFETY: the caller vouches for it.
        let there = unsafe { Self::there(result) };
        there.ok_or_else(|| refused("the argument result is null or not aligned"))
    }

    /// The same; none: nothing can be written there.
    ///
    /// # Safety
    /// As for [`Out::at`].
    #[inline(always)]
    pub(crate) unsafe fn there(result: &'a *mut T) -> Option<Self> {
        let usable = !result.is_null() && result.is_aligned();
        usable.then_some(Out(*result, PhantomData))
    }

    /// Stores it, if there is one; whether there was.
    #[inline(always)]
    pub(crate) fn write_if(self, value: Option<T>) -> bool {
        value.map(|value| self.write(value)).is_some()
    }

    /// Stores it.
    pub(crate) fn write(self, value: T) {
        // SAFETY: not null and aligned; who made this vouched for the rest.
        unsafe { self.0.write(value) };
    }
}
