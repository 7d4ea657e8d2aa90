//! Any bytes as a stream of frames; what decodes is encoded and decodes to the same.
//!
//! Run by the fuzz target of this name, and on every file of `fuzz/seeds` by `cargo test`.

use starling_wire::*;

pub fn check(bytes: &[u8]) {
    let mut rest = bytes;
    while let Ok(Some((body, taken))) = split_frame(rest) {
        body_is_sound(body);
        rest = &rest[taken..];
    }
    if !bytes.is_empty() {
        body_is_sound(bytes);
    }
    if let Some((head, frames)) = split_datagram(bytes) {
        let (mut incoming, at) = (DatagramIn::default(), StreamPosition::default());
        let taken = incoming.receive((&head, frames), at);
        assert!(taken.is_err() || taken == Ok(frames) || taken == Ok(&[]));
        let end = StreamPosition {
            read: u64::MAX,
            ..at
        };
        assert!(incoming.next_kept(end).is_none_or(|kept| kept == frames));
        // Of a peer, before its turn, in whichever that it names, and copied.
        let (mut group, turn) = (GroupIn::new(head.secret), u64::from(bytes[bytes.len() - 1]));
        assert!(group.take(bytes).0.is_empty(), "it is not for this end yet");
        group.begin_turn(turn, 0, true);
        let now = group.take(bytes).0.to_vec();
        group.take(bytes);
        group.begin_turn(u64::MAX, u64::MAX, true);
        assert!(now.is_empty() || now == frames);
        assert!(group.next_kept().is_none_or(|kept| kept == frames));
        group.lost();
    }
    if let Some((_, mut parcels)) = split_parcels(bytes) {
        let (mut lane, mut places) = (Lane::default(), Vec::new());
        while let Ok(Some(parcel)) = parcels.next(&mut places) {
            assert!(parcel.count > 0 && (1..=PLACES_MAX).contains(&places.len()));
            for place in &places {
                lane.take(place, &parcel, 0);
                lane.sum_up(place.before);
            }
        }
        while lane.next_kept(u64::MAX).is_some() {}
        lane.newly_lost();
    }
}

fn body_is_sound(body: &[u8]) {
    if let Some(Ok(said)) = read_on_link(body) {
        let mut out = Vec::new();
        put_on_link(&mut out, &said);
        let (again, _) = split_frame(&out).unwrap().expect("a whole frame");
        assert_eq!(read_on_link(again), Some(Ok(said)));
    }
    if let Some(Ok(said)) = read_on_trunk(body) {
        let mut out = Vec::new();
        put_on_trunk(&mut out, &said);
        let (again, _) = split_frame(&out).unwrap().expect("a whole frame");
        assert_eq!(read_on_trunk(again), Some(Ok(said)));
    }
    let mut to = Vec::new();
    let passed = read_pass(body, &mut to);
    match Frame::decode(body) {
        Ok(Frame::LinkRequest(LinkRequest::Pass { to: all, frames })) => {
            // Who passes it on takes none that names a receiver twice.
            if all.is_sorted_by(|one, next| one < next) {
                assert_eq!(passed, Some(Ok(&frames[..])));
                assert_eq!(to, all);
            } else {
                assert!(matches!(passed, Some(Err(_))));
            }
        }
        Ok(Frame::LinkNotice(LinkNotice::Passed { from, frames })) => {
            assert_eq!(read_passed(body), Some(Ok((from, &frames[..]))));
        }
        _ => {
            assert!(!matches!(passed, Some(Ok(_))));
            assert!(!matches!(read_passed(body), Some(Ok(_))));
        }
    }
    let Ok(frame) = Frame::decode(body) else {
        return;
    };
    let mut out = Vec::new();
    match &frame {
        Frame::Hello(hello) => put_hello(&mut out, hello),
        Frame::Welcome(welcome) => put_welcome(&mut out, welcome),
        Frame::Heartbeat => put_heartbeat(&mut out),
        Frame::ToExecutive(message) => put_to_executive(&mut out, message),
        Frame::FromExecutive(message) => put_from_executive(&mut out, message),
        Frame::LinkRequest(request) => put_link_request(&mut out, request),
        Frame::LinkNotice(notice) => put_link_notice(&mut out, notice),
        Frame::Data(data) => put_data(&mut out, data),
    }
    let (again, taken) = split_frame(&out).unwrap().expect("a whole frame");
    assert_eq!(taken, out.len());
    assert_eq!(Frame::decode(again).unwrap(), frame);
}
