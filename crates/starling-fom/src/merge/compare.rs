//! What two definitions of the same have in common, and how they differ.

use crate::error::short;
use crate::model::*;
use crate::module::{ClassDef, Fields, MemberDef};
use crate::{Code, FomError, Place};
use std::collections::BTreeMap;

/// Fields of a member of which two definitions may not differ, and whether that is harmless: the
/// RTI does not enforce them.
pub(super) const MEMBER_FIELDS: [(&str, bool); 6] = [
    ("dataType", false),
    ("transportation", false),
    ("order", false),
    ("updateType", true),
    ("ownership", true),
    ("sharing", true),
];

/// A definition that is there, for comparing with another of the same.
pub(super) struct Known<'a> {
    pub(super) fields: &'a Fields,
    pub(super) dimensions: Vec<String>,
    pub(super) origin: Origin,
    pub(super) inherited: bool,
}

impl ObjectModel {
    /// The roots and MOM classes are scaffolding in most modules, whatever they say of sharing.
    pub(super) fn same_sharing(
        &self,
        kind: &str,
        name: &str,
        old: &Fields,
        new: &ClassDef,
        first: Origin,
        problems: &mut Problems,
    ) {
        if let Err((what, was)) = same_field(kind, name, "sharing", old, new)
            && !new.members.is_empty()
        {
            let (at, first) = (self.place(self.origin(new.line)), self.place(first));
            problems.add(FomError::conflict(Code::Difference, what, at, first).of_first(was));
        }
    }

    pub(super) fn same_travel(
        &self,
        name: &str,
        old: &Fields,
        new: &ClassDef,
        first: Origin,
    ) -> Result<(), FomError> {
        for path in ["transportation", "order"] {
            same_field("interaction class", name, path, old, new).map_err(|(what, was)| {
                let (at, first) = (self.place(self.origin(new.line)), self.place(first));
                FomError::conflict(Code::Conflict, what, at, first).of_first(was)
            })?;
        }
        Ok(())
    }

    /// A repeated definition has the same members, and says the same of them.
    #[allow(
        clippy::too_many_arguments,
        reason = "attributes and parameters share it"
    )]
    pub(super) fn same_members<'a>(
        &self,
        kind: &str,
        class: &str,
        find: &dyn Fn(&str) -> Option<Known<'a>>,
        own: &[&str],
        new: &ClassDef,
        first: Origin,
        problems: &mut Problems,
    ) -> Result<(), FomError> {
        let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
        for member in &new.members {
            let at = || self.place(self.origin(member.line));
            if let Some(line) = seen.insert(&member.name, member.line) {
                let first = self.place(self.origin(line));
                return Err(twice(class, kind, member, at(), first));
            }
            let Some(known) = find(&member.name) else {
                let what = format!(
                    "class '{class}': {kind} '{}' is not in the former definition of the class",
                    member.name
                );
                let first = self.place(first);
                return Err(FomError::conflict(Code::Conflict, what, at(), first));
            };
            if known.inherited {
                self.again(class, kind, &known, member, problems)?;
                continue;
            }
            if let Some((code, text)) = differs(&known, member) {
                let what = format!("class '{class}', {kind} '{}': {text}", member.name);
                let error = FomError::conflict(code, what, at(), self.place(known.origin));
                if error.is_harmless() {
                    problems.add(error)
                } else {
                    return Err(error);
                }
            }
        }
        match own.iter().find(|name| !seen.contains_key(*name)) {
            None => Ok(()),
            Some(missing) => {
                let what = format!(
                    "class '{class}': {kind} '{missing}' of the former definition is missing here"
                );
                let at = self.place(self.origin(new.line));
                let first = find(missing).map_or(first, |known| known.origin);
                let first = self.place(first);
                Err(FomError::conflict(Code::Conflict, what, at, first))
            }
        }
    }

    /// A class defines what it has: twice in its own definition, or what it inherits, which is let
    /// pass if it says the same.
    pub(super) fn again(
        &self,
        class: &str,
        kind: &str,
        known: &Known<'_>,
        new: &MemberDef,
        problems: &mut Problems,
    ) -> Result<(), FomError> {
        let (at, first) = (self.place(self.origin(new.line)), self.place(known.origin));
        if !known.inherited {
            return Err(twice(class, kind, new, at, first));
        }
        let what = format!(
            "class '{class}' defines the {kind} '{}', which it inherits",
            new.name
        );
        match differs(known, new) {
            Some((Code::Conflict, how)) => {
                let what = format!("{what}: {how}");
                Err(FomError::conflict(Code::Conflict, what, at, first))
            }
            _ => {
                problems.add(FomError::conflict(Code::Difference, what, at, first));
                Ok(())
            }
        }
    }

    pub(super) fn hidden(
        &self,
        class: &str,
        kind: &str,
        new: &MemberDef,
        below: &str,
        origin: Origin,
    ) -> FomError {
        let what = format!(
            "class '{class}' defines the {kind} '{}', which its subclass '{below}' has too",
            new.name
        );
        let at = self.place(self.origin(new.line));
        FomError::conflict(Code::Conflict, what, at, self.place(origin))
    }
}

pub(super) fn twice(class: &str, kind: &str, new: &MemberDef, at: Place, first: Place) -> FomError {
    let what = format!("class '{class}' has the {kind} '{}' twice", new.name);
    FomError::conflict(Code::Conflict, what, at, first)
}

/// What both say of a class is the same, or how it differs, and what the first says.
pub(super) fn same_field(
    kind: &str,
    name: &str,
    path: &str,
    old: &Fields,
    new: &ClassDef,
) -> Result<(), (String, String)> {
    match (field(old, path), field(&new.fields, path)) {
        (Some(was), Some(is)) if was != is => {
            let first = format!("{path} {}", short(was));
            let what = format!("{kind} '{name}': {first} vs {}", short(is));
            Err((what, first))
        }
        _ => Ok(()),
    }
}

/// In what a definition differs from the one that is there, and how badly.
pub(super) fn differs(known: &Known<'_>, new: &MemberDef) -> Option<(Code, String)> {
    let privilege = new.name == "HLAprivilegeToDeleteObject";
    let differing = MEMBER_FIELDS.iter().filter_map(|(path, harmless)| {
        let (was, is) = (field(known.fields, path)?, field(&new.fields, path)?);
        let harmless = *harmless || (privilege && *path == "order");
        let code = if harmless {
            Code::Difference
        } else {
            Code::Conflict
        };
        (was != is).then(|| (code, format!("{path} {} vs {}", short(was), short(is))))
    });
    let dimensions = new
        .dimensions
        .as_ref()
        .filter(|is| **is != known.dimensions);
    let dimensions = dimensions.map(|is| {
        let text = format!("dimensions {} vs {}", list(&known.dimensions), list(is));
        (Code::Conflict, text)
    });
    // The fields that count come first.
    let (conflicts, others): (Vec<_>, Vec<_>) = differing
        .chain(dimensions)
        .partition(|(code, _)| *code == Code::Conflict);
    conflicts.into_iter().chain(others).next()
}

/// Whether a definition leaves open what another says.
pub(super) fn lacks(fields: &Fields, new: &Fields) -> bool {
    new.iter().any(|(path, _)| field(fields, path).is_none())
}

/// Takes over what is not said yet.
pub(super) fn adopt(fields: &mut Fields, new: &Fields) {
    for (path, value) in new {
        if field(fields, path).is_none() {
            fields.push((path.clone(), value.clone()));
        }
    }
}

/// In which field two rows differ first, and how, as `field: was vs is`. Their order says nothing.
pub(crate) fn difference<'a, F>(old: &'a F, new: &'a F) -> Option<(&'a str, String)>
where
    F: PartialEq,
    &'a F: IntoIterator<Item = &'a (String, String)>,
{
    if old == new {
        return None;
    }
    let values = |fields: &'a F| {
        let mut values = BTreeMap::<&str, Vec<&str>>::new();
        for (path, value) in fields {
            values.entry(path).or_default().push(value);
        }
        values
    };
    let (was, is) = (values(old), values(new));
    let text = |values: Option<&Vec<&str>>| values.map(|v| short(&v.join(", ")));
    for (path, _) in old.into_iter().chain(new) {
        let (was, is) = (was.get(path.as_str()), is.get(path.as_str()));
        if was != is {
            let how = match (text(was), text(is)) {
                (Some(was), Some(is)) => format!("{path} {was} vs {is}"),
                (was, None) => {
                    let only = was.unwrap_or_default();
                    format!("{path} {only} only in the first definition")
                }
                (None, Some(only)) => format!("{path} {only} only in the second definition"),
            };
            return Some((path, how));
        }
    }
    None
}

/// Names for a message; of many the first.
pub(super) fn list(names: &[String]) -> String {
    const MAX: usize = 10;
    let shown: Vec<_> = names.iter().take(MAX).map(|n| short(n)).collect();
    match names.len() {
        0 => "none".into(),
        1..=MAX => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), more - MAX),
    }
}
