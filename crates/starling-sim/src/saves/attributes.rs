//! What federates change of single attributes that they own while saves and restores go on: order types,
//! transportation types, and negotiated divestiture. All of it goes with the ownership (1516.1-2010, 6.23,
//! 8.23).

use super::{Run, Stage};
use crate::host::Deciding;
use starling_core::{
    AttributeHandle, Callback, ExceptionKind, FederateHandle, ObjectInstanceHandle, Order, PeerId,
    Service, Transportation,
};
use std::collections::{BTreeMap, BTreeSet};

pub(super) type Place = (ObjectInstanceHandle, AttributeHandle);

/// What a federate has changed of the attributes that it owns, by its calls and the callbacks delivered to it.
#[derive(Clone, Debug, Default)]
pub(super) struct Changes {
    orders: BTreeMap<Place, Order>,
    /// As confirmed.
    transportations: BTreeMap<Place, Transportation>,
    /// Asked for and not confirmed.
    changing: BTreeSet<Place>,
    divesting: BTreeSet<Place>,
    /// Of these the federate is asked to confirm that it gives them away.
    pub(super) asked: BTreeSet<Place>,
}

impl Changes {
    /// The order in which a value goes out whose sender regulates: that of the FDD is by time stamp.
    pub(super) fn order(&self, place: Place) -> Order {
        let changed = self.orders.get(&place);
        changed.copied().unwrap_or(Order::TimeStamp)
    }

    /// How a value goes out, if that is not as the FDD says.
    pub(super) fn transportation(&self, place: Place) -> Option<Transportation> {
        self.transportations.get(&place).copied()
    }

    /// Keeps what is of such attributes.
    pub(super) fn retain(&mut self, keep: impl Fn(&Place) -> bool) {
        self.orders.retain(|place, _| keep(place));
        self.transportations.retain(|place, _| keep(place));
        self.changing.retain(&keep);
        self.divesting.retain(&keep);
        self.asked.retain(&keep);
    }

    /// A callback about them; `owns`: whether the federate owns an attribute.
    pub(super) fn callback(
        &mut self,
        me: FederateHandle,
        callback: &Callback,
        owns: impl Fn(&Place) -> bool,
    ) {
        match callback {
            Callback::ConfirmAttributeTransportationTypeChange {
                instance,
                attributes,
                transportation,
            } => {
                let places = attributes.iter().map(|a| (*instance, *a));
                for place in places.filter(owns) {
                    self.changing.remove(&place);
                    self.transportations.insert(place, *transportation);
                }
            }
            Callback::ReportAttributeTransportationType {
                instance,
                attribute,
                transportation,
            } => {
                if let Some(is) = self.transportations.get(&(*instance, *attribute)) {
                    assert_eq!(transportation, is, "{me}: {attribute} of {instance}");
                }
            }
            Callback::RequestDivestitureConfirmation {
                instance,
                attributes,
                ..
            } => {
                let places = attributes.iter().map(|a| (*instance, *a));
                let divesting = |place: &Place| self.divesting.contains(place);
                let asked: Vec<_> = places.filter(divesting).collect();
                self.asked.extend(asked);
            }
            _ => {}
        }
    }
}

impl Run {
    /// Something about one attribute that a federate owns.
    pub(super) fn change_attribute(&mut self, peer: PeerId, me: FederateHandle) {
        let Some(place) = self.some_owned(me) else {
            return;
        };
        match self.draw.u8(..7) {
            0..2 => self.change_attribute_order(peer, me, place),
            2..4 => self.change_attribute_transportation(peer, me, place),
            4 => {
                let (instance, attribute) = place;
                let done = self.network.call(peer, |f| {
                    f.query_attribute_transportation_type(instance, attribute)
                });
                self.permitted(me, done, &[]);
            }
            5 => self.divest_by_negotiation(peer, me, place),
            _ => self.cancel_divestiture(peer, me, place),
        }
    }

    fn change_attribute_order(&mut self, peer: PeerId, me: FederateHandle, place: Place) {
        let order = if self.draw.bool() {
            Order::Receive
        } else {
            Order::TimeStamp
        };
        let done = self.network.call(peer, |f| {
            f.change_attribute_order_type(place.0, &[place.1], order)
        });
        if self.permitted(me, done, &[]).is_some() {
            self.own(me).rooms.changes.orders.insert(place, order);
        }
    }

    fn change_attribute_transportation(&mut self, peer: PeerId, me: FederateHandle, place: Place) {
        let to = if self.draw.bool() {
            Transportation::BestEffort
        } else {
            Transportation::Reliable
        };
        let done = self.network.call(peer, |f| {
            f.request_attribute_transportation_type_change(place.0, &[place.1], to)
        });
        let changing = self.own(me).rooms.changes.changing.contains(&place);
        let may: &[_] = if changing {
            &[ExceptionKind::AttributeAlreadyBeingChanged]
        } else {
            &[]
        };
        if self.permitted(me, done, may).is_some() {
            assert!(!changing, "{me} changes {place:?} twice");
            self.own(me).rooms.changes.changing.insert(place);
        }
    }

    fn divest_by_negotiation(&mut self, peer: PeerId, me: FederateHandle, place: Place) {
        let done = self.network.call(peer, |f| {
            f.negotiated_attribute_ownership_divestiture(place.0, &[place.1], b"")
        });
        let divesting = self.own(me).rooms.changes.divesting.contains(&place);
        let may: &[_] = if divesting {
            &[ExceptionKind::AttributeAlreadyBeingDivested]
        } else {
            &[]
        };
        if self.permitted(me, done, may).is_some() {
            assert!(!divesting, "{me} divests {place:?} twice");
            self.own(me).rooms.changes.divesting.insert(place);
        }
    }

    fn cancel_divestiture(&mut self, peer: PeerId, me: FederateHandle, place: Place) {
        let done = self.network.call(peer, |f| {
            f.cancel_negotiated_attribute_ownership_divestiture(place.0, &[place.1])
        });
        let divesting = self.own(me).rooms.changes.divesting.contains(&place);
        let may: &[_] = if divesting {
            &[]
        } else {
            &[ExceptionKind::AttributeDivestitureWasNotRequested]
        };
        if self.permitted(me, done, may).is_some() {
            assert!(divesting, "{me} has not divested {place:?}");
            let changes = &mut self.own(me).rooms.changes;
            changes.divesting.remove(&place);
            changes.asked.remove(&place);
        }
    }

    /// Gives away what another is to get: by confirmDivestiture, which returns when the federation has said
    /// whether the other gets it, or without waiting for that.
    pub(super) fn confirm_divestiture(&mut self, peer: PeerId, me: FederateHandle) {
        let Some((instance, attribute)) = self.own(me).rooms.changes.asked.first().copied() else {
            return;
        };
        if self.draw.bool() {
            let done = self
                .network
                .call(peer, |f| f.confirm_divestiture(instance, &[attribute], b""));
            if let Some(request) = self.permitted(me, done, &[]) {
                let host = self.network.hosts.get_mut(&peer);
                host.expect("it has just called").deciding = Some(Deciding {
                    service: Service::ConfirmDivestiture,
                    request,
                    instance,
                    attributes: vec![attribute],
                });
            }
            return;
        }
        let done = self.network.call(peer, |f| {
            f.unconditional_attribute_ownership_divestiture(instance, &[attribute], b"")
        });
        if self.permitted(me, done, &[]).is_some() {
            self.gives(me, instance, &[attribute]);
        }
    }

    /// Calls that wait for the federation's word return when it has come.
    pub(super) fn decide(&mut self) {
        for (me, asked, answer) in self.network.decided() {
            match answer {
                Ok(divested) => self.gives(me, asked.instance, &divested),
                Err(e) if e.kind == ExceptionKind::NoAcquisitionPending => {
                    let changes = &mut self.own(me).rooms.changes;
                    let of = |a: &_| changes.asked.remove(&(asked.instance, *a));
                    assert!(asked.attributes.iter().all(of), "{me} was not asked");
                }
                Err(e) => panic!("{me}: {e}"),
            }
        }
    }

    /// A federate has given attributes away.
    pub(super) fn gives(
        &mut self,
        me: FederateHandle,
        instance: ObjectInstanceHandle,
        attributes: &[AttributeHandle],
    ) {
        let rooms = &mut self.own(me).rooms;
        let owned = rooms.owned.entry(instance).or_default();
        owned.retain(|a| !attributes.contains(a));
        let kept = |place: &Place| place.0 != instance || !attributes.contains(&place.1);
        rooms.changes.retain(kept);
    }

    /// That it has divested it, and nothing else, keeps a federate from doing so again.
    pub(super) fn compare_changes(&mut self, peer: PeerId, me: FederateHandle) {
        let own = &self.model.own[&me];
        if (own.save, own.restore) != (Stage::None, Stage::None) {
            return;
        }
        let changes = own.rooms.changes.clone();
        self.network.call(peer, |f| {
            for place in changes.divesting {
                let done = f.negotiated_attribute_ownership_divestiture(place.0, &[place.1], b"");
                let kind = done.map_err(|e| e.kind);
                let divesting = Err(ExceptionKind::AttributeAlreadyBeingDivested);
                assert_eq!(kind, divesting, "{me} divests {place:?}");
            }
        });
    }
}
