//! The localSettingsDesignator of connect (1516.1-2010 §4.2), and STARLING_OVERRIDES.

use crate::error::SettingError;
use crate::nearest::nearest;
use crate::table::SETTINGS;
use crate::{DEFAULT_PORT, Endpoint};

/// What a designator says.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Designated {
    /// Index into SETTINGS and the text of the value.
    pub values: Vec<(usize, String)>,
    /// What was ignored, in words.
    pub notes: Vec<String>,
    /// It names this settings file.
    pub file: Option<String>,
}

const REMEDY: &str = "give host:port, crcAddress=host:port, settings such as \
    connect.address=host:port;callbacks.io=single-threaded, the name of a settings file, or nothing";

/// Reads `key=value` pairs, an address, or a file name.
pub(crate) fn parse(text: &str, place: &str) -> Result<Designated, SettingError> {
    let mut out = Designated::default();
    let mut host_and_port = (None, None);
    for part in text.split([';', ',', '\n', '\r']) {
        let part = part.trim();
        match part.split_once('=') {
            _ if part.is_empty() || part.starts_with('#') => {}
            Some((key, value)) => pair(&mut out, &mut host_and_port, key, value, place)?,
            None => word(&mut out, part, place)?,
        }
    }
    match host_and_port {
        (Some(host), port) => {
            let port = port.unwrap_or_else(|| DEFAULT_PORT.to_string());
            let host = if host.contains(':') && !host.starts_with('[') {
                format!("[{host}]")
            } else {
                host
            };
            address(&mut out, &format!("{host}:{port}"), place)?;
        }
        (None, Some(port)) => address(&mut out, &format!("127.0.0.1:{port}"), place)?,
        (None, None) => {}
    }
    Ok(out)
}

/// Splits a properties file (`key = value` lines, # or ! comments) into the same.
pub(crate) fn parse_properties(text: &str, place: &str) -> Result<Designated, SettingError> {
    let lines: Vec<&str> = text
        .lines()
        .map(str::trim)
        .filter(|l| !l.starts_with(['#', '!']))
        .collect();
    for line in &lines {
        if !line.is_empty() && !line.contains('=') {
            return Err(SettingError::new(
                format!("'{line}' is no key=value line"),
                place,
                "write one key=value per line",
            ));
        }
    }
    parse(&lines.join("\n"), place)
}

fn pair(
    out: &mut Designated,
    host_and_port: &mut (Option<String>, Option<String>),
    key: &str,
    value: &str,
    place: &str,
) -> Result<(), SettingError> {
    let (key, value) = (key.trim(), value.trim());
    if let Some(index) = SETTINGS.iter().position(|s| s.key == key) {
        out.values.push((index, value.into()));
        return Ok(());
    }
    match key.to_ascii_lowercase().as_str() {
        "crcaddress" | "fedpro.crcaddress" => address(out, value, place)?,
        "crchost" | "host" => host_and_port.0 = Some(value.into()),
        "crcport" | "port" => host_and_port.1 = Some(value.into()),
        "nick" | "nickname" | "lrcname" => ignored(out, key, place),
        other if other.starts_with("fedpro.") || other.starts_with("lrc.") => {
            ignored(out, key, place);
        }
        _ => return Err(unknown(key, place)),
    }
    Ok(())
}

fn ignored(out: &mut Designated, key: &str, place: &str) {
    out.notes.push(format!(
        "'{key}' of {place} has no equal in Starling and was ignored"
    ));
}

/// The refusal of an unknown key.
pub(crate) fn unknown(key: &str, place: &str) -> SettingError {
    let keys = SETTINGS.iter().map(|s| s.key);
    let vendor = ["crcAddress", "crcHost", "crcPort"];
    let last = |k: &&'static str| k.rsplit('.').next() == Some(key);
    let near = nearest(key, keys.clone().chain(vendor)).or_else(|| keys.clone().find(last));
    let remedy = match near {
        Some(near) => format!("did you mean '{near}'? `starling config show` lists all"),
        None => "`starling config show` lists all settings".into(),
    };
    SettingError::new(format!("there is no setting '{key}'"), place, remedy)
}

fn word(out: &mut Designated, word: &str, place: &str) -> Result<(), SettingError> {
    if let Some(rest) = word.strip_prefix("rti://") {
        let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
        if !path.is_empty() {
            out.notes.push(format!(
                "'/{path}' of {place} was ignored: the federation execution is named at create and join"
            ));
        }
        return address(out, authority, place);
    }
    let is_file = [".toml", ".properties", ".settings", ".lsd"]
        .iter()
        .any(|end| word.ends_with(end));
    if is_file || std::path::Path::new(word).is_file() {
        out.file = Some(word.into());
        return Ok(());
    }
    let lsd = format!("{word}.lsd");
    if std::path::Path::new(&lsd).is_file() {
        out.file = Some(lsd);
        return Ok(());
    }
    // A lone word is too likely a mistake to be looked up as a host.
    let names_host = word.contains(':') || word.parse::<std::net::IpAddr>().is_ok();
    if names_host || word == "localhost" {
        return address(out, word, place);
    }
    Err(SettingError::new(
        format!("'{word}' is no address, no setting and no file that exists"),
        place,
        REMEDY,
    ))
}

fn address(out: &mut Designated, text: &str, place: &str) -> Result<(), SettingError> {
    let text = if text.is_empty() { "127.0.0.1" } else { text };
    Endpoint::parse(text).map_err(|why| SettingError::new(why, place, REMEDY))?;
    let index = SETTINGS.iter().position(|s| s.key == "connect.address");
    let index = index.expect("the table has connect.address");
    out.values.push((index, text.into()));
    Ok(())
}
