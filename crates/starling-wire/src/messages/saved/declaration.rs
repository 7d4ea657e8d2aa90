//! Declaration management.

use crate::codec::{Reader, Wire, WireError};
use starling_core::saved::declaration::{
    Advisories, Execution, Federate, Pace, Publications, Said,
};

fields! {
    Execution { subscriptions, publications }
    Publications { objects, interactions }
    Federate { subscriptions, mine, published, published_interactions, registration, interactions, pace }
    Said { queued, delivered }
    Pace { now_us, sent }
}

impl<C: Wire + Ord> Wire for Advisories<C> {
    fn put(&self, out: &mut Vec<u8>) {
        self.enabled.put(out);
        self.said.put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Advisories {
            enabled: Wire::get(from)?,
            said: Wire::get(from)?,
        })
    }
}
