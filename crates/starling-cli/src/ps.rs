//! `starling ps`: what an rtiexec holds.

use crate::query::{Json, query};
use crate::{UNREACHABLE, fail, print};
use clap::Args;
use starling_core::message::{FederationStatus, FromExecutive, PeerInfo, ToExecutive};
use starling_net::printable;
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
        Ok((place, rtiexec, FromExecutive::Status(list))) => (place, rtiexec, list),
        Ok(_) => return fail("rtiexec gave an answer to something else", UNREACHABLE),
        Err((why, code)) => return fail(why, code),
    };
    match arguments.json {
        true => print(&json(&place, &rtiexec, &list)),
        false => print(&text(&place, &rtiexec, &list)),
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
        let heading = [
            "HANDLE", "FEDERATE", "TYPE", "PROGRAM", "PROCESS", "VERSION", "PATH",
        ];
        let mut rows = vec![heading.map(String::from)];
        for (federate, peer) in &federation.federates {
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
        let width = |i: usize| rows.iter().map(|r| r[i].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..heading.len()).map(width).collect();
        for row in &rows {
            let cells = row
                .iter()
                .zip(&widths)
                .map(|(cell, w)| format!("{cell:w$}"));
            let line = cells.collect::<Vec<_>>().join("  ");
            let _ = writeln!(out, "  {}", line.trim_end());
        }
    }
    out
}

fn json(place: &str, rtiexec: &PeerInfo, list: &[FederationStatus]) -> String {
    let peer = |p: &PeerInfo| {
        format!(
            "\"process\": {}, \"host\": {:?}, \"program\": {:?}, \"version\": {:?}",
            p.pid,
            Json(&p.host),
            Json(&p.program),
            Json(&p.version)
        )
    };
    let federations = list.iter().map(|f| {
        let modules: Vec<_> = f.modules.iter().map(|m| format!("{:?}", Json(m))).collect();
        let federates = f.federates.iter().map(|(federate, info)| {
            format!(
                "{{\"handle\": {}, \"name\": {:?}, \"type\": {:?}, {}, \"path\": {:?}}}",
                federate.handle.0,
                Json(&federate.name),
                Json(&federate.kind),
                peer(info),
                Json(&info.path)
            )
        });
        format!(
            "{{\"name\": {:?}, \"time\": {:?}, \"instances\": {}, \"log\": {}, \"refused\": {}, \"modules\": [{}], \"federates\": [{}]}}",
            Json(&f.name),
            Json(&f.time_implementation),
            f.instances,
            f.log,
            f.refused,
            modules.join(", "),
            federates.collect::<Vec<_>>().join(", ")
        )
    });
    format!(
        "{{\"rtiexec\": {{{}, \"address\": {:?}}}, \"federations\": [{}]}}\n",
        peer(rtiexec),
        Json(place),
        federations.collect::<Vec<_>>().join(", ")
    )
}
