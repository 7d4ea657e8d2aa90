//! What concerns many members is there once and is encoded once.

use starling_core::message::{
    Entry, EntryBody, FromExecutive, ModuleSource, PeerInfo, Snapshot, ToExecutive, federation,
};
use starling_core::{Executive, PeerId};
use starling_wire::{EntryFrames, Frame, Piece, joined_frame, put_from_executive, split_frame};
use std::sync::Arc;

const MEMBERS: u64 = 100;

fn module(designator: &str, bytes: usize) -> ModuleSource {
    let comment = "c".repeat(bytes);
    let text = format!(
        "<objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2010\"><modelIdentification>\
         <name>{designator}</name><type>FOM</type><version>1</version>\
         <modificationDate>2026-11-22</modificationDate>\
         <securityClassification>Unclassified</securityClassification>\
         <description>{comment}</description></modelIdentification></objectModel>"
    );
    ModuleSource {
        designator: designator.into(),
        text: text.into_bytes().into(),
    }
}

fn join(modules: Vec<ModuleSource>) -> ToExecutive {
    ToExecutive::Join {
        name: None,
        kind: "k".into(),
        federation: "F".into(),
        modules,
    }
}

fn outputs(executive: &mut Executive) -> Vec<FromExecutive> {
    executive.settle();
    std::iter::from_fn(|| Some(executive.poll_output()?.1)).collect()
}

/// The frame is the same as that of any message, but the texts of modules are those of the snapshot.
fn is_framed_without_copies(snapshot: &Snapshot) {
    let mut frame = Vec::new();
    let mut texts = snapshot.modules.iter().map(|module| &module.text);
    for piece in joined_frame(snapshot) {
        match piece {
            Piece::Own(bytes) => frame.extend(bytes),
            Piece::Shared(text) => {
                assert!(Arc::ptr_eq(&text, texts.next().unwrap()), "a copy");
                frame.extend_from_slice(&text);
            }
        }
    }
    assert_eq!(texts.next(), None, "a text is copied into the frame");
    let mut whole = Vec::new();
    let joined = FromExecutive::Joined(Box::new(snapshot.clone()));
    put_from_executive(&mut whole, &joined);
    assert!(frame == whole, "another frame");
}

#[test]
fn an_entry_for_a_hundred_members_is_there_once_and_encoded_once() {
    let mut executive = Executive::new();
    for peer in 0..=MEMBERS {
        executive.connected(PeerId(peer), PeerInfo::default());
    }
    let create = ToExecutive::CreateFederation {
        federation: "F".into(),
        modules: vec![module("first", 10)],
        mim: None,
        time_implementation: String::new(),
    };
    executive.receive(PeerId(0), create).unwrap();
    for peer in 0..MEMBERS {
        executive.receive(PeerId(peer), join(vec![])).unwrap();
    }
    outputs(&mut executive);

    let second = module("second", 100_000);
    let brought = vec![second.clone()];
    executive.receive(PeerId(MEMBERS), join(brought)).unwrap();
    let mut joined: Vec<Arc<Entry>> = Vec::new();
    let mut snapshots = 0;
    for message in outputs(&mut executive) {
        match message {
            FromExecutive::Entry(entry) => joined.push(entry),
            FromExecutive::Joined(snapshot) => {
                snapshots += 1;
                let modules = &snapshot.modules;
                let last = modules.last().unwrap();
                assert!(
                    Arc::ptr_eq(&last.text, &second.text),
                    "the snapshot copied it"
                );
                is_framed_without_copies(&snapshot);
            }
            _ => {}
        }
    }
    assert_eq!((joined.len() as u64, snapshots), (MEMBERS, 1));
    let EntryBody::Federation(federation::Entry::FederateJoined { modules, .. }) = &joined[0].body
    else {
        panic!("{:?}", joined[0]);
    };
    assert!(
        Arc::ptr_eq(&modules[0].text, &second.text),
        "the entry copied it"
    );

    let mut frames = EntryFrames::default();
    let first = frames.frame(&joined[0]);
    for entry in &joined {
        assert!(Arc::ptr_eq(entry, &joined[0]));
        assert!(Arc::ptr_eq(&frames.frame(entry), &first));
    }
    assert_eq!(frames.encoded(), 1);
    let (body, taken) = split_frame(&first).unwrap().unwrap();
    assert_eq!(taken, first.len());
    let expected = FromExecutive::Entry(joined[0].clone());
    assert_eq!(Frame::decode(body).unwrap(), Frame::FromExecutive(expected));
}

/// Whoever brings nothing up to date makes no other member's watermark longer: what `settle` does
/// grows with the members, not with their square.
#[test]
fn a_watermark_names_only_those_whose_requests_moved_on() {
    let mut executive = Executive::new();
    for peer in 0..MEMBERS {
        executive.connected(PeerId(peer), PeerInfo::default());
    }
    let create = ToExecutive::CreateFederation {
        federation: "F".into(),
        modules: vec![module("first", 10)],
        mim: None,
        time_implementation: String::new(),
    };
    executive.receive(PeerId(0), create).unwrap();
    for peer in 0..MEMBERS {
        executive.receive(PeerId(peer), join(vec![])).unwrap();
    }
    outputs(&mut executive);
    let release = |applied| {
        let body = starling_core::message::object::Request::ReleaseNames { names: vec![] };
        ToExecutive::Request(starling_core::message::Request {
            applied,
            fenced: vec![],
            body: body.into(),
        })
    };
    for peer in [7, 3, 7] {
        executive
            .receive(PeerId(peer), release(Default::default()))
            .unwrap();
    }
    let told = outputs(&mut executive);
    assert_eq!(told.len() as u64, MEMBERS);
    for message in told {
        let FromExecutive::Watermark(mark) = message else {
            panic!("{message:?}");
        };
        let mut moved: Vec<_> = mark.requests.iter().map(|(f, r)| (f.0, r.0)).collect();
        moved.sort_unstable();
        // Federates are numbered from 1.
        assert_eq!(moved, [(4, 1), (8, 2)]);
    }
    assert_eq!(outputs(&mut executive), []);
}
