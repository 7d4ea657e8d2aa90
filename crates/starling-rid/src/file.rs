//! `starling.toml`.

use crate::designator::unknown;
use crate::error::SettingError;
use crate::table::SETTINGS;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value of a file: index into SETTINGS, text, line.
pub(crate) type FileValue = (usize, String, usize);

/// Reads a settings file: tables and keys as in the table of settings.
pub(crate) fn parse(text: &str, name: &str) -> Result<Vec<FileValue>, SettingError> {
    parse_below(text, name, "")
}

/// The same of those keys that begin so, without that.
pub(crate) fn parse_below(
    text: &str,
    name: &str,
    prefix: &str,
) -> Result<Vec<FileValue>, SettingError> {
    let line_of = |at: usize| 1 + text[..at.min(text.len())].matches('\n').count();
    let table = DeTable::parse(text).map_err(|error| {
        let line = error.span().map_or(1, |s| line_of(s.start));
        SettingError::new(
            format!("not TOML: {}", error.message()),
            format!("{name}:{line}"),
            "write lines such as  address = \"host:port\"  below [connect]",
        )
    })?;
    let mut out = Vec::new();
    walk(table.get_ref(), "", &mut |key, value| {
        let Some(key) = key.strip_prefix(prefix) else {
            return Ok(());
        };
        let place = format!("{name}:{}", line_of(value.span().start));
        let Some(index) = SETTINGS.iter().position(|s| s.key == key) else {
            return Err(unknown(key, &place));
        };
        let line = line_of(value.span().start);
        match scalar(value.get_ref()) {
            Some(text) => out.push((index, text, line)),
            None => {
                return Err(SettingError::new(
                    format!("{key}: a {} can't be its value", value.get_ref().type_str()),
                    place,
                    format!("give {}", SETTINGS[index].kind),
                ));
            }
        }
        Ok(())
    })?;
    Ok(out)
}

fn walk<'a, F>(table: &DeTable<'a>, prefix: &str, visit: &mut F) -> Result<(), SettingError>
where
    F: FnMut(&str, &Spanned<DeValue<'a>>) -> Result<(), SettingError>,
{
    for (key, value) in table {
        let key = format!("{prefix}{}", key.get_ref());
        match value.get_ref() {
            DeValue::Table(inner) => walk(inner, &format!("{key}."), visit)?,
            _ => visit(&key, value)?,
        }
    }
    Ok(())
}

/// The text of a value; an array becomes a list separated by spaces.
fn scalar(value: &DeValue<'_>) -> Option<String> {
    match value {
        DeValue::String(s) => Some(s.to_string()),
        DeValue::Integer(i) if i.radix() == 10 => Some(i.as_str().to_owned()),
        DeValue::Float(x) => Some(x.as_str().to_owned()),
        DeValue::Boolean(b) => Some(b.to_string()),
        DeValue::Array(items) => {
            let items: Option<Vec<_>> = items.iter().map(|i| scalar(i.get_ref())).collect();
            Some(items?.join(" "))
        }
        _ => None,
    }
}
