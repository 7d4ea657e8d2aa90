//! Federation management, chapter 4.

use crate::boundary::{guarded, living, service};
use crate::callbacks::{StarlingCallbacks, Table};
use crate::types::{StarlingAmbassador, StarlingBytes, StarlingStatus, StarlingText, slice};
use starling::FederateHandle;
use starling::ResignAction;
use starling::{CallbackModel, Exception, ExceptionKind, RtiAmbassador, Service};
use std::ptr::null_mut;

/// A new ambassador, not connected. Delete it with `starling_delete`.
#[unsafe(no_mangle)]
pub extern "C" fn starling_new() -> *mut StarlingAmbassador {
    let rti = RtiAmbassador::new();
    Box::into_raw(Box::new(StarlingAmbassador { rti }))
}

/// Deletes an ambassador in any state; a joined federate is resigned by its automatic resign
/// directive.
///
/// # Safety
/// `ambassador` comes from `starling_new` and is not used any more; null is allowed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_delete(ambassador: *mut StarlingAmbassador) {
    if !ambassador.is_null() {
        guarded(|| {
            // SAFETY: as above.
            drop(unsafe { Box::from_raw(ambassador) });
            Ok(())
        });
    }
}

/// Connect, 1516.1-2010 §4.2. Model: 0 HLA_IMMEDIATE, 1 HLA_EVOKED.
///
/// # Safety
/// As in the crate's rules; the callbacks' functions and context live until the disconnection,
/// and may be called from any thread.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_connect(
    ambassador: *const StarlingAmbassador,
    callbacks: *const StarlingCallbacks,
    model: u32,
    settings: StarlingText,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: as above.
        let (ambassador, callbacks) = unsafe { (living(ambassador)?, callbacks.as_ref()) };
        let throw = |kind, why: &str| Exception::new(kind, why).in_service(Service::Connect);
        let Some(callbacks) = callbacks.filter(|c| c.size == size_of::<StarlingCallbacks>()) else {
            let why = "the table of callbacks is of another version of the library";
            return Err(throw(ExceptionKind::RTIinternalError, why));
        };
        let model = match model {
            0 => CallbackModel::Immediate,
            1 => CallbackModel::Evoked,
            _ => {
                let why = "the callback model is neither HLA_IMMEDIATE nor HLA_EVOKED";
                return Err(throw(ExceptionKind::UnsupportedCallbackModel, why));
            }
        };
        let federate = Box::new(Table::new(*callbacks));
        // SAFETY: as above.
        ambassador
            .rti
            .connect(federate, model, unsafe { settings.read() }?)
    })
}

/// Disconnect, §4.3.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_disconnect(
    ambassador: *const StarlingAmbassador,
) -> StarlingStatus {
    // SAFETY: as above.
    guarded(|| unsafe { living(ambassador) }?.rti.disconnect())
}

/// Create Federation Execution, §4.5. An empty `mim` is the standard MIM, an empty `time`
/// HLAfloat64Time.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_create_federation_execution(
    ambassador: *const StarlingAmbassador,
    federation: StarlingText,
    modules: *const StarlingText,
    modules_count: usize,
    mim: StarlingText,
    time: StarlingText,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: as above.
        let (rti, modules) = unsafe { (&living(ambassador)?.rti, texts(modules, modules_count)?) };
        // SAFETY: as above.
        let (federation, mim, time) = unsafe { (federation.read()?, mim.read()?, time.read()?) };
        let mim = (!mim.is_empty()).then_some(mim);
        rti.create_federation_execution(federation, &modules, mim, time)
    })
}

/// Destroy Federation Execution, §4.6.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_destroy_federation_execution(
    ambassador: *const StarlingAmbassador,
    federation: StarlingText,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: as above.
        let (rti, federation) = unsafe { (&living(ambassador)?.rti, federation.read()?) };
        rti.destroy_federation_execution(federation)
    })
}

/// List Federation Executions, §4.7.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_list_federation_executions(
    ambassador: *const StarlingAmbassador,
) -> StarlingStatus {
    // SAFETY: as above.
    guarded(|| {
        unsafe { living(ambassador) }?
            .rti
            .list_federation_executions()
    })
}

/// Join Federation Execution, §4.9. `name.data` null: the RTI makes a name.
///
/// # Safety
/// As in the crate's rules; `federate` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_join_federation_execution(
    ambassador: *const StarlingAmbassador,
    name: StarlingText,
    kind: StarlingText,
    federation: StarlingText,
    modules: *const StarlingText,
    modules_count: usize,
    federate: *mut u32,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: as above.
        let (rti, modules) = unsafe { (&living(ambassador)?.rti, texts(modules, modules_count)?) };
        // SAFETY: as above.
        let (kind, federation) = unsafe { (kind.read()?, federation.read()?) };
        let name = match name.data.is_null() {
            true => None,
            // SAFETY: as above.
            false => Some(unsafe { name.read() }?),
        };
        let handle = rti.join_federation_execution(name, kind, federation, &modules)?;
        // SAFETY: as above.
        unsafe { federate.write(handle.0) };
        Ok(())
    })
}

/// Resign Federation Execution, §4.10. Actions have the numbers of the C++ API.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_resign_federation_execution(
    ambassador: *const StarlingAmbassador,
    action: u32,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: as above.
        let rti = unsafe { &living(ambassador)?.rti };
        let service = Service::ResignFederationExecution;
        let action = resign_action(action).map_err(|e| e.in_service(service))?;
        rti.resign_federation_execution(action)
    })
}

/// Register Federation Synchronization Point, §4.11. No federates: all.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_register_federation_synchronization_point(
    ambassador: *const StarlingAmbassador,
    label: StarlingText,
    tag: StarlingBytes,
    federates: *const u32,
    federates_count: usize,
) -> StarlingStatus {
    // SAFETY: as above.
    unsafe {
        let set = slice(federates, federates_count).iter();
        let set: Vec<_> = set.map(|f| FederateHandle(*f)).collect();
        service(ambassador, null_mut(), |f| {
            f.register_federation_synchronization_point(label.read()?, tag.read(), &set)
        })
    }
}

/// Synchronization Point Achieved, §4.14.
///
/// # Safety
/// As in the crate's rules.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_synchronization_point_achieved(
    ambassador: *const StarlingAmbassador,
    label: StarlingText,
    successfully: bool,
) -> StarlingStatus {
    // SAFETY: as above.
    unsafe {
        service(ambassador, null_mut(), |f| {
            f.synchronization_point_achieved(label.read()?, successfully)
        })
    }
}

/// The name of the federation execution's logical time implementation.
///
/// # Safety
/// As in the crate's rules; `name` is writable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_get_time_implementation(
    ambassador: *const StarlingAmbassador,
    name: *mut StarlingText,
) -> StarlingStatus {
    // SAFETY: as above.
    unsafe {
        service(ambassador, name, |f| {
            Ok(crate::boundary::keep(f.time_implementation()?))
        })
    }
}

pub(crate) fn resign_action(number: u32) -> Result<ResignAction, Exception> {
    ResignAction::from_number(number).ok_or_else(|| {
        let why = format!("{number} is no resign action");
        Exception::new(ExceptionKind::InvalidResignAction, why)
    })
}

/// # Safety
/// As in the crate's rules.
unsafe fn texts(list: *const StarlingText, count: usize) -> Result<Vec<String>, Exception> {
    // SAFETY: as above.
    let list = unsafe { slice(list, count) };
    let read = |text: &StarlingText| {
        // SAFETY: as above.
        unsafe { text.read() }.map(str::to_owned)
    };
    list.iter().map(read).collect()
}
