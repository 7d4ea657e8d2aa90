//! Reading what a user names as a file.

use rustix::fs::OFlags;
use std::fs::{File, OpenOptions};
use std::io::{Error, ErrorKind, Read, Result};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a regular file for reading. Anything else (a pipe without a writer, a device without an end)
/// is refused at once.
pub fn open_file(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    // Opening a pipe would wait for a writer otherwise.
    options.custom_flags(OFlags::NONBLOCK.bits() as i32);
    let file = options.read(true).open(path)?;
    if !file.metadata()?.is_file() {
        let what = "it is no regular file";
        return Err(Error::new(ErrorKind::InvalidInput, what));
    }
    Ok(file)
}

/// A regular file's bytes, at most one more than `max`; see [`open_file`].
pub fn read_file(path: &Path, max: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = (max as u64).saturating_add(1);
    open_file(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pipes_devices_and_directories_are_refused_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let pipe = dir.path().join("pipe");
        let mode = rustix::fs::Mode::from_raw_mode(0o600);
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, mode, 0).unwrap();
        for path in [&pipe, Path::new("/dev/zero"), dir.path()] {
            let error = read_file(path, 10).unwrap_err();
            assert_eq!(error.to_string(), "it is no regular file", "{path:?}");
        }
    }

    #[test]
    fn no_more_is_read_than_one_byte_too_many() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("long");
        std::fs::write(&path, [7; 1000]).unwrap();
        assert_eq!(read_file(&path, 10).unwrap().len(), 11);
        assert_eq!(read_file(&path, 1000).unwrap().len(), 1000);
    }
}
