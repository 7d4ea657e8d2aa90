//! Memory and doorbells of the model checker, under the names of `src/map.rs`. Whoever loads a word
//! may see what it was before, as far as the memory model lets it.

use crate::layout::{LENGTH, RECORD_HEAD};
use crate::writer::Fill;
use loom::sync::atomic::{AtomicU64, Ordering, fence};
use loom::sync::{Condvar, Mutex};
use std::borrow::Cow;
use std::io;
use std::sync::Arc;

pub type Handle<'a> = Cow<'a, Given>;

#[derive(Clone)]
pub enum Given {
    Memory(Arc<Memory>),
    Bell(Arc<Doorbell>),
}

pub struct Memory {
    head: Vec<AtomicU64>,
    records: Vec<AtomicU64>,
}

impl Memory {
    fn new(records: usize) -> Memory {
        let zeros = |count| (0..count).map(|_| AtomicU64::new(0)).collect();
        Memory {
            head: zeros(LINES * WORDS),
            records: zeros(records / 8),
        }
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset % 64 < WORDS * 8, "a word that is used");
        &self.head[offset / 64 * WORDS + offset % 64 / 8]
    }

    fn record(&self, position: u64) -> &AtomicU64 {
        assert!(position.is_multiple_of(8));
        &self.records[position as usize / 8 % self.records.len()]
    }
}

/// Of each line the words that are used, and all lines of a head.
const WORDS: usize = 5;
const LINES: usize = 5;

pub(crate) struct Own(Arc<Memory>);

impl Own {
    pub(crate) fn new(_: u64, records: usize) -> io::Result<Own> {
        Ok(Own(Arc::new(Memory::new(records))))
    }

    pub(crate) fn descriptor(&self) -> Handle<'_> {
        Cow::Owned(Given::Memory(self.0.clone()))
    }

    pub(crate) fn set(&self, offset: usize, value: u64) {
        self.0.word(offset).store(value, Ordering::Relaxed);
    }

    pub(crate) fn release(&self, offset: usize, value: u64) {
        self.0.word(offset).store(value, Ordering::Release);
    }

    pub(crate) fn fill(
        &mut self,
        position: u64,
        head: [u64; 3],
        before: usize,
        length: usize,
        fill: impl Fill,
    ) {
        let mut bytes = [0; 8];
        if before > 0 {
            self.show(position + 24, before, &mut |there: &[u8]| {
                bytes[..before].copy_from_slice(there);
            });
        }
        fill.fill(&mut bytes[before..before + length]);
        let words = head.into_iter().chain([u64::from_ne_bytes(bytes)]);
        for (word, n) in words.zip(0..) {
            let to = self.0.record(position + n * 8);
            to.store(word, Ordering::Relaxed);
        }
    }

    pub(crate) fn head(&self, position: u64) -> u64 {
        self.0.record(position).load(Ordering::Relaxed)
    }

    pub(crate) fn show(&self, position: u64, length: usize, to: &mut impl FnMut(&[u8])) {
        to(&self.head(position).to_ne_bytes()[..length]);
    }
}

pub(crate) struct Theirs(Arc<Memory>);

impl Theirs {
    pub(crate) fn new(given: Given, _: u64, _: [usize; 2]) -> io::Result<Theirs> {
        let Given::Memory(memory) = given else {
            panic!("memory");
        };
        Ok(Theirs(memory))
    }

    pub(crate) fn size(&self) -> u64 {
        self.0.records.len() as u64 * 8
    }

    pub(crate) fn load(&self, offset: usize) -> u64 {
        self.0.word(offset).load(Ordering::Relaxed)
    }

    pub(crate) fn acquire(&self, offset: usize) -> u64 {
        let value = self.load(offset);
        fence(Ordering::Acquire);
        value
    }

    pub(crate) fn records(&self, position: u64, bytes: u64) -> Records<'_> {
        Records {
            memory: &self.0,
            position,
            bytes,
        }
    }
}

pub(crate) struct Records<'a> {
    memory: &'a Memory,
    position: u64,
    bytes: u64,
}

impl Records<'_> {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    fn word(&self, offset: u64) -> u64 {
        let word = self.memory.record(self.position + offset);
        word.load(Ordering::Relaxed)
    }

    pub(crate) fn head(&self, offset: u64, seats: usize) -> Option<[u64; 2]> {
        let word = |n: usize| self.word(offset + n as u64 * 8);
        (offset < self.bytes).then(|| [word(0), word(seats)])
    }

    pub(crate) fn append(&self, offset: u64, length: usize, to: &mut Vec<u8>) {
        to.extend_from_slice(&self.word(offset).to_ne_bytes()[..length]);
    }
}

pub(crate) fn fence_all() {
    fence(Ordering::SeqCst);
}

pub(crate) fn cpu() -> u64 {
    0
}

pub struct Doorbell {
    rung: Mutex<bool>,
    news: Condvar,
}

pub(crate) struct Bell(Arc<Doorbell>);

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        Ok(Bell(Arc::new(Doorbell {
            rung: Mutex::new(false),
            news: Condvar::new(),
        })))
    }

    pub(crate) fn of(given: Given) -> io::Result<Bell> {
        let Given::Bell(bell) = given else {
            panic!("a doorbell");
        };
        Ok(Bell(bell))
    }

    pub(crate) fn descriptor(&self) -> Handle<'_> {
        Cow::Owned(Given::Bell(self.0.clone()))
    }

    pub(crate) fn ring(&self) {
        *self.0.rung.lock().unwrap() = true;
        self.0.news.notify_one();
    }

    pub(crate) fn heard(&self) {
        *self.0.rung.lock().unwrap() = false;
    }
}

impl Doorbell {
    /// Waits for the doorbell, as a process does by `poll`.
    pub(crate) fn wait(&self) {
        let mut rung = self.rung.lock().unwrap();
        while !*rung {
            rung = self.news.wait(rung).unwrap();
        }
    }
}

const _: () = assert!(RECORD_HEAD == 24 && LENGTH > 8);
