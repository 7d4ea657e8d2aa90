//! `starling stats`: what federates measure of themselves.

use crate::columns::lay_out;
use crate::{UNREACHABLE, fail, print, print_json, query};
use clap::Args;
use serde_json::{Value, json};
use starling::Reply;
use starling_core::message::statistics::{CallTimes, Volume};
use starling_core::message::{FederateStatistics, FromExecutive, Statistics, ToExecutive};
use starling_net::printable;
use std::collections::HashMap;
use std::fmt::Write;
use std::process::ExitCode;

/// Options of `starling stats`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// As JSON, with the whole histogram of each call
    #[arg(long)]
    json: bool,
    /// Which rtiexec, as a localSettingsDesignator (host:port); nothing: as a federate started here
    #[arg(default_value = "")]
    designator: String,
}

/// Runs `starling stats`.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let question = ToExecutive::QueryStatistics;
    let list = match query(&arguments.designator, "starling stats", &question) {
        Ok(Reply {
            answer: FromExecutive::Statistics(list),
            ..
        }) => list,
        Ok(_) => return fail("rtiexec gave an answer to something else", UNREACHABLE),
        Err((why, code)) => return fail(why, code),
    };
    if arguments.json {
        print_json(&as_json(&list))
    } else {
        print(&text(&list))
    }
}

/// Federates' names, by federation execution and handle.
fn names(list: &[FederateStatistics]) -> HashMap<(&str, u32), &str> {
    /// Of what the RTI sends, as the management object model is.
    const RTI: u32 = 0;
    let rti = list.iter().map(|of| ((&*of.federation, RTI), "the RTI"));
    let all = list.iter();
    rti.chain(all.map(|of| ((&*of.federation, of.handle.0), &*of.name)))
        .collect()
}

fn text(list: &[FederateStatistics]) -> String {
    let mut out = String::new();
    if list.is_empty() {
        out.push_str("no joined federates\n");
    }
    let names = names(list);
    for of in list {
        let (federation, name) = (printable(&of.federation), printable(&of.name));
        let _ = writeln!(out, "{name} of {federation}:");
        match &of.told {
            Some(told) => show(&mut out, told, |handle| {
                let name = names.get(&(&*of.federation, handle));
                name.map_or_else(|| handle.to_string(), |name| printable(name).into())
            }),
            None => out.push_str(
                "  nothing: it measures if its settings have statistics.enabled = true, and tells once a second\n",
            ),
        }
    }
    out
}

fn show(out: &mut String, told: &Statistics, name_of: impl Fn(u32) -> String) {
    let of = |volume: &Volume| [volume.messages.to_string(), volume.bytes.to_string()];
    let heading = [
        "CLASS",
        "TRANSPORTATION",
        "SENT",
        "BYTES",
        "RECEIVED",
        "BYTES",
    ];
    let mut rows = vec![heading.map(String::from)];
    rows.extend(told.classes.iter().map(|row| {
        let (sent, received) = (of(&row.sent), of(&row.received));
        let [sent, sent_bytes] = sent;
        let [received, received_bytes] = received;
        let class = printable(&row.class).into();
        let transportation = row.transportation.name().into();
        [
            class,
            transportation,
            sent,
            sent_bytes,
            received,
            received_bytes,
        ]
    }));
    lay_out(out, "  ", &rows);
    let heading = ["FROM", "TRANSPORTATION", "RECEIVED", "BYTES"];
    let mut rows = vec![heading.map(String::from)];
    rows.extend(told.senders.iter().map(|row| {
        let [messages, bytes] = of(&row.received);
        let how = row.transportation.name().into();
        [name_of(row.sender.0), how, messages, bytes]
    }));
    lay_out(out, "  ", &rows);
    // What is of all peers stands before what is of each.
    let heading = ["PEER", "WAY", "SENT", "BYTES", "RECEIVED", "BYTES"];
    let mut rows = vec![heading.map(String::from)];
    let both = |peer: String, way: &str, sent: &Volume, received: &Volume| {
        let ([sent, sent_bytes], [received, received_bytes]) = (of(sent), of(received));
        let way = printable(way).into();
        [peer, way, sent, sent_bytes, received, received_bytes]
    };
    let all = told.ways.iter();
    rows.extend(all.map(|row| both("all".into(), &row.way, &row.sent, &row.received)));
    rows.extend(told.peers.iter().map(|row| {
        let name = name_of(row.federate.0);
        both(name, &row.way, &row.sent, &row.received)
    }));
    lay_out(out, "  ", &rows);
    let heading = ["CALL", "CALLS", "MEAN US", "P50 US", "P99 US", "LONGEST US"];
    let mut rows = vec![heading.map(String::from)];
    rows.extend(told.calls.iter().map(|row| {
        let us = |ns: f64| format!("{:.1}", ns / 1000.0);
        let mean = row.total_ns as f64 / row.calls().max(1) as f64;
        [
            printable(&row.name).into(),
            row.calls().to_string(),
            us(mean),
            us(row.quantile_ns(0.5) as f64),
            us(row.quantile_ns(0.99) as f64),
            us(row.longest_ns as f64),
        ]
    }));
    lay_out(out, "  ", &rows);
}

fn as_json(list: &[FederateStatistics]) -> Value {
    let names = names(list);
    let volume = |of: &Volume| json!({"messages": of.messages, "bytes": of.bytes});
    let call = |of: &CallTimes| {
        json!({
            "name": of.name,
            "callback": of.is_callback,
            "calls": of.calls(),
            "total_ns": of.total_ns,
            "longest_ns": of.longest_ns,
            "below_power_of_two_ns": of.buckets,
        })
    };
    let federate = |of: &FederateStatistics| {
        let told = of.told.as_ref().map(|told| {
            json!({
                "classes": told.classes.iter().map(|row| json!({
                    "class": row.class,
                    "interaction": row.is_interaction,
                    "transportation": row.transportation.name(),
                    "sent": volume(&row.sent),
                    "received": volume(&row.received),
                })).collect::<Vec<_>>(),
                "senders": told.senders.iter().map(|row| json!({
                    "handle": row.sender.0,
                    "name": names.get(&(&*of.federation, row.sender.0)),
                    "transportation": row.transportation.name(),
                    "received": volume(&row.received),
                })).collect::<Vec<_>>(),
                "ways": told.ways.iter().map(|row| json!({
                    "way": row.way,
                    "sent": volume(&row.sent),
                    "received": volume(&row.received),
                })).collect::<Vec<_>>(),
                "peers": told.peers.iter().map(|row| json!({
                    "handle": row.federate.0,
                    "name": names.get(&(&*of.federation, row.federate.0)),
                    "way": row.way,
                    "sent": volume(&row.sent),
                    "received": volume(&row.received),
                })).collect::<Vec<_>>(),
                "calls": told.calls.iter().map(call).collect::<Vec<_>>(),
            })
        });
        json!({
            "federation": of.federation,
            "handle": of.handle.0,
            "name": of.name,
            "statistics": told,
        })
    };
    list.iter().map(federate).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use starling_core::message::statistics::SenderTraffic;
    use starling_core::{FederateHandle, Transportation};

    /// A monitor gets most from the RTI, which is no federate.
    #[test]
    fn what_the_rti_sends_is_named() {
        let from = |sender| SenderTraffic {
            sender: FederateHandle(sender),
            transportation: Transportation::Reliable,
            received: Volume {
                messages: 335,
                bytes: 688_944,
            },
        };
        let told = Statistics {
            senders: vec![from(0), from(1), from(7)],
            ..Statistics::default()
        };
        let list = [FederateStatistics {
            federation: "F".into(),
            handle: FederateHandle(1),
            name: "Monitor".into(),
            told: Some(told),
        }];
        let text = text(&list);
        let from: Vec<_> = text.lines().filter(|l| l.contains(" 335 ")).collect();
        let names = from
            .iter()
            .map(|l| l.split("  ").nth(1).unwrap_or_default());
        assert_eq!(
            names.collect::<Vec<_>>(),
            ["the RTI", "Monitor", "7"],
            "{text}"
        );
        let json = as_json(&list);
        let senders = &json[0]["statistics"]["senders"];
        assert_eq!(senders[0]["name"], "the RTI");
        assert_eq!(senders[2]["name"], Value::Null);
    }
}
