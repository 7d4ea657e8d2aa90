//! Which of many regions overlap a given one.
//!
//! Regions that specify the same dimensions form a group. In a group each region lies in a grid
//! over its first two dimensions whose cells are the smallest powers of two that are no smaller
//! than it, so it reaches at most from its own cell into the next; its lower corner names the
//! cell. A query looks, at each cell size in use, at the cells that it covers and one before.
//! Further dimensions are only compared. No tuning, no rebuilding; a move costs the logarithm of
//! the number of regions and what it overlaps.

use super::{Defaults, overlap};
use crate::message::Range;
use crate::{DimensionHandle, RegionHandle};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Committed ranges, ascending by dimension.
pub(crate) type Ranges = Arc<[Range]>;

/// Logarithms of the cell's sides.
type Level = [u8; 2];
/// By cell, then by region.
type Cells = BTreeMap<(u32, u32, RegionHandle), Ranges>;

/// Regions, to be asked for overlaps.
#[derive(Default)]
pub(crate) struct RegionIndex {
    regions: BTreeMap<RegionHandle, Ranges>,
    groups: BTreeMap<Vec<DimensionHandle>, BTreeMap<Level, Cells>>,
}

impl RegionIndex {
    /// A region's ranges, if it is there.
    pub(crate) fn get(&self, region: RegionHandle) -> Option<&Ranges> {
        self.regions.get(&region)
    }

    /// Puts a region in, or moves it.
    pub(crate) fn set(&mut self, region: RegionHandle, ranges: Ranges) {
        self.remove(region);
        let (level, (x, y)) = place(&ranges);
        let group = self.groups.entry(dimensions(&ranges)).or_default();
        let cells = group.entry(level).or_default();
        cells.insert((x, y, region), ranges.clone());
        self.regions.insert(region, ranges);
    }

    /// Takes a region out.
    pub(crate) fn remove(&mut self, region: RegionHandle) {
        let Some(ranges) = self.regions.remove(&region) else {
            return;
        };
        let (level, (x, y)) = place(&ranges);
        let dimensions = dimensions(&ranges);
        if let Some(group) = self.groups.get_mut(&dimensions) {
            if let Some(cells) = group.get_mut(&level) {
                cells.remove(&(x, y, region));
                if cells.is_empty() {
                    group.remove(&level);
                }
            }
            if group.is_empty() {
                self.groups.remove(&dimensions);
            }
        }
    }

    /// All regions of one creator, or of all, ascending.
    pub(crate) fn of(
        &self,
        creator: crate::FederateHandle,
    ) -> impl Iterator<Item = (RegionHandle, &Ranges)> {
        let (first, last) = RegionHandle::block(creator);
        let block = self.regions.range(first..=last);
        block.map(|(region, ranges)| (*region, ranges))
    }

    /// Regions that overlap one with these ranges, each once, in no particular order but always
    /// the same.
    pub(crate) fn overlapping<'a>(
        &'a self,
        ranges: &'a [Range],
        defaults: Defaults<'a>,
    ) -> impl Iterator<Item = RegionHandle> + 'a {
        self.groups.iter().flat_map(move |(dimensions, levels)| {
            let axis = |i: usize| {
                let dimension = *dimensions.get(i)?;
                let given = ranges.iter().find(|r| r.dimension == dimension).copied();
                given.or_else(|| defaults.range(dimension))
            };
            let axes = [axis(0), axis(1)];
            levels
                .iter()
                .flat_map(move |(level, cells)| candidates(axes, *level, cells))
                .filter(move |(_, known)| overlap(known, ranges, defaults))
                .map(|(region, _)| region)
        })
    }
}

/// Regions in the cells that a query may overlap.
fn candidates<'a>(
    axes: [Option<Range>; 2],
    level: Level,
    cells: &'a Cells,
) -> Box<dyn Iterator<Item = (RegionHandle, &'a Ranges)> + 'a> {
    // The cells that the query covers and one before; all, where the axis does not count.
    let cover = |axis: Option<Range>, level: u8| match axis {
        Some(r) => (
            shift(r.lower, level).saturating_sub(1),
            shift(r.upper - 1, level),
        ),
        None => (0, u32::MAX),
    };
    let (x0, x1) = cover(axes[0], level[0]);
    let (y0, y1) = cover(axes[1], level[1]);
    let (first, last) = (RegionHandle(0), RegionHandle(u64::MAX));
    let found = |((_, _, region), ranges): (&(u32, u32, RegionHandle), &'a Ranges)| {
        let known: (RegionHandle, &'a Ranges) = (*region, ranges);
        known
    };
    if ((x1 - x0) as usize) < cells.len() {
        let columns = (x0..=x1).flat_map(move |x| cells.range((x, y0, first)..=(x, y1, last)));
        Box::new(columns.map(found))
    } else {
        let all = cells.range((x0, y0, first)..=(x1, y1, last));
        let inside = all.filter(move |((_, y, _), _)| (y0..=y1).contains(y));
        Box::new(inside.map(found))
    }
}

fn dimensions(ranges: &[Range]) -> Vec<DimensionHandle> {
    ranges.iter().map(|r| r.dimension).collect()
}

/// The grid and the cell of a region.
fn place(ranges: &[Range]) -> (Level, (u32, u32)) {
    let axis = |i: usize| match ranges.get(i) {
        Some(r) => {
            let width = r.upper - r.lower;
            // The exponent of the smallest power of two that is no smaller.
            let level = (u32::BITS - (width - 1).leading_zeros()) as u8;
            (level, shift(r.lower, level))
        }
        None => (0, 0),
    };
    let ((lx, x), (ly, y)) = (axis(0), axis(1));
    ([lx, ly], (x, y))
}

fn shift(n: u32, level: u8) -> u32 {
    n.checked_shr(level.into()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::FederateHandle;
    use proptest::prelude::*;
    use starling_fom::ObjectModel;

    fn range(dimension: u32, lower: u32, width: u32) -> Range {
        let lower = lower.min(u32::MAX - 1);
        Range {
            dimension: DimensionHandle::from_raw(dimension),
            lower,
            upper: lower.saturating_add(width.max(1)),
        }
    }

    /// Ranges of any of five dimensions, small and crowded or anywhere.
    fn ranges() -> impl Strategy<Value = Ranges> {
        let bounds = prop_oneof![
            (0u32..60, 1u32..20),
            (0u32..60, Just(1u32)),
            (any::<u32>(), any::<u32>()),
            Just((0, u32::MAX)),
            (0u32..3, 1u32..3),
        ];
        proptest::collection::btree_map(1u32..6, bounds, 0..4).prop_map(|of| {
            of.into_iter()
                .map(|(d, (lower, width))| range(d, lower, width))
                .collect()
        })
    }

    /// Dimensions 1 to 5: excluded, and four default ranges.
    const DEFAULTS: [Option<(u32, u32)>; 5] =
        [None, Some((0, 1)), Some((5, 30)), Some((0, u32::MAX)), None];

    fn model() -> ObjectModel {
        let values = ["Excluded", "[0)", "[5..30)", "[0..4294967295)", ""];
        let dimensions = values.iter().enumerate().map(|(i, value)| {
            format!("<dimension><name>D{i}</name><value>{value}</value></dimension>")
        });
        let text = format!(
            "<objectModel><objects><objectClass><name>HLAobjectRoot</name><attribute>\
             <name>HLAprivilegeToDeleteObject</name></attribute></objectClass></objects>\
             <interactions><interactionClass><name>HLAinteractionRoot</name></interactionClass>\
             </interactions><dimensions>{}</dimensions></objectModel>",
            dimensions.collect::<String>()
        );
        let module = starling_fom::parse("test", text.as_bytes()).unwrap();
        ObjectModel::new(&module).unwrap()
    }

    /// Dimension by dimension.
    fn brute(a: &[Range], b: &[Range]) -> bool {
        let range = |of: &[Range], dimension: u32| {
            let given = of.iter().find(|r| r.dimension.raw() == dimension);
            let given = given.map(|r| (r.lower, r.upper));
            given.or(DEFAULTS[dimension as usize - 1])
        };
        (1..=5).all(|d| match (range(a, d), range(b, d)) {
            (Some((l, u)), Some((m, v))) => l.max(m) < u.min(v),
            _ => true,
        })
    }

    #[test]
    fn ranges_that_touch_do_not_overlap() {
        let model = model();
        let overlap = |a: &[Range], b: &[Range]| overlap(a, b, Defaults::of(&model));
        let a = [range(1, 0, 10)];
        assert!(!overlap(&a, &[range(1, 10, 5)]));
        assert!(overlap(&a, &[range(1, 9, 5)]));
        assert!(overlap(&a, &[range(5, 10, 5)]), "both are excluded");
        assert!(overlap(&a, &[]));
        let b = [range(1, 5, 1), range(5, 0, 1)];
        assert!(overlap(&a, &b));
        assert!(!overlap(&[range(1, 0, 9), range(5, 1, 1)], &b));
    }

    #[test]
    fn what_a_region_leaves_out_has_the_default_range() {
        let model = model();
        let defaults = Defaults::of(&model);
        for (other, meets) in [
            ([range(2, 0, 7)], true),
            ([range(2, 1, 7)], false),
            ([range(3, 0, 6)], true),
            ([range(3, 30, 6)], false),
        ] {
            assert_eq!(overlap(&[], &other, defaults), meets, "{other:?}");
            assert_eq!(
                overlap(&other, &[range(1, 0, 1)], defaults),
                meets,
                "{other:?}"
            );
        }
        let [two, both] = [2, 3].map(DimensionHandle::from_raw);
        let (sent, subscribed) = ([two, both], [both]);
        let for_subclass_only = Defaults::between(&model, &sent, &subscribed);
        assert!(overlap(&[range(2, 1, 7)], &[], for_subclass_only));
        assert!(!overlap(&[range(3, 0, 5)], &[], for_subclass_only));
    }

    proptest! {
        /// Puts, moves and takes out; then asks, beside comparing with every region.
        #[test]
        fn index_finds_what_comparing_finds(
            steps in proptest::collection::vec((0u64..40, proptest::option::weighted(0.8, ranges())), 0..120),
            queries in proptest::collection::vec(ranges(), 1..8),
        ) {
            let object_model = model();
            let mut index = RegionIndex::default();
            let mut model = BTreeMap::new();
            for (region, ranges) in steps {
                let region = RegionHandle::new(FederateHandle(1 + region as u32 % 3), region as u32);
                match ranges {
                    Some(ranges) => {
                        index.set(region, ranges.clone());
                        model.insert(region, ranges);
                    }
                    None => {
                        index.remove(region);
                        model.remove(&region);
                    }
                }
            }
            for query in queries {
                let found = index.overlapping(&query, Defaults::of(&object_model));
                let mut found: Vec<_> = found.collect();
                found.sort_unstable();
                let all = model.iter().filter(|(_, known)| brute(known, &query));
                let expected: Vec<_> = all.map(|(region, _)| *region).collect();
                prop_assert_eq!(found, expected);
            }
            for region in model.keys() {
                index.remove(*region);
            }
            prop_assert!(index.groups.is_empty() && index.regions.is_empty());
        }
    }
}
