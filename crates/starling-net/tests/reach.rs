//! Starting by itself, with real processes: this program also plays the federates and rtiexec.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "no user sees it")]

use libtest_mimic::{Arguments, Trial};
use starling_net::*;
use starling_rid::{Settings, Sources};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.first().map(String::as_str) {
        Some("rtiexec") => {
            rtiexec(&arguments);
            return ExitCode::SUCCESS;
        }
        Some("federate") => {
            federate(Path::new(&arguments[1]));
            return ExitCode::SUCCESS;
        }
        _ => {}
    }
    let mut arguments = Arguments::from_args();
    // Each of them keeps several processes busy.
    arguments.test_threads = arguments.test_threads.or(Some(1));
    let tests = vec![
        Trial::test("ten_processes_share_one", || {
            ten_processes_share_one();
            Ok(())
        }),
        Trial::test("an_rtiexec_out_of_reach_is_not_doubled", || {
            an_rtiexec_out_of_reach_is_not_doubled();
            Ok(())
        }),
        Trial::test("failures_say_why", || {
            failures_say_why();
            Ok(())
        }),
    ];
    libtest_mimic::run(&arguments, tests).exit_code()
}

fn settings(run_dir: &Path, more: &str) -> Settings {
    let own = std::env::current_exe().unwrap();
    let text = format!(
        "net.run_dir={};start.program={};start.idle_exit_s=0;\
         start.timeout_s=3600;connect.timeout_s=3600;{more}",
        run_dir.display(),
        own.display()
    );
    Sources::new().designator(&text).read().unwrap()
}

fn directory(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("starling-{name}-{}", std::process::id()))
}

/// Plays rtiexec: ready, then serves until nobody is connected any more, and ends under the lock.
fn rtiexec(arguments: &[String]) {
    let value = |name: &str| {
        let at = arguments.iter().position(|a| a == name).unwrap();
        arguments[at + 1].clone()
    };
    let run_dir = RunDir::open(Path::new(&value("--run-dir"))).unwrap();
    if run_dir.path().join("fail").exists() {
        eprintln!("it is told to fail");
        std::process::exit(1);
    }
    // Nothing is open here but the standard three and what this process opened itself.
    let open = std::fs::read_dir("/proc/self/fd").unwrap().count();
    let listener = Listener::bind(&Endpoint::parse(&value("--listen")).unwrap()).unwrap();
    println!("ready {open}");
    let waiter = Waiter::new().unwrap();
    let mut links: Vec<Link> = Vec::new();
    let mut served = 0;
    loop {
        while let Some(stream) = listener.accept().unwrap() {
            let mut link = Link::new(stream);
            link.writer.out().extend(format!("{open}\n").bytes());
            link.writer.flush().unwrap();
            links.push(link);
            served += 1;
        }
        links.retain_mut(|link| link.reader.fill().unwrap() != Fill::Closed);
        if links.is_empty()
            && served > 0
            && let Some(_lock) = run_dir.try_lock().unwrap()
        {
            match listener.accept().unwrap() {
                None => {
                    drop(listener);
                    std::process::exit(0);
                }
                Some(stream) => links.push(Link::new(stream)),
            }
        }
        let mut watches: Vec<_> = links.iter().map(|l| Watch::new(l, false)).collect();
        watches.push(Watch::new(&listener, false));
        waiter
            .wait(&mut watches, Some(Duration::from_millis(20)))
            .unwrap();
    }
}

/// Plays a federate: says how it reached which process, and stays until its input ends.
fn federate(run_dir: &Path) {
    let reach = reach(&settings(run_dir, "")).unwrap_or_else(|e| panic!("{e}"));
    let (pid, _) = reach.stream.peer().process.unwrap();
    let mut link = Link::new(reach.stream);
    let waiter = Waiter::new().unwrap();
    while !link.reader.inbox().contains(&b'\n') {
        waiter.wait(&mut [Watch::new(&link, false)], None).unwrap();
        assert_ne!(
            link.reader.fill().unwrap(),
            Fill::Closed,
            "rtiexec ended under it"
        );
    }
    let open = String::from_utf8_lossy(link.reader.inbox())
        .trim()
        .to_owned();
    println!("{pid} {:?} {open}", reach.how);
    std::io::stdout().flush().unwrap();
    let _ = std::io::stdin().read(&mut [0]);
}

fn ten_processes_share_one() {
    let run_dir = directory("reach");
    for round in 0..3 {
        let own = std::env::current_exe().unwrap();
        let mut federates: Vec<_> = (0..10)
            .map(|_| {
                // With an open descriptor that rtiexec must not inherit.
                let mut command = Command::new("sh");
                command.args(["-c", "exec 9</dev/null; exec \"$0\" federate \"$1\""]);
                command.arg(&own).arg(&run_dir);
                command
                    .stdin(Stdio::piped())
                    .stdout(Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let lines: Vec<String> = federates
            .iter_mut()
            .map(|f| {
                let mut line = String::new();
                let mut out = BufReader::new(f.stdout.take().unwrap());
                out.read_line(&mut line).unwrap();
                line
            })
            .collect();
        let pid = |l: &String| {
            l.split(' ')
                .next()
                .unwrap()
                .parse::<u32>()
                .expect("a federate failed")
        };
        let pids: Vec<u32> = lines.iter().map(pid).collect();
        assert!(
            pids.iter().all(|p| *p == pids[0]),
            "round {round}: {lines:?}"
        );
        let started = lines.iter().filter(|l| l.contains("Started")).count();
        assert_eq!(started, 1, "round {round}: {lines:?}");
        // 0, 1, 2 and the directory that is being read.
        assert!(lines.iter().all(|l| l.ends_with(" 4\n")), "{lines:?}");
        // It is no child of whoever started it, and ends when all have gone.
        assert_eq!(process_state(pids[0]), ProcessState::Running);
        for federate in &mut federates {
            drop(federate.stdin.take());
            assert!(federate.wait().unwrap().success());
        }
        while process_state(pids[0]) != ProcessState::Gone {
            std::thread::yield_now();
        }
        assert!(!RunDir::open(&run_dir).unwrap().socket(15160).exists());
    }
    std::fs::remove_dir_all(&run_dir).unwrap();
}

/// With net.unix = false no second rtiexec is started beside this user's own, where their federates
/// would never meet.
fn an_rtiexec_out_of_reach_is_not_doubled() {
    let run_dir = directory("reach-unix");
    let first = reach(&settings(&run_dir, "")).unwrap_or_else(|e| panic!("{e}"));
    let error = reach(&settings(&run_dir, "net.unix=false")).unwrap_err();
    let error = error.to_string();
    let (pid, _) = first.stream.peer().process.unwrap();
    for part in [
        format!("(process {pid})"),
        "listens at unix:".to_owned(),
        "do: leave net.unix as it is".to_owned(),
    ] {
        assert!(error.contains(&part), "'{part}' is not in: {error}");
    }
    drop(first);
    std::fs::remove_dir_all(&run_dir).unwrap();
}

fn failures_say_why() {
    let run_dir = directory("reach-fails");
    RunDir::open(&run_dir).unwrap();
    let fails = |more: &str, expected: &[&str]| {
        let error = reach(&settings(&run_dir, more)).unwrap_err().to_string();
        for part in expected {
            assert!(error.contains(part), "'{part}' is not in: {error}");
        }
    };
    std::fs::write(run_dir.join("fail"), "").unwrap();
    fails(
        "",
        &[
            "ended before it was ready",
            "it is told to fail",
            "do: run `starling rtiexec`",
        ],
    );
    fails(
        "start.program=/none",
        &["start.program is '/none', which is no program"],
    );
    // A port that nobody can listen at: a connection has it at this end.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let connection = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let taken = connection.local_addr().unwrap();
    fails(
        &format!("connect.address={taken}"),
        &[
            &format!("tried unix:{}", run_dir.display()),
            &format!("{taken}: Connection refused"),
            "connect.address of connect()",
        ],
    );
    fails(
        "start.by_itself=no;connect.address=unix:/none/x",
        &["unix:/none/x: No such file"],
    );
    std::fs::remove_dir_all(&run_dir).unwrap();
}
