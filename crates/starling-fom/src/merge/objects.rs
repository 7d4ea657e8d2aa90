//! Object classes and attributes of a module.

use crate::FomError;
use crate::handles::*;
use crate::model::*;
use crate::module::{ClassDef, MemberDef};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::compare::*;
use super::*;

impl ObjectModel {
    pub(super) fn merge_object_class(
        &mut self,
        new: &ClassDef,
        parent: Option<ObjectClassHandle>,
        of_2000: bool,
        problems: &mut Problems,
    ) {
        if problems.is_full() {
            return;
        }
        let known = match parent.and_then(|p| self.object_class(p)) {
            Some(parent) => parent.child_names.get(&new.name).copied(),
            None => self.object_classes.first().map(|root| root.handle),
        };
        let known = match known {
            Some(handle) => Ok(handle),
            None => self.add_object_class(new, parent),
        };
        let handle = match known {
            Ok(handle) => handle,
            Err(problem) => return problems.add(problem),
        };
        if let Err(problem) = self.fill_object_class(handle, new, of_2000, problems) {
            problems.add(problem);
        }
        for child in &new.children {
            self.merge_object_class(child, Some(handle), of_2000, problems);
        }
    }

    fn fill_object_class(
        &mut self,
        handle: ObjectClassHandle,
        new: &ClassDef,
        of_2000: bool,
        problems: &mut Problems,
    ) -> Result<(), FomError> {
        let index = handle.index().expect("handles of the model have an index");
        let class = &self.object_classes[index];
        if of_2000 && self.is_class_of_mim(handle) {
            return Ok(());
        }
        let (name, old_origin) = (class.name.clone(), class.origin);
        self.same_sharing("class", &name, &class.fields, new, old_origin, problems);
        if class.own.is_empty() {
            // Only what is new goes down: scaffolding may be repeated as often as it likes.
            let is_new = |m: &MemberDef| self.attribute_by_name(handle, &m.name).is_none();
            let below = if new.members.iter().any(is_new) {
                self.object_classes_below(handle)
            } else {
                Vec::new()
            };
            let wanted: BTreeSet<&str> = new.members.iter().map(|m| m.name.as_str()).collect();
            let hidden: BTreeMap<String, AttributeHandle> = below
                .iter()
                .skip(1)
                .filter_map(|c| self.object_class(*c))
                .flat_map(|c| &c.own)
                .filter(|(name, _)| wanted.contains(name.as_str()))
                .map(|(name, handle)| (name.clone(), *handle))
                .collect();
            for member in &new.members {
                let known = self.attribute_by_name(handle, &member.name);
                let known = known.and_then(|a| self.known_attribute(a, handle));
                if let Some(known) = known {
                    self.again(&name, "attribute", &known, member, problems)?;
                    continue;
                }
                let twin = hidden.get(&member.name).and_then(|a| self.attribute(*a));
                if let Some(a) = twin {
                    let below = self.object_class(a.class).map_or("", |c| &c.name);
                    return Err(self.hidden(&name, "attribute", member, below, a.origin));
                }
                self.add_attribute(handle, &name, &below, member)?;
            }
        } else if !new.members.is_empty() {
            let find = |name: &str| {
                let known = self.attribute_by_name(handle, name)?;
                self.known_attribute(known, handle)
            };
            let own: Vec<&str> = class.own.keys().map(String::as_str).collect();
            self.same_members("attribute", &name, &find, &own, new, old_origin, problems)?;
        }
        let origin = self.origin(new.line);
        let class = &mut self.object_classes[index];
        if lacks(&class.fields, &new.fields) {
            let class = Arc::make_mut(class);
            adopt(&mut class.fields, &new.fields);
            class.origin = origin;
        }
        Ok(())
    }

    fn known_attribute(
        &self,
        attribute: AttributeHandle,
        at: ObjectClassHandle,
    ) -> Option<Known<'_>> {
        let a = self.attribute(attribute)?;
        Some(Known {
            fields: &a.fields,
            dimensions: self.names_of(&a.dimensions),
            origin: a.origin,
            inherited: a.class != at,
        })
    }

    /// A class and all below it.
    fn object_classes_below(&self, class: ObjectClassHandle) -> Vec<ObjectClassHandle> {
        let mut all = vec![class];
        let mut next = 0;
        while let Some(class) = all.get(next).and_then(|c| self.object_class(*c)) {
            all.extend(&class.children);
            next += 1;
        }
        all
    }

    fn add_object_class(
        &mut self,
        new: &ClassDef,
        parent: Option<ObjectClassHandle>,
    ) -> Result<ObjectClassHandle, FomError> {
        let handle = ObjectClassHandle::of_index(self.object_classes.len());
        let above = parent.and_then(|p| self.object_class(p));
        let name = qualified(above.map(|p| p.name.as_str()), &new.name);
        let attributes = above.map(|p| p.attributes.clone()).unwrap_or_default();
        self.require_room(attributes.len(), name.len(), new.line)?;
        self.object_classes.push(Arc::new(ObjectClass {
            handle,
            name,
            parent,
            children: Vec::new(),
            attributes,
            child_names: BTreeMap::new(),
            own: BTreeMap::new(),
            fields: new.fields.clone(),
            origin: self.origin(new.line),
        }));
        if let Some(p) = parent.and_then(ObjectClassHandle::index) {
            let parent = Arc::make_mut(&mut self.object_classes[p]);
            parent.children.push(handle);
            parent.child_names.insert(new.name.clone(), handle);
        }
        Ok(handle)
    }

    /// `below` is the class with all below it: subclasses that came before this definition get it
    /// at the end.
    fn add_attribute(
        &mut self,
        class: ObjectClassHandle,
        class_name: &str,
        below: &[ObjectClassHandle],
        new: &MemberDef,
    ) -> Result<(), FomError> {
        let what = format!("class '{class_name}', attribute '{}'", new.name);
        let order = self.order(&what, &new.fields, &new.lines)?;
        self.note_transportation(&new.fields, &new.lines, new.line);
        self.require_room(below.len(), 0, new.line)?;
        let dimensions = self.dimension_handles(&what, new.dimensions.as_deref(), &new.lines);
        let handle = AttributeHandle::of_index(self.attributes.len());
        self.attributes.push(Arc::new(Attribute {
            handle,
            name: new.name.clone(),
            class,
            transportation: Transportation::Reliable,
            order,
            dimensions,
            fields: new.fields.clone(),
            origin: self.origin(new.line),
        }));
        for c in below.iter().filter_map(|c| c.index()) {
            Arc::make_mut(&mut self.object_classes[c])
                .attributes
                .push(handle);
        }
        if let Some(c) = class.index() {
            let own = &mut Arc::make_mut(&mut self.object_classes[c]).own;
            own.insert(new.name.clone(), handle);
        }
        Ok(())
    }
}
