//! Saved federation executions, room by room as in `starling_core::saved`: the same bytes on a
//! stream and in a file. What changes here changes what older saves mean: they name the version of
//! Starling, and only that one reads them.

mod ddm;
mod declaration;
mod delivery;
mod federation;
mod log;
mod mom;
mod object;
mod ownership;
mod time;

use crate::codec::{Reader, Wire, WireError};
use starling_core::message::Restored;
use starling_core::saved::{Execution, Federate};
use starling_core::{LogicalTime, SavedFederation};

fields! {
    SavedFederation { federation, label, time, execution, federates }
    Execution { federation, declaration, object, ownership, ddm, time, mom, services, log }
    Federate { federation, declaration, object, ownership, ddm, time, mom, log, delivery }
    Restored { snapshot, part }
    Description { version, federation, label, time, federates }
}

/// What a save says of itself, for whoever looks through saves.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// The version of Starling that wrote it.
    pub version: String,
    /// The federation execution's name.
    pub federation: String,
    /// The label.
    pub label: String,
    /// The logical time of the save, if it was asked for at one.
    pub time: Option<LogicalTime>,
    /// Name and type of its federates.
    pub federates: Vec<(String, String)>,
}

impl Description {
    /// Of a save that this version writes.
    pub fn of(saved: &SavedFederation) -> Self {
        let members = saved.execution.federation.members.values();
        Description {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            federation: saved.federation.clone(),
            label: saved.label.clone(),
            time: saved.time,
            federates: members.map(|m| (m.name.clone(), m.kind.clone())).collect(),
        }
    }
}

/// Appends a save.
pub fn put_save(out: &mut Vec<u8>, saved: &SavedFederation) {
    saved.put(out);
}

/// Appends what a save says of itself.
pub fn put_description(out: &mut Vec<u8>, description: &Description) {
    description.put(out);
}

/// A save from all of its bytes.
pub fn decode_save(bytes: &[u8]) -> Result<SavedFederation, WireError> {
    whole(bytes)
}

/// What a save says of itself, from all of its bytes.
pub fn decode_description(bytes: &[u8]) -> Result<Description, WireError> {
    whole(bytes)
}

fn whole<T: Wire>(bytes: &[u8]) -> Result<T, WireError> {
    let mut from = Reader::new(bytes);
    let value = T::get(&mut from)?;
    from.end()?;
    Ok(value)
}
