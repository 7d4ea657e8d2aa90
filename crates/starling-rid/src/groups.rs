//! Multicast groups, and which classes they are for.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

/// The port of a group if none is given.
pub const GROUP_PORT: u16 = 15_161;
/// So many different groups may be named.
pub const GROUPS_MAX: usize = 64;

/// A class, and the group that its data goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClassGroup {
    /// The class's name; empty where a group stands alone.
    pub class: String,
    /// Its group.
    pub group: SocketAddrV4,
}

impl fmt::Display for ClassGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.class.is_empty() {
            write!(f, "{}=", self.class)?;
        }
        write!(f, "{}", self.group)
    }
}

/// Reads a group; without a port it is [`GROUP_PORT`]. The error says what is wrong.
pub(crate) fn parse(text: &str) -> Result<SocketAddrV4, String> {
    let (address, port) = match text.rsplit_once(':') {
        Some((address, port)) => (address, Some(port)),
        None => (text, None),
    };
    let port = match port.map(str::parse::<u16>) {
        None => GROUP_PORT,
        Some(Ok(port)) if port > 0 => port,
        Some(_) => return Err(format!("'{text}' has no port from 1 to 65535 behind its :")),
    };
    match address.parse::<Ipv4Addr>() {
        Ok(address) if address.is_multicast() => Ok(SocketAddrV4::new(address, port)),
        Ok(_) => Err(format!(
            "'{address}' is no multicast address (224.0.0.0 to 239.255.255.255)"
        )),
        Err(_) => Err(format!("'{address}' is no IPv4 address")),
    }
}

/// Reads classes with their groups.
pub(crate) fn parse_all(text: &str) -> Result<Vec<ClassGroup>, String> {
    let mut all = Vec::new();
    let (mut classes, mut groups) = (BTreeSet::new(), BTreeSet::new());
    for part in text.split_whitespace() {
        let Some((class, group)) = part.split_once('=') else {
            return Err(format!("'{part}' is no class=group"));
        };
        if class.is_empty() {
            return Err(format!("'{part}' names no class"));
        }
        let group = parse(group).map_err(|why| format!("the group of {class}: {why}"))?;
        if !classes.insert(class) {
            return Err(format!("class {class} has two groups"));
        }
        groups.insert(group);
        if groups.len() > GROUPS_MAX {
            return Err(format!("{group} is one group more than {GROUPS_MAX}"));
        }
        all.push(ClassGroup {
            class: class.to_owned(),
            group,
        });
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_have_groups() {
        let text = "HLAobjectRoot.A=239.192.7.1 B.C=239.192.7.2:99";
        let all = parse_all(text).unwrap();
        let shown: Vec<_> = all.iter().map(ClassGroup::to_string).collect();
        assert_eq!(
            shown,
            ["HLAobjectRoot.A=239.192.7.1:15161", "B.C=239.192.7.2:99"]
        );
        assert_eq!(parse_all(" ").unwrap(), []);
    }

    #[test]
    fn what_is_wrong_is_said() {
        for (text, why) in [
            ("A", "'A' is no class=group"),
            ("=239.1.1.1", "'=239.1.1.1' names no class"),
            (
                "A=10.0.0.1",
                "the group of A: '10.0.0.1' is no multicast address (224.0.0.0 to 239.255.255.255)",
            ),
            ("A=host", "the group of A: 'host' is no IPv4 address"),
            (
                "A=239.1.1.1:0",
                "the group of A: '239.1.1.1:0' has no port from 1 to 65535 behind its :",
            ),
            (
                "A=239.1.1.1:70000",
                "the group of A: '239.1.1.1:70000' has no port from 1 to 65535 behind its :",
            ),
            ("A=239.1.1.1 A=239.1.1.2", "class A has two groups"),
        ] {
            assert_eq!(parse_all(text).unwrap_err(), why);
        }
        let many: Vec<_> = (0..=GROUPS_MAX)
            .map(|n| format!("C{n}=239.1.1.{n}"))
            .collect();
        assert!(parse_all(&many.join(" ")).is_err());
        assert!(parse_all(&many[1..].join(" ")).is_ok());
    }
}
