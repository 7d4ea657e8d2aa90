//! Memory under the names of `crates/starling-ring/src/map.rs`, of which some is changed on its way to
//! whoever reads it.

use crate::layout::RECORD_HEAD;
use crate::writer::Fill;
use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;

pub type Handle<'a> = Cow<'a, Given>;

#[derive(Clone)]
pub enum Given {
    /// As the input changes it; as it is if nothing is left of that.
    Memory(Rc<Memory>, Rc<Input>),
    Bell,
}

/// What is left of the input.
pub struct Input(RefCell<Vec<u8>>);

impl Input {
    pub fn new(bytes: &[u8]) -> Rc<Input> {
        let reversed = bytes.iter().rev().copied().collect();
        Rc::new(Input(RefCell::new(reversed)))
    }

    pub fn next(&self) -> Option<u8> {
        self.0.borrow_mut().pop()
    }

    /// Mostly what is there.
    fn change(&self, word: u64) -> u64 {
        match self.next() {
            None | Some(0..200) => word,
            Some(by @ 200..240) => {
                word.wrapping_add(u64::from(by).wrapping_sub(220).wrapping_mul(8))
            }
            Some(by @ 240..250) => word ^ 1 << ((by - 240) * 7),
            Some(250..) => {
                (0..8).fold(0, |word, _| word << 8 | u64::from(self.next().unwrap_or(0)))
            }
        }
    }
}

pub struct Memory {
    head: RefCell<Vec<u64>>,
    records: RefCell<Vec<u8>>,
}

impl Memory {
    /// Of the records, as if they stood twice in a row.
    fn copy(&self, position: u64, length: usize) -> Vec<u8> {
        let records = self.records.borrow();
        assert!(length <= records.len(), "no more than the ring");
        let at = |n| records[(position as usize).wrapping_add(n) % records.len()];
        (0..length).map(at).collect()
    }

    fn word(&self, position: u64) -> u64 {
        u64::from_ne_bytes(self.copy(position, 8).try_into().unwrap())
    }
}

/// Of the head what is used.
const WORDS: usize = 8 * 140;

pub(crate) struct Own(Rc<Memory>);

impl Own {
    pub(crate) fn new(_: u64, records: usize) -> io::Result<Own> {
        Ok(Own(Rc::new(Memory {
            head: vec![0; WORDS].into(),
            records: vec![0; records].into(),
        })))
    }

    pub(crate) fn descriptor(&self) -> Handle<'_> {
        Cow::Owned(Given::Memory(self.0.clone(), Input::new(&[])))
    }

    pub(crate) fn set(&self, offset: usize, value: u64) {
        self.0.head.borrow_mut()[offset / 8] = value;
    }

    pub(crate) fn release(&self, offset: usize, value: u64) {
        self.set(offset, value);
    }

    pub(crate) fn fill(
        &mut self,
        position: u64,
        head: [u64; 3],
        before: usize,
        length: usize,
        fill: impl Fill,
    ) {
        let mut record = Vec::from_iter(head.into_iter().flat_map(u64::to_ne_bytes));
        record.extend(self.0.copy(position + 24, before));
        record.resize(24 + before + length, 0);
        fill.fill(&mut record[24 + before..]);
        let mut records = self.0.records.borrow_mut();
        let size = records.len();
        for (n, byte) in record.into_iter().enumerate() {
            records[(position as usize + n) % size] = byte;
        }
    }

    pub(crate) fn head(&self, position: u64) -> u64 {
        self.0.word(position)
    }

    pub(crate) fn show(&self, position: u64, length: usize, to: &mut impl FnMut(&[u8])) {
        to(&self.0.copy(position, length));
    }
}

pub(crate) struct Theirs {
    memory: Rc<Memory>,
    input: Rc<Input>,
}

impl Theirs {
    pub(crate) fn new(given: Given, _: u64, _: [usize; 2]) -> io::Result<Theirs> {
        let Given::Memory(memory, input) = given else {
            panic!("memory");
        };
        Ok(Theirs { memory, input })
    }

    pub(crate) fn size(&self) -> u64 {
        self.memory.records.borrow().len() as u64
    }

    pub(crate) fn load(&self, offset: usize) -> u64 {
        self.input.change(self.memory.head.borrow()[offset / 8])
    }

    pub(crate) fn acquire(&self, offset: usize) -> u64 {
        self.load(offset)
    }

    pub(crate) fn records(&self, position: u64, bytes: u64) -> Records<'_> {
        assert!((position | bytes).is_multiple_of(8) && bytes <= self.size());
        Records {
            of: self,
            position,
            bytes,
        }
    }
}

pub(crate) struct Records<'a> {
    of: &'a Theirs,
    position: u64,
    bytes: u64,
}

impl Records<'_> {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    pub(crate) fn head(&self, offset: u64, seats: usize) -> Option<[u64; 2]> {
        let Theirs { memory, input } = self.of;
        let word = |n: u64| input.change(memory.word(self.position.wrapping_add(offset + n * 8)));
        (offset + RECORD_HEAD <= self.bytes).then(|| [word(0), word(seats as u64)])
    }

    pub(crate) fn append(&self, offset: u64, length: usize, to: &mut Vec<u8>) {
        assert!(offset + length as u64 <= self.bytes, "within the records");
        let position = self.position.wrapping_add(offset);
        to.extend(self.of.memory.copy(position, length));
    }
}

pub(crate) fn fence_all() {}

pub(crate) fn cpu() -> u64 {
    0
}

pub(crate) struct Bell(Cell<()>);

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        Ok(Bell(Cell::new(())))
    }

    pub(crate) fn of(_: Given) -> io::Result<Bell> {
        Bell::new()
    }

    pub(crate) fn descriptor(&self) -> Handle<'_> {
        Cow::Owned(Given::Bell)
    }

    pub(crate) fn ring(&self) {}

    pub(crate) fn heard(&self) {}
}
