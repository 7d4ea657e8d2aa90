//! Object management, chapter 6.

use super::{LogIndex, Stamp};
use crate::{
    AttributeHandle, FederateHandle, InstanceSwitches, InteractionClassHandle, ObjectClassHandle,
    ObjectInstanceHandle, Transportation,
};

messages! {
    ($) object_messages

    /// What a joined federate asks for.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Request "request of object management" {
        /// Reserve (Multiple) Object Instance Name(s), §6.2, §6.5: all or none.
        1 ReserveNames {
            /// The names.
            names: Vec<String>,
            /// Whether the multiple form was called.
            multiple: bool,
        },
        /// Release (Multiple) Object Instance Name(s), §6.4, §6.7.
        2 ReleaseNames {
            /// The names.
            names: Vec<String>,
        },
        /// Register Object Instance, §6.8.
        3 RegisterObject {
            /// From the federate's own block.
            instance: ObjectInstanceHandle,
            /// The registered class.
            class: ObjectClassHandle,
            /// A reserved name, or none: the RTI makes one.
            name: Option<String>,
        },
        /// Delete Object Instance, §6.14.
        4 DeleteObject {
            /// The instance to delete; the sender owns its privilege to delete.
            instance: ObjectInstanceHandle,
            /// User-supplied tag.
            tag: Vec<u8>,
            /// Its time, if it was given one.
            stamp: Option<Stamp>,
        },
        /// Local Delete Object Instance, §6.16.
        5 LocalDeleteObject {
            /// The instance that the sender forgets.
            instance: ObjectInstanceHandle,
        },
        /// Request Attribute Value Update of an instance, §6.19.
        6 RequestInstanceUpdate {
            /// The instance whose values are wanted.
            instance: ObjectInstanceHandle,
            /// The attributes whose values are wanted.
            attributes: Vec<AttributeHandle>,
            /// User-supplied tag.
            tag: Vec<u8>,
        },
        /// Request Attribute Value Update of a class, §6.19.
        7 RequestClassUpdate {
            /// The object class; instances of its subclasses count, too.
            class: ObjectClassHandle,
            /// The attributes whose values are wanted.
            attributes: Vec<AttributeHandle>,
            /// User-supplied tag.
            tag: Vec<u8>,
        },
        /// Request Attribute Transportation Type Change, §6.23.
        8 ChangeAttributeTransportation {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attributes whose transportation type changes; the sender owns them.
            attributes: Vec<AttributeHandle>,
            /// The new transportation type.
            transportation: Transportation,
        },
        /// Query Attribute Transportation Type, §6.25.
        9 QueryAttributeTransportation {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attribute.
            attribute: AttributeHandle,
        },
        /// Request Interaction Transportation Type Change, §6.27.
        10 ChangeInteractionTransportation {
            /// The interaction class.
            class: InteractionClassHandle,
            /// The new transportation type.
            transportation: Transportation,
        },
        /// Query Interaction Transportation Type, §6.29.
        11 QueryInteractionTransportation {
            /// As this one sends it.
            federate: FederateHandle,
            /// The interaction class.
            class: InteractionClassHandle,
        },
        /// Enable and Disable Attribute Scope and Attribute Relevance Advisory Switch, §10.35 to §10.38.
        12 SetInstanceSwitches(switches: InstanceSwitches),
        /// Data on a link of its own has come for an instance that the sender has deleted locally, §6.16.
        13 DiscoverAgain {
            /// The instance, which it discovers if it can.
            instance: ObjectInstanceHandle,
        },
        /// The answer to [`Entry::NotDeleted`], §8.21.
        14 AnswerNotDeleted {
            /// The instance.
            instance: ObjectInstanceHandle,
            /// As the entry has it.
            asked: LogIndex,
            /// Whether the sender knows it still; if not, it discovers it if it can.
            known: bool,
        },
    }

    /// What the log says.
    #[derive(Clone, Debug, PartialEq)]
    pub enum Entry "entry of object management" {
        /// Names reserved, or not. Audience: who asked.
        1 NamesReserved {
            /// All that were asked for.
            names: Vec<String>,
            /// Whether the multiple form was called.
            multiple: bool,
            /// Whether they are reserved now.
            succeeded: bool,
        },
        /// Instances that the receiver discovers. Audience: as the executive computed.
        2 Discover(list: Vec<Discovery>),
        /// An instance was deleted. Audience: those who know it.
        3 Remove {
            /// The instance that was deleted.
            instance: ObjectInstanceHandle,
            /// Who deleted it.
            producer: FederateHandle,
            /// User-supplied tag.
            tag: Vec<u8>,
            /// Its time, if it was given one.
            stamp: Option<Stamp>,
        },
        /// Somebody wants values of attributes that the receiver owns.
        4 ProvideUpdate {
            /// Of each instance, the attributes whose values are wanted.
            wanted: Vec<(ObjectInstanceHandle, Vec<AttributeHandle>)>,
            /// User-supplied tag.
            tag: Vec<u8>,
        },
        /// Attributes have come into scope, or left it (§6.17, §6.18). Audience: whose scope it is.
        5 AttributesScope {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// In scope now.
            entered: Vec<AttributeHandle>,
            /// Out of scope now.
            left: Vec<AttributeHandle>,
        },
        /// Attributes are wanted, or no longer (§6.21, §6.22). Audience: their owner.
        6 AttributesRelevance {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// Wanted now, by update rate designator (empty for none).
            on: Vec<(String, Vec<AttributeHandle>)>,
            /// Wanted by nobody now.
            off: Vec<AttributeHandle>,
        },
        /// The sender's attributes travel so from now on. Audience: who asked.
        7 AttributeTransportationChanged {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attributes whose transportation type has changed.
            attributes: Vec<AttributeHandle>,
            /// Their transportation type from now on.
            transportation: Transportation,
        },
        /// How an attribute travels. Audience: who asked.
        8 AttributeTransportation {
            /// The object instance.
            instance: ObjectInstanceHandle,
            /// The attribute.
            attribute: AttributeHandle,
            /// Its transportation type.
            transportation: Transportation,
        },
        /// The sender's interactions travel so from now on. Audience: who asked.
        9 InteractionTransportationChanged {
            /// The interaction class.
            class: InteractionClassHandle,
            /// Its transportation type from now on.
            transportation: Transportation,
        },
        /// How a federate's interactions travel. Audience: who asked.
        10 InteractionTransportation {
            /// The federate that sends it.
            federate: FederateHandle,
            /// The interaction class.
            class: InteractionClassHandle,
            /// Its transportation type, as that federate sends it.
            transportation: Transportation,
        },
        /// A deletion was retracted (§8.21). Audience: those who were told of it, and do not discover the instance
        /// at the class at which they knew it.
        11 NotDeleted {
            /// The instance, which the receiver knows as before, unless its removal was delivered.
            instance: ObjectInstanceHandle,
            /// What tells this one from later ones.
            asked: LogIndex,
        },
    }
}

/// An instance as its discoverer comes to know it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Discovery {
    /// The instance discovered.
    pub instance: ObjectInstanceHandle,
    /// As which class it was registered (slots in updates count in this class).
    pub registered_class: ObjectClassHandle,
    /// The receiver's known class.
    pub known_class: ObjectClassHandle,
    /// Its name; empty for the default name, see [`default_instance_name`].
    pub name: String,
}

/// The name of an instance that was registered without one. Users can't reserve names that
/// begin with HLA (§6.2), so it is unique.
pub fn default_instance_name(instance: ObjectInstanceHandle) -> String {
    // Whoever subscribes last is told of all instances at once, by name.
    let mut name = String::with_capacity(DEFAULT_NAME.len() + 21);
    name.push_str(DEFAULT_NAME);
    push_decimal(&mut name, instance.block());
    name.push('-');
    push_decimal(&mut name, instance.number());
    name
}

/// The instance whose default name this is, whether there is one or not; None for any other name.
pub(crate) fn instance_of_default_name(name: &str) -> Option<ObjectInstanceHandle> {
    let (block, number) = name.strip_prefix(DEFAULT_NAME)?.split_once('-')?;
    let instance =
        ObjectInstanceHandle::new(FederateHandle(block.parse().ok()?), number.parse().ok()?);
    // Numbers may be written otherwise, too.
    (default_instance_name(instance) == name).then_some(instance)
}

const DEFAULT_NAME: &str = "HLAinstance-";

fn push_decimal(to: &mut String, number: u32) {
    if number > 9 {
        push_decimal(to, number / 10);
    }
    to.push(char::from(b'0' + (number % 10) as u8));
}
