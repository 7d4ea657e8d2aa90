//! Connections that may become links to other federates: where they are taken, and who is at the other end.

use starling_net::{Endpoint, Fill, Listener, Method, Stream, begin_dial, leave_room};
use starling_wire::{OnLink, VERSION, put_on_link, read_on_link, split_frame};
use std::net::IpAddr;
use std::time::{Duration, Instant};

/// How long it may take until both ends have said who they are.
pub(crate) const GREETING: Duration = Duration::from_secs(5);
/// More than a Hello takes.
const HELLO_BYTES: usize = 64;
/// Half of a secret.
pub(crate) const PROOF_BYTES: usize = 16;

/// A connection on which nothing has been said yet.
pub(crate) struct Greeting {
    pub(crate) link: starling_net::Link,
    pub(crate) until: Instant,
    /// What the other end has said.
    pub(crate) said: Option<Said>,
}

/// Who somebody says it is.
#[derive(Clone)]
pub(crate) struct Said {
    version: u32,
    pub(crate) mark: u64,
    proof: Vec<u8>,
    /// How it wants the link to be compressed.
    pub(crate) compression: u8,
}

impl Said {
    /// Whether it is who it says.
    pub(crate) fn is(&self, mark: u64, proof: &[u8]) -> bool {
        self.version == VERSION && self.mark == mark && self.proof == proof
    }
}

impl Greeting {
    pub(crate) fn new(stream: Stream, now: Instant) -> Self {
        Greeting {
            link: starling_net::Link::new(stream),
            until: now + GREETING,
            said: None,
        }
    }

    /// Says who this end is.
    pub(crate) fn say(&mut self, mark: u64, proof: &[u8], wanted: Method) -> Result<(), String> {
        let hello = OnLink::Hello {
            version: VERSION,
            mark,
            proof: proof.to_vec(),
            compression: wanted.number(),
        };
        let writer = &mut self.link.writer;
        put_on_link(writer.out(), &hello);
        match writer.flush() {
            Ok(true) => Ok(()),
            Ok(false) => Err("the connection takes nothing".into()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Who the other end says it is; none: it has not said it yet.
    pub(crate) fn hear(&mut self, now: Instant) -> Result<Option<Said>, String> {
        if now >= self.until {
            return Err("it does not say who it is".into());
        }
        if self.said.is_some() {
            return Ok(self.said.clone());
        }
        let reader = &mut self.link.reader;
        match reader.fill() {
            Ok(Fill::Closed) => return Err("it has closed the connection".into()),
            Ok(_) => {}
            Err(error) => return Err(error.to_string()),
        }
        let inbox = reader.inbox();
        let length = inbox.first_chunk::<4>().map(|l| u32::from_le_bytes(*l));
        if length.is_some_and(|length| length as usize > HELLO_BYTES) {
            return Err("what answers there is no federate of Starling".into());
        }
        let Some((frame, used)) = split_frame(inbox).map_err(|e| e.0)? else {
            return Ok(None);
        };
        let said = match read_on_link(frame) {
            Some(Ok(OnLink::Hello {
                version,
                mark,
                proof,
                compression,
            })) => Said {
                version,
                mark,
                proof,
                compression,
            },
            _ => return Err("what answers there is no federate of Starling".into()),
        };
        reader.consume(used);
        self.said = Some(said.clone());
        Ok(Some(said))
    }
}

/// Begins to connect.
pub(crate) fn dial(address: &str, port: u32) -> Result<Stream, String> {
    let address = address.parse::<IpAddr>();
    let address = address.map_err(|e| e.to_string())?;
    let port = u16::try_from(port).map_err(|_| format!("{port} is no port"))?;
    let stream = begin_dial((address, port).into()).map_err(|e| e.to_string())?;
    leave_room(&[&stream]).map_err(|e| e.to_string())?;
    Ok(stream)
}

/// Listens where it is told to, or where rtiexec's host, and whoever can reach it, finds this one; the address to
/// be told to others, if any, and the port.
pub(crate) fn listen(
    given: Option<&Endpoint>,
    stream: &Stream,
    here: bool,
) -> Result<(Listener, String, u16), String> {
    let (at, told) = match given {
        Some(Endpoint::Unix(_)) => {
            return Err("transport.listen is no TCP address".into());
        }
        Some(Endpoint::Tcp { host, port }) => {
            let address = host.parse::<IpAddr>();
            let told = address.is_ok_and(|a| !a.is_unspecified());
            let told = if told { host.clone() } else { String::new() };
            let (host, port) = (host.clone(), *port);
            (Endpoint::Tcp { host, port }, told)
        }
        None => {
            let host = match stream.local_address().ok().map(|a| a.ip()) {
                Some(ip) if here || !ip.is_loopback() => ip.to_string(),
                Some(IpAddr::V6(_)) => "::".into(),
                None if here => "127.0.0.1".into(),
                _ => "0.0.0.0".into(),
            };
            (Endpoint::Tcp { host, port: 0 }, String::new())
        }
    };
    let failed = |e: std::io::Error| format!("it can't listen at {at}: {e}");
    let listener = Listener::bind(&at).map_err(failed)?;
    match listener.endpoint().map_err(failed)? {
        Endpoint::Tcp { port, .. } => Ok((listener, told, port)),
        Endpoint::Unix(_) => Err("transport.listen is no TCP address".into()),
    }
}
