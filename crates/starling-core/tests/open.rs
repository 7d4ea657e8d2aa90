//! Which services and callbacks are open in each state of a save and of a restore (1516.1-2010 §4.16 to §4.32):
//! each cell of the table in docs/services/federation.md. What the MOM's interactions bring about in a save or a restore is
//! played in tests/mom/saves.scenario, too.

use crate::common::{Federation, Sent};
use crate::save::saved;
use starling_core::message::{AttributeRegions, ResignAction};
use starling_core::{
    AttributeHandle, Callback, DimensionHandle, Exception, ExceptionKind, FederateHandle,
    InteractionClassHandle, LogicalTime, LogicalTimeInterval, Lrc, MessageRetractionHandle,
    ObjectClassHandle, ObjectInstanceHandle, Order, ParameterHandle, RegionHandle, Service,
    ServiceGroup, Transportation,
};
use std::collections::{BTreeMap, BTreeSet};

const STATES: usize = 8;
type Open = [bool; STATES];

/// The table, by name.
#[derive(Default)]
struct Page {
    services: BTreeMap<String, Open>,
    /// With [`UPDATES`] and [`REPORTS`] of the MOM.
    callbacks: BTreeMap<String, Open>,
    /// What is sent to the MOM.
    mom: BTreeMap<String, Open>,
}

const UPDATES: &str = "of the MOM: updates";
const REPORTS: &str = "reports";

fn page() -> Page {
    let page = include_str!("../../../docs/services/federation.md");
    let (_, table) = page
        .split_once("<!-- What is open")
        .expect("it has the table");
    let (table, _) = table.split_once("<!-- Up to here").expect("its end");
    let mut page = Page::default();
    for line in table.lines().filter(|l| l.ends_with('|')).skip(2) {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [clause, names, open @ ..] = &cells[..] else {
            panic!("{line}")
        };
        let open: Vec<bool> = open
            .iter()
            .map(|cell| match *cell {
                "yes" => true,
                "-" => false,
                other => panic!("{other}"),
            })
            .collect();
        let open: Open = open.try_into().expect("a cell for each state");
        for name in names.trim_start_matches("to the MOM: ").split(", ") {
            let list = if name.starts_with('*') || [UPDATES, REPORTS].contains(&name) {
                &mut page.callbacks
            } else if *clause == "11" {
                &mut page.mom
            } else {
                &mut page.services
            };
            list.insert(name.trim_matches('*').to_owned(), open);
        }
    }
    page
}

/// An argument; services that are not open do not look at it.
trait Any {
    fn any() -> Self;
}

macro_rules! any {
    ($($type:ty => $value:expr;)*) => {$(
        impl Any for $type {
            fn any() -> Self {
                $value
            }
        }
    )*};
}
any! {
    bool => false;
    u64 => 1;
    &'static str => "any";
    Option<&'static str> => None;
    Option<LogicalTime> => None;
    LogicalTime => LogicalTime::float64(1.0).unwrap();
    LogicalTimeInterval => LogicalTimeInterval::float64(1.0).unwrap();
    Order => Order::Receive;
    Transportation => Transportation::Reliable;
    ServiceGroup => ServiceGroup::ObjectManagement;
    ResignAction => ResignAction::NoAction;
    AttributeHandle => AttributeHandle::from_raw(1);
    DimensionHandle => DimensionHandle::from_raw(1);
    FederateHandle => FederateHandle(1);
    InteractionClassHandle => InteractionClassHandle::from_raw(1);
    MessageRetractionHandle => MessageRetractionHandle(1);
    ObjectClassHandle => ObjectClassHandle::from_raw(1);
    ObjectInstanceHandle => ObjectInstanceHandle(1);
    ParameterHandle => ParameterHandle::from_raw(1);
    RegionHandle => RegionHandle(1);
    &'static [AttributeHandle] => &[];
    &'static [DimensionHandle] => &[];
    &'static [FederateHandle] => &[];
    &'static [RegionHandle] => &[];
    &'static [AttributeRegions] => &[];
    &'static [&'static str] => &[];
    &'static [u8] => &[];
}

type Call = fn(&mut Lrc<Sent>) -> Result<(), Exception>;

macro_rules! calls {
    ($($(#[$doc:meta])* $service:ident $method:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        /// The services of a joined federate that need no answer.
        const CALLS: &[(Service, Call)] = &[$(
            (Service::$service, |lrc| lrc.$method($(<$type as Any>::any()),*).map(|_| ())),
        )*];
    };
}
starling_core::services!(calls);

/// The others: those that send values or wait for an answer, and those of the connection, of which the door is
/// asked.
const OTHERS: &[(Service, Call)] = &[
    (Service::UpdateAttributeValues, |lrc| {
        lrc.update_attribute_values(Any::any(), &[], b"")
    }),
    (Service::UpdateAttributeValues, |lrc| {
        let at = lrc.update_attribute_values_at(Any::any(), &[], b"", Any::any());
        at.map(|_| ())
    }),
    (Service::SendInteraction, |lrc| {
        lrc.send_interaction(Any::any(), &[], b"")
    }),
    (Service::SendInteraction, |lrc| {
        let at = lrc.send_interaction_at(Any::any(), &[], b"", Any::any());
        at.map(|_| ())
    }),
    (Service::SendInteractionWithRegions, |lrc| {
        lrc.send_interaction_with_regions(Any::any(), &[], &[], b"")
    }),
    (Service::ConfirmDivestiture, |lrc| {
        lrc.confirm_divestiture(Any::any(), &[], b"").map(|_| ())
    }),
    (Service::AttributeOwnershipDivestitureIfWanted, |lrc| {
        let asked = lrc.attribute_ownership_divestiture_if_wanted(Any::any(), &[], b"");
        asked.map(|_| ())
    }),
    (Service::GetTimeFactory, |lrc| {
        lrc.time_implementation().map(|_| ())
    }),
    (Service::QueryGALT, |lrc| {
        lrc.query_bounds(Service::QueryGALT)
    }),
    (Service::QueryLITS, |lrc| {
        lrc.query_bounds(Service::QueryLITS)
    }),
    (Service::EnableCallbacks, |lrc| lrc.enable_callbacks(true)),
    (Service::DisableCallbacks, |lrc| lrc.enable_callbacks(false)),
    (Service::Connect, |lrc| lrc.require(Service::Connect)),
    (Service::Disconnect, |lrc| lrc.require(Service::Disconnect)),
    (Service::CreateFederationExecution, |lrc| {
        lrc.require(Service::CreateFederationExecution)
    }),
    (Service::CreateFederationExecutionWithMIM, |lrc| {
        lrc.require(Service::CreateFederationExecutionWithMIM)
    }),
    (Service::DestroyFederationExecution, |lrc| {
        lrc.require(Service::DestroyFederationExecution)
    }),
    (Service::ListFederationExecutions, |lrc| {
        lrc.list_federation_executions()
    }),
    (Service::ResignFederationExecution, |lrc| {
        lrc.require(Service::ResignFederationExecution)
    }),
    (Service::EvokeCallback, |lrc| {
        lrc.require(Service::EvokeCallback)
    }),
    (Service::EvokeMultipleCallbacks, |lrc| {
        lrc.require(Service::EvokeMultipleCallbacks)
    }),
];

/// Whether a service was refused for the state of a save or a restore.
fn is_closed(result: &Result<(), Exception>) -> bool {
    use ExceptionKind::*;
    let kinds = [
        SaveInProgress,
        RestoreInProgress,
        SaveNotInitiated,
        FederateHasNotBegunSave,
        SaveNotInProgress,
        RestoreNotRequested,
        RestoreNotInProgress,
    ];
    result.as_ref().is_err_and(|e| kinds.contains(&e.kind))
}

const OF_FEDERATES: &str = "HLAmanager.HLAfederate";

/// One sends an interaction about another to the MOM.
fn manage(
    f: &mut Federation,
    by: &str,
    (below, whom): (&str, &str),
    with: Option<(&str, u32)>,
) -> Result<(), Exception> {
    let class = f.interaction(&format!("{OF_FEDERATES}.{below}"));
    let whom = [4, f.member(whom).handle().0]
        .map(u32::to_be_bytes)
        .concat();
    f.call(by, |f| {
        let mut values = vec![(f.parameter_handle(class, "HLAfederate")?, whom)];
        if let Some((name, value)) = with {
            let of = f.parameter_handle(class, name)?;
            values.push((of, value.to_be_bytes().to_vec()));
        }
        let values: Vec<_> = values.iter().map(|(of, value)| (*of, &value[..])).collect();
        f.send_interaction(class, &values, b"")
    })
}

/// How the page names a callback.
fn named(f: &mut Federation, callback: &Callback) -> &'static str {
    let (i, class) = (f.interaction("I"), f.class(OF_FEDERATES));
    match callback {
        Callback::ReceiveInteraction { class, .. } if *class != i => REPORTS,
        Callback::ReflectAttributeValues { instance, .. }
            if f.member("A").known_object_class_handle(*instance) == Ok(class) =>
        {
            UPDATES
        }
        other => other.name(),
    }
}

fn told(f: &mut Federation, name: &str) -> Vec<&'static str> {
    let callbacks = f.callbacks(name);
    callbacks.iter().map(|c| named(f, c)).collect()
}

/// What B does while A is in a state: callbacks of many kinds come to A.
fn busy(f: &mut Federation, [ours, theirs]: [ObjectInstanceHandle; 2]) {
    let (class, i) = (f.class("A"), f.interaction("I"));
    let x = f.attributes(&["x"]);
    let value: &[u8] = b"1";
    f.call("B", |b| b.register_object_instance(class, None))
        .unwrap();
    f.call("B", |b| {
        b.update_attribute_values(theirs, &[(x[0], value)], b"")
    })
    .unwrap();
    f.call("B", |b| b.delete_object_instance(theirs, b""))
        .unwrap();
    f.call("B", |b| b.send_interaction(i, &[], b"")).unwrap();
    f.call("B", |b| {
        b.register_federation_synchronization_point("P", b"", &[])
    })
    .unwrap();
    f.call("B", |b| {
        b.request_instance_attribute_value_update(ours, &x, b"")
    })
    .unwrap();
    f.call("B", |b| b.attribute_ownership_acquisition(ours, &x, b""))
        .unwrap();
    f.call("B", |b| b.unsubscribe_object_class_attributes(class, &x))
        .unwrap();
    f.call("B", |b| b.unsubscribe_interaction_class(i)).unwrap();
    let ask = "HLArequest.HLArequestPublications";
    manage(f, "B", (ask, "B"), None).unwrap();
    f.run();
    // An update is due.
    f.set_time(1);
    f.time_out(&[]);
    f.run();
}

/// What comes of that.
const BUSY: [&str; 12] = [
    "announceSynchronizationPoint",
    "discoverObjectInstance",
    "provideAttributeValueUpdate",
    "receiveInteraction",
    "reflectAttributeValues",
    "removeObjectInstance",
    "requestAttributeOwnershipRelease",
    "stopRegistrationForObjectClass",
    "turnInteractionsOff",
    "turnUpdatesOffForObjectInstance",
    UPDATES,
    REPORTS,
];

/// A and B, who hear of the MOM what comes of [`busy`], and what was refused.
fn both() -> Federation {
    let switches = ["objectClass", "interaction", "attribute"];
    let switches = switches.map(|s| format!("<{s}RelevanceAdvisory isEnabled=\"true\"/>"));
    let mut f = Federation::new(&switches.concat());
    f.join("A");
    f.join("B");
    let (class, i, x) = (f.class("A"), f.interaction("I"), f.attributes(&["x"]));
    for name in ["A", "B"] {
        f.call(name, |f| f.publish_object_class_attributes(class, &x))
            .unwrap();
        f.call(name, |f| {
            f.subscribe_object_class_attributes(class, &x, true, "")
        })
        .unwrap();
        f.call(name, |f| f.publish_interaction_class(i)).unwrap();
        f.call(name, |f| f.subscribe_interaction_class(i, true))
            .unwrap();
    }
    let manager = f.class(OF_FEDERATES);
    for (name, published, subscribed) in [
        (
            "A",
            "HLAadjust.HLAsetTiming",
            "HLAreportInteractionPublication",
        ),
        (
            "B",
            "HLArequest.HLArequestPublications",
            "HLAreportMOMexception",
        ),
    ] {
        let published = f.interaction(&format!("{OF_FEDERATES}.{published}"));
        let subscribed = f.interaction(&format!("{OF_FEDERATES}.HLAreport.{subscribed}"));
        f.call(name, |f| {
            f.publish_interaction_class(published)?;
            f.subscribe_interaction_class(subscribed, true)
        })
        .unwrap();
    }
    f.call("A", |a| {
        let time = a.attribute_handle(manager, "HLAlogicalTime")?;
        a.subscribe_object_class_attributes(manager, &[time], true, "")
    })
    .unwrap();
    let timing = ("HLAadjust.HLAsetTiming", "B");
    manage(&mut f, "A", timing, Some(("HLAreportPeriod", 1))).unwrap();
    f.run();
    f
}

/// Brings A into the state of that column; with what it has been told since then.
fn in_state(state: usize, is_busy: bool) -> (Federation, Vec<&'static str>) {
    let mut f = both();
    let heard = come_to(&mut f, state, is_busy);
    (f, heard)
}

/// While B has not heard of the save or restore it is busy, if it is to be.
fn come_to(f: &mut Federation, state: usize, is_busy: bool) -> Vec<&'static str> {
    let class = f.class("A");
    let instances = ["A", "B"].map(|name| {
        f.call(name, |f| f.register_object_instance(class, None))
            .unwrap()
    });
    let second = LogicalTimeInterval::float64(1.0).unwrap();
    f.call("A", |a| a.enable_time_regulation(second)).unwrap();
    for name in ["A", "B"] {
        f.callbacks(name);
    }
    let mut heard = Vec::new();
    let hear = |f: &mut Federation, heard: &mut Vec<_>| heard.extend(told(f, "A"));
    let reading = (state >= 4).then(|| {
        let saved = saved(f, "S");
        f.call("A", |a| a.request_federation_restore("S")).unwrap();
        f.run();
        let task = f.archives().remove(0);
        if state > 4 {
            f.archived(&task, saved.clone());
            let next = f.call("A", |a| a.next_callback());
            assert_eq!(
                next.as_ref().map(Callback::name),
                Some("requestFederationRestoreSucceeded")
            );
            f.run();
            let next = f.call("A", |a| a.next_callback());
            assert_eq!(
                next.as_ref().map(Callback::name),
                Some("federationRestoreBegun")
            );
        }
        (task, saved)
    });
    if state < 4 {
        if state == 0 && is_busy {
            busy(f, instances);
        }
        // One that only was asked for waits for its time.
        let at = LogicalTime::float64(5.0).filter(|_| state == 0);
        f.call("A", |a| a.request_federation_save("S", at)).unwrap();
        if state > 0 {
            f.run();
            let next = f.call("A", |a| a.next_callback());
            assert_eq!(
                next.as_ref().map(Callback::name),
                Some("initiateFederateSave")
            );
        }
        if state > 1 {
            f.call_late("A", |a| a.federate_save_begun()).unwrap();
        }
        if state > 2 {
            f.call_late("A", |a| a.federate_save_complete()).unwrap();
        }
    }
    if is_busy && state != 0 {
        busy(f, instances);
    }
    if is_busy && state < 4 {
        f.call("A", |a| a.list_federation_executions()).unwrap();
        f.call("A", |a| a.query_federation_save_status()).unwrap();
    } else if is_busy {
        f.call("A", |a| a.list_federation_executions()).unwrap();
        f.call("A", |a| a.query_federation_restore_status())
            .unwrap();
    }
    if let (4, true, Some((task, saved))) = (state, is_busy, reading) {
        // Behind all that, so that it is told in that state.
        f.archived(&task, saved);
    }
    if state > 5 {
        // B hears of it, and so do all of the next.
        f.run();
        let begun = loop {
            let next = f.call("B", |b| b.next_callback()).expect("it begins");
            f.run();
            if next == Callback::FederationRestoreBegun {
                break next;
            }
        };
        assert_eq!(begun.name(), "federationRestoreBegun");
        f.run();
        hear(f, &mut heard);
        assert!(heard.contains(&"initiateFederateRestore"), "{heard:?}");
    }
    if state > 6 {
        f.call("A", |a| a.federate_restore_complete()).unwrap();
    }
    if is_busy {
        hear(f, &mut heard);
    }
    heard
}

/// The classes below those of which the page speaks, by the page's words.
fn to_the_mom(f: &mut Federation) -> BTreeMap<InteractionClassHandle, String> {
    let all = (1..).map(InteractionClassHandle::from_raw);
    let names = all.map_while(|class| {
        let name = f.call("A", |a| a.interaction_class_name(class));
        Some((class, name.ok()?))
    });
    let row = |name: &str| {
        let (_, below) = name.split_once("HLAmanager.")?;
        let mut words = below.split('.').skip(1);
        let (kind, leaf) = (words.next()?, words.next()?);
        let own = [
            "HLAresignFederationExecution",
            "HLAfederateSaveBegun",
            "HLAfederateSaveComplete",
            "HLAfederateRestoreComplete",
        ];
        match kind {
            "HLAadjust" | "HLArequest" => Some(kind.to_owned()),
            "HLAservice" if own.contains(&leaf) => Some(leaf.to_owned()),
            "HLAservice" => Some(format!("other {kind}")),
            _ => None,
        }
    };
    names
        .filter_map(|(class, name)| Some((class, row(&name)?)))
        .collect()
}

#[test]
fn services_are_open_as_the_page_says() {
    let services = page().services;
    let mut called = BTreeSet::new();
    let mut wrong = Vec::new();
    for state in 0..STATES {
        let is_open = |name: &str| services[name].get(state) == Some(&true);
        let (mut f, _) = in_state(state, false);
        for (service, call) in CALLS.iter().chain(OTHERS) {
            let name = service.name();
            called.insert(name);
            let open = is_open(name);
            let result = f.call_late("A", call);
            if is_closed(&result) == open {
                wrong.push(format!("{name} in state {state}: {result:?}"));
            }
            // What is done changes the state.
            if open && result.is_ok() && service.clause().starts_with("4.") {
                (f, _) = in_state(state, false);
            }
        }
        // Of the executive, by the federation execution's state.
        called.insert("joinFederationExecution");
        let joined = f.join_with("C", vec![]).map(|_| ());
        if is_closed(&joined) == is_open("joinFederationExecution") {
            wrong.push(format!(
                "joinFederationExecution in state {state}: {joined:?}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let left = services
        .keys()
        .filter(|name| !called.contains(name.as_str()));
    assert_eq!(left.collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn callbacks_are_open_as_the_page_says() {
    let callbacks = page().callbacks;
    for state in 0..STATES {
        let (mut f, heard) = in_state(state, true);
        for name in &heard {
            assert!(callbacks[*name][state], "{name} came in state {state}");
        }
        assert!(
            heard.contains(&"reportFederationExecutions"),
            "{state}: {heard:?}"
        );
        let all = |told: &[&str]| BUSY.iter().all(|name| told.contains(name));
        if callbacks[BUSY[0]][state] {
            assert!(all(&heard), "{state}: {heard:?}");
            continue;
        }
        let status = [
            "federationSaveStatusResponse",
            "federationRestoreStatusResponse",
        ];
        assert!(heard.contains(&status[state / 4]), "{state}: {heard:?}");
        // When it is over all that comes that has waited, once.
        if state < 4 {
            f.call("A", |a| a.abort_federation_save()).unwrap();
        } else {
            f.call("A", |a| a.abort_federation_restore()).unwrap();
        }
        let after = told(&mut f, "A");
        assert!(all(&after), "{state}: {after:?}");
    }
}

/// 11.4: A sends to the MOM, while it saves or is restored only without a time and regions.
#[test]
fn what_is_sent_to_the_mom_is_open_as_the_page_says() {
    let mut rows = page().mom;
    let open = |row: &str, state: usize| rows[row][state];
    let mut wrong = Vec::new();
    for state in 0..STATES {
        let mut f = both();
        let classes = to_the_mom(&mut f);
        for class in classes.keys() {
            f.call("A", |a| a.publish_interaction_class(*class))
                .unwrap();
        }
        come_to(&mut f, state, false);
        for (class, row) in classes {
            let name = f.call("A", |a| a.interaction_class_name(class)).unwrap();
            // Without its parameters nothing comes of it.
            let plainly = f.call_late("A", |a| a.send_interaction(class, &[], b""));
            let at = f.call_late("A", |a| a.send_interaction_at(class, &[], b"", Any::any()));
            let with_regions = f.call_late("A", |a| {
                a.send_interaction_with_regions(class, &[], &[], b"")
            });
            let is_idle = state % 4 == 0;
            for (result, is_open) in [
                (plainly, open(&row, state)),
                (at.map(|_| ()), is_idle),
                (with_regions, is_idle),
            ] {
                if is_closed(&result) == is_open {
                    wrong.push(format!("{name} in state {state}: {result:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    for row in to_the_mom(&mut both()).into_values() {
        rows.remove(&row);
    }
    let left: Vec<_> = rows.into_keys().collect();
    assert_eq!(left, [COUNTS], "which has its own test");
}

const COUNTS: &str = "what the RTI asks its library for others: counts";

/// B, which has not heard of the save or restore yet, wants to know what A has counted, and A to be served.
#[test]
fn what_is_done_for_others_is_open_as_the_page_says() {
    let rows = page().mom;
    let open = |row: &str, state: usize| rows[row][state];
    let report = format!("{OF_FEDERATES}.HLAreport.HLAreportUpdatesSent");
    let asked = "HLArequest.HLArequestUpdatesSent";
    let served = "HLAservice.HLAenableAsynchronousDelivery";
    // Of the later states of a restore B has heard.
    for state in 0..6 {
        let mut f = both();
        for below in [asked, served] {
            let class = f.interaction(&format!("{OF_FEDERATES}.{below}"));
            f.call("B", |b| b.publish_interaction_class(class)).unwrap();
        }
        come_to(&mut f, state, false);
        let report = f.interaction(&report);
        f.run();
        let sent = f.control.0;
        f.call("B", |b| b.subscribe_interaction_class(report, true))
            .unwrap();
        manage(&mut f, "B", (asked, "A"), None).unwrap();
        f.hear();
        f.call("A", |_| ());
        let answered = f.control.0 - sent - 2;
        assert_eq!(answered == 1, open(COUNTS, state), "{state}: {answered}");

        manage(&mut f, "B", (served, "A"), None).unwrap();
        f.run();
        let is_open = open("other HLAservice", state);
        match state {
            0 | 4 => {}
            1..4 => f.call("A", |a| a.abort_federation_save()).unwrap(),
            _ => f.call("A", |a| a.abort_federation_restore()).unwrap(),
        }
        // What was refused is said to who wanted it, and is not done later.
        let refused = f.interaction(&format!("{OF_FEDERATES}.HLAreport.HLAreportMOMexception"));
        let heard = f.callbacks("B").into_iter();
        let refusals = heard.filter(
            |c| matches!(c, Callback::ReceiveInteraction { class, .. } if *class == refused),
        );
        assert_eq!(refusals.count() == 1, !is_open, "{state}");
        f.callbacks("A");
        let again = f.call("A", |a| a.enable_asynchronous_delivery());
        assert_eq!(again.is_err(), is_open, "{state}: {again:?}");
    }
}
