//! Who is meant.

use crate::layout::SEATS;

/// A member's number among those that share memory, 0 to 127, unique in its federation execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seat(u8);

impl Seat {
    /// None: there is no such seat.
    pub fn new(number: u8) -> Option<Seat> {
        (usize::from(number) < SEATS).then_some(Seat(number))
    }

    /// Its number.
    pub fn number(self) -> u8 {
        self.0
    }

    pub(crate) fn index(self) -> usize {
        self.0.into()
    }
}

/// A set of seats.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seats(u128);

impl Seats {
    /// None.
    pub const NONE: Seats = Seats(0);

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// Whether it is one of them.
    pub fn contains(self, seat: Seat) -> bool {
        self.0 >> seat.0 & 1 == 1
    }

    /// Adds it.
    pub fn insert(&mut self, seat: Seat) {
        self.0 |= 1 << seat.0;
    }

    /// Takes it out.
    pub fn remove(&mut self, seat: Seat) {
        self.0 &= !(1 << seat.0);
    }

    /// Those of either.
    pub fn or(self, other: Seats) -> Seats {
        Seats(self.0 | other.0)
    }

    /// Those of both.
    pub fn and(self, other: Seats) -> Seats {
        Seats(self.0 & other.0)
    }

    /// How many.
    pub fn len(self) -> usize {
        self.0.count_ones() as usize
    }

    /// In ascending order.
    pub fn iter(self) -> impl Iterator<Item = Seat> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let next = (left != 0).then(|| Seat(left.trailing_zeros() as u8))?;
            left &= left - 1;
            Some(next)
        })
    }

    /// As a record says it.
    pub(crate) fn words(self) -> [u64; 2] {
        [self.0 as u64, (self.0 >> 64) as u64]
    }
}

impl From<Seat> for Seats {
    fn from(seat: Seat) -> Seats {
        Seats(1 << seat.0)
    }
}

impl FromIterator<Seat> for Seats {
    fn from_iter<T: IntoIterator<Item = Seat>>(seats: T) -> Seats {
        let mut all = Seats::NONE;
        seats.into_iter().for_each(|seat| all.insert(seat));
        all
    }
}

/// One reader on one writer's ring. Both ends must have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The seat of who writes.
    pub writer: Seat,
    /// The seat of who reads.
    pub reader: Seat,
    /// Never 0, and never the same twice with this writer's seat or this reader's: by it they know
    /// each other's words from those of who had the seat before, and from those of the time before
    /// the reader was detached.
    pub mark: u64,
}
