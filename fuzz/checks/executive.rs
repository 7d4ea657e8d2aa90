//! Any bytes as frames of hostile federates: the executive must refuse or serve them without a
//! panic, and an honest federate of the same federation execution must understand all that it gets.
//!
//! Run by the fuzz target of this name, and on every file of `fuzz/seeds` by `cargo test`. The
//! seeds are what scenarios send (`starling_scenario::record`).

use starling_core::message::{Data, FromExecutive, ModuleSource, OwnedData, PeerInfo, ToExecutive};
use starling_core::{
    Callback, DataOut, DataPath, Executive, FederateHandle, Lrc, Outbox, PeerId, ProtocolError,
};
use starling_wire::{Frame, split_frame};

const FOM: &[u8] = include_bytes!("../../tests/data/fom/fleet/Fleet.xml");

/// The honest one.
const OBSERVER: PeerId = PeerId(0);

/// What the observer sends: requests only.
#[derive(Default)]
struct Sent(Vec<ToExecutive>);

impl Outbox for Sent {
    fn to_executive(&mut self, message: ToExecutive) {
        self.0.push(message);
    }
    fn data(&mut self, _: DataOut<'_>) {}
    fn fence(&mut self, _: FederateHandle, _: &Data<'_>) {
        unreachable!("its data takes the executive's path")
    }
}

struct Play {
    executive: Executive,
    observer: Lrc<Sent>,
    heard: Vec<Callback>,
    /// The observer is not delivered what comes, for now.
    late: bool,
    /// Connections so far; a federate that is thrown out comes again.
    last: u64,
    hostile: [PeerId; 4],
}

/// In a frame's first byte: the observer is delivered nothing before the next frame without this.
pub const LATE: u8 = 64;
/// In a frame's first byte: the observer begins to be time-constrained, or is so no longer.
pub const CONSTRAINED: u8 = 32;
/// In a first byte: the peer's connection ends; no frame follows.
const LEAVES: u8 = 128;

/// `peer (1 byte), frame as on a stream` again and again.
pub fn check(mut bytes: &[u8]) {
    let mut play = Play::begin();
    while let Some((number, rest)) = bytes.split_first() {
        let slot = usize::from(number % 4);
        if number & LEAVES != 0 {
            bytes = rest;
            play.leave(slot);
            continue;
        }
        play.late = number & LATE != 0;
        if number & CONSTRAINED != 0 {
            play.constrain();
        }
        let Ok(Some((frame, taken))) = split_frame(rest) else {
            break;
        };
        bytes = &rest[taken..];
        play.frame(slot, frame);
    }
    play.late = false;
    play.deliver();
    play.end_save_and_restore();
    play.is_served();
}

impl Play {
    fn begin() -> Self {
        let mut play = Play {
            executive: Executive::new(),
            observer: Lrc::new(Sent::default(), DataPath::Executive),
            heard: Vec::new(),
            late: false,
            last: 0,
            hostile: [OBSERVER; 4],
        };
        play.executive.connected(OBSERVER, PeerInfo::default());
        let fom = ModuleSource {
            designator: "Fleet.xml".into(),
            text: FOM.into(),
        };
        let observer = &mut play.observer;
        observer
            .create_federation_execution("F", vec![fom], None, "")
            .unwrap();
        play.requests();
        play.observer.answer().expect("an answer").unwrap();
        let observer = &mut play.observer;
        observer
            .join_federation_execution(Some("observer"), "test", "F", vec![])
            .unwrap();
        play.requests();
        play.observer.answer().expect("an answer").unwrap();
        play.subscribe();
        for slot in 0..play.hostile.len() {
            play.connect(slot);
        }
        play
    }

    fn subscribe(&mut self) {
        let observer = &mut self.observer;
        let model = observer.federate().expect("it has joined").model().clone();
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

    /// From now on it is time-constrained, or no longer, unless it is about to be.
    fn constrain(&mut self) {
        if self.observer.disable_time_constrained().is_err() {
            let _ = self.observer.enable_time_constrained();
        }
        self.requests();
    }

    /// What others have begun to save or to restore, any federate can end (§4.21, §4.30).
    fn end_save_and_restore(&mut self) {
        let _ = self.observer.abort_federation_save();
        let _ = self.observer.abort_federation_restore();
        self.requests();
        self.executive.settle();
        self.deliver();
    }

    /// Nobody has kept the log from the observer.
    fn is_served(&mut self) {
        let observer = &mut self.observer;
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
        for message in std::mem::take(&mut self.observer.outbox().0) {
            self.executive.receive(OBSERVER, message).unwrap();
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

    fn data(&mut self, peer: PeerId, data: &OwnedData) -> Result<(), ProtocolError> {
        let mut to = Vec::new();
        self.executive.data(peer, &data.borrow(), &mut to)?;
        self.deliver();
        if to.contains(&OBSERVER) {
            self.observer
                .receive_data(&data.borrow(), DataPath::Executive, None)
                .unwrap();
        }
        Ok(())
    }

    fn deliver(&mut self) {
        while let Some((peer, message)) = self.executive.poll_output() {
            if let FromExecutive::Removed(why) = &message {
                panic!("{peer:?} was removed: {why}");
            }
            if peer == OBSERVER {
                self.observer.receive(message).unwrap();
            }
        }
        while !self.late
            && let Some(callback) = self.observer.next_callback()
        {
            self.heard.push(callback);
        }
    }
}
