//! One module as it stands in its file: the XML turned into definitions with their lines.

use crate::model::field;
use crate::xml::{self, Element, Fault};
use crate::{Code, FomError, Place, Switches, schema};
use std::cell::Cell;
use std::collections::BTreeSet;

/// The largest module, 64 MiB; the largest known one (RPR enumerations) has 0.6.
pub const MODULE_BYTES_MAX: usize = 64 << 20;
/// Deepest nesting of classes or of a table entry.
pub(crate) const DEPTH_MAX: usize = 200;
/// Longest path to a field within a definition.
const PATH_BYTES_MAX: usize = 10_000;
/// Most bytes of all paths for each byte of the module: they repeat what stands around a field.
const PATHS_FACTOR_MAX: usize = 4;
/// So many may be in any module, however small.
const PATHS_BYTES_MIN: usize = 1 << 16;

/// A parsed module. What it says is checked against others when it is merged.
#[derive(Clone, Debug)]
pub struct Module {
    pub(crate) designator: String,
    pub(crate) objects: Option<ClassDef>,
    pub(crate) interactions: Option<ClassDef>,
    pub(crate) entries: Vec<EntryDef>,
    pub(crate) switches: Option<(Switches, u32)>,
    /// Of 1516-2000: what the MIM defines too is in the words of that edition.
    pub(crate) is_of_2000: bool,
    /// What the OMT doesn't know in it.
    pub(crate) unknown: Vec<FomError>,
}

/// An object or interaction class.
#[derive(Clone, Debug)]
pub(crate) struct ClassDef {
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) fields: Fields,
    pub(crate) lines: Lines,
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
    pub(crate) lines: Lines,
    pub(crate) dimensions: Option<Vec<String>>,
}

/// A row of any other table: data type, dimension, transportation, update rate, tag and so on.
#[derive(Clone, Debug)]
pub(crate) struct EntryDef {
    pub(crate) table: &'static str,
    pub(crate) name: String,
    pub(crate) line: u32,
    pub(crate) fields: Fields,
    pub(crate) lines: Lines,
}

/// The lines of those fields of a definition that may be wrong by themselves.
#[derive(Clone, Debug)]
pub(crate) struct Lines {
    whole: u32,
    fields: Vec<(&'static str, u32)>,
    /// Of its dimensions, in their order.
    pub(crate) dimensions: Vec<u32>,
}

impl Lines {
    fn new(node: &Element) -> Self {
        const FIELDS: [&str; 6] = [
            "order",
            "transportation",
            "rate",
            "reliable",
            "upperBound",
            "value",
        ];
        let of = |field: &&'static str| Some((*field, node.child(field)?.line));
        let list = node.child("dimensions").map_or(&[][..], |d| &d.children);
        Lines {
            whole: node.line,
            fields: FIELDS.iter().filter_map(of).collect(),
            dimensions: list
                .iter()
                .filter(|n| is_dimension(n.text.trim()))
                .map(|n| n.line)
                .collect(),
        }
    }

    /// That of a field, or of the definition where that is said in its head.
    pub(crate) fn of(&self, field: &str) -> u32 {
        let found = self.fields.iter().find(|(name, _)| *name == field);
        found.map_or(self.whole, |(_, line)| *line)
    }
}

fn is_dimension(name: &str) -> bool {
    !matches!(name, "" | "NA")
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

/// Reads a module. What is wrong names the line; the first problem ends it.
pub fn parse(designator: &str, bytes: &[u8]) -> Result<Module, FomError> {
    let place = |line| Place {
        module: designator.to_owned(),
        line,
    };
    let mut root = read(bytes).map_err(|fault| {
        let Fault { code, line, what } = fault;
        FomError::new(code, place(line), what)
    })?;
    let unknown = schema::check(designator, &mut root);
    let is_of_2000 = root.attribute("DTDversion").is_some();
    let paths_bytes_max = (PATHS_FACTOR_MAX * bytes.len()).max(PATHS_BYTES_MIN);
    let reader = Reader {
        designator,
        is_of_2000,
        paths_bytes_max,
        paths_bytes: Cell::new(0),
    };
    let mut module = reader.module(&root)?;
    module.unknown = unknown;
    Ok(module)
}

/// The elements of a module.
pub(crate) fn read(bytes: &[u8]) -> Result<Element, Fault> {
    let fault = |code, line, what: String| Fault { code, line, what };
    if bytes.len() > MODULE_BYTES_MAX {
        let what = format!(
            "it has {} bytes; at most {MODULE_BYTES_MAX} are read",
            bytes.len()
        );
        return Err(fault(Code::TooLarge, 1, what));
    }
    let text = std::str::from_utf8(bytes).map_err(|e| {
        let before = &bytes[..e.valid_up_to()];
        let line = 1 + before.iter().filter(|b| **b == b'\n').count();
        fault(Code::NotUtf8, line as u32, "it is not UTF-8 text".into())
    })?;
    let text = text.trim_start_matches('\u{feff}');
    if text.trim_start().starts_with(['(', ';']) {
        let what = "it is an HLA 1.3 FED file, not XML".to_owned();
        return Err(fault(Code::FedFile, 1, what));
    }
    xml::read(text)
}

struct Reader<'a> {
    designator: &'a str,
    is_of_2000: bool,
    paths_bytes_max: usize,
    /// Of all paths that were built so far.
    paths_bytes: Cell<usize>,
}

/// Dimensions of the MIM as 1516-2000 names them.
const DIMENSIONS_OF_2000: [(&str, &str); 2] = [
    ("Federate", "HLAfederate"),
    ("ServiceGroup", "HLAserviceGroup"),
];

impl Reader<'_> {
    fn place(&self, line: u32) -> Place {
        Place {
            module: self.designator.to_owned(),
            line,
        }
    }

    fn module(&self, root: &Element) -> Result<Module, FomError> {
        let mut module = Module {
            designator: self.designator.to_owned(),
            objects: None,
            interactions: None,
            entries: Vec::new(),
            switches: None,
            is_of_2000: self.is_of_2000,
            unknown: Vec::new(),
        };
        if !root.name().eq_ignore_ascii_case("objectModel") {
            let what = format!(
                "its root element is <{}>; a FOM module's is <objectModel>",
                root.name()
            );
            return Err(FomError::new(Code::NotAnObjectModel, self.here(root), what));
        }
        for part in &root.children {
            match part.name() {
                "objects" => module.objects = self.root_class(part, "objectClass")?,
                "interactions" => {
                    module.interactions = self.root_class(part, "interactionClass")?
                }
                "switches" => module.switches = Some((self.switches(part)?, part.line)),
                "dataTypes" => {
                    for table in &part.children {
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

    fn here(&self, node: &Element) -> Place {
        self.place(node.line)
    }

    fn root_class(&self, part: &Element, tag: &str) -> Result<Option<ClassDef>, FomError> {
        let mut roots = part.children.iter().filter(|e| e.name() == tag);
        let Some(root) = roots.next() else {
            return Ok(None);
        };
        if let Some(second) = roots.next() {
            let what = format!("<{}> has a second root class", part.name());
            return Err(FomError::new(Code::BadRoot, self.here(second), what));
        }
        let class = self.class(root, tag, 0)?;
        let wanted = match tag {
            "objectClass" => "HLAobjectRoot",
            _ => "HLAinteractionRoot",
        };
        if class.name != wanted {
            let what = format!("the root class is '{}', not {wanted}", class.name);
            return Err(FomError::new(Code::BadRoot, self.here(root), what));
        }
        Ok(Some(class))
    }

    fn class(&self, node: &Element, tag: &str, depth: usize) -> Result<ClassDef, FomError> {
        if depth >= DEPTH_MAX {
            let what = format!("classes are nested more than {DEPTH_MAX} deep");
            return Err(FomError::new(Code::TooLarge, self.here(node), what));
        }
        let member_tag = match tag {
            "objectClass" => "attribute",
            _ => "parameter",
        };
        let name = self.name(node, tag)?;
        if name.contains('.') {
            let what = format!("the class name '{name}' contains a dot, which separates classes");
            return Err(FomError::new(Code::BadName, self.here(node), what));
        }
        let mut class = ClassDef {
            name,
            line: node.line,
            fields: self.own_fields(node),
            lines: Lines::new(node),
            dimensions: self.dimensions(node),
            members: Vec::new(),
            children: Vec::new(),
        };
        for child in &node.children {
            let child_tag = child.name();
            if child_tag == tag {
                class.children.push(self.class(child, tag, depth + 1)?);
            } else if child_tag == member_tag {
                class.members.push(MemberDef {
                    name: self.name(child, member_tag)?,
                    line: child.line,
                    fields: self.own_fields(child),
                    lines: Lines::new(child),
                    dimensions: self.dimensions(child),
                });
            }
        }
        Ok(class)
    }

    fn entries(
        &self,
        part: &Element,
        table: &'static str,
        out: &mut Vec<EntryDef>,
    ) -> Result<(), FomError> {
        for row in &part.children {
            let mut fields = Fields::new();
            self.flatten(row, String::new(), 0, &mut fields)?;
            fields.retain(|(path, _)| path != "label");
            // A tag or time whose data type is NA says nothing.
            if matches!(table, "time" | "tag") && field(&fields, "dataType").is_none() {
                continue;
            }
            let tag = row.name();
            let name = match table {
                "time" | "tag" => tag.to_owned(),
                "synchronization point" => self.named(row, tag, "label")?,
                _ => self.name(row, tag)?,
            };
            let is_old = |(old, _): &(&str, &str)| *old == name;
            if table == "dimension" && self.is_of_2000 && DIMENSIONS_OF_2000.iter().any(is_old) {
                continue;
            }
            if table == "data type" {
                fields.insert(0, ("kind".into(), tag.to_owned()));
            }
            out.push(EntryDef {
                table,
                name,
                line: row.line,
                fields,
                lines: Lines::new(row),
            });
        }
        Ok(())
    }

    fn switches(&self, part: &Element) -> Result<Switches, FomError> {
        let mut switches = Switches::default();
        let set = |switches: &mut Switches, name: &str, value: &str, at: &Element| {
            let value = value.trim();
            switches.set(name, value, &self.here(at))
        };
        for (name, value) in part.attributes() {
            set(&mut switches, name, value, part)?;
        }
        for e in &part.children {
            let is_note = |name| matches!(name, "notes" | "noteReferences" | "idtag");
            let value = e.attributes().find(|(name, _)| !is_note(name));
            let value = value.map_or(e.text.as_str(), |(_, value)| value);
            set(&mut switches, e.name(), value, e)?;
        }
        Ok(switches)
    }

    fn name(&self, node: &Element, tag: &str) -> Result<String, FomError> {
        self.named(node, tag, "name")
    }

    fn named(&self, node: &Element, tag: &str, field: &str) -> Result<String, FomError> {
        match value(node, field) {
            Some(name) if name.len() <= 1000 => Ok(name),
            Some(_) => {
                let what = format!("the {field} of this <{tag}> is longer than 1000 bytes");
                Err(FomError::new(Code::TooLarge, self.here(node), what))
            }
            None => {
                let what = format!("this <{tag}> has no {field}");
                Err(FomError::new(Code::BadName, self.here(node), what))
            }
        }
    }

    /// The simple fields of a class or member.
    fn own_fields(&self, node: &Element) -> Fields {
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

    fn dimensions(&self, node: &Element) -> Option<Vec<String>> {
        if let Some(list) = node.attribute("dimensions") {
            let names = list.split([' ', ',']).filter(|n| is_dimension(n));
            let old = DIMENSIONS_OF_2000.iter().filter(|_| self.is_of_2000);
            let now = |name: &str| {
                let known = old.clone().find(|(old, _)| *old == name);
                known.map_or(name, |(_, now)| now).to_owned()
            };
            return Some(names.map(now).collect());
        }
        let list = node.child("dimensions")?;
        let names = list.children.iter().map(|n| n.text.trim().to_owned());
        Some(names.filter(|n| is_dimension(n)).collect())
    }

    fn flatten(
        &self,
        node: &Element,
        path: String,
        depth: usize,
        out: &mut Fields,
    ) -> Result<(), FomError> {
        if depth >= DEPTH_MAX {
            let what = format!("elements are nested more than {DEPTH_MAX} deep");
            return Err(FomError::new(Code::TooLarge, self.here(node), what));
        }
        if path.len() > PATH_BYTES_MAX {
            let what = format!(
                "the names of nested elements are longer than {PATH_BYTES_MAX} bytes together"
            );
            return Err(FomError::new(Code::TooLarge, self.here(node), what));
        }
        let join = |name: &str, at: &Element| {
            let all = self.paths_bytes.get() + path.len() + 1 + name.len();
            if all > self.paths_bytes_max {
                let what = format!(
                    "the paths to nested elements, with the names of all that is around each, have more than {} bytes together ({PATHS_FACTOR_MAX} for each byte of the module)",
                    self.paths_bytes_max
                );
                return Err(FomError::new(Code::TooLarge, self.here(at), what));
            }
            self.paths_bytes.set(all);
            Ok(if path.is_empty() {
                name.to_owned()
            } else {
                format!("{path}.{name}")
            })
        };
        let prose = |name: &str| PROSE.contains(&name) && (depth == 0 || name != "name");
        for (name, value) in node.attributes().filter(|(name, _)| !prose(name)) {
            push(out, join(name, node)?, value);
        }
        let mut number = 0;
        let mut seen = BTreeSet::new();
        for e in &node.children {
            let name = e.name();
            if prose(name) {
                continue;
            }
            // Modules of 1516-2000 say all in XML attributes.
            if !e.children.is_empty()
                || e.attributes()
                    .any(|(name, _)| !PROSE.contains(&name) || name == "name")
            {
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
                self.flatten(e, join(&step, e)?, depth + 1, out)?;
            } else {
                push(out, join(name, e)?, &e.text);
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

/// A field as a child element or an XML attribute; none if empty or NA.
pub(crate) fn value(node: &Element, field: &str) -> Option<String> {
    let child = node.child(field).map(|e| e.text.as_str());
    let text = child.or_else(|| node.attribute(field))?.trim();
    (!matches!(text, "" | "NA")).then(|| text.to_owned())
}
