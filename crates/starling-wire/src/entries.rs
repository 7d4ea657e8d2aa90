//! What goes to several: entries of the log on the streams of all whom they concern; the texts of FOM
//! modules and the subscriptions for all who join.

use crate::codec::Wire;
use crate::frame::{FROM_EXECUTIVE, put_from_executive};
use crate::messages::federation::put_module_head;
use crate::messages::{JOINED, RESTORED, put_snapshot_head};
use starling_core::message::{Entry, FromExecutive, LogIndex, Restored, Snapshot, declaration};
use std::sync::{Arc, Weak};

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

/// Who subscribes to what, as of the log.
type Declarations = declaration::Snapshot<LogIndex>;

/// The frames with which a federate begins, after a join or a restore. What a federation execution is
/// like for all who begin in it is not encoded or copied for each: the texts of modules are the
/// executive's own, and the subscriptions are encoded once until they change.
#[derive(Default)]
pub struct BeginFrames {
    declarations: Option<(Weak<Declarations>, Arc<[u8]>)>,
    encoded: u64,
}

impl BeginFrames {
    /// The frame of `FromExecutive::Joined`.
    pub fn joined(&mut self, snapshot: &Snapshot) -> Vec<Piece> {
        self.frame(JOINED, snapshot, |_| {})
    }

    /// The frame of `FromExecutive::Restored`.
    pub fn restored(&mut self, restored: &Restored) -> Vec<Piece> {
        self.frame(RESTORED, &restored.snapshot, |out| restored.part.put(out))
    }

    /// How often it has encoded subscriptions.
    pub fn encoded(&self) -> u64 {
        self.encoded
    }

    fn frame(
        &mut self,
        choice: u8,
        snapshot: &Snapshot,
        rest: impl FnOnce(&mut Vec<u8>),
    ) -> Vec<Piece> {
        let mut pieces = Vec::with_capacity(2 * snapshot.modules.len() + 3);
        // Its length is filled in below.
        let mut own = vec![0, 0, 0, 0, FROM_EXECUTIVE, choice];
        put_snapshot_head(snapshot, &mut own);
        for module in &snapshot.modules {
            put_module_head(module, &mut own);
            pieces.push(Piece::Own(std::mem::take(&mut own)));
            pieces.push(Piece::Shared(Arc::clone(&module.text)));
        }
        snapshot.federates.put(&mut own);
        pieces.push(Piece::Own(own));
        pieces.push(Piece::Shared(self.declarations(&snapshot.declarations)));
        let mut own = Vec::new();
        rest(&mut own);
        if !own.is_empty() {
            pieces.push(Piece::Own(own));
        }
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

    fn declarations(&mut self, said: &Arc<Declarations>) -> Arc<[u8]> {
        // A weak reference keeps its place in memory from being used again.
        if let Some((last, bytes)) = &self.declarations
            && std::ptr::eq(last.as_ptr(), Arc::as_ptr(said))
        {
            return Arc::clone(bytes);
        }
        let mut bytes = Vec::new();
        said.put(&mut bytes);
        let bytes: Arc<[u8]> = bytes.into();
        self.encoded += 1;
        self.declarations = Some((Arc::downgrade(said), Arc::clone(&bytes)));
        bytes
    }
}
