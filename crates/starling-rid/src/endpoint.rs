//! Where an rtiexec listens or is looked for.

use std::fmt;
use std::path::PathBuf;

/// The port of rtiexec if none is given.
pub const DEFAULT_PORT: u16 = 15160;

/// An address of rtiexec: `host`, `host:port`, `[v6 address]:port` or `unix:/path/to/socket`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// TCP; the host may be a name.
    Tcp {
        /// Name or address, an IPv6 address without its brackets.
        host: String,
        /// Port; 0 when listening takes any free one.
        port: u16,
    },
    /// A Unix-domain socket.
    Unix(PathBuf),
}

impl Endpoint {
    /// The loopback address with this port.
    pub fn loopback(port: u16) -> Self {
        Self::Tcp {
            host: "127.0.0.1".into(),
            port,
        }
    }

    /// Reads an address; without a port it is [`DEFAULT_PORT`]. The error says what is wrong.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if let Some(path) = text.strip_prefix("unix:") {
            if !path.starts_with('/') {
                return Err(format!("'{text}' needs an absolute path after unix:"));
            }
            return Ok(Self::Unix(path.into()));
        }
        if text.is_empty() {
            return Err("the address is empty".into());
        }
        let (host, port) = if let Some(rest) = text.strip_prefix('[') {
            let (host, rest) = rest
                .split_once(']')
                .ok_or_else(|| format!("'{text}' has no closing ]"))?;
            if host.parse::<std::net::Ipv6Addr>().is_err() {
                return Err(format!("'{host}' is no IPv6 address"));
            }
            match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if rest.is_empty() => (host, None),
                None => return Err(format!("'{rest}' after ] is no :port")),
            }
        } else if text.parse::<std::net::Ipv6Addr>().is_ok() {
            (text, None)
        } else {
            match text.rsplit_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (text, None),
            }
        };
        let named = |c: char| c.is_alphanumeric() || "-._:%".contains(c);
        if host.is_empty() {
            return Err(format!("'{text}' names no host"));
        }
        if !host.chars().all(named) || (host.contains(':') && !text.contains('[') && text != host) {
            return Err(format!("'{host}' is no host name or address"));
        }
        let port = match port {
            None => DEFAULT_PORT,
            Some(p) => p
                .parse()
                .map_err(|_| format!("'{p}' is no port (a number from 0 to 65535)"))?,
        };
        Ok(Self::Tcp {
            host: host.into(),
            port,
        })
    }

    /// Whether it can only be on this host.
    pub fn is_local(&self) -> bool {
        match self {
            Self::Unix(_) => true,
            Self::Tcp { host, .. } => {
                host == "localhost"
                    || host
                        .parse::<std::net::IpAddr>()
                        .is_ok_and(|a| a.is_loopback())
            }
        }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp { host, port } if host.contains(':') => write!(f, "[{host}]:{port}"),
            Self::Tcp { host, port } => write!(f, "{host}:{port}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_it_writes() {
        for text in ["a.b-c:1", "10.0.0.7:15160", "[::1]:4000", "unix:/tmp/x"] {
            assert_eq!(Endpoint::parse(text).unwrap().to_string(), text);
        }
        assert_eq!(Endpoint::parse(" host ").unwrap().to_string(), "host:15160");
        assert_eq!(Endpoint::parse("::1").unwrap().to_string(), "[::1]:15160");
        assert_eq!(Endpoint::parse("[::1]").unwrap().to_string(), "[::1]:15160");
    }

    #[test]
    fn refuses_the_rest() {
        for text in [
            "",
            ":1",
            "a b:1",
            "a:b",
            "a:70000",
            "a:b:1",
            "[::1",
            "[x]:1",
            "[::1]x",
            "unix:rel",
            "nick@booster:8688",
            "(setqb x 1)",
            "a=b",
        ] {
            assert!(Endpoint::parse(text).is_err(), "{text} was taken");
        }
    }

    #[test]
    fn knows_what_is_local() {
        let local = |t| Endpoint::parse(t).unwrap().is_local();
        assert!(local("localhost:1") && local("127.0.0.2") && local("::1") && local("unix:/x"));
        assert!(!local("10.0.0.1") && !local("elsewhere"));
    }
}
