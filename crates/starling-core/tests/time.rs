//! Time management, 1516.1-2010 chapter 8: what each service does and refuses.

mod common;

use common::Federation;
use starling_core::message::{After, Data, DataBody, Payload, ResignAction};
use starling_core::{
    AttributeHandle, Callback, ExceptionKind, FederateHandle, LogicalTime, LogicalTimeInterval,
    MessageRetractionHandle, MessageTime, ObjectInstanceHandle, Order, Service, Transportation,
    ValuesBuf,
};

fn at(time: f64) -> LogicalTime {
    LogicalTime::float64(time).unwrap()
}

fn span(interval: f64) -> LogicalTimeInterval {
    LogicalTimeInterval::float64(interval).unwrap()
}

/// What a callback says, in short.
fn short(callback: &Callback) -> String {
    let timely = |time: &Option<Box<MessageTime>>| match time.as_deref() {
        None => String::new(),
        Some(MessageTime {
            time,
            sent,
            received,
            ..
        }) => {
            let letter = |o: &Order| match o {
                Order::TimeStamp => 'T',
                Order::Receive => 'R',
            };
            format!("@{time}{}{}", letter(sent), letter(received))
        }
    };
    let text = |tag: &[u8]| String::from_utf8_lossy(tag).into_owned();
    match callback {
        Callback::TimeAdvanceGrant { time } => format!("grant {time}"),
        Callback::TimeRegulationEnabled { time } => format!("regulating {time}"),
        Callback::TimeConstrainedEnabled { time } => format!("constrained {time}"),
        Callback::RequestRetraction { message } => format!("retract {}", message.number()),
        Callback::ReceiveInteraction { values, time, .. } => {
            format!("{}{}", text(values.tag()), timely(time))
        }
        Callback::ReflectAttributeValues { values, time, .. } => {
            format!("{}{}", text(values.tag()), timely(time))
        }
        Callback::RemoveObjectInstance { tag, time, .. } => {
            format!("remove {}{}", text(tag), timely(time))
        }
        Callback::DiscoverObjectInstance { .. } => "discover".into(),
        other => other.name().to_owned(),
    }
}

trait Timed {
    fn told(&mut self, name: &str) -> String;
    fn regulate(&mut self, name: &str, lookahead: f64);
    fn constrain(&mut self, name: &str);
    fn send(&mut self, name: &str, tag: &str, time: f64) -> MessageRetractionHandle;
    fn plain(&mut self, name: &str, tag: &str);
    fn tar(&mut self, name: &str, to: f64);
    fn nmr(&mut self, name: &str, to: f64);
    fn bounds(&mut self, name: &str) -> (Option<LogicalTime>, Option<LogicalTime>);
    fn instance(&mut self) -> (ObjectInstanceHandle, Vec<AttributeHandle>);
}

impl Timed for Federation {
    fn told(&mut self, name: &str) -> String {
        let list: Vec<_> = self.callbacks(name).iter().map(short).collect();
        list.join(", ")
    }

    fn regulate(&mut self, name: &str, lookahead: f64) {
        self.call(name, |f| f.enable_time_regulation(span(lookahead)))
            .unwrap();
        assert_eq!(self.told(name), "regulating 0");
    }

    fn constrain(&mut self, name: &str) {
        self.call(name, |f| f.enable_time_constrained()).unwrap();
        assert_eq!(self.told(name), "constrained 0");
    }

    fn send(&mut self, name: &str, tag: &str, time: f64) -> MessageRetractionHandle {
        let class = self.interaction("I");
        let send = self.call(name, |f| {
            f.send_interaction_at(class, &[], tag.as_bytes(), at(time))
        });
        send.unwrap()
    }

    fn plain(&mut self, name: &str, tag: &str) {
        let class = self.interaction("I");
        self.call(name, |f| f.send_interaction(class, &[], tag.as_bytes()))
            .unwrap();
    }

    fn tar(&mut self, name: &str, to: f64) {
        self.call(name, |f| f.time_advance_request(at(to))).unwrap();
    }

    fn nmr(&mut self, name: &str, to: f64) {
        self.call(name, |f| f.next_message_request(at(to))).unwrap();
    }

    fn bounds(&mut self, name: &str) -> (Option<LogicalTime>, Option<LogicalTime>) {
        let service = Service::QueryGALT;
        self.call(name, |f| f.query_bounds(service)).unwrap();
        self.run();
        let answer = self.call(name, |f| f.bounds(service));
        answer.expect("it has come").unwrap()
    }

    /// Of A, with x and y in time-stamp order, known to all who subscribe.
    fn instance(&mut self) -> (ObjectInstanceHandle, Vec<AttributeHandle>) {
        let (class, xy) = (self.class("A"), self.attributes(&["x", "y"]));
        let instance = self.call("a", |f| {
            f.publish_object_class_attributes(class, &xy).unwrap();
            f.register_object_instance(class, None).unwrap()
        });
        let change = |f: &mut starling_core::Lrc<_>| {
            f.change_attribute_order_type(instance, &xy, Order::TimeStamp)
        };
        self.call("a", change).unwrap();
        (instance, xy)
    }
}

/// Federates that send I in time-stamp order and receive it.
fn federation(names: &[&str]) -> Federation {
    let mut f = Federation::new("");
    prepare(&mut f, names);
    f
}

fn prepare(f: &mut Federation, names: &[&str]) {
    for name in names {
        f.join(name);
        let class = f.interaction("I");
        f.call(name, |f| {
            f.publish_interaction_class(class).unwrap();
            f.change_interaction_order_type(class, Order::TimeStamp)
                .unwrap();
            f.subscribe_interaction_class(class, true).unwrap();
        });
    }
    f.run();
    for name in names {
        while f.call(name, |f| f.next_callback()).is_some() {}
    }
}

#[test]
fn messages_come_in_time_stamp_order_before_the_grant() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    f.tar("b", 10.0);
    f.send("a", "late", 12.0);
    f.send("a", "second", 10.0);
    f.send("a", "first", 3.0);
    assert_eq!(f.told("b"), "");
    f.tar("a", 9.0);
    assert_eq!(f.told("a"), "grant 9");
    // Something may still come at 10.
    assert_eq!(f.told("b"), "");
    f.tar("a", 9.5);
    assert_eq!(f.told("b"), "first@3TT, second@10TT, grant 10");
    f.tar("b", 11.0);
    assert_eq!(f.told("b"), "");
    assert_eq!(f.told("a"), "grant 9.5");
    f.tar("a", 20.0);
    assert_eq!(f.told("b"), "grant 11");
    f.tar("b", 12.0);
    assert_eq!(f.told("b"), "late@12TT, grant 12");
}

#[test]
fn next_messages_far_apart_take_one_round() {
    let mut f = federation(&["a", "b"]);
    for name in ["a", "b"] {
        f.regulate(name, 1.0);
    }
    for name in ["a", "b"] {
        f.constrain(name);
    }
    f.nmr("a", 1e6);
    f.nmr("b", 2e6);
    assert_eq!(f.told("a"), "grant 1000000");
    assert_eq!(f.told("b"), "");
    f.send("a", "wakes", 1_000_001.0);
    f.nmr("a", 3e6);
    assert_eq!(f.told("b"), "wakes@1000001TT, grant 1000001");
}

#[test]
fn zero_lookahead_and_available() {
    let mut f = federation(&["a", "b"]);
    for name in ["a", "b"] {
        f.regulate(name, 0.0);
    }
    for name in ["a", "b"] {
        f.constrain(name);
    }
    f.tar("a", 10.0);
    f.call("b", |f| f.time_advance_request_available(at(10.0)))
        .unwrap();
    assert_eq!(f.told("b"), "grant 10");
    assert_eq!(f.told("a"), "");
    // Granted by 8.9 it may still send at 10.
    f.send("b", "now", 10.0);
    f.tar("b", 10.0);
    assert_eq!(f.told("a"), "now@10TT, grant 10");
    assert_eq!(f.told("b"), "grant 10");
    let class = f.interaction("I");
    let again = f.call("b", |f| f.send_interaction_at(class, &[], b"", at(10.0)));
    assert_eq!(again.unwrap_err().kind, ExceptionKind::InvalidLogicalTime);
}

#[test]
fn flush_queue_delivers_all_and_grants_the_least() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    let (four, nine) = (f.send("a", "four", 4.0), f.send("a", "nine", 9.0));
    f.tar("a", 3.0);
    assert_eq!(f.told("a"), "grant 3");
    f.call("b", |f| f.flush_queue_request(at(20.0))).unwrap();
    assert_eq!(f.told("b"), "four@4TT, nine@9TT, grant 4");
    // GALT is 4, and nine has been delivered: its sender may still retract it.
    f.call("a", |f| f.retract(nine)).unwrap();
    assert_eq!(f.told("b"), format!("retract {}", nine.number()));
    let error = f.call("a", |f| f.retract(four)).unwrap_err();
    assert_eq!(error.kind, ExceptionKind::MessageCanNoLongerBeRetracted);
    let error = f.call("a", |f| f.retract(nine)).unwrap_err();
    assert_eq!(error.kind, ExceptionKind::MessageCanNoLongerBeRetracted);
}

#[test]
fn a_retracted_message_does_not_come() {
    let mut f = federation(&["a", "b", "c"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    let gone = f.send("a", "gone", 5.0);
    f.send("a", "stays", 5.0);
    // C is not constrained: it has received both.
    assert_eq!(f.told("c"), "gone@5TR, stays@5TR");
    f.call("a", |f| f.retract(gone)).unwrap();
    assert_eq!(f.told("c"), format!("retract {}", gone.number()));
    f.tar("b", 5.0);
    f.tar("a", 6.0);
    assert_eq!(f.told("b"), "stays@5TT, grant 5");
}

#[test]
fn receive_order_waits_while_a_constrained_federate_does_not_advance() {
    let mut f = federation(&["a", "b"]);
    f.constrain("b");
    f.plain("a", "one");
    assert_eq!(f.told("b"), "");
    // Other callbacks do not wait.
    let class = f.class("A");
    let xy = f.attributes(&["x"]);
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &xy, true, "")
            .unwrap();
    });
    let (instance, _) = f.instance();
    assert_eq!(f.told("b"), "discover");
    f.call("a", |f| {
        f.update_attribute_values(instance, &[(xy[0], b"1")], b"two")
    })
    .unwrap();
    f.call("a", |f| f.delete_object_instance(instance, b"three"))
        .unwrap();
    assert_eq!(f.told("b"), "");
    f.tar("b", 1.0);
    assert_eq!(f.told("b"), "one, two, remove three, grant 1");
    f.plain("a", "four");
    assert_eq!(f.told("b"), "");
    f.call("b", |f| f.enable_asynchronous_delivery()).unwrap();
    assert_eq!(f.told("b"), "four");
    f.plain("a", "five");
    assert_eq!(f.told("b"), "five");
    f.call("b", |f| f.disable_asynchronous_delivery()).unwrap();
    f.plain("a", "six");
    assert_eq!(f.told("b"), "");
    f.call("b", |f| f.disable_time_constrained()).unwrap();
    assert_eq!(f.told("b"), "six");
}

#[test]
fn what_is_withheld_is_not_counted_as_waiting_and_has_a_bound_of_its_own() {
    let mut f = federation(&["a", "b"]);
    f.federate("b").set_withheld_bytes_max(1_000_000);
    f.constrain("b");
    f.regulate("a", 1.0);
    let waiting = f.federate("b").waiting_bytes();
    f.send("a", &"x".repeat(400_000), 5.0);
    assert_eq!(f.federate("b").waiting_bytes(), waiting);
    assert_eq!(f.federate("b").take_note(), None);
    f.plain("a", &"y".repeat(200_000));
    assert_eq!(f.federate("b").waiting_bytes(), waiting);
    let note = f.federate("b").take_note().unwrap();
    assert!(note.contains("limits.withheld_bytes"), "{note}");
    let value = vec![0; 500_000];
    let mut values = ValuesBuf::default();
    values.push(0, &value);
    let frame = Data {
        sender: f.member("a").handle(),
        after: After::default(),
        body: DataBody::Interaction {
            class: f.interaction("I"),
            payload: Payload {
                transportation: Transportation::Reliable,
                values: values.values(),
                tag: &[],
                address: None,
                stamp: None,
            },
        },
    };
    let cut_off = f.federate("b").receive_data(&frame).unwrap_err();
    assert!(cut_off.0.contains("does not ask to advance"), "{cut_off}");
}

#[test]
fn disabling_constraint_hands_over_what_waits() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    f.send("a", "late", 9.0);
    f.send("a", "soon", 2.0);
    f.tar("b", 8.0);
    assert_eq!(f.told("b"), "");
    f.call("b", |f| f.disable_time_constrained()).unwrap();
    assert_eq!(f.told("b"), "soon@2TR, late@9TR, grant 8");
    f.send("a", "direct", 3.0);
    assert_eq!(f.told("b"), "direct@3TR");
}

#[test]
fn enabling_constraint_waits_for_galt_and_regulation_moves_time() {
    let mut f = federation(&["a", "b", "c"]);
    f.regulate("a", 1.0);
    f.tar("b", 7.0);
    assert_eq!(f.told("b"), "grant 7");
    f.call("b", |f| f.enable_time_constrained()).unwrap();
    assert_eq!(f.told("b"), "");
    let error = f
        .call("b", |f| f.time_advance_request(at(8.0)))
        .unwrap_err();
    assert_eq!(error.kind, ExceptionKind::RequestForTimeConstrainedPending);
    f.tar("a", 6.0);
    assert_eq!(f.told("b"), "constrained 7");
    // C may not send below 7.
    f.call("c", |f| f.enable_time_regulation(span(2.0)))
        .unwrap();
    assert_eq!(f.told("c"), "regulating 5");
    assert_eq!(f.bounds("b").0, Some(at(7.0)));
}

#[test]
fn galt_and_lits() {
    let mut f = federation(&["a", "b"]);
    assert_eq!(f.bounds("b"), (None, None));
    f.regulate("a", 2.0);
    assert_eq!(f.bounds("b"), (Some(at(2.0)), Some(at(2.0))));
    assert_eq!(f.bounds("a"), (None, None));
    f.constrain("b");
    f.tar("a", 10.0);
    assert_eq!(f.told("a"), "grant 10");
    f.send("a", "x", 12.0);
    assert_eq!(f.bounds("b"), (Some(at(12.0)), Some(at(12.0))));
    f.tar("a", 20.0);
    assert_eq!(f.bounds("b"), (Some(at(22.0)), Some(at(12.0))));
    f.lose("a");
    assert_eq!(f.bounds("b"), (None, Some(at(12.0))));
    f.tar("b", 100.0);
    assert_eq!(f.told("b"), "x@12TT, grant 100");
}

#[test]
fn lookahead_shrinks_as_time_advances() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 5.0);
    f.tar("a", 10.0);
    assert_eq!(f.told("a"), "grant 10");
    f.call("a", |f| f.modify_lookahead(span(1.0))).unwrap();
    let of = |f: &mut Federation| f.call("a", |f| f.query_lookahead()).unwrap();
    assert_eq!(of(&mut f), span(5.0));
    f.tar("a", 12.0);
    assert_eq!(f.told("a"), "grant 12");
    assert_eq!(of(&mut f), span(3.0));
    let class = f.interaction("I");
    let early = f.call("a", |f| f.send_interaction_at(class, &[], b"", at(14.0)));
    assert_eq!(early.unwrap_err().kind, ExceptionKind::InvalidLogicalTime);
    f.tar("a", 20.0);
    assert_eq!(f.told("a"), "grant 20");
    assert_eq!(of(&mut f), span(1.0));
}

#[test]
fn a_federate_that_leaves_or_stops_regulating_holds_nobody_up() {
    for how in ["resign", "lose", "disable"] {
        let mut f = federation(&["a", "b"]);
        f.regulate("a", 1.0);
        f.constrain("b");
        f.send("a", "on its way", 3.0);
        f.tar("b", 5.0);
        assert_eq!(f.told("b"), "");
        match how {
            "resign" => f.resign("a", ResignAction::NoAction),
            "lose" => f.lose("a"),
            _ => f.call("a", |f| f.disable_time_regulation()).unwrap(),
        }
        assert_eq!(f.told("b"), "on its way@3TT, grant 5", "{how}");
    }
}

#[test]
fn a_message_of_a_federate_that_does_not_regulate_has_only_its_time() {
    let mut f = federation(&["a", "b"]);
    f.constrain("b");
    f.tar("b", 1.0);
    assert_eq!(f.told("b"), "grant 1");
    f.tar("b", 2.0);
    let handle = f.send("a", "x", 77.0);
    assert_eq!(handle, MessageRetractionHandle::default());
    assert_eq!(f.told("b"), "grant 2");
    f.tar("b", 3.0);
    assert_eq!(f.told("b"), "x@77RR, grant 3");
}

#[test]
fn an_update_is_cut_by_order_type() {
    let mut f = federation(&["a", "b"]);
    let class = f.class("A");
    let xy = f.attributes(&["x", "y"]);
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &xy, true, "")
            .unwrap();
    });
    let (instance, _) = f.instance();
    f.regulate("a", 1.0);
    assert_eq!(f.told("b"), "discover");
    f.constrain("b");
    let change = |order, which| {
        move |f: &mut starling_core::Lrc<_>| {
            f.change_attribute_order_type(instance, &[which], order)
        }
    };
    f.call("a", change(Order::Receive, xy[1])).unwrap();
    f.call("a", |f| {
        f.update_attribute_values_at(instance, &[(xy[0], b"1"), (xy[1], b"2")], b"u", at(2.0))
    })
    .unwrap();
    f.tar("b", 1.5);
    assert_eq!(f.told("b"), "u@2RR");
    f.tar("a", 9.0);
    assert_eq!(f.told("b"), "grant 1.5");
    f.tar("b", 2.0);
    assert_eq!(f.told("b"), "u@2TT, grant 2");
    // Best effort and reliable in time-stamp order: both by the ordered stream, as declared.
    f.call("a", change(Order::TimeStamp, xy[1])).unwrap();
    assert_eq!(f.told("a"), "grant 9");
    f.call("a", |f| {
        f.update_attribute_values_at(instance, &[(xy[0], b"1"), (xy[1], b"2")], b"v", at(10.0))
    })
    .unwrap();
    f.tar("b", 10.0);
    f.tar("a", 11.0);
    assert_eq!(f.told("b"), "v@10TT, v@10TT, grant 10");
}

/// A owns an instance that B (constrained) and C know.
fn known_instance() -> (Federation, ObjectInstanceHandle, Vec<AttributeHandle>) {
    let mut f = federation(&["a", "b", "c"]);
    let class = f.class("A");
    let xy = f.attributes(&["x", "y"]);
    for name in ["b", "c"] {
        f.call(name, |f| {
            f.subscribe_object_class_attributes(class, &xy, true, "")
                .unwrap();
        });
    }
    let (instance, _) = f.instance();
    f.regulate("a", 1.0);
    assert_eq!(f.told("b"), "discover");
    assert_eq!(f.told("c"), "discover");
    f.constrain("b");
    let root = f.class("HLAobjectRoot");
    let privilege = f.call("a", |f| {
        f.attribute_handle(root, "HLAprivilegeToDeleteObject")
    });
    let privilege = privilege.unwrap();
    f.call("a", |f| {
        f.change_attribute_order_type(instance, &[privilege], Order::TimeStamp)
    })
    .unwrap();
    (f, instance, xy)
}

#[test]
fn a_deletion_in_time_stamp_order_comes_at_its_time() {
    let (mut f, instance, xy) = known_instance();
    f.call("a", |f| {
        f.update_attribute_values_at(instance, &[(xy[0], b"1")], b"last", at(4.0))
    })
    .unwrap();
    let handle = f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(4.0))
    });
    assert_ne!(handle.unwrap(), MessageRetractionHandle::default());
    let error = f
        .call("a", |f| f.object_instance_name(instance))
        .unwrap_err();
    assert_eq!(error.kind, ExceptionKind::ObjectInstanceNotKnown);
    assert_eq!(f.told("c"), "last@4TR, remove d@4TR");
    assert_eq!(f.told("b"), "");
    assert_eq!(f.status().instances, 1);
    f.tar("b", 4.0);
    f.tar("a", 5.0);
    assert_eq!(f.told("b"), "last@4TT, remove d@4TT, grant 4");
    assert_eq!(f.status().instances, 0);
}

#[test]
fn a_retracted_deletion_leaves_all_as_it_was() {
    let (mut f, instance, xy) = known_instance();
    let name = f.call("a", |f| f.object_instance_name(instance)).unwrap();
    let delete = |f: &mut Federation| {
        f.call("a", |f| {
            f.delete_object_instance_at(instance, b"d", at(9.0))
        })
        .unwrap()
    };
    let handle = delete(&mut f);
    assert_eq!(f.told("c"), "remove d@9TR");
    f.call("a", |f| f.retract(handle)).unwrap();
    assert_eq!(f.told("b"), "");
    let again = format!("retract {}, discover", handle.number());
    assert_eq!(f.told("c"), again);
    assert_eq!(
        f.call("a", |f| f.object_instance_name(instance)).unwrap(),
        name
    );
    f.call("a", |f| {
        f.update_attribute_values_at(instance, &[(xy[0], b"1")], b"alive", at(2.0))
    })
    .unwrap();
    assert_eq!(f.told("c"), "alive@2TR");
    // Retracted before anybody was told: nobody is.
    let handle = delete(&mut f);
    f.run();
    f.call("a", |f| f.retract(handle)).unwrap();
    assert_eq!(f.told("c"), "");
    f.tar("b", 20.0);
    f.tar("a", 30.0);
    assert_eq!(f.told("b"), "alive@2TT, grant 20");
    assert_eq!(f.status().instances, 1);
    // The last one stays.
    f.call("a", |f| f.delete_object_instance(instance, b"end"))
        .unwrap();
    assert_eq!(f.told("c"), "remove end");
}

#[test]
fn a_deletion_outlives_its_federate_and_its_receivers() {
    let (mut f, instance, _) = known_instance();
    f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(9.0))
    })
    .unwrap();
    f.resign("a", ResignAction::UnconditionallyDivestAttributes);
    assert_eq!(f.status().instances, 1);
    f.tar("b", 9.0);
    assert_eq!(f.told("b"), "remove d@9TT, grant 9");
    assert_eq!(f.status().instances, 0);

    let (mut f, instance, _) = known_instance();
    f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(9.0))
    })
    .unwrap();
    f.tar("a", 20.0);
    f.lose("b");
    assert_eq!(f.status().instances, 0);
}

#[test]
fn time_stamp_order_travels_by_the_executive_whatever_the_path_of_data() {
    let mut f = Federation::direct("");
    prepare(&mut f, &["a", "b"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    f.plain("a", "receive order");
    f.send("a", "time-stamp order", 2.0);
    f.tar("b", 2.0);
    f.tar("a", 5.0);
    assert_eq!(f.told("b"), "time-stamp order@2TT, grant 2");
    let a = f.member("a").handle();
    assert_eq!(f.arrive(a, "b"), 1);
    f.tar("b", 3.0);
    assert_eq!(f.told("b"), "receive order, grant 3");
}

#[test]
fn lookahead_changes_while_constraint_is_asked_for() {
    let mut f = federation(&["a"]);
    f.regulate("a", 3.0);
    f.call("a", |f| f.enable_time_constrained()).unwrap();
    f.call("a", |f| f.modify_lookahead(span(1.0))).unwrap();
    assert_eq!(f.told("a"), "constrained 0");
}

/// B, which takes no callbacks, is constrained; A, which regulates, has an instance.
#[test]
fn what_is_withheld_comes_behind_its_discovery() {
    let mut f = federation(&["a", "b"]);
    f.constrain("b");
    let (class, xy) = (f.class("A"), f.attributes(&["x", "y"]));
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &xy, true, "")
            .unwrap();
    });
    f.run();
    let (instance, xy) = f.instance();
    f.call("a", |f| {
        f.update_attribute_values(instance, &[(xy[0], b"1")], b"first")
    })
    .unwrap();
    f.call("a", |f| f.delete_object_instance(instance, b"gone"))
        .unwrap();
    f.run();
    f.tar("b", 1.0);
    assert_eq!(f.told("b"), "discover, first, remove gone, grant 1");
}

#[test]
fn what_was_granted_and_not_delivered_comes_in_receive_order_once_constraint_is_off() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    f.send("a", "x", 2.0);
    f.tar("b", 2.0);
    f.tar("a", 5.0);
    f.run();
    f.call("b", |f| f.disable_time_constrained()).unwrap();
    assert_eq!(f.told("b"), "x@2TR, grant 2");
}

#[test]
fn who_has_resigned_is_told_nothing_of_a_deletion_that_is_retracted() {
    let (mut f, instance, _) = known_instance();
    let handle = f.call("a", |f| {
        f.delete_object_instance_at(instance, b"d", at(9.0))
    });
    f.run();
    f.call("a", |f| f.retract(handle.unwrap())).unwrap();
    // Its resignation is behind the retraction, in its own view before it.
    f.call("c", |f| {
        f.resign_federation_execution(ResignAction::NoAction)
    })
    .unwrap();
    f.run();
    assert!(!f.is_joined("c"));
    assert_eq!(f.status().instances, 1);
}

#[test]
fn all_parts_of_an_update_are_retracted() {
    let (mut f, instance, xy) = known_instance();
    // X and Y differ in transportation type.
    let sent = f.call("a", |f| {
        let values = [(xy[0], &b"1"[..]), (xy[1], &b"2"[..])];
        f.update_attribute_values_at(instance, &values, b"u", at(9.0))
    });
    assert_eq!(f.told("c"), "u@9TR, u@9TR");
    let sent = sent.unwrap();
    f.call("a", |f| f.retract(sent)).unwrap();
    assert_eq!(f.told("c"), format!("retract {}", sent.number()));
    f.tar("b", 20.0);
    f.tar("a", 30.0);
    assert_eq!(f.told("b"), "grant 20");
}

/// Federates that regulate with lookahead 1 and are constrained.
fn in_step(count: usize) -> (Federation, Vec<String>) {
    let names: Vec<_> = (0..count).map(|n| format!("f{n}")).collect();
    let list: Vec<_> = names.iter().map(String::as_str).collect();
    let mut f = federation(&list);
    for name in &list {
        f.regulate(name, 1.0);
    }
    for name in &list {
        f.constrain(name);
    }
    (f, names)
}

#[test]
fn a_round_costs_the_executive_one_message_each_way_per_federate() {
    for count in [2, 4, 8, 16] {
        let (mut f, names) = in_step(count);
        for round in 1..=10 {
            f.control = (0, 0);
            for name in &names {
                f.tar(name, f64::from(round));
            }
            for name in &names {
                assert_eq!(f.told(name), format!("grant {round}"));
            }
            assert_eq!(f.control, (count, count), "{count} federates");
        }
    }
}

#[test]
fn next_messages_far_apart_cost_one_message_each_way_per_federate() {
    let (mut f, names) = in_step(4);
    f.control = (0, 0);
    for (n, name) in names.iter().enumerate() {
        f.nmr(name, 1e6 * (n + 1) as f64);
    }
    assert_eq!(f.told("f0"), "grant 1000000");
    assert_eq!(f.control, (4, 1));
    f.nmr("f0", 1e7);
    assert_eq!(f.told("f1"), "grant 2000000");
    assert_eq!(f.control, (5, 2));
}

/// What A does, and how B, which is constrained and does not advance, is told of it.
fn withheld(what: impl Fn(&mut Federation, ObjectInstanceHandle, AttributeHandle), told: &str) {
    for until in ["advance", "asynchronous delivery"] {
        let (mut f, instance, xy) = known_instance();
        what(&mut f, instance, xy[0]);
        assert_eq!(f.told("b"), "", "{until}");
        match until {
            "advance" => f.tar("b", 1.0),
            _ => f.call("b", |f| f.enable_asynchronous_delivery()).unwrap(),
        }
        assert_eq!(f.told("b"), told, "{until}");
    }
}

#[test]
fn withheld_reflect_attribute_values_in_receive_order() {
    withheld(
        |f, instance, x| {
            f.call("a", |f| {
                f.update_attribute_values(instance, &[(x, b"1")], b"u")
            })
            .unwrap();
        },
        "u",
    );
}

#[test]
fn withheld_receive_interaction_in_receive_order() {
    withheld(
        |f, _, _| {
            let class = f.interaction("I");
            f.call("b", |f| f.subscribe_interaction_class(class, true))
                .unwrap();
            f.run();
            f.call("a", |f| {
                f.publish_interaction_class(class)?;
                f.send_interaction(class, &[], b"i")
            })
            .unwrap();
        },
        "i",
    );
}

#[test]
fn withheld_remove_object_instance_in_receive_order() {
    withheld(
        |f, instance, _| {
            f.call("a", |f| f.delete_object_instance(instance, b"r"))
                .unwrap();
        },
        "remove r",
    );
}

#[test]
fn withheld_all_three_in_time_stamp_order_whatever_else() {
    let (mut f, instance, xy) = known_instance();
    let class = f.interaction("I");
    f.call("b", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.run();
    f.call("b", |f| f.enable_asynchronous_delivery()).unwrap();
    f.call("a", |f| {
        f.publish_interaction_class(class)?;
        f.change_interaction_order_type(class, Order::TimeStamp)?;
        f.update_attribute_values_at(instance, &[(xy[0], b"1")], b"u", at(4.0))?;
        f.send_interaction_at(class, &[], b"i", at(5.0))?;
        f.delete_object_instance_at(instance, b"r", at(6.0))
    })
    .unwrap();
    assert_eq!(f.told("b"), "");
    f.tar("b", 4.0);
    assert_eq!(f.told("b"), "", "it is not granted yet");
    f.tar("a", 4.0);
    assert_eq!(f.told("b"), "u@4TT, grant 4");
    assert_eq!(f.told("b"), "");
    f.tar("b", 6.0);
    assert_eq!(f.told("a"), "grant 4");
    f.tar("a", 9.0);
    assert_eq!(f.told("b"), "i@5TT, remove r@6TT, grant 6");
}

/// What is done, and that B, which is constrained and does not advance, is told at once.
fn not_withheld(
    what: impl Fn(&mut Federation, ObjectInstanceHandle, &[AttributeHandle]),
    told: &str,
) {
    let (mut f, instance, xy) = known_instance();
    what(&mut f, instance, &xy);
    assert_eq!(f.told("b"), told);
}

#[test]
fn not_withheld_discover_object_instance() {
    let another = |f: &mut Federation, _, _: &[AttributeHandle]| {
        let class = f.class("A");
        f.call("a", |f| f.register_object_instance(class, None))
            .unwrap();
    };
    not_withheld(another, "discover");
}

#[test]
fn not_withheld_provide_attribute_value_update() {
    let asked = |f: &mut Federation, _, xy: &[AttributeHandle]| {
        let class = f.class("A");
        let own = f.call("b", |f| {
            f.publish_object_class_attributes(class, xy)?;
            f.register_object_instance(class, None)
        });
        assert_eq!(f.told("c"), "discover");
        let own = own.unwrap();
        f.call("c", |f| {
            f.request_instance_attribute_value_update(own, xy, b"")
        })
        .unwrap();
    };
    not_withheld(asked, "provideAttributeValueUpdate");
}

#[test]
fn not_withheld_ownership() {
    let offered = |f: &mut Federation, instance, xy: &[AttributeHandle]| {
        let class = f.class("A");
        f.call("b", |f| f.publish_object_class_attributes(class, xy))
            .unwrap();
        f.run();
        f.call("a", |f| {
            f.unconditional_attribute_ownership_divestiture(instance, xy, b"")
        })
        .unwrap();
        assert_eq!(f.told("b"), "requestAttributeOwnershipAssumption");
        f.call("b", |f| {
            f.attribute_ownership_acquisition(instance, xy, b"")
        })
        .unwrap();
    };
    not_withheld(offered, "attributeOwnershipAcquisitionNotification");
}

#[test]
fn not_withheld_advisories() {
    let subscribed = |f: &mut Federation, _, _: &[AttributeHandle]| {
        let class = f.interaction("I");
        f.call("b", |f| {
            f.enable_interaction_relevance_advisory_switch()?;
            f.publish_interaction_class(class)
        })
        .unwrap();
    };
    not_withheld(subscribed, "turnInteractionsOn");
}

#[test]
fn not_withheld_synchronization_points() {
    let announced = |f: &mut Federation, _, _: &[AttributeHandle]| {
        f.call("c", |f| {
            f.register_federation_synchronization_point("p", b"", &[])
        })
        .unwrap();
    };
    not_withheld(announced, "announceSynchronizationPoint");
}

#[test]
fn not_withheld_names_and_transportation_types() {
    let asked = |f: &mut Federation, _, _: &[AttributeHandle]| {
        let class = f.interaction("I");
        f.call("b", |f| {
            f.publish_interaction_class(class)?;
            f.reserve_object_instance_name("n")?;
            f.request_interaction_transportation_type_change(class, Transportation::BestEffort)
        })
        .unwrap();
    };
    let told = "objectInstanceNameReservationSucceeded, confirmInteractionTransportationTypeChange";
    not_withheld(asked, told);
}

#[test]
fn not_withheld_request_retraction() {
    let (mut f, ..) = known_instance();
    let class = f.interaction("I");
    f.call("b", |f| f.subscribe_interaction_class(class, true))
        .unwrap();
    f.run();
    let sent = f.call("a", |f| {
        f.publish_interaction_class(class)?;
        f.change_interaction_order_type(class, Order::TimeStamp)?;
        f.send_interaction_at(class, &[], b"i", at(5.0))
    });
    let sent = sent.unwrap();
    f.call("b", |f| f.flush_queue_request(at(1.0))).unwrap();
    assert_eq!(f.told("b"), "i@5TT, grant 1");
    f.call("a", |f| f.retract(sent)).unwrap();
    assert_eq!(f.told("b"), format!("retract {}", sent.number()));
}

const DELAYED: &str = "<delaySubscriptionEvaluation isEnabled=\"true\"/>";

#[test]
fn subscriptions_are_judged_when_it_is_sent_or_with_the_switch_when_it_is_delivered() {
    for (switch, told) in [("", "grant 5"), (DELAYED, "early@4TT, u@4TT, grant 5")] {
        let mut f = Federation::new(switch);
        for name in ["a", "b"] {
            f.join(name);
        }
        let (class, interaction) = (f.class("A"), f.interaction("I"));
        f.call("a", |f| {
            f.publish_interaction_class(interaction)?;
            f.change_interaction_order_type(interaction, Order::TimeStamp)
        })
        .unwrap();
        let (instance, xy) = f.instance();
        // B knows the instance by Y.
        f.call("b", |f| {
            f.subscribe_object_class_attributes(class, &xy[1..], true, "")
        })
        .unwrap();
        assert_eq!(f.told("b"), "discover");
        f.regulate("a", 1.0);
        f.constrain("b");
        f.send("a", "early", 4.0);
        f.call("a", |f| {
            f.update_attribute_values_at(instance, &[(xy[0], b"1")], b"u", at(4.0))
        })
        .unwrap();
        f.run();
        f.call("b", |f| {
            f.subscribe_interaction_class(interaction, true)?;
            f.subscribe_object_class_attributes(class, &xy[..1], true, "")
        })
        .unwrap();
        f.tar("b", 5.0);
        f.tar("a", 9.0);
        assert_eq!(f.told("b"), told, "{switch}");
        // What it has ended since does not come either way.
        f.tar("b", 20.0);
        assert_eq!(f.told("a"), "grant 9");
        f.send("a", "late", 15.0);
        f.run();
        f.call("b", |f| f.unsubscribe_interaction_class(interaction))
            .unwrap();
        f.tar("a", 30.0);
        assert_eq!(f.told("b"), "grant 20", "{switch}");
    }
}

#[test]
fn a_federate_that_never_advances_takes_no_endless_memory_of_the_executive() {
    // For 100 messages.
    let mut f = Federation::limited(6_400);
    prepare(&mut f, &["a", "b", "c"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    f.constrain("c");
    for _ in 0..60 {
        f.send("a", "x", 2.0);
    }
    // Of what is granted nothing is kept.
    f.tar("c", 2.0);
    f.tar("a", 5.0);
    assert!(f.told("c").ends_with("grant 2"));
    assert_eq!(f.told("a"), "grant 5");
    for _ in 0..40 {
        f.send("a", "x", 6.0);
    }
    f.run();
    assert!(f.is_joined("b"));
    f.send("a", "one too many", 6.0);
    f.run();
    assert!(!f.is_joined("b"));
    let lost = format!("{:?}", f.call("b", |f| f.next_callback()));
    assert!(lost.contains("limits.withheld_bytes"), "{lost}");
    assert!(f.is_joined("a") && f.is_joined("c"));
}

#[test]
fn messages_to_be_retracted_are_bounded_too() {
    let mut f = Federation::limited(6_400);
    prepare(&mut f, &["a", "b"]);
    f.regulate("a", 1.0);
    for _ in 0..101 {
        f.send("a", "x", 9.0);
    }
    f.run();
    assert!(!f.is_joined("a") && f.is_joined("b"));
}

#[test]
fn refusals() {
    use ExceptionKind::*;
    let mut f = federation(&["a"]);
    let refused = |f: &mut Federation, kind, what: &dyn Fn(&mut Federation) -> ExceptionKind| {
        assert_eq!(what(f), kind);
    };
    macro_rules! refuses {
        ($kind:expr, $work:expr) => {
            refused(&mut f, $kind, &|f| f.call("a", $work).unwrap_err().kind)
        };
    }
    let wrong = LogicalTime::integer64(1);
    refuses!(InvalidLookahead, |f| f.enable_time_regulation(span(-1.0)));
    refuses!(InvalidLookahead, |f| f
        .enable_time_regulation(LogicalTimeInterval::integer64(1)));
    refuses!(TimeRegulationIsNotEnabled, |f| f.disable_time_regulation());
    refuses!(TimeRegulationIsNotEnabled, |f| f
        .modify_lookahead(span(1.0)));
    refuses!(TimeRegulationIsNotEnabled, |f| f.query_lookahead());
    refuses!(TimeRegulationIsNotEnabled, |f| f
        .retract(MessageRetractionHandle(1)));
    refuses!(TimeConstrainedIsNotEnabled, |f| f
        .disable_time_constrained());
    refuses!(AsynchronousDeliveryAlreadyDisabled, |f| f
        .disable_asynchronous_delivery());
    refuses!(InvalidLogicalTime, |f| f.time_advance_request(wrong));
    f.call("a", |f| f.enable_asynchronous_delivery()).unwrap();
    refuses!(AsynchronousDeliveryAlreadyEnabled, |f| f
        .enable_asynchronous_delivery());
    f.call("a", |f| f.enable_time_regulation(span(1.0)))
        .unwrap();
    refuses!(RequestForTimeRegulationPending, |f| f
        .enable_time_regulation(span(1.0)));
    refuses!(RequestForTimeRegulationPending, |f| f
        .time_advance_request(at(1.0)));
    assert_eq!(f.told("a"), "regulating 0");
    refuses!(TimeRegulationAlreadyEnabled, |f| f
        .enable_time_regulation(span(1.0)));
    f.call("a", |f| f.enable_time_constrained()).unwrap();
    refuses!(RequestForTimeConstrainedPending, |f| f
        .enable_time_constrained());
    assert_eq!(f.told("a"), "constrained 0");
    refuses!(TimeConstrainedAlreadyEnabled, |f| f
        .enable_time_constrained());
    let other = MessageRetractionHandle::new(FederateHandle(9), 1);
    for message in [other, MessageRetractionHandle(0)] {
        refused(&mut f, InvalidMessageRetractionHandle, &|f| {
            f.call("a", |f| f.retract(message)).unwrap_err().kind
        });
    }
    f.tar("a", 5.0);
    refuses!(InTimeAdvancingState, |f| f.time_advance_request(at(6.0)));
    refuses!(InTimeAdvancingState, |f| f.modify_lookahead(span(2.0)));
    assert_eq!(f.told("a"), "grant 5");
    refuses!(LogicalTimeAlreadyPassed, |f| f
        .next_message_request(at(4.0)));
    let class = f.interaction("I");
    refused(&mut f, InvalidLogicalTime, &|f| {
        let sent = f.call("a", |f| f.send_interaction_at(class, &[], b"", at(5.5)));
        sent.unwrap_err().kind
    });
}

/// B has not been delivered the removal of an instance when another one gets its name.
#[test]
fn a_withheld_removal_leaves_the_name_to_the_next_instance() {
    let mut f = federation(&["a", "b"]);
    let (class, xy) = (f.class("A"), f.attributes(&["x", "y"]));
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &xy, true, "")
    })
    .unwrap();
    f.call("a", |f| f.publish_object_class_attributes(class, &xy))
        .unwrap();
    let register = |f: &mut Federation| {
        f.call("a", |f| f.reserve_object_instance_name("n"))
            .unwrap();
        f.callbacks("a");
        f.call("a", |f| f.register_object_instance(class, Some("n")))
            .unwrap()
    };
    let former = register(&mut f);
    assert_eq!(f.told("b"), "discover");
    f.constrain("b");
    f.call("a", |f| f.delete_object_instance(former, b"d"))
        .unwrap();
    let next = register(&mut f);
    assert_eq!(f.told("b"), "discover");
    assert_eq!(f.member("b").known_instances(), [former, next]);
    f.tar("b", 1.0);
    assert_eq!(f.told("b"), "remove d, grant 1");
    assert_eq!(f.member("b").known_instances(), [next]);
    let found = f.call("b", |f| f.object_instance_handle("n"));
    assert_eq!(found, Ok(next));
}

#[test]
fn what_is_retracted_or_waits_at_resigning_is_counted() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    let gone = f.send("a", "gone", 5.0);
    f.send("a", "stays", 5.0);
    f.plain("a", "withheld");
    f.call("a", |f| f.retract(gone)).unwrap();
    f.run();
    let counters = f.member("b").counters();
    assert_eq!((counters.queued, counters.retracted), (3, 1));
    // A's last one arrives when B has resigned, and the federation execution does not know it yet.
    f.call_late("b", |f| {
        f.resign_federation_execution(ResignAction::NoAction)
    })
    .unwrap();
    f.plain("a", "late");
    let counters = f.federate("b").counters().unwrap();
    assert_eq!((counters.queued, counters.dropped), (4, 3));
}

/// What a failed call would have sent is no message that could be retracted.
#[test]
fn a_call_that_fails_sends_nothing() {
    let mut f = federation(&["a", "b"]);
    let class = f.class("A");
    let xy = f.attributes(&["x", "y"]);
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &xy, true, "")
    })
    .unwrap();
    let (instance, _) = f.instance();
    f.regulate("a", 1.0);
    assert_eq!(f.told("b"), "discover");
    f.call("a", |f| {
        f.change_attribute_order_type(instance, &[xy[1]], Order::Receive)
    })
    .unwrap();
    f.call("a", |f| f.set_frame_bytes_max(1_000));
    let large = vec![0; 1_000];
    let z = f.attributes(&["z"])[0];
    let (interaction, none) = (f.interaction("I"), Vec::new());
    let failures = [
        // In time-stamp order what fits, in receive order what does not; and the reverse.
        [(xy[0], &none), (xy[1], &large)],
        [(xy[0], &large), (xy[1], &none)],
        // An attribute that is not of the class.
        [(xy[0], &none), (z, &none)],
    ];
    for values in failures {
        let values = values.map(|(attribute, value)| (attribute, value.as_slice()));
        f.call("a", |f| {
            f.update_attribute_values_at(instance, &values, b"u", at(5.0))
        })
        .unwrap_err();
    }
    f.call("a", |f| {
        f.send_interaction_at(interaction, &[], &large, at(5.0))
    })
    .unwrap_err();
    f.call("a", |f| {
        f.send_interaction_with_regions_at(interaction, &[], &[], &large, at(5.0))
    })
    .unwrap_err();
    let counters = f.member("a").counters();
    assert_eq!((counters.sent, counters.unwanted), (0, 0));
    let first = MessageRetractionHandle::new(f.member("a").handle(), 1);
    let error = f.call("a", |f| f.retract(first)).unwrap_err();
    assert_eq!(error.kind, ExceptionKind::InvalidMessageRetractionHandle);
}
