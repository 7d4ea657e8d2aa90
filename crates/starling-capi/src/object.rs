//! The services that send values, by hand: nothing is copied or allocated on their way.

use crate::boundary::{Out, guarded, living, named};
use crate::types::{
    StarlingAmbassador, StarlingBytes, StarlingStatus, StarlingTime, StarlingValue, list,
};
use starling::{
    AttributeHandle, Exception, InteractionClassHandle, LogicalTime, ObjectInstanceHandle,
    ParameterHandle, RtiAmbassador, Service,
};
use std::mem::MaybeUninit;

/// Values on the stack up to this number; more go to the heap.
const FEW: usize = 16;

/// Runs `work` with the ambassador, values and a tag, as the library takes them.
///
/// # Safety
/// The crate's rules for pointers.
#[inline]
pub(crate) unsafe fn with_values<H: Copy>(
    service: Service,
    ambassador: *const StarlingAmbassador,
    (values, count): (*const StarlingValue, usize),
    tag: StarlingBytes,
    handle: fn(u32) -> H,
    work: impl FnOnce(&RtiAmbassador, &[(H, &[u8])], &[u8]) -> Result<(), Exception>,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: the caller keeps the rules; what is read is used in this call only.
        let rti = unsafe { living(&ambassador)? };
        // SAFETY: what `values` and `tag` point to stays as it is during this call, by the same rules.
        let (values, tag) = named(service, || unsafe {
            Ok((list(&values, count, "values")?, tag.read("tag")?))
        })?;
        let mut few = [const { MaybeUninit::<(H, &[u8])>::uninit() }; FEW];
        let many;
        let pairs = if values.len() > FEW {
            // SAFETY: so does what a value of the list points to.
            let pairs = values.iter().map(|value| unsafe { pair(value, handle) });
            many = named(service, || pairs.collect::<Result<Vec<_>, _>>())?;
            &many[..]
        } else {
            for (place, value) in few.iter_mut().zip(values) {
                // SAFETY: so does what a value of the list points to.
                place.write(named(service, || unsafe { pair(value, handle) })?);
            }
            let first = few.as_ptr().cast::<(H, &[u8])>();
            // SAFETY: as many as there are values, at most `FEW`, have just been written.
            unsafe { std::slice::from_raw_parts(first, values.len()) }
        };
        // In one place, where it becomes a part of this function.
        work(rti, pairs, tag)
    })
}

/// One value.
///
/// # Safety
/// The crate's rules for pointers.
#[inline]
unsafe fn pair<H>(value: &StarlingValue, handle: fn(u32) -> H) -> Result<(H, &[u8]), Exception> {
    // SAFETY: the caller keeps the rules.
    let bytes = unsafe { value.value.read("values") }?;
    Ok((handle(value.handle), bytes))
}

/// Update Attribute Values (1516.1-2010, 6.10), in receive order.
///
/// Exceptions: AttributeNotDefined, AttributeNotOwned, FederateNotExecutionMember, NotConnected,
/// ObjectInstanceNotKnown, RTIinternalError, RestoreInProgress, SaveInProgress.
///
/// # Safety
/// The crate's rules for pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_update_attribute_values(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    values: *const StarlingValue,
    values_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let (service, handle) = (Service::UpdateAttributeValues, AttributeHandle::from_raw);
    let values = (values, values_count);
    // SAFETY: the caller keeps the rules.
    unsafe {
        with_values(
            service,
            ambassador,
            values,
            tag,
            handle,
            |rti, values, tag| {
                rti.update_attribute_values(ObjectInstanceHandle(instance), values, tag)
            },
        )
    }
}

/// Send Interaction (1516.1-2010, 6.12), in receive order.
///
/// Exceptions: FederateNotExecutionMember, InteractionClassNotDefined,
/// InteractionClassNotPublished, InteractionParameterNotDefined, NotConnected, RTIinternalError,
/// RestoreInProgress, SaveInProgress.
///
/// # Safety
/// The crate's rules for pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_send_interaction(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    values: *const StarlingValue,
    values_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let (service, handle) = (Service::SendInteraction, ParameterHandle::from_raw);
    let (class, values) = (
        InteractionClassHandle::from_raw(class_),
        (values, values_count),
    );
    // SAFETY: the caller keeps the rules.
    unsafe {
        with_values(
            service,
            ambassador,
            values,
            tag,
            handle,
            |rti, values, tag| rti.send_interaction(class, values, tag),
        )
    }
}

/// Where the handle of a message goes, and its time stamp, after what all services ask for.
///
/// # Safety
/// The crate's rules for pointers.
pub(crate) unsafe fn timed<'a>(
    rti: &RtiAmbassador,
    service: Service,
    time: StarlingTime,
    result: &'a *mut u64,
) -> Result<(LogicalTime, Out<'a, u64>), Exception> {
    // SAFETY: the caller keeps the rules.
    let read = named(service, || unsafe { Ok((time.time()?, Out::at(result)?)) });
    // What the service may be called for at all comes first.
    read.or_else(|wrong| rti.require(service).and(Err(wrong)))
}

/// Update Attribute Values (1516.1-2010, 6.10) with a time stamp. The result is 0 if nothing was
/// sent in time-stamp order.
///
/// Exceptions: AttributeNotDefined, AttributeNotOwned, FederateNotExecutionMember,
/// InvalidLogicalTime, NotConnected, ObjectInstanceNotKnown, RTIinternalError, RestoreInProgress,
/// SaveInProgress.
///
/// # Safety
/// The crate's rules for pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_update_attribute_values_at(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    values: *const StarlingValue,
    values_count: usize,
    tag: StarlingBytes,
    time: StarlingTime,
    result: *mut u64,
) -> StarlingStatus {
    let (service, handle) = (Service::UpdateAttributeValues, AttributeHandle::from_raw);
    let values = (values, values_count);
    // SAFETY: the caller keeps the rules.
    unsafe {
        with_values(
            service,
            ambassador,
            values,
            tag,
            handle,
            |rti, values, tag| {
                let (time, out) = timed(rti, service, time, &result)?;
                let instance = ObjectInstanceHandle(instance);
                out.write(
                    rti.update_attribute_values_at(instance, values, tag, time)?
                        .0,
                );
                Ok(())
            },
        )
    }
}

/// Send Interaction (1516.1-2010, 6.12) with a time stamp. The result is 0 if it was not sent in
/// time-stamp order.
///
/// Exceptions: FederateNotExecutionMember, InteractionClassNotDefined,
/// InteractionClassNotPublished, InteractionParameterNotDefined, InvalidLogicalTime, NotConnected,
/// RTIinternalError, RestoreInProgress, SaveInProgress.
///
/// # Safety
/// The crate's rules for pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_send_interaction_at(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    values: *const StarlingValue,
    values_count: usize,
    tag: StarlingBytes,
    time: StarlingTime,
    result: *mut u64,
) -> StarlingStatus {
    let (service, handle) = (Service::SendInteraction, ParameterHandle::from_raw);
    let (class, values) = (
        InteractionClassHandle::from_raw(class_),
        (values, values_count),
    );
    // SAFETY: the caller keeps the rules.
    unsafe {
        with_values(
            service,
            ambassador,
            values,
            tag,
            handle,
            |rti, values, tag| {
                let (time, out) = timed(rti, service, time, &result)?;
                out.write(rti.send_interaction_at(class, values, tag, time)?.0);
                Ok(())
            },
        )
    }
}
