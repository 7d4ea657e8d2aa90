//! Arguments and results as the text of HLAsuppliedArguments and HLAreturnedArguments (1516.1-2010,
//! 11.4.3). `docs/services/mom.md` says how each type is written.
//!
//! Invariants:
//! - each argument is one text, also where it is a set, and no text grows without bound;
//! - what is not conveyed is an empty text; what is not given, and comes last, is left out.

use crate::callback::{Callback, MessageTime, NamedValues};
use crate::federation::RestoreState;
use crate::message::{AttributeRegions, FederationInformation, RequestNumber, ResignAction};
use crate::{
    AttributeHandle, DimensionHandle, Federate, FederateHandle, InteractionClassHandle,
    LogicalTime, LogicalTimeInterval, MessageRetractionHandle, ObjectClassHandle,
    ObjectInstanceHandle, Order, Owner, ParameterHandle, RegionHandle, RestoreFailure, SaveFailure,
    SaveStatus, ServiceGroup, SynchronizationPointFailure, Transportation,
};
use std::fmt::{Display, Write as _};

/// Of more bytes only so many are shown.
const BYTES_MAX: usize = 64;
/// Of a longer text only so many bytes are shown.
const TEXT_BYTES_MAX: usize = 1024;
/// Of more elements only so many are shown.
const ELEMENTS_MAX: usize = 100;

/// The texts of one call, to be filled in the order of its arguments.
pub(crate) struct Saying<'a> {
    federate: &'a Federate,
    texts: Vec<String>,
}

impl<'a> Saying<'a> {
    /// With the names that this federate knows.
    pub(crate) fn new(federate: &'a Federate) -> Self {
        Saying {
            federate,
            texts: Vec::new(),
        }
    }

    pub(crate) fn texts(self) -> Vec<String> {
        self.texts
    }

    fn put(&mut self, text: impl Into<String>) {
        self.texts.push(text.into());
    }

    fn one(&mut self, item: impl Part) {
        let mut text = String::new();
        item.write(&mut text, self.federate);
        self.texts.push(text);
    }

    /// `{a, b}`.
    fn set<T: Part>(&mut self, items: impl ExactSizeIterator<Item = T>) {
        let mut text = String::new();
        write_set(&mut text, self.federate, items);
        self.texts.push(text);
    }
}

/// An argument or a result.
pub(crate) trait Said {
    fn say(&self, to: &mut Saying<'_>);
}

/// What stands in a set as well as by itself.
trait Part {
    fn write(&self, text: &mut String, names: &Federate);
}

fn put(text: &mut String, value: impl Display) {
    write!(text, "{value}").expect("a String takes all");
}

fn write_set<T: Part>(
    text: &mut String,
    names: &Federate,
    items: impl ExactSizeIterator<Item = T>,
) {
    let count = items.len();
    text.push('{');
    for (n, item) in items.take(ELEMENTS_MAX).enumerate() {
        if n > 0 {
            text.push_str(", ");
        }
        item.write(text, names);
    }
    if count > ELEMENTS_MAX {
        put(text, format_args!(", ... ({count} in all)"));
    }
    text.push('}');
}

/// The beginning of a text, and how much of it there is if that is not all.
pub(super) fn shortened(text: &str, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.to_owned();
    }
    let end = (0..=bytes_max).rev().find(|n| text.is_char_boundary(*n));
    let (start, bytes) = (&text[..end.unwrap_or_default()], text.len());
    format!("{start}... ({bytes} bytes)")
}

/// A number, and the name that belongs to it, if it is known.
fn named(text: &mut String, number: impl Display, name: Option<&str>) {
    put(text, number);
    if let Some(name) = name {
        text.push(' ');
        quoted(text, name);
    }
}

/// A name beside other things: in quotes, those within it behind a backslash.
fn quoted(text: &mut String, name: &str) {
    text.push('"');
    for c in shortened(name, TEXT_BYTES_MAX).chars() {
        if matches!(c, '"' | '\\') {
            text.push('\\');
        }
        text.push(c);
    }
    text.push('"');
}

/// Handles that federates make are numbered by federate, as `toString` of the C++ API shows them.
fn by_federate(handle: u64) -> String {
    format!("{}.{}", handle >> 32, handle & u64::from(u32::MAX))
}

impl<T: Part> Part for &T {
    fn write(&self, text: &mut String, names: &Federate) {
        (*self).write(text, names);
    }
}

/// `key: value`.
impl<K: Part, V: Part> Part for (K, V) {
    fn write(&self, text: &mut String, names: &Federate) {
        self.0.write(text, names);
        text.push_str(": ");
        self.1.write(text, names);
    }
}

impl Part for FederateHandle {
    fn write(&self, text: &mut String, names: &Federate) {
        named(text, self.0, names.federate_name(*self).ok());
    }
}

impl Part for ObjectInstanceHandle {
    fn write(&self, text: &mut String, names: &Federate) {
        named(
            text,
            by_federate(self.0),
            names.instance_name_if_known(*self).as_deref(),
        );
    }
}

macro_rules! of_the_fdd {
    ($($handle:ty: $look:ident;)*) => {$(
        impl Part for $handle {
            fn write(&self, text: &mut String, names: &Federate) {
                named(text, self, names.model.$look(*self).map(|d| d.name.as_str()));
            }
        }
    )*};
}
of_the_fdd! {
    ObjectClassHandle: object_class;
    InteractionClassHandle: interaction_class;
    AttributeHandle: attribute;
    ParameterHandle: parameter;
    DimensionHandle: dimension;
}

macro_rules! plain {
    ($($type:ty: $text:expr;)*) => {$(
        impl Part for $type {
            fn write(&self, text: &mut String, _: &Federate) {
                let show: fn(&$type) -> _ = $text;
                put(text, show(self));
            }
        }
    )*};
}
plain! {
    RegionHandle: |region| by_federate(region.0);
    MessageRetractionHandle: |message| by_federate(message.0);
    bool: |value| *value;
    u32: |value| *value;
    u64: |value| *value;
    f64: |value| *value;
    LogicalTime: |time| *time;
    LogicalTimeInterval: |interval| *interval;
    Order: |order| order.name();
    Transportation: |transportation| transportation.name();
    ResignAction: |action| action.name();
    ServiceGroup: |group| group.name();
    SaveFailure: |why| why.name();
    RestoreFailure: |why| why.name();
    SynchronizationPointFailure: |why| why.name();
    SaveStatus: |status| status.name();
}

/// A name among others.
impl Part for &str {
    fn write(&self, text: &mut String, _: &Federate) {
        quoted(text, self);
    }
}

impl Part for &[u8] {
    fn write(&self, text: &mut String, _: &Federate) {
        text.push_str("0x");
        for byte in self.iter().take(BYTES_MAX) {
            put(text, format_args!("{byte:02x}"));
        }
        if self.len() > BYTES_MAX {
            put(text, format_args!("... ({} bytes)", self.len()));
        }
    }
}

impl Part for AttributeRegions {
    fn write(&self, text: &mut String, names: &Federate) {
        write_set(text, names, self.attributes.iter());
        text.push_str(": ");
        write_set(text, names, self.regions.iter());
    }
}

impl Part for FederationInformation {
    fn write(&self, text: &mut String, names: &Federate) {
        (self.name.as_str(), self.time_implementation.as_str()).write(text, names);
    }
}

impl Part for RestoreState {
    fn write(&self, text: &mut String, names: &Federate) {
        self.before.write(text, names);
        put(
            text,
            format_args!(": {} {}", self.after.0, self.status.name()),
        );
    }
}

macro_rules! one_text {
    ($($type:ty)*) => {$(
        impl Said for $type {
            fn say(&self, to: &mut Saying<'_>) {
                to.one(self);
            }
        }
    )*};
}
one_text! {
    FederateHandle ObjectClassHandle InteractionClassHandle ObjectInstanceHandle AttributeHandle
    ParameterHandle DimensionHandle RegionHandle MessageRetractionHandle bool u64 f64 LogicalTime
    LogicalTimeInterval Order Transportation ResignAction ServiceGroup SaveFailure RestoreFailure
}

macro_rules! sets {
    ($($type:ty)*) => {$(
        impl Said for [$type] {
            fn say(&self, to: &mut Saying<'_>) {
                to.set(self.iter());
            }
        }

        impl Said for Vec<$type> {
            fn say(&self, to: &mut Saying<'_>) {
                self.as_slice().say(to);
            }
        }
    )*};
}
sets! {
    (FederateHandle, SaveStatus) FederateHandle AttributeHandle DimensionHandle RegionHandle
    AttributeRegions FederationInformation RestoreState
}

impl Said for () {
    fn say(&self, _: &mut Saying<'_>) {}
}

/// What comes of it is not known yet.
impl Said for RequestNumber {
    fn say(&self, _: &mut Saying<'_>) {}
}

/// By itself a text is as it is.
impl Said for str {
    fn say(&self, to: &mut Saying<'_>) {
        to.put(shortened(self, TEXT_BYTES_MAX));
    }
}

/// A name, if one is given.
impl Said for Option<&str> {
    fn say(&self, to: &mut Saying<'_>) {
        self.iter().for_each(|name| name.say(to));
    }
}

impl Said for String {
    fn say(&self, to: &mut Saying<'_>) {
        self.as_str().say(to);
    }
}

impl Said for [&str] {
    fn say(&self, to: &mut Saying<'_>) {
        to.set(self.iter().copied());
    }
}

impl Said for Vec<String> {
    fn say(&self, to: &mut Saying<'_>) {
        to.set(self.iter().map(String::as_str));
    }
}

impl Said for [u8] {
    fn say(&self, to: &mut Saying<'_>) {
        to.one(self);
    }
}

impl Said for Vec<u8> {
    fn say(&self, to: &mut Saying<'_>) {
        self.as_slice().say(to);
    }
}

impl<H: Part> Said for [(H, &[u8])] {
    fn say(&self, to: &mut Saying<'_>) {
        to.set(self.iter());
    }
}

/// Values, then the tag that came with them.
impl<H: Part + Copy> Said for NamedValues<H> {
    fn say(&self, to: &mut Saying<'_>) {
        let values: Vec<_> = self.iter().collect();
        values.as_slice().say(to);
        self.tag().say(to);
    }
}

/// The bounds of a range.
impl Said for (u32, u32) {
    fn say(&self, to: &mut Saying<'_>) {
        to.one(self.0);
        to.one(self.1);
    }
}

impl Said for Option<LogicalTime> {
    fn say(&self, to: &mut Saying<'_>) {
        self.iter().for_each(|time| time.say(to));
    }
}

impl Said for Option<Box<MessageTime>> {
    fn say(&self, to: &mut Saying<'_>) {
        if let Some(time) = self {
            time.time.say(to);
            time.sent.say(to);
            time.received.say(to);
            if time.retraction.0 != 0 {
                time.retraction.say(to);
            }
        }
    }
}

impl Said for Option<SynchronizationPointFailure> {
    fn say(&self, to: &mut Saying<'_>) {
        self.iter().for_each(|why| to.one(why));
    }
}

/// Nobody and the RTI have callbacks of their own.
impl Said for Option<Owner> {
    fn say(&self, to: &mut Saying<'_>) {
        let federate = self.and_then(Owner::federate);
        federate.iter().for_each(|federate| federate.say(to));
    }
}

/// The producing federate, if it is conveyed.
impl Said for Option<FederateHandle> {
    fn say(&self, to: &mut Saying<'_>) {
        match self {
            Some(federate) => federate.say(to),
            None => to.put(""),
        }
    }
}

/// The regions that a message was sent with, if they are conveyed.
impl Said for Option<Vec<RegionHandle>> {
    fn say(&self, to: &mut Saying<'_>) {
        match self {
            Some(regions) => regions.say(to),
            None => to.put(""),
        }
    }
}

impl Said for Callback {
    fn say(&self, to: &mut Saying<'_>) {
        match self {
            // Of one name, that is no set.
            Callback::NamesReserved {
                names,
                multiple: false,
                ..
            } => names.iter().for_each(|name| name.say(to)),
            _ => self.say_arguments(to),
        }
    }
}
