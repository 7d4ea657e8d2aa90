//! Data distribution management.

use crate::codec::{Reader, Wire, WireError, bad, put_number};
use starling_core::DimensionHandle;
use starling_core::message::ddm::{
    AttributeRegions, Entry, Range, RegionSpecification, RegionSubscription, Request, Snapshot,
};
use std::sync::Arc;

impl<C: Wire, A: Wire, N: Wire> Wire for RegionSubscription<C, A, N> {
    fn put(&self, out: &mut Vec<u8>) {
        self.region.put(out);
        self.class.put(out);
        self.attribute.put(out);
        self.active.put(out);
        self.rate.put(out);
        self.since.put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(RegionSubscription {
            region: Wire::get(from)?,
            class: Wire::get(from)?,
            attribute: Wire::get(from)?,
            active: Wire::get(from)?,
            rate: Wire::get(from)?,
            since: Wire::get(from)?,
        })
    }
}

impl<N: Wire> Wire for Snapshot<N> {
    fn put(&self, out: &mut Vec<u8>) {
        self.regions.put(out);
        self.objects.put(out);
        self.interactions.put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Snapshot {
            regions: Wire::get(from)?,
            objects: Wire::get(from)?,
            interactions: Wire::get(from)?,
        })
    }
}

impl Wire for Arc<[Range]> {
    fn put(&self, out: &mut Vec<u8>) {
        put_number(out, self.len() as u64);
        self.iter().for_each(|range| range.put(out));
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        Ok(Vec::<Range>::get(from)?.into())
    }
}

/// Dimension, lower bound, width: an empty range can't be said.
impl Wire for Range {
    fn put(&self, out: &mut Vec<u8>) {
        self.dimension.put(out);
        self.lower.put(out);
        (self.upper - self.lower).put(out);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let dimension = DimensionHandle::get(from)?;
        let (lower, width) = (u32::get(from)?, u32::get(from)?);
        match lower.checked_add(width).filter(|_| width > 0) {
            Some(upper) => Ok(Range {
                dimension,
                lower,
                upper,
            }),
            None => bad(format!("a range of {width} from {lower}")),
        }
    }
}

fields! {
    RegionSpecification { region, ranges }
    AttributeRegions { attributes, regions }
}

starling_core::ddm_messages!(variants);
