//! Which federates come by the same forwarder, so that it passes data from one to the other.
//!
//! A federate that comes by one is told so when it has joined or was restored, and asks for it; from then on it and the
//! others of its federation execution behind the same trunk know each other. Which of the forwarders behind that trunk
//! has both is not known here: each passes on what it can, and hands on the rest.
//!
//! Invariants: a forwarder knows a member before anybody passes to it, and a member was of the present epoch by then;
//! that a member is gone stands on a stream before what the log says of it.

use crate::connection::Connection;
use crate::server::Server;
use crate::trunk::Channel;
use starling_core::{FederateHandle, PeerId};
use starling_wire::{LinkNotice, OnTrunk};
use std::collections::BTreeMap;

/// As the way of such data is called.
pub(crate) const FORWARDER: &str = "forwarder";

/// Those who have asked, by their trunks and channels.
#[derive(Default)]
pub(crate) struct Sites(BTreeMap<(usize, u64), Member>);

#[derive(Clone, Copy)]
struct Member {
    /// Its connection.
    n: usize,
    trunk: usize,
    execution: u64,
    federate: FederateHandle,
}

impl Member {
    fn is_near(&self, other: &Self) -> bool {
        (self.trunk, self.execution) == (other.trunk, other.execution)
    }
}

impl Server {
    /// A federate has joined or was restored: it may have what others pass to it by its forwarder.
    pub(crate) fn offer_site(&mut self, n: usize) {
        let comes_by_one = self.connection(n).is_some_and(|c| c.channel.is_some());
        if comes_by_one && self.config.passes {
            self.tell(n, &LinkNotice::Site, None);
        }
    }

    /// It wants it.
    pub(crate) fn enter_site(&mut self, n: usize) {
        self.leave_site(n);
        let passes = self.config.passes;
        // It may have been resigned meanwhile.
        let Some((execution, federate)) = self.executive.member_of(PeerId(n as u64)) else {
            return;
        };
        let connection = self.connection(n).filter(|_| passes);
        let Some((trunk, channel)) = connection.and_then(|connection| {
            let there = connection.channel.as_ref()?.place();
            connection.has_links = true;
            Some(there)
        }) else {
            return;
        };
        let new = Member {
            n,
            trunk,
            execution,
            federate,
        };
        self.put_on_trunk(
            trunk,
            &OnTrunk::Member {
                channel,
                group: execution,
                federate,
            },
        );
        for (other, federate) in self.near(&new) {
            let near = true;
            self.tell(n, &LinkNotice::Near { federate, near }, None);
            let federate = new.federate;
            self.tell(other, &LinkNotice::Near { federate, near }, None);
        }
        self.sites.0.insert((trunk, channel), new);
    }

    fn near(&self, member: &Member) -> Vec<(usize, FederateHandle)> {
        let of_trunk = (member.trunk, 0)..=(member.trunk, u64::MAX);
        let all = self.sites.0.range(of_trunk).map(|(_, other)| other);
        let near = all.filter(|other| other.is_near(member));
        near.map(|other| (other.n, other.federate)).collect()
    }

    /// A membership ends. It is told so, too: it waits for nobody's fence any more.
    pub(crate) fn leave_site(&mut self, n: usize) {
        let channel = self.connection(n).and_then(|c| c.channel.as_ref());
        let Some((trunk, channel)) = channel.map(Channel::place) else {
            return;
        };
        let Some(gone) = self.sites.0.remove(&(trunk, channel)) else {
            return;
        };
        let federate = gone.federate;
        self.put_on_trunk(trunk, &OnTrunk::NoMember { channel });
        let near = false;
        for (other, _) in self.near(&gone) {
            self.tell(other, &LinkNotice::Near { federate, near }, None);
        }
        self.tell(n, &LinkNotice::Near { federate, near }, None);
    }

    /// Whether data between these is passed on by forwarders.
    pub(crate) fn are_near(&self, one: &Connection, other: &Connection) -> bool {
        let of = |c: &Connection| self.sites.0.get(&c.channel.as_ref()?.place());
        of(one).zip(of(other)).is_some_and(|(a, b)| a.is_near(b))
    }

    /// Whether data of somebody may be passed on to this one.
    pub(crate) fn is_at_a_site(&self, connection: &Connection) -> bool {
        let place = connection.channel.as_ref().map(Channel::place);
        place.is_some_and(|place| self.sites.0.contains_key(&place))
    }
}
