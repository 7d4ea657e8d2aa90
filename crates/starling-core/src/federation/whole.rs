//! Whether the parts of a save fit together.
//!
//! A file whose checksum is right may have been made by anybody, and a part of what is to be written by any federate.
//! All of it is restored for trial when it is read, and before it is written: what would go wrong later is found before
//! any federate is told, and before a former save is gone.

use super::modules;
use super::numbers;
use super::save::SavedFederation;
use crate::execution::Execution;
use crate::log::federate::DataPath;
use crate::message::ModuleSource;
use crate::saved;
use crate::time::saved::require_same_time;
use crate::{Federate, FederateHandle, ProtocolError};
use starling_fom::ObjectModel;
use std::collections::BTreeMap;
use std::sync::Arc;

impl SavedFederation {
    /// All parts of a save, restored for trial: what does not fit together is found before it takes the place of
    /// another, whoever has made it. This takes as long as its FOM modules and its parts are large.
    ///
    /// # Errors
    /// Why it can't be restored.
    pub fn require_whole(&self) -> Result<(), String> {
        let modules = &self.execution.federation.modules;
        self.require_whole_of(&self.federation, merged(modules)?)
    }

    /// The same, of this federation execution, with the object model that the save's modules make.
    pub(super) fn require_whole_of(
        &self,
        federation: &str,
        model: Arc<ObjectModel>,
    ) -> Result<(), String> {
        let of = &self.execution;
        let is_member = |f: &FederateHandle| of.federation.members.contains_key(f);
        let members = of.federation.members.keys();
        if !self.federates.iter().map(|(f, _)| f).eq(members.clone()) {
            return Err("the parts in it are not those of its federates, one of each".into());
        }
        if !of.time.federates.keys().eq(members.clone())
            || !of.mom.federates.keys().eq(members.clone())
            || !of.log.streams.keys().eq(members)
        {
            return Err("its rooms do not agree on who is joined".into());
        }
        numbers::require_room(self)?;
        for (handle, instance) in &of.object.instances {
            let owners = instance.owners.iter().flatten();
            let mut owners = owners.filter_map(|owner| owner.federate());
            if !owners.all(|f| is_member(&f)) || !instance.known.keys().all(is_member) {
                return Err(format!(
                    "{handle} is owned by, or known to, a federate that is not in it"
                ));
            }
        }
        // What waits for one who is not there would wait for ever.
        let points = of.federation.synchronization_points.values();
        let deletions = of.time.deletions.values().flat_map(|d| &d.waiting);
        let mut awaited = points.flat_map(|p| &p.waiting).chain(deletions);
        if !awaited.all(is_member) {
            return Err("something in it waits for a federate that is not in it".into());
        }
        if !of
            .time
            .retractable
            .keys()
            .all(|(sender, ..)| is_member(sender))
        {
            return Err("a message in it may be retracted by a federate that is not in it".into());
        }
        let modules = of.federation.modules.clone();
        let (name, of_type) = (federation.to_owned(), of.time.time_type);
        let mut trial = Execution::new(name, of_type, modules, Arc::clone(&model));
        let restored = trial.restore(of.clone(), BTreeMap::new());
        restored.map_err(|why| format!("the state of the federation execution in it: {why}"))?;
        let mut federate = None;
        for (handle, part) in &self.federates {
            let name = of.federation.members.get(handle).map_or("", |m| &m.name);
            let fits = self.require_same(federation, (*handle, name), part);
            let fits = fits.and_then(|()| {
                numbers::require_room_in_part(*handle, part, of).map_err(ProtocolError)?;
                let federate = match &mut federate {
                    Some(federate) => federate,
                    none => {
                        let snapshot = trial.snapshot(*handle, name.to_owned());
                        let model = ObjectModel::clone(&model);
                        none.insert(Federate::of(snapshot, DataPath::Executive, model)?)
                    }
                };
                federate.restore(part.clone())
            });
            fits.map_err(|why| format!("the part of {handle} in it: {why}"))?;
        }
        Ok(())
    }

    /// An error if a part says otherwise than the save.
    fn require_same(
        &self,
        federation: &str,
        (handle, name): (FederateHandle, &str),
        part: &saved::Federate,
    ) -> Result<(), ProtocolError> {
        let is = &part.federation;
        let why = if (is.handle, is.name.as_str()) != (handle, name) {
            format!("it is that of {}, '{}'", is.handle, is.name)
        } else if is.federation != federation {
            format!("it is of the federation execution '{}'", is.federation)
        } else if part.time.time_type != self.execution.time.time_type {
            format!("its logical time is {}", part.time.time_type.name())
        } else if is.resigned || part.delivery.ended {
            // It would be told nothing, not even that it is restored.
            "it has resigned".into()
        } else if part.log.applied > self.execution.log.index {
            "it knows more of the log than there is".into()
        } else {
            let of = &self.execution.time;
            return require_same_time(of, handle, part).map_err(ProtocolError);
        };
        Err(ProtocolError(why))
    }
}

/// The object model of the modules of a save.
pub(super) fn merged(modules: &[ModuleSource]) -> Result<Arc<ObjectModel>, String> {
    let merged = modules::rebuild(modules);
    let merged = merged.map_err(|e| format!("its object model can't be merged any more: {e}"));
    merged.map(Arc::new)
}
