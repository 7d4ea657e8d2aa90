//! `cargo xtask faults time|saves`: seeds the faults of `tests/time/faults.txt` or `tests/saves/faults.txt`
//! into a copy of the sources, one at a time, and sees which tests find each.

use crate::root;
use anyhow::{Context, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process_group};
use std::fs;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Programs of the simulator that each fault has to get through.
const PROGRAMS: &str = "300";
/// Whoever takes longer hangs: what is sound takes a hundredth of it.
const LIMIT: Duration = Duration::from_secs(900);

/// Something that is made wrong.
#[derive(Debug)]
struct Fault {
    name: String,
    what: String,
    file: String,
    /// Lines, and what takes their place.
    replaced: Vec<(Vec<String>, Vec<String>)>,
}

impl Fault {
    /// The file's text with this fault. An error if what is to be replaced does not stand there once;
    /// how lines are indented makes no difference.
    fn seeded(&self, text: &str) -> Result<String> {
        let mut lines: Vec<&str> = text.lines().collect();
        for (old, new) in &self.replaced {
            let same = |at: &[&str]| at.iter().zip(old).all(|(l, o)| l.trim() == o);
            let windows = lines.windows(old.len()).enumerate();
            let places: Vec<_> = windows.filter(|(_, w)| same(w)).map(|(n, _)| n).collect();
            let [place] = places[..] else {
                bail!(
                    "fault {} does not fit any more: this stands in {} {} times, not once:\n{}",
                    self.name,
                    self.file,
                    places.len(),
                    old.join("\n")
                );
            };
            lines.splice(place..place + old.len(), new.iter().map(String::as_str));
        }
        Ok(lines.join("\n") + "\n")
    }
}

/// Reads a list of faults, from this file.
fn parse(list: &str, text: &str) -> Result<Vec<Fault>> {
    let mut faults: Vec<Fault> = Vec::new();
    let mut replaces = false;
    for (n, line) in text.lines().enumerate() {
        let wrong = || format!("{list}, line {}: {line}", n + 1);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(head) = line.strip_prefix("fault ") {
            let (name, what) = head.split_once(": ").with_context(wrong)?;
            faults.push(Fault {
                name: name.to_owned(),
                what: what.to_owned(),
                file: String::new(),
                replaced: Vec::new(),
            });
            replaces = true;
            continue;
        }
        let fault = faults.last_mut().with_context(wrong)?;
        if let Some(file) = line.strip_prefix("file ") {
            fault.file = file.to_owned();
        } else if let Some(old) = line.strip_prefix("- ") {
            if std::mem::take(&mut replaces) {
                fault.replaced.push(Default::default());
            }
            let (last, _) = fault.replaced.last_mut().with_context(wrong)?;
            last.push(old.trim().to_owned());
        } else if let Some(new) = line.strip_prefix("+ ") {
            let (_, last) = fault.replaced.last_mut().with_context(wrong)?;
            last.push(new.trim().to_owned());
            replaces = true;
        } else {
            bail!("{}", wrong());
        }
    }
    Ok(faults)
}

/// A list of faults, and the tests that are to find them.
struct Kind {
    name: &'static str,
    /// From the project's root.
    list: &'static str,
    tests: &'static [Test],
}

enum Test {
    /// Tests of starling-core: in the library itself or of `tests/`, and the module they are in.
    Core(&'static str, &'static str),
    /// Programs of the simulator, of this kind.
    Programs(&'static str),
}

const KINDS: [Kind; 2] = [
    Kind {
        name: "time",
        list: "tests/time/faults.txt",
        tests: &[
            Test::Core("--lib", "time::"),
            Test::Core("--test=all", "time::"),
            Test::Programs("time"),
        ],
    },
    Kind {
        name: "saves",
        list: "tests/saves/faults.txt",
        tests: &[
            Test::Core("--lib", "log::"),
            Test::Core("--lib", "time::"),
            Test::Core("--test=all", "saved::"),
            Test::Core("--test=all", "scheduled_saves::"),
            Test::Programs("saves"),
            Test::Programs("managed"),
        ],
    },
];

impl Test {
    fn name(&self) -> &'static str {
        match self {
            Test::Core("--lib", _) => "room",
            Test::Core(..) => "core",
            Test::Programs(_) => "programs",
        }
    }

    /// What cargo is to do, and what the test itself is told.
    fn commands(&self) -> [Vec<&'static str>; 2] {
        match self {
            Test::Core(of, module) => {
                let command = ["test", "-q", "--locked", "-p", "starling-core", of];
                [
                    [&command[..], &["--no-run"]].concat(),
                    [&command[..], &[module]].concat(),
                ]
            }
            Test::Programs(of) => {
                let what = ["-q", "--locked", "-p", "starling-sim", "--example=campaign"];
                let programs = ["--", "0", PROGRAMS, "300", of];
                [
                    [&["build"], &what[..]].concat(),
                    [&["run"], &what[..], &programs[..]].concat(),
                ]
            }
        }
    }
}

impl Test {
    /// Whether it has looked at anything, by what it said when it found nothing: a filter may match no test any more.
    fn was_run(&self, said: &str) -> bool {
        match self {
            Test::Core(..) => {
                let passed = said.lines().filter_map(|line| {
                    let of = line.strip_prefix("test result: ok. ")?;
                    of.split_once(" passed")?.0.parse::<u64>().ok()
                });
                passed.sum::<u64>() > 0
            }
            Test::Programs(_) => said.contains(&format!("{PROGRAMS} seeds, ")),
        }
    }
}

impl Kind {
    fn faults(&self) -> Result<Vec<Fault>> {
        let text = fs::read_to_string(root().join(self.list));
        parse(
            self.list,
            &text.with_context(|| format!("reading {}", self.list))?,
        )
    }
}

/// Seeds all of one kind, or those named; an error if one survives.
pub(crate) fn run(kind: &str, names: &[&str]) -> Result<()> {
    let known = KINDS.iter().find(|k| k.name == kind);
    let kind = known.with_context(|| format!("there are no faults of '{kind}'"))?;
    let mut faults = kind.faults()?;
    // Before an hour is spent.
    for fault in &faults {
        fault.seeded(&fs::read_to_string(root().join(&fault.file))?)?;
    }
    faults.retain(|f| names.is_empty() || names.contains(&f.name.as_str()));
    ensure!(!faults.is_empty(), "there is no such fault");
    let tree = root().join("build/faults/tree");
    copy(&tree)?;
    for test in kind.tests {
        let (found, said) = finds(&tree, test)?;
        ensure!(
            !found,
            "'{}' fails on sound sources; see make test",
            test.name()
        );
        ensure!(
            test.was_run(&said),
            "'{}' has run nothing, so it finds nothing: is there still what '{}' names?",
            test.name(),
            test.commands()[1].join(" ")
        );
    }
    let mut survived = Vec::new();
    for fault in &faults {
        let (sound, file) = (root().join(&fault.file), tree.join(&fault.file));
        let text = fs::read_to_string(sound)?;
        fs::write(&file, fault.seeded(&text)?)?;
        let mut by = None;
        for test in kind.tests {
            if finds(&tree, test)?.0 {
                by = Some(test.name());
                break;
            }
        }
        fs::write(&file, text)?;
        match by {
            Some(by) => println!("found by {by:<8}  {:<32} {}", fault.name, fault.what),
            None => {
                println!("SURVIVED           {:<32} {}", fault.name, fault.what);
                survived.push(fault.name.as_str());
            }
        }
    }
    println!("{} faults, {} survived", faults.len(), survived.len());
    ensure!(survived.is_empty(), "survived: {}", survived.join(", "));
    Ok(())
}

/// Whether a test finds something wrong, and what it says. What does not build is no fault but a mistake in the list.
fn finds(tree: &Path, test: &Test) -> Result<(bool, String)> {
    let [build, run] = test.commands();
    let built = cargo(tree, &build).stderr(Stdio::inherit()).status()?;
    ensure!(built.success(), "it does not build (see above)");
    let mut group = Group::spawn(cargo(tree, &run))?;
    let begun = Instant::now();
    let found = loop {
        if let Some(status) = group.child.try_wait()? {
            break !status.success();
        }
        if begun.elapsed() > LIMIT {
            break true;
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    Ok((found, group.end()?))
}

/// A process and all that it starts: cargo does not end the test that it runs when it is ended itself, which would go
/// on for ever where that loops.
struct Group {
    child: Child,
    /// Reads what they all write, until none of them is left that could.
    said: std::thread::JoinHandle<std::io::Result<Vec<u8>>>,
}

impl Group {
    fn spawn(mut command: Command) -> Result<Self> {
        let mut child = command.stdout(Stdio::piped()).process_group(0).spawn()?;
        let mut stdout = child.stdout.take().context("it was just asked for")?;
        let said = std::thread::spawn(move || {
            let mut said = Vec::new();
            stdout.read_to_end(&mut said).map(|_| said)
        });
        Ok(Group { child, said })
    }

    /// Ends those that are left; what they have written.
    fn end(mut self) -> Result<String> {
        if let Some(group) = Pid::from_raw(self.child.id().cast_signed()) {
            // None may be left.
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.child.wait()?;
        let said = self.said.join();
        let said = said.map_err(|_| anyhow::anyhow!("reading what it says has failed"))??;
        Ok(String::from_utf8_lossy(&said).into_owned())
    }
}

/// Cargo in the copy, optimised a little: random programs take long, and so does building.
fn cargo(tree: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("cargo");
    command.current_dir(tree).args(arguments);
    command
        .env("CARGO_TARGET_DIR", root().join("build/faults/target"))
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("PROPTEST_FAILURE_PERSISTENCE", "off")
        .env("RUST_BACKTRACE", "0")
        .env("RUSTFLAGS", "-Awarnings")
        .stdin(Stdio::null())
        .stderr(Stdio::null());
    command
}

/// Makes or renews the copy. What has not changed keeps its age, so that it is not built again.
fn copy(tree: &Path) -> Result<()> {
    fs::create_dir_all(tree)?;
    for entry in fs::read_dir(root())? {
        let name = entry?.file_name();
        let (from, to) = (root().join(&name), tree.join(&name));
        match name.to_str() {
            Some("build" | "target" | ".git" | ".ccache") => {}
            Some("crates" | "Cargo.toml" | "Cargo.lock") => copy_changed(&from, &to)?,
            _ if to.exists() => {}
            _ => std::os::unix::fs::symlink(fs::canonicalize(from)?, to)?,
        }
    }
    Ok(())
}

fn copy_changed(from: &Path, to: &Path) -> Result<()> {
    if from.is_file() {
        let text = fs::read(from)?;
        if fs::read(to).ok().as_deref() != Some(&text) {
            fs::write(to, text)?;
        }
        return Ok(());
    }
    fs::create_dir_all(to)?;
    let names = |of: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(of)?.map(|e| Ok(PathBuf::from(e?.file_name())));
        entries.collect()
    };
    for gone in names(to)? {
        if !from.join(&gone).exists() {
            let path = to.join(gone);
            if path.is_dir() {
                fs::remove_dir_all(path)?
            } else {
                fs::remove_file(path)?
            }
        }
    }
    for name in names(from)? {
        copy_changed(&from.join(&name), &to.join(&name))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_faults_fit_the_sources() {
        let lists = KINDS.iter().map(|kind| kind.faults().unwrap());
        let faults: Vec<_> = lists
            .inspect(|list| assert!(list.len() >= 20))
            .flatten()
            .collect();
        let mut unfit = Vec::new();
        for fault in &faults {
            let text = fs::read_to_string(root().join(&fault.file)).unwrap();
            match fault.seeded(&text) {
                Ok(seeded) => assert_ne!(seeded, text, "{}", fault.name),
                Err(e) => unfit.push(e.to_string()),
            }
        }
        assert!(unfit.is_empty(), "{}", unfit.join("\n"));
        let mut names: Vec<_> = faults.iter().map(|f| &f.name).collect();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), faults.len(), "each has a name of its own");
    }

    /// One who holds what is read to its end would keep this test from ending.
    #[test]
    fn nobody_is_left_of_what_loops() {
        let (mut both_are_there, says_so) = std::io::pipe().unwrap();
        let mut looping = Command::new("sh");
        let and_another = "echo begins; sleep 1000000 2>/dev/null & echo . >&2; wait";
        looping.args(["-c", and_another]).stderr(says_so);
        let mut group = Group::spawn(looping).unwrap();
        both_are_there.read_exact(&mut [0]).unwrap();
        assert_eq!(group.child.try_wait().unwrap(), None);
        assert_eq!(group.end().unwrap(), "begins\n");
    }

    #[test]
    fn what_has_run_nothing_is_told() {
        let core = Test::Core("--lib", "time::");
        let said =
            |passed| format!("running\n\ntest result: ok. {passed} passed; 0 failed; 0 ignored\n");
        assert!(core.was_run(&said(3)) && core.was_run(&(said(0) + &said(1))));
        assert!(!core.was_run(&said(0)) && !core.was_run(""));
        let programs = Test::Programs("time");
        assert!(programs.was_run("9 x\n300 seeds, 2 steps, 0 faults\n"));
        assert!(!programs.was_run("0 seeds, 0 steps, 0 faults\n"));
    }

    #[test]
    fn what_has_moved_on_is_told() {
        let list = "fault f: what\nfile a.rs\n- x\n- y\n+ z\n- u\n+ v\n";
        let faults = parse("list", list).unwrap();
        let seeded = faults[0].seeded(" x\n y\nu\n").unwrap();
        assert_eq!(seeded, "z\nv\n");
        let gone = faults[0].seeded(" x\nother\n y\nu\n").unwrap_err();
        assert!(gone.to_string().contains("fault f does not fit"), "{gone}");
        let twice = faults[0].seeded(" x\n y\nu\nu\n").unwrap_err();
        assert!(twice.to_string().contains("2 times"), "{twice}");
        assert!(
            parse("list", "file a.rs\n").is_err()
                && parse("list", "fault f: x\nnonsense\n").is_err()
        );
    }
}
