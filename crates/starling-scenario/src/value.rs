//! Values of a scenario: words, texts, {sets}, [lists] and key=value.

use std::collections::BTreeMap;

/// One value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Word(String),
    Text(String),
    Set(Vec<Value>),
    List(Vec<Value>),
    Pair(String, Box<Value>),
}

/// What names stand for: `$name`.
pub(crate) type Variables = BTreeMap<String, Value>;

impl Value {
    pub(crate) fn word(text: impl Into<String>) -> Self {
        Value::Word(text.into())
    }

    pub(crate) fn is_word(&self, text: &str) -> bool {
        matches!(self, Value::Word(t) if t == text)
    }

    /// Of a word or text.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Value::Word(text) | Value::Text(text) => Some(text),
            _ => None,
        }
    }
}

/// The values of a line; what is wrong with it otherwise.
pub(crate) fn parse(line: &str) -> Result<Vec<Value>, String> {
    let mut reader = Reader {
        rest: line,
        begins: true,
    };
    reader.all(None)
}

struct Reader<'a> {
    rest: &'a str,
    /// Nothing has been read of the line.
    begins: bool,
}

impl Reader<'_> {
    fn all(&mut self, close: Option<char>) -> Result<Vec<Value>, String> {
        let mut values = Vec::new();
        loop {
            self.skip();
            match (self.rest.chars().next(), close) {
                (None, None) => return Ok(values),
                (None, Some(close)) => return Err(format!("'{close}' is missing")),
                (Some(c), Some(close)) if c == close => {
                    self.take(1);
                    return Ok(values);
                }
                _ => values.push(self.one()?),
            }
        }
    }

    fn take(&mut self, bytes: usize) -> &str {
        let (taken, rest) = self.rest.split_at(bytes);
        self.begins = false;
        self.rest = rest;
        taken
    }

    /// Over blanks, commas and a comment.
    fn skip(&mut self) {
        let blank = |c: char| matches!(c, ' ' | '\t' | ',');
        self.rest = self.rest.trim_start_matches(blank);
        if let Some(after) = self.rest.strip_prefix('#')
            && (self.begins || after.is_empty() || after.starts_with(' '))
        {
            self.rest = "";
        }
    }

    fn one(&mut self) -> Result<Value, String> {
        if self.rest.starts_with('{') {
            self.take(1);
            return Ok(Value::Set(self.all(Some('}'))?));
        }
        if self.rest.starts_with('[') {
            self.take(1);
            return Ok(Value::List(self.all(Some(']'))?));
        }
        let value = if self.rest.starts_with('"') {
            Value::Text(self.quoted()?)
        } else {
            let ends = |c: char| " \t,{}[]\"=".contains(c);
            let length = self.rest.find(ends).unwrap_or(self.rest.len());
            Value::word(self.take(length))
        };
        if value.is_word("") {
            let c = self.take(1).to_owned();
            return match c.as_str() {
                "=" => Ok(Value::word("=")),
                _ => Err(format!("unexpected '{c}'")),
            };
        }
        match value {
            Value::Word(key) | Value::Text(key) if self.rest.starts_with('=') => {
                self.take(1);
                if self.rest.is_empty() {
                    return Err("nothing after '='".into());
                }
                Ok(Value::Pair(key, Box::new(self.one()?)))
            }
            value => Ok(value),
        }
    }

    fn quoted(&mut self) -> Result<String, String> {
        let mut text = String::new();
        let mut chars = self.rest.char_indices().skip(1);
        while let Some((at, c)) = chars.next() {
            match c {
                '"' => {
                    self.take(at + 1);
                    return Ok(text);
                }
                '\\' => match chars.next() {
                    Some((_, 'n')) => text.push('\n'),
                    Some((_, 't')) => text.push('\t'),
                    Some((_, c)) => text.push(c),
                    None => break,
                },
                c => text.push(c),
            }
        }
        Err("a text has no closing '\"'".into())
    }
}

/// A value of the MIM's data types as bytes, `0x...`: a "text" is an HLAunicodeString, a number an
/// HLAinteger32BE, a handle an HLAhandle, a [list] an HLAvariableArray, 0x... these bytes. One after
/// another they are the fields of a record.
pub(crate) fn encode(items: &[Value]) -> Result<Value, String> {
    let mut bytes = Vec::new();
    encode_all(items, &mut bytes)?;
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    Ok(Value::Word(format!("0x{digits}")))
}

fn encode_all(items: &[Value], out: &mut Vec<u8>) -> Result<(), String> {
    fn count(out: &mut Vec<u8>, n: usize) {
        out.resize(out.len().next_multiple_of(4), 0);
        out.extend((n as u32).to_be_bytes());
    }
    let digits = |text: &str| -> Result<Vec<u8>, String> {
        let pairs = (0..text.len()).step_by(2);
        let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
        let bytes: Option<_> = pairs.map(byte).collect();
        bytes.ok_or_else(|| format!("expected pairs of hexadecimal digits: {text}"))
    };
    for item in items {
        match item {
            Value::Text(text) => {
                count(out, text.encode_utf16().count());
                out.extend(text.encode_utf16().flat_map(u16::to_be_bytes));
            }
            Value::List(items) => {
                count(out, items.len());
                encode_all(items, out)?;
            }
            Value::Word(word) => match (word.strip_prefix("0x"), word.split_once('@')) {
                (Some(bytes), _) => out.extend(digits(bytes)?),
                (None, Some((_, handle))) => {
                    let handle = digits(handle)?;
                    count(out, handle.len());
                    out.extend(handle);
                }
                (None, None) => match word.parse::<i32>() {
                    Ok(n) => count(out, n as u32 as usize),
                    Err(_) => return Err(format!("expected a number or a handle: {word}")),
                },
            },
            Value::Set(items) => encode_all(items, out)?,
            Value::Pair(..) => return Err(format!("no value of the MIM: {}", print_one(item))),
        }
    }
    Ok(())
}

/// As in a scenario.
pub(crate) fn print(values: &[Value]) -> String {
    let texts: Vec<String> = values.iter().map(print_one).collect();
    texts.join(" ")
}

fn print_one(value: &Value) -> String {
    match value {
        Value::Word(text) => text.clone(),
        Value::Text(text) => format!("{text:?}"),
        Value::Set(items) => format!("{{{}}}", print(items)),
        Value::List(items) => format!("[{}]", print(items)),
        Value::Pair(key, value) => format!("{key}={}", print_one(value)),
    }
}

/// Whether that came: `*` is anything, `?name` keeps it, `...` at the end is any more.
pub(crate) fn matches(expected: &[Value], got: &[Value], variables: &mut Variables) -> bool {
    let (expected, open) = split_open(expected);
    if got.len() < expected.len() || (!open && got.len() != expected.len()) {
        return false;
    }
    let mut attempt = variables.clone();
    let all = expected.iter().zip(got);
    let matched = all
        .into_iter()
        .all(|(e, g)| matches_one(e, g, &mut attempt));
    if matched {
        *variables = attempt;
    }
    matched
}

fn split_open(expected: &[Value]) -> (&[Value], bool) {
    match expected.split_last() {
        Some((last, rest)) if last.is_word("...") => (rest, true),
        _ => (expected, false),
    }
}

fn matches_one(expected: &Value, got: &Value, variables: &mut Variables) -> bool {
    match (expected, got) {
        (Value::Word(word), _) if word == "*" => true,
        (Value::Word(word), _) if word.len() > 1 && word.starts_with('?') => {
            variables.insert(word[1..].to_owned(), got.clone());
            true
        }
        (Value::Word(e) | Value::Text(e), Value::Word(g) | Value::Text(g)) => matches_text(e, g),
        (Value::Pair(k, e), Value::Pair(l, g)) => {
            matches_text(k, l) && matches_one(e, g, variables)
        }
        (Value::List(e), Value::List(g)) => matches(e, g, variables),
        (Value::Set(e), Value::Set(g)) => {
            let (e, open) = split_open(e);
            (open || e.len() == g.len()) && matches_set(e, g, &mut vec![false; g.len()], variables)
        }
        _ => false,
    }
}

/// Every expected item has one of its own among those that came.
fn matches_set(
    expected: &[Value],
    got: &[Value],
    used: &mut [bool],
    variables: &mut Variables,
) -> bool {
    let Some((first, rest)) = expected.split_first() else {
        return true;
    };
    for (i, candidate) in got.iter().enumerate() {
        let mut attempt = variables.clone();
        if used[i] || !matches_one(first, candidate, &mut attempt) {
            continue;
        }
        used[i] = true;
        if matches_set(rest, got, used, &mut attempt) {
            *variables = attempt;
            return true;
        }
        used[i] = false;
    }
    false
}

/// A handle is `name@code`: expected by its code if it has one, else by its name. Numbers are equal
/// however they are written; whole ones to the last digit, which floating-point numbers do not have.
fn matches_text(expected: &str, got: &str) -> bool {
    if expected == got {
        return true;
    }
    if let Some((name, code)) = got.split_once('@') {
        return match expected.split_once('@') {
            Some((_, wanted)) => wanted == code,
            None => expected == name,
        };
    }
    if let (Ok(a), Ok(b)) = (expected.parse::<i64>(), got.parse::<i64>()) {
        return a == b;
    }
    match (expected.parse::<f64>(), got.parse::<f64>()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn came(expected: &str, got: &str) -> bool {
        let of = |line| parse(line).unwrap();
        matches(&of(expected), &of(got), &mut Variables::new())
    }

    #[test]
    fn lines_are_read_and_printed() {
        let line = "A call {x=\"a \\\"b\\\"\" y=0x01} [1..2 {}] = \"t\" # not this";
        assert_eq!(
            print(&parse(line).unwrap()),
            "A call {x=\"a \\\"b\\\"\" y=0x01} [1..2 {}] = \"t\""
        );
        assert_eq!(parse("# nothing"), Ok(vec![]));
        assert!(parse("a {b").is_err());
        assert!(parse("a \"b").is_err());
        assert!(parse("a }").is_err());
    }

    #[test]
    fn values_of_the_mim_are_encoded() {
        let of = |line| encode(&parse(line).unwrap());
        let handle = "0x0000000400000007";
        assert_eq!(of("x@00000007"), Ok(Value::word(handle)));
        let list = "0x0000000200000001006100000000000100620000";
        assert_eq!(
            of("[\"a\" \"b\"]"),
            Ok(Value::word(&list[..list.len() - 4]))
        );
        assert_eq!(of("[] -1"), Ok(Value::word("0x00000000ffffffff")));
        assert!(of("Speed").is_err());
    }

    #[test]
    fn what_came_is_compared() {
        assert!(came("a * {y x}", "a b {x y}"));
        assert!(came("{x ...}", "{y x}"));
        assert!(!came("{x x}", "{x y}"));
        assert!(came("Speed", "Speed@0001"));
        assert!(!came("Doors@0002", "Speed@0001"));
        assert!(came("1", "1.0"));
        assert!(came("9223372036854775807", "+9223372036854775807"));
        assert!(!came("9223372036854775807", "9223372036854775806"));
        assert!(!came("a", "a b"));
        assert!(came("a ...", "a b"));
        let mut variables = Variables::new();
        let of = |line| parse(line).unwrap();
        assert!(matches(&of("{?a b}"), &of("{b c}"), &mut variables));
        assert_eq!(variables["a"], Value::word("c"));
    }
}
