//! Memory and doorbells of Linux, and all `unsafe` code of this crate.
//!
//! A ring's records stand twice in a row in the address space, so that each is contiguous. Positions
//! count bytes since the ring was made; what stands at one is found by its remainder.

use crate::layout::{HEAD, MAGIC, RECORD_HEAD, SIZE};
use crate::writer::Fill;
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::{FileType, MemfdFlags, OFlags, SealFlags};
use rustix::mm::{MapFlags, ProtFlags, mmap, mmap_anonymous, munmap};
use std::cell::Cell;
use std::ffi::c_void;
use std::io;
use std::marker::PhantomData;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering, fence};

/// A descriptor that is lent, to hand over a duplicate of it.
pub type Handle<'a> = BorrowedFd<'a>;
/// A descriptor that a peer has handed over.
pub type Given = OwnedFd;

/// A mapping of a head and, twice in a row, of the records behind it.
struct Mapping {
    at: *mut u8,
    /// Bytes of records, a power of two, or 0.
    records: usize,
}

// SAFETY: the memory belongs to the mapping, not to a thread; how it is accessed is for `Own` and
// `Theirs` to say.
unsafe impl Send for Mapping {}
// SAFETY: as above; by `&Mapping` nothing is accessed.
unsafe impl Sync for Mapping {}

impl Mapping {
    fn new(file: &OwnedFd, records: usize, may: ProtFlags) -> io::Result<Mapping> {
        let (anywhere, no_access) = (ptr::null_mut(), ProtFlags::empty());
        let reserve = MapFlags::PRIVATE | MapFlags::NORESERVE;
        // SAFETY: the kernel chooses the place, so nothing that is there is replaced.
        let at = unsafe { mmap_anonymous(anywhere, HEAD + 2 * records, no_access, reserve)? };
        let mapping = Mapping {
            at: at.cast(),
            records,
        };
        let map = |to: usize, bytes: usize, from: usize| {
            let flags = MapFlags::SHARED | MapFlags::FIXED;
            let to = mapping.at.wrapping_add(to).cast();
            // SAFETY: the place is within what was just reserved for this mapping alone.
            unsafe { mmap(to, bytes, may, flags, file, from as u64) }
        };
        map(0, HEAD + records, 0)?;
        if records > 0 {
            map(HEAD + records, records, HEAD)?;
        }
        Ok(mapping)
    }

    /// A word of the head.
    #[inline]
    fn word(&self, offset: usize) -> *mut u64 {
        assert!(
            offset < HEAD && offset.is_multiple_of(8),
            "a word of the head"
        );
        self.at.wrapping_add(offset).cast()
    }

    /// Where `length` bytes from this position on stand.
    #[inline]
    fn records(&self, position: u64, length: usize) -> *mut u8 {
        assert!(length <= self.records, "no more than the ring");
        let offset = position as usize & (self.records - 1);
        self.at.wrapping_add(HEAD + offset)
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        let bytes = HEAD + 2 * self.records;
        // SAFETY: what was reserved for this mapping; nobody who could use it is left.
        let unmapped = unsafe { munmap(self.at.cast::<c_void>(), bytes) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}

/// Memory that this process alone writes: all others may map it to read only.
pub(crate) struct Own {
    mapping: Mapping,
    file: OwnedFd,
}

impl Own {
    /// All zero but its first two words.
    pub(crate) fn new(magic: u64, records: usize) -> io::Result<Own> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        // Some systems demand it, and those before Linux 6.3 don't know it.
        let file = rustix::fs::memfd_create(NAME, flags | MemfdFlags::NOEXEC_SEAL)
            .or_else(|_| rustix::fs::memfd_create(NAME, flags))?;
        let file = beyond_standard(file)?;
        let bytes = (HEAD + records) as u64;
        // Beyond the limit the system refuses, and ends the process that asked (SIGXFSZ).
        let most = rustix::process::getrlimit(rustix::process::Resource::Fsize).current;
        if most.is_some_and(|most| bytes > most) {
            let why = format!("files may not be as large as {bytes} bytes (ulimit -f)");
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
        }
        rustix::fs::ftruncate(&file, bytes)?;
        let mapping = Mapping::new(&file, records, ProtFlags::READ | ProtFlags::WRITE)?;
        // From here on no mapping, nor descriptor, but this mapping writes; and a reader's pages
        // can't be cut off.
        rustix::fs::fcntl_add_seals(&file, SEALS)?;
        let own = Own { mapping, file };
        own.set(SIZE, records as u64);
        own.set(MAGIC, magic);
        Ok(own)
    }

    /// To hand over. What its receiver may do with it is read.
    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    fn word(&self, offset: usize) -> &AtomicU64 {
        // SAFETY: mapped for as long as `self` lives, aligned, and accessed by atomics only.
        unsafe { AtomicU64::from_ptr(self.mapping.word(offset)) }
    }

    pub(crate) fn set(&self, offset: usize, value: u64) {
        self.word(offset).store(value, Ordering::Relaxed);
    }

    /// Whoever loads and acquires it sees all that was written before.
    pub(crate) fn release(&self, offset: usize, value: u64) {
        self.word(offset).store(value, Ordering::Release);
    }

    /// Writes a record's head, and lets `fill` write so many of its bytes, which stand behind `before` others.
    #[inline(always)]
    pub(crate) fn fill(
        &mut self,
        position: u64,
        head: [u64; 3],
        before: usize,
        length: usize,
        fill: impl Fill,
    ) {
        let begin = RECORD_HEAD as usize + before;
        let at = self.mapping.records(position, begin + length);
        // SAFETY: so many bytes are mapped there, aligned for words since records are. Peers only
        // read it, and no copy of theirs that meets this write is used, which the claims of
        // `writer` and `reader` see to; one that is a federate of this process, too, reads by a mapping of its own
        // (`Theirs`), which makes no reference to it. By this mapping only `&mut self` writes and only `&self`
        // reads it, so the slice is unshared; what is there is initialised, as all mapped memory is.
        let record = unsafe {
            at.cast::<[u64; 3]>().write(head);
            std::slice::from_raw_parts_mut(at.add(begin), length)
        };
        fill.fill(record);
    }

    /// A word of a record's head.
    pub(crate) fn head(&self, position: u64) -> u64 {
        // SAFETY: 8 bytes are mapped there, aligned since records are; see `fill`.
        unsafe { self.mapping.records(position, 8).cast::<u64>().read() }
    }

    /// Shows a record's bytes.
    pub(crate) fn show(&self, position: u64, length: usize, to: &mut impl FnMut(&[u8])) {
        let at = self.mapping.records(position, length);
        // SAFETY: so many bytes are mapped there, and nobody writes them while `self` is borrowed.
        to(unsafe { std::slice::from_raw_parts(at, length) });
    }
}

/// As `/proc/PID/maps` shows the memory.
const NAME: &str = "starling";
const SEALS: SealFlags = SealFlags::SHRINK
    .union(SealFlags::GROW)
    .union(SealFlags::FUTURE_WRITE)
    .union(SealFlags::SEAL);

/// Memory that a peer writes at any time, whatever it likes.
pub(crate) struct Theirs(Mapping);

impl Theirs {
    /// Of a ring with records of a size between these, a power of two; of a board 0 and 0.
    pub(crate) fn new(file: OwnedFd, magic: u64, records: [usize; 2]) -> io::Result<Theirs> {
        let seals = rustix::fs::fcntl_get_seals(&file)
            .map_err(|e| invalid(format!("no memory that can be sealed: {e}")))?;
        if !seals.contains(SEALS) {
            return Err(invalid(format!("its seals are {seals:?}, not {SEALS:?}")));
        }
        // Of memory in huge pages, none may be left when it is first touched, which is a SIGBUS.
        let system = rustix::fs::fstatfs(&file)?.f_type as i64;
        if system != TMPFS {
            return Err(invalid(format!("memory of the file system {system:#x}")));
        }
        let size = rustix::fs::fstat(&file)?.st_size as usize;
        let found = size.wrapping_sub(HEAD);
        let fits = found == 0 || found.is_power_of_two();
        if !fits || found < records[0] || found > records[1] {
            return Err(invalid(format!("memory of {size} bytes")));
        }
        let theirs = Theirs(Mapping::new(&file, found, ProtFlags::READ)?);
        let head = [theirs.load(MAGIC), theirs.load(SIZE)];
        if head != [magic, found as u64] {
            return Err(invalid(format!("memory that begins with {head:x?}")));
        }
        Ok(theirs)
    }

    /// How many bytes of records there are.
    pub(crate) fn size(&self) -> u64 {
        self.0.records as u64
    }

    #[inline]
    fn word(at: *mut u64) -> u64 {
        // SAFETY: mapped for as long as `self` lives, of which the callers have it, and aligned.
        // An atomic load that is relaxed and of 8 bytes is allowed on memory that is read-only.
        unsafe { AtomicU64::from_ptr(at) }.load(Ordering::Relaxed)
    }

    /// A word of the head.
    pub(crate) fn load(&self, offset: usize) -> u64 {
        Self::word(self.0.word(offset))
    }

    /// The same; what the peer wrote before it stored this is seen, too.
    pub(crate) fn acquire(&self, offset: usize) -> u64 {
        let value = self.load(offset);
        fence(Ordering::Acquire);
        value
    }

    /// So many bytes of records from this position on, both multiples of 8.
    pub(crate) fn records(&self, position: u64, bytes: u64) -> Records<'_> {
        assert!((position | bytes).is_multiple_of(8), "records are aligned");
        let bytes = usize::try_from(bytes).expect("bytes in memory");
        Records {
            at: self.0.records(position, bytes),
            bytes,
            memory: PhantomData,
        }
    }
}

/// Some of a peer's records.
pub(crate) struct Records<'a> {
    /// So many bytes are mapped there for as long as the borrow lasts; aligned for words.
    at: *mut u8,
    bytes: usize,
    memory: PhantomData<&'a Theirs>,
}

impl Records<'_> {
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// The first word of the head of the record that is `offset` bytes in, a multiple of 8, and
    /// another one of its three; none: there is no room for a head.
    #[inline]
    pub(crate) fn head(&self, offset: u64, seats: usize) -> Option<[u64; 2]> {
        let at = offset as usize & !7;
        if self.bytes < RECORD_HEAD as usize || at > self.bytes - RECORD_HEAD as usize || seats > 2
        {
            return None;
        }
        let word = |n: usize| Theirs::word(self.at.wrapping_add(at + n * 8).cast());
        Some([word(0), word(seats)])
    }

    /// Appends `length` bytes from `offset` on, which may be half of what the peer is writing.
    #[inline]
    pub(crate) fn append(&self, offset: u64, length: usize, to: &mut Vec<u8>) {
        let offset = offset as usize;
        assert!(
            offset <= self.bytes && length <= self.bytes - offset,
            "within the records"
        );
        to.reserve(length);
        // SAFETY: so many bytes are mapped there, and reserved at the end of `to`, which is this
        // process's own. The peer may write meanwhile: any bytes are bytes, no reference to its
        // memory is made, and what is decided afterwards is decided by the copy (a claim, with its
        // fence, follows before that is looked at).
        unsafe {
            let end = to.as_mut_ptr().add(to.len());
            ptr::copy_nonoverlapping(self.at.add(offset), end, length);
            to.set_len(to.len() + length);
        }
    }
}

const TMPFS: i64 = 0x0102_1994;

/// A descriptor that nobody takes for one of the standard three in a process that has closed those.
fn beyond_standard(fd: OwnedFd) -> io::Result<OwnedFd> {
    if fd.as_raw_fd() > 2 {
        return Ok(fd);
    }
    Ok(rustix::io::fcntl_dupfd_cloexec(fd, 3)?)
}

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Nothing before it is done after it, nor the other way round, as all others see it.
pub(crate) fn fence_all() {
    fence(Ordering::SeqCst);
}

/// The CPU on which the calling thread is.
pub(crate) fn cpu() -> u64 {
    // The C library knows it without a system call (rustix's way of that fails under valgrind).
    // SAFETY: it takes nothing and touches nothing.
    unsafe { libc::sched_getcpu() as u64 }
}

/// What a thread has done with doorbells: the system calls of a ring that is in use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DoorbellCalls {
    /// Others' that were rung.
    pub rung: u64,
    /// Its own that were silenced.
    pub answered: u64,
}

thread_local! {
    static CALLS: Cell<DoorbellCalls> = const { Cell::new(DoorbellCalls { rung: 0, answered: 0 }) };
}

/// Those of the calling thread so far.
pub fn doorbell_calls() -> DoorbellCalls {
    CALLS.get()
}

fn count(change: impl FnOnce(&mut DoorbellCalls)) {
    // A thread that ends has none any more.
    let _ = CALLS.try_with(|calls| {
        let mut now = calls.get();
        change(&mut now);
        calls.set(now);
    });
}

/// The descriptor by which its owner is woken.
pub(crate) struct Bell(OwnedFd);

impl Bell {
    pub(crate) fn new() -> io::Result<Bell> {
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        Ok(Bell(beyond_standard(eventfd(0, flags)?)?))
    }

    /// A peer's.
    pub(crate) fn of(fd: OwnedFd) -> io::Result<Bell> {
        // Of all that a descriptor may be, only what the kernel makes up has no type; and of that
        // nothing but an event's counter takes a number without effect on anything else.
        let kind = FileType::from_raw_mode(rustix::fs::fstat(&fd)?.st_mode);
        let open = rustix::fs::fcntl_getfl(&fd)?;
        if kind != FileType::Unknown || !open.contains(OFlags::RDWR | OFlags::NONBLOCK) {
            return Err(invalid(format!("a doorbell that is {kind:?}, {open:?}")));
        }
        Ok(Bell(fd))
    }

    pub(crate) fn descriptor(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// Wakes its owner. One that was rung until nothing more goes in is awake.
    pub(crate) fn ring(&self) {
        count(|calls| calls.rung += 1);
        let _ = rustix::io::write(&self.0, &1u64.to_ne_bytes());
    }

    /// Its owner has woken up.
    pub(crate) fn heard(&self) {
        count(|calls| calls.answered += 1);
        let _ = rustix::io::read(&self.0, &mut [0; 8]);
    }
}
