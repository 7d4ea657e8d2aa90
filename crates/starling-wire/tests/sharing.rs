//! What concerns many members is there once and is encoded once.

use starling_core::message::{
    AttributeRegions, Entry, EntryBody, FromExecutive, ModuleSource, PeerInfo, Range,
    RegionSpecification, Request, RequestBody, Snapshot, SubscribedAttribute, ToExecutive, ddm,
    declaration, federation, object,
};
use starling_core::{DataPath, Executive, Federate, ObjectInstanceHandle, PeerId, RegionHandle};
use starling_wire::{BeginFrames, EntryFrames, Frame, Piece, put_from_executive, split_frame};
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
/// Gives the bytes that are of this frame only.
fn is_framed_without_copies(frames: &mut BeginFrames, snapshot: &Snapshot) -> usize {
    let mut frame = Vec::new();
    let mut texts = snapshot.modules.iter().map(|module| &module.text);
    let mut own = 0;
    for piece in frames.joined(snapshot) {
        match piece {
            Piece::Own(bytes) => {
                own += bytes.len();
                frame.extend(bytes);
            }
            Piece::Shared(bytes) => {
                // Behind the texts come the subscriptions.
                let text = texts.next();
                assert!(text.is_none_or(|text| Arc::ptr_eq(&bytes, text)), "a copy");
                frame.extend_from_slice(&bytes);
            }
        }
    }
    assert_eq!(texts.next(), None, "a text is copied into the frame");
    let mut whole = Vec::new();
    let joined = FromExecutive::Joined(Box::new(snapshot.clone()));
    put_from_executive(&mut whole, &joined);
    assert!(frame == whole, "another frame");
    own
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
                is_framed_without_copies(&mut BeginFrames::default(), &snapshot);
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

/// The snapshots that the executive has made.
fn snapshots(executive: &mut Executive) -> Vec<Snapshot> {
    let joined = outputs(executive).into_iter().filter_map(|m| match m {
        FromExecutive::Joined(snapshot) => Some(*snapshot),
        _ => None,
    });
    joined.collect()
}

/// So many join.
fn joiners(executive: &mut Executive, peers: std::ops::Range<u64>) -> Vec<Snapshot> {
    for peer in peers {
        executive.receive(PeerId(peer), join(vec![])).unwrap();
    }
    snapshots(executive)
}

#[test]
fn the_subscriptions_of_a_hundred_members_are_encoded_once_for_a_hundred_joiners() {
    let mut executive = Executive::new();
    for peer in 0..2 * MEMBERS + 10 {
        executive.connected(PeerId(peer), PeerInfo::default());
    }
    let attributes: String = (0..50)
        .map(|n| format!("<attribute><name>A{n}</name><dimensions><dimension>D</dimension></dimensions></attribute>"))
        .collect();
    let text = format!(
        "<objectModel><objects><objectClass><name>HLAobjectRoot</name><objectClass><name>C</name>\
         {attributes}</objectClass></objectClass></objects><dimensions><dimension><name>D</name>\
         <upperBound>100</upperBound></dimension></dimensions></objectModel>"
    );
    let create = ToExecutive::CreateFederation {
        federation: "F".into(),
        modules: vec![ModuleSource {
            designator: "classes.xml".into(),
            text: text.into_bytes().into(),
        }],
        mim: None,
        time_implementation: String::new(),
    };
    executive.receive(PeerId(0), create).unwrap();
    let members = joiners(&mut executive, 0..MEMBERS);
    let a = Federate::new(members[0].clone(), DataPath::Executive).unwrap();
    let class = a.object_class_handle("C").unwrap();
    let attribute = |n| a.attribute_handle(class, &format!("A{n}")).unwrap();
    let request = |executive: &mut Executive, peer, body: RequestBody| {
        let request = Request {
            applied: members[0].index,
            fenced: vec![],
            body,
        };
        let request = ToExecutive::Request(request);
        executive.receive(PeerId(peer), request).unwrap();
        outputs(executive);
    };
    let subscribe = |attributes: std::ops::Range<u64>| {
        let subscribed = |n| SubscribedAttribute {
            attribute: attribute(n),
            active: true,
            rate: String::new(),
        };
        declaration::Request::SubscribeObjectClass {
            class,
            attributes: attributes.map(subscribed).collect(),
        }
    };
    let all: std::ops::Range<u64> = 0..50;
    for member in 0..MEMBERS {
        request(&mut executive, member, subscribe(all.clone()).into());
    }
    let publish = declaration::Request::PublishObjectClass {
        class,
        attributes: all.map(attribute).collect(),
    };
    request(&mut executive, 0, publish.into());
    for number in 1..=1_000 {
        let register = object::Request::RegisterObject {
            instance: ObjectInstanceHandle::new(members[0].handle, number),
            class,
            name: None,
        };
        request(&mut executive, 0, register.into());
    }

    let joined = joiners(&mut executive, MEMBERS..2 * MEMBERS);
    assert_eq!(joined.len() as u64, MEMBERS);
    let mut frames = BeginFrames::default();
    for snapshot in &joined {
        assert!(Arc::ptr_eq(&snapshot.declarations, &joined[0].declarations));
        // Names and numbers of up to 200 members; the subscriptions take 100 x 50 x 5 bytes.
        let own = is_framed_without_copies(&mut frames, snapshot);
        assert!(own < 4_000, "{own} bytes are of one frame only");
    }
    assert_eq!(frames.encoded(), 1);

    // Whatever changes them is told to who joins next.
    let mut next = 2 * MEMBERS;
    let mut join_after = |executive: &mut Executive, body: RequestBody| {
        request(executive, 1, body);
        next += 1;
        let snapshot = joiners(executive, next - 1..next).pop().unwrap();
        is_framed_without_copies(&mut frames, &snapshot);
        (snapshot.declarations, frames.encoded())
    };
    let region = RegionHandle::new(members[1].handle, 1);
    let commit = |upper| {
        let dimension = a.dimension_handle("D").unwrap();
        let ranges = vec![Range {
            dimension,
            lower: 0,
            upper,
        }];
        ddm::Request::CommitRegions(vec![RegionSpecification { region, ranges }])
    };
    let with_region = ddm::Request::SubscribeObjectClassWithRegions {
        class,
        regions: vec![AttributeRegions {
            attributes: vec![attribute(0)],
            regions: vec![region],
        }],
        active: true,
        rate: String::new(),
    };
    let (fewer, encoded) = join_after(&mut executive, subscribe(0..10).into());
    assert_eq!((fewer.objects[1].2.len(), encoded), (10, 2));
    let (none, encoded) = join_after(&mut executive, commit(10).into());
    assert_eq!((none.regions.regions.len(), encoded), (0, 2));
    let (narrow, encoded) = join_after(&mut executive, with_region.into());
    assert_eq!(
        (narrow.regions.regions[0].ranges[0].upper, encoded),
        (10, 3)
    );
    let (wide, encoded) = join_after(&mut executive, commit(20).into());
    assert_eq!((wide.regions.regions[0].ranges[0].upper, encoded), (20, 4));
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
