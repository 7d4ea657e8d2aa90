//! `starling bench` is `starling-bench`: the one beside it, else the one in PATH.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

fn bench(program: &Path, path: &Path) -> Output {
    let mut command = Command::new(program);
    command.args(["bench", "limits", "--help", "-x", "a b"]);
    command.env("PATH", path).output().unwrap()
}

/// A `starling-bench` that says where it is and what it was given, and ends with 7.
fn platform(folder: &Path, name: &str) {
    let program = folder.join("starling-bench");
    let script = format!("#!/bin/sh\nprintf '%s;' {name} \"$@\"\nexit 7\n");
    fs::write(&program, script).unwrap();
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn bench_runs_the_platform_of_the_same_install_with_all_arguments() {
    let (here, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let starling = here.path().join("starling");
    fs::copy(env!("CARGO_BIN_EXE_starling"), &starling).unwrap();

    let absent = bench(&starling, elsewhere.path());
    assert_eq!(absent.status.code(), Some(1));
    let why = String::from_utf8(absent.stderr).unwrap();
    assert!(
        why.contains("is not installed") && why.contains("do: "),
        "{why}"
    );

    platform(elsewhere.path(), "path");
    let found = bench(&starling, elsewhere.path());
    assert_eq!(found.status.code(), Some(7));
    assert_eq!(found.stdout, b"path;limits;--help;-x;a b;");

    platform(here.path(), "beside");
    let found = bench(&starling, elsewhere.path());
    assert_eq!(found.stdout, b"beside;limits;--help;-x;a b;");
}
