//! Where memory can't be shared as this crate needs it: nothing can be made, and the error says so.

use crate::writer::Fill;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// A descriptor that is lent, to hand over a duplicate of it.
pub type Handle<'a> = BorrowedFd<'a>;
/// A descriptor that a peer has handed over.
pub type Given = OwnedFd;

fn absent<T>() -> io::Result<T> {
    let what = "this system has no memory that can be sealed, which sharing it needs";
    Err(io::Error::new(io::ErrorKind::Unsupported, what))
}

/// There is none.
pub(crate) enum Own {}

impl Own {
    pub(crate) fn new(_: u64, _: usize) -> io::Result<Own> {
        absent()
    }

    pub(crate) fn descriptor(&self) -> Handle<'_> {
        match *self {}
    }

    pub(crate) fn set(&self, _: usize, _: u64) {
        match *self {}
    }

    pub(crate) fn release(&self, _: usize, _: u64) {
        match *self {}
    }

    pub(crate) fn fill(&mut self, _: u64, _: [u64; 3], _: usize, _: usize, _: impl Fill) {
        match *self {}
    }

    pub(crate) fn head(&self, _: u64) -> u64 {
        match *self {}
    }

    pub(crate) fn show(&self, _: u64, _: usize, _: &mut impl FnMut(&[u8])) {
        match *self {}
    }
}

/// There is none.
pub(crate) enum Theirs {}

impl Theirs {
    pub(crate) fn new(_: Given, _: u64, _: [usize; 2]) -> io::Result<Theirs> {
        absent()
    }

    pub(crate) fn size(&self) -> u64 {
        match *self {}
    }

    pub(crate) fn load(&self, _: usize) -> u64 {
        match *self {}
    }

    pub(crate) fn acquire(&self, _: usize) -> u64 {
        match *self {}
    }

    pub(crate) fn records(&self, _: u64, _: u64) -> Records<'_> {
        match *self {}
    }
}

/// There are none.
pub(crate) struct Records<'a>(&'a Theirs);

impl Records<'_> {
    pub(crate) fn bytes(&self) -> u64 {
        match *self.0 {}
    }

    pub(crate) fn head(&self, _: u64, _: usize) -> Option<[u64; 2]> {
        match *self.0 {}
    }

    pub(crate) fn append(&self, _: u64, _: usize, _: &mut Vec<u8>) {
        match *self.0 {}
    }
}

/// What a thread has done with doorbells: nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DoorbellCalls {
    /// Others' that were rung.
    pub rung: u64,
    /// Its own that were silenced.
    pub answered: u64,
}

/// Those of the calling thread so far.
pub fn doorbell_calls() -> DoorbellCalls {
    DoorbellCalls::default()
}

pub(crate) fn fence_all() {}

pub(crate) fn cpu() -> u64 {
    0
}

/// There is none.
pub(crate) enum Bell {}

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        absent()
    }

    pub(crate) fn of(_: Given) -> io::Result<Bell> {
        absent()
    }

    pub(crate) fn descriptor(&self) -> Handle<'_> {
        match *self {}
    }

    pub(crate) fn ring(&self) {
        match *self {}
    }

    pub(crate) fn heard(&self) {
        match *self {}
    }
}
