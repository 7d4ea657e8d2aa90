//! What goes to several: entries of the log on the streams of all whom they concern, and the texts of
//! FOM modules for all who join.

use crate::frame::{FROM_EXECUTIVE, put_from_executive};
use crate::messages::federation::put_module_head;
use crate::messages::{JOINED, put_snapshot_head, put_snapshot_tail};
use starling_core::message::{Entry, FromExecutive, Snapshot};
use std::sync::Arc;

/// Encodes an entry once, however many get it one after another.
#[derive(Default)]
pub struct EntryFrames {
    last: Option<(Arc<Entry>, Arc<[u8]>)>,
    encoded: u64,
}

impl EntryFrames {
    /// The frame of an entry.
    pub fn frame(&mut self, entry: &Arc<Entry>) -> Arc<[u8]> {
        if let Some((last, frame)) = &self.last
            && Arc::ptr_eq(last, entry)
        {
            return Arc::clone(frame);
        }
        let mut bytes = Vec::new();
        put_from_executive(&mut bytes, &FromExecutive::Entry(Arc::clone(entry)));
        let frame: Arc<[u8]> = bytes.into();
        self.encoded += 1;
        self.last = Some((Arc::clone(entry), Arc::clone(&frame)));
        frame
    }

    /// How many it has encoded.
    pub fn encoded(&self) -> u64 {
        self.encoded
    }
}

/// A part of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Of this frame only.
    Own(Vec<u8>),
    /// Of other frames, too.
    Shared(Arc<[u8]>),
}

/// The frame of `FromExecutive::Joined` with this snapshot, in pieces: the texts of its modules are
/// not copied, so that a join costs no more where they are large.
pub fn joined_frame(snapshot: &Snapshot) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(2 * snapshot.modules.len() + 1);
    // Its length is filled in below.
    let mut own = vec![0, 0, 0, 0, FROM_EXECUTIVE, JOINED];
    put_snapshot_head(snapshot, &mut own);
    for module in &snapshot.modules {
        put_module_head(module, &mut own);
        pieces.push(Piece::Own(std::mem::take(&mut own)));
        pieces.push(Piece::Shared(Arc::clone(&module.text)));
    }
    put_snapshot_tail(snapshot, &mut own);
    pieces.push(Piece::Own(own));
    let length = pieces.iter().map(|piece| match piece {
        Piece::Own(bytes) => bytes.len(),
        Piece::Shared(bytes) => bytes.len(),
    });
    let length = u32::try_from(length.sum::<usize>() - 4).unwrap_or(u32::MAX);
    if let Some(Piece::Own(first)) = pieces.first_mut() {
        first[..4].copy_from_slice(&length.to_le_bytes());
    }
    pieces
}
