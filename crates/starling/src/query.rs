//! Asking an rtiexec something without joining.

use crate::handshake::{OpenError, Opening};
use starling_core::message::{FromExecutive, PeerInfo, ToExecutive};
use starling_net::{Link, Waiter, find};
use starling_rid::{CONNECT_TIMEOUT_S, Settings};
use starling_wire::{Frame, put_to_executive, split_frame};
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
