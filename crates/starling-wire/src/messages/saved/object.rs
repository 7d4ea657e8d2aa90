//! Object management.

use crate::codec::{Reader, Wire, WireError};
use starling_core::saved::object::{
    Execution, Federate, Instance, KnownInstance, Told, TransportationChanges, Wanted,
};

fields! {
    Execution { instances, last, reserved, transportations, told, interactions_sent, refused, behind_deletion }
    Instance { class, name, owners, updates, known, locally_deleted, transportations }
    Told { switches, scope, relevance, touched }
    Federate { instances, reserved, last_instance, wanted, transportations, switches, locally_deleted, counted }
    KnownInstance { registered_class, known_class, name, owned, transportations, orders, in_scope, updated, reflected, discovered, removed, gone }
    Wanted { instance, tag, acquisitions }
}

impl<H: Wire + Ord> Wire for TransportationChanges<H> {
    fn put(&self, out: &mut Vec<u8>) {
        self.changed.put(out);
        self.changing.put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(TransportationChanges {
            changed: Wire::get(from)?,
            changing: Wire::get(from)?,
        })
    }
}
