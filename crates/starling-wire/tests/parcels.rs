//! Best-effort data for channels of trunks, by datagrams over two networks that lose, copy and reorder them, with a
//! forwarder between.

use proptest::prelude::*;
use starling_core::message::{After, Data, DataBody, LogIndex, Payload, RequestNumber};
use starling_core::{FederateHandle, InteractionClassHandle, Transportation, ValuesBuf};
use starling_wire::{
    DATAGRAM_BYTES_MAX, Lane, PLACES_MAX, ParcelsOut, Place, put_data, read_data, split_frame,
    split_parcels,
};
use std::collections::VecDeque;

const SECRET: [u8; 16] = [7; 16];
const CHANNELS: [u64; 2] = [3, 300];

fn frame(number: u64, transportation: Transportation) -> Vec<u8> {
    let mut values = ValuesBuf::default();
    values.push(0, &number.to_le_bytes());
    let mut frame = Vec::new();
    let body = DataBody::Interaction {
        class: InteractionClassHandle::from_raw(4),
        payload: Payload {
            transportation,
            values: values.values(),
            tag: &[],
            address: None,
            stamp: None,
        },
    };
    let after = After {
        requests: RequestNumber(1),
        index: LogIndex(2),
    };
    let sender = FederateHandle(3);
    let data = Data {
        sender,
        after,
        body,
    };
    put_data(&mut frame, &data);
    frame
}

fn best_effort(number: u64) -> Vec<u8> {
    frame(number, Transportation::BestEffort)
}

/// Another forwarder may have said that so many are lost.
#[test]
fn numbers_end_where_there_are_no_more() {
    let mut lane = Lane::default();
    lane.skip(u64::MAX);
    let mut out = ParcelsOut::new(&SECRET, 1400);
    for number in 0..3 {
        let place = lane.next(CHANNELS[0]);
        assert_eq!(place.before, u64::MAX);
        assert!(out.put(&[place], &best_effort(number)));
    }
    let (_, mut parcels) = split_parcels(out.datagram(true, false)).unwrap();
    let mut places = Vec::new();
    let parcel = parcels.next(&mut places).unwrap().unwrap();
    assert_eq!(numbers(parcel.frames), [0, 1, 2]);
    assert_eq!(places[0].before, u64::MAX);
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

fn place(channel: u64, before: u64) -> Place {
    let behind = 1 << 40;
    Place {
        channel,
        before,
        behind,
    }
}

/// Places and numbers of the parcels of a datagram.
fn parcels(datagram: &[u8]) -> Vec<(Vec<Place>, Vec<u64>)> {
    let (_, mut parcels) = split_parcels(datagram).unwrap();
    let (mut places, mut all) = (Vec::new(), Vec::new());
    while let Some(parcel) = parcels.next(&mut places).unwrap() {
        let numbers = numbers(parcel.frames);
        assert_eq!(parcel.count, numbers.len() as u64);
        all.push((places.clone(), numbers));
    }
    all
}

#[test]
fn messages_that_go_on_for_the_same_channels_share_a_parcel() {
    let mut out = ParcelsOut::new(&SECRET, 1400);
    let both = |before| CHANNELS.map(|channel| place(channel, before));
    assert!(out.is_empty());
    for number in 0..3 {
        assert!(out.put(&both(number), &best_effort(number)));
    }
    // One was lost between.
    assert!(out.put(&both(4), &best_effort(4)));
    assert!(out.put(&[place(3, 5)], &best_effort(5)));
    let datagram = out.datagram(true, false).to_vec();
    let (head, _) = split_parcels(&datagram).unwrap();
    assert_eq!((head.secret, head.hears, head.asks), (SECRET, true, false));
    assert_eq!(
        parcels(&datagram),
        [
            (both(0).to_vec(), vec![0, 1, 2]),
            (both(4).to_vec(), vec![4]),
            (vec![place(3, 5)], vec![5]),
        ]
    );
    out.sent();
    assert!(out.is_empty());
    // What would go on with the last one begins the next datagram.
    assert!(out.put(&[place(3, 6)], &best_effort(6)));
    assert_eq!(
        parcels(out.datagram(false, false)),
        [(vec![place(3, 6)], vec![6])]
    );
}

#[test]
fn a_datagram_is_no_larger_than_is_set_unless_it_has_one_message() {
    let mut out = ParcelsOut::new(&SECRET, 300);
    let mut count = 0;
    while out.put(&[place(3, count)], &best_effort(count)) {
        count += 1;
    }
    assert!(count > 3 && (200..=300).contains(&out.datagram(false, false).len()));
    out.sent();
    // Whoever it is for.
    let all: Vec<_> = (0..PLACES_MAX as u64)
        .map(|n| place(u64::MAX - n, n))
        .collect();
    let mut most = 0;
    while ParcelsOut::takes(most + 1) {
        most += 1;
    }
    assert!(most > 50_000);
    assert!(out.put(&all, &vec![0; most]));
    assert!(out.datagram(false, false).len() <= DATAGRAM_BYTES_MAX);
    out.sent();
    assert!(out.is_empty());
}

#[test]
fn what_is_no_parcel_is_refused() {
    let whole = |put: &dyn Fn(&mut ParcelsOut)| {
        let mut out = ParcelsOut::new(&SECRET, 1400);
        put(&mut out);
        out.datagram(false, false).to_vec()
    };
    let is_refused = |datagram: &[u8]| {
        let (_, mut parcels) = split_parcels(datagram).unwrap();
        parcels.next(&mut Vec::new()).is_err()
    };
    let good = whole(&|out| assert!(out.put(&[place(3, 0)], &best_effort(1))));
    assert!(!is_refused(&good));
    for end in 19..good.len() {
        assert!(is_refused(&good[..end]), "cut to {end}");
    }
    let reliable = frame(1, Transportation::Reliable);
    assert!(is_refused(&whole(&|out| assert!(
        out.put(&[place(3, 0)], &reliable)
    ))));
    assert!(is_refused(&whole(&|out| assert!(
        out.put(&[place(3, 0)], &[])
    ))));
    assert!(is_refused(&whole(&|out| assert!(
        out.put(&[], &best_effort(1))
    ))));
    let mut more = good.clone();
    more.splice(18..22, [0xff; 4]);
    assert!(is_refused(&more));
    // Another format, flags that there are not, and half a head.
    assert!(split_parcels(&[&[1], &good[1..]].concat()).is_none());
    assert!(split_parcels(&[&[2, 4], &good[2..]].concat()).is_none());
    assert!(split_parcels(&good[..17]).is_none());
}

/// What is said on the stream.
enum Said {
    /// Of a channel, up to there: a message of best-effort data, or something else.
    Stream(usize, u64, Option<u64>),
    Sent(usize, u64),
}

/// A trunk in one direction.
struct Hop {
    out: ParcelsOut,
    wire: Vec<Vec<u8>>,
    stream: VecDeque<Said>,
    from: [Lane; 2],
    to: [Lane; 2],
    position: [u64; 2],
    read: [u64; 2],
}

/// Messages of these channels that have come by datagram, or on the stream of one.
type Came = Vec<(Vec<usize>, u64, bool)>;

impl Hop {
    fn new() -> Self {
        Hop {
            out: ParcelsOut::new(&SECRET, 200),
            wire: Vec::new(),
            stream: VecDeque::new(),
            from: Default::default(),
            to: Default::default(),
            position: [0; 2],
            read: [0; 2],
        }
    }

    fn send(&mut self, to: &[usize], number: u64) {
        let places: Vec<_> = to
            .iter()
            .map(|c| self.from[*c].next(CHANNELS[*c]))
            .collect();
        if !self.out.put(&places, &best_effort(number)) {
            // They leave together.
            self.out.datagram(true, false);
            assert!(self.out.put(&places, &best_effort(number)));
        }
    }

    fn flush(&mut self) {
        if self.out.complete(true) {
            let (mut bytes, lengths) = self.out.leaving();
            for length in lengths {
                let datagram;
                (datagram, bytes) = bytes.split_at(*length);
                self.wire.push(datagram.to_vec());
            }
            assert!(bytes.is_empty());
            self.out.sent();
        }
        assert!(self.out.is_empty());
    }

    fn put(&mut self, channel: usize, number: Option<u64>) {
        self.position[channel] += 10;
        let position = self.position[channel];
        self.from[channel].follow(position);
        self.stream
            .push_back(Said::Stream(channel, position, number));
    }

    fn tell(&mut self) {
        for (channel, lane) in self.from.iter_mut().enumerate() {
            if let Some(messages) = lane.tell() {
                self.stream.push_back(Said::Sent(channel, messages));
            }
        }
    }

    fn read(&mut self) -> Came {
        let mut came = Vec::new();
        while let Some(said) = self.stream.pop_front() {
            match said {
                Said::Sent(channel, messages) => self.to[channel].sum_up(messages),
                Said::Stream(channel, position, number) => {
                    self.read[channel] = position;
                    if let Some(number) = number {
                        self.to[channel].note_streamed(position);
                        came.push((vec![channel], number, false));
                    }
                    while let Some(frames) = self.to[channel].next_kept(position) {
                        let kept = numbers(&frames).into_iter();
                        came.extend(kept.map(|number| (vec![channel], number, true)));
                    }
                }
            }
        }
        came
    }

    fn arrive(&mut self, at: usize, copied: bool, lost: bool) -> Came {
        let mut came = Vec::new();
        if self.wire.is_empty() {
            return came;
        }
        let datagram = self.wire.remove(at.min(self.wire.len() - 1));
        if copied {
            self.wire.push(datagram.clone());
        }
        if lost {
            return came;
        }
        let (_, mut parcels) = split_parcels(&datagram).unwrap();
        let mut places = Vec::new();
        while let Some(parcel) = parcels.next(&mut places).unwrap() {
            let mut here = Vec::new();
            for place in &places {
                let channel = CHANNELS.iter().position(|c| *c == place.channel).unwrap();
                if self.to[channel].take(place, &parcel, self.read[channel]) {
                    here.push(channel);
                }
            }
            if !here.is_empty() {
                let taken = numbers(parcel.frames).into_iter();
                came.extend(taken.map(|number| (here.clone(), number, true)));
            }
        }
        came
    }
}

#[derive(Clone, Debug)]
enum Step {
    /// A message by datagram, for one of the channels or both.
    Datagram(usize),
    /// One on a channel's stream.
    Stream(usize),
    Request(usize),
    /// It is dropped before it is sent, by the first or the second.
    Drop(bool, usize),
    /// Bundles leave.
    Flush,
    /// A beat at the first or the second.
    Tell(bool),
    /// A stream is read.
    Read(bool),
    /// The datagram that has been on its way the longest, or one after it, comes, is copied, or is lost.
    Arrive(bool, usize, bool, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let hop = any::<bool>;
    prop_oneof![
        6 => (0..3_usize).prop_map(Step::Datagram),
        1 => (0..2_usize).prop_map(Step::Stream),
        1 => (0..2_usize).prop_map(Step::Request),
        1 => (hop(), 0..2_usize).prop_map(|(h, c)| Step::Drop(h, c)),
        3 => Just(Step::Flush),
        1 => hop().prop_map(Step::Tell),
        3 => hop().prop_map(Step::Read),
        8 => (hop(), 0..3_usize, hop(), hop()).prop_map(|(h, n, c, l)| Step::Arrive(h, n, c, l)),
    ]
}

/// Two trunks and what has come at their end.
struct Chain {
    hops: [Hop; 2],
    taken: [Vec<u64>; 2],
}

impl Chain {
    /// What has come at a hop's end goes on.
    fn came(&mut self, hop: usize, came: Came) {
        for (channels, number, by_datagram) in came {
            if hop == 1 {
                channels.iter().for_each(|c| self.taken[*c].push(number));
            } else if by_datagram {
                self.hops[1].send(&channels, number);
            } else {
                self.hops[1].put(channels[0], Some(number));
            }
        }
        let [first, second] = &mut self.hops;
        for (to, from) in first.to.iter_mut().zip(&mut second.from) {
            from.skip(to.newly_lost());
        }
    }

    fn read(&mut self, hop: usize) {
        let came = self.hops[hop].read();
        self.came(hop, came);
    }
}

proptest! {
    /// Numbers only grow, and each message that was sent to a channel came, or is counted at its end.
    #[test]
    fn newest_wins_and_all_is_counted(steps in proptest::collection::vec(step(), 1..300)) {
        let mut chain = Chain {
            hops: [Hop::new(), Hop::new()],
            taken: Default::default(),
        };
        let (mut next, mut sent) = (0, [0_u64; 2]);
        for step in steps {
            match step {
                Step::Datagram(which) => {
                    let to = [&[0][..], &[1], &[0, 1]][which];
                    chain.hops[0].send(to, next);
                    to.iter().for_each(|c| sent[*c] += 1);
                    next += 1;
                }
                Step::Stream(channel) => {
                    chain.hops[0].put(channel, Some(next));
                    sent[channel] += 1;
                    next += 1;
                }
                Step::Request(channel) => chain.hops[0].put(channel, None),
                Step::Drop(first, channel) => {
                    // Of the second one it is as if it had come there.
                    chain.hops[usize::from(!first)].from[channel].skip(1);
                    sent[channel] += 1;
                }
                Step::Flush => chain.hops.iter_mut().for_each(Hop::flush),
                Step::Tell(first) => chain.hops[usize::from(!first)].tell(),
                Step::Read(first) => chain.read(usize::from(!first)),
                Step::Arrive(first, at, copied, lost) => {
                    let hop = usize::from(!first);
                    let came = chain.hops[hop].arrive(at, copied, lost);
                    chain.came(hop, came);
                }
            }
        }
        // What has not come by now never will.
        for hop in 0..2 {
            for _ in 0..2 {
                chain.hops[hop].flush();
                chain.hops[hop].tell();
                chain.read(hop);
            }
        }
        for (channel, sent) in sent.into_iter().enumerate() {
            let taken = &chain.taken[channel];
            prop_assert!(taken.windows(2).all(|w| w[0] < w[1]), "{taken:?}");
            let lost = chain.hops[1].to[channel].lost();
            prop_assert_eq!(taken.len() as u64 + lost, sent);
        }
        // Also what comes later, which is dropped.
        let counted = chain.hops[1].to.each_ref().map(Lane::lost);
        while !chain.hops[1].wire.is_empty() {
            let came = chain.hops[1].arrive(0, false, false);
            prop_assert!(came.is_empty(), "{came:?}");
        }
        prop_assert_eq!(chain.hops[1].to.each_ref().map(Lane::lost), counted);
    }

    #[test]
    fn any_bytes_are_taken_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        flags in 0..4_u8,
    ) {
        let datagram = [&[2, flags][..], &SECRET, &bytes].concat();
        let (_, mut parcels) = split_parcels(&datagram).unwrap();
        let mut places = Vec::new();
        while let Ok(Some(parcel)) = parcels.next(&mut places) {
            prop_assert!(parcel.count > 0 && !places.is_empty());
        }
    }
}
