//! A federate that has closed its standard descriptors: what it prints must not go into a link.

use starling_net::*;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

const DIRECTORY: &str = "STANDARD_TEST_DIRECTORY";

/// Not a test: the federate, which the test below runs. It says in a file what it found.
#[test]
#[ignore = "run by the test below"]
fn federate() {
    let directory = PathBuf::from(std::env::var(DIRECTORY).unwrap());
    for number in 0..3 {
        // SAFETY: this process uses them for nothing else, and prints nothing.
        drop(unsafe { OwnedFd::from_raw_fd(number) });
    }
    let timeout = Duration::from_secs(10);
    let socket = Endpoint::Unix(directory.join("socket"));
    let listener = Listener::bind(&socket);
    let tcp = Listener::bind(&Endpoint::loopback(0));
    let port = tcp.as_ref().map(|l| l.endpoint().unwrap());
    let all = (
        dial(&socket, timeout),
        listener.as_ref().map(|l| l.accept().unwrap().unwrap()),
        dial(port.as_ref().unwrap(), timeout),
        Waiter::with_alarm(),
        Stream::pair(),
        RunDir::open(&directory).unwrap().lock(timeout),
    );
    let taken: Vec<_> = (0..3)
        .filter_map(|n| std::fs::read_link(format!("/proc/self/fd/{n}")).ok())
        .collect();
    let found = format!("{taken:?} of {listener:?} {tcp:?} {all:?}");
    std::fs::write(directory.join("found"), found).unwrap();
    std::process::exit(0);
}

#[test]
fn no_descriptor_takes_the_place_of_a_standard_one() {
    let name = format!("starling-standard-{}", std::process::id());
    let directory = std::env::temp_dir().join(name);
    RunDir::open(&directory).unwrap();
    let ended = Command::new(std::env::current_exe().unwrap())
        .args(["--ignored", "--exact", "federate"])
        .env(DIRECTORY, &directory)
        .status()
        .unwrap();
    assert!(ended.success());
    let found = std::fs::read_to_string(directory.join("found")).unwrap();
    assert!(found.starts_with("[] of"), "{found}");
    assert!(!found.contains("Err("), "{found}");
    std::fs::remove_dir_all(&directory).unwrap();
}
