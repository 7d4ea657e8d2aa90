//! What a join costs the executive does not grow with the modules of the federation execution: memory
//! is counted, with two sizes.

use starling_core::message::{FromExecutive, ModuleSource, PeerInfo, ToExecutive};
use starling_core::{Executive, PeerId};
use starling_wire::{BeginFrames, Piece};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

/// Joins a federation execution with so many classes. Gives the bytes allocated for it, and those of
/// the frame.
fn join(classes: usize) -> (usize, usize) {
    let rows: String = (0..classes)
        .map(|n| format!("<objectClass><name>C{n}</name></objectClass>"))
        .collect();
    let text = format!(
        "<objectModel><objects><objectClass><name>HLAobjectRoot</name>{rows}</objectClass></objects></objectModel>"
    );
    let mut executive = Executive::new();
    executive.connected(PeerId(1), PeerInfo::default());
    let create = ToExecutive::CreateFederation {
        federation: "F".into(),
        modules: vec![ModuleSource {
            designator: "classes.xml".into(),
            text: text.into_bytes().into(),
        }],
        mim: None,
        time_implementation: String::new(),
    };
    executive.receive(PeerId(1), create).unwrap();
    let done = executive.poll_output();
    assert_eq!(done, Some((PeerId(1), FromExecutive::Done(Ok(())))));
    let join = ToExecutive::Join {
        name: None,
        kind: "k".into(),
        federation: "F".into(),
        modules: vec![],
    };
    let region = Region::new(ALLOCATOR);
    executive.receive(PeerId(1), join).unwrap();
    executive.settle();
    let Some((_, FromExecutive::Joined(snapshot))) = executive.poll_output() else {
        panic!("not joined");
    };
    let frame = BeginFrames::default().joined(&snapshot);
    let allocated = region.change().bytes_allocated;
    let length = frame.iter().map(|piece| match piece {
        Piece::Own(bytes) => bytes.len(),
        Piece::Shared(bytes) => bytes.len(),
    });
    (allocated, length.sum())
}

#[test]
fn a_join_costs_no_more_where_modules_are_large() {
    let (small, small_frame) = join(10);
    let (large, large_frame) = join(20_000);
    assert!(large_frame > 100 * small_frame);
    assert!(large <= small + 100, "{small} bytes, then {large}");
}
