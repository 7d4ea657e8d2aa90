//! Saved federation executions on disk.
//!
//! A file is written beside its place, forced to the disk, renamed, and then its directory is forced
//! to the disk: whatever happens, the place has the whole former save or the whole new one. Files
//! are named by a digest of federation execution and label, so that neither can be a path.
//!
//! ```text
//! "STRLSAVE", format (4 bytes), length of the description (8 bytes), length of the state (8 bytes),
//! description, state, SHA-256 of all before
//! ```

use sha2::{Digest, Sha256};
use starling_core::SavedFederation;
use starling_net::{open_file, read_file, try_lock, user_id};
use starling_wire::{Description, decode_description, decode_save, put_description, put_save};
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;
use tracing::{info, trace, warn};

const MAGIC: &[u8; 8] = b"STRLSAVE";
/// The format of files, and of what is in them between two versions of Starling, which [`Description::version`] tells
/// apart.
const FORMAT: u32 = 4;
const HEAD_BYTES: usize = 28;
const DIGEST_BYTES: usize = 32;
/// The largest description that is read.
const DESCRIPTION_BYTES_MAX: u64 = 16 << 20;
const EXTENSION: &str = "save";
/// Of what is being written.
const UNFINISHED: &str = "tmp";

/// The directory of saves.
#[derive(Clone, Debug)]
pub struct SaveStore {
    directory: PathBuf,
    bytes_max: u64,
    kept_max: u64,
}

/// A new file beside one, whose lock this process holds: so no other sweeps it.
fn create_beside(path: &Path) -> io::Result<(File, PathBuf)> {
    static CREATED: AtomicU64 = AtomicU64::new(0);
    loop {
        let number = CREATED.fetch_add(1, Ordering::Relaxed);
        let name = format!("{}-{number}.{UNFINISHED}", std::process::id());
        let beside = path.with_extension(name);
        let created = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&beside);
        let file = match created {
            // Of a process of the same number on another host.
            Err(e) if e.kind() == ErrorKind::AlreadyExists => continue,
            other => other?,
        };
        // Where there are no locks nobody sweeps.
        let swept = matches!(try_lock(&file), Ok(false)) || file.metadata()?.nlink() == 0;
        if !swept {
            return Ok((file, beside));
        }
    }
}

/// One save in the directory.
#[derive(Debug)]
pub struct StoredSave {
    /// Its file.
    pub path: PathBuf,
    /// In bytes.
    pub size: u64,
    /// When it was written.
    pub written: SystemTime,
    /// What it says of itself, or why it can't be read.
    pub description: Result<Description, String>,
}

impl SaveStore {
    /// In this directory. All saves take at most `bytes_max` bytes, and of each federation execution
    /// the latest `kept_max` are kept; 0: all.
    pub fn new(directory: PathBuf, bytes_max: u64, kept_max: u64) -> Self {
        SaveStore {
            directory,
            bytes_max,
            kept_max,
        }
    }

    /// Where the saves are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The file of a save.
    pub fn path(&self, federation: &str, label: &str) -> PathBuf {
        let mut digest = Sha256::new();
        digest.update((federation.len() as u64).to_le_bytes());
        digest.update(federation);
        digest.update(label);
        let name: String = digest.finalize()[..20]
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        self.directory.join(name).with_extension(EXTENSION)
    }

    /// Keeps a save in place of the former one of its label. That one, and the one that is too many then, go when
    /// it is there: while it is written it needs room on the disk besides them.
    ///
    /// # Errors
    /// A sentence; the former one is still there then, but if the new one was in its place already and only the
    /// directory could not be forced to the disk.
    pub fn write(&self, saved: &SavedFederation) -> Result<(), String> {
        self.write_and_retire(saved, |path| fs::remove_file(path))
    }

    fn write_and_retire(
        &self,
        saved: &SavedFederation,
        remove: impl Fn(&Path) -> io::Result<()>,
    ) -> Result<(), String> {
        self.make_own()?;
        let path = self.path(&saved.federation, &saved.label);
        let bytes = encode(saved);
        let mut others = self.list()?;
        others.retain(|s| s.path != path);
        // Those that are too many already go first: what can't be removed is there, and counts.
        let overdue = self.retired(&saved.federation, &others, self.kept_max);
        others.retain(|s| !overdue.contains(&s.path) || !retire(&s.path, &remove));
        let retired = self.retired(&saved.federation, &others, self.kept_max.saturating_sub(1));
        let retired: Vec<_> = retired.difference(&overdue).collect();
        let stay = others.iter().filter(|s| !retired.contains(&&s.path));
        let stay = stay.map(|s| s.size).fold(0, u64::saturating_add);
        let needed = stay.saturating_add(bytes.len() as u64);
        if needed > self.bytes_max {
            return Err(format!(
                "it takes {} bytes, and with the other saves in {} that is {needed}: more than \
                 saves.bytes ({}); do: remove some (starling saves remove), or set saves.bytes to more",
                bytes.len(),
                self.directory.display(),
                self.bytes_max
            ));
        }
        self.replace(&path, &bytes)
            .map_err(|e| format!("it can't be written to {}: {e}", self.directory.display()))?;
        for old in retired {
            retire(old, &remove);
        }
        Ok(())
    }

    /// Makes the directory if there is none; else it must be the user's own.
    fn make_own(&self) -> Result<(), String> {
        let made = DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.directory);
        made.map_err(|e| format!("{} can't be made: {e}", self.directory.display()))?;
        self.require_own()
    }

    /// Whoever else may write to the directory could put a save of his own in the place of one, or
    /// hinder that one is written. A directory that is not there is nobody's.
    fn require_own(&self) -> Result<(), String> {
        let found = match fs::metadata(&self.directory) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(()),
            Err(e) => return Err(format!("{} can't be read: {e}", self.directory.display())),
            Ok(found) => found,
        };
        let refuse = |why: String, remedy: &str| {
            let directory = self.directory.display();
            Err(format!(
                "the directory of saves {directory} {why}; {remedy}, or set saves.dir to a directory \
                 of your own"
            ))
        };
        let user = user_id();
        if found.uid() != user {
            return refuse(format!("belongs to user {}", found.uid()), "chown it");
        }
        // Many systems give each user a group of his own, of the same number.
        let group = found.mode() & 0o020 != 0 && found.gid() != user;
        if group || found.mode() & 0o002 != 0 {
            let why = format!(
                "can be written by others (mode {:o})",
                found.mode() & 0o7777
            );
            return refuse(why, "chmod go-w it");
        }
        Ok(())
    }

    fn replace(&self, path: &Path, bytes: &[u8]) -> io::Result<()> {
        self.sweep();
        let (mut file, beside) = create_beside(path)?;
        let written = (|| {
            stage("created");
            let (first, second) = bytes.split_at(bytes.len() / 2);
            file.write_all(first)?;
            stage("half written");
            file.write_all(second)?;
            stage("written");
            file.sync_all()?;
            stage("on the disk");
            fs::rename(&beside, path)?;
            stage("renamed");
            File::open(&self.directory)?.sync_all()
        })();
        if written.is_err() {
            // What can't be removed is swept by the next process.
            let _ = fs::remove_file(&beside);
        }
        stage("done");
        written
    }

    /// Removes what processes that are gone had begun to write: who writes holds a lock on it. Their
    /// numbers say nothing, where hosts or containers share the directory.
    fn sweep(&self) {
        let Ok(entries) = fs::read_dir(&self.directory) else {
            return;
        };
        for entry in entries.flatten() {
            let path = entry.path();
            let is_file = entry.file_type().is_ok_and(|of| of.is_file());
            if !is_file || path.extension().is_none_or(|e| e != UNFINISHED) {
                continue;
            }
            let Ok(file) = OpenOptions::new().write(true).open(&path) else {
                continue;
            };
            // It may be gone already, and its name another's.
            let is_there = || file.metadata().is_ok_and(|m| m.nlink() > 0);
            if try_lock(&file).is_ok_and(|locked| locked) && is_there() {
                let _ = fs::remove_file(path);
            }
        }
    }

    /// The files of the oldest `others` of a federation execution that are too many where so many may stay.
    fn retired(&self, federation: &str, others: &[StoredSave], stay_max: u64) -> BTreeSet<PathBuf> {
        if self.kept_max == 0 {
            return BTreeSet::new();
        }
        let of = others.iter().filter(|s| {
            let of = s.description.as_ref();
            of.is_ok_and(|d| d.federation == federation)
        });
        let mut of: Vec<_> = of.collect();
        of.sort_by_key(|s| s.written);
        let kept = usize::try_from(stay_max).unwrap_or(usize::MAX);
        of.truncate(of.len().saturating_sub(kept));
        of.into_iter().map(|s| s.path.clone()).collect()
    }

    /// What was kept under a label.
    ///
    /// # Errors
    /// A sentence that says why it can't be used.
    pub fn read(&self, federation: &str, label: &str) -> Result<SavedFederation, String> {
        self.require_own()?;
        let path = self.path(federation, label);
        let most = usize::try_from(self.bytes_max).unwrap_or(usize::MAX);
        let unread = |e: io::Error| match e.kind() {
            ErrorKind::NotFound => format!(
                "there is no save '{label}' of '{federation}' in {}",
                self.directory.display()
            ),
            _ => format!("{} can't be read: {e}", path.display()),
        };
        let mut file = open_file(&path).map_err(unread)?;
        let size = file.metadata().map_err(unread)?.len();
        if size > self.bytes_max {
            return Err(format!(
                "{} has more than {most} bytes (saves.bytes)",
                path.display()
            ));
        }
        // What is no save is not read to its end.
        let mut head = [0; HEAD_BYTES];
        if file.read_exact(&mut head).is_ok() {
            let checked = lengths(&head).and_then(|parts| require_size(parts, size));
            checked.map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let bytes = read_file(&path, most).map_err(unread)?;
        let saved = decode(&bytes).map_err(|e| format!("{}: {e}", path.display()))?;
        if saved.federation != federation || saved.label != label {
            return Err(format!(
                "{} is the save '{}' of '{}'",
                path.display(),
                saved.label,
                saved.federation
            ));
        }
        Ok(saved)
    }

    /// All saves, by federation execution and label, those that can't be read last; none if there is no directory.
    ///
    /// # Errors
    /// A sentence; also where others may write to the directory: nothing in it is used.
    pub fn list(&self) -> Result<Vec<StoredSave>, String> {
        self.require_own()?;
        let failed = |e: io::Error| format!("{} can't be read: {e}", self.directory.display());
        let entries = match fs::read_dir(&self.directory) {
            Err(e) if e.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(failed)?,
        };
        let mut found = Vec::new();
        for entry in entries {
            let path = entry.map_err(failed)?.path();
            if path.extension().is_none_or(|e| e != EXTENSION) {
                continue;
            }
            // It may be gone since.
            let Ok(metadata) = fs::metadata(&path) else {
                continue;
            };
            found.push(StoredSave {
                size: metadata.size(),
                written: metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH),
                description: describe(&path),
                path,
            });
        }
        found.sort_by_cached_key(|save| {
            let of = save.description.as_ref().ok();
            let of = of.map(|d| (d.federation.clone(), d.label.clone()));
            (of.is_none(), of, save.path.clone())
        });
        Ok(found)
    }

    /// Removes a save.
    pub fn remove(&self, save: &StoredSave) -> Result<(), String> {
        self.require_own()?;
        fs::remove_file(&save.path)
            .and_then(|()| File::open(&self.directory)?.sync_all())
            .map_err(|e| format!("{} can't be removed: {e}", save.path.display()))
    }
}

/// Removes a save that is one too many, and says where it can't; whether it is gone.
fn retire(path: &Path, remove: impl Fn(&Path) -> io::Result<()>) -> bool {
    match remove(path) {
        Ok(()) => {
            info!(
                "{} was removed: it was one more than saves.keep",
                path.display()
            );
            true
        }
        Err(e) if e.kind() == ErrorKind::NotFound => true,
        Err(e) => {
            warn!(
                "the save {} is one more than saves.keep and can't be removed: {e}; it counts in \
                 saves.bytes until somebody removes it",
                path.display()
            );
            false
        }
    }
}

/// Reads only what a save says of itself; its digest is not looked at.
fn describe(path: &Path) -> Result<Description, String> {
    let mut file = open_file(path).map_err(|e| e.to_string())?;
    let mut head = [0; HEAD_BYTES];
    file.read_exact(&mut head).map_err(|_| too_short())?;
    let parts = lengths(&head)?;
    require_size(parts, file.metadata().map_err(|e| e.to_string())?.len())?;
    let (description, _) = parts;
    if description > DESCRIPTION_BYTES_MAX {
        return Err(format!("a description of {description} bytes"));
    }
    let mut bytes = Vec::new();
    let read = file.take(description).read_to_end(&mut bytes);
    if read.map_err(|e| e.to_string())? as u64 != description {
        return Err(too_short());
    }
    decode_description(&bytes).map_err(|e| e.to_string())
}

fn too_short() -> String {
    "it is cut off".to_owned()
}

/// The lengths of description and state.
fn lengths(head: &[u8; HEAD_BYTES]) -> Result<(u64, u64), String> {
    let number = |at: usize| {
        let mut bytes = [0; 8];
        bytes.copy_from_slice(&head[at..at + 8]);
        u64::from_le_bytes(bytes)
    };
    if &head[..8] != MAGIC {
        return Err("it is no save of a federation execution".into());
    }
    let format = u32::from_le_bytes([head[8], head[9], head[10], head[11]]);
    if format != FORMAT {
        return Err(format!(
            "its format is {format}; this version of Starling reads {FORMAT}"
        ));
    }
    Ok((number(12), number(20)))
}

/// That a file of so many bytes is as long as its head says.
fn require_size((description, state): (u64, u64), size: u64) -> Result<(), String> {
    let whole = description
        .checked_add(state)
        .and_then(|n| n.checked_add((HEAD_BYTES + DIGEST_BYTES) as u64));
    match whole {
        Some(whole) if whole > size => Err(too_short()),
        Some(whole) if whole == size => Ok(()),
        _ => Err("its length is not what it says".into()),
    }
}

/// A save as the bytes of its file.
pub fn encode(saved: &SavedFederation) -> Vec<u8> {
    let mut out = vec![0; HEAD_BYTES];
    put_description(&mut out, &Description::of(saved));
    let description = (out.len() - HEAD_BYTES) as u64;
    put_save(&mut out, saved);
    let state = (out.len() - HEAD_BYTES) as u64 - description;
    out[..8].copy_from_slice(MAGIC);
    out[8..12].copy_from_slice(&FORMAT.to_le_bytes());
    out[12..20].copy_from_slice(&description.to_le_bytes());
    out[20..28].copy_from_slice(&state.to_le_bytes());
    let digest = Sha256::digest(&out);
    out.extend_from_slice(&digest);
    out
}

/// A save from the bytes of its file.
///
/// # Errors
/// What is wrong with it, as the end of a sentence that begins with the file.
pub fn decode(bytes: &[u8]) -> Result<SavedFederation, String> {
    let head: &[u8; HEAD_BYTES] = bytes.first_chunk().ok_or_else(too_short)?;
    let (description, state) = lengths(head)?;
    require_size((description, state), bytes.len() as u64)?;
    let (content, digest) = bytes.split_at(bytes.len() - DIGEST_BYTES);
    if Sha256::digest(content)[..] != *digest {
        return Err("it is damaged: its checksum is wrong".into());
    }
    let (description, state) = content[HEAD_BYTES..].split_at(description as usize);
    let description = decode_description(description).map_err(|e| e.to_string())?;
    let here = env!("CARGO_PKG_VERSION");
    if description.version != here {
        return Err(format!(
            "it was saved by Starling {}, and this is {here}",
            description.version
        ));
    }
    decode_save(state).map_err(|e| e.to_string())
}

/// Tells how far the writing is, for whoever looks for what a kill then leaves.
fn stage(what: &str) {
    trace!("save: {what}");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory of its own, which goes with the test.
    struct Scratch(SaveStore);

    impl Scratch {
        fn new(name: &str) -> Self {
            let directory = format!("starling-saves-{name}-{}", std::process::id());
            let store = SaveStore::new(std::env::temp_dir().join(directory), 1 << 20, 0);
            let _ = fs::remove_dir_all(&store.directory);
            store.make_own().unwrap();
            Scratch(store)
        }

        fn names(&self) -> BTreeSet<String> {
            let entries = fs::read_dir(&self.0.directory).unwrap();
            let names = entries.map(|e| e.unwrap().file_name().into_string().unwrap());
            names.collect()
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0.directory);
        }
    }

    /// No process has this number.
    const NOBODY: &str = "4294967295";

    #[test]
    fn what_another_host_is_writing_is_left_and_what_nobody_writes_is_swept() {
        let store = Scratch::new("sweep");
        let place = store.0.path("F", "L");
        let written = place.with_extension(format!("{NOBODY}-0.tmp"));
        let left = place.with_extension(format!("{}-99999999.tmp", std::process::id()));
        // As its writer has it, whose number is nobody's here.
        let held = File::create(&written).unwrap();
        assert!(try_lock(&held).unwrap());
        fs::write(&left, "half").unwrap();
        store.0.replace(&place, b"whole").unwrap();
        let name = |p: &Path| p.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(
            store.names(),
            BTreeSet::from([name(&written), name(&place)])
        );
        assert_eq!(fs::read(&place).unwrap(), b"whole");
        // Its writer has died.
        drop(held);
        store.0.replace(&place, b"again").unwrap();
        assert_eq!(store.names(), BTreeSet::from([name(&place)]));
    }

    /// Any save, under this label.
    fn save(label: &str) -> SavedFederation {
        let seed = include_bytes!("../../../fuzz/seeds/save/state-0");
        let mut saved = decode_save(seed).unwrap();
        saved.federation = "F".into();
        saved.label = label.into();
        saved
    }

    /// A failure for each save that is to be removed.
    fn refuse(_: &Path) -> io::Result<()> {
        Err(ErrorKind::PermissionDenied.into())
    }

    #[test]
    fn a_save_that_is_too_many_and_can_t_be_removed_counts() {
        let mut store = Scratch::new("counts");
        store.0.kept_max = 1;
        let size = encode(&save("1")).len() as u64;
        store.0.bytes_max = 2 * size - 1;
        store.0.write_and_retire(&save("1"), refuse).unwrap();
        // The first one is too many behind it, and stays.
        store.0.write_and_retire(&save("2"), refuse).unwrap();
        assert_eq!(store.names().len(), 2);
        let full = store.0.write_and_retire(&save("3"), refuse);
        let full = full.unwrap_err();
        assert!(full.contains("more than saves.bytes"), "{full}");
        assert_eq!(store.names().len(), 2);
        // When it can be removed it is, first of all.
        store.0.write(&save("3")).unwrap();
        let name = store.0.path("F", "3");
        let name = name.file_name().unwrap().to_str().unwrap().to_owned();
        assert_eq!(store.names(), BTreeSet::from([name]));
    }

    #[test]
    fn a_file_of_a_process_of_the_same_number_is_not_in_the_way() {
        let store = Scratch::new("same");
        let place = store.0.path("F", "L");
        let (first, beside) = create_beside(&place).unwrap();
        let number: u64 = {
            let name = beside.to_str().unwrap().strip_suffix(".tmp").unwrap();
            name.rsplit_once('-').unwrap().1.parse().unwrap()
        };
        // The next hundred names are taken, by who writes on another host.
        let taken = (1..=100).map(|n| {
            let name = format!("{}-{}.tmp", std::process::id(), number + n);
            let file = File::create(place.with_extension(name)).unwrap();
            assert!(try_lock(&file).unwrap());
            file
        });
        let taken: Vec<_> = taken.collect();
        store.0.replace(&place, b"whole").unwrap();
        assert_eq!(store.names().len(), 1 + taken.len() + 1);
        drop(first);
    }

    /// A terabyte, for which there would be no memory, of which the head says that it is none.
    #[test]
    fn a_file_that_is_longer_than_it_says_is_not_read() {
        let mut store = Scratch::new("long");
        store.0.bytes_max = u64::MAX;
        let place = store.0.path("F", "L");
        let bytes = encode(&save("L"));
        fs::write(&place, &bytes).unwrap();
        assert!(store.0.read("F", "L").is_ok());
        let file = File::options().write(true).open(&place).unwrap();
        file.set_len(1 << 40).unwrap();
        let refused = store.0.read("F", "L").unwrap_err();
        assert!(
            refused.ends_with("its length is not what it says"),
            "{refused}"
        );
        file.set_len(bytes.len() as u64 - 1).unwrap();
        assert!(store.0.read("F", "L").is_err());
    }
}
