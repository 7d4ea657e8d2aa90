//! The C++ headers of IEEE 1516.1-2010 from `spec/cpp/rti1516e.tsv`: every declaration with its
//! signature, in the table's order, which is the order of virtual tables and fields.

use crate::{Generated, table};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fmt::Write as _;

const NAMESPACE: &str = "rti1516e";

/// Headers and what they include: the standard's own as far as federates rely on it, and
/// SpecificConfig.h, which brings `<memory>`, `<string>`, `<utility>` and `<vector>`, everywhere.
const HEADERS: [(&str, &[&str]); 31] = [
    ("RTI/Enums.h", &["<RTI/SpecificConfig.h>"]),
    (
        "RTI/Exception.h",
        &["<RTI/SpecificConfig.h>", "<iosfwd>", "<string>"],
    ),
    (
        "RTI/VariableLengthData.h",
        &["<RTI/SpecificConfig.h>", "<cstddef>"],
    ),
    (
        "RTI/Handle.h",
        &[
            "<RTI/Exception.h>",
            "<RTI/VariableLengthData.h>",
            "<iosfwd>",
            "<string>",
        ],
    ),
    (
        "RTI/Typedefs.h",
        &[
            "<RTI/Enums.h>",
            "<RTI/Handle.h>",
            "<RTI/VariableLengthData.h>",
            "<map>",
            "<set>",
            "<string>",
            "<utility>",
            "<vector>",
        ],
    ),
    ("RTI/RangeBounds.h", &["<RTI/SpecificConfig.h>"]),
    ("RTI/LogicalTime.h", TIME),
    ("RTI/LogicalTimeInterval.h", TIME),
    (
        "RTI/LogicalTimeFactory.h",
        &["<RTI/LogicalTime.h>", "<RTI/LogicalTimeInterval.h>"],
    ),
    ("RTI/FederateAmbassador.h", AMBASSADOR),
    (
        "RTI/NullFederateAmbassador.h",
        &["<RTI/FederateAmbassador.h>"],
    ),
    ("RTI/RTIambassador.h", AMBASSADOR),
    (
        "RTI/RTIambassadorFactory.h",
        &["<RTI/Exception.h>", "<memory>"],
    ),
    ("RTI/encoding/EncodingConfig.h", &["<RTI/SpecificConfig.h>"]),
    (
        "RTI/encoding/EncodingExceptions.h",
        &["<RTI/Exception.h>", "<RTI/encoding/EncodingConfig.h>"],
    ),
    (
        "RTI/encoding/DataElement.h",
        &[
            "<RTI/VariableLengthData.h>",
            "<RTI/encoding/EncodingConfig.h>",
            "<RTI/encoding/EncodingExceptions.h>",
            "<cstddef>",
            "<memory>",
            "<vector>",
        ],
    ),
    ("RTI/encoding/BasicDataElements.h", ELEMENT),
    ("RTI/encoding/HLAopaqueData.h", ELEMENT),
    ("RTI/encoding/HLAfixedArray.h", ELEMENT),
    ("RTI/encoding/HLAvariableArray.h", ELEMENT),
    ("RTI/encoding/HLAfixedRecord.h", ELEMENT),
    ("RTI/encoding/HLAvariantRecord.h", ELEMENT),
    ("RTI/time/HLAinteger64Interval.h", INTERVAL),
    (
        "RTI/time/HLAinteger64Time.h",
        &["<RTI/LogicalTime.h>", "<RTI/time/HLAinteger64Interval.h>"],
    ),
    (
        "RTI/time/HLAinteger64TimeFactory.h",
        &[
            "<RTI/LogicalTimeFactory.h>",
            "<RTI/time/HLAinteger64Time.h>",
        ],
    ),
    ("RTI/time/HLAfloat64Interval.h", INTERVAL),
    (
        "RTI/time/HLAfloat64Time.h",
        &["<RTI/LogicalTime.h>", "<RTI/time/HLAfloat64Interval.h>"],
    ),
    (
        "RTI/time/HLAfloat64TimeFactory.h",
        &["<RTI/LogicalTimeFactory.h>", "<RTI/time/HLAfloat64Time.h>"],
    ),
    (
        "RTI/RTI1516.h",
        &[
            "<RTI/SpecificConfig.h>",
            "<RTI/Enums.h>",
            "<RTI/Exception.h>",
            "<RTI/Handle.h>",
            "<RTI/VariableLengthData.h>",
            "<RTI/Typedefs.h>",
            "<RTI/RangeBounds.h>",
            "<RTI/LogicalTime.h>",
            "<RTI/LogicalTimeInterval.h>",
            "<RTI/LogicalTimeFactory.h>",
            "<RTI/FederateAmbassador.h>",
            "<RTI/RTIambassador.h>",
            "<RTI/RTIambassadorFactory.h>",
            "<string>",
        ],
    ),
    (
        "RTI/RTI1516fedTime.h",
        &[
            "<RTI/time/HLAfloat64TimeFactory.h>",
            "<RTI/time/HLAinteger64TimeFactory.h>",
        ],
    ),
    (
        "RTI/certiRTI1516.h",
        &["<RTI/RTI1516.h>", "<RTI/RTI1516fedTime.h>"],
    ),
];

const TIME: &[&str] = &[
    "<RTI/Exception.h>",
    "<RTI/VariableLengthData.h>",
    "<cstddef>",
    "<iosfwd>",
    "<memory>",
    "<string>",
];
const AMBASSADOR: &[&str] = &[
    "<RTI/Exception.h>",
    "<RTI/Typedefs.h>",
    "<memory>",
    "<string>",
    "<vector>",
];
const ELEMENT: &[&str] = &["<RTI/encoding/DataElement.h>", "<string>"];
const INTERVAL: &[&str] = &[
    "<RTI/LogicalTimeInterval.h>",
    "<RTI/encoding/EncodingConfig.h>",
];

const SPECIFIC_CONFIG: &str = r#"/// Export of symbols, and exception specifications by language version.
#if defined(_WIN32)
#if defined(STATIC_RTI)
#define RTI_EXPORT
#elif defined(BUILDING_RTI)
#define RTI_EXPORT __declspec(dllexport)
#else
#define RTI_EXPORT __declspec(dllimport)
#endif
#if defined(STATIC_FEDTIME)
#define RTI_EXPORT_FEDTIME
#elif defined(BUILDING_FEDTIME)
#define RTI_EXPORT_FEDTIME __declspec(dllexport)
#else
#define RTI_EXPORT_FEDTIME __declspec(dllimport)
#endif
#else
#define RTI_EXPORT
#define RTI_EXPORT_FEDTIME
#endif

#if __cplusplus >= 201703L || (defined(_MSVC_LANG) && _MSVC_LANG >= 201703L)
#define RTI_NOEXCEPT noexcept
#define RTI_THROW(...)
#else
#define RTI_NOEXCEPT throw()
/// Takes exceptions as `RTI_THROW(A, B)` and as `RTI_THROW((A, B))`.
#define RTI_THROW(...) throw(RTI_THROW_LIST(RTI_THROW_OPEN __VA_ARGS__))
#define RTI_THROW_OPEN(...) RTI_THROW_OPEN __VA_ARGS__
#define RTI_THROW_LIST(...) RTI_THROW_PASTE(__VA_ARGS__)
#define RTI_THROW_PASTE(...) RTI_THROW_DROP_##__VA_ARGS__
#define RTI_THROW_DROP_RTI_THROW_OPEN
#endif

#include <memory>
#include <string>
#include <utility>
#include <vector>

/// `rti1516e::auto_ptr` is the standard's smart pointer where the library still has it: the
/// libraries of LLVM and Microsoft dropped it in C++17, that of GNU on demand. RTI_UNIQUE_PTR is a
/// name by which some federates call it.
#if (defined(_LIBCPP_VERSION) && __cplusplus >= 201703L && !defined(_LIBCPP_ENABLE_CXX17_REMOVED_AUTO_PTR)) || \
    (defined(_HAS_AUTO_PTR_ETC) && !_HAS_AUTO_PTR_ETC) || \
    (defined(_GLIBCXX_USE_DEPRECATED) && !_GLIBCXX_USE_DEPRECATED && __cplusplus >= 201103L)
#define RTI_UNIQUE_PTR std::unique_ptr
namespace rti1516e {
template <class T> using auto_ptr = std::unique_ptr<T>;
}
#else
#define RTI_UNIQUE_PTR std::auto_ptr
namespace rti1516e {
using std::auto_ptr;
}
#endif
"#;

/// Names that federates of CERTI use for HLAfloat64Time and its interval.
const FED_TIME: &str = r#"class RTI1516fedTime : public rti1516e::HLAfloat64Time {
public:
    RTI1516fedTime() {}
    RTI1516fedTime(double time) : rti1516e::HLAfloat64Time(time) {}
    RTI1516fedTime(rti1516e::LogicalTime const &time) : rti1516e::HLAfloat64Time(time) {}
    using rti1516e::HLAfloat64Time::operator=;
    RTI1516fedTime &operator=(double time) {
        setTime(time);
        return *this;
    }
    double getFedTime() const { return getTime(); }
};

/// Its length is getInterval().
class RTI1516fedTimeInterval : public rti1516e::HLAfloat64Interval {
public:
    RTI1516fedTimeInterval() {}
    RTI1516fedTimeInterval(double interval) : rti1516e::HLAfloat64Interval(interval) {}
    RTI1516fedTimeInterval(rti1516e::LogicalTimeInterval const &interval)
        : rti1516e::HLAfloat64Interval(interval) {}
    using rti1516e::HLAfloat64Interval::operator=;
    RTI1516fedTimeInterval &operator=(double interval) {
        setInterval(interval);
        return *this;
    }
};
"#;

/// The macros by which the standard's headers define families of classes. `#` stands for the
/// name, `@` for the implementation's value type.
const EXCEPTION: &str = r#"class RTI_EXPORT # : public Exception {
public:
    #(std::wstring const &message) RTI_NOEXCEPT;
    std::wstring what() const RTI_NOEXCEPT;

private:
    std::wstring _msg;
};
"#;

const HANDLE: &str = r#"class #Implementation;

class RTI_EXPORT # {
public:
    /// An invalid handle.
    #();
    ~#() RTI_NOEXCEPT;
    #(# const &rhs);
    # &operator=(# const &rhs);
    bool isValid() const;
    bool operator==(# const &rhs) const;
    bool operator!=(# const &rhs) const;
    bool operator<(# const &rhs) const;
    long hash() const;
    /// For sending it to other federates of the federation execution, opaque.
    VariableLengthData encode() const;
    void encode(VariableLengthData &buffer) const;
    size_t encode(void *buffer, size_t bufferSize) const RTI_THROW(CouldNotEncode);
    size_t encodedLength() const;
    std::wstring toString() const;

protected:
    friend class #Friend;
    const #Implementation *getImplementation() const;
    #Implementation *getImplementation();
    explicit #(#Implementation *impl);
    explicit #(VariableLengthData const &encodedValue);
    #Implementation *_impl;
};

std::wostream RTI_EXPORT &operator<<(std::wostream &, # const &);
"#;

const ENCODING: &str = r#"class #Implementation;

class RTI_EXPORT # : public rti1516e::DataElement {
public:
    #();
    explicit #(@ const &inData);
    /// Works on the caller's variable from now on.
    explicit #(@ *inData);
    #(# const &rhs);
    virtual ~#();
    # &operator=(# const &rhs);
    virtual rti1516e::auto_ptr<DataElement> clone() const;
    virtual VariableLengthData encode() const RTI_THROW(EncoderException);
    virtual void encode(VariableLengthData &inData) const RTI_THROW(EncoderException);
    virtual void encodeInto(std::vector<Octet> &buffer) const RTI_THROW(EncoderException);
    virtual void decode(VariableLengthData const &inData) RTI_THROW(EncoderException);
    virtual size_t decodeFrom(std::vector<Octet> const &buffer, size_t index) RTI_THROW(EncoderException);
    virtual size_t getEncodedLength() const RTI_THROW(EncoderException);
    virtual unsigned int getOctetBoundary() const;
    virtual Integer64 hash() const;
    virtual void setDataPointer(@ *inData) RTI_THROW(EncoderException);
    virtual void set(@ inData);
    virtual @ get() const;
    # &operator=(@ rhs);
    operator @() const;

protected:
    #Implementation *_impl;
};
"#;

type Row = Vec<String>;

pub(crate) fn generate() -> Result<Vec<Generated>> {
    let rows = table("spec/cpp/rti1516e.tsv")?;
    let clauses = clauses()?;
    let mut out = vec![file("RTI/SpecificConfig.h", &[], SPECIFIC_CONFIG)];
    for (header, includes) in HEADERS {
        let mine: Vec<&Row> = rows.iter().filter(|r| r[0] == header).collect();
        let body = match header {
            "RTI/Exception.h" => family(&mine, "RTI_EXCEPTION(A)", EXCEPTION)?,
            "RTI/Handle.h" => family(&mine, "DEFINE_HANDLE_CLASS(HandleKind)", HANDLE)?,
            "RTI/encoding/BasicDataElements.h" => family(
                &mine,
                "DEFINE_ENCODING_HELPER_CLASS(EncodableDataType, SimpleDataType)",
                ENCODING,
            )?,
            "RTI/RTI1516fedTime.h" => FED_TIME.to_owned(),
            "RTI/certiRTI1516.h" => String::new(),
            _ => plain(&mine, &clauses)?,
        };
        out.push(file(header, includes, &body));
    }
    out.push(exception_list(&rows)?);
    Ok(out)
}

/// 2010 clause of each service and callback.
pub(crate) fn clauses() -> Result<BTreeMap<String, String>> {
    let mut map = BTreeMap::new();
    for row in table("spec/services.tsv")? {
        for (name, clause) in row[4].split(" / ").zip(row[1].split(" / ").cycle()) {
            if name != "-" && clause != "-" {
                map.entry(name.to_owned())
                    .or_insert_with(|| clause_number(clause).to_owned());
            }
        }
    }
    Ok(map)
}

/// What only the programming languages' APIs have stands in clause 12.
pub(crate) fn clause_number(clause: &str) -> &str {
    if clause == "API" { "12" } else { clause }
}

fn file(header: &str, includes: &[&str], body: &str) -> Generated {
    let guard = header.replace(['/', '.'], "_");
    let mut text = format!(
        "// Generated by `cargo xtask generate` from spec/cpp/rti1516e.tsv.\n\
         #ifndef {guard}\n#define {guard}\n\
         // The standard's smart pointer is deprecated since C++11; that is no federate's fault.\n\
         #if defined(__GNUC__)\n#pragma GCC system_header\n#endif\n\n"
    );
    for include in includes {
        let _ = writeln!(text, "#include {include}");
    }
    let _ = write!(text, "\n{body}\n#endif\n");
    Generated {
        path: format!("cpp/rti1516e/include/{header}"),
        text,
    }
}

/// A header most of whose classes come from one macro.
fn family(rows: &[&Row], signature: &str, template: &str) -> Result<String> {
    let name = signature.split('(').next().unwrap_or_default();
    let parameters = signature[name.len() + 1..]
        .trim_end_matches(')')
        .split(", ");
    let parameters: Vec<&str> = parameters.collect();
    let body = template.replace('#', "\u{1}");
    let body = body.lines().filter(|l| !l.trim_start().starts_with("///"));
    let mut macro_text = format!("#define {name}({})", parameters.join(", "));
    for line in body {
        let line = line.replace('@', parameters.get(1).unwrap_or(&""));
        let line = paste(&line, parameters[0]);
        let _ = write!(macro_text, " \\\n    {line}");
    }
    let mut out = String::new();
    if name == "RTI_EXCEPTION" {
        out += "namespace rti1516e {\n\n/// The base of all exceptions of the RTI (1516.1-2010, 12.11).\n";
        out += "class RTI_EXPORT Exception {\npublic:\n    Exception();\n    Exception(Exception const &rhs);\n";
        out += "    Exception &operator=(Exception const &rhs);\n    virtual ~Exception();\n    /// The reason, for people.\n";
        out += "    virtual std::wstring what() const RTI_NOEXCEPT = 0;\n};\n\n";
        out += "std::wostream RTI_EXPORT &operator<<(std::wostream &, Exception const &);\n\n}\n\n";
    }
    let _ = write!(out, "{macro_text}\n\nnamespace {NAMESPACE} {{\n\n");
    if name != "RTI_EXCEPTION" {
        out += "class VariableLengthData;\n\n";
    }
    for class in rows
        .iter()
        .filter(|r| r[2] == "class" && r[4] != "Exception")
    {
        let _ = match parameters.len() {
            1 => writeln!(out, "{name}({})", class[4]),
            _ => writeln!(
                out,
                "{name}({}, {})",
                class[4],
                simple_type(rows, &class[4])?
            ),
        };
    }
    Ok(out + "\n}\n")
}

/// Pastes a macro's parameter into a line: `##` where it is part of a longer name.
fn paste(line: &str, parameter: &str) -> String {
    let mut out = String::new();
    let mut rest = line;
    while let Some(at) = rest.find('\u{1}') {
        out += &rest[..at];
        out += parameter;
        rest = &rest[at + 1..];
        if rest.starts_with(|c: char| c.is_alphanumeric()) {
            out += "##";
        }
    }
    out + rest
}

/// The value type of a basic data element: what its explicit constructor takes.
fn simple_type<'a>(rows: &[&'a Row], class: &str) -> Result<&'a str> {
    let start = format!("explicit {class}(");
    let end = " const & inData)";
    rows.iter()
        .find_map(|r| r[5].strip_prefix(&start)?.strip_suffix(end))
        .with_context(|| format!("{class} has no constructor from its value"))
}

/// A header as its rows say.
fn plain(rows: &[&Row], clauses: &BTreeMap<String, String>) -> Result<String> {
    let mut out = String::new();
    for row in rows.iter().filter(|r| r[2] == "macro") {
        let _ = writeln!(out, "{}", row[5]);
    }
    let _ = write!(out, "namespace {NAMESPACE} {{\n\n");
    let mut open: Option<(&str, &str)> = None;
    for row in rows.iter().filter(|r| r[2] != "macro") {
        let [_, scope, kind, access, name, signature, exceptions] = row.as_slice() else {
            anyhow::bail!("a row of rti1516e.tsv has {} columns", row.len());
        };
        if scope == NAMESPACE
            && let Some((_, access)) = open.take()
        {
            out += if access == "enum" {
                "\n};\n\n"
            } else {
                "};\n\n"
            };
        }
        let declaration = signature
            .replace(
                " throw(*)",
                &format!(" RTI_THROW({})", exceptions.replace(' ', ", ")),
            )
            .replace(" throw()", " RTI_NOEXCEPT")
            .replace("std::auto_ptr<", "rti1516e::auto_ptr<");
        match kind.as_str() {
            "class" => {
                let _ = writeln!(out, "{declaration} {{");
                open = Some((name, ""));
            }
            "enum" => {
                let _ = write!(out, "{declaration} {{");
                open = Some((name, "enum"));
            }
            "enumerator" => {
                let comma = if out.ends_with('{') { "" } else { "," };
                let _ = write!(out, "{comma}\n    {name} {declaration}");
            }
            _ if scope == NAMESPACE => match name.as_str() {
                "Integer64" => {
                    out += "#if defined(RTI_USE_64BIT_LONGS)\ntypedef long Integer64;\n#else\ntypedef long long Integer64;\n#endif\n";
                }
                _ => {
                    let _ = writeln!(out, "{declaration};");
                }
            },
            _ => {
                if let Some((class, before)) = open
                    && before != access.as_str()
                {
                    let _ = writeln!(out, "{access}:");
                    open = Some((class, access));
                }
                if let Some(clause) = clauses.get(name).filter(|_| kind.starts_with("method")) {
                    let _ = writeln!(out, "    /// 1516.1-2010, {clause}");
                }
                let _ = writeln!(out, "    {declaration};");
            }
        }
    }
    if let Some((_, access)) = open {
        out += if access == "enum" { "\n};\n" } else { "};\n" };
    }
    Ok(out + "\n}\n")
}

/// All exceptions of 2010 with their C ABI statuses, for the library.
fn exception_list(rows: &[Row]) -> Result<Generated> {
    let codes = table("spec/exceptions.tsv")?;
    let mut text = String::from(
        "// Generated by `cargo xtask generate` from spec/cpp/rti1516e.tsv and spec/exceptions.tsv.\n",
    );
    for row in rows
        .iter()
        .filter(|r| r[0] == "RTI/Exception.h" && r[2] == "class" && r[4] != "Exception")
    {
        let code = codes.iter().find(|c| c[1] == row[4]);
        let code = code.with_context(|| format!("{} has no code", row[4]))?;
        let _ = writeln!(text, "STARLING_EXCEPTION({}, {})", row[4], code[0]);
    }
    Ok(Generated {
        path: "cpp/rti1516e/src/generated/exceptions.inc".into(),
        text,
    })
}
