// What scenarios, federates and the conductor say to each other: values as text.
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace conformance {

/// A word, a "text", a {set}, a [list] or key=value.
///
/// Handles are words `name@hex`: hex is what the handle's encode() gives; the name may be absent.
struct Value {
    enum Kind { Word, Text, Set, List, Pair };
    Kind kind;
    std::string text;         // of a word, a text, the key of a pair
    std::vector<Value> items; // of a set, a list; the value of a pair

    explicit Value(Kind k, std::string t = "") : kind(k), text(std::move(t)) {}
    bool isWord(char const *word) const { return kind == Word && text == word; }
};

typedef std::vector<Value> Values;
typedef std::map<std::string, Value> Variables;

/// A line that cannot be read.
struct SyntaxError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The values of a line, up to a comment: `#` at its start or after a space, followed by a space.
Values parse(std::string const &line);

std::string print(Value const &);
std::string print(Values const &, size_t from = 0);

/// A value of the MIM's data types as bytes, `0x...`: a "text" is an HLAunicodeString, a number an
/// HLAinteger32BE, a handle an HLAhandle, a [list] an HLAvariableArray, 0x... these bytes. One
/// after another they are the fields of a record.
std::string encoded(Values const &);

/// Whether what came is what was expected. `*` is anything, `...` at the end any further values,
/// `?x` anything and its name from then on.
bool matches(Values const &expected, Values const &got, Variables &captured);

std::string utf8(std::wstring const &);
std::wstring wide(std::string const &);
std::string quoted(std::string const &);

}
