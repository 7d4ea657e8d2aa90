//! Saves on a real rtiexec's disk: across its restart, under any label, damaged, and with the process
//! killed while it writes.
#![allow(clippy::print_stderr, reason = "the histogram of the campaign")]

mod command;
mod kill;
mod refused;

use starling::{Callback, CallbackModel, FederateAmbassador, FederateHandle, RtiAmbassador};
use starling_rtiexec::saves::SaveStore;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
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
        Federate::join_with(address, name, &["RestaurantFOMmodule-2010.xml"])
    }

    /// With these FOM modules if it is the first.
    fn join_with(address: &str, name: &str, modules: &[&str]) -> Self {
        Federate::join_to(FEDERATION, address, name, modules)
    }

    /// To a federation execution of this name.
    fn join_to(federation: &str, address: &str, name: &str, modules: &[&str]) -> Self {
        let (to, heard) = channel();
        let rti = RtiAmbassador::new();
        let settings = format!("connect.address={address}");
        rti.connect(Box::new(Ears(to)), CallbackModel::Evoked, &settings)
            .unwrap();
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/data/fom");
        let module = |name: &&str| root.join("restaurant").join(name).display().to_string();
        let modules: Vec<_> = modules.iter().map(module).collect();
        // Another federate may have created it.
        let _ = rti.create_federation_execution(federation, &modules, None, "");
        rti.join_federation_execution(Some(name), KIND, federation, &[])
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
    /// The lines of its log.
    log: Receiver<String>,
}

impl Rtiexec {
    fn start(directory: &Path) -> Self {
        Rtiexec::start_with(directory, &[])
    }

    /// With variables of the environment.
    fn start_with(directory: &Path, variables: &[(&str, &str)]) -> Self {
        let program = Command::new(env!("CARGO_BIN_EXE_starling"));
        Rtiexec::start_by(program, directory, variables)
    }

    fn start_by(mut program: Command, directory: &Path, variables: &[(&str, &str)]) -> Self {
        let mut child = program
            .args(["rtiexec", "--listen", "127.0.0.1:0", "--run-dir"])
            .arg(directory.join("run"))
            .env("STARLING_SAVES_DIR", directory.join("saves"))
            .env("STARLING_LOG_LEVEL", "trace")
            .envs(variables.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap())
            .read_line(&mut line)
            .unwrap();
        let address = line.split_whitespace().nth(1).expect("ready").to_owned();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let (to, log) = channel();
        // It would wait for whoever reads its log.
        std::thread::spawn(move || {
            lines
                .map_while(Result::ok)
                .try_for_each(|line| to.send(line))
        });
        Rtiexec {
            child,
            address,
            log,
        }
    }

    /// What its log says until this stands in it.
    fn log_until(&mut self, what: &str) -> String {
        let mut log = String::new();
        while !log.contains(what) {
            match self.log.recv_timeout(PATIENCE) {
                Ok(line) => log = log + &line + "\n",
                Err(why) => panic!("{why}: its log has no '{what}':\n{log}"),
            }
        }
        log
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

/// A save by one federate that fails; why.
fn save_fails(federate: &Federate, label: &str) -> starling::SaveFailure {
    federate.rti.request_federation_save(label, None).unwrap();
    federate.expect("initiateFederateSave");
    federate.rti.federate_save_begun().unwrap();
    federate.rti.federate_save_complete().unwrap();
    match federate.expect("federationNotSaved") {
        Callback::FederationNotSaved { reason } => reason,
        other => panic!("{other:?}"),
    }
}

/// A restore that can't be; why, from rtiexec's log.
fn restore_refused(federate: &Federate, rtiexec: &mut Rtiexec, label: &str) -> String {
    federate.rti.request_federation_restore(label).unwrap();
    federate.expect("requestFederationRestoreFailed");
    let refused = format!("the save '{label}' can't be restored: ");
    let log = rtiexec.log_until(&refused);
    let (_, why) = log.split_once(&refused).expect("it stands there");
    why.trim_end().to_owned()
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

    let mut rtiexec = Rtiexec::start(directory.path());
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
    // rtiexec's log calls it so from now on.
    let now = &told[1].0;
    rtiexec.log_until(&format!("restored as '{now}': federate 'Late'"));
    let divest = starling::ResignAction::UnconditionallyDivestAttributes;
    late.rti.resign_federation_execution(divest).unwrap();
    rtiexec.log_until(&format!("resigned: federate '{now}'"));
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
fn a_limit_on_the_size_of_files_fails_the_save() {
    let directory = tempfile::tempdir().unwrap();
    let mut limited = Command::new("sh");
    let program = env!("CARGO_BIN_EXE_starling");
    limited.args(["-c", "ulimit -f 64 && exec \"$0\" \"$@\"", program]);
    let rtiexec = Rtiexec::start_by(limited, directory.path(), &[]);
    let federate = Federate::join(&rtiexec.address, "A");
    // Beyond 64 blocks, of 1,024 bytes at most.
    refused::reserve_much(&federate, 200_000);
    let reason = save_fails(&federate, "L");
    assert_eq!(reason, starling::SaveFailure::RtiUnableToSave);
    federate.rti.reserve_object_instance_name("on").unwrap();
    federate.expect("objectInstanceNameReservationSucceeded");
}

#[test]
fn a_disk_that_takes_nothing_fails_the_save() {
    let directory = tempfile::tempdir().unwrap();
    // A file where the directory would be.
    std::fs::write(directory.path().join("saves"), "").unwrap();
    let rtiexec = Rtiexec::start(directory.path());
    let federate = Federate::join(&rtiexec.address, "A");
    let reason = save_fails(&federate, "L");
    assert_eq!(reason, starling::SaveFailure::RtiUnableToSave);
    federate.rti.reserve_object_instance_name("on").unwrap();
    federate.expect("objectInstanceNameReservationSucceeded");
}
