//! Any bytes as frames of hostile federates: the executive must refuse or serve them without a
//! panic, and an honest federate of the same federation execution must understand all that it gets.
//!
//! Run by the fuzz target of this name, and on every file of `fuzz/seeds` by `cargo test`. The
//! seeds are what scenarios send (`starling_scenario::record`).

use starling_core::message::{FromExecutive, ModuleSource, OwnedData, PeerInfo, ToExecutive};
use starling_core::{Callback, DataPath, Executive, Federate, Output, PeerId};
use starling_wire::{Frame, split_frame};

const FOM: &[u8] = include_bytes!("../../tests/data/fom/fleet/Fleet.xml");

/// The honest one.
const OBSERVER: PeerId = PeerId(0);

struct Play {
    executive: Executive,
    observer: Option<Federate>,
    heard: Vec<Callback>,
    /// Connections so far; a federate that is thrown out comes again.
    last: u64,
    hostile: [PeerId; 4],
}

/// `peer (1 byte), frame as on a stream` again and again. Peers from 128: their connection ends.
pub fn check(mut bytes: &[u8]) {
    let mut play = Play::begin();
    while let Some((number, rest)) = bytes.split_first() {
        let slot = usize::from(number % 4);
        if *number >= 128 {
            bytes = rest;
            play.leave(slot);
            continue;
        }
        let Ok(Some((frame, taken))) = split_frame(rest) else {
            break;
        };
        bytes = &rest[taken..];
        play.frame(slot, frame);
    }
    play.is_served();
}

impl Play {
    fn begin() -> Self {
        let mut play = Play {
            executive: Executive::new(),
            observer: None,
            heard: Vec::new(),
            last: 0,
            hostile: [OBSERVER; 4],
        };
        play.executive.connected(OBSERVER, PeerInfo::default());
        let create = ToExecutive::CreateFederation {
            federation: "F".into(),
            modules: vec![ModuleSource {
                designator: "Fleet.xml".into(),
                text: FOM.to_vec(),
            }],
            mim: None,
            time_implementation: String::new(),
        };
        let join = ToExecutive::Join {
            name: Some("observer".into()),
            kind: "test".into(),
            federation: "F".into(),
            modules: vec![],
        };
        for message in [create, join] {
            play.executive.receive(OBSERVER, message).unwrap();
        }
        play.deliver();
        play.subscribe();
        for slot in 0..play.hostile.len() {
            play.connect(slot);
        }
        play
    }

    fn subscribe(&mut self) {
        let observer = self.observer.as_mut().expect("it has joined");
        let model = observer.model().clone();
        let own = |name: &str| !name.contains(".HLAmanager");
        for class in model.object_classes().filter(|c| own(&c.name)) {
            observer
                .subscribe_object_class_attributes(class.handle, &class.attributes, true, "")
                .unwrap();
        }
        for class in model.interaction_classes().filter(|c| own(&c.name)) {
            observer
                .subscribe_interaction_class(class.handle, true)
                .unwrap();
        }
        self.requests();
    }

    /// Nobody has kept the log from the observer.
    fn is_served(&mut self) {
        let observer = self.observer.as_mut().expect("it has joined");
        let name = format!("the observer's after {} connections", self.last);
        observer.reserve_object_instance_name(&name).unwrap();
        self.heard.clear();
        self.requests();
        self.executive.settle();
        self.deliver();
        let answered = |c: &Callback| matches!(c, Callback::NamesReserved { .. });
        assert!(self.heard.iter().any(answered), "it waits for ever");
    }

    /// What the observer asks for, then what everybody is told.
    fn requests(&mut self) {
        while let Some(Output::Request(request)) =
            self.observer.as_mut().and_then(Federate::poll_output)
        {
            let request = ToExecutive::Request(request);
            self.executive.receive(OBSERVER, request).unwrap();
        }
        self.deliver();
    }

    fn connect(&mut self, slot: usize) {
        self.last += 1;
        self.hostile[slot] = PeerId(self.last);
        self.executive
            .connected(self.hostile[slot], PeerInfo::default());
    }

    fn leave(&mut self, slot: usize) {
        self.executive.disconnected(self.hostile[slot], "it left");
        self.deliver();
        self.connect(slot);
    }

    fn frame(&mut self, slot: usize, frame: &[u8]) {
        let peer = self.hostile[slot];
        let served = match Frame::decode(frame) {
            // It would only be parsed: that is the fuzz target fom_module.
            Ok(Frame::ToExecutive(ToExecutive::CreateFederation { .. })) => return,
            Ok(Frame::ToExecutive(message)) => self.executive.receive(peer, message),
            Ok(Frame::Data(data)) => self.data(peer, &data.to_owned()),
            _ => return self.leave(slot),
        };
        if served.is_err() {
            return self.leave(slot);
        }
        self.executive.settle();
        self.deliver();
        self.requests();
    }

    fn data(&mut self, peer: PeerId, data: &OwnedData) -> Result<(), starling_core::ProtocolError> {
        let mut to = Vec::new();
        self.executive.data(peer, &data.borrow(), &mut to)?;
        self.deliver();
        if to.contains(&OBSERVER)
            && let Some(observer) = &mut self.observer
        {
            observer.receive_data(&data.borrow()).unwrap();
        }
        Ok(())
    }

    fn deliver(&mut self) {
        while let Some((peer, message)) = self.executive.poll_output() {
            if let FromExecutive::Removed(why) = &message {
                panic!("{peer:?} was removed: {why}");
            }
            if peer != OBSERVER {
                continue;
            }
            match message {
                FromExecutive::Joined(snapshot) => {
                    let observer = Federate::new(*snapshot, DataPath::Executive);
                    self.observer = Some(observer.unwrap());
                }
                FromExecutive::Entry(_) | FromExecutive::Watermark(_) => {
                    if let Some(observer) = &mut self.observer {
                        observer.receive(message).unwrap();
                    }
                }
                _ => {}
            }
        }
        while let Some(callback) = self.observer.as_mut().and_then(Federate::next_callback) {
            self.heard.push(callback);
        }
    }
}
