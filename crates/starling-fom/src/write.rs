//! A merged model as one FOM module again.

use crate::model::Origin;
use crate::module::Fields;
use crate::{InteractionClass, ObjectClass, ObjectModel};

impl ObjectModel {
    /// Everything that modules added to the MIM, as one FOM module in XML. Merged with the same
    /// MIM it says the same. Prose (semantics, notes, identification) is not kept.
    pub fn to_xml(&self, name: &str) -> String {
        let mut w = Writer::default();
        w.out += "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n";
        w.open("objectModel xmlns=\"http://standards.ieee.org/IEEE1516-2010\"");
        w.open("modelIdentification");
        w.leaf("name", name);
        w.leaf("type", "FOM");
        w.close("modelIdentification");
        if let Some(root) = self.object_classes().next() {
            w.open("objects");
            self.write_object_class(root, &mut w);
            w.close("objects");
        }
        if let Some(root) = self.interaction_classes().next() {
            w.open("interactions");
            self.write_interaction_class(root, &mut w);
            w.close("interactions");
        }
        for (part, table, tag) in [
            ("dimensions", "dimension", Some("dimension")),
            ("time", "time", None),
            ("tags", "tag", None),
            (
                "synchronizations",
                "synchronization point",
                Some("synchronizationPoint"),
            ),
            ("transportations", "transportation", Some("transportation")),
        ] {
            self.write_table(part, table, tag, &mut w);
        }
        if self.switches_set {
            w.open("switches");
            for (name, value) in self.switches.values() {
                let attribute = match name {
                    "automaticResignAction" => "resignAction",
                    _ => "isEnabled",
                };
                w.line(&format!("<{name} {attribute}=\"{value}\"/>"));
            }
            w.close("switches");
        }
        self.write_table("updateRates", "update rate", Some("updateRate"), &mut w);
        self.write_data_types(&mut w);
        w.close("objectModel");
        w.out
    }

    fn write_table(&self, part: &str, table: &str, tag: Option<&str>, w: &mut Writer) {
        let rows = self.tables.get(table).into_iter().flatten();
        let rows: Vec<_> = rows.filter(|(_, row)| added(row.origin)).collect();
        if rows.is_empty() {
            return;
        }
        w.open(part);
        for (name, row) in rows {
            let element = tag.unwrap_or(name);
            w.open(element);
            match table {
                "synchronization point" => w.leaf("label", name),
                "time" | "tag" => {}
                _ => w.leaf("name", name),
            }
            w.fields(&row.fields);
            w.close(element);
        }
        w.close(part);
    }

    fn write_data_types(&self, w: &mut Writer) {
        let rows = self.tables.get("data type").into_iter().flatten();
        let mut rows: Vec<_> = rows
            .filter(|(_, row)| added(row.origin))
            .map(|(name, row)| (row.field("kind").unwrap_or("simpleData"), name, row))
            .collect();
        rows.sort_by_key(|(kind, name, _)| (KINDS.iter().position(|k| k.0 == *kind), *kind, *name));
        if rows.is_empty() {
            return;
        }
        w.open("dataTypes");
        for same in rows.chunk_by(|a, b| a.0 == b.0) {
            let kind = same[0].0;
            let part = KINDS.iter().find(|k| k.0 == kind);
            let part = part.map_or_else(|| format!("{kind}Types"), |k| k.1.to_owned());
            w.open(&part);
            for (_, name, row) in same {
                w.open(kind);
                w.leaf("name", name);
                let said = row.fields.iter().filter(|(path, _)| path != "kind");
                w.fields(&said.cloned().collect());
                w.close(kind);
            }
            w.close(&part);
        }
        w.close("dataTypes");
    }

    fn write_object_class(&self, class: &ObjectClass, w: &mut Writer) {
        w.open("objectClass");
        w.leaf("name", last(&class.name));
        if added(class.origin) {
            w.fields(&class.fields);
        }
        let own = class.attributes.iter().filter_map(|a| self.attribute(*a));
        for a in own.filter(|a| a.class == class.handle && added(a.origin)) {
            w.open("attribute");
            w.leaf("name", &a.name);
            w.fields(&a.fields);
            w.dimensions(&self.names_of(&a.dimensions));
            w.close("attribute");
        }
        for child in &class.children {
            if let Some(child) = self.object_class(*child) {
                self.write_object_class(child, w);
            }
        }
        w.close("objectClass");
    }

    fn write_interaction_class(&self, class: &InteractionClass, w: &mut Writer) {
        w.open("interactionClass");
        w.leaf("name", last(&class.name));
        if added(class.origin) {
            w.fields(&class.fields);
            w.dimensions(&self.names_of(&class.dimensions));
        }
        let own = class.parameters.iter().filter_map(|p| self.parameter(*p));
        for p in own.filter(|p| p.class == class.handle && added(p.origin)) {
            w.open("parameter");
            w.leaf("name", &p.name);
            w.fields(&p.fields);
            w.close("parameter");
        }
        for child in &class.children {
            if let Some(child) = self.interaction_class(*child) {
                self.write_interaction_class(child, w);
            }
        }
        w.close("interactionClass");
    }
}

/// Element of a data type, and of the table that holds it.
const KINDS: [(&str, &str); 6] = [
    ("basicData", "basicDataRepresentations"),
    ("simpleData", "simpleDataTypes"),
    ("enumeratedData", "enumeratedDataTypes"),
    ("arrayData", "arrayDataTypes"),
    ("fixedRecordData", "fixedRecordDataTypes"),
    ("variantRecordData", "variantRecordDataTypes"),
];

/// Not from the MIM.
fn added(origin: Origin) -> bool {
    origin.0 > 0
}

fn last(qualified: &str) -> &str {
    qualified.rsplit('.').next().unwrap_or(qualified)
}

#[derive(Default)]
struct Writer {
    out: String,
    depth: usize,
}

impl Writer {
    fn line(&mut self, text: &str) {
        self.out += &"  ".repeat(self.depth);
        self.out += text;
        self.out.push('\n');
    }

    fn open(&mut self, element: &str) {
        self.line(&format!("<{element}>"));
        self.depth += 1;
    }

    fn close(&mut self, element: &str) {
        self.depth -= 1;
        self.line(&format!("</{element}>"));
    }

    fn leaf(&mut self, element: &str, value: &str) {
        let value = value.replace('&', "&amp;").replace('<', "&lt;");
        let value = value.replace('>', "&gt;");
        self.line(&format!("<{element}>{value}</{element}>"));
    }

    fn dimensions(&mut self, names: &[String]) {
        if !names.is_empty() {
            self.open("dimensions");
            for name in names {
                self.leaf("dimension", name);
            }
            self.close("dimensions");
        }
    }

    /// Paths as `field 2.dataType` back to elements: what shares a first step is one element.
    fn fields(&mut self, fields: &Fields) {
        for same in fields.chunk_by(|a, b| a.0.contains('.') && step(&a.0).0 == step(&b.0).0) {
            let element = step(&same[0].0).0;
            match same[0].0.contains('.') {
                false => self.leaf(element, &same[0].1),
                true => {
                    let element = element.split(' ').next().unwrap_or(element);
                    let inner = same.iter().map(|(p, v)| (step(p).1.to_owned(), v.clone()));
                    self.open(element);
                    self.fields(&inner.collect());
                    self.close(element);
                }
            }
        }
    }
}

fn step(path: &str) -> (&str, &str) {
    path.split_once('.').unwrap_or((path, ""))
}
