//! The services that send values with regions, by hand, as those of object management.

use crate::boundary::named;
use crate::object::{timed, with_pairs, with_values};
use crate::types::{
    StarlingAmbassador, StarlingBytes, StarlingStatus, StarlingTime, StarlingValue, handles,
};
use starling::{InteractionClassHandle, ParameterHandle, RegionHandle, Service};

/// Send Interaction With Regions (1516.1-2010, 9.12), in receive order. With no region it is sent
/// with the default region.
///
/// Exceptions: FederateNotExecutionMember, InteractionClassNotDefined,
/// InteractionClassNotPublished, InteractionParameterNotDefined, InvalidRegion,
/// InvalidRegionContext, NotConnected, RTIinternalError, RegionNotCreatedByThisFederate,
/// RestoreInProgress, SaveInProgress.
///
/// # Safety
/// The crate's rules for pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_send_interaction_with_regions(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    values: *const StarlingValue,
    values_count: usize,
    regions: *const u64,
    regions_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let (service, class) = (
        Service::SendInteractionWithRegions,
        InteractionClassHandle::from_raw(class_),
    );
    let values = (values, values_count);
    // SAFETY: the caller keeps the rules; what is read is used in this call only.
    unsafe {
        with_values::<ParameterHandle>(service, ambassador, values, tag, |rti, values, tag| {
            let regions = named(service, || {
                handles(&regions, regions_count, "regions", RegionHandle)
            })?;
            with_pairs(values, |values| {
                rti.send_interaction_with_regions(class, values, &regions, tag)
            })
        })
    }
}

/// Send Interaction With Regions (1516.1-2010, 9.12) with a time stamp. The result is 0 if it was
/// not sent in time-stamp order. With no region it is sent with the default region.
///
/// Exceptions: FederateNotExecutionMember, InteractionClassNotDefined,
/// InteractionClassNotPublished, InteractionParameterNotDefined, InvalidLogicalTime, InvalidRegion,
/// InvalidRegionContext, NotConnected, RTIinternalError, RegionNotCreatedByThisFederate,
/// RestoreInProgress, SaveInProgress.
///
/// # Safety
/// The crate's rules for pointers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn starling_send_interaction_with_regions_at(
    ambassador: *const StarlingAmbassador,
    class_: u32,
    values: *const StarlingValue,
    values_count: usize,
    regions: *const u64,
    regions_count: usize,
    tag: StarlingBytes,
    time: StarlingTime,
    result: *mut u64,
) -> StarlingStatus {
    let (service, class) = (
        Service::SendInteractionWithRegions,
        InteractionClassHandle::from_raw(class_),
    );
    let values = (values, values_count);
    // SAFETY: the caller keeps the rules; what is read is used in this call only.
    unsafe {
        with_values::<ParameterHandle>(service, ambassador, values, tag, |rti, values, tag| {
            let (time, out) = timed(rti, service, time, &result)?;
            let regions = named(service, || {
                handles(&regions, regions_count, "regions", RegionHandle)
            })?;
            let sent = with_pairs(values, |values| {
                rti.send_interaction_with_regions_at(class, values, &regions, tag, time)
            });
            out.write(sent?.0);
            Ok(())
        })
    }
}
