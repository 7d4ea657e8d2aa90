use super::*;
use starling_core::message::{After, Data, DataBody, Payload, RequestNumber};
use starling_core::{InteractionClassHandle, Transportation, ValuesBuf};
use starling_net::Stream;
use starling_rid::Settings;
use starling_ring::{Board, Read, RingReader};
use starling_wire::{Frame, split_frame};
use std::collections::BTreeMap;
use std::ops::Range;

const FRAME: usize = 1000;
const BACKLOG: usize = 1 << 18;

struct Reader {
    reader: RingReader,
    place: Place,
    times: u16,
    _board: Board,
}

impl Reader {
    fn reads_some(&mut self) {
        assert!(matches!(
            self.reader.read(&mut Vec::new(), FRAME),
            Read::Frames
        ));
    }

    /// Reads what there is; when it is over with that, asks to be attached again.
    fn reads_all(&mut self) -> Vec<u8> {
        let mut all = Vec::new();
        while matches!(self.reader.read(&mut all, FRAME), Read::Frames) {}
        if self.reader.read(&mut all, FRAME) == Read::Over {
            self.asks();
        }
        all
    }

    fn asks(&mut self) {
        self.times += 1;
        let again = Place::attachment(place(0), self.place, self.times);
        self.reader.rejoin(again.mark);
    }
}

fn place(number: u8) -> Place {
    Place {
        seat: Seat::new(number).unwrap(),
        mark: u64::from(number) + 1,
    }
}

/// A ring with two readers, and what goes to rtiexec.
fn two_readers() -> (Shared, [Reader; 2], LinkWriter) {
    let ring = RingWriter::new(1 << 16).unwrap();
    let bundling = Bundling::of(&Settings::default());
    let mut shared = Shared::new(ring, place(0), bundling, (1 << 20, BACKLOG));
    let readers = [1, 2].map(|number| {
        let board = Board::new().unwrap();
        let of = |fd: std::os::fd::BorrowedFd<'_>| fd.try_clone_to_owned().unwrap();
        let [memory, bell] = [of(board.memory()), of(board.doorbell())];
        let federate = FederateHandle(number.into());
        shared.admit(place(number), federate, memory, bell).unwrap();
        let attachment = Place::attachment(place(0), place(number), 0);
        let memory = of(shared.ring.memory());
        let bell = of(Board::new().unwrap().doorbell());
        Reader {
            reader: board.join(attachment, memory, bell, 1 << 20).unwrap(),
            place: place(number),
            times: 0,
            _board: board,
        }
    });
    let (stream, _) = Stream::pair().unwrap();
    (shared, readers, starling_net::Link::new(stream).split().1)
}

/// Frames for both, until one waits.
fn fill(shared: &mut Shared) {
    let both = shared.ring.attached();
    while shared.ring.put(both, FRAME, |room| room.fill(0)).is_ok() {
        shared.ring.publish();
    }
    shared.waiting.push_back((both, vec![0; FRAME]));
    assert!(!shared.put_waiting());
}

fn peer<'a>(shared: &'a Shared, of: &Reader) -> &'a Peer {
    let is_meant = |p: &&Peer| p.place.mark == of.place.mark;
    shared.peers.iter().find(is_meant).unwrap()
}

#[test]
fn who_reads_on_is_not_taken_for_who_does_not() {
    let (mut shared, [stopped, mut slow], _stream) = two_readers();
    fill(&mut shared);
    let mut now = Instant::now();
    let begin = now;
    while shared.is_waiting() {
        assert!(
            now < begin + 2 * GRACE,
            "who is stopped holds up the others"
        );
        let until = shared.make_room(now);
        assert!(until.is_none_or(|until| until <= now + GRACE));
        for _ in 0..4 {
            slow.reads_some();
        }
        now += GRACE / 5;
    }
    assert!(peer(&shared, &slow).reads_ring());
    assert!(!peer(&shared, &stopped).attached);
}

/// Sends numbers to these.
fn send(shared: &mut Shared, stream: &mut LinkWriter, to: &[&Reader], numbers: Range<u64>) {
    let to: Vec<_> = to.iter().map(|r| peer(shared, r).federate).collect();
    for number in numbers {
        let request = RequestNumber(number);
        let data = Data {
            sender: FederateHandle(0),
            after: After::default(),
            body: DataBody::Fence { request },
        };
        let data: Data<'_> = data;
        shared.send(&to, stream, &data);
    }
    shared.publish();
}

/// The numbers that have come.
fn numbers(mut rest: &[u8]) -> Vec<u64> {
    let mut numbers = Vec::new();
    while let Some((frame, used)) = split_frame(rest).unwrap() {
        rest = &rest[used..];
        match starling_wire::read_data(frame).unwrap().unwrap().body {
            DataBody::Fence { request } => numbers.push(request.0),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(rest, b"");
    numbers
}

/// The one that does not read gets all that it has missed in the ring, in its order, before what comes then; the
/// other one gets its own all the time.
#[test]
fn who_has_stopped_misses_nothing_and_needs_no_rtiexec() {
    let (mut shared, [mut stopped, mut quick], mut stream) = two_readers();
    let (mut now, mut sent, mut heard) = (Instant::now(), 0, [Vec::new(), Vec::new()]);
    while let Some(Change::Path { .. }) = shared.next_change(now, |_| true) {}
    for _ in 0..3 {
        while peer(&shared, &stopped).reads_ring() {
            send(
                &mut shared,
                &mut stream,
                &[&stopped, &quick],
                sent..sent + 100,
            );
            sent += 100;
            while let Some(until) = shared.make_room(now) {
                now = until;
            }
            heard[1].extend(quick.reads_all());
        }
        send(
            &mut shared,
            &mut stream,
            &[&stopped, &quick],
            sent..sent + 5_000,
        );
        sent += 5_000;
        while !shared.waiting.is_empty() {
            heard[1].extend(quick.reads_all());
            assert!(shared.make_room(now).is_none_or(|until| until > now));
        }
        let change = |shared: &mut Shared| shared.next_change(now, |_| true);
        let slow = |why: &str, change| match change {
            Some(Change::Tell(LinkRequest::Path { to, shared, why: w })) => {
                assert_eq!((to, shared, &*w), (2, true, why));
            }
            other => panic!("{other:?}"),
        };
        slow(SLOW, change(&mut shared));
        let mut turns = 0;
        while !peer(&shared, &stopped).reads_ring() {
            heard[0].extend(stopped.reads_all());
            heard[1].extend(quick.reads_all());
            shared.make_room(now);
            turns += 1;
            assert!(turns < 100);
        }
        slow("", change(&mut shared));
        send(&mut shared, &mut stream, &[&stopped], sent..sent + 10);
        sent += 10;
        heard[0].extend(stopped.reads_all());
    }
    assert!(stream.out().is_empty(), "nothing is relayed");
    assert_eq!(numbers(&heard[0]), (0..sent).collect::<Vec<_>>());
    let others = numbers(&heard[1]);
    assert_eq!(others.len() as u64, sent - 30);
    assert!(others.is_sorted());
}

/// Its sender does nothing meanwhile but what the doorbell makes it do.
#[test]
fn who_has_missed_a_frame_longer_than_the_ring_gets_all_of_it() {
    for (long, others) in [(1 << 16, 0), (200_000, 0), (200_000, 3), (9_000, 1)] {
        let (mut shared, [mut stopped, _quick], _stream) = two_readers();
        let seat = stopped.place.seat;
        let (mut now, mut sent) = (Instant::now(), 0);
        let frames = std::iter::repeat_n(FRAME, others).chain([long]);
        for length in frames {
            let put = shared.ring.put(seat.into(), length, |room| room.fill(7));
            assert!(put.is_ok());
            sent += length;
        }
        shared.detach(seat, now);
        assert!(!shared.is_stuck(), "all of it waits for the one");
        let (mut heard, mut turns) = (stopped.reads_all(), 0);
        while heard.len() < sent {
            now += GRACE / 5;
            shared.catch_up(now);
            heard.extend(stopped.reads_all());
            turns += 1;
            assert!(turns < 100, "{} of {sent} bytes", heard.len());
        }
        assert_eq!(heard, vec![7; sent]);
        shared.catch_up(now);
        assert!(!shared.behind && peer(&shared, &stopped).reads_ring());
    }
}

/// What is kept for one that does not read is bounded; then it goes by way of rtiexec, and so does what comes.
#[test]
fn at_its_bound_a_backlog_is_relayed() {
    let (mut shared, [mut stopped, _], mut stream) = two_readers();
    let seat = stopped.place.seat;
    send(&mut shared, &mut stream, &[&stopped], 0..10);
    shared.detach(seat, Instant::now());
    let (mut sent, mut most) = (10, 0);
    while peer(&shared, &stopped).backlog.is_some() {
        send(&mut shared, &mut stream, &[&stopped], sent..sent + 1);
        sent += 1;
        let backlog = peer(&shared, &stopped).backlog.as_ref();
        most = most.max(backlog.map_or(0, Backlog::bytes));
        assert!(most <= BACKLOG);
    }
    assert!(most > BACKLOG - FRAME);
    send(&mut shared, &mut stream, &[&stopped], sent..sent + 10);
    let mut heard = stopped.reads_all();
    let (mut rest, mut pieces) = (&stream.out()[..], 0);
    while let Some((frame, used)) = split_frame(rest).unwrap() {
        rest = &rest[used..];
        if let Frame::LinkRequest(LinkRequest::Relay { frames, .. }) = Frame::decode(frame).unwrap()
        {
            heard.extend(frames);
            pieces += 1;
        }
    }
    assert_eq!(numbers(&heard), (0..sent + 10).collect::<Vec<_>>());
    assert!(pieces < 10 + 2 * BACKLOG / RELAY_BYTES, "{pieces}");
}

/// What is relayed may fill the peer's queue at rtiexec, which then reads no more.
#[test]
fn the_path_is_told_before_what_is_relayed() {
    let (mut shared, readers, mut stream) = two_readers();
    fill(&mut shared);
    shared.put_by_force();
    assert!(stream.out().is_empty(), "it waits here");
    shared.relay_all(&mut stream);
    let (mut rest, mut told) = (&stream.out()[..], Vec::new());
    while let Some((frame, used)) = split_frame(rest).unwrap() {
        rest = &rest[used..];
        match Frame::decode(frame).unwrap() {
            Frame::LinkRequest(LinkRequest::Path { to, shared, .. }) => {
                assert!(!shared && !told.contains(&to));
                told.push(to);
            }
            Frame::LinkRequest(LinkRequest::Relay { to, .. }) => assert!(told.contains(&to)),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(told, readers.map(|reader| reader.place.mark));
}

/// What comes in the ring must not overtake what is relayed, nor come long before what it comes after.
#[test]
fn who_was_detached_is_attached_again_when_it_has_what_came_by_rtiexec() {
    let (mut shared, [_, mut reader], mut stream) = two_readers();
    shared.peers.remove(0);
    fill(&mut shared);
    let start = Instant::now();
    shared.detach(reader.place.seat, start);
    shared.give_up(0, start, &mut stream);
    reader.reads_all();
    let mut change = |at| shared.next_change(at, |_| true);
    assert_eq!(change(start), None, "a pause");
    let asked = change(start + PAUSE_MIN);
    assert!(matches!(
        asked,
        Some(Change::Tell(LinkRequest::Relay { .. }))
    ));
    assert_eq!(
        change(start + PAUSE_MAX),
        None,
        "it has said only that it has read the ring"
    );
    reader.asks();
    let path = DataPath::Direct;
    assert!(matches!(change(start + PAUSE_MAX), Some(Change::Path { path: p, .. }) if p == path));
}

/// The log of this federate may wait for something when another one joins, which maps its ring meanwhile.
#[test]
fn who_reads_the_ring_before_it_is_known_is_looked_at_again() {
    let (mut shared, _readers, _stream) = two_readers();
    let now = Instant::now();
    assert_eq!(shared.next_change(now, |_| false), None);
    assert!(shared.is_unsettled());
    for _ in 0..2 {
        let change = shared.next_change(now, |_| true);
        assert!(matches!(
            change,
            Some(Change::Path {
                path: DataPath::Direct,
                ..
            })
        ));
    }
    assert_eq!(shared.next_change(now, |_| true), None);
    assert!(!shared.is_unsettled());
}

#[test]
fn who_keeps_up_again_is_detached_for_a_short_time() {
    let (mut shared, _readers, mut stream) = two_readers();
    let seat = shared.peers[0].place.seat;
    let mut now = Instant::now();
    let mut detached_for = |kept_up: Duration| {
        now += kept_up;
        shared.detach(seat, now);
        shared.give_up(0, now, &mut stream);
        let pause = shared.peers[0].again.0 - now;
        // As when it is attached again.
        now += pause;
        shared.peers[0].again.0 = now;
        shared.ring.readmit(seat, 1 << 20);
        shared.peers[0].attached = true;
        pause
    };
    let ms = Duration::from_millis;
    let pauses = [1, 1, 1, 1].map(|kept_up| detached_for(ms(kept_up)));
    assert_eq!(pauses, [100, 200, 400, 800].map(ms));
    assert_eq!(detached_for(ms(2_000)), PAUSE_MIN);
}

/// Else the thread that waits for the time that it is due would ask again and again.
#[test]
fn a_bundle_that_was_published_for_room_is_not_due() {
    let (mut shared, _readers, _stream) = two_readers();
    let both = shared.ring.attached();
    let put = |shared: &mut Shared| shared.ring.put(both, FRAME, |room| room.fill(0));
    put(&mut shared).unwrap();
    // The first one is published at once.
    while shared.is_due() {
        shared.publish();
        put(&mut shared).unwrap();
    }
    assert!(shared.due().is_some());
    fill(&mut shared);
    shared.put_by_force();
    shared.publish();
    assert_eq!(shared.due(), None);
}

/// Sends best-effort data to these, each with a number.
fn send_freely(shared: &mut Shared, stream: &mut LinkWriter, to: &[&Reader], numbers: Range<u64>) {
    let to: Vec<_> = to.iter().map(|r| peer(shared, r).federate).collect();
    let values = ValuesBuf::default();
    for number in numbers {
        let data: Data<'_> = Data {
            sender: FederateHandle(0),
            after: After::default(),
            body: DataBody::Interaction {
                class: InteractionClassHandle::from_raw(1),
                payload: Payload {
                    transportation: Transportation::BestEffort,
                    values: values.values(),
                    tag: &number.to_le_bytes(),
                    address: None,
                    stamp: None,
                },
            },
        };
        shared.send(&to, stream, &data);
    }
    shared.publish();
}

/// The numbers of best-effort data that have come, and those of fences.
fn both(mut rest: &[u8]) -> (Vec<u64>, Vec<u64>) {
    let (mut free, mut fences) = (Vec::new(), Vec::new());
    while let Some((frame, used)) = split_frame(rest).unwrap() {
        rest = &rest[used..];
        match starling_wire::read_data(frame).unwrap().unwrap().body {
            DataBody::Interaction { payload, .. } => {
                free.push(u64::from_le_bytes(payload.tag.try_into().unwrap()));
            }
            DataBody::Fence { request } => fences.push(request.0),
            other => panic!("{other:?}"),
        }
    }
    (free, fences)
}

/// What each was told that it did not get, by its mark.
fn dropped(stream: &mut LinkWriter) -> BTreeMap<u64, u64> {
    let (mut rest, mut told) = (&stream.out()[..], BTreeMap::new());
    while let Some((frame, used)) = split_frame(rest).unwrap() {
        rest = &rest[used..];
        if let Frame::LinkRequest(LinkRequest::Dropped { to, messages }) =
            Frame::decode(frame).unwrap()
        {
            *told.entry(to).or_default() += messages;
        }
    }
    told
}

/// Nobody waits for its readers; who reads gets all of it, however slow others are, and each message that one does not get is
/// told to it.
#[test]
fn best_effort_data_waits_for_nobody_and_what_is_dropped_is_told() {
    let (mut shared, [mut stopped, mut quick], mut stream) = two_readers();
    let beat = Duration::from_secs(3600);
    let (mut heard, mut sent) = ([Vec::new(), Vec::new()], 0);
    for _ in 0..1_000 {
        send_freely(
            &mut shared,
            &mut stream,
            &[&stopped, &quick],
            sent..sent + 100,
        );
        sent += 100;
        assert!(!shared.is_waiting());
        heard[1].extend(quick.reads_all());
    }
    assert_eq!(both(&heard[1]).0, (0..sent).collect::<Vec<_>>());
    let now = Instant::now() + beat;
    assert!(!shared.dropped.tell((now - beat, beat), &mut stream));
    assert!(shared.dropped.tell((now, beat), &mut stream));
    assert!(
        !shared.dropped.tell((now + beat, beat), &mut stream),
        "all was told"
    );
    // It reads on, and gets what there was room for, then what comes.
    while !peer(&shared, &stopped).reads_ring() {
        heard[0].extend(stopped.reads_all());
        shared.catch_up(now);
    }
    send_freely(&mut shared, &mut stream, &[&stopped], sent..sent + 10);
    heard[0].extend(stopped.reads_all());
    let came = both(&heard[0]).0;
    assert!(came.is_sorted() && came.ends_with(&(sent..sent + 10).collect::<Vec<_>>()));
    let lost = sent + 10 - came.len() as u64;
    assert_eq!(
        dropped(&mut stream),
        BTreeMap::from([(stopped.place.mark, lost)])
    );
}

/// Nor does anybody wait where all are in the way; who does not read is taken for stopped all the same.
#[test]
fn where_nobody_reads_best_effort_data_is_dropped() {
    let (mut shared, [mut one, other], mut stream) = two_readers();
    let mut sent = 0;
    while peer(&shared, &one).reads_ring() || peer(&shared, &other).reads_ring() {
        send_freely(&mut shared, &mut stream, &[&one, &other], sent..sent + 100);
        sent += 100;
        assert!(!shared.is_waiting());
    }
    // What is reliable waits for it, as ever.
    send(&mut shared, &mut stream, &[&one], 7..8);
    let mut heard = Vec::new();
    while !peer(&shared, &one).reads_ring() {
        heard.extend(one.reads_all());
        shared.catch_up(Instant::now());
    }
    heard.extend(one.reads_all());
    let (came, fences) = both(&heard);
    assert!(came.is_sorted() && fences == [7]);
    // Who resigns tells it, too.
    shared.relay_all(&mut stream);
    let lost = sent - came.len() as u64;
    assert_eq!(dropped(&mut stream)[&one.place.mark], lost);
}
