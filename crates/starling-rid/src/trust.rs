//! Whose word counts: a settings file or a variable can name a program that runs as this user,
//! and files that are written as this user.
//!
//! Invariants: what another user can have written is never read; a process that runs with more
//! rights than whoever started it takes neither its environment nor its files.

use crate::error::SettingError;
use std::ffi::OsString;
use std::fs::{self, File, Metadata};
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A settings file is smaller than this.
const FILE_BYTES_MAX: u64 = 1 << 20;

/// Whether this process has more rights than whoever started it (set-user-ID programs, file
/// capabilities), so that its environment and files are somebody else's word.
#[expect(
    unsafe_code,
    reason = "no safe interface has AT_SECURE; /proc may not be mounted"
)]
pub fn is_privileged() -> bool {
    // SAFETY: no pointers; the system's answer is a number.
    unsafe { libc::getauxval(libc::AT_SECURE) != 0 }
}

/// A variable of the environment, unless that is somebody else's word; none if empty.
pub fn variable(name: &str) -> Option<OsString> {
    let value = std::env::var_os(name).filter(|v| !v.is_empty())?;
    (!is_privileged()).then_some(value)
}

/// Reads a settings file, if nobody but its user can have written it.
pub(crate) fn read(path: &Path) -> Result<String, SettingError> {
    let error = |what: String, remedy: &str| SettingError::new(what, path.display(), remedy);
    let cannot = |e: std::io::Error| {
        let what = format!("the settings file can't be read: {e}");
        error(what, "check its name and permissions")
    };
    let refuse = |what: String| {
        let remedy = "it must be yours, in a directory of yours, and nobody else may write to \
                      either (chown, chmod go-w); or all that the superuser's";
        Err(error(what, remedy))
    };
    // Opening a pipe would wait for whoever writes to it.
    if !fs::metadata(path).map_err(cannot)?.is_file() {
        return refuse("the settings file is no file".into());
    }
    let user = rustix::process::geteuid().as_raw();
    // The directory where the name stands, and the one where a link leads to.
    let leads_to = fs::canonicalize(path).map_err(cannot)?;
    for place in [path, &leads_to] {
        let directory = match place.parent() {
            Some(directory) if !directory.as_os_str().is_empty() => directory,
            _ => Path::new("."),
        };
        if let Some(why) = whose(&fs::metadata(directory).map_err(cannot)?, user) {
            return refuse(format!(
                "the directory {} of a settings file {why}",
                directory.display()
            ));
        }
    }
    // A link's mode says nothing, but its owner made it.
    let link = fs::symlink_metadata(path).map_err(cannot)?.uid();
    let file = File::open(path).map_err(cannot)?;
    let why = if trusted(link, user) {
        whose(&file.metadata().map_err(cannot)?, user)
    } else {
        Some(belongs_to(link))
    };
    if let Some(why) = why {
        return refuse(format!("the settings file {why}"));
    }
    let mut text = String::new();
    let mut file = file.take(FILE_BYTES_MAX);
    file.read_to_string(&mut text).map_err(cannot)?;
    if text.len() as u64 == FILE_BYTES_MAX {
        let what = format!("the settings file has {FILE_BYTES_MAX} bytes or more");
        return Err(error(what, "is it the file that was meant?"));
    }
    Ok(text)
}

fn trusted(owner: u32, user: u32) -> bool {
    owner == user || owner == 0
}

fn belongs_to(owner: u32) -> String {
    format!("belongs to user {owner}")
}

/// Who else may write there; none if nobody.
fn whose(found: &Metadata, user: u32) -> Option<String> {
    if !trusted(found.uid(), user) {
        return Some(belongs_to(found.uid()));
    }
    // In a directory such as /tmp everybody may write, but only to files of his own.
    let sticky = found.is_dir() && found.mode() & 0o1000 != 0;
    // Many systems give each user a group of his own, of the same number.
    let group = found.mode() & 0o020 != 0 && found.gid() != user;
    let others = found.mode() & 0o002 != 0;
    (!sticky && (group || others)).then(|| {
        let mode = found.mode() & 0o7777;
        format!("can be written by others (mode {mode:o})")
    })
}
