//! What the fuzz targets `wire_frame` and `save` check, on the inputs they have kept.
#![allow(clippy::print_stdout, reason = "the test harness shows it")]

use starling_wire::{
    Frame, decode_description, decode_save, read_on_link, read_on_trunk, split_datagram,
    split_frame, split_parcels,
};
use std::path::Path;

#[path = "../../../fuzz/checks/save.rs"]
mod save;
#[path = "../../../fuzz/checks/wire_frame.rs"]
mod wire_frame;

/// A seed that is refused at once leads the fuzzer nowhere.
fn all_is_decoded(mut bytes: &[u8]) {
    let is_stream = matches!(split_frame(bytes), Ok(Some(_)));
    if split_parcels(bytes).is_some() && !is_stream {
        // Which parcels there are is checked with it.
        return;
    }
    if let Some((_, frames)) = split_datagram(bytes).filter(|_| !is_stream) {
        bytes = frames;
    }
    while !bytes.is_empty() {
        let whole = split_frame(bytes).ok().flatten();
        let decode = |frame| match (read_on_link(frame), read_on_trunk(frame)) {
            (Some(said), _) => said.map(drop),
            (None, Some(said)) => said.map(drop),
            (None, None) => Frame::decode(frame).map(drop),
        };
        let decoded = whole.map(|(frame, used)| (decode(frame), used));
        let Some((Ok(()), used)) = decoded else {
            panic!("of an older layout ({decoded:?}); do: as examples/seeds.rs says");
        };
        bytes = &bytes[used..];
    }
}

fn kept(target: &str, mut check: impl FnMut(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/seeds")
        .join(target);
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display()); // shown if it fails
        check(&std::fs::read(path).unwrap());
        count += 1;
    }
    assert!(count >= 50, "only {count} files in {}", folder.display());
}

#[test]
fn every_kept_frame_is_read_soundly() {
    kept("wire_frame", |bytes| {
        wire_frame::check(bytes);
        all_is_decoded(bytes);
    });
}

#[test]
fn every_kept_save_is_read_soundly() {
    kept("save", |bytes| {
        save::check(bytes);
        let read = decode_save(bytes).is_ok() || decode_description(bytes).is_ok();
        assert!(read, "of an older layout; do: as examples/seeds.rs says");
    });
}

/// A checksum guards a file, not against who writes one.
#[test]
fn damaged_saves_are_read_soundly() {
    kept("save", |bytes| {
        for at in (0..bytes.len()).step_by(101) {
            save::check(&bytes[..at]);
            let mut damaged = bytes.to_owned();
            for byte in [0, 0x7f, 0xff, damaged[at].wrapping_add(1)] {
                damaged[at] = byte;
                save::check(&damaged);
            }
        }
    });
}
