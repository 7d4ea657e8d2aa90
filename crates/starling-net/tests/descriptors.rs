//! Descriptors that go with frames over a Unix-domain stream.

use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags, sendmsg};
use starling_net::{Descriptors, Fill, Link, Stream};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

/// Bytes that are not copied when links share them.
const LARGE: usize = 64 * 1024;

/// The content of the first frame, if it is there whole.
fn first(inbox: &[u8]) -> Option<Vec<u8>> {
    let (length, rest) = inbox.split_first_chunk::<4>()?;
    Some(rest.get(..u32::from_le_bytes(*length) as usize)?.to_vec())
}

fn frame(content: &[u8]) -> Vec<u8> {
    let mut frame = u32::try_from(content.len()).unwrap().to_le_bytes().to_vec();
    frame.extend(content);
    frame
}

/// Three descriptors of a file with this length, by which it is known.
fn descriptors(length: u64) -> Descriptors {
    let file = tempfile::tempfile().unwrap();
    file.set_len(length).unwrap();
    let copy = || OwnedFd::from(file.try_clone().unwrap());
    [copy(), copy(), copy()].into()
}

fn length(fd: OwnedFd) -> u64 {
    std::fs::File::from(fd).metadata().unwrap().len()
}

#[test]
fn descriptors_come_with_their_frames() {
    let (a, b) = Stream::pair().unwrap();
    let (mut sender, mut link) = (Link::new(a), Link::new(b));
    link.reader.admit_descriptors();
    let writer = &mut sender.writer;
    let shared = descriptors(7);
    let large: Arc<[u8]> = frame(&vec![2; 3 * LARGE]).into();
    writer.out().extend(frame(b"one"));
    writer.attach(shared.clone());
    writer.out().extend(frame(b"seven"));
    writer.share(&large);
    writer.attach(descriptors(9));
    writer.out().extend(frame(b"nine"));
    writer.attach(shared.clone());
    writer.out().extend(frame(b"seven"));
    writer.out().extend(frame(b"two"));
    let mut came = Vec::new();
    loop {
        let done = writer.flush().unwrap();
        while let Fill::Bytes(_) | Fill::More(_) = link.reader.fill().unwrap() {
            while let Some(content) = first(link.reader.inbox()) {
                link.reader.consume(4 + content.len());
                let fds = match &content[..] {
                    b"seven" | b"nine" => {
                        let came = link.reader.take_descriptors().unwrap();
                        came.unwrap().map(length)
                    }
                    _ => [0; 3],
                };
                came.push((content.len(), fds));
            }
            assert!(!link.reader.has_stray_descriptors());
        }
        if done {
            break;
        }
    }
    let large = 3 * LARGE;
    let (seven, nine) = ((5, [7; 3]), (4, [9; 3]));
    assert_eq!(
        came,
        [
            (3, [0; 3]),
            seven,
            (large, [0; 3]),
            nine,
            seven,
            (3, [0; 3])
        ]
    );
    assert_eq!((Arc::strong_count(&shared), writer.unattached()), (1, 0));
    assert!(link.reader.take_descriptors().is_none());
}

#[test]
fn descriptors_that_nothing_takes_are_noticed_and_bounded() {
    let (a, b) = Stream::pair().unwrap();
    let (mut sender, mut link) = (Link::new(a), Link::new(b));
    link.reader.admit_descriptors();
    for times in 1.. {
        sender.writer.attach(descriptors(1));
        sender.writer.out().extend(frame(b"takes none"));
        assert!(sender.writer.flush().unwrap());
        match link.reader.fill() {
            Ok(_) => {
                let all = link.reader.inbox().len();
                link.reader.consume(all);
                assert!(link.reader.has_stray_descriptors() && times <= 2);
            }
            Err(error) => {
                assert_eq!((error.kind(), times), (io::ErrorKind::InvalidData, 3));
                break;
            }
        }
    }
}

#[test]
fn more_descriptors_than_go_with_a_frame_are_an_error() {
    let (a, b) = Stream::pair().unwrap();
    let mut link = Link::new(b);
    link.reader.admit_descriptors();
    let (four, null) = (4, std::fs::File::open("/dev/null").unwrap());
    let fds = vec![null.as_fd(); four];
    let mut space = [std::mem::MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(4))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    assert!(control.push(SendAncillaryMessage::ScmRights(&fds)));
    let bytes = [io::IoSlice::new(b"x")];
    sendmsg(a.as_fd(), &bytes, &mut control, SendFlags::NOSIGNAL).unwrap();
    let error = link.reader.fill().unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
}

#[test]
fn who_wants_no_descriptors_gets_none() {
    let (a, b) = Stream::pair().unwrap();
    let (mut sender, mut link) = (Link::new(a), Link::new(b));
    let fds = descriptors(1);
    sender.writer.attach(fds.clone());
    sender.writer.out().extend(frame(b"x"));
    assert!(sender.writer.flush().unwrap());
    assert_eq!(link.reader.fill().unwrap(), Fill::Bytes(5));
    assert!(link.reader.take_descriptors().is_none() && !link.reader.has_stray_descriptors());
    // The last copies of the file's descriptors are those here.
    assert_eq!(Arc::strong_count(&fds), 1);
}
