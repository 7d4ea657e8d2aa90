//! `starling why`: why a federate gets nothing, or its time stands still.

use crate::{ASKED_BYTES_MAX, UNREACHABLE, WRONG_USAGE, fail, print, print_json, query, too_long};
use clap::Args;
use serde_json::{Value, json};
use starling::Reply;
use starling_core::NAME_BYTES_MAX;
use starling_core::message::{Finding, FromExecutive, Question, ToExecutive, WHICH_FEDERATION};
use starling_net::printable;
use std::fmt::Write;
use std::process::ExitCode;

/// Options of `starling why`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The joined federate that should receive, or whose time should go on
    federate: String,
    /// The object instance, object class or interaction class of which nothing comes; nothing: whom
    /// the federate's time waits for
    subject: Option<String>,
    /// The federation execution; needed where the federate's name is joined to several
    #[arg(long, default_value = "")]
    federation: String,
    /// As JSON
    #[arg(long)]
    json: bool,
    /// Which rtiexec, as a localSettingsDesignator (host:port); nothing: as a federate started here
    #[arg(long, default_value = "")]
    rtiexec: String,
}

/// Runs `starling why`. Fails if a link does.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    let names = [&arguments.federate, &arguments.federation];
    let wrong = too_long(names, NAME_BYTES_MAX);
    if let Some(wrong) = wrong.or_else(|| too_long(&arguments.subject, ASKED_BYTES_MAX)) {
        return wrong;
    }
    let question = ToExecutive::QueryWhy(Question {
        federation: arguments.federation.clone(),
        federate: arguments.federate.clone(),
        subject: arguments.subject.clone(),
    });
    let findings = match query(&arguments.rtiexec, "starling why", &question) {
        Ok(Reply {
            answer: FromExecutive::Why(findings),
            ..
        }) => findings,
        Ok(_) => return fail("rtiexec gave an answer to something else", UNREACHABLE),
        Err((why, code)) => return fail(why, code),
    };
    if let [which] = &findings[..]
        && which.link == WHICH_FEDERATION
    {
        return fail(printable(&which.detail), WRONG_USAGE);
    }
    let printed = if arguments.json {
        print_json(&as_json(&findings))
    } else {
        print(&text(&findings))
    };
    if findings.iter().all(|f| f.holds) {
        printed
    } else {
        ExitCode::FAILURE
    }
}

fn text(findings: &[Finding]) -> String {
    let widths = findings.iter().map(|f| f.link.chars().count());
    let width = widths.max().unwrap_or(0);
    let mut out = String::new();
    for finding in findings {
        let verdict = if finding.holds { "ok  " } else { "FAIL" };
        let _ = writeln!(
            out,
            "{verdict}  {:width$}  {}",
            printable(&finding.link),
            printable(&finding.detail)
        );
    }
    if findings.iter().all(|f| f.holds) {
        out.push_str("Every link holds as far as rtiexec can see: what comes is delivered when the federate evokes.\n");
    }
    out
}

fn as_json(findings: &[Finding]) -> Value {
    let rows = findings.iter().map(|f| {
        json!({
            "link": f.link,
            "holds": f.holds,
            "detail": f.detail,
        })
    });
    rows.collect()
}
