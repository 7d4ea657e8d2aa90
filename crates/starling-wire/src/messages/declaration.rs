//! Declaration management.

use crate::codec::{Reader, Wire, WireError};
use starling_core::message::declaration::{
    Entry, Request, Snapshot, SubscribedAttribute, Subscription,
};

impl<N: Wire> Wire for Snapshot<N> {
    fn put(&self, out: &mut Vec<u8>) {
        self.objects.put(out);
        self.interactions.put(out);
        self.regions.put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Snapshot {
            objects: Wire::get(from)?,
            interactions: Wire::get(from)?,
            regions: Wire::get(from)?,
        })
    }
}

fields! {
    SubscribedAttribute { attribute, active, rate }
}

variants! {
    Subscription "subscription" { 0 None, 1 Passive, 2 Active }
    Request "request of declaration management" {
        1 PublishObjectClass { class, attributes },
        2 PublishInteraction { class, published },
        3 SubscribeObjectClass { class, attributes },
        4 SubscribeInteraction { class, subscription },
    }
    Entry "entry of declaration management" {
        1 ObjectSubscription { class, attributes },
        2 InteractionSubscription { class, subscription },
    }
}
