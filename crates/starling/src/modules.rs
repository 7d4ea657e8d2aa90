//! FOM modules and MIMs from where the federate says they are.

use percent_encoding::percent_decode_str;
use starling_core::message::ModuleSource;
use starling_core::{Exception, ExceptionKind, FomError, MODULE_BYTES_MAX};
use starling_net::read_file;
use std::path::PathBuf;

/// Reads a module by path or `file:` URL. `missing` is what is thrown if it can't be opened.
pub(crate) fn read(designator: &str, missing: ExceptionKind) -> Result<ModuleSource, Exception> {
    let unopened = |path: &str, why: String| {
        let error = FomError::unopened(path, why);
        Exception::new(missing, error.to_string())
    };
    let path = path_of(designator).map_err(|why| unopened(designator, why))?;
    // One byte more than is accepted is read, so that whoever reads it says so.
    let text = read_file(&path, MODULE_BYTES_MAX).map_err(|error| {
        let here = std::env::current_dir().map_or_else(|_| "?".into(), |d| d.display().to_string());
        let path = path.display().to_string();
        unopened(&path, format!("{error} (working directory {here})"))
    })?;
    Ok(ModuleSource {
        designator: designator.to_owned(),
        text: text.into(),
    })
}

/// Reads FOM modules (CouldNotOpenFDD).
pub(crate) fn read_all(designators: &[String]) -> Result<Vec<ModuleSource>, Exception> {
    let missing = ExceptionKind::CouldNotOpenFDD;
    designators.iter().map(|d| read(d, missing)).collect()
}

fn path_of(designator: &str) -> Result<PathBuf, String> {
    let Some(rest) = designator.strip_prefix("file:") else {
        return match designator.split_once("://") {
            Some((scheme, _)) => Err(format!(
                "{scheme} URLs are not supported; give a path or a file: URL"
            )),
            None => Ok(designator.into()),
        };
    };
    let path = match rest.strip_prefix("//") {
        Some(with_host) => match with_host.find('/') {
            Some(slash) if matches!(&with_host[..slash], "" | "localhost") => &with_host[slash..],
            _ => return Err("a file: URL of another host".into()),
        },
        None => rest,
    };
    match percent_decode_str(path).decode_utf8() {
        Ok(path) => Ok(path.into_owned().into()),
        Err(_) => Err("its escaped characters are not UTF-8".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reading a device without an end, or a pipe, would never come back.
    #[test]
    fn only_regular_files_are_read() {
        for device in ["/dev/zero", "/dev", "file:///dev/zero"] {
            let error = read(device, ExceptionKind::CouldNotOpenFDD).unwrap_err();
            assert_eq!(error.kind, ExceptionKind::CouldNotOpenFDD);
            let text = error.to_string();
            assert!(
                text.contains("STL-FOM-015") && text.contains("no regular file"),
                "{text}"
            );
        }
    }

    #[test]
    fn paths_and_urls() {
        let path = |d: &str| path_of(d).map(|p| p.display().to_string());
        assert_eq!(path("a/b.xml").as_deref(), Ok("a/b.xml"));
        assert_eq!(path("file:///x/a%20b.xml").as_deref(), Ok("/x/a b.xml"));
        assert_eq!(path("file://localhost/x.xml").as_deref(), Ok("/x.xml"));
        assert_eq!(path("file:/x.xml").as_deref(), Ok("/x.xml"));
        assert!(path("file://elsewhere/x.xml").is_err());
        assert!(path("http://h/x.xml").is_err());
    }
}
