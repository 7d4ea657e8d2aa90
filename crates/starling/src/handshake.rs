//! Opening a connection: Hello and Welcome.

use starling_core::message::PeerInfo;
use starling_net::{Challenge, Fill, LinkReader, LinkWriter, NOT_OWN, Waiter, Watch};
use starling_wire::{Hello, VERSION, Welcome, put_hello, read_welcome};
use std::io;
use std::time::Instant;

/// Why a connection did not come about.
#[derive(Debug)]
pub(crate) enum OpenError {
    /// It ended before a word was said: rtiexec has just gone.
    Ended(String),
    /// All else.
    Refused(String),
}

impl OpenError {
    /// With whom it happened.
    pub(crate) fn with(self, whom: &str) -> Self {
        match self {
            Self::Ended(why) => Self::Ended(format!("{whom}: {why}")),
            Self::Refused(why) => Self::Refused(format!("{whom}: {why}")),
        }
    }
}

/// Says hello and waits for the welcome until the deadline.
pub(crate) fn shake_hands(
    (reader, writer): (&mut LinkReader, &mut LinkWriter),
    challenge: Option<&Challenge>,
    waiter: &Waiter,
    deadline: Instant,
) -> Result<Welcome, OpenError> {
    let hello = Hello {
        version: VERSION,
        info: about_this_process(),
        challenge: challenge.map_or(&[][..], Challenge::bytes).to_vec(),
    };
    put_hello(writer.out(), &hello);
    let stream = reader.stream().clone();
    let ended = |e: io::Error| OpenError::Ended(e.to_string());
    writer.flush().map_err(ended)?;
    loop {
        let welcome = read_welcome(reader.inbox());
        if let Some((welcome, used)) = welcome.map_err(OpenError::Refused)? {
            if challenge.is_some_and(|c| !c.is_met_by(&welcome.answer)) {
                return Err(OpenError::Refused(NOT_OWN.into()));
            }
            reader.consume(used);
            return Ok(welcome);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            let why = "it answers no handshake; is it an rtiexec of Starling?";
            return Err(OpenError::Refused(why.into()));
        }
        let mut watch = [Watch::new(&*stream, writer.pending() > 0)];
        let waited = waiter.wait(&mut watch, Some(left));
        waited.map_err(|e| OpenError::Refused(e.to_string()))?;
        if watch[0].writable {
            writer.flush().map_err(ended)?;
        }
        if watch[0].readable
            && reader.fill().map_err(ended)? == Fill::Closed
            && matches!(read_welcome(reader.inbox()), Ok(None))
        {
            let why = "it closed the connection during the handshake";
            return Err(OpenError::Ended(why.into()));
        }
    }
}

fn about_this_process() -> PeerInfo {
    let pid = std::process::id();
    PeerInfo {
        pid,
        host: starling_net::host_name(),
        program: starling_net::process_name(pid).unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        path: String::new(),
    }
}
