//! Who is taken for dead. Pure: the caller brings the signs of life.
//!
//! A closed connection needs no judgement. Silence does: a process may be stopped (debugger,
//! SIGSTOP), busy in a long computation without reading its links (single-threaded callbacks),
//! or its host may be unreachable.

use starling_net::ProcessState;
use std::time::{Duration, Instant};

/// What becomes of a peer whose process lives but is stopped (`fault.paused`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paused {
    /// It is resigned.
    Resign,
    /// It is kept if a debugger holds it.
    KeepDebugged,
    /// It is kept as long as its host answers.
    Keep,
}

impl Paused {
    /// The setting's word.
    pub fn of(word: &str) -> Self {
        match word {
            "resign" => Self::Resign,
            "keep" => Self::Keep,
            _ => Self::KeepDebugged,
        }
    }
}

/// Since when this process has looked at its links without a break. While it was stopped, or off its
/// CPU, nobody could be heard and no host was asked: that silence is no peer's.
pub(crate) struct Attention {
    looked: Instant,
    since: Instant,
}

impl Attention {
    /// Of a process that begins.
    pub(crate) fn new(now: Instant) -> Self {
        Attention {
            looked: now,
            since: now,
        }
    }

    /// It looks now. What is longer than `pause` since it did is a break.
    pub(crate) fn look(&mut self, now: Instant, pause: Duration) {
        if now.duration_since(self.looked) > pause {
            self.since = now;
        }
        self.looked = now;
    }

    /// From when on the time since a moment counts: not before the last break ended.
    pub(crate) fn from(&self, moment: Instant) -> Instant {
        moment.max(self.since)
    }
}

/// What is known about a silent peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signs {
    /// For how long nothing has come from it.
    pub silent: Duration,
    /// The state of its process, if it runs on this host.
    pub process: Option<ProcessState>,
    /// Whether its host's system acknowledged anything lately, if that can be told.
    pub host_answers: Option<bool>,
}

/// What to do with a silent peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It stays, for this reason.
    Keep(&'static str),
    /// It is dead, for this reason.
    Dead(String),
}

/// Judges a peer that was silent for longer than the time-out.
pub fn judge(signs: Signs, paused: Paused) -> Verdict {
    let silent = format!(
        "nothing came from it for {:.1} s",
        signs.silent.as_secs_f64()
    );
    match (signs.process, signs.host_answers, paused) {
        (Some(ProcessState::Gone), ..) => Verdict::Dead("its process is gone".into()),
        (Some(ProcessState::Running), ..) => {
            Verdict::Keep("its process runs, but has not read its link for a while")
        }
        (Some(ProcessState::Debugged), _, Paused::Keep | Paused::KeepDebugged) => {
            Verdict::Keep("its process is held by a debugger")
        }
        (Some(ProcessState::Debugged), ..) => {
            Verdict::Dead(format!("{silent}; its process is held by a debugger"))
        }
        (Some(ProcessState::Stopped), _, Paused::Keep) => Verdict::Keep("its process is stopped"),
        (Some(ProcessState::Stopped), ..) => {
            Verdict::Dead(format!("{silent}; its process is stopped"))
        }
        (None, Some(true), Paused::Keep) => {
            Verdict::Keep("its process is silent, but its host answers")
        }
        (None, Some(true), _) => {
            Verdict::Dead(format!("{silent}, though its host answers (fault.paused)"))
        }
        (None, ..) => Verdict::Dead(format!("{silent}, nor from its host")),
    }
}

/// Whether a peer stands still by leave: it is stopped, and the setting keeps those. `process` is
/// its state if it runs on this host, `kept` whether it is silent for longer than the time-out.
pub(crate) fn may_stand_still(process: Option<ProcessState>, kept: bool, paused: Paused) -> bool {
    match process {
        Some(ProcessState::Debugged) => paused != Paused::Resign,
        Some(ProcessState::Stopped) => paused == Paused::Keep,
        Some(ProcessState::Running | ProcessState::Gone) => false,
        None => kept && paused == Paused::Keep,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ProcessState::*;

    fn dead(process: Option<ProcessState>, host: Option<bool>, paused: Paused) -> bool {
        let signs = Signs {
            silent: Duration::from_secs(20),
            process,
            host_answers: host,
        };
        matches!(judge(signs, paused), Verdict::Dead(_))
    }

    #[test]
    fn a_stopped_process_is_told_from_a_dead_one() {
        use Paused::*;
        for paused in [Resign, KeepDebugged, Keep] {
            assert!(dead(Some(Gone), None, paused));
            assert!(!dead(Some(Running), None, paused));
            assert!(dead(None, Some(false), paused), "cable cut");
            assert!(dead(None, None, paused));
        }
        assert!(dead(Some(Stopped), None, Resign) && dead(Some(Debugged), None, Resign));
        assert!(dead(Some(Stopped), None, KeepDebugged));
        assert!(!dead(Some(Debugged), None, KeepDebugged));
        assert!(!dead(Some(Stopped), None, Keep) && !dead(Some(Debugged), None, Keep));
        assert!(dead(None, Some(true), KeepDebugged) && !dead(None, Some(true), Keep));
    }

    #[test]
    fn silence_while_this_process_stood_still_is_no_peers() {
        let (began, second) = (Instant::now(), Duration::from_secs(1));
        let pause = 2 * second;
        let mut attention = Attention::new(began);
        let heard = began + second;
        // It looks each second, and now and then a little late.
        let mut now = began;
        for late in [1, 1, 2, 1, 2] {
            now += late * second;
            attention.look(now, pause);
            assert_eq!(attention.from(heard), heard);
        }
        // It is stopped for a minute: the whole time-out begins when it is back.
        let back = now + 60 * second;
        attention.look(back, pause);
        assert_eq!(attention.from(heard), back);
        attention.look(back + second, pause);
        assert_eq!(attention.from(heard), back);
        assert_eq!(attention.from(back + second), back + second);
    }

    #[test]
    fn who_is_stopped_may_stand_still_where_it_is_kept() {
        use Paused::*;
        let may = |process| {
            [Resign, KeepDebugged, Keep].map(|paused| may_stand_still(process, true, paused))
        };
        assert_eq!(may(Some(Debugged)), [false, true, true]);
        assert_eq!(may(Some(Stopped)), [false, false, true]);
        assert_eq!(may(Some(Running)), [false; 3]);
        assert_eq!(may(None), [false, false, true]);
        assert!(!may_stand_still(None, false, Keep), "it runs: it is heard");
    }

    #[test]
    fn reasons_say_what_was_seen() {
        let signs = Signs {
            silent: Duration::from_millis(15_250),
            process: Some(Stopped),
            host_answers: None,
        };
        let expected = "nothing came from it for 15.2 s; its process is stopped";
        assert_eq!(judge(signs, Paused::Resign), Verdict::Dead(expected.into()));
    }
}
