//! How much memory an object model takes.

use crate::ObjectModel;
use crate::module::Fields;
use crate::standard_model;
use std::collections::BTreeMap;
use std::mem::size_of;
use std::sync::Arc;

/// What the allocator adds to each piece of memory.
const PIECE: usize = 16;
/// The two counters of an `Arc`, and its allocation.
const SHARED: usize = 2 * size_of::<usize>() + PIECE;

impl ObjectModel {
    /// About how many bytes of memory it takes besides what all models share with the standard MIM.
    /// It visits each definition once.
    pub fn memory_bytes(&self) -> usize {
        let mim = standard_model();
        let object_classes = own(&self.object_classes, &mim.object_classes, |c| {
            text(&c.name)
                + list(&c.children)
                + list(&c.attributes)
                + names(&c.child_names)
                + names(&c.own)
                + fields(&c.fields)
        });
        let interaction_classes = own(&self.interaction_classes, &mim.interaction_classes, |c| {
            text(&c.name)
                + list(&c.children)
                + list(&c.parameters)
                + list(&c.dimensions)
                + names(&c.child_names)
                + names(&c.own)
                + fields(&c.fields)
        });
        let attributes = own(&self.attributes, &mim.attributes, |a| {
            text(&a.name) + list(&a.dimensions) + fields(&a.fields)
        });
        let parameters = own(&self.parameters, &mim.parameters, |p| {
            text(&p.name) + fields(&p.fields)
        });
        let dimensions = own(&self.dimensions, &mim.dimensions, |d| text(&d.name));
        let tables = self.tables.iter().map(|(table, rows)| {
            let of_mim = mim.tables.get(table);
            if of_mim.is_some_and(|m| Arc::ptr_eq(m, rows)) {
                return 0;
            }
            let is_own = |name: &str, row| {
                let there = of_mim.and_then(|m| m.get(name));
                !there.is_some_and(|there| Arc::ptr_eq(there, row))
            };
            let entries = rows.iter().filter(|(name, row)| is_own(name, row));
            let entries =
                entries.map(|(_, row)| size_of_val(&**row) + SHARED + fields(&row.fields));
            names(rows) + entries.sum::<usize>()
        });
        let undefined = self.undefined.values().map(|(what, _)| text(what));
        [
            object_classes,
            interaction_classes,
            attributes,
            parameters,
            dimensions,
            names(&self.dimension_names),
            tables.sum(),
            nodes(&self.undefined) + undefined.sum::<usize>(),
            self.modules.iter().map(|m| text(m)).sum(),
        ]
        .into_iter()
        .sum()
    }
}

/// Of what is in a list, and not that of the MIM.
fn own<T>(all: &Vec<Arc<T>>, mim: &[Arc<T>], inside: impl Fn(&T) -> usize) -> usize {
    let of_mim = |i: usize, one: &Arc<T>| mim.get(i).is_some_and(|m| Arc::ptr_eq(m, one));
    let others = all.iter().enumerate().filter(|(i, one)| !of_mim(*i, one));
    let others = others.map(|(_, one)| SHARED + size_of::<T>() + inside(one));
    list(all) + others.sum::<usize>()
}

fn list<T>(list: &Vec<T>) -> usize {
    match list.capacity() {
        0 => 0,
        places => PIECE + places * size_of::<T>(),
    }
}

fn text(text: &str) -> usize {
    match text.len() {
        0 => 0,
        bytes => PIECE + bytes,
    }
}

fn fields(fields: &Fields) -> usize {
    let texts = fields.iter().map(|(path, value)| text(path) + text(value));
    list(fields) + texts.sum::<usize>()
}

/// The nodes of a map, without what its keys and values point to. They have 11 places; one in the
/// middle of which something is inserted is split, so that they are half full at worst.
fn nodes<K, V>(map: &BTreeMap<K, V>) -> usize {
    let node = PIECE + 16 + 11 * (size_of::<K>() + size_of::<V>());
    map.len().div_ceil(6) * node
}

fn names<V>(map: &BTreeMap<String, V>) -> usize {
    nodes(map) + map.keys().map(|name| text(name)).sum::<usize>()
}
