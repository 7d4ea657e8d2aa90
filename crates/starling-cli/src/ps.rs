//! `starling ps`: what an rtiexec holds.

use crate::{UNREACHABLE, fail, print};
use clap::Args;
use starling_core::message::{FederationStatus, FromExecutive, PeerInfo, ToExecutive};
use starling_net::{Fill, Link, Waiter, Watch, find, host_name};
use starling_rid::{CONNECT_TIMEOUT_S, Sources};
use starling_wire::{Frame, Hello, VERSION, put_hello, put_to_executive, split_frame};
use std::fmt::Write;
use std::process::ExitCode;
use std::time::{Duration, Instant};

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
    let settings = match Sources::of_process()
        .designator(&arguments.designator)
        .read()
    {
        Ok(settings) => settings,
        Err(error) => return fail(error, 2),
    };
    let reach = match find(&settings) {
        Ok(reach) => reach,
        Err(error) => return fail(error, UNREACHABLE),
    };
    let end = Instant::now() + Duration::from_secs_f64(settings.get(CONNECT_TIMEOUT_S) + 5.0);
    let place = reach.endpoint.to_string();
    match ask(Link::new(reach.stream), end) {
        Ok((rtiexec, list)) if arguments.json => print(&json(&place, &rtiexec, &list)),
        Ok((rtiexec, list)) => print(&text(&place, &rtiexec, &list)),
        Err(why) => fail(format!("{place}: {why}"), UNREACHABLE),
    }
}

/// Shakes hands and asks for the status.
fn ask(mut link: Link, end: Instant) -> Result<(PeerInfo, Vec<FederationStatus>), String> {
    let info = PeerInfo {
        pid: std::process::id(),
        host: host_name(),
        program: "starling ps".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        path: String::new(),
    };
    let version = VERSION;
    put_hello(link.writer.out(), &Hello { version, info });
    put_to_executive(link.writer.out(), &ToExecutive::QueryStatus);
    let waiter = Waiter::new().map_err(|e| e.to_string())?;
    let mut rtiexec = None;
    loop {
        link.writer.flush().map_err(|e| e.to_string())?;
        let split = split_frame(link.reader.inbox()).map_err(|e| e.to_string())?;
        if let Some((frame, size)) = split {
            match Frame::decode(frame).map_err(|e| e.to_string())? {
                Frame::Welcome(welcome) => match welcome.refusal {
                    Some(refusal) => return Err(format!("refused: {refusal}")),
                    None => rtiexec = Some(welcome.info),
                },
                Frame::FromExecutive(FromExecutive::Status(list)) => {
                    return Ok((rtiexec.unwrap_or_default(), list));
                }
                _ => {}
            }
            link.reader.consume(size);
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
            federation.name,
            federation.federates.len(),
            federation.instances,
            federation.time,
            federation.log,
            federation.modules.join(", ")
        );
        let heading = [
            "HANDLE", "FEDERATE", "TYPE", "PROGRAM", "PROCESS", "VERSION", "PATH",
        ];
        let mut rows = vec![heading.map(String::from)];
        for (federate, peer) in &federation.federates {
            rows.push([
                federate.handle.0.to_string(),
                federate.name.clone(),
                federate.kind.clone(),
                peer.program.clone(),
                format!("{}@{}", peer.pid, peer.host),
                peer.version.clone(),
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
            "{{\"name\": {:?}, \"time\": {:?}, \"instances\": {}, \"log\": {}, \"modules\": [{}], \"federates\": [{}]}}",
            Json(&f.name),
            Json(&f.time),
            f.instances,
            f.log,
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

/// Text as a JSON string.
struct Json<'a>(&'a str);

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
