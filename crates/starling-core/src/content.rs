//! Values with their tag, kept until they are delivered.
//!
//! What is to be delivered next stays where it came: all that was read together is one [`Batch`],
//! which goes when the last of it is delivered. What may wait for long is of a small batch or has a copy of
//! its own, so that a few bytes don't keep many.

use crate::Values;
use std::fmt;
use std::sync::Arc;

/// Data frames that have come together. What is kept of them keeps all of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Batch(Arc<Vec<u8>>);

impl Batch {
    /// What has a time stamp may wait for long, so that no more of it than this is put into one batch.
    pub const SMALL_BYTES: usize = 2 * 1024;

    /// Holds these bytes from now on, in the memory of those before if nothing of them is kept.
    pub fn refill(&mut self, bytes: &[u8]) {
        /// More at once is copied by `rep movsb`, which is no faster, and of which instruments count
        /// each byte as an instruction.
        const PIECE_BYTES: usize = 1024;
        if Arc::get_mut(&mut self.0).is_none() {
            self.0 = Arc::new(Vec::with_capacity(bytes.len()));
        }
        let mine = Arc::get_mut(&mut self.0).expect("nobody else has it");
        mine.clear();
        mine.reserve(bytes.len());
        for piece in bytes.chunks(PIECE_BYTES) {
            mine.extend_from_slice(piece);
        }
    }

    /// Holds from now on what `put` appends to nothing, in the memory of those before if nothing of
    /// them is kept.
    pub fn fill(&mut self, put: impl FnOnce(&mut Vec<u8>)) {
        if Arc::get_mut(&mut self.0).is_none() {
            self.0 = Arc::default();
        }
        let mine = Arc::get_mut(&mut self.0).expect("nobody else has it");
        mine.clear();
        put(mine);
    }

    /// The frames.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// Whether all that came together is so little that a message of it may wait for long.
    #[inline]
    pub(crate) fn is_small(&self) -> bool {
        self.0.len() <= Self::SMALL_BYTES
    }
}

/// Values and the tag that they came with.
#[derive(Clone)]
pub(crate) enum Content {
    /// The values, then the tag, from `tag` on.
    Own { bytes: Box<[u8]>, tag: u32 },
    /// As of a [`Piece`], whose fields are here lest it be larger.
    Shared {
        batch: Batch,
        tag: u32,
        values: u32,
        end: u32,
    },
}

/// Where in a batch a tag begins, and the values behind it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place {
    tag: u32,
    values: u32,
    end: u32,
}

/// A part of a batch: a tag, then values.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) batch: Batch,
    pub(crate) place: Place,
}

impl Place {
    /// Where these came, if they are of this batch, the values behind the tag.
    #[inline(always)]
    pub(crate) fn of(batch: &Batch, values: Values<'_>, tag: &[u8]) -> Option<Self> {
        let run = values.as_bytes();
        if tag.as_ptr_range().end != run.as_ptr() {
            return None;
        }
        let at = (tag.as_ptr() as usize).checked_sub(batch.0.as_ptr() as usize)?;
        let run_at = at + tag.len();
        let end = run_at + run.len();
        if end > batch.0.len() {
            return None;
        }
        // The others are less.
        let end = u32::try_from(end).ok()?;
        Some(Place {
            tag: at as u32,
            values: run_at as u32,
            end,
        })
    }

    /// How many bytes both take.
    #[inline]
    pub(crate) fn bytes(self) -> usize {
        (self.end - self.tag) as usize
    }
}

impl Piece {
    /// Both where they came, if they are of this batch, the values behind the tag.
    #[inline(always)]
    pub(crate) fn of(batch: &Batch, values: Values<'_>, tag: &[u8]) -> Option<Self> {
        Some(Piece::at(batch, Place::of(batch, values, tag)?))
    }

    /// What stands in this batch, there.
    #[inline(always)]
    pub(crate) fn at(batch: &Batch, place: Place) -> Self {
        let batch = batch.clone();
        Piece { batch, place }
    }

    /// Becomes that of this batch and place. A batch that it has already is not shared anew.
    #[inline(always)]
    pub(crate) fn refill(&mut self, batch: &Batch, place: Place) {
        if !Arc::ptr_eq(&self.batch.0, &batch.0) {
            self.batch = batch.clone();
        }
        self.place = place;
    }

    /// The values.
    #[inline(always)]
    pub(crate) fn values(&self) -> Values<'_> {
        let Place { values, end, .. } = self.place;
        Values::of_checked(&self.batch.bytes()[values as usize..end as usize])
    }

    /// The tag.
    #[inline(always)]
    pub(crate) fn tag(&self) -> &[u8] {
        &self.batch.bytes()[self.place.tag as usize..self.place.values as usize]
    }

    /// How many bytes both take.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        self.place.bytes()
    }
}

const _: () = assert!(size_of::<Content>() <= 24);

impl From<Piece> for Content {
    #[inline(always)]
    fn from(piece: Piece) -> Self {
        let Piece { batch, place } = piece;
        let Place { tag, values, end } = place;
        Content::Shared {
            batch,
            tag,
            values,
            end,
        }
    }
}

impl Content {
    /// A copy of both.
    #[inline]
    pub(crate) fn new(values: Values<'_>, tag: &[u8]) -> Self {
        let values = values.as_bytes();
        let mut bytes = Vec::with_capacity(values.len() + tag.len());
        bytes.extend_from_slice(values);
        bytes.extend_from_slice(tag);
        Content::Own {
            bytes: bytes.into_boxed_slice(),
            tag: u32::try_from(values.len()).expect("no frame is that long"),
        }
    }

    /// Both where they came, if they are of this batch, or a copy.
    #[inline]
    pub(crate) fn within(batch: &Batch, values: Values<'_>, tag: &[u8]) -> Self {
        let piece = Piece::of(batch, values, tag);
        piece.map_or_else(|| Content::new(values, tag), Content::from)
    }

    /// It may be kept for long: with a copy of its own.
    pub(crate) fn detach(&mut self) {
        if let Content::Shared { .. } = self {
            *self = Content::new(self.values(), self.tag());
        }
    }

    /// The values.
    #[inline]
    pub(crate) fn values(&self) -> Values<'_> {
        match self {
            Content::Own { bytes, tag } => Values::of_checked(&bytes[..*tag as usize]),
            Content::Shared {
                batch, values, end, ..
            } => Values::of_checked(&batch.bytes()[*values as usize..*end as usize]),
        }
    }

    /// The tag.
    #[inline]
    pub(crate) fn tag(&self) -> &[u8] {
        match self {
            Content::Own { bytes, tag } => &bytes[*tag as usize..],
            Content::Shared {
                batch, tag, values, ..
            } => &batch.bytes()[*tag as usize..*values as usize],
        }
    }

    /// How many bytes both take.
    #[inline]
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Content::Own { bytes, .. } => bytes.len(),
            Content::Shared { tag, end, .. } => (end - tag) as usize,
        }
    }
}

impl PartialEq for Content {
    fn eq(&self, other: &Self) -> bool {
        (self.values(), self.tag()) == (other.values(), other.tag())
    }
}

impl Eq for Content {}

impl fmt::Debug for Content {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, tag {:?}", self.values(), self.tag())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ValuesBuf;

    /// A tag of two bytes, then one value, with something before and behind.
    fn frame() -> (Batch, std::ops::Range<usize>, std::ops::Range<usize>) {
        let mut values = ValuesBuf::default();
        values.push(3, b"abc");
        let run = values.values().as_bytes().to_vec();
        let bytes = [b"before".as_slice(), b"tg", &run, b"behind"].concat();
        let mut batch = Batch::default();
        batch.refill(&bytes);
        (batch, 6..8, 8..8 + run.len())
    }

    fn content(batch: &Batch, tag: std::ops::Range<usize>, run: std::ops::Range<usize>) -> Content {
        let values = Values::parse(&batch.bytes()[run]).unwrap();
        Content::within(batch, values, &batch.bytes()[tag])
    }

    #[test]
    fn what_is_of_a_batch_stays_there_until_it_is_detached() {
        let (mut batch, tag, run) = frame();
        let mut kept = content(&batch, tag, run);
        let copy = Content::new(kept.values(), kept.tag());
        assert_eq!((&kept, kept.bytes(), kept.tag()), (&copy, 7, &b"tg"[..]));
        assert!(matches!(kept, Content::Shared { .. }));
        // Its batch does not change under it.
        let at = batch.bytes().as_ptr();
        batch.refill(b"others");
        assert_ne!(batch.bytes().as_ptr(), at);
        assert_eq!(kept, copy);
        kept.detach();
        assert!(matches!(kept, Content::Own { .. }));
        assert_eq!((&kept, kept.bytes()), (&copy, 7));
    }

    #[test]
    fn a_batch_of_which_nothing_is_kept_keeps_its_memory() {
        let (mut batch, tag, run) = frame();
        drop(content(&batch, tag, run));
        let at = batch.bytes().as_ptr();
        batch.refill(b"others");
        assert_eq!(
            (batch.bytes().as_ptr(), batch.bytes()),
            (at, &b"others"[..])
        );
    }

    #[test]
    fn what_is_not_of_a_batch_is_copied() {
        let (batch, tag, run) = frame();
        let (other, ..) = frame();
        let values = Values::parse(&batch.bytes()[run]).unwrap();
        let tag = &batch.bytes()[tag];
        for foreign in [
            (values, &other.bytes()[6..8]),
            (values, &batch.bytes()[..2]),
        ] {
            let kept = Content::within(&batch, foreign.0, foreign.1);
            assert!(matches!(kept, Content::Own { .. }), "{foreign:?}");
            assert_eq!((kept.values(), kept.tag()), foreign);
        }
        let kept = Content::within(&other, values, tag);
        assert!(matches!(kept, Content::Own { .. }));
        assert_eq!((kept.values(), kept.tag()), (values, tag));
    }
}
