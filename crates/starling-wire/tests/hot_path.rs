//! What an update takes on its way from one LRC to others: no memory at its sender, by whichever path, and
//! at the executive, and at its receiver what a batch takes for all that came together. Exact instruction counts change with every compiler; these
//! and the sizes of what is moved (asserted in the core) do not.

use starling_core::message::{Data, FromExecutive, ModuleSource, PeerInfo, Question, ToExecutive};
use starling_core::{
    Batch, Callback, DataOut, DataPath, Executive, FederateHandle, LogicalTime,
    LogicalTimeInterval, Lrc, Order, Outbox, PeerId,
};
use starling_wire::{PlainFrames, put_data, read_data, run_of_data, split_frame};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const FOM: &str = "<objectModel><objects><objectClass><name>HLAobjectRoot</name><objectClass>\
    <name>A</name><attribute><name>x</name></attribute><attribute><name>y</name></attribute>\
    <attribute><name>z</name><order>TimeStamp</order></attribute></objectClass></objectClass></objects>\
    </objectModel>";
const SENDER: PeerId = PeerId(1);
const RECEIVER: PeerId = PeerId(2);
const OTHER: PeerId = PeerId(3);
const UPDATES: usize = 1_000;
const BATCH_BYTES: usize = 16_384;

/// A link's buffer, and what goes before data.
#[derive(Default)]
struct Sent {
    control: Vec<ToExecutive>,
    frames: Vec<u8>,
    /// Frames by each path.
    forwarded: usize,
    direct: usize,
}

impl Outbox for Sent {
    fn to_executive(&mut self, message: ToExecutive) {
        self.control.push(message);
    }
    fn data(&mut self, frame: DataOut<'_>) {
        match frame.path {
            DataPath::Executive => self.forwarded += 1,
            DataPath::Direct => self.direct += 1,
        }
        put_data(&mut self.frames, frame.data);
    }
    fn fence(&mut self, _: FederateHandle, _: &Data<'_>) {
        panic!("nothing here ends while a link is used");
    }
}

struct Bed {
    executive: Executive,
    sender: Lrc<Sent>,
    receiver: Lrc<Sent>,
    other: Lrc<Sent>,
}

impl Bed {
    fn new() -> Self {
        let lrc = || Lrc::new(Sent::default(), DataPath::Executive);
        let mut bed = Bed {
            executive: Executive::new(),
            sender: lrc(),
            receiver: lrc(),
            other: lrc(),
        };
        for peer in [SENDER, RECEIVER, OTHER] {
            bed.executive.connected(peer, PeerInfo::default());
        }
        let module = ModuleSource {
            designator: "A.xml".into(),
            text: FOM.as_bytes().into(),
        };
        let created = bed
            .sender
            .create_federation_execution("F", vec![module], None, "");
        created.unwrap();
        bed.run();
        for lrc in [&mut bed.sender, &mut bed.receiver, &mut bed.other] {
            lrc.join_federation_execution(None, "k", "F", vec![])
                .unwrap();
        }
        bed.run();
        bed
    }

    fn all(&mut self) -> [(PeerId, &mut Lrc<Sent>); 3] {
        [
            (SENDER, &mut self.sender),
            (RECEIVER, &mut self.receiver),
            (OTHER, &mut self.other),
        ]
    }

    /// All that was said arrives; whether nothing was.
    fn exchange(&mut self) -> bool {
        for n in 0..3 {
            let (peer, lrc) = &mut self.all()[n];
            let (peer, control) = (*peer, std::mem::take(&mut lrc.outbox().control));
            for message in control {
                self.executive.receive(peer, message).unwrap();
            }
        }
        self.executive.settle();
        let mut idle = true;
        while let Some((to, message)) = self.executive.poll_output() {
            idle = false;
            if let FromExecutive::Removed(why) = &message {
                panic!("{why}");
            }
            let mut all = self.all().into_iter();
            let (_, lrc) = all.find(|(peer, _)| *peer == to).expect("one of three");
            lrc.receive(message).unwrap();
        }
        idle
    }

    fn run(&mut self) {
        loop {
            let idle = self.exchange();
            for (_, lrc) in self.all() {
                while lrc.next_callback().is_some() {}
            }
            if idle {
                return;
            }
        }
    }
}

/// Calls for memory, new and grown.
fn calls(region: &Region<'_, System>) -> usize {
    let change = region.change();
    change.allocations + change.reallocations
}

/// One test, since the allocator counts what all threads take, that of the tests' results, too.
#[test]
fn memory() {
    an_update_takes_no_memory_but_in_a_batch_at_its_receiver();
    what_goes_to_the_same_federates_is_forwarded_together_and_counted_once();
    a_message_in_time_stamp_order_takes_one_block_and_a_part_of_a_batch_at_its_receiver();
}

fn an_update_takes_no_memory_but_in_a_batch_at_its_receiver() {
    let mut bed = Bed::new();
    let class = bed.sender.object_class_handle("HLAobjectRoot.A").unwrap();
    let x = bed.sender.attribute_handle(class, "x").unwrap();
    for lrc in [&mut bed.receiver, &mut bed.other] {
        lrc.subscribe_object_class_attributes(class, &[x], true, "")
            .unwrap();
    }
    bed.run();
    bed.sender
        .publish_object_class_attributes(class, &[x])
        .unwrap();
    let instance = bed.sender.register_object_instance(class, None).unwrap();
    bed.run();

    // The second round counts: by then buffers have their sizes.
    let mut taken = [0; 3];
    for _ in 0..2 {
        bed.sender.outbox().frames.clear();
        let region = Region::new(ALLOCATOR);
        for _ in 0..UPDATES {
            bed.sender
                .update_attribute_values(instance, &[(x, &[7; 100])], b"t")
                .unwrap();
        }
        taken[0] = calls(&region);

        let frames = std::mem::take(&mut bed.sender.outbox().frames);
        let (mut rest, mut to) = (&frames[..], Vec::with_capacity(4));
        let region = Region::new(ALLOCATOR);
        // Half of them together, the others one by one.
        let plain = PlainFrames::new(&frames[..frames.len() / 2], usize::MAX);
        let run = bed.executive.data_run(SENDER, plain, &mut to).unwrap();
        assert!(run > frames.len() / 2 - 200 && to == [RECEIVER, OTHER]);
        rest = &rest[run..];
        while let Some((frame, size)) = split_frame(rest).unwrap() {
            let data = read_data(frame).expect("all are data").unwrap();
            bed.executive.data(SENDER, &data, &mut to).unwrap();
            assert_eq!(to, [RECEIVER, OTHER]);
            rest = &rest[size..];
        }
        taken[1] = calls(&region);

        let mut rest = &frames[..];
        let region = Region::new(ALLOCATOR);
        let (mut reflected, mut batch, mut batches) = (0, Batch::default(), 0);
        while !rest.is_empty() {
            let run = run_of_data(rest, BATCH_BYTES);
            assert!(run > BATCH_BYTES - 200 || run == rest.len(), "{run}");
            batch.refill(&rest[..run]);
            rest = &rest[run..];
            batches += 1;
            let mut frames = batch.bytes();
            while let Some((frame, size)) = split_frame(frames).unwrap() {
                let data = read_data(frame).expect("all are data").unwrap();
                bed.receiver
                    .receive_data(&data, DataPath::Executive, Some(&batch))
                    .unwrap();
                frames = &frames[size..];
            }
        }
        while let Some(callback) = bed.receiver.next_callback() {
            let Callback::ReflectAttributeValues { values, .. } = &callback else {
                panic!("{callback}");
            };
            assert_eq!(values.tag(), b"t");
            reflected += values.iter().map(|(_, value)| value.len()).sum::<usize>();
        }
        // A batch is counted, and its bytes.
        taken[2] = calls(&region) - 2 * batches;
        assert_eq!(reflected, 100 * UPDATES);
        bed.sender.outbox().frames = frames;
    }
    assert_eq!(taken, [0, 0, 0]);

    // Some of the receivers have links of their own, then all.
    let update = |bed: &mut Bed| {
        bed.sender
            .update_attribute_values(instance, &[(x, &[7; 100])], b"t")
            .unwrap();
    };
    for (peer, by_paths) in [(&bed.receiver, (1, 1)), (&bed.other, (0, 1))]
        .map(|(lrc, paths)| (lrc.federate().unwrap().handle(), paths))
    {
        bed.sender.set_data_path(peer, DataPath::Direct);
        bed.run();
        update(&mut bed);
        let out = bed.sender.outbox();
        out.frames.clear();
        out.frames.reserve(2 * UPDATES * 200);
        (out.forwarded, out.direct) = (0, 0);
        let region = Region::new(ALLOCATOR);
        for _ in 0..UPDATES {
            update(&mut bed);
        }
        assert_eq!(calls(&region), 0, "{by_paths:?}");
        let out = bed.sender.outbox();
        let sent = (out.forwarded / UPDATES, out.direct / UPDATES);
        assert_eq!(sent, by_paths);
    }
}

fn what_goes_to_the_same_federates_is_forwarded_together_and_counted_once() {
    let mut bed = Bed::new();
    let class = bed.sender.object_class_handle("HLAobjectRoot.A").unwrap();
    let [x, y] = ["x", "y"].map(|name| bed.sender.attribute_handle(class, name).unwrap());
    for (lrc, attributes) in [(&mut bed.receiver, &[x][..]), (&mut bed.other, &[x, y])] {
        lrc.subscribe_object_class_attributes(class, attributes, true, "")
            .unwrap();
    }
    bed.run();
    bed.sender
        .publish_object_class_attributes(class, &[x, y])
        .unwrap();
    let [first, second] =
        [(); 2].map(|()| bed.sender.register_object_instance(class, None).unwrap());
    bed.run();
    let updates = [
        (first, &[x][..]),
        (second, &[x, y]),
        (first, &[y]),
        (first, &[x]),
        (second, &[x]),
    ];
    for (instance, attributes) in updates {
        let values: Vec<_> = attributes.iter().map(|a| (*a, &b"value"[..])).collect();
        bed.sender
            .update_attribute_values(instance, &values, b"t")
            .unwrap();
    }
    let mut frames = std::mem::take(&mut bed.sender.outbox().frames);
    // A heartbeat ends a run, and so does a frame that is too long, or not whole.
    frames.extend([1, 0, 0, 0, 2]);
    let mut rest = &frames[..];
    let mut runs = Vec::new();
    let mut to = Vec::new();
    loop {
        let plain = PlainFrames::new(rest, 1_000);
        let run = bed.executive.data_run(SENDER, plain, &mut to).unwrap();
        if run == 0 {
            break;
        }
        let count = PlainFrames::new(&rest[..run], 1_000).count();
        runs.push((count, to.clone()));
        rest = &rest[run..];
    }
    assert_eq!(rest.len(), 5);
    let both = vec![RECEIVER, OTHER];
    assert_eq!(runs, [(2, both.clone()), (1, vec![OTHER]), (2, both)]);
    assert_eq!(PlainFrames::new(&frames, 5).count(), 0);
    assert_eq!(
        PlainFrames::new(&frames[..frames.len() - 6], 1_000).count(),
        4
    );
    frames[4] += 8; // Best effort.
    let plain = || PlainFrames::new(&frames, 1_000);
    assert_eq!((plain().count(), plain().reliable().count()), (5, 0));
    assert!(plain().reliable().is_none() && !plain().is_none());
    // Nobody sends in another's name, or what is not its own.
    for foreign in [RECEIVER, PeerId(9)] {
        let plain = PlainFrames::new(&frames, 1_000);
        let run = bed.executive.data_run(foreign, plain, &mut to).unwrap();
        assert!(run == 0 && to.is_empty());
    }

    let question = Question {
        federation: String::new(),
        federate: bed.other.federate().unwrap().name().to_owned(),
        subject: Some(bed.sender.object_instance_name(first).unwrap()),
    };
    bed.executive
        .receive(SENDER, ToExecutive::QueryWhy(question))
        .unwrap();
    let Some((_, FromExecutive::Why(findings))) = bed.executive.poll_output() else {
        panic!("no answer");
    };
    let updated = findings.iter().find(|f| f.link == "updated").unwrap();
    assert_eq!(updated.detail, "3 have come to the executive");
}

fn a_message_in_time_stamp_order_takes_one_block_and_a_part_of_a_batch_at_its_receiver() {
    const STEPS: usize = 10;
    let mut bed = Bed::new();
    let class = bed.sender.object_class_handle("HLAobjectRoot.A").unwrap();
    let z = bed.sender.attribute_handle(class, "z").unwrap();
    bed.receiver
        .subscribe_object_class_attributes(class, &[z], true, "")
        .unwrap();
    bed.receiver.enable_time_constrained().unwrap();
    bed.run();
    bed.sender
        .publish_object_class_attributes(class, &[z])
        .unwrap();
    let instance = bed.sender.register_object_instance(class, None).unwrap();
    let lookahead = LogicalTimeInterval::float64(1.0).unwrap();
    bed.sender.enable_time_regulation(lookahead).unwrap();
    bed.run();

    let (mut taken, mut batches, mut reflected) = (0, 0, 0);
    for step in 1..=STEPS {
        let now = LogicalTime::float64(step as f64).unwrap();
        for _ in 0..UPDATES {
            bed.sender
                .update_attribute_values_at(instance, &[(z, &[7; 100])], b"t", now)
                .unwrap();
        }
        let frames = std::mem::take(&mut bed.sender.outbox().frames);
        let mut rest = &frames[..];
        let mut to = Vec::new();
        while let Some((frame, size)) = split_frame(rest).unwrap() {
            let data = read_data(frame).expect("all are data").unwrap();
            bed.executive.data(SENDER, &data, &mut to).unwrap();
            assert_eq!(to, [RECEIVER]);
            rest = &rest[size..];
        }
        let mut batch = Batch::default();
        let mut rest = &frames[..];
        let region = Region::new(ALLOCATOR);
        while !rest.is_empty() {
            let run = run_of_data(rest, BATCH_BYTES);
            assert!(run > 1_000 || run == rest.len(), "{run}");
            batch.refill(&rest[..run]);
            rest = &rest[run..];
            batches += 1;
            let mut frames = batch.bytes();
            while let Some((frame, size)) = split_frame(frames).unwrap() {
                let data = read_data(frame).expect("all are data").unwrap();
                bed.receiver
                    .receive_data(&data, DataPath::Executive, Some(&batch))
                    .unwrap();
                frames = &frames[size..];
            }
        }
        taken += calls(&region);
        bed.receiver.time_advance_request(now).unwrap();
        bed.sender.time_advance_request(now).unwrap();
        while !bed.exchange() {}
        let region = Region::new(ALLOCATOR);
        while let Some(callback) = bed.receiver.next_callback() {
            reflected += match &callback {
                Callback::ReflectAttributeValues { time, .. } => {
                    let time = time.as_deref().map(|t| (t.time, t.received, t.retraction));
                    let (at, received, retraction) = time.expect("it has one");
                    assert_eq!((at, received), (now, Order::TimeStamp));
                    assert_eq!(retraction.number(), reflected as u64 + 1);
                    1
                }
                _ => 0,
            };
        }
        taken += calls(&region);
        bed.run();
    }
    assert_eq!(reflected, STEPS * UPDATES);
    // The lists of a time grow, too.
    let most = reflected + 2 * batches + 30 * STEPS;
    assert!(taken <= most, "{taken} blocks, {most} allowed");
}
