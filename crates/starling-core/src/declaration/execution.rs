//! Declaration management at the executive.

use crate::execution::Execution;
use crate::message::{Cause, EntryBody, SubscribedAttribute, Subscription};
use crate::{AttributeHandle, InteractionClassHandle, ObjectClassHandle, ProtocolError};

impl Execution {
    /// Publish and Unpublish Object Class Attributes, 1516.1-2010 §5.2 and §5.3.
    pub(crate) fn publish_object_class(
        &mut self,
        cause: Cause,
        class: ObjectClassHandle,
        attributes: Vec<AttributeHandle>,
    ) -> Result<(), ProtocolError> {
        self.require_attributes(class, attributes.iter().copied())?;
        let privilege = self.privilege_to_delete();
        // The privilege to delete is published with whatever else is.
        let with_privilege = |mut list: Vec<AttributeHandle>| {
            list.extend(privilege.filter(|p| !list.is_empty() && !list.contains(p)));
            list
        };
        let now = with_privilege(attributes.clone());
        let published = &mut self.member_mut(cause.sender)?.published;
        let before = match attributes.is_empty() {
            true => published.remove(&class),
            false => published.insert(class, attributes),
        };
        let mut ended = with_privilege(before.unwrap_or_default());
        let begun: Vec<_> = now.iter().filter(|a| !ended.contains(a)).copied().collect();
        ended.retain(|a| !now.contains(a));
        if !ended.is_empty() {
            self.unpublished(cause, class, &ended);
        }
        if !begun.is_empty() {
            self.offer_published(cause, class, &begun);
        }
        Ok(())
    }

    /// Publish and Unpublish Interaction Class, §5.4 and §5.5.
    pub(crate) fn publish_interaction(
        &mut self,
        cause: Cause,
        class: InteractionClassHandle,
        published: bool,
    ) -> Result<(), ProtocolError> {
        self.require_interaction(class)?;
        let member = self.member_mut(cause.sender)?;
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
        cause: Cause,
        class: ObjectClassHandle,
        attributes: Vec<SubscribedAttribute>,
    ) -> Result<(), ProtocolError> {
        self.require_attributes(class, attributes.iter().map(|a| a.attribute))?;
        self.subscriptions
            .set_object(cause.sender, class, attributes.clone(), self.log.index());
        self.routes.clear();
        self.log
            .tell_all(cause, &EntryBody::ObjectSubscription { class, attributes });
        self.touch_known(cause.sender, class);
        self.discover_below(cause, class);
        Ok(())
    }

    /// Subscribe and Unsubscribe Interaction Class, §5.8 and §5.9.
    pub(crate) fn subscribe_interaction(
        &mut self,
        cause: Cause,
        class: InteractionClassHandle,
        subscription: Subscription,
    ) -> Result<(), ProtocolError> {
        self.require_interaction(class)?;
        self.subscriptions
            .set_interaction(cause.sender, class, subscription, self.log.index());
        self.routes.clear();
        self.log.tell_all(
            cause,
            &EntryBody::InteractionSubscription {
                class,
                subscription,
            },
        );
        Ok(())
    }

    pub(crate) fn require_attributes(
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

    pub(crate) fn require_interaction(
        &self,
        class: InteractionClassHandle,
    ) -> Result<(), ProtocolError> {
        match self.model.interaction_class(class) {
            Some(_) => Ok(()),
            None => Err(ProtocolError(format!("no interaction class {class}"))),
        }
    }
}
