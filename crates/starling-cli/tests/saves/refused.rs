//! What can't be saved, and saves that can't be restored.

use super::{FEDERATION, Federate, Rtiexec, restore, restore_refused, save, save_fails, store};
use sha2::{Digest, Sha256};
use starling::SaveFailure;
use starling_rtiexec::saves::{SaveStore, decode};
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

/// Reserves names of about so many bytes, which a save keeps.
pub(super) fn reserve_much(federate: &Federate, bytes: usize) {
    let names: Vec<_> = (0..bytes / 1_000).map(|n| format!("{n:01000}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    for names in names.chunks(100) {
        federate
            .rti
            .reserve_multiple_object_instance_name(names)
            .unwrap();
        federate.expect("multipleObjectInstanceNameReservationSucceeded");
    }
}

#[test]
fn what_is_damaged_cut_off_or_foreign_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let rtiexec = Rtiexec::start(directory.path());
    let federate = Federate::join(&rtiexec.address, "A");
    reserve_much(&federate, 100_000);
    save(&[&federate], "Whole");
    let saves = store(directory.path());
    let path = saves.path(FEDERATION, "Whole");
    let bytes = std::fs::read(&path).unwrap();
    assert!(decode(&bytes).is_ok());
    // Each needs a digest of the file: not every length of a large one.
    let lengths = (0..400).chain((400..bytes.len()).step_by(401));
    let lengths = lengths.chain((0..bytes.len()).step_by(4096));
    assert!(bytes.len() > 10 * 4096, "{} bytes", bytes.len());
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

/// A module besides, from the directory of the first.
const SECOND: &str = "../../../../examples/hello/Hello.xml";

/// The FDD is compared by the contents of its modules; in which order they came does not matter.
#[test]
fn other_fom_modules_are_refused_and_named() {
    let directory = tempfile::tempdir().unwrap();
    let mut rtiexec = Rtiexec::start(directory.path());
    let a = Federate::join(&rtiexec.address, "A");
    save(&[&a], "Plain");
    drop((a, rtiexec));

    rtiexec = Rtiexec::start(directory.path());
    let modules = ["RestaurantFOMmodule-2010.xml", SECOND];
    let a = Federate::join_with(&rtiexec.address, "A", &modules);
    let why = restore_refused(&a, &mut rtiexec, "Plain");
    assert!(why.starts_with("its object model differs"), "{why}");
    assert!(why.contains("Hello.xml"), "{why}");
    assert!(!why.contains("RestaurantFOMmodule"), "{why}");
    a.rti.reserve_object_instance_name("it goes on").unwrap();
    a.expect("objectInstanceNameReservationSucceeded");
    save(&[&a], "Both");
    drop((a, rtiexec));

    rtiexec = Rtiexec::start(directory.path());
    let a = Federate::join(&rtiexec.address, "A");
    let why = restore_refused(&a, &mut rtiexec, "Both");
    assert!(why.contains("Hello.xml"), "{why}");
    restore(&[&a], "Plain");
}

#[test]
fn a_save_of_another_version_is_refused_and_says_which() {
    let directory = tempfile::tempdir().unwrap();
    let mut rtiexec = Rtiexec::start(directory.path());
    let a = Federate::join(&rtiexec.address, "A");
    save(&[&a], "Old");
    let path = store(directory.path()).path(FEDERATION, "Old");
    let whole = fs::read(&path).unwrap();
    let here = env!("CARGO_PKG_VERSION");
    let other = "9".repeat(here.len());
    // In the description, which comes first; the checksum is right again.
    let at = whole.windows(here.len()).position(|w| w == here.as_bytes());
    let mut bytes = whole[..whole.len() - 32].to_vec();
    bytes[at.unwrap()..][..here.len()].copy_from_slice(other.as_bytes());
    let digest = Sha256::digest(&bytes);
    bytes.extend_from_slice(&digest);
    fs::write(&path, bytes).unwrap();
    let why = restore_refused(&a, &mut rtiexec, "Old");
    assert!(why.contains(&format!("Starling {other}")), "{why}");
    assert!(why.contains(&format!("this is {here}")), "{why}");
    fs::write(&path, whole).unwrap();
    restore(&[&a], "Old");
}

#[test]
fn a_directory_that_others_may_write_to_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    let mut rtiexec = Rtiexec::start(directory.path());
    let a = Federate::join(&rtiexec.address, "A");
    save(&[&a], "L");
    let saves = store(directory.path());
    let made = fs::metadata(saves.directory()).unwrap().permissions();
    assert_eq!(made.mode() & 0o777, 0o700);
    let mode = |mode| fs::set_permissions(saves.directory(), Permissions::from_mode(mode)).unwrap();
    // The sticky bit keeps nobody from being first to write a file of that name.
    for open in [0o777, 0o1777, 0o702] {
        mode(open);
        assert_eq!(save_fails(&a, "L"), SaveFailure::RtiUnableToSave);
        let log = rtiexec.log_until("can be written by others");
        assert!(log.contains("the directory of saves"), "{log}");
        let why = restore_refused(&a, &mut rtiexec, "L");
        assert!(why.contains("can be written by others"), "{why}");
    }
    mode(0o755);
    save(&[&a], "L");
    restore(&[&a], "L");
}

#[test]
fn a_part_that_fits_into_no_message_fails_the_save_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let limit = [("STARLING_LIMITS_FRAME_BYTES", "1000000")];
    let mut rtiexec = Rtiexec::start_with(directory.path(), &limit);
    let a = Federate::join(&rtiexec.address, "A");
    reserve_much(&a, 500_000);
    save(&[&a], "Before");
    reserve_much_more(&a);
    assert_eq!(save_fails(&a, "After"), SaveFailure::RtiUnableToSave);
    let log = rtiexec.log_until("limits.frame_bytes");
    assert!(log.contains("the part of federate 'A' takes 1"), "{log}");
    a.rti.reserve_object_instance_name("it goes on").unwrap();
    a.expect("objectInstanceNameReservationSucceeded");
    restore(&[&a], "Before");
}

fn reserve_much_more(federate: &Federate) {
    let names: Vec<_> = (0..600).map(|n| format!("more{n:01000}")).collect();
    let names: Vec<_> = names.iter().map(String::as_str).collect();
    let reserve = federate.rti.reserve_multiple_object_instance_name(&names);
    reserve.unwrap();
    federate.expect("multipleObjectInstanceNameReservationSucceeded");
}

/// Shows settings: saves.bytes.
#[test]
fn saves_bytes_bounds_all_saves_together() {
    let directory = tempfile::tempdir().unwrap();
    let mut rtiexec = Rtiexec::start(directory.path());
    let a = Federate::join(&rtiexec.address, "A");
    save(&[&a], "One");
    drop((a, rtiexec));
    let saves = store(directory.path());
    let size = saves.list().unwrap()[0].size;

    let room = (size * 5 / 2).to_string();
    rtiexec = Rtiexec::start_with(directory.path(), &[("STARLING_SAVES_BYTES", &room)]);
    let a = Federate::join(&rtiexec.address, "A");
    save(&[&a], "Two");
    assert_eq!(save_fails(&a, "Three"), SaveFailure::RtiUnableToSave);
    let log = rtiexec.log_until("saves.bytes");
    assert!(
        log.contains(&room) && log.contains("starling saves"),
        "{log}"
    );
    assert_eq!(saves.list().unwrap().len(), 2);
    // In place of one of the same label there is room.
    save(&[&a], "Two");
    let two = saves.list().unwrap();
    let one = two.iter().find(|s| s.path == saves.path(FEDERATION, "One"));
    saves.remove(one.unwrap()).unwrap();
    save(&[&a], "Three");
    restore(&[&a], "Two");
}

/// Shows settings: saves.keep.
#[test]
fn saves_keep_keeps_the_latest_of_each_federation_execution() {
    let directory = tempfile::tempdir().unwrap();
    let other = directory.path().join("saves");
    let rtiexec = Rtiexec::start_with(directory.path(), &[("STARLING_SAVES_KEEP", "2")]);
    let a = Federate::join(&rtiexec.address, "A");
    let saves = store(directory.path());
    let labels = |saves: &SaveStore| {
        let all = saves.list().unwrap();
        let labels = all
            .iter()
            .map(|s| s.description.as_ref().unwrap().label.clone());
        let mut labels: Vec<_> = labels.collect();
        labels.sort();
        labels
    };
    save(&[&a], "One");
    // One of another federation execution is left alone.
    let mut foreign = saves.read(FEDERATION, "One").unwrap();
    foreign.federation = "Another".into();
    SaveStore::new(other, u64::MAX, 0).write(&foreign).unwrap();
    let age = |label: &str, by: u64| {
        let path = saves.path(FEDERATION, label);
        let file = fs::File::options().append(true).open(path).unwrap();
        let then = std::time::SystemTime::now() - std::time::Duration::from_secs(by);
        file.set_modified(then).unwrap();
    };
    age("One", 100);
    save(&[&a], "Two");
    age("Two", 50);
    assert_eq!(labels(&saves), ["One", "One", "Two"]);
    save(&[&a], "Three");
    assert_eq!(labels(&saves), ["One", "Three", "Two"]);
    assert!(saves.read("Another", "One").is_ok());
    age("Three", 25);
    // Written again, it is the latest.
    save(&[&a], "Two");
    save(&[&a], "Four");
    assert_eq!(labels(&saves), ["Four", "One", "Two"]);
}

#[test]
fn a_save_that_is_retired_makes_room_for_the_next() {
    let directory = tempfile::tempdir().unwrap();
    let rtiexec = Rtiexec::start(directory.path());
    let a = Federate::join(&rtiexec.address, "A");
    save(&[&a], "One");
    drop((a, rtiexec));
    let saves = store(directory.path());
    let room = (saves.list().unwrap()[0].size * 5 / 2).to_string();
    let rtiexec = Rtiexec::start_with(
        directory.path(),
        &[
            ("STARLING_SAVES_BYTES", &room),
            ("STARLING_SAVES_KEEP", "2"),
        ],
    );
    let a = Federate::join(&rtiexec.address, "A");
    for label in ["Two", "Three", "Four"] {
        save(&[&a], label);
    }
    assert_eq!(saves.list().unwrap().len(), 2);
}

#[test]
fn what_is_no_save_is_not_read_to_its_end() {
    let directory = tempfile::tempdir().unwrap();
    let saves = store(directory.path());
    fs::create_dir_all(saves.directory()).unwrap();
    let path = saves.path(FEDERATION, "Sparse");
    // More than there is memory, and nothing on the disk.
    let file = fs::File::create(path).unwrap();
    file.set_len(1 << 40).unwrap();
    let why = saves.read(FEDERATION, "Sparse").unwrap_err();
    assert!(why.contains("it is no save"), "{why}");
}
