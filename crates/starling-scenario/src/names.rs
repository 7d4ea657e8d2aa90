//! Handles as a scenario shows them: `name@code`.

use crate::value::Value;
use starling_core::message::ResignAction;
use starling_core::{
    AttributeHandle, DimensionHandle, Federate, FederateHandle, InteractionClassHandle,
    MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle, Order, ParameterHandle,
    RegionHandle, RestoreFailure, RestoreStatus, SaveFailure, SaveStatus, Transportation,
};

/// Names of one federate, and the class of the attributes or parameters at hand.
pub(crate) struct Names<'a> {
    pub(crate) federate: Option<&'a Federate>,
    pub(crate) object_class: Option<ObjectClassHandle>,
    pub(crate) interaction_class: Option<InteractionClassHandle>,
}

fn handle(name: &str, code: String) -> Value {
    let roots = ["HLAobjectRoot.", "HLAinteractionRoot."];
    let short = roots.iter().find_map(|root| name.strip_prefix(root));
    Value::Word(format!("{}@{code}", short.unwrap_or(name)))
}

impl Names<'_> {
    pub(crate) fn federate(&self, handle: FederateHandle) -> Value {
        Value::Word(format!("@{:08x}", handle.0))
    }

    pub(crate) fn instance(&self, instance: ObjectInstanceHandle) -> Value {
        Value::Word(format!("@{:016x}", instance.0))
    }

    pub(crate) fn region(&self, region: RegionHandle) -> Value {
        Value::Word(format!("@{:016x}", region.0))
    }

    pub(crate) fn retraction(&self, message: MessageRetractionHandle) -> Value {
        match message.0 {
            0 => Value::word("invalid"),
            number => Value::Word(format!("@{number:016x}")),
        }
    }

    pub(crate) fn federates(&self, federates: &[FederateHandle]) -> Value {
        Value::Set(federates.iter().map(|f| self.federate(*f)).collect())
    }

    pub(crate) fn object_class(&self, class: ObjectClassHandle) -> Value {
        let name = self.federate.and_then(|f| f.object_class_name(class).ok());
        handle(name.unwrap_or_default(), format!("{:08x}", class.raw()))
    }

    pub(crate) fn interaction_class(&self, class: InteractionClassHandle) -> Value {
        let federate = self.federate;
        let name = federate.and_then(|f| f.interaction_class_name(class).ok());
        handle(name.unwrap_or_default(), format!("{:08x}", class.raw()))
    }

    pub(crate) fn attribute(&self, attribute: AttributeHandle) -> Value {
        let name = self.object_class.zip(self.federate);
        let name = name.and_then(|(c, f)| f.attribute_name(c, attribute).ok());
        handle(name.unwrap_or_default(), format!("{:08x}", attribute.raw()))
    }

    pub(crate) fn parameter(&self, parameter: ParameterHandle) -> Value {
        let name = self.interaction_class.zip(self.federate);
        let name = name.and_then(|(c, f)| f.parameter_name(c, parameter).ok());
        handle(name.unwrap_or_default(), format!("{:08x}", parameter.raw()))
    }

    pub(crate) fn dimension(&self, dimension: DimensionHandle) -> Value {
        let name = self.federate.and_then(|f| f.dimension_name(dimension).ok());
        handle(name.unwrap_or_default(), format!("{:08x}", dimension.raw()))
    }

    pub(crate) fn attributes(&self, attributes: &[AttributeHandle]) -> Value {
        Value::Set(attributes.iter().map(|a| self.attribute(*a)).collect())
    }

    pub(crate) fn dimensions(&self, dimensions: &[DimensionHandle]) -> Value {
        Value::Set(dimensions.iter().map(|d| self.dimension(*d)).collect())
    }
}

/// Printable bytes as a text, others as `0x…`.
pub(crate) fn bytes(bytes: &[u8]) -> Value {
    if bytes.iter().all(|b| matches!(b, 0x20..=0x7e)) {
        return Value::Text(bytes.iter().map(|b| char::from(*b)).collect());
    }
    let digits: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
    Value::Word(format!("0x{digits}"))
}

pub(crate) fn transportation(transportation: Transportation) -> Value {
    Value::word(match transportation {
        Transportation::Reliable => "RELIABLE",
        Transportation::BestEffort => "BEST_EFFORT",
    })
}

pub(crate) fn order(order: Order) -> Value {
    Value::word(match order {
        Order::Receive => "RECEIVE",
        Order::TimeStamp => "TIMESTAMP",
    })
}

/// By the API's name.
pub(crate) fn resign_action(action: ResignAction) -> Value {
    Value::word(action.name())
}

pub(crate) fn save_failure(failure: SaveFailure) -> Value {
    Value::word(failure.name())
}

pub(crate) fn save_status(status: SaveStatus) -> Value {
    Value::word(status.name())
}

pub(crate) fn restore_failure(failure: RestoreFailure) -> Value {
    Value::word(failure.name())
}

pub(crate) fn restore_status(status: RestoreStatus) -> Value {
    Value::word(status.name())
}
