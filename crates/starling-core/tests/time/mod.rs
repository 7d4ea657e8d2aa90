//! Time management, 1516.1-2010 chapter 8: what each service does and refuses.

mod away;
mod flushes;
mod instances;
mod retracted;
mod shortly;
mod withheld;

use crate::common::Federation;
use starling_core::message::time::Request;
use starling_core::message::{After, AttributeRegions, Data, DataBody, Payload, ResignAction};
use starling_core::{
    Advance, AttributeHandle, Callback, DataPath, ExceptionKind, FederateHandle, LogicalTime,
    LogicalTimeInterval, MessageRetractionHandle, MessageTime, ObjectInstanceHandle, Order,
    Service, Transportation, ValuesBuf,
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

/// Constrained with GALT at its own time, a federate may yet get messages of this time, with an
/// advance to it.
#[test]
fn messages_of_the_time_at_which_it_is_constrained_come_with_an_advance_to_it() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.tar("a", 6.0);
    assert_eq!(f.told("a"), "grant 6");
    f.tar("b", 7.0);
    assert_eq!(f.told("b"), "grant 7");
    f.call("b", |f| f.enable_time_constrained()).unwrap();
    assert_eq!(f.told("b"), "constrained 7");
    f.send("a", "now", 7.0);
    assert_eq!(f.told("b"), "", "it does not advance");
    f.tar("b", 7.0);
    assert_eq!(f.told("b"), "", "more of this time may come");
    f.tar("a", 8.0);
    assert_eq!(f.told("b"), "now@7TT, grant 7");
}

/// §8.5: what was sent before constraint was granted is received in receive order, what is sent behind that waits for its
/// time, though the callback has not come yet.
#[test]
fn messages_under_way_when_constraint_is_enabled() {
    for waits in [false, true] {
        let mut f = federation(&["a", "b"]);
        f.regulate("a", 1.0);
        let from = if waits { 7.0 } else { 0.0 };
        f.tar("b", from);
        f.told("b");
        f.send("a", "before", from + 5.0);
        f.run();
        f.call("b", |f| f.enable_time_constrained()).unwrap();
        f.run();
        if waits {
            f.send("a", "meanwhile", from + 1.0);
            f.tar("a", 6.0);
        }
        f.send("a", "behind", from + 5.0);
        f.send("a", "sooner", from + 4.0);
        let told = if waits {
            "before@12TR, meanwhile@8TR, constrained 7"
        } else {
            "before@5TR, constrained 0"
        };
        assert_eq!(f.told("b"), told);
        f.told("a");
        f.tar("b", from + 5.0);
        f.tar("a", 20.0);
        let told = if waits {
            "sooner@11TT, behind@12TT, grant 12"
        } else {
            "sooner@4TT, behind@5TT, grant 5"
        };
        assert_eq!(f.told("b"), told);
    }
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

/// §8.18: what a grant has brought may yet be delivered, whatever GALT is by now.
#[test]
fn lits_counts_what_was_granted_and_not_delivered() {
    let mut f = federation(&["a", "b"]);
    f.regulate("a", 1.0);
    f.constrain("b");
    f.send("a", "five", 5.0);
    f.send("a", "seven", 7.0);
    f.tar("b", 10.0);
    f.tar("a", 20.0);
    assert_eq!(f.bounds("b"), (Some(at(21.0)), Some(at(5.0))));
    f.call("b", |f| f.next_callback());
    assert_eq!(f.bounds("b"), (Some(at(21.0)), Some(at(7.0))));
    assert_eq!(f.told("b"), "seven@7TT, grant 10");
    assert_eq!(f.bounds("b"), (Some(at(21.0)), Some(at(21.0))));
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

/// §8.10, §8.18: what was sent to a federate that wants it no more is no next message.
#[test]
fn the_next_message_is_the_next_that_is_delivered() {
    let mut f = federation(&["a", "b"]);
    let (class, xy) = (f.class("A"), f.attributes(&["x"]));
    f.call("b", |f| {
        f.subscribe_object_class_attributes(class, &xy, true, "")
            .unwrap();
    });
    f.run();
    let (instance, _) = f.instance();
    assert_eq!(f.told("b"), "discover");
    f.regulate("a", 1.0);
    f.constrain("b");
    let update = |f: &mut Federation, time| {
        let values = [(xy[0], &b"1"[..])];
        f.call("a", |f| {
            f.update_attribute_values_at(instance, &values, b"update", at(time))
        })
        .unwrap();
    };
    f.send("a", "five", 5.0);
    update(&mut f, 6.0);
    f.send("a", "seven", 7.0);
    f.tar("a", 50.0);
    assert_eq!(f.told("a"), "grant 50");
    assert_eq!(f.bounds("b"), (Some(at(51.0)), Some(at(5.0))));
    let interaction = f.interaction("I");
    f.call("b", |f| f.unsubscribe_interaction_class(interaction))
        .unwrap();
    assert_eq!(f.bounds("b"), (Some(at(51.0)), Some(at(6.0))));
    f.nmr("b", 20.0);
    assert_eq!(f.told("b"), "update@6TT, grant 6");
    f.nmr("b", 20.0);
    assert_eq!(f.told("b"), "grant 20");
    assert_eq!(f.member("b").counters().unsubscribed, 2);

    update(&mut f, 60.0);
    f.call("b", |f| f.local_delete_object_instance(instance))
        .unwrap();
    assert_eq!(f.bounds("b"), (Some(at(51.0)), Some(at(51.0))));
    f.call("b", |f| f.next_message_request_available(at(70.0)))
        .unwrap();
    f.tar("a", 65.0);
    assert_eq!(f.told("b"), "", "it waits at 60 for what may come up to 70");
    let now = f.call("b", |f| f.query_logical_time()).unwrap();
    assert_eq!(now, at(20.0), "it was told of no grant");
    assert_eq!(f.told("a"), "grant 65");
    f.tar("a", 100.0);
    assert_eq!(f.told("b"), "grant 70");
    assert_eq!(f.member("b").counters().unknown, 1);
}

#[test]
fn a_time_stamp_that_is_too_early_is_refused_with_what_it_is_counted_from() {
    let mut f = federation(&["a"]);
    f.regulate("a", 2.0);
    let class = f.interaction("I");
    let refused = |f: &mut Federation, when: &str| {
        let sent = f.call("a", |f| f.send_interaction_at(class, &[], b"", at(1.0)));
        let refused = sent.unwrap_err().to_string();
        let why = format!("the time stamp 1 is too early: {when} plus lookahead 2 asks for ");
        assert!(refused.contains(&why), "{refused}");
    };
    refused(&mut f, "logical time 0");
    f.tar("a", 10.0);
    refused(&mut f, "the time asked for, 10,");
}
