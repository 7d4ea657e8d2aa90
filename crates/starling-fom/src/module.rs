//! One module as it stands in its file: the XML turned into definitions with their lines.

use crate::{FomError, Place, Switches};
use roxmltree::{Document, Node, ParsingOptions};
use std::collections::BTreeSet;

/// The largest module, 64 MiB; the largest known one (RPR enumerations) has 0.6.
pub const MODULE_BYTES_MAX: usize = 64 << 20;
/// Most XML nodes of a module.
const NODES_MAX: u32 = 4_000_000;
/// Deepest nesting of classes or of a table entry.
pub(crate) const DEPTH_MAX: usize = 200;

/// A parsed module. What it says is checked against others when it is merged.
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) designator: String,
    pub(crate) objects: Option<ClassDef>,
    pub(crate) interactions: Option<ClassDef>,
    pub(crate) entries: Vec<EntryDef>,
    pub(crate) switches: Option<(Switches, u32)>,
}

/// An object or interaction class.
#[derive(Clone, Debug)]
pub(crate) struct ClassDef {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) fields: Fields,
    pub(crate) dimensions: Option<Vec<String>>,
    pub(crate) members: Vec<MemberDef>,
    pub(crate) children: Vec<ClassDef>,
}

/// An attribute or parameter.
#[derive(Clone, Debug)]
pub(crate) struct MemberDef {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) fields: Fields,
    pub(crate) dimensions: Option<Vec<String>>,
}

/// A row of any other table: data type, dimension, transportation, update rate, tag and so on.
#[derive(Clone, Debug)]
pub(crate) struct EntryDef {
    pub(crate) table: &'static str,
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) fields: Fields,
}

/// What a definition says, without its prose: path below the definition, value.
pub(crate) type Fields = Vec<(String, String)>;

/// Prose and bookkeeping: no difference in these makes two definitions conflict.
const PROSE: [&str; 9] = [
    "semantics",
    "notes",
    "units",
    "resolution",
    "accuracy",
    "interpretation",
    "updateCondition",
    "valueRequired",
    "name",
];

impl Module {
    /// The name by which it was asked for.
    pub fn designator(&self) -> &str {
        &self.designator
    }
}

/// Reads a module.
pub fn parse(designator: &str, bytes: &[u8]) -> Result<Module, FomError> {
    let mut reader = Reader {
        designator,
        lines: Vec::new(),
    };
    if bytes.len() > MODULE_BYTES_MAX {
        let what = format!(
            "it has {} bytes; at most {MODULE_BYTES_MAX} are read",
            bytes.len()
        );
        return Err(FomError::unreadable("STL-FOM-001", reader.place(1), what));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let line = 1 + bytes[..e.valid_up_to()]
            .iter()
            .filter(|b| **b == b'\n')
            .count();
        let what = "it is not UTF-8 text; FOM modules are XML in UTF-8";
        FomError::unreadable("STL-FOM-002", reader.place(line as u32), what)
    })?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with(['(', ';']) {
        let what = "it is an HLA 1.3 FED file; an XML FOM module of IEEE 1516 is needed";
        return Err(FomError::unreadable("STL-FOM-003", reader.place(1), what));
    }
    let document = Document::parse_with_options(text, options(text)).map_err(|e| {
        let what = format!("it is not well-formed XML: {e}");
        FomError::unreadable("STL-FOM-004", reader.place(e.pos().row), what)
    })?;
    let breaks = text.bytes().enumerate().filter(|(_, b)| *b == b'\n');
    reader.lines = breaks.map(|(at, _)| at).collect();
    reader.module(&document)
}

/// Bounds on what XML may ask for.
pub(crate) fn options(text: &str) -> ParsingOptions<'_> {
    ParsingOptions {
        allow_dtd: text.contains("<!DOCTYPE") && !text.contains("<!ENTITY"),
        nodes_limit: NODES_MAX,
        ..ParsingOptions::default()
    }
}

struct Reader<'a> {
    designator: &'a str,
    /// Where lines end. Asking roxmltree for a line costs a walk over all text before it.
    lines: Vec<usize>,
}

impl Reader<'_> {
    fn place(&self, line: u32) -> Place {
        Place {
            module: self.designator.to_owned(),
            line,
        }
    }

    fn module(&self, document: &Document<'_>) -> Result<Module, FomError> {
        let root = document.root_element();
        let mut module = Module {
            designator: self.designator.to_owned(),
            objects: None,
            interactions: None,
            entries: Vec::new(),
            switches: None,
        };
        if !root.tag_name().name().eq_ignore_ascii_case("objectModel") {
            let what = format!(
                "its root element is <{}>; a FOM module's is <objectModel>",
                root.tag_name().name()
            );
            return Err(FomError::unreadable("STL-FOM-005", self.here(root), what));
        }
        for part in elements(root) {
            match part.tag_name().name() {
                "objects" => module.objects = self.root_class(part, "objectClass")?,
                "interactions" => {
                    module.interactions = self.root_class(part, "interactionClass")?
                }
                "switches" => module.switches = Some((self.switches(part)?, self.line(part))),
                "dataTypes" => {
                    for table in elements(part) {
                        self.entries(table, "data type", &mut module.entries)?;
                    }
                }
                "dimensions" => self.entries(part, "dimension", &mut module.entries)?,
                "transportations" => self.entries(part, "transportation", &mut module.entries)?,
                "updateRates" => self.entries(part, "update rate", &mut module.entries)?,
                "synchronizations" => {
                    self.entries(part, "synchronization point", &mut module.entries)?;
                }
                "time" => self.entries(part, "time", &mut module.entries)?,
                "tags" => self.entries(part, "tag", &mut module.entries)?,
                _ => {}
            }
        }
        Ok(module)
    }

    fn line(&self, node: Node<'_, '_>) -> u32 {
        let start = node.range().start;
        self.lines.partition_point(|end| *end < start) as u32 + 1
    }

    fn here(&self, node: Node<'_, '_>) -> Place {
        self.place(self.line(node))
    }

    fn root_class(&self, part: Node<'_, '_>, tag: &str) -> Result<Option<ClassDef>, FomError> {
        let mut roots = elements(part).filter(|e| e.tag_name().name() == tag);
        let Some(root) = roots.next() else {
            return Ok(None);
        };
        if let Some(second) = roots.next() {
            let what = format!("<{}> has a second root class", part.tag_name().name());
            return Err(FomError::unreadable("STL-FOM-008", self.here(second), what));
        }
        let class = self.class(root, tag, 0)?;
        let wanted = match tag {
            "objectClass" => "HLAobjectRoot",
            _ => "HLAinteractionRoot",
        };
        if class.name != wanted {
            let what = format!("the root class is '{}', not {wanted}", class.name);
            return Err(FomError::unreadable("STL-FOM-008", self.here(root), what));
        }
        Ok(Some(class))
    }

    fn class(&self, node: Node<'_, '_>, tag: &str, depth: usize) -> Result<ClassDef, FomError> {
        if depth >= DEPTH_MAX {
            let what = format!("classes are nested more than {DEPTH_MAX} deep");
            return Err(FomError::unreadable("STL-FOM-001", self.here(node), what));
        }
        let member_tag = match tag {
            "objectClass" => "attribute",
            _ => "parameter",
        };
        let name = self.name(node, tag)?;
        if name.contains('.') {
            let what = format!("the class name '{name}' contains a dot, which separates classes");
            return Err(FomError::unreadable("STL-FOM-006", self.here(node), what));
        }
        let mut class = ClassDef {
            name,
            line: self.line(node),
            fields: self.own_fields(node),
            dimensions: self.dimensions(node),
            members: Vec::new(),
            children: Vec::new(),
        };
        for child in elements(node) {
            let child_tag = child.tag_name().name();
            if child_tag == tag {
                class.children.push(self.class(child, tag, depth + 1)?);
            } else if child_tag == member_tag {
                class.members.push(MemberDef {
                    name: self.name(child, member_tag)?,
                    line: self.line(child),
                    fields: self.own_fields(child),
                    dimensions: self.dimensions(child),
                });
            }
        }
        Ok(class)
    }

    fn entries(
        &self,
        part: Node<'_, '_>,
        table: &'static str,
        out: &mut Vec<EntryDef>,
    ) -> Result<(), FomError> {
        for row in elements(part) {
            let mut fields = Fields::new();
            self.flatten(row, String::new(), 0, &mut fields)?;
            fields.retain(|(path, _)| path != "label");
            let tag = row.tag_name().name();
            let name = match table {
                "time" | "tag" => tag.to_owned(),
                "synchronization point" => self.named(row, tag, "label")?,
                _ => self.name(row, tag)?,
            };
            if table == "data type" {
                fields.insert(0, ("kind".into(), tag.to_owned()));
            }
            out.push(EntryDef {
                table,
                name,
                line: self.line(row),
                fields,
            });
        }
        Ok(())
    }

    fn switches(&self, part: Node<'_, '_>) -> Result<Switches, FomError> {
        let mut switches = Switches::default();
        let set = |switches: &mut Switches, name: &str, value: &str, at: Node<'_, '_>| {
            let value = value.trim();
            switches.set(name, value, &self.here(at))
        };
        for attribute in part.attributes() {
            set(&mut switches, attribute.name(), attribute.value(), part)?;
        }
        for e in elements(part) {
            let value = e.attributes().find(|a| a.name() != "notes");
            let value = value.map(|a| a.value()).or(e.text()).unwrap_or_default();
            set(&mut switches, e.tag_name().name(), value, e)?;
        }
        Ok(switches)
    }

    fn name(&self, node: Node<'_, '_>, tag: &str) -> Result<String, FomError> {
        self.named(node, tag, "name")
    }

    fn named(&self, node: Node<'_, '_>, tag: &str, field: &str) -> Result<String, FomError> {
        match value(node, field) {
            Some(name) if name.len() <= 1000 => Ok(name),
            Some(_) => {
                let what = format!("the {field} of this <{tag}> is longer than 1000 bytes");
                Err(FomError::unreadable("STL-FOM-001", self.here(node), what))
            }
            None => {
                let what = format!("this <{tag}> has no {field}");
                Err(FomError::unreadable("STL-FOM-006", self.here(node), what))
            }
        }
    }

    /// The simple fields of a class or member.
    fn own_fields(&self, node: Node<'_, '_>) -> Fields {
        [
            "dataType",
            "updateType",
            "ownership",
            "sharing",
            "transportation",
            "order",
        ]
        .iter()
        .filter_map(|f| Some(((*f).to_owned(), value(node, f)?)))
        .collect()
    }

    fn dimensions(&self, node: Node<'_, '_>) -> Option<Vec<String>> {
        if let Some(list) = node.attribute("dimensions") {
            let names = list.split([' ', ',']).filter(|n| !matches!(*n, "" | "NA"));
            return Some(names.map(str::to_owned).collect());
        }
        let list = elements(node).find(|e| e.tag_name().name() == "dimensions")?;
        let names = elements(list).filter_map(|d| d.text());
        let names = names.map(|n| n.trim().to_owned());
        Some(names.filter(|n| !n.is_empty() && n != "NA").collect())
    }

    fn flatten(
        &self,
        node: Node<'_, '_>,
        path: String,
        depth: usize,
        out: &mut Fields,
    ) -> Result<(), FomError> {
        if depth >= DEPTH_MAX {
            let what = format!("elements are nested more than {DEPTH_MAX} deep");
            return Err(FomError::unreadable("STL-FOM-001", self.here(node), what));
        }
        let join = |name: &str| match path.is_empty() {
            true => name.to_owned(),
            false => format!("{path}.{name}"),
        };
        let prose = |name: &str| PROSE.contains(&name) && (depth == 0 || name != "name");
        for a in node.attributes().filter(|a| !prose(a.name())) {
            push(out, join(a.name()), a.value());
        }
        let mut number = 0;
        let mut seen = BTreeSet::new();
        for e in elements(node) {
            let name = e.tag_name().name();
            if prose(name) {
                continue;
            }
            if elements(e).next().is_some() {
                number += 1;
                let step = match (name, value(e, "name")) {
                    // Their order says nothing, unlike that of fields. What is no name keeps its
                    // number: a path could not hold it.
                    ("enumerator", Some(own))
                        if !own.contains('.')
                            && !own.starts_with(|c: char| c.is_ascii_digit())
                            && seen.insert(own.clone()) =>
                    {
                        format!("{name} {own}")
                    }
                    _ => format!("{name} {number}"),
                };
                self.flatten(e, join(&step), depth + 1, out)?;
            } else {
                push(out, join(name), e.text().unwrap_or_default());
            }
        }
        Ok(())
    }
}

fn push(out: &mut Fields, path: String, value: &str) {
    let value = value.split_whitespace().collect::<Vec<_>>().join(" ");
    if !matches!(value.as_str(), "" | "NA") {
        out.push((path, value));
    }
}

fn elements<'a, 'i>(node: Node<'a, 'i>) -> impl Iterator<Item = Node<'a, 'i>> {
    node.children().filter(Node::is_element)
}

/// A field as a child element or an XML attribute; none if empty or NA.
fn value(node: Node<'_, '_>, field: &str) -> Option<String> {
    let child = elements(node).find(|e| e.tag_name().name() == field);
    let text = child.and_then(|e| e.text()).or(node.attribute(field))?;
    let text = text.trim();
    (!matches!(text, "" | "NA")).then(|| text.to_owned())
}
