//! Asking an rtiexec something without joining.

use crate::UNREACHABLE;
use starling_core::message::{FromExecutive, PeerInfo, ToExecutive};
use starling_net::{Challenge, Fill, Link, NOT_OWN, Waiter, Watch, find, host_name};
use starling_rid::{CONNECT_TIMEOUT_S, Sources};
use starling_wire::{
    Frame, Hello, VERSION, put_hello, put_to_executive, read_welcome, split_frame,
};
use std::fmt::Write;
use std::time::{Duration, Instant};

/// Where rtiexec is, what it says of itself, and its answer; or why not, and the exit code.
pub(crate) type Answer = Result<(String, PeerInfo, FromExecutive), (String, u8)>;

/// Asks the rtiexec that a localSettingsDesignator leads to, as `program`.
pub(crate) fn query(designator: &str, program: &str, question: &ToExecutive) -> Answer {
    let settings = Sources::of_process().designator(designator).read();
    let settings = settings.map_err(|e| (e.to_string(), 2))?;
    let reach = find(&settings).map_err(|e| (e.to_string(), UNREACHABLE))?;
    let end = Instant::now() + Duration::from_secs_f64(settings.get(CONNECT_TIMEOUT_S) + 5.0);
    let (place, whom) = (reach.endpoint.to_string(), reach.whom());
    let challenge = reach.challenge.as_ref();
    match ask(Link::new(reach.stream), challenge, program, question, end) {
        Ok((rtiexec, answer)) => Ok((place, rtiexec, answer)),
        Err(why) => Err((format!("{whom}: {why}"), UNREACHABLE)),
    }
}

/// Shakes hands, asks and waits for the answer.
fn ask(
    mut link: Link,
    challenge: Option<&Challenge>,
    program: &str,
    question: &ToExecutive,
    end: Instant,
) -> Result<(PeerInfo, FromExecutive), String> {
    let info = PeerInfo {
        pid: std::process::id(),
        host: host_name(),
        program: program.into(),
        version: env!("CARGO_PKG_VERSION").into(),
        path: String::new(),
    };
    let version = VERSION;
    let sent = challenge.map_or(&[][..], Challenge::bytes).to_vec();
    let hello = Hello {
        version,
        info,
        challenge: sent,
    };
    put_hello(link.writer.out(), &hello);
    put_to_executive(link.writer.out(), question);
    let waiter = Waiter::new().map_err(|e| e.to_string())?;
    let mut rtiexec: Option<PeerInfo> = None;
    loop {
        link.writer.flush().map_err(|e| e.to_string())?;
        let inbox = link.reader.inbox();
        let used = match &rtiexec {
            None => match read_welcome(inbox)? {
                Some((welcome, _)) if challenge.is_some_and(|c| !c.is_met_by(&welcome.answer)) => {
                    return Err(NOT_OWN.into());
                }
                Some((welcome, used)) => {
                    rtiexec = Some(welcome.info);
                    Some(used)
                }
                None => None,
            },
            Some(info) => match split_frame(inbox).map_err(|e| e.to_string())? {
                Some((frame, used)) => match Frame::decode(frame).map_err(|e| e.to_string())? {
                    Frame::FromExecutive(answer) => return Ok((info.clone(), answer)),
                    _ => Some(used),
                },
                None => None,
            },
        };
        if let Some(used) = used {
            link.reader.consume(used);
            continue;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err("it accepts connections but does not answer".into());
        }
        let more = link.writer.pending() > 0;
        waiter
            .wait(&mut [Watch::new(&link, more)], Some(left))
            .map_err(|e| e.to_string())?;
        if link.reader.fill().map_err(|e| e.to_string())? == Fill::Closed {
            return Err("it closed the connection".into());
        }
    }
}

/// Text as a JSON string.
pub(crate) struct Json<'a>(pub(crate) &'a str);

impl std::fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", c as u32)?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}
