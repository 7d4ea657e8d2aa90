//! `starling top`: what the federates of an rtiexec do, again and again.

use crate::columns::lay_out;
use crate::{UNREACHABLE, fail, print, query};
use clap::Args;
use starling::Reply;
use starling_core::message::{FederateStatus, FederationStatus, FromExecutive, ToExecutive};
use starling_net::printable;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Options of `starling top`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Seconds between two looks
    #[arg(long, default_value_t = 1.0)]
    interval_s: f64,
    /// End after so many looks; 0: go on until rtiexec is gone
    #[arg(long, default_value_t = 0)]
    times: u64,
    /// Which rtiexec, as a localSettingsDesignator (host:port); nothing: as a federate started here
    #[arg(default_value = "")]
    designator: String,
}

/// Frames sent and callbacks queued, by federation execution and federate.
type Totals = BTreeMap<(String, u32), (u64, u64)>;

/// Runs `starling top`.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let pause = Duration::try_from_secs_f64(arguments.interval_s);
    let Ok(pause) = pause.map(|p| p.max(Duration::from_millis(100))) else {
        return fail("--interval-s is no number of seconds", 2);
    };
    let clears = std::io::stdout().is_terminal();
    let mut before: Option<(Instant, Totals)> = None;
    for look in 1.. {
        let answer = query(
            &arguments.designator,
            "starling top",
            &ToExecutive::QueryStatus,
        );
        let list = match answer {
            Ok(Reply {
                answer: FromExecutive::Status(list),
                ..
            }) => list,
            Ok(_) => return fail("rtiexec gave an answer to something else", UNREACHABLE),
            Err((why, code)) => return fail(why, code),
        };
        let now = Instant::now();
        let former = before.as_ref();
        let since = former.map(|(then, totals)| (now.duration_since(*then).as_secs_f64(), totals));
        let mut out = String::new();
        if clears {
            out.push_str("\x1b[H\x1b[2J");
        }
        out.push_str(&text(&list, since));
        let printed = print(&out);
        if printed != ExitCode::SUCCESS || look == arguments.times {
            return printed;
        }
        before = Some((now, totals(&list)));
        std::thread::sleep(pause);
    }
    ExitCode::SUCCESS
}

fn totals(list: &[FederationStatus]) -> Totals {
    let of = |f: &FederationStatus| {
        let name = f.name.clone();
        let federates = f.federates.iter();
        let counted = federates.map(move |s| {
            let counts = (s.counters.sent, s.counters.queued);
            ((name.clone(), s.federate.handle.0), counts)
        });
        counted.collect::<Vec<_>>()
    };
    list.iter().flat_map(of).collect()
}

/// One look. `since`: seconds since the one before, and what it showed.
fn text(list: &[FederationStatus], since: Option<(f64, &Totals)>) -> String {
    let mut out = String::new();
    if list.is_empty() {
        out.push_str("no federation executions\n");
    }
    for federation in list {
        let _ = writeln!(
            out,
            "{}: {} federate(s), {} object instance(s), {}",
            printable(&federation.name),
            federation.federates.len(),
            federation.instances,
            federation.time_implementation
        );
        for line in crate::ps::under_way(federation) {
            let _ = writeln!(out, "  {line}");
        }
        let heading = [
            "FEDERATE",
            "SENT/S",
            "RECEIVED/S",
            "WAITING",
            "TSO",
            "TIME",
            "LOOKAHEAD",
            "GALT",
            "LITS",
            "STATE",
        ];
        let mut rows = vec![heading.map(String::from)];
        for of in &federation.federates {
            let key = (federation.name.clone(), of.federate.handle.0);
            let former = since.and_then(|(s, totals)| Some((s, *totals.get(&key)?)));
            let rate = |total: u64, of: fn((u64, u64)) -> u64| match former {
                Some((s, before)) if s > 0.0 => {
                    format!("{:.0}", total.saturating_sub(of(before)) as f64 / s)
                }
                _ => "-".to_owned(),
            };
            rows.push([
                printable(&of.federate.name).into(),
                rate(of.counters.sent, |before| before.0),
                rate(of.counters.queued, |before| before.1),
                of.counters.waiting.to_string(),
                of.time.queued.to_string(),
                of.time.time.to_string(),
                shown(of.time.lookahead),
                if of.time.galt_passed {
                    format!(">{}", shown(of.time.galt))
                } else {
                    shown(of.time.galt)
                },
                shown(of.time.lits),
                state(of, &federation.federates),
            ]);
        }
        lay_out(&mut out, "  ", &rows);
    }
    out
}

/// What its time manager does: who waits for a grant, to where and for how long.
pub(crate) fn state(of: &FederateStatus, all: &[FederateStatus]) -> String {
    let time = &of.time;
    let is = match (time.lookahead.is_some(), time.constrained) {
        (true, true) => "regulating, constrained",
        (true, false) => "regulating",
        (false, true) => "constrained",
        (false, false) => "no time management",
    };
    let is = match &*of.still {
        "" => is.to_owned(),
        still => format!("{is}; {}", printable(still)),
    };
    match time.advancing_to.zip(time.asked) {
        Some((to, asked)) => {
            let waits = time.in_state_ms as f64 / 1000.0;
            let others = all.iter().map(|f| &f.federate);
            let mut others = others.filter(|f| time.waits_for == Some(f.handle));
            let whom = others
                .next()
                .map(|f| format!(", for {}", printable(&f.name)));
            format!(
                "{is}; waits {waits:.1} s for {to} ({}){}",
                asked.name(),
                whom.unwrap_or_default()
            )
        }
        None => is,
    }
}

/// A time, if it is defined.
fn shown<T: ToString>(time: Option<T>) -> String {
    time.map_or_else(|| "-".to_owned(), |time| time.to_string())
}
