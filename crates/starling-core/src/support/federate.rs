//! Support services at the federate. None needs the executive.

use crate::exception::throw;
use crate::{
    AttributeHandle, DimensionHandle, Exception, Federate, FederateHandle, InteractionClassHandle,
    MessageRetractionHandle, ObjectClassHandle, ObjectInstanceHandle, Order, ParameterHandle,
    RegionHandle, ServiceGroup, Transportation,
};
use starling_fom::{InteractionClass, ObjectClass, nearest};

impl Federate {
    /// Get Federate Handle, 1516.1-2010 §10.4.
    pub fn federate_handle(&self, name: &str) -> Result<FederateHandle, Exception> {
        match self.federation.members().values().find(|m| m.name == name) {
            Some(member) => Ok(member.handle),
            None => throw!(
                NameNotFound,
                "no federate named '{name}' has joined '{}'{}",
                self.federation.federation(),
                nearest(
                    name,
                    self.federation.members().values().map(|m| m.name.as_str())
                )
            ),
        }
    }

    /// Get Federate Name, §10.5.
    pub fn federate_name(&self, handle: FederateHandle) -> Result<&str, Exception> {
        require_valid(handle)?;
        match self.federation.members().get(&handle) {
            Some(member) => Ok(&member.name),
            None => throw!(
                FederateHandleNotKnown,
                "{handle} is not joined to '{}'",
                self.federation.federation()
            ),
        }
    }

    /// Get Object Class Handle, §10.6. With or without `HLAobjectRoot.`.
    pub fn object_class_handle(&self, name: &str) -> Result<ObjectClassHandle, Exception> {
        match self.model.object_class_by_name(name) {
            Some(class) => Ok(class.handle),
            None => throw!(
                NameNotFound,
                "the FDD has no object class '{name}'{}",
                self.model.nearest_object_class(name)
            ),
        }
    }

    /// Get Object Class Name, §10.7.
    pub fn object_class_name(&self, handle: ObjectClassHandle) -> Result<&str, Exception> {
        Ok(&self.valid_object_class(handle)?.name)
    }

    /// Get Known Object Class Handle, §10.8.
    pub fn known_object_class_handle(
        &self,
        instance: ObjectInstanceHandle,
    ) -> Result<ObjectClassHandle, Exception> {
        Ok(self.known(instance)?.known_class())
    }

    /// Get Object Instance Handle, §10.9.
    pub fn object_instance_handle(&self, name: &str) -> Result<ObjectInstanceHandle, Exception> {
        match self.objects.named(name) {
            Some(handle) => Ok(handle),
            None => throw!(
                ObjectInstanceNotKnown,
                "no object instance named '{name}' is known to this federate"
            ),
        }
    }

    /// Get Object Instance Name, §10.10.
    pub fn object_instance_name(
        &self,
        instance: ObjectInstanceHandle,
    ) -> Result<String, Exception> {
        Ok(self.known(instance)?.name(instance))
    }

    /// The name of an object instance, where it is known.
    pub(crate) fn instance_name_if_known(&self, instance: ObjectInstanceHandle) -> Option<String> {
        Some(self.objects.get(instance)?.name(instance))
    }

    /// Get Attribute Handle, §10.11.
    pub fn attribute_handle(
        &self,
        class: ObjectClassHandle,
        name: &str,
    ) -> Result<AttributeHandle, Exception> {
        let known = self.valid_object_class(class)?;
        match self.model.attribute_by_name(class, name) {
            Some(handle) => Ok(handle),
            None => throw!(
                NameNotFound,
                "'{}' has no attribute '{name}'{}",
                known.name,
                self.model.nearest_attribute(class, name)
            ),
        }
    }

    /// Get Attribute Name, §10.12.
    pub fn attribute_name(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Result<&str, Exception> {
        self.available(class, attribute)
            .map(|a| self.model.attribute(a).map_or("", |a| &a.name))
    }

    /// Get Update Rate Value, §10.13, in updates per second.
    pub fn update_rate_value(&self, designator: &str) -> Result<f64, Exception> {
        match self.model.update_rate(designator) {
            Some(rate) => Ok(rate),
            None => throw!(
                InvalidUpdateRateDesignator,
                "the FDD has no update rate '{designator}'{}",
                self.model.nearest_update_rate(designator)
            ),
        }
    }

    /// Get Update Rate Value for Attribute, §10.14: what this federate subscribed with, 0 for no
    /// reduction.
    pub fn update_rate_value_for_attribute(
        &self,
        instance: ObjectInstanceHandle,
        attribute: AttributeHandle,
    ) -> Result<f64, Exception> {
        let class = self.known(instance)?.known_class();
        self.require_attributes(class, &[attribute])?;
        let mut subscribed = self.declarations.mine().object(self.me, class).iter();
        let rate = subscribed.find(|s| s.attribute == attribute);
        Ok(rate.map_or(0.0, |s| self.model.update_rate(&s.rate).unwrap_or(0.0)))
    }

    /// Get Interaction Class Handle, §10.15. With or without `HLAinteractionRoot.`.
    pub fn interaction_class_handle(
        &self,
        name: &str,
    ) -> Result<InteractionClassHandle, Exception> {
        match self.model.interaction_class_by_name(name) {
            Some(class) => Ok(class.handle),
            None => throw!(
                NameNotFound,
                "the FDD has no interaction class '{name}'{}",
                self.model.nearest_interaction_class(name)
            ),
        }
    }

    /// Get Interaction Class Name, §10.16.
    pub fn interaction_class_name(
        &self,
        handle: InteractionClassHandle,
    ) -> Result<&str, Exception> {
        Ok(&self.valid_interaction_class(handle)?.name)
    }

    /// Get Parameter Handle, §10.17.
    pub fn parameter_handle(
        &self,
        class: InteractionClassHandle,
        name: &str,
    ) -> Result<ParameterHandle, Exception> {
        let known = self.valid_interaction_class(class)?;
        match self.model.parameter_by_name(class, name) {
            Some(handle) => Ok(handle),
            None => throw!(
                NameNotFound,
                "'{}' has no parameter '{name}'{}",
                known.name,
                self.model.nearest_parameter(class, name)
            ),
        }
    }

    /// Get Parameter Name, §10.18.
    pub fn parameter_name(
        &self,
        class: InteractionClassHandle,
        parameter: ParameterHandle,
    ) -> Result<&str, Exception> {
        let known = self.valid_interaction_class(class)?;
        let Some(found) = self.model.parameter(parameter) else {
            let why = not_in_fdd("parameter", parameter.raw());
            throw!(InvalidParameterHandle, "{why}");
        };
        if known.slot(parameter).is_none() {
            throw!(
                InteractionParameterNotDefined,
                "'{}' is not a parameter of '{}'",
                found.name,
                known.name
            );
        }
        Ok(&found.name)
    }

    /// Get Order Type, §10.19.
    pub fn order_type(&self, name: &str) -> Result<Order, Exception> {
        match name {
            "Receive" => Ok(Order::Receive),
            "TimeStamp" => Ok(Order::TimeStamp),
            _ => throw!(
                InvalidOrderName,
                "'{name}' is neither Receive nor TimeStamp"
            ),
        }
    }

    /// Get Order Name, §10.20.
    pub fn order_name(&self, order: Order) -> Result<&'static str, Exception> {
        Ok(order.name())
    }

    /// Get Transportation Type Handle, §10.21.
    pub fn transportation_type(&self, name: &str) -> Result<Transportation, Exception> {
        match name {
            "HLAreliable" => Ok(Transportation::Reliable),
            "HLAbestEffort" => Ok(Transportation::BestEffort),
            _ => throw!(
                InvalidTransportationName,
                "'{name}' is neither HLAreliable nor HLAbestEffort"
            ),
        }
    }

    /// Get Transportation Type Name, §10.22.
    pub fn transportation_name(
        &self,
        transportation: Transportation,
    ) -> Result<&'static str, Exception> {
        Ok(transportation.name())
    }

    /// Get Available Dimensions for Class Attribute, §10.23.
    pub fn available_dimensions_for_class_attribute(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Result<&[DimensionHandle], Exception> {
        let attribute = self.available(class, attribute)?;
        let found = self.model.attribute(attribute);
        Ok(found.map_or(&[], |a| &a.dimensions))
    }

    /// Get Available Dimensions for Interaction Class, §10.24.
    pub fn available_dimensions_for_interaction_class(
        &self,
        class: InteractionClassHandle,
    ) -> Result<&[DimensionHandle], Exception> {
        Ok(&self.valid_interaction_class(class)?.dimensions)
    }

    /// Get Dimension Handle, §10.25.
    pub fn dimension_handle(&self, name: &str) -> Result<DimensionHandle, Exception> {
        match self.model.dimension_by_name(name) {
            Some(dimension) => Ok(dimension.handle),
            None => throw!(
                NameNotFound,
                "the FDD has no dimension '{name}'{}",
                self.model.nearest_dimension(name)
            ),
        }
    }

    /// Get Dimension Name, §10.26.
    pub fn dimension_name(&self, handle: DimensionHandle) -> Result<&str, Exception> {
        Ok(&self.valid_dimension(handle)?.name)
    }

    /// Get Dimension Upper Bound, §10.27: ranges lie in [0, bound).
    pub fn dimension_upper_bound(&self, handle: DimensionHandle) -> Result<u64, Exception> {
        Ok(u64::from(self.valid_dimension(handle)?.upper_bound))
    }

    /// Normalize Federate Handle, §10.31: a number that a region may have as a bound, the same at all
    /// federates. The handle need not be of one that has joined.
    pub fn normalize_federate_handle(&self, handle: FederateHandle) -> Result<u64, Exception> {
        require_valid(handle)?;
        Ok(handle.0.into())
    }

    /// Normalize Service Group, §10.32: a number that a region may have as a bound, the same at all
    /// federates.
    pub fn normalize_service_group(&self, group: ServiceGroup) -> Result<u64, Exception> {
        Ok(group as u64)
    }

    fn valid_object_class(&self, handle: ObjectClassHandle) -> Result<&ObjectClass, Exception> {
        match self.model.object_class(handle) {
            Some(class) => Ok(class),
            None => {
                let why = not_in_fdd("object class", handle.raw());
                throw!(InvalidObjectClassHandle, "{why}")
            }
        }
    }

    fn valid_interaction_class(
        &self,
        handle: InteractionClassHandle,
    ) -> Result<&InteractionClass, Exception> {
        match self.model.interaction_class(handle) {
            Some(class) => Ok(class),
            None => {
                let why = not_in_fdd("interaction class", handle.raw());
                throw!(InvalidInteractionClassHandle, "{why}")
            }
        }
    }

    fn valid_dimension(
        &self,
        handle: DimensionHandle,
    ) -> Result<&starling_fom::Dimension, Exception> {
        match self.model.dimension(handle) {
            Some(dimension) => Ok(dimension),
            None => {
                let why = not_in_fdd("dimension", handle.raw());
                throw!(InvalidDimensionHandle, "{why}")
            }
        }
    }

    /// The attribute, if the class has it.
    fn available(
        &self,
        class: ObjectClassHandle,
        attribute: AttributeHandle,
    ) -> Result<AttributeHandle, Exception> {
        let known = self.valid_object_class(class)?;
        if self.model.attribute(attribute).is_none() {
            let why = not_in_fdd("attribute", attribute.raw());
            throw!(InvalidAttributeHandle, "{why}");
        }
        if known.slot(attribute).is_none() {
            throw!(
                AttributeNotDefined,
                "{} is not an attribute of '{}'",
                self.attribute_text(attribute),
                known.name
            );
        }
        Ok(attribute)
    }
}

fn require_valid(handle: FederateHandle) -> Result<(), Exception> {
    if handle.is_valid() {
        return Ok(());
    }
    throw!(InvalidFederateHandle, "the handle is not valid")
}

/// What one reads who decodes a value of the MOM with its count, as the end of a sentence.
fn counted(encoded: &[u8], size: usize) -> &'static str {
    match encoded.split_first_chunk() {
        Some((count, rest))
            if u32::from_be_bytes(*count) as usize == size && rest.len() == size =>
        {
            "; it is an HLAhandle of the MOM, which begins with the count of its bytes, in 4: decode \
             what comes after"
        }
        _ => "",
    }
}

/// Services that make a handle of what it was encoded as: its number, the highest byte first.
macro_rules! decode {
    ($($(#[$doc:meta])* $method:ident $handle:ident($number:ty) $make:expr;)*) => {
        impl Federate {$(
            $(#[$doc])*
            pub fn $method(&self, encoded: &[u8]) -> Result<$handle, Exception> {
                match encoded.try_into() {
                    Ok(bytes) => Ok($make(<$number>::from_be_bytes(bytes))),
                    Err(_) => throw!(
                        CouldNotDecode,
                        "{} is encoded in {} bytes, not {}{}",
                        stringify!($handle),
                        size_of::<$number>(),
                        encoded.len(),
                        counted(encoded, size_of::<$number>())
                    ),
                }
            }
        )*}
    };
}

decode! {
    /// The federate handle that was encoded so, 1516.1-2010 §12.
    decode_federate_handle FederateHandle(u32) FederateHandle;
    /// The object class handle that was encoded so, §12.
    decode_object_class_handle ObjectClassHandle(u32) ObjectClassHandle::from_raw;
    /// The interaction class handle that was encoded so, §12.
    decode_interaction_class_handle InteractionClassHandle(u32) InteractionClassHandle::from_raw;
    /// The object instance handle that was encoded so, §12.
    decode_object_instance_handle ObjectInstanceHandle(u64) ObjectInstanceHandle;
    /// The attribute handle that was encoded so, §12.
    decode_attribute_handle AttributeHandle(u32) AttributeHandle::from_raw;
    /// The parameter handle that was encoded so, §12.
    decode_parameter_handle ParameterHandle(u32) ParameterHandle::from_raw;
    /// The dimension handle that was encoded so, §12.
    decode_dimension_handle DimensionHandle(u32) DimensionHandle::from_raw;
    /// The message retraction handle that was encoded so, §12.
    decode_message_retraction_handle MessageRetractionHandle(u64) MessageRetractionHandle;
    /// The region handle that was encoded so, §12.
    decode_region_handle RegionHandle(u64) RegionHandle;
}

/// Why a handle is refused that names nothing of the FDD. 0 is one that was never set.
pub(crate) fn not_in_fdd(what: &str, handle: u32) -> String {
    match handle {
        0 => format!("the {what} handle is 0: none was set"),
        _ => format!("{what} handle {handle} is not in the FDD"),
    }
}
