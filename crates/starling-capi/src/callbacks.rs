//! Callbacks to the federate: its table of functions is copied once; each call gets one struct.

use crate::boundary::thrown;
use crate::generated::callbacks::{
    StarlingCallbacks, StarlingReceiveInteraction, StarlingReflectAttributeValues,
};
use crate::types::{Numbered, StarlingBytes, StarlingMessageTime, StarlingValue};
use starling::{
    Callback, Exception, ExceptionKind, FederateAmbassador, FederateHandle, Owner, PlainCallback,
};
use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of};
use std::ptr::{from_ref, null};

/// A federate's handle as the C ABI has it: 0 for none.
pub(crate) fn federate_number(federate: Option<FederateHandle>) -> u32 {
    federate.map_or(0, |f| f.0)
}

/// What kind of owner it is: nobody, a federate, the RTI.
pub(crate) fn owner_kind(owner: Option<Owner>) -> u32 {
    match owner {
        None => 0,
        Some(Owner::Federate(_)) => 1,
        Some(Owner::Rti) => 2,
    }
}

impl StarlingCallbacks {
    /// Copies a table, which may be an earlier version's, and smaller.
    ///
    /// # Safety
    /// `from` is null, or points to as many readable bytes as the `size` that they begin with says.
    pub(crate) unsafe fn copied(from: *const Self) -> Result<Self, Exception> {
        const HEAD: usize = offset_of!(StarlingCallbacks, connection_lost);
        let refuse = |why| Err(Exception::new(ExceptionKind::RTIinternalError, why));
        if from.is_null() || !from.is_aligned() {
            return refuse("the table of callbacks is null or not aligned".to_owned());
        }
        // SAFETY: the size comes first in every version; nothing after it is looked at before it
        // is known, and no reference is made to what may be smaller than this type.
        let size = unsafe { from.cast::<usize>().read() };
        let most = size_of::<Self>();
        if !(HEAD..=most).contains(&size) || !(size - HEAD).is_multiple_of(size_of::<usize>()) {
            return refuse(format!(
                "the table of callbacks has {size} bytes; this version of the library takes {HEAD} \
                 to {most}, in whole functions: use the library of your header's version or newer"
            ));
        }
        let mut table = MaybeUninit::<Self>::zeroed();
        // SAFETY: the caller vouches for `size` bytes, and the table here has room for them. A table
        // of zeros has a null context and no functions; whole functions were copied over some.
        unsafe {
            let to = table.as_mut_ptr().cast::<u8>();
            from.cast::<u8>().copy_to_nonoverlapping(to, size);
            Ok(table.assume_init())
        }
    }
}

/// The table as the library's federate ambassador.
pub(crate) struct Table {
    pub(crate) callbacks: StarlingCallbacks,
    /// The values of the callback that is made now; its memory is used again.
    pub(crate) values: Vec<StarlingValue>,
}

// SAFETY: the context is only handed back to the functions, and the caller of connect vouches that
// they may be called from any thread, one at a time. The values point somewhere only during a call.
unsafe impl Send for Table {}

impl Table {
    pub(crate) fn new(callbacks: StarlingCallbacks) -> Self {
        Table {
            callbacks,
            values: Vec::new(),
        }
    }

    /// Lines values up in the reused buffer.
    #[inline(always)]
    pub(crate) fn fill<'a>(&mut self, values: impl Iterator<Item = (u32, &'a [u8])>) {
        self.values.clear();
        for (handle, value) in values {
            let value = StarlingBytes::of(value);
            self.values.push(StarlingValue { handle, value });
        }
    }

    /// Calls a function, if the federate gave it.
    pub(crate) fn tell<T>(
        &self,
        function: Option<extern "C" fn(*mut c_void, *const T) -> bool>,
        event: &T,
    ) -> bool {
        function.is_none_or(|function| function(self.callbacks.context, event))
    }
}

impl Drop for Table {
    fn drop(&mut self) {
        if let Some(release) = self.callbacks.release {
            release(self.callbacks.context);
        }
    }
}

impl FederateAmbassador for Table {
    fn deliver(&mut self, callback: Callback) -> Result<(), String> {
        if self.call(&callback) {
            Ok(())
        } else {
            Err(threw(&callback))
        }
    }

    fn deliver_plain(&mut self, callback: &PlainCallback) -> Result<(), String> {
        let done = match callback {
            PlainCallback::ReflectAttributeValues {
                instance,
                values,
                transportation,
                producer,
                time,
            } => {
                let timed;
                let time = match time {
                    None => null(),
                    Some(time) => {
                        timed = StarlingMessageTime::of(time);
                        from_ref(&timed)
                    }
                };
                self.fill(values.iter().map(|(handle, value)| (handle.raw(), value)));
                let event = StarlingReflectAttributeValues {
                    size: size_of::<StarlingReflectAttributeValues>(),
                    instance: instance.0,
                    values: self.values.as_ptr(),
                    values_count: self.values.len(),
                    tag: StarlingBytes::of(values.tag()),
                    transportation: transportation.number(),
                    producer: federate_number(*producer),
                    regions: null(),
                    time,
                };
                self.tell(self.callbacks.reflect_attribute_values, &event)
            }
            PlainCallback::ReceiveInteraction {
                class,
                values,
                transportation,
                producer,
                time,
            } => {
                let timed;
                let time = match time {
                    None => null(),
                    Some(time) => {
                        timed = StarlingMessageTime::of(time);
                        from_ref(&timed)
                    }
                };
                self.fill(values.iter().map(|(handle, value)| (handle.raw(), value)));
                let event = StarlingReceiveInteraction {
                    size: size_of::<StarlingReceiveInteraction>(),
                    class_: class.raw(),
                    values: self.values.as_ptr(),
                    values_count: self.values.len(),
                    tag: StarlingBytes::of(values.tag()),
                    transportation: transportation.number(),
                    producer: federate_number(*producer),
                    regions: null(),
                    time,
                };
                self.tell(self.callbacks.receive_interaction, &event)
            }
        };
        if done {
            Ok(())
        } else {
            Err(threw(&callback.clone().into()))
        }
    }
}

/// What a callback that has failed threw.
#[cold]
fn threw(callback: &Callback) -> String {
    format!("{callback}: {}", thrown())
}
