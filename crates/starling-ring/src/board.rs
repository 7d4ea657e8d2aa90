//! What a reader says to those whose rings it reads.

use crate::layout::*;
use crate::map::{Bell, Given, Handle, Own, Theirs, fence_all};
use crate::reader::RingReader;
use crate::seats::Attachment;
use std::io;
use std::sync::Arc;

/// This process's board, which only it writes, and its doorbell. One serves all rings that it reads,
/// and the waiting for room in its own.
///
/// Not for several threads at a time; who sleeps must be who reads the rings, or wake who does.
pub struct Board {
    map: Arc<Own>,
    bell: Bell,
    sleep: u64,
}

impl Board {
    /// An error: the system gives no memory, or has none that can be sealed.
    pub fn new() -> io::Result<Board> {
        Ok(Board {
            map: Arc::new(Own::new(BOARD_MAGIC, 0)?),
            bell: Bell::new()?,
            sleep: 0,
        })
    }

    /// The memory, to hand over to those whose rings are read (`RingWriter::admit`).
    pub fn memory(&self) -> Handle<'_> {
        self.map.descriptor()
    }

    /// The doorbell, to wait for and to hand over. Readable when somebody has rung.
    pub fn doorbell(&self) -> Handle<'_> {
        self.bell.descriptor()
    }

    /// Maps a peer's ring to read it, and tells the peer so by this board. May be called before or
    /// after the peer has admitted this reader. `doorbell` is the peer's, to wake it by when it
    /// waits for room. At most one reader at a time has the entry of `attachment.writer`: the one
    /// before must be gone. A frame may have `frame_bytes_max` bytes; more breaks the ring.
    ///
    /// Errors: what was handed over is no ring that only its owner can change, or no doorbell.
    pub fn join(
        &self,
        attachment: Attachment,
        ring: Given,
        doorbell: Given,
        frame_bytes_max: usize,
    ) -> io::Result<RingReader> {
        let ring = Theirs::new(ring, RING_MAGIC, [RING_MIN, RING_MAX])?;
        let bell = Bell::of(doorbell)?;
        Ok(RingReader::new(
            self.map.clone(),
            ring,
            bell,
            attachment,
            frame_bytes_max,
        ))
    }

    /// To be called before waiting for the doorbell: from now on whoever publishes something for this
    /// process rings, once. Then every ring must be asked once more (`RingReader::has_news`): if one
    /// has news, or when the wait is over, `awake`.
    pub fn prepare_to_sleep(&mut self) {
        if self.sleep.is_multiple_of(2) {
            self.sleep += 1;
            self.map.set(SLEEP, self.sleep);
        }
        // Either the sender sees that this one sleeps, or this one sees what it has published.
        fence_all();
    }

    /// The end of a sleep: nobody needs to ring.
    pub fn awake(&mut self) {
        if !self.sleep.is_multiple_of(2) {
            self.sleep += 1;
            self.map.set(SLEEP, self.sleep);
        }
    }

    /// Silences the doorbell (a system call). To be called when it was found readable, before the
    /// rings are asked for news.
    pub fn answer(&self) {
        self.bell.heard();
    }
}
