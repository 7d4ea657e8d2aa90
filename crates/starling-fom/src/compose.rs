//! Modules that merge, as one FOM module in XML with all that they say, prose included.

use crate::module::read;
use crate::xml::Element;
use crate::{FomError, Module, Place};
use std::collections::{BTreeMap, BTreeSet};

/// Elements in the order of 1516.2's schema within whatever holds them, and whether they hold
/// definitions of several modules. All else is one definition, equal wherever it stands.
const ORDER: [(&str, bool); 39] = [
    ("objectModel", true),
    ("modelIdentification", false),
    ("serviceUtilization", true),
    ("name", false),
    ("sharing", false),
    ("objects", true),
    ("interactions", true),
    ("dimensions", true),
    ("transportation", false),
    ("order", false),
    ("time", true),
    ("tags", true),
    ("synchronizations", true),
    ("transportations", true),
    ("switches", true),
    ("updateRates", true),
    ("dataTypes", true),
    ("notes", true),
    ("semantics", false),
    ("attribute", false),
    ("parameter", false),
    ("objectClass", true),
    ("interactionClass", true),
    ("timeStamp", false),
    ("lookahead", false),
    ("updateReflectTag", false),
    ("sendReceiveTag", false),
    ("deleteRemoveTag", false),
    ("divestitureRequestTag", false),
    ("divestitureCompletionTag", false),
    ("acquisitionRequestTag", false),
    ("requestUpdateTag", false),
    ("basicDataRepresentations", true),
    ("simpleDataTypes", true),
    ("enumeratedDataTypes", true),
    ("arrayDataTypes", true),
    ("fixedRecordDataTypes", true),
    ("variantRecordDataTypes", true),
    ("referenceDataTypes", true),
];

/// One FOM module in XML that says all that these modules say, in their own words; merged with the
/// same MIM it means the same. The modules are given as read, with the bytes that each was read
/// from, and are known to merge (1516.1-2010 Annex C). The first definition of anything is kept; so
/// is the first module's identification, with the name `name` and every module as a
/// `Composed_From` reference. Notes whose labels collide get labels of their own. XML comments are
/// dropped.
pub fn compose(modules: &[(Module, Vec<u8>)], name: &str) -> Result<String, FomError> {
    let mut composed: Option<Composed> = None;
    let mut labels = BTreeSet::new();
    for (number, (module, bytes)) in modules.iter().enumerate() {
        let mut root = read(bytes).map_err(|fault| {
            let place = Place {
                module: module.designator().to_owned(),
                line: fault.line,
            };
            FomError::new(fault.code, place, fault.what)
        })?;
        relabel(&mut root, &mut labels, number + 1);
        match &mut composed {
            None => composed = Some(Composed::of(root)),
            Some(composed) => composed.add_all(root.children),
        }
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    if let Some(composed) = composed {
        let mut composed = composed.finish();
        let designators = modules.iter().map(|(m, _)| m.designator());
        composed.identify(name, designators);
        composed.write(0, &mut out);
    }
    Ok(out)
}

/// An element to which those of further modules are added.
struct Composed {
    /// Without children, if it is a container.
    own: Element,
    children: Vec<Composed>,
    /// Children by tag and what tells them from their siblings.
    index: BTreeMap<(String, String), usize>,
}

impl Composed {
    fn of(mut own: Element) -> Self {
        let children = if is_container(&own.tag) {
            std::mem::take(&mut own.children)
        } else {
            Vec::new()
        };
        let mut composed = Composed {
            own,
            children: Vec::new(),
            index: BTreeMap::new(),
        };
        for child in children {
            composed.add(child);
        }
        composed
    }

    fn add_all(&mut self, children: Vec<Element>) {
        // Switches are one table, of the first module that has it.
        if self.own.tag == "switches" {
            return;
        }
        for child in children {
            self.add(child);
        }
    }

    fn add(&mut self, child: Element) {
        let key = (child.tag.clone(), child.key().to_owned());
        match self.index.get(&key) {
            Some(at) if is_container(&child.tag) => self.children[*at].add_all(child.children),
            // A definition of the same: the first is kept.
            Some(_) => {}
            None => {
                self.index.insert(key, self.children.len());
                self.children.push(Composed::of(child));
            }
        }
    }

    /// In the order of the schema; what that does not know comes last.
    fn finish(self) -> Element {
        let mut own = self.own;
        if is_container(&own.tag) {
            let rank = |c: &Element| ORDER.iter().position(|(t, _)| *t == c.tag);
            own.children = self.children.into_iter().map(Composed::finish).collect();
            own.children.sort_by_key(|c| rank(c).unwrap_or(ORDER.len()));
        }
        own
    }
}

fn is_container(tag: &str) -> bool {
    ORDER.contains(&(tag, true))
}

/// Gives notes labels that no module before has, and renames what refers to them.
fn relabel(root: &mut Element, labels: &mut BTreeSet<String>, number: usize) {
    let mut renamed = BTreeMap::new();
    let notes = root.children.iter_mut().filter(|c| c.tag == "notes");
    for note in notes.flat_map(|notes| &mut notes.children) {
        let Some(label) = note.children.iter_mut().find(|c| c.tag == "label") else {
            continue;
        };
        let old = label.text.trim().to_owned();
        let mut new = old.clone();
        while !labels.insert(new.clone()) {
            new = format!("{new}_{number}");
        }
        label.text = new.clone();
        renamed.insert(old, new);
    }
    root.rename_notes(&renamed);
}

impl Element {
    fn rename_notes(&mut self, renamed: &BTreeMap<String, String>) {
        for (_, value) in self.attributes.iter_mut().filter(|(n, _)| n == "notes") {
            let new = |label| renamed.get(label).map_or(label, String::as_str);
            *value = value
                .split_whitespace()
                .map(new)
                .collect::<Vec<_>>()
                .join(" ");
        }
        for child in &mut self.children {
            child.rename_notes(renamed);
        }
    }

    /// What tells it from its siblings of the same tag.
    fn key(&self) -> &str {
        if self.tag == "modelIdentification" {
            return "";
        }
        let named = |c: &&Element| c.tag == "name" || c.tag == "label";
        match self.children.iter().find(named) {
            Some(child) => child.text.trim(),
            None => {
                let name = self.attributes.iter().find(|(name, _)| name == "name");
                name.map_or("", |(_, value)| value)
            }
        }
    }

    /// Names it, and what it was composed from.
    fn identify<'a>(&mut self, name: &str, designators: impl Iterator<Item = &'a str>) {
        let leaf = |tag: &str, text: &str| Element {
            tag: tag.to_owned(),
            text: text.to_owned(),
            ..Element::default()
        };
        if !self.children.iter().any(|c| c.tag == "modelIdentification") {
            self.children.insert(0, leaf("modelIdentification", ""));
            self.children[0].children.push(leaf("type", "FOM"));
        }
        let found = |c: &&mut Element| c.tag == "modelIdentification";
        let Some(identification) = self.children.iter_mut().find(found) else {
            return;
        };
        identification.text.clear();
        let children = &mut identification.children;
        children.retain(|c| c.tag != "name");
        children.insert(0, leaf("name", name));
        let after = ["other", "glyph"];
        let ends = |c: &Element| after.contains(&c.tag.as_str());
        let at = children.iter().position(ends).unwrap_or(children.len());
        for (number, designator) in designators.enumerate() {
            let mut reference = leaf("reference", "");
            reference.children.push(leaf("type", "Composed_From"));
            reference.children.push(leaf("identification", designator));
            children.insert(at + number, reference);
        }
    }

    fn write(&self, depth: usize, out: &mut String) {
        let indent = "  ".repeat(depth);
        out.push_str(&indent);
        out.push('<');
        out.push_str(&self.tag);
        for (name, value) in &self.attributes {
            let value = escape(value).replace('"', "&quot;");
            out.push_str(&format!(" {name}=\"{value}\""));
        }
        if self.children.is_empty() && self.text.is_empty() {
            out.push_str("/>\n");
            return;
        }
        out.push('>');
        if self.children.is_empty() {
            out.push_str(&escape(&self.text));
        } else {
            out.push('\n');
            for child in &self.children {
                child.write(depth + 1, out);
            }
            out.push_str(&indent);
        }
        out.push_str(&format!("</{}>\n", self.tag));
    }
}

fn escape(text: &str) -> String {
    let text = text.replace('&', "&amp;").replace('<', "&lt;");
    text.replace('>', "&gt;")
}
