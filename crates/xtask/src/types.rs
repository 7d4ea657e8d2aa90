//! The types of arguments and results in `spec/api.tsv`, and what each is in every language.
//!
//! In the texts, `$` is the argument's or the result's name, and `~` the path of starling-core. For an
//! argument `class:ObjectClass` the entry made by `handle!` says:
//!
//! | field | text | becomes |
//! |---|---|---|
//! | `rust` | `("", "~ObjectClassHandle")` | the Rust method's `class: $crate::ObjectClassHandle` |
//! | `c` | `("", "u32")` | the C function's `class_: u32` (a keyword of C++ gets a `_`) |
//! | `read`, `pass` | `ObjectClassHandle::from_raw($)`, `$` | what the C function hands on: `rti.method(ObjectClassHandle::from_raw(class_))` |
//! | `cpp_pass` | `number($)` | what the C++ function hands to the C function: `number(theClass)` |
//! | `take` | `c.object_class()?` | a scenario's call: `let class = c.object_class()?;`, handed on as `say`, or `pass` if that is empty, has it |
//! | `show` | `c.names().object_class($)` | its value as a scenario's reply: `c.names().object_class(value)` |
//!
//! With `checked` the C function reads it first, into a variable of its name, and `pass` is of that: of
//! `regions:Regions`, `let regions = named(service, || unsafe { handles(&regions, regions_count, ...) })?;`
//! and then `rti.method(&regions)`.

use anyhow::{Context, Result};

/// One type. What stays empty does not occur.
pub(crate) struct Type {
    pub(crate) name: &'static str,
    /// In the C++ API, without `const` and `&`.
    pub(crate) cpp: &'static [&'static str],
    /// As arguments of the Rust method: what comes after the name, and the type.
    pub(crate) rust: &'static [(&'static str, &'static str)],
    /// What its parameters or fields in C mean, where the name does not say it.
    pub(crate) about: &'static [&'static str],
    /// As the result of the Rust method.
    pub(crate) rust_result: &'static str,
    /// As parameters of the C function or fields of a callback's struct.
    pub(crate) c: &'static [(&'static str, &'static str)],
    /// How the C function makes of them what the Rust method takes.
    pub(crate) read: &'static str,
    /// What is read may be refused.
    pub(crate) checked: bool,
    /// It is a number in C that stands for one of few, or a time: what is none is refused, and that
    /// without looking at any pointer.
    pub(crate) number: bool,
    /// As arguments for the Rust method: what was read, and what a scenario says.
    pub(crate) pass: &'static str,
    pub(crate) say: &'static str,
    /// The result as C has it: its type, and how it is made.
    pub(crate) c_result: &'static str,
    pub(crate) result: &'static str,
    /// What a callback prepares for its struct.
    pub(crate) prepare: &'static str,
    /// The fields of a callback's struct.
    pub(crate) fields: &'static [&'static str],
    /// What a C++ function prepares for the C function's arguments, and those.
    pub(crate) cpp_prepare: &'static str,
    pub(crate) cpp_pass: &'static str,
    /// The arguments where the C++ API has none.
    pub(crate) cpp_missing: &'static str,
    /// C++ of what a C function gave, or of the fields of a callback's struct.
    pub(crate) cpp_make: &'static str,
    /// How a scenario's call takes it: given, and where it may be missing.
    pub(crate) take: &'static str,
    pub(crate) take_optional: &'static str,
    /// A result, and a callback's argument, as a scenario shows it.
    pub(crate) show: &'static str,
    pub(crate) show_ref: &'static str,
}

const NONE: Type = Type {
    name: "",
    cpp: &[],
    rust: &[],
    about: &[],
    rust_result: "",
    c: &[],
    read: "",
    checked: false,
    number: false,
    pass: "$",
    say: "",
    c_result: "",
    result: "",
    prepare: "",
    fields: &[],
    cpp_prepare: "",
    cpp_pass: "",
    cpp_missing: "",
    cpp_make: "",
    take: "",
    take_optional: "",
    show: "",
    show_ref: "",
};

/// A handle; a number in C.
macro_rules! handle {
    ($name:literal, $handle:literal, $c:literal, $read:literal, $number:literal, $player:literal) => {
        Type {
            name: $name,
            cpp: &[$handle],
            rust: &[("", concat!("~", $handle))],
            rust_result: concat!("~", $handle),
            c: &[("", $c)],
            read: $read,
            c_result: $c,
            result: $number,
            fields: &[$number],
            cpp_pass: "number($)",
            cpp_make: concat!("make<", $handle, ">($)"),
            take: concat!("c.", $player, "()?"),
            show: concat!("c.names().", $player, "($)"),
            show_ref: concat!("n.", $player, "(*$)"),
            ..NONE
        }
    };
}

/// Handles; a pointer and a count in C.
macro_rules! handles {
    ($name:literal, $cpp:expr, $handle:literal, $c:literal, $read:literal, $number:literal, $player:literal) => {
        Type {
            name: $name,
            cpp: $cpp,
            rust: &[("", concat!("&[~", $handle, "]"))],
            rust_result: concat!("Vec<~", $handle, ">"),
            c: &[("", concat!("*const ", $c)), ("_count", "usize")],
            read: concat!("handles(&$, $_count, \"$\", ", $read, ")?"),
            checked: true,
            pass: "&$",
            c_result: "StarlingHandles",
            result: concat!("keep_handles($.iter().map(|h| ", $number, "))"),
            prepare: concat!(
                "let $: Vec<",
                $c,
                "> = $.iter().map(|h| ",
                $number,
                ").collect();"
            ),
            fields: &["$.as_ptr()", "$.len()"],
            cpp_prepare: concat!("Numbers<", $handle, "> const $List($);"),
            cpp_pass: "$List.data(), $List.size()",
            cpp_missing: "nullptr, 0",
            cpp_make: concat!("handles<", $handle, ">($, $_count)"),
            take: concat!("c.", $player, "()?"),
            take_optional: concat!("c.optional(Call::", $player, ")?"),
            show: concat!("c.names().", $player, "(&$)"),
            show_ref: concat!("n.", $player, "($)"),
            ..NONE
        }
    };
}

/// One of few; a number in C, which must be one of theirs.
macro_rules! enumerator {
    ($name:literal, $path:literal, $cpp:literal, $about:literal, $player:literal) => {
        Type {
            name: $name,
            cpp: &[$cpp],
            rust: &[("", concat!("~", $path))],
            rust_result: concat!("~", $path),
            c: &[("", "u32")],
            read: concat!($name, "::numbered($)?"),
            checked: true,
            number: true,
            c_result: "u32",
            result: "$.number()",
            fields: &["$.number()"],
            about: &[$about],
            cpp_pass: "$",
            cpp_make: concat!("static_cast<", $cpp, ">($)"),
            take: concat!("c.", $player, "()?"),
            show: concat!("names::", $player, "($)"),
            show_ref: concat!("names::", $player, "(*$)"),
            ..NONE
        }
    };
}

/// What is the same in every language.
macro_rules! plain {
    ($name:literal, $cpp:expr, $c:literal, $take:literal) => {
        Type {
            name: $name,
            cpp: $cpp,
            rust: &[("", $c)],
            rust_result: $c,
            c: &[("", $c)],
            read: "$",
            c_result: $c,
            result: "$",
            fields: &["*$"],
            cpp_pass: "$",
            cpp_make: "$",
            take: $take,
            show: "Value::Word($.to_string())",
            show_ref: "Value::Word($.to_string())",
            ..NONE
        }
    };
}

#[rustfmt::skip]
const TYPES: &[Type] = &[
    handle!("Federate", "FederateHandle", "u32", "FederateHandle($)", "$.0", "federate"),
    handle!("ObjectClass", "ObjectClassHandle", "u32", "ObjectClassHandle::from_raw($)", "$.raw()", "object_class"),
    handle!("InteractionClass", "InteractionClassHandle", "u32", "InteractionClassHandle::from_raw($)", "$.raw()", "interaction_class"),
    handle!("Instance", "ObjectInstanceHandle", "u64", "ObjectInstanceHandle($)", "$.0", "instance"),
    handle!("Attribute", "AttributeHandle", "u32", "AttributeHandle::from_raw($)", "$.raw()", "attribute"),
    handle!("Parameter", "ParameterHandle", "u32", "ParameterHandle::from_raw($)", "$.raw()", "parameter"),
    handle!("Dimension", "DimensionHandle", "u32", "DimensionHandle::from_raw($)", "$.raw()", "dimension"),
    handle!("Region", "RegionHandle", "u64", "RegionHandle($)", "$.0", "region"),
    handle!("Retraction", "MessageRetractionHandle", "u64", "MessageRetractionHandle($)", "$.0", "retraction"),
    handles!("Federates", &["FederateHandleSet"], "FederateHandle", "u32", "FederateHandle", "h.0", "federates"),
    handles!("Attributes", &["AttributeHandleSet", "AttributeHandle"], "AttributeHandle", "u32", "AttributeHandle::from_raw", "h.raw()", "attributes"),
    handles!("Dimensions", &["DimensionHandleSet"], "DimensionHandle", "u32", "DimensionHandle::from_raw", "h.raw()", "dimensions"),
    handles!("Regions", &["RegionHandleSet"], "RegionHandle", "u64", "RegionHandle", "h.0", "regions"),
    enumerator!("ResignAction", "message::ResignAction", "ResignAction", "0 unconditionally divest attributes, 1 delete objects, 2 cancel pending ownership acquisitions, 3 delete objects then divest, 4 cancel then delete then divest, 5 no action.", "resign_action"),
    enumerator!("Transportation", "Transportation", "TransportationType", "1 HLAreliable, 2 HLAbestEffort.", "transportation"),
    enumerator!("Order", "Order", "OrderType", "1 receive order, 2 time-stamp order.", "order"),
    enumerator!("ServiceGroup", "ServiceGroup", "ServiceGroup", "0 federation, 1 declaration, 2 object, 3 ownership, 4 time, 5 data distribution management, 6 support services.", "service_group"),
    plain!("Bool", &["bool"], "bool", "c.flag()?"),
    plain!("Float", &["double"], "f64", "c.float()?"),
    plain!("Number", &["unsigned long"], "u64", "c.whole()?"),
    Type {
        name: "Text",
        cpp: &["std::wstring"],
        rust: &[("", "&str")],
        rust_result: "String",
        c: &[("", "StarlingText")],
        read: "$.read(\"$\")?",
        checked: true,
        c_result: "StarlingText",
        result: "keep($)",
        fields: &["StarlingText::of($)"],
        cpp_pass: "Argument($)",
        cpp_missing: "StarlingText{nullptr, 0}",
        cpp_make: "wide($)",
        take: "c.text()?",
        take_optional: "c.optional_text()?.unwrap_or_default()",
        say: "&$",
        show: "Value::Text($)",
        show_ref: "Value::Text($.clone())",
        ..NONE
    },
    // A null pointer is none.
    Type {
        name: "Name",
        cpp: &["std::wstring"],
        rust: &[("", "Option<&str>")],
        c: &[("", "StarlingText")],
        about: &["If its `data` is null, the RTI makes a name."],
        read: "$.read_optional(\"$\")?",
        checked: true,
        cpp_pass: "Argument($)",
        cpp_missing: "StarlingText{nullptr, 0}",
        take_optional: "c.optional_text()?",
        say: "$.as_deref()",
        ..NONE
    },
    Type {
        name: "Texts",
        cpp: &["std::set<std::wstring>"],
        rust: &[("", "&[&str]")],
        c: &[("", "*const StarlingText"), ("_count", "usize")],
        read: "texts(&$, $_count, \"$\")?",
        checked: true,
        prepare: "let $: Vec<_> = $.iter().map(|t| StarlingText::of(t)).collect();",
        fields: &["$.as_ptr()", "$.len()"],
        cpp_prepare: "Texts const $List($);",
        cpp_pass: "$List.data(), $List.size()",
        take: "c.texts()?",
        pass: "&$",
        say: "&$.iter().map(String::as_str).collect::<Vec<_>>()",
        ..NONE
    },
    // Designators of FOM modules.
    Type {
        name: "Modules",
        cpp: &["std::vector<std::wstring>", "std::wstring"],
        c: &[("", "*const StarlingText"), ("_count", "usize")],
        read: "strings(&$, $_count, \"$\")?",
        checked: true,
        pass: "&$",
        cpp_prepare: "Texts const $List($);",
        cpp_pass: "$List.data(), $List.size()",
        ..NONE
    },
    Type {
        name: "Tag",
        cpp: &["VariableLengthData"],
        rust: &[("", "&[u8]")],
        c: &[("", "StarlingBytes")],
        read: "$.read(\"$\")?",
        checked: true,
        fields: &["StarlingBytes::of($)"],
        cpp_pass: "bytes($)",
        cpp_missing: "StarlingBytes{nullptr, 0}",
        cpp_make: "c.tag($)",
        take: "c.bytes()?",
        say: "&$",
        show_ref: "names::bytes($)",
        ..NONE
    },
    // From `lower` up to, but without, `upper`.
    Type {
        name: "Range",
        cpp: &["RangeBounds"],
        rust: &[("_lower", "u64"), ("_upper", "u64")],
        rust_result: "(u32, u32)",
        c: &[("", "StarlingRange")],
        read: "$",
        pass: "$.lower, $.upper",
        c_result: "StarlingRange",
        result: "StarlingRange::of($)",
        cpp_pass: "StarlingRange{$.getLowerBound(), $.getUpperBound()}",
        cpp_make: "RangeBounds($.lower, $.upper)",
        take: "c.range()?",
        show: "Value::Word(format!(\"{}..{}\", $.0, $.1))",
        ..NONE
    },
    Type {
        name: "AttributeRegions",
        cpp: &["AttributeHandleSetRegionHandleSetPairVector"],
        rust: &[("", "&[~message::AttributeRegions]")],
        c: &[("", "*const StarlingAttributeRegions"), ("_count", "usize")],
        read: "attribute_regions(&$, $_count, \"$\")?",
        checked: true,
        pass: "&$",
        cpp_prepare: "AttributeRegions const $List($);",
        cpp_pass: "$List.data(), $List.size()",
        take: "c.attribute_regions()?",
        ..NONE
    },
    Type {
        name: "Time",
        cpp: &["LogicalTime"],
        rust: &[("", "~LogicalTime")],
        rust_result: "~LogicalTime",
        c: &[("", "StarlingTime")],
        read: "$.time()?",
        checked: true,
        number: true,
        c_result: "StarlingTime",
        result: "StarlingTime::of($)",
        fields: &["StarlingTime::of(*$)"],
        cpp_pass: "timeOf($)",
        cpp_make: "*madeTime($)",
        take: "c.time()?",
        show: "Value::Word($.to_string())",
        show_ref: "Value::Word($.to_string())",
        ..NONE
    },
    Type {
        name: "Interval",
        cpp: &["LogicalTimeInterval"],
        rust: &[("", "~LogicalTimeInterval")],
        rust_result: "~LogicalTimeInterval",
        c: &[("", "StarlingTime")],
        read: "$.interval()?",
        checked: true,
        number: true,
        c_result: "StarlingTime",
        result: "StarlingTime::of_interval($)",
        cpp_pass: "intervalOf($)",
        cpp_make: "*madeInterval($)",
        take: "c.interval()?",
        show: "Value::Word($.to_string())",
        ..NONE
    },
    // Where one may be left out.
    Type {
        name: "TimeIfAny",
        cpp: &["LogicalTime"],
        rust: &[("", "Option<~LogicalTime>")],
        about: &["Its `kind` is 2 where there is none."],
        c: &[("", "StarlingTime")],
        read: "$.time_if_any()?",
        checked: true,
        fields: &["StarlingTime::of_any(*$)"],
        cpp_pass: "timeOf($)",
        cpp_missing: "StarlingTime{2, 0}",
        take_optional: "c.time_at_end()?",
        pass: "$",
        ..NONE
    },
    // Why a save or a restore has failed, and how far the federates are.
    Type {
        name: "SaveFailure",
        cpp: &["SaveFailureReason"],
        c: &[("", "u32")],
        about: &["0 the RTI is unable to save, 1 a federate reported failure, 2 a federate resigned, 3 the RTI detected failure, 4 the time cannot be honored, 5 aborted."],
        fields: &["*$ as u32"],
        cpp_make: "static_cast<SaveFailureReason>($)",
        show_ref: "names::save_failure(*$)",
        ..NONE
    },
    Type {
        name: "RestoreFailure",
        cpp: &["RestoreFailureReason"],
        c: &[("", "u32")],
        about: &["0 the RTI is unable to restore, 1 a federate reported failure, 2 a federate resigned, 3 the RTI detected failure, 4 aborted."],
        fields: &["*$ as u32"],
        cpp_make: "static_cast<RestoreFailureReason>($)",
        show_ref: "names::restore_failure(*$)",
        ..NONE
    },
    Type {
        name: "SaveStatuses",
        c: &[("", "*const StarlingSaveStatus"), ("_count", "usize")],
        prepare: "let $: Vec<_> = $.iter().map(StarlingSaveStatus::of).collect();",
        fields: &["$.as_ptr()", "$.len()"],
        ..NONE
    },
    Type {
        name: "RestoreStates",
        c: &[("", "*const StarlingRestoreStatus"), ("_count", "usize")],
        prepare: "let $: Vec<_> = $.iter().map(StarlingRestoreStatus::of).collect();",
        fields: &["$.as_ptr()", "$.len()"],
        ..NONE
    },
    // GALT and LITS.
    Type {
        name: "TimeIfDefined",
        cpp: &["LogicalTime"],
        rust_result: "Option<~LogicalTime>",
        about: &["Its `kind` is 2 where it is undefined."],
        c_result: "StarlingTime",
        result: "StarlingTime::of_any($)",
        ..NONE
    },
    // Null where there is none.
    Type {
        name: "MessageTime",
        c: &[("", "*const StarlingMessageTime")],
        about: &["Null if no time stamp was given: in receive order then."],
        prepare: "let $ = $.as_deref().map(StarlingMessageTime::of);",
        fields: &["$.as_ref().map_or(null(), from_ref)"],
        ..NONE
    },
    // The services that take values are written by hand.
    Type {
        name: "AttributeValues",
        cpp: &["AttributeHandleValueMap"],
        c: &[("", "*const StarlingValue"), ("_count", "usize")],
        prepare: "self.fill($.iter().map(|(h, v)| (h.raw(), v)));",
        fields: &["self.values.as_ptr()", "self.values.len()"],
        ..NONE
    },
    Type {
        name: "ParameterValues",
        cpp: &["ParameterHandleValueMap"],
        c: &[("", "*const StarlingValue"), ("_count", "usize")],
        prepare: "self.fill($.iter().map(|(h, v)| (h.raw(), v)));",
        fields: &["self.values.as_ptr()", "self.values.len()"],
        ..NONE
    },
    // Of connect, which is written by hand.
    Type {
        name: "Callbacks",
        cpp: &["FederateAmbassador"],
        ..NONE
    },
    Type {
        name: "CallbackModel",
        cpp: &["CallbackModel"],
        ..NONE
    },
    // Null where they are not conveyed.
    Type {
        name: "SentRegions",
        c: &[("", "*const StarlingRegions")],
        about: &["Null where they are not conveyed."],
        prepare: "let $: Option<Vec<u64>> = $.as_ref().map(|r| r.iter().map(|h| h.0).collect());\n\
            let $ = $.as_deref().map(StarlingRegions::of);",
        fields: &["$.as_ref().map_or(null(), from_ref)"],
        ..NONE
    },
    // Arguments of callbacks only.
    Type {
        name: "Producer",
        c: &[("", "u32")],
        about: &["The federate, or 0 where it is not conveyed."],
        fields: &["federate_number(*$)"],
        ..NONE
    },
    Type {
        name: "Owner",
        c: &[("", "u32"), ("_kind", "u32")],
        about: &["The federate if `owner_kind` is 1, else 0.", "0 nobody, 1 a federate, 2 the RTI."],
        fields: &["federate_number($.and_then(Owner::federate))", "owner_kind(*$)"],
        ..NONE
    },
    Type {
        name: "SynchronizationPointFailure",
        c: &[("", "u32"), ("_happened", "bool")],
        about: &["Why, if it was not registered: 0 the label is not unique, 1 a federate of the set is not joined.", "Whether it was not registered."],
        fields: &["$.map_or(0, |f| f as u32)", "$.is_some()"],
        ..NONE
    },
    Type {
        name: "Federations",
        c: &[("", "*const StarlingFederation"), ("_count", "usize")],
        prepare: "let $: Vec<_> = $.iter().map(StarlingFederation::of).collect();",
        fields: &["$.as_ptr()", "$.len()"],
        ..NONE
    },
];

/// The type of this name.
pub(crate) fn type_named(name: &str) -> Result<&'static Type> {
    TYPES.iter().find(|t| t.name == name).with_context(|| {
        let names: Vec<_> = TYPES.iter().map(|t| t.name).collect();
        format!("there is no type {name}; there are {}", names.join(", "))
    })
}

impl Type {
    /// Whether a parameter of this C++ type can be one.
    pub(crate) fn takes(&self, parameter: &str) -> bool {
        let bare = parameter.trim_end_matches('&').trim_end();
        let bare = bare.strip_suffix(" const").unwrap_or(bare);
        self.cpp.contains(&bare)
    }
}

/// The text with the name in it.
pub(crate) fn fill(text: &str, name: &str) -> String {
    text.replace('$', name)
}
