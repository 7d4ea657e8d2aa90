//! An rtiexec that a federate starts: what it takes over from that federate, and what not.
#![allow(clippy::print_stdout, reason = "no user sees it")]

use starling_net::{ProcessState, Reached, process_state, reach};
use starling_rid::Sources;
use std::io::{BufRead, BufReader, Lines, Read};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, Stdio};

const RUN_DIR: &str = "STARTED_TEST_RUN_DIR";
/// Set: the federate's other threads allocate memory without pause.
const BUSY: &str = "STARTED_TEST_BUSY";
const STARLING: &str = env!("CARGO_BIN_EXE_starling");

/// Not a test: a federate that says which process it has reached, and stays until its input ends.
#[test]
#[ignore = "run by the tests below"]
fn federate() {
    let run_dir = std::env::var(RUN_DIR).unwrap();
    let text = format!(
        "net.run_dir={run_dir};start.program={STARLING};start.idle_exit_s=0;\
         start.timeout_s=3600;connect.timeout_s=3600"
    );
    let settings = Sources::new().designator(&text).read().unwrap();
    if std::env::var_os(BUSY).is_some() {
        for _ in 0..4 {
            // Each holds the allocator's locks now and then, and so may while another forks.
            std::thread::spawn(|| {
                for size in (1..100_000).cycle() {
                    std::hint::black_box(vec![0_u8; size]);
                }
            });
        }
        for _ in 0..5 {
            let reached = reach(&settings).unwrap();
            assert_eq!(reached.how, Reached::Started);
            let rtiexec = reached.stream.peer().process.unwrap().0;
            drop(reached);
            while process_state(rtiexec) != ProcessState::Gone {
                std::thread::yield_now();
            }
        }
    }
    let reached = reach(&settings).unwrap();
    println!("reached {}", reached.stream.peer().process.unwrap().0);
    let _ = std::io::stdin().read(&mut [0]);
}

/// The federate behind a shell command, and the rtiexec that it has started.
struct Started {
    federate: Child,
    rtiexec: u32,
    _out: Lines<BufReader<ChildStdout>>,
}

impl Started {
    fn behind(shell: &str, run_dir: &Path) -> Self {
        let mut federate = Command::new("sh")
            .args(["-c", &format!("{shell} exec \"$@\""), "sh"])
            .arg(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "federate", "--nocapture"])
            .env(RUN_DIR, run_dir)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut out = BufReader::new(federate.stdout.take().unwrap()).lines();
        let mut lines = out.by_ref().map_while(Result::ok);
        let rtiexec = lines.find_map(|l| Some(l.split_once("reached ")?.1.parse().unwrap()));
        Self {
            federate,
            rtiexec: rtiexec.expect("the federate has reached nobody"),
            _out: out,
        }
    }

    fn proc(&self, file: &str) -> String {
        std::fs::read_to_string(format!("/proc/{}/{file}", self.rtiexec)).unwrap()
    }
}

impl Drop for Started {
    fn drop(&mut self) {
        drop(self.federate.stdin.take());
        let _ = self.federate.wait();
        while process_state(self.rtiexec) != ProcessState::Gone {
            std::thread::yield_now();
        }
    }
}

fn run_dir() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let directory = tempfile::tempdir().unwrap();
    let only_mine = std::fs::Permissions::from_mode(0o700);
    std::fs::set_permissions(directory.path(), only_mine).unwrap();
    directory
}

#[test]
fn it_takes_over_no_limit_that_can_be_lifted() {
    let run_dir = run_dir();
    let all_cpus = std::fs::read_to_string("/proc/self/status").unwrap();
    let cpus = |status: &str| {
        let line = status.lines().find(|l| l.starts_with("Cpus_allowed:"));
        line.unwrap().to_owned()
    };
    let shell = "ulimit -S -v 2000000; ulimit -S -n 64; ulimit -S -f 100; taskset -pc 0 $$ >/dev/null; \
                 renice -n 5 -p $$ >/dev/null;";
    let started = Started::behind(shell, run_dir.path());
    for line in started.proc("limits").lines() {
        for name in ["Max address space", "Max open files", "Max file size"] {
            if let Some(values) = line.strip_prefix(name) {
                let values: Vec<_> = values.split_whitespace().collect();
                assert_eq!(values[0], values[1], "{line}");
            }
        }
    }
    assert_eq!(cpus(&started.proc("status")), cpus(&all_cpus));
    let stat = started.proc("stat");
    let after_name = stat.rsplit_once(") ").unwrap().1;
    let nice: i32 = after_name.split(' ').nth(16).unwrap().parse().unwrap();
    // Who is not the superuser may not take back what was given away.
    let superuser = starling_net::user_id() == 0;
    assert_eq!(nice, if superuser { 0 } else { 5 });
}

#[test]
fn a_federate_of_many_threads_starts_one_and_gets_no_child() {
    let run_dir = run_dir();
    let started = Started::behind(&format!("export {BUSY}=1;"), run_dir.path());
    let stat = started.proc("stat");
    let parent = stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap();
    assert_ne!(parent, started.federate.id().to_string());
    let session = stat.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap();
    let own = std::fs::read_to_string("/proc/self/stat").unwrap();
    let ours = own.rsplit_once(") ").unwrap().1.split(' ').nth(3).unwrap();
    assert_ne!(session, ours, "a session of its own");
}
