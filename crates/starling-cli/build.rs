//! Finds out which commit is built: from git, or in a source archive that `git archive` made from
//! the file `.commit`, which it fills in.

use std::path::Path;
use std::process::Command;

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let git = |arguments: &[&str]| {
        let output = Command::new("git")
            .arg("-C")
            .arg(&root)
            .args(arguments)
            .output();
        let output = output.ok().filter(|o| o.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=../../.commit");
    // Another project's repository around an unpacked archive says nothing of this one.
    let own = git(&["rev-parse", "--show-prefix"]).is_some_and(|inside| inside.is_empty());
    let of_git = || {
        // Written with every commit and checkout.
        let log = git(&["rev-parse", "--git-path", "logs/HEAD"])?;
        println!("cargo::rerun-if-changed={}", root.join(log).display());
        git(&["rev-parse", "--short=12", "HEAD"])
    };
    let of_archive = || {
        let text = std::fs::read_to_string(root.join(".commit")).ok()?;
        let commit = text.trim();
        (!commit.is_empty() && !commit.contains('$')).then(|| commit.to_owned())
    };
    let commit = if own { of_git() } else { None }.or_else(of_archive);
    let commit = commit.map_or("commit unknown".into(), |c| format!("commit {c}"));
    println!("cargo::rustc-env=BUILT_COMMIT={commit}");
}
