//! Any bytes as what comes on a compressed link, in two parts: what is unpacked is bounded, and the same wherever the
//! parts end.
//!
//! Run by the fuzz target of this name, and on every file of `fuzz/seeds` by `cargo test`.

use starling_net::{Method, RECORD_BYTES, Unpack};

pub fn check(bytes: &[u8]) {
    let [method, cut, rest @ ..] = bytes else {
        return;
    };
    let method = if method & 1 == 0 {
        Method::Lz4
    } else {
        Method::Zstd
    };
    let (first, second) = rest.split_at(usize::from(*cut).min(rest.len()));
    assert_eq!(
        unpacked(method, &[rest]),
        unpacked(method, &[first, second])
    );
}

/// How much came of it, its beginning, and whether that was all sound.
fn unpacked(method: Method, parts: &[&[u8]]) -> (usize, Vec<u8>, bool) {
    let mut unpack = Unpack::new(method).unwrap().expect("it is not off");
    let (mut count, mut begins) = (0, Vec::new());
    for part in parts {
        unpack.came(part);
        loop {
            let more = unpack.has_more();
            match unpack.next_piece() {
                Ok(Some(piece)) => {
                    assert!(more && !piece.is_empty() && piece.len() <= RECORD_BYTES);
                    count += piece.len();
                    let more = piece.iter().take(1000 - begins.len());
                    begins.extend(more);
                }
                Ok(None) => break,
                Err(_) => return (count, begins, false),
            }
        }
    }
    (count, begins, true)
}
