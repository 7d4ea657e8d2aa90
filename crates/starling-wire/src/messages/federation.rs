//! Federation management.

use crate::codec::{Reader, Wire, WireError, bad, put_number};
use starling_core::SynchronizationPointFailure;
use starling_core::message::ResignAction;
use starling_core::message::federation::{Entry, FederateInformation, ModuleSource, Request};

impl Wire for ModuleSource {
    fn put(&self, out: &mut Vec<u8>) {
        put_module_head(self, out);
        out.extend_from_slice(&self.text);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let designator = String::get(from)?;
        let text = from.bytes()?.into();
        Ok(ModuleSource { designator, text })
    }
}

/// What stands before a module's text.
pub(crate) fn put_module_head(module: &ModuleSource, out: &mut Vec<u8>) {
    module.designator.put(out);
    put_number(out, module.text.len() as u64);
}

impl Wire for ResignAction {
    fn put(&self, out: &mut Vec<u8>) {
        out.push(*self as u8);
    }
    fn get(from: &mut Reader<'_>) -> Result<Self, WireError> {
        let n = from.byte()?;
        ResignAction::from_number(n.into())
            .map_or_else(|| bad(format!("{n} is no resign action")), Ok)
    }
}

fields! {
    FederateInformation { handle, name, kind }
}

variants! {
    SynchronizationPointFailure "failure of a synchronization point" {
        0 LabelNotUnique, 1 SetMemberNotJoined,
    }
}

starling_core::federation_messages!(variants);
