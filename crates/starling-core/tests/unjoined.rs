//! An LRC whose federate is connected and not joined: answers that are due and such that are not, its own
//! callbacks, and what may be sent.

use starling_bed::Sent;
use starling_core::message::{FederationInformation, FromExecutive, ModuleSource};
use starling_core::{Callback, DataPath, ExceptionKind, Lrc};

fn connected() -> Lrc<Sent> {
    Lrc::new(Sent::default(), DataPath::Executive)
}

fn done() -> FromExecutive {
    FromExecutive::Done(Ok(()))
}

/// A module of so many bytes.
fn module(bytes: usize) -> ModuleSource {
    ModuleSource {
        designator: String::new(),
        text: vec![b' '; bytes].into(),
    }
}

/// Each service is answered once, and nothing else is an answer.
#[test]
fn an_answer_that_is_not_due_ends_the_connection() {
    let mut lrc = connected();
    let refused = |lrc: &mut Lrc<Sent>, message| {
        let why = lrc.receive(message).expect_err("nothing was asked");
        assert!(why.to_string().contains("not due"), "{why}");
    };
    refused(&mut lrc, done());
    lrc.create_federation_execution("F", vec![module(1)], None, "")
        .unwrap();
    let no = starling_core::Exception::new(ExceptionKind::RTIinternalError, "no");
    refused(&mut lrc, FromExecutive::JoinRefused(no.clone()));
    lrc.receive(done()).unwrap();
    refused(&mut lrc, done());
    lrc.join_federation_execution(None, "t", "F", vec![])
        .unwrap();
    refused(&mut lrc, done());
    lrc.receive(FromExecutive::JoinRefused(no.clone())).unwrap();
    refused(&mut lrc, FromExecutive::JoinRefused(no));
}

/// The bound is that of a frame: a byte more and nothing is sent.
#[test]
fn a_federation_execution_is_created_with_modules_that_fit_into_a_frame() {
    let mut lrc = connected();
    lrc.set_frame_bytes_max(10_000);
    for (fom, mim) in [(20_000, None), (5_000, Some(6_000)), (1_000, Some(20_000))] {
        let mim = mim.map(module);
        let refused = lrc.create_federation_execution("F", vec![module(fom)], mim, "");
        let why = refused.expect_err("it does not fit");
        assert_eq!(why.kind, ExceptionKind::RTIinternalError, "{why}");
        assert_eq!(lrc.outbox().messages().count(), 0);
    }
    let (fom, mim) = (vec![module(4_000)], Some(module(4_000)));
    lrc.create_federation_execution("F", fom, mim, "").unwrap();
    assert_eq!(lrc.outbox().messages().count(), 1);
}

/// §4.7: the answer is a callback, which takes what it takes until it is delivered.
#[test]
fn own_callbacks_are_counted_until_they_are_delivered_or_forgotten() {
    let mut lrc = connected();
    assert_eq!((lrc.waiting_bytes(), lrc.callbacks()), (0, 0));
    let list = |names: &[&str]| {
        let list = names.iter().map(|name| FederationInformation {
            name: (*name).to_owned(),
            time_implementation: String::new(),
        });
        FromExecutive::Federations(list.collect())
    };
    lrc.receive(list(&["A"])).unwrap();
    let one = lrc.waiting_bytes();
    assert!(one > 0);
    lrc.receive(list(&["B", &"C".repeat(1_000)])).unwrap();
    assert!(lrc.waiting_bytes() > one + 1_000, "{}", lrc.waiting_bytes());
    assert_eq!(lrc.callbacks(), 2);
    let first = lrc.next_callback();
    assert!(matches!(first, Some(Callback::ReportFederationExecutions(l)) if l[0].name == "A"));
    assert!(lrc.waiting_bytes() > 1_000);
    lrc.next_callback().unwrap();
    assert_eq!((lrc.waiting_bytes(), lrc.callbacks()), (0, 0));
    lrc.receive(list(&["D"])).unwrap();
    lrc.close();
    assert_eq!((lrc.waiting_bytes(), lrc.callbacks()), (0, 0));
    assert_eq!(lrc.next_callback(), None, "nothing more is delivered");
}
