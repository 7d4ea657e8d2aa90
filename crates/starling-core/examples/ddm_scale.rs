//! What moving a region costs, at 2,000 and at 20,000 regions in two dimensions:
//! `cargo run --release -p starling-core --example ddm_scale`
//!
//! Half of the regions are associated with an instance each at one federate, half are subscribed
//! with at another. All are squares of the same size; the space grows with their number, so each
//! meets two of the other kind on average. In a step 1 % of them move, each by up to its own side:
//! set, commit, executive, log entries and discoveries to both federates, and an update of what
//! has moved. All in one thread, without links.
#![allow(clippy::print_stdout, reason = "its result")]

use starling_core::message::{AttributeRegions, Data, ModuleSource, PeerInfo, ToExecutive};
use starling_core::{
    AttributeHandle, DataOut, DataPath, DimensionHandle, Executive, FederateHandle, Lrc,
    ObjectClassHandle, ObjectInstanceHandle, Outbox, PeerId, RegionHandle,
};
use std::time::Instant;

const SIDE: u32 = 1_000;
const MOVES: usize = 20_000;
const FOM: &str = r#"<objectModel><objects><objectClass><name>HLAobjectRoot</name>
<objectClass><name>A</name><attribute><name>x</name>
<dimensions><dimension>D</dimension><dimension>E</dimension></dimensions></attribute>
</objectClass></objectClass></objects>
<dimensions><dimension><name>D</name><upperBound>1000000000</upperBound></dimension>
<dimension><name>E</name><upperBound>1000000000</upperBound></dimension></dimensions>
</objectModel>"#;

fn main() {
    let costs = [2_000, 20_000].map(|regions| {
        let (cost, frames) = measure(regions);
        println!("{regions:>6} regions: {cost:.2} us per move, {frames} of {MOVES} updates sent");
        cost
    });
    println!("ratio {:.2}", costs[1] / costs[0]);
}

struct World {
    executive: Executive,
    federates: Vec<Lrc<Sent>>,
}

/// What a federate has sent: data only counts.
#[derive(Default)]
struct Sent {
    control: Vec<ToExecutive>,
    frames: usize,
}

impl Outbox for Sent {
    fn to_executive(&mut self, message: ToExecutive) {
        self.control.push(message);
    }
    fn data(&mut self, _: DataOut<'_>) {
        self.frames += 1;
    }
    fn fence(&mut self, _: FederateHandle, _: &Data<'_>) {
        panic!("data takes the executive's path here");
    }
}

fn measure(regions: u32) -> (f64, usize) {
    let mut world = World {
        executive: Executive::new(),
        federates: Vec::new(),
    };
    world.begin();
    // Half of the regions times (2 sides)^2 over the space is what one meets: 2.
    let space = (f64::from(regions) * f64::from(SIDE) * f64::from(SIDE)).sqrt() as u32;
    let mut random = 0x9e37_79b9_7f4a_7c15_u64;
    let mut draw = move |below: u32| {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        (random >> 32) as u32 % below
    };
    let class = world.federates[0].object_class_handle("A").unwrap();
    let x = world.federates[0].attribute_handle(class, "x").unwrap();
    let mut all = Vec::new();
    for n in 0..regions {
        let at = [draw(space), draw(space)];
        all.push(world.create(n % 2, at, class, x));
    }
    let mut spent = 0.0;
    let mut moved = 0;
    world.federates[0].outbox().frames = 0;
    while moved < MOVES {
        let step: Vec<_> = (0..regions / 100)
            .map(|_| (draw(regions) as usize, [draw(2 * SIDE), draw(2 * SIDE)]))
            .collect();
        let begun = Instant::now();
        for (n, by) in &step {
            world.move_one(&mut all[*n], *by, space, x);
        }
        spent += begun.elapsed().as_secs_f64();
        moved += step.len();
    }
    let frames = world.federates[0].outbox().frames;
    (spent * 1e6 / moved as f64, frames)
}

struct Region {
    of: usize,
    region: RegionHandle,
    at: [u32; 2],
    instance: Option<ObjectInstanceHandle>,
}

impl World {
    fn begin(&mut self) {
        for _ in 0..2 {
            let peer = PeerId(self.federates.len() as u64);
            self.executive.connected(peer, PeerInfo::default());
            let lrc = Lrc::new(Sent::default(), DataPath::Executive);
            self.federates.push(lrc);
        }
        let module = ModuleSource {
            designator: "scale.xml".into(),
            text: FOM.as_bytes().into(),
        };
        self.federates[0]
            .create_federation_execution("F", vec![module], None, "")
            .unwrap();
        self.send(0);
        for of in 0..2 {
            self.federates[of]
                .join_federation_execution(None, "scale", "F", vec![])
                .unwrap();
            self.send(of);
        }
        let class = self.federates[0].object_class_handle("A").unwrap();
        let x = self.federates[0].attribute_handle(class, "x").unwrap();
        self.federates[0]
            .publish_object_class_attributes(class, &[x])
            .unwrap();
        self.send(0);
    }

    /// What a federate has to say goes to the executive, and what that says to everybody.
    fn send(&mut self, of: usize) {
        for message in std::mem::take(&mut self.federates[of].outbox().control) {
            self.executive.receive(PeerId(of as u64), message).unwrap();
        }
        self.executive.settle();
        while let Some((peer, message)) = self.executive.poll_output() {
            let federate = &mut self.federates[peer.0 as usize];
            federate.receive(message).unwrap();
            while federate.next_callback().is_some() {}
        }
    }

    fn dimensions(&mut self) -> [DimensionHandle; 2] {
        ["D", "E"].map(|name| self.federates[0].dimension_handle(name).unwrap())
    }

    fn set(&mut self, of: usize, region: RegionHandle, at: [u32; 2]) {
        for (dimension, lower) in self.dimensions().into_iter().zip(at) {
            let lower = u64::from(lower);
            self.federates[of]
                .set_range_bounds(region, dimension, lower, lower + u64::from(SIDE))
                .unwrap();
        }
        self.federates[of]
            .commit_region_modifications(&[region])
            .unwrap();
    }

    fn create(
        &mut self,
        of: u32,
        at: [u32; 2],
        class: ObjectClassHandle,
        x: AttributeHandle,
    ) -> Region {
        let of = of as usize;
        let dimensions = self.dimensions();
        let region = self.federates[of].create_region(&dimensions).unwrap();
        self.set(of, region, at);
        let list = [AttributeRegions {
            attributes: vec![x],
            regions: vec![region],
        }];
        let federate = &mut self.federates[of];
        let instance = match of {
            0 => Some(
                federate
                    .register_object_instance_with_regions(class, &list, None)
                    .unwrap(),
            ),
            _ => {
                federate
                    .subscribe_object_class_attributes_with_regions(class, &list, true, "")
                    .unwrap();
                None
            }
        };
        self.send(of);
        Region {
            of,
            region,
            at,
            instance,
        }
    }

    fn move_one(&mut self, region: &mut Region, by: [u32; 2], space: u32, x: AttributeHandle) {
        for (at, by) in region.at.iter_mut().zip(by) {
            *at = (*at + by).saturating_sub(SIDE).min(space);
        }
        self.set(region.of, region.region, region.at);
        self.send(region.of);
        if let Some(instance) = region.instance {
            self.federates[region.of]
                .update_attribute_values(instance, &[(x, b"value")], b"")
                .unwrap();
        }
    }
}
