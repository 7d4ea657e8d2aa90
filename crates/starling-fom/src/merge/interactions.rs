//! Interaction classes and parameters of a module.

use crate::handles::*;
use crate::model::*;
use crate::module::{ClassDef, Fields, MemberDef};
use crate::{Code, FomError};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::compare::*;
use super::*;

impl ObjectModel {
    pub(super) fn merge_interaction_class(
        &mut self,
        new: &ClassDef,
        parent: Option<InteractionClassHandle>,
        of_2000: bool,
        problems: &mut Problems,
    ) {
        if problems.is_full() {
            return;
        }
        let known = match parent.and_then(|p| self.interaction_class(p)) {
            Some(parent) => parent.child_names.get(&new.name).copied(),
            None => self.interaction_classes.first().map(|root| root.handle),
        };
        let known = match known {
            Some(handle) => Ok(handle),
            None => self.add_interaction_class(new, parent),
        };
        let handle = match known {
            Ok(handle) => handle,
            Err(problem) => return problems.add(problem),
        };
        if let Err(problem) = self.fill_interaction_class(handle, new, of_2000, problems) {
            problems.add(problem);
        }
        for child in &new.children {
            self.merge_interaction_class(child, Some(handle), of_2000, problems);
        }
    }

    fn fill_interaction_class(
        &mut self,
        handle: InteractionClassHandle,
        new: &ClassDef,
        of_2000: bool,
        problems: &mut Problems,
    ) -> Result<(), FomError> {
        let index = handle.index().expect("handles of the model have an index");
        let class = &self.interaction_classes[index];
        if of_2000 && self.is_interaction_of_mim(handle) {
            return Ok(());
        }
        let (name, old_origin) = (class.name.clone(), class.origin);
        self.same_sharing("class", &name, &class.fields, new, old_origin, problems);
        self.same_travel(&name, &class.fields, new, old_origin)?;
        let what = format!("interaction class '{name}'");
        self.order(&what, &new.fields, &new.lines)?;
        if let Some(is) = &new.dimensions {
            let was = self.names_of(&class.dimensions);
            if !class.dimensions_given {
                let dimensions = self.dimension_handles(&what, Some(is), &new.lines);
                let class = Arc::make_mut(&mut self.interaction_classes[index]);
                (class.dimensions, class.dimensions_given) = (dimensions, true);
            } else if *is != was && !new.members.is_empty() {
                let what = format!("{what}: dimensions {} vs {}", list(&was), list(is));
                let (at, first) = (self.place(self.origin(new.line)), self.place(old_origin));
                return Err(FomError::conflict(Code::Conflict, what, at, first));
            }
        }
        self.note_transportation(&new.fields, &new.lines, new.line);
        // What former scaffolding left open holds as said now.
        let origin = self.origin(new.line);
        let class = &mut self.interaction_classes[index];
        if lacks(&class.fields, &new.fields) {
            let class = Arc::make_mut(class);
            adopt(&mut class.fields, &new.fields);
            class.origin = origin;
        }
        let class = &self.interaction_classes[index];
        let order = self.order(&what, &class.fields, &new.lines)?;
        if class.order != order {
            Arc::make_mut(&mut self.interaction_classes[index]).order = order;
        }
        let class = &self.interaction_classes[index];
        if class.own.is_empty() {
            // Only what is new goes down: scaffolding may be repeated as often as it likes.
            let is_new = |m: &MemberDef| self.parameter_by_name(handle, &m.name).is_none();
            let below = if new.members.iter().any(is_new) {
                self.interaction_classes_below(handle)
            } else {
                Vec::new()
            };
            let wanted: BTreeSet<&str> = new.members.iter().map(|m| m.name.as_str()).collect();
            let hidden: BTreeMap<String, ParameterHandle> = below
                .iter()
                .skip(1)
                .filter_map(|c| self.interaction_class(*c))
                .flat_map(|c| &c.own)
                .filter(|(name, _)| wanted.contains(name.as_str()))
                .map(|(name, handle)| (name.clone(), *handle))
                .collect();
            for member in &new.members {
                let known = self.parameter_by_name(handle, &member.name);
                let known = known.and_then(|p| self.known_parameter(p, handle));
                if let Some(known) = known {
                    self.again(&name, "parameter", &known, member, problems)?;
                    continue;
                }
                let twin = hidden.get(&member.name).and_then(|p| self.parameter(*p));
                if let Some(a) = twin {
                    let below = self.interaction_class(a.class).map_or("", |c| &c.name);
                    return Err(self.hidden(&name, "parameter", member, below, a.origin));
                }
                self.add_parameter(handle, &below, member)?;
            }
        } else if !new.members.is_empty() {
            let find = |name: &str| {
                let known = self.parameter_by_name(handle, name)?;
                self.known_parameter(known, handle)
            };
            let own: Vec<&str> = class.own.keys().map(String::as_str).collect();
            self.same_members("parameter", &name, &find, &own, new, old_origin, problems)?;
        }
        Ok(())
    }

    fn known_parameter(
        &self,
        parameter: ParameterHandle,
        at: InteractionClassHandle,
    ) -> Option<Known<'_>> {
        let a = self.parameter(parameter)?;
        Some(Known {
            fields: &a.fields,
            dimensions: Vec::new(),
            origin: a.origin,
            inherited: a.class != at,
        })
    }

    /// A class and all below it.
    fn interaction_classes_below(
        &self,
        class: InteractionClassHandle,
    ) -> Vec<InteractionClassHandle> {
        let mut all = vec![class];
        let mut next = 0;
        while let Some(class) = all.get(next).and_then(|c| self.interaction_class(*c)) {
            all.extend(&class.children);
            next += 1;
        }
        all
    }

    fn add_interaction_class(
        &mut self,
        new: &ClassDef,
        parent: Option<InteractionClassHandle>,
    ) -> Result<InteractionClassHandle, FomError> {
        let handle = InteractionClassHandle::of_index(self.interaction_classes.len());
        let above = parent.and_then(|p| self.interaction_class(p));
        let name = qualified(above.map(|p| p.name.as_str()), &new.name);
        let parameters = above.map(|p| p.parameters.clone()).unwrap_or_default();
        self.require_room(parameters.len(), name.len(), new.line)?;
        self.interaction_classes.push(Arc::new(InteractionClass {
            handle,
            name,
            parent,
            children: Vec::new(),
            parameters,
            transportation: Transportation::Reliable,
            order: Order::Receive,
            dimensions: Vec::new(),
            dimensions_given: false,
            child_names: BTreeMap::new(),
            own: BTreeMap::new(),
            fields: Fields::new(),
            origin: self.origin(new.line),
        }));
        if let Some(p) = parent.and_then(InteractionClassHandle::index) {
            let parent = Arc::make_mut(&mut self.interaction_classes[p]);
            parent.children.push(handle);
            parent.child_names.insert(new.name.clone(), handle);
        }
        Ok(handle)
    }

    /// `below` is the class with all below it: subclasses that came before this definition get it
    /// at the end.
    fn add_parameter(
        &mut self,
        class: InteractionClassHandle,
        below: &[InteractionClassHandle],
        new: &MemberDef,
    ) -> Result<(), FomError> {
        self.require_room(below.len(), 0, new.line)?;
        let handle = ParameterHandle::of_index(self.parameters.len());
        self.parameters.push(Arc::new(Parameter {
            handle,
            name: new.name.clone(),
            class,
            fields: new.fields.clone(),
            origin: self.origin(new.line),
        }));
        for c in below.iter().filter_map(|c| c.index()) {
            Arc::make_mut(&mut self.interaction_classes[c])
                .parameters
                .push(handle);
        }
        if let Some(c) = class.index() {
            let own = &mut Arc::make_mut(&mut self.interaction_classes[c]).own;
            own.insert(new.name.clone(), handle);
        }
        Ok(())
    }
}
