//! Any bytes as a save that the federates which it names restore, and go on from: the executive must refuse it with a
//! reason, or restore it and outlive what comes of it. Nobody panics, and nothing goes on for ever.
//!
//! Whoever says what can't be in a restored federation execution may be cut off for it, as anywhere. What is saved of
//! it anew can be restored again.
//!
//! Run by the fuzz target of this name, and on every file of `fuzz/seeds` by `cargo test`. The seeds are what
//! [`genuine`] makes.

#[path = "restore/acts.rs"]
mod acts;

use acts::{Own, act};
use fastrand::Rng;
use starling_bed::{Bed, Link, Message, Sent};
use starling_core::message::{FromExecutive, ModuleSource, Question, ResignAction};
use starling_core::{
    Answer, Archived, Callback, DataPath, Exception, Executive, Lrc, MessageRetractionHandle,
    PeerId, ProtocolError, SavedFederation, Services, TimeType,
};
use starling_wire::{decode_save, put_save};
use std::collections::BTreeMap;

const FOM: &[u8] = include_bytes!("../../tests/data/fom/fleet/Fleet.xml");

/// So many federates join at most: each reads the object model.
const FEDERATES_MAX: usize = 4;
/// Of what they do once they are restored.
const STEPS: usize = 60;
/// Before a genuine save.
const STEPS_BEFORE: usize = 500;
/// No play needs so many messages and callbacks.
const EVENTS_MAX: usize = 100_000;

/// What has come of a save.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It could not be read, or has too many federates.
    Unread,
    /// It does not fit, for this reason.
    Refused(String),
    /// It was restored.
    Restored {
        /// Federates that were cut off afterwards, and why.
        cut_off: Vec<String>,
        /// Why it could not be saved again, if so.
        unsaved: Option<String>,
    },
}

/// `seed of what they do (2 bytes), state of a save without its FOM modules`.
pub fn check(bytes: &[u8]) -> Outcome {
    let Some((seed, state)) = bytes.split_first_chunk() else {
        return Outcome::Unread;
    };
    let mut saved = match decode_save(state) {
        Ok(saved) if saved.federates.len() <= FEDERATES_MAX => saved,
        Ok(_) => return Outcome::Unread,
        Err(why) => {
            assert!(!why.to_string().is_empty(), "a reason");
            return Outcome::Unread;
        }
    };
    let of = &saved.execution;
    let members = of.federation.members.values();
    let members: Vec<_> = members.map(|m| (&*m.name, &*m.kind)).collect();
    let (federation, time) = (&saved.federation, of.time.time_type);
    let Some(mut play) = Play::begin(*seed, federation, of.services, time, &members) else {
        return Outcome::Unread;
    };
    let now = play.bed.executive.save(federation).expect("it is there");
    saved.execution.federation.modules = now.federation.modules;
    let (federation, label) = (saved.federation.clone(), saved.label.clone());
    play.owns(&saved);
    play.kept = Some(saved);
    let refused = play.restore(&label).err();
    play.go_on(STEPS);
    let unsaved = play.save_again().err();
    play.end(&federation);
    match refused {
        Some(why) => Outcome::Refused(why),
        None => Outcome::Restored {
            cut_off: play.cut_off,
            unsaved,
        },
    }
}

/// What three federates save that have done this and that.
pub fn genuine(seed: [u8; 2], services: Services, time: TimeType) -> Vec<u8> {
    let members = [("a", "k"), ("b", "k"), ("c", "l")];
    let play = Play::begin(seed, "F", services, time, &members);
    let mut play = play.expect("these can join");
    play.go_on(STEPS_BEFORE);
    play.save("L").expect("it can be saved");
    let mut saved = play.kept.expect("it was saved");
    saved.execution.federation.modules.clear();
    let mut bytes = seed.to_vec();
    put_save(&mut bytes, &saved);
    bytes
}

struct Play {
    bed: Bed,
    random: Rng,
    /// The save that is there.
    kept: Option<SavedFederation>,
    own: BTreeMap<PeerId, Own>,
    /// What federates were told since a save or a restore was asked for.
    told: Vec<(PeerId, Callback)>,
    /// Why the last save could not be written.
    unwhole: Option<String>,
    events: usize,
    cut_off: Vec<String>,
}

impl Play {
    /// With these federates, by name and type; none: they can't be.
    fn begin(
        seed: [u8; 2],
        federation: &str,
        services: Services,
        time: TimeType,
        members: &[(&str, &str)],
    ) -> Option<Self> {
        let mut executive = Executive::new();
        executive.set_services(services);
        executive.allow_direct_links();
        let path = [DataPath::Executive, DataPath::Direct][usize::from(seed[0] & 1)];
        let mut play = Play {
            bed: Bed::new(executive, path, std::convert::identity),
            random: Rng::with_seed(u16::from_le_bytes(seed).into()),
            kept: None,
            own: BTreeMap::new(),
            told: Vec::new(),
            unwhole: None,
            events: 0,
            cut_off: Vec::new(),
        };
        let fom = ModuleSource {
            designator: "Fleet.xml".into(),
            text: FOM.into(),
        };
        for (name, kind) in members {
            let peer = play.bed.connect();
            if play.own.is_empty() {
                let fom = vec![fom.clone()];
                let created = play.ask(peer, |lrc| {
                    lrc.create_federation_execution(federation, fom, None, time.name())
                });
                created.ok()?;
            }
            play.own.insert(peer, Own::default());
            let mut join = |name| {
                play.ask(peer, |lrc| {
                    lrc.join_federation_execution(name, kind, federation, vec![])
                })
            };
            // One that has another name fits by its type.
            join(Some(name)).or_else(|_| join(None)).ok()?;
        }
        (!play.own.is_empty()).then_some(play)
    }

    /// What is saved of each is what it uses from now on.
    fn owns(&mut self, saved: &SavedFederation) {
        for (own, (federate, part)) in self.own.values_mut().zip(&saved.federates) {
            let sent = part.time.sent.keys();
            *own = Own {
                regions: part.ddm.own.keys().copied().collect(),
                messages: sent
                    .map(|number| MessageRetractionHandle::new(*federate, *number))
                    .collect(),
            };
        }
    }

    /// A service that waits for the executive's answer.
    fn ask(
        &mut self,
        peer: PeerId,
        start: impl FnOnce(&mut Lrc<Sent>) -> Result<(), Exception>,
    ) -> Result<Answer, Exception> {
        start(self.bed.member(peer))?;
        self.settle();
        self.bed.member(peer).answer().expect("an answer")
    }

    fn any_peer(&mut self) -> Option<PeerId> {
        let peers: Vec<_> = self.bed.members.keys().copied().collect();
        (!peers.is_empty()).then(|| peers[self.random.usize(..peers.len())])
    }

    /// Each does this and that; what they send and are told comes sooner or later.
    fn go_on(&mut self, steps: usize) {
        for _ in 0..steps {
            let Some(peer) = self.any_peer() else { return };
            let own = self.own.get_mut(&peer).expect("of everybody");
            act(self.bed.member(peer), own, &mut self.random);
            for _ in 0..self.random.usize(..8) {
                self.travel();
            }
            if self.random.bool() {
                self.evoke(peer);
            }
            let due = self.bed.executive.next_timeout();
            if let Some(due) = due.filter(|_| self.random.u8(..) < 32) {
                self.bed.executive.set_time(due);
                self.bed.executive.handle_timeout(|_| true);
            }
        }
    }

    /// A save is made, if need be when others have ended.
    fn save(&mut self, label: &str) -> Result<(), String> {
        let peer = *self.peers().first().ok_or("all were cut off")?;
        let ask = |play: &mut Self| play.bed.member(peer).request_federation_save(label, None);
        if ask(self).is_err() {
            for peer in self.peers() {
                let _ = self.bed.member(peer).abort_federation_save();
                let _ = self.bed.member(peer).abort_federation_restore();
            }
            self.tell_all();
            ask(self).map_err(|e| e.to_string())?;
        }
        self.told.clear();
        self.unwhole = None;
        self.tell_all();
        let saved = |(_, told): &&(PeerId, Callback)| *told == Callback::FederationSaved;
        let saved = self.told.iter().filter(saved).count();
        if saved == 0 {
            return Err(format!("{:?}: {:?}", self.unwhole, self.told));
        }
        assert!(
            saved >= self.peers().len(),
            "not all are told: {:?}",
            self.told
        );
        Ok(())
    }

    /// What is restored is saved, and restored again.
    fn save_again(&mut self) -> Result<(), String> {
        self.save("Again")?;
        self.restore("Again")
            .expect("what was written can be restored");
        self.go_on(STEPS / 4);
        Ok(())
    }

    /// Why it is refused, if it is; then all is as before.
    fn restore(&mut self, label: &str) -> Result<(), String> {
        self.told.clear();
        let cut_off = self.cut_off.len();
        while self.bed.executive.poll_note().is_some() {}
        let peers = self.peers();
        let asked = peers.first().ok_or("all were cut off")?;
        let asked = self.bed.member(*asked).request_federation_restore(label);
        asked.map_err(|e| e.to_string())?;
        self.tell_all();
        let is = |wanted: Callback| move |(_, told): &&(PeerId, Callback)| *told == wanted;
        let answer = |succeeded| Callback::RestoreRequested {
            label: label.to_owned(),
            succeeded,
        };
        if self.told.iter().any(|told| is(answer(false))(&told)) {
            let note = self.bed.executive.poll_note();
            return Err(note.expect("it says why").1);
        }
        // What would go wrong is found before anybody is told.
        assert!(self.told.iter().any(|told| is(answer(true))(&told)));
        let restored = self.told.iter().filter(is(Callback::FederationRestored));
        let restored = restored.count() + self.cut_off.len() - cut_off;
        assert!(restored >= peers.len(), "not all are told: {:?}", self.told);
        Ok(())
    }

    /// All resign, and the federation execution is still there to be destroyed: no panic has ended it.
    fn end(&mut self, federation: &str) {
        for peer in self.peers() {
            let lrc = self.bed.member(peer);
            let name = lrc.federate().map_or("", |f| f.name()).to_owned();
            for subject in [None, Some("HLAobjectRoot.Vehicle.Car".to_owned())] {
                self.bed.executive.why(&Question {
                    federation: federation.to_owned(),
                    federate: name.clone(),
                    subject,
                });
            }
            let lrc = self.bed.member(peer);
            let action = ResignAction::from_number(self.random.u32(..6)).expect("one of six");
            let resigned = lrc.resign_federation_execution(action);
            let resigned = resigned.or_else(|_| {
                lrc.resign_federation_execution(ResignAction::CancelThenDeleteThenDivest)
            });
            self.settle();
            if resigned.is_err() {
                self.leave(peer, "it can't resign");
            }
        }
        for peer in self.peers() {
            self.leave(peer, "it has ended");
        }
        self.settle();
        let last = self.bed.connect();
        let destroyed = self.ask(last, |lrc| lrc.destroy_federation_execution(federation));
        assert_eq!(destroyed, Ok(Answer::Done));
    }

    fn peers(&self) -> Vec<PeerId> {
        self.bed.members.keys().copied().collect()
    }

    /// Everything arrives, and everybody is told everything.
    fn tell_all(&mut self) {
        loop {
            self.settle();
            let before = self.events;
            for peer in self.peers() {
                self.evoke(peer);
            }
            if self.events == before && !self.travel() {
                return;
            }
        }
    }

    /// Everything arrives.
    fn settle(&mut self) {
        while self.travel() {}
    }

    fn event(&mut self) {
        self.events += 1;
        assert!(self.events < EVENTS_MAX, "it goes on for ever");
    }

    /// The next message of some link arrives, or something is done with a save; whether there was one.
    fn travel(&mut self) -> bool {
        for peer in self.peers() {
            self.bed.collect(peer);
        }
        self.bed.executive.settle();
        self.bed.collect_from_executive();
        if self.archive() {
            return true;
        }
        let links: Vec<_> = self.bed.links().collect();
        if links.is_empty() {
            return false;
        }
        self.event();
        let link = links[self.random.usize(..links.len())];
        let message = self.bed.take(link).expect("no link is empty");
        match link {
            Link::Up(from) => {
                if let Err(why) = self.bed.reach_executive(from, message) {
                    self.bed.truncate(link, 0);
                    self.cut_off(from, &why);
                }
            }
            Link::Down(to) => {
                let is_restored =
                    matches!(&message, Message::FromExecutive(FromExecutive::Restored(_)));
                let read = self.bed.reach_member(to, message);
                if is_restored {
                    read.as_ref().expect("it was tried before anybody was told");
                }
                self.has_read(to, read);
            }
            Link::Data(_, to) => {
                let is_it = |lrc: &Lrc<Sent>| lrc.federate().is_some_and(|f| f.handle() == to);
                let found = self.bed.members.iter().find(|(_, lrc)| is_it(lrc));
                if let Some((to, _)) = found {
                    let to = *to;
                    let read = self.bed.reach_by(DataPath::Direct, to, message);
                    self.has_read(to, read);
                }
            }
        }
        true
    }

    fn has_read(&mut self, peer: PeerId, read: Result<(), ProtocolError>) {
        let Some(lrc) = self.bed.members.get(&peer) else {
            return;
        };
        if let Err(why) = read {
            self.cut_off(peer, &why);
        } else if let Some(why) = lrc.lost().map(str::to_owned) {
            self.cut_off(peer, &ProtocolError(why));
        }
    }

    fn cut_off(&mut self, peer: PeerId, why: &ProtocolError) {
        assert!(!why.to_string().is_empty(), "a reason");
        self.cut_off.push(why.to_string());
        self.leave(peer, "it was cut off");
    }

    fn leave(&mut self, peer: PeerId, why: &str) {
        self.bed.lose(peer);
        self.bed.executive.disconnected(peer, why);
    }

    /// Keeps or brings a save, as rtiexec does; whether there was one to be.
    fn archive(&mut self) -> bool {
        let Some(task) = self.bed.executive.poll_archive() else {
            return false;
        };
        self.event();
        let done = match task.write {
            Some(saved) => saved.require_whole().map(|()| {
                let mut bytes = Vec::new();
                put_save(&mut bytes, &saved);
                assert_eq!(decode_save(&bytes).as_ref(), Ok(&*saved));
                self.kept = Some(*saved);
                Archived::Written
            }),
            None => match &self.kept {
                Some(saved) => Ok(Archived::Read(Box::new(saved.clone()))),
                None => Err("there is none".to_owned()),
            },
        };
        if let Err(why) = &done {
            assert!(!why.is_empty(), "a reason");
            self.unwhole = Some(why.clone());
        }
        let executive = &mut self.bed.executive;
        executive.archived(task.execution, task.number, done);
        true
    }

    /// Delivers what waits for a federate, which takes its part in saves and restores.
    fn evoke(&mut self, peer: PeerId) {
        while let Some(callback) = self.bed.members.get_mut(&peer).and_then(Lrc::next_callback) {
            self.event();
            let lrc = self.bed.member(peer);
            let answers = self.random.bool();
            let _ = match &callback {
                Callback::InitiateFederateSave { .. } => lrc
                    .federate_save_begun()
                    .and_then(|()| lrc.federate_save_complete()),
                Callback::InitiateFederateRestore { .. } => lrc.federate_restore_complete(),
                Callback::AnnounceSynchronizationPoint { label, .. } if answers => {
                    lrc.synchronization_point_achieved(label, true)
                }
                Callback::RequestDivestitureConfirmation {
                    instance,
                    attributes,
                    ..
                } if answers => lrc
                    .confirm_divestiture(*instance, attributes, b"")
                    .map(drop),
                Callback::ProvideAttributeValueUpdate {
                    instance,
                    attributes,
                    ..
                } if answers => {
                    let values: Vec<_> = attributes.iter().map(|a| (*a, &b"wanted"[..])).collect();
                    lrc.update_attribute_values(*instance, &values, b"")
                }
                _ => Ok(()),
            };
            self.told.push((peer, callback));
        }
    }
}
