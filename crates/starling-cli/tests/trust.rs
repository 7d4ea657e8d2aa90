//! Whose word counts: other users' files and listeners, and programs with more rights than their
//! user. The tests need root and say so where they were left out; where the variable CI is set they
//! fail instead.
#![allow(clippy::print_stdout, reason = "no user sees it")]

use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

const STARLING: &str = env!("CARGO_BIN_EXE_starling");

fn left_out(what: &str) {
    let demanded = std::env::var_os("CI").is_some_and(|v| !v.is_empty());
    assert!(!demanded, "CI is set, but {what}");
    // Not hidden by the test harness, unlike the print macros.
    let _ = writeln!(std::io::stderr(), "left out: {what}");
}

fn mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

fn private_directory() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    mode(directory.path(), 0o700);
    directory
}

#[test]
fn the_file_that_a_relative_name_means_names_no_program() {
    let directory = private_directory();
    let file = directory.path().join("site.toml");
    std::fs::write(&file, "[start]\nprogram = \"/bin/true\"\n").unwrap();
    let shown = |name: &str| {
        let mut command = Command::new(STARLING);
        let command = command.args(["config", "show", name]);
        command.current_dir(directory.path()).output().unwrap()
    };
    let refused = shown("site.toml");
    let said = String::from_utf8(refused.stderr).unwrap();
    assert!(
        said.contains("start.program is not taken from a file in the working directory"),
        "{said}"
    );
    assert!(shown(file.to_str().unwrap()).status.success());
}

#[test]
fn a_program_with_more_rights_than_its_user_takes_no_word_of_his() {
    let directory = private_directory();
    let program = directory.path().join("starling");
    std::fs::copy(STARLING, &program).unwrap();
    // Runs as another user than whoever starts it.
    if chown(&program, Some(65534), None).is_err() {
        return left_out("only root can give a program to another user");
    }
    mode(&program, 0o4755);
    mode(directory.path(), 0o755);
    std::fs::write(
        directory.path().join("starling.toml"),
        "[connect]\naddress = \"file\"\n",
    )
    .unwrap();
    let show = |more: &[&str]| {
        let mut command = Command::new(&program);
        command.args(["config", "show"]).args(more);
        command.env("STARLING_CONNECT_ADDRESS", "variable");
        command.env("STARLING_OVERRIDES", "connect.timeout_s=77");
        command.current_dir(directory.path()).output().unwrap()
    };
    let shown = String::from_utf8(show(&[]).stdout).unwrap();
    let line = |key: &str| shown.lines().find(|l| l.starts_with(key)).unwrap();
    assert!(line("connect.address").ends_with(" -"), "{shown}");
    assert!(line("connect.timeout_s").ends_with(" 5"), "{shown}");
    let said = String::from_utf8(show(&["starling.toml"]).stderr).unwrap();
    assert!(
        said.contains("is not read by a program that has more rights"),
        "{said}"
    );
}

/// Ended with the test.
struct Rtiexec(Child);

impl Rtiexec {
    fn start(run_dir: &Path) -> Self {
        let mut command = Command::new(STARLING);
        command.args(["rtiexec", "--run-dir"]).arg(run_dir);
        let command = command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        assert!(line.starts_with("ready 127.0.0.1:15160"), "{line}");
        Self(child)
    }
}

impl Drop for Rtiexec {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Not a test: the second test below, in a network namespace, where the usual port is free.
#[test]
#[ignore = "run by the test below"]
fn in_a_namespace() {
    let up = Command::new("ip")
        .args(["link", "set", "lo", "up"])
        .status();
    assert!(up.unwrap().success());
    let (mine, others) = (private_directory(), private_directory());
    let ps = |run_dir: &Path, address: &str| -> Output {
        let settings = format!("net.unix=false;net.run_dir={}{address}", run_dir.display());
        let mut command = Command::new(STARLING);
        command.args(["ps", &settings]).output().unwrap()
    };
    let refused = |why: &str| {
        let asked = ps(mine.path(), "");
        let said = String::from_utf8(asked.stderr).unwrap();
        assert_eq!(asked.status.code(), Some(3), "{said}");
        assert!(
            said.contains(why) && said.contains("set connect.address"),
            "{said}"
        );
    };
    let own = Rtiexec::start(mine.path());
    assert!(ps(mine.path(), "").status.success());
    let token = mine.path().join("rtiexec-15160.token");
    let left_behind = std::fs::read(&token).unwrap();
    drop(own); // killed
    let _stranger = Rtiexec::start(others.path());
    std::fs::write(&token, left_behind).unwrap();
    refused("whoever listens there is no rtiexec of yours");
    std::fs::remove_file(&token).unwrap();
    refused("nothing in");
    assert!(
        ps(mine.path(), ";connect.address=127.0.0.1:15160")
            .status
            .success()
    );
    println!("all is as it should be");
}

#[test]
fn a_listener_that_was_found_proves_that_it_is_the_users_own() {
    let me = std::env::current_exe().unwrap();
    let done = Command::new("unshare")
        .args(["--net"])
        .arg(me)
        .args(["--ignored", "--exact", "in_a_namespace", "--nocapture"])
        .output();
    match done {
        Ok(done) if String::from_utf8_lossy(&done.stderr).contains("unshare failed") => {
            left_out("a network namespace needs root");
        }
        Ok(done) => {
            let said = String::from_utf8_lossy(&done.stdout);
            let why = String::from_utf8_lossy(&done.stderr);
            assert!(said.contains("all is as it should be"), "{said}{why}");
        }
        Err(_) => left_out("a network namespace needs unshare"),
    }
}
