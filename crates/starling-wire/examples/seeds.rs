//! Writes the seeds of the fuzz targets `wire_frame`, two frames of one kind in each, and `save`, the same at every
//! run: in the root of the project
//! `rm fuzz/seeds/wire_frame/* fuzz/seeds/save/*; cargo run -p starling-wire --example seeds -- fuzz/seeds`

#[path = "../tests/any/mod.rs"]
mod any;

use any::any_of;
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use starling_core::message::*;
use starling_core::{
    AddressBuf, DimensionHandle, FederateHandle, RegionHandle, SavedFederation, Transportation,
    ValuesBuf,
};
use starling_wire::*;

const OF_EACH_KIND: usize = 25;

fn main() -> Result<(), String> {
    let directory = std::env::args().nth(1).ok_or("which directory?")?;
    let (mut runner, mut runner_of_saves) =
        (TestRunner::deterministic(), TestRunner::deterministic());
    for number in 0..OF_EACH_KIND {
        let kinds = [
            (
                "to-executive",
                any_of::<ToExecutive>().prop_map(to_executive).boxed(),
            ),
            (
                "from-executive",
                any_of::<FromExecutive>().prop_map(from_executive).boxed(),
            ),
            (
                "link-request",
                any_of::<LinkRequest>().prop_map(link_request).boxed(),
            ),
            (
                "link-notice",
                any_of::<LinkNotice>().prop_map(link_notice).boxed(),
            ),
            ("on-link", any_of::<OnLink>().prop_map(on_link).boxed()),
            ("on-trunk", on_trunk()),
            ("data", data()),
            ("greeting", greeting()),
        ];
        for (kind, frame) in kinds {
            let two = vec(frame, 2).new_tree(&mut runner);
            let two = two.map_err(|e| e.to_string())?.current().concat();
            write(&format!("{directory}/wire_frame/{kind}-{number}"), &two)?;
        }
        let mut any = |of: BoxedStrategy<Vec<u8>>| {
            let tree = of
                .new_tree(&mut runner_of_saves)
                .map_err(|e| e.to_string())?;
            Ok::<_, String>(tree.current())
        };
        let one = any(datagram())?;
        write(&format!("{directory}/wire_frame/datagram-{number}"), &one)?;
        let one = any(parcels())?;
        write(&format!("{directory}/wire_frame/parcels-{number}"), &one)?;
        let state = any(any_of::<SavedFederation>().prop_map(save).boxed())?;
        write(&format!("{directory}/save/state-{number}"), &state)?;
        let said = any(any_of::<Description>().prop_map(description).boxed())?;
        write(&format!("{directory}/save/description-{number}"), &said)?;
    }
    Ok(())
}

fn on_trunk() -> BoxedStrategy<Vec<u8>> {
    let said = (
        0..14,
        any::<u64>(),
        any::<u64>(),
        ".{0,20}",
        vec(any::<u8>(), 0..50),
    );
    let put = |(choice, channel, number, text, bytes): (_, u64, u64, String, Vec<u8>)| {
        let mut out = Vec::new();
        let why = &*text;
        put_on_trunk(
            &mut out,
            &match choice {
                0 => OnTrunk::Begin,
                1 => OnTrunk::Open { channel, path: why },
                2 => OnTrunk::Bytes {
                    channel,
                    bytes: &bytes,
                },
                3 => OnTrunk::Deliver {
                    channels: vec![channel, number],
                    frames: &bytes,
                },
                4 => OnTrunk::Close { channel, why },
                5 => OnTrunk::Room {
                    channel,
                    position: number,
                },
                6 => OnTrunk::Member {
                    channel,
                    group: number,
                    federate: FederateHandle(number as u32),
                },
                7 => OnTrunk::NoMember { channel },
                8 => OnTrunk::Datagrams,
                9 => OnTrunk::Way {
                    port: number as u32,
                    secret: &bytes,
                },
                10 => OnTrunk::NoWay { why },
                11 => OnTrunk::Sent {
                    channel,
                    messages: number,
                },
                12 => OnTrunk::BestEffort { channel, by: why },
                _ => OnTrunk::Ends { channel },
            },
        );
        out
    };
    said.prop_map(put).boxed()
}

fn write(seed: &str, bytes: &[u8]) -> Result<(), String> {
    std::fs::write(seed, bytes).map_err(|e| format!("{seed}: {e}"))
}

fn save(saved: SavedFederation) -> Vec<u8> {
    let mut out = Vec::new();
    put_save(&mut out, &saved);
    out
}

fn description(said: Description) -> Vec<u8> {
    let mut out = Vec::new();
    put_description(&mut out, &said);
    out
}

fn to_executive(message: ToExecutive) -> Vec<u8> {
    let mut out = Vec::new();
    put_to_executive(&mut out, &message);
    out
}

fn from_executive(message: FromExecutive) -> Vec<u8> {
    let mut out = Vec::new();
    put_from_executive(&mut out, &message);
    out
}

fn link_request(request: LinkRequest) -> Vec<u8> {
    let mut out = Vec::new();
    put_link_request(&mut out, &request);
    out
}

fn link_notice(notice: LinkNotice) -> Vec<u8> {
    let mut out = Vec::new();
    put_link_notice(&mut out, &notice);
    out
}

fn on_link(said: OnLink) -> Vec<u8> {
    let mut out = Vec::new();
    put_on_link(&mut out, &said);
    out
}

/// Updates and interactions with all that they may have, and fences.
/// A head, and whole frames; some are no best-effort data.
fn datagram() -> BoxedStrategy<Vec<u8>> {
    let head = (0..4u8, any::<[u8; 16]>(), 0..3u64, 0..3u64);
    let whole = |((flags, secret, before, behind), frames): (_, Vec<Vec<u8>>)| {
        let mut out = vec![1, flags];
        out.extend::<[u8; 16]>(secret);
        out.extend(u64::to_le_bytes(before));
        out.extend(u64::to_le_bytes(behind));
        out.extend(frames.concat());
        out
    };
    (head, vec(data(), 0..4)).prop_map(whole).boxed()
}

/// The same of parcels, for up to three channels each.
fn parcels() -> BoxedStrategy<Vec<u8>> {
    let places = vec((0..200u64, 0..3u64, 0..3u64), 1..4);
    let parcel = (places, vec(data(), 1..4));
    type Drawn = (Vec<(u64, u64, u64)>, Vec<Vec<u8>>);
    let whole = |(secret, parcels): ([u8; 16], Vec<Drawn>)| {
        let mut out = ParcelsOut::new(&secret, DATAGRAM_BYTES_MAX);
        for (places, frames) in parcels {
            let place = |(channel, before, behind)| Place {
                channel,
                before,
                behind,
            };
            let places: Vec<_> = places.into_iter().map(place).collect();
            assert!(out.put(&places, &frames.concat()), "it is small");
        }
        out.datagram(true, true).to_vec()
    };
    (any::<[u8; 16]>(), vec(parcel, 0..3))
        .prop_map(whole)
        .boxed()
}

fn data() -> BoxedStrategy<Vec<u8>> {
    let values = vec((0..200u32, vec(any::<u8>(), 0..20)), 0..4);
    let payload = (
        values,
        vec(any::<u8>(), 0..9),
        any::<bool>(),
        any_of::<Option<Stamp>>(),
        any_of::<Option<Vec<FederateHandle>>>(),
        vec((any_of::<RegionHandle>(), 0..900u32, 1..900u32), 0..3),
    );
    let place = (any::<[u64; 3]>(), 0..3u8, any_of::<FederateHandle>());
    (
        place,
        payload,
        any_of::<starling_core::ObjectInstanceHandle>(),
        any_of(),
    )
        .prop_map(|((numbers, kind, sender), payload, instance, class)| {
            let (list, tag, reliable, stamp, receivers, regions) = payload;
            let mut values = ValuesBuf::default();
            for (slot, value) in &list {
                values.push(*slot, value);
            }
            let dimension = DimensionHandle::from_raw(3);
            let regions = regions.into_iter().map(|(region, lower, width)| {
                let upper = lower + width;
                let range = Range {
                    dimension,
                    lower,
                    upper,
                };
                (region, [range])
            });
            let regions: Vec<_> = regions.collect();
            let regions = regions
                .iter()
                .map(|(region, ranges)| (*region, &ranges[..]));
            let address = receivers.map(|to| AddressBuf::new(&to, regions));
            let payload = Payload {
                transportation: if reliable {
                    Transportation::Reliable
                } else {
                    Transportation::BestEffort
                },
                values: values.values(),
                tag: &tag,
                address: address.as_ref().map(AddressBuf::borrow),
                stamp,
            };
            let [requests, index, request] = numbers;
            let body = match kind {
                0 => DataBody::Update { instance, payload },
                1 => DataBody::Interaction { class, payload },
                _ => DataBody::Fence {
                    request: RequestNumber(request),
                },
            };
            let after = After {
                requests: RequestNumber(requests),
                index: LogIndex(index),
            };
            let mut out = Vec::new();
            put_data(
                &mut out,
                &Data {
                    sender,
                    after,
                    body,
                },
            );
            out
        })
        .boxed()
}

/// Hello and Welcome, and a heartbeat.
fn greeting() -> BoxedStrategy<Vec<u8>> {
    let said = (
        any::<u32>(),
        any_of::<PeerInfo>(),
        any_of::<Option<String>>(),
        any::<u64>(),
        any_of::<Vec<u8>>(),
        any::<bool>(),
    );
    said.prop_map(|(version, info, refusal, frame_bytes_max, answer, hello)| {
        let mut out = Vec::new();
        if hello {
            let challenge = answer;
            put_hello(
                &mut out,
                &Hello {
                    version,
                    info,
                    challenge,
                    compression: 1,
                },
            );
        } else {
            put_welcome(
                &mut out,
                &Welcome {
                    version,
                    info,
                    refusal,
                    frame_bytes_max,
                    answer,
                    compression: 1,
                },
            );
        }
        put_heartbeat(&mut out);
        out
    })
    .boxed()
}
