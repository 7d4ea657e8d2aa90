//! Asking an rtiexec something without joining.

use crate::handshake::{OpenError, Opening};
use starling_core::message::{FromExecutive, PeerInfo, ToExecutive};
use starling_net::{Compression, Endpoint, Link, Waiter, dial, find};
use starling_rid::{CONNECT_TIMEOUT_S, Settings};
use starling_wire::{Frame, Welcome, put_to_executive, split_frame};
use std::time::{Duration, Instant};

/// What an rtiexec answered.
#[derive(Debug)]
pub struct Reply {
    /// Its address.
    pub place: String,
    /// What it says of itself.
    pub rtiexec: PeerInfo,
    /// Its answer.
    pub answer: FromExecutive,
}

/// Asks the rtiexec that the settings lead to, as `program`; starts none.
///
/// # Errors
/// None is there, or it gives no answer: a text that says so.
pub fn query(settings: &Settings, program: &str, question: &ToExecutive) -> Result<Reply, String> {
    /// An rtiexec with much to do answers late.
    const MORE: Duration = Duration::from_secs(5);
    let reach = find(settings).map_err(|e| e.to_string())?;
    let whom = reach.whom();
    let timeout = Duration::from_secs_f64(settings.get(CONNECT_TIMEOUT_S));
    let waiter = Waiter::new().map_err(|e| format!("no wake-up descriptor: {e}"))?;
    let place = reach.endpoint.to_string();
    let (mut reader, mut writer) = Link::new(reach.stream).split();
    let mut opening = Opening {
        reader: &mut reader,
        writer: &mut writer,
        waiter: &waiter,
        deadline: Instant::now() + timeout + MORE,
        compression: Compression::default(),
    };
    let asked = opening
        .shake_hands(reach.challenge.as_ref(), Some(program))
        .and_then(|welcome| {
            put_to_executive(opening.writer.out(), question);
            let answer = opening.wait_for(read_answer)?;
            Ok(Reply {
                place,
                rtiexec: welcome.info,
                answer,
            })
        });
    asked.map_err(|e| match e.with(&whom) {
        OpenError::Ended(why) | OpenError::Refused(why) => why,
    })
}

/// Connects to an rtiexec, or a forwarder, at this address, and shakes hands as `program`: the link, and what
/// the other end answers.
///
/// # Errors
/// None is there, or it refuses: a text that says so.
pub fn greet(
    to: &Endpoint,
    program: &str,
    timeout: Duration,
    compression: Compression,
) -> Result<(Link, Welcome), String> {
    let whom = format!("rtiexec at {to}");
    let failed = |e: String| format!("{whom} can't be reached: {e}");
    let deadline = Instant::now() + timeout;
    let stream = dial(to, timeout).map_err(|e| failed(e.to_string()))?;
    let waiter = Waiter::new().map_err(|e| format!("no wake-up descriptor: {e}"))?;
    let mut link = Link::new(stream);
    let mut opening = Opening {
        reader: &mut link.reader,
        writer: &mut link.writer,
        waiter: &waiter,
        deadline,
        compression,
    };
    match opening.shake_hands(None, Some(program)) {
        Ok(welcome) => Ok((link, welcome)),
        Err(OpenError::Ended(why) | OpenError::Refused(why)) => Err(failed(why)),
    }
}

/// The first message of the executive in the inbox, whatever else comes before it.
fn read_answer(inbox: &[u8]) -> Result<Option<(FromExecutive, usize)>, String> {
    let mut at = 0;
    while let Some((frame, used)) = split_frame(&inbox[at..]).map_err(|e| e.to_string())? {
        at += used;
        if let Frame::FromExecutive(answer) = Frame::decode(frame).map_err(|e| e.to_string())? {
            return Ok(Some((answer, at)));
        }
    }
    Ok(None)
}
