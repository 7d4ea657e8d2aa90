//! What the fuzz target `executive` checks, on the inputs it has kept.
#![allow(clippy::print_stdout, reason = "the test harness shows it")]

use starling_core::FederateHandle;
use starling_core::message::{Request, RequestBody, ToExecutive};
use starling_wire::put_to_executive;
use std::path::Path;

#[path = "../../../fuzz/checks/executive.rs"]
mod executive;

#[test]
fn hostile_federates_harm_nobody() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/executive");
    let mut count = 0;
    for file in std::fs::read_dir(&folder).unwrap() {
        let path = file.unwrap().path();
        println!("{}", path.display()); // shown if it fails
        executive::check(&std::fs::read(path).unwrap());
        count += 1;
    }
    assert!(count >= 50, "only {count} files in {}", folder.display());
}

#[test]
fn a_fence_that_never_comes_holds_up_nobody() {
    let mut sent = Vec::new();
    let join = ToExecutive::Join {
        name: None,
        kind: "hostile".into(),
        federation: "F".into(),
        modules: vec![],
    };
    let request = ToExecutive::Request(Request {
        fenced: vec![FederateHandle(1), FederateHandle(1), FederateHandle(7)],
        body: RequestBody::ReserveNames {
            names: vec!["n".into()],
            multiple: false,
        },
    });
    for message in [join, request] {
        sent.push(1);
        put_to_executive(&mut sent, &message);
    }
    executive::check(&sent);
}
