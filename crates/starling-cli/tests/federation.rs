//! Federates of this process on a real rtiexec: the whole way through library, link and server.

use starling::ResignAction;
use starling::{
    AttributeHandle, InteractionClassHandle, ObjectClassHandle, ObjectInstanceHandle,
    ParameterHandle,
};
use starling::{Callback, CallbackModel, ExceptionKind, FederateAmbassador, RtiAmbassador};
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::time::Duration;

/// An rtiexec of the test's own; ended with it.
struct Rtiexec {
    child: Child,
    address: String,
    _run_dir: tempfile::TempDir,
}

impl Rtiexec {
    fn start() -> Self {
        Self::start_with("STARLING_FAULT_HEARTBEAT_S", "2")
    }

    fn start_with(setting: &str, value: &str) -> Self {
        let run_dir = tempfile::tempdir().unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_starling"))
            .env("STARLING_LIMITS_HELLO_TIMEOUT_S", "3600")
            .env(setting, value)
            .args(["rtiexec", "--listen", "127.0.0.1:0", "--run-dir"])
            .arg(run_dir.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let out = child.stdout.take().unwrap();
        BufReader::new(out).read_line(&mut line).unwrap();
        let address = line.split_whitespace().nth(1).unwrap().to_owned();
        Rtiexec {
            child,
            address,
            _run_dir: run_dir,
        }
    }
}

impl Drop for Rtiexec {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

struct Ears(Sender<Callback>);

impl FederateAmbassador for Ears {
    fn deliver(&mut self, callback: Callback) -> Result<(), String> {
        self.0.send(callback).map_err(|e| e.to_string())
    }
}

/// A federate under test.
struct Federate {
    rti: RtiAmbassador,
    heard: Receiver<Callback>,
    model: CallbackModel,
}

fn fom() -> Vec<String> {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom");
    let path = root.join("restaurant/RestaurantFOMmodule-2010.xml");
    vec![path.display().to_string()]
}

impl Federate {
    fn connect(address: &str, model: CallbackModel) -> Self {
        let rti = RtiAmbassador::new();
        let (sender, heard) = channel();
        let settings = format!("{address};connect.timeout_s=3600");
        rti.connect(Box::new(Ears(sender)), model, &settings)
            .unwrap();
        Federate { rti, heard, model }
    }

    fn join(address: &str, model: CallbackModel, name: &str) -> Self {
        let federate = Self::connect(address, model);
        match federate
            .rti
            .create_federation_execution("Test", &fom(), None, "")
        {
            Err(e) if e.kind != ExceptionKind::FederationExecutionAlreadyExists => panic!("{e}"),
            _ => {}
        }
        let joined = federate
            .rti
            .join_federation_execution(Some(name), "tester", "Test", &[]);
        joined.unwrap();
        federate
    }

    /// The next callback, however it comes and however long that takes.
    fn next(&self) -> Callback {
        loop {
            if let Ok(callback) = self.heard.try_recv() {
                return callback;
            }
            match self.model {
                CallbackModel::Evoked => {
                    self.rti.evoke_callback(10.0).unwrap();
                }
                CallbackModel::Immediate => return self.heard.recv().unwrap(),
            }
        }
    }

    fn class(&self, name: &str) -> ObjectClassHandle {
        self.rti.object_class_handle(name).unwrap()
    }

    fn attribute(&self, class: ObjectClassHandle, name: &str) -> AttributeHandle {
        self.rti.attribute_handle(class, name).unwrap()
    }

    fn interaction(&self, name: &str) -> InteractionClassHandle {
        self.rti.interaction_class_handle(name).unwrap()
    }

    fn parameter(&self, class: InteractionClassHandle, name: &str) -> ParameterHandle {
        self.rti.parameter_handle(class, name).unwrap()
    }

    fn publish(&self, class: ObjectClassHandle, attributes: &[AttributeHandle]) {
        let done = self.rti.publish_object_class_attributes(class, attributes);
        done.unwrap();
    }

    fn subscribe(&self, class: ObjectClassHandle, attributes: &[AttributeHandle]) {
        self.rti
            .subscribe_object_class_attributes(class, attributes, true, "")
            .unwrap();
    }

    fn register(&self, class: ObjectClassHandle) -> ObjectInstanceHandle {
        self.rti.register_object_instance(class, None).unwrap()
    }

    fn update(&self, instance: ObjectInstanceHandle, attribute: AttributeHandle, value: &[u8]) {
        let done = self
            .rti
            .update_attribute_values(instance, &[(attribute, value)], b"tag");
        done.unwrap();
    }
}

fn whole_life(model: CallbackModel, settings: &str) {
    let rtiexec = Rtiexec::start();
    let address = format!("{};{settings}", rtiexec.address);
    let (a, b) = (
        Federate::join(&address, model, "A"),
        Federate::join(&address, model, "B"),
    );
    let soda = a.class("Food.Drink.Soda");
    let drink = b.class("HLAobjectRoot.Food.Drink");
    let flavor = a.attribute(soda, "Flavor");
    let cups = a.attribute(drink, "NumberCups");
    a.publish(soda, &[flavor, cups]);
    let car = a.register(soda);
    b.subscribe(drink, &[cups]);
    assert_eq!(
        b.next(),
        Callback::DiscoverObjectInstance {
            instance: car,
            class: drink,
            name: "HLAinstance-1-1".into(),
            // The FDD does not convey producing federates.
            producer: None,
        }
    );
    // A sends when it has applied B's subscription; how soon is the network's affair.
    let seen = loop {
        a.update(car, cups, b"42");
        a.rti.evoke_multiple_callbacks(0.0, 0.0).unwrap();
        if b.model == CallbackModel::Evoked {
            b.rti.evoke_callback(0.01).unwrap();
        }
        if let Ok(callback) = b.heard.recv_timeout(Duration::from_millis(10)) {
            break callback;
        }
    };
    match seen {
        Callback::ReflectAttributeValues {
            instance, values, ..
        } => {
            assert_eq!(instance, car);
            assert_eq!(values.iter().collect::<Vec<_>>(), [(cups, &b"42"[..])]);
            assert_eq!(values.tag(), b"tag");
        }
        other => panic!("{other:?}"),
    }
    let wrong = b.rti.update_attribute_values(car, &[(cups, b"1")], b"");
    assert_eq!(
        wrong.unwrap_err().to_string(),
        "AttributeNotOwned: updateAttributeValues: attribute 'NumberCups' of 'HLAinstance-1-1' \
         is not owned by this federate (1516.1-2010, 6.10)"
    );
    let deleted = a.rti.delete_object_instance(car, b"gone");
    deleted.unwrap();
    loop {
        match b.next() {
            Callback::RemoveObjectInstance { instance, tag, .. } => {
                assert_eq!((instance, tag), (car, b"gone".to_vec()));
                break;
            }
            Callback::ReflectAttributeValues { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    let destroyed = a.rti.destroy_federation_execution("Test");
    assert_eq!(
        destroyed.unwrap_err().kind,
        ExceptionKind::FederatesCurrentlyJoined
    );
    for federate in [&a, &b] {
        let action = ResignAction::DeleteObjectsThenDivest;
        federate.rti.resign_federation_execution(action).unwrap();
    }
    b.rti.destroy_federation_execution("Test").unwrap();
    let join = b.rti.join_federation_execution(None, "t", "Test", &[]);
    assert_eq!(
        join.unwrap_err().kind,
        ExceptionKind::FederationExecutionDoesNotExist
    );
    for federate in [a, b] {
        federate.rti.disconnect().unwrap();
    }
}

#[test]
fn evoked() {
    whole_life(CallbackModel::Evoked, "");
}

#[test]
fn evoked_single_threaded() {
    whole_life(CallbackModel::Evoked, "callbacks.io=single-threaded");
}

#[test]
fn immediate() {
    whole_life(CallbackModel::Immediate, "");
}

#[test]
fn a_lost_federate_is_resigned_by_its_directive() {
    let rtiexec = Rtiexec::start();
    let model = CallbackModel::Evoked;
    let a = Federate::join(&rtiexec.address, model, "A");
    let b = Federate::join(&rtiexec.address, model, "B");
    let soda = a.class("Food.Drink.Soda");
    let flavor = a.attribute(soda, "Flavor");
    a.publish(soda, &[flavor]);
    let instance = a.register(soda);
    b.subscribe(soda, &[flavor]);
    assert!(matches!(b.next(), Callback::DiscoverObjectInstance { .. }));
    drop(a);
    match b.next() {
        Callback::RemoveObjectInstance { instance: gone, .. } => assert_eq!(gone, instance),
        other => panic!("{other:?}"),
    }
}

#[test]
fn when_rtiexec_dies_the_connection_is_lost() {
    for model in [CallbackModel::Evoked, CallbackModel::Immediate] {
        let rtiexec = Rtiexec::start();
        let a = Federate::join(&rtiexec.address, model, "A");
        drop(rtiexec);
        assert!(matches!(a.next(), Callback::ConnectionLost { .. }));
        let thrown = a.rti.object_class_handle("Food");
        assert_eq!(thrown.unwrap_err().kind, ExceptionKind::NotConnected);
        a.rti.disconnect().unwrap();
    }
}

#[test]
fn what_is_wrong_throws_what_the_standard_says() {
    let rtiexec = Rtiexec::start();
    let a = Federate::connect(&rtiexec.address, CallbackModel::Evoked);
    let create = |modules: &[String], mim: Option<&str>, time: &str| {
        let created = a.rti.create_federation_execution("F", modules, mim, time);
        created.unwrap_err().kind
    };
    use ExceptionKind::*;
    assert_eq!(create(&["nowhere.xml".into()], None, ""), CouldNotOpenFDD);
    assert_eq!(create(&fom(), Some("nowhere.xml"), ""), CouldNotOpenMIM);
    assert_eq!(
        create(&fom(), Some("HLAstandardMIM"), ""),
        DesignatorIsHLAstandardMIM
    );
    assert_eq!(create(&fom(), Some(&fom()[0]), ""), ErrorReadingMIM);
    assert_eq!(
        create(&fom(), None, "Sundial"),
        CouldNotCreateLogicalTimeFactory
    );
    assert_eq!(create(&["Cargo.toml".into()], None, ""), ErrorReadingFDD);
    let (sender, _) = channel();
    let again = a
        .rti
        .connect(Box::new(Ears(sender)), CallbackModel::Evoked, "");
    assert_eq!(again.unwrap_err().kind, AlreadyConnected);
    let (sender, _) = channel();
    let other = RtiAmbassador::new();
    let garbage = other.connect(
        Box::new(Ears(sender)),
        CallbackModel::Evoked,
        "conect.address=x",
    );
    assert_eq!(garbage.unwrap_err().kind, InvalidLocalSettingsDesignator);
    let (sender, _) = channel();
    let nobody = other.connect(Box::new(Ears(sender)), CallbackModel::Evoked, "127.0.0.1:1");
    assert_eq!(nobody.unwrap_err().kind, ConnectionFailed);
}

#[test]
fn hundreds_of_lives_in_one_process() {
    let rtiexec = Rtiexec::start();
    let a = Federate::connect(&rtiexec.address, CallbackModel::Immediate);
    for _ in 0..200 {
        a.rti
            .create_federation_execution("Again", &fom(), None, "HLAinteger64Time")
            .unwrap();
        a.rti
            .join_federation_execution(Some("A"), "t", "Again", &[])
            .unwrap();
        a.rti
            .resign_federation_execution(ResignAction::NoAction)
            .unwrap();
        a.rti.destroy_federation_execution("Again").unwrap();
    }
}

#[test]
fn interactions_arrive_at_the_subscribed_superclass() {
    let rtiexec = Rtiexec::start();
    let model = CallbackModel::Evoked;
    let a = Federate::join(&rtiexec.address, model, "A");
    let b = Federate::join(&rtiexec.address, model, "B");
    let sent = a.interaction("CustomerTransactions.FoodServed.MainCourseServed");
    let parameter = a.parameter(sent, "TemperatureOk");
    let superclass = b.interaction("CustomerTransactions.FoodServed");
    let done = b.rti.subscribe_interaction_class(superclass, true);
    done.unwrap();
    let done = a.rti.publish_interaction_class(sent);
    done.unwrap();
    loop {
        a.rti.evoke_callback(0.01).unwrap();
        let done = a.rti.send_interaction(sent, &[(parameter, b"yes")], b"");
        done.unwrap();
        b.rti.evoke_callback(0.01).unwrap();
        if let Ok(callback) = b.heard.try_recv() {
            match callback {
                Callback::ReceiveInteraction { class, values, .. } => {
                    assert_eq!((class, values.iter().count()), (superclass, 0));
                    return;
                }
                other => panic!("{other:?}"),
            }
        }
    }
}

/// The fault description of the next report that a federate was lost.
fn fault_told(watcher: &Federate, report: InteractionClassHandle) -> String {
    loop {
        if let Callback::ReceiveInteraction { class, values, .. } = watcher.next()
            && class == report
        {
            // HLAunicodeString: a count, then big-endian units. The longest value is the description.
            let described = values.iter().map(|(_, v)| v).max_by_key(|v| v.len());
            let units = described.unwrap()[4..].chunks(2);
            let units = units.map(|c| u16::from_be_bytes([c[0], c[1]]));
            return String::from_utf16(&units.collect::<Vec<_>>()).unwrap();
        }
    }
}

/// Shows settings: limits.withheld_bytes.
#[test]
fn who_is_cut_off_for_what_is_withheld_learns_it_and_so_do_others() {
    const LIMIT: &str = "limits.withheld_bytes=100000";
    let rtiexec = Rtiexec::start();
    let model = CallbackModel::Evoked;
    let watcher = Federate::join(&rtiexec.address, model, "Watcher");
    let report = watcher.interaction("HLAmanager.HLAfederate.HLAreport.HLAreportFederateLost");
    watcher
        .rti
        .subscribe_interaction_class(report, true)
        .unwrap();
    let b = Federate::join(&format!("{};{LIMIT}", rtiexec.address), model, "B");
    let sent = watcher.interaction("CustomerTransactions.FoodServed");
    watcher.rti.publish_interaction_class(sent).unwrap();
    b.rti.enable_time_constrained().unwrap();
    assert!(matches!(b.next(), Callback::TimeConstrainedEnabled { .. }));
    b.rti.subscribe_interaction_class(sent, true).unwrap();
    // What it sends before it has heard of that goes to nobody.
    assert!(matches!(
        watcher.next(),
        Callback::TurnInteractionsOn { .. }
    ));
    // Who asks is warned before.
    for _ in 0..60 {
        watcher.rti.send_interaction(sent, &[], &[0; 1000]).unwrap();
    }
    loop {
        watcher.rti.evoke_callback(0.0).unwrap();
        b.rti.evoke_callback(0.0).unwrap();
        let why = ["why", "--rtiexec", &rtiexec.address, "B"];
        let why = Command::new(env!("CARGO_BIN_EXE_starling"))
            .args(why)
            .output();
        let said = String::from_utf8(why.unwrap().stdout).unwrap();
        if said.contains(" % of the 100000 that its limits.withheld_bytes allows") {
            break;
        }
    }
    let lost = loop {
        watcher.rti.send_interaction(sent, &[], &[0; 1000]).unwrap();
        watcher.rti.evoke_callback(0.0).unwrap();
        if b.rti.evoke_callback(0.001).is_err() {
            panic!("no exception is due");
        }
        match b.heard.try_recv() {
            Ok(Callback::ConnectionLost { fault }) => break fault,
            Ok(other) => panic!("{other:?}"),
            Err(_) => {}
        }
    };
    for told in [lost, fault_told(&watcher, report)] {
        assert!(told.contains("limits.withheld_bytes (100000)"), "{told}");
        assert!(!told.contains("must not"), "{told}");
    }
}

#[test]
fn what_waits_for_a_federate_that_does_not_evoke_is_bounded() {
    const LIMIT: usize = 1 << 20;
    const UPDATES: usize = 500;
    let rtiexec = Rtiexec::start();
    let model = CallbackModel::Evoked;
    let limit = format!("{};limits.callback_queue_bytes={LIMIT}", rtiexec.address);
    let a = Federate::join(&rtiexec.address, model, "A");
    let b = Federate::join(&limit, model, "B");
    let soda = a.class("Food.Drink.Soda");
    let flavor = a.attribute(soda, "Flavor");
    a.publish(soda, &[flavor]);
    b.subscribe(soda, &[flavor]);
    let instance = a.register(soda);
    assert!(matches!(b.next(), Callback::DiscoverObjectInstance { .. }));
    // A has applied B's subscription when its first update arrives.
    while b.heard.try_recv().is_err() {
        a.update(instance, flavor, b"first");
        a.rti.evoke_callback(0.01).unwrap();
        b.rti.evoke_callback(0.01).unwrap();
    }
    let waiting = || b.rti.waiting_bytes();
    let value = vec![7; 100_000];
    std::thread::scope(|scope| {
        let (rti, value) = (&a.rti, &value);
        scope.spawn(move || {
            for _ in 0..UPDATES {
                let done = rti.update_attribute_values(instance, &[(flavor, value)], b"");
                done.unwrap();
            }
        });
        // The background thread reads while B is elsewhere, and stops.
        while waiting() <= LIMIT {
            std::thread::yield_now();
        }
        let mut most = 0;
        let mut reflected = 0;
        while reflected < UPDATES {
            most = most.max(waiting());
            if let Callback::ReflectAttributeValues { values, .. } = b.next() {
                reflected += values.iter().filter(|(_, v)| *v == &value[..]).count();
            }
        }
        // One reading more than the limit, however many there were in all.
        assert!(most < 4 * LIMIT, "{most} bytes waited");
    });
}

#[test]
fn starling_why_names_the_link_that_fails() {
    let rtiexec = Rtiexec::start();
    let why = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_starling"));
        command.arg("why").args(["--rtiexec", &rtiexec.address]);
        let output = command.args(arguments).output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        (output.status.code(), text)
    };
    let (code, text) = why(&["B", "Food"]);
    assert_eq!(code, Some(1));
    assert_eq!(
        text,
        "FAIL  federation execution  there is no federation execution\n"
    );
    let model = CallbackModel::Evoked;
    let a = Federate::join(&rtiexec.address, model, "A");
    let b = Federate::join(&rtiexec.address, model, "B");
    let soda = a.class("Food.Drink.Soda");
    let flavor = a.attribute(soda, "Flavor");
    a.publish(soda, &[flavor]);
    let instance = a.register(soda);
    a.rti.evoke_multiple_callbacks(0.0, 0.0).unwrap();
    let name = a.rti.object_instance_name(instance);
    let name = name.unwrap();
    // What a federate has asked for is known to rtiexec when it answers it something later.
    a.rti
        .destroy_federation_execution("Test")
        .expect_err("joined");
    let (code, text) = why(&["B", &name]);
    assert_eq!(code, Some(1));
    assert!(
        text.lines().last().unwrap().starts_with("FAIL  subscribed"),
        "{text}"
    );
    b.subscribe(soda, &[flavor]);
    assert!(matches!(b.next(), Callback::DiscoverObjectInstance { .. }));
    while b.heard.try_recv().is_err() {
        a.update(instance, flavor, b"now");
        a.rti.evoke_callback(0.01).unwrap();
        b.rti.evoke_callback(0.01).unwrap();
    }
    // What became of its data a federate tells while it evokes.
    let counts = || {
        let (_, text) = why(&["B", &name]);
        let line = text.lines().find(|l| l.starts_with("ok    counts"));
        line.unwrap_or_else(|| panic!("{text}")).to_owned()
    };
    while counts().contains(" 0 received") {
        b.rti.evoke_callback(0.01).unwrap();
    }
    let (code, text) = why(&["--json", "--federation", "Test", "B", &name]);
    assert!(code == Some(0), "{text}");
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let path = json
        .as_array()
        .unwrap()
        .iter()
        .find(|f| f["link"] == "path");
    assert_eq!(path.unwrap()["holds"], true, "{text}");
    // B evokes no more.
    a.update(instance, flavor, b"unheard");
    a.rti.evoke_callback(0.0).unwrap();
    while !why(&["B", &name]).1.contains("FAIL  evoked") {
        a.rti.evoke_callback(0.01).unwrap();
    }
    assert!(matches!(b.next(), Callback::ReflectAttributeValues { .. }));
    while why(&["B", &name]).0 != Some(0) {
        b.rti.evoke_callback(0.01).unwrap();
    }
    // The federate's name leads to its federation execution, where it is in one only.
    let other = Federate::connect(&rtiexec.address, model);
    let create = other
        .rti
        .create_federation_execution("Other", &fom(), None, "");
    create.unwrap();
    assert_eq!(why(&["B", &name]).0, Some(0));
    let join = other
        .rti
        .join_federation_execution(Some("B"), "tester", "Other", &[]);
    join.unwrap();
    assert_eq!(why(&["B", &name]), (Some(2), String::new()));
    drop((a, b, other));
    drop(rtiexec);
    // Nobody is asked with a name that can't be one: else it would be code 3.
    let long = "x".repeat(70_000);
    let nowhere = "127.0.0.1:1";
    for arguments in [
        &["why", "--rtiexec", nowhere, &long][..],
        &["why", "--rtiexec", nowhere, "B", &long],
        &["why", "--rtiexec", nowhere, "B", "--federation", &long],
        &["destroy", &long, nowhere],
        &["resign", &long, nowhere],
        &["resign", "B", "--federation", &long, nowhere],
    ] {
        let mut command = Command::new(env!("CARGO_BIN_EXE_starling"));
        let output = command.args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{}", arguments[0]);
        assert!(output.stderr.len() < 200, "it says all of the name");
    }
    let mut command = Command::new(env!("CARGO_BIN_EXE_starling"));
    command.args(["why", "--rtiexec", "127.0.0.1:1", "B", "Food"]);
    assert_eq!(command.output().unwrap().status.code(), Some(3));
}

#[test]
fn a_bundle_leaves_though_its_sender_calls_nothing_more() {
    const UPDATES: usize = 100;
    // Heartbeats of either side would take what waits along, or wake who writes it.
    let rtiexec = Rtiexec::start_with("STARLING_FAULT_HEARTBEAT_S", "3600");
    let model = CallbackModel::Evoked;
    // So long that only the first update is written when it is sent.
    let bundling = "bundle.idle_us=1000000;bundle.age_us=20000;fault.heartbeat_s=3600";
    let a = Federate::join(&format!("{};{bundling}", rtiexec.address), model, "A");
    let b = Federate::join(&rtiexec.address, model, "B");
    let soda = a.class("Food.Drink.Soda");
    let flavor = a.attribute(soda, "Flavor");
    a.publish(soda, &[flavor]);
    b.subscribe(soda, &[flavor]);
    let instance = a.register(soda);
    assert!(matches!(b.next(), Callback::DiscoverObjectInstance { .. }));
    // A has applied B's subscription when its first update arrives.
    while b.heard.try_recv().is_err() {
        a.update(instance, flavor, b"first");
        a.rti.evoke_callback(0.01).unwrap();
        b.rti.evoke_callback(0.01).unwrap();
    }
    // A's background thread has taken over reading: nobody else takes this in. It must be woken.
    let (c, waited) = (
        Federate::join(&rtiexec.address, model, "C"),
        a.rti.waiting_bytes(),
    );
    let only = [c.rti.federate_handle("A").unwrap()];
    c.rti
        .register_federation_synchronization_point("over", b"", &only)
        .unwrap();
    while a.rti.waiting_bytes() <= waited {
        std::thread::yield_now();
    }
    for n in 0..UPDATES {
        a.update(instance, flavor, &[n as u8]);
    }
    let mut expected = 0;
    while expected < UPDATES {
        let Callback::ReflectAttributeValues { values, .. } = b.next() else {
            panic!("only updates are sent");
        };
        let (_, value) = values.iter().next().unwrap();
        if value != b"first" {
            assert_eq!(value, [expected as u8]);
            expected += 1;
        }
    }
}

/// Hears of federation executions, and asks again from within each callback, `left` times: the
/// next one is there before the callback is over.
struct Asking {
    rti: Weak<RtiAmbassador>,
    left: usize,
    heard: Arc<AtomicUsize>,
}

impl FederateAmbassador for Asking {
    fn deliver(&mut self, _: Callback) -> Result<(), String> {
        self.heard.fetch_add(1, Ordering::Relaxed);
        if self.left > 0 {
            self.left -= 1;
            ask(&self.rti.upgrade().unwrap());
        }
        Ok(())
    }
}

fn ask(rti: &RtiAmbassador) {
    rti.list_federation_executions().unwrap();
    // The executive answers in order.
    rti.destroy_federation_execution("none").unwrap_err();
}

#[test]
fn evoking_many_ends_though_callbacks_never_do() {
    const MANY: usize = 20_000;
    let rtiexec = Rtiexec::start();
    for (min, max) in [(0.0, 0.0), (0.05, 0.0), (0.0, 0.05), (0.05, 0.01)] {
        let rti = Arc::new(RtiAmbassador::new());
        let heard = Arc::new(AtomicUsize::new(0));
        let asking = Asking {
            rti: Arc::downgrade(&rti),
            left: MANY,
            heard: heard.clone(),
        };
        let settings = format!("{};connect.timeout_s=3600", rtiexec.address);
        rti.connect(Box::new(asking), CallbackModel::Evoked, &settings)
            .unwrap();
        ask(&rti);
        assert!(rti.evoke_multiple_callbacks(min, max).unwrap());
        let heard = heard.load(Ordering::Relaxed);
        match (min, max) {
            (0.0, 0.0) => assert_eq!(heard, 1, "what was there at the call"),
            _ => assert!(heard < MANY, "{min} {max}"),
        }
    }
}

/// A number of bytes that the system knows of a process, e.g. `VmHWM`: the most that was resident.
fn memory(process: u32, what: &str) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find(|l| l.starts_with(what)).unwrap();
    let kb = line.split_whitespace().nth(1).unwrap();
    1024 * kb.parse::<usize>().unwrap()
}

/// Its memory is measured, so it has a process of its own.
#[test]
fn what_waits_for_a_federate_that_only_sends_is_bounded() {
    let done = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "sends_only", "--nocapture"])
        .output()
        .unwrap();
    let [out, errors] = [&done.stdout, &done.stderr].map(|o| String::from_utf8_lossy(o));
    assert!(
        done.status.success() && out.contains("1 passed"),
        "{out}{errors}"
    );
}

/// Not a test of its own: run by the one above.
#[test]
#[ignore = "run by another"]
fn sends_only() {
    const LIMIT: usize = 1 << 20;
    const UPDATES: usize = 10_000;
    let value = vec![7; 100_000];
    let rtiexec = Rtiexec::start();
    let model = CallbackModel::Evoked;
    let settings = format!("{};limits.callback_queue_bytes={LIMIT}", rtiexec.address);
    let both = [
        Federate::join(&settings, model, "A"),
        Federate::join(&settings, model, "B"),
    ];
    let soda = both[0].class("Food.Drink.Soda");
    let flavor = both[0].attribute(soda, "Flavor");
    let instances = both.each_ref().map(|federate| {
        federate.publish(soda, &[flavor]);
        federate.subscribe(soda, &[flavor]);
        federate.register(soda)
    });
    let reflected = |federate: &Federate, size: usize| {
        let of_size = |c: &Callback| match c {
            Callback::ReflectAttributeValues { values, .. } => {
                values.iter().any(|(_, v)| v.len() == size)
            }
            _ => false,
        };
        federate.heard.try_iter().filter(of_size).count()
    };
    // Each has applied the other's subscription when the other hears it.
    let mut hears = [false; 2];
    while hears != [true; 2] {
        for n in 0..2 {
            both[n].update(instances[n], flavor, b"first");
            both[n].rti.evoke_callback(0.01).unwrap();
            hears[n] |= reflected(&both[n], 5) > 0;
        }
    }
    let refused = AtomicUsize::new(0);
    let most = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let sent = std::thread::scope(|scope| {
        let threads = [0, 1].map(|n| {
            let (value, refused, most, done) = (&value[..], &refused, &most, &done);
            let rti = &both[n].rti;
            let instance = instances[n];
            scope.spawn(move || {
                let mut sent = 0;
                while sent < UPDATES && refused.load(Ordering::Relaxed) == 0 {
                    let update = rti.update_attribute_values(instance, &[(flavor, value)], b"");
                    most.fetch_max(rti.waiting_bytes(), Ordering::Relaxed);
                    match update {
                        Ok(()) => sent += 1,
                        Err(why) => {
                            assert_eq!(why.kind, ExceptionKind::RTIinternalError);
                            let text = why.message;
                            assert!(text.contains("limits.callback_queue_bytes"), "{text}");
                            // What sends nothing needs no room.
                            rti.object_class_name(soda).unwrap();
                            refused.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
                done.fetch_add(1, Ordering::Relaxed);
                // The other may wait for this one to take what it has sent.
                while done.load(Ordering::Relaxed) < 2 {
                    rti.evoke_callback(0.01).unwrap();
                }
                sent
            })
        });
        threads.map(|t| t.join().unwrap())
    });
    assert!(refused.load(Ordering::Relaxed) > 0);
    // Queues of both, their links' buffers, and the program itself.
    let resident = memory(std::process::id(), "VmHWM");
    for most in [most.load(Ordering::Relaxed), resident] {
        assert!(
            most < 200 * LIMIT,
            "{most} bytes for {} MB sent",
            UPDATES / 10
        );
    }
    // Nothing that was not refused is lost, and all goes on.
    for n in 0..2 {
        let mut got = 0;
        while got < sent[1 - n] {
            both[n].rti.evoke_callback(10.0).unwrap();
            got += reflected(&both[n], value.len());
        }
        assert_eq!(got, sent[1 - n]);
    }
    // Only now: while the other had not taken all, this could have waited for it.
    for n in 0..2 {
        both[n].update(instances[n], flavor, b"last");
    }
}

/// Shows settings: limits.frame_bytes.
#[test]
fn what_is_too_large_for_rtiexec_throws_and_the_federate_goes_on() {
    const MOST: usize = 1 << 20;
    let rtiexec = Rtiexec::start_with("STARLING_LIMITS_FRAME_BYTES", &MOST.to_string());
    let model = CallbackModel::Evoked;
    let a = Federate::join(&rtiexec.address, model, "A");
    let soda = a.class("Food.Drink.Soda");
    let flavor = a.attribute(soda, "Flavor");
    a.publish(soda, &[flavor]);
    let instance = a.register(soda);
    let large = vec![7; MOST];
    let update = a
        .rti
        .update_attribute_values(instance, &[(flavor, &large)], b"");
    let directory = tempfile::tempdir().unwrap();
    let module = directory.path().join("large.xml");
    std::fs::write(&module, &large).unwrap();
    let module = [module.display().to_string()];
    let create = a
        .rti
        .create_federation_execution("Other", &module, None, "");
    for refused in [update, create] {
        let refused = refused.unwrap_err();
        assert_eq!(refused.kind, ExceptionKind::RTIinternalError);
        let text = refused.message;
        assert!(
            text.contains("1048576 bytes (limits.frame_bytes of rtiexec); nothing was sent"),
            "{text}"
        );
    }
    // The connection is as it was.
    ask(&a.rti);
    a.update(instance, flavor, &large[..MOST / 2]);
    ask(&a.rti);
}

#[test]
fn a_frame_for_which_there_is_no_memory_ends_only_its_sender() {
    const ROOM: usize = 64 << 20;
    let rtiexec = Rtiexec::start();
    let model = CallbackModel::Evoked;
    let a = Federate::join(&rtiexec.address, model, "A");
    let b = Federate::join(&rtiexec.address, model, "B");
    let soda = a.class("Food.Drink.Soda");
    let flavor = a.attribute(soda, "Flavor");
    a.publish(soda, &[flavor]);
    b.subscribe(soda, &[flavor]);
    let instance = a.register(soda);
    while b.heard.try_recv().is_err() {
        b.rti.evoke_callback(0.01).unwrap();
    }
    ask(&a.rti);
    // What it has by now depends on the machine; it gets some more, but less than the frame takes.
    let all = memory(rtiexec.child.id(), "VmSize") + ROOM;
    let limit = rustix::process::Rlimit {
        current: Some(all as u64),
        maximum: Some(all as u64),
    };
    let process = rustix::process::Pid::from_child(&rtiexec.child);
    rustix::process::prlimit(Some(process), rustix::process::Resource::As, limit).unwrap();
    let large = vec![7; ROOM + ROOM / 2];
    // It may notice while it still sends, or after.
    let _ = a
        .rti
        .update_attribute_values(instance, &[(flavor, &large)], b"");
    while !matches!(a.next(), Callback::ConnectionLost { .. }) {}
    ask(&b.rti);
    Federate::join(&rtiexec.address, model, "C");
}
