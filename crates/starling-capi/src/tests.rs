//! The contracts of the boundary, as a caller in C can keep and break them.

use crate::callbacks::Table;
use crate::prelude::*;
use crate::{
    StarlingAnnounceSynchronizationPoint, StarlingAttributesInScope, StarlingCallbacks,
    StarlingConnectionLost, starling_associate_regions_for_updates, starling_callback_threw,
    starling_connect, starling_delete, starling_destroy_federation_execution,
    starling_get_federate_handle, starling_message, starling_new,
    starling_publish_object_class_attributes, starling_release_multiple_object_instance_name,
    starling_set_automatic_resign_directive, starling_update_attribute_values,
};
use std::ffi::c_void;
use std::mem::offset_of;
use std::ptr::{null, null_mut};

/// An ambassador that is deleted at the end.
struct Ambassador(*mut StarlingAmbassador);

impl Ambassador {
    fn new() -> Self {
        Ambassador(starling_new())
    }
}

impl Drop for Ambassador {
    fn drop(&mut self) {
        // SAFETY: of `starling_new`, and not used after this.
        unsafe { starling_delete(self.0) };
    }
}

fn text(text: &str) -> StarlingText {
    StarlingText::of(text)
}

/// Status and message of a call.
fn failed(status: StarlingStatus) -> (ExceptionKind, String) {
    let message = starling_message();
    // SAFETY: valid until this thread's next call.
    let message = unsafe { message.read("message") }.unwrap().to_owned();
    let kind = ExceptionKind::ALL.iter().find(|k| **k as u32 == status);
    (*kind.expect("an exception"), message)
}

/// Asserts that a call was refused as wrongly made, and that the message says all of this.
#[track_caller]
fn refused_naming(status: StarlingStatus, parts: &[&str]) {
    let (kind, message) = failed(status);
    assert_eq!(kind, ExceptionKind::RTIinternalError, "{message}");
    for part in parts {
        assert!(message.contains(part), "{message} does not name {part}");
    }
}

/// Memory of exactly these words, so that a sanitizer sees a read beyond them.
fn table(words: &[usize]) -> Box<[usize]> {
    words.into()
}

fn copied(table: &[usize]) -> Result<StarlingCallbacks, Exception> {
    // SAFETY: the tests never give a size that is larger than what is there, unless that is beyond
    // what the library takes, and then it must read no more than the size.
    unsafe { StarlingCallbacks::copied(table.as_ptr().cast()) }
}

const WORD: usize = size_of::<usize>();
const HEAD: usize = offset_of!(StarlingCallbacks, connection_lost);

#[test]
fn an_older_tables_functions_are_called_and_newer_callbacks_are_not_missed() {
    extern "C" fn lost(context: *mut c_void, event: *const StarlingConnectionLost) -> bool {
        // SAFETY: the event lives for this call, and the context is the test's.
        unsafe {
            let fault = (*event).fault.read("fault").unwrap();
            *context.cast::<String>() = format!("{fault} {}", (*event).size);
        }
        true
    }
    let mut heard = String::new();
    let context = &raw mut heard as usize;
    let old = table(&[HEAD + WORD, context, 0, lost as *const () as usize]);
    let mut table = Table::new(copied(&old).unwrap());
    drop(old);
    let fault = "gone".to_owned();
    table.deliver(Callback::ConnectionLost { fault }).unwrap();
    assert_eq!(
        heard,
        format!("gone {}", size_of::<StarlingConnectionLost>())
    );
    let instance = ObjectInstanceHandle(1);
    let newer = Callback::InformAttributeOwnership {
        instance,
        attributes: vec![],
        owner: None,
    };
    table.deliver(newer).unwrap();
}

#[test]
fn a_table_without_functions_is_enough() {
    let mut table = Table::new(copied(&table(&[HEAD, 0, 0])).unwrap());
    let fault = "gone".to_owned();
    table.deliver(Callback::ConnectionLost { fault }).unwrap();
}

#[test]
fn a_context_is_released_once_however_connecting_ends() {
    extern "C" fn release(context: *mut c_void) {
        // SAFETY: the context is the count below, which outlives the table.
        unsafe { *context.cast::<u32>() += 1 }
    }
    let mut released = 0_u32;
    let context = (&raw mut released).cast::<c_void>();
    let whole = table(&[HEAD, context as usize, release as *const () as usize]);
    drop(Table::new(copied(&whole).unwrap()));
    assert_eq!(released, 1);
    // SAFETY: a whole table of this version, and texts that outlive the call.
    let status = unsafe {
        let rti = Ambassador::new();
        starling_connect(rti.0, whole.as_ptr().cast(), 1, text("no such=setting"))
    };
    assert_ne!(status, 0);
    assert_eq!(released, 2);
}

#[test]
fn tables_of_no_version_are_refused() {
    let most = size_of::<StarlingCallbacks>();
    for size in [
        0,
        1,
        HEAD - 1,
        HEAD + 1,
        HEAD + WORD - 1,
        most + WORD,
        usize::MAX,
    ] {
        // Only the size is there: nothing else may be read.
        let error = copied(&table(&[size])).err().unwrap();
        assert_eq!(error.kind, ExceptionKind::RTIinternalError);
        assert!(error.message.contains(&format!("{size} bytes")), "{error}");
        assert!(
            error.message.contains(&format!("{HEAD} to {most}")),
            "{error}"
        );
    }
    // SAFETY: null, and not aligned, are refused before anything is read.
    unsafe {
        assert!(StarlingCallbacks::copied(null()).is_err());
        let words = table(&[HEAD, 0, 0]);
        let askew = words.as_ptr().wrapping_byte_add(1).cast();
        assert!(StarlingCallbacks::copied(askew).is_err());
        let rti = Ambassador::new();
        refused_naming(
            starling_connect(rti.0, null(), 1, text("")),
            &["connect", "callbacks"],
        );
    }
}

#[test]
fn a_callbacks_struct_says_its_size_and_borrows_what_it_brings() {
    extern "C" fn announce(
        context: *mut c_void,
        event: *const StarlingAnnounceSynchronizationPoint,
    ) -> bool {
        // SAFETY: the event lives for this call, and the context is the test's.
        unsafe {
            let event = &*event;
            assert_eq!(event.size, size_of_val(event));
            let heard = (
                event.label.read("label").unwrap(),
                event.tag.read("tag").unwrap(),
            );
            assert_eq!(heard, ("ready", &[1, 2][..]));
            *context.cast::<u32>() += 1;
        }
        true
    }
    extern "C" fn in_scope(context: *mut c_void, event: *const StarlingAttributesInScope) -> bool {
        // SAFETY: as above.
        unsafe {
            let event = &*event;
            let attributes = list(&event.attributes, event.attributes_count, "attributes");
            assert_eq!((event.instance, attributes.unwrap()), (7, &[3, 4][..]));
            *context.cast::<u32>() += 10;
        }
        true
    }
    let mut calls = 0_u32;
    let mut functions = copied(&table(&[HEAD, &raw mut calls as usize, 0])).unwrap();
    functions.announce_synchronization_point = Some(announce);
    functions.attributes_in_scope = Some(in_scope);
    let mut table = Table::new(functions);
    let announcement = Callback::AnnounceSynchronizationPoint {
        label: "ready".into(),
        tag: vec![1, 2],
    };
    table.deliver(announcement).unwrap();
    let scope = Callback::AttributesInScope {
        instance: ObjectInstanceHandle(7),
        attributes: [3, 4].map(AttributeHandle::from_raw).into(),
    };
    table.deliver(scope).unwrap();
    assert_eq!(calls, 11);
}

#[test]
fn what_a_callback_threw_is_told_once() {
    extern "C" fn throws(context: *mut c_void, _: *const StarlingConnectionLost) -> bool {
        if !context.is_null() {
            let what = StarlingBytes::of(b"no \xff text");
            let (data, size) = (what.data, what.size);
            // SAFETY: the bytes are a constant.
            unsafe { starling_callback_threw(StarlingText { data, size }) };
        }
        false
    }
    let mut functions = copied(&table(&[HEAD, 1, 0])).unwrap();
    functions.connection_lost = Some(throws);
    let mut table = Table::new(functions);
    let lost = || Callback::ConnectionLost {
        fault: String::new(),
    };
    let told = table.deliver(lost()).unwrap_err();
    assert_eq!(told, "connectionLost: no \u{fffd} text");
    table.callbacks.context = null_mut();
    assert_eq!(
        table.deliver(lost()).unwrap_err(),
        "connectionLost: it did not say what"
    );
}

#[test]
fn null_with_a_size_names_the_argument() {
    let rti = Ambassador::new();
    let no_text = |size| StarlingText { data: null(), size };
    let no_bytes = |size| StarlingBytes { data: null(), size };
    // SAFETY: what is null is refused before it is read; all else is of this test.
    unsafe {
        let status = starling_publish_object_class_attributes(rti.0, 1, null(), 5);
        refused_naming(
            status,
            &[
                "publishObjectClassAttributes",
                "attributes",
                "null",
                "5",
                "5.2",
            ],
        );
        let status = starling_destroy_federation_execution(rti.0, no_text(3));
        refused_naming(status, &["destroyFederationExecution", "federation", "3"]);
        let names = [text("a"), no_text(1)];
        let status = starling_release_multiple_object_instance_name(rti.0, names.as_ptr(), 2);
        refused_naming(status, &["names", "null"]);
        let value = |value| [StarlingValue { handle: 1, value }];
        let status = starling_update_attribute_values(rti.0, 1, null(), 1, no_bytes(0));
        refused_naming(status, &["updateAttributeValues", "values"]);
        let status =
            starling_update_attribute_values(rti.0, 1, value(no_bytes(9)).as_ptr(), 1, no_bytes(0));
        refused_naming(status, &["updateAttributeValues", "values", "9"]);
        let few = [value(no_bytes(0))[0], value(no_bytes(9))[0]];
        let status = starling_update_attribute_values(rti.0, 1, few.as_ptr(), 2, no_bytes(0));
        refused_naming(status, &["updateAttributeValues", "values", "9"]);
        let many = [value(no_bytes(9))[0]; 17];
        let status = starling_update_attribute_values(rti.0, 1, many.as_ptr(), 17, no_bytes(0));
        refused_naming(status, &["updateAttributeValues", "values", "9"]);
        let status = starling_update_attribute_values(rti.0, 1, null(), 0, no_bytes(2));
        refused_naming(status, &["tag", "2"]);
        let (attributes, regions) = ([1], null());
        let pair = StarlingAttributeRegions {
            attributes: attributes.as_ptr(),
            attributes_count: 1,
            regions,
            regions_count: 4,
        };
        refused_naming(
            starling_associate_regions_for_updates(rti.0, 1, &raw const pair, 1),
            &["regions", "4"],
        );
        let status = starling_publish_object_class_attributes(null(), 1, null(), 0);
        refused_naming(status, &["the ambassador is null"]);
    }
}

#[test]
fn null_of_no_size_is_an_empty_list() {
    let rti = Ambassador::new();
    let nothing = StarlingBytes {
        data: null(),
        size: 0,
    };
    // SAFETY: with a size of 0 nothing is read.
    unsafe {
        let status = starling_publish_object_class_attributes(rti.0, 1, null(), 0);
        assert_eq!(failed(status).0, ExceptionKind::NotConnected);
        let status = starling_update_attribute_values(rti.0, 1, null(), 0, nothing);
        assert_eq!(failed(status).0, ExceptionKind::NotConnected);
    }
}

#[test]
fn what_is_not_aligned_or_larger_than_memory_is_refused() {
    let rti = Ambassador::new();
    let numbers = [1_u32, 2];
    let askew = numbers.as_ptr().wrapping_byte_add(1);
    // SAFETY: both are refused before they are read.
    unsafe {
        let status = starling_publish_object_class_attributes(rti.0, 1, askew, 1);
        refused_naming(status, &["attributes", "not aligned"]);
        let much = usize::MAX / 2;
        let status = starling_publish_object_class_attributes(rti.0, 1, numbers.as_ptr(), much);
        refused_naming(status, &["attributes", "too large"]);
    }
}

#[test]
fn a_result_must_have_a_place() {
    let rti = Ambassador::new();
    let mut handles = [7_u32; 2];
    // SAFETY: null and not aligned are refused before anything is written.
    unsafe {
        let status = starling_get_federate_handle(rti.0, text("A"), null_mut());
        refused_naming(status, &["getFederateHandle", "result"]);
        let askew = handles.as_mut_ptr().wrapping_byte_add(1);
        let status = starling_get_federate_handle(rti.0, text("A"), askew);
        refused_naming(status, &["getFederateHandle", "result"]);
        let status = starling_get_federate_handle(rti.0, text("A"), handles.as_mut_ptr());
        assert_eq!(failed(status).0, ExceptionKind::NotConnected);
    }
    assert_eq!(handles, [7, 7], "a failure stores nothing");
}

#[test]
fn texts_must_be_utf8() {
    let rti = Ambassador::new();
    let (data, size) = (b"\xff".as_ptr(), 1);
    // SAFETY: a constant.
    unsafe {
        let name = StarlingText { data, size };
        let status = starling_destroy_federation_execution(rti.0, name);
        refused_naming(status, &["federation", "utf-8"]);
    }
}

#[test]
fn what_all_services_ask_for_comes_before_an_enumerator() {
    let rti = Ambassador::new();
    // SAFETY: no pointers but the ambassador's.
    let status = unsafe { starling_set_automatic_resign_directive(rti.0, 99) };
    assert_eq!(failed(status).0, ExceptionKind::NotConnected);
}

#[test]
fn each_enumerator_has_one_number() {
    fn all<T: Numbered + PartialEq + std::fmt::Debug>(numbers: std::ops::Range<u32>) {
        for number in 0..100 {
            let found = T::numbered(number);
            assert_eq!(
                found.is_ok(),
                numbers.contains(&number),
                "{number}: {found:?}"
            );
            if let Ok(found) = found {
                assert_eq!(found.number(), number);
            }
        }
    }
    all::<Order>(1..3);
    all::<ResignAction>(0..6);
    all::<ServiceGroup>(0..7);
    all::<Transportation>(1..3);
}

#[test]
fn results_live_until_the_threads_next_one() {
    let first = keep("one".to_owned());
    // SAFETY: kept by this thread, which makes no call in between.
    assert_eq!(unsafe { first.read("first") }.unwrap(), "one");
    let handles = keep_handles([1, 2, 3].into_iter());
    // SAFETY: as above.
    let read = unsafe { list(&handles.data, handles.size, "handles") };
    assert_eq!(read.unwrap(), [1, 2, 3]);
    let none = keep_handles(std::iter::empty());
    assert_eq!(none.size, 0);
}

#[test]
fn a_time_of_another_type_is_not_no_time() {
    let time = |kind| StarlingTime { kind, bits: 0 }.time_if_any();
    assert_eq!(time(2).unwrap(), None);
    assert!(time(0).unwrap().is_some());
    for kind in [3, u32::MAX] {
        assert_eq!(
            time(kind).unwrap_err().kind,
            ExceptionKind::InvalidLogicalTime
        );
    }
}

/// The service that refuses it adds its own.
#[test]
fn what_is_no_time_cites_no_clause() {
    for (kind, bits) in [(1, f64::NAN), (1, f64::INFINITY), (7, 0.0)] {
        let bits = bits.to_bits();
        let refused = StarlingTime { kind, bits }.time().unwrap_err();
        assert_eq!(refused.kind, ExceptionKind::InvalidLogicalTime);
        assert!(!refused.message.contains("1516.1"), "{refused:?}");
    }
}
