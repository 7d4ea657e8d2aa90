//! Where connections are kept: places are used again, their numbers are not.

use crate::connection::Connection;

/// Bits of a number that say which place; above them stands how many connections that place has
/// had before.
const PLACE_BITS: u32 = 32;
/// A place that has had so many begins again; nobody holds a number for that long.
const GENERATIONS: usize = 1 << 30;

/// All connections, by number. A number that somebody still holds when its connection has ended
/// never means a later one.
#[derive(Default)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
    /// Places without a connection.
    free: Vec<usize>,
}

#[derive(Default)]
struct Slot {
    generation: usize,
    connection: Option<Box<Connection>>,
}

impl Slots {
    /// The number of the next connection that is put in.
    pub fn next(&self) -> usize {
        let place = self.free.last().copied().unwrap_or(self.slots.len());
        number(place, self.slots.get(place).map_or(0, |s| s.generation))
    }

    /// Puts a connection where [`Slots::next`] said.
    pub fn put(&mut self, connection: Connection) {
        let place = self.free.pop().unwrap_or(self.slots.len());
        if place == self.slots.len() {
            self.slots.push(Slot::default());
        }
        self.slots[place].connection = Some(Box::new(connection));
    }

    /// Takes a connection out; its place is free again.
    pub fn take(&mut self, n: usize) -> Option<Box<Connection>> {
        let place = place(n);
        let slot = self
            .slots
            .get_mut(place)
            .filter(|s| s.generation == generation(n))?;
        let taken = slot.connection.take()?;
        slot.generation = (slot.generation + 1) % GENERATIONS;
        self.free.push(place);
        Some(taken)
    }

    #[inline]
    pub fn get(&self, n: usize) -> Option<&Connection> {
        let slot = self.slots.get(place(n))?;
        slot.connection
            .as_deref()
            .filter(|_| slot.generation == generation(n))
    }

    #[inline]
    pub fn get_mut(&mut self, n: usize) -> Option<&mut Connection> {
        let slot = self.slots.get_mut(place(n))?;
        slot.connection
            .as_deref_mut()
            .filter(|_| slot.generation == generation(n))
    }

    /// Numbers of all connections.
    pub fn numbers(&self) -> impl Iterator<Item = usize> + '_ {
        let all = self.slots.iter().enumerate();
        all.filter(|(_, s)| s.connection.is_some())
            .map(|(place, s)| number(place, s.generation))
    }

    /// All connections.
    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Connection> {
        self.slots
            .iter_mut()
            .filter_map(|s| s.connection.as_deref_mut())
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.free.len() == self.slots.len()
    }

    /// Places, with or without a connection.
    pub fn places(&self) -> usize {
        self.slots.len()
    }
}

fn number(place: usize, generation: usize) -> usize {
    generation << PLACE_BITS | place
}

#[inline]
fn place(n: usize) -> usize {
    n & ((1 << PLACE_BITS) - 1)
}

#[inline]
fn generation(n: usize) -> usize {
    n >> PLACE_BITS
}
