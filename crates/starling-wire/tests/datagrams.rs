//! The two ends of a session of datagrams, over a network that loses, copies and reorders them.

use proptest::prelude::*;
use starling_core::message::{After, Data, DataBody, LogIndex, Payload, RequestNumber, Stamp};
use starling_core::{
    FederateHandle, InteractionClassHandle, LogicalTime, Transportation, Values, ValuesBuf,
};
use starling_wire::{
    DATAGRAM_BYTES_MAX, DataFrame, DatagramIn, DatagramOut, GroupIn, GroupOut, StreamPosition,
    put_data, read_data, split_datagram, split_frame,
};
use std::collections::VecDeque;

const SECRET: [u8; 16] = [7; 16];

fn number(number: u64, transportation: Transportation, stamp: Option<Stamp>) -> Vec<u8> {
    let mut values = ValuesBuf::default();
    values.push(0, &number.to_le_bytes());
    frame_of(values.values(), transportation, stamp)
}

fn frame_of(values: Values<'_>, transportation: Transportation, stamp: Option<Stamp>) -> Vec<u8> {
    let mut frame = Vec::new();
    put_data(
        &mut frame,
        &Data {
            sender: FederateHandle(3),
            after: After {
                requests: RequestNumber(1),
                index: LogIndex(2),
            },
            body: DataBody::Interaction {
                class: InteractionClassHandle::from_raw(4),
                payload: Payload {
                    transportation,
                    values,
                    tag: &[],
                    address: None,
                    stamp,
                },
            },
        },
    );
    frame
}

fn best_effort(n: u64) -> Vec<u8> {
    number(n, Transportation::BestEffort, None)
}

fn numbers(mut frames: &[u8]) -> Vec<u64> {
    let mut all = Vec::new();
    while let Some((frame, size)) = split_frame(frames).unwrap() {
        let data = read_data(frame).unwrap().unwrap();
        let DataBody::Interaction { payload, .. } = data.body else {
            panic!("{data:?}");
        };
        let (_, value) = payload.values.iter().next().unwrap();
        all.push(u64::from_le_bytes(*value.first_chunk().unwrap()));
        frames = &frames[size..];
    }
    all
}

/// One datagram with these numbers.
fn datagram(out: &mut DatagramOut, those: impl IntoIterator<Item = u64>) -> Vec<u8> {
    for n in those {
        out.forward(&best_effort(n));
    }
    let datagram = out.datagram(true, false).to_vec();
    out.sent();
    datagram
}

fn take(incoming: &mut DatagramIn, datagram: &[u8], at: StreamPosition) -> Vec<u64> {
    let (head, frames) = split_datagram(datagram).unwrap();
    numbers(incoming.receive((&head, frames), at).unwrap())
}

fn at(read: u64, best_effort: u64) -> StreamPosition {
    StreamPosition { read, best_effort }
}

#[test]
fn a_datagram_says_what_was_put_into_it() {
    let mut out = DatagramOut::new(&SECRET, 1400, 0);
    assert!(out.is_empty() && out.has_room(100_000) && !out.takes(DATAGRAM_BYTES_MAX));
    let frame = best_effort(5);
    out.forward(&frame);
    let room = 1400 - out.pending();
    assert!(out.has_room(room) && !out.has_room(room + 1));
    let datagram = out.datagram(false, true).to_vec();
    let (head, frames) = split_datagram(&datagram).unwrap();
    assert_eq!((head.secret, head.hears, head.asks), (SECRET, false, true));
    assert_eq!(frames, frame);
    // As it is put from what is to be sent.
    let mut other = DatagramOut::new(&SECRET, 1400, 0);
    let (frame, _) = split_frame(&frame).unwrap().unwrap();
    other.put(&DataFrame::new(&read_data(frame).unwrap().unwrap()));
    assert_eq!(other.datagram(false, true), datagram);
}

/// Whatever is in each, also nothing, and wherever the stream is.
#[test]
fn those_that_leave_together_are_what_they_are_alone() {
    let [mut alone, mut together] = [0, 1].map(|_| DatagramOut::new(&SECRET, 1400, 0));
    let mut all = Vec::new();
    for n in 0..50_u64 {
        let those = n * 10..n * 10 + n % 4;
        for out in [&mut alone, &mut together] {
            out.follow(n / 7);
            those.clone().for_each(|n| out.forward(&best_effort(n)));
        }
        all.push(alone.datagram(n % 2 == 0, n % 3 == 0).to_vec());
        alone.sent();
        together.datagram(n % 2 == 0, n % 3 == 0);
        assert_eq!(alone.messages(), together.messages());
    }
    let waits = together.pending();
    together.forward(&best_effort(1));
    assert!(together.pending() > waits, "and one that is being filled");
    let (mut bytes, lengths) = together.leaving();
    assert_eq!(lengths.len(), all.len());
    for (length, one) in lengths.iter().zip(&all) {
        let datagram;
        (datagram, bytes) = bytes.split_at(*length);
        assert_eq!(datagram, one);
    }
    assert!(bytes.is_empty());
    // The other goes on.
    together.sent();
    assert!(together.complete(true) && !alone.complete(true));
    alone.forward(&best_effort(1));
    assert_eq!(alone.datagram(true, false), together.leaving().0);
    together.sent();
    assert!(together.is_empty() && !together.complete(true));
}

/// Frames are put together as they are one by one.
#[test]
fn a_run_of_frames_is_cut_where_a_datagram_is_full() {
    let mut frames: Vec<_> = (0..100).map(best_effort).collect();
    for (at, bytes) in [(3, 1500), (4, 200), (50, 65_000), (70, DATAGRAM_BYTES_MAX)] {
        let values = vec![1; bytes];
        let mut large = ValuesBuf::default();
        large.push(0, &values);
        frames[at] = frame_of(large.values(), Transportation::BestEffort, None);
    }
    let [mut one_by_one, mut as_run] = [0, 1].map(|_| DatagramOut::new(&SECRET, 1400, 0));
    let mut left = 0;
    for frame in &frames {
        if !one_by_one.takes(frame.len()) {
            left += 1;
            continue;
        }
        if !one_by_one.has_room(frame.len()) {
            one_by_one.datagram(true, false);
        }
        one_by_one.forward(frame);
    }
    let all = frames.concat();
    let mut run = &all[..];
    while !run.is_empty() {
        run = &run[as_run.forward_run(run)..];
        let Some((_, next)) = split_frame(run).unwrap() else {
            break;
        };
        if !as_run.takes(next) {
            left -= 1;
            run = &run[next..];
        } else {
            as_run.datagram(true, false);
        }
    }
    assert_eq!(left, 0);
    assert_eq!(as_run.messages(), 99);
    assert!(one_by_one.complete(true) && as_run.complete(true));
    assert_eq!(as_run.leaving(), one_by_one.leaving());
}

#[test]
fn what_waits_to_leave_is_bounded() {
    let mut out = DatagramOut::new(&SECRET, 1400, 0);
    let frame = best_effort(1);
    while !out.is_long() {
        while out.has_room(frame.len()) {
            out.forward(&frame);
        }
        out.datagram(true, false);
    }
    assert!((65_536..65_536 + 1400).contains(&out.pending()));
    out.sent();
    assert!(!out.is_long());
}

#[test]
fn what_did_not_come_is_counted_and_copies_and_old_ones_are_dropped() {
    let mut out = DatagramOut::new(&SECRET, 1400, 0);
    let mut incoming = DatagramIn::default();
    let all: Vec<_> = [0..1, 1..4, 4..6, 6..7]
        .into_iter()
        .map(|those| datagram(&mut out, those))
        .collect();
    assert_eq!(take(&mut incoming, &all[0], at(0, 0)), [0]);
    assert_eq!(take(&mut incoming, &all[2], at(0, 0)), [4, 5]);
    assert_eq!(incoming.lost(), 3);
    assert!(take(&mut incoming, &all[2], at(0, 0)).is_empty(), "a copy");
    assert!(
        take(&mut incoming, &all[1], at(0, 0)).is_empty(),
        "overtaken"
    );
    assert_eq!(incoming.lost(), 3);
    // The last one is missed when an empty one tells of it.
    let empty = datagram(&mut out, []);
    assert!(take(&mut incoming, &empty, at(0, 0)).is_empty());
    assert_eq!(incoming.lost(), 4);
}

#[test]
fn what_follows_the_stream_waits_for_it_and_is_dropped_behind_something_newer() {
    let mut out = DatagramOut::new(&SECRET, 1400, 100);
    let mut incoming = DatagramIn::default();
    let first = datagram(&mut out, [0]);
    out.follow(200);
    let second = datagram(&mut out, [1, 2]);
    out.follow(300);
    let third = datagram(&mut out, [3]);
    assert!(take(&mut incoming, &second, at(150, 0)).is_empty());
    assert!(take(&mut incoming, &third, at(150, 0)).is_empty());
    assert!(incoming.keeps() && incoming.next_kept(at(199, 0)).is_none());
    assert_eq!(numbers(&incoming.next_kept(at(250, 0)).unwrap()), [1, 2]);
    assert!(incoming.next_kept(at(250, 0)).is_none());
    assert_eq!(incoming.lost(), 1, "the first");
    // Best-effort data stood on the stream behind it.
    assert!(incoming.next_kept(at(350, 310)).is_none());
    assert_eq!((incoming.keeps(), incoming.lost()), (false, 2));
    assert!(take(&mut incoming, &first, at(350, 310)).is_empty());
    let late = datagram(&mut out, [4]);
    assert!(take(&mut incoming, &late, at(350, 310)).is_empty());
    assert_eq!(incoming.lost(), 3);
    out.follow(310);
    let next = datagram(&mut out, [5]);
    assert_eq!(take(&mut incoming, &next, at(350, 310)), [5]);
}

/// A segment of the stream was lost, and comes again 200 ms later: of 5,000 datagrams a second nothing is lost.
#[test]
fn what_comes_while_the_stream_stands_still_is_kept() {
    let mut out = DatagramOut::new(&SECRET, 1400, 1);
    let mut incoming = DatagramIn::default();
    let mut bytes = 0;
    for n in 0..1_000 {
        let one = datagram(&mut out, (0..45).map(|k| n * 45 + k));
        bytes += one.len();
        assert!(take(&mut incoming, &one, at(0, 0)).is_empty());
    }
    assert!(bytes > 900_000, "{bytes}");
    let kept = std::iter::from_fn(|| incoming.next_kept(at(1, 0)));
    let kept: Vec<_> = kept.flat_map(|frames| numbers(&frames)).collect();
    assert_eq!(kept, (0..45_000).collect::<Vec<_>>());
    assert_eq!(incoming.lost(), 0);
}

#[test]
fn what_waits_for_the_stream_is_bounded() {
    let mut out = DatagramOut::new(&SECRET, 1400, 1);
    let mut incoming = DatagramIn::default();
    for n in 0..100_000 {
        let one = datagram(&mut out, [n]);
        assert!(take(&mut incoming, &one, at(0, 0)).is_empty());
    }
    let kept = std::iter::from_fn(|| incoming.next_kept(at(1, 0))).count() as u64;
    assert!((10_000..50_000).contains(&kept), "{kept}");
    assert_eq!(incoming.lost(), 100_000 - kept);
}

#[test]
fn what_is_no_best_effort_data_is_refused_and_changes_nothing() {
    let mut out = DatagramOut::new(&SECRET, 1400, 0);
    let mut incoming = DatagramIn::default();
    let stamp = Stamp {
        time: LogicalTime::integer64(1),
        retraction: Some(1),
    };
    let ordered = number(1, Transportation::BestEffort, Some(stamp));
    let part = best_effort(1)[..10].to_vec();
    for wrong in [number(1, Transportation::Reliable, None), ordered, part] {
        out.forward(&wrong);
        let (head, frames) = split_datagram(out.datagram(false, false)).unwrap();
        assert!(incoming.receive((&head, frames), at(0, 0)).is_err());
        out = DatagramOut::new(&SECRET, 1400, 0);
    }
    assert_eq!(incoming.lost(), 0);
    // One that says that more were sent than can be.
    let mut hostile = datagram(&mut out, [1]);
    hostile[18..26].fill(0xff);
    for _ in 0..2 {
        take(&mut incoming, &hostile, at(0, 0));
    }
    assert_eq!(incoming.lost(), u64::MAX);
    assert!(split_datagram(&hostile[..33]).is_none());
    hostile[0] = 2;
    assert!(split_datagram(&hostile).is_none());
}

/// What happens to a sent thing.
#[derive(Clone, Debug)]
enum Step {
    /// Messages in a datagram, sent at once.
    Datagram(u64),
    /// One on the stream.
    Stream,
    /// A request on the stream.
    Request,
    /// The stream is read up to its end.
    Read,
    /// The datagram that has been on its way the longest, or the one after it, comes, or comes and
    /// is copied, or is lost.
    Arrive(usize, bool, bool),
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (1..4_u64).prop_map(Step::Datagram),
        1 => Just(Step::Stream),
        1 => Just(Step::Request),
        2 => Just(Step::Read),
        6 => (0..3_usize, any::<bool>(), any::<bool>()).prop_map(|(n, c, l)| Step::Arrive(n, c, l)),
    ]
}

proptest! {
    /// Numbers only grow, and each number that was sent came or is counted.
    #[test]
    fn newest_wins_and_all_is_counted(steps in proptest::collection::vec(step(), 1..200)) {
        let mut out = DatagramOut::new(&SECRET, 1400, 0);
        let mut incoming = DatagramIn::default();
        let (mut stream, mut wire) = (Vec::new(), Vec::new());
        let (mut next, mut position) = (0, 0);
        let (mut here, mut taken) = (StreamPosition::default(), Vec::new());
        let mut by_datagram = 0;
        for step in steps.into_iter().chain([Step::Read]) {
            match step {
                Step::Datagram(count) => {
                    wire.push(datagram(&mut out, next..next + count));
                    next += count;
                    by_datagram += count;
                }
                Step::Stream => {
                    position += 10;
                    stream.push((position, Some(next)));
                    next += 1;
                    out.follow(position);
                }
                Step::Request => {
                    position += 10;
                    stream.push((position, None));
                    out.follow(position);
                }
                Step::Read => {
                    for (end, number) in stream.drain(..) {
                        here.read = end;
                        if let Some(number) = number {
                            here.best_effort = end;
                            taken.push(number);
                        }
                    }
                    while let Some(frames) = incoming.next_kept(here) {
                        taken.extend(numbers(&frames));
                    }
                }
                Step::Arrive(at, copied, lost) => {
                    if wire.is_empty() {
                        continue;
                    }
                    let one = wire.remove(at.min(wire.len() - 1));
                    if copied {
                        wire.push(one.clone());
                    }
                    if !lost {
                        taken.extend(take(&mut incoming, &one, here));
                    }
                }
            }
        }
        wire.push(datagram(&mut out, []));
        taken.extend(take(&mut incoming, wire.last().unwrap(), here));
        prop_assert!(taken.windows(2).all(|w| w[0] < w[1]), "{taken:?}");
        let streamed = next - by_datagram;
        prop_assert_eq!(taken.len() as u64 + incoming.lost(), by_datagram + streamed);
    }

    #[test]
    fn any_bytes_are_taken_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut incoming = DatagramIn::default();
        if let Some((head, frames)) = split_datagram(&bytes) {
            let _ = incoming.receive((&head, frames), at(0, 0));
        }
    }
}

/// A group of one sender and one reader, and the link between them.
struct Turns {
    out: GroupOut,
    incoming: GroupIn,
    /// Turns that were announced and not read: number, messages before, whether it is for the reader.
    link: VecDeque<(u64, u64, bool)>,
    wire: Vec<Vec<u8>>,
    grouped: bool,
    next: u64,
    /// Messages that the reader was to get.
    meant: u64,
    /// The turn in which each was sent.
    turns: Vec<u64>,
    taken: Vec<u64>,
    lost: u64,
    /// The turn that was read last.
    read: u64,
}

impl Turns {
    fn new() -> Self {
        Turns {
            out: GroupOut::new(SECRET, 1400),
            incoming: GroupIn::new(SECRET),
            link: VecDeque::new(),
            wire: Vec::new(),
            grouped: false,
            next: 0,
            meant: 0,
            turns: Vec::new(),
            taken: Vec::new(),
            lost: 0,
            read: 0,
        }
    }

    fn put(&mut self, count: u64) {
        for _ in 0..count {
            let frame = best_effort(self.next);
            let (frame, _) = split_frame(&frame).unwrap().unwrap();
            self.out
                .put(&DataFrame::new(&read_data(frame).unwrap().unwrap()));
            self.next += 1;
            self.meant += u64::from(self.grouped);
            self.turns.push(self.out.turn().0);
        }
        self.send();
    }

    /// Far more than is kept for a turn comes; how many bytes of datagrams.
    fn flood(&mut self) -> usize {
        let mut bytes = 0;
        for _ in 0..4000 {
            self.put(20);
            let datagram = self.wire.pop().unwrap();
            self.come(&datagram);
            bytes += datagram.len();
        }
        bytes
    }

    fn send(&mut self) {
        self.wire.push(self.out.datagram().to_vec());
        self.out.sent();
    }

    fn turn(&mut self, grouped: bool) {
        self.out.next_turn();
        assert!(!self.out.is_news());
        let (turn, sent) = self.out.turn();
        self.link.push_back((turn, sent, grouped));
        self.grouped = grouped;
    }

    fn read(&mut self) {
        let Some((turn, sent, grouped)) = self.link.pop_front() else {
            return;
        };
        self.incoming.begin_turn(turn, sent, grouped);
        self.read = turn;
        while let Some(frames) = self.incoming.next_kept() {
            self.take_all(&numbers(&frames));
        }
        self.lost += self.incoming.lost();
    }

    fn come(&mut self, datagram: &[u8]) {
        let (frames, _) = self.incoming.take(datagram);
        let frames = numbers(frames);
        self.take_all(&frames);
        self.lost += self.incoming.lost();
    }

    fn take_all(&mut self, numbers: &[u64]) {
        for number in numbers {
            assert!(
                self.taken.last().is_none_or(|last| last < number),
                "no news"
            );
            assert_eq!(self.turns[*number as usize], self.read, "not in its turn");
            self.taken.push(*number);
        }
    }
}

#[derive(Clone, Debug)]
enum TurnStep {
    Put(u64),
    Turn(bool),
    Read,
    Arrive(usize, bool, bool),
}

fn turn_step() -> impl Strategy<Value = TurnStep> {
    prop_oneof![
        6 => (0..4_u64).prop_map(TurnStep::Put),
        2 => any::<bool>().prop_map(TurnStep::Turn),
        1 => Just(TurnStep::Turn(true)),
        3 => Just(TurnStep::Read),
        6 => (0..4_usize, any::<bool>(), any::<bool>())
            .prop_map(|(n, c, l)| TurnStep::Arrive(n, c, l)),
    ]
}

proptest! {
    /// Whatever of datagrams is lost, copied and overtaken by others and by the link: each is taken in its turn, in their
    /// order, and each that was for the reader was taken or is counted.
    #[test]
    fn in_turns_newest_wins_and_all_is_counted(
        steps in proptest::collection::vec(turn_step(), 1..300)
    ) {
        let mut group = Turns::new();
        for step in steps {
            match step {
                TurnStep::Put(count) => group.put(count),
                TurnStep::Turn(grouped) => group.turn(grouped),
                TurnStep::Read => group.read(),
                TurnStep::Arrive(at, copied, lost) => {
                    if group.wire.is_empty() {
                        continue;
                    }
                    let one = group.wire.remove(at.min(group.wire.len() - 1));
                    if copied {
                        group.wire.push(one.clone());
                    }
                    if !lost {
                        group.come(&one);
                    }
                }
            }
        }
        group.turn(false);
        while !group.link.is_empty() {
            group.read();
        }
        prop_assert_eq!(group.taken.len() as u64 + group.lost, group.meant);
        // What was on its way is late.
        let taken = group.taken.len();
        for late in std::mem::take(&mut group.wire) {
            group.come(&late);
        }
        prop_assert_eq!((group.taken.len(), group.lost), (taken, group.meant - taken as u64));
    }

    #[test]
    fn in_turns_any_bytes_are_taken_or_refused(
        datagrams in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 1..8),
        turns in proptest::collection::vec(any::<(u64, u64, bool)>(), 1..8),
    ) {
        let mut incoming = GroupIn::new(SECRET);
        for (datagram, (turn, sent, grouped)) in datagrams.into_iter().zip(turns) {
            let mut known = vec![1, 0];
            known.extend(SECRET);
            known.extend(&datagram);
            for bytes in [&datagram, &known] {
                let (frames, _) = incoming.take(bytes);
                prop_assert!(frames.len() < bytes.len() || bytes.is_empty());
            }
            incoming.begin_turn(turn, sent, grouped);
            while incoming.next_kept().is_some() {}
            incoming.lost();
        }
    }
}

/// The link is slower than datagrams: what is sent first comes before it is known to be for this reader.
#[test]
fn what_comes_before_its_turn_is_announced_waits_for_it() {
    let mut group = Turns::new();
    group.turn(false);
    // For others, far more than is kept.
    group.flood();
    group.turn(false);
    group.put(1);
    group.turn(true);
    group.put(2);
    for datagram in std::mem::take(&mut group.wire) {
        group.come(&datagram);
    }
    assert_eq!(group.taken, []);
    group.read();
    group.read();
    assert_eq!(group.taken, [], "they are of the next turn");
    group.read();
    assert_eq!((group.taken.len(), group.lost), (2, 0));
    // Of two turns that are announced behind one another.
    group.turn(false);
    group.turn(true);
    group.put(3);
    let early = group.wire.pop().unwrap();
    group.come(&early);
    group.read();
    group.read();
    assert_eq!((group.taken.len(), group.lost), (5, 0));
}

/// Before the first turn that is for this end the last that came is kept, after it the first: what there is no room for is lost.
#[test]
fn what_waits_for_a_turn_has_a_bound() {
    const KEPT: usize = 1 << 20;
    for grouped in [false, true] {
        let mut group = Turns::new();
        if grouped {
            group.turn(true);
            group.read();
        }
        group.turn(true);
        let bytes = group.flood();
        let sent = group.next;
        group.turn(true);
        group.read();
        let (all, came) = (sent as usize, group.taken.len());
        let most = all * KEPT / bytes;
        assert!(came <= most && came > most / 2, "{came} of {most}");
        let kept = if grouped {
            0..came as u64
        } else {
            sent - came as u64..sent
        };
        assert_eq!(group.taken, kept.collect::<Vec<_>>());
        group.read();
        assert_eq!(
            (group.taken.len() as u64 + group.lost, group.lost > 0),
            (sent, true)
        );
    }
}

/// Whoever is on the sender's host may say that its datagrams are of any turn.
#[test]
fn a_datagram_of_a_turn_that_does_not_come_is_in_no_others_way() {
    for grouped in [false, true] {
        let mut group = Turns::new();
        if grouped {
            group.turn(true);
            group.read();
        }
        let mut far = GroupOut::new(SECRET, 1400);
        for _ in 0..100 {
            far.next_turn();
        }
        // More than is kept.
        for _ in 0..2000 {
            let frame = best_effort(0);
            let (frame, _) = split_frame(&frame).unwrap().unwrap();
            for _ in 0..30 {
                far.put(&DataFrame::new(&read_data(frame).unwrap().unwrap()));
            }
            group.come(far.datagram());
            far.sent();
        }
        for _ in 0..3 {
            group.turn(true);
            group.put(1);
            let early = group.wire.pop().unwrap();
            group.come(&early);
            group.read();
        }
        assert_eq!((group.taken, group.lost), (vec![0, 1, 2], 0));
    }
}

#[test]
fn who_hears_nothing_says_so_and_is_told_when_it_hears_again() {
    let mut group = Turns::new();
    group.turn(true);
    group.put(1);
    let first = group.wire.remove(0);
    let (_, tell) = group.incoming.take(&first);
    assert!(tell, "it is told once");
    group.read();
    let (_, tell) = group.incoming.take(&first);
    assert!(!tell);
    // In a turn in which nothing was sent nothing is missed.
    let mut deaf = 0;
    for turn in 0..10 {
        if turn % 2 == 0 {
            group.put(2);
        }
        group.turn(true);
        let (turn, sent, grouped) = group.link.pop_front().unwrap();
        deaf += u64::from(group.incoming.begin_turn(turn, sent, grouped));
        group.incoming.lost();
    }
    assert_eq!(deaf, 1, "once, after three in which it was");
    let stranger = GroupOut::new([8; 16], 1400).datagram().to_vec();
    assert_eq!(group.incoming.take(&stranger), (&[][..], false));
    group.send();
    let again = group.wire.pop().unwrap();
    assert!(group.incoming.take(&again).1);
}

/// Whoever has the secret may say that more was sent; how much it was the sender says on the link.
#[test]
fn what_others_say_was_sent_is_believed_until_the_next_turn() {
    for more in [1 << 20, 1 << 63, u64::MAX] {
        let mut group = Turns::new();
        group.turn(true);
        group.read();
        for (count, spoils) in [(3, true), (4, false)] {
            group.put(count);
            let honest = group.wire.pop().unwrap();
            if spoils {
                let mut forged = honest[..34].to_vec();
                forged[18..26].copy_from_slice(&u64::to_le_bytes(more));
                group.come(&forged);
            }
            group.come(&honest);
            assert_eq!(group.taken.len(), if spoils { 0 } else { 4 });
            group.turn(true);
            group.read();
            assert_eq!(group.lost, 3, "after one that says {more}");
        }
    }
}

#[test]
fn only_best_effort_in_receive_order_may_travel_so() {
    let stamp = |retraction| Stamp {
        time: LogicalTime::integer64(1),
        retraction,
    };
    for (transportation, stamped, may) in [
        (Transportation::BestEffort, None, true),
        (Transportation::BestEffort, Some(stamp(None)), true),
        (Transportation::BestEffort, Some(stamp(Some(1))), false),
        (Transportation::Reliable, None, false),
    ] {
        let frame = number(1, transportation, stamped);
        let (frame, _) = split_frame(&frame).unwrap().unwrap();
        assert_eq!(read_data(frame).unwrap().unwrap().is_best_effort(), may);
    }
}
