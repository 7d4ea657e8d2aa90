//! Opening a connection: Hello and Welcome. Federates and programs that only ask begin so.

use starling_core::message::PeerInfo;
use starling_net::{
    Challenge, Compression, Fill, LinkReader, LinkWriter, NOT_OWN, Unpack, Waiter, Watch,
};
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

/// A new link, and until when something must have come of it.
pub(crate) struct Opening<'a> {
    pub(crate) reader: &'a mut LinkReader,
    pub(crate) writer: &'a mut LinkWriter,
    pub(crate) waiter: &'a Waiter,
    pub(crate) deadline: Instant,
    pub(crate) compression: Compression,
}

impl Opening<'_> {
    /// Says hello, as this program or under another name, and waits for the welcome.
    pub(crate) fn shake_hands(
        &mut self,
        challenge: Option<&Challenge>,
        program: Option<&str>,
    ) -> Result<Welcome, OpenError> {
        let wanted = self.compression.over(self.writer.stream());
        let hello = Hello {
            version: VERSION,
            info: about_this_process(program),
            challenge: challenge.map_or(&[][..], Challenge::bytes).to_vec(),
            compression: wanted.number(),
        };
        put_hello(self.writer.out(), &hello);
        let welcome = self.wait_for(|inbox| {
            let welcome = read_welcome(inbox)?;
            let is_met = |w: &Welcome| challenge.is_none_or(|c| c.is_met_by(&w.answer));
            match welcome {
                Some((welcome, _)) if !is_met(&welcome) => Err(NOT_OWN.into()),
                welcome => Ok(welcome),
            }
        })?;
        let method = wanted.agreed(welcome.compression);
        let unpack = Unpack::new(method);
        unpack
            .and_then(|unpack| self.reader.decompress(unpack))
            .map_err(|e| OpenError::Refused(e.to_string()))?;
        self.writer.compress(self.compression.sender(method));
        Ok(welcome)
    }

    /// Writes what waits, and reads until `read` finds in the inbox what it looks for: that, and how
    /// many bytes it takes there.
    pub(crate) fn wait_for<T>(
        &mut self,
        mut read: impl FnMut(&[u8]) -> Result<Option<(T, usize)>, String>,
    ) -> Result<T, OpenError> {
        let ended = |e: io::Error| OpenError::Ended(e.to_string());
        self.writer.flush().map_err(ended)?;
        let mut closed = false;
        loop {
            let found = read(self.reader.inbox()).map_err(OpenError::Refused)?;
            if let Some((found, used)) = found {
                self.reader.consume(used);
                return Ok(found);
            }
            if closed {
                let why = "it closed the connection before it answered";
                return Err(OpenError::Ended(why.into()));
            }
            let left = self.deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let why = "it takes connections but does not answer: it is no rtiexec of Starling, or its \
                     process is stopped or busy, or has no file descriptors left\n  do: look at its log and \
                     its process; end federates that are not needed, or raise its limit (ulimit -n)";
                return Err(OpenError::Refused(why.into()));
            }
            let stream = self.reader.stream().clone();
            let mut watch = [Watch::new(&*stream, self.writer.pending() > 0)];
            let waited = self.waiter.wait(&mut watch, Some(left));
            waited.map_err(|e| OpenError::Refused(e.to_string()))?;
            if watch[0].writable {
                self.writer.flush().map_err(ended)?;
            }
            closed = watch[0].readable && self.reader.fill().map_err(ended)? == Fill::Closed;
        }
    }
}

fn about_this_process(program: Option<&str>) -> PeerInfo {
    let pid = std::process::id();
    let program = program.map(str::to_owned);
    PeerInfo {
        pid,
        host: starling_net::host_name(),
        program: program
            .or_else(|| starling_net::process_name(pid))
            .unwrap_or_default(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        path: String::new(),
    }
}
