//! Frames byte by byte: what wire format v1 is, whatever the code becomes.

use starling_core::message::*;
use starling_core::{
    AddressBuf, DimensionHandle, FederateHandle, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, RegionHandle, Transportation, ValuesBuf,
};
use starling_wire::*;

#[track_caller]
fn is(encoded: &[u8], vector: &[u8]) {
    assert_eq!(encoded, vector);
    let (body, taken) = split_frame(vector).unwrap().unwrap();
    assert_eq!(taken, vector.len());
    Frame::decode(body).unwrap();
}

#[test]
fn heartbeat() {
    let mut out = Vec::new();
    put_heartbeat(&mut out);
    is(&out, &[1, 0, 0, 0, 3]);
}

#[test]
fn links() {
    let requests = [
        (LinkRequest::Offer { number: 2 }, &[3, 0, 0, 0, 6, 1, 2][..]),
        (
            LinkRequest::Relay {
                to: 300,
                frames: vec![7; 2],
            },
            &[7, 0, 0, 0, 6, 2, 0xac, 2, 2, 7, 7],
        ),
        (
            LinkRequest::Path {
                to: 5,
                shared: false,
                why: "slow".into(),
            },
            b"\x09\0\0\0\x06\x03\x05\0\x04slow",
        ),
        (LinkRequest::Direct { all: true }, &[3, 0, 0, 0, 6, 5, 1]),
        (
            LinkRequest::Endpoint {
                address: "::1".into(),
                port: 300,
                why: String::new(),
            },
            b"\x09\0\0\0\x06\x06\x03::1\xac\x02\0",
        ),
        (
            LinkRequest::Rest {
                to: 5,
                at: 300,
                frames: vec![7],
            },
            &[7, 0, 0, 0, 6, 7, 5, 0xac, 2, 1, 7],
        ),
        (
            LinkRequest::Over {
                to: 5,
                why: "cut".into(),
            },
            b"\x07\0\0\0\x06\x08\x05\x03cut",
        ),
        (LinkRequest::Again { to: 5 }, &[3, 0, 0, 0, 6, 9, 5]),
        (
            LinkRequest::BestEffort {
                to: 5,
                by: "b".into(),
            },
            &[5, 0, 0, 0, 6, 12, 5, 1, b'b'],
        ),
        (
            LinkRequest::Sent { messages: 300 },
            &[4, 0, 0, 0, 6, 13, 0xac, 2],
        ),
        (
            LinkRequest::Dropped {
                to: 5,
                messages: 300,
            },
            &[5, 0, 0, 0, 6, 14, 5, 0xac, 2],
        ),
    ];
    for (request, vector) in requests {
        let mut out = Vec::new();
        put_link_request(&mut out, &request);
        is(&out, vector);
    }
    let notices = [
        (
            LinkNotice::Seated {
                number: 2,
                seat: 127,
                mark: 300,
            },
            &[6, 0, 0, 0, 7, 1, 2, 127, 0xac, 2][..],
        ),
        (
            LinkNotice::Refused {
                number: 2,
                why: "off".into(),
            },
            b"\x07\0\0\0\x07\x02\x02\x03off",
        ),
        (
            LinkNotice::Peer {
                mark: 9,
                seat: 1,
                federate: FederateHandle(200),
            },
            &[6, 0, 0, 0, 7, 3, 9, 1, 0xc8, 1],
        ),
        (LinkNotice::Gone { mark: 9 }, &[3, 0, 0, 0, 7, 4, 9]),
        (
            LinkNotice::Relayed {
                from: 9,
                frames: vec![7],
            },
            &[5, 0, 0, 0, 7, 5, 9, 1, 7],
        ),
        (
            LinkNotice::Listen {
                mark: 9,
                here: true,
            },
            &[4, 0, 0, 0, 7, 8, 9, 1],
        ),
        (
            LinkNotice::NoDirect { why: "off".into() },
            b"\x06\0\0\0\x07\x09\x03off",
        ),
        (
            LinkNotice::Direct {
                mark: 9,
                federate: FederateHandle(2),
                address: "::1".into(),
                port: 3,
                secret: vec![5; 2],
            },
            b"\x0c\0\0\0\x07\x0a\x09\x02\x03::1\x03\x02\x05\x05",
        ),
        (LinkNotice::Broken { mark: 9 }, &[3, 0, 0, 0, 7, 11, 9]),
        (
            LinkNotice::Rest {
                from: 9,
                at: 300,
                frames: vec![7],
            },
            &[7, 0, 0, 0, 7, 12, 9, 0xac, 2, 1, 7],
        ),
        (
            LinkNotice::Lost { messages: 300 },
            &[4, 0, 0, 0, 7, 16, 0xac, 2],
        ),
        (
            LinkNotice::Sent { messages: 300 },
            &[4, 0, 0, 0, 7, 17, 0xac, 2],
        ),
    ];
    for (notice, vector) in notices {
        let mut out = Vec::new();
        put_link_notice(&mut out, &notice);
        is(&out, vector);
    }
}

#[test]
fn on_a_link() {
    let hello = OnLink::Hello {
        version: 1,
        mark: 9,
        proof: vec![7; 2],
        compression: 1,
    };
    let confirm = OnLink::Confirm { position: 300 };
    let group = OnLink::Group {
        number: 9,
        address: "a".into(),
        port: 7,
        secret: vec![1, 2],
    };
    let joined = OnLink::Joined {
        number: 9,
        port: 300,
        why: "w".into(),
    };
    let hears = OnLink::Hears {
        number: 9,
        on: true,
    };
    let turn = OnLink::Turn {
        number: 9,
        turn: 3,
        sent: 5,
        grouped: true,
    };
    for (said, vector) in [
        (hello, &[8, 0, 0, 0, 8, 1, 1, 9, 2, 7, 7, 1][..]),
        (confirm, &[4, 0, 0, 0, 8, 2, 0xac, 2]),
        (group, &[9, 0, 0, 0, 8, 3, 9, 1, b'a', 7, 2, 1, 2]),
        (joined, &[7, 0, 0, 0, 8, 4, 9, 0xac, 2, 1, b'w']),
        (hears, &[4, 0, 0, 0, 8, 5, 9, 1]),
        (turn, &[6, 0, 0, 0, 8, 6, 9, 3, 5, 1]),
        (OnLink::Ends { number: 9 }, &[3, 0, 0, 0, 8, 7, 9]),
    ] {
        let mut out = Vec::new();
        put_on_link(&mut out, &said);
        assert_eq!(out, vector);
        assert_eq!(read_on_link(&vector[4..]), Some(Ok(said)));
    }
}

#[test]
fn hello() {
    let info = PeerInfo {
        pid: 300,
        host: "h".into(),
        program: "p".into(),
        version: "0.1".into(),
        path: String::new(),
    };
    let mut out = Vec::new();
    let hello = Hello {
        version: 1,
        info,
        challenge: b"?!".to_vec(),
        compression: 2,
    };
    put_hello(&mut out, &hello);
    is(
        &out,
        b"\x15\0\0\0\x01STRL\x01\xac\x02\x01h\x01p\x030.1\0\x02?!\x02",
    );
}

#[test]
fn update_with_two_bytes_of_overhead_per_value() {
    let mut values = ValuesBuf::default();
    values.push(2, &[0xaa, 0xbb]);
    values.push(5, &[]);
    let data = Data {
        sender: FederateHandle(3),
        after: After {
            requests: RequestNumber(7),
            index: LogIndex(130),
        },
        body: DataBody::Update {
            instance: ObjectInstanceHandle::new(FederateHandle(3), 9),
            payload: Payload {
                transportation: Transportation::Reliable,
                values: values.values(),
                tag: b"t",
                address: None,
                stamp: None,
            },
        },
    };
    let mut out = Vec::new();
    put_data(&mut out, &data);
    let vector = [
        15, 0, 0, 0, 16, 3, 7, 0x82, 1, 3, 9, 1, b't', 2, 2, 0xaa, 0xbb, 5, 0,
    ];
    is(&out, &vector);
}

#[test]
fn best_effort_interaction() {
    let values = ValuesBuf::default();
    let data = Data {
        sender: FederateHandle(1),
        after: After::default(),
        body: DataBody::Interaction {
            class: InteractionClassHandle::from_raw(4),
            payload: Payload {
                transportation: Transportation::BestEffort,
                values: values.values(),
                tag: &[],
                address: None,
                stamp: None,
            },
        },
    };
    let mut out = Vec::new();
    put_data(&mut out, &data);
    is(&out, &[6, 0, 0, 0, 25, 1, 0, 0, 4, 0]);
}

#[test]
fn interaction_with_a_region() {
    let range = Range {
        dimension: DimensionHandle::from_raw(2),
        lower: 100,
        upper: 300,
    };
    let region = RegionHandle::new(FederateHandle(1), 6);
    let to = [FederateHandle(3), FederateHandle(200)];
    let sent = AddressBuf::new(&to, [(region, &[range][..])].into_iter());
    let values = ValuesBuf::default();
    let data = Data {
        sender: FederateHandle(1),
        after: After::default(),
        body: DataBody::Interaction {
            class: InteractionClassHandle::from_raw(4),
            payload: Payload {
                transportation: Transportation::Reliable,
                values: values.values(),
                tag: &[],
                address: Some(sent.borrow()),
                stamp: None,
            },
        },
    };
    let mut out = Vec::new();
    put_data(&mut out, &data);
    let vector = [
        19, 0, 0, 0, 49, 1, 0, 0, 4, 12, 2, 3, 0xc8, 1, 1, 1, 6, 1, 2, 100, 0xc8, 1, 0,
    ];
    is(&out, &vector);
}

#[test]
fn fence() {
    let data: Data<'_> = Data {
        sender: FederateHandle(2),
        after: After {
            requests: RequestNumber(1),
            index: LogIndex(2),
        },
        body: DataBody::Fence {
            request: RequestNumber(3),
        },
    };
    let mut out = Vec::new();
    put_data(&mut out, &data);
    is(&out, &[5, 0, 0, 0, 18, 2, 1, 2, 3]);
}

#[test]
fn request_to_register() {
    let request = Request {
        applied: LogIndex(3),
        fenced: vec![FederateHandle(2)],
        body: RequestBody::Object(object::Request::RegisterObject {
            instance: ObjectInstanceHandle::new(FederateHandle(1), 1),
            class: ObjectClassHandle::from_raw(6),
            name: Some("a".into()),
        }),
    };
    let mut out = Vec::new();
    put_to_executive(&mut out, &ToExecutive::Request(request));
    is(
        &out,
        &[13, 0, 0, 0, 4, 5, 3, 1, 2, 6, 3, 1, 1, 6, 1, 1, b'a'],
    );
}

#[test]
fn watermark() {
    let mark = Watermark {
        index: LogIndex(20),
        requests: vec![(FederateHandle(2), RequestNumber(5))],
    };
    let mut out = Vec::new();
    put_from_executive(&mut out, &FromExecutive::Watermark(mark));
    is(&out, &[6, 0, 0, 0, 5, 6, 20, 1, 2, 5]);
}

#[test]
fn what_is_not_the_format_is_refused() {
    for (frame, why) in [
        (&[0u8, 1, 0, 0][..], "0 is no type of frame"),
        (&[26, 1, 0, 0, 4], "26 is no type of frame"),
        (&[3, 0], "1 bytes too many at the end of a frame"),
        (b"\x01HTTP", "the peer does not speak Starling's protocol"),
        (&[4, 99], "99 is no message to the executive"),
        (&[4, 2, 5, b'x'], "5 bytes announced, 1 left"),
        (&[4, 2, 1, 0xff], "a text is not UTF-8"),
        (
            &[5, 2, 0xff, 0xff, 0xff, 0xff, 15],
            "4294967295 elements announced, 0 bytes left",
        ),
        (
            &[18, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 2],
            "a number has more than 64 bits",
        ),
        (
            &[18, 255, 255, 255, 255, 31, 0, 0, 0],
            "8589934591 has more than 32 bits",
        ),
        (
            &[17, 1, 0, 0, 4, 0, 1, 9],
            "values run over the end of their frame",
        ),
    ] {
        assert_eq!(Frame::decode(frame).unwrap_err().to_string(), why);
    }
    for length in [0, FRAME_BYTES_MAX as u32 + 1, u32::MAX] {
        assert!(split_frame(&length.to_le_bytes()).is_err());
    }
}
