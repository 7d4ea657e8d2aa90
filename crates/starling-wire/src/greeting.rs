//! The first bytes of a connection: a welcome, or what somebody else's program says.

use crate::frame::{Frame, VERSION, Welcome, split_frame};
use std::fmt;

/// Another protocol, told by its first bytes. None of them can begin a frame of a peer that has
/// not said Hello: read as a length they are larger than a Hello may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// A request or an answer of HTTP.
    Http,
    /// The beginning of TLS, or its refusal to begin.
    Tls,
    /// SSH.
    Ssh,
}

impl fmt::Display for Foreign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Http => "HTTP (a web browser or web server)",
            Self::Tls => "TLS (as https does)",
            Self::Ssh => "SSH",
        })
    }
}

/// First bytes of HTTP: methods, and an answer.
const HTTP: [&[u8]; 10] = [
    b"GET ", b"POST", b"HEAD", b"PUT ", b"OPTI", b"DELE", b"PATC", b"CONN", b"PRI ", b"HTTP",
];

impl Foreign {
    /// What the first bytes of a stream belong to; none if they may be Starling's, or are too few.
    pub fn recognise(first: &[u8]) -> Option<Self> {
        match first {
            // A handshake or an alert, of SSL 3 to TLS 1.3.
            [0x15 | 0x16, 3, 0..=4, ..] => Some(Self::Tls),
            _ if HTTP.iter().any(|h| first.starts_with(h)) => Some(Self::Http),
            _ if first.starts_with(b"SSH-") => Some(Self::Ssh),
            _ => None,
        }
    }

    /// What to answer before the connection is closed, so that its user sees where it went.
    pub fn answer(self) -> Vec<u8> {
        let text = "This is rtiexec, the server of Starling RTI. It speaks its own protocol with \
                    HLA federates, no web protocol.\nstarling ps says what it serves.\n";
        match self {
            Self::Http => format!(
                "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\
                 Connection: close\r\n\r\n{text}",
                text.len()
            )
            .into_bytes(),
            // A fatal alert: protocol_version.
            Self::Tls => vec![0x15, 3, 1, 0, 2, 2, 70],
            Self::Ssh => text.into(),
        }
    }
}

/// Reads the answer to a Hello: the welcome and how many bytes it takes, none if more must come
/// first. The error says why there will be no connection.
pub fn read_welcome(inbox: &[u8]) -> Result<Option<(Welcome, usize)>, String> {
    if let Some(foreign) = Foreign::recognise(inbox) {
        return Err(format!(
            "no rtiexec of Starling: a server answers that speaks {foreign}"
        ));
    }
    let stranger = |e| format!("what answers is no rtiexec of Starling: {e}");
    let Some((frame, used)) = split_frame(inbox).map_err(stranger)? else {
        return Ok(None);
    };
    let welcome = match Frame::decode(frame).map_err(stranger)? {
        Frame::Welcome(welcome) => welcome,
        other => return Err(format!("instead of a welcome it sent {other:?}")),
    };
    if let Some(why) = welcome.refusal {
        return Err(format!("rtiexec refuses the connection: {why}"));
    }
    if welcome.version != VERSION {
        return Err(format!(
            "rtiexec {} speaks wire format {}, this program {VERSION}; install the same version on both sides",
            welcome.info.version, welcome.version
        ));
    }
    Ok(Some((welcome, used)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Hello, put_hello, put_welcome};

    #[test]
    fn others_are_told_by_their_first_bytes() {
        let of = Foreign::recognise;
        assert_eq!(of(b"GET / HTTP/1.1\r\n"), Some(Foreign::Http));
        assert_eq!(of(b"HTTP/1.0 400 Bad Request\r\n"), Some(Foreign::Http));
        assert_eq!(of(&[0x16, 3, 1, 2, 0, 1]), Some(Foreign::Tls));
        assert_eq!(of(&Foreign::Tls.answer()), Some(Foreign::Tls));
        assert_eq!(of(b"SSH-2.0-x"), Some(Foreign::Ssh));
        assert_eq!(of(b"GE"), None);
        let mut hello = Vec::new();
        put_hello(&mut hello, &Hello::default());
        assert_eq!(of(&hello), None);
    }

    #[test]
    fn a_welcome_is_read_or_the_error_says_what_came() {
        let welcome = Welcome {
            version: VERSION,
            ..Welcome::default()
        };
        let mut bytes = Vec::new();
        put_welcome(&mut bytes, &welcome);
        let size = bytes.len();
        assert_eq!(read_welcome(&bytes[..size - 1]), Ok(None));
        bytes.push(1);
        assert_eq!(read_welcome(&bytes), Ok(Some((welcome.clone(), size))));
        let why = |welcome: Welcome| {
            let mut bytes = Vec::new();
            put_welcome(&mut bytes, &welcome);
            read_welcome(&bytes).unwrap_err()
        };
        let refusal = Some("full".to_owned());
        let refused = why(Welcome {
            refusal,
            ..welcome.clone()
        });
        assert!(refused.ends_with("refuses the connection: full"));
        let version = VERSION + 1;
        let other = why(Welcome { version, ..welcome });
        assert!(other.contains(&format!("speaks wire format {version}")));
        let web = read_welcome(b"HTTP/1.0 400 Bad Request\r\n").unwrap_err();
        assert!(web.contains("speaks HTTP"), "{web}");
    }
}
