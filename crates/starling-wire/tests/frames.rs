//! Every frame comes back as it was; no bytes make the decoder panic or take memory unasked.

mod any;

use any::any_of;
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use starling_core::message::*;
use starling_core::{
    AddressBuf, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectInstanceHandle,
    RegionHandle, Transportation, ValuesBuf,
};
use starling_wire::*;

/// The bytes of a frame without its length.
fn body(encoded: &[u8]) -> &[u8] {
    let (frame, taken) = split_frame(encoded).unwrap().expect("a whole frame");
    assert_eq!(taken, encoded.len());
    frame
}

/// A frame cut anywhere is no whole frame to `split_frame`, and refused by `decode` (but for data
/// cut between two values).
fn refused_when_cut(encoded: &[u8]) {
    let frame = body(encoded);
    for cut in 0..encoded.len() {
        assert_eq!(split_frame(&encoded[..cut]), Ok(None));
    }
    for cut in 0..frame.len() {
        assert!(Frame::decode(&frame[..cut]).is_err(), "cut at {cut}");
    }
}

proptest! {
    #[test]
    fn to_executive_comes_back(message in any_of::<ToExecutive>()) {
        let mut out = Vec::new();
        put_to_executive(&mut out, &message);
        refused_when_cut(&out);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::ToExecutive(message));
    }

    #[test]
    fn from_executive_comes_back(message in any_of::<FromExecutive>()) {
        let mut out = Vec::new();
        put_from_executive(&mut out, &message);
        refused_when_cut(&out);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::FromExecutive(message));
    }

    #[test]
    fn link_messages_come_back(request in any_of::<LinkRequest>(), notice in any_of::<LinkNotice>()) {
        let mut out = Vec::new();
        put_link_request(&mut out, &request);
        refused_when_cut(&out);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::LinkRequest(request));
        out.clear();
        put_link_notice(&mut out, &notice);
        refused_when_cut(&out);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::LinkNotice(notice));
    }

    #[test]
    fn what_is_said_on_a_link_comes_back(said in any_of::<OnLink>()) {
        let mut out = Vec::new();
        put_on_link(&mut out, &said);
        let body = body(&out);
        prop_assert_eq!(read_on_link(body), Some(Ok(said)));
        // It is no frame of the stream to rtiexec, and nothing of it may be missing or too much.
        prop_assert!(Frame::decode(body).is_err());
        for end in 1..body.len() {
            prop_assert!(matches!(read_on_link(&body[..end]), Some(Err(_))));
        }
        out.push(0);
        prop_assert!(matches!(read_on_link(&out[4..]), Some(Err(_))));
    }

    #[test]
    fn greetings_come_back(
        version: u32,
        info in any_of::<PeerInfo>(),
        refusal in any_of::<Option<String>>(),
        frame_bytes_max: u64,
        challenge in any_of::<Vec<u8>>(),
        answer in any_of::<Vec<u8>>(),
        compression: u8,
    ) {
        let hello = Hello { version, info: info.clone(), challenge, compression };
        let mut out = Vec::new();
        put_hello(&mut out, &hello);
        refused_when_cut(&out);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::Hello(hello));
        let welcome = Welcome { version, info, refusal, frame_bytes_max, answer, compression };
        let mut out = Vec::new();
        put_welcome(&mut out, &welcome);
        refused_when_cut(&out);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::Welcome(welcome));
    }

    #[test]
    fn data_comes_back(
        kind in 0u8..3,
        best_effort: bool,
        sender in any_of::<FederateHandle>(),
        requests in any_of::<RequestNumber>(),
        index in any_of::<LogIndex>(),
        instance in any_of::<ObjectInstanceHandle>(),
        class in any_of::<InteractionClassHandle>(),
        tag in any_of::<Vec<u8>>(),
        list in vec(any_of::<(u32, Vec<u8>)>(), 0..6),
        stamp in any_of::<Option<Stamp>>(),
        sent in of((any_of::<Vec<FederateHandle>>(), proptest::collection::btree_map(any::<u64>(), 1u32..9, 0..3))),
    ) {
        let range = |upper: u32| [Range { dimension: DimensionHandle::from_raw(1), lower: 0, upper }];
        let sent = sent.map(|(to, with)| {
            let with: Vec<_> = with.into_iter().map(|(r, upper)| (RegionHandle(r), range(upper))).collect();
            AddressBuf::new(&to, with.iter().map(|(r, ranges)| (*r, &ranges[..])))
        });
        let address = sent.as_ref().map(AddressBuf::borrow);
        let mut values = ValuesBuf::default();
        for (slot, value) in &list {
            values.push(*slot, value);
        }
        let (tag, values) = (tag.as_slice(), values.values());
        let transportation = if best_effort {
                Transportation::BestEffort
            } else {
                Transportation::Reliable
            };
        let payload = Payload { transportation, values, tag, address, stamp };
        let said = match kind {
            0 => DataBody::Update { instance, payload },
            1 => DataBody::Interaction { class, payload },
            _ => DataBody::Fence { request: requests },
        };
        let data = Data { sender, after: After { requests, index }, body: said };
        let mut out = Vec::new();
        put_data(&mut out, &data);
        prop_assert_eq!(Frame::decode(body(&out)).unwrap(), Frame::Data(data));
        for cut in 0..body(&out).len() {
            // Between two values a cut can't be seen; the frame's length guards it.
            let _ = Frame::decode(&body(&out)[..cut]);
        }
    }

    #[test]
    fn any_bytes_are_decoded_or_refused(bytes in vec(any::<u8>(), 0..300), kind in 0u8..128) {
        let _ = split_frame(&bytes);
        let _ = Frame::decode(&bytes);
        let typed: Vec<_> = [kind].into_iter().chain(bytes).collect();
        let _ = Frame::decode(&typed);
    }

    #[test]
    fn a_changed_byte_is_decoded_or_refused(
        message in any_of::<FromExecutive>(), at: prop::sample::Index, to: u8,
    ) {
        let mut out = Vec::new();
        put_from_executive(&mut out, &message);
        let at = 4 + at.index(out.len() - 4);
        out[at] = to;
        let _ = Frame::decode(body(&out));
    }
}

proptest! {
    #[test]
    fn only_creations_and_joins_bring_modules(message in any_of::<ToExecutive>()) {
        let brings = matches!(message, ToExecutive::CreateFederation { .. } | ToExecutive::Join { .. });
        let mut bytes = Vec::new();
        put_to_executive(&mut bytes, &message);
        let (frame, _) = split_frame(&bytes).unwrap().unwrap();
        prop_assert_eq!(may_bring_modules(frame), Some(brings));
        prop_assert_eq!(may_bring_modules(&frame[..1]), None);
    }
}
