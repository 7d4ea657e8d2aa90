//! What the fuzz targets `executive` and `restore` check, on the inputs they have kept.
#![allow(clippy::print_stdout, reason = "the test harness shows it")]

use starling_core::message::{LogIndex, Request, RequestBody, ToExecutive, declaration, object};
use starling_core::{FederateHandle, ObjectInstanceHandle};
use starling_wire::{put_to_executive, split_frame};
use std::path::Path;

#[path = "../../../fuzz/checks/executive.rs"]
mod executive;
#[path = "../../../fuzz/checks/restore.rs"]
#[allow(dead_code, reason = "what makes seeds is a part of it")]
mod restore;

/// Genuine ones; of those with some byte changed many can be read, and some are restored.
#[test]
fn every_kept_save_is_restored_or_refused_when_it_is_damaged() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/restore");
    let (mut count, mut restored, mut refused) = (0, 0, 0);
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display()); // shown if it fails
        let seed = std::fs::read(path).unwrap();
        let whole = restore::Outcome::Restored {
            cut_off: vec![],
            unsaved: None,
        };
        assert_eq!(
            restore::check(&seed),
            whole,
            "or it is of an older layout; do: as examples/restores.rs says"
        );
        for at in (2..seed.len()).step_by(67) {
            restore::check(&seed[..at]);
            let mut damaged = seed.clone();
            damaged[at] = damaged[at].wrapping_add(1);
            match restore::check(&damaged) {
                restore::Outcome::Restored { .. } => restored += 1,
                restore::Outcome::Refused(why) => refused += usize::from(!why.is_empty()),
                restore::Outcome::Unread => {}
            }
        }
        count += 1;
    }
    assert!(count >= 16, "only {count} files in {}", folder.display());
    assert!(restored >= 20 && refused >= 20, "{restored}, {refused}");
}

#[test]
fn hostile_federates_harm_nobody() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/executive");
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display()); // shown if it fails
        let seed = std::fs::read(path).unwrap();
        executive::check(&seed);
        executive::check(&with(&seed, |_| executive::LATE));
        // Delivered now and then, constrained now and then.
        executive::check(&with(&seed, |n| match (n % 3, n % 7) {
            (0, 0) => executive::CONSTRAINED,
            (0, _) => 0,
            (_, 0) => executive::LATE | executive::CONSTRAINED,
            _ => executive::LATE,
        }));
        count += 1;
    }
    assert!(count >= 50, "only {count} files in {}", folder.display());
}

/// A seed with this in the first byte of each frame, by its number.
fn with(mut seed: &[u8], flags: impl Fn(usize) -> u8) -> Vec<u8> {
    let mut all = Vec::new();
    let mut number = 0;
    while let Some((first, rest)) = seed.split_first() {
        let taken = match split_frame(rest) {
            _ if *first >= 128 => 0,
            Ok(Some((_, taken))) => taken,
            _ => break,
        };
        all.push(first | if *first < 128 { flags(number) } else { 0 });
        all.extend_from_slice(&rest[..taken]);
        seed = &rest[taken..];
        number += 1;
    }
    all
}

fn join() -> ToExecutive {
    ToExecutive::Join {
        name: None,
        kind: "hostile".into(),
        federation: "F".into(),
        modules: vec![],
    }
}

fn request(applied: u64, fenced: &[u32], body: impl Into<RequestBody>) -> ToExecutive {
    ToExecutive::Request(Request {
        applied: LogIndex(applied),
        fenced: fenced.iter().map(|n| FederateHandle(*n)).collect(),
        body: body.into(),
    })
}

/// Messages of one hostile federate, with these in the first byte of each.
fn told(flags: u8, messages: &[ToExecutive]) -> Vec<u8> {
    let mut sent = Vec::new();
    for message in messages {
        sent.push(1 | flags);
        put_to_executive(&mut sent, message);
    }
    sent
}

/// The observer has not been delivered the removal when the handle is registered again.
#[test]
fn a_handle_that_comes_again_harms_nobody() {
    let model = starling_fom::standard_model();
    let root = model.object_classes().next().unwrap();
    let class = root.handle;
    let instance = ObjectInstanceHandle::new(FederateHandle(2), 1);
    let register = || {
        let name = None;
        let register = object::Request::RegisterObject {
            instance,
            class,
            name,
        };
        request(0, &[], register)
    };
    let publish = declaration::Request::PublishObjectClass {
        class,
        attributes: root.attributes.clone(),
    };
    let delete = object::Request::DeleteObject {
        instance,
        tag: vec![],
        stamp: None,
    };
    let messages = [
        join(),
        request(0, &[], publish),
        register(),
        request(0, &[], delete),
        register(),
    ];
    executive::check(&told(executive::LATE, &messages));
}

#[test]
fn a_fence_that_never_comes_holds_up_nobody() {
    let reserve = || object::Request::ReserveNames {
        names: vec!["n".into()],
        multiple: false,
    };
    for fenced in [&[1, 7][..], &[1, 1, 7]] {
        executive::check(&told(0, &[join(), request(0, fenced, reserve())]));
    }
}
