//! Which of the classes that a federate names for this its best-effort data is of, so that whoever sends it may
//! send data of different classes different ways. A subclass is of the nearest superclass that is named.

use crate::handles::HandleMap;
use crate::{InteractionClassHandle, ObjectClassHandle, Transportation};
use starling_fom::ObjectModel;

/// Object classes and interaction classes, by fully qualified names, with or without `HLAobjectRoot.` or
/// `HLAinteractionRoot.`; one that both have stands for both.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Grouped {
    /// The names, each once.
    pub classes: Vec<String>,
    /// Where they come from, for messages.
    pub setting: String,
}

impl Grouped {
    /// Whether it is nothing.
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }

    /// Names of classes that an FDD does not have.
    pub(crate) fn unknown(&self, model: &ObjectModel) -> impl Iterator<Item = &str> {
        let names = self.classes.iter().map(String::as_str);
        names.filter(|name| {
            model.object_class_by_name(name).is_none()
                && model.interaction_class_by_name(name).is_none()
        })
    }
}

/// What data is of.
#[derive(Clone, Copy, Debug)]
pub(crate) enum SentClass {
    Objects(ObjectClassHandle),
    Interactions(InteractionClassHandle),
}

/// Which of the names, from 1, data is of; 0: none, or it is not best effort.
#[inline]
pub(crate) fn group_of(
    grouping: &mut Option<Box<Grouping>>,
    model: &ObjectModel,
    (class, transportation): (SentClass, Transportation),
) -> u32 {
    match (grouping, transportation) {
        (Some(grouping), Transportation::BestEffort) => grouping.of(class, model),
        _ => 0,
    }
}

/// What was found out of classes. A class never gets another superclass, but one that is named may come later: what
/// was found goes then ([`Grouping::look_again`]).
#[derive(Debug)]
pub(crate) struct Grouping {
    of: Grouped,
    objects: HandleMap<ObjectClassHandle, u32>,
    interactions: HandleMap<InteractionClassHandle, u32>,
}

impl Grouping {
    pub(crate) fn new(of: Grouped) -> Self {
        Grouping {
            of,
            objects: HandleMap::default(),
            interactions: HandleMap::default(),
        }
    }

    /// The object model has grown.
    pub(crate) fn look_again(&mut self) {
        self.objects.clear();
        self.interactions.clear();
    }

    fn of(&mut self, class: SentClass, model: &ObjectModel) -> u32 {
        let names = self.of.classes.iter();
        match class {
            SentClass::Objects(class) => *self.objects.entry(class).or_insert_with(|| {
                let handle = |name: &String| Some(model.object_class_by_name(name)?.handle);
                let is_below = |sub, of| model.is_subclass_or_same(sub, of);
                nearest(names.map(handle), class, is_below)
            }),
            SentClass::Interactions(class) => {
                *self.interactions.entry(class).or_insert_with(|| {
                    let handle =
                        |name: &String| Some(model.interaction_class_by_name(name)?.handle);
                    let is_below = |sub, of| model.is_interaction_subclass_or_same(sub, of);
                    nearest(names.map(handle), class, is_below)
                })
            }
        }
    }
}

/// Which of the named, from 1, is the nearest that a class is a subclass of, or is itself; 0: none is.
fn nearest<H: Copy>(
    named: impl Iterator<Item = Option<H>>,
    class: H,
    is_below: impl Fn(H, H) -> bool,
) -> u32 {
    let above = (1..).zip(named).filter_map(|(n, named)| Some((n, named?)));
    let above = above.filter(|(_, named)| is_below(class, *named));
    // All of these are above each other.
    let nearest = above.reduce(|best, next| if is_below(next.1, best.1) { next } else { best });
    nearest.map_or(0, |(n, _)| n)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn group(names: &[&str], class: &str, transportation: Transportation) -> u32 {
        let model = starling_fom::standard_model();
        let of = Grouped {
            classes: names.iter().map(|name| (*name).to_owned()).collect(),
            setting: String::new(),
        };
        let mut grouping = Some(Box::new(Grouping::new(of)));
        let class = match model.object_class_by_name(class) {
            Some(class) => SentClass::Objects(class.handle),
            None => {
                let class = model.interaction_class_by_name(class);
                SentClass::Interactions(class.expect("there is such a class").handle)
            }
        };
        let found = group_of(&mut grouping, model, (class, transportation));
        let again = group_of(&mut grouping, model, (class, transportation));
        assert_eq!(found, again);
        found
    }

    #[test]
    fn a_class_is_of_the_nearest_that_is_named() {
        let names = [
            "HLAmanager.HLAfederate.HLAadjust",
            "HLAobjectRoot.HLAmanager",
            "HLAmanager.HLAfederate",
            "HLAinteractionRoot",
            "None",
        ];
        let adjust = "HLAmanager.HLAfederate.HLAadjust.HLAmodifyAttributeState";
        for (class, number) in [
            ("HLAobjectRoot.HLAmanager.HLAfederation", 2),
            ("HLAobjectRoot.HLAmanager.HLAfederate", 3),
            ("HLAobjectRoot", 0),
            ("HLAinteractionRoot.HLAmanager", 4),
            ("HLAinteractionRoot.HLAmanager.HLAfederate.HLArequest", 3),
            (adjust, 1),
        ] {
            assert_eq!(
                group(&names, class, Transportation::BestEffort),
                number,
                "{class}"
            );
        }
        assert_eq!(group(&names, adjust, Transportation::Reliable), 0);
    }

    #[test]
    fn who_is_named_and_not_there_is_told() {
        let of = Grouped {
            classes: ["HLAmanager", "Ship", "HLAinteractionRoot.Horn"]
                .map(str::to_owned)
                .to_vec(),
            setting: String::new(),
        };
        let model = starling_fom::standard_model();
        let unknown: Vec<_> = of.unknown(model).collect();
        assert_eq!(unknown, ["Ship", "HLAinteractionRoot.Horn"]);
    }
}
