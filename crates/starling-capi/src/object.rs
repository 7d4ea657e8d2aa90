//! The services that send values, by hand: nothing is copied or allocated on their way.

use crate::boundary::{Out, guarded, guarded_quickly, living, named};
use crate::types::{
    StarlingAmbassador, StarlingBytes, StarlingStatus, StarlingTime, StarlingValue, list, readable,
};
use starling::{
    AttributeHandle, Exception, Given, InteractionClassHandle, LogicalTime, ObjectInstanceHandle,
    ParameterHandle, RtiAmbassador, Service,
};
use std::marker::PhantomData;

/// Values on the stack up to this number; more go to the heap.
const FEW: usize = 16;

/// A value whose bytes can be read as long as it is borrowed, of an attribute or of a parameter.
#[repr(transparent)]
pub(crate) struct Readable<H>(StarlingValue, PhantomData<H>);

impl<H> Readable<H> {
    /// These, each of which was looked at.
    ///
    /// # Safety
    /// The bytes of each can be read.
    #[inline(always)]
    unsafe fn these(values: &[StarlingValue]) -> &[Self] {
        // SAFETY: it is of one form with what it is made of, and lives as long.
        unsafe { std::slice::from_raw_parts(values.as_ptr().cast(), values.len()) }
    }

    #[inline(always)]
    fn bytes(&self) -> &[u8] {
        let StarlingBytes { data, size } = self.0.value;
        if size == 0 {
            return &[];
        }
        // SAFETY: who made this has looked at it, and nobody changes it while the list is borrowed, by the crate's rules.
        unsafe { std::slice::from_raw_parts(data, size) }
    }
}

impl Given for Readable<AttributeHandle> {
    type Handle = AttributeHandle;

    #[inline(always)]
    fn handle(&self) -> AttributeHandle {
        AttributeHandle::from_raw(self.0.handle)
    }

    #[inline(always)]
    fn value(&self) -> &[u8] {
        self.bytes()
    }
}

impl Given for Readable<ParameterHandle> {
    type Handle = ParameterHandle;

    #[inline(always)]
    fn handle(&self) -> ParameterHandle {
        ParameterHandle::from_raw(self.0.handle)
    }

    #[inline(always)]
    fn value(&self) -> &[u8] {
        self.bytes()
    }
}

/// Runs `work` with the ambassador, values where they stand, and a tag.
///
/// # Safety
/// The crate's rules for pointers.
#[inline(always)]
pub(crate) unsafe fn with_values<H>(
    service: Service,
    ambassador: *const StarlingAmbassador,
    (values, count): (*const StarlingValue, usize),
    tag: StarlingBytes,
    work: impl FnOnce(&RtiAmbassador, &[Readable<H>], &[u8]) -> Result<(), Exception>,
) -> StarlingStatus {
    guarded(|| {
        // SAFETY: the caller keeps the rules; what is read is used in this call only.
        let rti = unsafe { living(&ambassador)? };
        // SAFETY: what `values` and `tag` point to stays as it is during this call, by the same rules.
        let (values, tag) = named(service, || unsafe {
            let values = list(&values, count, "values")?;
            for value in values {
                value.value.read("values")?;
            }
            Ok((Readable::these(values), tag.read("tag")?))
        })?;
        work(rti, values, tag)
    })
}

/// The ambassador, values where they stand, and a tag.
type Taken<'a, H> = (&'a RtiAmbassador, &'a [Readable<H>], &'a [u8]);

/// What a call gives. None: something can't be read; [`with_values`] says what.
///
/// # Safety
/// The crate's rules for pointers.
#[inline(always)]
unsafe fn given<'a, H>(
    ambassador: &'a *const StarlingAmbassador,
    (values, count): (&'a *const StarlingValue, usize),
    tag: &'a StarlingBytes,
) -> Option<Taken<'a, H>> {
    // SAFETY: the caller keeps the rules.
    unsafe {
        let ambassador = ambassador.as_ref()?;
        let values = readable(values, count)?;
        let all = values.iter().all(|value| value.value.readable().is_some());
        let values = all.then(|| Readable::these(values))?;
        Some((&ambassador.rti, values, tag.readable()?))
    }
}

/// A time stamp, and where the handle of its message goes. None: something is wrong with these; [`timed`] says what.
///
/// # Safety
/// The crate's rules for pointers.
#[inline(always)]
unsafe fn given_time(time: StarlingTime, result: &*mut u64) -> Option<(LogicalTime, Out<'_, u64>)> {
    // SAFETY: the caller keeps the rules.
    unsafe { Some((time.known()?, Out::there(result)?)) }
}

/// Runs `work` with values as the library takes them where they are not as most.
pub(crate) fn with_pairs<G: Given, T>(
    values: &[G],
    work: impl FnOnce(&[(G::Handle, &[u8])]) -> T,
) -> T {
    match values {
        [] => work(&[]),
        [first, ..] if values.len() <= FEW => {
            let mut few = [(first.handle(), &[][..]); FEW];
            let places = few.iter_mut().zip(values);
            places.for_each(|(place, value)| *place = (value.handle(), value.value()));
            work(&few[..values.len()])
        }
        _ => {
            let many = values.iter().map(|value| (value.handle(), value.value()));
            work(&many.collect::<Vec<_>>())
        }
    }
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
    let quickly = || {
        // SAFETY: the caller keeps the rules.
        let given = unsafe { given::<AttributeHandle>(&ambassador, (&values, values_count), &tag) };
        given.is_some_and(|(rti, values, tag)| {
            rti.update_plainly(ObjectInstanceHandle(instance), values, tag)
        })
    };
    guarded_quickly(quickly, || {
        // SAFETY: as above.
        unsafe { update_closely(ambassador, instance, values, values_count, tag) }
    })
}

/// An update that is not as most are, or with which something is wrong.
///
/// # Safety
/// The crate's rules for pointers.
#[inline(never)]
unsafe fn update_closely(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    values: *const StarlingValue,
    values_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let (service, instance) = (
        Service::UpdateAttributeValues,
        ObjectInstanceHandle(instance),
    );
    let values = (values, values_count);
    // SAFETY: the caller keeps the rules.
    unsafe {
        with_values::<AttributeHandle>(service, ambassador, values, tag, |rti, values, tag| {
            with_pairs(values, |values| rti.update_closely(instance, values, tag))
        })
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
    let quickly = || {
        // SAFETY: the caller keeps the rules.
        let given = unsafe { given::<ParameterHandle>(&ambassador, (&values, values_count), &tag) };
        given.is_some_and(|(rti, values, tag)| {
            rti.send_plainly(InteractionClassHandle::from_raw(class_), values, tag)
        })
    };
    guarded_quickly(quickly, || {
        // SAFETY: as above.
        unsafe { send_closely(ambassador, class_, values, values_count, tag) }
    })
}

/// An interaction that is not as most are, or with which something is wrong.
///
/// # Safety
/// The crate's rules for pointers.
#[inline(never)]
unsafe fn send_closely(
    ambassador: *const StarlingAmbassador,
    class: u32,
    values: *const StarlingValue,
    values_count: usize,
    tag: StarlingBytes,
) -> StarlingStatus {
    let (service, class) = (
        Service::SendInteraction,
        InteractionClassHandle::from_raw(class),
    );
    let values = (values, values_count);
    // SAFETY: the caller keeps the rules.
    unsafe {
        with_values::<ParameterHandle>(service, ambassador, values, tag, |rti, values, tag| {
            with_pairs(values, |values| rti.send_closely(class, values, tag))
        })
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
    let quickly = || {
        // SAFETY: the caller keeps the rules.
        let given = unsafe { given::<AttributeHandle>(&ambassador, (&values, values_count), &tag) };
        // SAFETY: as above.
        let timed = unsafe { given_time(time, &result) };
        let (Some((rti, values, tag)), Some((time, out))) = (given, timed) else {
            return false;
        };
        let sent = rti.update_plainly_at(ObjectInstanceHandle(instance), values, tag, time);
        out.write_if(sent.map(|sent| sent.0))
    };
    guarded_quickly(quickly, || {
        let values = (values, values_count);
        // SAFETY: as above.
        unsafe { update_closely_at(ambassador, instance, values, tag, (time, result)) }
    })
}

/// As [`update_closely`].
///
/// # Safety
/// The crate's rules for pointers.
#[inline(never)]
unsafe fn update_closely_at(
    ambassador: *const StarlingAmbassador,
    instance: u64,
    values: (*const StarlingValue, usize),
    tag: StarlingBytes,
    (time, result): (StarlingTime, *mut u64),
) -> StarlingStatus {
    let (service, instance) = (
        Service::UpdateAttributeValues,
        ObjectInstanceHandle(instance),
    );
    // SAFETY: the caller keeps the rules.
    unsafe {
        with_values::<AttributeHandle>(service, ambassador, values, tag, |rti, values, tag| {
            let (time, out) = timed(rti, service, time, &result)?;
            let sent = with_pairs(values, |values| {
                rti.update_closely_at(instance, values, tag, time)
            })?;
            out.write(sent.0);
            Ok(())
        })
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
    let quickly = || {
        // SAFETY: the caller keeps the rules.
        let given = unsafe { given::<ParameterHandle>(&ambassador, (&values, values_count), &tag) };
        // SAFETY: as above.
        let timed = unsafe { given_time(time, &result) };
        let (Some((rti, values, tag)), Some((time, out))) = (given, timed) else {
            return false;
        };
        let class = InteractionClassHandle::from_raw(class_);
        let sent = rti.send_plainly_at(class, values, tag, time);
        out.write_if(sent.map(|sent| sent.0))
    };
    guarded_quickly(quickly, || {
        let values = (values, values_count);
        // SAFETY: as above.
        unsafe { send_closely_at(ambassador, class_, values, tag, (time, result)) }
    })
}

/// As [`send_closely`].
///
/// # Safety
/// The crate's rules for pointers.
#[inline(never)]
unsafe fn send_closely_at(
    ambassador: *const StarlingAmbassador,
    class: u32,
    values: (*const StarlingValue, usize),
    tag: StarlingBytes,
    (time, result): (StarlingTime, *mut u64),
) -> StarlingStatus {
    let (service, class) = (
        Service::SendInteraction,
        InteractionClassHandle::from_raw(class),
    );
    // SAFETY: the caller keeps the rules.
    unsafe {
        with_values::<ParameterHandle>(service, ambassador, values, tag, |rti, values, tag| {
            let (time, out) = timed(rti, service, time, &result)?;
            let sent = with_pairs(values, |values| {
                rti.send_closely_at(class, values, tag, time)
            })?;
            out.write(sent.0);
            Ok(())
        })
    }
}
