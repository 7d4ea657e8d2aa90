//! `starling ps`: what an rtiexec holds.

use crate::columns::lay_out;
use crate::{UNREACHABLE, fail, print, print_json, query};
use clap::Args;
use serde_json::{Value, json};
use starling::Reply;
use starling_core::message::{
    BestEffort, FederateStatus, FederationStatus, FromExecutive, Path, PeerInfo, ToExecutive,
    UnderWay,
};
use starling_core::{Counters, FederateHandle};
use starling_net::printable;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::ExitCode;

/// Options of `starling ps`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Which rtiexec, as a localSettingsDesignator (host:port); nothing: as a federate started here
    #[arg(default_value = "")]
    designator: String,
}

/// Runs `starling ps`.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let answer = query(
        &arguments.designator,
        "starling ps",
        &ToExecutive::QueryStatus,
    );
    let (place, rtiexec, list) = match answer {
        Ok(Reply {
            place,
            rtiexec,
            answer: FromExecutive::Status(list),
        }) => (place, rtiexec, list),
        Ok(_) => return fail("rtiexec gave an answer to something else", UNREACHABLE),
        Err((why, code)) => return fail(why, code),
    };
    if arguments.json {
        print_json(&as_json(&place, &rtiexec, &list))
    } else {
        print(&text(&place, &rtiexec, &list))
    }
}

fn text(place: &str, rtiexec: &PeerInfo, list: &[FederationStatus]) -> String {
    let mut out = format!(
        "rtiexec {}, process {} on {}, {place}\n",
        rtiexec.version, rtiexec.pid, rtiexec.host
    );
    if list.is_empty() {
        out.push_str("no federation executions\n");
    }
    for federation in list {
        let _ = writeln!(
            out,
            "\n{}: {} federate(s), {} object instance(s), {}, log {}, modules {}",
            printable(&federation.name),
            federation.federates.len(),
            federation.instances,
            federation.time_implementation,
            federation.log,
            printable(&federation.modules.join(", "))
        );
        if federation.refused > 0 {
            let _ = writeln!(
                out,
                "  {} update(s) and deletion(s) of who does not own were dropped",
                federation.refused
            );
        }
        if federation.behind_deletion > 0 {
            let _ = writeln!(
                out,
                "  {} update(s) and deletion(s) came when their instances had been deleted",
                federation.behind_deletion
            );
        }
        if federation.outdated > 0 {
            let _ = writeln!(
                out,
                "  {} request(s) and data frame(s) from before a restore were dropped",
                federation.outdated
            );
        }
        let off = federation.services.off();
        if !off.is_empty() {
            let _ = writeln!(out, "  off: {}", off.join(", "));
        }
        for line in under_way(federation) {
            let _ = writeln!(out, "  {line}");
        }
        let heading = [
            "HANDLE", "FEDERATE", "TYPE", "PROGRAM", "PROCESS", "VERSION", "PATH",
        ];
        let mut rows = vec![heading.map(String::from)];
        for FederateStatus { federate, peer, .. } in &federation.federates {
            rows.push([
                federate.handle.0.to_string(),
                printable(&federate.name).into(),
                printable(&federate.kind).into(),
                printable(&peer.program).into(),
                printable(&format!("{}@{}", peer.pid, peer.host)).into(),
                printable(&peer.version).into(),
                format!("{} via rtiexec", peer.path),
            ]);
        }
        lay_out(&mut out, "  ", &rows);
        let names = federation.federates.iter();
        let names = names.map(|f| (f.federate.handle, printable(&f.federate.name)));
        let names: BTreeMap<_, _> = names.collect();
        for of in &federation.federates {
            let name = printable(&of.federate.name);
            if !of.still.is_empty() {
                let _ = writeln!(out, "  {name}: {}", printable(&of.still));
            }
            let _ = writeln!(out, "  data of {name}: {}", of.counters);
            let BestEffort { by, lost, dropped } = &of.best_effort;
            let counted = match (lost, dropped) {
                (0, 0) => String::new(),
                _ => format!("; {lost} lost on their way to rtiexec, {dropped} dropped there"),
            };
            if by != "its stream" || !counted.is_empty() {
                let by = printable(by);
                let _ = writeln!(
                    out,
                    "  best-effort data of and for {name}: by {by}{counted}"
                );
            }
            for Path { by, to } in &of.paths {
                let to = named(to, &names);
                let _ = writeln!(out, "  data of {name} to {to}: by {}", printable(by));
            }
            let apart = |path: &&Path| !path.by.ends_with("the way of reliable data");
            for Path { by, to } in of.best_effort_paths.iter().filter(apart) {
                let (to, by) = (named(to, &names), printable(by));
                let by = if by.starts_with("not known") {
                    by
                } else {
                    format!("by {by}").into()
                };
                let _ = writeln!(out, "  best-effort data of {name} to {to}: {by}");
            }
        }
    }
    out
}

/// Those that data goes to.
fn named<'a>(to: &[FederateHandle], names: &BTreeMap<FederateHandle, Cow<'a, str>>) -> String {
    if to.is_empty() {
        return "all others".to_owned();
    }
    let name = |f: &FederateHandle| {
        let name = names.get(f);
        name.map_or_else(|| f.to_string(), ToString::to_string)
    };
    to.iter().map(name).collect::<Vec<_>>().join(", ")
}

/// A line for each save, restore and synchronization point that has not ended.
pub(crate) fn under_way(federation: &FederationStatus) -> impl Iterator<Item = String> {
    federation.under_way.iter().map(|under_way| {
        let UnderWay {
            what,
            label,
            stage,
            waits_for,
            since_ms,
        } = under_way;
        let (label, since) = (printable(label), *since_ms as f64 / 1000.0);
        let names = federation.federates.iter().map(|f| &f.federate);
        let names = names.filter(|f| waits_for.contains(&f.handle));
        let names: Vec<_> = names.map(|f| printable(&f.name)).collect();
        let whom = match &names[..] {
            [] => String::new(),
            names => format!("; waits for {}", names.join(", ")),
        };
        format!(
            "{what} '{label}' for {since:.1} s: {}{whom}",
            printable(stage)
        )
    })
}

fn as_json(place: &str, rtiexec: &PeerInfo, list: &[FederationStatus]) -> Value {
    let federate = |of: &FederateStatus, all: &[FederateStatus]| {
        let (federate, peer) = (&of.federate, &of.peer);
        let others = all.iter().map(|f| f.federate.handle);
        let others = || {
            others
                .clone()
                .filter(|f| *f != federate.handle)
                .collect::<Vec<_>>()
        };
        json!({
            "handle": federate.handle.0,
            "name": federate.name,
            "type": federate.kind,
            "process": peer.pid,
            "host": peer.host,
            "program": peer.program,
            "version": peer.version,
            "path": peer.path,
            "counters": counters(&of.counters),
            "best_effort": {
                "by": of.best_effort.by,
                "lost": of.best_effort.lost,
                "dropped": of.best_effort.dropped,
                "paths": paths(&of.best_effort_paths, &others),
            },
            "calls": of.doing.calls,
            "last_service": of.doing.service,
            "in_callback": of.doing.callback,
            "still": of.still,
            "paths": paths(&of.paths, &others),
            "time": {
                "logical_time": of.time.time.to_string(),
                "galt": of.time.galt.map(|t| t.to_string()),
                "galt_passed": of.time.galt_passed,
                "lits": of.time.lits.map(|t| t.to_string()),
                "lookahead": of.time.lookahead.map(|l| l.to_string()),
                "constrained": of.time.constrained,
                "asked": of.time.asked.map(|a| a.name()),
                "advancing_to": of.time.advancing_to.map(|t| t.to_string()),
                "in_state_ms": of.time.in_state_ms,
                "queued": of.time.queued,
                "waits_for": of.time.waits_for.map(|f| f.0),
            },
        })
    };
    let federation = |f: &FederationStatus| {
        json!({
            "name": f.name,
            "time": f.time_implementation,
            "instances": f.instances,
            "log": f.log.0,
            "refused": f.refused,
            "behind_deletion": f.behind_deletion,
            "outdated": f.outdated,
            "modules": f.modules,
            "services_off": f.services.off(),
            "under_way": f.under_way.iter().map(|of| json!({
                "what": of.what,
                "label": of.label,
                "stage": of.stage,
                "waits_for": of.waits_for.iter().map(|f| f.0).collect::<Vec<_>>(),
                "since_ms": of.since_ms,
            })).collect::<Vec<_>>(),
            "federates": f.federates.iter().map(|of| federate(of, &f.federates)).collect::<Vec<_>>(),
        })
    };
    json!({
        "rtiexec": {
            "process": rtiexec.pid,
            "host": rtiexec.host,
            "program": rtiexec.program,
            "version": rtiexec.version,
            "address": place,
        },
        "federations": list.iter().map(federation).collect::<Vec<_>>(),
    })
}

fn paths(of: &[Path], others: &dyn Fn() -> Vec<FederateHandle>) -> Value {
    let one = |path: &Path| {
        let to = match path.to[..] {
            [] => others(),
            _ => path.to.clone(),
        };
        let to: Vec<_> = to.iter().map(|f| f.0).collect();
        json!({ "by": path.by, "to": to })
    };
    of.iter().map(one).collect()
}

fn counters(of: &Counters) -> Value {
    let all = Counters::NAMES.into_iter().zip(of.values());
    all.map(|(name, count)| (name.to_owned(), Value::from(count)))
        .collect()
}
