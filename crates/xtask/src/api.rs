//! `spec/api.tsv`: services and callbacks with their arguments and results, named once.
//!
//! A row's arguments are `name:Type`, by the types of `types.rs`. One that the C++ API of 2010 or one
//! of its overloads lacks ends in `?`. In brackets, they are a callback's without names. CONTRIBUTING.md
//! says what the columns are.

use crate::cpp_headers::clauses;
use crate::table;
use crate::types::{Type, type_named};
use anyhow::{Context, Result, bail};
use std::collections::{BTreeMap, BTreeSet};

/// One row.
pub(crate) struct Row {
    pub(crate) room: String,
    /// Its name in the C++ API; of a callback, the core's, which may be several there.
    pub(crate) name: String,
    pub(crate) clause: String,
    /// The Rust method of a service.
    pub(crate) method: String,
    pub(crate) arguments: Vec<Argument>,
    /// The callback's variant in the core has fields without names.
    pub(crate) bare: bool,
    pub(crate) result: Option<&'static Type>,
    by: String,
    pub(crate) text: String,
}

pub(crate) struct Argument {
    pub(crate) name: String,
    pub(crate) kind: &'static Type,
    /// May be missing in the C++ API.
    pub(crate) optional: bool,
}

/// The services and the callbacks, in the table's order.
pub(crate) struct Api {
    pub(crate) services: Vec<Row>,
    pub(crate) callbacks: Vec<Row>,
    pub(crate) cpp: Vec<Method>,
}

/// A virtual function of the C++ API of 2010.
pub(crate) struct Method {
    pub(crate) name: String,
    /// Its class is the RTI ambassador, else the federate ambassador.
    pub(crate) service: bool,
    pub(crate) result: String,
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) is_const: bool,
    pub(crate) exceptions: Vec<String>,
}

pub(crate) struct Parameter {
    pub(crate) kind: String,
    pub(crate) name: String,
    /// It has a default.
    pub(crate) optional: bool,
}

impl Api {
    pub(crate) fn read() -> Result<Self> {
        let clauses = clauses()?;
        let (mut services, mut callbacks) = (Vec::new(), Vec::new());
        for fields in table("spec/api.tsv")? {
            let name = fields.get(2).map_or("?", String::as_str).to_owned();
            let row = row(&fields, &clauses).with_context(|| format!("spec/api.tsv, {name}"))?;
            match fields[0].as_str() {
                "service" => services.push(row),
                "callback" => callbacks.push(row),
                other => bail!("spec/api.tsv, {name}: {other} is neither service nor callback"),
            }
        }
        let mut cpp = Vec::new();
        for fields in table("spec/cpp/rti1516e.tsv")? {
            if !fields[2].starts_with("method") || !fields[2].ends_with("pure") {
                continue;
            }
            let service = match fields[0].as_str() {
                "RTI/RTIambassador.h" => true,
                "RTI/FederateAmbassador.h" => false,
                _ => continue,
            };
            cpp.push(method(&fields, service)?);
        }
        Ok(Api {
            services,
            callbacks,
            cpp,
        })
    }

    /// The C++ functions that a row stands for, with the argument that each parameter is.
    pub(crate) fn cpp_of<'a>(
        &'a self,
        row: &'a Row,
        service: bool,
    ) -> Vec<(&'a Method, Vec<usize>)> {
        let named = self
            .cpp
            .iter()
            .filter(|m| m.service == service && m.name == row.name);
        named.filter_map(|m| Some((m, row.matches(m)?))).collect()
    }
}

impl Api {
    /// What a service throws, by the C++ functions that it stands for.
    pub(crate) fn exceptions<'a>(&'a self, row: &'a Row) -> Vec<&'a str> {
        let methods = self.cpp_of(row, true).into_iter();
        let all = methods.flat_map(|(method, _)| &method.exceptions);
        let all: BTreeSet<&str> = all.map(String::as_str).collect();
        all.into_iter().collect()
    }
}

impl Row {
    /// Whether this part of it is written by hand: `core`, `c`, `cpp`, `play`.
    pub(crate) fn by_hand(&self, part: &str) -> bool {
        self.by.split(' ').any(|p| p == part)
    }

    /// `ReflectAttributeValues`.
    pub(crate) fn variant(&self) -> String {
        self.name[..1].to_uppercase() + &self.name[1..]
    }

    /// `reflect_attribute_values`.
    pub(crate) fn snake(&self) -> String {
        snake(&self.name)
    }

    /// `Reflect Attribute Values (1516.1-2010, 6.11)`.
    pub(crate) fn title(&self) -> String {
        let words = snake(&self.name);
        let words = words.split('_').map(|w| w[..1].to_uppercase() + &w[1..]);
        let words: Vec<_> = words.collect();
        format!("{} (1516.1-2010, {})", words.join(" "), self.clause)
    }

    /// For each parameter of a C++ function the argument that it is, if it fits.
    fn matches(&self, method: &Method) -> Option<Vec<usize>> {
        // A result may come back through the last parameter.
        let parameters = match (method.parameters.split_last(), self.result) {
            (Some((last, rest)), Some(kind)) if last.is_out() && kind.takes(&last.kind) => rest,
            _ => &method.parameters,
        };
        let mut found = Vec::new();
        fit(&self.arguments, 0, parameters, &mut found).then_some(found)
    }
}

impl Parameter {
    /// Whether it is a result.
    pub(crate) fn is_out(&self) -> bool {
        self.kind.ends_with(" &") && !self.kind.contains(" const ")
    }
}

/// Goes on from argument `at`; leaves out optional ones where that makes the rest fit.
fn fit(
    arguments: &[Argument],
    at: usize,
    parameters: &[Parameter],
    found: &mut Vec<usize>,
) -> bool {
    let Some(argument) = arguments.get(at) else {
        return parameters.is_empty();
    };
    if let Some((first, rest)) = parameters.split_first()
        && argument.kind.takes(&first.kind)
    {
        found.push(at);
        if fit(arguments, at + 1, rest, found) {
            return true;
        }
        found.pop();
    }
    argument.optional && fit(arguments, at + 1, parameters, found)
}

fn row(fields: &[String], clauses: &BTreeMap<String, String>) -> Result<Row> {
    let [_, room, name, clause, method, arguments, result, by, text] = fields else {
        bail!("9 fields are needed, not {}", fields.len());
    };
    let clause = match clause.as_str() {
        "-" => clauses
            .get(name)
            .context("spec/services.tsv has no clause")?,
        given => given,
    };
    if let Some(part) = by
        .split(' ')
        .find(|p| !["-", "core", "c", "cpp", "play"].contains(p))
    {
        bail!("{part} is none of the parts that are written by hand: core, c, cpp, play");
    }
    let none = |field: &str| {
        if field == "-" {
            String::new()
        } else {
            field.to_owned()
        }
    };
    let bare = arguments.starts_with('(');
    let arguments = none(arguments.trim_matches(['(', ')']));
    let arguments = arguments.split(' ').filter(|a| !a.is_empty()).map(argument);
    Ok(Row {
        room: room.clone(),
        name: name.clone(),
        clause: clause.to_owned(),
        method: none(method),
        arguments: arguments.collect::<Result<_>>()?,
        bare,
        result: if result == "-" {
            None
        } else {
            Some(type_named(result)?)
        },
        by: none(by),
        text: none(text),
    })
}

fn argument(text: &str) -> Result<Argument> {
    let (name, kind) = text
        .split_once(':')
        .with_context(|| format!("{text} is no name:Type"))?;
    let (kind, optional) = match kind.strip_suffix('?') {
        Some(kind) => (kind, true),
        None => (kind, false),
    };
    Ok(Argument {
        name: name.to_owned(),
        kind: type_named(kind)?,
        optional,
    })
}

fn method(fields: &[String], service: bool) -> Result<Method> {
    let (name, signature) = (&fields[4], &fields[5]);
    let whole = signature
        .trim_start_matches("virtual ")
        .trim_end_matches(" = 0");
    let whole = whole.trim_end_matches(" throw(*)");
    let (result, rest) = whole
        .split_once(&format!(" {name}("))
        .with_context(|| format!("the signature of {name} is {signature}"))?;
    let is_const = rest.ends_with(" const");
    let list = rest.trim_end_matches(" const");
    let list = list.strip_suffix(')').unwrap_or(list);
    Ok(Method {
        name: name.clone(),
        service,
        result: result.to_owned(),
        parameters: split(list).into_iter().map(parameter).collect(),
        is_const,
        exceptions: fields[6].split(' ').map(str::to_owned).collect(),
    })
}

/// Cut at the commas that stand in no brackets.
fn split(list: &str) -> Vec<&str> {
    let (mut depth, mut start, mut parts) = (0, 0, Vec::new());
    for (at, c) in list.char_indices().chain([(list.len(), ',')]) {
        match c {
            '<' | '(' => depth += 1,
            '>' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.retain(|part| !part.is_empty());
    parts
}

fn parameter(text: &str) -> Parameter {
    let declared = text.split(" = ").next().unwrap_or_default();
    let (kind, name) = declared.rsplit_once(' ').unwrap_or((declared, ""));
    Parameter {
        kind: kind.to_owned(),
        name: name.to_owned(),
        optional: text.contains(" = "),
    }
}

/// `getFOMmodule` as `get_fommodule`; what the C ABI and Rust call it.
pub(crate) fn snake(camel: &str) -> String {
    let mut out = String::new();
    let mut before = 'A';
    for c in camel.chars() {
        if c.is_uppercase() && !before.is_uppercase() {
            out.push('_');
        }
        out.extend(c.to_lowercase());
        before = c;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_parameter_is_found_behind_arguments_that_an_overload_leaves_out() {
        let api = Api::read().unwrap();
        let of = |name: &str| {
            let row = api.services.iter().find(|r| r.name == name).unwrap();
            let found = api.cpp_of(row, true);
            found
                .into_iter()
                .map(|(_, places)| places)
                .collect::<Vec<_>>()
        };
        // ["name"] "type" "federation" [modules]
        assert_eq!(
            of("joinFederationExecution"),
            [vec![1, 2, 3], vec![0, 1, 2, 3]]
        );
        assert_eq!(of("registerObjectInstance"), [vec![0], vec![0, 1]]);
    }

    #[test]
    fn names_change_their_form() {
        assert_eq!(snake("queryGALT"), "query_galt");
        assert_eq!(snake("attributeIsOwnedByRTI"), "attribute_is_owned_by_rti");
        assert_eq!(snake("connect"), "connect");
    }

    #[test]
    fn signatures_are_taken_apart() {
        let fields = [
            "",
            "",
            "",
            "",
            "f",
            "virtual std::map<A, B> f(C const & a, D b = D(), E & c) const throw(*) = 0",
            "X Y",
        ];
        let fields = fields.map(str::to_owned);
        let method = method(&fields, true).unwrap();
        assert_eq!(method.result, "std::map<A, B>");
        let of: Vec<_> = method
            .parameters
            .iter()
            .map(|p| (p.kind.as_str(), p.name.as_str(), p.optional, p.is_out()))
            .collect();
        assert_eq!(
            of,
            [
                ("C const &", "a", false, false),
                ("D", "b", true, false),
                ("E &", "c", false, true)
            ]
        );
        assert!(method.is_const);
        assert_eq!(method.exceptions, ["X", "Y"]);
    }
}
