//! Whom a data frame goes to, where the sender says so: its receivers, and the regions that it is
//! sent with (none: it names receivers only, and is sent with the default region).
//!
//! One run of bytes, made once by the sender: count and handles of the receivers; count of the
//! regions, each as creator, number, count of ranges, each as dimension, lower bound, width. All
//! numbers are LEB128.

use crate::message::{Range, RegionSpecification};
use crate::values::{leb, unleb};
use crate::{DimensionHandle, FederateHandle, RegionHandle};
use std::fmt;

/// An address borrowed from a frame; known to be well-formed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Address<'a> {
    all: &'a [u8],
    /// Where the regions begin.
    regions: usize,
}

/// An address that owns its bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct AddressBuf {
    all: Vec<u8>,
    regions: usize,
}

/// The bytes are not an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InvalidAddress;

impl<'a> Address<'a> {
    /// Checks all of it, so that iterating can't fail.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, InvalidAddress> {
        let mut rest = bytes;
        let mut check = || {
            for _ in 0..count(&mut rest)? {
                number(&mut rest)?;
            }
            let regions = bytes.len() - rest.len();
            for _ in 0..count(&mut rest)? {
                region(&mut rest)?;
            }
            rest.is_empty().then_some(regions)
        };
        let regions = check().ok_or(InvalidAddress)?;
        Ok(Address {
            all: bytes,
            regions,
        })
    }

    /// Who is to get it.
    pub fn receivers(self) -> impl Iterator<Item = FederateHandle> + 'a {
        let mut rest = self.all;
        let left = count(&mut rest).unwrap_or(0);
        (0..left).map_while(move |_| number(&mut rest).map(FederateHandle))
    }

    /// What it was sent with.
    pub fn regions(self) -> impl Iterator<Item = RegionSpecification> + 'a {
        let mut rest = &self.all[self.regions..];
        let left = count(&mut rest).unwrap_or(0);
        (0..left).map_while(move |_| region(&mut rest))
    }

    /// The run itself.
    pub fn as_bytes(self) -> &'a [u8] {
        self.all
    }

    /// A copy that may be kept.
    pub fn to_buf(self) -> AddressBuf {
        AddressBuf {
            all: self.all.to_vec(),
            regions: self.regions,
        }
    }
}

impl AddressBuf {
    /// Of receivers and regions.
    pub fn new<'a>(
        receivers: &[FederateHandle],
        regions: impl ExactSizeIterator<Item = (RegionHandle, &'a [Range])>,
    ) -> Self {
        let mut all = Vec::new();
        leb(&mut all, receivers.len() as u64);
        for receiver in receivers {
            leb(&mut all, receiver.0.into());
        }
        let start = all.len();
        leb(&mut all, regions.len() as u64);
        for (region, ranges) in regions {
            leb(&mut all, region.creator().0.into());
            leb(&mut all, region.number().into());
            leb(&mut all, ranges.len() as u64);
            for range in ranges {
                leb(&mut all, range.dimension.raw().into());
                leb(&mut all, range.lower.into());
                leb(&mut all, (range.upper - range.lower).into());
            }
        }
        let regions = start;
        AddressBuf { all, regions }
    }

    /// Of these receivers, with the regions of the address of all.
    pub(crate) fn to_some(receivers: &[FederateHandle], all: Option<Address<'_>>) -> Self {
        let regions: Vec<_> = all.into_iter().flat_map(Address::regions).collect();
        let regions = regions.iter().map(|r| (r.region, &r.ranges[..]));
        Self::new(receivers, regions)
    }

    /// The address, borrowed.
    pub fn borrow(&self) -> Address<'_> {
        Address {
            all: &self.all,
            regions: self.regions,
        }
    }
}

impl fmt::Debug for Address<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let to: Vec<_> = self.receivers().collect();
        let with: Vec<_> = self.regions().collect();
        let mut parts = f.debug_struct("Address");
        parts.field("to", &to).field("with", &with).finish()
    }
}

impl fmt::Debug for AddressBuf {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.borrow().fmt(f)
    }
}

/// A count; every element takes at least a byte.
fn count(rest: &mut &[u8]) -> Option<u64> {
    unleb(rest).filter(|n| *n <= rest.len() as u64)
}

fn number(rest: &mut &[u8]) -> Option<u32> {
    u32::try_from(unleb(rest)?).ok()
}

fn region(rest: &mut &[u8]) -> Option<RegionSpecification> {
    let creator = FederateHandle(number(rest)?);
    let region = RegionHandle::new(creator, number(rest)?);
    let mut ranges: Vec<Range> = Vec::new();
    for _ in 0..count(rest)? {
        let dimension = DimensionHandle::from_raw(number(rest)?);
        let lower = number(rest)?;
        let upper = lower.checked_add(number(rest)?)?;
        let ascends = ranges.last().is_none_or(|r| r.dimension < dimension);
        if lower == upper || !ascends {
            return None;
        }
        ranges.push(Range {
            dimension,
            lower,
            upper,
        });
    }
    Some(RegionSpecification { region, ranges })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_ones_take_few_bytes() {
        let range = Range {
            dimension: DimensionHandle::from_raw(1),
            lower: 5,
            upper: 15,
        };
        let region = RegionHandle::new(FederateHandle(2), 3);
        let one = [(region, &[range][..])];
        let sent = AddressBuf::new(&[FederateHandle(1)], one.into_iter());
        assert_eq!(sent.borrow().as_bytes(), [1, 1, 1, 2, 3, 1, 1, 5, 10]);
    }

    #[test]
    fn empty_ranges_and_repeated_dimensions_are_refused() {
        for bad in [
            &[][..],
            &[0],
            &[2, 1, 0],
            &[0, 1, 2, 3, 1, 1, 5, 0],
            &[0, 1, 2, 3, 2, 1, 5, 1, 1, 5, 1],
            &[0, 1, 2, 3, 1, 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 1],
            &[0, 0, 0],
        ] {
            assert_eq!(Address::parse(bad), Err(InvalidAddress), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn what_is_put_in_comes_back(
            to in proptest::collection::vec(any::<u32>().prop_map(FederateHandle), 0..5),
            with in proptest::collection::vec(
                (any::<u64>(), proptest::collection::btree_map(any::<u32>(), (any::<u32>(), any::<u32>()), 0..4)),
                0..4,
            ),
        ) {
            let with: Vec<_> = with.into_iter().map(|(region, ranges)| RegionSpecification {
                region: RegionHandle(region),
                ranges: ranges.into_iter().map(|(d, (a, b))| {
                    let (lower, upper) = (a.min(b).min(u32::MAX - 1), a.max(b));
                    let dimension = DimensionHandle::from_raw(d);
                    Range { dimension, lower, upper: upper.max(lower + 1) }
                }).collect(),
            }).collect();
            let sent = AddressBuf::new(&to, with.iter().map(|s| (s.region, s.ranges.as_slice())));
            let back = Address::parse(sent.borrow().as_bytes()).unwrap();
            prop_assert_eq!(back, sent.borrow());
            prop_assert_eq!(back.receivers().collect::<Vec<_>>(), to);
            prop_assert_eq!(back.regions().collect::<Vec<_>>(), with);
        }

        #[test]
        fn no_bytes_make_it_panic(bytes: Vec<u8>) {
            if let Ok(sent) = Address::parse(&bytes) {
                let _ = (sent.receivers().count(), sent.regions().count());
            }
        }
    }
}
