//! The data path of each receiver, changed while data flows: nothing is lost, doubled or overtaken
//! (`log/order.rs`, `log/federate.rs`). The simulator changes paths at random moments.

use crate::common::Federation;
use starling_core::{AttributeHandle, InteractionClassHandle};
use starling_core::{Callback, DataPath, FederateHandle, ObjectInstanceHandle};

/// A has registered `car` and updates x; B and C subscribe to it, and to interaction class I.
struct Setting {
    f: Federation,
    a: FederateHandle,
    b: FederateHandle,
    car: ObjectInstanceHandle,
    x: AttributeHandle,
    i: InteractionClassHandle,
}

impl Setting {
    /// With links between federates, which are not used yet.
    fn new() -> Self {
        let mut f = Federation::direct("");
        let [a, b, c] = ["A", "B", "C"].map(|name| f.join(name));
        let (class, list, i) = (f.class("A"), f.attributes(&["x"]), f.interaction("I"));
        f.run();
        f.call("A", |lrc| {
            for peer in [b, c] {
                lrc.set_data_path(peer, DataPath::Executive);
            }
            lrc.publish_object_class_attributes(class, &list)?;
            lrc.publish_interaction_class(i)
        })
        .unwrap();
        for name in ["B", "C"] {
            f.call(name, |lrc| {
                lrc.subscribe_object_class_attributes(class, &list, true, "")?;
                lrc.subscribe_interaction_class(i, true)
            })
            .unwrap();
        }
        f.run();
        let car = f.call("A", |lrc| lrc.register_object_instance(class, None));
        let car = car.unwrap();
        for name in ["B", "C"] {
            assert_eq!(f.callbacks(name).len(), 1, "{name} discovers the car");
        }
        f.quiet();
        let x = list[0];
        Setting { f, a, b, car, x, i }
    }

    fn update(&mut self, value: &str) {
        let (car, values) = (self.car, [(self.x, value.as_bytes())]);
        self.f
            .call("A", |lrc| lrc.update_attribute_values(car, &values, b""))
            .unwrap();
    }

    fn set_path(&mut self, path: DataPath) {
        let b = self.b;
        self.f.call("A", |lrc| lrc.set_data_path(b, path));
    }

    /// What a federate is told now: values, or the interaction's tag.
    fn heard(&mut self, name: &str) -> Vec<String> {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let all = self.f.callbacks(name).into_iter();
        all.map(|callback| match callback {
            Callback::ReflectAttributeValues { values, .. } => {
                values.iter().map(|(_, value)| text(value)).collect()
            }
            Callback::ReceiveInteraction { values, .. } => text(values.tag()),
            other => panic!("{other:?}"),
        })
        .collect()
    }
}

#[test]
fn receivers_are_reached_by_different_paths_each_once() {
    let mut s = Setting::new();
    s.set_path(DataPath::Direct);
    let before = s.f.forwarded;
    s.update("1");
    let i = s.i;
    s.f.call("A", |lrc| lrc.send_interaction(i, &[], b"2"))
        .unwrap();
    assert_eq!(s.heard("C"), ["1", "2"]);
    assert_eq!(s.f.forwarded, before + 2, "to C alone");
    assert_eq!(s.heard("B"), [""; 0]);
    assert_eq!(s.f.arrive(s.a, "B"), 2);
    assert_eq!(s.heard("B"), ["1", "2"]);
}

#[test]
fn the_first_frame_on_a_link_waits_for_the_last_by_the_executive() {
    let mut s = Setting::new();
    s.update("1");
    s.set_path(DataPath::Direct);
    s.update("2");
    // The link is faster than the executive's word that the path has changed.
    assert_eq!(s.f.arrive(s.a, "B"), 1);
    s.update("3");
    assert_eq!(s.heard("B"), ["1", "2"]);
    assert_eq!(s.f.arrive(s.a, "B"), 1);
    assert_eq!(s.heard("B"), ["3"]);
    assert_eq!(s.heard("C"), ["1", "2", "3"]);
}

#[test]
fn the_first_frame_by_the_executive_waits_for_the_last_on_a_link() {
    let mut s = Setting::new();
    s.set_path(DataPath::Direct);
    s.update("1");
    s.update("2");
    s.set_path(DataPath::Executive);
    s.update("3");
    assert_eq!(s.heard("B"), [""; 0], "1 and 2 are still on the link");
    // And there and back again, before any of it arrives.
    s.set_path(DataPath::Direct);
    s.update("4");
    s.set_path(DataPath::Executive);
    s.update("5");
    assert_eq!(s.heard("B"), [""; 0]);
    // Two updates, a fence, an update, a fence.
    assert_eq!(s.f.arrive(s.a, "B"), 5);
    assert_eq!(s.heard("B"), ["1", "2", "3", "4", "5"]);
    assert_eq!(s.heard("C"), ["1", "2", "3", "4", "5"]);
}

#[test]
fn a_link_that_ends_behind_a_change_of_path_holds_nothing_up() {
    let mut s = Setting::new();
    s.set_path(DataPath::Direct);
    s.update("1");
    s.update("2");
    s.set_path(DataPath::Executive);
    s.update("3");
    // The second update and the fence are lost with it.
    let a = s.a;
    s.f.end_link(a, "B", 1);
    assert_eq!(s.heard("B"), ["1", "3"]);
}

/// The link from a peer ends, because that has put on it what it must not; the one to it goes on.
#[test]
fn a_link_is_fenced_though_the_peers_own_has_ended() {
    let mut s = Setting::new();
    s.set_path(DataPath::Direct);
    s.f.run();
    s.f.arrive(s.a, "B");
    s.update("1");
    let (b, car) = (s.b, s.car);
    s.f.call("A", |lrc| lrc.link_ended(b)).unwrap();
    s.f.call("A", |lrc| lrc.delete_object_instance(car, b""))
        .unwrap();
    s.f.run();
    assert!(s.f.callbacks("B").is_empty(), "the fence is on the link");
    s.f.arrive(s.a, "B");
    let heard = s.f.callbacks("B");
    assert!(
        matches!(
            heard[..],
            [
                Callback::ReflectAttributeValues { .. },
                Callback::RemoveObjectInstance { .. }
            ]
        ),
        "{heard:?}"
    );
}
