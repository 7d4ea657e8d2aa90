//! `starling destroy`, `starling resign`, `starling stop`: getting rid of what is left over.

use crate::{UNREACHABLE, WRONG_USAGE, fail, print, query, too_long};
use clap::Args;
use starling_core::NAME_BYTES_MAX;
use starling_core::message::{FederationStatus, FromExecutive, ToExecutive, WHICH_FEDERATION};
use starling_net::printable;
use std::process::ExitCode;

/// Of so many joined federates the names are told.
const SHOWN: usize = 10;

/// Options of `starling destroy`.
#[derive(Args)]
pub(crate) struct Destroy {
    /// The federation execution
    federation: String,
    /// Which rtiexec, as a localSettingsDesignator (host:port); nothing: as a federate started here
    #[arg(default_value = "")]
    rtiexec: String,
}

/// Options of `starling resign`.
#[derive(Args)]
pub(crate) struct Resign {
    /// The joined federate's name
    federate: String,
    /// Its federation execution; needed where there are several
    #[arg(long, default_value = "")]
    federation: String,
    /// Which rtiexec, as a localSettingsDesignator (host:port); nothing: as a federate started here
    #[arg(default_value = "")]
    rtiexec: String,
}

/// Options of `starling stop`.
#[derive(Args)]
pub(crate) struct Stop {
    /// Although federates are joined: they lose the connection
    #[arg(long)]
    force: bool,
    /// Which rtiexec, as a localSettingsDesignator (host:port); nothing: as a federate started here
    #[arg(default_value = "")]
    rtiexec: String,
}

/// Runs `starling destroy`.
pub(crate) fn destroy(arguments: &Destroy) -> ExitCode {
    if let Some(wrong) = too_long([&arguments.federation], NAME_BYTES_MAX) {
        return wrong;
    }
    let federation = arguments.federation.clone();
    let done = format!("{federation} is destroyed\n");
    let order = ToExecutive::DestroyFederation { federation };
    manage(&arguments.rtiexec, "starling destroy", &order, &done)
}

/// Runs `starling resign`.
pub(crate) fn resign(arguments: &Resign) -> ExitCode {
    let names = [&arguments.federate, &arguments.federation];
    if let Some(wrong) = too_long(names, NAME_BYTES_MAX) {
        return wrong;
    }
    let order = ToExecutive::ResignFederate {
        federation: arguments.federation.clone(),
        federate: arguments.federate.clone(),
    };
    let done = format!("{} is resigned\n", arguments.federate);
    manage(&arguments.rtiexec, "starling resign", &order, &done)
}

/// Runs `starling stop`.
pub(crate) fn stop(arguments: &Stop) -> ExitCode {
    let order = ToExecutive::Stop {
        force: arguments.force,
    };
    let program = "starling stop";
    let mut done = String::from("rtiexec ends\n");
    // Asked before, as nobody can be asked afterwards.
    let status = query(&arguments.rtiexec, program, &ToExecutive::QueryStatus);
    if let Ok(FromExecutive::Status(list)) = status.map(|reply| reply.answer) {
        done.extend(list.iter().map(what_goes));
    }
    manage(&arguments.rtiexec, program, &order, &done)
}

/// A federation execution that ends with its rtiexec.
fn what_goes(it: &FederationStatus) -> String {
    let names = it.federates.iter().map(|f| printable(&f.federate.name));
    let names: Vec<_> = names.take(SHOWN).collect();
    let more = match it.federates.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let federates = match &names[..] {
        [] => "no joined federate".into(),
        names => format!("joined: {}{more}", names.join(", ")),
    };
    let (name, instances) = (printable(&it.name), it.instances);
    format!("with it {name}: {instances} object instance(s), {federates}\n")
}

fn manage(designator: &str, program: &str, order: &ToExecutive, done: &str) -> ExitCode {
    match query(designator, program, order).map(|reply| reply.answer) {
        Ok(FromExecutive::Done(Ok(()))) => print(done),
        Ok(FromExecutive::Done(Err(refusal))) => {
            let unclear = refusal.message.starts_with(WHICH_FEDERATION);
            fail(refusal, if unclear { WRONG_USAGE } else { 1 })
        }
        Ok(_) => fail("rtiexec gave an answer to something else", UNREACHABLE),
        Err((why, code)) => fail(why, code),
    }
}
