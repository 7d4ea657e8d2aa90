//! The nearest name to one that is not there, for messages.

use crate::ObjectModel;

/// Most names that are compared: a message is not worth more.
const COMPARED_MAX: usize = 2_000;
/// Longest name that is compared, in characters.
const LENGTH_MAX: usize = 200;

/// Most names that are listed where none is near.
const LISTED_MAX: usize = 10;

/// `; nearest is 'Boat'` if a candidate is close enough to be meant, else nothing: the end of a
/// message. Of many candidates the first are compared.
pub fn nearest<'a>(wanted: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    nearest_by(wanted, candidates, |name| name)
}

/// As [`nearest`], where a part of each candidate is compared.
fn nearest_by<'a>(
    wanted: &str,
    candidates: impl IntoIterator<Item = &'a str>,
    part: impl Fn(&'a str) -> &'a str,
) -> String {
    let wanted = wanted.to_lowercase();
    let length = wanted.chars().count();
    if length > LENGTH_MAX {
        return String::new();
    }
    let limit = match length {
        0..=3 => 1,
        _ => (length / 3).max(2),
    };
    let close = |c: &&'a str| part(c).chars().count().abs_diff(length) <= limit;
    let near = candidates.into_iter().take(COMPARED_MAX).filter(close);
    let distance = |c| strsim::damerau_levenshtein(&wanted, &str::to_lowercase(c));
    let near = near.map(|c| (distance(part(c)), c));
    match near.filter(|(distance, _)| *distance <= limit).min() {
        Some((_, name)) => format!("; nearest is '{name}'"),
        None => String::new(),
    }
}

/// Classes by their names with or without the root: whoever leaves it out is answered without it.
fn nearest_class<'a>(wanted: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let root = names.clone().next().unwrap_or_default();
    if wanted.starts_with(root) {
        nearest(wanted, names)
    } else {
        let below = |name: &'a str| name.strip_prefix(root)?.strip_prefix('.');
        // A class that lies deeper than was said.
        let deeper = |name: &&str| name.strip_suffix(wanted).is_some_and(|n| n.ends_with('.'));
        match names.clone().filter(deeper).find_map(below) {
            Some(name) => format!("; nearest is '{name}'"),
            None => {
                let near = nearest(wanted, names.clone().filter_map(below));
                let last = |name: &'a str| name.rsplit('.').next().unwrap_or(name);
                if near.is_empty() && !wanted.contains('.') {
                    nearest_by(wanted, names.filter_map(below), last)
                } else {
                    near
                }
            }
        }
    }
}

/// Each gives the end of a sentence: `; nearest is '...'`, or nothing if no name is near.
impl ObjectModel {
    /// An object class.
    pub fn nearest_object_class(&self, name: &str) -> String {
        nearest_class(name, self.object_classes().map(|c| c.name.as_str()))
    }

    /// An interaction class.
    pub fn nearest_interaction_class(&self, name: &str) -> String {
        nearest_class(name, self.interaction_classes().map(|c| c.name.as_str()))
    }

    /// An available attribute of a class.
    pub fn nearest_attribute(&self, class: crate::ObjectClassHandle, name: &str) -> String {
        let class = self.object_class(class);
        let available = class.into_iter().flat_map(|c| &c.attributes);
        let available = available.filter_map(|a| self.attribute(*a));
        nearest(name, available.map(|a| a.name.as_str()))
    }

    /// An available parameter of a class.
    pub fn nearest_parameter(&self, class: crate::InteractionClassHandle, name: &str) -> String {
        let class = self.interaction_class(class);
        let available = class.into_iter().flat_map(|c| &c.parameters);
        let available = available.filter_map(|p| self.parameter(*p));
        nearest(name, available.map(|p| p.name.as_str()))
    }

    /// A dimension that is defined.
    pub fn nearest_dimension(&self, name: &str) -> String {
        self.nearest_row("dimension", name)
    }

    /// A transportation type.
    pub fn nearest_transportation(&self, name: &str) -> String {
        self.nearest_row("transportation", name)
    }

    /// An update rate designator; where none is near, those that there are.
    pub fn nearest_update_rate(&self, name: &str) -> String {
        let near = self.nearest_row("update rate", name);
        if !near.is_empty() {
            return near;
        }
        let rates = self.tables.get("update rate").into_iter();
        let mut rates = rates.flat_map(|rows| rows.keys()).map(|r| format!("'{r}'"));
        let listed: Vec<_> = rates.by_ref().take(LISTED_MAX).collect();
        match (listed.is_empty(), rates.count()) {
            (true, _) => "; there is none".to_owned(),
            (false, 0) => format!("; there are {}", listed.join(", ")),
            (false, more) => format!("; there are {} and {more} more", listed.join(", ")),
        }
    }

    pub(crate) fn nearest_data_type(&self, name: &str) -> String {
        self.nearest_row("data type", name)
    }

    fn nearest_row(&self, table: &str, name: &str) -> String {
        let rows = self.tables.get(table).into_iter();
        nearest(name, rows.flat_map(|rows| rows.keys()).map(String::as_str))
    }
}
