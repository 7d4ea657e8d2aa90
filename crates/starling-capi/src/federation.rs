//! Of chapter 4 what is written by hand: an ambassador's life, and create, whose two forms are one
//! service of the library.

use crate::boundary::{guarded, living, named};
use crate::callbacks::Table;
use crate::generated::callbacks::StarlingCallbacks;
use crate::types::{StarlingAmbassador, StarlingStatus, StarlingText, strings};
use starling::{CallbackModel, Exception, ExceptionKind, RtiAmbassador, Service};

/// A new ambassador, not connected. Delete it with `starling_delete`.
#[unsafe(no_mangle)]
pub extern "C" fn starling_new() -> *mut StarlingAmbassador {
    let rti = RtiAmbassador::new();
    Box::into_raw(Box::new(StarlingAmbassador { rti }))
}

/// Deletes an ambassador in any state; a joined federate is resigned by its automatic resign
/// directive. Null is allowed.
///
/// # Safety
/// `ambassador` comes from `starling_new`, and nobody uses it any more.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_delete(ambassador: *mut StarlingAmbassador) {
    if !ambassador.is_null() {
        guarded(|| {
            // SAFETY: it was made by `Box::into_raw` in `starling_new`, and this is its only use.
            drop(unsafe { Box::from_raw(ambassador) });
            Ok(())
        });
    }
}

/// Connect (1516.1-2010, 4.2). `callbacks` is copied. `model`: 0 HLA_IMMEDIATE, 1 HLA_EVOKED.
///
/// Exceptions: AlreadyConnected, CallNotAllowedFromWithinCallback, ConnectionFailed,
/// InvalidLocalSettingsDesignator, RTIinternalError, UnsupportedCallbackModel.
///
/// # Safety
/// The crate's rules for pointers and for callbacks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_connect(
    ambassador: *const StarlingAmbassador,
    callbacks: *const StarlingCallbacks,
    model: u32,
    settings: StarlingText,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: the caller keeps the rules; what is read is copied or used in this call only.
        let (federate, rti, settings) = named(Service::Connect, || unsafe {
            // First: from here on the context is released however this ends.
            let federate = Box::new(Table::new(StarlingCallbacks::copied(callbacks)?));
            Ok((federate, living(&ambassador)?, settings.read("settings")?))
        })?;
        let model = match model {
            0 => CallbackModel::Immediate,
            1 => CallbackModel::Evoked,
            _ => {
                let why = "the callback model is neither HLA_IMMEDIATE nor HLA_EVOKED";
                let kind = ExceptionKind::UnsupportedCallbackModel;
                return Err(Exception::new(kind, why).in_service(Service::Connect));
            }
        };
        rti.connect(federate, model, settings)
    })
}

/// Create Federation Execution (1516.1-2010, 4.5). An empty `time` is HLAfloat64Time.
///
/// Exceptions: CouldNotCreateLogicalTimeFactory, CouldNotOpenFDD, ErrorReadingFDD,
/// FederationExecutionAlreadyExists, InconsistentFDD, NotConnected, RTIinternalError.
///
/// # Safety
/// The crate's rules for pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_create_federation_execution(
    ambassador: *const StarlingAmbassador,
    federation: StarlingText,
    modules: *const StarlingText,
    modules_count: usize,
    time: StarlingText,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: the caller keeps the rules; what is read is used in this call only.
        let rti = unsafe { living(&ambassador)? };
        // SAFETY: what the texts and the list point to stays as it is during this call, by the same rules.
        let (federation, modules, time) = named(Service::CreateFederationExecution, || unsafe {
            let modules = strings(&modules, modules_count, "modules")?;
            Ok((federation.read("federation")?, modules, time.read("time")?))
        })?;
        rti.create_federation_execution(federation, &modules, None, time)
    })
}

/// Create Federation Execution With MIM (1516.1-2010, 4.5). An empty `time` is HLAfloat64Time.
///
/// Exceptions: CouldNotCreateLogicalTimeFactory, CouldNotOpenFDD, CouldNotOpenMIM,
/// DesignatorIsHLAstandardMIM, ErrorReadingFDD, ErrorReadingMIM, FederationExecutionAlreadyExists,
/// InconsistentFDD, NotConnected, RTIinternalError.
///
/// # Safety
/// The crate's rules for pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_create_federation_execution_with_mim(
    ambassador: *const StarlingAmbassador,
    federation: StarlingText,
    modules: *const StarlingText,
    modules_count: usize,
    mim: StarlingText,
    time: StarlingText,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: the caller keeps the rules; what is read is used in this call only.
        let rti = unsafe { living(&ambassador)? };
        let service = Service::CreateFederationExecutionWithMIM;
        // SAFETY: what the texts and the list point to stays as it is during this call, by the same rules.
        let (federation, modules, mim, time) = named(service, || unsafe {
            let modules = strings(&modules, modules_count, "modules")?;
            let (mim, time) = (mim.read("mim")?, time.read("time")?);
            Ok((federation.read("federation")?, modules, mim, time))
        })?;
        rti.create_federation_execution(federation, &modules, Some(mim), time)
    })
}
