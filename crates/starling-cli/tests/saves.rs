//! Saves on a real rtiexec's disk: across its restart, under any label, damaged, and with the process
//! killed while it writes.
#![allow(clippy::print_stderr, reason = "the histogram of the campaign")]

use starling::{Callback, CallbackModel, FederateAmbassador, FederateHandle, RtiAmbassador};
use starling_rtiexec::saves::{SaveStore, decode};
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

const FEDERATION: &str = "Kept";
const KIND: &str = "tester";
/// How long to wait for what must come: then something is wrong, not slow.
const PATIENCE: Duration = Duration::from_secs(60);

struct Ears(Sender<Callback>);

impl FederateAmbassador for Ears {
    fn deliver(&mut self, callback: Callback) -> Result<(), String> {
        self.0.send(callback).map_err(|e| e.to_string())
    }
}

struct Federate {
    rti: RtiAmbassador,
    heard: Receiver<Callback>,
}

impl Federate {
    fn join(address: &str, name: &str) -> Self {
        let (to, heard) = channel();
        let rti = RtiAmbassador::new();
        let settings = format!("connect.address={address}");
        rti.connect(Box::new(Ears(to)), CallbackModel::Evoked, &settings)
            .unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom");
        let fom = root.join("restaurant/RestaurantFOMmodule-2010.xml");
        // Another federate may have created it.
        let _ = rti.create_federation_execution(FEDERATION, &[fom.display().to_string()], None, "");
        rti.join_federation_execution(Some(name), KIND, FEDERATION, &[])
            .unwrap();
        Federate { rti, heard }
    }

    /// The next callback, if the connection is still there.
    fn next(&self) -> Option<Callback> {
        let end = Instant::now() + PATIENCE;
        loop {
            if let Ok(callback) = self.heard.try_recv() {
                return match callback {
                    Callback::ConnectionLost { .. } => None,
                    callback => Some(callback),
                };
            }
            assert!(Instant::now() < end, "nothing comes");
            // What can't be evoked any more is told by a callback.
            let _ = self.rti.evoke_callback(0.1);
        }
    }

    fn expect(&self, name: &str) -> Callback {
        let callback = self.next().expect("still connected");
        assert_eq!(callback.name(), name, "{callback:?}");
        callback
    }
}

/// `starling rtiexec` that keeps its saves here; killed with the test.
struct Rtiexec {
    child: Child,
    address: String,
    log: BufReader<ChildStderr>,
}

impl Rtiexec {
    fn start(directory: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_starling"))
            .args(["rtiexec", "--listen", "127.0.0.1:0", "--run-dir"])
            .arg(directory.join("run"))
            .env("STARLING_SAVES_DIR", directory.join("saves"))
            .env("STARLING_LOG_LEVEL", "trace")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.split_whitespace().nth(1).expect("ready").to_owned();
        let log = BufReader::new(child.stderr.take().unwrap());
        Rtiexec {
            child,
            address,
            log,
        }
    }
}

impl Drop for Rtiexec {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn store(directory: &Path) -> SaveStore {
    SaveStore::new(directory.join("saves"), u64::MAX, 0)
}

fn save(federates: &[&Federate], label: &str) {
    federates[0]
        .rti
        .request_federation_save(label, None)
        .unwrap();
    for federate in federates {
        federate.expect("initiateFederateSave");
        federate.rti.federate_save_begun().unwrap();
        federate.rti.federate_save_complete().unwrap();
    }
    for federate in federates {
        federate.expect("federationSaved");
    }
}

/// Name and handle of each from the restore on.
fn restore(federates: &[&Federate], label: &str) -> Vec<(String, FederateHandle)> {
    let first = federates[0];
    first.rti.request_federation_restore(label).unwrap();
    first.expect("requestFederationRestoreSucceeded");
    for federate in federates {
        federate.expect("federationRestoreBegun");
    }
    let mut become_ = Vec::new();
    for federate in federates {
        match federate.expect("initiateFederateRestore") {
            Callback::InitiateFederateRestore { name, federate, .. } => {
                become_.push((name, federate));
            }
            other => panic!("{other:?}"),
        }
        federate.rti.federate_restore_complete().unwrap();
    }
    for federate in federates {
        federate.expect("federationRestored");
    }
    become_
}

#[test]
fn a_save_outlives_all_processes_and_finds_its_federates_by_name_and_type() {
    let directory = tempfile::tempdir().unwrap();
    let rtiexec = Rtiexec::start(directory.path());
    let (a, b) = (
        Federate::join(&rtiexec.address, "A"),
        Federate::join(&rtiexec.address, "B"),
    );
    a.rti.reserve_object_instance_name("of A").unwrap();
    a.expect("objectInstanceNameReservationSucceeded");
    let class = a.rti.object_class_handle("HLAobjectRoot.Customer").unwrap();
    let privilege = a
        .rti
        .attribute_handle(class, "HLAprivilegeToDeleteObject")
        .unwrap();
    a.rti
        .publish_object_class_attributes(class, &[privilege])
        .unwrap();
    let instance = a.rti.register_object_instance(class, Some("of A")).unwrap();
    b.rti.reserve_object_instance_name("of B").unwrap();
    b.expect("objectInstanceNameReservationSucceeded");
    save(&[&a, &b], "Evening");
    let handles = ["A", "B"].map(|name| a.rti.federate_handle(name).unwrap());
    drop((a, b, rtiexec));

    let rtiexec = Rtiexec::start(directory.path());
    // In another order, so that they have other handles.
    let (b, a) = (
        Federate::join(&rtiexec.address, "B"),
        Federate::join(&rtiexec.address, "A"),
    );
    assert_eq!(a.rti.federate_handle("A").unwrap(), handles[1]);
    let told = restore(&[&a, &b], "Evening");
    assert_eq!(
        told,
        [("A".to_owned(), handles[0]), ("B".to_owned(), handles[1])]
    );
    assert_eq!(a.rti.federate_handle("A").unwrap(), handles[0]);
    assert_eq!(a.rti.object_instance_name(instance).unwrap(), "of A");
    a.rti.delete_object_instance(instance, b"").unwrap();
    b.rti.release_object_instance_name("of B").unwrap();
    drop((a, b));

    // Others of the type become those of the save; one too few, or of another type, does not fit.
    let late = Federate::join(&rtiexec.address, "Late");
    late.rti.request_federation_restore("Evening").unwrap();
    late.expect("requestFederationRestoreFailed");
    let other = Federate::join(&rtiexec.address, "Other");
    let told = restore(&[&other, &late], "Evening");
    let mut names: Vec<_> = told.iter().map(|(name, _)| name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names, ["A", "B"]);
}

#[test]
fn any_label_is_one_file_of_the_user_s_own_in_the_directory() {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let rtiexec = Rtiexec::start(directory.path());
    let federate = Federate::join(&rtiexec.address, "A");
    let labels = [
        "/etc/passwd",
        "..",
        "../../x",
        "a\0b",
        "\u{1F30D} \u{e4}",
        ".",
    ];
    for label in labels {
        save(&[&federate], label);
    }
    let saves = store(directory.path());
    let all = saves.list().unwrap();
    assert_eq!(all.len(), labels.len());
    let files = std::fs::read_dir(saves.directory()).unwrap().count();
    assert_eq!(files, labels.len(), "nothing else is left there");
    for label in labels {
        let path = saves.path(FEDERATION, label);
        assert_eq!(path.parent(), Some(saves.directory()));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(saves.read(FEDERATION, label).unwrap().label, label);
        assert_ne!(path, saves.path("Another", label));
    }
    let refused = saves.read("Another", "..").unwrap_err();
    assert!(refused.contains("there is no save"), "{refused}");
    let long = "l".repeat(10_000);
    let refused = federate.rti.request_federation_save(&long, None);
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("1024 are allowed"), "{refused}");
    assert!(federate.rti.request_federation_restore(&long).is_err());
    federate.rti.request_federation_save("", None).unwrap();
    federate.expect("federationNotSaved");
}

#[test]
fn what_is_damaged_cut_off_or_foreign_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let rtiexec = Rtiexec::start(directory.path());
    let federate = Federate::join(&rtiexec.address, "A");
    save(&[&federate], "Whole");
    let saves = store(directory.path());
    let path = saves.path(FEDERATION, "Whole");
    let bytes = std::fs::read(&path).unwrap();
    assert!(decode(&bytes).is_ok());
    // Each needs a digest of the file: not every length of a large one.
    let lengths = (0..400).chain((400..bytes.len()).step_by(401));
    for length in lengths.chain(bytes.len() - 40..bytes.len()) {
        assert!(decode(&bytes[..length]).is_err(), "cut off at {length}");
    }
    let mut random = fastrand::Rng::with_seed(8);
    for _ in 0..500 {
        let mut damaged = bytes.clone();
        let at = random.usize(..damaged.len());
        damaged[at] ^= 1 << random.u8(..8);
        assert!(decode(&damaged).is_err(), "a bit of byte {at} is another");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(decode(&longer).is_err());
    // It is told to the federate, and the federation execution goes on.
    std::fs::write(&path, &bytes[..bytes.len() / 2]).unwrap();
    federate.rti.request_federation_restore("Whole").unwrap();
    federate.expect("requestFederationRestoreFailed");
    std::fs::write(
        &path,
        "<?xml version=\"1.0\"?> this is something else altogether",
    )
    .unwrap();
    federate.rti.request_federation_restore("Whole").unwrap();
    federate.expect("requestFederationRestoreFailed");
    let foreign = saves.read(FEDERATION, "Whole").unwrap_err();
    assert!(foreign.contains("no save of a federation"), "{foreign}");
    save(&[&federate], "Whole");
    restore(&[&federate], "Whole");
}

#[test]
fn what_is_no_file_or_too_large_is_refused_at_once() {
    let directory = tempfile::tempdir().unwrap();
    let store = SaveStore::new(directory.path().to_owned(), 1024, 0);
    let pipe = store.path("F", "pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.unwrap().success());
    let why = store.read("F", "pipe").unwrap_err();
    assert!(why.contains("no regular file"), "{why}");
    let listed = store.list().unwrap();
    let why = listed[0].description.as_ref().unwrap_err();
    assert!(why.contains("no regular file"), "{why}");
    std::fs::write(store.path("F", "long"), [0; 1025]).unwrap();
    let why = store.read("F", "long").unwrap_err();
    assert!(why.contains("saves.bytes"), "{why}");
}

#[test]
fn a_disk_that_takes_nothing_fails_the_save() {
    let directory = tempfile::tempdir().unwrap();
    // A file where the directory would be.
    std::fs::write(directory.path().join("saves"), "").unwrap();
    let rtiexec = Rtiexec::start(directory.path());
    let federate = Federate::join(&rtiexec.address, "A");
    federate.rti.request_federation_save("L", None).unwrap();
    federate.expect("initiateFederateSave");
    federate.rti.federate_save_begun().unwrap();
    federate.rti.federate_save_complete().unwrap();
    match federate.expect("federationNotSaved") {
        Callback::FederationNotSaved { reason } => {
            assert_eq!(reason, starling::SaveFailure::RtiUnableToSave);
        }
        other => panic!("{other:?}"),
    }
    federate.rti.reserve_object_instance_name("on").unwrap();
    federate.expect("objectInstanceNameReservationSucceeded");
}

/// Kills rtiexec at a random moment of a save; how far it had come, from its log. The save before is
/// there, or the new one, whole.
fn kill_while_saving(random: &mut fastrand::Rng, typical: Duration) -> String {
    let directory = tempfile::tempdir().unwrap();
    let mut rtiexec = Rtiexec::start(directory.path());
    let federate = Federate::join(&rtiexec.address, "A");
    let reserve = |name: &str| {
        federate.rti.reserve_object_instance_name(name).unwrap();
        federate.expect("objectInstanceNameReservationSucceeded");
    };
    reserve("first");
    save(&[&federate], "L");
    reserve("second");
    federate.rti.request_federation_save("L", None).unwrap();
    federate.expect("initiateFederateSave");
    federate.rti.federate_save_begun().unwrap();
    federate.rti.federate_save_complete().unwrap();
    let moment = Instant::now() + typical.mul_f64(1.3 * random.f64());
    let mut told = false;
    while Instant::now() < moment && !told {
        let _ = federate.rti.evoke_callback(0.0);
        told = matches!(federate.heard.try_recv(), Ok(Callback::FederationSaved));
    }
    rtiexec.child.kill().unwrap();
    rtiexec.child.wait().unwrap();
    let mut log = String::new();
    rtiexec.log.read_to_string(&mut log).unwrap();
    let stages = log.lines().filter_map(|l| Some(l.split_once("save: ")?.1));
    // The first save has gone through all of them.
    let stage = stages.skip_while(|s| *s != "done").skip(1).last();
    let stage = stage.unwrap_or("not begun").trim().to_owned();
    let saved = store(directory.path()).read(FEDERATION, "L").unwrap();
    let has = |name: &str| saved.execution.object.reserved.contains_key(name);
    assert!(has("first"), "killed when {stage}");
    assert!(has("second") || !told, "lost what was told as saved");
    assert!(!has("second") || ["renamed", "done"].contains(&stage.as_str()) || told);
    stage
}

fn kill_at_random_moments(times: usize) {
    let seed = std::env::var("SAVES_SEED").ok();
    let seed = seed.map_or(1, |seed| seed.parse().unwrap());
    let mut random = fastrand::Rng::with_seed(seed);
    let typical = {
        let directory = tempfile::tempdir().unwrap();
        let rtiexec = Rtiexec::start(directory.path());
        let federate = Federate::join(&rtiexec.address, "A");
        save(&[&federate], "L");
        let begun = Instant::now();
        save(&[&federate], "L");
        begun.elapsed()
    };
    let mut histogram = BTreeMap::<String, usize>::new();
    for _ in 0..times {
        *histogram
            .entry(kill_while_saving(&mut random, typical))
            .or_default() += 1;
    }
    eprintln!("seed {seed}, {times} kills, by how far the save had come: {histogram:?}");
}

#[test]
fn a_kill_while_saving_leaves_the_save_before() {
    kill_at_random_moments(8);
}

/// `make campaign-saves`.
#[test]
#[ignore = "takes minutes"]
fn campaign() {
    let times = std::env::var("SAVES_KILLS").ok();
    kill_at_random_moments(times.map_or(200, |n| n.parse().unwrap()));
}
