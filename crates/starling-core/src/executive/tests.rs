use super::*;
use crate::message::mom::Entry;
use crate::message::{
    After, DataBody, EntryBody, LogIndex, Payload, Question, Request, RequestBody, RequestNumber,
    TimeRequest, WHICH_FEDERATION, declaration, object, time,
};
use crate::mom;

fn fom() -> ModuleSource {
    let text = r#"<objectModel xmlns="http://standards.ieee.org/IEEE1516-2010">
        <modelIdentification><name>F</name><type>FOM</type><version>1</version>
        <modificationDate>2026-11-22</modificationDate>
        <securityClassification>Unclassified</securityClassification>
        <description>nothing</description></modelIdentification></objectModel>"#;
    ModuleSource {
        designator: "F.xml".into(),
        text: text.as_bytes().into(),
    }
}

#[test]
fn whoever_creates_gives_a_fom_module_and_does_not_name_the_standard_mim() {
    let mut executive = Executive::new();
    executive.connected(PeerId(1), PeerInfo::default());
    let mut create = |modules, mim| {
        let create = ToExecutive::CreateFederation {
            federation: "F".into(),
            modules,
            mim,
            time_implementation: String::new(),
        };
        executive.receive(PeerId(1), create).unwrap();
        match executive.poll_output() {
            Some((_, FromExecutive::Done(Err(refusal)))) => refusal.kind,
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(create(vec![], None), ExceptionKind::CouldNotOpenFDD);
    let mim = ModuleSource {
        designator: starling_fom::STANDARD_MIM_DESIGNATOR.into(),
        ..fom()
    };
    let named = create(vec![fom()], Some(mim));
    assert_eq!(named, ExceptionKind::DesignatorIsHLAstandardMIM);
}

#[test]
fn one_host_has_many_addresses() {
    for path in [
        "unix",
        "tcp 127.0.0.1:5",
        "tcp 127.255.3.4:6",
        "tcp [::1]:7",
        "tcp [::ffff:127.0.0.1]:8",
    ] {
        assert_eq!(origin(path), "this host", "{path}");
    }
    assert_eq!(origin("tcp 10.0.0.7:50312"), "tcp 10.0.0.7");
    // Whatever a forwarder says of where its federates are.
    let by = "tcp 10.0.1.9:5 by forwarder tcp 10.0.1.2:6 by forwarder tcp 10.0.0.7:50312";
    assert_eq!(origin(by), "tcp 10.0.0.7");
    assert_eq!(origin("tcp 10.0.0.7:50312, lz4"), "tcp 10.0.0.7");
    assert_eq!(origin("tcp [fe80::1]:50312"), "tcp [fe80::1]");
}

#[test]
fn a_panic_in_why_ends_no_federation_execution() {
    let mut executive = Executive::new();
    executive.connected(PeerId(1), PeerInfo::default());
    let create = ToExecutive::CreateFederation {
        federation: "F".into(),
        modules: vec![fom()],
        mim: None,
        time_implementation: String::new(),
    };
    executive.receive(PeerId(1), create).unwrap();
    executive.poll_output();
    let question = ToExecutive::QueryWhy(Question {
        federation: "F".into(),
        federate: crate::why::PANIC.into(),
        subject: None,
    });
    executive.receive(PeerId(1), question).unwrap();
    let Some((PeerId(1), FromExecutive::Why(findings))) = executive.poll_output() else {
        panic!("no answer");
    };
    assert!(!findings[0].holds && findings[0].detail.contains("internal error"));
    assert_eq!(executive.federations(), 1);
}

const FEDERATE: PeerId = PeerId(1);

fn joined() -> Executive {
    joined_with(fom())
}

/// The same, where the FOM is another.
fn joined_with(fom: ModuleSource) -> Executive {
    let mut executive = Executive::new();
    executive.connected(FEDERATE, PeerInfo::default());
    let create = ToExecutive::CreateFederation {
        federation: "F".into(),
        modules: vec![fom],
        mim: None,
        time_implementation: String::new(),
    };
    let join = ToExecutive::Join {
        name: None,
        kind: "k".into(),
        federation: "F".into(),
        modules: vec![],
    };
    for message in [create, join] {
        executive.receive(FEDERATE, message).unwrap();
    }
    executive
}

fn told(executive: &mut Executive) -> Vec<FromExecutive> {
    std::iter::from_fn(|| Some(executive.poll_output()?.1)).collect()
}

#[test]
fn what_was_sent_in_an_older_epoch_brings_nothing_about_and_is_counted() {
    let mut executive = joined();
    let number = executive.last_execution;
    let before = executive.executions[&number].log.index();
    let execution = executive.executions.get_mut(&number).unwrap();
    execution.log.begin_epoch(None);
    let now = execution.log.index();
    assert!(now > before);
    told(&mut executive);

    let reserve = |applied| {
        let body = object::Request::ReserveNames {
            names: vec!["n".into()],
            multiple: false,
        };
        ToExecutive::Request(Request {
            applied,
            fenced: vec![],
            body: body.into(),
        })
    };
    let class = root(&executive);
    let none = crate::ValuesBuf::default();
    let interaction = |index, requests| Data {
        sender: FederateHandle(1),
        after: After { requests, index },
        body: DataBody::Interaction {
            class,
            payload: Payload {
                transportation: starling_fom::Transportation::Reliable,
                values: none.values(),
                tag: &[],
                address: None,
                stamp: None,
            },
        },
    };
    executive.receive(FEDERATE, reserve(before)).unwrap();
    let mut to = Vec::new();
    let old = interaction(before, RequestNumber(0));
    executive.data(FEDERATE, &old, &mut to).unwrap();
    let answered = |m: &FromExecutive| matches!(m, FromExecutive::Entry(e) if e.cause.is_some());
    assert!(!told(&mut executive).iter().any(answered));
    let status = executive.executions[&number].status();
    assert_eq!((status.outdated, status.refused), (2, 0));
    assert_eq!(interactions_sent(&executive), 0);
    // One about time takes no number.
    let constrain = |applied| {
        ToExecutive::Time(TimeRequest {
            applied,
            body: time::Request::EnableConstrained,
        })
    };
    let enabled = |m: &FromExecutive| matches!(m, FromExecutive::Time(_));
    executive.receive(FEDERATE, constrain(before)).unwrap();
    assert!(!told(&mut executive).iter().any(enabled));
    assert_eq!(executive.executions[&number].status().outdated, 3);
    executive.receive(FEDERATE, constrain(now)).unwrap();
    assert!(told(&mut executive).iter().any(enabled));
    let ahead = executive.receive(FEDERATE, constrain(LogIndex(1_000)));
    assert!(ahead.is_err());

    // The next one counts; the dropped one has no number.
    executive.receive(FEDERATE, reserve(now)).unwrap();
    let new = interaction(now, RequestNumber(1));
    executive.data(FEDERATE, &new, &mut to).unwrap();
    assert!(told(&mut executive).iter().any(answered));
    assert_eq!(executive.executions[&number].status().outdated, 3);
    assert_eq!(interactions_sent(&executive), 1);
    // Nobody is ahead of the log.
    assert!(
        executive
            .receive(FEDERATE, reserve(LogIndex(1_000)))
            .is_err()
    );
}

#[test]
fn a_report_that_would_lack_a_value_is_refused() {
    let small = fom();
    let long = "long".repeat(mom::reports::VALUE_BYTES_MAX / 8 + 1);
    let text = String::from_utf8_lossy(&small.text).replace("nothing", &long);
    let mut executive = joined_with(ModuleSource {
        text: text.into_bytes().into(),
        ..small
    });
    let execution = &executive.executions[&executive.last_execution];
    let (model, applied) = (Arc::clone(&execution.model), execution.log.index());
    let class = |name: &str| {
        let class = model.interaction_class_by_name(&format!("HLAmanager.{name}"));
        class.expect("the MIM has it").handle
    };
    let mut send = |body: RequestBody| {
        let request = ToExecutive::Request(Request {
            applied,
            fenced: vec![],
            body,
        });
        executive.receive(FEDERATE, request).unwrap();
        told(&mut executive)
    };
    let exception = class("HLAfederate.HLAreport.HLAreportMOMexception");
    let report = class("HLAfederation.HLAreport.HLAreportFOMmoduleData");
    for class in [report, exception] {
        let subscription = declaration::Subscription::Active;
        let subscribe = declaration::Request::SubscribeInteraction {
            class,
            subscription,
        };
        send(subscribe.into());
    }
    let ask = crate::message::mom::Request::Sent {
        class: class("HLAfederation.HLArequest.HLArequestFOMmoduleData"),
        values: vec![(0, vec![0; 4])],
    };
    let said: Vec<_> = send(ask.into())
        .into_iter()
        .filter_map(|said| match said {
            FromExecutive::Entry(entry) => match &entry.body {
                EntryBody::Mom(Entry::Interaction { class, values, .. }) => {
                    Some((*class, values.clone()))
                }
                _ => None,
            },
            _ => None,
        })
        .collect();
    let [(class, values)] = &said[..] else {
        panic!("{} interactions", said.len());
    };
    assert_eq!(*class, exception);
    let why = values.iter().map(|(_, value)| {
        let units = value[4..].chunks_exact(2);
        let units = units.map(|unit| u16::from_be_bytes([unit[0], unit[1]]));
        String::from_utf16_lossy(&units.collect::<Vec<_>>())
    });
    let why = why.collect::<String>();
    assert!(why.contains("HLAFOMmoduleData takes"), "{why}");
}

/// HLAinteractionRoot.
fn root(executive: &Executive) -> starling_fom::InteractionClassHandle {
    let model = &executive.executions[&executive.last_execution].model;
    model.interaction_classes().next().unwrap().handle
}

fn interactions_sent(executive: &Executive) -> u64 {
    let execution = &executive.executions[&executive.last_execution];
    let class = root(executive);
    let mut sent = execution.objects.interactions_sent();
    sent.find(|(c, _)| *c == class)
        .map_or(0, |(_, count)| count)
}

#[test]
fn what_is_due_next_is_found_without_a_look_at_all_federates() {
    let mut executive = Executive::new();
    for peer in (1..=20).map(PeerId) {
        executive.connected(peer, PeerInfo::default());
    }
    let create = ToExecutive::CreateFederation {
        federation: "F".into(),
        modules: vec![fom()],
        mim: None,
        time_implementation: String::new(),
    };
    executive.receive(PeerId(1), create).unwrap();
    for peer in (1..=20).map(PeerId) {
        let join = ToExecutive::Join {
            name: None,
            kind: "test".into(),
            federation: "F".into(),
            modules: vec![],
        };
        executive.receive(peer, join).unwrap();
    }
    let execution = executive.executions.values_mut().next().unwrap();
    let members = execution.log.members();
    assert_eq!(members.len(), 20);
    // Each is due a second after the one before, the last joined first; the first knows them all.
    for (n, federate) in members.iter().enumerate() {
        let due = Duration::from_secs(100 - n as u64);
        execution.set_period_for_tests(*federate, due, members[0]);
    }
    mom::looks::take();
    assert_eq!(execution.next_timeout(), Some(Duration::from_secs(81)));
    assert_eq!(mom::looks::take(), 1);
    // Those that were due are so again, later, and no other is.
    execution.mom.now = Duration::from_secs(82);
    execution.handle_timeout(&|_| true);
    assert_eq!(execution.next_timeout(), Some(Duration::from_secs(83)));
}

#[test]
fn why_finds_the_federation_execution_by_the_federate() {
    let mut executive = Executive::new();
    let joins = [("F", "a"), ("G", "b"), ("F", "both"), ("G", "both")];
    for (peer, (federation, name)) in (1..).map(PeerId).zip(joins) {
        executive.connected(peer, PeerInfo::default());
        let create = ToExecutive::CreateFederation {
            federation: federation.into(),
            modules: vec![fom()],
            mim: None,
            time_implementation: String::new(),
        };
        let join = ToExecutive::Join {
            name: Some(name.into()),
            kind: "k".into(),
            federation: federation.into(),
            modules: vec![],
        };
        for message in [create, join] {
            executive.receive(peer, message).unwrap();
        }
    }
    let mut first = |federate: &str, link: &str| {
        let found = executive.why(&Question {
            federation: String::new(),
            federate: federate.into(),
            subject: None,
        });
        assert_eq!(found.findings[0].link, link, "{federate}");
        found.findings[0].detail.clone()
    };
    assert_eq!(first("b", "joined"), "'b' is joined to 'G'");
    assert_eq!(first("a", "joined"), "'a' is joined to 'F'");
    assert_eq!(
        first("both", WHICH_FEDERATION),
        "'both' is joined to several, name one (--federation NAME): 'F', 'G'"
    );
    assert_eq!(
        first("nobody", "joined"),
        "'nobody' is joined to no federation execution; there are 'F', 'G'"
    );
}

#[test]
fn where_nothing_exists_nobody_is_resigned_by_order() {
    let mut executive = Executive::new();
    executive.connected(FEDERATE, PeerInfo::default());
    let order = ToExecutive::ResignFederate {
        federation: String::new(),
        federate: "A".into(),
    };
    executive.receive(FEDERATE, order).unwrap();
    let told = told(&mut executive);
    let [FromExecutive::Done(Err(refused))] = &told[..] else {
        panic!("{told:?}");
    };
    assert_eq!(refused.message, "there is no federation execution");
}

#[test]
fn who_is_resigned_by_order_is_no_member_any_more() {
    let mut executive = joined();
    let tool = PeerId(2);
    executive.connected(tool, PeerInfo::default());
    let number = executive.last_execution;
    let names = |executive: &Executive| -> Vec<_> {
        let execution = &executive.executions[&number];
        execution
            .federation
            .member_names()
            .map(str::to_owned)
            .collect()
    };
    let name = names(&executive).remove(0);
    let mut order = |federate: &str| {
        let order = ToExecutive::ResignFederate {
            federation: "F".into(),
            federate: federate.into(),
        };
        told(&mut executive);
        executive.receive(tool, order).unwrap();
        let all = told(&mut executive);
        let is_answer = |m: &FromExecutive| matches!(m, FromExecutive::Done(_));
        let answer = all.into_iter().find(is_answer);
        (answer, names(&executive))
    };
    let (answer, left) = order("nobody");
    let Some(FromExecutive::Done(Err(refused))) = answer else {
        panic!("{answer:?}");
    };
    assert_eq!(refused.kind, ExceptionKind::FederateNotExecutionMember);
    assert!(
        refused.message.contains(&format!("joined: '{name}'")),
        "{refused}"
    );
    assert_eq!(left, std::slice::from_ref(&name));
    let (answer, left) = order(&name);
    assert!(
        matches!(answer, Some(FromExecutive::Done(Ok(())))),
        "{answer:?}"
    );
    assert!(left.is_empty(), "{left:?}");
}
