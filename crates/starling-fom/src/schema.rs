//! What the OMT knows at each place of a module: the schemas of 1516.2-2010 Annex D and of
//! 1516.2-2025, and the DTD of 1516.2-2000. What stands there beyond it is told, for a misspelt
//! element would else vanish without a word.
//!
//! Extensions, which are elements of another namespace than what holds them, say nothing to us.

use crate::error::short;
use crate::module::value;
use crate::xml::Element;
use crate::{Code, FomError, Place, Problems, nearest};
use std::collections::BTreeMap;

/// Elements, and the names of what each holds: as elements, or in 1516-2000 as XML attributes.
/// What is in elements that are missing here is not looked at.
const KNOWN: &[(&str, &[&str])] = &[
    (
        "objectModel",
        &[
            "modelIdentification",
            "serviceUtilization",
            "objects",
            "interactions",
            "dimensions",
            "time",
            "tags",
            "synchronizations",
            "transportations",
            "switches",
            "updateRates",
            "dataTypes",
            "notes",
        ],
    ),
    ("objects", &["objectClass"]),
    (
        "objectClass",
        &[
            "name",
            "sharing",
            "dimensions",
            "semantics",
            "attribute",
            "directedInteraction",
            "objectClass",
        ],
    ),
    (
        "attribute",
        &[
            "name",
            "dataType",
            "updateType",
            "updateCondition",
            "valueRequired",
            "ownership",
            "sharing",
            "dimensions",
            "transportation",
            "order",
            "semantics",
        ],
    ),
    ("directedInteraction", &["name", "sharing"]),
    ("interactions", &["interactionClass"]),
    (
        "interactionClass",
        &[
            "name",
            "sharing",
            "dimensions",
            "transportation",
            "order",
            "semantics",
            "parameter",
            "interactionClass",
        ],
    ),
    ("parameter", &["name", "dataType", "semantics"]),
    ("dimensions", &["dimension"]),
    (
        "dimension",
        &[
            "name",
            "dataType",
            "inputDataTypes",
            "inputDataDescription",
            "outputDataSemantics",
            "upperBound",
            "normalization",
            "value",
        ],
    ),
    ("inputDataTypes", &["dataType"]),
    (
        "time",
        &[
            "timeStamp",
            "lookahead",
            "logicalTime",
            "logicalTimeInterval",
        ],
    ),
    ("timeStamp", TAG),
    ("lookahead", TAG),
    ("logicalTime", TAG),
    ("logicalTimeInterval", TAG),
    (
        "tags",
        &[
            "updateReflectTag",
            "sendReceiveTag",
            "deleteRemoveTag",
            "divestitureRequestTag",
            "divestitureCompletionTag",
            "acquisitionRequestTag",
            "requestUpdateTag",
        ],
    ),
    ("updateReflectTag", TAG),
    ("sendReceiveTag", TAG),
    ("deleteRemoveTag", TAG),
    ("divestitureRequestTag", TAG),
    ("divestitureCompletionTag", TAG),
    ("acquisitionRequestTag", TAG),
    ("requestUpdateTag", TAG),
    (
        "synchronizations",
        &["synchronizationPoint", "synchronization"],
    ),
    ("synchronizationPoint", SYNCHRONIZATION),
    ("synchronization", SYNCHRONIZATION),
    ("transportations", &["transportation"]),
    (
        "transportation",
        &["name", "reliable", "semantics", "description"],
    ),
    (
        "switches",
        &[
            "autoProvide",
            "conveyRegionDesignatorSets",
            "conveyProducingFederate",
            "attributeScopeAdvisory",
            "attributeRelevanceAdvisory",
            "objectClassRelevanceAdvisory",
            "interactionRelevanceAdvisory",
            "serviceReporting",
            "exceptionReporting",
            "delaySubscriptionEvaluation",
            "automaticResignAction",
            "advisoriesUseKnownClass",
            "allowRelaxedDDM",
            "nonRegulatedGrant",
            "sendServiceReportsToFile",
        ],
    ),
    ("updateRates", &["updateRate"]),
    ("updateRate", &["name", "rate", "semantics"]),
    (
        "dataTypes",
        &[
            "basicDataRepresentations",
            "simpleDataTypes",
            "enumeratedDataTypes",
            "referenceDataTypes",
            "arrayDataTypes",
            "fixedRecordDataTypes",
            "variantRecordDataTypes",
        ],
    ),
    ("basicDataRepresentations", &["basicData"]),
    (
        "basicData",
        &["name", "size", "interpretation", "endian", "encoding"],
    ),
    ("simpleDataTypes", &["simpleData"]),
    (
        "simpleData",
        &[
            "name",
            "representation",
            "units",
            "resolution",
            "accuracy",
            "semantics",
        ],
    ),
    ("enumeratedDataTypes", &["enumeratedData"]),
    (
        "enumeratedData",
        &["name", "representation", "semantics", "enumerator"],
    ),
    ("enumerator", &["name", "value", "values"]),
    ("referenceDataTypes", &["referenceDataType"]),
    (
        "referenceDataType",
        &[
            "name",
            "representation",
            "referenceClass",
            "referencedAttribute",
            "semantics",
        ],
    ),
    ("arrayDataTypes", &["arrayData"]),
    (
        "arrayData",
        &["name", "dataType", "cardinality", "encoding", "semantics"],
    ),
    ("fixedRecordDataTypes", &["fixedRecordData"]),
    (
        "fixedRecordData",
        &["name", "encoding", "semantics", "field"],
    ),
    ("field", &["name", "dataType", "semantics"]),
    ("variantRecordDataTypes", &["variantRecordData"]),
    (
        "variantRecordData",
        &[
            "name",
            "discriminant",
            "dataType",
            "encoding",
            "semantics",
            "alternative",
        ],
    ),
    (
        "alternative",
        &["enumerator", "name", "dataType", "semantics"],
    ),
];

const TAG: &[&str] = &["dataType", "semantics"];
const SYNCHRONIZATION: &[&str] = &["label", "dataType", "capability", "semantics"];

/// Fields with the values that they can have, besides NA.
const VALUES: &[(&str, &[&str])] = &[
    ("updateType", &["Static", "Periodic", "Conditional"]),
    (
        "ownership",
        &["Divest", "Acquire", "DivestAcquire", "NoTransfer"],
    ),
    (
        "sharing",
        &["Publish", "Subscribe", "PublishSubscribe", "Neither"],
    ),
    ("valueRequired", &["true", "false"]),
    (
        "capability",
        &["Register", "Achieve", "RegisterAchieve", "NoSynch"],
    ),
    ("endian", &["Big", "Little"]),
];

/// Fields of which the merge refuses a wrong value, but takes an empty one as none.
const NOT_EMPTY: [&str; 2] = ["transportation", "order"];

/// XML attributes that any element of the 2010 and 2025 schemas has.
const ANYWHERE: [&str; 3] = ["notes", "noteReferences", "idtag"];

/// Takes extensions out of a module, and gives what else the OMT doesn't know in it.
pub(crate) fn check(designator: &str, root: &mut Element) -> Vec<FomError> {
    let mut checker = Checker {
        designator,
        numbers: BTreeMap::new(),
        declared: BTreeMap::new(),
        problems: Problems::default(),
    };
    let prefixes = checker.enter(root);
    let own = checker.namespace(root);
    checker.children(root, known("objectModel").unwrap_or_default(), own);
    checker.leave(prefixes);
    checker.problems.warnings
}

/// What an element holds.
fn known(tag: &str) -> Option<&'static [&'static str]> {
    let found = KNOWN.iter().find(|(known, _)| *known == tag)?;
    Some(found.1)
}

/// A namespace by its number: they are compared often, and may be long.
type Namespace = usize;

struct Checker<'a> {
    designator: &'a str,
    numbers: BTreeMap<String, Namespace>,
    /// Of each prefix what it stands for here, the innermost declaration last.
    declared: BTreeMap<String, Vec<Namespace>>,
    problems: Problems,
}

impl Checker<'_> {
    /// Goes as deep as the XML, which is bounded.
    fn children(&mut self, node: &mut Element, names: &[&str], namespace: Namespace) {
        let mut unknown = Vec::new();
        let mut children = std::mem::take(&mut node.children);
        children.retain_mut(|child| {
            let prefixes = self.enter(child);
            let own = self.namespace(child);
            let is_known = names.contains(&child.name());
            let is_extension = !is_known && own != namespace;
            if is_known && let Some(inside) = known(child.name()) {
                self.xml_attributes(child, inside);
                self.children(child, inside, own);
            } else if !is_known && !is_extension && unknown.len() < Problems::MAX {
                unknown.push((child.line, child.name().to_owned()));
            }
            self.leave(prefixes);
            !is_extension
        });
        node.children = children;
        for (line, name) in unknown {
            let what = format!("the element <{}>", short(&name));
            self.unknown(node, line, &what, &name, names);
        }
        self.values(node, names);
    }

    fn xml_attributes(&mut self, node: &Element, names: &[&str]) {
        for (name, _) in &node.attributes {
            // 1516-2000 has notes for each field.
            let of = name.strip_suffix("Notes").unwrap_or(name);
            let is_foreign = name == "xmlns" || name.contains(':');
            if !is_foreign && !names.contains(&of) && !ANYWHERE.contains(&name.as_str()) {
                let what = format!("the XML attribute {}", short(name));
                self.unknown(node, node.line, &what, name, names);
            }
        }
    }

    fn unknown(&mut self, node: &Element, line: u32, what: &str, name: &str, names: &[&str]) {
        if self.problems.warnings.len() >= Problems::MAX {
            return;
        }
        let what = format!(
            "{}: {what} is unknown to the OMT there{}",
            called(node),
            nearest(name, names.iter().copied())
        );
        self.add(Code::Unknown, line, what);
    }

    fn values(&mut self, node: &Element, names: &[&str]) {
        // Its rows have the name of a field.
        if node.name() == "transportations" {
            return;
        }
        let elements = node.children.iter();
        let elements = elements.filter(|e| e.children.is_empty());
        let elements = elements.map(|e| (e.name(), e.text.trim(), e.line));
        let in_xml = node.attributes();
        let all = elements.chain(in_xml.map(|(name, text)| (name, text.trim(), node.line)));
        for (name, text, line) in all {
            if !names.contains(&name)
                || text == "NA"
                || self.problems.warnings.len() >= Problems::MAX
            {
                continue;
            }
            let wanted = match VALUES.iter().find(|(field, _)| *field == name) {
                Some((_, values)) if !values.contains(&text) => {
                    let near = nearest(text, values.iter().copied());
                    format!("it is {}{near}", list(values))
                }
                None if text.is_empty() && NOT_EMPTY.contains(&name) => {
                    "it counts as missing".into()
                }
                // 1516-2000 has small letters.
                None if (name, text) == ("order", "Timestamp") => {
                    "it is written TimeStamp, as which it counts".into()
                }
                _ => continue,
            };
            let is = match text {
                "" => "empty".into(),
                _ => format!("'{}'", short(text)),
            };
            let what = format!("{}: {name} is {is}; {wanted}", called(node));
            self.add(Code::UnknownValue, line, what);
        }
    }

    fn add(&mut self, code: Code, line: u32, what: String) {
        let at = Place {
            module: self.designator.to_owned(),
            line,
        };
        self.problems.add(FomError::new(code, at, what));
    }

    /// Takes in the namespaces that an element declares; gives their prefixes.
    fn enter(&mut self, node: &Element) -> Vec<String> {
        let mut prefixes = Vec::new();
        for (name, namespace) in &node.attributes {
            let prefix = match name.strip_prefix("xmlns") {
                Some("") => "",
                Some(rest) if rest.starts_with(':') => &rest[1..],
                _ => continue,
            };
            let number = self.number(namespace);
            let declared = self.declared.entry(prefix.to_owned()).or_default();
            declared.push(number);
            prefixes.push(prefix.to_owned());
        }
        prefixes
    }

    fn leave(&mut self, prefixes: Vec<String>) {
        for prefix in prefixes {
            if let Some(declared) = self.declared.get_mut(&prefix) {
                declared.pop();
            }
        }
    }

    /// The namespace of an element; a prefix that is not declared stands for itself.
    fn namespace(&mut self, node: &Element) -> Namespace {
        let prefix = node.tag.split_once(':').map_or("", |(prefix, _)| prefix);
        let declared = self.declared.get(prefix).and_then(|d| d.last());
        declared.copied().unwrap_or_else(|| self.number(prefix))
    }

    fn number(&mut self, namespace: &str) -> Namespace {
        if let Some(number) = self.numbers.get(namespace) {
            return *number;
        }
        let number = self.numbers.len();
        self.numbers.insert(namespace.to_owned(), number);
        number
    }
}

/// An element for a message: `attribute 'Speed'`, `objects`.
fn called(node: &Element) -> String {
    let name = value(node, "name").or_else(|| value(node, "label"));
    match name {
        Some(name) => format!("{} '{}'", short(node.name()), short(&name)),
        None => short(node.name()),
    }
}

fn list(values: &[&str]) -> String {
    match values {
        [all @ .., last] if !all.is_empty() => format!("{} or {last}", all.join(", ")),
        _ => values.concat(),
    }
}
