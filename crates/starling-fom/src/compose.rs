//! Modules that merge, as one FOM module in XML with all that they say, prose included.

use crate::module::{DEPTH_MAX, options};
use crate::{FomError, Module, Place};
use roxmltree::{Document, Node};
use std::collections::{BTreeMap, BTreeSet};

const SCHEMA_INSTANCE: &str = "http://www.w3.org/2001/XMLSchema-instance";

/// Room for the deepest classes with the deepest definitions that a module may have.
const NESTED_MAX: usize = 2 * DEPTH_MAX + 8;

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

/// An element, free of the document that it was read from.
struct Element {
    tag: String,
    attributes: Vec<(String, String)>,
    text: String,
    children: Vec<Element>,
}

/// One FOM module in XML that says all that these modules say, in their own words; merged with the
/// same MIM it means the same. The modules are given as read, with the bytes that each was read
/// from, and are known to merge (1516.1-2010 Annex C). The first definition of anything is kept; so
/// is the first module's identification, with the name `name` and every module as a
/// `Composed_From` reference. Notes whose labels collide get labels of their own. XML comments are
/// dropped. Elements nested more deeply than any model needs are refused.
pub fn compose(modules: &[(Module, Vec<u8>)], name: &str) -> Result<String, FomError> {
    let mut composed: Option<Element> = None;
    let mut labels = BTreeSet::new();
    for (number, (module, bytes)) in modules.iter().enumerate() {
        let refused = |code, line, what: String| {
            let module = module.designator().to_owned();
            FomError::unreadable(code, Place { module, line }, what)
        };
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim_start_matches('\u{feff}');
        let document = Document::parse_with_options(text, options(text));
        let document = document.map_err(|e| refused("STL-FOM-004", e.pos().row, e.to_string()))?;
        let mut root = element(document.root_element(), 0).map_err(|node| {
            let line = document.text_pos_at(node.range().start).row;
            let what = format!("elements are nested more than {NESTED_MAX} deep");
            refused("STL-FOM-001", line, what)
        })?;
        relabel(&mut root, &mut labels, number + 1);
        match &mut composed {
            None => composed = Some(root),
            Some(composed) => composed.add_all(root.children),
        }
    }
    let mut out = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    if let Some(mut composed) = composed {
        let designators = modules.iter().map(|(m, _)| m.designator());
        composed.identify(name, designators);
        composed.write(0, &mut out);
    }
    Ok(out)
}

/// A copy, or the node that is nested too deeply.
fn element<'a, 'i>(node: Node<'a, 'i>, depth: usize) -> Result<Element, Node<'a, 'i>> {
    if depth > NESTED_MAX {
        return Err(node);
    }
    let mut attributes = Vec::new();
    if node.parent_element().is_none() {
        let default = node.namespaces().find(|n| n.name().is_none());
        attributes.extend(default.map(|n| ("xmlns".to_owned(), n.uri().to_owned())));
        let mut located = node.attributes();
        if located.any(|a| a.namespace() == Some(SCHEMA_INSTANCE)) {
            attributes.push(("xmlns:xsi".into(), SCHEMA_INSTANCE.into()));
        }
    }
    for attribute in node.attributes() {
        let name = match attribute.namespace() {
            None => attribute.name().to_owned(),
            Some(SCHEMA_INSTANCE) => format!("xsi:{}", attribute.name()),
            Some(_) => continue,
        };
        attributes.push((name, attribute.value().to_owned()));
    }
    let children: Vec<Element> = node
        .children()
        .filter(Node::is_element)
        .map(|child| element(child, depth + 1))
        .collect::<Result<_, _>>()?;
    let text = match children.is_empty() {
        true => node.children().filter_map(|c| c.text()).collect(),
        false => String::new(),
    };
    Ok(Element {
        tag: node.tag_name().name().to_owned(),
        attributes,
        text,
        children,
    })
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

    fn is_container(&self) -> bool {
        ORDER.contains(&(self.tag.as_str(), true))
    }

    fn add_all(&mut self, children: Vec<Element>) {
        // Switches are one table, of the first module that has it.
        if self.tag == "switches" {
            return;
        }
        for child in children {
            self.add(child);
        }
    }

    fn add(&mut self, child: Element) {
        let same = |c: &&mut Element| c.tag == child.tag && c.key() == child.key();
        match self.children.iter_mut().find(same) {
            Some(there) if there.is_container() => there.add_all(child.children),
            Some(_) => {}
            None => {
                let rank = |tag: &str| ORDER.iter().position(|(t, _)| *t == tag);
                let before = |c: &Element| rank(&c.tag) <= rank(&child.tag);
                let at = match rank(&child.tag) {
                    None => self.children.len(),
                    Some(_) => self
                        .children
                        .iter()
                        .rposition(before)
                        .map_or(0, |at| at + 1),
                };
                self.children.insert(at, child);
            }
        }
    }

    /// Names it, and what it was composed from.
    fn identify<'a>(&mut self, name: &str, designators: impl Iterator<Item = &'a str>) {
        let leaf = |tag: &str, text: &str| Element {
            tag: tag.to_owned(),
            attributes: vec![],
            text: text.to_owned(),
            children: vec![],
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
