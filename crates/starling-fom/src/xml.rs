//! XML as a tree of elements with their lines. Bounded, and linear in its size.
//!
//! Namespaces say nothing to us: an element or attribute counts by the name behind its prefix,
//! whether that is declared or not. No DTD is read, so no entity can grow.

use crate::Code;
use quick_xml::events::{BytesStart, Event};
use quick_xml::{Reader, XmlVersion, escape};

/// Most elements of a module; the largest known one (RPR enumerations) has 40,000.
const ELEMENTS_MAX: usize = 1_000_000;
/// Most XML attributes of an element; 1516-2000 needs 20.
const ATTRIBUTES_MAX: usize = 256;
/// Deepest nesting: room for the deepest classes with the deepest definitions.
const DEPTH_MAX: usize = 2 * crate::module::DEPTH_MAX + 8;

/// An element with all below it.
#[derive(Debug, Default)]
pub(crate) struct Element {
    /// As written, with its prefix.
    pub(crate) tag: String,
    pub(crate) line: u32,
    /// As written, in order.
    pub(crate) attributes: Vec<(String, String)>,
    /// Of an element without children.
    pub(crate) text: String,
    pub(crate) children: Vec<Element>,
}

impl Element {
    /// Its name without a prefix.
    pub(crate) fn name(&self) -> &str {
        local(&self.tag)
    }

    /// An XML attribute by its name without a prefix.
    pub(crate) fn attribute(&self, name: &str) -> Option<&str> {
        let found = self.attributes().find(|(n, _)| *n == name)?;
        Some(found.1)
    }

    /// XML attributes with their names without prefixes, but for declarations of prefixes.
    pub(crate) fn attributes(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.attributes.iter();
        let own = all.filter(|(name, _)| name != "xmlns" && !name.starts_with("xmlns:"));
        own.map(|(name, value)| (local(name), value.as_str()))
    }

    /// The first child of this name.
    pub(crate) fn child(&self, name: &str) -> Option<&Element> {
        self.children.iter().find(|c| c.name() == name)
    }
}

fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Why a text can't be read, and in which line.
#[derive(Debug)]
pub(crate) struct Fault {
    pub(crate) code: Code,
    pub(crate) line: u32,
    pub(crate) what: String,
}

/// Reads a document, and gives its root element.
pub(crate) fn read(text: &str) -> Result<Element, Fault> {
    let forbidden = |c: char| c < ' ' && !matches!(c, '\t' | '\n' | '\r');
    if let Some((at, c)) = text.char_indices().find(|(_, c)| forbidden(*c)) {
        let line = 1 + text[..at].bytes().filter(|b| *b == b'\n').count();
        let what = format!("the character U+{:04X} has no place in XML", u32::from(c));
        return Err(malformed(line as u32, what));
    }
    let mut reader = Reader::from_str(text);
    reader.config_mut().expand_empty_elements = true;
    let mut lines = Lines {
        text: text.as_bytes(),
        at: 0,
        line: 1,
    };
    let mut open: Vec<Element> = Vec::new();
    let mut root = None;
    let mut elements = 0;
    loop {
        let line = lines.line(reader.buffer_position());
        let event = reader.read_event();
        let event = event.map_err(|e| malformed(lines.line(reader.error_position()), e))?;
        let written = match event {
            Event::Start(start) => {
                elements += 1;
                if root.is_some() {
                    return Err(malformed(line, "it has a second root element"));
                }
                if elements > ELEMENTS_MAX {
                    let what = format!("it has more than {ELEMENTS_MAX} elements");
                    return Err(too_large(line, what));
                }
                if open.len() >= DEPTH_MAX {
                    let what = format!("elements are nested more than {DEPTH_MAX} deep");
                    return Err(too_large(line, what));
                }
                open.push(element(&start, line)?);
                continue;
            }
            Event::End(_) => {
                // The reader has compared the names.
                let Some(mut done) = open.pop() else {
                    return Err(malformed(line, "an element ends that has not begun"));
                };
                if !done.children.is_empty() {
                    done.text = String::new();
                }
                match open.last_mut() {
                    Some(parent) => parent.children.push(done),
                    None => root = Some(done),
                }
                continue;
            }
            Event::Eof => break,
            Event::Text(text) => text.xml10_content().into_owned(),
            Event::CData(text) => text.xml10_content().into_owned(),
            Event::GeneralRef(entity) => {
                let character = entity.resolve_char_ref().map_err(|e| malformed(line, e))?;
                let known = escape::resolve_xml_entity(&entity).map(str::to_owned);
                match character.map(String::from).or(known) {
                    Some(text) => text,
                    None => {
                        let what = format!(
                            "the entity &{}; is not predefined; DTDs are not read",
                            crate::error::short(&entity)
                        );
                        return Err(malformed(line, what));
                    }
                }
            }
            Event::Empty(_)
            | Event::Comment(_)
            | Event::Decl(_)
            | Event::PI(_)
            | Event::DocType(_) => continue,
        };
        match open.last_mut() {
            Some(inside) if inside.children.is_empty() => inside.text += &written,
            Some(_) => {}
            None if written.trim().is_empty() => {}
            None => return Err(malformed(line, "there is text outside of the root element")),
        }
    }
    if let Some(unclosed) = open.last() {
        let what = format!(
            "<{}> is not closed",
            crate::error::short(unclosed.tag.as_str())
        );
        return Err(malformed(unclosed.line, what));
    }
    root.ok_or_else(|| malformed(1, "it has no element"))
}

fn element(start: &BytesStart<'_>, line: u32) -> Result<Element, Fault> {
    let mut attributes = Vec::new();
    // Twins are looked for in all attributes before; their number is bounded here.
    for attribute in start.attributes() {
        let attribute = attribute.map_err(|e| malformed(line, e))?;
        if attributes.len() == ATTRIBUTES_MAX {
            let what = format!("an element has more than {ATTRIBUTES_MAX} XML attributes");
            return Err(too_large(line, what));
        }
        let value = attribute.normalized_value(XmlVersion::Implicit1_0);
        let value = value.map_err(|e| malformed(line, e))?.into_owned();
        attributes.push((attribute.key.as_ref().to_owned(), value));
    }
    Ok(Element {
        tag: start.name().as_ref().to_owned(),
        line,
        attributes,
        ..Element::default()
    })
}

fn malformed(line: u32, what: impl std::fmt::Display) -> Fault {
    Fault {
        code: Code::NotXml,
        line,
        what: format!("it is not well-formed XML: {what}"),
    }
}

fn too_large(line: u32, what: String) -> Fault {
    Fault {
        code: Code::TooLarge,
        line,
        what,
    }
}

/// Counts lines up to positions that only grow.
struct Lines<'a> {
    text: &'a [u8],
    at: usize,
    line: u32,
}

impl Lines<'_> {
    fn line(&mut self, position: u64) -> u32 {
        let position = usize::try_from(position).unwrap_or(usize::MAX);
        let position = position.min(self.text.len());
        if position > self.at {
            let passed = &self.text[self.at..position];
            self.line += passed.iter().filter(|b| **b == b'\n').count() as u32;
            self.at = position;
        }
        self.line
    }
}
