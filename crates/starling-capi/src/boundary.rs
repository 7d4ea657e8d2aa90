//! Crossing the boundary: statuses, messages, panics.

use crate::types::{StarlingAmbassador, StarlingStatus, StarlingText, slice};
use starling::{Exception, ExceptionKind, RtiAmbassador};
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

thread_local! {
    /// What the callback that runs on this thread threw.
    static THROWN: RefCell<String> = const { RefCell::new(String::new()) };
    /// The last failure's message, or the last text result, of this thread.
    static TEXT: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Why this thread's last call failed. Valid until its next call.
#[unsafe(no_mangle)]
pub extern "C" fn starling_message() -> StarlingText {
    TEXT.with_borrow(|text| StarlingText::of(text))
}

/// What a callback threw: called by it, on its thread, before it returns false.
///
/// # Safety
/// As in the crate's rules, but `what` need not be UTF-8.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_callback_threw(what: StarlingText) {
    guarded(|| {
        // SAFETY: the caller vouches for its text.
        let what = unsafe { slice(what.data, what.size) };
        THROWN.set(String::from_utf8_lossy(what).into_owned());
        Ok(())
    });
}

/// Says on standard error, at the first call in this process, that a service is not implemented.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_not_implemented(text: StarlingText) {
    guarded(|| {
        // SAFETY: the caller vouches for its text.
        starling::note(unsafe { text.read() }?);
        Ok(())
    });
}

/// What [`starling_callback_threw`] was told by the callback that has returned.
pub(crate) fn thrown() -> String {
    THROWN.take()
}

/// Keeps a text result until this thread's next call.
pub(crate) fn keep(text: String) -> StarlingText {
    TEXT.replace(text);
    starling_message()
}

/// Runs `work`; an exception or a panic becomes a status and a message.
pub(crate) fn guarded(work: impl FnOnce() -> Result<(), Exception>) -> StarlingStatus {
    let result = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| {
        let what = panic.downcast_ref::<String>().map(String::as_str);
        let what = what.or(panic.downcast_ref::<&str>().copied());
        let why = format!("a bug in the RTI: {}", what.unwrap_or("?"));
        Err(Exception::new(ExceptionKind::RTIinternalError, why))
    });
    match result {
        Ok(()) => 0,
        Err(exception) => {
            TEXT.replace(exception.message);
            exception.kind as StarlingStatus
        }
    }
}

/// Calls a service and stores its result at `out`, unless that is null.
///
/// # Safety
/// `ambassador` is a living ambassador or null; `out` is writable or null.
pub(crate) unsafe fn service<T>(
    ambassador: *const StarlingAmbassador,
    out: *mut T,
    work: impl FnOnce(&RtiAmbassador) -> Result<T, Exception>,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: as above.
        let ambassador = unsafe { living(ambassador) }?;
        let result = work(&ambassador.rti)?;
        if !out.is_null() {
            // SAFETY: as above.
            unsafe { out.write(result) };
        }
        Ok(())
    })
}

/// # Safety
/// `ambassador` is a living ambassador or null, for as long as `'a`.
pub(crate) unsafe fn living<'a>(
    ambassador: *const StarlingAmbassador,
) -> Result<&'a StarlingAmbassador, Exception> {
    // SAFETY: as above.
    unsafe { ambassador.as_ref() }
        .ok_or_else(|| Exception::new(ExceptionKind::RTIinternalError, "the ambassador is null"))
}
