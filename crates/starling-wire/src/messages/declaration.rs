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
}

starling_core::declaration_messages!(variants);
