//! What a federate does next, and what may go wrong: by chance, as far as the model says that it may.

use super::{By, How, Run, Stage, at};
use starling_core::message::ResignAction;
use starling_core::{FederateHandle, Order, PeerId};

impl Run {
    pub(super) fn act(&mut self) {
        match self.network.faults.u8(..60) {
            0..12 if self.stands_still && self.network.stand_still() => {}
            12..14 => self.network.standing.clear(),
            _ => {}
        }
        let hosts = self.network.hosts.values().filter(|h| !h.resigning);
        let hosts: Vec<_> = hosts.map(|h| (h.peer, h.handle)).collect();
        let few = hosts.len() + self.network.joining.len() < 3;
        if self.network.joining.is_empty() && (few || (hosts.len() < 5 && self.draw.u8(..80) == 0))
        {
            self.network.join(vec![]);
        }
        if hosts.is_empty() {
            return;
        }
        let (peer, me) = hosts[self.draw.usize(..hosts.len())];
        // One that has not heard yet that it is another now, or is in a call that waits.
        if !self.model.own.contains_key(&me) || self.network.hosts[&peer].deciding.is_some() {
            return;
        }
        if !self.own(me).rooms.changes.asked.is_empty() && self.draw.u8(..8) == 0 {
            return self.confirm_divestiture(peer, me);
        }
        if self.managed && self.draw.u8(..20) == 0 {
            return self.manage(peer, me);
        }
        // Who is complete and evokes nothing for long is instructed once more before it has heard of the end.
        let is_slow = self.lookaheads.is_some() && self.own(me).save == Stage::Complete;
        if is_slow && self.draw.u8(..16) > 0 {
            return;
        }
        match self.draw.u8(..180) {
            128..168 => self.visit(peer, me),
            168..178 => self.change_attribute(peer, me),
            178.. => self.change_path(peer),
            0..50 => {
                self.callbacks(peer, 4);
            }
            50..65 => self.send(peer, me),
            65..72 => self.instances(peer, me),
            72..80 => self.advance(peer, me),
            80..100 => {
                self.go_on(peer, me, true);
            }
            100..107 => self.request_save(peer, me),
            107..116 => self.request_restore(peer, me),
            116..118 => self.abort(peer, me),
            118..121 => {
                self.network.stall(peer);
            }
            121..125 => self.network.stalled.clear(),
            125 => self.resign(peer, me),
            126 => self.kill(peer, me),
            127 => self.register_point(peer, me),
        }
    }

    fn send(&mut self, peer: PeerId, me: FederateHandle) {
        let own = &self.model.own[&me];
        let from = own.first_stamp();
        let stamp = own.regulating.then(|| from + self.draw.i64(0..9));
        let order = own.rooms.order();
        let id = (self.model.last + 1).to_le_bytes();
        let class = self.interaction(peer, "I");
        let model = self.network.hosts[&peer].federate().model();
        let parameter = model.interaction_class(class).expect("it is in the FOM");
        let values = [(parameter.parameters[0], &id[..])];
        let time = stamp.map(|stamp| at(self.floats, stamp));
        let done = self.network.interact(peer, class, (&values, b""), time);
        let Some(handle) = self.allowed(me, done) else {
            return;
        };
        self.model.last += 1;
        let id = self.model.last;
        let timely = stamp.filter(|_| order == Order::TimeStamp);
        assert_eq!(handle.number() > 0, timely.is_some(), "{me}: {order:?}");
        if let Some(stamp) = timely {
            self.own(me).rooms.sends(handle, stamp, id);
            self.timely.insert(id);
        }
        self.sent.insert(id, (me, stamp));
        let how = How {
            place: None,
            transportation: Some(self.model.own[&me].rooms.transportation()),
        };
        self.how.insert(id, how);
        self.latest = self.latest.max(stamp.unwrap_or_default());
        let others = self.model.own.iter_mut().filter(|(to, _)| **to != me);
        for (_, own) in others.filter(|(_, own)| own.settled) {
            own.must.insert(id);
        }
    }

    fn instances(&mut self, peer: PeerId, me: FederateHandle) {
        if self.draw.bool() {
            let done = self.network.call(peer, |f| {
                let class = f.object_class_handle("A").expect("it is in the FOM");
                f.register_object_instance(class, None)
            });
            if let Some(instance) = self.allowed(me, done) {
                self.registered(peer, me, instance);
            }
            return;
        }
        let known = &self.model.own[&me].known;
        let mine = known.iter().find(|i| i.registrar().federate() == Some(me));
        let Some(instance) = mine.copied() else {
            return;
        };
        let done = self
            .network
            .call(peer, |f| f.delete_object_instance(instance, b""));
        if self.allowed(me, done).is_some() {
            self.model.deleted.insert(instance, (me, self.model.last));
            let own = self.own(me);
            own.known.remove(&instance);
            own.rooms.forgets(instance);
        }
    }

    fn advance(&mut self, peer: PeerId, me: FederateHandle) {
        let by = self.draw.i64(1..10);
        let to = self.model.own[&me].time + by;
        let by = [By::TimeAdvance, By::NextMessage, By::Flush][usize::from(self.draw.u8(..3))];
        self.advance_to(peer, me, to, by);
    }

    /// Whether it may ask, and has.
    pub(super) fn advance_to(&mut self, peer: PeerId, me: FederateHandle, to: i64, by: By) -> bool {
        let own = &self.model.own[&me];
        let waits = own.advancing.is_some() || own.enabling != (false, false);
        if waits || !(own.regulating || own.constrained) {
            return false;
        }
        let time = at(self.floats, to);
        let done = self.network.call(peer, |f| match by {
            By::TimeAdvance => f.time_advance_request(time),
            By::NextMessage => f.next_message_request(time),
            By::Flush => f.flush_queue_request(time),
        });
        let asked = self.allowed(me, done).is_some();
        if asked {
            let own = self.own(me);
            (own.advancing, own.by) = (Some(to), by);
        }
        asked
    }

    fn register_point(&mut self, peer: PeerId, me: FederateHandle) {
        self.labels += 1;
        let label = format!("point {}", self.labels);
        let done = self.network.call(peer, |f| {
            f.register_federation_synchronization_point(&label, b"", &[])
        });
        self.allowed(me, done);
    }

    fn request_save(&mut self, peer: PeerId, me: FederateHandle) {
        self.labels += 1;
        let label = format!("save {}", self.labels);
        let own = &self.model.own[&me];
        let timed = (own.regulating || own.constrained) && self.draw.bool();
        let time = timed.then(|| own.time + self.draw.i64(1..10));
        let stamp = time.map(|time| at(self.floats, time));
        let done = self
            .network
            .call(peer, |f| f.request_federation_save(&label, stamp));
        if self.allowed(me, done).is_some() {
            self.count(if timed {
                "save at a time"
            } else {
                "save at once"
            });
            // Who is constrained is told when it asks for more.
            self.latest = self.latest.max(time.map_or(0, |time| time + 1));
        }
    }

    fn request_restore(&mut self, peer: PeerId, me: FederateHandle) {
        let labels: Vec<_> = self.kept.keys().cloned().collect();
        let label = if labels.is_empty() || self.draw.u8(..20) == 0 {
            "missing".to_owned()
        } else {
            labels[self.draw.usize(..labels.len())].clone()
        };
        let done = self
            .network
            .call(peer, |f| f.request_federation_restore(&label));
        self.allowed(me, done);
    }

    fn abort(&mut self, peer: PeerId, me: FederateHandle) {
        let own = &self.model.own[&me];
        if own.save != Stage::None {
            let done = self.network.call(peer, |f| f.abort_federation_save());
            done.unwrap_or_else(|e| panic!("{me}: {e}"));
            self.count("fault: save aborted");
        } else if own.restore != Stage::None {
            let done = self.network.call(peer, |f| f.abort_federation_restore());
            done.unwrap_or_else(|e| panic!("{me}: {e}"));
            self.count("fault: restore aborted");
        }
    }

    /// The next service of a save or a restore that is in progress; whether there was one.
    pub(super) fn go_on(&mut self, peer: PeerId, me: FederateHandle, may_fail: bool) -> bool {
        let fails = may_fail && self.draw.u8(..16) == 0;
        let own = &self.model.own[&me];
        let done = match (own.save, own.restore) {
            (Stage::Told, _) => self.network.call(peer, |f| f.federate_save_begun()),
            (Stage::Begun, _) if fails => {
                self.network.call(peer, |f| f.federate_save_not_complete())
            }
            (Stage::Begun, _) => self.network.call(peer, |f| f.federate_save_complete()),
            (_, Stage::Begun) if fails => self
                .network
                .call(peer, |f| f.federate_restore_not_complete()),
            (_, Stage::Begun) => self.network.call(peer, |f| f.federate_restore_complete()),
            _ => return false,
        };
        done.unwrap_or_else(|e| panic!("{me}: {e}"));
        let own = self.own(me);
        match own.save {
            Stage::Told => own.save = Stage::Begun,
            Stage::Begun => own.save = Stage::Complete,
            _ => own.restore = Stage::Complete,
        }
        if fails {
            self.count("fault: a federate reports failure");
        }
        true
    }

    fn leaves(&mut self, me: FederateHandle) {
        let own = &self.model.own[&me];
        match (own.save, own.restore) {
            (Stage::None, Stage::None) => {}
            (_, Stage::None) => self.count("fault: left while saving"),
            _ => self.count("fault: left while restored"),
        }
        self.model.own.remove(&me);
    }

    fn resign(&mut self, peer: PeerId, me: FederateHandle) {
        let action = ResignAction::CancelThenDeleteThenDivest;
        let done = self
            .network
            .call(peer, |f| f.resign_federation_execution(action));
        done.unwrap_or_else(|e| panic!("{me} can't resign: {e}"));
        self.leaves(me);
        self.network
            .hosts
            .get_mut(&peer)
            .expect("it has called")
            .resigning = true;
    }

    fn kill(&mut self, peer: PeerId, me: FederateHandle) {
        self.leaves(me);
        // What it had sent may be lost from any point on.
        let sent = &self.sent;
        for own in self.model.own.values_mut() {
            own.must.retain(|id| sent[id].0 != me);
            if self.managed && own.settled {
                own.rooms.managed.observer.loses(me);
            }
        }
        self.network.stalled.remove(&peer);
        self.network.kill(peer, &mut self.draw, &mut self.seen);
    }
}
