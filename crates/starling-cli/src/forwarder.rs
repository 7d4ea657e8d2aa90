//! `starling forwarder`.
//!
//! Once federates can connect, one line on standard output says where, as that of `starling rtiexec`.

use crate::serving::{self, Serving};
use crate::{Failure, UNREACHABLE, fail, failed, wrong_settings};
use clap::Args;
use starling_net::{RunDir, raise_descriptor_limit};
use starling_rid::{
    CONNECT_TIMEOUT_S, FORWARDER_LISTEN, FORWARDER_UPSTREAM, SettingError, Settings,
};
use starling_rtiexec::{Config, Ended, Server, start_logging};
use std::process::ExitCode;
use std::time::Duration;
use tracing::warn;

/// Options of `starling forwarder`; every other setting comes from the usual sources.
#[derive(Args)]
pub(crate) struct Arguments {
    /// The rtiexec or forwarder that it hands on to, host:port or unix:/path [forwarder.upstream]
    #[arg(long, value_name = "ADDRESS")]
    upstream: Option<String>,
    /// Where to listen, host:port or unix:/path; may be given several times [forwarder.listen]
    #[arg(long, value_name = "ADDRESS")]
    listen: Vec<String>,
    #[command(flatten)]
    serving: Serving,
}

/// Runs `starling forwarder`.
pub(crate) fn run(arguments: &Arguments) -> ExitCode {
    match serve(arguments) {
        Ok(Ended::Lost(why)) => fail(
            format_args!(
                "the forwarder has lost its way to rtiexec, and its federates with it: {why}\n  \
                 do: start it again once rtiexec can be reached"
            ),
            1,
        ),
        Ok(Ended::Stopped(_) | Ended::Idle(_)) => ExitCode::SUCCESS,
        Err((error, code)) => fail(error, code),
    }
}

fn serve(arguments: &Arguments) -> Result<Ended, Failure> {
    let settings = settings(arguments).map_err(wrong_settings)?;
    let _log = start_logging(&settings).map_err(failed)?;
    for note in settings.notes() {
        warn!("{note}");
    }
    let Some(upstream) = settings.get(FORWARDER_UPSTREAM) else {
        let why = "no rtiexec is named to hand on to\n  do: give --upstream HOST:PORT";
        return Err((why.into(), crate::WRONG_USAGE));
    };
    raise_descriptor_limit();
    let mut config = Config::of(&settings);
    config.listen = settings.get(FORWARDER_LISTEN);
    match RunDir::of(&settings) {
        Ok(run_dir) => config.run_dir = Some(run_dir),
        Err(error) => warn!("no Unix-domain links: {error}"),
    }
    let timeout = Duration::from_secs_f64(settings.get(CONNECT_TIMEOUT_S));
    let greeted = starling::greet(&upstream, "forwarder", timeout, config.compression);
    let (link, welcome) = greeted.map_err(|why| {
        (
            format!("{why}\n  do: start it first (--upstream)"),
            UNREACHABLE,
        )
    })?;
    let server = Server::forwarder(config, link, welcome).map_err(failed)?;
    let more = format!(", hands on to {upstream}");
    serving::serve(server, "forwarder", &more).map_err(failed)
}

fn settings(arguments: &Arguments) -> Result<Settings, SettingError> {
    let mut settings = arguments.serving.settings()?;
    if !arguments.listen.is_empty() {
        settings.set(FORWARDER_LISTEN, &arguments.listen.join(" "), "--listen")?;
    }
    if let Some(upstream) = &arguments.upstream {
        settings.set(FORWARDER_UPSTREAM, upstream, "--upstream")?;
    }
    Ok(settings)
}
