//! Declaration management at the executive.

use crate::execution::{Cause, Execution};
use crate::message::{EntryBody, SubscribedAttribute, Subscription};
use crate::{AttributeHandle, InteractionClassHandle, ObjectClassHandle, ProtocolError};

impl Execution {
    /// Publish and Unpublish Object Class Attributes, 1516.1-2010 §5.2 and §5.3.
    pub(crate) fn publish_object_class(
        &mut self,
        cause: &Cause,
        class: ObjectClassHandle,
        attributes: Vec<AttributeHandle>,
    ) -> Result<(), ProtocolError> {
        self.require_attributes(class, attributes.iter().copied())?;
        self.unpublish_owned(cause.origin, class, &attributes);
        let published = &mut self.member_mut(cause.origin)?.published;
        if attributes.is_empty() {
            published.remove(&class);
        } else {
            published.insert(class, attributes);
        }
        Ok(())
    }

    /// Publish and Unpublish Interaction Class, §5.4 and §5.5.
    pub(crate) fn publish_interaction(
        &mut self,
        cause: &Cause,
        class: InteractionClassHandle,
        published: bool,
    ) -> Result<(), ProtocolError> {
        self.require_interaction(class)?;
        let member = self.member_mut(cause.origin)?;
        if published {
            member.published_interactions.insert(class);
        } else {
            member.published_interactions.remove(&class);
            member.transportations.remove(&class);
        }
        Ok(())
    }

    /// Subscribe and Unsubscribe Object Class Attributes, §5.6 and §5.7.
    pub(crate) fn subscribe_object_class(
        &mut self,
        cause: &Cause,
        class: ObjectClassHandle,
        attributes: Vec<SubscribedAttribute>,
    ) -> Result<(), ProtocolError> {
        self.require_attributes(class, attributes.iter().map(|a| a.attribute))?;
        self.subscriptions
            .set_object(cause.origin, class, attributes.clone(), self.index);
        self.routes.clear();
        let everyone = self.everyone();
        self.tell(
            cause,
            &everyone,
            &EntryBody::ObjectSubscription { class, attributes },
        );
        self.touch_known(cause.origin, class);
        self.discover_below(cause, class);
        Ok(())
    }

    /// Subscribe and Unsubscribe Interaction Class, §5.8 and §5.9.
    pub(crate) fn subscribe_interaction(
        &mut self,
        cause: &Cause,
        class: InteractionClassHandle,
        subscription: Subscription,
    ) -> Result<(), ProtocolError> {
        self.require_interaction(class)?;
        self.subscriptions
            .set_interaction(cause.origin, class, subscription, self.index);
        self.routes.clear();
        let everyone = self.everyone();
        self.tell(
            cause,
            &everyone,
            &EntryBody::InteractionSubscription {
                class,
                subscription,
            },
        );
        Ok(())
    }

    fn require_attributes(
        &self,
        class: ObjectClassHandle,
        mut attributes: impl Iterator<Item = AttributeHandle>,
    ) -> Result<(), ProtocolError> {
        let known = self.model.object_class(class);
        let known = known.ok_or_else(|| ProtocolError(format!("no object class {class}")))?;
        match attributes.find(|a| known.slot(*a).is_none()) {
            None => Ok(()),
            Some(a) => Err(ProtocolError(format!("no attribute {a} at {}", known.name))),
        }
    }

    fn require_interaction(&self, class: InteractionClassHandle) -> Result<(), ProtocolError> {
        match self.model.interaction_class(class) {
            Some(_) => Ok(()),
            None => Err(ProtocolError(format!("no interaction class {class}"))),
        }
    }
}
