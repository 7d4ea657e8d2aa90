//! Bundles of frames of 100 bytes, put in for a number of readers and read by one: what
//! `make instructions` counts of `put_bundle` and `read_bundle`.

use starling_ring::{Attachment, Board, Read, RingReader, RingWriter, Seat, Seats};
use std::os::fd::OwnedFd;

const FRAMES: usize = 128;
const BYTES: usize = 100;

#[inline(never)]
fn put_bundle(ring: &mut RingWriter, to: Seats, frame: &[u8; BYTES]) {
    for _ in 0..FRAMES {
        let put = ring.put(to, BYTES, |record| record.copy_from_slice(frame));
        put.expect("all is read at once");
    }
    ring.publish();
}

#[inline(never)]
fn read_bundle(reader: &mut RingReader, batch: &mut Vec<u8>) {
    batch.clear();
    let read = reader.read(batch, usize::MAX);
    assert!(read == Read::Frames && batch.len() == FRAMES * BYTES);
}

fn main() -> std::io::Result<()> {
    let mut numbers = std::env::args().skip(1).map_while(|n| n.parse().ok());
    let (readers, bundles) = (numbers.next().unwrap_or(1), numbers.next().unwrap_or(1000));
    let mut ring = RingWriter::new(1 << 20)?;
    let own = Board::new()?;
    let (mut boards, mut rings, mut to) = (Vec::new(), Vec::new(), Seats::NONE);
    for number in 1..=readers as u8 {
        let attachment = Attachment {
            writer: Seat::new(0).expect("a seat"),
            reader: Seat::new(number).expect("a seat"),
            mark: 1,
        };
        let given = |fd: std::os::fd::BorrowedFd<'_>| -> std::io::Result<OwnedFd> {
            fd.try_clone_to_owned()
        };
        let board = Board::new()?;
        ring.admit(attachment, given(board.memory())?, given(board.doorbell())?)?;
        let (memory, doorbell) = (given(ring.memory())?, given(own.doorbell())?);
        rings.push(board.join(attachment, memory, doorbell, 1 << 20)?);
        boards.push(board);
        to.insert(attachment.reader);
    }
    let mut batch = Vec::new();
    for _ in 0..bundles {
        put_bundle(&mut ring, to, &[1; BYTES]);
        for reader in &mut rings {
            read_bundle(reader, &mut batch);
        }
    }
    Ok(())
}
