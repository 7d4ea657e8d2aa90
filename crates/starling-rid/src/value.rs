//! Kinds of settings and their values.

use crate::Endpoint;
use crate::groups::{self, ClassGroup};
use std::fmt;
use std::marker::PhantomData;
use std::net::SocketAddrV4;

/// What values a setting takes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Any text.
    Text,
    /// `true` or `false`.
    Switch,
    /// A whole number in this range.
    Integer(u64, u64),
    /// A number in this range.
    Number(f64, f64),
    /// One of these words.
    Choice(&'static [&'static str]),
    /// An address, or nothing.
    Address,
    /// Addresses, separated by spaces.
    Addresses,
    /// A multicast group, or nothing.
    Group,
    /// Classes with the multicast group of each, separated by spaces.
    Groups,
}

impl Kind {
    /// Reads a value; the error says what was expected.
    pub fn parse(self, text: &str) -> Result<Value, String> {
        let text = text.trim();
        match self {
            Self::Text => Ok(Value::Text(text.into())),
            Self::Switch => match text {
                "true" | "yes" | "on" | "1" => Ok(Value::Switch(true)),
                "false" | "no" | "off" | "0" => Ok(Value::Switch(false)),
                _ => Err(format!("'{text}' is neither true nor false")),
            },
            Self::Integer(min, max) => match text.replace('_', "").parse::<u64>() {
                Ok(n) if (min..=max).contains(&n) => Ok(Value::Integer(n)),
                _ => Err(format!("'{text}' is no whole number from {min} to {max}")),
            },
            Self::Number(min, max) => match text.parse::<f64>() {
                Ok(n) if n >= min && n <= max => Ok(Value::Number(n)),
                _ => Err(format!("'{text}' is no number from {min} to {max}")),
            },
            Self::Choice(words) => match words.iter().find(|w| **w == text) {
                Some(word) => Ok(Value::Text((*word).into())),
                None => Err(format!("'{text}' is none of {}", words.join(", "))),
            },
            Self::Address if text.is_empty() => Ok(Value::Addresses(Vec::new())),
            Self::Address => Endpoint::parse(text).map(|e| Value::Addresses(vec![e])),
            Self::Addresses => text
                .split_whitespace()
                .map(Endpoint::parse)
                .collect::<Result<_, _>>()
                .map(Value::Addresses),
            Self::Group if text.is_empty() => Ok(Value::Groups(Vec::new())),
            Self::Group => {
                let group = groups::parse(text)?;
                let class = String::new();
                Ok(Value::Groups(vec![ClassGroup { class, group }]))
            }
            Self::Groups => groups::parse_all(text).map(Value::Groups),
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text => write!(f, "text"),
            Self::Switch => write!(f, "true or false"),
            Self::Integer(min, u64::MAX) => write!(f, "whole number from {min}"),
            Self::Integer(min, max) => write!(f, "whole number {min} to {max}"),
            Self::Number(min, max) => write!(f, "number {min} to {max}"),
            Self::Choice(words) => write!(f, "one of {}", words.join(", ")),
            Self::Address => write!(f, "host:port or unix:/path, or nothing"),
            Self::Addresses => write!(f, "host:port or unix:/path, several separated by spaces"),
            Self::Group => write!(f, "an IPv4 multicast address:port, or nothing"),
            Self::Groups => write!(
                f,
                "class=group, several separated by spaces, each group an IPv4 multicast address:port"
            ),
        }
    }
}

/// The value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// Text or one of the words of a choice.
    Text(String),
    /// On or off.
    Switch(bool),
    /// Whole number.
    Integer(u64),
    /// Number.
    Number(f64),
    /// Addresses; of a single address none or one.
    Addresses(Vec<Endpoint>),
    /// Multicast groups; of a single group none or one, without a class.
    Groups(Vec<ClassGroup>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Switch(on) => write!(f, "{on}"),
            Self::Integer(n) => write!(f, "{n}"),
            Self::Number(n) => write!(f, "{n}"),
            Self::Addresses(list) => {
                let list: Vec<_> = list.iter().map(Endpoint::to_string).collect();
                f.write_str(&list.join(" "))
            }
            Self::Groups(list) => {
                let list: Vec<_> = list.iter().map(ClassGroup::to_string).collect();
                f.write_str(&list.join(" "))
            }
        }
    }
}

/// One line of the table of settings.
#[derive(Clone, Copy, Debug)]
pub struct Setting {
    /// Its name in files and designators, for example `connect.address`.
    pub key: &'static str,
    /// What values it takes.
    pub kind: Kind,
    /// Unit of a number, or empty.
    pub unit: &'static str,
    /// The built-in value.
    pub default: &'static str,
    /// What it does.
    pub doc: &'static str,
}

impl Setting {
    /// Whether only rtiexec and forwarders read it: a federate that is given it does nothing else for that.
    pub fn is_of_rtiexec(&self) -> bool {
        const TABLES: [&str; 5] = ["fom", "forwarder", "rtiexec", "saves", "services"];
        const SINGLE: [&str; 11] = [
            "fault.paused",
            "limits.federations_per_host",
            "limits.frame_bytes",
            "limits.frame_timeout_s",
            "limits.hello_timeout_s",
            "limits.kept_bytes",
            "limits.models_bytes",
            "limits.send_stall_s",
            "log.file",
            "log.file_bytes",
            "log.wait_s",
        ];
        TABLES.iter().any(|table| self.is_of(table)) || SINGLE.contains(&self.key)
    }

    /// Whether this is its name, or that of its table (`connect`).
    pub fn is_of(&self, name: &str) -> bool {
        let rest = self.key.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
    }

    /// Its environment variable: `STARLING_CONNECT_ADDRESS` for `connect.address`.
    pub fn variable(&self) -> String {
        format!("STARLING_{}", self.key.replace('.', "_").to_uppercase())
    }
}

/// Names a setting together with the type of its value.
#[derive(Debug)]
pub struct Key<T>(pub(crate) usize, pub(crate) PhantomData<fn() -> T>);

impl<T> Clone for Key<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Key<T> {}

/// Types that settings have.
pub trait FromValue: Sized {
    /// The value as this type, if it has it.
    fn from_value(value: &Value) -> Option<Self>;
}

macro_rules! from_value {
    ($type:ty, $variant:ident) => {
        impl FromValue for $type {
            fn from_value(value: &Value) -> Option<Self> {
                match value {
                    Value::$variant(v) => Some(v.clone()),
                    _ => None,
                }
            }
        }
    };
}
from_value!(String, Text);
from_value!(bool, Switch);
from_value!(u64, Integer);
from_value!(f64, Number);
from_value!(Vec<Endpoint>, Addresses);
from_value!(Vec<ClassGroup>, Groups);

impl FromValue for Option<SocketAddrV4> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Groups(list) => Some(list.first().map(|first| first.group)),
            _ => None,
        }
    }
}

impl FromValue for Option<Endpoint> {
    fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Addresses(list) => Some(list.first().cloned()),
            _ => None,
        }
    }
}
