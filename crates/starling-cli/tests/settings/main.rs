//! What settings change, seen from outside: each test does the same with two values and sees what differs
//! (docs/settings-tests.md).
#![allow(clippy::print_stdout, reason = "how federates tell what they do")]

#[path = "../../../starling-rtiexec/tests/common/mod.rs"]
mod common;
mod compressed;
mod federate;
#[path = "../numbers/mod.rs"]
mod numbers;
mod reaching;
mod rtiexec;

use starling::{Callback, CallbackModel, Exception, ExceptionKind, RtiAmbassador};
use starling_rid::{Settings, Sources};
use starling_rtiexec::Config;
use std::path::Path;
use std::sync::mpsc::{Receiver, channel};

#[test]
#[ignore = "is run by the others"]
fn federate() -> Result<(), Box<dyn std::error::Error>> {
    numbers::federate()
}

/// Nothing happens by the clock.
const LONG: &str = "connect.timeout_s=3600;fault.heartbeat_s=3600;fault.timeout_s=3600";

fn settings(text: &str) -> Settings {
    Sources::new().designator(text).read().unwrap()
}

/// A server of this process that has these settings.
fn serve(text: &str) -> common::Running {
    common::run(|config| {
        let listen = std::mem::take(&mut config.listen);
        *config = Config::of(&settings(&format!("limits.hello_timeout_s=3600;{text}")));
        config.listen = listen;
    })
}

/// A federate of this process.
struct Member {
    rti: RtiAmbassador,
    heard: Receiver<Callback>,
}

impl Member {
    fn connect(address: &str, text: &str) -> Self {
        let (to, heard) = channel();
        let rti = RtiAmbassador::new();
        let text = format!("connect.address={address};{LONG};{text}");
        let ears = Box::new(numbers::Ears(to));
        rti.connect(ears, CallbackModel::Evoked, &text).unwrap();
        Member { rti, heard }
    }

    /// Creates it, unless another one has.
    fn join(address: &str, name: &str, text: &str) -> Self {
        let member = Member::connect(address, text);
        let _ = member.create("Fleet");
        let rti = &member.rti;
        rti.join_federation_execution(Some(name), "t", "Fleet", &[])
            .unwrap();
        member
    }

    fn create(&self, federation: &str) -> Result<(), Exception> {
        let fom = [fom("fleet/Fleet.xml")];
        self.rti
            .create_federation_execution(federation, &fom, None, "")
    }

    /// Until this has come; what comes before it is passed over.
    fn until(&self, name: &str) -> Callback {
        let mut found = None;
        numbers::until(name, || {
            self.rti.evoke_callback(0.01).unwrap();
            found = self.heard.try_iter().find(|c| c.name() == name);
            found.is_some()
        });
        found.expect("it was waited for")
    }
}

fn fom(name: &str) -> String {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom");
    data.join(name).display().to_string()
}

/// A service that is switched off throws, and names its setting.
fn is_off<T: std::fmt::Debug>(done: Result<T, Exception>, setting: &str) {
    let refused = done.expect_err(setting);
    assert_eq!(refused.kind, ExceptionKind::RTIinternalError, "{refused}");
    assert!(refused.message.contains(setting), "{refused}");
}
